/* SPDX-License-Identifier: MIT */
#ifndef LINNET_COMPARISON_H
#define LINNET_COMPARISON_H

/**
 * @file
 * Configurations side by side: what differs between them and by how much. The first that is added
 * is the base the others are compared with. Each is a column, each thing they have a row.
 *
 *     linnet_comparison_new(config, &comparison, &err);
 *     linnet_comparison_add_analysis(comparison, plain, NULL, "plain", &err);
 *     linnet_comparison_add_analysis(comparison, checkpointed, NULL, "block", &err);
 *     linnet_comparison_to_text(comparison, 0, &text, &err);
 */

#include <linnet/analysis.h>
#include <linnet/config.h>
#include <linnet/text.h>
#include <linnet/timing.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct linnet_comparison linnet_comparison;

/**
 * A comparison of nothing yet.
 *
 * @param config          its allocator is used, nothing else of it
 * @param out_comparison  receives it; release it with linnet_comparison_free()
 * @return LINNET_OK, LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_comparison_new(const linnet_config *config,
                                               linnet_comparison **out_comparison,
                                               linnet_error *err);

/** Releases the comparison. NULL is fine. @since 0.1 */
LINNET_API void linnet_comparison_free(linnet_comparison *comparison);

/**
 * Adds a document of linnet_analysis_to_json(), linnet_timing_to_json() or linnet_fit_to_json(), or
 * an array of such documents, each of which is a column. A call that fails adds nothing.
 *
 * @param text    UTF-8, `length` bytes, at most 16 MiB; read during the call
 * @param label   what the column is called, and the file in messages; of an array's items
 *                "label[0]", "label[1]", …
 * @return LINNET_OK
 *         LINNET_ERROR_FORMAT    no such document; the message has the key, the error the place
 *         LINNET_ERROR_ARGUMENT  a time beside memory, or the reverse; more than 64 columns
 *         LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_comparison_add_json(linnet_comparison *comparison, const char *text,
                                                    uint64_t length, const char *label,
                                                    linnet_error *err);

/**
 * Adds an analysis as a column.
 *
 * @param timing  the time of the same configuration, which adds rows of kind "time"; NULL: not
 *                asked for, or not known
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (as linnet_comparison_add_json), LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_comparison_add_analysis(linnet_comparison *comparison,
                                                        const linnet_analysis *analysis,
                                                        const linnet_timing *timing,
                                                        const char *label, linnet_error *err);

/** Adds a timing as a column. As linnet_comparison_add_analysis(). @since 0.1 */
LINNET_API linnet_status linnet_comparison_add_timing(linnet_comparison *comparison,
                                                      const linnet_timing *timing,
                                                      const char *label, linnet_error *err);

/** Configurations that were added. @since 0.1 */
LINNET_API uint64_t linnet_comparison_column_count(const linnet_comparison *comparison);

/** What a column is called; NULL out of range. Borrowed. @since 0.1 */
LINNET_API const char *linnet_comparison_column_label(const linnet_comparison *comparison,
                                                      uint64_t column);

/** "OK", "TIGHT" or "OOM", as linnet_analysis_verdict(); NULL when the column's device is not known
 * or out of range. Borrowed until the next column is added. @since 0.1 */
LINNET_API const char *linnet_comparison_column_verdict(const linnet_comparison *comparison,
                                                        uint64_t column);

/** Rows, of settings first, then in the order of the reports. Adding a column may move them.
 * @since 0.1 */
LINNET_API uint64_t linnet_comparison_row_count(const linnet_comparison *comparison);

/** What a row is about, such as "training.optimizer" or "Weights"; NULL out of range. Borrowed
 * until the next column is added. @since 0.1 */
LINNET_API const char *linnet_comparison_row_name(const linnet_comparison *comparison,
                                                  uint64_t row);

/** "setting", "component", "device" (the expected peak of a pipeline's stage), "peak" or "time";
 * NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_comparison_row_kind(const linnet_comparison *comparison,
                                                  uint64_t row);

/** "bytes", "seconds", "tokens", "tokens_per_second" or "share" (of 1); NULL for words, for
 * settings and out of range. Static. @since 0.1 */
LINNET_API const char *linnet_comparison_row_unit(const linnet_comparison *comparison,
                                                  uint64_t row);

/** 1: some column differs from the first; 0: none does, or out of range. @since 0.1 */
LINNET_API int32_t linnet_comparison_row_differs(const linnet_comparison *comparison, uint64_t row);

/** 1: the column has a value in that row; 0: it has none, it is not known, or out of range. A
 * component that a configuration does not have is known to be 0 bytes. @since 0.1 */
LINNET_API int32_t linnet_comparison_is_known(const linnet_comparison *comparison, uint64_t row,
                                              uint64_t column);

/** A value that is a whole number, as bytes are; a yes or no as 1 or 0; else 0. @since 0.1 */
LINNET_API int64_t linnet_comparison_integer(const linnet_comparison *comparison, uint64_t row,
                                             uint64_t column);

/** Any value that is a number; else 0. @since 0.1 */
LINNET_API double linnet_comparison_number(const linnet_comparison *comparison, uint64_t row,
                                           uint64_t column);

/** A value that is a word, of a list its items joined by ", "; else NULL. Borrowed until the
 * comparison is freed. @since 0.1 */
LINNET_API const char *linnet_comparison_word(const linnet_comparison *comparison, uint64_t row,
                                              uint64_t column);

/**
 * The table `linnet compare` prints.
 *
 * @param all  1: every row; 0: the rows that differ, and the totals
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (fewer than two columns), LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_comparison_to_text(const linnet_comparison *comparison, int32_t all,
                                                   linnet_text **out_text, linnet_error *err);

/**
 * One JSON object: version, configurations[] (their labels), rows[] {kind, name, unit, differs,
 * values[], changes[], ratios[]}: a value for each configuration, what it is more than the first's,
 * and that over the first's. All rows are there; those without a unit, and settings, have no
 * changes and no ratios.
 *
 * @return as linnet_comparison_to_text
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_comparison_to_json(const linnet_comparison *comparison,
                                                   linnet_text **out_text, linnet_error *err);

#ifdef __cplusplus
}
#endif

#endif
