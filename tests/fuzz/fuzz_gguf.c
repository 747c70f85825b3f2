/* SPDX-License-Identifier: MIT */

/* GGUF headers, and the models they say they are. The file is as long as the input, or (by its last
 * byte) much longer. Whatever is accepted is whole: tensors lie in the file and apart, their bytes
 * sum up, and a model has a program. */

#include "source/gguf.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tensors(const lin_gguf *gguf, uint64_t file_bytes)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < gguf->tensors.count; i++) {
        const lin_tensor *tensor = &gguf->tensors.items[i];
        int64_t elements;
        assert(tensor->name[0] != '\0' && lin_tensor_elements(tensor, &elements));
        assert(tensor->bytes >= 0 && tensor->offset >= 0);
        assert(gguf->data_offset + (uint64_t)tensor->offset + (uint64_t)tensor->bytes <=
               file_bytes);
        assert(lin_tensor_find(&gguf->tensors, tensor->name) == tensor);
        total += tensor->bytes;
    }
    assert(gguf->tensors.count == 0 || total == gguf->tensors.bytes);
}

static void read_model(lin_arena *arena, const lin_gguf *gguf)
{
    linnet_error err = { 0 };
    lin_gguf_model model = { .head = *gguf, .tensors = gguf->tensors };
    family_reader family;
    linnet_status status = lin_gguf_family(arena, &model, &family, &err);
    assert(status == LINNET_OK ? family.program != NULL
                               : err.code == status && err.message[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lin_arena arena;
    lin_gguf gguf;
    linnet_error err = { 0 };
    const bool is_long = size > 0 && data[size - 1] % 2 == 1;
    const uint64_t file_bytes = is_long ? UINT64_C(1) << 40 : size;
    lin_arena_init(&arena, &lin_default_allocator);
    linnet_status status = lin_gguf_read(&arena, "fuzz.gguf", data, size, file_bytes, &gguf, &err);
    if (status == LINNET_OK) {
        check_tensors(&gguf, file_bytes);
        read_model(&arena, &gguf);
    } else {
        assert(err.code == status && err.message[0] != '\0');
    }
    lin_arena_free(&arena);
    return 0;
}
