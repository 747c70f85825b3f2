/* SPDX-License-Identifier: MIT */

/*
 * What a directory or a file gives: one list of tensors from the headers of all its shards.
 *
 *     *.index.json --names, shards--> list <--sizes-- header of each shard that is there
 *     several *.safetensors ---------> list
 *
 * A shard's header is read into memory of its own that is dropped before the next one is read: 163
 * shards need the memory of the largest.
 */

#include "source/checkpoint.h"

#include <string.h>

enum { MAX_FILES = 100000, MAX_INDEX_BYTES = LIN_SAFETENSORS_MAX_HEADER };

static linnet_status refuse_shard(const char *path, const char *tensor, const char *what,
                                  linnet_error *err)
{
    char shown[LIN_TENSOR_SHOWN], file[LIN_PATH_SHOWN];
    lin_tensor_show(shown, tensor);
    lin_path_show(file, path);
    return lin_fail_at(err, LINNET_ERROR_FORMAT, (lin_place){ .source = path }, NULL,
                       "tensor `%s` %s `%s`: the file belongs to another model", shown, what, file);
}

/* ---- an index and its shards ---- */

static linnet_status copy_sizes(lin_arena *arena, lin_tensor_list *list, lin_tensor *into,
                                const lin_tensor_list *from, const lin_tensor *tensor,
                                linnet_error *err)
{
    int64_t *shape = NULL;
    linnet_status status = lin_tensor_axes(list, arena, tensor->rank, &shape, err);
    if (status != LINNET_OK)
        return status;
    if (tensor->rank != 0)
        memcpy(shape, tensor->shape, tensor->rank * sizeof(*shape));
    /* Both lists know the formats of one reader, which are fewer than a list has room for. */
    int32_t format = lin_tensor_format_of(list, from->formats[tensor->format].name);
    into->shape = shape;
    into->rank = tensor->rank;
    into->bytes = tensor->bytes;
    into->offset = tensor->offset;
    into->format = (uint16_t)format;
    return LINNET_OK;
}

/* Every tensor of the shard that the index mentions gets its size. */
static linnet_status merge_shard(lin_arena *arena, lin_checkpoint *out, uint32_t shard,
                                 const lin_tensor_list *from, linnet_error *err)
{
    lin_tensor_list *list = &out->tensors;
    for (uint32_t i = 0; i < from->count; i++) {
        const lin_tensor *tensor = &from->items[i];
        const lin_tensor *known = lin_tensor_find(list, tensor->name);
        if (known == NULL) {
            if (out->unlisted++ == 0)
                out->unlisted_name = lin_arena_copy(arena, tensor->name);
            continue;
        }
        if (known->shard != shard)
            return refuse_shard(from->source_name, tensor->name,
                                "is elsewhere by the index, and in", err);
        linnet_status status =
            copy_sizes(arena, list, &list->items[known - list->items], from, tensor, err);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

static linnet_status read_shard(lin_arena *arena, const char *path, uint32_t shard,
                                lin_checkpoint *out, linnet_error *err)
{
    lin_arena scratch;
    lin_tensor_list header;
    lin_arena_init(&scratch, &arena->allocator);
    linnet_status status = lin_safetensors_open(&scratch, path, &header, err);
    if (status == LINNET_OK)
        status = merge_shard(arena, out, shard, &header, err);
    lin_arena_free(&scratch);
    return status;
}

static void note_missing(lin_checkpoint *out, const char *name)
{
    out->has_sizes = false;
    if (out->missing++ == 0)
        out->missing_shard = name;
}

static linnet_status read_shards(lin_arena *arena, const char *directory, lin_checkpoint *out,
                                 linnet_error *err)
{
    lin_tensor_list *list = &out->tensors;
    for (uint32_t i = 0; i < list->shard_count; i++) {
        lin_tensor_shard *shard = &list->shards[i];
        const char *path = lin_path_join(arena, directory, shard->name);
        if (path == NULL)
            return lin_fail_memory(err);
        lin_path_kind kind = lin_path_look(path);
        if (kind == LIN_PATH_MISSING) {
            note_missing(out, shard->name);
        } else if (!lin_path_ends_with(shard->name, ".safetensors")) {
            out->has_sizes = false;
        } else {
            linnet_status status = read_shard(arena, path, i, out, err);
            if (status != LINNET_OK)
                return status;
            shard->present = true;
        }
    }
    return LINNET_OK;
}

/* A tensor that its shard, which was read, does not hold. */
static linnet_status check_held(const lin_tensor_list *list, linnet_error *err)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const lin_tensor *tensor = &list->items[i];
        if (tensor->bytes < 0 && list->shards[tensor->shard].present)
            return refuse_shard(list->shards[tensor->shard].name, tensor->name,
                                "is by the index, and not really, in", err);
    }
    return LINNET_OK;
}

/* Runs a reader without the arena's jump target: it holds files and memory of its own. */
#define WITHOUT_JUMP(arena, status, call)                 \
    do {                                                  \
        jmp_buf *const on_failure_ = (arena)->on_failure; \
        (arena)->on_failure = NULL;                       \
        (status) = (call);                                \
        (arena)->on_failure = on_failure_;                \
    } while (0)

static linnet_status read_index(lin_arena *arena, const char *path, lin_checkpoint *out,
                                linnet_error *err)
{
    const char *text = NULL;
    uint64_t length = 0;
    *out = (lin_checkpoint){ .has_sizes = true };
    linnet_status status = lin_file_read(arena, path, MAX_INDEX_BYTES, &text, &length, err);
    if (status != LINNET_OK)
        return status;
    /* The arena's own copy of the file, which nobody else has. */
    status = lin_index_read(arena, path, (char *)(uintptr_t)text, length, &out->tensors, err);
    const char *directory = lin_path_parent(arena, path);
    if (status == LINNET_OK && directory == NULL)
        status = lin_fail_memory(err);
    if (status == LINNET_OK)
        status = read_shards(arena, directory, out, err);
    if (status == LINNET_OK)
        status = check_held(&out->tensors, err);
    return status == LINNET_OK ? lin_tensor_count_all(&out->tensors, err) : status;
}

linnet_status lin_checkpoint_index(lin_arena *arena, const char *path, lin_checkpoint *out,
                                   linnet_error *err)
{
    linnet_status status;
    WITHOUT_JUMP(arena, status, read_index(arena, path, out, err));
    return status;
}

/* ---- files without an index ---- */

/* Headers of several files as they are read: their tensors' number is known only at the end. */
typedef struct collection {
    lin_arena *arena;
    lin_arena scratch; /* what `found` lies in */
    LIN_LIST(lin_tensor_list *) found;
    uint64_t count;
    linnet_error *err;
} collection;

static linnet_status collect(collection *c, const char *path)
{
    lin_tensor_list *list = LIN_NEW(&c->scratch, lin_tensor_list);
    if (list == NULL || !LIN_PUSH(&c->scratch, &c->found, list))
        return lin_fail_memory(c->err);
    linnet_status status = lin_safetensors_open(&c->scratch, path, list, c->err);
    if (status == LINNET_OK)
        c->count += list->count;
    return status;
}

static linnet_status append(collection *c, uint32_t shard, lin_tensor_list *into)
{
    const lin_tensor_list *from = c->found.items[shard];
    for (uint32_t i = 0; i < from->count; i++) {
        lin_tensor tensor = from->items[i];
        tensor.shard = shard;
        tensor.name = lin_arena_copy(c->arena, tensor.name);
        if (tensor.name == NULL)
            return lin_fail_memory(c->err);
        linnet_status status = copy_sizes(c->arena, into, &tensor, from, &from->items[i], c->err);
        if (status == LINNET_OK)
            status = lin_tensor_add(into, &tensor, c->err);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

static linnet_status merge_files(collection *c, const char *directory, const char *const *names,
                                 lin_tensor_list *out)
{
    linnet_status status = lin_tensor_list_init(out, c->arena, directory, c->count, c->err);
    if (status != LINNET_OK)
        return status;
    out->shards = LIN_NEW_ARRAY(c->arena, lin_tensor_shard, c->found.count);
    if (out->shards == NULL)
        return lin_fail_memory(c->err);
    out->shard_count = c->found.count;
    for (uint32_t i = 0; i < c->found.count && status == LINNET_OK; i++) {
        out->shards[i] = (lin_tensor_shard){ names[i], true };
        status = append(c, i, out);
    }
    return status;
}

static linnet_status read_several(lin_arena *arena, const char *directory, const char *const *names,
                                  uint32_t count, lin_checkpoint *out, linnet_error *err)
{
    collection c = { .arena = arena, .err = err };
    linnet_status status = LINNET_OK;
    lin_arena_init(&c.scratch, &arena->allocator);
    for (uint32_t i = 0; i < count && status == LINNET_OK; i++) {
        const char *path = lin_path_join(arena, directory, names[i]);
        status = path == NULL ? lin_fail_memory(err) : collect(&c, path);
    }
    if (status == LINNET_OK)
        status = merge_files(&c, directory, names, &out->tensors);
    lin_arena_free(&c.scratch);
    return status;
}

static linnet_status read_files(lin_arena *arena, const char *directory, const char *const *names,
                                uint32_t count, lin_checkpoint *out, linnet_error *err)
{
    *out = (lin_checkpoint){ .has_sizes = true };
    if (count != 1)
        return read_several(arena, directory, names, count, out, err);
    const char *path = lin_path_join(arena, directory, names[0]);
    return path == NULL ? lin_fail_memory(err)
                        : lin_safetensors_open(arena, path, &out->tensors, err);
}

/* Files of `directory` that make one model together. */
static linnet_status open_files(lin_arena *arena, const char *directory, const char *const *names,
                                uint32_t count, lin_checkpoint *out, linnet_error *err)
{
    linnet_status status;
    WITHOUT_JUMP(arena, status, read_files(arena, directory, names, count, out, err));
    return status;
}

/* ---- directories ---- */

/* "model-00001-of-00163.safetensors" */
static bool is_numbered(const char *name)
{
    const char *of = strstr(name, "-of-");
    size_t digits = of == NULL ? 0 : strspn(of + 4, "0123456789");
    return digits != 0 && strcmp(of + 4 + digits, ".safetensors") == 0;
}

/* Fine-tuned differences, no model; Mistral's own format beside the library's. */
static bool is_other(const char *name)
{
    return strncmp(name, "adapter_", 8) == 0 || strncmp(name, "consolidated", 12) == 0;
}

static bool is_any(const char *name)
{
    return lin_path_ends_with(name, ".safetensors");
}

static bool is_plain(const char *name)
{
    return is_any(name) && !is_other(name);
}

static bool is_single(const char *name)
{
    return strcmp(name, "model.safetensors") == 0;
}

static const char *find_index(const char *const *names, uint32_t count, const char *end)
{
    for (uint32_t i = 0; i < count; i++)
        if (lin_path_ends_with(names[i], end))
            return names[i];
    return NULL;
}

/* The first kind of which there is a file, in `chosen`. */
static uint32_t choose_files(const char *const *names, uint32_t count, const char **chosen)
{
    static bool (*const kinds[])(const char *) = { is_single, is_numbered, is_plain, is_any };
    uint32_t found = 0;
    for (uint32_t k = 0; k < ARRAY_LEN(kinds) && found == 0; k++)
        for (uint32_t i = 0; i < count; i++)
            if (kinds[k](names[i]))
                chosen[found++] = names[i];
    return found;
}

static linnet_status read_directory(lin_arena *arena, const char *directory, bool *out_found,
                                    lin_checkpoint *out, linnet_error *err)
{
    static const char *const ends[] = { ".safetensors", ".index.json", NULL };
    const char *const *names = NULL;
    uint32_t count = 0;
    linnet_status status =
        lin_directory_list(arena, directory, ends, MAX_FILES, &names, &count, err);
    if (status != LINNET_OK)
        return status;
    const char **chosen = LIN_NEW_ARRAY(arena, const char *, count);
    if (chosen == NULL)
        return lin_fail_memory(err);
    const char *index = find_index(names, count, ".safetensors.index.json");
    uint32_t files = index == NULL ? choose_files(names, count, chosen) : 0;
    if (index == NULL && files == 0)
        index = find_index(names, count, ".bin.index.json");
    *out_found = index != NULL || files != 0;
    if (files != 0)
        return open_files(arena, directory, (const char *const *)chosen, files, out, err);
    if (index == NULL)
        return LINNET_OK;
    const char *path = lin_path_join(arena, directory, index);
    return path == NULL ? lin_fail_memory(err) : read_index(arena, path, out, err);
}

linnet_status lin_checkpoint_directory(lin_arena *arena, const char *directory, bool *out_found,
                                       lin_checkpoint *out, linnet_error *err)
{
    linnet_status status;
    WITHOUT_JUMP(arena, status, read_directory(arena, directory, out_found, out, err));
    return status;
}

/* ---- one file ---- */

bool lin_checkpoint_is_path(const char *path)
{
    return lin_path_ends_with(path, ".index.json") || is_any(path);
}

static linnet_status read_path(lin_arena *arena, const char *path, lin_checkpoint *out,
                               linnet_error *err)
{
    if (!is_any(path))
        return read_index(arena, path, out, err);
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *directory = lin_path_parent(arena, path);
    bool found = false;
    if (directory == NULL)
        return lin_fail_memory(err);
    /* Looked at first: one of several stands for all only when it is there. */
    if (is_numbered(name) && lin_path_look(path) == LIN_PATH_FILE) {
        linnet_status status = read_directory(arena, directory, &found, out, err);
        if (status != LINNET_OK || found)
            return status;
    }
    return read_files(arena, directory, &name, 1, out, err);
}

linnet_status lin_checkpoint_path(lin_arena *arena, const char *path, lin_checkpoint *out,
                                  linnet_error *err)
{
    linnet_status status;
    WITHOUT_JUMP(arena, status, read_path(arena, path, out, err));
    return status;
}
