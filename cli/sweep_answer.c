/* SPDX-License-Identifier: MIT */

/*
 * Answers. A memory question looks for a planner of its configuration and asks it for the sizes; a
 * fit does the same with one size left to the search. Whatever a planner refuses is asked once more
 * the way the command itself asks, so that the message, or the answer, is the command's.
 *
 * Cost: some 10 us with a planner at hand, reading and writing included; a trace without.
 */

#include "cli_sweep.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

static void write_components(const linnet_analysis *analysis, cli_buffer *out)
{
    sweep_key(out, "components");
    sweep_open(out, '[');
    for (uint64_t i = 0; i < linnet_analysis_component_count(analysis); i++) {
        const int64_t bytes = linnet_analysis_component_bytes(analysis, i);
        if (bytes < 0)
            continue; /* listed among the unknown */
        sweep_open(out, '{');
        sweep_pair_text(out, "name", linnet_analysis_component_name(analysis, i));
        sweep_pair_text(out, "category", linnet_analysis_component_category(analysis, i));
        sweep_pair_integer(out, "bytes", bytes);
        sweep_pair_text(out, "confidence",
                        linnet_confidence_name(linnet_analysis_component_confidence(analysis, i)));
        sweep_close(out, '}');
    }
    sweep_close(out, ']');
}

static void write_devices(const linnet_analysis *analysis, cli_buffer *out)
{
    const uint64_t count = linnet_analysis_device_count(analysis);
    if (count < 2)
        return;
    sweep_key(out, "devices");
    sweep_open(out, '[');
    for (uint64_t i = 0; i < count; i++)
        sweep_integer(out, linnet_analysis_device_expected_peak(analysis, i));
    sweep_close(out, ']');
}

static void write_words(const char *key, const linnet_analysis *analysis, uint64_t count,
                        const char *(*word)(const linnet_analysis *, uint64_t), bool always,
                        cli_buffer *out)
{
    if (count == 0 && !always)
        return;
    sweep_key(out, key);
    sweep_open(out, '[');
    for (uint64_t i = 0; i < count; i++)
        sweep_text(out, word(analysis, i));
    sweep_close(out, ']');
}

static void write_verdict(int64_t expected_peak, int64_t device_memory, cli_buffer *out)
{
    if (device_memory <= 0)
        return;
    sweep_pair_integer(out, "device_memory", device_memory);
    sweep_pair_text(out, "verdict", linnet_fit_verdict(expected_peak, device_memory));
}

static void write_memory(const linnet_analysis *analysis, int64_t device_memory, cli_buffer *out)
{
    const int64_t expected = linnet_analysis_expected_peak(analysis);
    sweep_pair_integer(out, "expected", expected);
    sweep_pair_integer(out, "graph", linnet_analysis_graph_peak(analysis));
    sweep_pair_integer(out, "allocator", linnet_analysis_allocator_peak(analysis));
    sweep_pair_text(out, "confidence",
                    linnet_confidence_name(linnet_analysis_confidence(analysis)));
    write_verdict(expected, device_memory, out);
    write_components(analysis, out);
    write_devices(analysis, out);
    write_words("unknown", analysis, linnet_analysis_unknown_count(analysis),
                linnet_analysis_unknown, true, out);
    write_words("warnings", analysis, linnet_analysis_warning_count(analysis),
                linnet_analysis_warning, false, out);
}

static void write_result(linnet_text *take_text, cli_buffer *out)
{
    sweep_key(out, "result");
    sweep_document(out, linnet_text_data(take_text), linnet_text_length(take_text));
    linnet_text_free(take_text);
}

static linnet_status write_analysis(const sweep_question *q, const sweep_asides *aside,
                                    const linnet_analysis *analysis, cli_buffer *out,
                                    linnet_error *err)
{
    linnet_text *text = NULL;
    if (!q->is_full) {
        write_memory(analysis, aside->device_memory, out);
        return LINNET_OK;
    }
    const linnet_status status = linnet_analysis_to_json(analysis, aside->request.top, &text, err);
    if (status == LINNET_OK)
        write_result(text, out);
    return status;
}

/* As the command does it. */
static linnet_status analyse_alone(sweep_worker *worker, const sweep_question *q,
                                   const sweep_asides *aside, cli_buffer *out, linnet_error *err)
{
    linnet_analysis *analysis = NULL;
    sweep_prepared p = { NULL, NULL };
    linnet_status status = sweep_prepare(worker, q, &p, err);
    if (status == LINNET_OK)
        status = linnet_config_set_device_memory(p.config, aside->device_memory, err);
    if (status == LINNET_OK)
        status = linnet_analysis_new(p.model, p.config, &analysis, err);
    if (status == LINNET_OK)
        status = write_analysis(q, aside, analysis, out, err);
    linnet_analysis_unref(analysis);
    sweep_release(&p);
    return status;
}

static linnet_status make_planner(sweep_worker *worker, const sweep_question *q,
                                  int64_t device_memory, linnet_planner **out, linnet_error *err)
{
    sweep_prepared p = { NULL, NULL };
    linnet_status status = sweep_prepare(worker, q, &p, err);
    if (status == LINNET_OK)
        status = linnet_config_set_device_memory(p.config, device_memory, err);
    if (status == LINNET_OK)
        status = linnet_planner_new(p.model, p.config, out, err);
    sweep_release(&p);
    return status;
}

/* False: one of them is no number of at least 1, which a setter says better. */
static bool read_sizes(const sweep_question *q, int64_t out[SWEEP_SIZES])
{
    for (int i = 0; i < SWEEP_SIZES; i++) {
        out[i] = 0;
        if (q->sizes[i].text != NULL &&
            (cli_read_integer(q->sizes[i].text, &out[i], &(linnet_error){ 0 }) != LINNET_OK ||
             out[i] < 1))
            return false;
    }
    return true;
}

static linnet_status answer_memory(sweep_worker *worker, const sweep_question *q, cli_buffer *out,
                                   linnet_error *err)
{
    linnet_analysis *analysis = NULL;
    int64_t sizes[SWEEP_SIZES];
    sweep_asides aside;
    linnet_status status = sweep_read_asides(worker, q, &aside, err);
    if (status != LINNET_OK)
        return status;
    if (!read_sizes(q, sizes))
        return analyse_alone(worker, q, &aside, out, err);

    const bool pins = sweep_pins_sizes(q), fixed[SWEEP_SIZES] = { pins, pins, pins };
    sweep_make_key(q, q->is_full ? "full" : "memory", fixed, &worker->key);
    /* Only whole documents hold a verdict of their own. */
    const int64_t known_memory = q->is_full ? aside.device_memory : 0;
    if (q->is_full)
        cli_append(&worker->key, (const char *)&known_memory, sizeof known_memory);
    if ((status = sweep_hold(worker, q, make_planner, known_memory, err)) != LINNET_OK)
        return status;
    status = (q->is_full ? linnet_planner_analyse : linnet_planner_summarise)(
        worker->held, sizes[SWEEP_BATCH], sizes[SWEEP_CONTEXT], sizes[SWEEP_CACHE], &analysis, err);
    if (status != LINNET_OK)
        return analyse_alone(worker, q, &aside, out, err);
    status = write_analysis(q, &aside, analysis, out, err);
    linnet_analysis_unref(analysis);
    return status;
}

/* ---- fit ---- */

/* What `maximize` calls a size, and how a config sets it. */
static const struct fit_target {
    const char *name;
    int size;
    linnet_status (*set)(linnet_config *config, int64_t value, linnet_error *err);
} fit_targets[] = {
    { "batch", SWEEP_BATCH, linnet_config_set_batch },
    { "context", SWEEP_CONTEXT, linnet_config_set_context },
    { "kv-cache", SWEEP_CACHE, linnet_config_set_cache },
};

static int find_target(const char *name)
{
    for (size_t i = 0; i < sizeof fit_targets / sizeof fit_targets[0]; i++)
        if (strcmp(fit_targets[i].name, name) == 0)
            return (int)i;
    return -1;
}

static void write_fit(const char *target, const linnet_fit *fit, cli_buffer *out)
{
    const linnet_analysis *analysis = linnet_fit_analysis(fit);
    const bool found = linnet_fit_value(fit) > 0;
    sweep_pair_text(out, "target", target);
    sweep_key(out, "value");
    if (found)
        sweep_integer(out, linnet_fit_value(fit));
    else
        sweep_text(out, NULL);
    sweep_pair_integer(out, "budget", linnet_fit_budget_bytes(fit));
    sweep_key(out, "headroom");
    if (found)
        sweep_integer(out, linnet_fit_headroom(fit));
    else
        sweep_text(out, NULL);
    sweep_pair_text(out, "limited_by", linnet_fit_limited_by(fit));
    sweep_key(out, "expected_peak");
    if (analysis != NULL)
        sweep_integer(out, linnet_analysis_expected_peak(analysis));
    else
        sweep_text(out, NULL);
}

/* As the command does it. */
static linnet_status fit_alone(sweep_worker *worker, const sweep_question *q,
                               const sweep_asides *aside, int64_t budget, cli_buffer *out,
                               linnet_error *err)
{
    linnet_fit *fit = NULL;
    linnet_text *text = NULL;
    sweep_prepared p = { NULL, NULL };
    linnet_status status = sweep_prepare(worker, q, &p, err);
    if (status == LINNET_OK)
        status = linnet_fit_new(p.model, p.config, aside->request.maximize, budget, &fit, err);
    if (status == LINNET_OK && q->is_full)
        status = linnet_fit_to_json(fit, aside->request.top, &text, err);
    if (status == LINNET_OK && q->is_full)
        write_result(text, out);
    else if (status == LINNET_OK)
        write_fit(aside->request.maximize, fit, out);
    linnet_fit_unref(fit);
    sweep_release(&p);
    return status;
}

/* The size that is searched for is free in a planner when it is set, whatever to. */
static linnet_status make_fit_planner(sweep_worker *worker, const sweep_question *q, int64_t target,
                                      linnet_planner **out, linnet_error *err)
{
    sweep_prepared p = { NULL, NULL };
    linnet_status status = sweep_prepare(worker, q, &p, err);
    if (status == LINNET_OK)
        status = fit_targets[target].set(p.config, 1, err);
    if (status == LINNET_OK)
        status = linnet_planner_new(p.model, p.config, out, err);
    sweep_release(&p);
    return status;
}

static linnet_status answer_fit(sweep_worker *worker, const sweep_question *q, cli_buffer *out,
                                linnet_error *err)
{
    static const bool fixed[SWEEP_SIZES] = { true, true, true };
    linnet_fit *fit = NULL;
    linnet_error reason;
    sweep_asides aside;
    int64_t budget;
    linnet_status status = sweep_read_asides(worker, q, &aside, err);
    if (status != LINNET_OK)
        return status;
    if (aside.request.maximize == NULL)
        return cli_refuse_value(err, "maximize is missing: `batch`, `context` or `kv-cache`");
    if (aside.device_memory == 0)
        return cli_refuse_value(err,
                                "device-memory is missing, or device: a name that `linnet devices` "
                                "lists, or a profile file");
    if ((status = linnet_fit_budget(aside.device_memory, aside.request.reserve,
                                    aside.request.reserve_thousandths, &budget, err)) != LINNET_OK)
        return status;

    const int target = find_target(aside.request.maximize);
    if (target < 0 || q->is_full || sweep_pins_sizes(q) ||
        q->sizes[fit_targets[target].size].text != NULL)
        return fit_alone(worker, q, &aside, budget, out, err);
    sweep_make_key(q, aside.request.maximize, fixed, &worker->key);
    if (sweep_hold(worker, q, make_fit_planner, target, &reason) != LINNET_OK ||
        linnet_planner_fit(worker->held, aside.request.maximize, budget, &fit, &reason) !=
            LINNET_OK)
        return fit_alone(worker, q, &aside, budget, out, err);
    write_fit(aside.request.maximize, fit, out);
    linnet_fit_unref(fit);
    return LINNET_OK;
}

/* ---- time ---- */

enum { SECONDS_DECIMALS = 12, RATE_DECIMALS = 3, SHARE_DECIMALS = 6 };

static void write_timing(const linnet_timing *timing, const linnet_device *device, cli_buffer *out)
{
    static const struct {
        const char *key;
        double (*of)(const linnet_timing *timing);
        int decimals;
    } members[] = {
        { "seconds", linnet_timing_seconds, SECONDS_DECIMALS },
        { "tokens", linnet_timing_tokens, 0 },
        { "tokens_per_second", linnet_timing_tokens_per_second, RATE_DECIMALS },
        { "compute_seconds", linnet_timing_compute_seconds, SECONDS_DECIMALS },
        { "memory_seconds", linnet_timing_memory_seconds, SECONDS_DECIMALS },
        { "communication_seconds", linnet_timing_communication_seconds, SECONDS_DECIMALS },
        { "host_seconds", linnet_timing_host_seconds, SECONDS_DECIMALS },
        { "model_utilisation", linnet_timing_model_utilisation, SHARE_DECIMALS },
        { "hardware_utilisation", linnet_timing_hardware_utilisation, SHARE_DECIMALS },
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        sweep_pair_decimal(out, members[i].key, members[i].of(timing), members[i].decimals);
    sweep_pair_text(out, "limit", linnet_timing_limit(timing));
    sweep_pair_integer(out, "expected_peak", linnet_timing_expected_peak(timing));
    write_verdict(linnet_timing_expected_peak(timing), linnet_device_memory(device), out);
}

static linnet_status time_step(const sweep_question *q, const sweep_prepared *p,
                               const linnet_device *device, cli_buffer *out, linnet_error *err)
{
    linnet_timing *timing = NULL;
    linnet_text *text = NULL;
    linnet_status status = linnet_timing_new(p->model, p->config, device, &timing, err);
    if (status == LINNET_OK && q->is_full)
        status = linnet_timing_to_json(timing, &text, err);
    if (status == LINNET_OK && q->is_full)
        write_result(text, out);
    else if (status == LINNET_OK)
        write_timing(timing, device, out);
    linnet_timing_unref(timing);
    return status;
}

static linnet_status answer_time(sweep_worker *worker, const sweep_question *q, cli_buffer *out,
                                 linnet_error *err)
{
    linnet_device *device = NULL;
    sweep_prepared p = { NULL, NULL };
    sweep_asides aside;
    linnet_status status = sweep_read_asides(worker, q, &aside, err);
    if (status == LINNET_OK && aside.request.device == NULL)
        status = cli_refuse_value(
            err, "device is missing: a name that `linnet devices` lists, or a profile file");
    if (status == LINNET_OK)
        status = sweep_store_device(worker->store, aside.request.device, &device, err);
    if (status == LINNET_OK)
        status = sweep_prepare(worker, q, &p, err);
    if (status == LINNET_OK)
        status = time_step(q, &p, device, out, err);
    sweep_release(&p);
    linnet_device_unref(device);
    return status;
}

/* ---- lines ---- */

static const sweep_command commands[] = {
    { "memory", answer_memory },
    { "fit", answer_fit },
    { "time", answer_time },
};

const sweep_command *sweep_find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void begin_line(const json_t *id, int64_t number, cli_buffer *out)
{
    sweep_open(out, '{');
    if (json_is_string(id))
        sweep_pair_text(out, "id", json_string_value(id));
    else if (json_is_integer(id))
        sweep_pair_integer(out, "id", json_integer_value(id));
    else
        sweep_pair_integer(out, "line", number);
}

static void write_error(const linnet_error *err, cli_buffer *out)
{
    char message[sizeof err->source + sizeof err->message + 32];
    if (err->source[0] != '\0' && err->line != 0)
        snprintf(message, sizeof message, "%s:%u:%u: %s", err->source, err->line, err->column,
                 err->message);
    else if (err->source[0] != '\0' && strstr(err->message, err->source) == NULL)
        snprintf(message, sizeof message, "%s: %s", err->source, err->message);
    else
        snprintf(message, sizeof message, "%s", err->message);
    sweep_key(out, "error");
    sweep_open(out, '{');
    sweep_pair_text(out, "status", linnet_status_name(err->code));
    sweep_key(out, "message");
    sweep_message(out, message);
    sweep_close(out, '}');
}

void sweep_answer(sweep_worker *worker, const char *line, size_t length, int64_t number,
                  cli_buffer *out)
{
    sweep_question *q = &worker->question;
    linnet_error err = { 0 };
    const size_t mark = number == 1 ? sweep_mark_length(line, length) : 0;
    linnet_status status = sweep_question_read(line + mark, length - mark, q, &err);
    begin_line(q->id, number, out);
    const size_t body = out->length;
    if (status == LINNET_OK) {
        sweep_pair_text(out, "command", q->command->name);
        status = q->command->answer(worker, q, out, &err);
    }
    if (status != LINNET_OK) {
        out->length = body;
        write_error(&err, out);
    }
    cli_append(out, "}\n", 2);
    sweep_question_clear(q);
}

void sweep_worker_end(sweep_worker *worker)
{
    sweep_let_go(worker);
    sweep_question_clear(&worker->question);
    free(worker->key.data);
    free(worker->held_key.data);
}
