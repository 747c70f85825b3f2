/* SPDX-License-Identifier: MIT */

/*
 * What is known.
 *
 * An assumption is filed by its form: `s == p` replaces the symbol s everywhere; `a % b == 0` is a
 * divisibility; other equalities are rewriting rules; `s + c >= 0` and the like are bounds of one
 * atom; the rest is a list of polynomials that are not negative. When a symbol gets an equality,
 * all assumptions are filed anew, since they may mention it.
 */

#include "lang/solver_facts.h"

#include <string.h>

lin_solver *lin_solver_new(lin_arena *arena, lin_expr_table *table)
{
    lin_solver *solver = LIN_NEW(arena, lin_solver);
    if (solver == NULL)
        return NULL;
    solver->arena = arena;
    solver->table = table;
    solver->all = &solver->spent;
    return solver;
}

void lin_solver_share_work(lin_solver *solver, lin_solver *first)
{
    solver->all = first->all;
}

void lin_solver_ask(lin_solver *solver)
{
    solver->asked = true;
    solver->left = *solver->all < SOLVER_PROGRAM ? SOLVER_QUESTION : SOLVER_LATE;
    *solver->all += solver->left;
}

void lin_solver_answer(lin_solver *solver)
{
    *solver->all -= solver->left;
    solver->asked = false;
}

bool lin_solver_spend(lin_solver *solver, uint64_t terms)
{
    solver->left -= terms < solver->left ? terms : solver->left;
    solver->limited = solver->limited || solver->left == 0;
    return solver->left != 0;
}

static void forget_cache(lin_solver *solver)
{
    memset(solver->cache, 0, sizeof(solver->cache));
}

static void forget_facts(lin_solver *solver)
{
    solver->bounds.count = 0;
    solver->divisible.count = 0;
    solver->rules.count = 0;
    solver->not_negative.count = 0;
    solver->not_zero.count = 0;
    forget_cache(solver);
}

void lin_solver_clear(lin_solver *solver)
{
    solver->assumed.count = 0;
    solver->equalities.count = 0;
    forget_facts(solver);
}

/* ceil(-constant / coefficient) and the like: coefficient * atom + constant >= 0 as a bound. */
static bool bound_of(int64_t coefficient, int64_t constant, lin_range *out)
{
    int64_t negated;
    if (!lin_sub_i64(0, constant, &negated))
        return false;
    *out = (lin_range){ 0 };
    if (coefficient > 0)
        out->has_low = lin_ceildiv_i64(negated, coefficient, &out->low);
    else
        out->has_high = lin_floordiv_i64(negated, coefficient, &out->high);
    return out->has_low || out->has_high;
}

/* A quotient p / q of at least n means p >= n * q. */
static void assume_not_negative(lin_solver *solver, lin_expr e);
static void learn_from_quotient(lin_solver *solver, lin_atom atom, lin_range range)
{
    lin_atom_info info = lin_expr_atom(solver->table, atom);
    if (info.kind != LIN_ATOM_FLOORDIV || !range.has_low || range.low < 1)
        return;
    lin_expr least = lin_expr_mul(solver->table, number(solver, range.low), info.right);
    assume_not_negative(solver, minus(solver, info.left, least));
}

/* A product of factors >= 0 that is at least 1 has factors that are at least 1. */
static void learn_from_product(lin_solver *solver, const lin_term *product, int64_t constant)
{
    if (product->coefficient <= 0 || constant >= 0)
        return;
    for (uint32_t i = 0; i < product->factor_count; i++) {
        lin_range range = lin_solver_atom_range(solver, product->factors[i].atom);
        if (!range.has_low || range.low < 0)
            return;
    }
    for (uint32_t i = 0; i < product->factor_count; i++)
        lin_solver_bound_atom(solver, product->factors[i].atom,
                              (lin_range){ .has_low = true, .low = 1 });
}

static void assume_not_negative(lin_solver *solver, lin_expr e)
{
    lin_terms view = lin_expr_view(solver->table, e);
    if (e == LIN_EXPR_INVALID || view.count == 0 || solver->depth >= SOLVER_MAX_DEPTH)
        return;
    int64_t constant =
        view.terms[view.count - 1].factor_count == 0 ? view.terms[view.count - 1].coefficient : 0;
    bool single = view.count == 1 || (view.count == 2 && constant != 0);
    const lin_term *first = &view.terms[0];
    lin_range range;
    solver->depth++;
    if (single && first->factor_count == 1 && first->factors[0].power == 1) {
        if (bound_of(first->coefficient, constant, &range)) {
            lin_solver_bound_atom(solver, first->factors[0].atom, range);
            learn_from_quotient(solver, first->factors[0].atom, range);
        }
    } else if (first->factor_count != 0) {
        (void)LIN_PUSH(solver->arena, &solver->not_negative, e);
        if (single)
            learn_from_product(solver, first, constant);
    }
    solver->depth--;
}

/* The value of `symbol` by e == 0, when it stands in it once, alone, with coefficient 1 or -1. */
static lin_expr solve_for(const lin_solver *solver, lin_expr e, const lin_term *term,
                          lin_symbol symbol)
{
    lin_expr alone = lin_solver_term(solver, term);
    lin_expr rest = minus(solver, e, alone);
    if (rest == LIN_EXPR_INVALID || lin_expr_mentions(solver->table, rest, symbol))
        return LIN_EXPR_INVALID;
    return term->coefficient == 1 ? minus(solver, number(solver, 0), rest) : rest;
}

static bool has_negative_term(const lin_solver *solver, lin_expr e)
{
    lin_terms view = lin_expr_view(solver->table, e);
    for (uint32_t i = 0; i < view.count; i++)
        if (view.terms[i].coefficient < 0)
            return true;
    return false;
}

/* The best equality in e == 0: a value without negative terms, of the newest symbol. */
static bool find_equality(const lin_solver *solver, lin_expr e, solver_equality *out)
{
    lin_terms view = lin_expr_view(solver->table, e);
    bool found = false, found_negative = false;
    for (uint32_t i = 0; i < view.count; i++) {
        const lin_term *term = &view.terms[i];
        if (term->factor_count != 1 || term->factors[0].power != 1 ||
            (term->coefficient != 1 && term->coefficient != -1))
            continue;
        lin_atom_info info = lin_expr_atom(solver->table, term->factors[0].atom);
        if (info.kind != LIN_ATOM_SYMBOL)
            continue;
        lin_expr value = solve_for(solver, e, term, info.symbol);
        if (value == LIN_EXPR_INVALID)
            continue;
        bool negative = has_negative_term(solver, value);
        if (found && (negative > found_negative ||
                      (negative == found_negative && info.symbol < out->symbol)))
            continue;
        *out = (solver_equality){ info.symbol, value };
        found = true;
        found_negative = negative;
    }
    return found;
}

typedef struct symbol_value {
    const lin_solver *solver;
    const solver_equality *equality;
} symbol_value;

static lin_expr replaced_symbol(void *user, lin_symbol symbol)
{
    const symbol_value *v = user;
    return symbol == v->equality->symbol ? v->equality->value
                                         : lin_expr_of_symbol(v->solver->table, symbol);
}

/* Keeps the invariant that no value mentions a symbol with an equality. */
static void add_equality(lin_solver *solver, const solver_equality *fresh)
{
    symbol_value value = { solver, fresh };
    for (uint32_t i = 0; i < solver->equalities.count; i++) {
        solver_equality *old = &solver->equalities.items[i];
        if (!lin_expr_mentions(solver->table, old->value, fresh->symbol))
            continue;
        (void)lin_solver_spend(solver, lin_expr_view(solver->table, old->value).count);
        lin_expr replaced =
            lin_expr_replace(solver->table, solver->table, old->value, replaced_symbol, &value);
        if (replaced != LIN_EXPR_INVALID)
            old->value = replaced;
    }
    (void)LIN_PUSH(solver->arena, &solver->equalities, *fresh);
}

/* a % b == 0, written as such. */
static bool assume_divisible(lin_solver *solver, lin_expr left, lin_expr right)
{
    int64_t value;
    lin_terms view = lin_expr_view(solver->table, left);
    if (!lin_expr_is_int(solver->table, right, &value) || value != 0 || view.count != 1 ||
        view.terms[0].factor_count != 1)
        return false;
    lin_atom_info info = lin_expr_atom(solver->table, view.terms[0].factors[0].atom);
    if (info.kind != LIN_ATOM_MOD)
        return false;
    const solver_pair pair = { lin_solver_simplify(solver, info.left),
                               lin_solver_simplify(solver, info.right) };
    if (pair.dividend == LIN_EXPR_INVALID || pair.divisor == LIN_EXPR_INVALID)
        return true;
    (void)LIN_PUSH(solver->arena, &solver->divisible, pair);
    lin_expr quotient = lin_expr_floordiv(solver->table, pair.dividend, pair.divisor);
    lin_expr product = lin_expr_mul(solver->table, quotient, pair.divisor);
    lin_solver_add_zero(solver, minus(solver, product, pair.dividend));
    return true;
}

/* True when a symbol was solved: then everything is to be filed anew. */
static bool assume_equal(lin_solver *solver, lin_expr left, lin_expr right)
{
    solver_equality equality;
    if (assume_divisible(solver, left, right) || assume_divisible(solver, right, left))
        return false;
    lin_expr e = lin_solver_simplify(solver, minus(solver, left, right));
    if (e == LIN_EXPR_INVALID)
        return false;
    if (find_equality(solver, e, &equality)) {
        add_equality(solver, &equality);
        return true;
    }
    lin_solver_add_zero(solver, e);
    return false;
}

static void assume_different(lin_solver *solver, lin_expr e)
{
    lin_expr negated = minus(solver, number(solver, 0), e);
    if (e == LIN_EXPR_INVALID || lin_expr_is_int(solver->table, e, NULL))
        return;
    if (lin_solver_surely_not_negative(solver, e))
        assume_not_negative(solver, minus(solver, e, number(solver, 1)));
    else if (lin_solver_surely_not_negative(solver, negated))
        assume_not_negative(solver, minus(solver, negated, number(solver, 1)));
    else
        (void)LIN_PUSH(solver->arena, &solver->not_zero, e);
}

/* True when a symbol was solved. */
static bool file_assumption(lin_solver *solver, const solver_assumption *a)
{
    if (a->comparison == LIN_EQ)
        return assume_equal(solver, a->left, a->right);
    if (a->comparison == LIN_NE) {
        assume_different(solver, lin_solver_simplify(solver, minus(solver, a->left, a->right)));
    } else {
        lin_expr e = order_difference(solver, a->comparison, a->left, a->right);
        assume_not_negative(solver, lin_solver_simplify(solver, e));
    }
    return false;
}

/* The symbols that have an equality are still not negative. */
static void file_values(lin_solver *solver)
{
    for (uint32_t i = 0; i < solver->equalities.count; i++) {
        lin_expr value = lin_solver_simplify(solver, solver->equalities.items[i].value);
        if (!lin_solver_surely_not_negative(solver, value))
            assume_not_negative(solver, value);
    }
}

static void file_anew(lin_solver *solver, const solver_assumption *fresh)
{
    bool solved = file_assumption(solver, fresh);
    forget_cache(solver);
    /* Every round solves a symbol, so this ends; the limit only bounds the time. */
    for (uint32_t round = 0; solved && round < SOLVER_MAX_DEPTH; round++) {
        solved = false;
        forget_facts(solver);
        for (uint32_t i = 0; i < solver->assumed.count && lin_solver_spend(solver, 8); i++) {
            solved = file_assumption(solver, &solver->assumed.items[i]) || solved;
            forget_cache(solver);
        }
        file_values(solver);
        forget_cache(solver);
    }
}

void lin_solver_assume(lin_solver *solver, lin_comparison comparison, lin_expr left, lin_expr right)
{
    const solver_assumption fresh = { comparison, left, right };
    if (left == LIN_EXPR_INVALID || right == LIN_EXPR_INVALID)
        return;
    lin_solver_ask(solver);
    (void)LIN_PUSH(solver->arena, &solver->assumed, fresh);
    forget_cache(solver);
    file_anew(solver, &fresh);
    lin_solver_answer(solver);
}
