/* SPDX-License-Identifier: MIT */

/* Models by name, path or on standard input; .linnet files below a folder. */

#define _POSIX_C_SOURCE 200809L

#include "cli.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_INPUT_BYTES = 16 << 20, MAX_DEPTH = 64, MAX_FILES = 100000 };

static linnet_status fail(linnet_error *err, linnet_status status, const char *source,
                          const char *message)
{
    memset(err, 0, sizeof *err);
    err->code = status;
    snprintf(err->source, sizeof err->source, "%s", source);
    snprintf(err->message, sizeof err->message, "%s", message);
    return status;
}

static linnet_status parse_input(const cli_request *request, linnet_diagnostics *diagnostics,
                                 linnet_model **out_model, linnet_error *err)
{
    char *text = malloc(MAX_INPUT_BYTES + 1);
    if (text == NULL)
        return fail(err, LINNET_ERROR_NO_MEMORY, "", "out of memory");
    const size_t length = fread(text, 1, MAX_INPUT_BYTES + 1, stdin);
    linnet_status status;
    if (ferror(stdin))
        status = fail(err, LINNET_ERROR_FILE, "standard input", strerror(errno));
    else if (length > MAX_INPUT_BYTES)
        status = fail(err, LINNET_ERROR_FILE, "standard input", "larger than 16 MiB");
    else
        status = linnet_model_parse(request->config, text, length, "<stdin>", diagnostics,
                                    out_model, err);
    free(text);
    return status;
}

/* Opens the model; of a wrong program prints the diagnostics. `err` is filled on failure. */
static int open_with(const cli_request *request, const char *name, linnet_diagnostics *list,
                     linnet_model **out_model, linnet_error *err)
{
    linnet_status status = strcmp(name, "-") == 0
                               ? parse_input(request, list, out_model, err)
                               : linnet_model_open(request->config, name, list, out_model, err);
    if (status == LINNET_ERROR_SOURCE && linnet_diagnostics_count(list) > 0)
        cli_print_diagnostics(request, list);
    else if (status == LINNET_ERROR_SOURCE)
        cli_fail(err);
    return cli_exit_status(status);
}

int cli_try_model(const cli_request *request, const char *name, linnet_model **out_model,
                  linnet_error *err)
{
    linnet_diagnostics *list = NULL;
    if (linnet_diagnostics_new(&list, err) != LINNET_OK)
        return cli_exit_status(err->code);
    int exit_status = open_with(request, name, list, out_model, err);
    linnet_diagnostics_free(list);
    return exit_status;
}

int cli_open_model(const cli_request *request, const char *name, linnet_diagnostics *diagnostics,
                   linnet_model **out_model)
{
    linnet_error err;
    int exit_status = diagnostics != NULL ? open_with(request, name, diagnostics, out_model, &err)
                                          : cli_try_model(request, name, out_model, &err);
    if (exit_status != EXIT_DONE && err.code != LINNET_ERROR_SOURCE)
        cli_fail(&err);
    return exit_status;
}

/* ---- folders ---- */

typedef struct file_list {
    char **items;
    int count, capacity;
} file_list;

static int file_error(const char *path, const char *message)
{
    fprintf(stderr, "linnet: %s: %s\n", path, message);
    return EXIT_INPUT;
}

/* Takes `path`, even when it fails. */
static int add_file(file_list *list, char *take_path)
{
    if (list->count == MAX_FILES) {
        int status = file_error(take_path, "more than 100000 files");
        free(take_path);
        return status;
    }
    if (list->count == list->capacity) {
        const int capacity = list->capacity * 2 + 16;
        char **items = realloc(list->items, (size_t)capacity * sizeof *items);
        if (items == NULL) {
            free(take_path);
            return cli_fail_memory();
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = take_path;
    return 0;
}

static char *join(const char *directory, const char *name)
{
    const size_t length = strlen(directory) + strlen(name) + 2;
    char *path = malloc(length);
    if (path != NULL)
        snprintf(path, length, "%s/%s", directory, name);
    return path;
}

static bool has_extension(const char *name)
{
    const size_t length = strlen(name);
    return length > 7 && strcmp(name + length - 7, ".linnet") == 0;
}

static int walk(const char *directory, int depth, file_list *list);

/* Links are not followed below the path that was asked for, so that a cycle ends. */
static int visit(const char *directory, const char *name, int depth, file_list *list)
{
    struct stat info;
    char *path = join(directory, name);
    int status = 0;
    if (path == NULL)
        return cli_fail_memory();
    if (lstat(path, &info) != 0)
        status = file_error(path, strerror(errno));
    else if (S_ISDIR(info.st_mode))
        status = walk(path, depth + 1, list);
    else if (S_ISREG(info.st_mode) && has_extension(name))
        return add_file(list, path);
    free(path);
    return status;
}

static int walk(const char *directory, int depth, file_list *list)
{
    if (depth > MAX_DEPTH)
        return file_error(directory, "folders are nested more than 64 deep");
    DIR *folder = opendir(directory);
    if (folder == NULL)
        return file_error(directory, strerror(errno));
    int status = 0;
    const struct dirent *entry;
    while (status == 0 && (entry = readdir(folder)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = visit(directory, entry->d_name, depth, list);
    closedir(folder);
    return status;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int cli_find_files(const char *path, char ***out_files, int *out_count)
{
    struct stat info;
    file_list list = { 0 };
    int status;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        status = walk(path, 0, &list);
    } else {
        char *copy = strdup(path);
        status = copy != NULL ? add_file(&list, copy) : cli_fail_memory();
    }
    if (list.count > 1)
        qsort(list.items, (size_t)list.count, sizeof *list.items, by_bytes);
    *out_files = list.items;
    *out_count = list.count;
    return status;
}
