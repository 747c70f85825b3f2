/* SPDX-License-Identifier: MIT */

/* Summaries of a planner say what its analyses say, at every size, without what a summary leaves
 * out; and every allocation of one failing. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linnet/linnet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limited_host.h"

static const struct summary_case {
    const char *name, *model, *config;
} cases[] = {
    { "inference", "tinyllama-1.1b-chat", "{\"batch\": 2, \"context\": 64}" },
    { "a decoding step over paged caches in another format", "tinyllama-1.1b-chat",
      "{\"entry\": \"decode\", \"batch\": 4, \"cache\": 128, \"kv_dtype\": \"q8_0\", "
      "\"kv_block_size\": 16}" },
    { "sizes past the model's `where` clauses", "gpt2", "{\"batch\": 1, \"context\": 2000}" },
    { "a size that nothing has", "gpt2", "{\"batch\": 1, \"context\": 8, \"cache\": 9}" },
    { "a device's memory", "gpt2",
      "{\"batch\": 1, \"context\": 8, \"device_memory\": 2000000000}" },
    { "a backend that knows no runtime", "gpt2",
      "{\"batch\": 2, \"context\": 8, \"backend\": \"generic\"}" },
    { "processes that split the weights", "qwen3-4b",
      "{\"batch\": 2, \"context\": 64, \"tensor_parallel\": 4}" },
    { "a training step", "tinyllama-1.1b-chat",
      "{\"training\": true, \"entry\": \"loss_packed\", \"context\": 256, \"checkpoint\": "
      "\"block\"}" },
    { "a training step with paged states and clipping", "tinyllama-1.1b-chat",
      "{\"training\": true, \"entry\": \"loss_packed\", \"context\": 256, \"clip_grad_norm\": "
      "true, "
      "\"optimizer\": \"paged-adamw-8bit\"}" },
    { "a sharded training step", "tinyllama-1.1b-chat",
      "{\"training\": true, \"entry\": \"loss_packed\", \"context\": 256, \"shards\": 4, "
      "\"timeline\": true}" },
    { "a pipeline", "tinyllama-1.1b-chat",
      "{\"batch\": 4, \"context\": 64, \"pipeline_parallel\": 2, \"microbatches\": 2}" },
    { "a pipeline that trains", "tinyllama-1.1b-chat",
      "{\"training\": true, \"entry\": \"loss_packed\", \"context\": 256, \"pipeline_parallel\": "
      "2, "
      "\"microbatches\": 4}" },
};

static void set_up(const struct summary_case *row, linnet_config *config)
{
    linnet_error err = { 0 };
    if (linnet_config_set_json(config, row->config, strlen(row->config), &err) != LINNET_OK)
        fail_msg("%s", err.message);
}

static linnet_planner *open_planner(const struct summary_case *row)
{
    linnet_config *config = NULL;
    linnet_model *model = NULL;
    linnet_planner *planner = NULL;
    linnet_error err = { 0 };
    assert_int_equal(linnet_config_new(&config, NULL), LINNET_OK);
    set_up(row, config);
    if (linnet_model_open(config, row->model, NULL, &model, &err) != LINNET_OK ||
        linnet_planner_new(model, config, &planner, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    linnet_model_unref(model);
    linnet_config_free(config);
    return planner;
}

/* ---- what is the same ---- */

static void compare_peaks(const linnet_analysis *whole, const linnet_analysis *summary)
{
    assert_int_equal(linnet_analysis_graph_peak(summary), linnet_analysis_graph_peak(whole));
    assert_int_equal(linnet_analysis_expected_peak(summary), linnet_analysis_expected_peak(whole));
    assert_int_equal(linnet_analysis_allocator_peak(summary),
                     linnet_analysis_allocator_peak(whole));
    assert_int_equal(linnet_analysis_confidence(summary), linnet_analysis_confidence(whole));
    assert_int_equal(linnet_analysis_peak_step(summary), linnet_analysis_peak_step(whole));
    assert_int_equal(linnet_analysis_steps(summary), linnet_analysis_steps(whole));
    assert_ptr_equal(linnet_analysis_verdict(summary), linnet_analysis_verdict(whole));
}

static void compare_components(const linnet_analysis *whole, const linnet_analysis *summary)
{
    const uint64_t count = linnet_analysis_component_count(whole);
    assert_int_equal(linnet_analysis_component_count(summary), count);
    for (uint64_t i = 0; i < count; i++) {
        assert_string_equal(linnet_analysis_component_name(summary, i),
                            linnet_analysis_component_name(whole, i));
        assert_string_equal(linnet_analysis_component_category(summary, i),
                            linnet_analysis_component_category(whole, i));
        assert_int_equal(linnet_analysis_component_bytes(summary, i),
                         linnet_analysis_component_bytes(whole, i));
        assert_int_equal(linnet_analysis_component_confidence(summary, i),
                         linnet_analysis_component_confidence(whole, i));
        assert_null(linnet_analysis_component_formula(summary, i));
        assert_string_equal(linnet_analysis_component_note(summary, i), "");
    }
}

static void compare_words(const linnet_analysis *whole, const linnet_analysis *summary,
                          uint64_t (*count)(const linnet_analysis *),
                          const char *(*word)(const linnet_analysis *, uint64_t))
{
    assert_int_equal(count(summary), count(whole));
    for (uint64_t i = 0; i < count(whole); i++)
        assert_string_equal(word(summary, i), word(whole, i));
}

static void compare_devices(const linnet_analysis *whole, const linnet_analysis *summary)
{
    compare_words(whole, summary, linnet_analysis_device_count, linnet_analysis_device_name);
    compare_words(whole, summary, linnet_analysis_device_count, linnet_analysis_device_holds);
    for (uint64_t i = 0; i < linnet_analysis_device_count(whole); i++) {
        assert_int_equal(linnet_analysis_device_expected_peak(summary, i),
                         linnet_analysis_device_expected_peak(whole, i));
        assert_int_equal(linnet_analysis_device_graph_peak(summary, i),
                         linnet_analysis_device_graph_peak(whole, i));
        assert_int_equal(linnet_analysis_device_runtime(summary, i),
                         linnet_analysis_device_runtime(whole, i));
    }
}

/* ---- what a summary is without ---- */

static void check_left_out(const linnet_analysis *summary)
{
    int64_t planned = 7;
    linnet_text *text = NULL;
    assert_string_equal(linnet_analysis_peak_at(summary), "");
    assert_int_equal(linnet_analysis_allocation(summary, NULL, &planned, NULL, NULL, NULL),
                     LINNET_ERROR_UNSUPPORTED);
    assert_int_equal(planned, 7);
    assert_int_equal(linnet_analysis_tensor_count(summary), 0);
    assert_int_equal(linnet_analysis_assumption_count(summary), 0);
    assert_int_equal(linnet_analysis_timeline_length(summary), 0);
    assert_null(linnet_analysis_activations_formula(summary));
    assert_true(linnet_analysis_recompute(summary) == 0);
    /* Reports of it are short, and made. */
    assert_int_equal(linnet_analysis_to_text(summary, 3, &text, NULL), LINNET_OK);
    linnet_text_free(text);
    assert_int_equal(linnet_analysis_to_json(summary, 3, &text, NULL), LINNET_OK);
    linnet_text_free(text);
}

static void test_same(void **state)
{
    const struct summary_case *row = *state;
    linnet_planner *planner = open_planner(row);
    for (int64_t factor = 0; factor <= 3; factor++) {
        linnet_analysis *whole = NULL, *summary = NULL;
        /* Roles that are not free are left as they are. */
        const int64_t batch = strstr(row->config, "batch\": ") != NULL ? 4 * factor : 0;
        const int64_t context = strstr(row->config, "context\": ") != NULL ? 512 * factor : 0;
        assert_int_equal(linnet_planner_summarise(planner, batch, context, 0, &summary, NULL),
                         LINNET_OK);
        assert_int_equal(linnet_planner_analyse(planner, batch, context, 0, &whole, NULL),
                         LINNET_OK);
        compare_peaks(whole, summary);
        compare_components(whole, summary);
        compare_devices(whole, summary);
        compare_words(whole, summary, linnet_analysis_unknown_count, linnet_analysis_unknown);
        compare_words(whole, summary, linnet_analysis_warning_count, linnet_analysis_warning);
        check_left_out(summary);
        linnet_analysis_unref(summary);
        linnet_analysis_unref(whole);
    }
    linnet_planner_free(planner);
}

static void test_refused(void **state)
{
    (void)state;
    linnet_planner *planner = open_planner(&cases[0]);
    linnet_analysis *summary = NULL;
    linnet_error err = { 0 };
    assert_int_equal(linnet_planner_summarise(planner, -1, 0, 0, &summary, &err),
                     LINNET_ERROR_ARGUMENT);
    assert_string_equal(err.message, "batch must be at least 1");
    assert_int_equal(
        linnet_planner_summarise(planner, INT64_C(1) << 40, INT64_C(1) << 40, 0, &summary, &err),
        LINNET_ERROR_OVERFLOW);
    assert_null(summary);
    linnet_planner_free(planner);
}

/* ---- memory ---- */

/* A planner whose host then refuses the n-th request of a summary. */
static void test_out_of_memory(void **state)
{
    const struct summary_case *row = *state;
    limited_host host = { .left = INT64_MAX };
    linnet_config *config = NULL;
    linnet_model *model = NULL;
    linnet_planner *planner = NULL;
    linnet_analysis *summary = NULL;
    assert_int_equal(linnet_config_new_with_allocator(limited_alloc, &host, &config, NULL),
                     LINNET_OK);
    set_up(row, config);
    assert_int_equal(linnet_model_open(config, row->model, NULL, &model, NULL), LINNET_OK);
    assert_int_equal(linnet_planner_new(model, config, &planner, NULL), LINNET_OK);
    for (int stays_down = 0; stays_down < 2; stays_down++) {
        for (int64_t n = 0; summary == NULL; n++) {
            linnet_error err = { 0 };
            host.left = n;
            host.stays_down = stays_down != 0;
            const linnet_status status = linnet_planner_summarise(planner, 0, 0, 0, &summary, &err);
            host.left = INT64_MAX;
            assert_true(status == LINNET_OK || status == LINNET_ERROR_NO_MEMORY);
            assert_int_equal(status, err.code);
        }
        linnet_analysis_unref(summary);
        summary = NULL;
    }
    linnet_planner_free(planner);
    linnet_model_unref(model);
    linnet_config_free(config);
    assert_int_equal(host.blocks, 0);
}

/* ---- verdicts ---- */

static const struct verdict_case {
    const char *name;
    int64_t peak, device;
    const char *expect;
} verdicts[] = {
    { "more than 5 % free", 949, 1000, "OK" },
    { "5 % free", 950, 1000, "TIGHT" },
    { "nothing free", 1000, 1000, "TIGHT" },
    { "a byte too many", 1001, 1000, "OOM" },
};

static void test_verdict(void **state)
{
    const struct verdict_case *row = *state;
    assert_string_equal(linnet_fit_verdict(row->peak, row->device), row->expect);
}

#define COUNT(rows) (sizeof rows / sizeof rows[0])

static struct CMUnitTest row_test(const char *name, CMUnitTestFunction run, const void *row)
{
    return (struct CMUnitTest){ .name = name,
                                .test_func = run,
                                .initial_state = (void *)(uintptr_t)row };
}

int main(void)
{
    struct CMUnitTest tests[2 * COUNT(cases) + COUNT(verdicts) + 1];
    char names[COUNT(cases)][96];
    size_t count = 0;
    for (size_t i = 0; i < COUNT(cases); i++) {
        tests[count++] = row_test(cases[i].name, test_same, &cases[i]);
        snprintf(names[i], sizeof names[i], "%s, without memory", cases[i].name);
        tests[count++] = row_test(names[i], test_out_of_memory, &cases[i]);
    }
    for (size_t i = 0; i < COUNT(verdicts); i++)
        tests[count++] = row_test(verdicts[i].name, test_verdict, &verdicts[i]);
    tests[count++] = row_test("sizes that cannot be are refused", test_refused, NULL);
    return _cmocka_run_group_tests("summaries of a planner", tests, count, NULL, NULL);
}
