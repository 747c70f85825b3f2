/* SPDX-License-Identifier: MIT */

/*
 * Looking formulas up, and putting values in: first what the caller gave, then, in the order of the
 * row, what follows from it. Every value is a whole number within its symbol's range before the
 * formula is computed. Cost: a few dozen string comparisons.
 */

#include "formula/formula.h"

#include "formula/formula_rows.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

static const lin_formula_group *const groups[] = { &lin_formula_parameters, &lin_formula_states,
                                                   &lin_formula_kept, &lin_formula_steps,
                                                   &lin_formula_layouts };

/* ---- lookup ---- */

uint32_t lin_formula_count(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ARRAY_LEN(groups); i++)
        count += groups[i]->count;
    return count;
}

const lin_formula *lin_formula_at(uint32_t index)
{
    for (uint32_t i = 0; i < ARRAY_LEN(groups); i++) {
        if (index < groups[i]->count)
            return &groups[i]->rows[index];
        index -= groups[i]->count;
    }
    return NULL;
}

enum { MAX_FORMULAS = 256 };

static const char *nearest_name(const char *name)
{
    const char *names[MAX_FORMULAS];
    uint32_t count = 0;
    for (const lin_formula *f; count < MAX_FORMULAS && (f = lin_formula_at(count)) != NULL; count++)
        names[count] = f->name;
    return lin_nearest(name, names, count);
}

linnet_status lin_formula_find(const char *name, const lin_formula **out, linnet_error *err)
{
    const lin_formula *formula;
    for (uint32_t i = 0; (formula = lin_formula_at(i)) != NULL; i++) {
        if (strcmp(formula->name, name) == 0) {
            *out = formula;
            return LINNET_OK;
        }
    }
    const char *nearest = nearest_name(name);
    return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                    nearest != NULL ? "there is no formula `%s`, did you mean `%s`"
                                    : "there is no formula `%s`",
                    name, nearest);
}

uint32_t lin_formula_symbol_count(const lin_formula *formula)
{
    uint32_t count = 0;
    while (formula->symbols[count].name != NULL)
        count++;
    return count;
}

/* ---- values ---- */

enum { LIST_TEXT = 352 };

/* "`s` (positions of a sequence) and `b` (…)": the symbols marked, with their meaning. */
static void list_symbols(char out[LIST_TEXT], const lin_formula *formula, const bool *marked,
                         bool with_meaning)
{
    uint32_t left = 0, used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; formula->symbols[i].name != NULL; i++)
        left += marked[i];
    for (uint32_t i = 0; formula->symbols[i].name != NULL && used < LIST_TEXT; i++) {
        const char *name = formula->symbols[i].name;
        if (!marked[i])
            continue;
        left--;
        const int length =
            snprintf(out + used, LIST_TEXT - used, "`%s`%s%s%s%s", name, with_meaning ? " (" : "",
                     with_meaning ? lin_formula_meaning(name) : "", with_meaning ? ")" : "",
                     left == 0   ? ""
                     : left == 1 ? " and "
                                 : ", ");
        used += length > 0 ? (uint32_t)length : 0;
    }
}

static linnet_status fail_unknown(const lin_formula *formula, const char *symbol, linnet_error *err)
{
    const char *names[LIN_FORMULA_MAX_SYMBOLS];
    bool all[LIN_FORMULA_MAX_SYMBOLS];
    char list[LIST_TEXT];
    const uint32_t count = lin_formula_symbol_count(formula);
    if (count == 0)
        return lin_fail(err, LINNET_ERROR_NOT_FOUND, "`%s` has no symbol `%s`: it takes none",
                        formula->name, symbol);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = formula->symbols[i].name;
        all[i] = true;
    }
    list_symbols(list, formula, all, false);
    const char *nearest = lin_nearest(symbol, names, count);
    return lin_fail(err, LINNET_ERROR_NOT_FOUND, "`%s` has no symbol `%s`%s%s%s; it takes %s",
                    formula->name, symbol, nearest != NULL ? ", did you mean `" : "",
                    nearest != NULL ? nearest : "", nearest != NULL ? "`" : "", list);
}

static linnet_status check_least(const char *symbol, int64_t value, linnet_error *err)
{
    const int64_t least = lin_formula_least(symbol);
    if (value >= least)
        return LINNET_OK;
    return lin_fail(err, LINNET_ERROR_ARGUMENT, "`%s` (%s) must be at least %lld, not %lld", symbol,
                    lin_formula_meaning(symbol), (long long)least, (long long)value);
}

linnet_status lin_formula_give(lin_formula_answer *answer, const char *symbol, int64_t value,
                               linnet_error *err)
{
    const lin_formula_symbol *symbols = answer->formula->symbols;
    uint32_t i = 0;
    while (symbols[i].name != NULL && strcmp(symbols[i].name, symbol) != 0)
        i++;
    if (symbols[i].name == NULL)
        return fail_unknown(answer->formula, symbol, err);
    if (answer->given[i] && answer->values[i] != value)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "`%s` is given as both %lld and %lld", symbol,
                        (long long)answer->values[i], (long long)value);
    const linnet_status status = check_least(symbol, value, err);
    answer->given[i] |= status == LINNET_OK;
    answer->values[i] = value;
    return status;
}

static linnet_status check_all_given(const lin_formula_answer *answer, linnet_error *err)
{
    bool missing[LIN_FORMULA_MAX_SYMBOLS], some = false;
    char list[LIST_TEXT];
    for (uint32_t i = 0; answer->formula->symbols[i].name != NULL; i++) {
        missing[i] = !answer->given[i] && answer->formula->symbols[i].otherwise == NULL;
        some |= missing[i];
    }
    if (!some)
        return LINNET_OK;
    list_symbols(list, answer->formula, missing, true);
    return lin_fail(err, LINNET_ERROR_ARGUMENT, "`%s` needs %s", answer->formula->name, list);
}

/* Over the first `count` symbols. */
static linnet_status compute(const lin_formula_answer *answer, const char *expression,
                             uint32_t count, lin_ratio *out, linnet_error *err)
{
    const char *names[LIN_FORMULA_MAX_SYMBOLS];
    const char *name = answer->formula->name;
    for (uint32_t i = 0; i < count; i++)
        names[i] = answer->formula->symbols[i].name;
    const lin_formula_fault fault =
        lin_formula_compute(expression, names, answer->values, count, out);
    assert(fault != LIN_FORMULA_MALFORMED);
    if (fault == LIN_FORMULA_FINE)
        return LINNET_OK;
    if (fault == LIN_FORMULA_BY_ZERO)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "`%s` divides by 0 at these values", name);
    return lin_fail(err, LINNET_ERROR_OVERFLOW, "`%s` passes 2^63 - 1 at these values", name);
}

static linnet_status put_other(lin_formula_answer *answer, uint32_t index, linnet_error *err)
{
    const lin_formula_symbol *symbol = &answer->formula->symbols[index];
    lin_ratio value;
    const linnet_status status = compute(answer, symbol->otherwise, index, &value, err);
    if (status != LINNET_OK)
        return status;
    if (value.denominator != 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "`%s` (%s) is %s unless it is given, and that is no whole number here",
                        symbol->name, lin_formula_meaning(symbol->name), symbol->otherwise);
    answer->values[index] = value.numerator;
    return check_least(symbol->name, value.numerator, err);
}

static linnet_status check_conditions(const lin_formula_answer *answer, uint32_t count,
                                      linnet_error *err)
{
    const lin_formula_condition *conditions = answer->formula->conditions;
    linnet_status status = LINNET_OK;
    lin_ratio value;
    for (uint32_t i = 0; i < LIN_FORMULA_MAX_CONDITIONS && conditions[i].positive != NULL; i++) {
        if ((status = compute(answer, conditions[i].positive, count, &value, err)) != LINNET_OK)
            return status;
        if (value.numerator <= 0)
            return lin_fail(err, conditions[i].status, "%s", conditions[i].refusal);
    }
    return status;
}

linnet_status lin_formula_evaluate(lin_formula_answer *answer, linnet_error *err)
{
    const uint32_t count = lin_formula_symbol_count(answer->formula);
    linnet_status status = check_all_given(answer, err);
    for (uint32_t i = 0; i < count && status == LINNET_OK; i++)
        if (!answer->given[i])
            status = put_other(answer, i, err);
    if (status == LINNET_OK)
        status = check_conditions(answer, count, err);
    if (status == LINNET_OK)
        status = compute(answer, answer->formula->expression, count, &answer->result, err);
    return status;
}
