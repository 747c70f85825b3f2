/* SPDX-License-Identifier: MIT */

/*
 * The rows of a comparison: entries of the columns, matched by section and name. A row that only
 * later columns have is put behind the one it follows there, so rows keep the order of the reports:
 *
 *     A: Weights, KV cache, CUDA context             Weights        A  B
 *     B: Weights, Gradients, CUDA context            Gradients         B
 *                                                    KV cache       A
 *                                                    CUDA context   A  B
 *
 * What stands in parentheses at a name's end, as in `Optimizer states (adamw)`, does not tell rows
 * apart. Entries of one name are matched in their order. Linear, but for entries of one name.
 */

#include "report/report_comparison.h"

#include <string.h>

#define NO_ROW UINT32_MAX

typedef struct draft {
    const lin_entry *first; /* that made it */
    bool is_renamed;        /* the columns' names end differently */
    uint32_t filled;        /* columns up to this have been seen; the last that has it, + 1 */
    uint32_t next;          /* in its section */
    uint32_t same;          /* of the same name, the next */
    lin_cell *cells;
} draft;

typedef struct table {
    lin_arena *arena;
    uint32_t columns;
    lin_names *names;
    LIN_LIST(uint32_t) by_name; /* by name less 1: its first draft */
    LIN_LIST(draft) drafts;
    uint32_t heads[LIN_SECTION_COUNT];
} table;

/* Without " (adamw)" at the end. */
static uint64_t stem_length(const char *name)
{
    const char *end = strstr(name, " (");
    return end != NULL && end != name ? (uint64_t)(end - name) : strlen(name);
}

static lin_name key_of(table *t, const lin_entry *entry)
{
    const uint64_t length = stem_length(entry->name);
    char *key = lin_arena_alloc(t->arena, length + 1);
    key[0] = (char)('0' + entry->section);
    memcpy(key + 1, entry->name, (size_t)length);
    return lin_names_add(t->names, key, length + 1);
}

static uint32_t add_draft(table *t, const lin_entry *entry, uint32_t previous)
{
    const uint32_t row = t->drafts.count;
    uint32_t *link =
        previous != NO_ROW ? &t->drafts.items[previous].next : &t->heads[entry->section];
    const draft d = { .first = entry,
                      .next = *link,
                      .same = NO_ROW,
                      .cells = LIN_NEW_ARRAY(t->arena, lin_cell, t->columns) };
    *link = row;
    LIN_PUSH(t->arena, &t->drafts, d);
    return row;
}

/* The first row of that name which this column has not filled yet. */
static uint32_t find_draft(table *t, const lin_entry *entry, uint32_t column, uint32_t previous)
{
    const lin_name key = key_of(t, entry);
    if (key > t->by_name.count) {
        const uint32_t made = add_draft(t, entry, previous);
        LIN_PUSH(t->arena, &t->by_name, made);
        return made;
    }
    uint32_t row = t->by_name.items[key - 1];
    while (t->drafts.items[row].filled == column + 1 && t->drafts.items[row].same != NO_ROW)
        row = t->drafts.items[row].same;
    if (t->drafts.items[row].filled != column + 1)
        return row;
    const uint32_t made = add_draft(t, entry, previous);
    t->drafts.items[row].same = made;
    return made;
}

static void add_column(table *t, const lin_side *column, uint32_t index)
{
    uint32_t previous[LIN_SECTION_COUNT];
    for (uint32_t i = 0; i < LIN_SECTION_COUNT; i++)
        previous[i] = NO_ROW;
    for (uint32_t i = 0; i < column->entries.count; i++) {
        const lin_entry *entry = &column->entries.items[i];
        const uint32_t row = find_draft(t, entry, index, previous[entry->section]);
        draft *d = &t->drafts.items[row];
        d->filled = index + 1;
        d->is_renamed |= strcmp(d->first->name, entry->name) != 0;
        d->cells[index] = entry->cell;
        previous[entry->section] = row;
    }
}

/* A component that is not there takes nothing. */
lin_cell lin_compared_cell(const lin_compared *row, uint32_t column)
{
    if (row->section == LIN_SECTION_COMPONENTS && row->cells[column].state == LIN_CELL_ABSENT)
        return (lin_cell){ .state = LIN_CELL_INTEGER };
    return row->cells[column];
}

static bool is_like_first(const lin_compared *row, uint32_t column)
{
    const lin_cell a = lin_compared_cell(row, 0), b = lin_compared_cell(row, column);
    if (a.state != b.state)
        return false;
    if (a.state == LIN_CELL_WORD)
        return strcmp(a.word, b.word) == 0;
    if (a.state == LIN_CELL_NUMBER)
        return a.number >= b.number && a.number <= b.number;
    return a.integer == b.integer;
}

static lin_compared finish(const table *t, const draft *d)
{
    const lin_entry *first = d->first;
    lin_compared row = { .section = first->section,
                         .unit = first->unit,
                         .name = first->name,
                         .is_total = first->is_total,
                         .cells = d->cells };
    if (d->is_renamed)
        row.name = lin_arena_text(t->arena, first->name, stem_length(first->name));
    for (uint32_t i = 1; i < t->columns; i++)
        row.differs |= !is_like_first(&row, i);
    return row;
}

void lin_side_rows(const lin_side *list, uint32_t columns, lin_arena *arena,
                   const lin_compared **out, uint32_t *out_count)
{
    table t = { .arena = arena, .columns = columns, .names = lin_names_new(arena) };
    for (uint32_t i = 0; i < LIN_SECTION_COUNT; i++)
        t.heads[i] = NO_ROW;
    for (uint32_t i = 0; i < columns; i++)
        add_column(&t, &list[i], i);
    lin_compared *rows = LIN_NEW_ARRAY(arena, lin_compared, t.drafts.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < LIN_SECTION_COUNT; i++)
        for (uint32_t at = t.heads[i]; at != NO_ROW; at = t.drafts.items[at].next)
            rows[count++] = finish(&t, &t.drafts.items[at]);
    *out = rows;
    *out_count = count;
}

lin_change lin_compared_change(const lin_compared *row, uint32_t column)
{
    const lin_cell a = lin_compared_cell(row, 0), b = lin_compared_cell(row, column);
    lin_change change = { 0 };
    double base = a.number;
    if (row->section == LIN_SECTION_SETTINGS || a.state != b.state)
        return change;
    if (a.state == LIN_CELL_INTEGER) {
        change.is_known = lin_sub_i64(b.integer, a.integer, &change.integer);
        change.number = (double)b.integer - (double)a.integer;
        base = (double)a.integer;
    } else if (a.state == LIN_CELL_NUMBER) {
        change.is_known = true;
        change.number = b.number - a.number;
    }
    change.has_ratio = change.is_known && base > 0;
    if (change.has_ratio)
        change.ratio = change.number / base;
    return change;
}
