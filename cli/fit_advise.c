/* SPDX-License-Identifier: MIT */

/* linnet fit MODEL --advise: the cheapest changes that make the configuration fit. */

#include "cli.h"

linnet_status cli_set_advise(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    (void)err;
    request->advise = true;
    return LINNET_OK;
}

static int check(const cli_command *command, const cli_request *request)
{
    const int status = cli_check_model_word(command, request);
    if (status != EXIT_DONE)
        return status;
    if (request->maximize != NULL)
        return cli_usage_error(command, "--maximize searches for a size, --advise for changes at "
                                        "the sizes that are given: one of them");
    if (request->svg != NULL || request->html != NULL || request->timeline || request->top > 0)
        return cli_usage_error(command, "--advise has neither pictures nor a timeline nor a list "
                                        "of tensors: `linnet memory` has them");
    if (request->device == NULL && request->device_memory == 0)
        return cli_usage_error(command, "--device-memory is missing, or --device: a name that "
                                        "`linnet devices` lists, or a profile file");
    if (request->device != NULL && request->device_memory > 0)
        return cli_usage_error(command, "--device and --device-memory both say how much memory a "
                                        "device has");
    return EXIT_DONE;
}

static int print(const cli_request *request, const linnet_advice *advice)
{
    linnet_text *text = NULL;
    linnet_error err;
    const linnet_status status =
        (request->json ? linnet_advice_to_json : linnet_advice_to_text)(advice, &text, &err);
    return status == LINNET_OK ? cli_print_text(text) : cli_fail(&err);
}

static int advise(const cli_request *request, const linnet_model *model,
                  const linnet_device *device)
{
    const int64_t memory = device != NULL ? linnet_device_memory(device) : request->device_memory;
    linnet_advice *advice = NULL;
    linnet_error err;
    int64_t budget;
    if (linnet_fit_budget(memory, request->reserve, request->reserve_thousandths, &budget, &err) !=
            LINNET_OK ||
        linnet_advice_new(model, request->config, device, budget, &advice, &err) != LINNET_OK)
        return cli_fail(&err);
    const bool can_fit = linnet_advice_can_fit(advice) == 1;
    const int status = print(request, advice);
    linnet_advice_unref(advice);
    return status == EXIT_DONE && !can_fit ? EXIT_ANSWER_IS_NO : status;
}

int cli_run_advise(cli_request *request)
{
    linnet_model *model = NULL;
    linnet_device *device = NULL;
    linnet_error err;
    int status = check(cli_find_command("fit"), request);
    if (status != EXIT_DONE)
        return status;
    if (request->policy_count > 0 &&
        linnet_config_set_checkpoint(request->config, request->policies[0], &err) != LINNET_OK)
        return cli_fail(&err);
    if (request->device != NULL &&
        linnet_device_open(request->config, request->device, &device, &err) != LINNET_OK)
        return cli_fail(&err);
    status = cli_open_model(request, request->words[0], NULL, &model);
    if (status == EXIT_DONE)
        status = advise(request, model, device);
    linnet_model_unref(model);
    linnet_device_unref(device);
    return status;
}
