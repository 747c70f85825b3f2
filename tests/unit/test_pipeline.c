/* SPDX-License-Identifier: MIT */

/* Pipelines: the published rows (tracing.md 16) to the byte, what is refused, and the replay of
 * every schedule against an event-by-event recount. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "judge/pipeline_events.h"
#include "report/report.h"
#include <linnet/linnet.h>
#include <stdlib.h>

typedef struct pipeline_run {
    const char *model, *entry;
    int64_t batch, context;
    lin_pipeline_settings pipeline;
    lin_training_settings training;
    const lin_setting *binds;
    uint32_t bind_count;
    bool bindings, inference, timeline;
    int64_t tensor; /* 0: 1 */
} pipeline_run;

typedef struct pipeline_case {
    lin_source *source;
    lin_memory *memory;
    lin_answer *answer;
} pipeline_case;

static linnet_status try_run(const pipeline_run *r, pipeline_case *c, linnet_error *err)
{
    static const int64_t as_configured[LIN_ROLE_COUNT];
    const lin_source_settings from = { .allocator = lin_default_allocator,
                                       .limits = lin_lang_default_limits,
                                       .file_bytes = 16 << 20 };
    const lin_trace_settings trace = { .entry = r->entry,
                                       .role_given = { r->batch > 0, r->context > 0, false },
                                       .role_value = { r->batch, r->context, 0 },
                                       .binds = r->binds,
                                       .bind_count = r->bind_count,
                                       .no_bindings = !r->bindings,
                                       .numerics = LIN_NUMERICS_FAST,
                                       .processes = r->tensor > 0 ? r->tensor : 1,
                                       .training = !r->inference };
    const lin_memory_settings settings = { .context_bytes = -1,
                                           .effort = lin_plan_default_effort,
                                           .training = r->inference ? NULL : &r->training,
                                           .with_timeline = r->timeline,
                                           .pipeline = r->pipeline };
    lin_traced traced;
    linnet_status status;
    *c = (pipeline_case){ NULL, NULL, NULL };
    if ((status = lin_source_open(&from, r->model, NULL, &c->source, err)) != LINNET_OK ||
        (status = lin_trace(c->source, &trace, &lin_default_allocator, &traced, err)) !=
            LINNET_OK ||
        (status = lin_memory_new(c->source, &traced, &trace, &settings, &lin_default_allocator,
                                 &c->memory, err)) != LINNET_OK)
        return status;
    return lin_memory_analyse(c->memory, as_configured, &c->answer, err);
}

static pipeline_case open_run(const pipeline_run *r)
{
    pipeline_case c;
    linnet_error err = { 0 };
    if (try_run(r, &c, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return c;
}

static void close_run(pipeline_case *c)
{
    lin_answer_free(c->answer);
    lin_memory_free(c->memory);
    lin_source_free(c->source);
}

/* ---- published ---- */

#define TINY .model = "tinyllama-1.1b-chat", .entry = "loss_packed"
#define QWEN .model = "qwen2.5-0.5b-instruct", .entry = "loss_packed"
#define PUBLISHED(p, m) \
    .pipeline = { .ranks = (p), .microbatches = (m), .model = LIN_PIPELINE_PUBLISHED }

static const struct published {
    const char *name;
    pipeline_run run;
    uint32_t stage;
    uint32_t steps;
    int64_t before_gradients; /* the timeline without gradients, before the optimizer */
    int64_t persistent, gradients, flight, buffers, bytes;
    const char *holds;
} published[] = {
    { "TinyLlama 2 x 4, 8192, stage 0",
      { TINY, .context = 8192, PUBLISHED(2, 4) },
      0,
      530,
      1940332544,
      3392413696,
      1100046336,
      1894195200,
      33554432,
      8360542208,
      "embedding, layers.0-10" },
    { "TinyLlama 2 x 4, 8192, stage 1",
      { TINY, .context = 8192, PUBLISHED(2, 4) },
      1,
      531,
      2959572992,
      3392425984,
      1100050432,
      0,
      33554432,
      7485603840,
      "layers.11-21, norm, lm_head" },
    { "TinyLlama 2 x 8, 8192, stage 0",
      { TINY, .context = 8192, PUBLISHED(2, 8) },
      0,
      530,
      947097600,
      3392413696,
      1100046336,
      924028928,
      33554432,
      6397140992,
      "embedding, layers.0-10" },
    { "TinyLlama 2 x 8, 8192, stage 1",
      { TINY, .context = 8192, PUBLISHED(2, 8) },
      1,
      531,
      1784397824,
      3392425984,
      1100050432,
      0,
      33554432,
      6310428672,
      "layers.11-21, norm, lm_head" },
    { "TinyLlama 4 x 16, 16384, stage 0",
      { TINY, .context = 16384, PUBLISHED(4, 16) },
      0,
      242,
      447664128,
      1798430720,
      571514880,
      1273786368,
      67108864,
      4158504960,
      "embedding, layers.0-4" },
    { "TinyLlama 4 x 16, 16384, stage 1",
      { TINY, .context = 16384, PUBLISHED(4, 16) },
      1,
      288,
      530898944,
      1686257664,
      528531456,
      1015660544,
      125829120,
      3887177728,
      "layers.5-10" },
    { "TinyLlama 4 x 16, 16384, stage 2",
      { TINY, .context = 16384, PUBLISHED(4, 16) },
      2,
      288,
      530898944,
      1686257664,
      528531456,
      507830272,
      130023424,
      3383541760,
      "layers.11-16" },
    { "TinyLlama 4 x 16, 16384, stage 3",
      { TINY, .context = 16384, PUBLISHED(4, 16) },
      3,
      243,
      1284964352,
      1798443008,
      571518976,
      0,
      67108864,
      3722035200,
      "layers.17-21, norm, lm_head" },
    { "Qwen2.5 0.5B 2 x 4, 8192, stage 0",
      { QWEN, .context = 8192, PUBLISHED(2, 4) },
      0,
      578,
      1476943872,
      1940748288,
      630138880,
      1437097984,
      14680064,
      5499609088,
      "embedding, layers.0-11" },
    { "Qwen2.5 0.5B 2 x 4, 8192, stage 1",
      { QWEN, .context = 8192, PUBLISHED(2, 4) },
      1,
      579,
      4415723008,
      1940753664,
      630140672,
      0,
      14680064,
      7001297408,
      "layers.12-23, norm, lm_head" },
};

static void test_published(void **state)
{
    const struct published *row = *state;
    pipeline_case c = open_run(&row->run);
    const lin_pipeline *p = c.memory->pipeline;
    const lin_device_peak *peak = &p->peaks[row->stage];
    const lin_template *sizes = &p->stages[row->stage].sizes;
    assert_int_equal(p->stages[row->stage].split->graph.steps.count, row->steps);
    assert_int_equal(sizes->held[LIN_HELD_PARAMETERS] + sizes->held[LIN_HELD_STATES] +
                         sizes->held[LIN_HELD_CACHES],
                     row->persistent);
    assert_int_equal(sizes->held[LIN_HELD_GRADIENTS], row->gradients);
    assert_int_equal(peak->flight, row->flight);
    assert_int_equal(peak->buffers, row->buffers);
    assert_int_equal(peak->bytes, row->bytes);
    assert_int_equal(peak->bytes - row->persistent - row->gradients - row->flight - row->buffers,
                     row->before_gradients);
    assert_string_equal(c.answer->devices[row->stage].holds, row->holds);
    close_run(&c);
}

#define STAGE_RUNTIME ((INT64_C(2386) << 20) + (128 << 10))

/* The throughput table's peaks (cli-report.md 3.2): 8.29 and 6.20 GiB. */
static void test_expected(void **state)
{
    static const struct {
        pipeline_run run;
        int64_t expected;
        const char *words;
    } rows[] = {
        { { TINY, .context = 8192, PUBLISHED(2, 8) }, 6397140992 + STAGE_RUNTIME, "8.29 GiB" },
        { { TINY, .context = 16384, PUBLISHED(4, 16) }, 4158504960 + STAGE_RUNTIME, "6.20 GiB" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char words[LIN_BYTES_TEXT];
        pipeline_case c = open_run(&rows[i].run);
        lin_format_bytes(words, c.answer->peaks.expected);
        assert_int_equal(c.answer->peaks.expected, rows[i].expected);
        assert_int_equal(c.answer->peaks.allocator, rows[i].expected - STAGE_RUNTIME + (32 << 20));
        assert_string_equal(words, rows[i].words);
        close_run(&c);
    }
}

/* The sample of cli-report.md 2.1. */
static void test_report(void **state)
{
    static const char head[] = "stage 0      10.12 GiB  embedding, layers.0-10\n"
                               "stage 1       9.30 GiB  layers.11-21, norm, lm_head\n"
                               "\n"
                               "The most loaded, stage 0:\n"
                               "\n"
                               "Weights ";
    const pipeline_run run = { TINY, .context = 8192, PUBLISHED(2, 4) };
    (void)state;
    pipeline_case c = open_run(&run);
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_report_text(&text, c.answer, 0);
    assert_memory_equal(lin_text_data(&text), head, sizeof head - 1);
    assert_non_null(strstr(lin_text_data(&text), "\nPeak at stage 0, the backward pass "));
    lin_text_free(&text);
    close_run(&c);
}

/* Batch cut in inference: what every micro-batch passes, and the results put together. */
static void test_inference(void **state)
{
    const pipeline_run run = { .model = "tinyllama-1.1b-chat",
                               .entry = "forward",
                               .batch = 8,
                               .context = 2048,
                               .inference = true,
                               PUBLISHED(2, 4) };
    const int64_t hidden = (int64_t)2 * 2048 * 2048 * 2, logits = (int64_t)2 * 2048 * 32000 * 2;
    (void)state;
    pipeline_case c = open_run(&run);
    const lin_device_peak *first = &c.memory->pipeline->peaks[0];
    const lin_device_peak *last = &c.memory->pipeline->peaks[1];
    assert_int_equal(first->flight, 3 * hidden);
    assert_int_equal(first->joined, 0);
    assert_int_equal(last->flight, 3 * (hidden + logits));
    assert_int_equal(last->parts[LIN_CATEGORY_INPUTS] + last->parts[LIN_CATEGORY_ACTIVATIONS] +
                         last->parts[LIN_CATEGORY_WORKSPACE] + last->flight + last->joined,
                     4 * hidden + 8 * logits);
    assert_int_equal(c.answer->devices[0].runtime,
                     ((INT64_C(621) + 74 + 32 + 842 + 421) << 20) + (128 << 10));
    assert_int_equal(c.answer->devices[1].runtime,
                     ((INT64_C(621) + 74 + 32 + 842 + 677) << 20) + (128 << 10));
    close_run(&c);
}

/* ---- refused ---- */

static const char dead_schedule[] =
    "{ \"schedule\": \"mine\", \"ranks\": 2, \"microbatches\": 1, \"stages\": 2,\n"
    "  \"per_rank\": [ { \"rank\": 0, \"actions\": [\"0B0\", \"0F0\"] },\n"
    "                  { \"rank\": 1, \"actions\": [\"1F0\", \"1B0\"] } ] }";

static const struct refused {
    const char *name;
    pipeline_run run;
    linnet_status status;
    const char *says;
} refused[] = {
    { "fewer micro-batches than stages",
      { TINY, .context = 8192, PUBLISHED(4, 2) },
      LINNET_ERROR_ARGUMENT,
      "at least 4, or at most 2 stages" },
    { "micro-batches that do not divide",
      { TINY, .context = 8192, PUBLISHED(2, 6) },
      LINNET_ERROR_ARGUMENT,
      "do not divide a context of 8192: 4 or 8 do" },
    { "more micro-batches than positions",
      { TINY, .context = 8, PUBLISHED(2, 9) },
      LINNET_ERROR_ARGUMENT,
      "do not divide a context of 8: at most 8 do" },
    { "more stages than blocks",
      { TINY, .context = 8192, PUBLISHED(32, 32) },
      LINNET_ERROR_ARGUMENT,
      "at most 25 stages" },
    { "a schedule that the published model lacks",
      { TINY, .context = 8192,
        .pipeline = { .ranks = 2,
                      .microbatches = 4,
                      .schedule = "zbv",
                      .model = LIN_PIPELINE_PUBLISHED } },
      LINNET_ERROR_UNSUPPORTED,
      "`1f1b` and `gpipe`" },
    { "published: an entry with state",
      { .model = "tinyllama-1.1b-chat",
        .entry = "decode",
        .batch = 8,
        .inference = true,
        PUBLISHED(2, 2) },
      LINNET_ERROR_UNSUPPORTED,
      "`decode` reads" },
    { "published: tensor-parallel training",
      { .model = "tinyllama-1.1b-chat",
        .entry = "loss_packed_split",
        .context = 8192,
        .tensor = 2,
        PUBLISHED(2, 4) },
      LINNET_ERROR_UNSUPPORTED,
      "tensor-parallel stages" },
    { "a schedule of no such name",
      { TINY, .context = 8192, .pipeline = { .ranks = 2, .microbatches = 4, .schedule = "1f1c" } },
      LINNET_ERROR_NOT_FOUND,
      "`1f1b`" },
    { "a schedule that does not end",
      { TINY, .context = 8192,
        .pipeline = { .schedule_text = dead_schedule,
                      .schedule_length = sizeof dead_schedule - 1,
                      .schedule_source = "mine.json" } },
      LINNET_ERROR_FORMAT,
      "rank" },
    { "stages out of order",
      { TINY, .context = 8192,
        .pipeline = { .ranks = 3, .microbatches = 4, .stages = "layers.9,layers.3" } },
      LINNET_ERROR_ARGUMENT,
      "not behind `layers.9`" },
    { "a stage at no block",
      { TINY, .context = 8192, .pipeline = { .ranks = 2, .microbatches = 4, .stages = "layer.3" } },
      LINNET_ERROR_ARGUMENT,
      "did you mean `layers.3`" },
    { "a stage at the first block",
      { TINY, .context = 8192,
        .pipeline = { .ranks = 2, .microbatches = 4, .stages = "embedding" } },
      LINNET_ERROR_ARGUMENT,
      "the first block" },
    { "too few starts",
      { TINY, .context = 8192,
        .pipeline = { .ranks = 3, .microbatches = 4, .stages = "layers.3" } },
      LINNET_ERROR_ARGUMENT,
      "3 stages begin at 2 blocks after the first, and 1 is named" },
    { "nothing to cut",
      { TINY, .pipeline = { .ranks = 2, .microbatches = 4 } },
      LINNET_ERROR_ARGUMENT,
      "" },
    { "a timeline of all ranks",
      { TINY, .context = 8192, .timeline = true, .pipeline = { .ranks = 2, .microbatches = 4 } },
      LINNET_ERROR_UNSUPPORTED,
      "timeline" },
    { "accumulation over steps",
      { TINY, .context = 8192, .training = { .accumulation = 2 },
        .pipeline = { .ranks = 2, .microbatches = 4 } },
      LINNET_ERROR_UNSUPPORTED,
      "summed already" },
};

static void test_refused(void **state)
{
    const struct refused *row = *state;
    pipeline_case c;
    linnet_error err = { 0 };
    assert_int_equal(try_run(&row->run, &c, &err), row->status);
    if (strstr(err.message, row->says) == NULL)
        fail_msg("`%s` does not say `%s`", err.message, row->says);
    assert_null(c.answer);
    close_run(&c);
}

/* ---- the replay ---- */

static lin_setting small_sizes[] = {
    { .name = "H", .integer = 64 },      { .name = "Heads", .integer = 4 },
    { .name = "KvHeads", .integer = 2 }, { .name = "Inner", .integer = 96 },
    { .name = "Vocab", .integer = 160 }, { .name = "Layers", .integer = 6 },
};

static const struct replayed {
    const char *name;
    pipeline_run run;
} replayed[] = {
    { "inference replays forwards and joins the results",
      { .model = "tinyllama-1.1b-chat",
        .entry = "forward",
        .batch = 8,
        .context = 32,
        .inference = true,
        .pipeline = { .ranks = 3, .microbatches = 4 } } },
    { "inference with a cache, which stays whole",
      { .model = "tinyllama-1.1b-chat",
        .entry = "decode",
        .batch = 8,
        .context = 32,
        .inference = true,
        .pipeline = { .ranks = 2, .microbatches = 4 } } },
    { "fewer micro-batches than ranks",
      { TINY, .context = 32, .pipeline = { .ranks = 4, .microbatches = 2 } } },
    { "one rank with micro-batches",
      { TINY, .context = 32, .pipeline = { .ranks = 1, .microbatches = 4 } } },
    { "the first step makes the optimizer's states",
      { TINY, .context = 32, .training = { .is_first_step = true },
        .pipeline = { .ranks = 2, .microbatches = 4, .schedule = "gpipe" } } },
    { "temporaries of the optimizer",
      { TINY, .context = 8, .training = { .optimizer = "adamw-foreach" },
        .pipeline = { .ranks = 2, .microbatches = 2, .schedule = "zb1p" } } },
    { "adapters on frozen layers, backward in parts",
      { TINY, .context = 64, .training = { .lora_rank = 4 },
        .pipeline = { .ranks = 2, .microbatches = 4, .schedule = "zb1p" } } },
    { "weights of one stage alone are trained",
      { TINY, .context = 64,
        .training = { .trainable = (const char *const[]){ "layers.0.*" }, .trainable_count = 1 },
        .pipeline = { .ranks = 3, .microbatches = 4, .schedule = "zbv" } } },
    { "recomputed blocks, two directions",
      { TINY, .context = 64, .training = { .checkpoint = "block" },
        .pipeline = { .ranks = 2, .microbatches = 4, .schedule = "dualpipe" } } },
    { "a tied head, a table on both ends",
      { QWEN, .context = 66, .bindings = true,
        .pipeline = { .ranks = 3, .microbatches = 3, .schedule = "gpipe" } } },
};

static void judge_run(const pipeline_run *given, const char *name)
{
    char why[JUDGE_EVENTS_WHY];
    pipeline_run run = *given;
    run.binds = small_sizes;
    run.bind_count = ARRAY_LEN(small_sizes);
    pipeline_case c = open_run(&run);
    if (!judge_pipeline_events(c.memory, why))
        fail_msg("%s: %s", name, why);
    int64_t sum = 0;
    for (uint32_t i = 0; i < c.answer->component_count; i++)
        sum += c.answer->components[i].known ? c.answer->components[i].bytes : 0;
    assert_int_equal(sum, c.answer->peaks.expected);
    close_run(&c);
}

static void test_replayed(void **state)
{
    const struct replayed *row = *state;
    small_sizes[5].integer = 6;
    judge_run(&row->run, row->name);
}

/* Numbers that are the same in every run (Knuth's MMIX constants). */
static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

static const char *const checkpoints[] = { "none", "none", "block", "selective", "every:2" };
static const char *const optimizers[] = { "adamw", "sgd", "sgd-momentum", "adamw-foreach", "muon" };

static pipeline_run draw_run(uint64_t *seed)
{
    const uint32_t kinds = lin_schedule_kind_count();
    pipeline_run run = { .model =
                             draw(seed, 2) == 0 ? "tinyllama-1.1b-chat" : "qwen2.5-0.5b-instruct",
                         .entry = "loss_packed",
                         .bindings = draw(seed, 2) == 0 };
    run.pipeline.schedule = lin_schedule_kind_name(draw(seed, kinds));
    run.pipeline.ranks = 1 + draw(seed, 4);
    run.pipeline.microbatches = 1 + draw(seed, 8);
    run.context = run.pipeline.microbatches * (1 + draw(seed, 24));
    run.training.checkpoint = checkpoints[draw(seed, ARRAY_LEN(checkpoints))];
    run.training.optimizer = optimizers[draw(seed, ARRAY_LEN(optimizers))];
    run.training.has_master_dtype = draw(seed, 3) == 0;
    run.training.master_dtype = LIN_DTYPE_F32;
    run.training.is_first_step = draw(seed, 4) == 0;
    run.training.lora_rank = draw(seed, 5) == 0 ? 2 : 0;
    return run;
}

/* 100 drawn configurations that their schedule takes. */
static void test_drawn(void **state)
{
    uint64_t seed = 20261130;
    (void)state;
    for (int judged = 0, drawn = 0; judged < 100; drawn++) {
        char name[160], why[JUDGE_EVENTS_WHY];
        pipeline_case c;
        linnet_error err = { 0 };
        pipeline_run run = draw_run(&seed);
        small_sizes[5].integer = 5 + draw(&seed, 6);
        run.binds = small_sizes;
        run.bind_count = ARRAY_LEN(small_sizes);
        assert_true(drawn < 1000);
        const linnet_status status = try_run(&run, &c, &err);
        snprintf(name, sizeof name, "draw %d, %s, %d ranks, %d micro-batches", drawn,
                 run.pipeline.schedule, (int)run.pipeline.ranks, (int)run.pipeline.microbatches);
        if (status == LINNET_OK) {
            if (!judge_pipeline_events(c.memory, why))
                fail_msg("%s: %s", name, why);
            judged++;
        } else if (status != LINNET_ERROR_ARGUMENT) {
            fail_msg("%s: %s", name, err.message);
        }
        close_run(&c);
    }
}

/* Where the two models differ on gpipe and 1f1b is written in pipeline_replay.c: buffers for the
 * whole step, inputs with each micro-batch, what the last forward step frees, no gradient beside
 * its sum. */
static void test_models(void **state)
{
    static const pipeline_run runs[] = {
        { TINY, .context = 8192, PUBLISHED(2, 4) },
        { TINY, .context = 8192, PUBLISHED(2, 8) },
        { TINY, .context = 16384, PUBLISHED(4, 16) },
        { QWEN, .context = 8192, PUBLISHED(2, 4) },
        { TINY, .context = 8192,
          .pipeline = { .ranks = 2,
                        .microbatches = 4,
                        .schedule = "gpipe",
                        .model = LIN_PIPELINE_PUBLISHED } },
    };
    const int64_t table = INT64_C(151936) * 896 * 2; /* no parameter is larger */
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        pipeline_run other = runs[i];
        other.pipeline.model = LIN_PIPELINE_LINNET;
        pipeline_case c = open_run(&runs[i]), d = open_run(&other);
        for (int64_t r = 0; r < runs[i].pipeline.ranks; r++) {
            const lin_device_peak *closed = &c.memory->pipeline->peaks[r];
            const lin_device_peak *replay = &d.memory->pipeline->peaks[r];
            assert_int_equal(closed->parts[LIN_CATEGORY_PARAMETERS],
                             replay->parts[LIN_CATEGORY_PARAMETERS]);
            assert_in_range(closed->bytes - replay->bytes + table, 0,
                            table + closed->buffers + closed->flight / 16 + 24 * runs[i].context);
        }
        close_run(&c);
        close_run(&d);
    }
}

/* A planner's question and a whole answer agree, at another size too. */
static void test_another_size(void **state)
{
    const int64_t sizes[LIN_ROLE_COUNT] = { 0, 4096, 0 };
    const pipeline_run run = { TINY, .context = 8192,
                               .pipeline = { .ranks = 2, .microbatches = 4 } };
    const pipeline_run small = { TINY, .context = 4096,
                                 .pipeline = { .ranks = 2, .microbatches = 4 } };
    (void)state;
    pipeline_case c = open_run(&run), d = open_run(&small);
    lin_peaks peaks;
    assert_int_equal(lin_memory_peaks(c.memory, sizes, &peaks, NULL), LINNET_OK);
    assert_memory_equal(&peaks, &d.answer->peaks, sizeof peaks);
    close_run(&c);
    close_run(&d);
}

/* Live pairs of interleaved 1f1b, 8 ranks of 2 stages, 64 micro-batches: what a rank holds before
 * its first backward is that many kept micro-batches. */
static void test_live_pairs(void **state)
{
    static const int64_t live[] = { 23, 21, 19, 17, 15, 13, 11, 9 };
    const pipeline_run run = { .model = "tinyllama-1.1b-chat",
                               .entry = "loss_packed",
                               .context = 64 * 8,
                               .binds = small_sizes,
                               .bind_count = ARRAY_LEN(small_sizes),
                               .training = { .optimizer = "sgd" },
                               .pipeline = { .ranks = 8,
                                             .microbatches = 64,
                                             .virtual_stages = 2,
                                             .schedule = "interleaved-1f1b" } };
    (void)state;
    small_sizes[5].integer = 13; /* 16 units */
    pipeline_case c = open_run(&run);
    const lin_schedule *schedule = c.memory->pipeline->schedule;
    for (uint32_t r = 0; r < 8; r++) {
        int64_t most = 0, now = 0;
        for (uint32_t i = 0; i < schedule->rank[r].action_count; i++) {
            now += schedule->rank[r].actions[i].kind == LIN_ACTION_FORWARD;
            most = now > most ? now : most;
            now -= schedule->rank[r].actions[i].kind == LIN_ACTION_BACKWARD;
        }
        assert_int_equal(most, live[r]);
    }
    close_run(&c);
}

/* ---- out of memory ---- */

typedef struct failing {
    int64_t countdown; /* requests that still succeed; negative: all do */
    bool failed;
    int64_t live_blocks;
} failing;

static void *failing_alloc(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    failing *f = user;
    (void)old_size;
    if (new_size == 0) {
        f->live_blocks -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (f->countdown == 0) {
        f->failed = true;
        f->countdown = -1;
        return NULL;
    }
    f->countdown -= f->countdown > 0;
    void *block = realloc(ptr, new_size);
    f->live_blocks += block != NULL && ptr == NULL;
    return block;
}

static linnet_status configure(linnet_config *config, linnet_error *err)
{
    static const char options[] =
        "{\"entry\": \"loss_packed\", \"training\": true, \"context\": 64, "
        "\"no_bindings\": true, \"pipeline_parallel\": 2, \"microbatches\": 4, "
        "\"schedule\": \"zbv\", \"bind\": {\"H\": 64, \"Heads\": 4, \"KvHeads\": 2, "
        "\"Inner\": 96, \"Vocab\": 160, \"Layers\": 2}}";
    return linnet_config_set_json(config, options, sizeof options - 1, err);
}

static linnet_status analyse(failing *f, linnet_error *err)
{
    linnet_config *config = NULL;
    linnet_model *model = NULL;
    linnet_analysis *analysis = NULL;
    linnet_text *text = NULL;
    linnet_status status;
    if ((status = linnet_config_new_with_allocator(failing_alloc, f, &config, err)) == LINNET_OK &&
        (status = configure(config, err)) == LINNET_OK &&
        (status = linnet_model_open(config, "tinyllama-1.1b-chat", NULL, &model, err)) ==
            LINNET_OK &&
        (status = linnet_analysis_new(model, config, &analysis, err)) == LINNET_OK)
        status = linnet_analysis_to_json(analysis, 3, &text, err);
    linnet_text_free(text);
    linnet_analysis_unref(analysis);
    linnet_model_unref(model);
    linnet_config_free(config);
    return status;
}

/* Every 97th request of a whole job fails once. */
static void test_out_of_memory(void **state)
{
    (void)state;
    for (int64_t n = 0;; n += 97) {
        failing f = { .countdown = n };
        linnet_error err = { 0 };
        const linnet_status status = analyse(&f, &err);
        assert_int_equal(f.live_blocks, 0);
        if (!f.failed) {
            assert_int_equal(status, LINNET_OK);
            return;
        }
        assert_int_equal(status, LINNET_ERROR_NO_MEMORY);
    }
}

/* Results of every rank by index, through the public interface. */
static void test_devices(void **state)
{
    failing f = { .countdown = -1 };
    linnet_config *config = NULL;
    linnet_model *model = NULL;
    linnet_analysis *analysis = NULL;
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(linnet_config_new_with_allocator(failing_alloc, &f, &config, &err), LINNET_OK);
    assert_int_equal(configure(config, &err), LINNET_OK);
    assert_int_equal(linnet_model_open(config, "tinyllama-1.1b-chat", NULL, &model, &err),
                     LINNET_OK);
    assert_int_equal(linnet_analysis_new(model, config, &analysis, &err), LINNET_OK);
    assert_int_equal(linnet_analysis_device_count(analysis), 2);
    assert_string_equal(linnet_analysis_device_name(analysis, 1), "rank 1");
    assert_string_equal(linnet_analysis_device_holds(analysis, 0), "embedding; norm, lm_head");
    assert_true(linnet_analysis_device_graph_peak(analysis, 1) > 0);
    assert_true(linnet_analysis_device_expected_peak(analysis, 1) >
                linnet_analysis_device_runtime(analysis, 1));
    assert_null(linnet_analysis_device_holds(analysis, 2));
    assert_int_equal(linnet_analysis_device_runtime(analysis, 2), -1);
    linnet_analysis_unref(analysis);
    linnet_model_unref(model);
    linnet_config_free(config);
    assert_int_equal(f.live_blocks, 0);
}

enum { ROWS = ARRAY_LEN(published) + ARRAY_LEN(refused) + ARRAY_LEN(replayed), OTHERS = 9 };

static uint32_t add_row(struct CMUnitTest *tests, uint32_t count, const char *name,
                        CMUnitTestFunction run, const void *row)
{
    tests[count] = (struct CMUnitTest){ .name = name,
                                        .test_func = run,
                                        .initial_state = (void *)(uintptr_t)row };
    return count + 1;
}

int main(void)
{
    static struct CMUnitTest tests[ROWS + OTHERS];
    uint32_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(published); i++)
        count = add_row(tests, count, published[i].name, test_published, &published[i]);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        count = add_row(tests, count, refused[i].name, test_refused, &refused[i]);
    for (size_t i = 0; i < ARRAY_LEN(replayed); i++)
        count = add_row(tests, count, replayed[i].name, test_replayed, &replayed[i]);
    count = add_row(tests, count, "expected peaks of the throughput table", test_expected, NULL);
    count = add_row(tests, count, "the report's lines of stages", test_report, NULL);
    count = add_row(tests, count, "published: inference", test_inference, NULL);
    count = add_row(tests, count, "another size without tracing", test_another_size, NULL);
    count = add_row(tests, count, "live pairs of interleaved 1f1b", test_live_pairs, NULL);
    count = add_row(tests, count, "100 drawn pipelines, every rank recounted", test_drawn, NULL);
    count = add_row(tests, count, "both models, side by side", test_models, NULL);
    count = add_row(tests, count, "out of memory anywhere", test_out_of_memory, NULL);
    count = add_row(tests, count, "every rank by index", test_devices, NULL);
    assert_int_equal(count, ARRAY_LEN(tests));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
