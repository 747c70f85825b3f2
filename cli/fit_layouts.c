/* SPDX-License-Identifier: MIT */

/*
 * linnet fit MODEL --maximize throughput: the fastest layouts of a number of devices, or
 * (--devices-needed) how many devices it takes. An interrupt ends the search at the next call of
 * its callback, and then the process as if nothing had caught it.
 */

#define _POSIX_C_SOURCE 200809L

#include "cli.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool cli_wants_layouts(const cli_request *request)
{
    return request->devices_needed > 0 ||
           (request->maximize != NULL && strcmp(request->maximize, "throughput") == 0);
}

/* ---- progress and interrupts ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

typedef struct watch {
    bool shows; /* standard error is a terminal */
    bool catches;
    int drawn; /* percent; -1: nothing */
    struct sigaction before;
} watch;

static int32_t tell(void *user, uint64_t done, uint64_t total)
{
    watch *w = user;
    const int percent = total > 0 ? (int)(100 * (double)done / (double)total) : -1;
    if (w->shows && percent != w->drawn) {
        w->drawn = percent;
        fprintf(stderr, "\rSearching layouts: %3d %%", percent < 0 ? 0 : percent);
        fflush(stderr);
    }
    return interrupted != 0;
}

/* What is ignored stays so: under nohup, or in the background of a shell without job control. */
static void start_watch(watch *w, cli_request *request)
{
    struct sigaction caught = { .sa_handler = on_interrupt };
    sigemptyset(&caught.sa_mask);
    *w = (watch){ .shows = isatty(STDERR_FILENO) == 1, .drawn = -1 };
    interrupted = 0;
    if (sigaction(SIGINT, NULL, &w->before) == 0 && w->before.sa_handler != SIG_IGN)
        w->catches = sigaction(SIGINT, &caught, NULL) == 0;
    linnet_config_set_progress(request->config, tell, w, NULL);
}

static void end_watch(watch *w, cli_request *request)
{
    linnet_config_set_progress(request->config, NULL, NULL, NULL);
    if (w->drawn >= 0)
        fprintf(stderr, "\r%28s\r", "");
    if (w->catches)
        sigaction(SIGINT, &w->before, NULL);
    if (interrupted != 0)
        raise(SIGINT);
}

/* ---- what was asked ---- */

static int check(const cli_command *command, const cli_request *request)
{
    if (request->word_count == 2 && request->devices_needed > 0)
        return cli_usage_error(command, "one model at a time; the most devices of "
                                        "--devices-needed are given with `=`: --devices-needed=64");
    const int status = cli_check_model_word(command, request);
    if (status != EXIT_DONE)
        return status;
    if (request->maximize != NULL && strcmp(request->maximize, "throughput") != 0)
        return cli_usage_error(command, "--devices-needed is about --maximize throughput, not %s",
                               request->maximize);
    if (request->device == NULL)
        return cli_usage_error(command,
                               "--device is missing: a name that `linnet devices` lists, "
                               "or a profile file%s",
                               request->device_memory > 0
                                   ? "; --device-memory does not say how fast a device is"
                                   : "");
    if (request->timeline)
        return cli_usage_error(command, "--timeline is of one configuration, not of many layouts");
    if (request->devices_needed > 0 && (request->svg != NULL || request->html != NULL))
        return cli_usage_error(command, "--%s is of one configuration, not of --devices-needed",
                               request->svg != NULL ? "svg" : "html");
    return EXIT_DONE;
}

/* One policy is fixed; several are tried. */
static linnet_status set_policies(cli_request *request, linnet_error *err)
{
    linnet_status status = LINNET_OK;
    if (request->policy_count == 1)
        return linnet_config_set_checkpoint(request->config, request->policies[0], err);
    for (int i = 0; i < request->policy_count && status == LINNET_OK; i++)
        status = linnet_config_add_checkpoint_choice(request->config, request->policies[i], err);
    return status;
}

static linnet_status configure(cli_request *request, int64_t *out_budget, linnet_error *err)
{
    linnet_status status = set_policies(request, err);
    if (status == LINNET_OK && request->threads > 0)
        status = linnet_config_set_threads(request->config, request->threads, err);
    return status == LINNET_OK ? linnet_fit_budget(request->device_memory, request->reserve,
                                                   request->reserve_thousandths, out_budget, err)
                               : status;
}

/* ---- the fastest layouts ---- */

static int print(linnet_status status, linnet_text *take_text, const linnet_error *err)
{
    return status == LINNET_OK ? cli_print_text(take_text) : cli_fail(err);
}

static int print_layouts(const cli_request *request, const linnet_layouts *layouts)
{
    linnet_text *text = NULL;
    linnet_error err;
    const linnet_status status = request->json
                                     ? linnet_layouts_to_json(layouts, request->top, &text, &err)
                                     : linnet_layouts_to_text(layouts, &text, &err);
    return print(status, text, &err);
}

/* The pictures are of the fastest layout. */
static int draw(const cli_request *request, const linnet_model *model,
                const linnet_layouts *layouts)
{
    linnet_error err;
    if ((request->svg == NULL && request->html == NULL) || linnet_layouts_running(layouts) == 0)
        return EXIT_DONE;
    if (linnet_layouts_configure(layouts, 0, request->config, &err) != LINNET_OK)
        return cli_fail(&err);
    return cli_draw_pictures(request, model);
}

/* Whether the answer is yes; a message where the rate is what is missing. */
static bool meets(const cli_request *request, const linnet_layouts *layouts)
{
    if (linnet_layouts_running(layouts) == 0)
        return false;
    const double best = linnet_layouts_tokens_per_second(layouts, 0);
    if (best >= (double)request->tokens_per_second)
        return true;
    fprintf(stderr, "linnet: no layout reaches %lld tokens/s; the fastest has %lld\n",
            (long long)request->tokens_per_second, (long long)best);
    return false;
}

static int search_layouts(cli_request *request, const linnet_model *model,
                          const linnet_device *device, int64_t budget)
{
    linnet_layouts *layouts = NULL;
    linnet_error err;
    watch w;
    start_watch(&w, request);
    const linnet_status found =
        linnet_layouts_new(model, request->config, device, budget, &layouts, &err);
    end_watch(&w, request);
    if (found != LINNET_OK)
        return cli_fail(&err);
    int status = draw(request, model, layouts);
    const bool replaced = linnet_layouts_running(layouts) > 0 && cli_picture_takes_place(request);
    if (status == EXIT_DONE && !replaced)
        status = print_layouts(request, layouts);
    if (status == EXIT_DONE && !meets(request, layouts))
        status = EXIT_ANSWER_IS_NO;
    linnet_layouts_unref(layouts);
    return status;
}

/* ---- how many devices ---- */

static int search_devices(cli_request *request, const linnet_model *model,
                          const linnet_device *device, int64_t budget)
{
    const double rate = (double)request->tokens_per_second;
    linnet_devices_needed *needed = NULL;
    linnet_text *text = NULL;
    linnet_error err;
    watch w;
    start_watch(&w, request);
    const linnet_status found = linnet_devices_needed_new(
        model, request->config, device, budget, request->devices_needed, rate, &needed, &err);
    end_watch(&w, request);
    if (found != LINNET_OK)
        return cli_fail(&err);
    const linnet_status written =
        (request->json ? linnet_devices_needed_to_json
                       : linnet_devices_needed_to_text)(needed, &text, &err);
    const bool yes =
        (rate > 0 ? linnet_devices_needed_reaches(needed) : linnet_devices_needed_fits(needed)) > 0;
    linnet_devices_needed_unref(needed);
    const int status = print(written, text, &err);
    return status == EXIT_DONE && !yes ? EXIT_ANSWER_IS_NO : status;
}

int cli_fit_layouts(const cli_command *command, cli_request *request)
{
    linnet_model *model = NULL;
    linnet_device *device = NULL;
    linnet_error err;
    int64_t budget = 0;
    int status = check(command, request);
    if (status == EXIT_DONE)
        status = cli_find_device_memory(command, request);
    if (status != EXIT_DONE)
        return status;
    if (configure(request, &budget, &err) != LINNET_OK ||
        linnet_device_open(request->config, request->device, &device, &err) != LINNET_OK)
        return cli_fail(&err);
    status = cli_open_model(request, request->words[0], NULL, &model);
    if (status == EXIT_DONE)
        status = (request->devices_needed > 0 ? search_devices : search_layouts)(request, model,
                                                                                 device, budget);
    linnet_model_unref(model);
    linnet_device_unref(device);
    return status;
}
