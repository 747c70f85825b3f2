/* SPDX-License-Identifier: MIT */

/* Listing a directory: the names of one kind, sorted, so that no file system decides an order.
 * Cost: n log n in the names that are kept, n in the others. */

#define _XOPEN_SOURCE 700 /* opendir, readdir */

#include "source/files.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

typedef struct name_list {
    LIN_LIST(const char *) names;
} name_list;

static bool ends_with_any(const char *name, const char *const *ends)
{
    for (; *ends != NULL; ends++)
        if (lin_path_ends_with(name, *ends))
            return true;
    return false;
}

static void sift_down(const char **names, uint32_t at, uint32_t count)
{
    const char *moved = names[at];
    for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && strcmp(names[child], names[child + 1]) < 0)
            child++;
        if (strcmp(moved, names[child]) >= 0)
            break;
        names[at] = names[child];
        at = child;
    }
    names[at] = moved;
}

static void sort_names(const char **names, uint32_t count)
{
    for (uint32_t i = count / 2; i-- > 0;)
        sift_down(names, i, count);
    for (uint32_t end = count; end-- > 1;) {
        const char *last = names[0];
        names[0] = names[end];
        names[end] = last;
        sift_down(names, 0, end);
    }
}

static linnet_status fail_directory(const char *directory, const char *reason, linnet_error *err)
{
    char shown[LIN_PATH_SHOWN];
    lin_path_show(shown, directory);
    return lin_fail_at(err, LINNET_ERROR_FILE, (lin_place){ .source = directory }, NULL, "`%s` %s",
                       shown, reason);
}

static linnet_status list_open(lin_arena *arena, DIR *stream, const char *directory,
                               const char *const *ends, uint32_t limit, name_list *out,
                               linnet_error *err)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (entry == NULL)
            return errno == 0 ? LINNET_OK : fail_directory(directory, "cannot be listed", err);
        if (!ends_with_any(entry->d_name, ends))
            continue;
        if (out->names.count == limit)
            return fail_directory(directory, "holds more files of a checkpoint than are read", err);
        const char *name = lin_arena_copy(arena, entry->d_name);
        if (name == NULL || !LIN_PUSH(arena, &out->names, name))
            return lin_fail_memory(err);
    }
}

linnet_status lin_directory_list(lin_arena *arena, const char *directory, const char *const *ends,
                                 uint32_t limit, const char *const **out_names, uint32_t *out_count,
                                 linnet_error *err)
{
    name_list list = { { NULL, 0, 0 } };
    DIR *stream = opendir(directory[0] == '\0' ? "." : directory);
    if (stream == NULL)
        return errno == EACCES
                   ? fail_directory(directory, "cannot be listed: permission is denied", err)
                   : fail_directory(directory, "cannot be listed", err);
    linnet_status status = list_open(arena, stream, directory, ends, limit, &list, err);
    (void)closedir(stream);
    if (status != LINNET_OK)
        return status;
    sort_names(list.names.items, list.names.count);
    *out_names = (const char *const *)list.names.items;
    *out_count = list.names.count;
    return LINNET_OK;
}
