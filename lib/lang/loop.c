/* SPDX-License-Identifier: MIT */

/*
 * Loops. What a loop carries are the `var`s of enclosing scopes that its body assigns, in the order
 * of their first assignment: they enter the body as region arguments and leave it as results. The
 * body's syntax is scanned for them before it is looked at.
 */

#include "lang/body.h"

typedef struct carried {
    LIN_LIST(uint32_t) locals; /* which of b->locals */
    LIN_LIST(lin_name) hidden; /* names the body itself declares */
} carried;

/* ---- what is assigned ---- */

static void scan(body *b, carried *c, const ast_stmts *stmts);

static void hide(body *b, carried *c, lin_name name)
{
    (void)LIN_PUSH(b->c->scratch, &c->hidden, name);
}

static void hide_pattern(body *b, carried *c, const ast_pattern *p)
{
    if (p->kind == AST_PATTERN_NAME)
        hide(b, c, p->name.name);
    for (uint32_t i = 0; i < p->part_count; i++)
        hide_pattern(b, c, p->parts[i]);
}

static void add_assigned(body *b, carried *c, lin_name name)
{
    for (uint32_t i = 0; i < c->hidden.count; i++)
        if (c->hidden.items[i] == name)
            return;
    const local *l = lin_body_find_local(b, name);
    if (l == NULL || l->kind != BIND_VAR || l->value.value == LIN_NO_VALUE)
        return;
    uint32_t number = (uint32_t)(l - b->locals.items);
    for (uint32_t i = 0; i < c->locals.count; i++)
        if (c->locals.items[i] == number)
            return;
    (void)LIN_PUSH(b->c->scratch, &c->locals, number);
}

static void scan_for(body *b, carried *c, const ast_for *loop)
{
    uint32_t mark = c->hidden.count;
    hide(b, c, loop->index.name);
    scan(b, c, &loop->body);
    c->hidden.count = mark;
}

static void scan_statement(body *b, carried *c, const ast_stmt *s)
{
    uint32_t mark = c->hidden.count;
    if (s->value != NULL && s->value->kind == AST_FOR)
        scan_for(b, c, s->value->as.loop);
    switch (s->kind) {
    case AST_ASSIGN:
        add_assigned(b, c, s->name.name);
        return;
    case AST_LET:
        hide_pattern(b, c, s->pattern);
        return;
    case AST_LET_INDEX:
    case AST_VAR:
        hide(b, c, s->name.name);
        return;
    case AST_FOR_STMT:
        scan_for(b, c, s->loop);
        return;
    case AST_STATIC_FOR:
        hide_pattern(b, c, s->pattern);
        scan(b, c, &s->body);
        c->hidden.count = mark;
        return;
    case AST_WHILE:
        scan(b, c, &s->body);
        return;
    case AST_RETURN:
    case AST_YIELD:
    case AST_STORE:
        return;
    }
}

static void scan(body *b, carried *c, const ast_stmts *stmts)
{
    uint32_t mark = c->hidden.count;
    for (uint32_t i = 0; i < stmts->count; i++)
        scan_statement(b, c, stmts->items[i]);
    c->hidden.count = mark;
}

static carried carried_by(body *b, const ast_stmts *stmts)
{
    carried c = { 0 };
    scan(b, &c, stmts);
    return c;
}

/* ---- carrying ---- */

static operand *value_of(body *b, const carried *c, uint32_t i)
{
    return &b->locals.items[c->locals.items[i]].value;
}

/* The carried values now, after `first` others. */
static lin_value *current_values(body *b, const carried *c, uint32_t first)
{
    lin_value *values = LIN_NEW_ARRAY(b->c->scratch, lin_value, c->locals.count + first);
    for (uint32_t i = 0; i < c->locals.count; i++)
        values[first + i] = value_of(b, c, i)->value;
    return values;
}

/* Inside a region the carried locals are its arguments. */
static void enter(body *b, const carried *c)
{
    for (uint32_t i = 0; i < c->locals.count; i++)
        value_of(b, c, i)->value = lin_body_region_arg(b, value_of(b, c, i)->type);
}

/* After the loop they are its results. */
static void leave(body *b, const carried *c, lin_op *op)
{
    for (uint32_t i = 0; i < c->locals.count; i++)
        value_of(b, c, i)->value = lin_body_add_result(b, op, value_of(b, c, i)->type);
}

/* A loop may only count. */
static void forgive_unused(body *b, uint32_t mark)
{
    for (uint32_t i = mark; i < b->locals.count; i++)
        b->locals.items[i].used = true;
}

static operand int_arg(body *b, lin_span span)
{
    const lin_type *type = lin_scalar_type(b->c, LIN_DTYPE_I64);
    return lin_body_operand(type, lin_body_region_arg(b, type), span);
}

/* ---- static for ---- */

static void over_array(body *b, const ast_stmt *s)
{
    operand array = lin_body_eval(b, s->value, NULL), ignored;
    bool good = array.type->kind == LIN_TYPE_ARRAY;
    if (!good && !lin_body_is_error(array))
        lin_body_report(b, s->value->span, "E2121",
                        "`static for` walks a block array or a range, found `%s`",
                        lin_type_text(b->c, array.type));
    carried c = carried_by(b, &s->body);
    lin_value *operands = current_values(b, &c, 1);
    operands[0] = array.value;

    region_builder *region = lin_body_region_open(b);
    uint32_t mark = lin_body_scope_open(b);
    operand element = lin_body_error(s->value->span);
    if (good)
        element = lin_body_operand(array.type->parts[0],
                                   lin_body_region_arg(b, array.type->parts[0]), s->pattern->span);
    enter(b, &c);
    lin_body_bind_pattern(b, s->pattern, element);
    forgive_unused(b, mark);
    lin_body_statements(b, &s->body, END_LOOP, s->span, &ignored);
    lin_body_scope_close(b, mark);
    lin_body_region_leave(b);
    lin_op *op = lin_body_emit(b, LIN_OP_STATIC_FOR, s->span, operands, c.locals.count + 1);
    op->as.loop.body = lin_body_region_done(b, region, current_values(b, &c, 0), c.locals.count);
    leave(b, &c, op);
}

static void over_range(body *b, const ast_stmt *s)
{
    operand ignored;
    lin_expr start = lin_body_eval_dim(b, s->value), stop = lin_body_eval_dim(b, s->stop);
    carried c = carried_by(b, &s->body);
    lin_value *operands = current_values(b, &c, 0);

    region_builder *region = lin_body_region_open(b);
    uint32_t mark = lin_body_scope_open(b);
    operand index = int_arg(b, s->pattern->span);
    enter(b, &c);
    lin_body_bind_pattern(b, s->pattern, index);
    forgive_unused(b, mark);
    lin_body_statements(b, &s->body, END_LOOP, s->span, &ignored);
    lin_body_scope_close(b, mark);
    lin_body_region_leave(b);
    lin_op *op = lin_body_emit(b, LIN_OP_STATIC_RANGE, s->span, operands, c.locals.count);
    op->as.loop.start = start;
    op->as.loop.stop = stop;
    op->as.loop.body = lin_body_region_done(b, region, current_values(b, &c, 0), c.locals.count);
    leave(b, &c, op);
}

void lin_body_static_for(body *b, const ast_stmt *s)
{
    if (s->stop != NULL)
        over_range(b, s);
    else
        over_array(b, s);
}

/* ---- while ---- */

void lin_body_while(body *b, const ast_stmt *s)
{
    operand ignored;
    carried c = carried_by(b, &s->body);
    lin_value *operands = current_values(b, &c, 0);

    region_builder *head = lin_body_region_open(b);
    enter(b, &c);
    operand condition = lin_body_eval(b, s->value, NULL);
    lin_body_region_leave(b);
    if (!lin_body_is_error(condition) &&
        (condition.type->kind != LIN_TYPE_SCALAR || condition.type->dtype != LIN_DTYPE_BOOL))
        lin_body_report(b, s->value->span, "E2114", "a condition is a scalar `bool`, found `%s`",
                        lin_type_text(b->c, condition.type));

    region_builder *region = lin_body_region_open(b);
    enter(b, &c);
    lin_body_statements(b, &s->body, END_LOOP, s->span, &ignored);
    lin_body_region_leave(b);
    lin_op *op = lin_body_emit(b, LIN_OP_WHILE, s->span, operands, c.locals.count);
    op->as.loop.condition = lin_body_region_done(b, head, &condition.value, 1);
    op->as.loop.body = lin_body_region_done(b, region, current_values(b, &c, 0), c.locals.count);
    leave(b, &c, op);
}

/* ---- for ---- */

/* The parts of a yield, each of which is stacked on its own. */
typedef struct yields {
    operand *items;
    uint32_t count;
} yields;

static yields yields_of(body *b, operand value)
{
    yields y = { .items = LIN_NEW(b->c->scratch, operand), .count = 1 };
    y.items[0] = value;
    if (value.type->kind != LIN_TYPE_TUPLE)
        return y;
    y.count = value.type->part_count;
    y.items = LIN_NEW_ARRAY(b->c->scratch, operand, y.count);
    for (uint32_t i = 0; i < y.count; i++) {
        lin_op *op;
        y.items[i] = lin_body_emit_one(b, LIN_OP_TUPLE_GET, value.span, &value, 1,
                                       value.type->parts[i], &op);
        op->as.integer = i;
    }
    return y;
}

/* A first axis of length stop - start before the yield's own; NULL: it cannot be stacked. */
static const lin_type *stacked_type(body *b, const lin_type *type, lin_expr length)
{
    if (type->kind != LIN_TYPE_SCALAR && type->kind != LIN_TYPE_TENSOR)
        return NULL;
    lin_axis *axes = LIN_NEW_ARRAY(b->c->arena, lin_axis, type->axis_count + 1);
    axes[0] = lin_axis_of_dim(length);
    for (uint32_t i = 0; i < type->axis_count; i++)
        axes[i + 1] = type->axes[i];
    return lin_tensor_type(b->c, axes, type->axis_count + 1, type->dtype);
}

static lin_expr loop_length(body *b, const ast_for *loop, lin_expr start, lin_expr stop)
{
    if (start == LIN_EXPR_INVALID || stop == LIN_EXPR_INVALID)
        return LIN_EXPR_INVALID;
    lin_expr length = lin_expr_sub(b->c->program->dims, stop, start);
    if (length == LIN_EXPR_INVALID || lin_solver_negative(b->c->solver, length)) {
        lin_body_report(b, loop->stop->span, "E2208", "the loop's length is negative");
        return LIN_EXPR_INVALID;
    }
    return length;
}

/* The operation's stacked results, as one value. */
static operand stack(body *b, lin_op *op, operand value, const yields *y, lin_expr length)
{
    const lin_type **types = LIN_NEW_ARRAY(b->c->scratch, const lin_type *, y->count);
    operand *parts = LIN_NEW_ARRAY(b->c->scratch, operand, y->count);

    for (uint32_t i = 0; i < y->count; i++) {
        types[i] = stacked_type(b, y->items[i].type, length);
        if (types[i] == NULL) {
            lin_body_report(b, value.span, "E2101", "`%s` cannot be stacked",
                            lin_type_text(b->c, y->items[i].type));
            return lin_body_error(value.span);
        }
    }
    for (uint32_t i = 0; i < y->count; i++)
        parts[i] = lin_body_operand(types[i], lin_body_add_result(b, op, types[i]), value.span);
    if (value.type->kind != LIN_TYPE_TUPLE)
        return parts[0];
    return lin_body_emit_one(b, LIN_OP_TUPLE_MAKE, value.span, parts, y->count,
                             lin_tuple_type(b->c, types, y->count), NULL);
}

operand lin_body_for(body *b, const ast_for *loop, lin_span span, bool as_value)
{
    yields y = { 0 };
    operand value;
    lin_expr start = lin_body_eval_dim(b, loop->start), stop = lin_body_eval_dim(b, loop->stop);
    lin_expr length = loop_length(b, loop, start, stop);
    carried c = carried_by(b, &loop->body);
    lin_value *operands = current_values(b, &c, 0);

    region_builder *region = lin_body_region_open(b);
    uint32_t mark = lin_body_scope_open(b);
    operand index = int_arg(b, loop->index.span);
    enter(b, &c);
    lin_body_declare(b, BIND_PARAM, loop->index, index);
    (void)lin_check_declarable(b->c, loop->index);
    lin_body_statements(b, &loop->body, as_value ? END_YIELD : END_LOOP, span, &value);
    bool yielded = as_value && !lin_body_is_error(value) && value.type->kind != LIN_TYPE_UNIT;
    if (yielded)
        y = yields_of(b, value);
    lin_body_scope_close(b, mark);
    lin_body_region_leave(b);

    lin_value *results = LIN_NEW_ARRAY(b->c->scratch, lin_value, c.locals.count + y.count);
    for (uint32_t i = 0; i < c.locals.count; i++)
        results[i] = value_of(b, &c, i)->value;
    for (uint32_t i = 0; i < y.count; i++)
        results[c.locals.count + i] = y.items[i].value;
    lin_op *op = lin_body_emit(b, LIN_OP_FOR, span, operands, c.locals.count);
    op->as.loop.start = start;
    op->as.loop.stop = stop;
    op->as.loop.body = lin_body_region_done(b, region, results, c.locals.count + y.count);
    op->as.loop.yield_count = y.count;
    leave(b, &c, op);
    if (!yielded || length == LIN_EXPR_INVALID)
        return lin_body_error(span);
    return stack(b, op, value, &y, length);
}
