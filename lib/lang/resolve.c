/* SPDX-License-Identifier: MIT */
/*
 * Written types and generic arguments. A type that names a declaration resolves that declaration
 * first (declare.c), so order in the file does not matter and a circle is met where it closes.
 * Nothing here looks into a body.
 */

#include "lang/check.h"

static lin_axis axis_of_pack(checker *c, const lin_generic *pack)
{
    return (lin_axis){ .is_pack = true,
                       .pack = pack->symbol,
                       .dim = lin_expr_of_symbol(c->program->dims, pack->symbol) };
}

/* ---- generic arguments ---- */

static lin_generic_arg wrong_arg(checker *c, const lin_generic *generic, lin_span span)
{
    static const char *const wanted[] = { "a dimension", "a shape", "a dtype" };
    lin_report(c, span, "E2111", "generic `%s` wants %s", lin_text_of(c, generic->name),
               wanted[generic->kind]);
    lin_generic_arg arg = { .kind = generic->kind, .dtype = LIN_DTYPE_F32 };
    return arg;
}

/* A bare name, which the parser always makes a type. */
static const ast_ident *bare_name(const ast_type_arg *arg)
{
    const ast_type *type = arg->type;
    return type != NULL && type->kind == AST_TYPE_NAMED && !type->optional && !type->args.written &&
                   type->path.count == 1
               ? &type->path.parts[0]
               : NULL;
}

static bool is_local(const scope *s, lin_name name)
{
    lin_expr ignored;
    return s->local != NULL && s->local(s->local_user, name, &ignored) != LOCAL_NONE;
}

/* `module.CONSTANT`, which parses as a type too */
static bool is_module_path(const ast_type *type)
{
    return type != NULL && type->kind == AST_TYPE_NAMED && !type->optional && !type->args.written &&
           type->path.count == 2;
}

static lin_generic_arg resolve_dim_arg(checker *c, const scope *s, const lin_generic *generic,
                                       const ast_type_arg *written)
{
    lin_generic_arg arg = { .kind = LIN_GENERIC_DIM };
    const ast_ident *name = bare_name(written);
    if (written->dim != NULL && written->dim->kind != AST_SHAPE) {
        arg.dim = lin_resolve_dim(c, s, written->dim);
        return arg;
    }
    if (name != NULL) {
        const lin_generic *other = is_local(s, name->name) ? NULL : lin_find_generic(s, name->name);
        if ((other != NULL && other->kind != LIN_GENERIC_DIM) || lin_is_prelude_name(c, name->name))
            return wrong_arg(c, generic, written->span);
        arg.dim = lin_dim_of_name(c, s, *name);
        return arg;
    }
    if (is_module_path(written->type)) {
        decl *d = lin_find_path(c, s, &written->type->path);
        if (d != NULL && d->kind == LIN_DECL_CONST)
            arg.dim = lin_constant_dim(c, d, written->span);
        return d == NULL || d->kind == LIN_DECL_CONST ? arg : wrong_arg(c, generic, written->span);
    }
    return wrong_arg(c, generic, written->span);
}

static const lin_generic *named_pack(const scope *s, lin_name name)
{
    const lin_generic *generic = is_local(s, name) ? NULL : lin_find_generic(s, name);
    return generic != NULL && generic->kind == LIN_GENERIC_SHAPE ? generic : NULL;
}

/* `[A, 2 * B]`; a pack among the items is spliced in. */
static void resolve_shape(checker *c, const scope *s, const ast_expr *literal, lin_generic_arg *out)
{
    lin_axis *axes = LIN_NEW_ARRAY(c->arena, lin_axis, literal->as.list.count);
    for (uint32_t i = 0; i < literal->as.list.count; i++) {
        const ast_expr *item = literal->as.list.items[i];
        const lin_generic *pack = item->kind == AST_NAME ? named_pack(s, item->as.name.name) : NULL;
        axes[i] =
            pack != NULL ? axis_of_pack(c, pack) : lin_axis_of_dim(lin_resolve_dim(c, s, item));
    }
    out->axes = axes;
    out->axis_count = literal->as.list.count;
}

static lin_generic_arg resolve_shape_arg(checker *c, const scope *s, const lin_generic *generic,
                                         const ast_type_arg *written)
{
    lin_generic_arg arg = { .kind = LIN_GENERIC_SHAPE };
    if (written->dim != NULL && written->dim->kind == AST_SHAPE) {
        resolve_shape(c, s, written->dim, &arg);
        return arg;
    }
    const ast_ident *name = bare_name(written);
    const lin_generic *pack = name != NULL ? named_pack(s, name->name) : NULL;
    if (pack != NULL) {
        lin_axis *axis = LIN_NEW(c->arena, lin_axis);
        *axis = axis_of_pack(c, pack);
        arg.axes = axis;
        arg.axis_count = 1;
        return arg;
    }
    if (name != NULL && !is_local(s, name->name) && lin_find_generic(s, name->name) == NULL &&
        lin_find_item(c, s, name->name) == NULL && !lin_is_prelude_name(c, name->name)) {
        lin_report_undeclared(c, s, *name);
        return arg;
    }
    return wrong_arg(c, generic, written->span);
}

static lin_generic_arg resolve_dtype_arg(checker *c, const scope *s, const lin_generic *generic,
                                         const ast_type_arg *written)
{
    lin_generic_arg arg = { .kind = LIN_GENERIC_DTYPE, .dtype = LIN_DTYPE_F32 };
    const ast_ident *name = bare_name(written);
    const lin_generic *other = name != NULL ? lin_find_generic(s, name->name) : NULL;
    if (written->type == NULL || (other != NULL && other->kind != LIN_GENERIC_DTYPE))
        return wrong_arg(c, generic, written->span);
    const lin_type *type = lin_resolve_any_type(c, s, written->type);
    if (type->kind == LIN_TYPE_ERROR)
        return arg;
    if (type->kind != LIN_TYPE_SCALAR)
        return wrong_arg(c, generic, written->span);
    if (lin_check_dtype_class(c, generic, type->dtype, written->span))
        arg.dtype = type->dtype;
    return arg;
}

lin_generic_arg lin_resolve_type_arg(checker *c, const scope *s, const lin_generic *generic,
                                     const ast_type_arg *written)
{
    switch (generic->kind) {
    case LIN_GENERIC_DIM:
        return resolve_dim_arg(c, s, generic, written);
    case LIN_GENERIC_SHAPE:
        return resolve_shape_arg(c, s, generic, written);
    case LIN_GENERIC_DTYPE:
        break;
    }
    return resolve_dtype_arg(c, s, generic, written);
}

uint32_t lin_resolve_type_args(checker *c, const scope *s, const lin_generics *generics,
                               const ast_type_args *args, lin_generic_arg *out)
{
    uint32_t count = args->written ? args->count : 0;
    if (count > generics->count) {
        lin_report(c, args->items[generics->count].span, "E2111",
                   "%u generic arguments where at most %u are wanted", (unsigned)count,
                   (unsigned)generics->count);
        count = generics->count;
    }
    for (uint32_t i = 0; i < count; i++)
        out[i] = lin_resolve_type_arg(c, s, &generics->items[i], &args->items[i]);
    return count;
}

/* All arguments of a nominal type or an alias: the written prefix, then defaults. NULL after a
 * report. */
static lin_generic_arg *complete_args(checker *c, const scope *s, const lin_generics *generics,
                                      const ast_type *type, const decl *d)
{
    uint32_t errors = c->diagnostics->error_count;
    lin_generic_arg *args = LIN_NEW_ARRAY(c->arena, lin_generic_arg, generics->count);
    uint32_t written = lin_resolve_type_args(c, s, generics, &type->args, args);
    if (errors != c->diagnostics->error_count)
        return NULL;
    bool *bound = LIN_NEW_ARRAY(c->scratch, bool, generics->count);
    const subst known = { .generics = generics, .items = args, .bound = bound };
    for (uint32_t i = 0; i < generics->count; i++) {
        const lin_generic *generic = &generics->items[i];
        if (i >= written && !generic->has_default) {
            lin_report(c, type->span, "E2110", "generic `%s` of `%s` is not given",
                       lin_text_of(c, generic->name), lin_text_of(c, d->name));
            return NULL;
        }
        if (i >= written)
            args[i] = *lin_substitute_args(c, &known, &generic->default_arg, 1);
        bound[i] = true;
    }
    return args;
}

/* ---- types ---- */

static const lin_type *struct_type(checker *c, const lin_struct *structure, lin_generic_arg *args)
{
    lin_type *type = LIN_NEW(c->arena, lin_type);
    const lin_type **parts = LIN_NEW_ARRAY(c->arena, const lin_type *, structure->field_count);
    const subst known = { .generics = &structure->generics, .items = args };
    for (uint32_t i = 0; i < structure->field_count; i++)
        parts[i] = lin_substitute_type(c, &known, structure->fields[i].type);
    type->kind = LIN_TYPE_STRUCT;
    type->structure = structure;
    type->args = args;
    type->parts = parts;
    type->part_count = structure->field_count;
    return type;
}

static const lin_generics *generics_of(const decl *d)
{
    switch (d->kind) {
    case LIN_DECL_BLOCK:
        return &d->block->generics;
    case LIN_DECL_STRUCT:
        return &d->structure->generics;
    case LIN_DECL_ENUM:
        return &d->enumeration->generics;
    case LIN_DECL_ALIAS:
        return &d->alias.generics;
    default:
        return NULL;
    }
}

static const lin_type *type_of_args(checker *c, const decl *d, lin_generic_arg *args)
{
    if (d->kind == LIN_DECL_ALIAS) {
        const subst known = { .generics = &d->alias.generics, .items = args };
        return lin_substitute_type(c, &known, d->alias.type);
    }
    if (d->kind == LIN_DECL_STRUCT)
        return struct_type(c, d->structure, args);
    lin_type *type = LIN_NEW(c->arena, lin_type);
    type->kind = d->kind == LIN_DECL_BLOCK ? LIN_TYPE_BLOCK : LIN_TYPE_ENUM;
    type->block = d->block;
    type->enumeration = d->enumeration;
    type->args = args;
    return type;
}

static const lin_type *type_of_decl(checker *c, const scope *s, decl *d, const ast_type *written)
{
    const lin_generics *generics = generics_of(d);
    const ast_ident last = written->path.parts[written->path.count - 1];
    if (generics == NULL) {
        lin_report(c, last.span, "E1208", "`%s` is no type", lin_text_of(c, last.name));
        return &lin_error_type;
    }
    lin_resolve_decl_at(c, d, written->span);
    if (d->state != LIN_DECL_DONE)
        return &lin_error_type;
    lin_generic_arg *args = complete_args(c, s, generics, written, d);
    if (args == NULL)
        return &lin_error_type;
    const lin_type *type = type_of_args(c, d, args);
    return lin_check_type_size(c, written->span, type) ? type : &lin_error_type;
}

static const lin_type *scalar_without_args(checker *c, const ast_type *written,
                                           lin_dtype_term dtype)
{
    if (!written->args.written)
        return lin_scalar_type(c, dtype);
    lin_report(c, written->args.span, "E2111", "a dtype takes no generic arguments");
    return &lin_error_type;
}

static const lin_type *resolve_named(checker *c, const scope *s, const ast_type *written)
{
    if (written->path.count == 0 || written->path.parts[0].name == 0)
        return &lin_error_type;
    const ast_ident name = written->path.parts[0];
    if (written->path.count == 1) {
        const char *text = lin_text_of(c, name.name);
        lin_dtype dtype;
        uint64_t length = 0;
        while (text[length] != '\0')
            length++;
        if (lin_dtype_find(text, length, &dtype))
            return scalar_without_args(c, written, (lin_dtype_term)dtype);
        const lin_generic *generic = lin_find_generic(s, name.name);
        if (generic != NULL && generic->kind == LIN_GENERIC_DTYPE)
            return scalar_without_args(c, written, lin_dtype_of_symbol(generic->symbol));
        if (generic != NULL || (lin_is_prelude_name(c, name.name))) {
            lin_report(c, name.span, "E1208", "`%s` is no type", text);
            return &lin_error_type;
        }
    }
    decl *d = lin_find_path(c, s, &written->path);
    return d == NULL ? &lin_error_type : type_of_decl(c, s, d, written);
}

static bool resolve_pack_axis(checker *c, const scope *s, ast_ident ident, lin_axis *out)
{
    const lin_generic *generic = lin_find_generic(s, ident.name);
    if (generic != NULL && generic->kind == LIN_GENERIC_SHAPE) {
        *out = axis_of_pack(c, generic);
        return true;
    }
    if (generic == NULL && lin_find_item(c, s, ident.name) == NULL &&
        !lin_is_prelude_name(c, ident.name))
        lin_report_undeclared(c, s, ident);
    else if (ident.name != 0)
        lin_report(c, ident.span, "E1208", "`%s` is no shape pack", lin_text_of(c, ident.name));
    return false;
}

static const lin_type *resolve_tensor(checker *c, const scope *s, const ast_type *written)
{
    lin_axis *axes = LIN_NEW_ARRAY(c->arena, lin_axis, written->axis_count);
    bool ok = true;
    for (uint32_t i = 0; i < written->axis_count; i++) {
        const ast_axis *axis = &written->axes[i];
        if (axis->is_pack)
            ok = resolve_pack_axis(c, s, axis->pack, &axes[i]) && ok;
        else
            axes[i] = lin_axis_of_dim(lin_resolve_dim(c, s, axis->dim));
        ok = ok && (axis->is_pack || axes[i].dim != LIN_EXPR_INVALID);
    }
    const lin_type *element = lin_resolve_any_type(c, s, written->element);
    if (element->kind == LIN_TYPE_ERROR || !ok)
        return &lin_error_type;
    if (element->kind != LIN_TYPE_SCALAR) {
        lin_report(c, written->element->span, "E2101", "a tensor's element is a dtype, not `%s`",
                   lin_type_text(c, element));
        return &lin_error_type;
    }
    return lin_tensor_type(c, axes, written->axis_count, element->dtype);
}

static const lin_type *resolve_tuple(checker *c, const scope *s, const ast_type *written)
{
    const lin_type **parts = LIN_NEW_ARRAY(c->scratch, const lin_type *, written->part_count);
    bool ok = true;
    for (uint32_t i = 0; i < written->part_count; i++) {
        parts[i] = lin_resolve_type(c, s, written->parts[i]);
        ok = ok && parts[i]->kind != LIN_TYPE_ERROR;
    }
    if (!ok)
        return &lin_error_type;
    const lin_type *type = lin_tuple_type(c, parts, written->part_count);
    return lin_check_type_size(c, written->span, type) ? type : &lin_error_type;
}

static const lin_type *resolve_array(checker *c, const scope *s, const ast_type *written)
{
    const lin_type *element = lin_resolve_any_type(c, s, written->element);
    lin_expr length = lin_resolve_dim(c, s, written->length);
    if (element->kind == LIN_TYPE_ERROR || length == LIN_EXPR_INVALID)
        return &lin_error_type;
    lin_type *type = LIN_NEW(c->arena, lin_type);
    const lin_type **part = LIN_NEW(c->arena, const lin_type *);
    *part = element;
    type->kind = LIN_TYPE_ARRAY;
    type->parts = part;
    type->part_count = 1;
    type->dim = length;
    return type;
}

const lin_type *lin_resolve_any_type(checker *c, const scope *s, const ast_type *written)
{
    const lin_type *type = &lin_error_type;
    if (written == NULL)
        return type;
    switch (written->kind) {
    case AST_TYPE_NAMED:
        type = resolve_named(c, s, written);
        break;
    case AST_TYPE_TENSOR:
        type = resolve_tensor(c, s, written);
        break;
    case AST_TYPE_TUPLE:
        type = resolve_tuple(c, s, written);
        break;
    case AST_TYPE_ARRAY:
        type = resolve_array(c, s, written);
        break;
    }
    return written->optional ? lin_optional_type(c, type) : type;
}

/* Blocks are structure: they occur only as a `sub`. */
static bool holds_block(const lin_type *type)
{
    if (type->kind == LIN_TYPE_BLOCK || type->kind == LIN_TYPE_ARRAY)
        return true;
    return type->kind == LIN_TYPE_OPTIONAL && holds_block(type->parts[0]);
}

const lin_type *lin_resolve_type(checker *c, const scope *s, const ast_type *type)
{
    const lin_type *resolved = lin_resolve_any_type(c, s, type);
    if (!holds_block(resolved))
        return resolved;
    lin_report(c, type->span, "E1208", "`%s` is no type of a value: only a `sub` holds a block",
               lin_type_text(c, resolved));
    return &lin_error_type;
}
