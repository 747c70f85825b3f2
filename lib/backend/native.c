/* SPDX-License-Identifier: MIT */

/*
 * How native implementations store their results and what they need while they run: stdlib.md 2,
 * one row an implementation. A rule that is more than a constant is a function; it gets the call's
 * tensor operands in parameter order and answers with an expression over the graph's symbols, so a
 * graph at another size needs no second look.
 */

#include "backend/native.h"

#include <string.h>

/* Expressions of one table, written shortly. */
typedef struct sums {
    lin_expr_table *exprs;
} sums;

static lin_expr number(sums s, int64_t value)
{
    return lin_expr_int(s.exprs, value);
}

static lin_expr plus(sums s, lin_expr a, lin_expr b)
{
    return lin_expr_add(s.exprs, a, b);
}

static lin_expr times(sums s, lin_expr a, lin_expr b)
{
    return lin_expr_mul(s.exprs, a, b);
}

static lin_expr largest(sums s, lin_expr a, lin_expr b)
{
    return lin_expr_max(s.exprs, a, b);
}

static lin_amount nothing(lin_expr_table *exprs)
{
    return (lin_amount){ lin_expr_int(exprs, 0), LIN_EXACT };
}

/* All axes but the last. */
static lin_expr rows_of(sums s, const lin_operand *x)
{
    lin_expr rows = number(s, 1);
    for (uint32_t i = 0; i + 1 < x->rank; i++)
        rows = times(s, rows, x->shape[i]);
    return rows;
}

/* Fused attention: one f32 a query row (the log of the softmax's denominator), and a boolean mask
 * as an additive bias in the query's dtype. */
static lin_amount attention_workspace(lin_expr_table *exprs, const lin_operand *operands,
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

/* ---- the chunked output-head loss, stdlib.md 2.3 ---- */

/* Blocks of rows sized so that one block's f32 logits take about this much. */
enum { LOSS_BLOCK_BYTES = 1 << 30 };

/* Elements of the logits of one block of rows and of the next, and what a product for the weight's
 * gradient takes, in the input dtype and in f32. */
typedef struct loss_sizes {
    lin_expr block, second, update;
    int64_t element; /* bytes of one element of hidden */
} loss_sizes;

static loss_sizes measure_loss(sums s, const lin_operand *hidden, const lin_operand *weight)
{
    lin_expr rows = hidden->shape[0], vocabulary = weight->shape[0];
    lin_expr fitting =
        lin_expr_floordiv(s.exprs, number(s, LOSS_BLOCK_BYTES), times(s, number(s, 4), vocabulary));
    lin_expr block = lin_expr_min(s.exprs, rows, largest(s, number(s, 1), fitting));
    lin_expr second = lin_expr_min(s.exprs, block, lin_expr_sub(s.exprs, rows, block));
    loss_sizes sizes;
    sizes.element = lin_dtype_bytes(hidden->dtype);
    sizes.block = times(s, block, vocabulary);
    sizes.second = times(s, second, vocabulary);
    sizes.update = times(s, weight->elements, number(s, sizes.element + 4));
    return sizes;
}

static lin_expr loss_without_gradients(sums s, loss_sizes n)
{
    lin_expr wide = number(s, n.element + 4);
    lin_expr first = largest(s, times(s, n.block, wide), times(s, n.block, number(s, 8)));
    return largest(s, first, plus(s, times(s, n.block, number(s, 4)), times(s, n.second, wide)));
}

static lin_expr cross_entropy_with_gradients(sums s, loss_sizes n)
{
    lin_expr block = times(s, n.block, number(s, n.element + 4));
    lin_expr first = largest(s, block, times(s, n.block, number(s, 8)));
    return largest(
        s, first,
        largest(s, plus(s, block, n.update), plus(s, block, times(s, n.second, number(s, 8)))));
}

static bool is_loss_call(const lin_operand *operands, uint32_t count)
{
    return count >= 2 && operands[0].rank == 2 && operands[1].rank == 2;
}

static lin_amount cross_entropy_workspace(lin_expr_table *exprs, const lin_operand *operands,
                                          uint32_t count, lin_expr result_bytes, lin_phase phase,
                                          int64_t processes)
{
    (void)result_bytes, (void)processes;
    /* The gradients were made with the loss: nothing is left to do in backward. */
    if (!is_loss_call(operands, count) || phase == LIN_PHASE_BACKWARD)
        return nothing(exprs);
    sums s = { exprs };
    loss_sizes n = measure_loss(s, &operands[0], &operands[1]);
    lin_expr bytes = phase == LIN_PHASE_INFERENCE ? loss_without_gradients(s, n)
                                                  : cross_entropy_with_gradients(s, n);
    return (lin_amount){ bytes, LIN_BACKEND_MODELED };
}

/* In backward the logits are made again, beside both gradients: the weight's in f32 and hidden's in
 * its dtype. */
static lin_expr log_probs_backward(sums s, loss_sizes n, const lin_operand *hidden,
                                   const lin_operand *weight)
{
    lin_expr wide = number(s, n.element + 4);
    lin_expr block = times(s, n.block, wide);
    lin_expr blocks =
        largest(s, plus(s, block, times(s, n.second, wide)), plus(s, block, n.update));
    lin_expr gradients = plus(s, times(s, weight->elements, number(s, 4)),
                              times(s, hidden->elements, number(s, n.element)));
    return plus(s, blocks, gradients);
}

static lin_amount log_probs_workspace(lin_expr_table *exprs, const lin_operand *operands,
                                      uint32_t count, lin_expr result_bytes, lin_phase phase,
                                      int64_t processes)
{
    (void)result_bytes, (void)processes;
    if (!is_loss_call(operands, count))
        return nothing(exprs);
    sums s = { exprs };
    loss_sizes n = measure_loss(s, &operands[0], &operands[1]);
    lin_expr bytes = phase == LIN_PHASE_BACKWARD
                         ? log_probs_backward(s, n, &operands[0], &operands[1])
                         : loss_without_gradients(s, n);
    return (lin_amount){ bytes, LIN_BACKEND_MODELED };
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
    /* name                                      storage                order  workspace                unknown */
    { "torch.nn.functional.linear",               LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.matmul",                             LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.nn.functional.embedding",            LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.index_select",                       LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.rms_norm",                           LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.nn.functional.layer_norm",           LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.nn.functional.batch_norm",           LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.softmax",                            LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.sigmoid",                            LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.relu",                               LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.tanh",                               LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.nn.functional.silu",                 LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.nn.functional.gelu",                 LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.nn.functional.gelu(tanh)",           LIN_RESULT_FRESH,      false, NULL,                    false },
    { attention_name,                             LIN_RESULT_FRESH,      true,  attention_workspace,     false },
    { "torch.tril",                               LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.Tensor.index_copy",                  LIN_RESULT_IN_PLACE,   false, NULL,                    false },
    { "torch.Tensor.index_put",                   LIN_RESULT_IN_PLACE,   false, NULL,                    false },
    { "torch.Tensor.index_put(tokens)",           LIN_RESULT_IN_PLACE,   false, NULL,                    false },
    { "torch.Tensor.mean",                        LIN_RESULT_FRESH,      false, NULL,                    false },
    { "torch.nn.functional.conv2d",               LIN_RESULT_FRESH,      false, NULL,                    true },
    { "torch.nn.functional.conv1d",               LIN_RESULT_FRESH,      false, NULL,                    true },
    { "torch.nn.functional.max_pool2d",           LIN_RESULT_FRESH,      false, NULL,                    true },
    { "torch.nn.functional.interpolate(nearest)", LIN_RESULT_FRESH,      false, NULL,                    true },
    { "linnet.linear_cross_entropy",              LIN_RESULT_FRESH,      false, cross_entropy_workspace, false },
    { "linnet.linear_token_log_probs",            LIN_RESULT_FRESH,      false, log_probs_workspace,     false },
    { "linnet.split_cross_entropy",               LIN_RESULT_FRESH,      false, cross_entropy_workspace, false },
    { "linnet.split_token_log_probs",             LIN_RESULT_FRESH,      false, log_probs_workspace,     false },
    { "torch.distributed.all_reduce",             LIN_RESULT_COLLECTIVE, false, NULL,                    false },
    { "torch.distributed.all_gather",             LIN_RESULT_COLLECTIVE, false, gather_workspace,        false },
    { "torch.distributed.shared",                 LIN_RESULT_IDENTITY,   false, NULL,                    false },
    { "torch.ops.aten._weight_int4pack_mm",       LIN_RESULT_FRESH,      false, NULL,                    true },
    { "torch._grouped_mm",                        LIN_RESULT_FRESH,      false, NULL,                    true },
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
