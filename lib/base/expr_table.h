/* SPDX-License-Identifier: MIT */
#ifndef LIN_EXPR_TABLE_H
#define LIN_EXPR_TABLE_H

/* The inside of the table of expressions: expr_table.c keeps it, expr.c computes with it. */

#include "base/base.h"

typedef struct monomial {
    uint32_t hash;
    uint32_t count;
    uint64_t degree;
    lin_factor factors[];
} monomial;

typedef struct polynomial {
    const lin_term *terms;
    uint32_t count;
    uint32_t hash;
    uint32_t depth; /* of nested quotients */
    uint32_t size;  /* of the written expression, in atoms and terms */
} polynomial;

typedef struct atom_entry {
    lin_atom_info info;
    uint32_t hash;
    lin_expr alone; /* the atom as an expression, or 0 */
} atom_entry;

typedef struct cached {
    uint32_t operation; /* OP_… or an atom kind; 0 is free (symbols are not cached) */
    lin_expr a, b, result;
} cached;

enum { CACHE_SIZE = 2048, MERGE_TERMS = 2 * LIN_EXPR_MAX_TERMS };

struct lin_expr_table {
    lin_arena *arena;
    LIN_LIST(polynomial) polynomials; /* [0] stands for LIN_EXPR_INVALID */
    LIN_LIST(atom_entry) atoms;
    LIN_LIST(const monomial *) monomials;
    LIN_LIST(const char *) symbol_names;
    LIN_LIST(lin_atom) symbol_atoms;
    uint32_t *polynomial_slots, *atom_slots, *monomial_slots; /* number + 1; 0 is free */
    uint32_t polynomial_slot_count, atom_slot_count, monomial_slot_count;
    cached *cache;
    lin_term *merged[2]; /* MERGE_TERMS + LIN_EXPR_MAX_TERMS terms each, made at the first use */
    bool out_of_memory;
};

static inline const monomial *monomial_of(const lin_term *term)
{
    return (const monomial *)(const void *)((const char *)(const void *)term->factors -
                                            offsetof(monomial, factors));
}

static inline uint32_t lin_expr_mix(uint32_t hash, uint64_t value)
{
    value = (value ^ hash) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(value ^ value >> 32);
}

#define LIN_NO_ATOM UINT32_MAX

/* The interned product of `count` > 0 factors sorted by atom, or NULL when there is no memory. */
const lin_factor *lin_expr_intern_factors(lin_expr_table *table, const lin_factor *factors,
                                          uint32_t count);
/* The number of the polynomial with these sorted terms without zeros; invalid past the limits. */
lin_expr lin_expr_intern_terms(lin_expr_table *table, const lin_term *terms, uint32_t count);
/* LIN_NO_ATOM when there is no memory. */
lin_atom lin_expr_intern_atom(lin_expr_table *table, lin_atom_info info);

#endif
