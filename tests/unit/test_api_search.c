/* SPDX-License-Identifier: MIT */

/* The fastest layouts through the public functions: what the config fixes, each layout turned back
 * into a config and asked alone, progress, threads, what is refused, and every allocation failing
 * once. */

#define _POSIX_C_SOURCE 200809L

#include "search_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "limited_host.h"

static char *text_of(const linnet_layouts *layouts)
{
    linnet_text *text = NULL;
    assert_int_equal(linnet_layouts_to_text(layouts, &text, NULL), LINNET_OK);
    char *copy = strdup(linnet_text_data(text));
    linnet_text_free(text);
    return copy;
}

static char *json_of(const linnet_layouts *layouts)
{
    linnet_text *text = NULL;
    assert_int_equal(linnet_layouts_to_json(layouts, 0, &text, NULL), LINNET_OK);
    char *copy = strdup(linnet_text_data(text));
    linnet_text_free(text);
    return copy;
}

static void assert_close(double found, double expected)
{
    if (fabs(found - expected) > 1e-9 * fabs(expected))
        fail_msg("%.12g instead of %.12g", found, expected);
}

/* ---- what a search gives ---- */

#define TRAINING "\"training\": true, \"devices\": 4"

static void test_list(void **state)
{
    linnet_layouts *layouts = search("{" TRAINING "}");
    const uint64_t running = linnet_layouts_running(layouts);
    (void)state;
    assert_true(running > 1 && running <= linnet_layouts_count(layouts));
    assert_true(linnet_layouts_considered(layouts) >= linnet_layouts_count(layouts));
    assert_int_equal(linnet_layouts_devices(layouts), 4);
    assert_int_equal(linnet_layouts_budget_bytes(layouts), BUDGET);
    assert_string_equal(linnet_layouts_size_of(layouts), "batch");
    assert_int_equal(linnet_layouts_is_size_fixed(layouts), 0);
    for (uint64_t i = 0; i < running; i++) {
        assert_true(strlen(linnet_layouts_name(layouts, i)) > 0);
        assert_string_equal(linnet_layouts_state(layouts, i), "runs");
        assert_string_equal(linnet_layouts_reason(layouts, i), "");
        assert_true(linnet_layouts_size(layouts, i) > 0);
        assert_in_range(linnet_layouts_expected_peak(layouts, i), 1, BUDGET);
        assert_int_equal(linnet_layouts_tensor_parallel(layouts, i) *
                             linnet_layouts_context_parallel(layouts, i) *
                             linnet_layouts_pipeline_parallel(layouts, i) *
                             linnet_layouts_shards(layouts, i) *
                             linnet_layouts_replicas(layouts, i),
                         4);
        assert_true(i == 0 || linnet_layouts_tokens_per_second(layouts, i) <=
                                  linnet_layouts_tokens_per_second(layouts, i - 1));
        assert_close(linnet_layouts_tokens(layouts, i) / linnet_layouts_seconds(layouts, i),
                     linnet_layouts_tokens_per_second(layouts, i));
        assert_non_null(linnet_layouts_limit(layouts, i));
        assert_non_null(linnet_layouts_checkpoint(layouts, i));
        const bool has_pipeline = linnet_layouts_pipeline_parallel(layouts, i) > 1;
        assert_int_equal(linnet_layouts_schedule(layouts, i) != NULL, has_pipeline);
        assert_int_equal(linnet_layouts_zero(layouts, i) != 0,
                         linnet_layouts_shards(layouts, i) > 1);
    }
    linnet_layouts_unref(layouts);
}

static void test_out_of_range(void **state)
{
    linnet_layouts *layouts = search("{" TRAINING "}");
    const uint64_t past = linnet_layouts_count(layouts);
    (void)state;
    assert_null(linnet_layouts_name(layouts, past));
    assert_null(linnet_layouts_state(layouts, past));
    assert_null(linnet_layouts_reason(layouts, past));
    assert_null(linnet_layouts_schedule(layouts, past));
    assert_null(linnet_layouts_checkpoint(layouts, past));
    assert_null(linnet_layouts_limit(layouts, past));
    assert_int_equal(linnet_layouts_tensor_parallel(layouts, past), 0);
    assert_int_equal(linnet_layouts_expert_parallel(layouts, past), 0);
    assert_int_equal(linnet_layouts_sequence_parallel(layouts, past), 0);
    assert_int_equal(linnet_layouts_virtual_stages(layouts, past), 0);
    assert_int_equal(linnet_layouts_microbatches(layouts, past), 0);
    assert_int_equal(linnet_layouts_grad_accumulation(layouts, past), 0);
    assert_int_equal(linnet_layouts_zero(layouts, past), 0);
    assert_int_equal(linnet_layouts_size(layouts, past), 0);
    assert_int_equal(linnet_layouts_expected_peak(layouts, past), -1);
    assert_true(linnet_layouts_seconds(layouts, past) <= 0);
    assert_true(linnet_layouts_bubble(layouts, past) <= 0);
    assert_null(linnet_layouts_assumption(layouts, linnet_layouts_assumption_count(layouts)));
    linnet_config *config = new_config("{}");
    assert_int_equal(linnet_layouts_configure(layouts, past, config, NULL), LINNET_ERROR_ARGUMENT);
    linnet_config_free(config);
    linnet_layouts *again = linnet_layouts_ref(layouts);
    linnet_layouts_unref(layouts);
    linnet_layouts_unref(again);
    linnet_layouts_unref(NULL);
}

/* ---- what the config fixes ---- */

static const struct fixed_case {
    const char *name, *json;
    int64_t (*get)(const linnet_layouts *layouts, uint64_t index);
    int64_t value;
} fixed_cases[] = {
    { "two stages", "{\"pipeline_parallel\": 2}", linnet_layouts_pipeline_parallel, 2 },
    { "no pipeline", "{\"pipeline_parallel\": 1}", linnet_layouts_pipeline_parallel, 1 },
    { "four shards", "{\"shards\": 4}", linnet_layouts_shards, 4 },
    { "no shards", "{\"shards\": 1}", linnet_layouts_shards, 1 },
    { "two replicas", "{\"replicas\": 2}", linnet_layouts_replicas, 2 },
    { "no replicas", "{\"replicas\": 1}", linnet_layouts_replicas, 1 },
    { "no tensor parallelism", "{\"tensor_parallel\": 1}", linnet_layouts_tensor_parallel, 1 },
    { "no context parallelism", "{\"context_parallel\": 1}", linnet_layouts_context_parallel, 1 },
    { "optimizer states alone are sharded", "{\"shards\": 4, \"zero\": 1}", linnet_layouts_zero,
      1 },
    { "eight micro-batches", "{\"pipeline_parallel\": 2, \"microbatches\": 8}",
      linnet_layouts_microbatches, 8 },
    { "a batch", "{\"batch\": 64}", linnet_layouts_size, 64 },
};

static void test_fixed(void **state)
{
    const struct fixed_case *row = *state;
    job j = new_job("{" TRAINING "}");
    linnet_layouts *layouts = NULL;
    linnet_error err = { 0 };
    set_json(j.config, row->json);
    if (linnet_layouts_new(j.model, j.config, j.device, BUDGET, &layouts, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    assert_true(linnet_layouts_running(layouts) > 0);
    for (uint64_t i = 0; i < linnet_layouts_running(layouts); i++)
        assert_int_equal(row->get(layouts, i), row->value);
    linnet_layouts_unref(layouts);
    free_job(&j);
}

static const struct word_case {
    const char *name, *json;
    const char *(*get)(const linnet_layouts *layouts, uint64_t index);
    const char *either, *other;
} word_cases[] = {
    { "a schedule", "{\"pipeline_parallel\": 2, \"schedule\": \"gpipe\"}", linnet_layouts_schedule,
      "gpipe", "gpipe" },
    { "one policy", "{\"checkpoint\": \"block\"}", linnet_layouts_checkpoint, "block", "block" },
    { "two policies", "{\"checkpoint_choice\": [\"every:2\", \"none\"]}", linnet_layouts_checkpoint,
      "every:2", "none" },
};

static void test_words(void **state)
{
    const struct word_case *row = *state;
    char json[256];
    snprintf(json, sizeof json, "{" TRAINING ", %s", row->json + 1);
    linnet_layouts *layouts = search(json);
    assert_true(linnet_layouts_running(layouts) > 0);
    for (uint64_t i = 0; i < linnet_layouts_running(layouts); i++) {
        const char *found = row->get(layouts, i);
        if (strcmp(found, row->either) != 0 && strcmp(found, row->other) != 0)
            fail_msg("%s", found);
    }
    linnet_layouts_unref(layouts);
}

/* Degrees without devices are the devices. */
static void test_devices_of_degrees(void **state)
{
    linnet_layouts *layouts = search("{\"training\": true, \"replicas\": 3}");
    (void)state;
    assert_int_equal(linnet_layouts_devices(layouts), 3);
    linnet_layouts_unref(layouts);
}

/* A step over all data-parallel ranks is shared out. */
static void test_global_batch(void **state)
{
    linnet_layouts *layouts = search("{" TRAINING ", \"global_batch\": 256}");
    (void)state;
    assert_int_equal(linnet_layouts_is_size_fixed(layouts), 1);
    assert_true(linnet_layouts_running(layouts) > 0);
    for (uint64_t i = 0; i < linnet_layouts_running(layouts); i++)
        assert_int_equal(linnet_layouts_size(layouts, i) * linnet_layouts_shards(layouts, i) *
                             linnet_layouts_replicas(layouts, i),
                         256);
    linnet_layouts_unref(layouts);
}

/* ---- each layout asked alone ---- */

static const struct alone_case {
    const char *name, *json;
} alone_cases[] = {
    { "training", "{" TRAINING ", \"limit\": 0}" },
    { "training, by the reference", "{" TRAINING ", \"limit\": 0, \"time_model\": \"reference\", "
                                    "\"pipeline_model\": \"published\"}" },
    { "a global batch", "{" TRAINING ", \"limit\": 0, \"global_batch\": 256}" },
    { "inference", "{\"devices\": 4, \"limit\": 0}" },
    { "stages balanced by time", "{" TRAINING ", \"limit\": 0, \"stages_by\": \"time\"}" },
    { "stages balanced by time, a global batch",
      "{" TRAINING ", \"limit\": 0, \"stages_by\": \"time\", \"global_batch\": 256}" },
};

static void test_alone(void **state)
{
    const struct alone_case *row = *state;
    job j = new_job(row->json);
    linnet_layouts *layouts = search(row->json);
    linnet_error err = { 0 };
    assert_true(linnet_layouts_running(layouts) > 0);
    for (uint64_t i = 0; i < linnet_layouts_running(layouts); i++) {
        linnet_config *config = new_config(row->json);
        linnet_analysis *analysis = NULL;
        linnet_timing *timing = NULL;
        assert_int_equal(linnet_layouts_configure(layouts, i, config, NULL), LINNET_OK);
        if (linnet_analysis_new(j.model, config, &analysis, &err) != LINNET_OK ||
            linnet_timing_new(j.model, config, j.device, &timing, &err) != LINNET_OK)
            fail_msg("%s: %s", linnet_layouts_name(layouts, i), err.message);
        if (linnet_analysis_expected_peak(analysis) != linnet_layouts_expected_peak(layouts, i))
            fail_msg("%s: %lld bytes alone, %lld in the list", linnet_layouts_name(layouts, i),
                     (long long)linnet_analysis_expected_peak(analysis),
                     (long long)linnet_layouts_expected_peak(layouts, i));
        assert_close(linnet_timing_seconds(timing), linnet_layouts_seconds(layouts, i));
        assert_close(linnet_timing_tokens(timing), linnet_layouts_tokens(layouts, i));
        linnet_timing_unref(timing);
        linnet_analysis_unref(analysis);
        linnet_config_free(config);
    }
    linnet_layouts_unref(layouts);
    free_job(&j);
}

static void test_planner(void **state)
{
    job j = new_job("{" TRAINING ", \"batch\": 8}");
    linnet_layouts *layouts = search("{" TRAINING "}"), *found = NULL;
    linnet_planner *planner = NULL;
    linnet_error err = { 0 };
    (void)state;
    char *expect = text_of(layouts);
    assert_int_equal(linnet_planner_new(j.model, j.config, &planner, NULL), LINNET_OK);
    assert_int_equal(linnet_planner_set_threads(planner, 2, NULL), LINNET_OK);
    assert_int_equal(linnet_planner_set_threads(planner, 0, NULL), LINNET_ERROR_ARGUMENT);
    if (linnet_planner_layouts(planner, "batch", j.device, BUDGET, &found, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    char *text = text_of(found);
    assert_string_equal(text, expect);
    free(text);
    linnet_layouts_unref(found);
    assert_int_equal(linnet_planner_layouts(planner, NULL, j.device, BUDGET, &found, NULL),
                     LINNET_OK);
    assert_int_equal(linnet_layouts_is_size_fixed(found), 1);
    assert_int_equal(linnet_layouts_size(found, 0), 8);
    linnet_layouts_unref(found);
    assert_int_equal(linnet_planner_layouts(planner, "time", j.device, BUDGET, &found, NULL),
                     LINNET_ERROR_NOT_FOUND);
    linnet_planner_free(planner);
    linnet_layouts_unref(layouts);
    free(expect);
    free_job(&j);
}

/* ---- the list: limit, explain, threads ---- */

static void test_limit(void **state)
{
    linnet_layouts *all = search("{" TRAINING ", \"limit\": 0}");
    linnet_layouts *one = search("{" TRAINING ", \"limit\": 1}");
    (void)state;
    assert_int_equal(linnet_layouts_running(one), 1);
    assert_string_equal(linnet_layouts_name(one, 0), linnet_layouts_name(all, 0));
    assert_int_equal(linnet_layouts_size(one, 0), linnet_layouts_size(all, 0));
    assert_close(linnet_layouts_seconds(one, 0), linnet_layouts_seconds(all, 0));
    linnet_layouts_unref(one);
    linnet_layouts_unref(all);
}

static void test_explain(void **state)
{
    linnet_layouts *layouts = search("{" TRAINING ", \"limit\": 2, \"explain\": true}");
    const uint64_t running = linnet_layouts_running(layouts);
    char *text = text_of(layouts);
    (void)state;
    assert_int_equal(running, 2);
    assert_true(linnet_layouts_count(layouts) > running);
    for (uint64_t i = running; i < linnet_layouts_count(layouts); i++) {
        assert_string_not_equal(linnet_layouts_state(layouts, i), "runs");
        assert_true(strlen(linnet_layouts_reason(layouts, i)) > 0);
        assert_null(linnet_layouts_limit(layouts, i));
    }
    assert_non_null(strstr(text, "\nDropped, by reason:\n"));
    free(text);
    linnet_layouts_unref(layouts);
}

static void test_threads(void **state)
{
    linnet_layouts *one = search("{" TRAINING ", \"threads\": 1}");
    linnet_layouts *two = search("{" TRAINING ", \"threads\": 2}");
    char *first = json_of(one), *second = json_of(two);
    (void)state;
    assert_string_equal(first, second);
    free(first);
    free(second);
    linnet_layouts_unref(one);
    linnet_layouts_unref(two);
}

/* Nothing fits a thousand bytes: what is nearest is there unasked. */
static void test_none_runs(void **state)
{
    job j = new_job("{" TRAINING "}");
    linnet_layouts *layouts = NULL;
    (void)state;
    assert_int_equal(linnet_layouts_new(j.model, j.config, j.device, 1000, &layouts, NULL),
                     LINNET_OK);
    assert_int_equal(linnet_layouts_running(layouts), 0);
    assert_true(linnet_layouts_count(layouts) > 0);
    char *text = text_of(layouts), *json = json_of(layouts);
    assert_non_null(strstr(text, "No layout runs.\n\nlayout "));
    assert_non_null(strstr(text, " - does not fit: needs "));
    assert_non_null(strstr(json, "\"result\": null"));
    free(text);
    free(json);
    linnet_layouts_unref(layouts);
    free_job(&j);
}

static void test_result(void **state)
{
    linnet_layouts *layouts = search("{" TRAINING "}");
    linnet_text *text = NULL;
    char peak[64];
    char *json = json_of(layouts);
    (void)state;
    snprintf(peak, sizeof peak, "\"expected\": %lld",
             (long long)linnet_layouts_expected_peak(layouts, 0));
    const char *result = strstr(json, "\"result\": {");
    assert_non_null(result);
    assert_non_null(strstr(result, peak));
    free(json);
    assert_int_equal(linnet_layouts_to_json(layouts, -1, &text, NULL), LINNET_ERROR_ARGUMENT);
    linnet_layouts_unref(layouts);
}

/* ---- progress ---- */

typedef struct listener {
    uint64_t calls, stop_at; /* 0: never */
    uint64_t last;
} listener;

static int32_t hear(void *user, uint64_t done, uint64_t total)
{
    listener *l = user;
    assert_true(total == 0 || done <= total);
    l->last = done;
    return ++l->calls == l->stop_at;
}

static void test_progress(void **state)
{
    job j = new_job("{" TRAINING "}");
    linnet_layouts *layouts = NULL;
    listener l = { 0 };
    (void)state;
    assert_int_equal(linnet_config_set_progress(j.config, hear, &l, NULL), LINNET_OK);
    assert_int_equal(linnet_layouts_new(j.model, j.config, j.device, BUDGET, &layouts, NULL),
                     LINNET_OK);
    assert_true(l.calls > 0);
    linnet_layouts_unref(layouts);
    layouts = NULL;
    l = (listener){ .stop_at = 1 };
    linnet_error err = { 0 };
    assert_int_equal(linnet_layouts_new(j.model, j.config, j.device, BUDGET, &layouts, &err),
                     LINNET_ERROR_CANCELLED);
    assert_int_equal(err.code, LINNET_ERROR_CANCELLED);
    assert_null(layouts);
    assert_int_equal(l.calls, 1);
    linnet_planner *planner = NULL;
    set_json(j.config, "{\"batch\": 8}");
    assert_int_equal(linnet_config_set_progress(j.config, NULL, NULL, NULL), LINNET_OK);
    assert_int_equal(linnet_planner_new(j.model, j.config, &planner, NULL), LINNET_OK);
    l = (listener){ .stop_at = 1 };
    assert_int_equal(linnet_planner_set_progress(planner, hear, &l, NULL), LINNET_OK);
    assert_int_equal(linnet_planner_layouts(planner, "batch", j.device, BUDGET, &layouts, NULL),
                     LINNET_ERROR_CANCELLED);
    linnet_planner_free(planner);
    free_job(&j);
}

/* ---- refused ---- */

static const struct refused_case {
    const char *name, *json;
    int64_t budget;
    linnet_status status;
    const char *words;
} refused_cases[] = {
    { "no budget", "{\"devices\": 4}", 0, LINNET_ERROR_ARGUMENT, "holds nothing" },
    { "degrees that do not divide", "{\"devices\": 4, \"pipeline_parallel\": 3}", BUDGET,
      LINNET_ERROR_ARGUMENT, "" },
    { "a size twice", "{\"devices\": 4, \"batch\": 64, \"global_batch\": 256}", BUDGET,
      LINNET_ERROR_ARGUMENT, "" },
    { "training's options without training", "{\"devices\": 4, \"shards\": 4}", BUDGET,
      LINNET_ERROR_ARGUMENT, "`shards`" },
};

static void test_refused(void **state)
{
    const struct refused_case *row = *state;
    job j = new_job(row->json);
    linnet_layouts *layouts = NULL;
    linnet_error err = { 0 };
    assert_int_equal(linnet_layouts_new(j.model, j.config, j.device, row->budget, &layouts, &err),
                     row->status);
    assert_non_null(strstr(err.message, row->words));
    assert_true(strlen(err.message) > 0);
    assert_null(layouts);
    free_job(&j);
}

static void test_setters(void **state)
{
    linnet_config *config = new_config("{}");
    (void)state;
    assert_int_equal(linnet_config_set_threads(config, 0, NULL), LINNET_ERROR_ARGUMENT);
    assert_int_equal(linnet_config_set_threads(config, 1025, NULL), LINNET_ERROR_ARGUMENT);
    assert_int_equal(linnet_config_set_limit(config, -1, NULL), LINNET_ERROR_ARGUMENT);
    assert_int_equal(linnet_config_set_limit(config, (int64_t)1 << 32, NULL),
                     LINNET_ERROR_ARGUMENT);
    assert_int_equal(linnet_config_set_explain(config, 2, NULL), LINNET_ERROR_ARGUMENT);
    assert_int_equal(linnet_config_set_global_batch(config, 0, NULL), LINNET_ERROR_ARGUMENT);
    assert_int_equal(linnet_config_add_checkpoint_choice(config, "", NULL), LINNET_ERROR_ARGUMENT);
    assert_int_equal(linnet_config_add_checkpoint_choice(config, "every:0", NULL),
                     LINNET_ERROR_ARGUMENT);
    linnet_config_free(config);
}

/* A schedule from a file has one number of ranks. */
static void test_schedule_file(void **state)
{
    job j = new_job("{" TRAINING "}");
    linnet_schedule *schedule = NULL;
    linnet_layouts *layouts = NULL;
    linnet_text *json = NULL;
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(linnet_schedule_new(j.config, "1f1b", 2, 4, 0, &schedule, NULL), LINNET_OK);
    assert_int_equal(linnet_schedule_to_json(schedule, &json, NULL), LINNET_OK);
    assert_int_equal(linnet_config_set_schedule_text(j.config, linnet_text_data(json),
                                                     linnet_text_length(json), "mine.json", NULL),
                     LINNET_OK);
    assert_int_equal(linnet_layouts_new(j.model, j.config, j.device, BUDGET, &layouts, &err),
                     LINNET_ERROR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "by name"));
    linnet_text_free(json);
    linnet_schedule_free(schedule);
    free_job(&j);
}

/* ---- memory ---- */

static linnet_status run_limited(const job *j, limited_host *host)
{
    linnet_config *config = NULL;
    linnet_layouts *layouts = NULL;
    linnet_text *text = NULL;
    linnet_error err = { 0 };
    static const char json[] =
        "{" BASE ", \"training\": true, \"devices\": 2, \"batch\": 8, \"limit\": 3, "
        "\"checkpoint_choice\": [\"none\"], \"explain\": true}";
    linnet_status status = linnet_config_new_with_allocator(limited_alloc, host, &config, &err);
    if (status == LINNET_OK)
        status = linnet_config_set_json(config, json, sizeof json - 1, &err);
    if (status == LINNET_OK)
        status = linnet_layouts_new(j->model, config, j->device, BUDGET, &layouts, &err);
    if (status == LINNET_OK)
        status = linnet_layouts_to_json(layouts, 0, &text, &err);
    linnet_text_free(text);
    linnet_layouts_unref(layouts);
    linnet_config_free(config);
    return status;
}

static void fail_each(bool stays_down)
{
    job j = new_job("{}");
    bool refused = true;
    /* The first ones one by one; further on some of them, so that it ends. */
    for (int64_t n = 0; refused; n += 1 + n / 50) {
        limited_host host = { .left = n, .stays_down = stays_down };
        const linnet_status status = run_limited(&j, &host);
        refused = host.refused;
        if (status != (refused ? LINNET_ERROR_NO_MEMORY : LINNET_OK))
            fail_msg("request %lld: %s", (long long)n, linnet_status_name(status));
        if (host.blocks != 0)
            fail_msg("request %lld: %lld blocks are left", (long long)n, (long long)host.blocks);
    }
    free_job(&j);
}

static void test_one_failure(void **state)
{
    (void)state;
    fail_each(false);
}

static void test_lasting_failure(void **state)
{
    (void)state;
    fail_each(true);
}

#define ROWS(cases, test)                                         \
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases)[0]; i++) \
        tests[count++] = (struct CMUnitTest)                      \
        {                                                         \
            .name = (cases)[i].name, .test_func = test,           \
            .initial_state = (void *)(uintptr_t) & (cases)[i]     \
        }

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_devices_of_degrees),
        cmocka_unit_test(test_global_batch),
        cmocka_unit_test(test_planner),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_none_runs),
        cmocka_unit_test(test_result),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_setters),
        cmocka_unit_test(test_schedule_file),
        cmocka_unit_test(test_one_failure),
        cmocka_unit_test(test_lasting_failure),
    };
    struct CMUnitTest tests[64];
    size_t count = 0;
    ROWS(fixed_cases, test_fixed);
    ROWS(word_cases, test_words);
    ROWS(alone_cases, test_alone);
    ROWS(refused_cases, test_refused);
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++)
        tests[count++] = single[i];
    return _cmocka_run_group_tests("api_search", tests, count, NULL, NULL);
}
