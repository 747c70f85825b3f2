/* SPDX-License-Identifier: MIT */

/*
 * Encoder–decoders: T5 and mT5 (t5.linnet), Whisper (whisper.linnet). The decoder's own caches are
 * as long as what is decoded, those of the encoder's states as long as what was encoded.
 */

#include "source/family_parts.h"

#include <string.h>

/* Parts at paths under `path_prefix` that have only weights, or biases too. */
static void bind_under(family_reader *r, family_parts parts, const char *path_prefix,
                       const char *prefix, bool has_bias)
{
    for (uint32_t i = 0; i < parts.count; i++) {
        const family_name moved = {
            lin_arena_format(r->arena, "%s%s", path_prefix, parts.names[i].path),
            parts.names[i].tensor,
        };
        lin_family_bind_parts(r, (family_parts){ &moved, 1 }, prefix, has_bias);
    }
}

/* ---- T5 ---- */

static const family_name t5_encoder[] = {
    { "layers[*].attention_norm", "block.{i}.layer.0.layer_norm" },
    { "layers[*].attention.q", "block.{i}.layer.0.SelfAttention.q" },
    { "layers[*].attention.k", "block.{i}.layer.0.SelfAttention.k" },
    { "layers[*].attention.v", "block.{i}.layer.0.SelfAttention.v" },
    { "layers[*].attention.o", "block.{i}.layer.0.SelfAttention.o" },
    { "norm", "final_layer_norm" },
};
static const family_name t5_cross[] = {
    { "layers[*].cross_norm", "block.{i}.layer.1.layer_norm" },
    { "layers[*].cross.q", "block.{i}.layer.1.EncDecAttention.q" },
    { "layers[*].cross.k", "block.{i}.layer.1.EncDecAttention.k" },
    { "layers[*].cross.v", "block.{i}.layer.1.EncDecAttention.v" },
    { "layers[*].cross.o", "block.{i}.layer.1.EncDecAttention.o" },
};

typedef struct t5_defaults {
    int64_t vocab, inner, layers, heads;
    const char *feed_forward;
    bool tied;
} t5_defaults;

/* "relu", "gated-gelu": whether there is a gate, and the activation. */
static bool read_feed_forward(family_reader *r, const char *fallback)
{
    static const struct {
        const char *word, *generic;
    } kinds[] = { { "relu", "Relu" },
                  { "gelu", NULL },
                  { "gelu_new", NULL },
                  { "silu", "Silu" },
                  { "swish", "Silu" } };
    const char *word = lin_family_word(r, r->text, "feed_forward_proj", fallback);
    const bool gated = strncmp(word, "gated-", strlen("gated-")) == 0;
    const char *activation = gated ? word + strlen("gated-") : word;
    for (uint32_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].word, activation) != 0)
            continue;
        if (kinds[i].generic != NULL)
            lin_family_set(r, kinds[i].generic, 1);
        return gated;
    }
    lin_family_fail(r, LINNET_ERROR_UNSUPPORTED, "`feed_forward_proj` `%s`", word);
}

/* The feed-forward part is a block's last. */
static void bind_feed_forward(family_reader *r, const char *stack, int number, bool gated)
{
    static const family_name plain[] = { { "up", "wi" }, { "down", "wo" } };
    static const family_name with_gate[] = { { "gate", "wi_0" },
                                             { "up", "wi_1" },
                                             { "down", "wo" } };
    const family_parts parts = gated ? FAMILY_PARTS(with_gate) : FAMILY_PARTS(plain);
    const char *layer = lin_arena_format(r->arena, "%s.block.{i}.layer.%d.", stack, number);
    const family_name norm = { "mlp_norm", "layer_norm" };
    const char *path = lin_arena_format(r->arena, "%s.layers[*].", stack);
    bind_under(r, (family_parts){ &norm, 1 }, path, layer, false);
    bind_under(r, parts, lin_arena_format(r->arena, "%smlp.", path),
               lin_arena_format(r->arena, "%sDenseReluDense.", layer), false);
}

static void bind_t5_encoder(family_reader *r, bool gated)
{
    lin_family_bind(r, "words", "shared.weight");
    lin_family_ignore(r, "encoder.embed_tokens.weight");
    lin_family_bind(r, "encoder.bias_table",
                    "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
    bind_under(r, FAMILY_PARTS(t5_encoder), "encoder.", "encoder.", false);
    bind_feed_forward(r, "encoder", 1, gated);
}

static void bind_t5_decoder(family_reader *r, bool gated)
{
    lin_family_bind(r, "decoder.bias_table",
                    "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
    bind_under(r, FAMILY_PARTS(t5_encoder), "decoder.", "decoder.", false);
    bind_under(r, FAMILY_PARTS(t5_cross), "decoder.", "decoder.", false);
    bind_feed_forward(r, "decoder", 2, gated);
    lin_family_ignore(r, "decoder.embed_tokens.weight");
    /* Early checkpoints have one that nothing reads. */
    lin_family_ignore(r, "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight");
}

static void set_t5_sizes(family_reader *r, const t5_defaults *d)
{
    const lin_json *c = r->text;
    r->program = "models/t5.linnet";
    lin_family_set(r, "Vocab", lin_family_size(r, c, "vocab_size", d->vocab));
    lin_family_set(r, "D", lin_family_size(r, c, "d_model", 512));
    lin_family_set(r, "Heads", lin_family_size(r, c, "num_heads", d->heads));
    lin_family_set(r, "Width", lin_family_size(r, c, "d_kv", 64));
    lin_family_set(r, "Inner", lin_family_size(r, c, "d_ff", d->inner));
    lin_family_set(r, "Layers", lin_family_size(r, c, "num_layers", d->layers));
    lin_family_set(r, "Buckets", lin_family_size(r, c, "relative_attention_num_buckets", 32));
    lin_family_set(r, "Far", lin_family_size(r, c, "relative_attention_max_distance", 128));
    lin_family_set_dtype(r, "T", lin_family_dtype(r, c));
    lin_family_note_epsilon(r, c, "layer_norm_epsilon", 1e-6);
}

static void read_t5(family_reader *r, const t5_defaults *d)
{
    /* What T5 was trained on; its distances have no end. */
    const int64_t positions = lin_family_size(r, r->text, "n_positions", 512);
    const char *class = r->architecture;
    set_t5_sizes(r, d);
    const bool gated = read_feed_forward(r, d->feed_forward);
    bind_t5_encoder(r, gated);
    if (lin_family_ends_with(class, "EncoderModel")) {
        r->root = "Encoder";
        return;
    }
    if (class[0] != '\0' && !lin_family_ends_with(class, "ForConditionalGeneration") &&
        !lin_family_ends_with(class, "WithLMHeadModel"))
        lin_family_refuse_head(r);
    const bool tied = lin_family_flag(r, r->text, "tie_word_embeddings", d->tied);
    r->root = "Model";
    lin_family_set(r, "DecoderLayers",
                   lin_family_size(r, r->text, "num_decoder_layers",
                                   lin_family_size(r, r->text, "num_layers", d->layers)));
    lin_family_set_cache(r, positions);
    lin_family_set(r, "Seq", positions);
    lin_family_set(r, "Tied", tied);
    bind_t5_decoder(r, gated);
    lin_family_bind(r, "lm_head.weight", tied ? "shared.weight" : "lm_head.weight");
    if (tied)
        lin_family_ignore(r, "lm_head.weight");
    lin_family_assume(r, "what is encoded is as long as the context, or %lld positions",
                      (long long)positions);
}

void lin_family_t5(family_reader *r)
{
    static const t5_defaults t5 = { 32128, 2048, 6, 8, "relu", true };
    read_t5(r, &t5);
}

void lin_family_mt5(family_reader *r)
{
    static const t5_defaults mt5 = { 250112, 1024, 8, 6, "gated-gelu", false };
    read_t5(r, &mt5);
}

/* ---- Whisper ---- */

static const family_name whisper_ends[] = {
    { "encoder.conv1_weight", "encoder.conv1.weight" },
    { "encoder.conv1_bias", "encoder.conv1.bias" },
    { "encoder.conv2_weight", "encoder.conv2.weight" },
    { "encoder.conv2_bias", "encoder.conv2.bias" },
    { "encoder.positions", "encoder.embed_positions.weight" },
    { "words", "decoder.embed_tokens.weight" },
    { "positions", "decoder.embed_positions.weight" },
};
static const family_name whisper_keys[] = {
    { "encoder.layers[*].attention.k_proj", "encoder.layers.{i}.self_attn.k_proj" },
    { "layers[*].attention.k_proj", "decoder.layers.{i}.self_attn.k_proj" },
    { "layers[*].cross.k_proj", "decoder.layers.{i}.encoder_attn.k_proj" },
};
static const family_name whisper_layer[] = {
    { "layers[*].attention_norm", "layers.{i}.self_attn_layer_norm" },
    { "layers[*].attention.q_proj", "layers.{i}.self_attn.q_proj" },
    { "layers[*].attention.v_proj", "layers.{i}.self_attn.v_proj" },
    { "layers[*].attention.out_proj", "layers.{i}.self_attn.out_proj" },
    { "layers[*].mlp_norm", "layers.{i}.final_layer_norm" },
    { "layers[*].up", "layers.{i}.fc1" },
    { "layers[*].down", "layers.{i}.fc2" },
    { "norm", "layer_norm" },
};
static const family_name whisper_cross[] = {
    { "layers[*].cross_norm", "decoder.layers.{i}.encoder_attn_layer_norm" },
    { "layers[*].cross.q_proj", "decoder.layers.{i}.encoder_attn.q_proj" },
    { "layers[*].cross.v_proj", "decoder.layers.{i}.encoder_attn.v_proj" },
    { "layers[*].cross.out_proj", "decoder.layers.{i}.encoder_attn.out_proj" },
};

static void bind_whisper(family_reader *r)
{
    static const char table[] = "model.decoder.embed_tokens.weight";
    lin_family_bind_all(r, "model.", whisper_ends, ARRAY_LEN(whisper_ends));
    lin_family_bind_parts(r, FAMILY_PARTS(whisper_keys), "model.", false);
    lin_family_bind_parts(r, FAMILY_PARTS(whisper_cross), "model.", true);
    bind_under(r, FAMILY_PARTS(whisper_layer), "encoder.", "model.encoder.", true);
    bind_under(r, FAMILY_PARTS(whisper_layer), "", "model.decoder.", true);
    const bool tied = lin_family_flag(r, r->text, "tie_word_embeddings", true);
    lin_family_bind(r, "head.weight", tied ? table : "proj_out.weight");
    if (tied)
        lin_family_ignore(r, "proj_out.weight");
}

/* Sizes of one side. */
static void set_whisper_side(family_reader *r, int64_t hidden, const char *layers_key,
                             const char *heads_key, const char *inner_key, const char *generics)
{
    const lin_json *c = r->text;
    const int64_t heads = lin_family_size(r, c, heads_key, 6);
    (void)lin_family_divide(r, "d_model", hidden, heads_key, heads);
    lin_family_set(r, lin_arena_format(r->arena, "%sHeads", generics), heads);
    lin_family_set(r, lin_arena_format(r->arena, "%sInner", generics),
                   lin_family_size(r, c, inner_key, 1536));
    lin_family_set(r, lin_arena_format(r->arena, "%sLayers", generics),
                   lin_family_size(r, c, layers_key, 4));
}

void lin_family_whisper(family_reader *r)
{
    static const char *const activations[] = { "gelu", NULL };
    const lin_json *c = r->text;
    const char *class = r->architecture;
    const int64_t hidden = lin_family_size(r, c, "d_model", 384);
    const int64_t positions = lin_family_size(r, c, "max_target_positions", 448);
    if (class[0] != '\0' && !lin_family_ends_with(class, "ForConditionalGeneration"))
        lin_family_refuse_head(r);
    r->program = "models/whisper.linnet";
    r->root = "Model";
    lin_family_expect_word(r, c, "activation_function", activations);
    lin_family_set(r, "Vocab", lin_family_size(r, c, "vocab_size", 51865));
    lin_family_set(r, "Mels", lin_family_size(r, c, "num_mel_bins", 80));
    lin_family_set(r, "Source", lin_family_size(r, c, "max_source_positions", 1500));
    lin_family_set(r, "MaxPositions", positions);
    lin_family_set(r, "D", hidden);
    set_whisper_side(r, hidden, "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim", "");
    set_whisper_side(r, hidden, "decoder_layers", "decoder_attention_heads", "decoder_ffn_dim",
                     "Decoder");
    lin_family_set_cache(r, positions);
    lin_family_set_dtype(r, "T", lin_family_dtype(r, c));
    bind_whisper(r);
}
