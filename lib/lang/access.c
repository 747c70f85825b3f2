/* SPDX-License-Identifier: MIT */

/*
 * Accesses of index notation (language.md 12): every axis of the base is named by an index
 * variable, a pack index over the axes the others leave, or an integer scalar (a gather). A
 * variable's domain is what it indexes first; later uses must agree.
 *
 *     base      [ *S   H   4 ]        components   [ *s, h, 0 ]
 *     *s covers  *S, h has domain H, the position 0 is a constant
 */

#include "lang/body.h"

bool lin_body_in_notation(const body *b)
{
    return b->indices.count > b->frame->first_index;
}

static const char *axes_text(body *b, const lin_axis *axes, uint32_t count)
{
    const lin_type shape = { .kind = LIN_TYPE_SHAPE, .axes = axes, .axis_count = count };
    return count == 1 ? lin_dim_text(b->c, axes[0].dim) : lin_type_text(b->c, &shape);
}

bool lin_body_bind_index(body *b, index_variable *v, const lin_axis *axes, uint32_t count,
                         lin_span span)
{
    if (!v->bound) {
        v->bound = true;
        v->axes = axes;
        v->axis_count = count;
        return true;
    }
    bool same = v->axis_count == count;
    for (uint32_t i = 0; i < count && same; i++)
        same = lin_body_axes_equal(b, v->axes[i], axes[i]);
    if (same)
        return true;
    lin_diagnostic *d =
        lin_body_report(b, span, "E2201", "index `%s` is used with different extents",
                        lin_text_of(b->c, v->ident.name));
    lin_note(b->c, d, "its extent was `%s`", axes_text(b, v->axes, v->axis_count));
    lin_note(b->c, d, "here it is `%s`", axes_text(b, axes, count));
    return false;
}

static bool unbound(body *b, lin_name name, lin_span span)
{
    lin_diagnostic *d =
        lin_body_report(b, span, "E3101", "index `%s` is not bound", lin_text_of(b->c, name));
    lin_help(b->c, d, "nothing is summed implicitly: name it on the left or in a reduction");
    return false;
}

static bool pack_position(body *b, const ast_component *part, const lin_axis *axes, uint32_t count,
                          operand *out)
{
    index_variable *v = lin_body_find_index(b, part->pack.name);
    if (part->pack.name == 0)
        return false;
    if (v == NULL)
        return unbound(b, part->pack.name, part->pack.span);
    if (!v->is_pack) {
        lin_body_report(b, part->span, "E3106", "`%s` is no pack index",
                        lin_text_of(b->c, part->pack.name));
        return false;
    }
    *out = lin_body_operand(lin_scalar_type(b->c, LIN_DTYPE_I64), v->value, part->span);
    return lin_body_bind_index(b, v, axes, count, part->span);
}

static bool variable_position(body *b, index_variable *v, const ast_expr *e, const lin_axis *axis,
                              operand *out)
{
    if (v->is_pack) {
        lin_body_report(b, e->span, "E3106", "pack index `%s` is written `*%s`",
                        lin_text_of(b->c, v->ident.name), lin_text_of(b->c, v->ident.name));
        return false;
    }
    *out = lin_body_operand(lin_scalar_type(b->c, LIN_DTYPE_I64), v->value, e->span);
    return lin_body_bind_index(b, v, axis, 1, e->span);
}

static bool plain_position(body *b, const ast_expr *e, const lin_axis *axis, operand *out)
{
    if (axis->is_pack) {
        lin_diagnostic *d =
            lin_body_report(b, e->span, "E3106", "a shape pack is covered by a pack index only");
        lin_help(b->c, d, "write `*name` for it");
        return false;
    }
    if (e->kind == AST_NAME && e->as.name.name != 0) {
        index_variable *v = lin_body_find_index(b, e->as.name.name);
        if (v != NULL)
            return variable_position(b, v, e, axis, out);
        if (!lin_body_is_declared(b, e->as.name.name))
            return unbound(b, e->as.name.name, e->span);
    }
    if (!lin_body_position(b, e, axis, out))
        return false;
    if (out->type->kind == LIN_TYPE_DIM)
        *out = lin_body_adopt(b, *out, LIN_DTYPE_I64);
    return !lin_body_is_error(*out);
}

/* The number of axes the pack index covers; false after a report. */
static bool count_axes(body *b, const ast_expr *e, uint32_t rank, uint32_t *out_covered)
{
    uint32_t plain = 0, packs = 0;
    for (uint32_t i = 0; i < e->as.index.count; i++) {
        const ast_component *part = &e->as.index.components[i];
        if (part->kind != AST_INDEX_PACK) {
            plain++;
        } else if (++packs > 1) {
            lin_body_report(b, part->span, "E3106", "at most one pack index in an access");
            return false;
        }
    }
    if (plain > rank || (packs == 0 && plain < rank)) {
        lin_diagnostic *d =
            lin_body_report(b, e->span, "E2204", "%u indices for %u axes", plain, rank);
        if (plain < rank)
            lin_help(b->c, d, "index notation names every axis; `...` keeps axes whole");
        return false;
    }
    *out_covered = rank - plain;
    return true;
}

operand lin_body_access(body *b, const ast_expr *e, operand base)
{
    uint32_t count = e->as.index.count, covered, axis = 0;
    operand *operands = LIN_NEW_ARRAY(b->c->scratch, operand, count + 1);
    bool good = true;
    if (!count_axes(b, e, base.type->axis_count, &covered))
        return lin_body_error(e->span);

    operands[0] = base;
    for (uint32_t i = 0; i < count; i++) {
        const ast_component *part = &e->as.index.components[i];
        const lin_axis *at = &base.type->axes[axis];
        if (part->kind == AST_INDEX_PACK) {
            good = pack_position(b, part, at, covered, &operands[i + 1]) && good;
            axis += covered;
        } else {
            good = plain_position(b, part->expr, at, &operands[i + 1]) && good;
            axis++;
        }
    }
    if (!good)
        return lin_body_error(e->span);
    return lin_body_emit_one(b, LIN_OP_ELEMENT, e->span, operands, count + 1,
                             lin_scalar_type(b->c, base.type->dtype), NULL);
}
