/* SPDX-License-Identifier: MIT */

/*
 * Every allocation of a whole job fails once: the n-th request fails, for n = 0, 1, 2 … until the
 * job succeeds, once with only that request failing and once with all after it. The only outcome
 * allowed is LINNET_ERROR_NO_MEMORY with nothing leaked. Memory inside jansson is not the hook's
 * (it belongs to the process).
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linnet/linnet.h>
#include <stdlib.h>
#include <string.h>

#include "limited_host.h"

static const char cell[] =
    "module t.cell\n"
    "use std.nn.linear::{Linear}\n"
    "use layers.gate::{gate}\n"
    "pub block Cell<H: Dim, Batch: Dim, MaxSeq: Dim> where MaxSeq > 0 {\n"
    "    sub proj: Linear<H, H>\n"
    "    state keys: Tensor[Batch, MaxSeq, H; bf16]\n"
    "    pub entry forward<B: Dim, S: Dim>(x: Tensor[B, S, H; bf16]) -> Tensor[B, S, H; bf16] {\n"
    "        return gate(proj.forward(x))\n"
    "    }\n"
    "}\n";
static const char gate[] = "module layers.gate\n"
                           "use std.nn.activations::{sigmoid}\n"
                           "pub fn gate<*S: Shape, T: Float>(x: Tensor[*S; T]) -> Tensor[*S; T] { "
                           "return x * sigmoid(x) }\n";

static int32_t import_gate(void *user, const char *module, linnet_text *into)
{
    (void)user;
    if (strcmp(module, "layers.gate") != 0)
        return 0;
    return linnet_text_set(into, gate, sizeof gate - 1, NULL) == LINNET_OK ? 1 : -1;
}

typedef linnet_status (*job_fn)(linnet_config *config, linnet_error *err);

static linnet_status use_planner(linnet_model *model, linnet_config *config, linnet_error *err)
{
    linnet_planner *planner = NULL;
    linnet_analysis *analysis = NULL;
    linnet_text *text = NULL, *json = NULL;
    int64_t peak;
    linnet_status status;
    if ((status = linnet_planner_new(model, config, &planner, err)) == LINNET_OK &&
        (status = linnet_planner_peaks(planner, 2, 0, 0, NULL, &peak, NULL, err)) == LINNET_OK &&
        (status = linnet_planner_analyse(planner, 2, 0, 0, &analysis, err)) == LINNET_OK &&
        (status = linnet_analysis_to_text(analysis, 5, &text, err)) == LINNET_OK)
        status = linnet_analysis_to_json(analysis, 5, &json, err);
    linnet_text_free(text);
    linnet_text_free(json);
    linnet_analysis_unref(analysis);
    linnet_planner_free(planner);
    return status;
}

static linnet_status parse_job(linnet_config *config, linnet_error *err)
{
    linnet_model *model = NULL;
    linnet_status status;
    linnet_config_set_source(config, import_gate, NULL, NULL);
    if ((status = linnet_config_bind(config, "H", "64", err)) != LINNET_OK)
        return status;
    status = linnet_model_parse(config, cell, sizeof cell - 1, "cell.linnet", NULL, &model, err);
    if (status == LINNET_OK)
        status = use_planner(model, config, err);
    linnet_model_unref(model);
    if (status == LINNET_ERROR_CANCELLED) /* the callback stopped for want of memory */
        status = err->code = LINNET_ERROR_NO_MEMORY;
    return status;
}

static linnet_status open_job(linnet_config *config, const char *name, linnet_error *err)
{
    linnet_model *model = NULL;
    linnet_status status = linnet_model_open(config, name, NULL, &model, err);
    if (status == LINNET_OK)
        status = use_planner(model, config, err);
    linnet_model_unref(model);
    return status;
}

static linnet_status bert_job(linnet_config *config, linnet_error *err)
{
    return open_job(config, "bert-base", err);
}

static linnet_status gpt2_job(linnet_config *config, linnet_error *err)
{
    return open_job(config, "gpt2", err);
}

static linnet_status qwen3_job(linnet_config *config, linnet_error *err)
{
    return open_job(config, "qwen3-4b", err);
}

static linnet_status json_job(linnet_config *config, linnet_error *err)
{
    static const char options[] = "{\"batch\": 4, \"bind\": {\"H\": 64, \"T\": \"f16\"}, "
                                  "\"optional\": [\"a.b\", \"c\"], \"entry\": \"e\"}";
    return linnet_config_set_json(config, options, sizeof options - 1, err);
}

static const struct job {
    const char *name;
    job_fn run;
    int64_t stride; /* looks at every stride-th request; under a sanitizer each costs much */
} jobs[] = {
    { "options from JSON", json_job, 1 },
    { "a program with an import, its planner, report and JSON", parse_job, 1 },
    { "a small model", bert_job, 7 },
    { "a model with a card's bindings and caches", gpt2_job, 151 },
    { "a large model", qwen3_job, 199 },
};

static linnet_status run_once(const struct job *job, limited_host *f, linnet_error *err)
{
    linnet_config *config = NULL;
    linnet_status status = linnet_config_new_with_allocator(limited_alloc, f, &config, err);
    if (status == LINNET_OK)
        status = linnet_config_set_batch(config, 1, err);
    if (status == LINNET_OK)
        status = linnet_config_set_context(config, 16, err);
    if (status == LINNET_OK)
        status = job->run(config, err);
    linnet_config_free(config);
    return status;
}

static void fail_each(const struct job *job, bool forever)
{
    for (int64_t n = 0;; n += job->stride) {
        limited_host f = { .left = n, .stays_down = forever };
        linnet_error err = { 0 };
        linnet_status status = run_once(job, &f, &err);
        if (f.blocks != 0)
            fail_msg("request %lld: %lld blocks leaked", (long long)n, (long long)f.blocks);
        if (!f.refused) {
            if (status != LINNET_OK)
                fail_msg("%s", err.message);
            return;
        }
        if (status != LINNET_ERROR_NO_MEMORY || err.code != LINNET_ERROR_NO_MEMORY)
            fail_msg("request %lld: status %d, error %d: %s", (long long)n, status, err.code,
                     err.message);
    }
}

static void test_once(void **state)
{
    fail_each(*state, 0);
}

static void test_from_then_on(void **state)
{
    fail_each(*state, 1);
}

int main(void)
{
    enum { JOBS = sizeof jobs / sizeof jobs[0] };
    struct CMUnitTest tests[2 * JOBS];
    for (int i = 0; i < JOBS; i++) {
        tests[2 * i] = (struct CMUnitTest){ .name = jobs[i].name,
                                            .test_func = test_once,
                                            .initial_state = (void *)(uintptr_t)&jobs[i] };
        tests[2 * i + 1] = tests[2 * i];
        tests[2 * i + 1].test_func = test_from_then_on;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
