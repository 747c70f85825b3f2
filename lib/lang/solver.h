/* SPDX-License-Identifier: MIT */
#ifndef LIN_SOLVER_H
#define LIN_SOLVER_H

/*
 * Proofs about dimensions (language.md 6.3): facts come from `where` clauses and from dimensions
 * never being negative. Sound, not complete: "not proven" means the user adds a `where` clause.
 * Rewriting depth is bounded, and so is the work, of one question and of a whole program.
 */

#include "lang/types.h"

typedef struct lin_solver lin_solver;

/* A solver over `table`, in `arena` (with a jump target). */
lin_solver *lin_solver_new(lin_arena *arena, lin_expr_table *table);
/* `solver` counts its work together with that of `first`, which lives as long. */
void lin_solver_share_work(lin_solver *solver, lin_solver *first);
void lin_solver_clear(lin_solver *solver);
void lin_solver_assume(lin_solver *solver, lin_comparison comparison, lin_expr left,
                       lin_expr right);

lin_expr lin_solver_simplify(lin_solver *solver, lin_expr e);
bool lin_solver_proves(lin_solver *solver, lin_comparison comparison, lin_expr left,
                       lin_expr right);
static inline bool lin_solver_equal(lin_solver *solver, lin_expr a, lin_expr b)
{
    return a == b || lin_solver_proves(solver, LIN_EQ, a, b);
}
/* a / b and a % b as a user writes them in a dimension: false (E2205) when the divisor is not
 * proven positive. */
bool lin_solver_positive(lin_solver *solver, lin_expr e);
bool lin_solver_negative(lin_solver *solver, lin_expr e); /* provably < 0: E2208 */

#endif
