/* SPDX-License-Identifier: MIT */

/*
 * What a pipeline asks for: its schedule, how many stages, and which size is cut into
 * micro-batches (tracing.md 11.3): the first axis of the first input, where that is the batch or
 * the context.
 */

#include "memory/pipeline.h"

#include <string.h>

static const char *const model_names[] = { "linnet", "published" };

const char *lin_pipeline_model_name(lin_pipeline_model model)
{
    return model_names[model];
}

bool lin_pipeline_model_find(const char *name, lin_pipeline_model *out)
{
    for (size_t i = 0; i < ARRAY_LEN(model_names); i++)
        if (strcmp(name, model_names[i]) == 0) {
            *out = (lin_pipeline_model)i;
            return true;
        }
    return false;
}

bool lin_pipeline_is_wanted(const lin_pipeline_settings *settings)
{
    return settings->ranks > 1 || settings->microbatches > 1 || settings->virtual_stages > 1 ||
           settings->schedule_text != NULL || settings->stages != NULL;
}

/* ---- the schedule ---- */

static linnet_status check_published(const lin_memory *memory, linnet_error *err)
{
    const lin_pipeline *p = memory->pipeline;
    const char *name = p->settings.schedule;
    if (p->settings.schedule_text != NULL ||
        (strcmp(name, "1f1b") != 0 && strcmp(name, "gpipe") != 0))
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "the published model of a pipeline knows the schedules `1f1b` and `gpipe` "
                        "and no other: the model `linnet` replays them all");
    if (p->virtual_stages > 1)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "the published model of a pipeline has one stage a rank: the model "
                        "`linnet` replays several");
    if (p->microbatches < p->ranks)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "%lld micro-batches are too few for %lld stages: at least %lld, or at most "
                        "%lld stages",
                        (long long)p->microbatches, (long long)p->ranks, (long long)p->ranks,
                        (long long)p->microbatches);
    return LINNET_OK;
}

static linnet_status check_given(const char *what, int64_t given, int64_t found, linnet_error *err)
{
    if (given == 0 || given == found)
        return LINNET_OK;
    return lin_fail(err, LINNET_ERROR_ARGUMENT, "the schedule that was read has %lld %s, not %lld",
                    (long long)found, what, (long long)given);
}

static linnet_status open_schedule(const lin_memory *memory, lin_schedule **out, linnet_error *err)
{
    const lin_pipeline_settings *settings = &memory->pipeline->settings;
    const lin_schedule_request request = { .name = settings->schedule,
                                           .ranks = memory->pipeline->ranks,
                                           .microbatches = memory->pipeline->microbatches,
                                           .virtual_stages = settings->virtual_stages };
    if (settings->schedule_text == NULL)
        return lin_schedule_new(&request, &memory->allocator, out, err);
    lin_schedule *read = NULL;
    linnet_status status =
        lin_schedule_read(settings->schedule_source, settings->schedule_text,
                          settings->schedule_length, &memory->allocator, &read, err);
    if (status != LINNET_OK)
        return status;
    const int64_t virtual_stages = (int64_t)read->stages / read->ranks;
    if ((status = check_given("ranks", settings->ranks, read->ranks, err)) != LINNET_OK ||
        (status = check_given("micro-batches", settings->microbatches, read->microbatches, err)) !=
            LINNET_OK ||
        (status = check_given("stages a rank", settings->virtual_stages, virtual_stages, err)) !=
            LINNET_OK) {
        lin_schedule_free(read);
        return status;
    }
    *out = read;
    return LINNET_OK;
}

/* Forwards alone: what inference runs of a schedule. */
static bool drop_backwards(lin_schedule *schedule)
{
    lin_schedule_rank *ranks = LIN_NEW_ARRAY(&schedule->arena, lin_schedule_rank, schedule->ranks);
    for (uint32_t r = 0; r < schedule->ranks && ranks != NULL; r++) {
        const lin_schedule_rank *from = &schedule->rank[r];
        lin_action *actions =
            LIN_NEW_ARRAY(&schedule->arena, lin_action, (uint64_t)from->action_count + 1);
        if (actions == NULL)
            return false;
        ranks[r] = *from;
        ranks[r].action_count = 0;
        for (uint32_t i = 0; i < from->action_count; i++) {
            lin_action action = from->actions[i];
            action.overlaps_next = 0;
            if (action.kind == LIN_ACTION_FORWARD || action.kind == LIN_ACTION_SEND_FORWARD ||
                action.kind == LIN_ACTION_RECV_FORWARD)
                actions[ranks[r].action_count++] = action;
        }
        ranks[r].actions = actions;
    }
    schedule->rank = ranks;
    return ranks != NULL;
}

void lin_pipeline_backwards(const lin_schedule *schedule, bool *out_whole, bool *out_apart)
{
    for (uint32_t r = 0; r < schedule->ranks; r++)
        for (uint32_t i = 0; i < schedule->rank[r].action_count; i++) {
            const uint8_t kind = schedule->rank[r].actions[i].kind;
            *out_whole |= kind == LIN_ACTION_BACKWARD;
            *out_apart |= kind == LIN_ACTION_INPUT || kind == LIN_ACTION_WEIGHT;
        }
}

/* With its transfers; without backwards in inference. */
static linnet_status finish_schedule(lin_schedule *take_made, bool trains,
                                     const lin_allocator *allocator, lin_schedule **out,
                                     linnet_error *err)
{
    static const lin_lowering transfers = { .step = true };
    if (!trains && !drop_backwards(take_made)) {
        lin_schedule_free(take_made);
        return lin_fail_memory(err);
    }
    if (take_made->has_transfers) {
        *out = take_made;
        return LINNET_OK;
    }
    const linnet_status status = lin_schedule_lower(take_made, &transfers, allocator, out, err);
    lin_schedule_free(take_made);
    return status;
}

linnet_status lin_memory_schedule_new(const lin_schedule_request *request, bool training,
                                      const lin_allocator *allocator, lin_schedule **out,
                                      linnet_error *err)
{
    lin_schedule *made = NULL;
    const linnet_status status = lin_schedule_new(request, allocator, &made, err);
    return status == LINNET_OK ? finish_schedule(made, training, allocator, out, err) : status;
}

void lin_pipeline_take_schedule(lin_pipeline *p, lin_schedule *schedule)
{
    p->schedule = schedule;
    p->ranks = schedule->ranks;
    p->microbatches = schedule->microbatches;
    p->stage_count = schedule->stages;
    p->virtual_stages = (int64_t)schedule->stages / schedule->ranks;
}

static linnet_status make_schedule(lin_memory *memory, linnet_error *err)
{
    lin_pipeline *p = memory->pipeline;
    lin_schedule *made = NULL, *schedule = NULL;
    linnet_status status = open_schedule(memory, &made, err);
    if (status == LINNET_OK)
        status = finish_schedule(made, memory->settings.training != NULL, &memory->allocator,
                                 &schedule, err);
    if (status != LINNET_OK)
        return status;
    p->owns_schedule = true;
    lin_pipeline_take_schedule(p, schedule);
    p->backwards_whole = p->backwards_apart = p->settings.any_backward;
    lin_pipeline_backwards(schedule, &p->backwards_whole, &p->backwards_apart);
    return LINNET_OK;
}

/* ---- what is cut ---- */

linnet_status lin_pipeline_find_cut(lin_memory *memory, linnet_error *err)
{
    const lin_graph *graph = memory->traced.graph;
    const lin_object *input = lin_graph_first_input(graph);
    memory->pipeline->cut = -1;
    if (memory->pipeline->microbatches == 1)
        return LINNET_OK;
    memory->pipeline->cut = lin_graph_cut_role(graph);
    if (memory->pipeline->cut >= 0)
        return LINNET_OK;
    return lin_fail(err, LINNET_ERROR_ARGUMENT,
                    "micro-batches cut the first axis of `%s`, which must be the batch or the "
                    "context, and is neither as configured: give a batch or a sequence length",
                    input != NULL ? input->name : "the first input");
}

static linnet_status fail_cut(int64_t parts, int64_t size, lin_role role, linnet_error *err)
{
    int64_t below = parts < size ? parts : size, above = parts;
    while (size % below != 0)
        below--;
    while (above < size && size % above != 0)
        above++;
    if (above > size)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "%lld micro-batches do not divide a %s of %lld: at most %lld do",
                        (long long)parts, lin_role_names[role], (long long)size, (long long)below);
    return lin_fail(err, LINNET_ERROR_ARGUMENT,
                    "%lld micro-batches do not divide a %s of %lld: %lld or %lld do",
                    (long long)parts, lin_role_names[role], (long long)size, (long long)below,
                    (long long)above);
}

linnet_status lin_pipeline_cut(const lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                               int64_t out[LIN_ROLE_COUNT], linnet_error *err)
{
    const lin_pipeline *p = memory->pipeline;
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++)
        out[role] = memory->traced.graph->role_free[role] ? role_value[role] : 0;
    if (p->cut < 0)
        return LINNET_OK;
    if (out[p->cut] % p->microbatches != 0)
        return fail_cut(p->microbatches, out[p->cut], p->cut, err);
    out[p->cut] /= p->microbatches;
    return LINNET_OK;
}

/* ---- all of it ---- */

/* What the published model leaves out (tracing.md 10, 11.2). */
static linnet_status check_modelled(const lin_memory *memory, linnet_error *err)
{
    const lin_graph *graph = memory->traced.graph;
    if (memory->parallel.tensor > 1 && memory->settings.training != NULL)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "the published model of a pipeline trains no tensor-parallel stages: the "
                        "model `linnet` does");
    if (memory->traced.split_tensors > 0)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "the published model of a pipeline has no stages split as DTensors: the "
                        "model `linnet` does");
    for (uint32_t k = 0; k < graph->steps.count; k++)
        for (uint32_t i = 0; i < graph->steps.items[k].input_count; i++) {
            const lin_object *read = &graph->objects.items[graph->steps.items[k].inputs[i]];
            if (read->persistent &&
                (read->category == LIN_CATEGORY_STATE || read->category == LIN_CATEGORY_KV_CACHE))
                return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                                "the published model of a pipeline runs no entry with state, and "
                                "`%s` reads `%s`: the model `linnet` does",
                                graph->entry, read->path != NULL ? read->path : read->name);
        }
    return LINNET_OK;
}

linnet_status lin_pipeline_read(lin_memory *memory, linnet_error *err)
{
    lin_pipeline *p = memory->pipeline;
    const lin_pipeline_settings *given = &memory->settings.pipeline;
    p->settings = *given;
    if (memory->settings.cublas_workspace_config != NULL)
        p->cublas_workspace =
            lin_arena_copy(&memory->arena, memory->settings.cublas_workspace_config);
    p->settings.schedule =
        lin_arena_copy(&memory->arena, given->schedule != NULL ? given->schedule : "1f1b");
    p->ranks = given->ranks > 0 ? given->ranks : 1;
    p->microbatches = given->microbatches > 0 ? given->microbatches : 1;
    p->virtual_stages = given->virtual_stages > 0 ? given->virtual_stages : 1;
    p->stage_count = p->ranks <= UINT32_MAX ? (uint32_t)p->ranks : UINT32_MAX;
    const bool published = given->model == LIN_PIPELINE_PUBLISHED;
    linnet_status status = published ? check_published(memory, err) : make_schedule(memory, err);
    if (status == LINNET_OK && published)
        status = check_modelled(memory, err);
    return status == LINNET_OK ? lin_pipeline_find_cut(memory, err) : status;
}
