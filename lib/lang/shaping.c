/* SPDX-License-Identifier: MIT */

/*
 * The prelude's functions that move or make data: reshape, broadcast_to, permute, concat, cumsum,
 * iota, fill. Each proves what its result's shape needs.
 */

#include "lang/body.h"

static bool is_tensor(body *b, const prelude_call *call, operand o)
{
    if (o.type->kind == LIN_TYPE_TENSOR)
        return true;
    lin_body_report(b, o.span, "E2104", "`%s` works on tensors, found `%s`", call->name,
                    lin_type_text(b->c, o.type));
    return false;
}

/* A bracketed list of dimensions, none of them negative. */
static bool is_shape(body *b, const prelude_call *call, operand o)
{
    if (o.type->kind != LIN_TYPE_SHAPE) {
        lin_body_report(b, o.span, "E2101", "`%s` wants a shape, found `%s`", call->name,
                        lin_type_text(b->c, o.type));
        return false;
    }
    if (o.type->axis_count == 0) {
        lin_body_report(b, o.span, "E2190", "tensors without axes are not supported");
        return false;
    }
    for (uint32_t i = 0; i < o.type->axis_count; i++) {
        if (!lin_solver_negative(b->c->solver, o.type->axes[i].dim))
            continue;
        lin_body_report(b, o.span, "E2208", "dimension `%s` is negative",
                        lin_dim_text(b->c, o.type->axes[i].dim));
        return false;
    }
    return true;
}

static operand with_axes(body *b, const prelude_call *call, const operand *operands, uint32_t count,
                         const lin_type *shape, lin_dtype_term dtype)
{
    const lin_type *type = lin_tensor_type(b->c, shape->axes, shape->axis_count, dtype);
    return lin_body_emit_one(b, call->kind, call->e->span, operands, count, type, NULL);
}

/* ---- reshape, broadcast_to ---- */

operand lin_body_make_reshape(body *b, prelude_call *call)
{
    operand x = call->args[0], shape = call->args[1];
    lin_span span = call->e->span;
    if (!is_tensor(b, call, x) || !is_shape(b, call, shape))
        return lin_body_error(span);

    lin_expr have = lin_element_count(b->c, x.type->axes, x.type->axis_count);
    lin_expr want = lin_element_count(b->c, shape.type->axes, shape.type->axis_count);
    if (have == LIN_EXPR_INVALID || want == LIN_EXPR_INVALID ||
        !lin_solver_equal(b->c->solver, have, want)) {
        lin_diagnostic *d =
            lin_body_report(b, span, "E2203", "element counts are not provably equal");
        lin_note(b->c, d, "the operand has %s", lin_dim_text(b->c, have));
        lin_note(b->c, d, "the shape has %s", lin_dim_text(b->c, want));
        lin_help(b->c, d, "a `where` clause can state what makes them equal");
        return lin_body_error(span);
    }
    return with_axes(b, call, &x, 1, shape.type, x.type->dtype);
}

static bool broadcasts(body *b, const lin_type *x, const lin_type *shape)
{
    lin_expr one = lin_expr_int(b->c->program->dims, 1);
    if (x->axis_count > shape->axis_count)
        return false;
    for (uint32_t back = 1; back <= x->axis_count; back++) {
        lin_axis from = x->axes[x->axis_count - back];
        if (!lin_body_axes_equal(b, from, shape->axes[shape->axis_count - back]) &&
            (from.is_pack || !lin_solver_equal(b->c->solver, from.dim, one)))
            return false;
    }
    return true;
}

operand lin_body_make_broadcast(body *b, prelude_call *call)
{
    operand x = call->args[0], shape = call->args[1];
    lin_span span = call->e->span;
    if (!is_tensor(b, call, x) || !is_shape(b, call, shape))
        return lin_body_error(span);
    if (!broadcasts(b, x.type, shape.type)) {
        lin_diagnostic *d = lin_body_report(b, span, "E2207",
                                            "the operand does not broadcast to this "
                                            "shape");
        lin_note(b->c, d, "the operand is `%s`", lin_type_text(b->c, x.type));
        return lin_body_error(span);
    }
    return with_axes(b, call, &x, 1, shape.type, x.type->dtype);
}

/* ---- permute ---- */

static bool axis_numbers(body *b, const lin_type *list, uint32_t *out, uint32_t rank)
{
    bool *seen = LIN_NEW_ARRAY(b->c->scratch, bool, rank);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t axis;
        if (list->axes[i].is_pack ||
            !lin_expr_is_int(b->c->program->dims, list->axes[i].dim, &axis) || axis < 0 ||
            axis >= rank || seen[axis])
            return false;
        seen[axis] = true;
        out[i] = (uint32_t)axis;
    }
    return true;
}

operand lin_body_make_permute(body *b, prelude_call *call)
{
    operand x = call->args[0], list = call->args[1];
    lin_span span = call->e->span;
    lin_op *op;
    if (!is_tensor(b, call, x))
        return lin_body_error(span);
    if (list.type->kind != LIN_TYPE_SHAPE) {
        lin_body_report(b, list.span, "E2101", "`permute` wants a list of axes, found `%s`",
                        lin_type_text(b->c, list.type));
        return lin_body_error(span);
    }
    uint32_t rank = x.type->axis_count;
    for (uint32_t i = 0; i < rank; i++) {
        if (!x.type->axes[i].is_pack)
            continue;
        lin_body_report(b, span, "E2210", "`permute` needs an operand without a shape pack");
        return lin_body_error(span);
    }
    uint32_t *axes = LIN_NEW_ARRAY(b->c->arena, uint32_t, rank);
    if (list.type->axis_count != rank || !axis_numbers(b, list.type, axes, rank)) {
        lin_body_report(b, list.span, "E2210", "these axes are no permutation of 0..%u", rank);
        return lin_body_error(span);
    }
    lin_axis *to = LIN_NEW_ARRAY(b->c->arena, lin_axis, rank);
    for (uint32_t i = 0; i < rank; i++)
        to[i] = x.type->axes[axes[i]];
    operand o = lin_body_emit_one(b, LIN_OP_PERMUTE, span, &x, 1,
                                  lin_tensor_type(b->c, to, rank, x.type->dtype), &op);
    op->as.permute.axes = axes;
    op->as.permute.count = rank;
    return o;
}

/* ---- concat, cumsum ---- */

/* The axis a keyword names: from the front, or with a negative number from the back; no shape pack
 * may stand on the side counted from. */
static bool named_axis(body *b, const prelude_call *call, const lin_type *type, int64_t *out_axis,
                       uint32_t *out_place)
{
    lin_expr axis = lin_body_eval_dim(b, call->axis);
    int64_t number, rank = type->axis_count;
    if (axis == LIN_EXPR_INVALID)
        return false;
    if (!lin_expr_is_int(b->c->program->dims, axis, &number) || number >= rank || number < -rank) {
        lin_body_report(b, call->axis->span, "E2210", "`axis` is a constant from %d to %u",
                        -(int)rank, type->axis_count - 1);
        return false;
    }
    uint32_t place = (uint32_t)(number >= 0 ? number : rank + number);
    uint32_t first = number >= 0 ? 0 : place, end = number >= 0 ? place + 1 : type->axis_count;
    for (uint32_t i = first; i < end; i++) {
        if (!type->axes[i].is_pack)
            continue;
        lin_body_report(b, call->axis->span, "E2210",
                        "a shape pack stands on the side counted from");
        return false;
    }
    *out_axis = number;
    *out_place = place;
    return true;
}

/* Adds the extents at `place`; E2202 when another axis differs. */
static bool add_extents(body *b, const prelude_call *call, uint32_t place, lin_axis *axes)
{
    const lin_type *first = call->args[0].type;
    for (uint32_t i = 1; i < call->count; i++) {
        const lin_type *other = call->args[i].type;
        bool same = other->axis_count == first->axis_count;
        for (uint32_t k = 0; k < first->axis_count && same; k++)
            same = k == place ? !other->axes[k].is_pack
                              : lin_body_axes_equal(b, first->axes[k], other->axes[k]);
        if (!same) {
            lin_diagnostic *d = lin_body_report(b, call->e->span, "E2202",
                                                "shapes differ outside of the joined axis");
            lin_note(b->c, d, "the first operand is `%s`", lin_type_text(b->c, first));
            lin_note(b->c, d, "operand %u is `%s`", i + 1, lin_type_text(b->c, other));
            return false;
        }
        axes[place].dim =
            lin_expr_add(b->c->program->dims, axes[place].dim, other->axes[place].dim);
    }
    return true;
}

operand lin_body_make_concat(body *b, prelude_call *call)
{
    lin_span span = call->e->span;
    uint32_t place = 0;
    int64_t axis = 0;
    lin_op *op;

    for (uint32_t i = 0; i < call->count; i++)
        if (!is_tensor(b, call, call->args[i]))
            return lin_body_error(span);
    if (!lin_body_same_dtype(b, span, call->name, call->args, call->count, CLASS_ANY, NULL))
        return lin_body_error(span);
    const lin_type *first = call->args[0].type;
    lin_axis *axes = LIN_NEW_ARRAY(b->c->arena, lin_axis, first->axis_count);
    for (uint32_t i = 0; i < first->axis_count; i++)
        axes[i] = first->axes[i];
    if (!named_axis(b, call, first, &axis, &place) || !add_extents(b, call, place, axes))
        return lin_body_error(span);
    operand o =
        lin_body_emit_one(b, LIN_OP_CONCAT, span, call->args, call->count,
                          lin_tensor_type(b->c, axes, first->axis_count, first->dtype), &op);
    op->as.axis = axis;
    return o;
}

operand lin_body_make_cumsum(body *b, prelude_call *call)
{
    operand x = call->args[0];
    lin_span span = call->e->span;
    uint32_t place;
    int64_t axis;
    lin_op *op;

    if (!is_tensor(b, call, x) ||
        !lin_body_same_dtype(b, span, call->name, &x, 1, CLASS_NUMERIC, NULL) ||
        !named_axis(b, call, x.type, &axis, &place))
        return lin_body_error(span);
    operand o = lin_body_emit_one(b, LIN_OP_CUMSUM, span, &x, 1, x.type, &op);
    op->as.axis = axis;
    return o;
}

/* ---- iota, fill ---- */

operand lin_body_make_iota(body *b, prelude_call *call)
{
    lin_span span = call->e->span;
    operand n = call->args[0];
    if (n.type->kind != LIN_TYPE_DIM) {
        lin_body_report(b, n.span, "E2123", "a compile-time integer is required, found `%s`",
                        lin_type_text(b->c, n.type));
        return lin_body_error(span);
    }
    if (lin_solver_negative(b->c->solver, n.type->dim)) {
        lin_body_report(b, n.span, "E2208", "dimension `%s` is negative",
                        lin_dim_text(b->c, n.type->dim));
        return lin_body_error(span);
    }
    lin_axis *axis = LIN_NEW(b->c->arena, lin_axis);
    *axis = lin_axis_of_dim(n.type->dim);
    lin_dtype_term dtype = call->has_dtype ? call->dtype : (lin_dtype_term)LIN_DTYPE_I64;
    return lin_body_emit_one(b, LIN_OP_IOTA, span, NULL, 0, lin_tensor_type(b->c, axis, 1, dtype),
                             NULL);
}

operand lin_body_make_fill(body *b, prelude_call *call)
{
    operand shape = call->args[0], value = call->args[1];
    lin_span span = call->e->span;
    if (!is_shape(b, call, shape))
        return lin_body_error(span);
    if (call->has_dtype) {
        value = lin_body_coerce(b, value, lin_scalar_type(b->c, call->dtype), NULL);
    } else if (lin_body_is_literal(value.type)) {
        lin_body_report(b, span, "E2110", "`fill` needs a dtype: fill<f32>([..], 0.0)");
        return lin_body_error(span);
    } else if (value.type->kind != LIN_TYPE_SCALAR) {
        lin_body_report(b, value.span, "E2101", "`fill` wants a scalar, found `%s`",
                        lin_type_text(b->c, value.type));
        return lin_body_error(span);
    }
    if (lin_body_is_error(value))
        return lin_body_error(span);
    return with_axes(b, call, &value, 1, shape.type, value.type->dtype);
}
