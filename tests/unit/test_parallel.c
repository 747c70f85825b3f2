/* SPDX-License-Identifier: MIT */

/*
 * Tensor, sequence, sharded, context and expert parallelism through the public setters: tracing.md
 * 16 to the byte, hand counts a tensor, the closed forms of ZeRO and of a layer's activations.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linnet/linnet.h>

#include "base/base.h"

#define MIB(n) ((int64_t)(n) << 20)

/* ---- running ---- */

typedef struct run {
    linnet_config *config;
    linnet_model *model;
    linnet_analysis *analysis;
    linnet_error err;
} run;

static linnet_status try_run(run *r, const char *model, const char *options)
{
    *r = (run){ NULL, NULL, NULL, { 0 } };
    assert_int_equal(linnet_config_new(&r->config, NULL), LINNET_OK);
    linnet_status status = linnet_config_set_json(r->config, options, strlen(options), &r->err);
    if (status == LINNET_OK)
        status = linnet_model_open(r->config, model, NULL, &r->model, &r->err);
    if (status == LINNET_OK)
        status = linnet_analysis_new(r->model, r->config, &r->analysis, &r->err);
    return status;
}

static run do_run(const char *model, const char *options)
{
    run r;
    if (try_run(&r, model, options) != LINNET_OK)
        fail_msg("%s %s: %s", model, options, r.err.message);
    return r;
}

static void end_run(run *r)
{
    linnet_analysis_unref(r->analysis);
    linnet_model_unref(r->model);
    linnet_config_free(r->config);
}

static int64_t component(const run *r, const char *name)
{
    for (uint64_t i = 0; i < linnet_analysis_component_count(r->analysis); i++)
        if (strcmp(linnet_analysis_component_name(r->analysis, i), name) == 0)
            return linnet_analysis_component_bytes(r->analysis, i);
    return 0;
}

enum { MOST_MOMENTS = 1 << 16 };
static int64_t moments[MOST_MOMENTS];

/* Bytes of a category at a moment; -1 is the last, -2 the one before. */
static int64_t at_moment(const run *r, const char *category, int64_t moment)
{
    uint64_t count;
    assert_int_equal(
        linnet_analysis_copy_timeline(r->analysis, category, moments, MOST_MOMENTS, &count, NULL),
        LINNET_OK);
    return moments[moment >= 0 ? moment : (int64_t)count + moment];
}

/* ---- Llama 3.1 8B over two processes: tracing.md 16 ---- */

static const struct published {
    const char *name, *options, *at;
    int64_t caches, activations, workspace, allocator;
} published[] = {
    { "decode, 16 rows over caches of 8192",
      "{\"entry\": \"decode\", \"batch\": 16, \"cache\": 8192, \"tensor_parallel\": 2}",
      "step 10: cast in `layers.0.attention`", MIB(8192), 10747968, 0, 17190101056 },
    { "decode_rows, the same",
      "{\"entry\": \"decode_rows\", \"batch\": 16, \"cache\": 8192, \"tensor_parallel\": 2}",
      "step 10: cast in `layers.0.attention`", MIB(8192), 10748032, 0, 17190101120 },
    { "forward, 8192 tokens",
      "{\"entry\": \"forward\", \"batch\": 1, \"context\": 8192, \"tensor_parallel\": 2}",
      "step 1604: all_gather in the root", MIB(512), 3152052224, 2101346304, 14379687936 },
};

static void test_published(void **state)
{
    const struct published *row = *state;
    run r = do_run("llama-3.1-8b-instruct", row->options);
    assert_int_equal(component(&r, "Weights"), 8555864064);
    assert_int_equal(component(&r, "KV cache"), row->caches);
    assert_int_equal(component(&r, "Peak activations"), row->activations);
    assert_int_equal(component(&r, "Backend workspace"), row->workspace);
    assert_int_equal(linnet_analysis_allocator_peak(r.analysis), row->allocator);
    assert_string_equal(linnet_analysis_peak_at(r.analysis), row->at);
    assert_int_equal(component(&r, "One-shot all-reduce buffers"), 2 * 65536);
    assert_int_equal(component(&r, "NCCL communicator"), MIB(842));
    /* A process in inference: 1569 MiB and 128 KiB beside its tensors, 32 of them cuBLAS's. */
    assert_int_equal(linnet_analysis_expected_peak(r.analysis),
                     row->allocator + MIB(1569 - 32) + 131072);
    end_run(&r);
}

/* One process's part of each tensor, written down by hand: H 4096, 32 and 8 heads of 128, inner
 * width 14336, vocabulary 128256, 32 layers, 8192 positions, two processes, 2 bytes a value. */
static void test_hand_weights(void **state)
{
    (void)state;
    static const int64_t layer[] = {
        4096,        /* attention_norm, whole */
        2048 * 4096, /* q_proj: 16 of 32 heads */
        512 * 4096,  /* k_proj: 4 of 8 */
        512 * 4096,  /* v_proj */
        4096 * 2048, /* o_proj: the columns of 16 heads */
        4096,        /* mlp_norm, whole */
        7168 * 4096, /* gate: half of 14336 */
        7168 * 4096, /* up */
        4096 * 7168, /* down */
    };
    int64_t elements = 128256 * 4096 /* embedding, whole */ + 4096 /* norm */ +
                       64128 * 4096 /* lm_head: half the vocabulary */;
    for (size_t i = 0; i < ARRAY_LEN(layer); i++)
        elements += 32 * layer[i];
    run r =
        do_run("llama-3.1-8b-instruct", "{\"entry\": \"forward\", \"batch\": 1, \"context\": 8192, "
                                        "\"tensor_parallel\": 2}");
    assert_int_equal(elements, 4277932032);
    assert_int_equal(component(&r, "Weights"), 2 * elements);
    /* Keys and values of 4 heads in each of 32 layers. */
    assert_int_equal(component(&r, "KV cache"), 32 * 2 * (8192 * 4 * 128 * 2));
    end_run(&r);
}

/* Every tensor the forward pass makes, in blocks of 512 bytes: the figure of a buffer per tensor.
 */
static void test_hand_activations(void **state)
{
    (void)state;
    static const int64_t layer[] = {
        MIB(64),                                     /* norm */
        512,      512,      512,      512,      512, /* vectors of 64 f32: frequencies and rescaling
                                                      */
        MIB(2),                                      /* angles, [8192, 64] f32 */
        MIB(4),   MIB(4),   MIB(4), /* both halves, cosine, sine: [8192, 128] f32 */
        MIB(2),   MIB(2),           /* their casts */
        MIB(32),  MIB(32),  MIB(16),  MIB(32),  MIB(32), MIB(32), /* q, 16 heads; its rotation */
        MIB(8),   MIB(8),   MIB(4),   MIB(8),   MIB(8),  MIB(8),  /* k, 4 heads; its rotation */
        MIB(8),                                                   /* v */
        MIB(64),                                                  /* mask, [8192, 8192] bool */
        MIB(32),                                                  /* attention of 16 heads */
        MIB(64),  MIB(64),  MIB(64),            /* o_proj, its sum over both, residual */
        MIB(64),                                /* norm */
        MIB(112), MIB(112), MIB(112), MIB(112), /* gate, silu, up, product: 7168 wide */
        MIB(64),  MIB(64),  MIB(64),            /* down, its sum over both, residual */
    };
    int64_t bytes = 32768 /* tokens */ + MIB(64) /* embedding */ + MIB(64) /* norm */ +
                    MIB(1002) /* local logits */ + MIB(2004) /* gathered */,
            naive = 0;
    for (size_t i = 0; i < ARRAY_LEN(layer); i++)
        bytes += 32 * layer[i];
    run r =
        do_run("llama-3.1-8b-instruct", "{\"entry\": \"forward\", \"batch\": 1, \"context\": 8192, "
                                        "\"tensor_parallel\": 2}");
    assert_int_equal(linnet_analysis_allocation(r.analysis, &naive, NULL, NULL, NULL, NULL),
                     LINNET_OK);
    assert_int_equal(naive, bytes);
    end_run(&r);
}

/* ---- the lesson's layer: 10 + 24/t and 34/t ---- */

enum { S = 256, B = 2, H = 256, HEADS = 8, SBH = S * B * H };

static int64_t kept(int64_t degree, bool sequence, int64_t layers)
{
    lin_text options;
    lin_text_init(&options, &lin_default_allocator);
    lin_text_addf(&options,
                  "{\"entry\": \"loss\", \"batch\": %d, \"context\": %d, \"training\": true, "
                  "\"timeline\": true, \"tensor_parallel\": %lld, \"sequence_parallel\": %s, "
                  "\"bind\": {\"H\": %d, \"Heads\": %d, \"Vocab\": 1000, \"Fused\": 1, \"Layers\": "
                  "%lld}}",
                  B, S, (long long)degree, sequence ? "true" : "false", H, HEADS,
                  (long long)layers);
    run r = do_run("gpt-lesson", lin_text_data(&options));
    lin_text_free(&options);
    const int64_t bytes =
        at_moment(&r, "activations", linnet_analysis_phase_end(r.analysis, 0) - 1);
    end_run(&r);
    return bytes;
}

static void test_layer(void **state)
{
    (void)state;
    static const int64_t degrees[] = { 2, 4, 8 };
    for (size_t i = 0; i < ARRAY_LEN(degrees); i++) {
        const int64_t t = degrees[i];
        const int64_t statistics = 2 * 2 * 4 * B * S; /* mean and deviation of two norms, f32 */
        const int64_t sums = HEADS / t * B * S * 4;   /* attention's, a row of each head */
        assert_int_equal(kept(t, false, 4) - kept(t, false, 3),
                         10 * SBH + 24 * SBH / t + statistics + sums);
        assert_int_equal(kept(t, true, 4) - kept(t, true, 3), 34 * SBH / t + statistics / t + sums);
    }
}

/* ---- states over 8 devices: closed-forms.md 6 ---- */

static const struct states_case {
    const char *name, *options;
    int64_t bytes;
} states_cases[] = {
    { "stage 1 of 1.3B over 8 devices", "\"zero\": 1", 7213409280 },
    { "stage 2 of 1.3B over 8 devices", "\"zero\": 2", 4918233600 },
    { "stage 3 of 1.3B over 8 devices", "\"zero\": 3", 2623057920 },
    { "stage 1, with the dtypes said",
      "\"zero\": 1, \"master_dtype\": \"f32\", "
      "\"gradient_dtype\": \"bf16\"",
      7213409280 },
    { "stage 2, with the dtypes said",
      "\"zero\": 2, \"master_dtype\": \"f32\", "
      "\"gradient_dtype\": \"bf16\"",
      4918233600 },
    { "stage 3, with masters said", "\"zero\": 3, \"master_dtype\": \"f32\"", 2623057920 },
};

static void test_states(void **state)
{
    const struct states_case *row = *state;
    static const char *const categories[] = { "parameters", "master_weights", "gradients",
                                              "optimizer_states" };
    lin_text options;
    int64_t bytes = 0;
    lin_text_init(&options, &lin_default_allocator);
    lin_text_addf(&options,
                  "{\"entry\": \"loss\", \"batch\": 8, \"context\": 2048, \"training\": true, "
                  "\"timeline\": true, \"shards\": 8, %s}",
                  row->options);
    run r = do_run("gpt-lesson", lin_text_data(&options));
    for (size_t i = 0; i < ARRAY_LEN(categories); i++)
        bytes += at_moment(&r, categories[i], -1);
    assert_int_equal(bytes, row->bytes);
    lin_text_free(&options);
    end_run(&r);
}

/* ---- sharded weights by hand: tracing.md 11.4 ---- */

/* gpt-lesson with H 64, one head, vocabulary 100, two layers, over 3 shards: nothing divides. */
enum { SHARDS = 3, W = 64 };
static const int64_t block_elements[] = {
    W, W, 3 * W *W, 3 * W, W *W, W, W, W, 4 * W *W, 4 * W, 4 * W *W, W,
};
static const int64_t loose_elements[] = { 100 * W, W, W };

static int64_t part(int64_t whole)
{
    return (whole + SHARDS - 1) / SHARDS;
}

static int64_t sum_parts(const int64_t *elements, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += part(elements[i]);
    return sum;
}

/* What a group has beside its own part, in bf16. */
static int64_t gathered(const int64_t *elements, size_t count)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += 2 * elements[i];
    return bytes - part(bytes);
}

static run run_shards(const char *more)
{
    lin_text options;
    lin_text_init(&options, &lin_default_allocator);
    lin_text_addf(&options,
                  "{\"entry\": \"loss\", \"batch\": 2, \"context\": 32, \"training\": true, "
                  "\"timeline\": true, \"shards\": %d, \"bind\": {\"H\": %d, \"Heads\": 1, "
                  "\"Vocab\": 100, \"Layers\": 2, \"Fused\": 1}%s}",
                  SHARDS, W, more);
    run r = do_run("gpt-lesson", lin_text_data(&options));
    lin_text_free(&options);
    return r;
}

/* Largest bytes of communication of the moments [first, end). */
static int64_t most_gathered(const run *r, int64_t first, int64_t end)
{
    int64_t most = 0;
    (void)at_moment(r, "communication", 0);
    for (int64_t m = first; m < end; m++)
        most = moments[m] > most ? moments[m] : most;
    return most;
}

static void test_shards(void **state)
{
    (void)state;
    const int64_t parts = sum_parts(loose_elements, ARRAY_LEN(loose_elements)) +
                          2 * sum_parts(block_elements, ARRAY_LEN(block_elements));
    const int64_t loose = gathered(loose_elements, ARRAY_LEN(loose_elements));
    const int64_t block = gathered(block_elements, ARRAY_LEN(block_elements));
    run r = run_shards("");
    const int64_t steps = linnet_analysis_steps(r.analysis);
    assert_int_equal(at_moment(&r, "parameters", 0), 4 * parts);
    assert_int_equal(at_moment(&r, "optimizer_states", 0), 8 * parts);
    assert_int_equal(at_moment(&r, "gradients", -1), 4 * parts);
    assert_int_equal(at_moment(&r, "communication", 0), loose); /* the embedding */
    assert_int_equal(most_gathered(&r, 0, steps), loose + block);
    assert_int_equal(most_gathered(&r, steps, 2 * steps), loose + block);
    assert_int_equal(at_moment(&r, "communication", steps), loose); /* the loss, backward */
    assert_int_equal(at_moment(&r, "communication", -1), loose);
    end_run(&r);

    r = run_shards(", \"prefetch\": 1");
    assert_int_equal(most_gathered(&r, 0, steps), loose + 2 * block);
    assert_int_equal(most_gathered(&r, steps, 2 * steps), loose + 2 * block);
    end_run(&r);

    r = run_shards(", \"reshard\": \"never\"");
    assert_int_equal(at_moment(&r, "communication", steps), loose + 2 * block);
    end_run(&r);

    r = run_shards(", \"reshard\": \"1\"");
    assert_int_equal(at_moment(&r, "communication", steps), loose + 2 * block);
    end_run(&r);
}

/* Gathered parameters are no part of the graph peak; the group's communicator is a runtime item. */
static void test_shards_report(void **state)
{
    (void)state;
    run r = run_shards("");
    const int64_t runtime = MIB(621 + 146) + 131072 + MIB(842);
    assert_int_equal(linnet_analysis_expected_peak(r.analysis),
                     linnet_analysis_allocator_peak(r.analysis) + runtime);
    assert_int_equal(linnet_analysis_graph_peak(r.analysis),
                     linnet_analysis_allocator_peak(r.analysis) - MIB(32) -
                         component(&r, "Gathered parameters") - component(&r, "Backend workspace"));
    end_run(&r);
}

/* ---- a model that is not written for several processes ---- */

/* Phi-3 mini: 32 layers of 3072, 32 heads of 96, inner width 8192, vocabulary 32064. qkv, gate_up,
 * o_proj and down are split, what else it has is whole. */
static void test_dtensor(void **state)
{
    (void)state;
    const int64_t split = 3 * 3072 * 3072 + 3072 * 3072 + 2 * 8192 * 3072 + 3072 * 8192;
    const int64_t whole = 2 * 32064 * 3072 + 3072 + 32 * 2 * 3072;
    run r = do_run("phi-3-mini-4k-instruct",
                   "{\"entry\": \"forward\", \"batch\": 1, \"context\": 4096, "
                   "\"tensor_parallel\": 2}");
    assert_int_equal(component(&r, "Weights"), 2 * (whole + 32 * split / 2));
    assert_int_equal(component(&r, "KV cache"), 32 * 2 * (4096 * 16 * 96 * 2));
    /* The logits, gathered whole by the last step. */
    assert_int_equal(component(&r, "Backend workspace"), 4096 * 32064 * 2);
    assert_int_equal(component(&r, "NCCL send and receive"), MIB(440));
    end_run(&r);
}

/* ---- context and experts ---- */

static void test_context(void **state)
{
    (void)state;
    static const char *const exchanges[] = { "ring", "all-gather" };
    /* 4096 tokens of TinyLlama on each of two processes: 4 heads of 64 for keys and values, 32 for
     * queries and results. */
    const int64_t pair = 2 * (4096 * 4 * 64 * 2), result = 4096 * 32 * 64 * 2;
    const int64_t forward[] = { 2 * pair + 2 * result, 2 * pair + result };
    const int64_t backward[] = { 4 * pair, 4 * pair };
    for (size_t i = 0; i < ARRAY_LEN(exchanges); i++) {
        lin_text options;
        lin_text_init(&options, &lin_default_allocator);
        lin_text_addf(&options,
                      "{\"entry\": \"loss_packed\", \"context\": 8192, \"training\": true, "
                      "\"timeline\": true, \"context_parallel\": 2, \"context_exchange\": \"%s\"}",
                      exchanges[i]);
        run r = do_run("tinyllama-1.1b-chat", lin_text_data(&options));
        const int64_t steps = linnet_analysis_steps(r.analysis);
        assert_int_equal(most_gathered(&r, 0, steps), forward[i]);
        assert_int_equal(most_gathered(&r, steps, 2 * steps), backward[i]);
        assert_int_equal(at_moment(&r, "inputs", 0), 4096 * (4 + 4 + 4 + 8 + 4));
        assert_int_equal(component(&r, "NCCL send and receive"), i == 0 ? MIB(745) : 0);
        lin_text_free(&options);
        end_run(&r);
    }
}

/* Mixtral 8x7B, a directory with its config: 32 mixtures of 8 experts of three matrices, 4096 by
 * 14336; 2 experts a row. */
static void test_experts(void **state)
{
    (void)state;
    const char *shared = getenv("LINNET_SHARED");
    const int64_t experts = 8 * 3 * (int64_t)4096 * 14336, all = 46702792704;
    char path[4096];
    if (shared == NULL) {
        print_message("LINNET_SHARED is not set\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/data/hf-configs/mixtral-8x7b-v0.1", shared);
    run r = do_run(path, "{\"batch\": 1, \"context\": 1024, \"timeline\": true, "
                         "\"expert_parallel\": 4}");
    assert_int_equal(component(&r, "Weights"), 2 * (all - 32 * experts * 3 / 4));
    /* 2048 routed rows of 4096, in bf16, on their way. */
    assert_int_equal(most_gathered(&r, 0, linnet_analysis_steps(r.analysis)), 2048 * 4096 * 2);
    assert_int_equal(component(&r, "NCCL send and receive"), MIB(745));
    end_run(&r);

    assert_int_equal(try_run(&r, path,
                             "{\"batch\": 1, \"context\": 1024, "
                             "\"expert_parallel\": 16}"),
                     LINNET_ERROR_ARGUMENT);
    assert_non_null(strstr(r.err.message, "degrees that do are 1, 2, 4, 8"));
    end_run(&r);
}

/* ---- what is refused ---- */

static const struct refusal_case {
    const char *name, *model, *options;
    linnet_status status;
    const char *says;
} refusals[] = {
    { "heads that do not divide", "qwen2.5-0.5b-instruct",
      "{\"batch\": 1, \"context\": 128, \"tensor_parallel\": 4}", LINNET_ERROR_ARGUMENT,
      "`Heads` is 14; degrees that work are 1, 2" },
    { "heads of a model without Shards", "phi-3-mini-4k-instruct",
      "{\"batch\": 1, \"context\": 128, \"tensor_parallel\": 5}", LINNET_ERROR_ARGUMENT,
      "1, 2, 4, 8, 16, 32" },
    { "training a model without Shards", "phi-3-mini-4k-instruct",
      "{\"entry\": \"loss_packed\", \"context\": 128, \"training\": true, \"tensor_parallel\": 2}",
      LINNET_ERROR_UNSUPPORTED, "DTensor" },
    { "sequence parallelism of a model without it", "tinyllama-1.1b-chat",
      "{\"batch\": 1, \"context\": 128, \"tensor_parallel\": 2, \"sequence_parallel\": true}",
      LINNET_ERROR_UNSUPPORTED, "SequenceShards" },
    { "sequence parallelism of one process", "gpt-lesson",
      "{\"entry\": \"loss\", \"batch\": 1, \"context\": 128, \"sequence_parallel\": true}",
      LINNET_ERROR_ARGUMENT, "degree of 2 or more" },
    { "another value for Shards", "tinyllama-1.1b-chat",
      "{\"batch\": 1, \"context\": 128, \"tensor_parallel\": 2, \"bind\": {\"Shards\": 4}}",
      LINNET_ERROR_ARGUMENT, "cannot be bound" },
    { "shards without training", "tinyllama-1.1b-chat",
      "{\"batch\": 1, \"context\": 128, \"shards\": 2}", LINNET_ERROR_ARGUMENT,
      "`shards` is an option of training" },
    { "an optimizer of whole matrices over shards", "gpt-lesson",
      "{\"entry\": \"loss\", \"batch\": 1, \"context\": 128, \"training\": true, \"shards\": 2, "
      "\"optimizer\": \"muon\"}",
      LINNET_ERROR_UNSUPPORTED, "muon" },
    { "positions that do not divide", "gpt-lesson",
      "{\"entry\": \"loss\", \"batch\": 1, \"context\": 127, \"training\": true, "
      "\"context_parallel\": 2}",
      LINNET_ERROR_ARGUMENT, "126 and 128" },
    { "devices that the degrees do not divide", "gpt-lesson",
      "{\"entry\": \"loss\", \"batch\": 1, \"context\": 128, \"training\": true, \"shards\": 4, "
      "\"devices\": 6}",
      LINNET_ERROR_ARGUMENT, "4 and 8" },
    { "experts of a model without any", "gpt-lesson",
      "{\"entry\": \"loss\", \"batch\": 1, \"context\": 128, \"training\": true, \"shards\": 2, "
      "\"expert_parallel\": 2}",
      LINNET_ERROR_UNSUPPORTED, "std.nn.moe" },
    { "a degree of 0", "gpt-lesson", "{\"tensor_parallel\": 0}", LINNET_ERROR_ARGUMENT,
      "at least 1" },
    { "a stage of 4", "gpt-lesson", "{\"zero\": 4}", LINNET_ERROR_ARGUMENT, "not 4" },
    { "resharding over no group", "gpt-lesson", "{\"reshard\": \"0\"}", LINNET_ERROR_ARGUMENT,
      "`always`" },
};

static void test_refusal(void **state)
{
    const struct refusal_case *row = *state;
    run r;
    assert_int_equal(try_run(&r, row->model, row->options), row->status);
    if (strstr(r.err.message, row->says) == NULL)
        fail_msg("`%s` does not say `%s`", r.err.message, row->says);
    end_run(&r);
}

/* The published training loss says Shards == 1 and warns; the split one trains. */
static void test_split_loss(void **state)
{
    (void)state;
    run r = do_run("tinyllama-1.1b-chat",
                   "{\"entry\": \"loss_packed\", \"context\": 1024, \"training\": true, "
                   "\"tensor_parallel\": 2}");
    assert_int_equal(linnet_analysis_warning_count(r.analysis), 1);
    assert_non_null(strstr(linnet_analysis_warning(r.analysis, 0), "Shards == 1"));
    assert_non_null(strstr(linnet_analysis_warning(r.analysis, 0), "`loss_packed_split`"));
    end_run(&r);
    r = do_run("tinyllama-1.1b-chat",
               "{\"entry\": \"loss_packed_split\", \"context\": 1024, \"training\": true, "
               "\"tensor_parallel\": 2}");
    assert_int_equal(linnet_analysis_warning_count(r.analysis), 0);
    end_run(&r);
}

#define ADD_ROWS(cases, function)                             \
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)             \
        tests[count++] = (struct CMUnitTest)                  \
        {                                                     \
            .name = (cases)[i].name, .test_func = (function), \
            .initial_state = (void *)(uintptr_t) & (cases)[i] \
        }

static const struct CMUnitTest single[] = {
    { "one of two processes' weights and caches, a tensor at a time", test_hand_weights, NULL, NULL,
      NULL },
    { "one of two processes' activations, a tensor at a time", test_hand_activations, NULL, NULL,
      NULL },
    { "a layer keeps 10 + 24/t sbh, and 34/t with sequence parallelism", test_layer, NULL, NULL,
      NULL },
    { "sharded weights, a tensor at a time", test_shards, NULL, NULL, NULL },
    { "gathered weights are beside the graph peak", test_shards_report, NULL, NULL, NULL },
    { "a model without Shards is split by names", test_dtensor, NULL, NULL, NULL },
    { "a context-parallel step exchanges keys and values", test_context, NULL, NULL, NULL },
    { "experts are spread, and rows exchanged", test_experts, NULL, NULL, NULL },
    { "the split loss trains over two processes", test_split_loss, NULL, NULL, NULL },
};

int main(void)
{
    struct CMUnitTest tests[ARRAY_LEN(published) + ARRAY_LEN(states_cases) + ARRAY_LEN(refusals) +
                            ARRAY_LEN(single)];
    size_t count = 0;
    ADD_ROWS(published, test_published);
    ADD_ROWS(states_cases, test_states);
    ADD_ROWS(refusals, test_refusal);
    for (size_t i = 0; i < ARRAY_LEN(single); i++)
        tests[count++] = single[i];
    return _cmocka_run_group_tests("parallel", tests, count, NULL, NULL);
}
