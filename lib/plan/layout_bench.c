/* SPDX-License-Identifier: MIT */

/*
 * What many layouts share, made once: a trace with its memory and the calls of its stages, and
 * schedules. Both are kept by what they depend on, and the one that was not used for longest makes
 * room. A layout that cannot be traced or prepared is kept as well, with the reason.
 *
 * Cost: a trace and the timelines of its stages for each way to split; nothing for a layout that
 * differs in schedule or micro-batches, but the list of its ranks.
 */

#include "plan/layout_search.h"

#include <string.h>

void lin_bench_open(lin_bench *bench, const lin_layouts_settings *settings,
                    const lin_layout_facts *facts, const lin_allocator *allocator)
{
    memset(bench, 0, sizeof *bench);
    bench->settings = settings;
    bench->facts = facts;
    bench->allocator = allocator;
    bench->weigher =
        lin_plan_time_weigher(settings->profile, settings->time_model, facts->role, allocator);
}

static void empty(lin_prepared *p)
{
    lin_timer_free(p->timer);
    lin_memory_free(p->memory);
    memset(p, 0, sizeof *p);
}

static void drop_outlines(lin_bench *bench)
{
    for (uint32_t i = 0; i < bench->outline_count; i++)
        lin_schedule_free(bench->outlines[i]);
    bench->outline_count = 0;
}

void lin_bench_close(lin_bench *bench)
{
    drop_outlines(bench);
    for (uint32_t i = 0; i < LIN_BENCH_PREPARED; i++)
        empty(&bench->prepared[i]);
    for (uint32_t i = 0; i < LIN_BENCH_SCHEDULES; i++)
        lin_schedule_free(bench->schedules[i].schedule);
}

bool lin_bench_is_fatal(linnet_status status)
{
    return status == LINNET_ERROR_NO_MEMORY || status == LINNET_ERROR_CANCELLED;
}

/* ---- schedules ---- */

static lin_bench_schedule *find_schedule(lin_bench *bench, const lin_job_layout *layout)
{
    lin_bench_schedule *oldest = &bench->schedules[0];
    for (uint32_t i = 0; i < LIN_BENCH_SCHEDULES; i++) {
        lin_bench_schedule *s = &bench->schedules[i];
        if (s->name == layout->schedule && s->ranks == layout->parallel.pipeline &&
            s->virtual_stages == layout->virtual_stages && s->microbatches == layout->microbatches)
            return s;
        if (s->used < oldest->used)
            oldest = s;
    }
    lin_schedule_free(oldest->schedule);
    *oldest = (lin_bench_schedule){ 0 };
    return oldest;
}

static linnet_status get_schedule(lin_bench *bench, const lin_job_layout *layout,
                                  lin_bench_schedule **out, linnet_error *err)
{
    lin_bench_schedule *s = find_schedule(bench, layout);
    const lin_schedule_request request = { .name = layout->schedule,
                                           .ranks = layout->parallel.pipeline,
                                           .microbatches = layout->microbatches,
                                           .virtual_stages = layout->virtual_stages };
    s->used = ++bench->clock;
    *out = s;
    if (s->name != NULL)
        return LINNET_OK;
    const linnet_status status = lin_memory_schedule_new(
        &request, bench->settings->training != NULL, bench->allocator, &s->schedule, err);
    if (status == LINNET_OK) {
        s->name = layout->schedule;
        s->ranks = layout->parallel.pipeline;
        s->virtual_stages = layout->virtual_stages;
        s->microbatches = layout->microbatches;
        s->number = bench->clock;
    }
    return status;
}

linnet_status lin_bench_schedule_of(lin_bench *bench, const lin_job_layout *layout,
                                    const lin_schedule **out, linnet_error *err)
{
    lin_bench_schedule *s = NULL;
    *out = NULL;
    if (layout->schedule == NULL)
        return LINNET_OK;
    const linnet_status status = get_schedule(bench, layout, &s, err);
    *out = s->schedule;
    return status;
}

linnet_status lin_bench_outline(lin_bench *bench, int64_t ranks, int64_t virtual_stages,
                                int64_t microbatches, linnet_error *err)
{
    drop_outlines(bench);
    bench->outline_refused[0] = '\0';
    for (uint32_t k = 0; k < lin_schedule_kind_count(); k++) {
        const lin_schedule_request request = { .name = lin_schedule_kind_name(k),
                                               .ranks = ranks,
                                               .microbatches = microbatches,
                                               .virtual_stages = virtual_stages };
        linnet_error why = { 0 };
        if (!lin_space_has_schedule(bench->settings, k, virtual_stages) ||
            bench->outline_count == LIN_BENCH_OUTLINES)
            continue;
        const linnet_status status = lin_schedule_outline(
            &request, bench->allocator, &bench->outlines[bench->outline_count], &why);
        if (status == LINNET_ERROR_NO_MEMORY)
            return lin_fail_memory(err);
        if (status == LINNET_OK)
            bench->outline_kind[bench->outline_count++] = (uint8_t)k;
        else
            memcpy(bench->outline_refused, why.message, sizeof bench->outline_refused);
    }
    return LINNET_OK;
}

/* ---- memories ---- */

static bool splits_backward(const char *schedule)
{
    for (uint32_t i = 0; schedule != NULL && i < lin_schedule_kind_count(); i++)
        if (strcmp(lin_schedule_kind_name(i), schedule) == 0)
            return lin_schedule_kind_splits(i);
    return false;
}

/* What is made of a layout. */
typedef enum bench_kind {
    BENCH_BASE,   /* without what shards, replicates and repeats; with calls */
    BENCH_MEMORY, /* its own, to follow any schedule of its stages */
    BENCH_OWN     /* its own with its micro-batches; with calls */
} bench_kind;

/* A schedule says how many there are, but whether there are some is settled before: the first input
 * must be one that they can cut. */
static int64_t microbatches_of(const lin_job_layout *layout, bench_kind kind)
{
    if (kind == BENCH_OWN)
        return layout->microbatches;
    return kind == BENCH_MEMORY && layout->microbatches > 1;
}

/* Policies are the same texts in all layouts of a search, so their places tell them apart. */
static void make_key(const lin_job_layout *layout, bench_kind kind, int64_t key[LIN_BENCH_KEYS])
{
    const lin_parallel *parallel = &layout->parallel;
    const bool is_base = kind == BENCH_BASE;
    const int64_t values[LIN_BENCH_KEYS] = {
        kind,
        parallel->tensor,
        parallel->sequence,
        parallel->context,
        parallel->expert,
        parallel->pipeline * layout->virtual_stages,
        (int64_t)(intptr_t)layout->checkpoint,
        is_base ? 1 : parallel->shards,
        is_base ? 1 : parallel->replicas,
        is_base ? 0 : parallel->zero,
        !is_base && splits_backward(layout->schedule),
        !is_base && layout->accumulation > 1,
        microbatches_of(layout, kind),
    };
    memcpy(key, values, sizeof values);
}

static lin_prepared *find_prepared(lin_bench *bench, const int64_t key[LIN_BENCH_KEYS])
{
    lin_prepared *oldest = &bench->prepared[0];
    for (uint32_t i = 0; i < LIN_BENCH_PREPARED; i++) {
        lin_prepared *p = &bench->prepared[i];
        if (p->used > 0 && memcmp(p->key, key, sizeof p->key) == 0)
            return p;
        if (p->used < oldest->used)
            oldest = p;
    }
    empty(oldest);
    return oldest;
}

static lin_trace_settings trace_of(const lin_bench *bench, const lin_parallel *parallel)
{
    lin_trace_settings trace = bench->settings->trace;
    trace.processes = parallel->tensor;
    trace.sequence_parallel = parallel->sequence;
    trace.context_processes = parallel->context;
    trace.expert_processes = parallel->expert;
    if (!trace.role_given[bench->facts->role])
        trace.role_vary[bench->facts->role] = true;
    return trace;
}

/* The degrees of a base: experts need something to be spread over. */
static lin_parallel base_parallel(const lin_parallel *parallel)
{
    lin_parallel base = *parallel;
    base.shards = base.replicas = 1;
    base.zero = 3;
    if (base.expert > 1)
        lin_parallel_spread_experts(&base);
    return base;
}

/* The layout that a base is of: each stage has a rank, which runs one micro-batch. */
static lin_job_layout base_layout(const lin_job_layout *layout)
{
    lin_job_layout base = *layout;
    base.parallel = base_parallel(&layout->parallel);
    base.parallel.pipeline = layout->parallel.pipeline * layout->virtual_stages;
    base.schedule = NULL;
    base.virtual_stages = base.microbatches = base.accumulation = 1;
    return base;
}

/* `training` is what the settings point at. */
static lin_memory_settings memory_of(const lin_bench *bench, const lin_job_layout *layout,
                                     lin_training_settings *training)
{
    const lin_layouts_settings *settings = bench->settings;
    lin_memory_settings memory = settings->memory;
    memory.parallel = layout->parallel;
    memory.pipeline.ranks = layout->parallel.pipeline;
    memory.pipeline.microbatches = layout->microbatches;
    memory.pipeline.virtual_stages = layout->virtual_stages;
    memory.pipeline.schedule = layout->schedule;
    memory.pipeline.any_backward = splits_backward(layout->schedule);
    memory.pipeline.weigher = settings->stages_by_time ? &bench->weigher.base : NULL;
    memory.with_timeline = false;
    if (settings->training == NULL)
        return memory;
    *training = *settings->training;
    training->checkpoint = layout->checkpoint;
    training->accumulation = layout->accumulation;
    memory.training = training;
    return memory;
}

static linnet_status prepare(lin_bench *bench, const lin_job_layout *layout, bench_kind kind,
                             lin_prepared *p, linnet_error *err)
{
    const lin_layouts_settings *settings = bench->settings;
    const lin_job_layout made = kind == BENCH_BASE ? base_layout(layout) : *layout;
    const lin_trace_settings trace = trace_of(bench, &made.parallel);
    lin_training_settings training;
    const lin_memory_settings memory = memory_of(bench, &made, &training);
    lin_traced traced;
    linnet_status status = lin_trace(settings->source, &trace, bench->allocator, &traced, err);
    if (status != LINNET_OK)
        return status;
    if ((status = lin_timer_check(&traced, &made.parallel, err)) != LINNET_OK) {
        lin_graph_free(traced.graph);
        return status;
    }
    return lin_memory_new(settings->source, &traced, &trace, &memory, bench->allocator, &p->memory,
                          err);
}

static linnet_status add_timer(lin_bench *bench, const lin_job_layout *layout, lin_prepared *p,
                               linnet_error *err)
{
    const lin_layouts_settings *settings = bench->settings;
    const lin_timer_settings timer = {
        .model = settings->time_model,
        .training = settings->training != NULL,
        .optimizer = settings->training != NULL ? settings->training->optimizer : NULL,
        .parallel = layout->parallel,
    };
    return lin_timer_new(p->memory, settings->profile, &timer, bench->allocator, &p->timer, err);
}

/* What a layout is refused for stays with it. */
static linnet_status get(lin_bench *bench, const lin_job_layout *layout, bench_kind kind,
                         lin_prepared **out, linnet_error *err)
{
    int64_t key[LIN_BENCH_KEYS];
    linnet_error why = { 0 };
    make_key(layout, kind, key);
    lin_prepared *p = find_prepared(bench, key);
    *out = p;
    if (p->used > 0) {
        p->used = ++bench->clock;
        return LINNET_OK;
    }
    p->status = prepare(bench, layout, kind, p, &why);
    if (p->status == LINNET_OK && kind != BENCH_MEMORY)
        p->status = add_timer(bench, layout, p, &why);
    if (lin_bench_is_fatal(p->status)) {
        const linnet_status status = p->status;
        empty(p);
        return status == LINNET_ERROR_NO_MEMORY ? lin_fail_memory(err) : status;
    }
    memcpy(p->key, key, sizeof key);
    memcpy(p->message, why.message, sizeof p->message);
    p->used = ++bench->clock;
    return LINNET_OK;
}

linnet_status lin_bench_base(lin_bench *bench, const lin_job_layout *layout, lin_prepared **out,
                             linnet_error *err)
{
    return get(bench, layout, BENCH_BASE, out, err);
}

linnet_status lin_bench_own(lin_bench *bench, const lin_job_layout *layout, lin_prepared **out,
                            linnet_error *err)
{
    return get(bench, layout, BENCH_OWN, out, err);
}

static linnet_status follow(lin_bench *bench, const lin_job_layout *layout, lin_prepared *p,
                            linnet_error *err)
{
    lin_bench_schedule *schedule = NULL;
    linnet_status status = get_schedule(bench, layout, &schedule, err);
    if (status != LINNET_OK || p->schedule == schedule->number)
        return status;
    status = lin_memory_reschedule(p->memory, schedule->schedule, err);
    p->schedule = status == LINNET_OK ? schedule->number : 0;
    return status;
}

linnet_status lin_bench_memory(lin_bench *bench, const lin_job_layout *layout, lin_prepared **out,
                               linnet_error *err)
{
    linnet_status status = get(bench, layout, BENCH_MEMORY, out, err);
    if (status != LINNET_OK || (*out)->status != LINNET_OK || layout->schedule == NULL)
        return status;
    status = follow(bench, layout, *out, err);
    if (status == LINNET_OK || lin_bench_is_fatal(status))
        return status;
    /* Without its schedule it can only go. */
    const linnet_status refused = status;
    empty(*out);
    return refused;
}
