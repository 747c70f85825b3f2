/* SPDX-License-Identifier: MIT */

/*
 * The published closed forms (tracing.md 11.3) for gpipe and 1f1b, one stage a rank. All sizes are
 * those of one micro-batch, caches cut by the batch among them, as published.
 *
 *     inference   the stage's own peak, (M - 1) times what it passes, and the joined results
 *     training    the stage's own peak with all gradients (1f1b) or as they are (gpipe), what the
 *                 micro-batches in flight hold, and the buffers
 *
 * Cost: linear in the intervals of all stages.
 */

#include "memory/pipeline.h"

#include <string.h>

/* a + times * b, checked. */
static bool add_times(int64_t *sum, int64_t times, int64_t bytes)
{
    int64_t product;
    return lin_mul_i64(times, bytes, &product) && lin_add_i64(*sum, product, sum);
}

static int64_t persistent_of(const int64_t *parts)
{
    return parts[LIN_CATEGORY_PARAMETERS] + parts[LIN_CATEGORY_BUFFERS] +
           parts[LIN_CATEGORY_STATE] + parts[LIN_CATEGORY_KV_CACHE];
}

static bool add_up(const lin_template *t, lin_device_peak *peak)
{
    peak->declared_caches = t->held[LIN_HELD_DECLARED_CACHES];
    peak->elements = t->held[LIN_HELD_PARAMETER_ELEMENTS];
    peak->trained = t->held[LIN_HELD_TRAINED_ELEMENTS];
    return lin_pipeline_add_up(peak);
}

/* ---- inference ---- */

static linnet_status publish_inference(const lin_pipeline *p, const lin_stage *stage,
                                       lin_device_peak *peak, linnet_error *err)
{
    lin_memory *memory = stage->whole.memory;
    const int64_t *flow = stage->sizes.flow;
    lin_peak live, full;
    int64_t passed = 0, needed = 0, left;
    if (!lin_timeline_peaks(memory->timeline, memory->symbols, memory->values, &live, &full, NULL))
        return lin_pipeline_fail_sum(err);
    lin_timeline_breakdown(memory->timeline, memory->values, full.moment, peak->parts);
    if (!lin_add_i64(flow[LIN_FLOW_RECEIVED], flow[LIN_FLOW_SENT], &passed) ||
        !add_times(&peak->flight, p->microbatches - 1, passed))
        return lin_pipeline_fail_sum(err);
    const bool is_last = stage == &p->stages[p->stage_count - 1];
    if (is_last && p->microbatches > 1) {
        if (!add_times(&needed, p->microbatches, flow[LIN_FLOW_RECEIVED]) ||
            !add_times(&needed, p->microbatches, flow[LIN_FLOW_SENT]) ||
            !add_times(&needed, p->microbatches, flow[LIN_FLOW_SENT]))
            return lin_pipeline_fail_sum(err);
        left = needed - (full.bytes - persistent_of(peak->parts)) - peak->flight;
        peak->joined = left > 0 ? left : 0;
    }
    if (!add_up(&stage->sizes, peak))
        return lin_pipeline_fail_sum(err);
    /* The graph's own peak is without workspaces, which may be at another step. */
    peak->peaks.graph = live.bytes - stage->sizes.held[LIN_HELD_CACHES] +
                        stage->sizes.held[LIN_HELD_DECLARED_CACHES];
    peak->moment = live.moment;
    return LINNET_OK;
}

/* ---- training ---- */

/* The most bytes before the optimizer's step, parameters' gradients left out or as they are, and
 * what of activations and inputs lives at the last forward step. */
static int32_t find_moment(lin_pipeline *p, const lin_memory *memory, bool with_gradients,
                           int64_t *out_held)
{
    const lin_moments *moments = &memory->training->schedule;
    const lin_timeline *timeline = memory->timeline;
    const int32_t last_forward = (int32_t)memory->traced.graph->steps.count - 1;
    int64_t *column = p->moments;
    int64_t live = 0, most = -1;
    int32_t found = 0;
    memset(column, 0, (size_t)p->longest * sizeof *column);
    *out_held = 0;
    for (uint32_t i = 0; i < lin_timeline_count(timeline); i++) {
        const lin_interval *interval = lin_timeline_interval(timeline, i);
        const int64_t bytes = lin_timeline_bytes(timeline, memory->values, i);
        if ((interval->category == LIN_CATEGORY_ACTIVATIONS ||
             interval->category == LIN_CATEGORY_INPUTS) &&
            interval->first <= last_forward && last_forward < interval->end)
            *out_held += bytes;
        if (interval->first >= interval->end ||
            (interval->category == LIN_CATEGORY_GRADIENTS && !with_gradients))
            continue;
        column[interval->first] += bytes;
        column[interval->end] -= bytes;
    }
    for (int32_t m = 0; m < moments->optimizer; m++) {
        live += column[m];
        if (live > most) {
            most = live;
            found = m;
        }
    }
    return found;
}

/* Where persistent memory and all gradients are more than any other moment. */
static bool peak_at_optimizer(const lin_stage *stage, lin_device_peak *peak)
{
    const lin_template *t = &stage->sizes;
    lin_device_peak step = { .moment = stage->whole.memory->training->schedule.optimizer };
    step.parts[LIN_CATEGORY_PARAMETERS] = t->held[LIN_HELD_PARAMETERS];
    step.parts[LIN_CATEGORY_MASTER_WEIGHTS] = t->held[LIN_HELD_MASTERS];
    step.parts[LIN_CATEGORY_OPTIMIZER_STATES] = t->held[LIN_HELD_STATES];
    step.parts[LIN_CATEGORY_BUFFERS] = t->held[LIN_HELD_BUFFERS];
    step.parts[LIN_CATEGORY_STATE] = t->held[LIN_HELD_STATE];
    step.parts[LIN_CATEGORY_KV_CACHE] = t->held[LIN_HELD_CACHES];
    step.parts[LIN_CATEGORY_GRADIENTS] = t->held[LIN_HELD_GRADIENTS];
    step.parts[LIN_CATEGORY_COMMUNICATION] = t->held[LIN_HELD_GATHERED];
    step.parts[LIN_CATEGORY_WORKSPACE] = t->held[LIN_HELD_TEMPORARIES];
    if (!add_up(t, &step))
        return false;
    step.stage = peak->stage;
    step.microbatch = step.action = UINT32_MAX;
    if (step.bytes > peak->bytes)
        *peak = step;
    return true;
}

static linnet_status publish_training(lin_pipeline *p, const lin_stage *stage, uint32_t number,
                                      lin_device_peak *peak, linnet_error *err)
{
    lin_memory *memory = stage->whole.memory;
    const lin_template *t = &stage->sizes;
    const bool gpipe = strcmp(p->settings.schedule, "gpipe") == 0;
    const int64_t count = p->microbatches, ahead = p->ranks - number;
    const int64_t flight = gpipe || count < ahead ? count : ahead;
    int64_t held;
    peak->moment = find_moment(p, memory, gpipe, &held);
    lin_timeline_breakdown(memory->timeline, memory->values, peak->moment, peak->parts);
    if (!gpipe)
        peak->parts[LIN_CATEGORY_GRADIENTS] = t->held[LIN_HELD_GRADIENTS];
    const bool is_last = number + 1 == p->stage_count, is_first = number == 0;
    if (!add_times(&peak->flight, flight - 1, held) ||
        !add_times(&peak->buffers, count - flight, t->flow[LIN_FLOW_RECEIVED]) ||
        !add_times(&peak->buffers, is_last ? 0 : count, t->flow[LIN_FLOW_SENT_GRADIENT]) ||
        !add_times(&peak->buffers, is_first ? 0 : 1, t->flow[LIN_FLOW_RECEIVED_GRADIENT]) ||
        !add_up(t, peak) || !peak_at_optimizer(stage, peak))
        return lin_pipeline_fail_sum(err);
    return LINNET_OK;
}

linnet_status lin_pipeline_publish(lin_memory *memory, linnet_error *err)
{
    lin_pipeline *p = memory->pipeline;
    for (uint32_t i = 0; i < p->stage_count; i++) {
        lin_device_peak *peak = &p->peaks[i];
        *peak = (lin_device_peak){ .stage = i, .microbatch = UINT32_MAX, .action = UINT32_MAX };
        const linnet_status status = memory->training != NULL
                                         ? publish_training(p, &p->stages[i], i, peak, err)
                                         : publish_inference(p, &p->stages[i], peak, err);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}
