/* SPDX-License-Identifier: MIT */
#ifndef LINNET_SEARCH_H
#define LINNET_SEARCH_H

/**
 * @file
 * Which layout is fastest over a number of devices, and how many devices a job needs. A layout is
 * what each device does: tensor, context, expert and pipeline degrees, shards, replicas, the
 * schedule of a pipeline with its micro-batches, gradient accumulation, checkpointing. Within each,
 * the size grows to what fits. Immutable. The same inputs always give the same bytes, whatever the
 * number of threads.
 *
 *     linnet_config_set_devices(config, 64, &err);
 *     linnet_layouts_new(model, config, device, budget, &layouts, &err);
 *     printf("%s\n", linnet_layouts_name(layouts, 0));
 *
 * What the config sets is fixed: a degree (also to 1), the schedule, the micro-batches, the virtual
 * stages, the ZeRO stage, sequence parallelism, accumulation, checkpointing. What it leaves open is
 * searched.
 */

#include <linnet/analysis.h>
#include <linnet/config.h>
#include <linnet/device.h>
#include <linnet/model.h>
#include <linnet/planner.h>
#include <linnet/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Called now and then on the thread that called the library.
 *
 * @param done   of `total` parts of the work
 * @return 0 goes on, anything else stops: the call returns LINNET_ERROR_CANCELLED
 *
 * @since 0.1 */
typedef int32_t (*linnet_progress_fn)(void *user, uint64_t done, uint64_t total);

/* ---- options of a search ---- */

/**
 * Threads that a search may use; 1 without it. They are started and joined within the call.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1, more than 1024)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_threads(linnet_config *config, int64_t threads,
                                                   linnet_error *err);

/** Who is told of a search's progress and may stop it; NULL: nobody. Cannot fail. @since 0.1 */
LINNET_API linnet_status linnet_config_set_progress(linnet_config *config, linnet_progress_fn fn,
                                                    void *user, linnet_error *err);

/**
 * Layouts that are wanted, the fastest ones; 0: all of them. 20 without it, and all where the
 * pipeline model is "published". A search for how many devices are needed lists one.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (negative, more than 2^31)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_limit(linnet_config *config, int64_t layouts,
                                                 linnet_error *err);

/**
 * 1: the layouts that do not run, or are slower than the wanted ones, stay in the list with what
 * dropped them. They always do where the pipeline model is "published" or the limit is 0; where
 * none runs, those that miss the budget by the least do.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (neither 0 nor 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_explain(linnet_config *config, int32_t wanted,
                                                   linnet_error *err);

/**
 * The size of one optimizer step over all data-parallel ranks: sequences or, for an entry without
 * a batch, positions. Each layout then gets its share, in place of the largest size that fits.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_global_batch(linnet_config *config, int64_t size,
                                                        linnet_error *err);

/**
 * A checkpointing policy, as linnet_config_set_checkpoint takes it, that a search tries. May be
 * called for several; without one, "none", "selective" and "block" are tried ("none" and "block"
 * where the pipeline model is "published"). linnet_config_set_checkpoint fixes one instead.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (no policy), LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_add_checkpoint_choice(linnet_config *config,
                                                             const char *policy, linnet_error *err);

/** linnet_config_set_threads for the searches of a planner. @since 0.1 */
LINNET_API linnet_status linnet_planner_set_threads(linnet_planner *planner, int64_t threads,
                                                    linnet_error *err);

/** linnet_config_set_progress for the searches of a planner. @since 0.1 */
LINNET_API linnet_status linnet_planner_set_progress(linnet_planner *planner, linnet_progress_fn fn,
                                                     void *user, linnet_error *err);

/* ---- the fastest layouts ---- */

typedef struct linnet_layouts linnet_layouts;

/**
 * Searches the layouts of linnet_config_set_devices devices, or of as many as the degrees make.
 *
 * The size that grows is the batch or, of an entry without one, the context: the largest that fits
 * within each layout and the powers of two below it are timed, and the fastest is kept. It is fixed
 * when the config sets it or a global batch. The layouts keep references to what they need.
 *
 * @param budget_bytes  what the expected peak of every device may be at most
 * @param out_layouts   receives new layouts, also when none runs; release them with
 * linnet_layouts_unref()
 * @return as linnet_analysis_new, and
 *         LINNET_ERROR_ARGUMENT     fixed degrees that do not divide the devices, a size that is
 * fixed twice, a budget less than 1
 *         LINNET_ERROR_UNSUPPORTED  a schedule from a file
 *         LINNET_ERROR_CANCELLED    the progress callback said so
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_layouts_new(const linnet_model *model, const linnet_config *config,
                                            const linnet_device *device, int64_t budget_bytes,
                                            linnet_layouts **out_layouts, linnet_error *err);

/**
 * The same with a planner's model and config.
 *
 * @param target  the size that grows, which the planner's config sets: "batch" or "context"; NULL:
 * all sizes are as set
 * @return as linnet_layouts_new; LINNET_ERROR_NOT_FOUND: no target of that name
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_planner_layouts(linnet_planner *planner, const char *target,
                                                const linnet_device *device, int64_t budget_bytes,
                                                linnet_layouts **out_layouts, linnet_error *err);

/** Another reference, which is returned. @since 0.1 */
LINNET_API linnet_layouts *linnet_layouts_ref(linnet_layouts *layouts);

/** Gives a reference back. NULL is fine. @since 0.1 */
LINNET_API void linnet_layouts_unref(linnet_layouts *layouts);

/** Layouts in the list: those that run, by tokens per second descending, then the others in order
 * of enumeration. @since 0.1 */
LINNET_API uint64_t linnet_layouts_count(const linnet_layouts *layouts);

/** How many of them run: those with an index below that. @since 0.1 */
LINNET_API uint64_t linnet_layouts_running(const linnet_layouts *layouts);

/** Layouts that were looked at, in the list or not. @since 0.1 */
LINNET_API uint64_t linnet_layouts_considered(const linnet_layouts *layouts);

/** Devices of each layout. @since 0.1 */
LINNET_API int64_t linnet_layouts_devices(const linnet_layouts *layouts);

/** The budget in bytes. @since 0.1 */
LINNET_API int64_t linnet_layouts_budget_bytes(const linnet_layouts *layouts);

/** What linnet_layouts_size counts: "batch" or "context". Static. @since 0.1 */
LINNET_API const char *linnet_layouts_size_of(const linnet_layouts *layouts);

/** 1: the size is given, by itself or as a share of a global batch; 0: it grew. @since 0.1 */
LINNET_API int32_t linnet_layouts_is_size_fixed(const linnet_layouts *layouts);

/** What the predictions assume. @since 0.1 */
LINNET_API uint64_t linnet_layouts_assumption_count(const linnet_layouts *layouts);

/** One of them; NULL out of range. @since 0.1 */
LINNET_API const char *linnet_layouts_assumption(const linnet_layouts *layouts, uint64_t index);

/* ---- one layout, by index ---- */

/** "TP 2, PP 4 x 16 1f1b, 2 replicas"; "single" for one device; NULL out of range. @since 0.1 */
LINNET_API const char *linnet_layouts_name(const linnet_layouts *layouts, uint64_t index);

/**
 * "runs", "refused" (not legal, or not modelled), "memory" (no size fits, or the given one does
 * not), "clauses" (every size breaks a `where` clause) or "slower" (a bound says that it is not
 * among the wanted ones); NULL out of range. Static.
 *
 * @since 0.1 */
LINNET_API const char *linnet_layouts_state(const linnet_layouts *layouts, uint64_t index);

/** Why it does not run; "" for one that does, NULL out of range. @since 0.1 */
LINNET_API const char *linnet_layouts_reason(const linnet_layouts *layouts, uint64_t index);

/** Processes that split the weights; 0 out of range. @since 0.1 */
LINNET_API int64_t linnet_layouts_tensor_parallel(const linnet_layouts *layouts, uint64_t index);

/** 1: positions are split between tensor-parallel products; 0: not, or out of range. @since 0.1 */
LINNET_API int32_t linnet_layouts_sequence_parallel(const linnet_layouts *layouts, uint64_t index);

/** Processes that split the positions; 0 out of range. @since 0.1 */
LINNET_API int64_t linnet_layouts_context_parallel(const linnet_layouts *layouts, uint64_t index);

/** Processes that split the experts, out of those of other degrees; 0 out of range. @since 0.1 */
LINNET_API int64_t linnet_layouts_expert_parallel(const linnet_layouts *layouts, uint64_t index);

/** Ranks of a pipeline; 1: none; 0 out of range. @since 0.1 */
LINNET_API int64_t linnet_layouts_pipeline_parallel(const linnet_layouts *layouts, uint64_t index);

/** The order of its passes; NULL without a pipeline and out of range. @since 0.1 */
LINNET_API const char *linnet_layouts_schedule(const linnet_layouts *layouts, uint64_t index);

/** Stages a rank of the pipeline; 0 out of range. @since 0.1 */
LINNET_API int64_t linnet_layouts_virtual_stages(const linnet_layouts *layouts, uint64_t index);

/** Micro-batches of a pipeline's step; 1 without, 0 out of range. @since 0.1 */
LINNET_API int64_t linnet_layouts_microbatches(const linnet_layouts *layouts, uint64_t index);

/** Processes that split a training step's states; 0 out of range. @since 0.1 */
LINNET_API int64_t linnet_layouts_shards(const linnet_layouts *layouts, uint64_t index);

/** What they split, as linnet_config_set_zero; 0 without shards and out of range. @since 0.1 */
LINNET_API int64_t linnet_layouts_zero(const linnet_layouts *layouts, uint64_t index);

/** Copies of all of that on data of their own; 0 out of range. @since 0.1 */
LINNET_API int64_t linnet_layouts_replicas(const linnet_layouts *layouts, uint64_t index);

/** Micro-batches without a pipeline whose gradients are summed; 0 out of range. @since 0.1 */
LINNET_API int64_t linnet_layouts_grad_accumulation(const linnet_layouts *layouts, uint64_t index);

/** The checkpointing policy; NULL in inference and out of range. @since 0.1 */
LINNET_API const char *linnet_layouts_checkpoint(const linnet_layouts *layouts, uint64_t index);

/** Sequences or positions (linnet_layouts_size_of) of one data-parallel rank's step; 0: not known,
 * or out of range. @since 0.1 */
LINNET_API int64_t linnet_layouts_size(const linnet_layouts *layouts, uint64_t index);

/** Bytes of the most loaded device, at that size or, of one that is too large, at the smallest; -1:
 * not known, or out of range. @since 0.1 */
LINNET_API int64_t linnet_layouts_expected_peak(const linnet_layouts *layouts, uint64_t index);

/** Of a step, those of all data-parallel ranks; 0 for one that does not run. @since 0.1 */
LINNET_API double linnet_layouts_tokens(const linnet_layouts *layouts, uint64_t index);

/** Of a step; 0 for one that does not run. @since 0.1 */
LINNET_API double linnet_layouts_seconds(const linnet_layouts *layouts, uint64_t index);

/** Tokens over seconds; 0 for one that does not run. @since 0.1 */
LINNET_API double linnet_layouts_tokens_per_second(const linnet_layouts *layouts, uint64_t index);

/** Seconds that arithmetic limits; 0 for one that does not run. @since 0.1 */
LINNET_API double linnet_layouts_compute_seconds(const linnet_layouts *layouts, uint64_t index);

/** Seconds that memory limits; 0 for one that does not run. @since 0.1 */
LINNET_API double linnet_layouts_memory_seconds(const linnet_layouts *layouts, uint64_t index);

/** Seconds of exchanges; 0 for one that does not run. @since 0.1 */
LINNET_API double linnet_layouts_communication_seconds(const linnet_layouts *layouts,
                                                       uint64_t index);

/** Seconds that the device waits for the host; 0 for one that does not run. @since 0.1 */
LINNET_API double linnet_layouts_host_seconds(const linnet_layouts *layouts, uint64_t index);

/** Share of the step that a stage waits for others; 0 for one that does not run. @since 0.1 */
LINNET_API double linnet_layouts_bubble(const linnet_layouts *layouts, uint64_t index);

/** The largest of the four: "compute", "memory", "communication" or "host"; NULL for one that does
 * not run. Static. @since 0.1 */
LINNET_API const char *linnet_layouts_limit(const linnet_layouts *layouts, uint64_t index);

/**
 * Makes `config` that of the layout: degrees, schedule, micro-batches, accumulation, checkpointing,
 * and the size where it is known. Everything else of it stays. An analysis of it then has the
 * layout's expected peak.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (out of range), LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_layouts_configure(const linnet_layouts *layouts, uint64_t index,
                                                  linnet_config *config, linnet_error *err);

/** The text `linnet fit --maximize throughput` prints. LINNET_OK, LINNET_ERROR_NO_MEMORY.
 * @since 0.1 */
LINNET_API linnet_status linnet_layouts_to_text(const linnet_layouts *layouts,
                                                linnet_text **out_text, linnet_error *err);

/**
 * One JSON object: version, device {name, source}, devices, target, model, entry, training,
 * time_model, space, budget, size_of, size_fixed, global_batch, considered, candidates[] {layout,
 * state, configuration, replicas, size, refusal, expected_peak, throughput}, dropped[] {state,
 * reason, count}, result (as linnet_analysis_to_json, of the first layout; null when none runs),
 * assumptions[].
 *
 * @param top  as in linnet_analysis_to_json
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (negative), LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_layouts_to_json(const linnet_layouts *layouts, int64_t top,
                                                linnet_text **out_text, linnet_error *err);

/* ---- how many devices ---- */

typedef struct linnet_devices_needed linnet_devices_needed;

/**
 * Searches the layouts of 1 to 8 devices, then of multiples of the device's node, up to `most`: for
 * the smallest number that fits and, when `tokens_per_second` is not 0, the smallest that is that
 * fast. The config must not set the devices.
 *
 * @param most               devices; at least 1
 * @param tokens_per_second  of the whole job; 0: not asked for
 * @param out_needed         receives a new answer, also when no number does; release it with
 * linnet_devices_needed_unref()
 * @return as linnet_layouts_new
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_devices_needed_new(
    const linnet_model *model, const linnet_config *config, const linnet_device *device,
    int64_t budget_bytes, int64_t most, double tokens_per_second,
    linnet_devices_needed **out_needed, linnet_error *err);

/** Another reference, which is returned. @since 0.1 */
LINNET_API linnet_devices_needed *linnet_devices_needed_ref(linnet_devices_needed *needed);

/** Gives a reference back. NULL is fine. @since 0.1 */
LINNET_API void linnet_devices_needed_unref(linnet_devices_needed *needed);

/** The smallest number of devices with a layout that runs; 0: none. @since 0.1 */
LINNET_API int64_t linnet_devices_needed_fits(const linnet_devices_needed *needed);

/** The smallest that reaches the tokens per second; 0: none, or not asked for. @since 0.1 */
LINNET_API int64_t linnet_devices_needed_reaches(const linnet_devices_needed *needed);

/** The layouts of the smallest number that fits; NULL: none. Borrowed. @since 0.1 */
LINNET_API const linnet_layouts *linnet_devices_needed_fitting(const linnet_devices_needed *needed);

/** The layouts of the smallest that is fast enough; NULL: none. Borrowed. @since 0.1 */
LINNET_API const linnet_layouts *linnet_devices_needed_reaching(
    const linnet_devices_needed *needed);

/** Tokens per second of the fastest layout of all numbers that were looked at; 0: none runs.
 * @since 0.1 */
LINNET_API double linnet_devices_needed_fastest(const linnet_devices_needed *needed);

/** The devices of that layout; 0: none runs. @since 0.1 */
LINNET_API int64_t linnet_devices_needed_fastest_devices(const linnet_devices_needed *needed);

/** The text `linnet fit --devices-needed` prints. LINNET_OK, LINNET_ERROR_NO_MEMORY. @since 0.1 */
LINNET_API linnet_status linnet_devices_needed_to_text(const linnet_devices_needed *needed,
                                                       linnet_text **out_text, linnet_error *err);

/**
 * One JSON object: version, target, device, most, tokens_per_second, fits, reaches, fastest
 * {devices, tokens_per_second}, fitting and reaching (as linnet_layouts_to_json, without a result).
 * What there is none of is null.
 *
 * @return LINNET_OK, LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_devices_needed_to_json(const linnet_devices_needed *needed,
                                                       linnet_text **out_text, linnet_error *err);

#ifdef __cplusplus
}
#endif

#endif
