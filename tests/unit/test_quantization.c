/* SPDX-License-Identifier: MIT */

/*
 * Bytes of quantized weights: a small decoder under every method, against figures summed apart from
 * the library (matrices of 256x256, 128x256, 128x256, 256x256, 512x256, 512x256 and 256x512 in each
 * of 2 layers, 1000 rows of embedding and of head, 5 norms of 256); and gpt-oss-20b, whose
 * published checkpoint has 13,761,264,768 bytes.
 */

#define _XOPEN_SOURCE 700 /* mkdtemp */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/trace.h"

enum { PATH_LENGTH = 1024 };

#define CONFIG(more)                                                                     \
    "{ \"model_type\": \"llama\", \"hidden_size\": 256, \"num_attention_heads\": 4,"     \
    " \"num_key_value_heads\": 2, \"intermediate_size\": 512, \"num_hidden_layers\": 2," \
    " \"vocab_size\": 1000, \"torch_dtype\": \"bfloat16\"" more " }"
#define METHOD(words) CONFIG(", \"quantization_config\": { " words " }")
#define COMPRESSED(weights, more)                                                             \
    METHOD("\"quant_method\": \"compressed-tensors\", \"config_groups\": { \"group_0\": {"    \
           " \"targets\": [\"Linear\"], \"weights\": { " weights " } } }, \"ignore\": [" more \
           "\"lm_head\"]")

/* clang-format off */
static const struct method_case {
    const char *name, *config;
    int64_t bytes; /* of all weights; 0: refused */
    const char *says;
} method_cases[] = {
    { "nothing quantized", CONFIG(""), 3385856, "" },
    { "null is nothing", CONFIG(", \"quantization_config\": null"), 3385856, "" },
    { "fp8 by blocks",
      METHOD("\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]"), 2206496, "" },
    { "fp8 by blocks that do not divide",
      METHOD("\"quant_method\": \"fp8\", \"weight_block_size\": [100, 100]"), 2206880, "" },
    { "fp8 by matrix", METHOD("\"quant_method\": \"fp8\""), 2206264, "" },
    { "fp8 with scales of activations",
      METHOD("\"quant_method\": \"fp8\", \"activation_scheme\": \"static\""), 2206320, "" },
    { "fp8 with modules left out",
      METHOD("\"quant_method\": \"fp8\", \"modules_to_not_convert\": [\"self_attn\","
             " \"model.layers.1.mlp.down_proj\", \"gate\"]"), 2730516, "" },
    { "fbgemm's fp8", METHOD("\"quant_method\": \"fbgemm_fp8\""), 2222592, "" },
    { "bitsandbytes with 8 bits",
      METHOD("\"quant_method\": \"bitsandbytes\", \"load_in_8bit\": true"), 2222592, "" },
    { "nf4",
      METHOD("\"load_in_4bit\": true, \"bnb_4bit_quant_type\": \"nf4\""), 1691008, "" },
    { "nf4, doubly quantized",
      METHOD("\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true,"
             " \"bnb_4bit_quant_type\": \"nf4\", \"bnb_4bit_use_double_quant\": true"),
      1636056, "" },
    { "GPTQ with 4 bits",
      METHOD("\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 128"), 1655808, "" },
    { "GPTQ with 3 bits",
      METHOD("\"quant_method\": \"gptq\", \"bits\": 3, \"group_size\": 64"), 1529088, "" },
    { "GPTQ with 8 bits, a group a row",
      METHOD("\"quant_method\": \"gptq\", \"bits\": 8, \"group_size\": -1"), 2234880, "" },
    { "AWQ", METHOD("\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 128"), 1639424, "" },
    { "compressed tensors: int4 in groups",
      COMPRESSED("\"num_bits\": 4, \"type\": \"int\", \"strategy\": \"group\","
                 " \"group_size\": 128, \"symmetric\": true", ""), 1635040, "" },
    { "compressed tensors: int4 with zeros",
      COMPRESSED("\"num_bits\": 4, \"type\": \"int\", \"strategy\": \"group\","
                 " \"group_size\": 128, \"symmetric\": false", ""), 1639648, "" },
    { "compressed tensors: int8 by row",
      COMPRESSED("\"num_bits\": 8, \"type\": \"int\", \"strategy\": \"channel\"", ""),
      2214400, "" },
    { "compressed tensors: fp8 by matrix",
      COMPRESSED("\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"tensor\"", ""),
      2206236, "" },
    { "compressed tensors: an expression left out",
      COMPRESSED("\"num_bits\": 8, \"type\": \"int\", \"strategy\": \"channel\"",
                 "\"re:.*self_attn.*\", "), 2604544, "" },
    { "nvfp4", METHOD("\"quant_method\": \"modelopt\", \"quant_algo\": \"NVFP4\""), 1690224, "" },
    { "torchao's int8",
      METHOD("\"quant_method\": \"torchao\", \"quant_type\": \"int8_weight_only\""), 2214400, "" },
    { "torchao's int4",
      METHOD("\"quant_method\": \"torchao\", \"quant_type\": \"int4_weight_only\""), 1653248, "" },
    { "hqq",
      METHOD("\"quant_method\": \"hqq\", \"quant_config\": { \"weight_quant_params\":"
             " { \"nbits\": 4, \"group_size\": 64 } }"), 1690112, "" },
    { "MLX, embeddings too",
      CONFIG(", \"quantization\": { \"group_size\": 64, \"bits\": 4 }"), 954112, "" },
    { "MLX, layers with settings of their own",
      CONFIG(", \"quantization\": { \"group_size\": 64, \"bits\": 4,"
             " \"model.layers.0.self_attn.q_proj\": { \"group_size\": 64, \"bits\": 8 },"
             " \"model.layers.1.mlp.down_proj\": false }"), 1175296, "" },
    { "an unknown method", METHOD("\"quant_method\": \"gpt-q\""), 0, "the nearest is `gptq`" },
    { "no method", METHOD("\"bits\": 4"), 0, "`quant_method` is missing" },
    { "a method of the wrong type", METHOD("\"quant_method\": 4"), 0, "a string is meant" },
    { "settings that are no object", CONFIG(", \"quantization_config\": 4"), 0, "an object" },
    { "a group of 0",
      METHOD("\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 0"), 0, "`group_size`" },
    { "7 bits", METHOD("\"quant_method\": \"gptq\", \"bits\": 7"), 0, "7 bits" },
    { "bits of the wrong type", METHOD("\"quant_method\": \"gptq\", \"bits\": \"4\""), 0,
      "`bits` is a string" },
    { "a block of 0",
      METHOD("\"quant_method\": \"fp8\", \"weight_block_size\": [0, 128]"), 0, "pair of sizes" },
    { "bitsandbytes that says nothing", METHOD("\"quant_method\": \"bitsandbytes\""), 0,
      "neither or both" },
    { "names that are no array",
      METHOD("\"quant_method\": \"fp8\", \"modules_to_not_convert\": \"lm_head\""), 0, "an array" },
    { "a thousand million layers",
      "{ \"model_type\": \"llama\", \"hidden_size\": 256, \"num_attention_heads\": 4,"
      " \"intermediate_size\": 512, \"num_hidden_layers\": 1000000000, \"vocab_size\": 1000,"
      " \"quantization_config\": { \"quant_method\": \"fp8\" } }", 0, "more than 1048576" },
    { "no groups", METHOD("\"quant_method\": \"compressed-tensors\""), 0, "`config_groups`" },
};
/* clang-format on */

static int64_t weight_bytes(const lin_source *source)
{
    const lin_trace_settings settings = { .processes = 1 };
    lin_traced traced;
    linnet_error err = { 0 };
    int64_t total = 0;
    if (lin_trace_persistent(source, &settings, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    for (uint32_t i = 0; i < traced.graph->objects.count; i++) {
        const lin_object *object = &traced.graph->objects.items[i];
        int64_t bytes = 0;
        if (object->category != LIN_CATEGORY_PARAMETERS)
            continue;
        assert_true(lin_expr_is_int(traced.graph->exprs, object->bytes, &bytes));
        total += bytes;
    }
    lin_graph_free(traced.graph);
    return total;
}

static linnet_status open_text(const char *config, lin_source **out, linnet_error *err)
{
    char directory[] = "/tmp/linnet-quant-XXXXXX";
    char path[PATH_LENGTH];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/config.json", directory);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(config, file) >= 0);
    assert_int_equal(fclose(file), 0);
    const lin_source_settings settings = { .allocator = lin_default_allocator };
    const linnet_status status = lin_source_open(&settings, path, NULL, out, err);
    (void)unlink(path);
    (void)rmdir(directory);
    return status;
}

static void test_method(void **state)
{
    const struct method_case *row = *state;
    lin_source *source = NULL;
    linnet_error err = { 0 };
    const linnet_status status = open_text(row->config, &source, &err);
    if (row->bytes == 0) {
        assert_true(status == LINNET_ERROR_FORMAT || status == LINNET_ERROR_UNSUPPORTED);
        if (strstr(err.message, row->says) == NULL)
            fail_msg("`%s` does not say `%s`", err.message, row->says);
        return;
    }
    if (status != LINNET_OK)
        fail_msg("%s", err.message);
    assert_int_equal(weight_bytes(source), row->bytes);
    lin_source_free(source);
}

static void test_gpt_oss(void **state)
{
    char path[PATH_LENGTH];
    const char *shared = getenv("LINNET_SHARED");
    (void)state;
    if (shared == NULL) {
        print_message("LINNET_SHARED is not set\n");
        skip();
    }
    snprintf(path, sizeof(path), "%s/data/hf-configs/gpt-oss-20b/config.json", shared);
    if (access(path, R_OK) != 0)
        skip();
    const lin_source_settings settings = { .allocator = lin_default_allocator };
    lin_source *source = NULL;
    linnet_error err = { 0 };
    if (lin_source_open(&settings, path, NULL, &source, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    assert_int_equal(weight_bytes(source), INT64_C(13761264768));
    lin_source_free(source);
}

int main(void)
{
    static struct CMUnitTest tests[ARRAY_LEN(method_cases) + 1];
    for (size_t i = 0; i < ARRAY_LEN(method_cases); i++)
        tests[i] = (struct CMUnitTest){ .name = method_cases[i].name,
                                        .test_func = test_method,
                                        .initial_state = (void *)(uintptr_t)&method_cases[i] };
    tests[ARRAY_LEN(method_cases)] =
        (struct CMUnitTest){ .name = "gpt-oss-20b has the bytes of its checkpoint",
                             .test_func = test_gpt_oss };
    return cmocka_run_group_tests_name("quantization", tests, NULL, NULL);
}
