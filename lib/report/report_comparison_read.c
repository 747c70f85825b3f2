/* SPDX-License-Identifier: MIT */

/*
 * A document of `linnet memory`, `linnet time` or `linnet fit` as a column of a comparison:
 * settings flattened to their paths (`training.optimizer`), components, stages, and the totals of
 * the two tables below. Documents come from anywhere: whatever is missing, of another kind or out
 * of range is refused with its path and place. The reader knows where it is by a stack of keys;
 * once it has refused something, its functions do nothing.
 */

#include "report/report_comparison.h"

#include <stdio.h>
#include <string.h>

enum { DOCUMENT_VERSION = 1, MAX_PATH = 16, MAX_NESTING = 8, MAX_ENTRIES = 1000 };
/* Far above any time or rate, far below what a double printed in full would fill a page with. */
static const double most = 1e18;

typedef struct reader {
    const lin_document *document;
    lin_side *column;
    lin_arena *arena;
    lin_json_step path[MAX_PATH];
    uint32_t depth;
    linnet_status status;
    linnet_error *err;
} reader;

/* ---- where it is ---- */

/* "components[3].bytes" */
static const char *path_text(const reader *r)
{
    const char *text = "";
    for (uint32_t i = 0; i < r->depth; i++) {
        const lin_json_step *step = &r->path[i];
        if (step->key == NULL)
            text = lin_arena_format(r->arena, "%s[%u]", text, (unsigned)step->index);
        else
            text = lin_arena_format(r->arena, "%s%s%.64s", text, text[0] != '\0' ? "." : "",
                                    step->key);
    }
    return text;
}

static void refuse(reader *r, const char *why)
{
    if (r->status != LINNET_OK)
        return;
    const lin_document *d = r->document;
    const lin_place place =
        lin_json_locate(d->source, d->text, d->length, r->path, r->depth, &r->arena->allocator);
    const char *path = path_text(r);
    r->status = path[0] != '\0'
                    ? lin_fail_at(r->err, LINNET_ERROR_FORMAT, place, NULL, "`%s` %s", path, why)
                    : lin_fail_at(r->err, LINNET_ERROR_FORMAT, place, NULL, "this %s", why);
}

static void refuse_kind(reader *r, const char *wanted, const lin_json *found)
{
    refuse(r, found == NULL ? "is missing"
                            : lin_arena_format(r->arena, "must be %s, not %s", wanted,
                                               lin_json_kind_name(found->kind)));
}

/* Every `enter` has its `leave`. */
static const lin_json *enter(reader *r, const lin_json *object, const char *key)
{
    r->path[r->depth++] = (lin_json_step){ .key = key };
    return lin_json_get(object, key);
}

static const lin_json *enter_item(reader *r, const lin_json *array, uint32_t index)
{
    r->path[r->depth++] = (lin_json_step){ .index = index };
    return &array->items[index];
}

static void leave(reader *r)
{
    r->depth--;
}

static bool check_kind(reader *r, const lin_json *value, lin_json_kind kind, const char *wanted)
{
    if (value != NULL && value->kind == kind)
        return true;
    refuse_kind(r, wanted, value);
    return false;
}

/* ---- values ---- */

static const char *copy(reader *r, const lin_json *string)
{
    return lin_arena_text(r->arena, string->text, string->length);
}

static void read_bytes(reader *r, const lin_json *value, bool may_be_negative, lin_cell *out)
{
    if (!check_kind(r, value, LIN_JSON_INTEGER, "a whole number of bytes"))
        return;
    if (value->integer < 0 && !may_be_negative)
        refuse(r, "must not be negative");
    *out = (lin_cell){ .state = LIN_CELL_INTEGER, .integer = value->integer };
}

static void read_number(reader *r, const lin_json *value, lin_cell *out)
{
    if (value == NULL || (value->kind != LIN_JSON_INTEGER && value->kind != LIN_JSON_REAL)) {
        refuse_kind(r, "a number", value);
        return;
    }
    const double number = value->kind == LIN_JSON_INTEGER ? (double)value->integer : value->real;
    if (number < 0)
        refuse(r, "must not be negative");
    else if (!(number <= most))
        refuse(r, "is larger than any that could be compared");
    *out = (lin_cell){ .state = LIN_CELL_NUMBER, .number = number };
}

static void read_word(reader *r, const lin_json *value, lin_cell *out)
{
    if (check_kind(r, value, LIN_JSON_STRING, "a string"))
        *out = (lin_cell){ .state = LIN_CELL_WORD, .word = copy(r, value) };
}

static void push(reader *r, const lin_entry *entry)
{
    if (r->status == LINNET_OK)
        LIN_PUSH(r->arena, &r->column->entries, *entry);
}

/* ---- rows that every document has ---- */

/* What is not NEEDED gives no row where it is null or not there. */
enum { NEEDED = 1, TOTAL = 2, SIGNED = 4 };

typedef struct total_row {
    const char *name;
    const char *object, *key; /* `object` NULL: of the document */
    lin_unit unit;
    unsigned flags;
} total_row;

/* clang-format off */
static const total_row peak_rows[] = {
    { "Graph peak",     "peak",    "graph",     LIN_UNIT_BYTES, NEEDED | TOTAL },
    { "Allocator peak", "peak",    "allocator", LIN_UNIT_BYTES, NEEDED },
    { "Expected peak",  "peak",    "expected",  LIN_UNIT_BYTES, NEEDED | TOTAL },
    { "Recomputation",  NULL,      "recompute", LIN_UNIT_SHARE, 0 },
    { "Free",           "verdict", "free",      LIN_UNIT_BYTES, SIGNED },
    { "Verdict",        "verdict", "verdict",   LIN_UNIT_NONE,  TOTAL },
};
static const total_row time_rows[] = {
    { "Step",                 "throughput", "seconds",               LIN_UNIT_SECONDS, NEEDED | TOTAL },
    { "Tokens",               "throughput", "tokens",                LIN_UNIT_TOKENS,  NEEDED },
    { "Tokens per second",    "throughput", "tokens_per_second",     LIN_UNIT_TOKENS_PER_SECOND, NEEDED | TOTAL },
    { "Limited by",           "throughput", "limit",                 LIN_UNIT_NONE,    NEEDED },
    { "Compute",              "throughput", "compute_seconds",       LIN_UNIT_SECONDS, NEEDED },
    { "Memory",               "throughput", "memory_seconds",        LIN_UNIT_SECONDS, NEEDED },
    { "Communication",        "throughput", "communication_seconds", LIN_UNIT_SECONDS, NEEDED },
    { "Waiting for the host", "throughput", "host_seconds",          LIN_UNIT_SECONDS, NEEDED },
    { "Bubble",               "throughput", "bubble",                LIN_UNIT_SHARE,   NEEDED },
    { "Model FLOPs utilisation",    "utilisation", "model",          LIN_UNIT_SHARE,   NEEDED },
    { "Hardware FLOPs utilisation", "utilisation", "hardware",       LIN_UNIT_SHARE,   NEEDED },
};
/* Of a time beside which no memory stands. */
static const total_row time_peak_rows[] = {
    { "Expected peak", "memory", "expected_peak", LIN_UNIT_BYTES, NEEDED | TOTAL },
    { "Free",          "memory", "free",          LIN_UNIT_BYTES, SIGNED },
    { "Verdict",       "memory", "verdict",       LIN_UNIT_NONE,  TOTAL },
};
static const total_row fit_rows[] = {
    { "Budget",   NULL, "budget",   LIN_UNIT_BYTES, 0 },
    { "Headroom", NULL, "headroom", LIN_UNIT_BYTES, 0 },
};
/* clang-format on */

static void read_total_value(reader *r, const total_row *row, lin_section section,
                             const lin_json *value)
{
    lin_entry entry = { .section = section,
                        .unit = row->unit,
                        .is_total = (row->flags & TOTAL) != 0,
                        .name = row->name };
    if ((row->flags & NEEDED) == 0 && (value == NULL || value->kind == LIN_JSON_NULL))
        return;
    if (row->unit == LIN_UNIT_NONE)
        read_word(r, value, &entry.cell);
    else if (row->unit == LIN_UNIT_BYTES)
        read_bytes(r, value, (row->flags & SIGNED) != 0, &entry.cell);
    else
        read_number(r, value, &entry.cell);
    push(r, &entry);
}

static void read_total(reader *r, const total_row *row, lin_section section,
                       const lin_json *document)
{
    const lin_json *object = row->object != NULL ? enter(r, document, row->object) : document;
    if (object != NULL || (row->flags & NEEDED) != 0) {
        if (check_kind(r, object, LIN_JSON_OBJECT, "an object")) {
            read_total_value(r, row, section, enter(r, object, row->key));
            leave(r);
        }
    }
    if (row->object != NULL)
        leave(r);
}

static void read_totals(reader *r, const total_row *rows, uint32_t count, lin_section section,
                        const lin_json *document)
{
    for (uint32_t i = 0; i < count && r->status == LINNET_OK; i++)
        read_total(r, &rows[i], section, document);
}

/* ---- settings ---- */

static void push_setting(reader *r, const char *name, lin_unit unit, lin_cell cell)
{
    const lin_entry entry = {
        .section = LIN_SECTION_SETTINGS, .unit = unit, .name = name, .cell = cell
    };
    if (r->column->entries.count >= MAX_ENTRIES)
        refuse(r, lin_arena_format(r->arena, "holds too much: at most %d settings are compared",
                                   (int)MAX_ENTRIES));
    push(r, &entry);
}

/* An item of a list as text; false: it is neither a word nor a whole number. */
enum { INTEGER_TEXT = 24 };

static bool item_text(const lin_json *item, char spelled[INTEGER_TEXT], const char **out,
                      uint64_t *out_length)
{
    *out = item->kind == LIN_JSON_STRING ? item->text : spelled;
    *out_length = item->length;
    if (item->kind == LIN_JSON_INTEGER)
        *out_length = (uint64_t)snprintf(spelled, INTEGER_TEXT, "%lld", (long long)item->integer);
    return item->kind == LIN_JSON_STRING || item->kind == LIN_JSON_INTEGER;
}

/* A list as its items joined by ", ". */
static const char *join(reader *r, const lin_json *array)
{
    enum { BETWEEN = 2 };
    char spelled[INTEGER_TEXT];
    const char *item;
    uint64_t total = 1, length;
    for (uint32_t i = 0; i < array->count; i++) {
        const lin_json *value = enter_item(r, array, i);
        if (!item_text(value, spelled, &item, &length))
            refuse_kind(r, "a word or a whole number", value);
        leave(r);
        total += length + BETWEEN;
    }
    if (r->status != LINNET_OK)
        return "";
    char *text = lin_arena_alloc(r->arena, total), *at = text;
    for (uint32_t i = 0; i < array->count; i++) {
        item_text(&array->items[i], spelled, &item, &length);
        if (i > 0) {
            memcpy(at, ", ", BETWEEN);
            at += BETWEEN;
        }
        if (length > 0)
            memcpy(at, item, (size_t)length);
        at += length;
    }
    return text;
}

static lin_cell setting_cell(reader *r, const lin_json *value)
{
    switch (value->kind) {
    case LIN_JSON_FALSE:
    case LIN_JSON_TRUE:
        return (lin_cell){ .state = LIN_CELL_FLAG, .integer = value->kind == LIN_JSON_TRUE };
    case LIN_JSON_INTEGER:
        return (lin_cell){ .state = LIN_CELL_INTEGER, .integer = value->integer };
    case LIN_JSON_REAL:
        return (lin_cell){ .state = LIN_CELL_NUMBER, .number = value->real };
    case LIN_JSON_STRING:
        return (lin_cell){ .state = LIN_CELL_WORD, .word = copy(r, value) };
    case LIN_JSON_ARRAY:
        return (lin_cell){ .state = LIN_CELL_WORD, .word = join(r, value) };
    case LIN_JSON_NULL:
    case LIN_JSON_OBJECT:
        break;
    }
    return (lin_cell){ .state = LIN_CELL_ABSENT };
}

/* At most MAX_NESTING deep. */
static void read_settings(reader *r, const lin_json *object, const char *prefix, uint32_t nesting)
{
    if (nesting == MAX_NESTING) {
        refuse(r, lin_arena_format(r->arena, "is nested deeper than %d levels", (int)MAX_NESTING));
        return;
    }
    for (uint32_t i = 0; i < object->count && r->status == LINNET_OK; i++) {
        const lin_json *value = &object->items[i];
        r->path[r->depth++] = (lin_json_step){ .key = object->keys[i] };
        const char *name = lin_arena_format(r->arena, "%s%s", prefix, object->keys[i]);
        if (value->kind == LIN_JSON_OBJECT)
            read_settings(r, value, lin_arena_format(r->arena, "%s.", name), nesting + 1);
        else
            push_setting(r, name, LIN_UNIT_NONE, setting_cell(r, value));
        leave(r);
    }
}

static void read_configuration(reader *r, const lin_json *document)
{
    const lin_json *settings = enter(r, document, "configuration");
    if (check_kind(r, settings, LIN_JSON_OBJECT, "an object"))
        read_settings(r, settings, "", 0);
    leave(r);
}

static void read_device_memory(reader *r, const lin_json *document, const char *object_key,
                               const char *key)
{
    lin_cell cell = { 0 };
    const lin_json *object = enter(r, document, object_key);
    if (object != NULL && check_kind(r, object, LIN_JSON_OBJECT, "an object")) {
        read_bytes(r, enter(r, object, key), false, &cell);
        leave(r);
        push_setting(r, "device_memory", LIN_UNIT_BYTES, cell);
    }
    leave(r);
}

static void read_device(reader *r, const lin_json *document)
{
    lin_cell cell = { 0 };
    const lin_json *device = enter(r, document, "device");
    if (check_kind(r, device, LIN_JSON_OBJECT, "an object")) {
        read_word(r, enter(r, device, "name"), &cell);
        leave(r);
    }
    leave(r);
    push_setting(r, "device", LIN_UNIT_NONE, cell);
    read_word(r, enter(r, document, "time_model"), &cell);
    leave(r);
    push_setting(r, "time_model", LIN_UNIT_NONE, cell);
}

/* ---- components and stages ---- */

static void read_item(reader *r, const lin_json *item, lin_section section, const char *bytes_key)
{
    lin_cell name = { 0 };
    lin_entry entry = { .section = section, .unit = LIN_UNIT_BYTES };
    if (!check_kind(r, item, LIN_JSON_OBJECT, "an object"))
        return;
    read_word(r, enter(r, item, "name"), &name);
    leave(r);
    const lin_json *bytes = enter(r, item, bytes_key);
    if (section == LIN_SECTION_COMPONENTS && bytes != NULL && bytes->kind == LIN_JSON_NULL)
        entry.cell.state = LIN_CELL_UNKNOWN;
    else
        read_bytes(r, bytes, false, &entry.cell);
    leave(r);
    entry.name = name.word;
    push(r, &entry);
}

/* Of `least` or more: the one device of most configurations is its peaks, which follow. */
static void read_list(reader *r, const lin_json *document, const char *key, uint32_t least,
                      lin_section section, const char *bytes_key)
{
    const lin_json *list = enter(r, document, key);
    const bool is_list = check_kind(r, list, LIN_JSON_ARRAY, "an array");
    const uint32_t count = is_list && list->count >= least ? list->count : 0;
    if (count > MAX_ENTRIES)
        refuse(r, lin_arena_format(r->arena, "holds too much: at most %d items are compared",
                                   (int)MAX_ENTRIES));
    for (uint32_t i = 0; i < count && r->status == LINNET_OK; i++) {
        read_item(r, enter_item(r, list, i), section, bytes_key);
        leave(r);
    }
    leave(r);
}

/* ---- documents ---- */

static void check_version(reader *r, const lin_json *document)
{
    const lin_json *version = enter(r, document, "version");
    if (check_kind(r, version, LIN_JSON_INTEGER, "a whole number") &&
        version->integer != DOCUMENT_VERSION)
        refuse(r, lin_arena_format(r->arena, "is %lld, and version %d is what can be read",
                                   (long long)version->integer, (int)DOCUMENT_VERSION));
    leave(r);
}

static void read_memory(reader *r, const lin_json *document)
{
    check_version(r, document);
    read_configuration(r, document);
    read_device_memory(r, document, "verdict", "device_memory");
    read_list(r, document, "components", 0, LIN_SECTION_COMPONENTS, "bytes");
    read_list(r, document, "devices", 2, LIN_SECTION_DEVICES, "expected_peak");
    read_totals(r, peak_rows, ARRAY_LEN(peak_rows), LIN_SECTION_PEAKS, document);
    r->column->has_memory = true;
}

/* Beside a memory only what that does not say. */
static void read_time(reader *r, const lin_json *document)
{
    const bool is_beside = r->column->has_memory;
    check_version(r, document);
    read_device(r, document);
    if (!is_beside) {
        read_configuration(r, document);
        read_device_memory(r, document, "memory", "device");
        read_totals(r, time_peak_rows, ARRAY_LEN(time_peak_rows), LIN_SECTION_PEAKS, document);
    }
    read_totals(r, time_rows, ARRAY_LEN(time_rows), LIN_SECTION_TIME, document);
    r->column->has_time = true;
}

static void read_fit(reader *r, const lin_json *document)
{
    const lin_json *result = enter(r, document, "result");
    if (result != NULL && result->kind == LIN_JSON_NULL)
        refuse(r, "is null: nothing fits there");
    else if (check_kind(r, result, LIN_JSON_OBJECT, "an object"))
        read_memory(r, result);
    leave(r);
    read_totals(r, fit_rows, ARRAY_LEN(fit_rows), LIN_SECTION_PEAKS, document);
}

/* What only one kind of document has. */
static const struct kind_row {
    const char *key;
    void (*read)(reader *r, const lin_json *document);
} kind_rows[] = {
    { "throughput", read_time }, { "components", read_memory }, { "peak", read_memory },
    { "target", read_fit },      { "time_model", read_time },
};

static void read_document(reader *r, const lin_json *document)
{
    for (uint32_t i = 0; i < ARRAY_LEN(kind_rows); i++) {
        if (lin_json_get(document, kind_rows[i].key) != NULL) {
            kind_rows[i].read(r, document);
            return;
        }
    }
    refuse(r, "is no document that `linnet memory`, `linnet time` or `linnet fit` prints with "
              "--json");
}

linnet_status lin_side_read(lin_side *column, const lin_document *document, int64_t index,
                            linnet_error *err)
{
    reader r = { .document = document, .column = column, .arena = &column->arena, .err = err };
    if (index < 0)
        read_document(&r, document->root);
    else
        read_document(&r, enter_item(&r, document->root, (uint32_t)index));
    return r.status;
}
