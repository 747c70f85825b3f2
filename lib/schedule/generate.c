/* SPDX-License-Identifier: MIT */

/* A rank's list as it grows: which micro-batch comes next is counted here, for every generator. */

#include "schedule/generate.h"

static void append(lin_emitter *e, lin_action_kind kind, uint32_t slot, uint32_t microbatch)
{
    if (microbatch < e->limit)
        e->items[e->count++] =
            (lin_action){ .microbatch = microbatch, .slot = (uint16_t)slot, .kind = (uint8_t)kind };
}

void lin_emit_forward(lin_emitter *e, uint32_t slot)
{
    append(e, LIN_ACTION_FORWARD, slot, e->done[LIN_COUNT_FORWARD][slot]++);
}

void lin_emit_backward(lin_emitter *e, uint32_t slot)
{
    append(e, LIN_ACTION_BACKWARD, slot, e->done[LIN_COUNT_BACKWARD][slot]++);
}

void lin_emit_input(lin_emitter *e, uint32_t slot)
{
    append(e, LIN_ACTION_INPUT, slot, e->done[LIN_COUNT_BACKWARD][slot]++);
}

void lin_emit_weight(lin_emitter *e, uint32_t slot)
{
    append(e, LIN_ACTION_WEIGHT, slot, e->done[LIN_COUNT_WEIGHT][slot]++);
}

/* The queue of input gradients is the list itself: they wait in the order in which they stand. */
bool lin_emit_oldest_weight(lin_emitter *e)
{
    while (e->waiting < e->count && e->items[e->waiting].kind != LIN_ACTION_INPUT)
        e->waiting++;
    if (e->waiting == e->count)
        return false;
    const lin_action *input = &e->items[e->waiting++];
    append(e, LIN_ACTION_WEIGHT, input->slot, input->microbatch);
    return true;
}

void lin_emit_pair(lin_emitter *e, uint32_t forward_slot, uint32_t backward_slot)
{
    lin_emit_forward(e, forward_slot);
    e->items[e->count - 1].overlaps_next = 1;
    lin_emit_backward(e, backward_slot);
}
