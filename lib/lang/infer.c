/* SPDX-License-Identifier: MIT */
/*
 * Inference of generics at a call (language.md 7.3). Arguments are unified with parameters one by
 * one, each binding what it determines at once; dimensions that mention several unknowns wait until
 * the end. Nothing backtracks, so a call costs its arguments' size times its generics.
 */

#include "lang/check.h"

#include <string.h>

void lin_inference_begin(checker *c, inference *call, const lin_generics *generics,
                         const lin_type *receiver)
{
    memset(call, 0, sizeof(*call));
    call->own.generics = generics;
    call->own.items = LIN_NEW_ARRAY(c->arena, lin_generic_arg, generics->count);
    call->own.bound = LIN_NEW_ARRAY(c->arena, bool, generics->count);
    for (uint32_t i = 0; i < generics->count; i++)
        call->own.items[i].kind = generics->items[i].kind;
    call->own.next = &call->outer;
    if (receiver != NULL && receiver->kind == LIN_TYPE_BLOCK) {
        call->outer.generics = &receiver->block->generics;
        call->outer.items = (lin_generic_arg *)(uintptr_t)receiver->args;
    }
}

/* The number of the callee's generic `symbol` when it is still unknown, else -1. */
static int64_t find_unbound(const inference *call, lin_symbol symbol)
{
    for (uint32_t i = 0; i < call->own.generics->count; i++)
        if (call->own.generics->items[i].symbol == symbol)
            return call->own.bound[i] ? -1 : (int64_t)i;
    return -1;
}

static bool mentions_unbound(checker *c, const inference *call, lin_expr e)
{
    for (uint32_t i = 0; i < call->own.generics->count; i++)
        if (!call->own.bound[i] &&
            lin_expr_mentions(c->program->dims, e, call->own.generics->items[i].symbol))
            return true;
    return false;
}

/* Binds the generic that `e` is, if it is exactly one that is still unknown. */
static bool bind_dim(checker *c, inference *call, lin_expr e, lin_expr argument)
{
    lin_symbol symbol;
    if (!lin_expr_any_symbol(c->program->dims, e, &symbol) ||
        e != lin_expr_of_symbol(c->program->dims, symbol))
        return false;
    int64_t i = find_unbound(call, symbol);
    if (i < 0 || call->own.generics->items[i].kind != LIN_GENERIC_DIM)
        return false;
    call->own.items[i].dim = argument;
    call->own.bound[i] = true;
    return true;
}

static unify_result unify_dim(checker *c, inference *call, lin_expr parameter, lin_expr argument,
                              lin_span span)
{
    if (parameter == LIN_EXPR_INVALID)
        return UNIFY_OK;
    bool open = mentions_unbound(c, call, parameter);
    lin_expr known = lin_substitute_dim(c, &call->own, parameter);
    if (open && bind_dim(c, call, known, argument))
        return UNIFY_OK;
    if (open) {
        const deferred_dim later = { .parameter = parameter, .argument = argument, .span = span };
        LIN_PUSH(c->scratch, &call->deferred, later);
        return UNIFY_OK;
    }
    if (known == LIN_EXPR_INVALID || argument == LIN_EXPR_INVALID ||
        lin_solver_equal(c->solver, known, argument))
        return UNIFY_OK;
    return UNIFY_SHAPE;
}

static unify_result unify_dtype(inference *call, lin_dtype_term parameter, lin_dtype_term argument)
{
    if (!lin_dtype_is_concrete(parameter)) {
        int64_t i = find_unbound(call, lin_dtype_symbol(parameter));
        if (i >= 0) {
            call->own.items[i].dtype = argument;
            call->own.bound[i] = true;
            return UNIFY_OK;
        }
        parameter = lin_substitute_dtype(&call->own, parameter);
    }
    return parameter == argument ? UNIFY_OK : UNIFY_DTYPE;
}

/* Parameter axes with bound packs spliced in; dimensions stay as written, since unify_dim has to
 * see which generics they mention. `open` is the place of the one unbound pack, or `count`. */
typedef struct axis_pattern {
    LIN_LIST(lin_axis) axes;
    uint32_t open;
    int64_t generic;
    bool ambiguous;
} axis_pattern;

static axis_pattern pattern_of(checker *c, const inference *call, const lin_axis *axes,
                               uint32_t count)
{
    axis_pattern p = { .generic = -1 };
    for (uint32_t i = 0; i < count; i++) {
        int64_t generic = axes[i].is_pack ? find_unbound(call, axes[i].pack) : -1;
        if (generic >= 0) {
            p.ambiguous |= p.generic >= 0;
            p.generic = generic;
            p.open = p.axes.count;
            LIN_PUSH(c->scratch, &p.axes, axes[i]);
        } else if (axes[i].is_pack) {
            uint32_t spliced = 0;
            const lin_axis *pack = lin_substitute_axes(c, &call->own, &axes[i], 1, &spliced);
            for (uint32_t k = 0; k < spliced; k++)
                LIN_PUSH(c->scratch, &p.axes, pack[k]);
        } else {
            LIN_PUSH(c->scratch, &p.axes, axes[i]);
        }
    }
    if (p.generic < 0)
        p.open = p.axes.count;
    return p;
}

static unify_result unify_run(checker *c, inference *call, const lin_axis *parameter,
                              const lin_axis *argument, uint32_t count, lin_span span)
{
    for (uint32_t i = 0; i < count; i++) {
        if (parameter[i].is_pack != argument[i].is_pack)
            return UNIFY_SHAPE;
        if (parameter[i].is_pack) {
            if (parameter[i].pack != argument[i].pack)
                return UNIFY_SHAPE;
            continue;
        }
        unify_result result = unify_dim(c, call, parameter[i].dim, argument[i].dim, span);
        if (result != UNIFY_OK)
            return result;
    }
    return UNIFY_OK;
}

/*    parameter   a  b  *S  c           the units before the unknown pack from the left, those after
 *    argument    1  2  3 4  5          it from the right; the pack takes the middle: S = [3, 4]  */
static unify_result unify_axes(checker *c, inference *call, const lin_axis *parameter,
                               uint32_t parameter_count, const lin_axis *argument,
                               uint32_t argument_count, lin_span span)
{
    axis_pattern p = pattern_of(c, call, parameter, parameter_count);
    bool has_pack = p.generic >= 0;
    uint32_t after = has_pack ? p.axes.count - p.open - 1 : 0;
    if (p.ambiguous || argument_count < p.open + after ||
        (!has_pack && argument_count != p.axes.count))
        return UNIFY_SHAPE;
    unify_result result = unify_run(c, call, p.axes.items, argument, p.open, span);
    if (result != UNIFY_OK || !has_pack)
        return result;
    call->own.items[p.generic].axes = argument + p.open;
    call->own.items[p.generic].axis_count = argument_count - p.open - after;
    call->own.bound[p.generic] = true;
    return unify_run(c, call, p.axes.items + p.open + 1, argument + argument_count - after, after,
                     span);
}

static unify_result unify_generic_args(checker *c, inference *call, const lin_type *parameter,
                                       const lin_type *argument, lin_span span)
{
    uint32_t count = lin_generic_count(parameter);
    for (uint32_t i = 0; i < count; i++) {
        const lin_generic_arg *p = &parameter->args[i], *a = &argument->args[i];
        unify_result result = UNIFY_OK;
        switch (p->kind) {
        case LIN_GENERIC_DIM:
            result = unify_dim(c, call, p->dim, a->dim, span);
            break;
        case LIN_GENERIC_SHAPE:
            result = unify_axes(c, call, p->axes, p->axis_count, a->axes, a->axis_count, span);
            break;
        case LIN_GENERIC_DTYPE:
            result = unify_dtype(call, p->dtype, a->dtype);
            break;
        }
        if (result != UNIFY_OK)
            return UNIFY_TYPE;
    }
    return UNIFY_OK;
}

static unify_result unify_parts(checker *c, inference *call, const lin_type *parameter,
                                const lin_type *argument, lin_span span)
{
    if (parameter->part_count != argument->part_count)
        return UNIFY_TYPE;
    for (uint32_t i = 0; i < parameter->part_count; i++)
        if (lin_unify_arg(c, call, parameter->parts[i], argument->parts[i], span) != UNIFY_OK)
            return UNIFY_TYPE;
    return UNIFY_OK;
}

static unify_result unify_tensor(checker *c, inference *call, const lin_type *parameter,
                                 const lin_type *argument, lin_span span)
{
    unify_result result = unify_dtype(call, parameter->dtype, argument->dtype);
    return result != UNIFY_OK ? result
                              : unify_axes(c, call, parameter->axes, parameter->axis_count,
                                           argument->axes, argument->axis_count, span);
}

static unify_result unify_scalar(inference *call, const lin_type *parameter,
                                 const lin_type *argument)
{
    if (argument->kind == LIN_TYPE_DIM || argument->kind == LIN_TYPE_FLOAT)
        return UNIFY_OK;
    if (argument->kind != LIN_TYPE_SCALAR)
        return UNIFY_TYPE;
    return unify_dtype(call, parameter->dtype, argument->dtype) == UNIFY_OK ? UNIFY_OK : UNIFY_TYPE;
}

unify_result lin_unify_arg(checker *c, inference *call, const lin_type *parameter,
                           const lin_type *argument, lin_span span)
{
    if (parameter->kind == LIN_TYPE_ERROR || argument->kind == LIN_TYPE_ERROR)
        return UNIFY_OK;
    if (parameter->kind == LIN_TYPE_SCALAR)
        return unify_scalar(call, parameter, argument);
    if (parameter->kind == LIN_TYPE_OPTIONAL && argument->kind == LIN_TYPE_NONE)
        return UNIFY_OK;
    if (parameter->kind != argument->kind)
        return UNIFY_TYPE;
    switch (parameter->kind) {
    case LIN_TYPE_TENSOR:
        return unify_tensor(c, call, parameter, argument, span);
    case LIN_TYPE_OPTIONAL:
        return lin_unify_arg(c, call, parameter->parts[0], argument->parts[0], span);
    case LIN_TYPE_TUPLE:
        return unify_parts(c, call, parameter, argument, span);
    case LIN_TYPE_ARRAY:
        if (unify_dim(c, call, parameter->dim, argument->dim, span) != UNIFY_OK)
            return UNIFY_TYPE;
        return unify_parts(c, call, parameter, argument, span);
    case LIN_TYPE_BLOCK:
        if (parameter->block != argument->block)
            return UNIFY_TYPE;
        return unify_generic_args(c, call, parameter, argument, span);
    case LIN_TYPE_STRUCT:
        if (parameter->structure != argument->structure)
            return UNIFY_TYPE;
        return unify_generic_args(c, call, parameter, argument, span);
    case LIN_TYPE_ENUM:
        if (parameter->enumeration != argument->enumeration)
            return UNIFY_TYPE;
        return unify_generic_args(c, call, parameter, argument, span);
    default:
        return UNIFY_OK;
    }
}

/* ---- the end of a call ---- */

static bool fill_defaults(checker *c, inference *call, lin_span span, const char *callee)
{
    for (uint32_t i = 0; i < call->own.generics->count; i++) {
        const lin_generic *generic = &call->own.generics->items[i];
        if (call->own.bound[i])
            continue;
        if (!generic->has_default) {
            lin_diagnostic *d =
                lin_report(c, span, "E2110", "generic `%s` of `%s` cannot be inferred",
                           lin_text_of(c, generic->name), callee);
            lin_help(c, d, "write it: `%s<...>(...)`", callee);
            return false;
        }
        call->own.items[i] = *lin_substitute_args(c, &call->own, &generic->default_arg, 1);
        call->own.bound[i] = true;
    }
    return true;
}

static bool prove_deferred(checker *c, inference *call)
{
    for (uint32_t i = 0; i < call->deferred.count; i++) {
        const deferred_dim *d = &call->deferred.items[i];
        lin_expr wanted = lin_substitute_dim(c, &call->own, d->parameter);
        if (wanted == LIN_EXPR_INVALID || d->argument == LIN_EXPR_INVALID ||
            lin_solver_equal(c->solver, wanted, d->argument))
            continue;
        lin_diagnostic *diagnostic = lin_report(c, d->span, "E2202", "shapes do not match");
        lin_note(c, diagnostic, "the parameter wants `%s` here", lin_dim_text(c, wanted));
        lin_note(c, diagnostic, "the argument has `%s`", lin_dim_text(c, d->argument));
        return false;
    }
    return true;
}

static const char *bound_text(lin_dtype_bound bound)
{
    switch (bound) {
    case LIN_BOUND_DTYPE:
        return "DType";
    case LIN_BOUND_NUMERIC:
        return "Numeric";
    case LIN_BOUND_INTEGER:
        return "Integer";
    case LIN_BOUND_FLOAT:
        return "Float";
    }
    return "DType";
}

bool lin_check_dtype_class(checker *c, const lin_generic *generic, lin_dtype_term dtype,
                           lin_span span)
{
    if (lin_dtype_satisfies(c, dtype, generic->bound))
        return true;
    lin_report(c, span, "E2112", "generic `%s` wants a dtype of class `%s`, found `%s`",
               lin_text_of(c, generic->name), bound_text(generic->bound), lin_dtype_text(c, dtype));
    return false;
}

bool lin_prove_constraints(checker *c, const subst *s, const lin_constraints *constraints,
                           lin_span span, const char *what)
{
    static const char *const spelling[] = { "==", "!=", "<", "<=", ">", ">=" };
    for (uint32_t i = 0; i < constraints->count; i++) {
        const lin_constraint *wanted = &constraints->items[i];
        lin_expr left = lin_substitute_dim(c, s, wanted->left);
        lin_expr right = lin_substitute_dim(c, s, wanted->right);
        if (left == LIN_EXPR_INVALID || right == LIN_EXPR_INVALID ||
            lin_solver_proves(c->solver, wanted->comparison, left, right))
            continue;
        lin_diagnostic *d =
            lin_report(c, span, "E2206", "a `where` of `%s` is not provable here", what);
        lin_note(c, d, "wanted: `%s %s %s`", lin_dim_text(c, left), spelling[wanted->comparison],
                 lin_dim_text(c, right));
        lin_help(c, d, "add it to the `where` clause of the declaration around");
        return false;
    }
    return true;
}

bool lin_inference_finish(checker *c, inference *call, const lin_constraints *constraints,
                          lin_span call_span, const char *callee_name)
{
    if (!fill_defaults(c, call, call_span, callee_name) || !prove_deferred(c, call))
        return false;
    for (uint32_t i = 0; i < call->own.generics->count; i++) {
        const lin_generic *generic = &call->own.generics->items[i];
        if (generic->kind == LIN_GENERIC_DTYPE &&
            !lin_check_dtype_class(c, generic, call->own.items[i].dtype, call_span))
            return false;
    }
    return lin_prove_constraints(c, &call->own, constraints, call_span, callee_name);
}
