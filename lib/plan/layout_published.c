/* SPDX-License-Identifier: MIT */

/*
 * The published search (cli-report.md 3.2): tensor and pipeline degrees that are powers of two, the
 * rest replicas; P, 2P and 4P micro-batches; with and without block checkpointing. In each the
 * largest size that fits and the powers of two below it are timed, and the fastest is kept, of
 * equally fast ones the smaller. Every layout is looked at: there are few.
 */

#include "plan/layout_search.h"

#include <string.h>

typedef struct published_pass {
    const lin_layouts_settings *settings;
    const lin_layout_facts *facts;
    const lin_allocator *allocator;
    lin_arena *arena;
    lin_results *out;
    lin_bench *bench;
    linnet_error *err;
} published_pass;

/* ---- a size ---- */

static linnet_status time_size(const published_pass *p, const lin_job_layout *layout,
                               lin_prepared *own, int64_t size, lin_step_time *out,
                               linnet_error *why)
{
    int64_t whole[LIN_ROLE_COUNT], one[LIN_ROLE_COUNT];
    const lin_timer_job job = { .schedule = lin_memory_schedule(own->memory),
                                .microbatches = layout->microbatches,
                                .accumulation = 1 };
    linnet_status status;
    lin_rate_sizes(p->facts, layout, size, whole, one);
    if ((status = lin_memory_sizes(own->memory, whole, whole, why)) != LINNET_OK ||
        (status = lin_memory_cut(own->memory, whole, one, why)) != LINNET_OK ||
        (status = lin_timer_price(own->timer, whole, one, why)) != LINNET_OK)
        return status;
    lin_timer_run(own->timer, &layout->parallel);
    return lin_timer_step(own->timer, &job, out, why);
}

static linnet_status keep_faster(const published_pass *p, lin_prepared *own, int64_t size,
                                 lin_layout_result *result, linnet_error *why)
{
    lin_step_time time;
    const linnet_status status = time_size(p, &result->layout, own, size, &time, why);
    if (status != LINNET_OK || time.tokens_per_second <= result->time.tokens_per_second)
        return status;
    result->time = time;
    result->size = size;
    return LINNET_OK;
}

static linnet_status weigh(const published_pass *p, lin_prepared *own, lin_layout_result *result,
                           linnet_error *why)
{
    int64_t request[LIN_ROLE_COUNT] = { 0 };
    lin_peaks peaks;
    request[p->facts->role] = result->size;
    const linnet_status status = lin_memory_peaks(own->memory, request, &peaks, why);
    if (status == LINNET_OK)
        result->expected_peak = peaks.expected;
    return status;
}

/* ---- a layout ---- */

static linnet_status take_given(const published_pass *p, lin_prepared *own,
                                lin_layout_result *result, linnet_error *why)
{
    int64_t request[LIN_ROLE_COUNT] = { 0 };
    bool holds = false;
    linnet_status status;
    result->size = request[p->facts->role] = p->facts->size;
    if ((status = lin_memory_holds(own->memory, request, &holds, why)) != LINNET_OK ||
        (holds && (status = weigh(p, own, result, why)) != LINNET_OK))
        return status;
    if (!holds) {
        result->state = LIN_LAYOUT_CLAUSES;
        result->reason = "the model's `where` clauses do not hold";
    } else if (result->expected_peak > p->settings->budget_bytes) {
        result->state = LIN_LAYOUT_TOO_LARGE;
        result->reason = "does not fit";
    } else {
        return keep_faster(p, own, p->facts->size, result, why);
    }
    return LINNET_OK;
}

static linnet_status take_largest(const published_pass *p, lin_prepared *own,
                                  lin_layout_result *result, linnet_error *why)
{
    const lin_fit_settings wanted = { .role = p->facts->role,
                                      .cache_follows =
                                          !p->settings->trace.role_given[LIN_ROLE_CACHE],
                                      .budget_bytes = p->settings->budget_bytes };
    const int64_t unit = result->layout.microbatches;
    lin_fit fit;
    linnet_status status = lin_fit_search(own->memory, &wanted, &fit, why);
    if (status != LINNET_OK)
        return status;
    if (fit.value == 0) {
        const bool by_memory = fit.limited_by == LIN_FIT_MEMORY;
        result->state = by_memory ? LIN_LAYOUT_TOO_LARGE : LIN_LAYOUT_CLAUSES;
        result->reason = by_memory ? "memory: none fits" : "the model's `where` clauses: none fits";
        result->expected_peak = fit.expected_peak;
        result->size = fit.smallest;
        return LINNET_OK;
    }
    for (int64_t size = unit; size < fit.value && status == LINNET_OK; size *= 2) {
        int64_t request[LIN_ROLE_COUNT] = { 0 };
        bool holds = false;
        request[p->facts->role] = size;
        status = lin_memory_holds(own->memory, request, &holds, why);
        if (status == LINNET_OK && holds)
            status = keep_faster(p, own, size, result, why);
    }
    if (status == LINNET_OK)
        status = keep_faster(p, own, fit.value, result, why);
    return status == LINNET_OK ? weigh(p, own, result, why) : status;
}

static linnet_status search_layout(const published_pass *p, lin_layout_result *result)
{
    lin_prepared *own = NULL;
    linnet_error why = { 0 };
    linnet_status status = lin_bench_own(p->bench, &result->layout, &own, p->err);
    if (status != LINNET_OK)
        return status;
    if (own->status == LINNET_OK)
        status = p->facts->is_size_given ? take_given(p, own, result, &why)
                                         : take_largest(p, own, result, &why);
    else
        status = lin_fail(&why, own->status, "%s", own->message);
    if (lin_bench_is_fatal(status))
        return lin_fail_memory(p->err);
    if (status != LINNET_OK) {
        result->state = LIN_LAYOUT_REFUSED;
        result->reason = lin_arena_copy(p->arena, why.message);
    }
    return LINNET_OK;
}

/* ---- all of them ---- */

/* One line for a pair of degrees whose trace is refused. */
static bool is_repeated(const published_pass *p, const lin_layout_result *result)
{
    const lin_layout_result *last = p->out->count > 0 ? &p->out->items[p->out->count - 1] : NULL;
    return result->state == LIN_LAYOUT_REFUSED && last != NULL &&
           last->state == LIN_LAYOUT_REFUSED &&
           last->layout.parallel.tensor == result->layout.parallel.tensor &&
           last->layout.parallel.pipeline == result->layout.parallel.pipeline &&
           strcmp(last->reason, result->reason) == 0;
}

static linnet_status search_unit(const published_pass *p, const lin_layout_unit *unit)
{
    const char *policies[LIN_SPACE_POLICIES];
    lin_counts counts = { NULL, 0, 0 };
    const uint32_t policy_count = lin_space_policies(p->settings, policies);
    lin_space_microbatches(p->settings, unit, 0, p->arena, &counts);
    for (uint32_t i = 0; i < counts.count * policy_count; i++) {
        lin_layout_result result = {
            .layout = { .parallel = { .tensor = unit->tensor,
                                      .context = unit->context,
                                      .expert = unit->expert,
                                      .shards = unit->shardings[0].shards,
                                      .replicas = unit->shardings[0].replicas,
                                      .pipeline = unit->pipeline,
                                      .sequence = unit->sequence,
                                      .zero = unit->shardings[0].zero },
                        .schedule = unit->pipeline > 1 ? "1f1b" : NULL,
                        .virtual_stages = 1,
                        .microbatches = counts.items[i / policy_count],
                        .accumulation = 1,
                        .checkpoint = policies[i % policy_count] },
            .reason = "",
            .expected_peak = -1,
        };
        const linnet_status status = search_layout(p, &result);
        if (status != LINNET_OK)
            return status;
        if (is_repeated(p, &result))
            continue;
        result.name = lin_layouts_name(p->arena, &result.layout);
        LIN_PUSH(p->arena, p->out, result);
    }
    return LINNET_OK;
}

static linnet_status search_units(const published_pass *p, const lin_layout_units *units)
{
    linnet_status status = LINNET_OK;
    for (uint32_t i = 0; i < units->count && status == LINNET_OK; i++) {
        if (lin_layouts_progress(p->settings, i, units->count))
            return lin_layouts_cancelled(p->err);
        status = search_unit(p, &units->items[i]);
    }
    return status;
}

/* Those that run first, by speed; the others keep their order. */
static void sort_results(lin_results *list)
{
    for (uint32_t i = 1; i < list->count; i++) {
        const lin_layout_result item = list->items[i];
        uint32_t at = i;
        while (at > 0 && item.state == LIN_LAYOUT_RUNS &&
               (list->items[at - 1].state != LIN_LAYOUT_RUNS ||
                item.time.tokens_per_second > list->items[at - 1].time.tokens_per_second)) {
            list->items[at] = list->items[at - 1];
            at--;
        }
        list->items[at] = item;
    }
}

/* The bench owns blocks outside the arena, so it is closed whatever happens. */
static linnet_status search_guarded(const published_pass *p)
{
    jmp_buf *const outer = p->arena->on_failure;
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0) {
        p->arena->on_failure = outer;
        return lin_fail_memory(p->err);
    }
    p->arena->on_failure = &out_of_memory;
    lin_layout_units units = { NULL, 0, 0 };
    lin_space_units(p->settings, p->facts, p->arena, &units);
    const linnet_status status = search_units(p, &units);
    p->arena->on_failure = outer;
    return status;
}

linnet_status lin_published_search(const lin_layouts_settings *settings,
                                   const lin_layout_facts *facts, const lin_allocator *allocator,
                                   lin_arena *arena, lin_results *out, linnet_error *err)
{
    lin_bench *bench = lin_alloc(allocator, sizeof(*bench));
    if (bench == NULL)
        return lin_fail_memory(err);
    const published_pass p = { .settings = settings,
                               .facts = facts,
                               .allocator = allocator,
                               .arena = arena,
                               .out = out,
                               .bench = bench,
                               .err = err };
    lin_bench_open(bench, settings, facts, allocator);
    const linnet_status status = search_guarded(&p);
    if (status == LINNET_OK)
        sort_results(out);
    lin_bench_close(bench);
    lin_release(allocator, bench, sizeof(*bench));
    return status;
}
