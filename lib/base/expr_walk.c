/* SPDX-License-Identifier: MIT */

/* Looking through whole expressions: which symbols occur, and replacing them. Depth and size of an
 * expression are bounded (expr.h), so these recurse. */

#include "base/base.h"

bool lin_expr_mentions(const lin_expr_table *table, lin_expr e, lin_symbol symbol)
{
    lin_terms view = lin_expr_view(table, e);
    for (uint32_t i = 0; i < view.count; i++) {
        for (uint32_t j = 0; j < view.terms[i].factor_count; j++) {
            lin_atom_info info = lin_expr_atom(table, view.terms[i].factors[j].atom);
            if (info.kind == LIN_ATOM_SYMBOL ? info.symbol == symbol
                                             : lin_expr_mentions(table, info.left, symbol) ||
                                                   lin_expr_mentions(table, info.right, symbol))
                return true;
        }
    }
    return false;
}

bool lin_expr_any_symbol(const lin_expr_table *table, lin_expr e, lin_symbol *out)
{
    lin_terms view = lin_expr_view(table, e);
    for (uint32_t i = 0; i < view.count; i++) {
        for (uint32_t j = 0; j < view.terms[i].factor_count; j++) {
            lin_atom_info info = lin_expr_atom(table, view.terms[i].factors[j].atom);
            if (info.kind == LIN_ATOM_SYMBOL) {
                *out = info.symbol;
                return true;
            }
            if (lin_expr_any_symbol(table, info.left, out) ||
                lin_expr_any_symbol(table, info.right, out))
                return true;
        }
    }
    return false;
}

typedef struct replacement {
    lin_expr_table *to;
    const lin_expr_table *from;
    lin_expr_value_fn value_of;
    void *user;
} replacement;

static lin_expr replace(const replacement *r, lin_expr e);

static lin_expr replace_atom(const replacement *r, lin_atom atom)
{
    lin_atom_info info = lin_expr_atom(r->from, atom);
    if (info.kind == LIN_ATOM_SYMBOL)
        return r->value_of(r->user, info.symbol);
    lin_expr left = replace(r, info.left);
    lin_expr right = replace(r, info.right);
    switch (info.kind) {
    case LIN_ATOM_FLOORDIV:
        return lin_expr_floordiv(r->to, left, right);
    case LIN_ATOM_CEILDIV:
        return lin_expr_ceildiv(r->to, left, right);
    case LIN_ATOM_MOD:
        return lin_expr_mod(r->to, left, right);
    case LIN_ATOM_MIN:
        return lin_expr_min(r->to, left, right);
    case LIN_ATOM_MAX:
        return lin_expr_max(r->to, left, right);
    case LIN_ATOM_SYMBOL:
        break;
    }
    return LIN_EXPR_INVALID;
}

/* base^power by squaring; power >= 1. */
static lin_expr raise(lin_expr_table *table, lin_expr base, uint32_t power)
{
    if (power == 1)
        return base;
    lin_expr result = lin_expr_int(table, 1);
    for (;;) {
        if (power & 1)
            result = lin_expr_mul(table, result, base);
        power >>= 1;
        if (power == 0 || result == LIN_EXPR_INVALID)
            return result;
        base = lin_expr_mul(table, base, base);
    }
}

static lin_expr replace_term(const replacement *r, const lin_term *term)
{
    lin_expr product = LIN_EXPR_INVALID;
    for (uint32_t i = 0; i < term->factor_count; i++) {
        lin_expr value =
            raise(r->to, replace_atom(r, term->factors[i].atom), term->factors[i].power);
        product = i == 0 ? value : lin_expr_mul(r->to, product, value);
    }
    if (term->factor_count == 0)
        return lin_expr_int(r->to, term->coefficient);
    if (term->coefficient == 1)
        return product;
    return lin_expr_mul(r->to, lin_expr_int(r->to, term->coefficient), product);
}

static lin_expr replace(const replacement *r, lin_expr e)
{
    lin_terms view = lin_expr_view(r->from, e);
    if (view.count == 0)
        return lin_expr_int(r->to, 0);
    lin_expr sum = replace_term(r, &view.terms[0]);
    for (uint32_t i = 1; i < view.count; i++)
        sum = lin_expr_add(r->to, sum, replace_term(r, &view.terms[i]));
    return sum;
}

lin_expr lin_expr_replace(lin_expr_table *to, const lin_expr_table *from, lin_expr e,
                          lin_expr_value_fn value_of, void *user)
{
    const replacement r = { to, from, value_of, user };
    return e == LIN_EXPR_INVALID ? LIN_EXPR_INVALID : replace(&r, e);
}
