/* SPDX-License-Identifier: MIT */

/*
 * Vision-language models whose images have one size: LLaVA, with CLIP's tower, and Gemma 3, with
 * SigLIP's. Roots of vlm.linnet. Defaults: the configuration classes of Transformers.
 */

#include "source/family_vision.h"

#include <string.h>

/* The layers of CLIP's and SigLIP's towers: the array `member`, whose first is layer `first`. */
static void bind_encoder_layers(family_reader *r, const char *member, int64_t first)
{
    static const family_name names[] = {
        { "attention_norm", "layer_norm1" },
        { "attention.q_proj", "self_attn.q_proj" },
        { "attention.k_proj", "self_attn.k_proj" },
        { "attention.v_proj", "self_attn.v_proj" },
        { "attention.out_proj", "self_attn.out_proj" },
        { "mlp_norm", "layer_norm2" },
        { "up", "mlp.fc1" },
        { "down", "mlp.fc2" },
    };
    for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
        lin_vision_bind_affine(
            r, lin_arena_format(r->arena, "tower.%s[*].%s", member, names[i].path),
            lin_arena_format(r->arena, "vision_tower.vision_model.encoder.layers.{i+%lld}.%s",
                             (long long)first, names[i].tensor));
}

/* ---- LLaVA ---- */

/* The language model's defaults by its own model_type; whether it has biases. */
static bool read_llava_text(family_reader *r, decoder_shape *d)
{
    static const struct {
        const char *model_type;
        decoder_shape shape;
        bool biases;
    } kinds[] = {
        { "llama",
          { .vocab = 32000,
            .hidden = 4096,
            .inner = 11008,
            .layers = 32,
            .heads = 32,
            .positions = 2048,
            .eps = 1e-6,
            .theta = 10000 },
          false },
        { "mistral",
          { .vocab = 32000,
            .hidden = 4096,
            .inner = 14336,
            .layers = 32,
            .heads = 32,
            .kv_heads = 8,
            .positions = 131072,
            .eps = 1e-6,
            .theta = 10000 },
          false },
        { "qwen2",
          { .vocab = 151936,
            .hidden = 4096,
            .inner = 22016,
            .layers = 32,
            .heads = 32,
            .kv_heads = 32,
            .positions = 32768,
            .eps = 1e-6,
            .theta = 10000 },
          true },
    };
    const char *type =
        r->text != r->config ? lin_family_word(r, r->text, "model_type", "llama") : "llama";
    for (uint32_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].model_type, type) != 0)
            continue;
        *d = kinds[i].shape;
        lin_decoder_read(r, d);
        return kinds[i].biases || lin_family_flag(r, r->text, "attention_bias", false);
    }
    lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                    "a language model `%s` is not expressed by the source of `%s`", type,
                    r->model_type);
}

/* How many of the tower's layers come before the states that are projected. */
static int64_t read_feature_layer(family_reader *r, int64_t layers)
{
    static const char key[] = "vision_feature_layer";
    const lin_json *value = lin_json_get(r->config, key);
    int64_t layer = -2;
    if (lin_family_has(r->config, key)) {
        if (value->kind != LIN_JSON_INTEGER)
            lin_family_fail(r, LINNET_ERROR_UNSUPPORTED, "`%s` is %s; one layer is meant", key,
                            lin_json_kind_name(value->kind));
        layer = value->integer;
    }
    /* hidden_states holds what enters the first layer, then what each layer returns. */
    const int64_t read = layer < 0 && layer >= -layers - 1 ? layers + 1 + layer : layer;
    if (read < 1 || read > layers)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` (%lld) is none of the tower's %lld layers",
                        key, (long long)layer, (long long)layers);
    return read;
}

static void set_clip_tower(family_reader *r)
{
    static const family_name names[] = {
        { "tower.class_token", "embeddings.class_embedding" },
        { "tower.patch_weight", "embeddings.patch_embedding.weight" },
        { "tower.positions", "embeddings.position_embedding.weight" },
    };
    static const char *const types[] = { "clip_vision_model", NULL };
    static const char prefix[] = "vision_tower.vision_model.";
    const lin_json *v = lin_vision_settings(r);
    const bool given = v != NULL; /* LLaVA's own defaults are those of the large tower */
    const int64_t patch = lin_vision_size(r, v, "patch_size", given ? 32 : 14);
    const int64_t side = lin_vision_patches(r, v, given ? 224 : 336, patch);
    const int64_t layers = lin_vision_size(r, v, "num_hidden_layers", given ? 12 : 24);
    const int64_t read = read_feature_layer(r, layers);
    lin_family_expect_word(r, v, "model_type", types);
    lin_family_set(r, "Rows", side);
    lin_family_set(r, "Columns", side);
    lin_family_set(r, "Patch", patch);
    lin_family_set(r, "Channels", lin_vision_size(r, v, "num_channels", 3));
    lin_family_set(r, "VisionH", lin_vision_size(r, v, "hidden_size", given ? 768 : 1024));
    lin_family_set(r, "VisionHeads", lin_vision_size(r, v, "num_attention_heads", given ? 12 : 16));
    lin_family_set(r, "VisionInner",
                   lin_vision_size(r, v, "intermediate_size", given ? 3072 : 4096));
    lin_family_set(r, "VisionLayers", layers);
    lin_family_set(r, "VisionKind", lin_vision_activation(r, v, "quick_gelu"));
    lin_family_set(r, "Read", read);
    lin_family_bind_all(r, prefix, names, ARRAY_LEN(names));
    lin_vision_bind_affine(r, "tower.pre_norm", "vision_tower.vision_model.pre_layrnorm");
    lin_vision_bind_affine(r, "tower.post_norm", "vision_tower.vision_model.post_layernorm");
    bind_encoder_layers(r, "layers", 0);
    bind_encoder_layers(r, "unread", read);
    lin_family_ignore(r, "vision_tower.vision_model.embeddings.position_ids");
}

void lin_family_llava(family_reader *r)
{
    static const char *const strategies[] = { "default", NULL };
    static const char *const activations[] = { "gelu", NULL };
    decoder_shape d;
    const bool biases = read_llava_text(r, &d);
    r->program = "models/vlm.linnet";
    r->root = "Llava";
    lin_family_expect_word(r, r->config, "vision_feature_select_strategy", strategies);
    lin_family_expect_word(r, r->config, "projector_hidden_act", activations);
    lin_vision_set_decoder(r, &d);
    set_clip_tower(r);
    lin_family_bind(r, "project_in.weight", "multi_modal_projector.linear_1.weight");
    lin_family_bind(r, "project_out.weight", "multi_modal_projector.linear_2.weight");
    if (lin_family_flag(r, r->config, "multimodal_projector_bias", true)) {
        lin_family_bind(r, "project_in.bias", "multi_modal_projector.linear_1.bias");
        lin_family_bind(r, "project_out.bias", "multi_modal_projector.linear_2.bias");
    }
    lin_vision_bind_decoder(r, "language_model.model.", "language_model.lm_head.weight",
                            lin_decoder_is_tied(r, false));
    lin_vision_bind_plain_layers(r, "language_model.model.", biases, false);
}

/* ---- Gemma 3 ---- */

static void set_siglip_tower(family_reader *r)
{
    static const family_name names[] = {
        { "tower.patch_weight", "embeddings.patch_embedding.weight" },
        { "tower.patch_bias", "embeddings.patch_embedding.bias" },
        { "tower.positions", "embeddings.position_embedding.weight" },
    };
    const lin_json *v = lin_vision_settings(r);
    const int64_t patch = lin_vision_size(r, v, "patch_size", 16);
    const int64_t patches = lin_vision_patches(r, v, 224, patch);
    const int64_t side = lin_vision_side(r, "mm_tokens_per_image",
                                         lin_vision_size(r, r->config, "mm_tokens_per_image", 256));
    if (lin_family_flag(r, v, "vision_use_head", false))
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "`vision_use_head` true is not expressed by the source of `%s`",
                        r->model_type);
    lin_family_set(r, "Side", side);
    lin_family_set(r, "Pool",
                   lin_family_divide(r, "patches a side", patches, "tokens a side", side));
    lin_family_set(r, "Patch", patch);
    lin_family_set(r, "Channels", lin_vision_size(r, v, "num_channels", 3));
    lin_family_set(r, "VisionH", lin_vision_size(r, v, "hidden_size", 768));
    lin_family_set(r, "VisionHeads", lin_vision_size(r, v, "num_attention_heads", 12));
    lin_family_set(r, "VisionInner", lin_vision_size(r, v, "intermediate_size", 3072));
    lin_family_set(r, "VisionLayers", lin_vision_size(r, v, "num_hidden_layers", 12));
    lin_family_set(r, "VisionKind", lin_vision_activation(r, v, "gelu_pytorch_tanh"));
    lin_family_bind_all(r, "vision_tower.vision_model.", names, ARRAY_LEN(names));
    bind_encoder_layers(r, "layers", 0);
    lin_vision_bind_affine(r, "tower.post_norm", "vision_tower.vision_model.post_layernorm");
    lin_family_bind(r, "projection_norm.weight", "multi_modal_projector.mm_soft_emb_norm.weight");
    lin_family_bind(r, "projection", "multi_modal_projector.mm_input_projection_weight");
}

/* Whether a layer sees everything: layer_types, else the last of every `period`. */
static bool is_full_layer(family_reader *r, int64_t layer, int64_t period)
{
    static const char key[] = "layer_types";
    const lin_json *types = lin_family_array(r, r->text, key);
    if (types == NULL)
        return (layer + 1) % period == 0;
    if (layer >= types->count || types->items[layer].kind != LIN_JSON_STRING)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` has no word for layer %lld", key,
                        (long long)layer);
    const char *word = types->items[layer].text;
    if (strcmp(word, "full_attention") != 0 && strcmp(word, "sliding_attention") != 0)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "`%s` of `%s` is not expressed by the source of `%s`", word, key,
                        r->model_type);
    return strcmp(word, "full_attention") == 0;
}

static void bind_gemma_layers(family_reader *r, int64_t layers)
{
    static const char *const patterns[] = { "sliding_window_pattern", "_sliding_window_pattern",
                                            NULL };
    static const family_name norms[] = {
        { "decoder.layers[*].attention_post_norm.weight",
          "layers.{i}.post_attention_layernorm.weight" },
        { "decoder.layers[*].mlp_norm.weight", "layers.{i}.pre_feedforward_layernorm.weight" },
        { "decoder.layers[*].mlp_post_norm.weight",
          "layers.{i}.post_feedforward_layernorm.weight" },
    };
    const bool biases = lin_family_flag(r, r->text, "attention_bias", false);
    const int64_t period = lin_family_int_of(r, r->text, patterns, 6);
    if (period < 1)
        lin_family_fail(r, LINNET_ERROR_FORMAT,
                        "`sliding_window_pattern` is 0; at least 1 is meant");
    lin_family_bind_all(r, "language_model.model.", norms, ARRAY_LEN(norms));
    for (int64_t i = 0; i < layers; i++) {
        const char *at =
            lin_arena_format(r->arena, "decoder.layers.%lld.%s", (long long)i,
                             is_full_layer(r, i, period) ? "attention" : "near_attention");
        const char *layer =
            lin_arena_format(r->arena, "language_model.model.layers.%lld", (long long)i);
        lin_vision_bind_attention(r, at, layer, biases, true);
    }
}

void lin_family_gemma3(family_reader *r)
{
    decoder_shape d = { .vocab = 262208,
                        .hidden = 2304,
                        .inner = 9216,
                        .layers = 26,
                        .heads = 8,
                        .kv_heads = 4,
                        .head_dim = 256,
                        .positions = 131072,
                        .eps = 1e-6,
                        .theta = 1000000 };
    lin_decoder_read(r, &d);
    lin_decoder_read_window(r, &d, 4096);
    if (lin_family_real(r, r->text, "final_logit_softcapping", 0) > 0)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "`final_logit_softcapping` is not expressed by the source of `%s`",
                        r->model_type);
    r->program = "models/vlm.linnet";
    r->root = "Gemma";
    lin_vision_set_decoder(r, &d);
    lin_family_set(
        r, "NearTheta",
        lin_vision_rope_base(r, lin_family_real(r, r->text, "rope_local_base_freq", 10000)));
    if (d.window > 0)
        lin_family_set(r, "Window", d.window);
    set_siglip_tower(r);
    lin_vision_bind_decoder(r, "language_model.model.", "language_model.lm_head.weight",
                            lin_decoder_is_tied(r, true));
    bind_gemma_layers(r, d.layers);
}
