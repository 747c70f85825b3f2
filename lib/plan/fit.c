/* SPDX-License-Identifier: MIT */

/*
 * The largest batch, context or cache that fits a budget: the size doubles until it does not fit,
 * then the gap is halved (tracing.md 13). Some fifty evaluations at most, and none of them traces.
 *
 *     smallest, 2 smallest, 4 smallest, …        fits
 *     ----------------------------------|----------------------|
 *                                     fits                    stopped by memory, a `where` clause
 *                                                             or the limit of the search
 *
 * The halving is right where a larger size never needs less, which test_fit.c compares with trying
 * every size. The smallest size is 1 unless a clause forbids it: then it is the first that keeps
 * the clauses, and where the one after it breaks them again (`S % 8 == 0`, the micro-batches of a
 * pipeline) only its multiples are tried.
 */

#include "plan/plan.h"

#include <string.h>

/* Sizes that are looked at one by one for the first that keeps the clauses: clauses about the parts
 * of a split ask for less. */
enum { FIRST_LOOKS = 4096 };

static const struct fit_role {
    const char *name, *generics;
} fit_roles[LIN_ROLE_COUNT] = {
    [LIN_ROLE_BATCH] = { "batch", "`B`, `Batch`" },
    [LIN_ROLE_CONTEXT] = { "context", "`S`, `P`, `Seq`, `SeqLen`" },
    [LIN_ROLE_CACHE] = { "kv-cache", "`MaxSeq`" },
};

static const char *const limit_names[] = {
    [LIN_FIT_MEMORY] = "memory", [LIN_FIT_MODEL] = "model", [LIN_FIT_SEARCH] = "search"
};

const char *lin_fit_limit_name(lin_fit_limit limit)
{
    return limit_names[limit];
}

bool lin_fit_role_find(const char *name, lin_role *out)
{
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++)
        if (strcmp(fit_roles[role].name, name) == 0) {
            *out = role;
            return true;
        }
    return false;
}

/* ---- one size ---- */

typedef struct search {
    lin_memory *memory;
    lin_role role;
    int64_t budget;
    int64_t unit; /* sizes are multiples of it */
} search;

typedef struct outcome {
    bool fits;
    lin_fit_limit stopped_by;
    int64_t expected_peak; /* -1: passes 2^63 - 1 */
} outcome;

/* Clauses hold, and micro-batches divide the size. */
static linnet_status keeps_clauses(const search *s, int64_t size, bool *out, linnet_error *err)
{
    int64_t request[LIN_ROLE_COUNT] = { 0 }, cut[LIN_ROLE_COUNT];
    request[s->role] = size;
    const linnet_status status = lin_memory_holds(s->memory, request, out, err);
    if (status == LINNET_OK && *out)
        *out = lin_memory_cut(s->memory, request, cut, NULL) == LINNET_OK;
    return status;
}

static linnet_status try_size(const search *s, int64_t size, outcome *out, linnet_error *err)
{
    int64_t request[LIN_ROLE_COUNT] = { 0 };
    lin_peaks peaks;
    bool keeps;
    linnet_status status = keeps_clauses(s, size, &keeps, err);
    *out = (outcome){ .stopped_by = LIN_FIT_MODEL, .expected_peak = -1 };
    if (status != LINNET_OK || !keeps)
        return status;
    request[s->role] = size;
    out->stopped_by = LIN_FIT_MEMORY;
    status = lin_memory_peaks(s->memory, request, &peaks, err);
    if (status == LINNET_ERROR_OVERFLOW)
        return LINNET_OK;
    if (status != LINNET_OK)
        return status;
    out->expected_peak = peaks.expected;
    out->fits = peaks.expected <= s->budget;
    return LINNET_OK;
}

/* ---- where to begin ---- */

/* The first size above `below` that keeps the clauses, `above` being one of them. */
static linnet_status halve_clauses(const search *s, int64_t below, int64_t above, int64_t *out,
                                   linnet_error *err)
{
    while (above - below > 1) {
        const int64_t middle = below + (above - below) / 2;
        bool keeps;
        const linnet_status status = keeps_clauses(s, middle, &keeps, err);
        if (status != LINNET_OK)
            return status;
        if (keeps)
            above = middle;
        else
            below = middle;
    }
    *out = above;
    return LINNET_OK;
}

/* The first size that keeps the clauses: one by one, then by doubling and halving. 0: none. */
static linnet_status find_smallest(const search *s, int64_t *out, linnet_error *err)
{
    int64_t below = 0, size = 1;
    *out = 0;
    while (size <= LIN_FIT_MOST) {
        bool keeps;
        const linnet_status status = keeps_clauses(s, size, &keeps, err);
        if (status != LINNET_OK)
            return status;
        if (keeps)
            return halve_clauses(s, below, size, out, err);
        below = size;
        size = size < FIRST_LOOKS ? size + 1 : 2 * size;
    }
    return LINNET_OK;
}

static linnet_status find_unit(search *s, int64_t smallest, linnet_error *err)
{
    bool next = true;
    s->unit = 1;
    const linnet_status status =
        smallest > 1 ? keeps_clauses(s, smallest + 1, &next, err) : LINNET_OK;
    if (!next)
        s->unit = smallest;
    return status;
}

/* ---- the search ---- */

/* From `fit->value`, which fits, to the largest multiple of the unit below `end`, which does not.
 */
static linnet_status halve(const search *s, int64_t end, lin_fit *fit, linnet_error *err)
{
    while (end - fit->value > s->unit) {
        const int64_t units = (end - fit->value) / s->unit;
        const int64_t middle = fit->value + units / 2 * s->unit;
        outcome at;
        const linnet_status status = try_size(s, middle, &at, err);
        if (status != LINNET_OK)
            return status;
        if (at.fits) {
            fit->value = middle;
            fit->expected_peak = at.expected_peak;
        } else {
            end = middle;
            fit->limited_by = at.stopped_by;
        }
    }
    return LINNET_OK;
}

static linnet_status grow(const search *s, lin_fit *fit, linnet_error *err)
{
    int64_t size = fit->smallest;
    outcome at;
    linnet_status status;
    while ((status = try_size(s, size, &at, err)) == LINNET_OK && at.fits) {
        fit->value = size;
        fit->expected_peak = at.expected_peak;
        size *= 2;
        if (size <= LIN_FIT_MOST)
            continue;
        fit->limited_by = LIN_FIT_SEARCH;
        return halve(s, LIN_FIT_MOST / s->unit * s->unit + s->unit, fit, err);
    }
    if (status != LINNET_OK)
        return status;
    fit->limited_by = at.stopped_by;
    if (fit->value > 0)
        return halve(s, size, fit, err);
    fit->expected_peak = at.expected_peak;
    return LINNET_OK;
}

/* A context without generics of its own sizes the caches that follow it. */
static bool is_used(const lin_graph *graph, const lin_fit_settings *settings)
{
    return graph->role_free[settings->role] &&
           (graph->role_used[settings->role] ||
            (settings->role == LIN_ROLE_CONTEXT && settings->cache_follows &&
             graph->role_used[LIN_ROLE_CACHE]));
}

linnet_status lin_fit_search(lin_memory *memory, const lin_fit_settings *settings, lin_fit *out,
                             linnet_error *err)
{
    const lin_graph *graph = lin_memory_traced(memory)->graph;
    search s = { .memory = memory, .role = settings->role, .budget = settings->budget_bytes };
    lin_fit fit = { .role = settings->role,
                    .budget = settings->budget_bytes,
                    .expected_peak = -1,
                    .limited_by = LIN_FIT_MODEL };
    linnet_status status;
    if (!is_used(graph, settings))
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "entry `%s` has no %s to search for: no generic of it or of the root is "
                        "one of %s",
                        graph->entry, lin_role_names[settings->role],
                        fit_roles[settings->role].generics);
    if ((status = find_smallest(&s, &fit.smallest, err)) != LINNET_OK)
        return status;
    if (fit.smallest > 0 && ((status = find_unit(&s, fit.smallest, err)) != LINNET_OK ||
                             (status = grow(&s, &fit, err)) != LINNET_OK))
        return status;
    fit.headroom = fit.value > 0 ? fit.budget - fit.expected_peak : 0;
    *out = fit;
    return LINNET_OK;
}

/* ---- the budget ---- */

/* device * thousandths / 100000, rounded down, without the product. */
static int64_t share_of(int64_t device, int64_t thousandths)
{
    enum { WHOLE = 100000 };
    return device / WHOLE * thousandths + device % WHOLE * thousandths / WHOLE;
}

linnet_status lin_fit_budget(int64_t device_bytes, int64_t reserve_bytes,
                             int64_t reserve_thousandths, int64_t *out_bytes, linnet_error *err)
{
    char reserve[LIN_BYTES_TEXT], device[LIN_BYTES_TEXT];
    if (device_bytes < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a device without memory holds nothing");
    if (reserve_bytes < 0 || reserve_thousandths < 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a reserve cannot be negative");
    if (reserve_thousandths >= 100000)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "a reserve of 100 %% or more leaves nothing of the device");
    const int64_t share = share_of(device_bytes, reserve_thousandths);
    if (reserve_bytes >= device_bytes - share) {
        lin_format_bytes(reserve, reserve_bytes);
        lin_format_bytes(device, device_bytes);
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        share > 0
                            ? "a reserve of %s and that share leave nothing of the device's %s"
                            : "a reserve of %s leaves nothing of the device's %s",
                        reserve, device);
    }
    *out_bytes = device_bytes - share - reserve_bytes;
    return LINNET_OK;
}

const char *lin_fit_verdict(int64_t expected_peak, int64_t device_bytes)
{
    if (expected_peak > device_bytes)
        return "OOM";
    return device_bytes - expected_peak > device_bytes / 20 ? "OK" : "TIGHT";
}
