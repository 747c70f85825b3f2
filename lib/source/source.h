/* SPDX-License-Identifier: MIT */
#ifndef LIN_SOURCE_H
#define LIN_SOURCE_H

/*
 * Where a model comes from: a built-in name, a .linnet file, a directory with a card (nest.toml), a
 * config.json, weights. Anything a user has becomes a checked program, the root it is about, values
 * for generics and the bindings of parameter paths.
 *
 * The only folder that opens files.
 */

#include "lang/lang.h"
#include "json/json.h"

/* A value for a generic: an integer or a dtype. */
typedef struct lin_setting {
    const char *name;
    bool is_dtype;
    int64_t integer;
    lin_dtype dtype;
} lin_setting;

/*
 * A parameter path and the checkpoint tensor it is bound to, in file order. A path may be concrete
 * ("layers.3.mlp.up.weight") or the manifest's pattern, with [*] for every index of an array:
 * "layers[*].mlp.up.weight" bound to "model.layers.{i}.mlp.up_proj.weight" binds all of them, {i}
 * being the index ({i}, {j}, {k} are the path's indices from left to right, and a sum such as
 * {6*i+j+3} counts where arrays are split). Pattern paths are equal to a manifest entry's path as
 * text; two of them tie when their tensors are equal as text. The built-in cards use patterns;
 * users' files may use either.
 */
typedef struct lin_weight_binding {
    const char *path;
    const char *tensor;
} lin_weight_binding;

/*
 * How a parameter is stored when that is not its shape times its dtype: quantized weights. With the
 * last axis as columns and the product of the others as rows, each term counts ceil(rows /
 * row_block) * ceil(columns / column_block) * bytes; a flat term takes all elements as columns of
 * one row. E.g. q4_K: one term { 1, 256, 144 }; GPTQ's 4-bit weights in groups of 128: { 1, 8, 4 }
 * packed values, { 1, 128, 2 } scales, { 8, 128, 4 } zeros.
 */
enum { LIN_STORAGE_TERMS = 4 };
typedef struct lin_storage_term {
    int64_t row_block, column_block, bytes;
    bool flat;
} lin_storage_term;

typedef struct lin_weight_storage {
    const char *path;   /* as in lin_weight_binding */
    const char *format; /* "q4_K", "fp8", "gptq-4" */
    int64_t bytes;      /* >= 0: exactly so many, from a header; -1: by the terms */
    int64_t elements;   /* that `bytes` are of: a part of them (a shard) has its part. 0: unknown */
    lin_storage_term terms[LIN_STORAGE_TERMS];
    uint32_t term_count;
} lin_weight_storage;

/* Asks the host for a module's text: 1 found (text appended to `into`), 0 no such module, negative:
 * stop. */
typedef int32_t (*lin_import_fn)(void *user, const char *module, lin_text *into);

typedef struct lin_source_settings {
    lin_allocator allocator;
    const char *std_directory; /* NULL: the compiled-in one */
    lin_import_fn import;      /* NULL: none. Asked for modules of no package other than std */
    void *import_user;
    lin_lang_limits limits;
    uint64_t file_bytes; /* limit of one file read; 16 MiB */
} lin_source_settings;

typedef struct lin_source {
    lin_arena arena; /* what is below */
    lin_program *program;
    const char *name;            /* as asked for: the built-in name, or the path */
    const char *title;           /* "" when unknown */
    const char *family;          /* "" when unknown */
    const char *root;            /* the card's root block, or NULL */
    const char *entry;           /* the card's entry, or NULL */
    const lin_setting *settings; /* the card's generics, in file order */
    uint32_t setting_count;
    const lin_weight_binding *bindings; /* empty without a bindings file */
    uint32_t binding_count;
    bool has_bindings;
    bool head_is_embedding;            /* by the program itself, so that no binding ties them */
    const lin_weight_storage *storage; /* parameters stored otherwise than declared */
    uint32_t storage_count;
    const char *const *assumptions;
    uint32_t assumption_count;
    const struct lin_tensor_list *tensors;   /* of the checkpoint (tensors.h); NULL without one */
    const struct lin_reconciled *reconciled; /* how they met the program (checkpoint.h); or NULL */
} lin_source;

/*
 * Opens a built-in name (or alias), a .linnet file, a config.json, a checkpoint (*.safetensors,
 * *.index.json) with the config.json beside it, a *.gguf, or a directory holding one of them or
 * nest.toml. Of weights only headers are read. `diagnostics` may be NULL.
 *
 * LINNET_ERROR_NOT_FOUND    neither a built-in name nor an existing path; the message has the
 *                           nearest name
 * LINNET_ERROR_UNSUPPORTED  a known name whose source is not shipped, a family that is not, a kind
 *                           of file that is not read
 * LINNET_ERROR_FILE         also a checkpoint without its config.json
 * LINNET_ERROR_FORMAT, LINNET_ERROR_SOURCE, LINNET_ERROR_NO_MEMORY
 */
linnet_status lin_source_open(const lin_source_settings *settings, const char *name_or_path,
                              lin_diagnostics *diagnostics, lin_source **out, linnet_error *err);
/* A program's text in memory: reads no file; imports outside std come from the callback. */
linnet_status lin_source_parse(const lin_source_settings *settings, const char *text,
                               uint64_t length, const char *name, lin_diagnostics *diagnostics,
                               lin_source **out, linnet_error *err);
void lin_source_free(lin_source *source);

/* What the headers of weights hold, without asking what model they are. */
typedef struct lin_weights_format {
    const char *format; /* "bf16", "F8_E4M3", "Q4_K"; static */
    int64_t tensors, elements, bytes;
} lin_weights_format;

typedef struct lin_weights {
    int64_t tensors, shards;
    int64_t elements; /* -1: an index that does not say */
    int64_t bytes;    /* of all; what an index states where the shards are not there; -1: unknown */
    const lin_weights_format *formats; /* empty where only names are known */
    uint32_t format_count;
} lin_weights;

/* A *.safetensors, an index, a GGUF file, or a directory with one of them. */
linnet_status lin_weights_read(lin_arena *arena, const char *path, lin_weights *out,
                               linnet_error *err);

/* The readers of cards, apart, for tests and fuzzing: text in, settings out. */
typedef struct lin_card {
    const char *name, *title, *path, *root, *entry, *bindings, *head; /* NULL when absent */
    const lin_setting *settings;
    uint32_t setting_count;
} lin_card;
linnet_status lin_card_read(const char *source_name, const char *text, uint64_t length,
                            lin_arena *arena, lin_card *out, linnet_error *err);
/* A bindings file: an object from parameter path to tensor name. */
linnet_status lin_bindings_read(const char *source_name, const char *text, uint64_t length,
                                lin_arena *arena, const lin_weight_binding **out,
                                uint32_t *out_count, linnet_error *err);

/* Appends the name of the tensor that a binding gives to the parameter whose arrays have these
 * indices, outermost first: "model.layers.{6*i+j}.norm" with 3 and 2 is model.layers.20.norm. */
void lin_binding_tensor_name(lin_text *out, const char *tensor, const int64_t *indices,
                             uint32_t count);

/* A whole regular file, at most `limit` bytes, NUL-terminated in `arena`. LINNET_ERROR_FILE says
 * why not (missing, a directory, too large, a device, unreadable). */
linnet_status lin_file_read(lin_arena *arena, const char *path, uint64_t limit,
                            const char **out_text, uint64_t *out_length, linnet_error *err);

#endif
