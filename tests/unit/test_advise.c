/* SPDX-License-Identifier: MIT */

/* Advice: each change's numbers beside those of the configuration it names, what applies to known
 * models, what is refused, cancelling, and allocations that fail. */

#define _POSIX_C_SOURCE 200809L /* strtok_r */

#include "advise_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "limited_host.h"

#define GIB ((int64_t)1 << 30)

/* ---- options as a config ---- */

/* "--seq-len 4" as "\"context\": 4": where the long names and the keys differ. */
static const char *key_of(const char *option)
{
    static const struct {
        const char *option, *key;
    } others[] = { { "seq-len", "context" }, { "cache-len", "cache" } };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(option, others[i].option) == 0)
            return others[i].key;
    return option;
}

static void apply_option(linnet_config *config, char *option, char *value)
{
    char json[512];
    char *equals = value != NULL ? strchr(value, '=') : NULL;
    const bool is_number =
        value != NULL && value[strspn(value, "0123456789")] == '\0' && strcmp(option, "lora") != 0;
    const char *key = key_of(option);
    for (char *at = option; *at != '\0'; at++)
        *at = *at == '-' ? '_' : *at;
    if (value == NULL)
        snprintf(json, sizeof json, "{\"%s\": true}", key);
    else if (strcmp(option, "bind") == 0 && equals != NULL)
        snprintf(json, sizeof json, "{\"bind\": {\"%.*s\": %s}}", (int)(equals - value), value,
                 equals + 1);
    else if (value[0] == '\'')
        snprintf(json, sizeof json, "{\"%s\": \"%.*s\"}", key, (int)strlen(value) - 2, value + 1);
    else
        snprintf(json, sizeof json, is_number ? "{\"%s\": %s}" : "{\"%s\": \"%s\"}", key, value);
    set_json(config, json);
}

static void apply_options(linnet_config *config, const char *options)
{
    char text[512], *option = NULL, *rest = NULL;
    snprintf(text, sizeof text, "%s", options);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (strncmp(word, "--", 2) == 0) {
            if (option != NULL)
                apply_option(config, option, NULL);
            option = word + 2;
        } else if (option != NULL) {
            apply_option(config, option, word);
            option = NULL;
        }
    }
    if (option != NULL)
        apply_option(config, option, NULL);
}

/* ---- each change beside `memory` and `time` with the same options ---- */

#define LESSON_SMALL "\"bind\": {\"Layers\": 4, \"H\": 256, \"Heads\": 4, \"Vocab\": 4096}"

static const struct honest {
    const char *name, *model, *config, *device;
    int64_t budget;
} honest_cases[] = {
    { "an 8B training step on one device", "llama-3.1-8b-instruct",
      "{\"entry\": \"loss_packed\", \"training\": true, \"context\": 8192}", "h100-80gb",
      79 * GIB },
    { "an 8B training step on eight, f32 masters", "llama-3.1-8b-instruct",
      "{\"entry\": \"loss_packed\", \"training\": true, \"context\": 4096, \"devices\": 8, "
      "\"master_dtype\": \"f32\"}",
      "h100-80gb", 79 * GIB },
    { "a pipeline of two stages", "tinyllama-1.1b-chat",
      "{\"entry\": \"loss_packed\", \"training\": true, \"context\": 8192, "
      "\"pipeline_parallel\": 2, \"microbatches\": 4, \"replicas\": 2}",
      "h100-80gb", 6 * GIB },
    { "tensor parallel, unfused, all logits, foreach", "gpt-lesson",
      "{\"training\": true, \"batch\": 6, \"context\": 512, \"tensor_parallel\": 2, \"devices\": "
      "8, \"loss\": \"logits-f32\", \"optimizer\": \"adamw-foreach\", " LESSON_SMALL "}",
      "a100-80gb", GIB / 4 },
    { "gradients summed already", "gpt-lesson",
      "{\"training\": true, \"batch\": 4, \"context\": 512, \"grad_accumulation\": 3, "
      "\"master_dtype\": \"f32\", " LESSON_SMALL "}",
      "h100-80gb", GIB / 4 },
    { "half sharded, replicas given", "gpt-lesson",
      "{\"training\": true, \"batch\": 2, \"context\": 512, \"shards\": 2, \"zero\": 1, "
      "\"replicas\": 2, \"checkpoint\": \"selective\", " LESSON_SMALL "}",
      "h100-80gb", GIB / 4 },
    { "f32 by exact numerics", "gpt2",
      "{\"entry\": \"loss_packed\", \"training\": true, \"context\": 1024, \"numerics\": "
      "\"exact\"}",
      "h100-80gb", 2 * GIB },
    { "decoding 128 rows over eight devices", "llama-3.1-8b-instruct",
      "{\"entry\": \"decode_rows\", \"batch\": 128, \"context\": 8192, \"devices\": 8}",
      "h100-80gb", 79 * GIB },
    { "prefilling paged caches", "tinyllama-1.1b-chat",
      "{\"entry\": \"prefill\", \"batch\": 6, \"context\": 1000, \"kv_block_size\": 512}",
      "h100-80gb", 3 * GIB },
};

static void compare_time(const linnet_model *model, const linnet_config *config,
                         const char *options, const linnet_device *device, double seconds,
                         double base_tokens)
{
    linnet_timing *timing = NULL;
    linnet_error err = { 0 };
    if (seconds < 0 || device == NULL)
        return;
    if (linnet_timing_new(model, config, device, &timing, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    const double own = linnet_timing_seconds(timing) * (base_tokens / linnet_timing_tokens(timing));
    if (fabs(own - seconds) > 1e-9 * seconds)
        fail_msg("%s: %.9g s by `time`, %.9g s advised", options, own, seconds);
    linnet_timing_unref(timing);
}

/* What the advice says of options, beside the analysis of a config with them. */
static void compare(const linnet_model *model, const char *json, const char *options,
                    const linnet_device *device, int64_t peak, double seconds, double base_tokens)
{
    linnet_config *config = new_config(json);
    linnet_analysis *analysis = NULL;
    linnet_error err = { 0 };
    apply_options(config, options);
    if (linnet_analysis_new(model, config, &analysis, &err) != LINNET_OK)
        fail_msg("%s: %s", options, err.message);
    if (linnet_analysis_expected_peak(analysis) != peak)
        fail_msg("%s: %lld bytes by `memory`, %lld advised", options,
                 (long long)linnet_analysis_expected_peak(analysis), (long long)peak);
    compare_time(model, config, options, device, seconds, base_tokens);
    linnet_analysis_unref(analysis);
    linnet_config_free(config);
}

static double base_tokens_of(const linnet_model *model, const linnet_config *config,
                             const linnet_device *device)
{
    linnet_timing *timing = NULL;
    if (device == NULL || linnet_timing_new(model, config, device, &timing, NULL) != LINNET_OK)
        return 0;
    const double tokens = linnet_timing_tokens(timing);
    linnet_timing_unref(timing);
    return tokens;
}

static void check_order(const linnet_advice *advice)
{
    double before = -INFINITY;
    for (uint64_t i = 0; i < linnet_advice_change_count(advice); i++) {
        const double seconds = linnet_advice_change_seconds(advice, i);
        if (linnet_advice_change_verdict(advice, i) == NULL || seconds < 0)
            break;
        assert_true(seconds >= before);
        before = seconds;
    }
}

static void test_honest(void **state)
{
    const struct honest *row = *state;
    linnet_config *config = new_config(row->config);
    linnet_model *model = open_model(config, row->model);
    linnet_device *device = open_device(config, row->device);
    linnet_advice *advice = NULL;
    linnet_error err = { 0 };
    const double tokens = base_tokens_of(model, config, device);
    uint64_t compared = 0;
    if (linnet_advice_new(model, config, device, row->budget, &advice, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    compare(model, row->config, "", device, linnet_advice_expected_peak(advice),
            linnet_advice_seconds(advice), tokens);
    for (uint64_t i = 0; i < linnet_advice_change_count(advice); i++) {
        const char *verdict = linnet_advice_change_verdict(advice, i);
        const int64_t peak = linnet_advice_change_expected_peak(advice, i);
        assert_int_equal(verdict == NULL, linnet_advice_change_why_not(advice, i)[0] != '\0');
        if (verdict == NULL)
            continue;
        compared++;
        assert_string_equal(verdict, linnet_fit_verdict(peak, row->budget));
        assert_int_equal(linnet_advice_change_saved_bytes(advice, i),
                         linnet_advice_expected_peak(advice) - peak);
        compare(model, row->config, linnet_advice_change_options(advice, i), device, peak,
                linnet_advice_change_seconds(advice, i), tokens);
    }
    for (uint64_t i = 0; i < linnet_advice_combination_count(advice); i++) {
        assert_true(linnet_advice_combination_expected_peak(advice, i) <= row->budget);
        compare(model, row->config, linnet_advice_combination_options(advice, i), device,
                linnet_advice_combination_expected_peak(advice, i),
                linnet_advice_combination_seconds(advice, i), tokens);
    }
    assert_true(compared >= 4);
    check_order(advice);
    linnet_advice_unref(advice);
    linnet_device_unref(device);
    linnet_model_unref(model);
    linnet_config_free(config);
}

/* ---- what helps known models ---- */

static const struct expected {
    const char *name, *model, *config, *change, *state, *options;
    const char *verdict; /* in 79 GiB; NULL: not evaluated */
} expected_cases[] = {
#define LLAMA \
    "llama-3.1-8b-instruct", "{\"entry\": \"loss_packed\", \"training\": true, \"context\": 8192}"
    { "8B: a quarter of a pack fits", LLAMA, "packed micro-batch: 1/4", "saves",
      "--seq-len 2048 --grad-accumulation 4", "TIGHT" },
    { "8B: half of the blocks recomputed fits", LLAMA, "partial recompute: 16 of 32 blocks",
      "saves", "--checkpoint 'layers.?,layers.1[0-5]'", "TIGHT" },
    { "8B: full recompute fits", LLAMA, "full recompute", "saves", "--checkpoint block", "OK" },
    { "8B: 8-bit states are not enough", LLAMA, "8-bit optimizer states", "saves",
      "--optimizer adamw-8bit", "OOM" },
    { "8B: paged states fit", LLAMA, "paged 8-bit optimizer states", "saves",
      "--optimizer paged-adamw-8bit", "OK" },
    { "8B: LoRA fits", LLAMA, "LoRA: rank 16", "saves", "--lora 16", "OK" },
    { "8B: the loss is chunked", LLAMA, "chunked loss", "does not apply", "--loss chunked", NULL },
    { "8B: nothing to shard over", LLAMA, "ZeRO-1", "does not apply", "", NULL },
    { "8B: attention is fused as written", LLAMA, "fused attention", "does not apply", "", NULL },
#undef LLAMA
    { "eight devices: ZeRO-1 keeps bf16 states", "llama-3.1-8b-instruct",
      "{\"entry\": \"loss_packed\", \"training\": true, \"context\": 8192, \"devices\": 8}",
      "ZeRO-1", "saves", "--shards 8 --zero 1 --prefetch 1 --master-dtype bf16", "TIGHT" },
    { "replicas that were given become shards", "llama-3.1-8b-instruct",
      "{\"entry\": \"loss_packed\", \"training\": true, \"context\": 8192, \"replicas\": 4, "
      "\"master_dtype\": \"f32\"}",
      "ZeRO-3", "saves", "--shards 4 --zero 3 --prefetch 1 --replicas 1", "OOM" },
    { "the lesson's attention can be fused", "gpt-lesson",
      "{\"training\": true, \"batch\": 8, \"context\": 2048}", "fused attention", "saves",
      "--bind Fused=1", "OK" },
    { "what a foreach optimizer takes is not at the peak", "gpt-lesson",
      "{\"training\": true, \"batch\": 8, \"context\": 2048, \"optimizer\": \"adamw-foreach\"}",
      "fused optimizer", "saves nothing", "--optimizer adamw", "OOM" },
    { "a step of one sequence is not cut", "gpt-lesson",
      "{\"training\": true, \"batch\": 1, \"context\": 2048}", "micro-batch", "does not apply", "",
      NULL },
    { "tensor parallel without the generic", "tinyllama-1.1b-chat",
      "{\"entry\": \"loss_packed_split\", \"training\": true, \"context\": 4096, "
      "\"tensor_parallel\": 2}",
      "sequence parallel", "does not apply", "", NULL },
    { "Adafactor over shards is refused", "tinyllama-1.1b-chat",
      "{\"entry\": \"loss_packed\", \"training\": true, \"context\": 4096, \"optimizer\": "
      "\"adafactor\", \"devices\": 2}",
      "ZeRO-3", "refused", "--shards 2 --zero 3 --prefetch 1 --master-dtype bf16", NULL },
    { "caches in fp8", "llama-3.1-8b-instruct",
      "{\"entry\": \"decode_rows\", \"batch\": 96, \"context\": 8192}", "fp8 caches", "saves",
      "--kv-dtype fp8", "OK" },
    { "caches are in fp8", "llama-3.1-8b-instruct",
      "{\"entry\": \"decode_rows\", \"batch\": 96, \"context\": 8192, \"kv_dtype\": \"fp8\"}",
      "fp8 caches", "does not apply", "", NULL },
    { "fewer rows", "llama-3.1-8b-instruct",
      "{\"entry\": \"decode_rows\", \"batch\": 96, \"context\": 8192}", "batch: 1/2", "saves",
      "--batch 48", "OK" },
    { "prefill in chunks keeps the cache", "llama-3.1-8b-instruct",
      "{\"entry\": \"prefill\", \"batch\": 4, \"context\": 8192}", "chunked prefill: 4 chunks",
      "saves", "--seq-len 2048 --cache-len 8192", "OK" },
    { "an encoder has no caches", "bert-base-uncased", "{\"batch\": 8, \"context\": 512}",
      "fp8 caches", "does not apply", "", NULL },
    { "f32 weights in bf16", "bert-base-uncased", "{\"batch\": 8, \"context\": 512}",
      "bf16 in place of f32", "saves", "--dtype bf16", "OK" },
};

static int64_t find_change(const linnet_advice *advice, const char *name)
{
    for (uint64_t i = 0; i < linnet_advice_change_count(advice); i++)
        if (strcmp(linnet_advice_change_name(advice, i), name) == 0)
            return (int64_t)i;
    fail_msg("no change is called `%s`", name);
    return -1;
}

static void test_expected(void **state)
{
    const struct expected *row = *state;
    linnet_config *config = new_config(row->config);
    linnet_model *model = open_model(config, row->model);
    linnet_advice *advice = NULL;
    linnet_device *device = open_device(config, "h100-80gb");
    linnet_error err = { 0 };
    if (linnet_advice_new(model, config, device, 79 * GIB, &advice, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    const uint64_t at = (uint64_t)find_change(advice, row->change);
    assert_string_equal(linnet_advice_change_state(advice, at), row->state);
    assert_string_equal(linnet_advice_change_options(advice, at), row->options);
    assert_true(linnet_advice_change_reason(advice, at)[0] != '\0');
    if (row->verdict != NULL)
        assert_string_equal(linnet_advice_change_verdict(advice, at), row->verdict);
    else
        assert_null(linnet_advice_change_verdict(advice, at));
    linnet_advice_unref(advice);
    linnet_device_unref(device);
    linnet_model_unref(model);
    linnet_config_free(config);
}

/* ---- refused, stopped, printed ---- */

static void test_no_budget(void **state)
{
    linnet_config *config = new_config("{\"batch\": 1, \"context\": 8}");
    linnet_model *model = open_model(config, "bert-base-uncased");
    linnet_advice *advice = NULL;
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(linnet_advice_new(model, config, NULL, 0, &advice, &err),
                     LINNET_ERROR_ARGUMENT);
    assert_string_equal(err.message, "a budget of 0 bytes holds nothing");
    assert_null(advice);
    linnet_model_unref(model);
    linnet_config_free(config);
}

typedef struct watcher {
    uint64_t calls, done, total, stop_at; /* 0: never */
} watcher;

static int32_t watch(void *user, uint64_t done, uint64_t total)
{
    watcher *w = user;
    assert_true(done >= w->done && done <= total && (w->total == 0 || w->total == total));
    w->done = done;
    w->total = total;
    return ++w->calls == w->stop_at;
}

static void test_progress(void **state)
{
    linnet_config *config = new_config(
        "{\"training\": true, \"batch\": 2, \"context\": 128, \"tensor_parallel\": 2, "
        "\"step\": \"first\", \"master_dtype\": \"f32\", \"context_bytes\": 0, " TINY "}");
    linnet_model *model = open_model(config, "gpt-lesson");
    watcher all = { 0 }, some = { .stop_at = 5 };
    linnet_advice *advice = NULL;
    linnet_error err = { 0 };
    (void)state;
    linnet_config_set_progress(config, watch, &all, NULL);
    assert_int_equal(linnet_advice_new(model, config, NULL, 1 << 20, &advice, &err), LINNET_OK);
    assert_true(all.calls > 10 && all.done == all.total);
    linnet_advice_unref(advice);
    advice = NULL;
    linnet_config_set_progress(config, watch, &some, NULL);
    assert_int_equal(linnet_advice_new(model, config, NULL, 1 << 20, &advice, &err),
                     LINNET_ERROR_CANCELLED);
    assert_null(advice);
    assert_int_equal(some.calls, 5);
    linnet_model_unref(model);
    linnet_config_free(config);
}

static void test_out_of_range(void **state)
{
    linnet_config *config = new_config("{\"batch\": 1, \"context\": 8}");
    linnet_model *model = open_model(config, "bert-base-uncased");
    linnet_advice *advice = NULL;
    (void)state;
    assert_int_equal(linnet_advice_new(model, config, NULL, 64 * GIB, &advice, NULL), LINNET_OK);
    const uint64_t end = linnet_advice_change_count(advice);
    assert_string_equal(linnet_advice_verdict(advice), "OK");
    assert_int_equal(linnet_advice_budget_bytes(advice), 64 * GIB);
    assert_true(linnet_advice_seconds(advice) < 0);
    assert_null(linnet_advice_change_name(advice, end));
    assert_null(linnet_advice_change_options(advice, end));
    assert_null(linnet_advice_change_reason(advice, end));
    assert_null(linnet_advice_change_effect(advice, end));
    assert_null(linnet_advice_change_remark(advice, end));
    assert_null(linnet_advice_change_state(advice, end));
    assert_null(linnet_advice_change_why_not(advice, end));
    assert_null(linnet_advice_change_verdict(advice, end));
    assert_int_equal(linnet_advice_change_expected_peak(advice, end), -1);
    assert_int_equal(linnet_advice_change_saved_bytes(advice, end), 0);
    assert_true(linnet_advice_change_seconds(advice, end) < 0);
    assert_int_equal(linnet_advice_combination_count(advice), 0);
    assert_int_equal(linnet_advice_combination_size(advice, 0), 0);
    assert_int_equal(linnet_advice_combination_change(advice, 0, 0), -1);
    assert_null(linnet_advice_combination_options(advice, 0));
    assert_null(linnet_advice_combination_effect(advice, 0));
    assert_null(linnet_advice_combination_verdict(advice, 0));
    assert_int_equal(linnet_advice_combination_expected_peak(advice, 0), -1);
    assert_int_equal(linnet_advice_combination_saved_bytes(advice, 0), 0);
    assert_true(linnet_advice_combination_seconds(advice, 0) < 0);
    linnet_advice_unref(linnet_advice_ref(advice));
    linnet_advice_unref(advice);
    linnet_model_unref(model);
    linnet_config_free(config);
}

/* ---- allocations ---- */

static linnet_status whole_job(limited_host *host)
{
    static const char json[] =
        "{\"training\": true, \"batch\": 2, \"context\": 8, \"bind\": {\"Layers\": 1, \"H\": 8, "
        "\"Heads\": 1, \"Vocab\": 16}}";
    linnet_config *config = NULL;
    linnet_model *model = NULL;
    linnet_device *device = NULL;
    linnet_advice *advice = NULL;
    linnet_text *text = NULL;
    linnet_status status;
    if ((status = linnet_config_new_with_allocator(limited_alloc, host, &config, NULL)) !=
            LINNET_OK ||
        (status = linnet_config_set_json(config, json, strlen(json), NULL)) != LINNET_OK ||
        (status = linnet_device_open(config, "h100-80gb", &device, NULL)) != LINNET_OK ||
        (status = linnet_model_open(config, "gpt-lesson", NULL, &model, NULL)) != LINNET_OK ||
        (status = linnet_advice_new(model, config, device, 1 << 20, &advice, NULL)) != LINNET_OK ||
        (status = linnet_advice_to_text(advice, &text, NULL)) != LINNET_OK)
        goto out;
    linnet_text_free(text);
    text = NULL;
    status = linnet_advice_to_json(advice, &text, NULL);
out:
    linnet_text_free(text);
    linnet_advice_unref(advice);
    linnet_model_unref(model);
    linnet_device_unref(device);
    linnet_config_free(config);
    return status;
}

/* Every request of the first ones, and then the more of them the sparser: there are thousands, and
 * each run makes all before it again. */
static void test_allocations(void **state)
{
    (void)state;
    for (int stays_down = 0; stays_down < 2; stays_down++) {
        linnet_status status = LINNET_ERROR_NO_MEMORY;
        for (int64_t n = 0; status != LINNET_OK; n += 1 + n / 97) {
            limited_host host = { .left = n, .stays_down = stays_down != 0 };
            status = whole_job(&host);
            assert_true(status == LINNET_OK ? !host.refused
                                            : host.refused && status == LINNET_ERROR_NO_MEMORY);
            assert_int_equal(host.blocks, 0);
        }
    }
}

enum { MAX_TESTS = 96 };

#define ADD_ROWS(table, function)                                   \
    for (size_t i = 0; i < sizeof(table) / sizeof((table)[0]); i++) \
        tests[count++] = (struct CMUnitTest)                        \
        {                                                           \
            .name = (table)[i].name, .test_func = (function),       \
            .initial_state = (void *)(uintptr_t) & (table)[i]       \
        }

int main(void)
{
    struct CMUnitTest tests[MAX_TESTS];
    size_t count = 0;
    ADD_ROWS(honest_cases, test_honest);
    ADD_ROWS(expected_cases, test_expected);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_no_budget);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_progress);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_out_of_range);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_allocations);
    return _cmocka_run_group_tests("advise", tests, count, NULL, NULL);
}
