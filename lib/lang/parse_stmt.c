/* SPDX-License-Identifier: MIT */

/*
 * Statements and patterns (language.md 2.2). A body reads statements until its `}`. After a syntax
 * error it skips to the next token that begins a statement at its own level of braces, or gives up
 * where an item begins.
 */

#include "lang/parser.h"

static ast_stmt *new_stmt(parser *p, ast_stmt_kind kind)
{
    ast_stmt *s = lin_node(p, sizeof *s);
    s->kind = kind;
    return s;
}

/* ---- patterns ---- */

/* The parts of "(" pattern ,+ ")", from the parenthesis on; `some` has one. */
static void parse_parts(parser *p, ast_pattern *pattern, bool is_one)
{
    uint64_t list = lin_list_begin(p);
    lin_expect(p, TOKEN_OPEN_PAREN);
    do {
        ast_pattern *part = lin_parse_pattern(p);
        lin_list_add(p, &part, sizeof part);
    } while (!is_one && lin_accept(p, TOKEN_COMMA) && !lin_at(p, TOKEN_CLOSE_PAREN));
    lin_expect(p, TOKEN_CLOSE_PAREN);
    pattern->parts = lin_list_end(p, list, sizeof(ast_pattern *), &pattern->part_count);
}

/* pattern := NAME | "(" pattern ,+ ")" | "some" "(" pattern ")" | "none" */
ast_pattern *lin_parse_pattern(parser *p)
{
    ast_pattern *pattern = lin_node(p, sizeof *pattern);
    uint32_t start = p->now.start;
    lin_enter(p);
    if (lin_at(p, TOKEN_OPEN_PAREN)) {
        pattern->kind = AST_PATTERN_TUPLE;
        parse_parts(p, pattern, false);
    } else if (lin_accept(p, TOKEN_SOME)) {
        pattern->kind = AST_PATTERN_SOME;
        parse_parts(p, pattern, true);
    } else if (lin_accept(p, TOKEN_NONE)) {
        pattern->kind = AST_PATTERN_NONE;
    } else {
        pattern->kind = AST_PATTERN_NAME;
        pattern->name = lin_expect_name(p, "a name, `(`, `some` or `none`");
    }
    lin_leave(p);
    pattern->span = lin_span_from(p, start);
    return pattern;
}

/* ---- let, var, assignment ---- */

/* "let" NAME "[" ("*"? NAME) ,+ "]" "=" expr, from the name on */
static ast_stmt *parse_let_index(parser *p)
{
    ast_stmt *s = new_stmt(p, AST_LET_INDEX);
    uint64_t list = lin_list_begin(p);
    s->name = lin_expect_name(p, "a name");
    lin_advance(p);
    do {
        ast_index_name index = { .is_pack = lin_accept(p, TOKEN_STAR) };
        index.ident = lin_expect_name(p, "an index");
        lin_list_add(p, &index, sizeof index);
    } while (lin_accept(p, TOKEN_COMMA) && !lin_at(p, TOKEN_CLOSE_BRACKET));
    s->indices = lin_list_end(p, list, sizeof(ast_index_name), &s->index_count);
    lin_expect(p, TOKEN_CLOSE_BRACKET);
    lin_expect(p, TOKEN_ASSIGN);
    s->value = lin_parse_expr(p);
    return s;
}

/* (":" type)? "=" expr */
static void parse_annotated_value(parser *p, ast_stmt *s)
{
    if (lin_accept(p, TOKEN_COLON))
        s->type = lin_parse_type(p);
    lin_expect(p, TOKEN_ASSIGN);
    s->value = lin_parse_value(p);
}

/* "let" pattern (":" type)? "=" expr */
static ast_stmt *parse_let(parser *p)
{
    lin_advance(p);
    if (lin_at_name(p) && p->next.kind == TOKEN_OPEN_BRACKET)
        return parse_let_index(p);
    ast_stmt *s = new_stmt(p, AST_LET);
    s->pattern = lin_parse_pattern(p);
    parse_annotated_value(p, s);
    return s;
}

/* "var" NAME (":" type)? "=" expr */
static ast_stmt *parse_var(parser *p)
{
    ast_stmt *s = new_stmt(p, AST_VAR);
    lin_advance(p);
    s->name = lin_expect_name(p, "a name");
    parse_annotated_value(p, s);
    return s;
}

/* NAME "=" expr */
static ast_stmt *parse_assign(parser *p)
{
    ast_stmt *s = new_stmt(p, AST_ASSIGN);
    s->name = lin_expect_name(p, "a name");
    lin_advance(p);
    s->value = lin_parse_value(p);
    return s;
}

/* "return" expr?: no value when the next statement is an assignment (language.md 3.5) */
static ast_stmt *parse_return(parser *p)
{
    ast_stmt *s = new_stmt(p, AST_RETURN);
    lin_advance(p);
    bool is_assignment = lin_at_name(p) && p->next.kind == TOKEN_ASSIGN;
    if (lin_starts_expr(p->now.kind) && !is_assignment)
        s->value = lin_parse_value(p);
    return s;
}

/* ---- loops ---- */

static ast_stmts parse_nested_body(parser *p)
{
    lin_enter(p);
    ast_stmts body = lin_parse_body(p);
    lin_leave(p);
    return body;
}

/* "static" "for" pattern "in" expr (".." expr)? body */
static ast_stmt *parse_static_for(parser *p)
{
    ast_stmt *s = new_stmt(p, AST_STATIC_FOR);
    lin_advance(p);
    lin_expect(p, TOKEN_FOR);
    s->pattern = lin_parse_pattern(p);
    lin_expect(p, TOKEN_IN);
    s->value = lin_parse_expr(p);
    if (lin_accept(p, TOKEN_RANGE))
        s->stop = lin_parse_expr(p);
    s->body = parse_nested_body(p);
    return s;
}

/* "while" expr body */
static ast_stmt *parse_while(parser *p)
{
    ast_stmt *s = new_stmt(p, AST_WHILE);
    lin_advance(p);
    s->value = lin_parse_expr(p);
    s->body = parse_nested_body(p);
    return s;
}

/* for-loop := "for" NAME "in" expr ".." expr body */
ast_for *lin_parse_for(parser *p)
{
    ast_for *loop = lin_node(p, sizeof *loop);
    lin_advance(p);
    loop->index = lin_expect_name(p, "the name of the loop's index");
    lin_expect(p, TOKEN_IN);
    loop->start = lin_parse_expr(p);
    lin_expect(p, TOKEN_RANGE);
    loop->stop = lin_parse_expr(p);
    loop->body = parse_nested_body(p);
    return loop;
}

static ast_stmt *parse_for_stmt(parser *p)
{
    ast_stmt *s = new_stmt(p, AST_FOR_STMT);
    s->loop = lin_parse_for(p);
    return s;
}

static ast_stmt *parse_yield(parser *p)
{
    ast_stmt *s = new_stmt(p, AST_YIELD);
    lin_advance(p);
    s->value = lin_parse_expr(p);
    return s;
}

/* ---- the rest ---- */

static bool at_store(const parser *p)
{
    if (p->next.kind != TOKEN_OPEN_PAREN)
        return false;
    return lin_at_word(p, p->stores[0]) || lin_at_word(p, p->stores[1]) ||
           lin_at_word(p, p->stores[2]);
}

/* ("store" | "atomic_add" | "atomic_max") "(" expr "," expr ("," expr)? ")" */
static ast_stmt *parse_store(parser *p)
{
    ast_stmt *s = new_stmt(p, AST_STORE);
    s->name = lin_expect_name(p, "a name");
    lin_advance(p);
    s->extra[0] = lin_parse_expr(p);
    lin_expect(p, TOKEN_COMMA);
    s->extra[1] = lin_parse_expr(p);
    if (lin_accept(p, TOKEN_COMMA) && !lin_at(p, TOKEN_CLOSE_PAREN))
        s->extra[2] = lin_parse_expr(p);
    lin_accept(p, TOKEN_COMMA);
    lin_expect(p, TOKEN_CLOSE_PAREN);
    return s;
}

static ast_stmt *no_statement(parser *p)
{
    ast_stmt *s = new_stmt(p, AST_YIELD);
    bool is_value = lin_starts_expr(p->now.kind);
    s->value = lin_error_expr(p);
    lin_diagnostic *d = lin_unexpected(p, "a statement");
    if (is_value)
        lin_diagnostic_note(p->diagnostics, d,
                            "a value must be bound with `let` or `var`, or returned");
    return s;
}

static ast_stmt *parse_any(parser *p)
{
    switch (p->now.kind) {
    case TOKEN_LET:
        return parse_let(p);
    case TOKEN_VAR:
        return parse_var(p);
    case TOKEN_RETURN:
        return parse_return(p);
    case TOKEN_STATIC:
        return parse_static_for(p);
    case TOKEN_WHILE:
        return parse_while(p);
    case TOKEN_FOR:
        return parse_for_stmt(p);
    case TOKEN_YIELD:
        return parse_yield(p);
    default:
        break;
    }
    if (at_store(p))
        return parse_store(p);
    if (lin_at_name(p) && p->next.kind == TOKEN_ASSIGN)
        return parse_assign(p);
    return no_statement(p);
}

static ast_stmt *parse_statement(parser *p)
{
    uint32_t start = p->now.start;
    p->deepest = p->depth;
    ast_stmt *s = parse_any(p);
    s->span = lin_span_from(p, start);
    return s;
}

/* ---- bodies and recovery ---- */

static bool starts_statement(const parser *p, uint32_t nest)
{
    switch (p->now.kind) {
    case TOKEN_LET:
    case TOKEN_VAR:
    case TOKEN_RETURN:
    case TOKEN_STATIC:
    case TOKEN_WHILE:
    case TOKEN_YIELD:
        return true;
    default:
        return lin_at_name(p) && p->next.kind == TOKEN_ASSIGN && p->nest <= nest;
    }
}

/* Skips to where a body at this level of brackets can read on. Giving up there is no finding of
 * its own. */
static void recover(parser *p, uint32_t braces, uint32_t nest)
{
    lin_resume(p);
    while (!lin_at(p, TOKEN_END) && !lin_at_item(p)) {
        bool is_level = p->braces <= braces;
        if (is_level && (lin_at(p, TOKEN_CLOSE_BRACE) || starts_statement(p, nest)))
            break;
        lin_advance(p);
    }
    p->nest = nest;
    if (lin_at(p, TOKEN_END) || lin_at_item(p))
        p->last_error = p->now.start + 1;
}

/* body := "{" statement* "}" */
ast_stmts lin_parse_body(parser *p)
{
    ast_stmts body = { 0 };
    lin_expect(p, TOKEN_OPEN_BRACE);
    uint32_t braces = p->braces, nest = p->nest;
    uint64_t list = lin_list_begin(p);
    while (!lin_is_stopped(p) && !lin_at(p, TOKEN_CLOSE_BRACE) && !lin_at(p, TOKEN_END) &&
           !lin_at_item(p)) {
        ast_stmt *s = parse_statement(p);
        lin_list_add(p, &s, sizeof s);
        if (lin_is_stopped(p))
            recover(p, braces, nest);
    }
    body.items = lin_list_end(p, list, sizeof(ast_stmt *), &body.count);
    body.end = lin_span_now(p);
    if (!lin_is_stopped(p) && !lin_at(p, TOKEN_CLOSE_BRACE)) {
        p->braces = braces - (braces > 0);
        lin_unexpected(p, "a statement or `}`");
    }
    lin_accept(p, TOKEN_CLOSE_BRACE);
    return body;
}
