/* SPDX-License-Identifier: MIT */
#ifndef PARALLEL_JOB_H
#define PARALLEL_JOB_H

/* A small model with attention and a mixture, a device of round figures, and a cost of both. */

#include "cost_run.h"

enum {
    LAYERS = 2,
    HIDDEN = 512,
    HEADS = 4,
    INNER = 1024,
    EXPERTS = 8,
    CHOSEN = 2,
    POSITIONS = 4096
};

static const char program[] =
    "module m\n"
    "use std.nn.attention::{causal_mask, grouped_attention}\n"
    "use std.nn.embedding::{Embedding}\n"
    "use std.nn.linear::{Linear}\n"
    "use std.nn.moe::{linear_experts, top_k}\n"
    "block Layer<T: Float> {\n"
    "    sub proj: Linear<512, 512, T>\n"
    "    sub router: Linear<512, 8, T>\n"
    "    param up: Tensor[8, 1024, 512; T]\n"
    "    param down: Tensor[8, 512, 1024; T]\n"
    "    fn attend<B: Dim, S: Dim>(x: Tensor[B, S, 512; T]) -> Tensor[B, S, 512; T] {\n"
    "        let h = permute(reshape(proj.forward(x), [B, S, 4, 128]), [0, 2, 1, 3])\n"
    "        let y = grouped_attention(h, h, h, 0.1, some(causal_mask<S, S>()))\n"
    "        return reshape(permute(y, [0, 2, 1, 3]), [B, S, 512])\n"
    "    }\n"
    "    fn mix<R: Dim>(x: Tensor[R, 512; T]) -> Tensor[R, 512; T] {\n"
    "        let chosen = top_k<R, 8, 2>(cast<f32>(router.forward(x)))\n"
    "        let copies = reshape(broadcast_to(reshape(x, [R, 1, 512]), [R, 2, 512]),\n"
    "            [R * 2, 512])\n"
    "        let opened = linear_experts(reshape(copies, [R, 2, 512]), up, chosen)\n"
    "        let parts = linear_experts(opened, down, chosen)\n"
    "        let y[r, h] = sum<f32>[k] cast<f32>(parts[r, k, h])\n"
    "        return cast<T>(y)\n"
    "    }\n"
    "    fn forward<B: Dim, S: Dim>(x: Tensor[B, S, 512; T]) -> Tensor[B, S, 512; T] {\n"
    "        let y = attend(x)\n"
    "        return reshape(mix(reshape(y, [B * S, 512])), [B, S, 512])\n"
    "    }\n"
    "}\n"
    "pub block Model<T: Float = bf16> {\n"
    "    sub embedding: Embedding<1000, 512, T>\n"
    "    sub layers: [Layer<T>; 2]\n"
    "    pub entry forward<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> Tensor[B, S, 512; T] {\n"
    "        var x = embedding.forward(tokens)\n"
    "        static for layer in layers {\n"
    "            x = layer.forward(x)\n"
    "        }\n"
    "        return x\n"
    "    }\n"
    "}\n";

/* 100 TFLOP/s, 1 TB/s, a link of 100 GB/s with 10 us, no start-up times and no host. */
static inline lin_profile make_profile(double link)
{
    return (lin_profile){ .name = "round",
                          .flops = { 100e12, 100e12, 100e12 },
                          .bandwidth = 1e12,
                          .elementwise = 1e12,
                          .broadcast = 1e12,
                          .skinny = 1e12,
                          .decode = 1e12,
                          .link = link,
                          .latency = 10e-6 };
}

static inline lin_traced trace_program(lin_source *source, int64_t context, int64_t experts)
{
    const lin_trace_settings settings = { .role_given = { true, true, false },
                                          .role_value = { 1, POSITIONS, 0 },
                                          .numerics = LIN_NUMERICS_FAST,
                                          .processes = 1,
                                          .context_processes = context,
                                          .expert_processes = experts };
    lin_traced traced;
    linnet_error err = { 0 };
    if (lin_trace(source, &settings, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return traced;
}

/* A priced cost of the model; `close_job` ends it. */
typedef struct job {
    lin_source *source;
    lin_traced traced;
    lin_cost *cost;
    lin_profile profile;
} job;

static inline void open_job(const lin_cost_settings *settings, double link, job *out)
{
    const lin_source_settings source = { .allocator = lin_default_allocator,
                                         .limits = lin_lang_default_limits,
                                         .file_bytes = 1 << 20 };
    int64_t symbols[LIN_ROLE_COUNT] = { 1, POSITIONS, 1 };
    linnet_error err = { 0 };
    *out = (job){ .profile = make_profile(link) };
    if (lin_source_parse(&source, program, strlen(program), "m.linnet", NULL, &out->source, &err) !=
        LINNET_OK)
        fail_msg("line %u: %s", err.line, err.message);
    out->traced = trace_program(out->source, settings->context, settings->expert);
    if (lin_cost_new(out->traced.graph, settings, &lin_default_allocator, &out->cost, &err) !=
            LINNET_OK ||
        lin_cost_price(out->cost, &out->profile, symbols, &err) != LINNET_OK)
        fail_msg("%s", err.message);
}

static inline void close_job(job *j)
{
    lin_cost_free(j->cost);
    lin_graph_free(j->traced.graph);
    lin_source_free(j->source);
}

static inline lin_kind_time kind_of(const lin_cost *cost, const char *name)
{
    for (uint32_t i = 0; i < lin_cost_kind_count(); i++) {
        const lin_kind_time kind = lin_cost_kind_time(cost, i);
        if (strcmp(kind.name, name) == 0)
            return kind;
    }
    fail_msg("no kind is called %s", name);
    return (lin_kind_time){ 0 };
}

static inline void assert_near(const char *what, double value, double expected)
{
    if (fabs(value - expected) > 1e-9 * fabs(expected) + 1e-15)
        fail_msg("%s: %.12g instead of %.12g", what, value, expected);
}

static inline void open_training(uint64_t rules, double link, job *out)
{
    const lin_cost_settings settings = { .training = true, .processes = 1, .rules = rules };
    open_job(&settings, link, out);
}

#define ADD_ROWS(rows, function)                             \
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)             \
        tests[count++] = (struct CMUnitTest)                 \
        {                                                    \
            .name = (rows)[i].name, .test_func = (function), \
            .initial_state = (void *)(uintptr_t) & (rows)[i] \
        }
#define ADD(words, function)                     \
    tests[count++] = (struct CMUnitTest)         \
    {                                            \
        .name = (words), .test_func = (function) \
    }

#endif
