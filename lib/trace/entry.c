/* SPDX-License-Identifier: MIT */

/*
 * Which root and entry are meant: language.md 15.1. What was asked for must exist; what was not
 * asked for must be clear. Messages list what there is.
 */

#include "trace/trace_walk.h"

#include <string.h>

enum { MAX_LISTED = 64 };

/* Names of candidates, for messages and suggestions. */
typedef struct choices {
    const char *names[MAX_LISTED];
    uint32_t count;
} choices;

static void add_choice(choices *list, const char *name)
{
    if (list->count < MAX_LISTED)
        list->names[list->count++] = name;
}

static const char *name_of(const lin_source *source, lin_name name)
{
    return lin_names_text(source->program->names, name);
}

/* "`a`, `b`" into `out`, cut where it is full. */
static void print_choices(char *out, size_t capacity, const choices *list)
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < list->count; i++) {
        size_t length = strlen(list->names[i]);
        if (used + length + 5 > capacity)
            return;
        memcpy(out + used, i == 0 ? "`" : ", `", i == 0 ? 1 : 3);
        used += i == 0 ? 1 : 3;
        memcpy(out + used, list->names[i], length);
        used += length;
        memcpy(out + used, "`", 2);
        used++;
    }
}

static linnet_status refuse_name(linnet_error *err, const char *what, const char *name,
                                 const choices *list)
{
    char words[256];
    const char *nearest = lin_nearest(name, list->names, list->count);
    print_choices(words, sizeof words, list);
    if (list->count == 0)
        return lin_fail(err, LINNET_ERROR_NOT_FOUND, "no %s `%s`: there is none at all", what,
                        name);
    if (nearest)
        return lin_fail(err, LINNET_ERROR_NOT_FOUND, "no %s `%s`, did you mean `%s`; there is %s",
                        what, name, nearest, words);
    return lin_fail(err, LINNET_ERROR_NOT_FOUND, "no %s `%s`; there is %s", what, name, words);
}

static linnet_status refuse_many(linnet_error *err, const char *what, const choices *list)
{
    char words[256];
    print_choices(words, sizeof words, list);
    return lin_fail(err, LINNET_ERROR_ARGUMENT, "several %s, name one of %s", what, words);
}

static uint32_t entry_count(const lin_block *block)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < block->method_count; i++)
        count += block->methods[i]->kind == LIN_FUNCTION_ENTRY;
    return count;
}

static linnet_status root_by_name(const lin_source *source, const char *name,
                                  const lin_block **out_block, linnet_error *err)
{
    const lin_module *file = source->program->modules[0];
    choices list = { .count = 0 };
    for (uint32_t i = 0; i < file->block_count; i++) {
        const char *block = name_of(source, file->blocks[i]->name);
        if (strcmp(block, name) == 0) {
            *out_block = file->blocks[i];
            return LINNET_OK;
        }
        add_choice(&list, block);
    }
    return refuse_name(err, "block", name, &list);
}

/* The root: named, the card's, or the only block with entries; NULL when there is none. */
linnet_status lin_trace_find_root(const lin_source *source, const char *root,
                                  const lin_block **out_block, linnet_error *err)
{
    const lin_module *file = source->program->modules[0];
    const char *name = root ? root : source->root;
    choices list = { .count = 0 };
    const lin_block *found = NULL;
    if (name)
        return root_by_name(source, name, out_block, err);
    for (uint32_t i = 0; i < file->block_count; i++)
        if (entry_count(file->blocks[i]) > 0) {
            found = file->blocks[i];
            add_choice(&list, name_of(source, found->name));
        }
    if (list.count > 1)
        return refuse_many(err, "blocks have entries", &list);
    *out_block = found;
    return LINNET_OK;
}

/* ---- entries ---- */

static const lin_function *entry_at(lin_function *const *functions, uint32_t count,
                                    const lin_source *source, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (functions[i]->kind == LIN_FUNCTION_ENTRY &&
            strcmp(name_of(source, functions[i]->name), name) == 0)
            return functions[i];
    return NULL;
}

static void list_entries(lin_function *const *functions, uint32_t count, const lin_source *source,
                         choices *list)
{
    for (uint32_t i = 0; i < count; i++)
        if (functions[i]->kind == LIN_FUNCTION_ENTRY)
            add_choice(list, name_of(source, functions[i]->name));
}

static linnet_status entry_by_name(const lin_source *source, const char *name,
                                   const lin_block **block, const lin_function **out_entry,
                                   linnet_error *err)
{
    const lin_module *file = source->program->modules[0];
    const lin_function *found = NULL;
    if (*block)
        found = entry_at((*block)->methods, (*block)->method_count, source, name);
    if (!found) {
        found = entry_at(file->functions, file->function_count, source, name);
        if (found)
            *block = NULL;
    }
    if (found) {
        *out_entry = found;
        return LINNET_OK;
    }
    choices list = { .count = 0 };
    if (*block)
        list_entries((*block)->methods, (*block)->method_count, source, &list);
    list_entries(file->functions, file->function_count, source, &list);
    return refuse_name(err, "entry", name, &list);
}

static linnet_status default_entry(const lin_source *source, lin_function *const *functions,
                                   uint32_t count, const lin_function **out_entry,
                                   linnet_error *err)
{
    choices list = { .count = 0 };
    list_entries(functions, count, source, &list);
    if (list.count == 0)
        return lin_fail(err, LINNET_ERROR_NOT_FOUND, "`%s` declares no entry", source->name);
    const char *name = list.count == 1 ? list.names[0] : "forward";
    *out_entry = entry_at(functions, count, source, name);
    return *out_entry ? LINNET_OK : refuse_many(err, "entries", &list);
}

linnet_status lin_trace_find_entry(const lin_source *source, const char *root, const char *entry,
                                   const lin_block **out_block, const lin_function **out_entry,
                                   linnet_error *err)
{
    const lin_module *file = source->program->modules[0];
    const lin_block *block = NULL;
    const lin_function *found = NULL;
    linnet_status status = lin_trace_find_root(source, root, &block, err);
    if (status != LINNET_OK)
        return status;
    lin_function *const *functions = block ? block->methods : file->functions;
    uint32_t count = block ? block->method_count : file->function_count;
    if (entry)
        status = entry_by_name(source, entry, &block, &found, err);
    else if (source->entry && !root)
        status = entry_by_name(source, source->entry, &block, &found, err);
    else
        status = default_entry(source, functions, count, &found, err);
    if (status != LINNET_OK)
        return status;
    *out_block = block;
    *out_entry = found;
    return LINNET_OK;
}
