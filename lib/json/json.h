/* SPDX-License-Identifier: MIT */
#ifndef LIN_JSON_H
#define LIN_JSON_H

/*
 * JSON in and out. Documents (configs, profiles) are read whole through jansson, at most 16 MiB;
 * what can be large (headers, indexes, captures) goes through the pull reader, which keeps nothing.
 * One writer. jansson types appear in this folder's .c files only.
 */

#include "base/base.h"

/* ---- documents ---- */

typedef enum lin_json_kind {
    LIN_JSON_NULL,
    LIN_JSON_FALSE,
    LIN_JSON_TRUE,
    LIN_JSON_INTEGER,
    LIN_JSON_REAL,
    LIN_JSON_STRING,
    LIN_JSON_ARRAY,
    LIN_JSON_OBJECT
} lin_json_kind;

/* A value in an arena; the tree is ours, so jansson's memory is gone when the call returns. */
typedef struct lin_json lin_json;
struct lin_json {
    lin_json_kind kind;
    int64_t integer;
    double real;
    const char *text; /* STRING: NUL-terminated; embedded NULs are refused */
    uint64_t length;
    uint32_t count;          /* ARRAY, OBJECT */
    const lin_json *items;   /* ARRAY, OBJECT: the values */
    const char *const *keys; /* OBJECT, in file order */
};

enum { LIN_JSON_MAX_BYTES = 16 << 20 };

/* LINNET_ERROR_FORMAT with line and column: malformed, duplicate keys, trailing text, an integer
 * past int64, too deep (2048), too large. A byte-order mark at the start is skipped.
 * `python_numbers` accepts bare Infinity, -Infinity and NaN (as reals), which Python writes into
 * config.json files. */
linnet_status lin_json_read(const char *source_name, const char *text, uint64_t length,
                            bool python_numbers, lin_arena *arena, const lin_json **out,
                            linnet_error *err);
/* NULL: no object, or no such key. */
const lin_json *lin_json_get(const lin_json *object, const char *key);
/* "a string", for messages. */
const char *lin_json_kind_name(lin_json_kind kind);

/* From a value to one inside it. */
typedef struct lin_json_step {
    const char *key; /* NULL: an item of an array */
    uint32_t index;
} lin_json_step;

/* For messages: where the value stands that a path leads to in a text lin_json_read accepts; of a
 * path that ends too early, the last value that is there. */
lin_place lin_json_locate(const char *source_name, const char *text, uint64_t length,
                          const lin_json_step *path, uint32_t count,
                          const lin_allocator *allocator);

/* ---- pull reader ---- */

typedef enum lin_pull_event {
    LIN_PULL_ERROR,
    LIN_PULL_END,
    LIN_PULL_OBJECT,
    LIN_PULL_OBJECT_END,
    LIN_PULL_ARRAY,
    LIN_PULL_ARRAY_END,
    LIN_PULL_KEY,
    LIN_PULL_STRING,
    LIN_PULL_NUMBER,
    LIN_PULL_TRUE,
    LIN_PULL_FALSE,
    LIN_PULL_NULL
} lin_pull_event;

enum { LIN_PULL_MAX_DEPTH = 2048, LIN_PULL_MAX_NUMBER = 64 };

/* Reads a text in memory, strictly (RFC 8259, UTF-8 checked), without allocating except to decode
 * strings with escapes. */
typedef struct lin_pull {
    const char *source_name;
    const char *text;
    uint64_t length, position;
    uint32_t depth;
    uint8_t state;
    uint64_t nesting[LIN_PULL_MAX_DEPTH / 64]; /* one bit a level: object or array */
    /* of the last KEY or STRING, decoded (in the text itself when it has no escapes); of a NUMBER
     * its spelling */
    const char *value;
    uint64_t value_length;
    bool is_integer; /* the number has neither point nor exponent */
    lin_text scratch;
} lin_pull;

void lin_pull_init(lin_pull *pull, const char *source_name, const char *text, uint64_t length,
                   const lin_allocator *allocator);
void lin_pull_free(lin_pull *pull);
/* LIN_PULL_ERROR fills `err` (LINNET_ERROR_FORMAT with line and column, or NO_MEMORY). LIN_PULL_END
 * only after one whole value. */
lin_pull_event lin_pull_next(lin_pull *pull, linnet_error *err);
/* The number of the last event as an integer; false when it is not one or does not fit. */
bool lin_pull_i64(const lin_pull *pull, int64_t *out);
/* Skips the value that begins with `event` (what lin_pull_next just gave). */
linnet_status lin_pull_skip(lin_pull *pull, lin_pull_event event, linnet_error *err);

/* ---- writer ---- */

/* Writes one document into a text: two-space indent, keys in the order given, integers exact. Empty
 * containers are {} and []. */
typedef struct lin_writer {
    lin_text *out;
    uint32_t depth;
    bool first; /* nothing was written at this level yet */
    bool after_key;
} lin_writer;

void lin_writer_init(lin_writer *w, lin_text *out);
void lin_write_object(lin_writer *w);
void lin_write_object_end(lin_writer *w);
void lin_write_array(lin_writer *w);
void lin_write_array_end(lin_writer *w);
void lin_write_key(lin_writer *w, const char *key);
/* NULL writes null; bad UTF-8 is written as U+FFFD. */
void lin_write_string(lin_writer *w, const char *text);
void lin_write_i64(lin_writer *w, int64_t value);
void lin_write_double(lin_writer *w, double value); /* non-finite writes null */
void lin_write_bool(lin_writer *w, bool value);
void lin_write_null(lin_writer *w);
/* A key and its value. */
void lin_pair_string(lin_writer *w, const char *key, const char *text); /* NULL writes null */
void lin_pair_strings(lin_writer *w, const char *key, const char *const *items, uint32_t count);
void lin_pair_i64(lin_writer *w, const char *key, int64_t value);
void lin_pair_double(lin_writer *w, const char *key, double value);
void lin_pair_bool(lin_writer *w, const char *key, bool value);
void lin_pair_null(lin_writer *w, const char *key);
/* null unless it is known; of a size, unless it is negative. */
void lin_pair_known(lin_writer *w, const char *key, bool is_known, int64_t value);
void lin_pair_size(lin_writer *w, const char *key, int64_t value);
/* After the last value: the one trailing newline. */
void lin_writer_end(lin_writer *w);

#endif
