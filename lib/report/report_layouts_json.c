/* SPDX-License-Identifier: MIT */

/*
 * The fastest layouts as JSON. A candidate's `configuration` has the config's own keys, so that it
 * can be read by linnet_config_set_json once what is null is left out.
 */

#include "report/report_layouts.h"

#include "json/json.h"

enum { LAYOUTS_REPORT_VERSION = 1 };

static void write_configuration(lin_writer *w, const lin_job_layout *layout)
{
    const lin_parallel *p = &layout->parallel;
    const bool has_pipeline = p->pipeline > 1, is_training = layout->checkpoint != NULL;
    lin_write_key(w, "configuration");
    lin_write_object(w);
    lin_pair_i64(w, "tensor_parallel", p->tensor);
    lin_pair_bool(w, "sequence_parallel", p->sequence);
    lin_pair_i64(w, "context_parallel", p->context);
    lin_pair_i64(w, "expert_parallel", p->expert);
    lin_pair_i64(w, "pipeline_parallel", p->pipeline);
    lin_pair_string(w, "schedule", has_pipeline ? layout->schedule : NULL);
    lin_pair_known(w, "virtual_stages", has_pipeline && layout->virtual_stages > 0,
                   layout->virtual_stages);
    lin_pair_i64(w, "microbatches", layout->microbatches);
    lin_pair_known(w, "shards", is_training, p->shards);
    lin_pair_known(w, "zero", is_training && p->shards > 1, p->zero == 0 ? 3 : p->zero);
    lin_pair_i64(w, "replicas", p->replicas);
    lin_pair_known(w, "grad_accumulation", is_training, layout->accumulation);
    lin_pair_string(w, "checkpoint", layout->checkpoint);
    lin_write_object_end(w);
}

static void write_candidate(lin_writer *w, const lin_layout_result *item)
{
    const bool runs = item->state == LIN_LAYOUT_RUNS;
    lin_write_object(w);
    lin_pair_string(w, "layout", item->name);
    lin_pair_string(w, "state", lin_layout_state_name(item->state));
    write_configuration(w, &item->layout);
    lin_pair_i64(w, "replicas", item->layout.parallel.replicas);
    lin_pair_known(w, "size", item->size > 0, item->size);
    lin_pair_string(w, "refusal", runs ? NULL : item->reason);
    lin_pair_known(w, "expected_peak", item->expected_peak >= 0, item->expected_peak);
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
        lin_pair_string(w, "state", lin_layout_state_name(dropped.items[i].state));
        lin_pair_string(w, "reason", dropped.items[i].reason);
        lin_pair_i64(w, "count", dropped.items[i].count);
        lin_write_object_end(w);
    }
    lin_write_array_end(w);
}

static void write_question(lin_writer *w, const lin_layouts *layouts)
{
    lin_write_key(w, "device");
    lin_write_object(w);
    lin_pair_string(w, "name", layouts->device);
    lin_pair_string(w, "source", layouts->device_source);
    lin_write_object_end(w);
    lin_pair_i64(w, "devices", layouts->devices);
    lin_pair_string(w, "target", "throughput");
    lin_pair_string(w, "model", layouts->model);
    lin_pair_string(w, "entry", layouts->entry);
    lin_pair_bool(w, "training", layouts->training);
    lin_pair_string(w, "time_model", lin_time_model_name(layouts->time_model));
    lin_pair_string(w, "space", layouts->space == LIN_SPACE_PUBLISHED ? "published" : "full");
    lin_pair_i64(w, "budget", layouts->budget);
    lin_pair_string(w, "size_of", lin_role_names[layouts->role]);
    lin_pair_bool(w, "size_fixed", layouts->is_size_fixed);
    lin_pair_known(w, "global_batch", layouts->global_size > 0, layouts->global_size);
}

void lin_report_layouts_into(lin_writer *w, const lin_layouts *layouts, const lin_answer *best,
                             uint32_t top)
{
    lin_write_object(w);
    lin_pair_i64(w, "version", LAYOUTS_REPORT_VERSION);
    write_question(w, layouts);
    lin_pair_i64(w, "considered", (int64_t)layouts->considered);
    write_candidates(w, layouts);
    write_dropped(w, layouts);
    lin_write_key(w, "result");
    if (best != NULL)
        lin_report_json_into(w, best, top);
    else
        lin_write_null(w);
    lin_pair_strings(w, "assumptions", layouts->assumptions, layouts->assumption_count);
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
