/* SPDX-License-Identifier: MIT */

#include "judge/pipeline_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where one micro-batch of one slot is. */
typedef enum place {
    NOT_THERE,
    FORWARD,  /* at `moment` */
    WAITS,    /* for its backward */
    BACKWARD, /* at `moment`; of one whole, or of the inputs' part */
    HALF,     /* between the parts of its backward */
    WEIGHTS,  /* at `moment` */
    GONE
} place;

typedef struct batch {
    place place;
    int32_t moment;
    bool in_parts; /* which of the stage's timelines `moment` is of */
    bool first;    /* makes the parameters' gradients, adds to none */
    bool received; /* a buffer of this rank has the values of the stage before */
    bool gradient_in, gradient_out;
    bool kept; /* its results stay (inference) */
} batch;

typedef struct judge {
    lin_memory *memory;
    const lin_pipeline *p;
    const lin_schedule *schedule;
    const lin_schedule_rank *rank;
    uint32_t number;
    batch *batches;      /* by slot and micro-batch */
    bool *has_gradients; /* by slot */
    int64_t most;
} judge;

static batch *batch_of(const judge *j, uint32_t slot, uint32_t microbatch)
{
    return &j->batches[(uint64_t)slot * j->schedule->direction_microbatches + microbatch];
}

static const lin_stage *stage_of(const judge *j, uint32_t slot)
{
    return &j->p->stages[j->rank->slots[slot].stage];
}

static int64_t evaluate(const judge *j, lin_expr e, const int64_t *symbols)
{
    int64_t value = 0;
    if (!lin_expr_evaluate(j->memory->traced.graph->exprs, e, symbols, &value))
        abort();
    return value;
}

/* ---- one micro-batch ---- */

static bool is_persistent(const lin_memory *m, const lin_interval *interval)
{
    return interval->object != UINT32_MAX &&
           m->traced.graph->objects.items[interval->object].persistent &&
           interval->category != LIN_CATEGORY_GRADIENTS &&
           interval->category != LIN_CATEGORY_BACKWARD_TEMPORARIES;
}

/* Bytes of a timeline that belong to one micro-batch. */
static bool belongs(const lin_memory *m, const lin_interval *interval, bool first)
{
    if (is_persistent(m, interval) || interval->category == LIN_CATEGORY_INPUTS ||
        interval->category == LIN_CATEGORY_MASTER_WEIGHTS ||
        interval->category == LIN_CATEGORY_OPTIMIZER_STATES ||
        interval->reason == LIN_REASON_OPTIMIZER_TEMPORARY)
        return false;
    if (interval->category == LIN_CATEGORY_GRADIENTS)
        return first;
    return interval->reason != LIN_REASON_NEW_GRADIENT || !first;
}

static int32_t forward_end(const lin_memory *m)
{
    return (int32_t)m->traced.graph->steps.count;
}

static bool carries(const lin_memory *m, uint32_t object)
{
    return m->training != NULL && m->training->carries[object];
}

static int64_t value_bytes(const judge *j, const lin_memory *m, uint32_t object)
{
    const lin_object *o = &m->traced.graph->objects.items[object];
    return evaluate(j, o->elements, m->symbols) * lin_dtype_bytes(o->dtype);
}

/* The gradients that a backward makes of what its stage received, at a moment of it. */
static int64_t sent_on(const judge *j, const lin_stage *stage, const lin_memory *m, int32_t moment)
{
    const lin_graph *graph = m->traced.graph;
    int64_t sum = 0;
    for (uint32_t i = 0; i < stage->split->received_count; i++) {
        const uint32_t object = stage->split->received[i].object;
        bool made = false;
        for (uint32_t k = 0; k < graph->steps.count && !made; k++) {
            const lin_step *step = &graph->steps.items[k];
            if (!m->training->differentiable[k] || m->training->schedule.back[k] > moment)
                continue;
            for (uint32_t r = 0; r < step->input_count; r++)
                made |= graph->objects.items[step->inputs[r]].owner == object;
        }
        if (made && carries(m, object))
            sum += value_bytes(j, m, object);
    }
    return sum;
}

static int64_t live_at(const judge *j, const lin_stage *stage, const lin_memory *m, int32_t moment,
                       bool first, bool runs_inputs)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < lin_timeline_count(m->timeline); i++) {
        const lin_interval *interval = lin_timeline_interval(m->timeline, i);
        if (belongs(m, interval, first) && interval->first <= moment && moment < interval->end)
            sum += evaluate(j, interval->bytes, m->symbols);
    }
    return sum + (runs_inputs ? sent_on(j, stage, m, moment) : 0);
}

/* What lives across a border of the timeline. */
static int64_t live_across(const judge *j, const lin_memory *m, int32_t border)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < lin_timeline_count(m->timeline); i++) {
        const lin_interval *interval = lin_timeline_interval(m->timeline, i);
        if (interval->category != LIN_CATEGORY_GRADIENTS &&
            interval->reason != LIN_REASON_NEW_GRADIENT && belongs(m, interval, true) &&
            interval->first < border && border < interval->end)
            sum += evaluate(j, interval->bytes, m->symbols);
    }
    return sum;
}

static const lin_memory *timeline_of(const lin_stage *stage, bool in_parts)
{
    return in_parts || stage->whole.memory == NULL ? stage->parts.memory : stage->whole.memory;
}

static int64_t passed_bytes(const judge *j, const lin_stage *stage, const lin_passed *passed,
                            uint32_t count, bool gradients)
{
    const lin_memory *m = timeline_of(stage, false);
    int64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!gradients || carries(m, passed[i].object))
            sum += value_bytes(j, m, passed[i].object);
    return sum;
}

/* Received values that the weights' part of a backward still reads. */
static int64_t kept_inputs(const judge *j, const lin_stage *stage)
{
    const lin_memory *m = stage->parts.memory;
    int64_t sum = 0;
    for (uint32_t i = 0; i < stage->split->received_count; i++)
        for (uint32_t k = 0; k < lin_timeline_count(m->timeline); k++) {
            const lin_interval *interval = lin_timeline_interval(m->timeline, k);
            if (interval->category == LIN_CATEGORY_INPUTS &&
                interval->object == stage->split->received[i].object &&
                interval->end > m->training->schedule.results_end + 1)
                sum += value_bytes(j, m, interval->object);
        }
    return sum;
}

static int64_t results_of(const judge *j, const lin_stage *stage)
{
    const lin_memory *m = timeline_of(stage, false);
    const lin_graph *graph = m->traced.graph;
    int64_t sum = 0;
    for (uint32_t i = 0; i < graph->objects.count; i++) {
        bool leaves = false;
        for (uint32_t k = 0; k < graph->outputs.count; k++)
            leaves |= graph->objects.items[graph->outputs.items[k]].owner == i;
        if (leaves && !graph->objects.items[i].persistent &&
            graph->objects.items[i].producer != LIN_NO_STEP)
            sum += evaluate(j, graph->objects.items[i].bytes, m->symbols);
    }
    return sum;
}

static int64_t bytes_of_batch(const judge *j, uint32_t slot, const batch *b)
{
    const lin_stage *stage = stage_of(j, slot);
    const lin_stage_graph *split = stage->split;
    const lin_memory *m = timeline_of(stage, b->in_parts);
    const bool is_last = j->rank->slots[slot].stage + 1 == j->schedule->stages;
    int64_t sum = 0;
    if (b->received)
        sum += passed_bytes(j, stage, split->received, split->received_count, false);
    if (b->gradient_in && !is_last)
        sum += passed_bytes(j, stage, split->sent, split->sent_count, true);
    if (b->gradient_out)
        sum += passed_bytes(j, stage, split->received, split->received_count, true);
    if (b->kept)
        sum += results_of(j, stage);
    switch (b->place) {
    case FORWARD:
        return sum + live_at(j, stage, m, b->moment, true, false);
    case WAITS:
        return sum + live_across(j, m, forward_end(m));
    case BACKWARD:
        return sum + live_at(j, stage, m, b->moment, b->first, true);
    case HALF:
        return sum + kept_inputs(j, stage) +
               live_across(j, m, m->training->schedule.results_end + 1);
    case WEIGHTS:
        return sum + kept_inputs(j, stage) + live_at(j, stage, m, b->moment, b->first, false);
    default:
        return sum;
    }
}

/* ---- the rank ---- */

/* Weights, states, caches of its stages at the whole step's sizes. */
static int64_t bytes_of_stage(const judge *j, uint32_t slot, bool at_step)
{
    const lin_memory *m = timeline_of(stage_of(j, slot), false);
    const int64_t *symbols = j->memory->symbols;
    int64_t sum = 0;
    for (uint32_t i = 0; i < lin_timeline_count(m->timeline); i++) {
        const lin_interval *interval = lin_timeline_interval(m->timeline, i);
        const bool is_state = interval->category == LIN_CATEGORY_OPTIMIZER_STATES;
        const bool is_temporary = interval->reason == LIN_REASON_OPTIMIZER_TEMPORARY;
        const bool waits = is_state && m->training->settings.is_first_step;
        const bool held = is_persistent(m, interval) || is_state ||
                          interval->category == LIN_CATEGORY_MASTER_WEIGHTS;
        const bool is_gradient = interval->category == LIN_CATEGORY_GRADIENTS;
        if (is_temporary ? at_step
                         : (held && (!waits || at_step)) || (is_gradient && j->has_gradients[slot]))
            sum += evaluate(j, interval->bytes, symbols);
    }
    return sum;
}

static bool reads_input(const judge *j, uint32_t input, uint32_t direction)
{
    for (uint32_t slot = 0; slot < j->rank->slot_count; slot++) {
        const lin_graph *graph = &stage_of(j, slot)->split->graph;
        for (uint32_t i = 0; i < graph->objects.count; i++)
            if (j->rank->slots[slot].direction == direction &&
                stage_of(j, slot)->split->whole_object[i] == input)
                return true;
    }
    return false;
}

static int64_t bytes_of_inputs(const judge *j)
{
    const lin_graph *graph = j->memory->traced.graph;
    int64_t sum = 0;
    for (uint32_t i = graph->parameter_objects; i < graph->objects.count; i++) {
        const lin_object *o = &graph->objects.items[i];
        for (uint32_t d = 0; d < j->schedule->directions && o->producer == LIN_NO_STEP; d++) {
            const bool is_cut = j->p->cut >= 0 && lin_expr_mentions(graph->exprs, o->bytes,
                                                                    graph->role_symbols[j->p->cut]);
            if (reads_input(j, i, d))
                sum += evaluate(j, o->bytes, j->memory->symbols) /
                       (is_cut ? j->schedule->directions : 1);
        }
    }
    return sum;
}

static int64_t count_all(const judge *j, bool at_step)
{
    int64_t sum = bytes_of_inputs(j);
    for (uint32_t slot = 0; slot < j->rank->slot_count; slot++) {
        sum += bytes_of_stage(j, slot, at_step);
        for (uint32_t b = 0; b < j->schedule->direction_microbatches; b++)
            sum += bytes_of_batch(j, slot, batch_of(j, slot, b));
    }
    return sum;
}

static void observe(judge *j, int64_t bytes)
{
    j->most = bytes > j->most ? bytes : j->most;
}

/* ---- actions ---- */

typedef struct span {
    int32_t first, end;
} span;

/* The moments that an action walks through. */
static span begin_pass(judge *j, const lin_action *a)
{
    batch *b = batch_of(j, a->slot, a->microbatch);
    const lin_stage *stage = stage_of(j, a->slot);
    b->first = !j->has_gradients[a->slot];
    if (a->kind == LIN_ACTION_FORWARD) {
        b->place = FORWARD;
        return (span){ 0, forward_end(timeline_of(stage, false)) };
    }
    b->in_parts = a->kind != LIN_ACTION_BACKWARD;
    const lin_memory *m = timeline_of(stage, b->in_parts);
    const lin_moments *moments = &m->training->schedule;
    b->place = a->kind == LIN_ACTION_WEIGHT ? WEIGHTS : BACKWARD;
    if (a->kind == LIN_ACTION_BACKWARD)
        return (span){ forward_end(m), moments->optimizer };
    return a->kind == LIN_ACTION_INPUT ? (span){ forward_end(m), moments->results_end + 1 }
                                       : (span){ moments->results_end + 1, moments->optimizer };
}

static bool same_rank(const judge *j, uint32_t slot, uint32_t *out_before)
{
    const lin_slot *s = &j->rank->slots[slot];
    if (s->stage == 0)
        return false;
    const uint32_t at = s->direction * j->schedule->stages + s->stage - 1;
    *out_before = j->schedule->slot_of[at];
    return j->schedule->rank_of[at] == j->number;
}

static void end_pass(judge *j, const lin_action *a)
{
    batch *b = batch_of(j, a->slot, a->microbatch);
    uint32_t before;
    if (a->kind == LIN_ACTION_FORWARD) {
        b->place = j->memory->training != NULL ? WAITS : GONE;
        b->kept = j->memory->training == NULL;
        return;
    }
    if (a->kind != LIN_ACTION_INPUT)
        j->has_gradients[a->slot] = true;
    b->place = a->kind == LIN_ACTION_INPUT ? HALF : GONE;
    if (a->kind == LIN_ACTION_WEIGHT)
        return;
    b->received = b->gradient_in = false;
    if (same_rank(j, a->slot, &before))
        batch_of(j, before, a->microbatch)->gradient_in = true;
    else
        b->gradient_out = j->rank->slots[a->slot].stage > 0;
}

static void run_one(judge *j, const lin_action *a)
{
    batch *b = batch_of(j, a->slot, a->microbatch);
    const place before = b->place;
    const span moments = begin_pass(j, a);
    const place running = b->place;
    b->place = NOT_THERE;
    const int64_t rest = count_all(j, false) - bytes_of_batch(j, a->slot, b);
    (void)before;
    b->place = running;
    for (b->moment = moments.first; b->moment < moments.end; b->moment++)
        observe(j, rest + bytes_of_batch(j, a->slot, b));
    end_pass(j, a);
    observe(j, count_all(j, false));
}

/* Nothing says how the kernels of a pair interleave: any moment of one beside any of the other. */
static void run_pair(judge *j, const lin_action *a)
{
    batch *f = batch_of(j, a[0].slot, a[0].microbatch);
    batch *b = batch_of(j, a[1].slot, a[1].microbatch);
    const span forward = begin_pass(j, &a[0]);
    const span backward = begin_pass(j, &a[1]);
    const place place_b = b->place;
    f->place = b->place = NOT_THERE;
    const int64_t rest =
        count_all(j, false) - bytes_of_batch(j, a[0].slot, f) - bytes_of_batch(j, a[1].slot, b);
    f->place = FORWARD;
    b->place = place_b;
    int64_t *inside = malloc((size_t)(backward.end - backward.first) * sizeof *inside);
    if (inside == NULL)
        abort();
    for (b->moment = backward.first; b->moment < backward.end; b->moment++)
        inside[b->moment - backward.first] = bytes_of_batch(j, a[1].slot, b);
    for (f->moment = forward.first; f->moment < forward.end; f->moment++) {
        const int64_t own = bytes_of_batch(j, a[0].slot, f);
        for (int32_t m = backward.first; m < backward.end; m++)
            observe(j, rest + own + inside[m - backward.first]);
    }
    free(inside);
    end_pass(j, &a[0]);
    end_pass(j, &a[1]);
    observe(j, count_all(j, false));
}

static void transfer(judge *j, const lin_action *a)
{
    batch *b = batch_of(j, a->slot, a->microbatch);
    if (a->kind == LIN_ACTION_RECV_FORWARD)
        b->received = true;
    if (a->kind == LIN_ACTION_RECV_BACKWARD)
        b->gradient_in = true;
    if (a->kind == LIN_ACTION_SEND_BACKWARD)
        b->gradient_out = false;
    observe(j, count_all(j, false));
}

static void finish(judge *j)
{
    if (j->memory->training != NULL) {
        observe(j, count_all(j, true));
        return;
    }
    for (uint32_t slot = 0; slot < j->rank->slot_count; slot++) {
        const lin_stage *stage = stage_of(j, slot);
        const int64_t count = j->schedule->direction_microbatches;
        if (j->rank->slots[slot].stage + 1 == j->schedule->stages && count > 1)
            observe(j, count_all(j, false) + count * passed_bytes(j, stage, stage->split->sent,
                                                                  stage->split->sent_count, false));
    }
}

static int64_t expand(judge *j)
{
    observe(j, count_all(j, false));
    for (uint32_t i = 0; i < j->rank->action_count; i++) {
        const lin_action *a = &j->rank->actions[i];
        if (a->kind > LIN_ACTION_WEIGHT) {
            if (a->kind <= LIN_ACTION_RECV_BACKWARD)
                transfer(j, a);
            continue;
        }
        if (a->overlaps_next)
            run_pair(j, &j->rank->actions[i++]);
        else
            run_one(j, a);
    }
    finish(j);
    return j->most;
}

bool judge_pipeline_events(lin_memory *memory, char why[JUDGE_EVENTS_WHY])
{
    const lin_pipeline *p = memory->pipeline;
    for (uint32_t r = 0; r < p->schedule->ranks; r++) {
        judge j = { .memory = memory,
                    .p = p,
                    .schedule = p->schedule,
                    .rank = &p->schedule->rank[r],
                    .number = r };
        const uint64_t batches = (uint64_t)j.rank->slot_count * p->schedule->direction_microbatches;
        j.batches = calloc((size_t)batches + 1, sizeof *j.batches);
        j.has_gradients = calloc((size_t)j.rank->slot_count + 1, sizeof *j.has_gradients);
        if (j.batches == NULL || j.has_gradients == NULL)
            abort();
        const int64_t counted = expand(&j);
        free(j.batches);
        free(j.has_gradients);
        if (counted != p->peaks[r].bytes) {
            snprintf(why, JUDGE_EVENTS_WHY,
                     "rank %u of schedule %s: the replay says %" PRId64 ", counted %" PRId64, r,
                     p->schedule->name, p->peaks[r].bytes, counted);
            return false;
        }
    }
    return true;
}
