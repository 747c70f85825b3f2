/* SPDX-License-Identifier: MIT */

/* The TOML subset: what is told to the reader, as "table|key=kind:value line:column;", and every
 * refusal with its place. */

#include "lang/lang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct read_case {
    const char *name, *text, *expect;
} read_cases[] = {
    { "an empty file", "", "" },
    { "blanks and comments", "\n  # a comment \xc3\xa9\r\n\t\n", "" },
    { "a byte-order mark", "\xef\xbb\xbfkey = 1", "|key=int:1 1:7;" },
    { "a manifest", "[package]\nname = \"demo\"\nlanguage = \"0.1\" # the version\n\n[dependencies]\nother = { path = \"../other\" }\n",
      "package|name=str:demo 2:8;package|language=str:0.1 3:12;dependencies.other|path=str:../other 6:18;" },
    { "a table for a dependency", "[dependencies.other]\npath = \"x\"\n", "dependencies.other|path=str:x 2:8;" },
    { "keys of every kind", "a-b_9 = 1\n\"c d\" = 2\n'e.f' = 3\n1 = 4\n", "|a-b_9=int:1 1:9;|c d=int:2 2:9;|e.f=int:3 3:9;|1=int:4 4:5;" },
    { "dotted keys", "a.b . \"c\" = 1\n[t]\nd.e = 2\n", "a.b|c=int:1 1:13;t.d|e=int:2 3:7;" },
    { "spaces in a header", "[ a . b ] # c\nd = 1", "a.b|d=int:1 2:5;" },
    { "integers", "a = [0]\nb = +1_000\nc = -5\nd = 0xff\ne = 0o17\nf = 0b101\ng = -9223372036854775808\n",
      "|a=other 1:5;|b=int:1000 2:5;|c=int:-5 3:5;|d=int:255 4:5;|e=int:15 5:5;|f=int:5 6:5;|g=int:-9223372036854775808 7:5;" },
    { "booleans", "a = true\nb = false\n", "|a=bool:1 1:5;|b=bool:0 2:5;" },
    { "floats, infinities and dates", "a = 1.5\nb = -2e10\nc = inf\nd = -nan\ne = 1979-05-27\nf = 07:32:00\ng = 1_0.5\n",
      "|a=other 1:5;|b=other 2:5;|c=other 3:5;|d=other 4:5;|e=other 5:5;|f=other 6:5;|g=other 7:5;" },
    { "escapes", "a = \"\\b\\t\\n\\f\\r\\\"\\\\\\u00e9\\U0001F600\"", "|a=str:\b\t\n\f\r\"\\\xc3\xa9\xf0\x9f\x98\x80 1:5;" },
    { "literal strings", "a = 'C:\\x \"y\"'", "|a=str:C:\\x \"y\" 1:5;" },
    { "empty strings", "a = \"\"\nb = ''", "|a=str: 1:5;|b=str: 2:5;" },
    { "arrays", "a = [1, \"b\", [2, 3], { c = 4 },]\nd = [\n  1, # one\n  2\n]\n", "|a=other 1:5;|d=other 2:5;" },
    { "inline tables", "a = { }\nb = { c = 1, d = { e = \"f\" }, g.h = true }\n",
      "b|c=int:1 2:11;b.d|e=str:f 2:24;b.g|h=bool:1 2:37;" },
    { "a super-table after its table", "[a.b]\nc = 1\n[a]\nd = 2\n", "a.b|c=int:1 2:5;a|d=int:2 4:5;" },
    { "one key in two tables", "[a]\nc = 1\n[b]\nc = 2\n", "a|c=int:1 2:5;b|c=int:2 4:5;" },
    { "keys that join to one text", "\"a.b\" = 1\na.b = 2\n", "|a.b=int:1 1:9;a|b=int:2 2:7;" },
    { "columns count code points", "\"\xc3\xa9\" = 1", "|\xc3\xa9=int:1 1:7;" },
};

static const struct refuse_case {
    const char *name, *text;
    uint32_t line, column;
    const char *message; /* a part of it */
} refuse_cases[] = {
    { "a key without a value", "a\n", 1, 2, "expected `=`" },
    { "a value that is missing", "a =\n", 1, 4, "expected a value" },
    { "two values on a line", "a = 1 b = 2\n", 1, 7, "the end of the line" },
    { "no key", "= 1\n", 1, 1, "expected a key" },
    { "a header that is not closed", "[a\n", 1, 3, "expected `]`" },
    { "an empty header", "[]\n", 1, 2, "expected a key" },
    { "an array of tables", "[[a]]\n", 1, 2, "not supported" },
    { "a key defined twice", "a = 1\na = 2\n", 2, 1, "`a` is defined twice" },
    { "a key defined twice in an inline table", "t = { a = 1, a = 2 }\n", 1, 14, "`a` is defined twice" },
    { "a table defined twice", "[a]\n[b]\n[a]\n", 3, 2, "`a` is defined twice" },
    { "a table that is a key", "a = 1\n[a]\n", 2, 2, "`a` is defined twice" },
    { "a table below a key", "a = 1\n[a.b]\n", 2, 2, "cannot be added to" },
    { "a key below an inline table", "a = { b = 1 }\na.c = 2\n", 2, 1, "cannot be added to" },
    { "a table below dotted keys", "a.b = 1\n[a.c]\n", 2, 2, "cannot be added to" },
    { "an unclosed string", "a = \"b\nc = 1\n", 1, 7, "not closed" },
    { "an unclosed string at the end", "a = 'b", 1, 7, "not closed" },
    { "an unknown escape", "a = \"\\q\"\n", 1, 7, "unknown escape" },
    { "an escape without digits", "a = \"\\u00g0\"\n", 1, 8, "hexadecimal" },
    { "an escape that is no character", "a = \"\\ud800\"\n", 1, 8, "no character" },
    { "an escape of nothing", "a = \"\\u0000\"\n", 1, 8, "no character" },
    { "a string over several lines", "a = \"\"\"b\n\"\"\"\n", 1, 5, "several lines" },
    { "a control character", "a = \"\x01\"\n", 1, 6, "control character" },
    { "a byte that is not UTF-8", "a = \"\xff\"\n", 1, 6, "not valid UTF-8" },
    { "a byte that is not UTF-8 in a comment", "# \xff\n", 1, 3, "not valid UTF-8" },
    { "an integer past 64 bits", "a = 9223372036854775808\n", 1, 5, "does not fit" },
    { "a hexadecimal integer past 64 bits", "a = 0xffffffffffffffff\n", 1, 5, "does not fit" },
    { "a leading zero", "a = 01\n", 1, 5, "malformed" },
    { "a leading zero of a float", "a = 01.5\n", 1, 5, "malformed" },
    { "a doubled underscore", "a = 1__0\n", 1, 5, "malformed" },
    { "a word that is no value", "a = maybe\n", 1, 5, "malformed" },
    { "an array without a comma", "a = [1 2]\n", 1, 8, "expected `,` or `]`" },
    { "an array that does not end", "a = [1,\n", 2, 1, "expected a value" },
    { "an inline table over two lines", "a = { b = 1,\nc = 2 }\n", 1, 13, "expected a key" },
    { "an inline table that does not end", "a = { b = 1\n", 1, 12, "expected `,` or `}`" },
    { "a value the reader refuses", "a = 1\nstop = 2\n", 2, 8, "stopped at stop" },
};
/* clang-format on */

static bool tell(void *user, const lin_toml_value *value, linnet_error *err)
{
    lin_text *out = user;
    if (strcmp(value->key, "stop") == 0) {
        lin_fail(err, LINNET_ERROR_FORMAT, "stopped at %s", value->key);
        return false;
    }
    lin_text_addf(out, "%s|%s=", value->table, value->key);
    switch (value->kind) {
    case LIN_TOML_STRING:
        lin_text_addf(out, "str:%s", value->text);
        break;
    case LIN_TOML_INTEGER:
        lin_text_add(out, "int:");
        lin_text_i64(out, value->integer);
        break;
    case LIN_TOML_BOOLEAN:
        lin_text_addf(out, "bool:%d", (int)value->integer);
        break;
    case LIN_TOML_OTHER:
        lin_text_add(out, "other");
        break;
    }
    lin_text_addf(out, " %lu:%lu;", (unsigned long)value->line, (unsigned long)value->column);
    return true;
}

static linnet_status read_text(const char *text, uint64_t length, lin_text *out, linnet_error *err)
{
    lin_arena arena;
    const lin_toml_reader reader = { tell, out };
    lin_arena_init(&arena, &lin_default_allocator);
    linnet_status status = lin_toml_read("linnet.toml", text, length, &arena, &reader, err);
    lin_arena_free(&arena);
    return status;
}

static void test_read(void **state)
{
    const struct read_case *c = *state;
    linnet_error err = { 0 };
    lin_text out;
    lin_text_init(&out, &lin_default_allocator);
    assert_int_equal(read_text(c->text, strlen(c->text), &out, &err), LINNET_OK);
    assert_string_equal(lin_text_data(&out), c->expect);
    lin_text_free(&out);
}

static void test_refuse(void **state)
{
    const struct refuse_case *c = *state;
    linnet_error err = { 0 };
    lin_text out;
    lin_text_init(&out, &lin_default_allocator);
    assert_int_equal(read_text(c->text, strlen(c->text), &out, &err), LINNET_ERROR_FORMAT);
    if (strstr(err.message, c->message) == NULL)
        fail_msg("%s", err.message);
    assert_string_equal(err.source, "linnet.toml");
    assert_int_equal(err.line, c->line);
    assert_int_equal(err.column, c->column);
    lin_text_clear(&out);
    assert_int_equal(read_text(c->text, strlen(c->text), &out, NULL), LINNET_ERROR_FORMAT);
    lin_text_free(&out);
}

/* Every beginning of a file is read or refused, and nothing past it is looked at. */
static void test_prefixes(void **state)
{
    (void)state;
    const char *text =
        "a = { b = [1, 'x', \"\\u00e9\"], c.d = 0x1f }\r\n[t.\"u\"] # c\nv = 1979-05-27\n";
    for (uint64_t length = 0; length <= strlen(text); length++) {
        lin_text out;
        char *copy = malloc(length + 1); /* of its own, so that overruns are seen */
        assert_non_null(copy);
        memcpy(copy, text, length);
        lin_text_init(&out, &lin_default_allocator);
        linnet_status status = read_text(copy, length, &out, NULL);
        assert_true(status == LINNET_OK || status == LINNET_ERROR_FORMAT);
        lin_text_free(&out);
        free(copy);
    }
}

static void test_nesting(void **state)
{
    (void)state;
    lin_text text, out;
    linnet_error err = { 0 };
    lin_text_init(&text, &lin_default_allocator);
    lin_text_init(&out, &lin_default_allocator);
    lin_text_add(&text, "a = ");
    lin_text_fill(&text, '[', 100000);
    assert_int_equal(read_text(lin_text_data(&text), text.length, &out, &err), LINNET_ERROR_FORMAT);
    assert_string_equal(err.message, "too deeply nested");
    lin_text_free(&out);
    lin_text_free(&text);
}

static void *fail_later(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    uint64_t *before = user;
    (void)old_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return (*before)-- == 0 ? NULL : realloc(ptr, (size_t)new_size);
}

static linnet_status read_with(uint64_t requests, const char *text)
{
    uint64_t left = requests;
    const lin_allocator allocator = { fail_later, &left };
    const lin_toml_reader reader = { NULL, NULL };
    lin_arena arena;
    lin_arena_init(&arena, &allocator);
    linnet_status status = lin_toml_read("t", text, strlen(text), &arena, &reader, NULL);
    lin_arena_free(&arena);
    return status;
}

static void test_memory(void **state)
{
    (void)state;
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    for (int i = 0; i < 300; i++)
        lin_text_addf(&text, "[t%d.u]\nkey = { a = \"text\", b.c = [1, 2] }\n", i);
    uint64_t n = 0;
    while (n < 10000 && read_with(n, lin_text_data(&text)) == LINNET_ERROR_NO_MEMORY)
        n++;
    assert_true(n > 0 && n < 10000);
    assert_int_equal(read_with(n, lin_text_data(&text)), LINNET_OK);
    lin_text_free(&text);
}

int main(void)
{
    static struct CMUnitTest tests[ARRAY_LEN(read_cases) + ARRAY_LEN(refuse_cases) + 3];
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(read_cases); i++)
        tests[count++] = (struct CMUnitTest){ .name = read_cases[i].name,
                                              .test_func = test_read,
                                              .initial_state = (void *)(uintptr_t)&read_cases[i] };
    for (size_t i = 0; i < ARRAY_LEN(refuse_cases); i++)
        tests[count++] =
            (struct CMUnitTest){ .name = refuse_cases[i].name,
                                 .test_func = test_refuse,
                                 .initial_state = (void *)(uintptr_t)&refuse_cases[i] };
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_prefixes);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_nesting);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_memory);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
