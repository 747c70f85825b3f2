/* SPDX-License-Identifier: MIT */

/*
 * The cheapest combination that fits, of some effects on results: all combinations in order of
 * their seconds, each peak evaluated when its turn comes, until one fits.
 *
 *     seconds    known of every combination before the first peak is asked for: they cost little
 *     order      seconds, then the combination whose costliest member by the table is cheaper
 *     skipped    combinations that cannot fit by a bound (advise_bound.c)
 *
 * So the answer is that of an exhaustive search. Without times the order is the second alone. Cost:
 * a heap of all combinations, and a peak for each that is cheaper than the answer.
 */

#include "plan/advise_space.h"

typedef struct candidate {
    double seconds; /* or another cost; negative: not known, behind all others */
    uint64_t members, index;
} candidate;

typedef struct queue {
    candidate *items; /* a heap: no item is before its parent */
    uint64_t count;
} queue;

static bool is_before(const candidate *a, const candidate *b)
{
    if ((a->seconds < 0) != (b->seconds < 0))
        return b->seconds < 0;
    if (a->seconds >= 0 && a->seconds != b->seconds)
        return a->seconds < b->seconds;
    return a->members < b->members;
}

static void push(queue *q, candidate item)
{
    uint64_t at = q->count++;
    for (; at > 0 && is_before(&item, &q->items[(at - 1) / 2]); at = (at - 1) / 2)
        q->items[at] = q->items[(at - 1) / 2];
    q->items[at] = item;
}

static candidate pop(queue *q)
{
    const candidate first = q->items[0], last = q->items[--q->count];
    uint64_t at = 0;
    for (;;) {
        uint64_t child = 2 * at + 1;
        if (child >= q->count)
            break;
        child += child + 1 < q->count && is_before(&q->items[child + 1], &q->items[child]);
        if (!is_before(&q->items[child], &last))
            break;
        q->items[at] = q->items[child];
        at = child;
    }
    q->items[at] = last;
    return first;
}

/* Faster ones alone, where something fits already. */
static bool is_wanted(const advice_space *s, uint64_t index, const advice_found *below)
{
    return !below->found ||
           (s->is_timed && s->seconds[index] >= 0 && s->seconds[below->index] >= 0 &&
            s->seconds[index] < s->seconds[below->index]);
}

linnet_status lin_advise_tell(advice_space *s, linnet_error *err)
{
    if (s->done < s->total)
        s->done++;
    if (s->settings->progress == NULL ||
        s->settings->progress(s->settings->progress_user, s->done, s->total) == 0)
        return LINNET_OK;
    return lin_fail(err, LINNET_ERROR_CANCELLED, "the advice was stopped");
}

static bool has_effects(const advice_space *s, const advice_choice *choice, lin_effects effects)
{
    const lin_effects own = lin_advise_effects(s, choice);
    return effects & LIN_EFFECT_TASK ? (own & LIN_EFFECT_TASK) != 0 : own == effects;
}

static linnet_status fill(advice_space *s, lin_effects effects, const advice_found *below, queue *q,
                          linnet_error *err)
{
    for (uint64_t i = 1; i < s->size; i++) {
        const advice_choice choice = lin_advise_choice(s, i);
        if (!has_effects(s, &choice, effects) || lin_advise_is_dropped(s, &choice))
            continue;
        const bool is_new = s->is_timed && s->seconds[i] == NOT_YET;
        linnet_status status = lin_advise_time(s, i, err);
        if (status == LINNET_OK && is_new)
            status = lin_advise_tell(s, err);
        if (status != LINNET_OK)
            return status;
        if (is_wanted(s, i, below))
            push(q, (candidate){ .seconds = s->is_timed ? s->seconds[i] : THERE_IS_NONE,
                                 .members = lin_advise_members(s, &choice),
                                 .index = i });
    }
    return LINNET_OK;
}

static linnet_status look_at(advice_space *s, uint64_t index, linnet_error *err)
{
    const bool is_new = s->peaks[index] == NOT_YET;
    const linnet_status status = lin_advise_peak(s, index, err);
    return status == LINNET_OK && is_new ? lin_advise_tell(s, err) : status;
}

linnet_status lin_advise_combine(advice_space *s, lin_effects effects, const advice_found *below,
                                 advice_found *out, linnet_error *err)
{
    const int64_t budget = s->settings->budget_bytes;
    queue q = { .items = LIN_NEW_ARRAY(s->scratch, candidate, s->size) };
    linnet_status status = fill(s, effects, below, &q, err);
    *out = (advice_found){ .found = false };
    while (q.count > 0 && status == LINNET_OK && !out->found) {
        const uint64_t index = pop(&q).index;
        const advice_choice choice = lin_advise_choice(s, index);
        if (lin_advise_bound(s, &choice) > budget)
            continue;
        status = look_at(s, index, err);
        if (s->peaks[index] >= 0 && s->peaks[index] <= budget)
            *out = (advice_found){ true, index };
    }
    return status;
}

/* By bound ascending. A bound only grows as more is known, so one that was taken before is one
 * still: behind the first that is not below the smallest peak, none is. */
linnet_status lin_advise_find_closest(advice_space *s, linnet_error *err)
{
    queue q = { .items = LIN_NEW_ARRAY(s->scratch, candidate, s->size) };
    linnet_status status = LINNET_OK;
    for (uint64_t i = 1; i < s->size; i++) {
        const advice_choice choice = lin_advise_choice(s, i);
        if (s->peaks[i] == NOT_YET && !lin_advise_is_dropped(s, &choice))
            push(&q, (candidate){ .seconds = (double)lin_advise_bound(s, &choice),
                                  .members = lin_advise_members(s, &choice),
                                  .index = i });
    }
    while (q.count > 0 && status == LINNET_OK) {
        const candidate next = pop(&q);
        const advice_choice choice = lin_advise_choice(s, next.index);
        if (next.seconds >= (double)s->smallest_peak)
            break;
        if (lin_advise_bound(s, &choice) < s->smallest_peak)
            status = look_at(s, next.index, err);
    }
    return status;
}
