/* SPDX-License-Identifier: MIT */

/*
 * A syntax tree as source, for tests: parse, print, parse, print gives equal prints. Parentheses
 * are nodes, so precedence needs no care. What the tree does not keep prints as a stand-in: the
 * text of strings, the results and launch sizes of kernels, nodes of syntax errors.
 */

#include "lang/syntax_print.h"

/* ---- statements ---- */

static void print_let_index(syntax_printer *pr, const ast_stmt *s)
{
    lin_print_word(pr, "let ");
    lin_print_ident(pr, s->name);
    lin_print_word(pr, "[");
    for (uint32_t i = 0; i < s->index_count; i++) {
        lin_print_comma(pr, i);
        lin_print_word(pr, s->indices[i].is_pack ? "*" : "");
        lin_print_ident(pr, s->indices[i].ident);
    }
    lin_print_word(pr, "] = ");
    lin_print_expr(pr, s->value);
}

static void print_binding(syntax_printer *pr, const ast_stmt *s)
{
    if (s->kind == AST_LET) {
        lin_print_word(pr, "let ");
        lin_print_pattern(pr, s->pattern);
    } else {
        lin_print_word(pr, s->kind == AST_VAR ? "var " : "");
        lin_print_ident(pr, s->name);
    }
    lin_print_annotation(pr, s->type);
    lin_print_word(pr, " = ");
    lin_print_expr(pr, s->value);
}

static void print_static_for(syntax_printer *pr, const ast_stmt *s)
{
    lin_print_word(pr, "static for ");
    lin_print_pattern(pr, s->pattern);
    lin_print_word(pr, " in ");
    lin_print_expr(pr, s->value);
    if (s->stop != NULL) {
        lin_print_word(pr, "..");
        lin_print_expr(pr, s->stop);
    }
    lin_print_word(pr, " ");
    lin_print_body(pr, &s->body);
}

static void print_store(syntax_printer *pr, const ast_stmt *s)
{
    lin_print_ident(pr, s->name);
    for (uint32_t i = 0; i < ARRAY_LEN(s->extra) && s->extra[i] != NULL; i++) {
        lin_print_word(pr, i == 0 ? "(" : ", ");
        lin_print_expr(pr, s->extra[i]);
    }
    lin_print_word(pr, ")");
}

static void print_stmt(syntax_printer *pr, const ast_stmt *s)
{
    switch (s->kind) {
    case AST_LET_INDEX:
        print_let_index(pr, s);
        break;
    case AST_LET:
    case AST_VAR:
    case AST_ASSIGN:
        print_binding(pr, s);
        break;
    case AST_RETURN:
        lin_print_word(pr, s->value != NULL ? "return " : "return");
        lin_print_optional(pr, s->value);
        break;
    case AST_STATIC_FOR:
        print_static_for(pr, s);
        break;
    case AST_WHILE:
        lin_print_word(pr, "while ");
        lin_print_expr(pr, s->value);
        lin_print_word(pr, " ");
        lin_print_body(pr, &s->body);
        break;
    case AST_FOR_STMT:
        lin_print_for(pr, s->loop);
        break;
    case AST_YIELD:
        lin_print_word(pr, "yield ");
        lin_print_expr(pr, s->value);
        break;
    case AST_STORE:
        print_store(pr, s);
        break;
    }
}

void lin_print_body(syntax_printer *pr, const ast_stmts *body)
{
    lin_print_word(pr, "{\n");
    pr->indent++;
    for (uint32_t i = 0; i < body->count; i++) {
        lin_print_indent(pr);
        print_stmt(pr, body->items[i]);
        lin_print_word(pr, "\n");
    }
    pr->indent--;
    lin_print_indent(pr);
    lin_print_word(pr, "}");
}

/* ---- items ---- */

static void print_item(syntax_printer *pr, const ast_item *item);

static void print_params(syntax_printer *pr, const ast_item *item)
{
    lin_print_word(pr, "(");
    for (uint32_t i = 0; i < item->param_count; i++) {
        const ast_param *param = &item->params[i];
        lin_print_comma(pr, i);
        lin_print_ident(pr, param->ident);
        lin_print_annotation(pr, param->type);
        lin_print_word(pr, param->default_value != NULL ? " = " : "");
        lin_print_optional(pr, param->default_value);
    }
    lin_print_word(pr, ")");
}

static void print_where(syntax_printer *pr, const ast_where *where)
{
    for (uint32_t i = 0; i < where->count; i++) {
        lin_print_word(pr, i == 0 ? " where " : ", ");
        lin_print_expr(pr, where->items[i]);
    }
}

static void print_const(syntax_printer *pr, const ast_item *item)
{
    lin_print_annotation(pr, item->type);
    lin_print_word(pr, " = ");
    lin_print_expr(pr, item->value);
}

static void print_alias(syntax_printer *pr, const ast_item *item)
{
    lin_print_generics(pr, &item->generics);
    lin_print_word(pr, " = ");
    lin_print_type(pr, item->type);
}

static void print_struct(syntax_printer *pr, const ast_item *item)
{
    lin_print_generics(pr, &item->generics);
    lin_print_word(pr, " {\n");
    for (uint32_t i = 0; i < item->param_count; i++) {
        pr->indent++;
        lin_print_indent(pr);
        pr->indent--;
        lin_print_ident(pr, item->params[i].ident);
        lin_print_annotation(pr, item->params[i].type);
        lin_print_word(pr, "\n");
    }
    lin_print_indent(pr);
    lin_print_word(pr, "}");
}

static void print_enum(syntax_printer *pr, const ast_item *item)
{
    lin_print_generics(pr, &item->generics);
    lin_print_word(pr, " { ");
    for (uint32_t i = 0; i < item->variant_count; i++) {
        lin_print_comma(pr, i);
        lin_print_ident(pr, item->variants[i]);
    }
    lin_print_word(pr, " }");
}

static void print_function(syntax_printer *pr, const ast_item *item)
{
    lin_print_generics(pr, &item->generics);
    print_params(pr, item);
    if (item->type != NULL) {
        lin_print_word(pr, " -> ");
        lin_print_type(pr, item->type);
    }
    if (item->has_kernel_use) {
        lin_print_word(pr, " kernel ");
        lin_print_ident(pr, item->kernel);
    }
    print_where(pr, &item->where);
    lin_print_word(pr, " ");
    lin_print_body(pr, &item->body);
    if (item->grad.present) {
        lin_print_word(pr, " grad(");
        lin_print_ident(pr, item->grad.y);
        lin_print_word(pr, ", ");
        lin_print_ident(pr, item->grad.dy);
        lin_print_word(pr, ") ");
        lin_print_body(pr, &item->grad.body);
    }
}

static void print_kernel(syntax_printer *pr, const ast_item *item)
{
    lin_print_generics(pr, &item->generics);
    print_params(pr, item);
    lin_print_word(pr, " -> out: f32 grid(1)");
    print_where(pr, &item->where);
    lin_print_word(pr, " ");
    lin_print_body(pr, &item->body);
}

static void print_block_member(syntax_printer *pr, const ast_member *member)
{
    static const char *const words[] = {
        [LIN_MEMBER_PARAM] = "param ",
        [LIN_MEMBER_BUFFER] = "buffer ",
        [LIN_MEMBER_STATE] = "state ",
        [LIN_MEMBER_SUB] = "sub ",
    };
    lin_print_indent(pr);
    lin_print_word(pr, words[member->kind]);
    lin_print_ident(pr, member->ident);
    lin_print_annotation(pr, member->type);
    lin_print_word(pr, member->default_value != NULL ? " = " : "");
    lin_print_optional(pr, member->default_value);
    lin_print_word(pr, "\n");
}

static void print_block(syntax_printer *pr, const ast_item *item)
{
    lin_print_generics(pr, &item->generics);
    print_where(pr, &item->where);
    lin_print_word(pr, " {\n");
    pr->indent++;
    for (uint32_t i = 0; i < item->member_count; i++)
        print_block_member(pr, &item->members[i]);
    for (uint32_t i = 0; i < item->item_count; i++)
        print_item(pr, item->items[i]);
    pr->indent--;
    lin_print_indent(pr);
    lin_print_word(pr, "}");
}

static const char *item_word(const ast_item *item)
{
    switch (item->kind) {
    case AST_CONST:
        return "const ";
    case AST_ALIAS:
        return "type ";
    case AST_STRUCT:
        return "struct ";
    case AST_ENUM:
        return "enum ";
    case AST_KERNEL:
        return "kernel ";
    case AST_BLOCK:
        return "block ";
    case AST_FUNCTION:
        break;
    }
    if (item->function_kind == LIN_FUNCTION_OP)
        return "op ";
    return item->function_kind == LIN_FUNCTION_FN ? "fn " : "entry ";
}

static void print_item(syntax_printer *pr, const ast_item *item)
{
    static void (*const printers[])(syntax_printer *, const ast_item *) = {
        [AST_CONST] = print_const, [AST_ALIAS] = print_alias,       [AST_STRUCT] = print_struct,
        [AST_ENUM] = print_enum,   [AST_FUNCTION] = print_function, [AST_KERNEL] = print_kernel,
        [AST_BLOCK] = print_block,
    };
    lin_print_indent(pr);
    lin_print_word(pr, item->is_public ? "pub " : "");
    lin_print_word(pr, item_word(item));
    lin_print_ident(pr, item->ident);
    printers[item->kind](pr, item);
    lin_print_word(pr, "\n");
}

static void print_use(syntax_printer *pr, const ast_use *use)
{
    lin_print_word(pr, "use ");
    lin_print_path(pr, &use->path);
    lin_print_word(pr, use->whole_module ? "" : "::{");
    for (uint32_t i = 0; i < use->import_count; i++) {
        const ast_import *import = &use->imports[i];
        lin_print_comma(pr, i);
        lin_print_ident(pr, import->item);
        if (import->alias.name != import->item.name) {
            lin_print_word(pr, " as ");
            lin_print_ident(pr, import->alias);
        }
    }
    lin_print_word(pr, use->whole_module ? "\n" : "}\n");
}

void lin_syntax_print(lin_text *out, const lin_names *names, const ast_file *file)
{
    syntax_printer pr = { out, names, 0 };
    if (file->module.count > 0) {
        lin_print_word(&pr, "module ");
        lin_print_path(&pr, &file->module);
        lin_print_word(&pr, "\n");
    }
    for (uint32_t i = 0; i < file->use_count; i++)
        print_use(&pr, &file->uses[i]);
    for (uint32_t i = 0; i < file->item_count; i++)
        print_item(&pr, file->items[i]);
}
