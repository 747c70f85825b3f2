/* SPDX-License-Identifier: MIT */

/*
 * Arithmetic on expressions.
 *
 * Monomials are ordered by degree, then by the powers of the first atoms (graded lexicographic).
 * That order is kept by multiplication, so a product of polynomials is a sequence of merges.
 *
 * A direct-mapped cache remembers results of operations: a trace asks the same few sums and
 * products again and again. An operation costs a few tens of nanoseconds.
 */

#include "base/expr_table.h"

/* Operations of the cache that are no atoms. */
enum { OP_ADD = LIN_ATOM_MAX + 1, OP_SUB, OP_MUL };

/* Above 0 when `a` stands before `b`. */
static int compare_monomials(const lin_term *a, const lin_term *b)
{
    if (a->factors == b->factors)
        return 0;
    if (a->factor_count == 0 || b->factor_count == 0)
        return a->factor_count == 0 ? -1 : 1;
    const monomial *x = monomial_of(a);
    const monomial *y = monomial_of(b);
    if (x->degree != y->degree)
        return x->degree > y->degree ? 1 : -1;
    /* Of equal degree neither is a prefix of the other. */
    uint32_t i = 0;
    while (x->factors[i].atom == y->factors[i].atom && x->factors[i].power == y->factors[i].power)
        i++;
    if (x->factors[i].atom != y->factors[i].atom)
        return x->factors[i].atom < y->factors[i].atom ? 1 : -1;
    return x->factors[i].power > y->factors[i].power ? 1 : -1;
}

/* The product of two terms; false when it is too large to be one. */
static bool multiply_terms(lin_expr_table *table, const lin_term *a, const lin_term *b,
                           lin_term *out)
{
    if (!lin_mul_i64(a->coefficient, b->coefficient, &out->coefficient))
        return false;
    if (a->factor_count == 0 || b->factor_count == 0) {
        const lin_term *other = a->factor_count == 0 ? b : a;
        out->factors = other->factors;
        out->factor_count = other->factor_count;
        return true;
    }
    if (monomial_of(a)->degree + monomial_of(b)->degree > LIN_EXPR_MAX_FACTORS)
        return false;
    lin_factor merged[LIN_EXPR_MAX_FACTORS];
    uint32_t i = 0, j = 0, count = 0;
    while (i < a->factor_count || j < b->factor_count) {
        bool take_a = j == b->factor_count ||
                      (i < a->factor_count && a->factors[i].atom <= b->factors[j].atom);
        bool take_b = i == a->factor_count ||
                      (j < b->factor_count && b->factors[j].atom <= a->factors[i].atom);
        lin_factor factor = take_a ? a->factors[i] : b->factors[j];
        if (take_a && take_b)
            factor.power += b->factors[j].power;
        i += take_a;
        j += take_b;
        merged[count++] = factor;
    }
    out->factors = lin_expr_intern_factors(table, merged, count);
    out->factor_count = count;
    return out->factors != NULL;
}

/* ---- sums and products ---- */

static bool have_buffers(lin_expr_table *table)
{
    for (uint32_t i = 0; i < ARRAY_LEN(table->merged); i++) {
        if (table->merged[i] == NULL)
            table->merged[i] =
                LIN_NEW_ARRAY(table->arena, lin_term, MERGE_TERMS + LIN_EXPR_MAX_TERMS);
        if (table->merged[i] == NULL) {
            table->out_of_memory = true;
            return false;
        }
    }
    return true;
}

/* a + b, or a - b, into `out`, which has room for both. False when a coefficient does not fit. */
static bool merge(lin_terms a, lin_terms b, bool subtract, lin_term *out, uint32_t *out_count)
{
    uint32_t i = 0, j = 0, count = 0;
    while (i < a.count || j < b.count) {
        int order = i == a.count   ? -1
                    : j == b.count ? 1
                                   : compare_monomials(&a.terms[i], &b.terms[j]);
        lin_term term = order >= 0 ? a.terms[i] : b.terms[j];
        int64_t left = order >= 0 ? term.coefficient : 0;
        int64_t right = order <= 0 ? b.terms[j].coefficient : 0;
        if (!(subtract ? lin_sub_i64(left, right, &term.coefficient)
                       : lin_add_i64(left, right, &term.coefficient)))
            return false;
        i += order >= 0;
        j += order <= 0;
        if (term.coefficient != 0)
            out[count++] = term;
    }
    *out_count = count;
    return true;
}

static lin_expr add_or_subtract(lin_expr_table *table, lin_expr a, lin_expr b, bool subtract)
{
    uint32_t count;
    if (!have_buffers(table) || !merge(lin_expr_view(table, a), lin_expr_view(table, b), subtract,
                                       table->merged[0], &count))
        return LIN_EXPR_INVALID;
    return lin_expr_intern_terms(table, table->merged[0], count);
}

/* `b` times one term of `a`, into `out`. */
static bool multiply_row(lin_expr_table *table, const lin_term *factor, lin_terms b, lin_term *out)
{
    for (uint32_t i = 0; i < b.count; i++)
        if (!multiply_terms(table, factor, &b.terms[i], &out[i]))
            return false;
    return true;
}

static lin_expr multiply(lin_expr_table *table, lin_expr a, lin_expr b)
{
    lin_terms left = lin_expr_view(table, a);
    lin_terms right = lin_expr_view(table, b);
    if (left.count > right.count) {
        lin_terms other = left;
        left = right;
        right = other;
    }
    lin_term row[LIN_EXPR_MAX_TERMS];
    if (left.count == 0)
        return lin_expr_int(table, 0);
    if (!have_buffers(table) || !multiply_row(table, &left.terms[0], right, table->merged[0]))
        return LIN_EXPR_INVALID;
    uint32_t count = right.count;
    for (uint32_t i = 1; i < left.count; i++) {
        const lin_terms sum = { table->merged[0], count };
        if (!multiply_row(table, &left.terms[i], right, row) ||
            !merge(sum, (lin_terms){ row, right.count }, false, table->merged[1], &count) ||
            count > MERGE_TERMS)
            return LIN_EXPR_INVALID;
        lin_term *spare = table->merged[0];
        table->merged[0] = table->merged[1];
        table->merged[1] = spare;
    }
    return lin_expr_intern_terms(table, table->merged[0], count);
}

/* ---- quotients, remainders, least and greatest ---- */

static bool fold_ints(lin_atom_kind kind, int64_t a, int64_t b, int64_t *out)
{
    switch (kind) {
    case LIN_ATOM_FLOORDIV:
        return lin_floordiv_i64(a, b, out);
    case LIN_ATOM_CEILDIV:
        return lin_ceildiv_i64(a, b, out);
    case LIN_ATOM_MOD:
        return lin_mod_i64(a, b, out);
    case LIN_ATOM_MIN:
        *out = a < b ? a : b;
        return true;
    case LIN_ATOM_MAX:
        *out = a > b ? a : b;
        return true;
    case LIN_ATOM_SYMBOL:
        break;
    }
    return false;
}

static bool divides_all(lin_terms a, int64_t divisor)
{
    for (uint32_t i = 0; i < a.count; i++) {
        int64_t rest;
        if (!lin_mod_i64(a.terms[i].coefficient, divisor, &rest) || rest != 0)
            return false;
    }
    return true;
}

static lin_expr divide_all(lin_expr_table *table, lin_terms a, int64_t divisor)
{
    if (!have_buffers(table))
        return LIN_EXPR_INVALID;
    for (uint32_t i = 0; i < a.count; i++) {
        table->merged[0][i] = a.terms[i];
        if (!lin_floordiv_i64(a.terms[i].coefficient, divisor, &table->merged[0][i].coefficient))
            return LIN_EXPR_INVALID;
    }
    return lin_expr_intern_terms(table, table->merged[0], a.count);
}

static lin_expr combine(lin_expr_table *table, lin_atom_kind kind, lin_expr a, lin_expr b)
{
    int64_t left, right, value;
    bool is_quotient = kind != LIN_ATOM_MIN && kind != LIN_ATOM_MAX;
    bool right_is_int = lin_expr_is_int(table, b, &right);
    if (lin_expr_is_int(table, a, &left) && right_is_int)
        return fold_ints(kind, left, right, &value) ? lin_expr_int(table, value) : LIN_EXPR_INVALID;
    if (is_quotient && right_is_int) {
        lin_terms terms = lin_expr_view(table, a);
        if (right == 0)
            return LIN_EXPR_INVALID;
        if (divides_all(terms, right))
            return kind == LIN_ATOM_MOD ? lin_expr_int(table, 0) : divide_all(table, terms, right);
    }
    if (!is_quotient && a == b)
        return a;
    const lin_atom_info info = { .kind = kind, .left = a, .right = b };
    return lin_expr_of_atom(table, lin_expr_intern_atom(table, info));
}

/* ---- the operations, through the cache ---- */

static lin_expr compute(lin_expr_table *table, uint32_t operation, lin_expr a, lin_expr b)
{
    switch (operation) {
    case OP_ADD:
        return add_or_subtract(table, a, b, false);
    case OP_SUB:
        return add_or_subtract(table, a, b, true);
    case OP_MUL:
        return multiply(table, a, b);
    default:
        return combine(table, (lin_atom_kind)operation, a, b);
    }
}

static lin_expr operate(lin_expr_table *table, uint32_t operation, lin_expr a, lin_expr b)
{
    if (a == LIN_EXPR_INVALID || b == LIN_EXPR_INVALID)
        return LIN_EXPR_INVALID;
    bool commutes = operation == OP_ADD || operation == OP_MUL || operation == LIN_ATOM_MIN ||
                    operation == LIN_ATOM_MAX;
    if (commutes && a > b) {
        lin_expr other = a;
        a = b;
        b = other;
    }
    cached *slot =
        &table->cache[lin_expr_mix(operation, (uint64_t)a << 32 | b) & (uint32_t)(CACHE_SIZE - 1)];
    if (slot->operation == operation && slot->a == a && slot->b == b)
        return slot->result;
    lin_expr result = compute(table, operation, a, b);
    if (!table->out_of_memory)
        *slot = (cached){ operation, a, b, result };
    return result;
}

lin_expr lin_expr_add(lin_expr_table *table, lin_expr a, lin_expr b)
{
    return operate(table, OP_ADD, a, b);
}

lin_expr lin_expr_sub(lin_expr_table *table, lin_expr a, lin_expr b)
{
    return operate(table, OP_SUB, a, b);
}

lin_expr lin_expr_mul(lin_expr_table *table, lin_expr a, lin_expr b)
{
    return operate(table, OP_MUL, a, b);
}

lin_expr lin_expr_floordiv(lin_expr_table *table, lin_expr a, lin_expr b)
{
    return operate(table, LIN_ATOM_FLOORDIV, a, b);
}

lin_expr lin_expr_ceildiv(lin_expr_table *table, lin_expr a, lin_expr b)
{
    return operate(table, LIN_ATOM_CEILDIV, a, b);
}

lin_expr lin_expr_mod(lin_expr_table *table, lin_expr a, lin_expr b)
{
    return operate(table, LIN_ATOM_MOD, a, b);
}

lin_expr lin_expr_min(lin_expr_table *table, lin_expr a, lin_expr b)
{
    return operate(table, LIN_ATOM_MIN, a, b);
}

lin_expr lin_expr_max(lin_expr_table *table, lin_expr a, lin_expr b)
{
    return operate(table, LIN_ATOM_MAX, a, b);
}
