/* SPDX-License-Identifier: MIT */

/*
 * Which native implementation an op gets: stdlib.md 1.1, one row an op, one column a numerics
 * policy. A column is the outcome of "the greatest legality the policy allows"; NULL means that the
 * canonical body is followed. Ops that are not listed always are.
 */

#include "backend/native.h"

#include <string.h>

typedef struct op_row {
    const char *op;
    const char *by_numerics[3]; /* exact, equivalent, fast */
    bool kernel_only;
} op_row;

#define SAME(name)       \
    {                    \
        name, name, name \
    }
#define NOT_EXACT(name)  \
    {                    \
        NULL, name, name \
    }
#define INPUT_DTYPE(name)                \
    {                                    \
        NULL, name, name "(input dtype)" \
    }
#define FAST_ONLY(name)  \
    {                    \
        NULL, NULL, name \
    }
#define BODY             \
    {                    \
        NULL, NULL, NULL \
    }

#define ATTENTION "torch.nn.functional.scaled_dot_product_attention"
#define GROUPED ATTENTION "(enable_gqa)"

/* clang-format off */
static const op_row op_rows[] = {
    { "std.nn.linear::linear",                  NOT_EXACT("torch.nn.functional.linear"), false },
    { "std.linalg::matmul",                     NOT_EXACT("torch.matmul"), false },
    { "std.linalg::batched_matmul",             NOT_EXACT("torch.matmul"), false },
    { "std.nn.embedding::embedding",            SAME("torch.nn.functional.embedding"), false },
    { "std.nn.norm::rms_norm",                  INPUT_DTYPE("torch.rms_norm"), false },
    { "std.nn.norm::layer_norm",                INPUT_DTYPE("torch.nn.functional.layer_norm"), false },
    { "std.nn.norm::layer_norm_affine",         INPUT_DTYPE("torch.native_layer_norm"), false },
    { "std.nn.dropout::dropout",                SAME("torch.native_dropout"), false },
    { "std.nn.norm::batch_norm",                NOT_EXACT("torch.nn.functional.batch_norm"), false },
    { "std.nn.softmax::softmax",                INPUT_DTYPE("torch.softmax"), false },
    { "std.nn.activations::relu",               NOT_EXACT("torch.relu"), false },
    { "std.nn.activations::sigmoid",            NOT_EXACT("torch.sigmoid"), false },
    { "std.nn.activations::silu",               NOT_EXACT("torch.nn.functional.silu"), false },
    { "std.nn.activations::gelu",               NOT_EXACT("torch.nn.functional.gelu(tanh)"), false },
    { "std.nn.activations::gelu_erf",           NOT_EXACT("torch.nn.functional.gelu"), false },
    { "std.nn.attention::causal_mask",          SAME("torch.tril"), false },
    { "std.nn.attention::attention",            INPUT_DTYPE(ATTENTION), false },
    { "std.nn.attention::attention_rows",       INPUT_DTYPE(ATTENTION), false },
    { "std.nn.attention::grouped_attention",    INPUT_DTYPE(GROUPED), false },
    { "std.nn.attention::grouped_attention_rows", INPUT_DTYPE(GROUPED), false },
    { "std.nn.cache::write_at",                 SAME("torch.Tensor.index_copy"), false },
    { "std.nn.cache::write_span",               SAME("torch.Tensor.index_copy"), false },
    { "std.nn.cache::write_rows",               SAME("torch.Tensor.index_put"), false },
    { "std.nn.cache::write_slot",               SAME("torch.Tensor.index_put"), false },
    { "std.nn.cache::write_slots",              SAME("torch.Tensor.index_put"), false },
    { "std.nn.cache::write_tokens",             SAME("torch.Tensor.index_put(tokens)"), false },
    { "std.nn.recurrent::replace",              SAME("torch.Tensor.copy_"), false },
    { "std.nn.recurrent::causal_conv",          NOT_EXACT("causal_conv1d.causal_conv1d_fn"), false },
    { "std.nn.recurrent::causal_conv_step",     SAME("causal_conv1d.causal_conv1d_update"), false },
    { "std.nn.recurrent::gated_rms_norm",       NOT_EXACT("mamba_ssm.rmsnorm_fn"), false },
    { "std.nn.recurrent::rms_norm_gated",       NOT_EXACT("fla.FusedRMSNormGated"), false },
    { "std.nn.recurrent::ssm_scan",             NOT_EXACT("mamba_ssm.mamba_chunk_scan_combined"), false },
    { "std.nn.recurrent::ssm_step",             SAME("mamba_ssm.selective_state_update"), false },
    { "std.nn.recurrent::delta_scan",           NOT_EXACT("fla.chunk_gated_delta_rule"), false },
    { "std.nn.recurrent::delta_step",           SAME("fla.fused_recurrent_gated_delta_rule"), false },
    { "std.nn.recurrent::wkv_scan",             NOT_EXACT("rwkv5.wkv"), false },
    { "std.nn.recurrent::wkv_step",             SAME("rwkv5.wkv(step)"), false },
    { "std.nn.conv::conv2d",                    NOT_EXACT("torch.nn.functional.conv2d"), false },
    { "std.nn.conv::conv2d_rect",               NOT_EXACT("torch.nn.functional.conv2d"), false },
    { "std.nn.conv::conv1d",                    NOT_EXACT("torch.nn.functional.conv1d"), false },
    { "std.nn.pool::max_pool2d",                SAME("torch.nn.functional.max_pool2d"), false },
    { "std.nn.pool::global_average_pool2d",     NOT_EXACT("torch.Tensor.mean"), false },
    { "std.nn.resize::upsample_nearest2d",      SAME("torch.nn.functional.interpolate(nearest)"), false },
    { "std.nn.loss::linear_cross_entropy",      NOT_EXACT("linnet.linear_cross_entropy"), false },
    { "std.nn.loss::linear_token_log_probs",    NOT_EXACT("linnet.linear_token_log_probs"), false },
    { "std.nn.loss::logits_cross_entropy",      NOT_EXACT("linnet.logits_cross_entropy"), false },
    { "std.nn.loss::logits_cross_entropy_f32",  NOT_EXACT("linnet.logits_cross_entropy_f32"), false },
    { "std.nn.loss::split_cross_entropy",       NOT_EXACT("linnet.split_cross_entropy"), false },
    { "std.nn.loss::split_token_log_probs",     NOT_EXACT("linnet.split_token_log_probs"), false },
    /* Collectives are exact under every policy: their bodies are only right for one shard. */
    { "std.nn.parallel::all_reduce",            SAME("torch.distributed.all_reduce"), false },
    { "std.nn.parallel::all_gather",            SAME("torch.distributed.all_gather"), false },
    { "std.nn.parallel::shared",                SAME("torch.distributed.shared"), false },
    { "std.nn.parallel::gather_sequence",       SAME("torch.distributed.all_gather(sequence)"), false },
    { "std.nn.parallel::reduce_scatter_sequence", SAME("torch.distributed.reduce_scatter(sequence)"), false },
    { "std.quant::take_inputs",                 SAME("torch.index_select"), false },
    { "std.quant::linear_int4_groups",          FAST_ONLY("torch.ops.aten._weight_int4pack_mm"), false },
    { "std.nn.attention::sink_attention",       FAST_ONLY("flash_attn.flash_attn_func(sinks)"), false },
    { "std.nn.latent::latent_attention",        FAST_ONLY("flash_mla.flash_mla_with_kvcache"), false },
    { "std.nn.latent::uneven_attention",        INPUT_DTYPE(ATTENTION), false },
    { "std.nn.moe::top_k",                      SAME("torch.topk"), false },
    { "std.nn.moe::linear_experts",             FAST_ONLY("torch._grouped_mm"), false },
    { "std.nn.moe::linear_experts_shared",      FAST_ONLY("torch._grouped_mm"), false },
    { "std.nn.moe::combine_experts",            FAST_ONLY("torch._grouped_mm"), false },
    /* Kernels of the serving engine: the body is followed, and reports say so. */
    { "std.nn.attention::paged_attention",         BODY, true },
    { "std.nn.attention::paged_prefill_attention", BODY, true },
    { "std.quant::linear_fp8",                     BODY, true },
    { "std.quant::mxfp4_experts",                  BODY, true },
    { "std.quant::mxfp4_experts_shared",           BODY, true },
    { "std.quant::mxfp4_linear_experts_shared",    BODY, true },
    { "std.quant::mxfp4_combine_experts",          BODY, true },
};
/* clang-format on */

lin_choice lin_backend_choose(const char *qualified_op, lin_numerics numerics)
{
    for (size_t i = 0; i < ARRAY_LEN(op_rows); i++) {
        if (strcmp(op_rows[i].op, qualified_op) != 0)
            continue;
        const char *spelling = op_rows[i].by_numerics[numerics];
        return (lin_choice){ .spelling = spelling,
                             .native = spelling ? lin_native_find(spelling) : NULL,
                             .kernel_only = op_rows[i].kernel_only };
    }
    return (lin_choice){ 0 };
}

static const char *const numerics_names[] = { "exact", "equivalent", "fast" };

bool lin_numerics_find(const char *name, lin_numerics *out)
{
    for (size_t i = 0; i < ARRAY_LEN(numerics_names); i++)
        if (strcmp(numerics_names[i], name) == 0) {
            *out = (lin_numerics)i;
            return true;
        }
    return false;
}

const char *lin_numerics_name(lin_numerics numerics)
{
    return numerics_names[numerics];
}
