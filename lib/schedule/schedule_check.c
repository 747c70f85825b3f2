/* SPDX-License-Identifier: MIT */

/*
 * Whether the lists of a schedule that came from outside are complete: of every stage a rank holds
 * each micro-batch has one forward and one backward, or both of its parts; with sends and receives,
 * each result that another rank needs is sent once and received once. Order is left to the
 * simulator. The first that is wrong is named by rank and action.
 *
 * One byte a (stage, micro-batch) of a rank. What a file claims is not allocated for: before that,
 * its forwards must be as many as it says. Cost: linear in the actions.
 */

#include "schedule/spell.h"
#include <setjmp.h>

enum {
    HAS_STAGE_STATE = 1 << 0, /* of stages: it is unsharded */
    IS_REDUCED = 1 << 1
};

typedef struct rank_check {
    const lin_schedule *schedule;
    uint32_t rank, index;
    uint8_t *seen;   /* by slot * micro-batches + micro-batch: one bit a kind up to RECV_BACKWARD */
    uint8_t *stages; /* by slot */
    bool stepped;
    linnet_error *err;
} rank_check;

static linnet_status fail_action(const rank_check *c, const char *why)
{
    char shown[LIN_SPELLED_TEXT];
    const lin_action *a = &c->schedule->rank[c->rank].actions[c->index];
    lin_place_show(shown, c->schedule, (lin_action_kind)a->kind,
                   lin_action_place(c->schedule, c->rank, a), a->microbatch);
    return lin_fail(c->err, LINNET_ERROR_FORMAT, "rank %u, action %u: `%s` %s", c->rank,
                    lin_action_number(c->schedule, c->rank, c->index), shown, why);
}

static linnet_status fail_missing(const rank_check *c, lin_action_kind kind, uint32_t slot,
                                  uint32_t microbatch)
{
    char shown[LIN_SPELLED_TEXT];
    const lin_slot *s = &c->schedule->rank[c->rank].slots[slot];
    lin_place_show(shown, c->schedule, kind, s->direction * c->schedule->stages + s->stage,
                   microbatch);
    return lin_fail(c->err, LINNET_ERROR_FORMAT, "rank %u: the action `%s` is missing", c->rank,
                    shown);
}

/* ---- one action ---- */

static unsigned bit(lin_action_kind kind)
{
    return 1u << kind;
}

/* Where a result of the stage goes to or comes from is on another rank. */
static bool has_remote(const lin_schedule *schedule, uint32_t rank, const lin_slot *slot, bool next)
{
    if (next ? slot->stage + 1 == schedule->stages : slot->stage == 0)
        return false;
    const uint32_t place = slot->direction * schedule->stages + slot->stage;
    return schedule->rank_of[next ? place + 1 : place - 1] != rank;
}

static linnet_status check_microbatch(rank_check *c, const lin_action *a)
{
    const lin_schedule_rank *r = &c->schedule->rank[c->rank];
    uint8_t *seen =
        &c->seen[(uint64_t)a->slot * c->schedule->direction_microbatches + a->microbatch];
    const unsigned whole = bit(LIN_ACTION_BACKWARD);
    const unsigned parts = bit(LIN_ACTION_INPUT) | bit(LIN_ACTION_WEIGHT);
    const unsigned mine = bit((lin_action_kind)a->kind);
    const bool to_next = a->kind == LIN_ACTION_SEND_FORWARD || a->kind == LIN_ACTION_RECV_BACKWARD;
    if ((*seen & mine) != 0)
        return fail_action(c, "stands there a second time");
    if (((mine & whole) != 0 && (*seen & parts) != 0) ||
        ((mine & parts) != 0 && (*seen & whole) != 0))
        return fail_action(c, "is a second backward of the same micro-batch");
    if (a->kind >= LIN_ACTION_SEND_FORWARD &&
        !has_remote(c->schedule, c->rank, &r->slots[a->slot], to_next))
        return fail_action(c, "has no other rank to send to or receive from");
    *seen = (uint8_t)(*seen | mine);
    return LINNET_OK;
}

static linnet_status check_stage(rank_check *c, const lin_action *a)
{
    uint8_t *stage = &c->stages[a->slot];
    const bool is_held = (*stage & HAS_STAGE_STATE) != 0;
    switch ((lin_action_kind)a->kind) {
    case LIN_ACTION_UNSHARD:
        *stage |= HAS_STAGE_STATE;
        return is_held ? fail_action(c, "is of a stage that is unsharded already") : LINNET_OK;
    case LIN_ACTION_RESHARD:
        *stage &= (uint8_t)~HAS_STAGE_STATE;
        return is_held ? LINNET_OK : fail_action(c, "is of a stage that is not unsharded");
    case LIN_ACTION_REDUCE:
        if ((*stage & IS_REDUCED) != 0)
            return fail_action(c, "stands there a second time");
        *stage |= IS_REDUCED;
        return LINNET_OK;
    default:
        return LINNET_OK;
    }
}

static linnet_status check_action(rank_check *c, const lin_action *a)
{
    if (c->stepped)
        return fail_action(c, "stands after the optimizer step");
    c->stepped = a->kind == LIN_ACTION_STEP;
    if (a->kind >= LIN_ACTION_UNSHARD)
        return check_stage(c, a);
    if (a->kind <= LIN_ACTION_WEIGHT && (c->stages[a->slot] & IS_REDUCED) != 0 &&
        a->kind != LIN_ACTION_FORWARD)
        return fail_action(c, "stands after the stage's gradients were reduced");
    return check_microbatch(c, a);
}

/* ---- one rank ---- */

/* The first micro-batch of the slot without this action, of a slot that has too few of them. */
static linnet_status find_missing(const rank_check *c, uint32_t slot, lin_arena *scratch)
{
    const lin_schedule_rank *r = &c->schedule->rank[c->rank];
    const uint32_t m = c->schedule->direction_microbatches;
    bool *has = LIN_NEW_ARRAY(scratch, bool, m);
    uint32_t first = 0;
    for (uint32_t i = 0; i < r->action_count; i++)
        if (r->actions[i].slot == slot && r->actions[i].kind == LIN_ACTION_FORWARD)
            has[r->actions[i].microbatch] = true;
    while (first + 1 < m && has[first])
        first++;
    return fail_missing(c, LIN_ACTION_FORWARD, slot, first);
}

static linnet_status count_forwards(const rank_check *c, lin_arena *scratch)
{
    const lin_schedule_rank *r = &c->schedule->rank[c->rank];
    uint32_t *counts = LIN_NEW_ARRAY(scratch, uint32_t, r->slot_count);
    for (uint32_t i = 0; i < r->action_count; i++)
        counts[r->actions[i].slot] += r->actions[i].kind == LIN_ACTION_FORWARD;
    for (uint32_t slot = 0; slot < r->slot_count; slot++)
        if (counts[slot] < c->schedule->direction_microbatches)
            return find_missing(c, slot, scratch);
    return LINNET_OK;
}

static linnet_status check_transfers(const rank_check *c, uint32_t slot, uint32_t microbatch,
                                     unsigned seen)
{
    static const struct transfer {
        lin_action_kind kind;
        bool to_next;
    } transfers[] = {
        { LIN_ACTION_SEND_FORWARD, true },
        { LIN_ACTION_RECV_FORWARD, false },
        { LIN_ACTION_SEND_BACKWARD, false },
        { LIN_ACTION_RECV_BACKWARD, true },
    };
    for (uint32_t i = 0; i < ARRAY_LEN(transfers); i++)
        if ((seen & bit(transfers[i].kind)) == 0 &&
            has_remote(c->schedule, c->rank, &c->schedule->rank[c->rank].slots[slot],
                       transfers[i].to_next))
            return fail_missing(c, transfers[i].kind, slot, microbatch);
    return LINNET_OK;
}

static linnet_status check_complete(const rank_check *c, uint32_t slot)
{
    const uint32_t m = c->schedule->direction_microbatches;
    for (uint32_t i = 0; i < m; i++) {
        const unsigned seen = c->seen[(uint64_t)slot * m + i];
        linnet_status status;
        if ((seen & bit(LIN_ACTION_FORWARD)) == 0)
            return fail_missing(c, LIN_ACTION_FORWARD, slot, i);
        if ((seen & (bit(LIN_ACTION_BACKWARD) | bit(LIN_ACTION_INPUT) | bit(LIN_ACTION_WEIGHT))) ==
            0)
            return fail_missing(c, LIN_ACTION_BACKWARD, slot, i);
        if ((seen & bit(LIN_ACTION_BACKWARD)) == 0 && (seen & bit(LIN_ACTION_INPUT)) == 0)
            return fail_missing(c, LIN_ACTION_INPUT, slot, i);
        if ((seen & bit(LIN_ACTION_BACKWARD)) == 0 && (seen & bit(LIN_ACTION_WEIGHT)) == 0)
            return fail_missing(c, LIN_ACTION_WEIGHT, slot, i);
        if (c->schedule->has_transfers && (status = check_transfers(c, slot, i, seen)) != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

static linnet_status check_rank(const lin_schedule *schedule, uint32_t rank, lin_arena *scratch,
                                linnet_error *err)
{
    rank_check c = { .schedule = schedule, .rank = rank, .err = err };
    const lin_schedule_rank *r = &schedule->rank[rank];
    linnet_status status;
    if (r->slot_count == 0)
        return lin_fail(err, LINNET_ERROR_FORMAT, "rank %u has no stage", rank);
    if ((status = count_forwards(&c, scratch)) != LINNET_OK)
        return status;
    c.seen =
        LIN_NEW_ARRAY(scratch, uint8_t, (uint64_t)r->slot_count * schedule->direction_microbatches);
    c.stages = LIN_NEW_ARRAY(scratch, uint8_t, r->slot_count);
    for (c.index = 0; c.index < r->action_count; c.index++)
        if ((status = check_action(&c, &r->actions[c.index])) != LINNET_OK)
            return status;
    for (uint32_t slot = 0; slot < r->slot_count; slot++)
        if ((status = check_complete(&c, slot)) != LINNET_OK)
            return status;
    return LINNET_OK;
}

static linnet_status check_guarded(const lin_schedule *schedule, uint32_t rank, linnet_error *err,
                                   lin_arena *scratch)
{
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0)
        return lin_fail_memory(err);
    scratch->on_failure = &out_of_memory;
    return check_rank(schedule, rank, scratch, err);
}

linnet_status lin_schedule_check(const lin_schedule *schedule, linnet_error *err)
{
    lin_arena scratch;
    linnet_status status = LINNET_OK;
    lin_arena_init(&scratch, &schedule->arena.allocator);
    for (uint32_t r = 0; r < schedule->ranks && status == LINNET_OK; r++) {
        status = check_guarded(schedule, r, err, &scratch);
        lin_arena_free(&scratch);
    }
    return status;
}
