/* SPDX-License-Identifier: MIT */

/*
 * if and match. Each branch is a region whose result is only made once all branches are known,
 * since literals take the dtype of the others: a region is left, then resumed for its last
 * operations.
 */

#include "lang/body.h"

#include <string.h>

typedef struct branch {
    region_builder *region;
    operand value;
    const ast_expr *e;
} branch;

static void eval_branch(body *b, branch *to, const ast_expr *e, const lin_type *hint)
{
    to->e = e;
    to->value = lin_body_eval(b, e, hint);
    to->value.span = e->span;
    lin_body_region_leave(b);
}

/* A `none` that no branch gives a type. */
static bool has_none(const lin_type *type)
{
    for (uint32_t i = 0; i < type->part_count; i++)
        if (has_none(type->parts[i]))
            return true;
    return type->kind == LIN_TYPE_NONE;
}

/* The one type of all branches; E2115. */
static const lin_type *joined_type(body *b, const branch *branches, uint32_t count,
                                   const lin_type *hint)
{
    const lin_type *type = branches[0].value.type;
    for (uint32_t i = 1; i < count; i++) {
        const lin_type *next = lin_body_join(b, type, branches[i].value.type);
        if (next == NULL) {
            lin_diagnostic *d =
                lin_body_report(b, branches[i].e->span, "E2115", "branches have different types");
            lin_note(b->c, d, "one is `%s`", lin_type_text(b->c, type));
            lin_note(b->c, d, "this one is `%s`", lin_type_text(b->c, branches[i].value.type));
            return &lin_error_type;
        }
        type = next;
    }
    type = lin_body_concrete(b, type, hint);
    if (has_none(type)) {
        lin_body_report(b, branches[0].e->span, "E2113",
                        "`none` needs an optional type from its context");
        return &lin_error_type;
    }
    if (type->kind == LIN_TYPE_SHAPE || type->kind == LIN_TYPE_BLOCK ||
        type->kind == LIN_TYPE_ARRAY) {
        lin_body_report(b, branches[0].e->span, "E2101", "`%s` is no value to keep",
                        lin_type_text(b->c, type));
        return &lin_error_type;
    }
    return type;
}

/* Ends each region with its result in the common type. */
static lin_region finish_branch(body *b, const branch *from, const lin_type *type)
{
    lin_body_region_resume(b, from->region);
    operand o = lin_body_coerce(b, from->value, type, "E2115");
    lin_body_region_leave(b);
    return lin_body_region_done(b, from->region, &o.value, type->kind == LIN_TYPE_UNIT ? 0 : 1);
}

static operand emit_branches(body *b, lin_op_kind kind, lin_span span, operand on,
                             const lin_type *type, lin_op **out_op)
{
    *out_op = lin_body_emit(b, kind, span, &on.value, 1);
    if (type->kind == LIN_TYPE_UNIT)
        return lin_body_operand(type, LIN_NO_VALUE, span);
    return lin_body_operand(type, lin_body_add_result(b, *out_op, type), span);
}

/* ---- if ---- */

static bool is_condition(body *b, operand o)
{
    if (o.type->kind == LIN_TYPE_SCALAR && o.type->dtype == LIN_DTYPE_BOOL)
        return true;
    if (lin_body_is_error(o))
        return false;
    lin_diagnostic *d =
        lin_body_report(b, o.span, "E2114", "a condition is a scalar `bool`, found `%s`",
                        lin_type_text(b->c, o.type));
    if (o.type->kind == LIN_TYPE_TENSOR)
        lin_help(b->c, d, "`select` chooses elementwise");
    return false;
}

operand lin_body_if(body *b, const ast_expr *e, const lin_type *hint)
{
    branch branches[2];
    lin_op *op;
    operand condition = lin_body_eval(b, e->as.branch.condition, NULL);
    condition.span = e->as.branch.condition->span;
    bool good = is_condition(b, condition);

    branches[0].region = lin_body_region_open(b);
    eval_branch(b, &branches[0], e->as.branch.then_value, hint);
    branches[1].region = lin_body_region_open(b);
    eval_branch(b, &branches[1], e->as.branch.else_value, hint);
    const lin_type *type = joined_type(b, branches, 2, hint);
    if (!good || type->kind == LIN_TYPE_ERROR)
        return lin_body_error(e->span);
    lin_region then_region = finish_branch(b, &branches[0], type);
    lin_region else_region = finish_branch(b, &branches[1], type);
    operand o = emit_branches(b, LIN_OP_IF, e->span, condition, type, &op);
    op->as.branch.then_region = then_region;
    op->as.branch.else_region = else_region;
    return o;
}

/* ---- match ---- */

/* The arms met so far. */
typedef struct coverage {
    bool some, none, any;
    bool *variants;
    uint32_t variants_met;
} coverage;

/* What an arm's pattern is against the scrutinee's type; E2117 when it cannot fit. */
static bool classify(body *b, const ast_pattern *p, const lin_type *type, lin_arm *arm)
{
    bool optional = type->kind == LIN_TYPE_OPTIONAL;
    switch (p->kind) {
    case AST_PATTERN_NAME:
        arm->kind = LIN_ARM_ANY;
        if (!optional && lin_variant_of(type->enumeration, p->name.name, &arm->variant))
            arm->kind = LIN_ARM_VARIANT;
        return true;
    case AST_PATTERN_SOME:
        arm->kind = LIN_ARM_SOME;
        break;
    case AST_PATTERN_NONE:
        arm->kind = LIN_ARM_NONE;
        break;
    case AST_PATTERN_TUPLE:
        optional = false;
        break;
    }
    if (!optional)
        lin_body_report(b, p->span, "E2117", "this pattern does not fit `%s`",
                        lin_type_text(b->c, type));
    return optional;
}

/* E2117 for what an earlier arm already takes. */
static bool is_reachable(body *b, const ast_pattern *p, const lin_arm *arm, coverage *seen)
{
    bool *met = NULL;
    switch (arm->kind) {
    case LIN_ARM_SOME:
        met = &seen->some;
        break;
    case LIN_ARM_NONE:
        met = &seen->none;
        break;
    case LIN_ARM_VARIANT:
        met = &seen->variants[arm->variant];
        break;
    case LIN_ARM_ANY:
        met = &seen->any;
        break;
    }
    if (seen->any || *met) {
        lin_body_report(b, p->span, "E2117", "an earlier arm takes this already");
        return false;
    }
    *met = true;
    seen->variants_met += arm->kind == LIN_ARM_VARIANT;
    return true;
}

static bool is_exhaustive(const coverage *seen, const lin_type *type)
{
    if (seen->any)
        return true;
    if (type->kind == LIN_TYPE_OPTIONAL)
        return seen->some && seen->none;
    return seen->variants_met == type->enumeration->variant_count;
}

static void eval_arm(body *b, const ast_arm *from, const lin_arm *arm, const lin_type *type,
                     branch *to, const lin_type *hint)
{
    const ast_pattern *p = from->pattern;
    uint32_t mark = lin_body_scope_open(b);

    to->region = lin_body_region_open(b);
    if (arm->kind == LIN_ARM_SOME) {
        const lin_type *inner = type->parts[0];
        lin_value value = lin_body_region_arg(b, inner);
        lin_body_bind_pattern(b, p->parts[0], lin_body_operand(inner, value, p->span));
    } else if (arm->kind == LIN_ARM_ANY && strcmp(lin_text_of(b->c, p->name.name), "_") != 0) {
        lin_value value = lin_body_region_arg(b, type);
        lin_body_declare(b, BIND_LET, p->name, lin_body_operand(type, value, p->span));
    }
    eval_branch(b, to, from->value, hint);
    lin_body_scope_close(b, mark);
}

/* What is matched: an optional or an enum, with a value. */
static operand scrutinee(body *b, const ast_expr *e)
{
    operand o = lin_body_eval(b, e->as.match.value, NULL);
    o.span = e->as.match.value->span;
    if (o.parts != NULL || o.type->kind == LIN_TYPE_NONE)
        o = lin_body_settle(b, o, false);
    if (lin_body_is_error(o) || o.type->kind == LIN_TYPE_OPTIONAL || o.type->kind == LIN_TYPE_ENUM)
        return o;
    lin_body_report(b, o.span, "E2117", "`match` takes an optional or an enum, found `%s`",
                    lin_type_text(b->c, o.type));
    return lin_body_error(o.span);
}

static bool eval_arms(body *b, const ast_expr *e, const lin_type *type, lin_arm *arms,
                      branch *branches, const lin_type *hint)
{
    coverage seen = { 0 };
    bool good = true;
    if (type->kind == LIN_TYPE_ENUM)
        seen.variants = LIN_NEW_ARRAY(b->c->scratch, bool, type->enumeration->variant_count);
    for (uint32_t i = 0; i < e->as.match.count; i++) {
        const ast_arm *from = &e->as.match.arms[i];
        if (!classify(b, from->pattern, type, &arms[i]) ||
            !is_reachable(b, from->pattern, &arms[i], &seen)) {
            good = false;
            continue;
        }
        eval_arm(b, from, &arms[i], type, &branches[i], hint);
    }
    if (good && !is_exhaustive(&seen, type)) {
        lin_body_report(b, e->span, "E2118", "not every value of `%s` has an arm",
                        lin_type_text(b->c, type));
        good = false;
    }
    return good;
}

operand lin_body_match(body *b, const ast_expr *e, const lin_type *hint)
{
    uint32_t count = e->as.match.count;
    lin_arm *arms = LIN_NEW_ARRAY(b->c->arena, lin_arm, count);
    branch *branches = LIN_NEW_ARRAY(b->c->scratch, branch, count);
    operand on = scrutinee(b, e);
    lin_op *op;

    if (lin_body_is_error(on) || count == 0 || !eval_arms(b, e, on.type, arms, branches, hint))
        return lin_body_error(e->span);
    const lin_type *type = joined_type(b, branches, count, hint);
    if (type->kind == LIN_TYPE_ERROR)
        return lin_body_error(e->span);
    for (uint32_t i = 0; i < count; i++)
        arms[i].region = finish_branch(b, &branches[i], type);
    operand o =
        emit_branches(b, on.type->kind == LIN_TYPE_ENUM ? LIN_OP_ENUM_MATCH : LIN_OP_OPTION_MATCH,
                      e->span, on, type, &op);
    op->as.match.arms = arms;
    op->as.match.count = count;
    return o;
}
