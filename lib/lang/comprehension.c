/* SPDX-License-Identifier: MIT */

/*
 * Comprehensions and reductions: a region whose arguments are the index variables. Their domains
 * are found while the body is looked at, so the operation is made last.
 */

#include "lang/body.h"

/* The variables of one list, in order. */
typedef struct index_list {
    index_variable *items;
    uint32_t count;
    uint32_t mark; /* where they begin among those in force */
} index_list;

static void push_index(body *b, index_list *list, ast_ident ident, bool is_pack)
{
    index_variable *v = &list->items[list->count];
    for (uint32_t i = 0; i < list->count; i++) {
        if (ident.name == 0 || list->items[i].ident.name != ident.name)
            continue;
        lin_body_report(b, ident.span, "E3105", "index `%s` is listed twice",
                        lin_text_of(b->c, ident.name));
        break;
    }
    (void)lin_check_declarable(b->c, ident);
    *v = (index_variable){ .ident = ident, .is_pack = is_pack };
    v->value = lin_body_region_arg(b, lin_scalar_type(b->c, LIN_DTYPE_I64));
    list->count++;
    (void)LIN_PUSH(b->c->scratch, &b->indices, v);
}

static index_list open_list(body *b, uint32_t count)
{
    return (index_list){ .items = LIN_NEW_ARRAY(b->c->scratch, index_variable, count),
                         .mark = b->indices.count };
}

/* Every variable indexes something. */
static bool all_bound(body *b, const index_list *list, const char *code, const char *what)
{
    bool good = true;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].bound)
            continue;
        lin_body_report(b, list->items[i].ident.span, code, "%s index `%s` indexes nothing", what,
                        lin_text_of(b->c, list->items[i].ident.name));
        good = false;
    }
    return good;
}

static const lin_index *index_table(body *b, const index_list *list)
{
    lin_index *table = LIN_NEW_ARRAY(b->c->arena, lin_index, list->count);
    for (uint32_t i = 0; i < list->count; i++) {
        const index_variable *v = &list->items[i];
        table[i].is_pack = v->is_pack;
        if (v->axis_count > 0)
            table[i].axis = v->axes[0];
        if (v->is_pack) {
            table[i].axes = v->axes;
            table[i].axis_count = v->axis_count;
        }
    }
    return table;
}

static operand emit_indexed(body *b, lin_op_kind kind, lin_span span, const index_list *list,
                            const region_builder *region, operand value, const lin_type *type,
                            lin_op **out_op)
{
    operand o = lin_body_emit_one(b, kind, span, NULL, 0, type, out_op);
    (*out_op)->as.indexed.indices = index_table(b, list);
    (*out_op)->as.indexed.count = list->count;
    (*out_op)->as.indexed.region = lin_body_region_done(b, region, &value.value, 1);
    return o;
}

/* ---- let name[i, *s] = e ---- */

static const lin_type *comprehension_type(body *b, const index_list *list, lin_dtype_term dtype)
{
    LIN_LIST(lin_axis) axes = { 0 };
    for (uint32_t i = 0; i < list->count; i++)
        for (uint32_t k = 0; k < list->items[i].axis_count; k++)
            (void)LIN_PUSH(b->c->arena, &axes, list->items[i].axes[k]);
    return lin_tensor_type(b->c, axes.items, axes.count, dtype);
}

static operand comprehension(body *b, const ast_stmt *s)
{
    uint32_t before = lin_body_error_count(b);
    region_builder *region = lin_body_region_open(b);
    index_list list = open_list(b, s->index_count);
    lin_op *op;

    for (uint32_t i = 0; i < s->index_count; i++)
        push_index(b, &list, s->indices[i].ident, s->indices[i].is_pack);
    operand value = lin_body_eval(b, s->value, NULL);
    if (lin_body_is_literal(value.type))
        value = lin_body_settle(b, value, false);
    lin_body_region_leave(b);
    b->indices.count = list.mark;
    if (lin_body_is_error(value) || lin_body_error_count(b) != before ||
        !all_bound(b, &list, "E3103", "output"))
        return lin_body_error(s->value->span);
    if (value.type->kind != LIN_TYPE_SCALAR) {
        lin_body_report(b, s->value->span, "E3104", "index notation gives a scalar, found `%s`",
                        lin_type_text(b->c, value.type));
        return lin_body_error(s->value->span);
    }
    return emit_indexed(b, LIN_OP_COMPREHENSION, s->span, &list, region, value,
                        comprehension_type(b, &list, value.type->dtype), &op);
}

void lin_body_let_index(body *b, const ast_stmt *s)
{
    lin_body_declare(b, BIND_LET, s->name, comprehension(b, s));
}

/* ---- sum[i] e ---- */

typedef struct reduction_row {
    const char *name;
    bool logical; /* over bool */
} reduction_row;

static const reduction_row reductions[] = {
    [LIN_SUM] = { "sum", false }, [LIN_PROD] = { "prod", false }, [LIN_MAX] = { "max", false },
    [LIN_MIN] = { "min", false }, [LIN_ANY] = { "any", true },    [LIN_ALL] = { "all", true },
};

static const lin_type *accumulator_of(body *b, const ast_expr *e)
{
    if (e->as.reduce.accumulator == NULL)
        return NULL;
    const lin_type *type = lin_body_type(b, e->as.reduce.accumulator);
    if (type->kind == LIN_TYPE_SCALAR || type->kind == LIN_TYPE_ERROR)
        return type;
    lin_body_report(b, e->as.reduce.accumulator->span, "E2111",
                    "a reduction accumulates in a dtype");
    return &lin_error_type;
}

static bool is_reducible(body *b, const ast_expr *e, operand value, const lin_type *accumulator)
{
    const reduction_row *row = &reductions[e->as.reduce.reduction];
    const lin_type *type = value.type;
    bool data = type->kind == LIN_TYPE_SCALAR || type->kind == LIN_TYPE_TENSOR;
    if (!data ||
        (row->logical ? type->dtype != LIN_DTYPE_BOOL : !lin_dtype_is_numeric(b->c, type->dtype))) {
        lin_diagnostic *d = lin_body_report(b, e->span, "E2104", "`%s` does not work on `%s`",
                                            row->name, lin_type_text(b->c, type));
        lin_note(b->c, d, row->logical ? "it needs `bool`" : "it needs a Numeric dtype");
        return false;
    }
    if (accumulator != NULL && accumulator->dtype != type->dtype) {
        lin_diagnostic *d = lin_body_report(
            b, e->span, "E2103", "the accumulator is `%s`, the operand `%s`",
            lin_dtype_text(b->c, accumulator->dtype), lin_dtype_text(b->c, type->dtype));
        lin_help(b->c, d, "cast the operand");
        return false;
    }
    return true;
}

operand lin_body_reduce(body *b, const ast_expr *e, const lin_type *hint)
{
    uint32_t before = lin_body_error_count(b);
    const lin_type *accumulator = accumulator_of(b, e);
    region_builder *region = lin_body_region_open(b);
    index_list list = open_list(b, e->as.reduce.count);
    lin_op *op;

    for (uint32_t i = 0; i < e->as.reduce.count; i++)
        push_index(b, &list, e->as.reduce.indices[i], false);
    operand value = lin_body_eval(b, e->as.reduce.body, accumulator != NULL ? accumulator : hint);
    if (lin_body_is_literal(value.type))
        value = lin_body_coerce(
            b, value, lin_body_concrete(b, value.type, accumulator != NULL ? accumulator : hint),
            NULL);
    lin_body_region_leave(b);
    b->indices.count = list.mark;
    if (lin_body_is_error(value) || lin_body_error_count(b) != before ||
        !all_bound(b, &list, "E3102", "reduction") || !is_reducible(b, e, value, accumulator))
        return lin_body_error(e->span);
    operand o = emit_indexed(b, LIN_OP_REDUCE, e->span, &list, region, value, value.type, &op);
    op->as.indexed.reduction = e->as.reduce.reduction;
    return o;
}
