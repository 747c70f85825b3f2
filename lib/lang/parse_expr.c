/* SPDX-License-Identifier: MIT */

/*
 * Expressions (language.md 2.3). Binary operators climb a table of levels; suffixes are a loop.
 * What an expression begins with is read in parse_primary.c.
 */

#include "lang/parser.h"

/* Left-associative, the loosest first; 0 is no operator. */
typedef struct binary_rule {
    uint32_t level;
    ast_binary_op op;
} binary_rule;

enum { LOOSEST = 1, ARITHMETIC = 8 };

/* clang-format off */
static const binary_rule binary_rules[TOKEN_COUNT] = {
    [TOKEN_OR]            = { 1, AST_OR },
    [TOKEN_AND]           = { 2, AST_AND },
    [TOKEN_EQUAL]         = { 3, AST_EQ },
    [TOKEN_NOT_EQUAL]     = { 3, AST_NE },
    [TOKEN_LESS]          = { 4, AST_LT },
    [TOKEN_LESS_EQUAL]    = { 4, AST_LE },
    [TOKEN_GREATER]       = { 4, AST_GT },
    [TOKEN_GREATER_EQUAL] = { 4, AST_GE },
    [TOKEN_BAR]           = { 5, AST_BITOR },
    [TOKEN_CARET]         = { 6, AST_BITXOR },
    [TOKEN_AMPERSAND]     = { 7, AST_BITAND },
    [TOKEN_PLUS]          = { 8, AST_ADD },
    [TOKEN_MINUS]         = { 8, AST_SUB },
    [TOKEN_STAR]          = { 9, AST_MUL },
    [TOKEN_SLASH]         = { 9, AST_DIV },
    [TOKEN_PERCENT]       = { 9, AST_REM },
};
/* clang-format on */

ast_expr *lin_new_expr(parser *p, ast_expr_kind kind)
{
    ast_expr *e = lin_node(p, sizeof *e);
    e->kind = kind;
    return e;
}

ast_expr *lin_error_expr(parser *p)
{
    ast_expr *e = lin_new_expr(p, AST_ERROR);
    e->span = lin_span_now(p);
    return e;
}

bool lin_starts_expr(token_kind kind)
{
    switch (kind) {
    case TOKEN_NAME:
    case TOKEN_RESERVED:
    case TOKEN_INTEGER:
    case TOKEN_FLOAT:
    case TOKEN_STRING:
    case TOKEN_TRUE:
    case TOKEN_FALSE:
    case TOKEN_NONE:
    case TOKEN_SOME:
    case TOKEN_IF:
    case TOKEN_MATCH:
    case TOKEN_FOR:
    case TOKEN_OPEN_PAREN:
    case TOKEN_OPEN_BRACKET:
    case TOKEN_BANG:
    case TOKEN_MINUS:
    case TOKEN_PLUS:
        return true;
    default:
        return false;
    }
}

/* An expression inside another one. */
ast_expr *lin_parse_inner(parser *p)
{
    lin_enter(p);
    ast_expr *e = lin_parse_expr(p);
    lin_leave(p);
    return e;
}

/* ---- suffixes ---- */

/* arg := ( NAME "=" )? expr */
static ast_arg parse_arg(parser *p)
{
    ast_arg arg = { 0 };
    if (lin_at_name(p) && p->next.kind == TOKEN_ASSIGN) {
        arg.keyword = lin_expect_name(p, "a keyword");
        lin_advance(p);
    }
    arg.value = lin_parse_inner(p);
    return arg;
}

/* type-args? "(" arg ,* ")" */
static ast_expr *parse_call(parser *p, ast_expr *callee, uint32_t start)
{
    ast_type_args type_args = { 0 };
    uint32_t count;
    if (lin_at(p, TOKEN_LESS))
        type_args = lin_parse_type_args(p);
    lin_span open = lin_span_now(p);
    lin_expect(p, TOKEN_OPEN_PAREN);
    uint64_t list = lin_list_begin(p);
    while (!lin_at(p, TOKEN_CLOSE_PAREN)) {
        ast_arg arg = parse_arg(p);
        lin_list_add(p, &arg, sizeof arg);
        if (!lin_accept(p, TOKEN_COMMA))
            break;
    }
    const ast_arg *args = lin_list_end(p, list, sizeof *args, &count);
    lin_expect(p, TOKEN_CLOSE_PAREN);
    ast_expr *e = lin_new_expr(p, AST_CALL);
    e->as.call.callee = callee;
    e->as.call.type_args = type_args;
    e->as.call.args = args;
    e->as.call.arg_count = count;
    e->as.call.open = open;
    e->span = lin_span_from(p, start);
    return e;
}

static bool ends_slice_part(const parser *p)
{
    return lin_at(p, TOKEN_COLON) || lin_at(p, TOKEN_COMMA) || lin_at(p, TOKEN_CLOSE_BRACKET);
}

static ast_expr *parse_slice_part(parser *p)
{
    return ends_slice_part(p) ? NULL : lin_parse_inner(p);
}

/* The rest of a slice, at its first colon. */
static void parse_slice(parser *p, ast_component *component)
{
    component->kind = AST_INDEX_SLICE;
    component->start = component->expr;
    component->expr = NULL;
    if (lin_accept(p, TOKEN_DOUBLE_COLON)) {
        component->step = parse_slice_part(p);
        return;
    }
    lin_advance(p);
    component->stop = parse_slice_part(p);
    if (lin_accept(p, TOKEN_COLON))
        component->step = parse_slice_part(p);
}

/* index := "..." | "*" NAME | expr | expr? ":" expr? ( ":" expr? )? */
static ast_component parse_component(parser *p)
{
    ast_component component = { 0 };
    uint32_t start = p->now.start;
    if (lin_accept(p, TOKEN_ELLIPSIS)) {
        component.kind = AST_INDEX_ELLIPSIS;
    } else if (lin_accept(p, TOKEN_STAR)) {
        component.kind = AST_INDEX_PACK;
        component.pack = lin_expect_name(p, "the name of a pack index");
    } else {
        component.kind = AST_INDEX_EXPR;
        if (!lin_at(p, TOKEN_COLON) && !lin_at(p, TOKEN_DOUBLE_COLON))
            component.expr = lin_parse_inner(p);
        if (lin_at(p, TOKEN_COLON) || lin_at(p, TOKEN_DOUBLE_COLON))
            parse_slice(p, &component);
    }
    component.span = lin_span_from(p, start);
    return component;
}

/* "[" index ,+ "]" */
static ast_expr *parse_index(parser *p, ast_expr *base, uint32_t start)
{
    uint32_t count;
    uint64_t list = lin_list_begin(p);
    lin_advance(p);
    do {
        ast_component component = parse_component(p);
        lin_list_add(p, &component, sizeof component);
    } while (lin_accept(p, TOKEN_COMMA) && !lin_at(p, TOKEN_CLOSE_BRACKET));
    const ast_component *components = lin_list_end(p, list, sizeof *components, &count);
    lin_expect(p, TOKEN_CLOSE_BRACKET);
    ast_expr *e = lin_new_expr(p, AST_INDEX);
    e->as.index.base = base;
    e->as.index.components = components;
    e->as.index.count = count;
    e->span = lin_span_from(p, start);
    return e;
}

/* "." NAME */
static ast_expr *parse_member(parser *p, ast_expr *base, uint32_t start)
{
    lin_advance(p);
    ast_ident member = lin_expect_name(p, "a member's name");
    ast_expr *e = lin_new_expr(p, AST_MEMBER);
    e->as.member.base = base;
    e->as.member.member = member;
    e->span = lin_span_from(p, start);
    return e;
}

/* postfix := primary ( call | "[" index ,+ "]" | "." NAME )* */
static ast_expr *parse_postfix(parser *p)
{
    lin_reduction reduction;
    uint32_t start = p->now.start, outer = p->deepest;
    bool is_path = lin_at_name(p) && !lin_is_reduction(p, &reduction);
    p->deepest = p->depth;
    ast_expr *e = lin_parse_primary(p);
    for (;;) {
        bool is_call = lin_at(p, TOKEN_OPEN_PAREN) ||
                       (is_path && lin_at(p, TOKEN_LESS) && lin_is_generic_call(p));
        if (!is_call && !lin_at(p, TOKEN_OPEN_BRACKET) && !lin_at(p, TOKEN_DOT))
            break;
        if (!lin_deepen(p))
            break;
        is_path = is_path && lin_at(p, TOKEN_DOT);
        if (is_call)
            e = parse_call(p, e, start);
        else if (lin_at(p, TOKEN_DOT))
            e = parse_member(p, e, start);
        else
            e = parse_index(p, e, start);
    }
    if (p->deepest < outer)
        p->deepest = outer;
    return e;
}

/* ---- operators ---- */

/* unary := ("!" | "-" | "+")? postfix */
static ast_expr *parse_unary(parser *p)
{
    ast_unary_op op = AST_NOT;
    if (lin_at(p, TOKEN_MINUS))
        op = AST_NEG;
    else if (lin_at(p, TOKEN_PLUS))
        op = AST_PLUS;
    else if (!lin_at(p, TOKEN_BANG))
        return parse_postfix(p);
    uint32_t start = p->now.start;
    lin_advance(p);
    lin_enter(p);
    ast_expr *operand = parse_postfix(p);
    lin_leave(p);
    ast_expr *e = lin_new_expr(p, AST_UNARY);
    e->as.unary.op = op;
    e->as.unary.operand = operand;
    e->span = lin_span_from(p, start);
    return e;
}

static ast_expr *parse_binary(parser *p, uint32_t loosest)
{
    uint32_t start = p->now.start, outer = p->deepest;
    p->deepest = p->depth;
    ast_expr *left = parse_unary(p);
    for (;;) {
        binary_rule rule = binary_rules[p->now.kind];
        if (rule.level < loosest || !lin_deepen(p))
            break;
        lin_span op_span = lin_span_now(p);
        lin_advance(p);
        lin_enter(p);
        ast_expr *right = parse_binary(p, rule.level + 1);
        lin_leave(p);
        ast_expr *e = lin_new_expr(p, AST_BINARY);
        e->as.binary.op = rule.op;
        e->as.binary.op_span = op_span;
        e->as.binary.left = left;
        e->as.binary.right = right;
        e->span = lin_span_from(p, start);
        left = e;
    }
    if (p->deepest < outer)
        p->deepest = outer;
    return left;
}

ast_expr *lin_parse_arithmetic(parser *p)
{
    return parse_binary(p, ARITHMETIC);
}

/* ---- if and match ---- */

static ast_expr *parse_branch(parser *p)
{
    lin_expect(p, TOKEN_OPEN_BRACE);
    ast_expr *value = lin_parse_inner(p);
    lin_expect(p, TOKEN_CLOSE_BRACE);
    return value;
}

/* "if" expr "{" expr "}" "else" "{" expr "}" */
static ast_expr *parse_if(parser *p)
{
    uint32_t start = p->now.start;
    lin_advance(p);
    ast_expr *condition = lin_parse_inner(p);
    ast_expr *then_value = parse_branch(p);
    lin_expect(p, TOKEN_ELSE);
    if (lin_at(p, TOKEN_IF)) {
        lin_diagnostic *d = lin_unexpected(p, "`{`");
        lin_diagnostic_help(p->diagnostics, d,
                            "there is no `else if`: write `else { if ... }` with the second `if` "
                            "inside the braces");
    }
    ast_expr *else_value = parse_branch(p);
    ast_expr *e = lin_new_expr(p, AST_IF);
    e->as.branch.condition = condition;
    e->as.branch.then_value = then_value;
    e->as.branch.else_value = else_value;
    e->span = lin_span_from(p, start);
    return e;
}

/* arm-pattern := NAME | "some" "(" pattern ")" | "none" */
static ast_arm parse_arm(parser *p)
{
    ast_arm arm = { 0 };
    if (lin_at(p, TOKEN_OPEN_PAREN)) {
        lin_diagnostic *d = lin_unexpected(p, "a name, `some` or `none`");
        lin_diagnostic_note(p->diagnostics, d,
                            "a `(` here would read as a call of the value before it");
    } else if (lin_at(p, TOKEN_COMMA)) {
        lin_diagnostic *d = lin_unexpected(p, "a name, `some` or `none`");
        lin_diagnostic_help(p->diagnostics, d, "arms have no separators: remove the comma");
    }
    arm.pattern = lin_parse_pattern(p);
    lin_expect(p, TOKEN_FAT_ARROW);
    arm.value = lin_parse_inner(p);
    return arm;
}

/* "match" expr "{" ( arm-pattern "=>" expr )+ "}" */
static ast_expr *parse_match(parser *p)
{
    uint32_t start = p->now.start, count;
    lin_advance(p);
    ast_expr *value = lin_parse_inner(p);
    lin_expect(p, TOKEN_OPEN_BRACE);
    uint64_t list = lin_list_begin(p);
    do {
        ast_arm arm = parse_arm(p);
        lin_list_add(p, &arm, sizeof arm);
    } while (!lin_at(p, TOKEN_CLOSE_BRACE) && !lin_is_stopped(p));
    const ast_arm *arms = lin_list_end(p, list, sizeof *arms, &count);
    lin_expect(p, TOKEN_CLOSE_BRACE);
    ast_expr *e = lin_new_expr(p, AST_MATCH);
    e->as.match.value = value;
    e->as.match.arms = arms;
    e->as.match.count = count;
    e->span = lin_span_from(p, start);
    return e;
}

/* expr := if | match | binary */
ast_expr *lin_parse_expr(parser *p)
{
    if (lin_at(p, TOKEN_IF))
        return parse_if(p);
    if (lin_at(p, TOKEN_MATCH))
        return parse_match(p);
    return parse_binary(p, LOOSEST);
}

/* expr | for-loop */
ast_expr *lin_parse_value(parser *p)
{
    if (!lin_at(p, TOKEN_FOR))
        return lin_parse_expr(p);
    uint32_t start = p->now.start;
    ast_for *loop = lin_parse_for(p);
    ast_expr *e = lin_new_expr(p, AST_FOR);
    e->as.loop = loop;
    e->span = lin_span_from(p, start);
    return e;
}
