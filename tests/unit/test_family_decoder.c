/* SPDX-License-Identifier: MIT */

/*
 * Decoders from small configs: which program is taken, what its generics get, what is bound, and
 * what is refused. Real configs are in test_configs.c.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "source/family.h"

/* ---- names of tensors ---- */

static const struct name_case {
    const char *name;
    const char *tensor;
    int64_t indices[3];
    uint32_t count;
    const char *expected;
} name_cases[] = {
    { "a name without braces stands as it is", "model.norm.weight", { 0 }, 0, "model.norm.weight" },
    { "i is the first index", "h.{i}.ln", { 7 }, 1, "h.7.ln" },
    { "i and j are the indices from left to right", "g.{i}.l.{j}", { 3, 4 }, 2, "g.3.l.4" },
    { "an index may be used twice", "{i}.{i}", { 3, 4 }, 2, "3.3" },
    { "a sum with an offset", "h.{i+24}.ln", { 1 }, 1, "h.25.ln" },
    { "a sum with a factor", "h.{6*i+j}.ln", { 3, 2 }, 2, "h.20.ln" },
    { "factor, index and offset", "h.{6*i+j+5}", { 3, 0 }, 2, "h.23" },
    { "a third index", "{k}", { 1, 2, 9 }, 3, "9" },
    { "an index that the path lacks stays", "h.{j}.ln", { 1 }, 1, "h.{j}.ln" },
    { "a star is every index", "e.{*}.up", { 1 }, 1, "e.{*}.up" },
    { "other braces stay", "{}{i", { 1 }, 1, "{}{i" },
    { "a sum without a second term stays", "{i+}", { 1 }, 1, "{i+}" },
    { "a factor past int64 stays", "{9223372036854775807*i}", { 2 }, 1, "{9223372036854775807*i}" },
};

static void test_name(void **state)
{
    const struct name_case *c = *state;
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_binding_tensor_name(&text, c->tensor, c->indices, c->count);
    assert_string_equal(lin_text_data(&text), c->expected);
    lin_text_free(&text);
}

/* ---- configs ---- */

#define SIZES                                                                \
    "\"vocab_size\": 100, \"hidden_size\": 64, \"num_attention_heads\": 4, " \
    "\"intermediate_size\": 96, \"num_hidden_layers\": 8, \"max_position_embeddings\": 512"
#define CONFIG(type, more) "{ \"model_type\": \"" type "\", " SIZES more " }"
#define NEAR "\"sliding_attention\""
#define FAR "\"full_attention\""

/* A word of `facts` is a generic's value "Heads=4", or a binding "path>tensor". */
static const struct config_case {
    const char *name;
    const char *config;
    const char *program; /* NULL: refused */
    const char *facts[5];
    linnet_status status;
    const char *message;
} config_cases[] = {
    { .name = "a plain decoder has every entry",
      .config = CONFIG("llama", ", \"rope_theta\": 500000.0, \"rms_norm_eps\": 1e-5"),
      .program = "models/llama.linnet",
      .facts = { "KvHeads=4", "MaxSeq=512", "RopeTheta=500000", "InverseEps=100000",
                 "lm_head.weight>lm_head.weight" } },
    { .name = "a null counts as absent",
      .config = CONFIG("llama", ", \"num_key_value_heads\": null, \"head_dim\": null"),
      .program = "models/llama.linnet",
      .facts = { "KvHeads=4", "InverseEps=1000000" } },
    { .name = "Llama 3's stretch of the wavelengths",
      .config =
          CONFIG("llama", ", \"rope_scaling\": { \"rope_type\": \"llama3\", \"factor\": 32.0 }"),
      .program = "models/llama.linnet",
      .facts = { "RopeFactor=32" } },
    { .name = "a tied head is the embedding",
      .config = CONFIG("llama", ", \"tie_word_embeddings\": true"),
      .program = "models/llama.linnet",
      .facts = { "lm_head.weight>model.embed_tokens.weight" } },
    { .name = "all four projections have biases, or the three of the MLP",
      .config = CONFIG("llama", ", \"attention_bias\": true, \"mlp_bias\": true"),
      .program = "models/llama.linnet",
      .facts = { "layers[*].attention.o_proj.bias>model.layers.{i}.self_attn.o_proj.bias",
                 "layers[*].mlp.down.bias>model.layers.{i}.mlp.down_proj.bias" } },
    { .name = "a head width of its own",
      .config = CONFIG("llama", ", \"head_dim\": 32"),
      .program = "models/decoder.linnet",
      .facts = { "HeadDim=32", "Rotary=32", "Groups=0", "Layers=8" } },
    { .name = "Mistral has a window unless it says null",
      .config = CONFIG("mistral", ", \"num_key_value_heads\": 2"),
      .program = "models/decoder.linnet",
      .facts = { "Window=4096", "Groups=0", "Layers=8" } },
    { .name = "a null window is none",
      .config = CONFIG("mistral", ", \"num_key_value_heads\": 2, \"sliding_window\": null"),
      .program = "models/llama.linnet",
      .facts = { "KvHeads=2" } },
    { .name = "Qwen 2 has biases without a key, and a window only when it is used",
      .config = CONFIG("qwen2", ", \"num_key_value_heads\": 2, \"sliding_window\": 128"),
      .program = "models/llama.linnet",
      .facts = { "layers[*].attention.v_proj.bias>model.layers.{i}.self_attn.v_proj.bias" } },
    { .name = "Qwen 2's first layers see everything",
      .config = CONFIG("qwen2", ", \"num_key_value_heads\": 2, \"sliding_window\": 128, "
                                "\"use_sliding_window\": true, \"max_window_layers\": 6"),
      .program = "models/decoder.linnet",
      .facts = { "Groups=1", "Near=0", "Far=6", "Layers=2",
                 "groups[*].far[*].mlp.up.weight>model.layers.{6*i+j}.mlp.up_proj.weight" } },
    { .name = "Qwen 3 with other constants than its card's",
      .config = CONFIG("qwen3", ", \"num_key_value_heads\": 2"),
      .program = "models/decoder.linnet",
      .facts = { "HeadDim=128",
                 "layers[*].attention.q_norm.weight>model.layers.{i}.self_attn.q_norm.weight" } },
    { .name = "Qwen 3 as its card has it",
      .config = CONFIG("qwen3", ", \"num_key_value_heads\": 2, \"rope_theta\": 1000000"),
      .program = "models/qwen3.linnet",
      .facts = { "HeadDim=128" } },
    { .name = "Gemma 2 alternates, a window first",
      .config = CONFIG("gemma2", ", \"num_key_value_heads\": 2"),
      .program = "models/decoder.linnet",
      .facts = { "Groups=4", "Near=1", "Far=1", "FinalCap=30",
                 "groups[*].far[*].mlp_post_norm.weight>"
                 "model.layers.{2*i+j+1}.post_feedforward_layernorm.weight" } },
    { .name = "Gemma 3's last layers may fill no group",
      .config = CONFIG("gemma3_text", ", \"num_key_value_heads\": 2"),
      .program = "models/decoder.linnet",
      .facts = { "Groups=1", "Near=5", "Layers=2", "FinalCap=0",
                 "layers[*].mlp.up.weight>model.layers.{i+6}.mlp.up_proj.weight" } },
    { .name = "layer_types says the same",
      .config = CONFIG("olmo3", ", \"layer_types\": [" NEAR ", " NEAR ", " FAR ", " NEAR ", " NEAR
                                ", " FAR ", " NEAR ", " NEAR "]"),
      .program = "models/decoder.linnet",
      .facts = { "Groups=2", "Near=2", "Far=1", "Layers=2" } },
    { .name = "layer_types may say that all are full",
      .config = CONFIG("olmo3", ", \"layer_types\": [" FAR ", " FAR ", " FAR ", " FAR ", " FAR
                                ", " FAR ", " FAR ", " FAR "]"),
      .program = "models/decoder.linnet",
      .facts = { "Groups=0", "Layers=8" } },
    { .name = "layer_types without a pattern",
      .config = CONFIG("olmo3", ", \"layer_types\": [" NEAR ", " FAR ", " NEAR ", " NEAR ", " FAR
                                ", " FAR ", " NEAR ", " NEAR "]"),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "`layer_types` repeats no pattern of layers" },
    { .name = "layer_types of another length",
      .config = CONFIG("olmo3", ", \"layer_types\": [" NEAR "]"),
      .status = LINNET_ERROR_FORMAT,
      .message = "`layer_types` has 1 layers, `num_hidden_layers` 8" },
    { .name = "another kind of layer",
      .config =
          CONFIG("gemma2", ", \"num_key_value_heads\": 2, \"layer_types\": [\"chunked\", 1, 1, "
                           "1, 1, 1, 1, 1]"),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "`layer_types` has chunked at layer 0" },
    { .name = "StableLM turns part of each head",
      .config = CONFIG("stablelm", ", \"num_key_value_heads\": 4, \"partial_rotary_factor\": 0.5"),
      .program = "models/decoder.linnet",
      .facts = { "Rotary=8", "Centred=1", "norm.bias>model.norm.bias" } },
    { .name = "StableLM with norms over queries and keys",
      .config = CONFIG("stablelm", ", \"num_key_value_heads\": 4, \"qk_layernorm\": true"),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "`qk_layernorm` true is not expressed by the source of `stablelm`" },
    { .name = "InternLM 2 has biases unless it says no",
      .config = CONFIG("internlm2", ""),
      .program = "models/decoder.linnet",
      .facts = { "Joint=1",
                 "layers[*].attention.q_proj.bias>model.layers.{i}.attention.wqkv.bias" } },
    { .name = "Phi 3's joint projections",
      .config = CONFIG("phi3", ", \"sliding_window\": 128"),
      .program = "models/decoder.linnet",
      .facts = { "Joint=1", "Halves=2", "Window=128",
                 "layers[*].mlp.up.weight>model.layers.{i}.mlp.gate_up_proj.weight" } },
    { .name = "EXAONE 4 may spell its pattern",
      .config =
          CONFIG("exaone4", ", \"num_key_value_heads\": 2, \"sliding_window_pattern\": \"LLLG\""),
      .program = "models/decoder.linnet",
      .facts = { "Groups=2", "Near=3", "Far=1",
                 "groups[*].near[*].attention.q_norm.weight>"
                 "model.layers.{4*i+j}.self_attn.q_norm.weight" } },
    { .name = "EXAONE 4 with another pattern",
      .config =
          CONFIG("exaone4", ", \"num_key_value_heads\": 2, \"sliding_window_pattern\": \"GLLL\""),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "`sliding_window_pattern` `GLLL` is no number of local layers and a global one" },
    { .name = "a missing size is named",
      .config = "{ \"model_type\": \"llama\" }",
      .status = LINNET_ERROR_FORMAT,
      .message = "`vocab_size` is missing" },
    { .name = "a size of the wrong type",
      .config = "{ \"model_type\": \"llama\", \"vocab_size\": \"32000\" }",
      .status = LINNET_ERROR_FORMAT,
      .message = "`vocab_size` is a string; a whole number is meant" },
    { .name = "a width that the heads do not divide",
      .config = "{ \"model_type\": \"llama\", \"vocab_size\": 9, \"hidden_size\": 65, "
                "\"num_attention_heads\": 4 }",
      .status = LINNET_ERROR_FORMAT,
      .message = "`hidden_size` (65) does not divide by `num_attention_heads` (4)" },
    { .name = "heads that key heads do not divide",
      .config = CONFIG("llama", ", \"num_key_value_heads\": 3"),
      .status = LINNET_ERROR_FORMAT,
      .message = "`num_attention_heads` (4) does not divide by `num_key_value_heads` (3)" },
    { .name = "no key heads",
      .config = CONFIG("llama", ", \"num_key_value_heads\": 0"),
      .status = LINNET_ERROR_FORMAT,
      .message = "`num_key_value_heads` is 0; at least 1 is meant" },
    { .name = "no layers",
      .config = "{ \"model_type\": \"chatglm\", \"num_layers\": 0 }",
      .status = LINNET_ERROR_FORMAT,
      .message = "the number of layers is 0; at least 1 is meant" },
    { .name = "an odd head",
      .config = CONFIG("llama", ", \"head_dim\": 15"),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "an odd number of a head's values is turned (15 of 15)" },
    { .name = "an epsilon of zero",
      .config = CONFIG("llama", ", \"rms_norm_eps\": 0"),
      .status = LINNET_ERROR_FORMAT,
      .message = "the inverse of the norms' epsilon is out of range" },
    { .name = "an activation of another cost",
      .config = CONFIG("llama", ", \"hidden_act\": \"relu2\""),
      .status = LINNET_ERROR_UNSUPPORTED,
      .message = "`hidden_act` `relu2` is not expressed by the source of `llama`" },
};

static bool has_setting(const family_reader *r, const char *fact)
{
    char text[64];
    for (uint32_t i = 0; i < r->settings.count; i++) {
        const lin_setting *s = &r->settings.items[i];
        (void)snprintf(text, sizeof(text), "%s=%lld", s->name, (long long)s->integer);
        if (!s->is_dtype && strcmp(text, fact) == 0)
            return true;
    }
    return false;
}

static bool has_binding(const family_reader *r, const char *fact)
{
    char text[256];
    for (uint32_t i = 0; i < r->bindings.count; i++) {
        const lin_weight_binding *b = &r->bindings.items[i];
        (void)snprintf(text, sizeof(text), "%s>%s", b->path, b->tensor);
        if (strcmp(text, fact) == 0)
            return true;
    }
    return false;
}

static void expect_facts(const struct config_case *c, const family_reader *r)
{
    assert_string_equal(r->program, c->program);
    for (uint32_t i = 0; i < ARRAY_LEN(c->facts) && c->facts[i] != NULL; i++)
        if (!has_setting(r, c->facts[i]) && !has_binding(r, c->facts[i]))
            fail_msg("not so: %s", c->facts[i]);
}

static void test_config(void **state)
{
    const struct config_case *c = *state;
    lin_arena arena;
    family_reader family;
    linnet_error err = { 0 };
    lin_arena_init(&arena, &lin_default_allocator);
    const linnet_status status =
        lin_config_read(&arena, "config.json", c->config, strlen(c->config), &family, &err);
    if (status != c->status || (status != LINNET_OK && strstr(err.message, c->message) == NULL))
        fail_msg("%d `%s`", (int)status, err.message);
    if (status == LINNET_OK)
        expect_facts(c, &family);
    lin_arena_free(&arena);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_LEN(name_cases) + ARRAY_LEN(config_cases)];
    uint32_t count = 0;
    for (uint32_t i = 0; i < ARRAY_LEN(name_cases); i++)
        tests[count++] = (struct CMUnitTest){ .name = name_cases[i].name,
                                              .test_func = test_name,
                                              .initial_state = (void *)(uintptr_t)&name_cases[i] };
    for (uint32_t i = 0; i < ARRAY_LEN(config_cases); i++)
        tests[count++] =
            (struct CMUnitTest){ .name = config_cases[i].name,
                                 .test_func = test_config,
                                 .initial_state = (void *)(uintptr_t)&config_cases[i] };
    return cmocka_run_group_tests_name("family decoder", tests, NULL, NULL);
}
