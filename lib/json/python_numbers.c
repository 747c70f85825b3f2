/* SPDX-License-Identifier: MIT */

/*
 * Python writes bare Infinity, -Infinity and NaN into config.json, which JSON does not have and
 * jansson refuses. They are looked for outside strings and replaced, in a copy, by strings of the
 * same length (read.h). One pass; the copy is made at the first of them.
 */

#include "json/read.h"

#include <math.h>
#include <string.h>

typedef struct scan {
    lin_arena *arena;
    const char *text;
    uint64_t length;
    uint64_t position;
    uint64_t strings; /* seen so far */
    lin_python_numbers *out;
} scan;

/* Keywords with two quotes taken off: Na|N, Infin|ity, -Infin|ity. */
enum { NAN_BODY = 1, INFINITY_BODY = 6, MINUS_INFINITY_BODY = 7 };

double lin_python_number(uint64_t length)
{
    if (length == NAN_BODY)
        return (double)NAN;
    return length == INFINITY_BODY ? (double)INFINITY : -(double)INFINITY;
}

static void skip_string(scan *s)
{
    s->strings++;
    s->position++;
    while (s->position < s->length && s->text[s->position] != '"')
        s->position += s->text[s->position] == '\\' ? 2 : 1;
    s->position++;
}

/* The length of the keyword at the position, or 0. */
static uint64_t keyword(const scan *s)
{
    static const char *const words[] = { "NaN", "Infinity", "-Infinity" };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        uint64_t length = strlen(words[i]);
        if (length <= s->length - s->position &&
            memcmp(s->text + s->position, words[i], (size_t)length) == 0)
            return length;
    }
    return 0;
}

/* A keyword before a colon stays, to be refused: a string there would be a key. */
static bool is_key(const scan *s, uint64_t after)
{
    while (after < s->length && memchr(" \t\r\n", s->text[after], 4) != NULL)
        after++;
    return after < s->length && s->text[after] == ':';
}

static bool replace(scan *s, uint64_t length)
{
    lin_python_numbers *out = s->out;
    if (out->copy == NULL)
        out->copy = lin_arena_text(s->arena, s->text, s->length);
    if (out->copy == NULL || !LIN_PUSH(s->arena, &out->strings, s->strings))
        return false;
    s->strings++;
    memset(out->copy + s->position, 'x', (size_t)length);
    out->copy[s->position] = '"';
    out->copy[s->position + length - 1] = '"';
    return true;
}

bool lin_python_numbers_find(lin_arena *arena, const char *text, uint64_t length,
                             lin_python_numbers *out)
{
    scan s = { .arena = arena, .text = text, .length = length, .out = out };
    *out = (lin_python_numbers){ 0 };
    while (s.position < s.length) {
        char c = s.text[s.position];
        if (c == '"') {
            skip_string(&s);
            continue;
        }
        uint64_t word = c == 'N' || c == 'I' || c == '-' ? keyword(&s) : 0;
        if (word > 0 && !is_key(&s, s.position + word) && !replace(&s, word))
            return false;
        s.position += word > 0 ? word : 1;
    }
    return true;
}
