/* SPDX-License-Identifier: MIT */

/* linnet schedule NAME|FILE: a pipeline schedule, made by rule or read, as a table, JSON or a
 * picture. */

#define _POSIX_C_SOURCE 200809L

#include "cli.h"
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_SCHEDULE_BYTES = 256 << 20 };

static bool is_name(const char *word)
{
    for (uint64_t i = 0; i < linnet_builtin_schedule_count(); i++)
        if (strcmp(linnet_builtin_schedule_name(i), word) == 0)
            return true;
    return false;
}

/* A word that is no name is a file where it looks like one or there is one. */
static bool is_file(const char *word)
{
    struct stat info;
    return strpbrk(word, "/.") != NULL || stat(word, &info) == 0;
}

/* What a file says stands; an option may say the same. */
static int check_option(const char *option, int64_t asked, int64_t said)
{
    if (asked == 0 || asked == said)
        return 0;
    return cli_usage_error(cli_find_command("schedule"),
                           "--%s is %" PRId64 ", and the file has %" PRId64, option, asked, said);
}

static int open_file(const cli_request *request, const char *path, linnet_schedule **out)
{
    linnet_error err;
    linnet_schedule *schedule = NULL;
    int status;
    if (linnet_config_set_file_bytes(request->config, MAX_SCHEDULE_BYTES, &err) != LINNET_OK ||
        linnet_schedule_open(request->config, path, &schedule, &err) != LINNET_OK)
        return cli_fail(&err);
    const int64_t ranks = (int64_t)linnet_schedule_ranks(schedule);
    if ((status = check_option("ranks", request->ranks, ranks)) != 0 ||
        (status = check_option("microbatches", request->microbatches,
                               linnet_schedule_microbatches(schedule))) != 0 ||
        (status = check_option("virtual-stages", request->virtual_stages,
                               linnet_schedule_stages(schedule) / ranks)) != 0)
        linnet_schedule_free(schedule);
    else
        *out = schedule;
    return status;
}

static int make(const cli_request *request, const char *name, linnet_schedule **out)
{
    const cli_command *command = cli_find_command("schedule");
    linnet_error err;
    if (request->ranks == 0 || request->microbatches == 0)
        return cli_usage_error(command, "--%s is missing",
                               request->ranks == 0 ? "ranks" : "microbatches");
    const linnet_status status =
        linnet_schedule_new(request->config, name, request->ranks, request->microbatches,
                            request->virtual_stages, out, &err);
    return status == LINNET_OK ? 0 : cli_fail(&err);
}

static int print(const cli_request *request, const linnet_schedule *schedule)
{
    linnet_text *text;
    linnet_error err;
    const linnet_status status = request->json   ? linnet_schedule_to_json(schedule, &text, &err)
                                 : request->draw ? linnet_schedule_to_svg(schedule, &text, &err)
                                                 : linnet_schedule_to_text(schedule, &text, &err);
    return status == LINNET_OK ? cli_print_text(text) : cli_fail(&err);
}

int cli_run_schedule(cli_request *request)
{
    const cli_command *command = cli_find_command("schedule");
    linnet_schedule *schedule = NULL;
    linnet_error err;
    if (request->word_count != 1)
        return cli_usage_error(command, request->word_count == 0
                                            ? "a schedule's name or file is missing"
                                            : "one schedule at a time");
    if (request->json && request->draw)
        return cli_usage_error(command, "--json and --svg contradict each other");
    const char *word = request->words[0];
    if (!is_name(word) && !is_file(word)) { /* the library knows the nearest name */
        (void)linnet_schedule_new(request->config, word, 1, 1, 0, &schedule, &err);
        return cli_fail(&err);
    }
    int status =
        is_name(word) ? make(request, word, &schedule) : open_file(request, word, &schedule);
    if (status == 0)
        status = print(request, schedule);
    linnet_schedule_free(schedule);
    return status;
}
