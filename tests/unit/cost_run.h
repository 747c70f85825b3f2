/* SPDX-License-Identifier: MIT */
#ifndef COST_RUN_H
#define COST_RUN_H

/* The published rows of step-time-rows.md, whole and in stages, and how they are run: with the
 * built-in H100 profile, without a bindings file, AdamW where training. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cost/cost.h"

/* A model and how it is run. */
typedef struct cost_run {
    const char *model, *entry;
    int64_t batch, context, cache; /* 0: not given */
    int64_t processes;             /* 0: one; else also the `Shards` generic */
    bool training;
    int64_t shards;
} cost_run;

/* Milliseconds, and counts. */
static const struct step_case {
    const char *name;
    int number;
    cost_run run;
    double step;
    double compute, memory, communication, waiting, host;
    lin_limit limit;
    int64_t steps, forward_calls, backward_calls;
    double published;
    double measured;
    int digits; /* the published figure's, after the point */
} step_rows[] = {
    { "1 Llama 3.1 8B decode, 1 of 8192", 1,
      { "llama-3.1-8b-instruct", "decode", .batch = 1, .cache = 8192 },
      11.7267, 0, 7.847, 0, 3.880, 11.263, LIN_LIMIT_MEMORY, 1861, 1124, 0, 11.7, 11.2, 1 },
    { "2 Llama 3.1 8B decode, 16 of 8192", 2,
      { "llama-3.1-8b-instruct", "decode", .batch = 16, .cache = 8192 },
      16.3579, 0, 16.148, 0, 0.210, 11.263, LIN_LIMIT_MEMORY, 1861, 1124, 0, 16.4, 18.1, 1 },
    { "3 Llama 3.1 8B decode, 32 of 4096", 3,
      { "llama-3.1-8b-instruct", "decode", .batch = 32, .cache = 4096 },
      16.3840, 0, 16.174, 0, 0.210, 11.263, LIN_LIMIT_MEMORY, 1861, 1124, 0, 16.4, 18.1, 1 },
    { "4 Llama 3.1 8B forward, 1 x 8192", 4,
      { "llama-3.1-8b-instruct", "forward", .batch = 1, .context = 8192 },
      257.0506, 206.234, 50.807, 0, 0.009, 7.147, LIN_LIMIT_COMPUTE, 1606, 1061, 0, 257, 249, 0 },
    { "5 TinyLlama forward, 8 x 2048", 5,
      { "tinyllama-1.1b-chat", "forward", .batch = 8, .context = 2048 },
      88.3958, 58.254, 30.132, 0, 0.009, 4.927, LIN_LIMIT_COMPUTE, 1018, 731, 0, 88.4, 92.8, 1 },
    { "6 TinyLlama decode, 1 of 2048", 6,
      { "tinyllama-1.1b-chat", "decode", .batch = 1, .cache = 2048 },
      7.8044, 0, 2.354, 0, 5.451, 7.756, LIN_LIMIT_HOST, 1193, 774, 0, 7.80, 7.47, 2 },
    { "7 Qwen2.5 0.5B forward, 4 x 4096", 7,
      { "qwen2.5-0.5b-instruct", "forward", .batch = 4, .context = 4096 },
      56.1198, 34.943, 21.168, 0, 0.009, 5.371, LIN_LIMIT_COMPUTE, 1110, 797, 0, 56.1, 58.7, 1 },
    { "8 GPT-2 forward in f32, 8 x 1024", 8,
      { "gpt2", "forward", .batch = 8, .context = 1024 },
      46.6392, 42.694, 3.936, 0, 0.009, 1.818, LIN_LIMIT_COMPUTE, 318, 305, 0, 46.6, 62.8, 1 },
    { "9 BERT base forward in f32, 8 x 512", 9,
      { "bert-base-uncased", "forward", .batch = 8, .context = 512 },
      22.7635, 21.347, 1.399, 0, 0.018, 1.769, LIN_LIMIT_COMPUTE, 247, 222, 0, 22.8, 24.6, 1 },
    { "10 TinyLlama loss_packed in training, 8192", 10,
      { "tinyllama-1.1b-chat", "loss_packed", .context = 8192, .training = true },
      346.0775, 303.318, 42.749, 0, 0.011, 20.764, LIN_LIMIT_COMPUTE, 1061, 863, 863, 346, 334, 0 },
    { "11 Qwen2.5 0.5B loss_packed in training, 8192", 11,
      { "qwen2.5-0.5b-instruct", "loss_packed", .context = 8192, .training = true },
      198.9045, 170.472, 28.416, 0, 0.017, 23.080, LIN_LIMIT_COMPUTE, 1157, 941, 941, 199, 210, 0 },
    { "12 Llama 3.1 8B forward split in two, 1 x 8192", 12,
      { "llama-3.1-8b-instruct", "forward", .batch = 1, .context = 8192, .processes = 2 },
      148.6307, 103.007, 25.799, 19.816, 0.009, 9.265, LIN_LIMIT_COMPUTE, 1606, 1222, 0, 149, 162,
      0 },
    { "13 Llama 3.1 8B decode_rows split in two, 1 of 8192", 13,
      { "llama-3.1-8b-instruct", "decode_rows", .batch = 1, .cache = 8192, .processes = 2 },
      13.9026, 0, 5.000, 1.133, 7.769, 13.698, LIN_LIMIT_HOST, 1733, 1349, 0, 13.9, 15.5, 1 },
    { "14 Llama 3.1 8B decode_rows split in two, 16 of 8192", 14,
      { "llama-3.1-8b-instruct", "decode_rows", .batch = 16, .cache = 8192, .processes = 2 },
      14.0115, 0, 8.901, 1.167, 3.943, 13.698, LIN_LIMIT_MEMORY, 1733, 1349, 0, 14.0, 17.6, 1 },
    { "17 TinyLlama loss_packed in training, 8192, shards on two", 17,
      { "tinyllama-1.1b-chat", "loss_packed", .context = 8192, .training = true, .shards = 2 },
      371.9391, 303.318, 42.749, 25.872, 0, 20.764, LIN_LIMIT_COMPUTE, 1061, 863, 863, 372, 353,
      0 },
};

enum { STAGES = 4 };

static const struct pipeline_case {
    const char *name;
    int number; /* 0: of the layout table */
    cost_run run;
    int64_t stages, microbatches;
    bool checkpoint; /* each layer */
    double step;
    double seconds[STAGES]; /* of the stages, one micro-batch */
    double received;        /* bytes, of the second stage */
    double optimizer, gather;
    double compute, memory, communication, waiting; /* 0, 0, 0, 0: not published */
    double measured;
    int64_t replicas; /* 0: 1 */
    double tokens_per_second;
} pipeline_rows[] = {
    { .name = "15 TinyLlama loss_packed in training, 2 stages, 4 of 2048", .number = 15,
      .run = { "tinyllama-1.1b-chat", "loss_packed", .context = 8192, .training = true },
      .stages = 2, .microbatches = 4, .step = 118.9726, .seconds = { 20.5752, 23.2874 },
      .received = 8388608, .optimizer = 2.536, .compute = 90.875, .memory = 27.531,
      .communication = 0.467, .waiting = 0.100, .measured = 131 },
    { .name = "16 TinyLlama forward, 2 stages, 4 of 2 x 2048", .number = 16,
      .run = { "tinyllama-1.1b-chat", "forward", .batch = 8, .context = 2048 },
      .stages = 2, .microbatches = 4, .step = 53.4477, .seconds = { 9.8279, 10.6895 },
      .received = 16777216, .compute = 38.615, .memory = 14.422, .communication = 0.380,
      .waiting = 0.030, .measured = 58.6 },
    { .name = "18 TinyLlama forward, 2 stages split in two, 4 of 2 x 2048", .number = 18,
      .run = { "tinyllama-1.1b-chat", "forward", .batch = 8, .context = 2048, .processes = 2 },
      .stages = 2, .microbatches = 4, .step = 45.8938, .seconds = { 6.8672, 9.1788 },
      .received = 16777216, .compute = 22.141, .memory = 11.840, .communication = 11.883,
      .waiting = 0.030, .measured = 48.0 },
    { .name = "19 Llama 3.1 8B forward, 2 stages split in two, 2 of 8192", .number = 19,
      .run = { "llama-3.1-8b-instruct", "forward", .batch = 2, .context = 8192, .processes = 2 },
      .stages = 2, .microbatches = 2, .step = 251.2500, .seconds = { 65.1386, 83.7500 },
      .received = 67108864, .compute = 172.465, .memory = 41.242, .communication = 37.526,
      .waiting = 0.018, .measured = 219 },
    { .name = "20 TinyLlama loss_packed in training, 2 stages with shards on two, 4 of 2048", .number = 20,
      .run = { "tinyllama-1.1b-chat", "loss_packed", .context = 8192, .training = true,
               .shards = 2 },
      .stages = 2, .microbatches = 4, .step = 150.6644, .seconds = { 26.1601, 28.8898 },
      .received = 8388608, .optimizer = 2.536, .gather = 3.680, .compute = 90.875,
      .memory = 27.531, .communication = 32.159, .waiting = 0.100, .measured = 159 },

    /* step-time-rows.md 3 */
    { .name = "the layout table: 2 stages, 8 of 1024, 2 replicas",
      .run = { "tinyllama-1.1b-chat", "loss_packed", .context = 8192, .training = true },
      .stages = 2, .microbatches = 8, .replicas = 2, .step = 100.469,
      .seconds = { 10.3508, 10.8815 }, .received = 4194304, .optimizer = 2.536,
      .tokens_per_second = 163075 },
    { .name = "the layout table: 2 stages, 8 of 1024, 2 replicas, with block checkpointing",
      .run = { "tinyllama-1.1b-chat", "loss_packed", .context = 8192, .training = true },
      .stages = 2, .microbatches = 8, .replicas = 2, .checkpoint = true,
      .tokens_per_second = 120696 },
    { .name = "the layout table: 4 stages, 16 of 1024",
      .run = { "tinyllama-1.1b-chat", "loss_packed", .context = 16384, .training = true },
      .stages = 4, .microbatches = 16, .step = 113.733,
      .seconds = { 4.7485, 5.6589, 5.6589, 5.9166 }, .optimizer = 1.317,
      .tokens_per_second = 144056 },
    { .name = "the layout table: 4 stages, 16 of 1024, with block checkpointing",
      .run = { "tinyllama-1.1b-chat", "loss_packed", .context = 16384, .training = true },
      .stages = 4, .microbatches = 16, .checkpoint = true, .tokens_per_second = 105021 },
    { .name = "the layout table: 2 stages, 4 of 1024, 2 replicas",
      .run = { "tinyllama-1.1b-chat", "loss_packed", .context = 4096, .training = true },
      .stages = 2, .microbatches = 4, .replicas = 2, .step = 56.943,
      .tokens_per_second = 143863 },
    { .name = "the layout table: 4 stages, 8 of 1024",
      .run = { "tinyllama-1.1b-chat", "loss_packed", .context = 8192, .training = true },
      .stages = 4, .microbatches = 8, .step = 66.400, .tokens_per_second = 123373 },
    { .name = "the layout table: 2 stages, 2 of 1024, 2 replicas",
      .run = { "tinyllama-1.1b-chat", "loss_packed", .context = 2048, .training = true },
      .stages = 2, .microbatches = 2, .replicas = 2, .step = 35.180,
      .tokens_per_second = 116430 },
    { .name = "the layout table: 4 stages, 4 of 1024, with block checkpointing",
      .run = { "tinyllama-1.1b-chat", "loss_packed", .context = 4096, .training = true },
      .stages = 4, .microbatches = 4, .checkpoint = true, .tokens_per_second = 70248 },
};

static lin_profile *open_profile(const char *name)
{
    lin_profile *profile = NULL;
    linnet_error err = { 0 };
    if (lin_profile_open(name, 1 << 20, &lin_default_allocator, &profile, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return profile;
}

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

static lin_traced trace(const lin_source *source, const cost_run *r)
{
    const lin_setting shards = { .name = "Shards", .integer = r->processes };
    const lin_trace_settings settings = {
        .entry = r->entry,
        .role_given = { r->batch > 0, r->context > 0, r->cache > 0 },
        .role_value = { r->batch, r->context, r->cache },
        .binds = &shards,
        .bind_count = r->processes > 0 ? 1 : 0,
        .no_bindings = true,
        .numerics = LIN_NUMERICS_FAST,
        .processes = r->processes > 0 ? r->processes : 1,
        .training = r->training,
    };
    lin_traced traced;
    linnet_error err = { 0 };
    if (lin_trace(source, &settings, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("%s: %s", r->model, err.message);
    return traced;
}

/* One step under `rules`. */
static void time_run(const cost_run *r, uint32_t rules, lin_part *out_part, lin_step_time *out,
                     void (*look)(const lin_cost *cost))
{
    lin_source *source = open_source(r->model);
    lin_profile *profile = open_profile("h100-80gb");
    lin_traced traced = trace(source, r);
    const lin_cost_settings settings = { .training = r->training,
                                         .processes = r->processes > 0 ? r->processes : 1,
                                         .rules = rules };
    const lin_part_settings around = { .shards = r->shards, .optimizer_states = 2 };
    int64_t symbols[LIN_ROLE_COUNT] = { 1, 1, 1 };
    lin_cost *cost = NULL;
    linnet_error err = { 0 };
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++)
        if (traced.graph->role_free[role])
            symbols[traced.graph->role_symbols[role]] = traced.role_value[role];
    if (lin_cost_new(traced.graph, &settings, &lin_default_allocator, &cost, &err) != LINNET_OK ||
        lin_cost_price(cost, profile, symbols, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    lin_cost_part(cost, profile, &around, out_part);
    const lin_step_settings step = { .training = r->training,
                                     .microbatches = 1,
                                     .accumulation = 1,
                                     .replicas = 1,
                                     .tokens = lin_cost_tokens(cost),
                                     .rules = rules };
    lin_step_time_of(profile, out_part, 1, &step, out);
    if (look != NULL)
        look(cost);
    lin_cost_free(cost);
    lin_graph_free(traced.graph);
    lin_profile_free(profile);
    lin_source_free(source);
}

typedef struct pipeline_run {
    const struct pipeline_case *c;
    uint32_t rules;
    lin_part parts[STAGES];
    double received[STAGES];
    double parameter_bytes;
    lin_step_time step;
} pipeline_run;

/* Of the steps of layers, over all. */
static double recomputed(const lin_graph *graph, const int64_t *symbols)
{
    double layers = 0, all = 0;
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        int64_t operations = 0;
        assert_true(lin_expr_evaluate(graph->exprs, graph->steps.items[k].arithmetic, symbols,
                                      &operations));
        all += (double)operations;
        if (strncmp(graph->steps.items[k].scope, "layers.", 7) == 0)
            layers += (double)operations;
    }
    return layers / all;
}

static void time_stage(pipeline_run *r, uint32_t stage, const lin_stage_graph *part,
                       const lin_graph *whole, const int64_t *symbols, const lin_profile *profile)
{
    const cost_run *run = &r->c->run;
    const lin_cost_settings settings = { .training = run->training,
                                         .is_stage = true,
                                         .processes = run->processes > 0 ? run->processes : 1,
                                         .rules = r->rules };
    lin_part_settings around = { .shards = run->shards, .optimizer_states = 2 };
    lin_cost *cost = NULL;
    linnet_error err = { 0 };
    for (uint32_t i = 0; i < part->received_count; i++) {
        int64_t bytes = 0;
        assert_true(lin_expr_evaluate(whole->exprs,
                                      whole->objects.items[part->received[i].whole].bytes, symbols,
                                      &bytes));
        around.received_bytes += (double)bytes;
    }
    r->received[stage] = around.received_bytes;
    around.recompute = r->c->checkpoint ? recomputed(&part->graph, symbols) : 0;
    if (lin_cost_new(&part->graph, &settings, &lin_default_allocator, &cost, &err) != LINNET_OK ||
        lin_cost_price(cost, profile, symbols, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    lin_cost_part(cost, profile, &around, &r->parts[stage]);
    lin_cost_free(cost);
}

static void time_stages(pipeline_run *r, lin_graph *whole, int64_t *symbols, double tokens,
                        const lin_profile *profile)
{
    const struct pipeline_case *c = r->c;
    lin_arena arena;
    jmp_buf out_of_memory;
    lin_stage_plan plan;
    linnet_error err = { 0 };
    lin_arena_init(&arena, &lin_default_allocator);
    if (setjmp(out_of_memory) != 0)
        fail_msg("out of memory");
    arena.on_failure = whole->arena.on_failure = &out_of_memory;
    if (lin_stages_plan(whole, symbols, c->stages, NULL, &arena, &plan, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    lin_stage_graph *stages = lin_graph_split(whole, &plan, &arena);
    const lin_role cut = c->run.batch > 0 ? LIN_ROLE_BATCH : LIN_ROLE_CONTEXT;
    symbols[whole->role_symbols[cut]] /= c->microbatches;
    for (uint32_t i = 0; i < (uint32_t)c->stages; i++) {
        time_stage(r, i, &stages[i], whole, symbols, profile);
        r->parameter_bytes += r->parts[i].parameter_bytes;
    }
    const lin_step_settings step = { .training = c->run.training,
                                     .microbatches = c->microbatches,
                                     .accumulation = 1,
                                     .replicas = c->replicas > 0 ? c->replicas : 1,
                                     .gradient_bytes = r->parameter_bytes,
                                     .tokens = tokens,
                                     .rules = r->rules };
    lin_step_time_of(profile, r->parts, (uint32_t)c->stages, &step, &r->step);
    whole->arena.on_failure = NULL;
    lin_arena_free(&arena);
}

static void time_pipeline(const struct pipeline_case *c, uint32_t rules, pipeline_run *out)
{
    lin_source *source = open_source(c->run.model);
    lin_profile *profile = open_profile("h100-80gb");
    lin_traced traced = trace(source, &c->run);
    int64_t symbols[LIN_ROLE_COUNT] = { 1, 1, 1 };
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++)
        if (traced.graph->role_free[role])
            symbols[traced.graph->role_symbols[role]] = traced.role_value[role];
    *out = (pipeline_run){ .c = c, .rules = rules };
    time_stages(out, traced.graph, symbols,
                (double)(c->run.batch > 0 ? c->run.batch * c->run.context : c->run.context),
                profile);
    lin_graph_free(traced.graph);
    lin_profile_free(profile);
    lin_source_free(source);
}

#endif
