/* SPDX-License-Identifier: MIT */

/*
 * Mixtures of experts and latent attention: what small configs give the sources, what is refused,
 * and how many rows the experts work on. Real configs are in test_configs.c.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "source/family.h"
#include "trace/trace.h"

/* ---- configs ---- */

#define SIZES                                                               \
    "\"vocab_size\": 100, \"hidden_size\": 64, \"num_attention_heads\": 4," \
    "\"num_key_value_heads\": 2, \"intermediate_size\": 96, \"num_hidden_layers\": 6"
#define CONFIG(type, more) "{ \"model_type\": \"" type "\", " SIZES more " }"
#define SLIDING "\"sliding_attention\""
#define FULL "\"full_attention\""

/* A fact is a generic's value "Heads=4", a binding "path>tensor", or a path that has none "path>".
 */
static const struct config_case {
    const char *name;
    const char *config;
    const char *facts[4];
    linnet_status status;
    const char *message;
} config_cases[] = {
    { .name = "Mixtral slides where its config has a window",
      .config = CONFIG("mixtral", ", \"sliding_window\": 128"),
      .facts = { "Sliding=1", "Full=0", "Window=128",
                 "groups[*].sliding[*].moe[*].split[*].up>"
                 "model.layers.{i}.block_sparse_moe.experts.{*}.w3.weight" } },
    { .name = "a null window is none",
      .config = CONFIG("mixtral", ", \"sliding_window\": null"),
      .facts = { "Sliding=0", "Full=1", "Experts=8", "Chosen=2" } },
    { .name = "Qwen 3's window counts only when it is used",
      .config = CONFIG("qwen3_moe", ", \"sliding_window\": 128, \"num_experts\": 16"),
      .facts = { "Full=1", "Sliding=0", "Experts=16", "Normalised=0" } },
    { .name = "the first layers may be dense",
      .config = CONFIG("qwen3_moe", ", \"mlp_only_layers\": [0, 1]"),
      .facts = { "First=2", "Inner=96",
                 "first[*].mlp[*].up.weight>model.layers.{i}.mlp.up_proj.weight",
                 "groups[*].full[*].moe[*].router.weight>model.layers.{i+2}.mlp.gate.weight" } },
    { .name = "other dense layers are refused",
      .config = CONFIG("qwen3_moe", ", \"mlp_only_layers\": [2]"),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "`mlp_only_layers` other than the first ones are not expressed by the source of "
                 "`qwen3_moe`" },
    { .name = "every second layer sparse is refused",
      .config = CONFIG("qwen3_moe", ", \"decoder_sparse_step\": 2"),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "`decoder_sparse_step` other than 1 is not expressed by the source of "
                 "`qwen3_moe`" },
    { .name = "GLM's output projection has no bias",
      .config = CONFIG("glm4_moe", ", \"attention_bias\": true"),
      .facts = { "Rotary=8", "First=1", "SharedInner=1408",
                 "groups[*].full[*].attention.o_proj.bias>" } },
    { .name = "gpt-oss alternates without being told",
      .config = CONFIG("gpt_oss", ""),
      .facts = { "Sliding=1", "Full=1", "HeadDim=64",
                 "groups[*].full[*].attention.sinks>model.layers.{2*i+j+1}.self_attn.sinks" } },
    { .name = "layer_types may say it otherwise",
      .config = CONFIG("gpt_oss", ", \"layer_types\": [" SLIDING "," SLIDING "," FULL "," SLIDING
                                  "," SLIDING "," FULL "]"),
      .facts = { "Sliding=2", "Full=1",
                 "groups[*].sliding[*].attention.sinks>model.layers.{3*i+j+0}.self_attn.sinks" } },
    { .name = "layer_types without a period are refused",
      .config = CONFIG("gpt_oss", ", \"layer_types\": [" SLIDING "," FULL "," FULL "," SLIDING
                                  "," SLIDING "," FULL "]"),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message =
          "`layer_types` that is no repeated run of sliding and full layers is not expressed "
          "by the source of `gpt_oss`" },
    { .name = "layer_types of another number of layers",
      .config = CONFIG("gpt_oss", ", \"layer_types\": [" SLIDING "," FULL "]"),
      .status = LINNET_ERROR_FORMAT,
      .message = "`layer_types` has 2 items for 6 layers" },
    { .name = "Granite's factors are thousandths, and its scale a width",
      .config = CONFIG("granitemoe", ", \"embedding_multiplier\": 12.0, \"residual_multiplier\": "
                                     "0.22, \"attention_multiplier\": 0.015625"),
      .facts = { "EmbeddingMilli=12000", "ResidualMilli=220", "LogitsMilli=0", "ScoreDim=4096" } },
    { .name = "MiniMax norms all heads together",
      .config = CONFIG("minimax_m2", ", \"rotary_dim\": 64"),
      .facts = { "Rotary=64", "HeadDim=128",
                 "groups[*].full[*].attention.q_norm>model.layers.{i}.self_attn.q_norm.weight",
                 "groups[*].full[*].attention.q_head_norm>" } },
    { .name = "MiniMax's linear attention is refused",
      .config = CONFIG("minimax_m2", ", \"attn_type_list\": [1, 0]"),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "`attn_type_list` with linear attention is not expressed by the source of "
                 "`minimax_m2`" },
    { .name = "more columns turn than there are",
      .config = CONFIG("minimax_m2", ", \"rotary_dim\": 256"),
      .status = LINNET_ERROR_FORMAT,
      .message = "256 of a head's 128 columns turn; an even number of them is meant" },
    { .name = "more experts a token than there are",
      .config = CONFIG("phimoe", ", \"num_experts_per_tok\": 17"),
      .status = LINNET_ERROR_FORMAT,
      .message = "17 experts a token, of 16" },
    { .name = "DeepSeek's absent query rank is the library's, a null one is none",
      .config = CONFIG("deepseek_v3", ", \"q_lora_rank\": null"),
      .facts = { "QueryRank=0", "First=3", "RouterGroups=8",
                 "layers[*].attention.query[*].weight>model.layers.{i+3}.self_attn.q_proj."
                 "weight" } },
    { .name = "DeepSeek V3's router is corrected and limited to groups",
      .config = CONFIG("deepseek_v3", ""),
      .facts = { "QueryRank=1536", "GroupBest=2", "ScaleMilli=2500",
                 "layers[*].moe[*].router.correction>"
                 "model.layers.{i+3}.mlp.gate.e_score_correction_bias" } },
    { .name = "DeepSeek V2's is neither",
      .config = CONFIG("deepseek_v2", ", \"n_group\": 8, \"moe_intermediate_size\": 32"),
      .facts = { "Scoring=0", "SharedInner=64", "layers[*].moe[*].router.correction>" } },
    { .name = "experts that do not divide into their groups",
      .config = CONFIG("deepseek_v3", ", \"n_routed_experts\": 30"),
      .status = LINNET_ERROR_FORMAT,
      .message = "`n_routed_experts` (30) does not divide by `n_group` (8)" },
    { .name = "more open groups than groups",
      .config = CONFIG("deepseek_v3", ", \"topk_group\": 9"),
      .status = LINNET_ERROR_FORMAT,
      .message = "`topk_group` 9 of 8 groups of 32 experts leaves no choice" },
    { .name = "shared experts past int64",
      .config = CONFIG("deepseek_v3", ", \"n_shared_experts\": 9007199254740993000"),
      .status = LINNET_ERROR_FORMAT,
      .message = "`n_shared_experts` is too large" },
    { .name = "an odd rotary part",
      .config = CONFIG("deepseek_v3", ", \"qk_rope_head_dim\": 63"),
      .status = LINNET_ERROR_FORMAT,
      .message = "`qk_rope_head_dim` is odd; rotary positions turn columns in pairs" },
    { .name = "MiniCPM 3 ties, has no experts, and widens its values by its keys",
      .config = CONFIG("minicpm3", ", \"scale_depth\": 1.4, \"dim_model_base\": 32"),
      .facts = { "First=6", "ValueDim=64", "LogitsMilli=2000",
                 "lm_head.weight>model.embed_tokens.weight" } },
    { .name = "MiniCPM 3's depth scale goes by the root of the layers",
      .config = CONFIG("minicpm3", ", \"scale_depth\": 1.4"),
      .facts = { "ResidualMilli=572", "EmbeddingMilli=0" } },
};

static bool has_setting(const family_reader *r, const char *fact, const char *equals)
{
    const size_t length = (size_t)(equals - fact);
    char value[32];
    for (uint32_t i = 0; i < r->settings.count; i++) {
        const lin_setting *s = &r->settings.items[i];
        if (s->is_dtype || strlen(s->name) != length || memcmp(s->name, fact, length) != 0)
            continue;
        (void)snprintf(value, sizeof(value), "%lld", (long long)s->integer);
        return strcmp(value, equals + 1) == 0;
    }
    return false;
}

static bool has_binding(const family_reader *r, const char *fact, const char *arrow)
{
    const size_t length = (size_t)(arrow - fact);
    for (uint32_t i = 0; i < r->bindings.count; i++) {
        const lin_weight_binding *b = &r->bindings.items[i];
        if (strlen(b->path) == length && memcmp(b->path, fact, length) == 0)
            return strcmp(b->tensor, arrow + 1) == 0;
    }
    return arrow[1] == '\0';
}

static void check_fact(const family_reader *r, const char *fact)
{
    const char *arrow = strchr(fact, '>');
    const bool holds =
        arrow != NULL ? has_binding(r, fact, arrow) : has_setting(r, fact, strchr(fact, '='));
    if (!holds)
        fail_msg("not so: %s", fact);
}

static void test_config(void **state)
{
    const struct config_case *c = *state;
    lin_arena arena;
    family_reader r;
    linnet_error err = { 0 };
    lin_arena_init(&arena, &lin_default_allocator);
    const linnet_status status =
        lin_config_read(&arena, "config.json", c->config, strlen(c->config), &r, &err);
    assert_int_equal(status, c->status);
    if (c->message != NULL)
        assert_string_equal(err.message, c->message);
    for (uint32_t i = 0; i < ARRAY_LEN(c->facts) && c->facts[i] != NULL; i++)
        check_fact(&r, c->facts[i]);
    lin_arena_free(&arena);
}

/* ---- rows of experts ---- */

/* 16 rows go to 2 of 4 experts each: 32 routed rows, 8 an expert when they are balanced. */
static const char mixture_program[] =
    "module mixed\n"
    "use std.nn.mixture::{Mixture}\n"
    "pub block Model<Imbalance: Dim> {\n"
    "    sub mixture: Mixture<8, 6, 0, 4, 2, bf16, bf16, 0, 0, 0, 1, 0, 1, 1, 1, Imbalance>\n"
    "    pub entry forward(x: Tensor[16, 8; bf16]) -> Tensor[16, 8; bf16] {\n"
    "        return mixture.forward(x)\n"
    "    }\n"
    "}\n";

static const struct rows_case {
    const char *name;
    int64_t imbalance;
    int64_t rows;
} rows_cases[] = {
    { "balanced experts work on the routed rows", 100, 32 },
    { "less than balanced is balanced", 50, 32 },
    { "the fullest expert, half over the mean, sizes them all", 150, 4 * 12 },
    { "a part of a row is a row", 101, 4 * 9 },
    { "no expert gets more than every row", 1000, 4 * 16 },
};

/* Elements of the largest result of an expert's product. */
static int64_t largest_product(const lin_graph *graph)
{
    static const int64_t no_roles[LIN_ROLE_COUNT] = { 1, 1, 1 };
    int64_t largest = 0;
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        const lin_step *step = &graph->steps.items[i];
        int64_t elements = 0;
        if (strcmp(step->label, "linear_experts") != 0)
            continue;
        const lin_object *result = &graph->objects.items[step->outputs[0]];
        assert_true(lin_expr_evaluate(graph->exprs, result->elements, no_roles, &elements));
        largest = elements > largest ? elements : largest;
    }
    return largest;
}

static void test_rows(void **state)
{
    const struct rows_case *c = *state;
    const lin_source_settings settings = { .allocator = lin_default_allocator };
    const lin_setting imbalance = { .name = "Imbalance", .integer = c->imbalance };
    const lin_trace_settings trace = {
        .binds = &imbalance, .bind_count = 1, .numerics = LIN_NUMERICS_FAST, .processes = 1
    };
    lin_source *source = NULL;
    lin_traced traced;
    linnet_error err = { 0 };
    if (lin_source_parse(&settings, mixture_program, strlen(mixture_program), "mixed.linnet", NULL,
                         &source, &err) != LINNET_OK ||
        lin_trace(source, &trace, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("%s:%u: %s", err.source, err.line, err.message);
    /* The last product is the widest: 8 columns. */
    assert_int_equal(largest_product(traced.graph), c->rows * 8);
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

#define ROW(cases, i, test)                               \
    (struct CMUnitTest)                                   \
    {                                                     \
        .name = (cases)[i].name, .test_func = (test),     \
        .initial_state = (void *)(uintptr_t) & (cases)[i] \
    }

int main(void)
{
    static struct CMUnitTest tests[ARRAY_LEN(config_cases) + ARRAY_LEN(rows_cases)];
    uint32_t count = 0;
    for (uint32_t i = 0; i < ARRAY_LEN(config_cases); i++)
        tests[count++] = ROW(config_cases, i, test_config);
    for (uint32_t i = 0; i < ARRAY_LEN(rows_cases); i++)
        tests[count++] = ROW(rows_cases, i, test_rows);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
