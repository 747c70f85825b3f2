/* SPDX-License-Identifier: MIT */

/* An answer as the JSON document of cli-report.md 2.2. Keys stand in the order of that page; where
 * the keys are data (bindings, symbols) they are sorted, so two runs are equal to the byte. */

#include "report/report.h"

#include <string.h>

#include "json/json.h"

enum { REPORT_VERSION = 1 };

/* The setting whose name comes next after `last` (NULL: the first). A root has a few generics. */
static const lin_setting *next_setting(const lin_answer *answer, const char *last)
{
    const lin_setting *next = NULL;
    for (uint32_t i = 0; i < answer->bound_count; i++) {
        const lin_setting *s = &answer->bound[i];
        if ((last == NULL || strcmp(s->name, last) > 0) &&
            (next == NULL || strcmp(s->name, next->name) < 0))
            next = s;
    }
    return next;
}

static void write_bindings(lin_writer *w, const lin_answer *answer)
{
    lin_write_key(w, "bindings");
    lin_write_object(w);
    const lin_setting *s = next_setting(answer, NULL);
    for (; s != NULL; s = next_setting(answer, s->name)) {
        if (s->is_dtype)
            lin_pair_string(w, s->name, lin_dtype_name(s->dtype));
        else
            lin_pair_i64(w, s->name, s->integer);
    }
    lin_write_object_end(w);
}

/* The policy's name, or its patterns. */
static void write_checkpoint(lin_writer *w, const lin_training_answer *training)
{
    if (training->checkpoint_pattern_count == 0)
        lin_pair_string(w, "checkpoint", training->checkpoint);
    else
        lin_pair_strings(w, "checkpoint", training->checkpoint_patterns,
                         training->checkpoint_pattern_count);
}

static void write_training(lin_writer *w, const lin_training_answer *training, int64_t shards)
{
    static const char *const all[] = { "*" };
    const bool trains_all = training->trainable_count == 0 && training->lora_rank == 0;
    lin_write_key(w, "training");
    lin_write_object(w);
    lin_pair_string(w, "optimizer", training->optimizer);
    lin_pair_string(w, "gradient_dtype", training->gradient_dtype);
    lin_pair_string(w, "master_dtype", training->master_dtype);
    lin_pair_strings(w, "trainable", trains_all ? all : training->trainable,
                     trains_all ? 1 : training->trainable_count);
    write_checkpoint(w, training);
    lin_pair_i64(w, "shards", shards);
    lin_pair_string(w, "step", training->is_first_step ? "first" : "steady");
    lin_pair_i64(w, "grad_accumulation", training->accumulation);
    lin_pair_bool(w, "clip_grad_norm", training->clips_gradients);
    lin_write_key(w, "lora");
    if (training->lora_rank > 0) {
        lin_write_object(w);
        lin_pair_i64(w, "rank", training->lora_rank);
        lin_pair_string(w, "patterns", training->lora_patterns);
        lin_write_object_end(w);
    } else {
        lin_write_null(w);
    }
    lin_pair_string(w, "loss", training->loss);
    lin_write_object_end(w);
}

/* Degrees that are there only sometimes follow the keys that always are. */
static void write_data_parallel(lin_writer *w, const lin_parallel *parallel)
{
    static const char *const shardings[] = { "none", "zero-1", "zero-2", "fsdp" };
    lin_pair_i64(w, "data_parallel", parallel->shards * parallel->replicas);
    lin_pair_string(w, "sharding", shardings[parallel->shards > 1 ? parallel->zero : 0]);
    if (parallel->sequence) {
        lin_pair_bool(w, "sequence_parallel", true);
    }
    if (parallel->context > 1) {
        lin_pair_i64(w, "context_parallel", parallel->context);
        lin_pair_string(w, "context_exchange",
                        parallel->exchange == LIN_CONTEXT_RING ? "ring" : "all-gather");
    }
    if (parallel->expert > 1)
        lin_pair_i64(w, "expert_parallel", parallel->expert);
    if (parallel->shards > 1 && parallel->zero >= 3) {
        lin_write_key(w, "reshard");
        if (parallel->reshard > 0)
            lin_write_i64(w, parallel->reshard);
        else
            lin_write_string(w, parallel->reshard == LIN_RESHARD_NEVER ? "never" : "always");
        lin_pair_i64(w, "prefetch", parallel->prefetch);
    }
}

/* Those that only a replay has follow the keys that are always there. */
static void write_pipeline(lin_writer *w, const lin_pipeline_answer *pipeline)
{
    lin_pair_i64(w, "microbatches", pipeline != NULL ? pipeline->microbatches : 1);
    lin_pair_string(w, "schedule", pipeline != NULL ? pipeline->schedule : NULL);
    if (pipeline == NULL) {
        lin_pair_null(w, "stages");
        return;
    }
    lin_pair_strings(w, "stages", pipeline->starts, pipeline->start_count);
    if (pipeline->balanced_on != NULL)
        lin_pair_string(w, "stages_by", "time");
    if (pipeline->virtual_stages > 1)
        lin_pair_i64(w, "virtual_stages", pipeline->virtual_stages);
    lin_pair_string(w, "pipeline_model", pipeline->model);
}

static void write_configuration(lin_writer *w, const lin_answer *answer)
{
    const lin_parallel parallel = lin_parallel_normal(&answer->parallel);
    lin_write_key(w, "configuration");
    lin_write_object(w);
    lin_pair_string(w, "backend", answer->backend);
    lin_pair_string(w, "model", answer->model);
    lin_pair_string(w, "entry", answer->entry);
    lin_pair_string(w, "numerics", answer->numerics);
    lin_pair_string(w, "dtype", answer->dtype[0] != '\0' ? answer->dtype : NULL);
    lin_pair_size(w, "batch", answer->role_value[LIN_ROLE_BATCH]);
    lin_pair_size(w, "context", answer->role_value[LIN_ROLE_CONTEXT]);
    lin_pair_size(w, "cache", answer->role_value[LIN_ROLE_CACHE]);
    lin_pair_string(w, "kv_dtype", answer->kv_dtype);
    lin_pair_string(w, "kv_layout", answer->kv_paged ? "paged" : "contiguous");
    write_bindings(w, answer);
    lin_pair_i64(w, "tensor_parallel", parallel.tensor);
    lin_pair_i64(w, "pipeline_parallel", parallel.pipeline);
    write_pipeline(w, answer->pipeline);
    write_data_parallel(w, &parallel);
    if (answer->training != NULL)
        write_training(w, answer->training, parallel.shards);
    lin_write_object_end(w);
}

static void write_symbols(lin_writer *w, const lin_answer *answer)
{
    static const lin_role sorted[] = { LIN_ROLE_BATCH, LIN_ROLE_CACHE, LIN_ROLE_CONTEXT };
    lin_write_key(w, "symbols");
    lin_write_object(w);
    for (uint32_t i = 0; i < ARRAY_LEN(sorted); i++)
        if (answer->role_free[sorted[i]])
            lin_pair_i64(w, lin_role_names[sorted[i]], answer->role_value[sorted[i]]);
    lin_write_object_end(w);
}

static void write_components(lin_writer *w, const lin_answer *answer)
{
    lin_write_key(w, "components");
    lin_write_array(w);
    for (uint32_t i = 0; i < answer->component_count; i++) {
        const lin_component *component = &answer->components[i];
        lin_write_object(w);
        lin_pair_string(w, "name", component->name);
        lin_pair_string(w, "category", lin_category_name(component->category));
        if (component->known)
            lin_pair_i64(w, "bytes", component->bytes);
        else
            lin_pair_null(w, "bytes");
        lin_pair_string(w, "confidence", lin_confidence_name(component->confidence));
        lin_pair_string(w, "formula", component->formula);
        lin_pair_string(w, "note", component->note);
        lin_pair_string(w, "device", component->device);
        lin_write_object_end(w);
    }
    lin_write_array_end(w);
}

static void write_peak(lin_writer *w, const lin_answer *answer)
{
    lin_write_key(w, "peak");
    lin_write_object(w);
    lin_pair_i64(w, "graph", answer->peaks.graph);
    lin_pair_i64(w, "expected", answer->peaks.expected);
    lin_pair_i64(w, "allocator", answer->peaks.allocator);
    lin_pair_string(w, "at", answer->peak_at);
    lin_pair_string(w, "confidence", lin_confidence_name(answer->confidence));
    lin_write_object_end(w);
}

static void write_allocation(lin_writer *w, const lin_answer *answer)
{
    if (!answer->has_plan) {
        lin_pair_null(w, "allocation");
        return;
    }
    lin_write_key(w, "allocation");
    lin_write_object(w);
    lin_pair_i64(w, "naive", answer->plan.naive_bytes);
    lin_pair_i64(w, "planned", answer->plan.planned_bytes);
    lin_pair_i64(w, "greedy", answer->plan.greedy_bytes);
    lin_pair_i64(w, "lower_bound", answer->plan.live_bytes);
    lin_write_object_end(w);
}

static void write_largest(lin_writer *w, const lin_answer *answer, uint32_t top)
{
    lin_write_key(w, "largest");
    lin_write_array(w);
    for (uint32_t i = 0; i < answer->largest_count && i < top; i++) {
        const lin_largest *tensor = &answer->largest[i];
        lin_write_object(w);
        lin_pair_string(w, "name", tensor->name);
        lin_pair_string(w, "path", tensor->path);
        lin_pair_i64(w, "bytes", tensor->bytes);
        lin_pair_string(w, "formula", tensor->formula);
        lin_write_object_end(w);
    }
    lin_write_array_end(w);
}

static void write_devices(lin_writer *w, const lin_answer *answer)
{
    lin_write_key(w, "devices");
    lin_write_array(w);
    for (uint32_t i = 0; i < answer->device_count; i++) {
        const lin_device_summary *device = &answer->devices[i];
        lin_write_object(w);
        lin_pair_string(w, "name", device->name);
        lin_pair_string(w, "holds", device->holds);
        lin_pair_i64(w, "graph_peak", device->graph_peak);
        lin_pair_i64(w, "expected_peak", device->expected_peak);
        lin_pair_i64(w, "runtime", device->runtime);
        lin_write_object_end(w);
    }
    lin_write_array_end(w);
}

static void write_recompute(lin_writer *w, const lin_answer *answer)
{
    lin_write_key(w, "recompute");
    if (answer->training != NULL && answer->training->has_recompute)
        lin_write_double(w, answer->training->recompute);
    else
        lin_write_null(w);
}

/* Phases, and a column of bytes for each category that anything ever belongs to. */
static void write_timeline(lin_writer *w, const lin_answer_timeline *timeline)
{
    lin_write_key(w, "timeline");
    lin_write_object(w);
    lin_pair_i64(w, "length", timeline->length);
    lin_pair_i64(w, "peak", timeline->peak);
    lin_write_key(w, "phases");
    lin_write_array(w);
    for (uint32_t i = 0; i < timeline->phase_count; i++) {
        lin_write_object(w);
        lin_pair_string(w, "name", timeline->phases[i].name);
        lin_pair_i64(w, "first", timeline->phases[i].first);
        lin_pair_i64(w, "end", timeline->phases[i].end);
        lin_write_object_end(w);
    }
    lin_write_array_end(w);
    lin_write_key(w, "bytes");
    lin_write_object(w);
    for (lin_category c = 0; c < LIN_CATEGORY_COUNT; c++) {
        if (timeline->bytes[c] == NULL)
            continue;
        lin_write_key(w, lin_category_name(c));
        lin_write_array(w);
        for (int32_t m = 0; m < timeline->length; m++)
            lin_write_i64(w, timeline->bytes[c][m]);
        lin_write_array_end(w);
    }
    lin_write_object_end(w);
    lin_write_object_end(w);
}

static void write_verdict(lin_writer *w, const lin_answer *answer)
{
    if (answer->device_memory == 0)
        return;
    lin_write_key(w, "verdict");
    lin_write_object(w);
    lin_pair_i64(w, "device_memory", answer->device_memory);
    lin_pair_i64(w, "free", answer->device_memory - answer->peaks.expected);
    lin_pair_string(w, "verdict", lin_fit_verdict(answer->peaks.expected, answer->device_memory));
    lin_write_object_end(w);
}

void lin_report_json_into(lin_writer *w, const lin_answer *answer, uint32_t top)
{
    lin_write_object(w);
    lin_pair_i64(w, "version", REPORT_VERSION);
    write_configuration(w, answer);
    write_symbols(w, answer);
    write_components(w, answer);
    write_peak(w, answer);
    write_allocation(w, answer);
    lin_pair_i64(w, "steps", answer->steps);
    if (top > 0)
        write_largest(w, answer, top);
    write_recompute(w, answer);
    write_devices(w, answer);
    lin_write_key(w, "formulas");
    lin_write_object(w);
    lin_pair_string(w, "activations", answer->activations_formula);
    lin_write_object_end(w);
    lin_pair_strings(w, "unknown", answer->unknown, answer->unknown_count);
    lin_pair_strings(w, "warnings", answer->warnings, answer->warning_count);
    lin_pair_strings(w, "assumptions", answer->assumptions, answer->assumption_count);
    write_verdict(w, answer);
    if (answer->timeline != NULL)
        write_timeline(w, answer->timeline);
    lin_write_object_end(w);
}

void lin_report_json(lin_text *out, const lin_answer *answer, uint32_t top)
{
    lin_writer w;
    lin_writer_init(&w, out);
    lin_report_json_into(&w, answer, top);
    lin_writer_end(&w);
}
