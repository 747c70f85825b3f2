/* SPDX-License-Identifier: MIT */

/*
 * Answers to a file or to standard output, in order. A file is written in place, a block of whole
 * lines at a time, and locked, so that what is there is always a run of answers from the first on,
 * and perhaps half of one more. Resuming cuts that half off, counts the rest, and passes over as
 * many questions; the last answer has to be the last question's, or the file is another sweep's.
 */

#define _POSIX_C_SOURCE 200809L

#include "cli_sweep.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sweep_output {
    const char *path; /* NULL: standard output */
    int descriptor;
    bool is_regular;
    int64_t answers; /* that were there */
    cli_buffer last; /* the last of them */
};

static int fail(const sweep_output *out, const char *message)
{
    fprintf(stderr, "linnet: %s: %s\n", out->path != NULL ? out->path : "standard output", message);
    return EXIT_INPUT;
}

/* ---- what is there ---- */

enum { CHUNK_BYTES = 1 << 16 };

/* An answer begins with its line's number or the question's id. */
static bool begins_as_answer(const char *line, size_t length)
{
    static const char *const starts[] = { "{\"line\":", "{\"id\":" };
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        const size_t whole = strlen(starts[i]);
        if (memcmp(line, starts[i], length < whole ? length : whole) == 0)
            return true;
    }
    return false;
}

static bool is_answer(const char *line, size_t length)
{
    return length > 2 && begins_as_answer(line, length) && line[length - 1] == '}' &&
           memchr(line, '\0', length) == NULL;
}

/* Takes the whole lines of `text` in; what is left of it moves to its start. */
static int take_lines(sweep_output *out, cli_buffer *text, int64_t *offset)
{
    size_t start = 0;
    const char *newline;
    while (text->length > start &&
           (newline = memchr(text->data + start, '\n', text->length - start)) != NULL) {
        const size_t length = (size_t)(newline - (text->data + start));
        if (!is_answer(text->data + start, length)) {
            fprintf(stderr,
                    "linnet: %s: line %lld is no answer: --resume continues a file of answers\n",
                    out->path, (long long)out->answers + 1);
            return EXIT_INPUT;
        }
        out->answers++;
        out->last.length = 0;
        cli_append(&out->last, text->data + start, length);
        start += length + 1;
    }
    *offset += (int64_t)start;
    memmove(text->data, text->data + start, text->length - start);
    text->length -= start;
    return EXIT_DONE;
}

static int read_answers(sweep_output *out, cli_buffer *text, int64_t *offset)
{
    char chunk[CHUNK_BYTES];
    for (;;) {
        const ssize_t got = read(out->descriptor, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? EXIT_DONE : fail(out, strerror(errno));
        cli_append(text, chunk, (size_t)got);
        const int status = take_lines(out, text, offset);
        if (status != EXIT_DONE)
            return status;
    }
}

/* Leaves the descriptor behind the last whole answer, which is where the file then ends. */
static int find_end(sweep_output *out)
{
    cli_buffer half = { 0 };
    int64_t offset = 0;
    int status = read_answers(out, &half, &offset);
    if (status == EXIT_DONE && out->answers == 0 && half.length > 0 &&
        !begins_as_answer(half.data, half.length))
        status = fail(out, "line 1 is no answer: --resume continues a file of answers");
    free(half.data);
    if (status != EXIT_DONE)
        return status;
    if (ftruncate(out->descriptor, (off_t)offset) != 0 ||
        lseek(out->descriptor, (off_t)offset, SEEK_SET) < 0)
        return fail(out, strerror(errno));
    return EXIT_DONE;
}

/* ---- whether it belongs to these questions ---- */

static bool is_answer_to(const char *answer, size_t answer_length, const char *question,
                         size_t question_length, int64_t number)
{
    json_t *said = json_loadb(answer, answer_length, 0, NULL);
    json_t *asked = json_loadb(question, question_length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *line = json_object_get(said, "line");
    const bool is =
        line != NULL ? json_integer_value(line) == number
                     : json_equal(json_object_get(said, "id"), json_object_get(asked, "id")) != 0;
    json_decref(said);
    json_decref(asked);
    return is;
}

int sweep_output_catch_up(sweep_output *output, sweep_input *input)
{
    const char *line = NULL;
    size_t length = 0;
    for (int64_t i = 0; i < output->answers; i++) {
        const sweep_read got = sweep_input_next(input, true, &line, &length);
        if (got == SWEEP_END)
            return fail(output, "there are more answers than questions: they are of others");
        if (got != SWEEP_LINE)
            return got == SWEEP_FAILED ? EXIT_INPUT : EXIT_DONE;
    }
    const int64_t number = sweep_input_number(input);
    if (output->answers == 0)
        return EXIT_DONE;
    const size_t mark = number == 1 ? sweep_mark_length(line, length) : 0;
    if (is_answer_to(output->last.data, output->last.length, line + mark, length - mark, number))
        return EXIT_DONE;
    fprintf(stderr,
            "linnet: %s: answer %lld is not of line %lld of the questions: --resume continues the "
            "same questions, and the same part of them\n",
            output->path, (long long)output->answers, (long long)number);
    return EXIT_INPUT;
}

/* ---- open ---- */

static int check_place(const sweep_output *out, const struct stat *file, const sweep_input *input,
                       bool resume)
{
    struct stat questions;
    if (fstat(sweep_input_descriptor(input), &questions) == 0 && questions.st_dev == file->st_dev &&
        questions.st_ino == file->st_ino)
        return fail(out, "the answers would go into the questions");
    if (resume && !S_ISREG(file->st_mode))
        return fail(out, "--resume needs a regular file");
    return EXIT_DONE;
}

/* A second sweep into the same file would undo both. Where a file system has no locks there is
 * none. */
static int lock(const sweep_output *out)
{
    const struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (fcntl(out->descriptor, F_SETLK, &whole) == 0 || (errno != EACCES && errno != EAGAIN))
        return EXIT_DONE;
    return fail(out, "another sweep is writing it");
}

static int prepare(sweep_output *out, bool resume, const sweep_input *input)
{
    struct stat file;
    if (fstat(out->descriptor, &file) != 0)
        return fail(out, strerror(errno));
    if (out->path == NULL) {
        out->is_regular = S_ISREG(file.st_mode);
        return EXIT_DONE;
    }
    int status = check_place(out, &file, input, resume);
    out->is_regular = S_ISREG(file.st_mode);
    if (status != EXIT_DONE || !out->is_regular)
        return status;
    if ((status = lock(out)) != EXIT_DONE)
        return status;
    if (resume)
        return find_end(out);
    return ftruncate(out->descriptor, 0) == 0 ? EXIT_DONE : fail(out, strerror(errno));
}

int sweep_output_open(const char *path, bool resume, const sweep_input *input, sweep_output **out)
{
    sweep_output *output = calloc(1, sizeof *output);
    if (output == NULL)
        return cli_fail_memory();
    output->path = path;
    output->descriptor =
        path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : STDOUT_FILENO;
    /* What can only be written to, such as a pipe that has a name. */
    if (output->descriptor < 0 && errno == EACCES && !resume)
        output->descriptor = open(path, O_WRONLY | O_CLOEXEC);
    const int status =
        output->descriptor < 0 ? fail(output, strerror(errno)) : prepare(output, resume, input);
    if (status != EXIT_DONE)
        sweep_output_close(output);
    else
        *out = output;
    return status;
}

/* ---- write ---- */

/* A pipe takes at least so many bytes when it says that it is ready. */
enum { PIPE_BYTES = 4096 };

int sweep_output_write(sweep_output *output, const char *text, size_t length)
{
    while (length > 0) {
        const bool is_pipe = !output->is_regular;
        if (is_pipe && !sweep_signals_wait(output->descriptor, POLLOUT))
            return EXIT_DONE; /* nobody reads: the signal ends this */
        const size_t most = is_pipe && length > PIPE_BYTES ? PIPE_BYTES : length;
        const ssize_t written = write(output->descriptor, text, most);
        if (written < 0 && errno != EINTR)
            return fail(output, strerror(errno));
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
    return EXIT_DONE;
}

int sweep_output_close(sweep_output *output)
{
    int status = EXIT_DONE;
    if (output == NULL)
        return status;
    if (output->path != NULL && output->descriptor >= 0 && close(output->descriptor) != 0)
        status = fail(output, strerror(errno));
    free(output->last.data);
    free(output);
    return status;
}
