/* SPDX-License-Identifier: MIT */

/* linnet layout: which ranks form which group. */

#include "cli.h"

int cli_run_layout(cli_request *request)
{
    linnet_layout *layout = NULL;
    linnet_text *text = NULL;
    linnet_error err;
    if (request->word_count != 0)
        return cli_usage_error(cli_find_command("layout"),
                               "`%s` is not an option: a layout needs "
                               "degrees and no model",
                               request->words[0]);
    linnet_status status = linnet_layout_new(request->config, request->order, &layout, &err);
    if (status == LINNET_OK)
        status = request->json ? linnet_layout_to_json(layout, &text, &err)
                               : linnet_layout_to_text(layout, &text, &err);
    linnet_layout_free(layout);
    if (status == LINNET_ERROR_ARGUMENT)
        return cli_usage_error(cli_find_command("layout"), "%s", err.message);
    return status == LINNET_OK ? cli_print_text(text) : cli_fail(&err);
}
