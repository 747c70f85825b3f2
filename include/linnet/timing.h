/* SPDX-License-Identifier: MIT */
#ifndef LINNET_TIMING_H
#define LINNET_TIMING_H

/**
 * @file
 * How long a step takes on a device, before it runs: what limits it, where the time goes.
 * Immutable. Times are seconds.
 *
 * Two models answer. "reference" is a published model with its published rates. "linnet", the
 * default, adds what that model leaves out: each rule has a name and a reason, by index below.
 */

#include <linnet/config.h>
#include <linnet/device.h>
#include <linnet/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct linnet_timing linnet_timing;

/**
 * The model of time: "linnet" (the default) or "reference".
 *
 * @return LINNET_OK, LINNET_ERROR_NOT_FOUND
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_time_model(linnet_config *config, const char *name,
                                                      linnet_error *err);

/**
 * How the code around a model goes through a training step, for the time model "linnet": "free"
 * (the default), where the host runs ahead and replicas' gradients are summed beside the backward
 * pass, or "megatron", Megatron-LM's, whose host waits for the device after each pass and takes
 * longer for each call, and whose gradients are summed when all of backward is done.
 *
 * @return LINNET_OK, LINNET_ERROR_NOT_FOUND
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_training_loop(linnet_config *config, const char *name,
                                                         linnet_error *err);

/** Rules that tell the models apart. @since 0.1 */
LINNET_API uint64_t linnet_time_rule_count(void);

/** The rule's name, such as "S1"; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_time_rule_name(uint64_t index);

/** What it does; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_time_rule_what(uint64_t index);

/** Why; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_time_rule_why(uint64_t index);

/** 1: the model "linnet" uses it; 0: it is off, or there is none. @since 0.1 */
LINNET_API int32_t linnet_time_rule_is_used(uint64_t index);

/**
 * Traces the model as configured and times one step on the device.
 *
 * @param out_timing  receives a new timing; release it with linnet_timing_unref()
 * @return as linnet_analysis_new; LINNET_ERROR_UNSUPPORTED also for layouts whose time is not
 *         modelled
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_timing_new(const linnet_model *model, const linnet_config *config,
                                           const linnet_device *device, linnet_timing **out_timing,
                                           linnet_error *err);

/** Another reference, which is returned. @since 0.1 */
LINNET_API linnet_timing *linnet_timing_ref(linnet_timing *timing);

/** Gives a reference back. NULL is fine. @since 0.1 */
LINNET_API void linnet_timing_unref(linnet_timing *timing);

/** The step, the optimizer's pass included. @since 0.1 */
LINNET_API double linnet_timing_seconds(const linnet_timing *timing);

/** Tokens of a step, those of replicas included. @since 0.1 */
LINNET_API double linnet_timing_tokens(const linnet_timing *timing);

/** Tokens over seconds. @since 0.1 */
LINNET_API double linnet_timing_tokens_per_second(const linnet_timing *timing);

/** Seconds that arithmetic limits. @since 0.1 */
LINNET_API double linnet_timing_compute_seconds(const linnet_timing *timing);

/** Seconds that memory limits, the optimizer's pass included. @since 0.1 */
LINNET_API double linnet_timing_memory_seconds(const linnet_timing *timing);

/** Seconds of exchanges with other devices. @since 0.1 */
LINNET_API double linnet_timing_communication_seconds(const linnet_timing *timing);

/** Seconds that the device waits for the host. @since 0.1 */
LINNET_API double linnet_timing_host_seconds(const linnet_timing *timing);

/** The largest of the four: "compute", "memory", "communication" or "host". @since 0.1 */
LINNET_API const char *linnet_timing_limit(const linnet_timing *timing);

/** Operations the model needs over what the device could do in that time. @since 0.1 */
LINNET_API double linnet_timing_model_utilisation(const linnet_timing *timing);

/** The same with what is computed again. @since 0.1 */
LINNET_API double linnet_timing_hardware_utilisation(const linnet_timing *timing);

/** The memory the step needs, as linnet_analysis_expected_peak. @since 0.1 */
LINNET_API int64_t linnet_timing_expected_peak(const linnet_timing *timing);

/** That peak against the device's memory: "OK" leaves more than 5 % of it free, "TIGHT" fits, "OOM"
 * does not. Static. @since 0.1 */
LINNET_API const char *linnet_timing_verdict(const linnet_timing *timing);

/** The costliest operations, at most ten. @since 0.1 */
LINNET_API uint64_t linnet_timing_operation_count(const linnet_timing *timing);

/** Its name, such as "linear"; NULL out of range. @since 0.1 */
LINNET_API const char *linnet_timing_operation_name(const linnet_timing *timing, uint64_t index);

/** Where it is, the indices of layers as `*`: "layers.*.mlp.gate"; "" for the root, NULL out of
 * range. @since 0.1 */
LINNET_API const char *linnet_timing_operation_scope(const linnet_timing *timing, uint64_t index);

/** Forward calls; 0 out of range. @since 0.1 */
LINNET_API int64_t linnet_timing_operation_calls(const linnet_timing *timing, uint64_t index);

/** Device seconds of all of them, backward included; 0 out of range. @since 0.1 */
LINNET_API double linnet_timing_operation_seconds(const linnet_timing *timing, uint64_t index);

/** The text `linnet time` prints. LINNET_OK, LINNET_ERROR_NO_MEMORY. @since 0.1 */
LINNET_API linnet_status linnet_timing_to_text(const linnet_timing *timing, linnet_text **out_text,
                                               linnet_error *err);

/**
 * One JSON object: version, device {name, source}, time_model, rules[], configuration, throughput
 * {tokens, seconds, tokens_per_second, compute_seconds, memory_seconds, communication_seconds,
 * host_seconds, bubble, limit}, part, utilisation, memory, costliest[], assumptions[].
 *
 * @return LINNET_OK, LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_timing_to_json(const linnet_timing *timing, linnet_text **out_text,
                                               linnet_error *err);

#ifdef __cplusplus
}
#endif

#endif
