/* SPDX-License-Identifier: MIT */

/* linnet memory MODEL: the memory one configuration needs; with several checkpointing policies, one
 * report each. */

#include "cli.h"
#include <string.h>

static void note_verdict(const cli_request *request, const linnet_analysis *analysis)
{
    const char *verdict = linnet_analysis_verdict(analysis);
    if (request->out_of_memory != NULL && verdict != NULL && strcmp(verdict, "OOM") == 0)
        *request->out_of_memory = true;
}

static linnet_status report(const cli_request *request, const linnet_model *model,
                            const linnet_device *device, linnet_text **out_text, linnet_error *err)
{
    linnet_analysis *analysis = NULL;
    (void)device;
    linnet_status status = linnet_analysis_new(model, request->config, &analysis, err);
    if (status != LINNET_OK)
        return status;
    status = request->json ? linnet_analysis_to_json(analysis, request->top, out_text, err)
                           : linnet_analysis_to_text(analysis, request->top, out_text, err);
    note_verdict(request, analysis);
    linnet_analysis_unref(analysis);
    return status;
}

/* ---- pictures ---- */

typedef linnet_status (*picture_fn)(const linnet_analysis *analysis, int64_t capacity_bytes,
                                    linnet_text **out_text, linnet_error *err);

static int write_picture(const cli_request *request, const linnet_analysis *analysis,
                         picture_fn draw, const char *path)
{
    linnet_text *text = NULL;
    linnet_error err;
    if (path == NULL)
        return EXIT_DONE;
    if (draw(analysis, request->device_memory, &text, &err) != LINNET_OK)
        return cli_fail(&err);
    const int status = cli_write_file(path, linnet_text_data(text), linnet_text_length(text));
    linnet_text_free(text);
    return status;
}

/* An analysis of their own: the report's has a timeline only when that was asked for. */
int cli_draw_pictures(const cli_request *request, const linnet_model *model)
{
    linnet_analysis *analysis = NULL;
    linnet_error err;
    if (request->svg == NULL && request->html == NULL)
        return EXIT_DONE;
    if (linnet_config_set_timeline(request->config, 1, &err) != LINNET_OK ||
        linnet_analysis_new(model, request->config, &analysis, &err) != LINNET_OK ||
        linnet_config_set_timeline(request->config, request->timeline, &err) != LINNET_OK) {
        linnet_analysis_unref(analysis);
        return cli_fail(&err);
    }
    note_verdict(request, analysis);
    int status = write_picture(request, analysis, linnet_analysis_to_svg, request->svg);
    if (status == EXIT_DONE)
        status = write_picture(request, analysis, linnet_analysis_to_html, request->html);
    linnet_analysis_unref(analysis);
    return status;
}

static bool takes_place(const char *picture)
{
    return picture != NULL && strcmp(picture, "-") == 0;
}

bool cli_picture_takes_place(const cli_request *request)
{
    return takes_place(request->svg) || takes_place(request->html);
}

int cli_run_memory(cli_request *request)
{
    linnet_model *model = NULL;
    linnet_error err;
    bool out_of_memory = false;
    const cli_command *command = cli_find_command("memory");
    int status = cli_check_model_word(command, request);
    if (status == EXIT_DONE)
        status = cli_find_device_memory(command, request);
    if (status != EXIT_DONE)
        return status;
    if (linnet_config_set_device_memory(request->config, request->device_memory, &err) != LINNET_OK)
        return cli_fail(&err);
    request->out_of_memory = &out_of_memory;
    status = cli_open_model(request, request->words[0], NULL, &model);
    if (status != EXIT_DONE)
        return status;
    status = cli_draw_pictures(request, model);
    if (status == EXIT_DONE && !cli_picture_takes_place(request))
        status = cli_print_reports(request, model, NULL, report);
    linnet_model_unref(model);
    request->out_of_memory = NULL;
    return status == EXIT_DONE && request->must_fit && out_of_memory ? EXIT_ANSWER_IS_NO : status;
}
