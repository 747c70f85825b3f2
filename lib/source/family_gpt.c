/* SPDX-License-Identifier: MIT */

/*
 * GPT-2 and what descends from its code: GPT-2 itself stores its projections [in, out] and has a
 * program of its own, GPTBigCode and GPT-J are programs of classic.linnet.
 */

#include "source/family_parts.h"

/* ---- GPT-2 ---- */

static const family_name gpt2_parts[] = {
    { "blocks[*].ln_1", "h.{i}.ln_1" },
    { "blocks[*].attn.qkv", "h.{i}.attn.c_attn" },
    { "blocks[*].attn.out", "h.{i}.attn.c_proj" },
    { "blocks[*].ln_2", "h.{i}.ln_2" },
    { "blocks[*].mlp.up", "h.{i}.mlp.c_fc" },
    { "blocks[*].mlp.down", "h.{i}.mlp.c_proj" },
    { "ln_f", "ln_f" },
};

/* The tanh form is gpt2.linnet's only activation. */
static void expect_gpt2(family_reader *r)
{
    static const char *const activations[] = { "gelu_new", "gelu_pytorch_tanh", "gelu_fast", NULL };
    const lin_json *c = r->text;
    lin_classic_expect(r);
    lin_family_expect_word(r, c, "activation_function", activations);
    lin_family_expect_flag(r, c, "reorder_and_upcast_attn", false);
    lin_family_expect_flag(r, c, "add_cross_attention", false);
    lin_family_expect_flag(r, c, "tie_word_embeddings", true);
    lin_family_note_epsilon(r, c, "layer_norm_epsilon", 1e-5);
    if (lin_family_flag(r, c, "scale_attn_by_inverse_layer_idx", false) ||
        !lin_family_flag(r, c, "scale_attn_weights", true))
        lin_family_assume(r, "the attention's scale changes no size");
}

void lin_family_gpt2(family_reader *r)
{
    const lin_json *c = r->text;
    const int64_t hidden = lin_family_size(r, c, "n_embd", 768);
    const int64_t positions = lin_family_size(r, c, "n_positions", 1024);
    const int64_t heads = lin_family_size(r, c, "n_head", 12);
    expect_gpt2(r);
    r->program = "models/gpt2.linnet";
    r->root = "Model";
    r->head_is_embedding = true;
    (void)lin_family_divide(r, "n_embd", hidden, "n_head", heads);
    lin_family_set(r, "Vocab", lin_family_size(r, c, "vocab_size", 50257));
    lin_family_set(r, "MaxPositions", positions);
    lin_family_set(r, "H", hidden);
    lin_family_set(r, "Heads", heads);
    lin_family_set(r, "Inner", lin_family_size(r, c, "n_inner", lin_family_times(r, 4, hidden)));
    lin_family_set(r, "Layers", lin_family_size(r, c, "n_layer", 12));
    lin_family_set_dtype(r, "T", lin_family_dtype(r, c));
    lin_family_set_cache(r, positions);
    lin_family_bind(r, "wte", "wte.weight");
    lin_family_bind(r, "wpe", "wpe.weight");
    lin_family_bind_parts(r, FAMILY_PARTS(gpt2_parts), "", true);
    lin_family_ignore(r, "h.*.attn.bias");
    lin_family_ignore(r, "h.*.attn.masked_bias");
    lin_family_ignore(r, "lm_head.weight");
}

/* ---- GPTBigCode ---- */

static const family_name bigcode_parts[] = {
    { "layers[*].attention_norm", "h.{i}.ln_1" },
    { "layers[*].attention.qkv", "h.{i}.attn.c_attn" },
    { "layers[*].attention.out", "h.{i}.attn.c_proj" },
    { "layers[*].mlp_norm", "h.{i}.ln_2" },
    { "layers[*].mlp.up", "h.{i}.mlp.c_fc" },
    { "layers[*].mlp.down", "h.{i}.mlp.c_proj" },
    { "norm", "ln_f" },
};

void lin_family_gpt_bigcode(family_reader *r)
{
    static const char table[] = "transformer.wte.weight";
    const lin_json *c = r->text;
    const bool multi_query = lin_family_flag(r, c, "multi_query", true);
    const int64_t hidden = lin_family_int(r, c, "n_embd", 768);
    const int64_t heads = lin_family_int(r, c, "n_head", 12);
    const classic_sizes s = {
        .vocab = lin_family_int(r, c, "vocab_size", 50257),
        .hidden = hidden,
        .heads = heads,
        .kv_heads = multi_query ? 1 : heads,
        .inner = lin_family_int(r, c, "n_inner", lin_family_times(r, 4, hidden)),
        .layers = lin_family_int(r, c, "n_layer", 12),
        .positions = lin_family_int(r, c, "n_positions", 1024),
    };
    lin_classic_set(r, &s);
    lin_family_expect_flag(r, c, "add_cross_attention", false);
    lin_classic_activation(r, "activation_function", "gelu_pytorch_tanh");
    lin_family_note_epsilon(r, c, "layer_norm_epsilon", 1e-5);
    lin_family_set(r, "MaxPositions", s.positions);
    lin_family_set(r, "ByGroup", !multi_query);
    lin_classic_words(r, "words", table, lin_classic_tied(r, true) ? table : "lm_head.weight");
    lin_family_bind(r, "positions", "transformer.wpe.weight");
    lin_family_bind_parts(r, FAMILY_PARTS(bigcode_parts), "transformer.", true);
    lin_family_ignore(r, "transformer.h.*.attn.bias");
}

/* ---- GPT-J ---- */

static const family_name gptj_attention[] = {
    { "layers[*].attention.qkv", "h.{i}.attn.q_proj" },
    { "layers[*].attention.key", "h.{i}.attn.k_proj" },
    { "layers[*].attention.value", "h.{i}.attn.v_proj" },
    { "layers[*].attention.out", "h.{i}.attn.out_proj" },
};
static const family_name gptj_others[] = {
    { "layers[*].attention_norm", "h.{i}.ln_1" },
    { "layers[*].mlp.up", "h.{i}.mlp.fc_in" },
    { "layers[*].mlp.down", "h.{i}.mlp.fc_out" },
    { "norm", "ln_f" },
};

void lin_family_gptj(family_reader *r)
{
    static const char table[] = "transformer.wte.weight";
    const lin_json *c = r->text;
    const int64_t hidden = lin_family_int(r, c, "n_embd", 4096);
    const int64_t heads = lin_family_int(r, c, "n_head", 16);
    const int64_t rotary = lin_family_int(r, c, "rotary_dim", 64);
    const classic_sizes s = {
        .vocab = lin_family_int(r, c, "vocab_size", 50400),
        .hidden = hidden,
        .heads = heads,
        .kv_heads = heads,
        .inner = lin_family_int(r, c, "n_inner", lin_family_times(r, 4, hidden)),
        .layers = lin_family_int(r, c, "n_layer", 28),
        .positions = lin_family_int(r, c, "n_positions", 2048),
    };
    if (rotary > lin_classic_set(r, &s) || rotary % 2 != 0)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`rotary_dim` (%lld) is no even part of a head",
                        (long long)rotary);
    lin_classic_activation(r, "activation_function", "gelu_new");
    lin_family_note_epsilon(r, c, "layer_norm_epsilon", 1e-5);
    lin_family_set(r, "Joint", 0);
    lin_family_set(r, "Rotary", rotary);
    lin_family_set(r, "Parallel", 1);
    lin_classic_words(r, "words", table, lin_classic_tied(r, false) ? table : "lm_head.weight");
    lin_family_bind(r, "words.head.bias", "lm_head.bias");
    lin_family_bind_parts(r, FAMILY_PARTS(gptj_attention), "transformer.", false);
    lin_family_bind_parts(r, FAMILY_PARTS(gptj_others), "transformer.", true);
    lin_family_ignore(r, "transformer.h.*.attn.bias");
    lin_family_ignore(r, "transformer.h.*.attn.masked_bias");
}

/* ---- GPT-Neo ---- */

static const family_name neo_attention[] = {
    { "layers[*].attention.qkv", "h.{i}.attn.attention.q_proj" },
    { "layers[*].attention.key", "h.{i}.attn.attention.k_proj" },
    { "layers[*].attention.value", "h.{i}.attn.attention.v_proj" },
};
static const family_name neo_others[] = {
    { "layers[*].attention.out", "h.{i}.attn.attention.out_proj" },
    { "layers[*].attention_norm", "h.{i}.ln_1" },
    { "layers[*].mlp_norm", "h.{i}.ln_2" },
    { "layers[*].mlp.up", "h.{i}.mlp.c_fc" },
    { "layers[*].mlp.down", "h.{i}.mlp.c_proj" },
    { "norm", "ln_f" },
};

/* Every other layer looks back 256 positions by its mask; its cache is whole. */
void lin_family_gpt_neo(family_reader *r)
{
    static const char table[] = "transformer.wte.weight";
    const lin_json *c = r->text;
    const int64_t hidden = lin_family_int(r, c, "hidden_size", 2048);
    const int64_t heads = lin_family_int(r, c, "num_heads", 16);
    const classic_sizes s = {
        .vocab = lin_family_int(r, c, "vocab_size", 50257),
        .hidden = hidden,
        .heads = heads,
        .kv_heads = heads,
        .inner = lin_family_int(r, c, "intermediate_size", lin_family_times(r, 4, hidden)),
        .layers = lin_family_int(r, c, "num_layers", 24),
        .positions = lin_family_int(r, c, "max_position_embeddings", 2048),
    };
    lin_classic_set(r, &s);
    lin_classic_activation(r, "activation_function", "gelu_new");
    lin_family_note_epsilon(r, c, "layer_norm_epsilon", 1e-5);
    lin_family_set(r, "Joint", 0);
    lin_family_set(r, "MaxPositions", s.positions);
    lin_classic_words(r, "words", table, lin_classic_tied(r, true) ? table : "lm_head.weight");
    lin_family_bind(r, "positions", "transformer.wpe.weight");
    lin_family_bind_parts(r, FAMILY_PARTS(neo_attention), "transformer.", false);
    lin_family_bind_parts(r, FAMILY_PARTS(neo_others), "transformer.", true);
    lin_family_ignore(r, "transformer.h.*.attn.attention.bias");
    lin_family_ignore(r, "transformer.h.*.attn.attention.masked_bias");
}
