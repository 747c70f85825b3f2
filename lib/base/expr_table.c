/* SPDX-License-Identifier: MIT */

/*
 * The table of expressions. Three things are hash-consed, each with open addressing over numbers:
 * products of atom powers (monomials), atoms, and polynomials, which are arrays of terms sorted by
 * monomial. Two equal products are one pointer, so terms compare without looking inside.
 */

#include "base/expr_table.h"

#include <string.h>

static lin_expr fail_memory(lin_expr_table *table)
{
    table->out_of_memory = true;
    return LIN_EXPR_INVALID;
}

/* Doubles an index; `hash_of` gives the hash of entry i. */
typedef uint32_t (*hash_fn)(const lin_expr_table *table, uint32_t index);

static bool grow_slots(lin_expr_table *table, uint32_t **slots, uint32_t *slot_count,
                       uint32_t first, uint32_t count, hash_fn hash_of)
{
    if (*slot_count > UINT32_MAX / 2)
        return false;
    uint32_t grown = *slot_count == 0 ? 64 : *slot_count * 2;
    uint32_t *fresh = LIN_NEW_ARRAY(table->arena, uint32_t, grown);
    if (fresh == NULL)
        return false;
    for (uint32_t i = first; i < count; i++) {
        uint32_t at = hash_of(table, i) & (grown - 1);
        while (fresh[at] != 0)
            at = (at + 1) & (grown - 1);
        fresh[at] = i + 1;
    }
    *slots = fresh;
    *slot_count = grown;
    return true;
}

static uint32_t polynomial_hash(const lin_expr_table *table, uint32_t i)
{
    return table->polynomials.items[i].hash;
}

static uint32_t atom_hash(const lin_expr_table *table, uint32_t i)
{
    return table->atoms.items[i].hash;
}

static uint32_t monomial_hash(const lin_expr_table *table, uint32_t i)
{
    return table->monomials.items[i]->hash;
}

/* ---- monomials ---- */

const lin_factor *lin_expr_intern_factors(lin_expr_table *table, const lin_factor *factors,
                                          uint32_t count)
{
    if (table->out_of_memory) /* an index that could not grow must not fill up */
        return NULL;
    uint32_t hash = count;
    for (uint32_t i = 0; i < count; i++)
        hash = lin_expr_mix(hash, (uint64_t)factors[i].atom << 32 | factors[i].power);
    uint32_t mask = table->monomial_slot_count - 1;
    uint32_t at = hash & mask;
    for (; table->monomial_slots[at] != 0; at = (at + 1) & mask) {
        const monomial *known = table->monomials.items[table->monomial_slots[at] - 1];
        if (known->hash == hash && known->count == count &&
            memcmp(known->factors, factors, count * sizeof(*factors)) == 0)
            return known->factors;
    }
    monomial *fresh =
        lin_arena_alloc(table->arena, sizeof(monomial) + (uint64_t)count * sizeof(*factors));
    if (fresh == NULL || !LIN_PUSH(table->arena, &table->monomials, fresh)) {
        table->out_of_memory = true;
        return NULL;
    }
    fresh->hash = hash;
    fresh->count = count;
    memcpy(fresh->factors, factors, count * sizeof(*factors));
    for (uint32_t i = 0; i < count; i++)
        fresh->degree += factors[i].power;
    table->monomial_slots[at] = table->monomials.count;
    if (table->monomials.count > table->monomial_slot_count / 2 &&
        !grow_slots(table, &table->monomial_slots, &table->monomial_slot_count, 0,
                    table->monomials.count, monomial_hash)) {
        table->out_of_memory = true;
        return NULL;
    }
    return fresh->factors;
}

/* ---- polynomials ---- */

static uint32_t hash_terms(const lin_term *terms, uint32_t count)
{
    uint32_t hash = count + 1;
    for (uint32_t i = 0; i < count; i++) {
        hash = lin_expr_mix(hash, (uint64_t)terms[i].coefficient);
        hash = lin_expr_mix(hash, terms[i].factor_count == 0 ? 0 : monomial_of(&terms[i])->hash);
    }
    return hash;
}

static bool same_terms(const lin_term *a, const lin_term *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (a[i].coefficient != b[i].coefficient || a[i].factors != b[i].factors)
            return false;
    return true;
}

/* Depth and size from the atoms inside; false past the limits. */
static bool measure(const lin_expr_table *table, polynomial *p)
{
    uint64_t size = p->count;
    for (uint32_t i = 0; i < p->count; i++) {
        for (uint32_t j = 0; j < p->terms[i].factor_count; j++) {
            const lin_atom_info *info = &table->atoms.items[p->terms[i].factors[j].atom].info;
            size++;
            if (info->kind == LIN_ATOM_SYMBOL)
                continue;
            const polynomial *left = &table->polynomials.items[info->left];
            const polynomial *right = &table->polynomials.items[info->right];
            uint32_t depth = (left->depth > right->depth ? left->depth : right->depth) + 1;
            p->depth = depth > p->depth ? depth : p->depth;
            size += (uint64_t)left->size + right->size;
        }
    }
    p->size = (uint32_t)size;
    return p->depth <= LIN_EXPR_MAX_DEPTH && size <= LIN_EXPR_MAX_SIZE;
}

lin_expr lin_expr_intern_terms(lin_expr_table *table, const lin_term *terms, uint32_t count)
{
    if (table->out_of_memory)
        return LIN_EXPR_INVALID;
    uint32_t hash = hash_terms(terms, count);
    uint32_t mask = table->polynomial_slot_count - 1;
    uint32_t at = hash & mask;
    for (; table->polynomial_slots[at] != 0; at = (at + 1) & mask) {
        uint32_t number = table->polynomial_slots[at] - 1;
        const polynomial *known = &table->polynomials.items[number];
        if (known->hash == hash && known->count == count && same_terms(known->terms, terms, count))
            return number;
    }
    polynomial fresh = { terms, count, hash, 0, 0 };
    if (count > LIN_EXPR_MAX_TERMS || !measure(table, &fresh))
        return LIN_EXPR_INVALID;
    lin_term *kept = LIN_NEW_ARRAY(table->arena, lin_term, count);
    if (kept == NULL)
        return fail_memory(table);
    if (count != 0)
        memcpy(kept, terms, count * sizeof(*terms));
    fresh.terms = kept;
    if (!LIN_PUSH(table->arena, &table->polynomials, fresh))
        return fail_memory(table);
    lin_expr number = table->polynomials.count - 1;
    table->polynomial_slots[at] = number + 1;
    if (table->polynomials.count > table->polynomial_slot_count / 2 &&
        !grow_slots(table, &table->polynomial_slots, &table->polynomial_slot_count, 1,
                    table->polynomials.count, polynomial_hash))
        return fail_memory(table);
    return number;
}

lin_expr_table *lin_expr_table_new(lin_arena *arena)
{
    lin_expr_table *table = LIN_NEW(arena, lin_expr_table);
    if (table == NULL)
        return NULL;
    table->arena = arena;
    table->cache = LIN_NEW_ARRAY(arena, cached, CACHE_SIZE);
    const polynomial invalid = { NULL, 0, 0, 0, 0 };
    bool made =
        table->cache != NULL && LIN_PUSH(arena, &table->polynomials, invalid) &&
        grow_slots(table, &table->polynomial_slots, &table->polynomial_slot_count, 0, 0,
                   polynomial_hash) &&
        grow_slots(table, &table->atom_slots, &table->atom_slot_count, 0, 0, atom_hash) &&
        grow_slots(table, &table->monomial_slots, &table->monomial_slot_count, 0, 0, monomial_hash);
    return made ? table : NULL;
}

bool lin_expr_out_of_memory(const lin_expr_table *table)
{
    return table->out_of_memory;
}

lin_expr lin_expr_int(lin_expr_table *table, int64_t value)
{
    const lin_term term = { value, NULL, 0 };
    return lin_expr_intern_terms(table, &term, value != 0);
}

bool lin_expr_is_int(const lin_expr_table *table, lin_expr e, int64_t *out)
{
    const polynomial *p = &table->polynomials.items[e];
    if (e == LIN_EXPR_INVALID || p->count > 1 || (p->count == 1 && p->terms[0].factor_count != 0))
        return false;
    if (out != NULL)
        *out = p->count == 0 ? 0 : p->terms[0].coefficient;
    return true;
}

lin_terms lin_expr_view(const lin_expr_table *table, lin_expr e)
{
    const polynomial *p = &table->polynomials.items[e];
    return (lin_terms){ p->terms, p->count };
}

lin_atom_info lin_expr_atom(const lin_expr_table *table, lin_atom atom)
{
    return table->atoms.items[atom].info;
}

/* ---- atoms and symbols ---- */

lin_atom lin_expr_intern_atom(lin_expr_table *table, lin_atom_info info)
{
    if (table->out_of_memory)
        return LIN_NO_ATOM;
    uint32_t hash = lin_expr_mix(lin_expr_mix((uint32_t)info.kind, info.symbol),
                                 (uint64_t)info.left << 32 | info.right);
    uint32_t mask = table->atom_slot_count - 1;
    uint32_t at = hash & mask;
    for (; table->atom_slots[at] != 0; at = (at + 1) & mask) {
        const lin_atom_info *known = &table->atoms.items[table->atom_slots[at] - 1].info;
        if (known->kind == info.kind && known->symbol == info.symbol && known->left == info.left &&
            known->right == info.right)
            return table->atom_slots[at] - 1;
    }
    const atom_entry fresh = { info, hash, LIN_EXPR_INVALID };
    if (!LIN_PUSH(table->arena, &table->atoms, fresh)) {
        table->out_of_memory = true;
        return LIN_NO_ATOM;
    }
    table->atom_slots[at] = table->atoms.count;
    lin_atom number = table->atoms.count - 1;
    if (table->atoms.count > table->atom_slot_count / 2 &&
        !grow_slots(table, &table->atom_slots, &table->atom_slot_count, 0, table->atoms.count,
                    atom_hash)) {
        table->out_of_memory = true;
        return LIN_NO_ATOM;
    }
    return number;
}

lin_expr lin_expr_of_atom(lin_expr_table *table, lin_atom atom)
{
    if (atom == LIN_NO_ATOM)
        return LIN_EXPR_INVALID;
    if (table->atoms.items[atom].alone != LIN_EXPR_INVALID)
        return table->atoms.items[atom].alone;
    const lin_factor factor = { atom, 1 };
    const lin_term term = { 1, lin_expr_intern_factors(table, &factor, 1), 1 };
    if (term.factors == NULL)
        return LIN_EXPR_INVALID;
    lin_expr alone = lin_expr_intern_terms(table, &term, 1);
    table->atoms.items[atom].alone = alone;
    return alone;
}

lin_symbol lin_expr_new_symbol(lin_expr_table *table, const char *name)
{
    lin_symbol symbol = table->symbol_names.count;
    lin_atom atom = lin_expr_intern_atom(table, (lin_atom_info){ .symbol = symbol });
    if (atom == LIN_NO_ATOM || !LIN_PUSH(table->arena, &table->symbol_atoms, atom) ||
        !LIN_PUSH(table->arena, &table->symbol_names, name))
        table->out_of_memory = true;
    return symbol;
}

uint32_t lin_expr_symbol_count(const lin_expr_table *table)
{
    return table->symbol_names.count;
}

const char *lin_expr_symbol_name(const lin_expr_table *table, lin_symbol symbol)
{
    return table->symbol_names.items[symbol];
}

lin_expr lin_expr_of_symbol(lin_expr_table *table, lin_symbol symbol)
{
    if (symbol >= table->symbol_names.count)
        return LIN_EXPR_INVALID;
    return lin_expr_of_atom(table, table->symbol_atoms.items[symbol]);
}
