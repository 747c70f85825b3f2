/* SPDX-License-Identifier: MIT */
#ifndef LIN_FORMULA_RATIO_H
#define LIN_FORMULA_RATIO_H

/*
 * Fractions of 128-bit integers, for lib/formula alone: 6 * P * tokens passes 2^63 on the way to a
 * number of devices that does not. In lowest terms, the denominator at least 1, 0 never negative.
 * The operations give false when a part of the result passes 2^128 - 1.
 */

#include "formula/formula.h"

__extension__ typedef unsigned __int128 lin_magnitude;

typedef struct lin_fraction {
    bool negative;
    lin_magnitude numerator, denominator;
} lin_fraction;

lin_fraction lin_fraction_of(int64_t value);
bool lin_fraction_add(lin_fraction a, lin_fraction b, lin_fraction *out);
bool lin_fraction_mul(lin_fraction a, lin_fraction b, lin_fraction *out);
lin_fraction lin_fraction_negate(lin_fraction a);
lin_fraction lin_fraction_invert(lin_fraction a); /* `a` is not 0 */
int lin_fraction_compare(lin_fraction a, lin_fraction b, bool *out_fits);
lin_fraction lin_fraction_floor(lin_fraction a);
lin_fraction lin_fraction_ceil(lin_fraction a);
/* The least integer whose square is no less than `a`; 0 for what is not above 0. */
lin_fraction lin_fraction_ceil_sqrt(lin_fraction a);
bool lin_fraction_to_ratio(lin_fraction a, lin_ratio *out);

#endif
