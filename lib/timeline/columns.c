/* SPDX-License-Identifier: MIT */

/*
 * A timeline over time: how much of each category lives at every moment, and the stream of
 * allocations behind it. A column is the running sum of what begins less what ends.
 *
 * Cost: linear in intervals and moments.
 */

#include "timeline/timeline.h"

#include <string.h>

static const char *const reason_words[] = {
#define X(id, words) words,
    LIN_REASONS(X)
#undef X
};

const char *lin_reason_words(lin_reason reason)
{
    return reason_words[reason];
}

static bool is_empty(const lin_interval *interval)
{
    return interval->first >= interval->end;
}

void lin_timeline_columns(const lin_timeline *timeline, const lin_timeline_values *values,
                          int64_t *const out[LIN_CATEGORY_COUNT])
{
    const int32_t length = lin_timeline_length(timeline);
    for (lin_category c = 0; c < LIN_CATEGORY_COUNT; c++)
        if (out[c] != NULL)
            memset(out[c], 0, (size_t)length * sizeof(*out[c]));

    /* No overflow: at each moment the sum is at most the peak, which was found to fit. A difference
     * is the change of such a sum. */
    for (uint32_t i = 0; i < lin_timeline_count(timeline); i++) {
        const lin_interval *interval = lin_timeline_interval(timeline, i);
        int64_t *column = out[interval->category];
        if (column == NULL || is_empty(interval))
            continue;
        const int64_t bytes = lin_timeline_bytes(timeline, values, i);
        column[interval->first] += bytes;
        if (interval->end < length)
            column[interval->end] -= bytes;
    }
    for (lin_category c = 0; c < LIN_CATEGORY_COUNT; c++)
        for (int32_t m = 1; out[c] != NULL && m < length; m++)
            out[c][m] += out[c][m - 1];
}

/* Where the events of a moment begin: frees first, then births. */
static void count_events(const lin_timeline *timeline, uint32_t *ends)
{
    for (uint32_t i = 0; i < lin_timeline_count(timeline); i++) {
        const lin_interval *interval = lin_timeline_interval(timeline, i);
        if (is_empty(interval))
            continue;
        ends[2 * interval->end + 1]++;
        ends[2 * interval->first + 2]++;
    }
    for (int32_t slot = 1; slot <= 2 * lin_timeline_length(timeline) + 2; slot++)
        ends[slot] += ends[slot - 1];
}

const lin_timeline_event *lin_timeline_events(lin_arena *arena, const lin_timeline *timeline,
                                              uint32_t *out_count)
{
    /* Slot 2 m holds the frees of moment m, slot 2 m + 1 its births; entry s is where slot s
     * begins, and filling moves it to where it ends. */
    const uint64_t slots = 2 * (uint64_t)lin_timeline_length(timeline) + 3;
    uint32_t *begins = LIN_NEW_ARRAY(arena, uint32_t, slots);
    if (begins == NULL)
        return NULL;
    count_events(timeline, begins);
    const uint32_t count = begins[slots - 1];
    lin_timeline_event *events = LIN_NEW_ARRAY(arena, lin_timeline_event, count);
    if (events == NULL)
        return NULL;
    for (uint32_t i = 0; i < lin_timeline_count(timeline); i++) {
        const lin_interval *interval = lin_timeline_interval(timeline, i);
        if (is_empty(interval))
            continue;
        events[begins[2 * interval->first + 1]++] =
            (lin_timeline_event){ interval->first, i, false };
        events[begins[2 * interval->end]++] = (lin_timeline_event){ interval->end, i, true };
    }
    *out_count = count;
    return events;
}
