/* SPDX-License-Identifier: MIT */

/* linnet check PATH…: parse and check files; linnet lint is check --strict. */

#include "cli.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct check_state {
    const cli_request *request;
    linnet_diagnostics **lists; /* one a file with findings */
    uint64_t count, errors, warnings;
} check_state;

static int keep(check_state *state, linnet_diagnostics *take_list)
{
    linnet_diagnostics **lists = realloc(state->lists, (size_t)(state->count + 1) * sizeof *lists);
    if (lists == NULL) {
        linnet_diagnostics_free(take_list);
        return cli_fail_memory();
    }
    state->lists = lists;
    state->lists[state->count++] = take_list;
    state->errors += linnet_diagnostics_error_count(take_list);
    state->warnings += linnet_diagnostics_warning_count(take_list);
    return EXIT_DONE;
}

static int check_file(check_state *state, const char *path)
{
    linnet_model *model = NULL;
    linnet_diagnostics *list = NULL;
    linnet_error err;
    if (linnet_diagnostics_new(&list, &err) != LINNET_OK)
        return cli_fail(&err);
    linnet_status status = linnet_model_open(state->request->config, path, list, &model, &err);
    linnet_model_unref(model);
    if (status != LINNET_OK && status != LINNET_ERROR_SOURCE) {
        linnet_diagnostics_free(list);
        return cli_fail(&err);
    }
    return keep(state, list);
}

static int check_path(check_state *state, const char *path)
{
    char **files = NULL;
    int count = 0, status = cli_find_files(path, &files, &count);
    if (status == 0 && count == 0) {
        fprintf(stderr, "linnet: %s: no .linnet file below this folder\n", path);
        status = EXIT_INPUT;
    }
    for (int i = 0; i < count && status == 0; i++)
        status = check_file(state, files[i]);
    for (int i = 0; i < count; i++)
        free(files[i]);
    free(files);
    return status;
}

static int print_json(const check_state *state)
{
    linnet_text *text;
    linnet_error err;
    if (linnet_diagnostics_to_json((const linnet_diagnostics *const *)state->lists, state->count,
                                   &text, &err) != LINNET_OK)
        return cli_fail(&err);
    return cli_print_text(text);
}

static void print_text(const check_state *state)
{
    bool first = true;
    for (uint64_t i = 0; i < state->count; i++) {
        if (linnet_diagnostics_count(state->lists[i]) == 0)
            continue;
        if (!first)
            fputc('\n', stderr);
        cli_print_diagnostics(state->request, state->lists[i]);
        first = false;
    }
}

int cli_run_check(cli_request *request)
{
    check_state state = { .request = request };
    int status = EXIT_DONE;
    if (request->word_count == 0)
        return cli_usage_error(cli_find_command("check"), "a file or folder is missing");
    for (int i = 0; i < request->word_count && status == EXIT_DONE; i++)
        status = check_path(&state, request->words[i]);
    if (status == EXIT_DONE && request->json)
        status = print_json(&state);
    else if (status == EXIT_DONE)
        print_text(&state);
    if (status == EXIT_DONE && (state.errors > 0 || (request->strict && state.warnings > 0)))
        status = EXIT_ANSWER_IS_NO;
    for (uint64_t i = 0; i < state.count; i++)
        linnet_diagnostics_free(state.lists[i]);
    free(state.lists);
    return status;
}
