/* SPDX-License-Identifier: MIT */

/*
 * The functions every module sees (language.md 13): one row each says how many arguments it takes,
 * whether a dtype or `axis =` goes with them, and what makes the operation.
 */

#include "lang/body.h"

#include <string.h>

typedef struct prelude_row {
    const char *name;
    lin_op_kind kind;
    uint32_t least, most;
    bool takes_dtype, takes_axis;
    lin_dtype_bound bound; /* of the dtype */
    operand (*make)(body *b, prelude_call *call);
} prelude_row;

/* ---- elementwise ---- */

static operand elementwise(body *b, prelude_call *call, operand_class class)
{
    lin_span span = call->e->span;
    if (!lin_body_same_dtype(b, span, call->name, call->args, call->count, class, call->hint))
        return lin_body_error(span);
    const lin_type *type =
        lin_body_broadcast(b, span, call->args, call->count, call->args[0].type->dtype);
    if (type == NULL)
        return lin_body_error(span);
    return lin_body_emit_one(b, call->kind, span, call->args, call->count, type, NULL);
}

static bool all_literals(const prelude_call *call, lin_type_kind *out_kind)
{
    *out_kind = LIN_TYPE_DIM;
    for (uint32_t i = 0; i < call->count; i++) {
        if (!lin_body_is_literal(call->args[i].type))
            return false;
        if (call->args[i].type->kind == LIN_TYPE_FLOAT)
            *out_kind = LIN_TYPE_FLOAT;
    }
    return true;
}

static operand make_float(body *b, prelude_call *call)
{
    if (lin_body_is_literal(call->args[0].type))
        return lin_body_literal_of(b, call->kind, call->args[0], NULL, call->e->span);
    return elementwise(b, call, CLASS_FLOAT);
}

static operand make_abs(body *b, prelude_call *call)
{
    operand x = call->args[0];
    if (x.type->kind == LIN_TYPE_FLOAT)
        return lin_body_literal_of(b, LIN_OP_ABS, x, NULL, call->e->span);
    if (x.type->kind != LIN_TYPE_DIM)
        return elementwise(b, call, CLASS_NUMERIC);
    operand zero = lin_body_dim(b, lin_expr_int(b->c->program->dims, 0), call->e->span);
    operand minus = lin_body_dim_arithmetic(b, LIN_OP_SUB, zero, x, call->e->span);
    if (lin_body_is_error(minus))
        return minus;
    return lin_body_dim_arithmetic(b, LIN_OP_MAX, x, minus, call->e->span);
}

static operand make_extreme(body *b, prelude_call *call)
{
    lin_type_kind kind;
    if (!all_literals(call, &kind))
        return elementwise(b, call, CLASS_NUMERIC);
    if (kind == LIN_TYPE_DIM)
        return lin_body_dim_arithmetic(b, call->kind, call->args[0], call->args[1], call->e->span);
    return lin_body_literal_of(b, call->kind, call->args[0], &call->args[1], call->e->span);
}

static operand make_shift(body *b, prelude_call *call)
{
    lin_type_kind kind;
    if (all_literals(call, &kind) && kind == LIN_TYPE_DIM)
        return lin_body_dim_arithmetic(b, call->kind, call->args[0], call->args[1], call->e->span);
    return elementwise(b, call, CLASS_INTEGER);
}

static operand make_select(body *b, prelude_call *call)
{
    lin_span span = call->e->span;
    const lin_type *c = call->args[0].type;
    if ((c->kind != LIN_TYPE_SCALAR && c->kind != LIN_TYPE_TENSOR) || c->dtype != LIN_DTYPE_BOOL) {
        lin_body_report(b, call->args[0].span, "E2114",
                        "the condition of `select` is `bool`, found `%s`", lin_type_text(b->c, c));
        return lin_body_error(span);
    }
    if (!lin_body_same_dtype(b, span, call->name, &call->args[1], 2, CLASS_ANY, call->hint))
        return lin_body_error(span);
    const lin_type *type = lin_body_broadcast(b, span, call->args, 3, call->args[1].type->dtype);
    if (type == NULL)
        return lin_body_error(span);
    return lin_body_emit_one(b, LIN_OP_SELECT, span, call->args, 3, type, NULL);
}

static operand make_cast(body *b, prelude_call *call)
{
    operand x = call->args[0];
    lin_span span = call->e->span;
    if (!call->has_dtype) {
        lin_body_report(b, span, "E2110", "`cast` needs the dtype it converts to: cast<f32>(x)");
        return lin_body_error(span);
    }
    if (x.type->kind == LIN_TYPE_DIM && lin_dtype_is_numeric(b->c, call->dtype))
        return lin_body_adopt(b, x, call->dtype);
    if (x.type->kind == LIN_TYPE_FLOAT && lin_dtype_is_float(b->c, call->dtype))
        return lin_body_adopt(b, x, call->dtype);
    if (!lin_body_same_dtype(b, span, call->name, &x, 1, CLASS_ANY, NULL))
        return lin_body_error(span);
    return lin_body_emit_one(b, LIN_OP_CAST, span, &x, 1,
                             lin_tensor_type(b->c, x.type->axes, x.type->axis_count, call->dtype),
                             NULL);
}

static operand make_reserved(body *b, prelude_call *call)
{
    lin_body_report(b, call->e->as.call.callee->span, "E2190",
                    "`%s` is reserved and does nothing yet", call->name);
    return lin_body_error(call->e->span);
}

/* ---- the table ---- */

enum { ANY_NUMBER = INT32_MAX };

/* clang-format off */
static const prelude_row rows[] = {
    /*  name           operation       arguments       dtype  axis   its class          */
    { "cast",         LIN_OP_CAST,      1, 1,          true,  false, LIN_BOUND_DTYPE,   make_cast },
    { "exp",          LIN_OP_EXP,       1, 1,          false, false, LIN_BOUND_DTYPE,   make_float },
    { "log",          LIN_OP_LOG,       1, 1,          false, false, LIN_BOUND_DTYPE,   make_float },
    { "sqrt",         LIN_OP_SQRT,      1, 1,          false, false, LIN_BOUND_DTYPE,   make_float },
    { "rsqrt",        LIN_OP_RSQRT,     1, 1,          false, false, LIN_BOUND_DTYPE,   make_float },
    { "sin",          LIN_OP_SIN,       1, 1,          false, false, LIN_BOUND_DTYPE,   make_float },
    { "cos",          LIN_OP_COS,       1, 1,          false, false, LIN_BOUND_DTYPE,   make_float },
    { "tanh",         LIN_OP_TANH,      1, 1,          false, false, LIN_BOUND_DTYPE,   make_float },
    { "abs",          LIN_OP_ABS,       1, 1,          false, false, LIN_BOUND_DTYPE,   make_abs },
    { "min",          LIN_OP_MIN,       2, 2,          false, false, LIN_BOUND_DTYPE,   make_extreme },
    { "max",          LIN_OP_MAX,       2, 2,          false, false, LIN_BOUND_DTYPE,   make_extreme },
    { "shl",          LIN_OP_SHL,       2, 2,          false, false, LIN_BOUND_DTYPE,   make_shift },
    { "shr",          LIN_OP_SHR,       2, 2,          false, false, LIN_BOUND_DTYPE,   make_shift },
    { "select",       LIN_OP_SELECT,    3, 3,          false, false, LIN_BOUND_DTYPE,   make_select },
    { "reshape",      LIN_OP_RESHAPE,   2, 2,          false, false, LIN_BOUND_DTYPE,   lin_body_make_reshape },
    { "broadcast_to", LIN_OP_BROADCAST, 2, 2,          false, false, LIN_BOUND_DTYPE,   lin_body_make_broadcast },
    { "permute",      LIN_OP_PERMUTE,   2, 2,          false, false, LIN_BOUND_DTYPE,   lin_body_make_permute },
    { "concat",       LIN_OP_CONCAT,    2, ANY_NUMBER, false, true,  LIN_BOUND_DTYPE,   lin_body_make_concat },
    { "cumsum",       LIN_OP_CUMSUM,    1, 1,          false, true,  LIN_BOUND_DTYPE,   lin_body_make_cumsum },
    { "iota",         LIN_OP_IOTA,      1, 1,          true,  false, LIN_BOUND_NUMERIC, lin_body_make_iota },
    { "fill",         LIN_OP_FILL,      2, 2,          true,  false, LIN_BOUND_DTYPE,   lin_body_make_fill },
    { "pad",          LIN_OP_COUNT,     0, ANY_NUMBER, true,  true,  LIN_BOUND_DTYPE,   make_reserved },
    { "gather",       LIN_OP_COUNT,     0, ANY_NUMBER, true,  true,  LIN_BOUND_DTYPE,   make_reserved },
    { "scatter",      LIN_OP_COUNT,     0, ANY_NUMBER, true,  true,  LIN_BOUND_DTYPE,   make_reserved },
};
/* clang-format on */

static const prelude_row *find_row(const char *name)
{
    for (uint32_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

bool lin_body_prelude_find(const char *name)
{
    return find_row(name) != NULL;
}

/* ---- arguments ---- */

static bool take_dtype(body *b, const prelude_row *row, prelude_call *call)
{
    const ast_type_args *args = &call->e->as.call.type_args;
    lin_generic_arg arg = { .kind = LIN_GENERIC_DTYPE };
    const lin_generic generic = { .name = lin_names_add(b->c->program->names, "T", 1),
                                  .kind = LIN_GENERIC_DTYPE,
                                  .bound = row->bound };
    const lin_generics generics = { .items = &generic, .count = 1 };
    uint32_t before = lin_body_error_count(b);

    if (!args->written)
        return true;
    if (!row->takes_dtype) {
        lin_body_report(b, args->span, "E2111", "`%s` takes no generic arguments", row->name);
        return false;
    }
    call->has_dtype = lin_body_type_args(b, &generics, args, &arg) == 1;
    call->dtype = arg.dtype;
    return lin_body_error_count(b) == before;
}

static bool take_keyword(body *b, const prelude_row *row, prelude_call *call, const ast_arg *arg)
{
    if (row->takes_axis && strcmp(lin_text_of(b->c, arg->keyword.name), "axis") == 0 &&
        call->axis == NULL) {
        call->axis = arg->value;
        return true;
    }
    lin_body_report(b, arg->keyword.span, "E2102", "`%s` takes no argument `%s` here", row->name,
                    lin_text_of(b->c, arg->keyword.name));
    return false;
}

static bool take_args(body *b, const prelude_row *row, prelude_call *call)
{
    const ast_expr *e = call->e;
    bool good = true;

    call->args = LIN_NEW_ARRAY(b->c->scratch, operand, e->as.call.arg_count + 1);
    for (uint32_t i = 0; i < e->as.call.arg_count; i++) {
        const ast_arg *arg = &e->as.call.args[i];
        if (arg->keyword.name != 0) {
            good = take_keyword(b, row, call, arg) && good;
            continue;
        }
        operand o = lin_body_eval(b, arg->value, NULL);
        o.span = arg->value->span;
        good = good && !lin_body_is_error(o);
        call->args[call->count++] = o;
    }
    if (!good)
        return false;
    if (call->count < row->least || call->count > row->most) {
        lin_body_report(b, e->span, "E2102", "`%s` takes %s%u argument%s", row->name,
                        row->most == ANY_NUMBER ? "at least " : "", row->least,
                        row->least == 1 ? "" : "s");
        return false;
    }
    if (row->takes_axis && row->kind != LIN_OP_COUNT && call->axis == NULL) {
        lin_body_report(b, e->span, "E2102", "`%s` needs the keyword argument `axis`", row->name);
        return false;
    }
    return true;
}

operand lin_body_prelude(body *b, const ast_expr *e, ast_ident name, const lin_type *hint)
{
    const prelude_row *row = find_row(lin_text_of(b->c, name.name));
    prelude_call call = { .e = e, .name = row->name, .kind = row->kind, .hint = hint };

    if (row->kind == LIN_OP_COUNT)
        return row->make(b, &call);
    bool typed = take_dtype(b, row, &call);
    if (!take_args(b, row, &call) || !typed)
        return lin_body_error(e->span);
    return row->make(b, &call);
}
