/* SPDX-License-Identifier: MIT */

/*
 * linnet.toml: [package] with `name`, `version` and `language`, [dependencies] with `key = { path =
 * "relative/dir" }`. Whatever is wrong becomes the package's problem, reported at the import that
 * needed the package (E5001). Unknown tables and keys are ignored; nothing is executed.
 */

#include "source/loader.h"

#include <string.h>

typedef struct reading {
    lin_module_loader *loader;
    lin_package *package;
    bool has_language;
    linnet_status status;
} reading;

static bool no_memory(reading *r, linnet_error *err)
{
    r->status = lin_fail_memory(err);
    return false;
}

/* Stops the reading with what is wrong. */
static bool refuse(reading *r, const char *problem, linnet_error *err)
{
    if (problem == NULL)
        return no_memory(r, err);
    r->package->problem = problem;
    return false;
}

static bool is_key(const char *key)
{
    for (const char *c = key; *c != '\0'; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        if (!letter && (c == key || *c < '0' || *c > '9'))
            return false;
    }
    return key[0] != '\0' && strcmp(key, "std") != 0 && strcmp(key, "crate") != 0;
}

static bool read_package(reading *r, const lin_toml_value *value, linnet_error *err)
{
    lin_arena *arena = &r->loader->arena;
    bool is_language = strcmp(value->key, "language") == 0;
    if (!is_language && strcmp(value->key, "name") != 0 && strcmp(value->key, "version") != 0)
        return true;
    if (value->kind != LIN_TOML_STRING)
        return refuse(r, lin_arena_format(arena, "`package.%s` is no string", value->key), err);
    if (is_language && strcmp(value->text, "0.1") != 0)
        return refuse(
            r, lin_arena_format(arena, "language \"%s\" is not known; \"0.1\" is", value->text),
            err);
    r->has_language = r->has_language || is_language;
    return true;
}

static lin_dependency *find_dependency(reading *r, const char *key)
{
    for (uint32_t i = 0; i < r->package->dependencies.count; i++)
        if (strcmp(r->package->dependencies.items[i].key, key) == 0)
            return &r->package->dependencies.items[i];
    const lin_dependency fresh = { lin_arena_copy(&r->loader->arena, key), NULL };
    if (fresh.key == NULL || !LIN_PUSH(&r->loader->arena, &r->package->dependencies, fresh))
        return NULL;
    return &r->package->dependencies.items[r->package->dependencies.count - 1];
}

/* `key` = value inside [dependencies.name] or name = { key = value }. */
static bool read_dependency(reading *r, const char *name, const lin_toml_value *value,
                            linnet_error *err)
{
    lin_arena *arena = &r->loader->arena;
    if (!is_key(name))
        return refuse(r, lin_arena_format(arena, "a dependency cannot be called `%s`", name), err);
    if (strcmp(value->key, "path") != 0) {
        static const char *const foreign[] = { "git", "version", "registry", "url" };
        for (uint32_t i = 0; i < ARRAY_LEN(foreign); i++)
            if (strcmp(value->key, foreign[i]) == 0)
                return refuse(r,
                              lin_arena_format(arena,
                                               "dependency `%s` has `%s`; only dependencies with "
                                               "a `path` exist in this version",
                                               name, value->key),
                              err);
        return true;
    }
    if (value->kind != LIN_TOML_STRING || value->text[0] == '\0' || value->text[0] == '/')
        return refuse(
            r, lin_arena_format(arena, "the path of dependency `%s` is no relative path", name),
            err);
    lin_dependency *dependency = find_dependency(r, name);
    if (dependency == NULL)
        return no_memory(r, err);
    dependency->path = lin_arena_copy(arena, value->text);
    return dependency->path != NULL || no_memory(r, err);
}

static bool read_value(void *user, const lin_toml_value *value, linnet_error *err)
{
    static const char prefix[] = "dependencies.";
    reading *r = user;
    if (strcmp(value->table, "package") == 0)
        return read_package(r, value, err);
    if (strcmp(value->table, "dependencies") == 0)
        return refuse(r,
                      lin_arena_format(&r->loader->arena,
                                       "dependency `%s` has no `path`; only dependencies with a "
                                       "`path` exist in this version",
                                       value->key),
                      err);
    if (strncmp(value->table, prefix, sizeof(prefix) - 1) == 0)
        return read_dependency(r, value->table + sizeof(prefix) - 1, value, err);
    return true;
}

linnet_status lin_package_read(lin_module_loader *loader, lin_package *package, linnet_error *err)
{
    const char *text;
    uint64_t length;
    linnet_error why = { 0 };
    reading r = { .loader = loader, .package = package };
    const lin_toml_reader reader = { read_value, &r };
    if (package->read)
        return LINNET_OK;
    const char *path = lin_path_join(&loader->arena, package->shown, "linnet.toml");
    if (path == NULL)
        return lin_fail_memory(err);
    linnet_status status =
        lin_file_read(&loader->arena, path, loader->settings->file_bytes, &text, &length, err);
    if (status != LINNET_OK)
        return status;
    status = lin_toml_read(path, text, length, &loader->arena, &reader, &why);
    if (r.status != LINNET_OK)
        return lin_fail_memory(err);
    if (status == LINNET_ERROR_NO_MEMORY)
        return lin_fail_memory(err);
    if (status != LINNET_OK && package->problem == NULL)
        package->problem = lin_arena_format(&loader->arena, "%s:%u:%u: %s", path, why.line,
                                            why.column, why.message);
    else if (package->problem != NULL)
        package->problem = lin_arena_format(&loader->arena, "%s: %s", path, package->problem);
    else if (!r.has_language)
        package->problem = lin_arena_format(&loader->arena,
                                            "%s: `package.language` is missing; it "
                                            "is \"0.1\"",
                                            path);
    else {
        package->read = true;
        return LINNET_OK;
    }
    package->read = true;
    return package->problem != NULL ? LINNET_OK : lin_fail_memory(err);
}
