/* SPDX-License-Identifier: MIT */

/*
 * Bodies of functions: each row is one program. `@` stands before the first character of what is
 * wrong (it is taken out before the check); a program without it is accepted. Every code has rows
 * on both sides of its rule. All programs begin with their module declaration.
 */

#include "lang/lang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define M "module t\n"
/* x: Tensor[N; f32] comes in, the same goes out. */
#define F M "pub fn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { "
/* x, two axes, and a count */
#define G M "pub fn f<N: Dim, K: Dim>(x: Tensor[N, K; f32], n: i32) -> Tensor[N, K; f32] { "

typedef struct body_case {
    const char *name;
    const char *code; /* NULL: accepted */
    const char *text;
} body_case;

/* clang-format off */
static const body_case cases[] = {
    /* names */
    { "a local hides a parameter silently", NULL, F "let x = x + 1.0 return x }" },
    { "an undeclared name", "E1201", F "return x + @y }" },
    { "a name used before its let", "E1201", F "let a = @b let b = x return a }" },
    { "a local ends with its arm", "E1201",
      M "pub fn f(o: f32?) -> f32 { let a = match o { some(v) => v none => 0.0 } return a + @v }" },
    { "an unknown assignment target", "E1201", F "@y = x return x }" },
    { "a prelude name as a local", "E1207", F "let @exp = x return x }" },
    { "a reduction's name as a local", NULL, F "let sum = x + x return sum }" },
    { "a prelude name as an index", "E1207", F "let y[@log] = x[log] return y }" },
    { "a function as a value", "E1208", F "let g = @f return x }" },
    { "a dtype generic as a value", "E1208",
      M "pub fn f<T: Float>(x: Tensor[2; T]) -> Tensor[2; T] { return x * @T }" },
    { "a shape pack as a value", "E1208",
      M "pub fn f<*S: Shape>(x: Tensor[*S; f32]) -> Tensor[*S; f32] { return x * @S }" },
    { "a prelude function as a value", "E1208", F "return @exp }" },
    { "a block's type as a value", "E1208",
      M "block B<N: Dim> { param w: Tensor[N; f32] }\n"
        "pub fn f(x: f32) -> f32 { return x + @B }" },
    { "a public method of another module", NULL,
      M "use std.t.other::{Other}\npub block B { sub o: Other\n"
        "pub entry go(x: f32) -> f32 { return o.shown(x) } }" },
    { "a private method of another module", "E1203",
      M "use std.t.other::{Other}\npub block B { sub o: Other\n"
        "pub entry go(x: f32) -> f32 { return o.@hidden(x) } }" },
    { "a public function through its module", NULL,
      M "use std.t.other\npub fn f(x: f32) -> f32 { return other.twice(x) }" },
    { "a private function through its module", "E1203",
      M "use std.t.other\npub fn f(x: f32) -> f32 { return other.@secret(x) }" },

    /* literals */
    { "an integer literal in a float context", NULL, F "return x * 2 }" },
    { "an integer literal is no bool", "E2104",
      M "pub fn f(b: bool) -> bool { return b == @1 }" },
    { "a float literal in an integer context", "E2104",
      M "pub fn f(n: i32) -> i32 { return n + @1.5 }" },
    { "a literal that fits", NULL, M "pub fn f(n: i8) -> i8 { return n + 127 }" },
    { "a literal past its type", "E2105", M "pub fn f(n: i8) -> i8 { return n + @128 }" },
    { "a negative literal for unsigned", "E2105", M "pub fn f(n: u8) -> u8 { return n + @-1 }" },
    { "a negative literal that fits", NULL, M "pub fn f(n: i8) -> i8 { return n + -128 }" },
    { "the largest half", NULL, M "pub fn f(x: f16) -> f16 { return x * 65504.0 }" },
    { "past the largest half", "E2105", M "pub fn f(x: f16) -> f16 { return x * @65505.0 }" },
    { "an integer past 64 bits", "E2105",
      M "pub fn f(n: i64) -> i64 { return n + @9223372036854775808 }" },
    { "a float literal times a symbolic dimension", NULL, F "return x * (0.5 * N) }" },
    { "a string", "E2104", F "let s = @\"a\" return x }" },
    { "compile-time arithmetic past 64 bits", "E2123",
      F "let a = @9223372036854775807 * N * 2 return x }" },
    { "a symbolic let can stand in a shape", NULL,
      M "pub fn f<N: Dim>(x: Tensor[N, 4; f32]) -> Tensor[4 * N; f32] {\n"
        "let all = 4 * N\nreturn reshape(x, [all]) }" },
    { "a symbolic let can be a generic argument", NULL,
      M "fn g<A: Dim>(x: Tensor[A; f32]) -> Tensor[A; f32] { return x }\n"
        "pub fn f<N: Dim>(x: Tensor[2 * N; f32]) -> Tensor[2 * N; f32] {\n"
        "let all = 2 * N\nlet y: Tensor[all; f32] = x\nreturn g<all>(y) }" },
    { "a constant let is a runtime integer", "E2123",
      F "let k = 4 let y = iota<f32>(@k) return x }" },

    /* types: E2101, E2113 */
    { "an annotated let", NULL, F "let y: Tensor[N; f32] = x return y }" },
    { "a let of another kind", "E2101", F "let y: f32 = @x return x }" },
    { "a bare value for an optional", "E2101",
      M "pub fn f(x: f32) -> f32? { return @x }" },
    { "a wrapped value for an optional", NULL,
      M "pub fn f(x: f32) -> f32? { return some(x) }" },
    { "literals inside some and tuples", NULL,
      M "pub fn f(x: f32) -> (f32?, (i32, f16)) { return (some(1), (2, 3.5)) }" },
    { "a scalar of another dtype is returned", "E2101", M "pub fn f(x: f32) -> f64 { return @x }" },
    { "a shape is no value", "E2101", F "let s = @[N, 2] return x }" },
    { "a block is no value", "E2101",
      M "block C { param w: Tensor[2; f32] }\npub block B { sub c: C\n"
        "pub entry go(x: f32) -> f32 { let d = @c return x } }" },
    { "none with a type", NULL, M "pub fn f(x: f32) -> f32? { let y: f32? = none return y }" },
    { "none without a type", "E2113", F "let y = @none return x }" },
    { "some(none) without a type", "E2113", F "let y = some(@none) return x }" },
    { "none where a tensor is wanted", "E2113", F "return @none }" },

    /* arguments: E2102, E2106, E2107, E2110, E2111, E2112 */
    { "keywords in any order", NULL,
      M "fn g(a: f32, b: i32, c: f32 = 2.0) -> f32 { return a * c }\n"
        "pub fn f(x: f32) -> f32 { return g(c = 1.0, b = 2, a = x) }" },
    { "a missing argument", "E2102",
      M "fn g(a: f32, b: f32) -> f32 { return a * b }\npub fn f(x: f32) -> f32 { return @g(x) }" },
    { "an extra argument", "E2102",
      M "fn g(a: f32) -> f32 { return a }\npub fn f(x: f32) -> f32 { return g(x, @x) }" },
    { "an unknown keyword", "E2102",
      M "fn g(a: f32) -> f32 { return a }\npub fn f(x: f32) -> f32 { return g(@b = x) }" },
    { "an argument given twice", "E2102",
      M "fn g(a: f32) -> f32 { return a }\npub fn f(x: f32) -> f32 { return g(x, @a = x) }" },
    { "a positional struct field", "E2102",
      M "struct P { a: f32 }\npub fn f(x: f32) -> P { return P(@x) }" },
    { "a wrong struct field", "E2101",
      M "struct P { a: f32 }\npub fn f(x: f64) -> P { return P(a = @x) }" },
    { "a struct with its generics written", NULL,
      M "struct P<N: Dim> { a: Tensor[N; f32] }\n"
        "pub fn f<N: Dim>(x: Tensor[N; f32]) -> P<N> { return P<N>(a = x) }" },
    { "too few prelude arguments", "E2102", F "return @max(x) }" },
    { "concat needs its axis", "E2102", F "let y = @concat(x, x) return x }" },
    { "a keyword on a prelude function", "E2102", F "return exp(@x = x) }" },
    { "a call of a parameter", "E2106", F "return @x(1) }" },
    { "a call of a generic", "E2106", F "return x * @N(1) }" },
    { "a call of a call", "E2106", F "return @f(x)(x) }" },
    { "a call of a member", "E2106",
      M "pub block B { param w: Tensor[2; f32]\npub entry go() -> Tensor[2; f32] { return @w() } }" },
    { "an unknown member", "E2107",
      M "block C { param w: Tensor[2; f32] }\npub block B { sub c: C\n"
        "pub entry go() -> Tensor[2; f32] { return c.@v } }" },
    { "a member of a sub", NULL,
      M "block C { param w: Tensor[2; f32] }\npub block B { sub c: C\n"
        "pub entry go() -> Tensor[2; f32] { return c.w } }" },
    { "an unknown method", "E2107",
      M "block C { param w: Tensor[2; f32] }\npub block B { sub c: C\n"
        "pub entry go() -> f32 { return c.@run() } }" },
    { "a method of an optional sub", "E2107",
      M "block C { pub fn run(x: f32) -> f32 { return x } }\npub block B { sub c: C? = none\n"
        "pub entry go(x: f32) -> f32 { return c.@run(x) } }" },
    { "an unknown field", "E2107",
      M "struct P { a: f32 }\npub fn f(p: P) -> f32 { return p.@b }" },
    { "an unknown variant", "E2107",
      M "enum E { A, B }\npub fn f(x: f32) -> f32 { let e = E.@C return x }" },
    { "a method of a tensor", "E2107", F "return x.@exp() }" },
    { "an inferred generic", NULL,
      M "fn g<N: Dim, T: Float>(x: Tensor[N; T]) -> Tensor[N; T] { return x }\n"
        "pub fn f(x: Tensor[3; f16]) -> Tensor[3; f16] { return g(x) }" },
    { "a generic nothing determines", "E2110",
      M "fn g<N: Dim>(x: f32) -> f32 { return x * N }\npub fn f(x: f32) -> f32 { return @g(x) }" },
    { "a cast without a dtype", "E2110", F "return @cast(x) }" },
    { "a fill without a dtype", "E2110", F "return @fill([N], 0.0) }" },
    { "a fill takes a scalar's dtype", NULL,
      M "pub fn f<N: Dim>(x: Tensor[N; f32], v: f32) -> Tensor[N; f32] { return fill([N], v) }" },
    { "too many generic arguments", "E2111",
      M "fn g<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return x }\n"
        "pub fn f(x: Tensor[3; f32]) -> Tensor[3; f32] { return g<3, @4>(x) }" },
    { "a dtype where a dimension stands", "E2111",
      M "fn g<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return x }\n"
        "pub fn f(x: Tensor[3; f32]) -> Tensor[3; f32] { return g<@f32>(x) }" },
    { "generic arguments on exp", "E2111", F "return exp@<f32>(x) }" },
    { "a dtype outside its class", "E2112",
      M "fn g<N: Dim, T: Float>(x: Tensor[N; T]) -> Tensor[N; T] { return x }\n"
        "pub fn f(x: Tensor[3; i32]) -> Tensor[3; i32] { return @g(x) }" },
    { "iota of bool", "E2112", F "let i = iota<@bool>(N) return x }" },

    /* dtypes: E2103, E2104, E2116 */
    { "two dtypes", "E2103",
      M "pub fn f(x: f32, y: bf16) -> f32 { return @x * y }" },
    { "an argument of another dtype", "E2103",
      M "fn g<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return x }\n"
        "pub fn f(x: Tensor[3; f16]) -> Tensor[3; f32] { return g(@x) }" },
    { "an accumulator that is the operand's dtype", NULL,
      M "pub fn f<N: Dim>(x: Tensor[N; f32]) -> f32 { return sum<f32>[i] x[i] }" },
    { "an accumulator of another dtype", "E2103",
      M "pub fn f<N: Dim>(x: Tensor[N; f16]) -> f32 { return @sum<f32>[i] x[i] }" },
    { "concat of two dtypes", "E2103",
      M "pub fn f(x: Tensor[2; f32], y: Tensor[2; f16]) -> Tensor[4; f32] {\n"
        "return @concat(x, y, axis = 0) }" },
    { "arithmetic on bool", "E2104", M "pub fn f(a: bool, b: bool) -> bool { return @a + b }" },
    { "equality of bool", NULL, M "pub fn f(a: bool, b: bool) -> bool { return a == b }" },
    { "order of bool", "E2104", M "pub fn f(a: bool, b: bool) -> bool { return @a < b }" },
    { "bits of a float", "E2104", F "return @x & x }" },
    { "bits of bool", NULL,
      M "pub fn f(a: Tensor[2; bool], b: bool) -> Tensor[2; bool] { return a ^ b | true & a }" },
    { "arithmetic on a DType generic", "E2104",
      M "pub fn f<T: DType>(x: Tensor[2; T]) -> Tensor[2; T] { return @x + x }" },
    { "arithmetic on a Numeric generic", NULL,
      M "pub fn f<T: Numeric>(x: Tensor[2; T]) -> Tensor[2; T] { return x + x * 2 }" },
    { "exp of an integer", "E2104", M "pub fn f(n: i32) -> i32 { return @exp(n) }" },
    { "a sum of bool", "E2104",
      M "pub fn f<N: Dim>(x: Tensor[N; bool]) -> bool { return @sum[i] x[i] }" },
    { "any of bool", NULL,
      M "pub fn f<N: Dim>(x: Tensor[N; bool]) -> bool { return any[i] x[i] }" },
    { "any of floats", "E2104",
      M "pub fn f<N: Dim>(x: Tensor[N; f32]) -> f32 { return @any[i] x[i] }" },
    { "arithmetic on a tuple", "E2104", F "let t = (x, x) return @t + x }" },
    { "order of enum values", "E2104",
      M "enum E { A, B }\npub fn f() -> bool { return @E.A < E.B }" },
    { "equality of enum values", NULL,
      M "enum E { A, B }\nconst K: E = E.A\npub fn f() -> bool { return K == E.B }" },
    { "scalar logic", NULL, M "pub fn f(a: bool, b: bool) -> bool { return a && !b || a }" },
    { "logic on a number", "E2116", M "pub fn f(a: bool, n: i32) -> bool { return @a && n }" },
    { "not of a tensor", "E2116",
      M "pub fn f(a: Tensor[2; bool]) -> Tensor[2; bool] { return @!a }" },

    /* assignment: E2108, E2109 */
    { "a var is assigned", NULL, F "var y = x y = y + x return y }" },
    { "a parameter is assigned", "E2108", F "@x = x + x return x }" },
    { "a member that is no state", "E2108",
      M "pub block B { param w: Tensor[2; f32]\n"
        "pub entry go(x: Tensor[2; f32]) -> Tensor[2; f32] { @w = x return x } }" },
    { "a constant is assigned", "E2108", M "const K = 4\npub fn f(x: f32) -> f32 { @K = 5 return x }" },
    { "a var of another type", "E2109", F "var y = x y = @x[0] return y }" },
    { "a var of another literal type", "E2109", M "pub fn f(n: i32) -> i32 { var a = n a = @1.5 return a }" },
    { "a state of another dtype", "E2109",
      M "pub block B { state s: Tensor[2; f32]\n"
        "pub entry go(x: Tensor[2; f16]) -> f32 { s = @x return 0.0 } }" },

    /* if, match: E2114, E2115, E2117, E2118 */
    { "a branch of literals follows the other", NULL,
      M "pub fn f(c: bool, x: f16) -> f16 { return if c { x } else { 0 } }" },
    { "two literal branches follow the result", NULL,
      M "pub fn f(c: bool) -> f16 { return if c { 1.0 } else { 0 } }" },
    { "two integers are i64", NULL, M "pub fn f(c: bool) -> i64 { let n = if c { 1 } else { 0 } return n }" },
    { "nothing gives none a type", "E2113",
      M "pub fn f(c: bool) -> i64 { let (a, b) = if c { @(none, 1) } else { (none, 2) } return b }" },
    { "none beside a value", NULL,
      M "pub fn f(c: bool, x: f32) -> f32? { return if c { some(x) } else { none } }" },
    { "a number as a condition", "E2114", M "pub fn f(n: i32) -> i32 { return if @n { 1 } else { 2 } }" },
    { "a tensor as a while condition", "E2114",
      F "var y = x while @y > 0.0 { y = y - 1.0 } return y }" },
    { "a number as select's condition", "E2114", F "return select(@x, x, x) }" },
    { "select broadcasts", NULL,
      G "let m = x > 0.0 return select(m, x, 0.0) }" },
    { "branches differ", "E2115", M "pub fn f(c: bool, x: f32) -> f32 { return if c { x } else { @true } }" },
    { "arms differ", "E2115",
      M "pub fn f(o: f32?, n: i32) -> f32 { return match o { some(v) => v none => @n } }" },
    { "a match on an enum", NULL,
      M "enum E { A, B, C }\nconst K: E = E.B\n"
        "pub fn f(x: f32) -> f32 { return match K { A => x B => x + 1 _ => 0.0 } }" },
    { "a match on a number", "E2117", M "pub fn f(n: i32) -> i32 { return match @n { a => a } }" },
    { "some on an enum", "E2117",
      M "enum E { A, B }\nconst K: E = E.B\n"
        "pub fn f(x: f32) -> f32 { return match K { A => x @some(v) => x } }" },
    { "an arm after a catch-all", "E2117",
      M "pub fn f(o: f32?) -> f32 { return match o { a => 0.0 @none => 1.0 } }" },
    { "an arm twice", "E2117",
      M "pub fn f(o: f32?) -> f32 { return match o { none => 0.0 @none => 1.0 some(v) => v } }" },
    { "a tuple in some", NULL,
      M "pub fn f(o: (f32, f32)?) -> f32 { return match o { some((a, b)) => a + b none => 1.0 } }" },
    { "a pattern that may not fit", "E2117", M "pub fn f(o: f32?) -> f32 { let @some(v) = o return v }" },
    { "a tuple pattern of another length", "E2117", F "let @(a, b, c) = (x, x) return x }" },
    { "a tuple pattern for a tensor", "E2117", F "let @(a, b) = x return x }" },
    { "a tuple pattern with an underscore", NULL, F "let (a, _) = (x, 1) return a }" },
    { "an enum's missing variant", "E2118",
      M "enum E { A, B }\nconst K: E = E.B\npub fn f(x: f32) -> f32 { return @match K { A => x } }" },
    { "an optional's missing some", "E2118",
      M "pub fn f(o: f32?) -> f32 { return @match o { none => 1.0 } }" },

    /* recursion, return, loops: E2119, E2120, E2121, E2122, E2123 */
    { "a function calls itself", "E2119", F "return @f(x) }" },
    { "a default calls its own function", "E2122",
      M "fn f(x: f32 = @f()) -> f32 { return x }\npub fn g() -> f32 { return f(1.0) }" },
    { "a missing return", "E2120", F "let y = x @}" },
    { "an early return", "E2120", F "@return x let y = x return y }" },
    { "a return in a loop", "E2120", F "var y = x while y[0] > 0.0 { @return y } return y }" },
    { "a return without its value", "E2120", M "pub fn f(x: f32) -> f32 { @return }" },
    { "a function without a result", NULL,
      M "pub block B { state s: Tensor[2; f32]\nfn set(x: Tensor[2; f32]) { s = x }\n"
        "pub entry go(x: Tensor[2; f32]) -> Tensor[2; f32] { let _ = set(x) return s } }" },
    { "a value from a function without a result", "E2101",
      M "pub fn f(x: f32) { return @x }" },
    { "a yield outside of a loop", "E2120", F "@yield x return x }" },
    { "a yield in the middle", "E2120",
      F "let y = for i in 0..2 { @yield x let z = x yield z } return x }" },
    { "a for inside an expression", "E1101", F "return x + @for i in 0..2 { yield x } }" },
    { "a value loop of tuples", NULL,
      M "pub fn f<N: Dim>(x: Tensor[N; f32]) -> (Tensor[N, N; f32], Tensor[N; f32]) {\n"
        "return for i in 0..N { yield (x, x[i]) } }" },
    { "a loop without yield as a value", "E2120", F "let y = @for i in 0..2 { let z = x } return x }" },
    { "a static for over a tensor", "E2121", F "var y = x static for e in @x { y = y + x } return y }" },
    { "a runtime loop's bound", "E2123", G "var y = x for i in 0..@n { y = y + x } return y }" },
    { "a static range is a value, not a dimension", "E2123",
      F "var y = x static for i in 0..2 { y = y + fill<f32>([@i], 1.0) } return y }" },
    { "a static range as a number", NULL, F "var y = x static for i in 0..2 { y = y + cast<f32>(i) } return y }" },
    { "a constant defined by itself", "E2122",
      M "const A: f32 = B + 1.0\nconst B: f32 = @A\npub fn f(x: f32) -> f32 { return x + A }" },
    { "bits of a symbolic dimension", "E2123", F "return x * (@N & 3) }" },
    { "bits of constants", NULL, M "pub fn f(x: Tensor[6; f32]) -> Tensor[6; f32] { return reshape(x, [7 & 14]) }" },
    { "reserved prelude functions", "E2190", F "return @pad(x) }" },

    /* shapes: E2201 to E2210 */
    { "two axes of one index", NULL,
      M "pub fn f<N: Dim>(x: Tensor[N, N; f32]) -> f32 { return sum[i] x[i, i] }" },
    { "an index with two extents", "E2201",
      M "pub fn f<N: Dim, K: Dim>(x: Tensor[N, K; f32]) -> f32 { return sum[i] x[i, @i] }" },
    { "an argument of another shape", "E2202",
      M "fn g<N: Dim>(x: Tensor[N, N; f32]) -> f32 { return x[0, 0] }\n"
        "pub fn f<N: Dim, K: Dim>(x: Tensor[N, K; f32]) -> f32 { return g(@x) }" },
    { "concat of other shapes", "E2202",
      M "pub fn f<N: Dim, K: Dim>(x: Tensor[N; f32], y: Tensor[N, K; f32]) -> f32 {\n"
        "let z = @concat(x, y, axis = 0) return 0.0 }" },
    { "concat of halves", NULL,
      M "pub fn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[2 * N; f32] { return concat(x, -x, axis = -1) }" },
    { "a reshape of another count", "E2203", F "return @reshape(x, [N + 1]) }" },
    { "a reshape of a pack", NULL,
      M "pub fn f<*S: Shape, H: Dim>(x: Tensor[*S, H, 2; f32]) -> Tensor[*S, 2 * H; f32] {\n"
        "return reshape(x, [S, 2 * H]) }" },
    { "too many indices", "E2204", F "return @x[0, 0] }" },
    { "two ellipses", "E2204", G "return x[..., @...] }" },
    { "too few indices in index notation", "E2204", G "let y[i] = @x[i] return x }" },
    { "an index on a scalar", "E2204", M "pub fn f(x: f32) -> f32 { return @x[0] }" },
    { "a block array takes one index", "E2204",
      M "block C { pub fn run(x: f32) -> f32 { return x } }\npub block B { sub c: [C; 3]\n"
        "pub entry go(x: f32) -> f32 { return @c[0, 1].run(x) } }" },
    { "a positive divisor", NULL,
      M "pub fn f<N: Dim, K: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] where K > 0 { return x * (N / K) }" },
    { "a divisor that may be zero", "E2205",
      M "pub fn f<N: Dim, K: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return x * (@N % K) }" },
    { "a where of the callee holds", NULL,
      M "fn g<N: Dim>(x: Tensor[N; f32]) -> f32 where N > 1 { return x[1] }\n"
        "pub fn f<N: Dim>(x: Tensor[N; f32]) -> f32 where N > 3 { return g(x) }" },
    { "a where of the callee may not hold", "E2206",
      M "fn g<N: Dim>(x: Tensor[N; f32]) -> f32 where N > 1 { return x[1] }\n"
        "pub fn f<N: Dim>(x: Tensor[N; f32]) -> f32 { return @g(x) }" },
    { "a broadcast from the right", NULL,
      M "pub fn f<*S: Shape, H: Dim>(x: Tensor[*S, H; f32], y: Tensor[H; f32]) -> Tensor[*S, H; f32] { return y + x }" },
    { "a pack against a dimension", "E2207",
      M "pub fn f<*S: Shape, A: Dim, H: Dim>(x: Tensor[*S, H; f32], y: Tensor[A, H; f32]) -> Tensor[*S, H; f32] { return @x + y }" },
    { "a broadcast of ones", NULL,
      M "pub fn f<N: Dim, K: Dim>(x: Tensor[N, 1; f32], y: Tensor[1, K; f32]) -> Tensor[N, K; f32] { return x * y }" },
    { "broadcast_to another extent", "E2207", F "let y = @broadcast_to(x, [N, 2]) return x }" },
    { "broadcast_to a new axis", NULL, F "let y = broadcast_to(x, [2, N]) return y[0] }" },
    { "a negative dimension", "E2208", F "let y = fill<f32>(@[-2], 0.0) return x }" },
    { "the last element", NULL, M "pub fn f<N: Dim>(x: Tensor[N; f32]) -> f32 where N > 0 { return x[N - 1] }" },
    { "past the last element", "E2209", M "pub fn f<N: Dim>(x: Tensor[N; f32]) -> f32 { return x[@N] }" },
    { "a float as an index", "E2209", M "pub fn f<N: Dim>(x: Tensor[N; f32], y: f32) -> f32 { return x[@y] }" },
    { "a step of zero", "E2209", F "let y = x[::@0] return x }" },
    { "a negative slice bound", "E2209", F "let y = x[@-1:] return x }" },
    { "a runtime slice bound", "E2123", G "let y = x[0:@n] return x }" },
    { "past the last block", "E2209",
      M "block C { pub fn run(x: f32) -> f32 { return x } }\npub block B { sub c: [C; 3]\n"
        "pub entry go(x: f32) -> f32 { return c[@3].run(x) } }" },
    { "a runtime block", "E2123",
      M "block C { pub fn run(x: f32) -> f32 { return x } }\npub block B { sub c: [C; 3]\n"
        "pub entry go(x: f32, n: i32) -> f32 { return c[@n].run(x) } }" },
    { "a permutation", NULL, G "return permute(permute(x, [1, 0]), [1, 0]) }" },
    { "axes that are no permutation", "E2210", G "let y = permute(x, @[1, 1]) return x }" },
    { "a permutation of a pack", "E2210",
      M "pub fn f<*S: Shape>(x: Tensor[*S, 2; f32]) -> Tensor[*S, 2; f32] { return @permute(x, [1, 0]) }" },
    { "an axis out of range", "E2210", F "let y = concat(x, x, axis = @1) return x }" },
    { "an axis behind a pack", "E2210",
      M "pub fn f<*S: Shape>(x: Tensor[*S, 2; f32]) -> Tensor[*S, 2; f32] { return cumsum(x, axis = @0) }" },
    { "an axis counted from the back", NULL,
      M "pub fn f<*S: Shape>(x: Tensor[*S, 2; f32]) -> Tensor[*S, 2; f32] { return cumsum(x, axis = -1) }" },

    /* index notation: E3101 to E3106 */
    { "a matrix product", NULL,
      M "pub fn f<M1: Dim, K: Dim, N: Dim>(a: Tensor[M1, K; f32], b: Tensor[K, N; f32]) -> Tensor[M1, N; f32] {\n"
        "let y[m, n] = sum[k] a[m, k] * b[k, n] return y }" },
    { "nothing is summed implicitly", "E3101", G "let y[i] = x[i, @j] return x }" },
    { "an unbound pack", "E3101", G "let y[i] = x[i, *@s] return x }" },
    { "a reduction over nothing", "E3102", M "pub fn f(x: Tensor[2; f32]) -> f32 { return sum[@k] x[0] }" },
    { "an output over nothing", "E3103", F "let y[i, @j] = x[i] return x }" },
    { "an index as a value", "E3104", F "let y[i] = x[i] * cast<f32>(@i) return y }" },
    { "an index's value", NULL, F "let y[i] = x[i] * cast<f32>(iota(N)[i]) return y }" },
    { "a tensor in index notation", "E3104", F "let y[i] = @x[i] + x return x }" },
    { "a tensor as a position", "E3104",
      M "pub fn f<N: Dim>(x: Tensor[N; f32], p: Tensor[N; i32]) -> Tensor[N; f32] { let y[i] = x[i] + x[@p] return y }" },
    { "a gather", NULL,
      M "pub fn f<*S: Shape, V: Dim, H: Dim>(p: Tensor[*S; i32], w: Tensor[V, H; f32]) -> Tensor[*S, H; f32] {\n"
        "let y[*s, h] = w[p[*s], h] return y }" },
    { "an index listed twice", "E3105", F "let y[i, @i] = x[i] return x }" },
    { "a pack index over a pack", NULL,
      M "pub fn f<*S: Shape, H: Dim>(x: Tensor[*S, H; f32]) -> Tensor[*S; f32] {\n"
        "let y[*s] = max[h] x[*s, h] return y }" },
    { "a plain index on a pack", "E3106",
      M "pub fn f<*S: Shape>(x: Tensor[*S; f32]) -> f32 { return sum[i] x[@i] }" },
    { "a pack index without its star", "E3106",
      M "pub fn f<*S: Shape>(x: Tensor[*S, 2; f32]) -> Tensor[*S; f32] { let y[*s] = x[@s, 0] return y }" },
    { "a star on a plain index", "E3106", F "let y[i] = x[@*i] return y }" },
    { "two packs in one access", "E3106",
      M "pub fn f<N: Dim, K: Dim>(x: Tensor[N, K; f32]) -> f32 { let y[*s, *r] = x[*s, @*r] return 0.0 }" },
    { "an index into a shape pack", "E3106",
      M "pub fn f<*S: Shape>(x: Tensor[*S, 2; f32]) -> Tensor[*S, 2; f32] { let y = x[@0] return x }" },
    { "an index may share its tensor's name", NULL,
      M "pub fn f<K: Dim>(b: Tensor[K, 2; f32]) -> Tensor[K; f32] { let y[b] = b[b, 1] return y }" },
    { "a slice inside index notation", NULL,
      M "fn g<N: Dim>(x: Tensor[N; f32]) -> f32 { return sum[i] x[i] }\n"
        "pub fn f<N: Dim, K: Dim>(x: Tensor[N, K; f32]) -> Tensor[N; f32] { let y[i] = g(x[i, :]) return y }" },

    /* what nobody uses */
    { "an unused local", "W1002", F "let @y = x return x }" },
    { "a var that is only assigned", "W1002", F "var @y = x y = x return x }" },
    { "an unused match binding", "W1002",
      M "pub fn f(o: f32?) -> f32 { return match o { some(@v) => 1.0 none => 0.0 } }" },

    /* constants and defaults */
    { "a wrong constant", "E2101", M "const A: f32 = @true\npub fn f(x: f32) -> f32 { return x * A }" },
    { "a wrong default", "E2101",
      M "fn g(x: f32, y: f32 = @true) -> f32 { return x }\npub fn f(x: f32) -> f32 { return g(x) }" },
    { "a default in the callee's terms", NULL,
      M "fn g<D: Dim>(x: Tensor[D; f32], s: f32 = 1.0 / sqrt(cast<f32>(D))) -> Tensor[D; f32] { return x * s }\n"
        "pub fn f<N: Dim>(x: Tensor[2 * N; f32]) -> Tensor[2 * N; f32] { return g(x) }" },
    { "a constant in its own module", NULL,
      M "use std.t.other::{SCALE}\nconst BASE: f32 = 7.0\npub fn f(x: f32) -> f32 { return x * SCALE }" },
};
/* clang-format on */

/* ---- operations ---- */

/* A program and lines its printed operations have, one after the other. */
typedef struct ops_case {
    const char *name;
    const char *text;
    const char *lines;
} ops_case;

/* clang-format off */
static const ops_case ops_cases[] = {
    { "left operand, right operand, operation",
      F "return exp(x) + log(x) }",
      "    %1 = exp %0 : Tensor[N; f32]\n"
      "    %2 = log %0 : Tensor[N; f32]\n"
      "    %3 = add %1, %2 : Tensor[N; f32]\n"
      "    -> %3\n" },
    { "unary plus and parentheses emit nothing",
      F "return +(x) }",
      "-> Tensor[N; f32] {\n    -> %0\n" },
    { "arguments as written, operands in parameter order, defaults last",
      M "fn g(a: f32, b: f32 = 4.0, c: f32 = 5.0) -> f32 { return a * b * c }\n"
        "pub entry f(x: f32) -> f32 { return g(c = exp(x), a = log(x)) }",
      "entry t::f(%0: f32) -> f32 {\n"
      "    %1 = exp %0 : f32\n"
      "    %2 = log %0 : f32\n"
      "    %3 = const.float 4.0 : f32\n"
      "    %4 = call t::g %2, %3, %1 : f32\n" },
    { "the receiver comes before the arguments",
      M "block C { pub fn run(x: f32) -> f32 { return x } }\npub block B { sub c: [C; 2]\n"
        "pub entry go(x: f32) -> f32 { return c[1].run(exp(x)) } }",
      "    %1 = block.sub c : [C; 2]\n"
      "    %2 = array.get 1 %1 : C\n"
      "    %3 = exp %0 : f32\n"
      "    %4 = call t::C.run receiver %2, %3 : f32\n" },
    { "a method of the own block has no receiver",
      M "pub block B { param w: Tensor[2; f32]\nfn h() -> Tensor[2; f32] { return w }\n"
        "pub entry go() -> Tensor[2; f32] { return h() } }",
      "    %0 = call self.t::B.h : Tensor[2; f32]\n" },
    { "an op is a semantic call with its substitution",
      M "op g<*S: Shape, H: Dim, T: Float = f32>(x: Tensor[*S, H; T]) -> Tensor[*S, H; T] { return x }\n"
        "pub entry f<B: Dim>(x: Tensor[B, 4, 3; f16]) -> Tensor[B, 4, 3; f16] { return g(x) }",
      " = semantic.call t::g<[B, 4], 3, f16> %0 : Tensor[B, 4, 3; f16]\n" },
    { "every reading of a state is a read",
      M "pub block B { state s: Tensor[2; f32]\n"
        "pub entry go(x: Tensor[2; f32]) -> Tensor[2; f32] { s = s + x return s } }",
      "    %1 = state.read s : Tensor[2; f32]\n"
      "    %2 = add %1, %0 : Tensor[2; f32]\n"
      "    state.write s %2\n"
      "    %3 = state.read s : Tensor[2; f32]\n"
      "    -> %3\n" },
    { "a parameter named in index notation is read inside",
      M "pub block B<N: Dim> { param w: Tensor[N; f32]\n"
        "pub entry go(x: Tensor[N; f32]) -> Tensor[N; f32] { let y[i] = x[i] * w[i] return y } }",
      "    %6 = comprehension : Tensor[N; f32]\n"
      "        %1 below N\n"
      "        each (%1: i64) {\n"
      "            %2 = element %0, %1 : f32\n"
      "            %3 = block.param w : Tensor[N; f32]\n"
      "            %4 = element %3, %1 : f32\n"
      "            %5 = mul %2, %4 : f32\n"
      "            -> %5\n" },
    { "a pack index runs over several axes",
      M "pub fn f<A: Dim, B: Dim>(x: Tensor[A, B, 2; f32]) -> Tensor[A, B; f32] {\n"
        "let y[*s] = x[*s, 1] return y }",
      "comprehension : Tensor[A, B; f32]\n"
      "        %1 over [A, B]\n" },
    { "a gather",
      M "pub fn f<B: Dim, V: Dim>(p: Tensor[B; i32], w: Tensor[V; f32]) -> Tensor[B; f32] {\n"
        "let y[b] = w[p[b]] return y }",
      "            %3 = element %0, %2 : i32\n"
      "            %4 = element %1, %3 : f32\n" },
    { "what is known becomes one slice, a runtime position an element",
      M "pub fn f<N: Dim>(x: Tensor[N, 8, 6; f32], at: i32) -> Tensor[3, 6; f32] { return x[at, 2:8:2] }",
      "    %2 = slice [:, 2:8:2, :] %0 : Tensor[N, 3, 6; f32]\n"
      "    %3 = element kept .:: %2, %1 : Tensor[3, 6; f32]\n" },
    { "a slice past the end stops there",
      M "pub fn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[min(4, N); f32] { return x[:4] }",
      " = slice [0:min(N, 4)] %0 : " },
    { "an integer in a float context is a float constant",
      M "pub fn f<T: Float>(x: Tensor[2; T]) -> Tensor[2; T] { return x * 2 }",
      " = const.float 2.0 : T\n" },
    { "a dimension as a value",
      F "return x * (N + 1) / (2 * N) }",
      "    %1 = const.dim N + 1 : f32\n"
      "    %2 = mul %0, %1 : Tensor[N; f32]\n"
      "    %3 = const.dim 2 * N : f32\n"
      "    %4 = div %2, %3 : Tensor[N; f32]\n" },
    { "a float literal with a symbolic dimension is computed in its dtype",
      M "pub fn f<N: Dim>(x: Tensor[N; f16]) -> Tensor[N; f16] { return x * (0.5 * N) }",
      "    %1 = const.float 0.5 : f16\n"
      "    %2 = const.dim N : f16\n"
      "    %3 = mul %1, %2 : f16\n"
      "    %4 = mul %0, %3 : Tensor[N; f16]\n" },
    { "a constant is lowered where it is used",
      M "const A: f32 = 3.0\nconst B: f32 = A * 2\npub fn f(x: f32) -> f32 { return x - B }",
      "    %1 = const.float 3.0 : f32\n"
      "    %2 = const.float 2.0 : f32\n"
      "    %3 = mul %1, %2 : f32\n"
      "    %4 = sub %0, %3 : f32\n" },
    { "a default is lowered in the caller's terms",
      M "fn g<D: Dim>(x: Tensor[D; f32], s: f32 = cast<f32>(D + 1)) -> f32 { return s }\n"
        "pub entry f<N: Dim>(x: Tensor[2 * N; f32]) -> f32 { return g(x) }",
      "    %1 = const.dim 2 * N + 1 : f32\n"
      "    %2 = call t::g<2 * N> %0, %1 : f32\n" },
    { "both branches end in the common dtype",
      M "pub fn f(c: bool, x: f16) -> f16 { return if c { x } else { 0 } }",
      "    %3 = if %0 : f16\n"
      "        then () {\n"
      "            -> %1\n"
      "        }\n"
      "        else () {\n"
      "            %2 = const.float 0.0 : f16\n"
      "            -> %2\n" },
    { "arms of an optional",
      M "pub fn f(o: f32?) -> f32 { return match o { some(v) => v all_of_it => 1.0 } }",
      "    %4 = option.match %0 : f32\n"
      "        some (%1: f32) {\n"
      "            -> %1\n"
      "        }\n"
      "        any (%2: f32?) {\n"
      "            %3 = const.float 1.0 : f32\n"
      "            -> %3\n" },
    { "carried vars in the order of their first assignment",
      M "pub fn f(n: i32) -> i32 {\nvar a = n\nvar b = n\nvar still = n\n"
        "while a < 9 { b = b + a var a2 = b a = a2 a2 = a }\nreturn a + still }",
      " = while %0, %0 : i32, i32\n"
      "        while (%1: i32, %2: i32) {\n"
      "            %3 = const.int 9 : i32\n"
      "            %4 = compare < %2, %3 : bool\n" },
    { "a static for carries its vars beside the element",
      M "block C { pub fn run(x: f32) -> f32 { return x } }\npub block B { sub c: [C; 2]\n"
        "pub entry go(x: f32) -> f32 { var y = x static for e in c { y = e.run(y) } return y } }",
      "    %1 = block.sub c : [C; 2]\n"
      "    %5 = static_for %1, %0 : f32\n"
      "        do (%2: C, %3: f32) {\n"
      "            %4 = call t::C.run receiver %2, %3 : f32\n"
      "            -> %4\n"
      "        }\n"
      "    -> %5\n" },
    { "a value loop gives carried vars, then the stacked yields",
      M "pub fn f<N: Dim>(x: f32) -> Tensor[N; f32] {\n"
        "var h = x\nlet hs = for t in 0..N { h = h * h yield h }\nreturn hs }",
      "    %4, %5 = for 0..N %0 : f32, Tensor[N; f32]\n"
      "        do (%1: i64, %2: f32) {\n"
      "            %3 = mul %2, %2 : f32\n"
      "            -> %3, %3\n"
      "        }\n"
      "    -> %5\n" },
    { "a struct's parts are in field order",
      M "struct P { a: f32\n b: f32 }\npub fn f(x: f32) -> P { return P(b = exp(x), a = log(x)) }",
      "    %1 = exp %0 : f32\n"
      "    %2 = log %0 : f32\n"
      "    %3 = tuple.make %2, %1 : P\n" },
    { "concat keeps the side its axis counts from",
      M "pub fn f<*S: Shape>(x: Tensor[*S, 2; f32]) -> Tensor[*S, 4; f32] { return concat(x, x, axis = -1) }",
      " = concat axis -1 %0, %0 : Tensor[*S, 4; f32]\n" },
    { "a grad clause leaves nothing",
      M "pub op f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return x } grad(y, dy) { return dy * unknown }",
      "op t::f(%0: Tensor[N; f32]) -> Tensor[N; f32] {\n    -> %0\n" },
};
/* clang-format on */

static const char other_module[] = "module std.t.other\n"
                                   "const BASE: f32 = 2.0\n"
                                   "pub const SCALE: f32 = BASE * 2\n"
                                   "pub fn twice(x: f32) -> f32 { return x * BASE }\n"
                                   "fn secret(x: f32) -> f32 { return x }\n"
                                   "pub block Other {\n"
                                   "    pub fn shown(x: f32) -> f32 { return hidden(x) }\n"
                                   "    fn hidden(x: f32) -> f32 { return x }\n"
                                   "}\n";

static lin_load_result load(void *user, const lin_load_request *request, lin_loaded *out,
                            linnet_error *err)
{
    (void)user;
    (void)err;
    if (strcmp(request->module, "std.t.other") != 0)
        return LIN_LOAD_MISSING;
    out->name = "std/t/other.linnet";
    out->package = "";
    out->text = other_module;
    out->length = sizeof(other_module) - 1;
    return LIN_LOAD_OK;
}

/* A program without its mark, and where the mark was. */
typedef struct marked {
    char text[4096];
    uint64_t length;
    uint32_t line, column;
} marked;

static marked unmark(const char *text)
{
    marked m = { 0 };
    uint32_t line = 1, column = 1;
    for (; *text != '\0'; text++) {
        if (*text == '@') {
            m.line = line;
            m.column = column;
            continue;
        }
        m.text[m.length++] = *text;
        assert_true(m.length < sizeof(m.text));
        column = *text == '\n' ? 1 : column + 1;
        line += *text == '\n';
    }
    return m;
}

typedef struct checked {
    linnet_status status;
    linnet_error err;
    lin_program *program;
    lin_text printed; /* the diagnostics */
} checked;

static checked check_text(const char *text, uint64_t length)
{
    const lin_lang_file file = {
        .name = "t.linnet", .package = "", .text = text, .length = length
    };
    const lin_loader loader = { .load = load };
    lin_diagnostics diagnostics;
    checked r = { 0 };

    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 100);
    lin_text_init(&r.printed, &lin_default_allocator);
    r.status = lin_lang_check(&file, &loader, NULL, &lin_default_allocator, &diagnostics,
                              &r.program, &r.err);
    lin_diagnostics_print(&r.printed, &diagnostics, false);
    lin_diagnostics_free(&diagnostics);
    return r;
}

static void free_checked(checked *r)
{
    lin_text_free(&r->printed);
    lin_program_free(r->program);
}

static void test_case(void **state)
{
    const body_case *row = *state;
    const marked m = unmark(row->text);
    checked r = check_text(m.text, m.length);

    if (row->code != NULL && row->code[0] == 'W') {
        char place[64];
        (void)snprintf(place, sizeof(place), "warning %s", row->code);
        assert_int_equal(r.status, LINNET_OK);
        assert_non_null(strstr(lin_text_data(&r.printed), place));
        (void)snprintf(place, sizeof(place), "t.linnet:%u:%u\n", m.line, m.column);
        assert_non_null(strstr(lin_text_data(&r.printed), place));
    } else if (row->code == NULL) {
        if (r.status != LINNET_OK)
            print_message("%s", lin_text_data(&r.printed));
        assert_int_equal(r.status, LINNET_OK);
    } else {
        assert_int_equal(r.status, LINNET_ERROR_SOURCE);
        assert_string_equal(r.err.diagnostic, row->code);
        assert_int_equal(r.err.line, m.line);
        assert_int_equal(r.err.column, m.column);
    }
    free_checked(&r);
}

static void test_operations(void **state)
{
    const ops_case *row = *state;
    checked r = check_text(row->text, strlen(row->text));
    if (r.status != LINNET_OK)
        print_message("%s", lin_text_data(&r.printed));
    assert_int_equal(r.status, LINNET_OK);

    const lin_module *m = r.program->modules[0];
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    for (uint32_t k = 0; k < m->function_count; k++)
        lin_function_print(&text, r.program, m->functions[k]);
    for (uint32_t k = 0; k < m->block_count; k++)
        for (uint32_t n = 0; n < m->blocks[k]->method_count; n++)
            lin_function_print(&text, r.program, m->blocks[k]->methods[n]);
    if (strstr(lin_text_data(&text), row->lines) == NULL)
        fail_msg("wanted\n%sin\n%s", row->lines, lin_text_data(&text));
    lin_text_free(&text);
    free_checked(&r);
}

int main(void)
{
    enum { CASES = ARRAY_LEN(cases), ALL = ARRAY_LEN(cases) + ARRAY_LEN(ops_cases) };
    struct CMUnitTest tests[ALL];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        tests[i] = (struct CMUnitTest){ .name = cases[i].name,
                                        .test_func = test_case,
                                        .initial_state = (void *)(uintptr_t)&cases[i] };
    for (size_t i = 0; i < ARRAY_LEN(ops_cases); i++)
        tests[CASES + i] = (struct CMUnitTest){ .name = ops_cases[i].name,
                                                .test_func = test_operations,
                                                .initial_state = (void *)(uintptr_t)&ops_cases[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
