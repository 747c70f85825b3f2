/* SPDX-License-Identifier: MIT */

/*
 * From the questions to the answers: blocks go round a ring.
 *
 *     block   0   1   2   3   4   5   6
 *             written | answered in | read |
 *                     | any order   |      |
 *                  next_out              next_in
 *
 * This thread reads and writes; others answer. Of a pipe it reads what there is, and writes what is
 * answered before it waits for more, so that the program can answer another one question by
 * question.
 */

#define _POSIX_C_SOURCE 200809L

#include "cli_sweep.h"
#include <stdlib.h>

/* Blocks in the ring for each thread of the job: enough that a slow one does not hold the others
 * up. */
enum { RING_A_THREAD = 6, LOOK_MS = 100, LOOK_REMOTE_MS = 1 };

typedef struct run {
    sweep_input *input;
    sweep_output *output;
    sweep_crew *crew;
    sweep_remote *remote; /* NULL: one process */
    int64_t threads;
    sweep_block *ring;
    int64_t capacity;
    int64_t next_in, next_out; /* by block */
    int64_t written;           /* answers */
    bool is_ended, is_stopped;
    int status;
} run;

static sweep_block *block_at(const run *r, int64_t number)
{
    return &r->ring[number % r->capacity];
}

/* ---- in ---- */

static void begin_block(const run *r, sweep_block *block)
{
    block->number = r->next_in;
    block->lines = block->answered = 0;
    block->questions.length = block->answers.length = 0;
    block->is_done = false;
}

/* Reads a block, waiting for its first line at most. False: there is none. */
static bool read_block(run *r, bool wait)
{
    sweep_block *block = block_at(r, r->next_in);
    sweep_read got = SWEEP_LINE;
    const char *line;
    size_t length;
    begin_block(r, block);
    while (block->lines < SWEEP_BLOCK_LINES && block->questions.length < SWEEP_BLOCK_BYTES &&
           (got = sweep_input_next(r->input, wait && block->lines == 0, &line, &length)) ==
               SWEEP_LINE) {
        if (block->lines++ == 0)
            block->first_line = sweep_input_number(r->input);
        cli_append(&block->questions, line, length);
        cli_append(&block->questions, "\n", 1);
    }
    r->is_ended = got == SWEEP_END || got == SWEEP_FAILED;
    if (got == SWEEP_FAILED)
        r->status = EXIT_INPUT;
    return block->lines > 0;
}

static void fill_ring(run *r)
{
    while (!r->is_ended && !r->is_stopped && r->next_in - r->next_out < r->capacity) {
        if (!read_block(r, r->next_in == r->next_out))
            return;
        sweep_crew_add(r->crew, block_at(r, r->next_in));
        r->next_in++;
    }
}

/* ---- out ---- */

/* Lines of a block that is not whole: the threads were told to stop. */
static void write_block(run *r, const sweep_block *block)
{
    const int status =
        block->answers.length > 0
            ? sweep_output_write(r->output, block->answers.data, block->answers.length)
            : EXIT_DONE;
    r->written += block->answered;
    r->is_stopped |= block->answered < block->lines || status != EXIT_DONE;
    r->status = r->status != EXIT_DONE ? r->status : status;
}

/* Until the oldest block is answered, or a signal comes. */
static void await_block(run *r, const sweep_block *block)
{
    while (!sweep_crew_is_done(r->crew, block) && !r->is_stopped) {
        if (sweep_signals_pending()) {
            sweep_crew_stop(r->crew);
            r->is_stopped = true;
        } else if (!sweep_remote_exchange(r->remote, r->crew, r->threads, r->ring, r->capacity)) {
            sweep_crew_wait(r->crew, block, r->remote != NULL ? LOOK_REMOTE_MS : LOOK_MS);
        }
    }
}

static void write_oldest(run *r)
{
    sweep_block *block = block_at(r, r->next_out);
    await_block(r, block);
    if (r->is_stopped)
        return;
    write_block(r, block);
    r->next_out++;
}

/* After a stop: what is answered without a gap. The threads are gone. */
static void write_rest(run *r)
{
    r->is_stopped = false;
    while (r->next_out < r->next_in && !r->is_stopped) {
        write_block(r, block_at(r, r->next_out));
        r->next_out++;
    }
    r->is_stopped = true;
}

static void free_ring(run *r)
{
    for (int64_t i = 0; i < r->capacity; i++) {
        free(r->ring[i].questions.data);
        free(r->ring[i].answers.data);
    }
    free(r->ring);
}

int sweep_run(sweep_input *input, sweep_output *output, sweep_crew *take_crew, int64_t threads,
              sweep_remote *remote, int64_t *out_written)
{
    run r = { .input = input,
              .output = output,
              .crew = take_crew,
              .remote = remote,
              .threads = threads,
              .capacity = RING_A_THREAD * threads * sweep_remote_processes(remote) };
    r.ring = calloc((size_t)r.capacity, sizeof r.ring[0]);
    if (r.ring == NULL) {
        sweep_crew_free(take_crew);
        return cli_fail_memory();
    }
    for (;;) {
        fill_ring(&r);
        if (sweep_signals_pending())
            r.is_stopped = true;
        if (r.is_stopped || r.next_out == r.next_in)
            break;
        write_oldest(&r);
    }
    if (r.is_stopped)
        sweep_crew_stop(r.crew);
    sweep_crew_free(r.crew);
    if (r.is_stopped && r.status == EXIT_DONE)
        write_rest(&r);
    free_ring(&r);
    *out_written = r.written;
    return r.status;
}
