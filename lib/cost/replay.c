/* SPDX-License-Identifier: MIT */

/*
 * A pipeline along its schedule: every action takes what its stage takes, and a rank that waits for
 * another stands still. For gpipe and 1f1b with one stage a rank this is rule S8's closed form; the
 * schedules that interleave stages or put weights' gradients off have none. Linear in the actions.
 */

#include "cost/cost.h"

#include <math.h>

#include "schedule/schedule.h"

/* Tenths of a nanosecond: a step of a day, a million actions long, still fits. */
static const double units = 1e10;

static int64_t in_units(double seconds)
{
    return (int64_t)llround(seconds * units);
}

linnet_status lin_step_replay(const struct lin_schedule *schedule, const lin_part *stages,
                              const lin_allocator *allocator, double *out_seconds,
                              linnet_error *err)
{
    lin_arena arena;
    lin_simulation simulation;
    lin_arena_init(&arena, allocator);
    lin_stage_times *each = LIN_NEW_ARRAY(&arena, lin_stage_times, schedule->stages);
    if (each == NULL)
        return lin_fail_memory(err);
    for (uint32_t i = 0; i < schedule->stages; i++) {
        const double backward = stages[i].seconds - stages[i].forward;
        const double weights = fmin(stages[i].weights, backward);
        each[i] = (lin_stage_times){ in_units(stages[i].forward), in_units(backward),
                                     in_units(backward - weights), in_units(weights) };
    }
    const lin_times times = { .stages = each, .stage_count = schedule->stages, .pair = -1 };
    const linnet_status status =
        lin_schedule_simulate(schedule, &times, false, &arena, &simulation, err);
    if (status == LINNET_OK)
        *out_seconds = (double)simulation.makespan / units;
    lin_arena_free(&arena);
    return status;
}

static void add_stage(lin_part *sum, const lin_part *stage)
{
    sum->seconds += stage->seconds;
    sum->forward += stage->forward;
    sum->weights += stage->weights;
    for (int i = 0; i < LIN_SPENT_COUNT; i++)
        sum->spent[i] += stage->spent[i];
    sum->waiting += stage->waiting;
    sum->host += stage->host;
    sum->optimizer += stage->optimizer;
    sum->gather += stage->gather;
    sum->joining += stage->joining;
    sum->accumulating += stage->accumulating;
    sum->parameters += stage->parameters;
    sum->parameter_bytes += stage->parameter_bytes;
    sum->parameter_elements += stage->parameter_elements;
    sum->gradient_bytes += stage->gradient_bytes;
    sum->gradient_elements += stage->gradient_elements;
    sum->expert_gradient_bytes += stage->expert_gradient_bytes;
    sum->expert_gradient_elements += stage->expert_gradient_elements;
    sum->steps += stage->steps;
    sum->forward_calls += stage->forward_calls;
    sum->backward_calls += stage->backward_calls;
    sum->model_operations += stage->model_operations;
}

/* A rank of two directions holds a copy of a stage for each and runs half of the micro-batches on
 * it. */
void lin_step_rank_part(const struct lin_schedule *schedule, uint32_t rank, const lin_part *stages,
                        lin_part *out)
{
    const lin_schedule_rank *r = &schedule->rank[rank];
    const double share = 1.0 / schedule->directions;
    *out = (lin_part){ 0 };
    for (uint32_t i = 0; i < r->slot_count; i++) {
        lin_part part = stages[r->slots[i].stage];
        part.seconds *= share;
        part.forward *= share;
        part.weights *= share;
        part.waiting *= share;
        part.host *= share;
        part.joining *= share;
        part.model_operations *= share;
        for (int k = 0; k < LIN_SPENT_COUNT; k++)
            part.spent[k] *= share;
        add_stage(out, &part);
    }
}
