/* SPDX-License-Identifier: MIT */
#ifndef LIN_NATIVE_H
#define LIN_NATIVE_H

/* Native implementations as the registry spells them -> what is known of their storage, and the
 * rules their rows share; lib/backend alone includes this. */

#include "backend/backend.h"

/* "torch.rms_norm(input dtype)" and "torch.rms_norm" are one row; attention is matched by its
 * prefix. NULL: nothing is known. */
const lin_native *lin_native_find(const char *spelling);

/* native.c, loss.c: workspaces */
lin_amount lin_attention_workspace(lin_expr_table *exprs, const lin_operand *operands,
                                   uint32_t count, lin_expr result_bytes, lin_phase phase,
                                   int64_t processes);
lin_amount lin_chunked_workspace(lin_expr_table *exprs, const lin_operand *operands, uint32_t count,
                                 lin_expr result_bytes, lin_phase phase, int64_t processes);
lin_amount lin_log_probs_workspace(lin_expr_table *exprs, const lin_operand *operands,
                                   uint32_t count, lin_expr result_bytes, lin_phase phase,
                                   int64_t processes);
lin_amount lin_logits_workspace(lin_expr_table *exprs, const lin_operand *operands, uint32_t count,
                                lin_expr result_bytes, lin_phase phase, int64_t processes);
lin_amount lin_logits_f32_workspace(lin_expr_table *exprs, const lin_operand *operands,
                                    uint32_t count, lin_expr result_bytes, lin_phase phase,
                                    int64_t processes);

/* scans.c */
lin_amount lin_ssm_workspace(lin_expr_table *exprs, const lin_operand *operands, uint32_t count,
                             lin_expr result_bytes, lin_phase phase, int64_t processes);
lin_amount lin_delta_workspace(lin_expr_table *exprs, const lin_operand *operands, uint32_t count,
                               lin_expr result_bytes, lin_phase phase, int64_t processes);

/* keeps.c, loss.c: what autograd keeps */
extern const lin_keep lin_keep_gathered; /* in place of the result its operand is kept */
extern const lin_keep lin_keep_nothing, lin_keep_factors, lin_keep_operand, lin_keep_result,
    lin_keep_rms_norm, lin_keep_layer_norm, lin_keep_affine_norm, lin_keep_dropout,
    lin_keep_attention, lin_keep_chunked, lin_keep_log_probs, lin_keep_logits, lin_keep_logits_f32;

#endif
