/* SPDX-License-Identifier: MIT */

/*
 * A prepared memory's step on a device, for many jobs: the calls of each stage are found once, a
 * size prices them, a way to shard runs their clocks, and a schedule puts the parts together.
 *
 *     memory, device -> calls      lin_timer_new      once
 *     sizes          -> prices     lin_timer_price    linear in the distinct calls
 *     degrees        -> parts      lin_timer_run      linear in the calls
 *     schedule       -> a step     lin_timer_step     linear in the actions, or in the stages
 */

#include "cost/timer.h"

#include <string.h>

#include "schedule/schedule.h"

/* Copies of the parameters that an optimizer's pass reads and writes. States of 8 bits count as the
 * half of bf16's. */
static const struct optimizer_row {
    const char *name;
    double states;
    const char *untimed; /* what its pass does beside that, which is not modelled; NULL: nothing */
} optimizer_rows[] = {
    { "adamw", 2, NULL },
    { "sgd", 0, NULL },
    { "sgd-momentum", 1, NULL },
    { "lion", 1, NULL },
    { "muon", 1, "its Newton-Schulz products" },
    { "adafactor", 0, NULL },
    { "adamw-8bit", 1, NULL },
    { "paged-adamw-8bit", 1, "its pages that come from the host" },
};

/* Others are Adams. */
static const struct optimizer_row *optimizer_row_of(const char *optimizer)
{
    for (uint32_t i = 0; i < ARRAY_LEN(optimizer_rows) && optimizer != NULL; i++)
        if (strcmp(optimizer_rows[i].name, optimizer) == 0)
            return &optimizer_rows[i];
    return &optimizer_rows[0];
}

double lin_timer_states(const char *optimizer)
{
    return optimizer_row_of(optimizer)->states;
}

linnet_status lin_timer_check(const lin_traced *traced, const lin_parallel *parallel,
                              linnet_error *err)
{
    if (parallel->tensor > 1 && !traced->has_shards)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "the time of a model that is split by rules is not modelled: only of one "
                        "with a generic `Shards`, whose collectives are its own");
    return LINNET_OK;
}

/* The reference has none of what rules CP and EP add. */
static linnet_status check_model(const lin_timer_settings *settings, linnet_error *err)
{
    const lin_parallel *parallel = &settings->parallel;
    const struct optimizer_row *optimizer = optimizer_row_of(settings->optimizer);
    if (settings->training && optimizer->untimed != NULL)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "the time of a step with `%s` is not modelled: %s are no pass over the "
                        "weights; `memory` and sizes that fit are",
                        optimizer->name, optimizer->untimed);
    if (settings->model != LIN_TIME_REFERENCE || (parallel->context <= 1 && parallel->expert <= 1))
        return LINNET_OK;
    return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                    "the time model `reference` has no %s parallelism: `linnet` has",
                    parallel->context > 1 ? "context" : "expert");
}

/* ---- calls ---- */

static uint32_t place_of(const lin_timer *t, uint32_t stage)
{
    return t->is_pipeline ? stage : LIN_NO_STAGE;
}

static const lin_graph *graph_of(const lin_timer *t, uint32_t stage)
{
    return t->is_pipeline ? &lin_memory_stage(t->memory, stage)->graph : t->graph;
}

static linnet_status open_costs(lin_timer *t, linnet_error *err)
{
    linnet_status status = LINNET_OK;
    for (uint32_t i = 0; i < t->stage_count && status == LINNET_OK; i++) {
        const lin_cost_settings settings = {
            .training = t->settings.training,
            .is_stage = t->is_pipeline,
            .processes = t->settings.parallel.tensor,
            .context = t->settings.parallel.context,
            .expert = t->settings.parallel.expert,
            .exchange = t->settings.parallel.exchange,
            .trained = lin_memory_trained(t->memory, place_of(t, i)),
            .rules = t->rules,
        };
        status = lin_cost_new(graph_of(t, i), &settings, &t->allocator, &t->costs[i], err);
    }
    return status;
}

/* Apart from its caller: no local that changes lives across the setjmp. */
static linnet_status open_guarded(lin_timer *t, linnet_error *err)
{
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0) {
        t->arena.on_failure = NULL;
        return lin_fail_memory(err);
    }
    t->arena.on_failure = &out_of_memory;
    const uint32_t symbols = lin_expr_symbol_count(t->graph->exprs);
    t->costs = LIN_NEW_ARRAY(&t->arena, lin_cost *, t->stage_count);
    t->parts = LIN_NEW_ARRAY(&t->arena, lin_part, t->stage_count);
    t->received = LIN_NEW_ARRAY(&t->arena, double, t->stage_count);
    t->recompute = LIN_NEW_ARRAY(&t->arena, double, t->stage_count);
    t->again = LIN_NEW_ARRAY(&t->arena, bool *, t->stage_count);
    for (uint32_t i = 0; i < t->stage_count; i++) {
        t->again[i] = LIN_NEW_ARRAY(&t->arena, bool, graph_of(t, i)->steps.count);
        lin_memory_mark_recomputed(t->memory, place_of(t, i), t->again[i]);
    }
    t->ranks = LIN_NEW_ARRAY(&t->arena, lin_part, t->stage_count);
    t->whole = LIN_NEW_ARRAY(&t->arena, int64_t, symbols);
    t->one = LIN_NEW_ARRAY(&t->arena, int64_t, symbols);
    t->arena.on_failure = NULL;
    return open_costs(t, err);
}

linnet_status lin_timer_new(lin_memory *memory, const lin_profile *profile,
                            const lin_timer_settings *settings, const lin_allocator *allocator,
                            lin_timer **out, linnet_error *err)
{
    const uint32_t stages = lin_memory_stage_count(memory);
    linnet_status status = check_model(settings, err);
    if (status != LINNET_OK)
        return status;
    lin_timer *t = lin_alloc_zeroed(allocator, sizeof(*t));
    if (t == NULL)
        return lin_fail_memory(err);
    *t = (lin_timer){
        .allocator = *allocator,
        .memory = memory,
        .profile = profile,
        .settings = *settings,
        .graph = lin_memory_traced(memory)->graph,
        .rules = lin_time_model_rules(settings->model),
        .is_pipeline = stages > 0,
        .stage_count = stages > 0 ? stages : 1,
    };
    t->settings.parallel = lin_parallel_normal(&settings->parallel);
    lin_arena_init(&t->arena, allocator);
    status = open_guarded(t, err);
    if (status != LINNET_OK) {
        lin_timer_free(t);
        return status;
    }
    *out = t;
    return LINNET_OK;
}

void lin_timer_free(lin_timer *t)
{
    if (t == NULL)
        return;
    for (uint32_t i = 0; i < t->stage_count && t->costs != NULL; i++)
        lin_cost_free(t->costs[i]);
    const lin_allocator allocator = t->allocator;
    lin_arena_free(&t->arena);
    lin_release(&allocator, t, sizeof(*t));
}

/* ---- sizes ---- */

static void set_symbols(const lin_timer *t, const int64_t values[LIN_ROLE_COUNT], int64_t *symbols)
{
    const uint32_t count = lin_expr_symbol_count(t->graph->exprs);
    for (uint32_t i = 0; i < count; i++)
        symbols[i] = 1;
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++)
        if (t->graph->role_free[role])
            symbols[t->graph->role_symbols[role]] = values[role];
}

/* Bytes that the stage's received values own in the whole graph. */
static double received_bytes(const lin_timer *t, uint32_t stage)
{
    double sum = 0;
    if (!t->is_pipeline)
        return 0;
    const lin_stage_graph *split = lin_memory_stage(t->memory, stage);
    for (uint32_t i = 0; i < split->received_count; i++) {
        int64_t bytes = 0;
        if (lin_expr_evaluate(t->graph->exprs,
                              t->graph->objects.items[split->received[i].whole].bytes, t->one,
                              &bytes))
            sum += (double)bytes;
    }
    return sum;
}

/* Elements of the first input when it holds integers, else its first extent. */
static double tokens_of(const lin_timer *t)
{
    for (uint32_t i = 0; i < t->graph->objects.count; i++) {
        const lin_object *o = &t->graph->objects.items[i];
        int64_t tokens = 0;
        if (o->category != LIN_CATEGORY_INPUTS || o->producer != LIN_NO_STEP)
            continue;
        const bool counts_all = lin_dtype_class_of(o->dtype) == LIN_CLASS_INTEGER || o->rank == 0;
        return lin_expr_evaluate(t->graph->exprs, counts_all ? o->elements : o->shape[0], t->whole,
                                 &tokens)
                   ? (double)tokens
                   : 0;
    }
    return 0;
}

linnet_status lin_timer_price(lin_timer *t, const int64_t whole[LIN_ROLE_COUNT],
                              const int64_t one[LIN_ROLE_COUNT], linnet_error *err)
{
    set_symbols(t, whole, t->whole);
    set_symbols(t, one, t->one);
    t->tokens = tokens_of(t);
    for (uint32_t i = 0; i < t->stage_count; i++) {
        const linnet_status status = lin_cost_price(t->costs[i], t->profile, t->one, err);
        if (status != LINNET_OK)
            return status;
        t->received[i] = received_bytes(t, i);
        t->recompute[i] = lin_memory_recomputed(t->memory, place_of(t, i), t->one);
    }
    return LINNET_OK;
}

/* ---- parts and steps ---- */

void lin_timer_run(lin_timer *t, const lin_parallel *parallel)
{
    t->settings.parallel = *parallel;
    lin_links_of(t->profile, parallel, t->rules, &t->links);
    for (uint32_t i = 0; i < t->stage_count; i++) {
        const lin_part_settings around = {
            .recompute = t->recompute[i],
            .again = t->rules & LIN_RULE_K1 ? t->again[i] : NULL,
            .received_bytes = t->received[i],
            .shards = parallel->shards,
            .keeps_parameters = parallel->zero == 1 || parallel->zero == 2,
            .keeps_gradients = parallel->zero == 1,
            .prefetch = parallel->prefetch,
            .reshard = parallel->reshard,
            .links = &t->links,
            .optimizer_states = t->settings.training ? lin_timer_states(t->settings.optimizer) : 0,
            .loop = t->settings.loop,
            .master_size = (double)lin_memory_master_size(t->memory),
            .gradient_size = (double)lin_memory_gradient_size(t->memory),
        };
        lin_cost_part(t->costs[i], t->profile, &around, &t->parts[i]);
    }
}

/* Processes that shard a step's states have data of their own, as replicas have; the reference
 * counts those of replicas alone. Those of a context have positions of their own. */
static double data_shares(const lin_timer *t)
{
    const bool counts = t->settings.training && t->settings.model == LIN_TIME_LINNET;
    return (counts ? (double)t->settings.parallel.shards : 1) *
           (double)t->settings.parallel.context;
}

static void find_ranks(lin_timer *t, const lin_schedule *schedule)
{
    t->rank_count = schedule != NULL ? schedule->ranks : t->stage_count;
    for (uint32_t i = 0; i < t->rank_count; i++) {
        if (schedule != NULL)
            lin_step_rank_part(schedule, i, t->parts, &t->ranks[i]);
        else
            t->ranks[i] = t->parts[i];
    }
}

static void put_together(lin_timer *t, const lin_timer_job *job, double replayed,
                         lin_step_time *out)
{
    double gradients = 0;
    for (uint32_t i = 0; i < t->stage_count; i++)
        gradients += t->parts[i].gradient_bytes;
    const lin_step_settings step = {
        .training = t->settings.training,
        .microbatches = job->microbatches,
        .accumulation = t->settings.training ? job->accumulation : 1,
        .replicas = t->settings.parallel.replicas,
        .gradient_bytes = gradients,
        .tokens = t->tokens * data_shares(t),
        .replayed = replayed,
        .rules = t->rules,
        .links = &t->links,
        .shards = t->settings.parallel.shards,
        .expert_shards = lin_parallel_expert_shards(&t->settings.parallel),
        .loop = t->settings.loop,
    };
    lin_step_time_of(t->profile, t->ranks, t->rank_count, &step, out);
}

/* The reference has slots in place of a replay. */
static const lin_schedule *schedule_of(const lin_timer *t, const lin_timer_job *job)
{
    return t->settings.model == LIN_TIME_REFERENCE ? NULL : job->schedule;
}

linnet_status lin_timer_step(lin_timer *t, const lin_timer_job *job, lin_step_time *out,
                             linnet_error *err)
{
    const lin_schedule *schedule = schedule_of(t, job);
    double replayed = 0;
    find_ranks(t, schedule);
    if (schedule != NULL && t->settings.training) {
        const linnet_status status =
            lin_step_replay(schedule, t->parts, &t->allocator, &replayed, err);
        if (status != LINNET_OK)
            return status;
    }
    put_together(t, job, replayed, out);
    return LINNET_OK;
}

/* ---- bounds ---- */

/* A replay counts in tenths of a nanosecond, each action rounded to the nearest. */
static const double replay_tick = 1e-10;

/*
 * No replay is shorter than this. A rank runs all its actions one after the other: `busy`, M times
 * the sum of its stages. None of them begins before the first micro-batch went forward through
 * every stage before its lowest one. Where the backward is one action, its last action is one, and
 * the stages before its lowest one run theirs of the same micro-batch after it. The longest rank
 * decides:
 *
 *     forwards before it | its own M micro-batches | backwards before it
 *
 * A schedule of two directions has ranks that begin at once, and is bounded by `busy` alone.
 */
static double shortest_replay(const lin_timer *t, const lin_timer_job *job,
                              const lin_schedule *schedule)
{
    double longest = 0;
    for (uint32_t r = 0; r < schedule->ranks; r++) {
        const lin_schedule_rank *rank = &schedule->rank[r];
        uint32_t lowest = UINT32_MAX;
        double seconds = (double)job->microbatches * t->ranks[r].seconds;
        for (uint32_t i = 0; i < rank->slot_count; i++)
            lowest = rank->slots[i].stage < lowest ? rank->slots[i].stage : lowest;
        for (uint32_t i = 0; i < lowest && schedule->directions == 1; i++)
            seconds += job->splits_backward ? t->parts[i].forward : t->parts[i].seconds;
        longest = seconds > longest ? seconds : longest;
    }
    const double actions = 2.0 * (double)job->microbatches * schedule->stages;
    const double rounded = replay_tick * actions;
    return longest > rounded ? longest - rounded : 0;
}

void lin_timer_bound(lin_timer *t, const lin_timer_job *job, lin_step_time *out)
{
    const lin_schedule *schedule = schedule_of(t, job);
    double shortest = 0;
    find_ranks(t, schedule);
    if (schedule != NULL && t->settings.training)
        shortest = shortest_replay(t, job, schedule);
    put_together(t, job, shortest, out);
}
