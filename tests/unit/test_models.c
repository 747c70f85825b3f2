/* SPDX-License-Identifier: MIT */

/*
 * The shipped models, traced: step counts (models.md 1.6, tracing.md 16), where the peak is and
 * what is live there, and parameter counts. The peak is found here by adding up lifetimes, step by
 * step.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/trace.h"
#include "zoo/zoo.h"

static lin_source *open_model(const char *name)
{
    const lin_source_settings settings = { .allocator = lin_default_allocator,
                                           .limits = lin_lang_default_limits,
                                           .file_bytes = 16 << 20 };
    lin_source *source = NULL;
    linnet_error err = { 0 };
    if (lin_source_open(&settings, name, NULL, &source, &err) != LINNET_OK)
        fail_msg("%s: %s:%u: %s", name, err.source, err.line, err.message);
    return source;
}

/* ---- graphs ---- */

/* Steps of the decoder's entries: L layers, `tables` steps of rotary tables. */
#define FORWARD(layers, tables) ((layers) * (39 + (tables)) + 6)
#define DECODE(layers, tables) ((layers) * (47 + (tables)) + 5)
#define DECODE_ROWS(layers, tables) ((layers) * (43 + (tables)) + 5)
#define LOSS_PACKED(layers, tables) ((layers) * (41 + (tables)) + 5)

/* Without a bindings file, as published: nothing tied, no biases. */
static const struct graph_case {
    const char *name;
    const char *model, *entry;
    int64_t batch, context; /* 0: not given */
    int64_t processes;      /* 0: one */
    uint32_t steps;
    int32_t peak_step; /* -1: not looked at */
    const char *label, *scope;
    int64_t activations; /* live bytes there; 0: not looked at */
} graph_cases[] = {
    { "TinyLlama forward, batch 1", "tinyllama-1.1b-chat", "forward", 1, 2048, 0, FORWARD(22, 7),
      1015, "linear", "lm_head", 139468800 },
    { "TinyLlama forward, batch 8", "tinyllama-1.1b-chat", "forward", 8, 2048, 0, 1018, 1015,
      "linear", "lm_head", 1115750400 },
    { "TinyLlama decode", "tinyllama-1.1b-chat", "decode", 32, 4096, 0, DECODE(22, 7), 6, "cast",
      "layers.0.attention", 2883712 },
    { "TinyLlama decode_rows", "tinyllama-1.1b-chat", "decode_rows", 32, 4096, 0,
      DECODE_ROWS(22, 7), 6, "cast", "layers.0.attention", 2883840 },
    { "TinyLlama loss_packed", "tinyllama-1.1b-chat", "loss_packed", 1, 4096, 0, LOSS_PACKED(22, 7),
      -1, NULL, NULL, 0 },
    /* tokens 32 KiB + hidden 64 MiB + logits 2004 MiB */
    { "Llama 3.1 8B forward", "llama-3.1-8b-instruct", "forward", 1, 8192, 0, FORWARD(32, 11), 1603,
      "linear", "lm_head", 2168487936 },
    { "Llama 3.1 8B decode", "llama-3.1-8b-instruct", "decode", 16, 8192, 0, DECODE(32, 11), 10,
      "cast", "layers.0.attention", 10747968 },
    { "Llama 3.1 8B decode_rows", "llama-3.1-8b-instruct", "decode_rows", 16, 8192, 0,
      DECODE_ROWS(32, 11), 10, "cast", "layers.0.attention", 10748032 },
    { "Llama 3.1 8B decode_rows peaks at the head when the batch is large", "llama-3.1-8b-instruct",
      "decode_rows", 62, 8192, 0, 1733, 1731, "linear", "lm_head", 16412144 },
    { "Llama 3.1 8B loss_packed", "llama-3.1-8b-instruct", "loss_packed", 1, 2048, 0,
      LOSS_PACKED(32, 11), -1, NULL, NULL, 0 },
    { "Llama 3.1 8B decode, two shards", "llama-3.1-8b-instruct", "decode", 16, 8192, 2, 1861, 10,
      "cast", "layers.0.attention", 10747968 },
    { "Llama 3.1 8B forward, two shards", "llama-3.1-8b-instruct", "forward", 1, 8192, 2, 1606,
      1604, "all_gather", "", 3152052224 },
    { "Qwen2.5 0.5B forward", "qwen2.5-0.5b-instruct", "forward", 4, 4096, 0, FORWARD(24, 7), 1107,
      "linear", "lm_head", 5008064512 },
    { "Qwen2.5 0.5B loss_packed", "qwen2.5-0.5b-instruct", "loss_packed", 1, 4096, 0,
      LOSS_PACKED(24, 7), -1, NULL, NULL, 0 },
    { "SmolLM2 forward", "smollm2-1.7b-instruct", "forward", 1, 2048, 0, FORWARD(24, 7), -1, NULL,
      NULL, 0 },
    { "Mistral forward", "mistral-7b-instruct-v0.3", "forward", 1, 2048, 0, FORWARD(32, 7), -1,
      NULL, NULL, 0 },
    { "Mistral decode", "mistral-7b-instruct-v0.3", "decode", 1, 2048, 0, DECODE(32, 7), -1, NULL,
      NULL, 0 },
    { "GPT-2 forward", "gpt2", "forward", 8, 1024, 0, 318, 317, "comprehension", "", 1672019968 },
    { "BERT forward is 20 L + 7", "bert-base-uncased", "forward", 1, 128, 0, 20 * 12 + 7, -1, NULL,
      NULL, 0 },
    { "MiniLM is a small BERT", "all-MiniLM-L6-v2", "forward", 1, 128, 0, 20 * 6 + 7, -1, NULL,
      NULL, 0 },
};

static int64_t value_of(const lin_traced *traced, lin_expr e)
{
    int64_t symbols[LIN_ROLE_COUNT], value = -1;
    for (int role = 0; role < LIN_ROLE_COUNT; role++)
        symbols[role] = traced->role_value[role] < 0 ? 1 : traced->role_value[role];
    assert_true(lin_expr_evaluate(traced->graph->exprs, e, symbols, &value));
    return value;
}

/* The first step with the most live bytes. */
static int32_t find_peak(const lin_traced *traced, int64_t *out_bytes)
{
    lin_graph *graph = traced->graph;
    uint32_t count = 0;
    const lin_lifetime *lifetimes = lin_graph_lifetimes(&graph->arena, graph, &count);
    int64_t *change = calloc(graph->steps.count + 1, sizeof *change);
    for (uint32_t i = 0; i < count; i++) {
        int64_t bytes = value_of(traced, graph->objects.items[lifetimes[i].object].bytes);
        change[lifetimes[i].first_step] += bytes;
        change[lifetimes[i].end_step] -= bytes;
    }
    int64_t live = 0;
    int32_t peak = 0;
    *out_bytes = 0;
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        live += change[k];
        if (live > *out_bytes) {
            *out_bytes = live;
            peak = (int32_t)k;
        }
    }
    free(change);
    return peak;
}

static void assert_sound(const lin_traced *traced)
{
    char why[128] = "";
    if (!lin_graph_check(traced->graph, why, sizeof why))
        fail_msg("%s", why);
}

static void test_graph(void **state)
{
    const struct graph_case *row = *state;
    lin_source *source = open_model(row->model);
    const lin_trace_settings settings = {
        .entry = row->entry,
        .role_given = { row->batch > 0, row->context > 0, false },
        .role_value = { row->batch, row->context, 0 },
        .numerics = LIN_NUMERICS_FAST,
        .no_bindings = true,
        .processes = row->processes > 0 ? row->processes : 1,
    };
    lin_traced traced;
    linnet_error err = { 0 };
    if (lin_trace(source, &settings, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("%s:%u: %s", err.source, err.line, err.message);
    assert_sound(&traced);
    assert_int_equal(traced.graph->steps.count, row->steps);
    int64_t bytes = 0;
    int32_t peak = find_peak(&traced, &bytes);
    if (row->peak_step >= 0) {
        const lin_step *step = &traced.graph->steps.items[peak];
        assert_int_equal(peak, row->peak_step);
        assert_string_equal(step->label, row->label);
        assert_string_equal(step->scope, row->scope);
        assert_int_equal(bytes, row->activations);
    }
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

/* ---- parameters ---- */

static const struct count_case {
    const char *name;
    const char *model;
    bool no_bindings;
    int64_t parameters;
} count_cases[] = {
    { "Llama 3.1 8B has 8,030,261,248 parameters", "llama-3.1-8b-instruct", false, 8030261248 },
    { "TinyLlama has 1,100,048,384", "tinyllama-1.1b-chat", false, 1100048384 },
    { "SmolLM2 has 1,711,376,384, its head tied", "smollm2-1.7b-instruct", false, 1711376384 },
    { "Mistral has 7,248,023,552", "mistral-7b-instruct-v0.3", false, 7248023552 },
    { "Qwen2.5 has 494,032,768, tied and with biases", "qwen2.5-0.5b-instruct", false, 494032768 },
    { "Qwen2.5 without bindings has 630,139,776", "qwen2.5-0.5b-instruct", true, 630139776 },
    { "Qwen3 8B has 8,190,735,360", "qwen3-8b", false, 8190735360 },
    { "Qwen3 4B has 4,022,468,096", "qwen3-4b", false, 4022468096 },
    { "Phi-3 mini has 3,821,079,552", "phi-3-mini-4k-instruct", false, 3821079552 },
    { "GPT-2 has 124,439,808", "gpt2", false, 124439808 },
    { "BERT base has 109,482,240", "bert-base-uncased", false, 109482240 },
    { "RoBERTa base has 124,645,632", "roberta-base", false, 124645632 },
    { "MiniLM has 22,713,216", "all-MiniLM-L6-v2", false, 22713216 },
    { "ViT base has 86,567,656", "vit-base-patch16-224", false, 86567656 },
};

static void test_count(void **state)
{
    const struct count_case *row = *state;
    lin_source *source = open_model(row->model);
    int64_t parameters = 0;
    linnet_error err = { 0 };
    if (lin_trace_count_parameters(source, row->no_bindings, &lin_default_allocator, &parameters,
                                   &err) != LINNET_OK)
        fail_msg("%s", err.message);
    assert_int_equal(parameters, row->parameters);
    lin_source_free(source);
}

/* ---- every entry ---- */

static void trace_entry(const lin_source *source, const char *entry, lin_numerics numerics)
{
    static const lin_setting binds[] = { { .name = "M", .integer = 2 },
                                         { .name = "Steps", .integer = 3 },
                                         { .name = "MaxNew", .integer = 3 } };
    lin_trace_settings settings = { .entry = entry,
                                    .role_given = { true, true, true },
                                    .role_value = { 2, 16, 32 },
                                    .numerics = numerics,
                                    .processes = 1 };
    lin_traced traced;
    linnet_error err = { 0 };
    const lin_block *root;
    const lin_function *function;
    assert_int_equal(lin_trace_find_entry(source, NULL, entry, &root, &function, &err), LINNET_OK);
    lin_setting own[ARRAY_LEN(binds)];
    for (uint32_t i = 0; i < function->generics.count; i++)
        for (size_t k = 0; k < ARRAY_LEN(binds); k++)
            if (strcmp(binds[k].name, lin_names_text(source->program->names,
                                                     function->generics.items[i].name)) == 0)
                own[settings.bind_count++] = binds[k];
    settings.binds = own;
    if (lin_trace(source, &settings, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("%s, %s: %s:%u: %s", source->name, entry, err.source, err.line, err.message);
    assert_sound(&traced);
    assert_true(traced.graph->steps.count > 0);
    lin_graph_free(traced.graph);
}

static void test_every_entry(void **state)
{
    (void)state;
    for (uint32_t m = 0; m < lin_zoo_model_count(); m++) {
        const lin_zoo_model *model = lin_zoo_model_at(m);
        if (!model->card)
            continue;
        lin_source *source = open_model(model->name);
        const lin_block *root = NULL;
        const lin_function *first;
        assert_int_equal(lin_trace_find_entry(source, NULL, NULL, &root, &first, NULL), LINNET_OK);
        for (uint32_t i = 0; i < root->method_count; i++) {
            if (root->methods[i]->kind != LIN_FUNCTION_ENTRY)
                continue;
            const char *name = lin_names_text(source->program->names, root->methods[i]->name);
            trace_entry(source, name, LIN_NUMERICS_FAST);
            trace_entry(source, name, LIN_NUMERICS_EXACT);
        }
        lin_source_free(source);
    }
}

#define ROWS(function, cases)                             \
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)         \
        tests[count++] = (struct CMUnitTest)              \
        {                                                 \
            .name = cases[i].name, .test_func = function, \
            .initial_state = (void *)(uintptr_t)&cases[i] \
        }

int main(void)
{
    struct CMUnitTest tests[64];
    size_t count = 0;
    ROWS(test_graph, graph_cases);
    ROWS(test_count, count_cases);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_every_entry);
    return _cmocka_run_group_tests("models", tests, count, NULL, NULL);
}
