/* SPDX-License-Identifier: MIT */
#ifndef LIN_GRAPH_H
#define LIN_GRAPH_H

/*
 * Objects and steps (tracing.md 1), lifetimes, arena planning. A graph is what a trace leaves
 * behind: byte counts are expressions of its own table, over the symbols batch, context and cache
 * (those that are free).
 */

#include "base/base.h"

enum { LIN_ROLE_BATCH, LIN_ROLE_CONTEXT, LIN_ROLE_CACHE, LIN_ROLE_COUNT };
typedef int lin_role;
extern const char *const lin_role_names[LIN_ROLE_COUNT]; /* "batch", "context", "cache" */

enum { LIN_NO_STEP = -1, LIN_MAX_RANK = 16 };

typedef struct lin_object {
    const char *name; /* the parameter's last part, the input's name, the step's label */
    const char *path; /* of a parameter, buffer, state; NULL otherwise */
    lin_category category;
    lin_dtype dtype;
    const char *storage; /* a parameter's format in its checkpoint ("q4_K"); NULL: the dtype */
    const lin_expr *shape;
    uint32_t rank;
    lin_expr elements; /* product of the shape */
    lin_expr bytes;    /* owned: 0 for a view, an in-place or identity result, a tied parameter */
    int32_t producer;  /* step, or LIN_NO_STEP */
    uint32_t owner;    /* the root owner; itself when it owns its storage */
    bool persistent;
    bool is_expert_part; /* a parameter: this process's part of a mixture's experts */
    /* a KV cache whose axes are [batch, heads, positions, width] (rank 4) */
    bool is_cache_axis_known;
} lin_object;

typedef struct lin_step {
    const char *kind; /* "add", "reshape", "comprehension", "semantic.call", "scale", … */
    const char *label;
    const char *scope;      /* path of the block whose method runs; "" for the root */
    const uint32_t *inputs; /* distinct objects, in order of first occurrence */
    uint32_t input_count;
    const uint32_t *region_reads; /* parameters and states named inside an index-notation region: no
                                     inputs, but read */
    uint32_t region_read_count;
    const uint32_t *outputs;
    uint32_t output_count;
    lin_expr arithmetic;        /* operations; LIN_EXPR_INVALID when the count does not fit */
    const char *implementation; /* native implementation's name, or NULL */
    const uint32_t *operands;   /* of a native call, by number: as inputs, repeated ones too */
    uint32_t operand_count;
    const void *native; /* the backend's row for it (backend.h), or NULL */
    lin_expr workspace; /* bytes during this step in a forward pass; 0 when none or unknown */
    lin_confidence workspace_confidence; /* LIN_UNKNOWN: not known, counted as nothing, listed */
} lin_step;

/* A `where` clause of the root or the entry as a relation of sizes. */
typedef struct lin_relation {
    int comparison; /* lin_comparison of lang/types.h */
    lin_expr left, right;
    const char *text; /* as written in the program's symbols */
} lin_relation;

/* Calls of implementations whose workspace or keeping is not known. */
typedef struct lin_unknown_call {
    const char *implementation;
    uint32_t calls;
} lin_unknown_call;

/* An op with a gradient of its own whose body was followed: its steps and the tensors it reads and
 * makes as a whole. One inside another comes first. */
typedef struct lin_own_gradient {
    const char *op; /* qualified */
    int32_t first_step, end_step;
    const uint32_t *objects;
    uint32_t object_count;
} lin_own_gradient;

typedef struct lin_graph {
    lin_arena arena;
    lin_expr_table *exprs;
    lin_symbol role_symbols[LIN_ROLE_COUNT]; /* always made, in this order: symbols 0, 1, 2 */
    bool role_free[LIN_ROLE_COUNT];
    bool role_used[LIN_ROLE_COUNT]; /* a generic of the root or the entry is that size */
    LIN_LIST(lin_object) objects;
    LIN_LIST(lin_step) steps;
    LIN_LIST(uint32_t) outputs; /* distinct */
    uint32_t returned; /* the first of them are results; the rest are new values of states */
    LIN_LIST(const char *) units; /* paths of the root's blocks, an array's one by one, in order */
    LIN_LIST(lin_relation) relations;
    LIN_LIST(lin_unknown_call) unknown_workspaces;
    LIN_LIST(lin_own_gradient) own_gradients;
    bool traced_both_branches;  /* some `if` had both regions walked */
    uint32_t parameter_objects; /* persistent objects come first */
    const char *entry;          /* name of the traced entry */
    const char *split_entry;    /* where it is for one shard: the entry for several, or NULL */
    const char *root;           /* name of the root block, "" for a module-level entry */
} lin_graph;

/* Whether a cache holds values: its name ends in "_v" or has "value" in it; all others, the latents
 * of latent attention among them, hold keys. */
bool lin_object_holds_values(const lin_object *cache);

/* NULL: out of memory. The arena has no jump target yet. */
lin_graph *lin_graph_new(const lin_allocator *allocator);
void lin_graph_free(lin_graph *graph); /* accepts NULL */

/* Length of "layers.3" in "layers.3.mlp.up.weight": the outermost element of an array on the way; 0
 * outside arrays. */
uint64_t lin_path_element(const char *path);
/* The entry's first input; NULL: it has none. */
const lin_object *lin_graph_first_input(const lin_graph *graph);
/* The role whose size is the first axis of the first input, which micro-batches cut; -1: none. */
lin_role lin_graph_cut_role(const lin_graph *graph);

/* Steps [first_step, end_step) during which an owner must keep its bytes. */
typedef struct lin_lifetime {
    uint32_t object;
    int32_t first_step;
    int32_t end_step;
} lin_lifetime;

/* The lifetimes of the transient owners, by object id (tracing.md 7.1), in `arena`. */
const lin_lifetime *lin_graph_lifetimes(lin_arena *arena, const lin_graph *graph,
                                        uint32_t *out_count);

/* Debug builds: every promise of the structs above; false and a sentence in `why` when one is
 * broken. */
bool lin_graph_check(const lin_graph *graph, char *why, uint64_t capacity);

/* ---- stages of a pipeline (stages.c, stage_split.c): tracing.md 11.1, 11.2 ---- */

/* Stage s has units [first_unit[s], first_unit[s + 1]). */
typedef struct lin_stage_plan {
    uint32_t stage_count;
    const uint32_t *first_unit; /* stage_count + 1 */
    const int64_t *unit_bytes;  /* of parameters; a tied one in every unit that holds it */
} lin_stage_plan;

/*
 * Contiguous stages, none empty. `starts`, where it is not NULL, names the units that later stages
 * begin at, separated by commas; else the largest stage is as small as possible. Sizes are taken at
 * `symbols`. Lives in `arena`, which has a jump target.
 *
 * LINNET_ERROR_ARGUMENT   more stages than units, or `starts` that are no such list
 */
linnet_status lin_stages_plan(const lin_graph *graph, const int64_t *symbols, int64_t stages,
                              const char *starts, lin_arena *arena, lin_stage_plan *out,
                              linnet_error *err);
/*
 * The same by what each unit weighs, at least 0: the heaviest stage is as light as possible, and
 * the rest as even. LINNET_ERROR_OVERFLOW: all together pass 2^63 - 1.
 */
linnet_status lin_stages_weigh(const lin_graph *graph, const int64_t *symbols, int64_t stages,
                               const int64_t *weights, lin_arena *arena, lin_stage_plan *out,
                               linnet_error *err);
/* The units of a stage with runs collapsed: "embedding, layers.0-10". */
const char *lin_stage_units(const lin_graph *graph, const lin_stage_plan *plan, uint32_t stage,
                            lin_arena *arena);

/* By step: the unit that it runs with (step_units.c); -1: it is of the inputs alone. In `arena`,
 * which has a jump target. */
const int32_t *lin_graph_step_units(const lin_graph *graph, lin_arena *arena);

/* A value that one stage makes and a later one reads, in a stage's own graph. */
typedef struct lin_passed {
    uint32_t object; /* here */
    uint32_t whole;  /* in the graph that was split */
} lin_passed;

/* What one stage runs. Its graph shares the expressions of the whole and lives in the arena of the
 * split: it is never freed by itself. */
typedef struct lin_stage_graph {
    lin_graph graph;
    const uint32_t *whole_object; /* by object here: in the whole graph */
    const uint32_t *whole_step;   /* by step here */
    const lin_passed *received;   /* inputs of the graph, after those of the entry */
    uint32_t received_count;
    const lin_passed *sent; /* outputs of the graph; of the last stage the results */
    uint32_t sent_count;
} lin_stage_graph;

/* One graph a stage. `arena` and the whole graph's have a jump target. */
lin_stage_graph *lin_graph_split(const lin_graph *whole, const lin_stage_plan *plan,
                                 lin_arena *arena);

/* ---- arena planning (plan.c): offsets for buffers whose lifetimes are known ---- */

typedef struct lin_buffer {
    int64_t bytes; /* already rounded up to the alignment */
    int32_t first_step, end_step;
} lin_buffer;

typedef struct lin_plan {
    int64_t greedy_bytes;  /* what the rule of tracing.md 7.3 reaches */
    int64_t planned_bytes; /* the smaller of greedy and search */
    int64_t live_bytes;    /* the largest sum of live bytes: no plan is smaller */
    int64_t naive_bytes;   /* the sum of all */
} lin_plan;

typedef struct lin_plan_effort {
    /* placements the search may try beyond the greedy rule; 0: greedy only */
    uint64_t search_nodes;
    int64_t stop_at_bytes; /* a plan this small is good enough; 0: the live bound */
} lin_plan_effort;
extern const lin_plan_effort lin_plan_default_effort;

/*
 * Ties are broken by size descending, first step, index: `buffers` comes in order of ids.
 * out_offsets (may be NULL) receives the offsets of the better plan. Deterministic.
 * LINNET_ERROR_OVERFLOW when the sum of bytes passes int64, LINNET_ERROR_NO_MEMORY.
 */
linnet_status lin_plan_arena(const lin_buffer *buffers, uint32_t count,
                             const lin_plan_effort *effort, const lin_allocator *allocator,
                             int64_t *out_offsets, lin_plan *out, linnet_error *err);

#endif
