/* SPDX-License-Identifier: MIT */

/*
 * The pass over bodies. Constants and defaults are checked once alone, so that each finding in them
 * is reported once and their uses stay silent; then every function is lowered in order of
 * declaration. A `grad` clause is resolved with all findings dropped, and not kept.
 */

#include "lang/body.h"

#include <string.h>

static void body_start(body *b, checker *c, bodies *all, frame *f, const scope *where)
{
    *b = (body){ .c = c, .all = all };
    *f = lin_body_frame(b, where, NULL);
    b->frame = f;
    (void)lin_body_region_open(b);
}

/* ---- constants and defaults, alone ---- */

/* Facts in force must be in the solver. */
static void check_alone(checker *c, bodies *all, const scope *where, const ast_expr *e,
                        const lin_type *want)
{
    uint32_t before = c->diagnostics->error_count;
    body b;
    frame f;
    body_start(&b, c, all, &f, where);
    b.discarded = true;
    operand o = lin_body_inline(&b, where, NULL, e, want, e->span);
    if (c->diagnostics->error_count != before || lin_body_is_error(o))
        lin_body_add_faulty(c, all, e);
}

/* Those that declarations left to their uses. What is wrong with the others was reported
 * with them. */
static void check_constants(checker *c, bodies *all, const binding_list *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        const binding *n = &names->items[i];
        decl *d = n->decl;
        if (n->is_import || d == NULL)
            continue;
        if (d->kind == LIN_DECL_BLOCK)
            check_constants(c, all, &d->inner);
        if (d->kind != LIN_DECL_CONST)
            continue;
        lin_resolve_decl(c, d);
        const lin_type *type = d->constant.type;
        if (type == NULL || type->kind == LIN_TYPE_DIM || type->kind == LIN_TYPE_ERROR)
            continue;
        const scope where = lin_scope_of(d);
        lin_solver_clear(c->solver);
        check_alone(c, all, &where, d->item->value, type->kind == LIN_TYPE_FLOAT ? NULL : type);
    }
}

static void check_defaults(checker *c, bodies *all, const decl *d)
{
    const lin_function *f = d->function;
    const scope where = lin_scope_of(d);
    for (uint32_t i = 0; i < f->param_count; i++) {
        const ast_expr *e = d->item->params[i].default_value;
        if (e == NULL)
            continue;
        lin_assume_constraints(c, f->block, f);
        check_alone(c, all, &where, e, f->params[i].type);
    }
}

/* ---- functions ---- */

static void declare_params(body *b, const decl *d)
{
    const lin_function *f = d->function;
    for (uint32_t i = 0; i < f->param_count; i++) {
        const lin_param *p = &f->params[i];
        const ast_ident ident = { .name = p->name, .span = p->span };
        lin_value value = lin_body_region_arg(b, p->type);
        lin_body_declare(b, BIND_PARAM, ident, lin_body_operand(p->type, value, p->span));
    }
}

static void keep_operations(body *b, lin_function *f, operand result)
{
    bool gives = result.value != LIN_NO_VALUE;
    const lin_type **types = LIN_NEW_ARRAY(b->c->arena, const lin_type *, b->types.count);
    if (b->types.count > 0)
        memcpy(types, b->types.items, b->types.count * sizeof(*types));
    f->body = lin_body_region_done(b, b->region, &result.value, gives ? 1 : 0);
    f->value_types = types;
    f->value_count = b->types.count;
}

static void check_function(checker *c, bodies *all, const decl *d)
{
    body b;
    frame f;
    operand result;
    const scope where = lin_scope_of(d);

    lin_assume_constraints(c, d->function->block, d->function);
    body_start(&b, c, all, &f, &where);
    b.function = d->function;
    b.result = d->function->result;
    declare_params(&b, d);
    lin_body_statements(&b, &d->item->body, END_FUNCTION, d->span, &result);
    lin_body_scope_close(&b, 0);
    keep_operations(&b, d->function, result);
}

/* ---- grad clauses ---- */

/* Only for the names it uses: what it says is not kept, and its findings go nowhere. */
static void check_grad(checker *c, bodies *all, const decl *d)
{
    const ast_grad *grad = &d->item->grad;
    lin_diagnostics *shown = c->diagnostics;
    lin_diagnostics hidden;
    body b;
    frame f;
    operand result;
    const scope where = lin_scope_of(d);

    lin_diagnostics_init(&hidden, &c->scratch->allocator, 0);
    c->diagnostics = &hidden;
    lin_assume_constraints(c, d->function->block, d->function);
    body_start(&b, c, all, &f, &where);
    b.discarded = true;
    declare_params(&b, d);
    const lin_type *type = d->function->result;
    lin_body_declare(&b, BIND_PARAM, grad->y,
                     lin_body_operand(type, lin_body_region_arg(&b, type), d->span));
    lin_body_declare(&b, BIND_PARAM, grad->dy,
                     lin_body_operand(type, lin_body_region_arg(&b, type), d->span));
    lin_body_statements(&b, &grad->body, END_FUNCTION, grad->span, &result);
    lin_body_scope_close(&b, 0);
    c->diagnostics = shown;
}

static void check_all_constants(checker *c, bodies *all)
{
    lin_diagnostics *shown = c->diagnostics;
    lin_diagnostics hidden;
    lin_diagnostics_init(&hidden, &c->scratch->allocator, 0);
    if (shown->error_count > 0)
        c->diagnostics = &hidden;
    for (uint32_t i = 0; i < c->modules.count; i++)
        check_constants(c, all, &c->modules.items[i]->names);
    c->diagnostics = shown;
}

void lin_check_bodies(checker *c)
{
    bodies all = { 0 };
    check_all_constants(c, &all);
    for (uint32_t i = 0; i < c->functions.count; i++)
        check_defaults(c, &all, c->functions.items[i]);
    for (uint32_t i = 0; i < c->functions.count; i++) {
        const decl *d = c->functions.items[i];
        check_function(c, &all, d);
        if (d->item->grad.present)
            check_grad(c, &all, d);
    }
}
