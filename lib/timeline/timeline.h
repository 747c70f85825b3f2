/* SPDX-License-Identifier: MIT */
#ifndef LIN_TIMELINE_H
#define LIN_TIMELINE_H

/*
 * Intervals on one clock: every byte a device holds is an interval with a size expression, a
 * category, a confidence and a reason. Peaks, breakdowns and event streams are questions asked of
 * it. Sizes stay expressions: another size is one run of the expression program and one sweep,
 * without allocating.
 */

#include "graph/graph.h"

/* Why bytes are held. */
#define LIN_REASONS(X)                                   \
    X(STORED, "stored")                                  \
    X(LIVE, "live")                                      \
    X(KEPT, "kept by the kernel for backward")           \
    X(RECOMPUTED, "recomputed")                          \
    X(WORKSPACE, "workspace")                            \
    X(ACTIVATION_GRADIENT, "gradient of an activation")  \
    X(GRADIENT, "gradient")                              \
    X(NEW_GRADIENT, "gradient of one micro-batch")       \
    X(MASTER_WEIGHT, "master weight")                    \
    X(OPTIMIZER_STATE, "optimizer state")                \
    X(OPTIMIZER_TEMPORARY, "temporary of the optimizer") \
    X(GATHERED, "gathered for use")                      \
    X(EXCHANGED, "exchanged between processes")

typedef enum lin_reason {
#define X(id, words) LIN_REASON_##id,
    LIN_REASONS(X)
#undef X
        LIN_REASON_COUNT
} lin_reason;
const char *lin_reason_words(lin_reason reason);

/* Live during moments [first, end). */
typedef struct lin_interval {
    int32_t first, end;
    lin_expr bytes;
    lin_category category;
    lin_confidence confidence;
    uint32_t object;   /* the graph's object, or UINT32_MAX */
    bool is_workspace; /* left out of the peak without workspaces */
    lin_reason reason;
    int32_t step; /* of what has no object: the step it belongs to, or LIN_NO_STEP */
} lin_interval;

typedef struct lin_timeline lin_timeline;

/* Copies the intervals and compiles the sweep. `length` is the number of moments. Lives in `arena`
 * (no jump target needed): NULL on failure. */
lin_timeline *lin_timeline_new(lin_arena *arena, const lin_expr_table *exprs,
                               const lin_interval *intervals, uint32_t count, int32_t length);

typedef struct lin_peak {
    int64_t bytes;
    int32_t moment;     /* the first of those with the most bytes */
    int64_t live_bytes; /* at that moment, workspaces left out */
} lin_peak;

/* Room for one evaluation; a caller makes it once and may then evaluate without allocating. Lives
 * in `arena`. */
typedef struct lin_timeline_values lin_timeline_values;
lin_timeline_values *lin_timeline_values_new(lin_arena *arena, const lin_timeline *timeline);

/* Evaluates every size for these symbols, then sweeps. False: a size or a sum does not fit in int64
 * (*out_interval, may be NULL, is then an interval whose size failed, or UINT32_MAX for a sum). */
bool lin_timeline_peaks(const lin_timeline *timeline, const int64_t *symbols,
                        lin_timeline_values *values, lin_peak *out_without_workspaces,
                        lin_peak *out_with_workspaces, uint32_t *out_interval);

/* After a successful lin_timeline_peaks with the same `values`: */
int64_t lin_timeline_bytes(const lin_timeline *timeline, const lin_timeline_values *values,
                           uint32_t interval);
/* Sum of the live bytes at a moment, with or without workspaces. */
int64_t lin_timeline_at(const lin_timeline *timeline, const lin_timeline_values *values,
                        int32_t moment, bool workspaces);
/* Sums by category at a moment. */
void lin_timeline_breakdown(const lin_timeline *timeline, const lin_timeline_values *values,
                            int32_t moment, int64_t out[LIN_CATEGORY_COUNT]);

/* Sums by category at every moment: out[category] has room for the length, or is NULL. Linear in
 * intervals and moments. */
void lin_timeline_columns(const lin_timeline *timeline, const lin_timeline_values *values,
                          int64_t *const out[LIN_CATEGORY_COUNT]);

/* What is allocated and freed, in the order it happens: at each moment first what ended with the
 * one before, then what begins, both in the order of the intervals. Empty intervals are left out.
 */
typedef struct lin_timeline_event {
    int32_t moment; /* the length for what is never freed */
    uint32_t interval;
    bool frees;
} lin_timeline_event;
const lin_timeline_event *lin_timeline_events(lin_arena *arena, const lin_timeline *timeline,
                                              uint32_t *out_count);

uint32_t lin_timeline_count(const lin_timeline *timeline);
const lin_interval *lin_timeline_interval(const lin_timeline *timeline, uint32_t index);
int32_t lin_timeline_length(const lin_timeline *timeline);

/* The peak as a formula: the maximum over the distinct live sets at birth moments of their byte
 * sums, workspaces left out, and what stays from the first moment to the last (weights, caches, …)
 * too. Holds for symbols of at least 1. Omitted (LIN_EXPR_INVALID) when more than `max_sets` sums
 * would be compared after dropping dominated ones. `exprs` is the timeline's own table. */
lin_expr lin_timeline_formula(const lin_timeline *timeline, lin_expr_table *exprs,
                              lin_arena *scratch, uint32_t max_sets);

#endif
