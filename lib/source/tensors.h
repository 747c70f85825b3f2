/* SPDX-License-Identifier: MIT */
#ifndef LIN_SOURCE_TENSORS_H
#define LIN_SOURCE_TENSORS_H

/*
 * The tensors that a checkpoint holds, whatever its format: what the safetensors, index and GGUF
 * readers give, and what is reconciled with a program.
 *
 * A list is made once, with room for a number of tensors that the reader has already bounded by the
 * bytes it read: no growth, no garbage. With it come 40 bytes a tensor, 8 an axis and 8 to 16 a
 * tensor of the name table. Names are not copied: they live in the text that was read, or wherever
 * the reader put them in the same arena.
 */

#include "source/source.h"

enum {
    LIN_TENSOR_MAX_COUNT = 1000000,
    LIN_TENSOR_MAX_NAME = 64 << 10, /* bytes of one name */
    LIN_TENSOR_MAX_RANK = 16,
    LIN_TENSOR_MAX_AXES = 1500000, /* of all tensors together */
    LIN_TENSOR_FORMATS = 64,       /* different ones in one checkpoint */
    LIN_TENSOR_NO_FORMAT = 0xffff  /* `format` of a tensor in an index: only its name is known */
};

typedef struct lin_tensor {
    const char *name;
    const int64_t *shape; /* outermost axis first (GGUF's order reversed); NULL when unknown */
    int64_t bytes;        /* as stored; -1 when unknown */
    int64_t offset;       /* of its bytes, from where the data of its shard begins */
    uint32_t shard;       /* in `shards` */
    uint16_t format;      /* in `formats`, or LIN_TENSOR_NO_FORMAT */
    uint8_t rank;
} lin_tensor;

/* How tensors are stored, with the totals of those that are. */
typedef struct lin_tensor_format {
    const char *name; /* static: "bf16", or of another format "F8_E4M3", "Q4_K" */
    bool is_dtype;    /* `dtype` has the same name and stores an element in the same bytes */
    lin_dtype dtype;
    int64_t tensors, elements, bytes;
} lin_tensor_format;

typedef struct lin_tensor_shard {
    const char *name; /* the file in its folder: "model-00001-of-00002.safetensors" */
    bool present;     /* its header was read */
} lin_tensor_shard;

typedef struct lin_tensor_list {
    const char *source_name; /* the file, for messages */
    lin_tensor *items;       /* in file order; names are unique */
    uint32_t count, capacity;
    lin_tensor_format formats[LIN_TENSOR_FORMATS];
    uint32_t format_count;
    lin_tensor_shard *shards; /* at least one */
    uint32_t shard_count;
    int64_t bytes;             /* of all tensors; -1 when it is not known */
    int64_t stated_bytes;      /* metadata.total_size of an index; -1 without */
    int64_t stated_parameters; /* metadata.total_parameters of an index; -1 without */
    /* the name table and the axes not used yet */
    uint32_t *table;
    uint32_t table_mask;
    uint64_t seed;
    int64_t *axes;
    uint32_t axes_left, axes_total;
} lin_tensor_list;

/*
 * An empty list with room for `capacity` tensors (at most LIN_TENSOR_MAX_COUNT, otherwise
 * LINNET_ERROR_UNSUPPORTED) in `arena` and one shard called `source_name` that is present. Without
 * a jump target: LINNET_ERROR_NO_MEMORY.
 */
linnet_status lin_tensor_list_init(lin_tensor_list *list, lin_arena *arena, const char *source_name,
                                   uint64_t capacity, linnet_error *err);

/* The number of a format in the list, added when it is new. `name` must be static. -1 when there
 * are too many. */
int32_t lin_tensor_format_of(lin_tensor_list *list, const char *name);

/*
 * Adds `tensor`, whose name and shape are taken as they are (lin_tensor_axes gives room for the
 * shape), and counts it in its format and the total.
 *
 * LINNET_ERROR_FORMAT       the name is already there, empty or too long, or `capacity` is full
 * LINNET_ERROR_OVERFLOW     a total passes 2^63 - 1
 */
linnet_status lin_tensor_add(lin_tensor_list *list, const lin_tensor *tensor, linnet_error *err);

/* Room for `rank` axes that lives as long as the list. LINNET_ERROR_UNSUPPORTED past the limits.
 * `list` keeps blocks, so that small shapes cost 8 bytes an axis. */
linnet_status lin_tensor_axes(lin_tensor_list *list, lin_arena *arena, uint32_t rank, int64_t **out,
                              linnet_error *err);

/* Counts the totals of the list and of its formats again, from its tensors. */
linnet_status lin_tensor_count_all(lin_tensor_list *list, linnet_error *err);

/* NULL: no tensor of that name. */
const lin_tensor *lin_tensor_find(const lin_tensor_list *list, const char *name);

/* The product of the shape, 1 for a scalar; false when it does not fit or an axis is negative. */
bool lin_tensor_elements(const lin_tensor *tensor, int64_t *out);

/* A tensor's name for a message: control characters shown as '?', its end after dots. */
enum { LIN_TENSOR_SHOWN = 112 };
void lin_tensor_show(char out[LIN_TENSOR_SHOWN], const char *name);

#endif
