/* SPDX-License-Identifier: MIT */

/*
 * The parser, by rows: how expressions group, what statements and items print as. Everything that
 * parses also makes the round trip parse, print, parse, print.
 */

#include "lang/syntax_print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "parse_text.h"

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

int main(void)
{
    static struct CMUnitTest tests[ARRAY_LEN(expr_cases) + ARRAY_LEN(print_cases) + 2];
    size_t count = 0;
    ADD_ROWS(expr_cases, test_expr);
    ADD_ROWS(print_cases, test_print);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_spans);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_golden);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
