/* SPDX-License-Identifier: MIT */

/* Size expressions: canonical form, folding, printing, limits, evaluation. Random expressions are
 * held against a direct evaluation of how they were built. */

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

__extension__ typedef __int128 wide;

typedef struct fixture {
    lin_arena arena;
    lin_expr_table *t;
    lin_expr n, m, k, batch, context;
} fixture;

static lin_expr new_symbol(fixture *f, const char *name)
{
    return lin_expr_of_symbol(f->t, lin_expr_new_symbol(f->t, name));
}

static int set_up(void **state)
{
    static fixture f;
    lin_arena_init(&f.arena, &lin_default_allocator);
    f.t = lin_expr_table_new(&f.arena);
    f.n = new_symbol(&f, "n");
    f.m = new_symbol(&f, "m");
    f.k = new_symbol(&f, "k");
    f.batch = new_symbol(&f, "batch");
    f.context = new_symbol(&f, "context");
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    lin_arena_free(&f->arena);
    return 0;
}

static lin_expr num(fixture *f, int64_t value)
{
    return lin_expr_int(f->t, value);
}

static void expect_text(fixture *f, lin_expr e, const char *text)
{
    lin_text out;
    lin_text_init(&out, &lin_default_allocator);
    lin_expr_print(&out, f->t, e);
    assert_string_equal(lin_text_data(&out), text);
    lin_text_free(&out);
}

static void test_canonical(void **state)
{
    fixture *f = *state;
    lin_expr_table *t = f->t;
    lin_expr sum = lin_expr_add(t, f->n, f->m);
    lin_expr difference = lin_expr_sub(t, f->n, f->m);
    assert_int_equal(lin_expr_add(t, f->m, f->n), sum);
    assert_int_equal(lin_expr_mul(t, sum, difference),
                     lin_expr_sub(t, lin_expr_mul(t, f->n, f->n), lin_expr_mul(t, f->m, f->m)));
    assert_int_equal(lin_expr_sub(t, sum, sum), num(f, 0));
    assert_int_equal(lin_expr_add(t, f->n, num(f, 0)), f->n);
    assert_int_equal(lin_expr_mul(t, f->n, num(f, 1)), f->n);
    assert_int_equal(lin_expr_mul(t, f->n, num(f, 0)), num(f, 0));
    assert_int_equal(lin_expr_mul(t, num(f, 0), num(f, 0)), num(f, 0));
    assert_int_equal(lin_expr_min(t, f->n, f->m), lin_expr_min(t, f->m, f->n));
    assert_int_equal(lin_expr_max(t, f->n, f->n), f->n);
    assert_int_not_equal(new_symbol(f, "n"), f->n);
    assert_int_not_equal(lin_expr_floordiv(t, f->n, f->m), lin_expr_ceildiv(t, f->n, f->m));
}

static void test_folding(void **state)
{
    fixture *f = *state;
    lin_expr_table *t = f->t;
    lin_expr even = lin_expr_add(t, lin_expr_mul(t, num(f, 4), f->n), num(f, 6));
    assert_int_equal(lin_expr_floordiv(t, num(f, -7), num(f, 2)), num(f, -4));
    assert_int_equal(lin_expr_ceildiv(t, num(f, -7), num(f, 2)), num(f, -3));
    assert_int_equal(lin_expr_mod(t, num(f, -7), num(f, 2)), num(f, 1));
    assert_int_equal(lin_expr_min(t, num(f, 3), num(f, 5)), num(f, 3));
    assert_int_equal(lin_expr_max(t, num(f, 3), num(f, 5)), num(f, 5));
    assert_int_equal(lin_expr_floordiv(t, f->n, num(f, 1)), f->n);
    assert_int_equal(lin_expr_mod(t, f->n, num(f, 1)), num(f, 0));
    assert_int_equal(lin_expr_floordiv(t, even, num(f, 2)),
                     lin_expr_add(t, lin_expr_mul(t, num(f, 2), f->n), num(f, 3)));
    assert_int_equal(lin_expr_mod(t, even, num(f, 2)), num(f, 0));
    expect_text(f, lin_expr_floordiv(t, even, num(f, 4)), "(4 * n + 6) / 4");
    expect_text(f, lin_expr_floordiv(t, lin_expr_mul(t, f->n, f->m), f->m), "n * m / m");
    int64_t value;
    assert_true(lin_expr_is_int(t, num(f, 7), &value) && value == 7);
    assert_true(lin_expr_is_int(t, num(f, 0), &value) && value == 0);
    assert_false(lin_expr_is_int(t, f->n, NULL));
    assert_false(lin_expr_is_int(t, LIN_EXPR_INVALID, NULL));
}

static void test_invalid(void **state)
{
    fixture *f = *state;
    lin_expr_table *t = f->t;
    lin_expr large = num(f, INT64_MAX);
    assert_int_equal(lin_expr_floordiv(t, f->n, num(f, 0)), LIN_EXPR_INVALID);
    assert_int_equal(lin_expr_mod(t, num(f, 1), num(f, 0)), LIN_EXPR_INVALID);
    assert_int_equal(lin_expr_add(t, large, num(f, 1)), LIN_EXPR_INVALID);
    assert_int_equal(lin_expr_mul(t, lin_expr_mul(t, large, f->n), num(f, 2)), LIN_EXPR_INVALID);
    assert_int_equal(lin_expr_sub(t, num(f, 0), num(f, INT64_MIN)), LIN_EXPR_INVALID);
    assert_int_equal(lin_expr_sub(t, num(f, -1), num(f, INT64_MIN)), large);
    assert_int_equal(lin_expr_floordiv(t, num(f, INT64_MIN), num(f, -1)), LIN_EXPR_INVALID);
    assert_int_equal(lin_expr_add(t, LIN_EXPR_INVALID, f->n), LIN_EXPR_INVALID);
    assert_int_equal(lin_expr_min(t, f->n, LIN_EXPR_INVALID), LIN_EXPR_INVALID);
    lin_expr power = f->n;
    for (int i = 0; i < 40 && power != LIN_EXPR_INVALID; i++)
        power = lin_expr_mul(t, power, power);
    assert_int_equal(power, LIN_EXPR_INVALID);
    lin_expr many = num(f, 0);
    for (int i = 0; i < LIN_EXPR_MAX_TERMS; i++)
        many = lin_expr_add(t, many, new_symbol(f, "s"));
    assert_int_not_equal(many, LIN_EXPR_INVALID);
    assert_int_equal(lin_expr_add(t, many, new_symbol(f, "s")), LIN_EXPR_INVALID);
    assert_int_equal(lin_expr_mul(t, many, many), LIN_EXPR_INVALID);
    assert_int_equal(lin_expr_sub(t, many, many), num(f, 0));
    lin_expr product = num(f, 1);
    for (int i = 0; i < LIN_EXPR_MAX_FACTORS; i++)
        product = lin_expr_mul(t, product, new_symbol(f, "s"));
    assert_int_not_equal(product, LIN_EXPR_INVALID);
    assert_int_equal(lin_expr_mul(t, product, f->n), LIN_EXPR_INVALID);
    assert_false(lin_expr_out_of_memory(t));
}

static void test_bounded(void **state)
{
    fixture *f = *state;
    lin_expr nested = f->n, twin = f->n;
    int depth = 0, doubled = 0;
    for (; depth < 10000 && nested != LIN_EXPR_INVALID; depth++)
        nested = lin_expr_floordiv(f->t, lin_expr_add(f->t, nested, num(f, 1)), num(f, 2));
    assert_int_equal(depth, LIN_EXPR_MAX_DEPTH + 1);
    for (; doubled < 100 && twin != LIN_EXPR_INVALID; doubled++)
        twin = lin_expr_min(f->t, lin_expr_floordiv(f->t, twin, f->m),
                            lin_expr_floordiv(f->t, twin, f->k));
    assert_true(doubled < 20);
}

static void test_print(void **state)
{
    fixture *f = *state;
    lin_expr_table *t = f->t;
    lin_expr both = lin_expr_mul(t, f->batch, f->context);
    lin_expr half = lin_expr_floordiv(t, f->context, num(f, 2));
    expect_text(f, num(f, 0), "0");
    expect_text(f, num(f, -3), "-3");
    expect_text(f, lin_expr_add(t, lin_expr_mul(t, num(f, 2), both), num(f, 4096)),
                "2 * batch * context + 4096");
    expect_text(f, half, "context / 2");
    expect_text(f, lin_expr_sub(t, f->context, half), "context - context / 2");
    expect_text(f, lin_expr_sub(t, num(f, 4096), f->n), "4096 - n");
    expect_text(f, lin_expr_sub(t, num(f, 0), f->n), "-n");
    expect_text(f, lin_expr_sub(t, num(f, 0), half), "-(context / 2)");
    expect_text(f, lin_expr_mul(t, num(f, 2), half), "2 * (context / 2)");
    expect_text(f, lin_expr_ceildiv(t, f->n, num(f, 16)), "ceil(n / 16)");
    expect_text(f, lin_expr_ceildiv(t, lin_expr_add(t, f->n, f->m), f->k), "ceil((n + m) / k)");
    expect_text(f, lin_expr_mod(t, f->n, num(f, 2)), "n % 2");
    expect_text(f, lin_expr_min(t, f->n, num(f, 7)), "min(n, 7)");
    expect_text(f, lin_expr_max(t, lin_expr_add(t, f->n, f->m), half), "max(context / 2, n + m)");
    expect_text(f, lin_expr_floordiv(t, half, f->n), "(context / 2) / n");
    expect_text(f, lin_expr_floordiv(t, f->n, half), "n / (context / 2)");
    expect_text(f, lin_expr_floordiv(t, lin_expr_mul(t, num(f, 3), f->n), num(f, 2)), "3 * n / 2");
    expect_text(f, lin_expr_floordiv(t, f->k, lin_expr_mul(t, f->n, f->m)), "k / (n * m)");
    expect_text(f, lin_expr_mul(t, f->n, f->n), "n * n");
    lin_expr fourth = lin_expr_mul(t, lin_expr_mul(t, f->n, f->n), lin_expr_mul(t, f->n, f->n));
    expect_text(f, lin_expr_mul(t, fourth, f->n), "n^5");
    lin_expr most = fourth;
    for (uint32_t power = 4; power < LIN_EXPR_MAX_FACTORS; power *= 2)
        most = lin_expr_mul(t, most, most);
    expect_text(f, most, "n^64");
    expect_text(f, lin_expr_mul(t, most, f->m), "?");
    expect_text(f, LIN_EXPR_INVALID, "?");
}

static lin_expr swap_symbols(void *user, lin_symbol symbol)
{
    fixture *f = user;
    return symbol == 0   ? f->m
           : symbol == 1 ? lin_expr_add(f->t, f->n, num(f, 1))
                         : LIN_EXPR_INVALID;
}

static void test_replace(void **state)
{
    fixture *f = *state;
    lin_expr_table *t = f->t;
    lin_expr e = lin_expr_mul(t, f->n, lin_expr_floordiv(t, lin_expr_mul(t, f->m, f->m), f->n));
    expect_text(f, lin_expr_replace(t, t, e, swap_symbols, f), "m * ((n * n + 2 * n + 1) / m)");
    assert_int_equal(lin_expr_replace(t, t, f->k, swap_symbols, f), LIN_EXPR_INVALID);
    assert_int_equal(lin_expr_replace(t, t, num(f, 0), swap_symbols, f), num(f, 0));
    assert_true(lin_expr_mentions(t, e, 1));
    assert_false(lin_expr_mentions(t, e, 2));
    lin_symbol any;
    assert_true(lin_expr_any_symbol(t, lin_expr_floordiv(t, num(f, 8), f->k), &any) && any == 2);
    assert_false(lin_expr_any_symbol(t, num(f, 8), &any));
}

static void test_evaluation_limits(void **state)
{
    fixture *f = *state;
    lin_expr_table *t = f->t;
    lin_expr product = lin_expr_mul(t, lin_expr_mul(t, f->n, f->m), f->k);
    lin_expr quotient = lin_expr_floordiv(t, f->n, f->k);
    const lin_expr wanted[] = { f->batch, product, quotient };
    lin_expr_program *program = lin_expr_compile(&f->arena, t, wanted, 3);
    int64_t *scratch = LIN_NEW_ARRAY(&f->arena, int64_t, lin_expr_program_scratch(program));
    int64_t out[3];
    uint32_t failed = 9;
    int64_t big = (int64_t)1 << 40;
    const int64_t fits[] = { big, 1, 1 << 20, 3, 0 };
    assert_true(lin_expr_run(program, fits, scratch, out, &failed));
    assert_true(out[0] == 3 && out[1] == (int64_t)1 << 60 && out[2] == 1 << 20);
    const int64_t large[] = { big, big, 1, 3, 0 };
    assert_false(lin_expr_run(program, large, scratch, out, &failed));
    assert_int_equal(failed, 1);
    const int64_t zero[] = { big, big, 0, 3, 0 };
    assert_false(lin_expr_run(program, zero, scratch, out, &failed));
    assert_int_equal(failed, 2);
    assert_true(lin_expr_evaluate(t, product, zero, &out[0]) && out[0] == 0);
    assert_false(lin_expr_evaluate(t, product, large, &out[0]));
    program = lin_expr_compile(&f->arena, t, wanted, 2);
    assert_true(lin_expr_run(program, zero, scratch, out, NULL) && out[1] == 0);
    const lin_expr invalid = LIN_EXPR_INVALID;
    program = lin_expr_compile(&f->arena, t, &invalid, 1);
    assert_false(lin_expr_run(program, zero, scratch, out, &failed));
    assert_int_equal(failed, 0);
    program = lin_expr_compile(&f->arena, t, NULL, 0);
    assert_true(lin_expr_run(program, zero, scratch, out, &failed));
}

/* ---- random expressions ---- */

enum { SYMBOLS = 4, NODES = 24, ROUNDS = 3000 };

typedef struct node {
    int op; /* 0 symbol, 1 constant, then + - * / ceil % min max */
    int64_t value;
    int left, right;
    lin_expr e;
} node;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static lin_expr combine(fixture *f, int op, lin_expr a, lin_expr b)
{
    static lin_expr (*const operations[])(lin_expr_table *, lin_expr, lin_expr) = {
        lin_expr_add,     lin_expr_sub, lin_expr_mul, lin_expr_floordiv,
        lin_expr_ceildiv, lin_expr_mod, lin_expr_min, lin_expr_max,
    };
    return operations[op - 2](f->t, a, b);
}

static void grow(fixture *f, node *nodes, uint64_t *seed)
{
    for (int i = 0; i < NODES; i++) {
        node *n = &nodes[i];
        *n = (node){ .op = i < SYMBOLS ? 0 : (int)(next_random(seed) % 10) };
        n->value = n->op == 0 ? (int64_t)(next_random(seed) % SYMBOLS)
                              : (int64_t)(next_random(seed) % 9) - 2;
        if (n->op > 1) {
            n->left = (int)(next_random(seed) % (uint64_t)i);
            n->right = (int)(next_random(seed) % (uint64_t)i);
        }
        n->e = n->op == 0   ? lin_expr_of_symbol(f->t, (lin_symbol)n->value)
               : n->op == 1 ? num(f, n->value)
                            : combine(f, n->op, nodes[n->left].e, nodes[n->right].e);
    }
}

static wide floor_quotient(wide a, wide b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* The value as built, without limits worth naming (values here stay far below 2^127), or false for
 * a division by zero. */
static bool direct(const node *nodes, int i, const int64_t *symbols, wide *out)
{
    const node *n = &nodes[i];
    wide a, b;
    if (n->op < 2) {
        *out = n->op == 0 ? symbols[n->value] : n->value;
        return true;
    }
    if (!direct(nodes, n->left, symbols, &a) || !direct(nodes, n->right, symbols, &b))
        return false;
    if (n->op >= 5 && n->op <= 7 && b == 0)
        return false;
    wide limit = (wide)1 << 62;
    if (a > limit || a < -limit || b > limit || b < -limit)
        return false;
    switch (n->op) {
    case 2:
        *out = a + b;
        break;
    case 3:
        *out = a - b;
        break;
    case 4:
        *out = a * b;
        break;
    case 5:
        *out = floor_quotient(a, b);
        break;
    case 6:
        *out = -floor_quotient(-a, b);
        break;
    case 7:
        *out = a - floor_quotient(a, b) * b;
        break;
    case 8:
        *out = a < b ? a : b;
        break;
    default:
        *out = a > b ? a : b;
        break;
    }
    return true;
}

/* The value of the canonical form, by its definition: false when a term, the whole or an operand
 * does not fit. */
static bool by_terms(const lin_expr_table *t, lin_expr e, const int64_t *symbols, int64_t *out)
{
    lin_terms view = lin_expr_view(t, e);
    wide sum = 0;
    for (uint32_t i = 0; i < view.count; i++) {
        wide term = view.terms[i].coefficient, product = 1;
        bool zero = false, fits = true;
        for (uint32_t j = 0; j < view.terms[i].factor_count; j++) {
            lin_atom_info atom = lin_expr_atom(t, view.terms[i].factors[j].atom);
            int64_t a, b, value = 0;
            if (atom.kind == LIN_ATOM_SYMBOL) {
                value = symbols[atom.symbol];
            } else {
                if (!by_terms(t, atom.left, symbols, &a) || !by_terms(t, atom.right, symbols, &b))
                    return false;
                bool divides = atom.kind != LIN_ATOM_MIN && atom.kind != LIN_ATOM_MAX;
                if (divides && b == 0)
                    return false;
                wide w = atom.kind == LIN_ATOM_FLOORDIV           ? floor_quotient(a, b)
                         : atom.kind == LIN_ATOM_CEILDIV          ? -floor_quotient(-(wide)a, b)
                         : atom.kind == LIN_ATOM_MOD              ? a - floor_quotient(a, b) * b
                         : (atom.kind == LIN_ATOM_MIN) == (a < b) ? a
                                                                  : b;
                value = (int64_t)w;
                if (value != w)
                    return false;
            }
            for (uint32_t p = 0; p < view.terms[i].factors[j].power; p++) {
                zero = zero || value == 0;
                fits = fits && product * value >= INT64_MIN && product * value <= INT64_MAX;
                product = fits ? product * value : 1;
            }
        }
        if (zero)
            continue;
        if (!fits || term * product > INT64_MAX || term * product < INT64_MIN)
            return false;
        sum += term * product;
    }
    *out = (int64_t)sum;
    return *out == sum;
}

static void check_round(fixture *f, const node *nodes, const int64_t *symbols, bool small)
{
    lin_expr wanted[NODES];
    int64_t out[NODES], value;
    uint32_t count = 0;
    for (int i = 0; i < NODES; i++) {
        wide exact;
        if (nodes[i].e == LIN_EXPR_INVALID || !by_terms(f->t, nodes[i].e, symbols, &value))
            continue;
        wanted[count++] = nodes[i].e;
        if (small && direct(nodes, i, symbols, &exact))
            assert_true(exact == value);
    }
    lin_arena scratch;
    lin_arena_init(&scratch, &lin_default_allocator);
    lin_expr_program *program = lin_expr_compile(&scratch, f->t, wanted, count);
    int64_t *slots = LIN_NEW_ARRAY(&scratch, int64_t, lin_expr_program_scratch(program));
    assert_true(lin_expr_run(program, symbols, slots, out, NULL));
    for (uint32_t i = 0; i < count; i++) {
        assert_true(by_terms(f->t, wanted[i], symbols, &value) && value == out[i]);
        assert_true(lin_expr_evaluate(f->t, wanted[i], symbols, &value) && value == out[i]);
    }
    for (int i = 0; i < NODES; i++) {
        if (nodes[i].e == LIN_EXPR_INVALID || by_terms(f->t, nodes[i].e, symbols, &value))
            continue;
        uint32_t failed = 1;
        program = lin_expr_compile(&scratch, f->t, &nodes[i].e, 1);
        slots = LIN_NEW_ARRAY(&scratch, int64_t, lin_expr_program_scratch(program));
        assert_false(lin_expr_run(program, symbols, slots, out, &failed));
        assert_int_equal(failed, 0);
        assert_false(lin_expr_evaluate(f->t, nodes[i].e, symbols, &value));
    }
    lin_arena_free(&scratch);
}

static void test_random(void **state)
{
    fixture *f = *state;
    uint64_t seed = 7;
    node nodes[NODES];
    for (int round = 0; round < ROUNDS; round++) {
        int64_t small[8] = { 0 }, large[8] = { 0 };
        grow(f, nodes, &seed);
        for (int i = 0; i < SYMBOLS; i++) {
            small[i] = (int64_t)(next_random(&seed) % 12);
            large[i] = (int64_t)(next_random(&seed) >> next_random(&seed) % 30);
            large[i] = next_random(&seed) % 3 == 0 ? large[i] * large[i] : large[i];
        }
        check_round(f, nodes, small, true);
        check_round(f, nodes, large, false);
    }
}

/* ---- memory ---- */

typedef struct limited {
    int64_t left, live;
} limited;

static void *limited_alloc(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    limited *l = user;
    if (new_size == 0) {
        l->live--;
        free(ptr);
        return NULL;
    }
    if (l->left == 0)
        return NULL;
    l->left--;
    l->live += old_size == 0;
    return realloc(ptr, (size_t)new_size);
}

/* Sums, quotients and a program, with the n-th request failing. */
static bool work(lin_arena *arena)
{
    lin_expr_table *t = lin_expr_table_new(arena);
    if (t == NULL)
        return false;
    lin_expr sum = lin_expr_int(t, 0);
    for (int i = 0; i < 100; i++) {
        lin_expr s = lin_expr_of_symbol(t, lin_expr_new_symbol(t, "s"));
        sum = lin_expr_add(t, sum, lin_expr_mul(t, s, lin_expr_floordiv(t, sum, s)));
        if (i % 3 == 0)
            sum = s;
    }
    if (lin_expr_out_of_memory(t)) {
        assert_int_equal(lin_expr_add(t, sum, lin_expr_int(t, 12345)), LIN_EXPR_INVALID);
        return false;
    }
    return lin_expr_compile(arena, t, &sum, 1) != NULL;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        limited l = { n, 0 };
        const lin_allocator allocator = { limited_alloc, &l };
        lin_arena arena;
        lin_arena_init(&arena, &allocator);
        done = work(&arena);
        lin_arena_free(&arena);
        assert_true(l.live == 0);
    }
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_canonical),         TEST(test_folding), TEST(test_invalid),
        TEST(test_bounded),           TEST(test_print),   TEST(test_replace),
        TEST(test_evaluation_limits), TEST(test_random),  TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
