/* SPDX-License-Identifier: MIT */
/*
 * Environments: what generics stand for while a program is instantiated. An environment is a list
 * of bindings with the enclosing block's behind it; dimensions are rebuilt in the table of the
 * instantiation, shape packs become runs of axes. A declaration has a handful of generics, so they
 * are searched front to back.
 */

#include "lang/lang.h"

struct lin_env {
    const lin_program *program;
    lin_expr_table *table;
    const lin_env *outer;
    const lin_bound *bounds;
    uint32_t count;
};

const lin_env *lin_env_new(lin_arena *arena, const lin_program *program, lin_expr_table *table,
                           const lin_env *outer, const lin_bound *bounds, uint32_t count)
{
    lin_env *env = LIN_NEW(arena, lin_env);
    lin_bound *copy = LIN_NEW_ARRAY(arena, lin_bound, count);
    if (env == NULL || copy == NULL)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        copy[i] = bounds[i];
    *env = (lin_env){
        .program = program, .table = table, .outer = outer, .bounds = copy, .count = count
    };
    return env;
}

static const lin_bound *find(const lin_env *env, lin_symbol symbol)
{
    for (; env != NULL; env = env->outer)
        for (uint32_t i = 0; i < env->count; i++)
            if (env->bounds[i].symbol == symbol)
                return &env->bounds[i];
    return NULL;
}

static lin_expr product(lin_expr_table *table, const lin_expr *dims, uint32_t count)
{
    lin_expr value = lin_expr_int(table, 1);
    for (uint32_t i = 0; i < count; i++)
        value = lin_expr_mul(table, value, dims[i]);
    return value;
}

static lin_expr value_of(void *user, lin_symbol symbol)
{
    const lin_env *env = user;
    const lin_bound *bound = find(env, symbol);
    if (bound == NULL)
        return LIN_EXPR_INVALID;
    switch (bound->kind) {
    case LIN_GENERIC_DIM:
        return bound->dim;
    case LIN_GENERIC_SHAPE:
        return product(env->table, bound->dims, bound->dim_count);
    case LIN_GENERIC_DTYPE:
        break;
    }
    return LIN_EXPR_INVALID;
}

lin_expr lin_env_dim(const lin_env *env, lin_expr dim)
{
    if (dim == LIN_EXPR_INVALID)
        return LIN_EXPR_INVALID;
    return lin_expr_replace(env->table, env->program->dims, dim, value_of, (void *)(uintptr_t)env);
}

lin_dtype_term lin_env_dtype(const lin_env *env, lin_dtype_term dtype)
{
    if (lin_dtype_is_concrete(dtype))
        return dtype;
    const lin_bound *bound = find(env, lin_dtype_symbol(dtype));
    return bound != NULL && bound->kind == LIN_GENERIC_DTYPE ? bound->dtype : dtype;
}

/* The pack's binding; NULL when it is unbound. */
static const lin_bound *find_pack(const lin_env *env, lin_symbol symbol)
{
    const lin_bound *bound = find(env, symbol);
    return bound != NULL && bound->kind == LIN_GENERIC_SHAPE ? bound : NULL;
}

static bool rank_of(const lin_env *env, const lin_axis *axes, uint32_t count, uint32_t *out_rank)
{
    uint64_t rank = 0;
    for (uint32_t i = 0; i < count; i++) {
        const lin_bound *pack = axes[i].is_pack ? find_pack(env, axes[i].pack) : NULL;
        if (axes[i].is_pack && pack == NULL)
            return false;
        rank += pack != NULL ? pack->dim_count : 1;
    }
    *out_rank = (uint32_t)rank;
    return rank <= UINT32_MAX;
}

const lin_expr *lin_env_shape(lin_arena *arena, const lin_env *env, const lin_axis *axes,
                              uint32_t axis_count, uint32_t *out_rank)
{
    uint32_t rank = 0, filled = 0;
    *out_rank = 0;
    if (!rank_of(env, axes, axis_count, &rank))
        return NULL;
    lin_expr *shape = LIN_NEW_ARRAY(arena, lin_expr, rank);
    if (shape == NULL)
        return NULL;
    for (uint32_t i = 0; i < axis_count; i++) {
        if (!axes[i].is_pack) {
            shape[filled++] = lin_env_dim(env, axes[i].dim);
            continue;
        }
        const lin_bound *pack = find_pack(env, axes[i].pack);
        for (uint32_t k = 0; k < pack->dim_count; k++)
            shape[filled++] = pack->dims[k];
    }
    *out_rank = rank;
    return shape;
}

/* False: out of memory, or an unbound pack. */
static bool bind(lin_arena *arena, const lin_env *env, const lin_generic *generic,
                 const lin_generic_arg *arg, lin_bound *out)
{
    *out = (lin_bound){ .symbol = generic->symbol, .kind = arg->kind };
    switch (arg->kind) {
    case LIN_GENERIC_DIM:
        out->dim = lin_env_dim(env, arg->dim);
        return true;
    case LIN_GENERIC_SHAPE:
        out->dims = lin_env_shape(arena, env, arg->axes, arg->axis_count, &out->dim_count);
        return out->dims != NULL;
    case LIN_GENERIC_DTYPE:
        out->dtype = lin_env_dtype(env, arg->dtype);
        return true;
    }
    return false;
}

const lin_env *lin_env_enter(lin_arena *arena, const lin_env *env, const lin_env *outer,
                             const lin_substitution *substitution)
{
    uint32_t count = substitution->generics->count;
    lin_bound *bounds = LIN_NEW_ARRAY(arena, lin_bound, count);
    lin_env *inner = LIN_NEW(arena, lin_env);
    if (bounds == NULL || inner == NULL)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (!bind(arena, env, &substitution->generics->items[i], &substitution->items[i],
                  &bounds[i]))
            return NULL;
    *inner = (lin_env){ .program = env->program,
                        .table = env->table,
                        .outer = outer,
                        .bounds = bounds,
                        .count = count };
    return inner;
}
