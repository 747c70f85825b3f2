/* SPDX-License-Identifier: MIT */

/*
 * Pipeline schedules: the orders of the fact sheet and of the vectors, live pairs, makespans,
 * random sizes through the simulator, communication as actions. The vectors are read from
 * $LINNET_SHARED/data and skipped where that is not there.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schedule_cases.h"
#include "source/source.h"
#include "json/json.h"
#include <stdlib.h>

enum { PATH_LENGTH = 1024, LARGEST_FILE = 1 << 20 };

/* A rank's list as one line; `bare` leaves out the number of the rank's only stage. */
static void write_order(lin_text *out, const lin_schedule *schedule, uint32_t rank, bool bare)
{
    const lin_schedule_rank *r = &schedule->rank[rank];
    lin_text_clear(out);
    for (uint32_t i = 0; i < r->action_count; i += r->actions[i].overlaps_next ? 2u : 1u) {
        lin_text word;
        lin_text_init(&word, &lin_default_allocator);
        lin_action_spell(&word, schedule, rank, i);
        lin_text_add(out, i > 0 ? " " : "");
        lin_text_add(out, lin_text_data(&word) + (bare ? 1 : 0));
        lin_text_free(&word);
    }
}

/* ---- the fact sheet's orders of 4 ranks and 8 micro-batches */

static const struct order_case {
    const char *name;
    uint32_t rank;
    const char *order;
} order_cases[] = {
    { "gpipe", 0, "F0 F1 F2 F3 F4 F5 F6 F7 B0 B1 B2 B3 B4 B5 B6 B7" },
    { "1f1b", 0, "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7" },
    { "1f1b", 1, "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7" },
    { "1f1b", 2, "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7" },
    { "1f1b", 3, "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7" },
    { "interleaved-1f1b", 0,
      "0F0 0F1 0F2 0F3 4F0 4F1 4F2 4F3 0F4 0F5 0F6 4B0 0F7 4B1 4F4 4B2 4F5 4B3 4F6 "
      "0B0 4F7 0B1 0B2 0B3 4B4 4B5 4B6 4B7 0B4 0B5 0B6 0B7" },
    { "interleaved-1f1b", 1,
      "1F0 1F1 1F2 1F3 5F0 5F1 5F2 5F3 1F4 5B0 1F5 5B1 1F6 5B2 1F7 5B3 5F4 1B0 5F5 "
      "1B1 5F6 1B2 5F7 1B3 5B4 5B5 5B6 5B7 1B4 1B5 1B6 1B7" },
    { "interleaved-1f1b", 2,
      "2F0 2F1 2F2 2F3 6F0 6F1 6F2 6B0 6F3 6B1 2F4 6B2 2F5 6B3 2F6 2B0 2F7 2B1 6F4 "
      "2B2 6F5 2B3 6F6 6B4 6F7 6B5 6B6 6B7 2B4 2B5 2B6 2B7" },
    { "interleaved-1f1b", 3,
      "3F0 3F1 3F2 3F3 7F0 7B0 7F1 7B1 7F2 7B2 7F3 7B3 3F4 3B0 3F5 3B1 3F6 3B2 3F7 "
      "3B3 7F4 7B4 7F5 7B5 7F6 7B6 7F7 7B7 3B4 3B5 3B6 3B7" },
    { "zb1p", 0, "F0 F1 F2 F3 I0 W0 F4 I1 W1 F5 I2 W2 F6 I3 W3 F7 I4 W4 I5 W5 I6 W6 I7 W7" },
    { "zb1p", 1, "F0 F1 F2 I0 F3 I1 W0 F4 I2 W1 F5 I3 W2 F6 I4 W3 F7 I5 W4 I6 W5 I7 W6 W7" },
    { "zb1p", 2, "F0 F1 I0 F2 I1 F3 I2 W0 F4 I3 W1 F5 I4 W2 F6 I5 W3 F7 I6 W4 I7 W5 W6 W7" },
    { "zb1p", 3, "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 F6 I6 W3 F7 I7 W4 W5 W6 W7" },
    { "zb-h1-megatron-patch", 1, "F0 F1 F2 I0 F3 B1 F4 B2 F5 B3 F6 B4 F7 I5 W0 I6 W5 I7 W6 W7" },
    { "zb-h1-megatron-patch", 2, "F0 F1 I0 F2 I1 F3 B2 F4 B3 F5 B4 F6 B5 F7 I6 W0 I7 W1 W6 W7" },
    { "zb-h1-megatron-patch", 3, "F0 I0 F1 I1 F2 I2 F3 B3 F4 B4 F5 B5 F6 B6 F7 I7 W0 W1 W2 W7" },
    { "zbv", 0,
      "0F0 0F1 0F2 0F3 0F4 0F5 0F6 7F0 7I0 7W0 7F1 7I1 7W1 7F2 7I2 7W2 7F3 7I3 7W3 "
      "0F7 0I0 0W0 7F4 7I4 7W4 0I1 0W1 7F5 7I5 7W5 0I2 0W2 7F6 7I6 7W6 0I3 0W3 7F7 "
      "7I7 7W7 0I4 0W4 0I5 0W5 0I6 0W6 0I7 0W7" },
    { "zbv", 3,
      "3F0 4F0 3F1 4F1 3F2 4F2 3F3 4F3 4I0 4W0 3F4 3I0 3W0 4F4 4I1 4W1 3F5 3I1 3W1 "
      "4F5 4I2 4W2 3F6 3I2 3W2 4F6 4I3 4W3 3F7 3I3 3W3 4F7 4I4 4W4 3I4 4I5 3I5 4I6 "
      "3I6 4I7 3I7 3W4 4W5 4W6 4W7 3W5 3W6 3W7" },
    { "dualpipev", 0,
      "0F0 0F1 0F2 0F3 0F4 0F5 0F6 7F0 7I0 7W0 7F1 7I1 7W1 7F2 7I2 7W2 7F3 (0F7+7B3) "
      "(7F4+0B0) 7B4 (7F5+0B1) 7B5 (7F6+0B2) 7B6 (7F7+0B3) 7B7 0I4 0W4 0I5 0W5 0I6 "
      "0W6 0I7 0W7" },
    { "dualpipev", 1,
      "1F0 1F1 1F2 1F3 1F4 6F0 1F5 6F1 6I0 6W0 6F2 6I1 6W1 6F3 (1F6+6B2) (6F4+1B0) "
      "(1F7+6B3) (6F5+1B1) 6B4 (6F6+1B2) 6B5 (6F7+1B3) 6B6 1B4 6I7 1I5 6W7 1I6 1W5 "
      "1I7 1W6 1W7" },
    { "dualpipev", 2,
      "2F0 2F1 2F2 5F0 2F3 5F1 2F4 5F2 5I0 5W0 5F3 (2F5+5B1) (5F4+2B0) (2F6+5B2) "
      "(5F5+2B1) (2F7+5B3) (5F6+2B2) 5B4 (5F7+2B3) 5B5 2B4 5B6 2I5 5I7 2I6 2W5 2I7 "
      "5W7 2W6 2W7" },
    { "dualpipev", 3,
      "3F0 4F0 3F1 4F1 3F2 4F2 3F3 4F3 3F4 4B0 (4F4+3B0) (3F5+4B1) (4F5+3B1) "
      "(3F6+4B2) (4F6+3B2) (3F7+4B3) (4F7+3B3) 4B4 3B4 4B5 3B5 4I6 3I6 4I7 3I7 4W6 "
      "3W6 4W7 3W7" },
    { "dualpipe", 0,
      "0F0 0F1 0F2 1F0 1I0 1W0 1F1 (0F3+1B1) (1F2+0B0) 1B2 (1F3+0B1) 1B3 0I2 0W2 0I3 "
      "0W3" },
    { "dualpipe", 1,
      "0F0 1F0 0F1 1F1 0F2 1B0 (1F2+0B0) (0F3+1B1) (1F3+0B1) 1B2 0B2 1I3 0I3 1W3 0W3" },
};

static void test_order(void **state)
{
    const struct order_case *row = *state;
    lin_schedule *schedule = make(row->name, 4, 8, 0);
    lin_text order;
    lin_text_init(&order, &lin_default_allocator);
    const char first = row->order[0];
    write_order(&order, schedule, row->rank, first >= 'A' && first <= 'Z');
    assert_string_equal(lin_text_data(&order), row->order);
    lin_text_free(&order);
    lin_schedule_free(schedule);
}

/* DualPipe is its own mirror image. */
static void test_mirror(void **state)
{
    (void)state;
    lin_schedule *s = make("dualpipe", 6, 14, 0);
    for (uint32_t r = 0; r < 3; r++) {
        const lin_schedule_rank *a = &s->rank[r], *b = &s->rank[5 - r];
        assert_int_equal(a->action_count, b->action_count);
        for (uint32_t i = 0; i < a->action_count; i++) {
            assert_int_equal(a->actions[i].kind, b->actions[i].kind);
            assert_int_equal(a->actions[i].microbatch, b->actions[i].microbatch);
            assert_int_equal(a->actions[i].slot, 1 - b->actions[i].slot);
        }
    }
    lin_schedule_free(s);
}

/* ---- the fact sheet's makespans and live pairs */

static const struct span_case {
    const char *name;
    int64_t makespan[3], busy[3]; /* of 4 x 8, 8 x 16, 8 x 64 */
    int64_t until_input[4];       /* 4 x 8, by rank */
    int64_t until_weight[4];
} span_cases[] = {
    { "gpipe", { 33, 69, 213 }, { 24, 48, 192 }, { 8, 8, 8, 8 }, { 8, 8, 8, 8 } },
    { "1f1b", { 33, 69, 213 }, { 24, 48, 192 }, { 4, 3, 2, 1 }, { 4, 3, 2, 1 } },
    { "looped-bfs", { 57, 117, 405 }, { 48, 96, 384 }, { 16, 16, 16, 16 }, { 16, 16, 16, 16 } },
    { "interleaved-1f1b", { 57, 117, 405 }, { 48, 96, 384 }, { 11, 9, 7, 5 }, { 11, 9, 7, 5 } },
    { "interleaved-zero-bubble",
      { 51, 103, 391 },
      { 48, 96, 384 },
      { 8, 7, 6, 5 },
      { 8, 8, 8, 8 } },
    { "zb1p", { 27, 55, 199 }, { 24, 48, 192 }, { 4, 3, 2, 1 }, { 4, 4, 4, 4 } },
    { "zb-h1-megatron-patch", { 27, 55, 199 }, { 24, 48, 192 }, { 4, 3, 2, 1 }, { 4, 4, 4, 4 } },
    { "zbv", { 51, 103, 391 }, { 48, 96, 384 }, { 8, 8, 8, 8 }, { 8, 8, 8, 8 } },
    { "dualpipev", { 54, 110, 398 }, { 48, 96, 384 }, { 9, 9, 9, 9 }, { 9, 9, 9, 9 } },
    { "dualpipe", { 26, 54, 198 }, { 24, 48, 192 }, { 5, 5, 5, 5 }, { 5, 5, 5, 5 } },
};

static void test_spans(void **state)
{
    static const int64_t sizes[3][2] = { { 4, 8 }, { 8, 16 }, { 8, 64 } };
    const struct span_case *row = *state;
    for (uint32_t i = 0; i < 3; i++) {
        lin_arena arena;
        lin_arena_init(&arena, &lin_default_allocator);
        lin_schedule *schedule = make(row->name, sizes[i][0], sizes[i][1], 0);
        const lin_simulation simulation = simulate(schedule, &arena);
        assert_int_equal(simulation.makespan, row->makespan[i]);
        for (uint32_t r = 0; r < schedule->ranks; r++)
            assert_int_equal(simulation.rank[r].busy, row->busy[i]);
        for (uint32_t r = 0; i == 0 && r < 4; r++) {
            assert_int_equal(simulation.rank[r].live_until_input, row->until_input[r]);
            assert_int_equal(simulation.rank[r].live_until_weight, row->until_weight[r]);
        }
        lin_schedule_free(schedule);
        lin_arena_free(&arena);
    }
}

static const struct live_case {
    const char *sentence, *name;
    int64_t ranks, microbatches, stages;
    uint32_t live[8];
} live_cases[] = {
    { "interleaved, 8 ranks, 2 stages each, 64 micro-batches",
      "interleaved-1f1b",
      8,
      64,
      2,
      { 23, 21, 19, 17, 15, 13, 11, 9 } },
    { "1F1B holds one micro-batch a rank behind it", "1f1b", 8, 64, 0, { 8, 7, 6, 5, 4, 3, 2, 1 } },
    { "1F1B with few micro-batches holds all of them",
      "1f1b",
      8,
      3,
      0,
      { 3, 3, 3, 3, 3, 3, 2, 1 } },
    { "GPipe holds all", "gpipe", 8, 24, 0, { 24, 24, 24, 24, 24, 24, 24, 24 } },
    { "one rank", "1f1b", 1, 5, 0, { 1 } },
};

static void test_live(void **state)
{
    const struct live_case *row = *state;
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    lin_schedule *schedule = make(row->name, row->ranks, row->microbatches, row->stages);
    const lin_simulation simulation = simulate(schedule, &arena);
    for (uint32_t r = 0; r < schedule->ranks; r++)
        assert_int_equal(simulation.rank[r].live_until_input, row->live[r]);
    lin_schedule_free(schedule);
    lin_arena_free(&arena);
}

/* ---- given times */

static void test_times(void **state)
{
    (void)state;
    static const lin_stage_times stages[] = { { 10, 20, 0, 0 }, { 3, 5, 0, 0 } };
    const lin_times times = { .stages = stages, .stage_count = 2, .pair = -1, .transfer = 100 };
    lin_arena arena;
    lin_simulation simulation;
    lin_arena_init(&arena, &lin_default_allocator);
    lin_schedule *schedule = make("1f1b", 2, 1, 0);
    assert_int_equal(lin_schedule_simulate(schedule, &times, true, &arena, &simulation, NULL),
                     LINNET_OK);
    assert_int_equal(simulation.makespan, 10 + 100 + 3 + 5 + 100 + 20);
    assert_int_equal(simulation.rank[1].spans[0].start, 110);
    assert_int_equal(simulation.rank[1].finish, 118);
    assert_int_equal(simulation.rank[0].busy, 30);
    lin_schedule_free(schedule);

    const lin_times huge = { .stages = (const lin_stage_times[]){ { INT64_MAX, 1, 1, 1 } },
                             .stage_count = 1,
                             .pair = -1 };
    schedule = make("gpipe", 2, 2, 0);
    assert_int_equal(lin_schedule_simulate(schedule, &huge, false, &arena, &simulation, NULL),
                     LINNET_ERROR_OVERFLOW);
    lin_schedule_free(schedule);
    lin_arena_free(&arena);
}

/* A pair that costs less than its parts. */
static void test_overlap(void **state)
{
    (void)state;
    lin_times times = lin_unit_times;
    lin_arena arena;
    lin_simulation sum, overlapped;
    lin_arena_init(&arena, &lin_default_allocator);
    lin_schedule *schedule = make("dualpipev", 4, 16, 0);
    times.pair = 3;
    assert_int_equal(lin_schedule_simulate(schedule, &lin_unit_times, false, &arena, &sum, NULL),
                     LINNET_OK);
    assert_int_equal(lin_schedule_simulate(schedule, &times, false, &arena, &overlapped, NULL),
                     LINNET_OK);
    assert_int_equal(sum.makespan, overlapped.makespan);
    times.pair = 2;
    assert_int_equal(lin_schedule_simulate(schedule, &times, false, &arena, &overlapped, NULL),
                     LINNET_OK);
    assert_true(overlapped.makespan < sum.makespan);
    lin_schedule_free(schedule);
    lin_arena_free(&arena);
}

/* ---- vectors */

static const lin_json *read_shared(lin_arena *arena, const char *name)
{
    const char *shared = getenv("LINNET_SHARED");
    char path[PATH_LENGTH];
    const char *text = NULL;
    uint64_t length;
    const lin_json *json = NULL;
    if (shared == NULL || snprintf(path, sizeof path, "%s/data/%s", shared, name) >= PATH_LENGTH ||
        lin_file_read(arena, path, LARGEST_FILE, &text, &length, NULL) != LINNET_OK ||
        lin_json_read(name, text, length, false, arena, &json, NULL) != LINNET_OK)
        return NULL;
    return json;
}

static const lin_json *vectors_or_skip(lin_arena *arena, const char *key)
{
    lin_arena_init(arena, &lin_default_allocator);
    const lin_json *json = read_shared(arena, "derived/pipeline-schedules.json");
    if (json == NULL) {
        lin_arena_free(arena);
        print_message("LINNET_SHARED has no data/derived/pipeline-schedules.json\n");
        skip();
    }
    return lin_json_get(json, key);
}

static void expect_order(const lin_schedule *schedule, uint32_t rank, const lin_json *actions)
{
    lin_text ours, theirs;
    lin_text_init(&ours, &lin_default_allocator);
    lin_text_init(&theirs, &lin_default_allocator);
    write_order(&ours, schedule, rank, false);
    for (uint32_t i = 0, written = 0; i < actions->count; i++)
        if (actions->items[i].kind == LIN_JSON_STRING) /* K3's lists have idle steps */
            lin_text_addf(&theirs, "%s%s", written++ > 0 ? " " : "", actions->items[i].text);
    assert_string_equal(lin_text_data(&ours), lin_text_data(&theirs));
    lin_text_free(&ours);
    lin_text_free(&theirs);
}

static int64_t number(const lin_json *object, const char *key)
{
    return lin_json_get(object, key)->integer;
}

static void expect_vector(const lin_json *vector)
{
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    lin_schedule *schedule = make(lin_json_get(vector, "schedule")->text, number(vector, "ranks"),
                                  number(vector, "microbatches"), 0);
    const lin_simulation simulation = simulate(schedule, &arena);
    const lin_json *ranks = lin_json_get(vector, "per_rank");
    assert_int_equal(schedule->stages, number(vector, "stages"));
    assert_int_equal(simulation.makespan, number(vector, "makespan_unit"));
    assert_int_equal(ranks->count, schedule->ranks);
    for (uint32_t r = 0; r < ranks->count; r++) {
        const lin_json *rank = &ranks->items[r];
        expect_order(schedule, r, lin_json_get(rank, "actions"));
        assert_int_equal(simulation.rank[r].busy, number(vector, "busy_unit"));
        assert_int_equal(simulation.rank[r].live_until_input,
                         number(rank, "peak_live_until_B_or_I"));
        assert_int_equal(simulation.rank[r].live_until_weight,
                         number(rank, "peak_live_until_B_or_W"));
    }
    lin_schedule_free(schedule);
    lin_arena_free(&arena);
}

static void test_vectors(void **state)
{
    const char *name = lin_schedule_kind_name((uint32_t)(uintptr_t)*state);
    lin_arena arena;
    const lin_json *vectors = vectors_or_skip(&arena, "schedules");
    uint32_t found = 0;
    for (uint32_t i = 0; i < vectors->count; i++) {
        if (strcmp(lin_json_get(&vectors->items[i], "schedule")->text, name) != 0)
            continue;
        expect_vector(&vectors->items[i]);
        found++;
    }
    assert_int_equal(found, 3);
    lin_arena_free(&arena);
}

static void expect_lowered(const lin_json *lists, const char *name, int64_t ranks,
                           int64_t microbatches, int64_t stages, int64_t active)
{
    const lin_lowering lowering = { .active_stages = (uint32_t)active, .reduce = true };
    linnet_error err = { 0 };
    lin_schedule *plain = make(name, ranks, microbatches, stages), *lowered = NULL;
    if (lin_schedule_lower(plain, &lowering, &lin_default_allocator, &lowered, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    assert_int_equal(lists->count, ranks);
    for (uint32_t r = 0; r < lowered->ranks; r++) {
        char key[16];
        snprintf(key, sizeof key, "%u", r);
        expect_order(lowered, r, lin_json_get(lists, key));
    }
    lin_schedule_free(plain);
    lin_schedule_free(lowered);
}

static void test_lowered_vectors(void **state)
{
    (void)state;
    lin_arena arena;
    const lin_json *vectors = vectors_or_skip(&arena, "lowered");
    assert_int_equal(vectors->count, 4);
    for (uint32_t i = 0; i < vectors->count; i++) {
        const lin_json *v = &vectors->items[i];
        const int64_t stages = number(v, "stages_per_rank");
        expect_lowered(lin_json_get(v, "actions"), stages == 1 ? "1f1b" : "interleaved-1f1b",
                       number(v, "ranks"), number(v, "microbatches"), stages == 1 ? 0 : stages,
                       number(v, "max_active_stages"));
    }
    lin_arena_free(&arena);
}

/* An order that ran: 8 ranks, 16 stages, 64 micro-batches. */
static void test_lowered_k3(void **state)
{
    (void)state;
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    const lin_json *k3 = read_shared(&arena, "memtracker/k3_interleaved_schedule.json");
    if (k3 == NULL) {
        lin_arena_free(&arena);
        print_message("LINNET_SHARED has no data/memtracker\n");
        skip();
    }
    expect_lowered(lin_json_get(k3, "actions"), "interleaved-1f1b", 8, 64, 2, 2);
    lin_schedule *plain = make("interleaved-1f1b", 8, 64, 2);
    for (uint32_t r = 0; r < 8; r++) {
        char key[16];
        snprintf(key, sizeof key, "%u", r);
        expect_order(plain, r, lin_json_get(lin_json_get(k3, "compute_actions"), key));
    }
    lin_schedule_free(plain);
    lin_arena_free(&arena);
}

/* ---- any size */

/* Communication changes no time when it takes none, and is a schedule that can be read. */
static void expect_lowering(const lin_schedule *schedule, int64_t makespan, uint32_t active)
{
    const lin_lowering lowering = { .active_stages = active, .reduce = true, .step = true };
    lin_schedule *lowered = NULL;
    linnet_error err = { 0 };
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    if (lin_schedule_lower(schedule, &lowering, &lin_default_allocator, &lowered, &err) !=
            LINNET_OK ||
        lin_schedule_check(lowered, &err) != LINNET_OK)
        fail_msg("%s %u x %u: %s", schedule->name, schedule->ranks, schedule->microbatches,
                 err.message);
    assert_int_equal(simulate(lowered, &arena).makespan, makespan);
    expect_read_back(lowered);
    lin_schedule_free(lowered);
    lin_arena_free(&arena);
}

/* Idle time under unit times where the fact sheet has a formula. */
static int64_t expected_idle(const lin_schedule *s)
{
    const int64_t p = s->ranks, m = s->microbatches, v = s->stages / s->ranks;
    if (strcmp(s->name, "gpipe") == 0 || strcmp(s->name, "1f1b") == 0)
        return 3 * (p - 1);
    if (strcmp(s->name, "zb1p") == 0 && m >= 2 * p - 1)
        return p - 1;
    if (strcmp(s->name, "interleaved-1f1b") == 0 && m % p == 0)
        return 3 * (p - 1);
    if (strcmp(s->name, "looped-bfs") == 0 && (v == 1 || m >= p))
        return 3 * (p - 1);
    return -1;
}

static void test_random(void **state)
{
    const uint32_t kind = (uint32_t)(uintptr_t)*state;
    uint64_t seed = 12345 + kind;
    uint32_t made = 0;
    for (uint32_t i = 0; i < 150; i++) {
        const lin_schedule_request request = {
            .name = lin_schedule_kind_name(kind),
            .ranks = 1 + random_below(&seed, 9),
            .microbatches = 1 + random_below(&seed, 30),
            .virtual_stages = random_below(&seed, 4),
        };
        lin_schedule *schedule = NULL;
        linnet_error err = { 0 };
        lin_arena arena;
        if (lin_schedule_new(&request, &lin_default_allocator, &schedule, &err) != LINNET_OK) {
            assert_int_equal(err.code, LINNET_ERROR_ARGUMENT);
            continue;
        }
        made++;
        lin_arena_init(&arena, &lin_default_allocator);
        if (lin_schedule_check(schedule, &err) != LINNET_OK)
            fail_msg("%s %u x %u: %s", schedule->name, schedule->ranks, schedule->microbatches,
                     err.message);
        const lin_simulation simulation = simulate(schedule, &arena);
        for (uint32_t r = 0; r < schedule->ranks; r++) {
            const int64_t busy = simulation.rank[r].busy, idle = expected_idle(schedule);
            assert_int_equal(busy, 3 * (int64_t)schedule->microbatches * schedule->stages /
                                       schedule->ranks);
            if (idle >= 0)
                assert_int_equal(simulation.makespan - busy, idle);
        }
        expect_read_back(schedule);
        expect_lowering(schedule, simulation.makespan, random_below(&seed, 4));
        lin_schedule_free(schedule);
        lin_arena_free(&arena);
    }
    assert_true(made >= 4);
}

/* 16 ranks of 8 stages and 256 micro-batches; the depth of 4,096 ranks. */
static void test_large(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 16, 256, 8 }, { 4096, 256, 2 } };
    for (uint32_t i = 0; i < ARRAY_LEN(sizes); i++) {
        lin_arena arena;
        lin_arena_init(&arena, &lin_default_allocator);
        lin_schedule *schedule = make("interleaved-1f1b", sizes[i][0], sizes[i][1], sizes[i][2]);
        const lin_simulation simulation = simulate(schedule, &arena);
        assert_true(simulation.makespan >= 3 * sizes[i][1] * sizes[i][2]);
        lin_schedule_free(schedule);
        lin_arena_free(&arena);
    }
}

static void add_kinds(suite *s)
{
    for (uint32_t i = 0; i < lin_schedule_kind_count(); i++) {
        const void *kind = (const void *)(uintptr_t)i;
        add(s, test_vectors, kind, "%s: orders, live pairs and makespans of the vectors",
            lin_schedule_kind_name(i));
        add(s, test_random, kind, "%s: any size runs, is read back and can be lowered",
            lin_schedule_kind_name(i));
    }
}

int main(void)
{
    static suite s;
    for (size_t i = 0; i < ARRAY_LEN(order_cases); i++)
        add(&s, test_order, &order_cases[i], "%s: order of rank %u of 4", order_cases[i].name,
            order_cases[i].rank);
    for (size_t i = 0; i < ARRAY_LEN(span_cases); i++)
        add(&s, test_spans, &span_cases[i], "%s: makespans and live pairs", span_cases[i].name);
    for (size_t i = 0; i < ARRAY_LEN(live_cases); i++)
        add(&s, test_live, &live_cases[i], "live pairs: %s", live_cases[i].sentence);
    add_kinds(&s);
    add(&s, test_mirror, NULL, "dualpipe mirrors its ranks");
    add(&s, test_times, NULL, "times a stage and between ranks");
    add(&s, test_overlap, NULL, "a pair may cost less than its parts");
    add(&s, test_lowered_vectors, NULL, "communication as in the vectors");
    add(&s, test_lowered_k3, NULL, "communication as in an order that ran");
    add(&s, test_large, NULL, "large schedules");
    return _cmocka_run_group_tests("schedule", s.tests, s.count, NULL, NULL);
}
