/* SPDX-License-Identifier: MIT */

/* linnet explain CODE: what a diagnostic means. linnet explain MODEL: the implementation each op
 * gets. */

#include "cli.h"
#include <string.h>

static bool looks_like_code(const char *word)
{
    if ((word[0] != 'E' && word[0] != 'W') || strlen(word) != 5)
        return false;
    for (int i = 1; i < 5; i++)
        if (word[i] < '0' || word[i] > '9')
            return false;
    return true;
}

static int explain_code(const cli_request *request, const char *code)
{
    cli_buffer out = { 0 };
    const char *title = linnet_diagnostic_title(code);
    const char *text = linnet_diagnostic_explanation(code);
    if (title == NULL)
        return cli_usage_error(cli_find_command("explain"), "there is no diagnostic `%s`", code);
    if (!request->json) {
        cli_add(&out, "%s: %s\n\n%s\n", code, title, text);
        return cli_print_buffer(&out);
    }
    cli_add(&out, "{\n  \"version\": 1,\n  \"code\": ");
    cli_add_json(&out, code);
    cli_add(&out, ",\n  \"title\": ");
    cli_add_json(&out, title);
    cli_add(&out, ",\n  \"text\": ");
    cli_add_json(&out, text);
    cli_add(&out, "\n}\n");
    return cli_print_buffer(&out);
}

static int widest_op(const linnet_model *model)
{
    size_t widest = 0;
    for (uint64_t i = 0; i < linnet_model_op_count(model); i++) {
        const size_t length = strlen(linnet_model_op_name(model, i));
        widest = length > widest ? length : widest;
    }
    return (int)widest;
}

static void add_ops(cli_buffer *out, const linnet_model *model, const char *numerics)
{
    const int width = widest_op(model);
    for (uint64_t i = 0; i < linnet_model_op_count(model); i++) {
        const char *implementation = linnet_model_op_implementation(model, i, numerics);
        cli_add(out, "%-*s  %s\n", width, linnet_model_op_name(model, i),
                implementation != NULL ? implementation : "canonical decomposition");
    }
}

static void add_ops_json(cli_buffer *out, const linnet_model *model, const char *numerics)
{
    const uint64_t count = linnet_model_op_count(model);
    cli_add(out, "{\n  \"version\": 1,\n  \"numerics\": ");
    cli_add_json(out, numerics != NULL ? numerics : "fast");
    cli_add(out, ",\n  \"ops\": [%s", count == 0 ? "" : "\n");
    for (uint64_t i = 0; i < count; i++) {
        cli_add(out, "    { \"op\": ");
        cli_add_json(out, linnet_model_op_name(model, i));
        cli_add(out, ", \"implementation\": ");
        cli_add_json(out, linnet_model_op_implementation(model, i, numerics));
        cli_add(out, " }%s\n", i + 1 < count ? "," : "");
    }
    cli_add(out, count == 0 ? "]\n}\n" : "  ]\n}\n");
}

int cli_run_explain(cli_request *request)
{
    linnet_model *model = NULL;
    cli_buffer out = { 0 };
    if (request->word_count != 1)
        return cli_usage_error(cli_find_command("explain"),
                               request->word_count == 0
                                   ? "a diagnostic's code or a model is missing"
                                   : "one code or model at a time");
    if (looks_like_code(request->words[0]))
        return explain_code(request, request->words[0]);
    int status = cli_open_model(request, request->words[0], NULL, &model);
    if (status != EXIT_DONE)
        return status;
    if (request->json)
        add_ops_json(&out, model, request->numerics);
    else
        add_ops(&out, model, request->numerics);
    status = cli_print_buffer(&out);
    linnet_model_unref(model);
    return status;
}
