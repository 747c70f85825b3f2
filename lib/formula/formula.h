/* SPDX-License-Identifier: MIT */
#ifndef LIN_FORMULA_H
#define LIN_FORMULA_H

/*
 * Closed forms of the literature: what a model, its training states, its activations and its layout
 * take, as a person would put them on paper. A form is a row: symbols, an expression, where it
 * comes from. Expressions are evaluated exactly, so that s/(18*h + 3*s) is a fraction and no
 * double.
 *
 *     expression = product (("+" | "-") product)*
 *     product    = power (("*" | "/") power)*
 *     power      = primary ("^" INTEGER)?
 *     primary    = INTEGER | NAME | NAME "(" expression ("," expression)? ")" | "(" expression ")"
 *
 * with the functions floor, ceil, min, max and ceilsqrt (the least integer whose square is no less
 * than its argument).
 */

#include "json/json.h"

/* In lowest terms; the denominator is at least 1. */
typedef struct lin_ratio {
    int64_t numerator, denominator;
} lin_ratio;

typedef struct lin_formula_symbol {
    const char *name;
    const char *otherwise; /* its value when none is given, over the symbols before it; NULL: it has
                              to be given */
} lin_formula_symbol;

enum { LIN_FORMULA_MAX_SYMBOLS = 12, LIN_FORMULA_MAX_CONDITIONS = 2 };

/* An expression that has to be above 0, and why not when it is not. */
typedef struct lin_formula_condition {
    const char *positive;
    const char *refusal;
    linnet_status status;
} lin_formula_condition;

typedef struct lin_formula {
    const char *name;
    const char *title;
    const char *unit;                                        /* "bytes", "parameters", … */
    lin_formula_symbol symbols[LIN_FORMULA_MAX_SYMBOLS + 1]; /* up to the one without a name */
    const char *expression;
    const char *source;
    lin_formula_condition conditions[LIN_FORMULA_MAX_CONDITIONS];
} lin_formula;

/* In the order of their subjects: parameters, states, activations, logits, a whole step,
 * recomputation, pipelines, numbers of devices, inference. */
uint32_t lin_formula_count(void);
const lin_formula *lin_formula_at(uint32_t index); /* NULL past the end */
/* LINNET_ERROR_NOT_FOUND with the nearest name. */
linnet_status lin_formula_find(const char *name, const lin_formula **out, linnet_error *err);
uint32_t lin_formula_symbol_count(const lin_formula *formula);
/* "positions of a sequence"; NULL for a name that no formula has. */
const char *lin_formula_meaning(const char *symbol);
/* The least value a symbol takes: 0 or 1. */
int64_t lin_formula_least(const char *symbol);

/* A formula with values put in. It begins as { .formula = … }. */
typedef struct lin_formula_answer {
    const lin_formula *formula;
    int64_t values[LIN_FORMULA_MAX_SYMBOLS];
    bool given[LIN_FORMULA_MAX_SYMBOLS];
    lin_ratio result;
} lin_formula_answer;

/* LINNET_ERROR_NOT_FOUND: no such symbol. LINNET_ERROR_ARGUMENT: below its least value, or another
 * value than before. */
linnet_status lin_formula_give(lin_formula_answer *answer, const char *symbol, int64_t value,
                               linnet_error *err);
/* What was not given, and the result. LINNET_ERROR_ARGUMENT: a symbol is missing, or the formula
 * does not hold for these values. LINNET_ERROR_CAPACITY: what is asked for does not exist.
 * LINNET_ERROR_OVERFLOW. */
linnet_status lin_formula_evaluate(lin_formula_answer *answer, linnet_error *err);

/* The formula, what each symbol is, the formula with the values put in, the result, the source. */
void lin_formula_print(lin_text *out, const lin_formula_answer *answer);
void lin_formula_write_json(lin_text *out, const lin_formula_answer *answer);

/* What an expression text comes to. */
typedef enum lin_formula_fault {
    LIN_FORMULA_FINE,
    LIN_FORMULA_OVERFLOW,
    LIN_FORMULA_BY_ZERO,
    LIN_FORMULA_MALFORMED /* a fault in the table itself */
} lin_formula_fault;
/* `names[i]` is worth `values[i]`. */
lin_formula_fault lin_formula_compute(const char *expression, const char *const *names,
                                      const int64_t *values, uint32_t count, lin_ratio *out);

#endif
