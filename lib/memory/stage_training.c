/* SPDX-License-Identifier: MIT */

/*
 * A stage's training: what is trained and what carries gradients was decided for the whole model,
 * so a received value carries a gradient where it does there, and a pattern need not match in every
 * stage. When its backward is in parts, the gradients of weights are made at moments of their own:
 *
 *     steps   0  1  2          1 and 2 read weights
 *     back    5  4  3          gradients of inputs
 *     weight  5  7  6          gradients of weights, in the order of backward; optimizer 8
 */

#include "memory/pipeline.h"

bool lin_stage_replays(const lin_memory *memory)
{
    return memory->stage != NULL && memory->stage->replays;
}

static bool any_trained(const lin_memory *memory, const uint32_t *objects, uint32_t count)
{
    const lin_object *all = memory->traced.graph->objects.items;
    for (uint32_t i = 0; i < count; i++)
        if (memory->training->trained[all[objects[i]].owner])
            return true;
    return false;
}

bool lin_stage_reads_trained(const lin_memory *memory, uint32_t step)
{
    const lin_step *s = &memory->traced.graph->steps.items[step];
    return memory->training->differentiable[step] &&
           (any_trained(memory, s->inputs, s->input_count) ||
            any_trained(memory, s->region_reads, s->region_read_count));
}

static void copy_marks(lin_memory *memory)
{
    const lin_stage_graph *split = memory->stage->split;
    const lin_training *from = memory->stage->whole->training;
    const lin_object *all = memory->stage->whole->traced.graph->objects.items;
    const lin_graph *graph = memory->traced.graph;
    lin_training *training = memory->training;
    training->trained = LIN_NEW_ARRAY(&memory->arena, bool, graph->objects.count);
    training->carries = LIN_NEW_ARRAY(&memory->arena, bool, graph->objects.count);
    training->differentiable = LIN_NEW_ARRAY(&memory->arena, bool, graph->steps.count);
    for (uint32_t i = 0; i < graph->objects.count; i++) {
        const uint32_t whole = split->whole_object[i];
        training->carries[i] = from->carries[whole];
        training->trained[i] = graph->objects.items[i].owner == i &&
                               from->trained[all[whole].owner] &&
                               graph->objects.items[i].persistent;
    }
    for (uint32_t k = 0; k < graph->steps.count; k++)
        training->differentiable[k] = from->differentiable[split->whole_step[k]];
}

static void take_backward_apart(lin_memory *memory)
{
    const uint32_t steps = memory->traced.graph->steps.count;
    lin_moments *schedule = &memory->training->schedule;
    int32_t moment = schedule->optimizer;
    schedule->results_end = moment - 1;
    schedule->weight = LIN_NEW_ARRAY(&memory->arena, int32_t, steps);
    for (uint32_t k = steps; k-- > 0;)
        schedule->weight[k] = lin_stage_reads_trained(memory, k) ? moment++ : schedule->back[k];
    schedule->optimizer = moment;
    schedule->length = moment + 1;
}

linnet_status lin_training_inherit(lin_memory *memory, linnet_error *err)
{
    const lin_training *from = memory->stage->whole->training;
    lin_training *training = LIN_NEW(&memory->arena, lin_training);
    training->settings = from->settings;
    training->optimizer = from->optimizer;
    training->is_sharded = from->is_sharded;
    training->zero = from->zero;
    training->part_dtype = from->part_dtype;
    training->adapters = from->adapters;
    memory->training = training;
    const linnet_status status = lin_training_make_schedule(memory, err);
    if (status != LINNET_OK)
        return status;
    copy_marks(memory);
    if (memory->stage->splits_backward)
        take_backward_apart(memory);
    return LINNET_OK;
}
