/* SPDX-License-Identifier: MIT */

/*
 * A bound of a training step's peak, out of two combinations that were evaluated: one that holds
 * the same throughout, and one that computes the same.
 *
 *     fixed    weights, buffers, master weights and, but in the step that makes them, the states of
 *              the optimizer. They are held at every moment, whatever is recomputed, however the
 *              batch is cut and the loss computed.
 *     active   activations at the moment of the peak. Neither the optimizer nor the sharding moves
 * a moment or what autograd keeps: with others of them that moment has these bytes too.
 *
 * At the moment of the second the combination has both, so no peak of its is below their sum.
 * Stages of a pipeline have different bytes, and the two may be of different stages: there it is
 * the larger alone. What has not been evaluated counts as nothing. test_advise.c compares bounds
 * with peaks.
 */

#include "plan/advise_space.h"

static uint64_t fixed_index(const advice_space *s, const advice_choice *choice)
{
    advice_choice at = *choice;
    at.option[KIND_SPLIT] = at.option[KIND_RECOMPUTE] = at.option[KIND_LOSS] = 0;
    return lin_advise_index(s, &at);
}

static uint64_t active_index(const advice_space *s, const advice_choice *choice)
{
    advice_choice at = *choice;
    at.option[KIND_OPTIMIZER] = at.option[KIND_SHARDING] = 0;
    return lin_advise_index(s, &at);
}

static bool is_fixed(const advice_space *s, lin_category category)
{
    return category == LIN_CATEGORY_PARAMETERS || category == LIN_CATEGORY_BUFFERS ||
           category == LIN_CATEGORY_MASTER_WEIGHTS || category == LIN_CATEGORY_RUNTIME ||
           (category == LIN_CATEGORY_OPTIMIZER_STATES && !s->facts.base.training.is_first_step);
}

void lin_advise_note_bounds(advice_space *s, const advice_choice *choice, const lin_answer *answer)
{
    int64_t *fixed = &s->fixed[fixed_index(s, choice)];
    int64_t *active = &s->active[active_index(s, choice)];
    const bool is_forward = answer->pipeline == NULL && answer->peak_step < answer->steps;
    int64_t held = 0, kept = 0;
    if (!s->facts.base.is_training)
        return;
    for (uint32_t i = 0; i < answer->component_count; i++) {
        const lin_component *c = &answer->components[i];
        if (c->known && is_fixed(s, c->category))
            held += c->bytes;
        if (c->known && (c->category == LIN_CATEGORY_ACTIVATIONS ||
                         (is_forward && c->category == LIN_CATEGORY_WORKSPACE)))
            kept += c->bytes;
    }
    *fixed = held > *fixed ? held : *fixed;
    *active = kept > *active ? kept : *active;
}

int64_t lin_advise_bound(const advice_space *s, const advice_choice *choice)
{
    const int64_t fixed = s->fixed[fixed_index(s, choice)];
    const int64_t active = s->active[active_index(s, choice)];
    int64_t sum;
    if (s->facts.base.memory.parallel.pipeline > 1 || !lin_add_i64(fixed, active, &sum))
        return fixed > active ? fixed : active;
    return sum;
}
