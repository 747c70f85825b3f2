/* SPDX-License-Identifier: MIT */

/* linnet time MODEL --device NAME: how long one step takes there; with several checkpointing
 * policies, one report each. */

#include "cli.h"
#include <string.h>

static linnet_status report(const cli_request *request, const linnet_model *model,
                            const linnet_device *device, linnet_text **out_text, linnet_error *err)
{
    linnet_timing *timing = NULL;
    linnet_status status = linnet_timing_new(model, request->config, device, &timing, err);
    if (status != LINNET_OK)
        return status;
    status = (request->json ? linnet_timing_to_json : linnet_timing_to_text)(timing, out_text, err);
    if (request->out_of_memory != NULL && strcmp(linnet_timing_verdict(timing), "OOM") == 0)
        *request->out_of_memory = true;
    linnet_timing_unref(timing);
    return status;
}

int cli_run_time(cli_request *request)
{
    const cli_command *command = cli_find_command("time");
    linnet_model *model = NULL;
    linnet_device *device = NULL;
    linnet_error err;
    bool out_of_memory = false;
    int status = cli_check_model_word(command, request);
    if (status != EXIT_DONE)
        return status;
    if (request->device == NULL)
        return cli_usage_error(command, "--device is missing: a name that `linnet devices` lists, "
                                        "or a profile file");
    if (linnet_device_open(request->config, request->device, &device, &err) != LINNET_OK)
        return cli_fail(&err);
    request->out_of_memory = &out_of_memory;
    status = cli_open_model(request, request->words[0], NULL, &model);
    if (status == EXIT_DONE)
        status = cli_print_reports(request, model, device, report);
    linnet_model_unref(model);
    linnet_device_unref(device);
    request->out_of_memory = NULL;
    return status == EXIT_DONE && request->must_fit && out_of_memory ? EXIT_ANSWER_IS_NO : status;
}
