/* SPDX-License-Identifier: MIT */

/* linnet inspect [--parameters] MODEL: the parameter manifest of each block of the file. */

#include "cli.h"
#include <inttypes.h>
#include <string.h>

static void add_shape(cli_buffer *out, const linnet_model *model, uint64_t block, uint64_t index)
{
    cli_add(out, "Tensor[");
    for (uint64_t axis = 0; axis < linnet_model_parameter_rank(model, block, index); axis++)
        cli_add(out, "%s%s", axis == 0 ? "" : ", ",
                linnet_model_parameter_extent(model, block, index, axis));
    cli_add(out, "; %s]", linnet_model_parameter_dtype(model, block, index));
}

static void add_parameter(cli_buffer *out, const linnet_model *model, uint64_t block,
                          uint64_t index)
{
    cli_add(out, "  %-6s  %s  ", linnet_model_parameter_kind(model, block, index),
            linnet_model_parameter_path(model, block, index));
    add_shape(out, model, block, index);
    for (uint64_t level = 0; level < linnet_model_parameter_repeat_count(model, block, index);
         level++)
        cli_add(out, " x %s", linnet_model_parameter_repeat(model, block, index, level));
    if (linnet_model_parameter_optional(model, block, index))
        cli_add(out, " ?");
    if (linnet_model_parameter_tied_to(model, block, index) != NULL)
        cli_add(out, "  (tied to %s)", linnet_model_parameter_tied_to(model, block, index));
    cli_add(out, "\n");
}

static void add_block(cli_buffer *out, const linnet_model *model, uint64_t block)
{
    const uint64_t generics = linnet_model_generic_count(model, block);
    cli_add(out, "%s", linnet_model_block_name(model, block));
    for (uint64_t i = 0; i < generics; i++)
        cli_add(out, "%s%s%s", i == 0 ? "<" : ", ",
                linnet_model_generic_declaration(model, block, i), i + 1 == generics ? ">" : "");
    cli_add(out, "\n");
    for (uint64_t i = 0; i < linnet_model_parameter_count(model, block); i++)
        add_parameter(out, model, block, i);
}

/* ---- JSON ---- */

static void add_json_list(cli_buffer *out, const linnet_model *model, uint64_t block,
                          uint64_t index, uint64_t count,
                          const char *(*word)(const linnet_model *, uint64_t, uint64_t, uint64_t))
{
    cli_add(out, "[");
    for (uint64_t i = 0; i < count; i++) {
        cli_add(out, i == 0 ? "" : ", ");
        cli_add_json(out, word(model, block, index, i));
    }
    cli_add(out, "]");
}

static void add_json_parameter(cli_buffer *out, const linnet_model *model, uint64_t block,
                               uint64_t index)
{
    cli_add(out, "        {\n          \"path\": ");
    cli_add_json(out, linnet_model_parameter_path(model, block, index));
    cli_add(out, ",\n          \"kind\": ");
    cli_add_json(out, linnet_model_parameter_kind(model, block, index));
    cli_add(out, ",\n          \"dtype\": ");
    cli_add_json(out, linnet_model_parameter_dtype(model, block, index));
    cli_add(out, ",\n          \"shape\": ");
    add_json_list(out, model, block, index, linnet_model_parameter_rank(model, block, index),
                  linnet_model_parameter_extent);
    cli_add(out, ",\n          \"repeat\": ");
    add_json_list(out, model, block, index,
                  linnet_model_parameter_repeat_count(model, block, index),
                  linnet_model_parameter_repeat);
    cli_add(out, ",\n          \"optional\": %s",
            linnet_model_parameter_optional(model, block, index) ? "true" : "false");
    cli_add(out, ",\n          \"tied_to\": ");
    cli_add_json(out, linnet_model_parameter_tied_to(model, block, index));
    cli_add(out, "\n        }");
}

static void add_json_block(cli_buffer *out, const linnet_model *model, uint64_t block)
{
    const uint64_t generics = linnet_model_generic_count(model, block);
    const uint64_t parameters = linnet_model_parameter_count(model, block);
    cli_add(out, "    {\n      \"name\": ");
    cli_add_json(out, linnet_model_block_name(model, block));
    cli_add(out, ",\n      \"module\": ");
    cli_add_json(out, linnet_model_block_module(model, block));
    cli_add(out, ",\n      \"generics\": [");
    for (uint64_t i = 0; i < generics; i++) {
        cli_add(out, i == 0 ? "" : ", ");
        cli_add_json(out, linnet_model_generic_declaration(model, block, i));
    }
    cli_add(out, "],\n      \"entries\": [%s", parameters == 0 ? "" : "\n");
    for (uint64_t i = 0; i < parameters; i++) {
        add_json_parameter(out, model, block, i);
        cli_add(out, i + 1 < parameters ? ",\n" : "\n      ");
    }
    cli_add(out, "]\n    }");
}

/* The key and the items; the bracket is left open. */
static void add_json_formats(cli_buffer *out, const linnet_totals *totals)
{
    const uint64_t formats = linnet_totals_format_count(totals);
    cli_add(out, ",\n  \"formats\": [%s", formats == 0 ? "" : "\n");
    for (uint64_t i = 0; i < formats; i++) {
        cli_add(out, "    { \"format\": ");
        cli_add_json(out, linnet_totals_format_name(totals, i));
        cli_add(out, ", \"tensors\": %" PRId64 ", \"bytes\": %" PRId64 " }%s\n",
                linnet_totals_format_tensors(totals, i), linnet_totals_format_bytes(totals, i),
                i + 1 < formats ? "," : "");
    }
}

static void add_json_totals(cli_buffer *out, const linnet_model *model, const linnet_totals *totals)
{
    const uint64_t formats = linnet_totals_format_count(totals);
    cli_add(out, "  \"family\": ");
    cli_add_json(out, linnet_model_family(model)[0] != '\0' ? linnet_model_family(model) : NULL);
    cli_add(out, ",\n  \"parameters\": %" PRId64, linnet_totals_parameters(totals));
    cli_add(out, ",\n  \"tied\": %s", linnet_totals_tied(totals) ? "true" : "false");
    cli_add(out, ",\n  \"weight_bytes\": %" PRId64, linnet_totals_weight_bytes(totals));
    cli_add(out, ",\n  \"kv_bytes_per_token\": %" PRId64, linnet_totals_kv_bytes_per_token(totals));
    cli_add(out, ",\n  \"state_bytes\": %" PRId64, linnet_totals_state_bytes(totals));
    add_json_formats(out, totals);
    cli_add(out, formats == 0 ? "],\n" : "  ],\n");
}

static void add_json_sentences(cli_buffer *out, const linnet_model *model)
{
    const uint64_t count = linnet_model_assumption_count(model);
    cli_add(out, "  \"assumptions\": [%s", count == 0 ? "" : "\n");
    for (uint64_t i = 0; i < count; i++) {
        cli_add(out, "    ");
        cli_add_json(out, linnet_model_assumption(model, i));
        cli_add(out, i + 1 < count ? ",\n" : "\n  ");
    }
    cli_add(out, "],\n");
}

static void add_json_generics(cli_buffer *out, const linnet_model *model)
{
    const int64_t root = linnet_model_root(model);
    bool first = true;
    cli_add(out, "  \"generics\": {");
    for (uint64_t i = 0; root >= 0 && i < linnet_model_generic_count(model, (uint64_t)root); i++) {
        const char *value = linnet_model_generic_value(model, (uint64_t)root, i);
        if (value == NULL)
            continue;
        cli_add(out, first ? "\n    " : ",\n    ");
        cli_add_json(out, linnet_model_generic_name(model, (uint64_t)root, i));
        cli_add(out, ": ");
        if ((value[0] >= '0' && value[0] <= '9') || value[0] == '-')
            cli_add(out, "%s", value);
        else
            cli_add_json(out, value);
        first = false;
    }
    cli_add(out, first ? "},\n" : "\n  },\n");
}

static void add_json(cli_buffer *out, const linnet_model *model, const linnet_totals *totals)
{
    const uint64_t blocks = linnet_model_block_count(model);
    cli_add(out, "{\n  \"version\": 1,\n");
    if (totals != NULL) {
        add_json_totals(out, model, totals);
        add_json_generics(out, model);
        add_json_sentences(out, model);
    }
    cli_add(out, "  \"blocks\": [%s", blocks == 0 ? "" : "\n");
    for (uint64_t i = 0; i < blocks; i++) {
        add_json_block(out, model, i);
        cli_add(out, i + 1 < blocks ? ",\n" : "\n  ");
    }
    cli_add(out, "]\n}\n");
}

/* ---- text ---- */

static void add_size(cli_buffer *out, int64_t bytes)
{
    static const char *const units[] = { "KiB", "MiB", "GiB" };
    double size = (double)bytes;
    int unit = -1;
    while (unit < 2 && size >= 1024) {
        size /= 1024;
        unit++;
    }
    if (unit < 0)
        cli_add(out, "%" PRId64 " B", bytes);
    else
        cli_add(out, "%.2f %s", size, units[unit]);
}

static void add_line(cli_buffer *out, const char *name, int64_t bytes)
{
    cli_add(out, "%-22s", name);
    add_size(out, bytes);
    cli_add(out, " (%" PRId64 " bytes)\n", bytes);
}

static void add_summary(cli_buffer *out, const linnet_model *model, const linnet_totals *totals)
{
    if (linnet_model_title(model)[0] != '\0')
        cli_add(out, "%-22s%s\n", "Model", linnet_model_title(model));
    if (linnet_model_family(model)[0] != '\0')
        cli_add(out, "%-22s%s\n", "Family", linnet_model_family(model));
    cli_add(out, "%-22s%" PRId64 "%s\n", "Parameters", linnet_totals_parameters(totals),
            linnet_totals_tied(totals) ? ", head tied to the embedding" : "");
    add_line(out, "Weights", linnet_totals_weight_bytes(totals));
    for (uint64_t i = 0; i < linnet_totals_format_count(totals); i++) {
        cli_add(out, "  %-20s", linnet_totals_format_name(totals, i));
        add_size(out, linnet_totals_format_bytes(totals, i));
        cli_add(out, " in %" PRId64 " tensors\n", linnet_totals_format_tensors(totals, i));
    }
    if (linnet_totals_kv_bytes_per_token(totals) > 0)
        add_line(out, "KV cache per token", linnet_totals_kv_bytes_per_token(totals));
    if (linnet_totals_state_bytes(totals) > 0)
        add_line(out, "State per sequence", linnet_totals_state_bytes(totals));
    for (uint64_t i = 0; i < linnet_model_assumption_count(model); i++)
        cli_add(out, "%s  - %s\n", i == 0 ? "Assumed:\n" : "", linnet_model_assumption(model, i));
}

static void add_weights(cli_buffer *out, const linnet_totals *totals)
{
    cli_add(out, "%-22s%" PRId64 " in %" PRId64 " files\n", "Tensors",
            linnet_totals_tensors(totals), linnet_totals_shards(totals));
    if (linnet_totals_parameters(totals) >= 0)
        cli_add(out, "%-22s%" PRId64 "\n", "Elements", linnet_totals_parameters(totals));
    if (linnet_totals_weight_bytes(totals) >= 0)
        add_line(out, "Weights", linnet_totals_weight_bytes(totals));
    for (uint64_t i = 0; i < linnet_totals_format_count(totals); i++) {
        cli_add(out, "  %-20s", linnet_totals_format_name(totals, i));
        add_size(out, linnet_totals_format_bytes(totals, i));
        cli_add(out, " in %" PRId64 " tensors\n", linnet_totals_format_tensors(totals, i));
    }
}

static void add_json_known(cli_buffer *out, int64_t value)
{
    if (value < 0)
        cli_add(out, "null");
    else
        cli_add(out, "%" PRId64, value);
}

static void add_json_weights(cli_buffer *out, const linnet_totals *totals)
{
    const uint64_t formats = linnet_totals_format_count(totals);
    cli_add(out, "{\n  \"version\": 1,\n  \"family\": null,\n  \"tensors\": %" PRId64,
            linnet_totals_tensors(totals));
    cli_add(out, ",\n  \"shards\": %" PRId64 ",\n  \"parameters\": ", linnet_totals_shards(totals));
    add_json_known(out, linnet_totals_parameters(totals));
    cli_add(out, ",\n  \"weight_bytes\": ");
    add_json_known(out, linnet_totals_weight_bytes(totals));
    add_json_formats(out, totals);
    cli_add(out, formats == 0 ? "]\n}\n" : "  ]\n}\n");
}

/* Weights whose config is not there still have totals. Gives the exit status of the model
 * otherwise. */
static int inspect_weights(const cli_request *request, const linnet_error *why)
{
    linnet_totals *totals = NULL;
    cli_buffer out = { 0 };
    if (why->code != LINNET_ERROR_FILE ||
        linnet_weights_totals(request->config, request->words[0], &totals, NULL) != LINNET_OK)
        return cli_fail(why);
    if (request->json)
        add_json_weights(&out, totals);
    else
        add_weights(&out, totals);
    linnet_totals_free(totals);
    return cli_print_buffer(&out);
}

int cli_run_inspect(cli_request *request)
{
    linnet_model *model = NULL;
    linnet_totals *totals = NULL;
    linnet_error err;
    cli_buffer out = { 0 };
    if (request->word_count != 1)
        return cli_usage_error(cli_find_command("inspect"), request->word_count == 0
                                                                ? "a model or file is missing"
                                                                : "one model at a time");
    int status = cli_try_model(request, request->words[0], &model, &err);
    if (status != EXIT_DONE)
        return err.code == LINNET_ERROR_SOURCE ? status : inspect_weights(request, &err);
    /* A file whose sizes nothing gives has a manifest and no totals. */
    if (!request->parameters && linnet_model_root(model) >= 0)
        (void)linnet_model_totals(model, request->config, &totals, &err);
    if (request->json)
        add_json(&out, model, totals);
    else if (totals != NULL)
        add_summary(&out, model, totals);
    for (uint64_t i = 0; !request->json && i < linnet_model_block_count(model); i++) {
        cli_add(&out, i == 0 && totals == NULL ? "" : "\n");
        add_block(&out, model, i);
    }
    status = cli_print_buffer(&out);
    linnet_totals_free(totals);
    linnet_model_unref(model);
    return status;
}
