/* SPDX-License-Identifier: MIT */

/*
 * Schedules without split backward, stages laid out in a loop: stage s on rank s mod P, so slot k
 * of rank r is stage k * P + r. GPipe (Huang et al., 2019), breadth-first looping (Lamy-Poirier,
 * 2022), 1F1B (Narayanan et al., 2019) and its interleaved form (Narayanan et al., 2021) in the
 * order of PyTorch's pipelining schedules.
 *
 *     P = 4, 1F1B, rank 1:   F F F B F B F B F B ... B B B
 *                            warm-up  steady       cool-down
 *
 * Cost: linear in the actions, as of every generator.
 */

#include "schedule/generate.h"

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Backward in the order of the forwards: first in, first out. */
void lin_generate_gpipe(lin_emitter *e)
{
    for (uint32_t i = 0; i < e->shape.microbatches; i++)
        lin_emit_forward(e, 0);
    for (uint32_t i = 0; i < e->shape.microbatches; i++)
        lin_emit_backward(e, 0);
}

/* Backward runs through chunks and micro-batches in descending order. */
void lin_generate_looped_bfs(lin_emitter *e)
{
    const uint32_t m = e->shape.microbatches;
    for (uint32_t slot = 0; slot < e->shape.virtual_stages; slot++)
        for (uint32_t i = 0; i < m; i++)
            lin_emit_forward(e, slot);
    for (uint32_t slot = e->shape.virtual_stages; slot-- > 0;)
        for (uint32_t i = m; i-- > 0;)
            e->items[e->count++] = (lin_action){ .microbatch = i,
                                                 .slot = (uint16_t)slot,
                                                 .kind = LIN_ACTION_BACKWARD };
}

void lin_generate_1f1b(lin_emitter *e)
{
    const uint32_t m = e->shape.microbatches;
    const uint32_t warm_up = least(m, e->shape.ranks - 1 - e->rank);
    for (uint32_t i = 0; i < warm_up; i++)
        lin_emit_forward(e, 0);
    for (uint32_t i = warm_up; i < m; i++) {
        lin_emit_forward(e, 0);
        lin_emit_backward(e, 0);
    }
    for (uint32_t i = 0; i < warm_up; i++)
        lin_emit_backward(e, 0);
}

uint32_t lin_interleaved_group(const lin_shape *shape)
{
    const uint32_t rounds = shape->microbatches / shape->ranks;
    return rounds > 1 ? shape->microbatches / rounds : shape->microbatches;
}

void lin_generate_interleaved(lin_emitter *e)
{
    const lin_shape *s = &e->shape;
    const uint32_t group = lin_interleaved_group(s), v = s->virtual_stages;
    const uint32_t total = s->microbatches * v;
    const uint32_t warm_up = least((v - 1) * group + 2 * (s->ranks - 1 - e->rank), total);
    for (uint32_t k = 0; k < total + warm_up; k++) {
        if (k < total)
            lin_emit_forward(e, k / group % v);
        if (k >= warm_up)
            lin_emit_backward(e, v - 1 - (k - warm_up) / group % v);
    }
}
