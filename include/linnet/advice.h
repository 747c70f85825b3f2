/* SPDX-License-Identifier: MIT */
#ifndef LINNET_ADVICE_H
#define LINNET_ADVICE_H

/**
 * @file
 * The cheapest change that makes a configuration fit: each change that linnet knows alone, with the
 * bytes it saves and the time it costs, and the cheapest combinations. Immutable. The same inputs
 * always give the same bytes.
 *
 *     linnet_advice_new(model, config, device, budget, &advice, &err);
 *     for (uint64_t i = 0; i < linnet_advice_change_count(advice); i++)
 *         printf("%s: %s\n", linnet_advice_change_name(advice, i),
 *                linnet_advice_change_options(advice, i));
 */

#include <linnet/config.h>
#include <linnet/device.h>
#include <linnet/model.h>
#include <linnet/text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct linnet_advice linnet_advice;

/**
 * Evaluates the configuration, each change alone and, when it does not fit, combinations of
 * changes. Sizes are those of the config; the batch of a training step stays.
 *
 * @param device        gives times; NULL: there are none, and changes stand in the order of what
 * they usually cost
 * @param budget_bytes  what an expected peak may be at most
 * @param out_advice    receives a new advice, also when nothing fits; release it with
 * linnet_advice_unref()
 * @return as linnet_analysis_new for the configuration as it is, and
 *         LINNET_ERROR_ARGUMENT   a budget below 1
 *         LINNET_ERROR_CANCELLED  the callback of linnet_config_set_progress() asked to stop
 * @since 0.1
 */
LINNET_API linnet_status linnet_advice_new(const linnet_model *model, const linnet_config *config,
                                           const linnet_device *device, int64_t budget_bytes,
                                           linnet_advice **out_advice, linnet_error *err);

/** Another reference, which is returned. @since 0.1 */
LINNET_API linnet_advice *linnet_advice_ref(linnet_advice *advice);

/** Gives a reference back. NULL is fine. @since 0.1 */
LINNET_API void linnet_advice_unref(linnet_advice *advice);

/** 1: the configuration, a change or a combination fits the budget. @since 0.1 */
LINNET_API int32_t linnet_advice_can_fit(const linnet_advice *advice);

/** The budget in bytes. @since 0.1 */
LINNET_API int64_t linnet_advice_budget_bytes(const linnet_advice *advice);

/** Of the configuration as it is, as linnet_analysis_expected_peak. @since 0.1 */
LINNET_API int64_t linnet_advice_expected_peak(const linnet_advice *advice);

/** Its step on the device; negative: no device, or the time is not modelled. @since 0.1 */
LINNET_API double linnet_advice_seconds(const linnet_advice *advice);

/** "OK" leaves more than 5 % of the budget free, "TIGHT" fits, "OOM" does not. Static. @since 0.1
 */
LINNET_API const char *linnet_advice_verdict(const linnet_advice *advice);

/** Bytes by which the closest combination misses the budget; 0 when something fits. @since 0.1 */
LINNET_API int64_t linnet_advice_missing_bytes(const linnet_advice *advice);

/* ---- each change alone ---- */

/** Changes: first those that were evaluated, by time cost, then by bytes saved; those of unknown
 * time; those that do not apply or are refused. @since 0.1 */
LINNET_API uint64_t linnet_advice_change_count(const linnet_advice *advice);

/** Such as "micro-batch: 1/4"; NULL out of range. Borrowed, as all texts here. @since 0.1 */
LINNET_API const char *linnet_advice_change_name(const linnet_advice *advice, uint64_t index);

/** What it sets, as options of the command line: "--batch 2 --grad-accumulation 4"; "" for one that
 * does not apply, NULL out of range. @since 0.1 */
LINNET_API const char *linnet_advice_change_options(const linnet_advice *advice, uint64_t index);

/** Why it saves; NULL out of range. @since 0.1 */
LINNET_API const char *linnet_advice_change_reason(const linnet_advice *advice, uint64_t index);

/** "none": results stay, but for the order of sums; "lengths": longer sequences than before no
 * longer fit into a micro-batch; "numerics"; "task": something else is trained. NULL out of range.
 * Static. @since 0.1 */
LINNET_API const char *linnet_advice_change_effect(const linnet_advice *advice, uint64_t index);

/** What else is different then; "" for nothing, NULL out of range. @since 0.1 */
LINNET_API const char *linnet_advice_change_remark(const linnet_advice *advice, uint64_t index);

/** "saves", "saves nothing" (alone), "refused" (by the model, or not modelled) or "does not apply";
 * NULL out of range. @since 0.1 */
LINNET_API const char *linnet_advice_change_state(const linnet_advice *advice, uint64_t index);

/** Why it is refused or does not apply; "" else, NULL out of range. @since 0.1 */
LINNET_API const char *linnet_advice_change_why_not(const linnet_advice *advice, uint64_t index);

/** The peak with it; -1: not known, or out of range. @since 0.1 */
LINNET_API int64_t linnet_advice_change_expected_peak(const linnet_advice *advice, uint64_t index);

/** Bytes that it saves of the peak; negative when it takes more, 0 out of range. @since 0.1 */
LINNET_API int64_t linnet_advice_change_saved_bytes(const linnet_advice *advice, uint64_t index);

/** Seconds of as many tokens as the unchanged step has; negative: not known. @since 0.1 */
LINNET_API double linnet_advice_change_seconds(const linnet_advice *advice, uint64_t index);

/** As linnet_advice_verdict, with it; NULL for one that was not evaluated. @since 0.1 */
LINNET_API const char *linnet_advice_change_verdict(const linnet_advice *advice, uint64_t index);

/* ---- together ---- */

/** Combinations that fit: the fastest that leaves results alone; the fastest that limits lengths,
 * and that with other numerics, where they are faster; with both, and with another task, only where
 * none before fits. 0 when the configuration fits as it is, or nothing does. @since 0.1 */
LINNET_API uint64_t linnet_advice_combination_count(const linnet_advice *advice);

/** Changes in it; 0 out of range. @since 0.1 */
LINNET_API uint64_t linnet_advice_combination_size(const linnet_advice *advice, uint64_t index);

/** The index of one of its changes, ascending; -1 out of range. @since 0.1 */
LINNET_API int64_t linnet_advice_combination_change(const linnet_advice *advice, uint64_t index,
                                                    uint64_t member);

/** All options of it; NULL out of range. @since 0.1 */
LINNET_API const char *linnet_advice_combination_options(const linnet_advice *advice,
                                                         uint64_t index);

/** The effects of its changes, such as "lengths, numerics"; NULL out of range. @since 0.1 */
LINNET_API const char *linnet_advice_combination_effect(const linnet_advice *advice,
                                                        uint64_t index);

/** The peak with it; -1 out of range. @since 0.1 */
LINNET_API int64_t linnet_advice_combination_expected_peak(const linnet_advice *advice,
                                                           uint64_t index);

/** Bytes that it saves of the peak; 0 out of range. @since 0.1 */
LINNET_API int64_t linnet_advice_combination_saved_bytes(const linnet_advice *advice,
                                                         uint64_t index);

/** As linnet_advice_change_seconds. @since 0.1 */
LINNET_API double linnet_advice_combination_seconds(const linnet_advice *advice, uint64_t index);

/** "OK" or "TIGHT"; NULL out of range. @since 0.1 */
LINNET_API const char *linnet_advice_combination_verdict(const linnet_advice *advice,
                                                         uint64_t index);

/* ---- documents ---- */

/** The text `linnet fit --advise` prints. LINNET_OK, LINNET_ERROR_NO_MEMORY. @since 0.1 */
LINNET_API linnet_status linnet_advice_to_text(const linnet_advice *advice, linnet_text **out_text,
                                               linnet_error *err);

/**
 * One JSON object: version, target ("advice"), model, entry, device, time_model, budget, fits,
 * base, changes[], combinations[], closest, assumptions[]. Bytes are integers; times are seconds,
 * null where they are not known.
 *
 * @return LINNET_OK, LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_advice_to_json(const linnet_advice *advice, linnet_text **out_text,
                                               linnet_error *err);

#ifdef __cplusplus
}
#endif

#endif
