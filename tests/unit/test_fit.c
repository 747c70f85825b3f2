/* SPDX-License-Identifier: MIT */

/* The largest size that fits: published numbers, every size tried one by one beside the search,
 * what stops it, what is refused, and every allocation failing once. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/plan.h"

#include <linnet/linnet.h>
#include <stdlib.h>
#include <string.h>

/* A cell with 64 batch x cache bytes of state; CLAUSES stands where the block's clauses go. */
#define CELL(clauses)                                                                              \
    "module t.cell\n"                                                                              \
    "pub block Cell<H: Dim, Batch: Dim, MaxSeq: Dim>" clauses " {\n"                               \
    "    state keys: Tensor[Batch, MaxSeq, H; bf16]\n"                                             \
    "    pub entry forward<S: Dim>(x: Tensor[Batch, S, H; bf16]) -> Tensor[Batch, S, H; bf16] {\n" \
    "        return tanh(x)\n"                                                                     \
    "    }\n"                                                                                      \
    "    pub entry short<S: Dim>(x: Tensor[Batch, S, H; bf16]) -> Tensor[Batch, S, H; bf16]\n"     \
    "        where S <= MaxSeq {\n"                                                                \
    "        return tanh(x)\n"                                                                     \
    "    }\n"                                                                                      \
    "}\n"

static linnet_config *new_config(const char *json)
{
    linnet_config *config = NULL;
    linnet_error err = { 0 };
    assert_int_equal(linnet_config_new(&config, NULL), LINNET_OK);
    if (linnet_config_set_json(config, json, strlen(json), &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return config;
}

static linnet_model *open_model(const linnet_config *config, const char *program, const char *name)
{
    linnet_model *model = NULL;
    linnet_error err = { 0 };
    const linnet_status status = program != NULL
                                     ? linnet_model_parse(config, program, strlen(program),
                                                          "cell.linnet", NULL, &model, &err)
                                     : linnet_model_open(config, name, NULL, &model, &err);
    if (status != LINNET_OK)
        fail_msg("%s", err.message);
    return model;
}

/* ---- published ---- */

static const struct published {
    const char *name, *config;
    int64_t headroom, peak;
    const char *text;
} published_cases[] = {
    { "Llama 3.1 8B decodes 62 rows of 8192 positions in 78 GiB",
      "{\"entry\": \"decode_rows\", \"context\": 8192}", 340619792, 83411242480,
      "Maximum batch size: 62\n\nEstimated peak memory: 77.68 GiB\n"
      "Headroom: 324.84 MiB of a 78.00 GiB budget\n\nWeights " },
    { "with the runtime items of the published output",
      "{\"entry\": \"decode_rows\", \"context\": 8192, \"context_bytes\": 459276288}", 532509200,
      83219353072,
      "Maximum batch size: 62\n\nEstimated peak memory: 77.50 GiB\n"
      "Headroom: 507.84 MiB of a 78.00 GiB budget\n\nWeights " },
};

static void test_published(void **state)
{
    const struct published *row = *state;
    linnet_config *config = new_config(row->config);
    linnet_model *model = open_model(config, NULL, "llama-3.1-8b-instruct");
    linnet_fit *fit = NULL;
    linnet_text *text = NULL;
    int64_t budget;
    assert_int_equal(linnet_fit_budget(80LL << 30, 2LL << 30, 0, &budget, NULL), LINNET_OK);
    assert_int_equal(linnet_fit_new(model, config, "batch", budget, &fit, NULL), LINNET_OK);
    assert_int_equal(linnet_fit_value(fit), 62);
    assert_int_equal(linnet_fit_budget_bytes(fit), 78LL << 30);
    assert_int_equal(linnet_fit_headroom(fit), row->headroom);
    assert_string_equal(linnet_fit_limited_by(fit), "memory");
    assert_int_equal(linnet_analysis_expected_peak(linnet_fit_analysis(fit)), row->peak);
    assert_int_equal(linnet_fit_to_text(fit, 0, &text, NULL), LINNET_OK);
    assert_memory_equal(linnet_text_data(text), row->text, strlen(row->text));
    linnet_text_free(text);
    linnet_fit_unref(fit);
    linnet_model_unref(model);
    linnet_config_free(config);
}

/* ---- beside every size one by one ---- */

static const struct linear {
    const char *name, *model, *target;
    const char *config; /* without the size that is searched */
    const char *given;  /* the same with it, for a planner */
    int64_t first, last, step;
} linear_cases[] = {
    { "batches of GPT-2", "gpt2", "batch", "{\"context\": 64}", "{\"context\": 64, \"batch\": 1}",
      1, 150, 1 },
    { "contexts of GPT-2", "gpt2", "context", "{\"batch\": 2}", "{\"batch\": 2, \"context\": 1}", 1,
      400, 1 },
    { "caches of GPT-2", "gpt2", "kv-cache", "{\"batch\": 2, \"context\": 8}",
      "{\"batch\": 2, \"context\": 8, \"cache\": 1}", 1, 500, 1 },
    { "packed contexts of a training step, checkpointed", "tinyllama-1.1b-chat", "context",
      "{\"entry\": \"loss_packed\", \"training\": true, \"checkpoint\": \"block\"}",
      "{\"entry\": \"loss_packed\", \"training\": true, \"checkpoint\": \"block\", \"context\": 1}",
      1, 200, 1 },
    { "contexts over four micro-batches of two stages", "tinyllama-1.1b-chat", "context",
      "{\"entry\": \"loss_packed\", \"training\": true, \"pipeline_parallel\": 2, "
      "\"microbatches\": 4}",
      "{\"entry\": \"loss_packed\", \"training\": true, \"pipeline_parallel\": 2, "
      "\"microbatches\": 4, \"context\": 4}",
      4, 200, 4 },
    { "contexts over three runs of positions", "tinyllama-1.1b-chat", "context",
      "{\"entry\": \"loss_packed\", \"training\": true, \"context_parallel\": 3}",
      "{\"entry\": \"loss_packed\", \"training\": true, \"context_parallel\": 3, \"context\": 3}",
      3, 150, 3 },
};

static int64_t peak_at(linnet_planner *planner, const char *target, int64_t size)
{
    int64_t peak = -1;
    linnet_error err = { 0 };
    const int64_t batch = strcmp(target, "batch") == 0 ? size : 0;
    const int64_t context = strcmp(target, "context") == 0 ? size : 0;
    const int64_t cache = strcmp(target, "kv-cache") == 0 ? size : 0;
    if (linnet_planner_peaks(planner, batch, context, cache, NULL, &peak, NULL, &err) != LINNET_OK)
        fail_msg("at %lld: %s", (long long)size, err.message);
    return peak;
}

static void test_linear(void **state)
{
    const struct linear *row = *state;
    linnet_config *config = new_config(row->config), *given = new_config(row->given);
    linnet_model *model = open_model(config, NULL, row->model);
    linnet_planner *planner = NULL;
    assert_int_equal(linnet_planner_new(model, given, &planner, NULL), LINNET_OK);
    int64_t before = 0;
    for (int64_t size = row->first; size <= row->last; size += row->step) {
        const int64_t peak = peak_at(planner, row->target, size);
        if (peak < before)
            fail_msg("%lld needs less than the size before", (long long)size);
        before = peak;
    }
    /* Budgets exactly at and one byte below a size's peak. */
    for (int64_t size = row->first + row->step; size <= row->last; size += 13 * row->step) {
        for (int less = 0; less < 2; less++) {
            linnet_fit *fit = NULL;
            const int64_t budget = peak_at(planner, row->target, size) - less;
            int64_t best = row->first;
            while (peak_at(planner, row->target, best + row->step) <= budget)
                best += row->step;
            assert_int_equal(linnet_planner_fit(planner, row->target, budget, &fit, NULL),
                             LINNET_OK);
            assert_int_equal(linnet_fit_value(fit), best);
            linnet_fit_unref(fit);
        }
    }
    linnet_fit *fit = NULL;
    assert_int_equal(linnet_fit_new(model, config, row->target, before, &fit, NULL), LINNET_OK);
    assert_true(linnet_fit_value(fit) >= row->last - row->step);
    assert_int_equal(linnet_fit_headroom(fit),
                     before - linnet_analysis_expected_peak(linnet_fit_analysis(fit)));
    linnet_fit_unref(fit);
    linnet_planner_free(planner);
    linnet_model_unref(model);
    linnet_config_free(given);
    linnet_config_free(config);
}

/* ---- what stops it ---- */

#define GENERIC "\"backend\": \"generic\", \"bind\": {\"H\": 32}"

static const struct stop {
    const char *name, *program, *config, *target;
    int64_t budget, value;
    const char *limited_by, *text;
} stop_cases[] = {
    { "memory", CELL(""), "{" GENERIC ", \"entry\": \"forward\", \"context\": 1, \"cache\": 10}",
      "batch", 100 * (640 + 128), 100, "memory", "Headroom: 0 B of a 75.00 KiB budget\n\nWeights" },
    { "the limit of the search", CELL(""),
      "{" GENERIC ", \"entry\": \"forward\", \"context\": 1, \"cache\": 10}", "batch", INT64_MAX,
      1 << 24, "search", "\nStopped at the search limit, not by memory.\n\nWeights" },
    { "the limit between doublings", CELL(" where Batch % 3 == 0"),
      "{" GENERIC ", \"entry\": \"forward\", \"context\": 1, \"cache\": 10}", "batch", INT64_MAX,
      16777215, "search", "Maximum batch size: 16777215\n" },
    { "a clause from above", CELL(""),
      "{" GENERIC ", \"entry\": \"short\", \"batch\": 1, \"cache\": 1000}", "context", INT64_MAX,
      1000, "model",
      "Maximum context length: 1000\n\nEstimated peak memory: 187.50 KiB\nHeadroom: " },
    { "a clause from below", CELL(""),
      "{" GENERIC ", \"entry\": \"short\", \"batch\": 1, \"context\": 5000}", "kv-cache",
      2 * 64 * 5000 + 64 * 6000, 6000, "memory", "Maximum cache length: 6000\n" },
    { "a clause of multiples", CELL(" where Batch % 7 == 0"),
      "{" GENERIC ", \"entry\": \"forward\", \"context\": 1, \"cache\": 10}", "batch",
      100 * (640 + 128), 98, "memory", "Maximum batch size: 98\n" },
    { "a clause that nothing keeps", CELL(" where H == 7"),
      "{" GENERIC ", \"entry\": \"forward\", \"context\": 1, \"cache\": 10}", "batch", 1 << 20, 0,
      "model", "No batch size fits: each breaks the model's `where` clauses.\n" },
    { "too little for one", CELL(""),
      "{" GENERIC ", \"entry\": \"forward\", \"batch\": 4, \"cache\": 10}", "context", 1000, 0,
      "memory", "No context length fits: even 1 needs more than 1000 B.\n\nWeights" },
};

static void test_stop(void **state)
{
    const struct stop *row = *state;
    linnet_config *config = new_config(row->config);
    linnet_model *model = open_model(config, row->program, NULL);
    linnet_fit *fit = NULL;
    linnet_text *text = NULL;
    linnet_error err = { 0 };
    if (linnet_fit_new(model, config, row->target, row->budget, &fit, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    assert_int_equal(linnet_fit_value(fit), row->value);
    assert_string_equal(linnet_fit_limited_by(fit), row->limited_by);
    assert_int_equal(linnet_fit_to_text(fit, 0, &text, NULL), LINNET_OK);
    if (strstr(linnet_text_data(text), row->text) == NULL)
        fail_msg("%s", linnet_text_data(text));
    linnet_text_free(text);
    assert_int_equal(linnet_fit_to_json(fit, 0, &text, NULL), LINNET_OK);
    assert_int_equal(strstr(linnet_text_data(text), "\"result\": null") != NULL, row->value == 0);
    linnet_text_free(text);
    linnet_fit_unref(linnet_fit_ref(fit));
    linnet_fit_unref(fit);
    linnet_model_unref(model);
    linnet_config_free(config);
}

/* ---- refused ---- */

static const struct refused {
    const char *name, *config, *target;
    int64_t budget;
    linnet_status status;
    const char *message;
} refused_cases[] = {
    { "an unknown target", "{" GENERIC ", \"entry\": \"forward\", \"context\": 1}", "speed", 1000,
      LINNET_ERROR_NOT_FOUND, "a search is for `batch`, `context` or `kv-cache`, not `speed`" },
    { "a size that is given too", "{" GENERIC ", \"entry\": \"forward\", \"batch\": 3}", "batch",
      1000, LINNET_ERROR_ARGUMENT,
      "the batch is given as 3, and a search for the largest batch needs it free" },
    { "a size that is bound too",
      "{\"bind\": {\"H\": 32, \"Batch\": 1}, \"entry\": \"forward\", \"context\": 1}", "batch",
      1000, LINNET_ERROR_ARGUMENT,
      "`Batch` is the batch, which is searched for: it cannot be bound" },
    { "no budget", "{" GENERIC ", \"entry\": \"forward\", \"context\": 1}", "batch", 0,
      LINNET_ERROR_ARGUMENT, "a budget of 0 bytes holds nothing" },
};

static void test_refused(void **state)
{
    const struct refused *row = *state;
    linnet_config *config = new_config(row->config);
    linnet_model *model = open_model(config, CELL(""), NULL);
    linnet_fit *fit = NULL;
    linnet_error err = { 0 };
    assert_int_equal(linnet_fit_new(model, config, row->target, row->budget, &fit, &err),
                     row->status);
    assert_string_equal(err.message, row->message);
    assert_null(fit);
    linnet_model_unref(model);
    linnet_config_free(config);
}

static void test_no_such_role(void **state)
{
    linnet_config *config = new_config("{\"batch\": 1, \"context\": 8}");
    linnet_model *model = open_model(config, NULL, "bert-base-uncased");
    linnet_fit *fit = NULL;
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(linnet_fit_new(model, config, "kv-cache", 1 << 30, &fit, &err),
                     LINNET_ERROR_ARGUMENT);
    assert_non_null(strstr(err.message, "entry `forward` has no cache to search for"));
    linnet_model_unref(model);
    linnet_config_free(config);
}

/* ---- budgets and verdicts ---- */

static const struct budget {
    const char *name;
    int64_t device, reserve, thousandths, budget; /* 0: refused */
} budget_cases[] = {
    { "the whole device", 1000, 0, 0, 1000 },
    { "bytes and a share", 1000, 100, 2500, 875 },
    { "a share is rounded down", 1001, 0, 10000, 901 },
    { "a share of the largest device", INT64_MAX, 0, 50000, INT64_MAX - INT64_MAX / 2 },
    { "all but a byte", 1000, 999, 0, 1 },
    { "all of it", 1000, 1000, 0, 0 },
    { "more than all", 1000, 1001, 0, 0 },
    { "100 percent", 1000, 0, 100000, 0 },
    { "200 percent", 1000, 0, 200000, 0 },
    { "together all of it", 1000, 500, 50000, 0 },
    { "a negative reserve", 1000, -1, 0, 0 },
    { "no device", 0, 0, 0, 0 },
};

static void test_budget(void **state)
{
    const struct budget *row = *state;
    int64_t budget = -1;
    const linnet_status status =
        linnet_fit_budget(row->device, row->reserve, row->thousandths, &budget, NULL);
    assert_int_equal(status, row->budget > 0 ? LINNET_OK : LINNET_ERROR_ARGUMENT);
    assert_int_equal(budget, row->budget > 0 ? row->budget : -1);
}

static void test_verdict(void **state)
{
    (void)state;
    assert_string_equal(lin_fit_verdict(949, 1000), "OK");
    assert_string_equal(lin_fit_verdict(950, 1000), "TIGHT");
    assert_string_equal(lin_fit_verdict(1000, 1000), "TIGHT");
    assert_string_equal(lin_fit_verdict(1001, 1000), "OOM");
    assert_string_equal(lin_fit_verdict(0, INT64_MAX), "OK");
}

/* ---- allocations ---- */

typedef struct failing {
    int64_t countdown; /* requests that still succeed */
    int forever, failed;
    int64_t live;
} failing;

static void *failing_alloc(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    failing *f = user;
    (void)old_size;
    if (new_size == 0) {
        f->live -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (f->countdown == 0 || (f->failed && f->forever)) {
        f->failed = 1;
        f->countdown = -1;
        return NULL;
    }
    if (f->countdown > 0)
        f->countdown--;
    f->live += ptr == NULL;
    return realloc(ptr, new_size);
}

static linnet_status whole_job(failing *f)
{
    static const char json[] = "{" GENERIC ", \"entry\": \"forward\", \"context\": 1}";
    static const char program[] = CELL("");
    linnet_config *config = NULL;
    linnet_model *model = NULL;
    linnet_fit *fit = NULL;
    linnet_text *text = NULL;
    linnet_status status;
    if ((status = linnet_config_new_with_allocator(failing_alloc, f, &config, NULL)) != LINNET_OK ||
        (status = linnet_config_set_json(config, json, strlen(json), NULL)) != LINNET_OK ||
        (status = linnet_model_parse(config, program, strlen(program), "c", NULL, &model, NULL)) !=
            LINNET_OK ||
        (status = linnet_fit_new(model, config, "batch", 1 << 20, &fit, NULL)) != LINNET_OK)
        goto out;
    status = linnet_fit_to_json(fit, 0, &text, NULL);
out:
    linnet_text_free(text);
    linnet_fit_unref(fit);
    linnet_model_unref(model);
    linnet_config_free(config);
    return status;
}

static void test_allocations(void **state)
{
    (void)state;
    for (int forever = 0; forever < 2; forever++) {
        linnet_status status = LINNET_ERROR_NO_MEMORY;
        for (int64_t n = 0; status != LINNET_OK; n++) {
            failing f = { .countdown = n, .forever = forever };
            status = whole_job(&f);
            assert_true(status == LINNET_OK || (f.failed && status == LINNET_ERROR_NO_MEMORY));
            assert_int_equal(f.live, 0);
        }
    }
}

enum { MAX_TESTS = 64 };

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
    ADD_ROWS(published_cases, test_published);
    ADD_ROWS(linear_cases, test_linear);
    ADD_ROWS(stop_cases, test_stop);
    ADD_ROWS(refused_cases, test_refused);
    ADD_ROWS(budget_cases, test_budget);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_no_such_role);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_verdict);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_allocations);
    return _cmocka_run_group_tests("fit", tests, count, NULL, NULL);
}
