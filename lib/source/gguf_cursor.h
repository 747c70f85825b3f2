/* SPDX-License-Identifier: MIT */
#ifndef LIN_GGUF_CURSOR_H
#define LIN_GGUF_CURSOR_H

/*
 * A header that is being read: a cursor over bytes in memory, or through a window over a file.
 * Whatever is asked for is there, or the call jumps out with an error that has the byte.
 */

#include "source/files.h"
#include "source/gguf.h"

enum { LIN_GGUF_WINDOW = 64 << 10 }; /* bytes of a file at hand; holds the longest key */

typedef struct gguf_reader {
    lin_arena *arena;
    lin_gguf *out;
    linnet_error *err;
    linnet_status status;
    jmp_buf *on_failure;
    /* the cursor */
    const uint8_t *memory; /* NULL: `file` */
    const lin_file *file;
    uint8_t *window; /* bytes [window_at, window_at + window_bytes) of the file */
    uint64_t window_at, window_bytes;
    uint64_t available; /* bytes that can be read; the file may be longer */
    uint64_t bytes;     /* of the file */
    uint64_t at;
    LIN_LIST(lin_gguf_value) values;
} gguf_reader;

_Noreturn void lin_gguf_fail(gguf_reader *r, linnet_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Jumps out when a call that filled `err` did not succeed. */
void lin_gguf_pass_on(gguf_reader *r, linnet_status status);

/* Bytes of the file after the cursor. */
uint64_t lin_gguf_left(const gguf_reader *r);
/* The next `count` bytes, at most LIN_GGUF_WINDOW; valid until the next call. */
const uint8_t *lin_gguf_take(gguf_reader *r, uint64_t count, const char *what);
void lin_gguf_skip(gguf_reader *r, uint64_t count, const char *what);
/* An unsigned integer of `count` bytes, at most 8, in the file's order. */
uint64_t lin_gguf_take_bits(gguf_reader *r, uint32_t count, const char *what);
/* Counts, lengths and axes: 4 bytes in version 1, 8 since. */
uint32_t lin_gguf_word_bytes(const gguf_reader *r);

#endif
