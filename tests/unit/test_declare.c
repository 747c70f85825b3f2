/* SPDX-License-Identifier: MIT */
/*
 * Declarations: a program, and the first finding about it (code, line, column) or none. Modules
 * other than the program itself come from the table below.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lang/lang.h"

static const struct library_module {
    const char *path, *text;
} library[] = {
    { "lib.a", "module lib.a\n"
               "pub fn open<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return x }\n"
               "fn hidden(x: f32) -> f32 { return x }\n"
               "pub const WIDTH = 8\n"
               "pub struct Pair<N: Dim> {\n    lo: Tensor[N; f32]\n}\n"
               "pub enum Kind { One, Two }\n"
               "pub block Even<N: Dim> where N % 2 == 0 { param w: Tensor[N; f32] }\n" },
    { "lib.again",
      "module lib.again\nuse lib.a::{open}\n"
      "pub fn twice<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return open(x) }\n" },
    { "lib.ring",
      "module lib.ring\nuse lib.ring.two::{f}\npub fn g(x: f32) -> f32 { return x }\n" },
    { "lib.ring.two", "module lib.ring.two\nuse lib.ring\npub fn f(x: f32) -> f32 { return x }\n" },
    { "lib.faulty", "module lib.faulty\npub fn f(x: Missing) -> f32 { return 0.0 }\n" },
};

static lin_load_result load(void *user, const lin_load_request *request, lin_loaded *out,
                            linnet_error *err)
{
    (void)user;
    if (strcmp(request->module, "lib.package") == 0) {
        (void)snprintf(out->message, sizeof(out->message), "`language` must be \"0.1\"");
        return LIN_LOAD_PACKAGE;
    }
    if (strcmp(request->module, "lib.stop") == 0) {
        lin_fail(err, LINNET_ERROR_CANCELLED, "stopped");
        return LIN_LOAD_STOP;
    }
    for (size_t i = 0; i < ARRAY_LEN(library); i++) {
        if (strcmp(request->module, library[i].path) != 0)
            continue;
        out->name = library[i].path;
        out->package = "lib";
        out->text = library[i].text;
        out->length = strlen(library[i].text);
        return LIN_LOAD_OK;
    }
    return LIN_LOAD_MISSING;
}

static const struct declare_case {
    const char *name, *text, *code;
    uint32_t line, column;
} cases[] = {
    /* modules and imports */
    { "an import of an item",
      "module t\nuse lib.a::{open}\nfn f(x: Tensor[3; f32]) -> "
      "Tensor[3; f32] { return open(x) }\n",
      NULL, 0, 0 },
    { "an import of a module",
      "module t\nuse lib.a\nfn f(x: Tensor[a.WIDTH; f32]) -> Tensor[8; "
      "f32] { return a.open(x) }\n",
      NULL, 0, 0 },
    { "two paths to one module",
      "module t\nuse lib.a::{open}\nuse lib.again::{twice}\nfn "
      "f(x: Tensor[3; f32]) -> Tensor[3; f32] { return "
      "twice(open(x)) }\n",
      NULL, 0, 0 },
    { "an import under another name",
      "module t\nuse lib.a::{WIDTH as W}\nfn f(x: Tensor[W; f32]) "
      "-> Tensor[8; f32] { return x }\n",
      NULL, 0, 0 },
    { "a module that is missing", "module t\nuse lib.b::{x}\n", "E1202", 2, 5 },
    { "an item the module lacks", "module t\nuse lib.a::{opne}\n", "E1201", 2, 13 },
    { "a private item", "module t\nuse lib.a::{open, hidden}\n", "E1203", 2, 19 },
    { "no import of an import", "module t\nuse lib.again::{open}\n", "E1201", 2, 17 },
    { "a circle of imports", "module t\nuse lib.ring::{g}\n", "E1206", 2, 5 },
    { "a package that is wrong", "module t\nuse lib.package::{x}\n", "E5001", 2, 5 },
    { "a fault in an imported module", "module t\nuse lib.faulty\n", "E1201", 2, 13 },
    { "an import of a taken name",
      "module t\nuse lib.a::{open}\nfn open(x: f32) -> f32 { return "
      "x }\n",
      "E1204", 2, 13 },
    { "an import as a prelude name", "module t\nuse lib.a::{open as exp}\n", "E1207", 2, 21 },
    { "a private item of a module",
      "module t\nuse lib.a\nfn f(x: a.hidden) -> f32 { return "
      "0.0 }\n",
      "E1203", 3, 11 },
    { "a type of a module",
      "module t\nuse lib.a\nfn f<N: Dim>(p: a.Pair<N>) -> a.Pair<N> { "
      "return p }\n",
      NULL, 0, 0 },

    /* names */
    { "two items of one name", "module t\nconst A = 1\nfn A(x: f32) -> f32 { return x }\n", "E1204",
      3, 4 },
    { "two methods of one name",
      "module t\nblock B {\n    fn f(x: f32) -> f32 { return x }\n    "
      "fn f(x: f32) -> f32 { return x }\n}\n",
      "E1204", 4, 8 },
    { "two parameters of one name", "module t\nfn f(x: f32, x: f32) -> f32 { return x }\n", "E1205",
      2, 14 },
    { "two generics of one name", "module t\nfn f<N: Dim, N: Dim>(x: f32) -> f32 { return x }\n",
      "E1205", 2, 14 },
    { "two fields of one name", "module t\nstruct S {\n    a: f32\n    a: f32\n}\n", "E1205", 4,
      5 },
    { "two variants of one name", "module t\nenum E { A, B, A }\n", "E1205", 2, 16 },
    { "two members of one name",
      "module t\nblock B<N: Dim> {\n    param w: Tensor[N; f32]\n    "
      "buffer w: Tensor[N; f32]\n}\n",
      "E1205", 4, 12 },
    { "a member and a method of one name",
      "module t\nblock B<N: Dim> {\n    param w: Tensor[N; "
      "f32]\n    fn w(x: f32) -> f32 { return x }\n}\n",
      "E1205", 3, 11 },
    { "a prelude name as an item", "module t\nconst exp = 1\n", "E1207", 2, 7 },
    { "a prelude name as a generic", "module t\nfn f<max: Dim>(x: f32) -> f32 { return x }\n",
      "E1207", 2, 6 },
    { "a prelude name as a parameter", "module t\nfn f(cast: f32) -> f32 { return 0.0 }\n", "E1207",
      2, 6 },
    { "a prelude name as a member", "module t\nblock B<N: Dim> { param log: Tensor[N; f32] }\n",
      "E1207", 2, 25 },
    { "a dtype as an item", "module t\nenum f32 { A }\n", "E1207", 2, 6 },
    { "a constraint as an item", "module t\nstruct Shape {\n    a: f32\n}\n", "E1207", 2, 8 },
    { "a type nobody declared", "module t\nfn f(x: Tensr) -> f32 { return 0.0 }\n", "E1201", 2, 9 },
    { "a dimension nobody declared", "module t\nfn f(x: Tensor[M; f32]) -> f32 { return 0.0 }\n",
      "E1201", 2, 16 },
    { "a pack nobody declared", "module t\nfn f(x: Tensor[*S; f32]) -> f32 { return 0.0 }\n",
      "E1201", 2, 17 },
    { "a constant as a type", "module t\nconst A = 1\nfn f(x: A) -> f32 { return 0.0 }\n", "E1208",
      3, 9 },
    { "a dimension as a type", "module t\nfn f<N: Dim>(x: N) -> f32 { return 0.0 }\n", "E1208", 2,
      17 },
    { "a function as a dimension",
      "module t\nfn g(x: f32) -> f32 { return x }\nfn f(x: "
      "Tensor[g; f32]) -> f32 { return 0.0 }\n",
      "E1208", 3, 16 },
    { "a dimension as a pack",
      "module t\nfn f<N: Dim>(x: Tensor[*N; f32]) -> f32 { return 0.0 "
      "}\n",
      "E1208", 2, 25 },
    { "a pack as a dimension",
      "module t\nfn f<*S: Shape>(x: Tensor[S; f32]) -> f32 { return 0.0 "
      "}\n",
      "E1208", 2, 27 },
    { "a block as a parameter",
      "module t\nblock B<N: Dim> { param w: Tensor[N; f32] }\nfn f(x: "
      "B<3>) -> f32 { return 0.0 }\n",
      "E1208", 3, 9 },
    { "items before their declaration",
      "module t\nfn f(x: A) -> A { return x }\ntype A = "
      "Tensor[B; f32]\nconst B = 2 * C\nconst C = 4\n",
      NULL, 0, 0 },

    /* generics */
    { "a shape without its star", "module t\nfn f<S: Shape>(x: f32) -> f32 { return x }\n", "E1101",
      2, 6 },
    { "a star on a dimension", "module t\nfn f<*N: Dim>(x: f32) -> f32 { return x }\n", "E1101", 2,
      7 },
    { "defaults",
      "module t\nstruct S<N: Dim = 4, M: Dim = N * 2, T: Float = bf16> {\n    a: "
      "Tensor[N, M; T]\n}\nfn f(x: S) -> S<4, 8, bf16> { return x }\n",
      NULL, 0, 0 },
    { "a default outside its class", "module t\nstruct S<T: Float = i32> {\n    a: T\n}\n", "E2112",
      2, 21 },
    { "a default of another kind", "module t\nstruct S<N: Dim = f32> {\n    a: f32\n}\n", "E2111",
      2, 19 },
    { "a default does not see what follows",
      "module t\nstruct S<N: Dim = M, M: Dim = 2> {\n    a: "
      "f32\n}\n",
      "E1201", 2, 19 },
    { "too many arguments",
      "module t\nstruct S<N: Dim> {\n    a: Tensor[N; f32]\n}\nfn f(x: S<2, "
      "3>) -> f32 { return 0.0 }\n",
      "E2111", 5, 14 },
    { "a dtype for a dimension",
      "module t\nstruct S<N: Dim> {\n    a: Tensor[N; f32]\n}\nfn f(x: "
      "S<f32>) -> f32 { return 0.0 }\n",
      "E2111", 5, 11 },
    { "a dimension for a dtype",
      "module t\nstruct S<T: Float> {\n    a: T\n}\nfn f<N: Dim>(x: "
      "S<N>) -> f32 { return 0.0 }\n",
      "E2111", 5, 19 },
    { "a dimension for a shape",
      "module t\ntype A<*S: Shape> = Tensor[*S, 2; f32]\nfn f(x: A<4>) "
      "-> f32 { return 0.0 }\n",
      "E2111", 3, 11 },
    { "a shape literal and a pack as arguments",
      "module t\ntype A<*S: Shape> = Tensor[*S, 2; "
      "f32]\nfn f<*R: Shape>(x: A<[3, 4]>, y: A<R>) -> "
      "Tensor[3, 4, 2; f32] { return x }\n",
      NULL, 0, 0 },
    { "an argument outside its class",
      "module t\nstruct S<T: Float> {\n    a: T\n}\nfn f(x: "
      "S<i32>) -> f32 { return 0.0 }\n",
      "E2112", 5, 11 },
    { "a generic outside the class",
      "module t\nstruct S<T: Float> {\n    a: T\n}\nfn f<U: "
      "Numeric>(x: S<U>) -> f32 { return 0.0 }\n",
      "E2112", 5, 23 },
    { "a class inside a wider one",
      "module t\nstruct S<T: Numeric> {\n    a: T\n}\nfn f<U: "
      "Integer>(x: S<U>) -> S<U> { return x }\n",
      NULL, 0, 0 },
    { "an argument that is missing",
      "module t\nstruct S<N: Dim, M: Dim> {\n    a: Tensor[N, M; "
      "f32]\n}\nfn f(x: S<2>) -> f32 { return 0.0 }\n",
      "E2110", 5, 9 },
    { "a sub without its generics", "module t\nuse lib.a::{Even}\nblock B { sub e: Even }\n",
      "E2110", 3, 18 },

    /* dimensions */
    { "every operator",
      "module t\nconst P = 3\nfn f<N: Dim, M: Dim>(x: Tensor[(N + 2) * M - P, N "
      "/ M, N % 2, min(N, 4), max(M, P); f32]) -> f32\nwhere M > 0, N > 2 { "
      "return 0.0 }\n",
      NULL, 0, 0 },
    { "a divisor that may be zero",
      "module t\nfn f<N: Dim, M: Dim>(x: Tensor[N / M; f32]) -> f32 "
      "{ return 0.0 }\n",
      "E2205", 2, 32 },
    { "a remainder by zero",
      "module t\nfn f<N: Dim>(x: Tensor[N % 0; f32]) -> f32 { return 0.0 "
      "}\n",
      "E2205", 2, 24 },
    { "a dimension below zero", "module t\nfn f(x: Tensor[2 - 3; f32]) -> f32 { return 0.0 }\n",
      "E2208", 2, 16 },
    { "a runtime value as a dimension",
      "module t\nfn f(n: i32, x: Tensor[n; f32]) -> f32 { return "
      "0.0 }\n",
      "E2123", 2, 24 },
    { "a constant whose value does not parse is reported once",
      "module t\nconst N = (1 + )\nfn f(x: Tensor[N; f32]) -> f32 { return 0.0 }\n", "E1101", 2,
      16 },
    { "a typed constant as a dimension",
      "module t\nconst N: i32 = 4\nfn f(x: Tensor[N; f32]) -> "
      "f32 { return 0.0 }\n",
      "E2123", 3, 16 },
    { "a float as a dimension", "module t\nfn f(x: Tensor[1.5; f32]) -> f32 { return 0.0 }\n",
      "E2123", 2, 16 },
    { "a dimension past 64 bits",
      "module t\nfn f(x: Tensor[9223372036854775807 * 2; f32]) -> f32 "
      "{ return 0.0 }\n",
      "E2123", 2, 16 },
    { "a literal past 64 bits",
      "module t\nfn f(x: Tensor[9223372036854775808; f32]) -> f32 { "
      "return 0.0 }\n",
      "E2105", 2, 16 },
    { "a tensor of tensors",
      "module t\ntype T = Tensor[2; f32]\nfn f(x: Tensor[3; T]) -> f32 { "
      "return 0.0 }\n",
      "E2101", 3, 19 },

    /* constants, circles */
    { "constants",
      "module t\nconst A = 2 * (3 + B)\nconst B = 5 & 3\nconst C: f32 = 10000.0\n"
      "const D: f16 = 2\nconst E: bool = true\nconst F = -1\nfn f(x: Tensor[A + F + 1;"
      " f32]) -> Tensor[8; f32] { return x }\n",
      NULL, 0, 0 },
    { "a constant of an enum", "module t\nenum E { A, B }\nconst K: E = E.B\nconst L = E.A\n", NULL,
      0, 0 },
    { "a variant that is not there", "module t\nenum E { A, B }\nconst K: E = E.C\n", "E2107", 3,
      16 },
    { "a constant of itself", "module t\nconst A = B\nconst B = A + 1\n", "E2122", 3, 11 },
    { "a typed constant of itself", "module t\nconst A: f32 = A * 2.0\n", "E2122", 2, 16 },
    { "an alias of itself", "module t\ntype A = (f32, B)\ntype B = (f32, A)\n", "E2122", 3, 16 },
    { "a struct in itself", "module t\nstruct S {\n    next: S?\n}\n", "E2122", 3, 11 },
    { "a block in itself", "module t\nblock A { sub b: B }\nblock B { sub a: A }\n", "E2122", 3,
      18 },
    { "a constant of another type", "module t\nconst A: f32 = true\n", "E2101", 2, 16 },
    { "a float for an integer", "module t\nconst A: i32 = 1.5\n", "E2101", 2, 16 },
    { "an integer that does not fit", "module t\nconst A: i8 = 128\n", "E2105", 2, 15 },
    { "the smallest that fits", "module t\nconst A: i8 = -128\n", NULL, 0, 0 },
    { "a float that does not fit", "module t\nconst A: f16 = 70000.0\n", "E2105", 2, 16 },
    { "a tensor constant", "module t\nconst A: Tensor[2; f32] = 1.0\n", "E2101", 2, 10 },

    /* where */
    { "a fact proves the next",
      "module t\nfn f<N: Dim, H: Dim>(x: Tensor[N / H; f32]) -> f32\n"
      "where H > 0, N % H == 0 { return 0.0 }\n",
      NULL, 0, 0 },
    { "a where item that is no comparison",
      "module t\nfn f<N: Dim>(x: Tensor[N; f32]) -> f32 "
      "where N { return 0.0 }\n",
      "E1101", 2, 46 },
    { "a where item in parentheses",
      "module t\nfn f<N: Dim>(x: Tensor[N; f32]) -> f32 where (N > "
      "0) { return 0.0 }\n",
      "E1101", 2, 46 },
    { "a where of a runtime value", "module t\nfn f(n: i32) -> f32 where n > 0 { return 0.0 }\n",
      "E2123", 2, 27 },
    { "a sub whose where holds",
      "module t\nuse lib.a::{Even}\nblock B<N: Dim> where N % 2 == 0 { "
      "sub e: Even<N> }\nblock C { sub e: Even<6> }\n",
      NULL, 0, 0 },
    { "a sub whose where is not provable",
      "module t\nuse lib.a::{Even}\nblock B<N: Dim> { sub e: "
      "Even<N> }\n",
      "E2206", 3, 26 },
    { "a sub whose where is false",
      "module t\nuse lib.a::{Even}\nblock B { sub e: [Even<3>; 2] "
      "}\n",
      "E2206", 3, 18 },

    /* members */
    { "every member",
      "module t\nuse lib.a::{Even}\nblock B<N: Dim, T: Float> {\n    param w: "
      "Tensor[N; T]\n    param b: Tensor[N; T]? = none\n    buffer c: Tensor[N; "
      "i32]\n    state s: Tensor[N; f32]\n    sub e: Even<2>\n    sub f: Even<2>? = "
      "none\n    sub g: [Even<4>; N]\n}\n",
      NULL, 0, 0 },
    { "a scalar param", "module t\nblock B { param w: f32 }\n", "E4101", 2, 20 },
    { "a param of a block", "module t\nuse lib.a::{Even}\nblock B { param w: Even<2> }\n", "E4101",
      3, 20 },
    { "an optional buffer", "module t\nblock B { buffer w: Tensor[2; f32]? }\n", "E4101", 2, 21 },
    { "an optional state", "module t\nblock B { state w: Tensor[2; f32]? }\n", "E4101", 2, 20 },
    { "a tensor as a sub", "module t\nblock B { sub w: Tensor[2; f32] }\n", "E4101", 2, 18 },
    { "an array of optional blocks",
      "module t\nuse lib.a::{Even}\nblock B { sub w: [Even<2>?; 2] "
      "}\n",
      "E4101", 3, 18 },
    { "an optional param without none", "module t\nblock B { param w: Tensor[2; f32]? }\n", "E4101",
      2, 20 },
    { "none for what is not optional", "module t\nblock B { param w: Tensor[2; f32] = none }\n",
      "E4101", 2, 20 },
    { "a param with a value",
      "module t\nblock B { param w: Tensor[2; f32] = fill<f32>([2], 0.0) "
      "}\n",
      "E4102", 2, 37 },
    { "a sub with a value", "module t\nuse lib.a::{Even}\nblock B { sub w: Even<2> = 3 }\n",
      "E4102", 3, 28 },

    /* grad */
    { "a grad clause",
      "module t\npub op f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return x "
      "} grad(y, dy) { return dy }\n",
      NULL, 0, 0 },
    { "grad on a fn",
      "module t\nfn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return x } "
      "grad(y, dy) { return dy }\n",
      "E2190", 2, 64 },
    { "grad with nothing to differentiate",
      "module t\nop f<N: Dim>(x: Tensor[N; i32]) -> "
      "Tensor[N; i32] { return x } grad(y, dy) { return dy "
      "}\n",
      "E2190", 2, 64 },

    /* calls */
    { "recursion", "module t\nfn f(x: f32) -> f32 { return f(x) }\n", "E2119", 2, 30 },
    { "recursion through a method",
      "module t\nblock B {\n    fn f(x: f32) -> f32 { return g(x) "
      "}\n    fn g(x: f32) -> f32 { return f(x) }\n}\n",
      "E2119", 4, 34 },
};

static linnet_status check(const char *text, lin_diagnostics *diagnostics, linnet_error *err)
{
    const lin_lang_file file = { "t.linnet", "", text, strlen(text) };
    const lin_loader loader = { load, NULL };
    lin_program *program = NULL;
    linnet_status status =
        lin_lang_check(&file, &loader, NULL, &lin_default_allocator, diagnostics, &program, err);
    assert_true((status == LINNET_OK) == (program != NULL));
    lin_program_free(program);
    return status;
}

static void test_declare(void **state)
{
    const struct declare_case *row = *state;
    linnet_error err = { 0 };
    linnet_status status = check(row->text, NULL, &err);
    if (row->code == NULL && status != LINNET_OK)
        fail_msg("%s at %u:%u: %s", err.diagnostic, err.line, err.column, err.message);
    if (row->code == NULL)
        return;
    assert_int_equal(status, LINNET_ERROR_SOURCE);
    assert_string_equal(err.diagnostic, row->code);
    assert_int_equal(err.line, row->line);
    assert_int_equal(err.column, row->column);
}

/* ---- limits and the loader ---- */

static void test_loader_stops(void **state)
{
    (void)state;
    linnet_error err = { 0 };
    assert_int_equal(check("module t\nuse lib.stop\n", NULL, &err), LINNET_ERROR_CANCELLED);
    assert_string_equal(err.message, "stopped");
}

static void test_no_loader(void **state)
{
    (void)state;
    const char *text = "module t\nuse std.x::{y}\n";
    const lin_lang_file file = { "t", "", text, strlen(text) };
    lin_program *program = NULL;
    linnet_error err = { 0 };
    assert_int_equal(
        lin_lang_check(&file, NULL, NULL, &lin_default_allocator, NULL, &program, &err),
        LINNET_ERROR_SOURCE);
    assert_string_equal(err.diagnostic, "E1202");
}

static void test_limits(void **state)
{
    (void)state;
    const char *text = "module t\nuse lib.a::{open}\n";
    const lin_lang_file file = { "t", "", text, strlen(text) };
    const lin_loader loader = { load, NULL };
    lin_lang_limits limits = lin_lang_default_limits;
    lin_program *program = NULL;
    linnet_error err = { 0 };
    limits.modules = 1;
    assert_int_equal(
        lin_lang_check(&file, &loader, &limits, &lin_default_allocator, NULL, &program, &err),
        LINNET_ERROR_SOURCE);
    assert_string_equal(err.diagnostic, "E1202");
    limits.source_bytes = 10;
    assert_int_equal(
        lin_lang_check(&file, &loader, &limits, &lin_default_allocator, NULL, &program, &err),
        LINNET_ERROR_FILE);
}

/* Aliases of aliases that double each time: refused, in time that does not double. */
static void test_type_size(void **state)
{
    (void)state;
    char text[4096] = "module t\ntype A0<N: Dim> = Tensor[N; f32]\n";
    for (int i = 1; i < 60; i++) {
        size_t length = strlen(text);
        (void)snprintf(text + length, sizeof(text) - length,
                       "type A%d<N: Dim> = (A%d<N>, A%d<N>)\n", i, i - 1, i - 1);
    }
    linnet_error err = { 0 };
    assert_int_equal(check(text, NULL, &err), LINNET_ERROR_SOURCE);
    assert_string_equal(err.diagnostic, "E1101");
}

/* A chain of declarations, each in terms of the next: the C stack stays bounded. */
static void test_chain(void **state)
{
    (void)state;
    static char text[400000];
    size_t length = (size_t)snprintf(text, sizeof(text), "module t\n");
    for (int i = 0; i < 10000; i++)
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "const A%d = A%d\n", i, i + 1);
    (void)snprintf(text + length, sizeof(text) - length, "const A10000 = 1\n");
    linnet_error err = { 0 };
    assert_int_equal(check(text, NULL, &err), LINNET_ERROR_SOURCE);
    assert_string_equal(err.diagnostic, "E1101");
}

static bool has_code(const lin_diagnostics *diagnostics, const char *code, uint32_t line)
{
    for (uint32_t i = 0; i < diagnostics->list.count; i++)
        if (strcmp(diagnostics->list.items[i]->code, code) == 0 &&
            diagnostics->list.items[i]->places[0].start_line == line)
            return true;
    return false;
}

static void test_warnings(void **state)
{
    (void)state;
    lin_diagnostics found;
    linnet_error err = { 0 };
    lin_diagnostics_init(&found, &lin_default_allocator, 100);
    assert_int_equal(
        check("module t\nuse lib.a::{open, WIDTH}\nuse lib.again\nblock B {\n    param "
              "w: Tensor[WIDTH; f32]\n    param u: Tensor[2; f32]\n    pub entry "
              "go(x: Tensor[8; f32]) -> Tensor[8; f32] { return x + w }\n}\n",
              &found, &err),
        LINNET_OK);
    assert_true(has_code(&found, "W1001", 2));
    assert_true(has_code(&found, "W1001", 3));
    assert_true(has_code(&found, "W1003", 6));
    assert_int_equal(found.warning_count, 3);
    lin_diagnostics_free(&found);
}

static void test_no_warnings_with_errors(void **state)
{
    (void)state;
    lin_diagnostics found;
    linnet_error err = { 0 };
    lin_diagnostics_init(&found, &lin_default_allocator, 100);
    assert_int_equal(check("module t\nuse lib.a::{open}\nconst A: f32 = true\n", &found, &err),
                     LINNET_ERROR_SOURCE);
    assert_int_equal(found.warning_count, 0);
    assert_int_equal(found.list.count, 1);
    lin_diagnostics_free(&found);
}

/* ---- every allocation fails once ---- */

typedef struct failing {
    uint32_t number, at; /* of this request, and of the one that fails */
    bool all_after;
    int64_t balance;
} failing;

static void *failing_alloc(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    failing *f = user;
    if (new_size > 0) {
        uint32_t number = f->number++;
        if (number == f->at || (f->all_after && number > f->at))
            return NULL;
    }
    void *block = lin_default_allocator.fn(lin_default_allocator.user, ptr, old_size, new_size);
    f->balance += (ptr == NULL && block != NULL ? 1 : 0) - (new_size == 0 && ptr != NULL ? 1 : 0);
    return block;
}

/* Until nothing fails any more: no memory, and nothing kept. */
static void fail_each(const char *text, linnet_status wanted, bool all_after)
{
    const lin_lang_file file = { "t", "", text, strlen(text) };
    const lin_loader loader = { load, NULL };
    linnet_status status = LINNET_ERROR_NO_MEMORY;
    for (uint32_t n = 0; status != wanted; n++) {
        failing f = { .at = n, .all_after = all_after };
        const lin_allocator allocator = { failing_alloc, &f };
        lin_program *program = NULL;
        linnet_error err = { 0 };
        status = lin_lang_check(&file, &loader, NULL, &allocator, NULL, &program, &err);
        lin_program_free(program);
        assert_int_equal(f.balance, 0);
        assert_true(status == wanted || status == LINNET_ERROR_NO_MEMORY);
        if (status == wanted)
            assert_true(f.number <= n);
    }
}

static void test_out_of_memory(void **state)
{
    (void)state;
    const char *valid =
        "module t\nuse lib.again::{twice}\nblock B<N: Dim> where N > 0 {\n    param "
        "w: Tensor[N; f32]\n    pub entry go(x: Tensor[N; f32]) -> Tensor[N; f32] { "
        "return twice(x) + w }\n}\n";
    const char *invalid = "module t\nuse lib.again::{twice}\nfn f(x: Tensr) -> f32 { return y }\n";
    fail_each(valid, LINNET_OK, false);
    fail_each(valid, LINNET_OK, true);
    fail_each(invalid, LINNET_ERROR_SOURCE, false);
    fail_each(invalid, LINNET_ERROR_SOURCE, true);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_LEN(cases) + 16] = { 0 };
    size_t count = 0;
    for (; count < ARRAY_LEN(cases); count++)
        tests[count] = (struct CMUnitTest){ .name = cases[count].name,
                                            .test_func = test_declare,
                                            .initial_state = (void *)(uintptr_t)&cases[count] };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(test_loader_stops),
        cmocka_unit_test(test_no_loader),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_type_size),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_no_warnings_with_errors),
        cmocka_unit_test(test_out_of_memory),
    };
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        tests[count++] = others[i];
    return _cmocka_run_group_tests("declare", tests, count, NULL, NULL);
}
