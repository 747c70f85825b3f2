/* SPDX-License-Identifier: MIT */

/*
 * Qwen2-VL and Qwen3-VL: a root of vlm.linnet, and the tower that Qwen3.5 shares. How large an
 * image is, the input decides: a size is assumed, and bound by name. Defaults: the configuration
 * classes of Transformers.
 */

#include "source/family_vision.h"

enum {
    PATCHES_A_SIDE = 32, /* of the assumed image */
    MOST_MERGED_LAYERS = 3
};

/* An image's grid in tokens. */
static void set_grid(family_reader *r, const lin_json *v, int64_t patch)
{
    const int64_t merge = lin_vision_size(r, v, "spatial_merge_size", 2);
    const int64_t side = merge < PATCHES_A_SIDE ? PATCHES_A_SIDE / merge : 1;
    lin_family_set(r, "Merge", merge);
    lin_family_set(r, "Rows", side);
    lin_family_set(r, "Columns", side);
    lin_family_assume(
        r,
        "an image is %lld by %lld pixels, %lld by %lld tokens (bind Rows and Columns, and "
        "Images for their number)",
        (long long)(side * merge * patch), (long long)(side * merge * patch), (long long)side,
        (long long)side);
}

/* The names of a vision layer's parts, the same in all of them but for the MLP. */
static void bind_qwen_layers(family_reader *r, const char *prefix, const char *up, const char *down)
{
    const family_name names[] = {
        { "attention_norm", "norm1" },
        { "attention.qkv", "attn.qkv" },
        { "attention.proj", "attn.proj" },
        { "mlp_norm", "norm2" },
        { "up", up },
        { "down", down },
    };
    lin_family_bind(r, "tower.patch_weight",
                    lin_arena_format(r->arena, "%spatch_embed.proj.weight", prefix));
    for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
        lin_vision_bind_affine(
            r, lin_arena_format(r->arena, "tower.layers[*].%s", names[i].path),
            lin_arena_format(r->arena, "%sblocks.{i}.%s", prefix, names[i].tensor));
}

static void set_qwen2_tower(family_reader *r, int64_t hidden)
{
    const lin_json *v = lin_vision_settings(r);
    const int64_t width = lin_vision_size(r, v, "embed_dim", 1280);
    const double ratio = lin_family_real(r, v, "mlp_ratio", 4);
    const int64_t patch = lin_vision_size(r, v, "patch_size", 14);
    /* The vision_config's hidden_size is what leaves the tower. */
    const int64_t out = lin_vision_size(r, v, "hidden_size", 3584);
    if (out != hidden)
        lin_family_fail(
            r, LINNET_ERROR_FORMAT,
            "`hidden_size` of `vision_config` (%lld) is not the language model's (%lld)",
            (long long)out, (long long)hidden);
    if (!(ratio > 0 && ratio < 1024))
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`mlp_ratio` lies outside 0 to 1024");
    lin_family_set(r, "VisionH", width);
    lin_family_set(r, "VisionHeads", lin_vision_size(r, v, "num_heads", 16));
    lin_family_set(r, "VisionInner", (int64_t)((double)width * ratio));
    lin_family_set(r, "VisionLayers", lin_vision_size(r, v, "depth", 32));
    lin_family_set(r, "VisionKind", lin_vision_activation(r, v, "quick_gelu"));
    lin_family_set(r, "Patch", patch);
    lin_family_set(r, "Frames", lin_vision_size(r, v, "temporal_patch_size", 2));
    lin_family_set(r, "Channels", lin_vision_size(r, v, "in_channels", 3));
    set_grid(r, v, patch);
    bind_qwen_layers(r, "visual.", "mlp.fc1", "mlp.fc2");
    lin_vision_bind_affine(r, "tower.merger.norm", "visual.merger.ln_q");
    lin_vision_bind_affine(r, "tower.merger.up", "visual.merger.mlp.0");
    lin_vision_bind_affine(r, "tower.merger.down", "visual.merger.mlp.2");
}

void lin_family_qwen2_vl(family_reader *r)
{
    decoder_shape d = { .vocab = 152064,
                        .hidden = 8192,
                        .inner = 29568,
                        .layers = 80,
                        .heads = 64,
                        .kv_heads = 8,
                        .positions = 32768,
                        .eps = 1e-5,
                        .theta = 1000000 };
    lin_decoder_read(r, &d);
    lin_decoder_refuse_flag(r, "use_sliding_window", false, true);
    r->program = "models/vlm.linnet";
    r->root = "QwenVl";
    lin_vision_set_decoder(r, &d);
    set_qwen2_tower(r, d.hidden);
    lin_vision_bind_decoder(r, "model.", "lm_head.weight", lin_decoder_is_tied(r, false));
    lin_vision_bind_plain_layers(r, "model.", true, false);
}

static void bind_merger(family_reader *r, const char *path, const char *tensor)
{
    static const family_name names[] = { { "norm", "norm" },
                                         { "up", "linear_fc1" },
                                         { "down", "linear_fc2" } };
    for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
        lin_vision_bind_affine(r, lin_arena_format(r->arena, "%s.%s", path, names[i].path),
                               lin_arena_format(r->arena, "%s.%s", tensor, names[i].tensor));
}

static void bind_merged_layers(family_reader *r, const lin_json *v, int64_t depth)
{
    static const char key[] = "deepstack_visual_indexes";
    static const int64_t defaults[MOST_MERGED_LAYERS] = { 8, 16, 24 };
    const lin_json *indexes = lin_family_array(r, v, key);
    const uint32_t count = indexes != NULL ? indexes->count : MOST_MERGED_LAYERS;
    if (count > MOST_MERGED_LAYERS)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED, "`%s` names %u layers; the source has %d", key,
                        count, MOST_MERGED_LAYERS);
    for (uint32_t i = 0; i < count; i++) {
        const int64_t layer = indexes != NULL ? lin_family_item(r, indexes, key, i) : defaults[i];
        if (layer >= depth)
            lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` names layer %lld of %lld", key,
                            (long long)layer, (long long)depth);
        bind_merger(r, lin_arena_format(r->arena, "tower.layers.%lld.deepstack", (long long)layer),
                    lin_arena_format(r->arena, "model.visual.deepstack_merger_list.%u", i));
    }
}

void lin_vision_set_qwen_tower(family_reader *r, int64_t hidden)
{
    const lin_json *v = lin_vision_settings(r);
    const int64_t patch = lin_vision_size(r, v, "patch_size", 16);
    const int64_t depth = lin_vision_size(r, v, "depth", 27);
    const int64_t out = lin_vision_size(r, v, "out_hidden_size", 3584);
    if (out != hidden)
        lin_family_fail(r, LINNET_ERROR_FORMAT,
                        "`out_hidden_size` of `vision_config` (%lld) is not the language model's "
                        "`hidden_size` (%lld)",
                        (long long)out, (long long)hidden);
    lin_family_set(r, "VisionH", lin_vision_size(r, v, "hidden_size", 1152));
    lin_family_set(r, "VisionHeads", lin_vision_size(r, v, "num_heads", 16));
    lin_family_set(r, "VisionInner", lin_vision_size(r, v, "intermediate_size", 4304));
    lin_family_set(r, "VisionLayers", depth);
    lin_family_set(r, "VisionKind", lin_vision_activation(r, v, "gelu_pytorch_tanh"));
    lin_family_set(r, "Patch", patch);
    lin_family_set(r, "Frames", lin_vision_size(r, v, "temporal_patch_size", 2));
    lin_family_set(r, "Channels", lin_vision_size(r, v, "in_channels", 3));
    lin_family_set(r, "Side",
                   lin_vision_side(r, "num_position_embeddings",
                                   lin_vision_size(r, v, "num_position_embeddings", 2304)));
    set_grid(r, v, patch);
    bind_qwen_layers(r, "model.visual.", "mlp.linear_fc1", "mlp.linear_fc2");
    lin_family_bind(r, "tower.patch_bias", "model.visual.patch_embed.proj.bias");
    lin_family_bind(r, "tower.positions", "model.visual.pos_embed.weight");
    bind_merger(r, "tower.merger", "model.visual.merger");
    bind_merged_layers(r, v, depth);
}

void lin_family_qwen3_vl(family_reader *r)
{
    decoder_shape d = { .vocab = 151936,
                        .hidden = 4096,
                        .inner = 22016,
                        .layers = 32,
                        .heads = 32,
                        .kv_heads = 32,
                        .head_dim = 128,
                        .positions = 128000,
                        .eps = 1e-6,
                        .theta = 5000000 };
    lin_decoder_read(r, &d);
    r->program = "models/vlm.linnet";
    r->root = "QwenVl";
    lin_vision_set_decoder(r, &d);
    lin_vision_set_qwen_tower(r, d.hidden);
    lin_vision_bind_decoder(r, "model.language_model.", "lm_head.weight",
                            lin_decoder_is_tied(r, false));
    lin_vision_bind_plain_layers(r, "model.language_model.",
                                 lin_family_flag(r, r->text, "attention_bias", false), true);
}
