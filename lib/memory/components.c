/* SPDX-License-Identifier: MIT */

/* The lines of an answer: components in the order of tracing.md 8.1, what is not known, warnings
 * and assumptions. */

#include "memory/prepared.h"

#include <string.h>

#define DEVICE "device:0"

/* What is there before the entry runs. */
static const struct holding_row {
    const char *name;
    lin_category category;
    bool always;
} holding_rows[] = {
    { "Weights", LIN_CATEGORY_PARAMETERS, true },
    { "Persistent buffers", LIN_CATEGORY_BUFFERS, false },
    { "State", LIN_CATEGORY_STATE, false },
    { "KV cache", LIN_CATEGORY_KV_CACHE, false },
};

void lin_memory_add_component(lin_answer *answer, lin_component_list *list, lin_component component)
{
    if (answer->is_summary)
        component.note = component.formula = NULL;
    component.note = component.note != NULL ? component.note : "";
    component.device = DEVICE;
    LIN_PUSH(&answer->arena, list, component);
}

static const char *holding_note(const lin_memory *memory, lin_category category, lin_arena *arena)
{
    const lin_holding *holding = &memory->holdings[category];
    if (category == LIN_CATEGORY_KV_CACHE)
        return lin_memory_cache_note(memory, arena);
    int64_t elements;
    if (category == LIN_CATEGORY_PARAMETERS &&
        lin_expr_evaluate(memory->traced.graph->exprs, holding->elements, memory->symbols,
                          &elements))
        return lin_arena_format(arena, "%lld parameters", (long long)elements);
    return lin_arena_format(arena, "%u tensor%s", holding->tensors,
                            holding->tensors == 1 ? "" : "s");
}

static const char *holding_name(lin_category category)
{
    for (uint32_t i = 0; i < ARRAY_LEN(holding_rows); i++)
        if (holding_rows[i].category == category)
            return holding_rows[i].name;
    return "";
}

void lin_memory_add_holding(const lin_memory *memory, lin_category category, int64_t bytes,
                            lin_answer *answer, lin_component_list *list)
{
    const bool is_modeled = category == LIN_CATEGORY_KV_CACHE && memory->caches.differs;
    lin_memory_add_component(
        answer, list,
        (lin_component){
            .name = holding_name(category),
            .category = category,
            .known = true,
            .bytes = bytes,
            .confidence = is_modeled ? LIN_BACKEND_MODELED : LIN_EXACT,
            .formula = lin_arena_copy(&answer->arena, memory->holdings[category].formula),
            .note = answer->is_summary ? NULL : holding_note(memory, category, &answer->arena),
        });
}

static void add_holdings(const lin_memory *memory, const int64_t *bytes, lin_answer *answer,
                         lin_component_list *list)
{
    for (uint32_t i = 0; i < ARRAY_LEN(holding_rows); i++) {
        const struct holding_row *row = &holding_rows[i];
        if (row->always || memory->holdings[row->category].tensors > 0)
            lin_memory_add_holding(memory, row->category, bytes[row->category], answer, list);
    }
}

static void add_workspace(const lin_memory *memory, int32_t moment, int64_t bytes,
                          lin_text *scratch, lin_answer *answer, lin_component_list *list)
{
    const lin_graph *graph = memory->traced.graph;
    if (bytes == 0)
        return;
    const lin_step *step = &graph->steps.items[moment];
    lin_component component = { .name = "Backend workspace",
                                .category = LIN_CATEGORY_WORKSPACE,
                                .known = true,
                                .bytes = bytes,
                                .confidence = step->workspace_confidence };
    if (!answer->is_summary) {
        component.formula =
            lin_memory_formula(&answer->arena, scratch, graph->exprs, step->workspace);
        component.note = lin_memory_step_words(&answer->arena, graph, moment);
    }
    lin_memory_add_component(answer, list, component);
}

void lin_memory_add_runtime(const lin_memory *memory, lin_answer *answer, lin_component_list *list)
{
    for (uint32_t i = 0; i < memory->runtime_count; i++) {
        const lin_runtime_item *item = &memory->runtime[i];
        lin_memory_add_component(answer, list,
                                 (lin_component){
                                     .name = lin_arena_copy(&answer->arena, item->name),
                                     .category = item->category,
                                     .known = item->known,
                                     .bytes = item->known ? item->bytes : 0,
                                     .confidence = item->known ? item->confidence : LIN_UNKNOWN,
                                     .note = lin_arena_copy(&answer->arena, item->note),
                                 });
    }
}

void lin_memory_end_components(lin_answer *answer, const lin_component_list *list)
{
    answer->components = list->items;
    answer->component_count = list->count;
    answer->confidence = LIN_EXACT;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].known && list->items[i].confidence > answer->confidence)
            answer->confidence = list->items[i].confidence;
}

void lin_memory_list_components(const lin_memory *memory, const lin_evaluated *at,
                                lin_text *scratch, lin_answer *answer)
{
    int64_t live[LIN_CATEGORY_COUNT], full[LIN_CATEGORY_COUNT];
    lin_timeline_breakdown(memory->timeline, memory->values, at->live.moment, live);
    lin_timeline_breakdown(memory->timeline, memory->values, at->full.moment, full);

    lin_component_list list = { NULL, 0, 0 };
    add_holdings(memory, live, answer, &list);
    lin_memory_add_component(
        answer, &list,
        (lin_component){
            .name = "Peak activations",
            .category = LIN_CATEGORY_ACTIVATIONS,
            .known = true,
            .bytes = live[LIN_CATEGORY_INPUTS] + live[LIN_CATEGORY_ACTIVATIONS],
            .confidence = memory->traced.split_tensors > 0 ? LIN_ESTIMATED : LIN_EXACT,
            .formula = lin_arena_copy(&answer->arena, memory->activations_formula),
        });
    add_workspace(memory, at->full.moment, full[LIN_CATEGORY_WORKSPACE], scratch, answer, &list);
    if (full[LIN_CATEGORY_COMMUNICATION] != 0)
        lin_memory_add_component(answer, &list,
                                 (lin_component){ .name = "Exchange buffers",
                                                  .category = LIN_CATEGORY_COMMUNICATION,
                                                  .known = true,
                                                  .bytes = full[LIN_CATEGORY_COMMUNICATION],
                                                  .confidence = LIN_BACKEND_MODELED });
    lin_memory_add_runtime(memory, answer, &list);

    lin_memory_end_components(answer, &list);
}

void lin_memory_add_words(lin_answer *answer, lin_words_list *list, const char *words)
{
    LIN_PUSH(&answer->arena, list, words);
}

void lin_memory_list_unknown(const lin_memory *memory, lin_answer *answer)
{
    const lin_graph *graph = memory->traced.graph;
    lin_arena *arena = &answer->arena;
    lin_words_list list = { NULL, 0, 0 };
    const bool lists_workspaces = memory->settings.backend != LIN_BACKEND_GENERIC;
    for (uint32_t i = 0; lists_workspaces && i < graph->unknown_workspaces.count; i++) {
        const lin_unknown_call *call = &graph->unknown_workspaces.items[i];
        lin_memory_add_words(answer, &list,
                             lin_arena_format(arena, "workspace of `%s` (%u call%s)",
                                              call->implementation, call->calls,
                                              call->calls == 1 ? "" : "s"));
    }
    if (memory->training != NULL)
        lin_memory_add_unknown_training(memory, answer, &list);
    if (memory->training != NULL && memory->parallel.replicas > 1 && memory->parallel.shards == 1)
        lin_memory_add_words(answer, &list,
                             "buckets in which gradients are summed over the replicas");
    for (uint32_t i = 0; i < memory->runtime_count; i++) {
        const lin_runtime_item *item = &memory->runtime[i];
        if (item->known)
            continue;
        const bool has_note = item->note != NULL && item->note[0] != '\0';
        lin_memory_add_words(answer, &list,
                             has_note ? lin_arena_format(arena, "%s: %s", item->name, item->note)
                                      : lin_arena_copy(arena, item->name));
    }
    answer->unknown = list.items;
    answer->unknown_count = list.count;
}

/* Whether some input of the entry has an axis of that size. */
static bool sizes_some_input(const lin_graph *graph, lin_role role)
{
    for (uint32_t i = graph->parameter_objects; i < graph->objects.count; i++) {
        const lin_object *object = &graph->objects.items[i];
        for (uint32_t axis = 0; object->producer == LIN_NO_STEP && axis < object->rank; axis++)
            if (lin_expr_mentions(graph->exprs, object->shape[axis], graph->role_symbols[role]))
                return true;
    }
    return false;
}

/* A packed row is as long as the context, whatever the batch. */
static void warn_batch_of_caches(const lin_memory *memory, lin_answer *answer, lin_words_list *list)
{
    const lin_graph *graph = memory->traced.graph;
    if (graph->role_free[LIN_ROLE_BATCH] && graph->role_used[LIN_ROLE_BATCH] &&
        !sizes_some_input(graph, LIN_ROLE_BATCH))
        lin_memory_add_words(answer, list,
                             "no input of this entry has the batch: it changes the caches alone");
}

/* A size that was given and that nothing of the model is: it changes no number. The context also
 * decides a cache that follows it. */
static void warn_unused_sizes(const lin_memory *memory, lin_answer *answer, lin_words_list *list)
{
    const lin_graph *graph = memory->traced.graph;
    const bool given[LIN_ROLE_COUNT] = { graph->role_free[LIN_ROLE_BATCH],
                                         graph->role_free[LIN_ROLE_CONTEXT],
                                         memory->is_cache_given };
    for (int role = 0; role < LIN_ROLE_COUNT; role++) {
        const bool decides_cache =
            role == LIN_ROLE_CONTEXT && !memory->is_cache_given && graph->role_used[LIN_ROLE_CACHE];
        if (given[role] && !graph->role_used[role] && !decides_cache)
            lin_memory_add_words(
                answer, list,
                lin_arena_format(&answer->arena,
                                 "no size of this entry is the %s: it changes nothing",
                                 lin_role_names[role]));
    }
}

/* Of a clause that only one process keeps: the entry for several. */
static const char *broken_words(const lin_memory *memory, lin_arena *arena, uint32_t relation)
{
    const lin_graph *graph = memory->traced.graph;
    const char *text = graph->relations.items[relation].text;
    const bool names_split =
        memory->parallel.tensor > 1 && graph->split_entry != NULL && strstr(text, "Shards") != NULL;
    return lin_arena_format(
        arena, "these values break one of the model's `where` clauses: %s%s%s%s", text,
        names_split ? "; the entry `" : "", names_split ? graph->split_entry : "",
        names_split ? "` is for tensor-parallel processes" : "");
}

void lin_memory_list_warnings(lin_memory *memory, lin_answer *answer)
{
    const lin_graph *graph = memory->traced.graph;
    lin_arena *arena = &answer->arena;
    lin_words_list list = { NULL, 0, 0 };
    for (uint32_t i = 0; i < graph->relations.count; i++)
        if (!lin_memory_relation_holds(memory, i))
            lin_memory_add_words(answer, &list, broken_words(memory, arena, i));
    warn_unused_sizes(memory, answer, &list);
    warn_batch_of_caches(memory, answer, &list);
    if (graph->traced_both_branches)
        lin_memory_add_words(
            answer, &list,
            "both branches of an `if` were traced: the peak covers whichever is taken");
    if (memory->parallel.tensor > 1 && !memory->traced.has_shards &&
        memory->traced.split_tensors == 0)
        lin_memory_add_words(answer, &list,
                             "no parameter has a name that a split by DTensor knows: every process "
                             "holds all of the model");
    if (memory->training != NULL)
        lin_memory_add_warned_training(memory, answer, &list);
    answer->warnings = list.items;
    answer->warning_count = list.count;
}

void lin_memory_list_assumptions(const lin_memory *memory, const lin_evaluated *at,
                                 lin_answer *answer)
{
    const lin_source *source = memory->source;
    const lin_graph *graph = memory->traced.graph;
    lin_arena *arena = &answer->arena;
    lin_words_list list = { NULL, 0, 0 };
    for (uint32_t i = 0; i < source->assumption_count; i++)
        lin_memory_add_words(answer, &list, lin_arena_copy(arena, source->assumptions[i]));
    if (graph->role_free[LIN_ROLE_CACHE] && graph->role_free[LIN_ROLE_CONTEXT] &&
        !memory->is_cache_given &&
        at->role_value[LIN_ROLE_CACHE] == at->role_value[LIN_ROLE_CONTEXT])
        lin_memory_add_words(answer, &list,
                             lin_arena_format(arena,
                                              "the cache length is the sequence length, %lld",
                                              (long long)at->role_value[LIN_ROLE_CACHE]));
    if (memory->traced.split_tensors > 0)
        lin_memory_add_words(answer, &list,
                             lin_arena_format(arena,
                                              "%u tensors are split as DTensors, and what is "
                                              "computed from them; where values are redistributed "
                                              "is not modelled",
                                              memory->traced.split_tensors));
    if (memory->caches.axes_unknown_count > 0)
        lin_memory_add_words(
            answer, &list,
            lin_arena_format(arena,
                             "`%s` is not [batch, heads, positions, width]: %u such cache%s "
                             "counted as contiguous",
                             memory->caches.axes_unknown, memory->caches.axes_unknown_count,
                             memory->caches.axes_unknown_count == 1 ? " is" : "s are"));
    if (memory->training != NULL)
        lin_memory_add_assumed_training(memory, answer, &list);
    answer->assumptions = list.items;
    answer->assumption_count = list.count;
}
