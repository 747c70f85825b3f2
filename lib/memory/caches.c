/* SPDX-License-Identifier: MIT */

/*
 * How key/value caches are stored (tracing.md 6): as declared, in another dtype, or paged.
 *
 *     contiguous   elements * size(dtype)
 *     paged        ceil(batch * positions / T) * heads * width * T * size(dtype)
 *
 * The graph peak keeps the declared bytes; what a device holds is the laid-out ones.
 */

#include "memory/prepared.h"

static lin_expr times_constant(lin_expr_table *exprs, lin_expr e, int64_t factor)
{
    return lin_expr_mul(exprs, e, lin_expr_int(exprs, factor));
}

/* Axes 0 and 2 count tokens, 1 and 3 what a token holds. */
static lin_expr paged_elements(lin_expr_table *exprs, const lin_object *cache, int64_t block_size)
{
    const lin_expr tokens = lin_expr_mul(exprs, cache->shape[0], cache->shape[2]);
    const lin_expr per_token = lin_expr_mul(exprs, cache->shape[1], cache->shape[3]);
    const lin_expr blocks = lin_expr_ceildiv(exprs, tokens, lin_expr_int(exprs, block_size));
    return times_constant(exprs, lin_expr_mul(exprs, blocks, per_token), block_size);
}

lin_expr lin_memory_lay_out_cache(lin_memory *memory, const lin_object *cache)
{
    const lin_memory_settings *settings = &memory->settings;
    lin_cache_layout *layout = &memory->caches;
    lin_expr_table *exprs = memory->traced.graph->exprs;

    layout->declared_bytes = lin_expr_add(exprs, layout->declared_bytes, cache->bytes);
    const lin_dtype dtype = settings->has_kv_dtype ? settings->kv_dtype : cache->dtype;
    const bool is_recast = dtype != cache->dtype;
    const bool is_paged =
        settings->kv_block_size > 0 && cache->is_cache_axis_known && cache->rank == 4;
    if (settings->kv_block_size > 0 && !is_paged && layout->axes_unknown_count++ == 0)
        layout->axes_unknown = cache->path != NULL ? cache->path : cache->name;
    if (!is_recast && !is_paged)
        return cache->bytes;

    layout->differs = true;
    layout->is_recast |= is_recast;
    layout->paged += is_paged;
    const lin_expr elements =
        is_paged ? paged_elements(exprs, cache, settings->kv_block_size) : cache->elements;
    return times_constant(exprs, elements, lin_dtype_bytes(dtype));
}

const char *lin_memory_cache_note(const lin_memory *memory, lin_arena *arena)
{
    const uint32_t tensors = memory->holdings[LIN_CATEGORY_KV_CACHE].tensors;
    const char *plural = tensors == 1 ? "" : "s";
    const char *recast = memory->caches.is_recast ? ", stored as " : "";
    const char *dtype = memory->caches.is_recast ? lin_dtype_name(memory->settings.kv_dtype) : "";
    const long long block = (long long)memory->settings.kv_block_size;
    if (memory->caches.paged == 0)
        return lin_arena_format(arena, "%u tensor%s, contiguous%s%s", tensors, plural, recast,
                                dtype);
    if (memory->caches.paged < tensors)
        return lin_arena_format(arena, "%u tensor%s, %u of them paged in blocks of %lld%s%s",
                                tensors, plural, memory->caches.paged, block, recast, dtype);
    return lin_arena_format(arena, "%u tensor%s, paged in blocks of %lld%s%s", tensors, plural,
                            block, recast, dtype);
}
