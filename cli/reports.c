/* SPDX-License-Identifier: MIT */

/* What `memory` and `time` print: one report, or one for each checkpointing policy, in text under a
 * heading, in JSON as the elements of an array. */

#include "cli.h"
#include <stdlib.h>
#include <string.h>

/* "Checkpointing: layers.*, norm" */
static void add_policy(cli_buffer *out, const char *policy)
{
    cli_add(out, "Checkpointing: ");
    for (const char *at = policy; *at != '\0'; at++)
        cli_add(out, *at == ',' && at[1] != ' ' ? ", " : "%c", *at);
    cli_add(out, "\n");
}

/* A document as an element of an array: two more blanks before each line. */
static void add_element(cli_buffer *out, const char *document)
{
    for (const char *line = document; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        cli_add(out, "%s  %.*s", line == document ? "" : "\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static int compare_policies(const cli_request *request, const linnet_model *model,
                            const linnet_device *device, cli_report_fn report)
{
    cli_buffer out = { 0 };
    cli_add(&out, "%s", request->json ? "[\n" : "");
    for (int i = 0; i < request->policy_count; i++) {
        linnet_text *text = NULL;
        linnet_error err;
        if (linnet_config_set_checkpoint(request->config, request->policies[i], &err) !=
                LINNET_OK ||
            report(request, model, device, &text, &err) != LINNET_OK) {
            free(out.data);
            return cli_fail(&err);
        }
        if (request->json) {
            add_element(&out, linnet_text_data(text));
            cli_add(&out, i + 1 < request->policy_count ? ",\n" : "\n]\n");
        } else {
            cli_add(&out, i > 0 ? "\n" : "");
            add_policy(&out, request->policies[i]);
            cli_add(&out, "%s", linnet_text_data(text));
        }
        linnet_text_free(text);
    }
    return cli_print_buffer(&out);
}

int cli_print_reports(const cli_request *request, const linnet_model *model,
                      const linnet_device *device, cli_report_fn report)
{
    linnet_text *text = NULL;
    linnet_error err;
    if (request->policy_count > 1)
        return compare_policies(request, model, device, report);
    if (report(request, model, device, &text, &err) != LINNET_OK)
        return cli_fail(&err);
    return cli_print_text(text);
}
