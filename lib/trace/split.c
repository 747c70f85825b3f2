/* SPDX-License-Identifier: MIT */

/*
 * A model without a generic `Shards` over several processes: its parameters are split as DTensors,
 * by patterns over their paths (tracing.md 10.2). One process holds 1/N of each split tensor and of
 * every value that is computed from one; inputs and everything else stay whole. Where values are
 * redistributed is not modelled, hence the estimates. Cost: linear in what the steps read.
 */

#include "trace/trace_walk.h"

#include <string.h>

/* The first that matches a path says along which axis. */
static const struct split_row {
    const char *pattern;
    uint32_t axis;
} split_rows[] = {
    { "*q_proj.weight", 0 },    { "*k_proj.weight", 0 },    { "*v_proj.weight", 0 },
    { "*qkv.weight", 0 },       { "*gate_proj.weight", 0 }, { "*up_proj.weight", 0 },
    { "*gate_up.weight", 0 },   { "*q_proj.bias", 0 },      { "*k_proj.bias", 0 },
    { "*v_proj.bias", 0 },      { "*qkv.bias", 0 },         { "*o_proj.weight", 1 },
    { "*down_proj.weight", 1 }, { "*mlp.down.weight", 1 },  { "*mlp.up.weight", 0 },
    { "*mlp.gate.weight", 0 },
};

enum { NO_AXIS = LIN_MAX_RANK, STATE_RANK = 4, HEADS_AXIS = 1 };

static uint32_t axis_of(const lin_object *object)
{
    if (object->category != LIN_CATEGORY_PARAMETERS)
        return object->category != LIN_CATEGORY_BUFFERS && object->rank == STATE_RANK ? HEADS_AXIS
                                                                                      : NO_AXIS;
    for (size_t i = 0; i < ARRAY_LEN(split_rows); i++)
        if (lin_pattern_matches(split_rows[i].pattern, object->path))
            return split_rows[i].axis;
    return NO_AXIS;
}

static lin_expr part_of(walker *w, lin_expr e)
{
    return lin_expr_floordiv(w->exprs, e, lin_expr_int(w->exprs, w->settings->processes));
}

static void split_persistent(walker *w, lin_object *object, uint32_t axis)
{
    lin_expr *shape = LIN_NEW_ARRAY(w->arena, lin_expr, object->rank);
    memcpy(shape, object->shape, object->rank * sizeof *shape);
    shape[axis] = part_of(w, shape[axis]);
    object->shape = shape;
    object->elements = part_of(w, object->elements);
    object->bytes = part_of(w, object->bytes);
}

static bool divides(const walker *w, const lin_object *object, uint32_t axis)
{
    int64_t extent;
    return axis < object->rank && lin_expr_is_int(w->exprs, object->shape[axis], &extent) &&
           extent % w->settings->processes == 0;
}

/* By object: an owner of which this process holds a part. */
static bool *split_stored(walker *w)
{
    lin_graph *graph = w->graph;
    bool *split = LIN_NEW_ARRAY(w->scratch, bool, graph->objects.count);
    for (uint32_t i = 0; i < graph->parameter_objects; i++) {
        lin_object *object = &graph->objects.items[i];
        const uint32_t axis = axis_of(object);
        if (!divides(w, object, axis))
            continue;
        split_persistent(w, object, axis);
        split[object->owner] = true;
        w->traced.split_tensors += object->owner == i;
    }
    return split;
}

static bool reads_split(const walker *w, const bool *split, const uint32_t *objects, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (split[w->graph->objects.items[objects[i]].owner])
            return true;
    return false;
}

static void split_computed(walker *w, bool *split)
{
    lin_object *objects = w->graph->objects.items;
    for (uint32_t k = 0; k < w->graph->steps.count; k++) {
        const lin_step *step = &w->graph->steps.items[k];
        if (!reads_split(w, split, step->inputs, step->input_count) &&
            !reads_split(w, split, step->region_reads, step->region_read_count))
            continue;
        for (uint32_t i = 0; i < step->output_count; i++) {
            lin_object *owner = &objects[objects[step->outputs[i]].owner];
            if (owner->persistent || split[owner - objects])
                continue;
            split[owner - objects] = true;
            owner->bytes = part_of(w, owner->bytes);
        }
    }
}

/* The results are gathered whole by the last step. */
static void gather_results(walker *w, const bool *split)
{
    lin_graph *graph = w->graph;
    lin_expr gathered = w->zero;
    if (graph->steps.count == 0)
        return;
    for (uint32_t i = 0; i < graph->outputs.count; i++) {
        const lin_object *result = &graph->objects.items[graph->outputs.items[i]];
        if (!split[result->owner] || graph->objects.items[result->owner].persistent)
            continue;
        const lin_expr size = lin_expr_int(w->exprs, lin_dtype_bytes(result->dtype));
        gathered = lin_expr_add(w->exprs, gathered, lin_expr_mul(w->exprs, result->elements, size));
    }
    if (gathered == w->zero)
        return;
    lin_step *last = &graph->steps.items[graph->steps.count - 1];
    last->workspace = lin_expr_add(w->exprs, last->workspace, gathered);
    last->workspace_confidence = LIN_ESTIMATED;
}

void lin_walk_split(walker *w)
{
    if (w->settings->processes <= 1 || w->traced.has_shards)
        return;
    bool *split = split_stored(w);
    split_computed(w, split);
    gather_results(w, split);
}
