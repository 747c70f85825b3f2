/* SPDX-License-Identifier: MIT */
/*
 * Dimensions as they are written in declarations (language.md 6.1): literals, Dim generics,
 * unannotated integer constants, + - * / %, min, max; and the comparisons of where clauses. The
 * syntax tree is at most 256 deep, so recursion is bounded.
 */

#include "lang/check.h"

#include <string.h>

lin_expr lin_dim_not_constant(checker *c, lin_span span)
{
    lin_report(c, span, "E2123", "a compile-time integer is needed here");
    return LIN_EXPR_INVALID;
}

static lin_expr wrong_kind(checker *c, ast_ident ident, const char *is)
{
    lin_report(c, ident.span, "E1208", "`%s` is %s, not a dimension", lin_text_of(c, ident.name),
               is);
    return LIN_EXPR_INVALID;
}

static bool is_member(const scope *s, lin_name name)
{
    for (uint32_t i = 0; s->block != NULL && i < s->block->item->member_count; i++)
        if (s->block->item->members[i].ident.name == name)
            return true;
    return false;
}

static lin_expr dim_of_generic(checker *c, const lin_generic *generic, ast_ident ident)
{
    switch (generic->kind) {
    case LIN_GENERIC_DIM:
        return lin_expr_of_symbol(c->program->dims, generic->symbol);
    case LIN_GENERIC_SHAPE:
        return wrong_kind(c, ident, "a shape pack");
    case LIN_GENERIC_DTYPE:
        break;
    }
    return wrong_kind(c, ident, "a dtype");
}

static lin_expr dim_of_decl(checker *c, decl *d, ast_ident ident)
{
    if (d->kind == LIN_DECL_CONST)
        return lin_constant_dim(c, d, ident.span);
    return wrong_kind(c, ident, d->kind == LIN_DECL_MODULE ? "a module" : "an item");
}

lin_expr lin_dim_of_name(checker *c, const scope *s, ast_ident ident)
{
    lin_expr value = LIN_EXPR_INVALID;
    if (ident.name == 0)
        return value;
    if (s->local != NULL) {
        local_kind kind = s->local(s->local_user, ident.name, &value);
        if (kind != LOCAL_NONE)
            return kind == LOCAL_DIM ? value : lin_dim_not_constant(c, ident.span);
    }
    const lin_generic *generic = lin_find_generic(s, ident.name);
    if (generic != NULL)
        return dim_of_generic(c, generic, ident);
    if (is_member(s, ident.name))
        return lin_dim_not_constant(c, ident.span);
    decl *d = lin_find_item(c, s, ident.name);
    if (d != NULL)
        return dim_of_decl(c, d, ident);
    if (lin_is_prelude_name(c, ident.name))
        return wrong_kind(c, ident, "a word of the language");
    lin_report_undeclared(c, s, ident);
    return LIN_EXPR_INVALID;
}

/* `module.CONSTANT` */
static lin_expr dim_of_member(checker *c, const scope *s, const ast_expr *e)
{
    const ast_expr *base = e->as.member.base;
    if (base->kind == AST_ERROR)
        return LIN_EXPR_INVALID;
    if (base->kind != AST_NAME)
        return lin_dim_not_constant(c, e->span);
    const ast_ident parts[] = { base->as.name, e->as.member.member };
    const ast_path path = { .parts = parts, .count = 2, .span = e->span };
    if (lin_find_generic(s, parts[0].name) != NULL || is_member(s, parts[0].name))
        return lin_dim_not_constant(c, e->span);
    decl *first = lin_find_item(c, s, parts[0].name);
    if (first != NULL && first->kind != LIN_DECL_MODULE)
        return lin_dim_not_constant(c, e->span);
    decl *d = lin_find_path(c, s, &path);
    return d == NULL ? LIN_EXPR_INVALID : dim_of_decl(c, d, parts[1]);
}

static lin_expr combine(checker *c, const ast_expr *e, ast_binary_op op, lin_expr left,
                        lin_expr right)
{
    lin_expr_table *dims = c->program->dims;
    switch (op) {
    case AST_ADD:
        return lin_expr_add(dims, left, right);
    case AST_SUB:
        return lin_expr_sub(dims, left, right);
    case AST_MUL:
        return lin_expr_mul(dims, left, right);
    default:
        break;
    }
    if (!lin_solver_positive(c->solver, right)) {
        lin_diagnostic *d =
            lin_report(c, e->span, "E2205", "the divisor `%s` is not provably positive",
                       lin_dim_text(c, right));
        lin_help(c, d, "add `where %s > 0`", lin_dim_text(c, right));
        return LIN_EXPR_INVALID;
    }
    return op == AST_DIV ? lin_expr_floordiv(dims, left, right) : lin_expr_mod(dims, left, right);
}

lin_expr lin_dim_arithmetic(checker *c, const ast_expr *e, ast_binary_op op, lin_expr left,
                            lin_expr right)
{
    if (left == LIN_EXPR_INVALID || right == LIN_EXPR_INVALID)
        return LIN_EXPR_INVALID;
    uint32_t errors = c->diagnostics->error_count;
    lin_expr value = combine(c, e, op, left, right);
    if (value == LIN_EXPR_INVALID && errors == c->diagnostics->error_count)
        lin_report(c, e->span, "E2123", "this compile-time integer does not fit in 64 bits");
    return value;
}

static lin_expr dim_of_binary(checker *c, const scope *s, const ast_expr *e)
{
    switch (e->as.binary.op) {
    case AST_ADD:
    case AST_SUB:
    case AST_MUL:
    case AST_DIV:
    case AST_REM:
        break;
    default:
        return lin_dim_not_constant(c, e->span);
    }
    lin_expr left = lin_raw_dim(c, s, e->as.binary.left);
    lin_expr right = lin_raw_dim(c, s, e->as.binary.right);
    return lin_dim_arithmetic(c, e, e->as.binary.op, left, right);
}

/* min(a, b), max(a, b) */
static lin_expr dim_of_call(checker *c, const scope *s, const ast_expr *e)
{
    const ast_expr *callee = e->as.call.callee;
    if (callee->kind == AST_ERROR)
        return LIN_EXPR_INVALID;
    const char *name = callee->kind == AST_NAME ? lin_text_of(c, callee->as.name.name) : "";
    bool is_min = strcmp(name, "min") == 0;
    if ((!is_min && strcmp(name, "max") != 0) || e->as.call.type_args.written)
        return lin_dim_not_constant(c, e->span);
    const ast_arg *args = e->as.call.args;
    if (e->as.call.arg_count != 2 || args[0].keyword.name != 0 || args[1].keyword.name != 0) {
        lin_report(c, e->span, "E2102", "`%s` takes two arguments", name);
        return LIN_EXPR_INVALID;
    }
    lin_expr left = lin_raw_dim(c, s, args[0].value), right = lin_raw_dim(c, s, args[1].value);
    lin_expr_table *dims = c->program->dims;
    return is_min ? lin_expr_min(dims, left, right) : lin_expr_max(dims, left, right);
}

lin_expr lin_raw_dim(checker *c, const scope *s, const ast_expr *e)
{
    switch (e->kind) {
    case AST_ERROR:
        return LIN_EXPR_INVALID;
    case AST_INT:
        if (!e->as.integer.too_large)
            return lin_expr_int(c->program->dims, e->as.integer.value);
        lin_report(c, e->span, "E2105", "this integer does not fit in 64 bits");
        return LIN_EXPR_INVALID;
    case AST_NAME:
        return lin_dim_of_name(c, s, e->as.name);
    case AST_PAREN:
        return lin_raw_dim(c, s, e->as.inner);
    case AST_UNARY: {
        if (e->as.unary.op == AST_NOT)
            return lin_dim_not_constant(c, e->span);
        lin_expr operand = lin_raw_dim(c, s, e->as.unary.operand);
        return e->as.unary.op == AST_PLUS
                   ? operand
                   : lin_dim_arithmetic(c, e, AST_SUB, lin_expr_int(c->program->dims, 0), operand);
    }
    case AST_BINARY:
        return dim_of_binary(c, s, e);
    case AST_CALL:
        return dim_of_call(c, s, e);
    case AST_MEMBER:
        return dim_of_member(c, s, e);
    default:
        return lin_dim_not_constant(c, e->span);
    }
}

lin_expr lin_resolve_dim(checker *c, const scope *s, const ast_expr *e)
{
    lin_expr value = lin_raw_dim(c, s, e);
    if (value != LIN_EXPR_INVALID && lin_solver_negative(c->solver, value)) {
        lin_report(c, e->span, "E2208", "this dimension is negative: `%s`", lin_dim_text(c, value));
        return LIN_EXPR_INVALID;
    }
    return value;
}

/* ---- where ---- */

static bool comparison_of(ast_binary_op op, lin_comparison *out)
{
    switch (op) {
    case AST_EQ:
        *out = LIN_EQ;
        return true;
    case AST_NE:
        *out = LIN_NE;
        return true;
    case AST_LT:
        *out = LIN_LT;
        return true;
    case AST_LE:
        *out = LIN_LE;
        return true;
    case AST_GT:
        *out = LIN_GT;
        return true;
    case AST_GE:
        *out = LIN_GE;
        return true;
    default:
        return false;
    }
}

/* Of one `where`: all are assumed in each method of a block and proven at each use. */
enum { MAX_CONSTRAINTS = 128 };

lin_constraints lin_resolve_where(checker *c, const scope *s, const ast_where *where)
{
    uint32_t count = 0, written = where->count;
    if (written > MAX_CONSTRAINTS) {
        lin_report(c, where->items[MAX_CONSTRAINTS]->span, "E1101",
                   "more than %d comparisons in one `where` clause", MAX_CONSTRAINTS);
        written = MAX_CONSTRAINTS;
    }
    lin_constraint *items = LIN_NEW_ARRAY(c->arena, lin_constraint, written);
    for (uint32_t i = 0; i < written; i++) {
        const ast_expr *e = where->items[i];
        lin_constraint fact = { .span = e->span };
        if (e->kind == AST_ERROR)
            continue;
        if (e->kind != AST_BINARY || !comparison_of(e->as.binary.op, &fact.comparison)) {
            lin_diagnostic *d =
                lin_report(c, e->span, "E1101", "a `where` clause lists comparisons");
            if (e->kind == AST_PAREN)
                lin_help(c, d, "leave the parentheses out");
            continue;
        }
        fact.left = lin_raw_dim(c, s, e->as.binary.left);
        fact.right = lin_raw_dim(c, s, e->as.binary.right);
        if (fact.left == LIN_EXPR_INVALID || fact.right == LIN_EXPR_INVALID)
            continue;
        items[count++] = fact;
        lin_solver_assume(c->solver, fact.comparison, fact.left, fact.right);
    }
    return (lin_constraints){ .items = items, .count = count };
}

static void assume_all(checker *c, const lin_constraints *constraints)
{
    for (uint32_t i = 0; i < constraints->count; i++)
        lin_solver_assume(c->solver, constraints->items[i].comparison, constraints->items[i].left,
                          constraints->items[i].right);
}

void lin_assume_constraints(checker *c, const lin_block *block, const lin_function *function)
{
    lin_solver_clear(c->solver);
    if (block != NULL)
        assume_all(c, &block->constraints);
    if (function != NULL)
        assume_all(c, &function->constraints);
}
