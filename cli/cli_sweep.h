/* SPDX-License-Identifier: MIT */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

/*
 * linnet sweep: many questions, one answer a line, in the order of the questions.
 *
 *     input -> blocks of lines -> workers (threads here, other ranks under MPI) -> output
 *                                    |
 *                                  store: opened models, devices and traced planners by key
 *
 * An answer depends on its question alone, so neither the workers nor their number nor the order
 * they finish in can be seen in the output.
 */

#include "cli.h"
#include <jansson.h>
#include <stdatomic.h>

enum {
    SWEEP_LINE_BYTES = 1 << 20,    /* a longer line is answered with an error */
    SWEEP_BLOCK_LINES = 32,        /* lines that one worker takes at a time, … */
    SWEEP_BLOCK_BYTES = 256 << 10, /* … or fewer, once they are so long */
    SWEEP_MAX_VALUES = 256         /* options of one question, those of lists counted singly */
};

/* ---- sweep_write.c: compact JSON behind what is there ---- */

void sweep_open(cli_buffer *out, char bracket);  /* '{' or '[', with a comma where one is due */
void sweep_close(cli_buffer *out, char bracket); /* '}' or ']' */
void sweep_key(cli_buffer *out, const char *key);
void sweep_text(cli_buffer *out, const char *text); /* NULL gives null */
/* The same of a text that may be cut within a character: what is no UTF-8 becomes `?`. */
void sweep_message(cli_buffer *out, const char *text);
void sweep_integer(cli_buffer *out, int64_t value);
/* At most so many decimals, without zeros at the end; null when not finite. */
void sweep_decimal(cli_buffer *out, double value, int decimals);
/* A JSON text without the white space between its tokens. */
void sweep_document(cli_buffer *out, const char *text, size_t length);
void sweep_pair_text(cli_buffer *out, const char *key, const char *text);
void sweep_pair_integer(cli_buffer *out, const char *key, int64_t value);
void sweep_pair_decimal(cli_buffer *out, const char *key, double value, int decimals);

/* ---- sweep_store.c: what several questions share ---- */

typedef struct sweep_store sweep_store;

/* What the environment says, read once. */
typedef struct sweep_settings {
    const char *std_directory, *cublas_workspace; /* NULL: not given */
} sweep_settings;

/* NULL: out of memory. The settings must outlive it. */
sweep_store *sweep_store_new(const sweep_settings *settings);
void sweep_store_free(sweep_store *store);
const sweep_settings *sweep_store_settings(const sweep_store *store);
/* A config whose objects are counted, so that the store knows what it holds. */
linnet_status sweep_store_config(sweep_store *store, linnet_config **out, linnet_error *err);
/* Opened once for all threads; the reference is the caller's. */
linnet_status sweep_store_model(sweep_store *store, const linnet_config *config, const char *name,
                                const char *std_directory, linnet_model **out, linnet_error *err);
linnet_status sweep_store_device(sweep_store *store, const char *name, linnet_device **out,
                                 linnet_error *err);
/* A planner is in one thread's hands from take to give. NULL: none of that key is free. */
linnet_planner *sweep_store_take(sweep_store *store, const cli_buffer *key);
void sweep_store_give(sweep_store *store, const cli_buffer *key, linnet_planner *take_planner);

/* ---- sweep_question.c ---- */

typedef struct sweep_worker sweep_worker;
typedef struct sweep_question sweep_question;

/* One kind of question. */
typedef struct sweep_command {
    const char *name;
    /* Adds the answer's members behind those that every answer has. */
    linnet_status (*answer)(sweep_worker *worker, const sweep_question *question, cli_buffer *out,
                            linnet_error *err);
} sweep_command;

typedef struct sweep_value {
    int row; /* of the option table */
    const char *text;
} sweep_value;

enum { SWEEP_BATCH, SWEEP_CONTEXT, SWEEP_CACHE, SWEEP_SIZES };

struct sweep_question {
    json_t *root;     /* owned; what follows points into it */
    const json_t *id; /* NULL: none */
    const sweep_command *command;
    const char *model;
    bool is_full;                   /* the command's whole document is wanted */
    cli_reading reading;            /* of everything given */
    sweep_value sizes[SWEEP_SIZES]; /* text NULL: not given */
    sweep_value config[SWEEP_MAX_VALUES], aside[SWEEP_MAX_VALUES]; /* by row; see the roles */
    int config_count, aside_count;
    char numbers[SWEEP_MAX_VALUES][32]; /* texts of values that were JSON numbers */
    int number_count;
};

/* What a worker keeps between questions. */
struct sweep_worker {
    sweep_store *store;
    sweep_question question;
    cli_buffer key;       /* of the question in hand */
    cli_buffer held_key;  /* of `held` */
    linnet_planner *held; /* taken from the store; NULL: none */
};

/* Reads one line. The question's `id` is there even on failure where the line has one. */
linnet_status sweep_question_read(const char *line, size_t length, sweep_question *out,
                                  linnet_error *err);
void sweep_question_clear(sweep_question *question);

/* ---- sweep_prepare.c ---- */

/* The question's config and model as the command would make them. */
typedef struct sweep_prepared {
    linnet_config *config;
    linnet_model *model;
} sweep_prepared;

/* What the answer is compared with. */
typedef struct sweep_asides {
    cli_request request;   /* without a config: none of these options touches one */
    int64_t device_memory; /* 0: not given */
} sweep_asides;

typedef linnet_status (*sweep_make_fn)(sweep_worker *worker, const sweep_question *question,
                                       int64_t extra, linnet_planner **out, linnet_error *err);

linnet_status sweep_prepare(sweep_worker *worker, const sweep_question *question,
                            sweep_prepared *out, linnet_error *err);
void sweep_release(sweep_prepared *take_prepared);
linnet_status sweep_read_asides(sweep_worker *worker, const sweep_question *question,
                                sweep_asides *out, linnet_error *err);
/* Whether the sizes are looked at while the model is traced: such a planner has one size. */
bool sweep_pins_sizes(const sweep_question *question);
/* Everything that decides the planner: its kind, the model, the options, which sizes are free, and
 * the values of those that are not. */
void sweep_make_key(const sweep_question *question, const char *kind, const bool fixed[SWEEP_SIZES],
                    cli_buffer *out);
/* worker->held becomes the planner of worker->key, from the store or made. */
linnet_status sweep_hold(sweep_worker *worker, const sweep_question *question, sweep_make_fn make,
                         int64_t extra, linnet_error *err);
void sweep_let_go(sweep_worker *worker);

/* ---- sweep_answer.c ---- */

const sweep_command *sweep_find_command(const char *name);
/* Adds one line. Never fails: what goes wrong is the answer. */
void sweep_answer(sweep_worker *worker, const char *line, size_t length, int64_t number,
                  cli_buffer *out);
void sweep_worker_end(sweep_worker *worker);

/* ---- sweep_input.c: lines of a file or a pipe ---- */

typedef struct sweep_input sweep_input;

typedef enum sweep_read {
    SWEEP_LINE,
    SWEEP_WAIT, /* a pipe that has nothing yet */
    SWEEP_END,
    SWEEP_FAILED /* after a message */
} sweep_read;

/* Bytes of the mark that some editors put first in a text, which is no part of it; 0: none. */
size_t sweep_mark_length(const char *text, size_t length);
/* "-" is standard input. An exit status, with a message when it is not EXIT_DONE; EXIT_INPUT also
 * when no line is a JSON object. */
int sweep_input_open(const char *path, sweep_input **out);
void sweep_input_close(sweep_input *input);
int sweep_input_descriptor(const sweep_input *input);
/* Leaves the lines of part `part` of `parts` (from 1): with L lines, those from L (part-1) / parts
 * on, up to L part / parts. An exit status. */
int sweep_input_choose(sweep_input *input, int64_t part, int64_t parts);
/* The next line without its end; of one longer than SWEEP_LINE_BYTES that many bytes and one. Valid
 * until the next call. */
sweep_read sweep_input_next(sweep_input *input, bool wait, const char **out_line,
                            size_t *out_length);
int64_t sweep_input_number(const sweep_input *input); /* of the line read last, from 1 */

/* ---- sweep_output.c ---- */

typedef struct sweep_output sweep_output;

/* NULL is standard output. With `resume`, half a line at the end is cut off, and the answers that
 * are there count. An exit status after a message. */
int sweep_output_open(const char *path, bool resume, const sweep_input *input, sweep_output **out);
/* Skips the questions that are answered. */
int sweep_output_catch_up(sweep_output *output, sweep_input *input);
int sweep_output_write(sweep_output *output, const char *text, size_t length);
/* An exit status; also after failures. */
int sweep_output_close(sweep_output *output);

/* ---- sweep_crew.c: threads ---- */

typedef struct sweep_block {
    struct sweep_block *next;         /* in the crew's queue */
    struct sweep_block *next_in_hand; /* of another process */
    int64_t number;                   /* of the block */
    int64_t first_line;               /* from 1 */
    int64_t lines, answered;
    cli_buffer questions; /* each with a newline at its end */
    cli_buffer answers;
    bool is_done;
} sweep_block;

typedef struct sweep_crew sweep_crew;

/* An exit status after a message. */
int sweep_crew_new(int64_t threads, const sweep_settings *settings, sweep_crew **out);
void sweep_crew_add(sweep_crew *crew, sweep_block *block);
/* A block that no thread has begun, for someone else to answer; NULL: none. */
sweep_block *sweep_crew_take(sweep_crew *crew);
bool sweep_crew_is_done(sweep_crew *crew, const sweep_block *block);
/* Someone else answered the block. */
void sweep_crew_done(sweep_crew *crew, sweep_block *block);
/* Waits until a thread finishes a block, unless this one (may be NULL) is finished; at most so
 * long. */
void sweep_crew_wait(sweep_crew *crew, const sweep_block *block, int milliseconds);
/* Each thread stops after the question in hand. Blocks that were not begun stay so. */
void sweep_crew_stop(sweep_crew *crew);
void sweep_crew_free(sweep_crew *crew);

/* ---- sweep_signals.c ---- */

/* From begin to end SIGINT, SIGTERM and SIGHUP wait, so that lines are written whole. */
void sweep_signals_begin(void);
bool sweep_signals_pending(void);
/* Lets what waited through: the process then ends by it. */
void sweep_signals_end(void);
/* Waits until the descriptor is ready for `events` (poll.h). False: a signal came. */
bool sweep_signals_wait(int descriptor, short events);

/* ---- sweep_remote.c: other processes ---- */

typedef struct sweep_remote sweep_remote;

/* *out is NULL where there is one process. An exit status after a message. */
int sweep_remote_open(sweep_remote **out);
/* The functions below take NULL for one process. */
bool sweep_remote_is_first(const sweep_remote *remote);
int64_t sweep_remote_processes(const sweep_remote *remote);
/* The first process: hands blocks out that no thread has begun, takes answers in. Block n stands at
 * `ring` n modulo `capacity`. False: nothing happened. */
bool sweep_remote_exchange(sweep_remote *remote, sweep_crew *crew, int64_t threads,
                           sweep_block *ring, int64_t capacity);
/* Another process: answers what it is sent until it is told to end; an exit status. */
int sweep_remote_serve(sweep_remote *remote, sweep_crew *crew);
/* The first process tells the others to end; all leave. */
void sweep_remote_close(sweep_remote *remote);

/* ---- sweep_run.c ---- */

/* Answers every line of the input that is left; an exit status. The crew is gone afterwards. */
int sweep_run(sweep_input *input, sweep_output *output, sweep_crew *take_crew, int64_t threads,
              sweep_remote *remote, int64_t *out_written);

#endif
