/* SPDX-License-Identifier: MIT */

/*
 * Which operations are one computation. Two are when kind, operands, attributes and result types
 * are equal; the hash covers all of these but the inner parts of types, so that a function with
 * thousands of constants still costs one probe each.
 */

#include "lang/simplify.h"

#include <string.h>

static bool same_axes(const lin_axis *a, const lin_axis *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (a[i].is_pack != b[i].is_pack || a[i].dim != b[i].dim ||
            (a[i].is_pack && a[i].pack != b[i].pack))
            return false;
    return true;
}

static bool same_args(const lin_generics *generics, const lin_generic_arg *a,
                      const lin_generic_arg *b)
{
    for (uint32_t i = 0; i < generics->count; i++) {
        if (a[i].kind != b[i].kind)
            return false;
        if (a[i].kind == LIN_GENERIC_DIM && a[i].dim != b[i].dim)
            return false;
        if (a[i].kind == LIN_GENERIC_DTYPE && a[i].dtype != b[i].dtype)
            return false;
        if (a[i].kind == LIN_GENERIC_SHAPE && (a[i].axis_count != b[i].axis_count ||
                                               !same_axes(a[i].axes, b[i].axes, a[i].axis_count)))
            return false;
    }
    return true;
}

static const lin_generics *generics_of(const lin_type *type)
{
    if (type->kind == LIN_TYPE_BLOCK)
        return &type->block->generics;
    if (type->kind == LIN_TYPE_STRUCT)
        return &type->structure->generics;
    return type->kind == LIN_TYPE_ENUM ? &type->enumeration->generics : NULL;
}

bool lin_simplify_same_type(const lin_type *a, const lin_type *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->dtype != b->dtype || a->axis_count != b->axis_count ||
        a->part_count != b->part_count || a->dim != b->dim || a->block != b->block ||
        a->structure != b->structure || a->enumeration != b->enumeration ||
        a->has_number != b->has_number ||
        (a->has_number && memcmp(&a->number, &b->number, sizeof a->number) != 0) ||
        !same_axes(a->axes, b->axes, a->axis_count))
        return false;
    for (uint32_t i = 0; i < a->part_count; i++)
        if (!lin_simplify_same_type(a->parts[i], b->parts[i]))
            return false;
    const lin_generics *generics = generics_of(a);
    return !generics || same_args(generics, a->args, b->args);
}

bool lin_simplify_mergeable(const lin_op *op)
{
    switch (lin_op_class_of(op->kind)) {
    case LIN_OPCLASS_REGION:
        return false;
    case LIN_OPCLASS_CALL:
        return !op->as.call.callee->writes_state;
    default:
        return op->kind != LIN_OP_STATE_WRITE;
    }
}

static bool same_slice(const lin_op *a, const lin_op *b)
{
    if (a->as.slice.count != b->as.slice.count)
        return false;
    for (uint32_t i = 0; i < a->as.slice.count; i++) {
        const lin_slice_axis *x = &a->as.slice.axes[i], *y = &b->as.slice.axes[i];
        if (x->dropped != y->dropped || x->whole != y->whole)
            return false;
        if (!x->whole && (x->start != y->start || x->stop != y->stop || x->step != y->step))
            return false;
    }
    return true;
}

/* `kept` has one entry an axis of the base's type. */
static bool same_element(const lin_function *function, const lin_op *a, const lin_op *b)
{
    const bool *x = a->as.element.kept, *y = b->as.element.kept;
    if (!x || !y)
        return x == y;
    uint32_t axes = lin_value_type(function, a->operands[0])->axis_count;
    return memcmp(x, y, axes * sizeof *x) == 0;
}

static bool same_call(const lin_op *a, const lin_op *b)
{
    const lin_generics *generics = a->as.call.substitution.generics;
    return a->as.call.callee == b->as.call.callee &&
           a->as.call.has_receiver == b->as.call.has_receiver &&
           a->as.call.on_self == b->as.call.on_self &&
           generics == b->as.call.substitution.generics &&
           (!generics ||
            same_args(generics, a->as.call.substitution.items, b->as.call.substitution.items));
}

static bool same_attributes(const lin_function *function, const lin_op *a, const lin_op *b)
{
    switch (a->kind) {
    case LIN_OP_CONST_INT:
    case LIN_OP_CONST_BOOL:
    case LIN_OP_TUPLE_GET:
        return a->as.integer == b->as.integer;
    case LIN_OP_CONST_FLOAT: /* by bits: 0.0 and -0.0 differ */
        return memcmp(&a->as.number, &b->as.number, sizeof a->as.number) == 0;
    case LIN_OP_CONST_DIM:
    case LIN_OP_ARRAY_GET:
        return a->as.dim == b->as.dim;
    case LIN_OP_ENUM_CONST:
        return a->as.enum_const.enumeration == b->as.enum_const.enumeration &&
               a->as.enum_const.variant == b->as.enum_const.variant;
    case LIN_OP_COMPARE:
        return a->as.comparison == b->as.comparison;
    case LIN_OP_CONCAT:
    case LIN_OP_CUMSUM:
        return a->as.axis == b->as.axis;
    case LIN_OP_PERMUTE:
        return a->as.permute.count == b->as.permute.count &&
               memcmp(a->as.permute.axes, b->as.permute.axes,
                      a->as.permute.count * sizeof *a->as.permute.axes) == 0;
    case LIN_OP_SLICE:
        return same_slice(a, b);
    case LIN_OP_ELEMENT:
        return same_element(function, a, b);
    case LIN_OP_CALL:
    case LIN_OP_SEMANTIC_CALL:
        return same_call(a, b);
    case LIN_OP_BLOCK_PARAM:
    case LIN_OP_BLOCK_SUB:
    case LIN_OP_STATE_READ:
        return a->as.member == b->as.member;
    default:
        return true;
    }
}

bool lin_simplify_same_op(const lin_function *function, const lin_op *a, const lin_op *b)
{
    if (a->kind != b->kind || a->operand_count != b->operand_count ||
        a->result_count != b->result_count)
        return false;
    for (uint32_t i = 0; i < a->operand_count; i++)
        if (a->operands[i] != b->operands[i])
            return false;
    if (!same_attributes(function, a, b))
        return false;
    for (uint32_t i = 0; i < a->result_count; i++)
        if (!lin_simplify_same_type(lin_value_type(function, a->first_result + i),
                                    lin_value_type(function, b->first_result + i)))
            return false;
    return true;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static uint64_t attribute_word(const lin_op *op)
{
    uint64_t bits = 0;
    switch (op->kind) {
    case LIN_OP_CONST_INT:
    case LIN_OP_CONST_BOOL:
    case LIN_OP_TUPLE_GET:
        return (uint64_t)op->as.integer;
    case LIN_OP_CONST_FLOAT:
        memcpy(&bits, &op->as.number, sizeof op->as.number);
        return bits;
    case LIN_OP_CONST_DIM:
    case LIN_OP_ARRAY_GET:
        return op->as.dim;
    case LIN_OP_CONCAT:
    case LIN_OP_CUMSUM:
        return (uint64_t)op->as.axis;
    case LIN_OP_COMPARE:
        return (uint64_t)op->as.comparison;
    case LIN_OP_SLICE:
        for (uint32_t i = 0; i < op->as.slice.count; i++)
            bits = mix(bits, op->as.slice.axes[i].whole ? 1u : 2u + op->as.slice.axes[i].start);
        return bits;
    case LIN_OP_CALL:
    case LIN_OP_SEMANTIC_CALL:
        return op->as.call.callee->index;
    case LIN_OP_BLOCK_PARAM:
    case LIN_OP_BLOCK_SUB:
    case LIN_OP_STATE_READ:
        return op->as.member->index;
    default:
        return 0;
    }
}

uint64_t lin_simplify_hash(const lin_function *function, const lin_op *op)
{
    uint64_t hash = mix(op->kind, attribute_word(op));
    for (uint32_t i = 0; i < op->operand_count; i++)
        hash = mix(hash, op->operands[i]);
    for (uint32_t i = 0; i < op->result_count; i++) {
        const lin_type *type = lin_value_type(function, op->first_result + i);
        hash = mix(hash, type->dtype);
        for (uint32_t axis = 0; axis < type->axis_count; axis++)
            hash = mix(hash, type->axes[axis].dim);
    }
    return hash;
}
