/* SPDX-License-Identifier: MIT */

/*
 * Models whose layers keep a state of a fixed size, all of them or most: Nemotron-H (Mamba 2),
 * Qwen3.5 (gated delta rule), RWKV 5. The order of layers is arbitrary: a layer's kind is said by
 * binding its part. Defaults: the configuration classes that come with the models, of Transformers
 * for Qwen3.5.
 */

#include "source/family_vision.h"

#include <string.h>

/* The dtype of a state: the key's, else `fallback`. */
static lin_dtype state_dtype(family_reader *r, const char *key, lin_dtype fallback)
{
    const char *word = lin_family_word(r, r->text, key, "");
    if (strcmp(word, "float32") == 0)
        return LIN_DTYPE_F32;
    if (strcmp(word, "bfloat16") == 0)
        return LIN_DTYPE_BF16;
    return strcmp(word, "float16") == 0 ? LIN_DTYPE_F16 : fallback;
}

/* ---- Nemotron-H ---- */

static const char default_pattern[] = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-";

typedef struct mamba_names {
    bool conv_bias, bias, attention_bias, mlp_bias;
} mamba_names;

static void bind_mamba(family_reader *r, const mamba_names *has, const char *path,
                       const char *tensor)
{
    static const family_name names[] = {
        { "mamba.in_proj.weight", "mixer.in_proj.weight" },
        { "mamba.conv_weight", "mixer.conv1d.weight" },
        { "mamba.dt_bias", "mixer.dt_bias" },
        { "mamba.decay_log", "mixer.A_log" },
        { "mamba.skip", "mixer.D" },
        { "mamba.norm_weight", "mixer.norm.weight" },
        { "mamba.out_proj.weight", "mixer.out_proj.weight" },
    };
    static const family_name conv_bias[] = { { "mamba.conv_bias", "mixer.conv1d.bias" } };
    static const family_name biases[] = {
        { "mamba.in_proj.bias", "mixer.in_proj.bias" },
        { "mamba.out_proj.bias", "mixer.out_proj.bias" },
    };
    lin_vision_bind_at(r, path, tensor, names, ARRAY_LEN(names));
    lin_vision_bind_at(r, path, tensor, conv_bias, has->conv_bias ? ARRAY_LEN(conv_bias) : 0);
    lin_vision_bind_at(r, path, tensor, biases, has->bias ? ARRAY_LEN(biases) : 0);
}

static void bind_attention(family_reader *r, const mamba_names *has, const char *path,
                           const char *tensor)
{
    static const family_name names[] = {
        { "attention.q_proj.weight", "mixer.q_proj.weight" },
        { "attention.k_proj.weight", "mixer.k_proj.weight" },
        { "attention.v_proj.weight", "mixer.v_proj.weight" },
        { "attention.o_proj.weight", "mixer.o_proj.weight" },
    };
    static const family_name biases[] = {
        { "attention.q_proj.bias", "mixer.q_proj.bias" },
        { "attention.k_proj.bias", "mixer.k_proj.bias" },
        { "attention.v_proj.bias", "mixer.v_proj.bias" },
        { "attention.o_proj.bias", "mixer.o_proj.bias" },
    };
    lin_vision_bind_at(r, path, tensor, names, ARRAY_LEN(names));
    lin_vision_bind_at(r, path, tensor, biases, has->attention_bias ? ARRAY_LEN(biases) : 0);
}

static void bind_mlp(family_reader *r, const mamba_names *has, const char *path, const char *tensor)
{
    static const family_name names[] = {
        { "mlp.up.weight", "mixer.up_proj.weight" },
        { "mlp.down.weight", "mixer.down_proj.weight" },
    };
    static const family_name biases[] = {
        { "mlp.up.bias", "mixer.up_proj.bias" },
        { "mlp.down.bias", "mixer.down_proj.bias" },
    };
    lin_vision_bind_at(r, path, tensor, names, ARRAY_LEN(names));
    lin_vision_bind_at(r, path, tensor, biases, has->mlp_bias ? ARRAY_LEN(biases) : 0);
}

static void bind_pattern(family_reader *r, const char *pattern)
{
    const mamba_names has = {
        .conv_bias = lin_family_flag(r, r->text, "use_conv_bias", true),
        .bias = lin_family_flag(r, r->text, "use_bias", false),
        .attention_bias = lin_family_flag(r, r->text, "attention_bias", false),
        .mlp_bias = lin_family_flag(r, r->text, "mlp_bias", false),
    };
    for (uint32_t i = 0; pattern[i] != '\0'; i++) {
        const char *path = lin_arena_format(r->arena, "layers.%u", i);
        const char *tensor = lin_arena_format(r->arena, "backbone.layers.%u", i);
        if (pattern[i] == 'M')
            bind_mamba(r, &has, path, tensor);
        else if (pattern[i] == '*')
            bind_attention(r, &has, path, tensor);
        else if (pattern[i] == '-')
            bind_mlp(r, &has, path, tensor);
        else
            lin_family_fail(
                r, LINNET_ERROR_UNSUPPORTED,
                "`hybrid_override_pattern` has `%c` for layer %u, which the source of `%s` "
                "does not express",
                pattern[i], i, r->model_type);
    }
}

static void set_nemotron_mamba(family_reader *r)
{
    static const char *const accepted[] = { "silu", "swish", NULL };
    const lin_json *c = r->text;
    const int64_t heads = lin_vision_size(r, c, "mamba_num_heads", 128);
    const int64_t groups = lin_vision_size(r, c, "n_groups", 8);
    lin_family_expect_word(r, c, "mamba_hidden_act", accepted);
    lin_family_divide(r, "mamba_num_heads", heads, "n_groups", groups);
    lin_family_set(r, "MambaHeads", heads);
    lin_family_set(r, "MambaDim", lin_vision_size(r, c, "mamba_head_dim", 64));
    lin_family_set(r, "Groups", groups);
    lin_family_set(r, "StateDim", lin_vision_size(r, c, "ssm_state_size", 128));
    lin_family_set(r, "Kernel", lin_vision_size(r, c, "conv_kernel", 4));
    lin_family_set_dtype(r, "U", state_dtype(r, "mamba_ssm_cache_dtype", lin_family_dtype(r, c)));
}

static void read_nemotron(family_reader *r, decoder_shape *d)
{
    *d = (decoder_shape){ .vocab = 131072,
                          .hidden = 4096,
                          .inner = 21504,
                          .layers = 52,
                          .heads = 32,
                          .kv_heads = 8,
                          .head_dim = 128,
                          .positions = 4096,
                          .eps = 1e-5,
                          .theta = 10000 };
    lin_decoder_read(r, d);
    d->head_dim = lin_vision_size(r, r->text, "attention_head_dim", d->head_dim);
    d->eps = lin_family_real(r, r->text, "layer_norm_epsilon", d->eps);
}

void lin_family_nemotron_h(family_reader *r)
{
    static const char *const accepted[] = { "relu2", NULL };
    static const family_name names[] = {
        { "embedding.weight", "backbone.embeddings.weight" },
        { "layers[*].norm.weight", "backbone.layers.{i}.norm.weight" },
        { "norm.weight", "backbone.norm_f.weight" },
    };
    decoder_shape d;
    read_nemotron(r, &d);
    const char *pattern = lin_family_word(r, r->text, "hybrid_override_pattern", default_pattern);
    if (strlen(pattern) != (uint64_t)d.layers)
        lin_family_fail(r, LINNET_ERROR_FORMAT,
                        "`hybrid_override_pattern` has %llu layers, `num_hidden_layers` %lld",
                        (unsigned long long)strlen(pattern), (long long)d.layers);
    lin_family_expect_word(r, r->text, "mlp_hidden_act", accepted);
    r->program = "models/nemotron_h.linnet";
    r->root = "Model";
    lin_vision_set_decoder(r, &d);
    set_nemotron_mamba(r);
    lin_family_bind_all(r, "", names, ARRAY_LEN(names));
    lin_family_bind(r, "lm_head.weight",
                    lin_decoder_is_tied(r, false) ? "backbone.embeddings.weight"
                                                  : "lm_head.weight");
    bind_pattern(r, pattern);
}

/* ---- Qwen3.5 ---- */

static void set_delta(family_reader *r)
{
    const lin_json *c = r->text;
    const int64_t keys = lin_vision_size(r, c, "linear_num_key_heads", 16);
    const int64_t values = lin_vision_size(r, c, "linear_num_value_heads", 32);
    lin_family_divide(r, "linear_num_value_heads", values, "linear_num_key_heads", keys);
    lin_family_set(r, "Keys", keys);
    lin_family_set(r, "KeyDim", lin_vision_size(r, c, "linear_key_head_dim", 128));
    lin_family_set(r, "Values", values);
    lin_family_set(r, "ValueDim", lin_vision_size(r, c, "linear_value_head_dim", 128));
    lin_family_set(r, "Kernel", lin_vision_size(r, c, "linear_conv_kernel_dim", 4));
    lin_family_set_dtype(r, "U", state_dtype(r, "mamba_ssm_dtype", LIN_DTYPE_F32));
}

/* Whether a layer is full attention: layer_types, else the last of
 * every full_attention_interval. */
static bool is_full_layer(family_reader *r, int64_t layer)
{
    const lin_json *types = lin_family_array(r, r->text, "layer_types");
    if (types == NULL)
        return (layer + 1) % lin_vision_size(r, r->text, "full_attention_interval", 4) == 0;
    if (layer >= types->count || types->items[layer].kind != LIN_JSON_STRING)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`layer_types` has no word for layer %lld",
                        (long long)layer);
    const char *word = types->items[layer].text;
    const bool full = strcmp(word, "full_attention") == 0;
    if (!full && strcmp(word, "linear_attention") != 0)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "`%s` of `layer_types` is not expressed by the source of `%s`", word,
                        r->model_type);
    return full;
}

static void bind_qwen_layer(family_reader *r, int64_t layer, bool biases)
{
    static const family_name delta_names[] = {
        { "delta.qkv_proj.weight", "linear_attn.in_proj_qkv.weight" },
        { "delta.gate_proj.weight", "linear_attn.in_proj_z.weight" },
        { "delta.share_proj.weight", "linear_attn.in_proj_b.weight" },
        { "delta.decay_proj.weight", "linear_attn.in_proj_a.weight" },
        { "delta.conv_weight", "linear_attn.conv1d.weight" },
        { "delta.dt_bias", "linear_attn.dt_bias" },
        { "delta.decay_log", "linear_attn.A_log" },
        { "delta.norm_weight", "linear_attn.norm.weight" },
        { "delta.out_proj.weight", "linear_attn.out_proj.weight" },
    };
    const char *path = lin_arena_format(r->arena, "layers.%lld", (long long)layer);
    const char *tensor =
        lin_arena_format(r->arena, "model.language_model.layers.%lld", (long long)layer);
    if (!is_full_layer(r, layer)) {
        lin_vision_bind_at(r, path, tensor, delta_names, ARRAY_LEN(delta_names));
        return;
    }
    lin_vision_bind_attention(r, lin_arena_format(r->arena, "%s.attention", path), tensor, biases,
                              true);
}

static void bind_qwen_decoder(family_reader *r, int64_t layers)
{
    static const family_name names[] = {
        { "embedding.weight", "embed_tokens.weight" },
        { "layers[*].mixer_norm.weight", "layers.{i}.input_layernorm.weight" },
        { "layers[*].mlp_norm.weight", "layers.{i}.post_attention_layernorm.weight" },
        { "layers[*].mlp.gate.weight", "layers.{i}.mlp.gate_proj.weight" },
        { "layers[*].mlp.up.weight", "layers.{i}.mlp.up_proj.weight" },
        { "layers[*].mlp.down.weight", "layers.{i}.mlp.down_proj.weight" },
        { "norm.weight", "norm.weight" },
    };
    const bool biases = lin_family_flag(r, r->text, "attention_bias", false);
    lin_family_bind_all(r, "model.language_model.", names, ARRAY_LEN(names));
    lin_family_bind(r, "lm_head.weight",
                    lin_decoder_is_tied(r, false) ? "model.language_model.embed_tokens.weight"
                                                  : "lm_head.weight");
    for (int64_t i = 0; i < layers; i++)
        bind_qwen_layer(r, i, biases);
    lin_family_ignore(r, "mtp.*");
}

void lin_family_qwen3_5(family_reader *r)
{
    static const char *const accepted[] = { "silu", "swish", NULL };
    decoder_shape d = { .vocab = 248320,
                        .hidden = 4096,
                        .inner = 12288,
                        .layers = 32,
                        .heads = 16,
                        .kv_heads = 4,
                        .head_dim = 256,
                        .positions = 32768,
                        .eps = 1e-6,
                        .theta = 10000 };
    lin_decoder_read(r, &d);
    lin_decoder_read_partial_rotary(r, &d, 0.25);
    lin_decoder_refuse_flag(r, "attn_output_gate", true, false);
    lin_family_expect_word(r, r->text, "hidden_act", accepted);
    r->program = "models/qwen3_5.linnet";
    r->root = "Model";
    lin_vision_set_decoder(r, &d);
    if (d.rotary % 2 != 0)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "an odd number of a head's values is turned (%lld)", (long long)d.rotary);
    lin_family_set(r, "Rotary", d.rotary);
    set_delta(r);
    lin_vision_set_qwen_tower(r, d.hidden);
    bind_qwen_decoder(r, d.layers);
}

/* ---- RWKV 5 ---- */

static void bind_rwkv(family_reader *r)
{
    static const family_name names[] = {
        { "embedding.weight", "rwkv.embeddings.weight" },
        { "layers.0.first_norm.weight", "rwkv.blocks.0.pre_ln.weight" },
        { "layers.0.first_norm.bias", "rwkv.blocks.0.pre_ln.bias" },
        { "layers[*].time_norm.weight", "rwkv.blocks.{i}.ln1.weight" },
        { "layers[*].time_norm.bias", "rwkv.blocks.{i}.ln1.bias" },
        { "layers[*].time.decay", "rwkv.blocks.{i}.attention.time_decay" },
        { "layers[*].time.bonus", "rwkv.blocks.{i}.attention.time_faaaa" },
        { "layers[*].time.key_share", "rwkv.blocks.{i}.attention.time_mix_key" },
        { "layers[*].time.value_share", "rwkv.blocks.{i}.attention.time_mix_value" },
        { "layers[*].time.receptance_share", "rwkv.blocks.{i}.attention.time_mix_receptance" },
        { "layers[*].time.gate_share", "rwkv.blocks.{i}.attention.time_mix_gate" },
        { "layers[*].time.key.weight", "rwkv.blocks.{i}.attention.key.weight" },
        { "layers[*].time.value.weight", "rwkv.blocks.{i}.attention.value.weight" },
        { "layers[*].time.receptance.weight", "rwkv.blocks.{i}.attention.receptance.weight" },
        { "layers[*].time.gate.weight", "rwkv.blocks.{i}.attention.gate.weight" },
        { "layers[*].time.output.weight", "rwkv.blocks.{i}.attention.output.weight" },
        { "layers[*].time.norm_weight", "rwkv.blocks.{i}.attention.ln_x.weight" },
        { "layers[*].time.norm_bias", "rwkv.blocks.{i}.attention.ln_x.bias" },
        { "layers[*].channel_norm.weight", "rwkv.blocks.{i}.ln2.weight" },
        { "layers[*].channel_norm.bias", "rwkv.blocks.{i}.ln2.bias" },
        { "layers[*].channel.key_share", "rwkv.blocks.{i}.feed_forward.time_mix_key" },
        { "layers[*].channel.receptance_share",
          "rwkv.blocks.{i}.feed_forward.time_mix_receptance" },
        { "layers[*].channel.key.weight", "rwkv.blocks.{i}.feed_forward.key.weight" },
        { "layers[*].channel.receptance.weight", "rwkv.blocks.{i}.feed_forward.receptance.weight" },
        { "layers[*].channel.value.weight", "rwkv.blocks.{i}.feed_forward.value.weight" },
        { "norm.weight", "rwkv.ln_out.weight" },
        { "norm.bias", "rwkv.ln_out.bias" },
    };
    lin_family_bind_all(r, "", names, ARRAY_LEN(names));
    lin_family_bind(r, "head.weight",
                    lin_decoder_is_tied(r, false) ? "rwkv.embeddings.weight" : "head.weight");
}

void lin_family_rwkv5(family_reader *r)
{
    const lin_json *c = r->text;
    const int64_t hidden = lin_vision_size(r, c, "hidden_size", 768);
    const int64_t width = lin_vision_size(r, c, "attention_hidden_size", hidden);
    const int64_t head = lin_vision_size(r, c, "head_size", 64);
    int64_t inner = 0;
    if (!lin_mul_i64(hidden, 7, &inner))
        lin_family_fail(r, LINNET_ERROR_OVERFLOW, "`hidden_size` is out of range");
    inner = inner / 2 / 32 * 32; /* three and a half times the width, in whole 32s */
    r->program = "models/rwkv.linnet";
    r->root = "Model";
    lin_family_set(r, "Vocab", lin_vision_size(r, c, "vocab_size", 65536));
    lin_family_set(r, "H", hidden);
    lin_family_set(r, "Heads",
                   lin_family_divide(r, "attention_hidden_size", width, "head_size", head));
    lin_family_set(r, "HeadDim", head);
    lin_family_set(r, "Inner", lin_vision_size(r, c, "intermediate_size", inner));
    lin_family_set(r, "Layers", lin_vision_size(r, c, "num_hidden_layers", 24));
    lin_family_set(r, "Batch", 1);
    lin_family_set_dtype(r, "T", lin_family_dtype(r, c));
    bind_rwkv(r);
}
