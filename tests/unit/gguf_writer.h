/* SPDX-License-Identifier: MIT */
#ifndef GGUF_WRITER_H
#define GGUF_WRITER_H

/* Writes GGUF headers for tests, right ones and wrong ones: each call appends what it is told. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "source/gguf.h"

typedef struct gguf_writer {
    uint8_t *bytes;
    size_t length, capacity;
    uint32_t version;
    bool is_big_endian;
} gguf_writer;

static inline void gguf_bytes(gguf_writer *w, const void *data, size_t count)
{
    if (w->length + count > w->capacity) {
        w->capacity = (w->length + count) * 2;
        w->bytes = realloc(w->bytes, w->capacity);
        assert_non_null(w->bytes);
    }
    if (count > 0)
        memcpy(w->bytes + w->length, data, count);
    w->length += count;
}

static inline void gguf_bits(gguf_writer *w, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const unsigned shift = 8 * (w->is_big_endian ? count - 1 - i : i);
        const uint8_t byte = (uint8_t)(value >> shift);
        gguf_bytes(w, &byte, 1);
    }
}

static inline void gguf_u32(gguf_writer *w, uint32_t value)
{
    gguf_bits(w, value, 4);
}

/* Counts, lengths and axes. */
static inline void gguf_word(gguf_writer *w, uint64_t value)
{
    gguf_bits(w, value, w->version == 1 ? 4 : 8);
}

static inline void gguf_text(gguf_writer *w, const char *text)
{
    gguf_word(w, strlen(text));
    gguf_bytes(w, text, strlen(text));
}

static inline void gguf_begin(gguf_writer *w, uint64_t tensors, uint64_t pairs)
{
    gguf_bytes(w, "GGUF", 4);
    gguf_u32(w, w->version);
    gguf_word(w, tensors);
    gguf_word(w, pairs);
}

static inline void gguf_key(gguf_writer *w, const char *key, uint32_t type)
{
    gguf_text(w, key);
    gguf_u32(w, type);
}

static inline void gguf_pair_u32(gguf_writer *w, const char *key, uint32_t value)
{
    gguf_key(w, key, LIN_GGUF_U32);
    gguf_u32(w, value);
}

static inline void gguf_pair_f32(gguf_writer *w, const char *key, double value)
{
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof(bits));
    gguf_key(w, key, LIN_GGUF_F32);
    gguf_u32(w, bits);
}

static inline void gguf_pair_text(gguf_writer *w, const char *key, const char *value)
{
    gguf_key(w, key, LIN_GGUF_STRING);
    gguf_text(w, value);
}

static inline void gguf_pair_bool(gguf_writer *w, const char *key, bool value)
{
    gguf_key(w, key, LIN_GGUF_BOOL);
    gguf_bits(w, value, 1);
}

/* An array of so many empty texts. */
static inline void gguf_pair_texts(gguf_writer *w, const char *key, uint64_t count)
{
    gguf_key(w, key, LIN_GGUF_ARRAY);
    gguf_u32(w, LIN_GGUF_STRING);
    gguf_word(w, count);
    for (uint64_t i = 0; i < count; i++)
        gguf_text(w, "");
}

/* `shape` as the file has it: the fastest axis first. */
static inline void gguf_tensor(gguf_writer *w, const char *name, const int64_t *shape,
                               uint32_t rank, uint32_t type, uint64_t offset)
{
    gguf_text(w, name);
    gguf_u32(w, rank);
    for (uint32_t i = 0; i < rank; i++)
        gguf_word(w, (uint64_t)shape[i]);
    gguf_u32(w, type);
    gguf_bits(w, offset, 8);
}

static inline uint64_t gguf_padded(uint64_t length, uint64_t alignment)
{
    return (length + alignment - 1) / alignment * alignment;
}

/* Reads the header as that of a file with `data_bytes` after the padding; from a block of exactly
 * its length, so that a read past it is seen. */
static inline linnet_status gguf_read_back(lin_arena *arena, const gguf_writer *w, size_t length,
                                           uint64_t file_bytes, lin_gguf *out, linnet_error *err)
{
    uint8_t *exact = malloc(length > 0 ? length : 1);
    assert_non_null(exact);
    if (length > 0)
        memcpy(exact, w->bytes, length);
    const linnet_status status =
        lin_gguf_read(arena, "test.gguf", exact, length, file_bytes, out, err);
    free(exact);
    return status;
}

#endif
