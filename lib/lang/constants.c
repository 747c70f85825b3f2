/* SPDX-License-Identifier: MIT */
/*
 * Constants (language.md 8.1): the type of each, and the value of those that are compile-time
 * integers. A scalar constant is lowered again wherever it is used, in the context of that use;
 * what is done here is enough to know its type and to report what is wrong in one that nobody uses.
 * A form this page does not judge (a call, a branch) has the error type and is left to its uses.
 */

#include "lang/check.h"

#include <float.h>
#include <string.h>

static const lin_type *constant_expr(checker *c, const scope *s, const ast_expr *e);

static const lin_type *error_at(checker *c, const ast_expr *e, const char *code,
                                const char *message)
{
    lin_report(c, e->span, code, "%s", message);
    return &lin_error_type;
}

static const lin_type *dim_or_error(checker *c, lin_expr value)
{
    return value == LIN_EXPR_INVALID ? &lin_error_type : lin_dim_type(c, value);
}

static const lin_type *type_of_constant(checker *c, decl *d, ast_ident ident)
{
    if (d->kind != LIN_DECL_CONST) {
        lin_report(c, ident.span, "E1208", "`%s` is no constant", lin_text_of(c, ident.name));
        return &lin_error_type;
    }
    lin_resolve_decl_at(c, d, ident.span);
    return d->state == LIN_DECL_DONE ? d->constant.type : &lin_error_type;
}

static const lin_type *constant_name(checker *c, const scope *s, const ast_expr *e)
{
    const ast_ident ident = e->as.name;
    if (lin_find_generic(s, ident.name) != NULL)
        return dim_or_error(c, lin_dim_of_name(c, s, ident));
    decl *d = lin_find_item(c, s, ident.name);
    if (d != NULL)
        return type_of_constant(c, d, ident);
    if (ident.name != 0)
        lin_report_undeclared(c, s, ident);
    return &lin_error_type;
}

/* The item that `name` or `module.name` names, for a member's base. */
static decl *base_decl(checker *c, const scope *s, const ast_expr *base)
{
    if (base->kind == AST_NAME) {
        const ast_path path = { .parts = &base->as.name, .count = 1, .span = base->span };
        return base->as.name.name == 0 ? NULL : lin_find_path(c, s, &path);
    }
    if (base->kind == AST_MEMBER && base->as.member.base->kind == AST_NAME) {
        const ast_ident parts[] = { base->as.member.base->as.name, base->as.member.member };
        const ast_path path = { .parts = parts, .count = 2, .span = base->span };
        return lin_find_path(c, s, &path);
    }
    return NULL;
}

static const lin_type *enum_value(checker *c, decl *d, const ast_expr *e)
{
    uint32_t variant;
    const ast_ident member = e->as.member.member;
    lin_resolve_decl_at(c, d, e->span);
    if (member.name == 0)
        return &lin_error_type;
    if (!lin_variant_of(d->enumeration, member.name, &variant)) {
        lin_report(c, member.span, "E2107", "`%s` has no variant `%s`", lin_text_of(c, d->name),
                   lin_text_of(c, member.name));
        return &lin_error_type;
    }
    if (d->enumeration->generics.count > 0)
        return error_at(c, e, "E2110", "the generics of this enum are not given");
    lin_type *type = LIN_NEW(c->arena, lin_type);
    type->kind = LIN_TYPE_ENUM;
    type->enumeration = d->enumeration;
    type->args = LIN_NEW_ARRAY(c->arena, lin_generic_arg, 0);
    return type;
}

static const lin_type *constant_member(checker *c, const scope *s, const ast_expr *e)
{
    decl *d = base_decl(c, s, e->as.member.base);
    if (d == NULL)
        return &lin_error_type;
    if (d->kind == LIN_DECL_ENUM)
        return enum_value(c, d, e);
    if (d->kind != LIN_DECL_MODULE)
        return error_at(c, e, "E1208", "this is no constant");
    decl *item = lin_find_in_module(c, d->target, s, e->as.member.member);
    return item == NULL ? &lin_error_type : type_of_constant(c, item, e->as.member.member);
}

/* ---- operators ---- */

static bool is_numeric(const checker *c, const lin_type *type)
{
    return type->kind == LIN_TYPE_DIM || type->kind == LIN_TYPE_FLOAT ||
           (type->kind == LIN_TYPE_SCALAR && lin_dtype_is_numeric(c, type->dtype));
}

static bool float_value(const checker *c, const lin_type *type, double *out)
{
    int64_t integer;
    if (type->kind == LIN_TYPE_FLOAT) {
        *out = type->number;
        return type->has_number;
    }
    if (!lin_expr_is_int(c->program->dims, type->dim, &integer))
        return false;
    *out = (double)integer;
    return true;
}

static const lin_type *float_arithmetic(checker *c, ast_binary_op op, const lin_type *a,
                                        const lin_type *b)
{
    double x = 0.0, y = 0.0;
    bool known = float_value(c, a, &x) && float_value(c, b, &y);
    switch (op) {
    case AST_ADD:
        return lin_float_type(c, known, x + y);
    case AST_SUB:
        return lin_float_type(c, known, x - y);
    case AST_MUL:
        return lin_float_type(c, known, x * y);
    case AST_DIV:
        known = known && (y < 0.0 || y > 0.0);
        return lin_float_type(c, known, known ? x / y : 0.0);
    default:
        return lin_float_type(c, false, 0.0);
    }
}

static const lin_type *arithmetic(checker *c, const ast_expr *e, const lin_type *a,
                                  const lin_type *b)
{
    if (!is_numeric(c, a) || !is_numeric(c, b))
        return error_at(c, e, "E2104", "arithmetic needs numbers");
    if (a->kind == LIN_TYPE_DIM && b->kind == LIN_TYPE_DIM)
        return dim_or_error(c, lin_dim_arithmetic(c, e, e->as.binary.op, a->dim, b->dim));
    if (a->kind == LIN_TYPE_SCALAR && b->kind == LIN_TYPE_SCALAR && a->dtype != b->dtype)
        return error_at(c, e, "E2103", "the dtypes of the operands differ");
    if (a->kind == LIN_TYPE_SCALAR || b->kind == LIN_TYPE_SCALAR)
        return a->kind == LIN_TYPE_SCALAR ? a : b;
    return float_arithmetic(c, e->as.binary.op, a, b);
}

/* Only constants fold: a symbol is E2123. */
static const lin_type *bitwise(checker *c, const ast_expr *e, const lin_type *a, const lin_type *b)
{
    int64_t x, y;
    if (a->kind == LIN_TYPE_SCALAR && b->kind == LIN_TYPE_SCALAR && a->dtype == b->dtype)
        return a;
    if (a->kind != LIN_TYPE_DIM || b->kind != LIN_TYPE_DIM)
        return error_at(c, e, "E2104", "bitwise operators need integers of one dtype");
    if (!lin_expr_is_int(c->program->dims, a->dim, &x) ||
        !lin_expr_is_int(c->program->dims, b->dim, &y))
        return dim_or_error(c, lin_dim_not_constant(c, e->span));
    uint64_t left = (uint64_t)x, right = (uint64_t)y;
    uint64_t bits = e->as.binary.op == AST_BITAND  ? left & right
                    : e->as.binary.op == AST_BITOR ? left | right
                                                   : left ^ right;
    return lin_dim_type(c, lin_expr_int(c->program->dims, (int64_t)bits));
}

static const lin_type *constant_binary(checker *c, const scope *s, const ast_expr *e)
{
    const lin_type *a = constant_expr(c, s, e->as.binary.left);
    const lin_type *b = constant_expr(c, s, e->as.binary.right);
    if (a->kind == LIN_TYPE_ERROR || b->kind == LIN_TYPE_ERROR)
        return &lin_error_type;
    switch (e->as.binary.op) {
    case AST_ADD:
    case AST_SUB:
    case AST_MUL:
    case AST_DIV:
    case AST_REM:
        return arithmetic(c, e, a, b);
    case AST_BITAND:
    case AST_BITOR:
    case AST_BITXOR:
        return bitwise(c, e, a, b);
    default:
        return lin_scalar_type(c, LIN_DTYPE_BOOL);
    }
}

static const lin_type *constant_unary(checker *c, const scope *s, const ast_expr *e)
{
    const lin_type *operand = constant_expr(c, s, e->as.unary.operand);
    if (operand->kind == LIN_TYPE_ERROR)
        return operand;
    if (e->as.unary.op == AST_NOT) {
        if (operand->kind == LIN_TYPE_SCALAR && operand->dtype == LIN_DTYPE_BOOL)
            return operand;
        return error_at(c, e, "E2116", "`!` needs a `bool`");
    }
    if (!is_numeric(c, operand))
        return error_at(c, e, "E2104", "arithmetic needs numbers");
    if (e->as.unary.op == AST_PLUS || operand->kind == LIN_TYPE_SCALAR)
        return operand;
    if (operand->kind == LIN_TYPE_FLOAT)
        return lin_float_type(c, operand->has_number, -operand->number);
    lin_expr zero = lin_expr_int(c->program->dims, 0);
    return dim_or_error(c, lin_dim_arithmetic(c, e, AST_SUB, zero, operand->dim));
}

/* `min` and `max` of compile-time integers, `cast<T>`; other calls are their uses' matter. */
static const lin_type *constant_call(checker *c, const scope *s, const ast_expr *e)
{
    const ast_expr *callee = e->as.call.callee;
    const char *name = callee->kind == AST_NAME ? lin_text_of(c, callee->as.name.name) : "";
    if (strcmp(name, "cast") == 0 && e->as.call.type_args.count == 1 &&
        e->as.call.type_args.items[0].type != NULL)
        return lin_resolve_type(c, s, e->as.call.type_args.items[0].type);
    if ((strcmp(name, "min") == 0 || strcmp(name, "max") == 0) && e->as.call.arg_count == 2) {
        const lin_type *a = constant_expr(c, s, e->as.call.args[0].value);
        const lin_type *b = constant_expr(c, s, e->as.call.args[1].value);
        if (a->kind == LIN_TYPE_DIM && b->kind == LIN_TYPE_DIM)
            return dim_or_error(c, lin_raw_dim(c, s, e));
        return a->kind == LIN_TYPE_SCALAR ? a : b->kind == LIN_TYPE_SCALAR ? b : &lin_error_type;
    }
    if (callee->kind == AST_NAME && lin_find_item(c, s, callee->as.name.name) == NULL &&
        !lin_is_prelude_name(c, callee->as.name.name))
        lin_report_undeclared(c, s, callee->as.name);
    return &lin_error_type;
}

static const lin_type *constant_expr(checker *c, const scope *s, const ast_expr *e)
{
    switch (e->kind) {
    case AST_INT:
        return dim_or_error(c, lin_raw_dim(c, s, e));
    case AST_FLOAT:
        return lin_float_type(c, true, e->as.number);
    case AST_TRUE:
    case AST_FALSE:
        return lin_scalar_type(c, LIN_DTYPE_BOOL);
    case AST_STRING:
        return error_at(c, e, "E2104", "a string is no value");
    case AST_NONE:
        return error_at(c, e, "E2113", "`none` needs an optional type around it");
    case AST_NAME:
        return constant_name(c, s, e);
    case AST_MEMBER:
        return constant_member(c, s, e);
    case AST_PAREN:
        return constant_expr(c, s, e->as.inner);
    case AST_UNARY:
        return constant_unary(c, s, e);
    case AST_BINARY:
        return constant_binary(c, s, e);
    case AST_CALL:
        return constant_call(c, s, e);
    default:
        return &lin_error_type;
    }
}

/* ---- the annotation ---- */

static bool integer_fits(lin_dtype_term dtype, int64_t value)
{
    if (!lin_dtype_is_concrete(dtype) || lin_dtype_class_of((lin_dtype)dtype) != LIN_CLASS_INTEGER)
        return true;
    int64_t bits = 8 * lin_dtype_bytes((lin_dtype)dtype);
    bool is_signed = dtype >= LIN_DTYPE_I8 && dtype <= LIN_DTYPE_I64;
    if (bits == 64)
        return is_signed || value >= 0;
    int64_t low = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
    int64_t high = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    return value >= low && value <= high;
}

/* The largest finite value of each float format. */
static double largest(lin_dtype_term dtype)
{
    switch (dtype) {
    case LIN_DTYPE_F16:
        return 65504.0;
    case LIN_DTYPE_BF16:
        return 0x1.FEp127;
    case LIN_DTYPE_F32:
        return (double)FLT_MAX;
    default:
        return DBL_MAX;
    }
}

static bool literal_fits(const checker *c, const lin_type *annotation, const lin_type *value)
{
    int64_t integer;
    if (value->kind == LIN_TYPE_DIM)
        return !lin_expr_is_int(c->program->dims, value->dim, &integer) ||
               integer_fits(annotation->dtype, integer);
    return !value->has_number || (value->number <= largest(annotation->dtype) &&
                                  value->number >= -largest(annotation->dtype));
}

static bool adopts(const checker *c, const lin_type *annotation, const lin_type *value)
{
    if (annotation->kind != LIN_TYPE_SCALAR)
        return false;
    return value->kind == LIN_TYPE_DIM ? lin_dtype_is_numeric(c, annotation->dtype)
                                       : lin_dtype_is_float(c, annotation->dtype);
}

static void check_annotation(checker *c, const ast_expr *e, const lin_type *annotation,
                             const lin_type *value)
{
    if (value->kind == LIN_TYPE_ERROR || annotation->kind == LIN_TYPE_ERROR)
        return;
    bool literal = value->kind == LIN_TYPE_DIM || value->kind == LIN_TYPE_FLOAT;
    if (literal ? !adopts(c, annotation, value) : !lin_types_equal(c, annotation, value))
        lin_report(c, e->span, "E2101", "expected `%s`, found %s", lin_type_text(c, annotation),
                   lin_type_text(c, value));
    else if (literal && !literal_fits(c, annotation, value))
        lin_report(c, e->span, "E2105", "this value does not fit in `%s`",
                   lin_type_text(c, annotation));
}

/* True when the parser reported something in the arithmetic of `e`. */
static bool is_broken(const ast_expr *e)
{
    switch (e->kind) {
    case AST_ERROR:
        return true;
    case AST_PAREN:
        return is_broken(e->as.inner);
    case AST_UNARY:
        return is_broken(e->as.unary.operand);
    case AST_BINARY:
        return is_broken(e->as.binary.left) || is_broken(e->as.binary.right);
    default:
        return false;
    }
}

void lin_resolve_constant(checker *c, decl *d)
{
    const scope s = lin_scope_of(d);
    const lin_type *annotation = NULL;
    if (d->item->type != NULL) {
        annotation = lin_resolve_type(c, &s, d->item->type);
        if (annotation->kind != LIN_TYPE_SCALAR && annotation->kind != LIN_TYPE_ENUM &&
            annotation->kind != LIN_TYPE_ERROR) {
            lin_report(c, d->item->type->span, "E2101",
                       "a constant is a scalar or a value of an enum, not `%s`",
                       lin_type_text(c, annotation));
            annotation = &lin_error_type;
        }
    }
    uint32_t errors = c->diagnostics->error_count;
    const lin_type *value = constant_expr(c, &s, d->item->value);
    if (annotation != NULL) {
        check_annotation(c, d->item->value, annotation, value);
        d->constant.type = annotation;
        return;
    }
    if (value->kind == LIN_TYPE_ERROR && errors == c->diagnostics->error_count &&
        !is_broken(d->item->value))
        lin_report(c, d->item->value->span, "E2123",
                   "a constant without a type is a compile-time integer");
    d->constant.type = value;
}

lin_expr lin_constant_dim(checker *c, decl *constant, lin_span use)
{
    lin_resolve_decl_at(c, constant, use);
    if (constant->state != LIN_DECL_DONE || constant->constant.type->kind == LIN_TYPE_ERROR)
        return LIN_EXPR_INVALID;
    if (constant->constant.type->kind == LIN_TYPE_DIM)
        return constant->constant.type->dim;
    lin_diagnostic *d = lin_report(c, use, "E2123", "`%s` is no compile-time integer",
                                   lin_text_of(c, constant->name));
    if (constant->item->type != NULL)
        lin_help(c, d, "declare it without a type: `const %s = ...`",
                 lin_text_of(c, constant->name));
    return LIN_EXPR_INVALID;
}
