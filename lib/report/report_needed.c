/* SPDX-License-Identifier: MIT */

/* How many devices a job needs, as text and JSON, with the layouts of that many. */

#include "report/report_layouts.h"

#include <math.h>

#include "report/report_columns.h"
#include "json/json.h"

enum { NEEDED_REPORT_VERSION = 1 };
static const double thousandths = 1e3;

static void add_layout(lin_text *out, const lin_layouts *layouts)
{
    if (layouts == NULL || layouts->count == 0)
        return;
    lin_text_addf(out, " (%s: ", layouts->items[0].name);
    lin_column_grouped(out, layouts->items[0].time.tokens_per_second, 0);
    lin_text_add(out, " tokens/s)");
}

static void add_fits(lin_text *out, const lin_devices_needed *needed, const char *device)
{
    if (needed->fits == 0) {
        lin_text_addf(out, "No number of devices up to %lld x %s fits.\n", (long long)needed->most,
                      device);
        return;
    }
    lin_text_addf(out, "Smallest number of devices that fits: %lld x %s", (long long)needed->fits,
                  device);
    add_layout(out, needed->fitting);
    lin_text_add(out, "\n");
}

static void add_fast(lin_text *out, const lin_devices_needed *needed, const char *device)
{
    lin_text_add(out, needed->fast > 0 ? "Smallest number that reaches " : "None reaches ");
    lin_column_grouped(out, needed->tokens_per_second, 0);
    if (needed->fast > 0) {
        lin_text_addf(out, " tokens/s: %lld x %s", (long long)needed->fast, device);
        add_layout(out, needed->reaching);
        lin_text_add(out, "\n");
        return;
    }
    lin_text_addf(out, " tokens/s, up to %lld x %s: the fastest found has ",
                  (long long)needed->most, device);
    lin_column_grouped(out, needed->best, 0);
    lin_text_addf(out, ", on %lld\n", (long long)needed->best_devices);
}

void lin_report_needed_text(lin_text *out, const lin_devices_needed *needed, const char *device)
{
    const lin_layouts *shown = needed->fast > 0 ? needed->reaching : needed->fitting;
    add_fits(out, needed, device);
    if (needed->tokens_per_second > 0 && needed->fits > 0)
        add_fast(out, needed, device);
    if (shown == NULL)
        return;
    lin_text_add(out, "\n");
    lin_report_layouts_table(out, shown, false);
    lin_report_layouts_assumptions(out, shown);
}

static void write_rounded(lin_writer *w, const char *key, double value)
{
    lin_write_key(w, key);
    if (value > 0)
        lin_write_double(w, round(value * thousandths) / thousandths);
    else
        lin_write_null(w);
}

static void write_layouts(lin_writer *w, const char *key, const lin_layouts *layouts)
{
    lin_write_key(w, key);
    if (layouts != NULL)
        lin_report_layouts_into(w, layouts, NULL, 0);
    else
        lin_write_null(w);
}

void lin_report_needed_json(lin_text *out, const lin_devices_needed *needed, const char *device)
{
    lin_writer w;
    lin_writer_init(&w, out);
    lin_write_object(&w);
    lin_pair_i64(&w, "version", NEEDED_REPORT_VERSION);
    lin_pair_string(&w, "target", "devices");
    lin_pair_string(&w, "device", device);
    lin_pair_i64(&w, "most", needed->most);
    write_rounded(&w, "tokens_per_second", needed->tokens_per_second);
    lin_pair_known(&w, "fits", needed->fits > 0, needed->fits);
    lin_pair_known(&w, "reaches", needed->fast > 0, needed->fast);
    lin_write_key(&w, "fastest");
    if (needed->best_devices > 0) {
        lin_write_object(&w);
        lin_pair_i64(&w, "devices", needed->best_devices);
        write_rounded(&w, "tokens_per_second", needed->best);
        lin_write_object_end(&w);
    } else {
        lin_write_null(&w);
    }
    write_layouts(&w, "fitting", needed->fitting);
    write_layouts(&w, "reaching", needed->reaching);
    lin_write_object_end(&w);
    lin_writer_end(&w);
}
