/* SPDX-License-Identifier: MIT */

/* Pipeline schedules: making one, simulating it, putting its communication in. */

#define _POSIX_C_SOURCE 200809L

#include "schedule/schedule.h"
#include <stdio.h>
#include <time.h>

static const lin_schedule_request requests[] = {
    { "interleaved-1f1b", 16, 256, 8 }, { "interleaved-zero-bubble", 16, 256, 8 },
    { "dualpipev", 16, 256, 0 },        { "zb1p", 1024, 1024, 0 },
    { "1f1b", 4096, 256, 0 },
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int measure(const lin_schedule_request *request)
{
    const lin_lowering lowering = { .active_stages = 2, .reduce = true, .step = true };
    const bool is_small = request->ranks <= 16;
    lin_schedule *schedule = NULL, *lowered = NULL;
    lin_simulation simulation;
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    const double start = now_ms();
    if (lin_schedule_new(request, &lin_default_allocator, &schedule, NULL) != LINNET_OK)
        return 1;
    const double made = now_ms();
    if (lin_schedule_simulate(schedule, &lin_unit_times, false, &arena, &simulation, NULL) !=
        LINNET_OK)
        return 1;
    const double simulated = now_ms();
    if (is_small && lin_schedule_lower(schedule, &lowering, &lin_default_allocator, &lowered,
                                       NULL) != LINNET_OK)
        return 1;
    const double ended = now_ms();
    printf("%-24s %5d ranks x %5d micro-batches: made %8.2f ms, simulated %8.2f ms", request->name,
           (int)request->ranks, (int)request->microbatches, made - start, simulated - made);
    if (is_small)
        printf(", communication %8.2f ms", ended - simulated);
    printf("\n");
    lin_schedule_free(lowered);
    lin_schedule_free(schedule);
    lin_arena_free(&arena);
    return 0;
}

int main(void)
{
    int status = 0;
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        status |= measure(&requests[i]);
    return status;
}
