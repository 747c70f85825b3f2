/* SPDX-License-Identifier: MIT */
#ifndef CLI_H
#define CLI_H

/*
 * The linnet program: a user of include/linnet and nothing else. It owns the environment, the
 * flags, printing, colours and the exit status.
 */

#include <linnet/linnet.h>
#include <stdbool.h>
#include <stddef.h>

/* Exit statuses, the same in every command (linnet(1)). */
enum {
    EXIT_DONE = 0,
    EXIT_ANSWER_IS_NO = 1,
    EXIT_USAGE = 2,
    EXIT_INPUT = 3,
    EXIT_UNSUPPORTED = 4,
    EXIT_INTERNAL = 5
};

/* The commands, one bit each: an option says which of them take it. */
enum {
    CMD_MEMORY = 1 << 0,
    CMD_CHECK = 1 << 1,
    CMD_INSPECT = 1 << 2,
    CMD_EXPLAIN = 1 << 3,
    CMD_MODELS = 1 << 4,
    CMD_FORMULA = 1 << 5,
    CMD_SCHEDULE = 1 << 6,
    CMD_LAYOUT = 1 << 7,
    CMD_DEVICES = 1 << 8,
    CMD_TIME = 1 << 9,
    CMD_FIT = 1 << 10,
    CMD_COMPARE = 1 << 11,
    CMD_SWEEP = 1 << 12
};
/* Commands that take a model and how it runs. */
enum { SIZED = CMD_MEMORY | CMD_TIME | CMD_FIT | CMD_COMPARE };

typedef enum cli_colour { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } cli_colour;

enum { CLI_MAX_POLICIES = 64, CLI_MAX_OPTIONS = 96, CLI_MAX_CONFIGURATIONS = 63 };

/* What a command line asked for. */
typedef struct cli_request {
    linnet_config *config;
    const char *const *words; /* the arguments that are no options */
    int word_count;
    bool json, strict, parameters, help, timeline;
    int64_t top;
    const char *numerics;
    const char *device; /* a name or a file; NULL: not given */
    bool stages_by_time;
    cli_colour colour;
    const char *policies[CLI_MAX_POLICIES]; /* --checkpoint, in order */
    int policy_count;
    const char *order;      /* of the ranks of a layout; NULL: the default */
    const char *svg, *html; /* files of pictures, "-" being standard output; NULL: not wanted */
    int64_t device_memory;  /* 0: not given */
    const char *maximize;   /* what a search is for */
    bool advise;            /* changes in place of a search */
    int64_t reserve, reserve_thousandths; /* bytes; of a percent of the device */
    bool must_fit;
    int64_t devices_needed;     /* how many are looked at; 0: their number is given */
    int64_t tokens_per_second;  /* that are wanted; 0: not given */
    const char *layouts_option; /* the first that is only about layouts; NULL: none */
    bool *out_of_memory;        /* set by a report that does not fit; NULL: nobody asks */
    int64_t ranks, microbatches, virtual_stages; /* of a schedule; 0: not given */
    bool draw;                                   /* a schedule's picture in place of its table */
    bool backend_is_generic, has_context_bytes;  /* they contradict each other */
    const char *output;                          /* of a sweep; NULL: standard output */
    int64_t threads, part, parts;                /* of a sweep; 0: not given */
    bool resume;
    const char
        *with[CLI_MAX_CONFIGURATIONS]; /* of a comparison: options of another configuration */
    int with_count;
    bool all; /* of a comparison: also what is the same */
    int argc; /* what was read, */
    char **argv;
    const char *given[CLI_MAX_OPTIONS]; /* and by option the value it had; NULL: not given */
} cli_request;

typedef struct cli_command {
    const char *name;
    unsigned bit;
    const char *words; /* of the usage line */
    const char *summary;
    int (*run)(cli_request *request);
} cli_command;

/* What --help lists options under, in its order. */
typedef enum cli_section {
    SECTION_GOAL,
    SECTION_DEVICE,
    SECTION_MODEL,
    SECTION_TRAINING,
    SECTION_LAYOUT,
    SECTION_PIPELINE,
    SECTION_OUTPUT
} cli_section;

typedef struct cli_option {
    cli_section section;
    const char *name;     /* without the dashes */
    const char *argument; /* NULL: takes none; "[N]": may have one, after a `=` */
    unsigned commands;
    bool repeatable;
    const char *help;
    /* Fills `err` on failure. */
    linnet_status (*apply)(cli_request *request, const char *value, linnet_error *err);
    const char *same_as; /* the option it is another name of, or NULL */
} cli_option;

/* One command line, or one question of a sweep, on its way in. */
typedef struct cli_reading {
    const cli_command *command;
    const cli_option *options;
    int option_count;
    const char *mark;                  /* what stands before an option's name: "--", or nothing */
    const char *seen[CLI_MAX_OPTIONS]; /* by row: the value given; NULL: not given */
} cli_reading;

/* command.c */
const cli_command *cli_commands(int *out_count);
const cli_command *cli_find_command(const char *name);
/* The name nearest to a word that names no command; NULL: none is near. */
const char *cli_nearest_command(const char *word);

/* options.c */
const cli_option *cli_options(int *out_count);
linnet_status cli_read_integer(const char *value, int64_t *out, linnet_error *err);
/* A number with up to three decimals, in thousandths; false: it is none. */
bool cli_read_thousandths(const char *value, int64_t *out);

/* options_parallel.c: what rows of options.c apply. */
linnet_status cli_set_tensor_parallel(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_sequence_parallel(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_context_parallel(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_context_exchange(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_expert_parallel(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_pipeline_parallel(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_shards(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_replicas(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_devices(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_zero(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_reshard(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_prefetch(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_order(cli_request *request, const char *value, linnet_error *err);

/* options_pipeline.c */
linnet_status cli_set_schedule(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_stages(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_stages_by(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_pipeline_model(cli_request *request, const char *value, linnet_error *err);

/* options_fit.c */
linnet_status cli_set_maximize(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_reserve(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_reserve_percent(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_must_fit(cli_request *request, const char *value, linnet_error *err);
/* options_layouts.c */
linnet_status cli_set_global_batch(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_limit(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_explain(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_devices_needed(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_tokens_per_second(cli_request *request, const char *value, linnet_error *err);
/* fit_layouts.c: a search of layouts is asked for; runs it, an exit status. */
bool cli_wants_layouts(const cli_request *request);
int cli_fit_layouts(const cli_command *command, cli_request *request);
/* options_fit.c: fills device_memory from --device; an exit status. */
int cli_find_device_memory(const cli_command *command, cli_request *request);

/* options_sweep.c */
linnet_status cli_set_output(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_threads(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_part(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_resume(cli_request *request, const char *value, linnet_error *err);

/* options_compare.c */
linnet_status cli_add_with(cli_request *request, const char *value, linnet_error *err);
linnet_status cli_set_all(cli_request *request, const char *value, linnet_error *err);
/* The option is about a whole comparison, not about one configuration. */
bool cli_is_of_comparison(const char *option);
/* Splits a text into words as a shell does, quotes and backslashes included, nothing expanded. The
 * words are in `text`, which is changed; false: a quote is not closed. `words` has room for
 * strlen(text) / 2 + 1. */
bool cli_split_words(char *text, char **words, int *out_count);

/* options_meant.c */
/* The one of `names` that a word of another tool, or a mistyped one, means; NULL: none is near. */
const char *cli_meant_option(const char *word, const char *const *names, uint64_t count);
/* The message for a word such as `--tp` that is none of the command's options; an exit status. */
int cli_unknown_option(const cli_reading *line, const char *word);

/* options_read.c */
/* Reads argv into `request`; 0, or the exit status after a message. */
int cli_parse(const cli_command *command, int argc, char **argv, cli_request *request);
/* Reads the words of a --with onto a request that was parsed: its options stand in place of the
 * same ones there. They are words[2] and on; `words` ends in NULL. 0, or the exit status after a
 * message.
 */
int cli_parse_with(const cli_command *command, int count, char **words, cli_request *request);
/* Notes that an option was given. LINNET_ERROR_ARGUMENT: twice, and not the same thing. */
linnet_status cli_note_option(cli_reading *reading, int row, const char *value, linnet_error *err);
/* What contradicts itself in all that was given. LINNET_ERROR_ARGUMENT. */
linnet_status cli_check_reading(const cli_reading *reading, const cli_request *request,
                                linnet_error *err);

/* output.c: everything printed goes through here. */
int cli_exit_status(linnet_status status);
/* Fills `err` as the library would; the status. */
linnet_status cli_refuse(linnet_error *err, linnet_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same of a value on the command line: LINNET_ERROR_ARGUMENT. */
linnet_status cli_refuse_value(linnet_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "linnet: MESSAGE" with the place when the error has one, and the exit status. */
int cli_fail(const linnet_error *err);
/* The same for a mistake on the command line, with the usage line. */
int cli_usage_error(const cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The message and the exit status when memory is out. */
int cli_fail_memory(void);
/* EXIT_DONE, or the exit status after a message: the words are not one model. */
int cli_check_model_word(const cli_command *command, const cli_request *request);
/* Writes text to standard output and flushes; an exit status: EXIT_DONE, or EXIT_INPUT after a
 * message. */
int cli_print(const char *text, size_t length);
int cli_print_text(linnet_text *take_text);
/* Writes a file whole or not at all; an exit status: EXIT_DONE, or EXIT_INPUT after a message. */
int cli_write_file(const char *path, const char *text, size_t length);
/* Rendered diagnostics to standard error. */
void cli_print_diagnostics(const cli_request *request, const linnet_diagnostics *diagnostics);
bool cli_colour_wanted(const cli_request *request, int descriptor);

/* A growing text for what a command prints. Exits the program when memory is out. */
typedef struct cli_buffer {
    char *data;
    size_t length, capacity;
} cli_buffer;
void cli_add(cli_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_append(cli_buffer *buffer, const char *text, size_t length);
/* A JSON string literal; NULL gives null. */
void cli_add_json(cli_buffer *buffer, const char *text);
int cli_print_buffer(cli_buffer *take_buffer);

/* reports.c */
/* A command's report in the form asked for; `device` is NULL where the command takes none. */
typedef linnet_status (*cli_report_fn)(const cli_request *request, const linnet_model *model,
                                       const linnet_device *device, linnet_text **out_text,
                                       linnet_error *err);
/* One report, or one for each --checkpoint; an exit status. */
int cli_print_reports(const cli_request *request, const linnet_model *model,
                      const linnet_device *device, cli_report_fn report);

/* help.c */
int cli_help(const cli_command *command); /* NULL: the program's */
void cli_add_usage(cli_buffer *buffer, const cli_command *command);

/* files.c */
/* Opens a model, `-` being a program on standard input. On failure prints the diagnostics or the
 * message and gives the exit status; 0 on success. `diagnostics` may be NULL. */
int cli_open_model(const cli_request *request, const char *name, linnet_diagnostics *diagnostics,
                   linnet_model **out_model);
/* The same, leaving the message to the caller, except for a wrong program's diagnostics. */
int cli_try_model(const cli_request *request, const char *name, linnet_model **out_model,
                  linnet_error *err);
/* Every .linnet file under `path` in byte order, or `path` itself; an exit status. The list is the
 * caller's to free. */
int cli_find_files(const char *path, char ***out_files, int *out_count);

/* cmd_memory.c: the pictures that were asked for, of the request's config; an exit status. */
int cli_draw_pictures(const cli_request *request, const linnet_model *model);
/* One of them is printed in place of the report. */
bool cli_picture_takes_place(const cli_request *request);

int cli_run_memory(cli_request *request);
int cli_run_check(cli_request *request);
int cli_run_inspect(cli_request *request);
int cli_run_explain(cli_request *request);
int cli_run_models(cli_request *request);
int cli_run_devices(cli_request *request);
int cli_run_time(cli_request *request);
int cli_run_fit(cli_request *request);
/* fit_advise.c: fit with --advise; an exit status. */
int cli_run_advise(cli_request *request);
linnet_status cli_set_advise(cli_request *request, const char *value, linnet_error *err);
int cli_run_formula(cli_request *request);
int cli_run_schedule(cli_request *request);
int cli_run_layout(cli_request *request);
int cli_run_sweep(cli_request *request);
int cli_run_compare(cli_request *request);

#endif
