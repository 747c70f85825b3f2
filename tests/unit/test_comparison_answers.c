/* SPDX-License-Identifier: MIT */

/* Analyses and timings side by side: the same as their documents. And every allocation failing
 * once.
 */

#include "comparison_columns.h"

#include <math.h>

#include "limited_host.h"

static const char program[] = "module t.net\n"
                              "use std.nn.linear::{Linear}\n"
                              "pub block Net<H: Dim> {\n"
                              "    sub up: Linear<H, H, bf16>\n"
                              "    pub entry loss<B: Dim>(x: Tensor[B, H; bf16]) -> f32 {\n"
                              "        return sum[b, h] cast<f32>(tanh(up.forward(x))[b, h])\n"
                              "    }\n"
                              "}\n";

typedef struct answer {
    linnet_analysis *analysis;
    linnet_timing *timing;
} answer;

static linnet_status make_answer(linnet_config *config, const char *json, answer *out,
                                 linnet_error *err)
{
    linnet_model *model = NULL;
    linnet_device *device = NULL;
    linnet_status status = linnet_config_set_json(config, json, strlen(json), err);
    if (status == LINNET_OK)
        status = linnet_model_parse(config, program, sizeof program - 1, "net.linnet", NULL, &model,
                                    err);
    if (status == LINNET_OK)
        status = linnet_device_open(config, "l4", &device, err);
    if (status == LINNET_OK)
        status = linnet_analysis_new(model, config, &out->analysis, err);
    if (status == LINNET_OK)
        status = linnet_timing_new(model, config, device, &out->timing, err);
    linnet_device_unref(device);
    linnet_model_unref(model);
    return status;
}

static void free_answer(answer *a)
{
    linnet_analysis_unref(a->analysis);
    linnet_timing_unref(a->timing);
}

static answer answer_of(const char *json)
{
    linnet_config *config = new_config();
    linnet_error err = { 0 };
    answer a = { 0 };
    if (make_answer(config, json, &a, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    linnet_config_free(config);
    return a;
}

static const char small[] = "{\"batch\": 8, \"bind\": {\"H\": 64}, \"entry\": \"loss\"}";
static const char large[] = "{\"batch\": 32, \"bind\": {\"H\": 64}, \"entry\": \"loss\", "
                            "\"training\": true, \"timeline\": true}";

/* An analysis gives what its document gives. */
static void test_answers(void **state)
{
    answer a = answer_of(small), b = answer_of(large);
    linnet_comparison *direct = new_comparison(), *read = new_comparison();
    linnet_text *text = NULL, *other = NULL;
    linnet_error err;
    (void)state;
    assert_int_equal(linnet_comparison_add_analysis(direct, a.analysis, NULL, "a", &err),
                     LINNET_OK);
    assert_int_equal(linnet_comparison_add_analysis(direct, b.analysis, NULL, "b", &err),
                     LINNET_OK);
    const linnet_analysis *const analyses[] = { a.analysis, b.analysis };
    for (int i = 0; i < 2; i++) {
        assert_int_equal(linnet_analysis_to_json(analyses[i], 0, &text, &err), LINNET_OK);
        add(read, linnet_text_data(text), i == 0 ? "a" : "b");
        linnet_text_free(text);
    }
    assert_int_equal(linnet_comparison_to_json(direct, &text, &err), LINNET_OK);
    assert_int_equal(linnet_comparison_to_json(read, &other, &err), LINNET_OK);
    assert_string_equal(linnet_text_data(text), linnet_text_data(other));
    assert_int_equal(linnet_comparison_integer(direct, find(direct, "peak", "Expected peak"), 1),
                     linnet_analysis_expected_peak(b.analysis));
    linnet_text_free(text);
    linnet_text_free(other);
    linnet_comparison_free(direct);
    linnet_comparison_free(read);
    free_answer(&a);
    free_answer(&b);
}

/* Beside a time that is known, one that is not. */
static void test_both(void **state)
{
    answer a = answer_of(small), b = answer_of(large);
    linnet_comparison *comparison = new_comparison();
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(linnet_comparison_add_analysis(comparison, a.analysis, NULL, "a", &err),
                     LINNET_OK);
    assert_int_equal(linnet_comparison_add_analysis(comparison, b.analysis, b.timing, "b", &err),
                     LINNET_OK);
    const uint64_t step = find(comparison, "time", "Step");
    assert_int_equal(linnet_comparison_is_known(comparison, step, 0), 0);
    assert_true(fabs(linnet_comparison_number(comparison, step, 1) -
                     linnet_timing_seconds(b.timing)) < 1e-11);
    assert_string_equal(
        linnet_comparison_word(comparison, find(comparison, "setting", "device"), 1), "l4");
    assert_int_equal(linnet_comparison_add_timing(comparison, a.timing, "c", &err),
                     LINNET_ERROR_ARGUMENT);
    linnet_comparison_free(comparison);
    free_answer(&a);
    free_answer(&b);
}

static void test_timings(void **state)
{
    answer a = answer_of(small), b = answer_of(large);
    linnet_comparison *comparison = new_comparison();
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(linnet_comparison_add_timing(comparison, a.timing, "a", &err), LINNET_OK);
    assert_int_equal(linnet_comparison_add_timing(comparison, b.timing, "b", &err), LINNET_OK);
    assert_string_equal(linnet_comparison_column_verdict(comparison, 1),
                        linnet_timing_verdict(b.timing));
    assert_int_equal(
        linnet_comparison_row_differs(comparison, find(comparison, "setting", "batch")), 1);
    linnet_comparison_free(comparison);
    free_answer(&a);
    free_answer(&b);
}

/* ---- every allocation fails once ---- */

static linnet_status run_job(limited_host *host)
{
    linnet_config *config = NULL;
    linnet_comparison *comparison = NULL;
    linnet_text *text = NULL, *json = NULL;
    answer a = { 0 };
    linnet_error err = { 0 };
    linnet_status status = linnet_config_new_with_allocator(limited_alloc, host, &config, &err);
    if (status == LINNET_OK)
        status = linnet_comparison_new(config, &comparison, &err);
    if (status == LINNET_OK)
        status = linnet_comparison_add_json(comparison, plain, sizeof plain - 1, "a", &err);
    if (status == LINNET_OK)
        status = linnet_comparison_add_json(comparison, trained, sizeof trained - 1, "b", &err);
    if (status == LINNET_OK)
        status = make_answer(config, small, &a, &err);
    if (status == LINNET_OK)
        status = linnet_comparison_add_analysis(comparison, a.analysis, a.timing, "c", &err);
    if (status == LINNET_OK)
        status = linnet_comparison_to_text(comparison, 1, &text, &err);
    if (status == LINNET_OK)
        status = linnet_comparison_to_json(comparison, &json, &err);
    if (status != LINNET_OK && status != LINNET_ERROR_NO_MEMORY)
        fail_msg("%s", err.message);
    linnet_text_free(text);
    linnet_text_free(json);
    free_answer(&a);
    linnet_comparison_free(comparison);
    linnet_config_free(config);
    return status;
}

static void fail_each(bool stays_down)
{
    linnet_status status = LINNET_ERROR_NO_MEMORY;
    for (int64_t n = 0; status != LINNET_OK; n++) {
        limited_host host = { .left = n, .stays_down = stays_down };
        status = run_job(&host);
        assert_int_equal(host.blocks, 0);
        assert_true(host.refused == (status != LINNET_OK));
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    fail_each(false);
    fail_each(true);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        { .name = "an analysis is its document", .test_func = test_answers },
        { .name = "memory and time together", .test_func = test_both },
        { .name = "timings alone", .test_func = test_timings },
        { .name = "every allocation fails once", .test_func = test_no_memory },
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
