/* SPDX-License-Identifier: MIT */
#ifndef LIN_SOURCE_HEADER_TEXT_H
#define LIN_SOURCE_HEADER_TEXT_H

/* What the readers of JSON headers share: strings that stay where they are in the text. */

#include "json/json.h"

/* The last KEY or STRING with a NUL behind it. Without escapes it stays in the text, whose closing
 * quote, read already, is overwritten; otherwise it is copied to `arena`. NULL without memory. */
const char *lin_header_keep(const lin_pull *pull, lin_arena *arena);
/* The last KEY or STRING is `word`. */
bool lin_header_is(const lin_pull *pull, const char *word);
/* The last KEY or STRING holds a NUL. */
bool lin_header_has_nul(const lin_pull *pull);
/* "an object", "a string": what an event begins, for messages. */
const char *lin_header_event(lin_pull_event event);
/* How often `c` occurs. */
uint64_t lin_header_count(const char *text, uint64_t length, char c);

#endif
