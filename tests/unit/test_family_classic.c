/* SPDX-License-Identifier: MIT */

/*
 * Classic decoders, encoders and encoder–decoders that are not among the real configs: published
 * parameter counts of models whose shape the defaults and a few keys give, the cache of one more
 * token, every entry traced, and what is refused.
 */

#define _XOPEN_SOURCE 700 /* mkdtemp */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "source/family.h"
#include "source_place.h"
#include "trace/trace.h"

#define TYPE(type) "\"model_type\": \"" type "\", "
#define CLASS(class) "\"architectures\": [\"" class "\"], "

/* ---- what is read ---- */

static const struct model_case {
    const char *name;
    const char *config;
    int64_t parameters;
    int64_t cached; /* values that one more token adds */
} model_cases[] = {
    { "pythia-70m: a quarter of each head is turned, the residuals are side by side",
      "{" TYPE("gpt_neox")
          CLASS("GPTNeoXForCausalLM") "\"hidden_size\": 512, "
                                      "\"intermediate_size\": 2048, \"num_attention_heads\": 8, "
                                      "\"num_hidden_layers\": 6, "
                                      "\"vocab_size\": 50304, \"torch_dtype\": \"float16\" }",
      70426624, 6 * 2 * 512 },
    { "falcon-7b: one key head, one norm",
      "{" TYPE("falcon") CLASS("FalconForCausalLM") "\"torch_dtype\": \"bfloat16\" }", 6921720704,
      32 * 2 * 64 },
    { "falcon-rw-1b: alibi, biases, one residual after the other",
      "{" TYPE("falcon") CLASS("FalconForCausalLM") "\"alibi\": true, \"bias\": true, "
                                                    "\"hidden_size\": 2048, \"multi_query\": "
                                                    "false, \"num_attention_heads\": 32, "
                                                    "\"num_hidden_layers\": 24, \"parallel_attn\": "
                                                    "false, \"vocab_size\": 50304 }",
      1311625216, 24 * 2 * 2048 },
    { "opt-350m: narrow embeddings, norms after the sums, no last norm",
      "{" TYPE("opt")
          CLASS("OPTForCausalLM") "\"do_layer_norm_before\": false, "
                                  "\"ffn_dim\": 4096, \"hidden_size\": 1024, "
                                  "\"num_attention_heads\": 16, "
                                  "\"num_hidden_layers\": 24, \"word_embed_proj_dim\": 512 }",
      331196416, 24 * 2 * 1024 },
    { "bloom-560m: the width under its old key",
      "{" TYPE("bloom") CLASS("BloomForCausalLM") "\"n_embed\": 1024, \"n_layer\": 24, "
                                                  "\"num_attention_heads\": 16 }",
      559214592, 24 * 2 * 1024 },
    { "mpt-30b: alibi without a table",
      "{" TYPE("mpt") CLASS("MPTForCausalLM") "\"d_model\": 7168, \"n_heads\": 64, "
                                              "\"n_layers\": 48, \"vocab_size\": 50432, "
                                              "\"max_seq_len\": 8192, \"no_bias\": true, "
                                              "\"attn_config\": { \"alibi\": true } }",
      29957200896, 48 * 2 * 7168 },
    { "starcoderbase-1b: one key head beside learned positions",
      "{" TYPE("gpt_bigcode")
          CLASS("GPTBigCodeForCausalLM") "\"n_embd\": 2048, \"n_head\": 16, "
                                         "\"n_inner\": 8192, \"n_layer\": 24, \"n_positions\": "
                                         "8192, \"vocab_size\": 49152 }",
      1137207296, 24 * 2 * 128 },
    { "every head its own key, by the same code: GPT-2's count",
      "{" TYPE("gpt_bigcode") "\"multi_query\": false }", 124439808, 12 * 2 * 768 },
    { "gpt2 with an inner size of its own", "{" TYPE("gpt2") "\"n_inner\": 1536 }",
      124439808 - 12 * (2 * 768 * 1536 + 1536), 12 * 2 * 768 },
    { "gpt-j-6b: a head with a bias",
      "{" TYPE("gptj") CLASS("GPTJForCausalLM") "\"n_inner\": null }", 6050882784, 28 * 2 * 4096 },
    { "gpt-neo-1.3b: biases on one of four projections",
      "{" TYPE("gpt_neo") CLASS("GPTNeoForCausalLM") "\"max_position_embeddings\": 2048 }",
      1315575808, 24 * 2 * 2048 },
    { "phi-2: one norm for both, a head with a bias",
      "{" TYPE("phi")
          CLASS("PhiForCausalLM") "\"hidden_size\": 2560, "
                                  "\"intermediate_size\": 10240, \"num_hidden_layers\": 32, "
                                  "\"partial_rotary_factor\": 0.4 }",
      2779683840, 32 * 2 * 2560 },
    { "t5-small: the head is the table, no gate",
      "{" TYPE("t5") CLASS("T5ForConditionalGeneration") "\"d_ff\": 2048, \"vocab_size\": 32128 }",
      60506624, 6 * 2 * 512 },
    { "t5-small's encoder alone", "{" TYPE("t5") CLASS("T5EncoderModel") "\"d_model\": 512 }",
      35330816, 0 },
    { "mt5-small: other defaults, a head of its own",
      "{" TYPE("mt5") CLASS("MT5ForConditionalGeneration") "\"d_model\": 512 }", 300176768,
      8 * 2 * 384 },
    { "whisper-tiny by its defaults",
      "{" TYPE("whisper") CLASS("WhisperForConditionalGeneration") "\"d_model\": 384 }", 37760640,
      4 * 2 * 384 },
    { "bert with its pooler", "{" TYPE("bert") CLASS("BertModel") "\"vocab_size\": 30522 }",
      109482240, 0 },
    { "bert with both heads of pretraining",
      "{" TYPE("bert") CLASS("BertForPreTraining") "\"vocab_size\": 30522 }", 110106428, 0 },
    { "bert with two classes",
      "{" TYPE("bert") CLASS("BertForSequenceClassification") "\"vocab_size\": 30522 }", 109483778,
      0 },
    { "bert with the ends of an answer",
      "{" TYPE("bert") CLASS("BertForQuestionAnswering") "\"vocab_size\": 30522 }", 108893186, 0 },
    { "roberta-base predicts masked tokens",
      "{" TYPE("roberta") CLASS("RobertaForMaskedLM") "\"max_position_embeddings\": 514, "
                                                      "\"type_vocab_size\": 1 }",
      124697433, 0 },
    { "roberta-base with two classes",
      "{" TYPE("roberta") CLASS("RobertaForSequenceClassification") "\"max_position_embeddings\": "
                                                                    "514, \"type_vocab_size\": 1 }",
      124647170, 0 },
    { "xlm-roberta-base",
      "{" TYPE("xlm-roberta")
          CLASS("XLMRobertaModel") "\"vocab_size\": 250002, "
                                   "\"max_position_embeddings\": 514, \"type_vocab_size\": 1 }",
      278043648, 0 },
    { "vit-base-patch16-224-in21k has a pooler and no labels",
      "{" TYPE("vit") CLASS("ViTModel") "\"image_size\": 224 }", 86389248, 0 },
    { "vit with three labels, not square",
      "{" TYPE("vit") CLASS("ViTForImageClassification") "\"image_size\": [224, 448], "
                                                         "\"id2label\": { \"0\": \"a\", \"1\": "
                                                         "\"b\", \"2\": \"c\" } }",
      86567656 - 997 * 769 + 196 * 768, 0 },
    { "clip-vit-base-patch32 by its defaults",
      "{" TYPE("clip") CLASS("CLIPModel") "\"projection_dim\": 512 }", 151277313, 0 },
    { "the text tower of clip-vit-large-patch14",
      "{" TYPE("clip_text_model")
          CLASS("CLIPTextModel") "\"hidden_size\": 768, "
                                 "\"intermediate_size\": 3072, \"num_attention_heads\": 12 }",
      123060480, 0 },
};

static lin_source *open_config(place *p, const char *config)
{
    linnet_error err = { 0 };
    lin_source *source = NULL;
    write_file(p, "config.json", config);
    if (open_at(p, "config.json", &source, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return source;
}

static int64_t cached_values(const lin_traced *traced, int64_t positions)
{
    const int64_t symbols[LIN_ROLE_COUNT] = { 1, 16, positions };
    int64_t total = 0;
    for (uint32_t i = 0; i < traced->graph->objects.count; i++) {
        const lin_object *object = &traced->graph->objects.items[i];
        int64_t elements = 0;
        if (object->category != LIN_CATEGORY_KV_CACHE)
            continue;
        assert_true(lin_expr_evaluate(traced->graph->exprs, object->elements, symbols, &elements));
        total += elements;
    }
    return total;
}

static void expect_entry(const struct model_case *c, const lin_source *source, const char *entry)
{
    const lin_trace_settings settings = { .entry = entry,
                                          .role_given = { true, true, true },
                                          .role_value = { 1, 16, 32 },
                                          .numerics = LIN_NUMERICS_FAST,
                                          .processes = 1 };
    lin_traced traced;
    linnet_error err = { 0 };
    if (lin_trace(source, &settings, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("%s: %s:%u: %s", entry, err.source, err.line, err.message);
    assert_int_equal(cached_values(&traced, 33) - cached_values(&traced, 32), c->cached);
    lin_graph_free(traced.graph);
}

static void expect_entries(const struct model_case *c, const lin_source *source)
{
    static const char *const entries[] = { "forward",     "decode",  "decode_rows",
                                           "loss_packed", "loss",    "encode",
                                           "pool",        "follows", "log_probs_packed" };
    uint32_t found = 0;
    for (uint32_t i = 0; i < ARRAY_LEN(entries); i++) {
        const lin_block *root = NULL;
        const lin_function *entry = NULL;
        linnet_error err = { 0 };
        if (lin_trace_find_entry(source, source->root, entries[i], &root, &entry, &err) !=
            LINNET_OK)
            continue;
        expect_entry(c, source, entries[i]);
        found++;
    }
    assert_true(found > 0);
}

static void test_model(void **state)
{
    const struct model_case *c = *state;
    void *where = NULL;
    int64_t parameters = 0;
    linnet_error err = { 0 };
    assert_int_equal(set_up(&where), 0);
    lin_source *source = open_config(where, c->config);
    if (lin_trace_count_parameters(source, false, &lin_default_allocator, &parameters, &err) !=
        LINNET_OK)
        fail_msg("%s", err.message);
    if (parameters != c->parameters)
        fail_msg("%lld parameters, not %lld", (long long)parameters, (long long)c->parameters);
    expect_entries(c, source);
    lin_source_free(source);
    assert_int_equal(tear_down(&where), 0);
}

/* ---- what is refused ---- */

static const struct refusal_case {
    const char *name;
    const char *config;
    linnet_status status;
    const char *message;
} refusal_cases[] = {
    { "another head on a decoder",
      "{" TYPE("gpt2") CLASS("GPT2ForSequenceClassification") "\"n_layer\": 2 }",
      LINNET_ERROR_UNSUPPORTED, "class `GPT2ForSequenceClassification`" },
    { "a head that is no embedding", "{" TYPE("gpt2") "\"tie_word_embeddings\": false }",
      LINNET_ERROR_UNSUPPORTED, "`tie_word_embeddings` false" },
    { "no heads", "{" TYPE("gpt_neox") "\"num_attention_heads\": 0 }", LINNET_ERROR_FORMAT,
      "the number of heads is 0" },
    { "heads that do not divide the width", "{" TYPE("bert") "\"num_attention_heads\": 7 }",
      LINNET_ERROR_FORMAT, "`hidden_size` (768) does not divide by `num_attention_heads` (7)" },
    { "an inner size past 64 bits", "{" TYPE("bloom") "\"n_embed\": 9223372036854775807 }",
      LINNET_ERROR_OVERFLOW, "does not fit in 64 bits" },
    { "positions past 64 bits",
      "{" TYPE("opt") "\"max_position_embeddings\": 9223372036854775807 }", LINNET_ERROR_OVERFLOW,
      "do not fit in 64 bits" },
    { "a word where a number is meant", "{" TYPE("vit") "\"hidden_size\": \"768\" }",
      LINNET_ERROR_FORMAT, "`hidden_size` is a string" },
    { "an image of one number in a list", "{" TYPE("vit") "\"image_size\": [224] }",
      LINNET_ERROR_FORMAT, "`image_size` has no item 1" },
    { "an epsilon that is none", "{" TYPE("roberta") "\"layer_norm_eps\": 0 }", LINNET_ERROR_FORMAT,
      "`layer_norm_eps`" },
    { "a share of a head over one", "{" TYPE("gpt_neox") "\"rotary_pct\": 1.5 }",
      LINNET_ERROR_FORMAT, "turned part" },
    { "norms of another kind", "{" TYPE("mpt") "\"norm_type\": \"rmsnorm\" }",
      LINNET_ERROR_UNSUPPORTED, "`norm_type` `rmsnorm`" },
    { "relative positions", "{" TYPE("bert") "\"position_embedding_type\": \"relative_key\" }",
      LINNET_ERROR_UNSUPPORTED, "`relative_key`" },
    { "an activation without a source", "{" TYPE("t5") "\"feed_forward_proj\": \"gated-tanh\" }",
      LINNET_ERROR_UNSUPPORTED, "`gated-tanh`" },
    { "a classifier on speech",
      "{" TYPE("whisper") CLASS("WhisperForAudioClassification") "\"d_model\": 384 }",
      LINNET_ERROR_UNSUPPORTED, "`WhisperForAudioClassification`" },
};

static void test_refusal(void **state)
{
    const struct refusal_case *c = *state;
    lin_arena arena;
    family_reader family;
    linnet_error err = { 0 };
    lin_arena_init(&arena, &lin_default_allocator);
    const linnet_status status =
        lin_config_read(&arena, "config.json", c->config, strlen(c->config), &family, &err);
    if (status != c->status || strstr(err.message, c->message) == NULL)
        fail_msg("%d `%s`", (int)status, err.message);
    lin_arena_free(&arena);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_LEN(model_cases) + ARRAY_LEN(refusal_cases)];
    uint32_t count = 0;
    for (uint32_t i = 0; i < ARRAY_LEN(model_cases); i++)
        tests[count++] = (struct CMUnitTest){ .name = model_cases[i].name,
                                              .test_func = test_model,
                                              .initial_state = (void *)(uintptr_t)&model_cases[i] };
    for (uint32_t i = 0; i < ARRAY_LEN(refusal_cases); i++)
        tests[count++] =
            (struct CMUnitTest){ .name = refusal_cases[i].name,
                                 .test_func = test_refusal,
                                 .initial_state = (void *)(uintptr_t)&refusal_cases[i] };
    return cmocka_run_group_tests_name("family classic", tests, NULL, NULL);
}
