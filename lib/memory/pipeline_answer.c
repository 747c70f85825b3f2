/* SPDX-License-Identifier: MIT */

/*
 * The answer for a pipeline: every device in a list, the most loaded one in full. Components are
 * those of one device (tracing.md 8.1, 9.9), then what other micro-batches hold, what is on its way
 * between stages, and the runtime items.
 */

#include "memory/pipeline.h"

#include <string.h>

typedef struct answer_pass {
    lin_memory *memory;
    lin_pipeline *p;
    const lin_device_peak *peak;
    const lin_stage *stage;
    lin_memory *child; /* of the stage that runs at the peak */
    lin_answer *answer;
    lin_component_list list;
} answer_pass;

/* ---- devices ---- */

/* Whether every rank holds the stage of its number and no other. */
static bool is_stage_a_rank(const lin_pipeline *p)
{
    if (p->schedule == NULL)
        return true;
    for (uint32_t r = 0; r < p->schedule->ranks; r++)
        if (p->schedule->rank[r].slot_count != 1 || p->schedule->rank[r].slots[0].stage != r)
            return false;
    return true;
}

static const char *units_of(const answer_pass *a, uint32_t stage)
{
    return lin_stage_units(a->memory->traced.graph, &a->p->plan, stage, &a->answer->arena);
}

/* "embedding, layers.0-3; layers.16-19" */
static const char *holds_of(const answer_pass *a, uint32_t rank)
{
    if (a->p->schedule == NULL)
        return units_of(a, rank);
    const lin_schedule_rank *r = &a->p->schedule->rank[rank];
    const char *words = "";
    for (uint32_t i = 0; i < r->slot_count; i++)
        words = lin_arena_format(&a->answer->arena, "%s%s%s", words, i > 0 ? "; " : "",
                                 units_of(a, r->slots[i].stage));
    return words;
}

static void list_devices(const answer_pass *a)
{
    const lin_pipeline *p = a->p;
    const char *word = is_stage_a_rank(p) ? "stage" : "rank";
    lin_device_summary *devices =
        LIN_NEW_ARRAY(&a->answer->arena, lin_device_summary, (uint64_t)p->ranks);
    for (uint32_t r = 0; r < p->ranks; r++)
        devices[r] = (lin_device_summary){
            .name = lin_arena_format(&a->answer->arena, "%s %u", word, r),
            .holds = holds_of(a, r),
            .graph_peak = p->peaks[r].peaks.graph,
            .expected_peak = p->peaks[r].peaks.expected,
            .runtime = p->runtime[p->channels[r]].bytes,
        };
    a->answer->devices = devices;
    a->answer->device_count = (uint32_t)p->ranks;
}

/* ---- components ---- */

static void add(answer_pass *a, const char *name, lin_category category, int64_t bytes,
                lin_confidence confidence, const char *note)
{
    lin_memory_add_component(a->answer, &a->list,
                             (lin_component){ .name = name,
                                              .category = category,
                                              .known = true,
                                              .bytes = bytes,
                                              .confidence = confidence,
                                              .note = note });
}

static void add_if_any(answer_pass *a, const char *name, lin_category category,
                       lin_confidence confidence, const char *note)
{
    if (a->peak->parts[category] != 0)
        add(a, name, category, a->peak->parts[category], confidence, note);
}

static void add_held(answer_pass *a)
{
    const bool recast = a->child->caches.differs;
    add_if_any(a, "Persistent buffers", LIN_CATEGORY_BUFFERS, LIN_EXACT, "");
    add_if_any(a, "State", LIN_CATEGORY_STATE, LIN_EXACT, "");
    add_if_any(a, "KV cache", LIN_CATEGORY_KV_CACHE, recast ? LIN_BACKEND_MODELED : LIN_EXACT,
               lin_memory_cache_note(a->child, &a->answer->arena));
}

static void add_training(answer_pass *a)
{
    lin_arena *arena = &a->answer->arena;
    const lin_training *training = a->memory->training;
    const char *trained =
        lin_arena_format(arena, "%lld trained parameters", (long long)a->peak->trained);
    add_if_any(a, "Master weights", LIN_CATEGORY_MASTER_WEIGHTS, LIN_EXACT, trained);
    add(a, "Gradients", LIN_CATEGORY_GRADIENTS, a->peak->parts[LIN_CATEGORY_GRADIENTS], LIN_EXACT,
        "");
    add_if_any(
        a,
        lin_arena_format(arena, "Optimizer states (%s)", lin_optimizer_label(training->optimizer)),
        LIN_CATEGORY_OPTIMIZER_STATES, LIN_EXACT, trained);
    add_held(a);
    add_if_any(a, "Inputs", LIN_CATEGORY_INPUTS, LIN_EXACT, "");
    add_if_any(a, "Saved activations", LIN_CATEGORY_ACTIVATIONS, LIN_BACKEND_MODELED, "");
    add_if_any(a, "Backward temporaries", LIN_CATEGORY_BACKWARD_TEMPORARIES, LIN_BACKEND_MODELED,
               "");
    add_if_any(a, "Backend workspace", LIN_CATEGORY_WORKSPACE, LIN_BACKEND_MODELED, "");
    add_if_any(a, "Gathered parameters", LIN_CATEGORY_COMMUNICATION, LIN_BACKEND_MODELED, "");
}

static void add_inference(answer_pass *a)
{
    const int64_t *parts = a->peak->parts;
    add_held(a);
    add(a, "Peak activations", LIN_CATEGORY_ACTIVATIONS,
        parts[LIN_CATEGORY_INPUTS] + parts[LIN_CATEGORY_ACTIVATIONS],
        a->memory->traced.split_tensors > 0 ? LIN_ESTIMATED : LIN_EXACT, "");
    add_if_any(a, "Backend workspace", LIN_CATEGORY_WORKSPACE, LIN_BACKEND_MODELED, "");
}

static void add_extras(answer_pass *a)
{
    const lin_device_peak *peak = a->peak;
    if (peak->flight != 0)
        add(a, a->memory->training != NULL ? "Micro-batches in flight" : "Micro-batches held",
            LIN_CATEGORY_ACTIVATIONS, peak->flight, LIN_BACKEND_MODELED, "");
    if (peak->buffers != 0)
        add(a, "Pipeline buffers", LIN_CATEGORY_COMMUNICATION, peak->buffers, LIN_BACKEND_MODELED,
            "");
    if (peak->joined != 0)
        add(a, "Joined results", LIN_CATEGORY_ACTIVATIONS, peak->joined, LIN_BACKEND_MODELED, "");
}

static void list_components(answer_pass *a)
{
    add(a, "Weights", LIN_CATEGORY_PARAMETERS, a->peak->parts[LIN_CATEGORY_PARAMETERS], LIN_EXACT,
        lin_arena_format(&a->answer->arena, "%lld parameters", (long long)a->peak->elements));
    if (a->memory->training != NULL)
        add_training(a);
    else
        add_inference(a);
    add_extras(a);
    lin_memory_add_runtime(a->child, a->answer, &a->list);
    lin_memory_end_components(a->answer, &a->list);
}

/* ---- where ---- */

static const char *inner_words(const answer_pass *a)
{
    lin_arena *arena = &a->answer->arena;
    const lin_device_peak *peak = a->peak;
    if (peak->moment < 0)
        return peak->where;
    lin_evaluated at = { .peak = peak->moment };
    return a->memory->training != NULL
               ? lin_training_peak_words(a->child, &at, arena, &a->memory->scratch)
               : lin_memory_step_words(arena, a->child->traced.graph, peak->moment);
}

static const char *peak_words(const answer_pass *a)
{
    const lin_device_peak *peak = a->peak;
    lin_arena *arena = &a->answer->arena;
    const char *inner = inner_words(a);
    const char *device = a->answer->devices[a->p->most].name;
    const char *batch = peak->microbatch == UINT32_MAX
                            ? ""
                            : lin_arena_format(arena, " of micro-batch %u", peak->microbatch);
    if (is_stage_a_rank(a->p) || peak->moment < 0)
        return lin_arena_format(arena, "%s, %s%s", device, inner, batch);
    return lin_arena_format(arena, "%s, %s of stage %u%s", device, inner, peak->stage, batch);
}

static const char *assumption(const answer_pass *a)
{
    const lin_pipeline *p = a->p;
    return lin_arena_format(
        &a->answer->arena, "%u stages on %lld devices, %lld micro-batch%s, schedule %s: %s",
        p->stage_count, (long long)p->ranks, (long long)p->microbatches,
        p->microbatches == 1 ? "" : "es",
        p->schedule != NULL ? p->schedule->name : p->settings.schedule,
        p->schedule != NULL
            ? "each rank's actions are replayed, and buffers live from a receive to their use"
            : "the published closed forms");
}

static void add_assumption(const answer_pass *a)
{
    const uint32_t count = a->answer->assumption_count;
    const char **words = LIN_NEW_ARRAY(&a->answer->arena, const char *, (uint64_t)count + 2);
    for (uint32_t i = 0; i < count; i++)
        words[i] = a->answer->assumptions[i];
    words[count] = assumption(a);
    a->answer->assumptions = words;
    a->answer->assumption_count = count + 1;
    if (a->p->balanced_on != NULL)
        words[a->answer->assumption_count++] = lin_arena_format(
            &a->answer->arena, "stages are balanced by the time of a micro-batch on `%s`",
            a->p->balanced_on);
}

static void describe(const answer_pass *a)
{
    const lin_pipeline *p = a->p;
    lin_arena *arena = &a->answer->arena;
    lin_pipeline_answer *out = LIN_NEW(arena, lin_pipeline_answer);
    const char **starts = LIN_NEW_ARRAY(arena, const char *, p->stage_count);
    for (uint32_t i = 1; i < p->stage_count; i++)
        starts[i - 1] =
            lin_arena_copy(arena, a->memory->traced.graph->units.items[p->plan.first_unit[i]]);
    *out = (lin_pipeline_answer){
        .ranks = p->ranks,
        .microbatches = p->microbatches,
        .virtual_stages = p->virtual_stages,
        .schedule =
            lin_arena_copy(arena, p->schedule != NULL ? p->schedule->name : p->settings.schedule),
        .model = lin_pipeline_model_name(p->settings.model),
        .starts = starts,
        .start_count = p->stage_count - 1,
        .balanced_on = lin_arena_copy(arena, p->balanced_on),
    };
    a->answer->pipeline = out;
    a->answer->parallel.pipeline = p->ranks;
}

/* ---- all of it ---- */

static void set_runtime(lin_memory *child, const lin_runtime_set *set)
{
    memcpy(child->runtime, set->items, sizeof child->runtime);
    child->runtime_count = set->count;
}

/* What a summary does without. */
static linnet_status fill_details(answer_pass *a, const lin_evaluated *at, lin_text *text,
                                  linnet_error *err)
{
    lin_evaluated inner = { .peak = a->peak->moment < 0 ? 0 : a->peak->moment };
    inner.live.moment = inner.full.moment = inner.peak;
    a->answer->peak_at = peak_words(a);
    if (a->memory->training != NULL)
        lin_training_describe(a->child, a->answer);
    lin_memory_list_largest(a->child, &inner, text, a->answer);
    lin_memory_list_assumptions(a->memory, at, a->answer);
    add_assumption(a);
    if (a->memory->training != NULL)
        return LINNET_OK;
    /* The plan is of one micro-batch's step, wherever the device's peak is. */
    if (!lin_timeline_peaks(a->child->timeline, a->child->symbols, a->child->values, &inner.live,
                            &inner.full, NULL))
        return lin_pipeline_fail_sum(err);
    return lin_memory_plan_transient(a->child, &inner, a->answer, err);
}

static linnet_status fill(answer_pass *a, const lin_evaluated *at, lin_text *text,
                          linnet_error *err)
{
    list_devices(a);
    describe(a);
    list_components(a);
    a->answer->peak_step = a->peak->moment;
    a->answer->steps = a->child->traced.graph->steps.count;
    lin_memory_list_unknown(a->child, a->answer);
    lin_memory_list_warnings(a->memory, a->answer);
    return a->answer->is_summary ? LINNET_OK : fill_details(a, at, text, err);
}

linnet_status lin_pipeline_fill(lin_memory *memory, const lin_evaluated *at, lin_text *text,
                                lin_answer *answer, linnet_error *err)
{
    lin_pipeline *p = memory->pipeline;
    const lin_device_peak *peak = &p->peaks[p->most];
    const lin_stage *stage = &p->stages[peak->stage];
    answer_pass a = { .memory = memory,
                      .p = p,
                      .peak = peak,
                      .stage = stage,
                      .child = peak->in_parts || stage->whole.memory == NULL ? stage->parts.memory
                                                                             : stage->whole.memory,
                      .answer = answer };
    set_runtime(a.child, &p->runtime[p->channels[p->most]]);
    a.child->scratch.on_failure = memory->scratch.on_failure;
    const linnet_status status = fill(&a, at, text, err);
    a.child->scratch.on_failure = NULL;
    lin_arena_free(&a.child->scratch);
    return status;
}
