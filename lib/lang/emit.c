/* SPDX-License-Identifier: MIT */

/*
 * Writing operations. A function is a tree of regions; the innermost open one receives what is
 * emitted. Values are numbered in the order they are made, so an operation's results and a region's
 * arguments are consecutive. Cost: constant an operation.
 */

#include "lang/body.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static lin_value new_value(body *b, const lin_type *type)
{
    (void)LIN_PUSH(b->c->scratch, &b->types, type);
    return b->types.count - 1;
}

operand lin_body_operand(const lin_type *type, lin_value value, lin_span span)
{
    return (operand){ .type = type, .value = value, .span = span };
}

operand lin_body_error(lin_span span)
{
    return lin_body_operand(&lin_error_type, LIN_NO_VALUE, span);
}

lin_op *lin_body_emit(body *b, lin_op_kind kind, lin_span span, const lin_value *operands,
                      uint32_t operand_count)
{
    lin_op *op = LIN_NEW(b->c->arena, lin_op);
    lin_value *copy = LIN_NEW_ARRAY(b->c->arena, lin_value, operand_count);

    if (operand_count > 0)
        memcpy(copy, operands, operand_count * sizeof(*copy));
    op->kind = kind;
    op->span = span;
    op->operands = copy;
    op->operand_count = operand_count;
    op->first_result = LIN_NO_VALUE;
    (void)LIN_PUSH(b->c->scratch, &b->region->ops, op);
    return op;
}

lin_value lin_body_add_result(body *b, lin_op *op, const lin_type *type)
{
    lin_value value = new_value(b, type);
    if (op->result_count == 0)
        op->first_result = value;
    op->result_count++;
    return value;
}

operand lin_body_emit_one(body *b, lin_op_kind kind, lin_span span, const operand *operands,
                          uint32_t count, const lin_type *result, lin_op **out_op)
{
    lin_value *values = LIN_NEW_ARRAY(b->c->scratch, lin_value, count);
    for (uint32_t i = 0; i < count; i++)
        values[i] = operands[i].value;
    lin_op *op = lin_body_emit(b, kind, span, values, count);
    if (out_op != NULL)
        *out_op = op;
    return lin_body_operand(result, lin_body_add_result(b, op, result), span);
}

region_builder *lin_body_region_open(body *b)
{
    region_builder *region = LIN_NEW(b->c->scratch, region_builder);
    region->outer = b->region;
    region->first_arg = b->types.count;
    b->region = region;
    return region;
}

lin_value lin_body_region_arg(body *b, const lin_type *type)
{
    b->region->arg_count++;
    return new_value(b, type);
}

void lin_body_region_leave(body *b)
{
    b->region = b->region->outer;
}

void lin_body_region_resume(body *b, region_builder *region)
{
    region->outer = b->region;
    b->region = region;
}

lin_region lin_body_region_done(body *b, const region_builder *region, const lin_value *results,
                                uint32_t count)
{
    lin_op **ops = LIN_NEW_ARRAY(b->c->arena, lin_op *, region->ops.count);
    lin_value *copy = LIN_NEW_ARRAY(b->c->arena, lin_value, count);

    if (region->ops.count > 0)
        memcpy(ops, region->ops.items, region->ops.count * sizeof(lin_op *));
    if (count > 0)
        memcpy(copy, results, count * sizeof(*copy));
    return (lin_region){ .first_arg = region->first_arg,
                         .arg_count = region->arg_count,
                         .ops = ops,
                         .op_count = region->ops.count,
                         .results = copy,
                         .result_count = count };
}

lin_diagnostic *lin_body_report(body *b, lin_span span, const char *code, const char *format, ...)
{
    char message[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    return lin_report(b->c, span, code, "%s", message);
}

uint32_t lin_body_error_count(const body *b)
{
    return b->c->diagnostics->error_count;
}
