/* SPDX-License-Identifier: MIT */
#ifndef LIN_SOURCE_LOADER_H
#define LIN_SOURCE_LOADER_H

/* Modules by their import path: `std` from the compiled-in library or a directory, `crate` and
 * dependencies from packages on disk, everything else from the host's callback. */

#include "source/files.h"

typedef struct lin_dependency {
    const char *key;
    const char *path; /* relative to the package; NULL until its `path` was read */
} lin_dependency;

/* A directory with linnet.toml. */
typedef struct lin_package {
    const char *identity; /* its real path */
    const char *shown;    /* how the user gets there; begins the names of its files */
    bool read;            /* linnet.toml was read; `problem` or `dependencies` are known */
    const char *problem;  /* what is wrong with linnet.toml, or NULL */
    LIN_LIST(lin_dependency) dependencies;
} lin_package;

typedef struct lin_module_loader {
    const lin_source_settings *settings;
    lin_arena arena; /* of the caller, without a jump target */
    LIN_LIST(lin_package *) packages;
    lin_text imported; /* of the callback; valid until the next import */
    bool failed;       /* an allocation failed where the answer could not say so */
} lin_module_loader;

void lin_module_loader_init(lin_module_loader *loader, const lin_source_settings *settings);
void lin_module_loader_free(lin_module_loader *loader);
/* The package that the file belongs to, for lin_lang_file.package: "" without one. NULL without
 * memory. Only for files on disk. */
const char *lin_module_loader_package(lin_module_loader *loader, const char *file);
lin_loader lin_module_loader_interface(lin_module_loader *loader);

/* Reads the package's linnet.toml, once. What is wrong in it goes to `problem`; a status other than
 * OK means that it could not be read or there is no memory. */
linnet_status lin_package_read(lin_module_loader *loader, lin_package *package, linnet_error *err);

#endif
