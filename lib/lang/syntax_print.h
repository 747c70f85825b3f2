/* SPDX-License-Identifier: MIT */
#ifndef LIN_SYNTAX_PRINT_H
#define LIN_SYNTAX_PRINT_H

/* Inside the printer of syntax trees: what its two files share. */

#include "lang/syntax.h"

typedef struct syntax_printer {
    lin_text *out;
    const lin_names *names;
    uint32_t indent;
} syntax_printer;

void lin_print_word(syntax_printer *pr, const char *text);
void lin_print_indent(syntax_printer *pr);
/* Nothing before the first item of a list, then ", ". */
void lin_print_comma(syntax_printer *pr, uint32_t index);
void lin_print_ident(syntax_printer *pr, ast_ident ident);
void lin_print_path(syntax_printer *pr, const ast_path *path);
/* ": T", or nothing for NULL. */
void lin_print_annotation(syntax_printer *pr, const ast_type *type);
void lin_print_type(syntax_printer *pr, const ast_type *type);
void lin_print_generics(syntax_printer *pr, const ast_generics *generics);
void lin_print_expr(syntax_printer *pr, const ast_expr *e);
/* Nothing for NULL. */
void lin_print_optional(syntax_printer *pr, const ast_expr *e);
void lin_print_pattern(syntax_printer *pr, const ast_pattern *pattern);
void lin_print_for(syntax_printer *pr, const ast_for *loop);
void lin_print_body(syntax_printer *pr, const ast_stmts *body);

#endif
