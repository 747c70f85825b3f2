/* SPDX-License-Identifier: MIT */

/*
 * What the kernels of recurrent layers (std.nn.recurrent) need while they work through a sequence
 * in chunks: the state at the border of every chunk, what positions of one chunk are to each other,
 * sums of the decay. From the tensors that the public kernels of mamba_ssm and
 * flash-linear-attention allocate; estimated, because their chunk is a tuning choice.
 */

#include "backend/native.h"
#include "backend/sums.h"

enum { SSM_CHUNK = 128, DELTA_CHUNK = 64, F32 = 4 };

/* Batch rows times chunks of positions. */
static lin_expr chunks_of(sums s, const lin_operand *x, int64_t chunk)
{
    return times(s, x->shape[0], lin_expr_ceildiv(s.exprs, x->shape[1], number(s, chunk)));
}

/* Operands: x [B, S, Heads, P], dt [B, S, Heads], written and read [B, S, Groups, N]. dt and its
 * sums in f32; a state a chunk in f32 and again in x's dtype; a square of products a chunk and
 * group. */
lin_amount lin_ssm_workspace(lin_expr_table *exprs, const lin_operand *operands, uint32_t count,
                             lin_expr result_bytes, lin_phase phase, int64_t processes)
{
    (void)result_bytes, (void)phase, (void)processes;
    if (count < 3 || operands[0].rank != 4 || operands[2].rank != 4)
        return nothing(exprs);
    sums s = { exprs };
    const lin_operand *x = &operands[0], *written = &operands[2];
    const lin_expr state = times(s, times(s, x->shape[2], x->shape[3]), written->shape[3]);
    const lin_expr squares = times(s, written->shape[2], number(s, SSM_CHUNK * SSM_CHUNK * F32));
    const lin_expr chunk =
        plus(s, times(s, state, number(s, F32 + lin_dtype_bytes(x->dtype))), squares);
    const lin_expr steps = times(s, operands[1].elements, number(s, 2 * F32));
    return (lin_amount){ plus(s, steps, times(s, chunks_of(s, x, SSM_CHUNK), chunk)),
                         LIN_ESTIMATED };
}

/* Operands: query and key [B, S, Keys, K], value [B, S, Heads, V], decay [B, S, Heads]. Queries
 * and keys brought to length one; sums of the decay; a row of one chunk's products a position, in
 * f32 and in the dtype; keys (by value head) and values after them; new values; a state a chunk. */
lin_amount lin_delta_workspace(lin_expr_table *exprs, const lin_operand *operands, uint32_t count,
                               lin_expr result_bytes, lin_phase phase, int64_t processes)
{
    (void)result_bytes, (void)phase, (void)processes;
    if (count < 4 || operands[0].rank != 4 || operands[2].rank != 4)
        return nothing(exprs);
    sums s = { exprs };
    const lin_operand *key = &operands[1], *value = &operands[2], *decay = &operands[3];
    const int64_t width = lin_dtype_bytes(key->dtype);
    const lin_expr head = times(s, key->shape[3], number(s, width));
    const lin_expr state = times(s, times(s, value->shape[2], value->shape[3]), head);
    const lin_expr states = times(s, chunks_of(s, key, DELTA_CHUNK), state);
    const lin_expr copies = plus(s, times(s, bytes_of(s, key), number(s, 2)),
                                 times(s, bytes_of(s, value), number(s, 2)));
    const lin_expr row = plus(s, head, number(s, F32 + DELTA_CHUNK * (F32 + width)));
    return (lin_amount){ plus(s, states, plus(s, copies, times(s, decay->elements, row))),
                         LIN_ESTIMATED };
}
