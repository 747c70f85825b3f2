/* SPDX-License-Identifier: MIT */
#ifndef LIN_ARENA_H
#define LIN_ARENA_H

/*
 * Memory. A pass takes what it needs from an arena and drops the arena when it ends; nothing is
 * freed alone.
 *
 * Out of memory inside a pass: an arena may carry a jump target. Then its functions never return
 * NULL: they jump to where the pass began, which drops the arena and returns LINNET_ERROR_NO_MEMORY
 * (Lua's way). A pass with a jump target owns nothing outside its arenas, and reads no local that
 * changed after setjmp.
 *
 *     lin_arena scratch;
 *     lin_arena_init(&scratch, allocator);
 *     jmp_buf out_of_memory;
 *     if (setjmp(out_of_memory) != 0) { lin_arena_free(&scratch); return lin_fail_memory(err); }
 *     scratch.on_failure = &out_of_memory;
 */

#include <linnet/base.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The host's hook (linnet_alloc_fn), with its argument. */
typedef struct lin_allocator {
    linnet_alloc_fn fn;
    void *user;
} lin_allocator;

/* malloc, realloc and free. */
extern const lin_allocator lin_default_allocator;

/* NULL on failure; the memory is not cleared. `size` 0 gives NULL too. */
void *lin_alloc(const lin_allocator *allocator, uint64_t size);
void *lin_alloc_zeroed(const lin_allocator *allocator, uint64_t size);
void *lin_resize(const lin_allocator *allocator, void *ptr, uint64_t old_size, uint64_t new_size);
void lin_release(const lin_allocator *allocator, void *ptr, uint64_t size); /* accepts NULL */

typedef struct lin_arena_chunk lin_arena_chunk;

typedef struct lin_arena {
    lin_allocator allocator;
    lin_arena_chunk *chunks;
    uint64_t used, size; /* of the newest chunk */
    jmp_buf *on_failure; /* NULL: the functions return NULL on failure */
} lin_arena;

void lin_arena_init(lin_arena *arena, const lin_allocator *allocator);
void lin_arena_free(lin_arena *arena); /* the arena may be used again */

/* Zeroed, aligned to 16. `size` 0 gives a valid, empty block. */
void *lin_arena_alloc(lin_arena *arena, uint64_t size);
/* `count` * `size` with the product checked; too large counts as a failure. */
void *lin_arena_array(lin_arena *arena, uint64_t count, uint64_t size);
char *lin_arena_text(lin_arena *arena, const char *text, uint64_t length); /* NUL-terminated copy */
char *lin_arena_copy(lin_arena *arena, const char *text); /* up to its NUL; NULL stays NULL */
char *lin_arena_format(lin_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What a failed request does: jumps, or returns NULL. For code that allocates on an
 * arena's behalf. */
void *lin_arena_fail(lin_arena *arena);

#define LIN_NEW(arena, type) ((type *)lin_arena_alloc((arena), sizeof(type)))
#define LIN_NEW_ARRAY(arena, type, count) ((type *)lin_arena_array((arena), (count), sizeof(type)))

/*
 * A growing array in an arena: struct { T *items; uint32_t count, capacity; }. Growing doubles and
 * leaves the old block to the arena. False only without a jump target.
 *
 *     LIN_LIST(lin_step) steps;
 *     LIN_PUSH(arena, &steps, step);
 */
#define LIN_LIST(type)     \
    struct {               \
        type *items;       \
        uint32_t count;    \
        uint32_t capacity; \
    }
bool lin_list_grow(lin_arena *arena, void **items, uint32_t count, uint32_t *capacity,
                   uint64_t item_size);
#define LIN_PUSH(arena, list, item)                                                     \
    (((list)->count < (list)->capacity ||                                               \
      lin_list_grow((arena), (void **)&(list)->items, (list)->count, &(list)->capacity, \
                    sizeof(*(list)->items))) &&                                         \
     ((list)->items[(list)->count++] = (item), true))

linnet_status lin_fail_memory(linnet_error *err);

#endif
