/* SPDX-License-Identifier: MIT */
#ifndef LIN_PIPELINE_H
#define LIN_PIPELINE_H

/*
 * Pipelines (tracing.md 11); lib/memory alone includes this, and the tests that judge the replay.
 *
 *     pipeline.c            what is asked for, the stages as memories of their own, another size
 *     pipeline_ranks.c      what follows from a schedule alone, another schedule
 *     pipeline_settings.c   the flags' rules, the schedule, which role is cut
 *     stage_training.c      what a stage takes over from the marks of the whole model
 *     pipeline_published.c  the closed forms for gpipe and 1f1b
 *     pipeline_template.c   a stage's timeline as a few sums
 *     pipeline_replay.c     a rank along its actions
 *     pipeline_answer.c     the most loaded device in full, all of them in a list
 */

#include "memory/training.h"
#include "schedule/schedule.h"

struct lin_stage_role {
    const lin_memory *whole; /* with the marks of training */
    const lin_stage_graph *split;
    bool replays;         /* along a schedule: see lin_template */
    bool splits_backward; /* gradients of weights are made in a part of their own */
};

/* Sums of a stage that no micro-batch changes, in the order of their program. */
enum {
    LIN_HELD_PARAMETERS,
    LIN_HELD_MASTERS,
    LIN_HELD_STATES, /* the optimizer's */
    LIN_HELD_BUFFERS,
    LIN_HELD_STATE,
    LIN_HELD_CACHES, /* as laid out */
    LIN_HELD_DECLARED_CACHES,
    LIN_HELD_GRADIENTS, /* of all its parameters */
    LIN_HELD_GATHERED,
    LIN_HELD_TEMPORARIES, /* of the optimizer */
    LIN_HELD_PARAMETER_ELEMENTS,
    LIN_HELD_TRAINED_ELEMENTS,
    LIN_HELD_COUNT
};

/* Sums of a stage for one micro-batch. */
enum {
    LIN_FLOW_RECEIVED,          /* elements times size, of views too */
    LIN_FLOW_SENT,              /* of the last stage: the results */
    LIN_FLOW_RECEIVED_GRADIENT, /* of the values that carry gradients */
    LIN_FLOW_SENT_GRADIENT,     /* 0 on the last stage */
    LIN_FLOW_RECEIVED_KEPT,     /* received, and read by the weights' part of backward */
    LIN_FLOW_RESULTS,           /* storage of what is sent or returned and made here */
    LIN_FLOW_COUNT
};

/* What an interval of a stage's timeline is to a replay. */
typedef enum lin_share {
    LIN_SHARE_RUNS,         /* lives with its micro-batch */
    LIN_SHARE_HELD,         /* one of the LIN_HELD_ sums */
    LIN_SHARE_INPUT,        /* the entry's, of all micro-batches at once, or received */
    LIN_SHARE_GRADIENT,     /* of a parameter: made by the first micro-batch */
    LIN_SHARE_NEW_GRADIENT, /* of a parameter: beside the sum, for every later one */
} lin_share;

/* A peak inside an action, and where. */
typedef struct lin_inner_peak {
    int64_t bytes;
    int32_t moment;
} lin_inner_peak;

/*
 * A stage as its rank's schedule meets it. The parts of an action are half-open runs of moments:
 * forward [0, steps), backward [steps, end) or, apart, inputs' gradients [steps, middle) and
 * weights' [middle, end).
 */
typedef struct lin_template {
    int64_t held[LIN_HELD_COUNT];
    int64_t flow[LIN_FLOW_COUNT];
    lin_inner_peak forward;
    int64_t kept; /* between forward and backward, received values not among them */
    lin_inner_peak backward_first, backward_later; /* of whole backwards */
    lin_inner_peak input;
    int64_t kept_for_weights; /* between the parts of backward */
    lin_inner_peak weight_first, weight_later;
    int64_t total; /* bounds what one micro-batch has at any time */
} lin_template;

/* One stage with one way of going backward. */
typedef struct lin_stage_memory {
    lin_memory *memory; /* NULL: no rank needs it */
    lin_stage_role role;
    uint8_t *share;              /* a lin_share by interval of its timeline */
    const lin_interval *sent_on; /* gradients of received values: from where in backward */
    uint32_t sent_on_count;
    lin_expr_program *held_program; /* LIN_HELD_COUNT sums */
    lin_expr_program *flow_program; /* LIN_FLOW_COUNT sums, then the bytes of `sent_on` */
    int64_t *flow_values;
} lin_stage_memory;

typedef struct lin_stage {
    lin_stage_graph *split;
    lin_stage_memory whole, parts; /* backward as one, and its parts apart */
    lin_template sizes;            /* at the last sizes */
} lin_stage;

/* What one device holds at its peak. */
typedef struct lin_device_peak {
    lin_peaks peaks;
    int64_t bytes;                     /* without runtime items */
    int64_t parts[LIN_CATEGORY_COUNT]; /* of what runs, and what is always there */
    int64_t flight;                    /* activations of micro-batches that wait */
    int64_t buffers;                   /* received and not read yet, or made and not sent yet */
    int64_t joined;                    /* results put together */
    int64_t declared_caches, elements, trained;
    uint32_t stage;      /* that runs then */
    uint32_t microbatch; /* that runs then; UINT32_MAX: none */
    uint32_t action;     /* of the schedule; UINT32_MAX: none */
    bool in_parts;       /* of its timeline with the parts of backward apart */
    int32_t moment;      /* of that timeline; -1: outside */
    const char *where;   /* static words where the moment is -1 */
} lin_device_peak;

typedef struct lin_runtime_set {
    bool made;
    lin_runtime_item items[LIN_RUNTIME_MAX_ITEMS];
    uint32_t count;
    int64_t bytes, workspace_bytes;
} lin_runtime_set;

/* What waits in a slot of the rank that is replayed: counts of micro-batches. */
typedef struct lin_slot_state {
    int64_t flight;       /* ran forward, not backward */
    int64_t halves;       /* ran the inputs' part of backward, not the weights' */
    int64_t received;     /* values of the stage before, from another rank */
    int64_t gradient_in;  /* gradients of what was sent */
    int64_t gradient_out; /* gradients of what was received, on their way to another rank */
    int64_t results;      /* of inference */
    bool has_gradients;   /* of parameters */
} lin_slot_state;

/* The entry's inputs that a rank reads: distinct objects of the whole graph, of each direction. */
typedef struct lin_rank_inputs {
    const uint32_t *objects;
    uint32_t count;
} lin_rank_inputs;

struct lin_pipeline {
    lin_pipeline_settings settings; /* its texts in the memory's arena */
    const char *cublas_workspace;   /* as configured; NULL: the default */
    lin_arena arena;                /* of what follows from the schedule */
    lin_schedule *schedule;         /* with transfers; NULL: published */
    bool owns_schedule;
    bool backwards_apart, backwards_whole;
    int64_t ranks, microbatches, virtual_stages;
    lin_role cut; /* -1: nothing is */
    lin_stage_plan plan;
    const char *balanced_on; /* as lin_pipeline_answer */
    lin_stage *stages;
    uint32_t stage_count;
    lin_runtime_set runtime[LIN_CHANNELS_EXCHANGE + 1]; /* by channels */
    uint8_t *channels;                                  /* a lin_channels by rank */
    const lin_rank_inputs *inputs;                      /* by rank; of the replay */
    lin_expr_program *input_program; /* bytes of the entry's inputs by object, of one direction */
    int64_t *input_bytes, *input_scratch;
    lin_device_peak *peaks; /* by rank, at the last sizes */
    uint32_t most;          /* the rank that needs the most */
    int64_t *moments;       /* three columns, each as long as the longest timeline and one more */
    uint64_t longest;
    lin_slot_state *slots; /* of the rank that is replayed */
    int64_t *scratch;      /* large enough for every program here */
};

/* pipeline_settings.c */
linnet_status lin_pipeline_read(lin_memory *memory, linnet_error *err);
/* The symbols of one micro-batch: `role_value` with the cut role divided. */
linnet_status lin_pipeline_cut(const lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                               int64_t out[LIN_ROLE_COUNT], linnet_error *err);

/* pipeline_ranks.c: what follows from the schedule; the stages are there. */
linnet_status lin_pipeline_list_ranks(lin_memory *memory, linnet_error *err);

/* pipeline_settings.c */
void lin_pipeline_take_schedule(lin_pipeline *p, lin_schedule *schedule);
void lin_pipeline_backwards(const lin_schedule *schedule, bool *out_whole, bool *out_apart);
linnet_status lin_pipeline_find_cut(lin_memory *memory, linnet_error *err);

/* stage_training.c */
/* Whether the step's backward has a part for weights: it reads a trained parameter. */
bool lin_stage_reads_trained(const lin_memory *memory, uint32_t step);

/* pipeline_published.c */
linnet_status lin_pipeline_publish(lin_memory *memory, linnet_error *err);

/* pipeline_template.c */
/* Shares and programs of a stage that was prepared. */
linnet_status lin_template_prepare(lin_memory *whole, lin_stage *stage, lin_stage_memory *of,
                                   linnet_error *err);
/* Evaluates it where lin_memory_evaluate of its memory left the sizes; `symbols` are the whole
 * step's. */
linnet_status lin_template_measure(lin_pipeline *pipeline, lin_stage *stage, const int64_t *symbols,
                                   linnet_error *err);
/* What runs at a moment, by category; `first` counts gradients as they are made. */
void lin_template_breakdown(const lin_stage_memory *of, int32_t moment, bool first,
                            int64_t out[LIN_CATEGORY_COUNT]);

/* pipeline_replay.c */
linnet_status lin_pipeline_replay(lin_memory *memory, linnet_error *err);

/* pipeline.c */
linnet_status lin_pipeline_fail_sum(linnet_error *err);
/* Sums of what the parts of a peak are. False: too large. */
bool lin_pipeline_add_up(lin_device_peak *peak);

#endif
