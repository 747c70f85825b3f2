/* SPDX-License-Identifier: MIT */

/*
 * Statements, locals and patterns. A local is its current value: assignment puts another value in
 * its place, and loops (loop.c) carry those that change. State members are written through.
 */

#include "lang/body.h"

#include <string.h>

/* ---- locals ---- */

uint32_t lin_body_scope_open(const body *b)
{
    return b->locals.count;
}

void lin_body_scope_close(body *b, uint32_t mark)
{
    for (uint32_t i = b->locals.count; i > mark; i--) {
        const local *l = &b->locals.items[i - 1];
        const char *name = lin_text_of(b->c, l->name);
        b->all->newest[l->name] = l->hidden;
        if (l->used || l->kind == BIND_PARAM || name[0] == '_' || b->discarded ||
            !lin_is_own_module(b->c, b->frame->scope.module->module))
            continue;
        lin_report(b->c, l->span, "W1002", "local `%s` is never used", name);
    }
    b->locals.count = mark;
}

/* The slot of `name` among the newest locals. */
static uint32_t *newest_slot(body *b, lin_name name)
{
    bodies *all = b->all;
    if (name >= all->newest_count) {
        uint32_t count = 2 * name + 64;
        uint32_t *grown = LIN_NEW_ARRAY(b->c->scratch, uint32_t, count);
        if (all->newest_count > 0)
            memcpy(grown, all->newest, all->newest_count * sizeof(*grown));
        all->newest = grown;
        all->newest_count = count;
    }
    return &all->newest[name];
}

void lin_body_declare(body *b, bind_kind kind, ast_ident ident, operand value)
{
    if (ident.name == 0 || strcmp(lin_text_of(b->c, ident.name), "_") == 0)
        return;
    if (kind != BIND_PARAM)
        (void)lin_check_declarable(b->c, ident);
    uint32_t *newest = newest_slot(b, ident.name);
    const local l = {
        .name = ident.name, .span = ident.span, .kind = kind, .value = value, .hidden = *newest
    };
    (void)LIN_PUSH(b->c->scratch, &b->locals, l);
    *newest = b->locals.count;
}

/* ---- patterns ---- */

static void bind_tuple(body *b, const ast_pattern *p, operand value)
{
    const lin_type *type = value.type;
    bool fits = type->kind == LIN_TYPE_TUPLE && type->part_count == p->part_count;
    if (!fits && type->kind != LIN_TYPE_ERROR)
        lin_body_report(b, p->span, "E2117", "this pattern does not fit `%s`",
                        lin_type_text(b->c, type));
    for (uint32_t i = 0; i < p->part_count; i++) {
        operand part = lin_body_error(value.span);
        if (fits && value.parts != NULL) {
            part = value.parts[i];
        } else if (fits) {
            lin_op *op;
            part = lin_body_emit_one(b, LIN_OP_TUPLE_GET, p->span, &value, 1, type->parts[i], &op);
            op->as.integer = i;
        }
        lin_body_bind_pattern(b, p->parts[i], part);
    }
}

void lin_body_bind_pattern(body *b, const ast_pattern *p, operand value)
{
    switch (p->kind) {
    case AST_PATTERN_NAME:
        lin_body_declare(b, BIND_LET, p->name, lin_body_settle(b, value, true));
        return;
    case AST_PATTERN_TUPLE:
        bind_tuple(b, p, value);
        return;
    case AST_PATTERN_SOME:
    case AST_PATTERN_NONE: {
        lin_diagnostic *d = lin_body_report(b, p->span, "E2117", "this pattern may not fit");
        lin_help(b->c, d, "`match` the optional value");
        return;
    }
    }
}

/* ---- let, var ---- */

/* Blocks stay where they are: they are no values to keep. */
static operand kept_value(body *b, operand o)
{
    if (o.type->kind != LIN_TYPE_BLOCK && o.type->kind != LIN_TYPE_ARRAY)
        return o;
    lin_body_report(b, o.span, "E2101", "`%s` is no value to keep", lin_type_text(b->c, o.type));
    return lin_body_error(o.span);
}

static operand declared_value(body *b, const ast_stmt *s)
{
    const lin_type *type = s->type == NULL ? NULL : lin_body_type(b, s->type);
    operand o = lin_body_eval_whole(b, s->value, type);
    return kept_value(b, type == NULL ? o : lin_body_coerce(b, o, type, NULL));
}

static void let(body *b, const ast_stmt *s)
{
    lin_body_bind_pattern(b, s->pattern, declared_value(b, s));
}

static void var(body *b, const ast_stmt *s)
{
    operand o = lin_body_settle(b, declared_value(b, s), false);
    if (o.type->kind == LIN_TYPE_UNIT) {
        lin_body_report(b, s->value->span, "E2101", "this call gives no value");
        o = lin_body_error(s->value->span);
    }
    lin_body_declare(b, BIND_VAR, s->name, o);
}

/* ---- assignment ---- */

static void immutable(body *b, ast_ident name, const char *what)
{
    lin_body_report(b, name.span, "E2108", "cannot assign `%s`: it is %s",
                    lin_text_of(b->c, name.name), what);
}

static void assign_local(body *b, const ast_stmt *s, const local *l)
{
    lin_name name = l->name;
    const lin_type *type = l->value.type;
    if (l->kind != BIND_VAR) {
        immutable(b, s->name, l->kind == BIND_PARAM ? "a parameter" : "declared by `let`");
        return;
    }
    operand o = lin_body_eval_whole(b, s->value, type);
    o = lin_body_coerce(b, o, type, "E2109");
    if (!lin_body_is_error(o))
        lin_body_find_local(b, name)->value = o;
}

static void assign_member(body *b, const ast_stmt *s, const lin_member *m)
{
    if (m->kind != LIN_MEMBER_STATE) {
        immutable(b, s->name, m->kind == LIN_MEMBER_SUB ? "a sub" : "no state");
        return;
    }
    operand o = lin_body_eval_whole(b, s->value, m->type);
    o = lin_body_coerce(b, o, m->type, "E2109");
    if (lin_body_is_error(o))
        return;
    lin_op *op = lin_body_emit(b, LIN_OP_STATE_WRITE, s->span, &o.value, 1);
    op->as.member = m;
}

static void assign(body *b, const ast_stmt *s)
{
    const decl *block = b->frame->scope.block;
    if (s->name.name == 0)
        return;
    const local *l = lin_body_find_local(b, s->name.name);
    if (l != NULL) {
        assign_local(b, s, l);
        return;
    }
    const lin_member *m = block == NULL || block->block == NULL
                              ? NULL
                              : lin_body_find_member(block->block, s->name.name);
    if (lin_find_generic(&b->frame->scope, s->name.name) != NULL)
        immutable(b, s->name, "a generic");
    else if (m != NULL)
        assign_member(b, s, m);
    else if (lin_body_is_declared(b, s->name.name))
        immutable(b, s->name, "not a variable");
    else
        lin_report_undeclared(b->c, &b->frame->scope, s->name);
}

/* ---- return, yield ---- */

static operand returned(body *b, const ast_stmt *s)
{
    const lin_type *want = b->result;
    if (s->value == NULL) {
        if (want != NULL && want->kind != LIN_TYPE_UNIT && want->kind != LIN_TYPE_ERROR)
            lin_body_report(b, s->span, "E2120", "this function returns `%s`",
                            lin_type_text(b->c, want));
        return lin_body_operand(&lin_unit_type, LIN_NO_VALUE, s->span);
    }
    operand o = lin_body_eval_whole(b, s->value, want);
    o.span = s->value->span;
    return want == NULL ? o : lin_body_coerce(b, o, want, NULL);
}

static void ending(body *b, const ast_stmt *s, block_end end, bool last, operand *out)
{
    bool is_return = s->kind == AST_RETURN;
    if (is_return && end == END_FUNCTION && last) {
        *out = returned(b, s);
    } else if (!is_return && end == END_YIELD && last) {
        *out = lin_body_settle(b, lin_body_eval(b, s->value, NULL), false);
        out->span = s->value->span;
    } else if (is_return) {
        lin_body_report(b, s->span, "E2120",
                        end == END_FUNCTION ? "`return` must be the last statement"
                                            : "`return` cannot stand in a loop");
    } else {
        lin_body_report(b, s->span, "E2120",
                        "`yield` must be the last statement of a `for` loop that is a value");
    }
}

/* ---- all ---- */

static void statement(body *b, const ast_stmt *s)
{
    switch (s->kind) {
    case AST_LET_INDEX:
        lin_body_let_index(b, s);
        return;
    case AST_LET:
        let(b, s);
        return;
    case AST_VAR:
        var(b, s);
        return;
    case AST_ASSIGN:
        assign(b, s);
        return;
    case AST_STATIC_FOR:
        lin_body_static_for(b, s);
        return;
    case AST_WHILE:
        lin_body_while(b, s);
        return;
    case AST_FOR_STMT:
        (void)lin_body_for(b, s->loop, s->span, false);
        return;
    case AST_STORE:
        lin_body_report(b, s->span, "E2190", "`%s` is for kernels, which are not supported",
                        lin_text_of(b->c, s->name.name));
        return;
    case AST_RETURN:
    case AST_YIELD:
        return;
    }
}

void lin_body_statements(body *b, const ast_stmts *stmts, block_end end, lin_span whole,
                         operand *out)
{
    uint32_t mark = lin_body_scope_open(b);
    bool ended = false;

    *out = lin_body_operand(&lin_unit_type, LIN_NO_VALUE, whole);
    for (uint32_t i = 0; i < stmts->count; i++) {
        const ast_stmt *s = stmts->items[i];
        bool last = i + 1 == stmts->count;
        if (s->kind == AST_RETURN || s->kind == AST_YIELD) {
            ending(b, s, end, last, out);
            ended = ended || last;
        } else {
            statement(b, s);
        }
    }
    if (!ended && end == END_YIELD)
        lin_body_report(b, whole, "E2120", "a `for` loop that is a value must end with `yield`");
    if (!ended && end == END_FUNCTION && b->result != NULL && b->result->kind != LIN_TYPE_UNIT &&
        b->result->kind != LIN_TYPE_ERROR)
        lin_body_report(b, stmts->end, "E2120", "the last statement must return `%s`",
                        lin_type_text(b->c, b->result));
    lin_body_scope_close(b, mark);
}
