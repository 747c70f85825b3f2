/* SPDX-License-Identifier: MIT */

/*
 * Documents: jansson reads the text, the tree is copied into the caller's arena in the order of the
 * file, and jansson's is dropped. Nothing of jansson's is set for the process: neither its memory
 * functions nor the seed of its hashes, which it draws itself.
 *
 * When jansson refuses, the strict pull reader walks the same text again to say what is wrong and
 * where; what it accepts (duplicate keys, integers past 64 bits, NULs in strings) is found on the
 * way. So both readers speak alike, and a good text is read once.
 *
 * Cost: linear. Recursion is bounded by jansson's depth of 2048.
 */

#include "json/read.h"

#include <float.h>
#include <jansson.h>
#include <string.h>

static const char byte_order_mark[] = "\xef\xbb\xbf";

/* ---- the tree ---- */

typedef struct copier {
    lin_arena *arena;
    const lin_python_numbers *python;
    uint64_t strings; /* copied so far, keys included */
    uint32_t found;   /* of the Python numbers */
} copier;

static bool copy_value(copier *c, const json_t *value, lin_json *out);

static bool is_python_number(copier *c)
{
    uint64_t string = c->strings++;
    if (c->found == c->python->strings.count || c->python->strings.items[c->found] != string)
        return false;
    c->found++;
    return true;
}

static bool copy_string(copier *c, const json_t *value, lin_json *out)
{
    uint64_t length = json_string_length(value);
    if (is_python_number(c)) {
        *out = (lin_json){ .kind = LIN_JSON_REAL, .real = lin_python_number(length) };
        return true;
    }
    *out = (lin_json){ .kind = LIN_JSON_STRING,
                       .text = lin_arena_text(c->arena, json_string_value(value), length),
                       .length = length };
    return out->text != NULL;
}

static bool copy_array(copier *c, const json_t *value, lin_json *out)
{
    size_t count = json_array_size(value);
    lin_json *items = LIN_NEW_ARRAY(c->arena, lin_json, count);
    if (items == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!copy_value(c, json_array_get(value, i), &items[i]))
            return false;
    }
    *out = (lin_json){ .kind = LIN_JSON_ARRAY, .count = (uint32_t)count, .items = items };
    return true;
}

static bool copy_object(copier *c, const json_t *value, lin_json *out)
{
    json_t *object = (json_t *)(uintptr_t)value; /* jansson's iterators take no const */
    size_t count = json_object_size(object);
    lin_json *items = LIN_NEW_ARRAY(c->arena, lin_json, count);
    const char **keys = LIN_NEW_ARRAY(c->arena, const char *, count);
    if (items == NULL || keys == NULL)
        return false;
    size_t i = 0;
    for (void *at = json_object_iter(object); at != NULL;
         at = json_object_iter_next(object, at), i++) {
        c->strings++;
        keys[i] = lin_arena_text(c->arena, json_object_iter_key(at), json_object_iter_key_len(at));
        if (keys[i] == NULL || !copy_value(c, json_object_iter_value(at), &items[i]))
            return false;
    }
    *out = (lin_json){
        .kind = LIN_JSON_OBJECT, .count = (uint32_t)count, .items = items, .keys = keys
    };
    return true;
}

static bool copy_value(copier *c, const json_t *value, lin_json *out)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return copy_object(c, value, out);
    case JSON_ARRAY:
        return copy_array(c, value, out);
    case JSON_STRING:
        return copy_string(c, value, out);
    case JSON_INTEGER:
        *out = (lin_json){ .kind = LIN_JSON_INTEGER, .integer = json_integer_value(value) };
        return true;
    case JSON_REAL:
        *out = (lin_json){ .kind = LIN_JSON_REAL, .real = json_real_value(value) };
        return true;
    case JSON_TRUE:
        *out = (lin_json){ .kind = LIN_JSON_TRUE };
        return true;
    case JSON_FALSE:
        *out = (lin_json){ .kind = LIN_JSON_FALSE };
        return true;
    case JSON_NULL:
        break;
    }
    *out = (lin_json){ .kind = LIN_JSON_NULL };
    return true;
}

/* ---- refusals ---- */

typedef struct document {
    const char *source_name;
    const char *text; /* without its byte-order mark, Python's numbers replaced */
    uint64_t length;
    const json_error_t *refusal;
} document;

static uint64_t next_token(const document *d, uint64_t position)
{
    while (position < d->length && memchr(" \t\r\n,:", d->text[position], 6) != NULL)
        position++;
    return position;
}

/* A token the pull reader accepts and jansson does not: fills `err` and says so. */
static bool is_culprit(const document *d, const lin_pull *pull, lin_pull_event event,
                       uint64_t start, linnet_error *err)
{
    lin_place place = lin_json_place(d->source_name, d->text, start);
    int shown = (int)(pull->value_length < 40 ? pull->value_length : 40);
    int64_t integer;
    double real;
    if (event == LIN_PULL_NUMBER && pull->is_integer && !lin_pull_i64(pull, &integer)) {
        lin_fail_at(err, LINNET_ERROR_FORMAT, place, NULL, "integer `%.*s` does not fit in 64 bits",
                    shown, pull->value);
        return true;
    }
    if (event == LIN_PULL_NUMBER && lin_parse_double(pull->value, pull->value_length, &real) &&
        (real > DBL_MAX || real < -DBL_MAX)) {
        lin_fail_at(err, LINNET_ERROR_FORMAT, place, NULL, "number `%.*s` is too large", shown,
                    pull->value);
        return true;
    }
    if (event != LIN_PULL_KEY && event != LIN_PULL_STRING)
        return false;
    if (memchr(pull->value, '\0', (size_t)pull->value_length) != NULL) {
        lin_fail_at(err, LINNET_ERROR_FORMAT, place, NULL, "string holds a NUL character");
        return true;
    }
    if (event == LIN_PULL_KEY && json_error_code(d->refusal) == json_error_duplicate_key &&
        pull->position == (uint64_t)d->refusal->position) {
        lin_fail_at(err, LINNET_ERROR_FORMAT, place, NULL, "duplicate key `%.*s`",
                    (int)pull->value_length, pull->value);
        return true;
    }
    return false;
}

/* jansson's own words, where nothing better was found. */
static void quote_refusal(const document *d, linnet_error *err)
{
    bool is_deep = json_error_code(d->refusal) == json_error_stack_overflow;
    uint64_t offset = d->refusal->position > 0 ? (uint64_t)d->refusal->position : 0;
    offset = offset < d->length ? offset : d->length;
    lin_place place = lin_json_place(d->source_name, d->text, offset);
    lin_fail_at(err, LINNET_ERROR_FORMAT, place, NULL, "%s",
                is_deep ? "nested deeper than 2048 levels" : d->refusal->text);
}

static linnet_status explain(const document *d, const lin_allocator *allocator, linnet_error *err)
{
    if (json_error_code(d->refusal) == json_error_out_of_memory)
        return lin_fail_memory(err);
    lin_pull pull;
    lin_pull_init(&pull, d->source_name, d->text, d->length, allocator);
    lin_pull_allow_long_numbers(&pull);

    linnet_error found = { 0 };
    lin_pull_event event = LIN_PULL_NULL;
    bool is_explained = false;
    while (!is_explained && event != LIN_PULL_END) {
        uint64_t start = next_token(d, pull.position);
        event = lin_pull_next(&pull, &found);
        is_explained =
            event == LIN_PULL_ERROR ||
            ((event == LIN_PULL_NUMBER || event == LIN_PULL_KEY || event == LIN_PULL_STRING) &&
             is_culprit(d, &pull, event, start, &found));
    }
    lin_pull_free(&pull);
    if (!is_explained)
        quote_refusal(d, &found);
    if (err != NULL)
        *err = found;
    return found.code;
}

/* ---- reading ---- */

static linnet_status read_tree(document *d, const lin_python_numbers *python, lin_arena *arena,
                               const lin_json **out, linnet_error *err)
{
    json_error_t refusal = { .text = "NUL byte" };
    json_t *tree = NULL;
    /* jansson 2.14 loses a NUL that it puts back, as the one after `1`: they are refused here */
    if (memchr(d->text, '\0', (size_t)d->length) == NULL)
        tree = json_loadb(d->text, (size_t)d->length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
                          &refusal);
    d->refusal = &refusal;
    if (tree == NULL)
        return explain(d, &arena->allocator, err);

    copier c = { .arena = arena, .python = python };
    lin_json *root = LIN_NEW(arena, lin_json);
    bool is_copied = root != NULL && copy_value(&c, tree, root);
    json_decref(tree);
    if (!is_copied)
        return lin_fail_memory(err);
    *out = root;
    return LINNET_OK;
}

linnet_status lin_json_read(const char *source_name, const char *text, uint64_t length,
                            bool python_numbers, lin_arena *arena, const lin_json **out,
                            linnet_error *err)
{
    if (length > LIN_JSON_MAX_BYTES)
        return lin_fail_at(err, LINNET_ERROR_FORMAT, (lin_place){ .source = source_name }, NULL,
                           "larger than 16 MiB");
    uint64_t mark = sizeof(byte_order_mark) - 1;
    if (length < mark || memcmp(text, byte_order_mark, (size_t)mark) != 0)
        mark = 0;
    document d = { .source_name = source_name,
                   .text = length == mark ? "" : text + mark,
                   .length = length - mark };

    /* jansson's tree lives outside the arena: no jump may pass it by */
    jmp_buf *jump = arena->on_failure;
    arena->on_failure = NULL;
    lin_python_numbers python = { 0 };
    linnet_status status;
    if (python_numbers && !lin_python_numbers_find(arena, d.text, d.length, &python)) {
        status = lin_fail_memory(err);
    } else {
        d.text = python.copy != NULL ? python.copy : d.text;
        status = read_tree(&d, &python, arena, out, err);
    }
    arena->on_failure = jump;
    return status;
}

const lin_json *lin_json_get(const lin_json *object, const char *key)
{
    if (object == NULL || object->kind != LIN_JSON_OBJECT)
        return NULL;
    for (uint32_t i = 0; i < object->count; i++) {
        if (strcmp(object->keys[i], key) == 0)
            return &object->items[i];
    }
    return NULL;
}

const char *lin_json_kind_name(lin_json_kind kind)
{
    static const char *const names[] = {
        [LIN_JSON_NULL] = "null",      [LIN_JSON_FALSE] = "false",
        [LIN_JSON_TRUE] = "true",      [LIN_JSON_INTEGER] = "an integer",
        [LIN_JSON_REAL] = "a number",  [LIN_JSON_STRING] = "a string",
        [LIN_JSON_ARRAY] = "an array", [LIN_JSON_OBJECT] = "an object",
    };
    return names[kind];
}
