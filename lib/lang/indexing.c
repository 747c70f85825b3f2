/* SPDX-License-Identifier: MIT */

/*
 * Indexing outside of index notation (language.md 11.4): slices, dropped axes, positions known at
 * run time, and elements of block arrays. What is known at compile time becomes one slice; runtime
 * positions one element operation after it.
 */

#include "lang/body.h"

/* What one axis of the operand undergoes. */
typedef struct cut {
    lin_slice_axis slice;
    lin_expr extent; /* of the result, when the axis is kept */
    bool runtime;
    operand position; /* of a runtime position */
} cut;

static lin_expr zero(body *b)
{
    return lin_expr_int(b->c->program->dims, 0);
}

static lin_expr one(body *b)
{
    return lin_expr_int(b->c->program->dims, 1);
}

/* ---- positions ---- */

static bool position_in_range(body *b, const ast_expr *e, lin_expr position, lin_expr extent)
{
    lin_solver *solver = b->c->solver;
    if (lin_solver_negative(solver, position)) {
        lin_body_report(b, e->span, "E2209", "index `%s` is negative",
                        lin_dim_text(b->c, position));
        return false;
    }
    if (lin_solver_proves(solver, LIN_GE, position, extent)) {
        lin_body_report(b, e->span, "E2209", "index `%s` is out of range: the extent is `%s`",
                        lin_dim_text(b->c, position), lin_dim_text(b->c, extent));
        return false;
    }
    return true;
}

bool lin_body_position(body *b, const ast_expr *e, const lin_axis *axis, operand *out)
{
    *out = lin_body_eval(b, e, NULL);
    out->span = e->span;
    switch (out->type->kind) {
    case LIN_TYPE_ERROR:
        return false;
    case LIN_TYPE_DIM:
        return axis->is_pack || position_in_range(b, e, out->type->dim, axis->dim);
    case LIN_TYPE_SCALAR:
        if (lin_dtype_is_integer(b->c, out->type->dtype))
            return true;
        break;
    default:
        break;
    }
    bool in_notation = lin_body_in_notation(b) && out->type->kind == LIN_TYPE_TENSOR;
    lin_body_report(b, e->span, in_notation ? "E3104" : "E2209",
                    "an index is an integer scalar, found `%s`", lin_type_text(b->c, out->type));
    return false;
}

/* ---- components ---- */

static cut whole_axis(body *b, const lin_axis *axis)
{
    return (cut){ .slice = { .whole = true, .start = zero(b), .stop = axis->dim, .step = 1 },
                  .extent = axis->dim };
}

static bool bound_of(body *b, const ast_expr *e, lin_expr missing, lin_expr *out)
{
    *out = missing;
    if (e == NULL)
        return true;
    *out = lin_body_eval_dim(b, e);
    if (*out == LIN_EXPR_INVALID)
        return false;
    if (!lin_solver_negative(b->c->solver, *out))
        return true;
    lin_body_report(b, e->span, "E2209", "slice bound `%s` is negative", lin_dim_text(b->c, *out));
    return false;
}

static bool step_of(body *b, const ast_expr *e, int64_t *out)
{
    *out = 1;
    if (e == NULL)
        return true;
    lin_expr step = lin_body_eval_dim(b, e);
    if (step == LIN_EXPR_INVALID)
        return false;
    if (lin_expr_is_int(b->c->program->dims, step, out) && *out > 0)
        return true;
    lin_body_report(b, e->span, "E2209", "a slice's step is a positive constant");
    return false;
}

/* floordiv(min(stop, n) - start + step - 1, step), and its maximum with 0 when the length is not
 * provably non-negative. */
static bool slice_axis(body *b, const ast_component *part, const lin_axis *axis, cut *out)
{
    lin_expr_table *dims = b->c->program->dims;
    lin_solver *solver = b->c->solver;
    lin_expr start, stop;
    int64_t step;

    bool good = bound_of(b, part->start, zero(b), &start);
    good = bound_of(b, part->stop, axis->dim, &stop) && good;
    if (!step_of(b, part->step, &step) || !good)
        return false;
    if (lin_solver_proves(solver, LIN_GE, stop, axis->dim))
        stop = axis->dim;
    else if (!lin_solver_proves(solver, LIN_LE, stop, axis->dim))
        stop = lin_expr_min(dims, stop, axis->dim);

    lin_expr extent = lin_expr_sub(dims, stop, start);
    extent = lin_expr_add(dims, extent, lin_expr_int(dims, step - 1));
    bool surely = lin_solver_proves(solver, LIN_GE, extent, zero(b));
    extent = lin_expr_floordiv(dims, extent, lin_expr_int(dims, step));
    if (!surely)
        extent = lin_expr_max(dims, extent, zero(b));
    if (extent == LIN_EXPR_INVALID) {
        lin_body_report(b, part->span, "E2123", "the extent does not fit a 64-bit integer");
        return false;
    }
    bool whole = step == 1 && lin_solver_equal(solver, start, zero(b)) &&
                 lin_solver_equal(solver, stop, axis->dim);
    *out = (cut){ .slice = { .whole = whole, .start = start, .stop = stop, .step = step },
                  .extent = whole ? axis->dim : extent };
    return true;
}

/* An index variable among slices is a position known at run time. */
static index_variable *variable_of(body *b, const ast_component *part)
{
    const ast_expr *e = part->expr;
    if (part->kind == AST_INDEX_EXPR && e->kind == AST_NAME)
        return lin_body_find_index(b, e->as.name.name);
    return NULL;
}

static bool index_axis(body *b, const ast_component *part, const lin_axis *axis, cut *out)
{
    operand position;
    index_variable *v = variable_of(b, part);
    if (v != NULL) {
        if (v->is_pack) {
            lin_body_report(b, part->span, "E3106", "a pack index cannot stand in a slice");
            return false;
        }
        *out = (cut){ .slice = whole_axis(b, axis).slice, .runtime = true };
        out->position =
            lin_body_operand(lin_scalar_type(b->c, LIN_DTYPE_I64), v->value, part->span);
        return lin_body_bind_index(b, v, axis, 1, part->span);
    }
    if (!lin_body_position(b, part->expr, axis, &position))
        return false;
    if (position.type->kind == LIN_TYPE_DIM) {
        lin_expr at = position.type->dim;
        out->slice = (lin_slice_axis){ .dropped = true,
                                       .start = at,
                                       .stop = lin_expr_add(b->c->program->dims, at, one(b)),
                                       .step = 1 };
        return true;
    }
    *out = (cut){ .slice = whole_axis(b, axis).slice, .runtime = true, .position = position };
    return true;
}

static bool cut_axis(body *b, const ast_component *part, const lin_axis *axis, cut *out)
{
    if (part->kind == AST_INDEX_PACK) {
        bool known = lin_body_find_index(b, part->pack.name) != NULL;
        lin_body_report(b, part->span, known ? "E3106" : "E3101",
                        known ? "a pack index cannot stand in a slice" : "index `%s` is not bound",
                        lin_text_of(b->c, part->pack.name));
        return false;
    }
    if (axis->is_pack) {
        lin_diagnostic *d =
            lin_body_report(b, part->span, "E3106", "a shape pack can only be kept");
        lin_help(b->c, d, "write `...` for it");
        return false;
    }
    return part->kind == AST_INDEX_SLICE ? slice_axis(b, part, axis, out)
                                         : index_axis(b, part, axis, out);
}

/* ---- tensors ---- */

/* Finds `...` and checks the number of components. */
static bool count_components(body *b, const ast_expr *e, uint32_t rank, uint32_t *out_ellipsis)
{
    uint32_t named = 0;
    *out_ellipsis = UINT32_MAX;
    for (uint32_t i = 0; i < e->as.index.count; i++) {
        const ast_component *part = &e->as.index.components[i];
        if (part->kind != AST_INDEX_ELLIPSIS) {
            named++;
            continue;
        }
        if (*out_ellipsis != UINT32_MAX) {
            lin_body_report(b, part->span, "E2204", "at most one `...`");
            return false;
        }
        *out_ellipsis = i;
    }
    if (named <= rank)
        return true;
    lin_body_report(b, e->span, "E2204", "%u indices for %u axes", named, rank);
    return false;
}

static bool cut_axes(body *b, const ast_expr *e, const lin_type *type, cut *cuts)
{
    uint32_t ellipsis, count = e->as.index.count;
    bool good = true;
    if (!count_components(b, e, type->axis_count, &ellipsis))
        return false;
    for (uint32_t i = 0; i < type->axis_count; i++)
        cuts[i] = whole_axis(b, &type->axes[i]);
    for (uint32_t i = 0; i < count; i++) {
        if (i == ellipsis)
            continue;
        uint32_t axis = i < ellipsis ? i : type->axis_count - (count - i);
        good = cut_axis(b, &e->as.index.components[i], &type->axes[axis], &cuts[axis]) && good;
    }
    return good;
}

/* The axes that stay, packs as they are. */
static const lin_type *kept_type(body *b, const lin_type *type, const cut *cuts, bool runtime_stays)
{
    lin_axis *axes = LIN_NEW_ARRAY(b->c->arena, lin_axis, type->axis_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < type->axis_count; i++) {
        if (cuts[i].slice.dropped || (cuts[i].runtime && !runtime_stays))
            continue;
        axes[count] = type->axes[i];
        if (!axes[count].is_pack && !cuts[i].runtime)
            axes[count] = lin_axis_of_dim(cuts[i].extent);
        count++;
    }
    return lin_tensor_type(b->c, axes, count, type->dtype);
}

static operand emit_slice(body *b, const ast_expr *e, operand base, const cut *cuts)
{
    uint32_t count = base.type->axis_count;
    lin_slice_axis *axes = LIN_NEW_ARRAY(b->c->arena, lin_slice_axis, count);
    lin_op *op;
    for (uint32_t i = 0; i < count; i++)
        axes[i] = cuts[i].slice;
    operand o = lin_body_emit_one(b, LIN_OP_SLICE, e->span, &base, 1,
                                  kept_type(b, base.type, cuts, true), &op);
    op->as.slice.axes = axes;
    op->as.slice.count = count;
    return o;
}

/* `sliced` has the axes of the original that were not dropped, in order. */
static operand emit_element(body *b, const ast_expr *e, operand sliced, const lin_type *original,
                            const cut *cuts)
{
    operand *operands = LIN_NEW_ARRAY(b->c->scratch, operand, original->axis_count + 1);
    bool *kept = LIN_NEW_ARRAY(b->c->arena, bool, original->axis_count);
    uint32_t count = 1, axis = 0;
    lin_op *op;

    operands[0] = sliced;
    for (uint32_t i = 0; i < original->axis_count; i++) {
        if (cuts[i].slice.dropped)
            continue;
        kept[axis++] = !cuts[i].runtime;
        if (cuts[i].runtime)
            operands[count++] = cuts[i].position;
    }
    operand o = lin_body_emit_one(b, LIN_OP_ELEMENT, e->span, operands, count,
                                  kept_type(b, original, cuts, false), &op);
    op->as.element.kept = kept;
    return o;
}

static operand index_tensor(body *b, const ast_expr *e, operand base)
{
    const lin_type *type = base.type;
    cut *cuts = LIN_NEW_ARRAY(b->c->scratch, cut, type->axis_count);
    bool narrows = false, runtime = false;
    if (!cut_axes(b, e, type, cuts))
        return lin_body_error(e->span);

    for (uint32_t i = 0; i < type->axis_count; i++) {
        narrows = narrows || cuts[i].slice.dropped || !cuts[i].slice.whole;
        runtime = runtime || cuts[i].runtime;
    }
    operand o = narrows || !runtime ? emit_slice(b, e, base, cuts) : base;
    return runtime ? emit_element(b, e, o, type, cuts) : o;
}

/* ---- block arrays ---- */

static operand index_array(body *b, const ast_expr *e, operand base)
{
    const ast_component *part = e->as.index.components;
    lin_op *op;
    if (e->as.index.count != 1) {
        lin_body_report(b, e->span, "E2204", "a block array takes exactly one index");
        return lin_body_error(e->span);
    }
    if (part->kind != AST_INDEX_EXPR) {
        lin_body_report(b, part->span, "E2209", "a block array takes one constant index");
        return lin_body_error(e->span);
    }
    lin_expr index = lin_body_eval_dim(b, part->expr);
    if (index == LIN_EXPR_INVALID || !position_in_range(b, part->expr, index, base.type->dim))
        return lin_body_error(e->span);
    operand o = lin_body_emit_one(b, LIN_OP_ARRAY_GET, e->span, &base, 1, base.type->parts[0], &op);
    op->as.dim = index;
    return o;
}

/* ---- all ---- */

static bool names_every_axis(const ast_expr *e)
{
    for (uint32_t i = 0; i < e->as.index.count; i++) {
        ast_index_kind kind = e->as.index.components[i].kind;
        if (kind != AST_INDEX_EXPR && kind != AST_INDEX_PACK)
            return false;
    }
    return true;
}

operand lin_body_index(body *b, const ast_expr *e)
{
    operand base = lin_body_eval(b, e->as.index.base, NULL);
    switch (base.type->kind) {
    case LIN_TYPE_ERROR:
        return lin_body_error(e->span);
    case LIN_TYPE_ARRAY:
        return index_array(b, e, base);
    case LIN_TYPE_TENSOR:
        return lin_body_in_notation(b) && names_every_axis(e) ? lin_body_access(b, e, base)
                                                              : index_tensor(b, e, base);
    case LIN_TYPE_SCALAR:
        lin_body_report(b, e->span, "E2204", "a scalar has no axes to index");
        return lin_body_error(e->span);
    default:
        lin_body_report(b, e->span, "E2104", "`%s` cannot be indexed",
                        lin_type_text(b->c, base.type));
        return lin_body_error(e->span);
    }
}
