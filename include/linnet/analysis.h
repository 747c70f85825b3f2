/* SPDX-License-Identifier: MIT */
#ifndef LINNET_ANALYSIS_H
#define LINNET_ANALYSIS_H

/**
 * @file
 * The answer for one configuration: what a device holds at its peak, part by part, with where each
 * number comes from. Immutable. All sizes are bytes.
 */

#include <linnet/base.h>
#include <linnet/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct linnet_analysis linnet_analysis;

/** Where a number comes from, strongest first. */
enum linnet_confidence {
    LINNET_CONFIDENCE_INVALID = -1,
    LINNET_CONFIDENCE_EXACT = 0,           /**< follows from shapes and dtypes */
    LINNET_CONFIDENCE_BACKEND_MODELED = 1, /**< follows from a rule about the framework */
    LINNET_CONFIDENCE_ESTIMATED = 2,       /**< measured elsewhere, or approximated */
    LINNET_CONFIDENCE_UNKNOWN = 3          /**< not known: listed, never counted */
};

/** The word of a linnet_confidence, such as "backend-modeled"; "unknown" for others. Static.
 * @since 0.1 */
LINNET_API const char *linnet_confidence_name(int32_t confidence);

/**
 * Traces the model as configured and adds up what it needs.
 *
 * @param out_analysis  receives a new analysis; release it with linnet_analysis_unref()
 * @return LINNET_OK
 *         LINNET_ERROR_ARGUMENT     a generic without a value, one the model lacks, an entry that
 *                                   cannot be trained, contradicting options
 *         LINNET_ERROR_NOT_FOUND    no root, entry or optional path of that name
 *         LINNET_ERROR_OVERFLOW     some tensor or sum passes 2^63 - 1 bytes
 *         LINNET_ERROR_UNSUPPORTED  a construct the entry reaches is not modelled
 *         LINNET_ERROR_FORMAT       the bindings name a parameter the model lacks
 *         LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_analysis_new(const linnet_model *model, const linnet_config *config,
                                             linnet_analysis **out_analysis, linnet_error *err);

/** Another reference, which is returned. @since 0.1 */
LINNET_API linnet_analysis *linnet_analysis_ref(linnet_analysis *analysis);

/** Gives a reference back. NULL is fine. @since 0.1 */
LINNET_API void linnet_analysis_unref(linnet_analysis *analysis);

/** Persistent bytes plus the largest sum of live activations: what the program itself needs.
 * @since 0.1 */
LINNET_API int64_t linnet_analysis_graph_peak(const linnet_analysis *analysis);

/** What the whole process needs on the device: caches as laid out, workspaces and runtime items
 * included. @since 0.1 */
LINNET_API int64_t linnet_analysis_expected_peak(const linnet_analysis *analysis);

/** What a caching allocator reports as allocated at its peak: the expected peak without runtime
 * items. @since 0.1 */
LINNET_API int64_t linnet_analysis_allocator_peak(const linnet_analysis *analysis);

/** The weakest confidence of the known components: a linnet_confidence. @since 0.1 */
LINNET_API int32_t linnet_analysis_confidence(const linnet_analysis *analysis);

/** Where the peak is: "step 1603: linear in `lm_head`". Borrowed. @since 0.1 */
LINNET_API const char *linnet_analysis_peak_at(const linnet_analysis *analysis);

/** The step of the peak, from 0; -1 when there is no step. @since 0.1 */
LINNET_API int64_t linnet_analysis_peak_step(const linnet_analysis *analysis);

/** Steps of the traced entry. @since 0.1 */
LINNET_API int64_t linnet_analysis_steps(const linnet_analysis *analysis);

/**
 * How transient storage can be laid out in one arena. Each `out_` may be NULL.
 *
 * @param out_naive        a buffer of its own for every tensor
 * @param out_planned      the best plan found
 * @param out_greedy       the plan of the greedy rule alone
 * @param out_lower_bound  live at most at one time: no plan is smaller
 * @return LINNET_OK, LINNET_ERROR_UNSUPPORTED (this analysis has no plan)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_analysis_allocation(const linnet_analysis *analysis,
                                                    int64_t *out_naive, int64_t *out_planned,
                                                    int64_t *out_greedy, int64_t *out_lower_bound,
                                                    linnet_error *err);

/** Components, in the order of the report; unknown ones included. @since 0.1 */
LINNET_API uint64_t linnet_analysis_component_count(const linnet_analysis *analysis);

/** "Weights", "KV cache", …; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_analysis_component_name(const linnet_analysis *analysis,
                                                      uint64_t index);

/** "parameters", "kv_cache", "activations", "runtime", …; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_analysis_component_category(const linnet_analysis *analysis,
                                                          uint64_t index);

/** Bytes; -1 when unknown or out of range. @since 0.1 */
LINNET_API int64_t linnet_analysis_component_bytes(const linnet_analysis *analysis, uint64_t index);

/** A linnet_confidence; LINNET_CONFIDENCE_INVALID out of range. @since 0.1 */
LINNET_API int32_t linnet_analysis_component_confidence(const linnet_analysis *analysis,
                                                        uint64_t index);

/** The bytes as a formula of batch, context and cache; NULL when there is none or it is too long.
 * Borrowed. @since 0.1 */
LINNET_API const char *linnet_analysis_component_formula(const linnet_analysis *analysis,
                                                         uint64_t index);

/** A remark, "" for none; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_analysis_component_note(const linnet_analysis *analysis,
                                                      uint64_t index);

/**
 * The bytes of all components into the caller's array; -1 for unknown ones.
 *
 * @param capacity   elements of `out_bytes`
 * @param out_count  receives the number of components, also when the array is too small; or NULL
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (the array is too small)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_analysis_copy_component_bytes(const linnet_analysis *analysis,
                                                              int64_t *out_bytes, uint64_t capacity,
                                                              uint64_t *out_count,
                                                              linnet_error *err);

/** Whether the expected peak fits the device's memory (linnet_config_set_device_memory): "OK"
 * leaves more than 5 % of it free, "TIGHT" fits, "OOM" does not; NULL when the config gave none.
 * Static.
 * @since 0.1 */
LINNET_API const char *linnet_analysis_verdict(const linnet_analysis *analysis);

/** Devices. The analysis describes the one that needs the most. @since 0.1 */
LINNET_API uint64_t linnet_analysis_device_count(const linnet_analysis *analysis);

/** "device:0"; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_analysis_device_name(const linnet_analysis *analysis, uint64_t index);

/** The expected peak of a device; -1 out of range. @since 0.1 */
LINNET_API int64_t linnet_analysis_device_expected_peak(const linnet_analysis *analysis,
                                                        uint64_t index);

/** The graph peak of a device; -1 out of range. @since 0.1 */
LINNET_API int64_t linnet_analysis_device_graph_peak(const linnet_analysis *analysis,
                                                     uint64_t index);

/** Its runtime items; -1 out of range. @since 0.1 */
LINNET_API int64_t linnet_analysis_device_runtime(const linnet_analysis *analysis, uint64_t index);

/** The blocks it holds, "embedding, layers.0-10"; "" where it holds all; NULL out of range.
 * Borrowed. @since 0.1 */
LINNET_API const char *linnet_analysis_device_holds(const linnet_analysis *analysis,
                                                    uint64_t index);

/** Tensors live at the peak, largest first. @since 0.1 */
LINNET_API uint64_t linnet_analysis_tensor_count(const linnet_analysis *analysis);

/** What a tensor is: a parameter's name, an input's, the step's label that made it; NULL out of
 * range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_analysis_tensor_name(const linnet_analysis *analysis, uint64_t index);

/** The parameter's path, or the block whose step made it; NULL out of range. Borrowed.
 * @since 0.1 */
LINNET_API const char *linnet_analysis_tensor_path(const linnet_analysis *analysis, uint64_t index);

/** Bytes; -1 out of range. @since 0.1 */
LINNET_API int64_t linnet_analysis_tensor_bytes(const linnet_analysis *analysis, uint64_t index);

/** The bytes as a formula; NULL when there is none. Borrowed. @since 0.1 */
LINNET_API const char *linnet_analysis_tensor_formula(const linnet_analysis *analysis,
                                                      uint64_t index);

/** The peak of the activations as a formula; NULL when it is too long. Borrowed. @since 0.1 */
LINNET_API const char *linnet_analysis_activations_formula(const linnet_analysis *analysis);

/** What is not included because it is not known. @since 0.1 */
LINNET_API uint64_t linnet_analysis_unknown_count(const linnet_analysis *analysis);

/** An unknown item; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_analysis_unknown(const linnet_analysis *analysis, uint64_t index);

/** Warnings, such as a `where` clause that these values break. @since 0.1 */
LINNET_API uint64_t linnet_analysis_warning_count(const linnet_analysis *analysis);

/** A warning; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_analysis_warning(const linnet_analysis *analysis, uint64_t index);

/** Assumptions behind the numbers. @since 0.1 */
LINNET_API uint64_t linnet_analysis_assumption_count(const linnet_analysis *analysis);

/** An assumption; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_analysis_assumption(const linnet_analysis *analysis, uint64_t index);

/** Arithmetic that checkpointing computes again, as a share of the step's (forward and backward); 0
 * without. @since 0.1 */
LINNET_API double linnet_analysis_recompute(const linnet_analysis *analysis);

/** Moments of the timeline; 0 when the config asked for none (linnet_config_set_timeline). In
 * inference one a step; in training forward steps, backward steps and the optimizer. @since 0.1 */
LINNET_API int64_t linnet_analysis_timeline_length(const linnet_analysis *analysis);

/**
 * The bytes of a category at every moment into the caller's array.
 *
 * @param category   as linnet_analysis_component_category; a category without bytes is all 0
 * @param capacity   elements of `out_bytes`
 * @param out_count  receives the number of moments, also when the array is too small; may be NULL
 * @return LINNET_OK
 *         LINNET_ERROR_UNSUPPORTED  no timeline
 *         LINNET_ERROR_NOT_FOUND    no such category
 *         LINNET_ERROR_ARGUMENT     the array is too small
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_analysis_copy_timeline(const linnet_analysis *analysis,
                                                       const char *category, int64_t *out_bytes,
                                                       uint64_t capacity, uint64_t *out_count,
                                                       linnet_error *err);

/** Phases of the timeline, in order; together they cover all moments. @since 0.1 */
LINNET_API uint64_t linnet_analysis_phase_count(const linnet_analysis *analysis);

/** "forward", "recomputation", "backward" or "optimizer"; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_analysis_phase_name(const linnet_analysis *analysis, uint64_t index);

/** The first moment of a phase; -1 out of range. @since 0.1 */
LINNET_API int64_t linnet_analysis_phase_first(const linnet_analysis *analysis, uint64_t index);

/** The moment after its last; -1 out of range. @since 0.1 */
LINNET_API int64_t linnet_analysis_phase_end(const linnet_analysis *analysis, uint64_t index);

/**
 * The report `linnet memory` prints.
 *
 * @param top  adds the `top` largest tensors live at the peak; 0 leaves them out
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (negative), LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_analysis_to_text(const linnet_analysis *analysis, int64_t top,
                                                 linnet_text **out_text, linnet_error *err);

/** The same as one JSON document. @since 0.1 */
LINNET_API linnet_status linnet_analysis_to_json(const linnet_analysis *analysis, int64_t top,
                                                 linnet_text **out_text, linnet_error *err);

/**
 * The memory timeline as one SVG file: bytes stacked by category over the moments, phases, the
 * peak.
 *
 * @param capacity_bytes  a device's memory, drawn as a line where it is near the peak; 0: none
 * @return LINNET_OK
 *         LINNET_ERROR_ARGUMENT     a negative capacity
 *         LINNET_ERROR_UNSUPPORTED  no timeline (linnet_config_set_timeline)
 *         LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_analysis_to_svg(const linnet_analysis *analysis,
                                                int64_t capacity_bytes, linnet_text **out_text,
                                                linnet_error *err);

/**
 * One HTML page that needs nothing else: the timeline to move around in, with the largest tensors
 * of each moment, the breakdown at the peak against a capacity, the components and what is not
 * known.
 *
 * @param capacity_bytes  as in linnet_analysis_to_svg
 * @return as linnet_analysis_to_svg
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_analysis_to_html(const linnet_analysis *analysis,
                                                 int64_t capacity_bytes, linnet_text **out_text,
                                                 linnet_error *err);

#ifdef __cplusplus
}
#endif

#endif
