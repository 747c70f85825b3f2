/* SPDX-License-Identifier: MIT */

/* The analysis handle: an answer by index, as text and as JSON. */

#include "api/api.h"

#include <string.h>

linnet_status lin_analysis_wrap(lin_answer *take_answer, const lin_allocator *allocator,
                                linnet_analysis **out_analysis, linnet_error *err)
{
    linnet_analysis *analysis = lin_alloc(allocator, sizeof *analysis);
    if (analysis == NULL) {
        lin_answer_free(take_answer);
        return lin_fail_memory(err);
    }
    atomic_init(&analysis->references, 1);
    analysis->allocator = *allocator;
    analysis->answer = take_answer;
    *out_analysis = analysis;
    return LINNET_OK;
}

linnet_status linnet_analysis_new(const linnet_model *model, const linnet_config *config,
                                  linnet_analysis **out_analysis, linnet_error *err)
{
    const lin_trace_settings trace_settings = lin_config_trace(config);
    lin_memory_settings settings = lin_config_memory(config);
    lin_training_settings training;
    lin_time_weigher weigher;
    const int64_t as_configured[LIN_ROLE_COUNT] = { 0 };
    lin_traced traced;
    lin_memory *memory = NULL;
    lin_answer *answer = NULL;
    linnet_status status;

    settings.training = config->training ? &training : NULL;
    if ((status = lin_config_training(config, &training, err)) != LINNET_OK ||
        (status = lin_config_parallel(config, &settings.parallel, err)) != LINNET_OK ||
        (status = lin_config_balance(config, NULL, -1, &weigher, &settings.pipeline, err)) !=
            LINNET_OK ||
        (status = lin_trace(model->source, &trace_settings, &config->allocator, &traced, err)) !=
            LINNET_OK ||
        (status = lin_memory_new(model->source, &traced, &trace_settings, &settings,
                                 &config->allocator, &memory, err)) != LINNET_OK ||
        (status = lin_memory_analyse(memory, as_configured, &answer, err)) != LINNET_OK)
        goto out;
    status = lin_analysis_wrap(answer, &config->allocator, out_analysis, err);
out:
    lin_memory_free(memory);
    return status;
}

linnet_analysis *linnet_analysis_ref(linnet_analysis *analysis)
{
    atomic_fetch_add_explicit(&analysis->references, 1, memory_order_relaxed);
    return analysis;
}

void linnet_analysis_unref(linnet_analysis *analysis)
{
    if (analysis == NULL ||
        atomic_fetch_sub_explicit(&analysis->references, 1, memory_order_acq_rel) != 1)
        return;
    const lin_allocator allocator = analysis->allocator;
    lin_answer_free(analysis->answer);
    lin_release(&allocator, analysis, sizeof *analysis);
}

/* ---- the whole ---- */

static int32_t public_confidence(lin_confidence confidence)
{
    switch (confidence) {
    case LIN_EXACT:
        return LINNET_CONFIDENCE_EXACT;
    case LIN_BACKEND_MODELED:
        return LINNET_CONFIDENCE_BACKEND_MODELED;
    case LIN_ESTIMATED:
        return LINNET_CONFIDENCE_ESTIMATED;
    case LIN_UNKNOWN:
        return LINNET_CONFIDENCE_UNKNOWN;
    }
    return LINNET_CONFIDENCE_INVALID;
}

const char *linnet_confidence_name(int32_t confidence)
{
    return confidence >= LINNET_CONFIDENCE_EXACT && confidence <= LINNET_CONFIDENCE_UNKNOWN
               ? lin_confidence_name((lin_confidence)confidence)
               : "unknown";
}

int64_t linnet_analysis_graph_peak(const linnet_analysis *analysis)
{
    return analysis->answer->peaks.graph;
}

int64_t linnet_analysis_expected_peak(const linnet_analysis *analysis)
{
    return analysis->answer->peaks.expected;
}

int64_t linnet_analysis_allocator_peak(const linnet_analysis *analysis)
{
    return analysis->answer->peaks.allocator;
}

int32_t linnet_analysis_confidence(const linnet_analysis *analysis)
{
    return public_confidence(analysis->answer->confidence);
}

const char *linnet_analysis_peak_at(const linnet_analysis *analysis)
{
    return analysis->answer->peak_at;
}

int64_t linnet_analysis_peak_step(const linnet_analysis *analysis)
{
    return analysis->answer->peak_step;
}

int64_t linnet_analysis_steps(const linnet_analysis *analysis)
{
    return analysis->answer->steps;
}

static void put(int64_t *out, int64_t value)
{
    if (out != NULL)
        *out = value;
}

linnet_status linnet_analysis_allocation(const linnet_analysis *analysis, int64_t *out_naive,
                                         int64_t *out_planned, int64_t *out_greedy,
                                         int64_t *out_lower_bound, linnet_error *err)
{
    const lin_plan *plan = &analysis->answer->plan;
    if (!analysis->answer->has_plan)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED, "this analysis has no arena plan");
    put(out_naive, plan->naive_bytes);
    put(out_planned, plan->planned_bytes);
    put(out_greedy, plan->greedy_bytes);
    put(out_lower_bound, plan->live_bytes);
    return LINNET_OK;
}

/* ---- components ---- */

static const lin_component *component(const linnet_analysis *analysis, uint64_t index)
{
    return index < analysis->answer->component_count ? &analysis->answer->components[index] : NULL;
}

static int64_t known_bytes(const lin_component *c)
{
    return c != NULL && c->known ? c->bytes : -1;
}

uint64_t linnet_analysis_component_count(const linnet_analysis *analysis)
{
    return analysis->answer->component_count;
}

const char *linnet_analysis_component_name(const linnet_analysis *analysis, uint64_t index)
{
    const lin_component *c = component(analysis, index);
    return c != NULL ? c->name : NULL;
}

const char *linnet_analysis_component_category(const linnet_analysis *analysis, uint64_t index)
{
    const lin_component *c = component(analysis, index);
    return c != NULL ? lin_category_name(c->category) : NULL;
}

int64_t linnet_analysis_component_bytes(const linnet_analysis *analysis, uint64_t index)
{
    return known_bytes(component(analysis, index));
}

int32_t linnet_analysis_component_confidence(const linnet_analysis *analysis, uint64_t index)
{
    const lin_component *c = component(analysis, index);
    return c != NULL ? public_confidence(c->confidence) : LINNET_CONFIDENCE_INVALID;
}

const char *linnet_analysis_component_formula(const linnet_analysis *analysis, uint64_t index)
{
    const lin_component *c = component(analysis, index);
    return c != NULL ? c->formula : NULL;
}

const char *linnet_analysis_component_note(const linnet_analysis *analysis, uint64_t index)
{
    const lin_component *c = component(analysis, index);
    return c != NULL ? c->note : NULL;
}

linnet_status linnet_analysis_copy_component_bytes(const linnet_analysis *analysis,
                                                   int64_t *out_bytes, uint64_t capacity,
                                                   uint64_t *out_count, linnet_error *err)
{
    const uint64_t count = analysis->answer->component_count;
    if (out_count != NULL)
        *out_count = count;
    if (capacity < count)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "room for %llu components is needed, not %llu",
                        (unsigned long long)count, (unsigned long long)capacity);
    for (uint64_t i = 0; i < count; i++)
        out_bytes[i] = known_bytes(&analysis->answer->components[i]);
    return LINNET_OK;
}

/* ---- devices, tensors, remarks ---- */

const char *linnet_analysis_verdict(const linnet_analysis *analysis)
{
    const lin_answer *answer = analysis->answer;
    return answer->device_memory > 0
               ? lin_fit_verdict(answer->peaks.expected, answer->device_memory)
               : NULL;
}

uint64_t linnet_analysis_device_count(const linnet_analysis *analysis)
{
    return analysis->answer->device_count;
}

const char *linnet_analysis_device_name(const linnet_analysis *analysis, uint64_t index)
{
    return index < analysis->answer->device_count ? analysis->answer->devices[index].name : NULL;
}

int64_t linnet_analysis_device_expected_peak(const linnet_analysis *analysis, uint64_t index)
{
    return index < analysis->answer->device_count ? analysis->answer->devices[index].expected_peak
                                                  : -1;
}

int64_t linnet_analysis_device_graph_peak(const linnet_analysis *analysis, uint64_t index)
{
    return index < analysis->answer->device_count ? analysis->answer->devices[index].graph_peak
                                                  : -1;
}

int64_t linnet_analysis_device_runtime(const linnet_analysis *analysis, uint64_t index)
{
    return index < analysis->answer->device_count ? analysis->answer->devices[index].runtime : -1;
}

const char *linnet_analysis_device_holds(const linnet_analysis *analysis, uint64_t index)
{
    return index < analysis->answer->device_count ? analysis->answer->devices[index].holds : NULL;
}

static const lin_largest *tensor(const linnet_analysis *analysis, uint64_t index)
{
    return index < analysis->answer->largest_count ? &analysis->answer->largest[index] : NULL;
}

uint64_t linnet_analysis_tensor_count(const linnet_analysis *analysis)
{
    return analysis->answer->largest_count;
}

const char *linnet_analysis_tensor_name(const linnet_analysis *analysis, uint64_t index)
{
    const lin_largest *t = tensor(analysis, index);
    return t != NULL ? t->name : NULL;
}

const char *linnet_analysis_tensor_path(const linnet_analysis *analysis, uint64_t index)
{
    const lin_largest *t = tensor(analysis, index);
    return t != NULL ? t->path : NULL;
}

int64_t linnet_analysis_tensor_bytes(const linnet_analysis *analysis, uint64_t index)
{
    const lin_largest *t = tensor(analysis, index);
    return t != NULL ? t->bytes : -1;
}

const char *linnet_analysis_tensor_formula(const linnet_analysis *analysis, uint64_t index)
{
    const lin_largest *t = tensor(analysis, index);
    return t != NULL ? t->formula : NULL;
}

const char *linnet_analysis_activations_formula(const linnet_analysis *analysis)
{
    return analysis->answer->activations_formula;
}

uint64_t linnet_analysis_unknown_count(const linnet_analysis *analysis)
{
    return analysis->answer->unknown_count;
}

const char *linnet_analysis_unknown(const linnet_analysis *analysis, uint64_t index)
{
    return index < analysis->answer->unknown_count ? analysis->answer->unknown[index] : NULL;
}

uint64_t linnet_analysis_warning_count(const linnet_analysis *analysis)
{
    return analysis->answer->warning_count;
}

const char *linnet_analysis_warning(const linnet_analysis *analysis, uint64_t index)
{
    return index < analysis->answer->warning_count ? analysis->answer->warnings[index] : NULL;
}

uint64_t linnet_analysis_assumption_count(const linnet_analysis *analysis)
{
    return analysis->answer->assumption_count;
}

const char *linnet_analysis_assumption(const linnet_analysis *analysis, uint64_t index)
{
    return index < analysis->answer->assumption_count ? analysis->answer->assumptions[index] : NULL;
}

/* ---- the timeline ---- */

double linnet_analysis_recompute(const linnet_analysis *analysis)
{
    const lin_training_answer *training = analysis->answer->training;
    return training != NULL && training->has_recompute ? training->recompute : 0;
}

int64_t linnet_analysis_timeline_length(const linnet_analysis *analysis)
{
    return analysis->answer->timeline != NULL ? analysis->answer->timeline->length : 0;
}

static bool find_category(const char *name, lin_category *out)
{
    for (lin_category c = 0; c < LIN_CATEGORY_COUNT; c++)
        if (strcmp(lin_category_name(c), name) == 0) {
            *out = c;
            return true;
        }
    return false;
}

linnet_status linnet_analysis_copy_timeline(const linnet_analysis *analysis, const char *category,
                                            int64_t *out_bytes, uint64_t capacity,
                                            uint64_t *out_count, linnet_error *err)
{
    const lin_answer_timeline *timeline = analysis->answer->timeline;
    lin_category found;
    if (timeline == NULL)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "this analysis has no timeline: ask the config for one");
    if (!find_category(category, &found))
        return lin_fail(err, LINNET_ERROR_NOT_FOUND, "no category is called `%s`", category);
    const uint64_t length = (uint64_t)timeline->length;
    if (out_count != NULL)
        *out_count = length;
    if (capacity < length)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "room for %llu moments is needed, not %llu",
                        (unsigned long long)length, (unsigned long long)capacity);
    for (uint64_t m = 0; m < length; m++)
        out_bytes[m] = timeline->bytes[found] != NULL ? timeline->bytes[found][m] : 0;
    return LINNET_OK;
}

static const lin_phase_span *phase(const linnet_analysis *analysis, uint64_t index)
{
    const lin_answer_timeline *timeline = analysis->answer->timeline;
    return timeline != NULL && index < timeline->phase_count ? &timeline->phases[index] : NULL;
}

uint64_t linnet_analysis_phase_count(const linnet_analysis *analysis)
{
    return analysis->answer->timeline != NULL ? analysis->answer->timeline->phase_count : 0;
}

const char *linnet_analysis_phase_name(const linnet_analysis *analysis, uint64_t index)
{
    const lin_phase_span *p = phase(analysis, index);
    return p != NULL ? p->name : NULL;
}

int64_t linnet_analysis_phase_first(const linnet_analysis *analysis, uint64_t index)
{
    const lin_phase_span *p = phase(analysis, index);
    return p != NULL ? p->first : -1;
}

int64_t linnet_analysis_phase_end(const linnet_analysis *analysis, uint64_t index)
{
    const lin_phase_span *p = phase(analysis, index);
    return p != NULL ? p->end : -1;
}

/* ---- reports ---- */

static linnet_status render(const linnet_analysis *analysis, int64_t top,
                            void (*write)(lin_text *out, const lin_answer *answer, uint32_t top),
                            linnet_text **out_text, linnet_error *err)
{
    if (top < 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a count of tensors cannot be %lld",
                        (long long)top);
    lin_text text;
    lin_text_init(&text, &analysis->allocator);
    write(&text, analysis->answer, top > UINT32_MAX ? UINT32_MAX : (uint32_t)top);
    return lin_text_wrap(&text, out_text, err);
}

linnet_status linnet_analysis_to_text(const linnet_analysis *analysis, int64_t top,
                                      linnet_text **out_text, linnet_error *err)
{
    return render(analysis, top, lin_report_text, out_text, err);
}

linnet_status linnet_analysis_to_json(const linnet_analysis *analysis, int64_t top,
                                      linnet_text **out_text, linnet_error *err)
{
    return render(analysis, top, lin_report_json, out_text, err);
}

static linnet_status draw(const linnet_analysis *analysis, int64_t capacity_bytes,
                          void (*write)(lin_text *out, const lin_answer *answer,
                                        int64_t capacity_bytes),
                          linnet_text **out_text, linnet_error *err)
{
    if (capacity_bytes < 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a device's memory cannot be %lld bytes",
                        (long long)capacity_bytes);
    if (analysis->answer->timeline == NULL)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "this analysis has no timeline: ask the config for one");
    lin_text text;
    lin_text_init(&text, &analysis->allocator);
    write(&text, analysis->answer, capacity_bytes);
    return lin_text_wrap(&text, out_text, err);
}

linnet_status linnet_analysis_to_svg(const linnet_analysis *analysis, int64_t capacity_bytes,
                                     linnet_text **out_text, linnet_error *err)
{
    return draw(analysis, capacity_bytes, lin_report_svg, out_text, err);
}

linnet_status linnet_analysis_to_html(const linnet_analysis *analysis, int64_t capacity_bytes,
                                      linnet_text **out_text, linnet_error *err)
{
    return draw(analysis, capacity_bytes, lin_report_html, out_text, err);
}
