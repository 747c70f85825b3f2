/* SPDX-License-Identifier: MIT */
#ifndef LINNET_TEXT_H
#define LINNET_TEXT_H

/**
 * @file
 * Text the library made: reports, JSON, rendered diagnostics; and text a callback hands over.
 */

#include <linnet/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** UTF-8 text owned by whoever received it. */
typedef struct linnet_text linnet_text;

/** The bytes, with a NUL after the last; never NULL. @since 0.1 */
LINNET_API const char *linnet_text_data(const linnet_text *text);

/** Bytes before the NUL. @since 0.1 */
LINNET_API uint64_t linnet_text_length(const linnet_text *text);

/**
 * Replaces the text; for a linnet_source_fn, which is handed an empty one.
 *
 * @param data    UTF-8, `length` bytes, copied; may be NULL when `length` is 0
 * @return LINNET_OK, LINNET_ERROR_NO_MEMORY (the text is then empty)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_text_set(linnet_text *text, const char *data, uint64_t length,
                                         linnet_error *err);

/** Releases the text. NULL is fine. @since 0.1 */
LINNET_API void linnet_text_free(linnet_text *text);

/**
 * A size as people write it: a number with an optional unit B, KB, MB, GB, TB (powers of 1000) or
 * KiB, MiB, GiB, TiB (powers of 1024), in any case, with an optional blank between; a bare number
 * is bytes.
 *
 * @param text       ends in NUL
 * @param out_bytes  receives the size, a fraction of a byte cut
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (no such size, negative, or past 2^63 - 1)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_parse_size(const char *text, int64_t *out_bytes, linnet_error *err);

/**
 * Of several words the one nearest to `word`, for messages such as "did you mean": by letters put
 * in, left out, replaced or swapped, at most a third of the word, in any case; or the first that
 * goes on where `word` ends.
 *
 * @param words  `count` texts that end in NUL
 * @return one of `words`; NULL when none is near. Borrowed
 *
 * @since 0.1 */
LINNET_API const char *linnet_nearest_word(const char *word, const char *const *words,
                                           uint64_t count);

#ifdef __cplusplus
}
#endif

#endif
