/* SPDX-License-Identifier: MIT */
#ifndef LINNET_FIT_H
#define LINNET_FIT_H

/**
 * @file
 * What fits: the largest batch, context or cache whose expected peak is within a budget. The model
 * is traced once; the size doubles until it does not fit, and the gap is then halved. Immutable.
 * The same inputs always give the same bytes.
 *
 *     linnet_fit_budget(80LL << 30, 2LL << 30, 0, &budget, &err);
 *     linnet_fit_new(model, config, "batch", budget, &fit, &err);
 *     printf("%" PRId64 "\n", linnet_fit_value(fit));
 */

#include <linnet/analysis.h>
#include <linnet/config.h>
#include <linnet/model.h>
#include <linnet/planner.h>
#include <linnet/text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct linnet_fit linnet_fit;

/**
 * What a device leaves: its bytes, less `reserve_bytes`, less a share of the device.
 *
 * @param reserve_thousandths  the share in thousandths of a percent: 2500 is 2.5 %; rounded down to
 * bytes
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (negative, or nothing is left)
 * @since 0.1
 */
LINNET_API linnet_status linnet_fit_budget(int64_t device_bytes, int64_t reserve_bytes,
                                           int64_t reserve_thousandths, int64_t *out_budget_bytes,
                                           linnet_error *err);

/**
 * Traces the model as configured, with one size free, and searches for the largest that fits, up to
 * 2^24. The other sizes are the config's. A size that breaks one of the model's `where` clauses, or
 * that the micro-batches of a pipeline do not divide, does not fit.
 *
 * @param target        "batch", "context" or "kv-cache"; the config must not set that size. A cache
 * length that is not set follows the context
 * @param budget_bytes  what an expected peak may be at most
 * @param out_fit       receives a new fit, also when no size fits; release it with
 * linnet_fit_unref()
 * @return as linnet_analysis_new, and
 *         LINNET_ERROR_NOT_FOUND  no target of that name
 *         LINNET_ERROR_ARGUMENT   the size is given too, or no generic has it
 * @since 0.1
 */
LINNET_API linnet_status linnet_fit_new(const linnet_model *model, const linnet_config *config,
                                        const char *target, int64_t budget_bytes,
                                        linnet_fit **out_fit, linnet_error *err);

/**
 * The same search over a planner's sizes, without tracing: for several budgets. The size must be
 * free in the planner, that is, set in its config; the value set there does not matter.
 *
 * @return as linnet_fit_new
 * @since 0.1
 */
LINNET_API linnet_status linnet_planner_fit(linnet_planner *planner, const char *target,
                                            int64_t budget_bytes, linnet_fit **out_fit,
                                            linnet_error *err);

/** Another reference, which is returned. @since 0.1 */
LINNET_API linnet_fit *linnet_fit_ref(linnet_fit *fit);

/** Gives a reference back. NULL is fine. @since 0.1 */
LINNET_API void linnet_fit_unref(linnet_fit *fit);

/** The largest size that fits; 0: none does. @since 0.1 */
LINNET_API int64_t linnet_fit_value(const linnet_fit *fit);

/** The budget in bytes. @since 0.1 */
LINNET_API int64_t linnet_fit_budget_bytes(const linnet_fit *fit);

/** Bytes of the budget that the largest size leaves; 0 when no size fits. @since 0.1 */
LINNET_API int64_t linnet_fit_headroom(const linnet_fit *fit);

/** What stopped the search: "memory", "model" (a `where` clause) or "search" (its limit). Static.
 * @since 0.1 */
LINNET_API const char *linnet_fit_limited_by(const linnet_fit *fit);

/** Whether a peak fits a device's memory: "OK" leaves more than 5 % of it free, "TIGHT" fits, "OOM"
 * does not; as linnet_analysis_verdict, for an analysis whose config gave no memory. Static.
 * @since 0.1 */
LINNET_API const char *linnet_fit_verdict(int64_t expected_peak, int64_t device_bytes);

/** The analysis of the largest size that fits or, when none does, of the smallest that keeps the
 * model's `where` clauses; NULL when none keeps them. Borrowed. @since 0.1 */
LINNET_API const linnet_analysis *linnet_fit_analysis(const linnet_fit *fit);

/**
 * The text `linnet fit` prints: size, peak, headroom and the report of linnet_fit_analysis.
 *
 * @param top  as in linnet_analysis_to_text
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (negative), LINNET_ERROR_NO_MEMORY
 * @since 0.1
 */
LINNET_API linnet_status linnet_fit_to_text(const linnet_fit *fit, int64_t top,
                                            linnet_text **out_text, linnet_error *err);

/** One JSON object: target, value, budget, headroom, limited_by, result (as
 * linnet_analysis_to_json). Value, headroom and result are null when no size fits. @since 0.1 */
LINNET_API linnet_status linnet_fit_to_json(const linnet_fit *fit, int64_t top,
                                            linnet_text **out_text, linnet_error *err);

#ifdef __cplusplus
}
#endif

#endif
