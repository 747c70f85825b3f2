/* SPDX-License-Identifier: MIT */

/* Configurations side by side: how rows are matched, what is refused and where, the two forms of
 * the answer. */

#include "comparison_columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TIME(seconds, verdict)                                                                    \
    "{\"version\": 1, \"device\": {\"name\": \"d\"}, \"time_model\": \"linnet\", "                \
    "\"configuration\": {\"model\": \"m\"}, \"throughput\": {\"tokens\": 100.0, "                 \
    "\"seconds\": " seconds                                                                       \
    ", \"tokens_per_second\": 50, \"compute_seconds\": 0.5, \"memory_seconds\": 0.25, "           \
    "\"communication_seconds\": 0, \"host_seconds\": 0, \"bubble\": 0.125, \"limit\": "           \
    "\"compute\"}, "                                                                              \
    "\"utilisation\": {\"model\": 0.5, \"hardware\": 0.25}, \"memory\": {\"expected_peak\": 30, " \
    "\"device\": 100" verdict "}}"
static const char timed[] = TIME("2.0", "");

/* The names of the rows of a kind, joined by ", ". */
static void assert_rows(const linnet_comparison *comparison, const char *kind, const char *expected)
{
    char names[512] = "";
    for (uint64_t i = 0; i < linnet_comparison_row_count(comparison); i++) {
        if (strcmp(linnet_comparison_row_kind(comparison, i), kind) != 0)
            continue;
        const size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", length > 0 ? ", " : "",
                 linnet_comparison_row_name(comparison, i));
    }
    assert_string_equal(names, expected);
}

/* ---- rows ---- */

static void test_rows(void **state)
{
    linnet_comparison *comparison = compare(plain, trained);
    (void)state;
    assert_rows(comparison, "setting",
                "model, batch, kv, bindings.H, training.clip, training.trainable, device_memory");
    assert_rows(comparison, "component",
                "Weights, Gradients, KV cache, Optimizer states, Fragmentation");
    assert_rows(comparison, "peak", "Graph peak, Allocator peak, Expected peak, Free, Verdict");
    assert_rows(comparison, "time", "");
    linnet_comparison_free(comparison);
}

static void test_values(void **state)
{
    linnet_comparison *comparison = compare(plain, trained);
    (void)state;
    const uint64_t batch = find(comparison, "setting", "batch");
    const uint64_t clip = find(comparison, "setting", "training.clip");
    const uint64_t paths = find(comparison, "setting", "training.trainable");
    const uint64_t gradients = find(comparison, "component", "Gradients");
    const uint64_t unknown = find(comparison, "component", "Fragmentation");
    assert_int_equal(linnet_comparison_integer(comparison, batch, 1), 4);
    assert_int_equal(linnet_comparison_row_differs(comparison, batch), 1);
    assert_null(linnet_comparison_row_unit(comparison, batch));
    assert_int_equal(linnet_comparison_is_known(comparison, clip, 0), 0);
    assert_int_equal(linnet_comparison_integer(comparison, clip, 1), 1);
    assert_string_equal(linnet_comparison_word(comparison, paths, 1), "a.*, 7");
    assert_null(linnet_comparison_word(comparison, paths, 0));
    /* What is not there takes nothing; what is not known is not 0. */
    assert_int_equal(linnet_comparison_is_known(comparison, gradients, 0), 1);
    assert_int_equal(linnet_comparison_integer(comparison, gradients, 0), 0);
    assert_int_equal(linnet_comparison_integer(comparison, gradients, 1), 512);
    assert_string_equal(linnet_comparison_row_unit(comparison, gradients), "bytes");
    assert_int_equal(linnet_comparison_is_known(comparison, unknown, 0), 0);
    assert_int_equal(linnet_comparison_row_differs(comparison, unknown), 0);
    /* A cache of 0 bytes and none are the same. */
    assert_int_equal(
        linnet_comparison_row_differs(comparison, find(comparison, "component", "KV cache")), 0);
    assert_null(linnet_comparison_column_verdict(comparison, 0));
    assert_string_equal(linnet_comparison_column_verdict(comparison, 1), "OK");
    linnet_comparison_free(comparison);
}

static void test_out_of_range(void **state)
{
    linnet_comparison *comparison = compare(plain, trained);
    const uint64_t rows = linnet_comparison_row_count(comparison);
    (void)state;
    assert_int_equal(linnet_comparison_column_count(comparison), 2);
    assert_string_equal(linnet_comparison_column_label(comparison, 1), "second");
    assert_null(linnet_comparison_column_label(comparison, 2));
    assert_null(linnet_comparison_column_verdict(comparison, 2));
    assert_null(linnet_comparison_row_name(comparison, rows));
    assert_null(linnet_comparison_row_kind(comparison, rows));
    assert_null(linnet_comparison_row_unit(comparison, rows));
    assert_int_equal(linnet_comparison_row_differs(comparison, rows), 0);
    assert_int_equal(linnet_comparison_is_known(comparison, 0, 2), 0);
    assert_int_equal(linnet_comparison_integer(comparison, rows, 0), 0);
    assert_true(linnet_comparison_number(comparison, 0, 2) <= 0);
    assert_null(linnet_comparison_word(comparison, rows, 0));
    linnet_comparison_free(comparison);
    linnet_comparison_free(NULL);
}

static void test_equal_names(void **state)
{
    static const char one[] = MEMORY("", COMPONENT("X", "1") ", " COMPONENT("X", "2"), "1", "");
    static const char two[] = MEMORY("", COMPONENT("X", "1") ", " COMPONENT("Y", "9"), "1", "");
    linnet_comparison *comparison = compare(one, two);
    (void)state;
    assert_rows(comparison, "component", "X, Y, X");
    assert_int_equal(
        linnet_comparison_integer(comparison, find(comparison, "peak", "Graph peak"), 1), 1);
    linnet_comparison_free(comparison);
}

static void test_stages(void **state)
{
    static const char two[] =
        "{\"version\": 1, \"configuration\": {}, \"components\": [], \"recompute\": 0.5, "
        "\"devices\": [{\"name\": \"stage 0\", \"expected_peak\": 5}, {\"name\": \"stage 1\", "
        "\"expected_peak\": 7}], \"peak\": {\"graph\": 1, \"allocator\": 2, \"expected\": 7}}";
    linnet_comparison *comparison = compare(plain, two);
    (void)state;
    assert_rows(comparison, "device", "stage 0, stage 1");
    const uint64_t stage = find(comparison, "device", "stage 1");
    assert_int_equal(linnet_comparison_is_known(comparison, stage, 0), 0);
    assert_int_equal(linnet_comparison_integer(comparison, stage, 1), 7);
    const uint64_t share = find(comparison, "peak", "Recomputation");
    assert_string_equal(linnet_comparison_row_unit(comparison, share), "share");
    assert_true(fabs(linnet_comparison_number(comparison, share, 1) - 0.5) < 1e-12);
    linnet_comparison_free(comparison);
}

static void test_fit(void **state)
{
    char fit[1024];
    (void)state;
    snprintf(fit, sizeof fit,
             "{\"target\": \"batch\", \"value\": 4, \"budget\": 100, \"headroom\": 70, "
             "\"limited_by\": \"memory\", \"result\": %s}",
             trained);
    linnet_comparison *comparison = compare(plain, fit);
    assert_rows(comparison, "peak",
                "Graph peak, Allocator peak, Expected peak, Free, Verdict, Budget, Headroom");
    assert_int_equal(linnet_comparison_integer(comparison, find(comparison, "peak", "Headroom"), 1),
                     70);
    linnet_comparison_free(comparison);
}

/* The best layout of a search has the budget beside it, and no headroom. */
static void test_layouts(void **state)
{
    char layouts[1024];
    (void)state;
    snprintf(layouts, sizeof layouts,
             "{\"version\": 1, \"target\": \"throughput\", \"time_model\": \"linnet\", "
             "\"budget\": 100, \"result\": %s}",
             trained);
    linnet_comparison *comparison = compare(plain, layouts);
    assert_rows(comparison, "peak",
                "Graph peak, Allocator peak, Expected peak, Free, Verdict, Budget");
    linnet_comparison_free(comparison);
}

static void test_times(void **state)
{
    linnet_comparison *comparison =
        compare(timed, TIME("1.5", ", \"free\": -5, \"fits\": false, \"verdict\": \"OOM\""));
    (void)state;
    assert_rows(comparison, "setting", "device, time_model, model, device_memory");
    assert_rows(comparison, "peak", "Expected peak, Free, Verdict");
    assert_rows(comparison, "time",
                "Step, Tokens, Tokens per second, Limited by, Compute, Memory, Communication, "
                "Waiting for the host, Bubble, Model FLOPs utilisation, Hardware FLOPs "
                "utilisation");
    const uint64_t step = find(comparison, "time", "Step");
    assert_string_equal(linnet_comparison_row_unit(comparison, step), "seconds");
    assert_true(fabs(linnet_comparison_number(comparison, step, 1) - 1.5) < 1e-12);
    assert_int_equal(linnet_comparison_integer(comparison, find(comparison, "peak", "Free"), 1),
                     -5);
    assert_string_equal(linnet_comparison_column_verdict(comparison, 1), "OOM");
    linnet_comparison_free(comparison);
}

static void test_lists(void **state)
{
    char list[2048];
    linnet_comparison *comparison = new_comparison();
    (void)state;
    snprintf(list, sizeof list, "[%s, %s]", plain, trained);
    add(comparison, list, "runs.json");
    assert_int_equal(linnet_comparison_column_count(comparison), 2);
    assert_string_equal(linnet_comparison_column_label(comparison, 0), "runs.json[0]");
    assert_string_equal(linnet_comparison_column_label(comparison, 1), "runs.json[1]");
    linnet_comparison_free(comparison);
}

/* ---- what is refused ---- */

static const struct refusal {
    const char *name, *text;
    const char *at;      /* the text from the place on that is named; NULL: none is */
    const char *message; /* part of it */
} refusals[] = {
    { "no JSON", "{\"version\": 1,\n}", "}", "expected" },
    { "an empty text", "", "", "the text ends" },
    { "a key that stands there twice", "{\"peak\": 1,\n \"peak\": 2}", "\"peak\": 2}",
      "duplicate key `peak`" },
    { "a word", "\"memory\"", "\"memory\"", "this is no document" },
    { "another document", "{\"models\": []}", "{\"models", "this is no document" },
    { "an empty list", "[]", "[]", "an empty list" },
    { "a list of lists", "[\n []]", "[]]", "`[0]` is no document" },
    { "another version", "{\"version\": 2,\n\"peak\": {}}", "2,", "`version` is 2, and version 1" },
    { "a version that is a word", "{\"version\": \"1\", \"peak\": {}}", "\"1\"",
      "`version` must be a whole number, not a string" },
    { "no version", "\n{\"peak\": {}}", "{\"peak", "`version` is missing" },
    { "no settings", "{\"version\": 1, \"peak\": {}}", "{\"version", "`configuration` is missing" },
    { "settings that are a list", "{\"version\": 1, \"peak\": {}, \"configuration\": []}", "[]",
      "`configuration` must be an object, not an array" },
    { "a list of objects among the settings", MEMORY("\"a\": [1, {\"b\": 1}]", "", "1", ""),
      "{\"b\"", "`configuration.a[1]` must be a word or a whole number, not an object" },
    { "settings in settings in settings",
      MEMORY("\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"b\":1}}}}}}}}", "", "1",
             ""),
      "{\"b\"", "`configuration.a.a.a.a.a.a.a.a` is nested deeper" },
    { "an escaped key on the way", MEMORY("\"a\\u0062\": {\"c\": [[1]]}", "", "1", ""), "[1]]",
      "`configuration.ab.c[0]` must be" },
    { "no components", "{\"version\": 1, \"configuration\": {}, \"peak\": {}}", "{\"version",
      "`components` is missing" },
    { "a component that is a number", MEMORY("", "7", "1", ""), "7",
      "`components[0]` must be an object, not an integer" },
    { "a component without bytes", MEMORY("", COMPONENT("A", "1") ", {\"name\": \"B\"}", "1", ""),
      "{\"name\": \"B\"}", "`components[1].bytes` is missing" },
    { "a component without a name", MEMORY("", "{\"bytes\": 1}", "1", ""), "{\"bytes",
      "`components[0].name` is missing" },
    { "bytes that are a word", MEMORY("", COMPONENT("A", "\"1\""), "1", ""), "\"1\"",
      "`components[0].bytes` must be a whole number of bytes, not a string" },
    { "half a byte", MEMORY("", COMPONENT("A", "0.5"), "1", ""), "0.5",
      "`components[0].bytes` must be a whole number of bytes, not a number" },
    { "fewer than no bytes", MEMORY("", COMPONENT("A", "-1"), "1", ""), "-1",
      "`components[0].bytes` must not be negative" },
    { "bytes past 64 bits", MEMORY("", COMPONENT("A", "9223372036854775808"), "1", ""),
      "9223372036854775808", "does not fit in 64 bits" },
    { "a peak that is not known", MEMORY("", "", "null", ""), "null, \"allocator",
      "`peak.graph` must be a whole number of bytes, not null" },
    { "a verdict that is a word", MEMORY("", "", "1", ", \"verdict\": \"OK\""), "\"OK\"",
      "`verdict` must be an object, not a string" },
    { "a verdict of no device", MEMORY("", "", "1", ", \"verdict\": {\"free\": 1}"), "{\"free",
      "`verdict.device_memory` is missing" },
    { "a share that is a word",
      "{\"version\": 1, \"configuration\": {}, \"components\": [], \"devices\": [], \"peak\": "
      "{\"graph\": 1, \"allocator\": 1, \"expected\": 1}, \"recompute\": \"x\"}",
      "\"x\"", "`recompute` must be a number, not a string" },
    { "no size fits", "{\"target\": \"batch\", \"result\": null}", "null",
      "`result` is null: nothing fits there" },
    { "a search without a result", "{\"target\": \"batch\"}", "{\"target", "`result` is missing" },
    { "a time below 0", TIME("-1", ""), "-1", "`throughput.seconds` must not be negative" },
    { "a time of ages", TIME("1e300", ""), "1e300", "`throughput.seconds` is larger than any" },
    { "a time past what a number can be", TIME("1e999", ""), "1e999", "too large" },
    { "a time that is not known", TIME("null", ""), "null",
      "`throughput.seconds` must be a number, not null" },
    { "a time beside memory", timed, NULL,
      "`base` is an answer of `linnet memory` and `x.json` one of `linnet time`" },
};

/* Line and column of the first place that begins so. */
static void assert_place(const linnet_error *err, const char *text, const char *begins)
{
    uint32_t line = 1, column = 1;
    const char *end = strstr(text, begins);
    assert_non_null(end);
    for (; text != end; text++) {
        column = *text == '\n' ? 1 : column + 1;
        line += *text == '\n';
    }
    assert_int_equal(err->line, line);
    assert_int_equal(err->column, column);
    assert_string_equal(err->source, "x.json");
}

static void test_refusal(void **state)
{
    const struct refusal *row = *state;
    const linnet_status expected = row->at != NULL ? LINNET_ERROR_FORMAT : LINNET_ERROR_ARGUMENT;
    linnet_comparison *comparison = new_comparison();
    linnet_error err = { 0 };
    add(comparison, plain, "base");
    const uint64_t rows = linnet_comparison_row_count(comparison);
    assert_int_equal(
        linnet_comparison_add_json(comparison, row->text, strlen(row->text), "x.json", &err),
        expected);
    if (strstr(err.message, row->message) == NULL)
        fail_msg("%s", err.message);
    if (row->at != NULL)
        assert_place(&err, row->text, row->at);
    /* Nothing was added. */
    assert_int_equal(linnet_comparison_column_count(comparison), 1);
    assert_int_equal(linnet_comparison_row_count(comparison), rows);
    add(comparison, trained, "good");
    linnet_comparison_free(comparison);
}

/* `open` many times, what stands in the middle, `close` as often. */
static char *nest(uint64_t depth, const char *open, const char *middle, const char *close)
{
    const size_t a = strlen(open), b = strlen(middle), c = strlen(close);
    char *text = malloc(depth * (a + c) + b + 1), *at = text;
    assert_non_null(text);
    for (uint64_t i = 0; i < depth; i++, at += a)
        memcpy(at, open, a);
    memcpy(at, middle, b);
    at += b;
    for (uint64_t i = 0; i < depth; i++, at += c)
        memcpy(at, close, c);
    *at = '\0';
    return text;
}

static const struct deep {
    const char *name, *open, *middle, *close, *message;
    uint64_t depth;
} deep_texts[] = {
    { "a tower of lists", "[", "1", "]", "nested deeper than 2048 levels", 100000 },
    { "a tower of objects", "{\"a\":", "1", "}", "nested deeper than 2048 levels", 100000 },
    { "a tower within the limit", "[", "1", "]", "`[0]` is no document", 2000 },
    { "more than 64 configurations", "",
      "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
      "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
      "", "more than 64", 0 },
};

static void test_deep(void **state)
{
    const struct deep *row = *state;
    char *text = nest(row->depth, row->open, row->middle, row->close);
    linnet_comparison *comparison = new_comparison();
    linnet_error err = { 0 };
    assert_true(linnet_comparison_add_json(comparison, text, strlen(text), "x", &err) < 0);
    if (strstr(err.message, row->message) == NULL)
        fail_msg("%s", err.message);
    linnet_comparison_free(comparison);
    free(text);
}

static void test_many(void **state)
{
    char *list = nest(1001, "1,", "1", "");
    const size_t room = strlen(list) + 256;
    char *text = malloc(room);
    linnet_comparison *comparison = new_comparison();
    linnet_error err = { 0 };
    (void)state;
    assert_non_null(text);
    snprintf(text, room, "{\"version\": 1, \"configuration\": {}, \"components\": [%s]}", list);
    assert_int_equal(linnet_comparison_add_json(comparison, text, strlen(text), "x", &err),
                     LINNET_ERROR_FORMAT);
    assert_non_null(strstr(err.message, "`components` holds too much: at most 1000"));
    linnet_comparison_free(comparison);
    free(text);
    free(list);
}

/* ---- documents ---- */

static void test_text(void **state)
{
    static const char expected[] =
        "A  first\n"
        "B  second\n"
        "\n"
        "                              A          B\n"
        "batch                         1          4\n"
        "training.clip                 -        yes\n"
        "training.trainable            -     a.*, 7\n"
        "device_memory                 -      100 B\n"
        "\n"
        "Gradients                     -      512 B     +512 B\n"
        "Optimizer states       4.00 KiB   1.00 KiB  -3.00 KiB  -75.0 %\n"
        "\n"
        "Graph peak                 10 B       10 B\n"
        "Expected peak              30 B       30 B\n"
        "Free                          -       70 B\n"
        "Verdict                       -         OK\n";
    linnet_comparison *comparison = compare(plain, trained);
    linnet_text *text = NULL;
    (void)state;
    assert_int_equal(linnet_comparison_to_text(comparison, 0, &text, NULL), LINNET_OK);
    assert_string_equal(linnet_text_data(text), expected);
    linnet_text_free(text);
    assert_int_equal(linnet_comparison_to_text(comparison, 1, &text, NULL), LINNET_OK);
    assert_non_null(
        strstr(linnet_text_data(text), "\nKV cache                    0 B          -\n"));
    assert_non_null(strstr(linnet_text_data(text), "\nFragmentation           unknown"));
    linnet_text_free(text);
    linnet_comparison_free(comparison);
}

static void test_json(void **state)
{
    linnet_comparison *comparison = compare(timed, TIME("1.5", ""));
    linnet_text *text = NULL;
    (void)state;
    assert_int_equal(linnet_comparison_to_json(comparison, &text, NULL), LINNET_OK);
    assert_non_null(strstr(linnet_text_data(text), "{\n"
                                                   "  \"version\": 1,\n"
                                                   "  \"configurations\": [\n"
                                                   "    \"first\",\n"
                                                   "    \"second\"\n"
                                                   "  ],\n"
                                                   "  \"rows\": [\n"));
    assert_non_null(strstr(linnet_text_data(text), "    {\n"
                                                   "      \"kind\": \"time\",\n"
                                                   "      \"name\": \"Step\",\n"
                                                   "      \"unit\": \"seconds\",\n"
                                                   "      \"differs\": true,\n"
                                                   "      \"values\": [\n"
                                                   "        2.0,\n"
                                                   "        1.5\n"
                                                   "      ],\n"
                                                   "      \"changes\": [\n"
                                                   "        0.0,\n"
                                                   "        -0.5\n"
                                                   "      ],\n"
                                                   "      \"ratios\": [\n"
                                                   "        0.0,\n"
                                                   "        -0.25\n"
                                                   "      ]\n"
                                                   "    },\n"));
    linnet_text_free(text);
    linnet_comparison_free(comparison);
}

/* The largest numbers that are accepted, and words that a terminal would obey. */
static void test_extremes(void **state)
{
    linnet_comparison *comparison =
        compare(MEMORY("\"a\": \"\\u001b[31m\"", COMPONENT("A", "1"), "0", ""),
                MEMORY("\"a\": 1e308", COMPONENT("A", "9223372036854775807"), "9223372036854775807",
                       ", \"verdict\": {\"device_memory\": 1, \"free\": -9223372036854775808, "
                       "\"verdict\": \"OOM\"}"));
    linnet_text *text = NULL;
    (void)state;
    add(comparison,
        MEMORY("", "", "1",
               ", \"verdict\": {\"device_memory\": 1, \"free\": 9223372036854775807, \"verdict\": "
               "\"a\"}"),
        "third");
    assert_int_equal(linnet_comparison_to_text(comparison, 1, &text, NULL), LINNET_OK);
    assert_null(strchr(linnet_text_data(text), '\x1b'));
    assert_non_null(strstr(linnet_text_data(text), "> 999900 %"));
    linnet_text_free(text);
    assert_int_equal(linnet_comparison_to_json(comparison, &text, NULL), LINNET_OK);
    linnet_text_free(text);
    linnet_comparison_free(comparison);
}

static void test_too_few(void **state)
{
    linnet_comparison *comparison = new_comparison();
    linnet_text *text = NULL;
    linnet_error err = { 0 };
    (void)state;
    add(comparison, plain, "alone");
    assert_int_equal(linnet_comparison_to_text(comparison, 0, &text, &err), LINNET_ERROR_ARGUMENT);
    assert_non_null(strstr(err.message, "two configurations"));
    assert_int_equal(linnet_comparison_to_json(comparison, &text, &err), LINNET_ERROR_ARGUMENT);
    assert_null(text);
    linnet_comparison_free(comparison);
}

static void test_letters(void **state)
{
    linnet_comparison *comparison = new_comparison();
    linnet_text *text = NULL;
    (void)state;
    for (int i = 0; i < 28; i++)
        add(comparison, plain, "same");
    assert_int_equal(linnet_comparison_to_text(comparison, 0, &text, NULL), LINNET_OK);
    assert_non_null(strstr(linnet_text_data(text), "\nZ   same\nAA  same\nAB  same\n"));
    assert_non_null(strstr(linnet_text_data(text), "The settings are the same.\n"));
    linnet_text_free(text);
    linnet_comparison_free(comparison);
}

int main(void)
{
    static const struct CMUnitTest fixed[] = {
        { .name = "rows keep the order of the reports", .test_func = test_rows },
        { .name = "values, absent and unknown ones", .test_func = test_values },
        { .name = "indexes out of range", .test_func = test_out_of_range },
        { .name = "two components of one name", .test_func = test_equal_names },
        { .name = "the stages of a pipeline", .test_func = test_stages },
        { .name = "the result of a search", .test_func = test_fit },
        { .name = "the best layout of a search", .test_func = test_layouts },
        { .name = "two times", .test_func = test_times },
        { .name = "a list of documents", .test_func = test_lists },
        { .name = "more than 1000 components", .test_func = test_many },
        { .name = "the text", .test_func = test_text },
        { .name = "the JSON", .test_func = test_json },
        { .name = "the largest numbers and words for terminals", .test_func = test_extremes },
        { .name = "one configuration", .test_func = test_too_few },
        { .name = "more columns than letters", .test_func = test_letters },
    };
    enum {
        FIXED = sizeof fixed / sizeof fixed[0],
        REFUSALS = sizeof refusals / sizeof refusals[0],
        DEEP = sizeof deep_texts / sizeof deep_texts[0]
    };
    struct CMUnitTest tests[FIXED + REFUSALS + DEEP];
    size_t count = 0;
    for (size_t i = 0; i < FIXED; i++)
        tests[count++] = fixed[i];
    for (size_t i = 0; i < REFUSALS; i++)
        tests[count++] = (struct CMUnitTest){ .name = refusals[i].name,
                                              .test_func = test_refusal,
                                              .initial_state = (void *)(uintptr_t)&refusals[i] };
    for (size_t i = 0; i < DEEP; i++)
        tests[count++] = (struct CMUnitTest){ .name = deep_texts[i].name,
                                              .test_func = test_deep,
                                              .initial_state = (void *)(uintptr_t)&deep_texts[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
