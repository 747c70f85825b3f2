/* SPDX-License-Identifier: MIT */

/*
 * The advice for one configuration: its own peak and time, each change alone, and, where it does
 * not fit, the cheapest combinations: of changes that leave results alone, then faster ones that
 * limit lengths or have other numerics, and what changes the task only when nothing else fits.
 * Cost: a trace and a prepared memory for each change, and what advise_combine.c needs.
 */

#include "plan/advise_space.h"

/* ---- the unchanged configuration ---- */

/* What cannot be timed says why, once. */
static linnet_status find_time(advice_space *s, lin_memory *memory, lin_advice *advice,
                               linnet_error *err)
{
    const lin_advice_settings *settings = s->settings;
    const lin_timing_settings timing_settings = { .model = settings->time_model,
                                                  .training = s->facts.base.is_training,
                                                  .parallel = settings->memory.parallel };
    lin_timing *timing = NULL;
    linnet_error why = { 0 };
    if (settings->profile == NULL) {
        advice->untimed = "no device is given";
        return LINNET_OK;
    }
    const linnet_status status =
        lin_timing_new(memory, settings->profile, &timing_settings, s->allocator, &timing, &why);
    lin_timing_free(timing);
    s->is_timed = status == LINNET_OK;
    if (status == LINNET_ERROR_NO_MEMORY)
        return lin_fail_memory(err);
    if (status != LINNET_OK)
        advice->untimed = lin_arena_copy(s->arena, why.message);
    return LINNET_OK;
}

/* Texts that outlive the memory. The caller frees both, also when this jumps. */
static linnet_status read_base(advice_space *s, lin_memory *memory, lin_answer **answer,
                               lin_advice *advice, linnet_error *err)
{
    static const int64_t as_configured[LIN_ROLE_COUNT];
    linnet_status status = lin_memory_holds(memory, as_configured, &s->base_holds, err);
    if (status == LINNET_OK)
        status = lin_memory_analyse(memory, as_configured, answer, err);
    if (status != LINNET_OK)
        return status;
    advice->model = lin_arena_copy(s->arena, (*answer)->model);
    advice->entry = lin_arena_copy(s->arena, (*answer)->entry);
    if (s->settings->profile != NULL)
        advice->device = lin_arena_copy(s->arena, s->settings->profile->name);
    return find_time(s, memory, advice, err);
}

static linnet_status read_guarded(advice_space *s, lin_memory *memory, lin_answer **answer,
                                  lin_advice *advice, linnet_error *err)
{
    jmp_buf out_of_memory, *const outer = s->arena->on_failure;
    if (setjmp(out_of_memory) != 0) {
        s->arena->on_failure = outer;
        return lin_fail_memory(err);
    }
    s->arena->on_failure = &out_of_memory;
    const linnet_status status = read_base(s, memory, answer, advice, err);
    s->arena->on_failure = outer;
    return status;
}

static linnet_status open_base(advice_space *s, lin_advice *advice, linnet_error *err)
{
    advice_variant v = s->facts.base;
    lin_traced traced;
    lin_memory *memory = NULL;
    lin_answer *answer = NULL;
    v.memory.training = v.is_training ? &v.training : NULL;
    linnet_status status = lin_trace(s->settings->source, &v.trace, s->allocator, &traced, err);
    if (status == LINNET_OK)
        status = lin_memory_new(s->settings->source, &traced, &v.trace, &v.memory, s->allocator,
                                &memory, err);
    if (status == LINNET_OK)
        status = read_guarded(s, memory, &answer, advice, err);
    lin_answer_free(answer);
    lin_memory_free(memory);
    if (status == LINNET_OK)
        status = lin_advise_time(s, 0, err);
    return status == LINNET_OK ? lin_advise_peak(s, 0, err) : status;
}

/* ---- each change alone ---- */

/* The same calls and the same peak: a combination with it is one without. */
static bool is_same(const advice_space *s, change_kind kind, const lin_outcome *outcome)
{
    return kind < KIND_RECOMPUTE && s->is_timed && outcome->saved == 0 &&
           s->seconds[0] == outcome->seconds;
}

static linnet_status try_alone(advice_space *s, change_kind kind, uint32_t option,
                               linnet_error *err)
{
    lin_advised *item = &s->items[s->options[kind][option].item];
    advice_choice choice = { { 0 } };
    choice.option[kind] = (uint8_t)(option + 1);
    const uint64_t index = lin_advise_index(s, &choice);
    s->refusal[0] = '\0';
    linnet_status status = lin_advise_peak(s, index, err);
    if (status == LINNET_OK)
        status = lin_advise_time(s, index, err);
    if (status != LINNET_OK)
        return status;
    if (s->peaks[index] < 0) {
        item->state = LIN_ADVISED_REFUSED;
        item->why_not = s->refusal[0] != '\0' ? lin_arena_copy(s->arena, s->refusal)
                                              : "it breaks one of the model's `where` clauses";
        s->is_dropped[kind][option] = true;
        return lin_advise_tell(s, err);
    }
    const lin_outcome outcome = lin_advise_outcome(s, index);
    if (is_same(s, kind, &outcome)) {
        item->why_not = "nothing changes: it is so already";
        s->is_dropped[kind][option] = true;
        return lin_advise_tell(s, err);
    }
    item->outcome = outcome;
    item->state = outcome.saved > 0 ? LIN_ADVISED_SAVES : LIN_ADVISED_SAVES_NOTHING;
    return lin_advise_tell(s, err);
}

static linnet_status try_all(advice_space *s, linnet_error *err)
{
    linnet_status status = LINNET_OK;
    for (change_kind kind = 0; kind < KIND_COUNT; kind++)
        for (uint32_t i = 0; i < s->option_count[kind] && status == LINNET_OK; i++)
            status = try_alone(s, kind, i, err);
    return status;
}

/* ---- combinations ---- */

enum { MOST_FOUND = 4 };

typedef struct found_list {
    uint64_t index[MOST_FOUND];
    uint32_t count;
} found_list;

static linnet_status find_next(advice_space *s, lin_effects effects, const advice_found *below,
                               found_list *list, linnet_error *err)
{
    advice_found next;
    const linnet_status status = lin_advise_combine(s, effects, below, &next, err);
    if (status == LINNET_OK && next.found)
        list->index[list->count++] = next.index;
    return status;
}

static linnet_status combine(advice_space *s, found_list *list, linnet_error *err)
{
    static const lin_effects last[] = { LIN_EFFECT_LENGTHS | LIN_EFFECT_NUMERICS, LIN_EFFECT_TASK };
    const advice_found any = { .found = false };
    linnet_status status = find_next(s, 0, &any, list, err);
    const advice_found same = { .found = list->count > 0, .index = list->index[0] };
    if (status == LINNET_OK)
        status = find_next(s, LIN_EFFECT_LENGTHS, &same, list, err);
    if (status == LINNET_OK)
        status = find_next(s, LIN_EFFECT_NUMERICS, &same, list, err);
    for (uint32_t i = 0; i < ARRAY_LEN(last) && status == LINNET_OK && list->count == 0; i++)
        status = find_next(s, last[i], &any, list, err);
    return status == LINNET_OK && list->count == 0 ? lin_advise_find_closest(s, err) : status;
}

/* ---- the answer ---- */

static uint32_t rank_of_state(const lin_advised *item)
{
    if (item->state == LIN_ADVISED_SAVES || item->state == LIN_ADVISED_SAVES_NOTHING)
        return item->outcome.seconds >= 0 ? 0 : 1;
    return 2;
}

static bool goes_before(const lin_advised *a, const lin_advised *b)
{
    const uint32_t rank = rank_of_state(a), other = rank_of_state(b);
    if (rank != other)
        return rank < other;
    if (rank == 0 && a->outcome.extra != b->outcome.extra)
        return a->outcome.extra < b->outcome.extra;
    return rank == 0 && a->outcome.saved > b->outcome.saved;
}

/* Insertion keeps the order of the table among equals; `position` says where each item went. */
static lin_advised *sort_items(const advice_space *s, lin_arena *arena, uint32_t *position)
{
    lin_advised *sorted = LIN_NEW_ARRAY(arena, lin_advised, s->item_count);
    uint32_t from[MOST_ITEMS];
    for (uint32_t i = 0; i < s->item_count; i++) {
        uint32_t at = i;
        for (; at > 0 && goes_before(&s->items[i], &s->items[from[at - 1]]); at--)
            from[at] = from[at - 1];
        from[at] = i;
    }
    for (uint32_t i = 0; i < s->item_count; i++) {
        sorted[i] = s->items[from[i]];
        position[from[i]] = i;
    }
    return sorted;
}

static void make_set(const advice_space *s, uint64_t index, const uint32_t *position,
                     lin_advised_set *out)
{
    const advice_choice choice = lin_advise_choice(s, index);
    const advice_variant v = lin_advise_vary(s, &choice);
    const uint64_t bits = lin_advise_members(s, &choice);
    uint32_t *members = LIN_NEW_ARRAY(s->arena, uint32_t, KIND_COUNT);
    *out = (lin_advised_set){ .members = members,
                              .options = lin_arena_copy(s->arena, v.options),
                              .effects = lin_advise_effects(s, &choice),
                              .outcome = lin_advise_outcome(s, index) };
    for (uint32_t item = 0; item < s->item_count; item++) {
        if ((bits >> item & 1) == 0)
            continue;
        uint32_t at = out->count++;
        for (; at > 0 && members[at - 1] > position[item]; at--)
            members[at] = members[at - 1];
        members[at] = position[item];
    }
}

static void assume(const advice_space *s, lin_advice *advice)
{
    enum { MOST = 4 };
    const char **list = LIN_NEW_ARRAY(s->arena, const char *, MOST);
    if (s->is_timed)
        list[advice->assumption_count++] =
            "seconds are those of as many tokens as the unchanged step has";
    if (s->facts.base.is_training)
        list[advice->assumption_count++] =
            "not modelled, and so not among the changes: offload to the host other than paged "
            "states, and optimizers that run inside the backward pass";
    else
        list[advice->assumption_count++] =
            "not modelled, and so not among the changes: quantizing the weights, and offload to "
            "the host";
    advice->assumptions = list;
}

static void fill_answer(advice_space *s, const found_list *found, lin_advice *advice)
{
    uint32_t position[MOST_ITEMS] = { 0 };
    advice->base = lin_advise_outcome(s, 0);
    advice->items = sort_items(s, s->arena, position);
    advice->count = s->item_count;
    lin_advised_set *sets = LIN_NEW_ARRAY(s->arena, lin_advised_set, MOST_FOUND);
    for (uint32_t i = 0; i < found->count; i++)
        make_set(s, found->index[i], position, &sets[i]);
    advice->sets = sets;
    advice->set_count = found->count;
    if (!advice->base.fits && found->count == 0) {
        lin_advised_set *closest = LIN_NEW(s->arena, lin_advised_set);
        make_set(s, s->smallest_index, position, closest);
        advice->closest = closest;
    }
    advice->combinations = s->size;
    advice->evaluated = s->evaluated;
    assume(s, advice);
}

static linnet_status run(advice_space *s, lin_advice *advice, linnet_error *err)
{
    found_list found = { .count = 0, .index = { 0 } };
    linnet_status status = lin_advise_find_facts(s, err);
    if (status != LINNET_OK)
        return status;
    lin_advise_list_items(s);
    s->total = s->item_count + 2 * s->size;
    if ((status = open_base(s, advice, err)) != LINNET_OK ||
        (status = try_all(s, err)) != LINNET_OK)
        return status;
    if (s->peaks[0] < 0 || s->peaks[0] > s->settings->budget_bytes)
        status = combine(s, &found, err);
    if (status != LINNET_OK)
        return status;
    fill_answer(s, &found, advice);
    s->done = s->total;
    return lin_advise_tell(s, err);
}

/* Apart from its caller: no local that changes lives across the setjmp. */
static linnet_status run_guarded(advice_space *s, lin_advice *advice, linnet_error *err)
{
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0) {
        s->arena->on_failure = NULL;
        return lin_fail_memory(err);
    }
    s->arena->on_failure = s->scratch->on_failure = &out_of_memory;
    const linnet_status status = run(s, advice, err);
    s->arena->on_failure = NULL;
    return status;
}

static lin_advice *new_advice(const lin_advice_settings *settings, const lin_allocator *allocator)
{
    lin_advice *advice = lin_alloc_zeroed(allocator, sizeof(*advice));
    if (advice == NULL)
        return NULL;
    advice->allocator = *allocator;
    advice->time_model = settings->time_model;
    advice->budget = settings->budget_bytes;
    lin_arena_init(&advice->arena, allocator);
    return advice;
}

linnet_status lin_advice_new(const lin_advice_settings *settings, const lin_allocator *allocator,
                             lin_advice **out, linnet_error *err)
{
    lin_arena scratch;
    if (settings->budget_bytes < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a budget of %lld bytes holds nothing",
                        (long long)settings->budget_bytes);
    lin_advice *advice = new_advice(settings, allocator);
    advice_space *s = lin_alloc_zeroed(allocator, sizeof(*s));
    linnet_status status = LINNET_ERROR_NO_MEMORY;
    lin_arena_init(&scratch, allocator);
    if (advice == NULL || s == NULL) {
        lin_fail_memory(err);
    } else {
        s->settings = settings;
        s->allocator = allocator;
        s->arena = &advice->arena;
        s->scratch = &scratch;
        status = run_guarded(s, advice, err);
    }
    lin_arena_free(&scratch);
    lin_release(allocator, s, sizeof(*s));
    if (status != LINNET_OK) {
        lin_advice_free(advice);
        return status;
    }
    *out = advice;
    return LINNET_OK;
}

void lin_advice_free(lin_advice *advice)
{
    if (advice == NULL)
        return;
    const lin_allocator allocator = advice->allocator;
    lin_arena_free(&advice->arena);
    lin_release(&allocator, advice, sizeof(*advice));
}

bool lin_advice_can_fit(const lin_advice *advice)
{
    bool fits = advice->base.fits || advice->set_count > 0;
    for (uint32_t i = 0; i < advice->count && !fits; i++)
        fits = advice->items[i].outcome.fits;
    return fits;
}
