/* SPDX-License-Identifier: MIT */
#ifndef LIN_BIG_H
#define LIN_BIG_H

/* Natural numbers of up to LIN_BIG_WORDS words, for the exact conversions between doubles and
 * decimal digits. The callers bound what they compute; a result past the end is an assertion. */

#include <stdbool.h>
#include <stdint.h>

/* 401 digits times 10^746, the worst that lin_parse_double builds, is 3812 bits. */
enum { LIN_BIG_WORDS = 124 };

typedef struct lin_big {
    uint32_t words[LIN_BIG_WORDS]; /* the least significant first */
    uint32_t count;                /* the last one is not 0 */
} lin_big;

void lin_big_set(lin_big *big, uint64_t value);
void lin_big_mul_add(lin_big *big, uint32_t factor, uint32_t addend);
void lin_big_mul_pow10(lin_big *big, uint32_t power);
void lin_big_shift(lin_big *big, uint32_t bits); /* to the left */
/* Divides by 2^bits, rounded, ties to even. */
void lin_big_round_right(lin_big *big, uint32_t bits);
uint32_t lin_big_bits(const lin_big *big); /* 0 for 0 */
int lin_big_compare(const lin_big *a, const lin_big *b);
/* `big` / `divisor`, the remainder returned. */
uint32_t lin_big_div_small(lin_big *big, uint32_t divisor);
/* The quotient, which must fit in 63 bits, leaving the remainder in `big`. */
uint64_t lin_big_div(lin_big *big, const lin_big *divisor);

#endif
