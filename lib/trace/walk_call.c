/* SPDX-License-Identifier: MIT */

/*
 * Calls and state: tracing.md 5.6, 5.7. A function is followed with its generics bound; an op first
 * asks the backend for a native implementation, which makes one step, and is followed like a
 * function when there is none.
 */

#include "trace/trace_walk.h"

/* ---- functions ---- */

static void follow(walker *w, frame *f, const lin_op *op, frame *callee)
{
    const lin_region *body = &callee->function->body;
    const char *scope = w->scope;
    if (op->as.call.has_receiver && callee->self)
        w->scope = callee->self->path;
    lin_walk_region(w, callee, body);
    w->scope = scope;
    for (uint32_t i = 0; i < op->result_count && i < body->result_count; i++) {
        tvalue *out = &f->values[op->first_result + i];
        *out = callee->values[body->results[i]];
        out->literal = LITERAL_NO;
    }
}

void lin_walk_call(walker *w, frame *f, const lin_op *op)
{
    follow(w, f, op, lin_walk_enter(w, f, op));
}

/* ---- native implementations ---- */

static void count_uses(const lin_region *region, uint32_t *uses)
{
    for (uint32_t i = 0; i < region->op_count; i++) {
        const lin_op *op = region->ops[i];
        for (uint32_t k = 0; k < op->operand_count; k++)
            uses[op->operands[k]]++;
        for (uint32_t k = 0; k < lin_op_region_count(op); k++)
            count_uses(lin_op_region(op, k), uses);
    }
    for (uint32_t i = 0; i < region->result_count; i++)
        uses[region->results[i]]++;
}

static uint32_t uses_of(walker *w, frame *f, lin_value value)
{
    if (!f->uses) {
        uint32_t *uses = LIN_NEW_ARRAY(w->scratch, uint32_t, f->function->value_count);
        count_uses(&f->function->body, uses);
        f->uses = uses;
    }
    return f->uses[value];
}

static const lin_object *owner_of(const walker *w, const tvalue *value)
{
    const lin_object *objects = w->graph->objects.items;
    return &objects[objects[value->object].owner];
}

/* A cache write that may overwrite its state: nothing else of this function reads the old value. */
static bool is_in_place(walker *w, frame *f, const lin_op *op)
{
    uint32_t first = op->as.call.has_receiver ? 1 : 0;
    if (op->operand_count <= first)
        return false;
    const tvalue *cache = &f->values[op->operands[first]];
    return cache->kind == TVALUE_TENSOR && owner_of(w, cache)->persistent &&
           uses_of(w, f, op->operands[first]) == 1;
}

static bool has_elements_of_operand(walker *w, frame *f, const lin_op *op)
{
    const uint32_t first = op->as.call.has_receiver ? 1 : 0;
    const tvalue *operand = &f->values[op->operands[first]];
    return operand->kind == TVALUE_TENSOR &&
           w->graph->objects.items[operand->object].elements ==
               lin_walk_info(w, f, op->first_result, op->span)->elements;
}

static bool shares_operand(walker *w, frame *f, const lin_op *op, const lin_native *native)
{
    if (!native)
        return false;
    switch (native->storage) {
    case LIN_RESULT_IN_PLACE:
        return is_in_place(w, f, op);
    case LIN_RESULT_COLLECTIVE:
        return w->settings->processes <= 1;
    case LIN_RESULT_IDENTITY:
        return true;
    case LIN_RESULT_SEQUENCE:
        return has_elements_of_operand(w, f, op);
    default:
        return false;
    }
}

/* Attention's result is written as [batch, positions, heads, width]. */
static void set_attention_order(tvalue *result, uint32_t rank)
{
    static const uint32_t axes[] = { 0, 2, 1, 3 };
    if (rank != ARRAY_LEN(axes))
        return;
    result->order = ORDER_PERMUTED;
    for (uint32_t i = 0; i < ARRAY_LEN(axes); i++)
        result->as.axes |= (uint64_t)axes[i] << (4 * i);
}

/* What one native call has at hand while its results are made. */
typedef struct native_call {
    const lin_op *op;
    frame *f, *callee;
    const char *label;
    const lin_native *native;
    const tvalue *source; /* the operand whose storage the first tensor result shares, or NULL */
    lin_expr result_bytes;
} native_call;

static tvalue make_tensor(walker *w, native_call *call, const tensor_info *info)
{
    bool is_first = w->outputs.count == 0;
    tvalue value;
    if (is_first && call->source)
        value = lin_walk_shared(w, info, call->label, call->source);
    else
        value = lin_walk_fresh(w, info, call->label);
    if (is_first)
        call->result_bytes = info->bytes;
    if (call->native && call->native->attention_order)
        set_attention_order(&value, info->rank);
    return value;
}

static tvalue make_value(walker *w, native_call *call, const lin_type *type)
{
    tvalue value = tvalue_scalar();
    if (is_tensor_type(type))
        return make_tensor(w, call, lin_walk_type_info(w, call->f->env, type, call->op->span));
    if (type->kind != LIN_TYPE_TUPLE && type->kind != LIN_TYPE_STRUCT)
        return value;
    tvalue *parts = LIN_NEW_ARRAY(w->scratch, tvalue, type->part_count);
    for (uint32_t i = 0; i < type->part_count; i++)
        parts[i] = make_value(w, call, type->parts[i]);
    value.kind = TVALUE_TUPLE;
    value.count = type->part_count;
    value.as.parts = parts;
    return value;
}

static void make_results(walker *w, native_call *call)
{
    const lin_op *op = call->op;
    for (uint32_t i = 0; i < op->result_count; i++) {
        const lin_type *type = type_of_value(call->f, op->first_result + i);
        if (is_tensor_type(type))
            call->f->values[op->first_result + i] =
                make_tensor(w, call, lin_walk_info(w, call->f, op->first_result + i, op->span));
        else
            call->f->values[op->first_result + i] = make_value(w, call, type);
    }
}

static void add_operand(walker *w, const tvalue *value)
{
    if (value->kind == TVALUE_TUPLE)
        for (uint32_t i = 0; i < value->count; i++)
            add_operand(w, &value->as.parts[i]);
    if (value->kind != TVALUE_TENSOR)
        return;
    const lin_object *object = &w->graph->objects.items[value->object];
    lin_operand operand = { .dtype = object->dtype,
                            .shape = object->shape,
                            .rank = object->rank,
                            .elements = object->elements };
    LIN_PUSH(w->scratch, &w->operands, operand);
    LIN_PUSH(w->scratch, &w->operand_objects, value->object);
}

static void read_arguments(walker *w, const native_call *call)
{
    const lin_op *op = call->op;
    w->operands.count = 0;
    w->operand_objects.count = 0;
    for (uint32_t i = op->as.call.has_receiver ? 1 : 0; i < op->operand_count; i++) {
        lin_walk_read(w, &call->f->values[op->operands[i]]);
        add_operand(w, &call->f->values[op->operands[i]]);
    }
}

static void note_unknown(walker *w, const char *implementation)
{
    for (uint32_t i = 0; i < w->graph->unknown_workspaces.count; i++) {
        lin_unknown_call *known = &w->graph->unknown_workspaces.items[i];
        if (known->implementation == implementation) {
            known->calls++;
            return;
        }
    }
    lin_unknown_call call = { implementation, 1 };
    LIN_PUSH(w->arena, &w->graph->unknown_workspaces, call);
}

static lin_amount workspace_of(walker *w, const native_call *call)
{
    const lin_native *native = call->native;
    if (!native || native->workspace_unknown)
        return (lin_amount){ w->zero, LIN_UNKNOWN };
    if (!native->workspace)
        return (lin_amount){ w->zero, LIN_EXACT };
    lin_amount amount =
        native->workspace(w->exprs, w->operands.items, w->operands.count, call->result_bytes,
                          LIN_PHASE_INFERENCE, w->settings->processes);
    if (amount.bytes == LIN_EXPR_INVALID)
        lin_walk_fail_at(w, call->op->span, LINNET_ERROR_OVERFLOW,
                         "the workspace of `%s` does not fit in 64 bits", call->label);
    return amount;
}

static void walk_native(walker *w, native_call *call)
{
    const char *implementation = call->callee->choice.spelling;
    lin_expr arithmetic = lin_walk_body_arithmetic(w, call->callee);
    lin_walk_begin(w);
    read_arguments(w, call);
    tvalue source;
    if (shares_operand(w, call->f, call->op, call->native)) {
        source = call->f->values[call->op->operands[call->op->as.call.has_receiver ? 1 : 0]];
        if (source.kind == TVALUE_TENSOR)
            call->source = &source;
    }
    call->result_bytes = w->zero;
    make_results(w, call);
    lin_amount workspace = workspace_of(w, call);
    lin_step *step =
        lin_walk_end(w, lin_op_name(LIN_OP_SEMANTIC_CALL), call->label, arithmetic, call->op->span);
    step->implementation = implementation;
    lin_walk_note_operands(w, step);
    step->native = call->native;
    step->workspace = workspace.bytes;
    step->workspace_confidence = workspace.confidence;
    if (workspace.confidence == LIN_UNKNOWN)
        note_unknown(w, implementation);
}

static void list_tensors(walker *w, const tvalue *value)
{
    if (value->kind == TVALUE_TUPLE)
        for (uint32_t i = 0; i < value->count; i++)
            list_tensors(w, &value->as.parts[i]);
    if (value->kind == TVALUE_TENSOR && value->object != LIN_NO_OBJECT)
        LIN_PUSH(w->scratch, &w->operand_objects, value->object);
}

/* The op's steps from `first` on are one to autograd: it keeps what the op reads and makes. */
static void note_own_gradient(walker *w, const frame *f, const lin_op *op, uint32_t first)
{
    const lin_own_gradient own = { .op = op->as.call.callee->qualified,
                                   .first_step = (int32_t)first,
                                   .end_step = (int32_t)w->graph->steps.count };
    if (w->graph->steps.count == first)
        return;
    w->operand_objects.count = 0;
    for (uint32_t i = op->as.call.has_receiver ? 1 : 0; i < op->operand_count; i++)
        list_tensors(w, &f->values[op->operands[i]]);
    for (uint32_t i = 0; i < op->result_count; i++)
        list_tensors(w, &f->values[op->first_result + i]);
    LIN_PUSH(w->arena, &w->graph->own_gradients, own);
    lin_own_gradient *added = &w->graph->own_gradients.items[w->graph->own_gradients.count - 1];
    added->objects = lin_walk_copy_ids(w, w->operand_objects.items, w->operand_objects.count);
    added->object_count = w->operand_objects.count;
}

void lin_walk_semantic_call(walker *w, frame *f, const lin_op *op)
{
    frame *callee = lin_walk_enter(w, f, op);
    if (!callee->choice.spelling) {
        if (callee->choice.kernel_only)
            note_unknown(w, callee->function->qualified);
        const uint32_t first = w->graph->steps.count;
        follow(w, f, op, callee);
        if (callee->function->has_grad)
            note_own_gradient(w, f, op, first);
        return;
    }
    native_call call = { .op = op,
                         .f = f,
                         .callee = callee,
                         .label = lin_walk_name(w, callee->function->name),
                         .native = callee->choice.native };
    walk_native(w, &call);
}

/* ---- state ---- */

void lin_walk_state_write(walker *w, frame *f, const lin_op *op)
{
    instance *block = f->self;
    uint32_t member = op->as.member->index;
    const tvalue value = f->values[op->operands[0]];
    if (!block || value.kind != TVALUE_TENSOR)
        return;
    if (w->graph->objects.items[value.object].owner ==
        w->graph->objects.items[block->declared[member]].owner)
        return; /* written in place: a later read is the declared object again */
    state_change change = { block, member, block->members[member] };
    LIN_PUSH(w->scratch, &w->journal, change);
    block->members[member] = value;
    LIN_PUSH(w->scratch, &w->retained, value.object);
}

void lin_walk_undo_states(walker *w, uint32_t length)
{
    while (w->journal.count > length) {
        const state_change *change = &w->journal.items[--w->journal.count];
        change->block->members[change->member] = change->before;
    }
}
