/* SPDX-License-Identifier: MIT */

/*
 * A pipeline: the traced graph is split into stages, and each stage is a memory of its own, made
 * once and evaluated at one micro-batch's sizes. What a rank needs is then a closed form
 * (pipeline_published.c) or a replay of its actions (pipeline_replay.c).
 *
 *     trace -> marks of training -> stages -> a timeline each -> a peak a rank
 *
 * Cost of another size: linear in the intervals of all stages and, replayed, in the actions of all
 * ranks; nothing is allocated.
 */

#include "memory/pipeline.h"

#include <string.h>

linnet_status lin_pipeline_fail_sum(linnet_error *err)
{
    return lin_fail(err, LINNET_ERROR_OVERFLOW,
                    "the tensors that live at once need more than 2^63 - 1 bytes");
}

bool lin_pipeline_add_up(lin_device_peak *peak)
{
    int64_t tensors = 0;
    for (lin_category c = 0; c < LIN_CATEGORY_COUNT; c++)
        if (c != LIN_CATEGORY_WORKSPACE && c != LIN_CATEGORY_COMMUNICATION &&
            !lin_add_i64(tensors, peak->parts[c], &tensors))
            return false;
    return lin_add_i64(tensors, peak->parts[LIN_CATEGORY_WORKSPACE], &peak->bytes) &&
           lin_add_i64(peak->bytes, peak->parts[LIN_CATEGORY_COMMUNICATION], &peak->bytes) &&
           lin_add_i64(peak->bytes, peak->flight, &peak->bytes) &&
           lin_add_i64(peak->bytes, peak->buffers, &peak->bytes) &&
           lin_add_i64(peak->bytes, peak->joined, &peak->bytes) &&
           lin_add_i64(tensors - peak->parts[LIN_CATEGORY_KV_CACHE], peak->declared_caches,
                       &peak->peaks.graph);
}

/* ---- stages ---- */

static linnet_status open_stage(lin_memory *memory, lin_stage *stage, bool in_parts, lin_text *text,
                                linnet_error *err)
{
    lin_stage_memory *of = in_parts ? &stage->parts : &stage->whole;
    lin_memory *child = LIN_NEW(&memory->arena, lin_memory);
    of->role = (lin_stage_role){ .whole = memory,
                                 .split = stage->split,
                                 .replays = memory->pipeline->schedule != NULL,
                                 .splits_backward = in_parts };
    child->allocator = memory->allocator;
    child->source = memory->source;
    child->traced = memory->traced;
    child->traced.graph = &stage->split->graph;
    child->settings = memory->settings;
    child->settings.pipeline = (lin_pipeline_settings){ 0 };
    child->numerics = memory->numerics;
    child->processes = memory->processes;
    child->parallel = memory->parallel;
    child->is_cache_given = true; /* every size is, for each micro-batch */
    child->stage = &of->role;
    lin_arena_init(&child->arena, &memory->allocator);
    lin_arena_init(&child->scratch, &memory->allocator);
    child->arena.on_failure = child->scratch.on_failure = memory->arena.on_failure;
    of->memory = child;
    const linnet_status status =
        memory->settings.training != NULL
            ? lin_memory_prepare_training(child, memory->settings.training, text, err)
            : lin_memory_prepare_inference(child, text, err);
    child->arena.on_failure = child->scratch.on_failure = NULL;
    lin_arena_free(&child->scratch);
    child->settings.training = NULL;
    child->settings.cublas_workspace_config = NULL;
    return status == LINNET_OK ? lin_template_prepare(memory, stage, of, err) : status;
}

static linnet_status open_stages(lin_memory *memory, lin_text *text, linnet_error *err)
{
    lin_pipeline *p = memory->pipeline;
    lin_stage_graph *graphs = lin_graph_split(memory->traced.graph, &p->plan, &memory->arena);
    const bool trains = memory->settings.training != NULL;
    p->stages = LIN_NEW_ARRAY(&memory->arena, lin_stage, p->stage_count);
    for (uint32_t i = 0; i < p->stage_count; i++) {
        p->stages[i].split = &graphs[i];
        linnet_status status = LINNET_OK;
        if (!trains || p->schedule == NULL || p->backwards_whole)
            status = open_stage(memory, &p->stages[i], false, text, err);
        if (status == LINNET_OK && trains && p->backwards_apart)
            status = open_stage(memory, &p->stages[i], true, text, err);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

/* ---- preparing ---- */

static linnet_status check_rest(const lin_memory *memory, linnet_error *err)
{
    const lin_training_settings *training = memory->settings.training;
    if (memory->settings.with_timeline)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "a timeline of all ranks of a pipeline is not modelled");
    if (training != NULL && training->accumulation > 1)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "gradients summed over several steps of a pipeline are not modelled: its "
                        "micro-batches are summed already");
    return LINNET_OK;
}

/* The configured sizes, by which stages are balanced; 1 where a search gives them later. */
static void set_symbols(lin_memory *memory)
{
    const lin_traced *traced = &memory->traced;
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++)
        if (traced->graph->role_free[role] && traced->role_value[role] > 0)
            memory->symbols[traced->graph->role_symbols[role]] = traced->role_value[role];
}

static void note_scratch(uint32_t *most, const lin_expr_program *program)
{
    const uint32_t needs = lin_expr_program_scratch(program);
    *most = needs > *most ? needs : *most;
}

static void note_room(lin_pipeline *p, const lin_stage_memory *of, uint32_t *scratch)
{
    if (of->memory == NULL)
        return;
    const uint64_t length = (uint64_t)lin_timeline_length(of->memory->timeline) + 1;
    p->longest = length > p->longest ? length : p->longest;
    note_scratch(scratch, of->held_program);
    note_scratch(scratch, of->flow_program);
}

static void make_room(lin_memory *memory)
{
    lin_pipeline *p = memory->pipeline;
    uint32_t scratch = 1;
    for (uint32_t i = 0; i < p->stage_count; i++) {
        note_room(p, &p->stages[i].whole, &scratch);
        note_room(p, &p->stages[i].parts, &scratch);
    }
    p->scratch = LIN_NEW_ARRAY(&memory->arena, int64_t, scratch);
    p->moments = LIN_NEW_ARRAY(&memory->arena, int64_t, 3 * p->longest);
}

static linnet_status plan_stages(lin_memory *memory, linnet_error *err)
{
    lin_pipeline *p = memory->pipeline;
    const lin_graph *graph = memory->traced.graph;
    const lin_unit_weigher *weigher = p->settings.weigher;
    if (weigher == NULL || p->settings.stages != NULL || p->stage_count == 1)
        return lin_stages_plan(graph, memory->symbols, p->stage_count, p->settings.stages,
                               &memory->arena, &p->plan, err);
    int64_t *weights = LIN_NEW_ARRAY(&memory->scratch, int64_t, graph->units.count);
    const linnet_status status = weigher->weigh(weigher, memory, &memory->settings, weights, err);
    p->balanced_on = lin_arena_copy(&memory->arena, weigher->device);
    return status == LINNET_OK ? lin_stages_weigh(graph, memory->symbols, p->stage_count, weights,
                                                  &memory->arena, &p->plan, err)
                               : status;
}

linnet_status lin_pipeline_prepare(lin_memory *memory, lin_text *text, linnet_error *err)
{
    lin_pipeline *p = LIN_NEW(&memory->arena, lin_pipeline);
    lin_arena_init(&p->arena, &memory->allocator);
    const lin_interval_list nothing = { NULL, 0, 0 };
    linnet_status status;
    memory->pipeline = p;
    if ((status = check_rest(memory, err)) != LINNET_OK ||
        (status = lin_pipeline_read(memory, err)) != LINNET_OK)
        return status;
    if (memory->settings.training != NULL &&
        (status = lin_training_mark(memory, memory->settings.training, err)) != LINNET_OK)
        return status;
    lin_memory_compile(memory, &nothing, 1, text);
    set_symbols(memory);
    if ((status = plan_stages(memory, err)) != LINNET_OK ||
        (status = open_stages(memory, text, err)) != LINNET_OK ||
        (status = lin_pipeline_list_ranks(memory, err)) != LINNET_OK)
        return status;
    make_room(memory);
    p->settings.schedule_text = p->settings.stages = NULL; /* read; the caller's may go */
    p->settings.weigher = NULL;
    return LINNET_OK;
}

static void close_stage(lin_stage_memory *of)
{
    if (of->memory == NULL)
        return;
    lin_arena_free(&of->memory->scratch);
    lin_arena_free(&of->memory->arena);
}

void lin_pipeline_free(lin_memory *memory)
{
    lin_pipeline *p = memory->pipeline;
    if (p == NULL)
        return;
    if (p->owns_schedule)
        lin_schedule_free(p->schedule);
    lin_arena_free(&p->arena);
    for (uint32_t i = 0; i < p->stage_count && p->stages != NULL; i++) {
        close_stage(&p->stages[i].whole);
        close_stage(&p->stages[i].parts);
    }
}

/* ---- another size ---- */

static linnet_status evaluate_stage(lin_memory *memory, lin_stage *stage,
                                    const int64_t sizes[LIN_ROLE_COUNT], linnet_error *err)
{
    lin_evaluated at;
    linnet_status status = LINNET_OK;
    if (stage->whole.memory != NULL)
        status = lin_memory_evaluate(stage->whole.memory, sizes, &at, err);
    if (status == LINNET_OK && stage->parts.memory != NULL)
        status = lin_memory_evaluate(stage->parts.memory, sizes, &at, err);
    return status == LINNET_OK ? lin_template_measure(memory->pipeline, stage,
                                                      memory->pipeline->schedule != NULL
                                                          ? memory->symbols
                                                          : stage->whole.memory->symbols,
                                                      err)
                               : status;
}

/* The peaks with the items of each rank; the first of the most loaded is the answer's. */
static linnet_status add_runtime(lin_pipeline *p, linnet_error *err)
{
    p->most = 0;
    for (uint32_t r = 0; r < p->ranks; r++) {
        const lin_runtime_set *set = &p->runtime[p->channels[r]];
        lin_device_peak *peak = &p->peaks[r];
        if (!lin_add_i64(peak->bytes, set->workspace_bytes, &peak->peaks.allocator) ||
            !lin_add_i64(peak->bytes, set->bytes, &peak->peaks.expected))
            return lin_pipeline_fail_sum(err);
        if (peak->peaks.expected < peak->peaks.graph)
            peak->peaks.expected = peak->peaks.graph;
        if (peak->peaks.expected > p->peaks[p->most].peaks.expected)
            p->most = r;
    }
    return LINNET_OK;
}

linnet_status lin_pipeline_evaluate(lin_memory *memory, const int64_t request[LIN_ROLE_COUNT],
                                    lin_evaluated *out, linnet_error *err)
{
    lin_pipeline *p = memory->pipeline;
    int64_t sizes[LIN_ROLE_COUNT];
    linnet_status status;
    *out = (lin_evaluated){ 0 };
    if ((status = lin_memory_resolve_sizes(memory, request, out->role_value, err)) != LINNET_OK ||
        (status = lin_pipeline_cut(memory, out->role_value, sizes, err)) != LINNET_OK)
        return status;
    for (uint32_t i = 0; i < p->stage_count; i++)
        if ((status = evaluate_stage(memory, &p->stages[i], sizes, err)) != LINNET_OK)
            return status;
    status =
        p->schedule != NULL ? lin_pipeline_replay(memory, err) : lin_pipeline_publish(memory, err);
    if (status == LINNET_OK)
        status = add_runtime(p, err);
    out->peaks = p->peaks[p->most].peaks;
    out->peak = p->peaks[p->most].moment;
    return status;
}
