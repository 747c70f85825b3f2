/* SPDX-License-Identifier: MIT */

/*
 * Arenas over the host's allocator: a list of chunks, the newest first, bytes handed out from its
 * start to its end. Chunks double from 4 KiB to 1 MiB; a request that would waste much of the
 * newest chunk gets one of its own behind it. A request costs an addition and the clearing of its
 * bytes.
 *
 * Under a memory sanitizer every request is a chunk of exactly its size, so that an overrun inside
 * the arena touches memory that nobody owns.
 */

#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define OWN_BLOCKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define OWN_BLOCKS 1
#endif
#endif
#ifndef OWN_BLOCKS
#define OWN_BLOCKS 0
#endif

enum { FIRST_CHUNK = 4096, LARGEST_CHUNK = 1 << 20, ALIGNMENT = 16 };

struct lin_arena_chunk {
    lin_arena_chunk *next;
    uint64_t size; /* of the bytes behind this header */
};

_Static_assert(sizeof(lin_arena_chunk) % ALIGNMENT == 0, "the bytes behind the header are aligned");

static void *default_alloc(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    (void)user;
    (void)old_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    if (new_size > PTRDIFF_MAX)
        return NULL;
    return realloc(ptr, (size_t)new_size);
}

const lin_allocator lin_default_allocator = { default_alloc, NULL };

void *lin_alloc(const lin_allocator *allocator, uint64_t size)
{
    if (size == 0 || size > PTRDIFF_MAX)
        return NULL;
    return allocator->fn(allocator->user, NULL, 0, size);
}

void *lin_alloc_zeroed(const lin_allocator *allocator, uint64_t size)
{
    void *ptr = lin_alloc(allocator, size);
    if (ptr != NULL)
        memset(ptr, 0, (size_t)size);
    return ptr;
}

void *lin_resize(const lin_allocator *allocator, void *ptr, uint64_t old_size, uint64_t new_size)
{
    if (new_size == 0 || new_size > PTRDIFF_MAX)
        return NULL;
    return allocator->fn(allocator->user, ptr, ptr == NULL ? 0 : old_size, new_size);
}

void lin_release(const lin_allocator *allocator, void *ptr, uint64_t size)
{
    if (ptr != NULL)
        (void)allocator->fn(allocator->user, ptr, size, 0);
}

void lin_arena_init(lin_arena *arena, const lin_allocator *allocator)
{
    *arena = (lin_arena){ .allocator = *allocator };
}

void lin_arena_free(lin_arena *arena)
{
    lin_arena_chunk *chunk = arena->chunks;
    while (chunk != NULL) {
        lin_arena_chunk *next = chunk->next;
        lin_release(&arena->allocator, chunk, sizeof(*chunk) + chunk->size);
        chunk = next;
    }
    arena->chunks = NULL;
    arena->used = 0;
    arena->size = 0;
}

void *lin_arena_fail(lin_arena *arena)
{
    if (arena->on_failure != NULL)
        longjmp(*arena->on_failure, 1);
    return NULL;
}

static lin_arena_chunk *new_chunk(lin_arena *arena, uint64_t size)
{
    uint64_t total;
    if (!lin_add_u64(size, sizeof(lin_arena_chunk), &total))
        return NULL;
    lin_arena_chunk *chunk = lin_alloc(&arena->allocator, total);
    if (chunk != NULL)
        chunk->size = size;
    return chunk;
}

/* A block that is a chunk of its own; the newest chunk stays the newest. */
static void *own_chunk(lin_arena *arena, uint64_t size)
{
    lin_arena_chunk *chunk = new_chunk(arena, size);
    if (chunk == NULL)
        return lin_arena_fail(arena);
    if (arena->chunks == NULL || OWN_BLOCKS) {
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->used = size;
        arena->size = size;
    } else {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    }
    if (size != 0)
        memset(chunk + 1, 0, (size_t)size);
    return chunk + 1;
}

static uint64_t next_chunk_size(const lin_arena *arena)
{
    if (arena->chunks == NULL || arena->size < FIRST_CHUNK)
        return FIRST_CHUNK;
    return arena->size >= LARGEST_CHUNK / 2 ? LARGEST_CHUNK : arena->size * 2;
}

void *lin_arena_alloc(lin_arena *arena, uint64_t size)
{
    if (OWN_BLOCKS)
        return own_chunk(arena, size);
    if (size > PTRDIFF_MAX)
        return lin_arena_fail(arena);
    uint64_t rounded = size == 0 ? ALIGNMENT : (size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
    if (arena->size - arena->used < rounded) {
        uint64_t chunk_size = next_chunk_size(arena);
        if (rounded > chunk_size / 4)
            return own_chunk(arena, rounded);
        lin_arena_chunk *chunk = new_chunk(arena, chunk_size);
        if (chunk == NULL)
            return lin_arena_fail(arena);
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->used = 0;
        arena->size = chunk_size;
    }
    char *block = (char *)(arena->chunks + 1) + arena->used;
    arena->used += rounded;
    memset(block, 0, (size_t)rounded);
    return block;
}

void *lin_arena_array(lin_arena *arena, uint64_t count, uint64_t size)
{
    uint64_t total;
    if (!lin_mul_u64(count, size, &total))
        return lin_arena_fail(arena);
    return lin_arena_alloc(arena, total);
}

char *lin_arena_text(lin_arena *arena, const char *text, uint64_t length)
{
    uint64_t size;
    if (!lin_add_u64(length, 1, &size))
        return lin_arena_fail(arena);
    char *copy = lin_arena_alloc(arena, size);
    if (copy != NULL && length != 0)
        memcpy(copy, text, (size_t)length);
    return copy;
}

char *lin_arena_copy(lin_arena *arena, const char *text)
{
    return text != NULL ? lin_arena_text(arena, text, strlen(text)) : NULL;
}

char *lin_arena_format(lin_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = length < 0 ? NULL : lin_arena_alloc(arena, (uint64_t)length + 1);
    if (text != NULL)
        (void)vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

bool lin_list_grow(lin_arena *arena, void **items, uint32_t count, uint32_t *capacity,
                   uint64_t item_size)
{
    if (*capacity > UINT32_MAX / 2) {
        (void)lin_arena_fail(arena);
        return false;
    }
    uint32_t grown = *capacity == 0 ? 8 : *capacity * 2;
    void *block = lin_arena_array(arena, grown, item_size);
    if (block == NULL)
        return false;
    if (count != 0)
        memcpy(block, *items, (size_t)count * (size_t)item_size);
    *items = block;
    *capacity = grown;
    return true;
}

linnet_status lin_fail_memory(linnet_error *err)
{
    return lin_fail(err, LINNET_ERROR_NO_MEMORY, "out of memory");
}
