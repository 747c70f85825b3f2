/* SPDX-License-Identifier: MIT */
#ifndef LIN_SOURCE_CHECKPOINT_H
#define LIN_SOURCE_CHECKPOINT_H

/*
 * Checkpoints: what their headers say, and what that means for a program.
 *
 * Only headers are read, never a tensor's bytes. Every reader also works on a text in memory, with
 * the length that the rest of the file has: for tests and fuzzing.
 */

#include "source/family.h"
#include "source/files.h"
#include "source/tensors.h"

/* ---- safetensors ---- */

enum {
    LIN_SAFETENSORS_PREFIX = 8,                    /* bytes of the header's length */
    LIN_SAFETENSORS_MAX_HEADER = 100 * 1000 * 1000 /* of the format */
};

/*
 * The header's length from the first bytes of a file of `file_bytes`: LINNET_ERROR_FORMAT when they
 * are fewer than 8, or the length is past the file or the format's 100 MB.
 */
linnet_status lin_safetensors_length(const char *source_name,
                                     const unsigned char prefix[LIN_SAFETENSORS_PREFIX],
                                     uint64_t file_bytes, uint64_t *out_length, linnet_error *err);

/*
 * The header itself, `length` bytes of JSON before `data_bytes` bytes of data. `header` must live
 * as long as the list and is written to: the quote that ends a name becomes its end. Memory: at
 * most 64 MiB for a header of 100 MB, about 70 bytes a tensor.
 *
 * LINNET_ERROR_FORMAT  not JSON, a missing or unknown key, a dtype of no known size, a shape that
 *                      does not give the bytes of the range, ranges that overlap, leave holes or do
 *                      not end where the file ends
 * LINNET_ERROR_UNSUPPORTED  the limits of tensors.h
 */
linnet_status lin_safetensors_read(lin_arena *arena, const char *source_name, char *header,
                                   uint64_t length, uint64_t data_bytes, lin_tensor_list *out,
                                   linnet_error *err);
/* The same of a file. LINNET_ERROR_FILE too. */
linnet_status lin_safetensors_open(lin_arena *arena, const char *path, lin_tensor_list *out,
                                   linnet_error *err);

/* ---- index ---- */

/*
 * The text of an index (`weight_map`, `metadata`), with names and shards only: shapes are unknown.
 * `text` as `header` above. Shards are in order of first mention, none present.
 *
 * LINNET_ERROR_FORMAT  also a shard whose name leaves the folder
 */
linnet_status lin_index_read(lin_arena *arena, const char *source_name, char *text, uint64_t length,
                             lin_tensor_list *out, linnet_error *err);

/* ---- checkpoints ---- */

/* A model's tensors: with their sizes, or some or all by name only. */
typedef struct lin_checkpoint {
    lin_tensor_list tensors;
    bool has_sizes;            /* the header of every shard was read */
    uint32_t missing;          /* shards of the index that are not there */
    const char *missing_shard; /* the first of them, or NULL */
    uint64_t unlisted;         /* tensors in its shards that an index does not mention */
    const char *unlisted_name; /* the first of them, or NULL */
} lin_checkpoint;

/*
 * An index and the headers of those of its shards that lie beside it. Of PyTorch's shards (.bin)
 * nothing is read. LINNET_ERROR_FORMAT when a shard lacks a tensor that the index places in it.
 */
linnet_status lin_checkpoint_index(lin_arena *arena, const char *path, lin_checkpoint *out,
                                   linnet_error *err);
/*
 * The checkpoint of a directory: an index of safetensors, otherwise model.safetensors, otherwise
 * the numbered *-of-*.safetensors, otherwise every *.safetensors in order of their names, otherwise
 * a PyTorch index. *out_found is false when there is none.
 */
linnet_status lin_checkpoint_directory(lin_arena *arena, const char *directory, bool *out_found,
                                       lin_checkpoint *out, linnet_error *err);
/* A *.index.json or a *.safetensors; one of several numbered ones stands for all of them. */
linnet_status lin_checkpoint_path(lin_arena *arena, const char *path, lin_checkpoint *out,
                                  linnet_error *err);
bool lin_checkpoint_is_path(const char *path); /* by its end */

/*
 * The tensors of any weights that are read, without asking what model they are: a *.safetensors, an
 * index, a GGUF file, or a directory with one of them. Their totals by format are in the list.
 * LINNET_ERROR_FILE when a directory holds none.
 */
linnet_status lin_weights_list(lin_arena *arena, const char *path, lin_tensor_list *out,
                               linnet_error *err);

/* ---- reconciling ---- */

/* How tensors and parameters met. Bytes are those of the checkpoint, 0 where it has names only; of
 * what is missing they are the program's. */
typedef struct lin_reconciled {
    uint64_t found, buffers, left_out, missing; /* tensors */
    int64_t found_bytes, buffer_bytes, left_out_bytes, missing_bytes;
    int64_t parameters; /* elements of the parameters that were found, each tensor once */
} lin_reconciled;

/*
 * The checkpoint against the program of `source`, which was checked, and whose lists are those that
 * the family gave. Changes the source's bindings (an optional parameter is present when its tensors
 * are; a head that is absent is tied to the embedding), adds storage of exact bytes where it is not
 * what the program declares, and says what is on one side only in the assumptions.
 *
 * `has_dtype` is whether the config says a dtype: otherwise the checkpoint decides. `ignored`, as
 * family_reader's, ends in NULL.
 *
 * LINNET_ERROR_FORMAT  no tensor is the program's, or one has a shape that it cannot have
 */
linnet_status lin_reconcile(lin_source *source, const lin_checkpoint *checkpoint, bool has_dtype,
                            const char *const *ignored, lin_reconciled *out, linnet_error *err);

#endif
