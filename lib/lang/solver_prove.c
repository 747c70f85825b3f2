/* SPDX-License-Identifier: MIT */

/*
 * What follows from what is known.
 *
 * A proof of a >= b rewrites a - b (solver_simplify.c), looks at its bounds (solver_range.c), then
 * tries, a few steps deep: to divide out a common factor, to use up a stored fact against a
 * negative term, to replace a quotient, remainder, least or greatest by something that is certainly
 * no better. Proofs cost microseconds; what is not proven when the question's work is used up is
 * refused.
 */

#include "lang/solver_facts.h"

enum { PROOF_STEPS = 3 };

static bool prove(lin_solver *solver, lin_expr e, uint32_t steps);

/* e / content with the constant rounded down: the sign of what is >= 0 stays. */
static lin_expr divide_content(const lin_solver *solver, lin_expr e)
{
    lin_terms view = lin_expr_view(solver->table, e);
    int64_t content = 0;
    for (uint32_t i = 0; i < view.count; i++) {
        int64_t a = view.terms[i].coefficient, rest;
        if (a == INT64_MIN)
            return e;
        if (view.terms[i].factor_count == 0)
            continue;
        for (a = a < 0 ? -a : a; a != 0; a = rest) {
            if (content == 0) {
                content = a;
                break;
            }
            rest = content % a;
            content = a;
        }
    }
    if (content <= 1)
        return e;
    lin_expr sum = number(solver, 0);
    for (uint32_t i = 0; i < view.count; i++) {
        lin_term term = view.terms[i];
        if (!lin_floordiv_i64(term.coefficient, content, &term.coefficient))
            return e;
        sum = lin_expr_add(solver->table, sum, lin_solver_term(solver, &term));
    }
    return sum;
}

static bool atom_not_negative(lin_solver *solver, lin_atom atom)
{
    lin_range range = lin_solver_atom_range(solver, atom);
    return range.has_low && range.low >= 0;
}

/* A factor of every term that is not negative, divided out. */
static lin_expr divide_common(lin_solver *solver, lin_expr e)
{
    lin_terms view = lin_expr_view(solver->table, e);
    for (uint32_t j = 0; view.count > 1 && j < view.terms[0].factor_count; j++) {
        const lin_factor one = { view.terms[0].factors[j].atom, 1 };
        const lin_term factor = { 1, &one, 1 };
        lin_expr sum = number(solver, 0);
        for (uint32_t i = 0; i < view.count; i++)
            sum = lin_expr_add(solver->table, sum,
                               lin_solver_term_quotient(solver, &view.terms[i], &factor));
        if (sum != LIN_EXPR_INVALID && atom_not_negative(solver, one.atom))
            return sum;
    }
    return e;
}

static bool same_factors(const lin_term *a, const lin_term *b)
{
    return a->factors == b->factors; /* interned */
}

/* `fact` >= 0 has a negative term like one of e's, so that e - fact has it no more, or smaller. */
static bool may_help(lin_solver *solver, lin_expr e, lin_expr fact)
{
    lin_terms view = lin_expr_view(solver->table, e);
    lin_terms other = lin_expr_view(solver->table, fact);
    if (!lin_solver_spend(solver, view.count + (uint64_t)view.count * other.count / 8))
        return false;
    for (uint32_t i = 0; i < view.count; i++)
        for (uint32_t j = 0; view.terms[i].coefficient < 0 && j < other.count; j++)
            if (other.terms[j].coefficient < 0 && same_factors(&view.terms[i], &other.terms[j]) &&
                view.terms[i].factor_count != 0)
                return true;
    return false;
}

static bool prove_by_facts(lin_solver *solver, lin_expr e, uint32_t steps)
{
    for (uint32_t i = 0; i < solver->not_negative.count; i++) {
        lin_expr fact = solver->not_negative.items[i];
        if (may_help(solver, e, fact) && prove(solver, minus(solver, e, fact), steps))
            return true;
    }
    return false;
}

/* A term whose atom `factor` is to be replaced: e = without + rest * atom, rest not 0. */
typedef struct place {
    lin_expr without, rest;
    bool subtracted;
    lin_atom_info atom;
} place;

static bool place_of(lin_solver *solver, lin_expr e, const lin_term *term, uint32_t factor,
                     place *out)
{
    out->atom = lin_expr_atom(solver->table, term->factors[factor].atom);
    if (out->atom.kind == LIN_ATOM_SYMBOL || term->factors[factor].power != 1)
        return false;
    for (uint32_t i = 0; i < term->factor_count; i++)
        if (i != factor && !atom_not_negative(solver, term->factors[i].atom))
            return false;
    const lin_factor one = { term->factors[factor].atom, 1 };
    const lin_term divisor = { 1, &one, 1 };
    out->without = minus(solver, e, lin_solver_term(solver, term));
    out->rest = lin_solver_term_quotient(solver, term, &divisor);
    out->subtracted = term->coefficient < 0;
    return true;
}

static bool prove_replaced(lin_solver *solver, const place *p, lin_expr value, uint32_t steps)
{
    lin_expr product = lin_expr_mul(solver->table, p->rest, value);
    return prove(solver, lin_expr_add(solver->table, p->without, product), steps);
}

/* With q = x / d: d * q <= x and d * q >= x - d + 1. The whole is multiplied by d > 0 first, which
 * keeps its sign. */
static bool prove_quotient(lin_solver *solver, const place *p, uint32_t steps)
{
    lin_expr_table *table = solver->table;
    lin_expr x = p->atom.left, d = p->atom.right;
    lin_expr one = number(solver, 1);
    if (!lin_solver_surely_not_negative(solver, minus(solver, d, one)))
        return false;
    lin_expr bound = p->subtracted ? x : minus(solver, x, minus(solver, d, one));
    place scaled = *p;
    scaled.without = lin_expr_mul(table, p->without, d);
    if (prove_replaced(solver, &scaled, bound, steps))
        return true;
    if (!lin_solver_surely_not_negative(solver, x))
        return false;
    return prove_replaced(solver, p, p->subtracted ? x : number(solver, 0), steps);
}

static bool prove_remainder(lin_solver *solver, const place *p, uint32_t steps)
{
    lin_expr one = number(solver, 1);
    lin_expr last = minus(solver, p->atom.right, one);
    if (!lin_solver_surely_not_negative(solver, last))
        return false;
    if (!p->subtracted)
        return prove_replaced(solver, p, number(solver, 0), steps);
    return prove_replaced(solver, p, last, steps) ||
           (lin_solver_surely_not_negative(solver, p->atom.left) &&
            prove_replaced(solver, p, p->atom.left, steps));
}

/* A subtracted least is at most either side: one will do. An added one is one of them: both must
 * do. A greatest the other way round. */
static bool prove_choice(lin_solver *solver, const place *p, uint32_t steps)
{
    bool either = p->subtracted == (p->atom.kind == LIN_ATOM_MIN);
    bool left = prove_replaced(solver, p, p->atom.left, steps);
    if (left == either)
        return left;
    return prove_replaced(solver, p, p->atom.right, steps);
}

static bool prove_by_replacing(lin_solver *solver, lin_expr e, uint32_t steps)
{
    lin_terms view = lin_expr_view(solver->table, e);
    for (uint32_t i = 0; i < view.count; i++) {
        for (uint32_t j = 0; j < view.terms[i].factor_count; j++) {
            place p;
            if (!place_of(solver, e, &view.terms[i], j, &p))
                continue;
            bool proven = p.atom.kind == LIN_ATOM_FLOORDIV  ? prove_quotient(solver, &p, steps)
                          : p.atom.kind == LIN_ATOM_MOD     ? prove_remainder(solver, &p, steps)
                          : p.atom.kind == LIN_ATOM_CEILDIV ? false
                                                            : prove_choice(solver, &p, steps);
            if (proven)
                return true;
        }
    }
    return false;
}

/* e >= 0. */
static bool prove(lin_solver *solver, lin_expr e, uint32_t steps)
{
    lin_range range = lin_solver_range(solver, e);
    if (range.has_low && range.low >= 0)
        return true;
    if ((range.has_high && range.high < 0) || !lin_solver_spend(solver, 8))
        return false;
    e = lin_solver_simplify(solver, e);
    if (e == LIN_EXPR_INVALID)
        return false;
    e = divide_common(solver, divide_content(solver, e));
    if (lin_solver_surely_not_negative(solver, e))
        return true;
    range = lin_solver_range(solver, e);
    if (steps == 0 || (range.has_high && range.high < 0))
        return false;
    return prove_by_facts(solver, e, steps - 1) || prove_by_replacing(solver, e, steps - 1);
}

/* e == 0: rewritten to 0, also after it was multiplied by the positive divisors of its quotients,
 * or squeezed between bounds. */
static bool prove_zero(lin_solver *solver, lin_expr e)
{
    int64_t value;
    lin_range range = lin_solver_range(solver, e);
    if ((range.has_low && range.low > 0) || (range.has_high && range.high < 0))
        return false;
    e = lin_solver_simplify(solver, e);
    lin_expr scaled = e;
    for (uint32_t step = 0; step < PROOF_STEPS && scaled != LIN_EXPR_INVALID; step++) {
        if (lin_expr_is_int(solver->table, scaled, &value))
            return value == 0;
        lin_expr divisor = LIN_EXPR_INVALID;
        lin_terms view = lin_expr_view(solver->table, scaled);
        for (uint32_t i = 0; i < view.count && divisor == LIN_EXPR_INVALID; i++) {
            for (uint32_t j = 0; j < view.terms[i].factor_count; j++) {
                lin_atom_info info = lin_expr_atom(solver->table, view.terms[i].factors[j].atom);
                if (info.kind == LIN_ATOM_FLOORDIV &&
                    lin_solver_divides(solver, info.right, info.left))
                    divisor = info.right;
            }
        }
        if (divisor == LIN_EXPR_INVALID ||
            !lin_solver_surely_not_negative(solver, minus(solver, divisor, number(solver, 1))))
            break;
        scaled = lin_solver_simplify(solver, lin_expr_mul(solver->table, scaled, divisor));
    }
    return lin_solver_surely_not_negative(solver, e) &&
           lin_solver_surely_not_negative(solver, minus(solver, number(solver, 0), e));
}

static bool prove_different(lin_solver *solver, lin_expr left, lin_expr right)
{
    lin_expr e = lin_solver_simplify(solver, minus(solver, left, right));
    lin_expr negated = minus(solver, number(solver, 0), e);
    for (uint32_t i = 0; i < solver->not_zero.count; i++)
        if (solver->not_zero.items[i] == e || solver->not_zero.items[i] == negated)
            return true;
    return prove(solver, minus(solver, e, number(solver, 1)), PROOF_STEPS) ||
           prove(solver, minus(solver, negated, number(solver, 1)), PROOF_STEPS);
}

static bool answer(lin_solver *solver, lin_comparison comparison, lin_expr left, lin_expr right)
{
    if (comparison == LIN_EQ)
        return left == right || prove_zero(solver, minus(solver, left, right));
    if (comparison == LIN_NE)
        return prove_different(solver, left, right);
    return prove(solver, order_difference(solver, comparison, left, right), PROOF_STEPS);
}

bool lin_solver_proves(lin_solver *solver, lin_comparison comparison, lin_expr left, lin_expr right)
{
    if (left == LIN_EXPR_INVALID || right == LIN_EXPR_INVALID)
        return false;
    lin_solver_ask(solver);
    bool proven = answer(solver, comparison, left, right);
    lin_solver_answer(solver);
    return proven;
}

bool lin_solver_positive(lin_solver *solver, lin_expr e)
{
    return lin_solver_proves(solver, LIN_GE, e, number(solver, 1));
}

bool lin_solver_negative(lin_solver *solver, lin_expr e)
{
    return lin_solver_proves(solver, LIN_LT, e, number(solver, 0));
}
