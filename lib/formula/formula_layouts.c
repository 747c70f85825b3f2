/* SPDX-License-Identifier: MIT */

/* Pipelines, numbers of devices, inference. Stages count from 0; layers are split evenly. */

#include "base/base.h"
#include "formula/formula_rows.h"

#define NO_STAGE                                                                             \
    {                                                                                        \
        "p - i", "there is no such stage: they count from 0 to p - 1", LINNET_ERROR_ARGUMENT \
    }
#define NO_DEVICE(room)                                                             \
    {                                                                               \
        room, "no number of devices is enough: what is not split takes all of `C`", \
            LINNET_ERROR_CAPACITY                                                   \
    }
#define INTERLEAVED "min(m*v, 2*(p - i - 1) + (v - 1)*G + 1)"

/* clang-format off */
static const lin_formula rows[] = {
    { .name = "pipeline-1f1b", .title = "micro-batches whose activations a stage holds under 1F1B",
      .unit = "micro-batches",
      .symbols = { { "m", NULL }, { "p", NULL }, { "i", "0" } },
      .expression = "min(m, p - i)",
      .source = LIN_MEGATRON_2021 ", section 2.2",
      .conditions = { NO_STAGE } },
    { .name = "pipeline-1f1b-activations", .title = "activations a stage holds under 1F1B, of layers that keep A bytes",
      .unit = "bytes",
      .symbols = { { "m", NULL }, { "p", NULL }, { "i", "0" }, { "L", NULL }, { "A", NULL } },
      .expression = "min(m, p - i)*L/p*A",
      .source = "derivation: L/p layers a micro-batch; " LIN_MEGATRON_2021 ", section 2.2",
      .conditions = { NO_STAGE } },
    { .name = "pipeline-gpipe", .title = "micro-batches whose activations a stage holds under GPipe",
      .unit = "micro-batches",
      .symbols = { { "m", NULL } },
      .expression = "m",
      .source = "Huang et al., GPipe, 2019 (arXiv:1811.06965)" },
    { .name = "pipeline-interleaved", .title = "activations of the first stage under interleaved 1F1B, times those of 1F1B",
      .unit = "times",
      .symbols = { { "p", NULL }, { "v", NULL } },
      .expression = "1 + (p - 1)/(p*v)",
      .source = LIN_MEGATRON_2022 ", section 4.2.3" },
    { .name = "pipeline-interleaved-chunks", .title = "chunk forwards a stage holds under interleaved 1F1B",
      .unit = "chunks",
      .symbols = { { "m", NULL }, { "p", NULL }, { "v", NULL }, { "i", "0" }, { "G", "p" } },
      .expression = INTERLEAVED,
      .source = "derivation: the warm-up of Megatron Core's schedule (core/pipeline_parallel/schedules.py) "
                "and the one in flight",
      .conditions = { NO_STAGE } },
    { .name = "pipeline-interleaved-activations", .title = "activations a stage holds under interleaved 1F1B, of layers that keep A bytes",
      .unit = "bytes",
      .symbols = { { "m", NULL }, { "p", NULL }, { "v", NULL }, { "i", "0" }, { "G", "p" }, { "L", NULL }, { "A", NULL } },
      .expression = INTERLEAVED "*L/(p*v)*A",
      .source = "derivation: L/(p*v) layers a chunk; Megatron Core, core/pipeline_parallel/schedules.py",
      .conditions = { NO_STAGE } },
    { .name = "pipeline-dualpipe", .title = "micro-batches whose activations every stage holds under DualPipe, with two copies of the weights",
      .unit = "micro-batches",
      .symbols = { { "p", NULL } },
      .expression = "p + 1",
      .source = "DeepSeek-AI, DeepSeek-V3, 2024 (arXiv:2412.19437), table 2" },
    { .name = "devices-zero-1", .title = "the fewest ranks whose states fit, ZeRO-1",
      .unit = "devices",
      .symbols = { { "P", NULL }, { "C", NULL }, { "X", "0" } },
      .expression = "ceil(12*P/(C - 4*P - X))",
      .source = "derivation: 4P + 12P/D + X <= C; " LIN_ZERO_2020,
      .conditions = { NO_DEVICE("C - 4*P - X") } },
    { .name = "devices-zero-2", .title = "the fewest ranks whose states fit, ZeRO-2",
      .unit = "devices",
      .symbols = { { "P", NULL }, { "C", NULL }, { "X", "0" } },
      .expression = "ceil(14*P/(C - 2*P - X))",
      .source = "derivation: 2P + 14P/D + X <= C; " LIN_ZERO_2020,
      .conditions = { NO_DEVICE("C - 2*P - X") } },
    { .name = "devices-zero-3", .title = "the fewest ranks whose states fit, ZeRO-3",
      .unit = "devices",
      .symbols = { { "P", NULL }, { "C", NULL }, { "X", "0" } },
      .expression = "ceil(16*P/(C - X))",
      .source = "derivation: 16P/D + X <= C; " LIN_ZERO_2020,
      .conditions = { NO_DEVICE("C - X") } },
    { .name = "devices-by-time", .title = "devices that train T tokens in W seconds",
      .unit = "devices",
      .symbols = { { "P", NULL }, { "T", NULL }, { "R", NULL }, { "U", NULL }, { "W", NULL }, { "f", "6*P" } },
      .expression = "ceil(f/R*T/W*100/U)",
      .source = "derivation: f*T operations at U percent of R a second; f is 6P, or 8P with every layer "
                "recomputed; " LIN_MEGATRON_2021 ", equation 4; Kaplan et al., Scaling Laws, 2020 (arXiv:2001.08361)" },
    { .name = "arithmetic-token", .title = "arithmetic a token in forward and backward, attention over the whole sequence",
      .unit = "operations",
      .symbols = { { "P", NULL }, { "L", NULL }, { "s", NULL }, { "h", NULL } },
      .expression = "6*P + 12*L*s*h",
      .source = "Chowdhery et al., PaLM, 2022 (arXiv:2204.02311), appendix B" },
    { .name = "arithmetic-token-causal", .title = "arithmetic a token in forward and backward, causal attention",
      .unit = "operations",
      .symbols = { { "P", NULL }, { "L", NULL }, { "s", NULL }, { "h", NULL } },
      .expression = "6*P + 6*L*s*h",
      .source = "derivation: half the scores of Chowdhery et al., PaLM, 2022 (arXiv:2204.02311), appendix B" },
    { .name = "global-batch", .title = "sequences a step",
      .unit = "sequences",
      .symbols = { { "b", NULL }, { "D", NULL }, { "m", "1" } },
      .expression = "b*D*m",
      .source = LIN_MEGATRON_2021 ", section 3" },
    { .name = "devices-layout", .title = "devices of a layout; expert parallelism divides D*c",
      .unit = "devices",
      .symbols = { { "D", "1" }, { "t", "1" }, { "c", "1" }, { "p", "1" } },
      .expression = "D*t*c*p",
      .source = LIN_MEGATRON_2021 ", section 3" },
    { .name = "kv-cache-token", .title = "key and value cache of a position",
      .unit = "bytes",
      .symbols = { { "L", NULL }, { "g", NULL }, { "d", NULL }, { "e", "2" } },
      .expression = "2*L*g*d*e",
      .source = "derivation: a key and a value a layer and head; Shazeer, Fast Transformer Decoding, 2019 "
                "(arXiv:1911.02150); Ainslie et al., GQA, 2023 (arXiv:2305.13245)" },
    { .name = "kv-cache", .title = "key and value caches of b sequences of s positions, of which a window is kept",
      .unit = "bytes",
      .symbols = { { "L", NULL }, { "g", NULL }, { "d", NULL }, { "e", "2" }, { "s", NULL }, { "b", "1" }, { "window", "s" } },
      .expression = "2*L*g*d*e*b*min(s, window)",
      .source = "derivation: kv-cache-token times the positions kept; Jiang et al., Mistral 7B, 2023 (arXiv:2310.06825)" },
    { .name = "kv-cache-token-mla", .title = "latent cache of a position, multi-head latent attention",
      .unit = "bytes",
      .symbols = { { "L", NULL }, { "rkv", NULL }, { "dr", NULL }, { "e", "2" } },
      .expression = "L*(rkv + dr)*e",
      .source = "DeepSeek-AI, DeepSeek-V2, 2024 (arXiv:2405.04434), table 1" },
};
/* clang-format on */

const lin_formula_group lin_formula_layouts = { rows, ARRAY_LEN(rows) };
