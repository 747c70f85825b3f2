/* SPDX-License-Identifier: MIT */

/*
 * Typed access to a config.json and the answers of a family's function. A failure fills the
 * caller's error and jumps to lin_family_read, so the functions that read families have no error
 * paths of their own.
 */

#include "source/family.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Noreturn static void leave(family_reader *r)
{
    longjmp(*r->on_failure, 1);
}

_Noreturn void lin_family_fail(family_reader *r, linnet_status status, const char *format, ...)
{
    char message[400];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    r->status =
        lin_fail_at(r->err, status, (lin_place){ .source = r->config_name }, NULL, "%s", message);
    leave(r);
}

/* ---- reading ---- */

static const lin_json *find(const lin_json *object, const char *key)
{
    const lin_json *value = object != NULL ? lin_json_get(object, key) : NULL;
    return value != NULL && value->kind != LIN_JSON_NULL ? value : NULL;
}

bool lin_family_has(const lin_json *object, const char *key)
{
    return find(object, key) != NULL;
}

_Noreturn static void wrong_type(family_reader *r, const char *key, const lin_json *found,
                                 const char *meant)
{
    lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` is %s; %s is meant", key,
                    lin_json_kind_name(found->kind), meant);
}

/* A whole number >= 0. Some writers print 4096.0. */
static int64_t whole(family_reader *r, const lin_json *value, const char *key)
{
    if (value->kind == LIN_JSON_INTEGER) {
        if (value->integer < 0)
            lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` is %lld; a size is meant", key,
                            (long long)value->integer);
        return value->integer;
    }
    if (value->kind != LIN_JSON_REAL)
        wrong_type(r, key, value, "a whole number");
    if (!(value->real >= 0 && value->real < 9007199254740992.0) ||
        value->real != floor(value->real))
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` is no whole number", key);
    return (int64_t)value->real;
}

int64_t lin_family_int(family_reader *r, const lin_json *object, const char *key, int64_t fallback)
{
    const lin_json *value = find(object, key);
    return value != NULL ? whole(r, value, key) : fallback;
}

int64_t lin_family_int_of(family_reader *r, const lin_json *object, const char *const *keys,
                          int64_t fallback)
{
    for (; *keys != NULL; keys++)
        if (lin_family_has(object, *keys))
            return lin_family_int(r, object, *keys, fallback);
    return fallback;
}

int64_t lin_family_need(family_reader *r, const lin_json *object, const char *key)
{
    const lin_json *value = find(object, key);
    if (value == NULL)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` is missing", key);
    const int64_t number = whole(r, value, key);
    if (number < 1)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` is 0; at least 1 is meant", key);
    return number;
}

bool lin_family_flag(family_reader *r, const lin_json *object, const char *key, bool fallback)
{
    const lin_json *value = find(object, key);
    if (value == NULL)
        return fallback;
    if (value->kind != LIN_JSON_TRUE && value->kind != LIN_JSON_FALSE)
        wrong_type(r, key, value, "true or false");
    return value->kind == LIN_JSON_TRUE;
}

double lin_family_real(family_reader *r, const lin_json *object, const char *key, double fallback)
{
    const lin_json *value = find(object, key);
    if (value == NULL)
        return fallback;
    if (value->kind != LIN_JSON_REAL && value->kind != LIN_JSON_INTEGER)
        wrong_type(r, key, value, "a number");
    const double number = value->kind == LIN_JSON_REAL ? value->real : (double)value->integer;
    if (!isfinite(number))
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` is not finite", key);
    return number;
}

const char *lin_family_word(family_reader *r, const lin_json *object, const char *key,
                            const char *fallback)
{
    const lin_json *value = find(object, key);
    if (value == NULL)
        return fallback;
    if (value->kind != LIN_JSON_STRING)
        wrong_type(r, key, value, "a string");
    return value->text;
}

const lin_json *lin_family_object(family_reader *r, const lin_json *object, const char *key)
{
    const lin_json *value = find(object, key);
    if (value != NULL && value->kind != LIN_JSON_OBJECT)
        wrong_type(r, key, value, "an object");
    return value;
}

const lin_json *lin_family_array(family_reader *r, const lin_json *object, const char *key)
{
    const lin_json *value = find(object, key);
    if (value != NULL && value->kind != LIN_JSON_ARRAY)
        wrong_type(r, key, value, "an array");
    return value;
}

int64_t lin_family_item(family_reader *r, const lin_json *array, const char *key, uint32_t index)
{
    if (array == NULL || index >= array->count)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` has no item %u", key, index);
    return whole(r, &array->items[index], key);
}

lin_dtype lin_family_dtype(family_reader *r, const lin_json *object)
{
    static const struct {
        const char *word;
        lin_dtype dtype;
    } words[] = { { "bfloat16", LIN_DTYPE_BF16 }, { "float16", LIN_DTYPE_F16 },
                  { "half", LIN_DTYPE_F16 },      { "float32", LIN_DTYPE_F32 },
                  { "float", LIN_DTYPE_F32 },     { "float64", LIN_DTYPE_F64 } };
    const char *word = NULL;
    const lin_json *places[] = { object, r->config };
    for (uint32_t i = 0; i < ARRAY_LEN(places) && word == NULL; i++)
        if ((word = lin_family_word(r, places[i], "torch_dtype", NULL)) == NULL)
            word = lin_family_word(r, places[i], "dtype", NULL);
    if (word == NULL) {
        lin_family_assume(r, "the config names no dtype: bf16 weights are assumed");
        return LIN_DTYPE_BF16;
    }
    word = strncmp(word, "torch.", 6) == 0 ? word + 6 : word;
    for (uint32_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].dtype;
    lin_family_assume(r, "dtype `%s` is computed in bf16", word);
    return LIN_DTYPE_BF16;
}

int64_t lin_family_divide(family_reader *r, const char *key, int64_t value, const char *by_key,
                          int64_t by)
{
    if (by < 1 || value % by != 0)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` (%lld) does not divide by `%s` (%lld)", key,
                        (long long)value, by_key, (long long)by);
    return value / by;
}

/* ---- answering ---- */

static void set(family_reader *r, lin_setting setting)
{
    for (uint32_t i = 0; i < r->settings.count; i++) {
        if (strcmp(r->settings.items[i].name, setting.name) == 0) {
            r->settings.items[i] = setting;
            return;
        }
    }
    LIN_PUSH(r->arena, &r->settings, setting);
}

void lin_family_set(family_reader *r, const char *generic, int64_t value)
{
    set(r, (lin_setting){ .name = generic, .integer = value });
}

void lin_family_set_dtype(family_reader *r, const char *generic, lin_dtype dtype)
{
    set(r, (lin_setting){ .name = generic, .is_dtype = true, .dtype = dtype });
}

void lin_family_bind(family_reader *r, const char *path, const char *tensor)
{
    const lin_weight_binding binding = { lin_arena_copy(r->arena, path),
                                         lin_arena_copy(r->arena, tensor) };
    LIN_PUSH(r->arena, &r->bindings, binding);
}

void lin_family_bind_all(family_reader *r, const char *prefix, const family_name *names,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        lin_family_bind(r, names[i].path,
                        lin_arena_format(r->arena, "%s%s", prefix, names[i].tensor));
}

void lin_family_assume(family_reader *r, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (uint32_t i = 0; i < r->assumptions.count; i++)
        if (strcmp(r->assumptions.items[i], text) == 0)
            return;
    const char *kept = lin_arena_copy(r->arena, text);
    LIN_PUSH(r->arena, &r->assumptions, kept);
}

void lin_family_ignore(family_reader *r, const char *tensor_pattern)
{
    LIN_PUSH(r->arena, &r->ignored, tensor_pattern);
}

void lin_family_expect_word(family_reader *r, const lin_json *object, const char *key,
                            const char *const *accepted)
{
    const char *word = lin_family_word(r, object, key, NULL);
    if (word == NULL)
        return;
    for (const char *const *it = accepted; *it != NULL; it++)
        if (strcmp(*it, word) == 0)
            return;
    lin_family_fail(r, LINNET_ERROR_UNSUPPORTED, "`%s` `%s` is not expressed by the source of `%s`",
                    key, word, r->model_type);
}

void lin_family_note_rope(family_reader *r, const lin_json *object)
{
    const lin_json *scaling = lin_family_object(r, object, "rope_scaling");
    const char *kind = lin_family_word(r, scaling, "rope_type", NULL);
    if (kind == NULL)
        kind = lin_family_word(r, scaling, "type", NULL);
    if (kind != NULL && strcmp(kind, "default") != 0)
        lin_family_assume(r, "rope scaling `%s` changes no size", kind);
}

/* ---- the whole ---- */

static const lin_json *text_settings(family_reader *r)
{
    static const char *const keys[] = { "text_config", "language_config", "llm_config" };
    for (uint32_t i = 0; i < ARRAY_LEN(keys); i++) {
        const lin_json *nested = lin_family_object(r, r->config, keys[i]);
        if (nested != NULL)
            return nested;
    }
    return r->config;
}

static void read_architecture(family_reader *r)
{
    const lin_json *list = lin_family_array(r, r->config, "architectures");
    r->architecture = "";
    if (list != NULL && list->count > 0 && list->items[0].kind == LIN_JSON_STRING)
        r->architecture = list->items[0].text;
}

_Noreturn static void unknown_family(family_reader *r)
{
    const char *names[128];
    uint32_t count = 0;
    for (; count < lin_family_count() && count < ARRAY_LEN(names); count++)
        names[count] = lin_family_at(count)->model_type;
    const char *nearest = lin_nearest(r->model_type, names, count);
    lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                    "model_type `%s` is not one of the families linnet has a source for%s%s%s",
                    r->model_type, nearest != NULL ? "; the nearest is `" : "",
                    nearest != NULL ? nearest : "", nearest != NULL ? "`" : "");
}

linnet_status lin_family_read(family_reader *r, const lin_json *config)
{
    jmp_buf failure;
    jmp_buf *const outer = r->arena->on_failure;
    if (setjmp(failure) != 0) {
        r->arena->on_failure = outer;
        /* A jump without a status is the arena's. */
        return r->status != LINNET_OK ? r->status : lin_fail_memory(r->err);
    }
    r->arena->on_failure = &failure;
    r->on_failure = &failure;
    r->status = LINNET_OK;
    r->config = config;
    r->title = "";
    if (config->kind != LIN_JSON_OBJECT)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "the file holds %s; an object is meant",
                        lin_json_kind_name(config->kind));
    r->text = text_settings(r);
    read_architecture(r);
    r->model_type = lin_family_word(r, config, "model_type", NULL);
    if (r->model_type == NULL)
        lin_family_fail(r, LINNET_ERROR_FORMAT,
                        "`model_type` is missing: it says which family the model is of");
    const family_row *row = lin_family_find(r->model_type);
    if (row == NULL)
        unknown_family(r);
    row->read(r);
    r->arena->on_failure = outer;
    return LINNET_OK;
}
