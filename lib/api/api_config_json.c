/* SPDX-License-Identifier: MIT */

/*
 * A config from one JSON object: a row a key, each calling the public setter of that name. The keys
 * are applied to a copy, which replaces the config when all of them were accepted.
 */

#include "api/api.h"
#include <string.h>

typedef struct config_key {
    const char *key;
    linnet_status (*set_text)(linnet_config *config, const char *text, linnet_error *err);
    linnet_status (*set_integer)(linnet_config *config, int64_t value, linnet_error *err);
    linnet_status (*set_flag)(linnet_config *config, int32_t value, linnet_error *err);
    linnet_status (*set_value)(linnet_config *config, const lin_json *value, linnet_error *err);
} config_key;

static linnet_status wrong_type(const char *key, const char *meant, const lin_json *found,
                                linnet_error *err)
{
    return lin_fail(err, LINNET_ERROR_ARGUMENT, "`%s` must be %s, not %s", key, meant,
                    lin_json_kind_name(found->kind));
}

/* "bind": an object from generic to integer or dtype. */
static linnet_status set_bind(linnet_config *config, const lin_json *value, linnet_error *err)
{
    linnet_status status = LINNET_OK;
    if (value->kind != LIN_JSON_OBJECT)
        return wrong_type("bind", "an object", value, err);
    for (uint32_t i = 0; i < value->count && status == LINNET_OK; i++) {
        const lin_json *item = &value->items[i];
        lin_text number;
        lin_text_init(&number, &config->allocator);
        if (item->kind == LIN_JSON_INTEGER)
            lin_text_i64(&number, item->integer);
        else if (item->kind == LIN_JSON_STRING)
            lin_text_append(&number, item->text, item->length);
        else
            status = wrong_type(value->keys[i], "an integer or a dtype", item, err);
        if (status == LINNET_OK)
            status = number.failed
                         ? lin_fail_memory(err)
                         : linnet_config_bind(config, value->keys[i], lin_text_data(&number), err);
        lin_text_free(&number);
    }
    return status;
}

typedef linnet_status (*text_adder)(linnet_config *config, const char *text, linnet_error *err);

static linnet_status add_each(linnet_config *config, const char *key, text_adder add,
                              const lin_json *value, linnet_error *err)
{
    linnet_status status = LINNET_OK;
    if (value->kind != LIN_JSON_ARRAY)
        return wrong_type(key, "an array", value, err);
    for (uint32_t i = 0; i < value->count && status == LINNET_OK; i++)
        status = value->items[i].kind == LIN_JSON_STRING
                     ? add(config, value->items[i].text, err)
                     : wrong_type(key, "an array of strings", &value->items[i], err);
    return status;
}

/* "optional": a list of paths. */
static linnet_status set_optional(linnet_config *config, const lin_json *value, linnet_error *err)
{
    return add_each(config, "optional", linnet_config_add_optional, value, err);
}

/* "trainable": a list of patterns. */
static linnet_status set_trainable(linnet_config *config, const lin_json *value, linnet_error *err)
{
    return add_each(config, "trainable", linnet_config_add_trainable, value, err);
}

/* "checkpoint_choice": a list of policies. */
static linnet_status set_checkpoint_choice(linnet_config *config, const lin_json *value,
                                           linnet_error *err)
{
    return add_each(config, "checkpoint_choice", linnet_config_add_checkpoint_choice, value, err);
}

/* clang-format off */
static const config_key config_keys[] = {
    { .key = "backend",          .set_text    = linnet_config_set_backend },
    { .key = "batch",            .set_integer = linnet_config_set_batch },
    { .key = "bind",             .set_value   = set_bind },
    { .key = "cache",            .set_integer = linnet_config_set_cache },
    { .key = "checkpoint",      .set_text    = linnet_config_set_checkpoint },
    { .key = "checkpoint_choice",.set_value   = set_checkpoint_choice },
    { .key = "context",          .set_integer = linnet_config_set_context },
    { .key = "context_bytes",    .set_integer = linnet_config_set_context_bytes },
    { .key = "context_exchange", .set_text    = linnet_config_set_context_exchange },
    { .key = "context_parallel", .set_integer = linnet_config_set_context_parallel },
    { .key = "cublas_workspace", .set_text    = linnet_config_set_cublas_workspace },
    { .key = "device_memory",    .set_integer = linnet_config_set_device_memory },
    { .key = "devices",          .set_integer = linnet_config_set_devices },
    { .key = "dtype",            .set_text    = linnet_config_set_dtype },
    { .key = "entry",            .set_text    = linnet_config_set_entry },
    { .key = "expert_imbalance", .set_integer = linnet_config_set_expert_imbalance },
    { .key = "expert_parallel",  .set_integer = linnet_config_set_expert_parallel },
    { .key = "explain",          .set_flag    = linnet_config_set_explain },
    { .key = "file_bytes",       .set_integer = linnet_config_set_file_bytes },
    { .key = "clip_grad_norm",   .set_flag    = linnet_config_set_clip_grad_norm },
    { .key = "global_batch",     .set_integer = linnet_config_set_global_batch },
    { .key = "grad_accumulation",.set_integer = linnet_config_set_grad_accumulation },
    { .key = "gradient_dtype",  .set_text    = linnet_config_set_gradient_dtype },
    { .key = "kv_block_size",    .set_integer = linnet_config_set_kv_block_size },
    { .key = "kv_dtype",         .set_text    = linnet_config_set_kv_dtype },
    { .key = "kv_window",        .set_text    = linnet_config_set_kv_window },
    { .key = "limit",            .set_integer = linnet_config_set_limit },
    { .key = "lora",            .set_text    = linnet_config_set_lora },
    { .key = "loss",            .set_text    = linnet_config_set_loss },
    { .key = "master_dtype",    .set_text    = linnet_config_set_master_dtype },
    { .key = "microbatches",    .set_integer = linnet_config_set_microbatches },
    { .key = "no_bindings",      .set_flag    = linnet_config_set_no_bindings },
    { .key = "numerics",         .set_text    = linnet_config_set_numerics },
    { .key = "optimizer",       .set_text    = linnet_config_set_optimizer },
    { .key = "optional",         .set_value   = set_optional },
    { .key = "pipeline_model",  .set_text    = linnet_config_set_pipeline_model },
    { .key = "pipeline_parallel",.set_integer = linnet_config_set_pipeline_parallel },
    { .key = "prefetch",         .set_integer = linnet_config_set_prefetch },
    { .key = "replicas",         .set_integer = linnet_config_set_replicas },
    { .key = "reshard",          .set_text    = linnet_config_set_reshard },
    { .key = "root",             .set_text    = linnet_config_set_root },
    { .key = "schedule",        .set_text    = linnet_config_set_schedule },
    { .key = "sequence_parallel",.set_flag    = linnet_config_set_sequence_parallel },
    { .key = "shards",           .set_integer = linnet_config_set_shards },
    { .key = "stages",          .set_text    = linnet_config_set_stages },
    { .key = "stages_by",        .set_text    = linnet_config_set_stages_by },
    { .key = "std_directory",    .set_text    = linnet_config_set_std_directory },
    { .key = "step",            .set_text    = linnet_config_set_step },
    { .key = "tensor_parallel",  .set_integer = linnet_config_set_tensor_parallel },
    { .key = "threads",          .set_integer = linnet_config_set_threads },
    { .key = "time_model",       .set_text    = linnet_config_set_time_model },
    { .key = "timeline",        .set_flag    = linnet_config_set_timeline },
    { .key = "trainable",       .set_value   = set_trainable },
    { .key = "training",        .set_flag    = linnet_config_set_training },
    { .key = "training_loop",   .set_text    = linnet_config_set_training_loop },
    { .key = "virtual_stages",  .set_integer = linnet_config_set_virtual_stages },
    { .key = "zero",             .set_integer = linnet_config_set_zero },
};
/* clang-format on */

static const config_key *find_key(const char *key)
{
    for (uint32_t i = 0; i < ARRAY_LEN(config_keys); i++)
        if (strcmp(config_keys[i].key, key) == 0)
            return &config_keys[i];
    return NULL;
}

static linnet_status unknown_key(const char *key, linnet_error *err)
{
    const char *names[ARRAY_LEN(config_keys)];
    for (uint32_t i = 0; i < ARRAY_LEN(config_keys); i++)
        names[i] = config_keys[i].key;
    const char *nearest = lin_nearest(key, names, ARRAY_LEN(config_keys));
    if (nearest == NULL)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "no option is called `%s`", key);
    return lin_fail(err, LINNET_ERROR_ARGUMENT, "no option is called `%s`; did you mean `%s`?", key,
                    nearest);
}

static linnet_status apply(linnet_config *config, const char *key, const lin_json *value,
                           linnet_error *err)
{
    const config_key *row = find_key(key);
    if (row == NULL)
        return unknown_key(key, err);
    if (row->set_value != NULL)
        return row->set_value(config, value, err);
    if (row->set_text != NULL)
        return value->kind == LIN_JSON_STRING ? row->set_text(config, value->text, err)
                                              : wrong_type(key, "a string", value, err);
    if (row->set_integer != NULL)
        return value->kind == LIN_JSON_INTEGER ? row->set_integer(config, value->integer, err)
                                               : wrong_type(key, "an integer", value, err);
    return value->kind == LIN_JSON_TRUE || value->kind == LIN_JSON_FALSE
               ? row->set_flag(config, value->kind == LIN_JSON_TRUE, err)
               : wrong_type(key, "true or false", value, err);
}

linnet_status linnet_config_set_json(linnet_config *config, const char *text, uint64_t length,
                                     linnet_error *err)
{
    lin_arena scratch;
    const lin_json *options = NULL;
    linnet_config *copy = NULL;
    linnet_status status;

    lin_arena_init(&scratch, &config->allocator);
    if ((status = lin_json_read("options", text, length, false, &scratch, &options, err)) !=
        LINNET_OK)
        goto out;
    if (options->kind != LIN_JSON_OBJECT) {
        status = lin_fail(err, LINNET_ERROR_FORMAT, "the options must be a JSON object, not %s",
                          lin_json_kind_name(options->kind));
        goto out;
    }
    if ((copy = lin_config_clone(config)) == NULL) {
        status = lin_fail_memory(err);
        goto out;
    }
    for (uint32_t i = 0; i < options->count && status == LINNET_OK; i++)
        status = apply(copy, options->keys[i], &options->items[i], err);
    if (status == LINNET_OK) {
        const linnet_config old = *config;
        *config = *copy;
        *copy = old;
    }
out:
    linnet_config_free(copy);
    lin_arena_free(&scratch);
    return status;
}
