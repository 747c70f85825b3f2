/* SPDX-License-Identifier: MIT */

/* The shipped sources against their description: every standard module and model checks without a
 * finding, a model without its bindings has neither ties nor biases, and the entries that publish
 * no figure have the steps their recipes add up to. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "source/source.h"
#include "trace/trace.h"
#include "zoo/zoo.h"

static const lin_source_settings *source_settings(lin_source_settings *out)
{
    *out = (lin_source_settings){ .allocator = lin_default_allocator };
    return out;
}

static lin_source *open_model(const char *name)
{
    lin_source_settings settings;
    lin_source *source = NULL;
    linnet_error err = { 0 };
    if (lin_source_open(source_settings(&settings), name, NULL, &source, &err) != LINNET_OK)
        fail_msg("%s: %s", name, err.message);
    return source;
}

/* ---- no findings ---- */

static void assert_nothing_found(const lin_diagnostics *diagnostics)
{
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_diagnostics_print(&text, diagnostics, false);
    if (text.length > 0)
        fail_msg("%s", lin_text_data(&text));
    lin_text_free(&text);
}

static void test_checks(void **state)
{
    const lin_zoo_file *file = *state;
    lin_source_settings settings;
    lin_diagnostics diagnostics;
    lin_source *source = NULL;
    linnet_error err = { 0 };
    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 100);
    linnet_status status = lin_source_parse(source_settings(&settings), file->text, file->length,
                                            file->path, &diagnostics, &source, &err);
    assert_nothing_found(&diagnostics);
    assert_int_equal(status, LINNET_OK);
    lin_source_free(source);
    lin_diagnostics_free(&diagnostics);
}

/* ---- parameters ---- */

/* What is left when the card's bindings are ignored: nothing tied, no optional bias. */
static const struct count_case {
    const char *name;
    int64_t parameters;
} count_cases[] = {
    { "llama-3.1-8b-instruct", 8030261248 },
    { "tinyllama-1.1b-chat", 1100048384 },
    { "smollm2-1.7b-instruct", 1711376384 + 49152 * 2048 }, /* a head of its own */
    { "mistral-7b-instruct-v0.3", 7248023552 },
    { "qwen2.5-0.5b-instruct", 630139776 },
    { "qwen3-4b", 4022468096 + 151936 * 2560 },
    { "qwen3-8b", 8190735360 },
    { "phi-3-mini-4k-instruct", 3821079552 },
    { "gpt2", 124439808 },
    { "bert-base-uncased", 109482240 - 12 * (5 * 768 + 3072) - 768 },
    { "roberta-base", 124645632 - 12 * (5 * 768 + 3072) - 768 },
    { "all-MiniLM-L6-v2", 22713216 - 6 * (5 * 384 + 1536) - 384 },
    { "vit-base-patch16-224", 86567656 - 12 * (5 * 768 + 3072) - 1000 },
};

static void test_parameters_unbound(void **state)
{
    const struct count_case *c = *state;
    lin_source *source = open_model(c->name);
    linnet_error err = { 0 };
    int64_t count = 0;
    assert_int_equal(lin_trace_count_parameters(source, true, &lin_default_allocator, &count, &err),
                     LINNET_OK);
    assert_int_equal(count, c->parameters);
    lin_source_free(source);
}

/* ---- steps ---- */

/* Every model at batch 2, 64 positions and a cache of 128; `generic`, when given, is 2. */
static const struct step_case {
    const char *sentence, *name, *entry, *generic;
    uint32_t steps;
} step_cases[] = {
    /* clang-format off */
    { "next_token slices where forward reshapes twice",  "tinyllama-1.1b-chat",  "next_token",        NULL,    22 * (39 + 7) + 5 },
    { "prefill gathers table rows, writes both caches",  "tinyllama-1.1b-chat",  "prefill",           NULL,    22 * (46 + 7) + 5 },
    { "prefill_slots is forward with two writes",        "tinyllama-1.1b-chat",  "prefill_slots",     "M",     22 * (41 + 7) + 5 },
    { "prefill_packed is packed with two writes",        "tinyllama-1.1b-chat",  "prefill_packed",    NULL,    22 * (43 + 7) + 6 },
    { "loss_packed_split passes through shared",         "tinyllama-1.1b-chat",  "loss_packed_split", NULL,    22 * (41 + 7) + 6 },
    { "log_probs_packed is loss_packed's other head",    "tinyllama-1.1b-chat",  "log_probs_packed",  NULL,    22 * (41 + 7) + 5 },
    { "hidden_packed stops before the head",             "tinyllama-1.1b-chat",  "hidden_packed",     NULL,    22 * (41 + 7) + 4 },
    { "generate unrolls decode and five steps around it", "tinyllama-1.1b-chat", "generate",          "Steps", 2 * (22 * (47 + 7) + 5 + 5) + 1 },
    { "qwen3 has two norms a layer more than llama",     "qwen3-8b",             "forward",           NULL,    36 * (41 + 7) + 6 },
    { "phi3 slices twice and thrice, gathers nothing",   "phi-3-mini-4k-instruct", "forward",         NULL,    32 * (39 + 7) + 5 },
    { "gpt2 decode",                                     "gpt2",                 "decode",            NULL,    12 * 30 + 6 },
    { "roberta has bert's steps",                        "roberta-base",         "forward",           NULL,    12 * 20 + 7 },
    { "minilm has six layers",                           "all-MiniLM-L6-v2",     "forward",           NULL,    6 * 20 + 7 },
    { "pool slices, projects and squashes",              "bert-base",            "pool",              NULL,    12 * 20 + 10 },
    { "vit cuts patches in eight steps",                 "vit-base",             "forward",           NULL,    12 * 20 + 11 },
    /* clang-format on */
};

static void test_steps(void **state)
{
    enum { BATCH = 2, POSITIONS = 64, CACHE = 128 };
    const struct step_case *c = *state;
    const lin_setting generic = { .name = c->generic, .integer = 2 };
    const lin_trace_settings settings = {
        .entry = c->entry,
        .role_given = { true, true, true },
        .role_value = { BATCH, POSITIONS, CACHE },
        .binds = &generic,
        .bind_count = c->generic != NULL,
        .numerics = LIN_NUMERICS_FAST,
        .processes = 1,
    };
    lin_source *source = open_model(c->name);
    lin_traced traced = { 0 };
    linnet_error err = { 0 };
    if (lin_trace(source, &settings, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    assert_int_equal(traced.graph->steps.count, c->steps);
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

enum { MAX_TESTS = 128 };

static void add(struct CMUnitTest *tests, size_t *count, const char *name, CMUnitTestFunction run,
                const void *row)
{
    assert_true(*count < MAX_TESTS);
    tests[(*count)++] = (struct CMUnitTest){ .name = name,
                                             .test_func = run,
                                             .initial_state = (void *)(uintptr_t)row };
}

int main(void)
{
    struct CMUnitTest tests[MAX_TESTS] = { 0 };
    size_t count = 0;
    for (uint32_t i = 0; i < lin_zoo_count(); i++) {
        const lin_zoo_file *file = lin_zoo_at(i);
        if (strstr(file->path, ".linnet") != NULL)
            add(tests, &count, file->path, test_checks, file);
    }
    for (size_t i = 0; i < ARRAY_LEN(count_cases); i++)
        add(tests, &count, count_cases[i].name, test_parameters_unbound, &count_cases[i]);
    for (size_t i = 0; i < ARRAY_LEN(step_cases); i++)
        add(tests, &count, step_cases[i].sentence, test_steps, &step_cases[i]);
    return _cmocka_run_group_tests("zoo sources", tests, count, NULL, NULL);
}
