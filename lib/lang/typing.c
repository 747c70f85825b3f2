/* SPDX-License-Identifier: MIT */
/*
 * Types: making them, what a dtype is known to be, and when two types are one. Types are plain
 * trees in the program's arena; equality is structural, with dimensions compared by proof. A type
 * of more than MAX_TYPE_PARTS nodes is refused, which keeps every walk over a type bounded.
 */

#include "lang/check.h"

/* A tuple of tuples of … doubles its size with each declaration; no program written by hand comes
 * near this. */
enum { MAX_TYPE_PARTS = 4096 };

const lin_type lin_error_type = { .kind = LIN_TYPE_ERROR };
const lin_type lin_unit_type = { .kind = LIN_TYPE_UNIT };
const lin_type lin_none_type = { .kind = LIN_TYPE_NONE };
const lin_type lin_string_type = { .kind = LIN_TYPE_STRING };

static lin_type *new_type(checker *c, lin_type_kind kind)
{
    lin_type *type = LIN_NEW(c->arena, lin_type);
    type->kind = kind;
    return type;
}

const lin_type *lin_scalar_type(checker *c, lin_dtype_term dtype)
{
    lin_type *type = new_type(c, LIN_TYPE_SCALAR);
    type->dtype = dtype;
    return type;
}

const lin_type *lin_tensor_type(checker *c, const lin_axis *axes, uint32_t count,
                                lin_dtype_term dtype)
{
    if (count == 0)
        return lin_scalar_type(c, dtype);
    lin_type *type = new_type(c, LIN_TYPE_TENSOR);
    type->axes = axes;
    type->axis_count = count;
    type->dtype = dtype;
    return type;
}

static const lin_type *type_of_parts(checker *c, lin_type_kind kind, const lin_type *const *parts,
                                     uint32_t count)
{
    lin_type *type = new_type(c, kind);
    const lin_type **copy = LIN_NEW_ARRAY(c->arena, const lin_type *, count);
    for (uint32_t i = 0; i < count; i++)
        copy[i] = parts[i];
    type->parts = copy;
    type->part_count = count;
    return type;
}

const lin_type *lin_optional_type(checker *c, const lin_type *inner)
{
    return inner->kind == LIN_TYPE_ERROR ? inner : type_of_parts(c, LIN_TYPE_OPTIONAL, &inner, 1);
}

const lin_type *lin_tuple_type(checker *c, const lin_type *const *parts, uint32_t count)
{
    return type_of_parts(c, LIN_TYPE_TUPLE, parts, count);
}

const lin_type *lin_dim_type(checker *c, lin_expr value)
{
    lin_type *type = new_type(c, LIN_TYPE_DIM);
    type->dim = value;
    return type;
}

const lin_type *lin_float_type(checker *c, bool known, double value)
{
    lin_type *type = new_type(c, LIN_TYPE_FLOAT);
    type->has_number = known;
    type->number = value;
    return type;
}

lin_axis lin_axis_of_dim(lin_expr dim)
{
    return (lin_axis){ .dim = dim };
}

/* ---- size ---- */

/* Takes the nodes of `type` from *left; false when there are more. */
static bool count_parts(const lin_type *type, uint32_t *left)
{
    if (*left == 0)
        return false;
    *left -= 1;
    for (uint32_t i = 0; i < type->part_count; i++)
        if (!count_parts(type->parts[i], left))
            return false;
    return true;
}

bool lin_check_type_size(checker *c, lin_span span, const lin_type *type)
{
    uint32_t left = MAX_TYPE_PARTS;
    if (count_parts(type, &left))
        return true;
    lin_report(c, span, "E1101", "too deeply nested: a type of more than %d parts", MAX_TYPE_PARTS);
    return false;
}

/* ---- dtypes ---- */

/* The class a dtype is known to belong to. */
static lin_dtype_bound class_of(const checker *c, lin_dtype_term dtype)
{
    if (!lin_dtype_is_concrete(dtype))
        return c->symbols.items[lin_dtype_symbol(dtype)]->bound;
    switch (lin_dtype_class_of((lin_dtype)dtype)) {
    case LIN_CLASS_BOOL:
        return LIN_BOUND_DTYPE;
    case LIN_CLASS_INTEGER:
        return LIN_BOUND_INTEGER;
    case LIN_CLASS_FLOAT:
        return LIN_BOUND_FLOAT;
    }
    return LIN_BOUND_DTYPE;
}

bool lin_dtype_satisfies(const checker *c, lin_dtype_term dtype, lin_dtype_bound bound)
{
    lin_dtype_bound known = class_of(c, dtype);
    if (bound == LIN_BOUND_DTYPE || known == bound)
        return true;
    return bound == LIN_BOUND_NUMERIC && known != LIN_BOUND_DTYPE;
}

bool lin_dtype_is_numeric(const checker *c, lin_dtype_term dtype)
{
    return lin_dtype_satisfies(c, dtype, LIN_BOUND_NUMERIC);
}

bool lin_dtype_is_integer(const checker *c, lin_dtype_term dtype)
{
    return lin_dtype_satisfies(c, dtype, LIN_BOUND_INTEGER);
}

bool lin_dtype_is_float(const checker *c, lin_dtype_term dtype)
{
    return lin_dtype_satisfies(c, dtype, LIN_BOUND_FLOAT);
}

const char *lin_dtype_text(const checker *c, lin_dtype_term dtype)
{
    return lin_dtype_is_concrete(dtype)
               ? lin_dtype_name((lin_dtype)dtype)
               : lin_expr_symbol_name(c->program->dims, lin_dtype_symbol(dtype));
}

/* ---- equality ---- */

/* An invalid dimension was reported where it arose: it differs from nothing. */
static bool dims_match(lin_solver *solver, lin_expr a, lin_expr b)
{
    return a == b || a == LIN_EXPR_INVALID || b == LIN_EXPR_INVALID ||
           lin_solver_equal(solver, a, b);
}

static bool axes_match(lin_solver *solver, const lin_axis *a, uint32_t a_count, const lin_axis *b,
                       uint32_t b_count)
{
    if (a_count != b_count)
        return false;
    for (uint32_t i = 0; i < a_count; i++) {
        if (a[i].is_pack != b[i].is_pack)
            return false;
        if (a[i].is_pack ? a[i].pack != b[i].pack : !dims_match(solver, a[i].dim, b[i].dim))
            return false;
    }
    return true;
}

static bool args_match(lin_solver *solver, const lin_generics *generics, const lin_generic_arg *a,
                       const lin_generic_arg *b)
{
    for (uint32_t i = 0; i < generics->count; i++) {
        bool same = false;
        switch (a[i].kind) {
        case LIN_GENERIC_DIM:
            same = dims_match(solver, a[i].dim, b[i].dim);
            break;
        case LIN_GENERIC_SHAPE:
            same = axes_match(solver, a[i].axes, a[i].axis_count, b[i].axes, b[i].axis_count);
            break;
        case LIN_GENERIC_DTYPE:
            same = a[i].dtype == b[i].dtype;
            break;
        }
        if (!same)
            return false;
    }
    return true;
}

static bool types_match(lin_solver *solver, const lin_type *a, const lin_type *b);

static bool parts_match(lin_solver *solver, const lin_type *a, const lin_type *b)
{
    if (a->part_count != b->part_count)
        return false;
    for (uint32_t i = 0; i < a->part_count; i++)
        if (!types_match(solver, a->parts[i], b->parts[i]))
            return false;
    return true;
}

static bool types_match(lin_solver *solver, const lin_type *a, const lin_type *b)
{
    if (a == b)
        return true;
    if (a->kind == LIN_TYPE_ERROR || b->kind == LIN_TYPE_ERROR)
        return true;
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case LIN_TYPE_ERROR:
    case LIN_TYPE_UNIT:
    case LIN_TYPE_NONE:
    case LIN_TYPE_STRING:
    case LIN_TYPE_FLOAT:
        return true;
    case LIN_TYPE_SCALAR:
        return a->dtype == b->dtype;
    case LIN_TYPE_TENSOR:
        return a->dtype == b->dtype &&
               axes_match(solver, a->axes, a->axis_count, b->axes, b->axis_count);
    case LIN_TYPE_SHAPE:
        return axes_match(solver, a->axes, a->axis_count, b->axes, b->axis_count);
    case LIN_TYPE_OPTIONAL:
    case LIN_TYPE_TUPLE:
        return parts_match(solver, a, b);
    case LIN_TYPE_ARRAY:
        return dims_match(solver, a->dim, b->dim) && parts_match(solver, a, b);
    case LIN_TYPE_DIM:
        return dims_match(solver, a->dim, b->dim);
    case LIN_TYPE_BLOCK:
        return a->block == b->block && args_match(solver, &a->block->generics, a->args, b->args);
    case LIN_TYPE_STRUCT:
        return a->structure == b->structure &&
               args_match(solver, &a->structure->generics, a->args, b->args);
    case LIN_TYPE_ENUM:
        return a->enumeration == b->enumeration &&
               args_match(solver, &a->enumeration->generics, a->args, b->args);
    }
    return false;
}

bool lin_types_equal(checker *c, const lin_type *a, const lin_type *b)
{
    return types_match(c->solver, a, b);
}

lin_expr lin_element_count(checker *c, const lin_axis *axes, uint32_t count)
{
    lin_expr product = lin_expr_int(c->program->dims, 1);
    for (uint32_t i = 0; i < count; i++)
        product = lin_expr_mul(c->program->dims, product, axes[i].dim);
    return product;
}
