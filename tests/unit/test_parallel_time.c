/* SPDX-License-Identifier: MIT */

/*
 * Step times of jobs whose operations exchange, against sums by hand: attention over split
 * positions (CP), mixtures over split experts (EP), runs of positions between products (SP). Also
 * what is refused, and seconds by unit.
 */

#include "limited_host.h"
#include "parallel_job.h"

/* ---- context ---- */

static const struct context_case {
    const char *name;
    int64_t processes;
    lin_context_exchange exchange;
    double link;
} context_cases[] = {
    { "a ring of two on a fast link", 2, LIN_CONTEXT_RING, 100e9 },
    { "a ring of four on a fast link", 4, LIN_CONTEXT_RING, 100e9 },
    { "a ring of four on a slow link", 4, LIN_CONTEXT_RING, 1e9 },
    { "a ring of eight on a slow link", 8, LIN_CONTEXT_RING, 1e9 },
    { "keys and values gathered over two", 2, LIN_CONTEXT_ALL_GATHER, 100e9 },
    { "keys and values gathered over eight", 8, LIN_CONTEXT_ALL_GATHER, 1e9 },
};

/* F is 4 D + 6 a pair of positions, half of it under the mask. */
static double block_seconds(double positions)
{
    return HEADS * positions * positions * (4 * 128 + 6) / 2 / 100e12;
}

/* A process with all keys does a c-th of what one process does alone. */
static void test_context(void **state)
{
    const struct context_case *c = *state;
    const lin_cost_settings settings = { .training = true,
                                         .processes = 1,
                                         .context = c->processes,
                                         .exchange = c->exchange,
                                         .rules = LIN_RULE_CP };
    const double n = (double)c->processes, own = POSITIONS / n;
    const double tensor = own * HIDDEN * 2, pair = 2 * tensor;
    const double block = block_seconds(own), hop = 10e-6 + pair / c->link;
    const double both = 10e-6 + 2 * pair / c->link;
    const double gather = 10e-6 + (n - 1) / n * (n * pair) / c->link;
    double forward = n * block, back = n * block;
    job j;
    if (c->exchange == LIN_CONTEXT_RING) {
        forward += (n - 1) * (3 * tensor / 1e12 + fmax(hop - block, 0));
        back += 2 * fmax(hop - block, 0) + (n - 2) * fmax(both - block, 0) + hop;
    } else {
        forward += gather;
        back += 2 * gather;
    }
    open_job(&settings, c->link, &j);
    const lin_kind_time attention = kind_of(j.cost, "attention");
    assert_near("forward", attention.forward.device, LAYERS * forward);
    assert_near("backward", attention.backward.device, LAYERS * back);
    close_job(&j);
}

static void test_context_operations(void **state)
{
    const lin_part_settings around = { 0 };
    double alone = 0;
    (void)state;
    for (int64_t c = 1; c <= 4; c *= 2) {
        const lin_cost_settings settings = { .processes = 1, .context = c, .rules = LIN_RULE_CP };
        lin_part part;
        job j;
        open_job(&settings, 100e9, &j);
        lin_cost_part(j.cost, &j.profile, &around, &part);
        alone = c == 1 ? part.model_operations : alone;
        assert_near("operations of the group", (double)c * part.model_operations, alone);
        close_job(&j);
    }
}

/* ---- experts ---- */

static const struct expert_case {
    const char *name;
    int64_t processes;
} expert_cases[] = {
    { "experts over two, four each", 2 },
    { "experts over four", 4 },
    { "experts over eight, one each: nothing to sort", 8 },
};

static void test_experts(void **state)
{
    const struct expert_case *c = *state;
    lin_cost_settings settings = { .training = true, .processes = 1, .expert = c->processes };
    const double e = (double)c->processes;
    const double bytes = POSITIONS * CHOSEN * HIDDEN * 2.0;
    const double copy = EXPERTS / c->processes > 1 ? 2 * bytes / 1e12 : 0;
    const double exchange = 10e-6 + (e - 1) / e * bytes / 100e9 + copy;
    job with, without;
    open_job(&settings, 100e9, &without);
    settings.rules = LIN_RULE_EP;
    open_job(&settings, 100e9, &with);
    const lin_kind_time a = kind_of(without.cost, "elementwise, joins, casts");
    const lin_kind_time b = kind_of(with.cost, "elementwise, joins, casts");
    assert_near("forward", b.forward.device - a.forward.device, LAYERS * 2 * exchange);
    assert_near("backward", b.backward.device - a.backward.device, LAYERS * 2 * exchange);
    close_job(&with);
    close_job(&without);
}

/* ---- runs of positions between tensor-parallel products (SP) ---- */

static const struct sequence_case {
    const char *name;
    bool is_split;
    double scatters; /* of 24 blocks, 2 each */
} sequence_cases[] = {
    { "runs of positions are scattered and gathered", true, 48 },
    { "one run is neither", false, 0 },
};

static void test_sequence(void **state)
{
    enum { PROCESSES = 4, WIDTH = 2048 };
    const struct sequence_case *c = *state;
    const lin_trace_settings trace_settings = { .entry = "loss",
                                                .role_given = { true, true, false },
                                                .role_value = { 1, 1024, 0 },
                                                .numerics = LIN_NUMERICS_FAST,
                                                .processes = PROCESSES,
                                                .sequence_parallel = c->is_split,
                                                .training = true };
    const lin_cost_settings settings = { .training = true,
                                         .processes = PROCESSES,
                                         .rules = LIN_RULE_SP };
    const int64_t symbols[LIN_ROLE_COUNT] = { 1, 1024, 1 };
    const lin_profile profile = make_profile(100e9);
    lin_source *source = open_source("gpt-lesson");
    lin_traced traced;
    lin_cost *cost = NULL;
    linnet_error err = { 0 };
    if (lin_trace(source, &trace_settings, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    assert_int_equal(lin_cost_new(traced.graph, &settings, &lin_default_allocator, &cost, &err),
                     LINNET_OK);
    assert_int_equal(lin_cost_price(cost, &profile, symbols, &err), LINNET_OK);
    const double one = 10e-6 + 0.75 * 1024 * WIDTH * 2 / 100e9;
    const lin_kind_time scatters = kind_of(cost, "scatters"), gathers = kind_of(cost, "gathers");
    assert_near("scattered", scatters.forward.device, c->scatters * one);
    assert_near("gathered back", scatters.backward.device, c->scatters * one);
    assert_near("gathered", gathers.forward.device, c->scatters * one);
    lin_cost_free(cost);
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

/* ---- what is refused ---- */

/* A cache is whole on every process: positions that are split are not all that attention reads. */
static void test_refused(void **state)
{
    const cost_run run = { "tinyllama-1.1b-chat", "prefill", .batch = 1, .context = 64,
                           .cache = 128 };
    const lin_cost_settings settings = { .processes = 1, .context = 2, .rules = LIN_RULE_CP };
    lin_source *source = open_source(run.model);
    lin_traced traced = trace(source, &run);
    lin_cost *cost = NULL;
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(lin_cost_new(traced.graph, &settings, &lin_default_allocator, &cost, &err),
                     LINNET_ERROR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "over caches"));
    assert_null(cost);
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

/* ---- seconds by unit ---- */

static void test_units(void **state)
{
    double seconds[LAYERS + 1], all = 0;
    linnet_error err;
    job j;
    (void)state;
    open_training(lin_time_model_rules(LIN_TIME_LINNET), 100e9, &j);
    assert_int_equal(j.traced.graph->units.count, LAYERS + 1);
    assert_int_equal(lin_cost_unit_seconds(j.cost, NULL, seconds, &err), LINNET_OK);
    for (uint32_t i = 0; i < lin_cost_kind_count(); i++) {
        const lin_kind_time kind = lin_cost_kind_time(j.cost, i);
        all += kind.forward.device + kind.backward.device;
    }
    assert_near("the layers are alike", seconds[1], seconds[2]);
    assert_near("the units are the whole", seconds[0] + seconds[1] + seconds[2], all);
    assert_true(seconds[0] > 0 && seconds[0] < seconds[1]);
    close_job(&j);
}

/* A stage's seconds are its units': of the published row with two stages, to two in a hundred,
 * since a stage waits for its host now and then and passes values on. */
static void test_stage_units(void **state)
{
    const struct pipeline_case *row = &pipeline_rows[0];
    const cost_run *run = &row->run;
    const lin_cost_settings settings = { .training = true, .is_stage = true, .processes = 1 };
    lin_source *source = open_source(run->model);
    lin_profile *profile = open_profile("h100-80gb");
    lin_traced traced = trace(source, run);
    int64_t symbols[LIN_ROLE_COUNT] = { 1, 1, 1 };
    double seconds[64], stages[2] = { 0, 0 };
    lin_cost *cost = NULL;
    linnet_error err = { 0 };
    (void)state;
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++)
        if (traced.graph->role_free[role])
            symbols[traced.graph->role_symbols[role]] = traced.role_value[role];
    symbols[traced.graph->role_symbols[LIN_ROLE_CONTEXT]] /= row->microbatches;
    assert_int_equal(lin_cost_new(traced.graph, &settings, &lin_default_allocator, &cost, &err),
                     LINNET_OK);
    assert_int_equal(lin_cost_price(cost, profile, symbols, &err), LINNET_OK);
    assert_true(traced.graph->units.count <= 64);
    assert_int_equal(lin_cost_unit_seconds(cost, NULL, seconds, &err), LINNET_OK);
    for (uint32_t i = 0; i < traced.graph->units.count; i++)
        stages[i > 11] += seconds[i] * 1e3; /* the embedding and layers 0 to 10 come first */
    for (int i = 0; i < 2; i++)
        if (fabs(stages[i] / row->seconds[i] - 1) > 0.02)
            fail_msg("stage %d: %.3f ms instead of %.3f", i, stages[i], row->seconds[i]);
    lin_cost_free(cost);
    lin_graph_free(traced.graph);
    lin_profile_free(profile);
    lin_source_free(source);
}

/* ---- out of memory ---- */

static linnet_status try_all(const lin_graph *graph, limited_host *host)
{
    const lin_allocator allocator = { .fn = limited_alloc, .user = host };
    const lin_cost_settings settings = { .training = true,
                                         .processes = 1,
                                         .context = 2,
                                         .expert = 2,
                                         .rules = lin_time_model_rules(LIN_TIME_LINNET) };
    const int64_t symbols[LIN_ROLE_COUNT] = { 1, POSITIONS, 1 };
    const lin_profile profile = make_profile(100e9);
    double seconds[LAYERS + 1];
    lin_cost *cost = NULL;
    linnet_error err;
    linnet_status status = lin_cost_new(graph, &settings, &allocator, &cost, &err);
    if (status == LINNET_OK)
        status = lin_cost_price(cost, &profile, symbols, &err);
    if (status == LINNET_OK)
        status = lin_cost_unit_seconds(cost, NULL, seconds, &err);
    lin_cost_free(cost);
    return status;
}

static void test_failure(void **state)
{
    const lin_cost_settings settings = { .processes = 1, .context = 2, .expert = 2 };
    job j;
    (void)state;
    open_job(&settings, 100e9, &j);
    for (int stays_down = 0; stays_down < 2; stays_down++) {
        linnet_status status = LINNET_ERROR_NO_MEMORY;
        for (int64_t n = 0; status != LINNET_OK; n++) {
            limited_host host = { .left = n, .stays_down = stays_down };
            status = try_all(j.traced.graph, &host);
            assert_int_equal(status, host.refused ? LINNET_ERROR_NO_MEMORY : LINNET_OK);
            assert_int_equal(host.blocks, 0);
        }
    }
    close_job(&j);
}

int main(void)
{
    struct CMUnitTest tests[64];
    size_t count = 0;
    ADD_ROWS(context_cases, test_context);
    ADD_ROWS(expert_cases, test_experts);
    ADD_ROWS(sequence_cases, test_sequence);
    ADD("a context's operations are those of one process", test_context_operations);
    ADD("context parallelism over caches is refused", test_refused);
    ADD("seconds by unit", test_units);
    ADD("seconds of a stage's units", test_stage_units);
    ADD("every request for memory fails once", test_failure);
    return _cmocka_run_group_tests("parallel_time", tests, count, NULL, NULL);
}
