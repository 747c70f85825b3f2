/* SPDX-License-Identifier: MIT */

/*
 * Decoders between GPT-2 and Llama as programs of classic.linnet: layer norms, an MLP without a
 * gate, positions that are learned, turned or biased. A family is its keys, its defaults, its
 * tensor names and which of them have biases. A few dozen look-ups in one object each.
 */

#include "source/family_parts.h"

#include <string.h>

static void note_alibi(family_reader *r)
{
    lin_family_assume(r, "alibi's biases are part of the attention kernel and take no memory");
}

/* ---- GPT-NeoX ---- */

static const family_name neox_norms[] = {
    { "layers[*].attention_norm", "layers.{i}.input_layernorm" },
    { "layers[*].mlp_norm", "layers.{i}.post_attention_layernorm" },
    { "norm", "final_layer_norm" },
};
static const family_name neox_attention[] = {
    { "layers[*].attention.qkv", "layers.{i}.attention.query_key_value" },
    { "layers[*].attention.out", "layers.{i}.attention.dense" },
};
static const family_name neox_mlp[] = {
    { "layers[*].mlp.up", "layers.{i}.mlp.dense_h_to_4h" },
    { "layers[*].mlp.down", "layers.{i}.mlp.dense_4h_to_h" },
};

/* How much of a head is turned: the product is cut, as the library does. */
static int64_t rotary_width(family_reader *r, int64_t head_width, double share)
{
    if (share < 0 || share > 1)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "the turned part of a head is no share of it");
    const int64_t width = (int64_t)((double)head_width * share);
    if (width % 2 != 0)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED, "an odd part of a head is turned (%lld)",
                        (long long)width);
    return width;
}

void lin_family_gpt_neox(family_reader *r)
{
    const lin_json *c = r->text;
    const lin_json *rope = lin_family_object(r, c, "rope_parameters");
    const int64_t hidden = lin_family_int(r, c, "hidden_size", 6144);
    const int64_t heads = lin_family_int(r, c, "num_attention_heads", 64);
    const double share = lin_family_real(r, c, "rotary_pct",
                                         lin_family_real(r, rope, "partial_rotary_factor", 0.25));
    const classic_sizes s = {
        .vocab = lin_family_int(r, c, "vocab_size", 50432),
        .hidden = hidden,
        .heads = heads,
        .kv_heads = heads,
        .inner = lin_family_int(r, c, "intermediate_size", 24576),
        .layers = lin_family_int(r, c, "num_hidden_layers", 44),
        .positions = lin_family_int(r, c, "max_position_embeddings", 2048),
    };
    lin_family_set(r, "Rotary", rotary_width(r, lin_classic_set(r, &s), share));
    lin_family_set(r, "ByGroup", 1);
    lin_family_set(r, "Parallel", lin_family_flag(r, c, "use_parallel_residual", true));
    lin_classic_activation(r, "hidden_act", "gelu");
    lin_family_note_epsilon(r, c, "layer_norm_eps", 1e-5);
    lin_family_note_rope(r, c);
    lin_classic_words(r, "words", "gpt_neox.embed_in.weight",
                      lin_classic_tied(r, false) ? "gpt_neox.embed_in.weight" : "embed_out.weight");
    lin_family_bind_parts(r, FAMILY_PARTS(neox_norms), "gpt_neox.", true);
    lin_family_bind_parts(r, FAMILY_PARTS(neox_attention), "gpt_neox.",
                          lin_family_flag(r, c, "attention_bias", true));
    lin_family_bind_parts(r, FAMILY_PARTS(neox_mlp), "gpt_neox.", true);
    lin_family_ignore(r, "gpt_neox.layers.*.attention.bias");
    lin_family_ignore(r, "gpt_neox.layers.*.attention.masked_bias");
    lin_family_ignore(r, "gpt_neox.layers.*.attention.rotary_emb.inv_freq");
}

/* ---- OPT ---- */

static const family_name opt_norms[] = {
    { "layers[*].attention_norm", "layers.{i}.self_attn_layer_norm" },
    { "layers[*].mlp_norm", "layers.{i}.final_layer_norm" },
};
static const family_name opt_final[] = { { "norm", "final_layer_norm" } };
static const family_name opt_linears[] = {
    { "layers[*].attention.qkv", "layers.{i}.self_attn.q_proj" },
    { "layers[*].attention.key", "layers.{i}.self_attn.k_proj" },
    { "layers[*].attention.value", "layers.{i}.self_attn.v_proj" },
    { "layers[*].attention.out", "layers.{i}.self_attn.out_proj" },
    { "layers[*].mlp.up", "layers.{i}.fc1" },
    { "layers[*].mlp.down", "layers.{i}.fc2" },
};
static const family_name opt_adapters[] = {
    { "narrow.into", "project_in" },
    { "narrow.out", "project_out" },
};

/* Embeddings narrower than the layers go through two more projections. */
static void bind_opt_words(family_reader *r, int64_t hidden)
{
    static const char table[] = "model.decoder.embed_tokens.weight";
    const int64_t width = lin_family_size(r, r->text, "word_embed_proj_dim", hidden);
    const char *head = lin_classic_tied(r, true) ? table : "lm_head.weight";
    if (width == hidden) {
        lin_classic_words(r, "words", table, head);
        return;
    }
    lin_family_set(r, "Narrow", width);
    lin_classic_words(r, "narrow.words", table, head);
    lin_family_bind_parts(r, FAMILY_PARTS(opt_adapters), "model.decoder.", false);
}

void lin_family_opt(family_reader *r)
{
    enum { SKIPPED = 2 }; /* rows of the position table before the first token's */
    static const char prefix[] = "model.decoder.";
    const lin_json *c = r->text;
    const int64_t heads = lin_family_int(r, c, "num_attention_heads", 12);
    const bool norm_first = lin_family_flag(r, c, "do_layer_norm_before", true);
    const classic_sizes s = {
        .vocab = lin_family_int(r, c, "vocab_size", 50272),
        .hidden = lin_family_int(r, c, "hidden_size", 768),
        .heads = heads,
        .kv_heads = heads,
        .inner = lin_family_int(r, c, "ffn_dim", 3072),
        .layers = lin_family_int(r, c, "num_hidden_layers", 12),
        .positions = lin_family_int(r, c, "max_position_embeddings", 2048),
    };
    lin_classic_set(r, &s);
    lin_family_expect_flag(r, c, "layer_norm_elementwise_affine", true);
    lin_classic_activation(r, "activation_function", "relu");
    lin_family_set(r, "Joint", 0);
    lin_family_set(r, "PostNorm", !norm_first);
    lin_family_set(r, "MaxPositions", lin_family_plus(r, s.positions, SKIPPED));
    lin_family_set(r, "SkippedPositions", SKIPPED);
    bind_opt_words(r, s.hidden);
    lin_family_bind(r, "positions", "model.decoder.embed_positions.weight");
    lin_family_bind_parts(r, FAMILY_PARTS(opt_norms), prefix, true);
    lin_family_bind_parts(r, FAMILY_PARTS(opt_linears), prefix,
                          lin_family_flag(r, c, "enable_bias", true));
    if (norm_first && !lin_family_flag(r, c, "_remove_final_layer_norm", false))
        lin_family_bind_parts(r, FAMILY_PARTS(opt_final), prefix, true);
}

/* ---- Falcon ---- */

static const family_name falcon_linears[] = {
    { "layers[*].attention.qkv", "h.{i}.self_attention.query_key_value" },
    { "layers[*].attention.out", "h.{i}.self_attention.dense" },
    { "layers[*].mlp.up", "h.{i}.mlp.dense_h_to_4h" },
    { "layers[*].mlp.down", "h.{i}.mlp.dense_4h_to_h" },
};
static const family_name falcon_two_norms[] = {
    { "layers[*].attention_norm", "h.{i}.ln_attn" },
    { "layers[*].mlp_norm", "h.{i}.ln_mlp" },
};
static const family_name falcon_norms[] = {
    { "layers[*].attention_norm", "h.{i}.input_layernorm" },
    { "layers[*].mlp_norm", "h.{i}.post_attention_layernorm" },
};
static const family_name falcon_final[] = { { "norm", "ln_f" } };

/* One norm or two side by side, or two one after the other. */
static void bind_falcon_norms(family_reader *r, bool is_new)
{
    const lin_json *c = r->text;
    const bool parallel = lin_family_flag(r, c, "parallel_attn", true);
    const int64_t count = lin_family_int(r, c, "num_ln_in_parallel_attn", is_new ? 2 : 1);
    lin_family_set(r, "Parallel", parallel);
    if (parallel && count == 2) {
        lin_family_bind_parts(r, FAMILY_PARTS(falcon_two_norms), "transformer.", true);
        return;
    }
    family_parts names = FAMILY_PARTS(falcon_norms);
    if (parallel)
        names.count = 1;
    lin_family_bind_parts(r, names, "transformer.", true);
}

static int64_t falcon_kv_heads(family_reader *r, int64_t heads, bool is_new)
{
    static const char *const keys[] = { "num_kv_heads", "n_head_kv", NULL };
    if (!is_new && lin_family_flag(r, r->text, "multi_query", true))
        return 1;
    return lin_family_int_of(r, r->text, keys, heads);
}

void lin_family_falcon(family_reader *r)
{
    static const char *const layers[] = { "num_hidden_layers", "n_layer", NULL };
    static const char *const heads_keys[] = { "num_attention_heads", "n_head", NULL };
    static const char *const hidden_keys[] = { "n_embed", "hidden_size", NULL };
    static const char table[] = "transformer.word_embeddings.weight";
    const lin_json *c = r->text;
    /* The first 40B configs say it by their key heads alone. */
    const bool is_new =
        lin_family_flag(r, c, "new_decoder_architecture", lin_family_has(c, "n_head_kv"));
    const int64_t hidden = lin_family_int_of(r, c, hidden_keys, 4544);
    const int64_t heads = lin_family_int_of(r, c, heads_keys, 71);
    const classic_sizes s = {
        .vocab = lin_family_int(r, c, "vocab_size", 65024),
        .hidden = hidden,
        .heads = heads,
        .kv_heads = falcon_kv_heads(r, heads, is_new),
        .inner = lin_family_int(r, c, "ffn_hidden_size", lin_family_times(r, 4, hidden)),
        .layers = lin_family_int_of(r, c, layers, 32),
        .positions = lin_family_int(r, c, "max_position_embeddings", 2048),
    };
    const int64_t width = lin_classic_set(r, &s);
    if (lin_family_flag(r, c, "alibi", false))
        note_alibi(r);
    else
        lin_family_set(r, "Rotary", width);
    lin_family_set(r, "ByGroup", is_new || !lin_family_flag(r, c, "multi_query", true));
    lin_family_expect_flag(r, c, "apply_residual_connection_post_layernorm", false);
    lin_classic_activation(r, "activation", "gelu");
    lin_family_note_epsilon(r, c, "layer_norm_epsilon", 1e-5);
    lin_family_note_rope(r, c);
    lin_classic_words(r, "words", table, lin_classic_tied(r, true) ? table : "lm_head.weight");
    bind_falcon_norms(r, is_new);
    lin_family_bind_parts(r, FAMILY_PARTS(falcon_linears), "transformer.",
                          lin_family_flag(r, c, "bias", false));
    lin_family_bind_parts(r, FAMILY_PARTS(falcon_final), "transformer.", true);
    lin_family_ignore(r, "lm_head.weight"); /* stored again where it is tied */
}

/* ---- BLOOM ---- */

static const family_name bloom_parts[] = {
    { "embedding_norm", "word_embeddings_layernorm" },
    { "layers[*].attention_norm", "h.{i}.input_layernorm" },
    { "layers[*].attention.qkv", "h.{i}.self_attention.query_key_value" },
    { "layers[*].attention.out", "h.{i}.self_attention.dense" },
    { "layers[*].mlp_norm", "h.{i}.post_attention_layernorm" },
    { "layers[*].mlp.up", "h.{i}.mlp.dense_h_to_4h" },
    { "layers[*].mlp.down", "h.{i}.mlp.dense_4h_to_h" },
    { "norm", "ln_f" },
};

void lin_family_bloom(family_reader *r)
{
    static const char *const layers[] = { "num_hidden_layers", "n_layer", NULL };
    static const char *const heads_keys[] = { "num_attention_heads", "n_head", NULL };
    static const char *const hidden_keys[] = { "n_embed", "hidden_size", NULL };
    const lin_json *c = r->text;
    const int64_t hidden = lin_family_int_of(r, c, hidden_keys, 64);
    const int64_t heads = lin_family_int_of(r, c, heads_keys, 8);
    const classic_sizes s = {
        .vocab = lin_family_int(r, c, "vocab_size", 250880),
        .hidden = hidden,
        .heads = heads,
        .kv_heads = heads,
        .inner = lin_family_times(r, 4, hidden),
        .layers = lin_family_int_of(r, c, layers, 2),
        /* Alibi has no longest sequence; the models were trained with this one. */
        .positions = lin_family_int(r, c, "seq_length", 2048),
    };
    lin_classic_set(r, &s);
    lin_family_expect_flag(r, c, "apply_residual_connection_post_layernorm", false);
    lin_family_set(r, "Tanh", 1);
    lin_family_set(r, "ByGroup", 1);
    note_alibi(r);
    lin_family_note_epsilon(r, c, "layer_norm_epsilon", 1e-5);
    lin_classic_words(r, "words", "word_embeddings.weight",
                      lin_classic_tied(r, true) ? "word_embeddings.weight" : "lm_head.weight");
    lin_family_bind_parts(r, FAMILY_PARTS(bloom_parts), "", true);
}

/* ---- MPT ---- */

static const family_name mpt_parts[] = {
    { "layers[*].attention_norm", "blocks.{i}.norm_1" },
    { "layers[*].attention.qkv", "blocks.{i}.attn.Wqkv" },
    { "layers[*].attention.out", "blocks.{i}.attn.out_proj" },
    { "layers[*].mlp_norm", "blocks.{i}.norm_2" },
    { "layers[*].mlp.up", "blocks.{i}.ffn.up_proj" },
    { "layers[*].mlp.down", "blocks.{i}.ffn.down_proj" },
    { "norm", "norm_f" },
};

static int64_t mpt_kv_heads(family_reader *r, const lin_json *attention, int64_t heads)
{
    const char *kind = lin_family_word(r, attention, "attn_type", "multihead_attention");
    if (strcmp(kind, "multiquery_attention") == 0)
        return 1;
    if (strcmp(kind, "grouped_query_attention") == 0)
        return lin_family_need(r, attention, "kv_n_heads");
    if (strcmp(kind, "multihead_attention") != 0)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED, "`attn_type` `%s`", kind);
    return heads;
}

/* Alibi unless the file says otherwise in the library's own class; the authors' class has it off,
 * and learned positions on. */
static void read_mpt_positions(family_reader *r, const lin_json *attention, int64_t positions)
{
    const bool theirs = strcmp(r->architecture, "MPTForCausalLM") == 0;
    lin_family_expect_flag(r, attention, "rope", false);
    if (lin_family_flag(r, attention, "alibi", !theirs)) {
        note_alibi(r);
        return;
    }
    if (!theirs || !lin_family_flag(r, r->text, "learned_pos_emb", true))
        return;
    lin_family_set(r, "MaxPositions", positions);
    lin_family_bind(r, "positions", "transformer.wpe.weight");
}

void lin_family_mpt(family_reader *r)
{
    static const char *const norms[] = { "low_precision_layernorm", "layernorm", NULL };
    static const char table[] = "transformer.wte.weight";
    const lin_json *c = r->text;
    const lin_json *attention = lin_family_object(r, c, "attn_config");
    const int64_t hidden = lin_family_int(r, c, "d_model", 2048);
    const int64_t heads = lin_family_int(r, c, "n_heads", 16);
    const classic_sizes s = {
        .vocab = lin_family_int(r, c, "vocab_size", 50368),
        .hidden = hidden,
        .heads = heads,
        .kv_heads = mpt_kv_heads(r, attention, heads),
        .inner = lin_family_times(r, lin_family_int(r, c, "expansion_ratio", 4), hidden),
        .layers = lin_family_int(r, c, "n_layers", 24),
        .positions = lin_family_int(r, c, "max_seq_len", 2048),
    };
    lin_classic_set(r, &s);
    lin_family_expect_word(r, c, "norm_type", norms);
    lin_family_expect_flag(r, attention, "qk_ln", false);
    read_mpt_positions(r, attention, s.positions);
    lin_classic_words(r, "words", table, lin_classic_tied(r, true) ? table : "lm_head.weight");
    lin_family_bind_parts(r, FAMILY_PARTS(mpt_parts), "transformer.",
                          !lin_family_flag(r, c, "no_bias", true));
}

/* ---- Phi ---- */

static const family_name phi_parts[] = {
    { "layers[*].attention_norm", "layers.{i}.input_layernorm" },
    { "layers[*].attention.qkv", "layers.{i}.self_attn.q_proj" },
    { "layers[*].attention.key", "layers.{i}.self_attn.k_proj" },
    { "layers[*].attention.value", "layers.{i}.self_attn.v_proj" },
    { "layers[*].attention.out", "layers.{i}.self_attn.dense" },
    { "layers[*].mlp.up", "layers.{i}.mlp.fc1" },
    { "layers[*].mlp.down", "layers.{i}.mlp.fc2" },
    { "norm", "final_layernorm" },
};

void lin_family_phi(family_reader *r)
{
    static const char table[] = "model.embed_tokens.weight";
    const lin_json *c = r->text;
    const lin_json *rope = lin_family_object(r, c, "rope_parameters");
    const int64_t heads = lin_family_int(r, c, "num_attention_heads", 32);
    const double share = lin_family_real(r, c, "partial_rotary_factor",
                                         lin_family_real(r, rope, "partial_rotary_factor", 0.5));
    const classic_sizes s = {
        .vocab = lin_family_int(r, c, "vocab_size", 51200),
        .hidden = lin_family_int(r, c, "hidden_size", 2048),
        .heads = heads,
        .kv_heads = lin_family_int(r, c, "num_key_value_heads", heads),
        .inner = lin_family_int(r, c, "intermediate_size", 8192),
        .layers = lin_family_int(r, c, "num_hidden_layers", 24),
        .positions = lin_family_int(r, c, "max_position_embeddings", 2048),
    };
    lin_family_set(r, "Rotary", rotary_width(r, lin_classic_set(r, &s), share));
    lin_family_expect_flag(r, c, "qk_layernorm", false);
    lin_family_set(r, "Joint", 0);
    lin_family_set(r, "Parallel", 1);
    lin_classic_activation(r, "hidden_act", "gelu_new");
    lin_family_note_epsilon(r, c, "layer_norm_eps", 1e-5);
    lin_family_note_rope(r, c);
    lin_classic_words(r, "words", table, lin_classic_tied(r, false) ? table : "lm_head.weight");
    lin_family_bind(r, "words.head.bias", "lm_head.bias");
    lin_family_bind_parts(r, FAMILY_PARTS(phi_parts), "model.", true);
}
