/* SPDX-License-Identifier: MIT */

/* linnet sweep QUESTIONS.jsonl: one answer a line for one question a line, by threads of this
 * process and by other processes of the same job. */

#define _POSIX_C_SOURCE 200809L

#include "cli_sweep.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check(const cli_command *command, const cli_request *request)
{
    if (request->word_count != 1)
        return cli_usage_error(command, request->word_count == 0
                                            ? "a file of questions is missing, or `-`"
                                            : "one file of questions at a time");
    if (request->resume && request->output == NULL)
        return cli_usage_error(command, "--resume continues a file, and --output is missing");
    return EXIT_DONE;
}

/* What `linnet memory` and the others read there. */
static int read_environment(const cli_command *command, const cli_request *request,
                            sweep_settings *out)
{
    linnet_error err;
    const char *directory = getenv("LINNET_STD"), *workspace = getenv("CUBLAS_WORKSPACE_CONFIG");
    *out = (sweep_settings){ 0 };
    if (directory != NULL && directory[0] != '\0')
        out->std_directory = directory;
    if (workspace == NULL || workspace[0] == '\0')
        return EXIT_DONE;
    out->cublas_workspace = workspace;
    return linnet_config_set_cublas_workspace(request->config, workspace, &err) == LINNET_OK
               ? EXIT_DONE
               : cli_usage_error(command, "CUBLAS_WORKSPACE_CONFIG in the environment: %s",
                                 err.message);
}

static int open_both(const cli_request *request, sweep_input **out_input, sweep_output **out_output)
{
    const char *path = request->output;
    int status = sweep_input_open(request->words[0], out_input);
    if (status == EXIT_DONE && request->parts > 1)
        status = sweep_input_choose(*out_input, request->part, request->parts);
    if (path != NULL && strcmp(path, "-") == 0)
        path = NULL;
    if (status == EXIT_DONE)
        status = sweep_output_open(path, request->resume, *out_input, out_output);
    return status == EXIT_DONE ? sweep_output_catch_up(*out_output, *out_input) : status;
}

static void tell_interruption(const cli_request *request, int64_t written)
{
    if (request->output != NULL)
        fprintf(stderr, "linnet: interrupted after %lld answers: --resume continues %s\n",
                (long long)written, request->output);
}

/* Reads and writes; the threads and the other processes answer. */
static int lead(const cli_request *request, const sweep_settings *settings, int64_t threads,
                sweep_remote *remote)
{
    sweep_input *input = NULL;
    sweep_output *output = NULL;
    sweep_crew *crew = NULL;
    int64_t written = 0;
    sweep_signals_begin();
    int status = open_both(request, &input, &output);
    if (status == EXIT_DONE)
        status = sweep_crew_new(threads, settings, &crew);
    if (status == EXIT_DONE)
        status = sweep_run(input, output, crew, threads, remote, &written);
    const int closed = sweep_output_close(output);
    sweep_input_close(input);
    if (sweep_signals_pending())
        tell_interruption(request, written);
    sweep_signals_end(); /* a signal that came ends the process here, and others of its job */
    return status != EXIT_DONE ? status : closed;
}

static int follow(const sweep_settings *settings, int64_t threads, sweep_remote *remote)
{
    sweep_crew *crew = NULL;
    int status = sweep_crew_new(threads, settings, &crew);
    if (status == EXIT_DONE)
        status = sweep_remote_serve(remote, crew);
    sweep_crew_free(crew);
    return status;
}

int cli_run_sweep(cli_request *request)
{
    const cli_command *command = cli_find_command("sweep");
    const int64_t threads = request->threads > 0 ? request->threads : 1;
    sweep_settings settings;
    sweep_remote *remote = NULL;
    int status = check(command, request);
    if (status == EXIT_DONE)
        status = read_environment(command, request, &settings);
    if (status == EXIT_DONE)
        status = sweep_remote_open(&remote);
    if (status != EXIT_DONE)
        return status;
    json_object_seed(0); /* once, before there are threads */
    status = sweep_remote_is_first(remote) ? lead(request, &settings, threads, remote)
                                           : follow(&settings, threads, remote);
    sweep_remote_close(remote);
    return status;
}
