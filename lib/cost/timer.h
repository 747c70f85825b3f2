/* SPDX-License-Identifier: MIT */
#ifndef LIN_TIMER_H
#define LIN_TIMER_H

/* Steps of one prepared memory on a device, for many sizes, degrees and schedules; for lib/cost and
 * the searches of lib/plan. */

#include "cost/cost.h"

struct lin_schedule;

typedef struct lin_timer_settings {
    lin_time_model model;
    bool training;
    const char *optimizer; /* NULL: adamw; static, or it outlives the timer */
    lin_parallel parallel; /* `tensor` as the memory's */
    lin_loop loop;
} lin_timer_settings;

/* One thread at a time. Its parts are those of the last run. */
typedef struct lin_timer {
    lin_allocator allocator;
    lin_arena arena;
    lin_memory *memory; /* borrowed, as the next two */
    const lin_profile *profile;
    const lin_graph *graph; /* the whole */
    lin_timer_settings settings;
    uint64_t rules;
    lin_links links; /* of the last run */
    bool is_pipeline;
    uint32_t stage_count, rank_count; /* 1 without a pipeline */
    lin_cost **costs;                 /* by stage, as the next three */
    double *received;                 /* bytes of a micro-batch from the stage before */
    double *recompute;                /* share of the forward arithmetic that runs again */
    bool **again;                     /* by step: it does (K1) */
    lin_part *parts;
    lin_part *ranks;      /* by rank, of the last step */
    int64_t *whole, *one; /* symbols: of the step, of a micro-batch */
    double tokens;        /* of one data-parallel rank's step */
} lin_timer;

/* Copies of the parameters that an optimizer's pass reads and writes. */
double lin_timer_states(const char *optimizer);
/* LINNET_ERROR_UNSUPPORTED: degrees whose time is not modelled. */
linnet_status lin_timer_check(const lin_traced *traced, const lin_parallel *parallel,
                              linnet_error *err);

/* Finds the calls of each stage. Borrows the memory and the profile. */
linnet_status lin_timer_new(lin_memory *memory, const lin_profile *profile,
                            const lin_timer_settings *settings, const lin_allocator *allocator,
                            lin_timer **out, linnet_error *err);
void lin_timer_free(lin_timer *timer); /* accepts NULL */

/* Prices the calls at the sizes of a step and of one of its micro-batches; -1 is a role that is not
 * free. LINNET_ERROR_OVERFLOW. */
linnet_status lin_timer_price(lin_timer *timer, const int64_t whole[LIN_ROLE_COUNT],
                              const int64_t one[LIN_ROLE_COUNT], linnet_error *err);
/* The parts, under degrees whose tensor, context and expert ones are those of the memory. */
void lin_timer_run(lin_timer *timer, const lin_parallel *normal);

typedef struct lin_timer_job {
    const struct lin_schedule *schedule; /* NULL: no pipeline, or by the closed form */
    int64_t microbatches;                /* 1 without a pipeline */
    int64_t accumulation;                /* 1 */
    bool splits_backward;                /* some backward is two actions; read by bounds alone */
} lin_timer_job;

/* LINNET_ERROR_FORMAT: a schedule that stands still. */
linnet_status lin_timer_step(lin_timer *timer, const lin_timer_job *job, lin_step_time *out,
                             linnet_error *err);
/* A step that is no longer than lin_timer_step's. Of the schedule only what stands where is read:
 * one of other micro-batches serves. */
void lin_timer_bound(lin_timer *timer, const lin_timer_job *job, lin_step_time *out);

#endif
