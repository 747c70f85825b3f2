/* SPDX-License-Identifier: MIT */

/* Schoolbook arithmetic on words of 32 bits. Division is by shift and subtract, one step a quotient
 * bit: quotients here have at most 63. */

#include "base/big.h"

#include <assert.h>
#include <string.h>

void lin_big_set(lin_big *big, uint64_t value)
{
    big->words[0] = (uint32_t)value;
    big->words[1] = (uint32_t)(value >> 32);
    big->count = value == 0 ? 0 : value >> 32 == 0 ? 1 : 2;
}

void lin_big_mul_add(lin_big *big, uint32_t factor, uint32_t addend)
{
    uint64_t carry = addend;
    for (uint32_t i = 0; i < big->count; i++) {
        carry += (uint64_t)big->words[i] * factor;
        big->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0) {
        assert(big->count < LIN_BIG_WORDS);
        big->words[big->count++] = (uint32_t)carry;
    }
}

void lin_big_mul_pow10(lin_big *big, uint32_t power)
{
    for (; power >= 9; power -= 9)
        lin_big_mul_add(big, 1000000000u, 0);
    for (; power > 0; power--)
        lin_big_mul_add(big, 10, 0);
}

void lin_big_shift(lin_big *big, uint32_t bits)
{
    if (big->count == 0)
        return;
    uint32_t words = bits / 32;
    if (words != 0) {
        assert(big->count + words <= LIN_BIG_WORDS);
        memmove(big->words + words, big->words, big->count * sizeof(big->words[0]));
        memset(big->words, 0, words * sizeof(big->words[0]));
        big->count += words;
    }
    if (bits % 32 != 0)
        lin_big_mul_add(big, (uint32_t)1 << bits % 32, 0);
}

uint32_t lin_big_bits(const lin_big *big)
{
    if (big->count == 0)
        return 0;
    return big->count * 32 - (uint32_t)__builtin_clz(big->words[big->count - 1]);
}

int lin_big_compare(const lin_big *a, const lin_big *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (uint32_t i = a->count; i-- > 0;)
        if (a->words[i] != b->words[i])
            return a->words[i] < b->words[i] ? -1 : 1;
    return 0;
}

static void trim(lin_big *big)
{
    while (big->count != 0 && big->words[big->count - 1] == 0)
        big->count--;
}

uint32_t lin_big_div_small(lin_big *big, uint32_t divisor)
{
    uint64_t rest = 0;
    for (uint32_t i = big->count; i-- > 0;) {
        rest = rest << 32 | big->words[i];
        big->words[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    trim(big);
    return (uint32_t)rest;
}

/* `a` -= `b`, where a >= b. */
static void subtract(lin_big *a, const lin_big *b)
{
    uint64_t borrow = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        uint64_t take = borrow + (i < b->count ? b->words[i] : 0);
        borrow = a->words[i] < take;
        a->words[i] = (uint32_t)(a->words[i] - take);
    }
    trim(a);
}

static void halve(lin_big *big)
{
    for (uint32_t i = 0; i < big->count; i++) {
        uint32_t above = i + 1 < big->count ? big->words[i + 1] : 0;
        big->words[i] = big->words[i] >> 1 | above << 31;
    }
    trim(big);
}

static bool bit_at(const lin_big *big, uint32_t bit)
{
    return bit / 32 < big->count && (big->words[bit / 32] >> bit % 32 & 1) != 0;
}

static bool any_below(const lin_big *big, uint32_t bit)
{
    for (uint32_t i = 0; i < bit / 32 && i < big->count; i++)
        if (big->words[i] != 0)
            return true;
    return bit / 32 < big->count && (big->words[bit / 32] & (((uint32_t)1 << bit % 32) - 1)) != 0;
}

void lin_big_round_right(lin_big *big, uint32_t bits)
{
    bool up = bits != 0 && bit_at(big, bits - 1) && (any_below(big, bits - 1) || bit_at(big, bits));
    uint32_t words = bits / 32;
    uint32_t kept = big->count > words ? big->count - words : 0;
    memmove(big->words, big->words + (kept == 0 ? 0 : words), kept * sizeof(big->words[0]));
    big->count = kept;
    if (bits % 32 != 0)
        (void)lin_big_div_small(big, (uint32_t)1 << bits % 32);
    if (up && big->count == 0)
        lin_big_set(big, 1);
    else if (up)
        lin_big_mul_add(big, 1, 1);
}

uint64_t lin_big_div(lin_big *big, const lin_big *divisor)
{
    uint32_t bits = lin_big_bits(big);
    uint32_t divisor_bits = lin_big_bits(divisor);
    if (bits < divisor_bits)
        return 0;
    assert(bits - divisor_bits < 63);
    lin_big shifted = *divisor;
    lin_big_shift(&shifted, bits - divisor_bits);
    uint64_t quotient = 0;
    for (uint32_t step = bits - divisor_bits + 1; step > 0; step--) {
        quotient <<= 1;
        if (lin_big_compare(big, &shifted) >= 0) {
            subtract(big, &shifted);
            quotient |= 1;
        }
        halve(&shifted);
    }
    return quotient;
}
