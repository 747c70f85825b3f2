/* SPDX-License-Identifier: MIT */

/*
 * What a model holds: parameters, their bytes by format, what a token adds to the caches. Read off
 * the persistent objects, with batch and cache free, so that a cache's growth is a difference of
 * two sizes.
 */

#include "trace/trace_walk.h"

#include <string.h>

typedef struct tally {
    lin_arena *arena;
    const lin_graph *graph;
    lin_totals *totals;
    lin_value_block keys, values;
    LIN_LIST(lin_format_total) formats;
    bool out_of_memory;
} tally;

/* `e` for one sequence and so many cache positions. */
static bool at_cache(const tally *t, lin_expr e, int64_t positions, int64_t *out)
{
    int64_t symbols[LIN_ROLE_COUNT] = { 1, 1, 1 };
    symbols[LIN_ROLE_CACHE] = positions;
    return lin_expr_evaluate(t->graph->exprs, e, symbols, out);
}

static bool add_format(tally *t, const char *format, int64_t elements, int64_t bytes)
{
    for (uint32_t i = 0; i < t->formats.count; i++) {
        lin_format_total *row = &t->formats.items[i];
        if (strcmp(row->format, format) != 0)
            continue;
        row->tensors++;
        return lin_add_i64(row->elements, elements, &row->elements) &&
               lin_add_i64(row->bytes, bytes, &row->bytes);
    }
    const lin_format_total row = { format, 1, elements, bytes };
    t->out_of_memory = !LIN_PUSH(t->arena, &t->formats, row);
    return !t->out_of_memory;
}

static bool add_weight(tally *t, const lin_object *object)
{
    int64_t elements, bytes;
    const char *format = object->storage != NULL ? object->storage : lin_dtype_name(object->dtype);
    if (!at_cache(t, object->elements, 1, &elements) || !at_cache(t, object->bytes, 1, &bytes) ||
        !add_format(t, format, elements, bytes))
        return false;
    if (object->category != LIN_CATEGORY_PARAMETERS)
        return true;
    return lin_add_i64(t->totals->parameters, elements, &t->totals->parameters) &&
           lin_add_i64(t->totals->weight_bytes, bytes, &t->totals->weight_bytes);
}

static bool add_cache(tally *t, const lin_object *object)
{
    const lin_value_block *block = lin_object_holds_values(object) ? &t->values : &t->keys;
    int64_t before, after, grown;
    return at_cache(t, object->elements, 1, &before) && at_cache(t, object->elements, 2, &after) &&
           lin_ceildiv_i64(after - before, block->elements, &grown) &&
           lin_mul_i64(grown, block->bytes, &grown) &&
           lin_add_i64(t->totals->kv_bytes_per_token, grown, &t->totals->kv_bytes_per_token);
}

static bool add_state(tally *t, const lin_object *object)
{
    int64_t bytes;
    return at_cache(t, object->bytes, 1, &bytes) &&
           lin_add_i64(t->totals->state_bytes, bytes, &t->totals->state_bytes);
}

static bool add_object(tally *t, uint32_t id)
{
    const lin_object *object = &t->graph->objects.items[id];
    if (object->owner != id) {
        t->totals->tied |= object->category == LIN_CATEGORY_PARAMETERS;
        return true;
    }
    switch (object->category) {
    case LIN_CATEGORY_PARAMETERS:
    case LIN_CATEGORY_BUFFERS:
        return add_weight(t, object);
    case LIN_CATEGORY_KV_CACHE:
        return add_cache(t, object);
    case LIN_CATEGORY_STATE:
        return add_state(t, object);
    default:
        return true;
    }
}

static bool comes_first(const lin_format_total *a, const lin_format_total *b)
{
    return a->bytes != b->bytes ? a->bytes > b->bytes : strcmp(a->format, b->format) < 0;
}

/* By insertion: a file has a handful of formats. */
static void sort_formats(lin_format_total *items, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const lin_format_total item = items[i];
        uint32_t at = i;
        for (; at > 0 && comes_first(&item, &items[at - 1]); at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

linnet_status lin_trace_totals(const lin_source *source, bool no_bindings, lin_value_block keys,
                               lin_value_block values, lin_arena *arena, lin_totals *out,
                               linnet_error *err)
{
    const lin_trace_settings settings = { .no_bindings = no_bindings,
                                          .full_window = true,
                                          .role_given = { true, false, true },
                                          .role_value = { 1, 1, 1 },
                                          .processes = 1 };
    const lin_block *root;
    lin_traced traced;
    linnet_status status = lin_trace_find_root(source, NULL, &root, err);
    if (status != LINNET_OK)
        return status;
    *out = (lin_totals){ .tied = source->head_is_embedding };
    if (root == NULL)
        return LINNET_OK;
    status = lin_trace_persistent(source, &settings, &arena->allocator, &traced, err);
    if (status != LINNET_OK)
        return status;
    tally t = {
        .arena = arena, .graph = traced.graph, .totals = out, .keys = keys, .values = values
    };
    for (uint32_t i = 0; i < traced.graph->objects.count && status == LINNET_OK; i++)
        if (!add_object(&t, i))
            status = t.out_of_memory ? lin_fail_memory(err)
                                     : lin_fail(err, LINNET_ERROR_OVERFLOW,
                                                "the totals of the model do not fit in 64 bits");
    sort_formats(t.formats.items, t.formats.count);
    out->formats = t.formats.items;
    out->format_count = t.formats.count;
    lin_graph_free(traced.graph);
    return status;
}

linnet_status lin_trace_count_parameters(const lin_source *source, bool no_bindings,
                                         const lin_allocator *allocator, int64_t *out_count,
                                         linnet_error *err)
{
    lin_arena arena;
    lin_totals totals;
    lin_arena_init(&arena, allocator);
    linnet_status status = lin_trace_totals(source, no_bindings, (lin_value_block){ 1, 1 },
                                            (lin_value_block){ 1, 1 }, &arena, &totals, err);
    lin_arena_free(&arena);
    if (status == LINNET_OK)
        *out_count = totals.parameters;
    return status;
}
