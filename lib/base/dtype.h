/* SPDX-License-Identifier: MIT */
#ifndef LIN_DTYPE_H
#define LIN_DTYPE_H

/* The dtypes of the language, their sizes and classes; what a number is (category) and where it
 * comes from (confidence). */

#include <stdbool.h>
#include <stdint.h>

/*              id       spelling  bytes  class */
#define LIN_DTYPES(X)                   \
    X(BOOL, "bool", 1, LIN_CLASS_BOOL)  \
    X(I8, "i8", 1, LIN_CLASS_INTEGER)   \
    X(I16, "i16", 2, LIN_CLASS_INTEGER) \
    X(I32, "i32", 4, LIN_CLASS_INTEGER) \
    X(I64, "i64", 8, LIN_CLASS_INTEGER) \
    X(U8, "u8", 1, LIN_CLASS_INTEGER)   \
    X(U16, "u16", 2, LIN_CLASS_INTEGER) \
    X(U32, "u32", 4, LIN_CLASS_INTEGER) \
    X(U64, "u64", 8, LIN_CLASS_INTEGER) \
    X(F16, "f16", 2, LIN_CLASS_FLOAT)   \
    X(BF16, "bf16", 2, LIN_CLASS_FLOAT) \
    X(F32, "f32", 4, LIN_CLASS_FLOAT)   \
    X(F64, "f64", 8, LIN_CLASS_FLOAT)

typedef enum lin_dtype {
#define X(id, spelling, bytes, class) LIN_DTYPE_##id,
    LIN_DTYPES(X)
#undef X
        LIN_DTYPE_COUNT
} lin_dtype;

typedef enum lin_dtype_class { LIN_CLASS_BOOL, LIN_CLASS_INTEGER, LIN_CLASS_FLOAT } lin_dtype_class;

const char *lin_dtype_name(lin_dtype dtype);
int64_t lin_dtype_bytes(lin_dtype dtype);
lin_dtype_class lin_dtype_class_of(lin_dtype dtype);
bool lin_dtype_find(const char *name, uint64_t length, lin_dtype *out);

/*               id                    spelling in JSON */
#define LIN_CATEGORIES(X)                           \
    X(PARAMETERS, "parameters")                     \
    X(BUFFERS, "buffers")                           \
    X(STATE, "state")                               \
    X(KV_CACHE, "kv_cache")                         \
    X(INPUTS, "inputs")                             \
    X(ACTIVATIONS, "activations")                   \
    X(WORKSPACE, "workspace")                       \
    X(GRADIENTS, "gradients")                       \
    X(BACKWARD_TEMPORARIES, "backward_temporaries") \
    X(MASTER_WEIGHTS, "master_weights")             \
    X(OPTIMIZER_STATES, "optimizer_states")         \
    X(COMMUNICATION, "communication")               \
    X(RUNTIME, "runtime")

typedef enum lin_category {
#define X(id, spelling) LIN_CATEGORY_##id,
    LIN_CATEGORIES(X)
#undef X
        LIN_CATEGORY_COUNT
} lin_category;

const char *lin_category_name(lin_category category);

/* Where a number comes from, strongest first: the weakest of several is the largest. */
typedef enum lin_confidence {
    LIN_EXACT,
    LIN_BACKEND_MODELED,
    LIN_ESTIMATED,
    LIN_UNKNOWN
} lin_confidence;

const char *lin_confidence_name(lin_confidence confidence); /* "backend-modeled" */

#endif
