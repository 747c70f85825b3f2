/* SPDX-License-Identifier: MIT */
#ifndef LINNET_BASE_H
#define LINNET_BASE_H

/**
 * @file
 * Version, export macros, status codes and the error struct. Include <linnet/linnet.h>, which
 * brings this and every other header of liblinnet.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A version as one number: major << 22 | minor << 12 | patch. */
#define LINNET_VERSION_ENCODE(major, minor, patch) \
    (((uint32_t)(major) << 22) | ((uint32_t)(minor) << 12) | (uint32_t)(patch))

/** The version of this header. Compare with linnet_version(), the version of the library. */
#define LINNET_VERSION LINNET_VERSION_ENCODE(0, 1, 0)

#if defined(__GNUC__) || defined(__clang__)
#define LINNET_API __attribute__((visibility("default")))
#define LINNET_DEPRECATED(hint) __attribute__((deprecated(hint)))
#else
#define LINNET_API
#define LINNET_DEPRECATED(hint)
#endif

/** LINNET_OK, or a negative linnet_status_code. New codes may appear in any release. */
typedef int32_t linnet_status;

enum linnet_status_code {
    LINNET_OK = 0,
    LINNET_ERROR_NO_MEMORY = -1,    /**< an allocation failed */
    LINNET_ERROR_ARGUMENT = -2,     /**< an argument or a setting cannot be used as given */
    LINNET_ERROR_CANCELLED = -3,    /**< a callback asked to stop */
    LINNET_ERROR_NOT_FOUND = -4,    /**< nothing has that name; the message has the nearest */
    LINNET_ERROR_SOURCE = -10,      /**< the program text is wrong; the diagnostic code says how */
    LINNET_ERROR_OVERFLOW = -11,    /**< a size does not fit in int64_t */
    LINNET_ERROR_FILE = -12,        /**< a file cannot be read */
    LINNET_ERROR_FORMAT = -13,      /**< a file is not what its format demands */
    LINNET_ERROR_UNSUPPORTED = -14, /**< understood, and not modelled */
    LINNET_ERROR_CAPACITY = -20     /**< no size, placement or layout fits */
};

/**
 * Why a call failed, owned by the caller. Written in full on failure, untouched on success; every
 * function accepts NULL in its place. Its layout is frozen at 512 bytes.
 */
typedef struct linnet_error {
    int32_t code;         /**< a linnet_status_code */
    uint32_t line;        /**< 1-based; 0: no position */
    uint32_t column;      /**< 1-based, in code points; 0: no position */
    uint32_t reserved[3]; /**< zero */
    char diagnostic[8];   /**< "E2103"; empty when the error is not about a program's text */
    char source[64];      /**< the file, as the caller named it; its end if it is longer */
    char message[416];    /**< one line of UTF-8, cut at a character when too long */
} linnet_error;

/**
 * The allocator hook. `ptr` NULL allocates, `new_size` 0 frees and may not fail, otherwise the
 * block is resized; on NULL the old block stands. Blocks are aligned to 16 bytes.
 */
typedef void *(*linnet_alloc_fn)(void *user, void *ptr, uint64_t old_size, uint64_t new_size);

/** The version of the library, encoded like LINNET_VERSION. @since 0.1 */
LINNET_API uint32_t linnet_version(void);

/** The version of the library for people, such as "0.1.0". Static. @since 0.1 */
LINNET_API const char *linnet_version_string(void);

/** The name of a status, such as "capacity"; "unknown" for a code the library does not know.
 * Static. @since 0.1 */
LINNET_API const char *linnet_status_name(linnet_status status);

#ifdef __cplusplus
}
#endif

#endif
