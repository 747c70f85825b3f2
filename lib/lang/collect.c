/* SPDX-License-Identifier: MIT */
/*
 * From syntax to declarations: one decl an item, its identity (lin_block, lin_function, ...) made
 * at once so that others can point to it, and the names of each module and block. Then imports,
 * once every module has its names. What a declaration means comes later (declare.c).
 */

#include "lang/check.h"

static lin_decl_kind kind_of(const ast_item *item)
{
    switch (item->kind) {
    case AST_CONST:
        return LIN_DECL_CONST;
    case AST_ALIAS:
        return LIN_DECL_ALIAS;
    case AST_STRUCT:
        return LIN_DECL_STRUCT;
    case AST_ENUM:
        return LIN_DECL_ENUM;
    case AST_FUNCTION:
        return LIN_DECL_FUNCTION;
    case AST_KERNEL:
        return LIN_DECL_KERNEL;
    case AST_BLOCK:
        return LIN_DECL_BLOCK;
    }
    return LIN_DECL_CONST;
}

static lin_function *new_function(checker *c, decl *d)
{
    lin_function *f = LIN_NEW(c->arena, lin_function);
    const char *module = d->home->module->path;
    f->name = d->name;
    f->span = d->span;
    f->module = d->home->module;
    f->block = d->owner != NULL ? d->owner->block : NULL;
    f->kind = d->item->function_kind;
    f->is_public = d->is_public;
    f->has_grad = d->item->grad.present;
    f->index = c->next_function++;
    f->result = &lin_unit_type;
    f->qualified = d->owner != NULL
                       ? lin_arena_format(c->arena, "%s::%s.%s", module,
                                          lin_text_of(c, d->owner->name), lin_text_of(c, d->name))
                       : lin_arena_format(c->arena, "%s::%s", module, lin_text_of(c, d->name));
    LIN_PUSH(c->scratch, &c->functions, d);
    return f;
}

static lin_block *new_block(checker *c, const decl *d)
{
    lin_block *block = LIN_NEW(c->arena, lin_block);
    block->name = d->name;
    block->span = d->span;
    block->module = d->home->module;
    block->is_public = d->is_public;
    return block;
}

static lin_struct *new_struct(checker *c, const decl *d)
{
    lin_struct *structure = LIN_NEW(c->arena, lin_struct);
    structure->name = d->name;
    structure->module = d->home->module;
    return structure;
}

static lin_enum *new_enum(checker *c, const decl *d)
{
    lin_enum *enumeration = LIN_NEW(c->arena, lin_enum);
    enumeration->name = d->name;
    enumeration->module = d->home->module;
    return enumeration;
}

static void report_duplicate(checker *c, const char *code, ast_ident ident, lin_span older)
{
    lin_diagnostic *d =
        lin_report(c, ident.span, code, "`%s` is declared twice", lin_text_of(c, ident.name));
    lin_diagnostic_place(c->diagnostics, d, c->sources.items[older.source], older, "first here");
}

/* Puts a declaration under its name; a name that is taken or reserved stays without it. */
static void bind(checker *c, binding_list *names, decl *d, ast_ident ident, bool is_import)
{
    if (ident.name == 0 || !lin_check_declarable(c, ident))
        return;
    const binding b = { .name = ident.name, .decl = d, .span = ident.span, .is_import = is_import };
    const binding *older = lin_binding_add(c->scratch, names, b);
    if (older != NULL)
        report_duplicate(c, "E1204", ident, older->span);
}

static decl *new_decl(checker *c, module_scope *home, decl *owner, const ast_item *item)
{
    decl *d = LIN_NEW(c->scratch, decl);
    d->kind = kind_of(item);
    d->name = item->ident.name;
    d->span = item->ident.span;
    d->is_public = item->is_public;
    d->item = item;
    d->home = home;
    d->owner = owner;
    d->alias.type = &lin_error_type;
    d->constant.type = &lin_error_type;
    LIN_PUSH(c->scratch, &c->decls, d);
    return d;
}

static decl *collect_item(checker *c, module_scope *home, decl *owner, const ast_item *item);

static void collect_block(checker *c, decl *d)
{
    LIN_LIST(lin_function *) methods = { 0 };
    d->block = new_block(c, d);
    for (uint32_t i = 0; i < d->item->item_count; i++) {
        decl *inner = collect_item(c, d->home, d, d->item->items[i]);
        bind(c, &d->inner, inner, inner->item->ident, false);
        if (inner->kind == LIN_DECL_FUNCTION)
            LIN_PUSH(c->arena, &methods, inner->function);
    }
    d->block->methods = methods.items;
    d->block->method_count = methods.count;
}

static decl *collect_item(checker *c, module_scope *home, decl *owner, const ast_item *item)
{
    decl *d = new_decl(c, home, owner, item);
    switch (d->kind) {
    case LIN_DECL_BLOCK:
        collect_block(c, d);
        break;
    case LIN_DECL_FUNCTION:
        d->function = new_function(c, d);
        break;
    case LIN_DECL_STRUCT:
        d->structure = new_struct(c, d);
        break;
    case LIN_DECL_ENUM:
        d->enumeration = new_enum(c, d);
        break;
    case LIN_DECL_CONST:
    case LIN_DECL_ALIAS:
    case LIN_DECL_KERNEL:
    case LIN_DECL_MODULE:
        break;
    }
    return d;
}

void lin_collect_module(checker *c, module_scope *m)
{
    LIN_LIST(lin_block *) blocks = { 0 };
    LIN_LIST(lin_function *) functions = { 0 };
    for (uint32_t i = 0; i < m->file->item_count; i++) {
        decl *d = collect_item(c, m, NULL, m->file->items[i]);
        bind(c, &m->names, d, d->item->ident, false);
        if (d->kind == LIN_DECL_BLOCK)
            LIN_PUSH(c->arena, &blocks, d->block);
        else if (d->kind == LIN_DECL_FUNCTION)
            LIN_PUSH(c->arena, &functions, d->function);
    }
    m->module->blocks = blocks.items;
    m->module->block_count = blocks.count;
    m->module->functions = functions.items;
    m->module->function_count = functions.count;
}

/* ---- imports ---- */

static void import_module(checker *c, module_scope *m, const ast_use *use, module_scope *target)
{
    const ast_ident last = use->path.parts[use->path.count - 1];
    if (use->from_crate && use->path.count == 1)
        return; /* `crate` is a keyword: nothing could name it */
    decl *d = LIN_NEW(c->scratch, decl);
    d->kind = LIN_DECL_MODULE;
    d->name = last.name;
    d->span = last.span;
    d->home = m;
    d->state = LIN_DECL_DONE;
    d->target = target;
    bind(c, &m->names, d, last, true);
}

void lin_resolve_imports(checker *c, module_scope *m)
{
    const scope here = { .module = m };
    for (uint32_t i = 0; i < m->file->use_count; i++) {
        const ast_use *use = &m->file->uses[i];
        module_scope *target = m->targets[i];
        if (target == NULL || use->path.count == 0)
            continue;
        if (use->whole_module)
            import_module(c, m, use, target);
        for (uint32_t k = 0; k < use->import_count && !use->whole_module; k++) {
            const ast_import *import = &use->imports[k];
            decl *d = lin_find_in_module(c, target, &here, import->item);
            if (d != NULL)
                bind(c, &m->names, d, import->alias, true);
        }
    }
}
