/* SPDX-License-Identifier: MIT */

/*
 * Operators. Two compile-time integers give a compile-time integer, literals a float literal;
 * otherwise the operands have one dtype (literals adopt it) and their shapes broadcast from the
 * right (language.md 6.4).
 */

#include "lang/body.h"

static bool is_data(const lin_type *type)
{
    return type->kind == LIN_TYPE_SCALAR || type->kind == LIN_TYPE_TENSOR;
}

static bool dtype_fits(body *b, lin_dtype_term dtype, operand_class class)
{
    switch (class) {
    case CLASS_ANY:
        return true;
    case CLASS_NUMERIC:
        return lin_dtype_is_numeric(b->c, dtype);
    case CLASS_INTEGER:
        return lin_dtype_is_integer(b->c, dtype);
    case CLASS_FLOAT:
        return lin_dtype_is_float(b->c, dtype);
    case CLASS_BITS:
        return dtype == LIN_DTYPE_BOOL || lin_dtype_is_integer(b->c, dtype);
    }
    return false;
}

static const char *const class_words[] = {
    [CLASS_ANY] = "any dtype",
    [CLASS_NUMERIC] = "a Numeric dtype",
    [CLASS_INTEGER] = "an Integer dtype",
    [CLASS_FLOAT] = "a Float dtype",
    [CLASS_BITS] = "an Integer dtype or `bool`",
};

/* ---- dtypes ---- */

static bool unsupported(body *b, lin_span span, const char *what, const lin_type *type)
{
    if (type->kind == LIN_TYPE_NONE)
        lin_body_report(b, span, "E2113", "`none` needs an optional type from its context");
    else
        lin_body_report(b, span, "E2104", "`%s` does not work on `%s`", what,
                        lin_type_text(b->c, type));
    return false;
}

/* The dtype the typed operands have; literals alone take the hint's, else i64 or f64. */
static bool common_dtype(body *b, lin_span span, const operand *operands, uint32_t count,
                         const lin_type *hint, lin_dtype_term *out)
{
    const operand *first = NULL;
    bool any_float = false;

    for (uint32_t i = 0; i < count; i++) {
        any_float = any_float || operands[i].type->kind == LIN_TYPE_FLOAT;
        if (!is_data(operands[i].type))
            continue;
        if (first != NULL && first->type->dtype != operands[i].type->dtype) {
            lin_diagnostic *d = lin_body_report(b, span, "E2103", "dtypes do not match");
            lin_note(b->c, d, "left operand has dtype %s",
                     lin_dtype_text(b->c, first->type->dtype));
            lin_note(b->c, d, "right operand has dtype %s",
                     lin_dtype_text(b->c, operands[i].type->dtype));
            lin_help(b->c, d, "convert one side with cast<...>");
            return false;
        }
        if (first == NULL)
            first = &operands[i];
    }
    *out = any_float ? LIN_DTYPE_F64 : LIN_DTYPE_I64;
    if (first != NULL)
        *out = first->type->dtype;
    else if (hint != NULL && is_data(hint) &&
             (any_float ? lin_dtype_is_float(b->c, hint->dtype)
                        : lin_dtype_is_numeric(b->c, hint->dtype)))
        *out = hint->dtype;
    return true;
}

bool lin_body_same_dtype(body *b, lin_span span, const char *what, operand *operands,
                         uint32_t count, operand_class class, const lin_type *hint)
{
    lin_dtype_term dtype;
    for (uint32_t i = 0; i < count; i++) {
        if (lin_body_is_error(operands[i]))
            return false;
        if (!is_data(operands[i].type) && !lin_body_is_literal(operands[i].type))
            return unsupported(b, span, what, operands[i].type);
    }
    if (!common_dtype(b, span, operands, count, hint, &dtype))
        return false;
    if (!dtype_fits(b, dtype, class)) {
        lin_diagnostic *d = lin_body_report(b, span, "E2104", "`%s` does not work on dtype `%s`",
                                            what, lin_dtype_text(b->c, dtype));
        lin_note(b->c, d, "it needs %s", class_words[class]);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (lin_body_is_literal(operands[i].type))
            operands[i] = lin_body_adopt(b, operands[i], dtype);
        if (lin_body_is_error(operands[i]))
            return false;
    }
    return true;
}

/* ---- shapes ---- */

bool lin_body_axes_equal(body *b, lin_axis x, lin_axis y)
{
    if (x.is_pack || y.is_pack)
        return x.is_pack && y.is_pack && x.pack == y.pack;
    return x.dim == LIN_EXPR_INVALID || y.dim == LIN_EXPR_INVALID ||
           lin_solver_equal(b->c->solver, x.dim, y.dim);
}

static bool is_one(body *b, lin_axis axis)
{
    return !axis.is_pack &&
           lin_solver_equal(b->c->solver, axis.dim, lin_expr_int(b->c->program->dims, 1));
}

static bool merge_axis(body *b, lin_axis x, lin_axis y, lin_axis *out)
{
    if (lin_body_axes_equal(b, x, y) || is_one(b, y)) {
        *out = x;
        return true;
    }
    if (!is_one(b, x))
        return false;
    *out = y;
    return true;
}

/* `axes` of `count`, broadcast with another operand's, from the right. */
static bool merge_shape(body *b, lin_axis **axes, uint32_t *count, const lin_type *other)
{
    uint32_t longer = *count > other->axis_count ? *count : other->axis_count;
    lin_axis *merged = LIN_NEW_ARRAY(b->c->arena, lin_axis, longer);

    for (uint32_t back = 1; back <= longer; back++) {
        lin_axis *to = &merged[longer - back];
        if (back > *count)
            *to = other->axes[other->axis_count - back];
        else if (back > other->axis_count)
            *to = (*axes)[*count - back];
        else if (!merge_axis(b, (*axes)[*count - back], other->axes[other->axis_count - back], to))
            return false;
    }
    *axes = merged;
    *count = longer;
    return true;
}

const lin_type *lin_body_broadcast(body *b, lin_span span, const operand *operands, uint32_t count,
                                   lin_dtype_term dtype)
{
    lin_axis *axes = NULL;
    uint32_t axis_count = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (operands[i].type->kind != LIN_TYPE_TENSOR)
            continue;
        if (!merge_shape(b, &axes, &axis_count, operands[i].type)) {
            lin_diagnostic *d = lin_body_report(b, span, "E2207", "shapes do not broadcast");
            for (uint32_t k = 0; k <= i; k++)
                lin_note(b->c, d, "operand %u is `%s`", k + 1,
                         lin_type_text(b->c, operands[k].type));
            lin_help(b->c, d,
                     "aligned from the right, dimensions must be equal or 1; a `where` clause "
                     "can say so");
            return NULL;
        }
    }
    return lin_tensor_type(b->c, axes, axis_count, dtype);
}

/* ---- compile-time integers ---- */

static lin_expr divide(body *b, lin_op_kind kind, lin_expr x, lin_expr y, lin_span span)
{
    if (!lin_solver_positive(b->c->solver, y)) {
        lin_diagnostic *d = lin_body_report(
            b, span, "E2205", "divisor `%s` is not provably positive", lin_dim_text(b->c, y));
        lin_help(b->c, d, "add `where %s > 0`", lin_dim_text(b->c, y));
        return LIN_EXPR_INVALID;
    }
    lin_expr_table *dims = b->c->program->dims;
    return kind == LIN_OP_DIV ? lin_expr_floordiv(dims, x, y) : lin_expr_mod(dims, x, y);
}

static lin_expr fold_bits(body *b, lin_op_kind kind, int64_t x, int64_t y)
{
    uint64_t ux = (uint64_t)x, uy = (uint64_t)y, bits = 0;
    lin_expr_table *dims = b->c->program->dims;

    switch (kind) {
    case LIN_OP_BITAND:
        bits = ux & uy;
        break;
    case LIN_OP_BITOR:
        bits = ux | uy;
        break;
    case LIN_OP_BITXOR:
        bits = ux ^ uy;
        break;
    case LIN_OP_SHL:
        if (y < 0 || y > 62 || x > (INT64_MAX >> y) || x < -(INT64_MAX >> y))
            return LIN_EXPR_INVALID;
        bits = (uint64_t)(x * (INT64_C(1) << y));
        break;
    case LIN_OP_SHR: /* floor division by 2^y: arithmetic */
        if (y < 0 || y > 62)
            return LIN_EXPR_INVALID;
        return lin_expr_floordiv(dims, lin_expr_int(dims, x), lin_expr_int(dims, INT64_C(1) << y));
    default:
        return LIN_EXPR_INVALID;
    }
    return lin_expr_int(dims, (int64_t)bits);
}

operand lin_body_dim_arithmetic(body *b, lin_op_kind kind, operand left, operand right,
                                lin_span span)
{
    lin_expr_table *dims = b->c->program->dims;
    lin_expr x = left.type->dim, y = right.type->dim, value;
    int64_t cx, cy;

    switch (kind) {
    case LIN_OP_ADD:
        value = lin_expr_add(dims, x, y);
        break;
    case LIN_OP_SUB:
        value = lin_expr_sub(dims, x, y);
        break;
    case LIN_OP_MUL:
        value = lin_expr_mul(dims, x, y);
        break;
    case LIN_OP_DIV:
    case LIN_OP_REM:
        value = divide(b, kind, x, y, span);
        if (value == LIN_EXPR_INVALID)
            return lin_body_error(span);
        break;
    case LIN_OP_MIN:
        value = lin_expr_min(dims, x, y);
        break;
    case LIN_OP_MAX:
        value = lin_expr_max(dims, x, y);
        break;
    default:
        if (!lin_expr_is_int(dims, x, &cx) || !lin_expr_is_int(dims, y, &cy)) {
            lin_body_report(b, span, "E2123", "`%s` needs integer constants or runtime operands",
                            lin_op_name(kind));
            return lin_body_error(span);
        }
        value = fold_bits(b, kind, cx, cy);
        break;
    }
    if (value == LIN_EXPR_INVALID)
        lin_body_report(b, span, "E2123", "the value does not fit a 64-bit compile-time integer");
    return lin_body_dim(b, value, span);
}

/* ---- operators ---- */

typedef struct operator_row {
    const char *spelling;
    lin_op_kind kind;
    operand_class class;
    lin_comparison comparison;
} operator_row;

/* clang-format off */
static const operator_row operators[] = {
    [AST_OR]     = { "||", LIN_OP_OR,      CLASS_ANY,     LIN_EQ },
    [AST_AND]    = { "&&", LIN_OP_AND,     CLASS_ANY,     LIN_EQ },
    [AST_EQ]     = { "==", LIN_OP_COMPARE, CLASS_ANY,     LIN_EQ },
    [AST_NE]     = { "!=", LIN_OP_COMPARE, CLASS_ANY,     LIN_NE },
    [AST_LT]     = { "<",  LIN_OP_COMPARE, CLASS_NUMERIC, LIN_LT },
    [AST_LE]     = { "<=", LIN_OP_COMPARE, CLASS_NUMERIC, LIN_LE },
    [AST_GT]     = { ">",  LIN_OP_COMPARE, CLASS_NUMERIC, LIN_GT },
    [AST_GE]     = { ">=", LIN_OP_COMPARE, CLASS_NUMERIC, LIN_GE },
    [AST_BITOR]  = { "|",  LIN_OP_BITOR,   CLASS_BITS,    LIN_EQ },
    [AST_BITXOR] = { "^",  LIN_OP_BITXOR,  CLASS_BITS,    LIN_EQ },
    [AST_BITAND] = { "&",  LIN_OP_BITAND,  CLASS_BITS,    LIN_EQ },
    [AST_ADD]    = { "+",  LIN_OP_ADD,     CLASS_NUMERIC, LIN_EQ },
    [AST_SUB]    = { "-",  LIN_OP_SUB,     CLASS_NUMERIC, LIN_EQ },
    [AST_MUL]    = { "*",  LIN_OP_MUL,     CLASS_NUMERIC, LIN_EQ },
    [AST_DIV]    = { "/",  LIN_OP_DIV,     CLASS_NUMERIC, LIN_EQ },
    [AST_REM]    = { "%",  LIN_OP_REM,     CLASS_NUMERIC, LIN_EQ },
};
/* clang-format on */
_Static_assert(ARRAY_LEN(operators) == AST_REM + 1, "every operator has one row");

static bool is_bool_scalar(const lin_type *type)
{
    return type->kind == LIN_TYPE_SCALAR && type->dtype == LIN_DTYPE_BOOL;
}

static operand logical(body *b, lin_span span, const char *what, lin_op_kind kind,
                       const operand *operands, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (lin_body_is_error(operands[i]))
            return lin_body_error(span);
        if (!is_bool_scalar(operands[i].type)) {
            lin_diagnostic *d =
                lin_body_report(b, span, "E2116", "`%s` needs scalar `bool` operands", what);
            lin_note(b->c, d, "found `%s`", lin_type_text(b->c, operands[i].type));
            if (operands[i].type->kind == LIN_TYPE_TENSOR && count == 2)
                lin_help(b->c, d, "tensors of `bool` combine with `&` and `|`");
            return lin_body_error(span);
        }
    }
    return lin_body_emit_one(b, kind, span, operands, count, lin_scalar_type(b->c, LIN_DTYPE_BOOL),
                             NULL);
}

static operand compare_enums(body *b, const operator_row *row, const operand *sides, lin_span span)
{
    lin_op *op;
    if (row->class != CLASS_ANY) {
        (void)unsupported(b, span, row->spelling, sides[0].type);
        return lin_body_error(span);
    }
    if (!lin_types_equal(b->c, sides[0].type, sides[1].type)) {
        lin_body_mismatch(b, span, "E2101", sides[0].type, sides[1].type);
        return lin_body_error(span);
    }
    operand o = lin_body_emit_one(b, LIN_OP_COMPARE, span, sides, 2,
                                  lin_scalar_type(b->c, LIN_DTYPE_BOOL), &op);
    op->as.comparison = row->comparison;
    return o;
}

/* Two literals under an arithmetic operator; comparisons make values of them. */
static operand literals(body *b, const operator_row *row, operand left, operand right,
                        lin_span span)
{
    if (left.type->kind == LIN_TYPE_DIM && right.type->kind == LIN_TYPE_DIM)
        return lin_body_dim_arithmetic(b, row->kind, left, right, span);
    if (row->class == CLASS_BITS) {
        (void)unsupported(b, span, row->spelling, &(lin_type){ .kind = LIN_TYPE_FLOAT });
        return lin_body_error(span);
    }
    return lin_body_literal_of(b, row->kind, left, &right, span);
}

operand lin_body_binary(body *b, const ast_expr *e)
{
    const operator_row *row = &operators[e->as.binary.op];
    operand sides[2];
    lin_op *op;

    sides[0] = lin_body_eval(b, e->as.binary.left, NULL);
    sides[1] = lin_body_eval(b, e->as.binary.right, NULL);
    if (lin_body_is_error(sides[0]) || lin_body_is_error(sides[1]))
        return lin_body_error(e->span);
    if (row->kind == LIN_OP_AND || row->kind == LIN_OP_OR)
        return logical(b, e->span, row->spelling, row->kind, sides, 2);
    if (row->kind == LIN_OP_COMPARE && sides[0].type->kind == LIN_TYPE_ENUM)
        return compare_enums(b, row, sides, e->span);
    if (row->kind != LIN_OP_COMPARE && lin_body_is_literal(sides[0].type) &&
        lin_body_is_literal(sides[1].type))
        return literals(b, row, sides[0], sides[1], e->span);

    if (!lin_body_same_dtype(b, e->span, row->spelling, sides, 2, row->class, NULL))
        return lin_body_error(e->span);
    bool compares = row->kind == LIN_OP_COMPARE;
    const lin_type *type = lin_body_broadcast(
        b, e->span, sides, 2, compares ? (lin_dtype_term)LIN_DTYPE_BOOL : sides[0].type->dtype);
    if (type == NULL)
        return lin_body_error(e->span);
    operand o = lin_body_emit_one(b, row->kind, e->span, sides, 2, type, &op);
    if (compares)
        op->as.comparison = row->comparison;
    return o;
}

operand lin_body_unary(body *b, const ast_expr *e)
{
    operand o = lin_body_eval(b, e->as.unary.operand, NULL);
    if (lin_body_is_error(o))
        return lin_body_error(e->span);
    if (e->as.unary.op == AST_NOT)
        return logical(b, e->span, "!", LIN_OP_NOT, &o, 1);

    bool negates = e->as.unary.op == AST_NEG;
    if (lin_body_is_literal(o.type)) {
        o.span = e->span;
        if (!negates)
            return o;
        if (o.type->kind == LIN_TYPE_FLOAT)
            return lin_body_literal_of(b, LIN_OP_NEG, o, NULL, e->span);
        operand zero = lin_body_dim(b, lin_expr_int(b->c->program->dims, 0), e->span);
        return lin_body_dim_arithmetic(b, LIN_OP_SUB, zero, o, e->span);
    }
    if (!lin_body_same_dtype(b, e->span, negates ? "-" : "+", &o, 1, CLASS_NUMERIC, NULL))
        return lin_body_error(e->span);
    if (!negates)
        return o;
    return lin_body_emit_one(b, LIN_OP_NEG, e->span, &o, 1, o.type, NULL);
}
