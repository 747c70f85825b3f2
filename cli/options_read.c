/* SPDX-License-Identifier: MIT */

/*
 * Reads a command line against the table of options.c: every option at most once unless it repeats,
 * abbreviations that mean one option, the environment where no option said it, and what contradicts
 * itself.
 */

#include "cli.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static int row_named(const cli_reading *line, const char *name)
{
    int row = 0;
    while (row < line->option_count && strcmp(line->options[row].name, name) != 0)
        row++;
    return row;
}

static bool given(const cli_reading *line, const char *name)
{
    const int row = row_named(line, name);
    return row < line->option_count && line->seen[row] != NULL;
}

/* Which option a row counts as: --context counts as --seq-len. */
static int counts_as(const cli_reading *line, int row)
{
    const char *other = line->options[row].same_as;
    return other != NULL ? row_named(line, other) : row;
}

/* What getopt_long gives for the first long option: each has a number of its own, or getopt takes
 * two of a kind for one and an abbreviation of both for the first. */
enum { FIRST_LONG = 256 };

static int arguments_of(const cli_option *option)
{
    if (option->argument == NULL)
        return no_argument;
    return option->argument[0] == '[' ? optional_argument : required_argument;
}

static void fill_getopt(const cli_reading *line, struct option *out, int *rows)
{
    int count = 0;
    for (int i = 0; i < line->option_count; i++) {
        const cli_option *option = &line->options[i];
        if ((option->commands & line->command->bit) == 0)
            continue;
        out[count] =
            (struct option){ option->name, arguments_of(option), NULL, FIRST_LONG + count };
        rows[count++] = i;
    }
    memset(&out[count], 0, sizeof out[count]);
}

linnet_status cli_note_option(cli_reading *line, int row, const char *value, linnet_error *err)
{
    const int id = counts_as(line, row);
    const char *said = value != NULL ? value : "";
    if (!line->options[row].repeatable && line->seen[id] != NULL &&
        strcmp(line->seen[id], said) != 0)
        return cli_refuse_value(err, "%s%s is given as both `%s` and `%s`", line->mark,
                                line->options[id].name, line->seen[id], said);
    line->seen[id] = said;
    return LINNET_OK;
}

static int apply_option(cli_reading *line, int row, const char *value, cli_request *request)
{
    linnet_error err;
    const cli_option *option = &line->options[row];
    if (cli_note_option(line, row, value, &err) != LINNET_OK)
        return cli_usage_error(line->command, "%s", err.message);
    linnet_status status = option->apply(request, value, &err);
    if (status == LINNET_OK)
        return 0;
    if (cli_exit_status(status) != EXIT_USAGE)
        return cli_fail(&err);
    return cli_usage_error(line->command, "--%s: %s", option->name, err.message);
}

/* The options of the command that begin as the word does, as a list; how many there are. */
static int list_meant(const cli_reading *line, const char *word, cli_buffer *out)
{
    const size_t length = strcspn(word + 2, "=");
    int count = 0;
    for (int i = 0; i < line->option_count; i++)
        if ((line->options[i].commands & line->command->bit) != 0 &&
            strncmp(line->options[i].name, word + 2, length) == 0)
            cli_add(out, "%s`--%s`", count++ == 0 ? "" : ", ", line->options[i].name);
    return count;
}

static int bad_option(const cli_reading *line, char **argv, int reason)
{
    const cli_command *command = line->command;
    const char *word = optind > 0 ? argv[optind - 1] : "";
    const int name = (int)strcspn(word, "=");
    cli_buffer meant = { 0 };
    if (reason == ':')
        return cli_usage_error(command, "`%s` needs a value", word);
    if (optopt >= FIRST_LONG)
        return cli_usage_error(command, "`%.*s` takes no value", name, word);
    if (strncmp(word, "--", 2) == 0 && list_meant(line, word, &meant) > 1) {
        const int status = cli_usage_error(command, "`%.*s` may be %s", name, word, meant.data);
        free(meant.data);
        return status;
    }
    free(meant.data);
    if (strncmp(word, "--", 2) == 0)
        return cli_unknown_option(line, word);
    return cli_usage_error(command, "`linnet %s` has no option `-%c`", command->name, optopt);
}

/* What the environment says, unless a flag said it already. */
static int apply_environment(const cli_reading *line, cli_request *request)
{
    const cli_command *command = line->command;
    linnet_error err;
    const char *directory = getenv("LINNET_STD");
    const char *workspace = getenv("CUBLAS_WORKSPACE_CONFIG");
    if (directory != NULL && directory[0] != '\0' && !given(line, "std") &&
        linnet_config_set_std_directory(request->config, directory, &err) != LINNET_OK)
        return cli_fail(&err);
    if (workspace != NULL && workspace[0] != '\0' && (command->bit & SIZED) != 0 &&
        linnet_config_set_cublas_workspace(request->config, workspace, &err) != LINNET_OK)
        return cli_usage_error(command, "CUBLAS_WORKSPACE_CONFIG in the environment: %s",
                               err.message);
    return 0;
}

/* Pictures are of one report, and one of them at most takes its place. */
static linnet_status check_pictures(const cli_request *request, linnet_error *err)
{
    const bool draws = request->svg != NULL || request->html != NULL;
    if (draws && request->policy_count > 1)
        return cli_refuse_value(err, "--%s shows one policy, and --checkpoint gives %d",
                                request->svg != NULL ? "svg" : "html", request->policy_count);
    if (request->svg != NULL && request->html != NULL && strcmp(request->svg, request->html) == 0)
        return cli_refuse_value(err, "--svg and --html both go to `%s`", request->svg);
    return LINNET_OK;
}

/* An option that says how a step is trained says nothing without one. */
static linnet_status check_training(const cli_reading *line, linnet_error *err)
{
    static const char *const names[] = {
        "optimizer", "master-dtype",   "gradient-dtype",    "trainable", "checkpoint",
        "step",      "clip-grad-norm", "grad-accumulation", "lora",      "loss",
        "shards",    "zero",           "reshard",           "prefetch"
    };
    if (given(line, "training"))
        return LINNET_OK;
    for (int i = 0; i < line->option_count; i++)
        for (size_t k = 0; k < sizeof names / sizeof names[0] && line->seen[i] != NULL; k++)
            if (strcmp(line->options[i].name, names[k]) == 0)
                return cli_refuse_value(err, "%s%s is about training, and %straining is missing",
                                        line->mark, names[k], line->mark);
    return LINNET_OK;
}

/* Nor does one that says what shards do, unless a search looks for their number. */
static linnet_status check_shards(const cli_reading *line, const cli_request *request,
                                  linnet_error *err)
{
    static const char *const names[] = { "zero", "reshard", "prefetch" };
    if (given(line, "shards") || (line->command->bit == CMD_FIT && cli_wants_layouts(request)))
        return LINNET_OK;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (given(line, names[i]))
            return cli_refuse_value(err,
                                    "%s%s is about shards, and their number, %sshards, is missing",
                                    line->mark, names[i], line->mark);
    return LINNET_OK;
}

/* What a command that takes sizes was asked, as a whole. */
static linnet_status check_sized(const cli_reading *line, const cli_request *request,
                                 linnet_error *err)
{
    linnet_status status = check_training(line, err);
    if (status == LINNET_OK)
        status = check_shards(line, request, err);
    if (status != LINNET_OK)
        return status;
    if (request->timeline && !request->json)
        return cli_refuse_value(err, "--timeline is part of the JSON, and --json is missing");
    if (request->must_fit && request->device == NULL && request->device_memory == 0 &&
        line->command->bit != CMD_COMPARE)
        return cli_refuse_value(err, line->command->bit == CMD_TIME
                                         ? "--must-fit needs --device"
                                         : "--must-fit needs --device or --device-memory");
    return check_pictures(request, err);
}

linnet_status cli_check_reading(const cli_reading *line, const cli_request *request,
                                linnet_error *err)
{
    if (request->backend_is_generic && request->has_context_bytes)
        return cli_refuse_value(
            err,
            "%scontext-bytes says the size of a CUDA context, and %sbackend generic "
            "has none",
            line->mark, line->mark);
    return !request->help && (line->command->bit & SIZED) != 0 ? check_sized(line, request, err)
                                                               : LINNET_OK;
}

/* 0, or the exit status after a message. */
static int read_options(cli_reading *line, int argc, char **argv, cli_request *request)
{
    struct option longs[CLI_MAX_OPTIONS + 1];
    int rows[CLI_MAX_OPTIONS], found;

    line->options = cli_options(&line->option_count);
    fill_getopt(line, longs, rows);
    opterr = 0;
    optind = 2;
    while ((found = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (found == 'h') {
            request->help = true;
            continue;
        }
        if (found < FIRST_LONG)
            return bad_option(line, argv, found);
        int status = apply_option(line, rows[found - FIRST_LONG], optarg, request);
        if (status != 0)
            return status;
    }
    request->words = (const char *const *)argv + optind;
    request->word_count = argc - optind;
    return 0;
}

int cli_parse(const cli_command *command, int argc, char **argv, cli_request *request)
{
    cli_reading line = { .command = command, .mark = "--" };
    linnet_error err;

    const int status = read_options(&line, argc, argv, request);
    if (status != 0)
        return status;
    if (cli_check_reading(&line, request, &err) != LINNET_OK)
        return cli_usage_error(command, "%s", err.message);
    request->strict |= strcmp(command->name, "lint") == 0;
    request->argc = argc;
    request->argv = argv;
    memcpy(request->given, line.seen, sizeof request->given);
    return request->help ? 0 : apply_environment(&line, request);
}

/* The device of a --with stands in place of a size, and the reverse. */
static void replace_device(const cli_reading *line, cli_request *request)
{
    if (given(line, "device") && !given(line, "device-memory"))
        request->device_memory = 0;
    if (given(line, "device-memory") && !given(line, "device"))
        request->device = NULL;
}

int cli_parse_with(const cli_command *command, int count, char **words, cli_request *request)
{
    cli_reading line = { .command = command, .mark = "--" };
    linnet_error err;

    const int status = read_options(&line, count, words, request);
    if (status != 0)
        return status;
    for (int i = 0; i < line.option_count; i++)
        if (line.seen[i] != NULL && cli_is_of_comparison(line.options[i].name))
            return cli_usage_error(command,
                                   "--%s is about the whole comparison: give it outside of --with",
                                   line.options[i].name);
    replace_device(&line, request);
    for (int i = 0; i < line.option_count; i++)
        if (line.seen[i] == NULL)
            line.seen[i] = request->given[i];
    if (cli_check_reading(&line, request, &err) != LINNET_OK)
        return cli_usage_error(command, "%s", err.message);
    return 0;
}
