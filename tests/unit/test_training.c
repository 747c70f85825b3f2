/* SPDX-License-Identifier: MIT */

/* Training steps: the published figures (tracing.md 16) to the byte, without a bindings file;
 * checkpointing, optimizers, adapters and losses against sums done by hand. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "judge/recount.h"
#include "training_run.h"

#define TINY(tokens) .model = "tinyllama-1.1b-chat", .context = (tokens)
#define QWEN(tokens) .model = "qwen2.5-0.5b-instruct", .context = (tokens)

static const struct published {
    const char *name;
    training_run run;
    int64_t steps, allocator;
    const char *peak_at;
} published[] = {
    { "TinyLlama, 4096 tokens, sgd",
      { TINY(4096), .training = { .optimizer = "sgd" } },
      1061,
      11713613824,
      "the forward pass (timeline step 1060 of 2123)" },
    { "TinyLlama, 4096 tokens, adamw",
      { TINY(4096) },
      1061,
      16113807360,
      "the forward pass (timeline step 1060 of 2123)" },
    { "TinyLlama, 8192 tokens, sgd",
      { TINY(8192), .training = { .optimizer = "sgd" } },
      1061,
      22145683456,
      "the forward pass (timeline step 1060 of 2123)" },
    { "TinyLlama, 8192 tokens, adamw",
      { TINY(8192) },
      1061,
      26545876992,
      "the forward pass (timeline step 1060 of 2123)" },
    { "Qwen2.5 0.5B, 2048 tokens, sgd",
      { QWEN(2048), .training = { .optimizer = "sgd" } },
      1157,
      7164464384,
      "the forward pass (timeline step 1156 of 2315)" },
    { "Qwen2.5 0.5B, 4096 tokens, sgd",
      { QWEN(4096), .training = { .optimizer = "sgd" } },
      1157,
      11796231424,
      "the forward pass (timeline step 1156 of 2315)" },
    { "Qwen2.5 0.5B, 8192 tokens, adamw",
      { QWEN(8192) },
      1157,
      22128796416,
      "the forward pass (timeline step 1156 of 2315)" },
    { "TinyLlama, 2048 tokens, adamw: one of four replicas",
      { TINY(2048) },
      1061,
      11516956672,
      NULL },
    { "TinyLlama, 8192 tokens, adamw, block checkpointing",
      { TINY(8192), .training = { .checkpoint = "block" } },
      1061,
      10016780288 + CUBLAS,
      "the forward pass (timeline step 1060 of 3179)" },
    { "TinyLlama, 8192 tokens, f32 masters, block checkpointing",
      { TINY(8192), .training = { .checkpoint = "block",
                                  .has_master_dtype = true,
                                  .master_dtype = LIN_DTYPE_F32 } },
      1061,
      20594888704 + CUBLAS,
      "the backward pass (timeline step 3131 of 3179)" },
    { "TinyLlama, 8192 tokens, f32 masters",
      { TINY(8192), .training = { .has_master_dtype = true, .master_dtype = LIN_DTYPE_F32 } },
      1061,
      35312709632 + CUBLAS,
      "the forward pass (timeline step 1060 of 2123)" },
};

static void test_published(void **state)
{
    const struct published *row = *state;
    training_case c = open_training(&row->run);
    assert_int_equal(c.answer->peaks.allocator, row->allocator);
    assert_int_equal(c.answer->steps, row->steps);
    if (row->peak_at != NULL)
        assert_string_equal(c.answer->peak_at, row->peak_at);
    close_training(&c);
}

/* ---- the breakdown of TinyLlama, 8192 tokens, adamw ---- */

static int64_t bytes_of(const lin_answer *answer, const char *component)
{
    for (uint32_t i = 0; i < answer->component_count; i++)
        if (strcmp(answer->components[i].name, component) == 0)
            return answer->components[i].bytes;
    return 0;
}

static void test_breakdown(void **state)
{
    (void)state;
    const training_run run = { TINY(8192) };
    training_case c = open_training(&run);
    static const struct {
        const char *name;
        int64_t bytes;
    } parts[] = {
        { "Weights", 2 * INT64_C(1100048384) },
        { "Gradients", 0 },
        { "Optimizer states (adamw)", 4 * INT64_C(1100048384) },
        { "KV cache", 176 << 20 },
        { "Inputs", 196608 },
        { "Saved activations", 17630134272 },
        { "Backend workspace", 2097152000 },
        { "CUDA context", 621 << 20 },
        { "CUDA libraries", 146 << 20 },
        { "cuBLAS workspace", 32 << 20 },
    };
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        assert_string_equal(c.answer->components[i].name, parts[i].name);
        assert_int_equal(c.answer->components[i].bytes, parts[i].bytes);
    }
    assert_int_equal(c.answer->peaks.graph,
                     c.answer->peaks.allocator - CUBLAS - bytes_of(c.answer, "Backend workspace"));
    assert_int_equal(c.answer->peaks.expected - c.answer->peaks.allocator, (621 + 146) << 20);
    assert_false(c.answer->has_plan);
    close_training(&c);
}

static void test_masters(void **state)
{
    (void)state;
    const training_run run = { TINY(8192), .training = { .checkpoint = "block",
                                                         .has_master_dtype = true,
                                                         .master_dtype = LIN_DTYPE_F32 } };
    training_case c = open_training(&run);
    const int64_t parameters = 1100048384;
    assert_int_equal(bytes_of(c.answer, "Master weights"), 4 * parameters);
    assert_int_equal(bytes_of(c.answer, "Optimizer states (adamw)"), 8 * parameters);
    /* hundredths of a GiB: gradients 3.73, saved 0.64, temporaries 0.29 */
    static const struct {
        const char *name;
        int64_t hundredths;
    } parts[] = { { "Gradients", 373 },
                  { "Saved activations", 64 },
                  { "Backward temporaries", 29 } };
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        assert_int_equal((bytes_of(c.answer, parts[i].name) * 100 + (1 << 29)) >> 30,
                         parts[i].hundredths);
    assert_true(c.answer->training->has_recompute);
    close_training(&c);
}

/* ---- what is kept, on programs small enough to add up by hand ---- */

#define HEAD                                              \
    "module t.x\n"                                        \
    "block M {\n"                                         \
    "    param w: Tensor[4, 8; f32]\n"                    \
    "    pub entry loss(x: Tensor[4, 8; f32]) -> f32 {\n" \
    "        let p = x * w\n"                             \
    "        let q = p + x\n"
#define TAIL                               \
    "\n        return sum[a, b] z[a, b]\n" \
    "    }\n"                              \
    "}\n"

/* x is an input; p and q carry gradients. A tensor of [4, 8] f32 has 128 bytes; z is kept by the
 * sum. What else is held when the forward pass ends is kept for backward. */
static const struct keep_case {
    const char *name, *text;
    int64_t bytes;
} keep_cases[] = {
    { "a sum keeps nothing of its terms", "let z = p + q", 128 },
    { "a negation keeps nothing", "let z = -q", 128 },
    { "an exponential keeps its result", "let z = exp(q)", 128 },
    { "a sine keeps its input", "let z = sin(q)", 256 },
    { "a product keeps each factor for the other", "let z = p * q", 384 },
    { "a product with a constant tensor keeps only that", "let z = q * x", 128 },
    { "a square keeps what it squares", "let z = q * q", 256 },
    { "a product with a number keeps nothing", "let z = q * 3.0", 128 },
    { "a quotient keeps both when the denominator carries", "let z = p / q", 384 },
    { "a quotient by a constant tensor keeps only that", "let z = q / x", 128 },
    { "a view keeps all of its storage", "let z = q[0:2, :]", 128 },
    { "a transposed view costs nothing", "let z = permute(q, [1, 0])", 128 },
    { "concatenation keeps nothing", "let z = concat(p, q, axis = 0)", 256 },
    { "a selection keeps its condition", "let z = select(q > p, q, x)", 128 + 32 },
    { "index notation keeps factors", "let z[a, b] = p[a, b] * q[a, b]", 384 },
    { "index notation over one tensor keeps it", "let z[a, b] = q[a, b] * 2.0", 256 },
};

static void test_keep(void **state)
{
    const struct keep_case *row = *state;
    char text[1024];
    snprintf(text, sizeof text, "%s        %s%s", HEAD, row->text, TAIL);
    const training_run run = { .program = text, .entry = "loss", .with_timeline = true };
    training_case c = open_training(&run);
    const lin_answer_timeline *timeline = c.answer->timeline;
    assert_int_equal(timeline->bytes[LIN_CATEGORY_ACTIVATIONS][timeline->phases[0].end - 1],
                     row->bytes);
    close_training(&c);
}

/* An op with a gradient of its own keeps what it reads and makes, and nothing in between. */
static void test_own_gradient(void **state)
{
    (void)state;
    static const char text[] = "module t.x\n"
                               "op wave(x: Tensor[4, 8; f32]) -> Tensor[4, 8; f32] {\n"
                               "    return sin(sin(sin(x)))\n"
                               "} grad(y, dy) {\n"
                               "    return dy * y\n"
                               "}\n"
                               "block M {\n"
                               "    param w: Tensor[4, 8; f32]\n"
                               "    pub entry loss(x: Tensor[4, 8; f32]) -> f32 {\n"
                               "        let p = x * w\n"
                               "        let z = wave(p + x)\n"
                               "        return sum[a, b] z[a, b]\n"
                               "    }\n"
                               "}\n";
    const training_run run = { .program = text, .entry = "loss", .with_timeline = true };
    training_case c = open_training(&run);
    const lin_answer_timeline *timeline = c.answer->timeline;
    assert_int_equal(timeline->bytes[LIN_CATEGORY_ACTIVATIONS][timeline->phases[0].end - 1], 256);
    bool listed = false;
    for (uint32_t i = 0; i < c.answer->unknown_count; i++)
        listed |=
            strstr(c.answer->unknown[i], "what autograd keeps of `t.x::wave` (1 call)") != NULL;
    assert_true(listed);
    close_training(&c);
}

/* ---- optimizers ---- */

#define MATRICES                                                        \
    "module t.x\n"                                                      \
    "block L {\n"                                                       \
    "    param a: Tensor[96, 64; bf16]\n"                               \
    "    param v: Tensor[64; bf16]\n"                                   \
    "    pub fn run(x: Tensor[4, 64; bf16]) -> f32 {\n"                 \
    "        return sum[i, j, k] cast<f32>(x[i, j] * a[k, j] * v[j])\n" \
    "    }\n"                                                           \
    "}\n"                                                               \
    "block M {\n"                                                       \
    "    param table: Tensor[500, 512; bf16]\n"                         \
    "    sub layers: [L; 2]\n"                                          \
    "    pub entry loss(x: Tensor[4, 64; bf16]) -> f32 {\n"             \
    "        var total = sum[i, j] cast<f32>(table[i, j])\n"            \
    "        static for layer in layers {\n"                            \
    "            total = total + layer.run(x)\n"                        \
    "        }\n"                                                       \
    "        return total\n"                                            \
    "    }\n"                                                           \
    "}\n"

/* Two layers of a matrix of 6,144 and a vector of 64, and a table of 256,000: 268,416 elements. */
enum { MATRIX = 96 * 64, TABLE = 500 * 512, ALL = 2 * (MATRIX + 64) + TABLE };

static const struct optimizer_case {
    const char *name, *optimizer;
    int64_t states, temporaries;
    bool f32_masters;
} optimizer_cases[] = {
    { "sgd has no states", "sgd", 0, 0, false },
    { "momentum is one copy", "sgd-momentum", 2 * ALL, 0, false },
    { "adam has two", "adam", 4 * ALL, 0, false },
    { "fused adamw has two and no temporaries", "adamw", 4 * ALL, 0, false },
    { "states of f32 masters are f32", "adamw", 8 * ALL, 0, true },
    { "foreach adamw makes a copy of all during the step", "adamw-foreach", 4 * ALL, 2 * ALL,
      false },
    { "foreach over f32 masters makes it in f32", "adamw-foreach", 8 * ALL, 4 * ALL, true },
    { "8-bit adamw: two bytes and two scales a block, small ones in f32, two maps", "adamw-8bit",
      2 * (2 * (MATRIX + 4 * 24) + 8 * 64) + 2 * (TABLE + 4 * 1000) + 2048, 0, false },
    { "paged 8-bit adamw leaves large states to managed memory", "paged-adamw-8bit",
      2 * (2 * (MATRIX + 4 * 24) + 8 * 64) + 2048, 0, false },
    { "adafactor has a row and a column", "adafactor", 2 * (2 * (96 + 64) + 2 * 64 + 500 + 512),
      2 * ALL, false },
    { "lion has one, and one update at a time", "lion", 2 * ALL, 2 * TABLE, false },
    { "muon: a momentum of hidden matrices, adamw for the rest", "muon",
      2 * (2 * MATRIX) + 4 * (2 * 64 + TABLE), MATRIX *(2 + 6) + 6 * 64 * 64, false },
    { "muon over f32 gradients copies the update", "muon", 2 * (4 * MATRIX) + 8 * (2 * 64 + TABLE),
      MATRIX *(4 + 8) + 6 * 64 * 64, true },
};

static void test_optimizer(void **state)
{
    const struct optimizer_case *row = *state;
    const training_run run = { .program = MATRICES,
                               .entry = "loss",
                               .with_timeline = true,
                               .training = { .optimizer = row->optimizer,
                                             .has_master_dtype = row->f32_masters,
                                             .master_dtype = LIN_DTYPE_F32 } };
    training_case c = open_training(&run);
    const lin_answer_timeline *timeline = c.answer->timeline;
    const int32_t last = timeline->length - 1;
    const int64_t *states = timeline->bytes[LIN_CATEGORY_OPTIMIZER_STATES];
    const int64_t *workspace = timeline->bytes[LIN_CATEGORY_WORKSPACE];
    assert_int_equal(states != NULL ? states[last] : 0, row->states);
    assert_int_equal(workspace != NULL ? workspace[last] : 0, row->temporaries);
    assert_int_equal(timeline->bytes[LIN_CATEGORY_GRADIENTS][last],
                     (row->f32_masters ? 4 : 2) * ALL);
    close_training(&c);
}

/* States of the first step appear when it ends; gradients of several micro-batches are there from
 * the start. */
static void test_first_step(void **state)
{
    (void)state;
    const training_run run = { .program = MATRICES,
                               .entry = "loss",
                               .with_timeline = true,
                               .training = { .is_first_step = true, .accumulation = 4 } };
    training_case c = open_training(&run);
    const lin_answer_timeline *timeline = c.answer->timeline;
    const int64_t *states = timeline->bytes[LIN_CATEGORY_OPTIMIZER_STATES];
    assert_int_equal(states[timeline->length - 2], 0);
    assert_int_equal(states[timeline->length - 1], 4 * ALL);
    assert_int_equal(timeline->bytes[LIN_CATEGORY_GRADIENTS][0], 2 * ALL);
    close_training(&c);
}

/* ---- adapters ---- */

static void test_adapters(void **state)
{
    (void)state;
    const training_run frozen = { TINY(1024), .training = { .lora_rank = 16,
                                                            .lora_patterns = "q_proj,v_proj" } };
    training_case c = open_training(&frozen);
    /* 22 layers: q 2048 to 2048, v 2048 to 256 */
    const int64_t trained = INT64_C(22) * 16 * (2048 + 2048 + 2048 + 256);
    assert_int_equal(bytes_of(c.answer, "Optimizer states (adamw)"), 4 * trained);
    assert_int_equal(bytes_of(c.answer, "Weights"), 2 * (INT64_C(1100048384) + trained));
    assert_int_equal(c.answer->steps, 1061 + 4 * 2 * 22);
    close_training(&c);
}

/* ---- clipping ---- */

/* TinyLlama without bindings: 201 parameters, the largest 32000 x 2048, so 1000 partial sums of
 * each. */
static void test_clipping(void **state)
{
    (void)state;
    const training_run run = { TINY(64), .training = { .clips_gradients = true },
                               .with_timeline = true };
    training_case c = open_training(&run);
    const lin_answer_timeline *timeline = c.answer->timeline;
    assert_int_equal(timeline->bytes[LIN_CATEGORY_WORKSPACE][timeline->length - 1],
                     201 * 1000 * 4 + 4 * (2 * 201 + 1));
    close_training(&c);
}

/* ---- losses ---- */

/* TinyLlama, 512 tokens: logits of 512 x 32000 bf16. Kept from the loss to its backward. */
static const struct loss_case {
    const char *name;
    lin_loss loss;
    int64_t forward, backward; /* workspaces */
} loss_cases[] = {
    { "plain logits: one copy forward, two backward", LIN_LOSS_LOGITS, INT64_C(2) * 512 * 32000,
      INT64_C(4) * 512 * 32000 },
    { "logits in f32: the logits and their cast forward, 8 bytes a logit backward",
      LIN_LOSS_LOGITS_F32, INT64_C(6) * 512 * 32000, INT64_C(8) * 512 * 32000 },
};

static void test_loss(void **state)
{
    const struct loss_case *row = *state;
    const training_run run = { TINY(512), .training = { .loss = row->loss },
                               .with_timeline = true };
    training_case c = open_training(&run);
    const lin_answer_timeline *timeline = c.answer->timeline;
    const int64_t *workspace = timeline->bytes[LIN_CATEGORY_WORKSPACE];
    const int32_t end = timeline->phases[0].end;
    assert_int_equal(workspace[end - 1], row->forward);
    assert_int_equal(workspace[end], row->backward);
    close_training(&c);
}

/* ---- the independent judge ---- */

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static const char *pick(uint64_t *random, const char *const *words, uint32_t count)
{
    return words[next_random(random) % count];
}

static training_run random_run(uint64_t *random, lin_setting *binds)
{
    static const char *const models[] = { "tinyllama-1.1b-chat", "qwen2.5-0.5b-instruct" };
    static const char *const policies[] = { "none",         "block",
                                            "every:2",      "selective",
                                            "layers.*.mlp", "layers.0,layers.*.attention" };
    static const char *const adapters[] = { NULL, "q_proj", "*.down,v_proj" };
    training_run run = { .model = pick(random, models, ARRAY_LEN(models)),
                         .context = 1 + next_random(random) % 3000,
                         .bindings = next_random(random) % 2 == 0,
                         .generic = next_random(random) % 4 == 0,
                         .binds = binds,
                         .bind_count = 1,
                         .with_timeline = true };
    lin_training_settings *t = &run.training;
    binds[0] = (lin_setting){ .name = "Layers", .integer = 2 + next_random(random) % 2 };
    t->optimizer = lin_optimizer_name(next_random(random) % lin_optimizer_count());
    t->checkpoint = pick(random, policies, ARRAY_LEN(policies));
    t->has_master_dtype = next_random(random) % 2 == 0;
    t->master_dtype = LIN_DTYPE_F32;
    t->has_gradient_dtype = next_random(random) % 3 == 0;
    t->gradient_dtype = next_random(random) % 2 == 0 ? LIN_DTYPE_F32 : LIN_DTYPE_BF16;
    t->is_first_step = next_random(random) % 3 == 0;
    t->accumulation = 1 + next_random(random) % 2;
    t->loss = (lin_loss)(next_random(random) % 4);
    t->lora_rank = next_random(random) % 3 == 0 ? 1 + next_random(random) % 64 : 0;
    t->lora_patterns = pick(random, adapters, ARRAY_LEN(adapters));
    return run;
}

static void test_recount(void **state)
{
    (void)state;
    uint64_t random = 11;
    int judged = 0;
    for (int i = 0; judged < 200; i++) {
        lin_setting binds[1];
        const training_run run = random_run(&random, binds);
        /* "layers.0" and "layers.*.attention" overlap */
        if (strchr(run.training.checkpoint, ',') != NULL)
            continue;
        training_case c = open_training(&run);
        char why[RECOUNT_WHY];
        if (!judge_recount(c.answer, why))
            fail_msg("configuration %d (%s, %s, %s): %s", i, run.model, run.training.optimizer,
                     run.training.checkpoint, why);
        close_training(&c);
        judged++;
    }
}

/* Another size of a prepared step is what a fresh one of that size gives. */
static void test_another_size(void **state)
{
    (void)state;
    static const int64_t as_configured[LIN_ROLE_COUNT];
    uint64_t random = 3;
    training_run run = { TINY(64), .training = { .checkpoint = "block" } };
    training_case c = open_training(&run);
    for (int i = 0; i < 20; i++) {
        const int64_t context = 1 + next_random(&random) % 20000;
        const int64_t request[LIN_ROLE_COUNT] = { 0, context, 0 };
        lin_peaks found, expected;
        assert_int_equal(lin_memory_peaks(c.memory, request, &found, NULL), LINNET_OK);
        run.context = context;
        lin_memory *fresh = NULL;
        linnet_error err;
        assert_int_equal(try_training(c.source, &run, &fresh, &err), LINNET_OK);
        assert_int_equal(lin_memory_peaks(fresh, as_configured, &expected, NULL), LINNET_OK);
        assert_int_equal(found.graph, expected.graph);
        assert_int_equal(found.allocator, expected.allocator);
        lin_memory_free(fresh);
    }
    close_training(&c);
}

/* ---- bad input ---- */

static const struct refusal {
    const char *name;
    lin_training_settings training;
    const char *entry;
    linnet_status status;
    const char *message; /* part of it */
} refusals[] = {
    { "an entry without a loss", { 0 }, "forward", LINNET_ERROR_ARGUMENT, "returns no loss" },
    { "an unknown optimizer",
      { .optimizer = "adamv" },
      NULL,
      LINNET_ERROR_NOT_FOUND,
      "did you mean `adam`" },
    { "a block pattern that matches nothing",
      { .checkpoint = "layer.*" },
      NULL,
      LINNET_ERROR_ARGUMENT,
      "did you mean `layers.*`" },
    { "regions inside each other",
      { .checkpoint = "layers.*,layers.*.mlp" },
      NULL,
      LINNET_ERROR_ARGUMENT,
      "overlap" },
    { "no layers at a time", { .checkpoint = "every:0" }, NULL, LINNET_ERROR_ARGUMENT, "1 to 22" },
    { "more layers at a time than there are",
      { .checkpoint = "every:23" },
      NULL,
      LINNET_ERROR_ARGUMENT,
      "1 to 22" },
    { "a stride that is no number",
      { .checkpoint = "every:x" },
      NULL,
      LINNET_ERROR_ARGUMENT,
      "every:K" },
    { "integer master weights",
      { .has_master_dtype = true, .master_dtype = LIN_DTYPE_I8 },
      NULL,
      LINNET_ERROR_ARGUMENT,
      "must be a float" },
    { "integer gradients",
      { .has_gradient_dtype = true, .gradient_dtype = LIN_DTYPE_I32 },
      NULL,
      LINNET_ERROR_ARGUMENT,
      "must be a float" },
    { "a rank past the matrix",
      { .lora_rank = 300 },
      NULL,
      LINNET_ERROR_ARGUMENT,
      "past the matrix of `layers.0.attention.k_proj`" },
    { "adapters of nothing",
      { .lora_rank = 4, .lora_patterns = "q_prj" },
      NULL,
      LINNET_ERROR_ARGUMENT,
      "no linear layer matches `q_prj`" },
    { "a loss to choose where there is none",
      { .loss = LIN_LOSS_LOGITS },
      "log_probs_packed",
      LINNET_ERROR_ARGUMENT,
      "returns no loss" },
};

static void test_refusal(void **state)
{
    const struct refusal *row = *state;
    const training_run run = { TINY(64), .entry = row->entry, .training = row->training };
    lin_source *source = open_training_source(&run);
    lin_memory *memory = NULL;
    linnet_error err = { 0 };
    assert_int_equal(try_training(source, &run, &memory, &err), row->status);
    if (strstr(err.message, row->message) == NULL)
        fail_msg("%s", err.message);
    lin_source_free(source);
}

static void test_trainable(void **state)
{
    (void)state;
    static const char *const wrong[] = { "layers.*.mlp.gat.weight" };
    static const char *const norms[] = { "*norm*.weight" };
    training_run run = { TINY(64), .training = { .trainable = wrong, .trainable_count = 1 } };
    lin_source *source = open_training_source(&run);
    lin_memory *memory = NULL;
    linnet_error err = { 0 };
    assert_int_equal(try_training(source, &run, &memory, &err), LINNET_ERROR_ARGUMENT);
    assert_non_null(strstr(err.message, "did you mean `layers.*.mlp.gate.weight`"));
    lin_source_free(source);

    run.training.trainable = norms;
    training_case c = open_training(&run);
    assert_int_equal(bytes_of(c.answer, "Optimizer states (adamw)"), 4 * 2048 * (2 * 22 + 1));
    close_training(&c);
}

/* ---- all of them ---- */

#define ROWS(cases, test)                                     \
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)             \
        tests[count++] = (struct CMUnitTest)                  \
        {                                                     \
            .name = (cases)[i].name, .test_func = (test),     \
            .initial_state = (void *)(uintptr_t) & (cases)[i] \
        }

int main(void)
{
    struct CMUnitTest tests[256] = {
        cmocka_unit_test(test_breakdown),    cmocka_unit_test(test_masters),
        cmocka_unit_test(test_first_step),   cmocka_unit_test(test_adapters),
        cmocka_unit_test(test_another_size), cmocka_unit_test(test_recount),
        cmocka_unit_test(test_clipping),     cmocka_unit_test(test_trainable),
        cmocka_unit_test(test_own_gradient),
    };
    size_t count = 8;
    ROWS(published, test_published);
    ROWS(keep_cases, test_keep);
    ROWS(optimizer_cases, test_optimizer);
    ROWS(loss_cases, test_loss);
    ROWS(refusals, test_refusal);
    return _cmocka_run_group_tests("training", tests, count, NULL, NULL);
}
