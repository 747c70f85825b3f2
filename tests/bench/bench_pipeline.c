/* SPDX-License-Identifier: MIT */

/*
 * Times pipelines, the smallest of several rounds:
 *
 *     source to answer, the shape of Llama 3.1 405B (129 units) on 16 ranks of 8 virtual stages,
 *     interleaved, 256 micro-batches                                      at most 100 ms
 *     source to answer of 4,096 ranks, a program of as many blocks        at most 1 s
 *
 * Exit 1 past a limit.
 */

#define _POSIX_C_SOURCE 200809L

#include "memory/memory.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

typedef struct job {
    const char *name, *model, *program, *entry;
    const lin_setting *binds;
    uint32_t bind_count;
    int64_t batch, context;
    lin_pipeline_settings pipeline;
    const char *checkpoint; /* NULL: inference */
    int64_t limit_us;
} job;

static linnet_status open_source(const job *j, lin_source **out, linnet_error *err)
{
    const lin_source_settings from = { .allocator = lin_default_allocator,
                                       .limits = lin_lang_default_limits,
                                       .file_bytes = 16 << 20 };
    return j->program != NULL ? lin_source_parse(&from, j->program, strlen(j->program),
                                                 "program.linnet", NULL, out, err)
                              : lin_source_open(&from, j->model, NULL, out, err);
}

static linnet_status answer_job(const job *j, lin_source **out_source, lin_memory **out_memory,
                                lin_answer **out_answer, linnet_error *err)
{
    static const int64_t as_configured[LIN_ROLE_COUNT];
    const lin_trace_settings trace = { .entry = j->entry,
                                       .role_given = { j->batch > 0, j->context > 0, false },
                                       .role_value = { j->batch, j->context, 0 },
                                       .binds = j->binds,
                                       .bind_count = j->bind_count,
                                       .no_bindings = true,
                                       .numerics = LIN_NUMERICS_FAST,
                                       .processes = 1,
                                       .training = j->checkpoint != NULL };
    const lin_training_settings training = { .checkpoint = j->checkpoint };
    const lin_memory_settings settings = { .context_bytes = -1,
                                           .training = j->checkpoint != NULL ? &training : NULL,
                                           .pipeline = j->pipeline };
    lin_traced traced;
    linnet_status status;
    if ((status = open_source(j, out_source, err)) != LINNET_OK ||
        (status = lin_trace(*out_source, &trace, &lin_default_allocator, &traced, err)) !=
            LINNET_OK ||
        (status = lin_memory_new(*out_source, &traced, &trace, &settings, &lin_default_allocator,
                                 out_memory, err)) != LINNET_OK)
        return status;
    return lin_memory_analyse(*out_memory, as_configured, out_answer, err);
}

/* From names to an answer; -1 on failure. */
static int64_t time_answer(const job *j)
{
    lin_source *source = NULL;
    lin_memory *memory = NULL;
    lin_answer *answer = NULL;
    linnet_error err = { 0 };
    const int64_t start = now_ns();
    const bool done = answer_job(j, &source, &memory, &answer, &err) == LINNET_OK;
    const int64_t spent = now_ns() - start;
    if (!done)
        fprintf(stderr, "bench_pipeline: %s\n", err.message);
    lin_answer_free(answer);
    lin_memory_free(memory);
    lin_source_free(source);
    return done ? spent : -1;
}

static bool is_within(const job *j)
{
    int64_t best = INT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t spent = time_answer(j);
        best = spent < best ? spent : best;
    }
    printf("%-58s %8.1f us (limit %lld us)\n", j->name, (double)best / 1e3, (long long)j->limit_us);
    return best >= 0 && best <= j->limit_us * 1000;
}

/* 4,096 blocks of one product each. */
static const char many_blocks[] =
    "module program\n"
    "use std.nn.linear::{Linear}\n"
    "pub block Model<B: Dim, H: Dim = 8, Layers: Dim = 4096, T: Float = f32> {\n"
    "    sub layers: [Linear<H, H, T>; Layers]\n"
    "    pub entry forward(x: Tensor[B, H; T]) -> Tensor[B, H; T] {\n"
    "        var y = x\n"
    "        static for layer in layers {\n"
    "            y = layer.forward(y)\n"
    "        }\n"
    "        return y\n"
    "    }\n"
    "}\n";

int main(void)
{
    static const lin_setting huge[] = {
        { .name = "H", .integer = 16384 },     { .name = "Heads", .integer = 128 },
        { .name = "Inner", .integer = 53248 }, { .name = "KvHeads", .integer = 8 },
        { .name = "Layers", .integer = 126 },
    };
    const job large = { .name = "an answer, Llama 405B, 16 ranks of 8 stages, 256 micro-batches",
                        .model = "llama-3.1-8b-instruct",
                        .entry = "loss_packed",
                        .binds = huge,
                        .bind_count = ARRAY_LEN(huge),
                        .context = 256 * 1024,
                        .pipeline = { .ranks = 16,
                                      .microbatches = 256,
                                      .virtual_stages = 8,
                                      .schedule = "interleaved-1f1b" },
                        .checkpoint = "none",
                        .limit_us = 100000 };
    const job many = { .name = "an answer, 4,096 ranks in a list",
                       .program = many_blocks,
                       .entry = "forward",
                       .batch = 64,
                       .pipeline = { .ranks = 4096, .microbatches = 64 },
                       .limit_us = 1000000 };
    const bool large_fits = is_within(&large);
    const bool many_fit = is_within(&many);
    return large_fits && many_fit ? 0 : 1;
}
