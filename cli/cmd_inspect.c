/* SPDX-License-Identifier: MIT */

/* linnet inspect [--parameters] MODEL: the parameter manifest of each block of the file. */

#include "cli.h"
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

/* ---- JSON
 * -----------------------------------------------------------------------------------------------
 */

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

static void add_json(cli_buffer *out, const linnet_model *model)
{
    const uint64_t blocks = linnet_model_block_count(model);
    cli_add(out, "{\n  \"version\": 1,\n  \"blocks\": [%s", blocks == 0 ? "" : "\n");
    for (uint64_t i = 0; i < blocks; i++) {
        add_json_block(out, model, i);
        cli_add(out, i + 1 < blocks ? ",\n" : "\n  ");
    }
    cli_add(out, "]\n}\n");
}

int cli_run_inspect(cli_request *request)
{
    linnet_model *model = NULL;
    cli_buffer out = { 0 };
    if (request->word_count != 1)
        return cli_usage_error(cli_find_command("inspect"), request->word_count == 0
                                                                ? "a model or file is missing"
                                                                : "one model at a time");
    int status = cli_open_model(request, request->words[0], NULL, &model);
    if (status != EXIT_DONE)
        return status;
    if (request->json)
        add_json(&out, model);
    for (uint64_t i = 0; !request->json && i < linnet_model_block_count(model); i++) {
        cli_add(&out, i == 0 ? "" : "\n");
        add_block(&out, model, i);
    }
    status = cli_print_buffer(&out);
    linnet_model_unref(model);
    return status;
}
