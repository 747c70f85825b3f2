/* SPDX-License-Identifier: MIT */

/*
 * The parser, by rows: how expressions group, what statements and items print as, every syntax
 * error with its place. Everything that parses also makes the round trip parse, print, parse,
 * print. The limits at the end: depth, and time that grows with the text and no faster.
 */

#include "lang/syntax.h"
#include "lang/syntax_print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parsed {
    lin_arena arena;
    lin_names *names;
    lin_diagnostics diagnostics;
    ast_file *file;
} parsed;

/* The arena has no jump target: the host's allocator does not fail in these tests. */
static void parse(parsed *out, const char *text, uint64_t length)
{
    lin_source_file source = { .name = "a.linnet", .text = text, .length = (uint32_t)length };
    lin_arena_init(&out->arena, &lin_default_allocator);
    lin_diagnostics_init(&out->diagnostics, &lin_default_allocator, 100);
    out->names = lin_names_new(&out->arena);
    out->file = lin_parse(&out->arena, out->names, &source, &out->diagnostics);
    assert_non_null(out->file);
    assert_false(out->diagnostics.failed);
    lin_diagnostics_sort(&out->diagnostics);
}

static void drop(parsed *p)
{
    lin_diagnostics_free(&p->diagnostics);
    lin_arena_free(&p->arena);
}

static void expect_no_findings(const parsed *p)
{
    lin_text text;
    if (p->diagnostics.list.count == 0)
        return;
    lin_text_init(&text, &lin_default_allocator);
    lin_diagnostics_print(&text, &p->diagnostics, false);
    print_error("%s", lin_text_data(&text));
    lin_text_free(&text);
    fail_msg("the text does not parse");
}

/* Parses, prints into `out`, and checks that the print prints as itself. */
static void round_trip(lin_text *out, const char *text, uint64_t length)
{
    parsed first, second;
    lin_text again;
    parse(&first, text, length);
    expect_no_findings(&first);
    lin_syntax_print(out, first.names, first.file);
    parse(&second, lin_text_data(out), out->length);
    expect_no_findings(&second);
    lin_text_init(&again, &lin_default_allocator);
    lin_syntax_print(&again, second.names, second.file);
    assert_string_equal(lin_text_data(&again), lin_text_data(out));
    lin_text_free(&again);
    drop(&second);
    drop(&first);
}

/* ---- expressions, as trees ---- */

static void show(syntax_printer *pr, const ast_expr *e);

static void show_list(syntax_printer *pr, const char *word, ast_expr *const *items, uint32_t count)
{
    lin_text_addf(pr->out, "(%s", word);
    for (uint32_t i = 0; i < count; i++) {
        lin_text_add(pr->out, " ");
        show(pr, items[i]);
    }
    lin_text_add(pr->out, ")");
}

static void show_call(syntax_printer *pr, const ast_expr *e)
{
    lin_text_add(pr->out, "(call ");
    show(pr, e->as.call.callee);
    for (uint32_t i = 0; i < e->as.call.type_args.count; i++) {
        const ast_type_arg *arg = &e->as.call.type_args.items[i];
        lin_text_add(pr->out, arg->type != NULL ? " type:" : " dim:");
        if (arg->type != NULL)
            lin_print_type(pr, arg->type);
        else
            show(pr, arg->dim);
    }
    for (uint32_t i = 0; i < e->as.call.arg_count; i++) {
        const ast_arg *arg = &e->as.call.args[i];
        lin_text_addf(pr->out, " %s%s", lin_names_text(pr->names, arg->keyword.name),
                      arg->keyword.name != 0 ? "=" : "");
        show(pr, arg->value);
    }
    lin_text_add(pr->out, ")");
}

static void show_part(syntax_printer *pr, const ast_expr *e)
{
    if (e != NULL)
        show(pr, e);
}

static void show_index(syntax_printer *pr, const ast_expr *e)
{
    lin_text_add(pr->out, "(index ");
    show(pr, e->as.index.base);
    for (uint32_t i = 0; i < e->as.index.count; i++) {
        const ast_component *c = &e->as.index.components[i];
        lin_text_add(pr->out, " ");
        if (c->kind == AST_INDEX_ELLIPSIS)
            lin_text_add(pr->out, "...");
        else if (c->kind == AST_INDEX_PACK)
            lin_text_addf(pr->out, "*%s", lin_names_text(pr->names, c->pack.name));
        else if (c->kind == AST_INDEX_EXPR)
            show(pr, c->expr);
        if (c->kind != AST_INDEX_SLICE)
            continue;
        show_part(pr, c->start);
        lin_text_add(pr->out, ":");
        show_part(pr, c->stop);
        lin_text_add(pr->out, ":");
        show_part(pr, c->step);
    }
    lin_text_add(pr->out, ")");
}

static void show_binary(syntax_printer *pr, const ast_expr *e)
{
    static const char *const spellings[] = { "||", "&&", "==", "!=", "<", "<=", ">", ">=",
                                             "|",  "^",  "&",  "+",  "-", "*",  "/", "%" };
    ast_expr *const sides[] = { e->as.binary.left, e->as.binary.right };
    show_list(pr, spellings[e->as.binary.op], sides, 2);
}

static void show_reduce(syntax_printer *pr, const ast_expr *e)
{
    static const char *const words[] = { "sum", "prod", "max", "min", "any", "all" };
    lin_text_addf(pr->out, "(%s", words[e->as.reduce.reduction]);
    if (e->as.reduce.accumulator != NULL) {
        lin_text_add(pr->out, ":");
        lin_print_type(pr, e->as.reduce.accumulator);
    }
    for (uint32_t i = 0; i < e->as.reduce.count; i++)
        lin_text_addf(pr->out, " %s", lin_names_text(pr->names, e->as.reduce.indices[i].name));
    lin_text_add(pr->out, " of ");
    show(pr, e->as.reduce.body);
    lin_text_add(pr->out, ")");
}

static void show_match(syntax_printer *pr, const ast_expr *e)
{
    lin_text_add(pr->out, "(match ");
    show(pr, e->as.match.value);
    for (uint32_t i = 0; i < e->as.match.count; i++) {
        lin_text_add(pr->out, " ");
        lin_print_pattern(pr, e->as.match.arms[i].pattern);
        lin_text_add(pr->out, "=>");
        show(pr, e->as.match.arms[i].value);
    }
    lin_text_add(pr->out, ")");
}

static void show(syntax_printer *pr, const ast_expr *e)
{
    static const char *const unary[] = { "!", "neg", "pos" };
    switch (e->kind) {
    case AST_SOME:
        show_list(pr, "some", (ast_expr *const[]){ e->as.inner }, 1);
        break;
    case AST_PAREN:
        show(pr, e->as.inner);
        break;
    case AST_TUPLE:
        show_list(pr, "tuple", e->as.list.items, e->as.list.count);
        break;
    case AST_SHAPE:
        show_list(pr, "shape", e->as.list.items, e->as.list.count);
        break;
    case AST_CALL:
        show_call(pr, e);
        break;
    case AST_INDEX:
        show_index(pr, e);
        break;
    case AST_MEMBER:
        lin_text_add(pr->out, "(. ");
        show(pr, e->as.member.base);
        lin_text_addf(pr->out, " %s)", lin_names_text(pr->names, e->as.member.member.name));
        break;
    case AST_UNARY:
        show_list(pr, unary[e->as.unary.op], (ast_expr *const[]){ e->as.unary.operand }, 1);
        break;
    case AST_BINARY:
        show_binary(pr, e);
        break;
    case AST_IF:
        show_list(pr, "if",
                  (ast_expr *const[]){ e->as.branch.condition, e->as.branch.then_value,
                                       e->as.branch.else_value },
                  3);
        break;
    case AST_MATCH:
        show_match(pr, e);
        break;
    case AST_REDUCE:
        show_reduce(pr, e);
        break;
    default:
        lin_print_expr(pr, e);
    }
}

/* clang-format off */
static const struct expr_case {
    const char *name, *text, *expect;
} expr_cases[] = {
    { "operators of one level group to the left", "a - b + c", "(+ (- a b) c)" },
    { "products bind closer than sums", "a + b * c % d", "(+ a (% (* b c) d))" },
    { "all levels in order", "a || b && c == d < e | f ^ g & h + i * j",
      "(|| a (&& b (== c (< d (| e (^ f (& g (+ h (* i j)))))))))" },
    { "all levels against the order", "a * b + c & d ^ e | f < g == h && i || j",
      "(|| (&& (== (< (| (^ (& (+ (* a b) c) d) e) f) g) h) i) j)" },
    { "comparisons chain to the left", "a < b <= c > d >= e", "(>= (> (<= (< a b) c) d) e)" },
    { "equalities bind looser than orderings", "a == b < c != d", "(!= (== a (< b c)) d)" },
    { "parentheses group", "(a + b) * c", "(* (+ a b) c)" },
    { "a prefix binds closer than a binary operator", "-a * !b + +c", "(+ (* (neg a) (! b)) (pos c))" },
    { "a prefix binds looser than suffixes", "-x[0].y(z)", "(neg (call (. (index x 0) y) z))" },
    { "a binary operator before a prefix", "a - -b", "(- a (neg b))" },
    { "literals", "f(0x1F, 0b101, 1_000, 1.5, 1e3, true, false, none, \"s\")",
      "(call f 31 5 1000 1.5 1000.0 true false none \"\")" },
    { "the largest integer", "9223372036854775807", "9223372036854775807" },
    { "an integer past the largest still parses", "9223372036854775809", "9223372036854775808" },
    { "some of a value", "some(a + b)", "(some (+ a b))" },
    { "tuples", "((a, b), c,)", "(tuple (tuple a b) c)" },
    { "shape literals", "[[], [A], [A, B,]]", "(shape (shape) (shape A) (shape A B))" },
    { "calls with keywords", "f(a, b = c, d = e,)", "(call f a b=c d=e)" },
    { "calls of calls", "f()(x)()", "(call (call (call f) x))" },
    { "members and calls", "a.b.c(d).e", "(. (call (. (. a b) c) d) e)" },

    { "a generic call", "f<A, B>(x)", "(call f type:A type:B x)" },
    { "a generic call of a path", "m.f<A>(x)", "(call (. m f) type:A x)" },
    { "a generic call after a member is not one", "f(x).g<A>(y)", "(> (< (. (call f x) g) A) y)" },
    { "a comparison of parentheses", "(a) < (b)", "(< a b)" },
    { "a comparison of names", "a < b", "(< a b)" },
    { "a chain of comparisons is no generic call", "a < b > c", "(> (< a b) c)" },
    { "a comparison of a product", "a < b * c", "(< a (* b c))" },
    { "nested type arguments", "f<A<B<C>>>(x)", "(call f type:A<B<C>> x)" },
    { "dimensions as arguments", "f<2 * H, -1, (H), N + 1, T>(x)",
      "(call f dim:(* 2 H) dim:(neg 1) dim:H dim:(+ N 1) type:T x)" },
    { "a shape literal as an argument", "f<[R], [], [A, 2]>(x)", "(call f dim:(shape R) dim:(shape) dim:(shape A 2) x)" },
    { "types as arguments", "f<Tensor[N, *S; f32]?, (A, B), [L; 3], m.A<B>>(x)",
      "(call f type:Tensor[N, *S; f32]? type:(A, B) type:[L; 3] type:m.A<B> x)" },
    { "a generic call within type arguments", "f<g<A>(x), min(A, 2)>(y)",
      "(call f dim:(call g type:A x) dim:(call min A 2) y)" },
    { "a comparison in parentheses within type arguments", "f<(a < b)>(y)", "(call f dim:(< a b) y)" },
    { "a trailing comma in type arguments", "f<A,>(x)", "(call f type:A x)" },
    { "type arguments before a bracket are a comparison", "f<A>[x]", "(> (< f A) (shape x))" },
    { "a generic call in a comparison", "a < f<B>(c)", "(< a (call f type:B c))" },
    { "a generic call in an argument", "g(a < b, f<B>(c))", "(call g (< a b) (call f type:B c))" },
    { "reserved-looking names call too", "random<N>(x)", "(call random type:N x)" },

    { "a reduction swallows what follows", "x + sum[i] a[i] * b[i] / n",
      "(+ x (sum i of (/ (* (index a i) (index b i)) n)))" },
    { "a reduction in parentheses ends there", "(sum[i] a[i]) > 0", "(> (sum i of (index a i)) 0)" },
    { "a reduction ends at a comma", "f(sum[i] a[i], b)", "(call f (sum i of (index a i)) b)" },
    { "a reduction with an accumulator", "sum<f32>[i, j] a[i, j]", "(sum:f32 i j of (index a i j))" },
    { "all six reductions", "sum[a] prod[b] max[c] min[d] any[e] all[f] x",
      "(sum a of (prod b of (max c of (min d of (any e of (all f of x))))))" },
    { "a reduction's name as a function", "max(a, b)", "(call max a b)" },
    { "a reduction's name as a generic function", "max<T>(a, b)", "(call max type:T a b)" },
    { "a reduction's name as a value", "sum + 1", "(+ sum 1)" },
    { "a reduction's name compared", "sum < n", "(< sum n)" },
    { "a reduction over an if", "sum[i] if c { a[i] } else { b }", "(sum i of (if c (index a i) b))" },
    { "an accumulator must be a type", "sum<2>[i]", "(> (< sum 2) (shape i))" },

    { "indices of every kind", "x[..., *s, i + 1, j]", "(index x ... *s (+ i 1) j)" },
    { "a whole slice", "x[:]", "(index x ::)" },
    { "a slice from", "x[a:]", "(index x a::)" },
    { "a slice to", "x[:b]", "(index x :b:)" },
    { "a slice from and to", "x[a:b]", "(index x a:b:)" },
    { "a slice with a step", "x[a:b:c]", "(index x a:b:c)" },
    { "a slice from with a step", "x[a::c]", "(index x a::c)" },
    { "a slice with only a step", "x[::c]", "(index x ::c)" },
    { "a slice with two colons and no step", "x[::]", "(index x ::)" },
    { "a slice with colons apart", "x[a: :c, :b:c]", "(index x a::c :b:c)" },
    { "slices in a list", "x[0::2, :, S - 1,]", "(index x 0::2 :: (- S 1))" },
    { "a gather", "table[ids[*s], h]", "(index table (index ids *s) h)" },

    { "if", "if a < b { c } else { d }", "(if (< a b) c d)" },
    { "if inside else", "if a { b } else { if c { d } else { e } }", "(if a b (if c d e))" },
    { "match", "match x { some((a, _)) => a + 1 none => 0 y => y }",
      "(match x some((a, _))=>(+ a 1) none=>0 y=>y)" },
    { "match arms need no separators", "match k { First => f(x) Mean => x[0] }",
      "(match k First=>(call f x) Mean=>(index x 0))" },
    { "match in parentheses is an operand", "1 + (match x { y => y })", "(+ 1 (match x y=>y))" },
};

/* Statements and items whose canonical print is their own text. */
static const struct print_case {
    const char *name, *text, *expect; /* NULL: prints as it stands */
} print_cases[] = {
    { "a module alone", "module a.b.c\n", NULL },
    { "a byte that is no line end may end a line", "module a\r\nconst X = 1\r\n", "module a\nconst X = 1\n" },
    { "imports", "module a\nuse b\nuse crate\nuse crate.c.d\nuse e::{f, g as h}\nuse i::{}\n", NULL },
    { "an import of one name", "module a\nuse b.c::d\nuse e::{f,}\n", "module a\nuse b.c::{d}\nuse e::{f}\n" },
    { "constants", "module a\nconst X = 1\npub const Y: f32 = 2.5\n", NULL },
    { "aliases", "module a\ntype A = f32\npub type B<N: Dim, T: Float = bf16> = Tensor[N; T]?\n", NULL },
    { "structs", "module a\nstruct P<N: Dim> {\n    lo: Tensor[N; f32]\n    hi: (f32, [Q; 2])?\n}\nstruct E {\n}\n", NULL },
    { "enums", "module a\nenum A { B, C, } enum D {}", "module a\nenum A { B, C }\nenum D {  }\n" },
    { "generics of every kind", "module a\n"
      "fn f<A: Dim, *S: Shape, T: DType, U: Numeric, V: Integer, W: Float, X: Dim = 2 * A, *Y: Shape = [A],>() {}",
      "module a\nfn f<A: Dim, *S: Shape, T: DType, U: Numeric, V: Integer, W: Float, X: Dim = 2 * A, *Y: Shape = [A]>() {\n}\n" },
    { "functions of every kind", "module a\nfn f() {\n}\npub op g(x: f32) -> f32 {\n    return x\n}\n"
      "entry h(x: f32, y: f32? = none) -> (f32, f32) where N > 0, N % 2 == 0 {\n    return (x, x)\n}\n", NULL },
    { "a kernel's use and a gradient", "module a\nop g(x: f32) -> f32 kernel k where N > 0 {\n    return x\n} "
      "grad(y, dy) {\n    return dy\n}\n", NULL },
    { "a kernel's arguments are read over", "module a\nop g() -> f32 kernel k<16, T> {}",
      "module a\nop g() -> f32 kernel k {\n}\n" },
    { "a kernel", "module a\nkernel k<N: Dim>(x: Tensor[N; f32]) -> (o: Tensor[N; f32], p: f32,) grid(N / 2, 1) warps(4) "
      "stages(2) where N > 0 { let i = program_id(0) store(o, x, m) atomic_add(o, i) atomic_max(o, i,) }",
      "module a\nkernel k<N: Dim>(x: Tensor[N; f32]) -> out: f32 grid(1) where N > 0 {\n    let i = program_id(0)\n"
      "    store(o, x, m)\n    atomic_add(o, i)\n    atomic_max(o, i)\n}\n" },
    { "blocks", "module a\npub block B<N: Dim> where N > 0 {\n    param w: Tensor[N; f32]\n    param b: f32? = none\n"
      "    buffer c: f32\n    state s: f32\n    sub d: [D<N>; 3]\n    sub e: E? = none\n    const K = 1\n    fn f() {\n    }\n"
      "    block C {\n    }\n}\n", NULL },
    { "let and var", "module a\nfn f() {\n    let a = 1\n    let (b, (c, _)): (T, (U, V)) = d\n    var e: i32 = 0\n    var g = h\n"
      "    let some(i) = j\n    let none = k\n}\n", NULL },
    { "index notation", "module a\nfn f() {\n    let y[*s, o] = sum[i] x[*s, i] * w[o, i]\n    let z[i,] = x\n}\n",
      "module a\nfn f() {\n    let y[*s, o] = sum[i] x[*s, i] * w[o, i]\n    let z[i] = x\n}\n" },
    { "an assignment", "module a\nfn f() {\n    x = x + 1\n}\n", NULL },
    { "return without a value before an assignment", "module a\nfn f() {\n    return\n    x = 1\n}\n", NULL },
    { "return without a value before a statement", "module a\nfn f() {\n    return\n    let x = 1\n}\n", NULL },
    { "return with a value before an assignment", "module a\nfn f() { return x y = 1 }",
      "module a\nfn f() {\n    return x\n    y = 1\n}\n" },
    { "loops", "module a\nfn f() {\n    static for (a, b) in c {\n    }\n    static for i in 0..N {\n        x = i\n    }\n"
      "    while n < 10 && m {\n        n = n + 1\n    }\n    for i in 0..n {\n    }\n}\n", NULL },
    { "loops as values", "module a\nfn f() {\n    let a = for t in 0..T {\n        yield h\n    }\n    var b = for t in 0..T {\n"
      "        yield h\n    }\n    c = for t in 0..T {\n        yield h\n    }\n    return for t in 0..T {\n        yield h\n    }\n}\n",
      NULL },
    { "names that are words elsewhere", "module a\nfn f() {\n    let grad = grid + warps\n    let sum = store\n    store = 1\n"
      "    let Dim = stages\n}\n", NULL },
    { "a local called like a reduction", "module a\nfn f() {\n    let sum = a\n    sum = sum * 2\n}\n", NULL },
};

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
      "E1101 2:25 E1101 3:16" },
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

static void test_expr(void **state)
{
    const struct expr_case *c = *state;
    lin_text text, out;
    parsed p;
    lin_text_init(&text, &lin_default_allocator);
    lin_text_init(&out, &lin_default_allocator);
    lin_text_addf(&text, "module t\nconst A = %s", c->text);
    parse(&p, lin_text_data(&text), text.length);
    expect_no_findings(&p);
    assert_int_equal(p.file->item_count, 1);
    syntax_printer pr = { &out, p.names, 0 };
    show(&pr, p.file->items[0]->value);
    assert_string_equal(lin_text_data(&out), c->expect);
    lin_text_clear(&out);
    round_trip(&out, lin_text_data(&text), text.length);
    drop(&p);
    lin_text_free(&out);
    lin_text_free(&text);
}

static void test_print(void **state)
{
    const struct print_case *c = *state;
    lin_text out;
    lin_text_init(&out, &lin_default_allocator);
    round_trip(&out, c->text, strlen(c->text));
    assert_string_equal(lin_text_data(&out), c->expect != NULL ? c->expect : c->text);
    lin_text_free(&out);
}

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

/* ---- spans ---- */

static void expect_span(const char *text, lin_span span, const char *expect)
{
    assert_int_equal(span.end - span.start, strlen(expect));
    assert_memory_equal(text + span.start, expect, strlen(expect));
}

static void test_spans(void **state)
{
    (void)state;
    const char *text = "module a.b\npub fn f<N: Dim>(x: Tensor[N; f32]?) -> f32 { "
                       "let y = g<N>( x )[ 0 ].z + 1 return y }";
    parsed p;
    parse(&p, text, strlen(text));
    expect_no_findings(&p);
    const ast_item *f = p.file->items[0];
    const ast_stmt *let = f->body.items[0];
    const ast_expr *sum = let->value, *member = sum->as.binary.left;
    const ast_expr *call = member->as.member.base->as.index.base;
    expect_span(text, p.file->module.span, "a.b");
    expect_span(text, f->span, text + strlen("module a.b\n"));
    expect_span(text, f->ident.span, "f");
    expect_span(text, f->params[0].type->span, "Tensor[N; f32]?");
    expect_span(text, let->span, "let y = g<N>( x )[ 0 ].z + 1");
    expect_span(text, sum->span, "g<N>( x )[ 0 ].z + 1");
    expect_span(text, sum->as.binary.op_span, "+");
    expect_span(text, member->span, "g<N>( x )[ 0 ].z");
    expect_span(text, call->span, "g<N>( x )");
    expect_span(text, call->as.call.type_args.span, "<N>");
    expect_span(text, call->as.call.open, "(");
    expect_span(text, f->body.end, "}");
    drop(&p);
}

/* ---- golden programs ---- */

static void test_golden(void **state)
{
    static char text[1 << 16];
    char path[1024];
    const char *golden = getenv("LINNET_GOLDEN");
    (void)state;
    for (int i = 1; i <= 20; i++) {
        lin_text out;
        (void)snprintf(path, sizeof path, "%s/valid/v%02d.linnet",
                       golden != NULL ? golden : "tests/golden", i);
        FILE *file = fopen(path, "rb");
        if (file == NULL)
            fail_msg("%s is missing", path);
        size_t length = fread(text, 1, sizeof text, file);
        (void)fclose(file);
        lin_text_init(&out, &lin_default_allocator);
        round_trip(&out, text, length);
        lin_text_free(&out);
    }
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
    { "10,000 brackets in a body", "fn f() { let a = ", "[", "1", "] ", 10000, 2 },
    { "10,000 open parentheses", "const A = ", "(", "", "", 10000, 1 },
    { "256 operators in a chain", "const A = 1", " + 1", "", "", 256, 0 },
    { "257 operators in a chain", "const A = 1", " + 1", "", "", 257, 1 },
    { "256 suffixes in a chain", "const A = x", "[0]", "", "", 256, 0 },
    { "257 suffixes in a chain", "const A = x", ".a", "", "", 257, 1 },
    { "10,000 calls in a chain", "const A = x", "()", "", "", 10000, 1 },
    { "chains inside one another", "const A = ", "(1 +", "1", ")+1+1", 86, 1 },
    { "chains inside one another that fit", "const A = ", "(1 +", "1", ")+1+1", 64, 0 },
    { "256 type arguments", "fn f(x: ", "A<", "A", ">", 256, 2 },
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

#define ADD_ROWS(cases, function)                                                   \
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)                                   \
    tests[count++] = (struct CMUnitTest)                                            \
    {                                                                               \
        .name = cases[i].name, .test_func = function,                               \
        .initial_state = (void *)(uintptr_t)&cases[i]                               \
    }

int main(void)
{
    static struct CMUnitTest
        tests[ARRAY_LEN(expr_cases) + ARRAY_LEN(print_cases) + ARRAY_LEN(error_cases) +
              ARRAY_LEN(depth_cases) + ARRAY_LEN(linear_cases) + 3];
    size_t count = 0;
    ADD_ROWS(expr_cases, test_expr);
    ADD_ROWS(print_cases, test_print);
    ADD_ROWS(error_cases, test_error);
    ADD_ROWS(depth_cases, test_depth);
    ADD_ROWS(linear_cases, test_linear);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_spans);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_golden);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_memory);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
