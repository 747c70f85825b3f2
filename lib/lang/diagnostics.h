/* SPDX-License-Identifier: MIT */
#ifndef LIN_DIAGNOSTICS_H
#define LIN_DIAGNOSTICS_H

/*
 * What is wrong with a program, in every place. A list owns its texts and the source lines it
 * shows, so it outlives the sources.
 */

#include "base/base.h"

typedef struct lin_source_file {
    const char *name; /* as shown */
    const char *text; /* without a byte-order mark: offset 0 is the first byte after it */
    uint32_t length;
    uint32_t index;     /* in the program's list of sources */
    uint32_t bom_bytes; /* 3 when the file began with a byte-order mark: added to offsets shown to
                           people */
} lin_source_file;

/* Bytes [start, end) of a file. */
typedef struct lin_span {
    uint32_t source;
    uint32_t start, end;
} lin_span;

typedef enum lin_severity {
    LIN_SEVERITY_ERROR,
    LIN_SEVERITY_WARNING,
    LIN_SEVERITY_NOTE
} lin_severity;

typedef struct lin_place_range {
    const char *file;
    uint32_t start_line, start_column,
        start_offset; /* 1-based, columns in code points, 0-based byte offset */
    uint32_t end_line, end_column, end_offset; /* exclusive */
    const char *label;                         /* "" for none */
    const char *line_text; /* of the first line, for the rendering; cut at 1 KiB */
} lin_place_range;

typedef struct lin_diagnostic {
    lin_severity severity;
    char code[8];
    const char *message;
    lin_place_range *places; /* the first is the primary one */
    uint32_t place_count;
    const char **notes;
    uint32_t note_count;
    const char **helps;
    uint32_t help_count;
} lin_diagnostic;

typedef struct lin_diagnostics {
    lin_arena arena; /* without a jump target */
    LIN_LIST(lin_diagnostic *) list;
    uint32_t error_count, warning_count; /* all that were found, also those past `limit` */
    uint32_t limit;
    bool failed; /* out of memory while recording */
} lin_diagnostics;

void lin_diagnostics_init(lin_diagnostics *diagnostics, const lin_allocator *allocator,
                          uint32_t limit);
void lin_diagnostics_free(lin_diagnostics *diagnostics);

/* Records one finding and returns it for notes and further places, or NULL (past the limit, out of
 * memory): the functions below accept NULL. `format` gives the message: lower case, no full stop.
 */
lin_diagnostic *lin_diagnose(lin_diagnostics *diagnostics, const lin_source_file *file,
                             lin_span span, const char *code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void lin_diagnostic_label(lin_diagnostics *diagnostics, lin_diagnostic *diagnostic,
                          const char *label);
void lin_diagnostic_place(lin_diagnostics *diagnostics, lin_diagnostic *diagnostic,
                          const lin_source_file *file, lin_span span, const char *label);
void lin_diagnostic_note(lin_diagnostics *diagnostics, lin_diagnostic *diagnostic,
                         const char *format, ...) __attribute__((format(printf, 3, 4)));
void lin_diagnostic_help(lin_diagnostics *diagnostics, lin_diagnostic *diagnostic,
                         const char *format, ...) __attribute__((format(printf, 3, 4)));

/* By severity (errors first), then file, then position; equal ones keep their order. Called once,
 * at the end. */
void lin_diagnostics_sort(lin_diagnostics *diagnostics);
/* language.md 17.2: one diagnostic, with its newline at the end. `colour` writes ANSI sequences. */
void lin_diagnostic_print(lin_text *out, const lin_diagnostic *diagnostic, bool colour);
/* All of them, a blank line between. */
void lin_diagnostics_print(lin_text *out, const lin_diagnostics *diagnostics, bool colour);

/* The meaning of a stable code for `linnet explain E2103`: a title and a paragraph; false for an
 * unknown code. */
typedef struct lin_code_meaning {
    const char *code, *title, *text;
} lin_code_meaning;
const lin_code_meaning *lin_code_find(const char *code);
uint32_t lin_code_count(void);
const lin_code_meaning *lin_code_at(uint32_t index);

#endif
