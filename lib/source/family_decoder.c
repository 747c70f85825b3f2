/* SPDX-License-Identifier: MIT */

/*
 * Sizes of a decoder from a config.json, and the program for them. Three programs can express one:
 * llama.linnet and qwen3.linnet have every entry, decoder.linnet has every feature. The first that
 * fits is taken, so that most models have all entries.
 */

#include "source/family_decoder.h"

#include <math.h>
#include <string.h>

enum { LONGEST_CACHE = 8192, QWEN3_THETA = 1000000, QWEN3_INVERSE_EPS = 1000000 };

/* ---- reading ---- */

static int64_t size_or(family_reader *r, const char *key, int64_t fallback)
{
    return lin_family_has(r->text, key) || fallback == 0 ? lin_family_need(r, r->text, key)
                                                         : fallback;
}

static const lin_json *rope_settings(family_reader *r)
{
    const lin_json *settings = lin_family_object(r, r->text, "rope_parameters");
    return settings != NULL ? settings : lin_family_object(r, r->text, "rope_scaling");
}

/* rope_theta, or rope_parameters.rope_theta. */
static void read_rope(family_reader *r, decoder_shape *d)
{
    const lin_json *nested = lin_family_object(r, r->text, "rope_parameters");
    const char *kind = lin_family_word(r, nested, "rope_type", "default");
    d->theta = lin_family_real(r, r->text, "rope_theta",
                               lin_family_real(r, nested, "rope_theta", d->theta));
    lin_family_note_rope(r, r->text);
    if (strcmp(kind, "default") != 0)
        lin_family_assume(r, "rope scaling `%s` changes no size", kind);
}

void lin_decoder_read_partial_rotary(family_reader *r, decoder_shape *d, double fallback)
{
    static const char key[] = "partial_rotary_factor";
    const double factor =
        lin_family_real(r, r->text, key, lin_family_real(r, rope_settings(r), key, fallback));
    if (!(factor > 0 && factor <= 1))
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` lies outside 0 to 1", key);
    d->rotary = (int64_t)((double)d->head_dim * factor);
}

static void read_heads(family_reader *r, decoder_shape *d)
{
    const bool has_key = lin_json_get(r->text, "num_key_value_heads") != NULL;
    d->heads = size_or(r, "num_attention_heads", d->heads);
    d->kv_heads = lin_family_int(r, r->text, "num_key_value_heads",
                                 has_key || d->kv_heads == 0 ? d->heads : d->kv_heads);
    if (d->kv_heads < 1)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`num_key_value_heads` is 0; at least 1 is meant");
    if (lin_family_has(r->text, "head_dim"))
        d->head_dim = lin_family_need(r, r->text, "head_dim");
    else if (d->head_dim == 0)
        d->head_dim =
            lin_family_divide(r, "hidden_size", d->hidden, "num_attention_heads", d->heads);
    lin_family_divide(r, "num_attention_heads", d->heads, "num_key_value_heads", d->kv_heads);
}

void lin_decoder_read(family_reader *r, decoder_shape *d)
{
    d->vocab = size_or(r, "vocab_size", d->vocab);
    d->hidden = size_or(r, "hidden_size", d->hidden);
    read_heads(r, d);
    d->inner = size_or(r, "intermediate_size", d->inner);
    d->layers = size_or(r, "num_hidden_layers", d->layers);
    d->positions = lin_family_int(r, r->text, "max_position_embeddings", d->positions);
    d->eps = lin_family_real(r, r->text, "rms_norm_eps", d->eps);
    read_rope(r, d);
}

void lin_decoder_read_window(family_reader *r, decoder_shape *d, int64_t fallback)
{
    const bool has_key = lin_json_get(r->text, "sliding_window") != NULL;
    d->window = lin_family_int(r, r->text, "sliding_window", has_key ? 0 : fallback);
}

/* `period - 1` near layers, one far, as often as that fits. */
static void set_period(decoder_shape *d, int64_t period)
{
    d->groups = d->layers / period;
    d->near = period - 1;
    d->far = 1;
}

void lin_decoder_full_first(decoder_shape *d, int64_t full)
{
    if (full >= d->layers)
        d->window = 0;
    else if (full > 0) {
        d->groups = 1;
        d->near = 0;
        d->far = full;
    }
}

static bool is_full(family_reader *r, const lin_json *types, int64_t layer)
{
    const lin_json *type = &types->items[layer];
    if (type->kind == LIN_JSON_STRING && strcmp(type->text, "full_attention") == 0)
        return true;
    if (type->kind != LIN_JSON_STRING || strcmp(type->text, "sliding_attention") != 0)
        lin_family_fail(
            r, LINNET_ERROR_UNSUPPORTED,
            "`layer_types` has %s at layer %lld; `full_attention` or `sliding_attention` "
            "is meant",
            type->kind == LIN_JSON_STRING ? type->text : lin_json_kind_name(type->kind),
            (long long)layer);
    return false;
}

/* Whether each layer is as the shape's groups have it. */
static bool fits(family_reader *r, const lin_json *types, const decoder_shape *d)
{
    const int64_t period = d->near + d->far;
    for (int64_t i = 0; i < d->layers; i++) {
        const bool is_grouped = i < d->groups * period;
        const bool is_far = is_grouped ? i % period >= d->near : d->window == 0;
        if (is_full(r, types, i) != is_far)
            return false;
    }
    return true;
}

static int64_t count_run(family_reader *r, const lin_json *types, int64_t from, bool full)
{
    int64_t at = from;
    while (at < types->count && is_full(r, types, at) == full)
        at++;
    return at - from;
}

void lin_decoder_read_layer_types(family_reader *r, decoder_shape *d, int64_t period)
{
    const lin_json *types = lin_family_array(r, r->text, "layer_types");
    if (types == NULL) {
        if (d->window != 0 && period > 0)
            set_period(d, period);
        return;
    }
    if (types->count != d->layers)
        lin_family_fail(r, LINNET_ERROR_FORMAT,
                        "`layer_types` has %u layers, `num_hidden_layers` %lld", types->count,
                        (long long)d->layers);
    const int64_t near = count_run(r, types, 0, false);
    const int64_t far = count_run(r, types, near, true);
    if (near == 0)
        lin_decoder_full_first(d, far);
    else if (far == 1)
        set_period(d, near + 1);
    else if (far > 0)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "`layer_types` has %lld full layers after each other", (long long)far);
    if (d->window == 0 && near > 0)
        lin_family_fail(r, LINNET_ERROR_FORMAT,
                        "`layer_types` has sliding layers, but there is no `sliding_window`");
    if (!fits(r, types, d))
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED, "`layer_types` repeats no pattern of layers");
}

bool lin_decoder_is_tied(family_reader *r, bool fallback)
{
    static const char key[] = "tie_word_embeddings";
    return lin_family_flag(r, r->text, key, lin_family_flag(r, r->config, key, fallback));
}

void lin_decoder_refuse_flag(family_reader *r, const char *key, bool fallback, bool refused)
{
    if (lin_family_flag(r, r->text, key, fallback) == refused)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "`%s` %s is not expressed by the source of `%s`", key,
                        refused ? "true" : "false", r->model_type);
}

/* ---- programs ---- */

/* A whole number for a value that changes no size; `nearest` when it is none. */
static int64_t rounded(family_reader *r, const char *what, double value)
{
    if (!(value >= 1 && value < 9e15))
        lin_family_fail(r, LINNET_ERROR_FORMAT, "the %s is out of range", what);
    const double nearest = floor(value + 0.5);
    if (fabs(nearest - value) > 1e-6 * value)
        lin_family_assume(r, "the %s is rounded, which changes no size", what);
    return (int64_t)nearest;
}

static int64_t inverse_eps(family_reader *r, const decoder_shape *d)
{
    return rounded(r, "inverse of the norms' epsilon", d->eps > 0 ? 1 / d->eps : 0);
}

static bool is_plain(const decoder_shape *d)
{
    return d->window == 0 && d->groups == 0 && d->rotary == d->head_dim && !d->joint_qkv &&
           !d->joint_mlp && !d->gelu && !d->layer_norm && !d->unit_offset && !d->scaled &&
           d->final_cap <= 0 && !d->other_norms && d->head_dim % 2 == 0;
}

/* The settings that all three have. */
static void set_sizes(family_reader *r, const decoder_shape *d)
{
    const int64_t cache =
        d->positions > 0 && d->positions < LONGEST_CACHE ? d->positions : LONGEST_CACHE;
    r->root = "Model";
    lin_family_set(r, "Vocab", d->vocab);
    lin_family_set(r, "H", d->hidden);
    lin_family_set(r, "Heads", d->heads);
    lin_family_set(r, "KvHeads", d->kv_heads);
    lin_family_set(r, "Inner", d->inner);
    lin_family_set(r, "Layers", d->layers - d->groups * (d->near + d->far));
    lin_family_set(r, "Batch", 1);
    lin_family_set(r, "MaxSeq", cache);
    lin_family_set_dtype(r, "T", lin_family_dtype(r, r->text));
}

static void set_llama(family_reader *r, const decoder_shape *d)
{
    const lin_json *scaling = rope_settings(r);
    r->program = "models/llama.linnet";
    lin_family_set(r, "RopeTheta", rounded(r, "rotary base", d->theta));
    lin_family_set(r, "InverseEps", inverse_eps(r, d));
    if (strcmp(lin_family_word(r, scaling, "rope_type", lin_family_word(r, scaling, "type", "")),
               "llama3") == 0)
        lin_family_set(r, "RopeFactor",
                       rounded(r, "rotary scaling", lin_family_real(r, scaling, "factor", 8)));
}

static void set_qwen3(family_reader *r, const decoder_shape *d)
{
    r->program = "models/qwen3.linnet";
    lin_family_set(r, "HeadDim", d->head_dim);
}

static void set_decoder(family_reader *r, const decoder_shape *d)
{
    r->program = "models/decoder.linnet";
    lin_family_set(r, "HeadDim", d->head_dim);
    lin_family_set(r, "Rotary", d->rotary);
    lin_family_set(r, "Groups", d->groups);
    lin_family_set(r, "Near", d->near);
    lin_family_set(r, "Far", d->far);
    if (d->window > 0)
        lin_family_set(r, "Window", d->window);
    lin_family_set(r, "Joint", d->joint_qkv);
    lin_family_set(r, "Halves", d->joint_mlp ? 2 : 1);
    lin_family_set(r, "Gelu", d->gelu);
    lin_family_set(r, "Centred", d->layer_norm);
    lin_family_set(r, "UnitOffset", d->unit_offset);
    lin_family_set(r, "Scaled", d->scaled);
    lin_family_set(r, "FinalCap",
                   d->final_cap > 0 ? rounded(r, "bound of the logits", d->final_cap) : 0);
    lin_family_set(r, "RopeTheta", rounded(r, "rotary base", d->theta));
    lin_family_set(r, "InverseEps", inverse_eps(r, d));
}

static void expect_sizes(family_reader *r, const decoder_shape *d)
{
    const struct {
        const char *what;
        int64_t size;
    } sizes[] = { { "vocabulary", d->vocab },         { "width", d->hidden },
                  { "number of heads", d->heads },    { "number of key heads", d->kv_heads },
                  { "width of a head", d->head_dim }, { "inner width", d->inner },
                  { "number of layers", d->layers } };
    for (uint32_t i = 0; i < ARRAY_LEN(sizes); i++)
        if (sizes[i].size < 1)
            lin_family_fail(r, LINNET_ERROR_FORMAT, "the %s is 0; at least 1 is meant",
                            sizes[i].what);
}

void lin_decoder_set(family_reader *r, const decoder_shape *d)
{
    expect_sizes(r, d);
    decoder_shape whole = *d;
    if (whole.rotary == 0)
        whole.rotary = whole.head_dim;
    if (whole.rotary % 2 != 0 || whole.head_dim % 2 != 0)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "an odd number of a head's values is turned (%lld of %lld)",
                        (long long)whole.rotary, (long long)whole.head_dim);
    const bool is_square =
        whole.hidden / whole.heads == whole.head_dim && whole.hidden % whole.heads == 0;
    set_sizes(r, &whole);
    if (is_plain(&whole) && is_square && !whole.head_norm)
        set_llama(r, &whole);
    else if (is_plain(&whole) && whole.head_norm &&
             rounded(r, "rotary base", whole.theta) == QWEN3_THETA &&
             inverse_eps(r, &whole) == QWEN3_INVERSE_EPS)
        set_qwen3(r, &whole);
    else
        set_decoder(r, &whole);
}
