/* SPDX-License-Identifier: MIT */

/*
 * What a search by bounds found: for each layout the fastest of its sizes, or why it does not run.
 * Only what was looked at whatever the order of the threads counts: what no bound drops.
 */

#include "plan/layout_best.h"

#include <string.h>

/* What is known of a layout from all of its sizes. */
typedef struct layout_verdict {
    const lin_best_pair *best;     /* that runs, the fastest */
    const lin_best_pair *smallest; /* that does not fit */
    const char *refused;
    double speed; /* the highest that is known of it */
    bool is_exact;
} layout_verdict;

static bool is_faster(const lin_best_pair *a, const lin_best_pair *b)
{
    if (b == NULL || a->time->tokens_per_second != b->time->tokens_per_second)
        return b == NULL || a->time->tokens_per_second > b->time->tokens_per_second;
    return a->size < b->size;
}

/* Slower than what is wanted, its memory may have been looked at or not: it does not count. */
static void judge(layout_verdict *verdict, const lin_best_pair *pair, double wanted)
{
    const bool is_exact = pair->exact > 0 && pair->speed >= wanted;
    const double speed = is_exact ? pair->exact : pair->speed;
    if (speed > verdict->speed) {
        verdict->speed = speed;
        verdict->is_exact = is_exact;
    }
    if (!pair->is_settled || pair->speed < wanted || (is_exact && pair->exact < wanted))
        return;
    if (pair->state == LIN_LAYOUT_RUNS && is_faster(pair, verdict->best))
        verdict->best = pair;
    else if (pair->state == LIN_LAYOUT_TOO_LARGE &&
             (verdict->smallest == NULL || pair->size < verdict->smallest->size))
        verdict->smallest = pair;
    else if (pair->state == LIN_LAYOUT_REFUSED)
        verdict->refused = pair->reason;
}

/* ---- words ---- */

static const char *needs(lin_arena *arena, const char *least, int64_t bytes, int64_t budget)
{
    char need[LIN_BYTES_TEXT], have[LIN_BYTES_TEXT];
    lin_format_bytes(need, bytes);
    lin_format_bytes(have, budget);
    return lin_arena_format(arena, "does not fit: needs %s%s of %s", least, need, have);
}

static const char *too_large(const lin_best *b, lin_arena *arena, const lin_best_item *item,
                             const layout_verdict *verdict)
{
    if (verdict->smallest != NULL && verdict->smallest->expected_peak >= 0)
        return needs(arena, "", verdict->smallest->expected_peak, b->settings->budget_bytes);
    if (verdict->smallest == NULL && item->size > 0)
        return needs(arena, "at least ", item->floor, b->settings->budget_bytes);
    return "does not fit: needs more than 2^63 - 1 bytes";
}

/* Rates are doubles and may be anything: more than this is printed as this. */
static const double most_tokens = 1e15;

static const char *slower(lin_arena *arena, double speed, bool is_exact)
{
    return lin_arena_format(arena, "slower: %s%lld tokens/s", is_exact ? "" : "at most ",
                            (long long)(speed < most_tokens ? speed : most_tokens));
}

/* Of a result that does not run. Apart from the rest: of most layouts nobody asks. */
static const char *reason_of(const lin_best *b, lin_arena *arena, const lin_best_item *item,
                             const layout_verdict *verdict, lin_layout_state state)
{
    if (state == LIN_LAYOUT_SLOWER)
        return slower(arena, verdict->speed, verdict->is_exact);
    if (item->reason != NULL)
        return item->reason;
    if (verdict->refused != NULL)
        return verdict->refused;
    if (item->state != LIN_LAYOUT_CLAUSES)
        return too_large(b, arena, item, verdict);
    return b->facts->is_size_given || b->settings->global_size > 0
               ? "the model's `where` clauses do not hold"
               : "the model's `where` clauses: none fits";
}

/* ---- results ---- */

static void find_rest(const lin_best_item *item, const layout_verdict *verdict,
                      lin_layout_result *out)
{
    out->state = item->state == LIN_LAYOUT_RUNS ? LIN_LAYOUT_TOO_LARGE : item->state;
    out->size = item->size;
    if (item->reason != NULL)
        return;
    if (verdict->refused != NULL) {
        out->state = LIN_LAYOUT_REFUSED;
    } else if (item->state != LIN_LAYOUT_CLAUSES && verdict->smallest != NULL) {
        out->expected_peak = verdict->smallest->expected_peak;
        out->size = verdict->smallest->size;
    }
}

/* Without its reason. */
static lin_layout_result result_of(const lin_best *b, const lin_best_unit *unit,
                                   const lin_best_item *item, const layout_verdict *verdict)
{
    lin_layout_result result = { .layout = lin_best_layout(unit, &item->id),
                                 .reason = "",
                                 .expected_peak = -1 };
    if (verdict->best != NULL) {
        result.state = LIN_LAYOUT_RUNS;
        result.size = verdict->best->size;
        result.expected_peak = verdict->best->expected_peak;
        result.time = *verdict->best->time;
    } else if (item->state == LIN_LAYOUT_RUNS && verdict->speed < lin_best_threshold(b)) {
        result.state = LIN_LAYOUT_SLOWER;
    } else {
        find_rest(item, verdict, &result);
    }
    return result;
}

/* ---- lists ---- */

static bool comes_first(const lin_layout_result *a, const lin_layout_result *b)
{
    return a->time.tokens_per_second > b->time.tokens_per_second;
}

/* After those that are as fast. */
static void insert(lin_arena *arena, lin_results *list, const lin_layout_result *result)
{
    uint32_t low = 0, high = list->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (comes_first(result, &list->items[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    LIN_PUSH(arena, list, *result);
    memmove(&list->items[low + 1], &list->items[low],
            (list->count - 1 - low) * sizeof(*list->items));
    list->items[low] = *result;
}

/* Of those that do not fit the ones that need least. */
static int64_t need_of(const lin_layout_result *result, const lin_best_item *item)
{
    return result->expected_peak >= 0 ? result->expected_peak : item->floor;
}

typedef struct nearest {
    int64_t need;
    lin_layout_result result;
} nearest;

typedef struct listing {
    const lin_best *best;
    lin_arena *arena;
    lin_results running, others;
    nearest *nearest; /* of the ones that do not fit, as many as are wanted */
    uint32_t nearest_count;
} listing;

/* A place in the order of what is needed; NULL: as many need less. */
static nearest *nearest_place(listing *l, int64_t need)
{
    nearest *list = l->nearest;
    uint32_t at = l->nearest_count;
    while (at > 0 && need < list[at - 1].need)
        at--;
    if (at >= l->best->settings->limit)
        return NULL;
    if (l->nearest_count < l->best->settings->limit)
        l->nearest_count++;
    memmove(&list[at + 1], &list[at], (l->nearest_count - 1 - at) * sizeof(*list));
    return &list[at];
}

/* Of what breaks the clauses and was not asked about, one a unit. */
static bool is_repeated(const listing *l, uint32_t first, const lin_layout_result *result)
{
    const lin_results *others = &l->others;
    return result->state == LIN_LAYOUT_CLAUSES && others->count > first &&
           others->items[others->count - 1].state == LIN_LAYOUT_CLAUSES;
}

static bool lists_all(const lin_best *b)
{
    return b->settings->explain || b->settings->limit == 0;
}

/* Where not all are listed, nobody asks about the slower ones. */
static bool is_listed(const listing *l, uint32_t first, const lin_layout_result *result)
{
    return lists_all(l->best) ||
           (result->state != LIN_LAYOUT_SLOWER && !is_repeated(l, first, result));
}

static void list_layout(listing *l, const lin_best_unit *unit, uint32_t index,
                        const layout_verdict *verdict, uint32_t first)
{
    const lin_best *b = l->best;
    const lin_best_item *item = &unit->layouts.items[index];
    lin_layout_result result = result_of(b, unit, item, verdict);
    if (result.state == LIN_LAYOUT_RUNS) {
        insert(l->arena, &l->running, &result);
    } else if (result.state == LIN_LAYOUT_TOO_LARGE && !lists_all(b)) {
        const int64_t need = need_of(&result, item);
        nearest *place = nearest_place(l, need);
        if (place == NULL)
            return;
        result.reason = reason_of(b, l->arena, item, verdict, result.state);
        *place = (nearest){ need, result };
    } else if (is_listed(l, first, &result)) {
        result.reason = reason_of(b, l->arena, item, verdict, result.state);
        LIN_PUSH(l->arena, &l->others, result);
    }
}

static void list_unit(listing *l, const lin_best_unit *unit)
{
    const double wanted = lin_best_threshold(l->best);
    const uint32_t first = l->others.count;
    layout_verdict *verdicts = LIN_NEW_ARRAY(l->arena, layout_verdict, unit->layouts.count);
    for (uint32_t i = 0; i < unit->pairs.count; i++)
        judge(&verdicts[unit->pairs.items[i].layout], &unit->pairs.items[i], wanted);
    for (uint32_t i = 0; i < unit->layouts.count; i++)
        list_layout(l, unit, i, &verdicts[i], first);
}

/* As fast as the last wanted one, and later in order. */
static void cut_running(listing *l)
{
    const uint32_t limit = l->best->settings->limit;
    for (uint32_t i = limit; limit > 0 && i < l->running.count; i++) {
        const lin_layout_result *cut = &l->running.items[i];
        const lin_layout_result result = {
            .layout = cut->layout,
            .state = LIN_LAYOUT_SLOWER,
            .reason = slower(l->arena, cut->time.tokens_per_second, true),
            .expected_peak = -1,
        };
        LIN_PUSH(l->arena, &l->others, result);
    }
    if (limit > 0 && l->running.count > limit)
        l->running.count = limit;
}

/* Room for as many as are wanted, or there are, and one on its way out. */
static nearest *new_nearest(const lin_best *b, lin_arena *arena)
{
    uint64_t layouts = 0;
    for (uint32_t i = 0; i < b->unit_count; i++)
        layouts += b->units[i].layouts.count;
    return LIN_NEW_ARRAY(arena, nearest,
                         (layouts < b->settings->limit ? layouts : b->settings->limit) + 1);
}

/* Where something runs and nobody asks why the rest does not, the rest is left out. */
void lin_best_list(const lin_best *b, lin_arena *arena, lin_results *out)
{
    listing l = { .best = b, .arena = arena, .nearest = new_nearest(b, arena) };
    for (uint32_t i = 0; i < b->unit_count; i++)
        list_unit(&l, &b->units[i]);
    cut_running(&l);
    *out = l.running;
    for (uint32_t i = 0; i < l.nearest_count && l.running.count == 0; i++)
        LIN_PUSH(arena, out, l.nearest[i].result);
    for (uint32_t i = 0; i < l.others.count && (lists_all(b) || l.running.count == 0); i++)
        LIN_PUSH(arena, out, l.others.items[i]);
    for (uint32_t i = 0; i < out->count; i++) {
        lin_layout_result *result = &out->items[i];
        result->name = lin_layouts_name(arena, &result->layout);
        /* The workers' texts end with them. */
        if (result->reason[0] != '\0')
            result->reason = lin_arena_copy(arena, result->reason);
    }
}
