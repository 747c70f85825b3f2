/* SPDX-License-Identifier: MIT */

/*
 * The search for the fastest layout: what the model has to split is read off a trace of one
 * device's program, then the space is searched by bounds, or the published one through and through.
 */

#include "plan/layout_search.h"

#include <string.h>

static const char *const state_names[] = {
    [LIN_LAYOUT_RUNS] = "runs",        [LIN_LAYOUT_REFUSED] = "refused",
    [LIN_LAYOUT_TOO_LARGE] = "memory", [LIN_LAYOUT_CLAUSES] = "clauses",
    [LIN_LAYOUT_SLOWER] = "slower",
};

const char *lin_layout_state_name(lin_layout_state state)
{
    return state_names[state];
}

const char *lin_layouts_name(lin_arena *arena, const lin_job_layout *layout)
{
    lin_text text;
    lin_text_init(&text, &arena->allocator);
    lin_layout_name(&text, layout);
    const bool failed = text.failed;
    const char *name = failed ? NULL : lin_arena_text(arena, text.data, text.length);
    lin_text_free(&text);
    return failed ? lin_arena_fail(arena) : name;
}

bool lin_layouts_progress(const lin_layouts_settings *settings, uint64_t done, uint64_t total)
{
    return settings->progress != NULL &&
           settings->progress(settings->progress_user, done, total) != 0;
}

linnet_status lin_layouts_cancelled(linnet_error *err)
{
    return lin_fail(err, LINNET_ERROR_CANCELLED, "the search was stopped");
}

/* ---- facts ---- */

static bool has_bound(const lin_traced *traced, const char *name)
{
    for (uint32_t i = 0; i < traced->bound_count; i++)
        if (strcmp(traced->bound[i].name, name) == 0)
            return true;
    return false;
}

static bool has_experts(const lin_graph *graph)
{
    for (uint32_t i = 0; i < graph->steps.count; i++)
        if (strcmp(graph->steps.items[i].label, "linear_experts") == 0 ||
            strcmp(graph->steps.items[i].label, "linear_experts_shared") == 0)
            return true;
    return false;
}

static linnet_status trace_alone(const lin_layouts_settings *settings, lin_role role,
                                 const lin_allocator *allocator, lin_traced *out, linnet_error *err)
{
    lin_trace_settings trace = settings->trace;
    trace.processes = trace.context_processes = trace.expert_processes = 1;
    trace.sequence_parallel = false;
    if (!trace.role_given[role])
        trace.role_vary[role] = true;
    return lin_trace(settings->source, &trace, allocator, out, err);
}

/* Whether the first input, which micro-batches cut, has an axis of that size. */
static bool sizes_input(const lin_graph *graph, lin_role role)
{
    const lin_object *input = lin_graph_first_input(graph);
    for (uint32_t axis = 0; input != NULL && axis < input->rank; axis++)
        if (lin_expr_mentions(graph->exprs, input->shape[axis], graph->role_symbols[role]))
            return true;
    return false;
}

/* The batch is searched where the first input has one, else the context. */
static linnet_status find_role(const lin_layouts_settings *settings, const lin_allocator *allocator,
                               lin_traced *traced, lin_role *out, linnet_error *err)
{
    static const lin_role roles[] = { LIN_ROLE_BATCH, LIN_ROLE_CONTEXT };
    linnet_error why[ARRAY_LEN(roles)] = { { 0 }, { 0 } };
    linnet_status status[ARRAY_LEN(roles)];
    for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
        status[i] = trace_alone(settings, roles[i], allocator, traced, &why[i]);
        if (status[i] == LINNET_OK && sizes_input(traced->graph, roles[i])) {
            *out = roles[i];
            return LINNET_OK;
        }
        if (status[i] == LINNET_OK)
            lin_graph_free(traced->graph);
        traced->graph = NULL;
        if (status[i] == LINNET_ERROR_NO_MEMORY)
            return lin_fail_memory(err);
    }
    /* An entry of batch and context wants its context first. */
    for (size_t i = 0; i < ARRAY_LEN(roles); i++)
        if (status[i] != LINNET_OK)
            return lin_fail(err, status[i], "%s", why[i].message);
    return lin_fail(err, LINNET_ERROR_ARGUMENT,
                    "the entry's first input has neither a batch nor a context to divide between "
                    "devices");
}

static linnet_status find_facts(const lin_layouts_settings *settings,
                                const lin_allocator *allocator, lin_layouts *layouts,
                                lin_layout_facts *out, linnet_error *err)
{
    lin_traced traced = { 0 };
    *out = (lin_layout_facts){ 0 };
    const linnet_status status = find_role(settings, allocator, &traced, &out->role, err);
    if (status != LINNET_OK)
        return status;
    out->is_size_given = settings->trace.role_given[out->role];
    out->size = out->is_size_given ? settings->trace.role_value[out->role] : 0;
    out->has_sequence = has_bound(&traced, "SequenceShards");
    out->has_experts = has_experts(traced.graph);
    out->units = traced.graph->units.count;
    /* The graph is not the arena's: no jump may pass it by. */
    jmp_buf *const on_failure = layouts->arena.on_failure;
    layouts->arena.on_failure = NULL;
    layouts->model = lin_arena_copy(&layouts->arena, traced.graph->root);
    layouts->entry = lin_arena_copy(&layouts->arena, traced.graph->entry);
    const char *split = traced.graph->split_entry;
    if (split != NULL)
        out->split_entry = lin_arena_copy(&layouts->arena, split);
    layouts->arena.on_failure = on_failure;
    const bool failed = layouts->model == NULL || layouts->entry == NULL ||
                        (split != NULL && out->split_entry == NULL);
    lin_graph_free(traced.graph);
    return failed ? lin_fail_memory(err) : LINNET_OK;
}

/* ---- what is asked ---- */

int64_t lin_layouts_given_devices(const lin_layouts_settings *settings)
{
    const lin_parallel *given = &settings->memory.parallel;
    const int64_t fixed[] = { settings->has_tensor ? given->tensor : 1,
                              settings->has_context ? given->context : 1,
                              settings->has_pipeline ? given->pipeline : 1,
                              settings->has_shards ? given->shards : 1,
                              settings->has_replicas ? given->replicas : 1 };
    int64_t product = 1;
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        if (!lin_mul_i64(product, fixed[i] > 0 ? fixed[i] : 1, &product))
            return INT64_MAX;
    return product;
}

static linnet_status check_devices(const lin_layouts_settings *settings, linnet_error *err)
{
    const int64_t given = lin_layouts_given_devices(settings);
    if (settings->devices < 1 || settings->devices > LIN_LAYOUT_MAX_DEVICES)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a search is over 1 to %d devices, not %lld",
                        (int)LIN_LAYOUT_MAX_DEVICES, (long long)settings->devices);
    if (settings->devices % given != 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "the degrees that are given make %lld devices, which do not divide %lld",
                        (long long)given, (long long)settings->devices);
    return LINNET_OK;
}

static linnet_status check_schedule(const lin_layouts_settings *settings, linnet_error *err)
{
    const lin_pipeline_settings *given = &settings->memory.pipeline;
    return lin_time_check_schedule(settings->time_model,
                                   settings->has_schedule ? given->schedule : "1f1b",
                                   settings->has_virtual_stages ? given->virtual_stages : 1, err);
}

static linnet_status check_settings(const lin_layouts_settings *settings,
                                    const lin_layout_facts *facts, linnet_error *err)
{
    linnet_status status = check_devices(settings, err);
    if (status == LINNET_OK)
        status = check_schedule(settings, err);
    if (status != LINNET_OK)
        return status;
    if (settings->budget_bytes < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a budget of %lld bytes holds nothing",
                        (long long)settings->budget_bytes);
    if (settings->global_size == 0)
        return LINNET_OK;
    if (settings->global_size < 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a global batch is at least 1, not %lld",
                        (long long)settings->global_size);
    if (facts->is_size_given)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "the %s is given for each rank as %lld, and for all of them as %lld: give "
                        "one of the two",
                        lin_role_names[facts->role], (long long)facts->size,
                        (long long)settings->global_size);
    if (settings->space == LIN_SPACE_PUBLISHED)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "the published search has no global batch: each rank's grows");
    return LINNET_OK;
}

/* ---- the answer ---- */

static void describe(lin_layouts *l, const lin_layouts_settings *settings,
                     const lin_layout_facts *facts)
{
    const lin_profile *profile = settings->profile;
    l->device = lin_arena_copy(&l->arena, profile->name);
    l->device_source = lin_arena_copy(&l->arena, profile->source);
    l->training = settings->training != NULL;
    l->devices = settings->devices;
    l->budget = settings->budget_bytes;
    l->time_model = settings->time_model;
    l->space = settings->space;
    l->role = facts->role;
    l->global_size = settings->global_size;
    l->is_size_fixed = facts->is_size_given || settings->global_size > 0;
}

/* Policies are the caller's texts until here; neighbours mostly have the same. */
static void keep_policies(lin_arena *arena, lin_layout_result *items, uint32_t count)
{
    const char *given = NULL, *kept = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char **policy = &items[i].layout.checkpoint;
        if (*policy != NULL && *policy != given) {
            given = *policy;
            kept = lin_arena_copy(arena, given);
        }
        if (*policy != NULL)
            *policy = kept;
    }
}

/* Only what is given leaves the space without a layout. */
static const char *why_nothing(lin_arena *arena, const lin_layouts_settings *settings,
                               const lin_layout_facts *facts)
{
    const lin_parallel *given = &settings->memory.parallel;
    if (settings->has_pipeline && given->pipeline > facts->units)
        return lin_arena_format(arena, "a pipeline of %lld stages, and the model has %lld blocks",
                                (long long)given->pipeline, (long long)facts->units);
    if (settings->has_expert && settings->devices % given->expert != 0)
        return lin_arena_format(arena, "%lld processes for experts do not divide %lld devices",
                                (long long)given->expert, (long long)settings->devices);
    return lin_arena_format(arena, "the degrees that are given leave no layout of %lld devices",
                            (long long)settings->devices);
}

static bool runs_sharded(const lin_results *results)
{
    for (uint32_t i = 0; i < results->count; i++)
        if (results->items[i].state == LIN_LAYOUT_RUNS &&
            results->items[i].layout.parallel.shards > 1)
            return true;
    return false;
}

/* What an entry of one shard leaves out, where that was not asked for. */
static const char *missed_degrees(lin_layouts *l, const lin_layouts_settings *settings,
                                  const lin_layout_facts *facts)
{
    if (facts->split_entry == NULL || settings->has_tensor || settings->devices == 1)
        return NULL;
    return lin_arena_format(&l->arena,
                            "no layout is tensor-parallel: `%s` is for one process; the entry "
                            "`%s` is for several",
                            l->entry, facts->split_entry);
}

static void assume(lin_layouts *l, const lin_layouts_settings *settings,
                   const lin_layout_facts *facts, const lin_results *results)
{
    enum { MOST = 5 };
    const char **list = LIN_NEW_ARRAY(&l->arena, const char *, MOST);
    l->assumptions = list;
    if (settings->stages_by_time)
        list[l->assumption_count++] =
            "stages are balanced by the device's time of one sequence or 4,096 positions";
    if (l->space == LIN_SPACE_PUBLISHED)
        return;
    const char *missed = missed_degrees(l, settings, facts);
    if (missed != NULL)
        list[l->assumption_count++] = missed;
    if (!l->is_size_fixed)
        list[l->assumption_count++] =
            "micro-batches of 1, 2, 3, 4, 6, 8, 12, … are looked at, as long as they fit";
    if (!runs_sharded(results))
        return;
    list[l->assumption_count++] = "shards gather the next group of weights while one is in use";
    if (settings->training != NULL && !settings->training->has_master_dtype)
        list[l->assumption_count++] =
            "shards update f32 parts of the weights, replicas the weights themselves: give a "
            "master dtype to have all update the same";
}

static linnet_status run(lin_layouts *l, const lin_layouts_settings *settings,
                         const lin_allocator *allocator, linnet_error *err)
{
    lin_layout_facts facts;
    lin_results results = { NULL, 0, 0 };
    linnet_status status = find_facts(settings, allocator, l, &facts, err);
    if (status == LINNET_OK)
        status = check_settings(settings, &facts, err);
    if (status != LINNET_OK)
        return status;
    describe(l, settings, &facts);
    if (settings->space == LIN_SPACE_PUBLISHED) {
        status = lin_published_search(settings, &facts, allocator, &l->arena, &results, err);
        l->considered = results.count;
    } else {
        status =
            lin_best_search(settings, &facts, allocator, &l->arena, &results, &l->considered, err);
    }
    keep_policies(&l->arena, results.items, results.count);
    l->items = results.items;
    l->count = results.count;
    if (status == LINNET_OK && results.count == 0)
        l->nothing = why_nothing(&l->arena, settings, &facts);
    assume(l, settings, &facts, &results);
    return status;
}

/* Apart from its caller: no local that changes lives across the setjmp. */
static linnet_status run_guarded(lin_layouts *l, const lin_layouts_settings *settings,
                                 const lin_allocator *allocator, linnet_error *err)
{
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0)
        return lin_fail_memory(err);
    l->arena.on_failure = &out_of_memory;
    return run(l, settings, allocator, err);
}

linnet_status lin_layouts_search(const lin_layouts_settings *settings,
                                 const lin_allocator *allocator, lin_layouts **out,
                                 linnet_error *err)
{
    lin_layouts *l = lin_alloc_zeroed(allocator, sizeof(*l));
    if (l == NULL)
        return lin_fail_memory(err);
    l->allocator = *allocator;
    lin_arena_init(&l->arena, allocator);
    const linnet_status status = run_guarded(l, settings, allocator, err);
    l->arena.on_failure = NULL;
    if (status != LINNET_OK) {
        lin_layouts_free(l);
        return status;
    }
    *out = l;
    return LINNET_OK;
}

void lin_layouts_free(lin_layouts *layouts)
{
    if (layouts == NULL)
        return;
    const lin_allocator allocator = layouts->allocator;
    lin_arena_free(&layouts->arena);
    lin_release(&allocator, layouts, sizeof(*layouts));
}
