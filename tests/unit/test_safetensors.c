/* SPDX-License-Identifier: MIT */

/* The header of a safetensors file: what the format allows, and every way in which a file lies
 * about itself. */

#define _XOPEN_SOURCE 700 /* mkdtemp, truncate, clock_gettime */

#include "source/checkpoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "source_place.h"

#define A(begin, end) \
    "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" #begin "," #end "]}"
#define B(begin, end) \
    "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[" #begin "," #end "]}"

/* ---- headers in memory ---- */

static const struct header_case {
    const char *name, *text;
    uint64_t data_bytes;
    linnet_status status;
    const char *message; /* a part of it */
} header_cases[] = {
    /* clang-format off */
    { "one tensor", "{" A(0, 8) "}", 8, LINNET_OK, NULL },
    { "two in order", "{" A(0, 8) "," B(8, 11) "}", 11, LINNET_OK, NULL },
    { "two out of order", "{" A(3, 11) "," B(0, 3) "}", 11, LINNET_OK, NULL },
    { "no tensors", "{}", 0, LINNET_OK, NULL },
    { "only metadata", "{\"__metadata__\":{\"format\":\"pt\"}}", 0, LINNET_OK, NULL },
    { "metadata between", "{" A(0, 8) ",\"__metadata__\":{\"format\":\"pt\",\"x\":\"{{{\"}," B(8, 11) "}", 11, LINNET_OK, NULL },
    { "padded with spaces", "{" A(0, 8) "}      ", 8, LINNET_OK, NULL },
    { "CRLF between", "{\r\n" A(0, 8) "\r\n}\r\n", 8, LINNET_OK, NULL },
    { "a scalar", "{\"s\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}}", 8, LINNET_OK, NULL },
    { "an empty tensor", "{\"e\":{\"dtype\":\"F32\",\"shape\":[0,7],\"data_offsets\":[0,0]}}", 0, LINNET_OK, NULL },
    { "an empty one at a border", "{" A(0, 8) ",\"e\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[8,8]}," B(8, 11) "}", 11, LINNET_OK, NULL },
    { "an empty one whose axes pass 2^63", "{\"e\":{\"dtype\":\"F32\",\"shape\":[0,9223372036854775807,9223372036854775807],\"data_offsets\":[0,0]}}", 0, LINNET_OK, NULL },
    { "keys in another order", "{\"a\":{\"data_offsets\":[0,8],\"shape\":[2],\"dtype\":\"F32\"}}", 8, LINNET_OK, NULL },
    { "an escape in a name", "{\"\\u0061b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, LINNET_OK, NULL },
    { "four bits that fill bytes", "{\"f\":{\"dtype\":\"F4\",\"shape\":[3,2],\"data_offsets\":[0,3]}}", 3, LINNET_OK, NULL },

    { "nothing", "", 0, LINNET_ERROR_FORMAT, "the text ends" },
    { "an array", "[]", 0, LINNET_ERROR_FORMAT, "does not begin with `{`" },
    { "a byte-order mark", "\xef\xbb\xbf{}", 0, LINNET_ERROR_FORMAT, "does not begin with `{`" },
    { "space before", " {}", 0, LINNET_ERROR_FORMAT, "does not begin with `{`" },
    { "two documents", "{}{}", 0, LINNET_ERROR_FORMAT, "the end of the text" },
    { "a control character behind", "{" A(0, 8) "}\001", 8, LINNET_ERROR_FORMAT, "the end of the text" },
    { "a comma too many", "{" A(0, 8) ",}", 8, LINNET_ERROR_FORMAT, "expected a key" },
    { "NaN", "{\"a\":NaN}", 0, LINNET_ERROR_FORMAT, "expected a value" },
    { "Infinity in an offset", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,Infinity]}}", 1, LINNET_ERROR_FORMAT, "expected a value" },
    { "a truncated UTF-8 lead byte at the end", "{\"a\xe2", 0, LINNET_ERROR_FORMAT, "UTF-8" },
    { "an overlong sequence", "{\"\xc0\x80\":{}}", 0, LINNET_ERROR_FORMAT, "UTF-8" },
    { "a surrogate alone", "{\"\\ud800\":{}}", 0, LINNET_ERROR_FORMAT, "escape" },
    { "a NUL in a name", "{\"a\\u0000\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "holds a NUL" },
    { "an empty name", "{\"\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "empty name" },
    { "a tensor twice", "{" A(0, 8) "," A(8, 16) "}", 16, LINNET_ERROR_FORMAT, "`a` is there twice" },
    { "a tensor twice by an escape", "{" A(0, 8) ",\"\\u0061\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}", 16, LINNET_ERROR_FORMAT, "`a` is there twice" },
    { "metadata twice", "{\"__metadata__\":{},\"__metadata__\":{}}", 0, LINNET_ERROR_FORMAT, "`__metadata__` is there twice" },
    { "metadata that is no object", "{\"__metadata__\":3}", 0, LINNET_ERROR_FORMAT, "an object of strings is meant" },
    { "metadata with a number", "{\"__metadata__\":{\"a\":1}}", 0, LINNET_ERROR_FORMAT, "an object of strings is meant" },
    { "metadata with an object", "{\"__metadata__\":{\"a\":{}}}", 0, LINNET_ERROR_FORMAT, "an object of strings is meant" },

    { "a tensor that is a number", "{\"a\":1}", 0, LINNET_ERROR_FORMAT, "is a number; an object is meant" },
    { "a tensor that is null", "{\"a\":null}", 0, LINNET_ERROR_FORMAT, "is null; an object is meant" },
    { "no dtype", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "lacks one of" },
    { "no shape", "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "lacks one of" },
    { "no offsets", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, LINNET_ERROR_FORMAT, "lacks one of" },
    { "a key besides", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1}}", 1, LINNET_ERROR_FORMAT, "a key besides" },
    { "dtype twice", "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "two dtypes" },
    { "shape twice", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "two shapes" },
    { "offsets twice", "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1],\"shape\":[1],\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "two ranges" },
    { "a dtype of no format", "{\"a\":{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "the dtype `F31`" },
    { "a dtype in lower case", "{\"a\":{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, LINNET_ERROR_FORMAT, "the dtype `f32`" },
    { "a dtype that is a number", "{\"a\":{\"dtype\":8,\"shape\":[1],\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "the name of a dtype is meant" },
    { "a shape that is a number", "{\"a\":{\"dtype\":\"U8\",\"shape\":1,\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "an array of whole numbers is meant" },
    { "a nested shape", "{\"a\":{\"dtype\":\"U8\",\"shape\":[[1]],\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "`shape` of tensor `a` is an array" },
    { "an axis below zero", "{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "no whole number" },
    { "an axis with a fraction", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "no whole number" },
    { "an axis of 2^63", "{\"a\":{\"dtype\":\"U8\",\"shape\":[9223372036854775808],\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "no whole number" },
    { "axes whose product wraps to the range", "{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0, LINNET_ERROR_FORMAT, "passes 2^63" },
    { "bytes that wrap to the range", "{\"a\":{\"dtype\":\"F64\",\"shape\":[2305843009213693953],\"data_offsets\":[0,8]}}", 8, LINNET_ERROR_FORMAT, "passes 2^63" },
    { "seventeen axes", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1, LINNET_ERROR_FORMAT, "more than 16 axes" },
    { "a shape that is short", "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,7]}}", 7, LINNET_ERROR_FORMAT, "does not give the bytes" },
    { "a shape that is long", "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,9]}}", 9, LINNET_ERROR_FORMAT, "does not give the bytes" },
    { "four bits that leave half a byte", "{\"f\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2, LINNET_ERROR_FORMAT, "whole bytes" },
    { "one offset", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", 1, LINNET_ERROR_FORMAT, "fewer than two" },
    { "three offsets", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]}}", 2, LINNET_ERROR_FORMAT, "more than two" },
    { "an end before its begin", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,1]}}", 2, LINNET_ERROR_FORMAT, "ends before it begins" },
    { "an end past the file", "{" A(0, 8) "}", 7, LINNET_ERROR_FORMAT, "past the end of the file" },
    { "an offset of 2^64 - 1", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[18446744073709551615,0]}}", 1, LINNET_ERROR_FORMAT, "no whole number" },
    { "an offset below zero", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[-1,0]}}", 1, LINNET_ERROR_FORMAT, "no whole number" },
    { "an overlap", "{" A(0, 8) "," B(7, 10) "}", 10, LINNET_ERROR_FORMAT, "`b` overlaps" },
    { "the same range", "{" A(0, 8) ",\"c\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, LINNET_ERROR_FORMAT, "overlaps" },
    { "a hole at the start", "{" A(1, 9) "}", 9, LINNET_ERROR_FORMAT, "`a` leaves a hole" },
    { "a hole between", "{" A(0, 8) "," B(9, 12) "}", 12, LINNET_ERROR_FORMAT, "`b` leaves a hole" },
    { "data behind the last", "{" A(0, 8) "}", 9, LINNET_ERROR_FORMAT, "end at byte 8 of 9" },
    { "an empty tensor inside another", "{" A(0, 8) ",\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[4,4]}}", 8, LINNET_ERROR_FORMAT, "overlaps" },
    /* clang-format on */
};

/* A copy in memory of exactly its size, so that a sanitizer sees a read past it. */
static linnet_status read_exact(lin_arena *arena, const char *text, uint64_t length,
                                uint64_t data_bytes, lin_tensor_list *out, linnet_error *err)
{
    char *copy = lin_arena_alloc(arena, length);
    assert_non_null(copy);
    if (length > 0)
        memcpy(copy, text, length);
    return lin_safetensors_read(arena, "x.safetensors", copy, length, data_bytes, out, err);
}

static void test_header(void **state)
{
    const struct header_case *c = *state;
    lin_arena arena;
    lin_tensor_list list;
    linnet_error err = { 0 };
    lin_arena_init(&arena, &lin_default_allocator);
    linnet_status status = read_exact(&arena, c->text, strlen(c->text), c->data_bytes, &list, &err);
    if (status != c->status || (c->message != NULL && strstr(err.message, c->message) == NULL))
        fail_msg("%d `%s`, not %d `%s`", (int)status, err.message, (int)c->status,
                 c->message != NULL ? c->message : "");
    if (status == LINNET_OK)
        assert_int_equal(list.bytes, c->data_bytes);
    else
        assert_int_equal(err.code, status);
    lin_arena_free(&arena);
}

static void test_values(void **state)
{
    (void)state;
    static const char text[] =
        "{\"w.\\u00e9\":{\"dtype\":\"BF16\",\"shape\":[3,5],\"data_offsets\":[4,34]},"
        "\"q\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[0,4]},"
        "\"v\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[34,38]}}";
    lin_arena arena;
    lin_tensor_list list;
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(read_exact(&arena, text, sizeof(text) - 1, 38, &list, NULL), LINNET_OK);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.bytes, 38);
    assert_int_equal(list.shard_count, 1);
    assert_true(list.shards[0].present);
    const lin_tensor *w = lin_tensor_find(&list, "w.\xc3\xa9");
    assert_non_null(w);
    assert_int_equal(w->rank, 2);
    assert_int_equal(w->shape[0], 3);
    assert_int_equal(w->shape[1], 5);
    assert_int_equal(w->bytes, 30);
    assert_int_equal(w->offset, 4);
    assert_string_equal(list.formats[w->format].name, "bf16");
    assert_true(list.formats[w->format].is_dtype);
    assert_int_equal(list.formats[w->format].dtype, LIN_DTYPE_BF16);
    assert_int_equal(list.formats[w->format].tensors, 2);
    assert_int_equal(list.formats[w->format].elements, 17);
    assert_int_equal(list.formats[w->format].bytes, 34);
    const lin_tensor *q = lin_tensor_find(&list, "q");
    assert_non_null(q);
    assert_string_equal(list.formats[q->format].name, "F8_E4M3");
    assert_false(list.formats[q->format].is_dtype);
    assert_null(lin_tensor_find(&list, "w"));
    assert_null(lin_tensor_find(&list, ""));
    lin_arena_free(&arena);
}

static void test_dtypes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int bits;
    } dtypes[] = {
        { "BOOL", 8 },        { "U8", 8 },          { "I8", 8 },      { "F8_E4M3", 8 },
        { "F8_E5M2", 8 },     { "F8_E8M0", 8 },     { "I16", 16 },    { "U16", 16 },
        { "F16", 16 },        { "BF16", 16 },       { "I32", 32 },    { "U32", 32 },
        { "F32", 32 },        { "F64", 64 },        { "I64", 64 },    { "U64", 64 },
        { "F4", 4 },          { "F6_E2M3", 6 },     { "F6_E3M2", 6 }, { "C64", 64 },
        { "F8_E4M3FNUZ", 8 }, { "F8_E5M2FNUZ", 8 },
    };
    for (size_t i = 0; i < ARRAY_LEN(dtypes); i++) {
        char text[128];
        lin_arena arena;
        lin_tensor_list list;
        lin_arena_init(&arena, &lin_default_allocator);
        (void)snprintf(text, sizeof(text),
                       "{\"a\":{\"dtype\":\"%s\",\"shape\":[8],\"data_offsets\":[0,%d]}}",
                       dtypes[i].name, dtypes[i].bits);
        assert_int_equal(
            read_exact(&arena, text, strlen(text), (uint64_t)dtypes[i].bits, &list, NULL),
            LINNET_OK);
        lin_arena_free(&arena);
    }
}

/* No part of a good header is a good header. */
static void test_truncated(void **state)
{
    (void)state;
    static const char text[] = "{\"__metadata__\":{\"format\":\"pt\"}," A(0, 8) "," B(8, 11) "}";
    for (uint64_t length = 0; length < sizeof(text) - 1; length++) {
        lin_arena arena;
        lin_tensor_list list;
        linnet_error err = { 0 };
        lin_arena_init(&arena, &lin_default_allocator);
        assert_int_equal(read_exact(&arena, text, length, 11, &list, &err), LINNET_ERROR_FORMAT);
        assert_true(err.message[0] != '\0');
        lin_arena_free(&arena);
    }
}

/* ---- large headers ---- */

static void expect_text(const lin_text *text, uint64_t data_bytes, linnet_status status,
                        const char *message)
{
    lin_arena arena;
    lin_tensor_list list;
    linnet_error err = { 0 };
    lin_arena_init(&arena, &lin_default_allocator);
    linnet_status got =
        read_exact(&arena, lin_text_data(text), text->length, data_bytes, &list, &err);
    if (got != status || (message != NULL && strstr(err.message, message) == NULL))
        fail_msg("%d `%s`, not %d", (int)got, err.message, (int)status);
    lin_arena_free(&arena);
}

static void test_million_digits(void **state)
{
    (void)state;
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_text_add(&text, "{\"a\":{\"dtype\":\"U8\",\"shape\":[");
    lin_text_fill(&text, '1', 1000000);
    lin_text_add(&text, "],\"data_offsets\":[0,1]}}");
    expect_text(&text, 1, LINNET_ERROR_FORMAT, "more than 64 characters");
    lin_text_free(&text);
}

static void test_deep(void **state)
{
    (void)state;
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_text_add(&text, "{\"a\":");
    lin_text_fill(&text, '[', 1000000);
    expect_text(&text, 1, LINNET_ERROR_FORMAT, "an array; an object is meant");
    lin_text_free(&text);
}

static void test_long_name(void **state)
{
    const int length = (int)(intptr_t)*state;
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_text_add(&text, "{\"");
    lin_text_fill(&text, 'n', (uint64_t)length);
    lin_text_add(&text, "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}");
    expect_text(&text, 1, length > LIN_TENSOR_MAX_NAME ? LINNET_ERROR_FORMAT : LINNET_OK,
                length > LIN_TENSOR_MAX_NAME ? "more than 64 KiB" : NULL);
    lin_text_free(&text);
}

static void add_dummies(lin_text *text, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        lin_text_addf(text,
                      "%s\"model.layers.%u.self_attn.q_proj.weight\":{\"dtype\":\"BF16\","
                      "\"shape\":[1,2],\"data_offsets\":[%llu,%llu]}",
                      i == 0 ? "{" : ",", (unsigned)i, 4ull * i, 4ull * (i + 1));
    lin_text_add(text, "}");
}

static double milliseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* A denial of service among the known attacks. The promise is 50 ms; a sanitizer build is given
 * twenty times as long. */
static void test_dummies(void **state)
{
    const uint32_t count = (uint32_t)(uintptr_t)*state;
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    add_dummies(&text, count);
    assert_false(text.failed);
    const double before = milliseconds();
    expect_text(&text, 4ull * count, LINNET_OK, NULL);
    const double took = milliseconds() - before;
    print_message("%u tensors: %.1f ms\n", (unsigned)count, took);
    assert_true(took < 1000);
    lin_text_free(&text);
}

/* Names of which the last differs in nothing but its end, to be found twice. */
static void test_last_twice(void **state)
{
    (void)state;
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    add_dummies(&text, 1000);
    text.length--;
    lin_text_add(&text,
                 ",\"model.layers.0.self_attn.q_proj.weight\":{\"dtype\":\"U8\",\"shape\":[1],"
                 "\"data_offsets\":[4000,4001]}}");
    expect_text(&text, 4001, LINNET_ERROR_FORMAT, "is there twice");
    lin_text_free(&text);
}

/* More than the reader takes: refused, with bounded memory. */
static void test_too_many(void **state)
{
    (void)state;
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    for (uint32_t i = 0; i <= LIN_TENSOR_MAX_COUNT; i++)
        lin_text_addf(&text, "%s\"%u\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                      i == 0 ? "{" : ",", (unsigned)i);
    lin_text_add(&text, "}");
    expect_text(&text, 0, LINNET_ERROR_UNSUPPORTED, "1,000,000");
    lin_text_free(&text);
}

/* ---- memory ---- */

typedef struct meter {
    uint64_t now, most;
    int64_t left; /* requests until one fails; negative: none does */
} meter;

static void *metered(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    meter *m = user;
    if (new_size == 0) {
        m->now -= old_size;
        free(ptr);
        return NULL;
    }
    if (m->left == 0)
        return NULL;
    m->left -= m->left > 0;
    void *fresh = realloc(ptr, new_size);
    assert_non_null(fresh);
    m->now += new_size - (ptr == NULL ? 0 : old_size);
    m->most = m->now > m->most ? m->now : m->most;
    return fresh;
}

/* About 70 bytes a tensor, however the header is made. */
static void test_memory(void **state)
{
    (void)state;
    meter m = { .left = -1 };
    const lin_allocator allocator = { metered, &m };
    lin_arena arena;
    lin_tensor_list list;
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    add_dummies(&text, 100000);
    lin_arena_init(&arena, &allocator);
    char *copy = malloc(text.length);
    assert_non_null(copy);
    memcpy(copy, lin_text_data(&text), text.length);
    assert_int_equal(lin_safetensors_read(&arena, "x", copy, text.length, 400000, &list, NULL),
                     LINNET_OK);
    assert_true(m.most < 100000 * 80);
    lin_arena_free(&arena);
    assert_int_equal(m.now, 0);
    free(copy);
    lin_text_free(&text);
}

static void test_allocations_fail(void **state)
{
    (void)state;
    static const char text[] = "{\"b\\u0041\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[3,"
                               "11]}," B(0, 3) "}";
    for (int64_t n = 0; n < 1000; n++) {
        meter m = { .left = n };
        const lin_allocator allocator = { metered, &m };
        lin_arena arena;
        lin_tensor_list list;
        linnet_error err = { 0 };
        char copy[sizeof(text)];
        memcpy(copy, text, sizeof(text));
        lin_arena_init(&arena, &allocator);
        linnet_status status =
            lin_safetensors_read(&arena, "x", copy, sizeof(text) - 1, 11, &list, &err);
        lin_arena_free(&arena);
        assert_int_equal(m.now, 0);
        if (status == LINNET_OK)
            return;
        assert_int_equal(status, LINNET_ERROR_NO_MEMORY);
        assert_int_equal(err.code, LINNET_ERROR_NO_MEMORY);
    }
    fail_msg("it never succeeds");
}

/* ---- files ---- */

/* A file of a header's length, the header, and `data_bytes` bytes that are never read. */
static void write_safetensors(place *p, const char *name, uint64_t length, const char *header,
                              uint64_t data_bytes)
{
    unsigned char prefix[8];
    for (int i = 0; i < 8; i++)
        prefix[i] = (unsigned char)(length >> (8 * i));
    make_directories(p, name);
    FILE *file = fopen(at(p, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(prefix, 1, 8, file), 8);
    assert_int_equal(fwrite(header, 1, strlen(header), file), strlen(header));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(truncate(at(p, name), (off_t)(8 + strlen(header) + data_bytes)), 0);
}

static void expect_file(place *p, const char *name, linnet_status status, const char *message)
{
    lin_arena arena;
    lin_tensor_list list;
    linnet_error err = { 0 };
    lin_arena_init(&arena, &lin_default_allocator);
    linnet_status got = lin_safetensors_open(&arena, at(p, name), &list, &err);
    if (got != status || (message != NULL && strstr(err.message, message) == NULL))
        fail_msg("%s: %d `%s`, not %d", name, (int)got, err.message, (int)status);
    lin_arena_free(&arena);
}

static void test_files(void **state)
{
    place *p = *state;
    static const char header[] = "{" A(0, 8) "}";
    const uint64_t length = sizeof(header) - 1;
    write_safetensors(p, "good", length, header, 8);
    expect_file(p, "good", LINNET_OK, NULL);
    write_safetensors(p, "short", length, header, 7);
    expect_file(p, "short", LINNET_ERROR_FORMAT, "past the end of the file");
    write_safetensors(p, "long", length, header, 9);
    expect_file(p, "long", LINNET_ERROR_FORMAT, "end at byte 8 of 9");
    write_safetensors(p, "past", 1000, header, 8);
    expect_file(p, "past", LINNET_ERROR_FORMAT, "the header says it has 1000 bytes, the file has");
    write_safetensors(p, "one-past", length + 9, header, 8);
    expect_file(p, "one-past", LINNET_ERROR_FORMAT, "the file has");
    write_safetensors(p, "huge", UINT64_MAX, header, 8);
    expect_file(p, "huge", LINNET_ERROR_FORMAT, "at most 100 MB");
    write_safetensors(p, "over", 100000001, header, 100000000);
    expect_file(p, "over", LINNET_ERROR_FORMAT, "at most 100 MB");
    write_safetensors(p, "none", 0, "", 0);
    expect_file(p, "none", LINNET_ERROR_FORMAT, "the text ends");
    write_file(p, "empty", "");
    expect_file(p, "empty", LINNET_ERROR_FORMAT, "a file of 0 bytes has no header");
    write_file(p, "seven", "1234567");
    expect_file(p, "seven", LINNET_ERROR_FORMAT, "a file of 7 bytes has no header");
    expect_file(p, "gone", LINNET_ERROR_FILE, "does not exist");
    assert_int_equal(mkfifo(at(p, "pipe"), 0600), 0);
    expect_file(p, "pipe", LINNET_ERROR_FILE, "is a pipe");
    assert_int_equal(symlink("circle", at(p, "circle")), 0);
    expect_file(p, "circle", LINNET_ERROR_FILE, "in a circle");
    assert_int_equal(mkdir(at(p, "folder"), 0700), 0);
    expect_file(p, "folder", LINNET_ERROR_FILE, "is a directory");
}

/* A file cut at every byte of its header, and in its data. */
static void test_cut_files(void **state)
{
    place *p = *state;
    static const char header[] = "{" A(0, 8) "," B(8, 11) "}";
    const uint64_t length = sizeof(header) - 1;
    for (uint64_t size = 0; size < 8 + length + 11; size++) {
        write_safetensors(p, "cut", length, header, 11);
        assert_int_equal(truncate(at(p, "cut"), (off_t)size), 0);
        expect_file(p, "cut", LINNET_ERROR_FORMAT, NULL);
    }
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_LEN(header_cases) + 20];
    size_t count = 0;
    memset(tests, 0, sizeof(tests));
    for (size_t i = 0; i < ARRAY_LEN(header_cases); i++)
        tests[count++] =
            (struct CMUnitTest){ .name = header_cases[i].name,
                                 .test_func = test_header,
                                 .initial_state = (void *)(uintptr_t)&header_cases[i] };
    const struct CMUnitTest rest[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_million_digits),
        cmocka_unit_test(test_deep),
        { .name = "a name of 64 KiB",
          .test_func = test_long_name,
          .initial_state = (void *)(intptr_t)LIN_TENSOR_MAX_NAME },
        { .name = "a name of 64 KiB and a byte",
          .test_func = test_long_name,
          .initial_state = (void *)(intptr_t)(LIN_TENSOR_MAX_NAME + 1) },
        { .name = "1,000 tensors",
          .test_func = test_dummies,
          .initial_state = (void *)(uintptr_t)1000 },
        { .name = "100,000 dummy tensors",
          .test_func = test_dummies,
          .initial_state = (void *)(uintptr_t)100000 },
        cmocka_unit_test(test_last_twice),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_allocations_fail),
        IN_PLACE(test_files),
        IN_PLACE(test_cut_files),
    };
    _Static_assert(ARRAY_LEN(rest) <= 20, "there is room for the rest");
    memcpy(&tests[count], rest, sizeof(rest));
    return _cmocka_run_group_tests("safetensors", tests, count + ARRAY_LEN(rest), NULL, NULL);
}
