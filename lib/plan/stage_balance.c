/* SPDX-License-Identifier: MIT */

/*
 * Stages balanced by time: each unit of the model weighs what a micro-batch takes in it, forward
 * and, in training, recomputed and back, in picoseconds, so that sums are exact and equal layers
 * weigh the same.
 *
 *     units    embedding  layers.0 … layers.21  norm  lm_head
 *     time     0.1        2.3         2.3       0.1   6.0      ms
 *
 * The sizes are those of one micro-batch as configured. A size that a search varies is one sequence
 * or OPEN_POSITIONS positions: what of a unit's time is arithmetic and what is traffic is settled
 * by then, and all layouts that cut the model alike find the same stages.
 *
 * Cost: the calls of the graph, found and priced once.
 */

#include "plan/plan.h"

static const double picoseconds = 1e12;
enum { OPEN_POSITIONS = 4096 };

/* ---- sizes ---- */

static int64_t open_size(lin_role role)
{
    return role == LIN_ROLE_BATCH ? 1 : OPEN_POSITIONS;
}

/* Whether the size varies: a cache that follows the context does with it. */
static bool is_open(const lin_time_weigher *w, const lin_traced *traced, lin_role role)
{
    const bool follows = role == LIN_ROLE_CACHE && w->searched_role == LIN_ROLE_CONTEXT &&
                         traced->role_value[LIN_ROLE_CACHE] == traced->role_value[LIN_ROLE_CONTEXT];
    return traced->graph->role_free[role] && ((int)role == w->searched_role || follows);
}

static linnet_status size_microbatch(const lin_time_weigher *w, lin_memory *memory,
                                     int64_t *symbols, linnet_error *err)
{
    const lin_traced *traced = lin_memory_traced(memory);
    const lin_graph *graph = traced->graph;
    int64_t step[LIN_ROLE_COUNT], one[LIN_ROLE_COUNT];
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++) {
        step[role] = traced->role_value[role];
        /* Any number of micro-batches divides it. */
        if (is_open(w, traced, role) &&
            !lin_mul_i64(open_size(role), lin_memory_microbatches(memory), &step[role]))
            return lin_fail(err, LINNET_ERROR_OVERFLOW,
                            "%lld micro-batches are more than can be counted",
                            (long long)lin_memory_microbatches(memory));
    }
    const linnet_status status = lin_memory_cut(memory, step, one, err);
    for (lin_role role = 0; role < LIN_ROLE_COUNT && status == LINNET_OK; role++)
        if (graph->role_free[role])
            symbols[graph->role_symbols[role]] =
                is_open(w, traced, role) ? open_size(role) : one[role];
    return status;
}

/* ---- seconds ---- */

/* What a call works with; all of it is the caller's to release. */
typedef struct balance_room {
    int64_t *symbols;
    bool *again;
    double *seconds;
    lin_cost *cost;
} balance_room;

static linnet_status price(const lin_time_weigher *w, lin_memory *memory,
                           const lin_memory_settings *settings, balance_room *room,
                           linnet_error *err)
{
    const lin_traced *traced = lin_memory_traced(memory);
    const lin_parallel parallel = lin_parallel_normal(&settings->parallel);
    const lin_cost_settings cost = {
        .training = settings->training != NULL,
        .is_stage = true,
        .processes = parallel.tensor,
        .context = parallel.context,
        .expert = parallel.expert,
        .exchange = parallel.exchange,
        .trained = lin_memory_trained(memory, LIN_NO_STAGE),
        .rules = lin_time_model_rules(w->model),
    };
    lin_memory_mark_recomputed(memory, LIN_NO_STAGE, room->again);
    linnet_status status = lin_timer_check(traced, &parallel, err);
    if (status == LINNET_OK)
        status = size_microbatch(w, memory, room->symbols, err);
    if (status == LINNET_OK)
        status = lin_cost_new(traced->graph, &cost, &w->allocator, &room->cost, err);
    if (status == LINNET_OK)
        status = lin_cost_price(room->cost, w->profile, room->symbols, err);
    return status == LINNET_OK ? lin_cost_unit_seconds(room->cost, room->again, room->seconds, err)
                               : status;
}

static linnet_status weigh(const lin_unit_weigher *self, lin_memory *memory,
                           const lin_memory_settings *settings, int64_t *out, linnet_error *err)
{
    const lin_time_weigher *w = (const lin_time_weigher *)(const void *)self;
    const lin_graph *graph = lin_memory_traced(memory)->graph;
    const uint32_t units = graph->units.count, steps = graph->steps.count;
    const uint32_t symbols = lin_expr_symbol_count(graph->exprs);
    const double most = (double)INT64_MAX / 2 / (units + 1.0);
    balance_room room = { .symbols = lin_alloc(&w->allocator, symbols * sizeof(int64_t)),
                          .again = lin_alloc(&w->allocator, steps + 1),
                          .seconds = lin_alloc(&w->allocator, (units + 1) * sizeof(double)) };
    linnet_status status = room.symbols == NULL || room.again == NULL || room.seconds == NULL
                               ? lin_fail_memory(err)
                               : LINNET_OK;
    for (uint32_t i = 0; i < symbols && status == LINNET_OK; i++)
        room.symbols[i] = 1;
    if (status == LINNET_OK)
        status = price(w, memory, settings, &room, err);
    for (uint32_t i = 0; i < units && status == LINNET_OK; i++) {
        const double weight = room.seconds[i] * picoseconds + 0.5;
        out[i] = (int64_t)(weight < most ? weight : most);
    }
    lin_cost_free(room.cost);
    lin_release(&w->allocator, room.symbols, symbols * sizeof(int64_t));
    lin_release(&w->allocator, room.again, steps + 1);
    lin_release(&w->allocator, room.seconds, (units + 1) * sizeof(double));
    return status;
}

lin_time_weigher lin_plan_time_weigher(const lin_profile *profile, lin_time_model model,
                                       int searched_role, const lin_allocator *allocator)
{
    return (lin_time_weigher){ .base = { weigh, profile->name },
                               .profile = profile,
                               .model = model,
                               .searched_role = searched_role,
                               .allocator = *allocator };
}
