/* SPDX-License-Identifier: MIT */
#ifndef SCHEDULE_CASES_H
#define SCHEDULE_CASES_H

/* What the tests of schedules share: making one, reading it back, a growing list of tests. Include
 * after cmocka. */

#include "schedule/schedule.h"
#include <stdio.h>
#include <string.h>

static inline lin_schedule *make(const char *name, int64_t ranks, int64_t microbatches,
                                 int64_t stages)
{
    const lin_schedule_request request = { name, ranks, microbatches, stages };
    lin_schedule *schedule = NULL;
    linnet_error err = { 0 };
    if (lin_schedule_new(&request, &lin_default_allocator, &schedule, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return schedule;
}

static inline lin_simulation simulate(const lin_schedule *schedule, lin_arena *arena)
{
    lin_simulation simulation;
    linnet_error err = { 0 };
    if (lin_schedule_simulate(schedule, &lin_unit_times, true, arena, &simulation, &err) !=
        LINNET_OK)
        fail_msg("%s", err.message);
    return simulation;
}

static inline void expect_read_back(const lin_schedule *schedule)
{
    lin_text once, twice;
    linnet_error err = { 0 };
    lin_schedule *read = NULL;
    lin_text_init(&once, &lin_default_allocator);
    lin_text_init(&twice, &lin_default_allocator);
    lin_schedule_json(&once, schedule);
    if (lin_schedule_read("printed.json", lin_text_data(&once), once.length, &lin_default_allocator,
                          &read, &err) != LINNET_OK)
        fail_msg("%s %u x %u: %s", schedule->name, schedule->ranks, schedule->microbatches,
                 err.message);
    lin_schedule_json(&twice, read);
    assert_string_equal(lin_text_data(&once), lin_text_data(&twice));
    lin_text_free(&once);
    lin_text_free(&twice);
    lin_schedule_free(read);
}

static inline uint32_t random_below(uint64_t *state, uint32_t bound)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % bound;
}

enum { MAX_TESTS = 256, NAME_LENGTH = 96 };

typedef struct suite {
    struct CMUnitTest tests[MAX_TESTS];
    char names[MAX_TESTS][NAME_LENGTH];
    size_t count;
} suite;

static inline void add(suite *s, CMUnitTestFunction function, const void *state, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));

static inline void add(suite *s, CMUnitTestFunction function, const void *state, const char *format,
                       ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->names[s->count], NAME_LENGTH, format, args);
    va_end(args);
    s->tests[s->count] = (struct CMUnitTest){ .name = s->names[s->count],
                                              .test_func = function,
                                              .initial_state = (void *)(uintptr_t)state };
    s->count++;
}

#endif
