/* SPDX-License-Identifier: MIT */
#ifndef LIN_TRAINING_H
#define LIN_TRAINING_H

/*
 * A training step on one timeline (tracing.md 9); lib/memory alone includes this.
 *
 *     training.c        the settings, and the intervals of everything put together
 *     lora.c            adapters as steps and parameters of the graph, before anything else
 *     checkpointing.c   which steps run again, and when each step's backward runs
 *     attention_core.c  the regions of selective recomputation
 *     gradients.c       what carries gradients, and how long gradients live
 *     saved.c           what autograd keeps of a step, how long activations live, workspaces
 *     optimizer.c       what an optimizer holds, one row each
 *     sharding.c        parts of weights, and when weights are whole
 */

#include "memory/prepared.h"

enum { LIN_NO_REGION = -1, LIN_NEVER = INT32_MAX };

/*
 * When steps run. Forward they run at 0 … n - 1. A region is a run of steps [first, end) that runs
 * again, in order, when backward reaches its last step.
 *
 *     steps     0  1 [2  3] 4          region of 2 and 3
 *     back     11 10  9  8  5
 *     redo            6  7             optimizer 12, length 13
 */
typedef struct lin_moments {
    int32_t *region; /* by step; LIN_NO_REGION outside */
    int32_t region_count;
    int32_t *redo; /* by step; LIN_NEVER outside regions */
    int32_t *back; /* by step */
    int32_t
        *weight; /* by step: when the gradients of its weights are made: with `back`, or apart */
    int32_t results_end; /* the last moment that needs received and sent values; the optimizer's */
    int32_t optimizer;
    int32_t length;
} lin_moments;

typedef struct lin_optimizer lin_optimizer;

struct lin_training {
    lin_training_settings settings; /* its texts in the memory's arena */
    const lin_optimizer *optimizer;
    const char *const *checkpoint_patterns;
    uint32_t checkpoint_pattern_count;
    bool checkpoints; /* a policy other than none */
    lin_moments schedule;
    bool *trained;                        /* by object: an owner whose bytes are updated */
    bool *carries;                        /* by object */
    bool *differentiable;                 /* by step */
    bool is_sharded;                      /* the shards update parts, */
    int32_t zero;                         /* of what this says, */
    lin_dtype part_dtype;                 /* in this dtype */
    lin_holding masters, states, updated; /* sums over trained parameters */
    lin_expr paged;                       /* states in managed memory, not counted */
    LIN_LIST(lin_unknown_call) assumed;   /* implementations whose keeping is not known */
    uint32_t adapters;                    /* layers that LoRA adapts, */
    uint32_t first_adapter;               /* and the first of their two parameters each */
    lin_expr_program *arithmetic;         /* of every step; NULL: some count is not known */
    int64_t *operations;                  /* by step, at the last sizes */
    int64_t *arithmetic_scratch;
};

/* Comma-separated parts, in the memory's arena. */
const char *const *lin_training_split(lin_memory *memory, const char *text, uint32_t *out_count);
/* A path with the indices of arrays as `*`: "layers.*.mlp.gate.weight". */
const char *lin_training_generalise(lin_arena *arena, const char *path);
/* "no `what` matches `pattern`" with the nearest of `paths`, which may repeat. */
linnet_status lin_training_fail_pattern(lin_memory *memory, const char *flag, const char *what,
                                        const char *pattern, const char *const *paths,
                                        uint32_t count, linnet_error *err);

/* training.c: what is decided for the whole model, before stages are made of it. */
linnet_status lin_training_mark(lin_memory *memory, const lin_training_settings *settings,
                                linnet_error *err);
/* stage_training.c: the same for a stage, out of what the whole has. */
linnet_status lin_training_inherit(lin_memory *memory, linnet_error *err);
/* The stage's gradients are added to those of other micro-batches. */
bool lin_stage_replays(const lin_memory *memory);

/* lora.c: changes the graph. */
linnet_status lin_training_add_adapters(lin_memory *memory, linnet_error *err);

/* checkpointing.c, attention_core.c */
linnet_status lin_training_make_schedule(lin_memory *memory, linnet_error *err);
linnet_status lin_training_mark_cores(lin_memory *memory, linnet_error *err);

/* gradients.c */
linnet_status lin_training_mark_trained(lin_memory *memory, linnet_error *err);
void lin_training_mark_gradients(lin_memory *memory);
linnet_status lin_training_add_gradients(lin_memory *memory, lin_interval_list *intervals,
                                         linnet_error *err);
/* The dtype the optimizer updates, and the one gradients are summed in. */
lin_dtype lin_training_updated_dtype(const lin_training *training, const lin_object *parameter);
lin_dtype lin_training_gradient_dtype(const lin_training *training, const lin_object *parameter);

/* saved.c */
linnet_status lin_training_add_activations(lin_memory *memory, lin_interval_list *intervals,
                                           linnet_error *err);

/* optimizer.c */
const lin_optimizer *lin_optimizer_find(const char *name);
const char *lin_optimizer_label(const lin_optimizer *optimizer);
linnet_status lin_training_add_optimizer(lin_memory *memory, lin_interval_list *intervals,
                                         linnet_error *err);

/* sharding.c */
bool lin_training_shards(const lin_memory *memory);
bool lin_training_shards_gradients(const lin_memory *memory);
bool lin_training_shards_weights(const lin_memory *memory);
/* Whether shards have parts of what belongs to the object: not of experts that are on one alone. */
bool lin_training_is_split(const lin_memory *memory, const lin_object *object);
/* Of its elements or bytes, what one process has; all of them without shards. */
lin_expr lin_training_part(const lin_memory *memory, const lin_object *object, lin_expr whole);
linnet_status lin_training_check_shards(const lin_memory *memory, linnet_error *err);
linnet_status lin_training_add_gathered(lin_memory *memory, lin_interval_list *intervals,
                                        linnet_error *err);

/* training.c: what runs at a moment. */
typedef enum lin_phase_kind {
    LIN_PHASE_KIND_FORWARD,
    LIN_PHASE_KIND_RECOMPUTATION,
    LIN_PHASE_KIND_BACKWARD,
    LIN_PHASE_KIND_OPTIMIZER
} lin_phase_kind;
typedef struct lin_running {
    lin_phase_kind phase;
    int32_t step; /* LIN_NO_STEP: the optimizer's */
} lin_running;
/* components_training.c */
/* "the forward pass (timeline step 1060 of 2123)" */
const char *lin_training_peak_words(const lin_memory *memory, const lin_evaluated *at,
                                    lin_arena *arena, lin_arena *scratch);
void lin_training_describe(const lin_memory *memory, lin_answer *answer);

/* By moment; for inference too. */
lin_running *lin_memory_list_running(lin_arena *arena, const lin_memory *memory);

#endif
