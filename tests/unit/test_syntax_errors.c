/* SPDX-License-Identifier: MIT */

/*
 * The parser on texts that are wrong, by rows: every syntax error with its place, and the limits:
 * depth, time and memory that grow with the text and no faster, requests for memory that fail.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "parse_text.h"

/* clang-format off */
/* Every syntax error, as "CODE line:column". */
static const struct error_case {
    const char *name, *text, *expect;
} error_cases[] = {
    { "E1102 for an empty file", "", "E1102 1:1" },
    { "E1102 for a file that begins with something else", "// a\npub fn f() {}", "E1102 2:1" },
    { "E1102 for a file that begins with an import", "use a\nfn f() {}", "E1102 1:1" },
    { "E1101 for a module without a name", "module\nfn f() {}", "E1101 2:1" },
    { "E1101 for a path that ends with a point", "module a.\nfn f() {}", "E1101 2:1" },
    { "E1101 for a second module", "module a\nmodule b\nfn f() {}", "E1101 2:1" },
    { "E1101 for a use after an item", "module a\nfn f() {}\nuse b\n", "E1101 3:1" },
    { "E1101 for a use of everything", "module a\nuse b::*\nfn f() {}", "E1101 2:8" },
    { "E1101 for an import list that does not end", "module a\nuse b::{c d}\nfn f() {}", "E1101 2:11" },
    { "E1103 for use self", "module a\nuse self.b\nuse super::c\nfn f() {}", "E1103 2:5 E1103 3:5" },
    { "E1101 for self elsewhere", "module a\nconst X = self\n", "E1101 2:11" },
    { "E1103 for extern", "module a\nextern fn f(x: f32)\nextern \"C\" fn g()\nfn h() {}", "E1103 2:1 E1103 3:1" },
    { "E1101 for what is no item", "module a\nlet x = 1\nfn f() {}\n+\n", "E1101 2:1 E1101 4:1" },
    { "E1101 for a member outside a block", "module a\nparam w: f32\nfn f() {}", "E1101 2:1" },
    { "E1101 for a public member", "module a\nblock B { pub param w: f32\n state s: f32 }", "E1101 2:15" },
    { "E1101 for pub before nothing", "module a\npub\n", "E1101 3:1" },
    { "E1101 for a default of a buffer and a state", "module a\nblock B { buffer b: f32 = x\n state s: f32 = none }",
      "E1101 2:25 E1101 3:15" },
    { "E1101 for a use in a block", "module a\nblock B { use b\n param w: f32 }", "E1101 2:11" },
    { "E1101 for a block that does not end", "module a\nblock B { param w: f32\n", "E1101 3:1" },

    { "E1101 for a comma between fields", "module a\nstruct S { a: f32, b: f32 }\n", "E1101 2:18" },
    { "E1101 for a field without a type", "module a\nstruct S { a b: f32 }\nfn f() {}", "E1101 2:14" },
    { "E1103 for a payload", "module a\nenum E { A(f32), B }\n", "E1103 2:11" },
    { "E1101 for variants without commas", "module a\nenum E { A B }\nfn f() {}", "E1101 2:12" },
    { "E1101 for an op without a result", "module a\nop f(x: f32) { return x }\nfn g() {}", "E1101 2:14" },
    { "E1101 for a kernel named by a fn", "module a\nfn f() -> f32 kernel k { return 1 }\n", "E1101 2:15 E1101 2:24" },
    { "E1101 for a parameter without a type", "module a\nfn f(x) {}\nfn g() {}", "E1101 2:7" },
    { "E1101 for a function without a body", "module a\nfn f()\nfn g() {}", "E1101 3:1" },
    { "E1101 for an unknown kind of generic", "module a\nfn f<N: Size>() {}\nfn g() {}", "E1101 2:9" },
    { "E1101 for a Shape without a star", "module a\nfn f<S: Shape>() {}", "E1101 2:9" },
    { "E1101 for a star on a Dim", "module a\nfn f<*N: Dim>() {}", "E1101 2:10" },
    { "E1101 for empty generics", "module a\nfn f<>() {}\nfn g() {}", "E1101 2:6" },
    { "E1101 for a kernel without a grid", "module a\nkernel k() -> o: f32 {}\nfn f() {}", "E1101 2:22" },
    { "E1103 for a tensor without dimensions", "module a\nfn f(x: Tensor[; f32]) {}\n", "E1103 2:16" },
    { "E1103 for such a tensor in a call", "module a\nconst X = f<Tensor[; f32]>(1)\n", "E1103 2:20" },
    { "E1101 for a tensor without an element type", "module a\nfn f(x: Tensor[N]) {}\nfn g() {}", "E1101 2:17" },
    { "E1101 for a tuple type of one", "module a\nfn f(x: (f32)) {}\nfn g() {}", "E1101 2:13" },
    { "E1101 for an array type without a length", "module a\nblock B { sub x: [L]\n param w: f32 }", "E1101 2:20" },
    { "E1101 for empty type arguments", "module a\nfn f(x: A<>) {}\nfn g() {}", "E1101 2:11" },

    { "E1004 for a reserved word as a parameter", "module a\nfn f(device: f32) {}\n", "E1004 2:6" },
    { "E1004 at every use", "module a\nfn f() { let ref = mut ref = 1 }\n", "E1004 2:14 E1004 2:20 E1004 2:24" },
    { "E1004 for a reserved word as an item", "module a\nfn macro() {}\nstruct trait {}\n", "E1004 2:4 E1004 3:8" },
    { "E1004 in a path", "module a.impl\nuse b.async\n", "E1004 1:10 E1004 2:7" },
    { "E1101 for a keyword as a name", "module a\nfn f(state: f32) {}\nfn g() {}", "E1101 2:6" },
    { "E1101 for a keyword as a local", "module a\nfn f() { let state = 1\n state = 2\n let x = )\n return type }",
      "E1101 2:14 E1101 4:10 E1101 5:9" },
    { "E1005 goes on as a number", "module a\nconst X = 007 + 1__2\n", "E1005 2:11 E1005 2:17" },
    { "E1003 goes on as a string", "module a\nconst X = f(\"\\q\")\n", "E1003 2:14" },
    { "E1001 is read over", "module a\nconst $ X = 1\n", "E1001 2:7" },
    { "E1002 and the missing rest", "module a\nconst X = 1 /* + 2\n", "E1002 2:13" },

    { "E1101 for a call alone", "module a\nfn f() { g(x)\n let y = 1 }", "E1101 2:10" },
    { "E1101 for a value alone", "module a\nfn f() { 1 + 2 }", "E1101 2:10" },
    { "E1101 for an if statement", "module a\nfn f() { if a { b } else { c } return x }", "E1101 2:10" },
    { "E1101 for a let without a value", "module a\nfn f() { let x\n let y = 1 }", "E1101 3:2" },
    { "E1101 for a loop inside an expression", "module a\nfn f() { let x = 1 + for t in 0..T { yield h }\n let y = 2 }",
      "E1101 2:22" },
    { "E1101 for a loop over no range", "module a\nfn f() { for x in xs { y = x }\n let z = 1 }", "E1101 2:22" },
    { "E1101 for static without for", "module a\nfn f() { static x\n let y = 1 }", "E1101 2:17" },
    { "E1101 for a body that does not end", "module a\nfn f() { let x = 1\n", "E1101 3:1" },
    { "E1101 for an item inside a body", "module a\nfn f() { let x = 1\nfn g() {}\n", "E1101 3:1" },
    { "E1101 for a brace too many", "module a\nfn f() {} }\nfn g() {}", "E1101 2:11" },

    { "E1101 for a missing operand", "module a\nconst X = a +\nconst Y = 1", "E1101 3:1" },
    { "E1101 for two prefix operators", "module a\nconst X = --a\nconst Y = 1", "E1101 2:12" },
    { "E1101 for an if without else", "module a\nconst X = if a { b }\nconst Y = 1", "E1101 3:1" },
    { "E1101 for else if", "module a\nfn f() { let x = if a { b } else if c { d } else { e }\n let y = 1 }", "E1101 2:34" },
    { "E1101 for an if as an operand", "module a\nconst X = 1 + if a { b } else { c }\nconst Y = 1", "E1101 2:15" },
    { "E1101 for a match without arms", "module a\nconst X = match a {}\nconst Y = 1", "E1101 2:20" },
    { "E1101 for an arm that begins with a parenthesis", "module a\nconst X = match x { (a, b) => a none => 0 }\n", "E1101 2:21" },
    { "E1101 for commas between arms", "module a\nconst X = match x { some(a) => 1, none => 0 }\nfn f() {}", "E1101 2:33" },
    { "E1101 for an arm without a value", "module a\nconst X = match x { a }\nfn f() {}", "E1101 2:23" },
    { "E1101 for empty parentheses", "module a\nconst X = ()\nfn f() {}", "E1101 2:12" },
    { "E1101 for a tuple of one", "module a\nconst X = (a,)\nfn f() {}", "E1101 2:14" },
    { "E1101 for an empty index", "module a\nconst X = a[]\nfn f() {}", "E1101 2:13" },
    { "E1101 for three colons", "module a\nconst X = a[b:::c]\nfn f() {}", "E1101 2:16" },
    { "E1101 for a member that is a number", "module a\nconst X = a.1\nfn f() {}", "E1101 2:13" },
    { "E1101 for arguments without commas", "module a\nfn f() { let x = g(a b, y = 1)\n let z = 1 }", "E1101 2:22" },
    { "E1101 for a reduction without indices", "module a\nconst X = sum[] a\nfn f() {}", "E1101 2:15" },
    { "E1101 for a comparison in type arguments", "module a\nfn f(x: A<B == C>) {}\nfn g() {}", "E1101 2:13" },

    { "one error a statement, and on to the next", "module a\nfn f() {\n let a = )\n let b = ]\n c = (\n return }\nfn g() {}\n",
      "E1101 3:10 E1101 4:10 E1101 6:2" },
    { "a broken statement hides no later item", "module a\nfn f() { while { x = 1 } let = 2 }\nfn g(device: f32) {}",
      "E1101 2:16 E1101 2:30 E1004 3:6" },
    { "a broken item hides no later one", "module a\nfn f(x: ) { let y = 1 }\nblock B { param : f32 fn g() { 1 } }\nstruct S { 1 }",
      "E1101 2:9 E1101 3:17 E1101 3:32 E1101 4:12" },
    { "an unclosed brace hides no later item", "module a\nfn f() { while a { let b = 1\nfn g(device: f32) {}", "E1101 3:1 E1004 3:6" },
    { "keyword arguments do not look like statements", "module a\nfn f() { let x = g(1 2, y = 3, z = 4) }", "E1101 2:22" },
};
/* clang-format on */

static void test_error(void **state)
{
    const struct error_case *c = *state;
    lin_text out;
    parsed p;
    lin_text_init(&out, &lin_default_allocator);
    parse(&p, c->text, strlen(c->text));
    for (uint32_t i = 0; i < p.diagnostics.list.count; i++) {
        const lin_diagnostic *d = p.diagnostics.list.items[i];
        lin_text_addf(&out, "%s%s %lu:%lu", i > 0 ? " " : "", d->code,
                      (unsigned long)d->places[0].start_line,
                      (unsigned long)d->places[0].start_column);
    }
    assert_string_equal(lin_text_data(&out), c->expect);
    lin_text_clear(&out);
    lin_syntax_print(&out, p.names, p.file); /* what is left of the tree can be walked */
    drop(&p);
    lin_text_free(&out);
}

/* ---- limits ---- */

/* clang-format off */
/* head, then open `count` times, then middle, then close as often. 0 findings, or one E1101. */
static const struct depth_case {
    const char *name, *head, *open, *middle, *close;
    uint32_t count, findings;
} depth_cases[] = {
    { "256 parentheses", "const A = ", "(", "1", ")", 256, 0 },
    { "257 parentheses", "const A = ", "(", "1", ")", 257, 1 },
    { "10,000 parentheses", "const A = ", "(", "1", ")", 10000, 1 },
    { "10,000 brackets in a body", "fn f() { let a = ", "[", "1", "] ", 10000, 1 },
    { "10,000 open parentheses", "const A = ", "(", "", "", 10000, 1 },
    { "256 operators in a chain", "const A = 1", " + 1", "", "", 256, 0 },
    { "257 operators in a chain", "const A = 1", " + 1", "", "", 257, 1 },
    { "256 suffixes in a chain", "const A = x", "[0]", "", "", 256, 0 },
    { "257 suffixes in a chain", "const A = x", ".a", "", "", 257, 1 },
    { "10,000 calls in a chain", "const A = x", "()", "", "", 10000, 1 },
    { "chains inside one another", "const A = ", "(1 +", "1", ")+1+1", 86, 1 },
    { "chains inside one another that fit", "const A = ", "(1 +", "1", ")+1+1", 64, 0 },
    { "256 type arguments", "type A = ", "A<", "A", ">", 256, 0 },
    { "257 type arguments", "type A = ", "A<", "A", ">", 257, 1 },
    { "10,000 type arguments", "const A = ", "f<", "A", ">(x)", 10000, 1 },
    { "10,000 comparisons", "const A = ", "a<", "b", "", 10000, 1 },
    { "10,000 tuple types", "type A = ", "(", "B", ",C)", 10000, 1 },
    { "10,000 array types", "type A = ", "[", "B", ";1]", 10000, 1 },
    { "10,000 reductions", "const A = ", "sum[i] ", "a", "", 10000, 1 },
    { "10,000 ifs", "const A = ", "if c { ", "a", " } else { b }", 10000, 1 },
    { "10,000 matches", "const A = ", "match c { x => ", "a", " }", 10000, 1 },
    { "10,000 patterns", "const A = match c { ", "some(", "a", ")", 10000, 1 },
    { "10,000 loops", "fn f() { ", "while a { ", "", "} ", 10000, 2 },
    { "10,000 blocks", "", "block B { ", "", "} ", 10000, 1 },
};
/* clang-format on */

static void repeat(lin_text *text, const char *word, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        lin_text_add(text, word);
}

static void test_depth(void **state)
{
    const struct depth_case *c = *state;
    lin_text text;
    parsed p;
    lin_text_init(&text, &lin_default_allocator);
    lin_text_addf(&text, "module t\n%s", c->head);
    repeat(&text, c->open, c->count);
    lin_text_add(&text, c->middle);
    repeat(&text, c->close, c->count);
    parse(&p, lin_text_data(&text), text.length);
    assert_int_equal(p.diagnostics.list.count, c->findings);
    if (c->findings > 0) {
        assert_string_equal(p.diagnostics.list.items[0]->code, "E1101");
        assert_string_equal(p.diagnostics.list.items[0]->message, "too deeply nested");
    }
    drop(&p);
    lin_text_free(&text);
}

/* clang-format off */
/* Texts that would take more than linear time or memory without the memos of `<`. */
static const struct linear_case {
    const char *name, *head, *unit, *tail;
} linear_cases[] = {
    { "comparisons in a list", "const A = [", "a < b, ", "c]" },
    { "generic calls in a list", "const A = [", "f<A, B>(c), ", "c]" },
    { "unfinished type arguments", "fn f() { return ", "a < ", "b }" },
    { "tensors in unfinished type arguments", "const A = [", "a < Tensor[a < Tensor[ ", "" },
    { "a long list inside what is no type argument", "const A = a<Tensor[a<Tensor[a<Tensor[a<Tensor[[", "1, ", "" },
    { "statements that are none", "fn f() { ", "a < b ", "}" },
    { "errors everywhere", "", "$ ) ", "" },
};
/* clang-format on */

static void *count_bytes(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    uint64_t *bytes = user;
    if (new_size > old_size)
        *bytes += new_size - old_size;
    if (new_size > 0)
        return realloc(ptr, (size_t)new_size);
    free(ptr);
    return NULL;
}

static uint64_t bytes_for(const struct linear_case *c, uint32_t count)
{
    lin_text text;
    uint64_t bytes = 0;
    const lin_allocator counting = { count_bytes, &bytes };
    lin_arena arena;
    lin_diagnostics diagnostics;
    lin_text_init(&text, &lin_default_allocator);
    lin_text_addf(&text, "module t\n%s", c->head);
    repeat(&text, c->unit, count);
    lin_text_add(&text, c->tail);
    lin_source_file source = { .name = "a",
                               .text = lin_text_data(&text),
                               .length = (uint32_t)text.length };
    lin_arena_init(&arena, &counting);
    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 10);
    assert_non_null(lin_parse(&arena, lin_names_new(&arena), &source, &diagnostics));
    lin_diagnostics_free(&diagnostics);
    lin_arena_free(&arena);
    lin_text_free(&text);
    return bytes;
}

/* Time is left to the test's own limit; memory is counted. */
static void test_linear(void **state)
{
    const struct linear_case *c = *state;
    uint64_t few = bytes_for(c, 20000), many = bytes_for(c, 80000);
    assert_true(many <= 5 * few + (1 << 20));
    assert_true(many <= 160 * 80000 * (uint64_t)strlen(c->unit) + (1 << 20));
}

/* ---- out of memory ---- */

typedef struct failing {
    uint64_t before; /* requests that succeed */
} failing;

static void *fail_later(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    failing *f = user;
    (void)old_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return f->before-- == 0 ? NULL : realloc(ptr, (size_t)new_size);
}

/* True when the parse was cut short by the n-th request. */
static bool parse_fails(uint64_t before, const lin_source_file *source)
{
    failing f = { before };
    const lin_allocator allocator = { fail_later, &f };
    lin_arena arena;
    lin_diagnostics diagnostics;
    jmp_buf out_of_memory;
    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 10);
    lin_arena_init(&arena, &allocator);
    arena.on_failure = &out_of_memory;
    bool failed = true;
    if (setjmp(out_of_memory) == 0) {
        lin_parse(&arena, lin_names_new(&arena), source, &diagnostics);
        failed = false;
    }
    lin_arena_free(&arena);
    lin_diagnostics_free(&diagnostics);
    return failed;
}

static void test_memory(void **state)
{
    (void)state;
    const char *text = "module a\nuse b::{c}\nfn f<N: Dim>(x: T<N>) { let y = g<A, B>(x) < 2 }\n"
                       "block B { param w: f32 fn h() { return (1, 2) } }";
    lin_source_file source = { .name = "a", .text = text, .length = (uint32_t)strlen(text) };
    uint64_t n = 0;
    while (n < 100000 && parse_fails(n, &source))
        n++;
    assert_true(n > 0 && n < 100000);
}

int main(void)
{
    static struct CMUnitTest
        tests[ARRAY_LEN(error_cases) + ARRAY_LEN(depth_cases) + ARRAY_LEN(linear_cases) + 1];
    size_t count = 0;
    ADD_ROWS(error_cases, test_error);
    ADD_ROWS(depth_cases, test_depth);
    ADD_ROWS(linear_cases, test_linear);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_memory);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
