/* SPDX-License-Identifier: MIT */

/*
 * Modules by import path (language.md 4.1).
 *
 * A module's package is known by the real path of its directory, so that two dependencies that lead
 * to one directory are one package. Names shown to people begin the way the user wrote the path.
 * Path segments are identifiers, so an import cannot leave its root.
 */

#include "source/loader.h"

#include <string.h>

#include "zoo/zoo.h"

/* The package of the standard library's modules; no real path begins like this. */
static const char std_package[] = "std";

void lin_module_loader_init(lin_module_loader *loader, const lin_source_settings *settings)
{
    *loader = (lin_module_loader){ .settings = settings };
    lin_arena_init(&loader->arena, &settings->allocator);
    lin_text_init(&loader->imported, &settings->allocator);
}

void lin_module_loader_free(lin_module_loader *loader)
{
    lin_arena_free(&loader->arena);
    lin_text_free(&loader->imported);
}

static lin_load_result stop_memory(linnet_error *err)
{
    (void)lin_fail_memory(err);
    return LIN_LOAD_STOP;
}

/* ---- packages ---- */

/* The package with that real path; NULL without memory. */
static lin_package *package_at(lin_module_loader *loader, const char *identity, const char *shown)
{
    for (uint32_t i = 0; i < loader->packages.count; i++)
        if (strcmp(loader->packages.items[i]->identity, identity) == 0)
            return loader->packages.items[i];
    lin_package *fresh = LIN_NEW(&loader->arena, lin_package);
    if (fresh == NULL)
        return NULL;
    fresh->identity = identity;
    fresh->shown = shown;
    return LIN_PUSH(&loader->arena, &loader->packages, fresh) ? fresh : NULL;
}

static bool has_manifest(lin_module_loader *loader, const char *directory)
{
    const char *path = lin_path_join(&loader->arena, directory, "linnet.toml");
    loader->failed = loader->failed || path == NULL;
    return path != NULL && lin_path_look(path) == LIN_PATH_FILE;
}

/* `shown` without its last `levels` parts, or NULL when it has not that many by name. */
static const char *shown_above(lin_module_loader *loader, const char *shown, uint32_t levels)
{
    for (; levels > 0; levels--) {
        const char *slash = strrchr(shown, '/');
        const char *last = slash == NULL ? shown : slash + 1;
        if (last[0] == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
            return NULL;
        shown = lin_path_parent(&loader->arena, shown);
        if (shown == NULL) {
            loader->failed = true;
            return NULL;
        }
    }
    return shown;
}

/* The nearest package at or above the real directory; NULL for none and without memory. */
static const lin_package *nearest_package(lin_module_loader *loader, const char *real,
                                          const char *shown)
{
    for (uint32_t levels = 0; real != NULL && real[0] != '\0'; levels++) {
        if (has_manifest(loader, real)) {
            const char *above = shown_above(loader, shown, levels);
            const lin_package *package = package_at(loader, real, above != NULL ? above : real);
            loader->failed = loader->failed || package == NULL;
            return package;
        }
        if (strcmp(real, "/") == 0)
            return NULL;
        real = lin_path_parent(&loader->arena, real);
        loader->failed = loader->failed || real == NULL;
    }
    return NULL;
}

const char *lin_module_loader_package(lin_module_loader *loader, const char *file)
{
    const char *shown = lin_path_parent(&loader->arena, file);
    const char *real = shown == NULL ? NULL : lin_path_real(&loader->arena, shown);
    if (real == NULL)
        return NULL;
    const lin_package *package = nearest_package(loader, real, shown);
    return loader->failed ? NULL : package == NULL ? "" : package->identity;
}

/* ---- requests ---- */

/* "a.b" after a root's name as "a/b.linnet"; `empty` when nothing follows the root. NULL without
 * memory. */
static const char *module_file(lin_arena *arena, const char *rest, const char *empty)
{
    if (rest[0] == '\0')
        return empty;
    char *path = lin_arena_format(arena, "%s.linnet", rest);
    for (size_t i = 0; path != NULL && i < strlen(rest); i++)
        if (path[i] == '.')
            path[i] = '/';
    return path;
}

static lin_load_result load_file(lin_module_loader *loader, const char *path, const char *package,
                                 lin_loaded *out, linnet_error *err)
{
    if (path == NULL)
        return stop_memory(err);
    if (lin_path_look(path) == LIN_PATH_MISSING)
        return LIN_LOAD_MISSING;
    if (lin_file_read(&loader->arena, path, loader->settings->file_bytes, &out->text, &out->length,
                      err) != LINNET_OK)
        return LIN_LOAD_STOP;
    out->name = path;
    out->package = package;
    return LIN_LOAD_OK;
}

static lin_load_result load_std(lin_module_loader *loader, const char *rest, lin_loaded *out,
                                linnet_error *err)
{
    const char *directory = loader->settings->std_directory;
    const char *file = module_file(&loader->arena, rest, "");
    if (file == NULL)
        return stop_memory(err);
    if (file[0] == '\0')
        return LIN_LOAD_MISSING;
    if (directory != NULL)
        return load_file(loader, lin_path_join(&loader->arena, directory, file), std_package, out,
                         err);
    const char *path = lin_path_join(&loader->arena, "std", file);
    if (path == NULL)
        return stop_memory(err);
    const lin_zoo_file *found = lin_zoo_find(path);
    if (found == NULL)
        return LIN_LOAD_MISSING;
    *out = (lin_loaded){
        .name = found->path, .package = std_package, .text = found->text, .length = found->length
    };
    return LIN_LOAD_OK;
}

static lin_load_result load_by_callback(lin_module_loader *loader, const char *module,
                                        lin_loaded *out, linnet_error *err)
{
    const lin_source_settings *settings = loader->settings;
    if (settings->import == NULL)
        return LIN_LOAD_MISSING;
    lin_text_clear(&loader->imported);
    int32_t answer = settings->import(settings->import_user, module, &loader->imported);
    if (loader->imported.failed)
        return stop_memory(err);
    if (answer < 0) {
        (void)lin_fail(err, LINNET_ERROR_CANCELLED, "the import of `%s` was stopped", module);
        return LIN_LOAD_STOP;
    }
    if (answer == 0)
        return LIN_LOAD_MISSING;
    out->name = module;
    out->package = "";
    out->text = lin_text_data(&loader->imported);
    out->length = loader->imported.length;
    return LIN_LOAD_OK;
}

static lin_load_result package_problem(const char *problem, lin_loaded *out, linnet_error *err)
{
    if (problem == NULL)
        return stop_memory(err);
    lin_copy_utf8(out->message, sizeof(out->message), problem);
    return LIN_LOAD_PACKAGE;
}

/* The package a dependency leads to: OK with *out, MISSING when it is not declared. */
static lin_load_result find_package(lin_module_loader *loader, const lin_package *from,
                                    const char *key, lin_package **out, lin_loaded *loaded,
                                    linnet_error *err)
{
    lin_arena *arena = &loader->arena;
    const char *path = NULL;
    for (uint32_t i = 0; i < from->dependencies.count; i++)
        if (strcmp(from->dependencies.items[i].key, key) == 0)
            path = from->dependencies.items[i].path;
    if (path == NULL)
        return LIN_LOAD_MISSING;
    const char *shown = lin_path_join(arena, from->shown, path);
    if (shown == NULL)
        return stop_memory(err);
    bool found = has_manifest(loader, shown);
    if (loader->failed)
        return stop_memory(err);
    if (!found)
        return package_problem(
            lin_arena_format(arena, "dependency `%s`: `%s` has no linnet.toml", key, shown), loaded,
            err);
    const char *identity = lin_path_real(arena, shown);
    *out = identity == NULL || identity[0] == '\0' ? NULL : package_at(loader, identity, shown);
    return *out == NULL ? stop_memory(err) : LIN_LOAD_OK;
}

static lin_load_result read_manifest(lin_module_loader *loader, lin_package *package,
                                     lin_loaded *out, linnet_error *err)
{
    if (lin_package_read(loader, package, err) != LINNET_OK)
        return LIN_LOAD_STOP;
    return package->problem != NULL ? package_problem(package->problem, out, err) : LIN_LOAD_OK;
}

static lin_load_result load_from_package(lin_module_loader *loader, lin_package *package,
                                         const char *root, const char *rest, lin_loaded *out,
                                         linnet_error *err)
{
    lin_arena *arena = &loader->arena;
    lin_load_result result = read_manifest(loader, package, out, err);
    if (result == LIN_LOAD_OK && strcmp(root, "crate") != 0) {
        result = find_package(loader, package, root, &package, out, err);
        if (result == LIN_LOAD_OK)
            result = read_manifest(loader, package, out, err);
    }
    if (result != LIN_LOAD_OK)
        return result;
    const char *file = module_file(arena, rest, "lib.linnet");
    const char *source = lin_path_join(arena, package->shown, "src");
    if (file == NULL || source == NULL)
        return stop_memory(err);
    return load_file(loader, lin_path_join(arena, source, file), package->identity, out, err);
}

static lin_load_result load(void *user, const lin_load_request *request, lin_loaded *out,
                            linnet_error *err)
{
    lin_module_loader *loader = user;
    const char *dot = strchr(request->module, '.');
    const char *rest = dot == NULL ? "" : dot + 1;
    uint64_t length = dot == NULL ? strlen(request->module) : (uint64_t)(dot - request->module);
    const char *root = lin_arena_text(&loader->arena, request->module, length);
    if (root == NULL)
        return stop_memory(err);
    if (strcmp(root, "std") == 0)
        return load_std(loader, rest, out, err);
    for (uint32_t i = 0; i < loader->packages.count; i++)
        if (strcmp(loader->packages.items[i]->identity, request->from_package) == 0)
            return load_from_package(loader, loader->packages.items[i], root, rest, out, err);
    return load_by_callback(loader, request->module, out, err);
}

lin_loader lin_module_loader_interface(lin_module_loader *loader)
{
    return (lin_loader){ load, loader };
}
