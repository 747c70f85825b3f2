/* SPDX-License-Identifier: MIT */

/*
 * A program's manifest with the numbers of its source: generics take the source's value, else their
 * default, else 1. One pass over the manifest, and one over the bindings for each entry.
 */

#include "source/parameters.h"

#include <string.h>

enum { MOST_PARAMETERS = 1 << 20 };

typedef struct lister {
    lin_arena *arena;
    const lin_source *source;
    const lin_program *program;
    lin_expr_table *table;
    linnet_error *err;
} lister;

static const char *name_of(const lister *l, lin_name name)
{
    return lin_names_text(l->program->names, name);
}

/* The block the source names, else the only one with an entry; NULL: none. */
static const lin_block *find_root(const lister *l)
{
    const lin_module *file = l->program->modules[0];
    const lin_block *found = NULL;
    for (uint32_t i = 0; i < file->block_count; i++) {
        const lin_block *block = file->blocks[i];
        if (l->source->root != NULL && strcmp(name_of(l, block->name), l->source->root) == 0)
            return block;
        for (uint32_t k = 0; l->source->root == NULL && k < block->method_count; k++)
            if (block->methods[k]->kind == LIN_FUNCTION_ENTRY)
                found = block;
    }
    return found;
}

static const lin_setting *setting_of(const lister *l, const lin_generic *generic)
{
    const lin_setting *found = NULL;
    for (uint32_t i = 0; i < l->source->setting_count; i++)
        if (strcmp(l->source->settings[i].name, name_of(l, generic->name)) == 0)
            found = &l->source->settings[i];
    return found;
}

static lin_bound bind(const lister *l, const lin_generic *generic, const lin_env *earlier)
{
    const lin_setting *setting = setting_of(l, generic);
    lin_bound bound = { .symbol = generic->symbol, .kind = generic->kind };
    if (generic->kind == LIN_GENERIC_DTYPE)
        bound.dtype = setting != NULL && setting->is_dtype ? (lin_dtype_term)setting->dtype
                      : generic->has_default ? lin_env_dtype(earlier, generic->default_arg.dtype)
                                             : (lin_dtype_term)LIN_DTYPE_BF16;
    else
        bound.dim = setting != NULL && !setting->is_dtype ? lin_expr_int(l->table, setting->integer)
                    : generic->has_default ? lin_env_dim(earlier, generic->default_arg.dim)
                                           : lin_expr_int(l->table, 1);
    return bound;
}

static const lin_env *make_env(const lister *l, const lin_block *root)
{
    const uint32_t count = root->generics.count;
    lin_bound *bounds = LIN_NEW_ARRAY(l->arena, lin_bound, count);
    for (uint32_t i = 0; i < count; i++)
        bounds[i] = bind(l, &root->generics.items[i],
                         lin_env_new(l->arena, l->program, l->table, NULL, bounds, i));
    return lin_env_new(l->arena, l->program, l->table, NULL, bounds, count);
}

static bool evaluate(const lister *l, const lin_expr *from, uint32_t count, int64_t *out)
{
    for (uint32_t i = 0; i < count; i++)
        if (!lin_expr_is_int(l->table, from[i], &out[i]) || out[i] < 0)
            return false;
    return true;
}

static const char *tensor_of(const lister *l, const char *path)
{
    for (uint32_t i = 0; i < l->source->binding_count; i++)
        if (strcmp(l->source->bindings[i].path, path) == 0)
            return l->source->bindings[i].tensor;
    return NULL;
}

static linnet_status describe(const lister *l, const lin_manifest_entry *entry, lin_parameter *out)
{
    if (entry->rank > LIN_PARAMETER_RANK || entry->repeat_count > LIN_PARAMETER_REPEATS)
        return lin_fail(l->err, LINNET_ERROR_UNSUPPORTED, "`%s` has too many axes", entry->path);
    *out = (lin_parameter){ .path = entry->path,
                            .tensor = tensor_of(l, entry->path),
                            .block = name_of(l, entry->block->name),
                            .rank = entry->rank,
                            .dtype = lin_dtype_is_concrete(entry->dtype) ? (lin_dtype)entry->dtype
                                                                         : LIN_DTYPE_COUNT,
                            .elements = 1,
                            .repeat_count = entry->repeat_count };
    if (!evaluate(l, entry->shape, entry->rank, out->shape) ||
        !evaluate(l, entry->repeats, entry->repeat_count, out->repeats))
        return lin_fail(l->err, LINNET_ERROR_OVERFLOW, "`%s` has no shape with these values",
                        entry->path);
    for (uint32_t i = 0; i < entry->rank; i++)
        if (!lin_mul_i64(out->elements, out->shape[i], &out->elements))
            return lin_fail(l->err, LINNET_ERROR_OVERFLOW, "`%s` has more than 2^63 - 1 elements",
                            entry->path);
    return LINNET_OK;
}

/* Elements of its arrays; more than are listed when they do not fit. */
static int64_t instances(const lin_parameter *parameter)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < parameter->repeat_count; i++)
        if (!lin_mul_i64(count, parameter->repeats[i], &count))
            return MOST_PARAMETERS + 1;
    return count;
}

/* Of the arrays' elements there may not be more than a program can have. */
static linnet_status count_instances(const lister *l, const lin_parameter *parameter,
                                     int64_t *total)
{
    if (!lin_add_i64(*total, instances(parameter), total) || *total > MOST_PARAMETERS)
        return lin_fail(l->err, LINNET_ERROR_UNSUPPORTED, "the model has more than %d parameters",
                        MOST_PARAMETERS);
    return LINNET_OK;
}

linnet_status lin_source_parameters(lin_arena *arena, const lin_source *source,
                                    const lin_parameter **out, uint32_t *out_count,
                                    linnet_error *err)
{
    lister l = { arena, source, source->program, lin_expr_table_new(arena), err };
    const lin_block *root = find_root(&l);
    lin_manifest manifest = { 0 };
    linnet_status status = LINNET_OK;
    uint32_t count = 0;
    int64_t total = 0;
    if (root != NULL)
        status = lin_manifest_new(arena, l.program, root, make_env(&l, root), &manifest, err);
    lin_parameter *items = LIN_NEW_ARRAY(arena, lin_parameter, manifest.count);
    for (uint32_t i = 0; status == LINNET_OK && i < manifest.count; i++) {
        const lin_manifest_entry *entry = &manifest.entries[i];
        if (entry->kind != LIN_MEMBER_PARAM)
            continue;
        status = describe(&l, entry, &items[count]);
        if (status != LINNET_OK || instances(&items[count]) == 0 ||
            (entry->optional && items[count].tensor == NULL))
            continue;
        status = count_instances(&l, &items[count++], &total);
    }
    *out = items;
    *out_count = count;
    return status;
}

bool lin_parameter_next(const lin_parameter *parameter, int64_t indices[LIN_PARAMETER_REPEATS])
{
    for (uint32_t i = parameter->repeat_count; i-- > 0;) {
        if (++indices[i] < parameter->repeats[i])
            return true;
        indices[i] = 0;
    }
    return false;
}

const char *lin_parameter_path(lin_arena *arena, const lin_parameter *parameter,
                               const int64_t indices[LIN_PARAMETER_REPEATS])
{
    const char *path = parameter->path;
    const char *mark;
    const char *done = "";
    for (uint32_t i = 0; (mark = strstr(path, "[*]")) != NULL; i++, path = mark + strlen("[*]"))
        done = lin_arena_format(arena, "%s%.*s.%lld", done, (int)(mark - path), path,
                                (long long)(i < LIN_PARAMETER_REPEATS ? indices[i] : 0));
    return lin_arena_format(arena, "%s%s", done, path);
}

const char *lin_parameter_tensor(lin_arena *arena, lin_text *scratch,
                                 const lin_parameter *parameter,
                                 const int64_t indices[LIN_PARAMETER_REPEATS])
{
    if (parameter->tensor == NULL)
        return NULL;
    lin_text_clear(scratch);
    lin_binding_tensor_name(scratch, parameter->tensor, indices, parameter->repeat_count);
    if (scratch->failed)
        return lin_arena_fail(arena);
    return lin_arena_text(arena, lin_text_data(scratch), scratch->length);
}
