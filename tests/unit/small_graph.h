/* SPDX-License-Identifier: MIT */
#ifndef LIN_TEST_SMALL_GRAPH_H
#define LIN_TEST_SMALL_GRAPH_H

/*
 * A model small enough to add up by hand, as a tracer would leave it. bf16, width 64, 1000 words,
 * one layer with caches of 4 heads of 16:
 *
 *     step  label      result              bytes
 *        0  embedding  [batch, context, 64]    128 batch context    rows of `table.weight`
 *        1  mul        [batch, context, 64]    128 batch context    in `layers.0`
 *        2  reshape    a view of it
 *        3  linear     [batch, context, 1000] 2000 batch context    in `head`, the output;
 *                                              workspace 6000 batch
 *
 *     weights  table 128,000 + layers.0.scale 128 + head 128,000 = 256,128
 *     caches   2 * 128 batch cache
 *     peak     step 3: tokens (4) + rows (128) + logits (2000) = 2132 batch context
 */

#include "memory/memory.h"

typedef struct small_graph {
    lin_graph *graph;
    lin_expr batch, context, cache;
} small_graph;

static uint32_t small_object(small_graph *s, const char *name, lin_category category,
                             lin_dtype dtype, const lin_expr *shape, uint32_t rank)
{
    lin_graph *g = s->graph;
    lin_expr *axes = LIN_NEW_ARRAY(&g->arena, lin_expr, rank);
    lin_expr elements = lin_expr_int(g->exprs, 1);
    for (uint32_t i = 0; i < rank; i++) {
        axes[i] = shape[i];
        elements = lin_expr_mul(g->exprs, elements, shape[i]);
    }
    const bool is_transient =
        category == LIN_CATEGORY_INPUTS || category == LIN_CATEGORY_ACTIVATIONS;
    const lin_object object = {
        .name = name,
        .category = category,
        .dtype = dtype,
        .shape = axes,
        .rank = rank,
        .elements = elements,
        .bytes = lin_expr_mul(g->exprs, elements, lin_expr_int(g->exprs, lin_dtype_bytes(dtype))),
        .producer = LIN_NO_STEP,
        .owner = g->objects.count,
        .persistent = !is_transient,
        .is_cache_axis_known = category == LIN_CATEGORY_KV_CACHE && rank == 4,
    };
    LIN_PUSH(&g->arena, &g->objects, object);
    return object.owner;
}

static uint32_t small_persistent(small_graph *s, const char *name, const char *path,
                                 lin_category category, lin_dtype dtype, const lin_expr *shape,
                                 uint32_t rank)
{
    const uint32_t id = small_object(s, name, category, dtype, shape, rank);
    s->graph->objects.items[id].path = path;
    s->graph->parameter_objects = id + 1;
    return id;
}

static lin_step *small_step(small_graph *s, const char *kind, const char *label, const char *scope,
                            const uint32_t *inputs, uint32_t input_count, uint32_t output)
{
    lin_graph *g = s->graph;
    uint32_t *ids = LIN_NEW_ARRAY(&g->arena, uint32_t, (uint64_t)input_count + 1);
    for (uint32_t i = 0; i < input_count; i++)
        ids[i] = inputs[i];
    ids[input_count] = output;
    const lin_step step = {
        .kind = kind,
        .label = label,
        .scope = scope,
        .inputs = ids,
        .input_count = input_count,
        .outputs = ids + input_count,
        .output_count = 1,
        .arithmetic = lin_expr_int(g->exprs, 0),
        .workspace = lin_expr_int(g->exprs, 0),
    };
    g->objects.items[output].producer = (int32_t)g->steps.count;
    LIN_PUSH(&g->arena, &g->steps, step);
    return &g->steps.items[g->steps.count - 1];
}

static void small_persistents(small_graph *s)
{
    lin_expr_table *t = s->graph->exprs;
    const lin_expr width = lin_expr_int(t, 64), words = lin_expr_int(t, 1000);
    const lin_expr table[] = { words, width };
    const lin_expr cache[] = { s->batch, lin_expr_int(t, 4), s->cache, lin_expr_int(t, 16) };
    small_persistent(s, "weight", "table.weight", LIN_CATEGORY_PARAMETERS, LIN_DTYPE_BF16, table,
                     2);
    small_persistent(s, "scale", "layers.0.scale", LIN_CATEGORY_PARAMETERS, LIN_DTYPE_BF16, &width,
                     1);
    small_persistent(s, "keys", "layers.0.keys", LIN_CATEGORY_KV_CACHE, LIN_DTYPE_BF16, cache, 4);
    small_persistent(s, "values", "layers.0.values", LIN_CATEGORY_KV_CACHE, LIN_DTYPE_BF16, cache,
                     4);
    small_persistent(s, "weight", "head.weight", LIN_CATEGORY_PARAMETERS, LIN_DTYPE_BF16, table, 2);
}

static void small_steps(small_graph *s)
{
    lin_graph *g = s->graph;
    lin_expr_table *t = g->exprs;
    const lin_expr rows[] = { s->batch, s->context, lin_expr_int(t, 64) };
    const lin_expr logits[] = { s->batch, s->context, lin_expr_int(t, 1000) };
    const uint32_t tokens = small_object(s, "tokens", LIN_CATEGORY_INPUTS, LIN_DTYPE_I32, rows, 2);
    const uint32_t embedded =
        small_object(s, "embedding", LIN_CATEGORY_ACTIVATIONS, LIN_DTYPE_BF16, rows, 3);
    small_step(s, "semantic.call", "embedding", "table", (uint32_t[]){ tokens, 0 }, 2, embedded);
    const uint32_t scaled =
        small_object(s, "mul", LIN_CATEGORY_ACTIVATIONS, LIN_DTYPE_BF16, rows, 3);
    small_step(s, "mul", "mul", "layers.0", (uint32_t[]){ embedded, 1 }, 2, scaled);
    const uint32_t view =
        small_object(s, "reshape", LIN_CATEGORY_ACTIVATIONS, LIN_DTYPE_BF16, rows, 3);
    g->objects.items[view].owner = scaled;
    g->objects.items[view].bytes = lin_expr_int(t, 0);
    small_step(s, "reshape", "reshape", "", &scaled, 1, view);
    const uint32_t result =
        small_object(s, "linear", LIN_CATEGORY_ACTIVATIONS, LIN_DTYPE_BF16, logits, 3);
    lin_step *head =
        small_step(s, "semantic.call", "linear", "head", (uint32_t[]){ view, 4 }, 2, result);
    head->workspace = lin_expr_mul(t, lin_expr_int(t, 6000), s->batch);
    head->workspace_confidence = LIN_ESTIMATED;
    LIN_PUSH(&g->arena, &g->outputs, result);
}

/* `values` are batch, context, cache. The allocator must not fail here. */
static lin_traced small_traced(const lin_allocator *allocator, const int64_t values[LIN_ROLE_COUNT])
{
    small_graph s = { .graph = lin_graph_new(allocator) };
    lin_graph *g = s.graph;
    s.batch = lin_expr_of_symbol(g->exprs, g->role_symbols[LIN_ROLE_BATCH]);
    s.context = lin_expr_of_symbol(g->exprs, g->role_symbols[LIN_ROLE_CONTEXT]);
    s.cache = lin_expr_of_symbol(g->exprs, g->role_symbols[LIN_ROLE_CACHE]);
    g->entry = "forward";
    g->root = "Small";
    small_persistents(&s);
    small_steps(&s);

    const lin_relation relation = { LIN_LE, s.context, s.cache, "S <= MaxSeq" };
    LIN_PUSH(&g->arena, &g->relations, relation);
    const lin_unknown_call unknown = { "torch.sort", 2 };
    LIN_PUSH(&g->arena, &g->unknown_workspaces, unknown);

    lin_setting *bound = LIN_NEW_ARRAY(&g->arena, lin_setting, 2);
    bound[0] = (lin_setting){ .name = "Width", .integer = 64 };
    bound[1] = (lin_setting){ .name = "D", .is_dtype = true, .dtype = LIN_DTYPE_BF16 };
    lin_traced traced = { .graph = g, .bound = bound, .bound_count = 2, .dtype = "bf16" };
    for (int role = 0; role < LIN_ROLE_COUNT; role++) {
        g->role_free[role] = true;
        g->role_used[role] = true;
        traced.role_value[role] = values[role];
    }
    return traced;
}

#endif
