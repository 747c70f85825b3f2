/* SPDX-License-Identifier: MIT */

/*
 * The walk of an entry: tracing.md 5. Operations are taken in order; each makes at most one step,
 * and what only arranges values (constants, tuples, members) makes none. Cost: linear in the
 * operations walked.
 */

#include "trace/trace_walk.h"

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

/* ---- regions ---- */

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
        lin_walk_flow(w, f, op);
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
        parts[i] =
            input_value(w, f, type->parts[i], lin_arena_format(w->arena, "%s.%u", name, i), span);
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
    w->graph->returned = w->graph->outputs.count;
    for (uint32_t i = 0; i < w->retained.count; i++) {
        const tvalue value = tvalue_tensor(w->retained.items[i]);
        add_outputs(w, &value);
    }
}
