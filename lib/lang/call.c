/* SPDX-License-Identifier: MIT */

/*
 * Calls: functions, methods, ops and struct values. Arguments are evaluated in the order written,
 * then unified with the parameters in their order, then literals take the dtypes inference found,
 * then missing defaults are lowered in parameter order. The operand list is in parameter order.
 */

#include "lang/body.h"

/* One parameter or field, and what a call gives it. */
typedef struct slot {
    lin_name name;
    const lin_type *type;
    const ast_expr *default_value; /* NULL: it must be given */
    const ast_arg *arg;            /* NULL: not given */
    operand value;
} slot;

/* What is called. */
typedef struct target {
    const ast_expr *e;
    const char *name;
    const lin_generics *generics;
    const lin_constraints *constraints;
    slot *slots;
    uint32_t slot_count;
    bool keywords_only;
    const char *mismatch; /* the code of a wrong argument; NULL: by what differs */
    scope home;           /* where defaults are looked up */
} target;

/* ---- arguments to parameters ---- */

static slot *find_slot(const target *t, lin_name name)
{
    for (uint32_t i = 0; i < t->slot_count; i++)
        if (t->slots[i].name == name)
            return &t->slots[i];
    return NULL;
}

static bool unknown_keyword(body *b, const target *t, ast_ident keyword)
{
    const char **names = LIN_NEW_ARRAY(b->c->scratch, const char *, t->slot_count);
    for (uint32_t i = 0; i < t->slot_count; i++)
        names[i] = lin_text_of(b->c, t->slots[i].name);
    const char *near = lin_nearest(lin_text_of(b->c, keyword.name), names, t->slot_count);
    lin_diagnostic *d = lin_body_report(b, keyword.span, "E2102", "`%s` has no parameter `%s`",
                                        t->name, lin_text_of(b->c, keyword.name));
    if (near != NULL)
        lin_help(b->c, d, "did you mean `%s`?", near);
    return false;
}

static bool place_arg(body *b, const target *t, uint32_t position, const ast_arg *arg)
{
    slot *to = NULL;
    if (arg->keyword.name != 0) {
        to = find_slot(t, arg->keyword.name);
        if (to == NULL)
            return unknown_keyword(b, t, arg->keyword);
    } else if (t->keywords_only) {
        lin_body_report(b, arg->value->span, "E2102", "the fields of `%s` are given by keyword",
                        t->name);
        return false;
    } else if (position >= t->slot_count) {
        lin_body_report(b, arg->value->span, "E2102", "`%s` takes %u arguments", t->name,
                        t->slot_count);
        return false;
    } else {
        to = &t->slots[position];
    }
    if (to->arg != NULL) {
        lin_body_report(b, arg->keyword.name != 0 ? arg->keyword.span : arg->value->span, "E2102",
                        "`%s` is given twice", lin_text_of(b->c, to->name));
        return false;
    }
    to->arg = arg;
    return true;
}

/* Reported of one call: each report compares names with all parameters. */
enum { MAX_BAD_ARGS = 16 };

static bool place_args(body *b, const target *t)
{
    const ast_arg *args = t->e->as.call.args;
    bool good = true, keyword = false;
    uint32_t before = lin_body_error_count(b);

    for (uint32_t i = 0; i < t->e->as.call.arg_count; i++) {
        if (lin_body_error_count(b) - before >= MAX_BAD_ARGS)
            break;
        if (keyword && args[i].keyword.name == 0) {
            lin_body_report(b, args[i].value->span, "E2102",
                            "a positional argument after a keyword argument");
            good = false;
            continue;
        }
        keyword = keyword || args[i].keyword.name != 0;
        good = place_arg(b, t, i, &args[i]) && good;
    }
    if (!good)
        return false;
    for (uint32_t i = 0; i < t->slot_count; i++) {
        if (t->slots[i].arg != NULL || t->slots[i].default_value != NULL)
            continue;
        lin_body_report(b, t->e->span, "E2102", "`%s` needs `%s`", t->name,
                        lin_text_of(b->c, t->slots[i].name));
        good = false;
    }
    return good;
}

/* A type whose dtype is the callee's own says nothing here. */
static const lin_type *hint_of(const lin_type *type)
{
    const lin_type *inner = type->kind == LIN_TYPE_OPTIONAL ? type->parts[0] : type;
    return inner->kind == LIN_TYPE_SCALAR && lin_dtype_is_concrete(inner->dtype) ? type : NULL;
}

static bool eval_args(body *b, const target *t)
{
    uint32_t count = t->e->as.call.arg_count;
    slot **by_arg = LIN_NEW_ARRAY(b->c->scratch, slot *, count);
    bool good = true;

    for (uint32_t i = 0; i < t->slot_count; i++)
        if (t->slots[i].arg != NULL)
            by_arg[t->slots[i].arg - t->e->as.call.args] = &t->slots[i];
    for (uint32_t i = 0; i < count; i++) {
        slot *s = by_arg[i];
        s->value = lin_body_eval(b, s->arg->value, hint_of(s->type));
        s->value.span = s->arg->value->span;
        good = good && !lin_body_is_error(s->value);
    }
    return good;
}

/* ---- inference ---- */

static bool explicit_args(body *b, const target *t, inference *call)
{
    const ast_type_args *args = &t->e->as.call.type_args;
    uint32_t before = lin_body_error_count(b);
    if (!args->written)
        return true;
    uint32_t count = lin_body_type_args(b, t->generics, args, call->own.items);
    for (uint32_t i = 0; i < count; i++)
        call->own.bound[i] = true;
    return lin_body_error_count(b) == before;
}

static void wrong_arg(body *b, const target *t, const inference *call, const slot *s,
                      unify_result result)
{
    static const char *const codes[] = {
        [UNIFY_OK] = "E2101",
        [UNIFY_DTYPE] = "E2103",
        [UNIFY_SHAPE] = "E2202",
        [UNIFY_TYPE] = "E2101",
    };
    const lin_type *want = lin_substitute_type(b->c, &call->own, s->type);
    const char *code = t->mismatch != NULL ? t->mismatch : codes[result];
    if (s->value.type->kind == LIN_TYPE_NONE)
        code = "E2113";
    lin_diagnostic *d = lin_body_report(
        b, s->value.span, code, "`%s` of `%s` is `%s`, found `%s`", lin_text_of(b->c, s->name),
        t->name, lin_type_text(b->c, want), lin_type_text(b->c, s->value.type));
    if (want->kind == LIN_TYPE_OPTIONAL && s->value.type->kind != LIN_TYPE_OPTIONAL)
        lin_help(b->c, d, "wrap the value in some(...)");
}

static bool infer(body *b, const target *t, inference *call)
{
    bool good = true;
    for (uint32_t i = 0; i < t->slot_count; i++) {
        slot *s = &t->slots[i];
        if (s->arg == NULL)
            continue;
        unify_result result = lin_unify_arg(b->c, call, s->type, s->value.type, s->value.span);
        if (result == UNIFY_OK)
            continue;
        wrong_arg(b, t, call, s, result);
        good = false;
    }
    return good && lin_inference_finish(b->c, call, t->constraints, t->e->span, t->name);
}

static bool coerce_args(body *b, const target *t, const inference *call)
{
    bool good = true;
    for (uint32_t i = 0; i < t->slot_count; i++) {
        slot *s = &t->slots[i];
        if (s->arg == NULL)
            continue;
        const lin_type *want = lin_substitute_type(b->c, &call->own, s->type);
        s->value = lin_body_coerce(b, s->value, want, t->mismatch);
        good = good && !lin_body_is_error(s->value);
    }
    for (uint32_t i = 0; i < t->slot_count && good; i++) {
        slot *s = &t->slots[i];
        if (s->arg != NULL)
            continue;
        const lin_type *want = lin_substitute_type(b->c, &call->own, s->type);
        s->value = lin_body_inline(b, &t->home, &call->own, s->default_value, want, t->e->span);
        good = good && !lin_body_is_error(s->value);
    }
    return good;
}

/* Everything up to the operation; false after a report. */
static bool prepare(body *b, const target *t, inference *call, const lin_type *receiver)
{
    lin_inference_begin(b->c, call, t->generics, receiver);
    bool placed = place_args(b, t);
    bool explicit = explicit_args(b, t, call);
    if (!placed || !eval_args(b, t) || !explicit)
        return false;
    return infer(b, t, call) && coerce_args(b, t, call);
}

/* ---- functions ---- */

static target function_target(body *b, const ast_expr *e, const lin_function *f)
{
    const decl *d = decl_of_function(b->c, f);
    target t = { .e = e,
                 .name = lin_text_of(b->c, f->name),
                 .generics = &f->generics,
                 .constraints = &f->constraints,
                 .slot_count = f->param_count,
                 .home = lin_scope_of(d) };
    t.slots = LIN_NEW_ARRAY(b->c->scratch, slot, f->param_count);
    for (uint32_t i = 0; i < f->param_count; i++)
        t.slots[i] = (slot){ .name = f->params[i].name,
                             .type = f->params[i].type,
                             .default_value = d->item->params[i].default_value };
    return t;
}

/* The call itself: `receiver` NULL for a function and for a method of the running block. */
static operand emit_call(body *b, const target *t, const lin_function *f, const inference *call,
                         const operand *receiver)
{
    uint32_t first = receiver != NULL ? 1 : 0;
    lin_value *values = LIN_NEW_ARRAY(b->c->scratch, lin_value, t->slot_count + first);
    if (receiver != NULL)
        values[0] = receiver->value;
    for (uint32_t i = 0; i < t->slot_count; i++)
        values[first + i] = t->slots[i].value.value;

    lin_op *op = lin_body_emit(b, f->kind == LIN_FUNCTION_OP ? LIN_OP_SEMANTIC_CALL : LIN_OP_CALL,
                               t->e->span, values, t->slot_count + first);
    op->as.call.callee = f;
    op->as.call.substitution =
        (lin_substitution){ .generics = &f->generics, .items = call->own.items };
    op->as.call.has_receiver = receiver != NULL;
    op->as.call.on_self = receiver == NULL && f->block != NULL;

    const lin_type *result = lin_substitute_type(b->c, &call->own, f->result);
    if (result->kind == LIN_TYPE_UNIT || result->kind == LIN_TYPE_ERROR)
        return lin_body_operand(result, LIN_NO_VALUE, t->e->span);
    return lin_body_operand(result, lin_body_add_result(b, op, result), t->e->span);
}

static operand call_function(body *b, const ast_expr *e, const lin_function *f,
                             const operand *receiver)
{
    inference call;
    if (f == NULL)
        return lin_body_error(e->span);
    target t = function_target(b, e, f);
    if (!prepare(b, &t, &call, receiver == NULL ? NULL : receiver->type))
        return lin_body_error(e->span);
    return emit_call(b, &t, f, &call, receiver);
}

/* ---- struct values ---- */

static operand make_struct(body *b, const ast_expr *e, const lin_struct *structure)
{
    static const lin_constraints none = { 0 };
    inference call;
    if (structure == NULL)
        return lin_body_error(e->span);

    target t = { .e = e,
                 .name = lin_text_of(b->c, structure->name),
                 .generics = &structure->generics,
                 .constraints = &none,
                 .slot_count = structure->field_count,
                 .keywords_only = true,
                 .mismatch = "E2101" };
    t.slots = LIN_NEW_ARRAY(b->c->scratch, slot, t.slot_count);
    for (uint32_t i = 0; i < t.slot_count; i++)
        t.slots[i] = (slot){ .name = structure->fields[i].name, .type = structure->fields[i].type };
    if (!prepare(b, &t, &call, NULL))
        return lin_body_error(e->span);

    operand *parts = LIN_NEW_ARRAY(b->c->scratch, operand, t.slot_count);
    const lin_type **types = LIN_NEW_ARRAY(b->c->arena, const lin_type *, t.slot_count);
    for (uint32_t i = 0; i < t.slot_count; i++) {
        parts[i] = t.slots[i].value;
        types[i] = lin_substitute_type(b->c, &call.own, t.slots[i].type);
    }
    lin_type *type = LIN_NEW(b->c->arena, lin_type);
    *type = (lin_type){ .kind = LIN_TYPE_STRUCT,
                        .structure = structure,
                        .args = call.own.items,
                        .parts = types,
                        .part_count = t.slot_count };
    if (!lin_check_type_size(b->c, e->span, type))
        return lin_body_error(e->span);
    return lin_body_emit_one(b, LIN_OP_TUPLE_MAKE, e->span, parts, t.slot_count, type, NULL);
}

/* ---- what stands before the parenthesis ---- */

static operand not_callable(body *b, lin_span span, const ast_expr *e)
{
    lin_body_report(b, span, "E2106", "this is not a function");
    return lin_body_error(e->span);
}

static operand call_decl(body *b, const ast_expr *e, const decl *d, lin_span span)
{
    switch (d->kind) {
    case LIN_DECL_FUNCTION:
        if (d->owner != NULL && b->frame->origin != NULL)
            return not_callable(b, span, e);
        return call_function(b, e, d->function, NULL);
    case LIN_DECL_STRUCT:
        return make_struct(b, e, d->structure);
    case LIN_DECL_KERNEL:
        lin_body_report(b, span, "E2190", "calling a kernel directly is not supported");
        return lin_body_error(e->span);
    case LIN_DECL_CONST:
    case LIN_DECL_ALIAS:
    case LIN_DECL_ENUM:
    case LIN_DECL_BLOCK:
    case LIN_DECL_MODULE:
        break;
    }
    return not_callable(b, span, e);
}

static operand call_name(body *b, const ast_expr *e, const lin_type *hint)
{
    ast_ident ident = e->as.call.callee->as.name;
    bool reported = false;
    if (ident.name == 0)
        return lin_body_error(e->span);
    decl *d = lin_body_path_decl(b, e->as.call.callee, &reported);
    if (d != NULL)
        return call_decl(b, e, d, ident.span);
    if (lin_body_prelude_find(lin_text_of(b->c, ident.name)))
        return lin_body_prelude(b, e, ident, hint);
    if (lin_body_is_declared(b, ident.name) || lin_body_find_index(b, ident.name) != NULL)
        return not_callable(b, ident.span, e);
    lin_report_undeclared(b->c, &b->frame->scope, ident);
    return lin_body_error(e->span);
}

static operand call_method(body *b, const ast_expr *e, operand base)
{
    ast_ident ident = e->as.call.callee->as.member.member;
    const lin_block *block = base.type->block;

    for (uint32_t i = 0; i < block->method_count; i++) {
        const lin_function *f = block->methods[i];
        if (f->name != ident.name)
            continue;
        if (!f->is_public && f->module != b->frame->scope.module->module) {
            lin_body_report(b, ident.span, "E1203", "method `%s` of `%s` is private",
                            lin_text_of(b->c, ident.name), lin_text_of(b->c, block->name));
            return lin_body_error(e->span);
        }
        return call_function(b, e, f, &base);
    }
    if (lin_body_find_member(block, ident.name) != NULL)
        return not_callable(b, ident.span, e);
    lin_body_report(b, ident.span, "E2107", "block `%s` has no method `%s`",
                    lin_text_of(b->c, block->name), lin_text_of(b->c, ident.name));
    return lin_body_error(e->span);
}

static operand call_member(body *b, const ast_expr *e)
{
    const ast_expr *callee = e->as.call.callee;
    ast_ident ident = callee->as.member.member;
    bool reported = false;
    decl *d = lin_body_path_decl(b, callee, &reported);
    if (d != NULL)
        return call_decl(b, e, d, ident.span);
    if (reported || ident.name == 0)
        return lin_body_error(e->span);
    decl *owner = lin_body_path_decl(b, callee->as.member.base, &reported);
    if (owner != NULL && owner->kind == LIN_DECL_ENUM)
        return not_callable(b, ident.span, e);

    operand base = lin_body_eval(b, callee->as.member.base, NULL);
    if (lin_body_is_error(base))
        return lin_body_error(e->span);
    if (base.type->kind == LIN_TYPE_BLOCK)
        return call_method(b, e, base);
    lin_diagnostic *r =
        lin_body_report(b, ident.span, "E2107", "`%s` has no method `%s`",
                        lin_type_text(b->c, base.type), lin_text_of(b->c, ident.name));
    if (base.type->kind == LIN_TYPE_OPTIONAL)
        lin_help(b->c, r, "`match` the optional value first");
    return lin_body_error(e->span);
}

operand lin_body_call(body *b, const ast_expr *e, const lin_type *hint)
{
    const ast_expr *callee = e->as.call.callee;
    if (callee->kind == AST_ERROR)
        return lin_body_error(e->span);
    if (callee->kind == AST_NAME)
        return call_name(b, e, hint);
    if (callee->kind == AST_MEMBER)
        return call_member(b, e);
    return not_callable(b, callee->span, e);
}
