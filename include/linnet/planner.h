/* SPDX-License-Identifier: MIT */
#ifndef LINNET_PLANNER_H
#define LINNET_PLANNER_H

/**
 * @file
 * A model traced once for a configuration with some sizes left free. Another size is one evaluation
 * of a few hundred expressions and one sweep, without tracing again. The same inputs always give
 * the same bytes.
 */

#include <linnet/analysis.h>
#include <linnet/base.h>
#include <linnet/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct linnet_planner linnet_planner;

/**
 * Traces the model. The sizes set in the config (batch, context, cache; the cache follows the
 * context) are free: they may differ in the calls below. The planner keeps a reference to the
 * model.
 *
 * @return as linnet_analysis_new
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_planner_new(const linnet_model *model, const linnet_config *config,
                                            linnet_planner **out_planner, linnet_error *err);

/** Releases the planner. NULL is fine. @since 0.1 */
LINNET_API void linnet_planner_free(linnet_planner *planner);

/**
 * The peaks of another size, in bytes. Allocates nothing.
 *
 * A cache length that followed the context in the config follows it here too, unless `cache` gives
 * one.
 *
 * @param batch          sequences; 0 keeps the configured number
 * @param context        positions; likewise
 * @param cache          positions; likewise
 * @param out_graph      each may be NULL: linnet_analysis_graph_peak,
 * @param out_expected   linnet_analysis_expected_peak,
 * @param out_allocator  linnet_analysis_allocator_peak
 * @return LINNET_OK
 *         LINNET_ERROR_ARGUMENT   a size is negative, or given for a role that is not free
 *         LINNET_ERROR_OVERFLOW   some tensor or sum passes 2^63 - 1 bytes
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_planner_peaks(linnet_planner *planner, int64_t batch,
                                              int64_t context, int64_t cache, int64_t *out_graph,
                                              int64_t *out_expected, int64_t *out_allocator,
                                              linnet_error *err);

/**
 * The whole analysis of another size. It keeps no reference to the planner.
 *
 * @param out_analysis  receives a new analysis; release it with linnet_analysis_unref()
 * @return as linnet_planner_peaks, and LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_planner_analyse(linnet_planner *planner, int64_t batch,
                                                int64_t context, int64_t cache,
                                                linnet_analysis **out_analysis, linnet_error *err);

/**
 * The analysis of another size without what costs most, for many sizes: some microseconds where
 * linnet_planner_analyse takes a hundred times as long.
 *
 * Peaks, components with bytes and confidence, devices, unknown items and warnings are those of
 * linnet_planner_analyse. Components have no formula and an empty note; linnet_analysis_peak_at is
 * ""; there is no arena plan, timeline, recomputed share, list of tensors, assumption or formula.
 *
 * @param out_analysis  receives a new analysis; release it with linnet_analysis_unref()
 * @return as linnet_planner_analyse
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_planner_summarise(linnet_planner *planner, int64_t batch,
                                                  int64_t context, int64_t cache,
                                                  linnet_analysis **out_analysis,
                                                  linnet_error *err);

#ifdef __cplusplus
}
#endif

#endif
