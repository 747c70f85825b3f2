/* SPDX-License-Identifier: MIT */
#ifndef LIN_SIMPLIFY_H
#define LIN_SIMPLIFY_H

/* Which operations are one computation: the key of common subexpressions (simplify_match.c). */

#include "lang/ops.h"

/* Structurally one type: the same dtype and the same expressions, no proofs. */
bool lin_simplify_same_type(const lin_type *a, const lin_type *b);
/* True when the operation may be merged with an equal one: no regions, no effects. */
bool lin_simplify_mergeable(const lin_op *op);
/* Equal kind, operands, attributes and result types. */
bool lin_simplify_same_op(const lin_function *function, const lin_op *a, const lin_op *b);
uint64_t lin_simplify_hash(const lin_function *function, const lin_op *op);

#endif
