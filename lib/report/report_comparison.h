/* SPDX-License-Identifier: MIT */
#ifndef LIN_REPORT_COMPARISON_H
#define LIN_REPORT_COMPARISON_H

/* A comparison's columns as they are read from documents; lib/report alone includes this. */

#include "report/report.h"

/* What one document says in one row. */
typedef struct lin_entry {
    lin_section section;
    lin_unit unit;
    bool is_total;
    const char *name;
    lin_cell cell;
} lin_entry;

/* The entries of each section are in the order of the document. */
typedef struct lin_side {
    lin_arena arena; /* of everything below */
    const char *label;
    LIN_LIST(lin_entry) entries;
    bool has_memory, has_time;
} lin_side;

/* A text of one or more documents, read. */
typedef struct lin_document {
    const char *source; /* for messages */
    const char *text;
    uint64_t length;
    const lin_json *root;
} lin_document;

/* Into an empty column whose arena has a jump target. `index` is of an item of the root, an array,
 * or -1 for the root. LINNET_ERROR_FORMAT. */
linnet_status lin_side_read(lin_side *column, const lin_document *document, int64_t index,
                            linnet_error *err);

/* The rows of the first `columns` of a list, into an arena with a jump target; they borrow from the
 * columns. */
void lin_side_rows(const lin_side *list, uint32_t columns, lin_arena *arena,
                   const lin_compared **out, uint32_t *out_count);

#endif
