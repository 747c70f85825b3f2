/* SPDX-License-Identifier: MIT */

/*
 * Model states: weights, gradients, master weights and moments in bytes a trained parameter, in
 * that order in each sum, then the same over several ranks. Activations are apart.
 */

#include "base/base.h"
#include "formula/formula_rows.h"

#define ONLY_P .symbols = { { "P", NULL } }
#define P_OVER_D .symbols = { { "P", NULL }, { "D", NULL } }
#define ADAM_PAPER "Kingma and Ba, Adam, 2015 (arXiv:1412.6980)"
#define EIGHT_BIT                                                                            \
    "derivation: one byte a moment and an f32 scale every 256, 1 + 4/256 each; Dettmers et " \
    "al., 8-bit Optimizers via Block-wise Quantization, 2022 (arXiv:2110.02861)"

/* clang-format off */
static const lin_formula rows[] = {
    { .name = "states-adam-f32", .title = "Adam, everything f32", .unit = "bytes", ONLY_P,
      .expression = "(4 + 4 + 8)*P",
      .source = "derivation: weights, gradients, two moments; " ADAM_PAPER },
    { .name = "states-adam-amp", .title = "Adam under autocast: f32 weights, 2 bytes more for cast copies until backward",
      .unit = "bytes", ONLY_P,
      .expression = "(4 + 4 + 8)*P",
      .source = "derivation: weights, gradients, two moments; Micikevicius et al., Mixed Precision "
                "Training, 2018 (arXiv:1710.03740)" },
    { .name = "states-adamw-bf16", .title = "AdamW, everything bf16", .unit = "bytes", ONLY_P,
      .expression = "(2 + 2 + 4)*P",
      .source = "derivation: torch.optim.AdamW keeps its moments in the parameter's dtype" },
    { .name = "states-adam-mixed", .title = "mixed-precision Adam: 16-bit weights and gradients, f32 master weights and moments",
      .unit = "bytes", ONLY_P,
      .expression = "(2 + 2 + 4 + 8)*P",
      .source = LIN_ZERO_2020 ", section 3.1" },
    { .name = "states-megatron-bf16", .title = "Megatron, bf16 weights, f32 main gradients", .unit = "bytes", ONLY_P,
      .expression = "(2 + 4 + 4 + 8)*P",
      .source = LIN_MEGATRON_DOCS },
    { .name = "states-megatron-fp16", .title = "Megatron, fp16 weights and gradients, an f32 copy of the gradients for the step",
      .unit = "bytes", ONLY_P,
      .expression = "(2 + 2 + 4 + 8 + 4)*P",
      .source = LIN_MEGATRON_DOCS },
    { .name = "states-megatron-f32", .title = "Megatron, everything f32", .unit = "bytes", ONLY_P,
      .expression = "(4 + 4 + 8)*P",
      .source = LIN_MEGATRON_DOCS },
    { .name = "states-adamw-bf16-kahan", .title = "AdamW in bf16 with Kahan summation", .unit = "bytes", ONLY_P,
      .expression = "(2 + 2 + 2 + 4)*P",
      .source = "derivation: a bf16 compensation beside bf16 states; Zamirai et al., Revisiting "
                "BFloat16 Training, 2020 (arXiv:2010.06192)" },
    { .name = "states-adamw-bf16-stochastic", .title = "AdamW in bf16 with stochastic rounding", .unit = "bytes", ONLY_P,
      .expression = "(2 + 2 + 4)*P",
      .source = "derivation: nothing kept beside bf16 states; Zamirai et al., Revisiting BFloat16 "
                "Training, 2020 (arXiv:2010.06192)" },
    { .name = "states-adamw-8bit-bf16", .title = "8-bit AdamW, bf16 weights and gradients", .unit = "bytes", ONLY_P,
      .expression = "(2 + 2 + 65/32)*P",
      .source = EIGHT_BIT },
    { .name = "states-adamw-8bit-f32", .title = "8-bit AdamW, f32 weights and gradients", .unit = "bytes", ONLY_P,
      .expression = "(4 + 4 + 65/32)*P",
      .source = EIGHT_BIT },
    { .name = "moments-adamw-8bit", .title = "the moments of 8-bit AdamW, of tensors of 4096 elements or more", .unit = "bytes", ONLY_P,
      .expression = "65/32*P",
      .source = EIGHT_BIT },
    { .name = "states-sgd-f32", .title = "plain SGD, f32", .unit = "bytes", ONLY_P,
      .expression = "(4 + 4)*P",
      .source = "derivation: weights and gradients" },
    { .name = "states-sgd-bf16", .title = "plain SGD, bf16", .unit = "bytes", ONLY_P,
      .expression = "(2 + 2)*P",
      .source = "derivation: weights and gradients" },
    { .name = "states-sgd-momentum-f32", .title = "SGD with momentum, f32", .unit = "bytes", ONLY_P,
      .expression = "(4 + 4 + 4)*P",
      .source = "derivation: weights, gradients, one moment" },
    { .name = "states-muon-f32", .title = "Muon on N parameters in matrices, AdamW on the rest, f32", .unit = "bytes",
      .symbols = { { "P", NULL }, { "N", NULL } },
      .expression = "(4 + 4 + 4)*N + (4 + 4 + 8)*(P - N)",
      .source = "derivation: one moment for Muon, two for AdamW; Jordan et al., Muon, 2024 "
                "(kellerjordan.github.io/posts/muon)",
      .conditions = { { "P - N + 1", "the matrices cannot have more parameters than the model", LINNET_ERROR_ARGUMENT } } },
    { .name = "states-adamw-bf16-moments", .title = "AdamW, f32 weights and gradients, bf16 moments", .unit = "bytes", ONLY_P,
      .expression = "(4 + 4 + 4)*P",
      .source = "derivation: torchtitan's fused optimizer states in bf16" },
    { .name = "temporaries-adamw-foreach", .title = "temporaries of a foreach AdamW step; a fused one has none", .unit = "bytes",
      .symbols = { { "P", NULL }, { "e", "4" } },
      .expression = "e*P",
      .source = "derivation: torch.optim's foreach path makes one copy of the size of the states' "
                "elements, in their dtype" },
    { .name = "states-zero-1", .title = "mixed-precision Adam, optimizer states over D ranks (ZeRO-1)", .unit = "bytes", P_OVER_D,
      .expression = "(2 + 2)*P + 12*P/D",
      .source = LIN_ZERO_2020 ", section 5.1 and figure 1" },
    { .name = "states-zero-2", .title = "mixed-precision Adam, optimizer states and gradients over D ranks (ZeRO-2)", .unit = "bytes", P_OVER_D,
      .expression = "2*P + (2 + 12)*P/D",
      .source = LIN_ZERO_2020 ", section 5.2 and figure 1" },
    { .name = "states-zero-3", .title = "mixed-precision Adam, optimizer states, gradients and weights over D ranks (ZeRO-3, FSDP)", .unit = "bytes", P_OVER_D,
      .expression = "(2 + 2 + 12)*P/D",
      .source = LIN_ZERO_2020 ", section 5.3 and figure 1" },
    { .name = "states-distributed-bf16", .title = "Megatron's distributed optimizer, bf16 weights, f32 gradients", .unit = "bytes", P_OVER_D,
      .expression = "6*P + 12*P/D",
      .source = LIN_MEGATRON_DOCS },
    { .name = "states-distributed-fp16", .title = "Megatron's distributed optimizer, fp16 weights and gradients", .unit = "bytes", P_OVER_D,
      .expression = "4*P + 16*P/D",
      .source = LIN_MEGATRON_DOCS },
    { .name = "states-distributed-f32", .title = "Megatron's distributed optimizer, f32 weights and gradients", .unit = "bytes", P_OVER_D,
      .expression = "8*P + 8*P/D",
      .source = LIN_MEGATRON_DOCS },
    { .name = "states-precision-aware", .title = "Megatron's precision-aware optimizer: bytes an element as given",
      .unit = "bytes",
      .symbols = { { "P", NULL }, { "D", NULL }, { "weight", "2" }, { "gradient", "2" }, { "master", "4" }, { "moment", "2" } },
      .expression = "(weight + gradient)*P + (master + 2*moment)*P/D",
      .source = "derivation: Megatron Core's precision-aware optimizer keeps master weights and both "
                "moments of the rank's share in dtypes of their own" },
    { .name = "states-model-parallel", .title = "states of a rank when tensors and layers are split evenly", .unit = "bytes",
      .symbols = { { "P", NULL }, { "bytes", "16" }, { "t", "1" }, { "p", "1" } },
      .expression = "bytes*P/(t*p)",
      .source = "derivation: a rank has 1/t of the tensors of 1/p of the layers; embedding and head "
                "on the first and last stage alone; " LIN_MEGATRON_2021 ", section 3" },
};
/* clang-format on */

const lin_formula_group lin_formula_states = { rows, ARRAY_LEN(rows) };
