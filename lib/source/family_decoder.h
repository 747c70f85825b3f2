/* SPDX-License-Identifier: MIT */
#ifndef LIN_FAMILY_DECODER_H
#define LIN_FAMILY_DECODER_H

/*
 * What the families of decoders share: the sizes of one, which program of the zoo expresses them,
 * and the names of its layers' tensors. A family fills a decoder_shape (its defaults, then what the
 * config says), then sets it and binds names.
 */

#include "source/family.h"

typedef struct decoder_shape {
    int64_t vocab, hidden, heads, kv_heads, head_dim, inner, layers;
    int64_t positions; /* max_position_embeddings */
    int64_t rotary;    /* leading values of a head that are turned; 0: all */
    double eps, theta;
    int64_t window; /* positions; 0: none */
    /* `groups` times `near` layers with the window and `far` without, then the rest with it;
     * groups 0: all are of one kind */
    int64_t groups, near, far;
    bool joint_qkv;   /* q_proj is the projection of queries, keys and values */
    bool joint_mlp;   /* up is the projection of gate and up */
    bool gelu;        /* in place of SiLU */
    bool layer_norm;  /* in place of RMS norms */
    bool unit_offset; /* norms scale by one more than their weight */
    bool scaled;      /* embeddings are multiplied by the root of their width */
    double final_cap; /* of the logits; 0: none */
    bool head_norm;   /* queries and keys are normed by head; per config, not only when bound */
    bool other_norms; /* after sublayers, or over whole projections */
} decoder_shape;

/* ---- reading: values of `d` are the family's defaults; 0 means that the key must be there ---- */

/* hidden_size, num_attention_heads, num_key_value_heads (absent: `d`'s; null, or `d` has none: as
 * heads), head_dim (`d`'s, or the quotient), intermediate_size, num_hidden_layers, vocab_size,
 * max_position_embeddings, rms_norm_eps, the rotary base. Notes a rotary scaling. */
void lin_decoder_read(family_reader *r, decoder_shape *d);
/* partial_rotary_factor, wherever it stands. */
void lin_decoder_read_partial_rotary(family_reader *r, decoder_shape *d, double fallback);
/* sliding_window: absent, `fallback`; null, none. */
void lin_decoder_read_window(family_reader *r, decoder_shape *d, int64_t fallback);
/* The pattern of layer_types; without the key one full layer in `period` (0: all have the window).
 * LINNET_ERROR_UNSUPPORTED for an order that is no such pattern. */
void lin_decoder_read_layer_types(family_reader *r, decoder_shape *d, int64_t period);
/* The first `full` layers have no window. */
void lin_decoder_full_first(decoder_shape *d, int64_t full);
/* tie_word_embeddings: of the language model, of the whole, `fallback`. */
bool lin_decoder_is_tied(family_reader *r, bool fallback);
/* Refuses a key that is true. */
void lin_decoder_refuse_flag(family_reader *r, const char *key, bool fallback, bool refused);

/* ---- answering ---- */

/* The program and its generics. */
void lin_decoder_set(family_reader *r, const decoder_shape *d);
/* Each row's path is one within a layer; its tensor has {i} for the layer's number. */
void lin_decoder_bind(family_reader *r, const decoder_shape *d, const char *prefix,
                      const family_name *names, uint32_t count);
/* The ends: embedding, last norm, and the head, which is the embedding when tied. */
void lin_decoder_bind_ends(family_reader *r, const char *embedding, const char *norm,
                           const char *head, bool tied);

/* The names that most families have under `prefix` ("model."), by what is there. */
enum {
    DECODER_NORMS = 1,      /* input_layernorm, post_attention_layernorm, before sublayers */
    DECODER_QKV = 2,        /* q_proj, k_proj, v_proj, o_proj */
    DECODER_QKV_BIASES = 4, /* of q_proj, k_proj, v_proj */
    DECODER_O_BIAS = 8,
    DECODER_MLP = 16, /* gate_proj, up_proj, down_proj */
    DECODER_MLP_BIASES = 32,
    DECODER_HEAD_NORMS = 64, /* q_norm, k_norm */
    DECODER_USUAL = DECODER_NORMS | DECODER_QKV | DECODER_MLP
};
void lin_decoder_bind_usual(family_reader *r, const decoder_shape *d, const char *prefix,
                            uint32_t what);
/* embed_tokens and norm under `prefix`, and lm_head. */
void lin_decoder_bind_usual_ends(family_reader *r, const char *prefix, bool tied);

#endif
