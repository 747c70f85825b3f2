/* SPDX-License-Identifier: MIT */
#ifndef LIN_FAMILY_VISION_H
#define LIN_FAMILY_VISION_H

/* What the families of models with a vision tower share, and those with layers of several kinds. */

#include "source/family_decoder.h"

/* ---- reading ---- */

/* A size of `object` (may be NULL), at least 1 and below 2^31, or `fallback`. */
int64_t lin_vision_size(family_reader *r, const lin_json *object, const char *key,
                        int64_t fallback);
/* vision_config; NULL when absent. */
const lin_json *lin_vision_settings(family_reader *r);
/* What hidden_act is to `activated` of std.vision.encoder. */
int64_t lin_vision_activation(family_reader *r, const lin_json *vision, const char *fallback);
/* Whole patches along a side of an image: image_size (absent: `image`) over `patch`. */
int64_t lin_vision_patches(family_reader *r, const lin_json *vision, int64_t image, int64_t patch);
/* The side of a square; LINNET_ERROR_FORMAT when `area` is none. */
int64_t lin_vision_side(family_reader *r, const char *key, int64_t area);
/* A rotary base as a whole number. */
int64_t lin_vision_rope_base(family_reader *r, double theta);

/* ---- answering ---- */

/* Vocab, H, Heads, KvHeads, HeadDim, Inner, Layers, Batch, MaxSeq, T, RopeTheta, InverseEps. */
void lin_vision_set_decoder(family_reader *r, const decoder_shape *d);
/* The generics and names of the grid tower of Qwen's models (std.vision.qwen) at `tower`, whose
 * tensors lie under "model.visual.": patches with a bias, learned positions, and mergers for the
 * layers of `deepstack_visual_indexes`. `hidden` is the language model's width. */
void lin_vision_set_qwen_tower(family_reader *r, int64_t hidden);

/* Each row's path under `path`, its tensor under `tensor`. */
void lin_vision_bind_at(family_reader *r, const char *path, const char *tensor,
                        const family_name *names, uint32_t count);
/* A member with a weight and a bias. */
void lin_vision_bind_affine(family_reader *r, const char *path, const char *tensor);
/* The self_attn of `layer` at `path`: q_proj to o_proj, biases of the first three (of o_proj only
 * where `attention_bias` says so), q_norm and k_norm. */
void lin_vision_bind_attention(family_reader *r, const char *path, const char *layer, bool biases,
                               bool head_norms);
/* What every decoder of vlm.linnet has under `prefix`, and its head. */
void lin_vision_bind_decoder(family_reader *r, const char *prefix, const char *head, bool tied);
/* Its layers when all are alike, with a norm before each sublayer. */
void lin_vision_bind_plain_layers(family_reader *r, const char *prefix, bool biases,
                                  bool head_norms);

#endif
