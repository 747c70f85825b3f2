/* SPDX-License-Identifier: MIT */

/* Layouts of a job: the published table, bounds that hold, the best of the search against every
 * layout, threads, what is fixed, what is refused, cancelling, and every allocation failing once.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/cost.h"
#include "plan/layouts.h"
#include "schedule/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a search ---- */

typedef struct job {
    const char *model, *entry, *device;
    bool training;
    int64_t batch, context, devices, global_size; /* 0: not given */
    lin_layout_space space;
    uint32_t limit, threads;
} job;

typedef struct asked {
    lin_source *source;
    lin_profile *profile;
    lin_training_settings training;
    lin_layouts_settings settings;
} asked;

static void open_job(const job *j, asked *a)
{
    const lin_source_settings from = { .allocator = lin_default_allocator,
                                       .limits = lin_lang_default_limits,
                                       .file_bytes = 16 << 20 };
    linnet_error err = { 0 };
    memset(a, 0, sizeof *a);
    if (lin_source_open(&from, j->model, NULL, &a->source, &err) != LINNET_OK ||
        lin_profile_open(j->device != NULL ? j->device : "h100-80gb", 1 << 20,
                         &lin_default_allocator, &a->profile, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    const bool published = j->space == LIN_SPACE_PUBLISHED;
    a->settings = (lin_layouts_settings){
        .source = a->source,
        .trace = { .entry = j->entry,
                   .role_given = { j->batch > 0, j->context > 0, false },
                   .role_value = { j->batch, j->context, 0 },
                   .no_bindings = true,
                   .numerics = LIN_NUMERICS_FAST,
                   .processes = 1,
                   .training = j->training },
        .memory = { .context_bytes = -1,
                    .pipeline = { .model =
                                      published ? LIN_PIPELINE_PUBLISHED : LIN_PIPELINE_LINNET } },
        .training = j->training ? &a->training : NULL,
        .profile = a->profile,
        .time_model = published ? LIN_TIME_REFERENCE : LIN_TIME_LINNET,
        .space = j->space,
        .devices = j->devices,
        .budget_bytes = lin_profile_budget(a->profile),
        .global_size = j->global_size,
        .limit = j->limit,
        .threads = j->threads > 0 ? j->threads : 1,
    };
}

static void close_job(asked *a)
{
    lin_profile_free(a->profile);
    lin_source_free(a->source);
}

static lin_layouts *search(const asked *a)
{
    lin_layouts *layouts = NULL;
    linnet_error err = { 0 };
    if (lin_layouts_search(&a->settings, &lin_default_allocator, &layouts, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return layouts;
}

static const lin_layout_result *find(const lin_layouts *layouts, const char *name)
{
    for (uint32_t i = 0; i < layouts->count; i++)
        if (strcmp(layouts->items[i].name, name) == 0)
            return &layouts->items[i];
    fail_msg("there is no layout `%s`", name);
    return NULL;
}

/* ---- the published table: step-time-rows.md 3, peaks of cli-report.md 3.2 ---- */

static const struct published_row {
    const char *layout;
    int64_t length, tokens_per_second;
    double milliseconds; /* 0: not printed */
    double gib;          /* likewise */
} published_rows[] = {
    { "4 replicas", 2048, 167799, 48.820, 11.48 },
    { "PP 2 x 8 1f1b, 2 replicas", 8192, 163075, 100.469, 8.29 },
    { "PP 4 x 16 1f1b", 16384, 144056, 113.733, 6.20 },
    { "PP 2 x 4 1f1b, 2 replicas", 4096, 143863, 56.943, 0 },
    { "PP 4 x 8 1f1b", 8192, 123373, 66.400, 0 },
    { "PP 2 x 2 1f1b, 2 replicas", 2048, 116430, 35.180, 0 },
    { "PP 4 x 4 1f1b", 4096, 95849, 42.734, 0 },
    { "4 replicas, checkpoint block", 2048, 128986, 0, 0 },
    { "PP 2 x 8 1f1b, 2 replicas, checkpoint block", 8192, 120696, 0, 0 },
    { "PP 4 x 16 1f1b, checkpoint block", 16384, 105021, 0, 0 },
    { "PP 2 x 4 1f1b, 2 replicas, checkpoint block", 4096, 107027, 0, 0 },
    { "PP 4 x 8 1f1b, checkpoint block", 8192, 90147, 0, 0 },
    { "PP 2 x 2 1f1b, 2 replicas, checkpoint block", 2048, 87262, 0, 0 },
    { "PP 4 x 4 1f1b, checkpoint block", 4096, 70248, 0, 0 },
};

static const job published_job = { .model = "tinyllama-1.1b-chat",
                                   .entry = "loss_packed",
                                   .training = true,
                                   .devices = 4,
                                   .space = LIN_SPACE_PUBLISHED };

static lin_layouts *published; /* of the group */

static int open_published(void **state)
{
    asked a;
    (void)state;
    open_job(&published_job, &a);
    published = search(&a);
    close_job(&a);
    return 0;
}

static int close_published(void **state)
{
    (void)state;
    lin_layouts_free(published);
    return 0;
}

static void test_published(void **state)
{
    const struct published_row *row = *state;
    const lin_layout_result *found = find(published, row->layout);
    assert_int_equal(found->state, LIN_LAYOUT_RUNS);
    assert_int_equal(found->size, row->length);
    assert_int_equal(llround(found->time.tokens_per_second), row->tokens_per_second);
    if (row->milliseconds > 0)
        assert_int_equal(llround(found->time.seconds * 1e6), llround(row->milliseconds * 1e3));
    if (row->gib > 0)
        assert_int_equal(llround((double)found->expected_peak / (1 << 30) * 100),
                         llround(row->gib * 100));
}

static void test_published_order(void **state)
{
    (void)state;
    assert_string_equal(published->items[0].name, "4 replicas");
    const lin_layout_result *refused = find(published, "TP 2, 2 replicas");
    assert_int_equal(refused->state, LIN_LAYOUT_CLAUSES);
    assert_string_equal(refused->reason, "the model's `where` clauses: none fits");
    for (uint32_t i = 1; i < published->count; i++)
        if (published->items[i].state == LIN_LAYOUT_RUNS)
            assert_true(published->items[i - 1].time.tokens_per_second >=
                        published->items[i].time.tokens_per_second);
}

/* ---- bounds ---- */

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 33) / 2147483648.0;
}

static void random_parts(uint64_t *seed, lin_part *parts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = (lin_part){ .forward = 1e-4 + uniform(seed) * 1e-2 };
        const double backward = 1e-4 + uniform(seed) * 2e-2;
        parts[i].seconds = parts[i].forward + backward;
        parts[i].weights = backward * uniform(seed);
        parts[i].optimizer = uniform(seed) * 1e-3;
        parts[i].gather = uniform(seed) * 1e-3;
        parts[i].accumulating = uniform(seed) * 1e-4;
        parts[i].gradient_bytes = uniform(seed) * 1e9;
    }
}

/* No step is shorter than its bound, whatever the schedule and the stages. */
static void test_bounds(void **state)
{
    enum { STAGES = 32, ROUNDS = 40 };
    const uint32_t kind = (uint32_t)(uintptr_t)*state;
    lin_profile *profile = NULL;
    lin_part parts[STAGES], ranks[STAGES];
    uint64_t seed = 7 + kind;
    assert_int_equal(lin_profile_open("h100-80gb", 1 << 20, &lin_default_allocator, &profile, NULL),
                     LINNET_OK);
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t p = 2 * (1 + (int64_t)(uniform(&seed) * 4));
        const lin_schedule_request request = { .name = lin_schedule_kind_name(kind),
                                               .ranks = p,
                                               .microbatches =
                                                   p * (2 + (int64_t)(uniform(&seed) * 3)) };
        lin_schedule *schedule = NULL;
        linnet_error err = { 0 };
        if (lin_schedule_new(&request, &lin_default_allocator, &schedule, &err) != LINNET_OK)
            fail_msg("%s", err.message);
        lin_timer timer = { .allocator = lin_default_allocator,
                            .profile = profile,
                            .settings = { .model = LIN_TIME_LINNET, .training = true },
                            .rules = lin_time_model_rules(LIN_TIME_LINNET),
                            .is_pipeline = true,
                            .stage_count = schedule->stages,
                            .parts = parts,
                            .ranks = ranks,
                            .tokens = 1 };
        timer.settings.parallel = lin_parallel_normal(&timer.settings.parallel);
        timer.settings.parallel.replicas = round % 3 + 1;
        const lin_timer_job one = { .schedule = schedule,
                                    .microbatches = request.microbatches,
                                    .accumulation = 1,
                                    .splits_backward = lin_schedule_kind_splits(kind) };
        lin_step_time bound, exact;
        random_parts(&seed, parts, schedule->stages);
        lin_timer_bound(&timer, &one, &bound);
        assert_int_equal(lin_timer_step(&timer, &one, &exact, &err), LINNET_OK);
        assert_true(bound.seconds > 0);
        if (bound.seconds > exact.seconds * (1 + 1e-9))
            fail_msg("%s, %lld ranks x %lld: bound %.9f, step %.9f", request.name, (long long)p,
                     (long long)request.microbatches, bound.seconds, exact.seconds);
        lin_schedule_free(schedule);
    }
    lin_profile_free(profile);
}

/* ---- the best of the search is the best of all ---- */

static const struct search_case {
    const char *name;
    job job;
} search_cases[] = {
    { "TinyLlama, training, 4 devices, 8192 positions",
      { "tinyllama-1.1b-chat", "loss_packed", NULL, true, 0, 8192, 4, 0, LIN_SPACE_FULL, 0, 0 } },
    { "TinyLlama split, training, 4 devices, a global batch",
      { "tinyllama-1.1b-chat", "loss_packed_split", NULL, true, 0, 0, 4, 8192, LIN_SPACE_FULL, 0,
        0 } },
    { "Llama 8B, training, 8 L40S, little memory",
      { "llama-3.1-8b-instruct", "loss_packed_split", "l40s", true, 0, 4096, 8, 0, LIN_SPACE_FULL,
        0, 0 } },
    { "Qwen 0.5B, training, 6 devices",
      { "qwen2.5-0.5b-instruct", "loss_packed", NULL, true, 0, 6144, 6, 0, LIN_SPACE_FULL, 0, 0 } },
    { "Llama 8B, decoding, 8 devices",
      { "llama-3.1-8b-instruct", "decode_rows", NULL, false, 0, 8192, 8, 0, LIN_SPACE_FULL, 0,
        0 } },
    { "GPT-2, a forward pass, 12 devices, a global batch",
      { "gpt2", "forward", NULL, false, 0, 1024, 12, 96, LIN_SPACE_FULL, 0, 0 } },
};

static void compare(const lin_layouts *a, const lin_layouts *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(a->items[i].name, b->items[i].name);
        assert_int_equal(a->items[i].state, b->items[i].state);
        assert_int_equal(a->items[i].size, b->items[i].size);
        assert_int_equal(a->items[i].expected_peak, b->items[i].expected_peak);
        assert_true(a->items[i].time.seconds == b->items[i].time.seconds);
        assert_string_equal(a->items[i].reason, b->items[i].reason);
    }
}

static uint32_t running(const lin_layouts *layouts)
{
    uint32_t count = 0;
    while (count < layouts->count && layouts->items[count].state == LIN_LAYOUT_RUNS)
        count++;
    return count;
}

static void test_best(void **state)
{
    enum { WANTED = 12 };
    const struct search_case *row = *state;
    asked a;
    open_job(&row->job, &a);
    lin_layouts *all = search(&a);
    a.settings.limit = WANTED;
    lin_layouts *best = search(&a);
    a.settings.threads = 3;
    lin_layouts *shared = search(&a);
    const uint32_t wanted = running(all) < WANTED ? running(all) : WANTED;
    assert_true(wanted > 0);
    assert_int_equal(running(best), wanted);
    assert_int_equal(best->considered, all->considered);
    compare(best, all, wanted);
    assert_int_equal(shared->count, best->count);
    compare(shared, best, best->count);
    lin_layouts_free(all);
    lin_layouts_free(best);
    lin_layouts_free(shared);
    close_job(&a);
}

/* With their reasons, the dropped ones are the same for any number of threads. */
static void test_explained(void **state)
{
    const job j = { .model = "tinyllama-1.1b-chat",
                    .entry = "loss_packed_split",
                    .device = "l4",
                    .training = true,
                    .context = 8192,
                    .devices = 4,
                    .limit = 5 };
    asked a;
    (void)state;
    open_job(&j, &a);
    a.settings.explain = true;
    lin_layouts *one = search(&a);
    a.settings.threads = 4;
    lin_layouts *four = search(&a);
    assert_true(one->count > 100);
    assert_int_equal(one->count, four->count);
    compare(one, four, one->count);
    for (uint32_t i = 0; i < one->count; i++)
        assert_true((one->items[i].state == LIN_LAYOUT_RUNS) == (one->items[i].reason[0] == '\0'));
    lin_layouts_free(one);
    lin_layouts_free(four);
    close_job(&a);
}

/* ---- what is fixed ---- */

static void test_fixed(void **state)
{
    const job j = { .model = "llama-3.1-8b-instruct",
                    .entry = "loss_packed_split",
                    .training = true,
                    .context = 8192,
                    .devices = 16,
                    .limit = 8 };
    asked a;
    (void)state;
    open_job(&j, &a);
    a.settings.has_tensor = a.settings.has_pipeline = a.settings.has_schedule = true;
    a.settings.has_context = true;
    a.settings.memory.parallel.tensor = 2;
    a.settings.memory.parallel.pipeline = 4;
    a.settings.memory.parallel.context = 1;
    a.settings.memory.pipeline.schedule = "zbv";
    lin_layouts *layouts = search(&a);
    assert_true(running(layouts) > 0);
    for (uint32_t i = 0; i < running(layouts); i++) {
        const lin_job_layout *layout = &layouts->items[i].layout;
        assert_int_equal(layout->parallel.tensor, 2);
        assert_int_equal(layout->parallel.pipeline, 4);
        assert_int_equal(layout->parallel.shards * layout->parallel.replicas, 2);
        assert_string_equal(layout->schedule, "zbv");
    }
    lin_layouts_free(layouts);
    close_job(&a);
}

/* What refuses one number of micro-batches says nothing of another, whichever comes first. */
static void test_uncut(void **state)
{
    const job j = { .model = "tinyllama-1.1b-chat",
                    .entry = "loss_packed",
                    .training = true,
                    .context = 4096,
                    .devices = 4,
                    .limit = 1 };
    asked a;
    uint32_t whole = 0, cut = 0;
    (void)state;
    open_job(&j, &a);
    a.settings.has_context = a.settings.has_pipeline = a.settings.explain = true;
    a.settings.memory.parallel.context = a.settings.memory.parallel.pipeline = 2;
    lin_layouts *layouts = search(&a);
    for (uint32_t i = 0; i < layouts->count; i++) {
        const lin_layout_result *r = &layouts->items[i];
        if (r->state != LIN_LAYOUT_REFUSED)
            whole += r->layout.microbatches == 1;
        else if (strstr(r->reason, "micro-batches cut") == NULL || r->layout.microbatches == 1)
            fail_msg("%s: %s", r->name, r->reason);
        else
            cut++;
    }
    assert_true(running(layouts) == 1 && whole > 1 && cut > 0);
    lin_layouts_free(layouts);
    close_job(&a);
}

/* The most loaded device and the step are those of the same configuration by itself. */
static const struct agree_case {
    const char *name;
    job job;
} agree_cases[] = {
    { "as each configuration by itself: a length for each rank",
      { "tinyllama-1.1b-chat", "loss_packed_split", NULL, true, 0, 8192, 8, 0, LIN_SPACE_FULL, 40,
        0 } },
    { "as each configuration by itself: the lengths that fit",
      { "tinyllama-1.1b-chat", "loss_packed", NULL, true, 0, 0, 6, 0, LIN_SPACE_FULL, 40, 0 } },
    { "as each configuration by itself: a length for all ranks",
      { "tinyllama-1.1b-chat", "loss_packed", NULL, true, 0, 0, 4, 24576, LIN_SPACE_FULL, 40, 0 } },
};

static void test_agrees(void **state)
{
    const struct agree_case *row = *state;
    asked a;
    open_job(&row->job, &a);
    lin_layouts *layouts = search(&a);
    assert_true(running(layouts) > 0);
    for (uint32_t i = 0; i < running(layouts); i++) {
        const lin_layout_result *r = &layouts->items[i];
        const lin_timing_settings timed = { .model = LIN_TIME_LINNET,
                                            .training = true,
                                            .parallel = r->layout.parallel };
        lin_trace_settings trace = a.settings.trace;
        lin_memory_settings memory = a.settings.memory;
        lin_training_settings training = { .checkpoint = r->layout.checkpoint,
                                           .accumulation = r->layout.accumulation };
        lin_traced traced;
        lin_memory *own = NULL;
        lin_timing *timing = NULL;
        linnet_error err = { 0 };
        trace.processes = r->layout.parallel.tensor;
        trace.sequence_parallel = r->layout.parallel.sequence;
        trace.context_processes = r->layout.parallel.context;
        trace.role_given[layouts->role] = true;
        trace.role_value[layouts->role] = r->size / r->layout.accumulation;
        memory.parallel = r->layout.parallel;
        memory.training = &training;
        memory.pipeline.ranks = r->layout.parallel.pipeline;
        memory.pipeline.microbatches = r->layout.microbatches;
        memory.pipeline.virtual_stages = r->layout.virtual_stages;
        memory.pipeline.schedule = r->layout.schedule;
        if (lin_trace(a.source, &trace, &lin_default_allocator, &traced, &err) != LINNET_OK ||
            lin_memory_new(a.source, &traced, &trace, &memory, &lin_default_allocator, &own,
                           &err) != LINNET_OK ||
            lin_timing_new(own, a.profile, &timed, &lin_default_allocator, &timing, &err) !=
                LINNET_OK)
            fail_msg("%s: %s", r->name, err.message);
        assert_int_equal(timing->expected_peak, r->expected_peak);
        if (timing->time.tokens_per_second != r->time.tokens_per_second)
            fail_msg("%s: %.17g tokens/s by itself, %.17g in the search", r->name,
                     timing->time.tokens_per_second, r->time.tokens_per_second);
        lin_timing_free(timing);
        lin_memory_free(own);
    }
    lin_layouts_free(layouts);
    close_job(&a);
}

/* ---- refusals ---- */

static void expect_error(const asked *a, linnet_status expect, const char *says)
{
    lin_layouts *layouts = NULL;
    linnet_error err = { 0 };
    assert_int_equal(lin_layouts_search(&a->settings, &lin_default_allocator, &layouts, &err),
                     expect);
    if (strstr(err.message, says) == NULL)
        fail_msg("`%s` does not say `%s`", err.message, says);
}

static void test_refused(void **state)
{
    const job j = { .model = "tinyllama-1.1b-chat",
                    .entry = "loss_packed",
                    .training = true,
                    .context = 2048,
                    .devices = 6,
                    .limit = 1 };
    asked a;
    (void)state;
    open_job(&j, &a);
    a.settings.has_tensor = true;
    a.settings.memory.parallel.tensor = 4;
    expect_error(&a, LINNET_ERROR_ARGUMENT, "do not divide 6");
    a.settings.has_tensor = false;
    a.settings.time_model = LIN_TIME_REFERENCE;
    a.settings.has_schedule = true;
    a.settings.memory.pipeline.schedule = "zbv";
    expect_error(&a, LINNET_ERROR_UNSUPPORTED, "1f1b and gpipe with one stage a rank");
    a.settings.time_model = LIN_TIME_LINNET;
    a.settings.has_schedule = false;
    a.settings.global_size = 4096;
    expect_error(&a, LINNET_ERROR_ARGUMENT, "give one of the two");
    a.settings.global_size = 0;
    a.settings.devices = 0;
    expect_error(&a, LINNET_ERROR_ARGUMENT, "1 to ");
    a.settings.devices = INT64_MAX;
    expect_error(&a, LINNET_ERROR_ARGUMENT, "1 to ");
    a.settings.devices = 4;
    a.settings.budget_bytes = 0;
    expect_error(&a, LINNET_ERROR_ARGUMENT, "holds nothing");
    close_job(&a);
}

/* Nothing fits: the nearest ones are listed with what they need. */
static void test_nothing_fits(void **state)
{
    const job j = { .model = "llama-3.1-8b-instruct",
                    .entry = "loss_packed",
                    .device = "l4",
                    .training = true,
                    .context = 8192,
                    .devices = 2,
                    .limit = 3 };
    asked a;
    (void)state;
    open_job(&j, &a);
    lin_layouts *layouts = search(&a);
    assert_int_equal(running(layouts), 0);
    assert_true(layouts->count >= 3);
    assert_int_equal(layouts->items[0].state, LIN_LAYOUT_TOO_LARGE);
    assert_non_null(strstr(layouts->items[0].reason, "does not fit: needs "));
    lin_layouts_free(layouts);
    close_job(&a);
}

/* ---- cancelling ---- */

static int32_t stop_at_third(void *user, uint64_t done, uint64_t total)
{
    int *calls = user;
    assert_true(done <= total);
    return ++*calls == 3;
}

static void test_cancelled(void **state)
{
    const uint32_t threads = (uint32_t)(uintptr_t)*state;
    const job j = { .model = "tinyllama-1.1b-chat",
                    .entry = "loss_packed",
                    .training = true,
                    .context = 8192,
                    .devices = 8,
                    .limit = 3,
                    .threads = threads };
    asked a;
    int calls = 0;
    open_job(&j, &a);
    a.settings.progress = stop_at_third;
    a.settings.progress_user = &calls;
    expect_error(&a, LINNET_ERROR_CANCELLED, "stopped");
    assert_int_equal(calls, 3);
    close_job(&a);
}

/* ---- devices needed ---- */

static void test_needed(void **state)
{
    const job j = { .model = "llama-3.1-8b-instruct",
                    .entry = "loss_packed_split",
                    .device = "l40s",
                    .training = true,
                    .context = 8192,
                    .devices = 1,
                    .limit = 1 };
    asked a;
    lin_devices_needed needed;
    linnet_error err = { 0 };
    (void)state;
    open_job(&j, &a);
    assert_int_equal(
        lin_devices_search(&a.settings, 32, 20000, &lin_default_allocator, &needed, &err),
        LINNET_OK);
    assert_true(needed.fits > 1 && needed.fits <= 8);
    assert_true(needed.fast >= needed.fits && needed.fast <= 32);
    assert_non_null(needed.fitting);
    assert_non_null(needed.reaching);
    assert_int_equal(needed.reaching->devices, needed.fast);
    assert_true(needed.reaching->items[0].time.tokens_per_second >= 20000);
    /* the next smaller count, of those that are looked at, does not do */
    for (int which = 0; which < 2; which++) {
        const int64_t count = which == 0 ? needed.fits : needed.fast;
        a.settings.devices = count > 8 ? count - 8 : count - 1;
        lin_layouts *fewer = search(&a);
        assert_true(running(fewer) == 0 ||
                    (which == 1 && fewer->items[0].time.tokens_per_second < 20000));
        lin_layouts_free(fewer);
    }
    lin_devices_needed_free(&needed);
    close_job(&a);
}

/* Multiples of the devices that the given degrees make are looked at, and nothing else. */
static void test_needed_given(void **state)
{
    const job j = { .model = "llama-3.1-8b-instruct",
                    .entry = "loss_packed_split",
                    .device = "l40s",
                    .training = true,
                    .context = 8192,
                    .limit = 1 };
    asked a;
    lin_devices_needed needed;
    linnet_error err = { 0 };
    (void)state;
    open_job(&j, &a);
    a.settings.has_pipeline = true;
    a.settings.memory.parallel.pipeline = 3;
    assert_int_equal(lin_devices_search(&a.settings, 24, 0, &lin_default_allocator, &needed, &err),
                     LINNET_OK);
    assert_true(needed.fits > 0 && needed.fits % 3 == 0);
    assert_int_equal(needed.fitting->devices, needed.fits);
    assert_int_equal(needed.fitting->items[0].layout.parallel.pipeline, 3);
    lin_devices_needed_free(&needed);
    assert_int_equal(lin_devices_search(&a.settings, 2, 0, &lin_default_allocator, &needed, &err),
                     LINNET_ERROR_ARGUMENT);
    assert_non_null(strstr(err.message, "make 3 devices, and 2 are looked at"));
    close_job(&a);
}

/* ---- no memory ---- */

typedef struct failing {
    int64_t left; /* requests until one fails */
    int64_t live; /* bytes */
} failing;

static void *fail_later(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    failing *f = user;
    if (new_size > 0 && f->left-- == 0)
        return NULL;
    f->live += (int64_t)new_size - (int64_t)(ptr != NULL ? old_size : 0);
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    void *block = realloc(ptr, new_size);
    if (block == NULL)
        f->live -= (int64_t)new_size - (int64_t)(ptr != NULL ? old_size : 0);
    return block;
}

static void test_no_memory(void **state)
{
    const job jobs[] = {
        { .model = "tinyllama-1.1b-chat",
          .entry = "loss_packed",
          .training = true,
          .context = 2048,
          .devices = 2,
          .limit = 2 },
        { .model = "tinyllama-1.1b-chat",
          .entry = "loss_packed",
          .training = true,
          .devices = 2,
          .space = LIN_SPACE_PUBLISHED },
    };
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(jobs); k++) {
        asked a;
        open_job(&jobs[k], &a);
        linnet_status status = LINNET_ERROR_NO_MEMORY;
        /* a few hundred places, more of them early on */
        for (int64_t at = 0; status == LINNET_ERROR_NO_MEMORY; at += 1 + at / 12) {
            failing f = { .left = at };
            const lin_allocator allocator = { fail_later, &f };
            lin_layouts *layouts = NULL;
            linnet_error err = { 0 };
            status = lin_layouts_search(&a.settings, &allocator, &layouts, &err);
            assert_true(status == LINNET_OK || status == LINNET_ERROR_NO_MEMORY);
            if (status == LINNET_OK)
                lin_layouts_free(layouts);
            assert_int_equal(f.live, 0);
        }
        assert_int_equal(status, LINNET_OK);
        close_job(&a);
    }
}

/* ---- all of it ---- */

enum { KINDS = 10 };
enum {
    TEST_COUNT =
        ARRAY_LEN(published_rows) + KINDS + ARRAY_LEN(search_cases) + ARRAY_LEN(agree_cases) + 11
};

static size_t add(struct CMUnitTest *tests, size_t at, const char *name,
                  CMUnitTestFunction function, const void *row)
{
    tests[at] = (struct CMUnitTest){ .name = name,
                                     .test_func = function,
                                     .initial_state = (void *)(uintptr_t)row };
    return at + 1;
}

int main(void)
{
    static struct CMUnitTest tests[TEST_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(published_rows); i++)
        count = add(tests, count, published_rows[i].layout, test_published, &published_rows[i]);
    count = add(tests, count, "published order and refusal", test_published_order, NULL);
    for (uint32_t k = 0; k < lin_schedule_kind_count() && k < KINDS; k++)
        count = add(tests, count, lin_schedule_kind_name(k), test_bounds, (void *)(uintptr_t)k);
    for (size_t i = 0; i < ARRAY_LEN(search_cases); i++)
        count = add(tests, count, search_cases[i].name, test_best, &search_cases[i]);
    count = add(tests, count, "dropped layouts, one thread and four", test_explained, NULL);
    count = add(tests, count, "degrees and schedule that are fixed", test_fixed, NULL);
    count = add(tests, count, "micro-batches that cannot be cut", test_uncut, NULL);
    for (size_t i = 0; i < ARRAY_LEN(agree_cases); i++)
        count = add(tests, count, agree_cases[i].name, test_agrees, (void *)&agree_cases[i]);
    count = add(tests, count, "what cannot be asked", test_refused, NULL);
    count = add(tests, count, "nothing fits", test_nothing_fits, NULL);
    count = add(tests, count, "stopped, one thread", test_cancelled, (void *)(uintptr_t)1);
    count = add(tests, count, "stopped, two threads", test_cancelled, (void *)(uintptr_t)2);
    count = add(tests, count, "devices needed", test_needed, NULL);
    count = add(tests, count, "devices needed, degrees given", test_needed_given, NULL);
    count = add(tests, count, "requests for memory fail", test_no_memory, NULL);
    return cmocka_run_group_tests_name("layouts", tests, open_published, close_published);
}
