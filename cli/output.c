/* SPDX-License-Identifier: MIT */

/*
 * Everything the program prints. A command builds its whole output first, so that a failure leaves
 * nothing half-written on standard output.
 */

#define _XOPEN_SOURCE 700 /* POSIX.1-2008 with realpath */

#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cli_exit_status(linnet_status status)
{
    switch (status) {
    case LINNET_OK:
        return EXIT_DONE;
    case LINNET_ERROR_CAPACITY:
        return EXIT_ANSWER_IS_NO;
    case LINNET_ERROR_ARGUMENT:
    case LINNET_ERROR_NOT_FOUND:
        return EXIT_USAGE;
    case LINNET_ERROR_FILE:
    case LINNET_ERROR_FORMAT:
    case LINNET_ERROR_SOURCE:
    case LINNET_ERROR_OVERFLOW:
        return EXIT_INPUT;
    case LINNET_ERROR_UNSUPPORTED:
        return EXIT_UNSUPPORTED;
    default:
        return EXIT_INTERNAL;
    }
}

static linnet_status fill_error(linnet_error *err, linnet_status status, const char *format,
                                va_list args)
{
    memset(err, 0, sizeof *err);
    err->code = status;
    vsnprintf(err->message, sizeof err->message, format, args);
    return status;
}

linnet_status cli_refuse(linnet_error *err, linnet_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill_error(err, status, format, args);
    va_end(args);
    return status;
}

linnet_status cli_refuse_value(linnet_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const linnet_status status = fill_error(err, LINNET_ERROR_ARGUMENT, format, args);
    va_end(args);
    return status;
}

int cli_fail(const linnet_error *err)
{
    if (err->source[0] != '\0' && err->line != 0)
        fprintf(stderr, "linnet: %s:%u:%u: %s\n", err->source, err->line, err->column,
                err->message);
    else if (err->source[0] != '\0' && strstr(err->message, err->source) == NULL)
        fprintf(stderr, "linnet: %s: %s\n", err->source, err->message);
    else
        fprintf(stderr, "linnet: %s\n", err->message);
    return cli_exit_status(err->code);
}

int cli_usage_error(const cli_command *command, const char *format, ...)
{
    va_list args;
    cli_buffer usage = { 0 };
    fputs("linnet: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    cli_add_usage(&usage, command);
    fprintf(stderr, "\n%s", usage.data);
    free(usage.data);
    return EXIT_USAGE;
}

int cli_fail_memory(void)
{
    fputs("linnet: out of memory\n", stderr);
    return EXIT_INTERNAL;
}

int cli_check_model_word(const cli_command *command, const cli_request *request)
{
    if (request->word_count == 1)
        return EXIT_DONE;
    return cli_usage_error(command,
                           request->word_count == 0
                               ? "a model is missing: a name, a .linnet file or a directory"
                               : "one model at a time");
}

int cli_print(const char *text, size_t length)
{
    if (fwrite(text, 1, length, stdout) == length && fflush(stdout) == 0)
        return EXIT_DONE;
    fprintf(stderr, "linnet: standard output: %s\n", strerror(errno));
    return EXIT_INPUT;
}

int cli_print_text(linnet_text *take_text)
{
    int status = cli_print(linnet_text_data(take_text), linnet_text_length(take_text));
    linnet_text_free(take_text);
    return status;
}

bool cli_colour_wanted(const cli_request *request, int descriptor)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *forced = getenv("CLICOLOR_FORCE");
    const char *terminal = getenv("TERM");
    if (request->colour != COLOUR_AUTO)
        return request->colour == COLOUR_ALWAYS;
    if (no_colour != NULL && no_colour[0] != '\0')
        return false;
    if (forced != NULL && forced[0] != '\0' && strcmp(forced, "0") != 0)
        return true;
    return isatty(descriptor) && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

void cli_print_diagnostics(const cli_request *request, const linnet_diagnostics *diagnostics)
{
    linnet_text *text;
    linnet_error err;
    if (linnet_diagnostics_to_text(diagnostics, cli_colour_wanted(request, STDERR_FILENO), &text,
                                   &err) != LINNET_OK) {
        cli_fail(&err);
        return;
    }
    fputs(linnet_text_data(text), stderr);
    linnet_text_free(text);
}

/*
 * ---- files ----
 *
 * A file that is not there yet, or is a regular one, is written beside its place and renamed, so
 * that a full disk or a lost connection leaves what was there. Devices and pipes are written to.
 */

static int fail_file(const char *path, int reason)
{
    fprintf(stderr, "linnet: %s: %s\n", path, strerror(reason));
    return EXIT_INPUT;
}

/* 0, or an errno. Closes. */
static int write_all(int take_descriptor, const char *text, size_t length)
{
    int reason = 0;
    while (length > 0 && reason == 0) {
        const ssize_t written = write(take_descriptor, text, length);
        if (written >= 0) {
            text += written;
            length -= (size_t)written;
        } else if (errno != EINTR) {
            reason = errno;
        }
    }
    return close(take_descriptor) == 0 || reason != 0 ? reason : errno;
}

static mode_t usual_mode(void)
{
    const mode_t mask = umask(0);
    umask(mask);
    return (mode_t)(0666 & ~mask);
}

static int replace(const char *path, mode_t mode, const char *text, size_t length)
{
    const size_t room = strlen(path) + sizeof ".XXXXXX";
    char *beside = malloc(room);
    if (beside == NULL)
        return ENOMEM;
    snprintf(beside, room, "%s.XXXXXX", path);
    const int descriptor = mkstemp(beside);
    int reason = descriptor < 0 ? errno : 0;
    if (reason == 0) {
        reason = fchmod(descriptor, mode) != 0 ? errno : 0;
        const int written = write_all(descriptor, text, length);
        reason = reason != 0 ? reason : written;
        if (reason == 0 && rename(beside, path) != 0)
            reason = errno;
        if (reason != 0)
            unlink(beside);
    }
    free(beside);
    return reason;
}

/* Through a link to the file it names. */
static int replace_present(const char *path, mode_t mode, const char *text, size_t length)
{
    char *real = realpath(path, NULL);
    if (real == NULL)
        return errno;
    const int reason = access(real, W_OK) != 0 ? errno : replace(real, mode & 0777, text, length);
    free(real);
    return reason;
}

int cli_write_file(const char *path, const char *text, size_t length)
{
    struct stat info;
    int reason;
    if (strcmp(path, "-") == 0)
        return cli_print(text, length);
    if (stat(path, &info) != 0) {
        /* A link that leads nowhere is not replaced by a file. */
        reason = errno != ENOENT || lstat(path, &info) == 0
                     ? errno
                     : replace(path, usual_mode(), text, length);
    } else if (S_ISDIR(info.st_mode)) {
        reason = EISDIR;
    } else if (S_ISREG(info.st_mode)) {
        reason = replace_present(path, info.st_mode, text, length);
    } else {
        const int descriptor = open(path, O_WRONLY);
        reason = descriptor < 0 ? errno : write_all(descriptor, text, length);
    }
    return reason == 0 ? EXIT_DONE : fail_file(path, reason);
}

/* ---- buffer ---- */

static void reserve(cli_buffer *buffer, size_t more)
{
    if (buffer->capacity - buffer->length > more)
        return;
    const size_t capacity = (buffer->capacity + more + 256) * 2;
    char *data = realloc(buffer->data, capacity);
    if (data == NULL)
        exit(cli_fail_memory());
    buffer->data = data;
    buffer->capacity = capacity;
}

void cli_add(cli_buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        return;
    reserve(buffer, (size_t)length + 1);
    va_start(args, format);
    vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, args);
    va_end(args);
    buffer->length += (size_t)length;
}

void cli_append(cli_buffer *buffer, const char *text, size_t length)
{
    reserve(buffer, length + 1);
    memcpy(buffer->data + buffer->length, text, length);
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
}

/* How many bytes from here on stand in a JSON string as they are. */
static size_t plain_run(const char *text)
{
    size_t length = 0;
    while ((unsigned char)text[length] >= 0x20 && text[length] != '"' && text[length] != '\\')
        length++;
    return length;
}

void cli_add_json(cli_buffer *buffer, const char *text)
{
    if (text == NULL) {
        cli_append(buffer, "null", 4);
        return;
    }
    cli_append(buffer, "\"", 1);
    for (size_t run = plain_run(text);; run = plain_run(text)) {
        cli_append(buffer, text, run);
        text += run;
        if (*text == '\0')
            break;
        if (*text == '"' || *text == '\\')
            cli_add(buffer, "\\%c", *text);
        else
            cli_add(buffer, "\\u%04x", (unsigned)(unsigned char)*text);
        text++;
    }
    cli_append(buffer, "\"", 1);
}

int cli_print_buffer(cli_buffer *take_buffer)
{
    int status = cli_print(take_buffer->data != NULL ? take_buffer->data : "", take_buffer->length);
    free(take_buffer->data);
    return status;
}
