/* SPDX-License-Identifier: MIT */

/*
 * How native implementations store their results and what they need while they run: stdlib.md 2,
 * one row an implementation. A rule that is more than a constant is a function; it gets the call's
 * tensor operands in parameter order and answers with an expression over the graph's symbols, so a
 * graph at another size needs no second look.
 */

#include "backend/native.h"
#include "backend/sums.h"

#include <string.h>

/* Fused attention: one f32 a query row (the log of the softmax's denominator), and a boolean mask
 * as an additive bias in the query's dtype. */
lin_amount lin_attention_workspace(lin_expr_table *exprs, const lin_operand *operands,
                                   uint32_t count, lin_expr result_bytes, lin_phase phase,
                                   int64_t processes)
{
    (void)result_bytes, (void)phase, (void)processes;
    if (count == 0)
        return nothing(exprs);
    sums s = { exprs };
    lin_expr bytes = times(s, rows_of(s, &operands[0]), number(s, 4));
    if (count > 3 && operands[3].dtype == LIN_DTYPE_BOOL)
        bytes = plus(s, bytes,
                     times(s, operands[3].elements, number(s, lin_dtype_bytes(operands[0].dtype))));
    return (lin_amount){ bytes, LIN_ESTIMATED };
}

/* The stacked parts, before they are laid side by side. */
static lin_amount gather_workspace(lin_expr_table *exprs, const lin_operand *operands,
                                   uint32_t count, lin_expr result_bytes, lin_phase phase,
                                   int64_t processes)
{
    (void)operands, (void)count, (void)phase;
    if (processes <= 1)
        return nothing(exprs);
    return (lin_amount){ result_bytes, LIN_BACKEND_MODELED };
}

/* ---- the table ---- */

static const char attention_name[] = "torch.nn.functional.scaled_dot_product_attention";

/* clang-format off */
static const lin_native natives[] = {
    /* name                                      storage                order  workspace                  unknown kept */
    { "torch.nn.functional.linear",               LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_factors },
    { "torch.matmul",                             LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_factors },
    { "torch.nn.functional.embedding",            LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_operand },
    { "torch.index_select",                       LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_operand },
    { "torch.rms_norm",                           LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_rms_norm },
    { "torch.nn.functional.layer_norm",           LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_layer_norm },
    { "torch.native_layer_norm",                  LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_affine_norm },
    { "torch.native_dropout",                     LIN_RESULT_TRAINING,   false, NULL,                      false, &lin_keep_dropout },
    { "torch.nn.functional.batch_norm",           LIN_RESULT_FRESH,      false, NULL,                      false, NULL },
    { "torch.softmax",                            LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_result },
    { "torch.sigmoid",                            LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_result },
    { "torch.relu",                               LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_result },
    { "torch.tanh",                               LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_result },
    { "torch.nn.functional.silu",                 LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_operand },
    { "torch.nn.functional.gelu",                 LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_operand },
    { "torch.nn.functional.gelu(tanh)",           LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_operand },
    { attention_name,                             LIN_RESULT_FRESH,      true,  lin_attention_workspace,   false, &lin_keep_attention },
    { "flash_attn.flash_attn_func(sinks)",        LIN_RESULT_FRESH,      true,  lin_attention_workspace,   false, &lin_keep_attention },
    { "flash_mla.flash_mla_with_kvcache",         LIN_RESULT_FRESH,      false, NULL,                      true,  NULL },
    { "torch.topk",                               LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_nothing },
    { "torch.tril",                               LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_nothing },
    { "torch.Tensor.index_copy",                  LIN_RESULT_IN_PLACE,   false, NULL,                      false, &lin_keep_nothing },
    { "torch.Tensor.index_put",                   LIN_RESULT_IN_PLACE,   false, NULL,                      false, &lin_keep_nothing },
    { "torch.Tensor.index_put(tokens)",           LIN_RESULT_IN_PLACE,   false, NULL,                      false, &lin_keep_nothing },
    { "torch.Tensor.copy_",                       LIN_RESULT_IN_PLACE,   false, NULL,                      false, &lin_keep_nothing },
    { "causal_conv1d.causal_conv1d_fn",           LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_operand },
    { "causal_conv1d.causal_conv1d_update",       LIN_RESULT_IN_PLACE,   false, NULL,                      false, &lin_keep_nothing },
    { "mamba_ssm.rmsnorm_fn",                     LIN_RESULT_FRESH,      false, NULL,                      false, NULL },
    { "mamba_ssm.mamba_chunk_scan_combined",      LIN_RESULT_FRESH,      false, lin_ssm_workspace,         false, NULL },
    { "mamba_ssm.selective_state_update",         LIN_RESULT_IN_PLACE,   false, NULL,                      false, &lin_keep_nothing },
    { "fla.FusedRMSNormGated",                    LIN_RESULT_FRESH,      false, NULL,                      false, NULL },
    { "fla.chunk_gated_delta_rule",               LIN_RESULT_FRESH,      false, lin_delta_workspace,       false, NULL },
    { "fla.fused_recurrent_gated_delta_rule",     LIN_RESULT_IN_PLACE,   false, NULL,                      false, &lin_keep_nothing },
    { "rwkv5.wkv",                                LIN_RESULT_FRESH,      false, NULL,                      false, NULL },
    { "rwkv5.wkv(step)",                          LIN_RESULT_IN_PLACE,   false, NULL,                      false, &lin_keep_nothing },
    { "torch.Tensor.mean",                        LIN_RESULT_FRESH,      false, NULL,                      false, &lin_keep_nothing },
    { "torch.nn.functional.conv2d",               LIN_RESULT_FRESH,      false, NULL,                      true,  NULL },
    { "torch.nn.functional.conv1d",               LIN_RESULT_FRESH,      false, NULL,                      true,  NULL },
    { "torch.nn.functional.max_pool2d",           LIN_RESULT_FRESH,      false, NULL,                      true,  NULL },
    { "torch.nn.functional.interpolate(nearest)", LIN_RESULT_FRESH,      false, NULL,                      true,  NULL },
    { "linnet.linear_cross_entropy",              LIN_RESULT_FRESH,      false, lin_chunked_workspace,     false, &lin_keep_chunked },
    { "linnet.linear_token_log_probs",            LIN_RESULT_FRESH,      false, lin_log_probs_workspace,   false, &lin_keep_log_probs },
    { "linnet.split_cross_entropy",               LIN_RESULT_FRESH,      false, lin_chunked_workspace,     false, &lin_keep_chunked },
    { "linnet.split_token_log_probs",             LIN_RESULT_FRESH,      false, lin_log_probs_workspace,   false, &lin_keep_log_probs },
    { "linnet.logits_cross_entropy",              LIN_RESULT_FRESH,      false, lin_logits_workspace,      false, &lin_keep_logits },
    { "linnet.logits_cross_entropy_f32",          LIN_RESULT_FRESH,      false, lin_logits_f32_workspace,  false, &lin_keep_logits_f32 },
    { "torch.distributed.all_reduce",             LIN_RESULT_COLLECTIVE, false, NULL,                      false, &lin_keep_nothing },
    { "torch.distributed.all_gather",             LIN_RESULT_COLLECTIVE, false, gather_workspace,          false, &lin_keep_nothing },
    { "torch.distributed.all_gather(sequence)",   LIN_RESULT_SEQUENCE,   false, NULL,                      false, &lin_keep_gathered },
    { "torch.distributed.reduce_scatter(sequence)", LIN_RESULT_SEQUENCE, false, NULL,                      false, &lin_keep_nothing },
    { "torch.distributed.shared",                 LIN_RESULT_IDENTITY,   false, NULL,                      false, &lin_keep_nothing },
    { "torch.ops.aten._weight_int4pack_mm",       LIN_RESULT_FRESH,      false, NULL,                      true,  NULL },
    { "torch._grouped_mm",                        LIN_RESULT_FRESH,      false, NULL,                      true,  NULL },
};
/* clang-format on */

const lin_native *lin_native_find(const char *spelling)
{
    static const char suffix[] = "(input dtype)";
    size_t length = strlen(spelling), tail = sizeof suffix - 1;
    if (length > tail && strcmp(spelling + length - tail, suffix) == 0)
        length -= tail;
    bool is_attention = strncmp(spelling, attention_name, sizeof attention_name - 1) == 0;
    for (size_t i = 0; i < ARRAY_LEN(natives); i++) {
        const char *name = natives[i].name;
        if (is_attention ? name == attention_name
                         : strlen(name) == length && strncmp(name, spelling, length) == 0)
            return &natives[i];
    }
    return NULL;
}
