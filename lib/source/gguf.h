/* SPDX-License-Identifier: MIT */
#ifndef LIN_SOURCE_GGUF_H
#define LIN_SOURCE_GGUF_H

/*
 * GGUF, versions 1 to 3, in both byte orders: the metadata and the tensor table. Only the header is
 * read; of the data only its length is looked at.
 *
 *     "GGUF" version  tensors  pairs | key type value ... | name axes type offset ... | pad | data
 *
 * A value is kept when it can matter for a size: numbers, short texts, short arrays of integers.
 * Vocabularies and templates are walked over.
 */

#include "source/family.h"
#include "source/tensors.h"

/* ---- types of tensors ---- */

/* A row of `columns` elements takes columns / block_elements * block_bytes + row_bytes. */
typedef struct lin_gguf_type {
    uint32_t id;
    const char *name; /* the lower-case dtype of the language where it is one, else "Q4_K" */
    int32_t block_elements, block_bytes, row_bytes;
} lin_gguf_type;

const lin_gguf_type *lin_gguf_type_of(uint32_t id);         /* NULL: none */
const lin_gguf_type *lin_gguf_type_named(const char *name); /* ignoring case; NULL: none */

/* ---- metadata ---- */

enum {
    LIN_GGUF_U8,
    LIN_GGUF_I8,
    LIN_GGUF_U16,
    LIN_GGUF_I16,
    LIN_GGUF_U32,
    LIN_GGUF_I32,
    LIN_GGUF_F32,
    LIN_GGUF_BOOL,
    LIN_GGUF_STRING,
    LIN_GGUF_ARRAY,
    LIN_GGUF_U64,
    LIN_GGUF_I64,
    LIN_GGUF_F64,
    LIN_GGUF_TYPE_COUNT
};

enum {
    LIN_GGUF_KEPT_TEXT = 4096,  /* bytes of a text that is kept */
    LIN_GGUF_KEPT_ITEMS = 4096, /* items of an array of integers that is kept */
    LIN_GGUF_MAX_KEY = 65535,   /* the specification's */
    LIN_GGUF_MAX_PAIRS = 1000000
};
/* Headers past this are refused: the largest vocabularies take some 10 MB. */
static const uint64_t LIN_GGUF_MAX_HEADER = UINT64_C(1) << 29;

typedef struct lin_gguf_value {
    const char *key;
    uint32_t type; /* of an array: of its items */
    bool is_array;
    bool is_integer;         /* an integer or a bool that fits in `integer` */
    int64_t integer;         /* 0 and 1 for a bool */
    double real;             /* of F32 and F64 */
    const char *text;        /* of a string; NULL: longer than is kept, or no UTF-8 */
    uint64_t count;          /* bytes of the string, items of the array */
    const int64_t *integers; /* of a short array of integers or bools that fit; else NULL */
} lin_gguf_value;

typedef struct lin_gguf {
    const char *source_name;
    uint32_t version;
    bool is_big_endian;
    uint64_t alignment;
    uint64_t data_offset;         /* where the data begins: what tensors' offsets are relative to */
    const lin_gguf_value *values; /* in file order; keys are unique */
    uint32_t value_count;
    lin_tensor_list tensors;
} lin_gguf;

/*
 * A header in memory: `bytes` are the first `available` bytes of a file that is `file_bytes` long.
 *
 * LINNET_ERROR_FORMAT       no GGUF, or broken: the message has the byte
 * LINNET_ERROR_UNSUPPORTED  a version or tensor type that is not known, a nested array, a limit
 * LINNET_ERROR_OVERFLOW     the tensors together pass 2^63 - 1 bytes
 * LINNET_ERROR_NO_MEMORY
 */
linnet_status lin_gguf_read(lin_arena *arena, const char *source_name, const void *bytes,
                            uint64_t available, uint64_t file_bytes, lin_gguf *out,
                            linnet_error *err);
/* The same from a file, of which only the header is read. Also LINNET_ERROR_FILE. */
linnet_status lin_gguf_read_file(lin_arena *arena, const char *path, lin_gguf *out,
                                 linnet_error *err);

/* Typed getters: false, NULL where the key is absent or has another type. */
const lin_gguf_value *lin_gguf_find(const lin_gguf *gguf, const char *key);
bool lin_gguf_integer(const lin_gguf *gguf, const char *key, int64_t *out);
const char *lin_gguf_text(const lin_gguf *gguf, const char *key);

/* ---- as a model ---- */

/* A model in one file or in the files of a split ("name-00001-of-00003.gguf"). */
typedef struct lin_gguf_model {
    lin_gguf head;           /* of the file that has the metadata */
    lin_tensor_list tensors; /* of all files */
} lin_gguf_model;

/*
 * Reads the header (of every file of a split) and lets the family of `general.architecture` answer,
 * as it would for the config.json of the same model. The lists of `out_family` live in `arena`.
 */
linnet_status lin_gguf_open(lin_arena *arena, const char *path, lin_gguf_model *out_model,
                            family_reader *out_family, linnet_error *err);

/* The same from a header that was read; for tests and fuzzing. */
linnet_status lin_gguf_family(lin_arena *arena, const lin_gguf_model *model,
                              family_reader *out_family, linnet_error *err);

/*
 * Gives the parameters of `source`, whose program was checked, the bytes their tensors have in the
 * file; what one has and the other lacks is added to the assumptions.
 */
linnet_status lin_gguf_store(const lin_gguf_model *model, lin_source *source, linnet_error *err);

/*
 * The tensors of a GGUF file that hold what a checkpoint of the model's own library calls
 * `stem`, which follows the layer's index and ends before ".weight" ("self_attn.q_proj"; no layer:
 * "model.embed_tokens"). Several are joined with '+'. The `choice`-th of them; NULL: no more.
 */
const char *lin_gguf_tensor_names(bool in_layer, const char *stem, uint32_t choice);

#endif
