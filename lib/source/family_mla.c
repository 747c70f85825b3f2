/* SPDX-License-Identifier: MIT */

/*
 * Decoders with multi-head latent attention, as models/mla.linnet has them: DeepSeek V2 and V3 with
 * what was made after them, and the dense MiniCPM3.
 */

#include "source/family_moe.h"

#include <string.h>

/* Names after "model.layers.N". */
static const family_name layer_names[] = {
    { "attention_norm.weight", "input_layernorm.weight" },
    { "attention.compress.weight", "self_attn.kv_a_proj_with_mqa.weight" },
    { "attention.norm.weight", "self_attn.kv_a_layernorm.weight" },
    { "attention.expand.weight", "self_attn.kv_b_proj.weight" },
    { "attention.output.weight", "self_attn.o_proj.weight" },
    { "mlp_norm.weight", "post_attention_layernorm.weight" },
};

static const family_name low_query[] = {
    { "attention.query_low[*].down.weight", "self_attn.q_a_proj.weight" },
    { "attention.query_low[*].norm.weight", "self_attn.q_a_layernorm.weight" },
    { "attention.query_low[*].up.weight", "self_attn.q_b_proj.weight" },
};

static const family_name straight_query[] = {
    { "attention.query[*].weight", "self_attn.q_proj.weight" },
};

static const family_name biases[] = {
    { "attention.compress.bias", "self_attn.kv_a_proj_with_mqa.bias" },
    { "attention.output.bias", "self_attn.o_proj.bias" },
};

static const family_name low_query_bias[] = {
    { "attention.query_low[*].down.bias", "self_attn.q_a_proj.bias" },
};

static const family_name correction[] = {
    { "moe[*].router.correction", "mlp.gate.e_score_correction_bias" },
};

/* Layers of a source: `first[i]` without experts, `layers[i]` with. */
typedef struct layout {
    int64_t first, all;
} layout;

static void bind_sparse(family_reader *r, const layout *l, const family_name *names, uint32_t count)
{
    if (l->first < l->all)
        lin_family_moe_bind(r, "layers[*]",
                            lin_arena_format(r->arena, "{i+%lld}", (long long)l->first), names,
                            count);
}

static void bind_every(family_reader *r, const layout *l, const family_name *names, uint32_t count)
{
    if (l->first > 0)
        lin_family_moe_bind(r, "first[*]", "{i}", names, count);
    bind_sparse(r, l, names, count);
}

#define BIND_SPARSE(r, l, names) bind_sparse(r, l, names, ARRAY_LEN(names))
#define BIND_EVERY(r, l, names) bind_every(r, l, names, ARRAY_LEN(names))

/* A width of the attention: at least 1, `fallback` where the key is absent. */
static int64_t read_width(family_reader *r, const char *generic, const char *key, int64_t fallback)
{
    const int64_t width =
        lin_family_has(r->text, key) ? lin_family_need(r, r->text, key) : fallback;
    lin_family_set(r, generic, width);
    return width;
}

static void read_rotary(family_reader *r, int64_t fallback)
{
    if (read_width(r, "Rotary", "qk_rope_head_dim", fallback) % 2 != 0)
        lin_family_fail(r, LINNET_ERROR_FORMAT,
                        "`qk_rope_head_dim` is odd; rotary positions turn columns in pairs");
}

/* `query_rank` where the key is absent; null is 0, a straight projection. */
static void read_attention(family_reader *r, const layout *l, int64_t query_rank)
{
    const lin_json *c = r->text;
    if (lin_json_get(c, "q_lora_rank") != NULL)
        query_rank = lin_family_int(r, c, "q_lora_rank", 0);
    lin_family_set(r, "QueryRank", query_rank);
    BIND_EVERY(r, l, layer_names);
    if (query_rank > 0)
        BIND_EVERY(r, l, low_query);
    else
        BIND_EVERY(r, l, straight_query);
    if (!lin_family_flag(r, c, "attention_bias", false))
        return;
    BIND_EVERY(r, l, biases);
    if (query_rank > 0)
        BIND_EVERY(r, l, low_query_bias);
}

static void read_dense(family_reader *r, const layout *l)
{
    r->program = "models/mla.linnet";
    lin_family_set(r, "First", l->first);
    lin_family_set(r, "Inner", lin_family_need(r, r->text, "intermediate_size"));
    if (l->first > 0)
        lin_family_moe_bind(r, "first[*]", "{i}", lin_moe_plain_names,
                            ARRAY_LEN(lin_moe_plain_names));
}

/* What DeepSeek V2 and V3 mean by an absent key. */
typedef struct defaults {
    int64_t positions, first, experts, chosen, shared, inner, groups, open_groups;
    const char *scoring, *method;
    double routed_scale;
    bool normalised;
} defaults;

static const defaults v2 = { 2048, 0, 64, 6, 2, 1407, 1, 1, "softmax", "greedy", 1.0, false };
static const defaults v3 = { 4096, 3, 256, 8, 1, 2048, 8, 4, "sigmoid", "noaux_tc", 2.5, true };

static void read_router(family_reader *r, const layout *l, const defaults *d, int64_t experts)
{
    static const char *const scorings[] = { "softmax", "sigmoid", NULL };
    static const char *const methods[] = { "greedy", "group_limited_greedy", "noaux_tc", NULL };
    const lin_json *c = r->text;
    const char *method = lin_family_word(r, c, "topk_method", d->method);
    const bool corrected = strcmp(method, "noaux_tc") == 0;
    lin_family_expect_word(r, c, "scoring_func", scorings);
    lin_family_expect_word(r, c, "topk_method", methods);
    lin_family_set(r, "Scoring",
                   strcmp(lin_family_word(r, c, "scoring_func", d->scoring), "sigmoid") == 0);
    lin_family_set(r, "Normalised", lin_family_flag(r, c, "norm_topk_prob", d->normalised));
    lin_family_set(
        r, "ScaleMilli",
        lin_family_moe_milli(r, "routed_scaling_factor",
                             lin_family_real(r, c, "routed_scaling_factor", d->routed_scale)));
    /* Products and scores in f32: MoEGate and DeepseekV3TopkRouter. */
    lin_family_set_dtype(r, "RouterT", LIN_DTYPE_F32);
    if (strcmp(method, "greedy") != 0)
        lin_family_moe_groups(r, experts, d->groups, d->open_groups, corrected ? 2 : 1);
    if (corrected)
        BIND_SPARSE(r, l, correction);
}

static void read_experts(family_reader *r, const layout *l, const defaults *d)
{
    const lin_json *c = r->text;
    const int64_t count = lin_family_int(r, c, "n_routed_experts", d->experts);
    const int64_t chosen = lin_family_int(r, c, "num_experts_per_tok", d->chosen);
    const int64_t inner = lin_family_int(r, c, "moe_intermediate_size", d->inner);
    const int64_t shared = lin_family_int(r, c, "n_shared_experts", d->shared);
    int64_t shared_inner = 0;
    if (chosen < 1 || chosen > count)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "%lld experts a token, of %lld", (long long)chosen,
                        (long long)count);
    if (!lin_mul_i64(shared, inner, &shared_inner))
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`n_shared_experts` is too large");
    lin_family_set(r, "Experts", count);
    lin_family_set(r, "Chosen", chosen);
    lin_family_set(r, "ExpertInner", inner);
    lin_family_set(r, "SharedInner", shared_inner);
    BIND_SPARSE(r, l, lin_moe_expert_names);
    if (shared_inner > 0)
        BIND_SPARSE(r, l, lin_moe_shared_names);
    read_router(r, l, d, count);
}

static void read_deepseek(family_reader *r, const defaults *d)
{
    const lin_json *c = r->text;
    const int64_t layers = lin_family_need(r, c, "num_hidden_layers");
    const int64_t first = lin_family_int(r, c, "first_k_dense_replace", d->first);
    const layout l = { first < layers ? first : layers, layers };
    if (lin_family_int(r, c, "moe_layer_freq", 1) != 1)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "`moe_layer_freq` other than 1 is not expressed by the source of `%s`",
                        r->model_type);
    lin_family_moe_sizes(r, d->positions, 1e4, 1e-6);
    read_width(r, "Rank", "kv_lora_rank", 512);
    read_width(r, "Plain", "qk_nope_head_dim", 128);
    read_rotary(r, 64);
    read_width(r, "ValueDim", "v_head_dim", 128);
    read_attention(r, &l, 1536);
    read_dense(r, &l);
    read_experts(r, &l, d);
    lin_family_moe_head(r, false);
}

void lin_family_deepseek_v2(family_reader *r)
{
    read_deepseek(r, &v2);
}

void lin_family_deepseek_v3(family_reader *r)
{
    read_deepseek(r, &v3);
}

/* Newton's steps from above, which fall until they are there: of a number of layers, at least 1. */
static double square_root(double value)
{
    double root = value;
    for (double next; (next = (root + value / root) / 2) < root;)
        root = next;
    return root;
}

void lin_family_minicpm3(family_reader *r)
{
    const lin_json *c = r->text;
    const int64_t layers = lin_family_need(r, c, "num_hidden_layers");
    const layout l = { layers, layers };
    const double depth = lin_family_real(r, c, "scale_depth", 1);
    const double base = lin_family_real(r, c, "dim_model_base", 1);
    lin_family_moe_sizes(r, 2048, 1e4, 1e-6);
    read_width(r, "Rank", "kv_lora_rank", 256);
    const int64_t plain = read_width(r, "Plain", "qk_nope_head_dim", 64);
    read_rotary(r, 32);
    read_width(r, "ValueDim", "v_head_dim", plain);
    read_attention(r, &l, 768);
    read_dense(r, &l);
    lin_family_moe_scale(r, "EmbeddingMilli", "scale_emb");
    lin_family_set(r, "ResidualMilli",
                   lin_family_moe_milli(r, "scale_depth", depth / square_root((double)layers)));
    lin_family_set(r, "LogitsMilli",
                   lin_family_moe_milli(r, "dim_model_base",
                                        (double)lin_family_need(r, c, "hidden_size") / base));
    lin_family_moe_head(r, true);
}
