/* SPDX-License-Identifier: MIT */

/*
 * Decoders with Llama's names: grouped queries, rotary positions, RMS norms, a gated MLP; and those
 * that differ from it by biases, norms or windows. Defaults are those of the family's class in
 * Transformers (models/<family>/configuration_<family>.py).
 */

#include "source/family_decoder.h"

#include <string.h>

static void expect_silu(family_reader *r)
{
    static const char *const accepted[] = { "silu", "swish", NULL };
    lin_family_expect_word(r, r->text, "hidden_act", accepted);
}

/* Sets the program and binds the usual names. */
static void finish(family_reader *r, const decoder_shape *d, uint32_t what, bool tied)
{
    expect_silu(r);
    lin_decoder_set(r, d);
    lin_decoder_bind_usual(r, d, "model.", what);
    lin_decoder_bind_usual_ends(r, "model.", lin_decoder_is_tied(r, tied));
    lin_family_ignore(r, "model.layers.*.self_attn.rotary_emb.inv_freq");
}

static uint32_t biases(family_reader *r, const char *key, bool fallback, uint32_t what)
{
    return lin_family_flag(r, r->text, key, fallback) ? what : 0;
}

void lin_family_llama(family_reader *r)
{
    decoder_shape d = { .positions = 2048, .eps = 1e-6, .theta = 10000 };
    lin_decoder_read(r, &d);
    finish(r, &d,
           DECODER_USUAL | biases(r, "attention_bias", false, DECODER_QKV_BIASES | DECODER_O_BIAS) |
               biases(r, "mlp_bias", false, DECODER_MLP_BIASES),
           false);
}

void lin_family_mistral(family_reader *r)
{
    decoder_shape d = { .kv_heads = 8, .positions = 131072, .eps = 1e-6, .theta = 10000 };
    lin_decoder_read(r, &d);
    lin_decoder_read_window(r, &d, 4096);
    lin_decoder_read_layer_types(r, &d, 0);
    finish(r, &d, DECODER_USUAL, false);
}

/* Qwen 2, 3 and MiMo have `sliding_window` and `max_window_layers` even where
 * `use_sliding_window` says that no layer has a window. */
static void read_qwen_windows(family_reader *r, decoder_shape *d)
{
    if (!lin_family_flag(r, r->text, "use_sliding_window", false))
        return;
    lin_decoder_read_window(r, d, 4096);
    if (lin_family_has(r->text, "layer_types"))
        lin_decoder_read_layer_types(r, d, 0);
    else if (d->window != 0)
        lin_decoder_full_first(d, lin_family_int(r, r->text, "max_window_layers", 28));
}

/* Biases of q, k, v are the class's own: no key says so. */
void lin_family_qwen2(family_reader *r)
{
    decoder_shape d = { .kv_heads = 32, .positions = 32768, .eps = 1e-6, .theta = 10000 };
    lin_decoder_read(r, &d);
    read_qwen_windows(r, &d);
    finish(r, &d, DECODER_USUAL | DECODER_QKV_BIASES, false);
}

void lin_family_qwen3(family_reader *r)
{
    decoder_shape d = { .kv_heads = 32,
                        .head_dim = 128,
                        .positions = 32768,
                        .eps = 1e-6,
                        .theta = 10000,
                        .head_norm = true };
    lin_decoder_read(r, &d);
    read_qwen_windows(r, &d);
    finish(r, &d,
           DECODER_USUAL | DECODER_HEAD_NORMS |
               biases(r, "attention_bias", false, DECODER_QKV_BIASES | DECODER_O_BIAS),
           false);
}

/* MiMo: Qwen 2 with a switch for the biases of q, k, v, and layers that predict further tokens,
 * which generation without speculation does not use. */
void lin_family_mimo(family_reader *r)
{
    decoder_shape d = { .kv_heads = 32, .positions = 32768, .eps = 1e-6, .theta = 10000 };
    lin_decoder_read(r, &d);
    read_qwen_windows(r, &d);
    finish(r, &d, DECODER_USUAL | biases(r, "attention_bias", true, DECODER_QKV_BIASES), false);
    if (lin_family_int(r, r->text, "num_nextn_predict_layers", 0) > 0) {
        lin_family_ignore(r, "model.mtp_layers.*");
        lin_family_assume(r, "the layers that predict further tokens are left out");
    }
}

/* Olmo 2 and 3: norms after the sublayers only, and over whole projections of queries and keys. */
static void finish_olmo(family_reader *r, decoder_shape *d)
{
    static const family_name norms[] = {
        { "attention.q_norm_whole.weight", "layers.{i}.self_attn.q_norm.weight" },
        { "attention.k_norm_whole.weight", "layers.{i}.self_attn.k_norm.weight" },
        { "attention_post_norm.weight", "layers.{i}.post_attention_layernorm.weight" },
        { "mlp_post_norm.weight", "layers.{i}.post_feedforward_layernorm.weight" },
    };
    d->other_norms = true;
    finish(r, d,
           DECODER_QKV | DECODER_MLP |
               biases(r, "attention_bias", false, DECODER_QKV_BIASES | DECODER_O_BIAS),
           false);
    lin_decoder_bind(r, d, "model.", norms, ARRAY_LEN(norms));
}

void lin_family_olmo2(family_reader *r)
{
    decoder_shape d = { .positions = 2048, .eps = 1e-5, .theta = 10000 };
    lin_decoder_read(r, &d);
    finish_olmo(r, &d);
}

void lin_family_olmo3(family_reader *r)
{
    decoder_shape d = { .positions = 2048, .eps = 1e-5, .theta = 500000 };
    lin_decoder_read(r, &d);
    lin_decoder_read_window(r, &d, 4096);
    lin_decoder_read_layer_types(r, &d, 4);
    finish_olmo(r, &d);
}

/* StableLM: centred norms with biases, part of each head turned. */
void lin_family_stablelm(family_reader *r)
{
    static const family_name norms[] = {
        { "attention_norm.bias", "layers.{i}.input_layernorm.bias" },
        { "mlp_norm.bias", "layers.{i}.post_attention_layernorm.bias" },
    };
    decoder_shape d = { .kv_heads = 32, .positions = 4096, .theta = 10000, .layer_norm = true };
    d.eps = lin_family_real(r, r->text, "layer_norm_eps", 1e-5);
    lin_decoder_read(r, &d);
    lin_decoder_read_partial_rotary(r, &d, 0.25);
    lin_decoder_refuse_flag(r, "qk_layernorm", false, true);
    lin_decoder_refuse_flag(r, "use_parallel_residual", false, true);
    finish(r, &d, DECODER_USUAL | biases(r, "use_qkv_bias", false, DECODER_QKV_BIASES), false);
    lin_decoder_bind(r, &d, "model.", norms, ARRAY_LEN(norms));
    lin_family_bind(r, "norm.bias", "model.norm.bias");
}

/* SmolLM 3: some layers are without rotary positions. */
void lin_family_smollm3(family_reader *r)
{
    decoder_shape d = { .kv_heads = 4, .positions = 32768, .eps = 1e-6, .theta = 2000000 };
    lin_decoder_read(r, &d);
    lin_decoder_refuse_flag(r, "use_sliding_window", false, true);
    lin_family_assume(r, "layers without rotary positions are counted with them");
    finish(r, &d,
           DECODER_USUAL | biases(r, "attention_bias", false, DECODER_QKV_BIASES | DECODER_O_BIAS) |
               biases(r, "mlp_bias", false, DECODER_MLP_BIASES),
           true);
}

/* Granite: Llama with factors on the embedding, the scores, what sublayers add, and the logits. */
void lin_family_granite(family_reader *r)
{
    lin_family_llama(r);
    lin_family_assume(r,
                      "the factors on embedding, sublayers and logits are left out; no weight or "
                      "cache depends on them");
}

void lin_family_seed_oss(family_reader *r)
{
    decoder_shape d = {
        .kv_heads = 8, .head_dim = 128, .positions = 524288, .eps = 1e-6, .theta = 10000
    };
    lin_decoder_read(r, &d);
    finish(r, &d,
           DECODER_USUAL | biases(r, "attention_bias", true, DECODER_QKV_BIASES) |
               biases(r, "attention_out_bias", false, DECODER_O_BIAS) |
               biases(r, "mlp_bias", false, DECODER_MLP_BIASES),
           false);
}

/* A number of layers, or a word such as LLLG: local layers, then a global one. */
static int64_t exaone4_period(family_reader *r)
{
    static const char key[] = "sliding_window_pattern";
    const lin_json *pattern = lin_json_get(r->text, key);
    if (pattern == NULL || pattern->kind != LIN_JSON_STRING)
        return lin_family_int(r, r->text, key, 4);
    const size_t local = strspn(pattern->text, "L");
    if (strcmp(pattern->text + local, "G") != 0)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "`%s` `%s` is no number of local layers and a global one", key,
                        pattern->text);
    return (int64_t)local + 1;
}

/* EXAONE 4: norms after the sublayers, and over the heads' queries and keys. */
void lin_family_exaone4(family_reader *r)
{
    static const family_name norms[] = {
        { "attention_post_norm.weight", "layers.{i}.post_attention_layernorm.weight" },
        { "mlp_post_norm.weight", "layers.{i}.post_feedforward_layernorm.weight" },
    };
    decoder_shape d = { .kv_heads = 32,
                        .positions = 2048,
                        .eps = 1e-5,
                        .theta = 10000,
                        .head_norm = true,
                        .other_norms = true };
    lin_decoder_read(r, &d);
    lin_decoder_read_window(r, &d, 4096);
    lin_decoder_read_layer_types(r, &d, exaone4_period(r));
    finish(r, &d, DECODER_QKV | DECODER_MLP | DECODER_HEAD_NORMS, false);
    lin_decoder_bind(r, &d, "model.", norms, ARRAY_LEN(norms));
}
