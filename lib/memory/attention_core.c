/* SPDX-License-Identifier: MIT */

/*
 * Selective recomputation (Korthikanti et al., Reducing Activation Recomputation in Large
 * Transformer Models, 2022): the attention core of a layer, from the product that makes the scores
 * to the one that mixes the values, runs again in backward, so that nothing of positions times
 * positions is kept. Fused attention is such a core by itself.
 *
 *     scores = q kᵀ   scale   mask   softmax   dropout   context = p v
 *     [----------------------------- region ----------------------------]
 *
 * Cost: linear in steps, each softmax looking at most SEARCH steps around itself.
 */

#include "memory/training.h"

#include <string.h>

enum { SEARCH = 64 };

static bool is_native(const lin_step *step, const char *prefix)
{
    return step->implementation != NULL &&
           strncmp(step->implementation, prefix, strlen(prefix)) == 0;
}

static bool is_product(const lin_step *step)
{
    return is_native(step, "torch.matmul") ||
           (strcmp(step->kind, "comprehension") == 0 && step->input_count >= 2);
}

/* The product whose result, through steps on its first input, reaches step `from`. */
static int32_t find_scores(const lin_graph *graph, int32_t from)
{
    int32_t at = from;
    for (uint32_t tries = 0; tries < SEARCH; tries++) {
        const lin_step *step = &graph->steps.items[at];
        if (at != from && is_product(step))
            return at;
        const int32_t producer =
            step->input_count > 0 ? graph->objects.items[step->inputs[0]].producer : LIN_NO_STEP;
        if (producer == LIN_NO_STEP)
            return from;
        at = producer;
    }
    return from;
}

static bool reads_any(const lin_step *step, const bool *derived)
{
    for (uint32_t i = 0; i < step->input_count; i++)
        if (derived[step->inputs[i]])
            return true;
    return false;
}

/* The first product that reads what step `from` makes, directly or through other steps. `derived`
 * is all false before and after. */
static int32_t find_context(const lin_graph *graph, int32_t from, bool *derived)
{
    const int32_t count = (int32_t)graph->steps.count;
    const int32_t end = count - from > SEARCH ? from + SEARCH : count;
    int32_t last = from, at = from;
    for (; at < end; at++) {
        const lin_step *step = &graph->steps.items[at];
        if (at != from && !reads_any(step, derived))
            continue;
        last = at;
        if (at != from && is_product(step))
            break;
        for (uint32_t i = 0; i < step->output_count; i++)
            derived[step->outputs[i]] = true;
    }
    for (int32_t k = from; k < end; k++)
        for (uint32_t i = 0; i < graph->steps.items[k].output_count; i++)
            derived[graph->steps.items[k].outputs[i]] = false;
    return at < end ? last : from;
}

linnet_status lin_training_mark_cores(lin_memory *memory, linnet_error *err)
{
    const lin_graph *graph = memory->traced.graph;
    lin_moments *schedule = &memory->training->schedule;
    bool *derived = LIN_NEW_ARRAY(&memory->scratch, bool, graph->objects.count);
    for (int32_t k = 0; k < (int32_t)graph->steps.count; k++) {
        const lin_step *step = &graph->steps.items[k];
        const bool is_softmax = is_native(step, "torch.softmax");
        if (!is_softmax && !is_native(step, "torch.nn.functional.scaled_dot_product_attention"))
            continue;
        int32_t first = is_softmax ? find_scores(graph, k) : k;
        const int32_t last = is_softmax ? find_context(graph, k, derived) : k;
        while (first < k && schedule->region[first] != LIN_NO_REGION)
            first++; /* of the core before */
        for (int32_t i = first; i <= last; i++)
            schedule->region[i] = schedule->region_count;
        schedule->region_count++;
        k = last;
    }
    if (schedule->region_count > 0 || memory->stage != NULL)
        return LINNET_OK;
    return lin_fail(err, LINNET_ERROR_ARGUMENT,
                    "selective checkpointing finds no attention: no step is a softmax or a fused "
                    "attention");
}
