/* SPDX-License-Identifier: MIT */

/*
 * CLIP: the tower for images, the one for texts, or both, with or without their projections. The
 * class in `architectures` chooses the root of clip.linnet.
 */

#include "source/family_parts.h"

#include <string.h>

static const family_name vision_ends[] = {
    { "class_token", "embeddings.class_embedding" },
    { "patch_weight", "embeddings.patch_embedding.weight" },
    { "positions", "embeddings.position_embedding.weight" },
};
static const family_name vision_norms[] = {
    { "pre_norm", "pre_layrnorm" },
    { "post_norm", "post_layernorm" },
};
static const family_name text_ends[] = {
    { "tokens", "embeddings.token_embedding.weight" },
    { "positions", "embeddings.position_embedding.weight" },
};
static const family_name text_norms[] = { { "norm", "final_layer_norm" } };
static const family_name layer_parts[] = {
    { "layers[*].attention_norm", "encoder.layers.{i}.layer_norm1" },
    { "layers[*].attention.q_proj", "encoder.layers.{i}.self_attn.q_proj" },
    { "layers[*].attention.k_proj", "encoder.layers.{i}.self_attn.k_proj" },
    { "layers[*].attention.v_proj", "encoder.layers.{i}.self_attn.v_proj" },
    { "layers[*].attention.out_proj", "encoder.layers.{i}.self_attn.out_proj" },
    { "layers[*].mlp_norm", "encoder.layers.{i}.layer_norm2" },
    { "layers[*].up", "encoder.layers.{i}.mlp.fc1" },
    { "layers[*].down", "encoder.layers.{i}.mlp.fc2" },
};

static void bind_tower(family_reader *r, const char *path, const char *prefix,
                       const family_name *ends, uint32_t end_count, family_parts norms)
{
    const family_parts lists[] = { norms, FAMILY_PARTS(layer_parts) };
    for (uint32_t i = 0; i < end_count; i++)
        lin_family_bind(r, lin_arena_format(r->arena, "%s.%s", path, ends[i].path),
                        lin_arena_format(r->arena, "%s%s", prefix, ends[i].tensor));
    for (uint32_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (uint32_t j = 0; j < lists[i].count; j++) {
            const family_name *name = &lists[i].names[j];
            const family_name moved = { lin_arena_format(r->arena, "%s.%s", path, name->path),
                                        name->tensor };
            lin_family_bind_parts(r, (family_parts){ &moved, 1 }, prefix, true);
        }
    }
    lin_family_ignore(r, lin_arena_format(r->arena, "%sembeddings.position_ids", prefix));
}

static void bind_vision(family_reader *r, const char *path)
{
    bind_tower(r, path, "vision_model.", vision_ends, ARRAY_LEN(vision_ends),
               FAMILY_PARTS(vision_norms));
}

static void bind_text(family_reader *r, const char *path)
{
    bind_tower(r, path, "text_model.", text_ends, ARRAY_LEN(text_ends), FAMILY_PARTS(text_norms));
}

/* `Kind` of std.vision.encoder's activation. */
static void set_activation(family_reader *r, const lin_json *c, const char *generic)
{
    static const struct {
        const char *word;
        int64_t kind;
    } kinds[] = {
        { "gelu_new", 1 }, { "gelu_pytorch_tanh", 1 }, { "quick_gelu", 2 }, { "gelu", 3 }
    };
    const char *word = lin_family_word(r, c, "hidden_act", "quick_gelu");
    for (uint32_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].word, word) == 0) {
            lin_family_set(r, generic, kinds[i].kind);
            return;
        }
    }
    lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                    "`hidden_act` `%s` is not expressed by the source of "
                    "`%s`",
                    word, r->model_type);
}

static int64_t divided_heads(family_reader *r, const lin_json *c, int64_t hidden, int64_t fallback)
{
    const int64_t heads = lin_family_size(r, c, "num_attention_heads", fallback);
    (void)lin_family_divide(r, "hidden_size", hidden, "num_attention_heads", heads);
    return heads;
}

/* `c` may be NULL: all by default. */
static void set_vision(family_reader *r, const lin_json *c)
{
    const int64_t hidden = lin_family_size(r, c, "hidden_size", 768);
    const int64_t patch = lin_family_size(r, c, "patch_size", 32);
    const int64_t side = lin_family_size(r, c, "image_size", 224) / patch;
    lin_family_set(r, "Patches", lin_family_times(r, side, side));
    lin_family_set(r, "Channels", lin_family_size(r, c, "num_channels", 3));
    lin_family_set(r, "Patch", patch);
    lin_family_set(r, "D", hidden);
    lin_family_set(r, "Heads", divided_heads(r, c, hidden, 12));
    lin_family_set(r, "Inner", lin_family_size(r, c, "intermediate_size", 3072));
    lin_family_set(r, "Layers", lin_family_size(r, c, "num_hidden_layers", 12));
    lin_family_note_epsilon(r, c, "layer_norm_eps", 1e-5);
    set_activation(r, c, "Kind");
}

/* The generics' names, which are longer beside those of a tower for images. */
typedef struct text_generics {
    const char *hidden, *heads, *inner, *layers, *kind;
} text_generics;
static const text_generics alone = { "D", "Heads", "Inner", "Layers", "Kind" };
static const text_generics beside = { "TextD", "TextHeads", "TextInner", "TextLayers", "TextKind" };

static void set_text(family_reader *r, const lin_json *c, const text_generics *names)
{
    const int64_t hidden = lin_family_size(r, c, "hidden_size", 512);
    lin_family_set(r, "Vocab", lin_family_size(r, c, "vocab_size", 49408));
    lin_family_set(r, "MaxPositions", lin_family_size(r, c, "max_position_embeddings", 77));
    lin_family_set(r, names->hidden, hidden);
    lin_family_set(r, names->heads, divided_heads(r, c, hidden, 8));
    lin_family_set(r, names->inner, lin_family_size(r, c, "intermediate_size", 2048));
    lin_family_set(r, names->layers, lin_family_size(r, c, "num_hidden_layers", 12));
    lin_family_note_epsilon(r, c, "layer_norm_eps", 1e-5);
    set_activation(r, c, names->kind);
}

static void start(family_reader *r, const lin_json *c)
{
    r->program = "models/clip.linnet";
    lin_family_set_dtype(r, "T", lin_family_dtype(r, c));
}

/* Whether the class has a projection; refuses other classes. */
static bool is_projected(family_reader *r)
{
    if (lin_family_ends_with(r->architecture, "WithProjection"))
        return true;
    if (r->architecture[0] != '\0' && !lin_family_ends_with(r->architecture, "Model"))
        lin_family_refuse_head(r);
    return false;
}

/* The settings of one tower, in a file of its own or in one for both. */
static const lin_json *tower_settings(family_reader *r, const char *key)
{
    const lin_json *nested = lin_family_object(r, r->config, key);
    return nested != NULL ? nested : r->config;
}

void lin_family_clip_vision(family_reader *r)
{
    const lin_json *c = tower_settings(r, "vision_config");
    start(r, c);
    set_vision(r, c);
    bind_vision(r, "tower");
    r->root = "Vision";
    if (!is_projected(r))
        return;
    r->root = "ProjectedVision";
    lin_family_set(r, "Projection", lin_family_size(r, c, "projection_dim", 512));
    lin_family_bind(r, "projection.weight", "visual_projection.weight");
}

void lin_family_clip_text(family_reader *r)
{
    const lin_json *c = tower_settings(r, "text_config");
    start(r, c);
    set_text(r, c, &alone);
    bind_text(r, "tower");
    r->root = "Text";
    if (!is_projected(r))
        return;
    r->root = "ProjectedText";
    lin_family_set(r, "Projection", lin_family_size(r, c, "projection_dim", 512));
    lin_family_bind(r, "projection.weight", "text_projection.weight");
}

/* Both towers; a config of this type may be that of one of them. */
void lin_family_clip(family_reader *r)
{
    if (strncmp(r->architecture, "CLIPVision", strlen("CLIPVision")) == 0) {
        lin_family_clip_vision(r);
        return;
    }
    if (strncmp(r->architecture, "CLIPText", strlen("CLIPText")) == 0) {
        lin_family_clip_text(r);
        return;
    }
    if (r->architecture[0] != '\0' && !lin_family_ends_with(r->architecture, "Model"))
        lin_family_refuse_head(r);
    start(r, r->config);
    r->root = "Model";
    set_vision(r, lin_family_object(r, r->config, "vision_config"));
    set_text(r, lin_family_object(r, r->config, "text_config"), &beside);
    lin_family_set(r, "Projection", lin_family_size(r, r->config, "projection_dim", 512));
    bind_vision(r, "vision");
    bind_text(r, "text");
    lin_family_bind(r, "vision_projection.weight", "visual_projection.weight");
    lin_family_bind(r, "text_projection.weight", "text_projection.weight");
    lin_family_bind(r, "logit_scale", "logit_scale");
}
