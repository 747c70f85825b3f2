/* SPDX-License-Identifier: MIT */

/*
 * A schedule from JSON. The text is gone through twice: once for the numbers, which may stand
 * anywhere, and once for the lists, which are read against them. Nothing is allocated for what the
 * file merely claims: a list grows as it is read, and the tables over stages have a limit.
 *
 * A rank's slots are the stages that its actions name. Where the schedule is called `dualpipe` the
 * number of an action is its direction, and rank r holds stage r of direction 0 and stage P - 1 - r
 * of direction 1.
 */

#include "schedule/spell.h"
#include "json/json.h"
#include <string.h>

enum { MAX_NAME = 64, SHOWN_WORD = 48 };
static const uint32_t unheld = UINT32_MAX;

typedef struct entry {
    lin_spelled action;
    bool overlaps_next;
} entry;

/* A rank's list as it stands in the file: its number may come after it. */
typedef struct rank_list {
    bool has_number, has_actions;
    int64_t number;
    LIN_LIST(entry) entries;
    uint32_t action_count;     /* a pair is one */
    uint32_t bad_action;       /* the first word that is no action */
    char bad_word[SHOWN_WORD]; /* "": there is none */
} rank_list;

typedef struct reader {
    lin_pull pull;
    lin_schedule *schedule;
    lin_arena arena, scratch; /* the schedule's; the reading's */
    lin_schedule_rank *ranks;
    uint32_t *rank_of;
    uint16_t *slot_of;
    rank_list list;
    LIN_LIST(lin_slot) slots; /* of the list's rank */
    uint64_t total;           /* actions of all ranks */
    linnet_error *err;        /* not NULL */
} reader;

/* `what` fills the format's one %s. */
static linnet_status fail_shape(reader *r, const char *format, const char *what)
{
    return lin_fail_at(r->err, LINNET_ERROR_FORMAT, (lin_place){ .source = r->pull.source_name },
                       NULL, format, what);
}

/* The next event; on LIN_PULL_ERROR `*status` is what the reader says. */
static lin_pull_event next(reader *r, linnet_status *status)
{
    const lin_pull_event event = lin_pull_next(&r->pull, r->err);
    *status = event == LIN_PULL_ERROR ? (linnet_status)r->err->code : LINNET_OK;
    return event;
}

/* The word last read, for a message. */
static void show_word(char out[SHOWN_WORD], const reader *r)
{
    char word[SHOWN_WORD];
    const uint64_t length =
        r->pull.value_length < SHOWN_WORD - 8 ? r->pull.value_length : SHOWN_WORD - 8;
    memcpy(word, r->pull.value, (size_t)length);
    word[length] = '\0';
    lin_copy_utf8(out, SHOWN_WORD, word);
}

static bool is_key(const reader *r, const char *key)
{
    return r->pull.value_length == strlen(key) &&
           memcmp(r->pull.value, key, (size_t)r->pull.value_length) == 0;
}

/* ---- the numbers ---- */

static linnet_status read_count(reader *r, const char *key, uint32_t most, uint32_t *out)
{
    int64_t value;
    linnet_status status;
    const lin_pull_event event = next(r, &status);
    if (status != LINNET_OK)
        return status;
    if (*out != 0)
        return fail_shape(r, "the key `%s` stands there twice", key);
    if (event != LIN_PULL_NUMBER || !lin_pull_i64(&r->pull, &value) || value < 1)
        return fail_shape(r, "`%s` must be a whole number of at least 1", key);
    if (value > (int64_t)most)
        return fail_shape(r, "`%s` is past what is read", key);
    *out = (uint32_t)value;
    return LINNET_OK;
}

static linnet_status read_name(reader *r)
{
    linnet_status status;
    const lin_pull_event event = next(r, &status);
    if (status != LINNET_OK)
        return status;
    if (r->schedule->name != NULL)
        return fail_shape(r, "the key `%s` stands there twice", "schedule");
    if (event != LIN_PULL_STRING || r->pull.value_length == 0 || r->pull.value_length > MAX_NAME)
        return fail_shape(r, "`%s` must be a name of at most 64 bytes", "schedule");
    for (uint64_t i = 0; i < r->pull.value_length; i++)
        if ((unsigned char)r->pull.value[i] < 0x20 || r->pull.value[i] == 0x7f)
            return fail_shape(r, "`%s` must be a name without control characters", "schedule");
    r->schedule->name = lin_arena_text(&r->arena, r->pull.value, r->pull.value_length);
    return LINNET_OK;
}

static linnet_status skip(reader *r)
{
    linnet_status status;
    const lin_pull_event event = next(r, &status);
    return status == LINNET_OK ? lin_pull_skip(&r->pull, event, r->err) : status;
}

static linnet_status read_head_key(reader *r, bool *has_ranks)
{
    lin_schedule *s = r->schedule;
    if (is_key(r, "schedule"))
        return read_name(r);
    if (is_key(r, "ranks"))
        return read_count(r, "ranks", LIN_SCHEDULE_MAX_RANKS, &s->ranks);
    if (is_key(r, "microbatches"))
        return read_count(r, "microbatches", LIN_SCHEDULE_MAX_MICROBATCHES, &s->microbatches);
    if (is_key(r, "stages"))
        return read_count(r, "stages", LIN_SCHEDULE_MAX_STAGES, &s->stages);
    if (is_key(r, "per_rank")) {
        if (*has_ranks)
            return fail_shape(r, "the key `%s` stands there twice", "per_rank");
        *has_ranks = true;
    }
    return skip(r);
}

/* To the next key of the object that is open; false at its end or on failure. */
static bool next_key(reader *r, linnet_status *status)
{
    if (*status != LINNET_OK)
        return false;
    return next(r, status) == LIN_PULL_KEY;
}

static linnet_status check_head(reader *r, bool has_ranks)
{
    lin_schedule *s = r->schedule;
    const char *missing = s->name == NULL        ? "schedule"
                          : s->ranks == 0        ? "ranks"
                          : s->microbatches == 0 ? "microbatches"
                          : s->stages == 0       ? "stages"
                          : !has_ranks           ? "per_rank"
                                                 : NULL;
    if (missing != NULL)
        return fail_shape(r, "the key `%s` is missing", missing);
    s->directions = strcmp(s->name, "dualpipe") == 0 ? 2 : 1;
    s->direction_microbatches = s->microbatches / s->directions;
    if (s->directions == 2 && s->stages != s->ranks)
        return fail_shape(r, "a `%s` schedule has as many stages as ranks", s->name);
    if (s->microbatches % s->directions != 0)
        return fail_shape(r, "a `%s` schedule has an even number of micro-batches", s->name);
    if ((uint64_t)s->ranks > (uint64_t)s->stages * s->directions)
        return fail_shape(r, "`%s` must be at most the number of stages", "ranks");
    return LINNET_OK;
}

/* An object's opening brace; the text begins with it. */
static linnet_status open_object(reader *r)
{
    linnet_status status;
    if (next(r, &status) == LIN_PULL_OBJECT || status != LINNET_OK)
        return status;
    return fail_shape(r, "a schedule must be a JSON %s", "object");
}

static linnet_status read_head(reader *r)
{
    bool has_ranks = false;
    linnet_status status = open_object(r);
    while (next_key(r, &status))
        status = read_head_key(r, &has_ranks);
    if (status == LINNET_OK)
        (void)next(r, &status); /* the end: anything else is an error */
    return status == LINNET_OK ? check_head(r, has_ranks) : status;
}

/* ---- a list ---- */

static linnet_status read_action(reader *r)
{
    rank_list *list = &r->list;
    lin_spelled spelled[2];
    const uint32_t count = lin_spelled_read(r->pull.value, r->pull.value_length, spelled);
    if (count == 0 && list->bad_word[0] == '\0') {
        show_word(list->bad_word, r);
        if (list->bad_word[0] == '\0')
            list->bad_word[0] = ' ';
        list->bad_action = list->action_count;
    }
    if ((r->total += count) > LIN_SCHEDULE_MAX_ACTIONS)
        return fail_shape(r, "there are more %s than are read", "actions");
    for (uint32_t i = 0; i < count; i++) {
        const entry e = { .action = spelled[i], .overlaps_next = count == 2 && i == 0 };
        (void)LIN_PUSH(&r->scratch, &list->entries, e);
    }
    list->action_count++;
    return LINNET_OK;
}

static linnet_status read_actions(reader *r)
{
    linnet_status status;
    lin_pull_event event = next(r, &status);
    if (status != LINNET_OK)
        return status;
    if (r->list.has_actions)
        return fail_shape(r, "the key `%s` stands there twice for one rank", "actions");
    if (event != LIN_PULL_ARRAY)
        return fail_shape(r, "`%s` must be an array of actions", "actions");
    r->list.has_actions = true;
    while ((event = next(r, &status)) == LIN_PULL_STRING)
        if ((status = read_action(r)) != LINNET_OK)
            return status;
    if (status == LINNET_OK && event != LIN_PULL_ARRAY_END)
        return fail_shape(r, "`%s` must be an array of strings", "actions");
    return status;
}

static linnet_status read_number(reader *r)
{
    linnet_status status;
    const lin_pull_event event = next(r, &status);
    if (status != LINNET_OK)
        return status;
    if (r->list.has_number)
        return fail_shape(r, "the key `%s` stands there twice for one rank", "rank");
    if (event != LIN_PULL_NUMBER || !lin_pull_i64(&r->pull, &r->list.number))
        return fail_shape(r, "`%s` must be a whole number", "rank");
    r->list.has_number = true;
    return LINNET_OK;
}

static linnet_status check_list(reader *r)
{
    const rank_list *list = &r->list;
    const lin_place place = { .source = r->pull.source_name };
    if (!list->has_number || !list->has_actions)
        return fail_shape(r, "an item of `per_rank` has no key `%s`",
                          list->has_number ? "actions" : "rank");
    if (list->number < 0 || list->number >= (int64_t)r->schedule->ranks)
        return lin_fail_at(r->err, LINNET_ERROR_FORMAT, place, NULL,
                           "rank %lld is out of range: there are %u ranks", (long long)list->number,
                           r->schedule->ranks);
    if (r->ranks[list->number].actions != NULL)
        return lin_fail_at(r->err, LINNET_ERROR_FORMAT, place, NULL, "rank %lld stands there twice",
                           (long long)list->number);
    if (list->bad_word[0] != '\0')
        return lin_fail_at(r->err, LINNET_ERROR_FORMAT, place, NULL,
                           "rank %lld, action %u: `%s` is no action such as `0F0`",
                           (long long)list->number, list->bad_action, list->bad_word);
    return LINNET_OK;
}

/* ---- placing a list's actions ---- */

static linnet_status fail_entry(reader *r, uint32_t index, const char *why)
{
    char shown[LIN_SPELLED_TEXT];
    uint32_t number = index;
    for (uint32_t i = 0; i < index; i++)
        number -= r->list.entries.items[i].overlaps_next;
    lin_spelled_show(shown, &r->list.entries.items[index].action);
    return lin_fail_at(r->err, LINNET_ERROR_FORMAT, (lin_place){ .source = r->pull.source_name },
                       NULL, "rank %lld, action %u: `%s` %s", (long long)r->list.number, number,
                       shown, why);
}

static lin_slot slot_of_number(const reader *r, uint32_t number)
{
    const uint32_t rank = (uint32_t)r->list.number;
    if (r->schedule->directions == 1)
        return (lin_slot){ .stage = number };
    return (lin_slot){ .stage = number == 0 ? rank : r->schedule->ranks - 1 - rank,
                       .direction = number };
}

/* The first rank that names a stage holds it. */
static linnet_status place_entry(reader *r, uint32_t index, lin_action *out)
{
    const entry *e = &r->list.entries.items[index];
    const lin_schedule *s = r->schedule;
    const uint32_t rank = (uint32_t)r->list.number;
    *out = (lin_action){ .microbatch = e->action.microbatch,
                         .kind = (uint8_t)e->action.kind,
                         .overlaps_next = e->overlaps_next };
    if (e->action.kind == LIN_ACTION_STEP)
        return LINNET_OK;
    if (e->action.number >= (s->directions == 2 ? 2 : s->stages))
        return fail_entry(r, index,
                          s->directions == 2 ? "is of no direction: these are 0 and 1"
                                             : "is of a stage out of range");
    if (e->action.microbatch >= s->direction_microbatches)
        return fail_entry(r, index, "is of a micro-batch out of range");
    const lin_slot slot = slot_of_number(r, e->action.number);
    const uint32_t place = slot.direction * s->stages + slot.stage;
    if (r->rank_of[place] != unheld && r->rank_of[place] != rank)
        return fail_entry(r, index, "is of a stage that another rank holds");
    if (r->rank_of[place] == unheld) {
        if (r->slots.count > UINT16_MAX)
            return fail_entry(r, index, "is of one stage too many for a rank");
        r->rank_of[place] = rank;
        r->slot_of[place] = (uint16_t)r->slots.count;
        (void)LIN_PUSH(&r->scratch, &r->slots, slot);
    }
    out->slot = r->slot_of[place];
    r->schedule->has_transfers |=
        e->action.kind >= LIN_ACTION_SEND_FORWARD && e->action.kind <= LIN_ACTION_RECV_BACKWARD;
    return LINNET_OK;
}

static linnet_status place_list(reader *r)
{
    linnet_status status = check_list(r);
    if (status != LINNET_OK)
        return status;
    const uint32_t count = r->list.entries.count;
    lin_action *actions = LIN_NEW_ARRAY(&r->arena, lin_action, count);
    r->slots.count = 0;
    for (uint32_t i = 0; i < count; i++)
        if ((status = place_entry(r, i, &actions[i])) != LINNET_OK)
            return status;
    lin_slot *slots = LIN_NEW_ARRAY(&r->arena, lin_slot, r->slots.count);
    if (r->slots.count > 0)
        memcpy(slots, r->slots.items, r->slots.count * sizeof *slots);
    r->ranks[r->list.number] = (lin_schedule_rank){
        .actions = actions, .slots = slots, .action_count = count, .slot_count = r->slots.count
    };
    return LINNET_OK;
}

/* ---- all lists ---- */

static linnet_status read_rank(reader *r)
{
    linnet_status status = LINNET_OK;
    const uint32_t capacity = r->list.entries.capacity;
    entry *items = r->list.entries.items;
    r->list = (rank_list){ .entries = { .items = items, .capacity = capacity } };
    while (next_key(r, &status))
        status = is_key(r, "rank")      ? read_number(r)
                 : is_key(r, "actions") ? read_actions(r)
                                        : skip(r);
    return status == LINNET_OK ? place_list(r) : status;
}

static linnet_status read_ranks(reader *r)
{
    linnet_status status;
    lin_pull_event event = next(r, &status);
    if (status != LINNET_OK)
        return status;
    if (event != LIN_PULL_ARRAY)
        return fail_shape(r, "`%s` must be an array", "per_rank");
    while ((event = next(r, &status)) == LIN_PULL_OBJECT)
        if ((status = read_rank(r)) != LINNET_OK)
            return status;
    if (status == LINNET_OK && event != LIN_PULL_ARRAY_END)
        return fail_shape(r, "`%s` must be an array of objects", "per_rank");
    return status;
}

static linnet_status check_held(reader *r)
{
    const lin_schedule *s = r->schedule;
    const lin_place place = { .source = r->pull.source_name };
    char shown[LIN_SPELLED_TEXT];
    for (uint32_t i = 0; i < s->ranks; i++)
        if (r->ranks[i].actions == NULL)
            return lin_fail_at(r->err, LINNET_ERROR_FORMAT, place, NULL, "rank %u is missing", i);
    for (uint32_t i = 0; i < s->stages * s->directions; i++) {
        if (r->rank_of[i] != unheld)
            continue;
        const uint32_t stage = i % s->stages;
        lin_place_show(shown, s, LIN_ACTION_FORWARD, i, 0);
        if (s->directions == 2)
            return lin_fail_at(r->err, LINNET_ERROR_FORMAT, place, NULL,
                               "rank %u: the action `%s` is missing",
                               i < s->stages ? stage : s->ranks - 1 - stage, shown);
        return lin_fail_at(r->err, LINNET_ERROR_FORMAT, place, NULL,
                           "no rank holds stage %u: the action `%s` is missing", stage, shown);
    }
    return LINNET_OK;
}

static linnet_status read_lists(reader *r)
{
    lin_schedule *s = r->schedule;
    const uint64_t places = (uint64_t)s->stages * s->directions;
    s->rank = r->ranks = LIN_NEW_ARRAY(&r->arena, lin_schedule_rank, s->ranks);
    s->rank_of = r->rank_of = LIN_NEW_ARRAY(&r->arena, uint32_t, places);
    s->slot_of = r->slot_of = LIN_NEW_ARRAY(&r->arena, uint16_t, places);
    memset(r->rank_of, 0xff, (size_t)places * sizeof *r->rank_of); /* unheld */
    linnet_status status = open_object(r);
    while (next_key(r, &status))
        status = is_key(r, "per_rank") ? read_ranks(r) : skip(r);
    return status == LINNET_OK ? check_held(r) : status;
}

/* ---- the whole ---- */

/* An error of the lists is one of the file. */
static linnet_status with_source(const reader *r, linnet_status status)
{
    const linnet_error found = *r->err;
    if (status != LINNET_ERROR_FORMAT)
        return status;
    return lin_fail_at(r->err, status, (lin_place){ .source = r->pull.source_name }, NULL, "%s",
                       found.message);
}

static linnet_status check_lists(reader *r)
{
    lin_simulation simulation;
    linnet_status status = lin_schedule_check(r->schedule, r->err);
    if (status == LINNET_OK)
        status = lin_schedule_simulate(r->schedule, &lin_unit_times, false, &r->scratch,
                                       &simulation, r->err);
    return with_source(r, status);
}

static linnet_status read_all(reader *r, const char *text, uint64_t length)
{
    jmp_buf out_of_memory;
    linnet_status status;
    if (setjmp(out_of_memory) != 0)
        return lin_fail_memory(r->err);
    r->arena.on_failure = &out_of_memory;
    r->scratch.on_failure = &out_of_memory;
    r->schedule = LIN_NEW(&r->arena, lin_schedule);
    r->schedule->arena.allocator = r->arena.allocator;
    if ((status = read_head(r)) != LINNET_OK)
        return status;
    const char *source_name = r->pull.source_name;
    lin_pull_free(&r->pull);
    lin_pull_init(&r->pull, source_name, text, length, &r->arena.allocator);
    if ((status = read_lists(r)) != LINNET_OK)
        return status;
    return check_lists(r);
}

linnet_status lin_schedule_read(const char *source_name, const char *text, uint64_t length,
                                const lin_allocator *allocator, lin_schedule **out,
                                linnet_error *err)
{
    linnet_error own;
    reader r = { .err = err != NULL ? err : &own };
    lin_arena_init(&r.arena, allocator);
    lin_arena_init(&r.scratch, allocator);
    lin_pull_init(&r.pull, source_name, text, length, allocator);
    linnet_status status = read_all(&r, text, length);
    lin_pull_free(&r.pull);
    lin_arena_free(&r.scratch);
    r.arena.on_failure = NULL;
    if (status != LINNET_OK) {
        lin_arena_free(&r.arena);
        return status;
    }
    r.schedule->arena = r.arena;
    *out = r.schedule;
    return LINNET_OK;
}
