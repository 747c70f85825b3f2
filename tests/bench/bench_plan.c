/* SPDX-License-Identifier: MIT */

/* Times the arena plan with the default effort, the smallest of several rounds in milliseconds: a
 * transformer's forward of about 1,600 steps and 1,200 buffers, which greedy plans at the bound, at
 * most 5 ms; and 2,000 random buffers, where greedy misses. Exit 1 past the first limit. */

#define _POSIX_C_SOURCE 200809L

#include "graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 9, LAYERS = 32, LAYER_STEPS = 50, LIMIT_US = 5000, RANDOM_BUFFERS = 2000 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Owners of one layer of Llama 3.1 8B at 8192 tokens: MiB, first step within the layer, steps. */
static const struct {
    int mib, first, steps;
} layer[] = {
    { 64, 0, 9 },   { 2, 1, 4 },    { 2, 2, 3 },    { 4, 3, 3 },    { 4, 4, 4 },    { 4, 5, 4 },
    { 2, 6, 12 },   { 2, 7, 12 },   { 64, 8, 10 },  { 64, 10, 4 },  { 64, 11, 2 },  { 32, 12, 2 },
    { 64, 13, 2 },  { 64, 14, 2 },  { 64, 15, 12 }, { 16, 16, 6 },  { 16, 17, 3 },  { 8, 18, 2 },
    { 16, 19, 2 },  { 16, 20, 2 },  { 16, 21, 6 },  { 16, 22, 6 },  { 64, 24, 4 },  { 64, 27, 3 },
    { 64, 29, 3 },  { 64, 31, 18 }, { 64, 33, 10 }, { 224, 35, 3 }, { 224, 37, 4 }, { 224, 39, 3 },
    { 224, 41, 3 }, { 64, 43, 4 },  { 64, 46, 50 }, { 1, 23, 2 },   { 1, 25, 2 },   { 1, 30, 2 },
};

static uint32_t make_transformer(lin_buffer *buffers)
{
    const int32_t end = LAYERS * LAYER_STEPS + 6;
    uint32_t count = 0;
    buffers[count++] = (lin_buffer){ 32 << 10, 0, end }; /* tokens */
    buffers[count++] = (lin_buffer){ 64 << 20, 0, 40 };  /* embedding */
    for (int32_t l = 0; l < LAYERS; l++) {
        for (size_t i = 0; i < ARRAY_LEN(layer); i++) {
            int32_t first = 1 + l * LAYER_STEPS + layer[i].first;
            int32_t last = first + layer[i].steps;
            buffers[count++] =
                (lin_buffer){ (int64_t)layer[i].mib << 20, first, last < end ? last : end };
        }
    }
    buffers[count++] = (lin_buffer){ (int64_t)2004 << 20, end - 3, end }; /* logits */
    return count;
}

static uint32_t make_random(lin_buffer *buffers)
{
    uint64_t random = 7;
    for (uint32_t i = 0; i < RANDOM_BUFFERS; i++) {
        int32_t first = (int32_t)(next_random(&random) % 3000);
        int32_t steps = 1 + (int32_t)(next_random(&random) % 200);
        int64_t bytes = 512 * (1 + (int64_t)(next_random(&random) % 2000));
        buffers[i] = (lin_buffer){ bytes, first, first + steps };
    }
    return RANDOM_BUFFERS;
}

/* The fastest round in nanoseconds, or -1. */
static int64_t time_plan(const char *name, const lin_buffer *buffers, uint32_t count)
{
    int64_t best = INT64_MAX;
    lin_plan plan = { 0 };
    for (int round = 0; round < ROUNDS; round++) {
        int64_t start = now_ns();
        if (lin_plan_arena(buffers, count, &lin_plan_default_effort, &lin_default_allocator, NULL,
                           &plan, NULL) != LINNET_OK)
            return -1;
        int64_t spent = now_ns() - start;
        best = spent < best ? spent : best;
    }
    printf("plan %-11s %5u buffers: %7.3f ms, greedy %.4f, planned %.4f of the bound\n", name,
           count, (double)best / 1e6, (double)plan.greedy_bytes / (double)plan.live_bytes,
           (double)plan.planned_bytes / (double)plan.live_bytes);
    return best;
}

int main(void)
{
    static lin_buffer buffers[LAYERS * ARRAY_LEN(layer) + RANDOM_BUFFERS];
    int64_t transformer = time_plan("transformer", buffers, make_transformer(buffers));
    int64_t random = time_plan("random", buffers, make_random(buffers));
    if (transformer < 0 || random < 0)
        return 2;
    return transformer > (int64_t)LIMIT_US * 1000;
}
