/* SPDX-License-Identifier: MIT */

/* linnet fit MODEL --maximize WHAT: the largest batch, context or cache that fits a device. */

#include "cli.h"
#include <stdio.h>
#include <string.h>

static int check(const cli_command *command, const cli_request *request)
{
    const int status = cli_check_model_word(command, request);
    if (status != EXIT_DONE)
        return status;
    if (request->maximize == NULL)
        return cli_usage_error(command, "--maximize is missing: batch, context, kv-cache or "
                                        "throughput; or --advise");
    if (request->layouts_option != NULL || request->threads > 0)
        return cli_usage_error(command, "--%s is about --maximize throughput, not %s",
                               request->layouts_option != NULL ? request->layouts_option
                                                               : "threads",
                               request->maximize);
    if (request->device == NULL && request->device_memory == 0)
        return cli_usage_error(command, "--device-memory is missing, or --device: a name that "
                                        "`linnet devices` lists, or a profile file");
    return EXIT_DONE;
}

static int64_t weight_bytes(const linnet_analysis *analysis)
{
    int64_t bytes = 0;
    for (uint64_t i = 0; i < linnet_analysis_component_count(analysis); i++)
        if (strcmp(linnet_analysis_component_category(analysis, i), "parameters") == 0)
            bytes += linnet_analysis_component_bytes(analysis, i);
    return bytes;
}

/* No size helps where the weights alone are too many. */
static void tell_weights(const linnet_fit *fit)
{
    const linnet_analysis *analysis = linnet_fit_analysis(fit);
    const int64_t weights = analysis != NULL ? weight_bytes(analysis) : 0;
    const int64_t over = weights - linnet_fit_budget_bytes(fit);
    if (linnet_fit_value(fit) == 0 && over > 0)
        fprintf(stderr, "linnet: the weights alone need %lld bytes, %lld more than the budget\n",
                (long long)weights, (long long)over);
}

/* The pictures are of the configuration at the size that was found. */
static int draw(const cli_request *request, const linnet_model *model, const linnet_fit *fit)
{
    const int64_t value = linnet_fit_value(fit);
    linnet_error err;
    linnet_status (*set)(linnet_config *, int64_t, linnet_error *) =
        strcmp(request->maximize, "batch") == 0     ? linnet_config_set_batch
        : strcmp(request->maximize, "context") == 0 ? linnet_config_set_context
                                                    : linnet_config_set_cache;
    if ((request->svg == NULL && request->html == NULL) || value == 0)
        return EXIT_DONE;
    if (set(request->config, value, &err) != LINNET_OK)
        return cli_fail(&err);
    return cli_draw_pictures(request, model);
}

static int print(const cli_request *request, const linnet_fit *fit)
{
    linnet_text *text = NULL;
    linnet_error err;
    const linnet_status status =
        (request->json ? linnet_fit_to_json : linnet_fit_to_text)(fit, request->top, &text, &err);
    return status == LINNET_OK ? cli_print_text(text) : cli_fail(&err);
}

static int search(const cli_request *request, const linnet_model *model)
{
    linnet_fit *fit = NULL;
    linnet_error err;
    int64_t budget;
    if (linnet_fit_budget(request->device_memory, request->reserve, request->reserve_thousandths,
                          &budget, &err) != LINNET_OK ||
        linnet_fit_new(model, request->config, request->maximize, budget, &fit, &err) != LINNET_OK)
        return cli_fail(&err);
    const bool found = linnet_fit_value(fit) > 0;
    int status = draw(request, model, fit);
    if (status == EXIT_DONE && !(found && cli_picture_takes_place(request)))
        status = print(request, fit);
    tell_weights(fit);
    linnet_fit_unref(fit);
    return status == EXIT_DONE && !found ? EXIT_ANSWER_IS_NO : status;
}

int cli_run_fit(cli_request *request)
{
    const cli_command *command = cli_find_command("fit");
    linnet_model *model = NULL;
    linnet_error err;
    if (request->advise && (request->layouts_option != NULL || request->devices_needed > 0))
        return cli_usage_error(command, "--%s is about --maximize throughput, not --advise",
                               request->layouts_option != NULL ? request->layouts_option
                                                               : "devices-needed");
    if (request->advise)
        return cli_run_advise(request);
    if (cli_wants_layouts(request))
        return cli_fit_layouts(command, request);
    int status = check(command, request);
    if (status == EXIT_DONE)
        status = cli_find_device_memory(command, request);
    if (status != EXIT_DONE)
        return status;
    if (request->policy_count > 0 &&
        linnet_config_set_checkpoint(request->config, request->policies[0], &err) != LINNET_OK)
        return cli_fail(&err);
    status = cli_open_model(request, request->words[0], NULL, &model);
    if (status == EXIT_DONE)
        status = search(request, model);
    linnet_model_unref(model);
    return status;
}
