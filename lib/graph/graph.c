/* SPDX-License-Identifier: MIT */

/*
 * A graph's birth and death, and the check of its promises that debug builds run. The check is one
 * walk over objects and steps.
 */

#include "graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const lin_role_names[LIN_ROLE_COUNT] = { "batch", "context", "cache" };

lin_graph *lin_graph_new(const lin_allocator *allocator)
{
    lin_graph *graph = lin_alloc_zeroed(allocator, sizeof *graph);
    if (!graph)
        return NULL;
    lin_arena_init(&graph->arena, allocator);
    graph->exprs = lin_expr_table_new(&graph->arena);
    if (!graph->exprs) {
        lin_graph_free(graph);
        return NULL;
    }
    for (int role = 0; role < LIN_ROLE_COUNT; role++)
        graph->role_symbols[role] = lin_expr_new_symbol(graph->exprs, lin_role_names[role]);
    if (lin_expr_out_of_memory(graph->exprs)) {
        lin_graph_free(graph);
        return NULL;
    }
    graph->entry = "";
    graph->root = "";
    return graph;
}

void lin_graph_free(lin_graph *graph)
{
    if (!graph)
        return;
    lin_allocator allocator = graph->arena.allocator;
    lin_arena_free(&graph->arena);
    lin_release(&allocator, graph, sizeof *graph);
}

uint64_t lin_path_element(const char *path)
{
    for (const char *at = strchr(path, '.'); at != NULL; at = strchr(at + 1, '.')) {
        const uint64_t digits = strspn(at + 1, "0123456789");
        if (digits > 0 && (at[1 + digits] == '.' || at[1 + digits] == '\0'))
            return (uint64_t)(at - path) + 1 + digits;
    }
    return 0;
}

const lin_object *lin_graph_first_input(const lin_graph *graph)
{
    for (uint32_t i = graph->parameter_objects; i < graph->objects.count; i++)
        if (graph->objects.items[i].producer == LIN_NO_STEP)
            return &graph->objects.items[i];
    return NULL;
}

lin_role lin_graph_cut_role(const lin_graph *graph)
{
    const lin_object *input = lin_graph_first_input(graph);
    for (lin_role role = 0; role < LIN_ROLE_COUNT && input != NULL && input->rank > 0; role++)
        if (graph->role_free[role] &&
            input->shape[0] == lin_expr_of_symbol(graph->exprs, graph->role_symbols[role]))
            return role;
    return -1;
}

/* ---- the check ---- */

typedef struct complaint {
    char *text;
    uint64_t capacity;
} complaint;

static bool complain(complaint why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool complain(complaint why, const char *format, ...)
{
    if (why.capacity == 0)
        return false;
    va_list values;
    va_start(values, format);
    vsnprintf(why.text, (size_t)why.capacity, format, values);
    va_end(values);
    return false;
}

static bool check_object(const lin_graph *graph, uint32_t id, complaint why)
{
    const lin_object *object = &graph->objects.items[id];
    int64_t bytes;
    if (object->owner >= graph->objects.count)
        return complain(why, "object %u has no owner", id);
    if (graph->objects.items[object->owner].owner != object->owner)
        return complain(why, "object %u is more than one hop from its owner", id);
    if (object->elements == LIN_EXPR_INVALID || object->bytes == LIN_EXPR_INVALID)
        return complain(why, "object %u has no size", id);
    if (object->owner != id &&
        (!lin_expr_is_int(graph->exprs, object->bytes, &bytes) || bytes != 0))
        return complain(why, "object %u shares storage and has bytes of its own", id);
    if (object->producer != LIN_NO_STEP && (uint32_t)object->producer >= graph->steps.count)
        return complain(why, "object %u comes from step %d, which is not there", id,
                        (int)object->producer);
    if (object->persistent != (id < graph->parameter_objects))
        return complain(why, "object %u is persistent out of order", id);
    if (object->persistent && object->producer != LIN_NO_STEP)
        return complain(why, "persistent object %u has a producer", id);
    if (object->rank > LIN_MAX_RANK)
        return complain(why, "object %u has rank %u", id, object->rank);
    return true;
}

static bool check_reads(const lin_graph *graph, uint32_t index, const uint32_t *ids, uint32_t count,
                        complaint why)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] >= graph->objects.count)
            return complain(why, "step %u reads object %u, which is not there", index, ids[i]);
        if (graph->objects.items[ids[i]].producer >= (int32_t)index)
            return complain(why, "step %u reads object %u before it is made", index, ids[i]);
    }
    return true;
}

static bool check_step(const lin_graph *graph, uint32_t index, complaint why)
{
    const lin_step *step = &graph->steps.items[index];
    if (!step->kind || !step->label || !step->scope)
        return complain(why, "step %u lacks a kind, a label or a scope", index);
    if (step->workspace == LIN_EXPR_INVALID)
        return complain(why, "step %u has no workspace", index);
    for (uint32_t i = 0; i < step->output_count; i++) {
        uint32_t id = step->outputs[i];
        if (id >= graph->objects.count || graph->objects.items[id].producer != (int32_t)index)
            return complain(why, "step %u does not make its output %u", index, i);
    }
    return check_reads(graph, index, step->inputs, step->input_count, why) &&
           check_reads(graph, index, step->region_reads, step->region_read_count, why);
}

bool lin_graph_check(const lin_graph *graph, char *why, uint64_t capacity)
{
    complaint answer = { why, capacity };
    for (uint32_t i = 0; i < graph->objects.count; i++)
        if (!check_object(graph, i, answer))
            return false;
    for (uint32_t i = 0; i < graph->steps.count; i++)
        if (!check_step(graph, i, answer))
            return false;
    for (uint32_t i = 0; i < graph->outputs.count; i++)
        if (graph->outputs.items[i] >= graph->objects.count)
            return complain(answer, "output %u is no object", i);
    return true;
}

bool lin_object_holds_values(const lin_object *cache)
{
    const char *name = cache->name;
    const size_t length = strlen(name);
    return strcmp(name, "v") == 0 || strstr(name, "value") != NULL ||
           (length > 2 && strcmp(name + length - 2, "_v") == 0);
}
