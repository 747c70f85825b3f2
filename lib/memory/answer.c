/* SPDX-License-Identifier: MIT */

/*
 * From a traced graph to answers: prepare once (inference.c), evaluate a size in one sweep, and put
 * a whole answer together, which owns all it shows.
 *
 * Out of memory: the arenas of a call carry a jump target that is set in the innermost function
 * here; what the call owns is released by its caller, whose locals did not change meanwhile.
 */

#include "memory/training.h"

/* ---- preparing ---- */

static linnet_status list_runtime(lin_memory *memory, linnet_error *err)
{
    const lin_communication needs =
        lin_comm_needs(&memory->parallel, memory->traced.split_tensors > 0, &memory->scratch);
    const lin_runtime_settings settings = {
        .processes = needs.processes,
        .communicators = needs.communicators,
        .communicator_note = needs.note,
        .channels = needs.channels,
        .backend = memory->settings.backend,
        .training = memory->settings.training != NULL,
        .context_bytes = memory->settings.context_bytes,
        .cublas_workspace_config = memory->settings.cublas_workspace_config,
        .allocator = &memory->allocator,
    };
    const linnet_status status =
        lin_backend_runtime(&settings, memory->runtime, &memory->runtime_count, err);
    if (status != LINNET_OK)
        return status;

    for (uint32_t i = 0; i < memory->runtime_count; i++) {
        lin_runtime_item *item = &memory->runtime[i];
        item->name = lin_arena_copy(&memory->arena, item->name);
        item->note = lin_arena_copy(&memory->arena, item->note);
        if (!item->known)
            continue;
        int64_t *workspaces = &memory->workspace_bytes;
        if (!lin_add_i64(memory->runtime_bytes, item->bytes, &memory->runtime_bytes) ||
            (item->category == LIN_CATEGORY_WORKSPACE &&
             !lin_add_i64(*workspaces, item->bytes, workspaces)))
            return lin_fail(err, LINNET_ERROR_OVERFLOW,
                            "the runtime items together need more than 2^63 - 1 bytes");
    }
    return LINNET_OK;
}

static linnet_status check_parallel(const lin_memory *memory, linnet_error *err)
{
    const lin_parallel *parallel = &memory->parallel;
    const bool trains = memory->settings.training != NULL;
    const linnet_status status = lin_parallel_check(parallel, err);
    if (status != LINNET_OK)
        return status;
    if (parallel->shards > 1 && !trains)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "`shards` is an option of training, which is off");
    if (parallel->pipeline > 1 && !lin_pipeline_is_wanted(&memory->settings.pipeline))
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED, "a pipeline of this step is not modelled");
    if (parallel->context > 1 && !trains)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "context parallelism of inference is not modelled");
    return LINNET_OK;
}

static linnet_status prepare(lin_memory *memory, lin_text *text, linnet_error *err)
{
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0)
        return lin_fail_memory(err);
    memory->arena.on_failure = &out_of_memory;
    memory->scratch.on_failure = &out_of_memory;
    memory->traced.graph->arena.on_failure = &out_of_memory;

    linnet_status status = check_parallel(memory, err);
    if (status == LINNET_OK)
        status = list_runtime(memory, err);
    if (status != LINNET_OK)
        return status;
    if (lin_pipeline_is_wanted(&memory->settings.pipeline))
        return lin_pipeline_prepare(memory, text, err);
    return memory->settings.training != NULL
               ? lin_memory_prepare_training(memory, memory->settings.training, text, err)
               : lin_memory_prepare_inference(memory, text, err);
}

static void end_call(lin_memory *memory, lin_text *text)
{
    memory->arena.on_failure = NULL;
    memory->scratch.on_failure = NULL;
    memory->traced.graph->arena.on_failure = NULL;
    lin_arena_free(&memory->scratch);
    lin_text_free(text);
}

linnet_status lin_memory_new(const lin_source *source, lin_traced *take_traced,
                             const lin_trace_settings *trace_settings,
                             const lin_memory_settings *settings, const lin_allocator *allocator,
                             lin_memory **out, linnet_error *err)
{
    lin_memory *memory = lin_alloc_zeroed(allocator, sizeof(*memory));
    if (memory == NULL) {
        lin_graph_free(take_traced->graph);
        take_traced->graph = NULL;
        return lin_fail_memory(err);
    }
    memory->allocator = *allocator;
    memory->source = source;
    memory->traced = *take_traced;
    take_traced->graph = NULL;
    memory->settings = *settings;
    memory->numerics = trace_settings->numerics;
    memory->processes = trace_settings->processes;
    memory->parallel = lin_parallel_normal(&settings->parallel);
    if (trace_settings->processes > 1)
        memory->parallel.tensor = trace_settings->processes;
    memory->is_cache_given = trace_settings->role_given[LIN_ROLE_CACHE];
    lin_arena_init(&memory->arena, allocator);
    lin_arena_init(&memory->scratch, allocator);

    lin_text text;
    lin_text_init(&text, allocator);
    const linnet_status status = prepare(memory, &text, err);
    end_call(memory, &text);
    if (status != LINNET_OK) {
        lin_memory_free(memory);
        return status;
    }
    memory->settings.cublas_workspace_config = NULL; /* read; the caller's may go */
    memory->settings.training = NULL;
    memory->settings.pipeline = (lin_pipeline_settings){ 0 };
    *out = memory;
    return LINNET_OK;
}

void lin_memory_free(lin_memory *memory)
{
    if (memory == NULL)
        return;
    const lin_allocator allocator = memory->allocator;
    lin_pipeline_free(memory);
    lin_graph_free(memory->traced.graph);
    lin_arena_free(&memory->scratch);
    lin_arena_free(&memory->arena);
    lin_release(&allocator, memory, sizeof(*memory));
}

linnet_status lin_memory_peaks(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                               lin_peaks *out, linnet_error *err)
{
    lin_evaluated at;
    const linnet_status status = lin_memory_evaluate(memory, role_value, &at, err);
    if (status == LINNET_OK)
        *out = at.peaks;
    return status;
}

/* ---- answering ---- */

static void describe_configuration(const lin_memory *memory, const lin_evaluated *at,
                                   lin_answer *answer)
{
    const lin_memory_settings *settings = &memory->settings;
    const lin_graph *graph = memory->traced.graph;
    lin_arena *arena = &answer->arena;
    answer->backend = lin_backend_name(settings->backend);
    answer->model = lin_arena_copy(arena, memory->source->name);
    answer->entry = lin_arena_copy(arena, graph->entry);
    answer->numerics = lin_numerics_name(memory->numerics);
    answer->dtype = lin_arena_copy(arena, memory->traced.dtype);
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++) {
        answer->role_value[role] = at->role_value[role];
        answer->role_free[role] = graph->role_free[role];
    }
    answer->parallel = memory->parallel;
    answer->device_memory = settings->device_memory;
    answer->kv_dtype = lin_memory_cache_format(settings, arena);
    answer->kv_paged = settings->kv_block_size > 0;
    answer->kv_block_size = settings->kv_block_size;

    lin_setting *bound = LIN_NEW_ARRAY(arena, lin_setting, memory->traced.bound_count);
    for (uint32_t i = 0; i < memory->traced.bound_count; i++) {
        bound[i] = memory->traced.bound[i];
        bound[i].name = lin_arena_copy(arena, bound[i].name);
    }
    answer->bound = bound;
    answer->bound_count = memory->traced.bound_count;
}

static void describe_device(const lin_memory *memory, lin_answer *answer)
{
    lin_device_summary *device = LIN_NEW(&answer->arena, lin_device_summary);
    *device = (lin_device_summary){
        .name = "device:0",
        .holds = "",
        .graph_peak = answer->peaks.graph,
        .expected_peak = answer->peaks.expected,
        .runtime = memory->runtime_bytes,
    };
    answer->devices = device;
    answer->device_count = 1;
}

static int64_t transient_bytes(const lin_memory *memory, int32_t moment)
{
    int64_t bytes[LIN_CATEGORY_COUNT];
    lin_timeline_breakdown(memory->timeline, memory->values, moment, bytes);
    return bytes[LIN_CATEGORY_INPUTS] + bytes[LIN_CATEGORY_ACTIVATIONS];
}

/* The transient owners with rounded sizes. False: one passes 2^63 - 1 bytes. */
static bool list_buffers(lin_memory *memory, lin_buffer *buffers, uint32_t *out_count)
{
    const int64_t alignment = lin_backend_alignment(memory->settings.backend);
    uint32_t count = 0;
    for (uint32_t i = 0; i < lin_timeline_count(memory->timeline); i++) {
        const lin_interval *interval = lin_timeline_interval(memory->timeline, i);
        if (interval->category != LIN_CATEGORY_INPUTS &&
            interval->category != LIN_CATEGORY_ACTIVATIONS)
            continue;
        lin_buffer *buffer = &buffers[count++];
        buffer->first_step = interval->first;
        buffer->end_step = interval->end;
        if (!lin_round_up_i64(lin_timeline_bytes(memory->timeline, memory->values, i), alignment,
                              &buffer->bytes))
            return false;
    }
    *out_count = count;
    return true;
}

/* Offsets for every transient owner (tracing.md 7.3). The bound it is shown with is the peak
 * without workspaces, of sizes that are not rounded. Where the sum of all buffers does not fit in
 * int64_t there is no plan; the peaks stand. */
linnet_status lin_memory_plan_transient(lin_memory *memory, const lin_evaluated *at,
                                        lin_answer *answer, linnet_error *err)
{
    lin_buffer *buffers = LIN_NEW_ARRAY(&memory->scratch, lin_buffer, memory->lifetime_count);
    uint32_t count;
    if (!list_buffers(memory, buffers, &count))
        return LINNET_OK;

    linnet_error plan_error;
    const linnet_status status =
        lin_plan_arena(buffers, count, &memory->settings.effort, &memory->allocator, NULL,
                       &answer->plan, &plan_error);
    if (status != LINNET_OK && status != LINNET_ERROR_OVERFLOW) {
        if (err != NULL)
            *err = plan_error;
        return status;
    }
    answer->has_plan = status == LINNET_OK;
    answer->plan.live_bytes = transient_bytes(memory, at->live.moment);
    return LINNET_OK;
}

/* What a summary does without. */
static linnet_status fill_details(lin_memory *memory, const lin_evaluated *at, lin_text *text,
                                  lin_answer *answer, linnet_error *err)
{
    answer->peak_at = memory->training != NULL
                          ? lin_training_peak_words(memory, at, &answer->arena, &memory->scratch)
                          : lin_memory_step_words(&answer->arena, memory->traced.graph, at->peak);
    if (memory->training != NULL)
        lin_training_describe(memory, answer);
    else
        answer->activations_formula = lin_arena_copy(&answer->arena, memory->activations_formula);
    if (memory->settings.with_timeline)
        lin_memory_list_timeline(memory, at, answer);
    lin_memory_list_largest(memory, at, text, answer);
    lin_memory_list_assumptions(memory, at, answer);
    return memory->training != NULL ? LINNET_OK
                                    : lin_memory_plan_transient(memory, at, answer, err);
}

static linnet_status fill(lin_memory *memory, const lin_evaluated *at, lin_text *text,
                          lin_answer *answer, linnet_error *err)
{
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0)
        return lin_fail_memory(err);
    memory->scratch.on_failure = &out_of_memory;
    memory->traced.graph->arena.on_failure = &out_of_memory;
    answer->arena.on_failure = &out_of_memory;

    describe_configuration(memory, at, answer);
    answer->peaks = at->peaks;
    if (memory->pipeline != NULL)
        return lin_pipeline_fill(memory, at, text, answer, err);
    answer->peak_step = at->peak;
    answer->steps = memory->traced.graph->steps.count;
    if (memory->training != NULL)
        lin_memory_list_training(memory, at, text, answer);
    else
        lin_memory_list_components(memory, at, text, answer);
    lin_memory_list_unknown(memory, answer);
    lin_memory_list_warnings(memory, answer);
    describe_device(memory, answer);
    return answer->is_summary ? LINNET_OK : fill_details(memory, at, text, answer, err);
}

static linnet_status answer_at(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                               bool is_summary, lin_answer **out, linnet_error *err)
{
    lin_evaluated at;
    linnet_status status = lin_memory_evaluate(memory, role_value, &at, err);
    if (status != LINNET_OK)
        return status;

    lin_answer *answer = lin_alloc_zeroed(&memory->allocator, sizeof(*answer));
    if (answer == NULL)
        return lin_fail_memory(err);
    answer->allocator = memory->allocator;
    answer->is_summary = is_summary;
    answer->peak_at = "";
    lin_arena_init(&answer->arena, &memory->allocator);

    lin_text text;
    lin_text_init(&text, &memory->allocator);
    status = fill(memory, &at, &text, answer, err);
    end_call(memory, &text);
    answer->arena.on_failure = NULL;
    if (status != LINNET_OK) {
        lin_answer_free(answer);
        return status;
    }
    *out = answer;
    return LINNET_OK;
}

linnet_status lin_memory_analyse(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                                 lin_answer **out, linnet_error *err)
{
    return answer_at(memory, role_value, false, out, err);
}

linnet_status lin_memory_summarise(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                                   lin_answer **out, linnet_error *err)
{
    return answer_at(memory, role_value, true, out, err);
}

void lin_answer_free(lin_answer *answer)
{
    if (answer == NULL)
        return;
    const lin_allocator allocator = answer->allocator;
    lin_arena_free(&answer->arena);
    lin_release(&allocator, answer, sizeof(*answer));
}
