/* SPDX-License-Identifier: MIT */
/*
 * Loading: the file, then every module it reaches, breadth first, each parsed once. A module is
 * known by its package and its text: two import paths that lead to one file give one module.
 * Circles of imports are found afterwards on the finished graph, with a stack of its own, so that a
 * long chain of modules costs no C stack.
 */

#include "lang/check.h"

#include <string.h>

static const char utf8_bom[] = "\xEF\xBB\xBF";

static lin_source_file *add_source(checker *c, const char *name, const char *text, uint64_t length)
{
    lin_source_file *source = LIN_NEW(c->arena, lin_source_file);
    const char *copy = lin_arena_text(c->arena, length == 0 ? "" : text, length);
    source->name = lin_arena_copy(c->arena, name);
    source->bom_bytes = length >= 3 && memcmp(copy, utf8_bom, 3) == 0 ? 3 : 0;
    source->text = copy + source->bom_bytes;
    source->length = (uint32_t)length - source->bom_bytes;
    source->index = c->sources.count;
    LIN_PUSH(c->arena, &c->sources, source);
    return source;
}

/* Names joined with `.` */
static const char *path_text(checker *c, const ast_path *path)
{
    const char *text = "";
    for (uint32_t i = 0; i < path->count; i++)
        text = lin_arena_format(c->scratch, i == 0 ? "%s%s" : "%s.%s", text,
                                lin_text_of(c, path->parts[i].name));
    return text;
}

static module_scope *add_module(checker *c, const lin_lang_file *file)
{
    module_scope *m = LIN_NEW(c->scratch, module_scope);
    const lin_source_file *source = add_source(c, file->name, file->text, file->length);
    const char *package = file->package != NULL ? file->package : "";
    m->file = lin_parse(c->scratch, c->program->names, source, c->diagnostics);
    m->targets = LIN_NEW_ARRAY(c->scratch, module_scope *, m->file->use_count);
    m->module = LIN_NEW(c->arena, lin_module);
    const char *path = path_text(c, &m->file->module);
    m->module->path = lin_arena_copy(c->arena, path);
    m->module->package = lin_arena_copy(c->arena, package);
    m->module->source = source;
    m->module->index = c->modules.count;
    LIN_PUSH(c->scratch, &c->modules, m);
    return m;
}

static module_scope *find_module(const checker *c, const lin_loaded *loaded)
{
    for (uint32_t i = 0; i < c->modules.count; i++) {
        const lin_source_file *source = c->modules.items[i]->module->source;
        const uint64_t length = (uint64_t)source->length + source->bom_bytes;
        if (length == loaded->length &&
            strcmp(c->modules.items[i]->module->package, loaded->package) == 0 &&
            memcmp(source->text - source->bom_bytes, loaded->text, (size_t)length) == 0)
            return c->modules.items[i];
    }
    return NULL;
}

static linnet_status text_too_large(checker *c, const char *name, linnet_error *err)
{
    return lin_fail_at(err, LINNET_ERROR_FILE, (lin_place){ .source = name }, NULL,
                       "a source file has more than %llu bytes",
                       (unsigned long long)c->limits->source_bytes);
}

static bool stop(checker *c, linnet_status status)
{
    c->load_status = status != LINNET_OK ? status : LINNET_ERROR_FILE;
    return false;
}

/* The module a loader handed over, or NULL after a report or a stop. */
static module_scope *accept_module(checker *c, const ast_use *use, lin_loaded *loaded)
{
    loaded->name = loaded->name != NULL ? loaded->name : "";
    loaded->package = loaded->package != NULL ? loaded->package : "";
    loaded->text = loaded->text != NULL ? loaded->text : "";
    module_scope *known = find_module(c, loaded);
    if (known != NULL)
        return known;
    if (c->modules.count >= c->limits->modules) {
        lin_report(c, use->path.span, "E1202", "the program has more than %u modules",
                   (unsigned)c->limits->modules);
        return NULL;
    }
    if (loaded->length > c->limits->source_bytes || loaded->length >= UINT32_MAX) {
        stop(c, text_too_large(c, loaded->name, c->load_error));
        return NULL;
    }
    const lin_lang_file file = { .name = loaded->name,
                                 .package = loaded->package,
                                 .text = loaded->text,
                                 .length = loaded->length };
    return add_module(c, &file);
}

/* Sets *out to NULL after a report; false when the loader stopped. */
static bool load_use(checker *c, const module_scope *m, const ast_use *use, module_scope **out)
{
    const char *path = path_text(c, &use->path);
    const lin_load_request request = { .module = path,
                                       .from_name = m->module->source->name,
                                       .from_package = m->module->package };
    lin_loaded loaded = { 0 };
    lin_load_result result = LIN_LOAD_MISSING;
    *out = NULL;
    if (c->loader != NULL && c->loader->load != NULL)
        result = c->loader->load(c->loader->user, &request, &loaded, c->load_error);
    switch (result) {
    case LIN_LOAD_OK:
        *out = accept_module(c, use, &loaded);
        return c->load_status == LINNET_OK;
    case LIN_LOAD_MISSING:
        lin_report(c, use->path.span, "E1202", "module `%s` is not found", path);
        return true;
    case LIN_LOAD_PACKAGE:
        loaded.message[sizeof(loaded.message) - 1] = '\0';
        lin_report(c, use->path.span, "E5001", "%s", loaded.message);
        return true;
    case LIN_LOAD_STOP:
        break;
    }
    return stop(c, (linnet_status)c->load_error->code);
}

/* Targets by package and path, so that a module imported by thousands is asked for once: `start` of
 * a binding's span is its target's number. */
typedef struct request_cache {
    binding_list requests;
    LIN_LIST(module_scope *) targets;
} request_cache;

static lin_name request_name(checker *c, const module_scope *m, const ast_use *use)
{
    const char *key =
        lin_arena_format(c->scratch, "%s\n%s", m->module->package, path_text(c, &use->path));
    return lin_names_add(c->program->names, key, strlen(key));
}

static bool load_uses(checker *c, module_scope *m, request_cache *cache)
{
    for (uint32_t i = 0; i < m->file->use_count; i++) {
        const ast_use *use = &m->file->uses[i];
        if (use->is_reserved || use->path.count == 0)
            continue;
        lin_name key = request_name(c, m, use);
        const binding *known = lin_binding_find(&cache->requests, key);
        if (known != NULL) {
            m->targets[i] = cache->targets.items[known->span.start];
            continue;
        }
        if (!load_use(c, m, use, &m->targets[i]))
            return false;
        if (m->targets[i] == NULL)
            continue; /* the next import of it is reported too */
        const binding made = { .name = key, .span = { .start = cache->targets.count } };
        LIN_PUSH(c->scratch, &cache->targets, m->targets[i]);
        lin_binding_add(c->scratch, &cache->requests, made);
    }
    return true;
}

/* ---- circles ---- */

typedef struct visit {
    module_scope *module;
    uint32_t next_use;
} visit;

typedef enum mark { UNSEEN, OPEN, CLOSED } mark;

static void report_cycle(checker *c, const ast_use *use, const module_scope *target)
{
    lin_report(c, use->path.span, "E1206", "importing `%s` closes a circle of imports",
               target->module->path);
}

static void find_cycles(checker *c)
{
    mark *marks = LIN_NEW_ARRAY(c->scratch, mark, c->modules.count);
    visit *stack = LIN_NEW_ARRAY(c->scratch, visit, c->modules.count);
    uint32_t depth = 1; /* every module is reached from the first */
    stack[0] = (visit){ .module = c->modules.items[0] };
    marks[0] = OPEN;
    while (depth > 0) {
        visit *top = &stack[depth - 1];
        if (top->next_use == top->module->file->use_count) {
            marks[top->module->module->index] = CLOSED;
            depth--;
            continue;
        }
        uint32_t i = top->next_use++;
        module_scope *target = top->module->targets[i];
        if (target == NULL)
            continue;
        if (marks[target->module->index] == OPEN)
            report_cycle(c, &top->module->file->uses[i], target);
        if (marks[target->module->index] != UNSEEN)
            continue;
        marks[target->module->index] = OPEN;
        stack[depth++] = (visit){ .module = target };
    }
}

/* ---- all of it ---- */

static void publish(checker *c)
{
    lin_module **modules = LIN_NEW_ARRAY(c->arena, lin_module *, c->modules.count);
    for (uint32_t i = 0; i < c->modules.count; i++)
        modules[i] = c->modules.items[i]->module;
    c->program->modules = modules;
    c->program->module_count = c->modules.count;
    c->program->sources = (const lin_source_file *const *)c->sources.items;
    c->program->source_count = c->sources.count;
}

bool lin_load_modules(checker *c, const lin_lang_file *file)
{
    request_cache cache = { 0 };
    if (file->length > c->limits->source_bytes || file->length >= UINT32_MAX)
        return stop(c, text_too_large(c, file->name, c->load_error));
    add_module(c, file);
    for (uint32_t i = 0; i < c->modules.count; i++)
        if (!load_uses(c, c->modules.items[i], &cache))
            return false;
    find_cycles(c);
    publish(c);
    for (uint32_t i = 0; i < c->modules.count; i++)
        lin_collect_module(c, c->modules.items[i]);
    for (uint32_t i = 0; i < c->modules.count; i++)
        lin_resolve_imports(c, c->modules.items[i]);
    return true;
}
