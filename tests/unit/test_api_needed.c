/* SPDX-License-Identifier: MIT */

/* How many devices a job needs, through the public functions. */

#include "search_job.h"

static void test_needed(void **state)
{
    job j = new_job("{\"training\": true, \"batch\": 64, \"checkpoint\": \"none\"}");
    linnet_layouts *single = search("{\"training\": true, \"batch\": 64, \"checkpoint\": "
                                    "\"none\"}");
    linnet_devices_needed *needed = NULL;
    linnet_text *text = NULL;
    linnet_error err = { 0 };
    (void)state;
    const double rate = 1.5 * linnet_layouts_tokens_per_second(single, 0);
    linnet_layouts_unref(single);
    if (linnet_devices_needed_new(j.model, j.config, j.device, BUDGET, 16, rate, &needed, &err) !=
        LINNET_OK)
        fail_msg("%s", err.message);
    assert_int_equal(linnet_devices_needed_fits(needed), 1);
    const int64_t reaches = linnet_devices_needed_reaches(needed);
    assert_in_range(reaches, 2, 16);
    assert_int_equal(linnet_layouts_devices(linnet_devices_needed_fitting(needed)), 1);
    const linnet_layouts *reaching = linnet_devices_needed_reaching(needed);
    assert_int_equal(linnet_layouts_devices(reaching), reaches);
    assert_true(linnet_layouts_tokens_per_second(reaching, 0) >= rate);
    assert_true(linnet_devices_needed_fastest(needed) >= rate);
    assert_true(linnet_devices_needed_fastest_devices(needed) >= reaches);
    assert_int_equal(linnet_devices_needed_to_text(needed, &text, NULL), LINNET_OK);
    assert_non_null(
        strstr(linnet_text_data(text), "Smallest number of devices that fits: 1 x round"));
    assert_non_null(strstr(linnet_text_data(text), "\nSmallest number that reaches "));
    linnet_text_free(text);
    assert_int_equal(linnet_devices_needed_to_json(needed, &text, NULL), LINNET_OK);
    assert_non_null(strstr(linnet_text_data(text), "\"fits\": 1,"));
    linnet_text_free(text);
    linnet_devices_needed *again = linnet_devices_needed_ref(needed);
    linnet_devices_needed_unref(needed);
    linnet_devices_needed_unref(again);
    linnet_devices_needed_unref(NULL);
    free_job(&j);
}

/* One number answers both questions. */
static void test_needed_once(void **state)
{
    job j = new_job("{\"training\": true, \"batch\": 64}");
    linnet_devices_needed *needed = NULL;
    (void)state;
    assert_int_equal(
        linnet_devices_needed_new(j.model, j.config, j.device, BUDGET, 8, 1, &needed, NULL),
        LINNET_OK);
    assert_int_equal(linnet_devices_needed_fits(needed), 1);
    assert_int_equal(linnet_devices_needed_reaches(needed), 1);
    assert_string_equal(linnet_layouts_name(linnet_devices_needed_reaching(needed), 0),
                        linnet_layouts_name(linnet_devices_needed_fitting(needed), 0));
    linnet_devices_needed_unref(needed);
    free_job(&j);
}

static void test_needed_none(void **state)
{
    job j = new_job("{\"training\": true, \"batch\": 64}");
    linnet_devices_needed *needed = NULL;
    (void)state;
    assert_int_equal(
        linnet_devices_needed_new(j.model, j.config, j.device, 1000, 8, 0, &needed, NULL),
        LINNET_OK);
    assert_int_equal(linnet_devices_needed_fits(needed), 0);
    assert_int_equal(linnet_devices_needed_reaches(needed), 0);
    assert_null(linnet_devices_needed_fitting(needed));
    assert_null(linnet_devices_needed_reaching(needed));
    assert_true(linnet_devices_needed_fastest(needed) <= 0);
    assert_int_equal(linnet_devices_needed_fastest_devices(needed), 0);
    linnet_devices_needed_unref(needed);
    free_job(&j);
}

static void test_needed_refused(void **state)
{
    job j = new_job("{\"devices\": 4}"), open = new_job("{}");
    linnet_devices_needed *needed = NULL;
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(
        linnet_devices_needed_new(j.model, j.config, j.device, BUDGET, 8, 0, &needed, &err),
        LINNET_ERROR_ARGUMENT);
    assert_non_null(strstr(err.message, "given as 4"));
    assert_int_equal(linnet_devices_needed_new(open.model, open.config, open.device, BUDGET, 0, 0,
                                               &needed, NULL),
                     LINNET_ERROR_ARGUMENT);
    assert_int_equal(linnet_devices_needed_new(open.model, open.config, open.device, BUDGET, 8, -1,
                                               &needed, NULL),
                     LINNET_ERROR_ARGUMENT);
    assert_null(needed);
    free_job(&j);
    free_job(&open);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_needed),
        cmocka_unit_test(test_needed_once),
        cmocka_unit_test(test_needed_none),
        cmocka_unit_test(test_needed_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
