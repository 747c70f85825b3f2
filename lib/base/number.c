/* SPDX-License-Identifier: MIT */

/*
 * Numbers read from text and written as digits, without the C library, whose conversions look at
 * the locale.
 *
 * Between doubles and decimals the short cases go through arithmetic that is exact in a double (a
 * product or quotient of an integer below 2^53 and a power of ten up to 10^22 is rounded once); all
 * others through exact natural numbers (big.h), a few microseconds each.
 */

#include "base/base.h"
#include "base/big.h"

#include <math.h>
#include <string.h>

enum { MAX_DIGITS = 400, DOUBLE_BITS = 53, SMALLEST_EXPONENT = -1074, LARGEST_EXPONENT = 971 };

/* Up to 10^22 powers of ten are doubles: 5^22 < 2^53. */
enum { EXACT_POWERS = 23 };
static const double exact_powers[EXACT_POWERS] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool lin_parse_i64(const char *text, uint64_t length, int64_t *out)
{
    uint64_t i = length != 0 && (text[0] == '-' || text[0] == '+');
    bool negative = i == 1 && text[0] == '-';
    if (i == length)
        return false;
    int64_t value = 0;
    for (; i < length; i++) {
        if (!is_digit(text[i]))
            return false;
        int64_t digit = text[i] - '0';
        if (!lin_mul_i64(value, 10, &value) ||
            !lin_add_i64(value, negative ? -digit : digit, &value))
            return false;
    }
    *out = value;
    return true;
}

/* A written decimal: digits * 10^exponent. */
typedef struct decimal {
    bool negative;
    char digits[MAX_DIGITS + 1]; /* values 0..9, without leading zeros */
    uint32_t digit_count;
    int64_t exponent;
} decimal;

typedef struct cursor {
    const char *at, *end;
} cursor;

/* A run of digits into `d`; false when there is none. */
static bool read_digits(cursor *c, decimal *d, bool *sticky, bool fraction)
{
    const char *start = c->at;
    for (; c->at < c->end && is_digit(*c->at); c->at++) {
        char digit = (char)(*c->at - '0');
        if (d->digit_count < MAX_DIGITS) {
            if (digit != 0 || d->digit_count != 0)
                d->digits[d->digit_count++] = digit;
            d->exponent -= fraction;
        } else {
            *sticky = *sticky || digit != 0;
            d->exponent += !fraction;
        }
    }
    return c->at > start;
}

static bool read_exponent(cursor *c, int64_t *out)
{
    bool negative = c->at < c->end && *c->at == '-';
    if (c->at < c->end && (*c->at == '-' || *c->at == '+'))
        c->at++;
    const char *start = c->at;
    int64_t value = 0;
    for (; c->at < c->end && is_digit(*c->at); c->at++)
        if (value < INT64_MAX / 100)
            value = value * 10 + (*c->at - '0');
    *out = negative ? -value : value;
    return c->at > start;
}

/* number := "-"? digits ("." digits)? (("e" | "E") ("+" | "-")? digits)? */
static bool read_decimal(const char *text, uint64_t length, decimal *d)
{
    cursor c = { text, text + length };
    bool sticky = false;
    d->digit_count = 0;
    d->exponent = 0;
    d->negative = length != 0 && *text == '-';
    c.at += d->negative;
    if (!read_digits(&c, d, &sticky, false))
        return false;
    if (c.at < c.end && *c.at == '.') {
        c.at++;
        if (!read_digits(&c, d, &sticky, true))
            return false;
    }
    if (c.at < c.end && (*c.at == 'e' || *c.at == 'E')) {
        int64_t exponent;
        c.at++;
        if (!read_exponent(&c, &exponent))
            return false;
        d->exponent += exponent;
    }
    if (sticky) { /* a digit after all those kept: more than half is then more than half */
        d->digits[d->digit_count++] = 1;
        d->exponent--;
    }
    return c.at == c.end;
}

/* The nearest double of numerator / denominator, ties to even; `numerator` is overwritten. */
static double quotient_to_double(lin_big *numerator, lin_big *denominator)
{
    /* The value is in [2^(size - 1), 2^(size + 1)): a quotient of it by 2^exponent has 53 or 54
     * bits, or fewer among the subnormals. */
    int32_t size = (int32_t)lin_big_bits(numerator) - (int32_t)lin_big_bits(denominator);
    int32_t exponent = size - DOUBLE_BITS;
    if (exponent < SMALLEST_EXPONENT)
        exponent = SMALLEST_EXPONENT;
    if (exponent > LARGEST_EXPONENT)
        return (double)INFINITY;
    if (exponent < 0)
        lin_big_shift(numerator, (uint32_t)-exponent);
    else
        lin_big_shift(denominator, (uint32_t)exponent);
    uint64_t quotient = lin_big_div(numerator, denominator);
    bool inexact = numerator->count != 0;
    if (quotient >> DOUBLE_BITS != 0) { /* 54 bits: half a unit is the last one */
        bool half = quotient & 1;
        quotient >>= 1;
        exponent++;
        quotient += half && (inexact || (quotient & 1));
    } else {
        lin_big_shift(numerator, 1);
        int order = lin_big_compare(numerator, denominator);
        quotient += order > 0 || (order == 0 && (quotient & 1));
    }
    return ldexp((double)quotient, exponent);
}

static double scaled_to_double(lin_big *digits, int64_t exponent)
{
    lin_big denominator;
    lin_big_set(&denominator, 1);
    if (exponent >= 0)
        lin_big_mul_pow10(digits, (uint32_t)exponent);
    else
        lin_big_mul_pow10(&denominator, (uint32_t)-exponent);
    return quotient_to_double(digits, &denominator);
}

static double decimal_magnitude(const decimal *d)
{
    int64_t point = d->exponent + d->digit_count; /* the value is below 10^point */
    if (d->digit_count == 0 || point < -330)
        return 0;
    if (point > 310)
        return (double)INFINITY;
    uint64_t small = 0;
    if (d->digit_count <= 15) {
        for (uint32_t i = 0; i < d->digit_count; i++)
            small = small * 10 + (uint64_t)d->digits[i];
        if (d->exponent >= 0 && d->exponent < EXACT_POWERS)
            return (double)small * exact_powers[d->exponent];
        if (d->exponent < 0 && -d->exponent < EXACT_POWERS)
            return (double)small / exact_powers[-d->exponent];
    }
    lin_big digits;
    lin_big_set(&digits, 0);
    for (uint32_t i = 0; i < d->digit_count; i++)
        lin_big_mul_add(&digits, 10, (uint32_t)d->digits[i]);
    return scaled_to_double(&digits, d->exponent);
}

bool lin_parse_double(const char *text, uint64_t length, double *out)
{
    decimal d;
    if (!read_decimal(text, length, &d))
        return false;
    double magnitude = decimal_magnitude(&d);
    *out = d.negative ? -magnitude : magnitude;
    return true;
}

/* value = mantissa * 2^exponent, exactly; `value` is finite and >= 0. */
static uint64_t split_double(double value, int32_t *exponent)
{
    int power;
    double fraction = frexp(value, &power);
    *exponent = power - DOUBLE_BITS;
    return (uint64_t)ldexp(fraction, DOUBLE_BITS);
}

/* Writes the decimal digits of `big`, at least `least` of them, ending at `end`. */
static char *write_digits(char *end, lin_big *big, int least)
{
    char *at = end;
    while (big->count != 0) {
        uint32_t group = lin_big_div_small(big, 1000000000u);
        for (int i = 0; i < 9 && (group != 0 || big->count != 0); i++, group /= 10)
            *--at = (char)('0' + group % 10);
    }
    while (end - at < least)
        *--at = '0';
    return at;
}

/* False when `value` is an infinity or no number, which is then written. */
static bool write_non_finite(lin_text *text, double value)
{
    if (isfinite(value))
        return true;
    lin_text_add(text, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return false;
}

void lin_text_fixed(lin_text *text, double value, int decimals)
{
    if (!write_non_finite(text, value))
        return;
    int32_t exponent;
    lin_big big;
    lin_big_set(&big, split_double(fabs(value), &exponent));
    lin_big_mul_pow10(&big, (uint32_t)decimals);
    if (exponent >= 0)
        lin_big_shift(&big, (uint32_t)exponent);
    else
        lin_big_round_right(&big, (uint32_t)-exponent);
    char digits[LIN_BIG_WORDS * 10];
    char *end = digits + sizeof(digits);
    char *start = write_digits(end, &big, decimals + 1);
    if (signbit(value))
        lin_text_append(text, "-", 1);
    lin_text_append(text, start, (uint64_t)(end - start) - (uint64_t)decimals);
    if (decimals != 0) {
        lin_text_append(text, ".", 1);
        lin_text_append(text, end - decimals, (uint64_t)decimals);
    }
}

/* `digits` * 10^exponent, without zeros at the end. */
typedef struct short_decimal {
    uint64_t digits;
    int32_t exponent;
} short_decimal;

/* Up to 15 digits, by arithmetic on doubles: 15 digits have at most one double, so what reads back
 * is the shortest. */
static bool shorten_fast(double value, short_decimal *out)
{
    for (int32_t places = 0; places < EXACT_POWERS; places++) {
        double scaled = value * exact_powers[places];
        if (scaled >= 1e15)
            return false;
        double rounded = (double)(int64_t)(scaled + 0.5);
        if (rounded >= 1 && rounded / exact_powers[places] == value) {
            *out = (short_decimal){ (uint64_t)rounded, -places };
            return true;
        }
    }
    return false;
}

/* The decimal of `precision` digits nearest to mantissa * 2^exponent. */
static short_decimal round_to(uint64_t mantissa, int32_t exponent, int32_t precision, int32_t point)
{
    lin_big numerator, denominator;
    int32_t power = precision - point; /* the value is below 10^point */
    lin_big_set(&numerator, mantissa);
    lin_big_set(&denominator, 1);
    lin_big_mul_pow10(power >= 0 ? &numerator : &denominator,
                      (uint32_t)(power >= 0 ? power : -power));
    lin_big_shift(exponent >= 0 ? &numerator : &denominator,
                  (uint32_t)(exponent >= 0 ? exponent : -exponent));
    uint64_t digits = lin_big_div(&numerator, &denominator);
    lin_big_shift(&numerator, 1);
    int order = lin_big_compare(&numerator, &denominator);
    digits += order > 0 || (order == 0 && (digits & 1));
    return (short_decimal){ digits, -power };
}

static short_decimal shorten(double value)
{
    short_decimal result = { 0, 0 };
    if (value != 0 && !shorten_fast(value, &result)) {
        int32_t exponent;
        uint64_t mantissa = split_double(value, &exponent);
        /* The value is below 2^(exponent + 53), so below 10^point, which is at most one too large
         * and then costs a digit of the precision; 78913 / 2^18 is log10(2). */
        int64_t point = 0;
        (void)lin_floordiv_i64((int64_t)(exponent + DOUBLE_BITS) * 78913, 1 << 18, &point);
        point++;
        for (int32_t precision = 1; precision <= 18; precision++) {
            result = round_to(mantissa, exponent, precision, (int32_t)point);
            lin_big digits;
            lin_big_set(&digits, result.digits);
            if (result.digits != 0 && scaled_to_double(&digits, result.exponent) == value)
                break;
        }
    }
    while (result.digits != 0 && result.digits % 10 == 0) {
        result.digits /= 10;
        result.exponent++;
    }
    return result;
}

void lin_text_double(lin_text *text, double value)
{
    if (!write_non_finite(text, value))
        return;
    short_decimal d = shorten(fabs(value));
    char buffer[24];
    char *end = buffer + sizeof(buffer);
    lin_big big;
    lin_big_set(&big, d.digits);
    const char *digits = write_digits(end, &big, 1);
    int32_t count = (int32_t)(end - digits);
    int32_t point = count + d.exponent; /* digits before the point */
    if (signbit(value))
        lin_text_append(text, "-", 1);
    if (d.digits != 0 && (point < -3 || point > 16)) {
        lin_text_append(text, digits, 1);
        if (count > 1) {
            lin_text_append(text, ".", 1);
            lin_text_append(text, digits + 1, (uint64_t)(count - 1));
        }
        lin_text_addf(text, "e%c%02d", point > 0 ? '+' : '-', point > 0 ? point - 1 : 1 - point);
    } else if (point <= 0) {
        lin_text_add(text, "0.");
        lin_text_fill(text, '0', (uint64_t)-point);
        lin_text_append(text, digits, (uint64_t)count);
    } else if (point >= count) {
        lin_text_append(text, digits, (uint64_t)count);
        lin_text_fill(text, '0', (uint64_t)(point - count));
        lin_text_add(text, ".0");
    } else {
        lin_text_append(text, digits, (uint64_t)point);
        lin_text_append(text, ".", 1);
        lin_text_append(text, digits + point, (uint64_t)(count - point));
    }
}
