/* SPDX-License-Identifier: MIT */

/*
 * From what a user names to a checked program.
 *
 *     built-in name --zoo--> card --+
 *     directory ----nest.toml------> card --> program text, bindings --> lin_lang_check
 *     file.linnet ------------------------------^                            |
 *     config.json --family--> values, bindings -^                            v
 *     *.safetensors, *.index.json beside it --headers--> tensors --> reconciled with it
 *     *.gguf --metadata--> family; tensors ---------------------------^
 *
 * A built-in name is looked at before the file system; "./gpt2" is always a path. A config.json
 * that is named itself is read alone; its directory, or a checkpoint in it, stands for both.
 */

#include "source/source.h"
#include "source/checkpoint.h"
#include "source/family.h"
#include "source/files.h"
#include "source/gguf.h"
#include "source/loader.h"
#include "source/quantization.h"

#include <string.h>

#include "zoo/zoo.h"

enum { DEFAULT_FILE_BYTES = 16 << 20, SHOWN_NAME = 64, MOST_FILES = 100000 };

/* A source being opened. */
typedef struct opening {
    lin_source_settings settings; /* with defaults filled in */
    lin_module_loader loader;
    lin_source *source;
    lin_diagnostics *diagnostics;
    linnet_error *err;
} opening;

/* A text that is read, from disk or from the zoo. */
typedef struct text_file {
    const char *name, *text;
    uint64_t length;
} text_file;

static linnet_status begin(opening *o, const lin_source_settings *settings,
                           lin_diagnostics *diagnostics, const char *name, linnet_error *err)
{
    *o = (opening){ .settings = *settings, .diagnostics = diagnostics, .err = err };
    if (o->settings.file_bytes == 0)
        o->settings.file_bytes = DEFAULT_FILE_BYTES;
    if (o->settings.limits.source_bytes == 0)
        o->settings.limits = lin_lang_default_limits;
    lin_module_loader_init(&o->loader, &o->settings);
    o->source = lin_alloc_zeroed(&settings->allocator, sizeof(*o->source));
    if (o->source == NULL)
        return lin_fail_memory(err);
    lin_arena_init(&o->source->arena, &settings->allocator);
    o->source->title = "";
    o->source->family = "";
    o->source->name = lin_arena_copy(&o->source->arena, name);
    if (o->source->name == NULL)
        return lin_fail_memory(err);
    if (o->settings.std_directory != NULL) {
        lin_path_kind kind = lin_path_look(o->settings.std_directory);
        if (kind == LIN_PATH_FILE)
            return lin_fail_at(err, LINNET_ERROR_FILE,
                               (lin_place){ .source = o->settings.std_directory }, NULL,
                               "the directory of the standard library is a file");
        if (kind != LIN_PATH_DIRECTORY)
            return lin_path_fail(o->settings.std_directory, err);
    }
    return LINNET_OK;
}

static linnet_status end(opening *o, linnet_status status, lin_source **out)
{
    lin_module_loader_free(&o->loader);
    if (status == LINNET_OK)
        *out = o->source;
    else
        lin_source_free(o->source);
    return status;
}

void lin_source_free(lin_source *source)
{
    if (source == NULL)
        return;
    const lin_allocator allocator = source->arena.allocator;
    lin_program_free(source->program);
    lin_arena_free(&source->arena);
    lin_release(&allocator, source, sizeof(*source));
}

static linnet_status check(opening *o, text_file file, const char *package)
{
    const lin_lang_file text = { file.name, package, file.text, file.length };
    const lin_loader loader = lin_module_loader_interface(&o->loader);
    return lin_lang_check(&text, &loader, &o->settings.limits, &o->settings.allocator,
                          o->diagnostics, &o->source->program, o->err);
}

/* Into memory that lives as long as the opening. */
static linnet_status read_file(opening *o, const char *path, text_file *out)
{
    if (path == NULL)
        return lin_fail_memory(o->err);
    out->name = path;
    return lin_file_read(&o->loader.arena, path, o->settings.file_bytes, &out->text, &out->length,
                         o->err);
}

static linnet_status check_file(opening *o, const char *path)
{
    text_file file;
    linnet_status status = read_file(o, path, &file);
    if (status != LINNET_OK)
        return status;
    const char *package = lin_module_loader_package(&o->loader, path);
    return package == NULL ? lin_fail_memory(o->err) : check(o, file, package);
}

/* ---- cards ---- */

static linnet_status read_card(opening *o, text_file file, lin_card *out)
{
    linnet_status status =
        lin_card_read(file.name, file.text, file.length, &o->source->arena, out, o->err);
    if (status != LINNET_OK)
        return status;
    lin_source *source = o->source;
    source->title = out->title != NULL ? out->title : "";
    source->root = out->root;
    source->entry = out->entry;
    source->head_is_embedding = out->head != NULL && strcmp(out->head, "embedding") == 0;
    source->settings = out->settings;
    source->setting_count = out->setting_count;
    return LINNET_OK;
}

static linnet_status read_bindings(opening *o, text_file file)
{
    o->source->has_bindings = true;
    return lin_bindings_read(file.name, file.text, file.length, &o->source->arena,
                             &o->source->bindings, &o->source->binding_count, o->err);
}

static linnet_status zoo_file(opening *o, const char *path, text_file *out)
{
    const lin_zoo_file *found = path == NULL ? NULL : lin_zoo_find(path);
    if (path == NULL)
        return lin_fail_memory(o->err);
    if (found == NULL)
        return lin_fail(o->err, LINNET_ERROR_FILE, "`%s` is not compiled in", path);
    *out = (text_file){ found->path, found->text, found->length };
    return LINNET_OK;
}

static linnet_status open_builtin(opening *o, const lin_zoo_model *model)
{
    text_file file;
    lin_card card;
    if (model->card == NULL)
        return lin_fail(o->err, LINNET_ERROR_UNSUPPORTED,
                        "`%s` is known, but its source is not shipped: %s", model->name,
                        model->instead);
    linnet_status status = zoo_file(o, model->card, &file);
    if (status == LINNET_OK)
        status = read_card(o, file, &card);
    if (status == LINNET_OK && card.bindings != NULL) {
        const char *directory = lin_path_parent(&o->loader.arena, model->card);
        const char *path =
            directory == NULL ? NULL : lin_path_join(&o->loader.arena, directory, card.bindings);
        status = zoo_file(o, path, &file);
        if (status == LINNET_OK)
            status = read_bindings(o, file);
    }
    if (status == LINNET_OK)
        status = zoo_file(o, card.path != NULL ? card.path : "", &file);
    o->source->title = model->title;
    o->source->family = model->family;
    return status == LINNET_OK ? check(o, file, "") : status;
}

/* A path in a card, from the card's directory. */
static linnet_status card_path(opening *o, const char *card_name, const char *directory,
                               const char *key, const char *path, const char **out)
{
    if (path[0] == '\0' || path[0] == '/')
        return lin_fail_at(o->err, LINNET_ERROR_FORMAT, (lin_place){ .source = card_name }, NULL,
                           "`%s` is \"%s\"; a path relative to the card is meant", key, path);
    *out = lin_path_join(&o->loader.arena, directory, path);
    return *out == NULL ? lin_fail_memory(o->err) : LINNET_OK;
}

static linnet_status open_card(opening *o, const char *directory, const char *card_path_name)
{
    text_file file;
    lin_card card;
    const char *path;
    linnet_status status = read_file(o, card_path_name, &file);
    if (status == LINNET_OK)
        status = read_card(o, file, &card);
    if (status == LINNET_OK && card.bindings != NULL) {
        status = card_path(o, card_path_name, directory, "weights.bindings", card.bindings, &path);
        if (status == LINNET_OK)
            status = read_file(o, path, &file);
        if (status == LINNET_OK)
            status = read_bindings(o, file);
    }
    if (status != LINNET_OK)
        return status;
    status = card_path(o, card_path_name, directory, "source.path",
                       card.path != NULL ? card.path : "src/lib.linnet", &path);
    return status == LINNET_OK ? check_file(o, path) : status;
}

/* ---- configs ---- */

static void take_family(lin_source *source, const family_reader *r)
{
    const family_row *row = lin_family_find(r->model_type);
    source->title = r->title;
    source->family = row != NULL ? row->family : "";
    source->root = r->root;
    source->entry = r->entry;
    source->settings = r->settings.items;
    source->setting_count = r->settings.count;
    source->bindings = r->bindings.items;
    source->binding_count = r->bindings.count;
    source->has_bindings = true;
    source->storage = r->storage.items;
    source->storage_count = r->storage.count;
    source->assumptions = r->assumptions.items;
    source->assumption_count = r->assumptions.count;
    source->head_is_embedding = r->head_is_embedding;
}

/* The family's program, with what the family said about it. */
static linnet_status check_family(opening *o, const family_reader *family)
{
    text_file file;
    take_family(o->source, family);
    linnet_status status = zoo_file(o, family->program, &file);
    return status == LINNET_OK ? check(o, file, "") : status;
}

static linnet_status read_config(opening *o, const char *path, family_reader *out)
{
    text_file file;
    linnet_status status = read_file(o, path, &file);
    return status == LINNET_OK
               ? lin_config_read(&o->source->arena, path, file.text, file.length, out, o->err)
               : status;
}

/* What a config says about weights whose headers are not there. */
static linnet_status quantize(opening *o, const family_reader *family)
{
    const lin_json *settings = lin_quantization_find(family->config);
    return settings != NULL ? lin_quantization_store(settings, o->source, o->err) : LINNET_OK;
}

static linnet_status open_config(opening *o, const char *path)
{
    family_reader family;
    linnet_status status = read_config(o, path, &family);
    if (status == LINNET_OK)
        status = check_family(o, &family);
    return status == LINNET_OK ? quantize(o, &family) : status;
}

/* ---- checkpoints ---- */

static bool says_dtype(const family_reader *family)
{
    return lin_family_has(family->text, "dtype") || lin_family_has(family->text, "torch_dtype") ||
           lin_family_has(family->config, "dtype") || lin_family_has(family->config, "torch_dtype");
}

static linnet_status reconcile(opening *o, family_reader *family, const lin_checkpoint *checkpoint)
{
    lin_reconciled *result = LIN_NEW(&o->source->arena, lin_reconciled);
    if (result == NULL || !LIN_PUSH(family->arena, &family->ignored, NULL))
        return lin_fail_memory(o->err);
    o->source->tensors = &checkpoint->tensors;
    o->source->reconciled = result;
    return lin_reconcile(o->source, checkpoint, says_dtype(family), family->ignored.items, result,
                         o->err);
}

/* A checkpoint's headers were read; the config beside them says what they are of. */
static linnet_status open_with_config(opening *o, const char *config,
                                      const lin_checkpoint *checkpoint)
{
    family_reader family;
    linnet_status status = read_config(o, config, &family);
    if (status == LINNET_OK)
        status = check_family(o, &family);
    if (status == LINNET_OK && !checkpoint->has_sizes)
        status = quantize(o, &family); /* what headers say comes behind it and prevails */
    return status == LINNET_OK ? reconcile(o, &family, checkpoint) : status;
}

/* A checkpoint alone holds no hyper-parameters. */
static linnet_status fail_config(opening *o, const char *config)
{
    char shown[LIN_PATH_SHOWN];
    lin_path_show(shown, config);
    return lin_fail_at(o->err, LINNET_ERROR_FILE, (lin_place){ .source = config }, NULL,
                       "`%s` does not exist: weights are read together with the config.json "
                       "beside them, which says what model they are",
                       shown);
}

static linnet_status open_checkpoint(opening *o, const char *path)
{
    lin_checkpoint *checkpoint = LIN_NEW(&o->source->arena, lin_checkpoint);
    if (checkpoint == NULL)
        return lin_fail_memory(o->err);
    linnet_status status = lin_checkpoint_path(&o->source->arena, path, checkpoint, o->err);
    if (status != LINNET_OK)
        return status;
    const char *directory = lin_path_parent(&o->loader.arena, path);
    const char *config =
        directory == NULL ? NULL : lin_path_join(&o->loader.arena, directory, "config.json");
    if (config == NULL)
        return lin_fail_memory(o->err);
    return lin_path_look(config) == LIN_PATH_MISSING ? fail_config(o, config)
                                                     : open_with_config(o, config, checkpoint);
}

/* A config and what weights lie beside it. */
static linnet_status open_config_directory(opening *o, const char *directory, const char *config)
{
    lin_checkpoint *checkpoint = LIN_NEW(&o->source->arena, lin_checkpoint);
    bool found = false;
    if (checkpoint == NULL)
        return lin_fail_memory(o->err);
    linnet_status status =
        lin_checkpoint_directory(&o->source->arena, directory, &found, checkpoint, o->err);
    if (status != LINNET_OK)
        return status;
    return found ? open_with_config(o, config, checkpoint) : open_config(o, config);
}

static linnet_status open_gguf(opening *o, const char *path)
{
    family_reader family;
    lin_gguf_model *model = LIN_NEW(&o->source->arena, lin_gguf_model);
    if (model == NULL)
        return lin_fail_memory(o->err);
    linnet_status status = lin_gguf_open(&o->source->arena, path, model, &family, o->err);
    if (status == LINNET_OK)
        status = check_family(o, &family);
    if (status != LINNET_OK)
        return status;
    o->source->tensors = &model->tensors;
    return lin_gguf_store(model, o->source, o->err);
}

/* ---- paths ---- */

/* *out is NULL without memory. */
static bool holds(opening *o, const char *directory, const char *name, const char **out)
{
    *out = lin_path_join(&o->loader.arena, directory, name);
    o->loader.failed = o->loader.failed || *out == NULL;
    return *out != NULL && lin_path_look(*out) != LIN_PATH_MISSING;
}

/* A directory without a config: one with a GGUF file, else none that can be read. */
static linnet_status open_weights_directory(opening *o, const char *directory)
{
    static const char *const gguf_ends[] = { ".gguf", NULL };
    static const char *const ends[] = { ".safetensors", ".index.json", NULL };
    const char *const *names = NULL;
    uint32_t count = 0;
    lin_arena *arena = &o->loader.arena;
    linnet_status status =
        lin_directory_list(arena, directory, gguf_ends, MOST_FILES, &names, &count, o->err);
    if (status == LINNET_OK && count > 0) {
        /* The first stands for the others when they are the parts of one; one is meant otherwise.
         */
        if (count > 1 && strstr(names[0], "-00001-of-") == NULL)
            return lin_fail_at(o->err, LINNET_ERROR_FILE, (lin_place){ .source = directory }, NULL,
                               "the directory holds %u GGUF files: name one of them",
                               (unsigned)count);
        const char *path = lin_path_join(arena, directory, names[0]);
        return path == NULL ? lin_fail_memory(o->err) : open_gguf(o, path);
    }
    if (status == LINNET_OK)
        status = lin_directory_list(arena, directory, ends, MOST_FILES, &names, &count, o->err);
    if (status != LINNET_OK)
        return status;
    const char *config = lin_path_join(arena, directory, "config.json");
    if (config == NULL)
        return lin_fail_memory(o->err);
    if (count > 0)
        return fail_config(o, config);
    char shown[LIN_PATH_SHOWN];
    lin_path_show(shown, directory);
    return lin_fail_at(o->err, LINNET_ERROR_FILE, (lin_place){ .source = directory }, NULL,
                       "`%s` holds no model: a config.json, a GGUF file, a card (nest.toml), or "
                       "linnet.toml with src/lib.linnet, is looked for",
                       shown);
}

static linnet_status open_directory(opening *o, const char *directory)
{
    const char *path;
    if (holds(o, directory, "nest.toml", &path))
        return open_card(o, directory, path);
    if (holds(o, directory, "linnet.toml", &path) && holds(o, directory, "src/lib.linnet", &path))
        return o->loader.failed ? lin_fail_memory(o->err) : check_file(o, path);
    bool config = holds(o, directory, "config.json", &path);
    if (o->loader.failed)
        return lin_fail_memory(o->err);
    return config ? open_config_directory(o, directory, path)
                  : open_weights_directory(o, directory);
}

static linnet_status refuse_file(opening *o, const char *path)
{
    static const char *const pickles[] = { ".bin", ".pt", ".pth", ".ckpt" };
    const lin_place place = { .source = path };
    char shown[LIN_PATH_SHOWN];
    lin_path_show(shown, path);
    for (uint32_t i = 0; i < ARRAY_LEN(pickles); i++)
        if (lin_path_ends_with(path, pickles[i]))
            return lin_fail_at(o->err, LINNET_ERROR_UNSUPPORTED, place, NULL,
                               "`%s`: files ending in `%s` run code when they are loaded and are "
                               "not read: give the config.json, the index or a *.safetensors",
                               shown, pickles[i]);
    if (lin_path_ends_with(path, ".toml"))
        return lin_fail_at(o->err, LINNET_ERROR_UNSUPPORTED, place, NULL,
                           "`%s` is given by its directory", shown);
    return lin_fail_at(o->err, LINNET_ERROR_FORMAT, place, NULL,
                       "`%s` is no model: a .linnet file, a config.json, a *.safetensors, a "
                       "*.gguf, a directory holding one of them or a card (nest.toml), or a "
                       "built-in name is meant",
                       shown);
}

static linnet_status open_file(opening *o, const char *path)
{
    if (lin_path_ends_with(path, ".linnet"))
        return check_file(o, path);
    if (lin_checkpoint_is_path(path))
        return open_checkpoint(o, path);
    if (lin_path_ends_with(path, ".gguf"))
        return open_gguf(o, path);
    return lin_path_ends_with(path, ".json") ? open_config(o, path) : refuse_file(o, path);
}

/* What else a model may be: in full where no nearest name takes the room that a message has. */
static const char *other_sources(const char *nearest)
{
    return nearest != NULL ? "a config.json, safetensors index or GGUF file works too"
                           : "a config.json, a directory with one, a safetensors index or a GGUF "
                             "file works too";
}

/* A word that is no path: the built-in names are what it may have meant. They come last: of a long
 * word, the last of them are cut. */
static linnet_status fail_unknown(opening *o, const char *name)
{
    const char *names[64];
    uint32_t count = 0, all = 0;
    char shown[SHOWN_NAME];
    lin_copy_utf8(shown, sizeof(shown), name);
    lin_text list;
    lin_text_init(&list, &o->settings.allocator);
    for (uint32_t i = 0; i < lin_zoo_model_count() && all < ARRAY_LEN(names); i++) {
        const lin_zoo_model *model = lin_zoo_model_at(i);
        names[all++] = model->name;
        if (model->card != NULL)
            lin_text_addf(&list, "%s%s", count++ == 0 ? "" : ", ", model->name);
    }
    const char *nearest = lin_nearest(name, names, all);
    linnet_status status =
        list.failed ? lin_fail_memory(o->err)
                    : lin_fail(o->err, LINNET_ERROR_NOT_FOUND,
                               "no model or file is called `%s`%s%s%s; %s; built in are %s", shown,
                               nearest == NULL ? "" : "; the nearest name is `",
                               nearest == NULL ? "" : nearest, nearest == NULL ? "" : "`",
                               other_sources(nearest), lin_text_data(&list));
    lin_text_free(&list);
    return status;
}

static bool looks_like_path(const char *name)
{
    static const char *const ends[] = { ".linnet", ".json", ".toml", ".safetensors", ".gguf" };
    for (uint32_t i = 0; i < ARRAY_LEN(ends); i++)
        if (lin_path_ends_with(name, ends[i]))
            return true;
    return strchr(name, '/') != NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* What follows the slash of `organisation/name`, as hubs call their models, else NULL. */
static const char *hub_name(const char *path)
{
    const char *slash = strchr(path, '/');
    return slash != NULL && slash != path && path[0] != '.' && path[0] != '~' && slash[1] != '\0' &&
                   strchr(slash + 1, '/') == NULL
               ? slash + 1
               : NULL;
}

/* Of a hub's name: that nothing is fetched, and the shipped model that has nearly that name. */
static linnet_status fail_missing(opening *o, const char *path)
{
    const char *names[64];
    uint32_t count = 0;
    char shown[LIN_PATH_SHOWN];
    const char *name = hub_name(path);
    if (name == NULL)
        return lin_path_fail(path, o->err);
    for (uint32_t i = 0; i < lin_zoo_model_count() && count < ARRAY_LEN(names); i++)
        if (lin_zoo_model_at(i)->card != NULL)
            names[count++] = lin_zoo_model_at(i)->name;
    const char *nearest = lin_nearest(name, names, count);
    lin_path_show(shown, path);
    return lin_fail_at(o->err, LINNET_ERROR_FILE, (lin_place){ .source = path }, NULL,
                       "`%s` does not exist, and no hub is asked: give its config.json%s%s%s",
                       shown, nearest == NULL ? "" : ", or the built-in name `",
                       nearest == NULL ? "" : nearest, nearest == NULL ? "" : "`");
}

static linnet_status open_path(opening *o, const char *path)
{
    switch (lin_path_look(path)) {
    case LIN_PATH_DIRECTORY:
        return open_directory(o, path);
    case LIN_PATH_FILE:
        return open_file(o, path);
    case LIN_PATH_MISSING:
        return looks_like_path(path) ? fail_missing(o, path) : fail_unknown(o, path);
    case LIN_PATH_OTHER:
    case LIN_PATH_UNREACHABLE:
        break;
    }
    return lin_path_fail(path, o->err);
}

linnet_status lin_source_open(const lin_source_settings *settings, const char *name_or_path,
                              lin_diagnostics *diagnostics, lin_source **out, linnet_error *err)
{
    opening o;
    linnet_status status = begin(&o, settings, diagnostics, name_or_path, err);
    if (status == LINNET_OK && name_or_path[0] == '\0')
        status = lin_fail(err, LINNET_ERROR_NOT_FOUND, "the name of the model is empty");
    if (status == LINNET_OK) {
        const lin_zoo_model *model = lin_zoo_model_find(name_or_path);
        status = model != NULL ? open_builtin(&o, model) : open_path(&o, name_or_path);
    }
    return end(&o, status, out);
}

linnet_status lin_source_parse(const lin_source_settings *settings, const char *text,
                               uint64_t length, const char *name, lin_diagnostics *diagnostics,
                               lin_source **out, linnet_error *err)
{
    opening o;
    const text_file file = { name != NULL ? name : "<text>", text, length };
    linnet_status status = begin(&o, settings, diagnostics, file.name, err);
    if (status == LINNET_OK)
        status = check(&o, file, "");
    return end(&o, status, out);
}
