/* SPDX-License-Identifier: MIT */

/* Columns: what is aligned is appended first and then moved, so that nothing is formatted twice. */

#include "report/report_columns.h"

#include <string.h>

void lin_column_left(lin_text *out, const char *word, uint64_t width)
{
    const uint64_t length = strlen(word);
    lin_text_append(out, word, length);
    lin_text_fill(out, ' ', length < width ? width - length : 0);
}

void lin_column_right(lin_text *out, uint64_t from, uint64_t width)
{
    const uint64_t length = out->length - from;
    if (out->failed || length >= width)
        return;
    lin_text_fill(out, ' ', width - length);
    if (out->failed)
        return;
    memmove(out->data + from + (width - length), out->data + from, length);
    memset(out->data + from, ' ', width - length);
}

void lin_column_grouped(lin_text *out, double number, uint64_t width)
{
    const uint64_t from = out->length;
    lin_text digits;
    lin_text_init(&digits, &out->allocator);
    lin_text_fixed(&digits, number, 0);
    for (uint64_t i = 0; i < digits.length; i++) {
        if (i > 0 && (digits.length - i) % 3 == 0)
            lin_text_add(out, ",");
        lin_text_append(out, digits.data + i, 1);
    }
    out->failed |= digits.failed;
    lin_text_free(&digits);
    lin_column_right(out, from, width);
}
