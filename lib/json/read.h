/* SPDX-License-Identifier: MIT */
#ifndef LIN_JSON_READ_H
#define LIN_JSON_READ_H

/* What the readers of this folder share. */

#include "json/json.h"

/* Line and column of a byte: what stands before it is valid UTF-8. */
lin_place lin_json_place(const char *source_name, const char *text, uint64_t offset);

/* Lifts the cap on the length of a number: jansson has none. */
void lin_pull_allow_long_numbers(lin_pull *pull);

/* ---- Python's bare Infinity, -Infinity and NaN (python_numbers.c) ---- */

/* In a copy of the text each stands as a string of its own length (`"x"` for NaN), so that places
 * stay; what tells them from real strings is their number among all strings, keys included, in
 * order of the text. */
typedef struct lin_python_numbers {
    char *copy; /* NULL: there are none, the text stands as it is */
    LIN_LIST(uint64_t) strings;
} lin_python_numbers;

/* False: out of memory. The arena has no jump target. */
bool lin_python_numbers_find(lin_arena *arena, const char *text, uint64_t length,
                             lin_python_numbers *out);
/* The value that a string of `length` bytes stands for. */
double lin_python_number(uint64_t length);

#endif
