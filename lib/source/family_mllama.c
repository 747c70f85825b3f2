/* SPDX-License-Identifier: MIT */

/*
 * Llama 3.2 Vision: mllama.linnet. Which decoder layers attend to the images is arbitrary, said by
 * binding one attention or the other; the tower keeps the states of five of its layers. Defaults:
 * the configuration classes of Transformers.
 */

#include "source/family_vision.h"

#include <string.h>

enum { KEPT_LAYERS = 5, VISION_LAYERS = 32 };

/* ---- the tower ---- */

/* The layers before which states are kept, in increasing order, as lengths of the runs between. */
static void read_runs(family_reader *r, const lin_json *v, int64_t layers,
                      int64_t out_runs[KEPT_LAYERS])
{
    static const char key[] = "intermediate_layers_indices";
    static const int64_t defaults[KEPT_LAYERS] = { 3, 7, 15, 23, 30 };
    const lin_json *kept = lin_family_array(r, v, key);
    int64_t last = 0;
    if (kept != NULL && kept->count != KEPT_LAYERS)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED, "`%s` names %u layers; the source keeps %d",
                        key, kept->count, KEPT_LAYERS);
    for (uint32_t i = 0; i < KEPT_LAYERS; i++) {
        const int64_t layer = kept != NULL ? lin_family_item(r, kept, key, i) : defaults[i];
        if (layer < last || layer > layers)
            lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` has %lld after %lld, of %lld layers", key,
                            (long long)layer, (long long)last, (long long)layers);
        out_runs[i] = layer - last;
        last = layer;
    }
}

/* The encoder layers of the array `member`, whose first is layer `first` of `tensor`. */
static void bind_encoder(family_reader *r, const char *member, const char *tensor, int64_t first)
{
    static const family_name names[] = {
        { "attention_norm.weight", "input_layernorm.weight" },
        { "attention_norm.bias", "input_layernorm.bias" },
        { "attention.q_proj.weight", "self_attn.q_proj.weight" },
        { "attention.k_proj.weight", "self_attn.k_proj.weight" },
        { "attention.v_proj.weight", "self_attn.v_proj.weight" },
        { "attention.out_proj.weight", "self_attn.o_proj.weight" },
        { "mlp_norm.weight", "post_attention_layernorm.weight" },
        { "mlp_norm.bias", "post_attention_layernorm.bias" },
        { "up.weight", "mlp.fc1.weight" },
        { "up.bias", "mlp.fc1.bias" },
        { "down.weight", "mlp.fc2.weight" },
        { "down.bias", "mlp.fc2.bias" },
    };
    for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
        lin_family_bind(r, lin_arena_format(r->arena, "tower.%s[*].%s", member, names[i].path),
                        lin_arena_format(r->arena, "vision_model.%s.layers.{i+%lld}.%s", tensor,
                                         (long long)first, names[i].tensor));
}

static void set_runs(family_reader *r, const lin_json *v, int64_t layers)
{
    static const char *const generics[KEPT_LAYERS] = { "Run1", "Run2", "Run3", "Run4", "Run5" };
    int64_t runs[KEPT_LAYERS];
    int64_t first = 0;
    read_runs(r, v, layers, runs);
    for (uint32_t i = 0; i < KEPT_LAYERS; i++) {
        lin_family_set(r, generics[i], runs[i]);
        bind_encoder(r, lin_arena_format(r->arena, "run_%u", i + 1), "transformer", first);
        first += runs[i];
    }
    lin_family_set(r, "Rest", layers - first);
    bind_encoder(r, "rest", "transformer", first);
}

static void bind_tower(family_reader *r)
{
    static const family_name names[] = {
        { "tower.class_token", "class_embedding" },
        { "tower.patch_weight", "patch_embedding.weight" },
        { "tower.tiles_before.gate", "pre_tile_positional_embedding.gate" },
        { "tower.tiles_before.embedding.weight", "pre_tile_positional_embedding.embedding.weight" },
        { "tower.positions.gate", "gated_positional_embedding.gate" },
        { "tower.positions.embedding", "gated_positional_embedding.embedding" },
        { "tower.positions.tile_embedding.weight",
          "gated_positional_embedding.tile_embedding.weight" },
        { "tower.norm_before.weight", "layernorm_pre.weight" },
        { "tower.norm_before.bias", "layernorm_pre.bias" },
        { "tower.norm_after.weight", "layernorm_post.weight" },
        { "tower.norm_after.bias", "layernorm_post.bias" },
        { "tower.tiles_after.gate", "post_tile_positional_embedding.gate" },
        { "tower.tiles_after.embedding.weight", "post_tile_positional_embedding.embedding.weight" },
        { "tower.global[*].attention_gate", "global_transformer.layers.{i}.gate_attn" },
        { "tower.global[*].mlp_gate", "global_transformer.layers.{i}.gate_ffn" },
    };
    lin_family_bind_all(r, "vision_model.", names, ARRAY_LEN(names));
    bind_encoder(r, "global", "global_transformer", 0);
    lin_family_bind(r, "projector.weight", "multi_modal_projector.weight");
    lin_family_bind(r, "projector.bias", "multi_modal_projector.bias");
}

static void set_tower(family_reader *r)
{
    static const char *const activations[] = { "gelu", NULL };
    const lin_json *v = lin_vision_settings(r);
    const lin_json *shapes = lin_family_array(r, v, "supported_aspect_ratios");
    const int64_t width = lin_vision_size(r, v, "hidden_size", 1280);
    const int64_t out = lin_vision_size(r, v, "vision_output_dim", 7680);
    const int64_t patch = lin_vision_size(r, v, "patch_size", 14);
    const int64_t side = lin_vision_patches(r, v, 448, patch);
    const int64_t layers = lin_vision_size(r, v, "num_hidden_layers", VISION_LAYERS);
    lin_family_expect_word(r, v, "hidden_act", activations);
    if (out / (KEPT_LAYERS + 1) != width || out % (KEPT_LAYERS + 1) != 0)
        lin_family_fail(r, LINNET_ERROR_FORMAT,
                        "`vision_output_dim` (%lld) is not the width of %d layers (%lld)",
                        (long long)out, KEPT_LAYERS + 1, (long long)width);
    lin_family_set(r, "VisionH", width);
    lin_family_set(r, "VisionHeads", lin_vision_size(r, v, "attention_heads", 16));
    lin_family_set(r, "VisionInner", lin_vision_size(r, v, "intermediate_size", 5120));
    lin_family_set(r, "Global", lin_family_int(r, v, "num_global_layers", 8));
    lin_family_set(r, "Channels", lin_vision_size(r, v, "num_channels", 3));
    lin_family_set(r, "Tiles", lin_vision_size(r, v, "max_num_tiles", 4));
    lin_family_set(r, "Ratios", (shapes != NULL ? shapes->count : 8) + 1);
    lin_family_set(r, "Patch", patch);
    lin_family_set(r, "Patches", side * side);
    set_runs(r, v, layers);
    bind_tower(r);
}

/* ---- the decoder ---- */

static bool is_cross_layer(family_reader *r, const lin_json *cross, int64_t layer)
{
    enum { FIRST = 3, EVERY = 5 }; /* without the key: 3, 8, 13 and so on */
    bool found = false;
    if (cross == NULL)
        return layer % EVERY == FIRST;
    for (uint32_t i = 0; i < cross->count; i++)
        found = found || lin_family_item(r, cross, "cross_attention_layers", i) == layer;
    return found;
}

static void bind_layer(family_reader *r, int64_t layer, bool is_cross)
{
    static const family_name self_names[] = {
        { "attention.q_proj.weight", "self_attn.q_proj.weight" },
        { "attention.k_proj.weight", "self_attn.k_proj.weight" },
        { "attention.v_proj.weight", "self_attn.v_proj.weight" },
        { "attention.o_proj.weight", "self_attn.o_proj.weight" },
    };
    static const family_name cross_names[] = {
        { "cross_attention.q_proj.weight", "cross_attn.q_proj.weight" },
        { "cross_attention.k_proj.weight", "cross_attn.k_proj.weight" },
        { "cross_attention.v_proj.weight", "cross_attn.v_proj.weight" },
        { "cross_attention.o_proj.weight", "cross_attn.o_proj.weight" },
        { "cross_attention.q_norm.weight", "cross_attn.q_norm.weight" },
        { "cross_attention.k_norm.weight", "cross_attn.k_norm.weight" },
        { "attention_gate", "cross_attn_attn_gate" },
        { "mlp_gate", "cross_attn_mlp_gate" },
    };
    const family_name *names = is_cross ? cross_names : self_names;
    const uint32_t count = is_cross ? ARRAY_LEN(cross_names) : ARRAY_LEN(self_names);
    for (uint32_t i = 0; i < count; i++)
        lin_family_bind(
            r, lin_arena_format(r->arena, "layers.%lld.%s", (long long)layer, names[i].path),
            lin_arena_format(r->arena, "language_model.model.layers.%lld.%s", (long long)layer,
                             names[i].tensor));
}

static void bind_decoder(family_reader *r, int64_t layers)
{
    static const family_name names[] = {
        { "embedding.weight", "embed_tokens.weight" },
        { "layers[*].attention_norm.weight", "layers.{i}.input_layernorm.weight" },
        { "layers[*].mlp_norm.weight", "layers.{i}.post_attention_layernorm.weight" },
        { "layers[*].mlp.gate.weight", "layers.{i}.mlp.gate_proj.weight" },
        { "layers[*].mlp.up.weight", "layers.{i}.mlp.up_proj.weight" },
        { "layers[*].mlp.down.weight", "layers.{i}.mlp.down_proj.weight" },
        { "norm.weight", "norm.weight" },
    };
    const lin_json *cross = lin_family_array(r, r->text, "cross_attention_layers");
    lin_family_bind_all(r, "language_model.model.", names, ARRAY_LEN(names));
    lin_family_bind(r, "lm_head.weight", "language_model.lm_head.weight");
    for (int64_t i = 0; i < layers; i++)
        bind_layer(r, i, is_cross_layer(r, cross, i));
}

void lin_family_mllama(family_reader *r)
{
    static const char *const activations[] = { "silu", "swish", NULL };
    decoder_shape d = { .vocab = 128256,
                        .hidden = 4096,
                        .inner = 14336,
                        .layers = 40,
                        .heads = 32,
                        .kv_heads = 8,
                        .positions = 131072,
                        .eps = 1e-5,
                        .theta = 500000 };
    lin_decoder_read(r, &d);
    lin_family_expect_word(r, r->text, "hidden_act", activations);
    if (lin_decoder_is_tied(r, false))
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "`tie_word_embeddings` true is not expressed by the source of `%s`: the "
                        "embedding has 8 rows more than the head",
                        r->model_type);
    r->program = "models/mllama.linnet";
    r->root = "Model";
    lin_vision_set_decoder(r, &d);
    set_tower(r);
    bind_decoder(r, d.layers);
}
