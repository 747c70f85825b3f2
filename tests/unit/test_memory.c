/* SPDX-License-Identifier: MIT */

/* The answer for a graph small enough to add up by hand (small_graph.h). Real models:
 * test_published.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "small_graph.h"

enum { WEIGHTS = 128000 + 128 + 128000, CUBLAS = 32 << 20, RUNTIME = (621 + 74 + 32) << 20 };

static const lin_source small_source = { .name = "small" };

static const lin_memory_settings default_settings = { .context_bytes = -1 };

typedef struct host {
    uint64_t requests, fail_from, fail_to; /* requests [fail_from, fail_to) fail */
    int64_t live_blocks;
} host;

static void *host_alloc(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    host *h = user;
    (void)old_size;
    if (new_size == 0) {
        h->live_blocks -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    const uint64_t request = h->requests++;
    if (request >= h->fail_from && request < h->fail_to)
        return NULL;
    void *block = realloc(ptr, new_size);
    h->live_blocks += block != NULL && ptr == NULL;
    return block;
}

static lin_memory *prepare(const lin_memory_settings *settings, bool is_cache_given,
                           const int64_t values[LIN_ROLE_COUNT])
{
    const lin_trace_settings trace = { .role_given = { true, true, is_cache_given },
                                       .numerics = LIN_NUMERICS_FAST };
    lin_traced traced = small_traced(&lin_default_allocator, values);
    char why[200];
    assert_true(lin_graph_check(traced.graph, why, sizeof(why)));
    lin_memory *memory = NULL;
    linnet_error err;
    assert_int_equal(lin_memory_new(&small_source, &traced, &trace, settings,
                                    &lin_default_allocator, &memory, &err),
                     LINNET_OK);
    assert_null(traced.graph);
    return memory;
}

static const lin_component *find(const lin_answer *answer, const char *name)
{
    for (uint32_t i = 0; i < answer->component_count; i++)
        if (strcmp(answer->components[i].name, name) == 0)
            return &answer->components[i];
    return NULL;
}

/* ---- caches ---- */

static const struct cache_case {
    const char *name;
    lin_memory_settings settings;
    int64_t batch, cache;
    int64_t laid_out;
    lin_confidence confidence;
    const char *note, *formula;
} cache_cases[] = {
    { "a contiguous cache has its declared bytes",
      { .context_bytes = -1 },
      2,
      100,
      256 * 2 * 100,
      LIN_EXACT,
      "2 tensors, contiguous",
      "256 * batch * cache" },
    { "the declared dtype changes nothing",
      { .context_bytes = -1, .has_kv_dtype = true, .kv_dtype = LIN_DTYPE_BF16 },
      2,
      100,
      256 * 2 * 100,
      LIN_EXACT,
      "2 tensors, contiguous",
      "256 * batch * cache" },
    { "an 8-bit cache has half the bytes",
      { .context_bytes = -1, .has_kv_dtype = true, .kv_dtype = LIN_DTYPE_I8 },
      2,
      100,
      128 * 2 * 100,
      LIN_BACKEND_MODELED,
      "2 tensors, contiguous, stored as i8",
      "128 * batch * cache" },
    { "pages round the tokens of all sequences up together",
      { .context_bytes = -1, .kv_block_size = 16 },
      3,
      37, /* 111 tokens: 7 blocks of 16 */
      256 * 7 * 16,
      LIN_BACKEND_MODELED,
      "2 tensors, paged in blocks of 16",
      NULL },
    { "pages of another dtype",
      { .context_bytes = -1, .kv_block_size = 256, .has_kv_dtype = true, .kv_dtype = LIN_DTYPE_U8 },
      1,
      100,
      128 * 256,
      LIN_BACKEND_MODELED,
      "2 tensors, paged in blocks of 256, stored as u8",
      NULL },
};

static void test_cache(void **state)
{
    const struct cache_case *row = *state;
    const int64_t values[LIN_ROLE_COUNT] = { row->batch, 10, row->cache };
    lin_memory *memory = prepare(&row->settings, true, values);
    lin_answer *answer = NULL;
    const int64_t keep[LIN_ROLE_COUNT] = { 0, 0, 0 };
    assert_int_equal(lin_memory_analyse(memory, keep, &answer, NULL), LINNET_OK);

    const lin_component *cache = find(answer, "KV cache");
    assert_non_null(cache);
    assert_int_equal(cache->bytes, row->laid_out);
    assert_int_equal(cache->confidence, row->confidence);
    assert_string_equal(cache->note, row->note);
    if (row->formula != NULL)
        assert_string_equal(cache->formula, row->formula);

    const int64_t declared = 256 * row->batch * row->cache;
    const int64_t activations = 2132 * row->batch * 10;
    const int64_t workspace = 6000 * row->batch;
    assert_int_equal(answer->peaks.graph, WEIGHTS + declared + activations);
    assert_int_equal(answer->peaks.allocator,
                     WEIGHTS + row->laid_out + activations + workspace + CUBLAS);
    assert_int_equal(answer->peaks.expected,
                     WEIGHTS + row->laid_out + activations + workspace + RUNTIME);
    lin_answer_free(answer);
    lin_memory_free(memory);
}

/* ---- sizes ---- */

static const struct size_case {
    const char *name;
    bool is_cache_given;
    int64_t request[LIN_ROLE_COUNT];
    linnet_status status;
    int64_t batch, context, cache;
    bool holds;
} size_cases[] = {
    { "zeros keep the configured sizes", true, { 0, 0, 0 }, LINNET_OK, 2, 10, 100, true },
    { "another batch", true, { 7, 0, 0 }, LINNET_OK, 7, 10, 100, true },
    { "another context leaves a given cache alone",
      true,
      { 0, 50, 0 },
      LINNET_OK,
      2,
      50,
      100,
      true },
    { "a cache that was not given follows the context",
      false,
      { 0, 50, 0 },
      LINNET_OK,
      2,
      50,
      50,
      true },
    { "a request for the cache wins over that", false, { 0, 50, 80 }, LINNET_OK, 2, 50, 80, true },
    { "a context past the cache breaks the clause",
      true,
      { 0, 101, 0 },
      LINNET_OK,
      2,
      101,
      100,
      false },
    { "a negative size is refused", true, { -1, 0, 0 }, LINNET_ERROR_ARGUMENT, 0, 0, 0, false },
    { "a size past int64 is named",
      true,
      { INT64_MAX / 2, 0, 0 },
      LINNET_ERROR_OVERFLOW,
      0,
      0,
      0,
      false },
};

static int64_t expected_graph_peak(const struct size_case *row)
{
    return WEIGHTS + 256 * row->batch * row->cache + 2132 * row->batch * row->context;
}

static void test_size(void **state)
{
    const struct size_case *row = *state;
    const int64_t values[LIN_ROLE_COUNT] = { 2, 10, row->is_cache_given ? 100 : 10 };
    lin_memory *memory = prepare(&default_settings, row->is_cache_given, values);
    lin_peaks peaks = { -1, -1, -1 };
    linnet_error err;
    assert_int_equal(lin_memory_peaks(memory, row->request, &peaks, &err), row->status);
    if (row->status == LINNET_OK) {
        bool holds;
        assert_int_equal(peaks.graph, expected_graph_peak(row));
        assert_int_equal(lin_memory_holds(memory, row->request, &holds, &err), LINNET_OK);
        assert_int_equal(holds, row->holds);
    } else {
        assert_int_equal(peaks.graph, -1);
    }
    if (row->status == LINNET_ERROR_OVERFLOW)
        assert_string_equal(err.message, "`layers.0.keys` needs more than 2^63 - 1 bytes");
    lin_memory_free(memory);
}

static void test_fixed_role(void **state)
{
    (void)state;
    const int64_t values[LIN_ROLE_COUNT] = { 2, 10, 100 };
    const lin_trace_settings trace = { .role_given = { true, true, true } };
    lin_traced traced = small_traced(&lin_default_allocator, values);
    traced.graph->role_free[LIN_ROLE_BATCH] = false;
    traced.role_value[LIN_ROLE_BATCH] = -1;
    lin_memory *memory = NULL;
    assert_int_equal(lin_memory_new(&small_source, &traced, &trace, &default_settings,
                                    &lin_default_allocator, &memory, NULL),
                     LINNET_OK);
    lin_peaks peaks;
    linnet_error err;
    const int64_t request[LIN_ROLE_COUNT] = { 4, 0, 0 };
    assert_int_equal(lin_memory_peaks(memory, request, &peaks, &err), LINNET_ERROR_ARGUMENT);
    lin_memory_free(memory);
}

static void test_unset_role(void **state)
{
    (void)state;
    const int64_t values[LIN_ROLE_COUNT] = { 0, 10, 100 };
    lin_memory *memory = prepare(&default_settings, true, values);
    lin_peaks peaks;
    linnet_error err;
    const int64_t keep[LIN_ROLE_COUNT] = { 0, 0, 0 };
    assert_int_equal(lin_memory_peaks(memory, keep, &peaks, &err), LINNET_ERROR_ARGUMENT);
    assert_string_equal(err.message, "batch must be at least 1");
    lin_memory_free(memory);
}

/* ---- the whole answer ---- */

static void test_answer(void **state)
{
    (void)state;
    const int64_t values[LIN_ROLE_COUNT] = { 2, 10, 5 };
    lin_memory *memory = prepare(&default_settings, true, values);
    lin_answer *answer = NULL;
    const int64_t keep[LIN_ROLE_COUNT] = { 0, 0, 0 };
    assert_int_equal(lin_memory_analyse(memory, keep, &answer, NULL), LINNET_OK);
    lin_memory_free(memory); /* the answer owns all it shows */

    static const char *const names[] = { "Weights",          "KV cache",
                                         "Peak activations", "Backend workspace",
                                         "CUDA context",     "CUDA libraries",
                                         "cuBLAS workspace", "Allocator fragmentation" };
    assert_int_equal(answer->component_count, ARRAY_LEN(names));
    for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
        assert_string_equal(answer->components[i].name, names[i]);
    assert_string_equal(find(answer, "Weights")->note, "128064 parameters");
    assert_string_equal(find(answer, "Peak activations")->formula, "2132 * batch * context");
    assert_int_equal(find(answer, "Backend workspace")->bytes, 12000);
    assert_int_equal(find(answer, "Backend workspace")->confidence, LIN_ESTIMATED);

    assert_string_equal(answer->peak_at, "step 3: linear in `head`");
    assert_int_equal(answer->steps, 4);
    assert_int_equal(answer->confidence, LIN_ESTIMATED);
    assert_true(answer->has_plan);
    assert_int_equal(answer->plan.live_bytes, 42640);
    /* 80, 2560 twice, 40000, each rounded up to 512 */
    assert_int_equal(answer->plan.naive_bytes, 512 + 2560 + 2560 + 40448);
    assert_int_equal(answer->plan.planned_bytes, 512 + 2560 + 40448);

    assert_int_equal(answer->largest_count, 8);
    assert_string_equal(answer->largest[0].path, "table.weight");
    assert_string_equal(answer->largest[1].path, "head.weight");
    assert_string_equal(answer->largest[2].name, "linear");
    assert_string_equal(answer->largest[2].path, "head");
    assert_string_equal(answer->largest[2].formula, "2000 * batch * context");

    assert_int_equal(answer->unknown_count, 2);
    assert_string_equal(answer->unknown[0], "workspace of `torch.sort` (2 calls)");
    assert_string_equal(answer->unknown[1],
                        "Allocator fragmentation: the caching allocator's unused reserve depends "
                        "on the allocation order");
    assert_int_equal(answer->warning_count, 1);
    assert_string_equal(answer->warnings[0],
                        "these values break one of the model's `where` clauses: S <= MaxSeq");
    lin_answer_free(answer);
}

static void test_generic_backend(void **state)
{
    (void)state;
    const int64_t values[LIN_ROLE_COUNT] = { 2, 10, 100 };
    const lin_memory_settings settings = { .backend = LIN_BACKEND_GENERIC, .context_bytes = -1 };
    lin_memory *memory = prepare(&settings, true, values);
    lin_answer *answer = NULL;
    const int64_t keep[LIN_ROLE_COUNT] = { 0, 0, 0 };
    assert_int_equal(lin_memory_analyse(memory, keep, &answer, NULL), LINNET_OK);
    assert_int_equal(answer->plan.naive_bytes, 80 + 2560 + 2560 + 40000);
    const lin_component *last = &answer->components[answer->component_count - 1];
    assert_false(last->known);
    assert_int_equal(last->confidence, LIN_UNKNOWN);
    assert_null(find(answer, "Backend workspace"));
    assert_int_equal(answer->peaks.expected, answer->peaks.graph);
    assert_int_equal(answer->unknown_count, 1);
    lin_answer_free(answer);
    lin_memory_free(memory);
}

/* ---- memory ---- */

static void test_peaks_allocate_nothing(void **state)
{
    (void)state;
    host h = { 0, UINT64_MAX, UINT64_MAX, 0 };
    const lin_allocator allocator = { host_alloc, &h };
    const int64_t values[LIN_ROLE_COUNT] = { 2, 10, 100 };
    const lin_trace_settings trace = { .role_given = { true, true, true } };
    const lin_memory_settings settings = { .context_bytes = -1, .kv_block_size = 16 };
    lin_traced traced = small_traced(&allocator, values);
    lin_memory *memory = NULL;
    assert_int_equal(
        lin_memory_new(&small_source, &traced, &trace, &settings, &allocator, &memory, NULL),
        LINNET_OK);
    const uint64_t before = h.requests;
    for (int64_t batch = 1; batch < 100; batch++) {
        lin_peaks peaks;
        bool holds;
        const int64_t request[LIN_ROLE_COUNT] = { batch, 3 * batch, 200 };
        assert_int_equal(lin_memory_peaks(memory, request, &peaks, NULL), LINNET_OK);
        assert_int_equal(lin_memory_holds(memory, request, &holds, NULL), LINNET_OK);
    }
    assert_int_equal(h.requests, before);
    lin_memory_free(memory);
    assert_int_equal(h.live_blocks, 0);
}

/* One round with requests [from, to) refused, counted from when the graph is made. True when all
 * went well. */
static bool round_with_failures(uint64_t from, uint64_t to)
{
    host h = { 0, UINT64_MAX, UINT64_MAX, 0 };
    const lin_allocator allocator = { host_alloc, &h };
    const int64_t values[LIN_ROLE_COUNT] = { 2, 10, 100 };
    const lin_trace_settings trace = { .role_given = { true, true, true } };
    lin_traced traced = small_traced(&allocator, values);
    lin_memory *memory = NULL;
    lin_answer *answer = NULL;
    const int64_t keep[LIN_ROLE_COUNT] = { 0, 0, 0 };
    h.requests = 0;
    h.fail_from = from;
    h.fail_to = to;
    linnet_status status = lin_memory_new(&small_source, &traced, &trace, &default_settings,
                                          &allocator, &memory, NULL);
    if (status == LINNET_OK)
        status = lin_memory_analyse(memory, keep, &answer, NULL);
    assert_true(status == LINNET_OK || status == LINNET_ERROR_NO_MEMORY);
    if (status == LINNET_OK)
        assert_int_equal(answer->component_count, 8);
    lin_answer_free(answer);
    lin_memory_free(memory);
    assert_int_equal(h.live_blocks, 0);
    return status == LINNET_OK;
}

static void test_every_allocation_fails_once(void **state)
{
    (void)state;
    uint64_t n = 0;
    while (!round_with_failures(n, n + 1))
        n++;
    assert_true(n > 5);
    for (n = 0; !round_with_failures(n, UINT64_MAX); n++)
        ;
}

int main(void)
{
    enum { PLAIN = 6 };
    struct CMUnitTest tests[PLAIN + ARRAY_LEN(cache_cases) + ARRAY_LEN(size_cases)] = {
        cmocka_unit_test(test_fixed_role),
        cmocka_unit_test(test_unset_role),
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_generic_backend),
        cmocka_unit_test(test_peaks_allocate_nothing),
        cmocka_unit_test(test_every_allocation_fails_once),
    };
    size_t count = PLAIN;
    for (size_t i = 0; i < ARRAY_LEN(cache_cases); i++)
        tests[count++] = (struct CMUnitTest){ .name = cache_cases[i].name,
                                              .test_func = test_cache,
                                              .initial_state = (void *)(uintptr_t)&cache_cases[i] };
    for (size_t i = 0; i < ARRAY_LEN(size_cases); i++)
        tests[count++] = (struct CMUnitTest){ .name = size_cases[i].name,
                                              .test_func = test_size,
                                              .initial_state = (void *)(uintptr_t)&size_cases[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
