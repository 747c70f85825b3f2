/* SPDX-License-Identifier: MIT */
#ifndef LIN_SOLVER_FACTS_H
#define LIN_SOLVER_FACTS_H

/* Inside the solver: what it knows, shared by solver.c (facts, proofs), solver_simplify.c
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
    bool limited;   /* the rewriting under way met SOLVER_MAX_DEPTH */
    struct {
        lin_expr e, simple;
    } cache[SOLVER_CACHE];
};

/* What e and an atom can be, by interval arithmetic. */
lin_range lin_solver_range(const lin_solver *solver, lin_expr e);
lin_range lin_solver_atom_range(const lin_solver *solver, lin_atom atom);
/* e >= 0 by bounds and at most one stored fact, without rewriting. */
bool lin_solver_surely_not_negative(const lin_solver *solver, lin_expr e);
/* Narrows what is known of an atom. */
void lin_solver_bound_atom(lin_solver *solver, lin_atom atom, lin_range range);

/* `divisor` divides every value of `e`. */
bool lin_solver_divides(lin_solver *solver, lin_expr divisor, lin_expr e);
/* Makes e == 0 a rewriting rule. */
void lin_solver_add_zero(lin_solver *solver, lin_expr e);
void lin_solver_forget_cache(lin_solver *solver);

/* A term as an expression, and term / divisor when the divisor's factors and coefficient all occur
 * in it (LIN_EXPR_INVALID when they do not). */
lin_expr lin_solver_term(const lin_solver *solver, const lin_term *term);
lin_expr lin_solver_term_quotient(const lin_solver *solver, const lin_term *term,
                                  const lin_term *divisor);

#endif
