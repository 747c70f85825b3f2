/* SPDX-License-Identifier: MIT */

/*
 * What the table of changes asks of a configuration: its generics, the size that micro-batches cut,
 * its longest array of blocks. One trace, which is dropped again.
 */

#include "plan/advise_space.h"

#include <stdio.h>
#include <string.h>

/* ---- generics ---- */

static const lin_setting *find_bound(const lin_traced *traced, const char *name)
{
    for (uint32_t i = 0; i < traced->bound_count; i++)
        if (!traced->bound[i].is_dtype && strcmp(traced->bound[i].name, name) == 0)
            return &traced->bound[i];
    return NULL;
}

/* ---- caches ---- */

static bool has_caches(const lin_graph *graph)
{
    for (uint32_t i = 0; i < graph->objects.count; i++)
        if (graph->objects.items[i].category == LIN_CATEGORY_KV_CACHE)
            return true;
    return false;
}

/* Some step reads a cache or writes into one. */
static bool uses_caches(const lin_graph *graph)
{
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        const lin_step *step = &graph->steps.items[i];
        for (uint32_t k = 0; k < step->input_count; k++) {
            const lin_object *input = &graph->objects.items[step->inputs[k]];
            if (graph->objects.items[input->owner].category == LIN_CATEGORY_KV_CACHE)
                return true;
        }
    }
    return false;
}

/* ---- arrays ---- */

/* "layers" and 3 of "layers.3.mlp": the outermost array on the way to a scope. */
static bool find_element(const char *scope, uint64_t *out_length, int64_t *out_index)
{
    const uint64_t end = lin_path_element(scope);
    uint64_t dot = end;
    if (end == 0)
        return false;
    while (scope[--dot] != '.')
        continue;
    *out_length = dot;
    return lin_parse_i64(scope + dot + 1, end - dot - 1, out_index);
}

static void find_array(const lin_graph *graph, lin_arena *arena, advice_facts *facts)
{
    const char *found = "";
    uint64_t found_length = 0;
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        const char *scope = graph->steps.items[i].scope;
        uint64_t length;
        int64_t index;
        if (!find_element(scope, &length, &index) || index < facts->layers)
            continue;
        facts->layers = index + 1;
        found = scope;
        found_length = length;
    }
    facts->array = lin_arena_text(arena, found, found_length);
}

/* ---- globs of the first indices ---- */

typedef struct glob_list {
    const char *array;
    char *out;
    uint64_t length, capacity;
} glob_list;

static void add_glob(glob_list *list, const char *digits)
{
    const int written = snprintf(list->out + list->length, list->capacity - list->length, "%s%s.%s",
                                 list->length > 0 ? "," : "", list->array, digits);
    if (written > 0 && (uint64_t)written < list->capacity - list->length)
        list->length += (uint64_t)written;
}

/* Digits from `first` to `last` at one place, anything at the `rest` places behind it. */
static void add_places(glob_list *list, const char *prefix, int64_t first, int64_t last, int rest)
{
    static const char any[] = "????????????????????"; /* as many places as an int64_t has */
    char digits[64];
    if (first > last)
        return;
    if (first == last)
        snprintf(digits, sizeof(digits), "%s%lld%.*s", prefix, (long long)first, rest, any);
    else if (first == 0 && last == 9)
        snprintf(digits, sizeof(digits), "%s?%.*s", prefix, rest, any);
    else
        snprintf(digits, sizeof(digits), "%s[%lld-%lld]%.*s", prefix, (long long)first,
                 (long long)last, rest, any);
    add_glob(list, digits);
}

/* Numbers of `places` digits below `end`: whole decades first, then what is left of the last one.
 *     below 25 of two digits    1?, 2[0-4] */
static void add_below(glob_list *list, int64_t end, int places)
{
    char prefix[24] = "";
    int64_t unit = 1, first = places > 1 ? 1 : 0;
    for (int i = 1; i < places; i++)
        unit *= 10;
    for (int rest = places - 1; rest >= 0; rest--) {
        const int64_t whole = end / unit;
        const size_t length = strlen(prefix);
        add_places(list, prefix, first, whole - 1, rest);
        snprintf(prefix + length, sizeof(prefix) - length, "%lld", (long long)whole);
        end -= whole * unit;
        unit /= 10;
        first = 0;
    }
}

void lin_advise_first_elements(const char *array, int64_t count, char *out, uint64_t capacity)
{
    glob_list list = { .array = array, .out = out, .capacity = capacity };
    int64_t above = 10;
    int places = 1;
    out[0] = '\0';
    for (; above < count; above *= 10) {
        add_places(&list, "", places > 1 ? 1 : 0, 9, places - 1);
        places++;
    }
    if (count == above)
        add_places(&list, "", places > 1 ? 1 : 0, 9, places - 1);
    else
        add_below(&list, count, places);
}

/* ---- all of them ---- */

static void read_base(advice_space *s)
{
    const lin_advice_settings *settings = s->settings;
    advice_variant *base = &s->facts.base;
    base->trace = settings->trace;
    base->memory = settings->memory;
    base->memory.training = NULL;
    base->is_training = settings->training != NULL;
    if (settings->training != NULL)
        base->training = *settings->training;
    s->facts.replicas_given = settings->replicas_given;
    s->facts.cache_follows = settings->cache_follows;
}

static const lin_setting *bind_fused(const lin_trace_settings *trace, lin_arena *arena)
{
    const uint32_t count = trace->bind_count;
    lin_setting *binds = LIN_NEW_ARRAY(arena, lin_setting, (uint64_t)count + 1);
    if (count > 0)
        memcpy(binds, trace->binds, count * sizeof(*binds));
    binds[count] = (lin_setting){ .name = "Fused", .integer = 1 };
    return binds;
}

static void read_graph(advice_space *s, const lin_traced *traced)
{
    advice_facts *facts = &s->facts;
    const lin_setting *fused = find_bound(traced, "Fused");
    facts->fused = fused != NULL ? fused->integer : -1;
    facts->fused_binds = bind_fused(&s->settings->trace, s->arena);
    facts->has_sequence = find_bound(traced, "SequenceShards") != NULL;
    facts->dtype = lin_arena_copy(s->arena, traced->dtype);
    facts->cut = lin_graph_cut_role(traced->graph);
    facts->has_caches = has_caches(traced->graph);
    facts->continues = uses_caches(traced->graph) && traced->graph->role_used[LIN_ROLE_CONTEXT];
    memcpy(facts->role_value, traced->role_value, sizeof(facts->role_value));
    find_array(traced->graph, s->arena, facts);
}

/* The graph is not the arena's, so that running out of memory comes by here. */
static linnet_status read_guarded(advice_space *s, const lin_traced *traced, linnet_error *err)
{
    jmp_buf out_of_memory, *const outer = s->arena->on_failure;
    if (setjmp(out_of_memory) != 0) {
        s->arena->on_failure = outer;
        return lin_fail_memory(err);
    }
    s->arena->on_failure = &out_of_memory;
    read_graph(s, traced);
    s->arena->on_failure = outer;
    return LINNET_OK;
}

linnet_status lin_advise_find_facts(advice_space *s, linnet_error *err)
{
    lin_traced traced;
    read_base(s);
    linnet_status status =
        lin_trace(s->settings->source, &s->settings->trace, s->allocator, &traced, err);
    if (status != LINNET_OK)
        return status;
    status = read_guarded(s, &traced, err);
    lin_graph_free(traced.graph);
    return status;
}
