/* SPDX-License-Identifier: MIT */

/*
 * The TOML of linnet.toml and nest.toml: tables, bare, quoted and dotted keys, strings on one line,
 * integers, booleans, other scalars (floats, dates), arrays and inline tables. Every scalar is
 * handed to the reader as it is read, in file order; nothing is kept but the paths that were
 * defined, to find duplicates. Arrays of tables and strings over several lines are refused.
 *
 * One pass, linear in the text; nesting is bounded.
 */

#include "lang/toml_scan.h"

#include <string.h>

enum { NESTING_LIMIT = 64 };

/* How a path was defined. An inline table is a key: it cannot be added to. */
typedef enum path_kind { PATH_UNKNOWN, PATH_IMPLICIT, PATH_DOTTED, PATH_TABLE, PATH_KEY } path_kind;

/* A table or key. Its number stands for the whole path; the dotted name is made only for tables,
 * so that the keys of a table with a long name cost no more than their own length. */
typedef struct path {
    const char *name; /* of a table */
    lin_name id;      /* 0: the top */
} path;

/* ---- keys and paths ---- */

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* One part of a key. */
static bool take_key(toml *t, const char **out)
{
    if (lin_toml_look(t, 0) == '"' || lin_toml_look(t, 0) == '\'')
        return lin_toml_take_string(t, out);
    uint64_t start = t->position;
    while (is_bare(lin_toml_look(t, 0)))
        t->position++;
    if (t->position == start)
        return lin_toml_fail(t, "expected a key");
    *out = lin_arena_text(t->arena, t->text + start, t->position - start);
    return *out != NULL || lin_toml_fail_memory(t);
}

static bool number(toml *t, path base, const char *key, path *out)
{
    const char *id = lin_arena_format(t->arena, "%lu\n%s", (unsigned long)base.id, key);
    out->name = NULL;
    out->id = id == NULL ? 0 : lin_names_add(t->ids, id, strlen(id));
    while (out->id != 0 && t->kinds.count <= out->id)
        if (!LIN_PUSH(t->arena, &t->kinds, PATH_UNKNOWN))
            return lin_toml_fail_memory(t);
    return out->id != 0 || lin_toml_fail_memory(t);
}

static bool name_table(toml *t, path base, const char *key, path *out)
{
    out->name = *base.name == '\0' ? key : lin_arena_format(t->arena, "%s.%s", base.name, key);
    return out->name != NULL || lin_toml_fail_memory(t);
}

static bool define(toml *t, path p, const char *key, path_kind kind, mark at)
{
    unsigned char *known = &t->kinds.items[p.id];
    if (*known != PATH_UNKNOWN && !(kind == PATH_TABLE && *known == PATH_IMPLICIT))
        return lin_toml_fail_at(t, at, "`%s` is defined twice", key);
    *known = (unsigned char)kind;
    return true;
}

/* Passes through a table on the way to another: what is no table, or closed, cannot be entered. */
static bool enter(toml *t, path p, const char *key, path_kind kind, mark at)
{
    unsigned char *known = &t->kinds.items[p.id];
    if (*known == PATH_KEY || (kind == PATH_DOTTED && *known == PATH_TABLE) ||
        (kind == PATH_IMPLICIT && *known == PATH_DOTTED))
        return lin_toml_fail_at(t, at, "`%s` is defined already and cannot be added to", key);
    if (*known == PATH_UNKNOWN)
        *known = (unsigned char)kind;
    return true;
}

/* The last step of a path, and where it begins. */
typedef struct step {
    path table, self;
    const char *key;
    mark at;
} step;

/* key ("." key)*: the tables on the way are entered. */
static bool take_path(toml *t, path base, path_kind on_the_way, step *out)
{
    for (uint32_t parts = 1; parts <= NESTING_LIMIT; parts++) {
        out->table = base;
        out->at = lin_toml_mark_here(t);
        if (!take_key(t, &out->key) || !number(t, base, out->key, &out->self))
            return false;
        lin_toml_skip_spaces(t);
        if (!lin_toml_take(t, '.'))
            return true;
        lin_toml_skip_spaces(t);
        if (!enter(t, out->self, out->key, on_the_way, out->at) ||
            !name_table(t, base, out->key, &out->self))
            return false;
        base = out->self;
    }
    return lin_toml_fail(t, "too many parts in a key");
}

/* ---- values ---- */

static bool parse_value(toml *t, const step *place, bool is_told);

static bool tell(toml *t, lin_toml_value *value, mark at, bool is_told)
{
    linnet_error wrong = { 0 };
    value->line = at.line;
    value->column = at.column;
    if (!is_told || t->reader->value == NULL || t->reader->value(t->reader->user, value, &wrong))
        return true;
    if (wrong.line == 0) {
        lin_place place = { t->source_name, at.line, at.column };
        linnet_status status = wrong.code != LINNET_OK ? wrong.code : LINNET_ERROR_FORMAT;
        t->status =
            lin_fail_at(t->err, status, place, *wrong.diagnostic == '\0' ? NULL : wrong.diagnostic,
                        "%s", wrong.message);
        return false;
    }
    t->status = wrong.code != LINNET_OK ? wrong.code : LINNET_ERROR_FORMAT;
    if (t->err != NULL)
        *t->err = wrong;
    return false;
}

/* Without '_', which must stand between two digits; false when it does not. */
static bool strip_underscores(const char *text, uint64_t length, char *out, uint64_t *out_length)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < length; i++) {
        if (text[i] != '_') {
            out[count++] = text[i];
            continue;
        }
        if (i == 0 || i + 1 == length || !lin_toml_is_hex(text[i - 1]) ||
            !lin_toml_is_hex(text[i + 1]))
            return false;
    }
    *out_length = count;
    return true;
}

/* 0x…, 0o…, 0b…: true when it is one, with the value when it fits. */
static bool read_prefixed(const char *text, uint64_t length, int64_t *out, bool *fits)
{
    if (length < 3 || text[0] != '0' || strchr("xob", text[1]) == NULL)
        return false;
    int64_t base = text[1] == 'x' ? 16 : text[1] == 'o' ? 8 : 2, value = 0;
    *fits = true;
    for (uint64_t i = 2; i < length; i++) {
        if (!lin_toml_is_hex(text[i]) || (int64_t)lin_toml_hex_value(text[i]) >= base)
            return false;
        *fits = *fits && lin_mul_i64(value, base, &value) &&
                lin_add_i64(value, (int64_t)lin_toml_hex_value(text[i]), &value);
    }
    *out = value;
    return true;
}

static bool is_digits(const char *text, uint64_t length)
{
    for (uint64_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return length > 0;
}

static bool read_integer(const char *text, uint64_t length, int64_t *out, bool *fits)
{
    if (read_prefixed(text, length, out, fits))
        return true;
    uint64_t sign = length > 0 && (*text == '+' || *text == '-');
    if (!is_digits(text + sign, length - sign) || (length - sign > 1 && text[sign] == '0'))
        return false;
    *fits = lin_parse_i64(text, length, out);
    return true;
}

/* Floats, infinities, dates and times: known by their first characters, and not read further. */
static bool is_other_scalar(const char *text, uint64_t length)
{
    double number;
    uint64_t sign = length > 0 && (*text == '+' || *text == '-');
    text += sign;
    length -= sign;
    if (length == 3 && (memcmp(text, "inf", 3) == 0 || memcmp(text, "nan", 3) == 0))
        return true;
    bool is_padded = length > 1 && is_digits(text, 2) && *text == '0';
    if (!is_padded && !is_digits(text, length) && lin_parse_double(text, length, &number))
        return true;
    bool is_date = length >= 10 && is_digits(text, 4) && text[4] == '-' && is_digits(text + 5, 2) &&
                   text[7] == '-' && is_digits(text + 8, 2);
    bool is_time = length >= 8 && is_digits(text, 2) && text[2] == ':' && is_digits(text + 3, 2) &&
                   text[5] == ':' && is_digits(text + 6, 2);
    return sign == 0 && (is_date || is_time);
}

static bool is_scalar_character(char c)
{
    return is_bare(c) || c == '+' || c == '.' || c == ':';
}

/* A value that is no string, array or table. */
static bool read_scalar(toml *t, mark at, const char *text, uint64_t length, lin_toml_value *value)
{
    uint64_t stripped_length = 0;
    bool fits = true;
    char *stripped = lin_arena_alloc(t->arena, length + 1);
    if (stripped == NULL)
        return lin_toml_fail_memory(t);
    bool is_true = length == 4 && memcmp(text, "true", 4) == 0;
    if (is_true || (length == 5 && memcmp(text, "false", 5) == 0)) {
        value->kind = LIN_TOML_BOOLEAN;
        value->integer = is_true;
        return true;
    }
    if (!strip_underscores(text, length, stripped, &stripped_length))
        return lin_toml_fail_at(t, at, "malformed value%s", "");
    if (read_integer(stripped, stripped_length, &value->integer, &fits)) {
        value->kind = LIN_TOML_INTEGER;
        return fits || lin_toml_fail_at(t, at, "an integer does not fit in 64 bits%s", "");
    }
    value->kind = LIN_TOML_OTHER;
    return is_other_scalar(stripped, stripped_length) ||
           lin_toml_fail_at(t, at, "malformed value%s", "");
}

static bool parse_scalar(toml *t, lin_toml_value *value, bool is_told)
{
    mark at = lin_toml_mark_here(t);
    uint64_t start = t->position;
    while (is_scalar_character(lin_toml_look(t, 0)))
        t->position++;
    if (t->position == start)
        return lin_toml_fail(t, "expected a value");
    return read_scalar(t, at, t->text + start, t->position - start, value) &&
           tell(t, value, at, is_told);
}

/* "[" value ,* "]", also over several lines. The array is one value, its elements are not told. */
static bool parse_array(toml *t, const step *place)
{
    t->position++;
    for (;;) {
        if (!lin_toml_skip_blanks(t))
            return false;
        if (lin_toml_take(t, ']'))
            return true;
        if (!parse_value(t, place, false) || !lin_toml_skip_blanks(t))
            return false;
        if (lin_toml_take(t, ']'))
            return true;
        if (!lin_toml_expect(t, ',', "expected `,` or `]`"))
            return false;
    }
}

/* path "=" value. Inside an array nothing is defined: each of its tables has its own keys. */
static bool parse_pair(toml *t, path base, bool is_told)
{
    step place;
    if (!take_path(t, base, PATH_DOTTED, &place))
        return false;
    if (is_told && !define(t, place.self, place.key, PATH_KEY, place.at))
        return false;
    if (!lin_toml_expect(t, '=', "expected `=`"))
        return false;
    lin_toml_skip_spaces(t);
    return parse_value(t, &place, is_told);
}

/* "{" (path "=" value) ,* "}" on one line */
static bool parse_inline_table(toml *t, const step *place, bool is_told)
{
    path self = place->self;
    if (!name_table(t, place->table, place->key, &self))
        return false;
    t->position++;
    lin_toml_skip_spaces(t);
    if (lin_toml_take(t, '}'))
        return true;
    do {
        lin_toml_skip_spaces(t);
        if (!parse_pair(t, self, is_told))
            return false;
        lin_toml_skip_spaces(t);
    } while (lin_toml_take(t, ','));
    return lin_toml_expect(t, '}', "expected `,` or `}`");
}

static bool parse_nested(toml *t, const step *place, lin_toml_value *value, bool is_told)
{
    mark at = lin_toml_mark_here(t);
    if (t->depth >= NESTING_LIMIT)
        return lin_toml_fail(t, "too deeply nested");
    t->depth++;
    bool is_array = lin_toml_look(t, 0) == '[';
    bool ok = is_array ? parse_array(t, place) : parse_inline_table(t, place, is_told);
    t->depth--;
    value->kind = LIN_TOML_OTHER;
    return ok && (!is_array || tell(t, value, at, is_told));
}

static bool parse_value(toml *t, const step *place, bool is_told)
{
    lin_toml_value value = { .table = place->table.name, .key = place->key, .text = "" };
    mark at = lin_toml_mark_here(t);
    char c = lin_toml_look(t, 0);
    if (c == '[' || c == '{')
        return parse_nested(t, place, &value, is_told);
    if (c != '"' && c != '\'')
        return parse_scalar(t, &value, is_told);
    value.kind = LIN_TOML_STRING;
    return lin_toml_take_string(t, &value.text) && tell(t, &value, at, is_told);
}

/* ---- lines ---- */

/* "[" path "]" */
static bool parse_header(toml *t, path *out)
{
    step place;
    t->position++;
    if (lin_toml_look(t, 0) == '[')
        return lin_toml_fail(t, "arrays of tables are not supported");
    lin_toml_skip_spaces(t);
    if (!take_path(t, (path){ "", 0 }, PATH_IMPLICIT, &place) ||
        !define(t, place.self, place.key, PATH_TABLE, place.at) ||
        !name_table(t, place.table, place.key, &place.self))
        return false;
    *out = place.self;
    return lin_toml_expect(t, ']', "expected `]`");
}

static bool parse_lines(toml *t)
{
    path table = { "", 0 };
    while (lin_toml_skip_blanks(t)) {
        if (lin_toml_at_end(t))
            return true;
        bool is_header = lin_toml_look(t, 0) == '[';
        if (!(is_header ? parse_header(t, &table) : parse_pair(t, table, true)) ||
            !lin_toml_end_line(t))
            return false;
    }
    return false;
}

linnet_status lin_toml_read(const char *source_name, const char *text, uint64_t length,
                            lin_arena *scratch, const lin_toml_reader *reader, linnet_error *err)
{
    toml t = { .source_name = source_name,
               .text = text,
               .length = length,
               .line = 1,
               .arena = scratch,
               .reader = reader,
               .err = err,
               .status = LINNET_OK };
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        t.position = t.line_start = 3;
    t.ids = lin_names_new(scratch);
    if (t.ids == NULL)
        return lin_fail_memory(err);
    return parse_lines(&t) ? LINNET_OK : t.status;
}
