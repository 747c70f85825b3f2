/* SPDX-License-Identifier: MIT */
#ifndef LIN_QUANTIZATION_READ_H
#define LIN_QUANTIZATION_READ_H

/* From a method's settings to how a matrix is stored; shared by quantization.c and
 * quantization_methods.c. */

#include "source/quantization.h"

/* In a term's blocks: all rows, all columns. */
static const int64_t LIN_QUANT_ALL = INT64_MAX;
/* A term's row block that stands for the rows of one matrix of a stack. */
enum { LIN_QUANT_MATRIX = 0, LIN_QUANT_LISTS = 2 };

typedef struct quantizer {
    lin_arena *arena; /* has a jump target */
    const lin_json *settings;
    const char *source_name;
    int64_t scale_bytes; /* of a value in the dtype of the model */
    jmp_buf *on_failure;
    linnet_status status;
    linnet_error *err;
    /* the answer */
    const char *format;
    lin_storage_term terms[LIN_STORAGE_TERMS];
    uint32_t term_count;
    const lin_json *left_out[LIN_QUANT_LISTS]; /* arrays of names, or NULL */
    bool experts_only;                         /* only stacks of experts */
    bool all_matrices;                         /* embeddings and the head too */
} quantizer;

/* Fills the answer from the settings; jumps out on failure. */
void lin_quant_read(quantizer *q);

_Noreturn void lin_quant_fail(quantizer *q, linnet_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lin_quant_term(quantizer *q, lin_storage_term term);
/* A key's value; absent and null give the fallback, another type fails. */
int64_t lin_quant_integer(quantizer *q, const lin_json *object, const char *key, int64_t fallback);
bool lin_quant_flag(quantizer *q, const lin_json *object, const char *key, bool fallback);
const char *lin_quant_word(quantizer *q, const lin_json *object, const char *key,
                           const char *fallback);
const lin_json *lin_quant_object(quantizer *q, const lin_json *object, const char *key);
/* Clears the terms and fills them for MLX's groups: also of one layer with settings of its own. */
void lin_quant_mlx(quantizer *q, const lin_json *settings);

#endif
