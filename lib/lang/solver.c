/* SPDX-License-Identifier: MIT */

/*
 * What is known and what follows from it.
 *
 * An assumption is filed by its form: `s == p` replaces the symbol s everywhere; `a % b == 0` is a
 * divisibility; other equalities are rewriting rules; `s + c >= 0` and the like are bounds of one
 * atom; the rest is a list of polynomials that are not negative. When a symbol gets an equality,
 * all assumptions are filed anew, since they may mention it.
 *
 * A proof of a >= b rewrites a - b (solver_simplify.c), looks at its bounds (solver_range.c), then
 * tries, a few steps deep: to divide out a common factor, to use up a stored fact against a
 * negative term, to replace a quotient, remainder, least or greatest by something that is certainly
 * no better. Proofs cost microseconds; what is not proven is refused and costs little more.
 */

#include "lang/solver_facts.h"

#include <string.h>

enum { PROOF_STEPS = 3 };

lin_solver *lin_solver_new(lin_arena *arena, lin_expr_table *table)
{
    lin_solver *solver = LIN_NEW(arena, lin_solver);
    if (solver == NULL)
        return NULL;
    solver->arena = arena;
    solver->table = table;
    return solver;
}

void lin_solver_forget_cache(lin_solver *solver)
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
    lin_solver_forget_cache(solver);
}

void lin_solver_clear(lin_solver *solver)
{
    solver->assumed.count = 0;
    solver->equalities.count = 0;
    forget_facts(solver);
}

static lin_expr minus(const lin_solver *solver, lin_expr a, lin_expr b)
{
    return lin_expr_sub(solver->table, a, b);
}

static lin_expr number(const lin_solver *solver, int64_t value)
{
    return lin_expr_int(solver->table, value);
}

/* ---- assuming ---- */

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

/* left >= right as a difference that is not negative, for the four orders. */
static lin_expr order_difference(const lin_solver *solver, lin_comparison comparison, lin_expr left,
                                 lin_expr right)
{
    bool greater = comparison == LIN_GE || comparison == LIN_GT;
    bool strict = comparison == LIN_LT || comparison == LIN_GT;
    lin_expr difference = greater ? minus(solver, left, right) : minus(solver, right, left);
    return strict ? minus(solver, difference, number(solver, 1)) : difference;
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

void lin_solver_assume(lin_solver *solver, lin_comparison comparison, lin_expr left, lin_expr right)
{
    const solver_assumption fresh = { comparison, left, right };
    if (left == LIN_EXPR_INVALID || right == LIN_EXPR_INVALID)
        return;
    (void)LIN_PUSH(solver->arena, &solver->assumed, fresh);
    lin_solver_forget_cache(solver);
    bool solved = file_assumption(solver, &fresh);
    lin_solver_forget_cache(solver);
    /* Every round solves a symbol, so this ends; the limit only bounds the time. */
    for (uint32_t round = 0; solved && round < SOLVER_MAX_DEPTH; round++) {
        solved = false;
        forget_facts(solver);
        for (uint32_t i = 0; i < solver->assumed.count; i++) {
            solved = file_assumption(solver, &solver->assumed.items[i]) || solved;
            lin_solver_forget_cache(solver);
        }
        file_values(solver);
        lin_solver_forget_cache(solver);
    }
}

/* ---- proving ---- */

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

static bool atom_not_negative(const lin_solver *solver, lin_atom atom)
{
    lin_range range = lin_solver_atom_range(solver, atom);
    return range.has_low && range.low >= 0;
}

/* A factor of every term that is not negative, divided out. */
static lin_expr divide_common(const lin_solver *solver, lin_expr e)
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
static bool may_help(const lin_solver *solver, lin_expr e, lin_expr fact)
{
    lin_terms view = lin_expr_view(solver->table, e);
    lin_terms other = lin_expr_view(solver->table, fact);
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

static bool place_of(const lin_solver *solver, lin_expr e, const lin_term *term, uint32_t factor,
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
    if (range.has_high && range.high < 0)
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

bool lin_solver_proves(lin_solver *solver, lin_comparison comparison, lin_expr left, lin_expr right)
{
    if (left == LIN_EXPR_INVALID || right == LIN_EXPR_INVALID)
        return false;
    if (comparison == LIN_EQ)
        return left == right || prove_zero(solver, minus(solver, left, right));
    if (comparison == LIN_NE)
        return prove_different(solver, left, right);
    return prove(solver, order_difference(solver, comparison, left, right), PROOF_STEPS);
}

bool lin_solver_positive(lin_solver *solver, lin_expr e)
{
    return lin_solver_proves(solver, LIN_GE, e, number(solver, 1));
}

bool lin_solver_negative(lin_solver *solver, lin_expr e)
{
    return lin_solver_proves(solver, LIN_LT, e, number(solver, 0));
}
