/* SPDX-License-Identifier: MIT */

/* Advice beside an exhaustive search of the combinations, bounds beside peaks, and the globs that
 * name the first blocks. */

#include "advise_job.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "plan/advise_space.h"

/* ---- beside an exhaustive search ---- */

static const struct exhaustive {
    const char *name, *model, *config, *device;
} exhaustive_cases[] = {
    { "everything that one model can choose, by time", "gpt-lesson",
      "{\"training\": true, \"batch\": 2, \"context\": 128, \"devices\": 2, \"loss\": "
      "\"logits-f32\", \"optimizer\": \"adamw-foreach\", \"context_bytes\": 0, " TINY "}",
      "h100-80gb" },
    { "the same by usual cost", "gpt-lesson",
      "{\"training\": true, \"batch\": 2, \"context\": 128, \"devices\": 2, \"loss\": "
      "\"logits-f32\", \"optimizer\": \"adamw-foreach\", \"context_bytes\": 0, " TINY "}",
      NULL },
    { "sequence parallel, the step that makes the states", "gpt-lesson",
      "{\"training\": true, \"batch\": 2, \"context\": 128, \"tensor_parallel\": 2, \"step\": "
      "\"first\", \"master_dtype\": \"f32\", \"context_bytes\": 0, " TINY "}",
      "h100-80gb" },
    { "packed sequences", "tinyllama-1.1b-chat",
      "{\"entry\": \"loss_packed\", \"training\": true, \"context\": 256, \"context_bytes\": 0, "
      "\"bind\": {\"Layers\": 4, \"H\": 64, \"Heads\": 2, \"KvHeads\": 2, \"Inner\": 128, "
      "\"Vocab\": 256}}",
      "h100-80gb" },
    { "a pipeline", "tinyllama-1.1b-chat",
      "{\"entry\": \"loss_packed\", \"training\": true, \"context\": 256, \"context_bytes\": 0, "
      "\"pipeline_parallel\": 2, \"microbatches\": 2, \"bind\": {\"Layers\": 4, \"H\": 64, "
      "\"Heads\": 2, \"KvHeads\": 2, \"Inner\": 128, \"Vocab\": 256}}",
      "h100-80gb" },
    { "caches over devices", "tinyllama-1.1b-chat",
      "{\"entry\": \"prefill\", \"batch\": 4, \"context\": 128, \"devices\": 4, \"context_bytes\": "
      "0, \"kv_block_size\": 64, \"bind\": {\"Layers\": 2, \"H\": 64, \"Heads\": 4, \"KvHeads\": "
      "4, \"Inner\": 128, \"Vocab\": 256}}",
      "h100-80gb" },
};

typedef struct whole_space {
    lin_arena arena, scratch;
    lin_training_settings training;
    lin_advice_settings settings;
    advice_space space;
} whole_space;

static whole_space *open_space(const linnet_config *config, const linnet_model *model,
                               const linnet_device *device)
{
    static jmp_buf never;
    whole_space *w = calloc(1, sizeof *w);
    advice_space *s = &w->space;
    assert_non_null(w);
    lin_arena_init(&w->arena, &lin_default_allocator);
    lin_arena_init(&w->scratch, &lin_default_allocator);
    if (setjmp(never) != 0)
        fail_msg("out of memory");
    w->arena.on_failure = w->scratch.on_failure = &never;
    w->settings = (lin_advice_settings){
        .source = model->source,
        .trace = lin_config_trace(config),
        .memory = lin_config_memory(config),
        .training = config->training ? &w->training : NULL,
        .replicas_given = config->has_replicas,
        .cache_follows = config->role_value[LIN_ROLE_CACHE] == 0,
        .profile = device != NULL ? device->profile : NULL,
        .budget_bytes = INT64_MAX,
    };
    assert_int_equal(lin_config_training(config, &w->training, NULL), LINNET_OK);
    assert_int_equal(lin_config_parallel(config, &w->settings.memory.parallel, NULL), LINNET_OK);
    *s = (advice_space){ .settings = &w->settings,
                         .allocator = &lin_default_allocator,
                         .arena = &w->arena,
                         .scratch = &w->scratch,
                         .is_timed = device != NULL,
                         .base_holds = true };
    assert_int_equal(lin_advise_find_facts(s, NULL), LINNET_OK);
    lin_advise_list_items(s);
    return w;
}

static void close_space(whole_space *w)
{
    lin_arena_free(&w->arena);
    lin_arena_free(&w->scratch);
    free(w);
}

static void evaluate_all(advice_space *s)
{
    for (uint64_t i = 0; i < s->size; i++) {
        assert_int_equal(lin_advise_time(s, i, NULL), LINNET_OK);
        assert_int_equal(lin_advise_peak(s, i, NULL), LINNET_OK);
        assert_true(s->peaks[i] != NOT_YET);
    }
}

static void check_bounds(const advice_space *s)
{
    for (uint64_t i = 0; i < s->size; i++) {
        const advice_choice choice = lin_advise_choice(s, i);
        assert_int_equal(lin_advise_index(s, &choice), i);
        if (s->peaks[i] >= 0 && lin_advise_bound(s, &choice) > s->peaks[i])
            fail_msg("%s: the bound %lld is above the peak %lld",
                     lin_advise_vary(s, &choice).options, (long long)lin_advise_bound(s, &choice),
                     (long long)s->peaks[i]);
    }
}

/* Whether `a` is the cheaper one, said anew: by time, else by the costliest members. */
static bool is_cheaper(const advice_space *s, uint64_t a, uint64_t b)
{
    const advice_choice one = lin_advise_choice(s, a), other = lin_advise_choice(s, b);
    const double x = s->is_timed ? s->seconds[a] : -1, y = s->is_timed ? s->seconds[b] : -1;
    if (x >= 0 && y >= 0 && x != y)
        return x < y;
    if ((x >= 0) != (y >= 0))
        return x >= 0;
    return lin_advise_members(s, &one) < lin_advise_members(s, &other);
}

/* The cheapest of those with the effects whose peak is within the budget; 0: none. */
static uint64_t best_of(const advice_space *s, lin_effects effects, int64_t budget)
{
    uint64_t best = 0;
    for (uint64_t i = 1; i < s->size; i++) {
        const advice_choice choice = lin_advise_choice(s, i);
        const lin_effects own = lin_advise_effects(s, &choice);
        const bool is_asked =
            effects == LIN_EFFECT_TASK ? (own & LIN_EFFECT_TASK) != 0 : own == effects;
        if (is_asked && s->peaks[i] >= 0 && s->peaks[i] <= budget &&
            (best == 0 || is_cheaper(s, i, best)))
            best = i;
    }
    return best;
}

static uint32_t list_best(const advice_space *s, int64_t budget, uint64_t *out)
{
    const uint64_t same = best_of(s, 0, budget);
    uint32_t count = 0;
    if (same != 0)
        out[count++] = same;
    for (lin_effects effects = LIN_EFFECT_LENGTHS; effects <= LIN_EFFECT_NUMERICS; effects++) {
        const uint64_t other = best_of(s, effects, budget);
        if (other != 0 && (same == 0 || (s->is_timed && s->seconds[other] >= 0 &&
                                         s->seconds[other] < s->seconds[same])))
            out[count++] = other;
    }
    if (count == 0 && (out[0] = best_of(s, 3, budget)) != 0)
        count = 1;
    if (count == 0 && (out[0] = best_of(s, LIN_EFFECT_TASK, budget)) != 0)
        count = 1;
    return count;
}

static int64_t smallest_of(const advice_space *s)
{
    int64_t smallest = INT64_MAX;
    for (uint64_t i = 0; i < s->size; i++)
        if (s->peaks[i] >= 0 && s->peaks[i] < smallest)
            smallest = s->peaks[i];
    return smallest;
}

static void check_advice(const advice_space *s, const linnet_advice *advice, int64_t budget)
{
    uint64_t best[4] = { 0 };
    const uint32_t count = s->peaks[0] <= budget ? 0 : list_best(s, budget, best);
    assert_int_equal(linnet_advice_can_fit(advice), s->peaks[0] <= budget || count > 0);
    assert_int_equal(linnet_advice_combination_count(advice), count);
    for (uint32_t i = 0; i < count; i++) {
        const advice_choice choice = lin_advise_choice(s, best[i]);
        const advice_variant v = lin_advise_vary(s, &choice);
        assert_string_equal(linnet_advice_combination_options(advice, i), v.options);
        assert_int_equal(linnet_advice_combination_expected_peak(advice, i), s->peaks[best[i]]);
    }
    if (s->peaks[0] > budget && count == 0)
        assert_int_equal(linnet_advice_missing_bytes(advice), smallest_of(s) - budget);
    else
        assert_int_equal(linnet_advice_missing_bytes(advice), 0);
}

static void test_exhaustive(void **state)
{
    const struct exhaustive *row = *state;
    linnet_config *config = new_config(row->config);
    linnet_model *model = open_model(config, row->model);
    linnet_device *device = open_device(config, row->device);
    whole_space *w = open_space(config, model, device);
    evaluate_all(&w->space);
    check_bounds(&w->space);
    const int64_t smallest = smallest_of(&w->space), largest = w->space.peaks[0];
    assert_true(smallest < largest && w->space.size > 20);
    for (int part = -1; part <= 12; part++) {
        const int64_t budget = smallest + (largest - smallest) / 12 * part;
        linnet_advice *advice = NULL;
        linnet_error err = { 0 };
        if (linnet_advice_new(model, config, device, budget, &advice, &err) != LINNET_OK)
            fail_msg("%s", err.message);
        check_advice(&w->space, advice, budget);
        linnet_advice_unref(advice);
    }
    close_space(w);
    linnet_device_unref(device);
    linnet_model_unref(model);
    linnet_config_free(config);
}

/* ---- globs ---- */

static const struct globs {
    const char *name;
    int64_t count;
    const char *globs;
} globs_cases[] = {
    { "one block", 1, "x.0" },
    { "eight blocks", 8, "x.[0-7]" },
    { "ten blocks", 10, "x.?" },
    { "eleven blocks", 11, "x.?,x.10" },
    { "sixteen blocks", 16, "x.?,x.1[0-5]" },
    { "thirty blocks", 30, "x.?,x.[1-2]?" },
    { "thirty-one blocks", 31, "x.?,x.[1-2]?,x.30" },
    { "a hundred blocks", 100, "x.?,x.[1-9]?" },
    { "a hundred and twenty-six blocks", 126, "x.?,x.[1-9]?,x.1[0-1]?,x.12[0-5]" },
};

static bool any_matches(const char *globs, const char *path)
{
    char text[256], *rest = NULL;
    snprintf(text, sizeof text, "%s", globs);
    for (char *word = strtok_r(text, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest))
        if (lin_pattern_matches(word, path))
            return true;
    return false;
}

static void test_globs(void **state)
{
    const struct globs *row = *state;
    char globs[256], path[32];
    lin_advise_first_elements("x", row->count, globs, sizeof globs);
    assert_string_equal(globs, row->globs);
    for (int64_t i = 0; i < 200; i++) {
        snprintf(path, sizeof path, "x.%lld", (long long)i);
        assert_int_equal(any_matches(globs, path), i < row->count);
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
    ADD_ROWS(exhaustive_cases, test_exhaustive);
    ADD_ROWS(globs_cases, test_globs);
    return _cmocka_run_group_tests("advise_exhaustive", tests, count, NULL, NULL);
}
