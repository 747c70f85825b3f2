/* SPDX-License-Identifier: MIT */
#ifndef LIN_SCHEDULE_H
#define LIN_SCHEDULE_H

/*
 * Pipeline schedules: what each rank does, in order. A schedule is made by rule or read from a
 * file, never changed afterwards, and walked as arrays of eight-byte actions: a rank's memory is
 * replayed along them without asking anything here.
 *
 *     for (uint32_t i = 0; i < rank->action_count; i++)
 *         act(rank->actions[i].kind, rank->actions[i].slot, rank->actions[i].microbatch);
 *
 * A rank holds its stages in slots, and an action names the slot. A pipeline of two directions
 * (DualPipe) holds a copy of every stage for each: a slot then says which, and the micro-batches of
 * a direction are counted for themselves.
 */

#include "base/base.h"

/* Each with its spelling: schedule_spell.c. */
typedef enum lin_action_kind {
    LIN_ACTION_FORWARD,
    LIN_ACTION_BACKWARD,     /* input and weight gradients */
    LIN_ACTION_INPUT,        /* the input gradient alone */
    LIN_ACTION_WEIGHT,       /* the weight gradient alone */
    LIN_ACTION_SEND_FORWARD, /* the stage's output to the next stage's rank */
    LIN_ACTION_RECV_FORWARD,
    LIN_ACTION_SEND_BACKWARD, /* the gradient of the stage's input to the rank before */
    LIN_ACTION_RECV_BACKWARD,
    LIN_ACTION_UNSHARD, /* of a stage; no micro-batch: that is 0 */
    LIN_ACTION_RESHARD,
    LIN_ACTION_REDUCE, /* the stage's weight gradients are complete and summed over replicas */
    LIN_ACTION_STEP,   /* the optimizer's, of the rank: slot and micro-batch are 0 */
    LIN_ACTION_COUNT
} lin_action_kind;

typedef struct lin_action {
    uint32_t microbatch; /* of the slot's direction */
    uint16_t slot;
    uint8_t kind;          /* a lin_action_kind */
    uint8_t overlaps_next; /* a forward that runs together with the backward after it */
} lin_action;

typedef struct lin_slot {
    uint32_t stage;
    uint32_t direction; /* 0, or 1: micro-batches that enter at the last rank */
} lin_slot;

typedef struct lin_schedule_rank {
    const lin_action *actions;
    const lin_slot *slots; /* by stage when made by rule, by first use when read */
    uint32_t action_count, slot_count;
} lin_schedule_rank;

typedef struct lin_schedule {
    const char *name;
    uint32_t ranks, stages, directions;
    uint32_t microbatches;           /* of the step */
    uint32_t direction_microbatches; /* of one direction: microbatches / directions */
    bool has_transfers;              /* sends and receives are actions */
    const lin_schedule_rank *rank;
    /* Where each stage is, by direction * stages + stage. */
    const uint32_t *rank_of;
    const uint16_t *slot_of;
    lin_arena arena; /* owns all of it, and the struct's own block */
} lin_schedule;

enum {
    LIN_SCHEDULE_MAX_RANKS = 1 << 16,
    LIN_SCHEDULE_MAX_STAGES = 1 << 20,
    LIN_SCHEDULE_MAX_VIRTUAL = 1 << 12,
    LIN_SCHEDULE_MAX_MICROBATCHES = 1 << 20,
    LIN_SCHEDULE_MAX_ACTIONS = 1 << 26 /* of all ranks: 512 MiB */
};

/* ---- by rule (schedule.c) ---- */

uint32_t lin_schedule_kind_count(void);
const char *lin_schedule_kind_name(uint32_t index);
bool lin_schedule_is_kind(const char *name);
/* Whether its backward passes are in two parts; the stages a rank holds, 0: as many as asked. */
bool lin_schedule_kind_splits(uint32_t index);
uint32_t lin_schedule_kind_stages(uint32_t index);

typedef struct lin_schedule_request {
    const char *name;
    int64_t ranks, microbatches;
    int64_t virtual_stages; /* stages a rank; 0: what the schedule has, 2 where it is free */
} lin_schedule_request;

/* LINNET_ERROR_NOT_FOUND with the nearest name; LINNET_ERROR_ARGUMENT with the rule that is broken
 * and the nearest values that keep it. */
linnet_status lin_schedule_new(const lin_schedule_request *request, const lin_allocator *allocator,
                               lin_schedule **out, linnet_error *err);
/* The same without actions: where the stages are, and whether the request is legal. */
linnet_status lin_schedule_outline(const lin_schedule_request *request,
                                   const lin_allocator *allocator, lin_schedule **out,
                                   linnet_error *err);
void lin_schedule_free(lin_schedule *schedule); /* NULL is fine */

/* ---- from a file (schedule_read.c) ---- */

/* The JSON that lin_schedule_json writes; other keys are skipped. LINNET_ERROR_FORMAT names the
 * rank and the action: each forward and each backward (or its two parts) once, each stage on one
 * rank, everything in range and no deadlock. */
linnet_status lin_schedule_read(const char *source_name, const char *text, uint64_t length,
                                const lin_allocator *allocator, lin_schedule **out,
                                linnet_error *err);

/* Everything but the deadlock: what lin_schedule_read looks at (schedule_check.c). */
linnet_status lin_schedule_check(const lin_schedule *schedule, linnet_error *err);

/* ---- sends, receives, reductions (schedule_lower.c) ---- */

typedef struct lin_lowering {
    uint32_t active_stages; /* stages a rank holds unsharded at a time; 0: no (un)shard actions */
    bool reduce;            /* REDUCE_GRAD after a stage's last backward */
    bool step;              /* STEP at the end of each rank */
} lin_lowering;

/* The same schedule with its communication as actions. */
linnet_status lin_schedule_lower(const lin_schedule *schedule, const lin_lowering *lowering,
                                 const lin_allocator *allocator, lin_schedule **out,
                                 linnet_error *err);

/* ---- time (schedule_simulate.c) ---- */

typedef struct lin_stage_times {
    int64_t forward, backward, input, weight;
} lin_stage_times;

/* In any one unit. Sends, receives and the rest take no time of the rank. */
typedef struct lin_times {
    const lin_stage_times *stages;
    uint32_t stage_count; /* 1: every stage is alike */
    int64_t pair;         /* a forward overlapped with a backward; -1: the sum of both */
    int64_t transfer;     /* from the end of an action until its result is on another rank */
} lin_times;

/* F = I = W = 1, B = 2, a pair 3, no time between ranks. */
extern const lin_times lin_unit_times;

typedef struct lin_action_time {
    int64_t start, end;
} lin_action_time;

typedef struct lin_rank_time {
    int64_t finish, busy;
    /* The most (stage, micro-batch) pairs at a time whose forward ran and whose backward (or its
     * first part; or its second part) did not end. */
    uint32_t live_until_input, live_until_weight;
    lin_action_time *spans; /* one an action; NULL unless asked for */
} lin_rank_time;

typedef struct lin_simulation {
    int64_t makespan;
    lin_rank_time *rank; /* one a rank */
} lin_simulation;

/* Results live in `arena`. LINNET_ERROR_FORMAT: a deadlock, with the rank, its action and what that
 * waits for. LINNET_ERROR_OVERFLOW. Cost: linear in the actions. */
linnet_status lin_schedule_simulate(const lin_schedule *schedule, const lin_times *times,
                                    bool want_spans, lin_arena *arena, lin_simulation *out,
                                    linnet_error *err);

/* ---- as text ---- */

/* "4F0", "REDUCE_GRAD" and so on; the number before is the direction where there are two. */
void lin_action_spell(lin_text *out, const lin_schedule *schedule, uint32_t rank, uint32_t index);

void lin_schedule_text(lin_text *out, const lin_schedule *schedule,
                       const lin_simulation *simulation);
void lin_schedule_json(lin_text *out, const lin_schedule *schedule);
/* LINNET_ERROR_ARGUMENT: more actions than a picture shows. `simulation` has spans. */
enum { LIN_SCHEDULE_PICTURE_ACTIONS = 1000000 };
linnet_status lin_schedule_svg(lin_text *out, const lin_schedule *schedule,
                               const lin_simulation *simulation, linnet_error *err);

#endif
