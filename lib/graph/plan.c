/* SPDX-License-Identifier: MIT */

/*
 * The arena plan: offsets for buffers whose lives are known, so that no two share a byte while both
 * live (tracing.md 7.3).
 *
 *   offset
 *      4 | c  c  c  c      a and b are never alive at the same step, so they share offset 0;
 *      0 | a  a  b  b      c overlaps both and goes above them.
 *        +------------> step
 *
 * Three figures frame it: `naive`, the sum of all sizes; `live`, the largest sum alive at one step,
 * which no plan beats; `greedy`, first fit by size descending. Where greedy is above `live`, a
 * bounded search (plan_search.c) looks for a lower plan; `planned` is the lower of the two.
 *
 * The sum of all sizes is checked first. Every offset, end and live sum is at most that sum, so the
 * arithmetic after it cannot overflow.
 *
 * Cost: n log n for the live bound and where few buffers overlap; see plan_fit.c for the rest. The
 * search spends what `effort` allows.
 */

#include "graph/plan.h"

#include <assert.h>
#include <string.h>

/* About 0.1 us a placement: 5 ms when greedy misses, nothing when it does not. */
const lin_plan_effort lin_plan_default_effort = { .search_nodes = 50000, .stop_at_bytes = 0 };

static bool sum_bytes(const lin_buffer *buffers, uint32_t count, int64_t *out)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert(buffers[i].bytes >= 0);
        if (!lin_add_i64(sum, buffers[i].bytes, &sum))
            return false;
    }
    *out = sum;
    return true;
}

/* Size descending, first step, index. */
static bool goes_before(const void *context, uint32_t a, uint32_t b)
{
    const lin_buffer *buffers = context;
    if (buffers[a].bytes != buffers[b].bytes)
        return buffers[a].bytes > buffers[b].bytes;
    if (buffers[a].first_step != buffers[b].first_step)
        return buffers[a].first_step < buffers[b].first_step;
    return a < b;
}

static bool ends_before(const void *context, uint32_t a, uint32_t b)
{
    const lin_buffer *buffers = context;
    return buffers[a].end_step < buffers[b].end_step;
}

static uint32_t *sorted_indices(lin_arena *arena, const lin_buffer *buffers, uint32_t count,
                                lin_sort_before before)
{
    uint32_t *indices = LIN_NEW_ARRAY(arena, uint32_t, count);
    uint32_t *scratch = LIN_NEW_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        indices[i] = i;
    lin_sort(indices, count, scratch, before, buffers);
    return indices;
}

/* The largest live sum: births in order of first step, each after the deaths up to it. */
static int64_t live_bytes(const lin_buffer *buffers, uint32_t count, const uint32_t *by_first,
                          const uint32_t *by_end)
{
    int64_t live = 0;
    int64_t peak = 0;
    uint32_t ended = 0;
    for (uint32_t i = 0; i < count; i++) {
        const lin_buffer *b = &buffers[by_first[i]];
        if (!lin_plan_is_solid(b))
            continue;
        for (; buffers[by_end[ended]].end_step <= b->first_step; ended++) {
            if (lin_plan_is_solid(&buffers[by_end[ended]]))
                live -= buffers[by_end[ended]].bytes;
        }
        live += b->bytes;
        peak = live > peak ? live : peak;
    }
    return peak;
}

static int64_t height_of(const lin_buffer *buffers, uint32_t count, const int64_t *offsets)
{
    int64_t height = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t end = offsets[i] + buffers[i].bytes;
        height = end > height ? end : height;
    }
    return height;
}

/* Fills `plan` but for the naive sum; the offsets of the better plan are the result. */
static const int64_t *plan_buffers(lin_arena *arena, const lin_buffer *buffers, uint32_t count,
                                   const lin_plan_effort *effort, lin_plan *plan)
{
    lin_fit fit;
    lin_fit_init(&fit, arena, buffers, count);
    plan->live_bytes = live_bytes(buffers, count, fit.by_first,
                                  sorted_indices(arena, buffers, count, ends_before));

    const uint32_t *order = sorted_indices(arena, buffers, count, goes_before);
    for (uint32_t i = 0; i < count; i++)
        lin_fit_place(&fit, order[i]);
    plan->greedy_bytes = fit.height;
    plan->planned_bytes = fit.height;

    int64_t target =
        effort->stop_at_bytes > plan->live_bytes ? effort->stop_at_bytes : plan->live_bytes;
    if (fit.height > target && effort->search_nodes > 0) {
        lin_plan_search(arena, buffers, count, target, effort->search_nodes, fit.offsets);
        plan->planned_bytes = height_of(buffers, count, fit.offsets);
    }
    return fit.offsets;
}

/* `plan_buffers` under the guard of a jump; no local changes after setjmp. */
static linnet_status plan_guarded(lin_arena *arena, const lin_buffer *buffers, uint32_t count,
                                  const lin_plan_effort *effort, int64_t *out_offsets,
                                  lin_plan *plan, linnet_error *err)
{
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0)
        return lin_fail_memory(err);
    arena->on_failure = &out_of_memory;
    const int64_t *offsets = plan_buffers(arena, buffers, count, effort, plan);
    if (out_offsets != NULL && count > 0)
        memcpy(out_offsets, offsets, (uint64_t)count * sizeof(*offsets));
    return LINNET_OK;
}

linnet_status lin_plan_arena(const lin_buffer *buffers, uint32_t count,
                             const lin_plan_effort *effort, const lin_allocator *allocator,
                             int64_t *out_offsets, lin_plan *out, linnet_error *err)
{
    lin_arena scratch;
    lin_arena_init(&scratch, allocator);
    lin_plan plan = { 0 };
    if (!sum_bytes(buffers, count, &plan.naive_bytes))
        return lin_fail(err, LINNET_ERROR_OVERFLOW,
                        "the buffers of the arena pass 2^63 - 1 bytes together");
    linnet_status status = plan_guarded(&scratch, buffers, count, effort, out_offsets, &plan, err);
    lin_arena_free(&scratch);
    if (status == LINNET_OK)
        *out = plan;
    return status;
}
