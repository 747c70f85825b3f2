/* SPDX-License-Identifier: MIT */

/* Findings: where they lie, how they are printed, in which order, up to which number; and the
 * meanings of the codes. */

#include "lang/diagnostics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* ---- the printed form ---- */

typedef struct place_row {
    uint32_t start, end;
    const char *label;
    bool in_other; /* in the second file */
} place_row;

/* clang-format off */
static const struct print_case {
    const char *name, *text;
    place_row places[4]; /* up to the first with start == end == 0 after the first */
    const char *note, *help, *expect;
} print_cases[] = {
    { "the primary span is underlined", "fn f() {\n    return a + b\n}\n", { { 20, 25, "", false } }, NULL, NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:2:12\n"
      "   |\n"
      " 2 |     return a + b\n"
      "   |            ^^^^^\n" },
    { "notes and helps stand below a blank line", "abc\n", { { 0, 1, "", false } }, "left is bf16", "cast one",
      "error E2103: words `here`\n"
      "  --> a.linnet:1:1\n"
      "   |\n"
      " 1 | abc\n"
      "   | ^\n"
      "   |\n"
      "   = note: left is bf16\n"
      "   = help: cast one\n" },
    { "labels follow their underline", "abc def\n", { { 0, 3, "this one", false }, { 4, 7, "that one", false } }, NULL, NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:1:1\n"
      "   |\n"
      " 1 | abc def\n"
      "   | ^^^ this one\n"
      "   |     --- that one\n" },
    { "lines stand in order, with dots where some are left out", "a\nb\nc\nd\n",
      { { 6, 7, "fourth", false }, { 0, 1, "first", false }, { 2, 3, "", false } }, NULL, NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:4:1\n"
      "   |\n"
      " 1 | a\n"
      "   | - first\n"
      " 2 | b\n"
      "   | -\n"
      "...\n"
      " 4 | d\n"
      "   | ^ fourth\n" },
    { "other files follow", "abc\n", { { 1, 2, "", false }, { 3, 4, "declared here", true } }, "n", NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:1:2\n"
      "   |\n"
      " 1 | abc\n"
      "   |  ^\n"
      "  ::: b.linnet:2:2\n"
      "   |\n"
      " 2 | yz\n"
      "   |  - declared here\n"
      "   |\n"
      "   = note: n\n" },
    { "the gutter is as wide as the widest line number", "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
      "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nx\n",
      { { 99, 100, "", false }, { 98, 98, "", false } }, NULL, "h",
      "error E2103: words `here`\n"
      "   --> a.linnet:100:1\n"
      "    |\n"
      " 99 |\n"
      "    | -\n"
      "100 | x\n"
      "    | ^\n"
      "    |\n"
      "    = help: h\n" },
    { "a tab is shown as four spaces", "\ta\tb\n", { { 3, 4, "", false } }, NULL, NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:1:4\n"
      "   |\n"
      " 1 |     a    b\n"
      "   |          ^\n" },
    { "columns count code points", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 x\n", { { 10, 11, "", false } }, NULL, NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:1:5\n"
      "   |\n"
      " 1 | \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 x\n"
      "   |     ^\n" },
    { "bytes that are not UTF-8 are one column each and shown as one", "\xff\xfe x\n", { { 3, 4, "", false } }, NULL, NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:1:4\n"
      "   |\n"
      " 1 | \xef\xbf\xbd\xef\xbf\xbd x\n"
      "   |    ^\n" },
    { "control characters are not passed on", "a\x1b[m x\n", { { 5, 6, "", false } }, NULL, NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:1:6\n"
      "   |\n"
      " 1 | a\xef\xbf\xbd[m x\n"
      "   |      ^\n" },
    { "a span over several lines stops at the end of its first", "ab cd\nef\n", { { 3, 8, "", false } }, NULL, NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:1:4\n"
      "   |\n"
      " 1 | ab cd\n"
      "   |    ^^\n" },
    { "a span at the end of a line has one caret", "ab\ncd\n", { { 2, 3, "", false } }, NULL, NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:1:3\n"
      "   |\n"
      " 1 | ab\n"
      "   |   ^\n" },
    { "a carriage return is no part of the line", "ab\r\ncd\r\n", { { 4, 6, "", false } }, NULL, NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:2:1\n"
      "   |\n"
      " 2 | cd\n"
      "   | ^^\n" },
    { "the end of the text after its last line", "ab\n", { { 3, 3, "", false } }, NULL, NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:2:1\n"
      "   |\n"
      " 2 |\n"
      "   | ^\n" },
    { "the end of a text without a line end", "ab", { { 2, 2, "", false } }, NULL, NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:1:3\n"
      "   |\n"
      " 1 | ab\n"
      "   |   ^\n" },
    { "a span past the text ends with it", "ab", { { 1, 99, "", false } }, NULL, NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:1:2\n"
      "   |\n"
      " 1 | ab\n"
      "   |  ^\n" },
    { "an empty text", "", { { 0, 0, "", false } }, NULL, NULL,
      "error E2103: words `here`\n"
      "  --> a.linnet:1:1\n"
      "   |\n"
      " 1 |\n"
      "   | ^\n" },
};
/* clang-format on */

static void test_print(void **state)
{
    const struct print_case *c = *state;
    const lin_source_file file = { .name = "a.linnet",
                                   .text = c->text,
                                   .length = (uint32_t)strlen(c->text) };
    const lin_source_file other = {
        .name = "b.linnet", .text = "x\nyz\n", .length = 5, .index = 1
    };
    lin_diagnostics diagnostics;
    lin_text out;
    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 10);
    lin_text_init(&out, &lin_default_allocator);
    lin_span span = { 0, c->places[0].start, c->places[0].end };
    lin_diagnostic *d = lin_diagnose(&diagnostics, &file, span, "E2103", "words `%s`", "here");
    lin_diagnostic_label(&diagnostics, d, c->places[0].label);
    for (size_t i = 1; i < ARRAY_LEN(c->places) && c->places[i].end > 0; i++)
        lin_diagnostic_place(&diagnostics, d, c->places[i].in_other ? &other : &file,
                             (lin_span){ 0, c->places[i].start, c->places[i].end },
                             c->places[i].label);
    if (c->note != NULL)
        lin_diagnostic_note(&diagnostics, d, "%s", c->note);
    if (c->help != NULL)
        lin_diagnostic_help(&diagnostics, d, "%s", c->help);
    lin_diagnostic_print(&out, d, false);
    assert_string_equal(lin_text_data(&out), c->expect);
    assert_false(diagnostics.failed);
    lin_text_free(&out);
    lin_diagnostics_free(&diagnostics);
}

static void test_colour(void **state)
{
    (void)state;
    const lin_source_file file = { .name = "a.linnet", .text = "ab", .length = 2 };
    lin_diagnostics diagnostics;
    lin_text out;
    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 10);
    lin_text_init(&out, &lin_default_allocator);
    lin_diagnostic *d = lin_diagnose(&diagnostics, &file, (lin_span){ 0, 0, 1 }, "W1002", "m");
    lin_diagnostic_print(&out, d, true);
    assert_string_equal(lin_text_data(&out), "\x1b[1;33mwarning W1002\x1b[0m: \x1b[1mm\x1b[0m\n"
                                             "  \x1b[1;34m-->\x1b[0m a.linnet:1:1\n"
                                             "\x1b[1;34m   |\x1b[0m\n"
                                             "\x1b[1;34m 1 |\x1b[0m ab\n"
                                             "\x1b[1;34m   |\x1b[0m \x1b[1;33m^\x1b[0m\n");
    lin_text_free(&out);
    lin_diagnostics_free(&diagnostics);
}

/* A line is cut at a character, 1 KiB at the most. */
static void test_long_line(void **state)
{
    (void)state;
    char text[4000];
    memset(text, 'a', sizeof text);
    memcpy(text + 1023, "\xc3\xa9", 2);
    const lin_source_file file = { .name = "a", .text = text, .length = sizeof text };
    lin_diagnostics diagnostics;
    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 10);
    lin_diagnostic *d =
        lin_diagnose(&diagnostics, &file, (lin_span){ 0, 3000, 3001 }, "E1101", "m");
    assert_int_equal(d->places[0].start_column, 3000);
    assert_int_equal(strlen(d->places[0].line_text), 1023);
    lin_diagnostics_free(&diagnostics);
}

/* ---- the list ---- */

static void test_order(void **state)
{
    (void)state;
    const lin_source_file a = { .name = "a", .text = "abc", .length = 3 };
    const lin_source_file b = { .name = "b", .text = "abc", .length = 3 };
    static const char *const expected[] = { "1", "2", "3", "4", "5", "6" };
    lin_diagnostics diagnostics;
    lin_text out;
    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 10);
    lin_diagnose(&diagnostics, &a, (lin_span){ 0, 0, 1 }, "W1001", "6");
    lin_diagnose(&diagnostics, &b, (lin_span){ 0, 0, 1 }, "E1101", "5");
    lin_diagnose(&diagnostics, &a, (lin_span){ 0, 2, 3 }, "E1102", "3");
    lin_diagnose(&diagnostics, &a, (lin_span){ 0, 2, 2 }, "E1101", "4");
    lin_diagnose(&diagnostics, &a, (lin_span){ 0, 0, 1 }, "E1103", "1");
    lin_diagnose(&diagnostics, &a, (lin_span){ 0, 1, 2 }, "E1103", "2");
    lin_diagnostics_sort(&diagnostics);
    for (uint32_t i = 0; i < 6; i++)
        assert_string_equal(diagnostics.list.items[i]->message, expected[i]);
    assert_int_equal(diagnostics.error_count, 5);
    assert_int_equal(diagnostics.warning_count, 1);
    lin_text_init(&out, &lin_default_allocator);
    lin_diagnostics_print(&out, &diagnostics, false);
    assert_non_null(strstr(lin_text_data(&out), "^\n\nerror E1103: 2\n"));
    lin_text_free(&out);
    lin_diagnostics_free(&diagnostics);
}

static void test_limit(void **state)
{
    (void)state;
    const lin_source_file file = { .name = "a", .text = "abc", .length = 3 };
    lin_diagnostics diagnostics;
    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 2);
    for (int i = 0; i < 5; i++) {
        lin_diagnostic *d = lin_diagnose(&diagnostics, &file, (lin_span){ 0, 0, 1 }, "E1101", "m");
        assert_int_equal(d != NULL, i < 2);
        lin_diagnostic_label(&diagnostics, d, "l");
        lin_diagnostic_place(&diagnostics, d, &file, (lin_span){ 0, 0, 1 }, "l");
        lin_diagnostic_note(&diagnostics, d, "n");
        lin_diagnostic_help(&diagnostics, d, "h");
    }
    assert_int_equal(diagnostics.list.count, 2);
    assert_int_equal(diagnostics.error_count, 5);
    assert_false(diagnostics.failed);
    lin_diagnostics_free(&diagnostics);
}

/* What is recorded outlives the source. */
static void test_ownership(void **state)
{
    (void)state;
    char text[] = "one two", name[] = "a.linnet", label[] = "label";
    const lin_source_file file = { .name = name, .text = text, .length = 7 };
    lin_diagnostics diagnostics;
    lin_text before, after;
    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 2);
    lin_text_init(&before, &lin_default_allocator);
    lin_text_init(&after, &lin_default_allocator);
    lin_diagnostic *d =
        lin_diagnose(&diagnostics, &file, (lin_span){ 0, 4, 7 }, "E1101", "%s", text);
    lin_diagnostic_label(&diagnostics, d, label);
    lin_diagnostic_print(&before, d, false);
    memset(text, '?', sizeof text - 1);
    memset(name, '?', sizeof name - 1);
    memset(label, '?', sizeof label - 1);
    lin_diagnostic_print(&after, d, false);
    assert_string_equal(lin_text_data(&before), lin_text_data(&after));
    lin_text_free(&after);
    lin_text_free(&before);
    lin_diagnostics_free(&diagnostics);
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

/* A failed request is remembered, and what was recorded can still be printed. */
static void test_memory(void **state)
{
    (void)state;
    const lin_source_file file = { .name = "a", .text = "abc\n", .length = 4 };
    for (uint64_t n = 0; n < 40; n++) {
        uint64_t left = n;
        const lin_allocator allocator = { fail_later, &left };
        lin_diagnostics diagnostics;
        lin_text out;
        lin_diagnostics_init(&diagnostics, &allocator, 100);
        for (int i = 0; i < 100; i++) {
            lin_diagnostic *d =
                lin_diagnose(&diagnostics, &file, (lin_span){ 0, 0, 1 }, "E1101", "%0200d", i);
            lin_diagnostic_place(&diagnostics, d, &file, (lin_span){ 0, 1, 2 }, "place");
            lin_diagnostic_note(&diagnostics, d, "note %d", i);
        }
        if (diagnostics.list.count < 100)
            assert_true(diagnostics.failed);
        lin_text_init(&out, &lin_default_allocator);
        lin_diagnostics_sort(&diagnostics);
        lin_diagnostics_print(&out, &diagnostics, false);
        lin_text_free(&out);
        lin_diagnostics_free(&diagnostics);
    }
}

/* ---- codes ---- */

static const char *const codes[] = {
    "E1001", "E1002", "E1003", "E1004", "E1005", "E1101", "E1102", "E1103", "E1201",
    "E1202", "E1203", "E1204", "E1205", "E1206", "E1207", "E1208", "E2101", "E2102",
    "E2103", "E2104", "E2105", "E2106", "E2107", "E2108", "E2109", "E2110", "E2111",
    "E2112", "E2113", "E2114", "E2115", "E2116", "E2117", "E2118", "E2119", "E2120",
    "E2121", "E2122", "E2123", "E2190", "E2201", "E2202", "E2203", "E2204", "E2205",
    "E2206", "E2207", "E2208", "E2209", "E2210", "E3101", "E3102", "E3103", "E3104",
    "E3105", "E3106", "E4101", "E4102", "E5001", "W1001", "W1002", "W1003",
};

static void test_codes(void **state)
{
    (void)state;
    assert_int_equal(lin_code_count(), ARRAY_LEN(codes));
    for (uint32_t i = 0; i < ARRAY_LEN(codes); i++) {
        const lin_code_meaning *meaning = lin_code_at(i);
        assert_string_equal(meaning->code, codes[i]);
        assert_ptr_equal(lin_code_find(codes[i]), meaning);
        assert_true(strlen(meaning->title) > 5 && strlen(meaning->text) > 40);
        assert_int_not_equal(meaning->title[strlen(meaning->title) - 1], '.');
    }
    assert_null(lin_code_at(lin_code_count()));
    assert_null(lin_code_find("E9999"));
    assert_null(lin_code_find(""));
}

int main(void)
{
    static struct CMUnitTest tests[ARRAY_LEN(print_cases) + 7];
    size_t count = ARRAY_LEN(print_cases);
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){ .name = print_cases[i].name,
                                        .test_func = test_print,
                                        .initial_state = (void *)(uintptr_t)&print_cases[i] };
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_colour);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_long_line);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_order);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_limit);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_ownership);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_memory);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_codes);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
