/* SPDX-License-Identifier: MIT */

/*
 * Exact fractions, sign and magnitude apart. Common factors go before a product is made, so what
 * fits in lowest terms is rarely lost on the way. A gcd is at most some 180 divisions.
 */

#include "formula/ratio.h"

static lin_magnitude common_factor(lin_magnitude a, lin_magnitude b)
{
    while (b != 0) {
        const lin_magnitude rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool multiply(lin_magnitude a, lin_magnitude b, lin_magnitude *out)
{
    if (a != 0 && b > ~(lin_magnitude)0 / a)
        return false;
    *out = a * b;
    return true;
}

static lin_fraction reduced(bool negative, lin_magnitude numerator, lin_magnitude denominator)
{
    const lin_magnitude factor = common_factor(numerator, denominator);
    return (lin_fraction){ negative && numerator != 0, numerator / factor, denominator / factor };
}

lin_fraction lin_fraction_of(int64_t value)
{
    const lin_magnitude size = value < 0 ? (lin_magnitude)(-(value + 1)) + 1 : (lin_magnitude)value;
    return (lin_fraction){ value < 0, size, 1 };
}

lin_fraction lin_fraction_negate(lin_fraction a)
{
    a.negative = !a.negative && a.numerator != 0;
    return a;
}

lin_fraction lin_fraction_invert(lin_fraction a)
{
    return (lin_fraction){ a.negative, a.denominator, a.numerator };
}

/* a/b + c/d = (a*(d/g) + c*(b/g)) / (b*(d/g)), g the common factor of b and d. */
bool lin_fraction_add(lin_fraction a, lin_fraction b, lin_fraction *out)
{
    const lin_magnitude factor = common_factor(a.denominator, b.denominator);
    lin_magnitude left, right, denominator, sum;
    if (!multiply(a.numerator, b.denominator / factor, &left) ||
        !multiply(b.numerator, a.denominator / factor, &right) ||
        !multiply(a.denominator, b.denominator / factor, &denominator))
        return false;
    if (a.negative == b.negative) {
        sum = left + right;
        if (sum < left)
            return false;
        *out = reduced(a.negative, sum, denominator);
    } else if (left >= right) {
        *out = reduced(a.negative, left - right, denominator);
    } else {
        *out = reduced(b.negative, right - left, denominator);
    }
    return true;
}

bool lin_fraction_mul(lin_fraction a, lin_fraction b, lin_fraction *out)
{
    const lin_fraction left = reduced(a.negative, a.numerator, b.denominator);
    const lin_fraction right = reduced(b.negative, b.numerator, a.denominator);
    lin_magnitude numerator, denominator;
    if (!multiply(left.numerator, right.numerator, &numerator) ||
        !multiply(left.denominator, right.denominator, &denominator))
        return false;
    *out = (lin_fraction){ a.negative != b.negative && numerator != 0, numerator, denominator };
    return true;
}

int lin_fraction_compare(lin_fraction a, lin_fraction b, bool *out_fits)
{
    lin_fraction difference;
    *out_fits = lin_fraction_add(a, lin_fraction_negate(b), &difference);
    if (!*out_fits || difference.numerator == 0)
        return 0;
    return difference.negative ? -1 : 1;
}

lin_fraction lin_fraction_floor(lin_fraction a)
{
    const bool up = a.negative && a.numerator % a.denominator != 0;
    return (lin_fraction){ a.negative, a.numerator / a.denominator + (up ? 1 : 0), 1 };
}

lin_fraction lin_fraction_ceil(lin_fraction a)
{
    return lin_fraction_negate(lin_fraction_floor(lin_fraction_negate(a)));
}

/* By halves between 0 and 2^64, whose square is the first not to fit. */
lin_fraction lin_fraction_ceil_sqrt(lin_fraction a)
{
    const lin_fraction whole = lin_fraction_ceil(a);
    lin_magnitude low = 0, high = (lin_magnitude)1 << 64;
    if (whole.negative)
        return lin_fraction_of(0);
    while (low < high) {
        const lin_magnitude middle = low + (high - low) / 2;
        if (middle * middle >= whole.numerator)
            high = middle;
        else
            low = middle + 1;
    }
    return (lin_fraction){ false, low, 1 };
}

bool lin_fraction_to_ratio(lin_fraction a, lin_ratio *out)
{
    if (a.numerator > INT64_MAX || a.denominator > INT64_MAX)
        return false;
    out->numerator = a.negative ? -(int64_t)a.numerator : (int64_t)a.numerator;
    out->denominator = (int64_t)a.denominator;
    return true;
}
