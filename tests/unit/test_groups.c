/* SPDX-License-Identifier: MIT */

/* Groups of ranks: Megatron-LM's own examples, expert grids, orders, and what does not fit. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "comm/comm.h"

enum { MOST_RANKS = 16 };

static const struct group_case {
    const char *name;
    lin_parallel degrees;
    const char *order;
    lin_group_kind kind;
    uint32_t size;
    uint32_t ranks[MOST_RANKS]; /* group after group */
} group_cases[] = {
    { "tensor groups are neighbours",
      { .tensor = 2, .replicas = 2, .pipeline = 4 },
      NULL,
      LIN_GROUP_TENSOR,
      2,
      { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 } },
    { "data groups skip the tensor ranks",
      { .tensor = 2, .replicas = 2, .pipeline = 4 },
      NULL,
      LIN_GROUP_GRADIENTS,
      2,
      { 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15 } },
    { "pipeline groups are the farthest apart",
      { .tensor = 2, .replicas = 2, .pipeline = 4 },
      NULL,
      LIN_GROUP_PIPELINE,
      4,
      { 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15 } },
    { "with pp before dp the pipeline is inside",
      { .tensor = 2, .replicas = 2, .pipeline = 4 },
      "tp-cp-ep-pp-dp",
      LIN_GROUP_PIPELINE,
      4,
      { 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15 } },
    { "context ranks lie inside data ranks",
      { .tensor = 2, .context = 2, .replicas = 4 },
      NULL,
      LIN_GROUP_CONTEXT,
      2,
      { 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15 } },
    { "shards lie inside replicas",
      { .shards = 4, .replicas = 4 },
      NULL,
      LIN_GROUP_SHARDS,
      4,
      { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 } },
    { "replicas of a shard are a group's size apart",
      { .shards = 4, .replicas = 4 },
      NULL,
      LIN_GROUP_REPLICAS,
      4,
      { 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15 } },
    { "experts are spread over neighbouring data ranks",
      { .expert = 4, .replicas = 16 },
      NULL,
      LIN_GROUP_EXPERT,
      4,
      { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 } },
    { "ranks with the same experts are that far apart",
      { .expert = 4, .replicas = 16 },
      NULL,
      LIN_GROUP_EXPERT_DATA,
      4,
      { 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15 } },
    { "experts borrow context ranks first",
      { .tensor = 2, .context = 2, .shards = 4, .expert = 4 },
      NULL,
      LIN_GROUP_EXPERT,
      4,
      { 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15 } },
    { "gradients are summed over context, shards and replicas",
      { .tensor = 2, .context = 2, .shards = 2, .replicas = 2 },
      NULL,
      LIN_GROUP_GRADIENTS,
      8,
      { 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15 } },
};

static void test_groups(void **state)
{
    const struct group_case *row = *state;
    const lin_parallel normal = lin_parallel_normal(&row->degrees);
    lin_layout layout;
    lin_arena arena;
    linnet_error err;
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(lin_layout_make(&normal, row->order, &arena, &layout, &err), LINNET_OK);
    const lin_group_set *set = &layout.sets[row->kind];
    assert_int_equal(layout.devices, MOST_RANKS);
    assert_int_equal(set->size, row->size);
    assert_int_equal(set->groups, MOST_RANKS / row->size);
    for (uint32_t i = 0; i < MOST_RANKS; i++)
        assert_int_equal(set->ranks[i], row->ranks[i]);
    lin_arena_free(&arena);
}

/* Every rank is in one group of each kind, and groups come by their first rank. */
static void test_partition(void **state)
{
    (void)state;
    static const char *const orders[] = { NULL, "pp-dp-ep-cp-tp", "dp-tp-pp-ep-cp" };
    const lin_parallel given = { 2, 3, 6, 4, 2, 5, .zero = 3 };
    for (size_t o = 0; o < ARRAY_LEN(orders); o++) {
        lin_layout layout;
        lin_arena arena;
        linnet_error err;
        lin_arena_init(&arena, &lin_default_allocator);
        assert_int_equal(lin_layout_make(&given, orders[o], &arena, &layout, &err), LINNET_OK);
        for (lin_group_kind kind = 0; kind < LIN_GROUP_KIND_COUNT; kind++) {
            const lin_group_set *set = &layout.sets[kind];
            bool seen[240] = { false };
            assert_int_equal(set->groups * set->size, 240);
            for (uint32_t i = 0; i < 240; i++) {
                assert_false(seen[set->ranks[i]]);
                seen[set->ranks[i]] = true;
                if (i >= set->size && i % set->size == 0)
                    assert_true(set->ranks[i] > set->ranks[i - set->size]);
            }
        }
        lin_arena_free(&arena);
    }
}

static const struct refusal_case {
    const char *name;
    lin_parallel degrees;
    const char *order;
    linnet_status status;
    const char *says;
} refusals[] = {
    { "an axis twice", { .tensor = 2 }, "tp-tp-ep-dp-pp", LINNET_ERROR_ARGUMENT, "once" },
    { "an axis missing", { .tensor = 2 }, "tp-cp-ep-dp", LINNET_ERROR_ARGUMENT, "once" },
    { "no axis", { .tensor = 2 }, "tp-cp-ep-dp-xx", LINNET_ERROR_ARGUMENT, "once" },
    { "a dash at the end", { .tensor = 2 }, "tp-cp-ep-dp-pp-", LINNET_ERROR_ARGUMENT, "once" },
    { "experts that do not divide",
      { .expert = 4, .replicas = 6 },
      NULL,
      LINNET_ERROR_ARGUMENT,
      "1, 2, 3 and 6" },
    { "sequence parallelism of one process",
      { .sequence = true },
      NULL,
      LINNET_ERROR_ARGUMENT,
      "tensor-parallel" },
    { "groups of shards that do not divide",
      { .shards = 8, .reshard = 3 },
      NULL,
      LINNET_ERROR_ARGUMENT,
      "1, 2, 4 and 8" },
    { "too many devices", { .replicas = 1 << 21 }, NULL, LINNET_ERROR_UNSUPPORTED, "more than" },
    { "a product that does not fit",
      { .replicas = INT64_MAX, .shards = 2 },
      NULL,
      LINNET_ERROR_OVERFLOW,
      "2^63" },
};

static void test_refusal(void **state)
{
    const struct refusal_case *row = *state;
    const lin_parallel normal = lin_parallel_normal(&row->degrees);
    lin_layout layout;
    lin_arena arena;
    linnet_error err;
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(lin_layout_make(&normal, row->order, &arena, &layout, &err), row->status);
    assert_non_null(strstr(err.message, row->says));
    lin_arena_free(&arena);
}

static void test_devices(void **state)
{
    (void)state;
    linnet_error err;
    lin_parallel p = lin_parallel_normal(&(lin_parallel){ .tensor = 2, .pipeline = 3 });
    assert_int_equal(lin_parallel_fill(&p, 24, false, &err), LINNET_OK);
    assert_int_equal(p.replicas, 4);
    assert_int_equal(lin_parallel_fill(&p, 24, true, &err), LINNET_OK);
    assert_int_equal(lin_parallel_fill(&p, 12, true, &err), LINNET_ERROR_ARGUMENT);
    assert_non_null(strstr(err.message, "24"));
    p.replicas = 1;
    assert_int_equal(lin_parallel_fill(&p, 20, false, &err), LINNET_ERROR_ARGUMENT);
    assert_non_null(strstr(err.message, "18 and 24"));
    assert_int_equal(lin_parallel_fill(&p, 5, false, &err), LINNET_ERROR_ARGUMENT);
    assert_non_null(strstr(err.message, "nearest is 6"));
}

static const struct needs_case {
    const char *name;
    lin_parallel degrees;
    bool exchanges;
    int64_t communicators;
    lin_channels channels;
    const char *note;
} needs_cases[] = {
    { "one device holds nothing", { 0 }, false, 0, LIN_CHANNELS_NONE, "" },
    { "a split of the program has no channels",
      { .tensor = 2 },
      false,
      1,
      LIN_CHANNELS_NONE,
      "tensor" },
    { "a split by DTensor exchanges", { .tensor = 2 }, true, 1, LIN_CHANNELS_EXCHANGE, "tensor" },
    { "replicas alone count for nothing", { .replicas = 8 }, false, 0, LIN_CHANNELS_NONE, "" },
    { "hybrid shards have a group of each kind",
      { .shards = 4, .replicas = 2 },
      false,
      2,
      LIN_CHANNELS_NONE,
      "shards, replicas" },
    { "a ring sends and receives", { .context = 2 }, false, 1, LIN_CHANNELS_BOTH, "context" },
    { "tensor and shards are two",
      { .tensor = 2, .shards = 2 },
      false,
      2,
      LIN_CHANNELS_NONE,
      "tensor, shards" },
};

static void test_needs(void **state)
{
    const struct needs_case *row = *state;
    const lin_parallel normal = lin_parallel_normal(&row->degrees);
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    const lin_communication needs = lin_comm_needs(&normal, row->exchanges, &arena);
    assert_int_equal(needs.communicators, row->communicators);
    assert_int_equal(needs.channels, row->channels);
    assert_int_equal(needs.processes > 1, row->communicators > 0);
    assert_string_equal(needs.note, row->note);
    lin_arena_free(&arena);
}

#define ADD_ROWS(cases, function)                             \
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)             \
        tests[count++] = (struct CMUnitTest)                  \
        {                                                     \
            .name = (cases)[i].name, .test_func = (function), \
            .initial_state = (void *)(uintptr_t) & (cases)[i] \
        }

int main(void)
{
    struct CMUnitTest
        tests[ARRAY_LEN(group_cases) + ARRAY_LEN(refusals) + ARRAY_LEN(needs_cases) + 2];
    size_t count = 0;
    ADD_ROWS(group_cases, test_groups);
    ADD_ROWS(refusals, test_refusal);
    ADD_ROWS(needs_cases, test_needs);
    tests[count++] = (struct CMUnitTest){ .name = "every rank is in one group of each kind",
                                          .test_func = test_partition };
    tests[count++] =
        (struct CMUnitTest){ .name = "replicas fill the devices", .test_func = test_devices };
    return _cmocka_run_group_tests("groups", tests, count, NULL, NULL);
}
