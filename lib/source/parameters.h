/* SPDX-License-Identifier: MIT */
#ifndef LIN_SOURCE_PARAMETERS_H
#define LIN_SOURCE_PARAMETERS_H

/*
 * The parameters that a source's program has with the source's own values: what quantized and GGUF
 * weights are matched with.
 */

#include "source/source.h"

enum { LIN_PARAMETER_REPEATS = 6, LIN_PARAMETER_RANK = 8 };

/* A parameter, or those of every element of the arrays it lies in. */
typedef struct lin_parameter {
    const char *path;   /* the manifest's: "layers[*].mlp.up.weight" */
    const char *tensor; /* what it is bound to, with the braces; NULL: unbound */
    const char *block;  /* the type that declares it: "Linear" */
    int64_t shape[LIN_PARAMETER_RANK];
    uint32_t rank;
    lin_dtype dtype;  /* as the program declares it; LIN_DTYPE_COUNT when it is left open */
    int64_t elements; /* of one */
    int64_t repeats[LIN_PARAMETER_REPEATS];
    uint32_t repeat_count;
} lin_parameter;

/*
 * Those that are present, in the manifest's order, in `arena`, which has a jump target. Roles (the
 * batch, a context) without a value count as 1.
 *
 * LINNET_ERROR_UNSUPPORTED  too many parameters, nested arrays or axes
 * LINNET_ERROR_OVERFLOW
 */
linnet_status lin_source_parameters(lin_arena *arena, const lin_source *source,
                                    const lin_parameter **out, uint32_t *out_count,
                                    linnet_error *err);

/* Every element of a parameter's arrays, in order: start with zeros, then while it is true. */
bool lin_parameter_next(const lin_parameter *parameter, int64_t indices[LIN_PARAMETER_REPEATS]);
/* "layers.3.mlp.up.weight" */
const char *lin_parameter_path(lin_arena *arena, const lin_parameter *parameter,
                               const int64_t indices[LIN_PARAMETER_REPEATS]);
/* "model.layers.3.mlp.up_proj.weight"; NULL when it is unbound. */
const char *lin_parameter_tensor(lin_arena *arena, lin_text *scratch,
                                 const lin_parameter *parameter,
                                 const int64_t indices[LIN_PARAMETER_REPEATS]);

#endif
