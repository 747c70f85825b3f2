/* SPDX-License-Identifier: MIT */

/*
 * JSON on one line, straight into a buffer. Whether a comma is due is read off the last byte: none
 * after an opening bracket or a colon. A string ends with a quote, so the byte is never its own.
 */

#include "cli_sweep.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void separate(cli_buffer *out)
{
    const char last = out->length > 0 ? out->data[out->length - 1] : '[';
    if (last != '{' && last != '[' && last != ':' && last != '\n')
        cli_append(out, ",", 1);
}

void sweep_open(cli_buffer *out, char bracket)
{
    separate(out);
    cli_append(out, &bracket, 1);
}

void sweep_close(cli_buffer *out, char bracket)
{
    cli_append(out, &bracket, 1);
}

void sweep_key(cli_buffer *out, const char *key)
{
    separate(out);
    cli_append(out, "\"", 1);
    cli_append(out, key, strlen(key));
    cli_append(out, "\":", 2);
}

void sweep_text(cli_buffer *out, const char *text)
{
    separate(out);
    cli_add_json(out, text);
}

/* Bytes of the character here; 0: no UTF-8 (RFC 3629, section 4). */
static size_t character(const unsigned char *at)
{
    const size_t length = at[0] < 0x80                     ? 1
                          : at[0] >= 0xc2 && at[0] < 0xe0  ? 2
                          : at[0] >= 0xe0 && at[0] < 0xf0  ? 3
                          : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                           : 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    const bool is_wrong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
                          (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f);
    return is_wrong ? 0 : length;
}

void sweep_message(cli_buffer *out, const char *text)
{
    cli_buffer clean = { 0 };
    while (*text != '\0') {
        const size_t length = character((const unsigned char *)text);
        cli_append(&clean, length > 0 ? text : "?", length > 0 ? length : 1);
        text += length > 0 ? length : 1;
    }
    sweep_text(out, clean.data != NULL ? clean.data : "");
    free(clean.data);
}

void sweep_integer(cli_buffer *out, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        digits[--at] = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (value < 0)
        digits[--at] = '-';
    separate(out);
    cli_append(out, digits + at, sizeof digits - at);
}

/* The largest scaled value that an int64_t holds for certain. */
static const double MOST = 9e18;

void sweep_decimal(cli_buffer *out, double value, int decimals)
{
    char digits[24];
    double unit = 1;
    for (int i = 0; i < decimals; i++)
        unit *= 10;
    for (; decimals > 0 && fabs(value) * unit > MOST; decimals--)
        unit /= 10;
    if (!isfinite(value) || fabs(value) > MOST) {
        sweep_text(out, NULL);
        return;
    }
    const int64_t scaled = llround(value * unit), whole = (int64_t)unit;
    if (scaled < 0 && scaled / whole == 0) {
        separate(out);
        cli_append(out, "-0", 2);
    } else {
        sweep_integer(out, scaled / whole);
    }
    int64_t fraction = scaled % whole < 0 ? -(scaled % whole) : scaled % whole;
    if (fraction == 0)
        return;
    for (; fraction % 10 == 0; decimals--)
        fraction /= 10;
    const int length = snprintf(digits, sizeof digits, ".%0*lld", decimals, (long long)fraction);
    cli_append(out, digits, (size_t)length);
}

void sweep_document(cli_buffer *out, const char *text, size_t length)
{
    bool is_string = false;
    size_t start = 0;
    separate(out);
    for (size_t i = 0; i < length; i++) {
        if (is_string && text[i] == '\\') {
            i++;
        } else if (text[i] == '"') {
            is_string = !is_string;
        } else if (!is_string && (text[i] == ' ' || text[i] == '\n')) {
            cli_append(out, text + start, i - start);
            start = i + 1;
        }
    }
    cli_append(out, text + start, length - start);
}

void sweep_pair_text(cli_buffer *out, const char *key, const char *text)
{
    sweep_key(out, key);
    sweep_text(out, text);
}

void sweep_pair_integer(cli_buffer *out, const char *key, int64_t value)
{
    sweep_key(out, key);
    sweep_integer(out, value);
}

void sweep_pair_decimal(cli_buffer *out, const char *key, double value, int decimals)
{
    sweep_key(out, key);
    sweep_decimal(out, value, decimals);
}
