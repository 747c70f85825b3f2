/* SPDX-License-Identifier: MIT */

/* Layouts in words, as a table whose columns are counted, and as JSON: made-up values, so that
 * nothing is searched here. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/report.h"

#include "limited_host.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static const struct name_case {
    const char *words;
    lin_job_layout layout;
} name_cases[] = {
    { "single", { .parallel = { .tensor = 1 }, .microbatches = 1 } },
    { "single", { .microbatches = 1, .checkpoint = "none" } },
    { "single, checkpoint block", { .microbatches = 1, .checkpoint = "block" } },
    { "single, accumulate 4", { .accumulation = 4, .checkpoint = "none" } },
    { "4 replicas", { .parallel = { .replicas = 4 }, .checkpoint = "none" } },
    { "TP 2, 2 replicas", { .parallel = { .tensor = 2, .replicas = 2 } } },
    { "TP 8+SP", { .parallel = { .tensor = 8, .sequence = true } } },
    { "PP 2 x 8 1f1b, 2 replicas",
      { .parallel = { .pipeline = 2, .replicas = 2 }, .microbatches = 8, .schedule = "1f1b" } },
    { "PP 4 x 16 interleaved-1f1b, VPP 2",
      { .parallel = { .pipeline = 4 },
        .microbatches = 16,
        .schedule = "interleaved-1f1b",
        .virtual_stages = 2 } },
    { "PP 4 x 16 zbv",
      { .parallel = { .pipeline = 4 },
        .microbatches = 16,
        .schedule = "zbv",
        .virtual_stages = 2 } },
    { "CP 4, FSDP 8", { .parallel = { .context = 4, .shards = 8, .zero = 3 } } },
    { "FSDP 8, 2 replicas", { .parallel = { .shards = 8, .replicas = 2 } } },
    { "ZeRO-1 over 8", { .parallel = { .shards = 8, .zero = 1 } } },
    { "ZeRO-2 over 8", { .parallel = { .shards = 8, .zero = 2 } } },
    { "TP 2, CP 2, PP 2 x 4 1f1b, EP 4, FSDP 4, 2 replicas, checkpoint every:2",
      { .parallel = { 2, 2, 4, 4, 2, 2, .zero = 3 },
        .microbatches = 4,
        .accumulation = 1,
        .schedule = "1f1b",
        .checkpoint = "every:2" } },
};

static void test_name(void **state)
{
    const struct name_case *row = *state;
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_layout_name(&text, &row->layout);
    assert_string_equal(lin_text_data(&text), row->words);
    lin_text_free(&text);
}

/* Words that stand behind others begin as if nothing stood before them. */
static void test_name_appends(void **state)
{
    const lin_job_layout layout = { .parallel = { .tensor = 2, .replicas = 2 } };
    lin_text text;
    (void)state;
    lin_text_init(&text, &lin_default_allocator);
    lin_text_add(&text, "best: ");
    lin_layout_name(&text, &layout);
    assert_string_equal(lin_text_data(&text), "best: TP 2, 2 replicas");
    lin_text_free(&text);
}

/* ---- made-up layouts ---- */

#define GIB(x) ((int64_t)((x)*1073741824.0))
#define RUNS(words, length, rate, why, peak)                                   \
    {                                                                          \
        .name = words, .state = LIN_LAYOUT_RUNS, .reason = "", .size = length, \
        .expected_peak = peak, .time = {                                       \
            .tokens_per_second = rate,                                         \
            .limit = LIN_LIMIT_##why                                           \
        }                                                                      \
    }
#define DROPPED(words, what, why, peak)                                                 \
    {                                                                                   \
        .name = words, .state = LIN_LAYOUT_##what, .reason = why, .expected_peak = peak \
    }
#define CLAUSES "the model's `where` clauses: none fits"

static const lin_layout_result sample[] = {
    RUNS("PP 2 x 8 1f1b, 2 replicas", 8192, 193607.2, COMPUTE, GIB(8.29)),
    RUNS("4 replicas", 2048, 187051, COMPUTE, GIB(11.48)),
    RUNS("PP 4 x 16 1f1b", 16384, 182332.6, COMPUTE, GIB(6.20)),
    DROPPED("TP 2, 2 replicas", CLAUSES, CLAUSES, -1),
};

static lin_layouts make(const lin_layout_result *items, uint32_t count)
{
    return (lin_layouts){
        .model = "TinyLlama",
        .entry = "loss_packed",
        .device = "h100-80gb",
        .device_source = "measured: H100 SXM, PyTorch 2.14.1+cu130",
        .training = true,
        .devices = 4,
        .budget = GIB(79),
        .space = LIN_SPACE_PUBLISHED,
        .role = LIN_ROLE_CONTEXT,
        .items = items,
        .count = count,
        .considered = count,
    };
}

#define HEAD "Predicted throughput on 4 x h100-80gb (measured: H100 SXM, PyTorch 2.14.1+cu130)\n\n"
#define COLUMNS \
    "layout                                     length     tokens/s limit                peak\n"
#define FIRST \
    "PP 2 x 8 1f1b, 2 replicas                    8192      193,607 compute          8.29 GiB\n"
#define SECOND \
    "4 replicas                                   2048      187,051 compute         11.48 GiB\n"
#define THIRD \
    "PP 4 x 16 1f1b                              16384      182,333 compute          6.20 GiB\n"
#define REFUSED                                                                                    \
    "TP 2, 2 replicas                                             - the model's `where` clauses: " \
    "none fits\n"

/* ---- the text ---- */

static const lin_layout_result none_fits[] = {
    DROPPED("4 replicas", TOO_LARGE, "memory: none fits", GIB(100)),
    DROPPED("FSDP 4", TOO_LARGE, "memory: none fits", GIB(90.5)),
    DROPPED("TP 2, 2 replicas", CLAUSES, CLAUSES, -1),
};
#define NONE_FITS                                                                        \
    "4 replicas                                                   - memory: none fits\n" \
    "FSDP 4                                                       - memory: none fits\n" REFUSED
#define NONE_REASONS \
    "\nDropped, by reason:\n         2  do not fit the budget\n         1  " CLAUSES "\n"
#define LEAST "\nThe least is needed by FSDP 4: 90.50 GiB of a 79.00 GiB budget.\n"

static const lin_layout_result slower[] = {
    RUNS("4 replicas", 2048, 187051, HOST, GIB(11.48)),
    DROPPED("PP 4 x 16 1f1b", SLOWER, "at most 1,000 tokens/s", -1),
    DROPPED("PP 4 x 8 1f1b", SLOWER, "at most 900 tokens/s", -1),
    DROPPED("TP 2, 2 replicas", CLAUSES, CLAUSES, -1),
};

static const struct text_case {
    const char *name;
    const lin_layout_result *items;
    uint32_t count;
    uint64_t considered;
    lin_layout_space space;
    bool explain;
    const char *expect;
} text_cases[] = {
    { "the published sample", sample, 4, 4, LIN_SPACE_PUBLISHED, false,
      HEAD COLUMNS FIRST SECOND THIRD REFUSED },
    { "what does not run is not listed unasked", sample, 4, 4, LIN_SPACE_FULL, false,
      HEAD COLUMNS FIRST SECOND THIRD "\n1 more layout considered: slower, too large or refused; "
                                      "`--explain` lists them.\n" },
    { "a limit", sample, 2, 300, LIN_SPACE_FULL, false,
      HEAD COLUMNS FIRST SECOND "\n298 more layouts considered: slower, too large or refused; "
                                "`--explain` lists them.\n" },
    { "all that there is", sample, 2, 2, LIN_SPACE_FULL, false, HEAD COLUMNS FIRST SECOND },
    { "explained", sample, 4, 4, LIN_SPACE_FULL, true,
      HEAD COLUMNS FIRST SECOND THIRD "\nDropped, by reason:\n         1  " CLAUSES
                                      "\n\n" REFUSED },
    { "what has figures of its own is one group", slower, 4, 4, LIN_SPACE_FULL, true,
      HEAD COLUMNS "4 replicas                                   2048      187,051 host            "
                   "11.48 GiB\n"
                   "\nDropped, by reason:\n         2  slower than those wanted, by a bound\n"
                   "         1  " CLAUSES "\n\n"
                   "PP 4 x 16 1f1b                                               - at most 1,000 "
                   "tokens/s\n"
                   "PP 4 x 8 1f1b                                                - at most 900 "
                   "tokens/s\n" REFUSED },
    { "nothing runs", none_fits, 3, 5, LIN_SPACE_FULL, false,
      HEAD "No layout runs.\n\n" COLUMNS NONE_FITS
           "\n2 more layouts considered: slower, too large or refused; `--explain` lists them.\n" },
    { "nothing runs, of the published space", none_fits, 3, 3, LIN_SPACE_PUBLISHED, false,
      HEAD "No layout runs.\n\n" COLUMNS NONE_FITS LEAST },
    { "nothing runs, explained", none_fits, 3, 3, LIN_SPACE_FULL, true,
      HEAD "No layout runs.\n" NONE_REASONS "\n" COLUMNS NONE_FITS LEAST },
    { "no layouts at all", NULL, 0, 0, LIN_SPACE_FULL, false, HEAD "No layout runs.\n" },
};

static void test_text(void **state)
{
    const struct text_case *row = *state;
    lin_layouts layouts = make(row->items, row->count);
    lin_text text;
    layouts.space = row->space;
    layouts.considered = row->considered;
    lin_text_init(&text, &lin_default_allocator);
    lin_report_layouts_text(&text, &layouts, row->explain);
    assert_string_equal(lin_text_data(&text), row->expect);
    lin_text_free(&text);
}

/* ---- columns, by their positions ---- */

static const struct column_case {
    const char *name;
    lin_layout_result item;
    int size_end, tokens_end, limit_at, peak_end;
} column_cases[] = {
    { "a short name", RUNS("single", 1, 5, MEMORY, 17), 49, 62, 63, 88 },
    { "40 characters",
      RUNS("1234567890123456789012345678901234567890", 12345678, 1e8, COMMUNICATION, GIB(1023.99)),
      49, 62, 63, 88 },
    { "43 characters move every column by 3",
      RUNS("1234567890123456789012345678901234567890123", 8192, 7, HOST, GIB(5)), 52, 65, 66, 91 },
    { "60 characters move every column by 20",
      RUNS("123456789012345678901234567890123456789012345678901234567890", 8192, 123456, COMPUTE,
           GIB(5)),
      69, 82, 83, 108 },
    { "111 characters move their row alone",
      RUNS("12345678901234567890123456789012345678901234567890123456789012345678901234567890"
           "1234567890123456789012345678901",
           8192, 123456, COMPUTE, GIB(5)),
      116, 124, 125, 141 },
    { "a size of nine digits moves itself",
      RUNS("1234567890123456789012345678901234567890", 123456789, 1e3, COMPUTE, GIB(5)), 50, 62, 63,
      88 },
};

/* The position after the n-th word behind the name. */
static int word_end(const char *line, const char *name, int n)
{
    const char *at = line + strlen(name);
    for (int i = 0; i < n; i++) {
        at += strspn(at, " ");
        at += strcspn(at, " \n");
    }
    return (int)(at - line);
}

static void test_columns(void **state)
{
    const struct column_case *row = *state;
    lin_layouts layouts = make(&row->item, 1);
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_report_layouts_text(&text, &layouts, false);
    const char *line = strstr(lin_text_data(&text), row->item.name);
    assert_non_null(line);
    assert_int_equal(word_end(line, row->item.name, 1), row->size_end);
    assert_int_equal(word_end(line, row->item.name, 2), row->tokens_end);
    const char *limit = lin_limit_name(row->item.time.limit);
    assert_memory_equal(line + row->limit_at, limit, strlen(limit));
    assert_int_equal(strcspn(line, "\n"), row->peak_end);
    lin_text_free(&text);
}

static void test_reason_column(void **state)
{
    static const lin_layout_result long_one = DROPPED(
        "12345678901234567890123456789012345678901234567890123456789012345", REFUSED, "why", -1);
    lin_layouts layouts = make(&sample[3], 1);
    lin_text text;
    (void)state;
    lin_text_init(&text, &lin_default_allocator);
    lin_report_layouts_text(&text, &layouts, false);
    const char *line = strstr(lin_text_data(&text), COLUMNS) + strlen(COLUMNS);
    assert_int_equal(line[61], '-');
    assert_int_equal(strstr(line, CLAUSES) - line, 63);
    lin_text_clear(&text);
    layouts.items = &long_one;
    lin_report_layouts_text(&text, &layouts, false);
    line = strstr(lin_text_data(&text), long_one.name);
    assert_non_null(line);
    assert_int_equal(line[61 + 25], '-');
    assert_int_equal(strstr(line, "why\n") - line, 63 + 25);
    lin_text_free(&text);
}

static void test_head(void **state)
{
    lin_layouts layouts = make(sample, 1);
    lin_text text;
    (void)state;
    layouts.device_source = "";
    layouts.role = LIN_ROLE_BATCH;
    lin_text_init(&text, &lin_default_allocator);
    lin_report_layouts_text(&text, &layouts, false);
    static const char head[] = "Predicted throughput on 4 x h100-80gb\n\nlayout                    "
                               "                  batch     tokens/s";
    assert_memory_equal(lin_text_data(&text), head, sizeof head - 1);
    lin_text_free(&text);
}

/* More reasons than there are groups of. */
static void test_many_reasons(void **state)
{
    enum { MANY = 100 };
    static lin_layout_result items[MANY];
    static char reasons[MANY][16];
    lin_text text;
    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(reasons[i], sizeof reasons[i], "reason %d", i);
        items[i] = (lin_layout_result)DROPPED("single", REFUSED, "", -1);
        items[i].reason = reasons[i];
    }
    lin_layouts layouts = make(items, MANY);
    lin_text_init(&text, &lin_default_allocator);
    lin_report_layouts_text(&text, &layouts, true);
    assert_non_null(
        strstr(lin_text_data(&text), "        36  other reasons\n         1  reason 0\n"));
    assert_null(strstr(lin_text_data(&text), "  reason 64\n"));
    lin_text_free(&text);
}

/* ---- JSON ---- */

typedef struct document {
    lin_text text;
    lin_arena arena;
    const lin_json *root;
} document;

static void read_document(document *d)
{
    linnet_error err = { 0 };
    lin_arena_init(&d->arena, &lin_default_allocator);
    if (lin_json_read("layouts", lin_text_data(&d->text), d->text.length, false, &d->arena,
                      &d->root, &err) != LINNET_OK)
        fail_msg("%s at %u:%u", err.message, err.line, err.column);
}

static void free_document(document *d)
{
    lin_arena_free(&d->arena);
    lin_text_free(&d->text);
}

static const lin_json *at(const lin_json *value, const char *key)
{
    const lin_json *found = lin_json_get(value, key);
    if (found == NULL)
        fail_msg("no `%s`", key);
    return found;
}

static void assert_keys(const lin_json *object, const char *expect)
{
    char keys[512] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < object->count; i++)
        used += (size_t)snprintf(keys + used, sizeof keys - used, "%s%s", i > 0 ? " " : "",
                                 object->keys[i]);
    assert_string_equal(keys, expect);
}

static void test_json(void **state)
{
    lin_layout_result items[2] = { sample[0], sample[3] };
    items[0].layout = (lin_job_layout){ .parallel = { 1, 1, 1, 1, 2, 2, .zero = 3 },
                                        .schedule = "1f1b",
                                        .virtual_stages = 1,
                                        .microbatches = 8,
                                        .accumulation = 1,
                                        .checkpoint = "none" };
    items[1].layout.parallel.tensor = 2;
    lin_layouts layouts = make(items, 2);
    static const char *const assumptions[] = { "one thing" };
    document d;
    (void)state;
    layouts.assumptions = assumptions;
    layouts.assumption_count = 1;
    lin_text_init(&d.text, &lin_default_allocator);
    lin_report_layouts_json(&d.text, &layouts, NULL, 0);
    read_document(&d);
    assert_keys(d.root,
                "version device devices target model entry training time_model space budget "
                "size_of size_fixed global_batch considered candidates dropped result "
                "assumptions");
    assert_string_equal(at(at(d.root, "device"), "name")->text, "h100-80gb");
    assert_int_equal(at(d.root, "devices")->integer, 4);
    assert_string_equal(at(d.root, "target")->text, "throughput");
    assert_string_equal(at(d.root, "size_of")->text, "context");
    assert_int_equal(at(d.root, "global_batch")->kind, LIN_JSON_NULL);
    assert_int_equal(at(d.root, "result")->kind, LIN_JSON_NULL);
    const lin_json *first = &at(d.root, "candidates")->items[0];
    assert_keys(first, "layout state configuration replicas size refusal expected_peak throughput");
    assert_keys(at(first, "configuration"),
                "tensor_parallel sequence_parallel context_parallel expert_parallel "
                "pipeline_parallel schedule virtual_stages microbatches shards zero replicas "
                "grad_accumulation checkpoint");
    assert_keys(at(first, "throughput"), "tokens seconds tokens_per_second compute_seconds "
                                         "memory_seconds communication_seconds host_seconds bubble "
                                         "limit");
    assert_string_equal(at(first, "state")->text, "runs");
    assert_int_equal(at(first, "replicas")->integer, 2);
    assert_int_equal(at(first, "size")->integer, 8192);
    assert_int_equal(at(first, "refusal")->kind, LIN_JSON_NULL);
    assert_string_equal(at(at(first, "configuration"), "schedule")->text, "1f1b");
    assert_int_equal(at(at(first, "configuration"), "zero")->kind, LIN_JSON_NULL);
    const lin_json *second = &at(d.root, "candidates")->items[1];
    assert_string_equal(at(second, "refusal")->text, CLAUSES);
    assert_int_equal(at(second, "size")->kind, LIN_JSON_NULL);
    assert_int_equal(at(second, "expected_peak")->kind, LIN_JSON_NULL);
    assert_int_equal(at(second, "throughput")->kind, LIN_JSON_NULL);
    assert_int_equal(at(&at(d.root, "dropped")->items[0], "count")->integer, 1);
    assert_string_equal(at(d.root, "assumptions")->items[0].text, "one thing");
    free_document(&d);
}

/* ---- how many devices ---- */

static lin_layouts two = { 0 }, eight = { 0 };

static const struct needed_case {
    const char *name;
    lin_devices_needed needed;
    const char *expect; /* the first lines */
} needed_cases[] = {
    { "two fit",
      { .most = 64, .fits = 2, .fitting = &two, .best = 187051, .best_devices = 64 },
      "Smallest number of devices that fits: 2 x l4 (4 replicas: 187,051 tokens/s)\n\n"
      "Predicted throughput on 2 x h100-80gb" },
    { "eight are fast enough",
      { .most = 64,
        .fits = 2,
        .fast = 8,
        .tokens_per_second = 190000,
        .fitting = &two,
        .reaching = &eight,
        .best = 193607,
        .best_devices = 8 },
      "Smallest number of devices that fits: 2 x l4 (4 replicas: 187,051 tokens/s)\n"
      "Smallest number that reaches 190,000 tokens/s: 8 x l4 (PP 2 x 8 1f1b, 2 replicas: 193,607 "
      "tokens/s)\n\n"
      "Predicted throughput on 8 x h100-80gb" },
    { "those that fit are fast enough",
      { .most = 64,
        .fits = 2,
        .fast = 2,
        .tokens_per_second = 1000,
        .fitting = &two,
        .reaching = &two,
        .best = 187051,
        .best_devices = 2 },
      "Smallest number of devices that fits: 2 x l4 (4 replicas: 187,051 tokens/s)\n"
      "Smallest number that reaches 1,000 tokens/s: 2 x l4 (4 replicas: 187,051 tokens/s)\n\n"
      "Predicted throughput on 2 x h100-80gb" },
    { "none is fast enough",
      { .most = 64,
        .fits = 2,
        .tokens_per_second = 1e6,
        .fitting = &two,
        .best = 193607,
        .best_devices = 48 },
      "Smallest number of devices that fits: 2 x l4 (4 replicas: 187,051 tokens/s)\n"
      "None reaches 1,000,000 tokens/s, up to 64 x l4: the fastest found has 193,607, on 48\n\n"
      "Predicted throughput on 2 x h100-80gb" },
    { "none fits",
      { .most = 64, .tokens_per_second = 1e6 },
      "No number of devices up to 64 x l4 fits.\n" },
};

static void test_needed(void **state)
{
    const struct needed_case *row = *state;
    document d;
    two = make(&sample[1], 1);
    eight = make(sample, 2);
    two.devices = 2;
    eight.devices = 8;
    lin_text_init(&d.text, &lin_default_allocator);
    lin_report_needed_text(&d.text, &row->needed, "l4");
    assert_memory_equal(lin_text_data(&d.text), row->expect, strlen(row->expect));
    lin_text_clear(&d.text);
    lin_report_needed_json(&d.text, &row->needed, "l4");
    read_document(&d);
    assert_keys(d.root, "version target device most tokens_per_second fits reaches fastest fitting "
                        "reaching");
    assert_int_equal(at(d.root, "fits")->integer, row->needed.fits);
    assert_int_equal(at(d.root, "fits")->kind == LIN_JSON_NULL, row->needed.fits == 0);
    assert_int_equal(at(d.root, "fitting")->kind == LIN_JSON_NULL, row->needed.fitting == NULL);
    assert_int_equal(at(d.root, "reaches")->integer, row->needed.fast);
    assert_int_equal(at(d.root, "reaching")->kind == LIN_JSON_NULL, row->needed.fast == 0);
    free_document(&d);
}

/* ---- memory ---- */

static void test_failures(void **state)
{
    const lin_layouts layouts = make(sample, 4);
    bool refused = true;
    (void)state;
    for (int64_t n = 0; refused; n++) {
        limited_host host = { .left = n, .stays_down = true };
        const lin_allocator allocator = { limited_alloc, &host };
        lin_text text;
        lin_text_init(&text, &allocator);
        lin_report_layouts_text(&text, &layouts, true);
        lin_report_layouts_json(&text, &layouts, NULL, 0);
        refused = host.refused;
        assert_int_equal(text.failed, refused);
        lin_text_free(&text);
        assert_int_equal(host.blocks, 0);
    }
}

#define ROWS(cases, test)                                         \
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases)[0]; i++) \
        tests[count++] = (struct CMUnitTest)                      \
        {                                                         \
            .name = (cases)[i].name, .test_func = test,           \
            .initial_state = (void *)(uintptr_t) & (cases)[i]     \
        }

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test(test_name_appends), cmocka_unit_test(test_reason_column),
        cmocka_unit_test(test_head),         cmocka_unit_test(test_many_reasons),
        cmocka_unit_test(test_json),         cmocka_unit_test(test_failures),
    };
    struct CMUnitTest tests[64];
    size_t count = 0;
    for (size_t i = 0; i < sizeof name_cases / sizeof name_cases[0]; i++)
        tests[count++] = (struct CMUnitTest){ .name = name_cases[i].words,
                                              .test_func = test_name,
                                              .initial_state = (void *)(uintptr_t)&name_cases[i] };
    ROWS(text_cases, test_text);
    ROWS(column_cases, test_columns);
    ROWS(needed_cases, test_needed);
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++)
        tests[count++] = single[i];
    return _cmocka_run_group_tests("report_layouts", tests, count, NULL, NULL);
}
