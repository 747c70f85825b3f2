/* SPDX-License-Identifier: MIT */
/*
 * Names outside bodies: what a bare name, `module.item` or a generic's name stands for
 * (language.md 4.3), and which names may be declared. Every lookup is one hash probe a scope.
 */

#include "lang/check.h"

#include <string.h>

/* language.md 13 and 5. */
static const char *const prelude_words[] = {
    "cast",       "exp",    "log",   "sqrt",  "rsqrt", "sin",          "cos",     "tanh",
    "abs",        "min",    "max",   "shl",   "shr",   "select",       "reshape", "permute",
    "concat",     "cumsum", "iota",  "fill",  "pad",   "broadcast_to", "gather",  "scatter",
    "Tensor",     "Dim",    "DType", "Shape", "Float", "Numeric",      "Integer",
#define X(id, spelling, bytes, class) spelling,
    LIN_DTYPES(X)
#undef X
};

void lin_fill_prelude(checker *c)
{
    for (uint32_t i = 0; i < ARRAY_LEN(prelude_words); i++) {
        lin_name name =
            lin_names_add(c->program->names, prelude_words[i], strlen(prelude_words[i]));
        LIN_PUSH(c->scratch, &c->prelude, name);
    }
}

bool lin_is_prelude_name(const checker *c, lin_name name)
{
    for (uint32_t i = 0; i < c->prelude.count; i++)
        if (c->prelude.items[i] == name)
            return true;
    return false;
}

bool lin_check_declarable(checker *c, ast_ident ident)
{
    if (ident.name == 0 || !lin_is_prelude_name(c, ident.name))
        return true;
    lin_report(c, ident.span, "E1207", "`%s` belongs to the language and cannot be declared",
               lin_text_of(c, ident.name));
    return false;
}

/* Generics that come with the declaration itself: a block's are found through `block`. */
static const lin_generics *own_generics(const decl *d)
{
    switch (d->kind) {
    case LIN_DECL_FUNCTION:
        return &d->function->generics;
    case LIN_DECL_STRUCT:
        return &d->structure->generics;
    case LIN_DECL_ENUM:
        return &d->enumeration->generics;
    case LIN_DECL_ALIAS:
        return &d->alias.generics;
    case LIN_DECL_BLOCK:
    case LIN_DECL_CONST:
    case LIN_DECL_KERNEL:
    case LIN_DECL_MODULE:
        break;
    }
    return NULL;
}

scope lin_scope_of(const decl *d)
{
    scope s = { .module = d->home, .block = d->owner, .function_generics = own_generics(d) };
    if (d->kind == LIN_DECL_BLOCK)
        s.block = (decl *)(uintptr_t)d;
    if (s.block != NULL)
        s.block_generics = &s.block->block->generics;
    return s;
}

static const lin_generic *find_in_generics(const lin_generics *generics, lin_name name)
{
    for (uint32_t i = 0; generics != NULL && i < generics->count; i++)
        if (generics->items[i].name == name)
            return &generics->items[i];
    return NULL;
}

const lin_generic *lin_find_generic(const scope *s, lin_name name)
{
    if (name == 0)
        return NULL;
    const lin_generic *generic = find_in_generics(s->function_generics, name);
    return generic != NULL ? generic : find_in_generics(s->block_generics, name);
}

decl *lin_find_item(checker *c, const scope *s, lin_name name)
{
    (void)c;
    binding *found = NULL;
    if (name == 0)
        return NULL;
    for (const decl *block = s->block; block != NULL && found == NULL; block = block->owner)
        found = lin_binding_find(&block->inner, name);
    if (found == NULL)
        found = lin_binding_find(&s->module->names, name);
    if (found == NULL)
        return NULL;
    found->used = true;
    return found->decl;
}

/* ---- the nearest name ---- */

/* A hundred findings, each against every name of a huge file, would cost seconds. */
enum { MAX_WORDS = 4096 };

typedef LIN_LIST(const char *) word_list;

static void add_word(checker *c, word_list *words, lin_name name)
{
    if (words->count < MAX_WORDS)
        LIN_PUSH(c->scratch, words, lin_text_of(c, name));
}

static void add_bindings(checker *c, word_list *words, const binding_list *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        add_word(c, words, names->items[i].name);
}

static void add_generics(checker *c, word_list *words, const lin_generics *generics)
{
    for (uint32_t i = 0; generics != NULL && i < generics->count; i++)
        add_word(c, words, generics->items[i].name);
}

static void add_block(checker *c, word_list *words, const decl *block)
{
    add_bindings(c, words, &block->inner);
    for (uint32_t i = 0; i < block->item->member_count; i++)
        add_word(c, words, block->item->members[i].ident.name);
}

static void suggest(checker *c, lin_diagnostic *d, lin_name name, const word_list *words)
{
    const char *nearest = lin_nearest(lin_text_of(c, name), words->items, words->count);
    if (nearest != NULL)
        lin_help(c, d, "did you mean `%s`?", nearest);
}

void lin_report_undeclared(checker *c, const scope *s, ast_ident ident)
{
    if (ident.name == 0)
        return;
    lin_diagnostic *d =
        lin_report(c, ident.span, "E1201", "`%s` is not declared", lin_text_of(c, ident.name));
    if (d == NULL)
        return;
    word_list words = { 0 };
    add_generics(c, &words, s->function_generics);
    add_generics(c, &words, s->block_generics);
    for (const decl *block = s->block; block != NULL; block = block->owner)
        add_block(c, &words, block);
    add_bindings(c, &words, &s->module->names);
    for (uint32_t i = 0; i < c->prelude.count; i++)
        add_word(c, &words, c->prelude.items[i]);
    suggest(c, d, ident.name, &words);
}

/* ---- other modules ---- */

static void report_lacking(checker *c, const module_scope *target, ast_ident ident)
{
    lin_diagnostic *d = lin_report(c, ident.span, "E1201", "module `%s` has no item `%s`",
                                   target->module->path, lin_text_of(c, ident.name));
    if (d == NULL)
        return;
    word_list words = { 0 };
    for (uint32_t i = 0; i < target->names.count; i++)
        if (!target->names.items[i].is_import && target->names.items[i].decl->is_public)
            add_word(c, &words, target->names.items[i].name);
    suggest(c, d, ident.name, &words);
}

decl *lin_find_in_module(checker *c, module_scope *target, const scope *from, ast_ident ident)
{
    if (target == NULL || ident.name == 0)
        return NULL;
    binding *found = lin_binding_find(&target->names, ident.name);
    if (found == NULL || found->is_import) {
        report_lacking(c, target, ident);
        return NULL;
    }
    if (!found->decl->is_public && target != from->module) {
        lin_diagnostic *d = lin_report(c, ident.span, "E1203", "`%s` is private to module `%s`",
                                       lin_text_of(c, ident.name), target->module->path);
        lin_diagnostic_place(c->diagnostics, d, c->sources.items[found->decl->span.source],
                             found->decl->span, "declared here without `pub`");
        return NULL;
    }
    return found->decl;
}

static decl *report_no_module(checker *c, ast_ident ident)
{
    lin_report(c, ident.span, "E1208", "`%s` is no module", lin_text_of(c, ident.name));
    return NULL;
}

decl *lin_find_path(checker *c, const scope *s, const ast_path *path)
{
    const ast_ident first = path->parts[0];
    decl *d = lin_find_item(c, s, first.name);
    if (d == NULL) {
        if (lin_find_generic(s, first.name) != NULL || lin_is_prelude_name(c, first.name))
            return report_no_module(c, first);
        lin_report_undeclared(c, s, first);
        return NULL;
    }
    for (uint32_t i = 1; i < path->count && d != NULL; i++) {
        if (d->kind != LIN_DECL_MODULE)
            return report_no_module(c, path->parts[i - 1]);
        d = lin_find_in_module(c, d->target, s, path->parts[i]);
    }
    return d;
}
