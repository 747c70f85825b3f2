/* SPDX-License-Identifier: MIT */

/*
 * GGUF headers that are wrong: the known flaws of readers of this format, a row each; files cut at
 * every byte; 100,000 tensors; no memory.
 */

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gguf_writer.h"

enum { ALIGNMENT = 32 };

static const struct form {
    const char *name;
    uint32_t version;
    bool is_big_endian;
} forms[] = {
    { "version 1", 1, false },
    { "version 2", 2, false },
    { "version 2, big-endian", 2, true },
    { "version 3", 3, false },
    { "version 3, big-endian", 3, true },
};

/* ---- hostile files ---- */

static const int64_t small_shape[] = { 32, 2 };
enum { SMALL_BYTES = 256, F32 = 0, Q4_0 = 2, I8 = 24 };

static void end_small(gguf_writer *w)
{
    gguf_tensor(w, "a", small_shape, 2, F32, 0);
    gguf_tensor(w, "b", small_shape, 2, F32, SMALL_BYTES);
}

static void with_pair(gguf_writer *w, const char *key, uint32_t type)
{
    gguf_begin(w, 0, 1);
    gguf_key(w, key, type);
}

static void one_tensor(gguf_writer *w, const int64_t *shape, uint32_t rank, uint32_t type,
                       uint64_t offset)
{
    gguf_begin(w, 1, 0);
    gguf_tensor(w, "a", shape, rank, type, offset);
}

static void wrong_word(gguf_writer *w)
{
    gguf_bytes(w, "GGML", 4);
    gguf_u32(w, 3);
    gguf_word(w, 0);
    gguf_word(w, 0);
}

static void version_0(gguf_writer *w)
{
    w->version = 0;
    gguf_begin(w, 0, 0);
}

static void version_4(gguf_writer *w)
{
    w->version = 4;
    gguf_begin(w, 0, 0);
}

static void many_tensors(gguf_writer *w)
{
    gguf_begin(w, UINT64_C(1) << 40, 0);
}

static void many_pairs(gguf_writer *w)
{
    gguf_begin(w, 0, UINT64_C(1) << 40);
}

static void negative_tensors(gguf_writer *w)
{
    gguf_begin(w, UINT64_MAX, 0);
}

static void negative_pairs(gguf_writer *w)
{
    gguf_begin(w, 0, UINT64_C(1) << 63);
}

static void long_key(gguf_writer *w)
{
    gguf_begin(w, 0, 1);
    gguf_word(w, 70000);
    for (int i = 0; i < 71000; i++)
        gguf_bits(w, 'k', 1);
}

static void key_past_end(gguf_writer *w)
{
    gguf_begin(w, 0, 1);
    gguf_word(w, 1000);
    gguf_bytes(w, "short, but long enough to be a pair", 35);
}

static void key_wraps(gguf_writer *w)
{
    gguf_begin(w, 0, 1);
    gguf_word(w, UINT64_MAX);
    gguf_bytes(w, "short, but long enough to be a pair", 35);
}

static void empty_key(gguf_writer *w)
{
    with_pair(w, "", LIN_GGUF_U32);
    gguf_u32(w, 1);
}

static void cut_utf8(gguf_writer *w)
{
    with_pair(w, "key\xe2\x82", LIN_GGUF_U32);
    gguf_u32(w, 1);
}

static void nul_in_key(gguf_writer *w)
{
    gguf_begin(w, 0, 1);
    gguf_word(w, 3);
    gguf_bytes(w, "a\0b", 3);
    gguf_u32(w, LIN_GGUF_U32);
    gguf_u32(w, 1);
}

static void unknown_value(gguf_writer *w)
{
    with_pair(w, "key", LIN_GGUF_TYPE_COUNT);
    gguf_u32(w, 1);
}

static void negative_value(gguf_writer *w)
{
    with_pair(w, "key", UINT32_MAX);
    gguf_u32(w, 1);
}

static void text_past_end(gguf_writer *w)
{
    with_pair(w, "key", LIN_GGUF_STRING);
    gguf_word(w, UINT64_C(1) << 33);
}

static void third_truth(gguf_writer *w)
{
    with_pair(w, "key", LIN_GGUF_BOOL);
    gguf_bits(w, 2, 1);
}

static void begin_array(gguf_writer *w, uint32_t type, uint64_t count)
{
    with_pair(w, "key", LIN_GGUF_ARRAY);
    gguf_u32(w, type);
    gguf_word(w, count);
}

static void nested_array(gguf_writer *w)
{
    begin_array(w, LIN_GGUF_ARRAY, 1);
    for (int i = 0; i < 100000; i++) {
        gguf_u32(w, LIN_GGUF_ARRAY);
        gguf_word(w, 1);
    }
}

static void unknown_items(gguf_writer *w)
{
    begin_array(w, UINT32_MAX, 1);
    gguf_u32(w, 1);
}

static void long_array(gguf_writer *w)
{
    begin_array(w, LIN_GGUF_U64, UINT64_C(1) << 61);
    gguf_bits(w, 0, 8);
}

static void array_wraps(gguf_writer *w)
{
    begin_array(w, LIN_GGUF_U64, (UINT64_C(1) << 61) + 1);
    gguf_bits(w, 0, 8);
}

static void long_texts(gguf_writer *w)
{
    begin_array(w, LIN_GGUF_STRING, UINT64_C(1) << 40);
    gguf_bits(w, 0, 8);
}

static void duplicate_key(gguf_writer *w)
{
    gguf_begin(w, 0, 3);
    gguf_pair_u32(w, "key", 1);
    gguf_pair_u32(w, "other", 1);
    gguf_pair_u32(w, "key", 1);
}

static void alignment(gguf_writer *w, uint32_t value)
{
    gguf_begin(w, 2, 1);
    gguf_pair_u32(w, "general.alignment", value);
    end_small(w);
}

static void alignment_0(gguf_writer *w)
{
    alignment(w, 0);
}

static void alignment_24(gguf_writer *w)
{
    alignment(w, 24);
}

static void alignment_text(gguf_writer *w)
{
    gguf_begin(w, 2, 1);
    gguf_pair_text(w, "general.alignment", "32");
    end_small(w);
}

static void alignment_huge(gguf_writer *w)
{
    gguf_begin(w, 2, 1);
    gguf_key(w, "general.alignment", LIN_GGUF_U64);
    gguf_bits(w, UINT64_C(1) << 62, 8);
    end_small(w);
}

static void five_axes(gguf_writer *w)
{
    static const int64_t shape[] = { 1, 1, 1, 1, 1 };
    one_tensor(w, shape, 5, F32, 0);
}

static void many_axes(gguf_writer *w)
{
    gguf_begin(w, 1, 0);
    gguf_text(w, "a");
    gguf_u32(w, UINT32_MAX);
    for (int i = 0; i < 8; i++)
        gguf_word(w, 1);
}

static void negative_axis(gguf_writer *w)
{
    static const int64_t shape[] = { -1 };
    one_tensor(w, shape, 1, F32, 0);
}

static void product_wraps(gguf_writer *w)
{
    static const int64_t shape[] = { INT64_C(1) << 40, INT64_C(1) << 40 };
    one_tensor(w, shape, 2, F32, 0);
}

/* 2^62 elements of 4 bytes: 2^64, which is 0 where it wraps. */
static void bytes_wrap(gguf_writer *w)
{
    static const int64_t shape[] = { INT64_C(1) << 31, INT64_C(1) << 31 };
    one_tensor(w, shape, 2, F32, 0);
}

static void sum_wraps(gguf_writer *w)
{
    static const int64_t shape[] = { INT64_C(1) << 62 };
    gguf_begin(w, 2, 0);
    gguf_tensor(w, "a", shape, 1, I8, 0);
    gguf_tensor(w, "b", shape, 1, I8, UINT64_C(1) << 62);
}

static void end_wraps(gguf_writer *w)
{
    one_tensor(w, small_shape, 2, F32, UINT64_MAX - 31);
}

static void offset_past_end(gguf_writer *w)
{
    one_tensor(w, small_shape, 2, F32, UINT64_C(1) << 40);
}

static void shape_past_end(gguf_writer *w)
{
    static const int64_t shape[] = { 1 << 20, 1 << 10 };
    one_tensor(w, shape, 2, F32, 0);
}

static void unaligned(gguf_writer *w)
{
    gguf_begin(w, 2, 0);
    gguf_tensor(w, "a", small_shape, 2, F32, 0);
    gguf_tensor(w, "b", small_shape, 2, F32, SMALL_BYTES + 4);
}

static void overlap(gguf_writer *w)
{
    gguf_begin(w, 2, 0);
    gguf_tensor(w, "a", small_shape, 2, F32, 0);
    gguf_tensor(w, "b", small_shape, 2, F32, SMALL_BYTES - ALIGNMENT);
}

static void hole(gguf_writer *w)
{
    gguf_begin(w, 2, 0);
    gguf_tensor(w, "a", small_shape, 2, F32, 0);
    gguf_tensor(w, "b", small_shape, 2, F32, SMALL_BYTES + ALIGNMENT);
}

static void duplicate_tensor(gguf_writer *w)
{
    gguf_begin(w, 2, 0);
    gguf_tensor(w, "a", small_shape, 2, F32, 0);
    gguf_tensor(w, "a", small_shape, 2, F32, SMALL_BYTES);
}

static void removed_type(gguf_writer *w)
{
    one_tensor(w, small_shape, 2, 4, 0);
}

static void negative_type(gguf_writer *w)
{
    one_tensor(w, small_shape, 2, UINT32_MAX, 0);
}

static void broken_block(gguf_writer *w)
{
    static const int64_t shape[] = { 31, 2 };
    one_tensor(w, shape, 2, Q4_0, 0);
}

static void million_tensors(gguf_writer *w)
{
    gguf_begin(w, LIN_TENSOR_MAX_COUNT + 1, 0);
}

static const struct hostile_case {
    const char *name;
    void (*write)(gguf_writer *w);
    uint64_t data_bytes; /* 0: two small tensors' */
    linnet_status expect;
    const char *says;
} hostile_cases[] = {
    { "another first word", wrong_word, 0, LINNET_ERROR_FORMAT, "no GGUF file" },
    { "version 0", version_0, 0, LINNET_ERROR_UNSUPPORTED, "version 0" },
    { "version 4", version_4, 0, LINNET_ERROR_UNSUPPORTED, "version 4" },
    { "more tensors than bytes", many_tensors, 0, LINNET_ERROR_FORMAT, "number of tensors" },
    { "more keys than bytes", many_pairs, 0, LINNET_ERROR_FORMAT, "number of keys" },
    { "a negative number of tensors", negative_tensors, 0, LINNET_ERROR_FORMAT, "negative" },
    { "a negative number of keys", negative_pairs, 0, LINNET_ERROR_FORMAT, "negative" },
    { "more tensors than are read", million_tensors, 1 << 30, LINNET_ERROR_UNSUPPORTED,
      "more than" },
    { "a key longer than the format's", long_key, 0, LINNET_ERROR_FORMAT, "70000 bytes" },
    { "a key past the end", key_past_end, 0, LINNET_ERROR_FORMAT, "ends inside a key" },
    { "a key's length that wraps", key_wraps, 0, LINNET_ERROR_FORMAT, "a key has" },
    { "an empty key", empty_key, 0, LINNET_ERROR_FORMAT, "empty" },
    { "a key that ends inside a character", cut_utf8, 0, LINNET_ERROR_FORMAT, "UTF-8" },
    { "a key with a NUL", nul_in_key, 0, LINNET_ERROR_FORMAT, "UTF-8" },
    { "a value of an unknown type", unknown_value, 0, LINNET_ERROR_FORMAT, "type 13" },
    { "a value of a negative type", negative_value, 0, LINNET_ERROR_FORMAT, "type 4294967295" },
    { "a text past the end", text_past_end, 0, LINNET_ERROR_FORMAT, "ends inside a text" },
    { "a bool of 2", third_truth, 0, LINNET_ERROR_FORMAT, "0 or 1" },
    { "arrays in an array", nested_array, 0, LINNET_ERROR_UNSUPPORTED, "array of arrays" },
    { "items of a negative type", unknown_items, 0, LINNET_ERROR_FORMAT, "type 4294967295" },
    { "an array past the end", long_array, 0, LINNET_ERROR_FORMAT, "more than the file" },
    { "an array whose bytes wrap", array_wraps, 0, LINNET_ERROR_FORMAT, "more than the file" },
    { "an array of texts past the end", long_texts, 0, LINNET_ERROR_FORMAT, "more than the file" },
    { "a key twice", duplicate_key, 0, LINNET_ERROR_FORMAT, "`key` is there twice" },
    { "alignment 0", alignment_0, 0, LINNET_ERROR_FORMAT, "power of two" },
    { "alignment 24", alignment_24, 0, LINNET_ERROR_FORMAT, "power of two" },
    { "alignment as a text", alignment_text, 0, LINNET_ERROR_FORMAT, "no integer" },
    { "alignment past any file", alignment_huge, 0, LINNET_ERROR_FORMAT, "past the" },
    { "five axes", five_axes, 0, LINNET_ERROR_FORMAT, "5 axes" },
    { "4,294,967,295 axes", many_axes, 0, LINNET_ERROR_FORMAT, "4294967295 axes" },
    { "a negative axis", negative_axis, 0, LINNET_ERROR_FORMAT, "2^63" },
    { "elements that wrap", product_wraps, 0, LINNET_ERROR_OVERFLOW, "2^63 - 1" },
    { "bytes that wrap to 0", bytes_wrap, 0, LINNET_ERROR_OVERFLOW, "2^63 - 1" },
    { "a sum of bytes that wraps", sum_wraps, INT64_MAX, LINNET_ERROR_OVERFLOW, "" },
    { "an offset whose end wraps", end_wraps, 0, LINNET_ERROR_FORMAT, "past the end" },
    { "an offset past the end", offset_past_end, 0, LINNET_ERROR_FORMAT, "past the" },
    { "a shape past the data", shape_past_end, 0, LINNET_ERROR_FORMAT, "past the" },
    { "an offset off the alignment", unaligned, 1 << 20, LINNET_ERROR_FORMAT, "no multiple" },
    { "tensors that overlap", overlap, 0, LINNET_ERROR_FORMAT, "overlaps" },
    { "a hole between tensors", hole, 1 << 20, LINNET_ERROR_FORMAT, "hole of 32 bytes" },
    { "a tensor twice", duplicate_tensor, 0, LINNET_ERROR_FORMAT, "" },
    { "a type that was removed", removed_type, 0, LINNET_ERROR_UNSUPPORTED, "type 4" },
    { "a negative type", negative_type, 0, LINNET_ERROR_UNSUPPORTED, "type 4294967295" },
    { "a row that ends inside a block", broken_block, 0, LINNET_ERROR_FORMAT, "blocks of 32" },
};

static void test_hostile(void **state)
{
    const struct hostile_case *row = *state;
    gguf_writer w = { .version = 3 };
    lin_arena arena;
    lin_gguf gguf;
    linnet_error err = { 0 };
    lin_arena_init(&arena, &lin_default_allocator);
    row->write(&w);
    const uint64_t data = row->data_bytes > 0 ? row->data_bytes : 2 * SMALL_BYTES;
    const uint64_t begin = gguf_padded(w.length, ALIGNMENT);
    const uint64_t file_bytes = data > INT64_MAX - begin ? INT64_MAX : begin + data;
    assert_int_equal(gguf_read_back(&arena, &w, w.length, file_bytes, &gguf, &err), row->expect);
    if (strstr(err.message, row->says) == NULL)
        fail_msg("`%s` does not say `%s`", err.message, row->says);
    free(w.bytes);
    lin_arena_free(&arena);
}

/* A tensor without elements takes no bytes, so nothing of it is past the end: its place is. */
static void test_data_past_end(void **state)
{
    static const int64_t empty[] = { 0, 2 };
    gguf_writer w = { .version = 3 };
    lin_arena arena;
    lin_gguf gguf;
    linnet_error err = { 0 };
    (void)state;
    lin_arena_init(&arena, &lin_default_allocator);
    one_tensor(&w, empty, 2, F32, 0);
    const uint64_t begin = gguf_padded(w.length, ALIGNMENT);
    assert_true(begin > w.length);
    assert_int_equal(gguf_read_back(&arena, &w, w.length, begin - 1, &gguf, &err),
                     LINNET_ERROR_FORMAT);
    assert_non_null(strstr(err.message, "past the end of the file"));
    assert_int_equal(gguf_read_back(&arena, &w, w.length, begin, &gguf, &err), LINNET_OK);
    free(w.bytes);
    lin_arena_free(&arena);
}

/* ---- every byte ---- */

static void rich_header(gguf_writer *w)
{
    gguf_begin(w, 2, 5);
    gguf_pair_text(w, "general.architecture", "llama");
    gguf_pair_f32(w, "a.real", 0.5);
    gguf_pair_bool(w, "a.flag", true);
    gguf_pair_texts(w, "a.texts", 3);
    gguf_key(w, "a.numbers", LIN_GGUF_ARRAY);
    gguf_u32(w, LIN_GGUF_I16);
    gguf_word(w, 2);
    gguf_bits(w, 0xffff, 2);
    gguf_bits(w, 7, 2);
    end_small(w);
}

static void test_cut(void **state)
{
    const struct form *form = *state;
    gguf_writer w = { .version = form->version, .is_big_endian = form->is_big_endian };
    rich_header(&w);
    const uint64_t whole = gguf_padded(w.length, ALIGNMENT) + 2 * SMALL_BYTES;
    for (size_t length = 0; length <= w.length; length++) {
        lin_arena arena;
        lin_gguf gguf;
        linnet_error err = { 0 };
        lin_arena_init(&arena, &lin_default_allocator);
        /* the file ends there; the file goes on, but not in memory */
        const linnet_status ends = gguf_read_back(&arena, &w, length, length, &gguf, &err);
        assert_int_equal(ends, LINNET_ERROR_FORMAT);
        assert_true(err.message[0] != '\0');
        const linnet_status given = gguf_read_back(&arena, &w, length, whole, &gguf, &err);
        assert_int_equal(given, length == w.length ? LINNET_OK : LINNET_ERROR_FORMAT);
        lin_arena_free(&arena);
    }
    free(w.bytes);
}

/* ---- many tensors, no memory ---- */

static void test_many(void **state)
{
    enum { COUNT = 100000 };
    static const int64_t shape[] = { 8 };
    gguf_writer w = { .version = 3 };
    lin_arena arena;
    lin_gguf gguf;
    linnet_error err = { 0 };
    (void)state;
    lin_arena_init(&arena, &lin_default_allocator);
    gguf_begin(&w, COUNT, 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof(name), "t%u", i);
        gguf_tensor(&w, name, shape, 1, F32, (uint64_t)ALIGNMENT * (COUNT - 1 - i));
    }
    assert_int_equal(gguf_read_back(&arena, &w, w.length,
                                    gguf_padded(w.length, ALIGNMENT) + (uint64_t)ALIGNMENT * COUNT,
                                    &gguf, &err),
                     LINNET_OK);
    assert_int_equal(gguf.tensors.count, COUNT);
    assert_non_null(lin_tensor_find(&gguf.tensors, "t99999"));
    free(w.bytes);
    lin_arena_free(&arena);
}

typedef struct failing_host {
    uint64_t requests, fail_at;
    int64_t live;
} failing_host;

static void *host_alloc(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    failing_host *host = user;
    (void)old_size;
    if (new_size == 0) {
        host->live -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (host->requests++ >= host->fail_at)
        return NULL;
    void *block = realloc(ptr, new_size);
    host->live += ptr == NULL && block != NULL;
    return block;
}

static void test_no_memory(void **state)
{
    gguf_writer w = { .version = 3 };
    (void)state;
    rich_header(&w);
    const uint64_t whole = gguf_padded(w.length, ALIGNMENT) + 2 * SMALL_BYTES;
    linnet_status status = LINNET_ERROR_NO_MEMORY;
    for (uint64_t fail_at = 0; status != LINNET_OK; fail_at++) {
        failing_host host = { .fail_at = fail_at };
        const lin_allocator allocator = { host_alloc, &host };
        lin_arena arena;
        lin_gguf gguf;
        linnet_error err = { 0 };
        lin_arena_init(&arena, &allocator);
        status = gguf_read_back(&arena, &w, w.length, whole, &gguf, &err);
        assert_true(status == LINNET_OK || status == LINNET_ERROR_NO_MEMORY);
        lin_arena_free(&arena);
        assert_int_equal(host.live, 0);
    }
    free(w.bytes);
}

/* ---- the tests ---- */

enum { TEST_COUNT = ARRAY_LEN(hostile_cases) + ARRAY_LEN(forms) + 3 };

static size_t add(struct CMUnitTest *tests, size_t at, const char *name,
                  CMUnitTestFunction function, const void *row)
{
    tests[at] = (struct CMUnitTest){ .name = name,
                                     .test_func = function,
                                     .initial_state = (void *)(uintptr_t)row };
    return at + 1;
}

int main(void)
{
    static struct CMUnitTest tests[TEST_COUNT];
    static char names[ARRAY_LEN(forms)][80];
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(hostile_cases); i++)
        count = add(tests, count, hostile_cases[i].name, test_hostile, &hostile_cases[i]);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        snprintf(names[i], sizeof(names[0]), "%s, cut at every byte", forms[i].name);
        count = add(tests, count, names[i], test_cut, &forms[i]);
    }
    count = add(tests, count, "100,000 tensors in reverse order", test_many, NULL);
    count = add(tests, count, "data past the end of the file", test_data_past_end, NULL);
    count = add(tests, count, "every request for memory fails once", test_no_memory, NULL);
    assert(count == TEST_COUNT);
    return cmocka_run_group_tests_name("gguf_hostile", tests, NULL, NULL);
}
