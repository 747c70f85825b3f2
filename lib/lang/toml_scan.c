/* SPDX-License-Identifier: MIT */

/* The characters of a TOML text: positions, blanks, comments and strings (toml.c reads the rest).
 * Constant time a byte. */

#include "lang/toml_scan.h"

#include <string.h>

/* ---- errors ---- */

/* Counts on from the last position asked for, when that lies on this line. */
static uint32_t column_here(toml *t)
{
    if (t->column_position < t->line_start || t->column == 0 || t->column_position > t->position) {
        t->column_position = t->line_start;
        t->column = 1;
    }
    while (t->column_position < t->position) {
        uint32_t length =
            lin_utf8_length(t->text + t->column_position, t->position - t->column_position);
        t->column_position += length > 0 ? length : 1;
        t->column++;
    }
    return t->column;
}

mark lin_toml_mark_here(toml *t)
{
    uint32_t column = column_here(t);
    return (mark){ t->line, column };
}

bool lin_toml_fail_at(toml *t, mark at, const char *message, const char *name)
{
    lin_place place = { t->source_name, at.line, at.column };
    t->status = lin_fail_at(t->err, LINNET_ERROR_FORMAT, place, NULL, message, name);
    return false;
}

bool lin_toml_fail(toml *t, const char *message)
{
    lin_place place = { t->source_name, t->line, column_here(t) };
    t->status = lin_fail_at(t->err, LINNET_ERROR_FORMAT, place, NULL, "%s", message);
    return false;
}

bool lin_toml_fail_memory(toml *t)
{
    t->status = lin_fail_memory(t->err);
    return false;
}

/* ---- characters ---- */

bool lin_toml_expect(toml *t, char c, const char *message)
{
    return lin_toml_take(t, c) || lin_toml_fail(t, message);
}

void lin_toml_skip_spaces(toml *t)
{
    while (lin_toml_look(t, 0) == ' ' || lin_toml_look(t, 0) == '\t')
        t->position++;
}

static bool take_line_end(toml *t)
{
    if (lin_toml_look(t, 0) == '\r' && lin_toml_look(t, 1) == '\n')
        t->position++;
    if (!lin_toml_take(t, '\n'))
        return false;
    t->line++;
    t->line_start = t->position;
    return true;
}

static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

/* One character of a comment or a string. */
static bool take_character(toml *t)
{
    uint32_t length = lin_utf8_length(t->text + t->position, t->length - t->position);
    if (length == 0)
        return lin_toml_fail(t, "the file is not valid UTF-8 here");
    if (is_control(lin_toml_look(t, 0)))
        return lin_toml_fail(t, "a control character cannot stand here");
    t->position += length;
    return true;
}

static bool skip_comment(toml *t)
{
    if (lin_toml_look(t, 0) != '#')
        return true;
    while (!lin_toml_at_end(t) && lin_toml_look(t, 0) != '\n' &&
           !(lin_toml_look(t, 0) == '\r' && lin_toml_look(t, 1) == '\n'))
        if (!take_character(t))
            return false;
    return true;
}

/* Spaces, comments and line ends. */
bool lin_toml_skip_blanks(toml *t)
{
    do {
        lin_toml_skip_spaces(t);
        if (!skip_comment(t))
            return false;
    } while (take_line_end(t));
    return true;
}

bool lin_toml_end_line(toml *t)
{
    lin_toml_skip_spaces(t);
    if (!skip_comment(t))
        return false;
    return lin_toml_at_end(t) || take_line_end(t) ||
           lin_toml_fail(t, "expected the end of the line");
}

/* ---- strings ---- */

static uint32_t encode_utf8(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    uint32_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (uint32_t i = length; --i > 0; code >>= 6)
        out[i] = (char)(unsigned char)(0x80 | (code & 0x3f));
    out[0] = (char)(unsigned char)(first[length] | code);
    return length;
}

/* The digits of \u or \U. */
static bool take_code_point(toml *t, uint32_t digits, uint32_t *out)
{
    uint32_t code = 0;
    for (uint32_t i = 0; i < digits; i++) {
        if (!lin_toml_is_hex(lin_toml_look(t, i)))
            return lin_toml_fail(t, "an escape needs its hexadecimal digits");
        code = code * 16 + lin_toml_hex_value(lin_toml_look(t, i));
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return lin_toml_fail(t, "the escape names no character that can stand here");
    t->position += digits;
    *out = code;
    return true;
}

/* An escape, at its backslash; writes at most 4 bytes. */
static bool take_escape(toml *t, char *out, uint32_t *out_length)
{
    static const char letters[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
    uint32_t code = 0;
    t->position++;
    char c = lin_toml_look(t, 0);
    const char *known = c == '\0' ? NULL : strchr(letters, c);
    if (known != NULL) {
        t->position++;
        *out = values[known - letters];
        *out_length = 1;
        return true;
    }
    if (c != 'u' && c != 'U')
        return lin_toml_fail(t, "unknown escape");
    t->position++;
    if (!take_code_point(t, c == 'u' ? 4 : 8, &code))
        return false;
    *out_length = encode_utf8(code, out);
    return true;
}

/* The characters up to the closing quote, decoded. An escape is never shorter than its bytes, so
 * the text between the quotes bounds the result. */
static bool take_quoted_characters(toml *t, char quote, char *out, uint64_t *out_length)
{
    uint64_t length = 0;
    while (!lin_toml_at_end(t) && lin_toml_look(t, 0) != quote && lin_toml_look(t, 0) != '\n') {
        uint32_t taken = 0;
        uint64_t start = t->position;
        if (quote == '"' && lin_toml_look(t, 0) == '\\') {
            if (!take_escape(t, out + length, &taken))
                return false;
        } else {
            if (!take_character(t))
                return false;
            taken = (uint32_t)(t->position - start);
            memcpy(out + length, t->text + start, taken);
        }
        length += taken;
    }
    *out_length = length;
    return lin_toml_take(t, quote) || lin_toml_fail(t, "a string is not closed on its line");
}

/* Bytes up to the closing quote, or to the end of the line. */
static uint64_t quoted_length(const toml *t, char quote)
{
    uint64_t at = t->position;
    while (at < t->length && t->text[at] != quote && t->text[at] != '\n')
        at += quote == '"' && t->text[at] == '\\' && at + 1 < t->length ? 2 : 1;
    return at - t->position;
}

/* "…" or '…' */
bool lin_toml_take_string(toml *t, const char **out)
{
    char quote = lin_toml_look(t, 0);
    if (lin_toml_look(t, 1) == quote && lin_toml_look(t, 2) == quote)
        return lin_toml_fail(t, "strings over several lines are not supported");
    t->position++;
    char *text = lin_arena_alloc(t->arena, quoted_length(t, quote) + 1);
    uint64_t length = 0;
    if (text == NULL)
        return lin_toml_fail_memory(t);
    if (!take_quoted_characters(t, quote, text, &length))
        return false;
    text[length] = '\0';
    *out = text;
    return true;
}
