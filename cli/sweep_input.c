/* SPDX-License-Identifier: MIT */

/*
 * Questions line by line, from a file or a pipe, in a buffer of some MiB whatever the file's size:
 *
 *     data: [ lines given out | unread … | room ]
 *                             start      end
 *
 * A line longer than the limit is given out cut, and its rest is passed over. A file is read once
 * more where that is needed: to see that some line is a question at all, and to count lines before
 * a part is taken. A pipe cannot be: its first lines are looked at in the buffer.
 */

#define _POSIX_C_SOURCE 200809L

#include "cli_sweep.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 4 << 20 };
_Static_assert((int)BUFFER_BYTES > 2 * (int)SWEEP_LINE_BYTES, "a line and what is read with it");

struct sweep_input {
    const char *path;
    int descriptor;
    bool is_seekable, is_ended, skips_rest;
    int64_t number, end_number; /* of the line read last; of the last that is wanted */
    size_t start, end;
    char data[BUFFER_BYTES];
};

static int fail(const sweep_input *in, const char *message)
{
    fprintf(stderr, "linnet: %s: %s\n", strcmp(in->path, "-") == 0 ? "standard input" : in->path,
            message);
    return EXIT_INPUT;
}

/* ---- bytes ---- */

/* Reads what there is; SWEEP_LINE means that something came. */
static sweep_read fill(sweep_input *in, bool wait)
{
    if (in->start > 0) {
        memmove(in->data, in->data + in->start, in->end - in->start);
        in->end -= in->start;
        in->start = 0;
    }
    if (!in->is_seekable && !wait) {
        struct pollfd ready = { .fd = in->descriptor, .events = POLLIN };
        if (poll(&ready, 1, 0) == 0)
            return SWEEP_WAIT;
    }
    if (!in->is_seekable && wait && !sweep_signals_wait(in->descriptor, POLLIN))
        return SWEEP_WAIT;
    ssize_t got;
    do
        got = read(in->descriptor, in->data + in->end, BUFFER_BYTES - in->end);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        fail(in, strerror(errno));
        return SWEEP_FAILED;
    }
    in->is_ended = got == 0;
    in->end += (size_t)got;
    return got == 0 ? SWEEP_END : SWEEP_LINE;
}

static bool rewind_to_start(sweep_input *in)
{
    in->start = in->end = 0;
    in->number = 0;
    in->is_ended = in->skips_rest = false;
    return lseek(in->descriptor, 0, SEEK_SET) == 0;
}

/* ---- lines ---- */

static sweep_read give(sweep_input *in, size_t length, size_t past, const char **out_line,
                       size_t *out_length)
{
    *out_line = in->data + in->start;
    *out_length = length > SWEEP_LINE_BYTES ? SWEEP_LINE_BYTES + 1 : length;
    in->start += past;
    in->number++;
    return SWEEP_LINE;
}

/* Passes over the rest of a line that was given out cut. False: its end is not there yet. */
static bool skip_rest(sweep_input *in)
{
    const char *newline = memchr(in->data + in->start, '\n', in->end - in->start);
    in->start = newline != NULL ? (size_t)(newline - in->data) + 1 : in->end;
    in->skips_rest = newline == NULL && !in->is_ended;
    return !in->skips_rest;
}

static sweep_read next_line(sweep_input *in, bool wait, const char **out_line, size_t *out_length)
{
    for (size_t seen = 0;;) {
        if (!in->skips_rest || skip_rest(in)) {
            const char *from = in->data + in->start;
            const size_t length = in->end - in->start;
            const char *newline = memchr(from + seen, '\n', length - seen);
            if (newline != NULL)
                return give(in, (size_t)(newline - from), (size_t)(newline - from) + 1, out_line,
                            out_length);
            if (length > SWEEP_LINE_BYTES) {
                in->skips_rest = true;
                return give(in, length, length, out_line, out_length);
            }
            if (in->is_ended)
                return length > 0 ? give(in, length, length, out_line, out_length) : SWEEP_END;
            seen = length;
        }
        const sweep_read got = fill(in, wait);
        if (got == SWEEP_WAIT || got == SWEEP_FAILED)
            return got;
    }
}

sweep_read sweep_input_next(sweep_input *input, bool wait, const char **out_line,
                            size_t *out_length)
{
    return input->number < input->end_number ? next_line(input, wait, out_line, out_length)
                                             : SWEEP_END;
}

int64_t sweep_input_number(const sweep_input *input)
{
    return input->number;
}

/* ---- is any of it a question ---- */

size_t sweep_mark_length(const char *text, size_t length)
{
    static const char mark[] = "\xef\xbb\xbf";
    const size_t bytes = sizeof mark - 1;
    return length >= bytes && memcmp(text, mark, bytes) == 0 ? bytes : 0;
}

static bool is_object(const char *line, size_t length)
{
    const size_t mark = sweep_mark_length(line, length);
    json_t *root =
        length <= SWEEP_LINE_BYTES ? json_loadb(line + mark, length - mark, 0, NULL) : NULL;
    const bool is = json_is_object(root);
    json_decref(root);
    return is;
}

static int fail_no_questions(const sweep_input *in)
{
    return fail(in, "no line is a JSON object: a question is one on a line of its own");
}

static int look_through_file(sweep_input *in)
{
    const char *line;
    size_t length;
    sweep_read got;
    while ((got = next_line(in, true, &line, &length)) == SWEEP_LINE)
        if (is_object(line, length))
            return rewind_to_start(in) ? EXIT_DONE : fail(in, strerror(errno));
    return got == SWEEP_END ? fail_no_questions(in) : EXIT_INPUT;
}

/* Lines stay in the buffer. */
static int look_into_pipe(sweep_input *in)
{
    for (size_t at = 0;;) {
        const char *newline = memchr(in->data + at, '\n', in->end - at);
        if (newline == NULL && !in->is_ended && in->end < BUFFER_BYTES) {
            const sweep_read got = fill(in, true);
            if (got == SWEEP_WAIT || got == SWEEP_FAILED)
                return got == SWEEP_WAIT ? EXIT_DONE : EXIT_INPUT;
            continue;
        }
        const size_t end = newline != NULL ? (size_t)(newline - in->data) : in->end;
        if (is_object(in->data + at, end - at))
            return EXIT_DONE;
        if (newline == NULL)
            return fail_no_questions(in);
        at = end + 1;
    }
}

/* ---- open, choose, close ---- */

int sweep_input_open(const char *path, sweep_input **out)
{
    sweep_input *in = malloc(sizeof *in);
    if (in == NULL)
        return cli_fail_memory();
    in->path = path;
    in->number = 0;
    in->end_number = INT64_MAX;
    in->start = in->end = 0;
    in->is_ended = in->skips_rest = false;
    in->descriptor = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    in->is_seekable = in->descriptor >= 0 && lseek(in->descriptor, 0, SEEK_SET) == 0;
    int status = in->descriptor < 0 ? fail(in, strerror(errno))
                 : in->is_seekable  ? look_through_file(in)
                                    : look_into_pipe(in);
    if (status == EXIT_DONE)
        *out = in;
    else
        sweep_input_close(in);
    return status;
}

static int count_lines(sweep_input *in, int64_t *out)
{
    const char *line;
    size_t length;
    sweep_read got;
    while ((got = next_line(in, true, &line, &length)) == SWEEP_LINE)
        continue;
    *out = in->number;
    if (got == SWEEP_FAILED)
        return EXIT_INPUT;
    return rewind_to_start(in) ? EXIT_DONE : fail(in, strerror(errno));
}

/* lines * part / parts without the product. */
static int64_t share(int64_t lines, int64_t part, int64_t parts)
{
    return lines / parts * part + lines % parts * part / parts;
}

int sweep_input_choose(sweep_input *input, int64_t part, int64_t parts)
{
    const char *line;
    size_t length;
    int64_t lines;
    if (!input->is_seekable)
        return fail(input, "a part of the questions needs a file that can be read twice");
    const int status = count_lines(input, &lines);
    if (status != EXIT_DONE)
        return status;
    const int64_t first = share(lines, part - 1, parts);
    while (input->number < first)
        if (next_line(input, true, &line, &length) != SWEEP_LINE)
            return fail(input, "it became shorter while it was read");
    input->end_number = share(lines, part, parts);
    return EXIT_DONE;
}

int sweep_input_descriptor(const sweep_input *input)
{
    return input->descriptor;
}

void sweep_input_close(sweep_input *input)
{
    if (input == NULL)
        return;
    if (input->descriptor > STDIN_FILENO)
        close(input->descriptor);
    free(input);
}
