/* SPDX-License-Identifier: MIT */

/* Options about what fits; their rows stand in options.c. */

#include "cli.h"
#include <string.h>

linnet_status cli_set_maximize(cli_request *request, const char *value, linnet_error *err)
{
    static const char *const targets[] = { "batch", "context", "kv-cache", "throughput" };
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        if (strcmp(value, targets[i]) == 0) {
            request->maximize = value;
            return LINNET_OK;
        }
    }
    return cli_refuse_value(err, "batch, context, kv-cache or throughput, not `%s`", value);
}

linnet_status cli_set_reserve(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_parse_size(value, &request->reserve, err);
}

/* What is too much is refused with the device's size known. */
linnet_status cli_set_reserve_percent(cli_request *request, const char *value, linnet_error *err)
{
    int64_t thousandths;
    if (!cli_read_thousandths(value, &thousandths))
        return cli_refuse_value(err, "`%s` is no percentage such as 2.5", value);
    request->reserve_thousandths = thousandths;
    return LINNET_OK;
}

linnet_status cli_set_must_fit(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    (void)err;
    request->must_fit = true;
    return LINNET_OK;
}

int cli_find_device_memory(const cli_command *command, cli_request *request)
{
    linnet_device *device = NULL;
    linnet_error err;
    if (request->device == NULL && request->stages_by_time)
        return cli_usage_error(command, "--stages-by time needs --device: a name that "
                                        "`linnet devices` lists, or a profile file");
    if (request->device == NULL)
        return EXIT_DONE;
    if (request->device_memory > 0)
        return cli_usage_error(command, "--device and --device-memory both say how much memory a "
                                        "device has");
    if (linnet_device_open(request->config, request->device, &device, &err) != LINNET_OK)
        return cli_fail(&err);
    request->device_memory = linnet_device_memory(device);
    const linnet_status status = linnet_config_set_device(request->config, device, &err);
    linnet_device_unref(device);
    return status == LINNET_OK ? EXIT_DONE : cli_fail(&err);
}
