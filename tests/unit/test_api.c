/* SPDX-License-Identifier: MIT */

/* The public functions: what setters refuse, JSON options, models and diagnostics by index,
 * references, planners. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linnet/linnet.h>
#include <stdlib.h>
#include <string.h>

static linnet_config *new_config(void)
{
    linnet_config *config = NULL;
    assert_int_equal(linnet_config_new(&config, NULL), LINNET_OK);
    return config;
}

static linnet_model *open_model(linnet_config *config, const char *name)
{
    linnet_model *model = NULL;
    linnet_error err = { 0 };
    if (linnet_model_open(config, name, NULL, &model, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return model;
}

/* ---- setters
 * ------------------------------------------------------------------------------------------------
 */

static const struct json_case {
    const char *name, *text;
    linnet_status expect;
    const char *message; /* a part of it */
} json_cases[] = {
    { "no keys", "{}", LINNET_OK, "" },
    { "every key",
      "{\"batch\": 2, \"context\": 3, \"cache\": 4, \"bind\": {\"H\": 8, \"T\": \"bf16\"}, "
      "\"dtype\": \"f16\", "
      "\"root\": \"Model\", \"entry\": \"decode\", \"backend\": \"generic\", \"numerics\": "
      "\"exact\", \"optional\": [\"a\"], "
      "\"no_bindings\": true, \"kv_dtype\": \"f16\", \"kv_block_size\": 16, \"context_bytes\": 0, "
      "\"cublas_workspace\": "
      "\":16:8\", \"std_directory\": \"/s\", \"file_bytes\": 100}",
      LINNET_OK, "" },
    { "an unknown key says the nearest", "{\"batches\": 2}", LINNET_ERROR_ARGUMENT,
      "did you mean `batch`?" },
    { "a wrong type", "{\"batch\": \"two\"}", LINNET_ERROR_ARGUMENT,
      "`batch` must be an integer, not a string" },
    { "zero", "{\"batch\": 0}", LINNET_ERROR_ARGUMENT, "at least 1" },
    { "negative", "{\"context\": -1}", LINNET_ERROR_ARGUMENT, "at least 1" },
    { "a key twice", "{\"batch\": 1, \"batch\": 2}", LINNET_ERROR_FORMAT, "" },
    { "no object", "[1]", LINNET_ERROR_FORMAT, "must be a JSON object" },
    { "no JSON", "{\"batch\": ", LINNET_ERROR_FORMAT, "" },
    { "no such dtype", "{\"dtype\": \"bf15\"}", LINNET_ERROR_NOT_FOUND, "`bf16`" },
    { "a dtype that is no float", "{\"dtype\": \"i32\"}", LINNET_ERROR_ARGUMENT, "float" },
    { "a dtype of caches, another of values", "{\"kv_dtype\": \"iq4_nl,fp8\"}", LINNET_OK, "" },
    { "no such dtype of caches", "{\"kv_dtype\": \"q4_2\"}", LINNET_ERROR_NOT_FOUND,
      "did you mean" },
    { "no such dtype of values", "{\"kv_dtype\": \"f16,\"}", LINNET_ERROR_NOT_FOUND, "iq4_nl" },
    { "full caches behind windows", "{\"kv_window\": \"full\"}", LINNET_OK, "" },
    { "no such caches behind windows", "{\"kv_window\": \"half\"}", LINNET_ERROR_NOT_FOUND,
      "`half`" },
    { "no such backend", "{\"backend\": \"tpu\"}", LINNET_ERROR_NOT_FOUND, "cuda" },
    { "no such policy", "{\"numerics\": \"quick\"}", LINNET_ERROR_NOT_FOUND, "fast" },
    { "a binding of another type", "{\"bind\": {\"H\": 1.5}}", LINNET_ERROR_ARGUMENT, "`H`" },
    { "a path of another type", "{\"optional\": [1]}", LINNET_ERROR_ARGUMENT, "`optional`" },
    { "a malformed workspace", "{\"cublas_workspace\": \"4096\"}", LINNET_ERROR_ARGUMENT, "" },
};

static void test_json(void **state)
{
    const struct json_case *row = *state;
    linnet_config *config = new_config();
    linnet_error err = { 0 };
    assert_int_equal(linnet_config_set_json(config, row->text, strlen(row->text), &err),
                     row->expect);
    if (strstr(err.message, row->message) == NULL)
        fail_msg("`%s` does not say `%s`", err.message, row->message);
    linnet_config_free(config);
}

static void test_json_is_all_or_nothing(void **state)
{
    (void)state;
    static const char text[] = "{\"batch\": 64, \"context\": 0}";
    linnet_config *config = new_config();
    int64_t before, after;
    linnet_config_set_batch(config, 1, NULL);
    linnet_config_set_context(config, 128, NULL);
    linnet_model *model = open_model(config, "gpt2");
    linnet_analysis *analysis = NULL;
    assert_int_equal(linnet_analysis_new(model, config, &analysis, NULL), LINNET_OK);
    before = linnet_analysis_graph_peak(analysis);
    linnet_analysis_unref(analysis);
    assert_int_equal(linnet_config_set_json(config, text, sizeof text - 1, NULL),
                     LINNET_ERROR_ARGUMENT);
    assert_int_equal(linnet_analysis_new(model, config, &analysis, NULL), LINNET_OK);
    after = linnet_analysis_graph_peak(analysis);
    assert_true(before == after);
    linnet_analysis_unref(analysis);
    linnet_model_unref(model);
    linnet_config_free(config);
}

static const struct size_case {
    const char *name;
    int64_t expect; /* -1: refused */
} size_cases[] = {
    { "0", 0 },
    { "512", 512 },
    { "1KB", 1000 },
    { "1KiB", 1024 },
    { "80GiB", 85899345920 },
    { "80 gib", 85899345920 },
    { "1.5MiB", 1572864 },
    { "9223372036854775807", INT64_MAX },
    { "9223372036854775808", -1 },
    { "8388608TiB", -1 },
    { "-1", -1 },
    { "", -1 },
    { "GiB", -1 },
    { "1GiBs", -1 },
    { "1e3", -1 },
};

static void test_size(void **state)
{
    const struct size_case *row = *state;
    int64_t bytes = -1;
    linnet_status status = linnet_parse_size(row->name, &bytes, NULL);
    assert_int_equal(status, row->expect < 0 ? LINNET_ERROR_ARGUMENT : LINNET_OK);
    assert_true(bytes == row->expect);
}

/* ---- models
 * -------------------------------------------------------------------------------------------------
 */

static void test_model_by_index(void **state)
{
    (void)state;
    linnet_config *config = new_config();
    linnet_model *model = open_model(config, "llama-3.1-8b-instruct");
    const int64_t root = linnet_model_root(model);
    assert_true(root >= 0);
    assert_string_equal(linnet_model_block_name(model, (uint64_t)root), "Model");
    assert_string_equal(linnet_model_generic_name(model, (uint64_t)root, 0), "Vocab");
    assert_string_equal(linnet_model_generic_value(model, (uint64_t)root, 0), "128256");
    assert_true(linnet_model_parameter_count(model, (uint64_t)root) > 10);
    assert_string_equal(linnet_model_parameter_path(model, (uint64_t)root, 0), "embedding.weight");
    assert_string_equal(linnet_model_parameter_kind(model, (uint64_t)root, 0), "param");
    assert_int_equal(linnet_model_parameter_rank(model, (uint64_t)root, 0), 2);
    assert_string_equal(linnet_model_parameter_extent(model, (uint64_t)root, 0, 1), "H");
    assert_true(linnet_model_parameter_bytes(model, (uint64_t)root, 0) ==
                (int64_t)128256 * 4096 * 2);
    assert_null(linnet_model_parameter_path(model, 99, 0));
    assert_null(linnet_model_block_name(model, 99));
    assert_int_equal(linnet_model_parameter_bytes(model, 99, 0), -1);
    int64_t elements;
    assert_int_equal(linnet_model_weight_elements(model, &elements, NULL), LINNET_OK);
    assert_true(elements == 8030261248);
    linnet_model_unref(model);
    linnet_config_free(config);
}

static void test_builtin_names(void **state)
{
    (void)state;
    uint64_t shipped = 0;
    for (uint64_t i = 0; i < linnet_builtin_model_count(); i++)
        shipped += (uint64_t)linnet_builtin_model_is_shipped(i);
    assert_int_equal(shipped, 14);
    assert_string_equal(linnet_builtin_model_nearest("llama-3.1-8b-instuct"),
                        "llama-3.1-8b-instruct");
    assert_null(linnet_builtin_model_name(10000));
}

static void test_diagnostics(void **state)
{
    (void)state;
    static const char text[] = "module t.wrong\npub fn f<N: Dim>(x: Tensor[N; bf16], y: Tensor[N; "
                               "f32]) -> Tensor[N; f32] {\n"
                               "    return x + y\n}\n";
    linnet_config *config = new_config();
    linnet_diagnostics *list = NULL;
    linnet_model *model = NULL;
    linnet_error err = { 0 };
    uint32_t line = 0, column = 0;
    assert_int_equal(linnet_diagnostics_new(&list, NULL), LINNET_OK);
    assert_int_equal(
        linnet_model_parse(config, text, sizeof text - 1, "wrong.linnet", list, &model, &err),
        LINNET_ERROR_SOURCE);
    assert_null(model);
    assert_string_equal(err.diagnostic, "E2103");
    assert_string_equal(err.source, "wrong.linnet");
    assert_int_equal(err.line, 3);
    assert_int_equal(err.column, 12);
    assert_int_equal(linnet_diagnostics_count(list), 1);
    assert_string_equal(linnet_diagnostics_code(list, 0), "E2103");
    assert_int_equal(linnet_diagnostics_place(list, 0, 0, &line, &column, NULL, NULL, NULL),
                     LINNET_OK);
    assert_int_equal(line, 3);
    assert_int_equal(column, 12);
    assert_int_equal(linnet_diagnostics_severity(list, 1), LINNET_SEVERITY_INVALID);
    assert_non_null(linnet_diagnostic_title("E2103"));
    assert_null(linnet_diagnostic_title("E9999"));
    linnet_diagnostics_free(list);
    linnet_config_free(config);
}

/* ---- planners
 * -------------------------------------------------------------------------------------------------
 */

static void test_release_in_any_order(void **state)
{
    (void)state;
    linnet_config *config = new_config();
    linnet_planner *planner = NULL;
    linnet_analysis *analysis = NULL;
    linnet_config_set_batch(config, 2, NULL);
    linnet_config_set_context(config, 64, NULL);
    linnet_model *model = open_model(config, "gpt2");
    assert_int_equal(linnet_planner_new(model, config, &planner, NULL), LINNET_OK);
    linnet_config_free(config);
    linnet_model_unref(model);
    assert_int_equal(linnet_planner_analyse(planner, 3, 0, 0, &analysis, NULL), LINNET_OK);
    linnet_planner_free(planner);
    linnet_analysis *again = linnet_analysis_ref(analysis);
    linnet_analysis_unref(analysis);
    assert_true(linnet_analysis_expected_peak(again) > linnet_analysis_graph_peak(again));
    linnet_analysis_unref(again);
}

static void test_planner_refuses(void **state)
{
    (void)state;
    linnet_config *config = new_config();
    linnet_planner *planner = NULL;
    int64_t peak = 7;
    linnet_config_set_batch(config, 2, NULL);
    linnet_config_bind(config, "S", "64", NULL);
    linnet_model *model = open_model(config, "gpt2");
    assert_int_equal(linnet_planner_new(model, config, &planner, NULL), LINNET_OK);
    assert_int_equal(linnet_planner_peaks(planner, -1, 0, 0, &peak, NULL, NULL, NULL),
                     LINNET_ERROR_ARGUMENT);
    assert_int_equal(linnet_planner_peaks(planner, 0, 128, 0, &peak, NULL, NULL, NULL),
                     LINNET_ERROR_ARGUMENT);
    assert_int_equal(linnet_planner_peaks(planner, INT64_MAX, 0, 0, &peak, NULL, NULL, NULL),
                     LINNET_ERROR_OVERFLOW);
    assert_true(peak == 7);
    linnet_planner_free(planner);
    linnet_model_unref(model);
    linnet_config_free(config);
}

static void test_components_copied(void **state)
{
    (void)state;
    linnet_config *config = new_config();
    linnet_analysis *analysis = NULL;
    int64_t bytes[32];
    uint64_t count = 0;
    linnet_config_set_batch(config, 1, NULL);
    linnet_config_set_context(config, 64, NULL);
    linnet_model *model = open_model(config, "gpt2");
    assert_int_equal(linnet_analysis_new(model, config, &analysis, NULL), LINNET_OK);
    assert_int_equal(linnet_analysis_copy_component_bytes(analysis, bytes, 1, &count, NULL),
                     LINNET_ERROR_ARGUMENT);
    assert_true(count > 1 && count <= 32);
    assert_int_equal(linnet_analysis_copy_component_bytes(analysis, bytes, 32, &count, NULL),
                     LINNET_OK);
    for (uint64_t i = 0; i < count; i++)
        assert_true(bytes[i] == linnet_analysis_component_bytes(analysis, i));
    assert_true(bytes[0] == (int64_t)124439808 * 4);
    linnet_analysis_unref(analysis);
    linnet_model_unref(model);
    linnet_config_free(config);
}

int main(void)
{
    enum {
        JSON = sizeof json_cases / sizeof json_cases[0],
        SIZES = sizeof size_cases / sizeof size_cases[0]
    };
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(test_json_is_all_or_nothing), cmocka_unit_test(test_model_by_index),
        cmocka_unit_test(test_builtin_names),          cmocka_unit_test(test_diagnostics),
        cmocka_unit_test(test_release_in_any_order),   cmocka_unit_test(test_planner_refuses),
        cmocka_unit_test(test_components_copied),
    };
    enum { PLAIN = sizeof plain / sizeof plain[0] };
    struct CMUnitTest tests[JSON + SIZES + PLAIN];
    for (int i = 0; i < JSON; i++)
        tests[i] = (struct CMUnitTest){ .name = json_cases[i].name,
                                        .test_func = test_json,
                                        .initial_state = (void *)(uintptr_t)&json_cases[i] };
    for (int i = 0; i < SIZES; i++)
        tests[JSON + i] =
            (struct CMUnitTest){ .name = size_cases[i].name[0] != '\0' ? size_cases[i].name
                                                                       : "an empty size",
                                 .test_func = test_size,
                                 .initial_state = (void *)(uintptr_t)&size_cases[i] };
    memcpy(&tests[JSON + SIZES], plain, sizeof plain);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
