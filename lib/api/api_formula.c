/* SPDX-License-Identifier: MIT */

/* The closed forms, by number. */

#include "api/api.h"
#include "formula/formula.h"

static const lin_formula *at(uint64_t formula)
{
    return formula < lin_formula_count() ? lin_formula_at((uint32_t)formula) : NULL;
}

static const lin_formula_symbol *symbol_at(uint64_t formula, uint64_t symbol)
{
    const lin_formula *f = at(formula);
    return f != NULL && symbol < lin_formula_symbol_count(f) ? &f->symbols[symbol] : NULL;
}

uint64_t linnet_formula_count(void)
{
    return lin_formula_count();
}

linnet_status linnet_formula_find(const char *name, uint64_t *out_formula, linnet_error *err)
{
    const lin_formula *formula;
    const linnet_status status = lin_formula_find(name, &formula, err);
    if (status != LINNET_OK)
        return status;
    uint32_t index = 0;
    while (lin_formula_at(index) != formula)
        index++;
    *out_formula = index;
    return LINNET_OK;
}

const char *linnet_formula_name(uint64_t formula)
{
    const lin_formula *f = at(formula);
    return f != NULL ? f->name : NULL;
}

const char *linnet_formula_title(uint64_t formula)
{
    const lin_formula *f = at(formula);
    return f != NULL ? f->title : NULL;
}

const char *linnet_formula_expression(uint64_t formula)
{
    const lin_formula *f = at(formula);
    return f != NULL ? f->expression : NULL;
}

const char *linnet_formula_unit(uint64_t formula)
{
    const lin_formula *f = at(formula);
    return f != NULL ? f->unit : NULL;
}

const char *linnet_formula_source(uint64_t formula)
{
    const lin_formula *f = at(formula);
    return f != NULL ? f->source : NULL;
}

uint64_t linnet_formula_symbol_count(uint64_t formula)
{
    const lin_formula *f = at(formula);
    return f != NULL ? lin_formula_symbol_count(f) : 0;
}

const char *linnet_formula_symbol_name(uint64_t formula, uint64_t symbol)
{
    const lin_formula_symbol *s = symbol_at(formula, symbol);
    return s != NULL ? s->name : NULL;
}

const char *linnet_formula_symbol_meaning(uint64_t formula, uint64_t symbol)
{
    const lin_formula_symbol *s = symbol_at(formula, symbol);
    return s != NULL ? lin_formula_meaning(s->name) : NULL;
}

const char *linnet_formula_symbol_default(uint64_t formula, uint64_t symbol)
{
    const lin_formula_symbol *s = symbol_at(formula, symbol);
    return s != NULL ? s->otherwise : NULL;
}

/* ---- values put in ---- */

static linnet_status evaluate(uint64_t formula, const char *const *symbols, const int64_t *values,
                              uint64_t count, lin_formula_answer *out, linnet_error *err)
{
    lin_formula_answer answer = { .formula = at(formula) };
    linnet_status status = LINNET_OK;
    if (answer.formula == NULL)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "there is no formula number %llu",
                        (unsigned long long)formula);
    for (uint64_t i = 0; i < count && status == LINNET_OK; i++)
        status = lin_formula_give(&answer, symbols[i], values[i], err);
    if (status == LINNET_OK)
        status = lin_formula_evaluate(&answer, err);
    if (status == LINNET_OK)
        *out = answer;
    return status;
}

linnet_status linnet_formula_evaluate(uint64_t formula, const char *const *symbols,
                                      const int64_t *values, uint64_t count, int64_t *out_numerator,
                                      int64_t *out_denominator, linnet_error *err)
{
    lin_formula_answer answer;
    const linnet_status status = evaluate(formula, symbols, values, count, &answer, err);
    if (status != LINNET_OK)
        return status;
    *out_numerator = answer.result.numerator;
    *out_denominator = answer.result.denominator;
    return LINNET_OK;
}

static linnet_status write_answer(const lin_formula_answer *answer,
                                  void (*write)(lin_text *out, const lin_formula_answer *answer),
                                  linnet_text **out_text, linnet_error *err)
{
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    write(&text, answer);
    return lin_text_wrap(&text, out_text, err);
}

linnet_status linnet_formula_to_text(uint64_t formula, const char *const *symbols,
                                     const int64_t *values, uint64_t count, linnet_text **out_text,
                                     linnet_error *err)
{
    lin_formula_answer answer;
    const linnet_status status = evaluate(formula, symbols, values, count, &answer, err);
    return status == LINNET_OK ? write_answer(&answer, lin_formula_print, out_text, err) : status;
}

linnet_status linnet_formula_to_json(uint64_t formula, const char *const *symbols,
                                     const int64_t *values, uint64_t count, linnet_text **out_text,
                                     linnet_error *err)
{
    lin_formula_answer answer;
    const linnet_status status = evaluate(formula, symbols, values, count, &answer, err);
    return status == LINNET_OK ? write_answer(&answer, lin_formula_write_json, out_text, err)
                               : status;
}
