/* SPDX-License-Identifier: MIT */

/*
 * Operations that hold regions, seen alike: passes that only want "every region inside" need not
 * know the kinds. Regions are reached through const tables of arms, which the front end made in the
 * program's arena; whoever simplifies a function may write through them.
 */

#include "lang/ops.h"

uint32_t lin_op_region_count(const lin_op *op)
{
    switch (op->kind) {
    case LIN_OP_COMPREHENSION:
    case LIN_OP_REDUCE:
    case LIN_OP_STATIC_FOR:
    case LIN_OP_STATIC_RANGE:
    case LIN_OP_FOR:
        return 1;
    case LIN_OP_IF:
    case LIN_OP_WHILE:
        return 2;
    case LIN_OP_OPTION_MATCH:
    case LIN_OP_ENUM_MATCH:
        return op->as.match.count;
    default:
        return 0;
    }
}

static const lin_region *region_of(const lin_op *op, uint32_t index)
{
    switch (op->kind) {
    case LIN_OP_COMPREHENSION:
    case LIN_OP_REDUCE:
        return &op->as.indexed.region;
    case LIN_OP_IF:
        return index == 0 ? &op->as.branch.then_region : &op->as.branch.else_region;
    case LIN_OP_WHILE:
        return index == 0 ? &op->as.loop.condition : &op->as.loop.body;
    case LIN_OP_OPTION_MATCH:
    case LIN_OP_ENUM_MATCH:
        return &op->as.match.arms[index].region;
    default:
        return &op->as.loop.body;
    }
}

lin_region *lin_op_region(const lin_op *op, uint32_t index)
{
    return (lin_region *)(uintptr_t)region_of(op, index);
}
