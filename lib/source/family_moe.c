/* SPDX-License-Identifier: MIT */

/*
 * Decoders with grouped queries and mixtures of experts, as models/moe.linnet has them. The
 * features of a family are a table row of generics; its tensors are the tables of names below, each
 * bound once for the plain first layers, the sliding ones and the full ones.
 */

#include "source/family_moe.h"

#include <string.h>

/* Names after "model.layers.N". */
static const family_name attention_names[] = {
    { "attention_norm.weight", "input_layernorm.weight" },
    { "attention.q_proj.weight", "self_attn.q_proj.weight" },
    { "attention.k_proj.weight", "self_attn.k_proj.weight" },
    { "attention.v_proj.weight", "self_attn.v_proj.weight" },
    { "attention.o_proj.weight", "self_attn.o_proj.weight" },
    { "mlp_norm.weight", "post_attention_layernorm.weight" },
};

enum { QKV_BIASES = 3, MOST_FURTHER = 64 };
static const family_name attention_biases[] = {
    { "attention.q_proj.bias", "self_attn.q_proj.bias" },
    { "attention.k_proj.bias", "self_attn.k_proj.bias" },
    { "attention.v_proj.bias", "self_attn.v_proj.bias" },
    { "attention.o_proj.bias", "self_attn.o_proj.bias" },
};

static const family_name norm_biases[] = {
    { "attention_norm.bias", "input_layernorm.bias" },
    { "mlp_norm.bias", "post_attention_layernorm.bias" },
};

static const family_name head_norms[] = {
    { "attention.q_head_norm", "self_attn.q_norm.weight" },
    { "attention.k_head_norm", "self_attn.k_norm.weight" },
};

static const family_name wide_norms[] = {
    { "attention.q_norm", "self_attn.q_norm.weight" },
    { "attention.k_norm", "self_attn.k_norm.weight" },
};

static const family_name sink_names[] = {
    { "attention.sinks", "self_attn.sinks" },
};

const family_name lin_moe_plain_names[] = {
    { "mlp[*].gate.weight", "mlp.gate_proj.weight" },
    { "mlp[*].up.weight", "mlp.up_proj.weight" },
    { "mlp[*].down.weight", "mlp.down_proj.weight" },
};

const family_name lin_moe_shared_names[] = {
    { "moe[*].shared[*].gate.weight", "mlp.shared_experts.gate_proj.weight" },
    { "moe[*].shared[*].up.weight", "mlp.shared_experts.up_proj.weight" },
    { "moe[*].shared[*].down.weight", "mlp.shared_experts.down_proj.weight" },
};

const family_name lin_moe_expert_names[] = {
    { "moe[*].router.weight", "mlp.gate.weight" },
    { "moe[*].split[*].gate", "mlp.experts.{*}.gate_proj.weight" },
    { "moe[*].split[*].up", "mlp.experts.{*}.up_proj.weight" },
    { "moe[*].split[*].down", "mlp.experts.{*}.down_proj.weight" },
};

static const family_name numbered_experts[] = {
    { "moe[*].router.weight", "block_sparse_moe.gate.weight" },
    { "moe[*].split[*].gate", "block_sparse_moe.experts.{*}.w1.weight" },
    { "moe[*].split[*].up", "block_sparse_moe.experts.{*}.w3.weight" },
    { "moe[*].split[*].down", "block_sparse_moe.experts.{*}.w2.weight" },
};

static const family_name granite_experts[] = {
    { "moe[*].router.weight", "block_sparse_moe.router.layer.weight" },
    { "moe[*].fused[*].gate_up", "block_sparse_moe.input_linear.weight" },
    { "moe[*].fused[*].down", "block_sparse_moe.output_linear.weight" },
};

static const family_name gpt_oss_experts[] = {
    { "moe[*].router.weight", "mlp.router.weight" },
    { "moe[*].router.bias", "mlp.router.bias" },
    { "moe[*].fused[*].gate_up", "mlp.experts.gate_up_proj" },
    { "moe[*].fused[*].gate_up_bias", "mlp.experts.gate_up_proj_bias" },
    { "moe[*].fused[*].down", "mlp.experts.down_proj" },
    { "moe[*].fused[*].down_bias", "mlp.experts.down_proj_bias" },
};

static const family_name glm_correction[] = {
    { "moe[*].router.correction", "mlp.gate.e_score_correction_bias" },
};

static const family_name minimax_correction[] = {
    { "moe[*].router.correction", "block_sparse_moe.e_score_correction_bias" },
};

/* Where layers stand in the source, and how a checkpoint numbers them there. */
typedef struct layout {
    int64_t first, sliding, full;
} layout;

/* ---- what the mixtures have in common ---- */

static int64_t nearest(double positive)
{
    return (int64_t)(positive + 0.5);
}

int64_t lin_family_moe_milli(family_reader *r, const char *key, double factor)
{
    if (!(factor > 0 && factor < 1e9))
        lin_family_fail(r, LINNET_ERROR_FORMAT,
                        "`%s` gives no factor between 0 and a thousand million", key);
    if (factor == 1)
        return 0;
    const int64_t milli = nearest(factor * 1000);
    return milli > 0 ? milli : 1;
}

void lin_family_moe_scale(family_reader *r, const char *generic, const char *key)
{
    lin_family_set(r, generic, lin_family_moe_milli(r, key, lin_family_real(r, r->text, key, 1)));
}

void lin_family_moe_groups(family_reader *r, int64_t experts, int64_t groups, int64_t open,
                           int64_t best)
{
    groups = lin_family_int(r, r->text, "n_group", groups);
    open = lin_family_int(r, r->text, "topk_group", open);
    if (groups <= 1)
        return;
    const int64_t members = lin_family_divide(r, "n_routed_experts", experts, "n_group", groups);
    if (open < 1 || open > groups || best > members)
        lin_family_fail(r, LINNET_ERROR_FORMAT,
                        "`topk_group` %lld of %lld groups of %lld experts leaves no choice",
                        (long long)open, (long long)groups, (long long)members);
    lin_family_set(r, "RouterGroups", groups);
    lin_family_set(r, "OpenGroups", open);
    lin_family_set(r, "GroupBest", best);
}

/* Sigmoid scores, corrected for the choice alone; shared experts, made as one layer. */
static void read_corrected(family_reader *r, int64_t experts, int64_t shared, int64_t inner)
{
    const lin_json *c = r->text;
    int64_t shared_inner = 0;
    if (!lin_mul_i64(shared, inner, &shared_inner))
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`n_shared_experts` is too large");
    lin_family_set(r, "Scoring", 1);
    lin_family_set(r, "Normalised", lin_family_flag(r, c, "norm_topk_prob", true));
    lin_family_set(r, "SharedInner", shared_inner);
    lin_family_moe_scale(r, "ScaleMilli", "routed_scaling_factor");
    lin_family_moe_groups(r, experts, 1, 1, 2);
}

static double rope_theta(family_reader *r, double fallback)
{
    const lin_json *nested = lin_family_object(r, r->text, "rope_parameters");
    return lin_family_real(r, r->text, "rope_theta",
                           lin_family_real(r, nested, "rope_theta", fallback));
}

void lin_family_moe_sizes(family_reader *r, int64_t positions, double theta, double epsilon)
{
    static const char *const activations[] = { "silu", "swish", NULL };
    const lin_json *c = r->text;
    const int64_t longest = lin_family_int(r, c, "max_position_embeddings", positions);
    const double base = rope_theta(r, theta);
    const double small = lin_family_real(r, c, "rms_norm_eps", epsilon);
    r->root = "Model";
    lin_family_expect_word(r, c, "hidden_act", activations);
    lin_family_set(r, "Vocab", lin_family_need(r, c, "vocab_size"));
    lin_family_set(r, "H", lin_family_need(r, c, "hidden_size"));
    lin_family_set(r, "Heads", lin_family_need(r, c, "num_attention_heads"));
    lin_family_set(r, "Layers", lin_family_need(r, c, "num_hidden_layers"));
    lin_family_set(r, "Batch", 1);
    lin_family_set(r, "MaxSeq", longest > 0 && longest < 8192 ? longest : 8192);
    lin_family_set(r, "Theta", base >= 1 && base < 1e15 ? nearest(base) : 10000);
    lin_family_set(r, "InverseEps", small > 1e-15 && small < 1 ? nearest(1 / small) : 1000000);
    lin_family_set_dtype(r, "T", lin_family_dtype(r, c));
    lin_family_note_rope(r, c);
    lin_family_bind(r, "embedding.weight", "model.embed_tokens.weight");
    lin_family_bind(r, "norm.weight", "model.norm.weight");
}

void lin_family_moe_head(family_reader *r, bool tied_by_default)
{
    const bool tied =
        lin_family_flag(r, r->text, "tie_word_embeddings",
                        lin_family_flag(r, r->config, "tie_word_embeddings", tied_by_default));
    const int64_t layers = lin_family_need(r, r->text, "num_hidden_layers");
    lin_family_bind(r, "lm_head.weight", tied ? "model.embed_tokens.weight" : "lm_head.weight");
    lin_family_ignore(r, "*.rotary_emb.inv_freq");
    const int64_t further = lin_family_int(r, r->text, "num_nextn_predict_layers", 0);
    if (further > 0)
        lin_family_assume(r, "layers that predict more than the next token are left out");
    for (int64_t i = 0; i < further && i < MOST_FURTHER; i++)
        lin_family_ignore(
            r, lin_arena_format(r->arena, "model.layers.%lld.*", (long long)(layers + i)));
}

void lin_family_moe_bind(family_reader *r, const char *place, const char *number,
                         const family_name *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        lin_family_bind(r, lin_arena_format(r->arena, "%s.%s", place, names[i].path),
                        lin_arena_format(r->arena, "model.layers.%s.%s", number, names[i].tensor));
}

/* ---- layers ---- */

/* The number of groups[i].sliding[j] (`offset` = first) or groups[i].full[j] (first + sliding). */
static const char *layer_number(family_reader *r, const layout *l, int64_t offset)
{
    const long long period = (long long)(l->sliding + l->full), o = (long long)offset;
    if (period > 1)
        return lin_arena_format(r->arena, "{%lld*i+j+%lld}", period, o);
    return o > 0 ? lin_arena_format(r->arena, "{i+%lld}", o) : "{i}";
}

static void bind_sparse(family_reader *r, const layout *l, const family_name *names, uint32_t count)
{
    if (l->sliding > 0)
        lin_family_moe_bind(r, "groups[*].sliding[*]", layer_number(r, l, l->first), names, count);
    if (l->full > 0)
        lin_family_moe_bind(r, "groups[*].full[*]", layer_number(r, l, l->first + l->sliding),
                            names, count);
}

static void bind_every(family_reader *r, const layout *l, const family_name *names, uint32_t count)
{
    if (l->first > 0)
        lin_family_moe_bind(r, "first[*]", "{i}", names, count);
    bind_sparse(r, l, names, count);
}

#define BIND_SPARSE(r, l, names) bind_sparse(r, l, names, ARRAY_LEN(names))
#define BIND_EVERY(r, l, names) bind_every(r, l, names, ARRAY_LEN(names))

/* What every family here has; a head's width. Without one of its own it is `head_dim`, or, where
 * that is 0, the columns by the heads. */
static int64_t read_decoder(family_reader *r, const layout *l, int64_t head_dim)
{
    const lin_json *c = r->text;
    const int64_t hidden = lin_family_need(r, c, "hidden_size");
    const int64_t heads = lin_family_need(r, c, "num_attention_heads");
    const int64_t layers = lin_family_need(r, c, "num_hidden_layers");
    r->program = "models/moe.linnet";
    if (lin_family_has(c, "head_dim"))
        head_dim = lin_family_need(r, c, "head_dim");
    else if (head_dim == 0)
        head_dim = lin_family_divide(r, "hidden_size", hidden, "num_attention_heads", heads);
    if (head_dim % 2 != 0)
        lin_family_fail(r, LINNET_ERROR_FORMAT,
                        "a head has %lld columns; rotary positions turn them in pairs",
                        (long long)head_dim);
    lin_family_set(r, "HeadDim", head_dim);
    lin_family_set(r, "Rotary", head_dim);
    lin_family_set(r, "ScoreDim", head_dim);
    const int64_t kv_heads = lin_family_int(r, c, "num_key_value_heads", heads);
    lin_family_divide(r, "num_attention_heads", heads, "num_key_value_heads", kv_heads);
    lin_family_set(r, "KvHeads", kv_heads);
    if (l->first > layers)
        lin_family_fail(r, LINNET_ERROR_FORMAT,
                        "%lld layers are dense, but `num_hidden_layers` is %lld",
                        (long long)l->first, (long long)layers);
    if ((layers - l->first) % (l->sliding + l->full) != 0)
        lin_family_fail(
            r, LINNET_ERROR_UNSUPPORTED,
            "%lld layers are no whole number of periods of `layer_types`, of %lld layers",
            (long long)(layers - l->first), (long long)(l->sliding + l->full));
    lin_family_set(r, "First", l->first);
    lin_family_set(r, "Sliding", l->sliding);
    lin_family_set(r, "Full", l->full);
    lin_family_set_dtype(r, "RouterT", lin_family_dtype(r, c));
    BIND_EVERY(r, l, attention_names);
    if (l->first > 0) {
        lin_family_set(r, "Inner", lin_family_need(r, c, "intermediate_size"));
        lin_family_moe_bind(r, "first[*]", "{i}", lin_moe_plain_names,
                            ARRAY_LEN(lin_moe_plain_names));
    }
    return head_dim;
}

static void read_experts(family_reader *r, int64_t count, int64_t chosen, int64_t inner)
{
    if (chosen < 1 || chosen > count)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "%lld experts a token, of %lld", (long long)chosen,
                        (long long)count);
    lin_family_set(r, "Experts", count);
    lin_family_set(r, "Chosen", chosen);
    lin_family_set(r, "ExpertInner", inner);
}

/* All layers slide where there is a window. */
static layout whole_layout(family_reader *r, bool slides)
{
    const int64_t window = slides ? lin_family_int(r, r->text, "sliding_window", 0) : 0;
    if (window > 0)
        lin_family_set(r, "Window", window);
    return window > 0 ? (layout){ 0, 1, 0 } : (layout){ 0, 0, 1 };
}

/* ---- the families ---- */

void lin_family_mixtral(family_reader *r)
{
    const layout l = whole_layout(r, true);
    lin_family_moe_sizes(r, 131072, 1e6, 1e-5);
    read_decoder(r, &l, 0);
    read_experts(r, lin_family_int(r, r->text, "num_local_experts", 8),
                 lin_family_int(r, r->text, "num_experts_per_tok", 2),
                 lin_family_need(r, r->text, "intermediate_size"));
    lin_family_set(r, "Normalised", 1);
    BIND_SPARSE(r, &l, numbered_experts);
    lin_family_moe_head(r, false);
}

/* Layers without experts, which must be the first ones. */
static int64_t dense_layers(family_reader *r)
{
    const lin_json *list = lin_family_array(r, r->text, "mlp_only_layers");
    if (lin_family_int(r, r->text, "decoder_sparse_step", 1) != 1)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "`decoder_sparse_step` other than 1 is not expressed by the source of `%s`",
                        r->model_type);
    const uint32_t count = list != NULL ? list->count : 0;
    for (uint32_t i = 0; i < count; i++)
        if (lin_family_item(r, list, "mlp_only_layers", i) != (int64_t)i)
            lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                            "`mlp_only_layers` other than the first ones are not expressed by the "
                            "source of `%s`",
                            r->model_type);
    return count;
}

void lin_family_qwen3_moe(family_reader *r)
{
    const lin_json *c = r->text;
    layout l = whole_layout(r, lin_family_flag(r, c, "use_sliding_window", false));
    l.first = dense_layers(r);
    lin_family_moe_sizes(r, 32768, 1e4, 1e-6);
    read_decoder(r, &l, 0);
    const char *const counts[] = { "num_experts", "num_local_experts", NULL };
    read_experts(r, lin_family_int_of(r, c, counts, 128),
                 lin_family_int(r, c, "num_experts_per_tok", 8),
                 lin_family_int(r, c, "moe_intermediate_size", 768));
    lin_family_set(r, "Normalised", lin_family_flag(r, c, "norm_topk_prob", false));
    BIND_EVERY(r, &l, head_norms);
    if (lin_family_flag(r, c, "attention_bias", false))
        BIND_EVERY(r, &l, attention_biases);
    BIND_SPARSE(r, &l, lin_moe_expert_names);
    lin_family_moe_head(r, false);
}

static void set_rotary(family_reader *r, int64_t head_dim, int64_t rotary)
{
    if (rotary < 2 || rotary > head_dim || rotary % 2 != 0)
        lin_family_fail(r, LINNET_ERROR_FORMAT,
                        "%lld of a head's %lld columns turn; an even number of them is meant",
                        (long long)rotary, (long long)head_dim);
    lin_family_set(r, "Rotary", rotary);
}

/* How many columns of a head turn: int(head_dim * factor), as the library cuts it. */
static void read_rotary(family_reader *r, int64_t head_dim, double fallback)
{
    const lin_json *nested = lin_family_object(r, r->text, "rope_parameters");
    const double factor =
        lin_family_real(r, r->text, "partial_rotary_factor",
                        lin_family_real(r, nested, "partial_rotary_factor", fallback));
    set_rotary(r, head_dim, factor > 0 && factor <= 1 ? (int64_t)((double)head_dim * factor) : 0);
}

void lin_family_glm4_moe(family_reader *r)
{
    const lin_json *c = r->text;
    const layout l = { lin_family_int(r, c, "first_k_dense_replace", 1), 0, 1 };
    const char *const counts[] = { "n_routed_experts", "num_experts", NULL };
    const int64_t inner = lin_family_int(r, c, "moe_intermediate_size", 1408);
    lin_family_moe_sizes(r, 131072, 1e4, 1e-5);
    read_rotary(r, read_decoder(r, &l, 0), 0.5);
    const int64_t experts = lin_family_int_of(r, c, counts, 128);
    read_experts(r, experts, lin_family_int(r, c, "num_experts_per_tok", 8), inner);
    read_corrected(r, experts, lin_family_int(r, c, "n_shared_experts", 1), inner);
    /* Router and scores in f32: Glm4MoeTopkRouter. */
    lin_family_set_dtype(r, "RouterT", LIN_DTYPE_F32);
    BIND_SPARSE(r, &l, lin_moe_expert_names);
    BIND_SPARSE(r, &l, glm_correction);
    if (lin_family_int(r, c, "n_shared_experts", 1) > 0)
        BIND_SPARSE(r, &l, lin_moe_shared_names);
    if (lin_family_flag(r, c, "use_qk_norm", false))
        BIND_EVERY(r, &l, head_norms);
    if (lin_family_flag(r, c, "attention_bias", false))
        bind_every(r, &l, attention_biases, QKV_BIASES);
    lin_family_moe_head(r, false);
}

/* The period of `layer_types`: sliding layers, then full ones, over and over. */
static layout read_period(family_reader *r, const lin_json *types)
{
    static const char sliding_word[] = "sliding_attention", full_word[] = "full_attention";
    layout l = { 0, 0, 0 };
    for (uint32_t i = 0; i < types->count; i++) {
        const lin_json *type = &types->items[i];
        const bool slides = type->kind == LIN_JSON_STRING && strcmp(type->text, sliding_word) == 0;
        const int64_t period = l.sliding + l.full;
        /* The first run of each kind says how long it is. */
        if (period == (int64_t)i && slides && l.full == 0)
            l.sliding++;
        else if (period == (int64_t)i && !slides)
            l.full++;
        else if (slides != ((int64_t)i % period < l.sliding))
            lin_family_fail(
                r, LINNET_ERROR_UNSUPPORTED,
                "`layer_types` that is no repeated run of sliding and full layers is not "
                "expressed by the source of `%s`",
                r->model_type);
        if (!slides && (type->kind != LIN_JSON_STRING || strcmp(type->text, full_word) != 0))
            lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                            "`layer_types` has a layer that is neither "
                            "`%s` nor `%s`",
                            sliding_word, full_word);
    }
    if (l.sliding == 0)
        l.full = 1;
    else if (l.full == 0)
        l.sliding = 1;
    return l;
}

void lin_family_gpt_oss(family_reader *r)
{
    const lin_json *c = r->text;
    const lin_json *types = lin_family_array(r, c, "layer_types");
    const int64_t window = lin_family_int(r, c, "sliding_window", 128);
    const char *const chosen[] = { "num_experts_per_tok", "experts_per_token", NULL };
    const layout l =
        types != NULL && types->count > 0 ? read_period(r, types) : (layout){ 0, 1, 1 };
    if (types != NULL && (int64_t)types->count != lin_family_need(r, c, "num_hidden_layers"))
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`layer_types` has %u items for %lld layers",
                        types->count, (long long)lin_family_need(r, c, "num_hidden_layers"));
    lin_family_moe_sizes(r, 131072, 150000, 1e-5);
    read_decoder(r, &l, 64);
    if (window > 0)
        lin_family_set(r, "Window", window);
    read_experts(r, lin_family_int(r, c, "num_local_experts", 128),
                 lin_family_int_of(r, c, chosen, 4), lin_family_need(r, c, "intermediate_size"));
    lin_family_set(r, "Fused", 1);
    lin_family_set(r, "Clipped", 1);
    lin_family_set(r, "Scoring", 2);
    BIND_EVERY(r, &l, sink_names);
    if (lin_family_flag(r, c, "attention_bias", true))
        BIND_EVERY(r, &l, attention_biases);
    BIND_SPARSE(r, &l, gpt_oss_experts);
    lin_family_moe_head(r, false);
}

void lin_family_granitemoe(family_reader *r)
{
    const lin_json *c = r->text;
    const layout l = { 0, 0, 1 };
    const double scale = lin_family_real(r, c, "attention_multiplier", 1);
    lin_family_moe_sizes(r, 2048, 1e4, 1e-6);
    read_decoder(r, &l, 0);
    if (scale > 1e-6 && scale <= 1)
        lin_family_set(r, "ScoreDim", nearest(1 / (scale * scale)));
    read_experts(r, lin_family_int(r, c, "num_local_experts", 8),
                 lin_family_int(r, c, "num_experts_per_tok", 2),
                 lin_family_need(r, c, "intermediate_size"));
    lin_family_set(r, "Fused", 1);
    lin_family_set(r, "Scoring", 2);
    lin_family_moe_scale(r, "EmbeddingMilli", "embedding_multiplier");
    lin_family_moe_scale(r, "ResidualMilli", "residual_multiplier");
    lin_family_moe_scale(r, "LogitsMilli", "logits_scaling");
    if (lin_family_flag(r, c, "attention_bias", false))
        BIND_EVERY(r, &l, attention_biases);
    BIND_SPARSE(r, &l, granite_experts);
    lin_family_moe_head(r, false);
}

/* Layers of another kind of attention, or experts that all pass, have no source. */
static void expect_minimax(family_reader *r)
{
    static const char *const scores[] = { "sigmoid", NULL };
    static const char *const norms[] = { "per_layer", "per_head", NULL };
    const lin_json *kinds = lin_family_array(r, r->text, "attn_type_list");
    for (uint32_t i = 0; kinds != NULL && i < kinds->count; i++)
        if (lin_family_item(r, kinds, "attn_type_list", i) != 1)
            lin_family_fail(
                r, LINNET_ERROR_UNSUPPORTED,
                "`attn_type_list` with linear attention is not expressed by the source of "
                "`%s`",
                r->model_type);
    if (lin_family_int(r, r->text, "shared_intermediate_size", 0) > 0)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "`shared_intermediate_size` is not expressed by the source of `%s`",
                        r->model_type);
    lin_family_expect_word(r, r->text, "scoring_func", scores);
    lin_family_expect_word(r, r->text, "qk_norm_type", norms);
}

void lin_family_minimax_m2(family_reader *r)
{
    const lin_json *c = r->text;
    const layout l = { 0, 0, 1 };
    expect_minimax(r);
    lin_family_moe_sizes(r, 196608, 5e6, 1e-6);
    const int64_t head_dim = read_decoder(r, &l, 128);
    if (lin_family_has(c, "rotary_dim"))
        set_rotary(r, head_dim, lin_family_need(r, c, "rotary_dim"));
    else
        read_rotary(r, head_dim, 0.5);
    read_experts(r, lin_family_int(r, c, "num_local_experts", 256),
                 lin_family_int(r, c, "num_experts_per_tok", 8),
                 lin_family_need(r, c, "intermediate_size"));
    lin_family_set(r, "Scoring", 1);
    lin_family_set(r, "Normalised", 1);
    BIND_SPARSE(r, &l, numbered_experts);
    if (lin_family_flag(r, c, "use_routing_bias", true))
        BIND_SPARSE(r, &l, minimax_correction);
    if (!lin_family_flag(r, c, "use_qk_norm", true))
        lin_family_assume(r, "queries and keys have no norms");
    else if (strcmp(lin_family_word(r, c, "qk_norm_type", "per_layer"), "per_head") == 0)
        BIND_EVERY(r, &l, head_norms);
    else
        BIND_EVERY(r, &l, wide_norms);
    if (lin_family_int(r, c, "num_mtp_modules", 0) > 0)
        lin_family_assume(r, "layers that predict more than the next token are left out");
    lin_family_moe_head(r, false);
}

void lin_family_phimoe(family_reader *r)
{
    const lin_json *c = r->text;
    const layout l = whole_layout(r, true);
    lin_family_moe_sizes(r, 131072, 1e6, 1e-5);
    read_decoder(r, &l, 0);
    read_experts(r, lin_family_int(r, c, "num_local_experts", 16),
                 lin_family_int(r, c, "num_experts_per_tok", 2),
                 lin_family_int(r, c, "intermediate_size", 6400));
    lin_family_assume(r, "the router's two masked choices are taken as the two largest shares");
    BIND_EVERY(r, &l, norm_biases);
    lin_family_bind(r, "norm.bias", "model.norm.bias");
    if (lin_family_flag(r, c, "attention_bias", false))
        BIND_EVERY(r, &l, attention_biases);
    BIND_SPARSE(r, &l, numbered_experts);
    lin_family_moe_head(r, false);
    if (lin_family_flag(r, c, "lm_head_bias", false))
        lin_family_bind(r, "lm_head.bias", "lm_head.bias");
}
