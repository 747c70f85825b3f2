/* SPDX-License-Identifier: MIT */

/*
 * A stage's timeline as the few numbers a replay needs. What lives with a micro-batch is summed
 * once over the moments of each part of a step:
 *
 *     moments     0 …            steps …                middle …           end
 *                 [-- forward ---)[- inputs' gradients -)[- weights' ------)
 *     forward     the most at a time
 *     kept                       |what lives here: until its backward
 *     input       the most at a time
 *     kept_for_weights                                  |what lives here
 *     weight      the most at a time
 *
 * Received values and the gradients that come with them live as long as the action that uses them,
 * as PyTorch's runtime holds its arguments; the replay counts them. Gradients of parameters are
 * made by the first micro-batch and stay; later ones make theirs beside the sum.
 *
 * Cost: preparing and measuring are linear in the intervals and moments of the stage.
 */

#include "memory/pipeline.h"

#include <string.h>

/* ---- preparing ---- */

typedef struct template_pass {
    lin_memory *whole, *memory;
    const lin_stage_graph *split;
    lin_stage_memory *of;
    lin_expr held[LIN_HELD_COUNT];
    lin_expr flow[LIN_FLOW_COUNT];
} template_pass;

static lin_expr_table *exprs_of(const template_pass *p)
{
    return p->split->graph.exprs;
}

static void add_to(const template_pass *p, lin_expr *sum, lin_expr bytes)
{
    *sum = lin_expr_add(exprs_of(p), *sum, bytes);
}

static lin_share share_of(const template_pass *p, const lin_interval *interval)
{
    const lin_object *objects = p->split->graph.objects.items;
    const bool lasts =
        interval->first == 0 && interval->end >= lin_timeline_length(p->memory->timeline);
    switch (interval->category) {
    case LIN_CATEGORY_MASTER_WEIGHTS:
    case LIN_CATEGORY_OPTIMIZER_STATES:
        return LIN_SHARE_HELD;
    case LIN_CATEGORY_GRADIENTS:
        return LIN_SHARE_GRADIENT;
    case LIN_CATEGORY_INPUTS:
        return LIN_SHARE_INPUT;
    case LIN_CATEGORY_COMMUNICATION:
        return lasts ? LIN_SHARE_HELD : LIN_SHARE_RUNS;
    default:
        break;
    }
    if (interval->reason == LIN_REASON_OPTIMIZER_TEMPORARY ||
        (interval->object != UINT32_MAX && objects[interval->object].persistent &&
         interval->reason == LIN_REASON_STORED))
        return LIN_SHARE_HELD;
    if (interval->reason != LIN_REASON_NEW_GRADIENT)
        return LIN_SHARE_RUNS;
    /* With gradients spread over shards the first micro-batch's are whole for a moment too. */
    return lin_training_shards_gradients(p->memory) &&
                   lin_training_is_split(p->memory, &objects[interval->object])
               ? LIN_SHARE_RUNS
               : LIN_SHARE_NEW_GRADIENT;
}

static void share_intervals(template_pass *p)
{
    const uint32_t count = lin_timeline_count(p->memory->timeline);
    p->of->share = LIN_NEW_ARRAY(&p->whole->arena, uint8_t, count);
    for (uint32_t i = 0; i < count; i++) {
        const lin_interval *interval = lin_timeline_interval(p->memory->timeline, i);
        const lin_share share = share_of(p, interval);
        p->of->share[i] = (uint8_t)share;
        if (share == LIN_SHARE_GRADIENT)
            add_to(p, &p->held[LIN_HELD_GRADIENTS], interval->bytes);
        if (share == LIN_SHARE_HELD && interval->category == LIN_CATEGORY_COMMUNICATION)
            add_to(p, &p->held[LIN_HELD_GATHERED], interval->bytes);
        if (share == LIN_SHARE_HELD && interval->reason == LIN_REASON_OPTIMIZER_TEMPORARY)
            add_to(p, &p->held[LIN_HELD_TEMPORARIES], interval->bytes);
    }
}

static void sum_held(template_pass *p)
{
    const lin_memory *memory = p->memory;
    add_to(p, &p->held[LIN_HELD_PARAMETERS], memory->holdings[LIN_CATEGORY_PARAMETERS].bytes);
    add_to(p, &p->held[LIN_HELD_BUFFERS], memory->holdings[LIN_CATEGORY_BUFFERS].bytes);
    add_to(p, &p->held[LIN_HELD_STATE], memory->holdings[LIN_CATEGORY_STATE].bytes);
    add_to(p, &p->held[LIN_HELD_CACHES], memory->holdings[LIN_CATEGORY_KV_CACHE].bytes);
    add_to(p, &p->held[LIN_HELD_DECLARED_CACHES], memory->caches.declared_bytes);
    add_to(p, &p->held[LIN_HELD_PARAMETER_ELEMENTS],
           memory->holdings[LIN_CATEGORY_PARAMETERS].elements);
    if (memory->training == NULL)
        return;
    add_to(p, &p->held[LIN_HELD_MASTERS], memory->training->masters.bytes);
    add_to(p, &p->held[LIN_HELD_STATES], memory->training->states.bytes);
    add_to(p, &p->held[LIN_HELD_TRAINED_ELEMENTS], memory->training->updated.elements);
}

/* ---- what passes between stages ---- */

static lin_expr passed_bytes(const template_pass *p, const lin_passed *passed)
{
    const lin_object *object = &p->split->graph.objects.items[passed->object];
    if (object->owner == passed->object)
        return object->bytes;
    return lin_expr_mul(exprs_of(p), object->elements,
                        lin_expr_int(exprs_of(p), lin_dtype_bytes(object->dtype)));
}

static bool carries(const template_pass *p, const lin_passed *passed)
{
    return p->memory->training != NULL && p->memory->training->carries[passed->object];
}

static bool is_input(const template_pass *p, uint32_t object)
{
    const lin_object *o = &p->split->graph.objects.items[object];
    return !o->persistent && o->producer == LIN_NO_STEP;
}

static void sum_results(template_pass *p)
{
    const lin_graph *graph = &p->split->graph;
    bool *is_counted = LIN_NEW_ARRAY(&p->whole->scratch, bool, graph->objects.count);
    for (uint32_t i = 0; i < graph->outputs.count; i++) {
        const uint32_t owner = graph->objects.items[graph->outputs.items[i]].owner;
        if (is_counted[owner] || graph->objects.items[owner].persistent || is_input(p, owner))
            continue;
        is_counted[owner] = true;
        add_to(p, &p->flow[LIN_FLOW_RESULTS], graph->objects.items[owner].bytes);
    }
}

static void sum_flow(template_pass *p, bool is_last)
{
    for (uint32_t i = 0; i < p->split->received_count; i++) {
        const lin_passed *passed = &p->split->received[i];
        add_to(p, &p->flow[LIN_FLOW_RECEIVED], passed_bytes(p, passed));
        if (carries(p, passed))
            add_to(p, &p->flow[LIN_FLOW_RECEIVED_GRADIENT], passed_bytes(p, passed));
    }
    for (uint32_t i = 0; i < p->split->sent_count; i++) {
        const lin_passed *passed = &p->split->sent[i];
        add_to(p, &p->flow[LIN_FLOW_SENT], passed_bytes(p, passed));
        if (carries(p, passed) && !is_last)
            add_to(p, &p->flow[LIN_FLOW_SENT_GRADIENT], passed_bytes(p, passed));
    }
    sum_results(p);
}

/* Received values that a weights' part reads outlive the inputs' part. */
static void sum_kept_inputs(template_pass *p)
{
    const lin_training *training = p->memory->training;
    for (uint32_t i = 0; i < lin_timeline_count(p->memory->timeline) && training != NULL; i++) {
        const lin_interval *interval = lin_timeline_interval(p->memory->timeline, i);
        if (interval->category == LIN_CATEGORY_INPUTS &&
            p->whole->traced.graph->objects.items[p->split->whole_object[interval->object]]
                    .producer != LIN_NO_STEP &&
            interval->end > training->schedule.results_end + 1)
            add_to(p, &p->flow[LIN_FLOW_RECEIVED_KEPT], interval->bytes);
    }
}

static void note_reads(const template_pass *p, const uint32_t *objects, uint32_t count,
                       int32_t moment, int32_t *first)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t owner = p->split->graph.objects.items[objects[i]].owner;
        first[owner] = moment < first[owner] ? moment : first[owner];
    }
}

/* The gradient of a received value lives from the first backward among its readers to the end of
 * the action, and then until it is sent. One without a reader here is the gradient that came. */
static void list_sent_on(template_pass *p)
{
    const lin_graph *graph = &p->split->graph;
    const lin_training *training = p->memory->training;
    if (training == NULL)
        return;
    const lin_moments *moments = &training->schedule;
    int32_t *first = LIN_NEW_ARRAY(&p->whole->scratch, int32_t, graph->objects.count);
    lin_interval *list = LIN_NEW_ARRAY(&p->whole->arena, lin_interval, p->split->received_count);
    for (uint32_t i = 0; i < graph->objects.count; i++)
        first[i] = LIN_NEVER;
    for (uint32_t k = 0; k < graph->steps.count; k++)
        if (training->differentiable[k]) {
            const lin_step *step = &graph->steps.items[k];
            note_reads(p, step->inputs, step->input_count, moments->back[k], first);
            note_reads(p, step->region_reads, step->region_read_count, moments->back[k], first);
        }
    for (uint32_t i = 0; i < p->split->received_count; i++) {
        const lin_passed *passed = &p->split->received[i];
        if (!carries(p, passed) || first[passed->object] == LIN_NEVER)
            continue;
        list[p->of->sent_on_count++] =
            (lin_interval){ .first = first[passed->object],
                            .end = p->of->role.splits_backward ? moments->results_end + 1
                                                               : moments->optimizer,
                            .bytes = passed_bytes(p, passed),
                            .object = passed->object };
    }
    p->of->sent_on = list;
}

linnet_status lin_template_prepare(lin_memory *whole, lin_stage *stage, lin_stage_memory *of,
                                   linnet_error *err)
{
    template_pass p = { .whole = whole, .memory = of->memory, .split = stage->split, .of = of };
    const bool is_last = stage == &whole->pipeline->stages[whole->pipeline->stage_count - 1];
    const lin_expr zero = lin_expr_int(exprs_of(&p), 0);
    for (int i = 0; i < LIN_HELD_COUNT; i++)
        p.held[i] = zero;
    for (int i = 0; i < LIN_FLOW_COUNT; i++)
        p.flow[i] = zero;
    share_intervals(&p);
    sum_held(&p);
    sum_flow(&p, is_last);
    sum_kept_inputs(&p);
    list_sent_on(&p);

    lin_expr *wanted =
        LIN_NEW_ARRAY(&whole->scratch, lin_expr, LIN_FLOW_COUNT + (uint64_t)of->sent_on_count);
    memcpy(wanted, p.flow, sizeof p.flow);
    for (uint32_t i = 0; i < of->sent_on_count; i++)
        wanted[LIN_FLOW_COUNT + i] = of->sent_on[i].bytes;
    for (int i = 0; i < LIN_HELD_COUNT; i++)
        if (p.held[i] == LIN_EXPR_INVALID)
            return lin_pipeline_fail_sum(err);
    for (uint32_t i = 0; i < LIN_FLOW_COUNT + of->sent_on_count; i++)
        if (wanted[i] == LIN_EXPR_INVALID)
            return lin_pipeline_fail_sum(err);
    of->held_program = lin_expr_compile(&whole->arena, exprs_of(&p), p.held, LIN_HELD_COUNT);
    of->flow_program =
        lin_expr_compile(&whole->arena, exprs_of(&p), wanted, LIN_FLOW_COUNT + of->sent_on_count);
    of->flow_values =
        LIN_NEW_ARRAY(&whole->arena, int64_t, LIN_FLOW_COUNT + (uint64_t)of->sent_on_count);
    return LINNET_OK;
}

/* ---- measuring ---- */

/* Changes of live bytes by moment, each one longer than the timeline. */
typedef struct columns {
    int64_t *runs;      /* lives with the micro-batch */
    int64_t *gradients; /* of parameters as the first one makes them */
    int64_t *news;      /* the same of a later one */
} columns;

static void add_span(int64_t *column, int32_t first, int32_t end, int64_t bytes)
{
    if (first >= end)
        return;
    column[first] += bytes;
    column[end] -= bytes;
}

/* Where the parts of a step end. */
typedef struct parts {
    int32_t steps, middle, end;
} parts;

static parts parts_of(const lin_stage_memory *of)
{
    const lin_memory *memory = of->memory;
    const int32_t steps = (int32_t)memory->traced.graph->steps.count;
    if (memory->training == NULL)
        return (parts){ steps, steps, steps };
    const lin_moments *moments = &memory->training->schedule;
    const int32_t middle = of->role.splits_backward ? moments->results_end + 1 : moments->optimizer;
    return (parts){ steps, middle, moments->optimizer };
}

static bool fill_columns(const lin_stage_memory *of, const parts *at, columns *c, lin_template *out)
{
    const lin_timeline *timeline = of->memory->timeline;
    for (uint32_t i = 0; i < lin_timeline_count(timeline); i++) {
        const lin_interval *interval = lin_timeline_interval(timeline, i);
        const lin_share share = (lin_share)of->share[i];
        if (share == LIN_SHARE_HELD || share == LIN_SHARE_INPUT)
            continue;
        const int64_t bytes = lin_timeline_bytes(timeline, of->memory->values, i);
        const int32_t end = interval->end < at->end ? interval->end : at->end;
        if (!lin_add_i64(out->total, bytes, &out->total))
            return false;
        add_span(share == LIN_SHARE_RUNS       ? c->runs
                 : share == LIN_SHARE_GRADIENT ? c->gradients
                                               : c->news,
                 interval->first, end, bytes);
        if (share != LIN_SHARE_RUNS || interval->first >= end)
            continue;
        if (interval->first < at->steps && end > at->steps)
            out->kept += bytes;
        if (interval->first < at->middle && end > at->middle)
            out->kept_for_weights += bytes;
    }
    for (uint32_t i = 0; i < of->sent_on_count; i++) {
        const int64_t bytes = of->flow_values[LIN_FLOW_COUNT + i];
        add_span(c->runs, of->sent_on[i].first, of->sent_on[i].end, bytes);
        if (!lin_add_i64(out->total, bytes, &out->total))
            return false;
    }
    return true;
}

static void raise(lin_inner_peak *peak, int64_t bytes, int32_t moment)
{
    if (bytes > peak->bytes)
        *peak = (lin_inner_peak){ bytes, moment };
}

static void sweep(const parts *at, const columns *c, bool in_parts, lin_template *out)
{
    int64_t runs = 0, gradients = 0, news = 0;
    for (int32_t m = 0; m < at->end; m++) {
        runs += c->runs[m];
        gradients += c->gradients[m];
        news += c->news[m];
        if (m < at->steps) {
            raise(&out->forward, runs, m);
        } else if (!in_parts) {
            raise(&out->backward_first, runs + gradients, m);
            raise(&out->backward_later, runs + news, m);
        } else if (m < at->middle) {
            raise(&out->input, runs, m);
        } else {
            raise(&out->weight_first, runs + gradients, m);
            raise(&out->weight_later, runs + news, m);
        }
    }
}

static linnet_status measure(lin_pipeline *p, lin_stage_memory *of, const int64_t *symbols,
                             lin_template *out, linnet_error *err)
{
    const parts at = parts_of(of);
    columns c = { p->moments, p->moments + p->longest, p->moments + 2 * p->longest };
    if (!lin_expr_run(of->held_program, symbols, p->scratch, out->held, NULL) ||
        !lin_expr_run(of->flow_program, of->memory->symbols, p->scratch, of->flow_values, NULL))
        return lin_pipeline_fail_sum(err);
    memcpy(out->flow, of->flow_values, sizeof out->flow);
    if (p->schedule == NULL)
        return LINNET_OK;
    memset(p->moments, 0, (size_t)(3 * p->longest) * sizeof *p->moments);
    out->total = out->kept = out->kept_for_weights = 0;
    if (!fill_columns(of, &at, &c, out))
        return lin_pipeline_fail_sum(err);
    out->forward = (lin_inner_peak){ 0 };
    sweep(&at, &c, of->role.splits_backward, out);
    return LINNET_OK;
}

/* The forward part is the same in both, so either may fill it. */
linnet_status lin_template_measure(lin_pipeline *pipeline, lin_stage *stage, const int64_t *symbols,
                                   linnet_error *err)
{
    linnet_status status = LINNET_OK;
    stage->sizes = (lin_template){ 0 };
    if (stage->whole.memory != NULL)
        status = measure(pipeline, &stage->whole, symbols, &stage->sizes, err);
    if (status == LINNET_OK && stage->parts.memory != NULL)
        status = measure(pipeline, &stage->parts, symbols, &stage->sizes, err);
    return status;
}

void lin_template_breakdown(const lin_stage_memory *of, int32_t moment, bool first,
                            int64_t out[LIN_CATEGORY_COUNT])
{
    const lin_timeline *timeline = of->memory->timeline;
    memset(out, 0, LIN_CATEGORY_COUNT * sizeof *out);
    for (uint32_t i = 0; i < lin_timeline_count(timeline); i++) {
        const lin_interval *interval = lin_timeline_interval(timeline, i);
        const lin_share share = (lin_share)of->share[i];
        const bool counts = share == LIN_SHARE_RUNS || (share == LIN_SHARE_GRADIENT && first) ||
                            (share == LIN_SHARE_NEW_GRADIENT && !first);
        if (counts && interval->first <= moment && moment < interval->end)
            out[interval->category] += lin_timeline_bytes(timeline, of->memory->values, i);
    }
    for (uint32_t i = 0; i < of->sent_on_count; i++)
        if (of->sent_on[i].first <= moment && moment < of->sent_on[i].end)
            out[LIN_CATEGORY_BACKWARD_TEMPORARIES] += of->flow_values[LIN_FLOW_COUNT + i];
}
