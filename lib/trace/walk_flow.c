/* SPDX-License-Identifier: MIT */

/*
 * Control flow: tracing.md 5.8 and matches. A match takes the arm of the value there is. `static
 * for` is unrolled; `if` is walked on both sides, so that the peak covers either; a runtime loop is
 * walked once, since every iteration has the same live memory.
 */

#include "trace/trace_walk.h"

/* ---- matches ---- */

static bool arm_takes(const lin_arm *arm, const tvalue *value)
{
    switch (arm->kind) {
    case LIN_ARM_SOME:
        return value->kind != TVALUE_ABSENT;
    case LIN_ARM_NONE:
        return value->kind == TVALUE_ABSENT;
    case LIN_ARM_VARIANT:
        return value->as.variant == arm->variant;
    default:
        return true;
    }
}

const lin_region *lin_walk_arm(walker *w, frame *f, const lin_op *op)
{
    const tvalue value = f->values[op->operands[0]];
    bool is_enum = op->kind == LIN_OP_ENUM_MATCH;
    if (value.kind == TVALUE_OPEN || (is_enum && value.kind != TVALUE_VARIANT)) {
        lin_walk_unsupported(w, op, "a match on a value that is not known while tracing");
        return NULL;
    }
    for (uint32_t i = 0; i < op->as.match.count; i++) {
        const lin_arm *arm = &op->as.match.arms[i];
        if (!arm_takes(arm, &value))
            continue;
        lin_walk_set_args(f, &arm->region, 0, &value, 1);
        return &arm->region;
    }
    lin_walk_unsupported(w, op, "a match without an arm for its value");
    return NULL;
}

void lin_walk_set_args(frame *f, const lin_region *region, uint32_t first, const tvalue *values,
                       uint32_t count)
{
    for (uint32_t i = 0; i < region->arg_count; i++)
        f->values[region->first_arg + i] =
            i >= first && i - first < count ? values[i - first] : tvalue_scalar();
}

static void take_results(frame *f, const lin_op *op, const lin_region *region)
{
    for (uint32_t i = 0; i < op->result_count && i < region->result_count; i++)
        f->values[op->first_result + i] = f->values[region->results[i]];
}

static void walk_match(walker *w, frame *f, const lin_op *op)
{
    const lin_region *arm = lin_walk_arm(w, f, op);
    if (!arm)
        return;
    lin_walk_region(w, f, arm);
    take_results(f, op, arm);
}

/* Both sides, each from the same values; the second one's results go on. */
static void walk_if(walker *w, frame *f, const lin_op *op)
{
    uint32_t journal = w->journal.count;
    w->graph->traced_both_branches = true;
    lin_walk_region(w, f, &op->as.branch.then_region);
    lin_walk_undo_states(w, journal);
    lin_walk_region(w, f, &op->as.branch.else_region);
    take_results(f, op, &op->as.branch.else_region);
}

/* ---- loops ---- */

static tvalue *initial_values(walker *w, const frame *f, const lin_op *op, uint32_t first)
{
    uint32_t count = op->operand_count - first;
    tvalue *carried = LIN_NEW_ARRAY(w->scratch, tvalue, count);
    for (uint32_t i = 0; i < count; i++) {
        carried[i] = f->values[op->operands[first + i]];
        carried[i].literal = LITERAL_NO;
    }
    return carried;
}

/* The carried values of the next iteration. */
static void carry(const frame *f, const lin_region *body, tvalue *carried, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        carried[i] = f->values[body->results[i]];
}

static void set_results(frame *f, const lin_op *op, const tvalue *carried, uint32_t count)
{
    for (uint32_t i = 0; i < op->result_count && i < count; i++)
        f->values[op->first_result + i] = carried[i];
}

static void walk_static_for(walker *w, frame *f, const lin_op *op)
{
    const lin_region *body = &op->as.loop.body;
    const tvalue array = f->values[op->operands[0]];
    uint32_t count = op->operand_count - 1;
    tvalue *carried = initial_values(w, f, op, 1);
    if (array.kind != TVALUE_ARRAY)
        lin_walk_fail_at(w, op->span, LINNET_ERROR_UNSUPPORTED,
                         "`static for` over something else than blocks");
    for (uint32_t i = 0; i < array.count; i++) {
        tvalue element = { .kind = TVALUE_BLOCK, .object = LIN_NO_OBJECT };
        element.as.block = array.as.blocks[i];
        lin_walk_spend(w, op);
        lin_walk_set_args(f, body, 1, carried, count);
        f->values[body->first_arg] = element;
        lin_walk_region(w, f, body);
        carry(f, body, carried, count);
    }
    set_results(f, op, carried, count);
}

static void walk_static_range(walker *w, frame *f, const lin_op *op)
{
    static const char what[] = "a bound of `static for`";
    const lin_region *body = &op->as.loop.body;
    int64_t start = lin_walk_number(w, f->env, op->as.loop.start, op->span, what);
    int64_t stop = lin_walk_number(w, f->env, op->as.loop.stop, op->span, what);
    tvalue *carried = initial_values(w, f, op, 0);
    for (int64_t i = start; i < stop; i++) {
        lin_walk_spend(w, op);
        lin_walk_set_args(f, body, 1, carried, op->operand_count);
        tvalue index = tvalue_scalar();
        index.known = true;
        index.as.integer = i;
        f->values[body->first_arg] = index;
        lin_walk_region(w, f, body);
        carry(f, body, carried, op->operand_count);
    }
    set_results(f, op, carried, op->operand_count);
}

static void walk_while(walker *w, frame *f, const lin_op *op)
{
    const lin_region *condition = &op->as.loop.condition, *body = &op->as.loop.body;
    tvalue *carried = initial_values(w, f, op, 0);
    for (uint32_t i = 0; i < op->operand_count; i++)
        carried[i].known = false;
    lin_walk_set_args(f, condition, 0, carried, op->operand_count);
    lin_walk_region(w, f, condition);
    lin_walk_set_args(f, body, 0, carried, op->operand_count);
    lin_walk_region(w, f, body);
    carry(f, body, carried, op->operand_count);
    set_results(f, op, carried, op->operand_count);
}

/* The stack of one yield: a fresh tensor, or a tuple of them. */
static tvalue make_stack(walker *w, const frame *f, const lin_type *type, lin_span span)
{
    if (is_tensor_type(type))
        return lin_walk_fresh(w, lin_walk_type_info(w, f->env, type, span), "for");
    if (type->kind != LIN_TYPE_TUPLE && type->kind != LIN_TYPE_STRUCT)
        return tvalue_scalar();
    tvalue *parts = LIN_NEW_ARRAY(w->scratch, tvalue, type->part_count);
    for (uint32_t i = 0; i < type->part_count; i++)
        parts[i] = make_stack(w, f, type->parts[i], span);
    tvalue value = { .kind = TVALUE_TUPLE, .object = LIN_NO_OBJECT, .count = type->part_count };
    value.as.parts = parts;
    return value;
}

static void walk_for(walker *w, frame *f, const lin_op *op)
{
    const lin_region *body = &op->as.loop.body;
    uint32_t count = op->operand_count;
    tvalue *carried = initial_values(w, f, op, 0);
    if (op->as.loop.yield_count > 0) {
        lin_walk_begin(w);
        for (uint32_t i = count; i < op->result_count; i++)
            f->values[op->first_result + i] =
                make_stack(w, f, type_of_value(f, op->first_result + i), op->span);
        lin_walk_end(w, "for", "for", w->zero, op->span);
    }
    lin_walk_set_args(f, body, 1, carried, count);
    lin_walk_region(w, f, body);
    carry(f, body, carried, count);
    set_results(f, op, carried, count);
}

/* ---- all of them ---- */

void lin_walk_flow(walker *w, frame *f, const lin_op *op)
{
    switch (op->kind) {
    case LIN_OP_COMPREHENSION:
    case LIN_OP_REDUCE:
        lin_walk_indexed(w, f, op);
        break;
    case LIN_OP_OPTION_MATCH:
    case LIN_OP_ENUM_MATCH:
        walk_match(w, f, op);
        break;
    case LIN_OP_IF:
        walk_if(w, f, op);
        break;
    case LIN_OP_STATIC_FOR:
        walk_static_for(w, f, op);
        break;
    case LIN_OP_STATIC_RANGE:
        walk_static_range(w, f, op);
        break;
    case LIN_OP_WHILE:
        walk_while(w, f, op);
        break;
    default:
        walk_for(w, f, op);
    }
}
