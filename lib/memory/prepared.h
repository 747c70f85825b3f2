/* SPDX-License-Identifier: MIT */
#ifndef LIN_PREPARED_H
#define LIN_PREPARED_H

/* What a prepared memory holds, and the parts of the answer; lib/memory alone includes this. */

#include "memory/memory.h"

/* Owned persistent storage of one category. */
typedef struct lin_holding {
    uint32_t tensors;
    lin_expr bytes;    /* as laid out */
    lin_expr elements; /* as declared */
    const char *formula;
} lin_holding;

/* How the caches are laid out (tracing.md 6). */
typedef struct lin_cache_layout {
    bool differs;              /* some cache is not stored as declared: backend-modeled */
    bool is_recast;            /* some cache has another format than the declared dtype */
    const char *keys, *values; /* what those are stored in, when is_recast */
    lin_expr declared_bytes;   /* of all caches, as declared */
    uint32_t paged;            /* caches in blocks */
    const char *axes_unknown; /* first cache kept contiguous because its axes are not known, or NULL
                               */
    uint32_t axes_unknown_count;
} lin_cache_layout;

typedef struct lin_training lin_training;
typedef struct lin_pipeline lin_pipeline;     /* of a job whose stages are memories of their own */
typedef struct lin_stage_role lin_stage_role; /* of such a stage */
typedef LIN_LIST(lin_interval) lin_interval_list;

struct lin_memory {
    lin_allocator allocator;
    lin_arena arena;
    lin_arena scratch; /* of the call in progress */
    const lin_source *source;
    lin_traced traced;
    lin_memory_settings settings;
    lin_numerics numerics;
    int64_t processes; /* of the tensor-parallel group */
    lin_parallel parallel;
    bool is_cache_given;
    lin_training *training;      /* NULL: inference */
    lin_pipeline *pipeline;      /* NULL: one device; else there is no timeline but its stages' */
    const lin_stage_role *stage; /* NULL: the whole model */

    lin_runtime_item runtime[LIN_RUNTIME_MAX_ITEMS];
    uint32_t runtime_count;
    int64_t runtime_bytes;   /* known items, workspaces included */
    int64_t workspace_bytes; /* known items of category workspace: the allocator sees them */

    lin_holding holdings[LIN_CATEGORY_COUNT];
    lin_cache_layout caches;
    const char *activations_formula;

    lin_timeline *timeline;
    lin_timeline_values *values;
    const lin_lifetime *lifetimes;
    uint32_t lifetime_count;
    lin_expr_program *cache_program;      /* declared, laid out; NULL when they are the same */
    lin_expr_program **relation_programs; /* left, right; one a relation */
    int64_t *symbols;
    int64_t *program_scratch; /* large enough for each of the above */
};

/* One evaluated size. */
typedef struct lin_evaluated {
    int64_t role_value[LIN_ROLE_COUNT]; /* -1: the role is not free */
    lin_peak live, full;                /* without and with workspaces, laid-out caches included */
    int32_t peak;                       /* the moment that the answer is about */
    lin_peaks peaks;
} lin_evaluated;

/* pipeline.c */
bool lin_pipeline_is_wanted(const lin_pipeline_settings *settings);
linnet_status lin_pipeline_prepare(lin_memory *memory, lin_text *text, linnet_error *err);
linnet_status lin_pipeline_evaluate(lin_memory *memory, const int64_t request[LIN_ROLE_COUNT],
                                    lin_evaluated *out, linnet_error *err);
linnet_status lin_pipeline_fill(lin_memory *memory, const lin_evaluated *at, lin_text *text,
                                lin_answer *answer, linnet_error *err);
void lin_pipeline_free(lin_memory *memory); /* without one, nothing */
/* answer.c: fills the plan of an inference answer. */
linnet_status lin_memory_plan_transient(lin_memory *memory, const lin_evaluated *at,
                                        lin_answer *answer, linnet_error *err);

/* sizes.c: the values in force for a request; also fills memory->symbols. */
linnet_status lin_memory_resolve_sizes(lin_memory *memory, const int64_t request[LIN_ROLE_COUNT],
                                       int64_t out[LIN_ROLE_COUNT], linnet_error *err);

/* At the values that lin_memory_resolve_sizes left in memory->symbols. */
bool lin_memory_relation_holds(lin_memory *memory, uint32_t relation);

/* caches.c: the bytes of a cache as laid out. Fills memory->caches on the way. */
lin_expr lin_memory_lay_out_cache(lin_memory *memory, const lin_object *cache);
/* What the settings ask for: "i8", "iq4_nl,f16" for keys and values; NULL: as declared. */
const char *lin_memory_cache_format(const lin_memory_settings *settings, lin_arena *arena);
/* "64 tensors, paged in blocks of 16, stored as i8" */
const char *lin_memory_cache_note(const lin_memory *memory, lin_arena *arena);

/* inference.c: holdings, timeline and formulas. memory->arena and the graph's have a jump target.
 */
linnet_status lin_memory_prepare_inference(lin_memory *memory, lin_text *text, linnet_error *err);
/* The same for a training step (training.c). */
linnet_status lin_memory_prepare_training(lin_memory *memory, const lin_training_settings *settings,
                                          lin_text *text, linnet_error *err);
/* Intervals of what exists before the entry runs, and the sums by category. */
linnet_status lin_memory_add_persistent(lin_memory *memory, lin_interval_list *intervals,
                                        int32_t length, linnet_error *err);
/* exchange.c: buffers of tokens sent to experts, and of keys and values of other positions. */
linnet_status lin_memory_add_exchange(lin_memory *memory, lin_interval_list *intervals,
                                      linnet_error *err);
/* sharding.c: what a process stores of a parameter. */
lin_expr lin_memory_stored_bytes(const lin_memory *memory, uint32_t object);
/* Makes timeline, values, programs and the formulas of what is held. */
void lin_memory_compile(lin_memory *memory, const lin_interval_list *intervals, int32_t length,
                        lin_text *text);
linnet_status lin_memory_fail_object(const lin_memory *memory, uint32_t object, linnet_error *err);
linnet_status lin_memory_evaluate(lin_memory *memory, const int64_t request[LIN_ROLE_COUNT],
                                  lin_evaluated *out, linnet_error *err);

/* wording.c: texts in `arena`, which has a jump target. */
/* "`layers.0.mlp.up.weight`", "`linear` in `lm_head`", "`tokens`" */
const char *lin_memory_object_words(lin_arena *arena, const lin_graph *graph, uint32_t object);
/* "linear in `lm_head`" */
const char *lin_memory_step_label(lin_arena *arena, const lin_graph *graph, int32_t step);
/* "step 1603: linear in `lm_head`" */
const char *lin_memory_step_words(lin_arena *arena, const lin_graph *graph, int32_t step);
/* NULL for an invalid expression and for a text longer than 4000 characters. */
const char *lin_memory_formula(lin_arena *arena, lin_text *scratch, const lin_expr_table *exprs,
                               lin_expr e);

/* components.c, components_training.c, largest.c, spans.c: lists of an answer whose arena has a
 * jump target. */
void lin_memory_list_components(const lin_memory *memory, const lin_evaluated *at,
                                lin_text *scratch, lin_answer *answer);
void lin_memory_list_unknown(const lin_memory *memory, lin_answer *answer);
void lin_memory_list_warnings(lin_memory *memory, lin_answer *answer);
void lin_memory_list_assumptions(const lin_memory *memory, const lin_evaluated *at,
                                 lin_answer *answer);
/* What the lists above and below share. */
typedef LIN_LIST(lin_component) lin_component_list;
typedef LIN_LIST(const char *) lin_words_list;
void lin_memory_add_component(lin_answer *answer, lin_component_list *list,
                              lin_component component);
void lin_memory_add_holding(const lin_memory *memory, lin_category category, int64_t bytes,
                            lin_answer *answer, lin_component_list *list);
void lin_memory_add_runtime(const lin_memory *memory, lin_answer *answer, lin_component_list *list);
void lin_memory_end_components(lin_answer *answer, const lin_component_list *list);
void lin_memory_add_words(lin_answer *answer, lin_words_list *list, const char *words);
void lin_memory_list_training(const lin_memory *memory, const lin_evaluated *at, lin_text *scratch,
                              lin_answer *answer);
void lin_memory_add_unknown_training(const lin_memory *memory, lin_answer *answer,
                                     lin_words_list *list);
void lin_memory_add_warned_training(const lin_memory *memory, lin_answer *answer,
                                    lin_words_list *list);
void lin_memory_add_assumed_training(const lin_memory *memory, lin_answer *answer,
                                     lin_words_list *list);
/* Name and path of what an interval holds. */
void lin_memory_name_interval(lin_arena *arena, const lin_graph *graph,
                              const lin_interval *interval, const char **out_name,
                              const char **out_path);
void lin_memory_list_timeline(lin_memory *memory, const lin_evaluated *at, lin_answer *answer);
void lin_memory_list_largest(lin_memory *memory, const lin_evaluated *at, lin_text *scratch,
                             lin_answer *answer);

#endif
