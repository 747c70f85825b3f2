/* SPDX-License-Identifier: MIT */

/*
 * The tracer's rules on small programs: tracing.md 2 to 6. A row's expectation is the whole graph
 * in a short spelling, one word a step:
 *
 *     label[/kind]<inputs[+read inside]=bytes of its own,...
 *
 * so `reshape<1=0` is a view, `reshape (copy)<1=64` a copy, `mul/scale<1=64` a tensor times a
 * scalar, `comprehension<1+1=64` one that also names a parameter inside.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "trace/trace.h"

#define HEAD "module t.x\n"

static lin_source *parse(const char *text)
{
    const lin_source_settings settings = { .allocator = lin_default_allocator,
                                           .limits = lin_lang_default_limits,
                                           .file_bytes = 16 << 20 };
    lin_source *source = NULL;
    linnet_error err = { 0 };
    if (lin_source_parse(&settings, text, strlen(text), "x.linnet", NULL, &source, &err) !=
        LINNET_OK)
        fail_msg("line %u: %s", err.line, err.message);
    return source;
}

/* "H=4 T=bf16" as settings. */
typedef struct words {
    char text[128];
    lin_setting settings[8];
    uint32_t count;
} words;

static void read_binds(words *out, const char *binds)
{
    out->count = 0;
    lin_copy_utf8(out->text, sizeof out->text, binds ? binds : "");
    for (char *word = out->text; *word != '\0';) {
        char *equals = strchr(word, '='), *end = word + strcspn(word, " ");
        char *next = *end == '\0' ? end : end + 1;
        *equals = '\0';
        *end = '\0';
        lin_setting setting = { .name = word };
        setting.is_dtype = lin_dtype_find(equals + 1, strlen(equals + 1), &setting.dtype);
        if (!setting.is_dtype)
            assert_true(lin_parse_i64(equals + 1, strlen(equals + 1), &setting.integer));
        out->settings[out->count++] = setting;
        word = next;
    }
}

static int64_t value_of(const lin_traced *traced, lin_expr e)
{
    int64_t symbols[LIN_ROLE_COUNT], value = -1;
    for (int role = 0; role < LIN_ROLE_COUNT; role++)
        symbols[role] = traced->role_value[role] < 0 ? 1 : traced->role_value[role];
    assert_true(lin_expr_evaluate(traced->graph->exprs, e, symbols, &value));
    return value;
}

static void print_step(lin_text *out, const lin_traced *traced, const lin_step *step)
{
    lin_text_add(out, step->label);
    bool is_usual = strcmp(step->kind, step->label) == 0 ||
                    strcmp(step->kind, "semantic.call") == 0 ||
                    strcmp(step->label, "reshape (copy)") == 0;
    if (!is_usual)
        lin_text_addf(out, "/%s", step->kind);
    lin_text_addf(out, "<%u", step->input_count);
    if (step->region_read_count > 0)
        lin_text_addf(out, "+%u", step->region_read_count);
    for (uint32_t i = 0; i < step->output_count; i++) {
        lin_text_add(out, i == 0 ? "=" : ",");
        lin_text_i64(out, value_of(traced, traced->graph->objects.items[step->outputs[i]].bytes));
    }
}

static void print_steps(lin_text *out, const lin_traced *traced)
{
    for (uint32_t i = 0; i < traced->graph->steps.count; i++) {
        if (i > 0)
            lin_text_add(out, " | ");
        print_step(out, traced, &traced->graph->steps.items[i]);
    }
}

static linnet_status trace(const lin_source *source, const char *entry, const char *binds,
                           int64_t context, lin_numerics numerics, lin_traced *out,
                           linnet_error *err)
{
    words settings;
    read_binds(&settings, binds);
    const lin_trace_settings trace_settings = {
        .entry = entry,
        .role_given = { false, context != 0, false },
        .role_value = { 0, context, 0 },
        .binds = settings.settings,
        .bind_count = settings.count,
        .numerics = numerics,
        .processes = 1,
    };
    return lin_trace(source, &trace_settings, &lin_default_allocator, out, err);
}

/* ---- steps ---- */

#define LINEAR "use std.nn.linear::{linear, Linear}\n"

static const struct steps_case {
    const char *name, *text, *binds;
    const char *expect;
    lin_numerics numerics; /* exact unless said */
} steps_cases[] = {
    { "elementwise operations are one fresh tensor each",
      HEAD "entry e<N: Dim>(x: Tensor[N; f32], y: Tensor[N; f32]) -> Tensor[N; f32] {\n"
           "return exp(x + y) }",
      "N=4", "add<2=16 | exp<1=16", LIN_NUMERICS_EXACT },
    { "operands broadcast without steps",
      HEAD "entry e<N: Dim>(x: Tensor[N, 3; f32], y: Tensor[3; f32]) -> Tensor[N, 3; f32] {\n"
           "return x * y }",
      "N=4", "mul<2=48", LIN_NUMERICS_EXACT },
    { "an input twice is one input",
      HEAD "entry e<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return x * x }", "N=4",
      "mul<1=16", LIN_NUMERICS_EXACT },
    { "a tensor times a scalar is a scale",
      HEAD "entry e<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return 3.0 * x / 2.0 }", "N=4",
      "mul/scale<1=16 | div/scale<1=16", LIN_NUMERICS_EXACT },
    { "a scalar over a tensor is not",
      HEAD "entry e<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return 2.0 / x }", "N=4",
      "div<1=16", LIN_NUMERICS_EXACT },
    { "a cast to the dtype that a generic turns out to have is no step",
      HEAD "fn f<N: Dim, T: Float>(x: Tensor[N; T]) -> Tensor[N; f32] { return cast<f32>(x) }\n"
           "entry e<N: Dim>(x: Tensor[N; f32], y: Tensor[N; bf16]) -> Tensor[N; f32] {\n"
           "return f(x) + f(y) }",
      "N=4", "cast<1=16 | add<2=16", LIN_NUMERICS_EXACT },
    { "scalar arithmetic is no step",
      HEAD "entry e<N: Dim>(x: Tensor[N; f32], k: i32) -> Tensor[N; f32] {\n"
           "let s = sqrt(cast<f32>(k * 2 + 1))\n return x * s }",
      "N=4", "mul/scale<1=16", LIN_NUMERICS_EXACT },
    { "exact numerics keep x * 1",
      HEAD "entry e<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return exp(x * 1.0 + 0.0) }",
      "N=4", "mul/scale<1=16 | add<1=16 | exp<1=16", LIN_NUMERICS_EXACT },
    { "others drop x * 1, x + 0 and select(c, x, x)",
      HEAD "entry e<N: Dim>(c: Tensor[N; bool], x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
           "return exp(select(c, 1 * x, x + 0)) }",
      "N=4", "exp<1=16", LIN_NUMERICS_EQUIVALENT },
    { "a select that broadcasts stays",
      HEAD "entry e<N: Dim>(c: Tensor[N, 4; bool], x: Tensor[4; f32]) -> Tensor[N, 4; f32] {\n"
           "return select(c, x, x) }",
      "N=2", "select<2=32", LIN_NUMERICS_FAST },

    /* views and copies */
    { "splitting heads is two views",
      HEAD "entry e<N: Dim>(x: Tensor[2, N, 12; f32]) -> Tensor[2, 3, N, 4; f32] {\n"
           "return permute(reshape(x, [2, N, 3, 4]), [0, 2, 1, 3]) }",
      "N=5", "reshape<1=0 | permute<1=0", LIN_NUMERICS_EXACT },
    { "merging heads copies",
      HEAD "entry e<N: Dim>(x: Tensor[2, 3, N, 4; f32]) -> Tensor[2, N, 12; f32] {\n"
           "return reshape(permute(x, [0, 2, 1, 3]), [2, N, 12]) }",
      "N=5", "permute<1=0 | reshape (copy)<1=480", LIN_NUMERICS_EXACT },
    { "merging heads after fused attention is views",
      HEAD "use std.nn.attention::{attention}\n"
           "entry e<N: Dim>(x: Tensor[2, 3, N, 4; f32]) -> Tensor[2, N, 12; f32] {\n"
           "let y = attention(x, x, x, 0.5)\n"
           "return reshape(permute(y, [0, 2, 1, 3]), [2, N, 12]) }",
      "N=5", "attention<1=480 | permute<1=0 | reshape<1=0", LIN_NUMERICS_FAST },
    { "two permutes through a function cancel in memory order",
      HEAD "fn t<M: Dim, N: Dim>(x: Tensor[M, N; f32]) -> Tensor[N, M; f32] {\n"
           "return permute(x, [1, 0]) }\n"
           "entry e<N: Dim>(x: Tensor[2, N; f32]) -> Tensor[2 * N; f32] {\n"
           "return reshape(t(t(x)), [2 * N]) }",
      "N=5", "permute<1=0 | permute<1=0 | reshape<1=0", LIN_NUMERICS_EXACT },
    { "a longer cycle of axes is followed",
      HEAD "fn turn<A: Dim, B: Dim, C: Dim>(x: Tensor[A, B, C; f32]) -> Tensor[C, A, B; f32] {\n"
           "return permute(x, [2, 0, 1]) }\n"
           "entry e(x: Tensor[2, 3, 5; f32]) -> Tensor[30; f32] {\n"
           "return reshape(turn(turn(turn(x))), [30]) }",
      "", "permute<1=0 | permute<1=0 | permute<1=0 | reshape<1=0", LIN_NUMERICS_EXACT },
    { "dropping a middle axis gives views only",
      HEAD "entry e<N: Dim>(x: Tensor[2, N, 6; f32]) -> Tensor[4, 3; f32] where N > 0 {\n"
           "return reshape(x[:, N - 1, :], [4, 3]) }",
      "N=5", "slice<1=0 | reshape<1=0", LIN_NUMERICS_EXACT },
    { "one narrowed axis counts as contiguous, although its rows are strided",
      HEAD "entry e<N: Dim>(x: Tensor[2, N, 6; f32]) -> Tensor[2, N, 2, 2; f32] {\n"
           "return reshape(x[:, :, 0:4], [2, N, 2, 2]) }",
      "N=5", "slice<1=0 | reshape<1=0", LIN_NUMERICS_EXACT },
    { "two narrowed axes do not",
      HEAD "entry e<N: Dim>(x: Tensor[4, N, 6; f32]) -> Tensor[8 * N; f32] {\n"
           "return reshape(x[0:2, :, 0:4], [8 * N]) }",
      "N=5", "slice<1=0 | reshape (copy)<1=160", LIN_NUMERICS_EXACT },
    { "nor does an axis dropped after a narrowed one",
      HEAD "entry e<N: Dim>(x: Tensor[4, N, 6; f32]) -> Tensor[2 * N; f32] {\n"
           "return reshape(x[0:2, :, 0], [2 * N]) }",
      "N=5", "slice<1=0 | reshape (copy)<1=40", LIN_NUMERICS_EXACT },
    { "an axis dropped before a narrowed one is allowed",
      HEAD "entry e<N: Dim>(x: Tensor[4, N, 6; f32]) -> Tensor[4 * N; f32] {\n"
           "return reshape(x[0, :, 0:4], [4 * N]) }",
      "N=5", "slice<1=0 | reshape<1=0", LIN_NUMERICS_EXACT },
    { "a slice that turns out whole is whole",
      HEAD "fn f<M: Dim, N: Dim>(x: Tensor[M, 6; f32]) -> Tensor[min(N, M), 4; f32] {\n"
           "return x[0:N, 0:4] }\n"
           "entry e<N: Dim>(x: Tensor[N, 6; f32]) -> Tensor[4 * N; f32] {\n"
           "return reshape(f<N, N>(x), [4 * N]) }",
      "N=5", "slice<1=0 | reshape<1=0", LIN_NUMERICS_EXACT },
    { "a step has no order",
      HEAD "entry e<N: Dim>(x: Tensor[N, 6; f32]) -> Tensor[3 * N; f32] {\n"
           "return reshape(x[..., 0::2], [3 * N]) }",
      "N=5", "slice<1=0 | reshape (copy)<1=60", LIN_NUMERICS_EXACT },
    { "a slice of a permuted tensor has none",
      HEAD "entry e<N: Dim>(x: Tensor[N, 6; f32]) -> Tensor[4 * N; f32] {\n"
           "return reshape(permute(x, [1, 0])[0:4], [4 * N]) }",
      "N=5", "permute<1=0 | slice<1=0 | reshape (copy)<1=80", LIN_NUMERICS_EXACT },
    { "a broadcast that is reshaped is copied",
      HEAD "entry e<N: Dim>(x: Tensor[2, N; f32]) -> Tensor[6, N; f32] {\n"
           "return reshape(broadcast_to(reshape(x, [2, 1, N]), [2, 3, N]), [6, N]) }",
      "N=5", "reshape<1=0 | broadcast<1=0 | reshape (copy)<1=120", LIN_NUMERICS_EXACT },

    /* data */
    { "data-making operations are fresh",
      HEAD "entry e<N: Dim>(x: Tensor[N; f32], k: i32) -> Tensor[N; f32] {\n"
           "let a = concat(x, fill<f32>([N], 1.0), axis = 0)\n"
           "let b = cumsum(a, axis = 0)\n"
           "let c = cast<f32>(iota<i32>(N))\n"
           "return b[0:N] + c }",
      "N=4", "fill<0=16 | concat<2=32 | cumsum<1=32 | iota<0=16 | cast<1=16 | slice<1=0 | add<2=16",
      LIN_NUMERICS_EXACT },
    { "a runtime position makes a fresh tensor",
      HEAD "entry e<N: Dim>(x: Tensor[N, 6; f32], k: i32) -> Tensor[6; f32] { return x[k] }", "N=4",
      "element<1=24", LIN_NUMERICS_EXACT },
    { "a single element is no step",
      HEAD "entry e<N: Dim>(x: Tensor[N; f32], k: i32) -> Tensor[N; f32] { return x * x[k] }",
      "N=4", "mul/scale<1=16", LIN_NUMERICS_EXACT },

    /* index notation */
    { "a comprehension reads what its region reads",
      HEAD "entry e<M: Dim, K: Dim>(a: Tensor[M, K; f32], w: Tensor[K, K; f32])\n"
           "-> Tensor[M, K; f32] {\n"
           "let p[m, j] = sum[k] a[m, k] * w[k, j]\n return p }",
      "M=2 K=3", "comprehension<2=24", LIN_NUMERICS_EXACT },
    { "positions are read too",
      HEAD "entry e<M: Dim>(a: Tensor[M, M; f32], at: Tensor[M; i32]) -> Tensor[M; f32] {\n"
           "let p[m] = a[m, at[m]]\n return p }",
      "M=2", "comprehension<2=8", LIN_NUMERICS_EXACT },
    { "an iota inside is no step",
      HEAD "entry e<M: Dim>(a: Tensor[M; i64]) -> Tensor[M; i64] {\n"
           "let p[m] = a[m] + iota(M)[m]\n return p }",
      "M=2", "comprehension<1=16", LIN_NUMERICS_EXACT },
    { "a parameter that the region names is read inside",
      HEAD "block R<M: Dim> { param w: Tensor[M; f32]\n"
           "entry e(a: Tensor[M; f32]) -> Tensor[M; f32] {\n"
           "let p[m] = a[m] * w[m]\n return p } }",
      "M=2", "comprehension<1+1=8", LIN_NUMERICS_EXACT },
    { "a parameter that is read before is an input",
      HEAD "block R<M: Dim> { param w: Tensor[M; f32]\n"
           "entry e(a: Tensor[M; f32]) -> Tensor[M; f32] {\n"
           "let v = w\n let p[m] = a[m] * v[m]\n return p } }",
      "M=2", "comprehension<2=8", LIN_NUMERICS_EXACT },
    { "a reduction to a scalar is a step without a result",
      HEAD "entry e<M: Dim>(a: Tensor[M; f32]) -> Tensor[M; f32] {\n"
           "return a * (sum[m] a[m]) }",
      "M=2", "reduce<1 | mul/scale<1=8", LIN_NUMERICS_EXACT },
    { "a called function's operations stay inside",
      HEAD "fn f(x: f32) -> f32 { return exp(x) * 2.0 }\n"
           "entry e<M: Dim>(a: Tensor[M; f32]) -> Tensor[M; f32] {\n"
           "let p[m] = f(a[m])\n return p }",
      "M=2", "comprehension<1=8", LIN_NUMERICS_EXACT },

    /* calls */
    { "a function is followed",
      HEAD "fn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return exp(neg(x)) }\n"
           "fn neg<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return -x }\n"
           "entry e<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return f(x) }",
      "N=4", "neg<1=16 | exp<1=16", LIN_NUMERICS_EXACT },
    { "a native implementation is one step with every tensor operand",
      HEAD LINEAR
      "entry e<N: Dim>(x: Tensor[N, 3; bf16], w: Tensor[5, 3; bf16], b: Tensor[5; bf16])\n"
      "-> Tensor[N, 5; bf16] { return linear(x, w, some(b)) }",
      "N=4", "linear<3=40", LIN_NUMERICS_FAST },
    { "an absent optional is no operand",
      HEAD LINEAR "entry e<N: Dim>(x: Tensor[N, 3; bf16], w: Tensor[5, 3; bf16])\n"
                  "-> Tensor[N, 5; bf16] { return linear(x, w) }",
      "N=4", "linear<2=40", LIN_NUMERICS_FAST },
    { "without one the body is followed",
      HEAD
      "use std.nn.rope::{rope}\n"
      "entry e<N: Dim>(x: Tensor[1, 2, N, 4; f32], c: Tensor[N, 4; f32], s: Tensor[N, 4; f32])\n"
      "-> Tensor[1, 2, N, 4; f32] { return rope(x, c, s) }",
      "N=3", "mul<2=96 | slice<1=0 | slice<1=0 | neg<1=48 | concat<2=96 | mul<2=96 | add<2=96",
      LIN_NUMERICS_FAST },
    { "a collective on one device is its operand",
      HEAD "use std.nn.parallel::{all_reduce, shared}\n"
           "entry e<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
           "return all_reduce(shared(exp(x))) }",
      "N=4", "exp<1=16 | shared<1=0 | all_reduce<1=0", LIN_NUMERICS_FAST },
    { "the same call twice is one step",
      HEAD "fn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return exp(x) }\n"
           "entry e<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { return f(x) + f(x) }",
      "N=4", "exp<1=16 | add<1=16", LIN_NUMERICS_EXACT },
    { "what nobody uses is no step",
      HEAD "entry e<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] { let _ = exp(x)\n return -x }",
      "N=4", "neg<1=16", LIN_NUMERICS_EXACT },

    /* control flow */
    { "static for over blocks is unrolled",
      HEAD "block S<C: Dim> { param gain: Tensor[C; f32]\n"
           "fn f<B: Dim>(x: Tensor[B, C; f32]) -> Tensor[B, C; f32] { return x * gain } }\n"
           "block R<C: Dim, Depth: Dim> { sub steps: [S<C>; Depth]\n"
           "entry e<B: Dim>(x: Tensor[B, C; f32]) -> Tensor[B, C; f32] {\n"
           "var y = x\n static for s in steps { y = s.f(y) + x }\n return y } }",
      "B=1 C=8 Depth=2", "mul<2=32 | add<2=32 | mul<2=32 | add<2=32", LIN_NUMERICS_EXACT },
    { "static for over a range is unrolled, a while loop is walked once",
      HEAD "entry e<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] where N > 0 {\n"
           "var y = x\n static for i in 0..3 { y = y + cast<f32>(i) }\n var n: i32 = 0\n"
           "while n < 10 && (max[k] y[k]) > 1.0 { y = y * 0.5\n n = n + 1 }\n return y }",
      "N=4", "add<1=16 | add<1=16 | add<1=16 | reduce<1 | mul/scale<1=16", LIN_NUMERICS_EXACT },
    { "both sides of an if are walked",
      HEAD "entry e<N: Dim>(x: Tensor[N; f32], c: bool) -> Tensor[N; f32] {\n"
           "let y = if c { exp(x) } else { sin(x) }\n return -y }",
      "N=4", "exp<1=16 | sin<1=16 | neg<1=16", LIN_NUMERICS_EXACT },
    { "for makes the stack first and walks its body once",
      HEAD "entry scan<T: Dim, H: Dim>(xs: Tensor[T, H; f32]) -> Tensor[T, H; f32] {\n"
           "var h = fill<f32>([H], 0.0)\n"
           "let hs = for t in 0..T { h = tanh(h + xs[t])\n yield h }\n return hs }",
      "T=5 H=2", "fill<0=8 | for<0=40 | element<1=8 | add<2=8 | tanh<1=8", LIN_NUMERICS_EXACT },
    { "a match takes the arm of the value there is",
      HEAD "fn f<N: Dim>(x: Tensor[N; f32], by: Tensor[N; f32]? = none) -> Tensor[N; f32] {\n"
           "return match by { some(b) => x + b none => -x } }\n"
           "entry e<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
           "return f(f(x), some(x)) }",
      "N=4", "neg<1=16 | add<2=16", LIN_NUMERICS_EXACT },
    { "an enum constant picks its arm",
      HEAD "enum Pool { First, Mean }\n const KIND: Pool = Pool.Mean\n"
           "entry pool<S: Dim>(x: Tensor[S; f32]) -> Tensor[S; f32] {\n"
           "return match KIND { First => exp(x) Mean => sin(x) } }",
      "S=4", "sin<1=16", LIN_NUMERICS_EXACT },
    { "structs and tuples are no steps",
      HEAD "struct Pair<N: Dim> { lo: Tensor[N; f32]\n hi: Tensor[N; f32] }\n"
           "fn split<N: Dim>(x: Tensor[N; f32]) -> Pair<N> {\n"
           "return Pair(hi = max(x, 0.0), lo = min(x, 0.0)) }\n"
           "entry both<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
           "let p = split(x)\n return p.hi - p.lo }",
      "N=4", "max<1=16 | min<1=16 | sub<2=16", LIN_NUMERICS_EXACT },

    /* state */
    { "a state is written by what the entry makes",
      HEAD "block Counter<N: Dim> { state seen: Tensor[N; f32]\n"
           "entry add(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
           "seen = seen + x\n return seen * 0.5 } }",
      "N=4", "add<2=16 | mul/scale<1=16", LIN_NUMERICS_EXACT },
    { "a cache is written in place",
      HEAD "use std.nn.cache::{write_at}\n"
           "block Cell<D: Dim> { state keys: Tensor[1, 2, 8, D; bf16]\n"
           "entry put(k: Tensor[1, 2, 1, D; bf16], pos: i32) -> Tensor[1, 2, 8, D; bf16] {\n"
           "keys = write_at(keys, k, pos)\n return keys } }",
      "D=4", "write_at<2=0", LIN_NUMERICS_FAST },
    { "unless the old value is read as well",
      HEAD "use std.nn.cache::{write_at}\n"
           "block Cell<D: Dim> { state keys: Tensor[1, 2, 8, D; bf16]\n"
           "entry put(k: Tensor[1, 2, 1, D; bf16], pos: i32) -> Tensor[1, 2, 8, D; bf16] {\n"
           "let old = keys\n keys = write_at(old, k, pos)\n return keys + old } }",
      "D=4", "write_at<2=128 | add<2=128", LIN_NUMERICS_FAST },
    { "a cache that is no state is written to a fresh tensor",
      HEAD "use std.nn.cache::{write_at}\n"
           "entry put(c: Tensor[1, 2, 8, 4; bf16], k: Tensor[1, 2, 1, 4; bf16], pos: i32)\n"
           "-> Tensor[1, 2, 8, 4; bf16] { return write_at(c, k, pos) }",
      "", "write_at<2=128", LIN_NUMERICS_FAST },
};

static void test_steps(void **state)
{
    const struct steps_case *row = *state;
    lin_source *source = parse(row->text);
    lin_traced traced;
    linnet_error err = { 0 };
    char why[128] = "";
    if (trace(source, NULL, row->binds, 0, row->numerics, &traced, &err) != LINNET_OK)
        fail_msg("%u:%u %s", err.line, err.column, err.message);
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    print_steps(&text, &traced);
    assert_string_equal(lin_text_data(&text), row->expect);
    if (!lin_graph_check(traced.graph, why, sizeof why))
        fail_msg("%s", why);
    lin_text_free(&text);
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

/* ---- arithmetic ---- */

static const struct arithmetic_case {
    const char *name, *text, *binds;
    uint32_t step;
    int64_t expect;
    lin_numerics numerics;
} arithmetic_cases[] = {
    { "one an element", HEAD "entry e(x: Tensor[5; f32]) -> Tensor[5; f32] { return exp(x) }", "",
      0, 5, LIN_NUMERICS_EXACT },
    { "nothing for a cast",
      HEAD "entry e(x: Tensor[5; f32]) -> Tensor[5; bf16] { return cast<bf16>(x) }", "", 0, 0,
      LIN_NUMERICS_EXACT },
    { "a contraction is 2 M K N",
      HEAD "entry e(a: Tensor[2, 3; f32], b: Tensor[3, 5; f32]) -> Tensor[2, 5; f32] {\n"
           "let c[i, j] = sum[k] a[i, k] * b[k, j]\n return c }",
      "", 0, 2 * 2 * 3 * 5, LIN_NUMERICS_EXACT },
    { "a stand-alone reduction is its domain times (body + 1)",
      HEAD "entry e(a: Tensor[2, 3; f32]) -> Tensor[2; f32] {\n"
           "let s = sum[i, j] a[i, j] * a[i, j]\n return fill<f32>([2], s) }",
      "", 0, 2 * 3 * 2, LIN_NUMERICS_EXACT },
    { "called functions count through their bodies",
      HEAD "fn f(x: f32) -> f32 { return exp(x) * 2.0 + x }\n"
           "entry e(a: Tensor[7; f32]) -> Tensor[7; f32] { let p[m] = f(a[m])\n return p }",
      "", 0, 3 * 7, LIN_NUMERICS_EXACT },
    { "linear is 2 M In Out",
      HEAD LINEAR
      "entry e(x: Tensor[2, 4, 3; f32], w: Tensor[5, 3; f32]) -> Tensor[2, 4, 5; f32] {\n"
      "return linear(x, w) }",
      "", 0, 2 * 8 * 3 * 5, LIN_NUMERICS_FAST },
    { "a bias counts nothing",
      HEAD LINEAR "entry e(x: Tensor[4, 3; f32], w: Tensor[5, 3; f32], b: Tensor[5; f32])\n"
                  "-> Tensor[4, 5; f32] { return linear(x, w, some(b)) }",
      "", 0, 2 * 4 * 3 * 5, LIN_NUMERICS_FAST },
    { "rms_norm is 7 an element",
      HEAD "use std.nn.norm::{rms_norm}\n"
           "entry e(x: Tensor[4, 3; bf16], w: Tensor[3; bf16]) -> Tensor[4, 3; bf16] {\n"
           "return rms_norm(x, w) }",
      "", 0, 7 * 12, LIN_NUMERICS_FAST },
    { "layer_norm is 10 an element",
      HEAD "use std.nn.norm::{layer_norm}\n"
           "entry e(x: Tensor[4, 3; bf16], w: Tensor[3; bf16]) -> Tensor[4, 3; bf16] {\n"
           "return layer_norm(x, w) }",
      "", 0, 10 * 12, LIN_NUMERICS_FAST },
    { "softmax is 5 an element",
      HEAD "use std.nn.softmax::{softmax}\n"
           "entry e(x: Tensor[4, 3; f32]) -> Tensor[4, 3; f32] { return softmax(x) }",
      "", 0, 5 * 12, LIN_NUMERICS_FAST },
    { "relu is 1",
      HEAD "use std.nn.activations::{relu}\n"
           "entry e(x: Tensor[5; f32]) -> Tensor[5; f32] { return relu(x) }",
      "", 0, 5, LIN_NUMERICS_FAST },
    { "sigmoid is 4",
      HEAD "use std.nn.activations::{sigmoid}\n"
           "entry e(x: Tensor[5; f32]) -> Tensor[5; f32] { return sigmoid(x) }",
      "", 0, 4 * 5, LIN_NUMERICS_FAST },
    { "silu is 5",
      HEAD "use std.nn.activations::{silu}\n"
           "entry e(x: Tensor[5; f32]) -> Tensor[5; f32] { return silu(x) }",
      "", 0, 5 * 5, LIN_NUMERICS_FAST },
    { "gelu is 9",
      HEAD "use std.nn.activations::{gelu}\n"
           "entry e(x: Tensor[5; f32]) -> Tensor[5; f32] { return gelu(x) }",
      "", 0, 9 * 5, LIN_NUMERICS_FAST },
    { "gelu_erf is 23",
      HEAD "use std.nn.activations::{gelu_erf}\n"
           "entry e(x: Tensor[5; f32]) -> Tensor[5; f32] { return gelu_erf(x) }",
      "", 0, 23 * 5, LIN_NUMERICS_FAST },
    { "attention is B H Q K (4 D + 6), with a mask too",
      HEAD
      "use std.nn.attention::{attention}\n"
      "entry e(x: Tensor[2, 3, 5, 4; f32], m: Tensor[5, 5; bool]) -> Tensor[2, 3, 5, 4; f32] {\n"
      "return attention(x, x, x, 0.5, some(m)) }",
      "", 0, 2 * 3 * 5 * 5 * (4 * 4 + 6), LIN_NUMERICS_FAST },
    { "the rows form is 4 D + 7",
      HEAD "use std.nn.attention::{attention_rows}\n"
           "entry e(x: Tensor[2, 3, 5, 4; f32], m: Tensor[2, 5, 5; bool])\n"
           "-> Tensor[2, 3, 5, 4; f32] { return attention_rows(x, x, x, 0.5, m) }",
      "", 0, 2 * 3 * 5 * 5 * (4 * 4 + 7), LIN_NUMERICS_FAST },
    { "embedding is 0",
      HEAD "use std.nn.embedding::{embedding}\n"
           "entry e(x: Tensor[5; i32], w: Tensor[7, 3; f32]) -> Tensor[5, 3; f32] {\n"
           "return embedding(x, w) }",
      "", 0, 0, LIN_NUMERICS_FAST },
    { "linear_cross_entropy is N (2 H V + 4 V + 6)",
      HEAD "use std.nn.loss::{linear_cross_entropy}\n"
           "entry e(x: Tensor[4, 3; bf16], w: Tensor[7, 3; bf16], t: Tensor[4; i64],\n"
           "k: Tensor[4; f32]) -> f32 { return linear_cross_entropy(x, w, t, k) }",
      "", 0, 4 * (2 * 3 * 7 + 4 * 7 + 6), LIN_NUMERICS_FAST },
    { "linear_token_log_probs is N (2 H V + 4 V + 3)",
      HEAD "use std.nn.loss::{linear_token_log_probs}\n"
           "entry e(x: Tensor[4, 3; bf16], w: Tensor[7, 3; bf16], t: Tensor[4; i64])\n"
           "-> Tensor[4; f32] { return linear_token_log_probs(x, w, t) }",
      "", 0, 4 * (2 * 3 * 7 + 4 * 7 + 3), LIN_NUMERICS_FAST },
    { "linear_experts is 2 R K In Out",
      HEAD "use std.nn.moe::{linear_experts}\n"
           "entry e(x: Tensor[4, 2, 3; bf16], w: Tensor[6, 5, 3; bf16], k: Tensor[4, 2; i64])\n"
           "-> Tensor[4, 2, 5; bf16] { return linear_experts(x, w, k) }",
      "", 0, 2 * 4 * 2 * 3 * 5, LIN_NUMERICS_FAST },
};

static void test_arithmetic(void **state)
{
    const struct arithmetic_case *row = *state;
    lin_source *source = parse(row->text);
    lin_traced traced;
    linnet_error err = { 0 };
    if (trace(source, NULL, row->binds, 0, row->numerics, &traced, &err) != LINNET_OK)
        fail_msg("%u:%u %s", err.line, err.column, err.message);
    assert_int_equal(value_of(&traced, traced.graph->steps.items[row->step].arithmetic),
                     row->expect);
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

/* ---- refusals ---- */

static const struct refusal_case {
    const char *name, *text, *entry, *binds;
    int64_t context;
    linnet_status expect;
    const char *says;
} refusal_cases[] = {
    { "generics without a value are named together",
      HEAD "entry e<A: Dim, B: Dim>(x: Tensor[A, B; f32]) -> Tensor[A, B; f32] { return -x }", NULL,
      "", 0, LINNET_ERROR_ARGUMENT, "`A`, `B`" },
    { "a generic that nothing has, with the nearest",
      HEAD "entry e<Width: Dim>(x: Tensor[Width; f32]) -> Tensor[Width; f32] { return -x }", NULL,
      "Widht=4", 0, LINNET_ERROR_ARGUMENT, "did you mean `Width`" },
    { "a size of the job of 0",
      HEAD "entry e<S: Dim>(x: Tensor[S; f32]) -> Tensor[S; f32] { return -x }", NULL, "S=0", 0,
      LINNET_ERROR_ARGUMENT, "at least 1" },
    { "a count below 0", HEAD "entry e<A: Dim>(x: Tensor[A; f32]) -> Tensor[A; f32] { return -x }",
      NULL, "A=-1", 0, LINNET_ERROR_ARGUMENT, "at least 0" },
    { "a dimension that is a dtype",
      HEAD "entry e<A: Dim>(x: Tensor[A; f32]) -> Tensor[A; f32] { return -x }", NULL, "A=bf16", 0,
      LINNET_ERROR_ARGUMENT, "takes a number" },
    { "a dtype that is a number",
      HEAD "entry e<T: Float>(x: Tensor[4; T]) -> Tensor[4; T] { return -x }", NULL, "T=4", 0,
      LINNET_ERROR_ARGUMENT, "takes a dtype" },
    { "a dtype outside its class",
      HEAD "entry e<T: Float>(x: Tensor[4; T]) -> Tensor[4; T] { return -x }", NULL, "T=i32", 0,
      LINNET_ERROR_ARGUMENT, "a float dtype" },
    { "a context below 1",
      HEAD "entry e<S: Dim>(x: Tensor[S; f32]) -> Tensor[S; f32] { return -x }", NULL, "", -1,
      LINNET_ERROR_ARGUMENT, "context" },
    { "an entry that is not there",
      HEAD "entry forward(x: Tensor[4; f32]) -> Tensor[4; f32] { return -x }", "forwrad", "", 0,
      LINNET_ERROR_NOT_FOUND, "`forward`" },
    { "several entries and none asked for",
      HEAD "entry a(x: Tensor[4; f32]) -> Tensor[4; f32] { return -x }\n"
           "entry b(x: Tensor[4; f32]) -> Tensor[4; f32] { return -x }",
      NULL, "", 0, LINNET_ERROR_ARGUMENT, "`a`, `b`" },
    { "no entry at all", HEAD "fn a(x: Tensor[4; f32]) -> Tensor[4; f32] { return -x }", NULL, "",
      0, LINNET_ERROR_NOT_FOUND, "no entry" },
    { "several roots",
      HEAD "block A { entry a(x: Tensor[4; f32]) -> Tensor[4; f32] { return -x } }\n"
           "block B { entry a(x: Tensor[4; f32]) -> Tensor[4; f32] { return -x } }",
      NULL, "", 0, LINNET_ERROR_ARGUMENT, "`A`, `B`" },
    { "an array of free length",
      HEAD "block S { param g: Tensor[4; f32] }\n"
           "block R<S: Dim> { sub s: [S_; S]\n"
           "entry e(x: Tensor[4; f32]) -> Tensor[4; f32] { return -x } }\n"
           "block S_ { param g: Tensor[4; f32] }",
      NULL, "", 8, LINNET_ERROR_ARGUMENT, "`context` is free" },
    { "a static for to a free bound",
      HEAD "entry e<S: Dim>(x: Tensor[S; f32]) -> Tensor[S; f32] {\n"
           "var y = x\n static for i in 0..S { y = -y }\n return y }",
      NULL, "", 8, LINNET_ERROR_ARGUMENT, "`context` is free" },
    { "a tensor past 64 bits",
      HEAD "entry e<A: Dim>(x: Tensor[A, A; f32]) -> Tensor[A, A; f32] { return -x }", NULL,
      "A=4294967296", 0, LINNET_ERROR_OVERFLOW, "64 bits" },
    { "a shape generic of the entry",
      HEAD "entry e<*S: Shape>(x: Tensor[*S; f32]) -> Tensor[*S; f32] { return -x }", NULL, "", 0,
      LINNET_ERROR_UNSUPPORTED, "`S`" },
    { "more steps than a walk may take",
      HEAD "entry e<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
           "var y = x\n static for i in 0..2000000 { y = -y }\n return y }",
      NULL, "N=4", 0, LINNET_ERROR_UNSUPPORTED, "1000000 steps" },
    { "an enum that is not known",
      HEAD "enum P { A, B }\n entry e(x: Tensor[4; f32], p: P) -> Tensor[4; f32] {\n"
           "return match p { A => -x B => x + x } }",
      NULL, "", 0, LINNET_ERROR_UNSUPPORTED, "not known while tracing" },
};

static void test_refusal(void **state)
{
    const struct refusal_case *row = *state;
    lin_source *source = parse(row->text);
    lin_traced traced = { 0 };
    linnet_error err = { 0 };
    linnet_status status =
        trace(source, row->entry, row->binds, row->context, LIN_NUMERICS_FAST, &traced, &err);
    if (status != row->expect || !strstr(err.message, row->says))
        fail_msg("status %d, %s", status, err.message);
    assert_int_equal(err.code, row->expect);
    assert_null(traced.graph);
    lin_source_free(source);
}

/* ---- persistent objects ---- */

static const char hierarchy[] = HEAD
    "use std.nn.cache::{write_at}\n"
    "block Leaf<C: Dim> where C > 0 { param w: Tensor[C; bf16]\n param b: Tensor[C; bf16]? = none\n"
    "state keys: Tensor[1, 2, C, 4; bf16]\n state seen: Tensor[C; f32]\n"
    "fn f(x: Tensor[C; bf16], k: Tensor[1, 2, 1, 4; bf16], at: i32) -> Tensor[C; bf16] {\n"
    "keys = write_at(keys, k, at)\n seen = seen * 0.5\n"
    "return match b { some(v) => x + v none => x * w } } }\n"
    "block R<C: Dim, N: Dim> where C > 4, C % 2 == 0 { param e: Tensor[C; bf16]\n"
    "buffer t: Tensor[C; f32]\n"
    "sub leaves: [Leaf<C>; N]\n sub extra: Leaf<C>? = none\n param h: Tensor[C; bf16]\n"
    "entry e1(x: Tensor[C; bf16], k: Tensor[1, 2, 1, 4; bf16]) -> Tensor[C; bf16]\n"
    "where C < 100 {\n"
    "var y = x * e + h\n static for l in leaves { y = l.f(y, k, 0) }\n return y } }";

typedef struct bound_source {
    lin_source *source;
    lin_source copy; /* with bindings */
} bound_source;

static bound_source with_bindings(const lin_weight_binding *bindings, uint32_t count)
{
    bound_source bound = { .source = parse(hierarchy) };
    bound.copy = *bound.source;
    bound.copy.bindings = bindings;
    bound.copy.binding_count = count;
    bound.copy.has_bindings = count > 0;
    return bound;
}

static const struct objects_case {
    const char *name;
    lin_weight_binding bindings[5];
    uint32_t binding_count;
    const char *optional;
    const char *expect; /* path:category:bytes */
    linnet_status status;
} objects_cases[] = {
    { "manifest order, optional ones absent",
      { { NULL, NULL } },
      0,
      NULL,
      "e:parameters:16 t:buffers:32 leaves.0.w:parameters:16 leaves.1.w:parameters:16 "
      "leaves.0.keys:kv_cache:128 leaves.1.keys:kv_cache:128 leaves.0.seen:state:32 "
      "leaves.1.seen:state:32 h:parameters:16",
      LINNET_OK },
    { "a bound path is present, paths of one tensor are tied",
      { { "h", "head" }, { "e", "head" }, { "leaves.1.b", "bias" }, { "leaves.7.b", "none" } },
      4,
      NULL,
      "e:parameters:0 t:buffers:32 leaves.0.w:parameters:16 leaves.1.w:parameters:16 "
      "leaves.1.b:parameters:16 "
      "leaves.0.keys:kv_cache:128 leaves.1.keys:kv_cache:128 leaves.0.seen:state:32 "
      "leaves.1.seen:state:32 h:parameters:16",
      LINNET_OK },
    { "a path of the manifest binds every element, {i} is its index",
      { { "leaves[*].b", "layer.{i}.b" }, { "h", "layer.1.b" }, { "leaves[*].w", "w" } },
      3,
      NULL,
      "e:parameters:16 t:buffers:32 leaves.0.w:parameters:16 leaves.1.w:parameters:0 "
      "leaves.0.b:parameters:16 leaves.1.b:parameters:16 "
      "leaves.0.keys:kv_cache:128 leaves.1.keys:kv_cache:128 leaves.0.seen:state:32 "
      "leaves.1.seen:state:32 h:parameters:0",
      LINNET_OK },
    { "a concrete path goes before one of the manifest",
      { { "leaves[*].w", "w.{i}" }, { "leaves.1.w", "h" }, { "h", "h" } },
      3,
      NULL,
      "e:parameters:16 t:buffers:32 leaves.0.w:parameters:16 leaves.1.w:parameters:16 "
      "leaves.0.keys:kv_cache:128 leaves.1.keys:kv_cache:128 leaves.0.seen:state:32 "
      "leaves.1.seen:state:32 h:parameters:0",
      LINNET_OK },
    { "an optional block is present when a bound path lies under it",
      { { "extra.w", "x" } },
      1,
      NULL,
      "e:parameters:16 t:buffers:32 leaves.0.w:parameters:16 leaves.1.w:parameters:16 "
      "leaves.0.keys:kv_cache:128 leaves.1.keys:kv_cache:128 leaves.0.seen:state:32 "
      "leaves.1.seen:state:32 extra.w:parameters:16 extra.keys:kv_cache:128 extra.seen:state:32 "
      "h:parameters:16",
      LINNET_OK },
    { "an optional path names one parameter",
      { { NULL, NULL } },
      0,
      "leaves.0.b",
      "e:parameters:16 t:buffers:32 leaves.0.w:parameters:16 leaves.1.w:parameters:16 "
      "leaves.0.b:parameters:16 "
      "leaves.0.keys:kv_cache:128 leaves.1.keys:kv_cache:128 leaves.0.seen:state:32 "
      "leaves.1.seen:state:32 h:parameters:16",
      LINNET_OK },
    { "as in the manifest it names all of them",
      { { NULL, NULL } },
      0,
      "leaves[*].b",
      "e:parameters:16 t:buffers:32 leaves.0.w:parameters:16 leaves.1.w:parameters:16 "
      "leaves.0.b:parameters:16 leaves.1.b:parameters:16 "
      "leaves.0.keys:kv_cache:128 leaves.1.keys:kv_cache:128 leaves.0.seen:state:32 "
      "leaves.1.seen:state:32 h:parameters:16",
      LINNET_OK },
    { "a path under an optional block makes the block present",
      { { NULL, NULL } },
      0,
      "extra.b",
      "e:parameters:16 t:buffers:32 leaves.0.w:parameters:16 leaves.1.w:parameters:16 "
      "leaves.0.keys:kv_cache:128 leaves.1.keys:kv_cache:128 leaves.0.seen:state:32 "
      "leaves.1.seen:state:32 extra.w:parameters:16 extra.b:parameters:16 extra.keys:kv_cache:128 "
      "extra.seen:state:32 h:parameters:16",
      LINNET_OK },
    { "a path that names nothing",
      { { NULL, NULL } },
      0,
      "leaves.0.c",
      "did you mean `leaves.0.b`",
      LINNET_ERROR_NOT_FOUND },
    { "bindings of another model",
      { { "layers.0.w", "x" }, { "layers.1.w", "y" } },
      2,
      NULL,
      "layers.0.w",
      LINNET_ERROR_FORMAT },
};

static void print_objects(lin_text *out, const lin_traced *traced)
{
    for (uint32_t i = 0; i < traced->graph->parameter_objects; i++) {
        const lin_object *object = &traced->graph->objects.items[i];
        lin_text_addf(out, "%s%s:%s:%d", i > 0 ? " " : "", object->path,
                      lin_category_name(object->category), (int)value_of(traced, object->bytes));
    }
}

static void test_objects(void **state)
{
    const struct objects_case *row = *state;
    bound_source bound = with_bindings(row->bindings, row->binding_count);
    static const lin_setting binds[] = { { .name = "C", .integer = 8 },
                                         { .name = "N", .integer = 2 } };
    const lin_trace_settings settings = { .binds = binds,
                                          .bind_count = 2,
                                          .optional_paths = &row->optional,
                                          .optional_count = row->optional ? 1 : 0,
                                          .numerics = LIN_NUMERICS_FAST,
                                          .processes = 1 };
    lin_traced traced;
    linnet_error err = { 0 };
    linnet_status status = lin_trace(&bound.copy, &settings, &lin_default_allocator, &traced, &err);
    if (status != row->status)
        fail_msg("status %d, %s", status, err.message);
    if (status != LINNET_OK) {
        assert_non_null(strstr(err.message, row->expect));
    } else {
        lin_text text;
        lin_text_init(&text, &lin_default_allocator);
        print_objects(&text, &traced);
        assert_string_equal(lin_text_data(&text), row->expect);
        lin_text_free(&text);
        lin_graph_free(traced.graph);
    }
    lin_source_free(bound.source);
}

/* ---- what else a trace leaves ---- */

static lin_traced trace_hierarchy(lin_source **out_source)
{
    lin_traced traced;
    linnet_error err = { 0 };
    *out_source = parse(hierarchy);
    if (trace(*out_source, NULL, "C=8 N=2", 0, LIN_NUMERICS_FAST, &traced, &err) != LINNET_OK)
        fail_msg("%u:%u %s", err.line, err.column, err.message);
    return traced;
}

static void test_relations(void **state)
{
    (void)state;
    lin_source *source;
    lin_traced traced = trace_hierarchy(&source);
    assert_int_equal(traced.graph->relations.count, 3);
    assert_string_equal(traced.graph->relations.items[0].text, "C > 4");
    assert_string_equal(traced.graph->relations.items[1].text, "C % 2 == 0");
    assert_string_equal(traced.graph->relations.items[2].text, "C < 100");
    assert_int_equal(traced.graph->relations.items[2].comparison, LIN_LT);
    assert_int_equal(value_of(&traced, traced.graph->relations.items[0].left), 8);
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

/* The states that were not written in place live on beside the declared ones. */
static void test_outputs(void **state)
{
    (void)state;
    lin_source *source;
    lin_traced traced = trace_hierarchy(&source);
    const lin_graph *graph = traced.graph;
    assert_int_equal(graph->outputs.count, 3); /* the result, and `seen` of two leaves */
    for (uint32_t i = 0; i < graph->outputs.count; i++) {
        const lin_object *object = &graph->objects.items[graph->outputs.items[i]];
        assert_true(object->producer >= 0);
        assert_false(object->persistent);
    }
    assert_string_equal(graph->steps.items[2].scope, "leaves.0");
    assert_string_equal(graph->steps.items[0].scope, "");
    assert_string_equal(graph->entry, "e1");
    assert_string_equal(graph->root, "R");
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

static void test_bound(void **state)
{
    (void)state;
    lin_source *source;
    lin_traced traced = trace_hierarchy(&source);
    assert_int_equal(traced.bound_count, 2);
    assert_string_equal(traced.bound[0].name, "C");
    assert_int_equal(traced.bound[0].integer, 8);
    assert_string_equal(traced.bound[1].name, "N");
    assert_string_equal(traced.dtype, "");
    assert_int_equal(traced.role_value[LIN_ROLE_CONTEXT], -1);
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

static void test_returned_input(void **state)
{
    (void)state;
    lin_source *source =
        parse(HEAD "entry e(x: Tensor[4; f32]) -> (Tensor[4; f32], Tensor[4; f32]) {\n"
                   "return (x, x) }");
    lin_traced traced;
    assert_int_equal(trace(source, NULL, "", 0, LIN_NUMERICS_FAST, &traced, NULL), LINNET_OK);
    assert_int_equal(traced.graph->steps.count, 0);
    assert_int_equal(traced.graph->outputs.count, 1);
    uint32_t count = 0;
    const lin_lifetime *lifetimes = lin_graph_lifetimes(&traced.graph->arena, traced.graph, &count);
    assert_int_equal(count, 1);
    assert_int_equal(lifetimes[0].end_step, 1);
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

/* ---- roles ---- */

static const struct role_case {
    const char *name;
    bool given[LIN_ROLE_COUNT];
    int64_t value[LIN_ROLE_COUNT];
    bool vary[LIN_ROLE_COUNT];
    int64_t expect[LIN_ROLE_COUNT]; /* -1: not free */
    const char *bytes;              /* of the first input, as a formula */
} role_cases[] = {
    { "no role is free", { false }, { 0 }, { false }, { -1, -1, -1 }, "640" },
    { "a given role is a symbol",
      { true, false, false },
      { 4, 0, 0 },
      { false },
      { 4, -1, -1 },
      "320 * batch" },
    { "the cache follows the context",
      { false, true, false },
      { 0, 7, 0 },
      { false },
      { -1, 7, 7 },
      "8 * context * cache" },
    { "unless it has a length of its own",
      { false, true, true },
      { 0, 7, 9 },
      { false },
      { -1, 7, 9 },
      "8 * context * cache" },
    { "a search frees a role that is not given",
      { false },
      { 0 },
      { true, false, false },
      { 1, -1, -1 },
      "320 * batch" },
};

static void test_roles(void **state)
{
    const struct role_case *row = *state;
    lin_source *source = parse(
        HEAD
        "block R<Batch: Dim, MaxSeq: Dim> {\n"
        "entry e<S: Dim>(x: Tensor[Batch, S, MaxSeq; f32]) -> Tensor[Batch, S, MaxSeq; f32] {\n"
        "return -x } }");
    static const lin_setting values[] = { { .name = "Batch", .integer = 2 },
                                          { .name = "S", .integer = 8 },
                                          { .name = "MaxSeq", .integer = 10 } };
    lin_setting binds[LIN_ROLE_COUNT];
    lin_trace_settings settings = { .binds = binds, .processes = 1 };
    for (int role = 0; role < LIN_ROLE_COUNT; role++)
        if (row->expect[role] < 0)
            binds[settings.bind_count++] = values[role];
    memcpy(settings.role_given, row->given, sizeof row->given);
    memcpy(settings.role_value, row->value, sizeof row->value);
    memcpy(settings.role_vary, row->vary, sizeof row->vary);
    lin_traced traced;
    assert_int_equal(lin_trace(source, &settings, &lin_default_allocator, &traced, NULL),
                     LINNET_OK);
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    for (int role = 0; role < LIN_ROLE_COUNT; role++) {
        assert_int_equal(traced.role_value[role], row->expect[role]);
        assert_int_equal(traced.graph->role_free[role], row->expect[role] >= 0);
    }
    lin_expr_print(&text, traced.graph->exprs, traced.graph->objects.items[0].bytes);
    assert_string_equal(lin_text_data(&text), row->bytes);
    lin_text_free(&text);
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

/* ---- explain ---- */

static void test_explain(void **state)
{
    (void)state;
    lin_source *source = parse(
        HEAD "use std.nn.attention::{grouped_attention}\n use std.nn.norm::{rms_norm}\n"
             "entry e(q: Tensor[1, 4, 2, 8; f32], k: Tensor[1, 2, 2, 8; f32], w: Tensor[8; f32])\n"
             "-> Tensor[1, 4, 2, 8; f32] { return rms_norm(grouped_attention(q, k, k, 0.5), w) }");
    lin_arena arena;
    const lin_op_choice *rows = NULL;
    uint32_t count = 0;
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(lin_trace_explain(source, LIN_NUMERICS_FAST, &arena, &rows, &count, NULL),
                     LINNET_OK);
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].op, "std.nn.attention::grouped_attention");
    assert_string_equal(rows[1].implementation, "torch.rms_norm(input dtype)");
    /* Exact: the body of the one calls the ungrouped form, whose body calls softmax. */
    assert_int_equal(lin_trace_explain(source, LIN_NUMERICS_EXACT, &arena, &rows, &count, NULL),
                     LINNET_OK);
    assert_int_equal(count, 4);
    assert_string_equal(rows[0].op, "std.nn.attention::attention");
    assert_null(rows[0].implementation);
    assert_string_equal(rows[3].op, "std.nn.softmax::softmax");
    lin_arena_free(&arena);
    lin_source_free(source);
}

/* ---- no memory ---- */

typedef struct failing {
    uint64_t requests, fail_at;
    bool only_once;
} failing;

static void *failing_alloc(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    failing *f = user;
    if (new_size > 0) {
        f->requests++;
        if (f->requests == f->fail_at || (f->requests > f->fail_at && !f->only_once))
            return NULL;
    }
    return lin_default_allocator.fn(lin_default_allocator.user, ptr, old_size, new_size);
}

static void run_failing(const lin_source *source, bool only_once)
{
    static const lin_setting binds[] = { { .name = "C", .integer = 8 },
                                         { .name = "N", .integer = 2 } };
    const lin_trace_settings settings = { .binds = binds, .bind_count = 2, .processes = 1 };
    for (uint64_t n = 1;; n++) {
        failing f = { .fail_at = n, .only_once = only_once };
        const lin_allocator allocator = { failing_alloc, &f };
        lin_traced traced = { 0 };
        linnet_error err = { 0 };
        linnet_status status = lin_trace(source, &settings, &allocator, &traced, &err);
        if (status == LINNET_OK) {
            lin_graph_free(traced.graph);
            return;
        }
        assert_int_equal(status, LINNET_ERROR_NO_MEMORY);
        assert_null(traced.graph);
    }
}

static void explain_failing(const lin_source *source)
{
    for (uint64_t n = 1;; n++) {
        failing f = { .fail_at = n, .only_once = true };
        const lin_allocator allocator = { failing_alloc, &f };
        lin_arena arena;
        const lin_op_choice *rows = NULL;
        uint32_t count = 0;
        lin_arena_init(&arena, &allocator);
        linnet_status status =
            lin_trace_explain(source, LIN_NUMERICS_FAST, &arena, &rows, &count, NULL);
        lin_arena_free(&arena);
        if (status == LINNET_OK)
            return;
        assert_int_equal(status, LINNET_ERROR_NO_MEMORY);
        assert_null(rows);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    lin_source *source = parse(hierarchy);
    run_failing(source, true);
    run_failing(source, false);
    explain_failing(source);
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
    struct CMUnitTest tests[160];
    size_t count = 0;
    ROWS(test_steps, steps_cases);
    ROWS(test_arithmetic, arithmetic_cases);
    ROWS(test_refusal, refusal_cases);
    ROWS(test_objects, objects_cases);
    ROWS(test_roles, role_cases);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_relations);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_outputs);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_bound);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_returned_input);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_explain);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_no_memory);
    return _cmocka_run_group_tests("trace", tests, count, NULL, NULL);
}
