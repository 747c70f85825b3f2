/* SPDX-License-Identifier: MIT */

/* Text that grows by doubling, sizes as people write them, UTF-8. */

#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void lin_text_init(lin_text *text, const lin_allocator *allocator)
{
    *text = (lin_text){ .allocator = *allocator };
}

void lin_text_free(lin_text *text)
{
    lin_release(&text->allocator, text->data, text->capacity);
    text->data = NULL;
    text->length = 0;
    text->capacity = 0;
}

void lin_text_clear(lin_text *text)
{
    text->length = 0;
    if (text->data != NULL)
        text->data[0] = '\0';
}

const char *lin_text_data(const lin_text *text)
{
    return text->data == NULL ? "" : text->data;
}

/* Room for `more` bytes and the NUL. */
static bool reserve(lin_text *text, uint64_t more)
{
    uint64_t needed;
    if (text->failed)
        return false;
    if (!lin_add_u64(text->length, more, &needed) || !lin_add_u64(needed, 1, &needed)) {
        text->failed = true;
        return false;
    }
    if (needed <= text->capacity)
        return true;
    uint64_t grown = text->capacity < 64 ? 128 : text->capacity * 2;
    if (grown < needed)
        grown = needed;
    char *data = lin_resize(&text->allocator, text->data, text->capacity, grown);
    if (data == NULL) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = grown;
    return true;
}

void lin_text_append(lin_text *text, const char *data, uint64_t length)
{
    if (length == 0 || !reserve(text, length))
        return;
    memcpy(text->data + text->length, data, (size_t)length);
    text->length += length;
    text->data[text->length] = '\0';
}

void lin_text_add(lin_text *text, const char *word)
{
    lin_text_append(text, word, strlen(word));
}

void lin_text_fill(lin_text *text, char c, uint64_t count)
{
    if (count == 0 || !reserve(text, count))
        return;
    memset(text->data + text->length, c, (size_t)count);
    text->length += count;
    text->data[text->length] = '\0';
}

void lin_text_addf(lin_text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length > 0 && reserve(text, (uint64_t)length)) {
        (void)vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (uint64_t)length;
    }
    va_end(again);
}

void lin_text_i64(lin_text *text, int64_t value)
{
    char digits[20];
    char *at = digits + sizeof(digits);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (value < 0)
        *--at = '-';
    lin_text_append(text, at, (uint64_t)(digits + sizeof(digits) - at));
}

void lin_format_bytes(char out[LIN_BYTES_TEXT], int64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
    uint64_t size = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
    const char *sign = bytes < 0 ? "-" : "";
    uint32_t step = 0;
    while (step + 1 < ARRAY_LEN(units) && size >> 10 * (step + 1) != 0)
        step++;
    if (step == 0) {
        (void)snprintf(out, LIN_BYTES_TEXT, "%s%llu B", sign, (unsigned long long)size);
        return;
    }
    uint64_t unit = (uint64_t)1 << 10 * step;
    uint64_t hundredths = (size % unit) * 100; /* times unit; below 2^37 */
    uint64_t value = size / unit * 100 + hundredths / unit;
    uint64_t rest = hundredths % unit;
    value += rest > unit / 2 || (rest == unit / 2 && (value & 1));
    (void)snprintf(out, LIN_BYTES_TEXT, "%s%llu.%02llu %s", sign, (unsigned long long)(value / 100),
                   (unsigned long long)(value % 100), units[step]);
}

typedef struct size_unit {
    const char *name; /* lower case */
    int64_t bytes;
} size_unit;

static const size_unit size_units[] = {
    { "", 1 },
    { "b", 1 },
    { "kb", 1000 },
    { "mb", 1000000 },
    { "gb", 1000000000 },
    { "tb", 1000000000000 },
    { "kib", (int64_t)1 << 10 },
    { "mib", (int64_t)1 << 20 },
    { "gib", (int64_t)1 << 30 },
    { "tib", (int64_t)1 << 40 },
};

static bool find_unit(const char *text, uint64_t length, int64_t *out)
{
    for (uint32_t i = 0; i < ARRAY_LEN(size_units); i++) {
        const char *name = size_units[i].name;
        if (strlen(name) != length)
            continue;
        uint64_t same = 0;
        while (same < length && (text[same] | 0x20) == name[same])
            same++;
        if (same == length) {
            *out = size_units[i].bytes;
            return true;
        }
    }
    return false;
}

static uint64_t skip_digits(const char *text, uint64_t length, uint64_t at)
{
    while (at < length && text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

bool lin_parse_size(const char *text, uint64_t length, int64_t *out_bytes)
{
    uint64_t whole_end = skip_digits(text, length, 0);
    uint64_t fraction_start = whole_end;
    uint64_t end = whole_end;
    int64_t unit, whole;
    if (whole_end == 0 || !lin_parse_i64(text, whole_end, &whole))
        return false;
    if (end < length && text[end] == '.') {
        fraction_start = end + 1;
        end = skip_digits(text, length, fraction_start);
        if (end == fraction_start)
            return false;
    }
    uint64_t unit_start = end < length && text[end] == ' ' ? end + 1 : end;
    if (unit_start == length && unit_start != end)
        return false;
    if (!find_unit(text + unit_start, length - unit_start, &unit))
        return false;
    /* The fraction from its last digit up; flooring at every step floors the whole. */
    int64_t part = 0;
    for (uint64_t i = end; i > fraction_start; i--)
        part = ((text[i - 1] - '0') * unit + part) / 10;
    int64_t bytes;
    if (!lin_mul_i64(whole, unit, &bytes) || !lin_add_i64(bytes, part, &bytes))
        return false;
    *out_bytes = bytes;
    return true;
}

static bool continues(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

uint32_t lin_utf8_length(const char *text, uint64_t available)
{
    const unsigned char *s = (const unsigned char *)text;
    if (available == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    uint32_t length = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > available)
        return 0;
    for (uint32_t i = 1; i < length; i++)
        if (!continues(s[i]))
            return 0;
    /* Not shortest, a surrogate, or past U+10FFFF (RFC 3629, section 4). */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

uint32_t lin_utf8_code_point(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80)
        return s[0];
    if (s[0] < 0xe0)
        return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
    if (s[0] < 0xf0)
        return (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
    return (s[0] & 0x07u) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6 | (s[3] & 0x3fu);
}
