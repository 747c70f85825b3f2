/* SPDX-License-Identifier: MIT */
#ifndef LIN_REPORT_COLUMNS_H
#define LIN_REPORT_COLUMNS_H

/* Words and numbers in columns of a text; lib/report alone includes this. */

#include "base/base.h"

void lin_column_left(lin_text *out, const char *word, uint64_t width);
/* What was appended since `from` is moved right to end `width` after it; wider text stays. */
void lin_column_right(lin_text *out, uint64_t from, uint64_t width);
/* 23670.8 as "23,671", moved right likewise. */
void lin_column_grouped(lin_text *out, double number, uint64_t width);

#endif
