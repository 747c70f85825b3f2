/* SPDX-License-Identifier: MIT */

/*
 * What `inspect` and `explain` show of a model, made once when it is opened: its blocks with their
 * generics and manifests, its entries, the ops it calls. Texts are in the block's own generics;
 * bytes use the card's values, which belong to the root alone. Cost: one manifest a block declared
 * in the file, a few dozen short texts each.
 */

#include "api/api.h"
#include <string.h>

typedef struct viewer {
    lin_arena *arena;
    const lin_source *source;
    const lin_program *program;
    const lin_block *root; /* NULL: none, or more than one */
    lin_text
        text; /* the one being built; outside the arena, so it is freed by lin_model_view_new */
} viewer;

/* A fresh text to build. */
static lin_text *begin(viewer *v)
{
    lin_text_clear(&v->text);
    return &v->text;
}

/* What was built, in the arena. */
static const char *keep(viewer *v)
{
    if (v->text.failed)
        longjmp(*v->arena->on_failure, 1);
    return lin_arena_text(v->arena, lin_text_data(&v->text), v->text.length);
}

static const char *dim_words(viewer *v, const lin_expr_table *table, lin_expr dim)
{
    lin_expr_print(begin(v), table, dim);
    return keep(v);
}

static const char *name_of(const viewer *v, lin_name name)
{
    return lin_names_text(v->program->names, name);
}

static const char *dtype_words(const viewer *v, lin_dtype_term dtype)
{
    return lin_dtype_is_concrete(dtype)
               ? lin_dtype_name((lin_dtype)dtype)
               : lin_expr_symbol_name(v->program->dims, lin_dtype_symbol(dtype));
}

/* ---- generics ---- */

static const char *generic_kind(const lin_generic *generic)
{
    static const char *const bounds[] = { [LIN_BOUND_DTYPE] = "DType",
                                          [LIN_BOUND_NUMERIC] = "Numeric",
                                          [LIN_BOUND_INTEGER] = "Integer",
                                          [LIN_BOUND_FLOAT] = "Float" };
    switch (generic->kind) {
    case LIN_GENERIC_DIM:
        return "Dim";
    case LIN_GENERIC_SHAPE:
        return "Shape";
    case LIN_GENERIC_DTYPE:
        return bounds[generic->bound];
    }
    return "";
}

static const char *declaration(viewer *v, const lin_generic *generic)
{
    lin_text *text = begin(v);
    lin_text_addf(text, "%s%s: %s", generic->kind == LIN_GENERIC_SHAPE ? "*" : "",
                  name_of(v, generic->name), generic_kind(generic));
    if (generic->has_default && generic->kind != LIN_GENERIC_SHAPE) {
        lin_text_add(text, " = ");
        if (generic->kind == LIN_GENERIC_DIM)
            lin_expr_print(text, v->program->dims, generic->default_arg.dim);
        else
            lin_text_add(text, dtype_words(v, generic->default_arg.dtype));
    }
    return keep(v);
}

static const lin_setting *card_setting(const viewer *v, const lin_block *block,
                                       const lin_generic *generic)
{
    const lin_setting *found = NULL;
    for (uint32_t i = 0; block == v->root && i < v->source->setting_count; i++)
        if (strcmp(v->source->settings[i].name, name_of(v, generic->name)) == 0)
            found = &v->source->settings[i];
    return found;
}

static const char *setting_words(viewer *v, const lin_setting *setting)
{
    if (setting == NULL)
        return NULL;
    return setting->is_dtype ? lin_dtype_name(setting->dtype)
                             : lin_arena_format(v->arena, "%lld", (long long)setting->integer);
}

static void view_generics(viewer *v, const lin_block *block, model_block *out)
{
    model_generic *generics = LIN_NEW_ARRAY(v->arena, model_generic, block->generics.count);
    for (uint32_t i = 0; i < block->generics.count; i++) {
        const lin_generic *generic = &block->generics.items[i];
        generics[i].name = name_of(v, generic->name);
        generics[i].declaration = declaration(v, generic);
        generics[i].value = setting_words(v, card_setting(v, block, generic));
    }
    out->generics = generics;
    out->generic_count = block->generics.count;
}

/* ---- parameters ---- */

/* The block's generics as themselves, or (`numbers`) with the card's values and the declared
 * defaults. */
static const lin_env *block_env(viewer *v, const lin_block *block, lin_expr_table *table,
                                bool numbers)
{
    const uint32_t count = block->generics.count;
    lin_bound *bounds = LIN_NEW_ARRAY(v->arena, lin_bound, count);
    for (uint32_t i = 0; i < count; i++) {
        const lin_generic *generic = &block->generics.items[i];
        const lin_setting *setting = numbers ? card_setting(v, block, generic) : NULL;
        bounds[i] = (lin_bound){ .symbol = generic->symbol, .kind = generic->kind };
        if (generic->kind == LIN_GENERIC_DIM)
            bounds[i].dim = setting != NULL && !setting->is_dtype
                                ? lin_expr_int(table, setting->integer)
                                : lin_expr_of_symbol(
                                      table, lin_expr_new_symbol(table, name_of(v, generic->name)));
        else
            bounds[i].dtype = setting != NULL && setting->is_dtype
                                  ? (lin_dtype_term)setting->dtype
                                  : lin_dtype_of_symbol(generic->symbol);
        if (numbers && setting == NULL && generic->has_default) {
            const lin_env *earlier = lin_env_new(v->arena, v->program, table, NULL, bounds, i);
            if (generic->kind == LIN_GENERIC_DIM)
                bounds[i].dim = lin_env_dim(earlier, generic->default_arg.dim);
            else
                bounds[i].dtype = lin_env_dtype(earlier, generic->default_arg.dtype);
        }
    }
    return lin_env_new(v->arena, v->program, table, NULL, bounds, count);
}

/* True when `path`, of a bindings file, names the manifest's `pattern` itself or something under
 * it. A file may write [*] or the indices. */
static bool names_pattern(const char *path, const char *pattern, bool or_under)
{
    while (*pattern != '\0') {
        if (pattern[0] == '[' && path[0] != '[') { /* the pattern's "[*]" against ".3" */
            if (*path++ != '.' || *path < '0' || *path > '9')
                return false;
            while (*path >= '0' && *path <= '9')
                path++;
            pattern += 3;
            continue;
        }
        if (*path++ != *pattern++)
            return false;
    }
    return *path == '\0' || (or_under && *path == '.');
}

static const char *bound_tensor(const viewer *v, const char *pattern)
{
    for (uint32_t i = 0; i < v->source->binding_count; i++)
        if (names_pattern(v->source->bindings[i].path, pattern, false))
            return v->source->bindings[i].tensor;
    return NULL;
}

/* The path that owns the tensor `pattern` is bound to, when that is another one. */
static const char *tied_path(const viewer *v, const char *pattern)
{
    const char *tensor = bound_tensor(v, pattern);
    for (uint32_t i = 0; tensor != NULL && i < v->source->binding_count; i++)
        if (strcmp(v->source->bindings[i].tensor, tensor) == 0)
            return names_pattern(v->source->bindings[i].path, pattern, false)
                       ? NULL
                       : v->source->bindings[i].path;
    return NULL;
}

static const char *const *dim_list(viewer *v, const lin_expr_table *table, const lin_expr *dims,
                                   uint32_t count)
{
    const char **words = LIN_NEW_ARRAY(v->arena, const char *, count);
    for (uint32_t i = 0; i < count; i++)
        words[i] = dim_words(v, table, dims[i]);
    return words;
}

static int64_t entry_bytes(lin_expr_table *table, const lin_manifest_entry *entry)
{
    int64_t bytes;
    if (!lin_dtype_is_concrete(entry->dtype))
        return -1;
    bytes = lin_dtype_bytes((lin_dtype)entry->dtype);
    for (uint32_t i = 0; i < entry->rank; i++) {
        int64_t extent;
        if (!lin_expr_is_int(table, entry->shape[i], &extent) ||
            !lin_mul_i64(bytes, extent, &bytes))
            return -1;
    }
    return bytes;
}

static void view_parameter(viewer *v, bool is_root, const lin_expr_table *table,
                           const lin_manifest_entry *entry, model_parameter *out)
{
    static const char *const kinds[] = { [LIN_MEMBER_PARAM] = "param",
                                         [LIN_MEMBER_BUFFER] = "buffer",
                                         [LIN_MEMBER_STATE] = "state",
                                         [LIN_MEMBER_SUB] = "sub" };
    out->path = lin_arena_copy(v->arena, entry->path);
    out->kind = kinds[entry->kind];
    out->dtype = dtype_words(v, entry->dtype);
    out->rank = entry->rank;
    out->extents = dim_list(v, table, entry->shape, entry->rank);
    out->repeat_count = entry->repeat_count;
    out->repeats = dim_list(v, table, entry->repeats, entry->repeat_count);
    out->optional = entry->optional;
    out->present = !entry->optional || (is_root && bound_tensor(v, entry->path) != NULL);
    out->tied_to = is_root ? tied_path(v, entry->path) : NULL;
}

static bool has_shape_generic(const lin_block *block)
{
    for (uint32_t i = 0; i < block->generics.count; i++)
        if (block->generics.items[i].kind == LIN_GENERIC_SHAPE)
            return true;
    return false;
}

static linnet_status view_parameters(viewer *v, const lin_block *block, model_block *out,
                                     linnet_error *err)
{
    lin_expr_table *words = lin_expr_table_new(v->arena);
    lin_expr_table *numbers = lin_expr_table_new(v->arena);
    lin_manifest open, sized;
    linnet_status status;

    /* A block over a shape pack has no manifest of its own: only its instances do. */
    if (has_shape_generic(block))
        return LINNET_OK;
    if ((status = lin_manifest_new(v->arena, v->program, block, block_env(v, block, words, false),
                                   &open, err)) != LINNET_OK ||
        (status = lin_manifest_new(v->arena, v->program, block, block_env(v, block, numbers, true),
                                   &sized, err)) != LINNET_OK)
        return status;
    model_parameter *parameters = LIN_NEW_ARRAY(v->arena, model_parameter, open.count);
    for (uint32_t i = 0; i < open.count; i++) {
        view_parameter(v, block == v->root, words, &open.entries[i], &parameters[i]);
        parameters[i].bytes = entry_bytes(numbers, &sized.entries[i]);
    }
    out->parameters = parameters;
    out->parameter_count = open.count;
    return LINNET_OK;
}

static linnet_status view_blocks(viewer *v, model_view *out, linnet_error *err)
{
    const lin_module *module = v->program->modules[0];
    model_block *blocks = LIN_NEW_ARRAY(v->arena, model_block, module->block_count);
    out->root = -1;
    for (uint32_t i = 0; i < module->block_count; i++) {
        const lin_block *block = module->blocks[i];
        blocks[i].name = name_of(v, block->name);
        blocks[i].module = module->path;
        view_generics(v, block, &blocks[i]);
        linnet_status status = view_parameters(v, block, &blocks[i], err);
        if (status != LINNET_OK)
            return status;
        if (block == v->root)
            out->root = i;
    }
    out->blocks = blocks;
    out->block_count = module->block_count;
    return LINNET_OK;
}

/* ---- entries ---- */

static const char *signature(viewer *v, const lin_function *function)
{
    lin_text *text = begin(v);
    for (uint32_t i = 0; i < function->param_count; i++) {
        lin_text_addf(text, "%s%s: ", i == 0 ? "" : ", ", name_of(v, function->params[i].name));
        lin_type_print(text, v->program, function->params[i].type);
    }
    return keep(v);
}

static void add_entries(viewer *v, lin_function *const *functions, uint32_t count,
                        const char *block, model_view *out, model_entry *entries)
{
    for (uint32_t i = 0; i < count; i++)
        if (functions[i]->kind == LIN_FUNCTION_ENTRY)
            entries[out->entry_count++] =
                (model_entry){ name_of(v, functions[i]->name), block, signature(v, functions[i]) };
}

static void view_entries(viewer *v, model_view *out)
{
    const lin_module *module = v->program->modules[0];
    uint32_t room = module->function_count;
    for (uint32_t i = 0; i < module->block_count; i++)
        room += module->blocks[i]->method_count;
    model_entry *entries = LIN_NEW_ARRAY(v->arena, model_entry, room);
    for (uint32_t i = 0; i < module->block_count; i++)
        add_entries(v, module->blocks[i]->methods, module->blocks[i]->method_count,
                    name_of(v, module->blocks[i]->name), out, entries);
    add_entries(v, module->functions, module->function_count, "", out, entries);
    out->entries = entries;
}

/* The card's root, else the only block of the file with entries. */
static const lin_block *find_root(const viewer *v)
{
    const lin_module *module = v->program->modules[0];
    const lin_block *found = NULL;
    for (uint32_t i = 0; i < module->block_count; i++) {
        const lin_block *block = module->blocks[i];
        bool is_root = false;
        if (v->source->root != NULL)
            is_root = strcmp(name_of(v, block->name), v->source->root) == 0;
        for (uint32_t k = 0; v->source->root == NULL && k < block->method_count; k++)
            is_root |= block->methods[k]->kind == LIN_FUNCTION_ENTRY;
        if (is_root && found != NULL)
            return NULL;
        if (is_root)
            found = block;
    }
    return found;
}

linnet_status lin_model_view_new(lin_arena *arena, const lin_source *source, model_view *out,
                                 linnet_error *err)
{
    jmp_buf out_of_memory;
    viewer *const v = LIN_NEW(arena, viewer);
    volatile linnet_status status = LINNET_ERROR_NO_MEMORY;

    if (v == NULL)
        return lin_fail_memory(err);
    v->arena = arena;
    v->source = source;
    v->program = source->program;
    lin_text_init(&v->text, &arena->allocator);
    if (setjmp(out_of_memory) == 0) {
        arena->on_failure = &out_of_memory;
        v->root = find_root(v);
        if ((status = view_blocks(v, out, err)) == LINNET_OK) {
            view_entries(v, out);
            status =
                lin_trace_explain(source, LIN_NUMERICS_FAST, arena, &out->ops, &out->op_count, err);
        }
    } else {
        status = lin_fail_memory(err);
    }
    arena->on_failure = NULL;
    lin_text_free(&v->text);
    return status;
}
