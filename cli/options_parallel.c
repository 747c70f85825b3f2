/* SPDX-License-Identifier: MIT */

/* Options about several devices; their rows stand in options.c. */

#include "cli.h"

/* A setter that takes a whole number, and how an option calls it. */
#define WHOLE(option)                                                                          \
    linnet_status cli_set_##option(cli_request *request, const char *value, linnet_error *err) \
    {                                                                                          \
        int64_t number;                                                                        \
        const linnet_status status = cli_read_integer(value, &number, err);                    \
        return status == LINNET_OK ? linnet_config_set_##option(request->config, number, err)  \
                                   : status;                                                   \
    }

WHOLE(tensor_parallel)
WHOLE(context_parallel)
WHOLE(expert_parallel)
WHOLE(pipeline_parallel)
WHOLE(shards)
WHOLE(replicas)
WHOLE(devices)
WHOLE(zero)
WHOLE(prefetch)

linnet_status cli_set_sequence_parallel(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    return linnet_config_set_sequence_parallel(request->config, 1, err);
}

linnet_status cli_set_context_exchange(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_context_exchange(request->config, value, err);
}

linnet_status cli_set_reshard(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_reshard(request->config, value, err);
}

linnet_status cli_set_order(cli_request *request, const char *value, linnet_error *err)
{
    (void)err;
    request->order = value;
    return LINNET_OK;
}
