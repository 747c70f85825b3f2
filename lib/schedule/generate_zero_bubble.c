/* SPDX-License-Identifier: MIT */

/*
 * Schedules that split the backward in input gradient (I) and weight gradient (W), after Qi et al.,
 * Zero Bubble Pipeline Parallelism (2023): W waits for nothing outside the rank, so it fills what
 * would be idle. ZB1P and its interleaved form as in PyTorch; ZB-H1 as the authors' small patch to
 * Megatron-LM has it, which splits only where it helps and never on rank 0; ZBV on V-shaped
 * placement, where slot 0 of rank r is stage r and slot 1 is stage 2P - 1 - r.
 */

#include "schedule/generate.h"

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* A weight gradient is due for every step of the cool-down and, on rank r, from the r-th input
 * gradient on. */
void lin_generate_zero_bubble(lin_emitter *e)
{
    const lin_shape *s = &e->shape;
    const uint32_t group = lin_interleaved_group(s), v = s->virtual_stages;
    const uint32_t total = s->microbatches * v;
    const uint32_t warm_up = least((v - 1) * group + s->ranks - 1 - e->rank, total);
    for (uint32_t t = 0; t < total + warm_up; t++) {
        if (t < total)
            lin_emit_forward(e, t / group % v);
        if (t < warm_up)
            continue;
        lin_emit_input(e, v - 1 - (t - warm_up) / group % v);
        if (t - warm_up >= e->rank)
            lin_emit_oldest_weight(e);
    }
    while (lin_emit_oldest_weight(e))
        ;
}

static void input_or_backward(lin_emitter *e, bool split)
{
    if (split)
        lin_emit_input(e, 0);
    else
        lin_emit_backward(e, 0);
}

void lin_generate_zb_h1(lin_emitter *e)
{
    const uint32_t r = e->rank;
    const uint32_t warm_up = least(e->shape.ranks - r - 1, e->shape.microbatches);
    const uint32_t rest = e->shape.microbatches - warm_up;
    for (uint32_t i = 0; i < warm_up; i++)
        lin_emit_forward(e, 0);
    for (uint32_t i = 0; i < rest; i++) {
        const bool last = i + 1 == rest;
        lin_emit_forward(e, 0);
        input_or_backward(e, (i < r || last) && r > 0);
        if (last && i >= r && r > 0)
            lin_emit_oldest_weight(e);
    }
    for (uint32_t i = 0; i < warm_up; i++) {
        input_or_backward(e, r > 0);
        if (r > 0 && rest + i >= r)
            lin_emit_oldest_weight(e);
    }
    while (lin_emit_oldest_weight(e))
        ;
}

/* ---- ZBV ---- */

static void whole_backward(lin_emitter *e, uint32_t slot)
{
    lin_emit_input(e, slot);
    lin_emit_weight(e, slot);
}

static void zbv_steady(lin_emitter *e, uint32_t padded)
{
    const uint32_t *forwards = e->done[LIN_COUNT_FORWARD];
    while (forwards[0] < padded || forwards[1] < padded) {
        if (forwards[0] < padded)
            lin_emit_forward(e, 0);
        whole_backward(e, 0);
        lin_emit_forward(e, 1);
        whole_backward(e, 1);
    }
}

static void zbv_cool_down(lin_emitter *e)
{
    for (uint32_t i = 0; i < e->rank; i++) {
        lin_emit_input(e, 0);
        lin_emit_input(e, 1);
    }
    for (uint32_t i = e->rank; i < e->shape.ranks; i++)
        whole_backward(e, 0);
    for (uint32_t slot = 2; slot-- > 0;)
        while (e->done[LIN_COUNT_WEIGHT][slot] < e->done[LIN_COUNT_BACKWARD][slot])
            lin_emit_weight(e, slot);
}

/* Built for at least 2P - 1 micro-batches; what there is too much is left out (`limit`). */
void lin_generate_zbv(lin_emitter *e)
{
    const uint32_t p = e->shape.ranks;
    const uint32_t least_microbatches = 2 * p - 1;
    const uint32_t padded =
        e->shape.microbatches > least_microbatches ? e->shape.microbatches : least_microbatches;
    for (uint32_t i = 0; i < 2 * (p - e->rank) - 1; i++)
        lin_emit_forward(e, 0);
    for (uint32_t i = 0; i < e->rank; i++) {
        lin_emit_forward(e, 1);
        lin_emit_forward(e, 0);
    }
    for (uint32_t i = e->rank; i < p; i++) {
        lin_emit_forward(e, 1);
        whole_backward(e, 1);
    }
    zbv_steady(e, padded);
    zbv_cool_down(e);
}
