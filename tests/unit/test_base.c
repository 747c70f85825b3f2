/* SPDX-License-Identifier: MIT */

/* The ground: numbers as text and back, sizes, arenas, names, patterns, UTF-8, errors. */

#include "base/base.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- doubles ---- */

static const struct double_case {
    const char *name;
    double value;
    const char *text;
} double_cases[] = {
    { "zero", 0.0, "0.0" },
    { "negative zero", -0.0, "-0.0" },
    { "an integer keeps a point", 3.0, "3.0" },
    { "a tenth", 0.1, "0.1" },
    { "a sum that is no tenth", 0.1 + 0.2, "0.30000000000000004" },
    { "a third", 1.0 / 3.0, "0.3333333333333333" },
    { "large without exponent", 123456789012345.0, "123456789012345.0" },
    { "sixteen digits without exponent", 1234567890123456.0, "1234567890123456.0" },
    { "from 1e16 on an exponent", 1e16, "1e+16" },
    { "twenty zeros", 1e20, "1e+20" },
    { "two to the 63", 9223372036854775808.0, "9.223372036854776e+18" },
    { "small without exponent", 0.0001, "0.0001" },
    { "smaller with exponent", 0.00001, "1e-05" },
    { "a peak rate", 989.4e12, "989400000000000.0" },
    { "the smallest subnormal", 4.9406564584124654e-324, "5e-324" },
    { "the smallest normal", DBL_MIN, "2.2250738585072014e-308" },
    { "the largest", DBL_MAX, "1.7976931348623157e+308" },
    { "negative", -2.5, "-2.5" },
    { "an infinity", (double)INFINITY, "inf" },
    { "no number", (double)NAN, "nan" },
    { "a value between two doubles' digits", 5e-324 * 3, "1.5e-323" },
    { "needs seventeen digits", 2.0000000000000004, "2.0000000000000004" },
    { "below one", 9007199254740993e-16, "0.9007199254740993" },
};

static void test_double(void **state)
{
    const struct double_case *c = *state;
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_text_double(&text, c->value);
    assert_string_equal(lin_text_data(&text), c->text);
    double back;
    if (isfinite(c->value)) {
        assert_true(lin_parse_double(lin_text_data(&text), text.length, &back));
        assert_memory_equal(&back, &c->value, sizeof(back));
    }
    lin_text_free(&text);
}

static const struct fixed_case {
    const char *name;
    double value;
    int decimals;
    const char *text;
} fixed_cases[] = {
    { "no decimals", 2.0, 0, "2" },
    { "half to even, down", 2.5, 0, "2" },
    { "half to even, up", 3.5, 0, "4" },
    { "0.125 is exact", 0.125, 2, "0.12" },
    { "0.375 is exact", 0.375, 2, "0.38" },
    { "1.005 lies below", 1.005, 2, "1.00" },
    { "carries over", 9.999, 2, "10.00" },
    { "leading zeros", 0.0049, 2, "0.00" },
    { "rounds up from nothing", 0.006, 2, "0.01" },
    { "negative", -1.5, 1, "-1.5" },
    { "large", 1e22, 1, "10000000000000000000000.0" },
    { "tiny", 1e-300, 9, "0.000000000" },
    { "nine decimals", 1.0 / 3.0, 9, "0.333333333" },
    { "no number", (double)NAN, 2, "nan" },
};

static void test_fixed(void **state)
{
    const struct fixed_case *c = *state;
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_text_fixed(&text, c->value, c->decimals);
    assert_string_equal(lin_text_data(&text), c->text);
    lin_text_free(&text);
}

static const struct parse_case {
    const char *name, *text;
    bool good;
    double value;
} parse_cases[] = {
    { "an integer", "42", true, 42 },
    { "a fraction", "0.5", true, 0.5 },
    { "an exponent", "1e-5", true, 1e-5 },
    { "a capital exponent with plus", "1.5E+3", true, 1500 },
    { "negative zero", "-0", true, -0.0 },
    { "the largest", "1.7976931348623157e308", true, DBL_MAX },
    { "just under half past the largest", "1.797693134862315807e308", true, DBL_MAX },
    { "past the largest", "1.8e308", true, (double)INFINITY },
    { "far past the largest", "1e99999999999999999999", true, (double)INFINITY },
    { "far below", "1e-99999999999999999999", true, 0 },
    { "zero with a large exponent", "0e999999", true, 0 },
    { "the smallest subnormal", "4.9406564584124654e-324", true, 5e-324 },
    { "half of it is zero", "2.4703282292062327e-324", true, 0 },
    { "more than half of it is not", "2.4703282292062328e-324", true, 5e-324 },
    { "a tie goes to even", "9007199254740993", true, 9007199254740992.0 },
    { "above the tie", "9007199254740993.0000000000000000000000000000001", true,
      9007199254740994.0 },
    { "the tie above goes to even", "9007199254740995", true, 9007199254740996.0 },
    { "many zeros before", "0.00000000000000000000000000000000000000000000000001", true, 1e-50 },
    { "empty", "", false, 0 },
    { "a sign alone", "-", false, 0 },
    { "no digit before the point", ".5", false, 0 },
    { "no digit after the point", "1.", false, 0 },
    { "no digit in the exponent", "1e", false, 0 },
    { "a comma", "1,5", false, 0 },
    { "text after", "1x", false, 0 },
    { "a plus sign", "+1", false, 0 },
};

static void test_parse_double(void **state)
{
    const struct parse_case *c = *state;
    double value = 7;
    assert_int_equal(lin_parse_double(c->text, strlen(c->text), &value), c->good);
    if (c->good)
        assert_memory_equal(&value, &c->value, sizeof(value));
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *state;
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    return x ^ x >> 29;
}

/* Random bit patterns: what is written reads back, agrees with the C library in the C locale, and
 * is no longer than what the library needs. */
static void test_random_doubles(void **state)
{
    (void)state;
    uint64_t seed = 1;
    lin_text text;
    (void)setlocale(LC_ALL, "C"); /* of the C library, which is the reference here */
    lin_text_init(&text, &lin_default_allocator);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random(&seed);
        double value, back;
        memcpy(&value, &bits, sizeof(value));
        if (!isfinite(value))
            continue;
        lin_text_clear(&text);
        lin_text_double(&text, value);
        assert_true(lin_parse_double(lin_text_data(&text), text.length, &back));
        assert_memory_equal(&back, &value, sizeof(back));
        char wanted[400];
        int precision = 1;
        do {
            (void)snprintf(wanted, sizeof(wanted), "%.*g", precision++, value);
        } while (strtod(wanted, NULL) != value);
        assert_true(lin_parse_double(wanted, strlen(wanted), &back));
        assert_memory_equal(&back, &value, sizeof(back));
        const char *end = strchr(lin_text_data(&text), 'e');
        const char *other = strchr(wanted, 'e');
        if (end != NULL && other != NULL)
            assert_int_equal(end - lin_text_data(&text), other - wanted);
        value = (double)(int64_t)next_random(&seed) / (double)(1ull << (i % 80 > 62 ? 62 : i % 80));
        lin_text_clear(&text);
        lin_text_fixed(&text, value, i % 10);
        (void)snprintf(wanted, sizeof(wanted), "%.*f", i % 10, value);
        assert_string_equal(lin_text_data(&text), wanted);
    }
    lin_text_free(&text);
}

static void test_comma_locale(void **state)
{
    (void)state;
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL) {
        print_message("no locale with a decimal comma\n");
        skip();
    }
    lin_text text;
    double back;
    lin_text_init(&text, &lin_default_allocator);
    lin_text_double(&text, 0.30000000000000004);
    lin_text_add(&text, " ");
    lin_text_fixed(&text, 2.675, 2);
    assert_string_equal(lin_text_data(&text), "0.30000000000000004 2.67");
    assert_true(lin_parse_double("2.5", 3, &back));
    assert_true(back == 2.5);
    lin_text_free(&text);
    (void)setlocale(LC_ALL, "C");
}

/* ---- sizes and integers ---- */

static const struct bytes_case {
    const char *name;
    int64_t bytes;
    const char *text;
} bytes_cases[] = {
    { "nothing", 0, "0 B" },
    { "bytes", 17, "17 B" },
    { "just under a KiB", 1023, "1023 B" },
    { "a KiB", 1024, "1.00 KiB" },
    { "a tie to even, down", 1024 + 128, "1.12 KiB" },
    { "a tie to even, up", 1024 + 384, "1.38 KiB" },
    { "rounds up to the next unit's number", ((int64_t)1 << 20) - 1, "1024.00 KiB" },
    { "the CUDA context", (int64_t)621 << 20, "621.00 MiB" },
    { "a model", 16060522496, "14.96 GiB" },
    { "past a TiB it stays GiB", (int64_t)1 << 41, "2048.00 GiB" },
    { "the largest", INT64_MAX, "8589934592.00 GiB" },
    { "past 2^53", ((int64_t)1 << 60) + 5368709, "1073741824.00 GiB" },
    { "past 2^53, up", ((int64_t)1 << 60) + 5368710, "1073741824.01 GiB" },
    { "negative", -1536, "-1.50 KiB" },
};

static void test_bytes(void **state)
{
    const struct bytes_case *c = *state;
    char text[LIN_BYTES_TEXT];
    lin_format_bytes(text, c->bytes);
    assert_string_equal(text, c->text);
}

static const struct size_case {
    const char *name, *text;
    bool good;
    int64_t bytes;
} size_cases[] = {
    { "a bare number is bytes", "512", true, 512 },
    { "bytes", "512B", true, 512 },
    { "GiB", "80GiB", true, (int64_t)80 << 30 },
    { "a blank between", "80 GiB", true, (int64_t)80 << 30 },
    { "powers of ten", "80GB", true, 80000000000 },
    { "lower case", "80gib", true, (int64_t)80 << 30 },
    { "mixed case", "2kIb", true, 2048 },
    { "a fraction", "1.5MiB", true, 1572864 },
    { "a fraction of a byte is cut", "1.9B", true, 1 },
    { "the cut is exact", "0.3KB", true, 300 },
    { "many digits", "0.000976562499999999999999999999999999999KiB", true, 0 },
    { "exactly one byte", "0.0009765625KiB", true, 1 },
    { "TiB", "7TiB", true, (int64_t)7 << 40 },
    { "TB", "7TB", true, 7000000000000 },
    { "the largest", "9223372036854775807", true, INT64_MAX },
    { "one past it", "9223372036854775808", false, 0 },
    { "past it by the unit", "8388608TiB", false, 0 },
    { "empty", "", false, 0 },
    { "a unit alone", "GiB", false, 0 },
    { "negative", "-1GiB", false, 0 },
    { "an unknown unit", "1XB", false, 0 },
    { "text after", "1GiBs", false, 0 },
    { "two blanks", "1  GiB", false, 0 },
    { "a blank at the end", "1 ", false, 0 },
    { "a point without digits", "1.GiB", false, 0 },
    { "a point first", ".5GiB", false, 0 },
    { "two points", "1.5.5GiB", false, 0 },
};

static void test_size(void **state)
{
    const struct size_case *c = *state;
    int64_t bytes = -1;
    assert_int_equal(lin_parse_size(c->text, strlen(c->text), &bytes), c->good);
    assert_true(bytes == (c->good ? c->bytes : -1));
}

static void test_integers(void **state)
{
    (void)state;
    int64_t value;
    assert_true(lin_parse_i64("-9223372036854775808", 20, &value) && value == INT64_MIN);
    assert_true(lin_parse_i64("+9223372036854775807", 20, &value) && value == INT64_MAX);
    assert_false(lin_parse_i64("9223372036854775808", 19, &value));
    assert_false(lin_parse_i64("-9223372036854775809", 20, &value));
    assert_false(lin_parse_i64("", 0, &value));
    assert_false(lin_parse_i64("-", 1, &value));
    assert_false(lin_parse_i64("1 ", 2, &value));
    assert_false(lin_parse_i64("--1", 3, &value));
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_text_i64(&text, INT64_MIN);
    lin_text_fill(&text, '.', 2);
    lin_text_i64(&text, 0);
    assert_string_equal(lin_text_data(&text), "-9223372036854775808..0");
    lin_text_free(&text);
}

static void test_checked(void **state)
{
    (void)state;
    int64_t value = 5;
    assert_false(lin_add_i64(INT64_MAX, 1, &value));
    assert_false(lin_mul_i64((int64_t)1 << 40, (int64_t)1 << 40, &value));
    assert_false(lin_floordiv_i64(1, 0, &value));
    assert_false(lin_floordiv_i64(INT64_MIN, -1, &value));
    assert_true(value == 5);
    assert_true(lin_floordiv_i64(-7, 2, &value) && value == -4);
    assert_true(lin_ceildiv_i64(-7, 2, &value) && value == -3);
    assert_true(lin_ceildiv_i64(7, 2, &value) && value == 4);
    assert_true(lin_mod_i64(-7, 2, &value) && value == 1);
    assert_true(lin_mod_i64(INT64_MIN, -1, &value) && value == 0);
    assert_true(lin_round_up_i64(513, 512, &value) && value == 1024);
}

/* ---- text ---- */

static const struct pattern_case {
    const char *name, *pattern, *text;
    bool matches;
} pattern_cases[] = {
    { "equal", "abc", "abc", true },
    { "a prefix is not enough", "abc", "abcd", false },
    { "a star takes dots", "*.weight", "layers.0.attention.weight", true },
    { "a star takes nothing", "a*b", "ab", true },
    { "stars go back", "*ab*abc", "xababyababc", true },
    { "a star at the end", "layers.*", "layers.", true },
    { "a question mark is one character", "layers.?", "layers.7", true },
    { "also beyond ASCII", "?", "\xc3\xa9", true },
    { "and not none", "a?", "a", false },
    { "a set", "layers.[0-3]", "layers.2", true },
    { "outside the set", "layers.[0-3]", "layers.4", false },
    { "a set negated", "[!a-c]x", "dx", true },
    { "a set negated, inside", "[!a-c]x", "bx", false },
    { "a bracket first in a set", "[]]", "]", true },
    { "a dash last in a set", "[a-]", "-", true },
    { "a bracket that never closes", "a[b", "a[b", true },
    { "empty", "", "", true },
    { "empty pattern", "", "a", false },
    { "star alone", "*", "", true },
    { "many stars end", "*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
};

static void test_pattern(void **state)
{
    const struct pattern_case *c = *state;
    assert_int_equal(lin_pattern_matches(c->pattern, c->text), c->matches);
}

static const struct nearest_case {
    const char *name, *word, *nearest;
} nearest_cases[] = {
    { "a letter too few", "paramter", "parameter" },
    { "another case", "TENSOR", "tensor" },
    { "two swapped", "tenosr", "tensor" },
    { "too far", "xyzzy", NULL },
    { "the nearest of two", "buffer", "buffers" },
    { "a single letter", "T", "t" },
    { "a single other letter", "q", NULL },
    { "empty", "", NULL },
    { "a beginning", "para", "parameter" },
    { "its case", "PARA", "parameter" },
    { "too short a beginning", "bu", NULL },
    { "a beginning and not another word", "a100", "a100-80gb" },
    { "one letter less, and the beginning of others", "buffer", "buffers" },
};

static void test_nearest(void **state)
{
    const struct nearest_case *c = *state;
    static const char *const words[] = { "parameter", "tensor", "buffers",  "buff",
                                         "t",         "a10",    "a100-80gb" };
    const char *found = lin_nearest(c->word, words, ARRAY_LEN(words));
    if (c->nearest == NULL)
        assert_null(found);
    else
        assert_string_equal(found, c->nearest);
}

static void test_utf8(void **state)
{
    (void)state;
    assert_int_equal(lin_utf8_length("a", 1), 1);
    assert_int_equal(lin_utf8_length("\xc3\xa9", 2), 2);
    assert_int_equal(lin_utf8_length("\xc3\xa9", 1), 0);
    assert_int_equal(lin_utf8_length("\xe2\x82\xac", 3), 3);
    assert_int_equal(lin_utf8_length("\xf0\x9f\x98\x80", 4), 4);
    assert_int_equal(lin_utf8_code_point("\xf0\x9f\x98\x80"), 0x1f600);
    assert_int_equal(lin_utf8_code_point("\xe2\x82\xac"), 0x20ac);
    assert_int_equal(lin_utf8_length("\xc0\x80", 2), 0);
    assert_int_equal(lin_utf8_length("\xed\xa0\x80", 3), 0);
    assert_int_equal(lin_utf8_length("\xf4\x90\x80\x80", 4), 0);
    assert_int_equal(lin_utf8_length("\x80", 1), 0);
    assert_int_equal(lin_utf8_length("", 0), 0);
}

static void test_error(void **state)
{
    (void)state;
    linnet_error err;
    memset(&err, 0xff, sizeof(err));
    assert_int_equal(lin_fail(&err, LINNET_ERROR_ARGUMENT, "batch must be at least %d", 1),
                     LINNET_ERROR_ARGUMENT);
    assert_int_equal(err.code, LINNET_ERROR_ARGUMENT);
    assert_string_equal(err.message, "batch must be at least 1");
    assert_string_equal(err.source, "");
    assert_int_equal(err.line, 0);
    assert_int_equal(lin_fail(NULL, LINNET_ERROR_FILE, "x"), LINNET_ERROR_FILE);

    char path[200], message[500];
    memset(path, 'p', sizeof(path));
    memcpy(path + sizeof(path) - 8, "/a.json", 8);
    for (size_t i = 0; i + 2 < sizeof(message); i += 2)
        memcpy(message + i, "\xc3\xa9", 2);
    message[sizeof(message) - 2] = '\0';
    (void)lin_fail_at(&err, LINNET_ERROR_SOURCE, (lin_place){ path, 3, 4 }, "E2103", "x%s\n",
                      message);
    assert_string_equal(err.diagnostic, "E2103");
    assert_string_equal(err.source + strlen(err.source) - 7, "/a.json");
    assert_int_equal(strlen(err.source), sizeof(err.source) - 1);
    assert_int_equal(strlen(err.message), 415);
    assert_int_equal(err.column, 4);
    (void)lin_fail(&err, LINNET_ERROR_FILE, "a\nb\xff");
    assert_string_equal(err.message, "a?b?");
}

/* ---- memory ---- */

typedef struct counted {
    int64_t live;
    int64_t until_failure; /* negative: never */
} counted;

static void *count_alloc(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    counted *c = user;
    if (new_size == 0) {
        c->live -= (int64_t)old_size;
        free(ptr);
        return NULL;
    }
    if (c->until_failure == 0)
        return NULL;
    c->until_failure -= c->until_failure > 0;
    c->live += (int64_t)new_size - (int64_t)old_size;
    return realloc(ptr, (size_t)new_size);
}

static void test_arena(void **state)
{
    (void)state;
    counted count = { 0, -1 };
    const lin_allocator allocator = { count_alloc, &count };
    lin_arena arena;
    lin_arena_init(&arena, &allocator);
    assert_non_null(lin_arena_alloc(&arena, 0));
    for (uint64_t size = 1; size < 200000; size = size * 3 / 2 + 1) {
        char *block = lin_arena_alloc(&arena, size);
        assert_int_equal((uintptr_t)block % 16, 0);
        for (uint64_t i = 0; i < size; i++)
            assert_int_equal(block[i], 0);
        memset(block, 0xee, (size_t)size);
    }
    assert_string_equal(lin_arena_format(&arena, "%s-%d", "a", 7), "a-7");
    assert_string_equal(lin_arena_text(&arena, "abcdef", 3), "abc");
    assert_string_equal(lin_arena_copy(&arena, "abc"), "abc");
    assert_null(lin_arena_copy(&arena, NULL));
    assert_null(lin_arena_array(&arena, UINT64_MAX / 2, 4));
    assert_null(lin_arena_alloc(&arena, UINT64_MAX));
    LIN_LIST(int32_t) list = { 0 };
    for (int32_t i = 0; i < 1000; i++)
        assert_true(LIN_PUSH(&arena, &list, i));
    assert_int_equal(list.items[999], 999);
    lin_arena_free(&arena);
    assert_true(count.live == 0);
    assert_non_null(lin_arena_alloc(&arena, 10));
    lin_arena_free(&arena);
    assert_true(count.live == 0);
}

static void test_arena_jump(void **state)
{
    (void)state;
    counted count = { 0, 0 };
    const lin_allocator allocator = { count_alloc, &count };
    lin_arena arena;
    lin_arena_init(&arena, &allocator);
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0) {
        lin_arena_free(&arena);
        assert_true(count.live == 0);
        return;
    }
    arena.on_failure = &out_of_memory;
    (void)lin_arena_alloc(&arena, 100);
    fail();
}

/* ---- sorting ---- */

static bool key_before(const void *keys, uint32_t a, uint32_t b)
{
    return ((const uint32_t *)keys)[a] < ((const uint32_t *)keys)[b];
}

/* Around the runs that are sorted by insertion, and enough for several merges. */
static const struct sort_case {
    const char *name;
    uint32_t count, keys; /* few keys: ties, which keep their order */
} sort_cases[] = {
    { "sort nothing", 0, 1 },        { "sort one", 1, 1 },
    { "sort a run", 8, 3 },          { "sort a run and one more", 9, 3 },
    { "sort a merge short", 15, 4 }, { "sort equal keys", 100, 1 },
    { "sort many", 1000, 20 },       { "sort a power of two", 4096, 4096 },
};

static void test_sort(void **state)
{
    const struct sort_case *row = *state;
    uint32_t keys[4096], items[4096], scratch[4096];
    uint64_t seed = row->count;
    for (uint32_t i = 0; i < row->count; i++) {
        keys[i] = (uint32_t)(next_random(&seed) % row->keys);
        items[i] = i;
    }
    lin_sort(items, row->count, scratch, key_before, keys);
    for (uint32_t i = 1; i < row->count; i++) {
        const uint32_t a = items[i - 1], b = items[i];
        assert_true(keys[a] < keys[b] || (keys[a] == keys[b] && a < b));
    }
}

static void test_text_failure(void **state)
{
    (void)state;
    counted count = { 0, 1 };
    const lin_allocator allocator = { count_alloc, &count };
    lin_text text;
    lin_text_init(&text, &allocator);
    assert_string_equal(lin_text_data(&text), "");
    lin_text_add(&text, "short");
    lin_text_fill(&text, 'x', 1000);
    lin_text_add(&text, "after");
    assert_true(text.failed);
    assert_string_equal(lin_text_data(&text), "short");
    lin_text_free(&text);
    assert_true(count.live == 0);
}

static void test_names(void **state)
{
    (void)state;
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    lin_names *names = lin_names_new(&arena);
    char word[16];
    for (uint32_t i = 0; i < 5000; i++) {
        (void)snprintf(word, sizeof(word), "name%u", i);
        assert_int_equal(lin_names_find(names, word, strlen(word)), 0);
        assert_int_equal(lin_names_add(names, word, strlen(word)), i + 1);
    }
    for (uint32_t i = 0; i < 5000; i++) {
        (void)snprintf(word, sizeof(word), "name%u", i);
        assert_int_equal(lin_names_add(names, word, strlen(word)), i + 1);
        assert_string_equal(lin_names_text(names, i + 1), word);
    }
    assert_string_equal(lin_names_text(names, 0), "");
    assert_int_equal(lin_names_find(names, "name", 4), 0);
    lin_arena_free(&arena);
}

static void test_dtypes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < LIN_DTYPE_COUNT; i++) {
        lin_dtype found;
        const char *name = lin_dtype_name((lin_dtype)i);
        assert_non_null(name);
        assert_true(lin_dtype_find(name, strlen(name), &found) && found == (lin_dtype)i);
        assert_true(lin_dtype_bytes(found) >= 1);
    }
    lin_dtype none;
    assert_false(lin_dtype_find("f8", 2, &none));
    assert_false(lin_dtype_find("f321", 4, &none));
    for (uint32_t i = 0; i < LIN_CATEGORY_COUNT; i++)
        assert_non_null(lin_category_name((lin_category)i));
    assert_string_equal(lin_confidence_name(LIN_BACKEND_MODELED), "backend-modeled");
}

#define ROWS(cases, test)                                 \
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)         \
        tests[count++] = (struct CMUnitTest)              \
        {                                                 \
            .name = cases[i].name, .test_func = test,     \
            .initial_state = (void *)(uintptr_t)&cases[i] \
        }

int main(void)
{
    static struct CMUnitTest tests[256];
    size_t count = 0;
    ROWS(double_cases, test_double);
    ROWS(fixed_cases, test_fixed);
    ROWS(parse_cases, test_parse_double);
    ROWS(bytes_cases, test_bytes);
    ROWS(size_cases, test_size);
    ROWS(pattern_cases, test_pattern);
    ROWS(nearest_cases, test_nearest);
    ROWS(sort_cases, test_sort);
    const struct CMUnitTest single[] = {
        cmocka_unit_test(test_random_doubles), cmocka_unit_test(test_comma_locale),
        cmocka_unit_test(test_integers),       cmocka_unit_test(test_checked),
        cmocka_unit_test(test_utf8),           cmocka_unit_test(test_error),
        cmocka_unit_test(test_arena),          cmocka_unit_test(test_arena_jump),
        cmocka_unit_test(test_text_failure),   cmocka_unit_test(test_names),
        cmocka_unit_test(test_dtypes),
    };
    for (size_t i = 0; i < ARRAY_LEN(single); i++)
        tests[count++] = single[i];
    return _cmocka_run_group_tests("base", tests, count, NULL, NULL);
}
