/* SPDX-License-Identifier: MIT */

/* Options of a pipeline; their rows stand in options.c. */

#define _POSIX_C_SOURCE 200809L

#include "cli.h"
#include <string.h>
#include <sys/stat.h>

enum { MAX_SCHEDULE_BYTES = 256 << 20 };

/* A schedule's own limit, whatever models may have. */
static linnet_status read_schedule(const char *path, linnet_text **out_text, linnet_error *err)
{
    linnet_config *config = NULL;
    linnet_schedule *schedule = NULL;
    linnet_status status = linnet_config_new(&config, err);
    if (status == LINNET_OK)
        status = linnet_config_set_file_bytes(config, MAX_SCHEDULE_BYTES, err);
    if (status == LINNET_OK)
        status = linnet_schedule_open(config, path, &schedule, err);
    if (status == LINNET_OK)
        status = linnet_schedule_to_json(schedule, out_text, err);
    linnet_schedule_free(schedule);
    linnet_config_free(config);
    return status;
}

/* A word that is no name is a file where it looks like one or there is one. */
linnet_status cli_set_schedule(cli_request *request, const char *value, linnet_error *err)
{
    struct stat info;
    linnet_text *text = NULL;
    const linnet_status status = linnet_config_set_schedule(request->config, value, err);
    if (status != LINNET_ERROR_NOT_FOUND ||
        (strpbrk(value, "/.") == NULL && stat(value, &info) != 0))
        return status;
    linnet_status read = read_schedule(value, &text, err);
    if (read == LINNET_OK)
        read = linnet_config_set_schedule_text(request->config, linnet_text_data(text),
                                               linnet_text_length(text), value, err);
    linnet_text_free(text);
    return read;
}

linnet_status cli_set_stages(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_stages(request->config, value, err);
}

linnet_status cli_set_stages_by(cli_request *request, const char *value, linnet_error *err)
{
    request->stages_by_time = strcmp(value, "time") == 0;
    return linnet_config_set_stages_by(request->config, value, err);
}

linnet_status cli_set_pipeline_model(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_pipeline_model(request->config, value, err);
}
