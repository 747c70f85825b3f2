/* SPDX-License-Identifier: MIT */

/* Types and expressions of a syntax tree as source (syntax_print.c says what for). */

#include "lang/syntax_print.h"

#include <math.h>

void lin_print_word(syntax_printer *pr, const char *text)
{
    lin_text_add(pr->out, text);
}

void lin_print_indent(syntax_printer *pr)
{
    lin_text_fill(pr->out, ' ', (uint64_t)pr->indent * 4);
}

/* "" before the first item of a list, then ", ". */
void lin_print_comma(syntax_printer *pr, uint32_t index)
{
    if (index > 0)
        lin_print_word(pr, ", ");
}

void lin_print_ident(syntax_printer *pr, ast_ident ident)
{
    lin_print_word(pr, ident.name == 0 ? "_error_" : lin_names_text(pr->names, ident.name));
}

void lin_print_path(syntax_printer *pr, const ast_path *path)
{
    for (uint32_t i = 0; i < path->count; i++) {
        if (i > 0)
            lin_print_word(pr, ".");
        lin_print_ident(pr, path->parts[i]);
    }
}

/* ---- types ---- */

static void print_type_arg(syntax_printer *pr, const ast_type_arg *arg)
{
    if (arg->type != NULL)
        lin_print_type(pr, arg->type);
    else
        lin_print_expr(pr, arg->dim);
}

static void print_type_args(syntax_printer *pr, const ast_type_args *args)
{
    if (!args->written)
        return;
    lin_print_word(pr, "<");
    for (uint32_t i = 0; i < args->count; i++) {
        lin_print_comma(pr, i);
        print_type_arg(pr, &args->items[i]);
    }
    lin_print_word(pr, ">");
}

static void print_tensor(syntax_printer *pr, const ast_type *type)
{
    lin_print_word(pr, "Tensor[");
    for (uint32_t i = 0; i < type->axis_count; i++) {
        lin_print_comma(pr, i);
        if (type->axes[i].is_pack) {
            lin_print_word(pr, "*");
            lin_print_ident(pr, type->axes[i].pack);
        } else {
            lin_print_expr(pr, type->axes[i].dim);
        }
    }
    lin_print_word(pr, "; ");
    lin_print_type(pr, type->element);
    lin_print_word(pr, "]");
}

static void print_tuple_type(syntax_printer *pr, const ast_type *type)
{
    lin_print_word(pr, "(");
    for (uint32_t i = 0; i < type->part_count; i++) {
        lin_print_comma(pr, i);
        lin_print_type(pr, type->parts[i]);
    }
    lin_print_word(pr, ")");
}

static void print_array_type(syntax_printer *pr, const ast_type *type)
{
    lin_print_word(pr, "[");
    lin_print_type(pr, type->element);
    lin_print_word(pr, "; ");
    lin_print_expr(pr, type->length);
    lin_print_word(pr, "]");
}

void lin_print_type(syntax_printer *pr, const ast_type *type)
{
    switch (type->kind) {
    case AST_TYPE_NAMED:
        lin_print_path(pr, &type->path);
        print_type_args(pr, &type->args);
        break;
    case AST_TYPE_TENSOR:
        print_tensor(pr, type);
        break;
    case AST_TYPE_TUPLE:
        print_tuple_type(pr, type);
        break;
    case AST_TYPE_ARRAY:
        print_array_type(pr, type);
        break;
    }
    if (type->optional)
        lin_print_word(pr, "?");
}

void lin_print_annotation(syntax_printer *pr, const ast_type *type)
{
    if (type == NULL)
        return;
    lin_print_word(pr, ": ");
    lin_print_type(pr, type);
}

static const char *const kind_names[] = {
    [AST_DIM] = "Dim",         [AST_SHAPE_KIND] = "Shape", [AST_DTYPE] = "DType",
    [AST_NUMERIC] = "Numeric", [AST_INTEGER] = "Integer",  [AST_FLOAT_KIND] = "Float",
};

void lin_print_generics(syntax_printer *pr, const ast_generics *generics)
{
    if (generics->count == 0)
        return;
    lin_print_word(pr, "<");
    for (uint32_t i = 0; i < generics->count; i++) {
        const ast_generic *g = &generics->items[i];
        lin_print_comma(pr, i);
        lin_print_word(pr, g->starred ? "*" : "");
        lin_print_ident(pr, g->ident);
        lin_print_word(pr, ": ");
        lin_print_word(pr, kind_names[g->kind]);
        if (g->has_default) {
            lin_print_word(pr, " = ");
            print_type_arg(pr, &g->default_arg);
        }
    }
    lin_print_word(pr, ">");
}

/* ---- expressions ---- */

static const char *const binary_spellings[] = {
    [AST_OR] = "||",   [AST_AND] = "&&",   [AST_EQ] = "==",    [AST_NE] = "!=",
    [AST_LT] = "<",    [AST_LE] = "<=",    [AST_GT] = ">",     [AST_GE] = ">=",
    [AST_BITOR] = "|", [AST_BITXOR] = "^", [AST_BITAND] = "&", [AST_ADD] = "+",
    [AST_SUB] = "-",   [AST_MUL] = "*",    [AST_DIV] = "/",    [AST_REM] = "%",
};

static const char *const unary_spellings[] = { [AST_NOT] = "!", [AST_NEG] = "-", [AST_PLUS] = "+" };

static const char *const reduction_names[] = {
    [LIN_SUM] = "sum", [LIN_PROD] = "prod", [LIN_MAX] = "max",
    [LIN_MIN] = "min", [LIN_ANY] = "any",   [LIN_ALL] = "all",
};

static void print_list(syntax_printer *pr, const char *open, const ast_expr *e, const char *close)
{
    lin_print_word(pr, open);
    for (uint32_t i = 0; i < e->as.list.count; i++) {
        lin_print_comma(pr, i);
        lin_print_expr(pr, e->as.list.items[i]);
    }
    lin_print_word(pr, close);
}

static void print_call(syntax_printer *pr, const ast_expr *e)
{
    lin_print_expr(pr, e->as.call.callee);
    print_type_args(pr, &e->as.call.type_args);
    lin_print_word(pr, "(");
    for (uint32_t i = 0; i < e->as.call.arg_count; i++) {
        const ast_arg *arg = &e->as.call.args[i];
        lin_print_comma(pr, i);
        if (arg->keyword.name != 0) {
            lin_print_ident(pr, arg->keyword);
            lin_print_word(pr, " = ");
        }
        lin_print_expr(pr, arg->value);
    }
    lin_print_word(pr, ")");
}

void lin_print_optional(syntax_printer *pr, const ast_expr *e)
{
    if (e != NULL)
        lin_print_expr(pr, e);
}

static void print_slice(syntax_printer *pr, const ast_component *c)
{
    lin_print_optional(pr, c->start);
    lin_print_word(pr, ":");
    lin_print_optional(pr, c->stop);
    if (c->step != NULL) {
        lin_print_word(pr, ":");
        lin_print_expr(pr, c->step);
    }
}

static void print_component(syntax_printer *pr, const ast_component *c)
{
    switch (c->kind) {
    case AST_INDEX_ELLIPSIS:
        lin_print_word(pr, "...");
        break;
    case AST_INDEX_PACK:
        lin_print_word(pr, "*");
        lin_print_ident(pr, c->pack);
        break;
    case AST_INDEX_EXPR:
        lin_print_expr(pr, c->expr);
        break;
    case AST_INDEX_SLICE:
        print_slice(pr, c);
        break;
    }
}

static void print_index(syntax_printer *pr, const ast_expr *e)
{
    lin_print_expr(pr, e->as.index.base);
    lin_print_word(pr, "[");
    for (uint32_t i = 0; i < e->as.index.count; i++) {
        lin_print_comma(pr, i);
        print_component(pr, &e->as.index.components[i]);
    }
    lin_print_word(pr, "]");
}

static void print_branch(syntax_printer *pr, const ast_expr *e)
{
    lin_print_word(pr, "if ");
    lin_print_expr(pr, e->as.branch.condition);
    lin_print_word(pr, " { ");
    lin_print_expr(pr, e->as.branch.then_value);
    lin_print_word(pr, " } else { ");
    lin_print_expr(pr, e->as.branch.else_value);
    lin_print_word(pr, " }");
}

void lin_print_pattern(syntax_printer *pr, const ast_pattern *pattern)
{
    if (pattern->kind == AST_PATTERN_NAME) {
        lin_print_ident(pr, pattern->name);
        return;
    }
    lin_print_word(pr, pattern->kind == AST_PATTERN_NONE ? "none" : "");
    lin_print_word(pr, pattern->kind == AST_PATTERN_SOME ? "some" : "");
    for (uint32_t i = 0; i < pattern->part_count; i++) {
        lin_print_word(pr, i == 0 ? "(" : ", ");
        lin_print_pattern(pr, pattern->parts[i]);
    }
    lin_print_word(pr, pattern->part_count > 0 ? ")" : "");
}

static void print_match(syntax_printer *pr, const ast_expr *e)
{
    lin_print_word(pr, "match ");
    lin_print_expr(pr, e->as.match.value);
    lin_print_word(pr, " {\n");
    pr->indent++;
    for (uint32_t i = 0; i < e->as.match.count; i++) {
        lin_print_indent(pr);
        lin_print_pattern(pr, e->as.match.arms[i].pattern);
        lin_print_word(pr, " => ");
        lin_print_expr(pr, e->as.match.arms[i].value);
        lin_print_word(pr, "\n");
    }
    pr->indent--;
    lin_print_indent(pr);
    lin_print_word(pr, "}");
}

static void print_reduce(syntax_printer *pr, const ast_expr *e)
{
    lin_print_word(pr, reduction_names[e->as.reduce.reduction]);
    if (e->as.reduce.accumulator != NULL) {
        lin_print_word(pr, "<");
        lin_print_type(pr, e->as.reduce.accumulator);
        lin_print_word(pr, ">");
    }
    lin_print_word(pr, "[");
    for (uint32_t i = 0; i < e->as.reduce.count; i++) {
        lin_print_comma(pr, i);
        lin_print_ident(pr, e->as.reduce.indices[i]);
    }
    lin_print_word(pr, "] ");
    lin_print_expr(pr, e->as.reduce.body);
}

void lin_print_for(syntax_printer *pr, const ast_for *loop)
{
    lin_print_word(pr, "for ");
    lin_print_ident(pr, loop->index);
    lin_print_word(pr, " in ");
    lin_print_expr(pr, loop->start);
    lin_print_word(pr, "..");
    lin_print_expr(pr, loop->stop);
    lin_print_word(pr, " ");
    lin_print_body(pr, &loop->body);
}

static void print_int(syntax_printer *pr, const ast_expr *e)
{
    if (e->as.integer.too_large)
        lin_print_word(pr, "9223372036854775808");
    else
        lin_text_i64(pr->out, e->as.integer.value);
}

static void print_float(syntax_printer *pr, double number)
{
    if (isinf(number))
        lin_print_word(pr, "1e999");
    else
        lin_text_double(pr->out, number);
}

static void print_member(syntax_printer *pr, const ast_expr *e)
{
    lin_print_expr(pr, e->as.member.base);
    lin_print_word(pr, ".");
    lin_print_ident(pr, e->as.member.member);
}

static void print_unary(syntax_printer *pr, const ast_expr *e)
{
    lin_print_word(pr, unary_spellings[e->as.unary.op]);
    lin_print_expr(pr, e->as.unary.operand);
}

static void print_binary(syntax_printer *pr, const ast_expr *e)
{
    lin_print_expr(pr, e->as.binary.left);
    lin_text_addf(pr->out, " %s ", binary_spellings[e->as.binary.op]);
    lin_print_expr(pr, e->as.binary.right);
}

static void print_wrapped(syntax_printer *pr, const char *open, const ast_expr *inner)
{
    lin_print_word(pr, open);
    lin_print_expr(pr, inner);
    lin_print_word(pr, ")");
}

void lin_print_expr(syntax_printer *pr, const ast_expr *e)
{
    switch (e->kind) {
    case AST_ERROR:
        lin_print_word(pr, "_error_");
        break;
    case AST_INT:
        print_int(pr, e);
        break;
    case AST_FLOAT:
        print_float(pr, e->as.number);
        break;
    case AST_STRING:
        lin_print_word(pr, "\"\"");
        break;
    case AST_TRUE:
        lin_print_word(pr, "true");
        break;
    case AST_FALSE:
        lin_print_word(pr, "false");
        break;
    case AST_NONE:
        lin_print_word(pr, "none");
        break;
    case AST_NAME:
        lin_print_ident(pr, e->as.name);
        break;
    case AST_SOME:
        print_wrapped(pr, "some(", e->as.inner);
        break;
    case AST_TUPLE:
        print_list(pr, "(", e, ")");
        break;
    case AST_SHAPE:
        print_list(pr, "[", e, "]");
        break;
    case AST_PAREN:
        print_wrapped(pr, "(", e->as.inner);
        break;
    case AST_CALL:
        print_call(pr, e);
        break;
    case AST_INDEX:
        print_index(pr, e);
        break;
    case AST_MEMBER:
        print_member(pr, e);
        break;
    case AST_UNARY:
        print_unary(pr, e);
        break;
    case AST_BINARY:
        print_binary(pr, e);
        break;
    case AST_IF:
        print_branch(pr, e);
        break;
    case AST_MATCH:
        print_match(pr, e);
        break;
    case AST_REDUCE:
        print_reduce(pr, e);
        break;
    case AST_FOR:
        lin_print_for(pr, e->as.loop);
        break;
    }
}
