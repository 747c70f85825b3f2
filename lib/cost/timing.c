/* SPDX-License-Identifier: MIT */

/*
 * The answer to "how long does a step take": the memory's graph, or those of its stages, priced on
 * a device, their clocks run, put together, and what a report says of it. Cost: one analysis, for
 * the peak, and one pass over the calls.
 */

#include <string.h>

#include "cost/costliest.h"
#include "schedule/schedule.h"

/* Copies of the parameters that an optimizer's pass reads and writes. States of 8 bits count as the
 * half of bf16's. */
static double states_of(const char *optimizer)
{
    static const struct {
        const char *name;
        double states;
    } rows[] = {
        { "sgd", 0 },
        { "sgd-momentum", 1 },
        { "lion", 1 },
        { "muon", 1 },
        { "adafactor", 0 },
        { "adamw-8bit", 1 },
        { "paged-adamw-8bit", 1 },
    };
    for (uint32_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].name, optimizer) == 0)
            return rows[i].states;
    return 2;
}

typedef struct timing_run {
    lin_timing *timing;
    lin_memory *memory;
    const lin_profile *profile;
    const lin_timing_settings *settings;
    const lin_graph *graph; /* the whole */
    const lin_answer *answer;
    const lin_schedule *schedule; /* NULL: no pipeline, or the reference's slots */
    const lin_allocator *allocator;
    lin_arena *scratch;
    lin_parallel parallel;
    uint32_t rules;
    uint32_t stage_count; /* 1 without a pipeline */
    bool is_pipeline;
    lin_cost **costs; /* by stage */
    lin_part *parts;  /* by stage, */
    lin_part *ranks;  /* by rank */
    uint32_t rank_count;
    linnet_error *err;
} timing_run;

/* ---- what can be timed ---- */

static linnet_status check_layout(const timing_run *r)
{
    if (r->parallel.context > 1)
        return lin_fail(r->err, LINNET_ERROR_UNSUPPORTED,
                        "the time of context parallelism is not modelled");
    if (r->parallel.tensor > 1 && !lin_memory_traced(r->memory)->has_shards)
        return lin_fail(r->err, LINNET_ERROR_UNSUPPORTED,
                        "the time of a model that is split by rules is not modelled: only of one "
                        "with a generic `Shards`, whose collectives are its own");
    if (r->parallel.expert > 1)
        return lin_fail(r->err, LINNET_ERROR_UNSUPPORTED,
                        "the time of expert parallelism is not modelled");
    return LINNET_OK;
}

/* The reference has two schedules, which cost the same, and one stage a rank. */
static linnet_status check_schedule(const timing_run *r)
{
    const lin_pipeline_answer *pipeline = r->answer->pipeline;
    if (!r->is_pipeline || r->settings->model != LIN_TIME_REFERENCE || pipeline == NULL)
        return LINNET_OK;
    if (pipeline->virtual_stages > 1 ||
        (strcmp(pipeline->schedule, "1f1b") != 0 && strcmp(pipeline->schedule, "gpipe") != 0))
        return lin_fail(r->err, LINNET_ERROR_UNSUPPORTED,
                        "the time model `reference` has the schedules 1f1b and gpipe with one "
                        "stage a rank: `linnet` has the others");
    return LINNET_OK;
}

/* ---- parts ---- */

static linnet_status find_symbols(const timing_run *r, bool of_one_microbatch, const int64_t **out)
{
    const uint32_t count = lin_expr_symbol_count(r->graph->exprs);
    int64_t *symbols = LIN_NEW_ARRAY(r->scratch, int64_t, count);
    int64_t values[LIN_ROLE_COUNT];
    memcpy(values, r->answer->role_value, sizeof(values));
    if (of_one_microbatch) {
        const linnet_status status =
            lin_memory_cut(r->memory, r->answer->role_value, values, r->err);
        if (status != LINNET_OK)
            return status;
    }
    for (uint32_t i = 0; i < count; i++)
        symbols[i] = 1;
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++)
        if (r->graph->role_free[role])
            symbols[r->graph->role_symbols[role]] = values[role];
    *out = symbols;
    return LINNET_OK;
}

/* Bytes that the stage's received values own in the whole graph. */
static double received_bytes(const timing_run *r, const lin_stage_graph *stage,
                             const int64_t *symbols)
{
    double sum = 0;
    for (uint32_t i = 0; i < stage->received_count; i++) {
        int64_t bytes = 0;
        if (lin_expr_evaluate(r->graph->exprs,
                              r->graph->objects.items[stage->received[i].whole].bytes, symbols,
                              &bytes))
            sum += (double)bytes;
    }
    return sum;
}

static linnet_status run_part(timing_run *r, uint32_t stage, const int64_t *symbols)
{
    lin_timing *t = r->timing;
    const lin_stage_graph *split = r->is_pipeline ? lin_memory_stage(r->memory, stage) : NULL;
    const lin_cost_settings settings = {
        .training = t->training,
        .is_stage = r->is_pipeline,
        .processes = r->parallel.tensor,
        .trained = lin_memory_trained(r->memory, r->is_pipeline ? stage : LIN_NO_STAGE),
        .rules = r->rules,
    };
    const lin_part_settings around = {
        .recompute =
            lin_memory_recomputed(r->memory, r->is_pipeline ? stage : LIN_NO_STAGE, symbols),
        .received_bytes = split != NULL ? received_bytes(r, split, symbols) : 0,
        .shards = r->parallel.shards,
        .keeps_parameters = r->parallel.zero == 1 || r->parallel.zero == 2,
        .optimizer_states = t->training ? states_of(t->optimizer) : 0,
    };
    linnet_status status = lin_cost_new(split != NULL ? &split->graph : r->graph, &settings,
                                        r->allocator, &r->costs[stage], r->err);
    if (status == LINNET_OK)
        status = lin_cost_price(r->costs[stage], r->profile, symbols, r->err);
    if (status == LINNET_OK)
        lin_cost_part(r->costs[stage], r->profile, &around, &r->parts[stage]);
    return status;
}

static void find_ranks(timing_run *r)
{
    r->rank_count = r->schedule != NULL ? r->schedule->ranks : r->stage_count;
    r->ranks = r->parts;
    if (r->schedule == NULL)
        return;
    r->ranks = LIN_NEW_ARRAY(r->scratch, lin_part, r->rank_count);
    for (uint32_t i = 0; i < r->rank_count; i++)
        lin_step_rank_part(r->schedule, i, r->parts, &r->ranks[i]);
}

/* ---- the step ---- */

/* Processes that shard a step's states have data of their own, as replicas have; the reference
 * counts those of replicas alone. */
static double data_shares(const timing_run *r)
{
    const bool counts = r->timing->training && r->settings->model == LIN_TIME_LINNET;
    return counts ? (double)r->parallel.shards : 1;
}

/* Elements of the first input when it holds integers, else its first extent. */
static double tokens_of(const timing_run *r, const int64_t *symbols)
{
    for (uint32_t i = 0; i < r->graph->objects.count; i++) {
        const lin_object *o = &r->graph->objects.items[i];
        int64_t tokens = 0;
        if (o->category != LIN_CATEGORY_INPUTS || o->producer != LIN_NO_STEP)
            continue;
        const bool counts_all = lin_dtype_class_of(o->dtype) == LIN_CLASS_INTEGER || o->rank == 0;
        return lin_expr_evaluate(r->graph->exprs, counts_all ? o->elements : o->shape[0], symbols,
                                 &tokens)
                   ? (double)tokens
                   : 0;
    }
    return 0;
}

static linnet_status run_step(timing_run *r, const int64_t *whole_symbols)
{
    lin_timing *t = r->timing;
    double gradients = 0, replayed = 0;
    for (uint32_t i = 0; i < r->stage_count; i++)
        gradients += r->parts[i].gradient_bytes;
    if (r->schedule != NULL && t->training) {
        const linnet_status status =
            lin_step_replay(r->schedule, r->parts, r->allocator, &replayed, r->err);
        if (status != LINNET_OK)
            return status;
    }
    const lin_step_settings step = {
        .training = t->training,
        .microbatches = t->microbatches,
        .accumulation = t->training ? r->answer->training->accumulation : 1,
        .replicas = r->parallel.replicas,
        .gradient_bytes = gradients,
        .tokens = tokens_of(r, whole_symbols) * data_shares(r),
        .replayed = replayed,
        .rules = r->rules,
    };
    lin_step_time_of(r->profile, r->ranks, r->rank_count, &step, &t->time);
    t->part = r->ranks[t->time.slowest];
    return LINNET_OK;
}

/* ---- utilisation ---- */

static void set_peak(timing_run *r)
{
    lin_timing *t = r->timing;
    const lin_sheet *sheet = &r->profile->sheet;
    lin_dtype dtype = LIN_DTYPE_F32;
    lin_dtype_find(t->dtype, strlen(t->dtype), &dtype);
    const lin_rate_dtype rate = lin_rate_dtype_of(dtype);
    const double said = rate == LIN_RATE_BF16  ? sheet->bf16
                        : rate == LIN_RATE_F16 ? sheet->f16
                                               : sheet->f32;
    t->peak = said > 0 ? said : lin_rate_peak(r->profile, rate);
    t->peak_source = said > 0 ? "data sheet" : "the profile's own";
}

/* A backward pass takes twice its forward's operations. */
static void set_operations(timing_run *r, const int64_t *symbols)
{
    lin_timing *t = r->timing;
    const double passes =
        (double)t->microbatches * (t->training ? (double)r->answer->training->accumulation : 1);
    double forward = 0, again = 0;
    for (uint32_t i = 0; i < r->stage_count; i++) {
        const double part = r->parts[i].model_operations * passes;
        forward += part;
        again +=
            part * lin_memory_recomputed(r->memory, r->is_pipeline ? i : LIN_NO_STAGE, symbols);
    }
    t->model_operations = t->training ? 3 * forward : forward;
    t->hardware_operations = t->model_operations + (t->training ? again : 0);
    t->recompute = forward > 0 ? again / forward : 0;
    t->devices = r->rank_count;
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
    t->microbatches = lin_memory_microbatches(r->memory);
    if (answer->pipeline != NULL)
        t->schedule = copy(arena, answer->pipeline->schedule);
    if (!t->training)
        return;
    t->optimizer = copy(arena, answer->training->optimizer);
    t->checkpoint = copy(arena, answer->training->checkpoint);
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
    t->assumptions = list;
}

/* Of the slowest rank: those of its stages. */
static void list_costliest(timing_run *r)
{
    lin_timing *t = r->timing;
    lin_costly *list = LIN_NEW_ARRAY(&t->arena, lin_costly, LIN_TIMING_COSTLIEST);
    lin_costliest costliest = { .arena = &t->arena };
    for (uint32_t i = 0; i < r->stage_count; i++)
        if (r->schedule == NULL ? i == t->time.slowest : r->schedule->rank_of[i] == t->time.slowest)
            lin_costliest_add(&costliest, r->costs[i],
                              r->is_pipeline ? &lin_memory_stage(r->memory, i)->graph : r->graph,
                              t->recompute, (double)t->microbatches);
    t->costliest_count = lin_costliest_take(&costliest, list);
    t->costliest = list;
}

static linnet_status run_all(timing_run *r)
{
    const int64_t *whole = NULL, *one = NULL;
    describe(r);
    linnet_status status = check_schedule(r);
    if (status == LINNET_OK)
        status = find_symbols(r, false, &whole);
    if (status == LINNET_OK)
        status = find_symbols(r, true, &one);
    r->parts = LIN_NEW_ARRAY(r->scratch, lin_part, r->stage_count);
    for (uint32_t i = 0; i < r->stage_count && status == LINNET_OK; i++)
        status = run_part(r, i, one);
    if (status != LINNET_OK)
        return status;
    find_ranks(r);
    status = run_step(r, whole);
    if (status != LINNET_OK)
        return status;
    set_operations(r, one);
    list_costliest(r);
    assume(r);
    return LINNET_OK;
}

/* Apart from its caller: no local that changes lives across the setjmp. */
static linnet_status fill(timing_run *r)
{
    jmp_buf out_of_memory;
    lin_arena *arena = &r->timing->arena;
    if (setjmp(out_of_memory) != 0) {
        arena->on_failure = NULL;
        return lin_fail_memory(r->err);
    }
    arena->on_failure = r->scratch->on_failure = &out_of_memory;
    const linnet_status status = run_all(r);
    arena->on_failure = NULL;
    return status;
}

/* Every cost is in `costs` as soon as it is made, so that it is freed whatever happens then. */
static linnet_status open_run(timing_run *r, lin_answer **out_answer)
{
    static const int64_t as_configured[LIN_ROLE_COUNT];
    linnet_status status = check_layout(r);
    if (status != LINNET_OK ||
        (status = lin_memory_analyse(r->memory, as_configured, out_answer, r->err)) != LINNET_OK)
        return status;
    r->answer = *out_answer;
    r->timing = lin_alloc_zeroed(r->allocator, sizeof(*r->timing));
    if (r->timing == NULL)
        return lin_fail_memory(r->err);
    r->timing->allocator = *r->allocator;
    lin_arena_init(&r->timing->arena, r->allocator);
    r->costs = lin_alloc_zeroed(r->allocator, r->stage_count * sizeof(*r->costs));
    return r->costs != NULL ? LINNET_OK : lin_fail_memory(r->err);
}

static void close_run(timing_run *r)
{
    for (uint32_t i = 0; i < r->stage_count && r->costs != NULL; i++)
        lin_cost_free(r->costs[i]);
    lin_release(r->allocator, r->costs, r->stage_count * sizeof(*r->costs));
    lin_timing_free(r->timing);
}

linnet_status lin_timing_new(lin_memory *memory, const lin_profile *profile,
                             const lin_timing_settings *settings, const lin_allocator *allocator,
                             lin_timing **out, linnet_error *err)
{
    lin_arena scratch;
    lin_answer *answer = NULL;
    const uint32_t stages = lin_memory_stage_count(memory);
    timing_run run = {
        .memory = memory,
        .profile = profile,
        .settings = settings,
        .graph = lin_memory_traced(memory)->graph,
        .schedule = settings->model == LIN_TIME_LINNET ? lin_memory_schedule(memory) : NULL,
        .allocator = allocator,
        .scratch = &scratch,
        .parallel = lin_parallel_normal(&settings->parallel),
        .rules = lin_time_model_rules(settings->model),
        .stage_count = stages > 0 ? stages : 1,
        .is_pipeline = stages > 0,
        .err = err,
    };
    lin_arena_init(&scratch, allocator);
    linnet_status status = open_run(&run, &answer);
    if (status == LINNET_OK)
        status = fill(&run);
    if (status == LINNET_OK) {
        *out = run.timing;
        run.timing = NULL;
    }
    close_run(&run);
    lin_answer_free(answer);
    lin_arena_free(&scratch);
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
