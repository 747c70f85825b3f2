/* SPDX-License-Identifier: MIT */

/* Times the peaks of another size of a traced Llama 3.1 8B forward (architecture.md: at most 10 us,
 * towards 5 us). The sizes change from call to call. Prints nanoseconds a call, the smallest of
 * several rounds; exit 1 past the limit given as an argument. */

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "memory/memory.h"

enum { CALLS = 20000, ROUNDS = 7 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static linnet_status prepare(lin_source **out_source, lin_memory **out_memory, linnet_error *err)
{
    const lin_source_settings from = { .allocator = lin_default_allocator,
                                       .limits = lin_lang_default_limits,
                                       .file_bytes = 16 << 20 };
    const lin_trace_settings trace = { .entry = "forward",
                                       .role_given = { true, true, true },
                                       .role_value = { 1, 8192, 8192 },
                                       .numerics = LIN_NUMERICS_FAST,
                                       .processes = 1 };
    const lin_memory_settings settings = { .context_bytes = -1 };
    lin_traced traced;
    linnet_status status;
    if ((status = lin_source_open(&from, "llama-3.1-8b-instruct", NULL, out_source, err)) !=
            LINNET_OK ||
        (status = lin_trace(*out_source, &trace, &lin_default_allocator, &traced, err)) !=
            LINNET_OK)
        return status;
    return lin_memory_new(*out_source, &traced, &trace, &settings, &lin_default_allocator,
                          out_memory, err);
}

static int64_t time_round(lin_memory *memory, int64_t *sum)
{
    const int64_t start = now_ns();
    for (int64_t i = 0; i < CALLS; i++) {
        const int64_t sizes[LIN_ROLE_COUNT] = { 1 + i % 61, 64 + i % 4000, 8192 };
        lin_peaks peaks;
        if (lin_memory_peaks(memory, sizes, &peaks, NULL) != LINNET_OK)
            return -1;
        *sum += peaks.expected >> 20;
    }
    return (now_ns() - start) / CALLS;
}

int main(int argc, char **argv)
{
    const long limit_ns = argc > 1 ? strtol(argv[1], NULL, 10) : 10000;
    lin_source *source = NULL;
    lin_memory *memory = NULL;
    linnet_error err = { 0 };
    if (prepare(&source, &memory, &err) != LINNET_OK) {
        fprintf(stderr, "bench_sweep: %s\n", err.message);
        lin_source_free(source);
        return 3;
    }
    int64_t best = INT64_MAX, sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t ns = time_round(memory, &sum);
        best = ns < best ? ns : best;
    }
    printf("peaks of another size, Llama 3.1 8B forward: %lld ns (limit %ld ns; check %lld)\n",
           (long long)best, limit_ns, (long long)sum);
    lin_memory_free(memory);
    lin_source_free(source);
    return best >= 0 && best <= limit_ns ? 0 : 1;
}
