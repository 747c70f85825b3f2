/* SPDX-License-Identifier: MIT */

/*
 * An expression text, read and computed in one pass (the grammar is in formula.h). The texts are
 * short and our own; a fault in one is a fault of the table, which the tests walk. Cost: one look
 * at every character and one search among at most twelve names a symbol.
 */

#include "formula/ratio.h"
#include <string.h>

typedef struct computation {
    const char *at;
    const char *const *names;
    const int64_t *values;
    uint32_t count;
    lin_formula_fault fault; /* the first */
} computation;

static lin_fraction compute_sum(computation *c);

static lin_fraction give_up(computation *c, lin_formula_fault fault)
{
    if (c->fault == LIN_FORMULA_FINE)
        c->fault = fault;
    return lin_fraction_of(0);
}

static void skip_blanks(computation *c)
{
    while (*c->at == ' ')
        c->at++;
}

static bool take(computation *c, char wanted)
{
    skip_blanks(c);
    if (*c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

static lin_fraction compute_integer(computation *c)
{
    const char *start = c->at;
    int64_t value;
    while (is_digit(*c->at))
        c->at++;
    if (!lin_parse_i64(start, (uint64_t)(c->at - start), &value))
        return give_up(c, LIN_FORMULA_MALFORMED);
    return lin_fraction_of(value);
}

static bool is_word(const char *start, uint64_t length, const char *word)
{
    return strlen(word) == length && memcmp(start, word, length) == 0;
}

static lin_fraction compute_extreme(computation *c, lin_fraction a, bool greatest)
{
    bool fits;
    if (!take(c, ','))
        return give_up(c, LIN_FORMULA_MALFORMED);
    const lin_fraction b = compute_sum(c);
    const int order = lin_fraction_compare(a, b, &fits);
    if (!fits)
        return give_up(c, LIN_FORMULA_OVERFLOW);
    return (order < 0) == greatest ? b : a;
}

static lin_fraction compute_call(computation *c, const char *name, uint64_t length)
{
    lin_fraction result = compute_sum(c);
    if (is_word(name, length, "floor"))
        result = lin_fraction_floor(result);
    else if (is_word(name, length, "ceil"))
        result = lin_fraction_ceil(result);
    else if (is_word(name, length, "ceilsqrt"))
        result = lin_fraction_ceil_sqrt(result);
    else if (is_word(name, length, "min") || is_word(name, length, "max"))
        result = compute_extreme(c, result, is_word(name, length, "max"));
    else
        return give_up(c, LIN_FORMULA_MALFORMED);
    return take(c, ')') ? result : give_up(c, LIN_FORMULA_MALFORMED);
}

static lin_fraction compute_primary(computation *c)
{
    skip_blanks(c);
    if (is_digit(*c->at))
        return compute_integer(c);
    if (take(c, '(')) {
        const lin_fraction inner = compute_sum(c);
        return take(c, ')') ? inner : give_up(c, LIN_FORMULA_MALFORMED);
    }
    const char *start = c->at;
    while (is_name_character(*c->at))
        c->at++;
    const uint64_t length = (uint64_t)(c->at - start);
    if (length > 0 && take(c, '('))
        return compute_call(c, start, length);
    for (uint32_t i = 0; i < c->count; i++)
        if (is_word(start, length, c->names[i]))
            return lin_fraction_of(c->values[i]);
    return give_up(c, LIN_FORMULA_MALFORMED);
}

static lin_fraction multiply(computation *c, lin_fraction a, lin_fraction b)
{
    lin_fraction product;
    return lin_fraction_mul(a, b, &product) ? product : give_up(c, LIN_FORMULA_OVERFLOW);
}

static lin_fraction compute_power(computation *c)
{
    const lin_fraction base = compute_primary(c);
    if (!take(c, '^'))
        return base;
    lin_fraction power = lin_fraction_of(1);
    if (!is_digit(c->at[0]) || is_digit(c->at[1]))
        return give_up(c, LIN_FORMULA_MALFORMED);
    for (int times = *c->at++ - '0'; times > 0; times--)
        power = multiply(c, power, base);
    return power;
}

static lin_fraction compute_product(computation *c)
{
    lin_fraction product = compute_power(c);
    while (c->fault == LIN_FORMULA_FINE) {
        if (take(c, '*')) {
            product = multiply(c, product, compute_power(c));
        } else if (take(c, '/')) {
            const lin_fraction divisor = compute_power(c);
            if (divisor.numerator == 0)
                return give_up(c, LIN_FORMULA_BY_ZERO);
            product = multiply(c, product, lin_fraction_invert(divisor));
        } else {
            break;
        }
    }
    return product;
}

static lin_fraction compute_sum(computation *c)
{
    lin_fraction sum = compute_product(c);
    while (c->fault == LIN_FORMULA_FINE) {
        const bool minus = take(c, '-');
        if (!minus && !take(c, '+'))
            break;
        const lin_fraction term = compute_product(c);
        if (!lin_fraction_add(sum, minus ? lin_fraction_negate(term) : term, &sum))
            return give_up(c, LIN_FORMULA_OVERFLOW);
    }
    return sum;
}

lin_formula_fault lin_formula_compute(const char *expression, const char *const *names,
                                      const int64_t *values, uint32_t count, lin_ratio *out)
{
    computation c = { .at = expression, .names = names, .values = values, .count = count };
    const lin_fraction value = compute_sum(&c);
    skip_blanks(&c);
    if (c.fault == LIN_FORMULA_FINE && *c.at != '\0')
        c.fault = LIN_FORMULA_MALFORMED;
    if (c.fault == LIN_FORMULA_FINE && !lin_fraction_to_ratio(value, out))
        c.fault = LIN_FORMULA_OVERFLOW;
    return c.fault;
}
