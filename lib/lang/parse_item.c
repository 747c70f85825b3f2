/* SPDX-License-Identifier: MIT */

/*
 * Files and items (language.md 2.1). A file is a module declaration, imports and items; a block
 * holds members and items. After a syntax error the list of items skips to the next word that
 * begins one at its own level of braces.
 */

#include "lang/parser.h"

static bool is_item_word(token_kind kind)
{
    switch (kind) {
    case TOKEN_PUB:
    case TOKEN_CONST:
    case TOKEN_TYPE:
    case TOKEN_STRUCT:
    case TOKEN_ENUM:
    case TOKEN_FN:
    case TOKEN_OP:
    case TOKEN_ENTRY:
    case TOKEN_KERNEL:
    case TOKEN_BLOCK:
    case TOKEN_PARAM:
    case TOKEN_BUFFER:
    case TOKEN_STATE:
    case TOKEN_SUB:
    case TOKEN_USE:
    case TOKEN_MODULE:
    case TOKEN_EXTERN:
        return true;
    default:
        return false;
    }
}

bool lin_at_item(const parser *p)
{
    token_kind next = p->next.kind;
    bool is_word = next == TOKEN_NAME || next == TOKEN_RESERVED ||
                   (next > TOKEN_STRING && next < TOKEN_ELLIPSIS);
    return is_item_word(p->now.kind) && (is_word || lin_at(p, TOKEN_EXTERN));
}

static void recover(parser *p, uint32_t braces)
{
    lin_resume(p);
    while (!lin_at(p, TOKEN_END)) {
        bool is_level = p->braces <= braces;
        bool is_close = braces > 0 && lin_at(p, TOKEN_CLOSE_BRACE);
        if (is_level && (is_close || lin_at_item(p)))
            break;
        lin_advance(p);
    }
    p->nest = 0;
}

/* ---- imports ---- */

/* NAME ("as" NAME)? */
static ast_import parse_import(parser *p, bool may_rename)
{
    ast_import import = { .item = lin_expect_name(p, "the name of an item") };
    import.alias = import.item;
    if (may_rename && lin_accept(p, TOKEN_AS))
        import.alias = lin_expect_name(p, "a name");
    return import;
}

/* import := NAME | "{" ( NAME ("as" NAME)? ) ,* "}" */
static void parse_imports(parser *p, ast_use *use)
{
    uint64_t list = lin_list_begin(p);
    bool is_list = lin_accept(p, TOKEN_OPEN_BRACE);
    while (!is_list || !lin_at(p, TOKEN_CLOSE_BRACE)) {
        ast_import import = parse_import(p, is_list);
        lin_list_add(p, &import, sizeof import);
        if (!is_list || !lin_accept(p, TOKEN_COMMA))
            break;
    }
    use->imports = lin_list_end(p, list, sizeof(ast_import), &use->import_count);
    if (is_list)
        lin_expect(p, TOKEN_CLOSE_BRACE);
}

/* ( "crate" | NAME ), and the reserved `self` and `super` */
static ast_ident parse_use_root(parser *p, ast_use *use)
{
    ast_ident root = { .span = lin_span_now(p) };
    use->from_crate = lin_at(p, TOKEN_CRATE);
    use->is_reserved = lin_at(p, TOKEN_SELF) || lin_at(p, TOKEN_SUPER);
    if (!use->from_crate && !use->is_reserved)
        return lin_expect_name(p, "a module's path");
    if (use->is_reserved) {
        lin_diagnostic *d =
            lin_complain(p, "E1103", "imports from %s are reserved", lin_token_title(p->now.kind));
        lin_diagnostic_help(p->diagnostics, d, "begin the path with `crate` or a package");
    }
    root.name = lin_names_add(p->names, p->file->text + p->now.start, p->now.end - p->now.start);
    lin_advance(p);
    return root;
}

/* use-decl := "use" root ("." NAME)* ( "::" import )? */
static ast_use parse_use(parser *p)
{
    ast_use use = { 0 };
    uint32_t start = p->now.start;
    lin_advance(p);
    uint32_t path_start = p->now.start;
    uint64_t list = lin_list_begin(p);
    ast_ident part = parse_use_root(p, &use);
    lin_list_add(p, &part, sizeof part);
    while (lin_accept(p, TOKEN_DOT)) {
        part = lin_expect_name(p, "a name");
        lin_list_add(p, &part, sizeof part);
    }
    use.path.parts = lin_list_end(p, list, sizeof part, &use.path.count);
    use.path.span = lin_span_from(p, path_start);
    use.whole_module = !lin_accept(p, TOKEN_DOUBLE_COLON);
    if (!use.whole_module)
        parse_imports(p, &use);
    use.span = lin_span_from(p, start);
    return use;
}

/* ---- constants, aliases, structs, enums ---- */

/* "const" NAME (":" type)? "=" expr */
static void parse_const(parser *p, ast_item *item)
{
    item->kind = AST_CONST;
    item->ident = lin_expect_name(p, "the constant's name");
    if (lin_accept(p, TOKEN_COLON))
        item->type = lin_parse_type(p);
    lin_expect(p, TOKEN_ASSIGN);
    item->value = lin_parse_expr(p);
}

/* alias := "type" NAME generics? "=" type */
static void parse_alias(parser *p, ast_item *item)
{
    item->kind = AST_ALIAS;
    item->ident = lin_expect_name(p, "the alias's name");
    item->generics = lin_parse_generics(p);
    lin_expect(p, TOKEN_ASSIGN);
    item->type = lin_parse_type(p);
}

/* A comma between two fields is reported, and read over. */
static void skip_comma(parser *p)
{
    if (!lin_at(p, TOKEN_COMMA))
        return;
    lin_diagnostic *d = lin_complain(p, "E1101", "expected a field or `}`, found `,`");
    lin_diagnostic_help(p->diagnostics, d, "fields stand one after the other without separators");
    lin_advance(p);
}

/* "struct" NAME generics? "{" ( NAME ":" type )* "}" */
static void parse_struct(parser *p, ast_item *item)
{
    item->kind = AST_STRUCT;
    item->ident = lin_expect_name(p, "the struct's name");
    item->generics = lin_parse_generics(p);
    lin_expect(p, TOKEN_OPEN_BRACE);
    uint64_t list = lin_list_begin(p);
    while (!lin_is_stopped(p) && !lin_at(p, TOKEN_CLOSE_BRACE)) {
        ast_param field = { .ident = lin_expect_name(p, "a field's name or `}`") };
        lin_expect(p, TOKEN_COLON);
        field.type = lin_parse_type(p);
        lin_list_add(p, &field, sizeof field);
        skip_comma(p);
    }
    item->params = lin_list_end(p, list, sizeof(ast_param), &item->param_count);
    lin_expect(p, TOKEN_CLOSE_BRACE);
}

/* A payload is reserved syntax: reported, and read over. */
static void skip_payload(parser *p)
{
    if (!lin_at(p, TOKEN_OPEN_PAREN))
        return;
    lin_complain(p, "E1103", "variants with a payload are reserved");
    uint32_t nest = p->nest;
    do {
        lin_advance(p);
    } while (p->nest > nest && !lin_at(p, TOKEN_END) && !lin_at_item(p));
}

/* "enum" NAME generics? "{" NAME ,* "}" */
static void parse_enum(parser *p, ast_item *item)
{
    item->kind = AST_ENUM;
    item->ident = lin_expect_name(p, "the enum's name");
    item->generics = lin_parse_generics(p);
    lin_expect(p, TOKEN_OPEN_BRACE);
    uint64_t list = lin_list_begin(p);
    while (!lin_at(p, TOKEN_CLOSE_BRACE)) {
        ast_ident variant = lin_expect_name(p, "a variant's name or `}`");
        lin_list_add(p, &variant, sizeof variant);
        skip_payload(p);
        if (!lin_accept(p, TOKEN_COMMA))
            break;
    }
    item->variants = lin_list_end(p, list, sizeof(ast_ident), &item->variant_count);
    lin_expect(p, TOKEN_CLOSE_BRACE);
}

/* ---- functions and kernels ---- */

/* params := "(" ( NAME ":" type ("=" expr)? ) ,* ")" */
static void parse_params(parser *p, ast_item *item)
{
    lin_expect(p, TOKEN_OPEN_PAREN);
    uint64_t list = lin_list_begin(p);
    while (!lin_at(p, TOKEN_CLOSE_PAREN)) {
        ast_param param = { .ident = lin_expect_name(p, "a parameter's name or `)`") };
        lin_expect(p, TOKEN_COLON);
        param.type = lin_parse_type(p);
        if (lin_accept(p, TOKEN_ASSIGN))
            param.default_value = lin_parse_expr(p);
        lin_list_add(p, &param, sizeof param);
        if (!lin_accept(p, TOKEN_COMMA))
            break;
    }
    item->params = lin_list_end(p, list, sizeof(ast_param), &item->param_count);
    lin_expect(p, TOKEN_CLOSE_PAREN);
}

/* where := "where" expr ,+ */
static ast_where parse_where(parser *p)
{
    ast_where where = { 0 };
    uint64_t list = lin_list_begin(p);
    if (!lin_accept(p, TOKEN_WHERE))
        return where;
    do {
        p->deepest = p->depth;
        ast_expr *constraint = lin_parse_expr(p);
        lin_list_add(p, &constraint, sizeof constraint);
    } while (lin_accept(p, TOKEN_COMMA) && !lin_at(p, TOKEN_OPEN_BRACE));
    where.items = lin_list_end(p, list, sizeof(ast_expr *), &where.count);
    return where;
}

/* grad := "grad" "(" NAME "," NAME ")" body */
static void parse_grad(parser *p, ast_grad *grad)
{
    uint32_t start = p->now.start;
    lin_advance(p);
    lin_expect(p, TOKEN_OPEN_PAREN);
    grad->y = lin_expect_name(p, "the name of the result");
    lin_expect(p, TOKEN_COMMA);
    grad->dy = lin_expect_name(p, "the name of the result's gradient");
    lin_accept(p, TOKEN_COMMA);
    lin_expect(p, TOKEN_CLOSE_PAREN);
    grad->body = lin_parse_body(p);
    grad->present = true;
    grad->span = lin_span_from(p, start);
}

/* kernel-use := "kernel" NAME type-args? */
static void parse_kernel_use(parser *p, ast_item *item)
{
    item->has_kernel_use = lin_accept(p, TOKEN_KERNEL);
    if (!item->has_kernel_use)
        return;
    item->kernel = lin_expect_name(p, "the kernel's name");
    if (lin_at(p, TOKEN_LESS))
        lin_parse_type_args(p);
}

/* function := word NAME generics? params ("->" type)? kernel-use? where? body grad? */
static void parse_function(parser *p, ast_item *item, lin_function_kind kind)
{
    item->kind = AST_FUNCTION;
    item->function_kind = kind;
    item->ident = lin_expect_name(p, "the function's name");
    item->generics = lin_parse_generics(p);
    parse_params(p, item);
    if (lin_accept(p, TOKEN_ARROW))
        item->type = lin_parse_type(p);
    else if (kind == LIN_FUNCTION_OP)
        lin_unexpected(p, "`->` and a type, which every `op` has");
    if (kind == LIN_FUNCTION_OP)
        parse_kernel_use(p, item);
    item->where = parse_where(p);
    item->body = lin_parse_body(p);
    if (lin_at_word(p, p->grad))
        parse_grad(p, &item->grad);
}

/* NAME ":" type */
static void skip_kernel_result(parser *p)
{
    lin_expect_name(p, "the name of a result");
    lin_expect(p, TOKEN_COLON);
    lin_parse_type(p);
}

/* kernel-out := NAME ":" type | "(" ( NAME ":" type ) ,+ ")" */
static void skip_kernel_results(parser *p)
{
    if (!lin_accept(p, TOKEN_OPEN_PAREN)) {
        skip_kernel_result(p);
        return;
    }
    do {
        skip_kernel_result(p);
    } while (lin_accept(p, TOKEN_COMMA) && !lin_at(p, TOKEN_CLOSE_PAREN));
    lin_expect(p, TOKEN_CLOSE_PAREN);
}

/* "(" expr ,* ")" */
static void skip_kernel_sizes(parser *p)
{
    lin_expect(p, TOKEN_OPEN_PAREN);
    while (!lin_at(p, TOKEN_CLOSE_PAREN)) {
        lin_parse_expr(p);
        if (!lin_accept(p, TOKEN_COMMA))
            break;
    }
    lin_expect(p, TOKEN_CLOSE_PAREN);
}

/* word "(" expr ")" */
static void skip_kernel_setting(parser *p, lin_name word)
{
    if (!lin_at_word(p, word))
        return;
    lin_advance(p);
    lin_expect(p, TOKEN_OPEN_PAREN);
    lin_parse_expr(p);
    lin_expect(p, TOKEN_CLOSE_PAREN);
}

/* kernel := "kernel" NAME generics? params "->" kernel-out "grid" "(" expr ,* ")"
 *           ("warps" "(" expr ")")? ("stages" "(" expr ")")? where? body
 * Nothing analyses a kernel: results and launch sizes are read and dropped. */
static void parse_kernel(parser *p, ast_item *item)
{
    item->kind = AST_KERNEL;
    item->ident = lin_expect_name(p, "the kernel's name");
    item->generics = lin_parse_generics(p);
    parse_params(p, item);
    lin_expect(p, TOKEN_ARROW);
    skip_kernel_results(p);
    if (lin_at_word(p, p->grid))
        lin_advance(p);
    else
        lin_unexpected(p, "`grid`");
    skip_kernel_sizes(p);
    skip_kernel_setting(p, p->warps);
    skip_kernel_setting(p, p->stages);
    item->where = parse_where(p);
    item->body = lin_parse_body(p);
}

/* ---- blocks ---- */

static ast_item *parse_item(parser *p);

static bool at_member(const parser *p, lin_member_kind *out)
{
    switch (p->now.kind) {
    case TOKEN_PARAM:
        *out = LIN_MEMBER_PARAM;
        return true;
    case TOKEN_BUFFER:
        *out = LIN_MEMBER_BUFFER;
        return true;
    case TOKEN_STATE:
        *out = LIN_MEMBER_STATE;
        return true;
    case TOKEN_SUB:
        *out = LIN_MEMBER_SUB;
        return true;
    default:
        return false;
    }
}

/* ("param" | "buffer" | "state" | "sub") NAME ":" type ("=" expr)? */
static ast_member parse_member(parser *p, lin_member_kind kind)
{
    ast_member member = { .kind = kind };
    p->deepest = p->depth;
    lin_advance(p);
    member.ident = lin_expect_name(p, "the member's name");
    lin_expect(p, TOKEN_COLON);
    member.type = lin_parse_type(p);
    if (!lin_at(p, TOKEN_ASSIGN))
        return member;
    bool has_none = kind == LIN_MEMBER_PARAM || kind == LIN_MEMBER_SUB;
    if (!has_none)
        lin_complain(p, "E1101", "a `%s` has no default",
                     kind == LIN_MEMBER_BUFFER ? "buffer" : "state");
    lin_advance(p);
    ast_expr *value = lin_parse_expr(p);
    member.default_value = has_none ? value : NULL;
    return member;
}

typedef struct block_lists {
    LIN_LIST(ast_member) members;
    LIN_LIST(ast_item *) items;
} block_lists;

static void parse_block_item(parser *p, block_lists *lists)
{
    lin_member_kind kind;
    if (at_member(p, &kind)) {
        ast_member member = parse_member(p, kind);
        LIN_PUSH(p->arena, &lists->members, member);
        return;
    }
    ast_item *item = parse_item(p);
    if (item != NULL)
        LIN_PUSH(p->arena, &lists->items, item);
}

/* block := "block" NAME generics? where? "{" block-item* "}" */
static void parse_block(parser *p, ast_item *item)
{
    block_lists lists = { 0 };
    item->kind = AST_BLOCK;
    item->ident = lin_expect_name(p, "the block's name");
    item->generics = lin_parse_generics(p);
    item->where = parse_where(p);
    lin_expect(p, TOKEN_OPEN_BRACE);
    uint32_t braces = p->braces;
    p->deepest = p->depth;
    lin_enter(p);
    while (!lin_is_stopped(p) && !lin_at(p, TOKEN_CLOSE_BRACE) && !lin_at(p, TOKEN_END)) {
        parse_block_item(p, &lists);
        if (lin_is_stopped(p))
            recover(p, braces);
    }
    lin_leave(p);
    lin_expect(p, TOKEN_CLOSE_BRACE);
    item->members = lists.members.items;
    item->member_count = lists.members.count;
    item->items = lists.items.items;
    item->item_count = lists.items.count;
}

/* ---- items and files ---- */

/* What stands where an item should: reported, and read when that is possible. */
static void parse_no_item(parser *p, bool is_public)
{
    lin_member_kind kind;
    if (lin_at(p, TOKEN_EXTERN)) {
        lin_complain(p, "E1103", "`extern` is reserved");
        lin_advance(p);
        lin_accept(p, TOKEN_STRING);
        if (is_item_word(p->now.kind))
            lin_advance(p);
        lin_stop(p);
    } else if (at_member(p, &kind)) {
        lin_complain(p, "E1101", "%s %s", lin_token_title(p->now.kind),
                     is_public ? "cannot be `pub`" : "can only stand in a block");
        parse_member(p, kind);
    } else if (lin_at(p, TOKEN_USE)) {
        lin_complain(p, "E1101", "`use` declarations come before all items of the file");
        parse_use(p);
    } else if (lin_at(p, TOKEN_MODULE)) {
        lin_complain(p, "E1101", "a file has one `module` declaration, at its start");
        lin_advance(p);
        lin_parse_path(p, "a module's path");
    } else {
        lin_unexpected(p, "an item");
    }
}

static bool parse_keyword_item(parser *p, ast_item *item)
{
    token_kind kind = p->now.kind;
    switch (kind) {
    case TOKEN_CONST:
    case TOKEN_TYPE:
    case TOKEN_STRUCT:
    case TOKEN_ENUM:
    case TOKEN_FN:
    case TOKEN_OP:
    case TOKEN_ENTRY:
    case TOKEN_KERNEL:
    case TOKEN_BLOCK:
        lin_advance(p);
        break;
    default:
        return false;
    }
    if (kind == TOKEN_CONST)
        parse_const(p, item);
    else if (kind == TOKEN_TYPE)
        parse_alias(p, item);
    else if (kind == TOKEN_STRUCT)
        parse_struct(p, item);
    else if (kind == TOKEN_ENUM)
        parse_enum(p, item);
    else if (kind == TOKEN_KERNEL)
        parse_kernel(p, item);
    else if (kind == TOKEN_BLOCK)
        parse_block(p, item);
    else
        parse_function(p, item,
                       kind == TOKEN_FN   ? LIN_FUNCTION_FN
                       : kind == TOKEN_OP ? LIN_FUNCTION_OP
                                          : LIN_FUNCTION_ENTRY);
    return true;
}

/* item := "pub"? ( const | alias | struct | enum | function | kernel | block ); NULL when there is
 * none. */
static ast_item *parse_item(parser *p)
{
    uint32_t start = p->now.start;
    p->deepest = p->depth;
    ast_item *item = LIN_NEW(p->arena, ast_item);
    item->is_public = lin_accept(p, TOKEN_PUB);
    if (!parse_keyword_item(p, item)) {
        parse_no_item(p, item->is_public);
        return NULL;
    }
    item->span = lin_span_from(p, start);
    return item;
}

/* module-decl := "module" path */
static ast_path parse_module(parser *p)
{
    ast_path path = { .span = lin_span_now(p) };
    if (!lin_at(p, TOKEN_MODULE)) {
        lin_diagnostic *d = lin_complain(p, "E1102", "a file begins with its `module` declaration");
        lin_diagnostic_help(p->diagnostics, d, "write `module NAME` as the first line");
        return path;
    }
    lin_advance(p);
    path = lin_parse_path(p, "a module's path");
    if (lin_is_stopped(p))
        recover(p, 0);
    return path;
}

static void parse_uses(parser *p, ast_file *file)
{
    LIN_LIST(ast_use) uses = { 0 };
    while (lin_at(p, TOKEN_USE)) {
        ast_use use = parse_use(p);
        LIN_PUSH(p->arena, &uses, use);
        if (lin_is_stopped(p))
            recover(p, 0);
    }
    file->uses = uses.items;
    file->use_count = uses.count;
}

/* file := module-decl use-decl* item* */
ast_file *lin_parse(lin_arena *arena, lin_names *names, const lin_source_file *source,
                    lin_diagnostics *diagnostics)
{
    parser p;
    lin_parser_init(&p, arena, names, source, diagnostics);
    ast_file *file = LIN_NEW(arena, ast_file);
    LIN_LIST(ast_item *) items = { 0 };
    file->module = parse_module(&p);
    parse_uses(&p, file);
    while (!lin_at(&p, TOKEN_END)) {
        ast_item *item = parse_item(&p);
        if (item != NULL)
            LIN_PUSH(arena, &items, item);
        if (lin_is_stopped(&p))
            recover(&p, 0);
    }
    file->items = items.items;
    file->item_count = items.count;
    return file;
}
