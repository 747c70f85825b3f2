/* SPDX-License-Identifier: MIT */

/*
 * Expressions as dimensions are written. Positive terms come first, so that "D - D / 2" does not
 * begin with a minus; a quotient inside a product or another quotient stands in parentheses.
 */

#include "base/base.h"

/* A power up to this is written out: "n * n". */
enum { WRITTEN_POWER = 4 };

static void print_atom(lin_text *out, const lin_expr_table *table, lin_atom atom);

static bool is_call(lin_atom_kind kind)
{
    return kind == LIN_ATOM_MIN || kind == LIN_ATOM_MAX || kind == LIN_ATOM_CEILDIV;
}

/* An atom that binds tighter than a product: a symbol or a call. */
static bool is_tight(const lin_expr_table *table, lin_atom atom)
{
    lin_atom_kind kind = lin_expr_atom(table, atom).kind;
    return kind == LIN_ATOM_SYMBOL || is_call(kind);
}

static void print_factor(lin_text *out, const lin_expr_table *table, lin_atom atom)
{
    bool tight = is_tight(table, atom);
    if (!tight)
        lin_text_add(out, "(");
    print_atom(out, table, atom);
    if (!tight)
        lin_text_add(out, ")");
}

/* The term without its sign; a minus that leads the whole binds tighter than a quotient. */
static void print_term(lin_text *out, const lin_expr_table *table, const lin_term *term,
                       bool after_minus)
{
    uint64_t size =
        term->coefficient < 0 ? 0 - (uint64_t)term->coefficient : (uint64_t)term->coefficient;
    bool alone = size == 1 && term->factor_count == 1 && term->factors[0].power == 1;
    if (alone && !after_minus) {
        print_atom(out, table, term->factors[0].atom);
        return;
    }
    bool first = true;
    if (size != 1 || term->factor_count == 0) {
        lin_text_addf(out, "%llu", (unsigned long long)size);
        first = false;
    }
    for (uint32_t i = 0; i < term->factor_count; i++) {
        uint32_t power = term->factors[i].power;
        uint32_t times = power <= WRITTEN_POWER ? power : 1;
        for (uint32_t j = 0; j < times; j++) {
            lin_text_add(out, first ? "" : " * ");
            print_factor(out, table, term->factors[i].atom);
            first = false;
        }
        if (power > WRITTEN_POWER)
            lin_text_addf(out, "^%u", power);
    }
}

/* A product that may stand to the left of "/" and "%" as it is. */
static bool is_plain_product(const lin_expr_table *table, lin_terms view)
{
    if (view.count == 0)
        return true;
    if (view.count > 1 || view.terms[0].coefficient < 0)
        return false;
    for (uint32_t i = 0; i < view.terms[0].factor_count; i++)
        if (!is_tight(table, view.terms[0].factors[i].atom))
            return false;
    return true;
}

static bool is_single(lin_terms view)
{
    if (view.count == 0)
        return true;
    const lin_term *term = &view.terms[0];
    return view.count == 1 &&
           (term->factor_count == 0 ||
            (term->coefficient == 1 && term->factor_count == 1 && term->factors[0].power == 1));
}

static void print_operand(lin_text *out, const lin_expr_table *table, lin_expr e, bool is_right)
{
    lin_terms view = lin_expr_view(table, e);
    bool plain = is_plain_product(table, view) && (!is_right || is_single(view));
    if (!plain)
        lin_text_add(out, "(");
    lin_expr_print(out, table, e);
    if (!plain)
        lin_text_add(out, ")");
}

static void print_call(lin_text *out, const lin_expr_table *table, const char *name,
                       const char *separator, lin_atom_info info)
{
    lin_text_addf(out, "%s(", name);
    if (info.kind == LIN_ATOM_CEILDIV) {
        print_operand(out, table, info.left, false);
        lin_text_add(out, separator);
        print_operand(out, table, info.right, true);
    } else {
        lin_expr_print(out, table, info.left);
        lin_text_add(out, separator);
        lin_expr_print(out, table, info.right);
    }
    lin_text_add(out, ")");
}

static void print_atom(lin_text *out, const lin_expr_table *table, lin_atom atom)
{
    lin_atom_info info = lin_expr_atom(table, atom);
    switch (info.kind) {
    case LIN_ATOM_SYMBOL:
        lin_text_add(out, lin_expr_symbol_name(table, info.symbol));
        return;
    case LIN_ATOM_FLOORDIV:
    case LIN_ATOM_MOD:
        print_operand(out, table, info.left, false);
        lin_text_add(out, info.kind == LIN_ATOM_MOD ? " % " : " / ");
        print_operand(out, table, info.right, true);
        return;
    case LIN_ATOM_CEILDIV:
        print_call(out, table, "ceil", " / ", info);
        return;
    case LIN_ATOM_MIN:
        print_call(out, table, "min", ", ", info);
        return;
    case LIN_ATOM_MAX:
        print_call(out, table, "max", ", ", info);
        return;
    }
}

/* Terms of one sign; true when something was printed before or now. */
static bool print_terms(lin_text *out, const lin_expr_table *table, lin_terms view, bool negative,
                        bool begun)
{
    for (uint32_t i = 0; i < view.count; i++) {
        if ((view.terms[i].coefficient < 0) != negative)
            continue;
        if (negative)
            lin_text_add(out, begun ? " - " : "-");
        else
            lin_text_add(out, begun ? " + " : "");
        print_term(out, table, &view.terms[i], negative && !begun);
        begun = true;
    }
    return begun;
}

void lin_expr_print(lin_text *out, const lin_expr_table *table, lin_expr e)
{
    if (e == LIN_EXPR_INVALID) {
        lin_text_add(out, "?");
        return;
    }
    lin_terms view = lin_expr_view(table, e);
    bool begun = print_terms(out, table, view, false, false);
    begun = print_terms(out, table, view, true, begun);
    if (!begun)
        lin_text_add(out, "0");
}
