/* SPDX-License-Identifier: MIT */

/*
 * The answer to "how long does a step take": the memory's graph, or those of its stages, priced on
 * a device, their clocks run, put together, and what a report says of it. Cost: one analysis, for
 * the peak, and one pass over the calls.
 */

#include <string.h>

#include "cost/costliest.h"
#include "cost/timer.h"
#include "schedule/schedule.h"

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
    bool is_pipeline;
    lin_timer *timer;
    linnet_error *err;
} timing_run;

/* ---- what can be timed ---- */

/* The reference has two schedules, which cost the same, and one stage a rank. */
linnet_status lin_time_check_schedule(lin_time_model model, const char *schedule,
                                      int64_t virtual_stages, linnet_error *err)
{
    if (model != LIN_TIME_REFERENCE)
        return LINNET_OK;
    if (virtual_stages > 1 || (strcmp(schedule, "1f1b") != 0 && strcmp(schedule, "gpipe") != 0))
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "the time model `reference` has the schedules 1f1b and gpipe with one "
                        "stage a rank: `linnet` has the others");
    return LINNET_OK;
}

static linnet_status check_schedule(const timing_run *r)
{
    const lin_pipeline_answer *pipeline = r->answer->pipeline;
    if (!r->is_pipeline || pipeline == NULL)
        return LINNET_OK;
    return lin_time_check_schedule(r->settings->model, pipeline->schedule, pipeline->virtual_stages,
                                   r->err);
}

/* ---- the step ---- */

static linnet_status run_step(timing_run *r)
{
    lin_timing *t = r->timing;
    const lin_timer_settings settings = { .model = r->settings->model,
                                          .training = t->training,
                                          .optimizer = t->optimizer,
                                          .parallel = r->parallel,
                                          .loop = r->settings->loop };
    const lin_timer_job job = { .schedule = r->schedule,
                                .microbatches = t->microbatches,
                                .accumulation =
                                    t->training ? r->answer->training->accumulation : 1 };
    int64_t one[LIN_ROLE_COUNT];
    linnet_status status = lin_memory_cut(r->memory, r->answer->role_value, one, r->err);
    if (status != LINNET_OK ||
        (status = lin_timer_new(r->memory, r->profile, &settings, r->allocator, &r->timer,
                                r->err)) != LINNET_OK ||
        (status = lin_timer_price(r->timer, r->answer->role_value, one, r->err)) != LINNET_OK)
        return status;
    lin_timer_run(r->timer, &r->parallel);
    status = lin_timer_step(r->timer, &job, &t->time, r->err);
    if (status == LINNET_OK)
        t->part = r->timer->ranks[t->time.slowest];
    return status;
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
static void set_operations(timing_run *r)
{
    lin_timing *t = r->timing;
    const double passes =
        (double)t->microbatches * (t->training ? (double)r->answer->training->accumulation : 1);
    double forward = 0, again = 0;
    for (uint32_t i = 0; i < r->timer->stage_count; i++) {
        const double part = r->timer->parts[i].model_operations * passes;
        forward += part;
        again += part * r->timer->recompute[i];
    }
    t->model_operations = t->training ? 3 * forward : forward;
    t->hardware_operations = t->model_operations + (t->training ? again : 0);
    t->recompute = forward > 0 ? again / forward : 0;
    t->devices = r->timer->rank_count;
    set_peak(r);
}

/* ---- the answer ---- */

static void describe(timing_run *r)
{
    lin_timing *t = r->timing;
    lin_arena *arena = &t->arena;
    const lin_answer *answer = r->answer;
    t->model = lin_arena_copy(arena, answer->model);
    t->entry = lin_arena_copy(arena, answer->entry);
    t->dtype = lin_arena_copy(arena, answer->dtype);
    t->numerics = lin_arena_copy(arena, answer->numerics);
    t->device = lin_arena_copy(arena, r->profile->name);
    t->device_source = lin_arena_copy(arena, r->profile->source);
    t->time_model = r->settings->model;
    memcpy(t->role_value, answer->role_value, sizeof(t->role_value));
    t->training = answer->training != NULL;
    t->expected_peak = answer->peaks.expected;
    t->budget = lin_profile_budget(r->profile);
    t->microbatches = lin_memory_microbatches(r->memory);
    if (answer->pipeline != NULL)
        t->schedule = lin_arena_copy(arena, answer->pipeline->schedule);
    if (!t->training)
        return;
    t->optimizer = lin_arena_copy(arena, answer->training->optimizer);
    t->checkpoint = lin_arena_copy(arena, answer->training->checkpoint);
}

/* Of shards: whether their collectives are waited for. */
static const char *assume_shards(const timing_run *r)
{
    if (!r->timing->training || r->parallel.shards <= 1 || !(r->timer->rules & LIN_RULE_Z))
        return NULL;
    return r->parallel.prefetch > 0
               ? "collectives of shards run beside the calls, a group of weights at a time"
               : "each collective of shards is waited for: no weights are gathered ahead";
}

static void assume(timing_run *r)
{
    enum { MOST = 8 };
    lin_timing *t = r->timing;
    const char *shards = assume_shards(r);
    const char *network =
        lin_links_assumption(r->profile, &r->parallel, r->timer->rules, &t->arena);
    const char **list = LIN_NEW_ARRAY(&t->arena, const char *, MOST);
    list[t->assumption_count++] =
        "operations are those of products, attention and losses; attention under a causal mask "
        "counts half, a backward pass twice its forward pass";
    if (r->profile->base != NULL)
        list[t->assumption_count++] = lin_arena_format(
            &t->arena, "rates%s are `%s`'s scaled by the data sheets, host times are its own",
            lin_measured_any(&r->profile->measured) ? " that were not measured" : "",
            r->profile->base);
    if (t->training && r->settings->loop != LIN_LOOP_FREE)
        list[t->assumption_count++] = lin_arena_format(
            &t->arena,
            "the training loop is %s's: the host waits for the device after each pass, and "
            "gradients are summed when all of backward is done",
            lin_loop_name(r->settings->loop));
    if (t->recompute > 0 && !(r->timer->rules & LIN_RULE_K1))
        list[t->assumption_count++] =
            "what is recomputed takes the same share of each call of the forward pass";
    if (network != NULL)
        list[t->assumption_count++] = network;
    if (shards != NULL)
        list[t->assumption_count++] = shards;
    t->assumptions = list;
}

/* Of the slowest rank: those of its stages. */
static void list_costliest(timing_run *r)
{
    lin_timing *t = r->timing;
    lin_costly *list = LIN_NEW_ARRAY(&t->arena, lin_costly, LIN_TIMING_COSTLIEST);
    lin_costliest costliest = { .arena = &t->arena };
    for (uint32_t i = 0; i < r->timer->stage_count; i++) {
        const lin_part_settings around = { .recompute = r->timer->recompute[i],
                                           .again = r->timer->rules & LIN_RULE_K1
                                                        ? r->timer->again[i]
                                                        : NULL };
        if (r->schedule == NULL ? i == t->time.slowest : r->schedule->rank_of[i] == t->time.slowest)
            lin_costliest_add(&costliest, r->timer->costs[i],
                              r->is_pipeline ? &lin_memory_stage(r->memory, i)->graph : r->graph,
                              &around, (double)t->microbatches);
    }
    t->costliest_count = lin_costliest_take(&costliest, list);
    t->costliest = list;
}

static linnet_status run_all(timing_run *r)
{
    describe(r);
    linnet_status status = check_schedule(r);
    if (status == LINNET_OK)
        status = run_step(r);
    if (status != LINNET_OK)
        return status;
    set_operations(r);
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

static linnet_status open_run(timing_run *r, lin_answer **out_answer)
{
    static const int64_t as_configured[LIN_ROLE_COUNT];
    linnet_status status = lin_timer_check(lin_memory_traced(r->memory), &r->parallel, r->err);
    if (status != LINNET_OK ||
        (status = lin_memory_analyse(r->memory, as_configured, out_answer, r->err)) != LINNET_OK)
        return status;
    r->answer = *out_answer;
    r->timing = lin_alloc_zeroed(r->allocator, sizeof(*r->timing));
    if (r->timing == NULL)
        return lin_fail_memory(r->err);
    r->timing->allocator = *r->allocator;
    lin_arena_init(&r->timing->arena, r->allocator);
    return LINNET_OK;
}

static void close_run(timing_run *r)
{
    lin_timer_free(r->timer);
    lin_timing_free(r->timing);
}

linnet_status lin_timing_new(lin_memory *memory, const lin_profile *profile,
                             const lin_timing_settings *settings, const lin_allocator *allocator,
                             lin_timing **out, linnet_error *err)
{
    lin_arena scratch;
    lin_answer *answer = NULL;
    timing_run run = {
        .memory = memory,
        .profile = profile,
        .settings = settings,
        .graph = lin_memory_traced(memory)->graph,
        .schedule = settings->model == LIN_TIME_LINNET ? lin_memory_schedule(memory) : NULL,
        .allocator = allocator,
        .scratch = &scratch,
        .parallel = lin_parallel_normal(&settings->parallel),
        .is_pipeline = lin_memory_stage_count(memory) > 0,
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
