/* SPDX-License-Identifier: MIT */

/*
 * A timeline and the questions asked of it at one moment.
 *
 * In: intervals with size expressions. Intervals are grouped by size: a model of 32 equal layers
 * has a few dozen distinct sizes, not one a tensor, and only these are evaluated for another
 * configuration. The peaks come from sweep.c; a breakdown walks every interval once.
 *
 * Cost: making one is linear in intervals and moments; a breakdown is linear in intervals.
 */

#include "timeline/timeline.h"

#include <string.h>

#include "timeline/sweep.h"

/* Numbers the distinct sizes in order of first use. `number_of` has an entry for every expression
 * up to the largest in use: expressions are small integers of their table. */
static bool group_sizes(lin_arena *arena, lin_arena *scratch, lin_timeline *t)
{
    lin_expr largest = 0;
    for (uint32_t i = 0; i < t->count; i++)
        largest = t->intervals[i].bytes > largest ? t->intervals[i].bytes : largest;

    uint32_t *number_of = LIN_NEW_ARRAY(scratch, uint32_t, (uint64_t)largest + 1);
    t->sizes = LIN_NEW_ARRAY(arena, lin_expr, t->count);
    t->size_of = LIN_NEW_ARRAY(arena, uint32_t, t->count);
    t->intervals_of = LIN_NEW_ARRAY(arena, int64_t, t->count);
    if (number_of == NULL || t->sizes == NULL || t->size_of == NULL || t->intervals_of == NULL)
        return false;

    for (uint32_t i = 0; i < t->count; i++) {
        const lin_expr size = t->intervals[i].bytes;
        if (number_of[size] == 0) {
            t->sizes[t->size_count++] = size;
            number_of[size] = t->size_count;
        }
        t->size_of[i] = number_of[size] - 1;
        t->intervals_of[t->size_of[i]]++;
    }
    return true;
}

static bool fill(lin_arena *arena, lin_timeline *t, const lin_expr_table *exprs,
                 const lin_interval *intervals)
{
    t->intervals = LIN_NEW_ARRAY(arena, lin_interval, t->count);
    if (t->intervals == NULL)
        return false;
    for (uint32_t i = 0; i < t->count; i++) {
        lin_interval *interval = &t->intervals[i];
        *interval = intervals[i];
        interval->first = interval->first > 0 ? interval->first : 0;
        interval->end = interval->end < t->length ? interval->end : t->length;
    }

    lin_arena scratch;
    lin_arena_init(&scratch, &arena->allocator);
    const bool grouped = group_sizes(arena, &scratch, t);
    lin_arena_free(&scratch);
    if (!grouped)
        return false;

    t->program = lin_expr_compile(arena, exprs, t->sizes, t->size_count);
    return t->program != NULL && lin_sweep_compile(arena, t);
}

lin_timeline *lin_timeline_new(lin_arena *arena, const lin_expr_table *exprs,
                               const lin_interval *intervals, uint32_t count, int32_t length)
{
    /* A scratch arena is open meanwhile, which a jump past this frame would leak. */
    jmp_buf *const on_failure = arena->on_failure;
    arena->on_failure = NULL;

    lin_timeline *timeline = LIN_NEW(arena, lin_timeline);
    if (timeline != NULL) {
        timeline->count = count;
        timeline->length = length > 0 ? length : 0;
        if (!fill(arena, timeline, exprs, intervals))
            timeline = NULL;
    }

    arena->on_failure = on_failure;
    if (timeline == NULL && on_failure != NULL)
        longjmp(*on_failure, 1);
    return timeline;
}

lin_timeline_values *lin_timeline_values_new(lin_arena *arena, const lin_timeline *timeline)
{
    lin_timeline_values *values = LIN_NEW(arena, lin_timeline_values);
    if (values == NULL)
        return NULL;
    values->sizes = LIN_NEW_ARRAY(arena, int64_t, timeline->size_count);
    values->scratch = LIN_NEW_ARRAY(arena, int64_t, lin_expr_program_scratch(timeline->program));
    return values->sizes == NULL || values->scratch == NULL ? NULL : values;
}

int64_t lin_timeline_bytes(const lin_timeline *timeline, const lin_timeline_values *values,
                           uint32_t interval)
{
    return values->sizes[timeline->size_of[interval]];
}

static bool lives_at(const lin_interval *interval, int32_t moment)
{
    return interval->first <= moment && moment < interval->end;
}

int64_t lin_timeline_at(const lin_timeline *timeline, const lin_timeline_values *values,
                        int32_t moment, bool workspaces)
{
    /* No overflow: the sum is at most the peak with workspaces, which was found to fit. */
    int64_t sum = 0;
    for (uint32_t i = 0; i < timeline->count; i++) {
        const lin_interval *interval = &timeline->intervals[i];
        if (lives_at(interval, moment) && (workspaces || !interval->is_workspace))
            sum += lin_timeline_bytes(timeline, values, i);
    }
    return sum;
}

void lin_timeline_breakdown(const lin_timeline *timeline, const lin_timeline_values *values,
                            int32_t moment, int64_t out[LIN_CATEGORY_COUNT])
{
    memset(out, 0, LIN_CATEGORY_COUNT * sizeof(*out));
    for (uint32_t i = 0; i < timeline->count; i++) {
        const lin_interval *interval = &timeline->intervals[i];
        if (lives_at(interval, moment))
            out[interval->category] += lin_timeline_bytes(timeline, values, i);
    }
}

uint32_t lin_timeline_count(const lin_timeline *timeline)
{
    return timeline->count;
}

const lin_interval *lin_timeline_interval(const lin_timeline *timeline, uint32_t index)
{
    return &timeline->intervals[index];
}

int32_t lin_timeline_length(const lin_timeline *timeline)
{
    return timeline->length;
}
