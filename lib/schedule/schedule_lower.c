/* SPDX-License-Identifier: MIT */

/*
 * Communication as actions, in the order of PyTorch's pipelining runtime: a rank's stages are
 * unsharded ahead of their use and resharded when others come first, gradients are reduced after
 * the last backward, and each result that another rank waits for is sent right after it is made. A
 * receive is posted as early as the sender's order allows, not where it is needed, so several can
 * be under way at once.
 *
 *     rank 0   0UNSHARD 0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1 0REDUCE_GRAD 0RESHARD
 *     rank 1   1UNSHARD 1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1B1 1SEND_B1 ...
 *
 * First each rank alone (shards, reductions), then all together: ranks take turns in ascending
 * order, one action a turn, and what is emitted puts a receive into another rank's list. Cost:
 * linear in the actions, times the stages of a rank for the look-ahead.
 */

#include "schedule/spell.h"
#include <setjmp.h>
#include <string.h>

/* One rank's list while it is made. */
typedef struct list {
    lin_action *items;
    uint32_t count;
} list;

typedef struct lowering {
    const lin_schedule *from;
    const lin_lowering *settings;
    lin_arena *scratch;
} lowering;

static bool is_pass(uint8_t kind)
{
    return kind <= LIN_ACTION_WEIGHT;
}

static void add(list *l, lin_action_kind kind, uint32_t slot)
{
    l->items[l->count++] = (lin_action){ .kind = (uint8_t)kind, .slot = (uint16_t)slot };
}

/* ---- shards: the next stages to be used are held, at most `active_stages` ---- */

typedef struct shards {
    const lin_schedule_rank *rank;
    uint32_t *next_same; /* by action: the next one of the same slot; action_count: none */
    uint32_t *next_use;  /* by slot, from the present action on */
    bool *active, *wanted;
    uint32_t *order; /* the wanted slots by first use */
    uint32_t order_count;
} shards;

static void shards_init(shards *s, lin_arena *scratch, const lin_schedule_rank *rank)
{
    const uint32_t n = rank->action_count, slots = rank->slot_count;
    *s = (shards){ .rank = rank,
                   .next_same = LIN_NEW_ARRAY(scratch, uint32_t, n),
                   .next_use = LIN_NEW_ARRAY(scratch, uint32_t, slots),
                   .active = LIN_NEW_ARRAY(scratch, bool, slots),
                   .wanted = LIN_NEW_ARRAY(scratch, bool, slots),
                   .order = LIN_NEW_ARRAY(scratch, uint32_t, slots) };
    for (uint32_t i = 0; i < slots; i++)
        s->next_use[i] = n;
    for (uint32_t i = n; i-- > 0;) {
        s->next_same[i] = s->next_use[rank->actions[i].slot];
        s->next_use[rank->actions[i].slot] = i;
    }
}

/* The first distinct slots from here on. */
static void shards_want(shards *s, uint32_t most)
{
    const uint32_t end = s->rank->action_count;
    memset(s->wanted, 0, s->rank->slot_count * sizeof *s->wanted);
    s->order_count = 0;
    while (s->order_count < most) {
        uint32_t best = 0;
        bool found = false;
        for (uint32_t i = 0; i < s->rank->slot_count; i++)
            if (!s->wanted[i] && s->next_use[i] < end &&
                (!found || s->next_use[i] < s->next_use[best])) {
                best = i;
                found = true;
            }
        if (!found)
            return;
        s->wanted[best] = true;
        s->order[s->order_count++] = best;
    }
}

static void shards_reshard(shards *s, list *out)
{
    for (uint32_t i = 0; i < s->rank->slot_count; i++)
        if (s->active[i] && !s->wanted[i]) {
            add(out, LIN_ACTION_RESHARD, i);
            s->active[i] = false;
        }
}

static void shards_before(shards *s, uint32_t most, list *out)
{
    shards_want(s, most);
    shards_reshard(s, out);
    for (uint32_t i = 0; i < s->order_count; i++)
        if (!s->active[s->order[i]]) {
            add(out, LIN_ACTION_UNSHARD, s->order[i]);
            s->active[s->order[i]] = true;
        }
}

/* ---- one rank alone ---- */

/* Each action may be preceded by one exchange of stages at most. */
static uint64_t most_alone(const lin_schedule_rank *rank)
{
    return 3 * (uint64_t)rank->action_count + 4 * (uint64_t)rank->slot_count + 1;
}

static uint32_t most_active(const lowering *l, const lin_action *a)
{
    const uint32_t most = l->settings->active_stages;
    return a->overlaps_next && most < 2 ? 2 : most;
}

static void lower_alone(const lowering *l, uint32_t rank, list *out)
{
    const lin_schedule_rank *r = &l->from->rank[rank];
    const bool has_shards = l->settings->active_stages != 0;
    uint32_t *ended = LIN_NEW_ARRAY(l->scratch, uint32_t, r->slot_count);
    shards s = { 0 };
    if (has_shards)
        shards_init(&s, l->scratch, r);
    for (uint32_t i = 0; i < r->action_count; i++) {
        const lin_action *a = &r->actions[i];
        /* Both stages of a pair are there before it begins. */
        if (has_shards && (i == 0 || !a[-1].overlaps_next))
            shards_before(&s, most_active(l, a), out);
        out->items[out->count++] = *a;
        if (has_shards)
            s.next_use[a->slot] = s.next_same[i];
        ended[a->slot] += a->kind == LIN_ACTION_BACKWARD || a->kind == LIN_ACTION_WEIGHT;
        if (l->settings->reduce && a->kind != LIN_ACTION_FORWARD && a->kind != LIN_ACTION_INPUT &&
            ended[a->slot] == l->from->direction_microbatches)
            add(out, LIN_ACTION_REDUCE, a->slot);
    }
    if (has_shards) {
        memset(s.wanted, 0, r->slot_count * sizeof *s.wanted);
        shards_reshard(&s, out);
    }
    if (l->settings->step)
        add(out, LIN_ACTION_STEP, 0);
}

/* ---- all together ---- */

enum { DID_FORWARD = 1 << 0, DID_BACKWARD = 1 << 1, GOT_FORWARD = 1 << 2, GOT_BACKWARD = 1 << 3 };

typedef struct exchange {
    const lin_schedule *from;
    const list *alone; /* by rank */
    list *out;
    uint32_t *next; /* by rank: of the alone list */
    uint8_t *facts; /* by place * micro-batches + micro-batch */
} exchange;

static uint8_t *fact(const exchange *x, uint32_t place, uint32_t microbatch)
{
    return &x->facts[(uint64_t)place * x->from->direction_microbatches + microbatch];
}

/* The place whose result an action reads, or its reader's, when `forward` looks that way; false at
 * either end of the pipeline. */
static bool neighbour(const exchange *x, uint32_t place, bool next, uint32_t *out)
{
    const uint32_t stage = place % x->from->stages;
    if (next ? stage + 1 == x->from->stages : stage == 0)
        return false;
    *out = next ? place + 1 : place - 1;
    return true;
}

static bool is_ready(const exchange *x, uint32_t rank, const lin_action *a)
{
    const bool is_forward = a->kind == LIN_ACTION_FORWARD;
    const uint32_t place = lin_action_place(x->from, rank, a);
    uint32_t source;
    if (a->kind > LIN_ACTION_INPUT || !neighbour(x, place, !is_forward, &source))
        return true;
    if (x->from->rank_of[source] == rank)
        return (*fact(x, source, a->microbatch) & (is_forward ? DID_FORWARD : DID_BACKWARD)) != 0;
    return (*fact(x, place, a->microbatch) & (is_forward ? GOT_FORWARD : GOT_BACKWARD)) != 0;
}

/* Sends the result of a pass to the rank that waits for it, where that is another. */
static void send_result(exchange *x, uint32_t rank, const lin_action *a)
{
    const bool is_forward = a->kind == LIN_ACTION_FORWARD;
    const uint32_t place = lin_action_place(x->from, rank, a);
    uint32_t target;
    if (a->kind > LIN_ACTION_INPUT)
        return;
    *fact(x, place, a->microbatch) |= is_forward ? DID_FORWARD : DID_BACKWARD;
    if (!neighbour(x, place, is_forward, &target) || x->from->rank_of[target] == rank)
        return;
    lin_action send = *a, receive = *a;
    send.overlaps_next = receive.overlaps_next = 0;
    send.kind = is_forward ? LIN_ACTION_SEND_FORWARD : LIN_ACTION_SEND_BACKWARD;
    receive.kind = is_forward ? LIN_ACTION_RECV_FORWARD : LIN_ACTION_RECV_BACKWARD;
    receive.slot = x->from->slot_of[target];
    list *mine = &x->out[rank], *other = &x->out[x->from->rank_of[target]];
    mine->items[mine->count++] = send;
    other->items[other->count++] = receive;
    *fact(x, target, a->microbatch) |= is_forward ? GOT_FORWARD : GOT_BACKWARD;
}

/* One action, or the two of a pair, if the rank can. */
static bool take_turn(exchange *x, uint32_t rank)
{
    const list *alone = &x->alone[rank];
    if (x->next[rank] == alone->count)
        return false;
    const lin_action *a = &alone->items[x->next[rank]];
    const uint32_t count = a->overlaps_next ? 2 : 1;
    if (!is_ready(x, rank, a) || (count == 2 && !is_ready(x, rank, a + 1)))
        return false;
    list *out = &x->out[rank];
    for (uint32_t i = 0; i < count; i++)
        out->items[out->count++] = a[i];
    for (uint32_t i = 0; i < count; i++)
        send_result(x, rank, &a[i]);
    x->next[rank] += count;
    return true;
}

static linnet_status exchange_all(exchange *x, linnet_error *err)
{
    bool goes_on = true;
    while (goes_on) {
        goes_on = false;
        for (uint32_t r = 0; r < x->from->ranks; r++)
            goes_on |= take_turn(x, r);
    }
    for (uint32_t r = 0; r < x->from->ranks; r++)
        if (x->next[r] < x->alone[r].count)
            return lin_fail(err, LINNET_ERROR_FORMAT, "a deadlock: rank %u does not end", r);
    return LINNET_OK;
}

/* ---- the new schedule ---- */

static linnet_status lower_all(const lowering *l, lin_arena *arena, lin_schedule *schedule,
                               linnet_error *err)
{
    const lin_schedule *from = l->from;
    lin_schedule_rank *ranks = LIN_NEW_ARRAY(arena, lin_schedule_rank, from->ranks);
    list *alone = LIN_NEW_ARRAY(l->scratch, list, from->ranks);
    exchange x = {
        .from = from,
        .alone = alone,
        .out = LIN_NEW_ARRAY(l->scratch, list, from->ranks),
        .next = LIN_NEW_ARRAY(l->scratch, uint32_t, from->ranks),
        .facts =
            LIN_NEW_ARRAY(l->scratch, uint8_t,
                          (uint64_t)from->stages * from->directions * from->direction_microbatches),
    };
    for (uint32_t r = 0; r < from->ranks; r++) {
        alone[r].items = LIN_NEW_ARRAY(l->scratch, lin_action, most_alone(&from->rank[r]));
        lower_alone(l, r, &alone[r]);
        /* A pass sends one result and receives one at most. */
        x.out[r].items = LIN_NEW_ARRAY(arena, lin_action,
                                       alone[r].count + 2 * (uint64_t)from->rank[r].action_count);
    }
    linnet_status status = exchange_all(&x, err);
    for (uint32_t r = 0; r < from->ranks; r++) {
        ranks[r] = from->rank[r];
        ranks[r].actions = x.out[r].items;
        ranks[r].action_count = x.out[r].count;
    }
    schedule->rank = ranks;
    return status;
}

/* What the new schedule has in common with the old one, copied. */
static lin_schedule *copy_frame(const lin_schedule *from, lin_arena *arena)
{
    const uint64_t places = (uint64_t)from->stages * from->directions;
    lin_schedule *schedule = LIN_NEW(arena, lin_schedule);
    uint32_t *rank_of = LIN_NEW_ARRAY(arena, uint32_t, places);
    uint16_t *slot_of = LIN_NEW_ARRAY(arena, uint16_t, places);
    memcpy(rank_of, from->rank_of, (size_t)places * sizeof *rank_of);
    memcpy(slot_of, from->slot_of, (size_t)places * sizeof *slot_of);
    *schedule = *from;
    schedule->name = lin_arena_copy(arena, from->name);
    schedule->has_transfers = true;
    schedule->rank_of = rank_of;
    schedule->slot_of = slot_of;
    return schedule;
}

static void copy_slots(lin_schedule *schedule, lin_arena *arena)
{
    lin_schedule_rank *ranks = (lin_schedule_rank *)(uintptr_t)schedule->rank;
    for (uint32_t r = 0; r < schedule->ranks; r++) {
        lin_slot *slots = LIN_NEW_ARRAY(arena, lin_slot, ranks[r].slot_count);
        memcpy(slots, ranks[r].slots, ranks[r].slot_count * sizeof *slots);
        ranks[r].slots = slots;
    }
}

static linnet_status lower_guarded(lowering *l, lin_arena *arena, lin_schedule **out,
                                   linnet_error *err)
{
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0)
        return lin_fail_memory(err);
    arena->on_failure = l->scratch->on_failure = &out_of_memory;
    lin_schedule *schedule = copy_frame(l->from, arena);
    linnet_status status = lower_all(l, arena, schedule, err);
    copy_slots(schedule, arena);
    *out = schedule;
    return status;
}

linnet_status lin_schedule_lower(const lin_schedule *schedule, const lin_lowering *settings,
                                 const lin_allocator *allocator, lin_schedule **out,
                                 linnet_error *err)
{
    lin_arena arena, scratch;
    lin_schedule *lowered = NULL;
    lowering l = { .from = schedule, .settings = settings, .scratch = &scratch };
    for (uint32_t r = 0; r < schedule->ranks; r++)
        for (uint32_t i = 0; i < schedule->rank[r].action_count; i++)
            if (!is_pass(schedule->rank[r].actions[i].kind))
                return lin_fail(err, LINNET_ERROR_ARGUMENT,
                                "the schedule has its communication already");
    lin_arena_init(&arena, allocator);
    lin_arena_init(&scratch, allocator);
    linnet_status status = lower_guarded(&l, &arena, &lowered, err);
    lin_arena_free(&scratch);
    arena.on_failure = NULL;
    if (status != LINNET_OK) {
        lin_arena_free(&arena);
        return status;
    }
    lowered->arena = arena;
    *out = lowered;
    return LINNET_OK;
}
