/* SPDX-License-Identifier: MIT */

/*
 * The schedules that are made by rule: one row each, with what it needs of the numbers. A request
 * is checked against its row, the stages are laid out, and the row's generator fills one rank after
 * the other into one block. That the result has no deadlock is not looked at here: the simulator
 * says so, and shares no code with this.
 */

#include "schedule/generate.h"
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

typedef enum placement {
    PLACE_LOOP, /* stage s on rank s mod P */
    PLACE_V,    /* rank r holds r and 2P - 1 - r */
    PLACE_BOTH  /* rank r holds r of direction 0 and P - 1 - r of direction 1 */
} placement;

typedef struct kind_row {
    const char *name;
    uint32_t virtual_stages; /* 0: free, 2 unless given */
    placement place;
    bool splits;
    bool even_ranks;
    bool (*takes)(int64_t ranks, int64_t microbatches); /* NULL: any number */
    const char *needs;
    lin_generator generate;
} kind_row;

static bool in_rounds(int64_t ranks, int64_t microbatches)
{
    const int64_t rounds = microbatches / ranks;
    return rounds <= 1 || microbatches % rounds == 0;
}

static bool one_a_rank(int64_t ranks, int64_t microbatches)
{
    return microbatches >= ranks;
}

static bool two_a_rank(int64_t ranks, int64_t microbatches)
{
    return microbatches >= 2 * ranks;
}

static bool two_a_rank_even(int64_t ranks, int64_t microbatches)
{
    return microbatches >= 2 * ranks && microbatches % 2 == 0;
}

#define NEEDS_ROUNDS "micro-batches that divide evenly into rounds of at least one a rank"

/* clang-format off */
static const kind_row kinds[] = {
    /* name                   V  placement   splits even   takes            needs                                           generator */
    { "gpipe",                1, PLACE_LOOP, false, false, NULL,            "",                                             lin_generate_gpipe },
    { "1f1b",                 1, PLACE_LOOP, false, false, NULL,            "",                                             lin_generate_1f1b },
    { "looped-bfs",           0, PLACE_LOOP, false, false, NULL,            "",                                             lin_generate_looped_bfs },
    { "interleaved-1f1b",     0, PLACE_LOOP, false, false, in_rounds,       NEEDS_ROUNDS,                                   lin_generate_interleaved },
    { "interleaved-zero-bubble", 0, PLACE_LOOP, true, false, in_rounds,     NEEDS_ROUNDS,                                   lin_generate_zero_bubble },
    { "zb1p",                 1, PLACE_LOOP, true,  false, in_rounds,       NEEDS_ROUNDS,                                   lin_generate_zero_bubble },
    { "zb-h1-megatron-patch", 1, PLACE_LOOP, true,  false, one_a_rank,      "at least one micro-batch a rank",              lin_generate_zb_h1 },
    { "zbv",                  2, PLACE_V,    true,  false, NULL,            "",                                             lin_generate_zbv },
    { "dualpipe",             1, PLACE_BOTH, true,  true,  two_a_rank_even, "an even number of micro-batches, at least two a rank", lin_generate_dualpipe },
    { "dualpipev",            2, PLACE_V,    true,  false, two_a_rank,      "at least two micro-batches a rank",            lin_generate_dualpipev },
};
/* clang-format on */

uint32_t lin_schedule_kind_count(void)
{
    return (uint32_t)ARRAY_LEN(kinds);
}

const char *lin_schedule_kind_name(uint32_t index)
{
    return index < ARRAY_LEN(kinds) ? kinds[index].name : NULL;
}

bool lin_schedule_kind_splits(uint32_t index)
{
    return kinds[index].splits;
}

uint32_t lin_schedule_kind_stages(uint32_t index)
{
    return kinds[index].virtual_stages;
}

static const kind_row *find_kind(const char *name)
{
    for (uint32_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

bool lin_schedule_is_kind(const char *name)
{
    return find_kind(name) != NULL;
}

/* ---- what a request may be ---- */

static linnet_status fail_name(const char *name, linnet_error *err)
{
    const char *words[ARRAY_LEN(kinds)];
    char shown[64], all[256] = "";
    for (uint32_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const size_t used = strlen(all);
        words[i] = kinds[i].name;
        snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    const char *nearest = lin_nearest(name, words, (uint32_t)ARRAY_LEN(kinds));
    lin_copy_utf8(shown, sizeof shown, name);
    if (nearest != NULL)
        return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                        "there is no schedule `%s`; did you mean `%s`?", shown, nearest);
    return lin_fail(err, LINNET_ERROR_NOT_FOUND, "there is no schedule `%s`; there are %s", shown,
                    all);
}

static linnet_status check_range(const char *what, int64_t value, int64_t most, linnet_error *err)
{
    if (value < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "%s must be at least 1, not %lld", what,
                        (long long)value);
    if (value > most)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "%s must be at most %lld, not %lld", what,
                        (long long)most, (long long)value);
    return LINNET_OK;
}

static linnet_status check_virtual(const kind_row *kind, const lin_schedule_request *request,
                                   linnet_error *err)
{
    if (request->virtual_stages == 0)
        return LINNET_OK;
    if (kind->virtual_stages != 0 && request->virtual_stages != (int64_t)kind->virtual_stages)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "`%s` has %u stage%s a rank, not %lld: the schedules with any number of "
                        "them are `looped-bfs`, `interleaved-1f1b` and `interleaved-zero-bubble`",
                        kind->name, kind->virtual_stages, kind->virtual_stages == 1 ? "" : "s",
                        (long long)request->virtual_stages);
    return check_range("the number of stages a rank", request->virtual_stages,
                       LIN_SCHEDULE_MAX_VIRTUAL, err);
}

/* The nearest number of micro-batches that the row takes, from `from` in steps of `step`; 0: there
 * is none. Every row takes one within the next 2 * ranks. */
static int64_t search(const kind_row *kind, int64_t ranks, int64_t from, int64_t step)
{
    for (int64_t i = 1; i <= 2 * ranks + 2; i++) {
        const int64_t tried = from + i * step;
        if (tried < 1 || tried > LIN_SCHEDULE_MAX_MICROBATCHES)
            return 0;
        if (kind->takes(ranks, tried))
            return tried;
    }
    return 0;
}

static linnet_status fail_microbatches(const kind_row *kind, const lin_schedule_request *request,
                                       linnet_error *err)
{
    const int64_t below = search(kind, request->ranks, request->microbatches, -1);
    const int64_t above = search(kind, request->ranks, request->microbatches, 1);
    char nearest[96] = "no number will do";
    if (below != 0 && above != 0)
        snprintf(nearest, sizeof nearest, "the nearest numbers are %lld and %lld", (long long)below,
                 (long long)above);
    else if (below != 0 || above != 0)
        snprintf(nearest, sizeof nearest, "the nearest number is %lld", (long long)(below + above));
    return lin_fail(err, LINNET_ERROR_ARGUMENT, "`%s` needs %s, not %lld on %lld rank%s; %s",
                    kind->name, kind->needs, (long long)request->microbatches,
                    (long long)request->ranks, request->ranks == 1 ? "" : "s", nearest);
}

static linnet_status check_ranks(const kind_row *kind, int64_t ranks, linnet_error *err)
{
    linnet_status status = check_range("the number of ranks", ranks, LIN_SCHEDULE_MAX_RANKS, err);
    if (status != LINNET_OK || !kind->even_ranks || ranks % 2 == 0)
        return status;
    if (ranks == 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "`%s` needs an even number of ranks, not 1; the nearest number is 2",
                        kind->name);
    return lin_fail(err, LINNET_ERROR_ARGUMENT,
                    "`%s` needs an even number of ranks, not %lld; the nearest numbers are %lld "
                    "and %lld",
                    kind->name, (long long)ranks, (long long)ranks - 1, (long long)ranks + 1);
}

static int64_t stages_a_rank(const kind_row *kind, const lin_schedule_request *request)
{
    if (kind->virtual_stages != 0)
        return kind->virtual_stages;
    return request->virtual_stages != 0 ? request->virtual_stages : 2;
}

/* The padding of ZBV is gone through as well. */
static linnet_status check_size(const kind_row *kind, const lin_schedule_request *request,
                                linnet_error *err)
{
    const int64_t stages = request->ranks * stages_a_rank(kind, request);
    int64_t microbatches = request->microbatches, actions;
    if (kind->generate == lin_generate_zbv && microbatches < 2 * request->ranks)
        microbatches = 2 * request->ranks;
    /* At most 2^28 stages of 2^20 micro-batches. */
    actions = stages * microbatches * (kind->splits ? 3 : 2);
    if (stages <= LIN_SCHEDULE_MAX_STAGES && actions <= LIN_SCHEDULE_MAX_ACTIONS)
        return LINNET_OK;
    return lin_fail(err, LINNET_ERROR_ARGUMENT,
                    "%lld stages of %lld micro-batches are up to %lld actions, and a schedule has "
                    "at most %d stages and %d actions",
                    (long long)stages, (long long)request->microbatches, (long long)actions,
                    (int)LIN_SCHEDULE_MAX_STAGES, (int)LIN_SCHEDULE_MAX_ACTIONS);
}

static linnet_status check_request(const lin_schedule_request *request, const kind_row **out_kind,
                                   linnet_error *err)
{
    const kind_row *kind = find_kind(request->name);
    linnet_status status;
    if (kind == NULL)
        return fail_name(request->name, err);
    if ((status = check_ranks(kind, request->ranks, err)) != LINNET_OK ||
        (status = check_range("the number of micro-batches", request->microbatches,
                              LIN_SCHEDULE_MAX_MICROBATCHES, err)) != LINNET_OK ||
        (status = check_virtual(kind, request, err)) != LINNET_OK)
        return status;
    if (kind->takes != NULL && !kind->takes(request->ranks, request->microbatches))
        return fail_microbatches(kind, request, err);
    *out_kind = kind;
    return check_size(kind, request, err);
}

/* ---- building ---- */

static lin_slot slot_at(const kind_row *kind, const lin_shape *shape, uint32_t rank, uint32_t slot)
{
    switch (kind->place) {
    case PLACE_LOOP:
        return (lin_slot){ .stage = slot * shape->ranks + rank };
    case PLACE_V:
        return (lin_slot){ .stage = slot == 0 ? rank : 2 * shape->ranks - 1 - rank };
    case PLACE_BOTH:
        return (lin_slot){ .stage = slot == 0 ? rank : shape->ranks - 1 - rank, .direction = slot };
    }
    return (lin_slot){ 0 };
}

static void lay_out(lin_arena *arena, const kind_row *kind, const lin_shape *shape,
                    lin_schedule *schedule, lin_schedule_rank *ranks, uint32_t slot_count)
{
    const uint64_t held = (uint64_t)schedule->stages * schedule->directions;
    uint32_t *rank_of = LIN_NEW_ARRAY(arena, uint32_t, held);
    uint16_t *slot_of = LIN_NEW_ARRAY(arena, uint16_t, held);
    lin_slot *slots = LIN_NEW_ARRAY(arena, lin_slot, (uint64_t)shape->ranks * slot_count);
    for (uint32_t r = 0; r < shape->ranks; r++) {
        ranks[r].slots = slots + (uint64_t)r * slot_count;
        ranks[r].slot_count = slot_count;
        for (uint32_t i = 0; i < slot_count; i++) {
            const lin_slot slot = slot_at(kind, shape, r, i);
            slots[(uint64_t)r * slot_count + i] = slot;
            rank_of[slot.direction * schedule->stages + slot.stage] = r;
            slot_of[slot.direction * schedule->stages + slot.stage] = (uint16_t)i;
        }
    }
    schedule->rank = ranks;
    schedule->rank_of = rank_of;
    schedule->slot_of = slot_of;
}

/* One block for the actions of all ranks, each list right after the one before. */
static void generate_ranks(lin_arena *arena, const kind_row *kind, const lin_shape *shape,
                           lin_schedule_rank *ranks, uint32_t slot_count)
{
    const uint64_t most = (uint64_t)shape->microbatches * slot_count * (kind->splits ? 3 : 2);
    lin_action *next = LIN_NEW_ARRAY(arena, lin_action, most * shape->ranks);
    uint32_t *counters = LIN_NEW_ARRAY(arena, uint32_t, 3 * (uint64_t)slot_count);
    for (uint32_t r = 0; r < shape->ranks; r++) {
        lin_emitter e = {
            .shape = *shape,
            .rank = r,
            .items = next,
            .done = { counters, counters + slot_count, counters + 2 * (uint64_t)slot_count },
            .limit = shape->microbatches,
        };
        memset(counters, 0, 3 * (size_t)slot_count * sizeof *counters);
        kind->generate(&e);
        ranks[r].actions = next;
        ranks[r].action_count = e.count;
        next += e.count;
    }
}

static lin_schedule *build(lin_arena *arena, const kind_row *kind,
                           const lin_schedule_request *request, bool with_actions)
{
    lin_schedule *schedule = LIN_NEW(arena, lin_schedule);
    const uint32_t directions = kind->place == PLACE_BOTH ? 2 : 1;
    const lin_shape shape = {
        .ranks = (uint32_t)request->ranks,
        .virtual_stages = (uint32_t)stages_a_rank(kind, request),
        .microbatches = (uint32_t)request->microbatches / directions,
    };
    const uint32_t slot_count = shape.virtual_stages * directions;
    lin_schedule_rank *ranks = LIN_NEW_ARRAY(arena, lin_schedule_rank, shape.ranks);
    schedule->name = kind->name;
    schedule->ranks = shape.ranks;
    schedule->stages = shape.ranks * shape.virtual_stages;
    schedule->directions = directions;
    schedule->microbatches = shape.microbatches * directions;
    schedule->direction_microbatches = shape.microbatches;
    lay_out(arena, kind, &shape, schedule, ranks, slot_count);
    if (with_actions)
        generate_ranks(arena, kind, &shape, ranks, slot_count);
    return schedule;
}

static linnet_status build_guarded(lin_arena *arena, const kind_row *kind,
                                   const lin_schedule_request *request, bool with_actions,
                                   lin_schedule **out, linnet_error *err)
{
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0)
        return lin_fail_memory(err);
    arena->on_failure = &out_of_memory;
    *out = build(arena, kind, request, with_actions);
    return LINNET_OK;
}

static linnet_status make(const lin_schedule_request *request, bool with_actions,
                          const lin_allocator *allocator, lin_schedule **out, linnet_error *err)
{
    const kind_row *kind = NULL;
    lin_schedule *schedule = NULL;
    lin_arena arena;
    linnet_status status = check_request(request, &kind, err);
    if (status != LINNET_OK)
        return status;
    lin_arena_init(&arena, allocator);
    status = build_guarded(&arena, kind, request, with_actions, &schedule, err);
    arena.on_failure = NULL;
    if (status != LINNET_OK) {
        lin_arena_free(&arena);
        return status;
    }
    schedule->arena = arena;
    *out = schedule;
    return LINNET_OK;
}

linnet_status lin_schedule_new(const lin_schedule_request *request, const lin_allocator *allocator,
                               lin_schedule **out, linnet_error *err)
{
    return make(request, true, allocator, out, err);
}

linnet_status lin_schedule_outline(const lin_schedule_request *request,
                                   const lin_allocator *allocator, lin_schedule **out,
                                   linnet_error *err)
{
    return make(request, false, allocator, out, err);
}

void lin_schedule_free(lin_schedule *schedule)
{
    if (schedule == NULL)
        return;
    lin_arena arena = schedule->arena;
    lin_arena_free(&arena);
}
