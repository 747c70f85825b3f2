/* SPDX-License-Identifier: MIT */

/* Reports byte for byte: the text and the JSON of one answer, and the JSON of diagnostics. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lang/diagnostics.h"
#include "report/report.h"

#define MIB ((int64_t)1 << 20)

static const lin_component components[] = {
    { "Weights", LIN_CATEGORY_PARAMETERS, true, 16060522496, LIN_EXACT, "16060522496",
      "8030261248 parameters", "device:0" },
    { "KV cache", LIN_CATEGORY_KV_CACHE, true, 1 << 30, LIN_EXACT, "131072 * batch * cache",
      "64 tensors, contiguous", "device:0" },
    { "Peak activations", LIN_CATEGORY_ACTIVATIONS, true, 2168487936, LIN_EXACT, NULL, "",
      "device:0" },
    { "CUDA context", LIN_CATEGORY_RUNTIME, true, 621 * MIB, LIN_ESTIMATED, NULL, "", "device:0" },
    { "CUDA libraries", LIN_CATEGORY_RUNTIME, true, 74 * MIB, LIN_ESTIMATED, NULL, "", "device:0" },
    { "cuBLAS workspace", LIN_CATEGORY_WORKSPACE, true, 32 * MIB, LIN_ESTIMATED, NULL, "",
      "device:0" },
    { "Allocator fragmentation", LIN_CATEGORY_RUNTIME, false, 0, LIN_UNKNOWN, NULL,
      "the caching allocator's unused reserve depends on the allocation order", "device:0" },
};

static const lin_device_summary one_device[] = {
    { "device:0", "", 19302752256, 20065067008, 727 * MIB },
};

static const lin_device_summary two_devices[] = {
    { "stage 0", "embedding, layers.0-10", 8360542208, 10861871104, 2386 * MIB },
    { "stage 1", "layers.11-21, norm, lm_head", 7485603840, 9986932736, 2386 * MIB },
};

static const lin_largest largest[] = {
    { "linear", "lm_head", 2101346304, "256512 * batch * context" },
    { "weight", "embedding.weight", 1050673152, "1050673152" },
    { "tokens", "", 32768, NULL },
};

static const char *const unknown[] = {
    "Allocator fragmentation: the caching allocator's unused reserve depends on the allocation "
    "order",
};
static const char *const warnings[] = { "these values break one of the model's `where` clauses: "
                                        "P <= MaxSeq" };
static const lin_setting bound[] = {
    { .name = "Vocab", .integer = 128256 },
    { .name = "D", .is_dtype = true, .dtype = LIN_DTYPE_BF16 },
    { .name = "Layers", .integer = 32 },
};

static lin_answer llama(void)
{
    return (lin_answer){
        .backend = "cuda",
        .model = "llama-3.1-8b-instruct",
        .entry = "forward",
        .numerics = "fast",
        .dtype = "bf16",
        .role_value = { 1, 8192, 8192 },
        .role_free = { true, true, true },
        .bound = bound,
        .bound_count = ARRAY_LEN(bound),
        .components = components,
        .component_count = ARRAY_LEN(components),
        .peaks = { 19302752256, 20065067008, 19336306688 },
        .confidence = LIN_ESTIMATED,
        .peak_at = "step 1603: linear in `lm_head`",
        .peak_step = 1603,
        .has_plan = true,
        .plan = { 2168487936, 2168487936, 2168487936, 65385119744 },
        .steps = 1606,
        .largest = largest,
        .largest_count = ARRAY_LEN(largest),
        .devices = one_device,
        .device_count = 1,
        .unknown = unknown,
        .unknown_count = ARRAY_LEN(unknown),
    };
}

/* cli-report.md 2.1 */
#define COMPONENT_LINES                                 \
    "Weights                  14.96 GiB  [exact]\n"     \
    "KV cache                  1.00 GiB  [exact]\n"     \
    "Peak activations          2.02 GiB  [exact]\n"     \
    "CUDA context            621.00 MiB  [estimated]\n" \
    "CUDA libraries           74.00 MiB  [estimated]\n" \
    "cuBLAS workspace         32.00 MiB  [estimated]\n" \
    "------------------------------------\n"            \
    "Graph peak               17.98 GiB\n"              \
    "Expected peak            18.69 GiB  [estimated]\n" \
    "\n"                                                \
    "Peak at step 1603: linear in `lm_head`.\n"
#define PLAN_LINE                                                                             \
    "Transient storage: 60.89 GiB with a buffer per tensor, 2.02 GiB planned, 2.02 GiB live " \
    "at most.\n"
#define UNKNOWN_LINES                                                                     \
    "\nNot included (unknown):\n"                                                         \
    "  - Allocator fragmentation: the caching allocator's unused reserve depends on the " \
    "allocation order\n"

static void assert_text(const lin_answer *answer, uint32_t top, const char *expected)
{
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_report_text(&text, answer, top);
    assert_false(text.failed);
    assert_string_equal(lin_text_data(&text), expected);
    lin_text_free(&text);
}

static void test_text(void **state)
{
    (void)state;
    const lin_answer answer = llama();
    assert_text(&answer, 0, COMPONENT_LINES PLAN_LINE UNKNOWN_LINES);
}

static void test_text_largest(void **state)
{
    (void)state;
    const lin_answer answer = llama();
    assert_text(&answer, 10,
                COMPONENT_LINES PLAN_LINE
                "\n"
                "Largest tensors at the peak:\n"
                "    1.96 GiB  linear  lm_head           256512 * batch * context\n"
                " 1002.00 MiB  weight  embedding.weight  1050673152\n"
                "   32.00 KiB  tokens  -\n" UNKNOWN_LINES);
    assert_text(&answer, 1,
                COMPONENT_LINES PLAN_LINE
                "\n"
                "Largest tensors at the peak:\n"
                "    1.96 GiB  linear  lm_head  256512 * batch * context\n" UNKNOWN_LINES);
}

static void test_text_warnings(void **state)
{
    (void)state;
    lin_answer answer = llama();
    answer.unknown_count = 0;
    answer.has_plan = false;
    answer.warnings = warnings;
    answer.warning_count = ARRAY_LEN(warnings);
    assert_text(&answer, 0,
                COMPONENT_LINES
                "\nWarnings:\n"
                "  - these values break one of the model's `where` clauses: P <= MaxSeq\n");
}

static void test_text_devices(void **state)
{
    (void)state;
    lin_answer answer = llama();
    answer.devices = two_devices;
    answer.device_count = ARRAY_LEN(two_devices);
    assert_text(&answer, 0,
                "stage 0      10.12 GiB  embedding, layers.0-10\n"
                "stage 1       9.30 GiB  layers.11-21, norm, lm_head\n"
                "\n"
                "The most loaded, stage 0:\n"
                "\n" COMPONENT_LINES PLAN_LINE UNKNOWN_LINES);
}

static void test_text_wide_names(void **state)
{
    (void)state;
    lin_component wide[2];
    wide[0] = components[0];
    wide[1] = components[5];
    wide[1].name = "One-shot all-reduce buffers";
    lin_answer answer = llama();
    answer.components = wide;
    answer.component_count = 2;
    answer.has_plan = false;
    answer.unknown_count = 0;
    assert_text(&answer, 0,
                "Weights                         14.96 GiB  [exact]\n"
                "One-shot all-reduce buffers     32.00 MiB  [estimated]\n"
                "-------------------------------------------\n"
                "Graph peak                      17.98 GiB\n"
                "Expected peak                   18.69 GiB  [estimated]\n"
                "\n"
                "Peak at step 1603: linear in `lm_head`.\n");
}

/* clang-format off */
#define JSON_HEAD \
    "{\n" \
    "  \"version\": 1,\n" \
    "  \"configuration\": {\n" \
    "    \"backend\": \"cuda\",\n" \
    "    \"model\": \"llama-3.1-8b-instruct\",\n" \
    "    \"entry\": \"forward\",\n" \
    "    \"numerics\": \"fast\",\n" \
    "    \"dtype\": \"bf16\",\n" \
    "    \"batch\": 1,\n" \
    "    \"context\": 8192,\n" \
    "    \"cache\": 8192,\n" \
    "    \"kv_dtype\": null,\n" \
    "    \"kv_layout\": \"contiguous\",\n" \
    "    \"bindings\": {\n" \
    "      \"D\": \"bf16\",\n" \
    "      \"Layers\": 32,\n" \
    "      \"Vocab\": 128256\n" \
    "    },\n" \
    "    \"tensor_parallel\": 1,\n" \
    "    \"pipeline_parallel\": 1,\n" \
    "    \"microbatches\": 1,\n" \
    "    \"schedule\": null,\n" \
    "    \"stages\": null,\n" \
    "    \"data_parallel\": 1,\n" \
    "    \"sharding\": \"none\"\n" \
    "  },\n" \
    "  \"symbols\": {\n" \
    "    \"batch\": 1,\n" \
    "    \"cache\": 8192,\n" \
    "    \"context\": 8192\n" \
    "  },\n" \
    "  \"components\": [\n" \
    "    {\n" \
    "      \"name\": \"Weights\",\n" \
    "      \"category\": \"parameters\",\n" \
    "      \"bytes\": 16060522496,\n" \
    "      \"confidence\": \"exact\",\n" \
    "      \"formula\": \"16060522496\",\n" \
    "      \"note\": \"8030261248 parameters\",\n" \
    "      \"device\": \"device:0\"\n" \
    "    },\n" \
    "    {\n" \
    "      \"name\": \"Allocator fragmentation\",\n" \
    "      \"category\": \"runtime\",\n" \
    "      \"bytes\": null,\n" \
    "      \"confidence\": \"unknown\",\n" \
    "      \"formula\": null,\n" \
    "      \"note\": \"the caching allocator's unused reserve depends on the allocation order\",\n" \
    "      \"device\": \"device:0\"\n" \
    "    }\n" \
    "  ],\n" \
    "  \"peak\": {\n" \
    "    \"graph\": 19302752256,\n" \
    "    \"expected\": 20065067008,\n" \
    "    \"allocator\": 19336306688,\n" \
    "    \"at\": \"step 1603: linear in `lm_head`\",\n" \
    "    \"confidence\": \"estimated\"\n" \
    "  },\n" \
    "  \"allocation\": {\n" \
    "    \"naive\": 65385119744,\n" \
    "    \"planned\": 2168487936,\n" \
    "    \"greedy\": 2168487936,\n" \
    "    \"lower_bound\": 2168487936\n" \
    "  },\n" \
    "  \"steps\": 1606,\n"
#define JSON_LARGEST \
    "  \"largest\": [\n" \
    "    {\n" \
    "      \"name\": \"linear\",\n" \
    "      \"path\": \"lm_head\",\n" \
    "      \"bytes\": 2101346304,\n" \
    "      \"formula\": \"256512 * batch * context\"\n" \
    "    }\n" \
    "  ],\n"
#define JSON_TAIL \
    "  \"recompute\": null,\n" \
    "  \"devices\": [\n" \
    "    {\n" \
    "      \"name\": \"device:0\",\n" \
    "      \"holds\": \"\",\n" \
    "      \"graph_peak\": 19302752256,\n" \
    "      \"expected_peak\": 20065067008,\n" \
    "      \"runtime\": 762314752\n" \
    "    }\n" \
    "  ],\n" \
    "  \"formulas\": {\n" \
    "    \"activations\": null\n" \
    "  },\n" \
    "  \"unknown\": [\n" \
    "    \"Allocator fragmentation: the caching allocator's unused reserve depends on the " \
    "allocation order\"\n" \
    "  ],\n" \
    "  \"warnings\": [],\n" \
    "  \"assumptions\": []\n" \
    "}\n"
/* clang-format on */

static void assert_json(const lin_answer *answer, uint32_t top, const char *expected)
{
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_report_json(&text, answer, top);
    assert_false(text.failed);
    assert_string_equal(lin_text_data(&text), expected);
    lin_text_free(&text);
}

static void test_json(void **state)
{
    (void)state;
    lin_component two[2];
    two[0] = components[0];
    two[1] = components[6];
    lin_answer answer = llama();
    answer.components = two;
    answer.component_count = 2;
    assert_json(&answer, 0, JSON_HEAD JSON_TAIL);
    assert_json(&answer, 1, JSON_HEAD JSON_LARGEST JSON_TAIL);
}

static void find_once(lin_text *text, const char *needle)
{
    const char *first = strstr(lin_text_data(text), needle);
    assert_non_null(first);
    assert_null(strstr(first + 1, needle));
}

static void test_json_absent(void **state)
{
    (void)state;
    lin_answer answer = llama();
    answer.dtype = "";
    answer.role_free[LIN_ROLE_BATCH] = false;
    answer.role_value[LIN_ROLE_BATCH] = -1;
    answer.kv_dtype = "i8";
    answer.kv_paged = true;
    answer.has_plan = false;
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_report_json(&text, &answer, 0);
    find_once(&text, "\"dtype\": null");
    find_once(&text, "\"batch\": null");
    find_once(&text, "\"kv_dtype\": \"i8\"");
    find_once(&text, "\"kv_layout\": \"paged\"");
    find_once(&text, "\"allocation\": null");
    find_once(&text, "\"symbols\": {\n    \"cache\": 8192,");
    lin_text_free(&text);
}

/* ---- diagnostics ---- */

/* clang-format off */
static const char diagnostics_json[] =
    "{\n"
    "  \"version\": 1,\n"
    "  \"diagnostics\": [\n"
    "    {\n"
    "      \"code\": \"E2103\",\n"
    "      \"severity\": \"error\",\n"
    "      \"message\": \"tensor dtypes do not match\",\n"
    "      \"label\": \"this is f32\",\n"
    "      \"location\": {\n"
    "        \"file\": \"m.linnet\",\n"
    "        \"start\": {\n"
    "          \"line\": 2,\n"
    "          \"column\": 5,\n"
    "          \"offset\": 14\n"
    "        },\n"
    "        \"end\": {\n"
    "          \"line\": 2,\n"
    "          \"column\": 6,\n"
    "          \"offset\": 15\n"
    "        }\n"
    "      },\n"
    "      \"related\": [\n"
    "        {\n"
    "          \"label\": null,\n"
    "          \"location\": {\n"
    "            \"file\": \"m.linnet\",\n"
    "            \"start\": {\n"
    "              \"line\": 1,\n"
    "              \"column\": 1,\n"
    "              \"offset\": 0\n"
    "            },\n"
    "            \"end\": {\n"
    "              \"line\": 1,\n"
    "              \"column\": 9,\n"
    "              \"offset\": 8\n"
    "            }\n"
    "          }\n"
    "        }\n"
    "      ],\n"
    "      \"notes\": [\n"
    "        \"left operand has dtype bf16\"\n"
    "      ],\n"
    "      \"help\": []\n"
    "    },\n"
    "    {\n"
    "      \"code\": \"W3001\",\n"
    "      \"severity\": \"warning\",\n"
    "      \"message\": \"unused\",\n"
    "      \"label\": null,\n"
    "      \"location\": null,\n"
    "      \"related\": [],\n"
    "      \"notes\": [],\n"
    "      \"help\": [\n"
    "        \"remove it\"\n"
    "      ]\n"
    "    }\n"
    "  ],\n"
    "  \"summary\": {\n"
    "    \"errors\": 3,\n"
    "    \"warnings\": 1\n"
    "  }\n"
    "}\n";
/* clang-format on */

static void test_diagnostics(void **state)
{
    (void)state;
    lin_place_range places[2] = {
        { "m.linnet", 2, 5, 14, 2, 6, 15, "this is f32", "let x = a + b" },
        { "m.linnet", 1, 1, 0, 1, 9, 8, "", "fn f() {" },
    };
    const char *note = "left operand has dtype bf16", *help = "remove it";
    lin_diagnostic error = { .severity = LIN_SEVERITY_ERROR,
                             .code = "E2103",
                             .message = "tensor dtypes do not match",
                             .places = places,
                             .place_count = 2,
                             .notes = &note,
                             .note_count = 1 };
    lin_diagnostic warning = { .severity = LIN_SEVERITY_WARNING,
                               .code = "W3001",
                               .message = "unused",
                               .helps = &help,
                               .help_count = 1 };
    lin_diagnostic *first_items[] = { &error }, *second_items[] = { &warning };
    const lin_diagnostics first = { .list = { first_items, 1, 1 }, .error_count = 3 };
    const lin_diagnostics second = { .list = { second_items, 1, 1 }, .warning_count = 1 };
    const lin_diagnostics *lists[] = { &first, &second };

    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_report_diagnostics_json(&text, lists, 2);
    assert_string_equal(lin_text_data(&text), diagnostics_json);
    lin_text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_largest),
        cmocka_unit_test(test_text_warnings),
        cmocka_unit_test(test_text_devices),
        cmocka_unit_test(test_text_wide_names),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_absent),
        cmocka_unit_test(test_diagnostics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
