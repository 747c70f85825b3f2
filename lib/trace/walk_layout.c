/* SPDX-License-Identifier: MIT */

/*
 * Elementwise operations, views and copies, data-making operations: tracing.md 5.2 to 5.4. What
 * decides between a view and a copy is the memory order of the operand's axes, by the rules as
 * published (a slice of the last axis counts as contiguous although its rows are strided).
 */

#include "trace/trace_walk.h"

#include <string.h>

/* ---- memory order ---- */

static uint32_t axis_at(uint64_t axes, uint32_t position)
{
    return (uint32_t)(axes >> (4 * position)) & 15u;
}

static void set_own_order(tvalue *value)
{
    value->order = ORDER_OWN;
    value->as.axes = 0;
}

/* Position i of the new order is where the operand's i-th axis from outside stands in the result.
 */
static void permute_order(tvalue *result, const tvalue *operand, const lin_op *op)
{
    uint32_t rank = op->as.permute.count;
    uint32_t place[LIN_MAX_RANK] = { 0 };
    result->order = ORDER_NONE;
    if (operand->order == ORDER_NONE)
        return;
    for (uint32_t i = 0; i < rank; i++)
        place[op->as.permute.axes[i] & 15u] = i;
    uint64_t axes = 0;
    bool sorted = true;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t axis = operand->order == ORDER_OWN ? i : axis_at(operand->as.axes, i);
        axes |= (uint64_t)place[axis] << (4 * i);
        sorted = sorted && place[axis] == i;
    }
    result->order = sorted ? ORDER_OWN : ORDER_PERMUTED;
    result->as.axes = sorted ? 0 : axes;
}

static bool is_whole(walker *w, const frame *f, const lin_slice_axis *axis, lin_expr extent)
{
    if (axis->whole)
        return true;
    return axis->step == 1 && lin_env_dim(f->env, axis->start) == w->zero &&
           lin_env_dim(f->env, axis->stop) == extent;
}

/* How many axes of the operand one entry of a slice covers. */
static uint32_t axes_covered(walker *w, const frame *f, const lin_axis *axis)
{
    uint32_t rank = 1;
    if (axis->is_pack)
        lin_env_shape(w->scratch, f->env, axis, 1, &rank);
    return rank;
}

/* At most one axis narrowed, with step 1, the others whole; axes dropped only before it. */
static bool judge_slice(walker *w, frame *f, const lin_op *op)
{
    const lin_type *type = type_of_value(f, op->operands[0]);
    const tensor_info *operand = lin_walk_info(w, f, op->operands[0], op->span);
    bool narrowed = false;
    uint32_t at = 0;
    for (uint32_t i = 0; i < op->as.slice.count; i++) {
        const lin_slice_axis *axis = &op->as.slice.axes[i];
        uint32_t covered = axes_covered(w, f, &type->axes[i]);
        bool is_pack = type->axes[i].is_pack;
        if (axis->dropped) {
            if (narrowed)
                return false;
        } else if (!is_pack && !is_whole(w, f, axis, operand->shape[at])) {
            if (narrowed || axis->step != 1)
                return false;
            narrowed = true;
        }
        at += covered;
    }
    return true;
}

/* The same for every run of a frame: judged once. */
static bool slice_is_contiguous(walker *w, frame *f, const lin_op *op)
{
    const bool *known = lin_walk_site(w, f, op);
    if (known)
        return *known;
    bool *record = LIN_NEW(w->scratch, bool);
    *record = judge_slice(w, f, op);
    lin_walk_note_site(w, f, op, record);
    return *record;
}

/* ---- views and copies ---- */

static void set_view_order(walker *w, frame *f, const lin_op *op, const tvalue *operand,
                           tvalue *result)
{
    switch (op->kind) {
    case LIN_OP_PERMUTE:
        permute_order(result, operand, op);
        break;
    case LIN_OP_SLICE:
        if (operand->order == ORDER_OWN && slice_is_contiguous(w, f, op))
            set_own_order(result);
        else
            result->order = ORDER_NONE;
        break;
    case LIN_OP_BROADCAST:
        result->order = ORDER_NONE;
        break;
    default:
        set_own_order(result);
    }
}

void lin_walk_layout(walker *w, frame *f, const lin_op *op)
{
    tvalue *out = &f->values[op->first_result];
    const tvalue operand = f->values[op->operands[0]];
    if (!is_tensor_type(type_of_value(f, op->first_result)) || operand.kind != TVALUE_TENSOR) {
        *out = tvalue_scalar();
        return;
    }
    const char *label = lin_op_name(op->kind), *kind = label;
    const tensor_info *info = lin_walk_info(w, f, op->first_result, op->span);
    bool copies = op->kind == LIN_OP_RESHAPE && operand.order != ORDER_OWN;
    if (copies)
        label = "reshape (copy)";
    lin_walk_begin(w);
    lin_walk_read(w, &operand);
    *out = copies ? lin_walk_fresh(w, info, label) : lin_walk_shared(w, info, label, &operand);
    set_view_order(w, f, op, &operand, out);
    lin_walk_end(w, kind, label, w->zero, op->span);
}

/* ---- elementwise ---- */

static bool same_shape(walker *w, frame *f, lin_value a, lin_value b, lin_span span)
{
    if (!is_tensor_type(type_of_value(f, a)) || !is_tensor_type(type_of_value(f, b)))
        return false;
    const tensor_info *x = lin_walk_info(w, f, a, span), *y = lin_walk_info(w, f, b, span);
    return x->rank == y->rank && memcmp(x->shape, y->shape, x->rank * sizeof *x->shape) == 0;
}

/* One value, also when two names were left by what was removed before. */
static bool is_same(const frame *f, lin_value a, lin_value b)
{
    const tvalue *x = &f->values[a], *y = &f->values[b];
    return a == b || (x->kind == TVALUE_TENSOR && y->kind == TVALUE_TENSOR &&
                      x->object != LIN_NO_OBJECT && x->object == y->object);
}

/* What the public optimiser removes once numerics allow it: x * 1, x + 0, select(c, x, x). */
static lin_value removed_operand(walker *w, frame *f, const lin_op *op)
{
    uint8_t neutral = op->kind == LIN_OP_MUL ? LITERAL_ONE : LITERAL_ZERO;
    if (op->kind == LIN_OP_SELECT)
        return is_same(f, op->operands[1], op->operands[2]) &&
                       same_shape(w, f, op->operands[1], op->first_result, op->span)
                   ? op->operands[1]
                   : LIN_NO_VALUE;
    if (op->kind != LIN_OP_MUL && op->kind != LIN_OP_ADD)
        return LIN_NO_VALUE;
    for (uint32_t i = 0; i < 2; i++)
        if (f->values[op->operands[i]].literal == neutral)
            return op->operands[1 - i];
    return LIN_NO_VALUE;
}

lin_value lin_walk_kept_operand(walker *w, frame *f, const lin_op *op)
{
    const lin_type *type = type_of_value(f, op->first_result);
    if (op->kind == LIN_OP_CAST && is_tensor_type(type)) {
        lin_dtype_term from = type_of_value(f, op->operands[0])->dtype;
        return lin_env_dtype(f->env, from) == lin_env_dtype(f->env, type->dtype) ? op->operands[0]
                                                                                 : LIN_NO_VALUE;
    }
    if (w->settings->numerics == LIN_NUMERICS_EXACT)
        return LIN_NO_VALUE;
    return removed_operand(w, f, op);
}

static bool fold(lin_op_kind kind, int64_t a, int64_t b, int64_t *out)
{
    switch (kind) {
    case LIN_OP_ADD:
        return lin_add_i64(a, b, out);
    case LIN_OP_SUB:
        return lin_sub_i64(a, b, out);
    case LIN_OP_MUL:
        return lin_mul_i64(a, b, out);
    case LIN_OP_DIV:
        if (b == 0 || (a == INT64_MIN && b == -1))
            return false;
        *out = a / b;
        return true;
    default:
        return false;
    }
}

static tvalue scalar_result(const frame *f, const lin_op *op)
{
    tvalue result = tvalue_scalar();
    if (op->operand_count != 2)
        return result;
    const tvalue *a = &f->values[op->operands[0]], *b = &f->values[op->operands[1]];
    if (a->kind == TVALUE_SCALAR && b->kind == TVALUE_SCALAR && a->known && b->known)
        result.known = fold(op->kind, a->as.integer, b->as.integer, &result.as.integer);
    return result;
}

/* A tensor times or over a scalar: training keeps nothing for it. */
static bool is_scale(const frame *f, const lin_op *op)
{
    if (op->kind != LIN_OP_MUL && op->kind != LIN_OP_DIV)
        return false;
    bool left = f->values[op->operands[0]].kind == TVALUE_SCALAR;
    bool right = f->values[op->operands[1]].kind == TVALUE_SCALAR;
    return op->kind == LIN_OP_MUL ? left != right : right && !left;
}

void lin_walk_elementwise(walker *w, frame *f, const lin_op *op)
{
    tvalue *out = &f->values[op->first_result];
    lin_value kept = lin_walk_kept_operand(w, f, op);
    if (kept != LIN_NO_VALUE) {
        *out = f->values[kept];
        return;
    }
    if (!is_tensor_type(type_of_value(f, op->first_result))) {
        *out = scalar_result(f, op);
        return;
    }
    const char *label = lin_op_name(op->kind);
    const tensor_info *info = lin_walk_info(w, f, op->first_result, op->span);
    lin_walk_begin(w);
    for (uint32_t i = 0; i < op->operand_count; i++)
        lin_walk_read(w, &f->values[op->operands[i]]);
    *out = lin_walk_fresh(w, info, label);
    lin_walk_end(w, is_scale(f, op) ? "scale" : label, label,
                 op->kind == LIN_OP_CAST ? w->zero : info->elements, op->span);
}

/* ---- data-making ---- */

void lin_walk_data(walker *w, frame *f, const lin_op *op)
{
    tvalue *out = &f->values[op->first_result];
    if (!is_tensor_type(type_of_value(f, op->first_result))) {
        *out = tvalue_scalar();
        return;
    }
    const char *label = lin_op_name(op->kind);
    const tensor_info *info = lin_walk_info(w, f, op->first_result, op->span);
    lin_walk_begin(w);
    for (uint32_t i = 0; i < op->operand_count; i++)
        lin_walk_read(w, &f->values[op->operands[i]]);
    *out = lin_walk_fresh(w, info, label);
    lin_walk_end(w, label, label, op->kind == LIN_OP_CUMSUM ? info->elements : w->zero, op->span);
}
