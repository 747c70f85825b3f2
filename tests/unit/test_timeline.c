/* SPDX-License-Identifier: MIT */

/* The sweep against a recount that evaluates every interval at every moment, and the formula of the
 * peak against the sweep. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "timeline/timeline.h"

enum { MAX_INTERVALS = 120, MAX_LENGTH = 60, POOL = 14 };

/* ---- a host that counts and can refuse ---- */

typedef struct host {
    uint64_t requests;
    uint64_t fail_at; /* this request and all after it fail; UINT64_MAX: none */
    int64_t live_blocks;
} host;

static void *host_alloc(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    host *h = user;
    (void)old_size;
    if (new_size == 0) {
        h->live_blocks -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (h->requests++ >= h->fail_at)
        return NULL;
    void *block = realloc(ptr, new_size);
    h->live_blocks += block != NULL && ptr == NULL;
    return block;
}

/* ---- random timelines ---- */

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

typedef struct fixture {
    lin_arena arena;
    lin_expr_table *exprs;
    lin_expr pool[POOL];
    lin_interval intervals[MAX_INTERVALS];
    uint32_t count;
    int32_t length;
} fixture;

static lin_expr scaled(lin_expr_table *t, int64_t factor, lin_expr e)
{
    return lin_expr_mul(t, lin_expr_int(t, factor), e);
}

static void make_pool(fixture *f)
{
    lin_expr_table *t = f->exprs;
    const lin_expr b = lin_expr_of_symbol(t, lin_expr_new_symbol(t, "batch"));
    const lin_expr c = lin_expr_of_symbol(t, lin_expr_new_symbol(t, "context"));
    const lin_expr m = lin_expr_of_symbol(t, lin_expr_new_symbol(t, "cache"));
    const lin_expr bc = lin_expr_mul(t, b, c);
    const lin_expr pool[POOL] = {
        lin_expr_int(t, 0),
        lin_expr_int(t, 4096),
        lin_expr_int(t, 12),
        scaled(t, 8, b),
        scaled(t, 64, bc),
        scaled(t, 96, bc),
        lin_expr_mul(t, c, c),
        lin_expr_mul(t, bc, c),
        scaled(t, 2, lin_expr_mul(t, b, m)),
        scaled(t, 16, lin_expr_ceildiv(t, bc, lin_expr_int(t, 16))),
        lin_expr_max(t, bc, scaled(t, 3, m)),
        lin_expr_min(t, scaled(t, 100, c), lin_expr_mul(t, m, m)),
        lin_expr_add(t, scaled(t, 5, c), lin_expr_int(t, 1000)),
        lin_expr_floordiv(t, lin_expr_mul(t, c, m), lin_expr_int(t, 3)),
    };
    for (uint32_t i = 0; i < POOL; i++)
        f->pool[i] = pool[i];
}

static void start(fixture *f, const lin_allocator *allocator)
{
    lin_arena_init(&f->arena, allocator);
    f->exprs = lin_expr_table_new(&f->arena);
    assert_non_null(f->exprs);
    make_pool(f);
    f->count = 0;
    f->length = 0;
}

/* Layers repeat, as in models: half of the timelines are one block of intervals again and again. */
static void fill_random(fixture *f, uint64_t *random)
{
    f->length = 1 + (int32_t)(next_random(random) % MAX_LENGTH);
    f->count = next_random(random) % MAX_INTERVALS;
    const int32_t period =
        next_random(random) % 2 == 0 ? f->length : 1 + (int32_t)(next_random(random) % 9);
    for (uint32_t i = 0; i < f->count; i++) {
        lin_interval *interval = &f->intervals[i];
        const uint32_t kind = next_random(random) % 10;
        const int32_t first = (int32_t)(next_random(random) % (uint32_t)f->length);
        *interval = (lin_interval){
            .first = first,
            .end = first + 1 + (int32_t)(next_random(random) % 7),
            .bytes = f->pool[next_random(random) % POOL],
            .category = LIN_CATEGORY_ACTIVATIONS,
            .object = i,
        };
        if (kind == 0) {
            interval->category = LIN_CATEGORY_WORKSPACE;
            interval->is_workspace = true;
            interval->end = first + 1;
        } else if (kind == 1) {
            interval->category = LIN_CATEGORY_PARAMETERS;
            interval->first = 0;
            interval->end = f->length;
        }
        if (kind != 1 && i % 2 == 1 && interval->first + period < f->length && i + 1 < f->count) {
            f->intervals[i + 1] = *interval;
            f->intervals[i + 1].first += period;
            f->intervals[i + 1].end += period;
            i++;
        }
    }
    for (uint32_t i = 0; i < f->count; i++)
        if (f->intervals[i].end > f->length)
            f->intervals[i].end = f->length;
}

/* ---- the slow way ---- */

typedef enum which { WITHOUT_WORKSPACES, WITH_WORKSPACES, TRANSIENT } which;

static int64_t recount(const fixture *f, const int64_t *symbols, int32_t moment, which what)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const lin_interval *interval = &f->intervals[i];
        int64_t bytes;
        if (moment < interval->first || moment >= interval->end ||
            (what != WITH_WORKSPACES && interval->is_workspace) ||
            (what == TRANSIENT && interval->category == LIN_CATEGORY_PARAMETERS))
            continue;
        assert_true(lin_expr_evaluate(f->exprs, interval->bytes, symbols, &bytes));
        sum += bytes;
    }
    return sum;
}

static lin_peak slow_peak(const fixture *f, const int64_t *symbols, which what)
{
    lin_peak peak = { 0 };
    for (int32_t moment = 0; moment < f->length; moment++) {
        const int64_t bytes = recount(f, symbols, moment, what);
        if (bytes > peak.bytes)
            peak = (lin_peak){ .bytes = bytes, .moment = moment };
    }
    return peak;
}

static void random_symbols(uint64_t *random, int64_t symbols[3])
{
    static const uint32_t ranges[] = { 2, 40, 5000 };
    for (int i = 0; i < 3; i++)
        symbols[i] = 1 + (int64_t)(next_random(random) % ranges[next_random(random) % 3]);
}

static void check_moment(const fixture *f, const lin_timeline *t, const lin_timeline_values *v,
                         const int64_t *symbols, int32_t moment)
{
    int64_t bytes[LIN_CATEGORY_COUNT], sum = 0;
    lin_timeline_breakdown(t, v, moment, bytes);
    for (int c = 0; c < LIN_CATEGORY_COUNT; c++)
        sum += bytes[c];
    assert_int_equal(sum, recount(f, symbols, moment, WITH_WORKSPACES));
    assert_int_equal(lin_timeline_at(t, v, moment, true), sum);
    assert_int_equal(lin_timeline_at(t, v, moment, false),
                     recount(f, symbols, moment, WITHOUT_WORKSPACES));
}

/* Columns and the event stream, followed moment by moment. */
static void check_all_moments(fixture *f, const lin_timeline *t, const lin_timeline_values *v)
{
    static int64_t room[LIN_CATEGORY_COUNT][MAX_LENGTH];
    int64_t *columns[LIN_CATEGORY_COUNT], live = 0;
    for (int c = 0; c < LIN_CATEGORY_COUNT; c++)
        columns[c] = c == LIN_CATEGORY_RUNTIME ? NULL : room[c];
    lin_timeline_columns(t, v, columns);

    uint32_t count = 0, next = 0;
    const lin_timeline_event *events = lin_timeline_events(&f->arena, t, &count);
    assert_int_equal(count % 2, 0);
    for (int32_t m = 0; m < f->length; m++) {
        int64_t sum = 0;
        for (; next < count && events[next].moment == m; next++) {
            const int64_t bytes = lin_timeline_bytes(t, v, events[next].interval);
            live += events[next].frees ? -bytes : bytes;
            if (next > 0 && events[next - 1].moment == m)
                assert_true(events[next - 1].frees || !events[next].frees);
        }
        for (int c = 0; c < LIN_CATEGORY_COUNT; c++)
            sum += columns[c] != NULL ? columns[c][m] : 0;
        assert_int_equal(live, lin_timeline_at(t, v, m, true));
        assert_int_equal(sum, live);
    }
}

static void test_random_sweeps(void **state)
{
    (void)state;
    uint64_t random = 7;
    host h = { 0, UINT64_MAX, 0 };
    const lin_allocator allocator = { host_alloc, &h };
    for (int round = 0; round < 400; round++) {
        static fixture f;
        start(&f, &allocator);
        fill_random(&f, &random);
        lin_timeline *t = lin_timeline_new(&f.arena, f.exprs, f.intervals, f.count, f.length);
        assert_non_null(t);
        lin_timeline_values *v = lin_timeline_values_new(&f.arena, t);
        assert_non_null(v);
        for (int size = 0; size < 6; size++) {
            int64_t symbols[3];
            lin_peak without, with;
            random_symbols(&random, symbols);
            const uint64_t before = h.requests;
            assert_true(lin_timeline_peaks(t, symbols, v, &without, &with, NULL));
            assert_int_equal(h.requests, before);

            const lin_peak slow_without = slow_peak(&f, symbols, WITHOUT_WORKSPACES);
            const lin_peak slow_with = slow_peak(&f, symbols, WITH_WORKSPACES);
            assert_int_equal(without.bytes, slow_without.bytes);
            assert_int_equal(without.moment, slow_without.moment);
            assert_int_equal(with.bytes, slow_with.bytes);
            assert_int_equal(with.moment, slow_with.moment);
            assert_int_equal(with.live_bytes,
                             recount(&f, symbols, with.moment, WITHOUT_WORKSPACES));
            check_moment(&f, t, v, symbols, with.moment);
            check_moment(&f, t, v, symbols, (int32_t)(next_random(&random) % (uint32_t)f.length));
            if (size == 0)
                check_all_moments(&f, t, v);
        }
        lin_arena_free(&f.arena);
    }
    assert_int_equal(h.live_blocks, 0);
}

static void test_random_formulas(void **state)
{
    (void)state;
    uint64_t random = 11;
    int found = 0;
    for (int round = 0; round < 200; round++) {
        static fixture f;
        start(&f, &lin_default_allocator);
        fill_random(&f, &random);
        lin_timeline *t = lin_timeline_new(&f.arena, f.exprs, f.intervals, f.count, f.length);
        assert_non_null(t);
        const lin_expr formula = lin_timeline_formula(t, f.exprs, &f.arena, 200);
        found += formula != LIN_EXPR_INVALID;
        for (int size = 0; size < 6 && formula != LIN_EXPR_INVALID; size++) {
            int64_t symbols[3], bytes;
            random_symbols(&random, symbols);
            assert_true(lin_expr_evaluate(f.exprs, formula, symbols, &bytes));
            assert_int_equal(bytes, slow_peak(&f, symbols, TRANSIENT).bytes);
        }
        lin_arena_free(&f.arena);
    }
    assert_in_range(found, 190, 200);
}

static void test_formula_text(void **state)
{
    (void)state;
    static fixture f;
    start(&f, &lin_default_allocator);
    const lin_expr *pool = f.pool;
    /* a mask of context^2 beside a small tensor, then the head: two live sets stay */
    const lin_interval intervals[] = {
        { .first = 0,
          .end = 4,
          .bytes = pool[3],
          .category = LIN_CATEGORY_INPUTS,
          .confidence = LIN_EXACT,
          .object = 0,
          .is_workspace = false },
        { .first = 0,
          .end = 4,
          .bytes = pool[1],
          .category = LIN_CATEGORY_PARAMETERS,
          .confidence = LIN_EXACT,
          .object = 1,
          .is_workspace = false },
        { .first = 1,
          .end = 2,
          .bytes = pool[4],
          .category = LIN_CATEGORY_ACTIVATIONS,
          .confidence = LIN_EXACT,
          .object = 2,
          .is_workspace = false },
        { .first = 2,
          .end = 3,
          .bytes = pool[6],
          .category = LIN_CATEGORY_ACTIVATIONS,
          .confidence = LIN_EXACT,
          .object = 3,
          .is_workspace = false },
        { .first = 3,
          .end = 4,
          .bytes = pool[5],
          .category = LIN_CATEGORY_ACTIVATIONS,
          .confidence = LIN_EXACT,
          .object = 4,
          .is_workspace = false },
        { .first = 3,
          .end = 4,
          .bytes = pool[7],
          .category = LIN_CATEGORY_WORKSPACE,
          .confidence = LIN_ESTIMATED,
          .object = UINT32_MAX,
          .is_workspace = true },
    };
    lin_timeline *t = lin_timeline_new(&f.arena, f.exprs, intervals, ARRAY_LEN(intervals), 4);
    assert_non_null(t);
    const lin_expr formula = lin_timeline_formula(t, f.exprs, &f.arena, 2);
    assert_int_not_equal(formula, LIN_EXPR_INVALID);
    assert_int_equal(lin_timeline_formula(t, f.exprs, &f.arena, 1), LIN_EXPR_INVALID);

    const lin_expr head = lin_expr_add(f.exprs, pool[3], pool[5]);
    const lin_expr mask = lin_expr_add(f.exprs, pool[3], pool[6]);
    assert_int_equal(formula, lin_expr_max(f.exprs, head, mask));
    lin_arena_free(&f.arena);
}

/* ---- sums at the edge of int64_t ---- */

static const struct edge_case {
    const char *name;
    int64_t sizes[3]; /* of intervals [0, 2), [1, 3), [2, 4) */
    bool fits;
    int64_t peak;
    int32_t moment;
} edge_cases[] = {
    { "a peak of exactly 2^63 - 1", { INT64_MAX - 1, 1, 0 }, true, INT64_MAX, 1 },
    { "a peak one past it", { INT64_MAX, 1, 0 }, false, 0, 0 },
    { "a total past it, with a peak that fits",
      { INT64_MAX - 5, 5, INT64_MAX - 5 },
      true,
      INT64_MAX,
      1 },
    { "a carry between the limbs",
      { (int64_t)0x7ffffffeffffffff, (int64_t)0x00000000ffffffff, (int64_t)0x7ffffffe00000000 },
      true,
      (int64_t)0x7ffffffffffffffe,
      1 },
    { "a later peak past it", { 1, INT64_MAX, 1 }, false, 0, 0 },
};

static void test_edge(void **state)
{
    const struct edge_case *row = *state;
    static fixture f;
    start(&f, &lin_default_allocator);
    lin_interval intervals[3] = { { .first = 0, .end = 2 },
                                  { .first = 1, .end = 3 },
                                  { .first = 2, .end = 4 } };
    for (int i = 0; i < 3; i++)
        intervals[i].bytes = lin_expr_int(f.exprs, row->sizes[i]);
    lin_timeline *t = lin_timeline_new(&f.arena, f.exprs, intervals, 3, 4);
    assert_non_null(t);
    lin_timeline_values *v = lin_timeline_values_new(&f.arena, t);
    const int64_t symbols[3] = { 1, 1, 1 };
    lin_peak without = { 0 }, with = { 0 };
    uint32_t failed = 0;
    assert_int_equal(lin_timeline_peaks(t, symbols, v, &without, &with, &failed), row->fits);
    if (row->fits) {
        assert_int_equal(without.bytes, row->peak);
        assert_int_equal(without.moment, row->moment);
        assert_int_equal(with.bytes, row->peak);
    } else {
        assert_int_equal(failed, UINT32_MAX);
    }
    lin_arena_free(&f.arena);
}

static void test_size_past_int64(void **state)
{
    (void)state;
    static fixture f;
    start(&f, &lin_default_allocator);
    const lin_interval intervals[2] = { { .first = 0, .end = 1, .bytes = f.pool[3] },
                                        { .first = 0, .end = 1, .bytes = f.pool[7] } };
    lin_timeline *t = lin_timeline_new(&f.arena, f.exprs, intervals, 2, 1);
    assert_non_null(t);
    lin_timeline_values *v = lin_timeline_values_new(&f.arena, t);
    const int64_t symbols[3] = { 1 << 20, 1 << 30, 1 };
    lin_peak without, with;
    uint32_t failed = 0;
    assert_false(lin_timeline_peaks(t, symbols, v, &without, &with, &failed));
    assert_int_equal(failed, 1);
    lin_arena_free(&f.arena);
}

static void test_empty(void **state)
{
    (void)state;
    static fixture f;
    start(&f, &lin_default_allocator);
    lin_timeline *t = lin_timeline_new(&f.arena, f.exprs, NULL, 0, 3);
    assert_non_null(t);
    lin_timeline_values *v = lin_timeline_values_new(&f.arena, t);
    assert_non_null(v);
    const int64_t symbols[3] = { 1, 1, 1 };
    lin_peak without, with;
    assert_true(lin_timeline_peaks(t, symbols, v, &without, &with, NULL));
    assert_int_equal(without.bytes, 0);
    assert_int_equal(with.moment, 0);
    assert_int_equal(lin_timeline_formula(t, f.exprs, &f.arena, 4), lin_expr_int(f.exprs, 0));
    lin_arena_free(&f.arena);
}

static void test_every_allocation_fails_once(void **state)
{
    (void)state;
    for (uint64_t fail_at = 0;; fail_at++) {
        static fixture f;
        uint64_t random = 3;
        start(&f, &lin_default_allocator);
        fill_random(&f, &random);
        host h = { 0, fail_at, 0 };
        const lin_allocator allocator = { host_alloc, &h };
        lin_arena arena;
        lin_arena_init(&arena, &allocator);
        lin_timeline *t = lin_timeline_new(&arena, f.exprs, f.intervals, f.count, f.length);
        lin_timeline_values *v = t == NULL ? NULL : lin_timeline_values_new(&arena, t);
        const bool done = t != NULL && v != NULL;
        lin_arena_free(&arena);
        assert_int_equal(h.live_blocks, 0);
        lin_arena_free(&f.arena);
        if (done) {
            assert_true(h.requests <= fail_at);
            return;
        }
    }
}

int main(void)
{
    struct CMUnitTest tests[6 + ARRAY_LEN(edge_cases)] = {
        cmocka_unit_test(test_random_sweeps), cmocka_unit_test(test_random_formulas),
        cmocka_unit_test(test_formula_text),  cmocka_unit_test(test_size_past_int64),
        cmocka_unit_test(test_empty),         cmocka_unit_test(test_every_allocation_fails_once),
    };
    for (size_t i = 0; i < ARRAY_LEN(edge_cases); i++)
        tests[6 + i] = (struct CMUnitTest){ .name = edge_cases[i].name,
                                            .test_func = test_edge,
                                            .initial_state = (void *)(uintptr_t)&edge_cases[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
