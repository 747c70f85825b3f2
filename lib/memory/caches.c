/* SPDX-License-Identifier: MIT */

/*
 * How key/value caches are stored (tracing.md 6): as declared, in another format, or paged.
 *
 *     contiguous   elements * size(dtype)
 *     in blocks    batch * positions * ceil(heads * width / block) * bytes of a block
 *     paged        the same, batch * positions rounded up to a multiple of the page
 *
 * Keys and values may differ (lin_object_holds_values).
 *
 * The graph peak keeps the declared bytes; what a device holds is the laid-out ones.
 */

#include "memory/prepared.h"

#include <string.h>

/* ---- formats ---- */

static const lin_kv_format *format_of_dtype(lin_dtype dtype)
{
    const char *name = lin_dtype_name(dtype);
    return lin_kv_format_find(name, strlen(name));
}

/* NULL: as declared. */
static const lin_kv_format *wanted(const lin_memory_settings *settings, bool values)
{
    const lin_kv_format *format = values ? settings->kv_values : settings->kv_keys;
    if (format == NULL && settings->has_kv_dtype)
        format = format_of_dtype(settings->kv_dtype);
    return format;
}

const char *lin_memory_cache_format(const lin_memory_settings *settings, lin_arena *arena)
{
    const lin_kv_format *keys = wanted(settings, false), *values = wanted(settings, true);
    if (keys == NULL && values == NULL)
        return NULL;
    if (keys == values)
        return keys->name;
    return lin_arena_format(arena, "%s,%s", keys != NULL ? keys->name : "declared",
                            values != NULL ? values->name : "declared");
}

/* ---- sizes ---- */

static lin_expr times_constant(lin_expr_table *exprs, lin_expr e, int64_t factor)
{
    return lin_expr_mul(exprs, e, lin_expr_int(exprs, factor));
}

/* How many positions of all sequences there is room for, and values of one of them. Axes 0 and 2 of
 * a known cache count tokens, 1 and 3 what a token holds; of another the last axis is taken. */
typedef struct cache_extents {
    lin_expr tokens, values;
} cache_extents;

static cache_extents extents_of(lin_expr_table *exprs, const lin_object *cache)
{
    if (cache->is_cache_axis_known && cache->rank == 4)
        return (cache_extents){ lin_expr_mul(exprs, cache->shape[0], cache->shape[2]),
                                lin_expr_mul(exprs, cache->shape[1], cache->shape[3]) };
    cache_extents extents = { lin_expr_int(exprs, 1), lin_expr_int(exprs, 1) };
    for (uint32_t i = 0; i + 1 < cache->rank; i++)
        extents.tokens = lin_expr_mul(exprs, extents.tokens, cache->shape[i]);
    if (cache->rank > 0)
        extents.values = cache->shape[cache->rank - 1];
    return extents;
}

static lin_expr rounded_up(lin_expr_table *exprs, lin_expr count, int64_t unit)
{
    return times_constant(exprs, lin_expr_ceildiv(exprs, count, lin_expr_int(exprs, unit)), unit);
}

static lin_expr laid_out(lin_expr_table *exprs, const lin_object *cache,
                         const lin_kv_format *format, int64_t page)
{
    if (page == 0 && format->block_elements == 1)
        return times_constant(exprs, cache->elements, format->block_bytes);
    const cache_extents extents = extents_of(exprs, cache);
    const lin_expr tokens = page > 0 ? rounded_up(exprs, extents.tokens, page) : extents.tokens;
    const lin_expr blocks =
        lin_expr_ceildiv(exprs, extents.values, lin_expr_int(exprs, format->block_elements));
    return times_constant(exprs, lin_expr_mul(exprs, tokens, blocks), format->block_bytes);
}

lin_expr lin_memory_lay_out_cache(lin_memory *memory, const lin_object *cache)
{
    const lin_memory_settings *settings = &memory->settings;
    lin_cache_layout *layout = &memory->caches;
    lin_expr_table *exprs = memory->traced.graph->exprs;

    layout->declared_bytes = lin_expr_add(exprs, layout->declared_bytes, cache->bytes);
    const lin_kv_format *declared = format_of_dtype(cache->dtype);
    const bool values = lin_object_holds_values(cache);
    const lin_kv_format *format = wanted(settings, values);
    const bool is_recast = format != NULL && format != declared;
    const bool is_paged =
        settings->kv_block_size > 0 && cache->is_cache_axis_known && cache->rank == 4;
    format = format != NULL ? format : declared;
    *(values ? &layout->values : &layout->keys) = format->name;
    if (settings->kv_block_size > 0 && !is_paged && layout->axes_unknown_count++ == 0)
        layout->axes_unknown = cache->path != NULL ? cache->path : cache->name;
    if (!is_recast && !is_paged)
        return cache->bytes;

    layout->differs = true;
    layout->is_recast |= is_recast;
    layout->paged += is_paged;
    return laid_out(exprs, cache, format, is_paged ? settings->kv_block_size : 0);
}

/* ---- words ---- */

/* ", stored as i8", ", keys stored as iq4_nl, values as f16"; "" for as declared. */
static const char *stored_as(const lin_cache_layout *layout, lin_arena *arena)
{
    if (!layout->is_recast)
        return "";
    if (layout->keys != NULL && layout->values != NULL && strcmp(layout->keys, layout->values) != 0)
        return lin_arena_format(arena, ", keys stored as %s, values as %s", layout->keys,
                                layout->values);
    return lin_arena_format(arena, ", stored as %s",
                            layout->keys != NULL ? layout->keys : layout->values);
}

const char *lin_memory_cache_note(const lin_memory *memory, lin_arena *arena)
{
    const uint32_t tensors = memory->holdings[LIN_CATEGORY_KV_CACHE].tensors;
    const char *plural = tensors == 1 ? "" : "s";
    const char *stored = stored_as(&memory->caches, arena);
    const long long block = (long long)memory->settings.kv_block_size;
    if (memory->caches.paged == 0)
        return lin_arena_format(arena, "%u tensor%s, contiguous%s", tensors, plural, stored);
    if (memory->caches.paged < tensors)
        return lin_arena_format(arena, "%u tensor%s, %u of them paged in blocks of %lld%s", tensors,
                                plural, memory->caches.paged, block, stored);
    return lin_arena_format(arena, "%u tensor%s, paged in blocks of %lld%s", tensors, plural, block,
                            stored);
}
