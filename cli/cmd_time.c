/* SPDX-License-Identifier: MIT */

/* linnet time MODEL --device NAME: how long one step takes there; with several checkpointing
 * policies, one report each. */

#include "cli.h"
#include <stdlib.h>
#include <string.h>

static linnet_status render(const cli_request *request, const linnet_model *model,
                            const linnet_device *device, linnet_text **out_text, linnet_error *err)
{
    linnet_timing *timing = NULL;
    linnet_status status = linnet_timing_new(model, request->config, device, &timing, err);
    if (status != LINNET_OK)
        return status;
    status = (request->json ? linnet_timing_to_json : linnet_timing_to_text)(timing, out_text, err);
    linnet_timing_unref(timing);
    return status;
}

static int print_one(const cli_request *request, const linnet_model *model,
                     const linnet_device *device)
{
    linnet_text *text = NULL;
    linnet_error err;
    if (render(request, model, device, &text, &err) != LINNET_OK)
        return cli_fail(&err);
    return cli_print_text(text);
}

static void add_policy_head(cli_buffer *out, const char *policy)
{
    cli_add(out, "Checkpointing: ");
    for (const char *at = policy; *at != '\0'; at++)
        cli_add(out, *at == ',' && at[1] != ' ' ? ", " : "%c", *at);
    cli_add(out, "\n");
}

/* A document as an element of an array: two more blanks before each line. */
static void add_indented(cli_buffer *out, const char *document)
{
    for (const char *line = document; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        cli_add(out, "%s  %.*s", line == document ? "" : "\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static int compare_policies(const cli_request *request, const linnet_model *model,
                            const linnet_device *device)
{
    cli_buffer out = { 0 };
    cli_add(&out, "%s", request->json ? "[\n" : "");
    for (int i = 0; i < request->policy_count; i++) {
        linnet_text *text = NULL;
        linnet_error err;
        if (linnet_config_set_checkpoint(request->config, request->policies[i], &err) !=
                LINNET_OK ||
            render(request, model, device, &text, &err) != LINNET_OK) {
            free(out.data);
            return cli_fail(&err);
        }
        if (request->json) {
            add_indented(&out, linnet_text_data(text));
            cli_add(&out, i + 1 < request->policy_count ? ",\n" : "\n]\n");
        } else {
            cli_add(&out, i > 0 ? "\n" : "");
            add_policy_head(&out, request->policies[i]);
            cli_add(&out, "%s", linnet_text_data(text));
        }
        linnet_text_free(text);
    }
    return cli_print_buffer(&out);
}

int cli_run_time(cli_request *request)
{
    const cli_command *command = cli_find_command("time");
    linnet_model *model = NULL;
    linnet_device *device = NULL;
    linnet_error err;
    if (request->word_count != 1)
        return cli_usage_error(command,
                               request->word_count == 0
                                   ? "a model is missing: a name, a .linnet file or a directory"
                                   : "one model at a time");
    if (request->device == NULL)
        return cli_usage_error(command, "--device is missing: a name that `linnet devices` lists, "
                                        "or a profile file");
    if (linnet_device_open(request->config, request->device, &device, &err) != LINNET_OK)
        return cli_fail(&err);
    int status = cli_open_model(request, request->words[0], NULL, &model);
    if (status == EXIT_DONE)
        status = request->policy_count > 1 ? compare_policies(request, model, device)
                                           : print_one(request, model, device);
    linnet_model_unref(model);
    linnet_device_unref(device);
    return status;
}
