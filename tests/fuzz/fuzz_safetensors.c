/* SPDX-License-Identifier: MIT */

/* The header of a safetensors file, as a file has it: eight bytes of length, JSON, and data of
 * which only the length matters. Whatever is accepted tiles its data. */

#include "source/checkpoint.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_list(const lin_tensor_list *list, uint64_t data_bytes)
{
    int64_t sum = 0;
    assert(list->bytes >= 0 && (uint64_t)list->bytes == data_bytes);
    for (uint32_t i = 0; i < list->count; i++) {
        const lin_tensor *tensor = &list->items[i];
        int64_t elements = 0;
        assert(tensor->name[0] != '\0' && lin_tensor_find(list, tensor->name) == tensor);
        assert(lin_tensor_elements(tensor, &elements) && elements >= 0);
        assert(tensor->bytes >= 0 && tensor->offset >= 0);
        assert((uint64_t)tensor->offset + (uint64_t)tensor->bytes <= data_bytes);
        assert(tensor->format < list->format_count);
        sum += tensor->bytes;
    }
    assert(sum == list->bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t length = 0;
    linnet_error err = { 0 };
    linnet_status status = LINNET_ERROR_FORMAT;
    unsigned char prefix[LIN_SAFETENSORS_PREFIX] = { 0 };
    memcpy(prefix, data, size < sizeof(prefix) ? size : sizeof(prefix));
    status = lin_safetensors_length("x.safetensors", prefix, size, &length, &err);
    if (status != LINNET_OK) {
        assert(err.code == status && err.message[0] != '\0');
        return 0;
    }
    /* Of its own size, and ours to write to. */
    char *text = malloc(length + (length == 0));
    if (text == NULL)
        return 0;
    memcpy(text, data + sizeof(prefix), length);
    lin_arena arena;
    lin_tensor_list list;
    lin_arena_init(&arena, &lin_default_allocator);
    const uint64_t data_bytes = size - sizeof(prefix) - length;
    status = lin_safetensors_read(&arena, "x.safetensors", text, length, data_bytes, &list, &err);
    if (status == LINNET_OK)
        check_list(&list, data_bytes);
    else
        assert(err.code == status && err.message[0] != '\0');
    lin_arena_free(&arena);
    free(text);
    return 0;
}
