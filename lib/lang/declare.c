/* SPDX-License-Identifier: MIT */
/*
 * What declarations mean: generics, where clauses, members, fields, variants, signatures. Each is
 * resolved when it is first needed and once; one that is met again while it runs is defined in
 * terms of itself (E2122). Every depth has a solver of its own, so the facts of a declaration
 * survive the resolving of another in between.
 */

#include "lang/check.h"

enum {
    MAX_DEPTH = 200,    /* of declarations inside each other: bounds the C stack */
    MAX_GENERICS = 256, /* of one declaration: lists of generics are searched front to back */
    MAX_PARAMS = 256,   /* of one function: every call has a place for each, given or default */
};

/* E1205 for a name that `seen` has. */
static void declare_once(checker *c, binding_list *seen, ast_ident ident, const char *what)
{
    if (ident.name == 0)
        return;
    const binding b = { .name = ident.name, .span = ident.span };
    const binding *older = lin_binding_add(c->scratch, seen, b);
    if (older == NULL)
        return;
    lin_diagnostic *d = lin_report(c, ident.span, "E1205", "%s `%s` is declared twice", what,
                                   lin_text_of(c, ident.name));
    lin_diagnostic_place(c->diagnostics, d, c->sources.items[older->span.source], older->span,
                         "first here");
}

/* ---- generics ---- */

static lin_generic_kind generic_kind(ast_generic_kind kind)
{
    return kind == AST_DIM          ? LIN_GENERIC_DIM
           : kind == AST_SHAPE_KIND ? LIN_GENERIC_SHAPE
                                    : LIN_GENERIC_DTYPE;
}

static lin_dtype_bound dtype_bound(ast_generic_kind kind)
{
    switch (kind) {
    case AST_NUMERIC:
        return LIN_BOUND_NUMERIC;
    case AST_INTEGER:
        return LIN_BOUND_INTEGER;
    case AST_FLOAT_KIND:
        return LIN_BOUND_FLOAT;
    case AST_DIM:
    case AST_SHAPE_KIND:
    case AST_DTYPE:
        break;
    }
    return LIN_BOUND_DTYPE;
}

static void check_star(checker *c, const ast_generic *written)
{
    bool is_shape = written->kind == AST_SHAPE_KIND;
    if (written->starred == is_shape || written->ident.name == 0)
        return;
    lin_report(c, written->ident.span, "E1101",
               is_shape ? "the shape pack `%s` is written `*%s`" : "`%s` is no shape pack: no star",
               lin_text_of(c, written->ident.name), lin_text_of(c, written->ident.name));
}

static void note_symbol(checker *c, const lin_generic *generic)
{
    while (c->symbols.count <= generic->symbol)
        LIN_PUSH(c->scratch, &c->symbols, NULL);
    c->symbols.items[generic->symbol] = generic;
}

/* A default sees the generics before it: *out grows one by one. */
static void declare_generics(checker *c, const scope *s, const ast_generics *written,
                             lin_generics *out)
{
    uint32_t count = written->count;
    binding_list seen = { 0 };
    if (count > MAX_GENERICS) {
        lin_report(c, written->items[MAX_GENERICS].ident.span, "E1101",
                   "more than %d generics in one declaration", MAX_GENERICS);
        count = MAX_GENERICS;
    }
    lin_generic *items = LIN_NEW_ARRAY(c->arena, lin_generic, count);
    out->items = items;
    for (uint32_t i = 0; i < count; i++) {
        const ast_generic *g = &written->items[i];
        check_star(c, g);
        if (lin_check_declarable(c, g->ident))
            declare_once(c, &seen, g->ident, "generic");
        items[i].name = g->ident.name;
        items[i].span = g->ident.span;
        items[i].kind = generic_kind(g->kind);
        items[i].bound = dtype_bound(g->kind);
        items[i].symbol = lin_expr_new_symbol(c->program->dims, lin_text_of(c, g->ident.name));
        note_symbol(c, &items[i]);
        if (g->has_default) {
            items[i].default_arg = lin_resolve_type_arg(c, s, &items[i], &g->default_arg);
            items[i].has_default = true;
        }
        out->count = i + 1;
    }
}

/* ---- structs and enums ---- */

static void resolve_struct(checker *c, decl *d)
{
    const scope s = lin_scope_of(d);
    lin_struct *structure = d->structure;
    binding_list seen = { 0 };
    declare_generics(c, &s, &d->item->generics, &structure->generics);
    lin_field *fields = LIN_NEW_ARRAY(c->arena, lin_field, d->item->param_count);
    for (uint32_t i = 0; i < d->item->param_count; i++) {
        const ast_param *written = &d->item->params[i];
        declare_once(c, &seen, written->ident, "field");
        fields[i].name = written->ident.name;
        fields[i].type = lin_resolve_type(c, &s, written->type);
    }
    structure->fields = fields;
    structure->field_count = d->item->param_count;
}

static void resolve_enum(checker *c, decl *d)
{
    const scope s = lin_scope_of(d);
    binding_list seen = { 0 };
    declare_generics(c, &s, &d->item->generics, &d->enumeration->generics);
    lin_name *variants = LIN_NEW_ARRAY(c->arena, lin_name, d->item->variant_count);
    for (uint32_t i = 0; i < d->item->variant_count; i++) {
        declare_once(c, &seen, d->item->variants[i], "variant");
        variants[i] = d->item->variants[i].name;
    }
    d->enumeration->variants = variants;
    d->enumeration->variant_count = d->item->variant_count;
}

bool lin_variant_of(const lin_enum *enumeration, lin_name name, uint32_t *out_variant)
{
    for (uint32_t i = 0; i < enumeration->variant_count; i++)
        if (enumeration->variants[i] == name) {
            *out_variant = i;
            return true;
        }
    return false;
}

static void resolve_alias(checker *c, decl *d)
{
    const scope s = lin_scope_of(d);
    declare_generics(c, &s, &d->item->generics, &d->alias.generics);
    d->alias.type = lin_resolve_any_type(c, &s, d->item->type);
}

/* ---- blocks ---- */

static const char *member_word(lin_member_kind kind)
{
    static const char *const words[] = { "param", "buffer", "state", "sub" };
    return words[kind];
}

static bool is_block(const lin_type *type)
{
    return type->kind == LIN_TYPE_BLOCK;
}

/* language.md 9.1 */
static bool member_allows(lin_member_kind kind, const lin_type *type)
{
    bool optional = type->kind == LIN_TYPE_OPTIONAL;
    const lin_type *inner = optional ? type->parts[0] : type;
    switch (kind) {
    case LIN_MEMBER_PARAM:
        return inner->kind == LIN_TYPE_TENSOR;
    case LIN_MEMBER_BUFFER:
    case LIN_MEMBER_STATE:
        return type->kind == LIN_TYPE_TENSOR;
    case LIN_MEMBER_SUB:
        return is_block(inner) || (type->kind == LIN_TYPE_ARRAY && is_block(type->parts[0]));
    }
    return false;
}

static void report_member_type(checker *c, const ast_member *written, const lin_type *type)
{
    static const char *const wanted[] = { "a tensor or an optional tensor", "a tensor", "a tensor",
                                          "a block, an array of blocks or an optional block" };
    lin_diagnostic *d =
        lin_report(c, written->type->span, "E4101", "a `%s` cannot have the type `%s`",
                   member_word(written->kind), lin_type_text(c, type));
    lin_note(c, d, "it holds %s", wanted[written->kind]);
}

/* `= none` belongs to an optional member and to no other. */
static void check_member_default(checker *c, const ast_member *written, const lin_type *type)
{
    const char *word = member_word(written->kind);
    const ast_expr *value = written->default_value;
    bool optional = type->kind == LIN_TYPE_OPTIONAL;
    if (value != NULL && value->kind != AST_NONE) {
        if (value->kind == AST_ERROR)
            return;
        lin_diagnostic *d =
            lin_report(c, value->span, "E4102", "a `%s` has no value in source", word);
        lin_note(c, d, "its value comes from the checkpoint; only `= none` may stand here");
    } else if (value != NULL && !optional) {
        lin_diagnostic *d = lin_report(c, written->type->span, "E4101",
                                       "a `%s` with `= none` has an optional type", word);
        lin_help(c, d, "write `%s?`", lin_type_text(c, type));
    } else if (value == NULL && optional) {
        lin_diagnostic *d =
            lin_report(c, written->type->span, "E4101", "an optional `%s` ends in `= none`", word);
        lin_help(c, d, "add `= none` after the type");
    }
}

/* A block's `where` is owed wherever the block is instantiated. */
static void prove_instance(checker *c, const ast_member *written, const lin_type *type)
{
    while (type->kind == LIN_TYPE_OPTIONAL || type->kind == LIN_TYPE_ARRAY)
        type = type->parts[0];
    if (!is_block(type))
        return;
    const subst s = { .generics = &type->block->generics,
                      .items = (lin_generic_arg *)(uintptr_t)type->args };
    lin_prove_constraints(c, &s, &type->block->constraints, written->type->span,
                          lin_text_of(c, type->block->name));
}

static const lin_type *resolve_member(checker *c, const scope *s, const ast_member *written)
{
    const lin_type *type = lin_resolve_any_type(c, s, written->type);
    if (type->kind == LIN_TYPE_ERROR)
        return type;
    if (!member_allows(written->kind, type)) {
        report_member_type(c, written, type);
        return &lin_error_type;
    }
    if (written->kind == LIN_MEMBER_PARAM || written->kind == LIN_MEMBER_SUB)
        check_member_default(c, written, type);
    prove_instance(c, written, type);
    return type;
}

static void check_member_name(checker *c, const decl *d, binding_list *seen, ast_ident ident)
{
    if (!lin_check_declarable(c, ident))
        return;
    declare_once(c, seen, ident, "member");
    const binding *item = lin_binding_find(&d->inner, ident.name);
    if (ident.name == 0 || item == NULL)
        return;
    lin_diagnostic *diagnostic = lin_report(c, ident.span, "E1205", "`%s` is a member and an item",
                                            lin_text_of(c, ident.name));
    lin_diagnostic_place(c->diagnostics, diagnostic, c->sources.items[item->span.source],
                         item->span, "the item");
}

static void resolve_block(checker *c, decl *d)
{
    const scope s = lin_scope_of(d);
    lin_block *block = d->block;
    binding_list seen = { 0 };
    declare_generics(c, &s, &d->item->generics, &block->generics);
    block->constraints = lin_resolve_where(c, &s, &d->item->where);
    lin_member *members = LIN_NEW_ARRAY(c->arena, lin_member, d->item->member_count);
    for (uint32_t i = 0; i < d->item->member_count; i++) {
        const ast_member *written = &d->item->members[i];
        check_member_name(c, d, &seen, written->ident);
        members[i] = (lin_member){ .name = written->ident.name,
                                   .span = written->ident.span,
                                   .kind = written->kind,
                                   .type = resolve_member(c, &s, written),
                                   .index = i };
        members[i].optional = members[i].type->kind == LIN_TYPE_OPTIONAL;
    }
    block->members = members;
    block->member_count = d->item->member_count;
}

/* ---- functions ---- */

/* In a signature the parameters' own names are no dimensions. */
static local_kind signature_local(const void *user, lin_name name, lin_expr *out_dim)
{
    const decl *d = user;
    (void)out_dim;
    const scope s = lin_scope_of(d);
    if (lin_find_generic(&s, name) != NULL)
        return LOCAL_NONE;
    for (uint32_t i = 0; i < d->item->param_count; i++)
        if (d->item->params[i].ident.name == name)
            return LOCAL_RUNTIME;
    return LOCAL_NONE;
}

static void resolve_params(checker *c, const scope *s, decl *d)
{
    binding_list seen = { 0 };
    uint32_t count = d->item->param_count;
    if (count > MAX_PARAMS) {
        lin_report(c, d->item->params[MAX_PARAMS].ident.span, "E1101",
                   "more than %d parameters in one declaration", MAX_PARAMS);
        count = MAX_PARAMS;
    }
    lin_param *params = LIN_NEW_ARRAY(c->arena, lin_param, count);
    for (uint32_t i = 0; i < count; i++) {
        const ast_param *written = &d->item->params[i];
        if (lin_check_declarable(c, written->ident))
            declare_once(c, &seen, written->ident, "parameter");
        params[i] = (lin_param){ .name = written->ident.name,
                                 .span = written->ident.span,
                                 .type = lin_resolve_type(c, s, written->type),
                                 .has_default = written->default_value != NULL };
    }
    d->function->params = params;
    d->function->param_count = count;
}

static bool is_float_tensor(const checker *c, const lin_type *type)
{
    return type->kind == LIN_TYPE_TENSOR && lin_dtype_is_float(c, type->dtype);
}

/* language.md 8.2; the clause itself is not looked at. */
static void check_grad(checker *c, const decl *d)
{
    const lin_function *f = d->function;
    const char *why = NULL;
    bool differentiable = false;
    for (uint32_t i = 0; i < f->param_count && why == NULL; i++) {
        const lin_type *type = f->params[i].type;
        if (type->kind == LIN_TYPE_OPTIONAL && type->parts[0]->kind == LIN_TYPE_TENSOR)
            why = "an op with an optional tensor parameter has no `grad` clause";
        differentiable |= type->kind == LIN_TYPE_ERROR || is_float_tensor(c, type);
    }
    if (why == NULL && !differentiable)
        why = "an op without a floating tensor parameter has no `grad` clause";
    if (f->result->kind == LIN_TYPE_TUPLE)
        why = "an op with a tuple result has no `grad` clause";
    if (f->kind != LIN_FUNCTION_OP)
        why = "only an op has a `grad` clause";
    if (why != NULL)
        lin_report(c, d->item->grad.span, "E2190", "%s", why);
}

static void resolve_function(checker *c, decl *d)
{
    scope s = lin_scope_of(d);
    s.local = signature_local;
    s.local_user = d;
    declare_generics(c, &s, &d->item->generics, &d->function->generics);
    d->function->constraints = lin_resolve_where(c, &s, &d->item->where);
    resolve_params(c, &s, d);
    if (d->item->type != NULL)
        d->function->result = lin_resolve_type(c, &s, d->item->type);
    if (d->item->grad.present)
        check_grad(c, d);
}

/* ---- on demand ---- */

static void resolve_by_kind(checker *c, decl *d)
{
    switch (d->kind) {
    case LIN_DECL_CONST:
        lin_resolve_constant(c, d);
        break;
    case LIN_DECL_ALIAS:
        resolve_alias(c, d);
        break;
    case LIN_DECL_STRUCT:
        resolve_struct(c, d);
        break;
    case LIN_DECL_ENUM:
        resolve_enum(c, d);
        break;
    case LIN_DECL_FUNCTION:
        resolve_function(c, d);
        break;
    case LIN_DECL_BLOCK:
        resolve_block(c, d);
        break;
    case LIN_DECL_KERNEL:
    case LIN_DECL_MODULE:
        break;
    }
}

static lin_solver *solver_at(checker *c, uint32_t depth)
{
    while (c->solvers.count <= depth) {
        lin_solver *fresh = lin_solver_new(c->scratch, c->program->dims);
        lin_solver_share_work(fresh, c->solver);
        LIN_PUSH(c->scratch, &c->solvers, fresh);
    }
    lin_solver_clear(c->solvers.items[depth]);
    return c->solvers.items[depth];
}

void lin_resolve_decl_at(checker *c, decl *d, lin_span use)
{
    if (d->state == LIN_DECL_DONE)
        return;
    if (d->state == LIN_DECL_RUNNING) {
        lin_report(c, use, "E2122", "`%s` is declared in terms of itself", lin_text_of(c, d->name));
        return;
    }
    if (c->depth == MAX_DEPTH) {
        lin_report(c, use, "E1101",
                   "too deeply nested: more than %d declarations in terms of another", MAX_DEPTH);
        return;
    }
    lin_solver *outer = c->solver;
    c->solver = solver_at(c, c->depth++);
    if (d->owner != NULL)
        lin_assume_constraints(c, d->owner->block, NULL);
    d->state = LIN_DECL_RUNNING;
    resolve_by_kind(c, d);
    d->state = LIN_DECL_DONE;
    c->depth--;
    c->solver = outer;
}

void lin_resolve_decl(checker *c, decl *d)
{
    lin_resolve_decl_at(c, d, d->span);
}

/* A block comes before what is nested in it, as lin_collect_module made them. */
void lin_resolve_declarations(checker *c)
{
    for (uint32_t i = 0; i < c->decls.count; i++)
        lin_resolve_decl(c, c->decls.items[i]);
}
