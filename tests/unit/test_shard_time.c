/* SPDX-License-Identifier: MIT */

/* Step times of training over shards (Z) and replicas (DP), against sums by hand. */

#include "parallel_job.h"

/* ---- shards ---- */

static lin_part run_shards(const job *j, const lin_part_settings *settings)
{
    lin_part part;
    lin_cost_part(j->cost, &j->profile, settings, &part);
    return part;
}

/* Weights of a layer, and outside of the layers. */
static const double layer_elements =
    (double)HIDDEN * HIDDEN + 8.0 * HIDDEN + 2.0 * EXPERTS * INNER * HIDDEN;
static const double loose_elements = 1000.0 * HIDDEN;

/* Without gathering ahead rule Z changes nothing of ZeRO 3. */
static void test_nothing_ahead(void **state)
{
    const lin_part_settings settings = { .shards = 4 };
    job z, plain;
    (void)state;
    open_training(LIN_RULE_Z, 100e9, &z);
    open_training(0, 100e9, &plain);
    const lin_part a = run_shards(&z, &settings), b = run_shards(&plain, &settings);
    assert_near("seconds", a.seconds, b.seconds);
    const double elements = LAYERS * layer_elements + loose_elements;
    const double tensors = LAYERS * 4 + 1;
    assert_near("communication", a.spent[LIN_SPENT_COMMUNICATION],
                0.75 * (2 * 2 + 4) * elements / 100e9 + 3 * tensors * 10e-6);
    close_job(&z);
    close_job(&plain);
}

/*
 * Two equal layers and what is outside, by hand. With a link so slow that it never rests after its
 * first gather, the step ends with the last of its collectives; with one so fast that nothing is
 * waited for but what has nothing to hide under, it is the calls and the copies.
 */
static void test_slow_link(void **state)
{
    const lin_part_settings settings = { .shards = 4, .prefetch = 1 };
    job j;
    (void)state;
    open_training(LIN_RULE_Z, 1e6, &j);
    const lin_part part = run_shards(&j, &settings);
    const double gather = 10e-6 + 0.75 * 2 * layer_elements / 1e6;
    const double sum = 10e-6 + 0.75 * 4 * layer_elements / 1e6;
    const double loose_gather = 10e-6 + 0.75 * 2 * loose_elements / 1e6;
    const double loose_sum = 10e-6 + 0.75 * 4 * loose_elements / 1e6;
    const double link = loose_gather + LAYERS * (2 * gather + sum) + loose_sum;
    const double busy = part.spent[LIN_SPENT_COMPUTE] + part.spent[LIN_SPENT_MEMORY];
    assert_true(part.seconds >= link);
    assert_true(part.seconds <= link + busy);
    assert_near("all of it", part.spent[LIN_SPENT_COMMUNICATION] + busy + part.waiting,
                part.seconds);
    close_job(&j);
}

static void test_fast_link(void **state)
{
    const lin_part_settings settings = { .shards = 4, .prefetch = 1 }, alone = { 0 };
    job j;
    (void)state;
    open_training(LIN_RULE_Z, 1e18, &j);
    j.profile.latency = 0;
    int64_t symbols[LIN_ROLE_COUNT] = { 1, POSITIONS, 1 };
    assert_int_equal(lin_cost_price(j.cost, &j.profile, symbols, NULL), LINNET_OK);
    const lin_part part = run_shards(&j, &settings), without = run_shards(&j, &alone);
    /* Out of the buffer twice, and into one: two bytes read, four written. */
    const double copies = (LAYERS * (2 * 2 * 2 + 6) * layer_elements + 6 * loose_elements) / 1e12;
    if (fabs(part.seconds - (without.seconds + copies)) > 1e-9)
        fail_msg("%.9g s instead of %.9g", part.seconds, without.seconds + copies);
    close_job(&j);
}

static const struct ahead_case {
    const char *name;
    double link;
    int64_t shards;
    lin_part_settings settings;
} ahead_cases[] = {
    { "weights kept from forward to backward cost no second gather",
      5e9,
      8,
      { .prefetch = 1, .reshard = LIN_RESHARD_NEVER } },
    { "weights spread over fewer come back sooner", 5e9, 8, { .prefetch = 1, .reshard = 2 } },
    { "two groups ahead are no slower than one", 5e9, 8, { .prefetch = 2 } },
    { "weights that every process keeps are gathered once a step",
      5e9,
      8,
      { .prefetch = 1, .keeps_parameters = true } },
};

/* None is slower than the plain way of one group ahead, and that is faster than none ahead. */
static void test_ahead(void **state)
{
    const struct ahead_case *c = *state;
    lin_part_settings plain = { .shards = c->shards, .prefetch = 1 };
    lin_part_settings settings = c->settings;
    const lin_part_settings waiting = { .shards = c->shards };
    const lin_parallel degrees = { .shards = c->shards, .reshard = c->settings.reshard };
    const lin_parallel normal = lin_parallel_normal(&degrees);
    lin_links links;
    job j;
    open_training(LIN_RULE_Z, c->link, &j);
    lin_links_of(&j.profile, &normal, LIN_RULE_N1, &links);
    settings.shards = c->shards;
    settings.links = plain.links = &links;
    const lin_part a = run_shards(&j, &settings), b = run_shards(&j, &plain);
    assert_true(a.seconds <= b.seconds + 1e-12);
    assert_true(b.seconds < run_shards(&j, &waiting).seconds);
    close_job(&j);
}

static const struct once_case {
    const char *name;
    bool keeps_parameters, keeps_gradients;
    double sums, gathers;           /* a pass */
    double once_sums, once_gathers; /* a step */
} once_cases[] = {
    { "ZeRO 1 sums and gathers once a step", true, true, 0, 0, 1, 1 },
    { "ZeRO 2 sums every pass and gathers once", true, false, 1, 0, 0, 1 },
    { "ZeRO 3 sums once and gathers twice a pass", false, false, 1, 2, 0, 0 },
};

static void test_once(void **state)
{
    const struct once_case *c = *state;
    const lin_part_settings settings = { .shards = 4,
                                         .keeps_parameters = c->keeps_parameters,
                                         .keeps_gradients = c->keeps_gradients };
    const double elements = LAYERS * layer_elements + loose_elements;
    const double tensors = LAYERS * 4 + 1;
    const double gather = 0.75 * 2 * elements / 100e9 + tensors * 10e-6;
    const double sum = 0.75 * 4 * elements / 100e9 + tensors * 10e-6;
    job j;
    open_training(LIN_RULE_Z, 100e9, &j);
    const lin_part part = run_shards(&j, &settings);
    assert_near("a pass", part.spent[LIN_SPENT_COMMUNICATION], c->sums * sum + c->gathers * gather);
    assert_near("a step", part.gather, c->once_sums * sum + c->once_gathers * gather);
    close_job(&j);
}

/* ---- replicas ---- */

static const struct replica_case {
    const char *name;
    lin_parallel parallel;
    lin_part part;
    double exposed; /* seconds */
} replica_cases[] = {
    { "a sum that hides under backward, but for its last bucket",
      { .replicas = 2 },
      { .seconds = 3, .forward = 1, .gradient_bytes = 100 << 20 },
      (25 << 20) / 100e9 + 10e-6 },
    { "a sum that is longer than backward",
      { .replicas = 2 },
      { .seconds = 0.003, .forward = 0.001, .gradient_bytes = 1000 << 20 },
      40 * ((25 << 20) / 100e9 + 10e-6) - 0.002 },
    { "context ranks sum too",
      { .replicas = 2, .context = 2 },
      { .seconds = 3, .forward = 1, .gradient_bytes = 100 << 20 },
      1.5 * (25 << 20) / 100e9 + 10e-6 },
    { "shards sum their part in f32",
      { .replicas = 2, .shards = 4 },
      { .seconds = 0.003, .forward = 0.001, .gradient_bytes = 1, .gradient_elements = 1000 << 20 },
      40 * ((25 << 20) / 100e9 + 10e-6) - 0.002 },
    { "experts sum over those that hold the same",
      { .replicas = 4, .expert = 4 },
      { .seconds = 3,
        .forward = 1,
        .gradient_bytes = 100 << 20,
        .expert_gradient_bytes = 100 << 20 },
      0 },
    { "experts of shards sum what no other shard has, whole",
      { .replicas = 2, .shards = 4, .expert = 4 },
      { .seconds = 0.003,
        .forward = 0.001,
        .gradient_elements = 250 << 20,
        .expert_gradient_elements = 250 << 20 },
      40 * ((25 << 20) / 100e9 + 10e-6) - 0.002 },
    { "experts on two of four shards sum a half of them",
      { .replicas = 2, .shards = 4, .expert = 2 },
      { .seconds = 0.003,
        .forward = 0.001,
        .gradient_elements = 500 << 20,
        .expert_gradient_elements = 500 << 20 },
      40 * ((25 << 20) / 100e9 + 10e-6) - 0.002 },
    { "one replica sums nothing", { .shards = 8 }, { .seconds = 3, .gradient_bytes = 1e9 }, 0 },
};

static void test_replicas(void **state)
{
    const struct replica_case *c = *state;
    const lin_profile profile = make_profile(100e9);
    const lin_parallel normal = lin_parallel_normal(&c->parallel);
    lin_links links;
    lin_step_time step;
    lin_links_of(&profile, &normal, LIN_RULE_N1, &links);
    const lin_step_settings settings = { .training = true,
                                         .microbatches = 1,
                                         .accumulation = 1,
                                         .replicas = normal.replicas,
                                         .shards = normal.shards,
                                         .expert_shards = lin_parallel_expert_shards(&normal),
                                         .gradient_bytes = 1e15,
                                         .links = &links,
                                         .rules = LIN_RULE_DP };
    lin_step_time_of(&profile, &c->part, 1, &settings, &step);
    assert_near("seconds", step.seconds, c->part.seconds + c->exposed);
    assert_near("communication", step.spent[LIN_SPENT_COMMUNICATION], c->exposed);
}

int main(void)
{
    struct CMUnitTest tests[32];
    size_t count = 0;
    ADD_ROWS(ahead_cases, test_ahead);
    ADD_ROWS(once_cases, test_once);
    ADD_ROWS(replica_cases, test_replicas);
    ADD("nothing gathered ahead, nothing hidden", test_nothing_ahead);
    ADD("a slow link decides the step", test_slow_link);
    ADD("a fast link leaves the copies", test_fast_link);
    return _cmocka_run_group_tests("shard_time", tests, count, NULL, NULL);
}
