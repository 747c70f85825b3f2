/* SPDX-License-Identifier: MIT */

/* Graphs: birth, lifetimes (tracing.md 7.1), and the check of their promises. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"

enum { MAX = 6, NONE = -1 };

/* Objects and steps by hand: each object has an owner (itself when NONE) and a producer. */
typedef struct object_row {
    int32_t producer, owner;
    bool persistent;
} object_row;

typedef struct step_row {
    int32_t reads[3]; /* objects + 1; 0 ends */
    int32_t reads_inside;
} step_row;

static const struct lifetime_case {
    const char *name;
    uint32_t objects, steps;
    object_row object[MAX];
    step_row step[MAX];
    int32_t output; /* object + 1; 0: none */
    uint32_t count;
    lin_lifetime expect[MAX];
} lifetime_cases[] = {
    { "an input lives to the end",
      1,
      3,
      { { NONE, NONE, false } },
      { { { 1 }, 0 } },
      0,
      1,
      { { 0, 0, 3 } } },
    { "a result nobody reads lives in its step",
      1,
      3,
      { { 1, NONE, false } },
      { { { 0 }, 0 } },
      0,
      1,
      { { 0, 1, 2 } } },
    { "a result lives to its last reader",
      1,
      4,
      { { 0, NONE, false } },
      { { { 0 }, 0 }, { { 1 }, 0 }, { { 1 }, 0 } },
      0,
      1,
      { { 0, 0, 3 } } },
    { "a view keeps its owner alive",
      2,
      4,
      { { 0, NONE, false }, { 1, 0, false } },
      { { { 0 }, 0 }, { { 1 }, 0 }, { { 0 }, 0 }, { { 2 }, 0 } },
      0,
      1,
      { { 0, 0, 4 } } },
    { "an output lives to the end",
      1,
      4,
      { { 1, NONE, false } },
      { { { 0 }, 0 } },
      1,
      1,
      { { 0, 1, 4 } } },
    { "a view that is the output keeps its owner to the end",
      2,
      4,
      { { 0, NONE, false }, { 1, 0, false } },
      { { { 0 }, 0 }, { { 1 }, 0 } },
      2,
      1,
      { { 0, 0, 4 } } },
    { "persistent owners are not listed",
      2,
      2,
      { { NONE, NONE, true }, { 0, 0, false } },
      { { { 1 }, 0 }, { { 2 }, 0 } },
      0,
      0,
      { { 0 } } },
    { "reading inside index notation counts",
      1,
      4,
      { { 0, NONE, false } },
      { { { 0 }, 0 }, { { 0 }, 0 }, { { 0 }, 1 } },
      0,
      1,
      { { 0, 0, 3 } } },
    { "an entry without steps holds its inputs for a moment",
      1,
      0,
      { { NONE, NONE, false } },
      { { { 0 }, 0 } },
      1,
      1,
      { { 0, 0, 1 } } },
    { "owners come by id",
      3,
      3,
      { { NONE, NONE, false }, { 1, NONE, false }, { 0, NONE, false } },
      { { { 1 }, 0 }, { { 3 }, 0 } },
      0,
      3,
      { { 0, 0, 3 }, { 1, 1, 2 }, { 2, 0, 2 } } },
};

static void add_object(lin_graph *graph, const object_row *row)
{
    uint32_t id = graph->objects.count;
    bool owns = row->owner == NONE;
    lin_object object = { .name = "x",
                          .elements = lin_expr_int(graph->exprs, 8),
                          .bytes = lin_expr_int(graph->exprs, owns ? 8 : 0),
                          .producer = row->producer,
                          .owner = owns ? id : (uint32_t)row->owner,
                          .persistent = row->persistent };
    LIN_PUSH(&graph->arena, &graph->objects, object);
    graph->parameter_objects += row->persistent;
}

static void add_step(lin_graph *graph, const step_row *row)
{
    uint32_t *ids = LIN_NEW_ARRAY(&graph->arena, uint32_t, 4 + MAX);
    lin_step step = { .kind = "add", .label = "add", .scope = "", .inputs = ids };
    step.workspace = lin_expr_int(graph->exprs, 0);
    for (; step.input_count < 3 && row->reads[step.input_count] != 0; step.input_count++)
        ids[step.input_count] = (uint32_t)row->reads[step.input_count] - 1;
    if (row->reads_inside != 0) {
        ids[3] = (uint32_t)row->reads_inside - 1;
        step.region_reads = &ids[3];
        step.region_read_count = 1;
    }
    step.outputs = &ids[4];
    for (uint32_t i = 0; i < graph->objects.count; i++)
        if (graph->objects.items[i].producer == (int32_t)graph->steps.count)
            ids[4 + step.output_count++] = i;
    LIN_PUSH(&graph->arena, &graph->steps, step);
}

static lin_graph *make_graph(const struct lifetime_case *row)
{
    lin_graph *graph = lin_graph_new(&lin_default_allocator);
    for (uint32_t i = 0; i < row->objects; i++)
        add_object(graph, &row->object[i]);
    for (uint32_t i = 0; i < row->steps; i++)
        add_step(graph, &row->step[i]);
    if (row->output != 0)
        LIN_PUSH(&graph->arena, &graph->outputs, (uint32_t)row->output - 1);
    return graph;
}

static void test_lifetimes(void **state)
{
    const struct lifetime_case *row = *state;
    lin_graph *graph = make_graph(row);
    char why[128] = "";
    assert_true(lin_graph_check(graph, why, sizeof why));
    uint32_t count = 0;
    const lin_lifetime *found = lin_graph_lifetimes(&graph->arena, graph, &count);
    assert_int_equal(count, row->count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(found[i].object, row->expect[i].object);
        assert_int_equal(found[i].first_step, row->expect[i].first_step);
        assert_int_equal(found[i].end_step, row->expect[i].end_step);
    }
    lin_graph_free(graph);
}

static void test_new(void **state)
{
    (void)state;
    lin_graph *graph = lin_graph_new(&lin_default_allocator);
    for (int role = 0; role < LIN_ROLE_COUNT; role++) {
        assert_int_equal(graph->role_symbols[role], role);
        assert_string_equal(lin_expr_symbol_name(graph->exprs, graph->role_symbols[role]),
                            lin_role_names[role]);
        assert_false(graph->role_free[role]);
    }
    lin_graph_free(graph);
    lin_graph_free(NULL);
}

/* ---- the check ---- */

static void break_owner(lin_graph *graph)
{
    graph->objects.items[1].owner = 9;
}

static void break_chain(lin_graph *graph)
{
    graph->objects.items[0].owner = 1;
    graph->objects.items[0].bytes = lin_expr_int(graph->exprs, 0);
    graph->objects.items[1].owner = 0;
}

static void break_bytes(lin_graph *graph)
{
    graph->objects.items[1].bytes = lin_expr_int(graph->exprs, 4);
}

static void break_size(lin_graph *graph)
{
    graph->objects.items[0].elements = LIN_EXPR_INVALID;
}

static void break_producer(lin_graph *graph)
{
    graph->objects.items[0].producer = 7;
}

static void break_order(lin_graph *graph)
{
    graph->parameter_objects = 1;
}

static void break_reads(lin_graph *graph)
{
    static const uint32_t late[] = { 1 };
    graph->steps.items[0].inputs = late;
    graph->steps.items[0].input_count = 1;
}

static void break_outputs(lin_graph *graph)
{
    graph->outputs.items[0] = 5;
}

static void break_label(lin_graph *graph)
{
    graph->steps.items[0].label = NULL;
}

static const struct check_case {
    const char *name;
    void (*damage)(lin_graph *graph);
} check_cases[] = {
    { "an owner that is not there", break_owner },
    { "an owner that is owned", break_chain },
    { "a view with bytes", break_bytes },
    { "an object without a size", break_size },
    { "a producer that is not there", break_producer },
    { "persistent objects out of order", break_order },
    { "a step that reads what comes later", break_reads },
    { "an output that is not there", break_outputs },
    { "a step without a label", break_label },
};

static void test_check(void **state)
{
    const struct check_case *row = *state;
    static const struct lifetime_case sound = {
        .objects = 2,
        .steps = 2,
        .object = { { 0, NONE, false }, { 1, 0, false } },
        .step = { { { 0 }, 0 }, { { 1 }, 0 } },
        .output = 2,
    };
    lin_graph *graph = make_graph(&sound);
    char why[128] = "";
    assert_true(lin_graph_check(graph, why, sizeof why));
    row->damage(graph);
    assert_false(lin_graph_check(graph, why, sizeof why));
    assert_true(why[0] != '\0');
    assert_false(lin_graph_check(graph, NULL, 0));
    lin_graph_free(graph);
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
    struct CMUnitTest tests[64];
    size_t count = 0;
    ROWS(test_lifetimes, lifetime_cases);
    ROWS(test_check, check_cases);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_new);
    return _cmocka_run_group_tests("graph", tests, count, NULL, NULL);
}
