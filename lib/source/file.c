/* SPDX-License-Identifier: MIT */

/*
 * Reading files. Only regular files are read: what a path leads to is looked at before it is opened
 * (opening a device can do things) and again afterwards (it may have been exchanged), and opening
 * never waits for the other end of a FIFO.
 */

#define _XOPEN_SOURCE 700 /* realpath, O_CLOEXEC */

#include "source/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

static lin_path_kind kind_of(mode_t mode)
{
    return S_ISREG(mode) ? LIN_PATH_FILE : S_ISDIR(mode) ? LIN_PATH_DIRECTORY : LIN_PATH_OTHER;
}

lin_path_kind lin_path_look(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0)
        return kind_of(info.st_mode);
    return errno == ENOENT || errno == ENOTDIR ? LIN_PATH_MISSING : LIN_PATH_UNREACHABLE;
}

void lin_path_show(char out[LIN_PATH_SHOWN], const char *path)
{
    size_t length = strlen(path);
    uint64_t used = 0;
    if (length >= LIN_PATH_SHOWN) {
        path += length - (LIN_PATH_SHOWN - 4);
        while (((unsigned char)*path & 0xc0) == 0x80)
            path++;
        memcpy(out, "...", 3);
        used = 3;
    }
    lin_copy_utf8(out + used, LIN_PATH_SHOWN - used, path);
}

static linnet_status fail_file(const char *path, const char *reason, linnet_error *err)
{
    char shown[LIN_PATH_SHOWN];
    lin_path_show(shown, path);
    return lin_fail_at(err, LINNET_ERROR_FILE, (lin_place){ .source = path }, NULL, "`%s` %s",
                       shown, reason);
}

/* strerror depends on the locale and is not safe among threads. */
static const char *reason_of(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return "does not exist";
    case EACCES:
    case EPERM:
        return "cannot be read: permission is denied";
    case ELOOP:
        return "cannot be read: its symbolic links lead in a circle";
    case ENAMETOOLONG:
        return "cannot be read: the name is too long";
    case EISDIR:
        return "is a directory";
    case EMFILE:
    case ENFILE:
        return "cannot be read: too many files are open";
    default:
        return "cannot be read";
    }
}

static linnet_status fail_kind(const char *path, mode_t mode, linnet_error *err)
{
    return fail_file(path,
                     S_ISDIR(mode)    ? "is a directory"
                     : S_ISFIFO(mode) ? "is a pipe; only regular files are read"
                     : S_ISSOCK(mode) ? "is a socket; only regular files are read"
                                      : "is a device; only regular files are read",
                     err);
}

linnet_status lin_path_fail(const char *path, linnet_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return fail_file(path, reason_of(errno), err);
    return fail_kind(path, info.st_mode, err);
}

static linnet_status fail_large(const char *path, uint64_t limit, linnet_error *err)
{
    char shown[LIN_PATH_SHOWN];
    lin_path_show(shown, path);
    return lin_fail_at(err, LINNET_ERROR_FILE, (lin_place){ .source = path }, NULL,
                       "`%s` is too large: at most %llu bytes are read", shown,
                       (unsigned long long)limit);
}

/* At most `capacity` bytes; -1 with errno. */
static int64_t read_some(int file, char *into, uint64_t capacity)
{
    uint64_t count = 0;
    while (count < capacity) {
        ssize_t got = read(file, into + count, (size_t)(capacity - count));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        count += (uint64_t)got;
    }
    return (int64_t)count;
}

/* Reads to the end, from a file that said it has `expected` bytes and may have more by now. */
static linnet_status read_all(lin_arena *arena, int file, const char *path, uint64_t expected,
                              uint64_t limit, const char **out_text, uint64_t *out_length,
                              linnet_error *err)
{
    uint64_t capacity = expected + 1; /* one more tells the end */
    char *text = lin_arena_alloc(arena, capacity + 1);
    uint64_t length = 0;
    for (;;) {
        if (text == NULL)
            return lin_fail_memory(err);
        int64_t got = read_some(file, text + length, capacity - length);
        if (got < 0)
            return fail_file(path, reason_of(errno), err);
        length += (uint64_t)got;
        if (length > limit)
            return fail_large(path, limit, err);
        if (length < capacity)
            break;
        capacity = capacity > limit / 2 ? limit + 1 : capacity * 2;
        char *grown = lin_arena_alloc(arena, capacity + 1);
        if (grown != NULL)
            memcpy(grown, text, (size_t)length);
        text = grown;
    }
    text[length] = '\0';
    *out_text = text;
    *out_length = length;
    return LINNET_OK;
}

static linnet_status read_open(lin_arena *arena, int file, const char *path, uint64_t limit,
                               const char **out_text, uint64_t *out_length, linnet_error *err)
{
    struct stat info;
    if (fstat(file, &info) != 0)
        return fail_file(path, reason_of(errno), err);
    if (!S_ISREG(info.st_mode))
        return fail_kind(path, info.st_mode, err);
    if (info.st_size < 0 || (uint64_t)info.st_size > limit)
        return fail_large(path, limit, err);
    return read_all(arena, file, path, (uint64_t)info.st_size, limit, out_text, out_length, err);
}

linnet_status lin_file_open(const char *path, lin_file *out, linnet_error *err)
{
    if (lin_path_look(path) != LIN_PATH_FILE)
        return lin_path_fail(path, err);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return fail_file(path, reason_of(errno), err);
    struct stat info;
    linnet_status status = LINNET_OK;
    if (fstat(file, &info) != 0)
        status = fail_file(path, reason_of(errno), err);
    else if (!S_ISREG(info.st_mode))
        status = fail_kind(path, info.st_mode, err);
    else if (info.st_size < 0)
        status = fail_file(path, "has a negative length", err);
    if (status != LINNET_OK) {
        (void)close(file);
        return status;
    }
    *out = (lin_file){ file, path, (uint64_t)info.st_size };
    return LINNET_OK;
}

linnet_status lin_file_read_at(const lin_file *file, uint64_t offset, void *into, uint64_t count,
                               linnet_error *err)
{
    uint64_t done = 0;
    if (offset > file->bytes || count > file->bytes - offset)
        return fail_file(file->path, "is shorter than it says", err);
    while (done < count) {
        ssize_t got = pread(file->descriptor, (char *)into + done, (size_t)(count - done),
                            (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_file(file->path, reason_of(errno), err);
        if (got == 0)
            return fail_file(file->path, "became shorter while it was read", err);
        done += (uint64_t)got;
    }
    return LINNET_OK;
}

void lin_file_close(lin_file *file)
{
    (void)close(file->descriptor);
    file->descriptor = -1;
}

linnet_status lin_file_read(lin_arena *arena, const char *path, uint64_t limit,
                            const char **out_text, uint64_t *out_length, linnet_error *err)
{
    if (limit > INT64_MAX / 4)
        limit = INT64_MAX / 4;
    if (lin_path_look(path) != LIN_PATH_FILE)
        return lin_path_fail(path, err);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return fail_file(path, reason_of(errno), err);
    /* The arena must not jump past the open file. */
    jmp_buf *on_failure = arena->on_failure;
    arena->on_failure = NULL;
    linnet_status status = read_open(arena, file, path, limit, out_text, out_length, err);
    arena->on_failure = on_failure;
    (void)close(file);
    if (status == LINNET_ERROR_NO_MEMORY)
        (void)lin_arena_fail(arena);
    return status;
}

const char *lin_path_real(lin_arena *arena, const char *path)
{
    char resolved[PATH_MAX];
    if (realpath(path[0] == '\0' ? "." : path, resolved) == NULL)
        return "";
    return lin_arena_copy(arena, resolved);
}

const char *lin_path_join(lin_arena *arena, const char *directory, const char *name)
{
    bool slash = directory[0] != '\0' && !lin_path_ends_with(directory, "/");
    return lin_arena_format(arena, "%s%s%s", directory, slash ? "/" : "", name);
}

const char *lin_path_parent(lin_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return "";
    return lin_arena_text(arena, path, slash == path ? 1 : (uint64_t)(slash - path));
}

bool lin_path_ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), end_length = strlen(end);
    return length >= end_length && strcmp(path + length - end_length, end) == 0;
}
