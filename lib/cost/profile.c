/* SPDX-License-Identifier: MIT */

/*
 * Device profiles by name and by file. The built-in ones are files of lib/zoo/devices, read by the
 * reader that a user's file gets: a name costs one or two small documents.
 */

#include "cost/profile_keys.h"

#include <string.h>

#include "zoo/zoo.h"

/* In the order of their list: data-center GPUs by generation, then the smaller ones. */
static const char *const builtin[] = {
    "h100-80gb",
    "h100-pcie",
    "h100-nvl",
    "h200",
    "b200",
    "gb200",
    "b300",
    "a100-80gb",
    "a100-40gb",
    "a100-80gb-pcie",
    "a100-40gb-pcie",
    "v100-16gb",
    "v100-32gb",
    "v100-pcie-32gb",
    "p100-16gb",
    "l4",
    "l40s",
    "a10",
    "t4",
    "p4",
    "rtx-3090",
    "rtx-4090",
    "rtx-5090",
    "mi300x",
    "mi250",
    "mi210",
    "mi100",
};

uint32_t lin_profile_count(void)
{
    return ARRAY_LEN(builtin);
}

const char *lin_profile_name(uint32_t index)
{
    return index < ARRAY_LEN(builtin) ? builtin[index] : NULL;
}

void lin_profile_free(lin_profile *profile)
{
    if (profile == NULL)
        return;
    const lin_allocator allocator = profile->allocator;
    lin_arena_free(&profile->arena);
    lin_release(&allocator, profile, sizeof(*profile));
}

int64_t lin_profile_budget(const lin_profile *profile)
{
    return profile->driver_bytes > 0 ? profile->driver_bytes : profile->memory_bytes;
}

/* Apart from its caller: no local that changes lives across the setjmp. */
static linnet_status read_into(const char *source_name, const char *text, uint64_t length,
                               lin_profile *profile, linnet_error *err)
{
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0) {
        profile->arena.on_failure = NULL;
        return lin_fail_memory(err);
    }
    profile->arena.on_failure = &out_of_memory;
    const linnet_status status = lin_profile_read(source_name, text, length, profile, err);
    profile->arena.on_failure = NULL;
    return status;
}

linnet_status lin_profile_parse(const char *source_name, const char *text, uint64_t length,
                                const lin_allocator *allocator, lin_profile **out,
                                linnet_error *err)
{
    lin_profile *profile = lin_alloc_zeroed(allocator, sizeof(*profile));
    if (profile == NULL)
        return lin_fail_memory(err);
    profile->allocator = *allocator;
    lin_arena_init(&profile->arena, allocator);
    const linnet_status status = read_into(source_name, text, length, profile, err);
    if (status == LINNET_OK)
        *out = profile;
    else
        lin_profile_free(profile);
    return status;
}

static bool is_path(const char *word)
{
    static const char end[] = ".json";
    const size_t length = strlen(word), tail = sizeof(end) - 1;
    return strchr(word, '/') != NULL || (length > tail && strcmp(word + length - tail, end) == 0);
}

static linnet_status open_file(const char *path, uint64_t file_bytes,
                               const lin_allocator *allocator, lin_profile **out, linnet_error *err)
{
    lin_arena arena;
    const char *text;
    uint64_t length;
    lin_arena_init(&arena, allocator);
    linnet_status status = lin_file_read(&arena, path, file_bytes, &text, &length, err);
    if (status == LINNET_OK)
        status = lin_profile_parse(path, text, length, allocator, out, err);
    lin_arena_free(&arena);
    return status;
}

static linnet_status fail_name(const char *name, linnet_error *err)
{
    const char *nearest = lin_nearest(name, builtin, ARRAY_LEN(builtin));
    if (strcmp(name, "local") == 0)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "this machine's own GPU has not been measured: give a profile file");
    if (nearest != NULL)
        return lin_fail(err, LINNET_ERROR_NOT_FOUND, "no device is called `%s`; did you mean `%s`?",
                        name, nearest);
    return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                    "no device is called `%s`: there are h100-80gb, h200, a100-80gb, l4 and "
                    "others, and paths of profile files",
                    name);
}

linnet_status lin_profile_open(const char *name_or_path, uint64_t file_bytes,
                               const lin_allocator *allocator, lin_profile **out, linnet_error *err)
{
    enum { PATH_SIZE = 64 };
    char path[PATH_SIZE] = "devices/";
    if (is_path(name_or_path))
        return open_file(name_or_path, file_bytes, allocator, out, err);
    for (uint32_t i = 0; i < ARRAY_LEN(builtin); i++) {
        if (strcmp(builtin[i], name_or_path) != 0)
            continue;
        const size_t start = strlen(path), length = strlen(builtin[i]);
        memcpy(path + start, builtin[i], length);
        memcpy(path + start + length, ".json", sizeof(".json"));
        const lin_zoo_file *file = lin_zoo_find(path);
        if (file != NULL)
            return lin_profile_parse(file->path, file->text, file->length, allocator, out, err);
    }
    return fail_name(name_or_path, err);
}
