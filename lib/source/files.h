/* SPDX-License-Identifier: MIT */
#ifndef LIN_SOURCE_FILES_H
#define LIN_SOURCE_FILES_H

/* What source needs to know of paths besides reading them. Paths are as the system has them:
 * bytes, '/' between. */

#include "source/source.h"

typedef enum lin_path_kind {
    LIN_PATH_MISSING,
    LIN_PATH_FILE,
    LIN_PATH_DIRECTORY,
    LIN_PATH_OTHER,      /* a FIFO, a device, a socket */
    LIN_PATH_UNREACHABLE /* an error other than absence: a circle of links, no permission */
} lin_path_kind;

lin_path_kind lin_path_look(const char *path);
/* LINNET_ERROR_FILE with the reason for what lin_path_look said; anything but a file
 * or directory. */
linnet_status lin_path_fail(const char *path, linnet_error *err);
/* The path without links and dots, in `arena`; "" when there is none, NULL without memory. */
const char *lin_path_real(lin_arena *arena, const char *path);
/* `directory` '/' `name`; "" is the current directory. NULL without memory. */
const char *lin_path_join(lin_arena *arena, const char *directory, const char *name);
/* The part before the last '/': "" for a bare name, "/" for the root's entries. */
const char *lin_path_parent(lin_arena *arena, const char *path);
bool lin_path_ends_with(const char *path, const char *end);

/*
 * A regular file of which parts are read: headers whose length the file itself says. `bytes` is its
 * length when it was opened. Whoever opens closes; an arena must not jump past an open file.
 */
typedef struct lin_file {
    int descriptor;
    const char *path;
    uint64_t bytes;
} lin_file;

linnet_status lin_file_open(const char *path, lin_file *out, linnet_error *err);
/* Exactly `count` bytes from `offset` on; LINNET_ERROR_FILE when the file has become shorter. */
linnet_status lin_file_read_at(const lin_file *file, uint64_t offset, void *into, uint64_t count,
                               linnet_error *err);
void lin_file_close(lin_file *file);

/*
 * The names in a directory that end with one of `ends` (NULL-terminated), in order of their bytes.
 * At most `limit` of them, otherwise LINNET_ERROR_FILE; `arena` must not jump.
 */
linnet_status lin_directory_list(lin_arena *arena, const char *directory, const char *const *ends,
                                 uint32_t limit, const char *const **out_names, uint32_t *out_count,
                                 linnet_error *err);

/* The path for a message: its end, after dots, when it is long. */
enum { LIN_PATH_SHOWN = 208 };
void lin_path_show(char out[LIN_PATH_SHOWN], const char *path);

#endif
