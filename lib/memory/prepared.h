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
    bool differs;             /* some cache is not stored as declared: backend-modeled */
    bool is_recast;           /* some cache has another dtype than the declared one */
    lin_expr declared_bytes;  /* of all caches, as declared */
    uint32_t paged;           /* caches in blocks */
    const char *axes_unknown; /* first cache kept contiguous because its axes are not known, or NULL
                               */
    uint32_t axes_unknown_count;
} lin_cache_layout;

struct lin_memory {
    lin_allocator allocator;
    lin_arena arena;
    lin_arena scratch; /* of the call in progress */
    const lin_source *source;
    lin_traced traced;
    lin_memory_settings settings;
    lin_numerics numerics;
    bool is_cache_given;

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
    lin_peaks peaks;
} lin_evaluated;

/* sizes.c: the values in force for a request; also fills memory->symbols. */
linnet_status lin_memory_resolve_sizes(lin_memory *memory, const int64_t request[LIN_ROLE_COUNT],
                                       int64_t out[LIN_ROLE_COUNT], linnet_error *err);

/* At the values that lin_memory_resolve_sizes left in memory->symbols. */
bool lin_memory_relation_holds(lin_memory *memory, uint32_t relation);

/* caches.c: the bytes of a cache as laid out. Fills memory->caches on the way. */
lin_expr lin_memory_lay_out_cache(lin_memory *memory, const lin_object *cache);
/* "64 tensors, paged in blocks of 16 positions, stored as i8" */
const char *lin_memory_cache_note(const lin_memory *memory, lin_arena *arena);

/* inference.c: holdings, timeline and formulas. memory->arena and the graph's have a jump target.
 */
linnet_status lin_memory_prepare_inference(lin_memory *memory, lin_text *text, linnet_error *err);
linnet_status lin_memory_evaluate(lin_memory *memory, const int64_t request[LIN_ROLE_COUNT],
                                  lin_evaluated *out, linnet_error *err);

/* wording.c: texts in `arena`, which has a jump target. */
/* "`layers.0.mlp.up.weight`", "`linear` in `lm_head`", "`tokens`" */
const char *lin_memory_object_words(lin_arena *arena, const lin_graph *graph, uint32_t object);
/* "step 1603: linear in `lm_head`" */
const char *lin_memory_step_words(lin_arena *arena, const lin_graph *graph, int32_t step);
/* NULL for an invalid expression and for a text longer than 4000 characters. */
const char *lin_memory_formula(lin_arena *arena, lin_text *scratch, const lin_expr_table *exprs,
                               lin_expr e);
/* NULL stays NULL. */
const char *lin_memory_copy(lin_arena *arena, const char *text);

/* components.c, largest.c: lists of an answer whose arena has a jump target. */
void lin_memory_list_components(const lin_memory *memory, const lin_evaluated *at,
                                lin_text *scratch, lin_answer *answer);
void lin_memory_list_unknown(const lin_memory *memory, lin_answer *answer);
void lin_memory_list_warnings(lin_memory *memory, lin_answer *answer);
void lin_memory_list_assumptions(const lin_memory *memory, const lin_evaluated *at,
                                 lin_answer *answer);
void lin_memory_list_largest(lin_memory *memory, const lin_evaluated *at, lin_text *scratch,
                             lin_answer *answer);

#endif
