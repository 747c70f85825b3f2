/* SPDX-License-Identifier: MIT */

/* A device profile for people, and as a profile file with every figure that is in force. */

#include "report/report.h"

#include <string.h>

#include "report/report_measured.h"

/* ---- text ---- */

static void add_name(lin_text *out, const char *name)
{
    enum { WIDTH = 26 };
    const uint64_t length = strlen(name);
    lin_text_add(out, name);
    lin_text_fill(out, ' ', length < WIDTH ? WIDTH - length : 1);
}

static void add_scaled(lin_text *out, const char *name, double value, double unit,
                       const char *unit_word)
{
    add_name(out, name);
    lin_text_fixed(out, value / unit, 2);
    lin_text_addf(out, " %s\n", unit_word);
}

static void add_bytes(lin_text *out, const char *name, int64_t bytes)
{
    char text[LIN_BYTES_TEXT];
    lin_format_bytes(text, bytes);
    add_name(out, name);
    lin_text_addf(out, "%s (%lld bytes)\n", text, (long long)bytes);
}

static void add_rates(lin_text *out, const lin_profile *p)
{
    static const struct {
        const char *name;
        size_t offset;
    } rows[] = {
        { "Bandwidth", offsetof(lin_profile, bandwidth) },
        { "  elementwise", offsetof(lin_profile, elementwise) },
        { "  broadcast or strided", offsetof(lin_profile, broadcast) },
        { "  skinny products", offsetof(lin_profile, skinny) },
        { "  caches, one query", offsetof(lin_profile, decode) },
    };
    for (uint32_t i = 0; i < LIN_RATE_COUNT; i++) {
        add_name(out, i == 0 ? "Products" : "");
        lin_text_fixed(out, lin_rate_peak(p, (lin_rate_dtype)i) / 1e12, 2);
        lin_text_addf(out, " TFLOP/s in %s\n", lin_rate_dtype_names[i]);
    }
    for (uint32_t i = 0; i < ARRAY_LEN(rows); i++) {
        double value;
        memcpy(&value, (const char *)p + rows[i].offset, sizeof(value));
        add_scaled(out, rows[i].name, value, 1e9, "GB/s");
    }
    add_scaled(out, "Link, one direction", p->link, 1e9, "GB/s");
    add_scaled(out, "  latency", p->latency, 1e-6, "us");
    add_scaled(out, "  a small sum", p->reduce, 1e-6, "us");
    if (p->node.devices > 0) {
        add_name(out, "Node");
        lin_text_addf(out, "%lld devices on the link\n", (long long)p->node.devices);
        add_scaled(out, "  network, a device", p->node.network, 1e9, "GB/s");
        add_scaled(out, "  latency", p->node.latency, 1e-6, "us");
    }
    add_scaled(out, "Kernel", p->kernel, 1e-6, "us");
    add_scaled(out, "  strided", p->strided_kernel, 1e-6, "us");
    add_scaled(out, "Host, a call", p->dispatch, 1e-6, "us");
    for (uint32_t i = 0; i < LIN_HOST_COUNT; i++) {
        lin_text_add(out, "  ");
        enum { WIDTH = 24 };
        const uint64_t length = strlen(lin_host_kind_names[i]);
        lin_text_add(out, lin_host_kind_names[i]);
        lin_text_fill(out, ' ', WIDTH - length);
        lin_text_fixed(out, p->host[i] * 1e6, 2);
        lin_text_add(out, " us\n");
    }
}

void lin_report_device_text(lin_text *out, const lin_profile *profile)
{
    lin_text_addf(out, "%s%s%s\n", profile->name, profile->title[0] != '\0' ? ": " : "",
                  profile->title);
    if (profile->source[0] != '\0')
        lin_text_addf(out, "%s\n", profile->source);
    lin_text_add(out, "\n");
    add_bytes(out, "Memory", profile->memory_bytes);
    if (profile->driver_bytes > 0)
        add_bytes(out, "  as the driver says", profile->driver_bytes);
    add_rates(out, profile);
    lin_report_measured_text(out, &profile->measured);
}

/* ---- JSON ---- */

static void pair_text(lin_writer *w, const char *key, const char *text)
{
    if (text[0] == '\0')
        return;
    lin_pair_string(w, key, text);
}

static void pair_positive(lin_writer *w, const char *key, double value)
{
    if (value > 0)
        lin_pair_double(w, key, value);
}

static void write_sheet(lin_writer *w, const lin_sheet *sheet)
{
    lin_write_key(w, "sheet");
    lin_write_object(w);
    pair_positive(w, "bf16", sheet->bf16);
    pair_positive(w, "f16", sheet->f16);
    pair_positive(w, "tf32", sheet->tf32);
    pair_positive(w, "f32", sheet->f32);
    pair_positive(w, "fp8", sheet->fp8);
    pair_positive(w, "fp4", sheet->fp4);
    pair_positive(w, "bandwidth", sheet->bandwidth);
    pair_positive(w, "link", sheet->link);
    lin_write_object_end(w);
}

static void write_grid(lin_writer *w, const lin_rate_grid *grid)
{
    lin_write_array(w);
    for (uint32_t o = 0; o < grid->out_count; o++) {
        for (uint32_t i = 0; i < grid->in_count; i++) {
            const double rate = grid->rates[o * grid->in_count + i];
            if (rate <= 0)
                continue;
            lin_write_array(w);
            lin_write_double(w, grid->out[o]);
            lin_write_double(w, grid->in[i]);
            lin_write_double(w, rate);
            lin_write_array_end(w);
        }
    }
    lin_write_array_end(w);
}

static void write_products(lin_writer *w, const lin_profile *p)
{
    lin_write_key(w, "products");
    lin_write_object(w);
    for (uint32_t i = 0; i < LIN_RATE_COUNT; i++) {
        if (p->products[i].out_count == 0)
            continue;
        lin_write_key(w, lin_rate_dtype_names[i]);
        write_grid(w, &p->products[i]);
    }
    lin_write_object_end(w);
}

static void write_attention(lin_writer *w, const lin_profile *p)
{
    lin_text key;
    lin_text_init(&key, &w->out->allocator);
    lin_write_key(w, "attention");
    lin_write_object(w);
    for (uint32_t i = 0; i < p->attention_count; i++) {
        const lin_attention_rate *rate = &p->attention[i];
        lin_text_clear(&key);
        lin_text_add(&key, lin_attention_kind_names[rate->kind]);
        if (rate->width > 0)
            lin_text_addf(&key, "/%lld%s", (long long)rate->width, rate->is_f32 ? "/f32" : "");
        lin_pair_double(w, lin_text_data(&key), rate->rate);
    }
    lin_write_object_end(w);
    w->out->failed |= key.failed;
    lin_text_free(&key);
}

static void write_node(lin_writer *w, const lin_node *node)
{
    if (node->devices <= 0)
        return;
    lin_write_key(w, "node");
    lin_write_object(w);
    lin_pair_i64(w, "devices", node->devices);
    lin_pair_double(w, "network", node->network);
    lin_pair_double(w, "latency", node->latency);
    if (node->source != NULL)
        pair_text(w, "source", node->source);
    lin_write_object_end(w);
}

/* The first version that has every key which is written. */
static int64_t version_of(const lin_profile *profile)
{
    return profile->node.devices > 0 || lin_measured_any(&profile->measured) ? 2 : 1;
}

void lin_report_device_json(lin_text *out, const lin_profile *profile)
{
    lin_writer writer, *w = &writer;
    lin_writer_init(w, out);
    lin_write_object(w);
    lin_pair_i64(w, "version", version_of(profile));
    pair_text(w, "kind", "linnet-device");
    pair_text(w, "name", profile->name);
    pair_text(w, "title", profile->title);
    pair_text(w, "source", profile->source);
    lin_pair_i64(w, "memory", profile->memory_bytes);
    if (profile->driver_bytes > 0)
        lin_pair_i64(w, "driver_memory", profile->driver_bytes);
    write_sheet(w, &profile->sheet);
    lin_write_key(w, "flops");
    lin_write_object(w);
    for (uint32_t i = 0; i < LIN_RATE_COUNT; i++)
        pair_positive(w, lin_rate_dtype_names[i], profile->flops[i]);
    lin_write_object_end(w);
    lin_pair_double(w, "bandwidth", profile->bandwidth);
    lin_pair_double(w, "elementwise", profile->elementwise);
    lin_pair_double(w, "broadcast", profile->broadcast);
    lin_pair_double(w, "skinny", profile->skinny);
    lin_pair_double(w, "decode", profile->decode);
    lin_pair_double(w, "link", profile->link);
    lin_pair_double(w, "latency", profile->latency);
    lin_pair_double(w, "reduce", profile->reduce);
    write_node(w, &profile->node);
    lin_pair_double(w, "kernel", profile->kernel);
    lin_pair_double(w, "strided_kernel", profile->strided_kernel);
    lin_pair_double(w, "dispatch", profile->dispatch);
    lin_write_key(w, "host");
    lin_write_object(w);
    for (uint32_t i = 0; i < LIN_HOST_COUNT; i++)
        lin_pair_double(w, lin_host_kind_names[i], profile->host[i]);
    lin_write_object_end(w);
    write_products(w, profile);
    write_attention(w, profile);
    lin_report_measured_json(w, &profile->measured);
    lin_write_object_end(w);
    lin_writer_end(w);
}
