/* SPDX-License-Identifier: MIT */

/* The layouts handle: a search over devices, with what a config needs to become one of them. */

#include "api/api_search.h"

#include <string.h>

/* Layouts that are listed where nobody said how many. */
enum { DEFAULT_LIMIT = 20 };

/* ---- what is asked for ---- */

static uint32_t limit_of(const linnet_config *config, lin_layout_space space)
{
    if (config->has_limit)
        return (uint32_t)config->limit;
    return space == LIN_SPACE_PUBLISHED ? 0 : DEFAULT_LIMIT;
}

/* As of one device: the degrees are the search's. */
static void fill_trace(const linnet_config *config, lin_layouts_settings *out)
{
    out->trace = lin_config_trace(config);
    out->trace.processes = 1;
    out->trace.context_processes = 1;
    out->trace.expert_processes = 1;
    out->trace.sequence_parallel = false;
}

static void fill_fixed(const linnet_config *config, lin_layouts_settings *out)
{
    const lin_parallel *given = &config->parallel;
    out->has_tensor = given->tensor != 0;
    out->has_context = given->context != 0;
    out->has_expert = given->expert != 0;
    out->has_pipeline = given->pipeline != 0;
    out->has_shards = given->shards != 0;
    out->has_replicas = config->has_replicas;
    out->has_zero = given->zero != 0;
    out->has_sequence = config->has_sequence;
    out->has_schedule = config->texts[CONFIG_SCHEDULE] != NULL;
    out->has_microbatches = config->pipeline.microbatches != 0;
    out->has_virtual_stages = config->pipeline.virtual_stages != 0;
    out->checkpoints = (const char *const *)config->checkpoint_choice.items;
    out->checkpoint_count = config->checkpoint_choice.count;
}

static linnet_status check(const lin_search_request *request, linnet_error *err)
{
    if (request->budget_bytes < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a budget of %lld bytes holds nothing",
                        (long long)request->budget_bytes);
    if (request->config->texts[CONFIG_SCHEDULE_TEXT] != NULL)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "a search of layouts takes schedules by name, not from a file");
    return LINNET_OK;
}

linnet_status lin_search_fill(const lin_search_request *request, lin_training_settings *training,
                              lin_layouts_settings *out, linnet_error *err)
{
    const linnet_config *config = request->config;
    linnet_status status = check(request, err);
    if (status == LINNET_OK)
        status = lin_config_check_balance(config, err);
    if (status == LINNET_OK)
        status = lin_config_training(config, training, err);
    if (status != LINNET_OK)
        return status;
    memset(out, 0, sizeof *out);
    fill_trace(config, out);
    fill_fixed(config, out);
    out->source = request->model->source;
    out->memory = lin_config_memory(config);
    out->memory.parallel = lin_parallel_normal(&config->parallel);
    out->memory.with_timeline = false;
    out->training = config->training ? training : NULL;
    out->profile = request->device->profile;
    out->time_model = config->time_model;
    out->stages_by_time = config->stages_by_time;
    out->space =
        config->pipeline.model == LIN_PIPELINE_PUBLISHED ? LIN_SPACE_PUBLISHED : LIN_SPACE_FULL;
    out->budget_bytes = request->budget_bytes;
    out->global_size = config->global_batch;
    out->limit = limit_of(config, out->space);
    out->explain = config->explain || out->space == LIN_SPACE_PUBLISHED;
    out->threads = config->threads > 0 ? (uint32_t)config->threads : 1;
    out->progress = config->progress;
    out->progress_user = config->progress_user;
    if (config->devices == 0)
        return lin_parallel_devices(&out->memory.parallel, &out->devices, err);
    out->devices = config->devices;
    return LINNET_OK;
}

/* ---- making one ---- */

linnet_status lin_layouts_wrap(lin_layouts *take_layouts, const lin_search_request *request,
                               linnet_layouts **out_layouts, linnet_error *err)
{
    const lin_allocator *allocator = &request->config->allocator;
    linnet_layouts *layouts = lin_alloc_zeroed(allocator, sizeof *layouts);
    if (layouts == NULL) {
        lin_layouts_free(take_layouts);
        return lin_fail_memory(err);
    }
    atomic_init(&layouts->references, 1);
    layouts->allocator = *allocator;
    layouts->layouts = take_layouts;
    layouts->model = linnet_model_ref((linnet_model *)(uintptr_t)request->model);
    layouts->config = lin_config_clone(request->config);
    if (layouts->config == NULL) {
        linnet_layouts_unref(layouts);
        return lin_fail_memory(err);
    }
    lin_config_hold_device(layouts->config, (linnet_device *)(uintptr_t)request->device);
    while (layouts->running < take_layouts->count &&
           take_layouts->items[layouts->running].state == LIN_LAYOUT_RUNS)
        layouts->running++;
    *out_layouts = layouts;
    return LINNET_OK;
}

static linnet_status make(const lin_search_request *request, linnet_layouts **out_layouts,
                          linnet_error *err)
{
    lin_training_settings training;
    lin_layouts_settings settings;
    lin_layouts *layouts = NULL;
    linnet_status status = lin_search_fill(request, &training, &settings, err);
    if (status == LINNET_OK)
        status = lin_layouts_search(&settings, &request->config->allocator, &layouts, err);
    return status == LINNET_OK ? lin_layouts_wrap(layouts, request, out_layouts, err) : status;
}

linnet_status linnet_layouts_new(const linnet_model *model, const linnet_config *config,
                                 const linnet_device *device, int64_t budget_bytes,
                                 linnet_layouts **out_layouts, linnet_error *err)
{
    const lin_search_request request = { model, config, device, budget_bytes };
    return make(&request, out_layouts, err);
}

/* A planner's config sets the size that is to grow. */
static linnet_status free_target(linnet_config *config, const char *target, linnet_error *err)
{
    lin_role role;
    if (target == NULL)
        return LINNET_OK;
    if (!lin_fit_role_find(target, &role) || role == LIN_ROLE_CACHE)
        return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                        "what grows within a layout is `batch` or `context`, not `%s`", target);
    config->role_value[role] = 0;
    return LINNET_OK;
}

linnet_status linnet_planner_layouts(linnet_planner *planner, const char *target,
                                     const linnet_device *device, int64_t budget_bytes,
                                     linnet_layouts **out_layouts, linnet_error *err)
{
    linnet_config *config = lin_config_clone(planner->config);
    if (config == NULL)
        return lin_fail_memory(err);
    linnet_status status = free_target(config, target, err);
    if (status == LINNET_OK)
        status = linnet_layouts_new(planner->model, config, device, budget_bytes, out_layouts, err);
    linnet_config_free(config);
    return status;
}

linnet_layouts *linnet_layouts_ref(linnet_layouts *layouts)
{
    atomic_fetch_add_explicit(&layouts->references, 1, memory_order_relaxed);
    return layouts;
}

void linnet_layouts_unref(linnet_layouts *layouts)
{
    if (layouts == NULL ||
        atomic_fetch_sub_explicit(&layouts->references, 1, memory_order_acq_rel) != 1)
        return;
    const lin_allocator allocator = layouts->allocator;
    lin_layouts_free(layouts->layouts);
    linnet_model_unref(layouts->model);
    linnet_config_free(layouts->config);
    lin_release(&allocator, layouts, sizeof *layouts);
}

/* ---- a config that is one of them ---- */

/* One rank's step is so many micro-batches of it without a pipeline; the config has the size of
 * one. */
static void set_size(linnet_config *config, const lin_layouts *found, const lin_layout_result *item)
{
    const int64_t steps = item->layout.accumulation > 1 ? item->layout.accumulation : 1;
    if (item->size >= steps)
        config->role_value[found->role] = item->size / steps;
}

static linnet_status set_schedule(linnet_config *config, const lin_job_layout *layout,
                                  linnet_error *err)
{
    const bool has_pipeline = layout->parallel.pipeline > 1;
    config->pipeline.microbatches = layout->microbatches;
    config->pipeline.virtual_stages = has_pipeline ? layout->virtual_stages : 0;
    const linnet_status status = lin_config_set_text(config, CONFIG_SCHEDULE_TEXT, NULL, err);
    return status == LINNET_OK ? lin_config_set_text(config, CONFIG_SCHEDULE,
                                                     has_pipeline ? layout->schedule : NULL, err)
                               : status;
}

/* Stages are cut for it as the search did. */
static linnet_status set_balance(linnet_config *config, const linnet_layouts *layouts,
                                 linnet_error *err)
{
    config->stages_by_time = layouts->config->stages_by_time;
    config->searched_role = (int32_t)layouts->layouts->role + 1;
    return config->stages_by_time ? linnet_config_set_device(config, layouts->config->device, err)
                                  : LINNET_OK;
}

static linnet_status become(linnet_config *config, const linnet_layouts *layouts,
                            const lin_layout_result *item, linnet_error *err)
{
    const lin_layouts *found = layouts->layouts;
    const lin_job_layout *layout = &item->layout;
    config->parallel = layout->parallel;
    config->has_replicas = true;
    config->has_sequence = true;
    config->devices = found->devices;
    if (found->training)
        config->accumulation = layout->accumulation;
    set_size(config, found, item);
    linnet_status status = set_schedule(config, layout, err);
    if (status == LINNET_OK)
        status = set_balance(config, layouts, err);
    return status == LINNET_OK && layout->checkpoint != NULL
               ? linnet_config_set_checkpoint(config, layout->checkpoint, err)
               : status;
}

linnet_status linnet_layouts_configure(const linnet_layouts *layouts, uint64_t index,
                                       linnet_config *config, linnet_error *err)
{
    if (index >= layouts->layouts->count)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "there are %llu layouts, and %llu is not one",
                        (unsigned long long)layouts->layouts->count, (unsigned long long)index);
    linnet_config *copy = lin_config_clone(config);
    if (copy == NULL)
        return lin_fail_memory(err);
    const linnet_status status = become(copy, layouts, &layouts->layouts->items[index], err);
    if (status == LINNET_OK) {
        const linnet_config old = *config;
        *config = *copy;
        *copy = old;
    }
    linnet_config_free(copy);
    return status;
}

/* ---- documents ---- */

linnet_status linnet_layouts_to_text(const linnet_layouts *layouts, linnet_text **out_text,
                                     linnet_error *err)
{
    lin_text text;
    lin_text_init(&text, &layouts->allocator);
    lin_report_layouts_text(&text, layouts->layouts, layouts->config->explain);
    return lin_text_wrap(&text, out_text, err);
}

/* The analysis of the first layout; none where it cannot be made, except for want of memory. */
static linnet_status analyse_best(const linnet_layouts *layouts, linnet_analysis **out,
                                  linnet_error *err)
{
    linnet_config *config = NULL;
    linnet_status status;
    if (layouts->running == 0)
        return LINNET_OK;
    if ((config = lin_config_clone(layouts->config)) == NULL)
        return lin_fail_memory(err);
    status = linnet_layouts_configure(layouts, 0, config, err);
    if (status == LINNET_OK &&
        linnet_analysis_new(layouts->model, config, out, err) == LINNET_ERROR_NO_MEMORY)
        status = LINNET_ERROR_NO_MEMORY;
    linnet_config_free(config);
    return status;
}

linnet_status linnet_layouts_to_json(const linnet_layouts *layouts, int64_t top,
                                     linnet_text **out_text, linnet_error *err)
{
    linnet_analysis *best = NULL;
    lin_text text;
    if (top < 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a count of tensors cannot be %lld",
                        (long long)top);
    const linnet_status status = analyse_best(layouts, &best, err);
    if (status != LINNET_OK)
        return status;
    lin_text_init(&text, &layouts->allocator);
    lin_report_layouts_json(&text, layouts->layouts, best != NULL ? best->answer : NULL,
                            top > UINT32_MAX ? UINT32_MAX : (uint32_t)top);
    linnet_analysis_unref(best);
    return lin_text_wrap(&text, out_text, err);
}
