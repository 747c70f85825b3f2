/* SPDX-License-Identifier: MIT */

/* A profile's measured grids: for people what there is and where it is from, in JSON all of it, as
 * the reader takes it. */

#include "report/report_measured.h"

#include <string.h>

/* ---- text ---- */

static void add_name(lin_text *out, const char *name, const char *of)
{
    enum { WIDTH = 24 };
    const uint64_t length = strlen(name) + strlen(of);
    lin_text_addf(out, "  %s%s", name, of);
    lin_text_fill(out, ' ', length < WIDTH ? WIDTH - length : 1);
}

static void add_grid(lin_text *out, const char *name, const char *of, const lin_grid *grid)
{
    if (grid->axes == 0)
        return;
    add_name(out, name, of);
    for (uint32_t a = 0; a < grid->axes; a++)
        lin_text_addf(out, "%s%u", a > 0 ? " x " : "", grid->counts[a]);
    lin_text_addf(out, " sizes: %s\n", grid->source);
}

static void add_flops(lin_text *out, const lin_measured *measured, uint32_t dtype)
{
    if (measured->flops[dtype] <= 0)
        return;
    add_name(out, "products of runs, ", lin_rate_dtype_names[dtype]);
    lin_text_fixed(out, measured->flops[dtype] / 1e12, 2);
    lin_text_addf(out, " TFLOP/s: %s\n", measured->flops_source);
}

void lin_report_measured_text(lin_text *out, const lin_measured *measured)
{
    if (!lin_measured_any(measured))
        return;
    lin_text_add(out, "\nMeasured by size\n");
    for (uint32_t i = 0; i < LIN_RATE_COUNT; i++)
        add_flops(out, measured, i);
    for (uint32_t i = 0; i < LIN_RATE_COUNT; i++)
        add_grid(out, "products, ", lin_rate_dtype_names[i], &measured->products[i]);
    for (uint32_t i = 0; i < measured->attention_count; i++)
        add_grid(out, "attention, ", lin_attention_kind_names[measured->attention[i].kind],
                 &measured->attention[i].grid);
    add_grid(out, "caches, one query", "", &measured->decode);
    for (uint32_t i = 0; i < LIN_COLLECTIVE_COUNT; i++)
        add_grid(out, lin_collective_names[i], "", &measured->collectives[i]);
}

/* ---- JSON ---- */

static void write_numbers(lin_writer *w, const char *key, const double *numbers, uint32_t count)
{
    lin_write_key(w, key);
    lin_write_array(w);
    for (uint32_t i = 0; i < count; i++)
        lin_write_double(w, numbers[i]);
    lin_write_array_end(w);
}

static void write_grid(lin_writer *w, const char *key, const lin_grid *grid,
                       const lin_grid_form *form)
{
    uint32_t corners = 1;
    if (grid->axes == 0)
        return;
    lin_write_key(w, key);
    lin_write_object(w);
    lin_pair_string(w, "source", grid->source);
    for (uint32_t a = 0; a < grid->axes; a++) {
        write_numbers(w, form->axis[a], grid->points[a], grid->counts[a]);
        corners *= grid->counts[a];
    }
    write_numbers(w, form->values, grid->values, corners);
    lin_write_object_end(w);
}

static void write_flops(lin_writer *w, const lin_measured *measured)
{
    if (measured->flops_source == NULL)
        return;
    lin_write_key(w, "flops");
    lin_write_object(w);
    lin_pair_string(w, "source", measured->flops_source);
    for (uint32_t i = 0; i < LIN_RATE_COUNT; i++) {
        if (measured->flops[i] <= 0)
            continue;
        lin_pair_double(w, lin_rate_dtype_names[i], measured->flops[i]);
    }
    lin_write_object_end(w);
}

static void write_grids(lin_writer *w, const char *key, const lin_grid *grids,
                        const char *const *words, uint32_t count, const lin_grid_form *form)
{
    uint32_t measured = 0;
    for (uint32_t i = 0; i < count; i++)
        measured += grids[i].axes > 0;
    if (measured == 0)
        return;
    lin_write_key(w, key);
    lin_write_object(w);
    for (uint32_t i = 0; i < count; i++)
        write_grid(w, words[i], &grids[i], form);
    lin_write_object_end(w);
}

static void write_attention(lin_writer *w, const lin_measured *measured)
{
    lin_text key;
    if (measured->attention_count == 0)
        return;
    lin_text_init(&key, &w->out->allocator);
    lin_write_key(w, "attention");
    lin_write_object(w);
    for (uint32_t i = 0; i < measured->attention_count; i++) {
        const lin_attention_grid *grid = &measured->attention[i];
        lin_text_clear(&key);
        lin_text_addf(&key, "%s/%lld%s", lin_attention_kind_names[grid->kind],
                      (long long)grid->width, grid->is_f32 ? "/f32" : "");
        write_grid(w, lin_text_data(&key), &grid->grid, &lin_grid_forms[LIN_GRID_ATTENTION]);
    }
    lin_write_object_end(w);
    w->out->failed |= key.failed;
    lin_text_free(&key);
}

void lin_report_measured_json(lin_writer *w, const lin_measured *measured)
{
    if (!lin_measured_any(measured))
        return;
    lin_write_key(w, "measured");
    lin_write_object(w);
    write_flops(w, measured);
    write_grids(w, "products", measured->products, lin_rate_dtype_names, LIN_RATE_COUNT,
                &lin_grid_forms[LIN_GRID_PRODUCT]);
    write_attention(w, measured);
    write_grid(w, "decode", &measured->decode, &lin_grid_forms[LIN_GRID_DECODE]);
    write_grids(w, "collectives", measured->collectives, lin_collective_names, LIN_COLLECTIVE_COUNT,
                &lin_grid_forms[LIN_GRID_COLLECTIVE]);
    lin_write_object_end(w);
}
