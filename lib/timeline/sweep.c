/* SPDX-License-Identifier: MIT */

/*
 * The sweep: both peaks of a timeline at one configuration, without allocating.
 *
 * Compiling keeps only moments ("stops") that can be the first with the most bytes:
 *
 *     moment   0   1   2   3   4   5   6   7
 *     born     a   b       c   d       c'  d'       c' has c's size and d' has d's, as in the
 *     freed            b       c       d   c'       next layer of a model
 *     live     a   ab  a   ac  ad  ad  ac' ad'
 *     stops    *   *       *   *
 *
 * - the live bytes grow only where something is born, so a moment that only frees is none;
 * - a moment whose live sizes are those of an earlier stop, as a multiset, has the same bytes at
 *   every configuration, and ties go to the first.
 *
 * Between two stops only the difference is kept, merged to one event a size. A Llama 3.1 8B forward
 * has 1,156 storages, and 50 stops or so.
 *
 * Overflow: one checked total over all intervals bounds every partial sum. Where even that total
 * does not fit, the sweep runs on sums of two limbs, which are exact.
 *
 * Cost: compiling is linear in intervals and moments, and distinct live sets times their sizes;
 * running is linear in the expression program and the events.
 */

#include "timeline/sweep.h"

/* A live set that was seen: its (slot, count) pairs stand in `pairs` [first, end). */
typedef struct seen_set {
    uint64_t hash;
    uint32_t first, end;
    bool used;
} seen_set;

/*
 * A slot is a size, or that size as a workspace: slots [0, size_count) and [size_count, 2
 * size_count). `counts` is what lives at the current moment, `known` at the last stop.
 */
typedef struct compiler {
    lin_arena *arena;
    lin_arena scratch;
    lin_timeline *timeline;
    int32_t *counts, *known;
    uint32_t slot_count;
    uint32_t live_slots; /* with a count other than 0 */
    uint64_t hash;       /* sum of counts times the slots' weights, modulo 2^64 */
    uint32_t *touched;   /* slots that changed since the last stop */
    bool *is_touched;
    uint32_t touched_count;
    uint32_t *born_end, *freed_end; /* by moment: where its part of the lists ends */
    uint32_t *born, *freed;         /* intervals by first moment, by end */
    seen_set *seen;                 /* open addressing */
    uint64_t seen_mask;
    LIN_LIST(lin_sweep_event) pairs;
} compiler;

/* A well-mixed weight (the finalizer of Steele, Lea and Flood, SplitMix, 2014). */
static uint64_t weight_of(uint32_t slot)
{
    uint64_t z = ((uint64_t)slot + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static bool is_empty(const lin_interval *interval)
{
    return interval->first >= interval->end;
}

/* Sorts the intervals by moment, by counting: those of moment m stand in [end[m - 1], end[m]). */
static bool bucket(compiler *c)
{
    const lin_timeline *t = c->timeline;
    const uint64_t moments = (uint64_t)t->length + 1;
    c->born_end = LIN_NEW_ARRAY(&c->scratch, uint32_t, moments + 1);
    c->freed_end = LIN_NEW_ARRAY(&c->scratch, uint32_t, moments + 1);
    c->born = LIN_NEW_ARRAY(&c->scratch, uint32_t, t->count);
    c->freed = LIN_NEW_ARRAY(&c->scratch, uint32_t, t->count);
    if (c->born_end == NULL || c->freed_end == NULL || c->born == NULL || c->freed == NULL)
        return false;

    for (uint32_t i = 0; i < t->count; i++)
        if (!is_empty(&t->intervals[i])) {
            c->born_end[t->intervals[i].first + 1]++;
            c->freed_end[t->intervals[i].end + 1]++;
        }
    for (uint64_t m = 1; m <= moments; m++) {
        c->born_end[m] += c->born_end[m - 1];
        c->freed_end[m] += c->freed_end[m - 1];
    }
    /* Entry m is now where moment m begins; filling moves it to where it ends. */
    for (uint32_t i = 0; i < t->count; i++)
        if (!is_empty(&t->intervals[i])) {
            c->born[c->born_end[t->intervals[i].first]++] = i;
            c->freed[c->freed_end[t->intervals[i].end]++] = i;
        }
    return true;
}

static bool prepare(compiler *c)
{
    lin_timeline *t = c->timeline;
    c->slot_count = 2 * t->size_count;
    c->counts = LIN_NEW_ARRAY(&c->scratch, int32_t, c->slot_count);
    c->known = LIN_NEW_ARRAY(&c->scratch, int32_t, c->slot_count);
    c->touched = LIN_NEW_ARRAY(&c->scratch, uint32_t, c->slot_count);
    c->is_touched = LIN_NEW_ARRAY(&c->scratch, bool, c->slot_count);

    /* At most one set a moment with a birth, and one for the first moment. */
    const uint64_t births =
        t->count < (uint32_t)t->length ? t->count : (uint64_t)(uint32_t)t->length;
    uint64_t capacity = 16;
    while (capacity < 2 * (births + 1))
        capacity *= 2;
    c->seen = LIN_NEW_ARRAY(&c->scratch, seen_set, capacity);
    c->seen_mask = capacity - 1;
    return c->counts != NULL && c->known != NULL && c->touched != NULL && c->is_touched != NULL &&
           c->seen != NULL && bucket(c);
}

static void change(compiler *c, uint32_t interval, int32_t by)
{
    const lin_timeline *t = c->timeline;
    const uint32_t slot =
        t->size_of[interval] + (t->intervals[interval].is_workspace ? t->size_count : 0);
    const int32_t before = c->counts[slot];
    c->counts[slot] = before + by;
    c->live_slots += before == 0;
    c->live_slots -= before + by == 0;
    c->hash += by > 0 ? weight_of(slot) : 0 - weight_of(slot);
    if (!c->is_touched[slot]) {
        c->is_touched[slot] = true;
        c->touched[c->touched_count++] = slot;
    }
}

static bool is_current(const compiler *c, const seen_set *set)
{
    if (set->hash != c->hash || set->end - set->first != c->live_slots)
        return false;
    for (uint32_t i = set->first; i < set->end; i++)
        if (c->counts[c->pairs.items[i].size] != c->pairs.items[i].count)
            return false;
    return true;
}

/* Remembers the current set. *out_is_new is false when it was seen. */
static bool remember(compiler *c, bool *out_is_new)
{
    uint64_t at = c->hash & c->seen_mask;
    for (; c->seen[at].used; at = (at + 1) & c->seen_mask)
        if (is_current(c, &c->seen[at])) {
            *out_is_new = false;
            return true;
        }

    const uint32_t first = c->pairs.count;
    for (uint32_t slot = 0; slot < c->slot_count; slot++) {
        const lin_sweep_event pair = { slot, c->counts[slot] };
        if (pair.count != 0 && !LIN_PUSH(&c->scratch, &c->pairs, pair))
            return false;
    }
    c->seen[at] =
        (seen_set){ .hash = c->hash, .first = first, .end = c->pairs.count, .used = true };
    *out_is_new = true;
    return true;
}

/* The events of the touched slots of one half. */
static bool emit_half(compiler *c, bool workspaces)
{
    lin_timeline *t = c->timeline;
    for (uint32_t i = 0; i < c->touched_count; i++) {
        const uint32_t slot = c->touched[i];
        const lin_sweep_event event = { slot % t->size_count, c->counts[slot] - c->known[slot] };
        if ((slot >= t->size_count) == workspaces && event.count != 0 &&
            !LIN_PUSH(c->arena, &t->events, event))
            return false;
    }
    return true;
}

static bool emit(compiler *c, int32_t moment)
{
    lin_timeline *t = c->timeline;
    lin_sweep_stop stop = { .moment = moment };
    if (!emit_half(c, false))
        return false;
    stop.live_end = t->events.count;
    if (!emit_half(c, true))
        return false;
    stop.workspace_end = t->events.count;

    for (uint32_t i = 0; i < c->touched_count; i++) {
        c->known[c->touched[i]] = c->counts[c->touched[i]];
        c->is_touched[c->touched[i]] = false;
    }
    c->touched_count = 0;
    return LIN_PUSH(c->arena, &t->stops, stop);
}

static bool compile(compiler *c)
{
    uint32_t born = 0, freed = 0;
    for (int32_t moment = 0; moment < c->timeline->length; moment++) {
        const bool any_born = born < c->born_end[moment];
        for (; freed < c->freed_end[moment]; freed++)
            change(c, c->freed[freed], -1);
        for (; born < c->born_end[moment]; born++)
            change(c, c->born[born], 1);

        bool is_new;
        if (!any_born)
            continue;
        if (!remember(c, &is_new) || (is_new && !emit(c, moment)))
            return false;
    }
    return true;
}

bool lin_sweep_compile(lin_arena *arena, lin_timeline *timeline)
{
    compiler c = { .arena = arena, .timeline = timeline };
    lin_arena_init(&c.scratch, &arena->allocator);
    const bool done = timeline->count == 0 || (prepare(&c) && compile(&c));
    lin_arena_free(&c.scratch);
    return done;
}

static uint32_t interval_of_size(const lin_timeline *t, uint32_t size)
{
    uint32_t i = 0;
    while (t->size_of[i] != size)
        i++;
    return i;
}

static bool is_any_negative(const lin_timeline *t, const int64_t *sizes, uint32_t *out_size)
{
    int64_t signs = 0;
    for (uint32_t s = 0; s < t->size_count; s++)
        signs |= sizes[s];
    if (signs >= 0)
        return false;
    uint32_t s = 0;
    while (sizes[s] >= 0)
        s++;
    *out_size = s;
    return true;
}

/* False when the bytes of all intervals together do not fit: then a sum of some may not either. */
static bool total_fits(const lin_timeline *t, const int64_t *sizes)
{
    int64_t total = 0;
    bool overflow = false;
    for (uint32_t s = 0; s < t->size_count; s++) {
        int64_t part = 0;
        overflow |= __builtin_mul_overflow(sizes[s], t->intervals_of[s], &part);
        overflow |= __builtin_add_overflow(total, part, &total);
    }
    return !overflow;
}

static void sweep(const lin_timeline *t, const int64_t *sizes, lin_peak *live_peak,
                  lin_peak *full_peak)
{
    const lin_sweep_event *event = t->events.items;
    int64_t live = 0, workspace = 0;
    for (uint32_t i = 0; i < t->stops.count; i++) {
        const lin_sweep_stop *stop = &t->stops.items[i];
        for (; event < t->events.items + stop->live_end; event++)
            live += sizes[event->size] * event->count;
        for (; event < t->events.items + stop->workspace_end; event++)
            workspace += sizes[event->size] * event->count;
        if (live > live_peak->bytes)
            *live_peak = (lin_peak){ live, stop->moment, live };
        if (live + workspace > full_peak->bytes)
            *full_peak = (lin_peak){ live + workspace, stop->moment, live };
    }
}

/* A sum high * 2^32 + low; low is >= 0 and may be as large as an int64_t. */
typedef struct wide_sum {
    int64_t high, low;
} wide_sum;

/* No overflow: fewer than 2^31 intervals of less than 2^32 (or 2^31) each. */
static void add_wide(wide_sum *sum, int64_t size, int32_t count)
{
    sum->high += (size >> 32) * count;
    sum->low += (size & 0xffffffff) * count;
}

static bool fits(wide_sum sum, int64_t *out)
{
    const int64_t high = sum.high + (sum.low >> 32);
    if (high > INT32_MAX)
        return false;
    *out = high * ((int64_t)1 << 32) + (sum.low & 0xffffffff);
    return true;
}

static bool sweep_wide(const lin_timeline *t, const int64_t *sizes, lin_peak *live_peak,
                       lin_peak *full_peak)
{
    const lin_sweep_event *event = t->events.items;
    wide_sum live = { 0, 0 }, full = { 0, 0 };
    for (uint32_t i = 0; i < t->stops.count; i++) {
        const lin_sweep_stop *stop = &t->stops.items[i];
        for (; event < t->events.items + stop->live_end; event++) {
            add_wide(&live, sizes[event->size], event->count);
            add_wide(&full, sizes[event->size], event->count);
        }
        for (; event < t->events.items + stop->workspace_end; event++)
            add_wide(&full, sizes[event->size], event->count);

        int64_t live_bytes, full_bytes;
        if (!fits(live, &live_bytes) || !fits(full, &full_bytes))
            return false;
        if (live_bytes > live_peak->bytes)
            *live_peak = (lin_peak){ live_bytes, stop->moment, live_bytes };
        if (full_bytes > full_peak->bytes)
            *full_peak = (lin_peak){ full_bytes, stop->moment, live_bytes };
    }
    return true;
}

bool lin_timeline_peaks(const lin_timeline *timeline, const int64_t *symbols,
                        lin_timeline_values *values, lin_peak *out_without_workspaces,
                        lin_peak *out_with_workspaces, uint32_t *out_interval)
{
    lin_peak live = { 0, 0, 0 }, full = { 0, 0, 0 };
    uint32_t failed_size = 0;
    if (!lin_expr_run(timeline->program, symbols, values->scratch, values->sizes, &failed_size) ||
        is_any_negative(timeline, values->sizes, &failed_size)) {
        if (out_interval != NULL)
            *out_interval = interval_of_size(timeline, failed_size);
        return false;
    }

    if (total_fits(timeline, values->sizes)) {
        sweep(timeline, values->sizes, &live, &full);
    } else if (!sweep_wide(timeline, values->sizes, &live, &full)) {
        if (out_interval != NULL)
            *out_interval = UINT32_MAX;
        return false;
    }
    *out_without_workspaces = live;
    *out_with_workspaces = full;
    return true;
}
