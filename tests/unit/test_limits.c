/* SPDX-License-Identifier: MIT */

/*
 * Short programs that would cost much more than their length: lists that every use of a declaration
 * walks have an end, and proofs give up. Each row grows a program from its parts; without the
 * limits the larger ones run for minutes or take gigabytes, so the test's time is the check.
 */

#include "lang/lang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct part {
    const char *item; /* %u: its number from 1 on */
    uint32_t count;
} part;

static const struct grown_case {
    const char *name;
    part parts[6];          /* one after the other, each so often */
    const char *diagnostic; /* "": accepted */
} cases[] = {
    /* clang-format off */
    { "256 generics", { {"fn f<", 1}, {"A%u: Dim, ", 256}, {">(x: f32) -> f32 { return x }", 1} }, "" },
    { "257 generics", { {"fn f<", 1}, {"A%u: Dim, ", 257}, {">(x: f32) -> f32 { return x }", 1} }, "E1101" },
    { "256 parameters", { {"fn f(", 1}, {"a%u: f32 = 1.0, ", 256}, {") -> f32 { return 1.0 }", 1} }, "" },
    { "257 parameters", { {"fn f(", 1}, {"a%u: f32 = 1.0, ", 257}, {") -> f32 { return 1.0 }", 1} }, "E1101" },
    { "128 comparisons", { {"fn f<N: Dim>(x: Tensor[N; f32]) -> f32 where N > 0", 1}, {", N != %u", 127}, {" { return 1.0 }", 1} }, "" },
    { "129 comparisons", { {"fn f<N: Dim>(x: Tensor[N; f32]) -> f32 where N > 0", 1}, {", N != %u", 128}, {" { return 1.0 }", 1} }, "E1101" },
    { "129 comparisons of a block", { {"block B<N: Dim> where N > 0", 1}, {", N != %u", 128}, {" { param w: Tensor[N; f32] }", 1} }, "E1101" },
    { "many defaults in many calls", { {"fn g(", 1}, {"a%u: f32 = 1.0, ", 250}, {") -> f32 { return 1.0 }\nfn f() -> f32 {", 1}, {" let _u%u = g()", 5000}, {" return 1.0 }", 1} }, "E2190" },
    { "many keywords that are unknown", { {"fn g(", 1}, {"a%u: f32 = 1.0, ", 250}, {") -> f32 { return 1.0 }\nfn f() -> f32 { return g(", 1}, {"b%u = 1.0, ", 30000}, {") }", 1} }, "E2102" },
    { "many comparisons in many methods", { {"block B<N: Dim> where N > 0", 1}, {", N * %u < 9 * N * N", 127}, {" {\n", 1}, {"fn f%ux(x: f32) -> f32 { return x }\n", 5000}, {"}", 1} }, "" },
    { "many comparisons at many calls", { {"fn g<N: Dim>(x: Tensor[N; f32]) -> f32 where N > 0", 1}, {", N > %u", 127}, {" { return 1.0 }\nfn f<N: Dim>(x: Tensor[N; f32]) -> f32 where N > 500 {", 1}, {" let _u%u = g(x)", 5000}, {" return 1.0 }", 1} }, "" },
    { "a sum of choices that cannot be proven", { {"fn g<N: Dim>(x: Tensor[N; f32]) -> f32 where N > 100 { return 1.0 }\nfn f<A: Dim, B: Dim>(x: f32) -> f32 { return g(fill<f32>([0", 1}, {" + min(max(A * %u, B / 3), (A + B) %% 5)", 90}, {" - A * B / 7], x)) }", 1} }, "E2206" },
    /* clang-format on */
};

static lin_load_result nothing(void *user, const lin_load_request *request, lin_loaded *out,
                               linnet_error *err)
{
    (void)user;
    (void)request;
    (void)out;
    (void)err;
    return LIN_LOAD_MISSING;
}

static void test_grown(void **state)
{
    const struct grown_case *c = *state;
    static char text[1 << 20];
    size_t length = (size_t)snprintf(text, sizeof text, "module t\n");
    for (const part *p = c->parts; p->item != NULL; p++)
        for (uint32_t i = 1; i <= p->count; i++)
            length += (size_t)snprintf(text + length, sizeof text - length, p->item, i);
    const lin_lang_file file = { "t.linnet", "", text, length };
    const lin_loader loader = { nothing, NULL };
    lin_program *program = NULL;
    linnet_error err = { 0 };
    linnet_status status =
        lin_lang_check(&file, &loader, NULL, &lin_default_allocator, NULL, &program, &err);
    if (strcmp(err.diagnostic, c->diagnostic) != 0)
        fail_msg("%s: %s", err.diagnostic, err.message);
    assert_int_equal(status, c->diagnostic[0] == '\0' ? LINNET_OK : LINNET_ERROR_SOURCE);
    lin_program_free(program);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_LEN(cases)];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        tests[i] = (struct CMUnitTest){ .name = cases[i].name,
                                        .test_func = test_grown,
                                        .initial_state = (void *)(uintptr_t)&cases[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
