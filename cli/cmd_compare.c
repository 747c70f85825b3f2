/* SPDX-License-Identifier: MIT */

/* linnet compare: documents that --json printed, or several configurations of a model, side by
 * side. Of a model, the first configuration is what the options say; each --with is read again onto
 * these options, so that it names only what it changes. */

#define _POSIX_C_SOURCE 200809L

#include "cli.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DOCUMENT_BYTES = 16 << 20 };

/* ---- documents ---- */

static int fail_file(const char *path, const char *why)
{
    fprintf(stderr, "linnet: %s: %s\n", path, why);
    return EXIT_INPUT;
}

/* A file's text, or that of standard input; an exit status. The text is the caller's to free. */
static int read_file(const char *path, char **out_text, size_t *out_length)
{
    const bool is_input = strcmp(path, "-") == 0;
    FILE *file = is_input ? stdin : fopen(path, "rb");
    if (file == NULL && errno == ENOENT)
        return fail_file(path,
                         "no such document; of a model, give other configurations with --with");
    if (file == NULL)
        return fail_file(path, strerror(errno));
    char *text = malloc(MAX_DOCUMENT_BYTES + 1);
    const size_t length = text != NULL ? fread(text, 1, MAX_DOCUMENT_BYTES + 1, file) : 0;
    const int reason = ferror(file) ? errno : 0;
    if (!is_input)
        fclose(file);
    int status = EXIT_DONE;
    if (text == NULL)
        status = cli_fail_memory();
    else if (reason != 0)
        status = fail_file(path, strerror(reason));
    else if (length > MAX_DOCUMENT_BYTES)
        status = fail_file(path, "larger than 16 MiB");
    if (status != EXIT_DONE) {
        free(text);
        return status;
    }
    *out_text = text;
    *out_length = length;
    return EXIT_DONE;
}

static int add_file(linnet_comparison *comparison, const char *path)
{
    const bool is_input = strcmp(path, "-") == 0;
    char *text;
    size_t length;
    linnet_error err;
    int status = read_file(path, &text, &length);
    if (status != EXIT_DONE)
        return status;
    if (linnet_comparison_add_json(comparison, text, length, is_input ? "<stdin>" : path, &err) !=
        LINNET_OK)
        status = cli_fail(&err);
    free(text);
    return status;
}

/* What says how a model runs says nothing of a document. */
static int check_documents(const cli_command *command, const cli_request *request)
{
    int count;
    const cli_option *options = cli_options(&count);
    if (request->word_count == 0)
        return cli_usage_error(command, "documents that `linnet memory`, `linnet time` or `linnet "
                                        "fit` printed with --json, or a model and --with, are "
                                        "missing");
    for (int i = 0; i < count; i++)
        if (request->given[i] != NULL && !cli_is_of_comparison(options[i].name))
            return cli_usage_error(command,
                                   "--%s says how a model runs: without --with, documents are "
                                   "compared, which say it themselves",
                                   options[i].name);
    return EXIT_DONE;
}

static int add_documents(const cli_command *command, const cli_request *request,
                         linnet_comparison *comparison)
{
    int status = check_documents(command, request);
    for (int i = 0; i < request->word_count && status == EXIT_DONE; i++)
        status = add_file(comparison, request->words[i]);
    if (status == EXIT_DONE && linnet_comparison_column_count(comparison) < 2)
        return cli_usage_error(command,
                               "`%s` is one configuration, with nothing to compare it to: "
                               "give a second document, or a model with --with",
                               request->words[0]);
    return status;
}

/* ---- configurations of a model ---- */

/* A step that is not modelled has no time; the others have. */
static int time_step(const cli_request *request, const linnet_model *model, const char *label,
                     linnet_timing **out_timing)
{
    linnet_device *device = NULL;
    linnet_error err;
    if (request->device == NULL)
        return EXIT_DONE;
    if (linnet_device_open(request->config, request->device, &device, &err) != LINNET_OK)
        return cli_fail(&err);
    const linnet_status status =
        linnet_timing_new(model, request->config, device, out_timing, &err);
    linnet_device_unref(device);
    if (status == LINNET_OK)
        return EXIT_DONE;
    if (status != LINNET_ERROR_UNSUPPORTED)
        return cli_fail(&err);
    fprintf(stderr, "linnet: %s: no step time: %s\n", label, err.message);
    return EXIT_DONE;
}

static int analyse(const cli_request *request, const linnet_model *model, const char *label,
                   linnet_comparison *comparison)
{
    linnet_analysis *analysis = NULL;
    linnet_timing *timing = NULL;
    linnet_error err;
    if (linnet_analysis_new(model, request->config, &analysis, &err) != LINNET_OK)
        return cli_fail(&err);
    int status = time_step(request, model, label, &timing);
    if (status == EXIT_DONE &&
        linnet_comparison_add_analysis(comparison, analysis, timing, label, &err) != LINNET_OK)
        status = cli_fail(&err);
    linnet_timing_unref(timing);
    linnet_analysis_unref(analysis);
    return status;
}

static int add_configuration(const cli_command *command, cli_request *request, const char *name,
                             const char *label, linnet_comparison *comparison)
{
    linnet_model *model = NULL;
    linnet_error err;
    int status = cli_find_device_memory(command, request);
    if (status != EXIT_DONE)
        return status;
    if (linnet_config_set_device_memory(request->config, request->device_memory, &err) != LINNET_OK)
        return cli_fail(&err);
    status = cli_open_model(request, name, NULL, &model);
    if (status == EXIT_DONE)
        status = analyse(request, model, label, comparison);
    linnet_model_unref(model);
    return status;
}

/* The words of a --with: options onto `request`, and perhaps another model. */
static int read_with(const cli_command *command, cli_request *request, const char *with, char *text,
                     char **words, const char **name)
{
    enum { FIRST = 2 }; /* as in argv: the program, the command */
    int count;
    const int policies = request->policy_count;
    words[0] = words[1] = text;
    if (!cli_split_words(text, words + FIRST, &count))
        return cli_usage_error(command, "--with: a quote is not closed in `%s`", with);
    words[FIRST + count] = NULL;
    const int status = cli_parse_with(command, FIRST + count, words, request);
    if (status != 0)
        return status;
    if (request->policy_count > policies + 1)
        return cli_usage_error(command, "--with: one --checkpoint a configuration, in `%s`", with);
    if (request->word_count > 1)
        return cli_usage_error(command, "--with: one model a configuration, in `%s`", with);
    if (request->word_count == 1)
        *name = request->words[0];
    return EXIT_DONE;
}

/* The command line once more into a config of its own, then the --with onto it. */
static int add_with(const cli_command *command, const cli_request *base, const char *name,
                    const char *with, linnet_comparison *comparison)
{
    cli_request request = { 0 };
    linnet_error err;
    const size_t length = strlen(with);
    char *text = malloc(length + 1);
    char **words = calloc(length / 2 + 4, sizeof *words);
    int status = text != NULL && words != NULL ? EXIT_DONE : cli_fail_memory();
    if (status == EXIT_DONE && linnet_config_new(&request.config, &err) != LINNET_OK)
        status = cli_fail(&err);
    if (status == EXIT_DONE) {
        memcpy(text, with, length + 1);
        status = cli_parse(command, base->argc, base->argv, &request);
    }
    if (status == EXIT_DONE)
        status = read_with(command, &request, with, text, words, &name);
    if (status == EXIT_DONE)
        status = add_configuration(command, &request, name, with, comparison);
    linnet_config_free(request.config);
    free(words);
    free(text);
    return status;
}

static int add_configurations(const cli_command *command, cli_request *request,
                              linnet_comparison *comparison)
{
    if (request->word_count != 1)
        return cli_usage_error(command,
                               request->word_count == 0
                                   ? "a model is missing: a name, a .linnet file or a directory"
                                   : "--with is about one model; another one is a word of --with");
    if (request->policy_count > 1)
        return cli_usage_error(command, "--checkpoint is given more than once: each configuration "
                                        "has one, and --with another");
    const char *name = request->words[0];
    int status = add_configuration(command, request, name, name, comparison);
    for (int i = 0; i < request->with_count && status == EXIT_DONE; i++)
        status = add_with(command, request, name, request->with[i], comparison);
    return status;
}

/* ---- the answer ---- */

static int print(const cli_request *request, const linnet_comparison *comparison)
{
    linnet_text *text = NULL;
    linnet_error err;
    const linnet_status status =
        request->json ? linnet_comparison_to_json(comparison, &text, &err)
                      : linnet_comparison_to_text(comparison, request->all, &text, &err);
    return status == LINNET_OK ? cli_print_text(text) : cli_fail(&err);
}

/* --must-fit: some configuration does not. */
static int judge(const cli_command *command, const linnet_comparison *comparison)
{
    bool known = false, fits = true;
    for (uint64_t i = 0; i < linnet_comparison_column_count(comparison); i++) {
        const char *verdict = linnet_comparison_column_verdict(comparison, i);
        known |= verdict != NULL;
        fits &= verdict == NULL || strcmp(verdict, "OOM") != 0;
    }
    if (!known)
        return cli_usage_error(command, "--must-fit needs --device or --device-memory, with the "
                                        "model or when the documents were printed");
    return fits ? EXIT_DONE : EXIT_ANSWER_IS_NO;
}

int cli_run_compare(cli_request *request)
{
    const cli_command *command = cli_find_command("compare");
    linnet_comparison *comparison = NULL;
    linnet_error err;
    if (linnet_comparison_new(request->config, &comparison, &err) != LINNET_OK)
        return cli_fail(&err);
    int status = request->with_count > 0 ? add_configurations(command, request, comparison)
                                         : add_documents(command, request, comparison);
    int verdict = EXIT_DONE;
    if (status == EXIT_DONE && request->must_fit)
        verdict = judge(command, comparison);
    if (status == EXIT_DONE && verdict != EXIT_USAGE)
        status = print(request, comparison);
    linnet_comparison_free(comparison);
    return status == EXIT_DONE ? verdict : status;
}
