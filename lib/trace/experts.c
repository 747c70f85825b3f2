/* SPDX-License-Identifier: MIT */

/*
 * Expert parallelism: each process keeps its part of every mixture's experts. The experts' weights
 * are what the ops of std.nn.moe read as their second operand, and what lies beside them with as
 * many first elements (biases, scales); the graph says which they are, since fewer processes hold
 * the same experts than hold the same of anything else. Balanced, a process receives as many rows
 * as it sends, so values keep their sizes; an uneven load is the model's `Imbalance`. Cost: linear
 * in the steps and the stored tensors of the mixtures' blocks.
 */

#include "trace/trace_walk.h"

#include <string.h>

static bool is_expert_product(const lin_step *step)
{
    static const char *const labels[] = { "linear_experts", "linear_experts_shared",
                                          "combine_experts" };
    for (size_t i = 0; i < ARRAY_LEN(labels); i++)
        if (step->operand_count > 2 && strcmp(step->label, labels[i]) == 0)
            return true;
    return false;
}

static uint64_t block_length(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? (uint64_t)(dot - path) : 0;
}

static bool is_beside(const lin_object *a, const lin_object *b)
{
    const uint64_t length = block_length(a->path);
    return block_length(b->path) == length && memcmp(a->path, b->path, length) == 0;
}

static void check_experts(walker *w, const lin_object *weight)
{
    const int64_t processes = w->settings->expert_processes;
    int64_t experts;
    if (!lin_expr_is_int(w->exprs, weight->shape[0], &experts))
        lin_walk_fail(w, LINNET_ERROR_UNSUPPORTED,
                      "expert parallelism over a number of experts that is not known (`%s`)",
                      weight->path);
    if (experts % processes == 0)
        return;
    const char *list = "";
    for (int64_t degree = 1, shown = 0; degree <= experts && shown < 16; degree++)
        if (experts % degree == 0) {
            list = lin_arena_format(w->scratch, "%s%s%lld", list, shown > 0 ? ", " : "",
                                    (long long)degree);
            shown++;
        }
    lin_walk_fail(w, LINNET_ERROR_ARGUMENT,
                  "an expert-parallel degree of %lld does not divide the %lld experts of `%s`; "
                  "degrees that do are %s",
                  (long long)processes, (long long)experts, weight->path, list);
}

static void split_first_axis(walker *w, lin_object *object)
{
    const lin_expr processes = lin_expr_int(w->exprs, w->settings->expert_processes);
    lin_expr *shape = LIN_NEW_ARRAY(w->arena, lin_expr, object->rank);
    memcpy(shape, object->shape, object->rank * sizeof *shape);
    shape[0] = lin_expr_floordiv(w->exprs, shape[0], processes);
    object->shape = shape;
    object->elements = lin_expr_floordiv(w->exprs, object->elements, processes);
    object->bytes = lin_expr_floordiv(w->exprs, object->bytes, processes);
    object->is_expert_part = true;
}

/* The block's tensors stand together in the list of stored ones, a member at a time for all blocks
 * of an array, so the whole list is looked through. */
static void split_block(walker *w, uint32_t weight, bool *done)
{
    lin_object *objects = w->graph->objects.items;
    const lin_object first = objects[weight];
    for (uint32_t i = 0; i < w->graph->parameter_objects; i++) {
        lin_object *object = &objects[i];
        if (done[i] || object->rank == 0 || object->shape[0] != first.shape[0] ||
            object->category != LIN_CATEGORY_PARAMETERS || !is_beside(&first, object))
            continue;
        done[i] = true;
        split_first_axis(w, object);
    }
}

void lin_walk_split_experts(walker *w)
{
    const lin_graph *graph = w->graph;
    bool found = false;
    if (w->settings->expert_processes <= 1)
        return;
    if (w->settings->processes > 1 && !w->traced.has_shards)
        lin_walk_fail(w, LINNET_ERROR_UNSUPPORTED,
                      "expert parallelism beside a DTensor split is not modelled");
    bool *done = LIN_NEW_ARRAY(w->scratch, bool, graph->objects.count);
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        const lin_step *step = &graph->steps.items[k];
        if (!is_expert_product(step))
            continue;
        const uint32_t weight = graph->objects.items[step->operands[1]].owner;
        const lin_object *object = &graph->objects.items[weight];
        if (!object->persistent || object->path == NULL || done[weight])
            continue;
        check_experts(w, object);
        split_block(w, weight, done);
        found = true;
    }
    if (!found)
        lin_walk_fail(w, LINNET_ERROR_UNSUPPORTED,
                      "expert parallelism is not modelled for this entry: it calls no op of "
                      "std.nn.moe with weights of its own");
}
