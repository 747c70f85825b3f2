/* SPDX-License-Identifier: MIT */

/* Each rule is one loop over buffers or pairs, read off tracing.md 7.3. */

#include "judge/judge.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_alive(const lin_buffer *b, int32_t step)
{
    return b->first_step <= step && step < b->end_step;
}

/* Two lives meet when some step is in both: then the later of the two first steps is. */
static bool lives_meet(const lin_buffer *a, const lin_buffer *b)
{
    int32_t later = a->first_step > b->first_step ? a->first_step : b->first_step;
    return is_alive(a, later) && is_alive(b, later);
}

static bool share_a_byte(const lin_buffer *a, int64_t a_offset, const lin_buffer *b,
                         int64_t b_offset)
{
    return a->bytes > 0 && b->bytes > 0 && a_offset < b_offset + b->bytes &&
           b_offset < a_offset + a->bytes;
}

/* Live bytes rise only at a first step, so the peak is at one of them. */
int64_t judge_live_bytes(const lin_buffer *buffers, uint32_t count)
{
    int64_t peak = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t live = 0;
        for (uint32_t k = 0; k < count; k++) {
            if (is_alive(&buffers[k], buffers[i].first_step))
                live += buffers[k].bytes;
        }
        peak = live > peak ? live : peak;
    }
    return peak;
}

static bool judge_offsets(const lin_buffer *buffers, uint32_t count, const int64_t *offsets,
                          int64_t planned, char why[JUDGE_WHY])
{
    int64_t highest = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t end = offsets[i] + buffers[i].bytes;
        if (offsets[i] < 0) {
            snprintf(why, JUDGE_WHY, "buffer %" PRIu32 " has offset %" PRId64, i, offsets[i]);
            return false;
        }
        if (end > planned) {
            snprintf(why, JUDGE_WHY,
                     "buffer %" PRIu32 " ends at %" PRId64 ", past the planned %" PRId64, i, end,
                     planned);
            return false;
        }
        highest = end > highest ? end : highest;
    }
    if (highest != planned) {
        snprintf(why, JUDGE_WHY, "planned %" PRId64 ", but the highest end is %" PRId64, planned,
                 highest);
        return false;
    }
    return true;
}

static bool judge_pairs(const lin_buffer *buffers, uint32_t count, const int64_t *offsets,
                        char why[JUDGE_WHY])
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i + 1; k < count; k++) {
            if (lives_meet(&buffers[i], &buffers[k]) &&
                share_a_byte(&buffers[i], offsets[i], &buffers[k], offsets[k])) {
                snprintf(why, JUDGE_WHY,
                         "buffers %" PRIu32 " and %" PRIu32 " share bytes while both live", i, k);
                return false;
            }
        }
    }
    return true;
}

static bool judge_figures(const lin_buffer *buffers, uint32_t count, const lin_plan *plan,
                          char why[JUDGE_WHY])
{
    int64_t live = judge_live_bytes(buffers, count);
    int64_t naive = 0;
    for (uint32_t i = 0; i < count; i++)
        naive += buffers[i].bytes;
    const char *rule = NULL;
    if (plan->live_bytes != live)
        rule = "the live bound is not the largest live sum";
    else if (plan->naive_bytes != naive)
        rule = "naive is not the sum of all bytes";
    else if (plan->planned_bytes < live)
        rule = "planned is below the live bound";
    else if (plan->planned_bytes > plan->greedy_bytes)
        rule = "planned is above greedy";
    if (rule == NULL)
        return true;
    snprintf(why, JUDGE_WHY,
             "%s: greedy %" PRId64 ", planned %" PRId64 ", live %" PRId64 " (recomputed %" PRId64
             "), naive %" PRId64 " (recomputed %" PRId64 ")",
             rule, plan->greedy_bytes, plan->planned_bytes, plan->live_bytes, live,
             plan->naive_bytes, naive);
    return false;
}

bool judge_plan(const lin_buffer *buffers, uint32_t count, const int64_t *offsets,
                const lin_plan *plan, char why[JUDGE_WHY])
{
    return judge_figures(buffers, count, plan, why) &&
           judge_offsets(buffers, count, offsets, plan->planned_bytes, why) &&
           judge_pairs(buffers, count, offsets, why);
}

/* ---- the greedy rule */

static bool is_free(const lin_buffer *buffers, const uint32_t *order, uint32_t placed,
                    const int64_t *offsets, const lin_buffer *b, int64_t offset)
{
    for (uint32_t i = 0; i < placed; i++) {
        const lin_buffer *other = &buffers[order[i]];
        if (lives_meet(b, other) && share_a_byte(b, offset, other, offsets[order[i]]))
            return false;
    }
    return true;
}

/* The lowest free offset is 0 or the end of a placed buffer. */
static int64_t lowest_free(const lin_buffer *buffers, const uint32_t *order, uint32_t placed,
                           const int64_t *offsets, const lin_buffer *b)
{
    int64_t best = INT64_MAX;
    if (is_free(buffers, order, placed, offsets, b, 0))
        return 0;
    for (uint32_t i = 0; i < placed; i++) {
        int64_t end = offsets[order[i]] + buffers[order[i]].bytes;
        if (end < best && is_free(buffers, order, placed, offsets, b, end))
            best = end;
    }
    return best;
}

int64_t judge_first_fit(const lin_buffer *buffers, const uint32_t *order, uint32_t count,
                        int64_t *offsets)
{
    int64_t height = 0;
    for (uint32_t i = 0; i < count; i++) {
        const lin_buffer *b = &buffers[order[i]];
        offsets[order[i]] = lowest_free(buffers, order, i, offsets, b);
        if (offsets[order[i]] + b->bytes > height)
            height = offsets[order[i]] + b->bytes;
    }
    return height;
}

static bool goes_first(const lin_buffer *buffers, uint32_t a, uint32_t b)
{
    if (buffers[a].bytes != buffers[b].bytes)
        return buffers[a].bytes > buffers[b].bytes;
    if (buffers[a].first_step != buffers[b].first_step)
        return buffers[a].first_step < buffers[b].first_step;
    return a < b;
}

int64_t judge_greedy_bytes(const lin_buffer *buffers, uint32_t count)
{
    uint32_t order[JUDGE_GREEDY];
    int64_t offsets[JUDGE_GREEDY];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = i;
        for (; k > 0 && goes_first(buffers, i, order[k - 1]); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    return judge_first_fit(buffers, order, count, offsets);
}

/* ---- all orders */

static int64_t best_from(const lin_buffer *buffers, uint32_t *order, uint32_t fixed, uint32_t count)
{
    int64_t offsets[JUDGE_TINY];
    if (fixed == count)
        return judge_first_fit(buffers, order, count, offsets);
    int64_t best = INT64_MAX;
    for (uint32_t i = fixed; i < count; i++) {
        uint32_t chosen = order[i];
        order[i] = order[fixed];
        order[fixed] = chosen;
        int64_t height = best_from(buffers, order, fixed + 1, count);
        best = height < best ? height : best;
        order[fixed] = order[i];
        order[i] = chosen;
    }
    return best;
}

int64_t judge_best_bytes(const lin_buffer *buffers, uint32_t count)
{
    uint32_t order[JUDGE_TINY];
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    return best_from(buffers, order, 0, count);
}
