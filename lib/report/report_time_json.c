/* SPDX-License-Identifier: MIT */

/* A step's time as one JSON document; `throughput` has the keys of cli-report.md 3.2. */

#include "report/report.h"

#include <math.h>

#include "json/json.h"

enum { TIME_REPORT_VERSION = 1 };

/* What a sum of many doubles says beyond that is noise. */
static const double picoseconds = 1e12, millionths = 1e6, thousandths = 1e3;

static void pair_rounded(lin_writer *w, const char *key, double value, double unit)
{
    lin_pair_double(w, key, round(value * unit) / unit);
}

static void pair_seconds(lin_writer *w, const char *key, double value)
{
    pair_rounded(w, key, value, picoseconds);
}

static void write_configuration(lin_writer *w, const lin_timing *t)
{
    lin_write_key(w, "configuration");
    lin_write_object(w);
    lin_pair_string(w, "model", t->model);
    lin_pair_string(w, "entry", t->entry);
    lin_pair_string(w, "numerics", t->numerics);
    lin_pair_string(w, "dtype", t->dtype);
    lin_pair_size(w, "batch", t->role_value[LIN_ROLE_BATCH]);
    lin_pair_size(w, "context", t->role_value[LIN_ROLE_CONTEXT]);
    lin_pair_size(w, "cache", t->role_value[LIN_ROLE_CACHE]);
    lin_pair_bool(w, "training", t->training);
    lin_pair_string(w, "optimizer", t->optimizer);
    lin_pair_string(w, "checkpoint", t->checkpoint);
    lin_pair_string(w, "schedule", t->schedule);
    lin_pair_size(w, "microbatches", t->microbatches);
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
    lin_pair_string(w, "limit", lin_limit_name(time->limit));
    lin_write_object_end(w);
}

static void write_part(lin_writer *w, const lin_timing *t)
{
    lin_write_key(w, "part");
    lin_write_object(w);
    pair_seconds(w, "host_clock_seconds", t->part.host);
    pair_seconds(w, "optimizer_seconds", t->part.optimizer);
    lin_pair_size(w, "steps", t->part.steps);
    lin_pair_size(w, "forward_calls", t->part.forward_calls);
    lin_pair_size(w, "backward_calls", t->part.backward_calls);
    pair_rounded(w, "recomputed", t->recompute, millionths);
    lin_write_object_end(w);
}

static void write_utilisation(lin_writer *w, const lin_timing *t)
{
    const double possible = t->time.seconds * t->peak * (double)t->devices;
    lin_write_key(w, "utilisation");
    lin_write_object(w);
    lin_pair_string(w, "formula", "operations / (seconds * devices * peak)");
    lin_pair_size(w, "devices", t->devices);
    pair_rounded(w, "model", possible > 0 ? t->model_operations / possible : 0, millionths);
    pair_rounded(w, "hardware", possible > 0 ? t->hardware_operations / possible : 0, millionths);
    pair_rounded(w, "model_operations", t->model_operations, 1);
    pair_rounded(w, "hardware_operations", t->hardware_operations, 1);
    pair_rounded(w, "peak", t->peak, 1);
    lin_pair_string(w, "peak_source", t->peak_source);
    lin_write_object_end(w);
}

static void write_memory(lin_writer *w, const lin_timing *t)
{
    lin_write_key(w, "memory");
    lin_write_object(w);
    lin_pair_size(w, "expected_peak", t->expected_peak);
    lin_pair_size(w, "device", t->budget);
    lin_pair_i64(w, "free", t->budget - t->expected_peak);
    lin_pair_bool(w, "fits", t->expected_peak <= t->budget);
    lin_pair_string(w, "verdict", lin_fit_verdict(t->expected_peak, t->budget));
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
        lin_pair_string(w, "operation", c->label);
        lin_pair_string(w, "scope", c->scope);
        lin_pair_size(w, "calls", c->calls);
        pair_seconds(w, "seconds", c->seconds);
        pair_seconds(w, "host_seconds", c->host);
        lin_pair_string(w, "class", classes[c->spent]);
        lin_write_object_end(w);
    }
    lin_write_array_end(w);
}

static void write_rules(lin_writer *w, const lin_timing *t)
{
    const uint64_t bits = lin_time_model_rules(t->time_model);
    lin_write_key(w, "rules");
    lin_write_array(w);
    for (uint32_t i = 0; i < LIN_RULE_COUNT; i++)
        if (bits & (UINT64_C(1) << i))
            lin_write_string(w, lin_time_rule_at(i)->name);
    lin_write_array_end(w);
}

void lin_report_time_json(lin_text *out, const lin_timing *timing)
{
    lin_writer w;
    lin_writer_init(&w, out);
    lin_write_object(&w);
    lin_pair_size(&w, "version", TIME_REPORT_VERSION);
    lin_write_key(&w, "device");
    lin_write_object(&w);
    lin_pair_string(&w, "name", timing->device);
    lin_pair_string(&w, "source", timing->device_source);
    lin_write_object_end(&w);
    lin_pair_string(&w, "time_model", lin_time_model_name(timing->time_model));
    write_rules(&w, timing);
    write_configuration(&w, timing);
    lin_write_key(&w, "throughput");
    lin_report_throughput_into(&w, &timing->time);
    write_part(&w, timing);
    write_utilisation(&w, timing);
    write_memory(&w, timing);
    write_costliest(&w, timing);
    lin_pair_strings(&w, "assumptions", timing->assumptions, timing->assumption_count);
    lin_write_object_end(&w);
    lin_writer_end(&w);
}
