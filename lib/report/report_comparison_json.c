/* SPDX-License-Identifier: MIT */

/* A comparison as one JSON document: the labels, then every row with a value, a difference and a
 * ratio for each configuration. */

#include "report/report.h"

#include <math.h>

enum { COMPARISON_VERSION = 1 };

static const char *const section_names[LIN_SECTION_COUNT] = {
    [LIN_SECTION_SETTINGS] = "setting", [LIN_SECTION_COMPONENTS] = "component",
    [LIN_SECTION_DEVICES] = "device",   [LIN_SECTION_PEAKS] = "peak",
    [LIN_SECTION_TIME] = "time",
};

static const char *const unit_names[] = {
    [LIN_UNIT_NONE] = NULL,
    [LIN_UNIT_BYTES] = "bytes",
    [LIN_UNIT_SECONDS] = "seconds",
    [LIN_UNIT_TOKENS] = "tokens",
    [LIN_UNIT_TOKENS_PER_SECOND] = "tokens_per_second",
    [LIN_UNIT_SHARE] = "share",
};

const char *lin_section_name(lin_section section)
{
    return section_names[section];
}

const char *lin_unit_name(lin_unit unit)
{
    return unit_names[unit];
}

static void write_cell(lin_writer *w, const lin_cell *cell)
{
    switch (cell->state) {
    case LIN_CELL_ABSENT:
    case LIN_CELL_UNKNOWN:
        lin_write_null(w);
        break;
    case LIN_CELL_WORD:
        lin_write_string(w, cell->word);
        break;
    case LIN_CELL_FLAG:
        lin_write_bool(w, cell->integer != 0);
        break;
    case LIN_CELL_INTEGER:
        lin_write_i64(w, cell->integer);
        break;
    case LIN_CELL_NUMBER:
        lin_write_double(w, cell->number);
        break;
    }
}

/* The differences of two rounded numbers are of no more digits than they. */
static void write_change(lin_writer *w, lin_unit unit, const lin_change *change)
{
    static const double picoseconds = 1e12;
    if (!change->is_known)
        lin_write_null(w);
    else if (unit == LIN_UNIT_BYTES)
        lin_write_i64(w, change->integer);
    else
        lin_write_double(w, fabs(change->number) < 1
                                ? round(change->number * picoseconds) / picoseconds
                                : change->number);
}

static void write_ratio(lin_writer *w, const lin_change *change)
{
    static const double millionths = 1e6;
    if (change->has_ratio)
        lin_write_double(w, round(change->ratio * millionths) / millionths);
    else
        lin_write_null(w);
}

static void write_row(lin_writer *w, const lin_compared *row, uint32_t columns)
{
    lin_write_object(w);
    lin_pair_string(w, "kind", section_names[row->section]);
    lin_pair_string(w, "name", row->name);
    lin_pair_string(w, "unit", unit_names[row->unit]);
    lin_pair_bool(w, "differs", row->differs);
    lin_write_key(w, "values");
    lin_write_array(w);
    for (uint32_t i = 0; i < columns; i++) {
        const lin_cell cell = lin_compared_cell(row, i);
        write_cell(w, &cell);
    }
    lin_write_array_end(w);
    if (row->unit != LIN_UNIT_NONE && row->section != LIN_SECTION_SETTINGS) {
        lin_write_key(w, "changes");
        lin_write_array(w);
        for (uint32_t i = 0; i < columns; i++) {
            const lin_change change = lin_compared_change(row, i);
            write_change(w, row->unit, &change);
        }
        lin_write_array_end(w);
        lin_write_key(w, "ratios");
        lin_write_array(w);
        for (uint32_t i = 0; i < columns; i++) {
            const lin_change change = lin_compared_change(row, i);
            write_ratio(w, &change);
        }
        lin_write_array_end(w);
    }
    lin_write_object_end(w);
}

void lin_report_comparison_json(lin_text *out, const lin_sides *sides)
{
    const uint32_t columns = lin_sides_columns(sides);
    lin_writer w;
    lin_writer_init(&w, out);
    lin_write_object(&w);
    lin_pair_i64(&w, "version", COMPARISON_VERSION);
    lin_write_key(&w, "configurations");
    lin_write_array(&w);
    for (uint32_t i = 0; i < columns; i++)
        lin_write_string(&w, lin_sides_label(sides, i));
    lin_write_array_end(&w);
    lin_write_key(&w, "rows");
    lin_write_array(&w);
    for (uint32_t i = 0; i < lin_sides_rows(sides); i++)
        write_row(&w, lin_sides_row(sides, i), columns);
    lin_write_array_end(&w);
    lin_write_object_end(&w);
    lin_writer_end(&w);
}
