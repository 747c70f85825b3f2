/* SPDX-License-Identifier: MIT */

/* Options of a search of layouts; their rows stand in options.c. */

#include "cli.h"

/* Without a number, --devices-needed looks at so many. */
enum { MOST_DEVICES = 1024, LARGEST_JOB = 1 << 20 };

/* One that says nothing where a size is searched for. */
static void note(cli_request *request, const char *option)
{
    if (request->layouts_option == NULL)
        request->layouts_option = option;
}

linnet_status cli_set_global_batch(cli_request *request, const char *value, linnet_error *err)
{
    int64_t number;
    const linnet_status status = cli_read_integer(value, &number, err);
    note(request, "global-batch");
    return status == LINNET_OK ? linnet_config_set_global_batch(request->config, number, err)
                               : status;
}

linnet_status cli_set_limit(cli_request *request, const char *value, linnet_error *err)
{
    int64_t number;
    const linnet_status status = cli_read_integer(value, &number, err);
    note(request, "limit");
    return status == LINNET_OK ? linnet_config_set_limit(request->config, number, err) : status;
}

linnet_status cli_set_explain(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    note(request, "explain");
    return linnet_config_set_explain(request->config, 1, err);
}

linnet_status cli_set_devices_needed(cli_request *request, const char *value, linnet_error *err)
{
    request->devices_needed = MOST_DEVICES;
    if (value == NULL)
        return LINNET_OK;
    const linnet_status status = cli_read_integer(value, &request->devices_needed, err);
    if (status == LINNET_OK &&
        (request->devices_needed < 1 || request->devices_needed > LARGEST_JOB))
        return cli_refuse_value(err, "`%s` is no number of devices: 1 to %d", value,
                                (int)LARGEST_JOB);
    return status;
}

linnet_status cli_set_tokens_per_second(cli_request *request, const char *value, linnet_error *err)
{
    const linnet_status status = cli_read_integer(value, &request->tokens_per_second, err);
    note(request, "tokens-per-second");
    if (status == LINNET_OK && request->tokens_per_second < 1)
        return cli_refuse_value(err, "`%s` is no rate: it must be at least 1", value);
    return status;
}
