/* SPDX-License-Identifier: MIT */

/*
 * Literals and coercion. A compile-time integer, a float literal, `none`, and tuples of these have
 * no value until their context names a type: then the constants are emitted. Known numbers fold; a
 * float literal in which a symbolic dimension takes part is kept as a tree and computed in the
 * dtype it adopts. Cost: linear in the literal.
 */

#include "lang/body.h"

/* ---- making ---- */

bool lin_body_is_literal(const lin_type *type)
{
    return type->kind == LIN_TYPE_DIM || type->kind == LIN_TYPE_FLOAT;
}

operand lin_body_dim(body *b, lin_expr value, lin_span span)
{
    if (value == LIN_EXPR_INVALID)
        return lin_body_error(span);
    return lin_body_operand(lin_dim_type(b->c, value), LIN_NO_VALUE, span);
}

operand lin_body_float(body *b, double number, lin_span span)
{
    return lin_body_operand(lin_float_type(b->c, true, number), LIN_NO_VALUE, span);
}

static operand int_value(body *b, int64_t number, lin_dtype_term dtype, lin_span span)
{
    lin_op *op;
    operand o =
        lin_body_emit_one(b, LIN_OP_CONST_INT, span, NULL, 0, lin_scalar_type(b->c, dtype), &op);
    op->as.integer = number;
    return o;
}

static bool known_number(body *b, operand o, double *out)
{
    int64_t integer;
    if (o.type->kind == LIN_TYPE_FLOAT && o.type->has_number) {
        *out = o.type->number;
        return true;
    }
    if (o.type->kind == LIN_TYPE_DIM &&
        lin_expr_is_int(b->c->program->dims, o.type->dim, &integer)) {
        *out = (double)integer;
        return true;
    }
    return false;
}

static bool fold_two(lin_op_kind kind, double x, double y, double *out)
{
    switch (kind) {
    case LIN_OP_ADD:
        *out = x + y;
        return true;
    case LIN_OP_SUB:
        *out = x - y;
        return true;
    case LIN_OP_MUL:
        *out = x * y;
        return true;
    case LIN_OP_DIV:
        *out = x / y;
        return true;
    case LIN_OP_MIN:
        *out = x < y ? x : y;
        return true;
    case LIN_OP_MAX:
        *out = x > y ? x : y;
        return true;
    default:
        return false;
    }
}

static const literal *literal_tree(body *b, operand o)
{
    if (o.literal != NULL)
        return o.literal;
    literal *leaf = LIN_NEW(b->c->scratch, literal);
    if (o.type->kind == LIN_TYPE_DIM) {
        leaf->kind = LIN_OP_CONST_DIM;
        leaf->dim = o.type->dim;
    } else {
        leaf->kind = LIN_OP_CONST_FLOAT;
        leaf->number = o.type->number;
    }
    return leaf;
}

operand lin_body_literal_of(body *b, lin_op_kind kind, operand left, const operand *right,
                            lin_span span)
{
    double x = 0, y = 0, folded;
    bool known = known_number(b, left, &x) && (right == NULL || known_number(b, *right, &y));

    if (known && right == NULL && kind == LIN_OP_NEG)
        return lin_body_float(b, -x, span);
    if (known && right != NULL && fold_two(kind, x, y, &folded))
        return lin_body_float(b, folded, span);

    literal *tree = LIN_NEW(b->c->scratch, literal);
    tree->kind = kind;
    tree->left = literal_tree(b, left);
    tree->right = right == NULL ? NULL : literal_tree(b, *right);
    operand o = lin_body_operand(lin_float_type(b->c, false, 0), LIN_NO_VALUE, span);
    o.literal = tree;
    return o;
}

/* ---- ranges ---- */

static bool integer_fits(int64_t number, lin_dtype dtype)
{
    if (dtype == LIN_DTYPE_U64)
        return number >= 0;
    if (dtype == LIN_DTYPE_I64)
        return true;
    bool is_unsigned = dtype == LIN_DTYPE_U8 || dtype == LIN_DTYPE_U16 || dtype == LIN_DTYPE_U32;
    int64_t span = INT64_C(1) << (8 * lin_dtype_bytes(dtype));
    int64_t least = is_unsigned ? 0 : -(span / 2);
    return number >= least && number - least < span;
}

/* The largest finite values: (2 - 2^-p) * 2^emax. */
static double largest(lin_dtype dtype)
{
    switch (dtype) {
    case LIN_DTYPE_F16:
        return 65504.0;
    case LIN_DTYPE_BF16:
        return 0x1.fep127;
    case LIN_DTYPE_F32:
        return 0x1.fffffep127;
    default:
        return 0x1.fffffffffffffp1023;
    }
}

static bool float_fits(double number, lin_dtype_term dtype)
{
    double bound =
        lin_dtype_is_concrete(dtype) ? largest((lin_dtype)dtype) : largest(LIN_DTYPE_F64);
    return number >= -bound && number <= bound;
}

/* ---- values of literals ---- */

static operand float_value(body *b, double number, lin_dtype_term dtype, lin_span span)
{
    lin_op *op;
    if (!float_fits(number, dtype)) {
        lin_body_report(b, span, "E2105", "literal is out of range for `%s`",
                        lin_dtype_text(b->c, dtype));
        return lin_body_error(span);
    }
    operand o =
        lin_body_emit_one(b, LIN_OP_CONST_FLOAT, span, NULL, 0, lin_scalar_type(b->c, dtype), &op);
    op->as.number = number;
    return o;
}

static operand dim_value(body *b, lin_expr dim, lin_dtype_term dtype, lin_span span)
{
    int64_t number;
    lin_op *op;

    if (lin_expr_is_int(b->c->program->dims, dim, &number)) {
        if (lin_dtype_is_float(b->c, dtype))
            return float_value(b, (double)number, dtype, span);
        if (lin_dtype_is_concrete(dtype) && !integer_fits(number, (lin_dtype)dtype)) {
            lin_body_report(b, span, "E2105", "literal is out of range for `%s`",
                            lin_dtype_text(b->c, dtype));
            return lin_body_error(span);
        }
        return int_value(b, number, dtype, span);
    }
    operand o =
        lin_body_emit_one(b, LIN_OP_CONST_DIM, span, NULL, 0, lin_scalar_type(b->c, dtype), &op);
    op->as.dim = dim;
    return o;
}

static operand tree_value(body *b, const literal *tree, lin_dtype_term dtype, lin_span span)
{
    operand parts[2];
    if (tree->kind == LIN_OP_CONST_DIM)
        return dim_value(b, tree->dim, dtype, span);
    if (tree->kind == LIN_OP_CONST_FLOAT)
        return float_value(b, tree->number, dtype, span);
    parts[0] = tree_value(b, tree->left, dtype, span);
    if (tree->right != NULL)
        parts[1] = tree_value(b, tree->right, dtype, span);
    return lin_body_emit_one(b, tree->kind, span, parts, tree->right == NULL ? 1 : 2,
                             lin_scalar_type(b->c, dtype), NULL);
}

static bool adopts(const body *b, const lin_type *type, lin_dtype_term dtype)
{
    return type->kind == LIN_TYPE_DIM ? lin_dtype_is_numeric(b->c, dtype)
                                      : lin_dtype_is_float(b->c, dtype);
}

operand lin_body_adopt(body *b, operand o, lin_dtype_term dtype)
{
    if (!adopts(b, o.type, dtype)) {
        lin_body_report(b, o.span, "E2104", "%s cannot be a `%s`",
                        o.type->kind == LIN_TYPE_DIM ? "an integer" : "a float literal",
                        lin_dtype_text(b->c, dtype));
        return lin_body_error(o.span);
    }
    if (o.type->kind == LIN_TYPE_DIM)
        return dim_value(b, o.type->dim, dtype, o.span);
    return o.literal != NULL ? tree_value(b, o.literal, dtype, o.span)
                             : float_value(b, o.type->number, dtype, o.span);
}

/* ---- joining ---- */

static const lin_type *join_parts(body *b, const lin_type *left, const lin_type *right)
{
    if (left->part_count != right->part_count)
        return NULL;
    const lin_type **parts = LIN_NEW_ARRAY(b->c->scratch, const lin_type *, left->part_count);
    for (uint32_t i = 0; i < left->part_count; i++) {
        parts[i] = lin_body_join(b, left->parts[i], right->parts[i]);
        if (parts[i] == NULL)
            return NULL;
    }
    return left->kind == LIN_TYPE_OPTIONAL ? lin_optional_type(b->c, parts[0])
                                           : lin_tuple_type(b->c, parts, left->part_count);
}

const lin_type *lin_body_join(body *b, const lin_type *left, const lin_type *right)
{
    if (left->kind == LIN_TYPE_ERROR || right->kind == LIN_TYPE_ERROR)
        return &lin_error_type;
    if (lin_body_is_literal(left) && lin_body_is_literal(right))
        return left->kind == LIN_TYPE_FLOAT ? left : right;
    if (lin_body_is_literal(left) && right->kind == LIN_TYPE_SCALAR)
        return adopts(b, left, right->dtype) ? right : NULL;
    if (lin_body_is_literal(right) && left->kind == LIN_TYPE_SCALAR)
        return adopts(b, right, left->dtype) ? left : NULL;
    if (left->kind == LIN_TYPE_NONE &&
        (right->kind == LIN_TYPE_OPTIONAL || right->kind == LIN_TYPE_NONE))
        return right;
    if (right->kind == LIN_TYPE_NONE && left->kind == LIN_TYPE_OPTIONAL)
        return left;
    if (left->kind == right->kind &&
        (left->kind == LIN_TYPE_OPTIONAL || left->kind == LIN_TYPE_TUPLE))
        return join_parts(b, left, right);
    return lin_types_equal(b->c, left, right) ? left : NULL;
}

const lin_type *lin_body_concrete(body *b, const lin_type *type, const lin_type *hint)
{
    if (lin_body_is_literal(type)) {
        if (hint != NULL && hint->kind == LIN_TYPE_SCALAR && adopts(b, type, hint->dtype))
            return hint;
        return lin_scalar_type(b->c, type->kind == LIN_TYPE_DIM ? LIN_DTYPE_I64 : LIN_DTYPE_F64);
    }
    if (type->kind == LIN_TYPE_NONE)
        return hint != NULL && hint->kind == LIN_TYPE_OPTIONAL ? hint : type;
    if (type->kind != LIN_TYPE_OPTIONAL && type->kind != LIN_TYPE_TUPLE)
        return type;

    bool follow = hint != NULL && hint->kind == type->kind && hint->part_count == type->part_count;
    const lin_type **parts = LIN_NEW_ARRAY(b->c->scratch, const lin_type *, type->part_count);
    bool same = true;
    for (uint32_t i = 0; i < type->part_count; i++) {
        parts[i] = lin_body_concrete(b, type->parts[i], follow ? hint->parts[i] : NULL);
        same = same && parts[i] == type->parts[i];
    }
    if (same)
        return type;
    return type->kind == LIN_TYPE_OPTIONAL ? lin_optional_type(b->c, parts[0])
                                           : lin_tuple_type(b->c, parts, type->part_count);
}

/* ---- coercion ---- */

/* What differs, in the order of language.md 7.3: dtypes, shapes, types. */
static const char *mismatch_code(const lin_type *want, const lin_type *have)
{
    if (have->kind == LIN_TYPE_NONE)
        return "E2113";
    if (want->kind == LIN_TYPE_TENSOR && have->kind == LIN_TYPE_TENSOR)
        return want->dtype != have->dtype ? "E2103" : "E2202";
    return "E2101";
}

void lin_body_mismatch(body *b, lin_span span, const char *code, const lin_type *want,
                       const lin_type *have)
{
    if (want->kind == LIN_TYPE_ERROR || have->kind == LIN_TYPE_ERROR)
        return;
    lin_diagnostic *d = lin_body_report(b, span, code != NULL ? code : mismatch_code(want, have),
                                        "expected `%s`, found `%s`", lin_type_text(b->c, want),
                                        lin_type_text(b->c, have));
    if (want->kind == LIN_TYPE_OPTIONAL && lin_types_equal(b->c, want->parts[0], have))
        lin_help(b->c, d, "wrap the value in some(...)");
}

static operand make_aggregate(body *b, operand o, const lin_type *type, const operand *parts)
{
    for (uint32_t i = 0; i < type->part_count; i++)
        if (lin_body_is_error(parts[i]))
            return lin_body_error(o.span);
    return lin_body_emit_one(
        b, type->kind == LIN_TYPE_OPTIONAL ? LIN_OP_OPTION_SOME : LIN_OP_TUPLE_MAKE, o.span, parts,
        type->part_count, type, NULL);
}

static operand coerce_parts(body *b, operand o, const lin_type *want, const char *code)
{
    operand *parts = LIN_NEW_ARRAY(b->c->scratch, operand, want->part_count);
    for (uint32_t i = 0; i < want->part_count; i++)
        parts[i] = lin_body_coerce(b, o.parts[i], want->parts[i], code);
    return make_aggregate(b, o, want, parts);
}

operand lin_body_coerce(body *b, operand o, const lin_type *want, const char *code)
{
    const lin_type *have = o.type;
    if (have->kind == LIN_TYPE_ERROR || want->kind == LIN_TYPE_ERROR)
        return lin_body_error(o.span);
    if (lin_body_is_literal(have) && want->kind == LIN_TYPE_SCALAR &&
        (code == NULL || adopts(b, have, want->dtype)))
        return lin_body_adopt(b, o, want->dtype);
    if (have->kind == LIN_TYPE_NONE && want->kind == LIN_TYPE_OPTIONAL)
        return lin_body_emit_one(b, LIN_OP_OPTION_NONE, o.span, NULL, 0, want, NULL);
    if (o.parts != NULL && have->kind == want->kind && have->part_count == want->part_count)
        return coerce_parts(b, o, want, code);
    if (o.parts == NULL && !lin_body_is_literal(have) && lin_types_equal(b->c, want, have)) {
        o.type = want;
        return o;
    }
    lin_body_mismatch(b, o.span, code, want, have);
    return lin_body_error(o.span);
}

operand lin_body_settle(body *b, operand o, bool keep_dims)
{
    switch (o.type->kind) {
    case LIN_TYPE_DIM:
        if (keep_dims && !lin_expr_is_int(b->c->program->dims, o.type->dim, NULL))
            return o;
        return dim_value(b, o.type->dim, LIN_DTYPE_I64, o.span);
    case LIN_TYPE_FLOAT:
        return lin_body_adopt(b, o, LIN_DTYPE_F64);
    case LIN_TYPE_NONE:
        lin_body_report(b, o.span, "E2113", "`none` needs an optional type from its context");
        return lin_body_error(o.span);
    case LIN_TYPE_SHAPE:
        lin_body_report(b, o.span, "E2101", "a bracketed list is no value: it names a shape");
        return lin_body_error(o.span);
    default:
        break;
    }
    if (o.parts == NULL)
        return o;

    operand *parts = LIN_NEW_ARRAY(b->c->scratch, operand, o.type->part_count);
    const lin_type **types = LIN_NEW_ARRAY(b->c->scratch, const lin_type *, o.type->part_count);
    for (uint32_t i = 0; i < o.type->part_count; i++) {
        parts[i] = lin_body_settle(b, o.parts[i], false);
        types[i] = parts[i].type;
        if (lin_body_is_error(parts[i]))
            return lin_body_error(o.span);
    }
    const lin_type *type = o.type->kind == LIN_TYPE_OPTIONAL
                               ? lin_optional_type(b->c, types[0])
                               : lin_tuple_type(b->c, types, o.type->part_count);
    return make_aggregate(b, o, type, parts);
}
