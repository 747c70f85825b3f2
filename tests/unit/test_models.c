/* SPDX-License-Identifier: MIT */

/* The shipped sources against their description: every standard module and model checks without a
 * finding, and has the parameters (models.md) and steps (models.md 1.6, tracing.md 16) it should.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "source/source.h"
#include "trace/trace.h"
#include "zoo/zoo.h"

static lin_source_settings source_settings(void)
{
    return (lin_source_settings){ .allocator = lin_default_allocator };
}

static lin_source *open_model(const char *name)
{
    const lin_source_settings with = source_settings();
    lin_source *source = NULL;
    linnet_error err = { 0 };
    linnet_status status = lin_source_open(&with, name, NULL, &source, &err);
    if (status != LINNET_OK)
        print_message("%s: %s\n", name, err.message);
    assert_int_equal(status, LINNET_OK);
    return source;
}

/* ---- no findings ---- */

static void assert_nothing_found(const lin_diagnostics *diagnostics)
{
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_diagnostics_print(&text, diagnostics, false);
    if (text.length > 0)
        print_message("%s\n", lin_text_data(&text));
    assert_int_equal(text.length, 0);
    lin_text_free(&text);
}

static void test_checks(void **state)
{
    const lin_zoo_file *file = *state;
    const lin_source_settings with = source_settings();
    lin_diagnostics diagnostics;
    lin_source *source = NULL;
    linnet_error err = { 0 };
    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 100);
    linnet_status status =
        lin_source_parse(&with, file->text, file->length, file->path, &diagnostics, &source, &err);
    assert_nothing_found(&diagnostics);
    assert_int_equal(status, LINNET_OK);
    lin_source_free(source);
    lin_diagnostics_free(&diagnostics);
}

/* ---- parameters ---- */

static const struct count_case {
    const char *name;
    int64_t bound, unbound; /* with the card's bindings and without */
} count_cases[] = {
    { "llama-3.1-8b-instruct", 8030261248, 8030261248 },
    { "tinyllama-1.1b-chat", 1100048384, 1100048384 },
    { "smollm2-1.7b-instruct", 1711376384, 1812039680 }, /* tied */
    { "mistral-7b-instruct-v0.3", 7248023552, 7248023552 },
    { "qwen2.5-0.5b-instruct", 494032768, 630139776 }, /* tied, with biases */
    { "qwen3-4b", 4022468096, 4411424256 },
    { "qwen3-8b", 8190735360, 8190735360 },
    { "phi-3-mini-4k-instruct", 3821079552, 3821079552 },
    { "gpt2", 124439808, 124439808 },
    { "bert-base-uncased", 109482240, 109398528 },
    { "roberta-base", 124645632, 124561920 },
    { "all-MiniLM-L6-v2", 22713216, 22692096 },
    { "vit-base-patch16-224", 86567656, 86483712 },
};

static void test_parameters(void **state)
{
    const struct count_case *c = *state;
    lin_source *source = open_model(c->name);
    linnet_error err = { 0 };
    int64_t bound = 0, unbound = 0;
    assert_int_equal(
        lin_trace_count_parameters(source, false, &lin_default_allocator, &bound, &err), LINNET_OK);
    assert_int_equal(
        lin_trace_count_parameters(source, true, &lin_default_allocator, &unbound, &err),
        LINNET_OK);
    assert_int_equal(bound, c->bound);
    assert_int_equal(unbound, c->unbound);
    lin_source_free(source);
}

/* ---- steps ---- */

enum { UNSET = 0 };

static const struct step_case {
    const char *sentence, *name, *entry;
    int64_t size[LIN_ROLE_COUNT]; /* batch, context, cache; UNSET: not given */
    const char *generic;          /* one generic more, set to 2; NULL: none */
    uint32_t steps;
} step_cases[] = {
    /* clang-format off */
    { "llama 8b forward: 32 (39 + 11) + 6",  "llama-3.1-8b-instruct", "forward",     { 1, 8192, UNSET }, NULL, 1606 },
    { "llama 8b decode: 32 (47 + 11) + 5",   "llama-3.1-8b-instruct", "decode",      { 16, UNSET, 8192 }, NULL, 1861 },
    { "llama 8b decode_rows: 32 (43 + 11) + 5", "llama-3.1-8b-instruct", "decode_rows", { 16, UNSET, 8192 }, NULL, 1733 },
    { "llama 8b loss: 32 (41 + 11) + 5",     "llama-3.1-8b-instruct", "loss_packed", { UNSET, 4096, UNSET }, NULL, 1669 },
    { "tinyllama forward: 22 (39 + 7) + 6",  "tinyllama-1.1b-chat",   "forward",     { 8, 2048, UNSET }, NULL, 1018 },
    { "tinyllama decode: 22 (47 + 7) + 5",   "tinyllama-1.1b-chat",   "decode",      { 32, UNSET, 4096 }, NULL, 1193 },
    { "tinyllama decode_rows: 22 (43 + 7) + 5", "tinyllama-1.1b-chat", "decode_rows", { 32, UNSET, 4096 }, NULL, 1105 },
    { "tinyllama loss: 22 (41 + 7) + 5",     "tinyllama-1.1b-chat",   "loss_packed", { UNSET, 8192, UNSET }, NULL, 1061 },
    { "qwen2.5 forward: 24 (39 + 7) + 6",    "qwen2.5-0.5b",          "forward",     { 4, 4096, UNSET }, NULL, 1110 },
    { "qwen2.5 loss: 24 (41 + 7) + 5",       "qwen2.5-0.5b",          "loss_packed", { UNSET, 8192, UNSET }, NULL, 1157 },
    { "qwen3 forward: two norms a layer more", "qwen3-8b",            "forward",     { 1, 1024, UNSET }, NULL, 36 * (41 + 7) + 6 },
    { "gpt2 forward: 12 * 26 + 6",           "gpt2",                  "forward",     { 8, 1024, UNSET }, NULL, 318 },
    { "bert forward: 12 * 20 + 7",           "bert-base",             "forward",     { 1, 512, UNSET }, NULL, 247 },
    { "roberta numbers positions from 2",    "roberta-base",          "forward",     { 1, 512, UNSET }, NULL, 249 },
    { "minilm forward: 6 * 20 + 7",          "all-MiniLM-L6-v2",      "forward",     { 1, 128, UNSET }, NULL, 127 },
    { "vit forward: 12 * 20 + 11",           "vit-base",              "forward",     { 1, UNSET, UNSET }, NULL, 251 },
    { "llama next_token drops a reshape",    "tinyllama-1.1b-chat",   "next_token",  { 1, 64, UNSET }, NULL, 1017 },
    { "llama prefill",                       "tinyllama-1.1b-chat",   "prefill",     { 2, 64, 128 }, NULL, 22 * (46 + 7) + 5 },
    { "llama prefill_slots",                 "tinyllama-1.1b-chat",   "prefill_slots", { 2, 64, 128 }, "M", 22 * (41 + 7) + 5 },
    { "llama prefill_packed",                "tinyllama-1.1b-chat",   "prefill_packed", { 2, 64, 128 }, NULL, 22 * (43 + 7) + 6 },
    { "llama generate unrolls its steps",    "tinyllama-1.1b-chat",   "generate",    { 2, UNSET, 128 }, "Steps", 2 * (1193 + 5) + 1 },
    /* clang-format on */
};

static void test_steps(void **state)
{
    const struct step_case *c = *state;
    const lin_setting generic = { .name = c->generic, .integer = 2 };
    lin_trace_settings with = { .entry = c->entry,
                                .binds = &generic,
                                .bind_count = c->generic != NULL,
                                .numerics = LIN_NUMERICS_FAST,
                                .processes = 1 };
    for (int role = 0; role < LIN_ROLE_COUNT; role++) {
        with.role_given[role] = c->size[role] != UNSET;
        with.role_value[role] = c->size[role];
    }
    lin_source *source = open_model(c->name);
    lin_traced traced = { 0 };
    linnet_error err = { 0 };
    linnet_status status = lin_trace(source, &with, &lin_default_allocator, &traced, &err);
    if (status != LINNET_OK)
        print_message("%s\n", err.message);
    assert_int_equal(status, LINNET_OK);
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
    static struct CMUnitTest tests[MAX_TESTS];
    size_t count = 0;
    for (uint32_t i = 0; i < lin_zoo_count(); i++) {
        const lin_zoo_file *file = lin_zoo_at(i);
        if (strstr(file->path, ".linnet") != NULL)
            add(tests, &count, file->path, test_checks, file);
    }
    for (size_t i = 0; i < ARRAY_LEN(count_cases); i++)
        add(tests, &count, count_cases[i].name, test_parameters, &count_cases[i]);
    for (size_t i = 0; i < ARRAY_LEN(step_cases); i++)
        add(tests, &count, step_cases[i].sentence, test_steps, &step_cases[i]);
    return _cmocka_run_group_tests("models", tests, count, NULL, NULL);
}
