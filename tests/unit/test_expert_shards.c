/* SPDX-License-Identifier: MIT */

/*
 * Training states of experts that are spread over processes, beside shards. Which processes hold
 * the same experts is read off the groups of the layout; together these hold each state of the
 * whole model once. With the weights that are gathered, by hand, and a real configuration.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linnet/linnet.h>

#include "comm/comm.h"

/* 2 layers of 16 experts, 64 by 32 and back; every size divides by 64. */
enum {
    LAYERS = 2,
    EXPERT = 16 * 2 * 64 * 32, /* elements of a layer's experts */
    DENSE = 64 * 64 + 16 * 64, /* of the rest of a layer */
    LOOSE = 64 * 64            /* of the head */
};

static const char program[] =
    "module m\n"
    "use std.nn.attention::{causal_mask, grouped_attention}\n"
    "use std.nn.linear::{Linear}\n"
    "use std.nn.loss::{linear_cross_entropy}\n"
    "use std.nn.moe::{linear_experts, top_k}\n"
    "block Layer {\n"
    "    sub proj: Linear<64, 64, bf16>\n"
    "    sub router: Linear<64, 16, bf16>\n"
    "    param up: Tensor[16, 32, 64; bf16]\n"
    "    param down: Tensor[16, 64, 32; bf16]\n"
    "    fn forward<R: Dim>(x: Tensor[R, 64; bf16]) -> Tensor[R, 64; bf16] {\n"
    "        let q = reshape(proj.forward(x), [1, 1, R, 64])\n"
    "        let a = grouped_attention(q, q, q, 0.1, some(causal_mask<R, R>()))\n"
    "        let h = reshape(a, [R, 64])\n"
    "        let chosen = top_k<R, 16, 2>(cast<f32>(router.forward(h)))\n"
    "        let copies = reshape(broadcast_to(reshape(h, [R, 1, 64]), [R, 2, 64]), [R * 2, 64])\n"
    "        let opened = linear_experts(reshape(copies, [R, 2, 64]), up, chosen)\n"
    "        let parts = linear_experts(opened, down, chosen)\n"
    "        let y[r, h] = sum<f32>[k] cast<f32>(parts[r, k, h])\n"
    "        return cast<bf16>(y)\n"
    "    }\n"
    "}\n"
    "pub block Model {\n"
    "    sub layers: [Layer; 2]\n"
    "    sub head: Linear<64, 64, bf16>\n"
    "    pub entry loss<S: Dim>(x: Tensor[S, 64; bf16], targets: Tensor[S; i64],\n"
    "        weights: Tensor[S; f32]) -> f32 {\n"
    "        var h = x\n"
    "        static for layer in layers {\n"
    "            h = layer.forward(h)\n"
    "        }\n"
    "        return linear_cross_entropy(h, head.weight, targets, weights)\n"
    "    }\n"
    "}\n";

/* ---- running ---- */

typedef struct run {
    linnet_config *config;
    linnet_model *model;
    linnet_analysis *analysis;
    linnet_error err;
} run;

/* `path` NULL: the program. */
static linnet_status try_run(run *r, const char *path, const char *options)
{
    *r = (run){ NULL, NULL, NULL, { 0 } };
    assert_int_equal(linnet_config_new(&r->config, NULL), LINNET_OK);
    linnet_status status = linnet_config_set_json(r->config, options, strlen(options), &r->err);
    if (status == LINNET_OK)
        status = path != NULL ? linnet_model_open(r->config, path, NULL, &r->model, &r->err)
                              : linnet_model_parse(r->config, program, sizeof program - 1,
                                                   "m.linnet", NULL, &r->model, &r->err);
    if (status == LINNET_OK)
        status = linnet_analysis_new(r->model, r->config, &r->analysis, &r->err);
    return status;
}

static void end_run(run *r)
{
    linnet_analysis_unref(r->analysis);
    linnet_model_unref(r->model);
    linnet_config_free(r->config);
}

static run run_degrees(const lin_parallel *degrees, const char *more)
{
    lin_text options;
    run r;
    lin_text_init(&options, &lin_default_allocator);
    lin_text_addf(&options,
                  "{\"entry\": \"loss\", \"context\": 64, \"training\": true, \"timeline\": true, "
                  "\"shards\": %lld, \"zero\": %d, \"replicas\": %lld, \"expert_parallel\": %lld, "
                  "\"context_parallel\": %lld%s}",
                  (long long)degrees->shards, degrees->zero, (long long)degrees->replicas,
                  (long long)degrees->expert, (long long)degrees->context, more);
    if (try_run(&r, NULL, lin_text_data(&options)) != LINNET_OK)
        fail_msg("line %u: %s", r.err.line, r.err.message);
    lin_text_free(&options);
    return r;
}

enum { MOST_MOMENTS = 1 << 12 };

/* Copies the bytes of a category by moment; how many there are. */
static uint64_t copy_moments(const run *r, const char *category, int64_t out[MOST_MOMENTS])
{
    uint64_t count = 0;
    assert_int_equal(
        linnet_analysis_copy_timeline(r->analysis, category, out, MOST_MOMENTS, &count, NULL),
        LINNET_OK);
    assert_true(count > 0 && count <= MOST_MOMENTS);
    return count;
}

static int64_t at_end(const run *r, const char *category)
{
    int64_t moments[MOST_MOMENTS];
    return moments[copy_moments(r, category, moments) - 1];
}

/* ---- which shards hold the same experts ---- */

/* Different shards, of one replica, among the processes with the same experts as the first has: 0
 * where another such group has another number. */
static int64_t count_shards(const lin_parallel *degrees)
{
    lin_arena arena;
    lin_layout layout;
    linnet_error err;
    int64_t all = -1;
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(lin_layout_make(degrees, NULL, &arena, &layout, &err), LINNET_OK);
    const lin_group_set *set = &layout.sets[LIN_GROUP_EXPERT_DATA];
    const uint32_t context = (uint32_t)degrees->context, shards = (uint32_t)degrees->shards;
    for (uint32_t g = 0; g < set->groups; g++)
        for (uint32_t replica = 0; replica < degrees->replicas; replica++) {
            uint64_t seen = 0;
            for (uint32_t i = 0; i < set->size; i++) {
                const uint32_t rank = set->ranks[g * set->size + i];
                if (rank / (context * shards) == replica)
                    seen |= (uint64_t)1 << rank / context % shards;
            }
            const int64_t found = __builtin_popcountll(seen);
            if (found > 0 && all >= 0 && found != all)
                all = 0;
            if (found > 0 && all < 0)
                all = found;
        }
    lin_arena_free(&arena);
    return all;
}

typedef void visit_fn(const lin_parallel *degrees);

static void visit_all(visit_fn *visit, int64_t most, bool powers)
{
    for (int64_t context = 1; context <= 4; context += powers ? context : 1)
        for (int64_t shards = 2; shards <= most; shards += powers ? shards : 1)
            for (int64_t replicas = 1; replicas <= 4; replicas += powers ? replicas : 1)
                for (int64_t expert = 1; expert <= context * shards * replicas; expert++) {
                    const lin_parallel degrees = { .tensor = 1,
                                                   .context = context,
                                                   .shards = shards,
                                                   .replicas = replicas,
                                                   .expert = expert,
                                                   .pipeline = 1 };
                    if (context * shards * replicas % expert == 0)
                        visit(&degrees);
                }
}

static void compare_shards(const lin_parallel *degrees)
{
    const int64_t shards = lin_parallel_expert_shards(degrees);
    linnet_error err;
    assert_int_equal(lin_parallel_check_expert_shards(degrees, &err),
                     shards > 0 ? LINNET_OK : LINNET_ERROR_ARGUMENT);
    if (shards > 0 && shards != count_shards(degrees))
        fail_msg("cp %d, shards %d, replicas %d, ep %d: %d", (int)degrees->context,
                 (int)degrees->shards, (int)degrees->replicas, (int)degrees->expert, (int)shards);
}

static void test_count(void **state)
{
    (void)state;
    visit_all(compare_shards, 12, false);
}

/* ---- states ---- */

/* Of `count` elements of the rest and as many of experts, what a process has of what is split, and
 * of what is not. */
typedef struct share {
    int64_t part, whole;
} share;

static share share_of(const lin_parallel *degrees)
{
    const int64_t dense = LAYERS * DENSE + LOOSE, experts = LAYERS * EXPERT / degrees->expert;
    return (share){ dense / degrees->shards + experts / count_shards(degrees), dense + experts };
}

/* All processes together have each state as often as there are copies: those of the rest are of
 * all positions and replicas. */
static void check_sums(const lin_parallel *degrees, const share *own)
{
    const int64_t ranks = degrees->context * degrees->shards * degrees->replicas;
    const int64_t dense = LAYERS * DENSE + LOOSE, experts = LAYERS * EXPERT;
    const int64_t copies = degrees->context * degrees->replicas;
    const int64_t holders = degrees->expert * count_shards(degrees);
    assert_int_equal(ranks % holders, 0);
    assert_int_equal(own->part * ranks, dense * copies + experts * (ranks / holders));
}

static void check_states(const lin_parallel *given)
{
    for (int32_t zero = 1; zero <= 3; zero++) {
        lin_parallel degrees = *given;
        degrees.zero = zero;
        const share own = share_of(&degrees);
        run r = run_degrees(&degrees, "");
        check_sums(&degrees, &own);
        assert_int_equal(at_end(&r, "parameters"), zero == 3 ? 4 * own.part : 2 * own.whole);
        assert_int_equal(at_end(&r, "master_weights"), zero == 3 ? 0 : 4 * own.part);
        assert_int_equal(at_end(&r, "gradients"), zero == 3   ? 4 * own.part
                                                  : zero == 2 ? 2 * own.part
                                                              : 2 * own.whole);
        assert_int_equal(at_end(&r, "optimizer_states"), 8 * own.part);
        end_run(&r);
    }
}

static void check_known(const lin_parallel *degrees)
{
    if (16 % degrees->expert == 0 && lin_parallel_expert_shards(degrees) > 0)
        check_states(degrees);
}

static void test_states(void **state)
{
    (void)state;
    visit_all(check_known, 8, true);
}

/* ---- gathered weights ---- */

static const struct gathered_case {
    const char *name;
    int64_t shards, expert;
    const char *more;
    /* beside the process's parts, bytes: a layer in use, and between forward and backward */
    int64_t used, kept;
} gathered_cases[] = {
    { "experts on one shard alone are copied into the dtype that computes", 8, 8, "",
      2 * DENSE * 7 / 8 + 2 * EXPERT / 8, 0 },
    { "on two of eight, the other half comes", 8, 4, "", 2 * DENSE * 7 / 8 + 2 * EXPERT / 4 / 2,
      0 },
    { "on all, seven eighths", 8, 1, "", 2 * (DENSE + EXPERT) * 7 / 8, 0 },
    { "spread over two until backward, what is on two stays", 8, 4, ", \"reshard\": \"2\"",
      2 * DENSE * 7 / 8 + 2 * EXPERT / 4 / 2, LAYERS * 2 * DENSE * 3 / 8 },
    { "spread over two until backward, what is on four is halved", 8, 2, ", \"reshard\": \"2\"",
      2 * DENSE * 7 / 8 + 2 * EXPERT / 2 * 3 / 4,
      LAYERS *(2 * DENSE * 3 / 8 + 2 * EXPERT / 2 / 4) },
    { "copies go with the rest", 8, 8, ", \"reshard\": \"2\"", 2 * DENSE * 7 / 8 + 2 * EXPERT / 8,
      LAYERS * 2 * DENSE * 3 / 8 },
    { "kept, all of it stays", 8, 8, ", \"reshard\": \"never\"",
      LAYERS *(2 * DENSE * 7 / 8 + 2 * EXPERT / 8), LAYERS *(2 * DENSE * 7 / 8 + 2 * EXPERT / 8) },
    { "experts in the dtype that computes need no copy", 8, 8, ", \"master_dtype\": \"bf16\"",
      2 * DENSE * 7 / 8, 0 },
};

/* The exchange of rows is at moments of its own; the head is always there. */
static void test_gathered(void **state)
{
    const struct gathered_case *c = *state;
    const lin_parallel degrees = {
        .context = 1, .shards = c->shards, .replicas = 1, .expert = c->expert, .zero = 3
    };
    const int64_t loose = 2 * LOOSE * (c->shards - 1) / c->shards;
    int64_t moments[MOST_MOMENTS], used = 0;
    run r = run_degrees(&degrees, c->more);
    const uint64_t count = copy_moments(&r, "communication", moments);
    const int64_t steps = linnet_analysis_steps(r.analysis);
    /* The first step of all is a product that reads the first layer, and exchanges nothing. */
    assert_true(count > (uint64_t)steps);
    used = moments[0] - loose;
    if (strstr(c->more, "reshard") != NULL && strstr(c->more, "never") != NULL)
        used = moments[steps - 1] - loose;
    assert_int_equal(used, c->used);
    /* The loss is the last step, and reads no layer. */
    assert_int_equal(moments[steps - 1] - loose, c->kept);
    end_run(&r);
}

/* ---- refusals ---- */

static const struct refusal_case {
    const char *name, *options, *says;
} refusals[] = {
    { "experts that end inside a replica's shards",
      "\"shards\": 6, \"expert_parallel\": 4, \"replicas\": 2",
      "degree of 4 over a context of 1, 6 shards and 2 replicas leaves no whole number of shards "
      "with the same experts; degrees that do are 1, 2, 3, 6 and 12" },
    { "experts over groups that hold no whole number",
      "\"shards\": 12, \"expert_parallel\": 4, \"reshard\": \"2\"",
      "on 3 of 12 shards, so their weights cannot be spread over groups of 2: sizes that divide "
      "them are 1 and 3" },
};

static void test_refusal(void **state)
{
    const struct refusal_case *c = *state;
    lin_text options;
    run r;
    lin_text_init(&options, &lin_default_allocator);
    lin_text_addf(&options, "{\"entry\": \"loss\", \"context\": 64, \"training\": true, %s}",
                  c->options);
    assert_int_equal(try_run(&r, NULL, lin_text_data(&options)), LINNET_ERROR_ARGUMENT);
    if (strstr(r.err.message, c->says) == NULL)
        fail_msg("`%s` does not say `%s`", r.err.message, c->says);
    lin_text_free(&options);
    end_run(&r);
}

/* ---- a real configuration ---- */

static int64_t component(const run *r, const char *name)
{
    for (uint64_t i = 0; i < linnet_analysis_component_count(r->analysis); i++)
        if (strcmp(linnet_analysis_component_name(r->analysis, i), name) == 0)
            return linnet_analysis_component_bytes(r->analysis, i);
    return 0;
}

/* Qwen3 30B A3B over 8 devices: 30,532,122,624 parameters in f32, however its experts are spread.
 * Of 48 layers of 128 experts, 3 * 2048 * 768 each, ZeRO 1 and 2 keep what they keep whole. */
static void test_real(void **state)
{
    static const int64_t parameters = 30532122624, experts = 48 * 128 * 3 * (int64_t)2048 * 768;
    static const int64_t degrees[] = { 1, 2, 4, 8 };
    const char *shared = getenv("LINNET_SHARED");
    char path[4096], options[512];
    (void)state;
    if (shared == NULL) {
        print_message("LINNET_SHARED is not set\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/data/hf-configs/qwen3-30b-a3b", shared);
    for (size_t i = 0; i < ARRAY_LEN(degrees); i++)
        for (int zero = 2; zero <= 3; zero++) {
            run r;
            snprintf(options, sizeof options,
                     "{\"entry\": \"loss_packed\", \"training\": true, \"context\": 1024, "
                     "\"shards\": 8, \"zero\": %d, \"expert_parallel\": %lld}",
                     zero, (long long)degrees[i]);
            if (try_run(&r, path, options) != LINNET_OK)
                fail_msg("%s", r.err.message);
            const int64_t whole = parameters - experts + experts / degrees[i];
            assert_int_equal(component(&r, "Weights"), zero == 3 ? 4 * parameters / 8 : 2 * whole);
            assert_int_equal(component(&r, "Master weights"), zero == 3 ? 0 : 4 * parameters / 8);
            assert_int_equal(component(&r, "Optimizer states (adamw)"), 8 * parameters / 8);
            end_run(&r);
        }
}

#define ADD_ROWS(cases, function)                             \
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)             \
        tests[count++] = (struct CMUnitTest)                  \
        {                                                     \
            .name = (cases)[i].name, .test_func = (function), \
            .initial_state = (void *)(uintptr_t) & (cases)[i] \
        }

int main(void)
{
    struct CMUnitTest tests[ARRAY_LEN(gathered_cases) + ARRAY_LEN(refusals) + 3];
    size_t count = 0;
    tests[count++] =
        (struct CMUnitTest){ .name = "shards with the same experts are those of the layout",
                             .test_func = test_count };
    tests[count++] =
        (struct CMUnitTest){ .name = "all processes together hold every state of the model",
                             .test_func = test_states };
    ADD_ROWS(gathered_cases, test_gathered);
    ADD_ROWS(refusals, test_refusal);
    tests[count++] = (struct CMUnitTest){ .name = "states of Qwen3 30B A3B over 8 devices",
                                          .test_func = test_real };
    return _cmocka_run_group_tests("expert_shards", tests, count, NULL, NULL);
}
