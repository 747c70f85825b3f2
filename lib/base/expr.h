/* SPDX-License-Identifier: MIT */
#ifndef LIN_EXPR_H
#define LIN_EXPR_H

/*
 * Size expressions: integer polynomials over atoms, hash-consed in a table, so that two equal
 * expressions are one number.
 *
 *     polynomial = sum of coefficient * product of atom^power
 *     atom       = symbol | floordiv(p, q) | ceildiv(p, q) | mod(p, q) | min(p, q) | max(p, q)
 *
 * Products of sums are expanded, like terms merged, constants folded; min and max keep their
 * operands in one order. So equality is integer equality. The same table serves two users: the
 * front end, whose symbols are the `Dim` generics of declarations (and the element counts of shape
 * packs), and a traced graph, whose symbols are batch, context and cache.
 *
 * An expression whose coefficients would pass int64_t, that divides by the constant 0, that would
 * have more than LIN_EXPR_MAX_TERMS terms or LIN_EXPR_MAX_FACTORS factors in one of them (a power
 * counts as often as it says), that
 * nests quotients deeper than LIN_EXPR_MAX_DEPTH or is larger than LIN_EXPR_MAX_SIZE when written
 * out is LIN_EXPR_INVALID (so recursion over an expression is bounded); everything built from an
 * invalid expression is invalid (as with NaN), so it is tested once, where the result is used.
 * Symbols stand for integers >= 0.
 */

#include "names.h"
#include "text.h"

typedef uint32_t lin_expr; /* a number in its table */
enum {
    LIN_EXPR_INVALID = 0,
    LIN_EXPR_MAX_TERMS = 512,
    LIN_EXPR_MAX_FACTORS = 64,
    LIN_EXPR_MAX_DEPTH = 200,
    LIN_EXPR_MAX_SIZE = 1 << 16
};

typedef uint32_t lin_symbol; /* a number in its table, from 0 on */
typedef uint32_t lin_atom;   /* a number in its table */

typedef enum lin_atom_kind {
    LIN_ATOM_SYMBOL,
    LIN_ATOM_FLOORDIV,
    LIN_ATOM_CEILDIV,
    LIN_ATOM_MOD,
    LIN_ATOM_MIN,
    LIN_ATOM_MAX
} lin_atom_kind;

typedef struct lin_atom_info {
    lin_atom_kind kind;
    lin_symbol symbol;    /* of a symbol */
    lin_expr left, right; /* of the others */
} lin_atom_info;

typedef struct lin_factor {
    lin_atom atom;
    uint32_t power; /* >= 1 */
} lin_factor;

typedef struct lin_term {
    int64_t coefficient;       /* not 0 */
    const lin_factor *factors; /* sorted by atom */
    uint32_t factor_count;     /* 0: the constant term */
} lin_term;

typedef struct lin_terms {
    const lin_term *terms; /* in a canonical order, the constant last; the constant 0 has none */
    uint32_t count;
} lin_terms;

typedef struct lin_expr_table lin_expr_table;

/* Lives in `arena`, whose failure rule (jump or NULL) it follows: without a jump target a failed
 * allocation gives LIN_EXPR_INVALID and sets lin_expr_out_of_memory. */
lin_expr_table *lin_expr_table_new(lin_arena *arena);
bool lin_expr_out_of_memory(const lin_expr_table *table);

/* `name` is kept as given (it must outlive the table). Symbols with one name are still different
 * symbols. */
lin_symbol lin_expr_new_symbol(lin_expr_table *table, const char *name);
uint32_t lin_expr_symbol_count(const lin_expr_table *table);
const char *lin_expr_symbol_name(const lin_expr_table *table, lin_symbol symbol);

lin_expr lin_expr_int(lin_expr_table *table, int64_t value);
lin_expr lin_expr_of_symbol(lin_expr_table *table, lin_symbol symbol);
lin_expr lin_expr_add(lin_expr_table *table, lin_expr a, lin_expr b);
lin_expr lin_expr_sub(lin_expr_table *table, lin_expr a, lin_expr b);
lin_expr lin_expr_mul(lin_expr_table *table, lin_expr a, lin_expr b);
/* Quotients fold when both are constants, when b is 1, and when the constant b divides every
 * coefficient of a. No other rule is applied here (proofs are the solver's). b = 0 is invalid. */
lin_expr lin_expr_floordiv(lin_expr_table *table, lin_expr a, lin_expr b);
lin_expr lin_expr_ceildiv(lin_expr_table *table, lin_expr a, lin_expr b);
lin_expr lin_expr_mod(lin_expr_table *table, lin_expr a, lin_expr b);
lin_expr lin_expr_min(lin_expr_table *table, lin_expr a, lin_expr b);
lin_expr lin_expr_max(lin_expr_table *table, lin_expr a, lin_expr b);
/* The expression of an atom alone, to build with what lin_expr_view shows. */
lin_expr lin_expr_of_atom(lin_expr_table *table, lin_atom atom);

bool lin_expr_is_int(const lin_expr_table *table, lin_expr e, int64_t *out); /* `out` may be NULL */
lin_terms lin_expr_view(const lin_expr_table *table, lin_expr e);
lin_atom_info lin_expr_atom(const lin_expr_table *table, lin_atom atom);
/* True when `symbol` occurs anywhere in `e`. */
bool lin_expr_mentions(const lin_expr_table *table, lin_expr e, lin_symbol symbol);
/* Some symbol that occurs in `e`; false for a constant. */
bool lin_expr_any_symbol(const lin_expr_table *table, lin_expr e, lin_symbol *out);

/* `e` of `from` rebuilt in `to` (they may be the same table) with every symbol s replaced by
 * value_of(user, s). LIN_EXPR_INVALID from the callback makes the result invalid. Each distinct
 * subexpression is visited as often as it is reached: keep `e` small. */
typedef lin_expr (*lin_expr_value_fn)(void *user, lin_symbol symbol);
lin_expr lin_expr_replace(lin_expr_table *to, const lin_expr_table *from, lin_expr e,
                          lin_expr_value_fn value_of, void *user);

/* As dimensions are printed: "2 * batch * context + 4096", "context / 2", "ceil(tokens / 16)", "n %
 * 2", "min(a, b)". */
void lin_expr_print(lin_text *out, const lin_expr_table *table, lin_expr e);

/*
 * Evaluation. A program holds, in dependency order, every node the wanted expressions need; running
 * it fills one value a node without allocating. A value that does not fit in int64_t, or a division
 * by 0, makes that run fail.
 */
typedef struct lin_expr_program lin_expr_program;

lin_expr_program *lin_expr_compile(lin_arena *arena, const lin_expr_table *table,
                                   const lin_expr *wanted, uint32_t count);
/* `symbols[s]` is the value of symbol s. `out[i]` receives the value of `wanted[i]`. `scratch`
 * holds at least lin_expr_program_scratch values. False on overflow; *out_failed (may be NULL) is
 * then the index of a wanted expression that failed. */
uint32_t lin_expr_program_scratch(const lin_expr_program *program);
bool lin_expr_run(const lin_expr_program *program, const int64_t *symbols, int64_t *scratch,
                  int64_t *out, uint32_t *out_failed);

/* One expression, slowly: for messages and tests. */
bool lin_expr_evaluate(const lin_expr_table *table, lin_expr e, const int64_t *symbols,
                       int64_t *out);

#endif
