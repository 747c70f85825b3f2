/* SPDX-License-Identifier: MIT */

/*
 * What forward keeps for backward, 16-bit. Of a GPT layer, in units of s*b*h:
 *
 *     attention   input 2, query, key and value 6, context 2, dropout mask 1           11
 *                 softmax 2as/h, its mask as/h, what dropout left of it 2as/h          5as/h
 *     MLP         input 2, GELU's input 8 and output 8, dropout mask 1                 19
 *     LayerNorms  inputs 2 and 2                                                       4
 *
 * Tensor parallelism leaves whole: the inputs and outputs of the LayerNorms and two masks, 10.
 */

#include "base/base.h"
#include "formula/formula_rows.h"

#define SBH                       \
    { "s", NULL }, { "b", NULL }, \
    {                             \
        "h", NULL                 \
    }
#define SBHA .symbols = { SBH, { "a", NULL } }
#define SBHAT .symbols = { SBH, { "a", NULL }, { "t", NULL } }
#define SBHT .symbols = { SBH, { "t", NULL } }
#define TABLE_2 LIN_MEGATRON_2022 ", table 2"
#define LLAMA                                                                \
    .symbols = { { "h", NULL }, { "a", NULL }, { "g", "a" }, { "d", "h/a" }, \
                 { "F", NULL }, { "s", "1" },  { "b", "1" }, { "t", "1" } }
#define ATTENTION_SUM "4*a*d + 4*g*d + 4*a"
#define LLAMA_SOURCE                                                                  \
    "derivation: tensor by tensor, with rotated query, key and value, one f32 a row " \
    "and head, and the attention's result 4ad + 4gd + 4a; "
#define EAGER                                                                               \
    "eager norms keep an f32 copy, the normalised rows and the result, 8h a norm; the MLP " \
    "gate, its SiLU, up and product, 8F"
#define FUSED_NORM \
    "fused norms keep input and result, 4h a norm; the MLP gate, its SiLU, up and product, 8F"
#define FUSED "fused norms keep input and result, 4h a norm; fused SwiGLU gate, up and product, 6F"

/* clang-format off */
static const lin_formula rows[] = {
    { .name = "activations-gpt", .title = "a GPT layer with dropout: nothing recomputed, unfused attention",
      .unit = "bytes", SBHA,
      .expression = "s*b*h*(34 + 5*a*s/h)",
      .source = LIN_MEGATRON_2022 ", section 4.1" },
    { .name = "activations-gpt-tp", .title = "a GPT layer, tensor parallel",
      .unit = "bytes", SBHAT,
      .expression = "s*b*h*(10 + 24/t + 5*a*s/(h*t))",
      .source = LIN_MEGATRON_2022 ", section 4.2.1" },
    { .name = "activations-gpt-tp-sp", .title = "a GPT layer, tensor and sequence parallel",
      .unit = "bytes", SBHAT,
      .expression = "s*b*h*(34 + 5*a*s/h)/t",
      .source = LIN_MEGATRON_2022 ", section 4.2.2" },
    { .name = "activations-gpt-selective", .title = "a GPT layer, attention core recomputed or fused",
      .unit = "bytes", .symbols = { SBH },
      .expression = "34*s*b*h",
      .source = TABLE_2 ", on one device" },
    { .name = "activations-gpt-tp-selective", .title = "a GPT layer, tensor parallel, attention core recomputed or fused",
      .unit = "bytes", SBHT,
      .expression = "s*b*h*(10 + 24/t)",
      .source = TABLE_2 },
    { .name = "activations-gpt-tp-sp-selective", .title = "a GPT layer, tensor and sequence parallel, attention core recomputed or fused",
      .unit = "bytes", SBHT,
      .expression = "34*s*b*h/t",
      .source = TABLE_2 },
    { .name = "activations-gpt-full", .title = "a GPT layer, recomputed from its input; beside it one layer's full set while it runs",
      .unit = "bytes", .symbols = { SBH },
      .expression = "2*s*b*h",
      .source = TABLE_2 },
    { .name = "activations-gpt-full-sp", .title = "a GPT layer, recomputed from an input that is split over the tensor-parallel ranks",
      .unit = "bytes", SBHT,
      .expression = "2*s*b*h/t",
      .source = "derivation: " TABLE_2 ", the input split as --distribute-saved-activations does" },
    { .name = "activations-gpt-cp", .title = "a GPT layer, fused attention, context parallel; buffers of the key and value ring apart",
      .unit = "bytes", .symbols = { SBH, { "c", NULL } },
      .expression = "34*b*h*s/c",
      .source = "derivation: each rank has s/c positions; Liu et al., Ring Attention, 2023 (arXiv:2310.01889)" },
    { .name = "activations-gpt-no-dropout", .title = "a GPT layer without dropout, unfused attention",
      .unit = "bytes", SBHA,
      .expression = "s*b*h*(32 + 2*a*s/h)",
      .source = "derivation: " LIN_MEGATRON_2022 ", section 4.1, without the masks and the dropped copy" },
    { .name = "activations-gpt-tp-no-dropout", .title = "a GPT layer without dropout, tensor parallel",
      .unit = "bytes", SBHAT,
      .expression = "s*b*h*(8 + 24/t + 2*a*s/(h*t))",
      .source = "derivation: " LIN_MEGATRON_2022 ", section 4.2.1, without the masks and the dropped copy" },
    { .name = "activations-gpt-ends", .title = "outside the layers: embedding dropout mask, last LayerNorm's input, the head's input",
      .unit = "bytes", .symbols = { SBH, { "t", "1" } },
      .expression = "(1 + 2 + 2)*s*b*h/t",
      .source = LIN_MEGATRON_2022 ", section 4.3; divided by t with sequence parallelism" },
    { .name = "activations-layernorm-statistics", .title = "f32 mean and deviation of a layer's two LayerNorms",
      .unit = "bytes", .symbols = { { "s", NULL }, { "b", NULL } },
      .expression = "2*2*4*s*b",
      .source = "derivation: torch.native_layer_norm on CUDA" },
    { .name = "activations-attention-rows", .title = "the f32 a row and head that fused attention keeps",
      .unit = "bytes", .symbols = { { "s", NULL }, { "b", NULL }, { "a", NULL } },
      .expression = "4*a*s*b",
      .source = "Dao, FlashAttention-2, 2023 (arXiv:2307.08691), section 3.1" },
    { .name = "activations-llama-eager", .title = "a Llama layer, eager norms and MLP, fused attention; divided by t with sequence parallelism",
      .unit = "bytes", LLAMA,
      .expression = "s*b*(16*h + 8 + " ATTENTION_SUM " + 8*F)/t",
      .source = LLAMA_SOURCE EAGER },
    { .name = "activations-llama-fused-norm", .title = "a Llama layer, fused norms, eager MLP; divided by t with sequence parallelism",
      .unit = "bytes", LLAMA,
      .expression = "s*b*(8*h + 8 + " ATTENTION_SUM " + 8*F)/t",
      .source = LLAMA_SOURCE FUSED_NORM },
    { .name = "activations-llama-fused", .title = "a Llama layer, fused norms, fused SwiGLU; divided by t with sequence parallelism",
      .unit = "bytes", LLAMA,
      .expression = "s*b*(8*h + 8 + " ATTENTION_SUM " + 6*F)/t",
      .source = LLAMA_SOURCE FUSED },
    { .name = "activations-llama-eager-tp", .title = "as activations-llama-eager, tensor parallel without sequence parallelism",
      .unit = "bytes", LLAMA,
      .expression = "s*b*(16*h + 8 + (" ATTENTION_SUM " + 8*F)/t)",
      .source = LLAMA_SOURCE EAGER },
    { .name = "activations-llama-fused-norm-tp", .title = "as activations-llama-fused-norm, tensor parallel without sequence parallelism",
      .unit = "bytes", LLAMA,
      .expression = "s*b*(8*h + 8 + (" ATTENTION_SUM " + 8*F)/t)",
      .source = LLAMA_SOURCE FUSED_NORM },
    { .name = "activations-llama-fused-tp", .title = "as activations-llama-fused, tensor parallel without sequence parallelism",
      .unit = "bytes", LLAMA,
      .expression = "s*b*(8*h + 8 + (" ATTENTION_SUM " + 6*F)/t)",
      .source = LLAMA_SOURCE FUSED },
    { .name = "activations-llama-joint-qkv", .title = "what a joint QKV product adds to a Llama layer when value is a view of it",
      .unit = "bytes",
      .symbols = { { "h", NULL }, { "a", NULL }, { "g", "a" }, { "d", "h/a" }, { "s", "1" }, { "b", "1" } },
      .expression = "s*b*2*(a*d + g*d)",
      .source = "derivation: value's view keeps the whole product, of which rotation copied query and key" },
    { .name = "activations-megatron", .title = "Megatron's estimate of a model's activations on one stage, sequence parallel, selective",
      .unit = "bytes",
      .symbols = { SBH, { "L", NULL }, { "F", "4*h" }, { "V", NULL }, { "t", "1" } },
      .expression = "(s*b*h*(18 + 4*F/h)*L + 8*s*b + s*b*h + 4*s*b*h*(1 + V/h))/t",
      .source = LIN_MEGATRON_CODE ", compute_activation_memory" },
    { .name = "activations-megatron-pipeline", .title = "Megatron's estimate for the first of p stages, 1F1B, m micro-batches, sequence parallel, selective",
      .unit = "bytes",
      .symbols = { SBH, { "L", NULL }, { "F", "4*h" }, { "p", NULL }, { "m", "p" }, { "t", "1" } },
      .expression = "(s*b*h*(18 + 4*F/h)*L + 8*s*b*p + s*b*h*p)*min(1, m/p)/t",
      .source = LIN_MEGATRON_CODE ", compute_activation_memory",
      .conditions = { { "p - 1", "with one stage, activations-megatron counts the head and the loss too", LINNET_ERROR_ARGUMENT } } },
    { .name = "logits", .title = "f32 logits, what textbooks count and Megatron keeps",
      .unit = "bytes", .symbols = { { "s", NULL }, { "b", NULL }, { "V", NULL }, { "t", "1" } },
      .expression = "4*s*b*V/t",
      .source = LIN_MEGATRON_2022 ", section 4.3" },
    { .name = "logits-bf16", .title = "16-bit logits",
      .unit = "bytes", .symbols = { { "s", NULL }, { "b", NULL }, { "V", NULL }, { "t", "1" } },
      .expression = "2*s*b*V/t",
      .source = "derivation: one 16-bit number a position and word" },
    { .name = "logits-megatron-peak", .title = "logits in the forward pass of Megatron's vocabulary-parallel cross-entropy",
      .unit = "bytes", .symbols = { { "s", NULL }, { "b", NULL }, { "V", NULL }, { "t", "1" } },
      .expression = "(2 + 4)*s*b*V/t",
      .source = "derivation: 16-bit logits and an f32 copy that is normalised in place; Megatron Core, "
                "core/tensor_parallel/cross_entropy.py" },
    { .name = "logits-eager-peak", .title = "logits in the backward pass of an eager f32 cross-entropy",
      .unit = "bytes", .symbols = { { "s", NULL }, { "b", NULL }, { "V", NULL }, { "held", "2" } },
      .expression = "(held + 4 + 4 + 4)*s*b*V",
      .source = "derivation: log-probabilities, their gradient and the logits' gradient in f32, and the "
                "16-bit logits when something still refers to them (held = 2, else 0)" },
    { .name = "logits-chunked", .title = "logits of a fused linear cross-entropy that goes chunk by chunk",
      .unit = "bytes", .symbols = { { "chunk", NULL }, { "V", NULL } },
      .expression = "2*chunk*V",
      .source = "derivation: one chunk's 16-bit logits, overwritten by their gradient; Hsu et al., Liger "
                "Kernel, 2024 (arXiv:2410.10989)" },
};
/* clang-format on */

const lin_formula_group lin_formula_kept = { rows, ARRAY_LEN(rows) };
