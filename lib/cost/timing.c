/* SPDX-License-Identifier: MIT */

/*
 * The answer to "how long does a step take": the memory's graph priced on a device, its clocks run,
 * and what a report says of it. Cost: one analysis, for the peak and the share that is recomputed,
 * and one pass over the calls.
 */

#include <string.h>

#include "cost/costliest.h"

/* Copies of the parameters that an optimizer's pass reads and writes. States of 8 bits count as the
 * half of bf16's. */
static double states_of(const char *optimizer)
{
    static const struct {
        const char *name;
        double states;
    } rows[] = {
        { "sgd", 0 },       { "sgd-momentum", 1 },     { "lion", 1 },
        { "muon", 1 },      { "adafactor", 0 },        { "adamw-8bit", 1 },
        { "paged-adamw-8bit", 1 },
    };
    for (uint32_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].name, optimizer) == 0)
            return rows[i].states;
    return 2;
}

typedef struct timing_run {
    lin_timing *timing;
    const lin_profile *profile;
    const lin_timing_settings *settings;
    const lin_graph *graph;
    const lin_answer *answer;
    lin_cost *cost;
    lin_parallel parallel;
    linnet_error *err;
} timing_run;

/* ---- the step ---- */

static linnet_status check_layout(const timing_run *r)
{
    if (r->parallel.pipeline > 1)
        return lin_fail(r->err, LINNET_ERROR_UNSUPPORTED,
                        "the time of a pipeline of this step is not modelled");
    if (r->parallel.context > 1)
        return lin_fail(r->err, LINNET_ERROR_UNSUPPORTED,
                        "the time of context parallelism is not modelled");
    if (r->parallel.expert > 1)
        return lin_fail(r->err, LINNET_ERROR_UNSUPPORTED,
                        "the time of expert parallelism is not modelled");
    return LINNET_OK;
}

static const int64_t *symbols_of(const timing_run *r, lin_arena *arena)
{
    const uint32_t count = lin_expr_symbol_count(r->graph->exprs);
    int64_t *symbols = LIN_NEW_ARRAY(arena, int64_t, count);
    for (uint32_t i = 0; i < count; i++)
        symbols[i] = 1;
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++)
        if (r->graph->role_free[role])
            symbols[r->graph->role_symbols[role]] = r->answer->role_value[role];
    return symbols;
}

/* Processes that shard a step's states have data of their own, as replicas have; the reference
 * counts those of replicas alone. */
static double data_shares(const timing_run *r)
{
    const bool counts = r->timing->training && r->settings->model == LIN_TIME_LINNET;
    return counts ? (double)r->parallel.shards : 1;
}

static void run_step(timing_run *r)
{
    lin_timing *t = r->timing;
    const uint32_t rules = lin_time_model_rules(r->settings->model);
    const lin_part_settings around = {
        .recompute = t->recompute,
        .shards = r->parallel.shards,
        .keeps_parameters = r->parallel.zero == 1 || r->parallel.zero == 2,
        .optimizer_states = t->training ? states_of(t->optimizer) : 0,
    };
    lin_cost_part(r->cost, r->profile, &around, &t->part);
    const lin_step_settings step = {
        .training = t->training,
        .microbatches = 1,
        .accumulation = t->training ? r->answer->training->accumulation : 1,
        .replicas = r->parallel.replicas,
        .gradient_bytes = t->part.parameter_bytes,
        .tokens = lin_cost_tokens(r->cost) * data_shares(r),
        .rules = rules,
    };
    lin_step_time_of(r->profile, &t->part, 1, &step, &t->time);
}

/* ---- utilisation ---- */

static void set_peak(timing_run *r)
{
    lin_timing *t = r->timing;
    const lin_sheet *sheet = &r->profile->sheet;
    lin_dtype dtype = LIN_DTYPE_F32;
    lin_dtype_find(t->dtype, strlen(t->dtype), &dtype);
    const lin_rate_dtype rate = lin_rate_dtype_of(dtype);
    const double said = rate == LIN_RATE_BF16 ? sheet->bf16
                        : rate == LIN_RATE_F16 ? sheet->f16
                                               : sheet->f32;
    t->peak = said > 0 ? said : lin_rate_peak(r->profile, rate);
    t->peak_source = said > 0 ? "data sheet" : "the profile's own";
}

/* A backward pass takes twice its forward's operations. */
static void set_operations(timing_run *r)
{
    lin_timing *t = r->timing;
    const double passes = t->training ? (double)r->answer->training->accumulation : 1;
    const double forward = t->part.model_operations * passes;
    t->model_operations = t->training ? 3 * forward : forward;
    t->hardware_operations = t->model_operations + (t->training ? t->recompute * forward : 0);
    set_peak(r);
}

/* ---- the answer ---- */

static const char *copy(lin_arena *arena, const char *text)
{
    return text != NULL ? lin_arena_text(arena, text, strlen(text)) : NULL;
}

static void describe(timing_run *r)
{
    lin_timing *t = r->timing;
    lin_arena *arena = &t->arena;
    const lin_answer *answer = r->answer;
    t->model = copy(arena, answer->model);
    t->entry = copy(arena, answer->entry);
    t->dtype = copy(arena, answer->dtype);
    t->numerics = copy(arena, answer->numerics);
    t->device = copy(arena, r->profile->name);
    t->device_source = copy(arena, r->profile->source);
    t->time_model = r->settings->model;
    memcpy(t->role_value, answer->role_value, sizeof(t->role_value));
    t->training = answer->training != NULL;
    t->expected_peak = answer->peaks.expected;
    t->budget = lin_profile_budget(r->profile);
    if (!t->training)
        return;
    t->optimizer = copy(arena, answer->training->optimizer);
    t->checkpoint = copy(arena, answer->training->checkpoint);
    /* Answers say it as a share of forward and backward together. */
    t->recompute = answer->training->has_recompute ? 3 * answer->training->recompute : 0;
}

static void assume(timing_run *r)
{
    enum { MOST = 4 };
    lin_timing *t = r->timing;
    const char **list = LIN_NEW_ARRAY(&t->arena, const char *, MOST);
    list[t->assumption_count++] =
        "operations are those of products, attention and losses; attention under a causal mask "
        "counts half, a backward pass twice its forward pass";
    if (r->profile->base != NULL)
        list[t->assumption_count++] = lin_arena_format(
            &t->arena, "rates are `%s`'s scaled by the data sheets, host times are its own",
            r->profile->base);
    if (t->recompute > 0)
        list[t->assumption_count++] =
            "what is recomputed takes the same share of each call of the forward pass";
    if (r->parallel.tensor > 1 && !lin_cost_has_collectives(r->cost))
        list[t->assumption_count++] =
            "the model has no collectives of its own: what its split parts exchange takes no time";
    t->assumptions = list;
}

static linnet_status fill(timing_run *r, lin_arena *scratch)
{
    jmp_buf out_of_memory;
    lin_timing *t = r->timing;
    if (setjmp(out_of_memory) != 0) {
        t->arena.on_failure = NULL;
        return lin_fail_memory(r->err);
    }
    t->arena.on_failure = scratch->on_failure = &out_of_memory;
    describe(r);
    const linnet_status status =
        lin_cost_price(r->cost, r->profile, symbols_of(r, scratch), r->err);
    if (status == LINNET_OK) {
        run_step(r);
        set_operations(r);
        lin_costly *list = LIN_NEW_ARRAY(&t->arena, lin_costly, LIN_TIMING_COSTLIEST);
        t->costliest_count =
            lin_cost_list_costliest(r->cost, r->graph, t->recompute, &t->arena, list);
        t->costliest = list;
        assume(r);
    }
    t->arena.on_failure = NULL;
    return status;
}

linnet_status lin_timing_new(lin_memory *memory, const lin_profile *profile,
                             const lin_timing_settings *settings, const lin_allocator *allocator,
                             lin_timing **out, linnet_error *err)
{
    static const int64_t as_configured[LIN_ROLE_COUNT];
    lin_arena scratch;
    lin_answer *answer = NULL;
    linnet_status status;
    timing_run run = { .profile = profile,
                       .settings = settings,
                       .graph = lin_memory_traced(memory)->graph,
                       .parallel = lin_parallel_normal(&settings->parallel),
                       .err = err };
    const lin_cost_settings cost_settings = {
        .training = settings->training,
        .processes = run.parallel.tensor,
        .rules = lin_time_model_rules(settings->model),
    };
    lin_arena_init(&scratch, allocator);
    run.timing = lin_alloc_zeroed(allocator, sizeof(*run.timing));
    if (run.timing == NULL)
        return lin_fail_memory(err);
    run.timing->allocator = *allocator;
    lin_arena_init(&run.timing->arena, allocator);

    if ((status = check_layout(&run)) != LINNET_OK ||
        (status = lin_memory_analyse(memory, as_configured, &answer, err)) != LINNET_OK ||
        (status = lin_cost_new(run.graph, &cost_settings, allocator, &run.cost, err)) != LINNET_OK)
        goto out;
    run.answer = answer;
    if ((status = fill(&run, &scratch)) != LINNET_OK)
        goto out;
    *out = run.timing;
    run.timing = NULL;
out:
    lin_cost_free(run.cost);
    lin_answer_free(answer);
    lin_arena_free(&scratch);
    lin_timing_free(run.timing);
    return status;
}

void lin_timing_free(lin_timing *timing)
{
    if (timing == NULL)
        return;
    const lin_allocator allocator = timing->allocator;
    lin_arena_free(&timing->arena);
    lin_release(&allocator, timing, sizeof(*timing));
}
