/* SPDX-License-Identifier: MIT */
#ifndef LIN_MEMORY_H
#define LIN_MEMORY_H

/*
 * Puts the answer together: what each device holds, its peaks and its breakdown (tracing.md 8, 9).
 * A prepared memory is made once for a traced graph; another size of it is evaluated without
 * tracing again.
 */

#include "comm/comm.h"
#include "timeline/timeline.h"
#include "trace/trace.h"

/* How caches are stored: blocks of `block_elements` values of one position take `block_bytes`. */
typedef struct lin_kv_format {
    const char *name; /* as --kv-dtype takes it */
    int32_t block_elements, block_bytes;
} lin_kv_format;

const lin_kv_format *lin_kv_format_find(const char *name, uint64_t length); /* NULL: none */
const lin_kv_format *lin_kv_format_at(uint32_t index);                      /* NULL: no more */

/* How the ranks of a pipeline are counted. */
typedef enum lin_pipeline_model {
    LIN_PIPELINE_LINNET,   /* every rank replays its stages along its actions */
    LIN_PIPELINE_PUBLISHED /* the closed forms of tracing.md 11.3 */
} lin_pipeline_model;
const char *lin_pipeline_model_name(lin_pipeline_model model);
bool lin_pipeline_model_find(const char *name, lin_pipeline_model *out);

struct lin_memory;
struct lin_memory_settings;

/*
 * What the units of a model weigh where stages are not balanced by the bytes of their parameters.
 * `weigh` is called while a memory is made: the graph is there, the marks of training, and the
 * micro-batches, but no stages. It fills a weight of at least 0 for each unit of the graph.
 */
typedef struct lin_unit_weigher {
    linnet_status (*weigh)(const struct lin_unit_weigher *self, struct lin_memory *memory,
                           const struct lin_memory_settings *settings, int64_t *out,
                           linnet_error *err);
    const char *device; /* whose time it is */
} lin_unit_weigher;

/* Stages on ranks of their own (tracing.md 11). Zero is no pipeline. */
typedef struct lin_pipeline_settings {
    int64_t ranks, microbatches; /* 0: 1, or what a schedule that was read has */
    int64_t virtual_stages;      /* stages a rank; 0: what the schedule has */
    const char *schedule;        /* a name; NULL: 1f1b */
    const char *schedule_text;   /* in place of a name: JSON; NULL: none */
    uint64_t schedule_length;
    const char *schedule_source;     /* what messages call it */
    const char *stages;              /* the unit each later stage starts at; NULL: balanced */
    const lin_unit_weigher *weigher; /* borrowed; NULL: balanced by the bytes of parameters */
    lin_pipeline_model model;
    bool any_backward; /* stages are made for backward passes that are whole and in parts, whatever
                          the schedule has: another may replace it */
} lin_pipeline_settings;

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
    bool clips_gradients;      /* by their global norm, before the optimizer */
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
    int64_t kv_block_size;                    /* positions a block; 0: contiguous */
    int64_t context_bytes;                    /* -1: the default */
    int64_t device_memory;                    /* answers are judged by it; 0: not given */
    const char *cublas_workspace_config;      /* NULL: the default */
    lin_plan_effort effort;
    lin_parallel parallel;                 /* `tensor` as it was traced */
    const lin_training_settings *training; /* NULL: inference; read while a memory is made */
    lin_pipeline_settings pipeline;        /* its texts are read while a memory is made */
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
    bool clips_gradients;
    int64_t lora_rank;         /* 0: none */
    const char *lora_patterns; /* NULL: not given */
    const char *loss;          /* NULL: as written */
    bool has_recompute;        /* something is recomputed, and its share is known */
    double recompute;
} lin_training_answer;

/* What an answer says of a pipeline. */
typedef struct lin_pipeline_answer {
    int64_t ranks, microbatches, virtual_stages;
    const char *schedule;
    const char *model;         /* "linnet", "published" */
    const char *const *starts; /* the unit each later stage starts at */
    uint32_t start_count;
    const char *balanced_on; /* the device by whose time it is balanced; NULL: by bytes, by hand */
} lin_pipeline_answer;

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
    bool is_summary; /* see lin_memory_summarise */
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
    int64_t device_memory;     /* 0: not given */
    const char *peak_at;       /* "step 1603: linear in `lm_head`" */
    int32_t peak_step;
    bool has_plan;
    lin_plan plan;
    int64_t steps;
    const lin_largest *largest; /* all live tensors at the peak, persistent ones included, by bytes
                                   descending, ties by order */
    uint32_t largest_count;
    lin_parallel parallel;
    const lin_device_summary *devices;
    uint32_t device_count;
    const lin_training_answer *training; /* NULL: inference */
    const lin_pipeline_answer *pipeline; /* NULL: none */
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
/* traced.c, for what else than bytes is asked: valid while the memory is. The graph that answers
 * are about, adapters included: */
const lin_traced *lin_memory_traced(const lin_memory *memory);
/* Stages of a pipeline; 0: none. */
uint32_t lin_memory_stage_count(const lin_memory *memory);
const lin_stage_graph *lin_memory_stage(const lin_memory *memory, uint32_t stage);
/* What its ranks do, in order; NULL: none, or the published model of 1f1b and gpipe. */
const struct lin_schedule *lin_memory_schedule(const lin_memory *memory);
/* A schedule as a memory follows it, with its transfers: lin_schedule_free() it. */
struct lin_schedule_request;
linnet_status lin_memory_schedule_new(const struct lin_schedule_request *request, bool training,
                                      const lin_allocator *allocator, struct lin_schedule **out,
                                      linnet_error *err);
/* Another schedule of the same stages, on as many ranks as it has; borrowed from then on.
 * LINNET_ERROR_ARGUMENT: another number of stages, backward passes of a kind (whole, or in parts)
 * that the first one did not have, micro-batches that cut nothing. After a failure the memory can
 * only be freed, or given another schedule. */
linnet_status lin_memory_reschedule(lin_memory *memory, struct lin_schedule *schedule,
                                    linnet_error *err);
/* Micro-batches of a step, and the sizes of one. LINNET_ERROR_ARGUMENT: they do not divide them. */
int64_t lin_memory_microbatches(const lin_memory *memory);
linnet_status lin_memory_cut(const lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                             int64_t out[LIN_ROLE_COUNT], linnet_error *err);
/* Of a stage's forward arithmetic, or (stage LIN_NO_STAGE) of all, what checkpointing computes
 * again, at sizes by symbol. 0: nothing, or a count is not known. */
#define LIN_NO_STAGE UINT32_MAX
double lin_memory_recomputed(lin_memory *memory, uint32_t stage, const int64_t *symbols);
/* By step of a stage, or (LIN_NO_STAGE) of the whole: checkpointing computes it again. */
void lin_memory_mark_recomputed(lin_memory *memory, uint32_t stage, bool *out);
/* By object: an owner whose bytes are updated; NULL in inference. */
const bool *lin_memory_trained(lin_memory *memory, uint32_t stage);
/* Bytes of an element of the master weights, and of a gradient, as configured; 0: not given. */
int64_t lin_memory_master_size(const lin_memory *memory);
int64_t lin_memory_gradient_size(const lin_memory *memory);

/* Peaks at another size; 0 keeps a role as configured. Allocates nothing. LINNET_ERROR_ARGUMENT: a
 * size is negative, or given for a role that is not free. LINNET_ERROR_OVERFLOW. One thread at a
 * time. */
linnet_status lin_memory_peaks(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                               lin_peaks *out, linnet_error *err);
/* Whether every `where` clause of the root and the entry holds at that size; also allocates
 * nothing. LINNET_ERROR_ARGUMENT as above. */
linnet_status lin_memory_holds(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                               bool *out, linnet_error *err);
/* A clause that no size keeps, as the program writes it; NULL: there is none. */
const char *lin_memory_broken_clause(const lin_memory *memory);
/* What sizes mean: every free role's value, -1 for the others. As lin_memory_peaks. */
linnet_status lin_memory_sizes(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                               int64_t out[LIN_ROLE_COUNT], linnet_error *err);

/* Bytes that some device has at least, of the last size evaluated. The first four are the most that
 * any stage has, and what shards may split. */
typedef struct lin_memory_floor {
    int64_t parameters, gradients, masters, states;
    int64_t stored;  /* all four of one stage */
    int64_t kept;    /* the same without gradients, and what it keeps of one micro-batch */
    int64_t runtime; /* the fewest runtime items of any device */
} lin_memory_floor;
void lin_memory_floors(const lin_memory *memory, lin_memory_floor *out);

/* The whole answer at another size. */
linnet_status lin_memory_analyse(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                                 lin_answer **out, linnet_error *err);
/* The same without what costs most and a reader of many sizes does not look at: components have
 * neither formula nor note, where the peak is is not worded, and there is no plan, timeline,
 * description of the training step, list of tensors or assumptions. */
linnet_status lin_memory_summarise(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                                   lin_answer **out, linnet_error *err);
void lin_answer_free(lin_answer *answer);

#endif
