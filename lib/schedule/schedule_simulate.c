/* SPDX-License-Identifier: MIT */

/*
 * When each action runs, and whether it ever does. This is the judge of the generators: it knows
 * nothing of them, only the lists and what an action needs.
 *
 *     forward of stage s        after the forward of s - 1
 *     backward or I of stage s  after the backward or I of s + 1, and the stage's own forward
 *     W of stage s              after its I
 *
 * Each rank works off its list in order: an action starts when the rank is free and what it needs
 * is there. A rank runs until it has to wait; what another rank finishes wakes it. When nobody can
 * run and somebody is not done, that is a deadlock. No clock is needed to order events, as lists
 * are fixed: the start of an action is the largest of two ends. Cost: one visit an action.
 *
 * One time a (stage, micro-batch) is enough. That of the forward is read by the next stage's
 * forward, and the stage's own backward, which replaces it, waits for what follows that.
 */

#include "schedule/spell.h"

const lin_times lin_unit_times = {
    .stages = (const lin_stage_times[]){ { .forward = 1, .backward = 2, .input = 1, .weight = 1 } },
    .stage_count = 1,
    .pair = -1,
};

enum {
    DID_FORWARD = 1 << 0,
    DID_BACKWARD = 1 << 1, /* or the input gradient */
    SENT_FORWARD = 1 << 2,
    SENT_BACKWARD = 1 << 3,
    GOT_FORWARD = 1 << 4, /* the receive was posted */
    GOT_BACKWARD = 1 << 5
};

/* What an action waits for. */
typedef struct wait {
    lin_action_kind kind;
    uint32_t place, microbatch;
} wait;

typedef struct rank_state {
    int64_t clock;
    uint32_t next; /* action */
    bool is_queued;
} rank_state;

typedef struct run {
    const lin_schedule *schedule;
    const lin_times *times;
    lin_rank_time *result;
    lin_action_time *spans; /* of the rank that runs; NULL: not wanted */
    rank_state *ranks;
    int64_t *ends; /* by place * micro-batches + micro-batch */
    uint8_t *facts;
    uint32_t *queue; /* ranks that may go on; a ring with room for all */
    uint32_t first, waiting;
    bool overflows;
} run;

static uint64_t cell_of(const run *s, uint32_t place, uint32_t microbatch)
{
    return (uint64_t)place * s->schedule->direction_microbatches + microbatch;
}

static const lin_stage_times *times_of(const run *s, uint32_t place)
{
    const lin_times *t = s->times;
    return &t->stages[t->stage_count == 1 ? 0 : place % s->schedule->stages];
}

static int64_t duration_of(const run *s, lin_action_kind kind, uint32_t place)
{
    const lin_stage_times *t = times_of(s, place);
    switch (kind) {
    case LIN_ACTION_FORWARD:
        return t->forward;
    case LIN_ACTION_BACKWARD:
        return t->backward;
    case LIN_ACTION_INPUT:
        return t->input;
    case LIN_ACTION_WEIGHT:
        return t->weight;
    default:
        return 0;
    }
}

static int64_t plus(run *s, int64_t a, int64_t b)
{
    int64_t sum = INT64_MAX;
    if (!lin_add_i64(a, b, &sum))
        s->overflows = true;
    return sum;
}

/* ---- what is needed ---- */

static bool needs(const run *s, uint32_t place, uint32_t microbatch, unsigned fact,
                  lin_action_kind kind, wait *out)
{
    if ((s->facts[cell_of(s, place, microbatch)] & fact) != 0)
        return true;
    *out = (wait){ kind, place, microbatch };
    return false;
}

/* A result of `from` on the stage's own rank or another's; the start becomes its end or later. */
static bool arrives(run *s, uint32_t place, uint32_t from, uint32_t microbatch, bool is_forward,
                    int64_t *start, wait *out)
{
    const lin_schedule *schedule = s->schedule;
    const bool is_remote = schedule->rank_of[place] != schedule->rank_of[from];
    const unsigned did = is_forward ? DID_FORWARD : DID_BACKWARD;
    if (is_remote && schedule->has_transfers) {
        if (!needs(s, place, microbatch, is_forward ? GOT_FORWARD : GOT_BACKWARD,
                   is_forward ? LIN_ACTION_RECV_FORWARD : LIN_ACTION_RECV_BACKWARD, out) ||
            !needs(s, from, microbatch, is_forward ? SENT_FORWARD : SENT_BACKWARD,
                   is_forward ? LIN_ACTION_SEND_FORWARD : LIN_ACTION_SEND_BACKWARD, out))
            return false;
    } else if (!needs(s, from, microbatch, did,
                      is_forward ? LIN_ACTION_FORWARD : LIN_ACTION_BACKWARD, out)) {
        return false;
    }
    int64_t end = s->ends[cell_of(s, from, microbatch)];
    if (is_remote)
        end = plus(s, end, s->times->transfer);
    if (end > *start)
        *start = end;
    return true;
}

static bool is_ready(run *s, uint32_t rank, const lin_action *a, int64_t *start, wait *out)
{
    const uint32_t place = lin_action_place(s->schedule, rank, a);
    const uint32_t stage = place % s->schedule->stages;
    switch ((lin_action_kind)a->kind) {
    case LIN_ACTION_FORWARD:
        return stage == 0 || arrives(s, place, place - 1, a->microbatch, true, start, out);
    case LIN_ACTION_BACKWARD:
    case LIN_ACTION_INPUT:
        return needs(s, place, a->microbatch, DID_FORWARD, LIN_ACTION_FORWARD, out) &&
               (stage + 1 == s->schedule->stages ||
                arrives(s, place, place + 1, a->microbatch, false, start, out));
    case LIN_ACTION_WEIGHT:
    case LIN_ACTION_SEND_BACKWARD:
        return needs(s, place, a->microbatch, DID_BACKWARD, LIN_ACTION_INPUT, out);
    case LIN_ACTION_SEND_FORWARD:
        return needs(s, place, a->microbatch, DID_FORWARD, LIN_ACTION_FORWARD, out);
    default:
        return true;
    }
}

/* ---- what follows ---- */

static void wake(run *s, uint32_t rank)
{
    if (s->ranks[rank].is_queued)
        return;
    s->ranks[rank].is_queued = true;
    s->queue[(s->first + s->waiting++) % s->schedule->ranks] = rank;
}

static void wake_neighbour(run *s, uint32_t rank, uint32_t place, bool is_forward)
{
    const uint32_t stage = place % s->schedule->stages;
    if (is_forward ? stage + 1 == s->schedule->stages : stage == 0)
        return;
    const uint32_t other = s->schedule->rank_of[is_forward ? place + 1 : place - 1];
    if (other != rank)
        wake(s, other);
}

static void finish(run *s, uint32_t rank, const lin_action *a, int64_t end)
{
    static const uint8_t facts[LIN_ACTION_COUNT] = {
        [LIN_ACTION_FORWARD] = DID_FORWARD,         [LIN_ACTION_BACKWARD] = DID_BACKWARD,
        [LIN_ACTION_INPUT] = DID_BACKWARD,          [LIN_ACTION_SEND_FORWARD] = SENT_FORWARD,
        [LIN_ACTION_SEND_BACKWARD] = SENT_BACKWARD, [LIN_ACTION_RECV_FORWARD] = GOT_FORWARD,
        [LIN_ACTION_RECV_BACKWARD] = GOT_BACKWARD,
    };
    const uint8_t fact = facts[a->kind];
    if (fact == 0)
        return;
    const uint32_t place = lin_action_place(s->schedule, rank, a);
    const uint64_t cell = cell_of(s, place, a->microbatch);
    s->facts[cell] |= fact;
    if ((fact & (GOT_FORWARD | GOT_BACKWARD)) != 0)
        return;
    s->ends[cell] = end;
    wake_neighbour(s, rank, place, (fact & (DID_FORWARD | SENT_FORWARD)) != 0);
}

/* One action, or the two of a pair, that are ready from `start` on. */
static void perform(run *s, uint32_t rank, uint32_t count, int64_t start)
{
    const lin_action *actions = s->schedule->rank[rank].actions;
    rank_state *state = &s->ranks[rank];
    int64_t duration = 0;
    if (count == 2 && s->times->pair >= 0)
        duration = s->times->pair;
    else
        for (uint32_t i = 0; i < count; i++) {
            const lin_action *a = &actions[state->next + i];
            duration = plus(
                s, duration,
                duration_of(s, (lin_action_kind)a->kind, lin_action_place(s->schedule, rank, a)));
        }
    const int64_t end = plus(s, start, duration);
    for (uint32_t i = 0; i < count; i++) {
        finish(s, rank, &actions[state->next + i], end);
        if (s->spans != NULL)
            s->spans[state->next + i] = (lin_action_time){ start, end };
    }
    s->result[rank].busy = plus(s, s->result[rank].busy, duration);
    state->clock = end;
    state->next += count;
}

/* Runs a rank until it is done or has to wait. */
static void advance(run *s, uint32_t rank, wait *out)
{
    const lin_schedule_rank *r = &s->schedule->rank[rank];
    rank_state *state = &s->ranks[rank];
    s->spans = s->result[rank].spans;
    while (state->next < r->action_count && !s->overflows) {
        const lin_action *a = &r->actions[state->next];
        const uint32_t count = a->overlaps_next ? 2 : 1;
        int64_t start = state->clock;
        if (!is_ready(s, rank, a, &start, out) ||
            (count == 2 && !is_ready(s, rank, a + 1, &start, out)))
            return;
        perform(s, rank, count, start);
    }
}

static void run_all(run *s)
{
    wait ignored;
    for (uint32_t r = 0; r < s->schedule->ranks; r++)
        wake(s, r);
    while (s->waiting > 0) {
        const uint32_t rank = s->queue[s->first];
        s->first = (s->first + 1) % s->schedule->ranks;
        s->waiting--;
        s->ranks[rank].is_queued = false;
        advance(s, rank, &ignored);
    }
}

/* ---- the answer ---- */

static void count_live(const lin_schedule_rank *rank, lin_rank_time *out)
{
    uint32_t until_input = 0, until_weight = 0;
    for (uint32_t i = 0; i < rank->action_count; i++) {
        const uint8_t kind = rank->actions[i].kind;
        until_input += kind == LIN_ACTION_FORWARD;
        until_weight += kind == LIN_ACTION_FORWARD;
        if (until_input > out->live_until_input)
            out->live_until_input = until_input;
        if (until_weight > out->live_until_weight)
            out->live_until_weight = until_weight;
        until_input -= kind == LIN_ACTION_BACKWARD || kind == LIN_ACTION_INPUT;
        until_weight -= kind == LIN_ACTION_BACKWARD || kind == LIN_ACTION_WEIGHT;
    }
}

/* The first rank that is not done says where it stands and for what it waits. */
static linnet_status fail_deadlock(run *s, uint32_t rank, linnet_error *err)
{
    wait missing = { 0 };
    char here[LIN_SPELLED_TEXT], there[LIN_SPELLED_TEXT];
    const uint32_t index = s->ranks[rank].next;
    const lin_action *a = &s->schedule->rank[rank].actions[index];
    advance(s, rank, &missing);
    const uint32_t other = s->schedule->rank_of[missing.place];
    lin_place_show(here, s->schedule, (lin_action_kind)a->kind,
                   lin_action_place(s->schedule, rank, a), a->microbatch);
    lin_place_show(there, s->schedule, missing.kind, missing.place, missing.microbatch);
    if (other == rank)
        return lin_fail(err, LINNET_ERROR_FORMAT,
                        "a deadlock: rank %u, action %u: `%s` waits for `%s`, which comes later on "
                        "the same rank",
                        rank, lin_action_number(s->schedule, rank, index), here, there);
    return lin_fail(err, LINNET_ERROR_FORMAT,
                    "a deadlock: rank %u, action %u: `%s` waits for `%s` of rank %u, which waits "
                    "itself",
                    rank, lin_action_number(s->schedule, rank, index), here, there, other);
}

static linnet_status collect(run *s, lin_simulation *out, linnet_error *err)
{
    const lin_schedule *schedule = s->schedule;
    if (s->overflows)
        return lin_fail(err, LINNET_ERROR_OVERFLOW, "the time of the schedule passes 2^63 - 1");
    for (uint32_t r = 0; r < schedule->ranks; r++)
        if (s->ranks[r].next < schedule->rank[r].action_count)
            return fail_deadlock(s, r, err);
    *out = (lin_simulation){ .rank = s->result };
    for (uint32_t r = 0; r < schedule->ranks; r++) {
        s->result[r].finish = s->ranks[r].clock;
        count_live(&schedule->rank[r], &s->result[r]);
        if (s->result[r].finish > out->makespan)
            out->makespan = s->result[r].finish;
    }
    return LINNET_OK;
}

static bool allocate(run *s, bool want_spans, lin_arena *results, lin_arena *scratch)
{
    const lin_schedule *schedule = s->schedule;
    const uint64_t cells =
        (uint64_t)schedule->stages * schedule->directions * schedule->direction_microbatches;
    s->result = LIN_NEW_ARRAY(results, lin_rank_time, schedule->ranks);
    s->ranks = LIN_NEW_ARRAY(scratch, rank_state, schedule->ranks);
    s->queue = LIN_NEW_ARRAY(scratch, uint32_t, schedule->ranks);
    s->ends = LIN_NEW_ARRAY(scratch, int64_t, cells);
    s->facts = LIN_NEW_ARRAY(scratch, uint8_t, cells);
    if (s->result == NULL || s->ranks == NULL || s->queue == NULL || s->ends == NULL ||
        s->facts == NULL)
        return false;
    for (uint32_t r = 0; want_spans && r < schedule->ranks; r++)
        if ((s->result[r].spans =
                 LIN_NEW_ARRAY(results, lin_action_time, schedule->rank[r].action_count)) == NULL)
            return false;
    return true;
}

linnet_status lin_schedule_simulate(const lin_schedule *schedule, const lin_times *times,
                                    bool want_spans, lin_arena *arena, lin_simulation *out,
                                    linnet_error *err)
{
    run s = { .schedule = schedule, .times = times };
    linnet_status status;
    lin_arena scratch;
    lin_arena_init(&scratch, &arena->allocator);
    jmp_buf *on_failure = arena->on_failure; /* it must not jump past the scratch */
    arena->on_failure = NULL;
    if (allocate(&s, want_spans, arena, &scratch)) {
        run_all(&s);
        status = collect(&s, out, err);
    } else {
        status = lin_fail_memory(err);
    }
    arena->on_failure = on_failure;
    lin_arena_free(&scratch);
    return status;
}
