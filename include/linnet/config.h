/* SPDX-License-Identifier: MIT */
#ifndef LINNET_CONFIG_H
#define LINNET_CONFIG_H

/**
 * @file
 * How a model runs: sizes, dtype, entry, backend. One setter an option; a bad value is refused by
 * the setter and changes nothing. A config is read when a model, analysis or planner is made from
 * it; later changes do not reach them, so one config may serve many.
 *
 * Of a config, making a model takes only the allocator, the source callback, the standard library's
 * folder and the limits.
 */

#include <linnet/base.h>
#include <linnet/text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct linnet_config linnet_config;

/**
 * The text of an imported module that is not of the standard library.
 *
 * @param module  its path as written, such as "layers.attention"
 * @param into    receives the text through linnet_text_set
 * @return 1: found; 0: no such module (E1202 at the import); negative: stop the call with
 *         LINNET_ERROR_CANCELLED
 */
typedef int32_t (*linnet_source_fn)(void *user, const char *module, linnet_text *into);

/**
 * A config with every option at its default.
 *
 * @return LINNET_OK, LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_new(linnet_config **out_config, linnet_error *err);

/**
 * The same, with the host's allocator, which everything made from this config inherits. `fn` and
 * `user` must outlive all of that.
 *
 * @return LINNET_OK, LINNET_ERROR_NO_MEMORY, LINNET_ERROR_ARGUMENT (`fn` is NULL)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_new_with_allocator(linnet_alloc_fn fn, void *user,
                                                          linnet_config **out_config,
                                                          linnet_error *err);

/** Releases the config. NULL is fine. @since 0.1 */
LINNET_API void linnet_config_free(linnet_config *config);

/**
 * Sequences in a batch: the generics `B` and `Batch`. Free in the formulas when set.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_batch(linnet_config *config, int64_t sequences,
                                                 linnet_error *err);

/**
 * Positions of each sequence: the generics `S`, `P`, `Seq` and `SeqLen`. Free in the formulas when
 * set; the cache length follows it unless linnet_config_set_cache gives another.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_context(linnet_config *config, int64_t positions,
                                                   linnet_error *err);

/**
 * Positions of the key/value caches: the generic `MaxSeq`. Free in the formulas when set.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_cache(linnet_config *config, int64_t positions,
                                                 linnet_error *err);

/**
 * Binds a generic of the root block or the entry, before the model card's value. A later binding of
 * the same generic replaces the earlier one. Whether the model has that generic shows when an
 * analysis is made.
 *
 * @param value  an integer ("32") or a dtype ("bf16")
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (neither, or an integer past int64),
 *         LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_bind(linnet_config *config, const char *generic,
                                            const char *value, linnet_error *err);

/**
 * The dtype of the root block's float generics, such as "bf16". NULL: the card's.
 *
 * @return LINNET_OK, LINNET_ERROR_NOT_FOUND (no such dtype), LINNET_ERROR_ARGUMENT (not a float)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_dtype(linnet_config *config, const char *dtype,
                                                 linnet_error *err);

/** The block whose entries are analysed; NULL: the only one with entries. LINNET_ERROR_NO_MEMORY.
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_root(linnet_config *config, const char *block,
                                                linnet_error *err);

/** The entry to analyse; NULL: the only one, or `forward`. LINNET_ERROR_NO_MEMORY. @since 0.1 */
LINNET_API linnet_status linnet_config_set_entry(linnet_config *config, const char *entry,
                                                 linnet_error *err);

/**
 * Resource model: "cuda" (the default: native implementations, 512-byte blocks, runtime items) or
 * "generic".
 *
 * @return LINNET_OK, LINNET_ERROR_NOT_FOUND
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_backend(linnet_config *config, const char *backend,
                                                   linnet_error *err);

/**
 * Which native implementations an op may get: "exact", "equivalent" or "fast" (the default).
 *
 * @return LINNET_OK, LINNET_ERROR_NOT_FOUND
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_numerics(linnet_config *config, const char *numerics,
                                                    linnet_error *err);

/** An optional parameter or block that is present. May be called for several.
 * LINNET_ERROR_NO_MEMORY. @since 0.1 */
LINNET_API linnet_status linnet_config_add_optional(linnet_config *config, const char *path,
                                                    linnet_error *err);

/**
 * 1: ignore the card's weight bindings, so that nothing is tied and no optional parameter is
 * present.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (neither 0 nor 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_no_bindings(linnet_config *config, int32_t ignore,
                                                       linnet_error *err);

/**
 * What key/value caches are stored in: a dtype, "fp8" ("fp8_e4m3", "fp8_e5m2"), or one of GGUF's
 * cache types ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"); with a comma the second is for
 * values, "iq4_nl,f16". NULL: as declared.
 *
 * @return LINNET_OK, LINNET_ERROR_NOT_FOUND
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_kv_dtype(linnet_config *config, const char *dtype,
                                                    linnet_error *err);

/**
 * What layers with a sliding window keep: "window" (the default), the positions in it, or "full",
 * every position, as engines do that know no shorter caches.
 *
 * @return LINNET_OK, LINNET_ERROR_NOT_FOUND
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_kv_window(linnet_config *config, const char *window,
                                                     linnet_error *err);

/**
 * Paged caches of so many positions a block.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_kv_block_size(linnet_config *config, int64_t positions,
                                                         linnet_error *err);

/**
 * The size of the CUDA context in bytes, in place of the measured default.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (negative)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_context_bytes(linnet_config *config, int64_t bytes,
                                                         linnet_error *err);

/**
 * The memory of the device that this is to run on: reports then say whether it fits
 * (linnet_analysis_verdict). 0 takes it back.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (negative)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_device_memory(linnet_config *config, int64_t bytes,
                                                         linnet_error *err);

/**
 * The cuBLAS workspace as a CUBLAS_WORKSPACE_CONFIG string (":4096:2:16:8": pairs of KiB and
 * count); NULL: the default. The library does not read the environment: a caller passes what it
 * finds there.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (not such a string), LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_cublas_workspace(linnet_config *config, const char *text,
                                                            linnet_error *err);

/**
 * 1: a training step of the entry, which must return a loss: forward, backward and the optimizer on
 * one timeline. The options below are training's; one of them without training is refused when an
 * analysis or a planner is made.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (neither 0 nor 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_training(linnet_config *config, int32_t training,
                                                    linnet_error *err);

/**
 * The optimizer: "sgd", "sgd-momentum", "adam", "adamw" (the default; both fused), "adamw-foreach",
 * "adamw-8bit", "paged-adamw-8bit", "adafactor", "lion" or "muon".
 *
 * @return LINNET_OK, LINNET_ERROR_NOT_FOUND, LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_optimizer(linnet_config *config, const char *optimizer,
                                                     linnet_error *err);

/**
 * The dtype of master weights, which are what is updated; NULL: the parameters themselves are.
 *
 * @return LINNET_OK, LINNET_ERROR_NOT_FOUND (no such dtype), LINNET_ERROR_ARGUMENT (not a float)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_master_dtype(linnet_config *config, const char *dtype,
                                                        linnet_error *err);

/**
 * The dtype gradients are summed in; NULL: the dtype that is updated.
 *
 * @return as linnet_config_set_master_dtype
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_gradient_dtype(linnet_config *config, const char *dtype,
                                                          linnet_error *err);

/** A pattern (`*`, `?`, `[a-z]`) of paths of parameters that are trained; without one all are. May
 * be called for several. LINNET_ERROR_NO_MEMORY. @since 0.1 */
LINNET_API linnet_status linnet_config_add_trainable(linnet_config *config, const char *pattern,
                                                     linnet_error *err);

/**
 * What is computed again in backward: "none", "block" (each element of each array of blocks),
 * "every:K" (K elements at a time), "selective" (the attention cores), or comma-separated patterns
 * of block paths. Whether they match shows when an analysis is made.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (empty, K less than 1), LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_checkpoint(linnet_config *config, const char *policy,
                                                      linnet_error *err);

/**
 * "steady" (the default), or "first": the step that makes the optimizer's states when it ends.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_step(linnet_config *config, const char *step,
                                                linnet_error *err);

/**
 * Micro-batches whose gradients are summed before the optimizer runs; the sizes are those of one.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_grad_accumulation(linnet_config *config,
                                                             int64_t microbatches,
                                                             linnet_error *err);

/**
 * 1: the gradients are clipped by their global norm before the optimizer runs.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (neither 0 nor 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_clip_grad_norm(linnet_config *config, int32_t clip,
                                                          linnet_error *err);

/**
 * Low-rank adapters on frozen linear layers: a rank ("16"), or a rank and comma-separated patterns
 * of the layers' paths ("16:q_proj,v_proj"); without patterns, every linear layer of the arrays of
 * blocks. Trainable patterns come in addition.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (a rank less than 1, not of that form),
 *         LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_lora(linnet_config *config, const char *lora,
                                                linnet_error *err);

/**
 * How the cross-entropy of an output head is computed: "chunked", "logits" (all logits in the
 * model's dtype) or "logits-f32" (and a copy in f32). Without it, as the model has it.
 *
 * @return LINNET_OK, LINNET_ERROR_NOT_FOUND
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_loss(linnet_config *config, const char *loss,
                                                linnet_error *err);

/**
 * 1: analyses carry their timeline (linnet_analysis_copy_timeline, "timeline" in the JSON).
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (neither 0 nor 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_timeline(linnet_config *config, int32_t wanted,
                                                    linnet_error *err);

/**
 * Processes that split the weights between them. A model whose root has a generic `Shards` is
 * traced as one of them; any other is split by rules over its parameters' paths. Degrees that do
 * not divide show when an analysis is made.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_tensor_parallel(linnet_config *config, int64_t degree,
                                                           linnet_error *err);

/**
 * 1: what lies between tensor-parallel products is split along the positions. For models whose root
 * has a generic `SequenceShards`.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (neither 0 nor 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_sequence_parallel(linnet_config *config, int32_t wanted,
                                                             linnet_error *err);

/**
 * Processes that split the positions of a training step between them.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_context_parallel(linnet_config *config, int64_t degree,
                                                            linnet_error *err);

/**
 * How they see each other's keys and values: "ring" (the default) or "all-gather".
 *
 * @return LINNET_OK, LINNET_ERROR_NOT_FOUND
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_context_exchange(linnet_config *config,
                                                            const char *exchange,
                                                            linnet_error *err);

/**
 * Processes that split the experts of a mixture between them, out of those of the other degrees but
 * the tensor-parallel one: context first, then shards, then replicas. States of an expert are split
 * over the shards that it is on; degrees that leave no whole number of them are refused when an
 * analysis is made.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_expert_parallel(linnet_config *config, int64_t degree,
                                                           linnet_error *err);

/**
 * Stages of a pipeline.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_pipeline_parallel(linnet_config *config, int64_t degree,
                                                             linnet_error *err);

/**
 * Micro-batches of a step: equal parts of the first axis of the first input, which must be the
 * batch or the context.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_microbatches(linnet_config *config, int64_t count,
                                                        linnet_error *err);

/**
 * Stages each rank of a pipeline holds, for schedules that take several; without it, what the
 * schedule has.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_virtual_stages(linnet_config *config, int64_t stages,
                                                          linnet_error *err);

/**
 * The order of a pipeline's passes: one of linnet_builtin_schedule_name(); "1f1b" without it.
 *
 * @return LINNET_OK, LINNET_ERROR_NOT_FOUND (the message has the nearest), LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_schedule(linnet_config *config, const char *name,
                                                    linnet_error *err);

/**
 * A schedule in place of a name: the JSON of linnet_schedule_to_json(). Ranks and micro-batches are
 * those it has; degrees that are given as well must say the same.
 *
 * @param text         `length` bytes of UTF-8; copied
 * @param source_name  names the text in errors
 * @return LINNET_OK, LINNET_ERROR_FORMAT (the message names the rank and the action),
 *         LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_schedule_text(linnet_config *config, const char *text,
                                                         uint64_t length, const char *source_name,
                                                         linnet_error *err);

/**
 * The root's block that each stage after the first starts at: "layers.5,layers.11,layers.17". NULL:
 * stages are balanced, as linnet_config_set_stages_by() says.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (empty), LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_stages(linnet_config *config, const char *blocks,
                                                  linnet_error *err);

/**
 * What stages are balanced by where they are not given: "bytes" of their parameters (the default),
 * or the "time" of a micro-batch on a device, so that the slowest stage takes the least time. Calls
 * that are given a device balance by its time, the others by that of linnet_config_set_device();
 * without any they fail with LINNET_ERROR_ARGUMENT. A size that a search varies counts as one
 * sequence or 4,096 positions.
 *
 * @return LINNET_OK, LINNET_ERROR_NOT_FOUND
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_stages_by(linnet_config *config, const char *measure,
                                                     linnet_error *err);

/**
 * How a pipeline's ranks are counted: "linnet" (the default) replays each along its actions;
 * "published" has the closed forms that exist for gpipe and 1f1b.
 *
 * @return LINNET_OK, LINNET_ERROR_NOT_FOUND
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_pipeline_model(linnet_config *config, const char *model,
                                                          linnet_error *err);

/**
 * Processes that split a training step's states between them: linnet_config_set_zero says which.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_shards(linnet_config *config, int64_t shards,
                                                  linnet_error *err);

/**
 * Copies of all of that on data of their own.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_replicas(linnet_config *config, int64_t replicas,
                                                    linnet_error *err);

/**
 * Devices of the job. The degrees must divide them; replicas that are not given fill them.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_devices(linnet_config *config, int64_t devices,
                                                   linnet_error *err);

/**
 * What the shards split: 1 optimizer states and master weights, 2 gradients too, 3 (the default)
 * weights too, as FSDP does.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (another number)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_zero(linnet_config *config, int64_t stage,
                                                linnet_error *err);

/**
 * What sharded weights become between forward and backward: parts again ("always", the default),
 * whole ("never"), or spread over a group of so many processes ("8").
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_reshard(linnet_config *config, const char *when,
                                                   linnet_error *err);

/**
 * Groups of sharded weights that are gathered before their turn; 0 by default.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (negative)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_prefetch(linnet_config *config, int64_t groups,
                                                    linnet_error *err);

/** A folder to read the standard library from; NULL: the one compiled in. LINNET_ERROR_NO_MEMORY.
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_std_directory(linnet_config *config,
                                                         const char *directory, linnet_error *err);

/**
 * How much more than its even share the fullest expert of a mixture gets, in thousandths: 1000 (the
 * default) is balanced and grouped, without padding; more pads every expert to the fullest one's
 * capacity. Refused when an analysis is made of a model whose root has no generic `Imbalance`.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1000, more than 1000000)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_expert_imbalance(linnet_config *config,
                                                            int64_t thousandths, linnet_error *err);

/** Where the modules imported by a program come from; NULL removes it. Cannot fail. @since 0.1 */
LINNET_API linnet_status linnet_config_set_source(linnet_config *config, linnet_source_fn fn,
                                                  void *user, linnet_error *err);

/**
 * The largest file that is read, in bytes; 16 MiB by default.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (less than 1, more than 2^30)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_file_bytes(linnet_config *config, int64_t bytes,
                                                      linnet_error *err);

/**
 * Several options from one JSON object. Its keys are the setters' suffixes ("batch", "kv_dtype",
 * …), "bind" takes an object from generic to integer or dtype, "optional" and "trainable" a list.
 * All apply, or none.
 *
 * @return LINNET_OK
 *         LINNET_ERROR_FORMAT     not JSON, or not an object
 *         LINNET_ERROR_ARGUMENT   an unknown key, a value of the wrong type or out of range
 *         LINNET_ERROR_NOT_FOUND  a dtype, backend or policy of that name
 *         LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_json(linnet_config *config, const char *text,
                                                uint64_t length, linnet_error *err);

#ifdef __cplusplus
}
#endif

#endif
