/* SPDX-License-Identifier: MIT */

/* The comparison handle: columns, rows by index, as text and as JSON. */

#include "api/api.h"

struct linnet_comparison {
    lin_allocator allocator;
    lin_sides *comparison;
};

linnet_status linnet_comparison_new(const linnet_config *config, linnet_comparison **out_comparison,
                                    linnet_error *err)
{
    linnet_comparison *comparison = lin_alloc_zeroed(&config->allocator, sizeof *comparison);
    if (comparison == NULL)
        return lin_fail_memory(err);
    comparison->allocator = config->allocator;
    const linnet_status status = lin_sides_new(&config->allocator, &comparison->comparison, err);
    if (status == LINNET_OK)
        *out_comparison = comparison;
    else
        linnet_comparison_free(comparison);
    return status;
}

void linnet_comparison_free(linnet_comparison *comparison)
{
    if (comparison == NULL)
        return;
    const lin_allocator allocator = comparison->allocator;
    lin_sides_free(comparison->comparison);
    lin_release(&allocator, comparison, sizeof *comparison);
}

/* ---- columns ---- */

linnet_status linnet_comparison_add_json(linnet_comparison *comparison, const char *text,
                                         uint64_t length, const char *label, linnet_error *err)
{
    return lin_sides_add_json(comparison->comparison, label, text, length, err);
}

linnet_status linnet_comparison_add_analysis(linnet_comparison *comparison,
                                             const linnet_analysis *analysis,
                                             const linnet_timing *timing, const char *label,
                                             linnet_error *err)
{
    return lin_sides_add(comparison->comparison, label, analysis->answer,
                         timing != NULL ? lin_timing_of(timing) : NULL, err);
}

linnet_status linnet_comparison_add_timing(linnet_comparison *comparison,
                                           const linnet_timing *timing, const char *label,
                                           linnet_error *err)
{
    return lin_sides_add(comparison->comparison, label, NULL, lin_timing_of(timing), err);
}

uint64_t linnet_comparison_column_count(const linnet_comparison *comparison)
{
    return lin_sides_columns(comparison->comparison);
}

const char *linnet_comparison_column_label(const linnet_comparison *comparison, uint64_t column)
{
    return column < lin_sides_columns(comparison->comparison)
               ? lin_sides_label(comparison->comparison, (uint32_t)column)
               : NULL;
}

const char *linnet_comparison_column_verdict(const linnet_comparison *comparison, uint64_t column)
{
    return column < lin_sides_columns(comparison->comparison)
               ? lin_sides_verdict(comparison->comparison, (uint32_t)column)
               : NULL;
}

/* ---- rows ---- */

static const lin_compared *row_at(const linnet_comparison *comparison, uint64_t row)
{
    return row < lin_sides_rows(comparison->comparison)
               ? lin_sides_row(comparison->comparison, (uint32_t)row)
               : NULL;
}

/* What a configuration has none of is 0 bytes, where it is a component. */
static lin_cell cell_at(const linnet_comparison *comparison, uint64_t row, uint64_t column)
{
    const lin_compared *r = row_at(comparison, row);
    if (r == NULL || column >= lin_sides_columns(comparison->comparison))
        return (lin_cell){ .state = LIN_CELL_ABSENT };
    return lin_compared_cell(r, (uint32_t)column);
}

uint64_t linnet_comparison_row_count(const linnet_comparison *comparison)
{
    return lin_sides_rows(comparison->comparison);
}

const char *linnet_comparison_row_name(const linnet_comparison *comparison, uint64_t row)
{
    const lin_compared *r = row_at(comparison, row);
    return r != NULL ? r->name : NULL;
}

const char *linnet_comparison_row_kind(const linnet_comparison *comparison, uint64_t row)
{
    const lin_compared *r = row_at(comparison, row);
    return r != NULL ? lin_section_name(r->section) : NULL;
}

const char *linnet_comparison_row_unit(const linnet_comparison *comparison, uint64_t row)
{
    const lin_compared *r = row_at(comparison, row);
    return r != NULL ? lin_unit_name(r->unit) : NULL;
}

int32_t linnet_comparison_row_differs(const linnet_comparison *comparison, uint64_t row)
{
    const lin_compared *r = row_at(comparison, row);
    return r != NULL && r->differs;
}

int32_t linnet_comparison_is_known(const linnet_comparison *comparison, uint64_t row,
                                   uint64_t column)
{
    const lin_cell cell = cell_at(comparison, row, column);
    return cell.state != LIN_CELL_ABSENT && cell.state != LIN_CELL_UNKNOWN;
}

int64_t linnet_comparison_integer(const linnet_comparison *comparison, uint64_t row,
                                  uint64_t column)
{
    const lin_cell cell = cell_at(comparison, row, column);
    return cell.state == LIN_CELL_INTEGER || cell.state == LIN_CELL_FLAG ? cell.integer : 0;
}

double linnet_comparison_number(const linnet_comparison *comparison, uint64_t row, uint64_t column)
{
    const lin_cell cell = cell_at(comparison, row, column);
    if (cell.state == LIN_CELL_NUMBER)
        return cell.number;
    return cell.state == LIN_CELL_INTEGER ? (double)cell.integer : 0;
}

const char *linnet_comparison_word(const linnet_comparison *comparison, uint64_t row,
                                   uint64_t column)
{
    const lin_cell cell = cell_at(comparison, row, column);
    return cell.state == LIN_CELL_WORD ? cell.word : NULL;
}

/* ---- documents ---- */

static linnet_status check_two(const linnet_comparison *comparison, linnet_error *err)
{
    if (lin_sides_columns(comparison->comparison) >= 2)
        return LINNET_OK;
    return lin_fail(err, LINNET_ERROR_ARGUMENT, "a comparison needs two configurations or more");
}

linnet_status linnet_comparison_to_text(const linnet_comparison *comparison, int32_t all,
                                        linnet_text **out_text, linnet_error *err)
{
    lin_text text;
    const linnet_status status = check_two(comparison, err);
    if (status != LINNET_OK)
        return status;
    lin_text_init(&text, &comparison->allocator);
    lin_report_comparison_text(&text, comparison->comparison, all != 0);
    return lin_text_wrap(&text, out_text, err);
}

linnet_status linnet_comparison_to_json(const linnet_comparison *comparison, linnet_text **out_text,
                                        linnet_error *err)
{
    lin_text text;
    const linnet_status status = check_two(comparison, err);
    if (status != LINNET_OK)
        return status;
    lin_text_init(&text, &comparison->allocator);
    lin_report_comparison_json(&text, comparison->comparison);
    return lin_text_wrap(&text, out_text, err);
}
