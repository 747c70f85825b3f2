/* SPDX-License-Identifier: MIT */

/*
 * What the ranks of a pipeline have beside their stages: the entry's inputs, channels and runtime
 * items, room for a replay. All of it follows from the schedule, so another schedule of the same
 * stages makes it anew and keeps the stages' timelines.
 *
 * Cost: linear in the inputs that ranks read and in the ranks.
 */

#include "memory/pipeline.h"

#include <string.h>

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
    p->input_program = lin_expr_compile(&p->arena, graph->exprs, wanted, graph->objects.count);
    p->input_scratch =
        LIN_NEW_ARRAY(&p->arena, int64_t, lin_expr_program_scratch(p->input_program));
    p->input_bytes = LIN_NEW_ARRAY(&p->arena, int64_t, graph->objects.count);

    lin_rank_inputs *ranks = LIN_NEW_ARRAY(&p->arena, lin_rank_inputs, p->schedule->ranks);
    for (uint32_t r = 0; r < p->schedule->ranks; r++) {
        uint32_t *objects =
            LIN_NEW_ARRAY(&p->arena, uint32_t, (uint64_t)inputs * p->schedule->directions);
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
    if (memory->training != NULL)
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
        .training = memory->training != NULL,
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
        .cublas_workspace_config = p->cublas_workspace,
        .allocator = &memory->allocator,
    };
    const linnet_status status = lin_backend_runtime(&settings, set->items, &set->count, err);
    if (status != LINNET_OK)
        return status;
    set->made = true;
    for (uint32_t i = 0; i < set->count; i++) {
        lin_runtime_item *item = &set->items[i];
        item->name = lin_arena_copy(&p->arena, item->name);
        item->note = lin_arena_copy(&p->arena, item->note);
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
    p->channels = LIN_NEW_ARRAY(&p->arena, uint8_t, (uint64_t)p->ranks);
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

/* ---- all of it ---- */

linnet_status lin_pipeline_list_ranks(lin_memory *memory, linnet_error *err)
{
    lin_pipeline *p = memory->pipeline;
    uint32_t slots = 0;
    p->arena.on_failure = memory->arena.on_failure;
    const linnet_status status = list_channels(memory, err);
    if (status == LINNET_OK && p->schedule != NULL)
        list_rank_inputs(memory);
    p->peaks = LIN_NEW_ARRAY(&p->arena, lin_device_peak, (uint64_t)p->ranks);
    for (uint32_t r = 0; p->schedule != NULL && r < p->schedule->ranks; r++)
        slots = p->schedule->rank[r].slot_count > slots ? p->schedule->rank[r].slot_count : slots;
    p->slots = LIN_NEW_ARRAY(&p->arena, lin_slot_state, slots);
    p->arena.on_failure = NULL;
    return status;
}

static linnet_status check_stages(const lin_pipeline *p, const lin_schedule *schedule, bool trains,
                                  linnet_error *err)
{
    bool whole = false, apart = false;
    if (schedule->stages != p->stage_count)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "a schedule of %u stages does not serve a model cut into %u",
                        schedule->stages, p->stage_count);
    lin_pipeline_backwards(schedule, &whole, &apart);
    if (trains && ((whole && p->stages[0].whole.memory == NULL) ||
                   (apart && p->stages[0].parts.memory == NULL)))
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "`%s` has backward passes of a kind that the stages were not made for",
                        schedule->name);
    return LINNET_OK;
}

static linnet_status follow(lin_memory *memory, lin_schedule *schedule, linnet_error *err)
{
    lin_pipeline *p = memory->pipeline;
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0) {
        p->arena.on_failure = NULL;
        return lin_fail_memory(err);
    }
    memory->arena.on_failure = memory->scratch.on_failure = &out_of_memory;
    memory->traced.graph->arena.on_failure = &out_of_memory;
    lin_arena_free(&p->arena);
    memset(p->runtime, 0, sizeof p->runtime);
    lin_pipeline_take_schedule(p, schedule);
    const linnet_status status = lin_pipeline_find_cut(memory, err);
    return status == LINNET_OK ? lin_pipeline_list_ranks(memory, err) : status;
}

linnet_status lin_memory_reschedule(lin_memory *memory, lin_schedule *schedule, linnet_error *err)
{
    lin_pipeline *p = memory->pipeline;
    if (p == NULL || p->schedule == NULL)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "there is no schedule to replace");
    linnet_status status = check_stages(p, schedule, memory->training != NULL, err);
    if (status != LINNET_OK)
        return status;
    if (p->owns_schedule)
        lin_schedule_free(p->schedule);
    p->owns_schedule = false;
    status = follow(memory, schedule, err);
    memory->arena.on_failure = memory->scratch.on_failure = NULL;
    memory->traced.graph->arena.on_failure = NULL;
    lin_arena_free(&memory->scratch);
    return status;
}
