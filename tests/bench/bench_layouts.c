/* SPDX-License-Identifier: MIT */

/*
 * Times the search for the fastest layout of a training step of Llama 3.1 8B, the smallest of
 * several rounds:
 *
 *     64 devices, one thread           at least 10,000 layouts a second
 *     1,024 devices, two threads       at most 5 s
 *
 * A layout counts when its peak and time are known, or a bound has dropped it. With the argument
 * "all" the fastest of 1,024 devices are compared with those of every layout, which takes minutes.
 * Exit 1 past a limit.
 */

#define _POSIX_C_SOURCE 200809L

#include "plan/plan.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 3, WANTED = 20 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

typedef struct bench {
    lin_source *source;
    lin_profile *profile;
} bench;

static lin_layouts *search(const bench *b, int64_t devices, int64_t tokens, uint32_t threads,
                           uint32_t limit)
{
    static const lin_training_settings training;
    const lin_layouts_settings settings = {
        .source = b->source,
        .trace = { .entry = "loss_packed_split",
                   .no_bindings = true,
                   .numerics = LIN_NUMERICS_FAST,
                   .processes = 1,
                   .training = true },
        .memory = { .context_bytes = -1 },
        .training = &training,
        .profile = b->profile,
        .devices = devices,
        .budget_bytes = lin_profile_budget(b->profile),
        .global_size = tokens,
        .limit = limit,
        .threads = threads,
    };
    lin_layouts *layouts = NULL;
    linnet_error err = { 0 };
    if (lin_layouts_search(&settings, &lin_default_allocator, &layouts, &err) != LINNET_OK)
        fprintf(stderr, "bench_layouts: %s\n", err.message);
    return layouts;
}

static double seconds_of(const bench *b, int64_t devices, int64_t tokens, uint32_t threads,
                         uint64_t *out_layouts)
{
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t start = now_ns();
        lin_layouts *layouts = search(b, devices, tokens, threads, WANTED);
        const double spent = (double)(now_ns() - start) * 1e-9;
        if (layouts == NULL)
            return best;
        *out_layouts = layouts->considered;
        best = spent < best ? spent : best;
        lin_layouts_free(layouts);
    }
    return best;
}

static int is_best_of_all(const bench *b, int64_t devices, int64_t tokens)
{
    lin_layouts *some = search(b, devices, tokens, 2, WANTED);
    lin_layouts *all = search(b, devices, tokens, 2, 0);
    int same = some != NULL && all != NULL && some->count >= WANTED;
    for (uint32_t i = 0; same && i < WANTED; i++)
        same = strcmp(some->items[i].name, all->items[i].name) == 0 &&
               some->items[i].time.seconds == all->items[i].time.seconds;
    printf("the %d fastest of %lld devices are %s of all layouts\n", WANTED, (long long)devices,
           same ? "those" : "not those");
    lin_layouts_free(some);
    lin_layouts_free(all);
    return same;
}

int main(int argc, char **argv)
{
    const lin_source_settings from = { .allocator = lin_default_allocator,
                                       .limits = lin_lang_default_limits,
                                       .file_bytes = 16 << 20 };
    bench b = { 0 };
    linnet_error err = { 0 };
    uint64_t layouts = 0;
    if (lin_source_open(&from, "llama-3.1-8b-instruct", NULL, &b.source, &err) != LINNET_OK ||
        lin_profile_open("h100-80gb", 1 << 20, &lin_default_allocator, &b.profile, &err) !=
            LINNET_OK) {
        fprintf(stderr, "bench_layouts: %s\n", err.message);
        return 1;
    }
    const double small = seconds_of(&b, 64, 1 << 20, 1, &layouts);
    const double rate = (double)layouts / small;
    printf("64 devices, one thread: %llu layouts, %.0f a second (limit 10000)\n",
           (unsigned long long)layouts, rate);
    const double large = seconds_of(&b, 1024, 1 << 24, 2, &layouts);
    printf("1,024 devices, two threads: %llu layouts in %.2f s (limit 5 s)\n",
           (unsigned long long)layouts, large);
    int good = rate >= 10000 && large <= 5;
    if (argc > 1 && strcmp(argv[1], "all") == 0)
        good = is_best_of_all(&b, 1024, 1 << 24) && good;
    lin_profile_free(b.profile);
    lin_source_free(b.source);
    return good ? 0 : 1;
}
