/* SPDX-License-Identifier: MIT */

/* The cursor over a GGUF header. Every request is compared with the bytes that are left, and with
 * the longest header that is read, before anything is touched. */

#include "source/gguf_cursor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Noreturn static void stop(gguf_reader *r, linnet_status status)
{
    r->status = status;
    longjmp(*r->on_failure, 1);
}

_Noreturn void lin_gguf_fail(gguf_reader *r, linnet_status status, const char *format, ...)
{
    char message[320];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    lin_fail_at(r->err, status, (lin_place){ .source = r->out->source_name }, NULL, "byte %llu: %s",
                (unsigned long long)r->at, message);
    stop(r, status);
}

void lin_gguf_pass_on(gguf_reader *r, linnet_status status)
{
    if (status != LINNET_OK)
        stop(r, status);
}

uint64_t lin_gguf_left(const gguf_reader *r)
{
    return r->bytes - r->at;
}

static void need(gguf_reader *r, uint64_t count, const char *what)
{
    if (count > lin_gguf_left(r) || count > r->available - r->at)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT, "the file ends inside %s", what);
    if (r->at + count > LIN_GGUF_MAX_HEADER)
        lin_gguf_fail(r, LINNET_ERROR_UNSUPPORTED, "the header is longer than %llu bytes",
                      (unsigned long long)LIN_GGUF_MAX_HEADER);
}

static void fill_window(gguf_reader *r, uint64_t count)
{
    const bool inside = r->at >= r->window_at && r->at - r->window_at <= r->window_bytes &&
                        count <= r->window_bytes - (r->at - r->window_at);
    if (inside)
        return;
    r->window_at = r->at;
    r->window_bytes = lin_gguf_left(r) < LIN_GGUF_WINDOW ? lin_gguf_left(r) : LIN_GGUF_WINDOW;
    lin_gguf_pass_on(r,
                     lin_file_read_at(r->file, r->window_at, r->window, r->window_bytes, r->err));
}

const uint8_t *lin_gguf_take(gguf_reader *r, uint64_t count, const char *what)
{
    need(r, count, what);
    const uint8_t *found = r->memory;
    if (r->file != NULL) {
        fill_window(r, count);
        found = r->window + (r->at - r->window_at);
    } else if (count > 0) {
        found += r->at;
    }
    r->at += count;
    return found;
}

void lin_gguf_skip(gguf_reader *r, uint64_t count, const char *what)
{
    need(r, count, what);
    r->at += count;
}

uint64_t lin_gguf_take_bits(gguf_reader *r, uint32_t count, const char *what)
{
    const uint8_t *bytes = lin_gguf_take(r, count, what);
    uint64_t value = 0;
    for (uint32_t i = 0; i < count; i++)
        value = value << 8 | bytes[r->out->is_big_endian ? i : count - 1 - i];
    return value;
}

uint32_t lin_gguf_word_bytes(const gguf_reader *r)
{
    return r->out->version == 1 ? 4 : 8;
}
