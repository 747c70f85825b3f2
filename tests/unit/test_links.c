/* SPDX-License-Identifier: MIT */

/* What groups of ranks can send (rule N1), against sums by hand, and the `node` of a profile. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cost/cost.h"

/* Nodes of 8 devices: 400e9 bytes per second inside, 50e9 a device outside, 10 and 30 us. */
static lin_profile make_profile(int64_t node_devices)
{
    return (lin_profile){ .link = 400e9,
                          .latency = 10e-6,
                          .node = { .devices = node_devices, .network = 50e9, .latency = 30e-6 } };
}

static const struct link_case {
    const char *name;
    lin_parallel parallel;
    lin_group_kind kind;
    int64_t nodes;
    double ring, hop, exchange; /* 1e9 bytes per second */
    double latency;             /* us */
} link_cases[] = {
    { "two processes of a tensor group are neighbours",
      { .tensor = 2, .shards = 8 },
      LIN_GROUP_TENSOR,
      1,
      400,
      400,
      400,
      10 },
    { "a tensor group of two nodes rings through eight ports, the link's rate",
      { .tensor = 16 },
      LIN_GROUP_TENSOR,
      2,
      400,
      50,
      15 / (8 / 50.0),
      30 },
    { "shards behind tensor groups of four have two ranks a node",
      { .tensor = 4, .shards = 8 },
      LIN_GROUP_SHARDS,
      4,
      100,
      50,
      7 / (6 / 50.0),
      60 },
    { "shards behind tensor groups of eight have one rank a node",
      { .tensor = 8, .shards = 4 },
      LIN_GROUP_SHARDS,
      4,
      50,
      50,
      3 / (3 / 50.0),
      60 },
    { "shards of one node",
      { .shards = 8, .replicas = 4 },
      LIN_GROUP_SHARDS,
      1,
      400,
      400,
      400,
      10 },
    { "replicas of nodes", { .shards = 8, .replicas = 4 }, LIN_GROUP_REPLICAS, 4, 50, 50, 50, 60 },
    { "stages of one node",
      { .tensor = 2, .pipeline = 4 },
      LIN_GROUP_PIPELINE,
      1,
      400,
      400,
      400,
      10 },
    { "stages that each fill a node",
      { .tensor = 8, .pipeline = 4 },
      LIN_GROUP_PIPELINE,
      4,
      50,
      50,
      50,
      60 },
    { "a context ring of two nodes passes one port",
      { .context = 16 },
      LIN_GROUP_CONTEXT,
      2,
      400,
      50,
      15 / (8 / 50.0),
      30 },
    { "experts over shards of two nodes",
      { .shards = 16, .expert = 16 },
      LIN_GROUP_EXPERT,
      2,
      400,
      50,
      15 / (8 / 50.0),
      30 },
    { "experts inside a node",
      { .shards = 16, .expert = 8 },
      LIN_GROUP_EXPERT,
      1,
      400,
      400,
      400,
      10 },
    { "the same experts in another node",
      { .shards = 16, .expert = 8 },
      LIN_GROUP_EXPERT_DATA,
      2,
      50,
      50,
      50,
      30 },
    { "gradients of context and data together",
      { .tensor = 2, .context = 2, .shards = 4, .replicas = 2 },
      LIN_GROUP_GRADIENTS,
      4,
      200,
      50,
      15 / (12 / 50.0),
      60 },
    { "a hundred nodes are seven steps deep",
      { .tensor = 8, .replicas = 100 },
      LIN_GROUP_REPLICAS,
      100,
      50,
      50,
      50,
      210 },
    { "a stride that does not divide the node",
      { .tensor = 6, .replicas = 2 },
      LIN_GROUP_REPLICAS,
      1,
      400,
      400,
      400,
      10 },
    { "one rank needs nothing", { .tensor = 8 }, LIN_GROUP_SHARDS, 1, 400, 400, 400, 10 },
};

static void assert_near(const char *what, double value, double expected)
{
    if (fabs(value - expected) > 1e-9 * fabs(expected))
        fail_msg("%s: %.12g instead of %.12g", what, value, expected);
}

static void test_link(void **state)
{
    const struct link_case *c = *state;
    const lin_profile profile = make_profile(8);
    const lin_parallel normal = lin_parallel_normal(&c->parallel);
    lin_links links;
    lin_links_of(&profile, &normal, LIN_RULE_N1, &links);
    const lin_link *link = &links.of[c->kind];
    assert_int_equal(link->nodes, c->nodes);
    assert_near("ring", link->ring, c->ring * 1e9);
    assert_near("hop", link->hop, c->hop * 1e9);
    assert_near("exchange", link->exchange, c->exchange * 1e9);
    assert_near("latency", link->latency, c->latency * 1e-6);

    /* Without the rule, or without a node, all is one link. */
    const lin_profile lone = make_profile(0);
    lin_links_of(&profile, &normal, 0, &links);
    assert_near("no rule", link->ring, 400e9);
    lin_links_of(&lone, &normal, LIN_RULE_N1, &links);
    assert_near("no node", link->hop, 400e9);
    assert_int_equal(link->nodes, 1);
}

/* Of the ranks with the first one's experts, those that are the same shard. */
static void compare_experts(const lin_layout *layout, const lin_parallel *normal,
                            const lin_links *links)
{
    enum { NODE = 8 };
    const lin_group_set *set = &layout->sets[LIN_GROUP_EXPERT_DATA];
    const uint32_t inside = (uint32_t)(normal->tensor * normal->context);
    uint32_t ranks = 0, near = 0;
    for (uint32_t i = 0; i < set->size; i++) {
        if (set->ranks[i] / inside % normal->shards != 0)
            continue;
        ranks++;
        near += set->ranks[i] < NODE;
    }
    assert_int_equal(links->experts_alike.ranks, ranks);
    if (near < ranks)
        assert_near("ring", links->experts_alike.ring, fmin(400e9, near * 50e9));
}

/* The first group of every kind, rank by rank, for all small layouts: its nodes and its ranks in
 * the first of them are those that the layout lists. */
static void compare_with_layout(const lin_parallel *normal)
{
    enum { NODE = 8 };
    const lin_profile profile = make_profile(NODE);
    lin_arena arena;
    lin_layout layout;
    lin_links links;
    linnet_error err;
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(lin_layout_make(normal, NULL, &arena, &layout, &err), LINNET_OK);
    lin_links_of(&profile, normal, LIN_RULE_N1, &links);
    for (lin_group_kind kind = 0; kind < LIN_GROUP_KIND_COUNT; kind++) {
        const lin_group_set *set = &layout.sets[kind];
        const lin_link *link = &links.of[kind];
        uint32_t near = 0, nodes = 1;
        for (uint32_t i = 0; i < set->size; i++) {
            near += set->ranks[i] < NODE;
            nodes += i > 0 && set->ranks[i] / NODE != set->ranks[i - 1] / NODE;
        }
        assert_int_equal(link->ranks, set->size);
        if (link->nodes != nodes)
            fail_msg("%s: %d nodes instead of %u", lin_group_kind_name(kind), (int)link->nodes,
                     nodes);
        if (nodes > 1)
            assert_near("ring", link->ring, fmin(400e9, near * 50e9));
    }
    compare_experts(&layout, normal, &links);
    lin_arena_free(&arena);
}

static void test_layouts(void **state)
{
    (void)state;
    for (int64_t tp = 1; tp <= 8; tp *= 2)
        for (int64_t cp = 1; cp <= 4; cp *= 2)
            for (int64_t shards = 1; shards <= 8; shards *= 2)
                for (int64_t replicas = 1; replicas <= 4; replicas *= 2)
                    for (int64_t pp = 1; pp <= 2; pp++)
                        for (int64_t ep = 1; ep <= cp * shards * replicas; ep *= 2) {
                            const lin_parallel given = { .tensor = tp,
                                                         .context = cp,
                                                         .shards = shards,
                                                         .replicas = replicas,
                                                         .pipeline = pp,
                                                         .expert = ep };
                            const lin_parallel normal = lin_parallel_normal(&given);
                            compare_with_layout(&normal);
                        }
}

/* ---- seconds ---- */

static void test_seconds(void **state)
{
    const lin_profile profile = make_profile(8);
    const lin_link near = { 4, 1, 400e9, 400e9, 400e9, 10e-6 };
    const lin_link far = { 4, 2, 100e9, 50e9, 75e9, 30e-6 };
    (void)state;
    assert_near("a sum inside",
                lin_link_seconds(&profile, 0, &near, LIN_COLLECTIVE_ALL_REDUCE, 4e9),
                10e-6 + 2 * 0.75 * 4e9 / 400e9);
    assert_near("a sum across", lin_link_seconds(&profile, 0, &far, LIN_COLLECTIVE_ALL_REDUCE, 4e9),
                30e-6 + 2 * 0.75 * 4e9 / 100e9);
    assert_near("a gather", lin_link_seconds(&profile, 0, &far, LIN_COLLECTIVE_ALL_GATHER, 4e9),
                30e-6 + 0.75 * 4e9 / 100e9);
    assert_near("an exchange", lin_link_seconds(&profile, 0, &far, LIN_COLLECTIVE_ALL_TO_ALL, 4e9),
                30e-6 + 0.75 * 4e9 / 75e9);
}

/* ---- what is said of it ---- */

static const struct assumption_case {
    const char *name;
    int64_t node;
    uint64_t rules;
    lin_parallel parallel;
    const char *words; /* NULL: nothing */
} assumption_cases[] = {
    { "eight devices need no word", 0, LIN_RULE_N1, { .tensor = 8 }, NULL },
    { "nine without a node do",
      0,
      LIN_RULE_N1,
      { .replicas = 9 },
      "all 9 devices are taken to be on the fast link: the device's profile has no `node`" },
    { "a model without a network says so",
      8,
      0,
      { .replicas = 16 },
      "all 16 devices are taken to be on the fast link: this time model knows no network" },
    { "a node that no group leaves", 72, LIN_RULE_N1, { .replicas = 64 }, NULL },
    { "groups that span nodes",
      8,
      LIN_RULE_N1,
      { .tensor = 8, .pipeline = 2 },
      "groups of ranks that span nodes of 8 devices move at the network's rate" },
};

static void test_assumption(void **state)
{
    const struct assumption_case *c = *state;
    const lin_profile profile = make_profile(c->node);
    const lin_parallel normal = lin_parallel_normal(&c->parallel);
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    const char *words = lin_links_assumption(&profile, &normal, c->rules, &arena);
    if (c->words == NULL)
        assert_null(words);
    else
        assert_string_equal(words, c->words);
    lin_arena_free(&arena);
}

/* ---- the profile's key ---- */

#define PROFILE(node)                                                                        \
    "{ \"version\": 2, \"kind\": \"linnet-device\", \"name\": \"mine\", \"memory\": 1000, "  \
    "\"flops\": { \"f32\": 1e12 }, \"bandwidth\": 1e12, \"link\": 4e11, \"latency\": 1e-5, " \
    "\"reduce\": 2e-5, \"node\": " node " }"

static const struct node_case {
    const char *name, *text;
    int64_t devices;
    double network, latency;
    const char *message; /* NULL: it is read */
} node_cases[] = {
    { "all of it", PROFILE("{ \"devices\": 8, \"network\": 5e10, \"latency\": 3e-5 }"), 8, 5e10,
      3e-5, NULL },
    { "the latency falls back to the link's", PROFILE("{ \"devices\": 4, \"network\": 1e10 }"), 4,
      1e10, 1e-5, NULL },
    { "a source", PROFILE("{ \"devices\": 4, \"network\": 1e10, \"source\": \"a data sheet\" }"), 4,
      1e10, 1e-5, NULL },
    { "null is none", PROFILE("null"), 0, 0, 0, NULL },
    { "no network", PROFILE("{ \"devices\": 8 }"), 0, 0, 0, "`node.network` is missing" },
    { "no devices", PROFILE("{ \"network\": 1e10 }"), 0, 0, 0, "`node.devices` is missing" },
    { "half a device", PROFILE("{ \"devices\": 2.5, \"network\": 1e10 }"), 0, 0, 0,
      "`node.devices` must be a whole number, at most 65536" },
    { "too many devices", PROFILE("{ \"devices\": 65537, \"network\": 1e10 }"), 0, 0, 0,
      "`node.devices` must be a whole number, at most 65536" },
    { "a network of nothing", PROFILE("{ \"devices\": 8, \"network\": 0 }"), 0, 0, 0,
      "`node.network` must be more than 0" },
    { "a network below nothing", PROFILE("{ \"devices\": 8, \"network\": -1 }"), 0, 0, 0,
      "`node.network` must not be negative" },
    { "a word for a network", PROFILE("{ \"devices\": 8, \"network\": \"fast\" }"), 0, 0, 0,
      "`node.network` must be a number" },
    { "an unknown key", PROFILE("{ \"devices\": 8, \"netwrk\": 1e10 }"), 0, 0, 0,
      "`netwrk` is no key of `node`; did you mean `network`?" },
    { "an empty source", PROFILE("{ \"devices\": 8, \"network\": 1e10, \"source\": \"\" }"), 0, 0,
      0, "`node.source` must be a text" },
    { "a list", PROFILE("[8, 1e10]"), 0, 0, 0, "`node` must be an object" },
    { "a file of version 1",
      "{ \"version\": 1, \"kind\": \"linnet-device\", \"name\": \"mine\", \"node\": {} }", 0, 0, 0,
      "`node` is of version 2 of this format" },
};

static void test_node(void **state)
{
    const struct node_case *c = *state;
    lin_profile *profile = NULL;
    linnet_error err = { 0 };
    const linnet_status status = lin_profile_parse("mine.json", c->text, strlen(c->text),
                                                   &lin_default_allocator, &profile, &err);
    if (c->message != NULL) {
        assert_int_equal(status, LINNET_ERROR_FORMAT);
        assert_string_equal(err.message, c->message);
        return;
    }
    if (status != LINNET_OK)
        fail_msg("%s", err.message);
    assert_int_equal(profile->node.devices, c->devices);
    assert_true(fabs(profile->node.network - c->network) <= 0);
    assert_true(fabs(profile->node.latency - c->latency) <= 0);
    lin_profile_free(profile);
}

/* A built-in node has a source, and its network is slower than its link. */
static void test_builtin(void **state)
{
    uint32_t known = 0;
    (void)state;
    for (uint32_t i = 0; i < lin_profile_count(); i++) {
        lin_profile *profile = NULL;
        linnet_error err;
        assert_int_equal(
            lin_profile_open(lin_profile_name(i), 1 << 20, &lin_default_allocator, &profile, &err),
            LINNET_OK);
        known += profile->node.devices > 0;
        if (profile->node.devices > 0) {
            assert_non_null(profile->node.source);
            assert_true(profile->node.network < profile->link);
            assert_true(profile->node.latency > 0);
        }
        lin_profile_free(profile);
    }
    assert_int_equal(known, 9);
}

#define ADD_ROWS(rows, function)                             \
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)             \
        tests[count++] = (struct CMUnitTest)                 \
        {                                                    \
            .name = (rows)[i].name, .test_func = (function), \
            .initial_state = (void *)(uintptr_t) & (rows)[i] \
        }

int main(void)
{
    struct CMUnitTest
        tests[ARRAY_LEN(link_cases) + ARRAY_LEN(assumption_cases) + ARRAY_LEN(node_cases) + 3];
    size_t count = 0;
    ADD_ROWS(link_cases, test_link);
    ADD_ROWS(assumption_cases, test_assumption);
    ADD_ROWS(node_cases, test_node);
    tests[count++] = (struct CMUnitTest){ .name = "the nodes of every small layout's groups",
                                          .test_func = test_layouts };
    tests[count++] =
        (struct CMUnitTest){ .name = "seconds of a collective", .test_func = test_seconds };
    tests[count++] =
        (struct CMUnitTest){ .name = "nodes of the built-in devices", .test_func = test_builtin };
    return _cmocka_run_group_tests("links", tests, count, NULL, NULL);
}
