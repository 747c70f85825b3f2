/* SPDX-License-Identifier: MIT */

/*
 * A GGUF file as a model. Its metadata says what a config.json says, under other names: a config is
 * put together from it and goes through the same families, so that one set of rules gives both the
 * same program. What the metadata leaves out and the tensors show (biases, norms, a head of its
 * own, the rows of the vocabulary) is taken from them.
 *
 * A model split over several files ("-00001-of-00003.gguf") has its metadata in the first.
 */

#include "source/gguf.h"

#include "source/files.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PARTS = 1024, PART_DIGITS = 5 };

/* A config that is being put together. */
typedef struct config_maker {
    lin_arena *arena; /* has a jump target */
    const lin_gguf_model *model;
    const lin_gguf *gguf;
    const char *architecture;
    LIN_LIST(const char *) keys;
    LIN_LIST(lin_json) items;
    jmp_buf *on_failure;
    linnet_status status;
    linnet_error *err;
} config_maker;

_Noreturn static void fail(config_maker *m, linnet_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

_Noreturn static void fail(config_maker *m, linnet_status status, const char *format, ...)
{
    char message[320];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    m->status = lin_fail_at(m->err, status, (lin_place){ .source = m->gguf->source_name }, NULL,
                            "%s", message);
    longjmp(*m->on_failure, 1);
}

/* ---- architectures ---- */

typedef struct architecture_row {
    const char *architecture, *model_type;
} architecture_row;

/* clang-format off */
static const architecture_row architectures[] = {
    { "baichuan",    "baichuan" },
    { "bert",        "bert" },
    { "bloom",       "bloom" },
    { "chatglm",     "chatglm" },
    { "deepseek2",   "deepseek_v2" },
    { "exaone",      "exaone" },
    { "falcon",      "falcon" },
    { "gemma",       "gemma" },
    { "gemma2",      "gemma2" },
    { "gemma3",      "gemma3_text" },
    { "glm4",        "glm4" },
    { "glm4moe",     "glm4_moe" },
    { "gpt-oss",     "gpt_oss" },
    { "gpt2",        "gpt2" },
    { "gptneox",     "gpt_neox" },
    { "granite",     "granite" },
    { "granitemoe",  "granitemoe" },
    { "internlm2",   "internlm2" },
    { "llama",       "llama" },
    { "minicpm3",    "minicpm3" },
    { "minimax-m2",  "minimax_m2" },
    { "mistral3",    "mistral" },
    { "mpt",         "mpt" },
    { "olmo2",       "olmo2" },
    { "phi2",        "phi" },
    { "phi3",        "phi3" },
    { "phimoe",      "phimoe" },
    { "qwen",        "qwen" },
    { "qwen2",       "qwen2" },
    { "qwen2moe",    "qwen2_moe" },
    { "qwen3",       "qwen3" },
    { "qwen3moe",    "qwen3_moe" },
    { "stablelm",    "stablelm" },
    { "starcoder",   "gpt_bigcode" },
    { "starcoder2",  "starcoder2" },
};
/* clang-format on */

/* What a metadata key is called in configs: by all families that ask, since none asks for a name
 * that means something else there. */
typedef struct key_row {
    const char *key;
    const char *names[5];
} key_row;

/* clang-format off */
static const key_row integer_keys[] = {
    { "block_count", { "num_hidden_layers", "n_layer", "n_layers", "num_layers" } },
    { "embedding_length", { "hidden_size", "n_embd", "d_model" } },
    { "feed_forward_length", { "intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim" } },
    { "attention.head_count", { "num_attention_heads", "n_head", "n_heads" } },
    { "attention.head_count_kv", { "num_key_value_heads", "num_kv_heads", "multi_query_group_num" } },
    { "context_length",
      { "max_position_embeddings", "n_positions", "seq_length", "max_seq_len" } },
    { "attention.sliding_window", { "sliding_window" } },
    { "attention.sliding_window_pattern", { "sliding_window_pattern" } },
    { "expert_count", { "num_experts", "num_local_experts", "n_routed_experts" } },
    { "expert_used_count", { "num_experts_per_tok" } },
    { "expert_feed_forward_length", { "moe_intermediate_size" } },
    { "expert_shared_count", { "n_shared_experts" } },
    { "expert_shared_feed_forward_length", { "shared_expert_intermediate_size" } },
    { "expert_group_count", { "n_group" } },
    { "expert_group_used_count", { "topk_group" } },
    { "leading_dense_block_count", { "first_k_dense_replace" } },
    { "nextn_predict_layers", { "num_nextn_predict_layers" } },
    { "attention.q_lora_rank", { "q_lora_rank" } },
    { "attention.kv_lora_rank", { "kv_lora_rank" } },
};

static const key_row real_keys[] = {
    { "attention.layer_norm_rms_epsilon", { "rms_norm_eps" } },
    { "attention.layer_norm_epsilon", { "layer_norm_eps", "layer_norm_epsilon" } },
    { "rope.freq_base", { "rope_theta", "rotary_emb_base" } },
    { "final_logit_softcapping", { "final_logit_softcapping" } },
    { "attn_logit_softcapping", { "attn_logit_softcapping" } },
    { "expert_weights_scale", { "routed_scaling_factor" } },
    { "embedding_scale", { "embedding_multiplier" } },
    { "residual_scale", { "residual_multiplier" } },
    { "attention.scale", { "attention_multiplier" } },
    { "logit_scale", { "logits_scaling" } },
};

static const key_row flag_keys[] = {
    { "expert_weights_norm", { "norm_topk_prob" } },
    { "use_parallel_residual", { "use_parallel_residual" } },
};

/* What a tensor's presence says. */
typedef struct presence_row {
    const char *tensor, *name;
    bool absent; /* the name is true when the tensor is absent */
} presence_row;

static const presence_row presences[] = {
    { "output.weight", "tie_word_embeddings", true },
    { "blk.0.attn_q.bias", "attention_bias", false },
    { "blk.0.attn_q.bias", "use_qkv_bias", false },
    { "blk.0.attn_qkv.bias", "add_qkv_bias", false },
    { "blk.0.ffn_up.bias", "mlp_bias", false },
    { "blk.0.ffn_up.bias", "no_bias", true },
    { "blk.0.attn_q_norm.weight", "qk_layernorm", false },
    { "blk.0.attn_norm_2.weight", "new_decoder_architecture", false },
};
/* clang-format on */

/* ---- putting a config together ---- */

static void put(config_maker *m, const char *key, lin_json item)
{
    LIN_PUSH(m->arena, &m->keys, key);
    LIN_PUSH(m->arena, &m->items, item);
}

static void put_integer(config_maker *m, const char *key, int64_t value)
{
    put(m, key, (lin_json){ .kind = LIN_JSON_INTEGER, .integer = value });
}

static void put_real(config_maker *m, const char *key, double value)
{
    put(m, key, (lin_json){ .kind = LIN_JSON_REAL, .real = value });
}

static void put_flag(config_maker *m, const char *key, bool value)
{
    put(m, key, (lin_json){ .kind = value ? LIN_JSON_TRUE : LIN_JSON_FALSE });
}

static void put_text(config_maker *m, const char *key, const char *text)
{
    put(m, key, (lin_json){ .kind = LIN_JSON_STRING, .text = text, .length = strlen(text) });
}

static const lin_gguf_value *find(const config_maker *m, const char *key)
{
    const char *full = lin_arena_format(m->arena, "%s.%s", m->architecture, key);
    return lin_gguf_find(m->gguf, full);
}

/* A number, or the one that all layers have. False: the key is absent. */
static bool read_integer(config_maker *m, const char *key, int64_t *out)
{
    const lin_gguf_value *value = find(m, key);
    if (value == NULL)
        return false;
    if (value->is_array && value->integers != NULL && value->count > 0) {
        for (uint64_t i = 1; i < value->count; i++)
            if (value->integers[i] != value->integers[0])
                fail(m, LINNET_ERROR_UNSUPPORTED,
                     "`%s.%s` differs among layers, which no source here expresses",
                     m->architecture, key);
        *out = value->integers[0];
    } else if (value->is_integer && value->type != LIN_GGUF_BOOL) {
        *out = value->integer;
    } else {
        fail(m, LINNET_ERROR_FORMAT, "`%s.%s` is no integer of 64 bits", m->architecture, key);
    }
    if (*out < 0)
        fail(m, LINNET_ERROR_FORMAT, "`%s.%s` is %lld; a size is meant", m->architecture, key,
             (long long)*out);
    return true;
}

static int64_t integer_or(config_maker *m, const char *key, int64_t fallback)
{
    int64_t value;
    return read_integer(m, key, &value) ? value : fallback;
}

static int64_t need(config_maker *m, const char *key)
{
    int64_t value;
    if (!read_integer(m, key, &value) || value == 0)
        fail(m, LINNET_ERROR_FORMAT, "`%s.%s` is missing or 0", m->architecture, key);
    return value;
}

static void copy_integers(config_maker *m)
{
    for (uint32_t i = 0; i < ARRAY_LEN(integer_keys); i++) {
        const key_row *row = &integer_keys[i];
        int64_t value;
        if (!read_integer(m, row->key, &value))
            continue;
        for (uint32_t k = 0; k < ARRAY_LEN(row->names) && row->names[k] != NULL; k++)
            put_integer(m, row->names[k], value);
    }
}

static void copy_reals(config_maker *m)
{
    for (uint32_t i = 0; i < ARRAY_LEN(real_keys); i++) {
        const key_row *row = &real_keys[i];
        const lin_gguf_value *value = find(m, row->key);
        if (value == NULL)
            continue;
        const bool is_real = value->type == LIN_GGUF_F32 || value->type == LIN_GGUF_F64;
        if (value->is_array || value->type == LIN_GGUF_BOOL || (!is_real && !value->is_integer))
            fail(m, LINNET_ERROR_FORMAT, "`%s.%s` is no number", m->architecture, row->key);
        const double number = is_real ? value->real : (double)value->integer;
        for (uint32_t k = 0; k < ARRAY_LEN(row->names) && row->names[k] != NULL; k++)
            put_real(m, row->names[k], number);
    }
}

static void copy_flags(config_maker *m)
{
    for (uint32_t i = 0; i < ARRAY_LEN(flag_keys); i++) {
        const lin_gguf_value *value = find(m, flag_keys[i].key);
        if (value == NULL)
            continue;
        if (value->is_array || value->type != LIN_GGUF_BOOL)
            fail(m, LINNET_ERROR_FORMAT, "`%s.%s` is no bool", m->architecture, flag_keys[i].key);
        put_flag(m, flag_keys[i].names[0], value->integer != 0);
    }
    for (uint32_t i = 0; m->model->tensors.count > 0 && i < ARRAY_LEN(presences); i++) {
        const presence_row *row = &presences[i];
        const bool there = lin_tensor_find(&m->model->tensors, row->tensor) != NULL;
        put_flag(m, row->name, there != row->absent);
    }
}

/* The rows that are stored, else what the metadata says, else the tokens there are. */
static void put_vocabulary(config_maker *m)
{
    const lin_tensor *embedding = lin_tensor_find(&m->model->tensors, "token_embd.weight");
    const lin_gguf_value *tokens = lin_gguf_find(m->gguf, "tokenizer.ggml.tokens");
    int64_t rows = 0;
    if (embedding != NULL && embedding->rank == 2)
        rows = embedding->shape[0];
    else if (!read_integer(m, "vocab_size", &rows) && tokens != NULL && tokens->is_array)
        rows = (int64_t)tokens->count;
    if (rows == 0)
        fail(m, LINNET_ERROR_FORMAT,
             "neither `token_embd.weight`, `%s.vocab_size` nor `tokenizer.ggml.tokens` says how "
             "large the vocabulary is",
             m->architecture);
    put_integer(m, "vocab_size", rows);
    put_integer(m, "padded_vocab_size", rows);
}

/* Heads of one width. */
static void put_heads(config_maker *m)
{
    const int64_t heads = need(m, "attention.head_count");
    const int64_t width = need(m, "embedding_length");
    const int64_t head = integer_or(m, "attention.key_length", width / heads);
    const int64_t turned = integer_or(m, "rope.dimension_count", head);
    if (integer_or(m, "attention.value_length", head) != head)
        fail(m, LINNET_ERROR_UNSUPPORTED,
             "`%s` has keys and values of different widths, which no source here expresses",
             m->architecture);
    put_integer(m, "head_dim", head);
    put_integer(m, "kv_channels", head);
    put_integer(m, "rotary_dim", turned);
    if (turned < head && turned > 0) {
        put_real(m, "partial_rotary_factor", (double)turned / (double)head);
        put_real(m, "rotary_pct", (double)turned / (double)head);
    }
    if (find(m, "attention.head_count_kv") == NULL)
        put_integer(m, "num_key_value_heads", heads);
    put_flag(m, "multi_query", integer_or(m, "attention.head_count_kv", heads) == 1);
}

/* Latent attention. Files made for it have the latent's widths under the usual keys and the heads'
 * under "_mla". */
static void put_latent_heads(config_maker *m)
{
    const int64_t turned = need(m, "rope.dimension_count");
    const int64_t key =
        integer_or(m, "attention.key_length_mla", integer_or(m, "attention.key_length", 0));
    const int64_t value =
        integer_or(m, "attention.value_length_mla", integer_or(m, "attention.value_length", 0));
    if (key <= turned || value == 0)
        fail(m, LINNET_ERROR_FORMAT, "`%s.attention.key_length` is %lld, of which %lld are turned",
             m->architecture, (long long)key, (long long)turned);
    put_integer(m, "qk_rope_head_dim", turned);
    put_integer(m, "qk_nope_head_dim", key - turned);
    put_integer(m, "v_head_dim", value);
    if (find(m, "attention.q_lora_rank") == NULL)
        put(m, "q_lora_rank", (lin_json){ .kind = LIN_JSON_NULL });
}

static const char *model_type(config_maker *m)
{
    const char *names[ARRAY_LEN(architectures)];
    const char *found = NULL;
    for (uint32_t i = 0; i < ARRAY_LEN(architectures); i++) {
        names[i] = architectures[i].architecture;
        if (strcmp(names[i], m->architecture) == 0)
            found = architectures[i].model_type;
    }
    if (found == NULL) {
        const char *nearest = lin_nearest(m->architecture, names, ARRAY_LEN(names));
        fail(m, LINNET_ERROR_UNSUPPORTED,
             "architecture `%.100s` is not one that linnet has a source for%s%s%s", m->architecture,
             nearest != NULL ? "; the nearest is `" : "", nearest != NULL ? nearest : "",
             nearest != NULL ? "`" : "");
    }
    if (strcmp(m->architecture, "llama") == 0 && integer_or(m, "expert_count", 0) > 0)
        return "mixtral";
    /* 2: a sigmoid for each expert, which came with version 3 */
    if (strcmp(m->architecture, "deepseek2") == 0 && integer_or(m, "expert_gating_func", 1) == 2)
        return "deepseek_v3";
    return found;
}

/* What one family alone asks for. */
static void put_particular(config_maker *m, const char *type)
{
    if (strcmp(type, "deepseek_v2") == 0 || strcmp(type, "deepseek_v3") == 0) {
        put_integer(m, "moe_layer_freq", 1);
        put_text(m, "scoring_func",
                 integer_or(m, "expert_gating_func", 1) == 2 ? "sigmoid" : "softmax");
    }
    if (strcmp(type, "falcon") == 0)
        put_flag(m, "parallel_attn", true);
    if (strcmp(type, "stablelm") == 0 || strcmp(type, "gpt_neox") == 0)
        put_text(m, "hidden_act", strcmp(type, "stablelm") == 0 ? "silu" : "gelu");
}

static const lin_json *make_config(config_maker *m)
{
    m->architecture = lin_gguf_text(m->gguf, "general.architecture");
    if (m->architecture == NULL || m->architecture[0] == '\0')
        fail(m, LINNET_ERROR_FORMAT,
             "`general.architecture` is missing: it says which family the model is of");
    const char *type = model_type(m);
    put_text(m, "model_type", type);
    put_text(m, "torch_dtype", "float16");
    copy_integers(m);
    copy_reals(m);
    copy_flags(m);
    put_vocabulary(m);
    if (find(m, "feed_forward_length") == NULL && find(m, "expert_feed_forward_length") != NULL)
        put_integer(m, "intermediate_size", need(m, "expert_feed_forward_length"));
    if (find(m, "attention.kv_lora_rank") != NULL)
        put_latent_heads(m);
    else
        put_heads(m);
    put_particular(m, type);
    lin_json *config = LIN_NEW(m->arena, lin_json);
    *config = (lin_json){ .kind = LIN_JSON_OBJECT,
                          .count = m->keys.count,
                          .items = m->items.items,
                          .keys = m->keys.items };
    return config;
}

static linnet_status make_guarded(config_maker *m, const lin_json **out)
{
    jmp_buf failure;
    if (setjmp(failure) != 0)
        return m->status != LINNET_OK ? m->status : lin_fail_memory(m->err);
    m->on_failure = &failure;
    m->arena->on_failure = &failure;
    *out = make_config(m);
    return LINNET_OK;
}

linnet_status lin_gguf_family(lin_arena *arena, const lin_gguf_model *model,
                              family_reader *out_family, linnet_error *err)
{
    config_maker m = { .arena = arena, .model = model, .gguf = &model->head, .err = err };
    jmp_buf *const outer = arena->on_failure;
    const lin_json *config = NULL;
    linnet_status status = make_guarded(&m, &config);
    arena->on_failure = outer;
    if (status != LINNET_OK)
        return status;
    *out_family =
        (family_reader){ .arena = arena, .config_name = model->head.source_name, .err = err };
    return lin_family_read(out_family, config);
}

/* ---- files ---- */

/* "-00002-of-00003.gguf": the digits of the part and how many there are; NULL: another name. */
static const char *part_digits(const char *path, int64_t *out_count)
{
    static const char form[] = "-#####-of-#####.gguf";
    const size_t length = strlen(path), end = strlen(form);
    if (length < end)
        return NULL;
    const char *tail = path + length - end;
    for (size_t i = 0; i < end; i++) {
        const bool digit = tail[i] >= '0' && tail[i] <= '9';
        if (form[i] == '#' ? !digit : tail[i] != form[i])
            return NULL;
    }
    (void)lin_parse_i64(tail + strlen("-#####-of-"), PART_DIGITS, out_count);
    return tail + 1;
}

static linnet_status read_part(lin_arena *arena, const char *path, const char *digits, int64_t part,
                               lin_gguf *out, linnet_error *err)
{
    const char *name = lin_arena_format(arena, "%.*s%05lld%s", (int)(digits - path), path,
                                        (long long)part, digits + PART_DIGITS);
    return name == NULL ? lin_fail_memory(err) : lin_gguf_read_file(arena, name, out, err);
}

static linnet_status add_part(lin_tensor_list *all, const lin_gguf *part, uint32_t shard,
                              linnet_error *err)
{
    for (uint32_t i = 0; i < part->tensors.count; i++) {
        lin_tensor tensor = part->tensors.items[i];
        const int32_t format = lin_tensor_format_of(all, part->tensors.formats[tensor.format].name);
        if (format < 0)
            return lin_fail(err, LINNET_ERROR_UNSUPPORTED, "too many types of tensors");
        tensor.format = (uint16_t)format;
        tensor.shard = shard;
        linnet_status status = lin_tensor_add(all, &tensor, err);
        if (status != LINNET_OK)
            return status;
    }
    all->shards[shard] = (lin_tensor_shard){ part->source_name, true };
    return LINNET_OK;
}

static linnet_status join(lin_arena *arena, const lin_gguf *parts, uint32_t count,
                          lin_gguf_model *out, linnet_error *err)
{
    uint64_t tensors = 0;
    for (uint32_t i = 0; i < count; i++)
        tensors += parts[i].tensors.count;
    out->head = parts[0];
    if (count == 1) {
        out->tensors = parts[0].tensors;
        return LINNET_OK;
    }
    linnet_status status =
        lin_tensor_list_init(&out->tensors, arena, parts[0].source_name, tensors, err);
    if (status != LINNET_OK)
        return status;
    out->tensors.shards = LIN_NEW_ARRAY(arena, lin_tensor_shard, count);
    out->tensors.shard_count = count;
    if (out->tensors.shards == NULL)
        return lin_fail_memory(err);
    for (uint32_t i = 0; i < count && status == LINNET_OK; i++)
        status = add_part(&out->tensors, &parts[i], i, err);
    return status;
}

static linnet_status read_parts(lin_arena *arena, const char *path, lin_gguf_model *out,
                                linnet_error *err)
{
    int64_t count = 1;
    const char *digits = part_digits(path, &count);
    if (count < 1 || count > MAX_PARTS)
        return lin_fail_at(err, LINNET_ERROR_UNSUPPORTED, (lin_place){ .source = path }, NULL,
                           "the name says %lld files; 1 to %d are read", (long long)count,
                           MAX_PARTS);
    lin_gguf *parts = LIN_NEW_ARRAY(arena, lin_gguf, (uint64_t)count);
    if (parts == NULL)
        return lin_fail_memory(err);
    linnet_status status = LINNET_OK;
    if (digits == NULL)
        status = lin_gguf_read_file(arena, path, &parts[0], err);
    for (int64_t i = 0; digits != NULL && i < count && status == LINNET_OK; i++)
        status = read_part(arena, path, digits, i + 1, &parts[i], err);
    return status == LINNET_OK ? join(arena, parts, (uint32_t)count, out, err) : status;
}

linnet_status lin_gguf_open(lin_arena *arena, const char *path, lin_gguf_model *out_model,
                            family_reader *out_family, linnet_error *err)
{
    jmp_buf *const outer = arena->on_failure;
    arena->on_failure = NULL;
    linnet_status status = read_parts(arena, path, out_model, err);
    arena->on_failure = outer;
    if (status == LINNET_OK)
        status = lin_gguf_family(arena, out_model, out_family, err);
    if (status == LINNET_OK)
        out_family->title = lin_gguf_text(&out_model->head, "general.name");
    if (status == LINNET_OK && out_family->title == NULL)
        out_family->title = "";
    return status;
}
