/* SPDX-License-Identifier: MIT */
#ifndef LINNET_MODEL_H
#define LINNET_MODEL_H

/**
 * @file
 * A checked program with its card: the values of its generics and its weight bindings. Immutable,
 * shared between threads and configurations. It also holds a checked file without root or entry;
 * only an analysis needs an entry.
 */

#include <linnet/base.h>
#include <linnet/config.h>
#include <linnet/diagnostics.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct linnet_model linnet_model;

/**
 * Opens a built-in model by name, a `.linnet` file, a Hugging Face `config.json`, a
 * `*.safetensors` or its index with the `config.json` beside it, a GGUF file, or a directory: one
 * with a `config.json`, a GGUF file, a card (`nest.toml`), or a package (`linnet.toml` with
 * `src/lib.linnet`). Reads the path it is given and what that path names beside it, nothing else;
 * of weights only the headers.
 *
 * @param diagnostics  receives every finding about the program, warnings included; may be NULL
 * @param out_model    receives a new model; release it with linnet_model_unref()
 * @return LINNET_OK
 *         LINNET_ERROR_NOT_FOUND    no built-in name (the message has the nearest)
 *         LINNET_ERROR_FILE         a file is missing, cannot be read, or is larger than the limit
 *         LINNET_ERROR_FORMAT       a config, header, card or bindings file is malformed
 *         LINNET_ERROR_SOURCE       the program is wrong
 *         LINNET_ERROR_UNSUPPORTED  a known name whose source is not shipped, a family or a kind of
 *                                   file that is not read
 *         LINNET_ERROR_CANCELLED    the source callback asked to stop
 *         LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_model_open(const linnet_config *config, const char *name_or_path,
                                           linnet_diagnostics *diagnostics,
                                           linnet_model **out_model, linnet_error *err);

/**
 * Checks a program in memory. Reads no file: modules other than the standard library's come from
 * the config's source callback.
 *
 * @param text         UTF-8, `length` bytes, copied
 * @param source_name  for messages; ends in NUL, copied
 * @return as linnet_model_open
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_model_parse(const linnet_config *config, const char *text,
                                            uint64_t length, const char *source_name,
                                            linnet_diagnostics *diagnostics,
                                            linnet_model **out_model, linnet_error *err);

/** Another reference to the model, which is returned. @since 0.1 */
LINNET_API linnet_model *linnet_model_ref(linnet_model *model);

/** Gives a reference back; the last one releases the model. NULL is fine. @since 0.1 */
LINNET_API void linnet_model_unref(linnet_model *model);

/** The name or path it was opened by. Borrowed. @since 0.1 */
LINNET_API const char *linnet_model_name(const linnet_model *model);

/** Its title for people, "" when it has none. Borrowed. @since 0.1 */
LINNET_API const char *linnet_model_title(const linnet_model *model);

/** The family of a built-in model, such as "llama"; "" for others. Borrowed. @since 0.1 */
LINNET_API const char *linnet_model_family(const linnet_model *model);

/** What was assumed when the model was opened, as sentences. @since 0.1 */
LINNET_API uint64_t linnet_model_assumption_count(const linnet_model *model);

/** An assumption; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_model_assumption(const linnet_model *model, uint64_t index);

/** Entries of the file: those of its blocks in order of declaration, then module-level ones.
 * @since 0.1 */
LINNET_API uint64_t linnet_model_entry_count(const linnet_model *model);

/** The name of an entry; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_model_entry_name(const linnet_model *model, uint64_t index);

/** The block an entry belongs to, "" at module level; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_model_entry_block(const linnet_model *model, uint64_t index);

/** The parameters of an entry as written, such as "tokens: Tensor[B, S; i32]"; NULL out of range.
 * Borrowed. @since 0.1 */
LINNET_API const char *linnet_model_entry_signature(const linnet_model *model, uint64_t index);

/** Blocks declared in the file, in order of declaration. @since 0.1 */
LINNET_API uint64_t linnet_model_block_count(const linnet_model *model);

/** The name of a block; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_model_block_name(const linnet_model *model, uint64_t block);

/** The module of a block, such as "std.nn.linear"; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_model_block_module(const linnet_model *model, uint64_t block);

/** The index of the block that is analysed when no root is set; -1 when there is none or no only
 * one. @since 0.1 */
LINNET_API int64_t linnet_model_root(const linnet_model *model);

/** Generics of a block. @since 0.1 */
LINNET_API uint64_t linnet_model_generic_count(const linnet_model *model, uint64_t block);

/** The name of a generic; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_model_generic_name(const linnet_model *model, uint64_t block,
                                                 uint64_t index);

/** A generic as declared, such as "T: Float = bf16"; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_model_generic_declaration(const linnet_model *model, uint64_t block,
                                                        uint64_t index);

/** The card's value of a generic of the root as text ("4096", "bf16"); NULL when the card gives
 * none. Borrowed. @since 0.1 */
LINNET_API const char *linnet_model_generic_value(const linnet_model *model, uint64_t block,
                                                  uint64_t index);

/** Members that a block and the blocks under it declare, arrays counted once: the parameter
 * manifest. @since 0.1 */
LINNET_API uint64_t linnet_model_parameter_count(const linnet_model *model, uint64_t block);

/** The path, with [*] for arrays: "layers[*].mlp.gate.weight"; NULL out of range. Borrowed.
 * @since 0.1 */
LINNET_API const char *linnet_model_parameter_path(const linnet_model *model, uint64_t block,
                                                   uint64_t index);

/** "param", "buffer" or "state"; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_model_parameter_kind(const linnet_model *model, uint64_t block,
                                                   uint64_t index);

/** The dtype, or the name of the generic that decides it; NULL out of range. Borrowed.
 * @since 0.1 */
LINNET_API const char *linnet_model_parameter_dtype(const linnet_model *model, uint64_t block,
                                                    uint64_t index);

/** Axes of a parameter; 0 out of range. @since 0.1 */
LINNET_API uint64_t linnet_model_parameter_rank(const linnet_model *model, uint64_t block,
                                                uint64_t index);

/** An extent in the block's generics, such as "2 * Inner"; NULL out of range. Borrowed.
 * @since 0.1 */
LINNET_API const char *linnet_model_parameter_extent(const linnet_model *model, uint64_t block,
                                                     uint64_t index, uint64_t axis);

/** How many arrays the path crosses; 0 out of range. @since 0.1 */
LINNET_API uint64_t linnet_model_parameter_repeat_count(const linnet_model *model, uint64_t block,
                                                        uint64_t index);

/** The length of an array the path crosses, outermost first; NULL out of range. Borrowed.
 * @since 0.1 */
LINNET_API const char *linnet_model_parameter_repeat(const linnet_model *model, uint64_t block,
                                                     uint64_t index, uint64_t level);

/** 1 when the parameter or a block around it is optional. @since 0.1 */
LINNET_API int32_t linnet_model_parameter_optional(const linnet_model *model, uint64_t block,
                                                   uint64_t index);

/** 1 when the card's bindings say that an optional parameter is present, and for every one that is
 * not optional. @since 0.1 */
LINNET_API int32_t linnet_model_parameter_present(const linnet_model *model, uint64_t block,
                                                  uint64_t index);

/** The path whose storage this one shares by the card's bindings; NULL when it has its own.
 * Borrowed. @since 0.1 */
LINNET_API const char *linnet_model_parameter_tied_to(const linnet_model *model, uint64_t block,
                                                      uint64_t index);

/** Bytes of one element of the arrays, with the card's values; -1 when a size is open or does not
 * fit. @since 0.1 */
LINNET_API int64_t linnet_model_parameter_bytes(const linnet_model *model, uint64_t block,
                                                uint64_t index);

/**
 * Weights of the root with the card's values (sizes it leaves open count as 1): elements of params,
 * a tied one once, absent optional ones not at all.
 *
 * @return LINNET_OK
 *         LINNET_ERROR_ARGUMENT   a generic has no value
 *         LINNET_ERROR_NOT_FOUND  no root
 *         LINNET_ERROR_OVERFLOW
 *         LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_model_weight_elements(const linnet_model *model,
                                                      int64_t *out_elements, linnet_error *err);

/** What a model holds with the card's values (sizes it leaves open count as 1). Immutable once
 * made. @since 0.1 */
typedef struct linnet_totals linnet_totals;

/**
 * Adds up what the model holds.
 *
 * @param config      may be NULL; of it only the dtype of the caches counts (2 bytes a value
 *                    without) and whether the bindings are ignored
 * @param out_totals  receives new totals; release them with linnet_totals_free()
 * @return as linnet_model_weight_elements
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_model_totals(const linnet_model *model, const linnet_config *config,
                                             linnet_totals **out_totals, linnet_error *err);

/**
 * Adds up what weights hold, without a model: headers only, for files whose config.json is not
 * there.
 *
 * @param config      may be NULL; its allocator is used
 * @param path        a *.safetensors, an index, a GGUF file, or a directory with one of them
 * @param out_totals  receives new totals without caches; where an index alone is there, parameters
 *                    and bytes are what it states, -1 when it does not
 * @return LINNET_OK, LINNET_ERROR_FILE, LINNET_ERROR_FORMAT, LINNET_ERROR_UNSUPPORTED,
 *         LINNET_ERROR_OVERFLOW, LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_weights_totals(const linnet_config *config, const char *path,
                                               linnet_totals **out_totals, linnet_error *err);

/** Releases the totals. NULL is fine. @since 0.1 */
LINNET_API void linnet_totals_free(linnet_totals *totals);

/** Elements of params: a tied one once, absent optional ones not at all. @since 0.1 */
LINNET_API int64_t linnet_totals_parameters(const linnet_totals *totals);

/** Bytes of params as they are stored. @since 0.1 */
LINNET_API int64_t linnet_totals_weight_bytes(const linnet_totals *totals);

/** Bytes that one more position of one sequence adds to all caches, sliding windows left out.
 * @since 0.1 */
LINNET_API int64_t linnet_totals_kv_bytes_per_token(const linnet_totals *totals);

/** Bytes of states of a fixed size for one sequence. @since 0.1 */
LINNET_API int64_t linnet_totals_state_bytes(const linnet_totals *totals);

/** 1 when the output head shares the input embedding's storage. @since 0.1 */
LINNET_API int32_t linnet_totals_tied(const linnet_totals *totals);

/** Formats that params and buffers are stored in, by bytes descending. @since 0.1 */
LINNET_API uint64_t linnet_totals_format_count(const linnet_totals *totals);

/** A dtype, or a storage format such as "q4_K"; NULL out of range. Borrowed from the model.
 * @since 0.1 */
LINNET_API const char *linnet_totals_format_name(const linnet_totals *totals, uint64_t index);

/** Tensors of a format; 0 out of range. @since 0.1 */
LINNET_API int64_t linnet_totals_format_tensors(const linnet_totals *totals, uint64_t index);

/** Bytes of a format; 0 out of range. @since 0.1 */
LINNET_API int64_t linnet_totals_format_bytes(const linnet_totals *totals, uint64_t index);

/** Tensors of the weights' headers or index; 0 for totals of a model. @since 0.1 */
LINNET_API int64_t linnet_totals_tensors(const linnet_totals *totals);

/** Files of the weights; 0 for totals of a model. @since 0.1 */
LINNET_API int64_t linnet_totals_shards(const linnet_totals *totals);

/** Ops the program calls, by qualified name. @since 0.1 */
LINNET_API uint64_t linnet_model_op_count(const linnet_model *model);

/** The qualified name of an op, such as "std.nn.linear::linear"; NULL out of range. Borrowed.
 * @since 0.1 */
LINNET_API const char *linnet_model_op_name(const linnet_model *model, uint64_t index);

/**
 * The native implementation an op gets under a policy, such as "torch.nn.functional.linear"; NULL
 * when its body is followed, out of range, or for an unknown policy. Static.
 *
 * @param numerics  "exact", "equivalent" or "fast"; NULL: fast
 *
 * @since 0.1 */
LINNET_API const char *linnet_model_op_implementation(const linnet_model *model, uint64_t index,
                                                      const char *numerics);

/** Names the library knows: first the models it ships, then those whose source is not shipped.
 * @since 0.1 */
LINNET_API uint64_t linnet_builtin_model_count(void);

/** A known name; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_builtin_model_name(uint64_t index);

/** The title of a known name; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_builtin_model_title(uint64_t index);

/** 1 when the source of that name is shipped. @since 0.1 */
LINNET_API int32_t linnet_builtin_model_is_shipped(uint64_t index);

/** The known name nearest to `name`, or NULL when none is near. Static. @since 0.1 */
LINNET_API const char *linnet_builtin_model_nearest(const char *name);

#ifdef __cplusplus
}
#endif

#endif
