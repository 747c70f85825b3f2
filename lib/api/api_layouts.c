/* SPDX-License-Identifier: MIT */

/* What was found by a search of layouts, and each layout by index. */

#include "api/api_search.h"

static const lin_layout_result *item_at(const linnet_layouts *layouts, uint64_t index)
{
    return index < layouts->layouts->count ? &layouts->layouts->items[index] : NULL;
}

/* NULL: out of range, or it does not run. */
static const lin_step_time *time_at(const linnet_layouts *layouts, uint64_t index)
{
    const lin_layout_result *item = item_at(layouts, index);
    return item != NULL && item->state == LIN_LAYOUT_RUNS ? &item->time : NULL;
}

/* ---- the whole ---- */

uint64_t linnet_layouts_count(const linnet_layouts *layouts)
{
    return layouts->layouts->count;
}

uint64_t linnet_layouts_running(const linnet_layouts *layouts)
{
    return layouts->running;
}

uint64_t linnet_layouts_considered(const linnet_layouts *layouts)
{
    return layouts->layouts->considered;
}

int64_t linnet_layouts_devices(const linnet_layouts *layouts)
{
    return layouts->layouts->devices;
}

int64_t linnet_layouts_budget_bytes(const linnet_layouts *layouts)
{
    return layouts->layouts->budget;
}

const char *linnet_layouts_size_of(const linnet_layouts *layouts)
{
    return lin_role_names[layouts->layouts->role];
}

int32_t linnet_layouts_is_size_fixed(const linnet_layouts *layouts)
{
    return layouts->layouts->is_size_fixed;
}

uint64_t linnet_layouts_assumption_count(const linnet_layouts *layouts)
{
    return layouts->layouts->assumption_count;
}

const char *linnet_layouts_assumption(const linnet_layouts *layouts, uint64_t index)
{
    return index < layouts->layouts->assumption_count ? layouts->layouts->assumptions[index] : NULL;
}

/* ---- words ---- */

const char *linnet_layouts_name(const linnet_layouts *layouts, uint64_t index)
{
    const lin_layout_result *item = item_at(layouts, index);
    return item != NULL ? item->name : NULL;
}

const char *linnet_layouts_state(const linnet_layouts *layouts, uint64_t index)
{
    const lin_layout_result *item = item_at(layouts, index);
    return item != NULL ? lin_layout_state_name(item->state) : NULL;
}

const char *linnet_layouts_reason(const linnet_layouts *layouts, uint64_t index)
{
    const lin_layout_result *item = item_at(layouts, index);
    return item != NULL ? item->reason : NULL;
}

const char *linnet_layouts_schedule(const linnet_layouts *layouts, uint64_t index)
{
    const lin_layout_result *item = item_at(layouts, index);
    return item != NULL && item->layout.parallel.pipeline > 1 ? item->layout.schedule : NULL;
}

const char *linnet_layouts_checkpoint(const linnet_layouts *layouts, uint64_t index)
{
    const lin_layout_result *item = item_at(layouts, index);
    return item != NULL ? item->layout.checkpoint : NULL;
}

const char *linnet_layouts_limit(const linnet_layouts *layouts, uint64_t index)
{
    const lin_step_time *time = time_at(layouts, index);
    return time != NULL ? lin_limit_name(time->limit) : NULL;
}

/* ---- degrees ---- */

/* A function of a layout's whole number; 0 out of range. */
#define DEGREE(name, field)                                                      \
    int64_t linnet_layouts_##name(const linnet_layouts *layouts, uint64_t index) \
    {                                                                            \
        const lin_layout_result *item = item_at(layouts, index);                 \
        return item != NULL ? item->layout.field : 0;                            \
    }

DEGREE(tensor_parallel, parallel.tensor)
DEGREE(context_parallel, parallel.context)
DEGREE(expert_parallel, parallel.expert)
DEGREE(pipeline_parallel, parallel.pipeline)
DEGREE(shards, parallel.shards)
DEGREE(replicas, parallel.replicas)
DEGREE(virtual_stages, virtual_stages)
DEGREE(microbatches, microbatches)
DEGREE(grad_accumulation, accumulation)

int32_t linnet_layouts_sequence_parallel(const linnet_layouts *layouts, uint64_t index)
{
    const lin_layout_result *item = item_at(layouts, index);
    return item != NULL && item->layout.parallel.sequence;
}

int64_t linnet_layouts_zero(const linnet_layouts *layouts, uint64_t index)
{
    const lin_layout_result *item = item_at(layouts, index);
    if (item == NULL || item->layout.parallel.shards < 2)
        return 0;
    return item->layout.parallel.zero != 0 ? item->layout.parallel.zero : 3;
}

/* ---- what it comes to ---- */

int64_t linnet_layouts_size(const linnet_layouts *layouts, uint64_t index)
{
    const lin_layout_result *item = item_at(layouts, index);
    return item != NULL ? item->size : 0;
}

int64_t linnet_layouts_expected_peak(const linnet_layouts *layouts, uint64_t index)
{
    const lin_layout_result *item = item_at(layouts, index);
    return item != NULL ? item->expected_peak : -1;
}

/* A function of a layout's time; 0 for one that does not run. */
#define TIME(name, field)                                                       \
    double linnet_layouts_##name(const linnet_layouts *layouts, uint64_t index) \
    {                                                                           \
        const lin_step_time *time = time_at(layouts, index);                    \
        return time != NULL ? time->field : 0;                                  \
    }

TIME(tokens, tokens)
TIME(seconds, seconds)
TIME(tokens_per_second, tokens_per_second)
TIME(compute_seconds, spent[LIN_SPENT_COMPUTE])
TIME(memory_seconds, spent[LIN_SPENT_MEMORY])
TIME(communication_seconds, spent[LIN_SPENT_COMMUNICATION])
TIME(host_seconds, host)
TIME(bubble, bubble)
