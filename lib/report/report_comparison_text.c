/* SPDX-License-Identifier: MIT */

/*
 * A comparison for people: the configurations by letter, then a table, one column each, those after
 * the first with the difference to it.
 *
 *     A  base.json
 *     B  --checkpoint block
 *
 *                              A           B
 *     training.checkpoint   none       block
 *
 *     Saved activations  9.60 GiB   1.42 GiB   -8.18 GiB   -85.2 %
 *
 * A part of a cell is written where it is measured and again where it is printed: columns are as
 * wide as what stands in them. Texts of documents come from anywhere, so control characters are not
 * printed.
 */

#include "report/report.h"

#include <math.h>
#include <string.h>

#include "report/report_columns.h"
#include "report/report_words.h"

enum { NAME_WIDTH = 20, LONGEST_WORD = 40 };

/* What a cell shows, side by side. */
typedef enum part { VALUE, CHANGE, PERCENT, PARTS } part;
static const uint64_t gaps[PARTS] = { 3, 2, 2 }; /* blanks before each */

typedef struct sheet {
    lin_text *out;
    const lin_sides *sides;
    bool all;
    uint64_t name_width;
    uint64_t widths[LIN_SIDES_MOST][PARTS]; /* 0: empty in every row */
} sheet;

/* ---- words ---- */

/* In code points. */
static uint64_t width_of(const char *text, uint64_t length)
{
    uint64_t width = 0;
    for (uint64_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

/* At most `most` code points of it, without control characters. */
static void add_word(lin_text *out, const char *word, uint64_t most)
{
    uint64_t left = strlen(word);
    const bool is_cut = width_of(word, left) > most;
    const uint64_t kept = is_cut ? most - 3 : most;
    for (uint64_t i = 0; i < kept && left > 0; i++) {
        const uint32_t length = lin_utf8_length(word, left);
        const uint32_t code_point = length > 0 ? lin_utf8_code_point(word) : 0;
        const bool is_plain = code_point >= 0x20 && (code_point < 0x7f || code_point > 0x9f);
        const uint64_t step = length > 0 ? length : 1;
        lin_text_append(out, is_plain ? word : "?", is_plain ? step : 1);
        word += step;
        left -= step;
    }
    lin_text_add(out, is_cut ? "..." : "");
}

/* A, B, … Z, AA, AB, … */
static void add_letter(lin_text *out, uint32_t column)
{
    enum { LETTERS = 26 };
    if (column >= LETTERS)
        lin_text_fill(out, (char)('A' + column / LETTERS - 1), 1);
    lin_text_fill(out, (char)('A' + column % LETTERS), 1);
}

/* ---- parts ---- */

static void add_number(lin_text *out, double number, lin_unit unit)
{
    switch (unit) {
    case LIN_UNIT_SECONDS:
        lin_words_milliseconds(out, number);
        break;
    case LIN_UNIT_TOKENS:
    case LIN_UNIT_TOKENS_PER_SECOND:
        lin_column_grouped(out, number, 0);
        break;
    case LIN_UNIT_SHARE:
        lin_words_percent(out, number);
        break;
    case LIN_UNIT_NONE:
    case LIN_UNIT_BYTES:
        lin_text_double(out, number);
        break;
    }
}

static void add_value(lin_text *out, const lin_compared *row, const lin_cell *cell)
{
    switch (cell->state) {
    case LIN_CELL_ABSENT:
        lin_text_add(out, "-");
        break;
    case LIN_CELL_UNKNOWN:
        lin_text_add(out, "unknown");
        break;
    case LIN_CELL_WORD:
        add_word(out, cell->word, LONGEST_WORD);
        break;
    case LIN_CELL_FLAG:
        lin_text_add(out, cell->integer ? "yes" : "no");
        break;
    case LIN_CELL_INTEGER:
        if (row->unit == LIN_UNIT_BYTES)
            lin_words_bytes(out, cell->integer);
        else
            lin_text_i64(out, cell->integer);
        break;
    case LIN_CELL_NUMBER:
        add_number(out, cell->number, row->unit);
        break;
    }
}

/* A share's difference is in points: a percentage of a percentage reads as either. */
static void add_change(lin_text *out, const lin_compared *row, const lin_change *change)
{
    const double size = fabs(change->number);
    if (row->unit != LIN_UNIT_BYTES)
        lin_text_add(out, change->number < 0 ? "-" : "+");
    if (row->unit == LIN_UNIT_BYTES) {
        lin_text_add(out, change->integer < 0 ? "" : "+");
        lin_words_bytes(out, change->integer);
    } else if (row->unit == LIN_UNIT_SHARE) {
        lin_text_fixed(out, size * 100, 1);
        lin_text_add(out, " points");
    } else {
        add_number(out, size, row->unit);
    }
}

static void add_percent(lin_text *out, const lin_compared *row, const lin_change *change)
{
    static const double most = 9999;
    if (!change->has_ratio || row->unit == LIN_UNIT_SHARE)
        return;
    if (!(change->ratio < most)) {
        lin_text_add(out, "> 999900 %");
        return;
    }
    lin_text_add(out, change->ratio < 0 ? "-" : "+");
    lin_words_percent(out, fabs(change->ratio));
}

static void add_part(lin_text *out, const lin_compared *row, uint32_t column, part which)
{
    if (which == VALUE) {
        add_value(out, row, &row->cells[column]);
        return;
    }
    const lin_change change = lin_compared_change(row, column);
    if (!change.is_known || !(fabs(change.number) > 0))
        return;
    if (which == CHANGE)
        add_change(out, row, &change);
    else
        add_percent(out, row, &change);
}

/* ---- the table ---- */

static bool is_shown(const sheet *s, const lin_compared *row)
{
    return s->all || row->differs || row->is_total;
}

static void measure(sheet *s)
{
    lin_text scratch;
    lin_text_init(&scratch, &s->out->allocator);
    s->name_width = NAME_WIDTH;
    for (uint32_t i = 0; i < lin_sides_columns(s->sides); i++)
        s->widths[i][VALUE] = 1;
    for (uint32_t i = 0; i < lin_sides_rows(s->sides); i++) {
        const lin_compared *row = lin_sides_row(s->sides, i);
        if (!is_shown(s, row))
            continue;
        lin_text_clear(&scratch);
        add_word(&scratch, row->name, LONGEST_WORD);
        const uint64_t name = width_of(lin_text_data(&scratch), scratch.length);
        s->name_width = name > s->name_width ? name : s->name_width;
        for (uint32_t c = 0; c < lin_sides_columns(s->sides); c++)
            for (part p = VALUE; p < PARTS; p++) {
                lin_text_clear(&scratch);
                add_part(&scratch, row, c, p);
                const uint64_t width = width_of(lin_text_data(&scratch), scratch.length);
                s->widths[c][p] = width > s->widths[c][p] ? width : s->widths[c][p];
            }
    }
    s->out->failed |= scratch.failed;
    lin_text_free(&scratch);
}

/* What was appended since `from`, moved right to `width` code points after it. */
static void move_right(lin_text *out, uint64_t from, uint64_t width)
{
    if (out->failed || out->length == from)
        return;
    const uint64_t length = out->length - from, shown = width_of(out->data + from, length);
    if (shown < width)
        lin_column_right(out, from, width + (length - shown));
}

/* Blanks wait until something follows them. */
static void put(sheet *s, uint64_t *waiting, uint64_t from, uint64_t width)
{
    if (s->out->failed)
        return;
    if (s->out->length == from) {
        *waiting += width;
        return;
    }
    move_right(s->out, from, *waiting + width);
    *waiting = 0;
}

static void add_row(sheet *s, const lin_compared *row)
{
    uint64_t waiting = 0;
    const uint64_t start = s->out->length;
    add_word(s->out, row->name, LONGEST_WORD);
    if (!s->out->failed)
        waiting = s->name_width - width_of(s->out->data + start, s->out->length - start);
    for (uint32_t c = 0; c < lin_sides_columns(s->sides); c++)
        for (part p = VALUE; p < PARTS; p++) {
            const uint64_t from = s->out->length;
            add_part(s->out, row, c, p);
            if (s->widths[c][p] > 0)
                put(s, &waiting, from, gaps[p] + s->widths[c][p]);
        }
    lin_text_add(s->out, "\n");
}

static void add_letters(sheet *s)
{
    uint64_t waiting = s->name_width;
    for (uint32_t c = 0; c < lin_sides_columns(s->sides); c++)
        for (part p = VALUE; p < PARTS; p++) {
            const uint64_t from = s->out->length;
            if (p == VALUE)
                add_letter(s->out, c);
            if (s->widths[c][p] > 0)
                put(s, &waiting, from, gaps[p] + s->widths[c][p]);
        }
    lin_text_add(s->out, "\n");
}

static void add_labels(sheet *s)
{
    const uint32_t columns = lin_sides_columns(s->sides);
    for (uint32_t i = 0; i < columns; i++) {
        const uint64_t from = s->out->length;
        add_letter(s->out, i);
        lin_text_fill(s->out, ' ', s->out->length - from < 2 && columns > 26 ? 3 : 2);
        add_word(s->out, lin_sides_label(s->sides, i), UINT64_MAX);
        lin_text_add(s->out, "\n");
    }
    lin_text_add(s->out, "\n");
}

/* A blank line before each section but the first. */
static void add_rows(sheet *s)
{
    bool any = false;
    lin_section section = LIN_SECTION_SETTINGS;
    for (uint32_t i = 0; i < lin_sides_rows(s->sides); i++) {
        const lin_compared *row = lin_sides_row(s->sides, i);
        if (!is_shown(s, row))
            continue;
        if (any && row->section != section)
            lin_text_add(s->out, "\n");
        section = row->section;
        any = true;
        add_row(s, row);
    }
}

static bool shows_settings(const sheet *s)
{
    for (uint32_t i = 0; i < lin_sides_rows(s->sides); i++) {
        const lin_compared *row = lin_sides_row(s->sides, i);
        if (row->section == LIN_SECTION_SETTINGS && is_shown(s, row))
            return true;
    }
    return false;
}

void lin_report_comparison_text(lin_text *out, const lin_sides *sides, bool all)
{
    sheet s = { .out = out, .sides = sides, .all = all };
    measure(&s);
    add_labels(&s);
    if (!shows_settings(&s))
        lin_text_add(out, "The settings are the same.\n\n");
    add_letters(&s);
    add_rows(&s);
}
