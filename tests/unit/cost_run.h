/* SPDX-License-Identifier: MIT */
#ifndef COST_RUN_H
#define COST_RUN_H

/* How the rows of cost_rows.h are run: with the built-in H100 profile, without a bindings file,
 * AdamW where training. */

#include "cost_rows.h"

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
static inline void time_run(const cost_run *r, uint64_t rules, lin_part *out_part,
                            lin_step_time *out, void (*look)(const lin_cost *cost))
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
    uint64_t rules;
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
        assert_true(lin_expr_evaluate(
            whole->exprs, whole->objects.items[part->received[i].whole].bytes, symbols, &bytes));
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

static inline void time_pipeline(const struct pipeline_case *c, uint64_t rules, pipeline_run *out)
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
