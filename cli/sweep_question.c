/* SPDX-License-Identifier: MIT */

/*
 * A question: one line, one JSON object. Its keys beside `command`, `model`, `id` and `detail` are
 * options by their long names, so a row of options.c is all that a new one needs. Where a value
 * goes depends on what the option changes:
 *
 *     sizes    batch, context and cache: a planner answers them without tracing again
 *     aside    what is compared with the answer: devices, budgets, how much is shown
 *     config   all others: they decide what is traced
 *
 * Values keep the order of the table, so that two spellings of one question are one.
 */

#include "cli_sweep.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum option_role { ROLE_REFUSED, ROLE_SIZE, ROLE_ASIDE, ROLE_CONFIG } option_role;

/* Options that all three commands take are a config's unless they stand here. */
static const struct {
    const char *name;
    option_role role;
} roles[] = {
    { "batch", ROLE_SIZE },           { "seq-len", ROLE_SIZE },
    { "context", ROLE_SIZE },         { "cache-len", ROLE_SIZE },
    { "device", ROLE_ASIDE },         { "device-memory", ROLE_ASIDE },
    { "reserve", ROLE_ASIDE },        { "reserve-percent", ROLE_ASIDE },
    { "maximize", ROLE_ASIDE },       { "top", ROLE_ASIDE },
    { "stages-by", ROLE_REFUSED }, /* a planner's stages are cut at one size, on one device */
    { "timeline", ROLE_CONFIG },      { "time-model", ROLE_CONFIG },
    { "training-loop", ROLE_CONFIG }, { "json", ROLE_REFUSED },
    { "color", ROLE_REFUSED },        { "help", ROLE_REFUSED },
};

static option_role role_of(const cli_option *option)
{
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (strcmp(roles[i].name, option->name) == 0)
            return roles[i].role;
    const unsigned all = CMD_MEMORY | CMD_FIT | CMD_TIME;
    return (option->commands & all) == all ? ROLE_CONFIG : ROLE_REFUSED;
}

static int size_of(const cli_option *option)
{
    return strcmp(option->name, "batch") == 0       ? SWEEP_BATCH
           : strcmp(option->name, "cache-len") == 0 ? SWEEP_CACHE
                                                    : SWEEP_CONTEXT;
}

/* ---- options by name ---- */

static bool is_taken(const cli_reading *reading, const cli_option *option)
{
    return (option->commands & reading->command->bit) != 0 && role_of(option) != ROLE_REFUSED;
}

static linnet_status fail_unknown(const cli_reading *reading, const char *name, linnet_error *err)
{
    const char *names[CLI_MAX_OPTIONS];
    uint64_t count = 0;
    for (int i = 0; i < reading->option_count; i++)
        if (is_taken(reading, &reading->options[i]))
            names[count++] = reading->options[i].name;
    const char *nearest = cli_meant_option(name, names, count);
    return cli_refuse(err, LINNET_ERROR_NOT_FOUND, "`%.64s` is no option of a %s question%s%s%s",
                      name, reading->command->name, nearest != NULL ? ": did you mean `" : "",
                      nearest != NULL ? nearest : "", nearest != NULL ? "`?" : "");
}

static int find_option(const cli_reading *reading, const char *name)
{
    for (int i = 0; i < reading->option_count; i++)
        if (strcmp(reading->options[i].name, name) == 0 && is_taken(reading, &reading->options[i]))
            return i;
    return -1;
}

/* ---- values ---- */

/* As one would type it; options read at most three decimals, and refuse more. */
static void print_real(char *out, size_t room, double value)
{
    const double thousandths = value * 1000;
    if (value >= 0 && thousandths < 1e15 && fabs(thousandths - nearbyint(thousandths)) < 1e-6) {
        const long long whole = llround(thousandths);
        snprintf(out, room, "%lld.%03lld", whole / 1000, whole % 1000);
        for (size_t end = strlen(out); out[end - 1] == '0' || out[end - 1] == '.'; end--) {
            const bool is_point = out[end - 1] == '.';
            out[end - 1] = '\0';
            if (is_point)
                break;
        }
    } else {
        snprintf(out, room, "%.17g", value);
    }
}

static linnet_status read_text(sweep_question *q, const cli_option *option, const json_t *value,
                               const char **out, linnet_error *err)
{
    if (json_is_string(value)) {
        *out = json_string_value(value);
        return LINNET_OK;
    }
    if (!json_is_number(value))
        return cli_refuse_value(err, "%s: a text or a number%s is expected (%s)", option->name,
                                option->repeatable ? ", or a list of them," : "", option->argument);
    if (q->number_count == SWEEP_MAX_VALUES)
        return cli_refuse_value(err, "more than %d values", (int)SWEEP_MAX_VALUES);
    char *text = q->numbers[q->number_count++];
    if (json_is_integer(value))
        snprintf(text, sizeof q->numbers[0], "%lld", (long long)json_integer_value(value));
    else
        print_real(text, sizeof q->numbers[0], json_real_value(value));
    *out = text;
    return LINNET_OK;
}

/* Behind those of the same row and of rows before it. */
static linnet_status insert(sweep_value *list, int *count, sweep_value value, linnet_error *err)
{
    if (*count == SWEEP_MAX_VALUES)
        return cli_refuse_value(err, "more than %d values", (int)SWEEP_MAX_VALUES);
    int at = (*count)++;
    for (; at > 0 && list[at - 1].row > value.row; at--)
        list[at] = list[at - 1];
    list[at] = value;
    return LINNET_OK;
}

static linnet_status add_value(sweep_question *q, int row, const char *text, linnet_error *err)
{
    const cli_option *option = &q->reading.options[row];
    const sweep_value value = { row, text };
    const linnet_status status = cli_note_option(&q->reading, row, text, err);
    if (status != LINNET_OK)
        return status;
    switch (role_of(option)) {
    case ROLE_SIZE:
        q->sizes[size_of(option)] = value;
        return LINNET_OK;
    case ROLE_ASIDE:
        return insert(q->aside, &q->aside_count, value, err);
    default:
        return insert(q->config, &q->config_count, value, err);
    }
}

static linnet_status add_flag(sweep_question *q, int row, const json_t *value, linnet_error *err)
{
    if (!json_is_boolean(value))
        return cli_refuse_value(err, "%s: true or false is expected", q->reading.options[row].name);
    return json_is_true(value) ? add_value(q, row, NULL, err) : LINNET_OK;
}

static linnet_status add_option(sweep_question *q, const char *name, const json_t *value,
                                linnet_error *err)
{
    const int row = find_option(&q->reading, name);
    if (row < 0)
        return fail_unknown(&q->reading, name, err);
    const cli_option *option = &q->reading.options[row];
    if (option->argument == NULL)
        return add_flag(q, row, value, err);
    const bool is_list = option->repeatable && json_is_array(value);
    const size_t count = is_list ? json_array_size(value) : 1;
    for (size_t i = 0; i < count; i++) {
        const char *text = NULL;
        linnet_status status =
            read_text(q, option, is_list ? json_array_get(value, i) : value, &text, err);
        if (status == LINNET_OK)
            status = add_value(q, row, text, err);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

/* ---- members that every question has ---- */

static linnet_status read_id(sweep_question *q, linnet_error *err)
{
    const json_t *id = json_object_get(q->root, "id");
    if (id == NULL)
        return LINNET_OK;
    if (!json_is_string(id) && !json_is_integer(id))
        return cli_refuse_value(err, "id: a text or a whole number is expected");
    q->id = id;
    return LINNET_OK;
}

static linnet_status read_command(sweep_question *q, linnet_error *err)
{
    const char *name = json_string_value(json_object_get(q->root, "command"));
    q->command = name != NULL ? sweep_find_command(name) : NULL;
    if (q->command == NULL)
        return name == NULL
                   ? cli_refuse_value(err,
                                      "`command` is missing, or no text: `memory`, `fit` or `time`")
                   : cli_refuse(err, LINNET_ERROR_NOT_FOUND,
                                "`%.64s` is no command of a question: `memory`, `fit` or `time`",
                                name);
    q->reading = (cli_reading){ .command = cli_find_command(name), .mark = "" };
    q->reading.options = cli_options(&q->reading.option_count);
    return LINNET_OK;
}

static linnet_status read_model(sweep_question *q, linnet_error *err)
{
    q->model = json_string_value(json_object_get(q->root, "model"));
    if (q->model == NULL || q->model[0] == '\0')
        return cli_refuse_value(err,
                                "`model` is missing, or no text: a name, a file or a directory");
    if (strcmp(q->model, "-") == 0)
        return cli_refuse_value(
            err, "a question's model is a name, a file or a directory, not standard input");
    return LINNET_OK;
}

static linnet_status read_detail(sweep_question *q, linnet_error *err)
{
    const json_t *detail = json_object_get(q->root, "detail");
    const char *word = json_string_value(detail);
    if (detail == NULL)
        return LINNET_OK;
    q->is_full = word != NULL && strcmp(word, "full") == 0;
    if (!q->is_full && (word == NULL || strcmp(word, "compact") != 0))
        return cli_refuse_value(err, "detail: `compact` or `full` is expected");
    return LINNET_OK;
}

static bool is_own_member(const char *key)
{
    return strcmp(key, "id") == 0 || strcmp(key, "command") == 0 || strcmp(key, "model") == 0 ||
           strcmp(key, "detail") == 0;
}

static linnet_status read_options(sweep_question *q, linnet_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach(q->root, key, value)
    {
        const linnet_status status =
            is_own_member(key) ? LINNET_OK : add_option(q, key, value, err);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

/* ---- the line ---- */

static bool is_blank(const char *line, size_t length)
{
    size_t i = 0;
    while (i < length && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r'))
        i++;
    return i == length;
}

static linnet_status parse(const char *line, size_t length, sweep_question *q, linnet_error *err)
{
    json_error_t wrong;
    if (is_blank(line, length))
        return cli_refuse(err, LINNET_ERROR_FORMAT, "the line is empty");
    if (length > SWEEP_LINE_BYTES)
        return cli_refuse(err, LINNET_ERROR_FORMAT, "the line is longer than 1 MiB");
    q->root = json_loadb(line, length, JSON_REJECT_DUPLICATES, &wrong);
    if (q->root == NULL)
        return strstr(wrong.text, "duplicate") != NULL
                   ? cli_refuse(err, LINNET_ERROR_FORMAT, "a key is there twice, at byte %d",
                                wrong.position)
                   : cli_refuse(err, LINNET_ERROR_FORMAT,
                                "the line is no JSON object: wrong at byte %d", wrong.position);
    if (!json_is_object(q->root))
        return cli_refuse(err, LINNET_ERROR_FORMAT, "the line is JSON, but no object");
    return LINNET_OK;
}

linnet_status sweep_question_read(const char *line, size_t length, sweep_question *out,
                                  linnet_error *err)
{
    linnet_status status;
    sweep_question_clear(out);
    if ((status = parse(line, length, out, err)) != LINNET_OK ||
        (status = read_id(out, err)) != LINNET_OK ||
        (status = read_command(out, err)) != LINNET_OK ||
        (status = read_model(out, err)) != LINNET_OK ||
        (status = read_detail(out, err)) != LINNET_OK)
        return status;
    return read_options(out, err);
}

void sweep_question_clear(sweep_question *question)
{
    json_decref(question->root);
    question->root = NULL;
    question->id = NULL;
    question->is_full = false;
    question->config_count = question->aside_count = question->number_count = 0;
    for (int i = 0; i < SWEEP_SIZES; i++)
        question->sizes[i].text = NULL;
}
