/* SPDX-License-Identifier: MIT */
#ifndef LIN_SOURCE_QUANTIZATION_H
#define LIN_SOURCE_QUANTIZATION_H

/*
 * Weights that a config says are quantized: `quantization_config`, or MLX's `quantization`. Tells
 * how the matrices of linear layers are stored; norms, biases, routers, convolutions and (but for
 * MLX) embeddings and the head keep their dtype, and so does what the config leaves out by name.
 */

#include "source/source.h"

/* The settings of quantization in a config, also of the language model in it; NULL: none. */
const lin_json *lin_quantization_find(const lin_json *config);

/*
 * Adds storage for the parameters of `source`, whose program was checked, and says what was
 * assumed. `settings` as lin_quantization_find gave them.
 *
 * LINNET_ERROR_UNSUPPORTED  a method, or a way of it, that is not known
 * LINNET_ERROR_FORMAT       a value of the wrong type or out of range
 */
linnet_status lin_quantization_store(const lin_json *settings, lin_source *source,
                                     linnet_error *err);

#endif
