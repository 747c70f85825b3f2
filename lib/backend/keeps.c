/* SPDX-License-Identifier: MIT */

/*
 * What autograd keeps from a native call until its backward (stdlib.md 2, "saved" and "extra
 * kept"): operands by number, results, and memory that the kernel makes for itself. An operand that
 * is the factor of another's gradient is kept only when that gradient is wanted.
 */

#include "backend/native.h"
#include "backend/sums.h"

/* One f32 a query row (the log of the softmax's denominator), and a boolean mask as an additive
 * bias in the query's dtype. */
static lin_amount attention_extra(lin_expr_table *exprs, const lin_operand *operands,
                                  uint32_t count)
{
    return lin_attention_workspace(exprs, operands, count, LIN_EXPR_INVALID,
                                   LIN_PHASE_FORWARD_WITH_GRADIENTS, 1);
}

/* f32 statistics a row; a normalised copy of the input for the weight's gradient. */
static lin_amount norm_extra(lin_expr_table *exprs, const lin_operand *operands, uint32_t count,
                             int64_t statistics, bool copies)
{
    if (count == 0)
        return nothing(exprs);
    sums s = { exprs };
    lin_expr bytes = times(s, rows_of(s, &operands[0]), number(s, 4 * statistics));
    if (copies && count > 1 && operands[1].carries_gradient)
        bytes = plus(s, bytes, bytes_of(s, &operands[0]));
    return (lin_amount){ bytes, LIN_BACKEND_MODELED };
}

static lin_amount rms_norm_extra(lin_expr_table *exprs, const lin_operand *operands, uint32_t count)
{
    return norm_extra(exprs, operands, count, 1, true);
}

static lin_amount layer_norm_extra(lin_expr_table *exprs, const lin_operand *operands,
                                   uint32_t count)
{
    return norm_extra(exprs, operands, count, 2, true);
}

/* Weight and bias are inside the kernel: nothing but mean and deviation is added. */
static lin_amount affine_norm_extra(lin_expr_table *exprs, const lin_operand *operands,
                                    uint32_t count)
{
    return norm_extra(exprs, operands, count, 2, false);
}

/* A mask of one byte an element (autograd-saved-tensors.md 2, native_dropout). */
static lin_amount dropout_extra(lin_expr_table *exprs, const lin_operand *operands, uint32_t count)
{
    if (count == 0)
        return nothing(exprs);
    return (lin_amount){ operands[0].elements, LIN_BACKEND_MODELED };
}

enum { FIRST = 1 << 0, FIRST_TWO = 3, FIRST_THREE = 7, RESULT = 1 << 0 };

const lin_keep lin_keep_nothing = { .operands = 0 };
const lin_keep lin_keep_gathered = { .gathers_again = true };
const lin_keep lin_keep_factors = { .factors = true };
const lin_keep lin_keep_operand = { .operands = FIRST };
const lin_keep lin_keep_result = { .results = RESULT };
const lin_keep lin_keep_rms_norm = { .operands = FIRST_TWO, .extra = rms_norm_extra };
const lin_keep lin_keep_layer_norm = { .operands = FIRST_TWO, .extra = layer_norm_extra };
const lin_keep lin_keep_affine_norm = { .operands = FIRST_TWO, .extra = affine_norm_extra };
const lin_keep lin_keep_dropout = { .extra = dropout_extra };
const lin_keep lin_keep_attention = { .operands = FIRST_THREE,
                                      .results = RESULT,
                                      .extra = attention_extra };
