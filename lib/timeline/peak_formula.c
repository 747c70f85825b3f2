/* SPDX-License-Identifier: MIT */

/*
 * The peak as a formula: max(sum of live set 1, sum of live set 2, ...), over what comes and goes.
 * What a device holds from the first moment to the last (weights, caches) is the same in every set
 * and is left out, as workspaces are.
 *
 * Each live set is a row of coefficients over the monomials that occur in any size, e.g. for a
 * forward pass with a mask of context^2 bytes:
 *
 *                    context^2   context   1
 *     attention          1        69,640   0
 *     head               0       264,708   0
 *
 * A row is dropped when another is at least as large at all sizes: monomial by monomial, what it
 * has more of is paid with what the other has more of, in the same monomial or a multiple of it
 * (512 context <= 512 batch context, symbols being at least 1). So a model of hundreds of steps
 * leaves a few rows, and only those become expressions.
 *
 * Cost: linear in the events, and stops times kept rows times monomials.
 */

#include "timeline/sweep.h"

#include <string.h>

enum {
    MAX_MONOMIALS = 256, /* of all sizes together; more give no formula that anyone reads */
    MAX_FRONT = 1024,    /* rows kept at any time, before later ones drop them */
    MAX_ATOM_DEPTH = 16
};

typedef struct monomial {
    const lin_factor *factors;
    uint32_t factor_count;
    bool is_natural; /* >= 0 whatever the symbols */
} monomial;

/* One size as a sparse row: terms [first, end) of `size_terms`. */
typedef struct size_term {
    uint32_t monomial;
    int64_t coefficient;
} size_term;

typedef struct formula {
    const lin_timeline *timeline;
    lin_expr_table *exprs;
    lin_arena *scratch;
    LIN_LIST(monomial) monomials;
    LIN_LIST(size_term) size_terms;
    uint32_t *size_end; /* by size */
    bool *is_multiple;  /* [of][m]: monomial m is a multiple of monomial `of` */
    int64_t *surplus;   /* scratch of is_covered, by monomial */
    int64_t *row;       /* of the current stop */
    int64_t **front;
    uint32_t front_count;
} formula;

static bool is_natural(const lin_expr_table *exprs, lin_expr e, uint32_t depth);

static bool is_natural_atom(const lin_expr_table *exprs, lin_atom atom, uint32_t depth)
{
    const lin_atom_info info = lin_expr_atom(exprs, atom);
    if (info.kind == LIN_ATOM_SYMBOL)
        return true;
    const bool left = is_natural(exprs, info.left, depth + 1);
    const bool right = is_natural(exprs, info.right, depth + 1);
    return info.kind == LIN_ATOM_MAX ? left || right : left && right;
}

/* Sound, not complete: no negative coefficient, and natural atoms. */
static bool is_natural(const lin_expr_table *exprs, lin_expr e, uint32_t depth)
{
    if (e == LIN_EXPR_INVALID || depth > MAX_ATOM_DEPTH)
        return false;
    const lin_terms terms = lin_expr_view(exprs, e);
    for (uint32_t t = 0; t < terms.count; t++) {
        const lin_term *term = &terms.terms[t];
        if (term->coefficient < 0)
            return false;
        for (uint32_t f = 0; f < term->factor_count; f++)
            if (!is_natural_atom(exprs, term->factors[f].atom, depth))
                return false;
    }
    return true;
}

static bool is_same(const monomial *m, const lin_term *term)
{
    if (m->factor_count != term->factor_count)
        return false;
    for (uint32_t f = 0; f < term->factor_count; f++)
        if (m->factors[f].atom != term->factors[f].atom ||
            m->factors[f].power != term->factors[f].power)
            return false;
    return true;
}

/* False: too many, or out of memory. */
static bool number_monomial(formula *f, const lin_term *term, uint32_t *out)
{
    for (*out = 0; *out < f->monomials.count; (*out)++)
        if (is_same(&f->monomials.items[*out], term))
            return true;
    if (f->monomials.count == MAX_MONOMIALS)
        return false;

    monomial m = { term->factors, term->factor_count, true };
    for (uint32_t i = 0; i < term->factor_count; i++)
        m.is_natural &= is_natural_atom(f->exprs, term->factors[i].atom, 0);
    return LIN_PUSH(f->scratch, &f->monomials, m);
}

static bool split_sizes(formula *f)
{
    const lin_timeline *t = f->timeline;
    f->size_end = LIN_NEW_ARRAY(f->scratch, uint32_t, t->size_count);
    if (f->size_end == NULL)
        return false;
    for (uint32_t s = 0; s < t->size_count; s++) {
        if (t->sizes[s] == LIN_EXPR_INVALID)
            return false;
        const lin_terms terms = lin_expr_view(f->exprs, t->sizes[s]);
        for (uint32_t i = 0; i < terms.count; i++) {
            size_term entry = { .coefficient = terms.terms[i].coefficient };
            if (!number_monomial(f, &terms.terms[i], &entry.monomial) ||
                !LIN_PUSH(f->scratch, &f->size_terms, entry))
                return false;
        }
        f->size_end[s] = f->size_terms.count;
    }
    return true;
}

static bool add_to_row(formula *f, uint32_t size, int64_t count)
{
    for (uint32_t i = size == 0 ? 0 : f->size_end[size - 1]; i < f->size_end[size]; i++) {
        const size_term *term = &f->size_terms.items[i];
        int64_t *sum = &f->row[term->monomial], part;
        if (!lin_mul_i64(term->coefficient, count, &part) || !lin_add_i64(*sum, part, sum))
            return false;
    }
    return true;
}

static bool stays(const lin_timeline *t, const lin_interval *interval)
{
    switch (interval->category) {
    case LIN_CATEGORY_PARAMETERS:
    case LIN_CATEGORY_BUFFERS:
    case LIN_CATEGORY_STATE:
    case LIN_CATEGORY_KV_CACHE:
    case LIN_CATEGORY_MASTER_WEIGHTS:
    case LIN_CATEGORY_OPTIMIZER_STATES:
    case LIN_CATEGORY_RUNTIME:
        return !interval->is_workspace && interval->first == 0 && interval->end == t->length;
    default:
        return false;
    }
}

/* Whether `a` divides `b` with a quotient of symbols alone. Symbols are at least 1, so
 * then a <= b. */
static bool divides(const lin_expr_table *exprs, const monomial *a, const monomial *b)
{
    uint32_t i = 0;
    for (uint32_t j = 0; j < b->factor_count; j++) {
        const lin_factor *factor = &b->factors[j];
        const bool is_shared = i < a->factor_count && a->factors[i].atom == factor->atom;
        const uint32_t power = is_shared ? a->factors[i].power : 0;
        i += is_shared;
        if (power > factor->power ||
            (power < factor->power && lin_expr_atom(exprs, factor->atom).kind != LIN_ATOM_SYMBOL))
            return false;
    }
    return i == a->factor_count;
}

static bool note_divisors(formula *f)
{
    const uint32_t count = f->monomials.count;
    f->is_multiple = LIN_NEW_ARRAY(f->scratch, bool, (uint64_t)count *count);
    f->surplus = LIN_NEW_ARRAY(f->scratch, int64_t, count);
    if (f->is_multiple == NULL || f->surplus == NULL)
        return false;
    for (uint32_t m = 0; m < count; m++)
        for (uint32_t of = 0; of < count; of++)
            f->is_multiple[(uint64_t)of * count + m] =
                divides(f->exprs, &f->monomials.items[of], &f->monomials.items[m]);
    return true;
}

/* Pays for `need` of a monomial with what is left over of its multiples. */
static bool pay(formula *f, uint32_t of, int64_t need)
{
    const uint32_t count = f->monomials.count;
    for (uint32_t m = 0; m < count && need > 0; m++) {
        if (!f->is_multiple[(uint64_t)of * count + m] || f->surplus[m] <= 0)
            continue;
        const int64_t part = need < f->surplus[m] ? need : f->surplus[m];
        f->surplus[m] -= part;
        need -= part;
    }
    return need <= 0;
}

/* Whether row `a` is at most row `by` at all sizes. Sound, not complete. */
static bool is_covered(formula *f, const int64_t *a, const int64_t *by)
{
    for (uint32_t m = 0; m < f->monomials.count; m++)
        if (!lin_sub_i64(by[m], a[m], &f->surplus[m]) ||
            (a[m] != by[m] && !f->monomials.items[m].is_natural))
            return false;
    for (uint32_t m = 0; m < f->monomials.count; m++)
        if (f->surplus[m] < 0 && (f->surplus[m] == INT64_MIN || !pay(f, m, -f->surplus[m])))
            return false;
    return true;
}

/* Adds the current row to the front and drops the rows that it covers. */
static bool keep_row(formula *f)
{
    for (uint32_t i = 0; i < f->front_count; i++)
        if (is_covered(f, f->row, f->front[i]))
            return true;

    uint32_t kept = 0;
    int64_t *spare = NULL;
    for (uint32_t i = 0; i < f->front_count; i++) {
        if (is_covered(f, f->front[i], f->row))
            spare = f->front[i];
        else
            f->front[kept++] = f->front[i];
    }
    f->front_count = kept;
    if (spare == NULL)
        spare = LIN_NEW_ARRAY(f->scratch, int64_t, f->monomials.count);
    if (spare == NULL || f->front_count == MAX_FRONT)
        return false;
    if (f->monomials.count > 0)
        memcpy(spare, f->row, f->monomials.count * sizeof(*spare));
    f->front[f->front_count++] = spare;
    return true;
}

/* The sweep of sweep.c on rows in place of numbers. */
static bool collect(formula *f)
{
    const lin_timeline *t = f->timeline;
    f->row = LIN_NEW_ARRAY(f->scratch, int64_t, f->monomials.count);
    f->front = LIN_NEW_ARRAY(f->scratch, int64_t *, MAX_FRONT);
    if (f->row == NULL || f->front == NULL)
        return false;
    for (uint32_t i = 0; i < t->count; i++)
        if (stays(t, &t->intervals[i]) && !add_to_row(f, t->size_of[i], -1))
            return false;

    uint32_t event = 0;
    for (uint32_t i = 0; i < t->stops.count; i++) {
        const lin_sweep_stop *stop = &t->stops.items[i];
        for (; event < stop->live_end; event++)
            if (!add_to_row(f, t->events.items[event].size, t->events.items[event].count))
                return false;
        event = stop->workspace_end;
        if (!keep_row(f))
            return false;
    }
    return true;
}

static lin_expr of_monomial(lin_expr_table *exprs, const monomial *m)
{
    lin_expr product = lin_expr_int(exprs, 1);
    for (uint32_t i = 0; i < m->factor_count; i++)
        for (uint32_t power = 0; power < m->factors[i].power; power++)
            product = lin_expr_mul(exprs, product, lin_expr_of_atom(exprs, m->factors[i].atom));
    return product;
}

static lin_expr of_row(const formula *f, const int64_t *row)
{
    lin_expr sum = lin_expr_int(f->exprs, 0);
    for (uint32_t m = 0; m < f->monomials.count; m++)
        if (row[m] != 0)
            sum = lin_expr_add(f->exprs, sum,
                               lin_expr_mul(f->exprs, lin_expr_int(f->exprs, row[m]),
                                            of_monomial(f->exprs, &f->monomials.items[m])));
    return sum;
}

lin_expr lin_timeline_formula(const lin_timeline *timeline, lin_expr_table *exprs,
                              lin_arena *scratch, uint32_t max_sets)
{
    formula f = { .timeline = timeline, .exprs = exprs, .scratch = scratch };
    if (timeline->count == 0)
        return lin_expr_int(exprs, 0);
    if (!split_sizes(&f) || !note_divisors(&f) || !collect(&f) || f.front_count > max_sets)
        return LIN_EXPR_INVALID;

    lin_expr peak = of_row(&f, f.front[0]);
    for (uint32_t i = 1; i < f.front_count; i++)
        peak = lin_expr_max(exprs, peak, of_row(&f, f.front[i]));
    return peak;
}
