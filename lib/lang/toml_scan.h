/* SPDX-License-Identifier: MIT */
#ifndef LIN_TOML_SCAN_H
#define LIN_TOML_SCAN_H

/* Inside the TOML reader: its state, and the characters and strings that keys and values are made
 * of. Each function that returns bool has filled the error when it returns false. */

#include "lang/lang.h"

typedef struct toml {
    const char *source_name, *text;
    uint64_t length, position, line_start;
    uint32_t line;
    uint64_t column_position; /* the last position whose column was asked for */
    uint32_t column;
    uint32_t depth;
    lin_arena *arena;
    lin_names *ids;
    LIN_LIST(unsigned char) kinds; /* how each path was defined, by its name in `ids` */
    const lin_toml_reader *reader;
    linnet_error *err;
    linnet_status status;
} toml;

/* Where a key or value began. */
typedef struct mark {
    uint32_t line, column;
} mark;

static inline char lin_toml_look(const toml *t, uint64_t ahead)
{
    return ahead < t->length - t->position ? t->text[t->position + ahead] : '\0';
}

static inline bool lin_toml_at_end(const toml *t)
{
    return t->position >= t->length;
}

static inline bool lin_toml_take(toml *t, char c)
{
    if (lin_toml_at_end(t) || lin_toml_look(t, 0) != c)
        return false;
    t->position++;
    return true;
}

static inline bool lin_toml_is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static inline uint32_t lin_toml_hex_value(char c)
{
    return c <= '9' ? (uint32_t)(c - '0') : (uint32_t)((c | 0x20) - 'a' + 10);
}

mark lin_toml_mark_here(toml *t);
/* `message` has one %s, for `name`. */
bool lin_toml_fail_at(toml *t, mark at, const char *message, const char *name);
bool lin_toml_fail(toml *t, const char *message);
bool lin_toml_fail_memory(toml *t);

bool lin_toml_expect(toml *t, char c, const char *message);
void lin_toml_skip_spaces(toml *t);
/* Spaces, comments and line ends. */
bool lin_toml_skip_blanks(toml *t);
/* Spaces and a comment to the end of the line. */
bool lin_toml_end_line(toml *t);
/* "…" or '…', decoded into the arena. */
bool lin_toml_take_string(toml *t, const char **out);

#endif
