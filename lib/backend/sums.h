/* SPDX-License-Identifier: MIT */
#ifndef LIN_SUMS_H
#define LIN_SUMS_H

/* Sizes of calls as expressions of one table, written shortly; lib/backend alone includes this. */

#include "backend/backend.h"

typedef struct sums {
    lin_expr_table *exprs;
} sums;

static inline lin_expr number(sums s, int64_t value)
{
    return lin_expr_int(s.exprs, value);
}

static inline lin_expr plus(sums s, lin_expr a, lin_expr b)
{
    return lin_expr_add(s.exprs, a, b);
}

static inline lin_expr times(sums s, lin_expr a, lin_expr b)
{
    return lin_expr_mul(s.exprs, a, b);
}

static inline lin_expr largest(sums s, lin_expr a, lin_expr b)
{
    return lin_expr_max(s.exprs, a, b);
}

static inline lin_amount nothing(lin_expr_table *exprs)
{
    return (lin_amount){ lin_expr_int(exprs, 0), LIN_EXACT };
}

/* All axes but the last. */
static inline lin_expr rows_of(sums s, const lin_operand *x)
{
    lin_expr rows = number(s, 1);
    for (uint32_t i = 0; i + 1 < x->rank; i++)
        rows = times(s, rows, x->shape[i]);
    return rows;
}

static inline lin_expr bytes_of(sums s, const lin_operand *x)
{
    return times(s, x->elements, number(s, lin_dtype_bytes(x->dtype)));
}

#endif
