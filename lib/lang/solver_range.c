/* SPDX-License-Identifier: MIT */

/*
 * Bounds of expressions by interval arithmetic: symbols are at least 0 or within what facts say,
 * quotients, remainders, least and greatest from their operands. A product is bounded only when all
 * its factors are known not to be negative. Whatever does not fit in 64 bits counts as unknown.
 */

#include "lang/solver_facts.h"

static const lin_range anything = { false, false, 0, 0 };

static lin_range between(int64_t low, int64_t high)
{
    return (lin_range){ true, true, low, high };
}

static lin_range at_least(int64_t low)
{
    return (lin_range){ .has_low = true, .low = low };
}

static lin_range narrow(lin_range a, lin_range b)
{
    if (b.has_low && (!a.has_low || b.low > a.low)) {
        a.has_low = true;
        a.low = b.low;
    }
    if (b.has_high && (!a.has_high || b.high < a.high)) {
        a.has_high = true;
        a.high = b.high;
    }
    return a;
}

static lin_range add(lin_range a, lin_range b)
{
    lin_range sum = anything;
    sum.has_low = a.has_low && b.has_low && lin_add_i64(a.low, b.low, &sum.low);
    sum.has_high = a.has_high && b.has_high && lin_add_i64(a.high, b.high, &sum.high);
    return sum;
}

static lin_range scale(lin_range a, int64_t factor)
{
    lin_range out = anything;
    if (factor < 0)
        a = (lin_range){ a.has_high, a.has_low, a.high, a.low };
    out.has_low = a.has_low && lin_mul_i64(a.low, factor, &out.low);
    out.has_high = a.has_high && lin_mul_i64(a.high, factor, &out.high);
    return out;
}

/* Both at least 0. */
static lin_range multiply(lin_range a, lin_range b)
{
    lin_range out = at_least(0);
    if (!lin_mul_i64(a.low, b.low, &out.low))
        out.low = INT64_MAX;
    out.has_high = a.has_high && b.has_high && lin_mul_i64(a.high, b.high, &out.high);
    return out;
}

/* p / q for q >= 1, rounded by `divide`. A larger divisor brings a quotient nearer to 0. */
static lin_range quotient(lin_range p, lin_range q, bool (*divide)(int64_t, int64_t, int64_t *))
{
    lin_range out = anything;
    if (!q.has_low || q.low < 1)
        return out;
    if (p.has_low && p.low >= 0)
        out.has_low = q.has_high ? divide(p.low, q.high, &out.low) : true;
    else if (p.has_low)
        out.has_low = divide(p.low, q.low, &out.low);
    if (p.has_high && p.high >= 0)
        out.has_high = divide(p.high, q.low, &out.high);
    else if (p.has_high && q.has_high)
        out.has_high = divide(p.high, q.high, &out.high);
    return out;
}

static lin_range remainder_range(lin_range p, lin_range q)
{
    if (!q.has_low || q.low < 1)
        return anything;
    lin_range out = at_least(0);
    if (q.has_high)
        out = narrow(out, between(0, q.high - 1));
    if (p.has_low && p.low >= 0 && p.has_high)
        out = narrow(out, between(0, p.high));
    return out;
}

static lin_range least(lin_range a, lin_range b)
{
    lin_range out = anything;
    out.has_low = a.has_low && b.has_low;
    out.low = a.low < b.low ? a.low : b.low;
    out.has_high = a.has_high || b.has_high;
    out.high = !a.has_high ? b.high : !b.has_high || a.high < b.high ? a.high : b.high;
    return out;
}

static lin_range greatest(lin_range a, lin_range b)
{
    return scale(least(scale(a, -1), scale(b, -1)), -1);
}

static lin_range structure_range(lin_solver *solver, lin_atom_info info)
{
    if (info.kind == LIN_ATOM_SYMBOL)
        return at_least(0);
    lin_range left = lin_solver_range(solver, info.left);
    lin_range right = lin_solver_range(solver, info.right);
    switch (info.kind) {
    case LIN_ATOM_FLOORDIV:
        return quotient(left, right, lin_floordiv_i64);
    case LIN_ATOM_CEILDIV:
        return quotient(left, right, lin_ceildiv_i64);
    case LIN_ATOM_MOD:
        return remainder_range(left, right);
    case LIN_ATOM_MIN:
        return least(left, right);
    case LIN_ATOM_MAX:
        return greatest(left, right);
    case LIN_ATOM_SYMBOL:
        break;
    }
    return anything;
}

lin_range lin_solver_atom_range(lin_solver *solver, lin_atom atom)
{
    if (!lin_solver_spend(solver, 1 + solver->bounds.count / 8))
        return anything;
    lin_range range = structure_range(solver, lin_expr_atom(solver->table, atom));
    for (uint32_t i = 0; i < solver->bounds.count; i++)
        if (solver->bounds.items[i].atom == atom)
            range = narrow(range, solver->bounds.items[i].range);
    return range;
}

static lin_range term_range(lin_solver *solver, const lin_term *term)
{
    if (term->factor_count == 1 && term->factors[0].power == 1)
        return scale(lin_solver_atom_range(solver, term->factors[0].atom), term->coefficient);
    lin_range product = between(1, 1);
    for (uint32_t i = 0; i < term->factor_count; i++) {
        lin_range atom = lin_solver_atom_range(solver, term->factors[i].atom);
        if (!atom.has_low || atom.low < 0)
            return anything;
        /* A high power of an atom of at least 2 is past every bound: stop early. */
        for (uint32_t p = 0; p < term->factors[i].power && p < 64; p++)
            product = multiply(product, atom);
        if (term->factors[i].power > 64)
            product.has_high = false;
    }
    return scale(product, term->coefficient);
}

lin_range lin_solver_range(lin_solver *solver, lin_expr e)
{
    if (e == LIN_EXPR_INVALID)
        return anything;
    lin_terms view = lin_expr_view(solver->table, e);
    lin_range sum = between(0, 0);
    for (uint32_t i = 0; i < view.count && (sum.has_low || sum.has_high); i++)
        sum = add(sum, term_range(solver, &view.terms[i]));
    return sum;
}

static bool low_end(lin_solver *solver, lin_expr e)
{
    lin_range range = lin_solver_range(solver, e);
    return range.has_low && range.low >= 0;
}

bool lin_solver_surely_not_negative(lin_solver *solver, lin_expr e)
{
    if (e == LIN_EXPR_INVALID)
        return false;
    if (low_end(solver, e))
        return true;
    uint32_t terms = lin_expr_view(solver->table, e).count;
    for (uint32_t i = 0; i < solver->not_negative.count && lin_solver_spend(solver, terms); i++)
        if (low_end(solver, lin_expr_sub(solver->table, e, solver->not_negative.items[i])))
            return true;
    return false;
}

void lin_solver_bound_atom(lin_solver *solver, lin_atom atom, lin_range range)
{
    for (uint32_t i = 0; i < solver->bounds.count; i++) {
        solver_bound *known = &solver->bounds.items[i];
        if (known->atom == atom) {
            known->range = narrow(known->range, range);
            return;
        }
    }
    const solver_bound bound = { atom, range };
    (void)LIN_PUSH(solver->arena, &solver->bounds, bound);
}
