/* SPDX-License-Identifier: MIT */

/* What is asked of a prepared memory beside bytes: graphs and sizes, for the times of steps. */

#include "memory/pipeline.h"

const lin_traced *lin_memory_traced(const lin_memory *memory)
{
    return &memory->traced;
}

uint32_t lin_memory_stage_count(const lin_memory *memory)
{
    return memory->pipeline != NULL ? memory->pipeline->stage_count : 0;
}

const lin_stage_graph *lin_memory_stage(const lin_memory *memory, uint32_t stage)
{
    return memory->pipeline->stages[stage].split;
}

const struct lin_schedule *lin_memory_schedule(const lin_memory *memory)
{
    return memory->pipeline != NULL ? memory->pipeline->schedule : NULL;
}

int64_t lin_memory_microbatches(const lin_memory *memory)
{
    return memory->pipeline != NULL ? memory->pipeline->microbatches : 1;
}

linnet_status lin_memory_cut(const lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                             int64_t out[LIN_ROLE_COUNT], linnet_error *err)
{
    if (memory->pipeline != NULL)
        return lin_pipeline_cut(memory, role_value, out, err);
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++)
        out[role] = role_value[role];
    return LINNET_OK;
}

linnet_status lin_memory_sizes(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                               int64_t out[LIN_ROLE_COUNT], linnet_error *err)
{
    return lin_memory_resolve_sizes(memory, role_value, out, err);
}

static lin_memory *part_of(lin_memory *memory, uint32_t stage)
{
    if (stage == LIN_NO_STAGE)
        return memory;
    lin_stage *s = &memory->pipeline->stages[stage];
    return s->whole.memory != NULL ? s->whole.memory : s->parts.memory;
}

double lin_memory_recomputed(lin_memory *memory, uint32_t stage, const int64_t *symbols)
{
    lin_memory *part = part_of(memory, stage);
    const lin_training *training = part->training;
    double forward = 0, again = 0;
    if (training == NULL || !training->checkpoints || training->arithmetic == NULL ||
        !lin_expr_run(training->arithmetic, symbols, training->arithmetic_scratch,
                      training->operations, NULL))
        return 0;
    for (uint32_t k = 0; k < part->traced.graph->steps.count; k++) {
        forward += (double)training->operations[k];
        if (training->schedule.region[k] != LIN_NO_REGION)
            again += (double)training->operations[k];
    }
    return forward > 0 ? again / forward : 0;
}

int64_t lin_memory_master_size(const lin_memory *memory)
{
    const lin_training *training = memory->training;
    return training != NULL && training->settings.has_master_dtype
               ? lin_dtype_bytes(training->settings.master_dtype)
               : 0;
}

int64_t lin_memory_gradient_size(const lin_memory *memory)
{
    const lin_training *training = memory->training;
    return training != NULL && training->settings.has_gradient_dtype
               ? lin_dtype_bytes(training->settings.gradient_dtype)
               : 0;
}

void lin_memory_mark_recomputed(lin_memory *memory, uint32_t stage, bool *out)
{
    const lin_memory *part = part_of(memory, stage);
    const lin_training *training = part->training;
    const bool some = training != NULL && training->checkpoints;
    for (uint32_t k = 0; k < part->traced.graph->steps.count; k++)
        out[k] = some && training->schedule.region[k] != LIN_NO_REGION;
}

const bool *lin_memory_trained(lin_memory *memory, uint32_t stage)
{
    const lin_memory *part = part_of(memory, stage);
    return part->training != NULL ? part->training->trained : NULL;
}
