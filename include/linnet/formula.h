/* SPDX-License-Identifier: MIT */
#ifndef LINNET_FORMULA_H
#define LINNET_FORMULA_H

/**
 * @file
 * Closed forms of the literature: parameters of layers and models, training states by recipe,
 * activations, logits, recomputation, pipelines, numbers of devices, caches. Each has a name,
 * symbols, an expression, a unit and its source, and is computed exactly from integers. Nothing is
 * traced: to be compared with an analysis, or used where there is no model yet.
 *
 * A formula is a number from 0 to linnet_formula_count() - 1. The numbers may change from release
 * to release, the names do not: use linnet_formula_find().
 */

#include <linnet/base.h>
#include <linnet/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How many formulas there are. @since 0.1 */
LINNET_API uint64_t linnet_formula_count(void);

/**
 * The formula of that name.
 *
 * @return LINNET_OK
 *         LINNET_ERROR_NOT_FOUND  there is none; the message has the nearest name
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_formula_find(const char *name, uint64_t *out_formula,
                                             linnet_error *err);

/** Its name, such as "activations-gpt"; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_formula_name(uint64_t formula);

/** What it tells, as a phrase; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_formula_title(uint64_t formula);

/** The expression, such as "s*b*h*(34 + 5*a*s/h)"; NULL out of range. `/` is exact; the functions
 * are floor, ceil, min, max and ceilsqrt. Static. @since 0.1 */
LINNET_API const char *linnet_formula_expression(uint64_t formula);

/** What the result counts, such as "bytes"; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_formula_unit(uint64_t formula);

/** The paper or program it is from, or how it is derived; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_formula_source(uint64_t formula);

/** How many symbols it has; 0 out of range. @since 0.1 */
LINNET_API uint64_t linnet_formula_symbol_count(uint64_t formula);

/** The name of a symbol, such as "h"; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_formula_symbol_name(uint64_t formula, uint64_t symbol);

/** What a symbol stands for; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_formula_symbol_meaning(uint64_t formula, uint64_t symbol);

/** What a symbol is worth unless it is given, as an expression over the symbols before it; NULL
 * when it has to be given, and out of range. Static. @since 0.1 */
LINNET_API const char *linnet_formula_symbol_default(uint64_t formula, uint64_t symbol);

/**
 * The value of a formula, as a fraction in lowest terms.
 *
 * @param symbols          `count` names; may be NULL when `count` is 0
 * @param values           what each is worth
 * @param out_numerator    receives the result's numerator
 * @param out_denominator  receives its denominator, 1 for a whole number
 * @return LINNET_OK
 *         LINNET_ERROR_NOT_FOUND  the formula has no such symbol; the message has those it has
 *         LINNET_ERROR_ARGUMENT   `formula` is out of range; a symbol is missing, below its least
 *                                 value, or given as two values; the formula does not hold for
 *                                 these values
 *         LINNET_ERROR_CAPACITY   what the formula looks for does not exist: no number of devices,
 *                                 no micro-batch
 *         LINNET_ERROR_OVERFLOW   the result passes 2^63 - 1
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_formula_evaluate(uint64_t formula, const char *const *symbols,
                                                 const int64_t *values, uint64_t count,
                                                 int64_t *out_numerator, int64_t *out_denominator,
                                                 linnet_error *err);

/**
 * The formula, what each symbol is, the formula with the values put in, the result and the source,
 * for people.
 *
 * @param out_text  receives the text; release it with linnet_text_free()
 * @return as linnet_formula_evaluate, LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_formula_to_text(uint64_t formula, const char *const *symbols,
                                                const int64_t *values, uint64_t count,
                                                linnet_text **out_text, linnet_error *err);

/**
 * The same as one JSON object: version, formula, title, expression, put_in, symbols[] {name,
 * meaning, default, given, value}, result {value, numerator, denominator, unit}, source.
 *
 * @param out_text  receives the text; release it with linnet_text_free()
 * @return as linnet_formula_to_text
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_formula_to_json(uint64_t formula, const char *const *symbols,
                                                const int64_t *values, uint64_t count,
                                                linnet_text **out_text, linnet_error *err);

#ifdef __cplusplus
}
#endif

#endif
