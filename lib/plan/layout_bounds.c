/* SPDX-License-Identifier: MIT */

/*
 * The layouts of a unit, each with the sizes that may fit and a step time that it cannot beat. The
 * loops stand in the order of what is dear: another way to cut into stages or to recompute is
 * another base, another micro-batch prices the calls, another sharding runs the clocks, and a
 * schedule only puts parts together.
 */

#include "plan/layout_best.h"

#include <string.h>

typedef struct unit_pass {
    lin_bench *bench;
    const lin_layouts_settings *settings;
    const lin_layout_facts *facts;
    lin_best_unit *unit;
    lin_arena *arena;
    int64_t size;       /* of a step; 0: it grows */
    const char *clause; /* why no size of the present base holds; NULL: some may */
    lin_prepared *base; /* of the present stages and policy */
    uint16_t virtual_stages;
    uint8_t policy;
    /* the present block: all shardings under all schedules, for one number of micro-batches */
    int64_t microbatches;
    uint32_t first; /* its first layout */
    uint8_t schedule[LIN_BENCH_OUTLINES];
    const lin_schedule *outline[LIN_BENCH_OUTLINES]; /* NULL: no pipeline */
    uint32_t schedule_count;                         /* at least 1, unless none is legal */
    int64_t floor[LIN_SPACE_SHARDINGS][2]; /* at the present size, with backwards whole, in parts */
    linnet_error *err;
} unit_pass;

/* ---- what is refused ---- */

static lin_best_item *add_layout(unit_pass *p, uint8_t sharding, uint8_t schedule)
{
    const lin_best_item item = { .id = { .microbatches = p->microbatches,
                                         .sharding = sharding,
                                         .schedule = schedule,
                                         .policy = p->policy,
                                         .virtual_stages = p->virtual_stages },
                                 .state = LIN_LAYOUT_CLAUSES,
                                 .reason = p->clause };
    LIN_PUSH(p->arena, &p->unit->layouts, item);
    return &p->unit->layouts.items[p->unit->layouts.count - 1];
}

/* One line for all that is refused for the same. */
static void refuse(unit_pass *p, const char *reason)
{
    lin_best_items *layouts = &p->unit->layouts;
    for (uint32_t i = 0; i < layouts->count; i++)
        if (layouts->items[i].reason != NULL && strcmp(layouts->items[i].reason, reason) == 0)
            return;
    lin_best_item *item =
        add_layout(p, 0, p->unit->unit.pipeline > 1 ? p->schedule[0] : LIN_BEST_NO_SCHEDULE);
    item->state = LIN_LAYOUT_REFUSED;
    item->reason = lin_arena_copy(p->arena, reason);
}

/* ---- schedules of a block ---- */

static linnet_status list_schedules(unit_pass *p)
{
    lin_bench *bench = p->bench;
    if (p->unit->unit.pipeline == 1) {
        p->schedule[0] = LIN_BEST_NO_SCHEDULE;
        p->outline[0] = NULL;
        p->schedule_count = 1;
        return LINNET_OK;
    }
    const linnet_status status = lin_bench_outline(bench, p->unit->unit.pipeline, p->virtual_stages,
                                                   p->microbatches, p->err);
    p->schedule_count = bench->outline_count;
    memcpy(p->schedule, bench->outline_kind, sizeof p->schedule);
    for (uint32_t i = 0; i < bench->outline_count; i++)
        p->outline[i] = bench->outlines[i];
    return status;
}

static bool splits_backward(const unit_pass *p, uint32_t schedule)
{
    return p->schedule[schedule] != LIN_BEST_NO_SCHEDULE &&
           lin_schedule_kind_splits(p->schedule[schedule]);
}

/* ---- a size ---- */

static bool has_backward(const unit_pass *p, bool splits)
{
    for (uint32_t k = 0; k < p->schedule_count; k++)
        if (splits_backward(p, k) == splits)
            return true;
    return false;
}

/* Whether some layout of the block may fit. */
static bool find_floors(unit_pass *p, int64_t peak)
{
    const bool counts[2] = { has_backward(p, false), has_backward(p, true) };
    lin_memory_floor floor;
    bool some = false;
    lin_memory_floors(p->base->memory, &floor);
    for (uint32_t s = 0; s < p->unit->unit.sharding_count; s++)
        for (int splits = 0; splits < 2; splits++) {
            p->floor[s][splits] =
                lin_rate_floor(peak, &floor, &p->unit->unit.shardings[s], splits != 0);
            some |= counts[splits] && p->floor[s][splits] <= p->settings->budget_bytes;
        }
    return some;
}

static void add_pair(unit_pass *p, uint32_t layout, uint32_t schedule, int64_t size)
{
    const lin_best_item *item = &p->unit->layouts.items[layout];
    const lin_job_layout job = lin_best_layout(p->unit, &item->id);
    const lin_timer_job timed = { .schedule = p->outline[schedule],
                                  .microbatches = job.microbatches,
                                  .accumulation = job.accumulation,
                                  .splits_backward = splits_backward(p, schedule) };
    lin_step_time time;
    lin_timer_bound(p->base->timer, &timed, &time);
    /* Sums in another order may differ in the last digits. */
    const lin_best_pair pair = { .layout = layout,
                                 .size = size,
                                 .speed = time.tokens_per_second * (1 + 1e-9),
                                 .state = LIN_LAYOUT_SLOWER,
                                 .expected_peak = -1 };
    LIN_PUSH(p->arena, &p->unit->pairs, pair);
}

/* Layouts of the block that the size does not rule out. */
static void bound_block(unit_pass *p, int64_t size)
{
    uint32_t layout = p->first;
    for (uint32_t s = 0; s < p->unit->unit.sharding_count; s++) {
        bool runs = false;
        for (uint32_t k = 0; k < p->schedule_count; k++, layout++) {
            lin_best_item *item = &p->unit->layouts.items[layout];
            const int64_t floor = p->floor[s][splits_backward(p, k)];
            if (item->size == 0) {
                item->size = size;
                item->floor = floor;
            }
            if (item->state == LIN_LAYOUT_CLAUSES)
                item->state = LIN_LAYOUT_TOO_LARGE;
            if (floor > p->settings->budget_bytes)
                continue;
            if (!runs) {
                const lin_job_layout job = lin_best_layout(p->unit, &item->id);
                lin_timer_run(p->base->timer, &job.parallel);
                runs = true;
            }
            item->state = LIN_LAYOUT_RUNS;
            add_pair(p, layout, k, size);
        }
    }
}

/* False in `out_goes_on`: no larger size fits. */
static linnet_status try_size(unit_pass *p, int64_t size, bool *out_goes_on, linnet_error *why)
{
    const lin_job_layout job = lin_best_layout(p->unit, &p->unit->layouts.items[p->first].id);
    int64_t whole[LIN_ROLE_COUNT], one[LIN_ROLE_COUNT];
    lin_peaks peaks;
    bool holds = false;
    linnet_status status;
    lin_rate_sizes(p->facts, &job, size, whole, one);
    *out_goes_on = true;
    if ((status = lin_memory_holds(p->base->memory, whole, &holds, why)) != LINNET_OK || !holds)
        return status;
    status = lin_rate_resolve(p->base->memory, whole, one, why);
    if (status == LINNET_OK)
        status = lin_memory_peaks(p->base->memory, one, &peaks, why);
    *out_goes_on = status == LINNET_OK && find_floors(p, peaks.expected);
    if (status == LINNET_ERROR_OVERFLOW)
        return LINNET_OK;
    if (status != LINNET_OK ||
        (status = lin_memory_sizes(p->base->memory, one, one, why)) != LINNET_OK ||
        (status = lin_timer_price(p->base->timer, whole, one, why)) != LINNET_OK)
        return status;
    bound_block(p, size);
    return LINNET_OK;
}

/* ---- a number of micro-batches ---- */

static void add_block(unit_pass *p)
{
    p->first = p->unit->layouts.count;
    for (uint32_t s = 0; s < p->unit->unit.sharding_count; s++)
        for (uint32_t k = 0; k < p->schedule_count; k++)
            add_layout(p, (uint8_t)s, p->schedule[k]);
}

/* 1, 2, 3, 4, 6, 8, 12, 16, …: of each micro-batch. */
static int64_t next_part(int64_t part)
{
    if (part < 3)
        return part + 1;
    const bool is_power = (part & (part - 1)) == 0;
    return is_power ? part / 2 * 3 : part / 3 * 4;
}

static linnet_status bound_sizes(unit_pass *p, linnet_error *why)
{
    linnet_status status = LINNET_OK;
    bool goes_on = true;
    if (p->size > 0)
        return try_size(p, p->size, &goes_on, why);
    for (int64_t part = 1; goes_on && part <= LIN_FIT_MOST / p->microbatches && status == LINNET_OK;
         part = next_part(part))
        status = try_size(p, part * p->microbatches, &goes_on, why);
    return status;
}

/* A size that cannot be counted is no reason against the smaller ones. */
static linnet_status bound_microbatches(unit_pass *p)
{
    const uint32_t first_pair = p->unit->pairs.count;
    linnet_error why = { 0 };
    linnet_status status = list_schedules(p);
    if (status == LINNET_OK && p->schedule_count > 0) {
        add_block(p);
        status = bound_sizes(p, &why);
        if (lin_bench_is_fatal(status)) {
            status = lin_fail_memory(p->err);
        } else if (status != LINNET_OK && p->unit->pairs.count > first_pair) {
            status = LINNET_OK;
        } else if (status != LINNET_OK) {
            p->unit->layouts.count = p->first;
            refuse(p, why.message);
            status = LINNET_OK;
        }
    }
    return status;
}

/* ---- a base ---- */

/* A clause that says nothing of a size, such as `Shards == 1` of an entry that others stand beside.
 */
static const char *broken_clause(const unit_pass *p)
{
    const char *clause = lin_memory_broken_clause(p->base->memory);
    if (clause == NULL)
        return NULL;
    const bool is_split = p->unit->unit.tensor > 1 && p->facts->split_entry != NULL;
    return lin_arena_format(p->arena, "the model's `where` clause `%s` does not hold%s%s%s", clause,
                            is_split ? "; it does in the entry `" : "",
                            is_split ? p->facts->split_entry : "", is_split ? "`" : "");
}

static linnet_status bound_base(unit_pass *p, const lin_counts *microbatches)
{
    const lin_best_layout_id id = {
        .microbatches = 1,
        .schedule = p->unit->unit.pipeline > 1 ? 0 : LIN_BEST_NO_SCHEDULE,
        .policy = p->policy,
        .virtual_stages = p->virtual_stages,
    };
    const lin_job_layout job = lin_best_layout(p->unit, &id);
    linnet_status status = lin_bench_base(p->bench, &job, &p->base, p->err);
    if (status != LINNET_OK)
        return status;
    if (p->base->status != LINNET_OK) {
        p->schedule[0] = id.schedule;
        p->microbatches = 1;
        refuse(p, p->base->message);
        return LINNET_OK;
    }
    p->clause = broken_clause(p);
    for (uint32_t i = 0; i < microbatches->count && status == LINNET_OK; i++) {
        p->microbatches = microbatches->items[i];
        status = bound_microbatches(p);
    }
    return status;
}

/* The step of one data-parallel rank; 0: it grows. */
static bool find_size(unit_pass *p)
{
    const int64_t global = p->settings->global_size, data = p->unit->unit.data;
    p->size = p->facts->is_size_given ? p->facts->size : 0;
    /* A size that is given is what runs at once, as without a search. */
    if (p->settings->training != NULL && p->settings->training->accumulation > 1 &&
        p->unit->unit.pipeline == 1 && p->size <= INT64_MAX / p->settings->training->accumulation)
        p->size *= p->settings->training->accumulation;
    if (global == 0)
        return true;
    p->size = global / data;
    if (global % data == 0)
        return true;
    p->schedule[0] = LIN_BEST_NO_SCHEDULE;
    p->microbatches = 1;
    p->virtual_stages = 1;
    refuse(p, lin_arena_format(
                  p->arena, "a global batch of %lld does not divide over %lld data-parallel ranks",
                  (long long)global, (long long)data));
    return false;
}

/* ---- nothing to bound ---- */

static uint8_t given_schedule(const lin_layouts_settings *settings)
{
    for (uint32_t k = 0; settings->has_schedule && k < lin_schedule_kind_count(); k++)
        if (strcmp(lin_schedule_kind_name(k), settings->memory.pipeline.schedule) == 0)
            return (uint8_t)k;
    return 0;
}

/* Only what is given leaves a unit without a layout. */
static const char *why_empty(const unit_pass *p, uint32_t stage_counts, const lin_counts *counts)
{
    const lin_layout_unit *unit = &p->unit->unit;
    const lin_training_settings *training = p->settings->training;
    const int64_t parts = unit->pipeline == 1 && training != NULL && training->accumulation > 1
                              ? training->accumulation
                              : p->settings->memory.pipeline.microbatches;
    if (stage_counts == 0)
        return lin_arena_format(p->arena,
                                "no schedule that is looked at cuts the model's %lld blocks into "
                                "the stages of %lld ranks%s",
                                (long long)p->facts->units, (long long)unit->pipeline,
                                p->settings->has_virtual_stages || p->settings->has_schedule
                                    ? " as they are given"
                                    : "");
    if (counts->count == 0)
        return lin_arena_format(p->arena, "%lld micro-batches do not divide a %s of %lld",
                                (long long)parts, lin_role_names[p->facts->role],
                                (long long)p->size);
    return p->bench->outline_refused[0] != '\0' ? p->bench->outline_refused
                                                : "no schedule has these micro-batches";
}

static void refuse_all(unit_pass *p, uint32_t stage_counts, const lin_counts *counts)
{
    const lin_pipeline_settings *given = &p->settings->memory.pipeline;
    p->schedule[0] = given_schedule(p->settings);
    p->policy = 0;
    p->microbatches = p->settings->has_microbatches ? given->microbatches : 1;
    p->virtual_stages = 1;
    refuse(p, why_empty(p, stage_counts, counts));
}

linnet_status lin_best_bound_unit(lin_bench *bench, lin_best_unit *unit, lin_arena *arena,
                                  linnet_error *err)
{
    unit_pass p = { .bench = bench,
                    .settings = bench->settings,
                    .facts = bench->facts,
                    .unit = unit,
                    .arena = arena,
                    .err = err };
    int64_t stages[LIN_SPACE_STAGES];
    lin_counts microbatches = { NULL, 0, 0 };
    linnet_status status = LINNET_OK;
    const uint32_t count = lin_space_virtual_stages(p.settings, p.facts, &unit->unit, stages);
    if (!find_size(&p))
        return LINNET_OK;
    lin_space_microbatches(p.settings, &unit->unit, p.size, arena, &microbatches);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < unit->policy_count && status == LINNET_OK; k++) {
            p.virtual_stages = (uint16_t)stages[i];
            p.policy = (uint8_t)k;
            status = bound_base(&p, &microbatches);
        }
    if (status == LINNET_OK && unit->layouts.count == 0)
        refuse_all(&p, count, &microbatches);
    return status;
}
