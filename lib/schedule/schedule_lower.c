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

/* ---- shards: the next stages to be used are held, at most `active_stages` */

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

/* ---- one rank alone */

/* Each action may be preceded by one exchange of stages at most. */
static uint64_t most_alone(const lin_schedule_rank *rank)
{
    return 3 * (uint64_t)rank->action_count + 4 * (uint64_t)rank->slot_count + 1;
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
            shards_before(&s, l->settings->active_stages, out);
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
