/* SPDX-License-Identifier: MIT */

/* Schedules that cannot be made, and files: what is taken, what is refused and how it is named,
 * lists with neighbours exchanged, memory that runs out; the table and the picture. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schedule_cases.h"
#include <linnet/linnet.h>
#include <stdlib.h>

/* ---- requests that cannot be */

static const struct request_case {
    const char *sentence;
    lin_schedule_request request;
    linnet_status expect;
    const char *message; /* a part of it */
} request_cases[] = {
    { "an unknown name says the nearest",
      { "1f1", 4, 8, 0 },
      LINNET_ERROR_NOT_FOUND,
      "did you mean `1f1b`?" },
    { "an unknown name far from all",
      { "fifo", 4, 8, 0 },
      LINNET_ERROR_NOT_FOUND,
      "there is no schedule `fifo`" },
    { "no ranks", { "gpipe", 0, 8, 0 }, LINNET_ERROR_ARGUMENT, "ranks must be at least 1" },
    { "ranks below none", { "gpipe", -4, 8, 0 }, LINNET_ERROR_ARGUMENT, "not -4" },
    { "too many ranks", { "gpipe", 1 << 20, 8, 0 }, LINNET_ERROR_ARGUMENT, "at most 65536" },
    { "no micro-batches", { "1f1b", 4, 0, 0 }, LINNET_ERROR_ARGUMENT, "at least 1" },
    { "too many micro-batches", { "1f1b", 4, INT64_MAX, 0 }, LINNET_ERROR_ARGUMENT, "at most" },
    { "micro-batches that make no rounds",
      { "interleaved-1f1b", 4, 11, 0 },
      LINNET_ERROR_ARGUMENT,
      "the nearest numbers are 10 and 12" },
    { "the same of zb1p",
      { "zb1p", 4, 13, 0 },
      LINNET_ERROR_ARGUMENT,
      "the nearest numbers are 12 and 15" },
    { "fewer micro-batches than ranks",
      { "zb-h1-megatron-patch", 8, 3, 0 },
      LINNET_ERROR_ARGUMENT,
      "the nearest number is 8" },
    { "too few for two a rank",
      { "dualpipev", 8, 15, 0 },
      LINNET_ERROR_ARGUMENT,
      "the nearest number is 16" },
    { "odd micro-batches",
      { "dualpipe", 4, 11, 0 },
      LINNET_ERROR_ARGUMENT,
      "the nearest numbers are 10 and 12" },
    { "odd ranks",
      { "dualpipe", 5, 20, 0 },
      LINNET_ERROR_ARGUMENT,
      "the nearest numbers are 4 and 6" },
    { "one rank of two directions",
      { "dualpipe", 1, 20, 0 },
      LINNET_ERROR_ARGUMENT,
      "the nearest number is 2" },
    { "stages where they are fixed",
      { "zbv", 4, 8, 3 },
      LINNET_ERROR_ARGUMENT,
      "`zbv` has 2 stages a rank, not 3" },
    { "stages below none", { "looped-bfs", 4, 8, -1 }, LINNET_ERROR_ARGUMENT, "at least 1" },
    { "more actions than memory",
      { "gpipe", 65536, 1 << 20, 0 },
      LINNET_ERROR_ARGUMENT,
      "at most 1048576 stages and 67108864 actions" },
    { "a padding past what is made", { "zbv", 65536, 1, 0 }, LINNET_ERROR_ARGUMENT, "actions" },
    { "more stages than there are numbers",
      { "looped-bfs", 65536, 1, 4096 },
      LINNET_ERROR_ARGUMENT,
      "stages" },
};

static void test_request(void **state)
{
    const struct request_case *row = *state;
    lin_schedule *schedule = NULL;
    linnet_error err = { 0 };
    assert_int_equal(lin_schedule_new(&row->request, &lin_default_allocator, &schedule, &err),
                     row->expect);
    assert_null(schedule);
    if (strstr(err.message, row->message) == NULL)
        fail_msg("%s", err.message);
}

/* ---- files that are wrong */

#define FILE_OF(rank0, rank1)                                                          \
    "{\"schedule\":\"mine\",\"ranks\":2,\"microbatches\":1,\"stages\":2,\"per_rank\":" \
    "[{\"rank\":0,\"actions\":[" rank0 "]},{\"rank\":1,\"actions\":[" rank1 "]}]}"
#define DUAL_OF(rank0, rank1)                                                              \
    "{\"schedule\":\"dualpipe\",\"ranks\":2,\"microbatches\":2,\"stages\":2,\"per_rank\":" \
    "[{\"actions\":[" rank0 "],\"rank\":0},{\"actions\":[" rank1 "],\"rank\":1}]}"

static const struct file_case {
    const char *sentence, *text, *message; /* NULL: it is right */
} file_cases[] = {
    { "two ranks", FILE_OF("\"0F0\",\"0B0\"", "\"1F0\",\"1B0\""), NULL },
    { "parts of a backward", FILE_OF("\"0F0\",\"0I0\",\"0W0\"", "\"1F0\",\"1I0\",\"1W0\""), NULL },
    { "communication as actions",
      FILE_OF("\"0UNSHARD\",\"0F0\",\"0SEND_F0\",\"0RECV_B0\",\"0B0\",\"0REDUCE_GRAD\","
              "\"0RESHARD\",\"STEP\"",
              "\"1RECV_F0\",\"1F0\",\"1B0\",\"1SEND_B0\""),
      NULL },
    { "two directions",
      DUAL_OF("\"0F0\",\"1F0\",\"1B0\",\"0B0\"", "\"1F0\",\"0F0\",\"0B0\",\"1B0\""), NULL },
    { "no text", "", "" },
    { "no object", "[]", "a schedule must be a JSON object" },
    { "cut off", "{\"schedule\": \"a\", \"ranks\": 1", "" },
    { "text behind it", FILE_OF("\"0F0\",\"0B0\"", "\"1F0\",\"1B0\"") "x", "" },
    { "no name", "{\"ranks\":1,\"microbatches\":1,\"stages\":1,\"per_rank\":[]}",
      "the key `schedule` is missing" },
    { "no lists", "{\"schedule\":\"a\",\"ranks\":1,\"microbatches\":1,\"stages\":1}",
      "the key `per_rank` is missing" },
    { "a key twice", "{\"ranks\":1,\"ranks\":1}", "the key `ranks` stands there twice" },
    { "lists twice", "{\"per_rank\":[],\"per_rank\":[]}", "the key `per_rank` stands there twice" },
    { "no ranks", "{\"ranks\":0}", "at least 1" },
    { "half a rank", "{\"ranks\":1.5}", "whole number" },
    { "very many stages", "{\"stages\":99999999}", "`stages` is past what is read" },
    { "a number past 64 bits", "{\"stages\":99999999999999999999}", "whole number" },
    { "a name with a control character", "{\"schedule\":\"a\\u0001\"}", "control" },
    { "an empty name", "{\"schedule\":\"\"}", "a name of at most 64 bytes" },
    { "much claimed and little there",
      "{\"schedule\":\"a\",\"ranks\":1,\"microbatches\":1048576,\"stages\":1,\"per_rank\":"
      "[{\"rank\":0,\"actions\":[\"0F1\"]}]}",
      "rank 0: the action `0F0` is missing" },
    { "more ranks than stages",
      "{\"schedule\":\"a\",\"ranks\":3,\"microbatches\":1,\"stages\":2,\"per_rank\":[]}",
      "`ranks` must be at most the number of stages" },
    { "a rank without a list",
      "{\"schedule\":\"a\",\"ranks\":1,\"microbatches\":1,\"stages\":1,\"per_rank\":[]}",
      "rank 0 is missing" },
    { "a rank out of range",
      "{\"schedule\":\"a\",\"ranks\":1,\"microbatches\":1,\"stages\":1,\"per_rank\":"
      "[{\"rank\":1,\"actions\":[]}]}",
      "rank 1 is out of range" },
    { "a rank twice",
      "{\"schedule\":\"a\",\"ranks\":1,\"microbatches\":1,\"stages\":1,\"per_rank\":"
      "[{\"rank\":0,\"actions\":[\"0F0\",\"0B0\"]},{\"rank\":0,\"actions\":[]}]}",
      "rank 0 stands there twice" },
    { "a list without a rank",
      "{\"schedule\":\"a\",\"ranks\":1,\"microbatches\":1,\"stages\":1,\"per_rank\":"
      "[{\"actions\":[]}]}",
      "has no key `rank`" },
    { "an empty list",
      "{\"schedule\":\"a\",\"ranks\":1,\"microbatches\":1,\"stages\":1,\"per_rank\":"
      "[{\"rank\":0,\"actions\":[]}]}",
      "no rank holds stage 0" },
    { "a word that is no action", FILE_OF("\"0F0\",\"0X0\"", "\"1F0\",\"1B0\""),
      "rank 0, action 1: `0X0` is no action" },
    { "an action with a leading zero", FILE_OF("\"0F00\",\"0B0\"", "\"1F0\",\"1B0\""),
      "rank 0, action 0: `0F00` is no action" },
    { "an empty action", FILE_OF("\"\"", "\"1F0\",\"1B0\""), "is no action" },
    { "a pair the wrong way round", FILE_OF("\"(0B0+0F0)\"", "\"1F0\",\"1B0\""), "is no action" },
    { "a number instead of an action", FILE_OF("1", "\"1F0\",\"1B0\""), "array of strings" },
    { "a stage out of range", FILE_OF("\"0F0\",\"2B0\"", "\"1F0\",\"1B0\""),
      "rank 0, action 1: `2B0` is of a stage out of range" },
    { "a micro-batch out of range", FILE_OF("\"0F0\",\"0B1\"", "\"1F0\",\"1B0\""),
      "rank 0, action 1: `0B1` is of a micro-batch out of range" },
    { "a stage on two ranks", FILE_OF("\"0F0\",\"0B0\"", "\"1F0\",\"1B0\",\"0W0\""),
      "rank 1, action 2: `0W0` is of a stage that another rank holds" },
    { "a stage on no rank", FILE_OF("\"0F0\",\"0B0\"", ""), "no rank holds stage 1" },
    { "a forward that is missing", FILE_OF("\"0B0\"", "\"1F0\",\"1B0\""),
      "rank 0: the action `0F0` is missing" },
    { "a backward that is missing", FILE_OF("\"0F0\",\"0B0\"", "\"1F0\""),
      "rank 1: the action `1B0` is missing" },
    { "a weight gradient that is missing", FILE_OF("\"0F0\",\"0I0\"", "\"1F0\",\"1B0\""),
      "rank 0: the action `0W0` is missing" },
    { "an input gradient that is missing", FILE_OF("\"0F0\",\"0W0\"", "\"1F0\",\"1B0\""),
      "rank 0: the action `0I0` is missing" },
    { "a forward twice", FILE_OF("\"0F0\",\"0F0\",\"0B0\"", "\"1F0\",\"1B0\""),
      "rank 0, action 1: `0F0` stands there a second time" },
    { "a whole backward and a part", FILE_OF("\"0F0\",\"0B0\",\"0W0\"", "\"1F0\",\"1B0\""),
      "rank 0, action 2: `0W0` is a second backward" },
    { "a send without its receive",
      FILE_OF("\"0F0\",\"0SEND_F0\",\"0RECV_B0\",\"0B0\"", "\"1F0\",\"1B0\",\"1SEND_B0\""),
      "rank 1: the action `1RECV_F0` is missing" },
    { "a receive at the first stage", FILE_OF("\"0RECV_F0\",\"0F0\",\"0B0\"", "\"1F0\",\"1B0\""),
      "rank 0, action 0: `0RECV_F0` has no other rank" },
    { "a reshard too many", FILE_OF("\"0RESHARD\",\"0F0\",\"0B0\"", "\"1F0\",\"1B0\""),
      "rank 0, action 0: `0RESHARD` is of a stage that is not unsharded" },
    { "work after the step", FILE_OF("\"0F0\",\"STEP\",\"0B0\"", "\"1F0\",\"1B0\""),
      "rank 0, action 2: `0B0` stands after the optimizer step" },
    { "a backward after the reduction",
      FILE_OF("\"0F0\",\"0REDUCE_GRAD\",\"0B0\"", "\"1F0\",\"1B0\""),
      "rank 0, action 2: `0B0` stands after the stage's gradients were reduced" },
    { "a deadlock of a rank with itself", FILE_OF("\"0B0\",\"0F0\"", "\"1F0\",\"1B0\""),
      "rank 0, action 0: `0B0` waits for `0F0`, which comes later on the same rank" },
    { "a deadlock of two ranks",
      "{\"schedule\":\"mine\",\"ranks\":2,\"microbatches\":2,\"stages\":2,\"per_rank\":"
      "[{\"rank\":0,\"actions\":[\"0F0\",\"0B0\",\"0F1\",\"0B1\"]},"
      "{\"rank\":1,\"actions\":[\"1F0\",\"1F1\",\"1B0\",\"1B1\"]}]}",
      "a deadlock: rank 0, action 1: `0B0` waits for `1B0` of rank 1" },
    { "a deadlock within a pair", FILE_OF("\"0F0\",\"0B0\"", "\"(1F0+1B0)\""), "a deadlock" },
    { "a third direction", DUAL_OF("\"2F0\"", "\"0F0\""),
      "rank 0, action 0: `2F0` is of no direction" },
    { "one direction alone", DUAL_OF("\"0F0\",\"0B0\"", "\"0F0\",\"0B0\""),
      "rank 1: the action `1F0` is missing" },
};

static void test_file(void **state)
{
    const struct file_case *row = *state;
    lin_schedule *schedule = NULL;
    linnet_error err = { 0 };
    const linnet_status status = lin_schedule_read("case.json", row->text, strlen(row->text),
                                                   &lin_default_allocator, &schedule, &err);
    if (row->message == NULL) {
        if (status != LINNET_OK)
            fail_msg("%s", err.message);
        expect_read_back(schedule);
        lin_schedule_free(schedule);
        return;
    }
    assert_int_equal(status, LINNET_ERROR_FORMAT);
    assert_string_equal(err.source, "case.json");
    assert_int_equal(lin_schedule_read("case.json", row->text, strlen(row->text),
                                       &lin_default_allocator, &schedule, NULL),
                     LINNET_ERROR_FORMAT);
    assert_null(schedule);
    if (strstr(err.message, row->message) == NULL)
        fail_msg("%s", err.message);
}

/* Any two actions of a rank exchanged: the reader takes it, or says why not. */
static void test_swaps(void **state)
{
    (void)state;
    uint64_t seed = 7;
    uint32_t taken = 0, refused = 0;
    for (uint32_t i = 0; i < 300; i++) {
        lin_schedule *schedule = make("interleaved-1f1b", 3, 6, 2), *read = NULL;
        const lin_schedule_rank *rank = &schedule->rank[random_below(&seed, 3)];
        lin_action *actions = (lin_action *)(uintptr_t)rank->actions;
        const uint32_t at = random_below(&seed, rank->action_count - 1);
        const lin_action held = actions[at];
        linnet_error err = { 0 };
        lin_text text;
        actions[at] = actions[at + 1];
        actions[at + 1] = held;
        lin_text_init(&text, &lin_default_allocator);
        lin_schedule_json(&text, schedule);
        const linnet_status status = lin_schedule_read("swapped", lin_text_data(&text), text.length,
                                                       &lin_default_allocator, &read, &err);
        assert_true(status == LINNET_OK || strstr(err.message, "a deadlock") != NULL);
        taken += status == LINNET_OK;
        refused += status != LINNET_OK;
        lin_schedule_free(read);
        lin_schedule_free(schedule);
        lin_text_free(&text);
    }
    assert_true(taken > 0 && refused > 0);
}

/* ---- out of memory */

typedef struct rationed {
    uint64_t left;  /* requests until one fails */
    bool goes_on;   /* the ones after it succeed */
    int64_t blocks; /* held */
} rationed;

static void *rationed_alloc(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    rationed *r = user;
    (void)old_size;
    if (new_size == 0) {
        r->blocks--;
        free(ptr);
        return NULL;
    }
    if (r->left == 0) {
        r->left = r->goes_on ? UINT64_MAX : 0;
        return NULL;
    }
    r->left--;
    r->blocks += ptr == NULL;
    return realloc(ptr, (size_t)new_size);
}

/* Makes, lowers, simulates, prints and reads a schedule. */
static linnet_status do_everything(const lin_allocator *allocator)
{
    const lin_schedule_request request = { "dualpipev", 2, 4, 0 };
    const lin_lowering lowering = { .active_stages = 1, .reduce = true, .step = true };
    lin_schedule *schedule = NULL, *lowered = NULL, *read = NULL;
    lin_simulation simulation;
    linnet_status status;
    lin_arena arena;
    lin_text text;
    lin_arena_init(&arena, allocator);
    lin_text_init(&text, allocator);
    if ((status = lin_schedule_new(&request, allocator, &schedule, NULL)) == LINNET_OK &&
        (status = lin_schedule_lower(schedule, &lowering, allocator, &lowered, NULL)) ==
            LINNET_OK &&
        (status = lin_schedule_simulate(schedule, &lin_unit_times, true, &arena, &simulation,
                                        NULL)) == LINNET_OK) {
        lin_schedule_text(&text, schedule, &simulation);
        status = lin_schedule_svg(&text, schedule, &simulation, NULL);
        lin_text_clear(&text);
        lin_schedule_json(&text, lowered);
        status = text.failed ? LINNET_ERROR_NO_MEMORY : status;
    }
    if (status == LINNET_OK)
        status =
            lin_schedule_read("text", lin_text_data(&text), text.length, allocator, &read, NULL);
    lin_schedule_free(schedule);
    lin_schedule_free(lowered);
    lin_schedule_free(read);
    lin_text_free(&text);
    lin_arena_free(&arena);
    return status;
}

static void test_memory(void **state)
{
    const bool goes_on = *state != NULL;
    linnet_status status = LINNET_ERROR_NO_MEMORY;
    for (uint64_t n = 0; status != LINNET_OK; n++) {
        rationed ration = { .left = n, .goes_on = goes_on };
        const lin_allocator allocator = { rationed_alloc, &ration };
        status = do_everything(&allocator);
        assert_true(status == LINNET_OK || status == LINNET_ERROR_NO_MEMORY);
        assert_int_equal(ration.blocks, 0);
        assert_true(n < 10000);
    }
}

/* ---- text and pictures */

static void test_text(void **state)
{
    (void)state;
    static const char expected[] =
        "1f1b: 2 ranks, 2 stages, 2 micro-batches\n"
        "\n"
        "  rank    live  until W      busy      idle    finish  stages\n"
        "     0       2        2         6         3         9  0\n"
        "     1       1        1         6         3         7  1\n"
        "\n"
        "Makespan    9 (F = I = W = 1, B = 2, no time between ranks)\n"
        "Bubble      3 on the rank that idles most, 33.3 % of the time of all ranks\n"
        "Live pairs  2 at most until B or I, 2 until B or W\n"
        "\n"
        "rank 0     0F0 0F1 0B0 0B1\n"
        "rank 1     1F0 1B0 1F1 1B1\n";
    lin_arena arena;
    lin_text text;
    lin_arena_init(&arena, &lin_default_allocator);
    lin_text_init(&text, &lin_default_allocator);
    lin_schedule *schedule = make("1f1b", 2, 2, 0);
    const lin_simulation simulation = simulate(schedule, &arena);
    lin_schedule_text(&text, schedule, &simulation);
    assert_string_equal(lin_text_data(&text), expected);
    lin_text_free(&text);
    lin_schedule_free(schedule);
    lin_arena_free(&arena);
}

static void test_picture(void **state)
{
    (void)state;
    lin_arena arena;
    lin_text text;
    linnet_error err = { 0 };
    lin_arena_init(&arena, &lin_default_allocator);
    lin_text_init(&text, &lin_default_allocator);
    lin_schedule *schedule = make("dualpipe", 4, 8, 0);
    lin_simulation simulation = simulate(schedule, &arena);
    schedule->name = "a<b&c";
    assert_int_equal(lin_schedule_svg(&text, schedule, &simulation, &err), LINNET_OK);
    assert_memory_equal(lin_text_data(&text), "<svg xmlns=", 11);
    assert_non_null(strstr(lin_text_data(&text), "<title>a&lt;b&amp;c</title>"));
    assert_non_null(strstr(lin_text_data(&text), "(0F3+1B1)"));
    assert_null(strstr(lin_text_data(&text), "href"));
    lin_schedule_free(schedule);

    schedule = make("gpipe", 512, 1024, 0);
    assert_int_equal(lin_schedule_svg(&text, schedule, &simulation, &err), LINNET_ERROR_ARGUMENT);
    lin_schedule_free(schedule);
    lin_text_free(&text);
    lin_arena_free(&arena);
}

/* ---- the handle */

static void test_handle(void **state)
{
    (void)state;
    linnet_config *config = NULL;
    linnet_schedule *made = NULL, *parsed = NULL;
    linnet_text *json = NULL, *text = NULL, *svg = NULL;
    linnet_error err = { 0 };
    assert_int_equal(linnet_config_new(&config, &err), LINNET_OK);
    assert_int_equal(linnet_schedule_new(config, "dualpipe", 2, 4, 0, &made, &err), LINNET_OK);
    assert_int_equal(linnet_schedule_to_json(made, &json, &err), LINNET_OK);
    assert_int_equal(linnet_schedule_parse(config, linnet_text_data(json), linnet_text_length(json),
                                           "j", &parsed, &err),
                     LINNET_OK);
    linnet_config_free(config);
    assert_string_equal(linnet_schedule_name(parsed), "dualpipe");
    assert_int_equal(linnet_schedule_ranks(parsed), 2);
    assert_int_equal(linnet_schedule_microbatches(parsed), 4);
    assert_int_equal(linnet_schedule_stages(parsed), 2);
    assert_int_equal(linnet_schedule_makespan(parsed), 12);
    assert_int_equal(linnet_schedule_busy(parsed, 1), 12);
    assert_int_equal(linnet_schedule_finish(parsed, 0), 12);
    assert_int_equal(linnet_schedule_live_pairs(parsed, 0), 3);
    assert_int_equal(linnet_schedule_live_pairs_until_weight(parsed, 0), 3);
    assert_int_equal(linnet_schedule_rank_stages(parsed, 1), 2);
    for (uint64_t r = 0; r < 3; r++) {
        const uint64_t count = linnet_schedule_action_count(made, r);
        assert_int_equal(linnet_schedule_action_count(parsed, r), count);
        for (uint64_t i = 0; i <= count; i++) { /* one past the end as well */
            assert_int_equal(linnet_schedule_action(parsed, r, i),
                             linnet_schedule_action(made, r, i));
            assert_int_equal(linnet_schedule_action_stage(parsed, r, i),
                             linnet_schedule_action_stage(made, r, i));
            assert_int_equal(linnet_schedule_action_microbatch(parsed, r, i),
                             linnet_schedule_action_microbatch(made, r, i));
            assert_int_equal(linnet_schedule_action_direction(parsed, r, i),
                             linnet_schedule_action_direction(made, r, i));
            assert_int_equal(linnet_schedule_action_overlaps(parsed, r, i),
                             linnet_schedule_action_overlaps(made, r, i));
            assert_int_equal(linnet_schedule_action_start(parsed, r, i),
                             linnet_schedule_action_start(made, r, i));
        }
    }
    assert_int_equal(linnet_schedule_action(made, 0, 0), LINNET_ACTION_FORWARD);
    assert_int_equal(linnet_schedule_action(made, 2, 0), LINNET_ACTION_INVALID);
    assert_int_equal(linnet_schedule_action_end(made, 0, 0), 1);
    assert_int_equal(linnet_schedule_action_end(made, 0, 1000), -1);
    assert_int_equal(linnet_schedule_rank_stage(made, 0, 9), -1);
    assert_int_equal(linnet_schedule_busy(made, 2), -1);
    assert_int_equal(linnet_schedule_to_text(made, &text, &err), LINNET_OK);
    assert_int_equal(linnet_schedule_to_svg(made, &svg, &err), LINNET_OK);
    assert_null(linnet_builtin_schedule_name(linnet_builtin_schedule_count()));
    linnet_text_free(json);
    linnet_text_free(text);
    linnet_text_free(svg);
    linnet_schedule_free(parsed);
    linnet_schedule_free(made);
    linnet_schedule_free(NULL);
}

int main(void)
{
    static suite s;
    for (size_t i = 0; i < ARRAY_LEN(request_cases); i++)
        add(&s, test_request, &request_cases[i], "request: %s", request_cases[i].sentence);
    for (size_t i = 0; i < ARRAY_LEN(file_cases); i++)
        add(&s, test_file, &file_cases[i], "file: %s", file_cases[i].sentence);
    add(&s, test_swaps, NULL, "neighbours exchanged run or are refused");
    add(&s, test_memory, NULL, "out of memory once and for good");
    add(&s, test_memory, &s, "out of memory once");
    add(&s, test_handle, NULL, "the handle by index");
    add(&s, test_text, NULL, "the table");
    add(&s, test_picture, NULL, "the picture stands alone");
    return _cmocka_run_group_tests("schedule_files", s.tests, s.count, NULL, NULL);
}
