/* SPDX-License-Identifier: MIT */
#ifndef LIN_MEMORY_H
#define LIN_MEMORY_H

/*
 * Puts the answer together: what each device holds, its peaks and its breakdown (tracing.md 8). A
 * prepared memory is made once for a traced graph; another size of it is evaluated without tracing
 * again.
 */

#include "timeline/timeline.h"
#include "trace/trace.h"

typedef struct lin_memory_settings {
    lin_backend_kind backend;
    bool has_kv_dtype;
    lin_dtype kv_dtype;
    int64_t kv_block_size;               /* positions a block; 0: contiguous */
    int64_t context_bytes;               /* -1: the default */
    const char *cublas_workspace_config; /* NULL: the default */
    lin_plan_effort effort;
} lin_memory_settings;

typedef struct lin_component {
    const char *name;
    lin_category category;
    bool known;
    int64_t bytes;
    lin_confidence confidence;
    const char *formula; /* NULL: none, or longer than 4000 characters */
    const char *note;    /* "" for none */
    const char *device;  /* "device:0" */
} lin_component;

/* A tensor that is live at the peak. */
typedef struct lin_largest {
    const char *name;
    const char *path; /* the parameter's path, or the scope of the step that made it */
    int64_t bytes;
    const char *formula;
} lin_largest;

typedef struct lin_peaks {
    int64_t graph, expected, allocator;
} lin_peaks;

typedef struct lin_device_summary {
    const char *name;  /* "device:0" */
    const char *holds; /* "" on one device */
    int64_t graph_peak, expected_peak, runtime;
} lin_device_summary;

/* The answer for one size. Immutable; owns everything in its arena. */
typedef struct lin_answer {
    lin_arena arena;
    lin_allocator allocator;
    /* configuration, as the report prints it */
    const char *backend, *model, *entry, *numerics, *dtype;
    int64_t role_value[LIN_ROLE_COUNT]; /* -1: not set */
    bool role_free[LIN_ROLE_COUNT];
    const char *kv_dtype; /* NULL: declared */
    bool kv_paged;
    int64_t kv_block_size;
    const lin_setting *bound;
    uint32_t bound_count;
    /* answer */
    const lin_component *components;
    uint32_t component_count;
    lin_peaks peaks;
    lin_confidence confidence; /* weakest of the known components */
    const char *peak_at;       /* "step 1603: linear in `lm_head`" */
    int32_t peak_step;
    bool has_plan;
    lin_plan plan;
    int64_t steps;
    const lin_largest *largest; /* all live tensors at the peak, persistent ones included, by bytes
                                   descending, ties by order */
    uint32_t largest_count;
    const lin_device_summary *devices;
    uint32_t device_count;
    const char *activations_formula; /* NULL: omitted */
    const char *const *unknown;
    uint32_t unknown_count;
    const char *const *warnings;
    uint32_t warning_count;
    const char *const *assumptions;
    uint32_t assumption_count;
} lin_answer;

typedef struct lin_memory lin_memory;

/* Prepares `traced` (whose graph it owns from the call on, even when it fails). `source` gives
 * names and assumptions and must outlive it. */
linnet_status lin_memory_new(const lin_source *source, lin_traced *take_traced,
                             const lin_trace_settings *trace_settings,
                             const lin_memory_settings *settings, const lin_allocator *allocator,
                             lin_memory **out, linnet_error *err);
void lin_memory_free(lin_memory *memory);

/* Peaks at another size; 0 keeps a role as configured. Allocates nothing. LINNET_ERROR_ARGUMENT: a
 * size is negative, or given for a role that is not free. LINNET_ERROR_OVERFLOW. One thread at a
 * time. */
linnet_status lin_memory_peaks(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                               lin_peaks *out, linnet_error *err);
/* Whether every `where` clause of the root and the entry holds at that size; also allocates
 * nothing. LINNET_ERROR_ARGUMENT as above. */
linnet_status lin_memory_holds(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                               bool *out, linnet_error *err);
/* The whole answer at another size. */
linnet_status lin_memory_analyse(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                                 lin_answer **out, linnet_error *err);
void lin_answer_free(lin_answer *answer);

#endif
