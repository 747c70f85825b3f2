/* SPDX-License-Identifier: MIT */

/* Units and stages (tracing.md 11.1), and graphs split into them (11.2): small programs by hand,
 * and every stage of real models against the promises of a graph. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "trace/trace.h"

typedef struct split_case {
    lin_source *source;
    lin_traced traced;
    lin_arena arena;
    lin_stage_plan plan;
} split_case;

static const int64_t ones[] = { 1, 1, 1 };

static split_case open_case(const char *model, const char *program, const char *entry,
                            bool bindings, int64_t batch, int64_t context)
{
    const lin_source_settings from = { .allocator = lin_default_allocator,
                                       .limits = lin_lang_default_limits,
                                       .file_bytes = 16 << 20 };
    const lin_trace_settings trace = { .entry = entry,
                                       .role_given = { batch > 0, context > 0, false },
                                       .role_value = { batch, context, 0 },
                                       .no_bindings = !bindings,
                                       .numerics = LIN_NUMERICS_FAST,
                                       .processes = 1 };
    split_case c = { .source = NULL };
    linnet_error err = { 0 };
    const linnet_status status = program != NULL
                                     ? lin_source_parse(&from, program, strlen(program),
                                                        "program.linnet", NULL, &c.source, &err)
                                     : lin_source_open(&from, model, NULL, &c.source, &err);
    if (status != LINNET_OK ||
        lin_trace(c.source, &trace, &lin_default_allocator, &c.traced, &err) != LINNET_OK)
        fail_msg("line %u: %s", err.line, err.message);
    lin_arena_init(&c.arena, &lin_default_allocator);
    return c;
}

static void close_case(split_case *c)
{
    lin_graph_free(c->traced.graph);
    lin_arena_free(&c->arena);
    lin_source_free(c->source);
}

/* ---- balance ---- */

/* Blocks of the sizes 3, 5, 2, 2, 4 (f32 elements), and a table of the root's own. */
static const char blocks[] = "module program\n"
                             "block Part<N: Dim> {\n"
                             "    param weight: Tensor[N; f32]\n"
                             "    pub fn forward<B: Dim>(x: Tensor[B; f32]) -> Tensor[B; f32] {\n"
                             "        let y[b] = x[b] * weight[0]\n"
                             "        return y\n"
                             "    }\n"
                             "}\n"
                             "pub block Model<B: Dim = 7> {\n"
                             "    param own: Tensor[9; f32]\n"
                             "    sub first: Part<3>\n"
                             "    sub second: Part<5>\n"
                             "    sub pair: [Part<2>; 2]\n"
                             "    sub last: Part<4>\n"
                             "    pub entry forward(x: Tensor[B; f32]) -> Tensor[B; f32] {\n"
                             "        var y = second.forward(first.forward(x))\n"
                             "        static for part in pair {\n"
                             "            y = part.forward(y)\n"
                             "        }\n"
                             "        return last.forward(y)\n"
                             "    }\n"
                             "}\n";

static const struct balance {
    const char *name, *starts;
    int64_t stages;
    linnet_status status;
    const char *units[6]; /* or what the message says */
} balances[] = {
    { "one stage", NULL, 1, LINNET_OK, { "first, second, pair.0-1, last" } },
    { "two stages of 8", NULL, 2, LINNET_OK, { "first, second", "pair.0-1, last" } },
    { "three: the limit is 7", NULL, 3, LINNET_OK, { "first", "second, pair.0", "pair.1, last" } },
    { "four: the limit is 5", NULL, 4, LINNET_OK, { "first", "second", "pair.0-1", "last" } },
    { "as many as units: the last of several is split",
      NULL,
      5,
      LINNET_OK,
      { "first", "second", "pair.0", "pair.1", "last" } },
    { "more than units", NULL, 6, LINNET_ERROR_ARGUMENT, { "at most 5 stages" } },
    { "by hand", "second,pair.1", 3, LINNET_OK, { "first", "second, pair.0", "pair.1, last" } },
    { "by hand, twice the same", "second,second", 3, LINNET_ERROR_ARGUMENT, { "in order" } },
    { "by hand, an array", "pair", 2, LINNET_ERROR_ARGUMENT, { "`pair" } },
    { "by hand, nothing like a name",
      "zzzzzzzz",
      2,
      LINNET_ERROR_ARGUMENT,
      { "`first` to `last`" } },
    { "by hand, an empty name", "second,", 3, LINNET_ERROR_ARGUMENT, { "no block" } },
    { "by hand, too many", "second,pair.0,last", 2, LINNET_ERROR_ARGUMENT, { "3 are named" } },
};

static void test_balance(void **state)
{
    const struct balance *row = *state;
    split_case c = open_case(NULL, blocks, "forward", false, 0, 0);
    linnet_error err = { 0 };
    assert_int_equal(
        lin_stages_plan(c.traced.graph, ones, row->stages, row->starts, &c.arena, &c.plan, &err),
        row->status);
    if (row->status != LINNET_OK && strstr(err.message, row->units[0]) == NULL)
        fail_msg("`%s` does not say `%s`", err.message, row->units[0]);
    for (uint32_t s = 0; row->status == LINNET_OK && s < row->stages; s++)
        assert_string_equal(lin_stage_units(c.traced.graph, &c.plan, s, &c.arena), row->units[s]);
    close_case(&c);
}

/* ---- split ---- */

/* Everything that the split promises, whatever the model. */
static void check_split(const lin_graph *whole, const lin_stage_plan *plan,
                        const lin_stage_graph *stages)
{
    char why[256];
    uint32_t steps = 0;
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const lin_stage_graph *stage = &stages[s];
        if (!lin_graph_check(&stage->graph, why, sizeof why))
            fail_msg("stage %u: %s", s, why);
        steps += stage->graph.steps.count;
        assert_int_equal(stage->graph.returned, stage->sent_count);
        for (uint32_t k = 0; k < stage->graph.steps.count; k++) {
            const lin_step *here = &stage->graph.steps.items[k];
            const lin_step *there = &whole->steps.items[stage->whole_step[k]];
            assert_string_equal(here->label, there->label);
            for (uint32_t i = 0; i < here->input_count; i++)
                assert_int_equal(stage->whole_object[here->inputs[i]], there->inputs[i]);
        }
        if (s == 0)
            assert_int_equal(stage->received_count, 0);
        for (uint32_t i = 0; i < stage->received_count; i++) {
            assert_int_equal(stages[s - 1].sent_count, stage->received_count);
            assert_int_equal(stages[s - 1].sent[i].whole, stage->received[i].whole);
            assert_int_equal(stage->graph.objects.items[stage->received[i].object].category,
                             LIN_CATEGORY_INPUTS);
        }
    }
    assert_true(steps >= whole->steps.count);
}

static const struct splitting {
    const char *name, *model, *entry;
    int64_t context, stages;
    bool bindings;
    const char *units[4]; /* of the first ones */
    uint32_t received;    /* by stage 1; UINT32_MAX: any number */
} splittings[] = {
    { "TinyLlama in two",
      "tinyllama-1.1b-chat",
      "loss_packed",
      2048,
      2,
      false,
      { "embedding, layers.0-10", "layers.11-21, norm, lm_head" },
      1 },
    { "TinyLlama in four",
      "tinyllama-1.1b-chat",
      "loss_packed",
      2048,
      4,
      false,
      { "embedding, layers.0-4", "layers.5-10", "layers.11-16", "layers.17-21, norm, lm_head" },
      1 },
    { "TinyLlama, a stage a unit",
      "tinyllama-1.1b-chat",
      "loss_packed",
      2048,
      25,
      false,
      { "embedding", "layers.0" },
      1 },
    { "Qwen in two",
      "qwen2.5-0.5b-instruct",
      "loss_packed",
      2048,
      2,
      false,
      { "embedding, layers.0-11", "layers.12-23, norm, lm_head" },
      1 },
    { "Qwen, tied: the table counts on both ends",
      "qwen2.5-0.5b-instruct",
      "loss_packed",
      2048,
      2,
      true,
      { "embedding, layers.0-11", "layers.12-23, norm, lm_head" },
      1 },
    { "GPT-2, whose head reads the table", "gpt2", "forward", 64, 3, true, { NULL }, UINT32_MAX },
    { "decoding, with caches", "tinyllama-1.1b-chat", "decode", 0, 4, false, { NULL }, UINT32_MAX },
    { "BERT", "bert-base-uncased", "forward", 64, 3, true, { NULL }, UINT32_MAX },
};

static void test_split(void **state)
{
    const struct splitting *row = *state;
    split_case c = open_case(row->model, NULL, row->entry, row->bindings,
                             strcmp(row->entry, "forward") == 0 ? 2 : 0, row->context);
    linnet_error err = { 0 };
    if (lin_stages_plan(c.traced.graph, ones, row->stages, NULL, &c.arena, &c.plan, &err) !=
        LINNET_OK)
        fail_msg("%s", err.message);
    for (uint32_t s = 0; s < 4 && row->units[s] != NULL; s++)
        assert_string_equal(lin_stage_units(c.traced.graph, &c.plan, s, &c.arena), row->units[s]);
    const lin_stage_graph *stages = lin_graph_split(c.traced.graph, &c.plan, &c.arena);
    check_split(c.traced.graph, &c.plan, stages);
    if (row->received != UINT32_MAX)
        assert_int_equal(stages[1].received_count, row->received);
    close_case(&c);
}

static int64_t bytes_of(const lin_graph *graph, lin_category category)
{
    int64_t sum = 0, bytes;
    for (uint32_t i = 0; i < graph->objects.count; i++) {
        const lin_object *o = &graph->objects.items[i];
        if (o->category != category || o->owner != i)
            continue;
        assert_true(lin_expr_evaluate(graph->exprs, o->bytes, ones, &bytes));
        sum += bytes;
    }
    return sum;
}

/* Stages together hold the model, and a tied table once more. */
static void test_tied(void **state)
{
    const int64_t table = INT64_C(151936) * 896 * 2;
    (void)state;
    for (int bindings = 0; bindings < 2; bindings++) {
        split_case c =
            open_case("qwen2.5-0.5b-instruct", NULL, "loss_packed", bindings == 1, 0, 256);
        linnet_error err = { 0 };
        assert_int_equal(lin_stages_plan(c.traced.graph, ones, 2, NULL, &c.arena, &c.plan, &err),
                         LINNET_OK);
        const lin_stage_graph *stages = lin_graph_split(c.traced.graph, &c.plan, &c.arena);
        const int64_t parts = bytes_of(&stages[0].graph, LIN_CATEGORY_PARAMETERS) +
                              bytes_of(&stages[1].graph, LIN_CATEGORY_PARAMETERS);
        assert_int_equal(parts, bytes_of(c.traced.graph, LIN_CATEGORY_PARAMETERS) +
                                    (bindings == 1 ? table : 0));
        close_case(&c);
    }
}

/* A value that is read two stages on passes the one between, and steps of the inputs alone run
 * where they are read. */
static const char passing[] =
    "module program\n"
    "block Part<N: Dim> {\n"
    "    param weight: Tensor[N; f32]\n"
    "    pub fn forward<B: Dim>(x: Tensor[B; f32]) -> Tensor[B; f32] {\n"
    "        let y[b] = x[b] * weight[0]\n"
    "        return y\n"
    "    }\n"
    "}\n"
    "pub block Model<B: Dim = 7> {\n"
    "    sub a: Part<3>\n"
    "    sub b: Part<3>\n"
    "    sub c: Part<3>\n"
    "    pub entry forward(x: Tensor[B; f32], z: Tensor[B; f32]) -> Tensor[B; f32] {\n"
    "        let shift = exp(z)\n"
    "        let first = a.forward(x)\n"
    "        let second = b.forward(first + shift)\n"
    "        let third = c.forward(second + shift)\n"
    "        return third + first\n"
    "    }\n"
    "}\n";

static void test_passing(void **state)
{
    (void)state;
    split_case c = open_case(NULL, passing, "forward", false, 0, 0);
    linnet_error err = { 0 };
    assert_int_equal(lin_stages_plan(c.traced.graph, ones, 3, NULL, &c.arena, &c.plan, &err),
                     LINNET_OK);
    const lin_stage_graph *stages = lin_graph_split(c.traced.graph, &c.plan, &c.arena);
    check_split(c.traced.graph, &c.plan, stages);
    /* exp, first, first + shift; exp again, second, second + shift; third, the sum */
    static const uint32_t steps[] = { 3, 3, 2 }, sent[] = { 2, 2, 1 };
    for (uint32_t s = 0; s < 3; s++) {
        assert_int_equal(stages[s].graph.steps.count, steps[s]);
        assert_int_equal(stages[s].sent_count, sent[s]);
    }
    close_case(&c);
}

enum { ROWS = ARRAY_LEN(balances) + ARRAY_LEN(splittings), OTHERS = 2 };

int main(void)
{
    static struct CMUnitTest tests[ROWS + OTHERS];
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(balances); i++)
        tests[count++] = (struct CMUnitTest){ .name = balances[i].name,
                                              .test_func = test_balance,
                                              .initial_state = (void *)(uintptr_t)&balances[i] };
    for (size_t i = 0; i < ARRAY_LEN(splittings); i++)
        tests[count++] = (struct CMUnitTest){ .name = splittings[i].name,
                                              .test_func = test_split,
                                              .initial_state = (void *)(uintptr_t)&splittings[i] };
    tests[count++] = (struct CMUnitTest){ .name = "stages together hold the model, a tied table "
                                                  "once more",
                                          .test_func = test_tied };
    tests[count++] = (struct CMUnitTest){ .name = "a value passes the stage between",
                                          .test_func = test_passing };
    assert_int_equal(count, ARRAY_LEN(tests));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
