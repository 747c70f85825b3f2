/* SPDX-License-Identifier: MIT */

/*
 * Seconds of each unit of a graph, for cutting stages by time. A unit's calls are those of the
 * steps that stages would place with it; what the inputs alone give runs on every stage that reads
 * it and counts for none. What is computed again takes its forward time twice. A unit takes what
 * its host or its device takes, whichever is longer.
 * Cost: one pass over the graph and one over the calls.
 */

#include "cost/calls.h"

#include <math.h>

typedef struct unit_time {
    double host, device;
} unit_time;

static void add_calls(unit_time *sum, const lin_call *call, const lin_call *sent)
{
    sum->host += call->host + sent->host;
    sum->device += call->device + sent->device;
}

static void add_entries(const lin_cost *cost, const int32_t *units, const bool *again,
                        unit_time *sums)
{
    for (uint32_t i = 0; i < cost->entry_count; i++) {
        const call_price *price = &cost->prices[cost->entries[i].shape];
        const uint32_t step = cost->entries[i].step;
        if (units[step] < 0)
            continue;
        unit_time *sum = &sums[units[step]];
        add_calls(sum, &price->forward, &price->sent);
        if (!cost->settings.training)
            continue;
        if (again != NULL && again[step])
            add_calls(sum, &price->forward, &price->sent);
        if (price->has_backward)
            add_calls(sum, &price->backward, &price->sent_back);
    }
}

linnet_status lin_cost_unit_seconds(const lin_cost *cost, const bool *again, double *out,
                                    linnet_error *err)
{
    const lin_graph *graph = cost->graph;
    lin_arena arena;
    jmp_buf out_of_memory;
    lin_arena_init(&arena, &cost->allocator);
    if (setjmp(out_of_memory) != 0) {
        lin_arena_free(&arena);
        return lin_fail_memory(err);
    }
    arena.on_failure = &out_of_memory;
    unit_time *sums = LIN_NEW_ARRAY(&arena, unit_time, graph->units.count);
    add_entries(cost, lin_graph_step_units(graph, &arena), again, sums);
    for (uint32_t i = 0; i < graph->units.count; i++)
        out[i] = fmax(sums[i].host, sums[i].device);
    lin_arena_free(&arena);
    return LINNET_OK;
}
