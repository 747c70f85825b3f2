/* SPDX-License-Identifier: MIT */

/* What the readers of vision-language configs share (family_vision.h). */

#include "source/family_vision.h"

#include <string.h>

enum { LONGEST_CACHE = 8192, MAX_SIDE = 1 << 15, MAX_LAYERS = 1 << 12 };

/* ---- reading ---- */

int64_t lin_vision_size(family_reader *r, const lin_json *object, const char *key, int64_t fallback)
{
    const int64_t size = lin_family_has(object, key) ? lin_family_need(r, object, key) : fallback;
    if (size > INT32_MAX)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` (%lld) is out of range", key,
                        (long long)size);
    return size;
}

const lin_json *lin_vision_settings(family_reader *r)
{
    return lin_family_object(r, r->config, "vision_config");
}

int64_t lin_vision_activation(family_reader *r, const lin_json *vision, const char *fallback)
{
    static const struct {
        const char *word;
        int64_t kind;
    } kinds[] = {
        { "gelu_pytorch_tanh", 1 }, { "gelu_new", 1 }, { "quick_gelu", 2 }, { "gelu", 3 }
    };
    const char *word = lin_family_word(r, vision, "hidden_act", fallback);
    for (uint32_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].word, word) == 0)
            return kinds[i].kind;
    lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                    "`hidden_act` `%s` of `vision_config` is not expressed by the source of `%s`",
                    word, r->model_type);
}

int64_t lin_vision_patches(family_reader *r, const lin_json *vision, int64_t image, int64_t patch)
{
    const int64_t side = lin_vision_size(r, vision, "image_size", image) / patch;
    if (side < 1)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`image_size` is less than `patch_size` (%lld)",
                        (long long)patch);
    return side;
}

int64_t lin_vision_side(family_reader *r, const char *key, int64_t area)
{
    int64_t side = 1;
    while (side < MAX_SIDE && side * side < area)
        side++;
    if (side * side != area)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` (%lld) is no square", key, (long long)area);
    return side;
}

/* ---- answering ---- */

static int64_t inverse_of(family_reader *r, double eps)
{
    if (!(eps > 1e-15 && eps <= 1))
        lin_family_fail(r, LINNET_ERROR_FORMAT, "the norms' epsilon lies outside 1e-15 to 1");
    return (int64_t)(1 / eps + 0.5);
}

int64_t lin_vision_rope_base(family_reader *r, double theta)
{
    if (!(theta >= 1 && theta < 9e15))
        lin_family_fail(r, LINNET_ERROR_FORMAT, "the rotary base is out of range");
    return (int64_t)(theta + 0.5);
}

void lin_vision_set_decoder(family_reader *r, const decoder_shape *d)
{
    if (d->layers > MAX_LAYERS)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED, "`num_hidden_layers` (%lld) passes %d",
                        (long long)d->layers, MAX_LAYERS);
    if (d->head_dim % 2 != 0)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "an odd number of a head's values is turned (%lld)",
                        (long long)d->head_dim);
    const int64_t cache =
        d->positions > 0 && d->positions < LONGEST_CACHE ? d->positions : LONGEST_CACHE;
    lin_family_set(r, "Vocab", d->vocab);
    lin_family_set(r, "H", d->hidden);
    lin_family_set(r, "Heads", d->heads);
    lin_family_set(r, "KvHeads", d->kv_heads);
    lin_family_set(r, "HeadDim", d->head_dim);
    lin_family_set(r, "Inner", d->inner);
    lin_family_set(r, "Layers", d->layers);
    lin_family_set(r, "Batch", 1);
    lin_family_set(r, "MaxSeq", cache);
    lin_family_set(r, "RopeTheta", lin_vision_rope_base(r, d->theta));
    lin_family_set(r, "InverseEps", inverse_of(r, d->eps));
    lin_family_set_dtype(r, "T", lin_family_dtype(r, r->text));
}

static const family_name attention_names[] = {
    { "q_proj.weight", "self_attn.q_proj.weight" },
    { "k_proj.weight", "self_attn.k_proj.weight" },
    { "v_proj.weight", "self_attn.v_proj.weight" },
    { "o_proj.weight", "self_attn.o_proj.weight" },
};
static const family_name attention_norms[] = {
    { "q_norm.weight", "self_attn.q_norm.weight" },
    { "k_norm.weight", "self_attn.k_norm.weight" },
};
static const family_name output_bias[] = { { "o_proj.bias", "self_attn.o_proj.bias" } };
static const family_name attention_biases[] = {
    { "q_proj.bias", "self_attn.q_proj.bias" },
    { "k_proj.bias", "self_attn.k_proj.bias" },
    { "v_proj.bias", "self_attn.v_proj.bias" },
};

void lin_vision_bind_at(family_reader *r, const char *path, const char *tensor,
                        const family_name *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        lin_family_bind(r, lin_arena_format(r->arena, "%s.%s", path, names[i].path),
                        lin_arena_format(r->arena, "%s.%s", tensor, names[i].tensor));
}

void lin_vision_bind_affine(family_reader *r, const char *path, const char *tensor)
{
    static const family_name names[] = { { "weight", "weight" }, { "bias", "bias" } };
    lin_vision_bind_at(r, path, tensor, names, ARRAY_LEN(names));
}

void lin_vision_bind_attention(family_reader *r, const char *path, const char *layer, bool biases,
                               bool head_norms)
{
    const bool o_bias = lin_family_flag(r, r->text, "attention_bias", false);
    lin_vision_bind_at(r, path, layer, attention_names, ARRAY_LEN(attention_names));
    lin_vision_bind_at(r, path, layer, attention_biases, biases ? ARRAY_LEN(attention_biases) : 0);
    lin_vision_bind_at(r, path, layer, attention_norms,
                       head_norms ? ARRAY_LEN(attention_norms) : 0);
    lin_vision_bind_at(r, path, layer, output_bias, o_bias ? ARRAY_LEN(output_bias) : 0);
}

void lin_vision_bind_decoder(family_reader *r, const char *prefix, const char *head, bool tied)
{
    static const family_name names[] = {
        { "decoder.embedding.weight", "embed_tokens.weight" },
        { "decoder.layers[*].attention_norm.weight", "layers.{i}.input_layernorm.weight" },
        { "decoder.layers[*].mlp.gate.weight", "layers.{i}.mlp.gate_proj.weight" },
        { "decoder.layers[*].mlp.up.weight", "layers.{i}.mlp.up_proj.weight" },
        { "decoder.layers[*].mlp.down.weight", "layers.{i}.mlp.down_proj.weight" },
        { "decoder.norm.weight", "norm.weight" },
    };
    lin_family_bind_all(r, prefix, names, ARRAY_LEN(names));
    lin_family_bind(r, "decoder.lm_head.weight",
                    tied ? lin_arena_format(r->arena, "%sembed_tokens.weight", prefix) : head);
}

void lin_vision_bind_plain_layers(family_reader *r, const char *prefix, bool biases,
                                  bool head_norms)
{
    const char *layer = lin_arena_format(r->arena, "%slayers.{i}", prefix);
    lin_vision_bind_attention(r, "decoder.layers[*].attention", layer, biases, head_norms);
    lin_family_bind(r, "decoder.layers[*].mlp_norm.weight",
                    lin_arena_format(r->arena, "%s.post_attention_layernorm.weight", layer));
}
