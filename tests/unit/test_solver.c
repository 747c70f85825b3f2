/* SPDX-License-Identifier: MIT */

/*
 * Proofs about dimensions. Rows are written in the language's own words: facts, a claim, and
 * whether it must be proven. Random facts and claims then check soundness: whatever is proven holds
 * for every small assignment that the facts admit.
 */

#include "lang/solver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ---- reading a row ---- */

enum { MAX_SYMBOLS = 32 };

typedef struct reader {
    const char *at;
    lin_arena arena;
    lin_expr_table *table;
    const char *names[MAX_SYMBOLS]; /* of the symbols, in order */
    uint32_t lengths[MAX_SYMBOLS], count;
} reader;

static void set_up(reader *r)
{
    memset(r, 0, sizeof(*r));
    lin_arena_init(&r->arena, &lin_default_allocator);
    r->table = lin_expr_table_new(&r->arena);
}

static bool take(reader *r, const char *word)
{
    while (*r->at == ' ')
        r->at++;
    size_t length = strlen(word);
    if (strncmp(r->at, word, length) != 0)
        return false;
    r->at += length;
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static lin_expr read_sum(reader *r);

static lin_expr read_pair(reader *r, lin_expr (*make)(lin_expr_table *, lin_expr, lin_expr))
{
    lin_expr left = read_sum(r);
    assert_true(take(r, ","));
    lin_expr right = read_sum(r);
    assert_true(take(r, ")"));
    return make(r->table, left, right);
}

static lin_expr read_symbol(reader *r)
{
    const char *start = r->at;
    while (is_letter(*r->at))
        r->at++;
    uint32_t length = (uint32_t)(r->at - start);
    assert_true(length > 0);
    for (uint32_t i = 0; i < r->count; i++)
        if (r->lengths[i] == length && memcmp(r->names[i], start, length) == 0)
            return lin_expr_of_symbol(r->table, i);
    r->names[r->count] = start;
    r->lengths[r->count++] = length;
    return lin_expr_of_symbol(
        r->table, lin_expr_new_symbol(r->table, lin_arena_text(&r->arena, start, length)));
}

static lin_expr read_atom(reader *r)
{
    if (take(r, "min("))
        return read_pair(r, lin_expr_min);
    if (take(r, "max("))
        return read_pair(r, lin_expr_max);
    if (take(r, "ceil("))
        return read_pair(r, lin_expr_ceildiv);
    if (take(r, "(")) {
        lin_expr e = read_sum(r);
        assert_true(take(r, ")"));
        return e;
    }
    if (*r->at < '0' || *r->at > '9')
        return read_symbol(r);
    int64_t value = 0;
    for (; *r->at >= '0' && *r->at <= '9'; r->at++)
        value = value * 10 + (*r->at - '0');
    return lin_expr_int(r->table, value);
}

static lin_expr read_product(reader *r)
{
    lin_expr e = read_atom(r);
    for (;;) {
        if (take(r, "*"))
            e = lin_expr_mul(r->table, e, read_atom(r));
        else if (take(r, "/"))
            e = lin_expr_floordiv(r->table, e, read_atom(r));
        else if (take(r, "%"))
            e = lin_expr_mod(r->table, e, read_atom(r));
        else
            return e;
    }
}

static lin_expr read_sum(reader *r)
{
    lin_expr e = read_product(r);
    for (;;) {
        if (take(r, "+"))
            e = lin_expr_add(r->table, e, read_product(r));
        else if (take(r, "-"))
            e = lin_expr_sub(r->table, e, read_product(r));
        else
            return e;
    }
}

typedef struct claim {
    lin_comparison comparison;
    lin_expr left, right;
} claim;

static claim read_claim(reader *r, const char *text)
{
    static const char *const words[] = { "==", "!=", "<=", ">=", "<", ">" };
    static const lin_comparison comparisons[] = { LIN_EQ, LIN_NE, LIN_LE, LIN_GE, LIN_LT, LIN_GT };
    claim c = { LIN_EQ, 0, 0 };
    r->at = text;
    c.left = read_sum(r);
    for (uint32_t i = 0; i < ARRAY_LEN(words); i++) {
        if (!take(r, words[i]))
            continue;
        c.comparison = comparisons[i];
        c.right = read_sum(r);
        assert_true(*r->at == '\0');
        return c;
    }
    fail_msg("no comparison in %s", text);
    return c;
}

/* ---- rows ---- */

static const struct solver_case {
    const char *name, *facts[10], *claim;
    bool proven;
} solver_cases[] = {
    /* clang-format off */
    { "sums do not care for order", { 0 }, "A + B == B + A", true },
    { "products of sums are expanded", { 0 }, "(A + B) * (A + B) == A * A + 2 * A * B + B * B", true },
    { "two symbols are not equal", { 0 }, "A == B", false },
    { "a symbol is not negative", { 0 }, "A >= 0", true },
    { "a symbol may be zero", { 0 }, "A > 0", false },
    { "a sum with one is positive", { 0 }, "A + 1 > 0", true },
    { "a product is not negative", { 0 }, "A * B >= 0", true },
    { "a difference may be negative", { 0 }, "A - B >= 0", false },
    { "a bound is used", { "N > 0" }, "N >= 1", true },
    { "the smaller way round", { "0 < N" }, "N >= 1", true },
    { "a product of positive ones is positive", { "A > 0", "B >= 2" }, "A * B > 1", true },
    { "a positive product has positive factors", { "A * B > 0" }, "A > 0", true },
    { "an upper bound is used", { "N <= 4" }, "N < 5", true },
    { "a doubled bound", { "2 * N >= 5" }, "N >= 3", true },
    { "an order of two symbols", { "A >= B" }, "A - B >= 0", true },
    { "an order scaled", { "A >= B" }, "3 * A >= 3 * B", true },
    { "an order times a factor", { "A >= B" }, "A * C >= B * C", true },
    { "an order is transitive", { "A >= B", "B >= C" }, "A >= C", true },
    { "an order with room", { "A > B" }, "A != B", true },
    { "an inequality is kept", { "A != B" }, "B != A", true },
    { "not zero and not negative is positive", { "N != 0" }, "N > 0", true },
    { "nothing about the converse", { "A >= B" }, "B >= A", false },

    { "V4: half of an even width", { "W % 2 == 0" }, "R * W == R * 2 * (W / 2)", true },
    { "I13: an odd width loses one", { 0 }, "N == 2 * (N / 2)", false },
    { "I12: nothing says it is even", { 0 }, "N % 2 == 0", false },
    { "I22: a divisor may be zero", { 0 }, "N > 0", false },
    { "V12: the last position exists", { "S > 1" }, "S - 1 >= 0", true },
    { "V19: a constant factor", { 0 }, "N * 16 == 16 * N", true },
    { "V19: the least of itself", { 0 }, "min(4, N) == min(N, 4)", true },

    { "heads out of the width", { "N > 0", "H % N == 0" }, "B * S * H == B * S * N * (H / N)", true },
    { "without the fact they are not", { "N > 0" }, "H == N * (H / N)", false },
    { "a width over heads over shards", { "Shards > 0", "Heads > 0", "Heads % Shards == 0", "H % Heads == 0" },
      "H / Shards == Heads / Shards * (H / Heads)", true },
    { "the same with the quotient a fact too", { "Shards > 0", "Heads > 0", "Heads % Shards == 0",
      "H % Heads == 0", "H % Shards == 0" }, "H / Shards == Heads / Shards * (H / Heads)", true },
    { "groups of heads", { "Shards > 0", "KvHeads / Shards > 0", "(Heads / Shards) % (KvHeads / Shards) == 0" },
      "KvHeads / Shards * (Heads / Shards / (KvHeads / Shards)) == Heads / Shards", true },
    { "a positive quotient has a positive dividend", { "Shards > 0", "KvHeads / Shards > 0" }, "KvHeads > 0", true },
    { "and one not below the divisor", { "Shards > 0", "KvHeads / Shards > 0" }, "KvHeads >= Shards", true },
    { "one shard", { "Shards == 1" }, "Heads / Shards * D == Heads * D", true },
    { "one shard, said last", { "(Heads / Shards) % 2 == 0", "Shards == 1" }, "Heads % 2 == 0", true },
    { "divisibility passes on", { "B > 0", "C > 0", "A % B == 0", "B % C == 0" }, "A % C == 0", true },
    { "and through products", { "B > 0", "D > 0", "A % B == 0", "C % D == 0" }, "(A * C) % (B * D) == 0", true },
    { "a multiple of a multiple", { "B > 0", "A % B == 0" }, "(A * C) % B == 0", true },
    { "a sum of multiples", { "B > 0", "A % B == 0", "C % B == 0" }, "(A + 3 * C) % B == 0", true },
    { "not backwards", { "B > 0", "A % B == 0" }, "B % A == 0", false },
    { "four is even", { "N % 4 == 0" }, "N % 2 == 0", true },
    { "even is not four", { "N % 2 == 0" }, "N % 4 == 0", false },
    { "an odd number", { "N % 2 == 1" }, "N % 2 != 0", true },
    { "an odd number and one", { "(N + 1) % 2 == 0" }, "N + 1 == 2 * ((N + 1) / 2)", true },
    { "three halves of an even number", { "N % 2 == 0" }, "3 * N / 2 == N + N / 2", true },
    { "a divisor that is a sum", { "A + B > 0", "H % (A + B) == 0" }, "(A + B) * (H / (A + B)) == H", true },

    { "halves add up", { 0 }, "D / 2 + (D - D / 2) == D", true },
    { "equal halves of an even number", { "D % 2 == 0" }, "D - D / 2 == D / 2", true },
    { "a half is not more", { 0 }, "D >= D / 2", true },
    { "twice a half is not more", { 0 }, "D >= 2 * (D / 2)", true },
    { "and at most one less", { 0 }, "2 * (D / 2) + 1 >= D", true },
    { "a quotient times its divisor is not more", { "N > 0" }, "H >= N * (H / N)", true },
    { "a third is not more than a half here", { 0 }, "3 * (D / 3) <= D", true },
    { "a quotient of a multiple", { "N > 0" }, "N * C / N == C", true },
    { "a remainder below the divisor drops", { "N > 0" }, "(4 * C + 3) / 4 == C", true },
    { "a symbolic remainder drops", { "R < N" }, "(N * C + R) / N == C", true },
    { "a remainder is below its divisor", { "N > 0" }, "H % N < N", true },
    { "a remainder is not more than the whole", { "N > 0" }, "H % N <= H", true },
    { "a remainder of a multiple", { 0 }, "(6 * N + 1) % 3 == 1", true },
    { "rounding up is not less", { 0 }, "16 * ceil(N, 16) >= N", true },
    { "rounding up is rounding down plus", { 0 }, "ceil(N, 16) == (N + 15) / 16", true },

    { "the least of ordered ones", { "A >= B" }, "min(A, B) == B", true },
    { "the greatest of ordered ones", { "A >= B" }, "max(A, B) == A", true },
    { "a least is not more than either", { 0 }, "min(A, B) <= A", true },
    { "a greatest is not less than either", { 0 }, "max(A, B) >= B", true },
    { "a greatest with zero", { 0 }, "max(A, 0) == A", true },
    { "a least of two positive ones", { "A > 0", "B > 0" }, "min(A, B) > 0", true },
    { "a greatest of two positive ones minus one", { "A > 1", "B > 0" }, "max(A, B) - 1 > 0", true },

    { "a symbol solved out of an equality", { "H == N * D" }, "B * S * H == B * S * N * D", true },
    { "and then divided", { "N > 0", "H == N * D" }, "H / N == D", true },
    { "and a multiple", { "N > 0", "H == N * D" }, "H % N == 0", true },
    { "equalities chain", { "A == B", "B == C" }, "A == C", true },
    { "equalities chain backwards", { "B == C", "A == B" }, "C == A", true },
    { "a bound through an equality", { "A == B", "B > 0" }, "A > 0", true },
    { "a bound said before", { "B > 0", "A == B" }, "A > 0", true },
    { "products that are equal", { "A * B == C * D" }, "A * B * S == S * D * C", true },
    { "a solved symbol is not negative", { "A == B - C" }, "B >= C", true },
    { "a positive solved symbol", { "A > 0", "A == B - C" }, "B > C", true },
    { "a quotient named", { "N > 0", "D == H / N", "H % N == 0" }, "N * D == H", true },
    { "two equal numbers", { 0 }, "7 == 7", true },
    { "two numbers", { 0 }, "7 < 7", false },
    { "a large number", { 0 }, "9223372036854775807 + A > 0", true },
    /* clang-format on */
};

static void test_case(void **state)
{
    const struct solver_case *row = *state;
    reader r;
    set_up(&r);
    lin_solver *solver = lin_solver_new(&r.arena, r.table);
    for (uint32_t i = 0; i < ARRAY_LEN(row->facts) && row->facts[i] != NULL; i++) {
        claim fact = read_claim(&r, row->facts[i]);
        lin_solver_assume(solver, fact.comparison, fact.left, fact.right);
    }
    claim c = read_claim(&r, row->claim);
    assert_int_equal(lin_solver_proves(solver, c.comparison, c.left, c.right), row->proven);
    lin_solver_clear(solver);
    lin_arena_free(&r.arena);
}

/* ---- soundness ---- */

enum { SYMBOLS = 3, VALUES = 7, ROUNDS = 4000 };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static lin_expr random_expr(lin_expr_table *t, uint64_t *seed, uint32_t depth)
{
    static lin_expr (*const operations[])(lin_expr_table *, lin_expr, lin_expr) = {
        lin_expr_add, lin_expr_sub,      lin_expr_mul, lin_expr_floordiv, lin_expr_add,
        lin_expr_mod, lin_expr_floordiv, lin_expr_min, lin_expr_max,      lin_expr_mul,
    };
    uint64_t choice = next_random(seed) % 4;
    if (depth == 0 || choice == 0)
        return choice == 1 ? lin_expr_int(t, (int64_t)(next_random(seed) % 4) + 1)
                           : lin_expr_of_symbol(t, (lin_symbol)(next_random(seed) % SYMBOLS));
    lin_expr left = random_expr(t, seed, depth - 1);
    lin_expr right = random_expr(t, seed, depth - 1);
    return operations[next_random(seed) % ARRAY_LEN(operations)](t, left, right);
}

static claim random_claim(lin_expr_table *t, uint64_t *seed, uint32_t depth)
{
    claim c = { (lin_comparison)(next_random(seed) % 6), 0, 0 };
    if (next_random(seed) % 3 == 0) { /* a divisibility */
        c.comparison = LIN_EQ;
        c.left = lin_expr_mod(t, random_expr(t, seed, 1), random_expr(t, seed, 0));
        c.right = lin_expr_int(t, 0);
        return c;
    }
    c.left = random_expr(t, seed, depth);
    c.right = random_expr(t, seed, depth);
    return c;
}

/* 1 holds, 0 does not, -1 undefined (a division by zero). */
static int holds(const lin_expr_table *t, claim c, const int64_t *symbols)
{
    int64_t a, b;
    if (!lin_expr_evaluate(t, c.left, symbols, &a) || !lin_expr_evaluate(t, c.right, symbols, &b))
        return -1;
    switch (c.comparison) {
    case LIN_EQ:
        return a == b;
    case LIN_NE:
        return a != b;
    case LIN_LT:
        return a < b;
    case LIN_LE:
        return a <= b;
    case LIN_GT:
        return a > b;
    case LIN_GE:
        return a >= b;
    }
    return -1;
}

/* Every divisor in e is positive there: the language demands that of what it lets stand. */
static bool divisors_positive(const lin_expr_table *t, lin_expr e, const int64_t *symbols)
{
    lin_terms view = lin_expr_view(t, e);
    for (uint32_t i = 0; i < view.count; i++) {
        for (uint32_t j = 0; j < view.terms[i].factor_count; j++) {
            lin_atom_info info = lin_expr_atom(t, view.terms[i].factors[j].atom);
            int64_t divisor = 1;
            if (info.kind == LIN_ATOM_SYMBOL)
                continue;
            if (info.kind != LIN_ATOM_MIN && info.kind != LIN_ATOM_MAX &&
                (!lin_expr_evaluate(t, info.right, symbols, &divisor) || divisor <= 0))
                return false;
            if (!divisors_positive(t, info.left, symbols) ||
                !divisors_positive(t, info.right, symbols))
                return false;
        }
    }
    return true;
}

static bool admissible(const lin_expr_table *t, const claim *facts, uint32_t count, claim c,
                       const int64_t *symbols)
{
    if (!divisors_positive(t, c.left, symbols) || !divisors_positive(t, c.right, symbols))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!divisors_positive(t, facts[i].left, symbols) ||
            !divisors_positive(t, facts[i].right, symbols) || holds(t, facts[i], symbols) != 1)
            return false;
    return true;
}

static void check_all(lin_solver *solver, lin_expr_table *t, const claim *facts, uint32_t count,
                      claim c)
{
    bool proven = lin_solver_proves(solver, c.comparison, c.left, c.right);
    lin_expr simple = lin_solver_simplify(solver, c.left);
    for (int64_t a = 0; a < VALUES; a++) {
        for (int64_t b = 0; b < VALUES; b++) {
            for (int64_t d = 0; d < VALUES; d++) {
                const int64_t symbols[SYMBOLS] = { a, b, d };
                int64_t left, rewritten;
                if (!admissible(t, facts, count, c, symbols))
                    continue;
                if (proven)
                    assert_true(holds(t, c, symbols) == 1);
                assert_true(lin_expr_evaluate(t, c.left, symbols, &left));
                assert_true(lin_expr_evaluate(t, simple, symbols, &rewritten));
                assert_true(left == rewritten);
            }
        }
    }
}

static void test_sound(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        reader r;
        set_up(&r);
        lin_solver *solver = lin_solver_new(&r.arena, r.table);
        for (uint32_t i = 0; i < SYMBOLS; i++)
            (void)lin_expr_new_symbol(r.table, "s");
        claim facts[3];
        uint32_t count = (uint32_t)(next_random(&seed) % 4);
        for (uint32_t i = 0; i < count; i++) {
            facts[i] = random_claim(r.table, &seed, 1);
            lin_solver_assume(solver, facts[i].comparison, facts[i].left, facts[i].right);
            if (facts[i].left == LIN_EXPR_INVALID || facts[i].right == LIN_EXPR_INVALID)
                count = i;
        }
        for (uint32_t i = 0; i < 6; i++) {
            claim c = random_claim(r.table, &seed, 2);
            if (c.left != LIN_EXPR_INVALID && c.right != LIN_EXPR_INVALID)
                check_all(solver, r.table, facts, count, c);
        }
        lin_arena_free(&r.arena);
    }
}

/* ---- work ---- */

/* Facts whose consequences explode: without a limit each of these runs for minutes or takes
 * gigabytes. They must end within the test's time and the bytes below. */
enum { MANY = 200, MOST_BYTES = 256 << 20 };

static void *count_bytes(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    *(uint64_t *)user += new_size > old_size ? new_size - old_size : 0;
    return lin_default_allocator.fn(lin_default_allocator.user, ptr, old_size, new_size);
}

typedef struct symbols {
    lin_expr_table *t;
    lin_expr all[MANY];
} symbols;

static lin_expr symbol_at(const symbols *s, uint32_t i)
{
    return s->all[i % MANY];
}

/* a = b * b, b = c * c, …: a is c^4, d^8, … */
static void assume_squares(lin_solver *solver, const symbols *s)
{
    for (uint32_t i = 0; i + 1 < MANY; i++)
        lin_solver_assume(solver, LIN_EQ, s->all[i],
                          lin_expr_mul(s->t, s->all[i + 1], s->all[i + 1]));
}

static void assume_sums(lin_solver *solver, const symbols *s)
{
    for (uint32_t i = 0; i < 2000; i++)
        lin_solver_assume(
            solver, LIN_EQ, lin_expr_add(s->t, symbol_at(s, i), symbol_at(s, 7 * i + 3)),
            lin_expr_add(s->t, symbol_at(s, 3 * i + 1),
                         lin_expr_mul(s->t, lin_expr_int(s->t, 2), symbol_at(s, 5 * i))));
}

static void assume_orders(lin_solver *solver, const symbols *s)
{
    for (uint32_t i = 0; i < 4000; i++)
        lin_solver_assume(solver, LIN_GE,
                          lin_expr_add(s->t, symbol_at(s, i), symbol_at(s, 7 * i + 3)),
                          lin_expr_add(s->t, symbol_at(s, 3 * i + 1), symbol_at(s, 5 * i)));
}

static void assume_differences(lin_solver *solver, const symbols *s)
{
    lin_expr product = lin_expr_mul(s->t, s->all[0], s->all[1]);
    for (int64_t i = 0; i < 30000; i++)
        lin_solver_assume(solver, LIN_NE, product, lin_expr_int(s->t, i));
}

/* Each of 90 terms may be replaced in two ways, and again in what comes of it. */
static void prove_choices(lin_solver *solver, const symbols *s)
{
    lin_expr sum = lin_expr_int(s->t, 0);
    for (uint32_t i = 0; i < 90; i++)
        sum = lin_expr_add(s->t, sum,
                           lin_expr_min(s->t, lin_expr_max(s->t, s->all[i], s->all[i + 1]),
                                        lin_expr_mod(s->t, s->all[i + 2], lin_expr_int(s->t, 5))));
    sum = lin_expr_sub(s->t, sum, lin_expr_mul(s->t, s->all[3], s->all[4]));
    assert_false(lin_solver_proves(solver, LIN_GT, sum, lin_expr_int(s->t, 100)));
}

static const struct work_case {
    const char *name;
    void (*run)(lin_solver *solver, const symbols *s);
} work_cases[] = {
    { "a chain of squares", assume_squares },   { "many sums that are equal", assume_sums },
    { "many sums in order", assume_orders },    { "many differences", assume_differences },
    { "a sum of many choices", prove_choices },
};

static void test_work(void **state)
{
    const struct work_case *c = *state;
    reader r;
    symbols s;
    uint64_t bytes = 0;
    const lin_allocator counting = { .fn = count_bytes, .user = &bytes };
    memset(&r, 0, sizeof r);
    lin_arena_init(&r.arena, &counting);
    s.t = r.table = lin_expr_table_new(&r.arena);
    for (uint32_t i = 0; i < MANY; i++)
        s.all[i] = lin_expr_of_symbol(r.table, lin_expr_new_symbol(r.table, "s"));
    lin_solver *solver = lin_solver_new(&r.arena, r.table);
    c->run(solver, &s);
    assert_true(bytes < MOST_BYTES);
    lin_arena_free(&r.arena);
}

int main(void)
{
    static struct CMUnitTest tests[ARRAY_LEN(solver_cases) + 1 + ARRAY_LEN(work_cases)];
    size_t count = 0;
    for (; count < ARRAY_LEN(solver_cases); count++)
        tests[count] =
            (struct CMUnitTest){ .name = solver_cases[count].name,
                                 .test_func = test_case,
                                 .initial_state = (void *)(uintptr_t)&solver_cases[count] };
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_sound);
    for (size_t i = 0; i < ARRAY_LEN(work_cases); i++)
        tests[count++] = (struct CMUnitTest){ .name = work_cases[i].name,
                                              .test_func = test_work,
                                              .initial_state = (void *)(uintptr_t)&work_cases[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
