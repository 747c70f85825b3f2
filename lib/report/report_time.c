/* SPDX-License-Identifier: MIT */

/* A step's time for people: seconds, rate, limit, the parts, utilisations, the costliest
 * operations. */

#include "report/report.h"
#include "report/report_columns.h"
#include "report/report_words.h"

enum { NAME_WIDTH = 24, NUMBER_WIDTH = 12, PERCENT_WIDTH = 8, PLACE_WIDTH = 48 };

static void add_milliseconds(lin_text *out, double seconds, uint64_t width)
{
    const uint64_t from = out->length;
    lin_words_milliseconds(out, seconds);
    lin_column_right(out, from, width);
}

static void add_percent(lin_text *out, double share, uint64_t width)
{
    const uint64_t from = out->length;
    lin_words_percent(out, share);
    lin_column_right(out, from, width);
}

/* 6.9e14 as "690.0 TFLOP". */
static void add_operations(lin_text *out, double operations)
{
    static const char *const units[] = {
        " FLOP", " kFLOP", " MFLOP", " GFLOP", " TFLOP", " PFLOP"
    };
    uint32_t unit = 0;
    for (; operations >= 1e3 && unit + 1 < ARRAY_LEN(units); unit++)
        operations /= 1e3;
    lin_text_fixed(out, operations, 1);
    lin_text_add(out, units[unit]);
}

/* ---- sections ---- */

static void add_head(lin_text *out, const lin_timing *t)
{
    lin_text_addf(out, "Predicted step time on %s", t->device);
    if (t->device_source[0] != '\0')
        lin_text_addf(out, " (%s)", t->device_source);
    lin_text_addf(out, ", time model %s\n\n", lin_time_model_name(t->time_model));
    lin_column_left(out, "Step", NAME_WIDTH);
    add_milliseconds(out, t->time.seconds, NUMBER_WIDTH);
    lin_text_add(out, "\n");
    lin_column_left(out, "Tokens", NAME_WIDTH);
    lin_column_grouped(out, t->time.tokens, NUMBER_WIDTH - 3);
    lin_text_add(out, "\n");
    lin_column_left(out, "Tokens per second", NAME_WIDTH);
    lin_column_grouped(out, t->time.tokens_per_second, NUMBER_WIDTH - 3);
    lin_text_add(out, "\n");
    lin_column_left(out, "Limited by", NAME_WIDTH);
    lin_text_addf(out, "%s\n", lin_limit_name(t->time.limit));
    if (t->schedule != NULL) {
        lin_column_left(out, "Pipeline", NAME_WIDTH);
        lin_text_addf(out, "%s, %lld ranks, %lld micro-batches, bubble ", t->schedule,
                      (long long)t->devices, (long long)t->microbatches);
        add_percent(out, t->time.bubble, 0);
        lin_text_add(out, "\n");
    }
    lin_text_add(out, "\n");
}

static void add_part(lin_text *out, const lin_timing *t, const char *name, double seconds)
{
    lin_column_left(out, name, NAME_WIDTH);
    add_milliseconds(out, seconds, NUMBER_WIDTH);
    add_percent(out, t->time.seconds > 0 ? seconds / t->time.seconds : 0, PERCENT_WIDTH + 2);
    lin_text_add(out, "\n");
}

static void add_parts(lin_text *out, const lin_timing *t)
{
    add_part(out, t, "Compute", t->time.spent[LIN_SPENT_COMPUTE]);
    add_part(out, t, "Memory", t->time.spent[LIN_SPENT_MEMORY]);
    add_part(out, t, "Communication", t->time.spent[LIN_SPENT_COMMUNICATION]);
    add_part(out, t, "Waiting for the host", t->time.host);
    if (t->training) {
        lin_text_add(out, "Of the memory time, ");
        add_milliseconds(out, t->part.optimizer, 0);
        lin_text_addf(out, " are the optimizer's pass (%s).\n", t->optimizer);
    }
    lin_text_add(out, "\n");
}

static void add_utilisation(lin_text *out, const lin_timing *t, const char *name, double operations)
{
    const double possible = t->time.seconds * t->peak * (double)t->devices;
    lin_column_left(out, name, NAME_WIDTH + 4);
    add_percent(out, possible > 0 ? operations / possible : 0, PERCENT_WIDTH);
    lin_text_add(out, " = ");
    add_operations(out, operations);
    lin_text_add(out, " / (");
    add_milliseconds(out, t->time.seconds, 0);
    lin_text_add(out, " * ");
    if (t->devices > 1)
        lin_text_addf(out, "%lld * ", (long long)t->devices);
    add_operations(out, t->peak);
    lin_text_addf(out, "/s, %s)\n", t->peak_source);
}

static void add_memory(lin_text *out, const lin_timing *t)
{
    char peak[LIN_BYTES_TEXT];
    lin_format_bytes(peak, t->expected_peak);
    lin_text_addf(out, "\nExpected peak %s. ", peak);
    lin_words_verdict(out, t->expected_peak, t->budget);
}

static const char *const class_words[LIN_SPENT_COUNT] = { "compute", "memory", "communication" };

static void add_costliest(lin_text *out, const lin_timing *t)
{
    if (t->costliest_count == 0)
        return;
    lin_text_add(out, "\nCostliest operations:\n");
    for (uint32_t i = 0; i < t->costliest_count; i++) {
        const lin_costly *c = &t->costliest[i];
        const uint64_t from = out->length;
        lin_text_addf(out, "  %s in ", c->label);
        if (c->scope[0] != '\0')
            lin_text_addf(out, "`%s`", c->scope);
        else
            lin_text_add(out, "the root");
        const uint64_t length = out->length - from;
        lin_text_fill(out, ' ', length < PLACE_WIDTH ? PLACE_WIDTH - length : 1);
        lin_text_addf(out, " x %-4u", (unsigned)c->calls);
        add_milliseconds(out, c->seconds, NUMBER_WIDTH);
        add_percent(out, t->time.seconds > 0 ? c->seconds / t->time.seconds : 0, PERCENT_WIDTH);
        lin_text_addf(out, "  %s\n", class_words[c->spent]);
    }
}

void lin_report_time_text(lin_text *out, const lin_timing *timing)
{
    add_head(out, timing);
    add_parts(out, timing);
    add_utilisation(out, timing, "Model FLOPs utilisation", timing->model_operations);
    add_utilisation(out, timing, "Hardware FLOPs utilisation", timing->hardware_operations);
    add_memory(out, timing);
    add_costliest(out, timing);
}
