/* SPDX-License-Identifier: MIT */
#ifndef LIN_NAMES_H
#define LIN_NAMES_H

/* Interned names: each text has one number for the life of its table, so names compare
 * as integers. */

#include "arena.h"

typedef uint32_t lin_name; /* 0 is no name */

typedef struct lin_names lin_names;

/* Lives in `arena`; NULL only when the arena has no jump target. Growth takes from the
 * arena too. */
lin_names *lin_names_new(lin_arena *arena);
lin_name lin_names_add(lin_names *names, const char *text, uint64_t length); /* 0 on failure */
lin_name lin_names_find(const lin_names *names, const char *text,
                        uint64_t length);                          /* 0: not there */
const char *lin_names_text(const lin_names *names, lin_name name); /* NUL-terminated; "" for 0 */

/* Of `count` words the one nearest to `word` (edit distance, at most a third of its length,
 * ignoring case), or before it the first that begins with the three letters or more that `word` is;
 * or NULL. */
const char *lin_nearest(const char *word, const char *const *words, uint32_t count);

#endif
