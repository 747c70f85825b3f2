/* SPDX-License-Identifier: MIT */

/* A training step through the public functions: options and what they refuse, the timeline in a
 * caller's arrays, planners; and every allocation of such a job failing once. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linnet/linnet.h>
#include <stdlib.h>
#include <string.h>

#include "limited_host.h"

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

enum { H = 16, B = 8, LAYERS = 4 };

static void set(linnet_config *config, const char *json)
{
    linnet_error err = { 0 };
    if (linnet_config_set_json(config, json, strlen(json), &err) != LINNET_OK)
        fail_msg("%s", err.message);
}

static linnet_config *new_config(const char *json)
{
    linnet_config *config = NULL;
    assert_int_equal(linnet_config_new(&config, NULL), LINNET_OK);
    set(config, "{\"batch\": 8, \"bind\": {\"H\": 16}, \"entry\": \"loss\", \"root\": \"Net\"}");
    set(config, json);
    return config;
}

static linnet_model *parse(const linnet_config *config)
{
    linnet_model *model = NULL;
    linnet_error err = { 0 };
    if (linnet_model_parse(config, program, sizeof program - 1, "net.linnet", NULL, &model, &err) !=
        LINNET_OK)
        fail_msg("%s", err.message);
    return model;
}

/* ---- options ---- */

static const struct refused_option {
    const char *name, *text;
    linnet_status expect;
    const char *message;
} refused[] = {
    { "an unknown optimizer", "{\"optimizer\": \"adamv\"}", LINNET_ERROR_NOT_FOUND,
      "did you mean `adam`" },
    { "an optimizer far from any", "{\"optimizer\": \"x\"}", LINNET_ERROR_NOT_FOUND,
      "no optimizer is called `x`" },
    { "a master dtype that is no float", "{\"master_dtype\": \"i8\"}", LINNET_ERROR_ARGUMENT,
      "must be a float" },
    { "a gradient dtype that is none", "{\"gradient_dtype\": \"f31\"}", LINNET_ERROR_NOT_FOUND,
      "no dtype" },
    { "an empty policy", "{\"checkpoint\": \"\"}", LINNET_ERROR_ARGUMENT, "empty" },
    { "zero layers at a time", "{\"checkpoint\": \"every:0\"}", LINNET_ERROR_ARGUMENT, "every:K" },
    { "a third kind of step", "{\"step\": \"last\"}", LINNET_ERROR_ARGUMENT, "`first`" },
    { "no micro-batch", "{\"grad_accumulation\": 0}", LINNET_ERROR_ARGUMENT, "at least 1" },
    { "rank 0", "{\"lora\": \"0\"}", LINNET_ERROR_ARGUMENT, "at least 1" },
    { "a rank that is no number", "{\"lora\": \"r\"}", LINNET_ERROR_ARGUMENT, "neither" },
    { "a rank without its patterns", "{\"lora\": \"4:\"}", LINNET_ERROR_ARGUMENT, "neither" },
    { "an unknown loss", "{\"loss\": \"mse\"}", LINNET_ERROR_NOT_FOUND, "chunked" },
    { "trainable as one word", "{\"trainable\": \"*\"}", LINNET_ERROR_ARGUMENT, "an array" },
    { "training as a number", "{\"training\": 1}", LINNET_ERROR_ARGUMENT, "true or false" },
};

static void test_refused(void **state)
{
    const struct refused_option *row = *state;
    linnet_config *config = new_config("{}");
    linnet_error err = { 0 };
    assert_int_equal(linnet_config_set_json(config, row->text, strlen(row->text), &err),
                     row->expect);
    if (strstr(err.message, row->message) == NULL)
        fail_msg("%s", err.message);
    linnet_config_free(config);
}

static const char *const lonely[] = {
    "{\"optimizer\": \"sgd\"}",   "{\"master_dtype\": \"f32\"}", "{\"gradient_dtype\": \"f32\"}",
    "{\"trainable\": [\"*\"]}",   "{\"checkpoint\": \"block\"}", "{\"step\": \"steady\"}",
    "{\"grad_accumulation\": 2}", "{\"lora\": \"4\"}",           "{\"loss\": \"logits\"}",
};

/* An option of training without training contradicts itself. */
static void test_lonely(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lonely / sizeof lonely[0]; i++) {
        linnet_config *config = new_config(lonely[i]);
        linnet_model *model = parse(config);
        linnet_analysis *analysis = NULL;
        linnet_planner *planner = NULL;
        linnet_error err = { 0 };
        assert_int_equal(linnet_analysis_new(model, config, &analysis, &err),
                         LINNET_ERROR_ARGUMENT);
        assert_non_null(strstr(err.message, "is an option of training, which is off"));
        assert_int_equal(linnet_planner_new(model, config, &planner, &err), LINNET_ERROR_ARGUMENT);
        linnet_model_unref(model);
        linnet_config_free(config);
    }
}

/* ---- the timeline ---- */

static linnet_analysis *analyse(const char *json)
{
    linnet_config *config = new_config(json);
    linnet_model *model = parse(config);
    linnet_analysis *analysis = NULL;
    linnet_error err = { 0 };
    if (linnet_analysis_new(model, config, &analysis, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    linnet_model_unref(model);
    linnet_config_free(config);
    return analysis;
}

/* Per layer a product and a tanh; then a cast inside the sum: 9 steps, and the optimizer. */
static void test_timeline(void **state)
{
    (void)state;
    enum { STEPS = 2 * LAYERS + 1, LENGTH = 2 * STEPS + 1, WEIGHT = H * H * 2, Y = B * H * 2 };
    linnet_analysis *analysis = analyse("{\"training\": true, \"timeline\": true}");
    int64_t bytes[LENGTH];
    uint64_t count = 0;
    linnet_error err = { 0 };
    assert_int_equal(linnet_analysis_steps(analysis), STEPS);
    assert_int_equal(linnet_analysis_timeline_length(analysis), LENGTH);

    assert_int_equal(
        linnet_analysis_copy_timeline(analysis, "gradients", bytes, LENGTH, &count, &err),
        LINNET_OK);
    assert_int_equal(count, LENGTH);
    assert_int_equal(bytes[0], 0);
    assert_int_equal(bytes[LENGTH - 1], LAYERS * WEIGHT);
    assert_int_equal(
        linnet_analysis_copy_timeline(analysis, "activations", bytes, LENGTH, NULL, NULL),
        LINNET_OK);
    /* each tanh's result, for itself and the product that reads it */
    assert_int_equal(bytes[STEPS - 1], LAYERS * Y);
    assert_int_equal(
        linnet_analysis_copy_timeline(analysis, "communication", bytes, LENGTH, NULL, NULL),
        LINNET_OK);
    assert_int_equal(bytes[3], 0);

    assert_int_equal(linnet_analysis_copy_timeline(analysis, "memory", bytes, LENGTH, NULL, &err),
                     LINNET_ERROR_NOT_FOUND);
    assert_int_equal(linnet_analysis_copy_timeline(analysis, "inputs", bytes, 3, &count, &err),
                     LINNET_ERROR_ARGUMENT);
    assert_int_equal(linnet_analysis_phase_count(analysis), 3);
    assert_string_equal(linnet_analysis_phase_name(analysis, 0), "forward");
    assert_string_equal(linnet_analysis_phase_name(analysis, 2), "optimizer");
    assert_int_equal(linnet_analysis_phase_first(analysis, 1), STEPS);
    assert_int_equal(linnet_analysis_phase_end(analysis, 1), 2 * STEPS);
    assert_null(linnet_analysis_phase_name(analysis, 3));
    assert_int_equal(linnet_analysis_phase_end(analysis, 3), -1);
    linnet_analysis_unref(analysis);
}

static void test_no_timeline(void **state)
{
    (void)state;
    linnet_analysis *analysis = analyse("{\"training\": true}");
    int64_t bytes[1];
    linnet_error err = { 0 };
    assert_int_equal(linnet_analysis_timeline_length(analysis), 0);
    assert_int_equal(linnet_analysis_phase_count(analysis), 0);
    assert_int_equal(linnet_analysis_copy_timeline(analysis, "inputs", bytes, 1, NULL, &err),
                     LINNET_ERROR_UNSUPPORTED);
    assert_true(linnet_analysis_recompute(analysis) == 0);
    linnet_analysis_unref(analysis);
}

/* All layers run again: their share of three times the forward. */
static void test_recompute(void **state)
{
    (void)state;
    linnet_analysis *analysis = analyse("{\"training\": true, \"checkpoint\": \"block\"}");
    const double layers = LAYERS * (2.0 * B * H * H + B * H), sum = B * H * 1.0;
    const double expected = layers / (3 * (layers + sum));
    const double found = linnet_analysis_recompute(analysis);
    assert_true(found > expected * 0.999 && found < expected * 1.001);
    linnet_analysis_unref(analysis);
}

/* An inference has a timeline too: one moment a step. */
static void test_inference(void **state)
{
    (void)state;
    linnet_analysis *analysis = analyse("{\"timeline\": true}");
    assert_int_equal(linnet_analysis_timeline_length(analysis), linnet_analysis_steps(analysis));
    assert_int_equal(linnet_analysis_phase_count(analysis), 1);
    linnet_analysis_unref(analysis);
}

/* ---- every allocation fails once ---- */

static const char options[] =
    "{\"batch\": 8, \"bind\": {\"H\": 16}, \"entry\": \"loss\", \"root\": \"Net\", "
    "\"training\": true, \"timeline\": true, \"checkpoint\": \"layers.0,layers.1\", "
    "\"optimizer\": \"muon\", \"lora\": \"2:up\", \"trainable\": [\"layers.0.*\"]}";

static linnet_status run_job(linnet_config *config, linnet_error *err)
{
    linnet_model *model = NULL;
    linnet_analysis *analysis = NULL;
    linnet_text *text = NULL;
    linnet_status status;
    if ((status = linnet_config_set_json(config, options, sizeof options - 1, err)) != LINNET_OK ||
        (status = linnet_model_parse(config, program, sizeof program - 1, "net.linnet", NULL,
                                     &model, err)) != LINNET_OK ||
        (status = linnet_analysis_new(model, config, &analysis, err)) != LINNET_OK)
        goto out;
    status = linnet_analysis_to_json(analysis, 5, &text, err);
out:
    linnet_text_free(text);
    linnet_analysis_unref(analysis);
    linnet_model_unref(model);
    return status;
}

static void test_failing_memory(void **state)
{
    (void)state;
    for (int forever = 0; forever < 2; forever++) {
        linnet_status status = LINNET_ERROR_NO_MEMORY;
        for (int64_t n = 0; status != LINNET_OK; n++) {
            limited_host f = { .left = n, .stays_down = forever };
            linnet_config *config = NULL;
            linnet_error err = { 0 };
            status = linnet_config_new_with_allocator(limited_alloc, &f, &config, &err);
            if (status == LINNET_OK)
                status = run_job(config, &err);
            linnet_config_free(config);
            assert_int_equal(f.blocks, 0);
            if (status != LINNET_OK)
                assert_int_equal(status, LINNET_ERROR_NO_MEMORY);
        }
    }
}

int main(void)
{
    enum { PLAIN = 6, REFUSED = sizeof refused / sizeof refused[0] };
    struct CMUnitTest tests[PLAIN + REFUSED] = {
        cmocka_unit_test(test_lonely),      cmocka_unit_test(test_timeline),
        cmocka_unit_test(test_no_timeline), cmocka_unit_test(test_recompute),
        cmocka_unit_test(test_inference),   cmocka_unit_test(test_failing_memory),
    };
    for (size_t i = 0; i < REFUSED; i++)
        tests[PLAIN + i] = (struct CMUnitTest){ .name = refused[i].name,
                                                .test_func = test_refused,
                                                .initial_state = (void *)(uintptr_t)&refused[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
