/* SPDX-License-Identifier: MIT */

/* linnet memory MODEL: the memory one configuration needs; with several checkpointing policies, one
 * report each. */

#include "cli.h"
#include <stdlib.h>
#include <string.h>

static linnet_status render(const cli_request *request, const linnet_model *model,
                            linnet_text **out_text, linnet_error *err)
{
    linnet_analysis *analysis = NULL;
    linnet_status status = linnet_analysis_new(model, request->config, &analysis, err);
    if (status != LINNET_OK)
        return status;
    status = request->json ? linnet_analysis_to_json(analysis, request->top, out_text, err)
                           : linnet_analysis_to_text(analysis, request->top, out_text, err);
    linnet_analysis_unref(analysis);
    return status;
}

/* "Checkpointing: layers.*, norm" */
static void add_policy(cli_buffer *out, const char *policy)
{
    cli_add(out, "Checkpointing: ");
    for (const char *at = policy; *at != '\0'; at++)
        cli_add(out, *at == ',' && at[1] != ' ' ? ", " : "%c", *at);
    cli_add(out, "\n");
}

/* A document as an element of an array: two more blanks before each line. */
static void add_element(cli_buffer *out, const char *document)
{
    for (const char *line = document; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        cli_add(out, "%s  %.*s", line == document ? "" : "\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static int compare_policies(cli_request *request, const linnet_model *model)
{
    cli_buffer out = { 0 };
    cli_add(&out, "%s", request->json ? "[\n" : "");
    for (int i = 0; i < request->policy_count; i++) {
        linnet_text *text = NULL;
        linnet_error err;
        if (linnet_config_set_checkpoint(request->config, request->policies[i], &err) !=
                LINNET_OK ||
            render(request, model, &text, &err) != LINNET_OK) {
            free(out.data);
            return cli_fail(&err);
        }
        if (request->json) {
            add_element(&out, linnet_text_data(text));
            cli_add(&out, i + 1 < request->policy_count ? ",\n" : "\n]\n");
        } else {
            cli_add(&out, i > 0 ? "\n" : "");
            add_policy(&out, request->policies[i]);
            cli_add(&out, "%s", linnet_text_data(text));
        }
        linnet_text_free(text);
    }
    return cli_print_buffer(&out);
}

static int print_one(const cli_request *request, const linnet_model *model)
{
    linnet_text *text = NULL;
    linnet_error err;
    if (render(request, model, &text, &err) != LINNET_OK)
        return cli_fail(&err);
    return cli_print_text(text);
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
static int draw_pictures(const cli_request *request, const linnet_model *model)
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

int cli_run_memory(cli_request *request)
{
    linnet_model *model = NULL;
    if (request->word_count != 1)
        return cli_usage_error(cli_find_command("memory"),
                               request->word_count == 0
                                   ? "a model is missing: a name, a .linnet file or a directory"
                                   : "one model at a time");
    int status = cli_open_model(request, request->words[0], NULL, &model);
    if (status != EXIT_DONE)
        return status;
    status = draw_pictures(request, model);
    if (status == EXIT_DONE && !takes_place(request->svg) && !takes_place(request->html))
        status = request->policy_count > 1 ? compare_policies(request, model)
                                           : print_one(request, model);
    linnet_model_unref(model);
    return status;
}
