/* SPDX-License-Identifier: MIT */

/*
 * Configurations side by side: a column for each document or answer. The rows are made anew with
 * every column (report_comparison_rows.c), and a call that fails leaves the ones before. An answer
 * is compared through its JSON, so that a document and what it was printed from are the same.
 *
 * Cost: linear in the entries of all columns, once a column.
 */

#include "report/report_comparison.h"

#include <string.h>

struct lin_sides {
    lin_allocator allocator;
    lin_side columns[LIN_SIDES_MOST];
    uint32_t column_count;
    lin_arena table; /* of the rows */
    const lin_compared *rows;
    uint32_t row_count;
};

/* ---- columns ---- */

/* What is added in one call. */
typedef struct addition {
    lin_sides *sides;
    const char *label;
    const lin_document *documents; /* all of the one new column, or */
    uint32_t document_count;
    bool is_list; /* one whose root is an array: a column an item */
    uint32_t columns;
    lin_arena table;
    const lin_compared *rows;
    uint32_t row_count;
    linnet_error *err;
} addition;

static lin_side *new_column(const addition *a, uint32_t index)
{
    return &a->sides->columns[a->sides->column_count + index];
}

static const char *label_of(const addition *a, lin_arena *arena, uint32_t index)
{
    return a->is_list ? lin_arena_format(arena, "%s[%u]", a->label, (unsigned)index)
                      : lin_arena_copy(arena, a->label);
}

static const char *command_of(const lin_side *column)
{
    return column->has_memory ? "linnet memory" : "linnet time";
}

/* Documents are of one kind; an answer may come with its timing or without. */
static linnet_status check_like(const addition *a, const lin_side *column)
{
    const lin_side *first = &a->sides->columns[0];
    if (column == first || column->has_memory == first->has_memory)
        return LINNET_OK;
    return lin_fail(a->err, LINNET_ERROR_ARGUMENT,
                    "`%s` is an answer of `%s` and `%s` one of `%s`: only like is compared with "
                    "like",
                    first->label, command_of(first), column->label, command_of(column));
}

static linnet_status read_columns(const addition *a)
{
    linnet_status status = LINNET_OK;
    for (uint32_t i = 0; i < a->columns && status == LINNET_OK; i++) {
        lin_side *column = new_column(a, i);
        column->label = label_of(a, &column->arena, i);
        for (uint32_t k = 0; k < a->document_count && status == LINNET_OK; k++)
            status = lin_side_read(column, &a->documents[k], a->is_list ? (int64_t)i : -1, a->err);
        if (status == LINNET_OK)
            status = check_like(a, column);
    }
    return status;
}

/* Apart from its caller: no local that changes lives across the setjmp. */
static linnet_status fill(addition *a)
{
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0)
        return lin_fail_memory(a->err);
    a->table.on_failure = &out_of_memory;
    for (uint32_t i = 0; i < a->columns; i++)
        new_column(a, i)->arena.on_failure = &out_of_memory;
    const linnet_status status = read_columns(a);
    if (status == LINNET_OK)
        lin_side_rows(a->sides->columns, a->sides->column_count + a->columns, &a->table, &a->rows,
                      &a->row_count);
    return status;
}

static linnet_status check_count(const addition *a)
{
    if (a->columns == 0)
        return lin_fail_at(a->err, LINNET_ERROR_FORMAT, (lin_place){ a->label, 1, 1 }, NULL,
                           "an empty list has nothing to compare");
    if (a->columns > LIN_SIDES_MOST - a->sides->column_count)
        return lin_fail(a->err, LINNET_ERROR_ARGUMENT, "more than %d configurations",
                        (int)LIN_SIDES_MOST);
    return LINNET_OK;
}

static linnet_status commit(addition *a)
{
    lin_sides *c = a->sides;
    linnet_status status = check_count(a);
    if (status != LINNET_OK)
        return status;
    lin_arena_init(&a->table, &c->allocator);
    for (uint32_t i = 0; i < a->columns; i++) {
        *new_column(a, i) = (lin_side){ 0 };
        lin_arena_init(&new_column(a, i)->arena, &c->allocator);
    }
    status = fill(a);
    a->table.on_failure = NULL;
    for (uint32_t i = 0; i < a->columns; i++) {
        new_column(a, i)->arena.on_failure = NULL;
        if (status != LINNET_OK)
            lin_arena_free(&new_column(a, i)->arena);
    }
    if (status != LINNET_OK) {
        lin_arena_free(&a->table);
        return status;
    }
    lin_arena_free(&c->table);
    c->table = a->table;
    c->rows = a->rows;
    c->row_count = a->row_count;
    c->column_count += a->columns;
    return LINNET_OK;
}

linnet_status lin_sides_add_json(lin_sides *sides, const char *label, const char *text,
                                 uint64_t length, linnet_error *err)
{
    lin_arena arena;
    lin_document document = { .source = label, .text = text, .length = length };
    addition a = {
        .sides = sides, .label = label, .documents = &document, .document_count = 1, .err = err
    };
    lin_arena_init(&arena, &sides->allocator);
    linnet_status status = lin_json_read(label, text, length, false, &arena, &document.root, err);
    if (status == LINNET_OK) {
        a.is_list = document.root->kind == LIN_JSON_ARRAY;
        a.columns = a.is_list ? document.root->count : 1;
        status = commit(&a);
    }
    lin_arena_free(&arena);
    return status;
}

/* ---- answers ---- */

enum { MEMORY_DOCUMENT, TIME_DOCUMENT, DOCUMENTS };

/* A timeline would be read and not compared. */
static void write_answer(lin_text *out, const lin_answer *answer)
{
    lin_answer plain = *answer;
    plain.timeline = NULL;
    lin_report_json(out, &plain, 0);
}

static linnet_status read_answer(const lin_text *text, const char *label, lin_arena *arena,
                                 lin_document *out, linnet_error *err)
{
    if (text->failed)
        return lin_fail_memory(err);
    *out = (lin_document){ .source = label, .text = text->data, .length = text->length };
    return lin_json_read(label, text->data, text->length, false, arena, &out->root, err);
}

linnet_status lin_sides_add(lin_sides *sides, const char *label, const lin_answer *answer,
                            const lin_timing *timing, linnet_error *err)
{
    lin_arena arena;
    lin_text texts[DOCUMENTS];
    lin_document documents[DOCUMENTS];
    addition a = {
        .sides = sides, .label = label, .documents = documents, .columns = 1, .err = err
    };
    linnet_status status = LINNET_OK;
    lin_arena_init(&arena, &sides->allocator);
    for (int i = 0; i < DOCUMENTS; i++)
        lin_text_init(&texts[i], &sides->allocator);
    if (answer != NULL)
        write_answer(&texts[MEMORY_DOCUMENT], answer);
    if (timing != NULL)
        lin_report_time_json(&texts[TIME_DOCUMENT], timing);
    for (int i = 0; i < DOCUMENTS && status == LINNET_OK; i++)
        if (i == MEMORY_DOCUMENT ? answer != NULL : timing != NULL)
            status = read_answer(&texts[i], label, &arena, &documents[a.document_count++], err);
    if (status == LINNET_OK)
        status = commit(&a);
    for (int i = 0; i < DOCUMENTS; i++)
        lin_text_free(&texts[i]);
    lin_arena_free(&arena);
    return status;
}

/* ---- the whole ---- */

linnet_status lin_sides_new(const lin_allocator *allocator, lin_sides **out, linnet_error *err)
{
    lin_sides *sides = lin_alloc_zeroed(allocator, sizeof(*sides));
    if (sides == NULL)
        return lin_fail_memory(err);
    sides->allocator = *allocator;
    lin_arena_init(&sides->table, allocator);
    *out = sides;
    return LINNET_OK;
}

void lin_sides_free(lin_sides *sides)
{
    if (sides == NULL)
        return;
    const lin_allocator allocator = sides->allocator;
    for (uint32_t i = 0; i < sides->column_count; i++)
        lin_arena_free(&sides->columns[i].arena);
    lin_arena_free(&sides->table);
    lin_release(&allocator, sides, sizeof(*sides));
}

uint32_t lin_sides_columns(const lin_sides *sides)
{
    return sides->column_count;
}

const char *lin_sides_label(const lin_sides *sides, uint32_t column)
{
    return sides->columns[column].label;
}

bool lin_sides_has_memory(const lin_sides *sides)
{
    return sides->column_count > 0 && sides->columns[0].has_memory;
}

bool lin_sides_has_time(const lin_sides *sides)
{
    for (uint32_t i = 0; i < sides->column_count; i++)
        if (sides->columns[i].has_time)
            return true;
    return false;
}

uint32_t lin_sides_rows(const lin_sides *sides)
{
    return sides->row_count;
}

const lin_compared *lin_sides_row(const lin_sides *sides, uint32_t row)
{
    return &sides->rows[row];
}

const char *lin_sides_verdict(const lin_sides *sides, uint32_t column)
{
    for (uint32_t i = 0; i < sides->row_count; i++) {
        const lin_compared *row = &sides->rows[i];
        if (row->section == LIN_SECTION_PEAKS && strcmp(row->name, "Verdict") == 0)
            return row->cells[column].state == LIN_CELL_WORD ? row->cells[column].word : NULL;
    }
    return NULL;
}
