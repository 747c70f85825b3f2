/* SPDX-License-Identifier: MIT */

/*
 * The config handle: one setter an option. Each setter looks at its value first and changes nothing
 * when it refuses.
 */

#include "api/api.h"
#include <stdio.h>
#include <string.h>

linnet_status linnet_config_new(linnet_config **out_config, linnet_error *err)
{
    return linnet_config_new_with_allocator(lin_default_allocator.fn, lin_default_allocator.user,
                                            out_config, err);
}

linnet_status linnet_config_new_with_allocator(linnet_alloc_fn fn, void *user,
                                               linnet_config **out_config, linnet_error *err)
{
    if (fn == NULL)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "the allocator is NULL");
    const lin_allocator allocator = { fn, user };
    linnet_config *config = lin_alloc_zeroed(&allocator, sizeof *config);
    if (config == NULL)
        return lin_fail_memory(err);
    config->allocator = allocator;
    config->numerics = LIN_NUMERICS_FAST;
    config->backend = LIN_BACKEND_CUDA;
    config->context_bytes = -1;
    config->file_bytes = (int64_t)lin_lang_default_limits.source_bytes;
    *out_config = config;
    return LINNET_OK;
}

static void release_text(const linnet_config *config, char *text)
{
    if (text != NULL)
        lin_release(&config->allocator, text, strlen(text) + 1);
}

static void release_texts(const linnet_config *config, config_texts *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        release_text(config, list->items[i]);
    lin_release(&config->allocator, list->items, list->capacity * sizeof *list->items);
}

void linnet_config_free(linnet_config *config)
{
    if (config == NULL)
        return;
    for (uint32_t i = 0; i < CONFIG_TEXT_COUNT; i++)
        release_text(config, config->texts[i]);
    for (uint32_t i = 0; i < config->bind_count; i++)
        release_text(config, (char *)(uintptr_t)config->binds[i].name);
    for (uint32_t i = 0; i < config->optional_count; i++)
        release_text(config, config->optional[i]);
    lin_release(&config->allocator, config->binds, config->bind_capacity * sizeof *config->binds);
    lin_release(&config->allocator, config->optional,
                config->optional_capacity * sizeof *config->optional);
    release_texts(config, &config->trainable);
    release_texts(config, &config->checkpoint_choice);
    linnet_device_unref(config->device);
    const lin_allocator allocator = config->allocator;
    lin_release(&allocator, config, sizeof *config);
}

static char *copy_text(const linnet_config *config, const char *text)
{
    const uint64_t size = strlen(text) + 1;
    char *copy = lin_alloc(&config->allocator, size);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

linnet_status lin_config_set_text(linnet_config *config, int which, const char *text,
                                  linnet_error *err)
{
    char *copy = text != NULL ? copy_text(config, text) : NULL;
    if (text != NULL && copy == NULL)
        return lin_fail_memory(err);
    release_text(config, config->texts[which]);
    config->texts[which] = copy;
    return LINNET_OK;
}

/* Room for one more item; false: out of memory. */
static bool reserve(const linnet_config *config, void **items, uint32_t count, uint32_t *capacity,
                    uint64_t size)
{
    if (count < *capacity)
        return true;
    const uint32_t wider = *capacity == 0 ? 8 : *capacity * 2;
    void *moved = wider > *capacity
                      ? lin_resize(&config->allocator, *items, *capacity * size, wider * size)
                      : NULL;
    if (moved == NULL)
        return false;
    *items = moved;
    *capacity = wider;
    return true;
}

linnet_status lin_config_push_text(linnet_config *config, config_texts *list, const char *text,
                                   linnet_error *err)
{
    char *copy = NULL;
    if (!reserve(config, (void **)&list->items, list->count, &list->capacity,
                 sizeof *list->items) ||
        (copy = copy_text(config, text)) == NULL)
        return lin_fail_memory(err);
    list->items[list->count++] = copy;
    return LINNET_OK;
}

/* ---- sizes ---- */

static linnet_status set_role(linnet_config *config, lin_role role, int64_t value,
                              linnet_error *err)
{
    if (value < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "%s must be at least 1, not %lld",
                        lin_role_names[role], (long long)value);
    config->role_value[role] = value;
    return LINNET_OK;
}

linnet_status linnet_config_set_batch(linnet_config *config, int64_t sequences, linnet_error *err)
{
    return set_role(config, LIN_ROLE_BATCH, sequences, err);
}

linnet_status linnet_config_set_context(linnet_config *config, int64_t positions, linnet_error *err)
{
    return set_role(config, LIN_ROLE_CONTEXT, positions, err);
}

linnet_status linnet_config_set_cache(linnet_config *config, int64_t positions, linnet_error *err)
{
    return set_role(config, LIN_ROLE_CACHE, positions, err);
}

/* ---- words ---- */

static linnet_status unknown_dtype(const char *name, linnet_error *err)
{
    const char *names[LIN_DTYPE_COUNT];
    for (int i = 0; i < LIN_DTYPE_COUNT; i++)
        names[i] = lin_dtype_name((lin_dtype)i);
    const char *nearest = lin_nearest(name, names, LIN_DTYPE_COUNT);
    if (nearest != NULL)
        return lin_fail(err, LINNET_ERROR_NOT_FOUND, "no dtype is called `%s`; did you mean `%s`?",
                        name, nearest);
    return lin_fail(
        err, LINNET_ERROR_NOT_FOUND,
        "no dtype is called `%s`: there are bool, i8 to i64, u8 to u64, f16, bf16, f32 and f64",
        name);
}

linnet_status lin_config_find_dtype(const char *name, lin_dtype *out, linnet_error *err)
{
    return lin_dtype_find(name, strlen(name), out) ? LINNET_OK : unknown_dtype(name, err);
}

linnet_status linnet_config_set_dtype(linnet_config *config, const char *dtype, linnet_error *err)
{
    lin_dtype found = LIN_DTYPE_F32;
    if (dtype != NULL) {
        linnet_status status = lin_config_find_dtype(dtype, &found, err);
        if (status != LINNET_OK)
            return status;
        if (lin_dtype_class_of(found) != LIN_CLASS_FLOAT)
            return lin_fail(err, LINNET_ERROR_ARGUMENT, "the dtype must be a float, not `%s`",
                            dtype);
    }
    config->has_dtype = dtype != NULL;
    config->dtype = found;
    return LINNET_OK;
}

static linnet_status unknown_kv_format(const char *name, linnet_error *err)
{
    const char *names[64];
    uint32_t count = 0;
    for (const lin_kv_format *format;
         count < ARRAY_LEN(names) && (format = lin_kv_format_at(count)) != NULL; count++)
        names[count] = format->name;
    const char *nearest = lin_nearest(name, names, count);
    if (nearest != NULL)
        return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                        "no dtype of caches is called `%s`; did you mean `%s`?", name, nearest);
    return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                    "no dtype of caches is called `%s`: there are those of tensors, fp8, fp8_e4m3, "
                    "fp8_e5m2, q8_0, q5_1, q5_0, q4_1, q4_0 and iq4_nl",
                    name);
}

static linnet_status find_kv_format(const char *name, uint64_t length, const lin_kv_format **out,
                                    linnet_error *err)
{
    char word[64];
    const uint64_t shown = length < sizeof(word) ? length : sizeof(word) - 1;
    *out = lin_kv_format_find(name, length);
    if (*out != NULL)
        return LINNET_OK;
    memcpy(word, name, (size_t)shown);
    word[shown] = '\0';
    return unknown_kv_format(word, err);
}

linnet_status linnet_config_set_kv_dtype(linnet_config *config, const char *dtype,
                                         linnet_error *err)
{
    const lin_kv_format *keys = NULL, *values = NULL;
    if (dtype != NULL) {
        const uint64_t length = strcspn(dtype, ",");
        linnet_status status = find_kv_format(dtype, length, &keys, err);
        values = keys;
        if (status == LINNET_OK && dtype[length] == ',')
            status = find_kv_format(dtype + length + 1, strlen(dtype + length + 1), &values, err);
        if (status != LINNET_OK)
            return status;
    }
    config->kv_keys = keys;
    config->kv_values = values;
    return LINNET_OK;
}

linnet_status linnet_config_set_kv_window(linnet_config *config, const char *window,
                                          linnet_error *err)
{
    const bool full = window != NULL && strcmp(window, "full") == 0;
    if (window != NULL && !full && strcmp(window, "window") != 0)
        return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                        "caches of layers with a window are `window` or `full`, not `%s`", window);
    config->full_window = full;
    return LINNET_OK;
}

linnet_status linnet_config_set_backend(linnet_config *config, const char *backend,
                                        linnet_error *err)
{
    lin_backend_kind kind;
    if (!lin_backend_find(backend, &kind))
        return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                        "no backend is called `%s`: there are `cuda` and `generic`", backend);
    config->backend = kind;
    return LINNET_OK;
}

linnet_status linnet_config_set_numerics(linnet_config *config, const char *numerics,
                                         linnet_error *err)
{
    lin_numerics policy;
    if (!lin_numerics_find(numerics, &policy))
        return lin_fail(
            err, LINNET_ERROR_NOT_FOUND,
            "no numerics policy is called `%s`: there are `exact`, `equivalent` and `fast`",
            numerics);
    config->numerics = policy;
    return LINNET_OK;
}

linnet_status linnet_config_set_root(linnet_config *config, const char *block, linnet_error *err)
{
    return lin_config_set_text(config, CONFIG_ROOT, block, err);
}

linnet_status linnet_config_set_entry(linnet_config *config, const char *entry, linnet_error *err)
{
    return lin_config_set_text(config, CONFIG_ENTRY, entry, err);
}

linnet_status linnet_config_set_std_directory(linnet_config *config, const char *directory,
                                              linnet_error *err)
{
    return lin_config_set_text(config, CONFIG_STD, directory, err);
}

linnet_status linnet_config_set_cublas_workspace(linnet_config *config, const char *text,
                                                 linnet_error *err)
{
    const lin_runtime_settings settings = { .backend = LIN_BACKEND_CUDA,
                                            .context_bytes = -1,
                                            .cublas_workspace_config = text };
    lin_runtime_item items[LIN_RUNTIME_MAX_ITEMS];
    uint32_t count;
    linnet_status status = lin_backend_runtime(&settings, items, &count, err);
    return status == LINNET_OK ? lin_config_set_text(config, CONFIG_CUBLAS, text, err) : status;
}

/* ---- lists ---- */

/* An integer when it is an optional sign and digits, else a dtype. */
static linnet_status read_binding(const char *generic, const char *value, lin_setting *out,
                                  linnet_error *err)
{
    const uint64_t length = strlen(value);
    if (lin_parse_i64(value, length, &out->integer)) {
        out->is_dtype = false;
        return LINNET_OK;
    }
    out->is_dtype = true;
    if (lin_dtype_find(value, length, &out->dtype))
        return LINNET_OK;
    return lin_fail(err, LINNET_ERROR_ARGUMENT,
                    "`%s` for `%s` is neither an integer of 64 bits nor a dtype such as bf16",
                    value, generic);
}

linnet_status linnet_config_bind(linnet_config *config, const char *generic, const char *value,
                                 linnet_error *err)
{
    lin_setting setting = { 0 };
    linnet_status status = read_binding(generic, value, &setting, err);
    if (status != LINNET_OK)
        return status;
    for (uint32_t i = 0; i < config->bind_count; i++) {
        if (strcmp(config->binds[i].name, generic) == 0) {
            setting.name = config->binds[i].name;
            config->binds[i] = setting;
            return LINNET_OK;
        }
    }
    if (!reserve(config, (void **)&config->binds, config->bind_count, &config->bind_capacity,
                 sizeof setting) ||
        (setting.name = copy_text(config, generic)) == NULL)
        return lin_fail_memory(err);
    config->binds[config->bind_count++] = setting;
    return LINNET_OK;
}

linnet_status linnet_config_add_optional(linnet_config *config, const char *path, linnet_error *err)
{
    char *copy = NULL;
    if (!reserve(config, (void **)&config->optional, config->optional_count,
                 &config->optional_capacity, sizeof *config->optional) ||
        (copy = copy_text(config, path)) == NULL)
        return lin_fail_memory(err);
    config->optional[config->optional_count++] = copy;
    return LINNET_OK;
}

/* ---- numbers ---- */

linnet_status linnet_config_set_no_bindings(linnet_config *config, int32_t ignore,
                                            linnet_error *err)
{
    if (ignore != 0 && ignore != 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "no_bindings is 0 or 1, not %d", ignore);
    config->no_bindings = ignore == 1;
    return LINNET_OK;
}

linnet_status linnet_config_set_kv_block_size(linnet_config *config, int64_t positions,
                                              linnet_error *err)
{
    if (positions < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "a cache block must have at least 1 position, not %lld",
                        (long long)positions);
    config->kv_block_size = positions;
    return LINNET_OK;
}

linnet_status linnet_config_set_context_bytes(linnet_config *config, int64_t bytes,
                                              linnet_error *err)
{
    if (bytes < 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "the CUDA context cannot have %lld bytes",
                        (long long)bytes);
    config->context_bytes = bytes;
    return LINNET_OK;
}

linnet_status linnet_config_set_device_memory(linnet_config *config, int64_t bytes,
                                              linnet_error *err)
{
    if (bytes < 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a device's memory cannot be %lld bytes",
                        (long long)bytes);
    config->device_memory = bytes;
    return LINNET_OK;
}

/* The sources count in hundredths; a value between two of them is rounded up. */
linnet_status linnet_config_set_expert_imbalance(linnet_config *config, int64_t thousandths,
                                                 linnet_error *err)
{
    char hundredths[24];
    if (thousandths < 1000 || thousandths > 1000000)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "the fullest expert gets 1 to 1000 times its share, not %lld thousandths",
                        (long long)thousandths);
    (void)snprintf(hundredths, sizeof(hundredths), "%lld", (long long)((thousandths + 9) / 10));
    return linnet_config_bind(config, "Imbalance", hundredths, err);
}

linnet_status linnet_config_set_source(linnet_config *config, linnet_source_fn fn, void *user,
                                       linnet_error *err)
{
    (void)err;
    config->source = fn;
    config->source_user = user;
    return LINNET_OK;
}

linnet_status linnet_config_set_file_bytes(linnet_config *config, int64_t bytes, linnet_error *err)
{
    if (bytes < 1 || bytes > (int64_t)1 << 30)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "the file limit must be between 1 and 2^30 bytes, not %lld",
                        (long long)bytes);
    config->file_bytes = bytes;
    return LINNET_OK;
}

/* ---- for the folders to the left ---- */

static bool copy_texts(linnet_config *copy, config_texts *into, const config_texts *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        if (lin_config_push_text(copy, into, from->items[i], NULL) != LINNET_OK)
            return false;
    return true;
}

/* Copies what is owned one by one, so that a half-made copy can be freed. */
static bool copy_owned(linnet_config *copy, const linnet_config *config)
{
    for (int i = 0; i < CONFIG_TEXT_COUNT; i++)
        if (lin_config_set_text(copy, i, config->texts[i], NULL) != LINNET_OK)
            return false;
    for (uint32_t i = 0; i < config->optional_count; i++)
        if (linnet_config_add_optional(copy, config->optional[i], NULL) != LINNET_OK)
            return false;
    if (!copy_texts(copy, &copy->trainable, &config->trainable) ||
        !copy_texts(copy, &copy->checkpoint_choice, &config->checkpoint_choice))
        return false;
    for (uint32_t i = 0; i < config->bind_count; i++) {
        lin_setting setting = config->binds[i];
        if (!reserve(copy, (void **)&copy->binds, copy->bind_count, &copy->bind_capacity,
                     sizeof setting) ||
            (setting.name = copy_text(copy, setting.name)) == NULL)
            return false;
        copy->binds[copy->bind_count++] = setting;
    }
    return true;
}

linnet_config *lin_config_clone(const linnet_config *config)
{
    linnet_config *copy = lin_alloc(&config->allocator, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *config;
    if (copy->device != NULL)
        linnet_device_ref(copy->device);
    memset(copy->texts, 0, sizeof copy->texts);
    copy->binds = NULL;
    copy->optional = NULL;
    memset(&copy->trainable, 0, sizeof copy->trainable);
    memset(&copy->checkpoint_choice, 0, sizeof copy->checkpoint_choice);
    copy->bind_count = copy->bind_capacity = copy->optional_count = copy->optional_capacity = 0;
    if (copy_owned(copy, config))
        return copy;
    linnet_config_free(copy);
    return NULL;
}

lin_trace_settings lin_config_trace(const linnet_config *config)
{
    lin_trace_settings settings = {
        .root = config->texts[CONFIG_ROOT],
        .entry = config->texts[CONFIG_ENTRY],
        .binds = config->binds,
        .bind_count = config->bind_count,
        .has_dtype = config->has_dtype,
        .dtype = config->dtype,
        .optional_paths = (const char *const *)config->optional,
        .optional_count = config->optional_count,
        .no_bindings = config->no_bindings,
        .full_window = config->full_window,
        .numerics = config->numerics,
        .backend = config->backend,
        .processes = config->parallel.tensor > 1 ? config->parallel.tensor : 1,
        .sequence_parallel = config->parallel.sequence,
        .context_processes = config->parallel.context > 1 ? config->parallel.context : 1,
        .expert_processes = config->parallel.expert > 1 ? config->parallel.expert : 1,
        .training = config->training,
        .loss = config->loss,
    };
    for (int role = 0; role < LIN_ROLE_COUNT; role++) {
        settings.role_given[role] = config->role_value[role] != 0;
        settings.role_value[role] = config->role_value[role];
    }
    return settings;
}

lin_memory_settings lin_config_memory(const linnet_config *config)
{
    return (lin_memory_settings){
        .backend = config->backend,
        .kv_keys = config->kv_keys,
        .kv_values = config->kv_values,
        .kv_block_size = config->kv_block_size,
        .context_bytes = config->context_bytes,
        .device_memory = config->device_memory,
        .cublas_workspace_config = config->texts[CONFIG_CUBLAS],
        .effort = lin_plan_default_effort,
        .pipeline = lin_config_pipeline(config),
        .with_timeline = config->with_timeline,
    };
}
