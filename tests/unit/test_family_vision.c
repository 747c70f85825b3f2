/* SPDX-License-Identifier: MIT */

/*
 * Vision-language and recurrent models from configs: what decides the layers, what is refused, and
 * the sizes that test_configs.c does not compare: states that do not grow, and keys and values of
 * images. Those read $LINNET_SHARED/data/hf-configs and are skipped without it.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "source/family.h"
#include "trace/trace.h"

/* ---- what configs say ---- */

#define CONFIG(type, more) "{ \"model_type\": \"" type "\"" more " }"
#define VISION(more) ", \"vision_config\": { " more " }"
#define TEXT(more) ", \"text_config\": { " more " }"

/* A word of `facts` is a generic's value "Heads=4", or a binding "path>tensor". */
static const struct config_case {
    const char *name;
    const char *config;
    const char *facts[4]; /* none: refused */
    linnet_status status;
    const char *message;
} config_cases[] = {
    { .name = "LLaVA without settings is the published one",
      .config = CONFIG("llava", ""),
      .facts = { "VisionH=1024", "Rows=24", "Read=23", "Layers=32" } },
    { .name = "LLaVA reads what enters a layer, counted from the front",
      .config = CONFIG("llava", ", \"vision_feature_layer\": 5"),
      .facts = { "Read=5", "tower.unread[*].up.weight>"
                           "vision_tower.vision_model.encoder.layers.{i+5}.mlp.fc1.weight" } },
    { .name = "LLaVA reads the last layer's result",
      .config = CONFIG("llava", ", \"vision_feature_layer\": -1"),
      .facts = { "Read=24" } },
    { .name = "no layer of the tower",
      .config = CONFIG("llava", ", \"vision_feature_layer\": -25"),
      .status = LINNET_ERROR_FORMAT,
      .message = "`vision_feature_layer` (-25) is none of the tower's 24 layers" },
    { .name = "several layers side by side",
      .config = CONFIG("llava", ", \"vision_feature_layer\": [-2, -5]"),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "`vision_feature_layer` is an array; one layer is meant" },
    { .name = "another tower",
      .config = CONFIG("llava", VISION("\"model_type\": \"pixtral\"")),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "`model_type` `pixtral` is not expressed by the source of `llava`" },
    { .name = "another language model",
      .config = CONFIG("llava", TEXT("\"model_type\": \"gemma\"")),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "a language model `gemma` is not expressed by the source of `llava`" },
    { .name = "an image smaller than a patch",
      .config = CONFIG("llava", VISION("\"image_size\": 10, \"patch_size\": 14")),
      .status = LINNET_ERROR_FORMAT,
      .message = "`image_size` is less than `patch_size` (14)" },
    { .name = "Qwen2-VL's vision width is not its hidden_size",
      .config = CONFIG("qwen2_vl",
                       ", \"hidden_size\": 1536" VISION("\"hidden_size\": 1536, \"depth\": 4")),
      .facts = { "VisionH=1280", "VisionInner=5120", "VisionLayers=4" } },
    { .name = "a tower for another language model",
      .config = CONFIG("qwen2_vl", ", \"hidden_size\": 1536"),
      .status = LINNET_ERROR_FORMAT,
      .message = "`hidden_size` of `vision_config` (3584) is not the language model's (1536)" },
    { .name = "Qwen3-VL hands on what three layers see",
      .config = CONFIG("qwen3_vl", VISION("\"out_hidden_size\": 4096")),
      .facts = { "Side=48", "tower.layers.24.deepstack.norm.bias>"
                            "model.visual.deepstack_merger_list.2.norm.bias" } },
    { .name = "four layers handed on",
      .config = CONFIG("qwen3_vl", VISION("\"out_hidden_size\": 4096, "
                                          "\"deepstack_visual_indexes\": [1, 2, 3, 4]")),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "`deepstack_visual_indexes` names 4 layers; the source has 3" },
    { .name = "positions that are no square",
      .config = CONFIG("qwen3_vl",
                       VISION("\"out_hidden_size\": 4096, \"num_position_embeddings\": 2300")),
      .status = LINNET_ERROR_FORMAT,
      .message = "`num_position_embeddings` (2300) is no square" },
    { .name = "one layer in six of Gemma 3 has no window",
      .config = CONFIG("gemma3", VISION("\"image_size\": 896, \"patch_size\": 14")),
      .facts = { "Pool=4", "Window=4096",
                 "decoder.layers.5.attention.q_proj.weight>"
                 "language_model.model.layers.5.self_attn.q_proj.weight",
                 "decoder.layers.6.near_attention.k_norm.weight>"
                 "language_model.model.layers.6.self_attn.k_norm.weight" } },
    { .name = "Llama's images every fifth layer from the fourth",
      .config = CONFIG("mllama", ""),
      .facts = { "Run1=3", "Rest=2",
                 "layers.8.cross_attention.q_norm.weight>"
                 "language_model.model.layers.8.cross_attn.q_norm.weight",
                 "layers.9.attention.q_proj.weight>"
                 "language_model.model.layers.9.self_attn.q_proj.weight" } },
    { .name = "kept layers out of order",
      .config = CONFIG("mllama", VISION("\"intermediate_layers_indices\": [3, 7, 6, 23, 30]")),
      .status = LINNET_ERROR_FORMAT,
      .message = "`intermediate_layers_indices` has 6 after 7, of 32 layers" },
    { .name = "a head tied to an embedding of more rows",
      .config = CONFIG("mllama", ", \"tie_word_embeddings\": true"),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "`tie_word_embeddings` true is not expressed by the source of `mllama`: the "
                 "embedding has 8 rows more than the head" },
    { .name = "Nemotron-H's pattern says each layer's part",
      .config = CONFIG("nemotron_h", ", \"num_hidden_layers\": 3, "
                                     "\"hybrid_override_pattern\": \"*M-\""),
      .facts = { "layers.0.attention.q_proj.weight>backbone.layers.0.mixer.q_proj.weight",
                 "layers.1.mamba.decay_log>backbone.layers.1.mixer.A_log",
                 "layers.2.mlp.up.weight>backbone.layers.2.mixer.up_proj.weight" } },
    { .name = "a pattern of another length",
      .config = CONFIG("nemotron_h", ", \"num_hidden_layers\": 4, "
                                     "\"hybrid_override_pattern\": \"*M-\""),
      .status = LINNET_ERROR_FORMAT,
      .message = "`hybrid_override_pattern` has 3 layers, `num_hidden_layers` 4" },
    { .name = "a pattern with experts",
      .config = CONFIG("nemotron_h", ", \"num_hidden_layers\": 3, "
                                     "\"hybrid_override_pattern\": \"*ME\""),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "`hybrid_override_pattern` has `E` for layer 2, which the source of `nemotron_h` "
                 "does not express" },
    { .name = "every fourth layer of Qwen3.5 is full attention",
      .config = CONFIG("qwen3_5", VISION("\"out_hidden_size\": 4096")),
      .facts = { "Rotary=64",
                 "layers.2.delta.decay_log>model.language_model.layers.2.linear_attn.A_log",
                 "layers.3.attention.q_norm.weight>"
                 "model.language_model.layers.3.self_attn.q_norm.weight" } },
    { .name = "RWKV's inner width is rounded down",
      .config = CONFIG("rwkv5", ", \"hidden_size\": 2560"),
      .facts = { "Inner=8960", "Heads=40", "layers.0.first_norm.bias>rwkv.blocks.0.pre_ln.bias" } },
    { .name = "layers past any model",
      .config = CONFIG("gemma3", TEXT("\"num_hidden_layers\": 1000000000000")),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "`num_hidden_layers` (1000000000000) passes 4096" },
};

static bool has_value(const family_reader *family, const char *fact, const char *equals)
{
    const uint64_t length = (uint64_t)(equals - fact);
    for (uint32_t i = 0; i < family->settings.count; i++) {
        const lin_setting *setting = &family->settings.items[i];
        char value[32];
        (void)snprintf(value, sizeof value, "%lld", (long long)setting->integer);
        if (strlen(setting->name) == length && strncmp(setting->name, fact, length) == 0)
            return strcmp(value, equals + 1) == 0;
    }
    return false;
}

static bool has_binding(const family_reader *family, const char *fact, const char *arrow)
{
    const uint64_t length = (uint64_t)(arrow - fact);
    for (uint32_t i = 0; i < family->bindings.count; i++) {
        const lin_weight_binding *b = &family->bindings.items[i];
        if (strlen(b->path) == length && strncmp(b->path, fact, length) == 0)
            return strcmp(b->tensor, arrow + 1) == 0;
    }
    return false;
}

static void test_config(void **state)
{
    const struct config_case *c = *state;
    family_reader family;
    linnet_error err = { 0 };
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    const linnet_status status =
        lin_config_read(&arena, "config.json", c->config, strlen(c->config), &family, &err);
    if (status != c->status)
        fail_msg("status %d: %s", (int)status, err.message);
    if (c->message != NULL)
        assert_string_equal(err.message, c->message);
    for (uint32_t i = 0; i < ARRAY_LEN(c->facts) && c->facts[i] != NULL; i++) {
        const char *arrow = strchr(c->facts[i], '>');
        const char *equals = strchr(c->facts[i], '=');
        if (arrow != NULL ? !has_binding(&family, c->facts[i], arrow)
                          : !has_value(&family, c->facts[i], equals))
            fail_msg("not so: %s", c->facts[i]);
    }
    lin_arena_free(&arena);
}

/* ---- what does not grow ---- */

enum { PATH_LENGTH = 1024, BATCH = 2, CACHE = 64 };

/* Of `BATCH` sequences, at `CACHE` positions: elements times bytes. */
static const struct fixed_case {
    const char *name, *folder;
    lin_category category;
    int64_t bytes;
} fixed_cases[] = {
    { "Nemotron-H: states and convolutions", "nemotron-h-56b", LIN_CATEGORY_STATE,
      INT64_C(2) * (226492416 + 4423680) },
    { "Qwen3.5: states in f32, convolutions in bf16", "qwen3.5-0.8b", LIN_CATEGORY_STATE,
      INT64_C(4) * 4718592 + INT64_C(2) * 442368 },
    { "RWKV 5: matrices in f32, last positions in bf16", "rwkv-5-1.5b", LIN_CATEGORY_STATE,
      INT64_C(4) * (3244032 - 24 * 4096) + INT64_C(2) * 24 * 4096 },
    { "Llama Vision: text, and 4 tiles of 1601 positions", "llama-3.2-11b-vision",
      LIN_CATEGORY_KV_CACHE, INT64_C(131072) * CACHE + INT64_C(32768) * 4 * 1601 },
};

static lin_source *open_config(const char *folder)
{
    char path[PATH_LENGTH];
    const char *shared = getenv("LINNET_SHARED");
    const lin_source_settings settings = { .allocator = lin_default_allocator };
    lin_source *source = NULL;
    linnet_error err = { 0 };
    if (shared == NULL)
        return NULL;
    (void)snprintf(path, sizeof path, "%s/data/hf-configs/%s/config.json", shared, folder);
    if (lin_source_open(&settings, path, NULL, &source, &err) == LINNET_ERROR_NOT_FOUND)
        return NULL;
    if (source == NULL)
        fail_msg("%s", err.message);
    return source;
}

static int64_t bytes_of(const lin_graph *graph, const lin_object *object)
{
    const int64_t symbols[LIN_ROLE_COUNT] = { BATCH, 1, CACHE };
    int64_t bytes = 0;
    assert_true(lin_expr_evaluate(graph->exprs, object->bytes, symbols, &bytes));
    return bytes;
}

/* What is kept of a category, and the largest of it. */
static int64_t kept_bytes(const lin_graph *graph, lin_category category, int64_t *out_largest)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < graph->parameter_objects; i++) {
        if (graph->objects.items[i].category != category)
            continue;
        const int64_t bytes = bytes_of(graph, &graph->objects.items[i]);
        *out_largest = bytes > *out_largest ? bytes : *out_largest;
        total += bytes;
    }
    return total;
}

static int64_t largest_made(const lin_graph *graph)
{
    int64_t largest = 0;
    for (uint32_t i = graph->parameter_objects; i < graph->objects.count; i++) {
        if (graph->objects.items[i].owner != i)
            continue;
        const int64_t bytes = bytes_of(graph, &graph->objects.items[i]);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

/* A step writes its states in place: nothing of their size is made. */
static void test_fixed(void **state)
{
    const struct fixed_case *c = *state;
    const lin_trace_settings settings = { .entry = "decode",
                                          .role_given = { true, false, true },
                                          .role_value = { BATCH, 0, CACHE },
                                          .numerics = LIN_NUMERICS_FAST,
                                          .processes = 1 };
    lin_traced traced;
    linnet_error err = { 0 };
    lin_source *source = open_config(c->folder);
    if (source == NULL)
        skip();
    if (lin_trace(source, &settings, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    int64_t largest = 0;
    assert_int_equal(kept_bytes(traced.graph, c->category, &largest), BATCH * c->bytes);
    assert_true(largest_made(traced.graph) < largest);
    lin_graph_free(traced.graph);
    lin_source_free(source);
}

#define ROW_TEST(row, function)                                                               \
    {                                                                                         \
        .name = (row)->name, .test_func = function, .initial_state = (void *)(uintptr_t)(row) \
    }

int main(void)
{
    struct CMUnitTest tests[ARRAY_LEN(config_cases) + ARRAY_LEN(fixed_cases)];
    uint32_t count = 0;
    for (uint32_t i = 0; i < ARRAY_LEN(config_cases); i++)
        tests[count++] = (struct CMUnitTest)ROW_TEST(&config_cases[i], test_config);
    for (uint32_t i = 0; i < ARRAY_LEN(fixed_cases); i++)
        tests[count++] = (struct CMUnitTest)ROW_TEST(&fixed_cases[i], test_fixed);
    return cmocka_run_group_tests_name("family vision", tests, NULL, NULL);
}
