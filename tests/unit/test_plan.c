/* SPDX-License-Identifier: MIT */

/* The arena plan: rows, random instances before the judge, tiny ones against the best of all
 * orders, memory that runs out. */

#include "graph/graph.h"
#include "judge/judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "limited_host.h"

static const lin_plan_effort greedy_only = { 0, 0 };
static const lin_plan_effort patient = { 20000000, 0 };

/* Plans and hands the result to the judge. */
static lin_plan plan_judged(const lin_buffer *buffers, uint32_t count,
                            const lin_plan_effort *effort, int64_t *offsets)
{
    lin_plan plan = { 0 };
    char why[JUDGE_WHY] = "";
    assert_int_equal(
        lin_plan_arena(buffers, count, effort, &lin_default_allocator, offsets, &plan, NULL),
        LINNET_OK);
    if (!judge_plan(buffers, count, offsets, &plan, why))
        fail_msg("%s", why);
    return plan;
}

/* ---- rows ---- */

enum { ROW_BUFFERS = 8 };

/* clang-format off */
static const struct plan_case {
    const char *name;
    uint32_t count;
    lin_buffer buffers[ROW_BUFFERS]; /* bytes, first step, end step */
    int64_t greedy_offsets[ROW_BUFFERS];
    lin_plan expect;                 /* greedy, planned, live, naive */
} plan_cases[] = {
    { "no buffers", 0, { { 0, 0, 0 } }, { 0 }, { 0, 0, 0, 0 } },
    { "one buffer", 1, { { 8, 0, 1 } }, { 0 }, { 8, 8, 8, 8 } },
    { "disjoint lives share bytes", 2, { { 8, 0, 2 }, { 8, 2, 4 } }, { 0, 0 }, { 8, 8, 8, 16 } },
    { "lives that meet in one step stack", 2, { { 8, 0, 3 }, { 8, 2, 4 } }, { 0, 8 }, { 16, 16, 16, 16 } },
    { "the larger lies lower", 2, { { 8, 0, 3 }, { 9, 2, 4 } }, { 9, 0 }, { 17, 17, 17, 17 } },
    { "of equal sizes the earlier lies lower", 2, { { 8, 1, 3 }, { 8, 0, 4 } }, { 8, 0 }, { 16, 16, 16, 16 } },
    { "of equal lives the lower index", 3, { { 8, 0, 1 }, { 8, 0, 1 }, { 8, 0, 1 } }, { 0, 8, 16 }, { 24, 24, 24, 24 } },
    { "a gap between two is taken", 4, { { 8, 0, 4 }, { 6, 0, 2 }, { 5, 0, 4 }, { 4, 2, 4 } },
      { 0, 8, 14, 8 }, { 19, 19, 19, 23 } },
    { "a gap one byte short is not", 4, { { 9, 0, 4 }, { 6, 0, 2 }, { 6, 0, 4 }, { 5, 3, 4 } },
      { 0, 9, 15, 9 }, { 21, 21, 21, 26 } },
    { "zero bytes lie at 0 and block nobody", 3, { { 0, 0, 9 }, { 8, 0, 9 }, { 0, 3, 4 } }, { 0, 0, 0 }, { 8, 8, 8, 8 } },
    { "an empty life lies at 0 and blocks nobody", 2, { { 8, 3, 3 }, { 6, 0, 9 } }, { 0, 0 }, { 8, 8, 6, 14 } },
    { "negative steps are steps", 2, { { 8, -5, -2 }, { 8, -2, 0 } }, { 0, 0 }, { 8, 8, 8, 16 } },
    { "the ends of the steps", 2, { { 8, INT32_MIN, INT32_MAX }, { 8, INT32_MAX - 1, INT32_MAX } },
      { 0, 8 }, { 16, 16, 16, 16 } },
    { "nearly all of int64", 2, { { INT64_MAX - 1, 0, 2 }, { 1, 1, 3 } }, { 0, INT64_MAX - 1 },
      { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX } },
    { "greedy misses by a third, the search does not", 5,
      { { 2, 0, 1 }, { 3, 3, 6 }, { 2, 0, 1 }, { 2, 0, 3 }, { 2, 1, 4 } }, { 0, 0, 2, 4, 6 },
      { 8, 6, 6, 11 } },
    { "two parts, the larger decides", 4, { { 8, 0, 2 }, { 8, 1, 3 }, { 5, 10, 12 }, { 5, 11, 13 } },
      { 0, 8, 0, 5 }, { 16, 16, 16, 26 } },
};
/* clang-format on */

static void test_plan_row(void **state)
{
    const struct plan_case *c = *state;
    int64_t offsets[ROW_BUFFERS];
    lin_plan greedy = plan_judged(c->buffers, c->count, &greedy_only, offsets);
    for (uint32_t i = 0; i < c->count; i++)
        assert_true(offsets[i] == c->greedy_offsets[i]);
    assert_true(greedy.greedy_bytes == c->expect.greedy_bytes);
    assert_true(greedy.planned_bytes == c->expect.greedy_bytes);

    lin_plan plan = plan_judged(c->buffers, c->count, &lin_plan_default_effort, offsets);
    assert_memory_equal(&plan, &c->expect, sizeof(plan));
}

/* Greedy reaches 11 bytes, the best plan 8. */
static const lin_buffer uneven[] = {
    { 4, 1, 3 }, { 4, 3, 5 }, { 2, 0, 1 }, { 4, 0, 2 }, { 3, 2, 5 },
};

static void test_search_stops(void **state)
{
    (void)state;
    int64_t offsets[ARRAY_LEN(uneven)];
    lin_plan greedy = plan_judged(uneven, ARRAY_LEN(uneven), &greedy_only, offsets);
    const lin_plan_effort lenient = { 1000000, INT64_MAX };
    lin_plan plan = plan_judged(uneven, ARRAY_LEN(uneven), &lenient, offsets);
    assert_true(plan.planned_bytes == greedy.greedy_bytes);
    const lin_plan_effort nearly = { 1000000, 10 };
    plan = plan_judged(uneven, ARRAY_LEN(uneven), &nearly, offsets);
    assert_true(plan.planned_bytes <= 10);
    plan = plan_judged(uneven, ARRAY_LEN(uneven), &patient, offsets);
    assert_true(plan.planned_bytes == judge_best_bytes(uneven, ARRAY_LEN(uneven)));
}

static void test_offsets_are_optional(void **state)
{
    (void)state;
    lin_plan with = { 0 };
    lin_plan without = { 0 };
    int64_t offsets[ARRAY_LEN(uneven)];
    assert_int_equal(lin_plan_arena(uneven, ARRAY_LEN(uneven), &patient, &lin_default_allocator,
                                    offsets, &with, NULL),
                     LINNET_OK);
    assert_int_equal(lin_plan_arena(uneven, ARRAY_LEN(uneven), &patient, &lin_default_allocator,
                                    NULL, &without, NULL),
                     LINNET_OK);
    assert_memory_equal(&with, &without, sizeof(with));
    assert_int_equal(lin_plan_arena(NULL, 0, &patient, &lin_default_allocator, NULL, &with, NULL),
                     LINNET_OK);
    assert_true(with.planned_bytes == 0);
}

static void test_overflow(void **state)
{
    (void)state;
    static const lin_buffer buffers[] = { { INT64_MAX, 0, 1 }, { 1, 1, 2 } };
    int64_t offsets[2] = { -7, -7 };
    lin_plan plan = { .greedy_bytes = -7 };
    linnet_error err = { 0 };
    assert_int_equal(lin_plan_arena(buffers, 2, &lin_plan_default_effort, &lin_default_allocator,
                                    offsets, &plan, &err),
                     LINNET_ERROR_OVERFLOW);
    assert_int_equal(err.code, LINNET_ERROR_OVERFLOW);
    assert_true(plan.greedy_bytes == -7 && offsets[0] == -7 && offsets[1] == -7);
}

/* ---- random instances ---- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static int64_t below(uint64_t *state, int64_t limit)
{
    return (int64_t)(next_random(state) % (uint64_t)limit);
}

/* Short and long lives, equal and unequal sizes, some of no bytes or no life. */
static void make_random(lin_buffer *buffers, uint32_t count, uint64_t *random)
{
    int64_t steps = 1 + below(random, 2 * (int64_t)count);
    int64_t longest = 1 + below(random, steps);
    int64_t largest = 1 + below(random, 1 + below(random, 1000));
    int64_t unit = 1 + 511 * below(random, 2);
    for (uint32_t i = 0; i < count; i++) {
        int32_t first = (int32_t)below(random, steps);
        buffers[i] = (lin_buffer){ .bytes = unit * below(random, largest + 1),
                                   .first_step = first,
                                   .end_step = first + (int32_t)below(random, longest + 1) };
    }
}

static void test_random(void **state)
{
    (void)state;
    enum { INSTANCES = 500, LARGEST = 120 };
    static lin_buffer buffers[LARGEST];
    static int64_t offsets[LARGEST];
    static int64_t again[LARGEST];
    uint64_t random = 1;
    for (int i = 0; i < INSTANCES; i++) {
        uint32_t count = (uint32_t)(1 + below(&random, LARGEST));
        make_random(buffers, count, &random);
        lin_plan greedy = plan_judged(buffers, count, &greedy_only, offsets);
        assert_true(greedy.greedy_bytes == judge_greedy_bytes(buffers, count));
        lin_plan plan = plan_judged(buffers, count, &lin_plan_default_effort, offsets);
        assert_true(plan.greedy_bytes == greedy.greedy_bytes);
        lin_plan same = plan_judged(buffers, count, &lin_plan_default_effort, again);
        assert_memory_equal(&plan, &same, sizeof(plan));
        assert_memory_equal(offsets, again, count * sizeof(offsets[0]));
    }
}

/* Many that overlap, so that first fit scans instead of sorting. */
static void test_random_dense(void **state)
{
    (void)state;
    enum { COUNT = 400 };
    static lin_buffer buffers[COUNT];
    static int64_t offsets[COUNT];
    uint64_t random = 2;
    for (uint32_t i = 0; i < COUNT; i++) {
        int32_t first = (int32_t)below(&random, 300);
        buffers[i] = (lin_buffer){ 1 + below(&random, 5000), first,
                                   first + 1 + (int32_t)below(&random, 500) };
    }
    lin_plan plan = plan_judged(buffers, COUNT, &lin_plan_default_effort, offsets);
    assert_true(plan.greedy_bytes == judge_greedy_bytes(buffers, COUNT));
}

static void test_tiny_optimum(void **state)
{
    (void)state;
    enum { INSTANCES = 400, TINY = 6 };
    lin_buffer buffers[TINY];
    int64_t offsets[TINY];
    uint64_t random = 3;
    int missed = 0;
    for (int i = 0; i < INSTANCES; i++) {
        for (uint32_t k = 0; k < TINY; k++) {
            int32_t first = (int32_t)below(&random, 8);
            buffers[k] = (lin_buffer){ 1 + below(&random, 6), first,
                                       first + 1 + (int32_t)below(&random, 5) };
        }
        const lin_plan_effort effort = { 20000, 0 };
        lin_plan plan = plan_judged(buffers, TINY, &effort, offsets);
        assert_true(plan.planned_bytes == judge_best_bytes(buffers, TINY));
        missed += plan.planned_bytes < plan.greedy_bytes;
    }
    assert_true(missed > 0);
}

/* ---- the judge refuses ---- */

static const struct judge_case {
    const char *name;
    int64_t offsets[2];
    lin_plan plan;
    const char *why; /* begins with */
} judge_cases[] = {
    { "shared bytes", { 5, 1 }, { 16, 12, 12, 12 }, "buffers 0 and 1 share bytes" },
    { "a negative offset", { -1, 4 }, { 16, 12, 12, 12 }, "buffer 0 has offset -1" },
    { "an end past the plan", { 0, 8 }, { 16, 12, 12, 12 }, "buffer 1 ends at 13" },
    { "room left on top", { 0, 7 }, { 16, 13, 12, 12 }, "planned 13, but the highest" },
    { "planned below the bound", { 0, 7 }, { 16, 11, 12, 12 }, "planned is below the live bound" },
    { "planned above greedy", { 0, 7 }, { 11, 12, 12, 12 }, "planned is above greedy" },
    { "a wrong bound", { 0, 7 }, { 16, 12, 11, 12 }, "the live bound is not" },
    { "a wrong sum", { 0, 7 }, { 16, 12, 12, 11 }, "naive is not" },
    { "a right plan", { 0, 7 }, { 12, 12, 12, 12 }, NULL },
};

static void test_judge(void **state)
{
    static const lin_buffer buffers[] = { { 7, 0, 2 }, { 5, 1, 3 } };
    const struct judge_case *c = *state;
    char why[JUDGE_WHY] = "";
    assert_int_equal(judge_plan(buffers, 2, c->offsets, &c->plan, why), c->why == NULL);
    if (c->why != NULL)
        assert_int_equal(strncmp(why, c->why, strlen(c->why)), 0);
}

/* ---- memory ---- */

static void fail_every_request(bool stays_down)
{
    enum { COUNT = 60 };
    lin_buffer buffers[COUNT];
    int64_t offsets[COUNT];
    uint64_t random = 4;
    for (uint32_t i = 0; i < COUNT; i++) {
        int32_t first = (int32_t)below(&random, 40);
        buffers[i] =
            (lin_buffer){ 1 + below(&random, 900), first, first + 1 + (int32_t)below(&random, 20) };
    }
    linnet_status status = LINNET_ERROR_NO_MEMORY;
    for (int64_t n = 0; status != LINNET_OK; n++) {
        limited_host host = { .left = n, .stays_down = stays_down };
        const lin_allocator allocator = { limited_alloc, &host };
        const lin_plan_effort effort = { 3000, 0 };
        lin_plan plan = { .greedy_bytes = -7 };
        linnet_error err = { 0 };
        offsets[0] = -7;
        status = lin_plan_arena(buffers, COUNT, &effort, &allocator, offsets, &plan, &err);
        if (status != LINNET_OK) {
            assert_int_equal(status, LINNET_ERROR_NO_MEMORY);
            assert_int_equal(err.code, LINNET_ERROR_NO_MEMORY);
            assert_true(plan.greedy_bytes == -7 && offsets[0] == -7);
        }
        assert_int_equal(host.blocks, 0);
        assert_true(n < 1000);
    }
}

static void test_memory(void **state)
{
    (void)state;
    fail_every_request(false);
    fail_every_request(true);
}

#define ROWS(cases, test)                                 \
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)         \
        tests[count++] = (struct CMUnitTest)              \
        {                                                 \
            .name = cases[i].name, .test_func = test,     \
            .initial_state = (void *)(uintptr_t)&cases[i] \
        }

int main(void)
{
    static struct CMUnitTest tests[64];
    size_t count = 0;
    ROWS(plan_cases, test_plan_row);
    ROWS(judge_cases, test_judge);
    const struct CMUnitTest single[] = {
        cmocka_unit_test(test_search_stops), cmocka_unit_test(test_offsets_are_optional),
        cmocka_unit_test(test_overflow),     cmocka_unit_test(test_random),
        cmocka_unit_test(test_random_dense), cmocka_unit_test(test_tiny_optimum),
        cmocka_unit_test(test_memory),
    };
    for (size_t i = 0; i < ARRAY_LEN(single); i++)
        tests[count++] = single[i];
    return _cmocka_run_group_tests("plan", tests, count, NULL, NULL);
}
