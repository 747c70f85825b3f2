/* SPDX-License-Identifier: MIT */

/*
 * The losses of an output head: hidden states [N, H] and a weight [V, H] against N targets.
 *
 *     chunked      blocks of rows whose f32 logits take about 1 GiB; the gradients of hidden and
 *                  weight are made with the loss and kept until backward (stdlib.md 2.3)
 *     logits       all N V logits in the model's dtype, and their log-probabilities in it
 *     logits-f32   the logits also in f32, and the log-probabilities in f32: what eager code does
 *                  that casts first (autograd-saved-tensors.md 6)
 *
 * Bytes a logit of the last two, with logits of e bytes; what is kept is counted apart:
 *
 *                   kept   forward beside it            backward beside it
 *     logits         e     e  (logits)                  2 e  (gradients of log-probabilities,
 * logits) logits-f32     4     e + 4 (logits, their cast)   8    (the same two, in f32)
 */

#include "backend/native.h"
#include "backend/sums.h"

#include <string.h>

/* ---- chunked ---- */

/* The operands of a maximum print in the order in which they were made, so each is made in a
 * statement of its own: the order of a call's arguments is the compiler's. */

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
    lin_expr made = times(s, n.block, wide);
    lin_expr summed = times(s, n.block, number(s, 8));
    lin_expr first = largest(s, made, summed);
    lin_expr kept = times(s, n.block, number(s, 4));
    lin_expr next = times(s, n.second, wide);
    return largest(s, first, plus(s, kept, next));
}

static lin_expr cross_entropy_with_gradients(sums s, loss_sizes n)
{
    lin_expr block = times(s, n.block, number(s, n.element + 4));
    lin_expr summed = times(s, n.block, number(s, 8));
    lin_expr first = largest(s, block, summed);
    lin_expr updated = plus(s, block, n.update);
    lin_expr next = plus(s, block, times(s, n.second, number(s, 8)));
    return largest(s, first, largest(s, updated, next));
}

static bool is_loss_call(const lin_operand *operands, uint32_t count)
{
    return count >= 2 && operands[0].rank == 2 && operands[1].rank == 2;
}

lin_amount lin_chunked_workspace(lin_expr_table *exprs, const lin_operand *operands, uint32_t count,
                                 lin_expr result_bytes, lin_phase phase, int64_t processes)
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
    lin_expr next = plus(s, block, times(s, n.second, wide));
    lin_expr updated = plus(s, block, n.update);
    lin_expr blocks = largest(s, next, updated);
    lin_expr of_weight = times(s, weight->elements, number(s, 4));
    lin_expr of_hidden = times(s, hidden->elements, number(s, n.element));
    return plus(s, blocks, plus(s, of_weight, of_hidden));
}

lin_amount lin_log_probs_workspace(lin_expr_table *exprs, const lin_operand *operands,
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

/* What is kept: hidden's gradient, and the weight's in f32. */
static lin_amount chunked_extra(lin_expr_table *exprs, const lin_operand *operands, uint32_t count)
{
    if (!is_loss_call(operands, count))
        return nothing(exprs);
    sums s = { exprs };
    lin_expr bytes =
        plus(s, bytes_of(s, &operands[0]), times(s, operands[1].elements, number(s, 4)));
    return (lin_amount){ bytes, LIN_BACKEND_MODELED };
}

/* The log of each row's sum of exponentials. */
static lin_amount log_probs_extra(lin_expr_table *exprs, const lin_operand *operands,
                                  uint32_t count)
{
    if (!is_loss_call(operands, count))
        return nothing(exprs);
    sums s = { exprs };
    return (lin_amount){ times(s, rows_of(s, &operands[0]), number(s, 4)), LIN_BACKEND_MODELED };
}

/* ---- all logits at once ---- */

static lin_expr logits_of(sums s, const lin_operand *operands)
{
    return times(s, operands[0].shape[0], operands[1].shape[0]);
}

lin_amount lin_logits_workspace(lin_expr_table *exprs, const lin_operand *operands, uint32_t count,
                                lin_expr result_bytes, lin_phase phase, int64_t processes)
{
    (void)result_bytes, (void)processes;
    if (!is_loss_call(operands, count))
        return nothing(exprs);
    sums s = { exprs };
    const int64_t element = lin_dtype_bytes(operands[0].dtype);
    const int64_t a_logit = phase == LIN_PHASE_FORWARD_WITH_GRADIENTS ? element : 2 * element;
    return (lin_amount){ times(s, logits_of(s, operands), number(s, a_logit)),
                         LIN_BACKEND_MODELED };
}

static lin_amount logits_extra(lin_expr_table *exprs, const lin_operand *operands, uint32_t count)
{
    if (!is_loss_call(operands, count))
        return nothing(exprs);
    sums s = { exprs };
    const int64_t element = lin_dtype_bytes(operands[0].dtype);
    return (lin_amount){ times(s, logits_of(s, operands), number(s, element)),
                         LIN_BACKEND_MODELED };
}

/* Logits that are f32 already are not cast. */
lin_amount lin_logits_f32_workspace(lin_expr_table *exprs, const lin_operand *operands,
                                    uint32_t count, lin_expr result_bytes, lin_phase phase,
                                    int64_t processes)
{
    (void)result_bytes, (void)processes;
    if (!is_loss_call(operands, count))
        return nothing(exprs);
    sums s = { exprs };
    const int64_t element = lin_dtype_bytes(operands[0].dtype);
    const int64_t forward = operands[0].dtype == LIN_DTYPE_F32 ? 4 : element + 4;
    const int64_t a_logit = phase == LIN_PHASE_BACKWARD    ? 8
                            : phase == LIN_PHASE_INFERENCE ? forward + 4
                                                           : forward;
    return (lin_amount){ times(s, logits_of(s, operands), number(s, a_logit)),
                         LIN_BACKEND_MODELED };
}

static lin_amount logits_f32_extra(lin_expr_table *exprs, const lin_operand *operands,
                                   uint32_t count)
{
    if (!is_loss_call(operands, count))
        return nothing(exprs);
    sums s = { exprs };
    return (lin_amount){ times(s, logits_of(s, operands), number(s, 4)), LIN_BACKEND_MODELED };
}

/* hidden for the weight's gradient, the weight for hidden's, and the targets */
enum { TARGETS = 1 << 2, HIDDEN_WEIGHT_TARGETS = 7 };

const lin_keep lin_keep_chunked = { .extra = chunked_extra };
const lin_keep lin_keep_log_probs = { .operands = HIDDEN_WEIGHT_TARGETS, .extra = log_probs_extra };
const lin_keep lin_keep_logits = { .operands = TARGETS, .factors = true, .extra = logits_extra };
const lin_keep lin_keep_logits_f32 = { .operands = TARGETS,
                                       .factors = true,
                                       .extra = logits_f32_extra };

/* ---- which of them ---- */

static const struct loss_row {
    const char *name, *op;
} loss_rows[] = {
    [LIN_LOSS_CHUNKED] = { "chunked", "std.nn.loss::linear_cross_entropy" },
    [LIN_LOSS_LOGITS] = { "logits", "std.nn.loss::logits_cross_entropy" },
    [LIN_LOSS_LOGITS_F32] = { "logits-f32", "std.nn.loss::logits_cross_entropy_f32" },
};

bool lin_loss_find(const char *name, lin_loss *out)
{
    for (size_t i = LIN_LOSS_CHUNKED; i < ARRAY_LEN(loss_rows); i++)
        if (strcmp(loss_rows[i].name, name) == 0) {
            *out = (lin_loss)i;
            return true;
        }
    return false;
}

const char *lin_loss_name(lin_loss loss)
{
    return loss_rows[loss].name;
}

const char *lin_loss_op(const char *qualified_op, lin_loss loss)
{
    for (size_t i = LIN_LOSS_CHUNKED; i < ARRAY_LEN(loss_rows); i++)
        if (strcmp(loss_rows[i].op, qualified_op) == 0)
            return loss_rows[loss == LIN_LOSS_AS_WRITTEN ? i : (size_t)loss].op;
    return NULL;
}
