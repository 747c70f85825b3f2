/* SPDX-License-Identifier: MIT */

/*
 * Rewriting a dimension to the form that proofs compare.
 *
 * Bottom-up, every atom is made simpler: symbols with an equality are replaced; from quotients and
 * remainders the part that the divisor divides is taken out, term by term, then a rest that is
 * surely below the divisor; least and greatest collapse when one side surely wins.
 *
 * Then polynomials known to be zero act as rewriting rules: a term that is a multiple of a rule's
 * most nested term is reduced by that multiple of the rule. Divisibility gives such rules too. From
 * H % N == 0 comes N * (H / N) - H == 0, which turns (H / N) * N into H wherever it stands.
 */

#include "lang/solver_facts.h"

enum { MAX_REWRITES = 64, MAX_DIVISIBILITY_DEPTH = 3 };

lin_expr lin_solver_term(const lin_solver *solver, const lin_term *term)
{
    lin_expr product = lin_expr_int(solver->table, term->coefficient);
    for (uint32_t i = 0; i < term->factor_count; i++)
        for (uint32_t p = 0; p < term->factors[i].power; p++)
            product = lin_expr_mul(solver->table, product,
                                   lin_expr_of_atom(solver->table, term->factors[i].atom));
    return product;
}

static bool has_factors(const lin_term *term, const lin_term *divisor)
{
    uint32_t i = 0;
    for (uint32_t j = 0; j < divisor->factor_count; j++) {
        while (i < term->factor_count && term->factors[i].atom < divisor->factors[j].atom)
            i++;
        if (i == term->factor_count || term->factors[i].atom != divisor->factors[j].atom ||
            term->factors[i].power < divisor->factors[j].power)
            return false;
    }
    return true;
}

/* The factors of `term` that are not in `divisor`, as an expression; invalid when `divisor` has
 * others. */
static lin_expr factor_quotient(const lin_solver *solver, const lin_term *term,
                                const lin_term *divisor)
{
    if (!has_factors(term, divisor))
        return LIN_EXPR_INVALID;
    lin_expr product = lin_expr_int(solver->table, 1);
    uint32_t j = 0;
    for (uint32_t i = 0; i < term->factor_count; i++) {
        lin_factor left = term->factors[i];
        if (j < divisor->factor_count && divisor->factors[j].atom == left.atom)
            left.power -= divisor->factors[j++].power;
        if (left.power == 0)
            continue;
        const lin_term rest = { 1, &left, 1 };
        product = lin_expr_mul(solver->table, product, lin_solver_term(solver, &rest));
    }
    return product;
}

lin_expr lin_solver_term_quotient(const lin_solver *solver, const lin_term *term,
                                  const lin_term *divisor)
{
    int64_t coefficient, rest;
    if (!lin_mod_i64(term->coefficient, divisor->coefficient, &rest) || rest != 0 ||
        !lin_floordiv_i64(term->coefficient, divisor->coefficient, &coefficient))
        return LIN_EXPR_INVALID;
    lin_expr factors = factor_quotient(solver, term, divisor);
    return lin_expr_mul(solver->table, factors, lin_expr_int(solver->table, coefficient));
}

/* ---- divisibility ---- */

static bool divides_term(lin_solver *solver, lin_expr divisor, const lin_term *term,
                         uint32_t depth);

static bool divides_terms(lin_solver *solver, lin_expr divisor, lin_expr e, uint32_t depth)
{
    lin_terms view = lin_expr_view(solver->table, e);
    for (uint32_t i = 0; i < view.count; i++)
        if (!divides_term(solver, divisor, &view.terms[i], depth))
            return false;
    return e != LIN_EXPR_INVALID;
}

/* A fact says that `dividend` is a multiple of some d. A term that is a multiple of `dividend` may
 * be read as one of d. */
static bool divides_term(lin_solver *solver, lin_expr divisor, const lin_term *term, uint32_t depth)
{
    lin_terms view = lin_expr_view(solver->table, divisor);
    if (view.count == 1 &&
        lin_solver_term_quotient(solver, term, &view.terms[0]) != LIN_EXPR_INVALID)
        return true;
    if (depth == 0 || !lin_solver_spend(solver, solver->divisible.count))
        return false;
    for (uint32_t i = 0; i < solver->divisible.count; i++) {
        const solver_pair pair = solver->divisible.items[i];
        lin_terms dividend = lin_expr_view(solver->table, pair.dividend);
        if (dividend.count != 1)
            continue;
        lin_expr times = lin_solver_term_quotient(solver, term, &dividend.terms[0]);
        if (times == LIN_EXPR_INVALID)
            continue;
        if (pair.divisor == divisor ||
            divides_terms(solver, divisor, lin_expr_mul(solver->table, times, pair.divisor),
                          depth - 1))
            return true;
    }
    return false;
}

bool lin_solver_divides(lin_solver *solver, lin_expr divisor, lin_expr e)
{
    int64_t value;
    lin_expr_table *table = solver->table;
    if (divisor == LIN_EXPR_INVALID || e == LIN_EXPR_INVALID)
        return false;
    if (lin_expr_is_int(table, e, &value) && value == 0)
        return true;
    if (divisor == e || (lin_expr_is_int(table, divisor, &value) && (value == 1 || value == -1)))
        return true;
    for (uint32_t i = 0; i < solver->divisible.count; i++)
        if (solver->divisible.items[i].dividend == e &&
            divides_terms(solver, divisor, solver->divisible.items[i].divisor,
                          MAX_DIVISIBILITY_DEPTH))
            return true;
    return divides_terms(solver, divisor, e, MAX_DIVISIBILITY_DEPTH);
}

/* ---- rules ---- */

static uint32_t atom_depth(const lin_expr_table *table, lin_atom atom);

static uint32_t term_depth(const lin_expr_table *table, const lin_term *term)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < term->factor_count; i++) {
        uint32_t one = atom_depth(table, term->factors[i].atom);
        depth = one > depth ? one : depth;
    }
    return depth;
}

static uint32_t expr_depth(const lin_expr_table *table, lin_expr e)
{
    uint32_t depth = 0;
    lin_terms view = lin_expr_view(table, e);
    for (uint32_t i = 0; i < view.count; i++) {
        uint32_t one = term_depth(table, &view.terms[i]);
        depth = one > depth ? one : depth;
    }
    return depth;
}

static uint32_t atom_depth(const lin_expr_table *table, lin_atom atom)
{
    lin_atom_info info = lin_expr_atom(table, atom);
    if (info.kind == LIN_ATOM_SYMBOL)
        return 0;
    uint32_t left = expr_depth(table, info.left), right = expr_depth(table, info.right);
    return 1 + (left > right ? left : right);
}

/* The term that a rule replaces: the most nested, so that what comes in for it never holds it
 * inside; of equally nested ones the first. */
static uint32_t leading_term(const lin_expr_table *table, lin_terms view)
{
    uint32_t lead = 0;
    for (uint32_t i = 1; i < view.count; i++)
        if (term_depth(table, &view.terms[i]) > term_depth(table, &view.terms[lead]))
            lead = i;
    return lead;
}

void lin_solver_add_zero(lin_solver *solver, lin_expr e)
{
    lin_terms view = lin_expr_view(solver->table, e);
    if (e == LIN_EXPR_INVALID || view.count == 0)
        return;
    uint32_t lead = leading_term(solver->table, view);
    if (view.terms[lead].coefficient < 0)
        e = lin_expr_sub(solver->table, lin_expr_int(solver->table, 0), e);
    for (uint32_t i = 0; i < solver->rules.count; i++)
        if (solver->rules.items[i].zero == e)
            return;
    const solver_rule rule = { e, lead };
    if (e != LIN_EXPR_INVALID && view.terms[lead].factor_count != 0)
        (void)LIN_PUSH(solver->arena, &solver->rules, rule);
}

/* One step with one rule, or `e` itself. Floor division of the coefficient brings it below the
 * rule's and ends. */
static lin_expr rewrite_by(lin_solver *solver, lin_expr e, solver_rule rule)
{
    lin_terms view = lin_expr_view(solver->table, e);
    const lin_term *lead = &lin_expr_view(solver->table, rule.zero).terms[rule.lead];
    if (!lin_solver_spend(solver, view.count))
        return e;
    for (uint32_t i = 0; i < view.count; i++) {
        int64_t times;
        if (!lin_floordiv_i64(view.terms[i].coefficient, lead->coefficient, &times) || times == 0)
            continue;
        lin_expr factors = factor_quotient(solver, &view.terms[i], lead);
        lin_expr multiple = lin_expr_mul(solver->table, rule.zero, factors);
        multiple = lin_expr_mul(solver->table, multiple, lin_expr_int(solver->table, times));
        lin_expr reduced = lin_expr_sub(solver->table, e, multiple);
        (void)lin_solver_spend(solver, lin_expr_view(solver->table, rule.zero).count);
        if (reduced != LIN_EXPR_INVALID)
            return reduced;
    }
    return e;
}

static lin_expr rewrite(lin_solver *solver, lin_expr e)
{
    for (uint32_t step = 0; step < MAX_REWRITES; step++) {
        lin_expr before = e;
        for (uint32_t i = 0; i < solver->rules.count && e == before; i++)
            e = rewrite_by(solver, e, solver->rules.items[i]);
        if (e == before)
            break;
    }
    return e;
}

/* ---- quotients and remainders ---- */

/* What is taken out of the dividend: dividend = divisor * whole + rest. */
typedef struct split {
    lin_expr whole, rest;
} split;

/* The coefficient's part that a constant divisor divides. */
static split split_constant(lin_solver *solver, const lin_term *term, int64_t divisor)
{
    lin_expr_table *table = solver->table;
    const lin_term one = { 1, term->factors, term->factor_count };
    lin_expr factors = lin_solver_term(solver, &one);
    int64_t quotient = 0, rest = term->coefficient;
    if (divisor > 0) {
        (void)lin_floordiv_i64(term->coefficient, divisor, &quotient);
        (void)lin_mod_i64(term->coefficient, divisor, &rest);
    }
    return (split){ lin_expr_mul(table, factors, lin_expr_int(table, quotient)),
                    lin_expr_mul(table, factors, lin_expr_int(table, rest)) };
}

/* A term that is m times the dividend of a fact about `divisor` has the quotient m * (dividend /
 * divisor). */
static lin_expr quotient_by_fact(lin_solver *solver, const lin_term *term, lin_expr divisor)
{
    for (uint32_t i = 0; i < solver->divisible.count; i++) {
        const solver_pair pair = solver->divisible.items[i];
        lin_terms dividend = lin_expr_view(solver->table, pair.dividend);
        if (pair.divisor != divisor || dividend.count != 1)
            continue;
        lin_expr times = lin_solver_term_quotient(solver, term, &dividend.terms[0]);
        if (times != LIN_EXPR_INVALID)
            return lin_expr_mul(solver->table, times,
                                lin_expr_floordiv(solver->table, pair.dividend, divisor));
    }
    return LIN_EXPR_INVALID;
}

static split split_term(lin_solver *solver, const lin_term *term, lin_expr divisor)
{
    lin_expr_table *table = solver->table;
    lin_terms view = lin_expr_view(table, divisor);
    int64_t constant;
    lin_expr whole =
        view.count == 1 ? lin_solver_term_quotient(solver, term, &view.terms[0]) : LIN_EXPR_INVALID;
    if (whole == LIN_EXPR_INVALID)
        whole = quotient_by_fact(solver, term, divisor);
    if (whole != LIN_EXPR_INVALID)
        return (split){ whole, lin_expr_int(table, 0) };
    if (lin_expr_is_int(table, divisor, &constant))
        return split_constant(solver, term, constant);
    return (split){ lin_expr_int(table, 0), lin_solver_term(solver, term) };
}

static split split_dividend(lin_solver *solver, lin_expr dividend, lin_expr divisor)
{
    lin_expr_table *table = solver->table;
    lin_expr zero = lin_expr_int(table, 0);
    lin_terms view = lin_expr_view(table, dividend);
    split all = { zero, zero };
    if (dividend == divisor)
        return (split){ lin_expr_int(table, 1), zero };
    for (uint32_t i = 0; i < view.count; i++) {
        if (!lin_solver_spend(solver, lin_expr_view(table, all.rest).count))
            return (split){ zero, dividend };
        split one = split_term(solver, &view.terms[i], divisor);
        all.whole = lin_expr_add(table, all.whole, one.whole);
        all.rest = lin_expr_add(table, all.rest, one.rest);
    }
    /* Past 64 bits: leave it together. */
    if (all.whole == LIN_EXPR_INVALID || all.rest == LIN_EXPR_INVALID)
        return (split){ zero, dividend };
    return all;
}

/* 0 <= e < divisor. */
static bool is_below(lin_solver *solver, lin_expr e, lin_expr divisor)
{
    lin_expr room = lin_expr_sub(solver->table, divisor, e);
    room = lin_expr_sub(solver->table, room, lin_expr_int(solver->table, 1));
    return lin_solver_surely_not_negative(solver, e) &&
           lin_solver_surely_not_negative(solver, room);
}

/* An exact quotient q = dividend / divisor as a rule: divisor * q - dividend == 0. */
static void add_exact_rule(lin_solver *solver, lin_expr dividend, lin_expr divisor,
                           lin_expr quotient)
{
    if (!lin_solver_divides(solver, divisor, dividend))
        return;
    lin_expr product = lin_expr_mul(solver->table, divisor, quotient);
    lin_solver_add_zero(solver, lin_expr_sub(solver->table, product, dividend));
}

/* A divisor that is not positive is reported where it is written, so quotients that stand here have
 * a positive one. */
static lin_expr simple_quotient(lin_solver *solver, lin_expr dividend, lin_expr divisor)
{
    split parts = split_dividend(solver, dividend, divisor);
    if (is_below(solver, parts.rest, divisor))
        return parts.whole;
    lin_expr quotient = lin_expr_floordiv(solver->table, parts.rest, divisor);
    add_exact_rule(solver, parts.rest, divisor, quotient);
    return lin_expr_add(solver->table, parts.whole, quotient);
}

static lin_expr simple_remainder(lin_solver *solver, lin_expr dividend, lin_expr divisor)
{
    split parts = split_dividend(solver, dividend, divisor);
    if (is_below(solver, parts.rest, divisor))
        return parts.rest;
    if (lin_solver_divides(solver, divisor, parts.rest))
        return lin_expr_int(solver->table, 0);
    return lin_expr_mod(solver->table, parts.rest, divisor);
}

static lin_expr simple_least(lin_solver *solver, lin_atom_kind kind, lin_expr a, lin_expr b)
{
    lin_expr_table *table = solver->table;
    bool want_less = kind == LIN_ATOM_MIN;
    if (lin_solver_surely_not_negative(solver, lin_expr_sub(table, b, a)))
        return want_less ? a : b;
    if (lin_solver_surely_not_negative(solver, lin_expr_sub(table, a, b)))
        return want_less ? b : a;
    return want_less ? lin_expr_min(table, a, b) : lin_expr_max(table, a, b);
}

/* ---- the whole ---- */

static lin_expr simple_symbol(lin_solver *solver, lin_atom atom, lin_symbol symbol)
{
    if (!lin_solver_spend(solver, 1 + solver->equalities.count / 8))
        return lin_expr_of_atom(solver->table, atom);
    for (uint32_t i = 0; i < solver->equalities.count; i++)
        if (solver->equalities.items[i].symbol == symbol)
            return solver->equalities.items[i].value;
    return lin_expr_of_atom(solver->table, atom);
}

static lin_expr simple_atom(lin_solver *solver, lin_atom atom)
{
    lin_atom_info info = lin_expr_atom(solver->table, atom);
    if (info.kind == LIN_ATOM_SYMBOL)
        return simple_symbol(solver, atom, info.symbol);
    lin_expr_table *table = solver->table;
    lin_expr left = lin_solver_simplify(solver, info.left);
    lin_expr right = lin_solver_simplify(solver, info.right);
    if (left == LIN_EXPR_INVALID || right == LIN_EXPR_INVALID)
        return LIN_EXPR_INVALID;
    switch (info.kind) {
    case LIN_ATOM_FLOORDIV:
        return simple_quotient(solver, left, right);
    case LIN_ATOM_CEILDIV: /* (left + right - 1) / right */
        left = lin_expr_add(table, left, lin_expr_sub(table, right, lin_expr_int(table, 1)));
        return simple_quotient(solver, left, right);
    case LIN_ATOM_MOD:
        return simple_remainder(solver, left, right);
    default:
        return simple_least(solver, info.kind, left, right);
    }
}

static lin_expr simple_term(lin_solver *solver, const lin_term *term)
{
    lin_expr product = lin_expr_int(solver->table, term->coefficient);
    for (uint32_t i = 0; i < term->factor_count; i++) {
        lin_expr atom = simple_atom(solver, term->factors[i].atom);
        for (uint32_t p = 0; p < term->factors[i].power; p++) {
            product = lin_expr_mul(solver->table, product, atom);
            (void)lin_solver_spend(solver, lin_expr_view(solver->table, product).count);
        }
    }
    return product;
}

static bool atoms_are_simple(lin_solver *solver, lin_terms view)
{
    for (uint32_t i = 0; i < view.count; i++)
        for (uint32_t j = 0; j < view.terms[i].factor_count; j++) {
            lin_atom atom = view.terms[i].factors[j].atom;
            if (simple_atom(solver, atom) != lin_expr_of_atom(solver->table, atom))
                return false;
        }
    return true;
}

static lin_expr simplify_once(lin_solver *solver, lin_expr e)
{
    lin_terms view = lin_expr_view(solver->table, e);
    if (atoms_are_simple(solver, view))
        return rewrite(solver, e);
    lin_expr sum = lin_expr_int(solver->table, 0);
    for (uint32_t i = 0; i < view.count; i++) {
        if (!lin_solver_spend(solver, lin_expr_view(solver->table, sum).count))
            return e;
        sum = lin_expr_add(solver->table, sum, simple_term(solver, &view.terms[i]));
    }
    return sum == LIN_EXPR_INVALID ? e : rewrite(solver, sum);
}

static void remember(lin_solver *solver, lin_expr e, lin_expr simple)
{
    solver->cache[e % SOLVER_CACHE].e = e;
    solver->cache[e % SOLVER_CACHE].simple = simple;
}

lin_expr lin_solver_simplify(lin_solver *solver, lin_expr e)
{
    if (!solver->asked) {
        lin_solver_ask(solver);
        e = lin_solver_simplify(solver, e);
        lin_solver_answer(solver);
        return e;
    }
    if (e == LIN_EXPR_INVALID || lin_expr_is_int(solver->table, e, NULL))
        return e;
    if (solver->cache[e % SOLVER_CACHE].e == e)
        return solver->cache[e % SOLVER_CACHE].simple;
    if (solver->depth >= SOLVER_MAX_DEPTH || !lin_solver_spend(solver, 1)) {
        solver->limited = true;
        return e;
    }
    bool limited = solver->limited;
    solver->limited = false;
    solver->depth++;
    lin_expr simple = simplify_once(solver, e);
    /* What came in by a rule or an equality may be simpler still. */
    for (uint32_t pass = 0; pass < 3 && simple != e; pass++) {
        lin_expr again = simplify_once(solver, simple);
        if (again == simple)
            break;
        simple = again;
    }
    solver->depth--;
    if (!solver->limited) {
        remember(solver, e, simple);
        remember(solver, simple, simple);
    }
    solver->limited = solver->limited || limited;
    return simple;
}
