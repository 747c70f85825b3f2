/* SPDX-License-Identifier: MIT */

/*
 * Stages of units that weigh something: the classic partition of a row into runs whose heaviest is
 * as light as possible, by a binary search over its weight. Many cuts reach it, since only the
 * heaviest counts; of these the evenest one is taken, by the sum of squares, and then the earliest:
 *
 *     units     1 1 1 1 1 1 4 3          in 4 runs the heaviest weighs 4
 *     cut       1 1 1|1 1 1|4|3          9 + 9 + 16 + 9, not 1 1|1 1 1 1|4|3: 4 + 16 + 16 + 9
 *
 * Weights are whole numbers, so that equal units are equal and sums do not depend on their order.
 *
 * Cost: units times the bits of a weight; the squares, units times the units of a stage for every
 * stage.
 */

#include "graph/stages.h"

#include <assert.h>

/* ---- the heaviest ---- */

/* Whether so few stages of at most `limit` hold all units; fewer do, too. */
static bool fits(const int64_t *weights, uint32_t units, int64_t limit, uint32_t stages)
{
    int64_t held = 0;
    uint32_t used = 1;
    for (uint32_t i = 0; i < units; i++) {
        if (weights[i] > limit - held) {
            if (used++ == stages)
                return false;
            held = 0;
        }
        held += weights[i];
    }
    return true;
}

static linnet_status find_heaviest(const int64_t *weights, uint32_t units, uint32_t stages,
                                   int64_t *out, linnet_error *err)
{
    int64_t low = 0, high = 0;
    for (uint32_t i = 0; i < units; i++) {
        assert(weights[i] >= 0);
        low = weights[i] > low ? weights[i] : low;
        if (!lin_add_i64(high, weights[i], &high))
            return lin_fail(err, LINNET_ERROR_OVERFLOW,
                            "the weights of the units together pass 2^63 - 1");
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (fits(weights, units, middle, stages))
            high = middle;
        else
            low = middle + 1;
    }
    *out = low;
    return LINNET_OK;
}

/* ---- the evenest ---- */

/* A stage that weighs as much as the heaviest has the square 2^40: 2^22 of them can be added. */
enum { HEAVIEST = 1 << 20 };

static int64_t square(int64_t weight, int64_t heaviest)
{
    const double share = heaviest > 0 ? (double)weight / (double)heaviest : 0;
    const int64_t scaled = (int64_t)(share * HEAVIEST + 0.5);
    return scaled * scaled;
}

/* The best of one stage from a unit on and `later` ones behind it, for which the sums are known. */
static int64_t best_end(const int64_t *weights, uint32_t units, uint32_t first, int64_t heaviest,
                        const int64_t *later, uint32_t *out_end)
{
    int64_t held = 0, best = INT64_MAX;
    *out_end = first;
    for (uint32_t end = first; end < units && weights[end] <= heaviest - held;) {
        held += weights[end++];
        if (later[end] == INT64_MAX)
            continue;
        const int64_t sum = square(held, heaviest) + later[end];
        if (sum < best) {
            best = sum;
            *out_end = end;
        }
    }
    return best;
}

linnet_status lin_stage_cuts(const int64_t *weights, uint32_t units, uint32_t stages,
                             lin_arena *arena, uint32_t *first_unit, linnet_error *err)
{
    int64_t heaviest = 0;
    const linnet_status status = find_heaviest(weights, units, stages, &heaviest, err);
    if (status != LINNET_OK)
        return status;
    /* By unit: the least sum of squares from there on, in as many stages as were looked at. */
    int64_t *sums = LIN_NEW_ARRAY(arena, int64_t, (uint64_t)units + 1);
    int64_t *later = LIN_NEW_ARRAY(arena, int64_t, (uint64_t)units + 1);
    uint32_t *ends = LIN_NEW_ARRAY(arena, uint32_t, (uint64_t)stages * units);
    for (uint32_t i = 0; i < units; i++)
        later[i] = INT64_MAX;
    for (uint32_t stage = stages; stage-- > 0;) {
        int64_t *const swapped = later;
        for (uint32_t i = 0; i < units; i++)
            sums[i] =
                best_end(weights, units, i, heaviest, later, &ends[(uint64_t)stage * units + i]);
        sums[units] = INT64_MAX;
        later = sums;
        sums = swapped;
    }
    first_unit[0] = 0;
    for (uint32_t stage = 0; stage + 1 < stages; stage++)
        first_unit[stage + 1] = ends[(uint64_t)stage * units + first_unit[stage]];
    return LINNET_OK;
}
