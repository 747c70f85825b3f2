/* SPDX-License-Identifier: MIT */
#ifndef LINNET_DIAGNOSTICS_H
#define LINNET_DIAGNOSTICS_H

/**
 * @file
 * Everything that is wrong with a program: each finding with its stable code, its places, notes and
 * helps. linnet_error holds the first of them only.
 */

#include <linnet/base.h>
#include <linnet/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A list of findings. Passed to linnet_model_open or linnet_model_parse, which replace what it
 * held. */
typedef struct linnet_diagnostics linnet_diagnostics;

enum linnet_severity {
    LINNET_SEVERITY_INVALID = -1, /**< no such finding */
    LINNET_SEVERITY_ERROR = 0,
    LINNET_SEVERITY_WARNING = 1,
    LINNET_SEVERITY_NOTE = 2
};

/**
 * An empty list.
 *
 * @return LINNET_OK, LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_diagnostics_new(linnet_diagnostics **out_diagnostics,
                                                linnet_error *err);

/** Releases the list. NULL is fine. @since 0.1 */
LINNET_API void linnet_diagnostics_free(linnet_diagnostics *diagnostics);

/** Findings in the list: errors first, then by file and position. @since 0.1 */
LINNET_API uint64_t linnet_diagnostics_count(const linnet_diagnostics *diagnostics);

/** Errors found; more than the list holds when there were very many. @since 0.1 */
LINNET_API uint64_t linnet_diagnostics_error_count(const linnet_diagnostics *diagnostics);

/** Warnings found. They are looked for only when there is no error. @since 0.1 */
LINNET_API uint64_t linnet_diagnostics_warning_count(const linnet_diagnostics *diagnostics);

/** A linnet_severity. @since 0.1 */
LINNET_API int32_t linnet_diagnostics_severity(const linnet_diagnostics *diagnostics,
                                               uint64_t index);

/** The stable code, such as "E2103"; NULL for no such finding. Borrowed. @since 0.1 */
LINNET_API const char *linnet_diagnostics_code(const linnet_diagnostics *diagnostics,
                                               uint64_t index);

/** One line: lower case, no full stop; NULL for no such finding. Borrowed. @since 0.1 */
LINNET_API const char *linnet_diagnostics_message(const linnet_diagnostics *diagnostics,
                                                  uint64_t index);

/** Places of a finding; the first (index 0) is the primary one. @since 0.1 */
LINNET_API uint64_t linnet_diagnostics_place_count(const linnet_diagnostics *diagnostics,
                                                   uint64_t index);

/** The file of a place, as it was named; NULL for no such place. Borrowed. @since 0.1 */
LINNET_API const char *linnet_diagnostics_place_file(const linnet_diagnostics *diagnostics,
                                                     uint64_t index, uint64_t place);

/** The label of a place, "" for none; NULL for no such place. Borrowed. @since 0.1 */
LINNET_API const char *linnet_diagnostics_place_label(const linnet_diagnostics *diagnostics,
                                                      uint64_t index, uint64_t place);

/**
 * Where a place begins (inclusive) and ends (exclusive): lines and columns from 1, columns in code
 * points. Each `out_` may be NULL.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (no such place)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_diagnostics_place(const linnet_diagnostics *diagnostics,
                                                  uint64_t index, uint64_t place,
                                                  uint32_t *out_start_line,
                                                  uint32_t *out_start_column,
                                                  uint32_t *out_end_line, uint32_t *out_end_column,
                                                  linnet_error *err);

/** Notes of a finding: the values behind it. @since 0.1 */
LINNET_API uint64_t linnet_diagnostics_note_count(const linnet_diagnostics *diagnostics,
                                                  uint64_t index);

/** A note; NULL for no such note. Borrowed. @since 0.1 */
LINNET_API const char *linnet_diagnostics_note(const linnet_diagnostics *diagnostics,
                                               uint64_t index, uint64_t note);

/** Helps of a finding: what to do about it. @since 0.1 */
LINNET_API uint64_t linnet_diagnostics_help_count(const linnet_diagnostics *diagnostics,
                                                  uint64_t index);

/** A help; NULL for no such help. Borrowed. @since 0.1 */
LINNET_API const char *linnet_diagnostics_help(const linnet_diagnostics *diagnostics,
                                               uint64_t index, uint64_t help);

/**
 * All findings as people read them, with the source lines and carets.
 *
 * @param colour  not 0: with ANSI colour sequences
 * @return LINNET_OK, LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_diagnostics_to_text(const linnet_diagnostics *diagnostics,
                                                    int32_t colour, linnet_text **out_text,
                                                    linnet_error *err);

/**
 * All findings of one or several lists as one JSON document: { "version", "diagnostics", "summary"
 * }.
 *
 * @param lists   `count` lists, in the order to print them
 * @return LINNET_OK, LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_diagnostics_to_json(const linnet_diagnostics *const *lists,
                                                    uint64_t count, linnet_text **out_text,
                                                    linnet_error *err);

/** The meaning of a code in a few words; NULL for a code that does not exist. Static. @since 0.1 */
LINNET_API const char *linnet_diagnostic_title(const char *code);

/** The meaning of a code in a paragraph or two; NULL for a code that does not exist. Static.
 * @since 0.1 */
LINNET_API const char *linnet_diagnostic_explanation(const char *code);

/** Codes there are, and the code of an index (NULL out of range). Static. @since 0.1 */
LINNET_API uint64_t linnet_diagnostic_code_count(void);

/** The code at `index`, in ascending order; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_diagnostic_code(uint64_t index);

#ifdef __cplusplus
}
#endif

#endif
