/* SPDX-License-Identifier: MIT */

/*
 * What a device needs at least, whatever the schedule and the way to shard: for searches that drop
 * layouts without preparing them. Read off the last size that was evaluated.
 *
 * Cost: linear in the stages, or in the intervals of the one timeline.
 */

#include "memory/pipeline.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Sums that pass 2^63 - 1 were refused when the size was evaluated. */
static void note_stage(const lin_template *t, lin_memory_floor *out)
{
    const int64_t *held = t->held;
    const int64_t stored =
        held[LIN_HELD_PARAMETERS] + held[LIN_HELD_MASTERS] + held[LIN_HELD_STATES];
    out->parameters = larger(out->parameters, held[LIN_HELD_PARAMETERS]);
    out->masters = larger(out->masters, held[LIN_HELD_MASTERS]);
    out->states = larger(out->states, held[LIN_HELD_STATES]);
    out->gradients = larger(out->gradients, held[LIN_HELD_GRADIENTS]);
    out->kept = larger(out->kept, stored + t->kept);
    out->stored = larger(out->stored, stored + held[LIN_HELD_GRADIENTS]);
}

static bool is_gradient(const lin_interval *interval)
{
    return interval->reason == LIN_REASON_GRADIENT || interval->reason == LIN_REASON_NEW_GRADIENT;
}

static void note_timeline(const lin_memory *memory, lin_memory_floor *out)
{
    for (uint32_t i = 0; i < lin_timeline_count(memory->timeline); i++) {
        const lin_interval *interval = lin_timeline_interval(memory->timeline, i);
        const int64_t bytes = lin_timeline_bytes(memory->timeline, memory->values, i);
        if (interval->category == LIN_CATEGORY_PARAMETERS)
            out->parameters += bytes;
        else if (interval->category == LIN_CATEGORY_MASTER_WEIGHTS)
            out->masters += bytes;
        else if (interval->category == LIN_CATEGORY_OPTIMIZER_STATES)
            out->states += bytes;
        else if (is_gradient(interval))
            out->gradients += bytes;
    }
    out->kept = out->parameters + out->masters + out->states;
    out->stored = out->kept;
}

void lin_memory_floors(const lin_memory *memory, lin_memory_floor *out)
{
    const lin_pipeline *p = memory->pipeline;
    *out = (lin_memory_floor){ 0 };
    if (p == NULL) {
        note_timeline(memory, out);
        out->runtime = memory->runtime_bytes;
        return;
    }
    for (uint32_t i = 0; i < p->stage_count; i++)
        note_stage(&p->stages[i].sizes, out);
    out->runtime = INT64_MAX;
    for (uint32_t r = 0; r < p->ranks; r++) {
        const int64_t bytes = p->runtime[p->channels[r]].bytes;
        out->runtime = bytes < out->runtime ? bytes : out->runtime;
    }
}
