/* SPDX-License-Identifier: MIT */

/* Tokens and findings of the lexer, written as one line: "kind:text" for what has a text of its
 * own (w a name, r a reserved word, i, f and s literals), the spelling of the rest; then "!" and
 * "CODE offset-end" of each finding. */

#include "lang/lexer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct lexer_case {
    const char *name, *text, *expect;
} cases[] = {
    { "an empty text has no tokens", "", "" },
    { "blanks separate and mean nothing", " a\tb\r\nc ", "w:a w:b w:c" },
    { "a word may begin with an underscore", "_ _a9 A", "w:_ w:_a9 w:A" },
    { "every keyword is one",
      "as block buffer const crate else entry enum extern false fn for if in kernel let match module none op param "
      "pub return self some state static struct sub super true type use var where while yield",
      "as block buffer const crate else entry enum extern false fn for if in kernel let match module none op param "
      "pub return self some state static struct sub super true type use var where while yield" },
    { "reserved words have their own kind", "async await effect unsafe macro trait impl derive rng mut ref device",
      "r:async r:await r:effect r:unsafe r:macro r:trait r:impl r:derive r:rng r:mut r:ref r:device" },
    { "keywords are case-sensitive and whole words", "Let lets matc matching fn_ Device",
      "w:Let w:lets w:matc w:matching w:fn_ w:Device" },
    { "contextual words are names", "Tensor sum grad store random std", "w:Tensor w:sum w:grad w:store w:random w:std" },
    { "all punctuation", "... :: .. -> => == != <= >= && || & | ^ ( ) [ ] { } , : ; . = < > + - * / % ! ?",
      "... :: .. -> => == != <= >= && || & | ^ ( ) [ ] { } , : ; . = < > + - * / % ! ?" },
    { "the longest mark wins", "....:::=>=<==", "... . :: : => = <= =" },
    { "there is no >> token", "A<B<C>>", "w:A < w:B < w:C > >" },
    { "a line comment ends with its line", "a // b\nc", "w:a w:c" },
    { "block comments nest", "a /* b /* c */ d */ e", "w:a w:e" },
    { "documentation comments are comments", "/// x\n/** y */ //// z\n/***/ /**/ a", "w:a" },
    { "a comment may hold any character", "// \xc3\xa9\n/* \xe2\x80\x93 */ a", "w:a" },
    { "a comment at the end without a line end", "a // b", "w:a" },
    { "integers", "0 7 1_000 0x1F 0xff_ff 0b1_0", "i:0 i:7 i:1_000 i:0x1F i:0xff_ff i:0b1_0" },
    { "floats", "1.5 0.5 1e3 1E-5 2.5e+10 1_0.2_5", "f:1.5 f:0.5 f:1e3 f:1E-5 f:2.5e+10 f:1_0.2_5" },
    { "a range is no fraction", "0..N 1..2", "i:0 .. w:N i:1 .. i:2" },
    { "a slice is no fraction", "x[0::2]", "w:x [ i:0 :: i:2 ]" },
    { "a member of a number is no fraction", "1.foo", "i:1 . w:foo" },
    { "a point without a digit before it is a mark", ".5", ". i:5" },
    { "a second fraction is another number", "1.2.3", "f:1.2 . i:3" },
    { "a sign without an exponent is an operator", "1-2 1e3-4", "i:1 - i:2 f:1e3 - i:4" },
    { "hexadecimal numbers take no exponent", "0x1e+5", "i:0x1e + i:5" },
    { "strings", "\"a\" \"\" \"\\n\\r\\t\\0\\\\\\\"\" \"\\u{1F600}\" \"\xc3\xa9\"",
      "s:\"a\" s:\"\" s:\"\\n\\r\\t\\0\\\\\\\"\" s:\"\\u{1F600}\" s:\"\xc3\xa9\"" },

    { "E1001 for a character that no token has", "a $ b", "w:a w:b ! E1001 2-3" },
    { "E1001 once for a run", "a $#@ b", "w:a w:b ! E1001 2-5" },
    { "E1001 twice for two runs", "$ #", " ! E1001 0-1 E1001 2-3" },
    { "E1001 for a letter outside ASCII", "a\xc3\xa9z", "w:a w:z ! E1001 1-3" },
    { "E1001 for bytes that are not UTF-8", "a \xff\xfe b", "w:a w:b ! E1001 2-4" },
    { "E1001 for a control character", "a \x01 b", "w:a w:b ! E1001 2-3" },
    { "E1001 inside a comment that is not UTF-8", "// \xff\xff\na", "w:a ! E1001 3-5" },
    { "E1001 inside a string that is not UTF-8", "\"\xc3\" a", "s:\"\xc3\" w:a ! E1001 1-2" },
    { "E1002 at the opener of an unclosed comment", "a /* b", "w:a ! E1002 2-4" },
    { "E1002 at the outermost opener", "/* a /* b */", " ! E1002 0-2" },
    { "E1002 for a comment that is only opened", "/*/", " ! E1002 0-2" },
    { "E1003 for an unclosed string", "\"a\nb", "s:\"a w:b ! E1003 0-2" },
    { "E1003 for a string at the end of the text", "\"a", "s:\"a ! E1003 0-2" },
    { "E1003 for an unknown escape", "\"\\q\" a", "s:\"\\q\" w:a ! E1003 1-2" },
    { "E1003 for an escape that is no Unicode scalar value", "\"\\u{D800}\"", "s:\"\\u{D800}\" ! E1003 1-2" },
    { "E1003 for an escape past Unicode", "\"\\u{110000}\"", "s:\"\\u{110000}\" ! E1003 1-2" },
    { "E1003 for an escape without digits", "\"\\u{}\"", "s:\"\\u{}\" ! E1003 1-2" },
    { "E1003 for an escape with seven digits", "\"\\u{0000041}\"", "s:\"\\u{0000041}\" ! E1003 1-2" },
    { "E1003 once a string", "\"\\q\\w", "s:\"\\q\\w ! E1003 1-2" },
    { "E1005 for a leading zero", "007", "i:007 ! E1005 0-3" },
    { "E1005 for a leading zero of a fraction", "00.5", "f:00.5 ! E1005 0-4" },
    { "E1005 for a doubled underscore", "1__0", "i:1__0 ! E1005 0-4" },
    { "E1005 for a trailing underscore", "1_", "i:1_ ! E1005 0-2" },
    { "E1005 for an underscore before the point", "1_.5", "f:1_.5 ! E1005 0-4" },
    { "E1005 for an underscore after the prefix", "0x_1", "i:0x_1 ! E1005 0-4" },
    { "E1005 for a prefix alone", "0x", "i:0x ! E1005 0-2" },
    { "E1005 for a digit that is not binary", "0b12", "i:0b12 ! E1005 0-4" },
    { "E1005 for a digit that is not hexadecimal", "0xg", "i:0xg ! E1005 0-3" },
    { "E1005 for a suffix", "10f 1i32", "i:10f i:1i32 ! E1005 0-3 E1005 4-8" },
    { "E1005 for an exponent without digits", "1e 1e+", "f:1e f:1e + ! E1005 0-2 E1005 3-5" },
};
/* clang-format on */

static void show_token(lin_text *out, const lin_source_file *file, token t)
{
    const char *title = lin_token_title(t.kind);
    const char *kind = t.kind == TOKEN_NAME       ? "w:"
                       : t.kind == TOKEN_RESERVED ? "r:"
                       : t.kind == TOKEN_INTEGER  ? "i:"
                       : t.kind == TOKEN_FLOAT    ? "f:"
                       : t.kind == TOKEN_STRING   ? "s:"
                                                  : NULL;
    lin_text_add(out, kind != NULL ? kind : "");
    if (kind != NULL)
        lin_text_append(out, file->text + t.start, t.end - t.start);
    else
        lin_text_append(out, title + 1, strlen(title) - 2); /* without the backquotes */
}

static void show_findings(lin_text *out, const lin_diagnostics *diagnostics)
{
    for (uint32_t i = 0; i < diagnostics->list.count; i++) {
        const lin_diagnostic *d = diagnostics->list.items[i];
        lin_text_addf(out, " %s%s %lu-%lu", i == 0 ? "! " : "", d->code,
                      (unsigned long)d->places[0].start_offset,
                      (unsigned long)d->places[0].end_offset);
    }
}

static void test_lex(void **state)
{
    const struct lexer_case *c = *state;
    lin_source_file file = { .name = "a", .text = c->text, .length = (uint32_t)strlen(c->text) };
    lin_arena arena;
    lin_diagnostics diagnostics;
    lin_text out;
    lexer lex;
    lin_arena_init(&arena, &lin_default_allocator);
    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 100);
    lin_text_init(&out, &lin_default_allocator);

    lin_lexer_init(&lex, &file, lin_names_new(&arena), &diagnostics);
    /* The second reading finds the same tokens and reports nothing again. */
    for (int reading = 0; reading < 2; reading++) {
        lin_text_clear(&out);
        lex.position = 0;
        for (token t = lin_lexer_next(&lex); t.kind != TOKEN_END; t = lin_lexer_next(&lex)) {
            lin_text_add(&out, out.length > 0 ? " " : "");
            show_token(&out, &file, t);
        }
        show_findings(&out, &diagnostics);
        assert_string_equal(lin_text_data(&out), c->expect);
    }
    lin_text_free(&out);
    lin_diagnostics_free(&diagnostics);
    lin_arena_free(&arena);
}

/* Offsets shown to people count the byte-order mark that the text does not begin with. */
static void test_byte_order_mark(void **state)
{
    (void)state;
    lin_source_file file = { .name = "a", .text = "$", .length = 1, .bom_bytes = 3 };
    lin_arena arena;
    lin_diagnostics diagnostics;
    lexer lex;
    lin_arena_init(&arena, &lin_default_allocator);
    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 100);
    lin_lexer_init(&lex, &file, lin_names_new(&arena), &diagnostics);
    assert_int_equal(lin_lexer_next(&lex).kind, TOKEN_END);
    assert_int_equal(diagnostics.list.items[0]->places[0].start_offset, 3);
    assert_int_equal(diagnostics.list.items[0]->places[0].start_column, 1);
    lin_diagnostics_free(&diagnostics);
    lin_arena_free(&arena);
}

int main(void)
{
    static struct CMUnitTest tests[ARRAY_LEN(cases) + 1];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        tests[i] = (struct CMUnitTest){ .name = cases[i].name,
                                        .test_func = test_lex,
                                        .initial_state = (void *)(uintptr_t)&cases[i] };
    tests[ARRAY_LEN(cases)] = (struct CMUnitTest)cmocka_unit_test(test_byte_order_mark);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
