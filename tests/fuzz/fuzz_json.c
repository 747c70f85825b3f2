/* SPDX-License-Identifier: MIT */

/*
 * Both JSON readers on arbitrary bytes. They must agree, but for what is documented: the document
 * reader alone skips a byte-order mark and takes numbers of more than 64 characters; the pull
 * reader alone takes duplicate keys, integers past int64, numbers past double, escaped NULs, and a
 * scalar below 2048 levels. What a document holds is written, read and written again: the two texts
 * are equal. The first byte says whether Python's numbers are taken.
 */

#include "json/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void write_value(lin_writer *w, const lin_json *v)
{
    if (v->kind == LIN_JSON_ARRAY) {
        lin_write_array(w);
        for (uint32_t i = 0; i < v->count; i++)
            write_value(w, &v->items[i]);
        lin_write_array_end(w);
    } else if (v->kind == LIN_JSON_OBJECT) {
        lin_write_object(w);
        for (uint32_t i = 0; i < v->count; i++) {
            lin_write_key(w, v->keys[i]);
            write_value(w, &v->items[i]);
        }
        lin_write_object_end(w);
    } else if (v->kind == LIN_JSON_STRING) {
        lin_write_string(w, v->text);
    } else if (v->kind == LIN_JSON_INTEGER) {
        lin_write_i64(w, v->integer);
    } else if (v->kind == LIN_JSON_REAL) {
        lin_write_double(w, v->real);
    } else if (v->kind == LIN_JSON_NULL) {
        lin_write_null(w);
    } else {
        lin_write_bool(w, v->kind == LIN_JSON_TRUE);
    }
}

static bool rewrite(const char *text, uint64_t length, bool python, lin_text *out,
                    linnet_error *err)
{
    const lin_json *json = NULL;
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    bool is_read = lin_json_read("fuzz", text, length, python, &arena, &json, err) == LINNET_OK;
    if (is_read) {
        lin_writer w;
        lin_writer_init(&w, out);
        write_value(&w, json);
        lin_writer_end(&w);
    }
    lin_arena_free(&arena);
    return is_read;
}

static bool pull_all(const char *text, uint64_t length, linnet_error *err)
{
    lin_pull pull;
    lin_pull_event event;
    lin_pull_init(&pull, "fuzz", text, length, &lin_default_allocator);
    do
        event = lin_pull_next(&pull, err);
    while (event != LIN_PULL_ERROR && event != LIN_PULL_END);
    lin_pull_free(&pull);
    return event == LIN_PULL_END;
}

/* The document reader refused what the pull reader took: one of its own rules said so. */
static bool is_document_rule(const linnet_error *err)
{
    static const char *const messages[] = { "does not fit in 64 bits", "is too large",
                                            "holds a NUL", "duplicate key", "2048 levels" };
    for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
        if (strstr(err->message, messages[i]) != NULL)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1;
    uint64_t length = size - 1;
    bool python = (data[0] & 1) != 0;
    linnet_error pull_error = { 0 };
    linnet_error document_error = { 0 };
    lin_text once;
    lin_text twice;
    lin_text_init(&once, &lin_default_allocator);
    lin_text_init(&twice, &lin_default_allocator);

    bool pulled = pull_all(text, length, &pull_error);
    bool read = rewrite(text, length, python, &once, &document_error);
    bool has_mark = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    if (pulled && !read)
        expect(is_document_rule(&document_error));
    if (read && !pulled)
        expect(python || has_mark || strstr(pull_error.message, "64 characters") != NULL);
    if (read) {
        expect(rewrite(lin_text_data(&once), once.length, false, &twice, NULL));
        expect(strcmp(lin_text_data(&once), lin_text_data(&twice)) == 0);
    }
    lin_text_free(&once);
    lin_text_free(&twice);
    return 0;
}
