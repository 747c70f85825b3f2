/* SPDX-License-Identifier: MIT */

/* linnet memory MODEL: the memory one configuration needs. */

#include "cli.h"

int cli_run_memory(cli_request *request)
{
    linnet_model *model = NULL;
    linnet_analysis *analysis = NULL;
    linnet_text *text = NULL;
    linnet_error err;

    if (request->word_count != 1)
        return cli_usage_error(cli_find_command("memory"),
                               request->word_count == 0
                                   ? "a model is missing: a name, a .linnet file or a directory"
                                   : "one model at a time");
    int status = cli_open_model(request, request->words[0], NULL, &model);
    if (status != EXIT_DONE)
        return status;
    if (linnet_analysis_new(model, request->config, &analysis, &err) != LINNET_OK ||
        (request->json ? linnet_analysis_to_json(analysis, request->top, &text, &err)
                       : linnet_analysis_to_text(analysis, request->top, &text, &err)) != LINNET_OK)
        status = cli_fail(&err);
    else
        status = cli_print_text(text);
    linnet_analysis_unref(analysis);
    linnet_model_unref(model);
    return status;
}
