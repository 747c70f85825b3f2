/* SPDX-License-Identifier: MIT */

/* Writing the caller's error struct in full. The message is formatted once into a buffer larger
 * than the field, so that a cut falls between two characters. */

#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(linnet_error) == 512, "the layout of linnet_error is frozen");

void lin_copy_utf8(char *out, uint64_t capacity, const char *text)
{
    uint64_t used = 0;
    uint64_t left = strlen(text);
    while (left != 0 && capacity != 0) {
        uint32_t length = lin_utf8_length(text, left);
        uint32_t step = length == 0 ? 1 : length;
        if (used + step > capacity - 1)
            break;
        unsigned char first = (unsigned char)*text;
        if (length == 0 || first < 0x20 || first == 0x7f)
            out[used] = '?';
        else
            memcpy(out + used, text, step);
        used += step;
        text += step;
        left -= step;
    }
    if (capacity != 0)
        out[used] = '\0';
}

/* The end of `text`, from a character's start on: of a long path the end tells more. */
static const char *tail_utf8(const char *text, uint64_t capacity)
{
    uint64_t length = strlen(text);
    if (length < capacity)
        return text;
    text += length - (capacity - 1);
    while (((unsigned char)*text & 0xc0) == 0x80)
        text++;
    return text;
}

__attribute__((format(printf, 5, 0))) static void write_error(linnet_error *err,
                                                              linnet_status status, lin_place place,
                                                              const char *diagnostic,
                                                              const char *format, va_list args)
{
    char message[1024];
    if (vsnprintf(message, sizeof(message), format, args) < 0)
        message[0] = '\0';
    memset(err, 0, sizeof(*err));
    err->code = status;
    err->line = place.line;
    err->column = place.column;
    if (diagnostic != NULL)
        lin_copy_utf8(err->diagnostic, sizeof(err->diagnostic), diagnostic);
    if (place.source != NULL)
        lin_copy_utf8(err->source, sizeof(err->source),
                      tail_utf8(place.source, sizeof(err->source)));
    lin_copy_utf8(err->message, sizeof(err->message), message);
}

linnet_status lin_fail(linnet_error *err, linnet_status status, const char *format, ...)
{
    if (err == NULL)
        return status;
    va_list args;
    va_start(args, format);
    write_error(err, status, (lin_place){ 0 }, NULL, format, args);
    va_end(args);
    return status;
}

linnet_status lin_fail_at(linnet_error *err, linnet_status status, lin_place place,
                          const char *diagnostic, const char *format, ...)
{
    if (err == NULL)
        return status;
    va_list args;
    va_start(args, format);
    write_error(err, status, place, diagnostic, format, args);
    va_end(args);
    return status;
}
