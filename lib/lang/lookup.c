/* SPDX-License-Identifier: MIT */

/*
 * What a name is, innermost first (language.md 4.3): locals and parameters, generics, the block's
 * members, items and imports, the prelude; and what stands behind a dot. Constants are lowered
 * where they are used, in a frame of their own module.
 */

#include "lang/body.h"

/* ---- frames ---- */

static local_kind local_dim(const void *user, lin_name name, lin_expr *out_dim)
{
    const body *b = user;
    local *l = lin_body_find_local(b, name);
    if (l == NULL)
        return LOCAL_NONE;
    l->used = true;
    if (l->value.type->kind != LIN_TYPE_DIM)
        return LOCAL_RUNTIME;
    *out_dim = l->value.type->dim;
    return LOCAL_DIM;
}

frame lin_body_frame(const body *b, const scope *where, const subst *translate)
{
    frame f = { .scope = *where,
                .translate = translate,
                .first_local = b->locals.count,
                .first_index = b->indices.count,
                .outer = b->frame };
    f.scope.local = local_dim;
    f.scope.local_user = b;
    return f;
}

static bool is_running(const body *b, const ast_expr *e)
{
    for (const frame *f = b->frame; f != NULL; f = f->outer)
        if (f->origin == e)
            return true;
    return false;
}

/* Where `e` is or would be among the faulty ones; there is a free slot. */
static const ast_expr **faulty_slot(const bodies *all, const ast_expr *e)
{
    uint64_t hash = (uint64_t)(uintptr_t)e * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t i = (uint32_t)(hash >> 32) & (all->faulty_slots - 1);
    while (all->faulty[i] != NULL && all->faulty[i] != e)
        i = (i + 1) & (all->faulty_slots - 1);
    return &all->faulty[i];
}

static bool is_faulty(const bodies *all, const ast_expr *e)
{
    return all->faulty_slots > 0 && *faulty_slot(all, e) == e;
}

void lin_body_add_faulty(checker *c, bodies *all, const ast_expr *e)
{
    if (2 * all->faulty_count >= all->faulty_slots) {
        const bodies old = *all;
        all->faulty_slots = old.faulty_slots == 0 ? 64 : 2 * old.faulty_slots;
        all->faulty = LIN_NEW_ARRAY(c->scratch, const ast_expr *, all->faulty_slots);
        for (uint32_t i = 0; i < old.faulty_slots; i++)
            if (old.faulty[i] != NULL)
                *faulty_slot(all, old.faulty[i]) = old.faulty[i];
    }
    *faulty_slot(all, e) = e;
    all->faulty_count++;
}

/* False, and reported once, when too many were lowered. */
static bool may_inline(body *b, lin_span use)
{
    b->inlined++;
    b->all->inlined++;
    if (b->inlined <= BODY_INLINE_LIMIT && b->all->inlined <= BODY_INLINE_TOTAL)
        return true;
    if (b->inlined == BODY_INLINE_LIMIT + 1 || b->all->inlined == BODY_INLINE_TOTAL + 1)
        lin_body_report(b, use, "E2190", "too many uses of constants and defaults");
    b->all->inlined -= b->all->inlined > BODY_INLINE_TOTAL + 1;
    return false;
}

operand lin_body_inline(body *b, const scope *where, const subst *translate, const ast_expr *e,
                        const lin_type *want, lin_span use)
{
    if (is_faulty(b->all, e))
        return lin_body_error(use);
    if (is_running(b, e)) {
        lin_body_report(b, use, "E2122", "this value is defined in terms of itself");
        return lin_body_error(use);
    }
    if (!may_inline(b, use))
        return lin_body_error(use);
    frame f = lin_body_frame(b, where, translate);
    f.origin = e;
    b->frame = &f;
    operand o = lin_body_eval(b, e, want);
    if (want != NULL)
        o = lin_body_coerce(b, o, want, NULL);
    b->frame = f.outer;
    o.span = use;
    return o;
}

/* ---- finding ---- */

/* Locals of frames around this one are hidden, and older than all of this one's. */
local *lin_body_find_local(const body *b, lin_name name)
{
    uint32_t number = name < b->all->newest_count ? b->all->newest[name] : 0;
    return number > b->frame->first_local ? &b->locals.items[number - 1] : NULL;
}

index_variable *lin_body_find_index(body *b, lin_name name)
{
    for (uint32_t i = b->indices.count; i > b->frame->first_index; i--)
        if (b->indices.items[i - 1]->ident.name == name)
            return b->indices.items[i - 1];
    return NULL;
}

const lin_member *lin_body_find_member(const lin_block *block, lin_name name)
{
    for (uint32_t i = 0; i < block->member_count; i++)
        if (block->members[i].name == name)
            return &block->members[i];
    return NULL;
}

static const lin_member *own_member(const body *b, lin_name name)
{
    const decl *block = b->frame->scope.block;
    return block == NULL || block->block == NULL ? NULL : lin_body_find_member(block->block, name);
}

bool lin_body_is_declared(body *b, lin_name name)
{
    const scope *s = &b->frame->scope;
    return lin_body_find_local(b, name) != NULL || lin_find_generic(s, name) != NULL ||
           own_member(b, name) != NULL || lin_find_item(b->c, s, name) != NULL ||
           lin_is_prelude_name(b->c, name);
}

static decl *resolved(body *b, decl *d, lin_span span)
{
    if (d != NULL)
        lin_resolve_decl_at(b->c, d, span);
    return d;
}

decl *lin_body_path_decl(body *b, const ast_expr *e, bool *out_reported)
{
    const scope *s = &b->frame->scope;
    if (e->kind == AST_NAME) {
        lin_name name = e->as.name.name;
        if (lin_body_find_local(b, name) != NULL || lin_find_generic(s, name) != NULL ||
            own_member(b, name) != NULL)
            return NULL;
        return resolved(b, lin_find_item(b->c, s, name), e->span);
    }
    if (e->kind != AST_MEMBER)
        return NULL;
    decl *base = lin_body_path_decl(b, e->as.member.base, out_reported);
    if (base == NULL || base->kind != LIN_DECL_MODULE || base->target == NULL)
        return NULL;
    decl *d = lin_find_in_module(b->c, base->target, s, e->as.member.member);
    if (d == NULL)
        *out_reported = true;
    return resolved(b, d, e->as.member.member.span);
}

/* ---- values of names ---- */

static operand constant_value(body *b, decl *d, lin_span span)
{
    const lin_type *type = d->constant.type;
    if (type == NULL || type->kind == LIN_TYPE_ERROR)
        return lin_body_error(span);
    if (type->kind == LIN_TYPE_DIM)
        return lin_body_dim(b, lin_constant_dim(b->c, d, span), span);

    bool own_block = d->owner != NULL && d->owner == b->frame->scope.block;
    const scope where = lin_scope_of(d);
    return lin_body_inline(b, &where, own_block ? b->frame->translate : NULL, d->item->value,
                           type->kind == LIN_TYPE_FLOAT ? NULL : type, span);
}

static operand wrong_kind(body *b, ast_ident ident, const char *what)
{
    lin_body_report(b, ident.span, "E1208", "`%s` is %s, not a value",
                    lin_text_of(b->c, ident.name), what);
    return lin_body_error(ident.span);
}

static operand generic_value(body *b, ast_ident ident, const lin_generic *g)
{
    if (g->kind == LIN_GENERIC_SHAPE)
        return wrong_kind(b, ident, "a shape");
    if (g->kind == LIN_GENERIC_DTYPE)
        return wrong_kind(b, ident, "a dtype");
    lin_expr dim = lin_expr_of_symbol(b->c->program->dims, g->symbol);
    if (b->frame->translate != NULL)
        dim = lin_substitute_dim(b->c, b->frame->translate, dim);
    return lin_body_dim(b, dim, ident.span);
}

static operand read_member(body *b, const lin_member *m, const lin_type *type, const operand *block,
                           lin_span span)
{
    static const lin_op_kind kinds[] = {
        [LIN_MEMBER_PARAM] = LIN_OP_BLOCK_PARAM,
        [LIN_MEMBER_BUFFER] = LIN_OP_BLOCK_PARAM,
        [LIN_MEMBER_STATE] = LIN_OP_STATE_READ,
        [LIN_MEMBER_SUB] = LIN_OP_BLOCK_SUB,
    };
    lin_op *op;
    if (type->kind == LIN_TYPE_ERROR)
        return lin_body_error(span);
    operand o = lin_body_emit_one(b, kinds[m->kind], span, block, block == NULL ? 0 : 1, type, &op);
    op->as.member = m;
    return o;
}

static operand decl_value(body *b, ast_ident ident, decl *d)
{
    switch (d->kind) {
    case LIN_DECL_CONST:
        return constant_value(b, d, ident.span);
    case LIN_DECL_ALIAS:
        return wrong_kind(b, ident, "a type");
    case LIN_DECL_STRUCT:
        return wrong_kind(b, ident, "a struct");
    case LIN_DECL_ENUM:
        return wrong_kind(b, ident, "an enum");
    case LIN_DECL_FUNCTION:
        return wrong_kind(b, ident, "a function");
    case LIN_DECL_KERNEL:
        return wrong_kind(b, ident, "a kernel");
    case LIN_DECL_BLOCK:
        return wrong_kind(b, ident, "a block");
    case LIN_DECL_MODULE:
        return wrong_kind(b, ident, "a module");
    }
    return lin_body_error(ident.span);
}

operand lin_body_name(body *b, ast_ident ident)
{
    const scope *s = &b->frame->scope;
    if (ident.name == 0)
        return lin_body_error(ident.span);

    local *l = lin_body_find_local(b, ident.name);
    if (l != NULL) {
        operand o = l->value;
        l->used = true;
        o.span = ident.span;
        return o;
    }
    const lin_generic *g = lin_find_generic(s, ident.name);
    if (g != NULL)
        return generic_value(b, ident, g);
    const lin_member *m = own_member(b, ident.name);
    if (m != NULL && b->frame->origin != NULL)
        return wrong_kind(b, ident, "a member");
    if (m != NULL)
        return read_member(b, m, m->type, NULL, ident.span);
    decl *d = resolved(b, lin_find_item(b->c, s, ident.name), ident.span);
    if (d != NULL)
        return decl_value(b, ident, d);
    if (lin_body_find_index(b, ident.name) != NULL) {
        lin_diagnostic *e =
            lin_body_report(b, ident.span, "E3104", "index `%s` has no value outside of brackets",
                            lin_text_of(b->c, ident.name));
        lin_help(b->c, e, "its value is `iota(N)[%s]`, N being its extent",
                 lin_text_of(b->c, ident.name));
        return lin_body_error(ident.span);
    }
    if (lin_is_prelude_name(b->c, ident.name))
        return wrong_kind(b, ident, "a function or type of the language");
    lin_report_undeclared(b->c, s, ident);
    return lin_body_error(ident.span);
}

/* ---- behind a dot ---- */

static operand unknown_member(body *b, ast_ident ident, const char *what, const char *owner)
{
    lin_body_report(b, ident.span, "E2107", "%s `%s` has no `%s`", what, owner,
                    lin_text_of(b->c, ident.name));
    return lin_body_error(ident.span);
}

static operand variant(body *b, const ast_expr *e, const decl *d)
{
    const lin_enum *enumeration = d->enumeration;
    ast_ident ident = e->as.member.member;
    uint32_t number;
    lin_op *op;

    if (enumeration == NULL)
        return lin_body_error(e->span);
    if (!lin_variant_of(enumeration, ident.name, &number))
        return unknown_member(b, ident, "enum", lin_text_of(b->c, enumeration->name));
    if (enumeration->generics.count > 0) {
        lin_body_report(b, e->span, "E2110", "the generics of enum `%s` cannot be inferred here",
                        lin_text_of(b->c, enumeration->name));
        return lin_body_error(e->span);
    }
    lin_type *type = LIN_NEW(b->c->arena, lin_type);
    type->kind = LIN_TYPE_ENUM;
    type->enumeration = enumeration;
    operand o = lin_body_emit_one(b, LIN_OP_ENUM_CONST, e->span, NULL, 0, type, &op);
    op->as.enum_const.enumeration = enumeration;
    op->as.enum_const.variant = number;
    return o;
}

static operand field(body *b, const ast_expr *e, operand base)
{
    const lin_struct *structure = base.type->structure;
    ast_ident ident = e->as.member.member;
    lin_op *op;

    for (uint32_t i = 0; i < structure->field_count; i++) {
        if (structure->fields[i].name != ident.name)
            continue;
        operand o =
            lin_body_emit_one(b, LIN_OP_TUPLE_GET, e->span, &base, 1, base.type->parts[i], &op);
        op->as.integer = i;
        return o;
    }
    return unknown_member(b, ident, "struct", lin_text_of(b->c, structure->name));
}

static operand block_member(body *b, const ast_expr *e, operand base)
{
    const lin_block *block = base.type->block;
    ast_ident ident = e->as.member.member;
    const lin_member *m = lin_body_find_member(block, ident.name);

    if (m != NULL)
        return read_member(b, m, lin_member_type(b->c, base.type, m), &base, e->span);
    for (uint32_t i = 0; i < block->method_count; i++)
        if (block->methods[i]->name == ident.name)
            return wrong_kind(b, ident, "a method");
    return unknown_member(b, ident, "block", lin_text_of(b->c, block->name));
}

operand lin_body_member(body *b, const ast_expr *e)
{
    bool reported = false;
    ast_ident ident = e->as.member.member;
    decl *d = lin_body_path_decl(b, e, &reported);
    if (d != NULL) {
        operand o = decl_value(b, ident, d);
        o.span = e->span;
        return o;
    }
    if (!reported) {
        decl *owner = lin_body_path_decl(b, e->as.member.base, &reported);
        if (owner != NULL && owner->kind == LIN_DECL_ENUM)
            return variant(b, e, owner);
    }
    if (reported || ident.name == 0)
        return lin_body_error(e->span);

    operand base = lin_body_eval(b, e->as.member.base, NULL);
    switch (base.type->kind) {
    case LIN_TYPE_ERROR:
        return lin_body_error(e->span);
    case LIN_TYPE_STRUCT:
        return field(b, e, base);
    case LIN_TYPE_BLOCK:
        return block_member(b, e, base);
    default:
        break;
    }
    lin_diagnostic *r =
        lin_body_report(b, ident.span, "E2107", "`%s` has no member `%s`",
                        lin_type_text(b->c, base.type), lin_text_of(b->c, ident.name));
    if (base.type->kind == LIN_TYPE_OPTIONAL)
        lin_help(b->c, r, "`match` the optional value first");
    return lin_body_error(e->span);
}

/* ---- types written in bodies ---- */

const lin_type *lin_body_type(body *b, const ast_type *type)
{
    const lin_type *t = lin_resolve_type(b->c, &b->frame->scope, type);
    return b->frame->translate == NULL ? t : lin_substitute_type(b->c, b->frame->translate, t);
}

uint32_t lin_body_type_args(body *b, const lin_generics *generics, const ast_type_args *args,
                            lin_generic_arg *out)
{
    const subst *translate = b->frame->translate;
    uint32_t count = lin_resolve_type_args(b->c, &b->frame->scope, generics, args, out);

    for (uint32_t i = 0; i < count && translate != NULL; i++) {
        lin_type shape = { .kind = LIN_TYPE_SHAPE,
                           .axes = out[i].axes,
                           .axis_count = out[i].axis_count };
        switch (out[i].kind) {
        case LIN_GENERIC_DIM:
            out[i].dim = lin_substitute_dim(b->c, translate, out[i].dim);
            break;
        case LIN_GENERIC_DTYPE:
            out[i].dtype = lin_substitute_dtype(translate, out[i].dtype);
            break;
        case LIN_GENERIC_SHAPE: {
            const lin_type *t = lin_substitute_type(b->c, translate, &shape);
            out[i].axes = t->axes;
            out[i].axis_count = t->axis_count;
            break;
        }
        }
    }
    return count;
}
