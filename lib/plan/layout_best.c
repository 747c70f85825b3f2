/* SPDX-License-Identifier: MIT */

/*
 * The space by bounds: every layout at every size gets a step time that its real one cannot beat
 * (lin_timer_bound), then they are looked at in the order of these, and what is left when the
 * wanted number of layouts is faster than the next bound is never prepared.
 *
 *     bounds   |#########|######|####|###|##|#|    by the layouts' own speed limit
 *     exact     ****  ***  * *  ^
 *                               the slowest wanted one is faster than what comes here
 *
 * Both passes are shared out over threads. What is dropped follows from the bounds and the fastest
 * layouts alone, so the result is the same however many there are.
 *
 * Cost: a trace and its timelines a way to split, some microseconds a layout; the layouts that
 * are looked at in full take one replay of their ranks each.
 */

#include "plan/layout_best.h"

/* ---- layouts ---- */

/* The next group of weights is gathered while one is in use, as FSDP does; without, nothing
 * overlaps. */
static int64_t prefetch_of(const lin_layouts_settings *settings, const lin_sharding *sharding)
{
    const int64_t given = settings->memory.parallel.prefetch;
    return sharding->shards > 1 && given == 0 ? 1 : given;
}

lin_job_layout lin_best_layout(const lin_best_unit *unit, const lin_best_layout_id *id)
{
    const lin_layout_unit *u = &unit->unit;
    const lin_sharding *sharding = &u->shardings[id->sharding];
    const bool piped = id->schedule != LIN_BEST_NO_SCHEDULE;
    return (lin_job_layout){
        .parallel = { .tensor = u->tensor,
                      .context = u->context,
                      .expert = u->expert,
                      .shards = sharding->shards,
                      .replicas = sharding->replicas,
                      .pipeline = u->pipeline,
                      .sequence = u->sequence,
                      .zero = sharding->zero,
                      .reshard = unit->settings->memory.parallel.reshard,
                      .prefetch = prefetch_of(unit->settings, sharding),
                      .exchange = unit->settings->memory.parallel.exchange },
        .schedule = piped ? lin_schedule_kind_name(id->schedule) : NULL,
        .virtual_stages = id->virtual_stages,
        .microbatches = piped ? id->microbatches : 1,
        .accumulation = piped ? 1 : id->microbatches,
        .checkpoint = unit->policies[id->policy],
    };
}

/* ---- the fastest so far ---- */

static void sink_slowest(lin_best *b)
{
    for (uint32_t i = b->fastest_count; i-- > 1;)
        if (b->fastest[i].speed > b->fastest[i - 1].speed) {
            const lin_fast swapped = b->fastest[i];
            b->fastest[i] = b->fastest[i - 1];
            b->fastest[i - 1] = swapped;
        }
}

double lin_best_threshold(const lin_best *b)
{
    const uint32_t limit = b->settings->limit;
    return limit > 0 && b->fastest_count == limit ? b->fastest[limit - 1].speed : 0;
}

static void note_fast(lin_best *b, const lin_best_unit *unit, uint32_t layout, double speed)
{
    if (b->settings->limit == 0)
        return;
    for (uint32_t i = 0; i < b->fastest_count; i++)
        if (b->fastest[i].unit == unit && b->fastest[i].layout == layout) {
            if (speed > b->fastest[i].speed)
                b->fastest[i].speed = speed;
            sink_slowest(b);
            return;
        }
    if (b->fastest_count < b->settings->limit)
        b->fastest_count++;
    else if (speed <= b->fastest[b->fastest_count - 1].speed)
        return;
    b->fastest[b->fastest_count - 1] = (lin_fast){ unit, layout, speed };
    sink_slowest(b);
}

/* ---- exact ---- */

static void settle(lin_best *b, lin_best_pair *pair, const lin_rate *rate, lin_arena *arena)
{
    pair->expected_peak = rate->expected_peak;
    pair->is_settled = true;
    if (!rate->fits) {
        pair->state = LIN_LAYOUT_TOO_LARGE;
        return;
    }
    lin_step_time *time = LIN_NEW(arena, lin_step_time);
    *time = rate->time;
    pair->state = LIN_LAYOUT_RUNS;
    pair->time = time;
    pthread_mutex_lock(&b->mutex);
    note_fast(b, pair->unit, pair->layout, rate->time.tokens_per_second);
    pthread_mutex_unlock(&b->mutex);
}

static linnet_status look_at_pair(lin_best *b, lin_best_worker *w, lin_best_pair *pair,
                                  double at_least, linnet_error *err)
{
    const lin_job_layout layout =
        lin_best_layout(pair->unit, &pair->unit->layouts.items[pair->layout].id);
    linnet_error why = { 0 };
    lin_rate rate;
    const linnet_status status =
        lin_rate_layout(&w->bench, &layout, pair->size, at_least, &rate, &why);
    if (lin_bench_is_fatal(status))
        return status == LINNET_ERROR_NO_MEMORY ? lin_fail_memory(err) : status;
    if (status != LINNET_OK) {
        pair->state = LIN_LAYOUT_REFUSED;
        pair->is_settled = true;
        pair->reason = lin_arena_copy(&w->arena, why.message);
        return LINNET_OK;
    }
    pair->exact = rate.time.tokens_per_second;
    if (pair->exact < at_least)
        return LINNET_OK;
    settle(b, pair, &rate, &w->arena);
    return LINNET_OK;
}

/* ---- sharing out ---- */

/* The next number below `count`; `count` when the work is over. */
static uint32_t take_next(lin_best *b, uint32_t count)
{
    pthread_mutex_lock(&b->mutex);
    const uint32_t next = b->stopped ? count : b->next < count ? b->next++ : count;
    pthread_mutex_unlock(&b->mutex);
    return next;
}

static void stop(lin_best *b, linnet_status status, const linnet_error *err)
{
    pthread_mutex_lock(&b->mutex);
    if (b->status == LINNET_OK) {
        b->status = status;
        b->err = *err;
    }
    b->stopped = true;
    pthread_mutex_unlock(&b->mutex);
}

/* The first thread is the caller's, and the one that reports. */
static bool report(lin_best *b, const lin_best_worker *w, uint64_t done, uint64_t total)
{
    linnet_error err = { 0 };
    if (w != &b->workers[0] || !lin_layouts_progress(b->settings, done, total))
        return true;
    stop(b, lin_layouts_cancelled(&err), &err);
    return false;
}

enum { PROGRESS = 1000 };

static linnet_status bound_units(lin_best *b, lin_best_worker *w, linnet_error *err)
{
    for (uint32_t i; (i = take_next(b, b->unit_count)) < b->unit_count;) {
        if (!report(b, w, (uint64_t)i * (PROGRESS / 2) / b->unit_count, PROGRESS))
            return LINNET_OK;
        const linnet_status status = lin_best_bound_unit(&w->bench, &b->units[i], &w->arena, err);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

static double slowest_wanted(lin_best *b)
{
    pthread_mutex_lock(&b->mutex);
    const double speed = lin_best_threshold(b);
    pthread_mutex_unlock(&b->mutex);
    return speed;
}

static linnet_status look_at_pairs(lin_best *b, lin_best_worker *w, linnet_error *err)
{
    for (uint32_t i; (i = take_next(b, b->pair_count)) < b->pair_count;) {
        lin_best_pair *pair = b->pairs[i];
        const double at_least = slowest_wanted(b);
        if (pair->speed < at_least) /* and so are all that follow */
            return LINNET_OK;
        if (i % 16 == 0 &&
            !report(b, w, PROGRESS / 2 + (uint64_t)i * (PROGRESS / 2) / b->pair_count, PROGRESS))
            return LINNET_OK;
        const linnet_status status = look_at_pair(b, w, pair, at_least, err);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

/* Apart from its caller: no local that changes lives across the setjmp. */
static void work(lin_best_worker *w)
{
    lin_best *b = w->best;
    jmp_buf out_of_memory;
    linnet_error err = { 0 };
    linnet_status status;
    if (setjmp(out_of_memory) != 0) {
        w->arena.on_failure = NULL;
        linnet_error failed = { 0 };
        const linnet_status no_memory = lin_fail_memory(&failed);
        stop(b, no_memory, &failed);
        return;
    }
    w->arena.on_failure = &out_of_memory;
    status = b->has_bounds ? look_at_pairs(b, w, &err) : bound_units(b, w, &err);
    w->arena.on_failure = NULL;
    if (status != LINNET_OK)
        stop(b, status, &err);
}

static void *run_thread(void *worker)
{
    work(worker);
    return NULL;
}

/* Where no further thread can be had the others do its part. */
static void share_out(lin_best *b)
{
    b->next = 0;
    for (uint32_t i = 1; i < b->worker_count; i++)
        b->workers[i].runs =
            pthread_create(&b->workers[i].thread, NULL, run_thread, &b->workers[i]) == 0;
    work(&b->workers[0]);
    for (uint32_t i = 1; i < b->worker_count; i++)
        if (b->workers[i].runs)
            pthread_join(b->workers[i].thread, NULL);
}

/* ---- in the order of the bounds ---- */

static bool is_faster(const void *pairs, uint32_t a, uint32_t b)
{
    lin_best_pair *const *list = pairs;
    return list[a]->speed > list[b]->speed;
}

/* Ties stay in the order of enumeration. */
static lin_best_pair **sorted_pairs(lin_best_pair *const *pairs, uint32_t count, lin_arena *arena)
{
    lin_best_pair **sorted = LIN_NEW_ARRAY(arena, lin_best_pair *, count);
    uint32_t *order = LIN_NEW_ARRAY(arena, uint32_t, count);
    uint32_t *scratch = LIN_NEW_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    lin_sort(order, count, scratch, is_faster, pairs);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = pairs[order[i]];
    return sorted;
}

static linnet_status list_pairs(lin_best *b, lin_arena *arena, linnet_error *err)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < b->unit_count; i++)
        count += b->units[i].pairs.count;
    if (count > UINT32_MAX)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "more than 2^32 layouts and sizes: fix some of the degrees");
    b->pairs = LIN_NEW_ARRAY(arena, lin_best_pair *, count);
    for (uint32_t i = 0; i < b->unit_count; i++)
        for (uint32_t k = 0; k < b->units[i].pairs.count; k++) {
            lin_best_pair *pair = &b->units[i].pairs.items[k];
            pair->unit = &b->units[i];
            b->pairs[b->pair_count++] = pair;
        }
    /* Where all are looked at, neighbours that share what is prepared stay together. */
    if (b->settings->limit > 0)
        b->pairs = sorted_pairs(b->pairs, b->pair_count, arena);
    return LINNET_OK;
}

/* ---- all of it ---- */

static void open_units(lin_best *b, lin_arena *arena)
{
    lin_layout_units units = { NULL, 0, 0 };
    lin_space_units(b->settings, b->facts, arena, &units);
    b->units = LIN_NEW_ARRAY(arena, lin_best_unit, units.count);
    b->unit_count = units.count;
    for (uint32_t i = 0; i < units.count; i++) {
        b->units[i].unit = units.items[i];
        b->units[i].settings = b->settings;
        b->units[i].policies = b->policies;
        b->units[i].policy_count = b->policy_count;
    }
}

static linnet_status open_workers(lin_best *b, const lin_allocator *allocator, linnet_error *err)
{
    const uint32_t wanted = b->settings->threads > 1 ? b->settings->threads : 1;
    b->worker_count = wanted < LIN_LAYOUTS_MOST_THREADS ? wanted : LIN_LAYOUTS_MOST_THREADS;
    b->workers = lin_alloc_zeroed(allocator, b->worker_count * sizeof(*b->workers));
    if (b->workers == NULL)
        return lin_fail_memory(err);
    for (uint32_t i = 0; i < b->worker_count; i++) {
        b->workers[i].best = b;
        lin_arena_init(&b->workers[i].arena, allocator);
        lin_bench_open(&b->workers[i].bench, b->settings, b->facts, allocator);
    }
    return LINNET_OK;
}

static void close_workers(lin_best *b, const lin_allocator *allocator)
{
    for (uint32_t i = 0; i < b->worker_count && b->workers != NULL; i++) {
        lin_bench_close(&b->workers[i].bench);
        lin_arena_free(&b->workers[i].arena);
    }
    lin_release(allocator, b->workers, b->worker_count * sizeof(*b->workers));
}

static linnet_status search(lin_best *b, lin_arena *arena, linnet_error *err)
{
    const uint32_t limit = b->settings->limit;
    open_units(b, arena);
    share_out(b);
    if (b->status != LINNET_OK)
        return b->status;
    b->has_bounds = true;
    const linnet_status status = list_pairs(b, arena, err);
    if (status != LINNET_OK)
        return status;
    b->fastest = LIN_NEW_ARRAY(arena, lin_fast, limit < b->pair_count ? limit : b->pair_count);
    share_out(b);
    return b->status;
}

/* What workers own outside the arena is the caller's to free. */
static linnet_status search_guarded(lin_best *b, lin_arena *arena, lin_results *out,
                                    linnet_error *err)
{
    jmp_buf *const outer = arena->on_failure;
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0) {
        arena->on_failure = outer;
        return lin_fail_memory(err);
    }
    arena->on_failure = &out_of_memory;
    const linnet_status status = search(b, arena, err);
    if (status == LINNET_OK)
        lin_best_list(b, arena, out);
    else if (b->status != LINNET_OK && err != NULL)
        *err = b->err;
    arena->on_failure = outer;
    return status;
}

linnet_status lin_best_search(const lin_layouts_settings *settings, const lin_layout_facts *facts,
                              const lin_allocator *allocator, lin_arena *arena, lin_results *out,
                              uint64_t *out_considered, linnet_error *err)
{
    lin_best b = { .settings = settings, .facts = facts };
    b.policy_count = lin_space_policies(settings, b.policies);
    if (pthread_mutex_init(&b.mutex, NULL) != 0)
        return lin_fail_memory(err);
    linnet_status status = open_workers(&b, allocator, err);
    if (status == LINNET_OK)
        status = search_guarded(&b, arena, out, err);
    *out_considered = 0;
    for (uint32_t i = 0; status == LINNET_OK && i < b.unit_count; i++)
        *out_considered += b.units[i].layouts.count;
    close_workers(&b, allocator);
    pthread_mutex_destroy(&b.mutex);
    return status;
}
