/* SPDX-License-Identifier: MIT */

/* The schedule handle: a schedule with its simulation, by index. */

#include "api/api.h"
#include "schedule/schedule.h"

struct linnet_schedule {
    lin_allocator allocator;
    lin_schedule *schedule;
    lin_arena arena; /* of the simulation */
    lin_simulation simulation;
};

uint64_t linnet_builtin_schedule_count(void)
{
    return lin_schedule_kind_count();
}

const char *linnet_builtin_schedule_name(uint64_t index)
{
    return index < lin_schedule_kind_count() ? lin_schedule_kind_name((uint32_t)index) : NULL;
}

/* ---- making ---- */

/* Takes the schedule, even when it fails. */
static linnet_status wrap(lin_schedule *take_schedule, const lin_allocator *allocator,
                          linnet_schedule **out_schedule, linnet_error *err)
{
    linnet_schedule *handle = lin_alloc_zeroed(allocator, sizeof *handle);
    if (handle == NULL) {
        lin_schedule_free(take_schedule);
        return lin_fail_memory(err);
    }
    handle->allocator = *allocator;
    handle->schedule = take_schedule;
    lin_arena_init(&handle->arena, allocator);
    linnet_status status = lin_schedule_simulate(take_schedule, &lin_unit_times, true,
                                                 &handle->arena, &handle->simulation, err);
    if (status == LINNET_OK)
        *out_schedule = handle;
    else
        linnet_schedule_free(handle);
    return status;
}

linnet_status linnet_schedule_new(const linnet_config *config, const char *name, int64_t ranks,
                                  int64_t microbatches, int64_t virtual_stages,
                                  linnet_schedule **out_schedule, linnet_error *err)
{
    const lin_schedule_request request = { name, ranks, microbatches, virtual_stages };
    lin_schedule *schedule = NULL;
    linnet_status status = lin_schedule_new(&request, &config->allocator, &schedule, err);
    return status == LINNET_OK ? wrap(schedule, &config->allocator, out_schedule, err) : status;
}

linnet_status linnet_schedule_parse(const linnet_config *config, const char *text, uint64_t length,
                                    const char *source_name, linnet_schedule **out_schedule,
                                    linnet_error *err)
{
    lin_schedule *schedule = NULL;
    linnet_status status =
        lin_schedule_read(source_name, text, length, &config->allocator, &schedule, err);
    return status == LINNET_OK ? wrap(schedule, &config->allocator, out_schedule, err) : status;
}

linnet_status linnet_schedule_open(const linnet_config *config, const char *path,
                                   linnet_schedule **out_schedule, linnet_error *err)
{
    lin_arena arena;
    const char *text;
    uint64_t length;
    lin_arena_init(&arena, &config->allocator);
    linnet_status status =
        lin_file_read(&arena, path, (uint64_t)config->file_bytes, &text, &length, err);
    if (status == LINNET_OK)
        status = linnet_schedule_parse(config, text, length, path, out_schedule, err);
    else if (status == LINNET_ERROR_NO_MEMORY)
        (void)lin_fail_memory(err);
    lin_arena_free(&arena);
    return status;
}

void linnet_schedule_free(linnet_schedule *schedule)
{
    if (schedule == NULL)
        return;
    const lin_allocator allocator = schedule->allocator;
    lin_arena_free(&schedule->arena);
    lin_schedule_free(schedule->schedule);
    lin_release(&allocator, schedule, sizeof *schedule);
}

/* ---- the whole ---- */

const char *linnet_schedule_name(const linnet_schedule *schedule)
{
    return schedule->schedule->name;
}

uint64_t linnet_schedule_ranks(const linnet_schedule *schedule)
{
    return schedule->schedule->ranks;
}

int64_t linnet_schedule_microbatches(const linnet_schedule *schedule)
{
    return schedule->schedule->microbatches;
}

int64_t linnet_schedule_stages(const linnet_schedule *schedule)
{
    return schedule->schedule->stages;
}

int64_t linnet_schedule_makespan(const linnet_schedule *schedule)
{
    return schedule->simulation.makespan;
}

/* ---- ranks ---- */

static const lin_schedule_rank *rank_at(const linnet_schedule *schedule, uint64_t rank)
{
    return rank < schedule->schedule->ranks ? &schedule->schedule->rank[rank] : NULL;
}

static const lin_rank_time *time_at(const linnet_schedule *schedule, uint64_t rank)
{
    return rank < schedule->schedule->ranks ? &schedule->simulation.rank[rank] : NULL;
}

uint64_t linnet_schedule_rank_stages(const linnet_schedule *schedule, uint64_t rank)
{
    const lin_schedule_rank *r = rank_at(schedule, rank);
    return r != NULL ? r->slot_count : 0;
}

int64_t linnet_schedule_rank_stage(const linnet_schedule *schedule, uint64_t rank, uint64_t index)
{
    const lin_schedule_rank *r = rank_at(schedule, rank);
    return r != NULL && index < r->slot_count ? (int64_t)r->slots[index].stage : -1;
}

int64_t linnet_schedule_busy(const linnet_schedule *schedule, uint64_t rank)
{
    const lin_rank_time *t = time_at(schedule, rank);
    return t != NULL ? t->busy : -1;
}

int64_t linnet_schedule_finish(const linnet_schedule *schedule, uint64_t rank)
{
    const lin_rank_time *t = time_at(schedule, rank);
    return t != NULL ? t->finish : -1;
}

int64_t linnet_schedule_live_pairs(const linnet_schedule *schedule, uint64_t rank)
{
    const lin_rank_time *t = time_at(schedule, rank);
    return t != NULL ? (int64_t)t->live_until_input : -1;
}

int64_t linnet_schedule_live_pairs_until_weight(const linnet_schedule *schedule, uint64_t rank)
{
    const lin_rank_time *t = time_at(schedule, rank);
    return t != NULL ? (int64_t)t->live_until_weight : -1;
}

/* ---- actions ---- */

static const lin_action *action_at(const linnet_schedule *schedule, uint64_t rank, uint64_t index)
{
    const lin_schedule_rank *r = rank_at(schedule, rank);
    return r != NULL && index < r->action_count ? &r->actions[index] : NULL;
}

uint64_t linnet_schedule_action_count(const linnet_schedule *schedule, uint64_t rank)
{
    const lin_schedule_rank *r = rank_at(schedule, rank);
    return r != NULL ? r->action_count : 0;
}

int32_t linnet_schedule_action(const linnet_schedule *schedule, uint64_t rank, uint64_t index)
{
    static const int32_t kinds[] = {
        [LIN_ACTION_FORWARD] = LINNET_ACTION_FORWARD,
        [LIN_ACTION_BACKWARD] = LINNET_ACTION_BACKWARD,
        [LIN_ACTION_INPUT] = LINNET_ACTION_INPUT,
        [LIN_ACTION_WEIGHT] = LINNET_ACTION_WEIGHT,
        [LIN_ACTION_SEND_FORWARD] = LINNET_ACTION_SEND_FORWARD,
        [LIN_ACTION_RECV_FORWARD] = LINNET_ACTION_RECV_FORWARD,
        [LIN_ACTION_SEND_BACKWARD] = LINNET_ACTION_SEND_BACKWARD,
        [LIN_ACTION_RECV_BACKWARD] = LINNET_ACTION_RECV_BACKWARD,
        [LIN_ACTION_UNSHARD] = LINNET_ACTION_UNSHARD,
        [LIN_ACTION_RESHARD] = LINNET_ACTION_RESHARD,
        [LIN_ACTION_REDUCE] = LINNET_ACTION_REDUCE,
        [LIN_ACTION_STEP] = LINNET_ACTION_STEP,
    };
    _Static_assert(ARRAY_LEN(kinds) == LIN_ACTION_COUNT, "every action has a number");
    const lin_action *a = action_at(schedule, rank, index);
    return a != NULL ? kinds[a->kind] : LINNET_ACTION_INVALID;
}

int64_t linnet_schedule_action_stage(const linnet_schedule *schedule, uint64_t rank, uint64_t index)
{
    const lin_action *a = action_at(schedule, rank, index);
    if (a == NULL || a->kind == LIN_ACTION_STEP)
        return -1;
    return schedule->schedule->rank[rank].slots[a->slot].stage;
}

int64_t linnet_schedule_action_microbatch(const linnet_schedule *schedule, uint64_t rank,
                                          uint64_t index)
{
    const lin_action *a = action_at(schedule, rank, index);
    return a != NULL && a->kind < LIN_ACTION_UNSHARD ? (int64_t)a->microbatch : -1;
}

int32_t linnet_schedule_action_direction(const linnet_schedule *schedule, uint64_t rank,
                                         uint64_t index)
{
    const lin_action *a = action_at(schedule, rank, index);
    return a != NULL ? (int32_t)schedule->schedule->rank[rank].slots[a->slot].direction : 0;
}

int32_t linnet_schedule_action_overlaps(const linnet_schedule *schedule, uint64_t rank,
                                        uint64_t index)
{
    const lin_action *a = action_at(schedule, rank, index);
    return a != NULL && a->overlaps_next != 0;
}

int64_t linnet_schedule_action_start(const linnet_schedule *schedule, uint64_t rank, uint64_t index)
{
    return action_at(schedule, rank, index) != NULL
               ? schedule->simulation.rank[rank].spans[index].start
               : -1;
}

int64_t linnet_schedule_action_end(const linnet_schedule *schedule, uint64_t rank, uint64_t index)
{
    return action_at(schedule, rank, index) != NULL
               ? schedule->simulation.rank[rank].spans[index].end
               : -1;
}

/* ---- text ---- */

linnet_status linnet_schedule_to_text(const linnet_schedule *schedule, linnet_text **out_text,
                                      linnet_error *err)
{
    lin_text text;
    lin_text_init(&text, &schedule->allocator);
    lin_schedule_text(&text, schedule->schedule, &schedule->simulation);
    return lin_text_wrap(&text, out_text, err);
}

linnet_status linnet_schedule_to_json(const linnet_schedule *schedule, linnet_text **out_text,
                                      linnet_error *err)
{
    lin_text text;
    lin_text_init(&text, &schedule->allocator);
    lin_schedule_json(&text, schedule->schedule);
    return lin_text_wrap(&text, out_text, err);
}

linnet_status linnet_schedule_to_svg(const linnet_schedule *schedule, linnet_text **out_text,
                                     linnet_error *err)
{
    lin_text text;
    lin_text_init(&text, &schedule->allocator);
    linnet_status status = lin_schedule_svg(&text, schedule->schedule, &schedule->simulation, err);
    if (status == LINNET_OK)
        return lin_text_wrap(&text, out_text, err);
    lin_text_free(&text);
    return status;
}
