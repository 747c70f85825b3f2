/* SPDX-License-Identifier: MIT */

/*
 * What an expression begins with: literals, names, parentheses, shape literals, reductions.
 *
 * A `<` after a name or a dotted path is a generic call when type arguments and a `(` follow, which
 * a speculation finds out (parse_type.c); a reduction's accumulator likewise, with a `[`.
 */

#include "lang/parser.h"

/* ---- what follows a name ---- */

/* What the `<` at the cursor, or right after it, begins. */
static type_args_memo learn_type_args(parser *p)
{
    bool is_here = lin_at(p, TOKEN_LESS);
    uint32_t offset = is_here ? p->now.start : p->next.start;
    lin_memo_forget(p, offset);
    const type_args_memo *known = lin_memo_find(p, offset);
    if (known == NULL) {
        cursor_mark mark = lin_speculate(p);
        if (!is_here)
            lin_advance(p);
        lin_parse_type_args(p);
        lin_go_back(p, &mark);
        known = lin_memo_find(p, offset);
    }
    return known != NULL ? *known : (type_args_memo){ 0 };
}

bool lin_is_generic_call(parser *p)
{
    type_args_memo args = learn_type_args(p);
    return args.end != 0 && args.next == TOKEN_OPEN_PAREN;
}

/* `sum[` or `sum<T>[` of one of the six names; says which. */
bool lin_is_reduction(parser *p, lin_reduction *out)
{
    if (!lin_at(p, TOKEN_NAME) ||
        (p->next.kind != TOKEN_OPEN_BRACKET && p->next.kind != TOKEN_LESS))
        return false;
    for (uint32_t i = 0; i < ARRAY_LEN(p->reductions); i++) {
        if (p->now.name != p->reductions[i])
            continue;
        *out = (lin_reduction)i;
        if (p->next.kind == TOKEN_OPEN_BRACKET)
            return true;
        type_args_memo args = learn_type_args(p);
        return args.end != 0 && args.next == TOKEN_OPEN_BRACKET && args.is_accumulator;
    }
    return false;
}

/* reduction := word ("<" type ">")? "[" NAME ,+ "]" expr */
static ast_expr *parse_reduction(parser *p, lin_reduction reduction)
{
    ast_expr *e = lin_new_expr(p, AST_REDUCE);
    uint32_t start = p->now.start, count;
    ast_type *accumulator = NULL;
    lin_advance(p);
    if (lin_at(p, TOKEN_LESS)) {
        ast_type_args args = lin_parse_type_args(p);
        accumulator = args.count > 0 ? args.items[0].type : NULL;
    }
    lin_expect(p, TOKEN_OPEN_BRACKET);
    uint64_t list = lin_list_begin(p);
    do {
        ast_ident index = lin_expect_name(p, "an index");
        lin_list_add(p, &index, sizeof index);
    } while (lin_accept(p, TOKEN_COMMA) && !lin_at(p, TOKEN_CLOSE_BRACKET));
    const ast_ident *indices = lin_list_end(p, list, sizeof *indices, &count);
    lin_expect(p, TOKEN_CLOSE_BRACKET);
    ast_expr *body = lin_parse_inner(p);
    e->as.reduce.reduction = reduction;
    e->as.reduce.accumulator = accumulator;
    e->as.reduce.indices = indices;
    e->as.reduce.count = count;
    e->as.reduce.body = body;
    e->span = lin_span_from(p, start);
    return e;
}

/* ---- primaries ---- */

static uint32_t digit_value(char c)
{
    return c <= '9' ? (uint32_t)(c - '0') : (uint32_t)((c | 0x20) - 'a' + 10);
}

/* False past int64_t. The lexer has validated the text. */
static bool read_integer(const char *at, const char *end, int64_t *out)
{
    int64_t value = 0, base = 10;
    if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'b')) {
        base = at[1] == 'x' ? 16 : 2;
        at += 2;
    }
    for (; at < end; at++)
        if (*at != '_' && (!lin_mul_i64(value, base, &value) ||
                           !lin_add_i64(value, (int64_t)digit_value(*at), &value)))
            return false;
    *out = value;
    return true;
}

static double read_float(parser *p, const char *text, uint32_t length)
{
    char few[64];
    char *digits = length <= sizeof few ? few : lin_arena_alloc(p->arena, length);
    uint32_t count = 0;
    double value = 0.0;
    for (uint32_t i = 0; i < length; i++)
        if (text[i] != '_')
            digits[count++] = text[i];
    lin_parse_double(digits, count, &value);
    return value;
}

static ast_expr *parse_number(parser *p)
{
    token t = p->now;
    const char *text = p->file->text + t.start, *end = p->file->text + t.end;
    ast_expr *e = lin_new_expr(p, t.malformed               ? AST_ERROR
                                  : t.kind == TOKEN_INTEGER ? AST_INT
                                                            : AST_FLOAT);
    lin_advance(p);
    e->span = lin_span_at(p, t.start, t.end);
    if (t.malformed || p->speculating > 0)
        return e;
    if (t.kind == TOKEN_INTEGER)
        e->as.integer.too_large = !read_integer(text, end, &e->as.integer.value);
    else
        e->as.number = read_float(p, text, t.end - t.start);
    return e;
}

static ast_expr *parse_word(parser *p, ast_expr_kind kind)
{
    ast_expr *e = lin_new_expr(p, kind);
    e->span = lin_span_now(p);
    lin_advance(p);
    return e;
}

static ast_expr *parse_name(parser *p)
{
    ast_expr *e = lin_new_expr(p, AST_NAME);
    ast_ident name = lin_expect_name(p, "a name");
    e->as.name = name;
    e->span = name.span;
    return e;
}

/* "some" "(" expr ")" */
static ast_expr *parse_some(parser *p)
{
    ast_expr *e = lin_new_expr(p, AST_SOME);
    uint32_t start = p->now.start;
    lin_advance(p);
    lin_expect(p, TOKEN_OPEN_PAREN);
    ast_expr *inner = lin_parse_inner(p);
    lin_expect(p, TOKEN_CLOSE_PAREN);
    e->as.inner = inner;
    e->span = lin_span_from(p, start);
    return e;
}

/* "(" expr ")" | "(" expr "," expr ,+ ")" */
static ast_expr *parse_paren(parser *p)
{
    ast_expr *e = lin_new_expr(p, AST_PAREN);
    uint32_t start = p->now.start, count;
    lin_advance(p);
    ast_expr *item = lin_parse_inner(p);
    if (!lin_at(p, TOKEN_COMMA)) {
        lin_expect(p, TOKEN_CLOSE_PAREN);
        e->as.inner = item;
        e->span = lin_span_from(p, start);
        return e;
    }
    uint64_t list = lin_list_begin(p);
    lin_list_add(p, &item, sizeof item);
    lin_advance(p);
    do {
        item = lin_parse_inner(p);
        lin_list_add(p, &item, sizeof item);
    } while (lin_accept(p, TOKEN_COMMA) && !lin_at(p, TOKEN_CLOSE_PAREN));
    lin_expect(p, TOKEN_CLOSE_PAREN);
    e->kind = AST_TUPLE;
    e->as.list.items = lin_list_end(p, list, sizeof item, &count);
    e->as.list.count = count;
    e->span = lin_span_from(p, start);
    return e;
}

/* "[" expr ,* "]" */
static ast_expr *parse_shape(parser *p)
{
    ast_expr *e = lin_new_expr(p, AST_SHAPE);
    uint32_t start = p->now.start, count;
    uint64_t list = lin_list_begin(p);
    lin_advance(p);
    while (!lin_at(p, TOKEN_CLOSE_BRACKET)) {
        ast_expr *item = lin_parse_inner(p);
        lin_list_add(p, &item, sizeof item);
        if (!lin_accept(p, TOKEN_COMMA))
            break;
    }
    lin_expect(p, TOKEN_CLOSE_BRACKET);
    e->as.list.items = lin_list_end(p, list, sizeof(ast_expr *), &count);
    e->as.list.count = count;
    e->span = lin_span_from(p, start);
    return e;
}

static ast_expr *no_primary(parser *p)
{
    ast_expr *e = lin_error_expr(p);
    token_kind kind = p->now.kind;
    lin_diagnostic *d = lin_unexpected(p, "an expression");
    if (kind == TOKEN_IF || kind == TOKEN_MATCH)
        lin_diagnostic_help(p->diagnostics, d, "put the `%s` in parentheses",
                            kind == TOKEN_IF ? "if" : "match");
    else if (kind == TOKEN_FOR)
        lin_diagnostic_help(p->diagnostics, d,
                            "a `for` loop can only be the whole value of a `let`, a `var`, an "
                            "assignment or a `return`");
    return e;
}

ast_expr *lin_parse_primary(parser *p)
{
    lin_reduction reduction;
    switch (p->now.kind) {
    case TOKEN_INTEGER:
    case TOKEN_FLOAT:
        return parse_number(p);
    case TOKEN_STRING:
        return parse_word(p, AST_STRING);
    case TOKEN_TRUE:
        return parse_word(p, AST_TRUE);
    case TOKEN_FALSE:
        return parse_word(p, AST_FALSE);
    case TOKEN_NONE:
        return parse_word(p, AST_NONE);
    case TOKEN_SOME:
        return parse_some(p);
    case TOKEN_OPEN_PAREN:
        return parse_paren(p);
    case TOKEN_OPEN_BRACKET:
        return parse_shape(p);
    case TOKEN_NAME:
    case TOKEN_RESERVED:
        return lin_is_reduction(p, &reduction) ? parse_reduction(p, reduction) : parse_name(p);
    default:
        return no_primary(p);
    }
}
