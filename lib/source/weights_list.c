/* SPDX-License-Identifier: MIT */

/* The tensors of weights by themselves, found as a model's weights are: what there is to say where
 * no config says what model they are. */

#include "source/checkpoint.h"
#include "source/gguf.h"

enum { MOST_FILES = 100000 };

static linnet_status list_gguf(lin_arena *arena, const char *path, lin_tensor_list *out,
                               linnet_error *err)
{
    lin_gguf *gguf = LIN_NEW(arena, lin_gguf);
    if (gguf == NULL)
        return lin_fail_memory(err);
    linnet_status status = lin_gguf_read_file(arena, path, gguf, err);
    if (status == LINNET_OK)
        *out = gguf->tensors;
    return status;
}

static linnet_status fail_directory(const char *directory, const char *format, linnet_error *err)
{
    char shown[LIN_PATH_SHOWN];
    lin_path_show(shown, directory);
    return lin_fail_at(err, LINNET_ERROR_FILE, (lin_place){ .source = directory }, NULL, format,
                       shown);
}

/* A directory without a checkpoint: its only GGUF file. */
static linnet_status list_gguf_of(lin_arena *arena, const char *directory, lin_tensor_list *out,
                                  linnet_error *err)
{
    static const char *const ends[] = { ".gguf", NULL };
    const char *const *names = NULL;
    uint32_t count = 0;
    linnet_status status =
        lin_directory_list(arena, directory, ends, MOST_FILES, &names, &count, err);
    if (status != LINNET_OK)
        return status;
    if (count == 0)
        return fail_directory(
            directory, "`%s` holds no weights: a *.safetensors, an index or a *.gguf is looked for",
            err);
    if (count > 1)
        return fail_directory(directory, "`%s` holds several GGUF files: name one of them", err);
    const char *path = lin_path_join(arena, directory, names[0]);
    return path == NULL ? lin_fail_memory(err) : list_gguf(arena, path, out, err);
}

static linnet_status list_path(lin_arena *arena, const char *path, lin_tensor_list *out,
                               linnet_error *err)
{
    bool found = true;
    linnet_status status;
    lin_checkpoint *checkpoint = LIN_NEW(arena, lin_checkpoint);
    if (checkpoint == NULL)
        return lin_fail_memory(err);
    const lin_path_kind kind = lin_path_look(path);
    if (kind != LIN_PATH_DIRECTORY && kind != LIN_PATH_FILE)
        return lin_path_fail(path, err);
    if (kind == LIN_PATH_FILE && lin_path_ends_with(path, ".gguf"))
        return list_gguf(arena, path, out, err);
    if (kind == LIN_PATH_DIRECTORY)
        status = lin_checkpoint_directory(arena, path, &found, checkpoint, err);
    else
        status = lin_checkpoint_path(arena, path, checkpoint, err);
    if (status == LINNET_OK && !found)
        return list_gguf_of(arena, path, out, err);
    if (status == LINNET_OK)
        *out = checkpoint->tensors;
    return status;
}

linnet_status lin_weights_list(lin_arena *arena, const char *path, lin_tensor_list *out,
                               linnet_error *err)
{
    jmp_buf *on_failure = arena->on_failure;
    arena->on_failure = NULL; /* the readers hold files */
    linnet_status status = list_path(arena, path, out, err);
    arena->on_failure = on_failure;
    return status;
}
