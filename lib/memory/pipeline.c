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

/* ---- what ranks have beside their stages ---- */

static bool has_object(const uint32_t *objects, uint32_t count, uint32_t object)
{
    for (uint32_t i = 0; i < count; i++)
        if (objects[i] == object)
            return true;
    return false;
}

/* The entry's inputs that the slots of a direction read, each once. */
static uint32_t list_inputs(const lin_memory *memory, uint32_t rank, uint32_t direction,
                            uint32_t *objects, uint32_t count)
{
    const lin_pipeline *p = memory->pipeline;
    const uint32_t before = count;
    for (uint32_t slot = 0; slot < p->schedule->rank[rank].slot_count; slot++) {
        const lin_slot *s = &p->schedule->rank[rank].slots[slot];
        const lin_stage_graph *split = p->stages[s->stage].split;
        const uint32_t end = split->graph.parameter_objects;
        for (uint32_t i = end; i < split->graph.objects.count && s->direction == direction; i++) {
            const uint32_t whole = split->whole_object[i];
            if (memory->traced.graph->objects.items[whole].producer == LIN_NO_STEP &&
                !has_object(objects + before, count - before, whole))
                objects[count++] = whole;
        }
    }
    return count;
}

static void list_rank_inputs(lin_memory *memory)
{
    lin_pipeline *p = memory->pipeline;
    const lin_graph *graph = memory->traced.graph;
    uint32_t inputs = 0;
    lin_expr *wanted = LIN_NEW_ARRAY(&memory->scratch, lin_expr, graph->objects.count);
    for (uint32_t i = 0; i < graph->objects.count; i++) {
        const lin_object *o = &graph->objects.items[i];
        const bool is_input = !o->persistent && o->producer == LIN_NO_STEP;
        inputs += is_input;
        wanted[i] = is_input ? o->bytes : lin_expr_int(graph->exprs, 0);
        if (is_input && p->cut >= 0 &&
            lin_expr_mentions(graph->exprs, o->bytes, graph->role_symbols[p->cut]))
            wanted[i] = lin_expr_floordiv(graph->exprs, o->bytes,
                                          lin_expr_int(graph->exprs, p->schedule->directions));
    }
    p->input_program = lin_expr_compile(&memory->arena, graph->exprs, wanted, graph->objects.count);
    p->input_bytes = LIN_NEW_ARRAY(&memory->arena, int64_t, graph->objects.count);

    lin_rank_inputs *ranks = LIN_NEW_ARRAY(&memory->arena, lin_rank_inputs, p->schedule->ranks);
    for (uint32_t r = 0; r < p->schedule->ranks; r++) {
        uint32_t *objects =
            LIN_NEW_ARRAY(&memory->arena, uint32_t, (uint64_t)inputs * p->schedule->directions);
        for (uint32_t d = 0; d < p->schedule->directions; d++)
            ranks[r].count = list_inputs(memory, r, d, objects, ranks[r].count);
        ranks[r].objects = objects;
    }
    p->inputs = ranks;
}

static lin_channels channels_of(const lin_memory *memory, uint32_t rank)
{
    const lin_pipeline *p = memory->pipeline;
    bool sends = false, receives = false;
    if (p->ranks < 2)
        return LIN_CHANNELS_NONE;
    if (memory->settings.training != NULL)
        return LIN_CHANNELS_BOTH;
    if (p->schedule == NULL) {
        sends = rank + 1 < p->ranks;
        receives = rank > 0;
    } else {
        for (uint32_t i = 0; i < p->schedule->rank[rank].action_count; i++) {
            const uint8_t kind = p->schedule->rank[rank].actions[i].kind;
            sends |= kind == LIN_ACTION_SEND_FORWARD;
            receives |= kind == LIN_ACTION_RECV_FORWARD;
        }
    }
    return sends && receives ? LIN_CHANNELS_BOTH
           : sends           ? LIN_CHANNELS_SEND
           : receives        ? LIN_CHANNELS_RECEIVE
                             : LIN_CHANNELS_NONE;
}

static linnet_status fill_runtime(lin_memory *memory, lin_channels channels, linnet_error *err)
{
    lin_pipeline *p = memory->pipeline;
    lin_runtime_set *set = &p->runtime[channels];
    const lin_communication needs =
        lin_comm_needs(&memory->parallel, memory->traced.split_tensors > 0, &memory->scratch);
    const bool several = p->ranks > 1;
    const lin_runtime_settings settings = {
        .backend = memory->settings.backend,
        .training = memory->settings.training != NULL,
        .processes = p->ranks > needs.processes ? p->ranks : needs.processes,
        .communicators = needs.communicators + several,
        .communicator_note = !several
                                 ? needs.note
                                 : lin_arena_format(&memory->scratch, "%s%spipeline", needs.note,
                                                    needs.note[0] != '\0' ? ", " : ""),
        .channels = channels != LIN_CHANNELS_NONE && needs.channels != LIN_CHANNELS_NONE
                        ? LIN_CHANNELS_BOTH
                    : channels != LIN_CHANNELS_NONE ? channels
                                                    : needs.channels,
        .context_bytes = memory->settings.context_bytes,
        .cublas_workspace_config = memory->settings.cublas_workspace_config,
        .allocator = &memory->allocator,
    };
    const linnet_status status = lin_backend_runtime(&settings, set->items, &set->count, err);
    if (status != LINNET_OK)
        return status;
    set->made = true;
    for (uint32_t i = 0; i < set->count; i++) {
        lin_runtime_item *item = &set->items[i];
        item->name = lin_memory_copy(&memory->arena, item->name);
        item->note = lin_memory_copy(&memory->arena, item->note);
        const bool is_workspace = item->known && item->category == LIN_CATEGORY_WORKSPACE;
        if (!lin_add_i64(set->bytes, item->known ? item->bytes : 0, &set->bytes) ||
            !lin_add_i64(set->workspace_bytes, is_workspace ? item->bytes : 0,
                         &set->workspace_bytes))
            return lin_pipeline_fail_sum(err);
    }
    return LINNET_OK;
}

static linnet_status list_channels(lin_memory *memory, linnet_error *err)
{
    lin_pipeline *p = memory->pipeline;
    p->channels = LIN_NEW_ARRAY(&memory->arena, uint8_t, (uint64_t)p->ranks);
    for (uint32_t r = 0; r < p->ranks; r++) {
        const lin_channels channels = channels_of(memory, r);
        p->channels[r] = (uint8_t)channels;
        const linnet_status status =
            p->runtime[channels].made ? LINNET_OK : fill_runtime(memory, channels, err);
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
    if (p->input_program != NULL)
        note_scratch(&scratch, p->input_program);
    p->scratch = LIN_NEW_ARRAY(&memory->arena, int64_t, scratch);
    p->moments = LIN_NEW_ARRAY(&memory->arena, int64_t, 3 * p->longest);
    p->peaks = LIN_NEW_ARRAY(&memory->arena, lin_device_peak, (uint64_t)p->ranks);
    uint32_t slots = 0;
    for (uint32_t r = 0; p->schedule != NULL && r < p->schedule->ranks; r++)
        slots = p->schedule->rank[r].slot_count > slots ? p->schedule->rank[r].slot_count : slots;
    p->slots = LIN_NEW_ARRAY(&memory->arena, lin_slot_state, slots);
}

linnet_status lin_pipeline_prepare(lin_memory *memory, lin_text *text, linnet_error *err)
{
    lin_pipeline *p = LIN_NEW(&memory->arena, lin_pipeline);
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
    if ((status = lin_stages_plan(memory->traced.graph, memory->symbols, p->stage_count,
                                  p->settings.stages, &memory->arena, &p->plan, err)) !=
            LINNET_OK ||
        (status = open_stages(memory, text, err)) != LINNET_OK ||
        (status = list_channels(memory, err)) != LINNET_OK)
        return status;
    if (p->schedule != NULL)
        list_rank_inputs(memory);
    make_room(memory);
    p->settings.schedule_text = p->settings.stages = NULL; /* read; the caller's may go */
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
    lin_schedule_free(p->schedule);
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
