/* SPDX-License-Identifier: MIT */
#ifndef LIN_ERROR_H
#define LIN_ERROR_H

/* Filling the caller's linnet_error. Each function writes the whole struct (when `err` is not NULL)
 * and returns `status`, so that a refusal is one line: return lin_fail(err, LINNET_ERROR_ARGUMENT,
 * "batch must be at least 1"); */

#include <linnet/base.h>
#include <stdbool.h>
#include <stdint.h>

linnet_status lin_fail(linnet_error *err, linnet_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A place in a file: 1-based line and column (in code points); 0 is "no position". */
typedef struct lin_place {
    const char *source;
    uint32_t line;
    uint32_t column;
} lin_place;

/* `diagnostic` is a code such as "E2103", or NULL. */
linnet_status lin_fail_at(linnet_error *err, linnet_status status, lin_place place,
                          const char *diagnostic, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Copies at most `capacity` - 1 bytes of UTF-8, cut at a character, control characters shown as
 * '?'. */
void lin_copy_utf8(char *out, uint64_t capacity, const char *text);

#endif
