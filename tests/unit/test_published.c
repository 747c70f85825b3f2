/* SPDX-License-Identifier: MIT */

/* The published inference figures (tracing.md 16), to the byte and without a bindings file, the
 * report of cli-report.md 2.1, and sizes of a prepared memory against fresh traces. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "report/report.h"

#define GIB ((int64_t)1 << 30)

/* A model and how it is run. */
typedef struct run {
    const char *model, *entry;
    int64_t batch, context, cache; /* 0: not given */
    int64_t processes;             /* 0: one; else also the `Shards` generic */
    int64_t kv_block_size;
    const char *kv_dtype;
    bool bindings;
} run;

static lin_source *open_source(const char *model)
{
    const lin_source_settings settings = { .allocator = lin_default_allocator,
                                           .limits = lin_lang_default_limits,
                                           .file_bytes = 16 << 20 };
    lin_source *source = NULL;
    linnet_error err = { 0 };
    if (lin_source_open(&settings, model, NULL, &source, &err) != LINNET_OK)
        fail_msg("%s: %s", model, err.message);
    return source;
}

static lin_memory *prepare(const lin_source *source, const run *r)
{
    const lin_setting shards = { .name = "Shards", .integer = r->processes };
    const lin_trace_settings trace = {
        .entry = r->entry,
        .role_given = { r->batch > 0, r->context > 0, r->cache > 0 },
        .role_value = { r->batch, r->context, r->cache },
        .binds = &shards,
        .bind_count = r->processes > 0 ? 1 : 0,
        .no_bindings = !r->bindings,
        .numerics = LIN_NUMERICS_FAST,
        .processes = r->processes > 0 ? r->processes : 1,
    };
    lin_memory_settings settings = { .context_bytes = -1,
                                     .kv_block_size = r->kv_block_size,
                                     .effort = lin_plan_default_effort };
    if (r->kv_dtype != NULL)
        settings.has_kv_dtype =
            lin_dtype_find(r->kv_dtype, strlen(r->kv_dtype), &settings.kv_dtype);

    lin_traced traced;
    lin_memory *memory = NULL;
    linnet_error err = { 0 };
    char why[256] = "";
    if (lin_trace(source, &trace, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("%s: %s", r->model, err.message);
    if (!lin_graph_check(traced.graph, why, sizeof(why)))
        fail_msg("%s: %s", r->model, why);
    if (lin_memory_new(source, &traced, &trace, &settings, &lin_default_allocator, &memory, &err) !=
        LINNET_OK)
        fail_msg("%s: %s", r->model, err.message);
    return memory;
}

static lin_answer *analyse(lin_memory *memory)
{
    static const int64_t as_configured[LIN_ROLE_COUNT];
    lin_answer *answer = NULL;
    linnet_error err = { 0 };
    if (lin_memory_analyse(memory, as_configured, &answer, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return answer;
}

static int64_t bytes_of(const lin_answer *answer, const char *component)
{
    for (uint32_t i = 0; i < answer->component_count; i++)
        if (strcmp(answer->components[i].name, component) == 0)
            return answer->components[i].bytes;
    return 0;
}

static const struct published {
    const char *name;
    run run;
    int64_t steps;
    const char *peak_at;
    int64_t allocator; /* graph and workspaces, the cuBLAS workspace included */
} rows[] = {
    { "Llama 3.1 8B forward, 1 x 8192",
      { "llama-3.1-8b-instruct", "forward", .batch = 1, .context = 8192 },
      1606,
      "step 1603: linear in `lm_head`",
      19336306688 },
    { "TinyLlama forward, 1 x 2048",
      { "tinyllama-1.1b-chat", "forward", .batch = 1, .context = 2048 },
      1018,
      "step 1015: linear in `lm_head`",
      2419257344 },
    { "TinyLlama forward, 8 x 2048",
      { "tinyllama-1.1b-chat", "forward", .batch = 8, .context = 2048 },
      1018,
      "step 1015: linear in `lm_head`",
      3718500352 },
    { "TinyLlama decode, 32 of 4096",
      { "tinyllama-1.1b-chat", "decode", .batch = 32, .cache = 4096 },
      1193,
      "step 6: cast in `layers.0.attention`",
      5189324928 },
    { "TinyLlama decode, its cache length from the sequence length",
      { "tinyllama-1.1b-chat", "decode", .batch = 32, .context = 4096 },
      1193,
      "step 6: cast in `layers.0.attention`",
      5189324928 },
    { "TinyLlama decode_rows, 32 of 4096",
      { "tinyllama-1.1b-chat", "decode_rows", .batch = 32, .cache = 4096 },
      1105,
      "step 6: cast in `layers.0.attention`",
      5189325056 },
    { "Llama 3.1 8B decode, 16 of 8192",
      { "llama-3.1-8b-instruct", "decode", .batch = 16, .cache = 8192 },
      1861,
      "step 10: cast in `layers.0.attention`",
      33284694080 },
    { "Llama 3.1 8B decode_rows, 16 of 8192",
      { "llama-3.1-8b-instruct", "decode_rows", .batch = 16, .cache = 8192 },
      1733,
      "step 10: cast in `layers.0.attention`",
      33284694144 },
    { "Qwen2.5 0.5B forward, 4 x 4096",
      { "qwen2.5-0.5b-instruct", "forward", .batch = 4, .context = 4096 },
      1110,
      "step 1107: linear in `lm_head`",
      6503225088 },
    { "GPT-2 forward in f32, 8 x 1024",
      { "gpt2", "forward", .batch = 8, .context = 1024 },
      318,
      "step 317: comprehension in the root",
      2807313408 },
    { "Llama 3.1 8B decode split in two, 16 of 8192",
      { "llama-3.1-8b-instruct", "decode", .batch = 16, .cache = 8192, .processes = 2 },
      1861,
      "step 10: cast in `layers.0.attention`",
      17190101056 },
    { "Llama 3.1 8B decode_rows split in two, 16 of 8192",
      { "llama-3.1-8b-instruct", "decode_rows", .batch = 16, .cache = 8192, .processes = 2 },
      1733,
      "step 10: cast in `layers.0.attention`",
      17190101120 },
    { "Llama 3.1 8B forward split in two, 1 x 8192",
      { "llama-3.1-8b-instruct", "forward", .batch = 1, .context = 8192, .processes = 2 },
      1606,
      "step 1604: all_gather in the root",
      14379687936 },
};

static void test_published(void **state)
{
    const struct published *row = *state;
    lin_source *source = open_source(row->run.model);
    lin_memory *memory = prepare(source, &row->run);
    lin_answer *answer = analyse(memory);
    assert_int_equal(answer->peaks.allocator, row->allocator);
    assert_int_equal(answer->steps, row->steps);
    assert_string_equal(answer->peak_at, row->peak_at);
    lin_answer_free(answer);
    lin_memory_free(memory);
    lin_source_free(source);
}

/* ---- Llama 3.1 8B, forward, in detail ---- */

static const char report[] =
    "Weights                  14.96 GiB  [exact]\n"
    "KV cache                  1.00 GiB  [exact]\n"
    "Peak activations          2.02 GiB  [exact]\n"
    "CUDA context            621.00 MiB  [estimated]\n"
    "CUDA libraries           74.00 MiB  [estimated]\n"
    "cuBLAS workspace         32.00 MiB  [estimated]\n"
    "------------------------------------\n"
    "Graph peak               17.98 GiB\n"
    "Expected peak            18.69 GiB  [estimated]\n"
    "\n"
    "Peak at step 1603: linear in `lm_head`.\n"
    "Transient storage: 60.89 GiB with a buffer per tensor, 2.02 GiB planned, 2.02 GiB live at "
    "most.\n"
    "\n"
    "Not included (unknown):\n"
    "  - Allocator fragmentation: the caching allocator's unused reserve depends on the allocation "
    "order\n";

static const run llama_forward = { "llama-3.1-8b-instruct", "forward", .batch = 1,
                                   .context = 8192 };

static void test_llama_figures(void **state)
{
    (void)state;
    lin_source *source = open_source(llama_forward.model);
    lin_memory *memory = prepare(source, &llama_forward);
    lin_answer *answer = analyse(memory);
    assert_int_equal(bytes_of(answer, "Weights"), 2 * INT64_C(8030261248));
    assert_int_equal(bytes_of(answer, "KV cache"), GIB);
    assert_int_equal(bytes_of(answer, "Peak activations"), 2168487936);
    assert_true(answer->has_plan);
    assert_int_equal(answer->plan.naive_bytes, 65385119744);
    assert_int_equal(answer->plan.planned_bytes, 2168487936);
    assert_int_equal(answer->plan.live_bytes, 2168487936);
    assert_string_equal(
        answer->activations_formula,
        "max(28676 * batch * context + context * context, 264708 * batch * context)");

    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_report_text(&text, answer, 0);
    assert_string_equal(lin_text_data(&text), report);
    lin_text_free(&text);
    lin_answer_free(answer);
    lin_memory_free(memory);
    lin_source_free(source);
}

/* decode_rows of 62 rows (tracing.md 13): the weights, caches and activations of the worked fit. */
static void test_llama_fit(void **state)
{
    (void)state;
    const run r = { "llama-3.1-8b-instruct", "decode_rows", .batch = 62, .context = 8192 };
    lin_source *source = open_source(r.model);
    lin_memory *memory = prepare(source, &r);
    lin_answer *answer = analyse(memory);
    assert_int_equal(bytes_of(answer, "Weights"), 16060522496);
    assert_int_equal(bytes_of(answer, "KV cache"), 62 * GIB);
    assert_int_equal(bytes_of(answer, "Peak activations"), 16412144);
    assert_int_equal(answer->peaks.expected, 83411242480);
    assert_string_equal(answer->peak_at, "step 1731: linear in `lm_head`");
    lin_answer_free(answer);
    lin_memory_free(memory);
    lin_source_free(source);
}

/* ---- caches of another layout ---- */

static const struct cache_row {
    const char *name;
    run run;
    int64_t cache_bytes;
} cache_rows[] = {
    { "an 8-bit cache is half",
      { "llama-3.1-8b-instruct", "decode", .batch = 16, .cache = 8192, .kv_dtype = "i8" },
      8 * GIB },
    { "pages that divide the cache change nothing",
      { "llama-3.1-8b-instruct", "decode", .batch = 16, .cache = 8192, .kv_block_size = 16 },
      16 * GIB },
    { "the last page is whole",
      /* 3 * 1000 tokens are 188 pages of 16, 64 caches of 8 heads of 128 */
      { "llama-3.1-8b-instruct", "decode", .batch = 3, .cache = 1000, .kv_block_size = 16 },
      INT64_C(188) * 16 * 64 * 8 * 128 * 2 },
};

static void test_cache(void **state)
{
    const struct cache_row *row = *state;
    lin_source *source = open_source(row->run.model);
    lin_memory *memory = prepare(source, &row->run);
    lin_answer *answer = analyse(memory);
    const int64_t declared = INT64_C(64) * 8 * 128 * 2 * row->run.batch * row->run.cache;
    assert_int_equal(bytes_of(answer, "KV cache"), row->cache_bytes);
    assert_int_equal(answer->peaks.graph,
                     bytes_of(answer, "Weights") + declared + bytes_of(answer, "Peak activations"));
    lin_answer_free(answer);
    lin_memory_free(memory);
    lin_source_free(source);
}

/* ---- another size of a prepared memory ---- */

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void compare_with_fresh(const lin_source *source, lin_memory *prepared, run r)
{
    static const int64_t as_configured[LIN_ROLE_COUNT];
    const int64_t request[LIN_ROLE_COUNT] = { r.batch, r.context, r.cache };
    lin_memory *fresh = prepare(source, &r);
    lin_peaks expected, found;
    assert_int_equal(lin_memory_peaks(fresh, as_configured, &expected, NULL), LINNET_OK);
    assert_int_equal(lin_memory_peaks(prepared, request, &found, NULL), LINNET_OK);
    assert_int_equal(found.graph, expected.graph);
    assert_int_equal(found.expected, expected.expected);
    assert_int_equal(found.allocator, expected.allocator);
    lin_memory_free(fresh);
}

static void test_another_size(void **state)
{
    (void)state;
    static const struct {
        run run;
        int rounds;
    } models[] = {
        { { "tinyllama-1.1b-chat", "forward", .batch = 1, .context = 8, .cache = 16 }, 100 },
        { { "gpt2", "forward", .batch = 1, .context = 8, .cache = 16 }, 60 },
        { { "tinyllama-1.1b-chat", "decode", .batch = 1, .cache = 16 }, 40 },
    };
    uint64_t random = 5;
    for (size_t m = 0; m < ARRAY_LEN(models); m++) {
        lin_source *source = open_source(models[m].run.model);
        lin_memory *prepared = prepare(source, &models[m].run);
        for (int round = 0; round < models[m].rounds; round++) {
            run r = models[m].run;
            r.batch = 1 + next_random(&random) % 300;
            r.context = r.context > 0 ? 1 + next_random(&random) % 1000 : 0;
            r.cache = 1024 + next_random(&random) % 10000;
            compare_with_fresh(source, prepared, r);
        }
        lin_memory_free(prepared);
        lin_source_free(source);
    }
}

int main(void)
{
    enum { PLAIN = 3 };
    struct CMUnitTest tests[PLAIN + ARRAY_LEN(rows) + ARRAY_LEN(cache_rows)] = {
        cmocka_unit_test(test_llama_figures),
        cmocka_unit_test(test_llama_fit),
        cmocka_unit_test(test_another_size),
    };
    size_t count = PLAIN;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        tests[count++] = (struct CMUnitTest){ .name = rows[i].name,
                                              .test_func = test_published,
                                              .initial_state = (void *)(uintptr_t)&rows[i] };
    for (size_t i = 0; i < ARRAY_LEN(cache_rows); i++)
        tests[count++] = (struct CMUnitTest){ .name = cache_rows[i].name,
                                              .test_func = test_cache,
                                              .initial_state = (void *)(uintptr_t)&cache_rows[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
