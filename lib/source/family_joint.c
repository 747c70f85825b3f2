/* SPDX-License-Identifier: MIT */

/*
 * Decoders of Llama's kind whose checkpoints have names of their own, most with one projection for
 * queries, keys and values, some with one for gate and up. Such a projection's rows are taken to be
 * in order of kind; where a checkpoint interleaves them by head (InternLM 2) sizes are the same.
 */

#include "source/family_decoder.h"

static void expect_activation(family_reader *r, const char *key)
{
    static const char *const accepted[] = { "silu", "swish", NULL };
    lin_family_expect_word(r, r->text, key, accepted);
}

/* ---- Phi 3 (and 4), GLM 4: Llama's names, but joint projections ---- */

void lin_family_phi3(family_reader *r)
{
    static const family_name names[] = {
        { "attention.q_proj.weight", "layers.{i}.self_attn.qkv_proj.weight" },
        { "attention.o_proj.weight", "layers.{i}.self_attn.o_proj.weight" },
        { "mlp.up.weight", "layers.{i}.mlp.gate_up_proj.weight" },
        { "mlp.down.weight", "layers.{i}.mlp.down_proj.weight" },
    };
    decoder_shape d = {
        .positions = 4096, .eps = 1e-5, .theta = 10000, .joint_qkv = true, .joint_mlp = true
    };
    expect_activation(r, "hidden_act");
    lin_decoder_read(r, &d);
    lin_decoder_read_partial_rotary(r, &d, 1);
    lin_decoder_read_window(r, &d, 0);
    lin_decoder_set(r, &d);
    lin_decoder_bind_usual(r, &d, "model.", DECODER_NORMS);
    lin_decoder_bind(r, &d, "model.", names, ARRAY_LEN(names));
    lin_decoder_bind_usual_ends(r, "model.", lin_decoder_is_tied(r, false));
}

/* The classes of Transformers; `chatglm` is the older code that comes with the checkpoints. */
static decoder_shape read_glm(family_reader *r)
{
    static const family_name names[] = {
        { "mlp.up.weight", "layers.{i}.mlp.gate_up_proj.weight" },
        { "mlp.down.weight", "layers.{i}.mlp.down_proj.weight" },
    };
    decoder_shape d = { .vocab = 151552,
                        .hidden = 4096,
                        .heads = 32,
                        .kv_heads = 2,
                        .head_dim = 128,
                        .inner = 13696,
                        .layers = 40,
                        .positions = 131072,
                        .eps = 1.5625e-7,
                        .theta = 10000,
                        .joint_mlp = true };
    const bool biases = lin_family_flag(r, r->text, "attention_bias", true);
    expect_activation(r, "hidden_act");
    lin_decoder_read(r, &d);
    lin_decoder_read_partial_rotary(r, &d, 0.5);
    lin_decoder_set(r, &d);
    lin_decoder_bind_usual(r, &d, "model.", DECODER_QKV | (biases ? DECODER_QKV_BIASES : 0));
    lin_decoder_bind(r, &d, "model.", names, ARRAY_LEN(names));
    lin_decoder_bind_usual_ends(r, "model.", lin_decoder_is_tied(r, false));
    return d;
}

void lin_family_glm(family_reader *r)
{
    const decoder_shape d = read_glm(r);
    lin_decoder_bind_usual(r, &d, "model.", DECODER_NORMS);
}

void lin_family_glm4(family_reader *r)
{
    static const family_name norms[] = {
        { "attention_norm.weight", "layers.{i}.input_layernorm.weight" },
        { "attention_post_norm.weight", "layers.{i}.post_self_attn_layernorm.weight" },
        { "mlp_norm.weight", "layers.{i}.post_attention_layernorm.weight" },
        { "mlp_post_norm.weight", "layers.{i}.post_mlp_layernorm.weight" },
    };
    const decoder_shape d = read_glm(r);
    lin_decoder_bind(r, &d, "model.", norms, ARRAY_LEN(norms));
}

/* ---- ChatGLM: configuration_chatglm.py of THUDM's checkpoints ---- */

static decoder_shape read_chatglm(family_reader *r)
{
    const lin_json *c = r->text;
    decoder_shape d = { .theta = 10000, .joint_qkv = true, .joint_mlp = true };
    d.vocab = lin_family_int(r, c, "padded_vocab_size", 65024);
    d.hidden = lin_family_int(r, c, "hidden_size", 4096);
    d.heads = lin_family_int(r, c, "num_attention_heads", 32);
    d.kv_heads = lin_family_flag(r, c, "multi_query_attention", false)
                     ? lin_family_int(r, c, "multi_query_group_num", 1)
                     : d.heads;
    d.head_dim = lin_family_int(r, c, "kv_channels", 128);
    d.inner = lin_family_int(r, c, "ffn_hidden_size", 13696);
    d.layers = lin_family_int(r, c, "num_layers", 28);
    d.positions = lin_family_int(r, c, "seq_length", 2048);
    d.eps = lin_family_real(r, c, "layernorm_epsilon", 1e-5);
    d.layer_norm = !lin_family_flag(r, c, "rmsnorm", true);
    d.rotary = d.head_dim / 2;
    lin_family_divide(r, "num_attention_heads", d.heads, "multi_query_group_num", d.kv_heads);
    lin_decoder_refuse_flag(r, "apply_residual_connection_post_layernorm", false, true);
    lin_decoder_refuse_flag(r, "post_layer_norm", true, false);
    return d;
}

void lin_family_chatglm(family_reader *r)
{
    static const family_name names[] = {
        { "attention_norm.weight", "layers.{i}.input_layernorm.weight" },
        { "attention.q_proj.weight", "layers.{i}.self_attention.query_key_value.weight" },
        { "attention.o_proj.weight", "layers.{i}.self_attention.dense.weight" },
        { "mlp_norm.weight", "layers.{i}.post_attention_layernorm.weight" },
        { "mlp.up.weight", "layers.{i}.mlp.dense_h_to_4h.weight" },
        { "mlp.down.weight", "layers.{i}.mlp.dense_4h_to_h.weight" },
    };
    static const family_name qkv_bias[] = {
        { "attention.q_proj.bias", "layers.{i}.self_attention.query_key_value.bias" },
    };
    static const family_name biases[] = {
        { "attention.o_proj.bias", "layers.{i}.self_attention.dense.bias" },
        { "mlp.up.bias", "layers.{i}.mlp.dense_h_to_4h.bias" },
        { "mlp.down.bias", "layers.{i}.mlp.dense_4h_to_h.bias" },
    };
    static const family_name norm_biases[] = {
        { "attention_norm.bias", "layers.{i}.input_layernorm.bias" },
        { "mlp_norm.bias", "layers.{i}.post_attention_layernorm.bias" },
    };
    static const char prefix[] = "transformer.encoder.";
    const decoder_shape d = read_chatglm(r);
    const bool all = lin_family_flag(r, r->text, "add_bias_linear", false);
    lin_decoder_set(r, &d);
    lin_decoder_bind(r, &d, prefix, names, ARRAY_LEN(names));
    if (all || lin_family_flag(r, r->text, "add_qkv_bias", false))
        lin_decoder_bind(r, &d, prefix, qkv_bias, ARRAY_LEN(qkv_bias));
    if (all)
        lin_decoder_bind(r, &d, prefix, biases, ARRAY_LEN(biases));
    if (d.layer_norm) {
        lin_decoder_bind(r, &d, prefix, norm_biases, ARRAY_LEN(norm_biases));
        lin_family_bind(r, "norm.bias", "transformer.encoder.final_layernorm.bias");
    }
    /* The code has no output embeddings to tie, whatever the key says. */
    lin_decoder_bind_ends(r, "transformer.embedding.word_embeddings.weight",
                          "transformer.encoder.final_layernorm.weight",
                          "transformer.output_layer.weight", false);
    lin_family_ignore(r, "transformer.rotary_pos_emb.inv_freq");
}

/* ---- Qwen (the first): configuration_qwen.py of Qwen's checkpoints ---- */

static decoder_shape read_qwen(family_reader *r)
{
    const lin_json *c = r->text;
    decoder_shape d = { .joint_qkv = true };
    d.vocab = lin_family_int(r, c, "vocab_size", 151936);
    d.hidden = lin_family_int(r, c, "hidden_size", 4096);
    d.heads = lin_family_int(r, c, "num_attention_heads", 32);
    d.kv_heads = d.heads;
    d.head_dim = lin_family_int(r, c, "kv_channels", 128);
    /* Of w1 and w2 together. */
    d.inner = lin_family_int(r, c, "intermediate_size", 22016) / 2;
    d.layers = lin_family_int(r, c, "num_hidden_layers", 32);
    d.positions = lin_family_int(r, c, "max_position_embeddings", 8192);
    d.eps = lin_family_real(r, c, "layer_norm_epsilon", 1e-6);
    d.theta = lin_family_real(r, c, "rotary_emb_base", 10000);
    d.rotary = (int64_t)((double)d.head_dim * lin_family_real(r, c, "rotary_pct", 1));
    return d;
}

/* Booleans in place of a dtype; a missing one is found out while loading. */
static void set_qwen_dtype(family_reader *r)
{
    if (lin_family_flag(r, r->text, "fp32", false))
        lin_family_set_dtype(r, "T", LIN_DTYPE_F32);
    else if (lin_family_flag(r, r->text, "fp16", false))
        lin_family_set_dtype(r, "T", LIN_DTYPE_F16);
    else if (lin_family_flag(r, r->text, "bf16", false))
        lin_family_set_dtype(r, "T", LIN_DTYPE_BF16);
}

void lin_family_qwen(family_reader *r)
{
    static const family_name names[] = {
        { "attention_norm.weight", "h.{i}.ln_1.weight" },
        { "attention.q_proj.weight", "h.{i}.attn.c_attn.weight" },
        { "attention.q_proj.bias", "h.{i}.attn.c_attn.bias" },
        { "attention.o_proj.weight", "h.{i}.attn.c_proj.weight" },
        { "mlp_norm.weight", "h.{i}.ln_2.weight" },
        { "mlp.gate.weight", "h.{i}.mlp.w2.weight" },
        { "mlp.up.weight", "h.{i}.mlp.w1.weight" },
        { "mlp.down.weight", "h.{i}.mlp.c_proj.weight" },
    };
    static const family_name biases[] = {
        { "attention.o_proj.bias", "h.{i}.attn.c_proj.bias" },
        { "mlp.gate.bias", "h.{i}.mlp.w2.bias" },
        { "mlp.up.bias", "h.{i}.mlp.w1.bias" },
        { "mlp.down.bias", "h.{i}.mlp.c_proj.bias" },
    };
    const decoder_shape d = read_qwen(r);
    lin_decoder_set(r, &d);
    set_qwen_dtype(r);
    lin_decoder_bind(r, &d, "transformer.", names, ARRAY_LEN(names));
    if (!lin_family_flag(r, r->text, "no_bias", true))
        lin_decoder_bind(r, &d, "transformer.", biases, ARRAY_LEN(biases));
    lin_decoder_bind_ends(r, "transformer.wte.weight", "transformer.ln_f.weight", "lm_head.weight",
                          lin_decoder_is_tied(r, false));
    lin_family_ignore(r, "transformer.rotary_emb.inv_freq");
}

/* ---- InternLM 2, Baichuan 2, EXAONE 3 ---- */

void lin_family_internlm2(family_reader *r)
{
    static const family_name names[] = {
        { "attention_norm.weight", "layers.{i}.attention_norm.weight" },
        { "attention.q_proj.weight", "layers.{i}.attention.wqkv.weight" },
        { "attention.o_proj.weight", "layers.{i}.attention.wo.weight" },
        { "mlp_norm.weight", "layers.{i}.ffn_norm.weight" },
        { "mlp.gate.weight", "layers.{i}.feed_forward.w1.weight" },
        { "mlp.up.weight", "layers.{i}.feed_forward.w3.weight" },
        { "mlp.down.weight", "layers.{i}.feed_forward.w2.weight" },
    };
    static const family_name biases[] = {
        { "attention.q_proj.bias", "layers.{i}.attention.wqkv.bias" },
        { "attention.o_proj.bias", "layers.{i}.attention.wo.bias" },
    };
    decoder_shape d = { .positions = 2048, .eps = 1e-6, .theta = 10000, .joint_qkv = true };
    expect_activation(r, "hidden_act");
    lin_decoder_read(r, &d);
    lin_decoder_set(r, &d);
    lin_decoder_bind(r, &d, "model.", names, ARRAY_LEN(names));
    if (lin_family_flag(r, r->text, "bias", true))
        lin_decoder_bind(r, &d, "model.", biases, ARRAY_LEN(biases));
    lin_decoder_bind_ends(r, "model.tok_embeddings.weight", "model.norm.weight", "output.weight",
                          lin_decoder_is_tied(r, false));
}

void lin_family_baichuan(family_reader *r)
{
    static const family_name names[] = {
        { "attention.q_proj.weight", "layers.{i}.self_attn.W_pack.weight" },
        { "attention.o_proj.weight", "layers.{i}.self_attn.o_proj.weight" },
    };
    decoder_shape d = { .eps = 1e-6, .theta = 10000, .joint_qkv = true };
    expect_activation(r, "hidden_act");
    d.positions = lin_family_int(r, r->text, "model_max_length", 4096);
    lin_decoder_read(r, &d);
    if (!lin_family_has(r->text, "max_position_embeddings"))
        lin_family_assume(r,
                          "without `max_position_embeddings` positions are a bias on the scores; "
                          "rotary ones are counted in their place");
    lin_decoder_set(r, &d);
    lin_decoder_bind_usual(r, &d, "model.", DECODER_NORMS | DECODER_MLP);
    lin_decoder_bind(r, &d, "model.", names, ARRAY_LEN(names));
    lin_decoder_bind_usual_ends(r, "model.", lin_decoder_is_tied(r, false));
    lin_family_ignore(r, "model.layers.*.self_attn.rotary_emb.inv_freq");
}

void lin_family_exaone(family_reader *r)
{
    static const family_name names[] = {
        { "attention_norm.weight", "h.{i}.ln_1.weight" },
        { "attention.q_proj.weight", "h.{i}.attn.attention.q_proj.weight" },
        { "attention.k_proj.weight", "h.{i}.attn.attention.k_proj.weight" },
        { "attention.v_proj.weight", "h.{i}.attn.attention.v_proj.weight" },
        { "attention.o_proj.weight", "h.{i}.attn.attention.out_proj.weight" },
        { "mlp_norm.weight", "h.{i}.ln_2.weight" },
        { "mlp.gate.weight", "h.{i}.mlp.c_fc_0.weight" },
        { "mlp.up.weight", "h.{i}.mlp.c_fc_1.weight" },
        { "mlp.down.weight", "h.{i}.mlp.c_proj.weight" },
    };
    static const char *const layers[] = { "num_layers", "num_hidden_layers", NULL };
    decoder_shape d = { .positions = 2048, .theta = 10000 };
    expect_activation(r, "activation_function");
    d.layers = lin_family_int_of(r, r->text, layers, 32);
    d.eps = lin_family_real(r, r->text, "layer_norm_epsilon", 1e-5);
    lin_decoder_read(r, &d);
    lin_decoder_set(r, &d);
    lin_decoder_bind(r, &d, "transformer.", names, ARRAY_LEN(names));
    lin_decoder_bind_ends(r, "transformer.wte.weight", "transformer.ln_f.weight", "lm_head.weight",
                          lin_decoder_is_tied(r, false));
    lin_family_ignore(r, "transformer.rotary.inv_freq");
}
