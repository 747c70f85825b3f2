/* SPDX-License-Identifier: MIT */
/*
 * Types and dimensions with generics replaced. All lists of a chain are replaced in one pass, so
 * what comes in is never looked at again: a function may be substituted with terms that mention its
 * own generics.
 */

#include "lang/check.h"

typedef struct substitution {
    checker *c;
    const subst *chain;
} substitution;

/* What `symbol` is replaced by, or NULL: it stays. */
static const lin_generic_arg *find_arg(const subst *chain, lin_symbol symbol)
{
    for (const subst *s = chain; s != NULL; s = s->next) {
        if (s->generics == NULL)
            continue;
        for (uint32_t i = 0; i < s->generics->count; i++)
            if (s->generics->items[i].symbol == symbol)
                return s->bound == NULL || s->bound[i] ? &s->items[i] : NULL;
    }
    return NULL;
}

static lin_expr value_of(void *user, lin_symbol symbol)
{
    const substitution *s = user;
    const lin_generic_arg *arg = find_arg(s->chain, symbol);
    if (arg == NULL)
        return lin_expr_of_symbol(s->c->program->dims, symbol);
    switch (arg->kind) {
    case LIN_GENERIC_DIM:
        return arg->dim;
    case LIN_GENERIC_SHAPE:
        return lin_element_count(s->c, arg->axes, arg->axis_count);
    case LIN_GENERIC_DTYPE:
        break;
    }
    return LIN_EXPR_INVALID;
}

lin_expr lin_substitute_dim(checker *c, const subst *s, lin_expr dim)
{
    substitution user = { .c = c, .chain = s };
    lin_expr_table *dims = c->program->dims;
    if (dim == LIN_EXPR_INVALID || lin_expr_is_int(dims, dim, NULL))
        return dim;
    return lin_expr_replace(dims, dims, dim, value_of, &user);
}

lin_dtype_term lin_substitute_dtype(const subst *s, lin_dtype_term dtype)
{
    if (lin_dtype_is_concrete(dtype))
        return dtype;
    const lin_generic_arg *arg = find_arg(s, lin_dtype_symbol(dtype));
    return arg == NULL ? dtype : arg->dtype;
}

/* Packs are spliced in. */
const lin_axis *lin_substitute_axes(checker *c, const subst *s, const lin_axis *axes,
                                    uint32_t count, uint32_t *out_count)
{
    LIN_LIST(lin_axis) list = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        const lin_generic_arg *arg = axes[i].is_pack ? find_arg(s, axes[i].pack) : NULL;
        if (arg == NULL) {
            lin_axis axis = axes[i];
            axis.dim = lin_substitute_dim(c, s, axis.dim);
            LIN_PUSH(c->arena, &list, axis);
            continue;
        }
        for (uint32_t k = 0; k < arg->axis_count; k++)
            LIN_PUSH(c->arena, &list, arg->axes[k]);
    }
    *out_count = list.count;
    return list.items;
}

static lin_generic_arg substitute_arg(checker *c, const subst *s, lin_generic_arg arg)
{
    switch (arg.kind) {
    case LIN_GENERIC_DIM:
        arg.dim = lin_substitute_dim(c, s, arg.dim);
        break;
    case LIN_GENERIC_SHAPE:
        arg.axes = lin_substitute_axes(c, s, arg.axes, arg.axis_count, &arg.axis_count);
        break;
    case LIN_GENERIC_DTYPE:
        arg.dtype = lin_substitute_dtype(s, arg.dtype);
        break;
    }
    return arg;
}

const lin_generic_arg *lin_substitute_args(checker *c, const subst *s, const lin_generic_arg *args,
                                           uint32_t count)
{
    lin_generic_arg *out = LIN_NEW_ARRAY(c->arena, lin_generic_arg, count);
    for (uint32_t i = 0; i < count; i++)
        out[i] = substitute_arg(c, s, args[i]);
    return out;
}

uint32_t lin_generic_count(const lin_type *type)
{
    switch (type->kind) {
    case LIN_TYPE_BLOCK:
        return type->block->generics.count;
    case LIN_TYPE_STRUCT:
        return type->structure->generics.count;
    case LIN_TYPE_ENUM:
        return type->enumeration->generics.count;
    default:
        return 0;
    }
}

static const lin_type *rebuild(checker *c, const subst *s, const lin_type *type)
{
    lin_type *out = LIN_NEW(c->arena, lin_type);
    *out = *type;
    if (type->args != NULL)
        out->args = lin_substitute_args(c, s, type->args, lin_generic_count(type));
    if (type->part_count > 0) {
        const lin_type **parts = LIN_NEW_ARRAY(c->arena, const lin_type *, type->part_count);
        for (uint32_t i = 0; i < type->part_count; i++)
            parts[i] = lin_substitute_type(c, s, type->parts[i]);
        out->parts = parts;
    }
    if (type->kind == LIN_TYPE_ARRAY || type->kind == LIN_TYPE_DIM)
        out->dim = lin_substitute_dim(c, s, type->dim);
    return out;
}

const lin_type *lin_substitute_type(checker *c, const subst *s, const lin_type *type)
{
    uint32_t count = 0;
    switch (type->kind) {
    case LIN_TYPE_ERROR:
    case LIN_TYPE_UNIT:
    case LIN_TYPE_FLOAT:
    case LIN_TYPE_NONE:
    case LIN_TYPE_STRING:
        return type;
    case LIN_TYPE_SCALAR:
        return lin_dtype_is_concrete(type->dtype)
                   ? type
                   : lin_scalar_type(c, lin_substitute_dtype(s, type->dtype));
    case LIN_TYPE_TENSOR: {
        const lin_axis *axes = lin_substitute_axes(c, s, type->axes, type->axis_count, &count);
        return lin_tensor_type(c, axes, count, lin_substitute_dtype(s, type->dtype));
    }
    case LIN_TYPE_SHAPE: {
        lin_type *shape = LIN_NEW(c->arena, lin_type);
        *shape = *type;
        shape->axes = lin_substitute_axes(c, s, type->axes, type->axis_count, &shape->axis_count);
        return shape;
    }
    case LIN_TYPE_OPTIONAL:
    case LIN_TYPE_TUPLE:
    case LIN_TYPE_ARRAY:
    case LIN_TYPE_BLOCK:
    case LIN_TYPE_STRUCT:
    case LIN_TYPE_ENUM:
    case LIN_TYPE_DIM:
        return rebuild(c, s, type);
    }
    return type;
}

const lin_type *lin_member_type(checker *c, const lin_type *block_value, const lin_member *member)
{
    const subst s = { .generics = &block_value->block->generics,
                      .items = (lin_generic_arg *)(uintptr_t)block_value->args };
    return lin_substitute_type(c, &s, member->type);
}
