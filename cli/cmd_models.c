/* SPDX-License-Identifier: MIT */

/* linnet models: the models that ship, with parameters and entries, then the other known names. */

#include "cli.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* 8030261248 as "8,030,261,248". */
static void grouped(char out[32], int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    const size_t length = strlen(digits);
    size_t at = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
}

static void add_entries(cli_buffer *out, const linnet_model *model, bool json)
{
    bool first = true;
    const int64_t root = linnet_model_root(model);
    const char *block = root >= 0 ? linnet_model_block_name(model, (uint64_t)root) : "";
    for (uint64_t i = 0; i < linnet_model_entry_count(model); i++) {
        if (strcmp(linnet_model_entry_block(model, i), block) != 0)
            continue;
        cli_add(out, first ? "" : ", ");
        if (json)
            cli_add_json(out, linnet_model_entry_name(model, i));
        else
            cli_add(out, "%s", linnet_model_entry_name(model, i));
        first = false;
    }
}

static void add_text(cli_buffer *out, uint64_t index, const linnet_model *model, int64_t elements)
{
    char number[32];
    grouped(number, elements);
    cli_add(out, "%-26s %15s  ", linnet_builtin_model_name(index), number);
    add_entries(out, model, false);
    cli_add(out, "\n");
}

static void add_json_model(cli_buffer *out, uint64_t index, const linnet_model *model,
                           int64_t elements)
{
    cli_add(out, "    {\n      \"name\": ");
    cli_add_json(out, linnet_builtin_model_name(index));
    cli_add(out, ",\n      \"title\": ");
    cli_add_json(out, linnet_builtin_model_title(index));
    cli_add(out, ",\n      \"family\": ");
    cli_add_json(out, linnet_model_family(model));
    cli_add(out, ",\n      \"parameters\": %" PRId64 ",\n      \"entries\": [", elements);
    add_entries(out, model, true);
    cli_add(out, "]\n    }");
}

static int add_shipped(const cli_request *request, cli_buffer *out, uint64_t index, bool first)
{
    linnet_model *model = NULL;
    linnet_error err;
    int64_t elements;
    int status = cli_open_model(request, linnet_builtin_model_name(index), NULL, &model);
    if (status != EXIT_DONE)
        return status;
    if (linnet_model_weight_elements(model, &elements, &err) != LINNET_OK) {
        status = cli_fail(&err);
    } else if (request->json) {
        cli_add(out, first ? "" : ",\n");
        add_json_model(out, index, model, elements);
    } else {
        add_text(out, index, model, elements);
    }
    linnet_model_unref(model);
    return status;
}

/* Names without a shipped source: a line for people, a list for programs. */
static void add_known(cli_buffer *out, bool json)
{
    bool first = true;
    static const char title[] =
        "\nKnown by name, their source is not shipped (give a config.json of a family that is read,"
        "\na safetensors index, a GGUF or a .linnet file instead):\n";
    cli_add(out, "%s", json ? "\n  ],\n  \"known\": [" : title);
    for (uint64_t i = 0; i < linnet_builtin_model_count(); i++) {
        if (linnet_builtin_model_is_shipped(i))
            continue;
        if (json) {
            cli_add(out, first ? "" : ", ");
            cli_add_json(out, linnet_builtin_model_name(i));
        } else {
            cli_add(out, "%s\n", linnet_builtin_model_name(i));
        }
        first = false;
    }
    cli_add(out, json ? "]\n}\n" : "");
}

int cli_run_models(cli_request *request)
{
    cli_buffer out = { 0 };
    int status = EXIT_DONE;
    bool first = true;
    if (request->word_count != 0)
        return cli_usage_error(cli_find_command("models"), "`linnet models` takes no words");
    cli_add(&out, request->json ? "{\n  \"version\": 1,\n  \"models\": [\n" : "%-26s %15s  %s\n",
            "name", "parameters", "entries");
    for (uint64_t i = 0; i < linnet_builtin_model_count() && status == EXIT_DONE; i++) {
        if (!linnet_builtin_model_is_shipped(i))
            continue;
        status = add_shipped(request, &out, i, first);
        first = false;
    }
    if (status != EXIT_DONE)
        return status;
    add_known(&out, request->json);
    return cli_print_buffer(&out);
}
