/* SPDX-License-Identifier: MIT */

/* Devices and step times through the public functions, and every allocation of such a job failing
 * once. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linnet/linnet.h>
#include <stdlib.h>
#include <string.h>

static const char program[] =
    "module t.net\n"
    "use std.nn.linear::{Linear}\n"
    "pub block Layer<H: Dim> {\n"
    "    sub up: Linear<H, H, bf16>\n"
    "    pub fn run<B: Dim>(x: Tensor[B, H; bf16]) -> Tensor[B, H; bf16] {\n"
    "        return tanh(up.forward(x))\n"
    "    }\n"
    "}\n"
    "pub block Net<H: Dim> {\n"
    "    sub layers: [Layer<H>; 4]\n"
    "    pub entry loss<B: Dim>(x: Tensor[B, H; bf16]) -> f32 {\n"
    "        var y = x\n"
    "        static for layer in layers {\n"
    "            y = layer.run(y)\n"
    "        }\n"
    "        return sum[b, h] cast<f32>(y[b, h])\n"
    "    }\n"
    "}\n";

static const char profile[] = "{ \"version\": 1, \"kind\": \"linnet-device\", \"name\": \"round\", "
                              "\"memory\": 1000000, \"flops\": { \"f32\": 1e12 }, "
                              "\"bandwidth\": 1e9, \"link\": 1e9, \"latency\": 1e-6, "
                              "\"reduce\": 1e-6 }";

static linnet_config *new_config(const char *json)
{
    static const char base[] =
        "{\"batch\": 1024, \"bind\": {\"H\": 512}, \"entry\": \"loss\", \"root\": \"Net\"}";
    linnet_config *config = NULL;
    linnet_error err = { 0 };
    assert_int_equal(linnet_config_new(&config, NULL), LINNET_OK);
    if (linnet_config_set_json(config, base, strlen(base), &err) != LINNET_OK ||
        linnet_config_set_json(config, json, strlen(json), &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return config;
}

static linnet_timing *time_program(const char *json)
{
    linnet_config *config = new_config(json);
    linnet_model *model = NULL;
    linnet_device *device = NULL;
    linnet_timing *timing = NULL;
    linnet_error err = { 0 };
    if (linnet_model_parse(config, program, sizeof program - 1, "net.linnet", NULL, &model, &err) !=
            LINNET_OK ||
        linnet_device_parse(config, profile, sizeof profile - 1, "round.json", &device, &err) !=
            LINNET_OK ||
        linnet_timing_new(model, config, device, &timing, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    linnet_device_unref(device);
    linnet_model_unref(model);
    linnet_config_free(config);
    return timing;
}

static void assert_close(double found, double expected)
{
    if (fabs(found - expected) > 1e-9 * fabs(expected))
        fail_msg("%.12g instead of %.12g", found, expected);
}

/* ---- devices ---- */

static void test_devices(void **state)
{
    linnet_config *config = new_config("{}");
    (void)state;
    assert_true(linnet_builtin_device_count() >= 19);
    assert_string_equal(linnet_builtin_device_name(0), "h100-80gb");
    assert_null(linnet_builtin_device_name(linnet_builtin_device_count()));
    linnet_device *device = NULL;
    assert_int_equal(linnet_device_open(config, "h100-80gb", &device, NULL), LINNET_OK);
    linnet_device *again = linnet_device_ref(device);
    linnet_device_unref(device);
    assert_string_equal(linnet_device_name(again), "h100-80gb");
    assert_string_equal(linnet_device_title(again), "NVIDIA H100 SXM 80 GB");
    assert_string_equal(linnet_device_source(again), "measured: H100 SXM, PyTorch 2.14.1+cu130");
    assert_int_equal(linnet_device_memory(again), 85017493504);
    assert_int_equal(linnet_device_total_memory(again), 85017493504);
    assert_close(linnet_device_flops(again, "bf16"), 749.3e12);
    assert_close(linnet_device_flops(again, "f32"), 41.17e12);
    assert_close(linnet_device_flops(again, "i64"), 41.17e12);
    assert_close(linnet_device_bandwidth(again), 3.037e12);
    assert_close(linnet_device_link(again), 286.1e9);
    linnet_device_unref(again);
    linnet_device_unref(NULL);
    linnet_config_free(config);
}

static void test_device_documents(void **state)
{
    linnet_config *config = new_config("{}");
    linnet_device *device = NULL, *copy = NULL;
    linnet_text *text = NULL;
    (void)state;
    assert_int_equal(linnet_device_open(config, "l4", &device, NULL), LINNET_OK);
    assert_int_equal(linnet_device_to_text(device, &text, NULL), LINNET_OK);
    assert_non_null(strstr(linnet_text_data(text), "l4: NVIDIA L4"));
    linnet_text_free(text);
    assert_int_equal(linnet_device_to_json(device, &text, NULL), LINNET_OK);
    assert_int_equal(linnet_device_parse(config, linnet_text_data(text), linnet_text_length(text),
                                         "l4.json", &copy, NULL),
                     LINNET_OK);
    assert_close(linnet_device_flops(copy, "bf16"), linnet_device_flops(device, "bf16"));
    assert_int_equal(linnet_device_memory(copy), linnet_device_memory(device));
    linnet_text_free(text);
    linnet_device_unref(copy);
    linnet_device_unref(device);
    linnet_config_free(config);
}

static void test_device_refused(void **state)
{
    linnet_config *config = new_config("{}");
    linnet_device *device = NULL;
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(linnet_device_open(config, "h100-80bg", &device, &err),
                     LINNET_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.message, "did you mean `h100-80gb`"));
    assert_int_equal(linnet_device_parse(config, "{}", 2, "x", &device, &err), LINNET_ERROR_FORMAT);
    assert_non_null(strstr(err.message, "`kind`"));
    assert_null(device);
    linnet_config_free(config);
}

/* ---- times: four products of 2 * 1024 * 512 * 512 operations and 2.62 MB, four tanh ---- */

static void test_inference(void **state)
{
    linnet_timing *timing = time_program("{\"time_model\": \"reference\"}");
    const double product = 2621440 / 1e9, tanh_seconds = 2097152 / 1e9, sum = 0;
    (void)state;
    /* The sum has no tensor result: it moves nothing. */
    assert_close(linnet_timing_seconds(timing), 4 * (product + tanh_seconds) + sum);
    assert_close(linnet_timing_memory_seconds(timing), linnet_timing_seconds(timing));
    assert_close(linnet_timing_tokens(timing), 1024);
    assert_close(linnet_timing_tokens_per_second(timing), 1024 / linnet_timing_seconds(timing));
    assert_true(linnet_timing_compute_seconds(timing) <= 0);
    assert_true(linnet_timing_communication_seconds(timing) <= 0);
    assert_true(linnet_timing_host_seconds(timing) <= 0);
    assert_string_equal(linnet_timing_limit(timing), "memory");
    const double operations = 4 * 2.0 * 1024 * 512 * 512;
    assert_close(linnet_timing_model_utilisation(timing),
                 operations / (linnet_timing_seconds(timing) * 1e12));
    assert_close(linnet_timing_hardware_utilisation(timing),
                 linnet_timing_model_utilisation(timing));
    assert_true(linnet_timing_expected_peak(timing) > 0);
    linnet_timing *again = linnet_timing_ref(timing);
    linnet_timing_unref(timing);
    linnet_timing_unref(again);
    linnet_timing_unref(NULL);
}

static void test_operations(void **state)
{
    linnet_timing *timing = time_program("{\"time_model\": \"reference\"}");
    (void)state;
    assert_int_equal(linnet_timing_operation_count(timing), 2);
    assert_string_equal(linnet_timing_operation_name(timing, 0), "linear");
    assert_string_equal(linnet_timing_operation_scope(timing, 0), "layers.*.up");
    assert_int_equal(linnet_timing_operation_calls(timing, 0), 4);
    assert_close(linnet_timing_operation_seconds(timing, 0), 4 * 2621440 / 1e9);
    assert_string_equal(linnet_timing_operation_name(timing, 1), "tanh");
    assert_null(linnet_timing_operation_name(timing, 2));
    assert_null(linnet_timing_operation_scope(timing, 2));
    assert_int_equal(linnet_timing_operation_calls(timing, 2), 0);
    assert_true(linnet_timing_operation_seconds(timing, 2) <= 0);
    linnet_timing_unref(timing);
}

/* Forward, twice that back, and seven passes over two megabytes of weights; checkpointing every
 * layer computes all of the layers again. */
static void test_training(void **state)
{
    linnet_timing *plain = time_program("{\"time_model\": \"reference\", \"training\": true}");
    linnet_timing *again = time_program(
        "{\"time_model\": \"reference\", \"training\": true, \"checkpoint\": \"block\"}");
    const double forward = 4 * (2621440 + 2097152) / 1e9, weights = 4 * 524288 / 1e9;
    (void)state;
    assert_close(linnet_timing_seconds(plain), 3 * forward + 7 * weights);
    assert_true(linnet_timing_seconds(again) > 3.99 * forward + 7 * weights);
    assert_true(linnet_timing_seconds(again) < 4.001 * forward + 7 * weights);
    assert_true(linnet_timing_hardware_utilisation(again) > linnet_timing_model_utilisation(again));
    linnet_timing_unref(plain);
    linnet_timing_unref(again);
}

static void test_documents(void **state)
{
    linnet_timing *timing = time_program("{\"training\": true}");
    linnet_text *text = NULL;
    (void)state;
    assert_int_equal(linnet_timing_to_text(timing, &text, NULL), LINNET_OK);
    assert_non_null(
        strstr(linnet_text_data(text), "Predicted step time on round, time model linnet"));
    assert_non_null(strstr(linnet_text_data(text), "OOM: "));
    linnet_text_free(text);
    assert_int_equal(linnet_timing_to_json(timing, &text, NULL), LINNET_OK);
    assert_non_null(strstr(linnet_text_data(text), "\"fits\": false"));
    assert_non_null(strstr(linnet_text_data(text), "\"verdict\": \"OOM\""));
    assert_string_equal(linnet_timing_verdict(timing), "OOM");
    assert_non_null(strstr(linnet_text_data(text), "\"S1\""));
    linnet_text_free(text);
    linnet_timing_unref(timing);
}

/* Megatron's host takes longer, so a step that waits for it does too. */
static void test_loops(void **state)
{
    linnet_config *config = new_config("{}");
    linnet_error err = { 0 };
    linnet_timing *plain = time_program("{\"training\": true, \"batch\": 1}");
    linnet_timing *megatron =
        time_program("{\"training\": true, \"batch\": 1, \"training_loop\": \"megatron\"}");
    (void)state;
    assert_int_equal(linnet_config_set_training_loop(config, "free", &err), LINNET_OK);
    assert_int_equal(linnet_config_set_training_loop(config, "loose", &err),
                     LINNET_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.message, "`megatron`"));
    assert_true(linnet_timing_seconds(megatron) > linnet_timing_seconds(plain));
    linnet_timing_unref(plain);
    linnet_timing_unref(megatron);
    linnet_config_free(config);
}

static double seconds_of(const linnet_timing *timing, const char *name)
{
    double sum = 0;
    for (uint64_t i = 0; i < linnet_timing_operation_count(timing); i++)
        if (name == NULL || strcmp(linnet_timing_operation_name(timing, i), name) == 0)
            sum += linnet_timing_operation_seconds(timing, i);
    return sum;
}

/* Rule K1: what lies in a block runs its forward again, which is a third of a `tanh`'s time; what
 * does not runs once. */
static void test_recomputed(void **state)
{
    linnet_timing *none = time_program("{\"training\": true}");
    linnet_timing *block = time_program("{\"training\": true, \"checkpoint\": \"block\"}");
    linnet_timing *two = time_program("{\"training\": true, \"checkpoint\": \"layers.[01]\"}");
    const double tanh_once = seconds_of(none, "tanh");
    const double step = linnet_timing_seconds(none), operations = seconds_of(none, NULL);
    (void)state;
    assert_true(tanh_once > 0);
    assert_true(fabs(seconds_of(block, "tanh") / tanh_once - 4.0 / 3) < 1e-9);
    assert_true(fabs(seconds_of(two, "tanh") / tanh_once - 7.0 / 6) < 1e-9);
    assert_true(fabs(linnet_timing_seconds(block) - step - (seconds_of(block, NULL) - operations)) <
                1e-12);
    linnet_timing_unref(none);
    linnet_timing_unref(block);
    linnet_timing_unref(two);
}

static void test_rules(void **state)
{
    linnet_config *config = new_config("{}");
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(linnet_config_set_time_model(config, "exact", &err), LINNET_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.message, "`reference`"));
    assert_string_equal(linnet_time_rule_name(0), "S1");
    assert_int_equal(linnet_time_rule_is_used(0), 1);
    for (uint64_t i = 0; i < linnet_time_rule_count(); i++)
        assert_true(linnet_time_rule_what(i)[0] != '\0' && linnet_time_rule_why(i)[0] != '\0');
    assert_null(linnet_time_rule_name(linnet_time_rule_count()));
    assert_null(linnet_time_rule_what(linnet_time_rule_count()));
    assert_null(linnet_time_rule_why(linnet_time_rule_count()));
    assert_int_equal(linnet_time_rule_is_used(linnet_time_rule_count()), 0);
    linnet_config_free(config);
}

/* ---- every allocation fails once ---- */

typedef struct failing {
    uint64_t calls, fail_at;
    int64_t live;
} failing;

static void *fail_once(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    failing *f = user;
    (void)old_size;
    if (new_size == 0) {
        f->live -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (f->calls++ == f->fail_at)
        return NULL;
    void *out = realloc(ptr, new_size);
    f->live += ptr == NULL && out != NULL;
    return out;
}

static linnet_status run_job(failing *f)
{
    static const char options[] =
        "{\"batch\": 8, \"bind\": {\"H\": 16}, \"entry\": \"loss\", \"root\": \"Net\", "
        "\"training\": true, \"checkpoint\": \"block\", \"pipeline_parallel\": 2, "
        "\"microbatches\": 2}";
    linnet_config *config = NULL;
    linnet_model *model = NULL;
    linnet_device *device = NULL;
    linnet_timing *timing = NULL;
    linnet_text *text = NULL;
    linnet_error err = { 0 };
    linnet_status status = linnet_config_new_with_allocator(fail_once, f, &config, &err);
    if (status == LINNET_OK)
        status = linnet_config_set_json(config, options, sizeof options - 1, &err);
    if (status == LINNET_OK)
        status = linnet_model_parse(config, program, sizeof program - 1, "net.linnet", NULL, &model,
                                    &err);
    if (status == LINNET_OK)
        status = linnet_device_open(config, "a100-80gb", &device, &err);
    if (status == LINNET_OK)
        status = linnet_timing_new(model, config, device, &timing, &err);
    if (status == LINNET_OK)
        status = linnet_timing_to_json(timing, &text, &err);
    if (status != LINNET_OK && status != LINNET_ERROR_NO_MEMORY)
        fail_msg("%s", err.message);
    linnet_text_free(text);
    linnet_timing_unref(timing);
    linnet_device_unref(device);
    linnet_model_unref(model);
    linnet_config_free(config);
    return status;
}

static void test_no_memory(void **state)
{
    linnet_status status = LINNET_ERROR_NO_MEMORY;
    (void)state;
    for (uint64_t n = 0; status != LINNET_OK; n++) {
        failing f = { 0, n, 0 };
        status = run_job(&f);
        assert_int_equal(f.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        { .name = "devices by name", .test_func = test_devices },
        { .name = "a device's documents", .test_func = test_device_documents },
        { .name = "devices that are refused", .test_func = test_device_refused },
        { .name = "the time of a forward pass", .test_func = test_inference },
        { .name = "the costliest operations", .test_func = test_operations },
        { .name = "the time of a training step", .test_func = test_training },
        { .name = "a time's documents", .test_func = test_documents },
        { .name = "training loops", .test_func = test_loops },
        { .name = "what checkpointing repeats", .test_func = test_recomputed },
        { .name = "models of time and their rules", .test_func = test_rules },
        { .name = "every allocation fails once", .test_func = test_no_memory },
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
