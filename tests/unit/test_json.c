/* SPDX-License-Identifier: MIT */

/* JSON: documents and their refusals, the pull reader's events, both readers' verdicts on the same
 * texts, the writer and the way back, memory that runs out. */

#define _DEFAULT_SOURCE

#include "json/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "limited_host.h"

/* ---- documents ---- */

#define TEXT(literal) literal, sizeof(literal) - 1
#define DEEP_16 "[[[[[[[[[[[[[[[["
#define DEEP_128 DEEP_16 DEEP_16 DEEP_16 DEEP_16 DEEP_16 DEEP_16 DEEP_16 DEEP_16
#define DEEP_1024 DEEP_128 DEEP_128 DEEP_128 DEEP_128 DEEP_128 DEEP_128 DEEP_128 DEEP_128

/* clang-format off */
static const struct refusal_case {
    const char *name;
    const char *text;
    size_t length;
    bool python;
    uint32_t line, column;
    const char *message;
} refusal_cases[] = {
    { "an empty text", TEXT(""), false, 1, 1, "expected a value, the text ends" },
    { "only spaces", TEXT(" \n  "), false, 2, 3, "expected a value, the text ends" },
    { "a word that is no value", TEXT("{\n  \"a\": nope\n}"), false, 2, 8, "expected a value, found `n`" },
    { "a missing comma", TEXT("[1 2]"), false, 1, 4, "expected `,` or `]`, found `2`" },
    { "a missing colon", TEXT("{\"a\" 1}"), false, 1, 6, "expected `:`, found `1`" },
    { "a trailing comma in an object", TEXT("{\"a\": 1,\n}"), false, 2, 1, "expected a key, found `}`" },
    { "a trailing comma in an array", TEXT("[1,]"), false, 1, 4, "expected a value, found `]`" },
    { "a key that is no string", TEXT("{1: 2}"), false, 1, 2, "expected a key, found `1`" },
    { "the wrong bracket", TEXT("[1}"), false, 1, 3, "expected `,` or `]`, found `}`" },
    { "text after the value", TEXT("{}\n{}"), false, 2, 1, "expected the end of the text, found `{`" },
    { "an open object", TEXT("{\"a\": 1"), false, 1, 8, "expected `,` or `}`, the text ends" },
    { "columns count code points", TEXT("[\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\" 1]"), false, 1, 8,
      "expected `,` or `]`, found `1`" },
    { "what was found is shown whole", TEXT("[\xe2\x82\xac]"), false, 1, 2, "expected a value, found `\xe2\x82\xac`" },
    { "a byte that is no text", TEXT("[\xff]"), false, 1, 2, "expected a value, found byte 0xff" },
    { "a NUL between values", TEXT("[1,\0 2]"), false, 1, 4, "expected a value, found byte 0x00" },
    { "a duplicate key", TEXT("{\"a\": 1,\n \"a\": 2}"), false, 2, 2, "duplicate key `a`" },
    { "a duplicate of an escaped key", TEXT("{\"a\": 1, \"\\u0061\": 2}"), false, 1, 10, "duplicate key `a`" },
    { "a duplicate deep inside", TEXT("[{\"x\": {\"k\": 0, \"k\": 0}}]"), false, 1, 17, "duplicate key `k`" },
    { "an integer past int64", TEXT("[0,\n9223372036854775808]"), false, 2, 1,
      "integer `9223372036854775808` does not fit in 64 bits" },
    { "an integer below int64", TEXT("-9223372036854775809"), false, 1, 1,
      "integer `-9223372036854775809` does not fit in 64 bits" },
    { "a number past every double", TEXT("[1e999]"), false, 1, 2, "number `1e999` is too large" },
    { "a NUL in a string", TEXT("[\"a\\u0000b\"]"), false, 1, 2, "string holds a NUL character" },
    { "a NUL in a key", TEXT("{\"\\u0000\": 1}"), false, 1, 2, "string holds a NUL character" },
    { "a control character in a string", TEXT("[\"a\tb\"]"), false, 1, 4, "control character in a string" },
    { "a line break in a string", TEXT("[\"a\nb\"]"), false, 1, 4, "control character in a string" },
    { "an unknown escape", TEXT("[\"a\\x\"]"), false, 1, 4, "escape that JSON does not have" },
    { "half a surrogate", TEXT("[\"\\ud800\"]"), false, 1, 3, "escape that JSON does not have" },
    { "a surrogate's second half first", TEXT("[\"\\udc00\"]"), false, 1, 3, "escape that JSON does not have" },
    { "a string that never ends", TEXT("[1, \"abc]"), false, 1, 5, "string without its closing quote" },
    { "overlong UTF-8", TEXT("[\"a\xc0\xaf\"]"), false, 1, 4, "malformed UTF-8" },
    { "a truncated character at the end", TEXT("\"\xe2\x82"), false, 1, 2, "malformed UTF-8" },
    { "a number without digits", TEXT("[-]"), false, 1, 3, "expected a digit" },
    { "a fraction without digits", TEXT("[1.]"), false, 1, 4, "expected a digit" },
    { "an exponent without digits", TEXT("[1e+]"), false, 1, 5, "expected a digit" },
    { "2049 levels", TEXT(DEEP_1024 DEEP_1024 "["), false, 1, 2049, "nested deeper than 2048 levels" },
    { "NaN in a strict document", TEXT("[NaN]"), false, 1, 2, "expected a value, found `N`" },
    { "NaN as a key", TEXT("{NaN: 1}"), true, 1, 2, "expected a key, found `N`" },
    { "a long word that begins like NaN", TEXT("[NaNny]"), true, 1, 5, "expected `,` or `]`, found `n`" },
    { "a plus before Infinity", TEXT("[+Infinity]"), true, 1, 2, "expected a value, found `+`" },
    { "two minus signs before Infinity", TEXT("[--Infinity]"), true, 1, 3, "expected a digit" },
    { "a long number before the error", TEXT("[0.1234567890123456789012345678901234567890123456789012345678901234567890, x]"),
      false, 1, 76, "expected a value, found `x`" },
};
/* clang-format on */

static void test_refusal(void **state)
{
    const struct refusal_case *c = *state;
    const lin_json *json = NULL;
    linnet_error err = { 0 };
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(lin_json_read("c.json", c->text, c->length, c->python, &arena, &json, &err),
                     LINNET_ERROR_FORMAT);
    assert_string_equal(err.message, c->message);
    assert_int_equal(err.line, c->line);
    assert_int_equal(err.column, c->column);
    assert_string_equal(err.source, "c.json");
    assert_int_equal(err.code, LINNET_ERROR_FORMAT);
    assert_null(json);
    assert_int_equal(lin_json_read("c.json", c->text, c->length, c->python, &arena, &json, NULL),
                     LINNET_ERROR_FORMAT);
    lin_arena_free(&arena);
}

/* What was read, written again: the writer's form. */
static void write_value(lin_writer *w, const lin_json *v)
{
    switch (v->kind) {
    case LIN_JSON_NULL:
        lin_write_null(w);
        break;
    case LIN_JSON_FALSE:
    case LIN_JSON_TRUE:
        lin_write_bool(w, v->kind == LIN_JSON_TRUE);
        break;
    case LIN_JSON_INTEGER:
        lin_write_i64(w, v->integer);
        break;
    case LIN_JSON_REAL:
        lin_write_double(w, v->real);
        break;
    case LIN_JSON_STRING:
        assert_int_equal(strlen(v->text), v->length);
        lin_write_string(w, v->text);
        break;
    case LIN_JSON_ARRAY:
        lin_write_array(w);
        for (uint32_t i = 0; i < v->count; i++)
            write_value(w, &v->items[i]);
        lin_write_array_end(w);
        break;
    case LIN_JSON_OBJECT:
        lin_write_object(w);
        for (uint32_t i = 0; i < v->count; i++) {
            lin_write_key(w, v->keys[i]);
            write_value(w, &v->items[i]);
        }
        lin_write_object_end(w);
        break;
    }
}

static linnet_status rewrite(const char *text, size_t length, bool python, lin_text *out)
{
    const lin_json *json = NULL;
    lin_arena arena;
    lin_arena_init(&arena, &out->allocator);
    linnet_status status = lin_json_read("r.json", text, length, python, &arena, &json, NULL);
    if (status == LINNET_OK) {
        lin_writer w;
        lin_writer_init(&w, out);
        write_value(&w, json);
        lin_writer_end(&w);
    }
    lin_arena_free(&arena);
    return status;
}

/* clang-format off */
static const struct accepted_case {
    const char *name;
    const char *text;
    size_t length;
    bool python;
    const char *written;
} accepted_cases[] = {
    { "a scalar alone", TEXT("7"), false, "7\n" },
    { "empty containers", TEXT("[ { } , [ ] ]"), false, "[\n  {},\n  []\n]\n" },
    { "keys keep the order of the file", TEXT("{\"b\":1,\"a\":{\"z\":null,\"y\":true}}"), false,
      "{\n  \"b\": 1,\n  \"a\": {\n    \"z\": null,\n    \"y\": true\n  }\n}\n" },
    { "a byte-order mark is skipped", TEXT("\xef\xbb\xbf[1]"), false, "[\n  1\n]\n" },
    { "the ends of int64", TEXT("[9223372036854775807,-9223372036854775808]"), false,
      "[\n  9223372036854775807,\n  -9223372036854775808\n]\n" },
    { "minus zero is the integer 0", TEXT("-0"), false, "0\n" },
    { "reals keep their shortest digits", TEXT("[0.1,1E5,-2.50,1e-7]"), false,
      "[\n  0.1,\n  100000.0,\n  -2.5,\n  1e-07\n]\n" },
    { "escapes are decoded", TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\u20AC\\ud83d\\ude00\""), false,
      "\"\\\"\\\\/\\b\\f\\n\\r\\t\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"\n" },
    { "Python's three numbers", TEXT("[NaN, Infinity,-Infinity]"), true, "[\n  null,\n  null,\n  null\n]\n" },
    { "strings that look like their places", TEXT("[\"x\",NaN,\"x\",{\"xxxxxx\":Infinity,\"k\":\"xxxxxx\"}]"), true,
      "[\n  \"x\",\n  null,\n  \"x\",\n  {\n    \"xxxxxx\": null,\n    \"k\": \"xxxxxx\"\n  }\n]\n" },
    { "Python's numbers inside strings stay", TEXT("{\"NaN\":\"\\\"-Infinity\"}"), true,
      "{\n  \"NaN\": \"\\\"-Infinity\"\n}\n" },
    { "no Python numbers where they may be", TEXT("[-1,\"N\"]"), true, "[\n  -1,\n  \"N\"\n]\n" },
};
/* clang-format on */

static void test_accepted(void **state)
{
    const struct accepted_case *c = *state;
    lin_text once;
    lin_text twice;
    lin_text_init(&once, &lin_default_allocator);
    lin_text_init(&twice, &lin_default_allocator);
    assert_int_equal(rewrite(c->text, c->length, c->python, &once), LINNET_OK);
    assert_string_equal(lin_text_data(&once), c->written);
    assert_int_equal(rewrite(once.data, (size_t)once.length, false, &twice), LINNET_OK);
    assert_string_equal(lin_text_data(&twice), c->written);
    lin_text_free(&once);
    lin_text_free(&twice);
}

static void test_python_values(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":Infinity,\"b\":[-Infinity,NaN],\"c\":1.5}";
    const lin_json *json = NULL;
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(lin_json_read("p", text, sizeof(text) - 1, true, &arena, &json, NULL),
                     LINNET_OK);
    const lin_json *a = lin_json_get(json, "a");
    assert_int_equal(a->kind, LIN_JSON_REAL);
    assert_true(isinf(a->real) && a->real > 0);
    const lin_json *b = lin_json_get(json, "b");
    assert_true(isinf(b->items[0].real) && b->items[0].real < 0);
    assert_true(isnan(b->items[1].real));
    assert_true(lin_json_get(json, "c")->real > 1.4);
    assert_null(lin_json_get(json, "d"));
    assert_null(lin_json_get(b, "a"));
    assert_null(lin_json_get(NULL, "a"));
    lin_arena_free(&arena);
}

static void test_too_large(void **state)
{
    (void)state;
    size_t length = (size_t)LIN_JSON_MAX_BYTES + 1;
    char *text = malloc(length);
    assert_non_null(text);
    memset(text, ' ', length);
    text[0] = '1';
    const lin_json *json = NULL;
    linnet_error err = { 0 };
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(lin_json_read("l", text, length, false, &arena, &json, &err),
                     LINNET_ERROR_FORMAT);
    assert_string_equal(err.message, "larger than 16 MiB");
    assert_int_equal(lin_json_read("l", text, length - 1, false, &arena, &json, &err), LINNET_OK);
    assert_int_equal(json->integer, 1);
    lin_arena_free(&arena);
    free(text);
}

static void test_kind_names(void **state)
{
    (void)state;
    for (int kind = LIN_JSON_NULL; kind <= LIN_JSON_OBJECT; kind++)
        assert_non_null(lin_json_kind_name((lin_json_kind)kind));
    assert_string_equal(lin_json_kind_name(LIN_JSON_STRING), "a string");
}

/* ---- verdicts of both readers ---- */

typedef enum verdict {
    BOTH_ACCEPT,
    BOTH_REFUSE,
    ONLY_PULL,    /* integers past int64, numbers past double, NULs, duplicates, a scalar at 2048 */
    ONLY_DOCUMENT /* numbers of more than 64 characters, a byte-order mark */
} verdict;

#define DIGITS_65 "12345678901234567890123456789012345678901234567890123456789012345"
/* clang-format off */
static const struct verdict_case {
    const char *name;
    const char *text;
    size_t length;
    verdict verdict;
} verdict_cases[] = {
    { "y: an empty array", TEXT("[]"), BOTH_ACCEPT },
    { "y: an empty object in spaces", TEXT(" \t\r\n{\n}\n"), BOTH_ACCEPT },
    { "y: a lone string", TEXT("\"a\""), BOTH_ACCEPT },
    { "y: a lone null", TEXT("null"), BOTH_ACCEPT },
    { "y: a lone true with a newline", TEXT("true\n"), BOTH_ACCEPT },
    { "y: an empty string and an empty key", TEXT("{\"\":\"\"}"), BOTH_ACCEPT },
    { "y: zero and its exponents", TEXT("[0,0e1,0E+1,0.0e-0,-0.0]"), BOTH_ACCEPT },
    { "y: numbers near their limits", TEXT("[1e308,-1E-308,123456789012345678,1.7976931348623157e308]"), BOTH_ACCEPT },
    { "y: a number that becomes zero", TEXT("[1e-400]"), BOTH_ACCEPT },
    { "y: DEL and a non-character", TEXT("[\"\x7f\xef\xbf\xbf\"]"), BOTH_ACCEPT },
    { "y: escaped non-characters", TEXT("[\"\\uFFFF\\uD83F\\uDFFE\\u0001\"]"), BOTH_ACCEPT },
    { "y: the last code point", TEXT("[\"\xf4\x8f\xbf\xbf\\uDBFF\\uDFFF\"]"), BOTH_ACCEPT },
    { "y: mixed case of hexadecimal digits", TEXT("[\"\\uAbCd\"]"), BOTH_ACCEPT },
    { "y: a backslash before the end of a string", TEXT("[\"a\\\\\"]"), BOTH_ACCEPT },
    { "n: nothing", TEXT(""), BOTH_REFUSE },
    { "n: a byte-order mark alone", TEXT("\xef\xbb\xbf"), BOTH_REFUSE },
    { "n: half a byte-order mark", TEXT("\xef\xbb{}"), BOTH_REFUSE },
    { "n: a leading zero", TEXT("[01]"), BOTH_REFUSE },
    { "n: a leading zero after minus", TEXT("[-012]"), BOTH_REFUSE },
    { "n: a leading plus", TEXT("[+1]"), BOTH_REFUSE },
    { "n: a leading point", TEXT("[.5]"), BOTH_REFUSE },
    { "n: minus and a point", TEXT("[-.5]"), BOTH_REFUSE },
    { "n: a trailing point", TEXT("[2.]"), BOTH_REFUSE },
    { "n: a point before the exponent", TEXT("[2.e3]"), BOTH_REFUSE },
    { "n: an empty exponent", TEXT("[1e]"), BOTH_REFUSE },
    { "n: an exponent of signs", TEXT("[1e+-2]"), BOTH_REFUSE },
    { "n: two exponents", TEXT("[1e2e3]"), BOTH_REFUSE },
    { "n: two points", TEXT("[1.2.3]"), BOTH_REFUSE },
    { "n: hexadecimal", TEXT("[0x1f]"), BOTH_REFUSE },
    { "n: a comma as the decimal point", TEXT("[1,5e]"), BOTH_REFUSE },
    { "n: a bare minus", TEXT("-"), BOTH_REFUSE },
    { "n: full-width digits", TEXT("[\xef\xbc\x91]"), BOTH_REFUSE },
    { "n: NaN", TEXT("NaN"), BOTH_REFUSE },
    { "n: minus infinity", TEXT("[-Infinity]"), BOTH_REFUSE },
    { "n: capital True", TEXT("[True]"), BOTH_REFUSE },
    { "n: a short word", TEXT("[nul]"), BOTH_REFUSE },
    { "n: a long word", TEXT("[nulls]"), BOTH_REFUSE },
    { "n: words without a gap", TEXT("[truefalse]"), BOTH_REFUSE },
    { "n: single quotes", TEXT("['a']"), BOTH_REFUSE },
    { "n: an unquoted key", TEXT("{a:1}"), BOTH_REFUSE },
    { "n: no value after the colon", TEXT("{\"a\":}"), BOTH_REFUSE },
    { "n: two colons", TEXT("{\"a\"::1}"), BOTH_REFUSE },
    { "n: a comma for a colon", TEXT("{\"a\",1}"), BOTH_REFUSE },
    { "n: a value without a key", TEXT("{\"a\":1,\"b\"}"), BOTH_REFUSE },
    { "n: a leading comma", TEXT("[,1]"), BOTH_REFUSE },
    { "n: two commas", TEXT("[1,,2]"), BOTH_REFUSE },
    { "n: only a comma", TEXT("[,]"), BOTH_REFUSE },
    { "n: only a comma in an object", TEXT("{,}"), BOTH_REFUSE },
    { "n: a colon in an array", TEXT("[\"a\":1]"), BOTH_REFUSE },
    { "n: a lone closing bracket", TEXT("]"), BOTH_REFUSE },
    { "n: one bracket too many", TEXT("[]]"), BOTH_REFUSE },
    { "n: crossed brackets", TEXT("[{]}"), BOTH_REFUSE },
    { "n: an open array", TEXT("[1,"), BOTH_REFUSE },
    { "n: an open array in an object", TEXT("{\"a\":["), BOTH_REFUSE },
    { "n: two documents", TEXT("1 2"), BOTH_REFUSE },
    { "n: a line comment", TEXT("[1] // one"), BOTH_REFUSE },
    { "n: a block comment", TEXT("/* one */[1]"), BOTH_REFUSE },
    { "n: a form feed between values", TEXT("[\f1]"), BOTH_REFUSE },
    { "n: a no-break space", TEXT("[\xc2\xa0 1]"), BOTH_REFUSE },
    { "n: a NUL after the document", TEXT("[]\0"), BOTH_REFUSE },
    { "n: a NUL after a number", TEXT("1e5\0"), BOTH_REFUSE },
    { "n: NULs after numbers inside", TEXT("[1\0,2\0]\0"), BOTH_REFUSE },
    { "n: a NUL in a string", TEXT("[\"a\0b\"]"), BOTH_REFUSE },
    { "n: an escaped control character", TEXT("[\"\\\x01\"]"), BOTH_REFUSE },
    { "n: an escape for hexadecimal", TEXT("[\"\\x41\"]"), BOTH_REFUSE },
    { "n: three hexadecimal digits", TEXT("[\"\\u123\"]"), BOTH_REFUSE },
    { "n: a wrong hexadecimal digit", TEXT("[\"\\u12G4\"]"), BOTH_REFUSE },
    { "n: a capital U", TEXT("[\"\\U0041\"]"), BOTH_REFUSE },
    { "n: half an escape at the end", TEXT("\"\\"), BOTH_REFUSE },
    { "n: half a unicode escape at the end", TEXT("\"\\u00"), BOTH_REFUSE },
    { "n: a high half and text", TEXT("[\"\\uD800abcdef\"]"), BOTH_REFUSE },
    { "n: a high half and another", TEXT("[\"\\uD800\\uD800\"]"), BOTH_REFUSE },
    { "n: a high half and a short low one", TEXT("[\"\\uD800\\uDC\"]"), BOTH_REFUSE },
    { "n: the halves the wrong way round", TEXT("[\"\\uDC00\\uD800\"]"), BOTH_REFUSE },
    { "n: a lone continuation byte", TEXT("[\"\x80\"]"), BOTH_REFUSE },
    { "n: an overlong slash", TEXT("[\"\xe0\x80\xaf\"]"), BOTH_REFUSE },
    { "n: an overlong euro", TEXT("[\"\xf0\x82\x82\xac\"]"), BOTH_REFUSE },
    { "n: a surrogate in UTF-8", TEXT("[\"\xed\xa0\x80\"]"), BOTH_REFUSE },
    { "n: past the last code point", TEXT("[\"\xf4\x90\x80\x80\"]"), BOTH_REFUSE },
    { "n: a lead byte before the quote", TEXT("[\"\xc3\"]"), BOTH_REFUSE },
    { "n: a lead byte at the end of the text", TEXT("[\"\xf0\x9f"), BOTH_REFUSE },
    { "n: UTF-16", TEXT("[\0\"\0a\0\"\0]\0"), BOTH_REFUSE },
    { "differ: an integer past int64", TEXT("[9223372036854775808]"), ONLY_PULL },
    { "differ: a number past double", TEXT("[-1e400]"), ONLY_PULL },
    { "differ: an escaped NUL", TEXT("[\"\\u0000\"]"), ONLY_PULL },
    { "differ: duplicate keys", TEXT("{\"a\":1,\"a\":1}"), ONLY_PULL },
    { "differ: a number of 67 characters", TEXT("[0." DIGITS_65 "]"), ONLY_DOCUMENT },
    { "differ: a byte-order mark", TEXT("\xef\xbb\xbf{}"), ONLY_DOCUMENT },
};
/* clang-format on */

/* The text on memory that ends where the text ends: the next byte faults. */
typedef struct guarded {
    char *pages;
    size_t size;
    const char *text;
} guarded;

static guarded guard(const char *text, size_t length)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (length / page + 2) * page;
    char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    char *start = pages + size - page - length;
    if (length > 0)
        memcpy(start, text, length);
    assert_int_equal(mprotect(pages + size - page, page, PROT_NONE), 0);
    return (guarded){ pages, size, start };
}

static bool document_accepts(const char *text, size_t length)
{
    const lin_json *json = NULL;
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    linnet_status status = lin_json_read("d", text, length, false, &arena, &json, NULL);
    lin_arena_free(&arena);
    return status == LINNET_OK;
}

static bool pull_accepts(const char *text, size_t length)
{
    lin_pull pull;
    lin_pull_event event;
    linnet_error err = { 0 };
    lin_pull_init(&pull, "p", text, length, &lin_default_allocator);
    do
        event = lin_pull_next(&pull, &err);
    while (event != LIN_PULL_ERROR && event != LIN_PULL_END);
    if (event == LIN_PULL_ERROR) {
        linnet_error again = { 0 };
        assert_int_equal(lin_pull_next(&pull, &again), LIN_PULL_ERROR);
        assert_memory_equal(&err, &again, sizeof(err));
        assert_true(err.line >= 1 && err.column >= 1);
    } else {
        assert_int_equal(lin_pull_next(&pull, &err), LIN_PULL_END);
    }
    lin_pull_free(&pull);
    return event == LIN_PULL_END;
}

static void test_verdict(void **state)
{
    const struct verdict_case *c = *state;
    guarded g = guard(c->text, c->length);
    assert_int_equal(document_accepts(g.text, c->length),
                     c->verdict == BOTH_ACCEPT || c->verdict == ONLY_DOCUMENT);
    assert_int_equal(pull_accepts(g.text, c->length),
                     c->verdict == BOTH_ACCEPT || c->verdict == ONLY_PULL);
    munmap(g.pages, g.size);
}

/* Every beginning of a text with everything in it, on memory that ends with it. */
static void test_every_prefix(void **state)
{
    (void)state;
    static const char text[] = "{\"k\xe2\x82\xac\": [-12.5e+3, \"\\u20ac\\ud83d\\ude00\\n\", true, "
                               "false, null, {}, [], \"\xf0\x9f\x98\x80\"]}";
    for (size_t length = 0; length < sizeof(text); length++) {
        guarded g = guard(text, length);
        bool is_whole = length == sizeof(text) - 1;
        assert_int_equal(document_accepts(g.text, length), is_whole);
        assert_int_equal(pull_accepts(g.text, length), is_whole);
        munmap(g.pages, g.size);
    }
}

static const struct depth_case {
    const char *name;
    size_t levels;
    const char *inside;
    bool document, pull;
} depth_cases[] = {
    { "2048 levels are read", 2048, "", true, true },
    { "2049 levels are not", 2049, "", false, false },
    { "a scalar below 2047 levels", 2047, "1", true, true },
    { "a scalar below 2048 is one level to jansson", 2048, "1", false, true },
    { "a hundred thousand levels", 100000, "", false, false },
};

static void test_depth(void **state)
{
    const struct depth_case *c = *state;
    size_t inside = strlen(c->inside);
    size_t length = 2 * c->levels + inside;
    char *text = malloc(length);
    assert_non_null(text);
    memset(text, '[', c->levels);
    memcpy(text + c->levels, c->inside, inside);
    memset(text + c->levels + inside, ']', c->levels);
    assert_int_equal(document_accepts(text, length), c->document);
    assert_int_equal(pull_accepts(text, length), c->pull);
    free(text);
}

/* ---- the pull reader ---- */

static const char letters[] = "!.{}[]ksntfz"; /* by event */

static void test_pull_events(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\": [1, 2.5, \"x\\ty\"], \"b\\u0021\": {}, \"c\": [true, false, null]}";
    static const char *const values[] = { "a", "1", "2.5", "x\ty", "b!", "c" };
    char seen[64] = { 0 };
    size_t count = 0;
    size_t with_value = 0;
    lin_pull pull;
    lin_pull_init(&pull, "e", text, sizeof(text) - 1, &lin_default_allocator);
    for (;;) {
        lin_pull_event event = lin_pull_next(&pull, NULL);
        seen[count++] = letters[event];
        if (event == LIN_PULL_END)
            break;
        if (event == LIN_PULL_KEY || event == LIN_PULL_STRING || event == LIN_PULL_NUMBER) {
            assert_int_equal(pull.value_length, strlen(values[with_value]));
            assert_memory_equal(pull.value, values[with_value], (size_t)pull.value_length);
            with_value++;
        }
    }
    assert_string_equal(seen, "{k[nns]k{}k[tfz]}.");
    assert_int_equal(with_value, ARRAY_LEN(values));
    lin_pull_free(&pull);
}

static const struct integer_case {
    const char *name;
    const char *text;
    bool fits;
    int64_t value;
} integer_cases[] = {
    { "a small integer", "17", true, 17 },
    { "minus zero", "-0", true, 0 },
    { "the largest", "9223372036854775807", true, INT64_MAX },
    { "the smallest", "-9223372036854775808", true, INT64_MIN },
    { "one more", "9223372036854775808", false, 0 },
    { "a fraction of zero", "3.0", false, 0 },
    { "an exponent", "3e0", false, 0 },
};

static void test_integer(void **state)
{
    const struct integer_case *c = *state;
    lin_pull pull;
    int64_t value = 0;
    lin_pull_init(&pull, "i", c->text, strlen(c->text), &lin_default_allocator);
    assert_int_equal(lin_pull_next(&pull, NULL), LIN_PULL_NUMBER);
    assert_int_equal(lin_pull_i64(&pull, &value), c->fits);
    assert_true(value == c->value);
    lin_pull_free(&pull);
}

static void test_skip(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": {\"x\": [1, [2]], \"y\": {}}, \"b\": 7, \"c\": [[]]}";
    lin_pull pull;
    lin_pull_init(&pull, "s", text, sizeof(text) - 1, &lin_default_allocator);
    assert_int_equal(lin_pull_next(&pull, NULL), LIN_PULL_OBJECT);
    assert_int_equal(lin_pull_next(&pull, NULL), LIN_PULL_KEY);
    assert_int_equal(lin_pull_skip(&pull, lin_pull_next(&pull, NULL), NULL), LINNET_OK);
    assert_int_equal(lin_pull_next(&pull, NULL), LIN_PULL_KEY);
    assert_int_equal(lin_pull_skip(&pull, lin_pull_next(&pull, NULL), NULL), LINNET_OK);
    assert_int_equal(lin_pull_skip(&pull, lin_pull_next(&pull, NULL), NULL), LINNET_OK);
    assert_int_equal(lin_pull_next(&pull, NULL), LIN_PULL_OBJECT_END);
    assert_int_equal(lin_pull_next(&pull, NULL), LIN_PULL_END);
    lin_pull_free(&pull);

    linnet_error err = { 0 };
    lin_pull_init(&pull, "s", text, 20, &lin_default_allocator);
    assert_int_equal(lin_pull_skip(&pull, lin_pull_next(&pull, NULL), &err), LINNET_ERROR_FORMAT);
    assert_int_equal(err.code, LINNET_ERROR_FORMAT);
    lin_pull_free(&pull);
}

/* ---- the writer ---- */

static void test_writer(void **state)
{
    (void)state;
    lin_text text;
    lin_writer w;
    lin_text_init(&text, &lin_default_allocator);
    lin_writer_init(&w, &text);
    lin_write_object(&w);
    lin_write_key(&w, "a\"b");
    lin_write_string(&w, "\x01\x1f\\/\x7f\xff\xe2\x82z");
    lin_write_key(&w, "none");
    lin_write_string(&w, NULL);
    lin_write_key(&w, "reals");
    lin_write_array(&w);
    lin_write_double(&w, 3.0);
    lin_write_double(&w, (double)INFINITY);
    lin_write_double(&w, -(double)INFINITY);
    lin_write_double(&w, (double)NAN);
    lin_write_array_end(&w);
    lin_write_key(&w, "smallest");
    lin_write_i64(&w, INT64_MIN);
    lin_write_key(&w, "no");
    lin_write_bool(&w, false);
    lin_write_object_end(&w);
    lin_writer_end(&w);
    assert_string_equal(lin_text_data(&text),
                        "{\n  \"a\\\"b\": \"\\u0001\\u001f\\\\/\x7f\xef\xbf\xbd\xef\xbf\xbd\xef"
                        "\xbf\xbdz\",\n  \"none\": null,\n  \"reals\": [\n    3.0,\n    null,\n"
                        "    null,\n    null\n  ],\n  \"smallest\": -9223372036854775808,\n"
                        "  \"no\": false\n}\n");
    assert_true(document_accepts(text.data, (size_t)text.length));
    lin_text_free(&text);
}

/* ---- memory ---- */

static const char memory_text[] =
    "{\"a\": [1, 2.5, \"long enough to be decoded\\n\", NaN], \"b\": {\"c\": \"d\", \"e\": null}}";

/* Reads and writes with the n-th request failing, n = 0, 1, 2 … until it goes well. */
static void fail_every_request(bool stays_down)
{
    linnet_status status = LINNET_ERROR_NO_MEMORY;
    for (int64_t n = 0; status != LINNET_OK; n++) {
        limited_host host = { .left = n, .stays_down = stays_down };
        const lin_allocator allocator = { limited_alloc, &host };
        lin_text text;
        lin_text_init(&text, &allocator);
        status = rewrite(memory_text, sizeof(memory_text) - 1, true, &text);
        if (status == LINNET_OK && text.failed)
            status = LINNET_ERROR_NO_MEMORY;
        assert_true(status == LINNET_OK || status == LINNET_ERROR_NO_MEMORY);
        lin_text_free(&text);
        assert_int_equal(host.blocks, 0);
        assert_true(n < 1000);
    }
}

static void test_memory(void **state)
{
    (void)state;
    fail_every_request(false);
    fail_every_request(true);
}

static void test_pull_memory(void **state)
{
    (void)state;
    static const char text[] = "[\"a\\nb\"]";
    limited_host host = { .left = 0, .stays_down = true };
    const lin_allocator allocator = { limited_alloc, &host };
    linnet_error err = { 0 };
    lin_pull pull;
    lin_pull_init(&pull, "m", text, sizeof(text) - 1, &allocator);
    assert_int_equal(lin_pull_next(&pull, &err), LIN_PULL_ARRAY);
    assert_int_equal(lin_pull_next(&pull, &err), LIN_PULL_ERROR);
    assert_int_equal(err.code, LINNET_ERROR_NO_MEMORY);
    assert_int_equal(lin_pull_skip(&pull, LIN_PULL_ERROR, &err), LINNET_ERROR_NO_MEMORY);
    lin_pull_free(&pull);
    assert_int_equal(host.blocks, 0);
}

/* An arena that would jump on failure gets its jump target back. */
static void test_jump_target(void **state)
{
    (void)state;
    limited_host host = { .left = 0, .stays_down = true };
    const lin_allocator allocator = { limited_alloc, &host };
    const lin_json *json = NULL;
    jmp_buf never;
    lin_arena arena;
    lin_arena_init(&arena, &allocator);
    arena.on_failure = &never;
    assert_int_equal(lin_json_read("j", "[1]", 3, false, &arena, &json, NULL),
                     LINNET_ERROR_NO_MEMORY);
    assert_ptr_equal(arena.on_failure, &never);
    lin_arena_free(&arena);
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
    ROWS(refusal_cases, test_refusal);
    ROWS(accepted_cases, test_accepted);
    ROWS(verdict_cases, test_verdict);
    ROWS(depth_cases, test_depth);
    ROWS(integer_cases, test_integer);
    const struct CMUnitTest single[] = {
        cmocka_unit_test(test_python_values), cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_kind_names),    cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_pull_events),   cmocka_unit_test(test_skip),
        cmocka_unit_test(test_writer),        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_pull_memory),   cmocka_unit_test(test_jump_target),
    };
    for (size_t i = 0; i < ARRAY_LEN(single); i++)
        tests[count++] = single[i];
    return _cmocka_run_group_tests("json", tests, count, NULL, NULL);
}
