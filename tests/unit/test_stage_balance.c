/* SPDX-License-Identifier: MIT */

/*
 * Stages balanced by weights, against every way to cut, and by the time of a device: no slower in
 * their slowest than stages balanced by bytes, with the same weights in all of them together; what
 * is refused; every allocation failing once.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"
#include <linnet/linnet.h>

#include "limited_host.h"

/* ---- every way to cut ---- */

static const char blocks[] = "module program\n"
                             "block Part {\n"
                             "    param weight: Tensor[3; f32]\n"
                             "    pub fn forward<B: Dim>(x: Tensor[B; f32]) -> Tensor[B; f32] {\n"
                             "        let y[b] = x[b] * weight[0]\n"
                             "        return y\n"
                             "    }\n"
                             "}\n"
                             "pub block Model<B: Dim = 7> {\n"
                             "    sub parts: [Part; 10]\n"
                             "    pub entry forward(x: Tensor[B; f32]) -> Tensor[B; f32] {\n"
                             "        var y = x\n"
                             "        static for part in parts {\n"
                             "            y = part.forward(y)\n"
                             "        }\n"
                             "        return y\n"
                             "    }\n"
                             "}\n";
enum { UNITS = 10 };

/* Of one way to cut. */
typedef struct cut {
    int64_t heaviest;
    double squares; /* the sum of those of all stages */
} cut;

static cut measure(const int64_t weights[UNITS], const uint32_t *first_unit, uint32_t stages)
{
    cut c = { 0, 0 };
    for (uint32_t s = 0; s < stages; s++) {
        int64_t held = 0;
        const uint32_t end = s + 1 < stages ? first_unit[s + 1] : UNITS;
        assert_true(first_unit[s] < end);
        for (uint32_t i = first_unit[s]; i < end; i++)
            held += weights[i];
        c.heaviest = held > c.heaviest ? held : c.heaviest;
        c.squares += (double)held * (double)held;
    }
    return c;
}

/* Bit i: a stage begins at unit i + 1. */
static cut best_of(const int64_t weights[UNITS], uint32_t stages)
{
    cut best = { INT64_MAX, 0 };
    for (uint32_t bits = 0; bits < 1u << (UNITS - 1); bits++) {
        uint32_t first_unit[UNITS] = { 0 }, count = 1;
        for (uint32_t i = 1; i < UNITS; i++)
            if ((bits >> (i - 1) & 1) != 0)
                first_unit[count++] = i;
        if (count != stages)
            continue;
        const cut c = measure(weights, first_unit, stages);
        if (c.heaviest < best.heaviest || (c.heaviest == best.heaviest && c.squares < best.squares))
            best = c;
    }
    return best;
}

static lin_source *parse_program(const char *text)
{
    const lin_source_settings from = { .allocator = lin_default_allocator,
                                       .limits = lin_lang_default_limits,
                                       .file_bytes = 16 << 20 };
    lin_source *source = NULL;
    linnet_error err = { 0 };
    if (lin_source_parse(&from, text, strlen(text), "program.linnet", NULL, &source, &err) !=
        LINNET_OK)
        fail_msg("line %u: %s", err.line, err.message);
    return source;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static void test_cuts(void **state)
{
    static const int64_t ones[] = { 1, 1, 1 };
    lin_source *source = parse_program(blocks);
    const lin_trace_settings trace = { .numerics = LIN_NUMERICS_FAST, .processes = 1 };
    lin_traced traced;
    linnet_error err = { 0 };
    uint32_t seed = 7;
    (void)state;
    assert_int_equal(lin_trace(source, &trace, &lin_default_allocator, &traced, &err), LINNET_OK);
    assert_int_equal(traced.graph->units.count, UNITS);
    for (int trial = 0; trial < 100; trial++) {
        /* Small numbers tie often, and a unit may weigh nothing. */
        const uint32_t most = trial % 3 == 0 ? 3 : trial % 3 == 1 ? 10 : 60000;
        int64_t weights[UNITS];
        for (uint32_t i = 0; i < UNITS; i++)
            weights[i] = next_random(&seed) % most;
        for (uint32_t stages = 1; stages <= UNITS; stages++) {
            lin_stage_plan plan;
            lin_arena arena;
            lin_arena_init(&arena, &lin_default_allocator);
            assert_int_equal(
                lin_stages_weigh(traced.graph, ones, stages, weights, &arena, &plan, &err),
                LINNET_OK);
            assert_int_equal(plan.stage_count, stages);
            assert_int_equal(plan.first_unit[stages], UNITS);
            assert_int_equal(plan.first_unit[0], 0);
            const cut best = best_of(weights, stages);
            const cut found = measure(weights, plan.first_unit, stages);
            assert_int_equal(found.heaviest, best.heaviest);
            assert_true(found.squares <= best.squares * (1 + 1e-5));
            lin_arena_free(&arena);
        }
    }
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

static const struct even_case {
    const char *name;
    int64_t weights[UNITS];
    uint32_t stages;
    uint32_t first_unit[UNITS];
} even_cases[] = {
    { "one stage", { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, 1, { 0 } },
    { "the first of equal stages are the shorter ones",
      { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
      4,
      { 0, 2, 4, 7 } },
    { "what is not the heaviest is even", { 1, 1, 1, 1, 1, 1, 0, 0, 4, 3 }, 4, { 0, 3, 6, 9 } },
    { "as many stages as units",
      { 9, 0, 0, 1, 5, 2, 0, 0, 1, 1 },
      UNITS,
      { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 } },
    { "nothing weighs anything", { 0 }, 3, { 0, 1, 2 } },
};

static void test_even(void **state)
{
    static const int64_t ones[] = { 1, 1, 1 };
    const struct even_case *c = *state;
    lin_source *source = parse_program(blocks);
    const lin_trace_settings trace = { .numerics = LIN_NUMERICS_FAST, .processes = 1 };
    lin_traced traced;
    lin_stage_plan plan;
    lin_arena arena;
    linnet_error err = { 0 };
    assert_int_equal(lin_trace(source, &trace, &lin_default_allocator, &traced, &err), LINNET_OK);
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(
        lin_stages_weigh(traced.graph, ones, c->stages, c->weights, &arena, &plan, &err),
        LINNET_OK);
    for (uint32_t s = 0; s < c->stages; s++)
        assert_int_equal(plan.first_unit[s], c->first_unit[s]);
    lin_arena_free(&arena);
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

static void test_too_heavy(void **state)
{
    static const int64_t ones[] = { 1, 1, 1 };
    lin_source *source = parse_program(blocks);
    const lin_trace_settings trace = { .numerics = LIN_NUMERICS_FAST, .processes = 1 };
    int64_t weights[UNITS] = { INT64_MAX, 1 };
    lin_traced traced;
    lin_stage_plan plan;
    lin_arena arena;
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(lin_trace(source, &trace, &lin_default_allocator, &traced, &err), LINNET_OK);
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(lin_stages_weigh(traced.graph, ones, 2, weights, &arena, &plan, &err),
                     LINNET_ERROR_OVERFLOW);
    assert_int_equal(lin_stages_weigh(traced.graph, ones, UNITS + 1, weights, &arena, &plan, &err),
                     LINNET_ERROR_ARGUMENT);
    lin_arena_free(&arena);
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

/* ---- by time ---- */

typedef struct staged {
    lin_source *source;
    lin_memory *memory;
} staged;

typedef struct staged_run {
    const char *model, *checkpoint;
    int64_t context, microbatches, stages;
    int searched_role;
} staged_run;

static lin_profile *open_h100(void)
{
    lin_profile *profile = NULL;
    linnet_error err = { 0 };
    assert_int_equal(lin_profile_open("h100-80gb", 1 << 20, &lin_default_allocator, &profile, &err),
                     LINNET_OK);
    return profile;
}

/* `profile` NULL: by bytes. */
static staged open_staged(const staged_run *run, const lin_profile *profile)
{
    const lin_source_settings from = { .allocator = lin_default_allocator,
                                       .limits = lin_lang_default_limits,
                                       .file_bytes = 16 << 20 };
    const lin_trace_settings trace = { .entry = "loss_packed",
                                       .role_given = { false, true, false },
                                       .role_value = { 0, run->context, 0 },
                                       .no_bindings = true,
                                       .numerics = LIN_NUMERICS_FAST,
                                       .processes = 1,
                                       .training = true };
    const lin_training_settings training = { .checkpoint = run->checkpoint };
    lin_memory_settings settings = { .context_bytes = -1,
                                     .effort = lin_plan_default_effort,
                                     .training = &training,
                                     .parallel = { .pipeline = run->stages },
                                     .pipeline = { .ranks = run->stages,
                                                   .microbatches = run->microbatches } };
    lin_time_weigher weigher;
    staged s = { NULL, NULL };
    lin_traced traced;
    linnet_error err = { 0 };
    if (profile != NULL) {
        weigher = lin_plan_time_weigher(profile, LIN_TIME_LINNET, run->searched_role,
                                        &lin_default_allocator);
        settings.pipeline.weigher = &weigher.base;
    }
    if (lin_source_open(&from, run->model, NULL, &s.source, &err) != LINNET_OK ||
        lin_trace(s.source, &trace, &lin_default_allocator, &traced, &err) != LINNET_OK ||
        lin_memory_new(s.source, &traced, &trace, &settings, &lin_default_allocator, &s.memory,
                       &err) != LINNET_OK)
        fail_msg("%s: %s", run->model, err.message);
    return s;
}

static void close_staged(staged *s)
{
    lin_memory_free(s->memory);
    lin_source_free(s->source);
}

/* What the heaviest stage weighs, by the weigher itself. */
static int64_t heaviest(const staged *s, const staged_run *run, const lin_profile *profile)
{
    static const int64_t as_configured[LIN_ROLE_COUNT];
    const lin_training_settings training = { .checkpoint = run->checkpoint };
    const lin_memory_settings settings = { .training = &training };
    const lin_time_weigher weigher =
        lin_plan_time_weigher(profile, LIN_TIME_LINNET, -1, &lin_default_allocator);
    const lin_graph *graph = lin_memory_traced(s->memory)->graph;
    int64_t weights[64], held = 0, most = 0;
    lin_answer *answer = NULL;
    linnet_error err = { 0 };
    uint32_t next = 0;
    assert_true(graph->units.count <= 64);
    assert_int_equal(weigher.base.weigh(&weigher.base, s->memory, &settings, weights, &err),
                     LINNET_OK);
    assert_int_equal(lin_memory_analyse(s->memory, as_configured, &answer, &err), LINNET_OK);
    for (uint32_t i = 0; i < graph->units.count; i++) {
        if (next < answer->pipeline->start_count &&
            strcmp(graph->units.items[i], answer->pipeline->starts[next]) == 0) {
            held = 0;
            next++;
        }
        held += weights[i];
        most = held > most ? held : most;
    }
    assert_int_equal(next, run->stages - 1);
    lin_answer_free(answer);
    return most;
}

/* What the slowest stage takes for a micro-batch, all that a step's time counts in it. */
static double slowest(const staged *s, const staged_run *run, const lin_profile *profile)
{
    const lin_timer_settings settings = { .training = true,
                                          .parallel = { .pipeline = run->stages } };
    const lin_parallel parallel = lin_parallel_normal(&settings.parallel);
    const int64_t whole[LIN_ROLE_COUNT] = { -1, run->context, run->context };
    int64_t one[LIN_ROLE_COUNT];
    lin_timer *timer = NULL;
    linnet_error err = { 0 };
    double most = 0;
    if (lin_memory_cut(s->memory, whole, one, &err) != LINNET_OK ||
        lin_timer_new(s->memory, profile, &settings, &lin_default_allocator, &timer, &err) !=
            LINNET_OK ||
        lin_timer_price(timer, whole, one, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    lin_timer_run(timer, &parallel);
    for (uint32_t i = 0; i < timer->stage_count; i++)
        most = timer->parts[i].seconds > most ? timer->parts[i].seconds : most;
    lin_timer_free(timer);
    return most;
}

static int64_t parameter_bytes(const staged *s)
{
    int64_t sum = 0;
    for (uint32_t stage = 0; stage < lin_memory_stage_count(s->memory); stage++) {
        const lin_graph *graph = &lin_memory_stage(s->memory, stage)->graph;
        for (uint32_t i = 0; i < graph->parameter_objects; i++) {
            int64_t bytes;
            if (graph->objects.items[i].category == LIN_CATEGORY_PARAMETERS) {
                assert_true(lin_expr_is_int(graph->exprs, graph->objects.items[i].bytes, &bytes));
                sum += bytes;
            }
        }
    }
    return sum;
}

static const struct time_case {
    const char *name, *model;
    int64_t bytes; /* of all parameters */
} time_cases[] = {
    { "TinyLlama", "tinyllama-1.1b-chat", 2200096768 },
    { "Llama 3.1 8B", "llama-3.1-8b-instruct", 16060522496 },
};

static void test_time(void **state)
{
    const struct time_case *c = *state;
    lin_profile *profile = open_h100();
    for (int64_t stages = 2; stages <= 8; stages *= 2)
        for (int checkpoints = 0; checkpoints < 2; checkpoints++) {
            const staged_run run = { .model = c->model,
                                     .checkpoint = checkpoints ? "block" : NULL,
                                     .context = 16384,
                                     .microbatches = 8,
                                     .stages = stages,
                                     .searched_role = -1 };
            staged by_bytes = open_staged(&run, NULL), by_time = open_staged(&run, profile);
            const double bytes = slowest(&by_bytes, &run, profile);
            const double time = slowest(&by_time, &run, profile);
            print_message("%s, %d stages%s: %.3f ms by bytes, %.3f by time\n", c->name, (int)stages,
                          checkpoints ? ", checkpoint block" : "", bytes * 1e3, time * 1e3);
            /* Recomputed, a stage's time says of each of its calls what is so of all together. */
            assert_true(checkpoints || time <= bytes);
            assert_true(heaviest(&by_time, &run, profile) <= heaviest(&by_bytes, &run, profile));
            assert_int_equal(parameter_bytes(&by_bytes), c->bytes);
            assert_int_equal(parameter_bytes(&by_time), c->bytes);
            close_staged(&by_bytes);
            close_staged(&by_time);
        }
    lin_profile_free(profile);
}

/* Where a search varies the size, memories of one way to split have the same stages. */
static void test_searched(void **state)
{
    lin_profile *profile = open_h100();
    const staged_run one = { .model = "tinyllama-1.1b-chat",
                             .context = 1024,
                             .microbatches = 1,
                             .stages = 4,
                             .searched_role = LIN_ROLE_CONTEXT };
    staged_run many = one;
    many.context = 65536;
    many.microbatches = 16;
    staged a = open_staged(&one, profile), b = open_staged(&many, profile);
    (void)state;
    for (uint32_t stage = 0; stage < 4; stage++)
        assert_int_equal(lin_memory_stage(a.memory, stage)->graph.steps.count,
                         lin_memory_stage(b.memory, stage)->graph.steps.count);
    close_staged(&a);
    close_staged(&b);
    lin_profile_free(profile);
}

/* ---- through the public functions ---- */

/* A table that is large and takes no time. */
static const char net[] =
    "module net\n"
    "use std.nn.linear::{Linear}\n"
    "block Table {\n"
    "    param weight: Tensor[4096, 64; bf16]\n"
    "    pub fn look<B: Dim>(tokens: Tensor[B; i32]) -> Tensor[B, 64; bf16] {\n"
    "        let y[b, h] = weight[tokens[b], h]\n"
    "        return y\n"
    "    }\n"
    "}\n"
    "pub block Net {\n"
    "    sub table: Table\n"
    "    sub layers: [Linear<64, 64, bf16>; 4]\n"
    "    pub entry loss<B: Dim>(tokens: Tensor[B; i32]) -> f32 {\n"
    "        var y = table.look(tokens)\n"
    "        static for layer in layers {\n"
    "            y = layer.forward(y)\n"
    "        }\n"
    "        return sum[b, h] cast<f32>(y[b, h])\n"
    "    }\n"
    "}\n";

/* Fast memory, so that a product's time is its arithmetic, and nothing else's matters. */
static const char profile_text[] =
    "{ \"version\": 1, \"kind\": \"linnet-device\", \"name\": \"round\", "
    "\"memory\": 5000000000, \"flops\": { \"f32\": 1e9 }, "
    "\"bandwidth\": 1e15, \"link\": 1e9, \"latency\": 1e-6, \"reduce\": 1e-6 }";

#define PIPELINE                                                                  \
    "\"entry\": \"loss\", \"root\": \"Net\", \"training\": true, \"batch\": 64, " \
    "\"pipeline_parallel\": 2, \"microbatches\": 4"

typedef struct job {
    linnet_config *config;
    linnet_model *model;
    linnet_device *device;
    linnet_analysis *analysis;
} job;

/* `host` NULL: memory enough. */
static linnet_status open_job(job *j, const char *json, bool with_device, limited_host *host,
                              linnet_error *err)
{
    linnet_status status;
    *j = (job){ NULL, NULL, NULL, NULL };
    if ((status = host != NULL
                      ? linnet_config_new_with_allocator(limited_alloc, host, &j->config, err)
                      : linnet_config_new(&j->config, err)) != LINNET_OK ||
        (status = linnet_config_set_json(j->config, json, strlen(json), err)) != LINNET_OK ||
        (status = linnet_model_parse(j->config, net, sizeof net - 1, "net.linnet", NULL, &j->model,
                                     err)) != LINNET_OK ||
        (status = linnet_device_parse(j->config, profile_text, sizeof profile_text - 1,
                                      "round.json", &j->device, err)) != LINNET_OK ||
        (with_device &&
         (status = linnet_config_set_device(j->config, j->device, err)) != LINNET_OK))
        return status;
    return linnet_analysis_new(j->model, j->config, &j->analysis, err);
}

static void close_job(job *j)
{
    linnet_analysis_unref(j->analysis);
    linnet_device_unref(j->device);
    linnet_model_unref(j->model);
    linnet_config_free(j->config);
}

static const struct public_case {
    const char *name, *json;
    bool with_device;
    linnet_status status;
    const char *says; /* the first stage's units, or what the message says */
} public_cases[] = {
    { "by bytes", "{" PIPELINE "}", false, LINNET_OK, "table" },
    { "by bytes, said", "{" PIPELINE ", \"stages_by\": \"bytes\"}", true, LINNET_OK, "table" },
    { "by time", "{" PIPELINE ", \"stages_by\": \"time\"}", true, LINNET_OK, "table, layers.0-1" },
    { "by time on no device", "{" PIPELINE ", \"stages_by\": \"time\"}", false,
      LINNET_ERROR_ARGUMENT, "no device is given" },
    { "by time and by hand", "{" PIPELINE ", \"stages_by\": \"time\", \"stages\": \"layers.1\"}",
      true, LINNET_ERROR_ARGUMENT, "give one of the two" },
    { "by something else", "{\"stages_by\": \"hand\"}", false, LINNET_ERROR_NOT_FOUND,
      "`bytes` or by `time`" },
    { "micro-batches that do not divide",
      "{\"entry\": \"loss\", \"root\": \"Net\", \"training\": true, \"batch\": 62, "
      "\"pipeline_parallel\": 2, \"microbatches\": 4, \"stages_by\": \"time\"}",
      true, LINNET_ERROR_ARGUMENT, "do not divide a batch of 62" },
};

static void test_public(void **state)
{
    const struct public_case *c = *state;
    linnet_error err = { 0 };
    job j;
    const linnet_status status = open_job(&j, c->json, c->with_device, NULL, &err);
    const char *said =
        status == LINNET_OK ? linnet_analysis_device_holds(j.analysis, 0) : err.message;
    assert_int_equal(status, c->status);
    if (status == LINNET_OK ? strcmp(said, c->says) != 0 : strstr(said, c->says) == NULL)
        fail_msg("`%s` does not say `%s`", said, c->says);
    close_job(&j);
}

/* A planner cuts as an analysis does, and a step's time is of the same stages without a device in
 * the config. */
static void test_calls(void **state)
{
    linnet_planner *planner = NULL;
    linnet_timing *timing = NULL;
    linnet_fit *fit = NULL;
    linnet_error err = { 0 };
    int64_t expected = 0;
    job j;
    (void)state;
    assert_int_equal(open_job(&j, "{" PIPELINE ", \"stages_by\": \"time\"}", true, NULL, &err),
                     LINNET_OK);
    assert_int_equal(linnet_planner_new(j.model, j.config, &planner, &err), LINNET_OK);
    assert_int_equal(linnet_planner_peaks(planner, 0, 0, 0, NULL, &expected, NULL, &err),
                     LINNET_OK);
    assert_int_equal(expected, linnet_analysis_expected_peak(j.analysis));
    linnet_config_set_device(j.config, NULL, NULL);
    assert_int_equal(linnet_timing_new(j.model, j.config, j.device, &timing, &err), LINNET_OK);
    assert_int_equal(linnet_timing_expected_peak(timing), expected);
    assert_int_equal(linnet_planner_fit(planner, "batch", 1 << 30, &fit, &err), LINNET_OK);
    linnet_fit_unref(fit);
    linnet_timing_unref(timing);
    linnet_planner_free(planner);
    close_job(&j);
}

/* ---- out of memory ---- */

static linnet_status try_all(limited_host *host)
{
    job j;
    const linnet_status status =
        open_job(&j, "{" PIPELINE ", \"stages_by\": \"time\"}", true, host, NULL);
    close_job(&j);
    return status;
}

static void test_failure(void **state)
{
    (void)state;
    for (int stays_down = 0; stays_down < 2; stays_down++)
        for (int64_t allowed = 0;; allowed++) {
            limited_host host = { .left = allowed, .stays_down = stays_down != 0 };
            const linnet_status status = try_all(&host);
            assert_int_equal(host.blocks, 0);
            if (!host.refused) {
                assert_int_equal(status, LINNET_OK);
                break;
            }
            assert_int_equal(status, LINNET_ERROR_NO_MEMORY);
        }
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
        tests[ARRAY_LEN(even_cases) + ARRAY_LEN(time_cases) + ARRAY_LEN(public_cases) + 5];
    size_t count = 0;
    tests[count++] =
        (struct CMUnitTest){ .name = "no other cut has a lighter heaviest stage, or is more even",
                             .test_func = test_cuts };
    tests[count++] = (struct CMUnitTest){ .name = "weights past 2^63, and too many stages",
                                          .test_func = test_too_heavy };
    ADD_ROWS(even_cases, test_even);
    ADD_ROWS(time_cases, test_time);
    tests[count++] =
        (struct CMUnitTest){ .name = "a search cuts all sizes alike", .test_func = test_searched };
    ADD_ROWS(public_cases, test_public);
    tests[count++] =
        (struct CMUnitTest){ .name = "every call balances alike", .test_func = test_calls };
    tests[count++] =
        (struct CMUnitTest){ .name = "every allocation fails once", .test_func = test_failure };
    return _cmocka_run_group_tests("stage_balance", tests, count, NULL, NULL);
}
