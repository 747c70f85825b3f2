/* SPDX-License-Identifier: MIT */

/* Parameters of layers and models. Matrices are rows times columns, norms one or two vectors. */

#include "base/base.h"
#include "formula/formula_rows.h"

#define LLAMA_LAYER "2*h*a*d + 2*h*g*d + 3*h*F + 2*h"
#define LLAMA_PAPERS                                                                        \
    "derivation: query and output h*a*d each, key and value h*g*d each, gate, up and down " \
    "h*F each, two RMSNorms of h; Touvron et al., LLaMA, 2023 (arXiv:2302.13971)"

/* clang-format off */
static const lin_formula rows[] = {
    { .name = "parameters-gpt-layer",
      .title = "a GPT layer with biases and an MLP of 4h",
      .unit = "parameters",
      .symbols = { { "h", NULL } },
      .expression = "12*h^2 + 13*h",
      .source = "derivation: QKV 3h^2 + 3h, output h^2 + h, MLP 8h^2 + 5h, two LayerNorms 4h; "
                LIN_MEGATRON_2021 ", section 5.1" },
    { .name = "parameters-gpt",
      .title = "a GPT: its layers, embedding, learned positions, last LayerNorm",
      .unit = "parameters",
      .symbols = { { "L", NULL }, { "h", NULL }, { "V", NULL }, { "n", "0" }, { "tables", "1" } },
      .expression = "L*(12*h^2 + 13*h) + tables*V*h + n*h + 2*h",
      .source = LIN_MEGATRON_2021 ", equation 2, with the last LayerNorm" },
    { .name = "parameters-llama-layer",
      .title = "a Llama layer: grouped heads, SwiGLU, RMSNorm, no biases",
      .unit = "parameters",
      .symbols = { { "h", NULL }, { "a", NULL }, { "g", "a" }, { "d", "h/a" }, { "F", NULL } },
      .expression = LLAMA_LAYER,
      .source = LLAMA_PAPERS },
    { .name = "parameters-llama",
      .title = "a Llama: its layers, embedding and head, last RMSNorm",
      .unit = "parameters",
      .symbols = { { "L", NULL }, { "h", NULL }, { "a", NULL }, { "g", "a" }, { "d", "h/a" },
                   { "F", NULL }, { "V", NULL }, { "tables", "2" } },
      .expression = "L*(" LLAMA_LAYER ") + tables*V*h + h",
      .source = LLAMA_PAPERS },
    { .name = "parameters-moe-layer",
      .title = "a layer whose MLP is E gated experts, with a router and a shared expert",
      .unit = "parameters",
      .symbols = { { "h", NULL }, { "a", NULL }, { "g", "a" }, { "d", "h/a" }, { "E", NULL },
                   { "Fe", NULL }, { "Fs", "0" } },
      .expression = "2*h*a*d + 2*h*g*d + E*3*h*Fe + h*E + 3*h*Fs + 2*h",
      .source = "derivation: attention, E gated MLPs 3*h*Fe, the router h*E, the shared MLP "
                "3*h*Fs, two RMSNorms; Jiang et al., Mixtral of Experts, 2024 (arXiv:2401.04088)" },
    { .name = "parameters-mla-attention",
      .title = "multi-head latent attention of a layer, with the norms of both latents",
      .unit = "parameters",
      .symbols = { { "h", NULL }, { "a", NULL }, { "rq", NULL }, { "rkv", NULL }, { "dn", NULL },
                   { "dr", NULL }, { "dv", NULL } },
      .expression = "h*rq + rq + rq*a*(dn + dr) + h*(rkv + dr) + rkv + rkv*a*(dn + dv) + a*dv*h",
      .source = "derivation: DeepSeek-AI, DeepSeek-V2, 2024 (arXiv:2405.04434), section 2.1" },
};
/* clang-format on */

const lin_formula_group lin_formula_parameters = { rows, ARRAY_LEN(rows) };
