/* SPDX-License-Identifier: MIT */

/* The index of a checkpoint in shards. Whatever is accepted names files of its own folder only. */

#include "source/checkpoint.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_list(const lin_tensor_list *list)
{
    assert(list->count > 0 && list->shard_count > 0 && list->shard_count <= list->count);
    assert(list->stated_bytes >= -1 && list->stated_parameters >= -1);
    for (uint32_t i = 0; i < list->count; i++) {
        const lin_tensor *tensor = &list->items[i];
        assert(lin_tensor_find(list, tensor->name) == tensor);
        assert(tensor->shard < list->shard_count);
        assert(tensor->bytes == -1 && tensor->format == LIN_TENSOR_NO_FORMAT);
    }
    for (uint32_t i = 0; i < list->shard_count; i++) {
        const char *name = list->shards[i].name;
        assert(name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, "..") != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + (size == 0));
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    lin_arena arena;
    lin_tensor_list list;
    linnet_error err = { 0 };
    lin_arena_init(&arena, &lin_default_allocator);
    linnet_status status = lin_index_read(&arena, "x.index.json", text, size, &list, &err);
    if (status == LINNET_OK)
        check_list(&list);
    else
        assert(err.code == status && err.message[0] != '\0');
    lin_arena_free(&arena);
    free(text);
    return 0;
}
