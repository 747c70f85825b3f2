/* SPDX-License-Identifier: MIT */
#ifndef LIN_TEXT_H
#define LIN_TEXT_H

/* Text that is built, and numbers as text. Nothing here looks at the locale. */

#include "arena.h"

/* A growing, always NUL-terminated text from the host's allocator. Appending after a failure does
 * nothing; `failed` says so at the end. */
typedef struct lin_text {
    lin_allocator allocator;
    char *data; /* NULL until something was appended: use lin_text_data */
    uint64_t length, capacity;
    bool failed;
} lin_text;

void lin_text_init(lin_text *text, const lin_allocator *allocator);
void lin_text_free(lin_text *text);
void lin_text_clear(lin_text *text);
const char *lin_text_data(const lin_text *text); /* never NULL */
void lin_text_append(lin_text *text, const char *data, uint64_t length);
void lin_text_add(lin_text *text, const char *word);
void lin_text_fill(lin_text *text, char c, uint64_t count);
/* No floating-point conversions: use lin_text_fixed. */
void lin_text_addf(lin_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lin_text_i64(lin_text *text, int64_t value);
/* `value` with `decimals` (0..9) digits after a point, rounded half to even as printf does.
 * Non-finite: "nan", "inf", "-inf". */
void lin_text_fixed(lin_text *text, double value, int decimals);
/* The shortest digits that read back as the same double, always with '.' or an exponent: "0.1",
 * "1e+20", "3.0". */
void lin_text_double(lin_text *text, double value);

/* "14.96 GiB", "621.00 MiB", "32.00 KiB", "17 B": the unit is the largest of which there is at
 * least one. Exact rounding of the binary fraction, also past 2^53. */
enum { LIN_BYTES_TEXT = 32 };
void lin_format_bytes(char out[LIN_BYTES_TEXT], int64_t bytes);

/* A size as people write it: "80GiB", "80 GB", "1.5MiB", "512" (bytes); units as in cli-report:
 * case-insensitive. Exact decimal arithmetic; a fraction of a byte is cut. False: not a size,
 * negative, or past 2^63 - 1. */
bool lin_parse_size(const char *text, uint64_t length, int64_t *out_bytes);
/* An optional sign and digits, nothing else, within int64_t. */
bool lin_parse_i64(const char *text, uint64_t length, int64_t *out);
/* A JSON number (or a language float with '_' removed) to the nearest double, without the locale.
 * False: malformed. Overflow gives an infinity. At most 400 significant digits are read; the rest
 * only decide rounding. */
bool lin_parse_double(const char *text, uint64_t length, double *out);

/* Length in bytes of the valid UTF-8 sequence at `text` (1..4), or 0. */
uint32_t lin_utf8_length(const char *text, uint64_t available);
/* The code point of a sequence lin_utf8_length accepted. */
uint32_t lin_utf8_code_point(const char *text);

/* fnmatch with '*' (matching across dots), '?' and '[...]'; linear in the product of the lengths,
 * no recursion. */
bool lin_pattern_matches(const char *pattern, const char *text);

#endif
