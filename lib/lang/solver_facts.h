/* SPDX-License-Identifier: MIT */
#ifndef LIN_SOLVER_FACTS_H
#define LIN_SOLVER_FACTS_H

/* Inside the solver: what it knows, shared by solver.c (facts), solver_prove.c, solver_simplify.c
 * (rewriting) and solver_range.c (bounds). */

#include "lang/solver.h"

/* An interval of integers; an end that is not known is infinite. */
typedef struct lin_range {
    bool has_low, has_high;
    int64_t low, high;
} lin_range;

typedef struct solver_equality {
    lin_symbol symbol;
    lin_expr value; /* mentions no symbol that has an equality */
} solver_equality;

typedef struct solver_bound {
    lin_atom atom;
    lin_range range;
} solver_bound;

typedef struct solver_pair {
    lin_expr dividend, divisor; /* dividend % divisor == 0 */
} solver_pair;

/* A polynomial that is zero, as a rewriting rule for multiples of one of its terms, whose
 * coefficient is positive. */
typedef struct solver_rule {
    lin_expr zero;
    uint32_t lead;
} solver_rule;

typedef struct solver_assumption {
    lin_comparison comparison;
    lin_expr left, right;
} solver_assumption;

enum { SOLVER_CACHE = 256, SOLVER_MAX_DEPTH = 8 };

/* Work, in terms looked at. A question (one assumption, one proof) gets SOLVER_QUESTION; once all
 * of a program's have used SOLVER_PROGRAM, the rest get SOLVER_LATE each, so checking stays linear
 * in the source. What needs more is not proven. The shipped library's worst question takes 541.
 */
enum { SOLVER_QUESTION = 1 << 16, SOLVER_PROGRAM = 1 << 23, SOLVER_LATE = 1 << 10 };

struct lin_solver {
    lin_arena *arena;
    lin_expr_table *table;
    LIN_LIST(solver_assumption) assumed; /* as given */
    LIN_LIST(solver_equality) equalities;
    LIN_LIST(solver_bound) bounds;
    LIN_LIST(solver_pair) divisible;
    LIN_LIST(solver_rule) rules;
    LIN_LIST(lin_expr) not_negative; /* polynomials >= 0 */
    LIN_LIST(lin_expr) not_zero;
    uint32_t depth; /* of nested rewriting */
    bool limited;   /* the rewriting under way met SOLVER_MAX_DEPTH, or its work ran out */
    bool asked;     /* a question is under way */
    uint64_t left;  /* of its work */
    uint64_t spent; /* by this solver's questions, without the one under way */
    uint64_t *all;  /* the same of all solvers of the program; its own `spent` when alone */
    struct {
        lin_expr e, simple;
    } cache[SOLVER_CACHE];
};

/* False when the question under way has no work left: its answer is then "not proven". */
bool lin_solver_spend(lin_solver *solver, uint64_t terms);
/* Around a question from outside. */
void lin_solver_ask(lin_solver *solver);
void lin_solver_answer(lin_solver *solver);

/* What e and an atom can be, by interval arithmetic. */
lin_range lin_solver_range(lin_solver *solver, lin_expr e);
lin_range lin_solver_atom_range(lin_solver *solver, lin_atom atom);
/* e >= 0 by bounds and at most one stored fact, without rewriting. */
bool lin_solver_surely_not_negative(lin_solver *solver, lin_expr e);
/* Narrows what is known of an atom. */
void lin_solver_bound_atom(lin_solver *solver, lin_atom atom, lin_range range);

/* `divisor` divides every value of `e`. */
bool lin_solver_divides(lin_solver *solver, lin_expr divisor, lin_expr e);
/* Makes e == 0 a rewriting rule. */
void lin_solver_add_zero(lin_solver *solver, lin_expr e);

static inline lin_expr minus(const lin_solver *solver, lin_expr a, lin_expr b)
{
    return lin_expr_sub(solver->table, a, b);
}

static inline lin_expr number(const lin_solver *solver, int64_t value)
{
    return lin_expr_int(solver->table, value);
}

/* left >= right as a difference that is not negative, for the four orders. */
static inline lin_expr order_difference(const lin_solver *solver, lin_comparison comparison,
                                        lin_expr left, lin_expr right)
{
    bool greater = comparison == LIN_GE || comparison == LIN_GT;
    bool strict = comparison == LIN_LT || comparison == LIN_GT;
    lin_expr difference = greater ? minus(solver, left, right) : minus(solver, right, left);
    return strict ? minus(solver, difference, number(solver, 1)) : difference;
}

/* A term as an expression, and term / divisor when the divisor's factors and coefficient all occur
 * in it (LIN_EXPR_INVALID when they do not). */
lin_expr lin_solver_term(const lin_solver *solver, const lin_term *term);
lin_expr lin_solver_term_quotient(const lin_solver *solver, const lin_term *term,
                                  const lin_term *divisor);

#endif
