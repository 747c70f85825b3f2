/* SPDX-License-Identifier: MIT */

/*
 * A rank along its actions. Every action has a peak inside and leaves something behind, both of
 * which its stage's template knows, so a rank costs its actions and nothing more:
 *
 *     action             inside                       leaves
 *     receive forward                                 + received
 *     forward            template.forward             + kept
 *     receive backward                                + gradient of what was sent
 *     backward           template.backward            - kept - received - that gradient
 *                                                     + gradient of what was received
 *                                                     + gradients of parameters, the first time
 *     inputs' part       template.input               the same with kept_for_weights in place of
 *                                                     the parameters' gradients
 *     weights' part      template.weight              - kept_for_weights, + gradients
 *     send backward                                   - gradient of what was received
 *     step               optimizer's temporaries
 *
 * In inference a forward leaves its results, and those and what was received stay to the end of the
 * step, as PyTorch's runtime keeps them; there the results are joined.
 *
 * Of two stages next to each other on one rank the later reads the earlier one's result where it
 * is, and hands its gradient over. A forward that overlaps a backward has the peaks of both at
 * once, since nothing says how their kernels interleave.
 *
 * Where this differs from the published closed forms (tracing.md 11.3):
 *
 *     - buffers are there from a receive to the action that uses them, not M of each for the whole
 *       step, as PyTorch's runtime makes them when it starts (k3-experiment.md 3: eager and lazy);
 *     - a micro-batch that waits holds what outlives its forward, not what its last step reads and
 *       frees as well;
 *     - inputs of the entry are there once, whole, not with each micro-batch in flight;
 *     - a later micro-batch's gradient of a parameter is made beside the sum it is added to;
 *     - the first micro-batch's gradients appear as its backward makes them, so a peak before that
 *       has none;
 *     - caches and states are whole when the batch is cut.
 *
 * Cost: twice linear in the actions: once for the peak, once more up to it for its parts.
 */

#include "memory/pipeline.h"

#include <string.h>

/* What runs inside an action. */
typedef enum part {
    PART_FORWARD,
    PART_BACKWARD,
    PART_INPUT,
    PART_WEIGHT,
    PART_STEP,
    PART_JOIN,
    PART_NONE /* between actions */
} part;

typedef struct running {
    part part;
    uint32_t slot;
    bool first; /* gradients of parameters are made, not added */
    lin_inner_peak inner;
} running;

typedef struct replay {
    const lin_memory *memory;
    lin_pipeline *p;
    const lin_schedule_rank *rank;
    uint32_t number; /* of the rank */
    uint32_t action; /* the present one */
    int64_t inputs;  /* of the entry, for all micro-batches */
    int64_t total;   /* what is always there, and what waits in slots */
    int64_t most;
    int64_t note, most_note;  /* notes taken, and the first with the most */
    lin_device_peak *filling; /* NULL: look for the peak */
} replay;

static const lin_slot *slot_at(const replay *r, uint32_t slot)
{
    return &r->rank->slots[slot];
}

static const lin_stage *stage_at(const replay *r, uint32_t slot)
{
    return &r->p->stages[slot_at(r, slot)->stage];
}

static const lin_template *sizes_at(const replay *r, uint32_t slot)
{
    return &stage_at(r, slot)->sizes;
}

/* The slot of the stage before (or after) it, where that is on this rank too. */
static bool neighbour(const replay *r, uint32_t slot, int step, uint32_t *out)
{
    const lin_schedule *schedule = r->p->schedule;
    const lin_slot *s = slot_at(r, slot);
    if (step < 0 ? s->stage == 0 : s->stage + 1 == schedule->stages)
        return false;
    const uint32_t place =
        s->direction * schedule->stages + (step < 0 ? s->stage - 1 : s->stage + 1);
    *out = schedule->slot_of[place];
    return schedule->rank_of[place] == r->number;
}

static bool is_last_stage(const replay *r, uint32_t slot)
{
    return slot_at(r, slot)->stage + 1 == r->p->schedule->stages;
}

static const lin_stage_memory *memory_of(const replay *r, const running *run)
{
    const lin_stage *stage = stage_at(r, run->slot);
    const bool in_parts =
        run->part == PART_INPUT || run->part == PART_WEIGHT || stage->whole.memory == NULL;
    return in_parts ? &stage->parts : &stage->whole;
}

/* ---- the parts of a peak ---- */

static bool makes_states(const replay *r)
{
    return r->memory->training != NULL && r->memory->training->settings.is_first_step;
}

static void fill_slot(const replay *r, uint32_t slot, lin_device_peak *peak)
{
    const lin_template *t = sizes_at(r, slot);
    const lin_slot_state *s = &r->p->slots[slot];
    const bool states_wait = makes_states(r);
    peak->parts[LIN_CATEGORY_PARAMETERS] += t->held[LIN_HELD_PARAMETERS];
    peak->parts[LIN_CATEGORY_MASTER_WEIGHTS] += t->held[LIN_HELD_MASTERS];
    peak->parts[LIN_CATEGORY_OPTIMIZER_STATES] += states_wait ? 0 : t->held[LIN_HELD_STATES];
    peak->parts[LIN_CATEGORY_BUFFERS] += t->held[LIN_HELD_BUFFERS];
    peak->parts[LIN_CATEGORY_STATE] += t->held[LIN_HELD_STATE];
    peak->parts[LIN_CATEGORY_KV_CACHE] += t->held[LIN_HELD_CACHES];
    peak->parts[LIN_CATEGORY_COMMUNICATION] += t->held[LIN_HELD_GATHERED];
    peak->parts[LIN_CATEGORY_GRADIENTS] += s->has_gradients ? t->held[LIN_HELD_GRADIENTS] : 0;
    peak->declared_caches += t->held[LIN_HELD_DECLARED_CACHES];
    peak->elements += t->held[LIN_HELD_PARAMETER_ELEMENTS];
    peak->trained += t->held[LIN_HELD_TRAINED_ELEMENTS];
    peak->flight += s->flight * t->kept + s->halves * t->kept_for_weights +
                    s->results * t->flow[LIN_FLOW_RESULTS];
    peak->buffers += s->received * t->flow[LIN_FLOW_RECEIVED] +
                     s->halves * t->flow[LIN_FLOW_RECEIVED_KEPT] +
                     s->gradient_in * t->flow[LIN_FLOW_SENT_GRADIENT] +
                     s->gradient_out * t->flow[LIN_FLOW_RECEIVED_GRADIENT];
}

static void fill_step(const replay *r, lin_device_peak *peak)
{
    for (uint32_t slot = 0; slot < r->rank->slot_count; slot++) {
        const int64_t *held = sizes_at(r, slot)->held;
        peak->parts[LIN_CATEGORY_WORKSPACE] += held[LIN_HELD_TEMPORARIES];
        peak->parts[LIN_CATEGORY_OPTIMIZER_STATES] += makes_states(r) ? held[LIN_HELD_STATES] : 0;
    }
}

/* What runs is not what waits. */
static void fill_running(const replay *r, const running *run, lin_device_peak *peak)
{
    if (run->part == PART_NONE)
        return;
    const lin_template *t = sizes_at(r, run->slot);
    if (run->part == PART_JOIN) {
        peak->joined += run->inner.bytes;
        return;
    }
    if (run->part == PART_STEP) {
        fill_step(r, peak);
        return;
    }
    int64_t inside[LIN_CATEGORY_COUNT];
    lin_template_breakdown(memory_of(r, run), run->inner.moment, run->first, inside);
    for (lin_category c = 0; c < LIN_CATEGORY_COUNT; c++)
        peak->parts[c] += inside[c];
    if (run->part == PART_BACKWARD || run->part == PART_INPUT)
        peak->flight -= t->kept;
    if (run->part == PART_WEIGHT)
        peak->flight -= t->kept_for_weights;
}

static void fill_place(const replay *r, const running *run, lin_device_peak *peak)
{
    peak->action = r->action;
    peak->stage = slot_at(r, run->slot)->stage;
    peak->microbatch = UINT32_MAX;
    peak->moment = -1;
    peak->where = run->part == PART_STEP   ? "the optimizer step"
                  : run->part == PART_JOIN ? "joining the results"
                                           : "between two actions";
    if (run->part > PART_WEIGHT)
        return;
    peak->microbatch = r->rank->actions[r->action].microbatch;
    peak->in_parts = memory_of(r, run) == &stage_at(r, run->slot)->parts;
    peak->moment = run->inner.moment;
}

static void fill_peak(const replay *r, const running *runs, uint32_t count)
{
    lin_device_peak *peak = r->filling;
    *peak = (lin_device_peak){ 0 };
    peak->parts[LIN_CATEGORY_INPUTS] = r->inputs;
    for (uint32_t slot = 0; slot < r->rank->slot_count; slot++)
        fill_slot(r, slot, peak);
    for (uint32_t i = 0; i < count; i++)
        fill_running(r, &runs[i], peak);
    fill_place(r, &runs[count - 1], peak);
}

/* Notes what lives now. `bytes` beside the total; no overflow: the rank's bound was checked. */
static void note(replay *r, int64_t bytes, const running *runs, uint32_t count)
{
    if (r->filling == NULL && r->total + bytes > r->most) {
        r->most = r->total + bytes;
        r->most_note = r->note;
    }
    if (r->filling != NULL && r->note == r->most_note)
        fill_peak(r, runs, count);
    r->note++;
}

static void note_between(replay *r, uint32_t slot)
{
    const running nothing = { .part = PART_NONE, .slot = slot };
    note(r, 0, &nothing, 1);
}

/* ---- actions ---- */

/* What an action runs, and how much more than the total lives at the worst moment of it. */
static running run_of(const replay *r, const lin_action *a, int64_t *out_more)
{
    const lin_template *t = sizes_at(r, a->slot);
    const bool first = !r->p->slots[a->slot].has_gradients;
    running run = { .slot = a->slot, .first = first };
    int64_t waited = 0;
    switch (a->kind) {
    case LIN_ACTION_FORWARD:
        run.part = PART_FORWARD;
        run.inner = t->forward;
        break;
    case LIN_ACTION_BACKWARD:
        run.part = PART_BACKWARD;
        run.inner = first ? t->backward_first : t->backward_later;
        waited = t->kept;
        break;
    case LIN_ACTION_INPUT:
        run.part = PART_INPUT;
        run.inner = t->input;
        waited = t->kept;
        break;
    default:
        run.part = PART_WEIGHT;
        run.inner = first ? t->weight_first : t->weight_later;
        waited = t->kept_for_weights;
        break;
    }
    *out_more = run.inner.bytes - waited;
    return run;
}

static void end_forward(replay *r, uint32_t slot)
{
    const lin_template *t = sizes_at(r, slot);
    lin_slot_state *s = &r->p->slots[slot];
    if (r->memory->training != NULL) {
        s->flight++;
        r->total += t->kept;
        return;
    }
    s->results++;
    r->total += t->flow[LIN_FLOW_RESULTS];
}

static void make_gradients(replay *r, uint32_t slot)
{
    lin_slot_state *s = &r->p->slots[slot];
    if (!s->has_gradients)
        r->total += sizes_at(r, slot)->held[LIN_HELD_GRADIENTS];
    s->has_gradients = true;
}

/* Values and gradients that passed to a backward, whole or its inputs' part, and on from it. */
static void end_backward(replay *r, uint32_t slot)
{
    const lin_template *t = sizes_at(r, slot);
    lin_slot_state *s = &r->p->slots[slot];
    uint32_t before;
    s->flight--;
    r->total -= t->kept;
    if (!is_last_stage(r, slot)) {
        s->gradient_in--;
        r->total -= t->flow[LIN_FLOW_SENT_GRADIENT];
    }
    if (neighbour(r, slot, -1, &before)) {
        r->p->slots[before].gradient_in++;
        r->total += sizes_at(r, before)->flow[LIN_FLOW_SENT_GRADIENT];
    } else if (slot_at(r, slot)->stage > 0) {
        s->received--;
        s->gradient_out++;
        r->total += t->flow[LIN_FLOW_RECEIVED_GRADIENT] - t->flow[LIN_FLOW_RECEIVED];
    }
}

static void end_pass(replay *r, const lin_action *a)
{
    const lin_template *t = sizes_at(r, a->slot);
    lin_slot_state *s = &r->p->slots[a->slot];
    const int64_t half = t->kept_for_weights + t->flow[LIN_FLOW_RECEIVED_KEPT];
    switch (a->kind) {
    case LIN_ACTION_FORWARD:
        end_forward(r, a->slot);
        break;
    case LIN_ACTION_BACKWARD:
        end_backward(r, a->slot);
        make_gradients(r, a->slot);
        break;
    case LIN_ACTION_INPUT:
        end_backward(r, a->slot);
        s->halves++;
        r->total += half;
        break;
    default:
        s->halves--;
        r->total -= half;
        make_gradients(r, a->slot);
        break;
    }
    note_between(r, a->slot);
}

/* A pass, or the two of an overlapped pair; how many. */
static uint32_t run_passes(replay *r, const lin_action *a)
{
    int64_t more = 0, other = 0;
    running runs[2] = { run_of(r, a, &more) };
    note(r, more, runs, 1);
    if (!a->overlaps_next) {
        end_pass(r, a);
        return 1;
    }
    runs[1] = run_of(r, a + 1, &other);
    r->action++;
    note(r, more + other, runs, 2);
    end_pass(r, a);
    runs[1] = run_of(r, a + 1, &other);
    note(r, other, &runs[1], 1);
    end_pass(r, a + 1);
    r->action--;
    return 2;
}

static void change(replay *r, const lin_action *a, int64_t *count, int by, int64_t bytes)
{
    *count += by;
    r->total += by * bytes;
    note_between(r, a->slot);
}

static void run_transfer(replay *r, const lin_action *a)
{
    const int64_t *flow = sizes_at(r, a->slot)->flow;
    lin_slot_state *s = &r->p->slots[a->slot];
    switch (a->kind) {
    case LIN_ACTION_RECV_FORWARD:
        change(r, a, &s->received, 1, flow[LIN_FLOW_RECEIVED]);
        break;
    case LIN_ACTION_RECV_BACKWARD:
        change(r, a, &s->gradient_in, 1, flow[LIN_FLOW_SENT_GRADIENT]);
        break;
    case LIN_ACTION_SEND_BACKWARD:
        change(r, a, &s->gradient_out, -1, flow[LIN_FLOW_RECEIVED_GRADIENT]);
        break;
    default:
        break;
    }
}

/* ---- a rank ---- */

static void run_step(replay *r)
{
    const running step = { .part = PART_STEP };
    int64_t more = 0;
    for (uint32_t slot = 0; slot < r->rank->slot_count; slot++) {
        const int64_t *held = sizes_at(r, slot)->held;
        more += held[LIN_HELD_TEMPORARIES] + (makes_states(r) ? held[LIN_HELD_STATES] : 0);
    }
    note(r, more, &step, 1);
}

/* Results of all micro-batches, and one tensor of them all. */
static void join_results(replay *r)
{
    for (uint32_t slot = 0; slot < r->rank->slot_count; slot++) {
        const int64_t count = r->p->schedule->direction_microbatches;
        if (!is_last_stage(r, slot) || count < 2)
            continue;
        const running join = { .part = PART_JOIN,
                               .slot = slot,
                               .inner = { count * sizes_at(r, slot)->flow[LIN_FLOW_SENT], -1 } };
        note(r, join.inner.bytes, &join, 1);
    }
}

static int64_t held_by(const replay *r, const lin_template *t)
{
    return t->held[LIN_HELD_PARAMETERS] + t->held[LIN_HELD_MASTERS] + t->held[LIN_HELD_BUFFERS] +
           t->held[LIN_HELD_STATE] + t->held[LIN_HELD_CACHES] + t->held[LIN_HELD_GATHERED] +
           (makes_states(r) ? 0 : t->held[LIN_HELD_STATES]);
}

static void begin(replay *r)
{
    memset(r->p->slots, 0, r->rank->slot_count * sizeof *r->p->slots);
    r->note = 0;
    r->total = r->inputs;
    for (uint32_t slot = 0; slot < r->rank->slot_count; slot++)
        r->total += held_by(r, sizes_at(r, slot));
}

/* All actions. A schedule that was read may end without the optimizer's step: it comes anyway. */
static void walk(replay *r)
{
    begin(r);
    r->action = 0;
    if (r->rank->slot_count == 0)
        return;
    note_between(r, 0);
    while (r->action < r->rank->action_count) {
        const lin_action *a = &r->rank->actions[r->action];
        uint32_t count = 1;
        if (a->kind <= LIN_ACTION_WEIGHT)
            count = run_passes(r, a);
        else
            run_transfer(r, a);
        r->action += count;
    }
    r->action = r->rank->action_count > 0 ? r->rank->action_count - 1 : 0;
    if (r->memory->training != NULL)
        run_step(r);
    else
        join_results(r);
}

/* More than any sum of the rank: every micro-batch at its worst in every slot, at once. */
static bool is_bounded(const replay *r)
{
    int64_t bound = r->inputs;
    const int64_t times = (int64_t)r->p->schedule->direction_microbatches + 2;
    for (uint32_t slot = 0; slot < r->rank->slot_count; slot++) {
        const lin_template *t = sizes_at(r, slot);
        int64_t each = t->total;
        for (int i = 0; i < LIN_HELD_PARAMETER_ELEMENTS; i++)
            if (!lin_add_i64(bound, t->held[i], &bound))
                return false;
        for (int i = 0; i < LIN_FLOW_COUNT; i++)
            if (!lin_add_i64(each, t->flow[i], &each))
                return false;
        if (!lin_mul_i64(each, times, &each) || !lin_add_i64(bound, each, &bound))
            return false;
    }
    return true;
}

static bool sum_inputs(replay *r)
{
    const lin_rank_inputs *inputs = &r->p->inputs[r->number];
    for (uint32_t i = 0; i < inputs->count; i++)
        if (!lin_add_i64(r->inputs, r->p->input_bytes[inputs->objects[i]], &r->inputs))
            return false;
    return true;
}

static bool replay_rank(lin_memory *memory, uint32_t number)
{
    lin_pipeline *p = memory->pipeline;
    replay r = { .memory = memory, .p = p, .rank = &p->schedule->rank[number], .number = number };
    r.most = -1;
    p->peaks[number] = (lin_device_peak){ .moment = -1 };
    if (!sum_inputs(&r) || !is_bounded(&r))
        return false;
    walk(&r);
    r.filling = &p->peaks[number];
    walk(&r);
    return lin_pipeline_add_up(&p->peaks[number]);
}

linnet_status lin_pipeline_replay(lin_memory *memory, linnet_error *err)
{
    lin_pipeline *p = memory->pipeline;
    if (!lin_expr_run(p->input_program, memory->symbols, p->input_scratch, p->input_bytes, NULL))
        return lin_pipeline_fail_sum(err);
    for (uint32_t r = 0; r < p->schedule->ranks; r++)
        if (!replay_rank(memory, r))
            return lin_pipeline_fail_sum(err);
    return LINNET_OK;
}
