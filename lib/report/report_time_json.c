/* SPDX-License-Identifier: MIT */

/* A step's time as one JSON document; `throughput` has the keys of cli-report.md 3.2. */

#include "report/report.h"

#include <math.h>

#include "json/json.h"

enum { TIME_REPORT_VERSION = 1 };

static void pair_text(lin_writer *w, const char *key, const char *text)
{
    lin_write_key(w, key);
    lin_write_string(w, text);
}

/* What a sum of many doubles says beyond that is noise. */
static const double picoseconds = 1e12, millionths = 1e6, thousandths = 1e3;

static void pair_rounded(lin_writer *w, const char *key, double value, double unit)
{
    lin_write_key(w, key);
    lin_write_double(w, round(value * unit) / unit);
}

static void pair_seconds(lin_writer *w, const char *key, double value)
{
    pair_rounded(w, key, value, picoseconds);
}

static void pair_integer(lin_writer *w, const char *key, int64_t value)
{
    lin_write_key(w, key);
    if (value < 0)
        lin_write_null(w);
    else
        lin_write_i64(w, value);
}

static void write_configuration(lin_writer *w, const lin_timing *t)
{
    lin_write_key(w, "configuration");
    lin_write_object(w);
    pair_text(w, "model", t->model);
    pair_text(w, "entry", t->entry);
    pair_text(w, "numerics", t->numerics);
    pair_text(w, "dtype", t->dtype);
    pair_integer(w, "batch", t->role_value[LIN_ROLE_BATCH]);
    pair_integer(w, "context", t->role_value[LIN_ROLE_CONTEXT]);
    pair_integer(w, "cache", t->role_value[LIN_ROLE_CACHE]);
    lin_write_key(w, "training");
    lin_write_bool(w, t->training);
    pair_text(w, "optimizer", t->optimizer);
    pair_text(w, "checkpoint", t->checkpoint);
    pair_text(w, "schedule", t->schedule);
    pair_integer(w, "microbatches", t->microbatches);
    lin_write_object_end(w);
}

void lin_report_throughput_into(lin_writer *w, const lin_step_time *time)
{
    lin_write_object(w);
    pair_rounded(w, "tokens", time->tokens, 1);
    pair_seconds(w, "seconds", time->seconds);
    pair_rounded(w, "tokens_per_second", time->tokens_per_second, thousandths);
    pair_seconds(w, "compute_seconds", time->spent[LIN_SPENT_COMPUTE]);
    pair_seconds(w, "memory_seconds", time->spent[LIN_SPENT_MEMORY]);
    pair_seconds(w, "communication_seconds", time->spent[LIN_SPENT_COMMUNICATION]);
    pair_seconds(w, "host_seconds", time->host);
    pair_rounded(w, "bubble", time->bubble, millionths);
    pair_text(w, "limit", lin_limit_name(time->limit));
    lin_write_object_end(w);
}

static void write_part(lin_writer *w, const lin_timing *t)
{
    lin_write_key(w, "part");
    lin_write_object(w);
    pair_seconds(w, "host_clock_seconds", t->part.host);
    pair_seconds(w, "optimizer_seconds", t->part.optimizer);
    pair_integer(w, "steps", t->part.steps);
    pair_integer(w, "forward_calls", t->part.forward_calls);
    pair_integer(w, "backward_calls", t->part.backward_calls);
    pair_rounded(w, "recomputed", t->recompute, millionths);
    lin_write_object_end(w);
}

static void write_utilisation(lin_writer *w, const lin_timing *t)
{
    const double possible = t->time.seconds * t->peak * (double)t->devices;
    lin_write_key(w, "utilisation");
    lin_write_object(w);
    pair_text(w, "formula", "operations / (seconds * devices * peak)");
    pair_integer(w, "devices", t->devices);
    pair_rounded(w, "model", possible > 0 ? t->model_operations / possible : 0, millionths);
    pair_rounded(w, "hardware", possible > 0 ? t->hardware_operations / possible : 0, millionths);
    pair_rounded(w, "model_operations", t->model_operations, 1);
    pair_rounded(w, "hardware_operations", t->hardware_operations, 1);
    pair_rounded(w, "peak", t->peak, 1);
    pair_text(w, "peak_source", t->peak_source);
    lin_write_object_end(w);
}

static void write_memory(lin_writer *w, const lin_timing *t)
{
    lin_write_key(w, "memory");
    lin_write_object(w);
    pair_integer(w, "expected_peak", t->expected_peak);
    pair_integer(w, "device", t->budget);
    lin_write_key(w, "free");
    lin_write_i64(w, t->budget - t->expected_peak);
    lin_write_key(w, "fits");
    lin_write_bool(w, t->expected_peak <= t->budget);
    pair_text(w, "verdict", lin_fit_verdict(t->expected_peak, t->budget));
    lin_write_object_end(w);
}

static void write_costliest(lin_writer *w, const lin_timing *t)
{
    static const char *const classes[LIN_SPENT_COUNT] = { "compute", "memory", "communication" };
    lin_write_key(w, "costliest");
    lin_write_array(w);
    for (uint32_t i = 0; i < t->costliest_count; i++) {
        const lin_costly *c = &t->costliest[i];
        lin_write_object(w);
        pair_text(w, "operation", c->label);
        pair_text(w, "scope", c->scope);
        pair_integer(w, "calls", c->calls);
        pair_seconds(w, "seconds", c->seconds);
        pair_seconds(w, "host_seconds", c->host);
        pair_text(w, "class", classes[c->spent]);
        lin_write_object_end(w);
    }
    lin_write_array_end(w);
}

static void write_rules(lin_writer *w, const lin_timing *t)
{
    const uint32_t bits = lin_time_model_rules(t->time_model);
    lin_write_key(w, "rules");
    lin_write_array(w);
    for (uint32_t i = 0; i < LIN_RULE_COUNT; i++)
        if (bits & (1u << i))
            lin_write_string(w, lin_time_rule_at(i)->name);
    lin_write_array_end(w);
}

void lin_report_time_json(lin_text *out, const lin_timing *timing)
{
    lin_writer w;
    lin_writer_init(&w, out);
    lin_write_object(&w);
    pair_integer(&w, "version", TIME_REPORT_VERSION);
    lin_write_key(&w, "device");
    lin_write_object(&w);
    pair_text(&w, "name", timing->device);
    pair_text(&w, "source", timing->device_source);
    lin_write_object_end(&w);
    pair_text(&w, "time_model", lin_time_model_name(timing->time_model));
    write_rules(&w, timing);
    write_configuration(&w, timing);
    lin_write_key(&w, "throughput");
    lin_report_throughput_into(&w, &timing->time);
    write_part(&w, timing);
    write_utilisation(&w, timing);
    write_memory(&w, timing);
    write_costliest(&w, timing);
    lin_write_key(&w, "assumptions");
    lin_write_array(&w);
    for (uint32_t i = 0; i < timing->assumption_count; i++)
        lin_write_string(&w, timing->assumptions[i]);
    lin_write_array_end(&w);
    lin_write_object_end(&w);
    lin_writer_end(&w);
}
