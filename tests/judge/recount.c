/* SPDX-License-Identifier: MIT */

#include "judge/recount.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct moment_bytes {
    int64_t by[LIN_CATEGORY_COUNT];
    int64_t all, tensors; /* with and without workspaces */
} moment_bytes;

static moment_bytes count_moment(const lin_answer_timeline *timeline, int32_t moment)
{
    moment_bytes held;
    memset(&held, 0, sizeof held);
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const lin_held_span *span = &timeline->spans[i];
        if (moment < span->first || moment >= span->end)
            continue;
        held.by[span->category] += span->bytes;
        held.all += span->bytes;
        held.tensors += span->category == LIN_CATEGORY_WORKSPACE ? 0 : span->bytes;
    }
    return held;
}

static bool complain(char why[RECOUNT_WHY], const char *what, int64_t found, int64_t counted)
{
    snprintf(why, RECOUNT_WHY, "%s is %" PRId64 ", counted %" PRId64, what, found, counted);
    return false;
}

static bool judge_columns(const lin_answer_timeline *timeline, int32_t moment,
                          const moment_bytes *held, char why[RECOUNT_WHY])
{
    for (lin_category c = 0; c < LIN_CATEGORY_COUNT; c++) {
        const int64_t *column = timeline->bytes[c];
        const int64_t found = column != NULL ? column[moment] : 0;
        if (found != held->by[c])
            return complain(why, lin_category_name(c), found, held->by[c]);
    }
    return true;
}

/* Components of a category other than the process's own items. */
static int64_t sum_components(const lin_answer *answer, lin_category category)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < answer->component_count; i++) {
        const lin_component *c = &answer->components[i];
        if (c->known && c->category == category && strcmp(c->name, "cuBLAS workspace") != 0)
            sum += c->bytes;
    }
    return sum;
}

static int64_t sum_runtime(const lin_answer *answer, bool only_workspaces)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < answer->component_count; i++) {
        const lin_component *c = &answer->components[i];
        const bool is_cublas = strcmp(c->name, "cuBLAS workspace") == 0;
        if (c->known && (is_cublas || (!only_workspaces && c->category == LIN_CATEGORY_RUNTIME)))
            sum += c->bytes;
    }
    return sum;
}

static bool judge_components(const lin_answer *answer, const moment_bytes *held,
                             char why[RECOUNT_WHY])
{
    for (lin_category c = 0; c < LIN_CATEGORY_RUNTIME; c++)
        if (sum_components(answer, c) != held->by[c])
            return complain(why, lin_category_name(c), sum_components(answer, c), held->by[c]);
    return true;
}

bool judge_recount(const lin_answer *answer, char why[RECOUNT_WHY])
{
    const lin_answer_timeline *timeline = answer->timeline;
    moment_bytes peak = count_moment(timeline, 0);
    int32_t at = 0;
    for (int32_t m = 0; m < timeline->length; m++) {
        const moment_bytes held = count_moment(timeline, m);
        if (!judge_columns(timeline, m, &held, why))
            return false;
        if (held.all > peak.all) {
            peak = held;
            at = m;
        }
    }
    if (timeline->peak != at)
        return complain(why, "the peak's moment", timeline->peak, at);
    if (answer->peaks.graph != peak.tensors)
        return complain(why, "the graph peak", answer->peaks.graph, peak.tensors);
    if (answer->peaks.allocator != peak.all + sum_runtime(answer, true))
        return complain(why, "the allocator peak", answer->peaks.allocator,
                        peak.all + sum_runtime(answer, true));
    if (answer->peaks.expected != peak.all + sum_runtime(answer, false))
        return complain(why, "the expected peak", answer->peaks.expected,
                        peak.all + sum_runtime(answer, false));
    return judge_components(answer, &peak, why);
}
