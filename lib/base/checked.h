/* SPDX-License-Identifier: MIT */
#ifndef LIN_CHECKED_H
#define LIN_CHECKED_H

/* Exact 64-bit arithmetic for everything counted in the model's world. Each function returns false,
 * and leaves *out alone, when the exact result does not fit. */

#include <stdbool.h>
#include <stdint.h>

static inline bool lin_add_i64(int64_t a, int64_t b, int64_t *out)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

static inline bool lin_sub_i64(int64_t a, int64_t b, int64_t *out)
{
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference))
        return false;
    *out = difference;
    return true;
}

static inline bool lin_mul_i64(int64_t a, int64_t b, int64_t *out)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

static inline bool lin_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

static inline bool lin_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

/* Floor division and its remainder; false when `b` is 0 or the quotient does not fit. */
static inline bool lin_floordiv_i64(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    int64_t quotient = a / b;
    *out = quotient - (a % b != 0 && (a < 0) != (b < 0));
    return true;
}

static inline bool lin_mod_i64(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return false;
    if (b == -1) {
        *out = 0;
        return true;
    }
    int64_t rest = a % b;
    *out = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    return true;
}

static inline bool lin_ceildiv_i64(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    int64_t quotient = a / b;
    *out = quotient + (a % b != 0 && (a < 0) == (b < 0));
    return true;
}

/* `a` rounded up to a multiple of `unit` > 0. */
static inline bool lin_round_up_i64(int64_t a, int64_t unit, int64_t *out)
{
    int64_t units;
    return lin_ceildiv_i64(a, unit, &units) && lin_mul_i64(units, unit, out);
}

#endif
