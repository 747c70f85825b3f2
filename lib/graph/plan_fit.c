/* SPDX-License-Identifier: MIT */

/*
 * First fit: a buffer goes to the lowest offset at which no placed buffer with an overlapping life
 * lies.
 *
 *   offset
 *      6 | . . d d      d is placed last: a ends before it starts, b and c are in its way;
 *      4 | c c c .      the gap between b (0..2) and c (4..6) takes it if it has 2 bytes,
 *      2 | a . d d      otherwise it goes on top.
 *      0 | b b b b
 *        +---------> step
 *
 * Where few placed buffers overlap the new one (an inference graph: some thirty at once), they are
 * found in an interval tree: the buffers in order of their first step are the leaves, an inner node
 * knows the latest end of a placed buffer below it, so k overlaps cost k log n; they are then
 * sorted by offset. Where many do (saved activations), sorting costs more than it saves: all placed
 * buffers are kept in order of offset and scanned from the bottom up to the first gap.
 */

#include "graph/plan.h"

#include <string.h>

enum {
    FEW = 48,           /* overlaps sorted by insertion; measured: past about 50 the scan wins */
    WORK_SHIFT = 5,     /* neighbours looked at for one unit of work */
    TREE_STACK = 2 * 32 /* two pending nodes a level */
};

static bool starts_before(const void *context, uint32_t a, uint32_t b)
{
    const lin_buffer *buffers = context;
    return buffers[a].first_step < buffers[b].first_step;
}

void lin_fit_init(lin_fit *fit, lin_arena *arena, const lin_buffer *buffers, uint32_t count)
{
    *fit = (lin_fit){ .buffers = buffers, .count = count, .leaves = 1 };
    while (fit->leaves < count)
        fit->leaves *= 2;
    fit->leaf_of = LIN_NEW_ARRAY(arena, uint32_t, count);
    fit->by_first = LIN_NEW_ARRAY(arena, uint32_t, count);
    fit->reach = LIN_NEW_ARRAY(arena, int32_t, 2 * (uint64_t)fit->leaves);
    fit->offsets = LIN_NEW_ARRAY(arena, int64_t, count);
    fit->found = LIN_NEW_ARRAY(arena, lin_fit_span, FEW);
    fit->stack = LIN_NEW_ARRAY(arena, lin_fit_span, count);

    for (uint32_t i = 0; i < count; i++)
        fit->by_first[i] = i;
    lin_sort(fit->by_first, count, fit->leaf_of, starts_before, buffers);
    for (uint32_t i = 0; i < count; i++)
        fit->leaf_of[fit->by_first[i]] = i;
    lin_fit_clear(fit);
}

void lin_fit_clear(lin_fit *fit)
{
    for (uint64_t i = 0; i < 2 * (uint64_t)fit->leaves; i++)
        fit->reach[i] = INT32_MIN;
    fit->stacked = 0;
    fit->sorted = 0;
    fit->height = 0;
}

/* The number of leaves that start before `step`. */
static uint32_t leaves_before(const lin_fit *fit, int32_t step)
{
    uint32_t low = 0;
    uint32_t high = fit->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (fit->buffers[fit->by_first[middle]].first_step < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static lin_fit_span span_of(const lin_fit *fit, uint32_t buffer)
{
    const lin_buffer *b = &fit->buffers[buffer];
    int64_t offset = fit->offsets[buffer];
    return (lin_fit_span){ offset, offset + b->bytes, b->first_step, b->end_step };
}

static void sort_spans(lin_fit_span *spans, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        lin_fit_span span = spans[i];
        uint32_t k = i;
        for (; k > 0 && spans[k - 1].offset > span.offset; k--)
            spans[k] = spans[k - 1];
        spans[k] = span;
    }
}

/* The placed buffers that overlap `buffer` in time; FEW + 1 when there are more than FEW. */
static uint32_t find_few(lin_fit *fit, const lin_buffer *buffer)
{
    struct {
        uint32_t node, shift;
    } pending[TREE_STACK];
    uint32_t limit = leaves_before(fit, buffer->end_step);
    uint32_t root_shift = (uint32_t)__builtin_ctz(fit->leaves);
    uint32_t depth = 0;
    uint32_t count = 0;

    pending[depth].node = 1;
    pending[depth++].shift = root_shift;
    while (depth > 0) {
        uint32_t node = pending[--depth].node;
        uint32_t shift = pending[depth].shift;
        if (fit->reach[node] <= buffer->first_step ||
            (((uint64_t)node << shift) - fit->leaves) >= limit)
            continue;
        if (node >= fit->leaves) {
            if (count == FEW)
                return FEW + 1;
            fit->found[count++] = span_of(fit, fit->by_first[node - fit->leaves]);
            continue;
        }
        pending[depth].node = 2 * node + 1;
        pending[depth++].shift = shift - 1;
        pending[depth].node = 2 * node;
        pending[depth++].shift = shift - 1;
    }
    return count;
}

/* The lowest gap of `bytes` between spans sorted by offset, of those alive with `buffer`. */
static int64_t lowest_gap(const lin_fit_span *spans, uint32_t count, const lin_buffer *buffer,
                          uint64_t *work)
{
    int64_t top = 0;
    uint32_t i = 0;
    for (; i < count && spans[i].offset - top < buffer->bytes; i++) {
        bool overlaps =
            spans[i].first_step < buffer->end_step && buffer->first_step < spans[i].end_step;
        if (overlaps && spans[i].end > top)
            top = spans[i].end;
    }
    *work += 1 + (i >> WORK_SHIFT);
    return top;
}

static uint32_t upper_bound(const lin_fit_span *spans, uint32_t count, int64_t offset)
{
    uint32_t low = 0;
    while (low < count) {
        uint32_t middle = low + (count - low) / 2;
        if (spans[middle].offset <= offset)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

static void sort_stack(lin_fit *fit)
{
    for (; fit->sorted < fit->stacked; fit->sorted++) {
        lin_fit_span span = fit->stack[fit->sorted];
        uint32_t at = upper_bound(fit->stack, fit->sorted, span.offset);
        memmove(&fit->stack[at + 1], &fit->stack[at], (fit->sorted - at) * sizeof(span));
        fit->stack[at] = span;
    }
}

static void remember(lin_fit *fit, uint32_t buffer)
{
    fit->stack[fit->stacked++] = span_of(fit, buffer);
    int32_t end = fit->buffers[buffer].end_step;
    for (uint32_t node = fit->leaves + fit->leaf_of[buffer]; node > 0 && (fit->reach[node] < end);
         node /= 2)
        fit->reach[node] = end;
}

void lin_fit_place(lin_fit *fit, uint32_t buffer)
{
    const lin_buffer *b = &fit->buffers[buffer];
    int64_t offset = 0;
    bool is_solid = lin_plan_is_solid(b);
    if (is_solid) {
        uint32_t few = find_few(fit, b);
        fit->work += few >> (WORK_SHIFT - 2);
        if (few <= FEW) {
            sort_spans(fit->found, few);
            offset = lowest_gap(fit->found, few, b, &fit->work);
        } else {
            sort_stack(fit);
            offset = lowest_gap(fit->stack, fit->stacked, b, &fit->work);
        }
    }
    fit->offsets[buffer] = offset;
    if (is_solid)
        remember(fit, buffer);
    if (offset + b->bytes > fit->height)
        fit->height = offset + b->bytes;
}
