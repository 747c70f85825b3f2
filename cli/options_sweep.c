/* SPDX-License-Identifier: MIT */

/* Options of `linnet sweep`; their rows stand in options.c. */

#include "cli.h"

enum { MAX_THREADS = 1024, MAX_PARTS = 1000000 };

linnet_status cli_set_output(cli_request *request, const char *value, linnet_error *err)
{
    if (value[0] == '\0')
        return cli_refuse_value(err, "`%s` names no file", value);
    request->output = value;
    return LINNET_OK;
}

linnet_status cli_set_threads(cli_request *request, const char *value, linnet_error *err)
{
    const linnet_status status = cli_read_integer(value, &request->threads, err);
    if (status == LINNET_OK && (request->threads < 1 || request->threads > MAX_THREADS))
        return cli_refuse_value(err, "`%s` is no count of threads: 1 to %d", value,
                                (int)MAX_THREADS);
    return status;
}

/* Digits alone: false where there are none, or too many for a part. */
static bool read_count(const char **at, int64_t *out)
{
    int64_t number = 0;
    const char *start = *at;
    for (; **at >= '0' && **at <= '9' && number <= MAX_PARTS; ++*at)
        number = number * 10 + (**at - '0');
    *out = number;
    return *at != start && number >= 1 && number <= MAX_PARTS;
}

/* "2/8": the second of eight. */
linnet_status cli_set_part(cli_request *request, const char *value, linnet_error *err)
{
    const char *at = value;
    int64_t part, parts;
    if (!read_count(&at, &part) || *at++ != '/' || !read_count(&at, &parts) || *at != '\0' ||
        part > parts)
        return cli_refuse_value(err, "`%s` is no part such as 2/8: from 1/8 to 8/8", value);
    request->part = part;
    request->parts = parts;
    return LINNET_OK;
}

linnet_status cli_set_resume(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    (void)err;
    request->resume = true;
    return LINNET_OK;
}
