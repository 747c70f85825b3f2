/* SPDX-License-Identifier: MIT */

/*
 * Times training steps, the smallest of several rounds:
 *
 *     the peaks of another size of TinyLlama with block checkpointing     at most 100 us
 *     source to answer, TinyLlama of 8192 tokens                          at most 40 ms
 *     source to answer, the shape of Llama 3.1 405B, block checkpointing  at most 150 ms
 *
 * Exit 1 past a limit.
 */

#define _POSIX_C_SOURCE 200809L

#include "memory/memory.h"

#include <stdio.h>
#include <time.h>

enum { ROUNDS = 7, CALLS = 500 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

typedef struct step {
    const char *name, *model;
    const lin_setting *binds;
    uint32_t bind_count;
    const char *checkpoint;
    int64_t limit_us;
} step;

static linnet_status prepare(const step *s, lin_source **out_source, lin_memory **out_memory,
                             linnet_error *err)
{
    const lin_source_settings from = { .allocator = lin_default_allocator,
                                       .limits = lin_lang_default_limits,
                                       .file_bytes = 16 << 20 };
    const lin_trace_settings trace = { .entry = "loss_packed",
                                       .role_given = { false, true, false },
                                       .role_value = { 0, 8192, 0 },
                                       .binds = s->binds,
                                       .bind_count = s->bind_count,
                                       .no_bindings = true,
                                       .numerics = LIN_NUMERICS_FAST,
                                       .processes = 1,
                                       .training = true };
    const lin_training_settings training = { .checkpoint = s->checkpoint };
    const lin_memory_settings settings = { .context_bytes = -1, .training = &training };
    lin_traced traced;
    linnet_status status;
    if ((status = lin_source_open(&from, s->model, NULL, out_source, err)) != LINNET_OK ||
        (status = lin_trace(*out_source, &trace, &lin_default_allocator, &traced, err)) !=
            LINNET_OK)
        return status;
    return lin_memory_new(*out_source, &traced, &trace, &settings, &lin_default_allocator,
                          out_memory, err);
}

/* From names to an answer; -1 on failure. */
static int64_t time_answer(const step *s)
{
    static const int64_t as_configured[LIN_ROLE_COUNT];
    lin_source *source = NULL;
    lin_memory *memory = NULL;
    lin_answer *answer = NULL;
    linnet_error err = { 0 };
    const int64_t start = now_ns();
    const bool done = prepare(s, &source, &memory, &err) == LINNET_OK &&
                      lin_memory_analyse(memory, as_configured, &answer, &err) == LINNET_OK;
    const int64_t spent = now_ns() - start;
    if (!done)
        fprintf(stderr, "bench_training: %s\n", err.message);
    lin_answer_free(answer);
    lin_memory_free(memory);
    lin_source_free(source);
    return done ? spent : -1;
}

static int64_t time_peaks(const step *s)
{
    lin_source *source = NULL;
    lin_memory *memory = NULL;
    linnet_error err = { 0 };
    int64_t start = 0;
    bool done = prepare(s, &source, &memory, &err) == LINNET_OK;
    start = now_ns();
    for (int64_t i = 0; i < CALLS && done; i++) {
        const int64_t sizes[LIN_ROLE_COUNT] = { 0, 64 + i * 37 % 8000, 0 };
        lin_peaks peaks;
        done = lin_memory_peaks(memory, sizes, &peaks, &err) == LINNET_OK;
    }
    const int64_t spent = (now_ns() - start) / CALLS;
    if (!done)
        fprintf(stderr, "bench_training: %s\n", err.message);
    lin_memory_free(memory);
    lin_source_free(source);
    return done ? spent : -1;
}

static bool is_within(const step *s, int64_t (*time_once)(const step *s))
{
    int64_t best = INT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t spent = time_once(s);
        best = spent < best ? spent : best;
    }
    printf("%-58s %8.1f us (limit %lld us)\n", s->name, (double)best / 1e3, (long long)s->limit_us);
    return best >= 0 && best <= s->limit_us * 1000;
}

int main(void)
{
    static const lin_setting huge[] = {
        { .name = "H", .integer = 16384 },     { .name = "Heads", .integer = 128 },
        { .name = "Inner", .integer = 53248 }, { .name = "KvHeads", .integer = 8 },
        { .name = "Layers", .integer = 126 },
    };
    const step peaks = { "peaks of another size, TinyLlama, block checkpointing",
                         "tinyllama-1.1b-chat",
                         NULL,
                         0,
                         "block",
                         100 };
    const step tiny = { "an answer, TinyLlama", "tinyllama-1.1b-chat", NULL, 0, NULL, 40000 };
    const step large = { "an answer, Llama 405B, block checkpointing",
                         "llama-3.1-8b-instruct",
                         huge,
                         ARRAY_LEN(huge),
                         "block",
                         150000 };
    const bool peaks_fit = is_within(&peaks, time_peaks);
    const bool tiny_fits = is_within(&tiny, time_answer);
    const bool large_fits = is_within(&large, time_answer);
    return peaks_fit && tiny_fits && large_fits ? 0 : 1;
}
