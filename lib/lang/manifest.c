/* SPDX-License-Identifier: MIT */
/*
 * The manifest of a bound block (language.md 15.3): every param, buffer and state below it with its
 * path, shape and repeats, depth first in declaration order. Each block value of the hierarchy is
 * entered once; an array is entered once whatever its length, which becomes a repeat.
 */

#include "lang/lang.h"

enum {
    MAX_DEPTH = 256,       /* blocks inside each other */
    MAX_VISITS = 1u << 20, /* members: two subs of one block double with every level */
};

typedef struct walker {
    lin_arena *arena;
    const lin_program *program;
    linnet_error *err;
    LIN_LIST(lin_manifest_entry) entries;
    uint32_t visits;
} walker;

/* One block value of the hierarchy. */
typedef struct place {
    const lin_block *block;
    const lin_env *env;
    const char *path; /* "" at the root */
    const lin_expr *repeats;
    uint32_t repeat_count;
    bool optional;
    uint32_t depth;
} place;

static const char *join(walker *w, const char *path, lin_name name, const char *end)
{
    return lin_arena_format(w->arena, "%s%s%s%s", path, path[0] == '\0' ? "" : ".",
                            lin_names_text(w->program->names, name), end);
}

static linnet_status overflow(walker *w, const lin_manifest_entry *entry)
{
    return lin_fail(w->err, LINNET_ERROR_OVERFLOW, "the shape of `%s` does not fit in 64 bits",
                    entry->path);
}

static linnet_status add_tensor(walker *w, const place *at, const lin_member *member)
{
    const lin_type *type =
        member->type->kind == LIN_TYPE_OPTIONAL ? member->type->parts[0] : member->type;
    if (type->kind != LIN_TYPE_TENSOR)
        return lin_fail(w->err, LINNET_ERROR_UNSUPPORTED, "`%s` is no tensor",
                        lin_names_text(w->program->names, member->name));
    lin_manifest_entry entry = { .path = join(w, at->path, member->name, ""),
                                 .kind = member->kind,
                                 .block = at->block,
                                 .member = member,
                                 .dtype = lin_env_dtype(at->env, type->dtype),
                                 .repeats = at->repeats,
                                 .repeat_count = at->repeat_count,
                                 .optional = at->optional || member->optional };
    if (entry.path == NULL)
        return lin_fail_memory(w->err);
    entry.shape = lin_env_shape(w->arena, at->env, type->axes, type->axis_count, &entry.rank);
    if (entry.shape == NULL)
        return lin_fail(w->err, LINNET_ERROR_UNSUPPORTED, "`%s` has a shape pack without a value",
                        entry.path);
    for (uint32_t i = 0; i < entry.rank; i++)
        if (entry.shape[i] == LIN_EXPR_INVALID)
            return overflow(w, &entry);
    if (!LIN_PUSH(w->arena, &w->entries, entry))
        return lin_fail_memory(w->err);
    return LINNET_OK;
}

/* The repeats of an array's elements: those around it and its length. */
static linnet_status repeat(walker *w, const place *at, const lin_type *array, place *inner)
{
    lin_expr *repeats = LIN_NEW_ARRAY(w->arena, lin_expr, (uint64_t)at->repeat_count + 1);
    if (repeats == NULL)
        return lin_fail_memory(w->err);
    for (uint32_t i = 0; i < at->repeat_count; i++)
        repeats[i] = at->repeats[i];
    repeats[at->repeat_count] = lin_env_dim(at->env, array->dim);
    inner->repeats = repeats;
    inner->repeat_count = at->repeat_count + 1;
    if (repeats[at->repeat_count] == LIN_EXPR_INVALID)
        return lin_fail(w->err, LINNET_ERROR_OVERFLOW, "the length of `%s` does not fit in 64 bits",
                        inner->path);
    return LINNET_OK;
}

static linnet_status walk_block(walker *w, const place *at);

static linnet_status enter_sub(walker *w, const place *at, const lin_member *member)
{
    const lin_type *type = member->type;
    const bool is_array = type->kind == LIN_TYPE_ARRAY;
    const lin_type *block = is_array || type->kind == LIN_TYPE_OPTIONAL ? type->parts[0] : type;
    if (block->kind != LIN_TYPE_BLOCK)
        return lin_fail(w->err, LINNET_ERROR_UNSUPPORTED, "`%s` is no block",
                        lin_names_text(w->program->names, member->name));
    const lin_substitution substitution = { .generics = &block->block->generics,
                                            .items = block->args };
    place inner = { .block = block->block,
                    .env = lin_env_enter(w->arena, at->env, NULL, &substitution),
                    .path = join(w, at->path, member->name, is_array ? "[*]" : ""),
                    .repeats = at->repeats,
                    .repeat_count = at->repeat_count,
                    .optional = at->optional || member->optional,
                    .depth = at->depth + 1 };
    if (inner.env == NULL || inner.path == NULL)
        return lin_fail_memory(w->err);
    if (is_array) {
        linnet_status status = repeat(w, at, type, &inner);
        if (status != LINNET_OK)
            return status;
    }
    return walk_block(w, &inner);
}

static linnet_status walk_block(walker *w, const place *at)
{
    if (at->depth > MAX_DEPTH)
        return lin_fail(w->err, LINNET_ERROR_UNSUPPORTED,
                        "blocks are nested more than %d levels deep", MAX_DEPTH);
    for (uint32_t i = 0; i < at->block->member_count; i++) {
        const lin_member *member = &at->block->members[i];
        if (++w->visits > MAX_VISITS)
            return lin_fail(w->err, LINNET_ERROR_UNSUPPORTED, "the model has more than %u members",
                            (unsigned)MAX_VISITS);
        linnet_status status =
            member->kind == LIN_MEMBER_SUB ? enter_sub(w, at, member) : add_tensor(w, at, member);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

linnet_status lin_manifest_new(lin_arena *arena, const lin_program *program, const lin_block *block,
                               const lin_env *env, lin_manifest *out, linnet_error *err)
{
    walker w = { .arena = arena, .program = program, .err = err };
    const place root = { .block = block, .env = env, .path = "" };
    linnet_status status = walk_block(&w, &root);
    if (status == LINNET_OK)
        *out = (lin_manifest){ .entries = w.entries.items, .count = w.entries.count };
    return status;
}
