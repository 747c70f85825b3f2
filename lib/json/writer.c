/* SPDX-License-Identifier: MIT */

/*
 * The writer: values in the order they are given, two spaces a level, one key or item a line. It
 * keeps no stack: the depth and whether the level is still empty are enough, as the caller closes
 * what it opened. Out of memory shows in the text at the end.
 */

#include "json/json.h"

#include <string.h>

void lin_writer_init(lin_writer *w, lin_text *out)
{
    *w = (lin_writer){ .out = out, .first = true };
}

static void start_line(lin_writer *w)
{
    lin_text_add(w->out, "\n");
    lin_text_fill(w->out, ' ', 2 * (uint64_t)w->depth);
}

/* What stands before an item: nothing after a key or at the top. */
static void start_item(lin_writer *w)
{
    if (!w->after_key && w->depth > 0) {
        if (!w->first)
            lin_text_add(w->out, ",");
        start_line(w);
    }
    w->after_key = false;
    w->first = false;
}

static void open(lin_writer *w, const char *bracket)
{
    start_item(w);
    lin_text_add(w->out, bracket);
    w->depth++;
    w->first = true;
}

static void close(lin_writer *w, const char *bracket)
{
    w->depth--;
    if (!w->first)
        start_line(w);
    lin_text_add(w->out, bracket);
    w->first = false;
}

void lin_write_object(lin_writer *w)
{
    open(w, "{");
}

void lin_write_object_end(lin_writer *w)
{
    close(w, "}");
}

void lin_write_array(lin_writer *w)
{
    open(w, "[");
}

void lin_write_array_end(lin_writer *w)
{
    close(w, "]");
}

static void write_escape(lin_text *out, unsigned char c)
{
    static const char characters[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *at = memchr(characters, c, sizeof(characters) - 1);
    if (at != NULL) {
        char escape[2] = { '\\', letters[at - characters] };
        lin_text_append(out, escape, 2);
    } else {
        lin_text_addf(out, "\\u%04x", c);
    }
}

static void write_quoted(lin_text *out, const char *text)
{
    uint64_t left = strlen(text);
    lin_text_add(out, "\"");
    while (left > 0) {
        uint64_t plain = 0;
        while (plain < left) {
            unsigned char c = (unsigned char)text[plain];
            uint32_t length = lin_utf8_length(text + plain, left - plain);
            if (c < 0x20 || c == '"' || c == '\\' || length == 0)
                break;
            plain += length;
        }
        lin_text_append(out, text, plain);
        text += plain;
        left -= plain;
        if (left == 0)
            break;
        if ((unsigned char)*text >= 0x80)
            lin_text_add(out, "\xef\xbf\xbd"); /* U+FFFD, one a byte */
        else
            write_escape(out, (unsigned char)*text);
        text++;
        left--;
    }
    lin_text_add(out, "\"");
}

void lin_write_key(lin_writer *w, const char *key)
{
    start_item(w);
    write_quoted(w->out, key);
    lin_text_add(w->out, ": ");
    w->after_key = true;
}

void lin_write_string(lin_writer *w, const char *text)
{
    if (text == NULL) {
        lin_write_null(w);
        return;
    }
    start_item(w);
    write_quoted(w->out, text);
}

void lin_write_i64(lin_writer *w, int64_t value)
{
    start_item(w);
    lin_text_i64(w->out, value);
}

void lin_write_double(lin_writer *w, double value)
{
    double difference = value - value; /* 0 for what is finite, NaN for the rest */
    if (!(difference == 0)) {
        lin_write_null(w);
        return;
    }
    start_item(w);
    lin_text_double(w->out, value);
}

void lin_write_bool(lin_writer *w, bool value)
{
    start_item(w);
    lin_text_add(w->out, value ? "true" : "false");
}

void lin_write_null(lin_writer *w)
{
    start_item(w);
    lin_text_add(w->out, "null");
}

/* ---- pairs ---- */

void lin_pair_string(lin_writer *w, const char *key, const char *text)
{
    lin_write_key(w, key);
    lin_write_string(w, text);
}

void lin_pair_strings(lin_writer *w, const char *key, const char *const *items, uint32_t count)
{
    lin_write_key(w, key);
    lin_write_array(w);
    for (uint32_t i = 0; i < count; i++)
        lin_write_string(w, items[i]);
    lin_write_array_end(w);
}

void lin_pair_i64(lin_writer *w, const char *key, int64_t value)
{
    lin_write_key(w, key);
    lin_write_i64(w, value);
}

void lin_pair_double(lin_writer *w, const char *key, double value)
{
    lin_write_key(w, key);
    lin_write_double(w, value);
}

void lin_pair_bool(lin_writer *w, const char *key, bool value)
{
    lin_write_key(w, key);
    lin_write_bool(w, value);
}

void lin_pair_null(lin_writer *w, const char *key)
{
    lin_write_key(w, key);
    lin_write_null(w);
}

void lin_pair_known(lin_writer *w, const char *key, bool is_known, int64_t value)
{
    lin_write_key(w, key);
    if (is_known)
        lin_write_i64(w, value);
    else
        lin_write_null(w);
}

void lin_pair_size(lin_writer *w, const char *key, int64_t value)
{
    lin_pair_known(w, key, value >= 0, value);
}

void lin_writer_end(lin_writer *w)
{
    lin_text_add(w->out, "\n");
}
