/* SPDX-License-Identifier: MIT */

/*
 * Which unit each step runs with, by the rule that places steps on stages (stage_split.c): the last
 * unit of what it reads, parameters and values alike. Linear in what steps read.
 */

#include "graph/stages.h"

#include <string.h>

static int32_t furthest(const int32_t *unit_of, const uint32_t *objects, uint32_t count,
                        int32_t from)
{
    for (uint32_t i = 0; i < count; i++)
        from = unit_of[objects[i]] > from ? unit_of[objects[i]] : from;
    return from;
}

const int32_t *lin_graph_step_units(const lin_graph *graph, lin_arena *arena)
{
    const lin_unit_index *index = lin_units_index(graph, arena);
    int32_t *unit_of = LIN_NEW_ARRAY(arena, int32_t, graph->objects.count);
    int32_t *out = LIN_NEW_ARRAY(arena, int32_t, graph->steps.count);
    memset(unit_of, 0xff, graph->objects.count * sizeof *unit_of); /* all bits: LIN_NO_STEP */
    for (uint32_t i = 0; i < graph->parameter_objects; i++) {
        const char *path = graph->objects.items[i].path;
        const uint32_t unit = path != NULL ? lin_unit_of(index, path) : LIN_NO_UNIT;
        unit_of[i] = unit != LIN_NO_UNIT ? (int32_t)unit : LIN_NO_STEP;
    }
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        const lin_step *step = &graph->steps.items[k];
        out[k] = furthest(unit_of, step->inputs, step->input_count, LIN_NO_STEP);
        out[k] = furthest(unit_of, step->region_reads, step->region_read_count, out[k]);
        for (uint32_t i = 0; i < step->output_count; i++)
            unit_of[step->outputs[i]] = out[k];
    }
    return out;
}
