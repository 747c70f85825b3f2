/* SPDX-License-Identifier: MIT */

/*
 * Operation counts (tracing.md 5.5, stdlib.md 3): one for each arithmetic operation, `domain *
 * (body + 1)` for a reduction, nothing for casts, views, gathers and copies.
 *
 * Two users: the region of a comprehension, where scalar operations count once an element of the
 * result, and the canonical body of an op that has a native implementation, where tensor operations
 * count their elements and scalar ones nothing, as in a walk. Counting sets the values of the
 * regions it passes, and notes the tensors they read from outside for the step being made.
 */

#include "trace/trace_walk.h"

/* Calls inside index notation are counted through their bodies this deep. */
enum { MAX_CALLS = 8 };

static lin_expr multiply(walker *w, lin_expr a, lin_expr b)
{
    return lin_expr_mul(w->exprs, a, b);
}

static tvalue inner_value(walker *w, frame *f, const lin_type *type)
{
    tvalue value = tvalue_scalar();
    switch (type->kind) {
    case LIN_TYPE_TENSOR:
        return tvalue_tensor(LIN_NO_OBJECT);
    case LIN_TYPE_OPTIONAL:
        value.kind = TVALUE_ABSENT;
        return value;
    case LIN_TYPE_ENUM:
        value.kind = TVALUE_OPEN;
        return value;
    case LIN_TYPE_TUPLE:
    case LIN_TYPE_STRUCT: {
        tvalue *parts = LIN_NEW_ARRAY(w->scratch, tvalue, type->part_count);
        for (uint32_t i = 0; i < type->part_count; i++)
            parts[i] = inner_value(w, f, type->parts[i]);
        value.kind = TVALUE_TUPLE;
        value.count = type->part_count;
        value.as.parts = parts;
        return value;
    }
    default:
        return value;
    }
}

static void read_operands(walker *w, frame *f, const lin_op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        lin_walk_read(w, &f->values[op->operands[i]]);
}

static lin_expr elements_of(walker *w, frame *f, const lin_op *op)
{
    return lin_walk_info(w, f, op->first_result, op->span)->elements;
}

static lin_expr count_elementwise(walker *w, frame *f, const lin_op *op, count_mode mode)
{
    const lin_type *type = type_of_value(f, op->first_result);
    lin_value kept = lin_walk_kept_operand(w, f, op);
    if (kept != LIN_NO_VALUE) {
        f->values[op->first_result] = f->values[kept];
        return w->zero;
    }
    read_operands(w, f, op);
    f->values[op->first_result] = inner_value(w, f, type);
    if (op->kind == LIN_OP_CAST)
        return w->zero;
    if (is_tensor_type(type) && !(mode.per_element && mode.calls == 0))
        return elements_of(w, f, op);
    return mode.per_element ? w->one : w->zero;
}

/* Layout and data: no arithmetic, but cumsum adds one an element. */
static lin_expr count_made(walker *w, frame *f, const lin_op *op)
{
    read_operands(w, f, op);
    f->values[op->first_result] = inner_value(w, f, type_of_value(f, op->first_result));
    return op->kind == LIN_OP_CUMSUM ? elements_of(w, f, op) : w->zero;
}

lin_expr lin_walk_domain(walker *w, const frame *f, const lin_op *op)
{
    lin_expr domain = w->one;
    for (uint32_t i = 0; i < op->as.indexed.count; i++) {
        const lin_index *index = &op->as.indexed.indices[i];
        const lin_axis *axes = index->is_pack && index->axes ? index->axes : &index->axis;
        uint32_t count = index->is_pack && index->axes ? index->axis_count : 1;
        for (uint32_t k = 0; k < count; k++)
            domain = multiply(w, domain, lin_env_dim(f->env, axes[k].dim));
    }
    return domain;
}

static lin_expr count_indexed(walker *w, frame *f, const lin_op *op, count_mode mode)
{
    const lin_type *type = type_of_value(f, op->first_result);
    count_mode inner = { .per_element = true, .calls = mode.calls };
    lin_expr body = lin_walk_count_region(w, f, &op->as.indexed.region, inner);
    f->values[op->first_result] = inner_value(w, f, type);
    if (op->kind == LIN_OP_COMPREHENSION)
        return multiply(w, elements_of(w, f, op), body);
    lin_expr count = multiply(w, lin_walk_domain(w, f, op), lin_expr_add(w->exprs, body, w->one));
    bool once = mode.per_element && mode.calls == 0;
    return is_tensor_type(type) && !once ? multiply(w, elements_of(w, f, op), count) : count;
}

static lin_expr count_call(walker *w, frame *f, const lin_op *op, count_mode mode)
{
    if (mode.calls >= MAX_CALLS && mode.per_element) {
        read_operands(w, f, op);
        for (uint32_t i = 0; i < op->result_count; i++)
            f->values[op->first_result + i] =
                inner_value(w, f, type_of_value(f, op->first_result + i));
        return w->zero;
    }
    frame *callee = lin_walk_enter(w, f, op);
    const lin_region *body = &callee->function->body;
    mode.calls++;
    lin_expr count = lin_walk_count_region(w, callee, body, mode);
    for (uint32_t i = 0; i < op->result_count && i < body->result_count; i++)
        f->values[op->first_result + i] = callee->values[body->results[i]];
    return count;
}

static lin_expr count_branches(walker *w, frame *f, const lin_op *op, count_mode mode)
{
    lin_expr count = lin_walk_count_region(w, f, &op->as.branch.then_region, mode);
    const lin_region *second = &op->as.branch.else_region;
    count = lin_expr_add(w->exprs, count, lin_walk_count_region(w, f, second, mode));
    for (uint32_t i = 0; i < op->result_count; i++)
        f->values[op->first_result + i] = f->values[second->results[i]];
    return count;
}

static lin_expr count_match(walker *w, frame *f, const lin_op *op, count_mode mode)
{
    const lin_region *arm = lin_walk_arm(w, f, op);
    if (!arm) {
        for (uint32_t i = 0; i < op->result_count; i++)
            f->values[op->first_result + i] =
                inner_value(w, f, type_of_value(f, op->first_result + i));
        return w->zero;
    }
    lin_expr count = lin_walk_count_region(w, f, arm, mode);
    for (uint32_t i = 0; i < op->result_count; i++)
        f->values[op->first_result + i] = f->values[arm->results[i]];
    return count;
}

/* One iteration, with the carried values as its region leaves them. */
static lin_expr count_iteration(walker *w, frame *f, const lin_op *op, const lin_region *region,
                                uint32_t first_arg, count_mode mode)
{
    tvalue *carried = LIN_NEW_ARRAY(w->scratch, tvalue, op->operand_count);
    for (uint32_t i = 0; i < op->operand_count; i++)
        carried[i] = f->values[op->operands[i]];
    lin_walk_set_args(f, region, first_arg, carried, op->operand_count);
    return lin_walk_count_region(w, f, region, mode);
}

static lin_expr count_loop(walker *w, frame *f, const lin_op *op, count_mode mode)
{
    const lin_region *body = &op->as.loop.body;
    lin_expr count = w->zero;
    if (op->kind == LIN_OP_STATIC_FOR) {
        lin_walk_unsupported(w, op, "a loop over blocks inside index notation");
    } else if (op->kind == LIN_OP_WHILE) {
        count = count_iteration(w, f, op, &op->as.loop.condition, 0, mode);
        count = lin_expr_add(w->exprs, count, count_iteration(w, f, op, body, 0, mode));
    } else {
        count = count_iteration(w, f, op, body, 1, mode);
    }
    if (op->kind == LIN_OP_STATIC_RANGE)
        count = multiply(w, count,
                         lin_expr_sub(w->exprs, lin_env_dim(f->env, op->as.loop.stop),
                                      lin_env_dim(f->env, op->as.loop.start)));
    for (uint32_t i = 0; i < op->result_count; i++)
        f->values[op->first_result + i] = inner_value(w, f, type_of_value(f, op->first_result + i));
    return count;
}

/* Parameters and states that the region names are read inside, and no inputs. */
static void mark_inside(walker *w, frame *f, const lin_op *op)
{
    tvalue *value = &f->values[op->first_result];
    if ((op->kind != LIN_OP_BLOCK_PARAM && op->kind != LIN_OP_STATE_READ) ||
        value->kind != TVALUE_TENSOR || value->object == LIN_NO_OBJECT)
        return;
    value->inside = true;
    lin_walk_read_inside(w, value->object);
}

static lin_expr count_op(walker *w, frame *f, const lin_op *op, count_mode mode)
{
    switch (lin_op_class_of(op->kind)) {
    case LIN_OPCLASS_ELEMENTWISE:
        return count_elementwise(w, f, op, mode);
    case LIN_OPCLASS_LAYOUT:
    case LIN_OPCLASS_DATA:
        return count_made(w, f, op);
    case LIN_OPCLASS_CALL:
        return count_call(w, f, op, mode);
    case LIN_OPCLASS_REGION:
        break;
    default:
        if (op->kind != LIN_OP_STATE_WRITE) {
            lin_walk_structure(w, f, op);
            if (mode.per_element)
                mark_inside(w, f, op);
        }
        return w->zero;
    }
    if (op->kind == LIN_OP_COMPREHENSION || op->kind == LIN_OP_REDUCE)
        return count_indexed(w, f, op, mode);
    if (op->kind == LIN_OP_OPTION_MATCH || op->kind == LIN_OP_ENUM_MATCH)
        return count_match(w, f, op, mode);
    return op->kind == LIN_OP_IF ? count_branches(w, f, op, mode) : count_loop(w, f, op, mode);
}

lin_expr lin_walk_count_region(walker *w, frame *f, const lin_region *region, count_mode mode)
{
    lin_expr total = w->zero;
    if (w->depth >= LIN_WALK_MAX_DEPTH) {
        w->count_failed = true;
        return total;
    }
    w->depth++;
    for (uint32_t i = 0; i < region->op_count; i++) {
        const lin_op *op = region->ops[i];
        lin_walk_spend(w, op);
        if (op->kind == LIN_OP_COMPREHENSION || op->kind == LIN_OP_REDUCE)
            lin_walk_set_args(f, &op->as.indexed.region, 0, NULL, 0);
        total = lin_expr_add(w->exprs, total, count_op(w, f, op, mode));
    }
    w->depth--;
    /* A tensor from outside that a reduction adds up as it is. */
    for (uint32_t i = 0; mode.per_element && i < region->result_count; i++)
        lin_walk_read(w, &f->values[region->results[i]]);
    return total;
}

lin_expr lin_walk_body_arithmetic(walker *w, frame *callee)
{
    if (callee->counted)
        return callee->arithmetic;
    const lin_function *function = callee->function;
    bool was_counting = w->counting;
    w->counting = true;
    w->count_failed = false;
    for (uint32_t i = 0; i < function->param_count; i++)
        callee->values[function->body.first_arg + i] =
            inner_value(w, callee, function->params[i].type);
    lin_expr count = lin_walk_count_region(w, callee, &function->body, (count_mode){ 0 });
    callee->arithmetic = w->count_failed ? w->zero : count;
    callee->counted = true;
    w->counting = was_counting;
    return callee->arithmetic;
}
