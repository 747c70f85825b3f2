/* SPDX-License-Identifier: MIT */

/*
 * DualPipe and DualPipeV (DeepSeek, 2025): a forward of one half overlaps a backward of the other,
 * so that the communication of each hides behind the work of its partner.
 *
 *     DualPipeV, P = 4       rank  0   1   2   3         DualPipe, P = 4     rank  0   1   2   3
 *       near: slot 0               0   1   2   3           direction 0             0   1   2   3
 *       far:  slot 1               7   6   5   4           direction 1             3   2   1   0
 *
 * Both are one rule. `near` is the half whose micro-batches enter on this side, `far` the other;
 * `depth` is the distance from the entry and `half` how deep it gets. DualPipe folds the ranks in
 * the middle: rank r and rank P - 1 - r do the same with the directions exchanged.
 */

#include "schedule/generate.h"

typedef struct folded {
    uint32_t near, far; /* slots */
    uint32_t depth, half;
} folded;

/* Nothing was held back where nothing waits. */
static void weight(lin_emitter *e)
{
    (void)lin_emit_oldest_weight(e);
}

static void fill(lin_emitter *e, const folded *f)
{
    for (uint32_t i = 0; i < 2 * (f->half - 1 - f->depth); i++)
        lin_emit_forward(e, f->near);
    for (uint32_t i = 0; i <= f->depth; i++) {
        lin_emit_forward(e, f->near);
        lin_emit_forward(e, f->far);
    }
    for (uint32_t i = f->depth + 1; i < f->half; i++) {
        lin_emit_input(e, f->far);
        weight(e);
        lin_emit_forward(e, f->far);
    }
}

/* In the fold the first pair has nothing to overlap with yet. */
static void steady(lin_emitter *e, const folded *f)
{
    const uint32_t pairs = e->shape.microbatches + f->depth + 1 - 2 * f->half;
    for (uint32_t i = 0; i < pairs; i++) {
        if (i == 0 && f->depth == f->half - 1) {
            lin_emit_forward(e, f->near);
            lin_emit_backward(e, f->far);
        } else {
            lin_emit_pair(e, f->near, f->far);
        }
        lin_emit_pair(e, f->far, f->near);
    }
    for (uint32_t i = f->depth + 1; i < f->half; i++) {
        lin_emit_backward(e, f->far);
        lin_emit_pair(e, f->far, f->near);
    }
}

static void backward(lin_emitter *e, uint32_t slot, bool split)
{
    if (split)
        lin_emit_input(e, slot);
    else
        lin_emit_backward(e, slot);
}

/* Halfway through the backwards that have no partner, the weight gradients are held back; at even
 * depth the near half switches one backward earlier than the far one. */
static void drain(lin_emitter *e, const folded *f)
{
    const uint32_t middle = (f->depth + 1) / 2;
    const bool is_even = f->depth % 2 == 0;
    for (uint32_t i = 0; i <= f->depth; i++) {
        backward(e, f->far, is_even ? i > middle : i >= middle);
        backward(e, f->near, i >= middle);
    }
    for (uint32_t i = f->depth + 1; i < f->half; i++) {
        weight(e);
        lin_emit_input(e, f->near);
    }
    for (uint32_t i = 0; i <= f->depth; i++)
        weight(e);
}

static void generate(lin_emitter *e, const folded *f)
{
    fill(e, f);
    steady(e, f);
    drain(e, f);
}

void lin_generate_dualpipev(lin_emitter *e)
{
    const folded f = { .near = 0, .far = 1, .depth = e->rank, .half = e->shape.ranks };
    generate(e, &f);
}

void lin_generate_dualpipe(lin_emitter *e)
{
    const uint32_t half = e->shape.ranks / 2;
    const bool is_mirrored = e->rank >= half;
    const folded f = { .near = is_mirrored,
                       .far = !is_mirrored,
                       .depth = is_mirrored ? e->shape.ranks - 1 - e->rank : e->rank,
                       .half = half };
    generate(e, &f);
}
