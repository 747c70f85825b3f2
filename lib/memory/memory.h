/* SPDX-License-Identifier: MIT */
#ifndef LIN_MEMORY_H
#define LIN_MEMORY_H

/*
 * Puts the answer together: what each device holds, its peaks and its breakdown (tracing.md 8, 9).
 * A prepared memory is made once for a traced graph; another size of it is evaluated without
 * tracing again.
 */

#include "timeline/timeline.h"
#include "trace/trace.h"

/* How caches are stored: blocks of `block_elements` values of one position take `block_bytes`. */
typedef struct lin_kv_format {
    const char *name; /* as --kv-dtype takes it */
    int32_t block_elements, block_bytes;
} lin_kv_format;

const lin_kv_format *lin_kv_format_find(const char *name, uint64_t length); /* NULL: none */
const lin_kv_format *lin_kv_format_at(uint32_t index);                      /* NULL: no more */

/* A training step of the traced entry (tracing.md 9). Zero is the default everywhere. */
typedef struct lin_training_settings {
    const char *optimizer; /* NULL: adamw */
    bool has_master_dtype, has_gradient_dtype;
    lin_dtype master_dtype, gradient_dtype;
    const char *const *trainable; /* patterns of parameter paths; none: all, or LoRA's adapters */
    uint32_t trainable_count;
    const char *checkpoint;    /* "none", "block", "every:4", "selective", patterns; NULL: none */
    bool is_first_step;        /* the states are made at the end of this step */
    int64_t accumulation;      /* micro-batches whose gradients are summed; 0: 1 */
    int64_t lora_rank;         /* 0: no adapters */
    const char *lora_patterns; /* of linear layers, comma-separated; NULL: all of block arrays */
    lin_loss loss;             /* as traced */
} lin_training_settings;

/* Optimizers, in the order of their table. */
uint32_t lin_optimizer_count(void);
const char *lin_optimizer_name(uint32_t index);

typedef struct lin_memory_settings {
    lin_backend_kind backend;
    bool has_kv_dtype;
    lin_dtype kv_dtype;
    const lin_kv_format *kv_keys, *kv_values; /* before kv_dtype; NULL: as that says */
    int64_t kv_block_size;               /* positions a block; 0: contiguous */
    int64_t context_bytes;               /* -1: the default */
    const char *cublas_workspace_config; /* NULL: the default */
    lin_plan_effort effort;
    const lin_training_settings *training; /* NULL: inference; read while a memory is made */
    bool with_timeline;                    /* answers have one */
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

/* What an answer says of a training step. */
typedef struct lin_training_answer {
    const char *optimizer;
    const char *master_dtype, *gradient_dtype; /* NULL: not given */
    const char *const *trainable;
    uint32_t trainable_count;
    const char *checkpoint; /* the policy, or its patterns joined by ", " */
    const char *const *checkpoint_patterns;
    uint32_t checkpoint_pattern_count; /* 0: a policy */
    bool is_first_step;
    int64_t accumulation;
    int64_t lora_rank;         /* 0: none */
    const char *lora_patterns; /* NULL: not given */
    const char *loss;          /* NULL: as written */
    bool has_recompute;        /* something is recomputed, and its share is known */
    double recompute;
} lin_training_answer;

/* Part of a step: moments [first, end). */
typedef struct lin_phase_span {
    const char *name; /* "forward", "recomputation", "backward", "optimizer" */
    int32_t first, end;
} lin_phase_span;

/* Bytes that live during moments [first, end). */
typedef struct lin_held_span {
    const char *name; /* as lin_largest */
    const char *path;
    const char *reason; /* "live", "gradient", … */
    lin_category category;
    lin_confidence confidence;
    int64_t bytes;
    int32_t first, end;
} lin_held_span;

/* All moments of an answer, on request. */
typedef struct lin_answer_timeline {
    int32_t length;
    int32_t peak;                             /* moment */
    const int64_t *bytes[LIN_CATEGORY_COUNT]; /* by moment; NULL: nothing of it at any moment */
    const lin_phase_span *phases;             /* in order; together they cover all moments */
    uint32_t phase_count;
    const int32_t *steps;      /* by moment: the traced step; LIN_NO_STEP: the optimizer */
    const char *const *labels; /* by traced step: "linear in `lm_head`" */
    uint32_t label_count;
    const lin_held_span *spans; /* by first moment */
    uint32_t span_count;
} lin_answer_timeline;

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
    const lin_training_answer *training; /* NULL: inference */
    const lin_answer_timeline *timeline; /* NULL: not asked for */
    const char *activations_formula;     /* NULL: omitted */
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
