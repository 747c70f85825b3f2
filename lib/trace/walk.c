/* SPDX-License-Identifier: MIT */

/*
 * The walk of an entry: tracing.md 5. Operations are taken in order; each makes at most one step.
 * `static for` is unrolled, `if` is walked on both sides, a runtime loop once, since every iteration
 * has the same live memory. Cost: linear in the operations walked.
 */

#include "trace/trace_walk.h"

#include <string.h>

void lin_walk_spend(walker *w, const lin_op *op)
{
    if (w->ops++ >= LIN_WALK_MAX_OPS)
        lin_walk_fail_at(w, op->span, LINNET_ERROR_UNSUPPORTED,
                         "the entry takes more than %d operations to trace", LIN_WALK_MAX_OPS);
}

/* ---- values without steps ---- */

static tvalue number_value(bool known, int64_t value)
{
    tvalue result = tvalue_scalar();
    result.known = known;
    result.as.integer = known ? value : 0;
    return result;
}

static tvalue constant_value(walker *w, const frame *f, const lin_op *op)
{
    tvalue value = tvalue_scalar();
    int64_t number;
    switch (op->kind) {
    case LIN_OP_CONST_FLOAT:
        if (op->as.number == 0.0 || op->as.number == 1.0)
            value.literal = op->as.number == 0.0 ? LITERAL_ZERO : LITERAL_ONE;
        return value;
    case LIN_OP_CONST_INT:
        value = number_value(true, op->as.integer);
        if (op->as.integer == 0 || op->as.integer == 1)
            value.literal = op->as.integer == 0 ? LITERAL_ZERO : LITERAL_ONE;
        return value;
    case LIN_OP_CONST_DIM:
        if (lin_expr_is_int(w->exprs, lin_env_dim(f->env, op->as.dim), &number))
            value = number_value(true, number);
        return value;
    case LIN_OP_ENUM_CONST:
        value.kind = TVALUE_VARIANT;
        value.as.variant = op->as.enum_const.variant;
        return value;
    default:
        return value;
    }
}

static tvalue tuple_value(walker *w, const frame *f, const lin_op *op)
{
    tvalue *parts = LIN_NEW_ARRAY(w->scratch, tvalue, op->operand_count);
    for (uint32_t i = 0; i < op->operand_count; i++)
        parts[i] = f->values[op->operands[i]];
    tvalue value = { .kind = TVALUE_TUPLE, .object = LIN_NO_OBJECT, .count = op->operand_count };
    value.as.parts = parts;
    return value;
}

static tvalue member_value(walker *w, const frame *f, const lin_op *op)
{
    const instance *block = f->self;
    if (op->operand_count > 0 && op->kind != LIN_OP_STATE_READ) {
        const tvalue *holder = &f->values[op->operands[0]];
        block = holder->kind == TVALUE_BLOCK ? holder->as.block : NULL;
    }
    if (!block) {
        lin_walk_unsupported(w, op, "a member read outside a block");
        return tvalue_scalar();
    }
    return block->members[op->as.member->index];
}

static tvalue array_element(walker *w, const frame *f, const lin_op *op)
{
    const tvalue *array = &f->values[op->operands[0]];
    if (w->counting) { /* ops take no blocks */
        w->count_failed = true;
        return tvalue_scalar();
    }
    int64_t index = lin_walk_number(w, f->env, op->as.dim, op->span, "the index of an array");
    if (array->kind != TVALUE_ARRAY || index < 0 || index >= (int64_t)array->count)
        lin_walk_fail_at(w, op->span, LINNET_ERROR_ARGUMENT,
                         "index %lld is outside an array of %u blocks", (long long)index,
                         array->count);
    tvalue value = { .kind = TVALUE_BLOCK, .object = LIN_NO_OBJECT };
    value.as.block = array->as.blocks[index];
    return value;
}

static tvalue tuple_part(walker *w, const frame *f, const lin_op *op)
{
    const tvalue *tuple = &f->values[op->operands[0]];
    if (tuple->kind == TVALUE_TUPLE && op->as.integer < (int64_t)tuple->count)
        return tuple->as.parts[op->as.integer];
    lin_walk_unsupported(w, op, "a part of a tuple that is not known while tracing");
    return tvalue_scalar();
}

bool lin_walk_structure(walker *w, frame *f, const lin_op *op)
{
    tvalue *out = &f->values[op->first_result];
    switch (op->kind) {
    case LIN_OP_TUPLE_MAKE:
        *out = tuple_value(w, f, op);
        return true;
    case LIN_OP_TUPLE_GET:
        *out = tuple_part(w, f, op);
        return true;
    case LIN_OP_OPTION_SOME:
        *out = f->values[op->operands[0]];
        return true;
    case LIN_OP_OPTION_NONE:
        *out = (tvalue){ .kind = TVALUE_ABSENT, .object = LIN_NO_OBJECT };
        return true;
    case LIN_OP_BLOCK_PARAM:
    case LIN_OP_BLOCK_SUB:
    case LIN_OP_STATE_READ:
        *out = member_value(w, f, op);
        return true;
    case LIN_OP_ARRAY_GET:
        *out = array_element(w, f, op);
        return true;
    default:
        if (lin_op_class_of(op->kind) != LIN_OPCLASS_CONSTANT)
            return false;
        *out = constant_value(w, f, op);
        return true;
    }
}

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
        f->values[body->first_arg] = number_value(true, i);
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

/* ---- regions ---- */

static void walk_region_op(walker *w, frame *f, const lin_op *op)
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

static void walk_op(walker *w, frame *f, const lin_op *op)
{
    switch (lin_op_class_of(op->kind)) {
    case LIN_OPCLASS_ELEMENTWISE:
        lin_walk_elementwise(w, f, op);
        break;
    case LIN_OPCLASS_LAYOUT:
        lin_walk_layout(w, f, op);
        break;
    case LIN_OPCLASS_DATA:
        lin_walk_data(w, f, op);
        break;
    case LIN_OPCLASS_REGION:
        walk_region_op(w, f, op);
        break;
    case LIN_OPCLASS_CALL:
        if (op->kind == LIN_OP_CALL)
            lin_walk_call(w, f, op);
        else
            lin_walk_semantic_call(w, f, op);
        break;
    default:
        if (op->kind == LIN_OP_STATE_WRITE)
            lin_walk_state_write(w, f, op);
        else
            lin_walk_structure(w, f, op);
    }
}

void lin_walk_region(walker *w, frame *f, const lin_region *region)
{
    if (w->depth >= LIN_WALK_MAX_DEPTH)
        lin_walk_fail(w, LINNET_ERROR_UNSUPPORTED, "calls and regions are nested more than %d deep",
                      LIN_WALK_MAX_DEPTH);
    w->depth++;
    for (uint32_t i = 0; i < region->op_count; i++) {
        lin_walk_spend(w, region->ops[i]);
        walk_op(w, f, region->ops[i]);
    }
    w->depth--;
}

/* ---- the entry ---- */

static tvalue input_value(walker *w, const frame *f, const lin_type *type, const char *name,
                          lin_span span)
{
    tvalue value = tvalue_scalar();
    if (is_tensor_type(type)) {
        const tensor_info *info = lin_walk_type_info(w, f->env, type, span);
        lin_object object = { .name = name,
                              .category = LIN_CATEGORY_INPUTS,
                              .dtype = info->dtype,
                              .shape = info->shape,
                              .rank = info->rank,
                              .elements = info->elements,
                              .bytes = info->bytes,
                              .producer = LIN_NO_STEP,
                              .owner = LIN_NO_OBJECT };
        return tvalue_tensor(lin_walk_object(w, object));
    }
    if (type->kind == LIN_TYPE_OPTIONAL)
        value.kind = TVALUE_ABSENT;
    if (type->kind == LIN_TYPE_ENUM)
        value.kind = TVALUE_OPEN;
    if (type->kind != LIN_TYPE_TUPLE && type->kind != LIN_TYPE_STRUCT)
        return value;
    tvalue *parts = LIN_NEW_ARRAY(w->scratch, tvalue, type->part_count);
    for (uint32_t i = 0; i < type->part_count; i++)
        parts[i] = input_value(w, f, type->parts[i],
                               lin_arena_format(w->arena, "%s.%u", name, i), span);
    value.kind = TVALUE_TUPLE;
    value.count = type->part_count;
    value.as.parts = parts;
    return value;
}

static void add_outputs(walker *w, const tvalue *value)
{
    if (value->kind == TVALUE_TUPLE)
        for (uint32_t i = 0; i < value->count; i++)
            add_outputs(w, &value->as.parts[i]);
    if (value->kind != TVALUE_TENSOR || w->stamps.items[value->object] == w->stamp)
        return;
    w->stamps.items[value->object] = w->stamp;
    LIN_PUSH(w->arena, &w->graph->outputs, value->object);
}

void lin_walk_entry(walker *w)
{
    const lin_function *entry = w->entry;
    frame *f = lin_walk_new_frame(w, entry, w->entry_env);
    f->self = w->root_instance;
    w->scope = "";
    for (uint32_t i = 0; i < entry->param_count; i++) {
        const lin_param *param = &entry->params[i];
        f->values[entry->body.first_arg + i] =
            input_value(w, f, param->type, lin_walk_name(w, param->name), param->span);
    }
    lin_walk_region(w, f, &entry->body);
    w->stamp += 2;
    for (uint32_t i = 0; i < entry->body.result_count; i++)
        add_outputs(w, &f->values[entry->body.results[i]]);
    for (uint32_t i = 0; i < w->retained.count; i++) {
        const tvalue value = tvalue_tensor(w->retained.items[i]);
        add_outputs(w, &value);
    }
}
