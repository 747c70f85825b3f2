/* SPDX-License-Identifier: MIT */

/*
 * A whole training step of a GPT with tied embedding and no learned positions: states, the layers'
 * activations and the logits; then what recomputation saves and costs. P and what hangs on it may
 * be given instead of being worked out.
 */

#include "base/base.h"
#include "formula/formula_rows.h"

#define GPT                                      \
    { "L", NULL }, { "h", NULL }, { "V", NULL }, \
    {                                            \
        "s", NULL                                \
    }
#define GPT_P                                \
    {                                        \
        "P", "L*(12*h^2 + 13*h) + V*h + 2*h" \
    }
#define SUM_SOURCE                                                                               \
    "derivation: the sum of states (" LIN_ZERO_2020 ", section 3.1), layers (" LIN_MEGATRON_2022 \
    ", section 4) and f32 logits"
#define MICRO_SOURCE "derivation: what a device has beside the states, over what a sequence takes"
#define NO_ROOM                                                                     \
    {                                                                               \
        "C - M", "the model states alone take more than `C`", LINNET_ERROR_CAPACITY \
    }
#define CHEN "Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016 (arXiv:1604.06174)"
#define REGIONS                                  \
    { "s", NULL }, { "b", NULL }, { "h", NULL }, \
    {                                            \
        "L", NULL                                \
    }
#define LAYER_SET       \
    { "I", "2*s*b*h" }, \
    {                   \
        "A", "34*s*b*h" \
    }

/* clang-format off */
static const lin_formula rows[] = {
    { .name = "step-gpt", .title = "a GPT's step: states, activations and logits, nothing recomputed, unfused attention",
      .unit = "bytes",
      .symbols = { GPT, { "b", NULL }, { "a", NULL }, GPT_P, { "M", "16*P" } },
      .expression = "M + L*s*b*h*(34 + 5*a*s/h) + 4*s*b*V",
      .source = SUM_SOURCE },
    { .name = "step-gpt-selective", .title = "a GPT's step: states, activations and logits, attention core recomputed or fused",
      .unit = "bytes",
      .symbols = { GPT, { "b", NULL }, GPT_P, { "M", "16*P" } },
      .expression = "M + L*34*s*b*h + 4*s*b*V",
      .source = SUM_SOURCE },
    { .name = "step-gpt-full", .title = "a GPT's step: states, activations and logits, every layer recomputed, fused attention",
      .unit = "bytes",
      .symbols = { GPT, { "b", NULL }, GPT_P, { "M", "16*P" } },
      .expression = "M + L*2*s*b*h + 34*s*b*h + 4*s*b*V",
      .source = SUM_SOURCE },
    { .name = "step-gpt-zero-2", .title = "a GPT's step: states, activations and logits, fused attention, ZeRO-2 over D ranks",
      .unit = "bytes",
      .symbols = { GPT, { "b", NULL }, { "D", NULL }, GPT_P },
      .expression = "2*P + 14*P/D + L*34*s*b*h + 4*s*b*V",
      .source = SUM_SOURCE },
    { .name = "micro-batch-gpt-selective", .title = "the largest micro-batch of a GPT with fused attention",
      .unit = "sequences",
      .symbols = { GPT, { "C", NULL }, GPT_P, { "M", "16*P" } },
      .expression = "floor((C - M)/(34*s*h*L + 4*s*V))",
      .source = MICRO_SOURCE,
      .conditions = { NO_ROOM } },
    { .name = "micro-batch-gpt-full", .title = "the largest micro-batch of a GPT with every layer recomputed",
      .unit = "sequences",
      .symbols = { GPT, { "C", NULL }, GPT_P, { "M", "16*P" } },
      .expression = "floor((C - M)/(2*s*h*L + 34*s*h + 4*s*V))",
      .source = MICRO_SOURCE,
      .conditions = { NO_ROOM } },
    { .name = "recompute-full", .title = "arithmetic that recomputing every layer adds to a step",
      .unit = "of a step's arithmetic",
      .symbols = { { NULL, NULL } },
      .expression = "1/3",
      .source = "derivation: one forward more, a third of forward and backward; " LIN_MEGATRON_2022
                ", section 5" },
    { .name = "recompute-selective", .title = "arithmetic that recomputing the attention core adds to a step",
      .unit = "of a step's arithmetic",
      .symbols = { { "s", NULL }, { "h", NULL } },
      .expression = "s/(18*h + 3*s)",
      .source = "derivation: 4bs^2h more on 72bsh^2 + 12bs^2h a layer; " LIN_MEGATRON_2022
                ", section 5 and appendix A" },
    { .name = "checkpoint-every", .title = "activations when every k layers are recomputed together",
      .unit = "bytes",
      .symbols = { REGIONS, { "k", NULL }, LAYER_SET },
      .expression = "ceil(L/k)*I + k*A",
      .source = "derivation: the inputs of the regions, and all layers of the one that runs; " CHEN,
      .conditions = { { "L - k + 1", "a region cannot have more layers than the model", LINNET_ERROR_ARGUMENT } } },
    { .name = "checkpoint-best-k", .title = "layers a region that keep the fewest bytes, regions of equal size",
      .unit = "layers",
      .symbols = { REGIONS, LAYER_SET },
      .expression = "min(L, max(1, ceil((ceilsqrt(4*ceil(L*I/A) + 1) - 1)/2)))",
      .source = "derivation: the least k with k*(k + 1) >= L*I/A, next to sqrt(L*I/A), where L*I/k + "
                "k*A is least; " CHEN },
    { .name = "checkpoint-first", .title = "activations when the first r layers are recomputed, one by one",
      .unit = "bytes",
      .symbols = { REGIONS, { "r", NULL }, LAYER_SET },
      .expression = "r*I + (L - r)*A + min(r, 1)*A",
      .source = "derivation: Megatron-LM, --recompute-method block",
      .conditions = { { "L - r + 1", "more layers are recomputed than the model has", LINNET_ERROR_ARGUMENT } } },
};
/* clang-format on */

const lin_formula_group lin_formula_steps = { rows, ARRAY_LEN(rows) };
