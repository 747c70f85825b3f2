/* SPDX-License-Identifier: MIT */

/*
 * Types, type arguments and generic parameters (language.md 2.4).
 *
 * A type argument is a type when it parses as one and a `,` or `>` follows, else arithmetic; both
 * begin alike, so the type is tried first, in speculation. Type arguments that were tried leave a
 * memo at their `<`: later speculations jump over them, and a `<` that begins none is not tried
 * again.
 */

#include "lang/parser.h"

/* path := NAME ("." NAME)* */
ast_path lin_parse_path(parser *p, const char *what)
{
    ast_path path = { 0 };
    uint32_t start = p->now.start;
    uint64_t list = lin_list_begin(p);
    do {
        ast_ident part = lin_expect_name(p, what);
        lin_list_add(p, &part, sizeof part);
        what = "a name";
    } while (lin_accept(p, TOKEN_DOT));
    path.parts = lin_list_end(p, list, sizeof(ast_ident), &path.count);
    path.span = lin_span_from(p, start);
    return path;
}

/* type-name := path type-args? */
static void parse_named(parser *p, ast_type *type)
{
    type->kind = AST_TYPE_NAMED;
    type->path = lin_parse_path(p, "a type");
    if (lin_at(p, TOKEN_LESS))
        type->args = lin_parse_type_args(p);
}

static ast_axis parse_axis(parser *p)
{
    ast_axis axis = { 0 };
    uint32_t start = p->now.start;
    axis.is_pack = lin_accept(p, TOKEN_STAR);
    if (axis.is_pack)
        axis.pack = lin_expect_name(p, "the name of a shape pack");
    else
        axis.dim = lin_parse_expr(p);
    axis.span = lin_span_from(p, start);
    return axis;
}

/* ( "*" NAME | expr ) ,+ */
static void parse_axes(parser *p, ast_type *type)
{
    uint64_t list = lin_list_begin(p);
    if (lin_at(p, TOKEN_SEMICOLON)) {
        lin_diagnostic *d = lin_complain(p, "E1103", "a tensor has at least one dimension");
        lin_diagnostic_help(p->diagnostics, d, "write the element type alone for a scalar");
        return;
    }
    do {
        ast_axis axis = parse_axis(p);
        lin_list_add(p, &axis, sizeof axis);
    } while (lin_accept(p, TOKEN_COMMA) && !lin_at(p, TOKEN_SEMICOLON));
    type->axes = lin_list_end(p, list, sizeof(ast_axis), &type->axis_count);
}

/* "Tensor" "[" axes ";" type-name "]" */
static void parse_tensor(parser *p, ast_type *type)
{
    lin_advance(p);
    lin_expect(p, TOKEN_OPEN_BRACKET);
    parse_axes(p, type);
    lin_expect(p, TOKEN_SEMICOLON);
    uint32_t start = p->now.start;
    ast_type *element = lin_node(p, sizeof *element);
    parse_named(p, element);
    element->span = lin_span_from(p, start);
    type->kind = AST_TYPE_TENSOR;
    type->element = element;
    type->path = element->path;
    lin_expect(p, TOKEN_CLOSE_BRACKET);
}

/* "(" type "," type ,+ ")" */
static void parse_tuple(parser *p, ast_type *type)
{
    uint64_t list = lin_list_begin(p);
    lin_advance(p);
    ast_type *part = lin_parse_type(p);
    lin_list_add(p, &part, sizeof part);
    lin_expect(p, TOKEN_COMMA);
    do {
        part = lin_parse_type(p);
        lin_list_add(p, &part, sizeof part);
    } while (lin_accept(p, TOKEN_COMMA) && !lin_at(p, TOKEN_CLOSE_PAREN));
    lin_expect(p, TOKEN_CLOSE_PAREN);
    type->kind = AST_TYPE_TUPLE;
    type->parts = lin_list_end(p, list, sizeof part, &type->part_count);
}

/* "[" type ";" expr "]" */
static void parse_array(parser *p, ast_type *type)
{
    lin_advance(p);
    ast_type *element = lin_parse_type(p);
    lin_expect(p, TOKEN_SEMICOLON);
    ast_expr *length = lin_parse_expr(p);
    lin_expect(p, TOKEN_CLOSE_BRACKET);
    type->kind = AST_TYPE_ARRAY;
    type->element = element;
    type->length = length;
}

static void parse_bracketed(parser *p, ast_type *type)
{
    lin_enter(p);
    if (lin_at(p, TOKEN_OPEN_PAREN))
        parse_tuple(p, type);
    else if (lin_at(p, TOKEN_OPEN_BRACKET))
        parse_array(p, type);
    else
        parse_tensor(p, type);
    lin_leave(p);
}

/* type := base "?"? */
ast_type *lin_parse_type(parser *p)
{
    ast_type *type = lin_node(p, sizeof *type);
    uint32_t start = p->now.start;
    bool is_tensor = lin_at_word(p, p->tensor) && p->next.kind == TOKEN_OPEN_BRACKET;
    if (is_tensor || lin_at(p, TOKEN_OPEN_PAREN) || lin_at(p, TOKEN_OPEN_BRACKET))
        parse_bracketed(p, type);
    else
        parse_named(p, type);
    type->optional = lin_accept(p, TOKEN_QUESTION);
    type->span = lin_span_from(p, start);
    return type;
}

/* ---- type arguments ---- */

static bool ends_type_arg(token_kind kind)
{
    return kind == TOKEN_COMMA || kind == TOKEN_GREATER;
}

/* Whether a type argument at the cursor is a type. In a speculation around it the cursor is then
 * already behind the type. One that nests too deeply counts as a type, to be reported as such. */
static bool try_type(parser *p)
{
    if (!lin_at_name(p) && !lin_at(p, TOKEN_OPEN_PAREN) && !lin_at(p, TOKEN_OPEN_BRACKET))
        return false;
    cursor_mark mark = lin_speculate(p);
    p->too_deep = false;
    lin_parse_type(p);
    bool is_type = ends_type_arg(p->now.kind) || p->too_deep;
    if (is_type && p->speculating > 1)
        p->speculating--;
    else
        lin_go_back(p, &mark);
    return is_type;
}

/* type-or-dim := type (when followed by "," or ">") | arithmetic */
static ast_type_arg type_or_dim(parser *p)
{
    ast_type_arg arg = { 0 };
    uint32_t start = p->now.start;
    bool is_bare_name = lin_at_name(p) && ends_type_arg(p->next.kind);
    if (!is_bare_name && !try_type(p))
        arg.dim = lin_parse_arithmetic(p);
    else if (!is_bare_name && p->speculating > 0)
        arg.type = p->dummy;
    else
        arg.type = lin_parse_type(p);
    arg.span = lin_span_from(p, start);
    return arg;
}

/* type-args := "<" type-or-dim ,+ ">" */
static ast_type_args read_type_args(parser *p, bool *is_accumulator)
{
    ast_type_args args = { .written = true };
    uint32_t start = p->now.start, read = 0;
    uint64_t list = lin_list_begin(p);
    lin_advance(p);
    lin_enter(p);
    do {
        ast_type_arg arg = type_or_dim(p);
        lin_list_add(p, &arg, sizeof arg);
        *is_accumulator = ++read == 1 && arg.type != NULL;
    } while (lin_accept(p, TOKEN_COMMA) && !lin_at(p, TOKEN_GREATER));
    lin_leave(p);
    lin_expect(p, TOKEN_GREATER);
    args.items = lin_list_end(p, list, sizeof(ast_type_arg), &args.count);
    args.span = lin_span_from(p, start);
    return args;
}

ast_type_args lin_parse_type_args(parser *p)
{
    uint32_t at = p->now.start;
    bool is_accumulator = false;
    const type_args_memo *known = p->speculating > 0 ? lin_memo_find(p, at) : NULL;
    if (known != NULL) {
        p->too_deep |= known->too_deep;
        if (known->end == 0)
            lin_stop(p);
        else
            lin_jump(p, known);
        return (ast_type_args){ .written = true };
    }

    ast_type_args args = read_type_args(p, &is_accumulator);
    if (p->speculating > 0) {
        lin_memo_add(p, (type_args_memo){ .offset = at,
                                          .end = lin_is_stopped(p) ? 0 : p->end,
                                          .next = p->now.kind,
                                          .is_accumulator = is_accumulator,
                                          .too_deep = lin_is_stopped(p) && p->too_deep });
    }
    return args;
}

/* ---- generic parameters ---- */

/* kind := "Dim" | "Shape" | "DType" | "Numeric" | "Integer" | "Float" */
static void parse_kind(parser *p, ast_generic *generic)
{
    generic->kind_span = lin_span_now(p);
    for (uint32_t i = 0; i < ARRAY_LEN(p->kinds); i++) {
        if (!lin_at_word(p, p->kinds[i]))
            continue;
        generic->kind = (ast_generic_kind)i;
        if ((generic->kind == AST_SHAPE_KIND) != generic->starred) {
            lin_diagnostic *d = lin_complain(p, "E1101",
                                             generic->starred ? "only a `Shape` generic has a `*`"
                                                              : "a `Shape` generic needs a `*`");
            lin_diagnostic_help(p->diagnostics, d, "write `%s%s: %s`", generic->starred ? "" : "*",
                                lin_names_text(p->names, generic->ident.name),
                                lin_names_text(p->names, p->kinds[i]));
        }
        lin_advance(p);
        return;
    }
    lin_unexpected(p, "`Dim`, `Shape`, `DType`, `Numeric`, `Integer` or `Float`");
}

/* "*"? NAME ":" kind ("=" type-or-dim)? */
static ast_generic parse_generic(parser *p)
{
    ast_generic generic = { 0 };
    generic.starred = lin_accept(p, TOKEN_STAR);
    generic.ident = lin_expect_name(p, "a generic's name");
    lin_expect(p, TOKEN_COLON);
    parse_kind(p, &generic);
    generic.has_default = lin_accept(p, TOKEN_ASSIGN);
    if (generic.has_default)
        generic.default_arg = type_or_dim(p);
    return generic;
}

/* generics := "<" generic ,+ ">" */
ast_generics lin_parse_generics(parser *p)
{
    ast_generics generics = { 0 };
    uint64_t list = lin_list_begin(p);
    if (!lin_accept(p, TOKEN_LESS))
        return generics;
    do {
        ast_generic generic = parse_generic(p);
        lin_list_add(p, &generic, sizeof generic);
    } while (lin_accept(p, TOKEN_COMMA) && !lin_at(p, TOKEN_GREATER));
    lin_expect(p, TOKEN_GREATER);
    generics.items = lin_list_end(p, list, sizeof(ast_generic), &generics.count);
    return generics;
}
