/* SPDX-License-Identifier: MIT */

/*
 * The reader of schedules on arbitrary bytes. What it takes has no deadlock and is whole; printed
 * and read again it prints the same, and where it has no communication yet, that can be put in. The
 * first byte below 128 makes a schedule by rule from the next four instead, exchanges two of its
 * actions and reads what that prints.
 */

#include "schedule/schedule.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static lin_schedule *read(const char *text, uint64_t length)
{
    lin_schedule *schedule = NULL;
    linnet_error err = { 0 };
    const linnet_status status =
        lin_schedule_read("fuzz", text, length, &lin_default_allocator, &schedule, &err);
    expect(status == LINNET_OK ||
           (status == LINNET_ERROR_FORMAT && schedule == NULL && err.message[0] != '\0'));
    return schedule;
}

static bool has_communication(const lin_schedule *schedule)
{
    for (uint32_t r = 0; r < schedule->ranks; r++)
        for (uint32_t i = 0; i < schedule->rank[r].action_count; i++)
            if (schedule->rank[r].actions[i].kind > LIN_ACTION_WEIGHT)
                return true;
    return false;
}

static int64_t makespan(const lin_schedule *schedule)
{
    lin_arena arena;
    lin_simulation simulation;
    lin_arena_init(&arena, &lin_default_allocator);
    expect(lin_schedule_simulate(schedule, &lin_unit_times, true, &arena, &simulation, NULL) ==
           LINNET_OK);
    const int64_t result = simulation.makespan;
    lin_arena_free(&arena);
    return result;
}

static void expect_read_back(const lin_schedule *schedule)
{
    lin_text once, twice;
    lin_text_init(&once, &lin_default_allocator);
    lin_text_init(&twice, &lin_default_allocator);
    lin_schedule_json(&once, schedule);
    lin_schedule *again = read(lin_text_data(&once), once.length);
    expect(again != NULL);
    lin_schedule_json(&twice, again);
    expect(strcmp(lin_text_data(&once), lin_text_data(&twice)) == 0);
    lin_schedule_free(again);
    lin_text_free(&once);
    lin_text_free(&twice);
}

static void try_text(const char *text, uint64_t length)
{
    const lin_lowering lowering = { .active_stages = 1, .reduce = true, .step = true };
    lin_schedule *schedule = read(text, length), *lowered = NULL;
    if (schedule == NULL)
        return;
    const int64_t time = makespan(schedule);
    expect_read_back(schedule);
    if (!has_communication(schedule)) {
        expect(lin_schedule_lower(schedule, &lowering, &lin_default_allocator, &lowered, NULL) ==
               LINNET_OK);
        expect(lin_schedule_check(lowered, NULL) == LINNET_OK);
        expect(makespan(lowered) == time);
        lin_schedule_free(lowered);
    }
    lin_schedule_free(schedule);
}

static void try_rule(const uint8_t *data)
{
    const lin_schedule_request request = {
        .name = lin_schedule_kind_name(data[0] % lin_schedule_kind_count()),
        .ranks = 1 + data[1] % 8,
        .microbatches = 1 + data[2] % 24,
        .virtual_stages = data[3] % 4,
    };
    lin_schedule *schedule = NULL;
    lin_text text;
    if (lin_schedule_new(&request, &lin_default_allocator, &schedule, NULL) != LINNET_OK)
        return;
    (void)makespan(schedule);
    const lin_schedule_rank *rank = &schedule->rank[data[4] % schedule->ranks];
    lin_action *actions = (lin_action *)(uintptr_t)rank->actions;
    const uint32_t a = data[5] % rank->action_count, b = data[6] % rank->action_count;
    if (!actions[a].overlaps_next && !actions[b].overlaps_next) {
        const lin_action held = actions[a];
        actions[a] = actions[b];
        actions[b] = held;
    }
    lin_text_init(&text, &lin_default_allocator);
    lin_schedule_json(&text, schedule);
    try_text(lin_text_data(&text), text.length);
    lin_text_free(&text);
    lin_schedule_free(schedule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 7 && data[0] < 128 && data[0] != '{')
        try_rule(data);
    else
        try_text((const char *)data, size);
    return 0;
}
