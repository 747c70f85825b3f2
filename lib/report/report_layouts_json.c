/* SPDX-License-Identifier: MIT */

/*
 * The fastest layouts as JSON. A candidate's `configuration` has the config's own keys, so that it
 * can be read by linnet_config_set_json once what is null is left out.
 */

#include "report/report_layouts.h"

#include "json/json.h"

enum { LAYOUTS_REPORT_VERSION = 1 };

static const char *const role_keys[LIN_ROLE_COUNT] = {
    [LIN_ROLE_BATCH] = "batch", [LIN_ROLE_CONTEXT] = "context", [LIN_ROLE_CACHE] = "cache"
};

static void pair_text(lin_writer *w, const char *key, const char *text)
{
    lin_write_key(w, key);
    lin_write_string(w, text);
}

static void pair_bool(lin_writer *w, const char *key, bool value)
{
    lin_write_key(w, key);
    lin_write_bool(w, value);
}

static void pair_known(lin_writer *w, const char *key, bool known, int64_t value)
{
    lin_write_key(w, key);
    if (known)
        lin_write_i64(w, value);
    else
        lin_write_null(w);
}

static void pair_integer(lin_writer *w, const char *key, int64_t value)
{
    pair_known(w, key, true, value);
}

static void write_configuration(lin_writer *w, const lin_job_layout *layout)
{
    const lin_parallel *p = &layout->parallel;
    const bool has_pipeline = p->pipeline > 1, is_training = layout->checkpoint != NULL;
    lin_write_key(w, "configuration");
    lin_write_object(w);
    pair_integer(w, "tensor_parallel", p->tensor);
    pair_bool(w, "sequence_parallel", p->sequence);
    pair_integer(w, "context_parallel", p->context);
    pair_integer(w, "expert_parallel", p->expert);
    pair_integer(w, "pipeline_parallel", p->pipeline);
    pair_text(w, "schedule", has_pipeline ? layout->schedule : NULL);
    pair_known(w, "virtual_stages", has_pipeline && layout->virtual_stages > 0,
               layout->virtual_stages);
    pair_integer(w, "microbatches", layout->microbatches);
    pair_known(w, "shards", is_training, p->shards);
    pair_known(w, "zero", is_training && p->shards > 1, p->zero == 0 ? 3 : p->zero);
    pair_integer(w, "replicas", p->replicas);
    pair_known(w, "grad_accumulation", is_training, layout->accumulation);
    pair_text(w, "checkpoint", layout->checkpoint);
    lin_write_object_end(w);
}

static void write_candidate(lin_writer *w, const lin_layout_result *item)
{
    const bool runs = item->state == LIN_LAYOUT_RUNS;
    lin_write_object(w);
    pair_text(w, "layout", item->name);
    pair_text(w, "state", lin_layout_state_name(item->state));
    write_configuration(w, &item->layout);
    pair_integer(w, "replicas", item->layout.parallel.replicas);
    pair_known(w, "size", item->size > 0, item->size);
    pair_text(w, "refusal", runs ? NULL : item->reason);
    pair_known(w, "expected_peak", item->expected_peak >= 0, item->expected_peak);
    lin_write_key(w, "throughput");
    if (runs)
        lin_report_throughput_into(w, &item->time);
    else
        lin_write_null(w);
    lin_write_object_end(w);
}

static void write_candidates(lin_writer *w, const lin_layouts *layouts)
{
    lin_write_key(w, "candidates");
    lin_write_array(w);
    for (uint32_t i = 0; i < layouts->count; i++)
        write_candidate(w, &layouts->items[i]);
    lin_write_array_end(w);
}

static void write_dropped(lin_writer *w, const lin_layouts *layouts)
{
    lin_dropped_list dropped;
    lin_dropped_group(layouts, &dropped);
    lin_write_key(w, "dropped");
    lin_write_array(w);
    for (uint32_t i = 0; i < dropped.count; i++) {
        lin_write_object(w);
        pair_text(w, "state", lin_layout_state_name(dropped.items[i].state));
        pair_text(w, "reason", dropped.items[i].reason);
        pair_integer(w, "count", dropped.items[i].count);
        lin_write_object_end(w);
    }
    lin_write_array_end(w);
}

static void write_question(lin_writer *w, const lin_layouts *layouts)
{
    lin_write_key(w, "device");
    lin_write_object(w);
    pair_text(w, "name", layouts->device);
    pair_text(w, "source", layouts->device_source);
    lin_write_object_end(w);
    pair_integer(w, "devices", layouts->devices);
    pair_text(w, "target", "throughput");
    pair_text(w, "model", layouts->model);
    pair_text(w, "entry", layouts->entry);
    pair_bool(w, "training", layouts->training);
    pair_text(w, "time_model", lin_time_model_name(layouts->time_model));
    pair_text(w, "space", layouts->space == LIN_SPACE_PUBLISHED ? "published" : "full");
    pair_integer(w, "budget", layouts->budget);
    pair_text(w, "size_of", role_keys[layouts->role]);
    pair_bool(w, "size_fixed", layouts->is_size_fixed);
    pair_known(w, "global_batch", layouts->global_size > 0, layouts->global_size);
}

void lin_report_layouts_into(lin_writer *w, const lin_layouts *layouts, const lin_answer *best,
                             uint32_t top)
{
    lin_write_object(w);
    pair_integer(w, "version", LAYOUTS_REPORT_VERSION);
    write_question(w, layouts);
    pair_integer(w, "considered", (int64_t)layouts->considered);
    write_candidates(w, layouts);
    write_dropped(w, layouts);
    lin_write_key(w, "result");
    if (best != NULL)
        lin_report_json_into(w, best, top);
    else
        lin_write_null(w);
    lin_write_key(w, "assumptions");
    lin_write_array(w);
    for (uint32_t i = 0; i < layouts->assumption_count; i++)
        lin_write_string(w, layouts->assumptions[i]);
    lin_write_array_end(w);
    lin_write_object_end(w);
}

void lin_report_layouts_json(lin_text *out, const lin_layouts *layouts, const lin_answer *best,
                             uint32_t top)
{
    lin_writer w;
    lin_writer_init(&w, out);
    lin_report_layouts_into(&w, layouts, best, top);
    lin_writer_end(&w);
}
