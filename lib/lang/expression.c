/* SPDX-License-Identifier: MIT */

/*
 * Expressions: one case a kind of node, operands before what uses them (language.md 16).
 * Parentheses and unary plus emit nothing.
 */

#include "lang/body.h"

static operand number(body *b, const ast_expr *e)
{
    if (e->as.integer.too_large) {
        lin_body_report(b, e->span, "E2105", "integer does not fit 64 bits");
        return lin_body_error(e->span);
    }
    return lin_body_dim(b, lin_expr_int(b->c->program->dims, e->as.integer.value), e->span);
}

static operand boolean(body *b, const ast_expr *e)
{
    lin_op *op;
    operand o = lin_body_emit_one(b, LIN_OP_CONST_BOOL, e->span, NULL, 0,
                                  lin_scalar_type(b->c, LIN_DTYPE_BOOL), &op);
    op->as.integer = e->kind == AST_TRUE;
    return o;
}

/* ---- tuples, some ---- */

/* Blocks, shapes and nothing are no parts of anything. */
static bool is_part(body *b, operand o)
{
    switch (o.type->kind) {
    case LIN_TYPE_ERROR:
        return false;
    case LIN_TYPE_UNIT:
    case LIN_TYPE_ARRAY:
    case LIN_TYPE_BLOCK:
    case LIN_TYPE_SHAPE:
        lin_body_report(b, o.span, "E2101", "`%s` is no value to keep",
                        lin_type_text(b->c, o.type));
        return false;
    default:
        return true;
    }
}

/* Parts that all have values make one at once; else the context decides. */
static operand aggregate(body *b, const ast_expr *e, lin_op_kind kind, const lin_type *type,
                         const operand *parts)
{
    bool complete = true;
    for (uint32_t i = 0; i < type->part_count; i++)
        complete = complete && parts[i].value != LIN_NO_VALUE;
    if (complete)
        return lin_body_emit_one(b, kind, e->span, parts, type->part_count, type, NULL);
    operand o = lin_body_operand(type, LIN_NO_VALUE, e->span);
    o.parts = parts;
    return o;
}

static operand tuple(body *b, const ast_expr *e, const lin_type *hint)
{
    uint32_t count = e->as.list.count;
    operand *parts = LIN_NEW_ARRAY(b->c->scratch, operand, count);
    const lin_type **types = LIN_NEW_ARRAY(b->c->scratch, const lin_type *, count);
    bool follow = hint != NULL && hint->kind == LIN_TYPE_TUPLE && hint->part_count == count;
    bool good = true;

    for (uint32_t i = 0; i < count; i++) {
        parts[i] = lin_body_eval(b, e->as.list.items[i], follow ? hint->parts[i] : NULL);
        types[i] = parts[i].type;
        good = is_part(b, parts[i]) && good;
    }
    if (!good)
        return lin_body_error(e->span);
    const lin_type *type = lin_tuple_type(b->c, types, count);
    if (!lin_check_type_size(b->c, e->span, type))
        return lin_body_error(e->span);
    return aggregate(b, e, LIN_OP_TUPLE_MAKE, type, parts);
}

static operand some(body *b, const ast_expr *e, const lin_type *hint)
{
    operand *inner = LIN_NEW(b->c->scratch, operand);
    bool follow = hint != NULL && hint->kind == LIN_TYPE_OPTIONAL;

    *inner = lin_body_eval(b, e->as.inner, follow ? hint->parts[0] : NULL);
    if (!is_part(b, *inner))
        return lin_body_error(e->span);
    return aggregate(b, e, LIN_OP_OPTION_SOME, lin_optional_type(b->c, inner->type), inner);
}

/* ---- shapes ---- */

static const lin_generic *pack_named(body *b, const ast_expr *e)
{
    if (e->kind != AST_NAME || lin_body_find_local(b, e->as.name.name) != NULL)
        return NULL;
    const lin_generic *g = lin_find_generic(&b->frame->scope, e->as.name.name);
    return g != NULL && g->kind == LIN_GENERIC_SHAPE ? g : NULL;
}

static operand shape_literal(body *b, const ast_expr *e)
{
    uint32_t count = e->as.list.count;
    lin_axis *axes = LIN_NEW_ARRAY(b->c->arena, lin_axis, count);
    lin_type *type = LIN_NEW(b->c->arena, lin_type);
    lin_expr_table *dims = b->c->program->dims;
    bool good = true;

    *type = (lin_type){ .kind = LIN_TYPE_SHAPE, .axes = axes, .axis_count = count };
    for (uint32_t i = 0; i < count; i++) {
        const lin_generic *pack = pack_named(b, e->as.list.items[i]);
        if (pack != NULL) {
            lin_type one = { .kind = LIN_TYPE_SHAPE, .axes = &axes[i], .axis_count = 1 };
            axes[i] = (lin_axis){ .is_pack = true,
                                  .pack = pack->symbol,
                                  .dim = lin_expr_of_symbol(dims, pack->symbol) };
            if (b->frame->translate != NULL) {
                const lin_type *t = lin_substitute_type(b->c, b->frame->translate, &one);
                good = good && t->axis_count == 1; /* a default names no longer pack */
                axes[i] = t->axis_count == 1 ? t->axes[0] : axes[i];
            }
            continue;
        }
        axes[i] = lin_axis_of_dim(lin_body_eval_dim(b, e->as.list.items[i]));
        good = good && axes[i].dim != LIN_EXPR_INVALID;
    }
    return good ? lin_body_operand(type, LIN_NO_VALUE, e->span) : lin_body_error(e->span);
}

lin_expr lin_body_eval_dim(body *b, const ast_expr *e)
{
    operand o = lin_body_eval(b, e, NULL);
    if (o.type->kind == LIN_TYPE_DIM)
        return o.type->dim;
    if (!lin_body_is_error(o)) {
        lin_diagnostic *d =
            lin_body_report(b, e->span, "E2123", "a compile-time integer is required");
        lin_note(b->c, d, "found `%s`", lin_type_text(b->c, o.type));
    }
    return LIN_EXPR_INVALID;
}

/* ---- all ---- */

static operand eval(body *b, const ast_expr *e, const lin_type *hint)
{
    operand o;
    switch (e->kind) {
    case AST_ERROR:
        return lin_body_error(e->span);
    case AST_INT:
        return number(b, e);
    case AST_FLOAT:
        return lin_body_float(b, e->as.number, e->span);
    case AST_STRING:
        lin_body_report(b, e->span, "E2104", "strings are no values");
        return lin_body_error(e->span);
    case AST_TRUE:
    case AST_FALSE:
        return boolean(b, e);
    case AST_NONE:
        return lin_body_operand(&lin_none_type, LIN_NO_VALUE, e->span);
    case AST_NAME:
        return lin_body_name(b, e->as.name);
    case AST_SOME:
        return some(b, e, hint);
    case AST_TUPLE:
        return tuple(b, e, hint);
    case AST_SHAPE:
        return shape_literal(b, e);
    case AST_PAREN:
        o = lin_body_eval(b, e->as.inner, hint);
        o.span = e->span;
        return o;
    case AST_CALL:
        return lin_body_call(b, e, hint);
    case AST_INDEX:
        return lin_body_index(b, e);
    case AST_MEMBER:
        return lin_body_member(b, e);
    case AST_UNARY:
        return lin_body_unary(b, e);
    case AST_BINARY:
        return lin_body_binary(b, e);
    case AST_IF:
        return lin_body_if(b, e, hint);
    case AST_MATCH:
        return lin_body_match(b, e, hint);
    case AST_REDUCE:
        return lin_body_reduce(b, e, hint);
    case AST_FOR:
        lin_body_report(b, e->span, "E2120", "a `for` loop must be the whole value of a statement");
        return lin_body_error(e->span);
    }
    return lin_body_error(e->span);
}

operand lin_body_eval(body *b, const ast_expr *e, const lin_type *hint)
{
    if (b->depth >= BODY_DEPTH_LIMIT) {
        lin_body_report(b, e->span, "E1101", "too deeply nested");
        return lin_body_error(e->span);
    }
    b->depth++;
    operand o = eval(b, e, hint);
    b->depth--;
    return o;
}

operand lin_body_eval_whole(body *b, const ast_expr *e, const lin_type *hint)
{
    return e->kind == AST_FOR ? lin_body_for(b, e->as.loop, e->span, true)
                              : lin_body_eval(b, e, hint);
}
