/* SPDX-License-Identifier: MIT */

/* The simplifications of language.md 16, each on the function `f` of a small program. A row's
 * expectation is what is left: operation names, regions in parentheses. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "source/source.h"

#define HEAD "module t.s\n"
#define VECTOR "(x: Tensor[N; f32]) -> Tensor[N; f32]"

static const struct simplify_case {
    const char *name, *text, *expect;
} simplify_cases[] = {
    /* 1: the result type is the operand's */
    { "a reshape to the same shape goes",
      HEAD "fn f<N: Dim>" VECTOR " { return exp(reshape(x, [N])) }", "exp" },
    { "a reshape to another form of the same expression goes",
      HEAD "fn f<N: Dim>(x: Tensor[2 * N; f32]) -> Tensor[2 * N; f32] {\n"
           "return exp(reshape(x, [N + N])) }",
      "exp" },
    { "a reshape to another shape stays",
      HEAD "fn f<N: Dim>(x: Tensor[2 * N; f32]) -> Tensor[2, N; f32] { return reshape(x, [2, N]) }",
      "reshape" },
    { "a broadcast to the same shape goes",
      HEAD "fn f<N: Dim>" VECTOR " { return exp(broadcast_to(x, [N])) }", "exp" },
    { "a cast to the same dtype goes", HEAD "fn f<N: Dim>" VECTOR " { return exp(cast<f32>(x)) }",
      "exp" },
    { "a cast to the same generic goes",
      HEAD "fn f<N: Dim, T: Float>(x: Tensor[N; T]) -> Tensor[N; T] { return exp(cast<T>(x)) }",
      "exp" },
    { "a cast to another generic stays",
      HEAD "fn f<N: Dim, T: Float, U: Float>(x: Tensor[N; T]) -> Tensor[N; U] {\n"
           "return cast<U>(x) }",
      "cast" },
    { "a slice of the whole stays", HEAD "fn f<N: Dim>" VECTOR " { return x[:] }", "slice" },

    /* 2: permutes */
    { "an identity permute goes",
      HEAD "fn f<N: Dim>(x: Tensor[N, 2; f32]) -> Tensor[N, 2; f32] {\n"
           "return exp(permute(x, [0, 1])) }",
      "exp" },
    { "two permutes are one",
      HEAD "fn f<N: Dim>(x: Tensor[N, 2, 3; f32]) -> Tensor[3, N, 2; f32] {\n"
           "return permute(permute(x, [1, 2, 0]), [1, 2, 0]) }",
      "permute" },
    { "two permutes that undo each other go",
      HEAD "fn f<N: Dim>(x: Tensor[N, 2; f32]) -> Tensor[N, 2; f32] {\n"
           "return exp(permute(permute(x, [1, 0]), [1, 0])) }",
      "exp" },
    { "three are followed to the end",
      HEAD "fn f<N: Dim>(x: Tensor[N, N, N; f32]) -> Tensor[N, N, N; f32] {\n"
           "return exp(permute(permute(permute(x, [1, 2, 0]), [1, 2, 0]), [1, 2, 0])) }",
      "exp" },
    { "an inner permute that is used stays",
      HEAD "fn f<N: Dim>(x: Tensor[N, N; f32]) -> Tensor[N, N; f32] {\n"
           "let t = permute(x, [1, 0])\n return t + permute(t, [1, 0]) }",
      "permute add" },

    /* 3: double negation */
    { "a double negation goes", HEAD "fn f<N: Dim>" VECTOR " { return exp(-(-x)) }", "exp" },
    { "a triple one leaves one", HEAD "fn f<N: Dim>" VECTOR " { return -(-(-x)) }", "neg" },
    { "a double not goes",
      HEAD "fn f(c: bool, k: i32) -> i32 { return if !(!c) { k } else { -k } }", "if (neg)" },

    /* 4: integer constants */
    { "sums and products of integers fold",
      HEAD "fn f<N: Dim>(x: Tensor[N; i32]) -> Tensor[N; i32] {\n"
           "let a: i32 = 3\n let b: i32 = 4\n return x + (a * b - a) }",
      "const.int add" },
    { "one that leaves its dtype stays",
      HEAD "fn f<N: Dim>(x: Tensor[N; i8]) -> Tensor[N; i8] {\n"
           "let a: i8 = 100\n let b: i8 = 90\n return x + (a + b) }",
      "const.int const.int add add" },
    { "floats stay",
      HEAD "fn f<N: Dim>" VECTOR " { let a: f32 = 3.5\n let b: f32 = 4.5\n return x + (a + b) }",
      "const.float const.float add add" },

    /* 5: common subexpressions */
    { "equal operations are one", HEAD "fn f<N: Dim>" VECTOR " { return exp(x) + exp(x) }",
      "exp add" },
    { "chains of them too", HEAD "fn f<N: Dim>" VECTOR " { return exp(sin(x)) * exp(sin(x)) }",
      "sin exp mul" },
    { "another operand is another operation",
      HEAD "fn f<N: Dim>" VECTOR " { return exp(x) + exp(-x) }", "exp neg exp add" },
    { "another attribute is another operation",
      HEAD "fn f<N: Dim>(x: Tensor[N, 4; f32]) -> Tensor[N, 2; f32] {\n"
           "return x[:, 0:2] + x[:, 2:4] }",
      "slice slice add" },
    { "another comparison is another operation",
      HEAD "fn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; bool] { return (x < x) & (x <= x) }",
      "compare compare bitand" },
    { "another result type is another operation",
      HEAD "fn f<N: Dim>(x: Tensor[2 * N; f32]) -> Tensor[N; f32] {\n"
           "return reshape(x, [2, N])[0] + reshape(x, [N, 2])[:, 0] }",
      "reshape slice reshape slice add" },
    { "a call without effects is like any operation",
      HEAD "fn g<N: Dim>" VECTOR " { return exp(x) }\n"
           "fn f<N: Dim>" VECTOR " { return g(x) + g(x) }",
      "call add" },
    { "with other generics it is another",
      HEAD "fn g<N: Dim, T: Float>(x: Tensor[N; f32]) -> Tensor[N; T] { return cast<T>(x) }\n"
           "fn f<N: Dim>" VECTOR " { return cast<f32>(g<N, bf16>(x)) + cast<f32>(g<N, f16>(x)) }",
      "call cast call cast add" },
    { "operations with regions are never merged",
      HEAD "fn f<N: Dim>" VECTOR " { let a[i] = exp(x[i])\n let b[i] = exp(x[i])\n"
           "return a + b }",
      "comprehension (element exp) comprehension (element exp) add" },
    { "inside a region they are, within it",
      HEAD "fn f<N: Dim>" VECTOR " { let a[i] = x[i] * x[i] + exp(x[i])\n return a }",
      "comprehension (element mul exp add)" },
    { "not between a region and what is around it",
      HEAD "fn f<N: Dim>(x: Tensor[N; f32], c: bool) -> Tensor[N; f32] {\n"
           "let y = exp(x)\n let z = if c { exp(x) } else { x }\n return y + z }",
      "exp if (exp) add" },

    /* 6: dead code */
    { "what nobody uses goes", HEAD "fn f<N: Dim>" VECTOR " { let _ = exp(sin(x))\n return -x }",
      "neg" },
    { "a call that nobody uses goes",
      HEAD "fn g<N: Dim>" VECTOR " { return exp(x) }\n"
           "fn f<N: Dim>" VECTOR " { let _ = g(x)\n return -x }",
      "neg" },
    { "a loop that nobody uses goes",
      HEAD "fn f<N: Dim>" VECTOR " { var y = x\n static for i in 0..3 { y = exp(y) }\n"
           "return -x }",
      "neg" },
    { "inside regions too",
      HEAD "fn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
           "var y = x\n static for i in 0..3 { let _ = sin(y)\n y = exp(y) }\n return y }",
      "static_range (exp)" },
};

static void print_region(lin_text *out, const lin_region *region)
{
    for (uint32_t i = 0; i < region->op_count; i++) {
        const lin_op *op = region->ops[i];
        lin_text_addf(out, "%s%s", i > 0 ? " " : "", lin_op_name(op->kind));
        for (uint32_t k = 0; k < lin_op_region_count(op); k++) {
            if (lin_op_region(op, k)->op_count == 0)
                continue;
            lin_text_add(out, " (");
            print_region(out, lin_op_region(op, k));
            lin_text_add(out, ")");
        }
    }
}

static lin_source *parse(const char *text)
{
    const lin_source_settings settings = { .allocator = lin_default_allocator,
                                           .limits = lin_lang_default_limits,
                                           .file_bytes = 16 << 20 };
    lin_source *source = NULL;
    linnet_error err = { 0 };
    if (lin_source_parse(&settings, text, strlen(text), "s.linnet", NULL, &source, &err) !=
        LINNET_OK)
        fail_msg("line %u: %s", err.line, err.message);
    return source;
}

static void assert_ops(const lin_function *function, const char *expect)
{
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    print_region(&text, &function->body);
    assert_string_equal(lin_text_data(&text), expect);
    lin_text_free(&text);
}

static void test_simplify(void **state)
{
    const struct simplify_case *row = *state;
    lin_source *source = parse(row->text);
    const lin_module *module = source->program->modules[0];
    for (uint32_t i = 0; i < module->function_count; i++)
        if (strcmp(lin_names_text(source->program->names, module->functions[i]->name), "f") == 0)
            assert_ops(module->functions[i], row->expect);
    lin_source_free(source);
}

/* ---- state: the method `f` of the block `B` ---- */

#define BLOCK(body)                                                              \
    HEAD "block B<N: Dim> { state s: Tensor[N; f32]\n state t: Tensor[N; f32]\n" \
         "fn get() -> Tensor[N; f32] { return exp(s) }\n"                        \
         "fn put(x: Tensor[N; f32]) -> Tensor[N; f32] { s = x\n return x }\n"    \
         "fn f(x: Tensor[N; f32]) -> Tensor[N; f32] { " body " } }"

static const struct simplify_case state_cases[] = {
    { "two reads are one", BLOCK("return s + s"), "state.read add" },
    { "not across a write of that state", BLOCK("let a = s\n s = x\n return a + s"),
      "state.read state.write state.read add" },
    { "across a write of another they are", BLOCK("let a = s\n t = x\n return a + s"),
      "state.read state.write add" },
    { "not across a call that writes", BLOCK("let a = s\n let b = put(x)\n return a + s + b"),
      "state.read call state.read add add" },
    { "not across a branch that writes",
      BLOCK("let a = s\n var k: i32 = 0\n while k < 3 { t = x\n s = x\n k = k + 1 }\n"
            "return a + s"),
      "state.read const.int while (const.int compare) (state.write state.write const.int add) "
      "state.read add" },
    { "calls of a method that reads are one", BLOCK("return get() + get()"), "call add" },
    { "not across any write", BLOCK("let a = get()\n t = x\n return a + get()"),
      "call state.write call add" },
    { "a write stays although nobody reads", BLOCK("s = x\n return -x"), "state.write neg" },
    { "so does a call that writes", BLOCK("let _ = put(x)\n return -x"), "call neg" },
    { "calls that write are never merged", BLOCK("return put(x) + put(x)"), "call call add" },
    { "a loop that writes stays", BLOCK("static for i in 0..3 { s = s * 0.5 }\n return -x"),
      "static_range (state.read const.float mul state.write) neg" },
};

static void test_state(void **state)
{
    const struct simplify_case *row = *state;
    lin_source *source = parse(row->text);
    const lin_block *block = source->program->modules[0]->blocks[0];
    assert_ops(block->methods[2], row->expect);
    lin_source_free(source);
}

/* Many equal and many different constants: one probe each, and the different ones stay. */
static void test_many(void **state)
{
    (void)state;
    enum { LINES = 3000 };
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_text_add(&text, HEAD "fn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\nvar y = x\n");
    for (int i = 0; i < LINES; i++)
        lin_text_addf(&text, "y = y + %d.5\n", i / 2 + 10);
    lin_text_add(&text, "return y }");
    lin_source *source = parse(lin_text_data(&text));
    assert_int_equal(source->program->modules[0]->functions[0]->body.op_count, LINES + LINES / 2);
    lin_text_free(&text);
    lin_source_free(source);
}

#define ROWS(function, cases)                             \
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)         \
        tests[count++] = (struct CMUnitTest)              \
        {                                                 \
            .name = cases[i].name, .test_func = function, \
            .initial_state = (void *)(uintptr_t)&cases[i] \
        }

int main(void)
{
    struct CMUnitTest tests[80];
    size_t count = 0;
    ROWS(test_simplify, simplify_cases);
    ROWS(test_state, state_cases);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_many);
    return _cmocka_run_group_tests("simplify", tests, count, NULL, NULL);
}
