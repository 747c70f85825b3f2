/* SPDX-License-Identifier: MIT */

/* The planner handle: a model traced once, asked for other sizes. */

#include "api/api.h"

linnet_status linnet_planner_new(const linnet_model *model, const linnet_config *config,
                                 linnet_planner **out_planner, linnet_error *err)
{
    linnet_planner *planner = lin_alloc_zeroed(&config->allocator, sizeof *planner);
    lin_traced traced;
    linnet_status status;

    if (planner == NULL)
        return lin_fail_memory(err);
    planner->allocator = config->allocator;
    /* The prepared memory borrows from the settings, so it gets a config that lives as long. */
    if ((planner->config = lin_config_clone(config)) == NULL) {
        status = lin_fail_memory(err);
        goto out;
    }
    const lin_trace_settings trace_settings = lin_config_trace(planner->config);
    lin_memory_settings settings = lin_config_memory(planner->config);
    lin_training_settings training;
    lin_time_weigher weigher;
    settings.training = config->training ? &training : NULL;
    if ((status = lin_config_training(planner->config, &training, err)) != LINNET_OK ||
        (status = lin_config_parallel(planner->config, &settings.parallel, err)) != LINNET_OK ||
        (status = lin_config_balance(planner->config, NULL, -1, &weigher, &settings.pipeline,
                                     err)) != LINNET_OK ||
        (status = lin_trace(model->source, &trace_settings, &config->allocator, &traced, err)) !=
            LINNET_OK ||
        (status = lin_memory_new(model->source, &traced, &trace_settings, &settings,
                                 &config->allocator, &planner->memory, err)) != LINNET_OK)
        goto out;
    planner->model = linnet_model_ref((linnet_model *)(uintptr_t)model);
    *out_planner = planner;
    planner = NULL;
out:
    linnet_planner_free(planner);
    return status;
}

void linnet_planner_free(linnet_planner *planner)
{
    if (planner == NULL)
        return;
    lin_memory_free(planner->memory);
    linnet_model_unref(planner->model);
    linnet_config_free(planner->config);
    const lin_allocator allocator = planner->allocator;
    lin_release(&allocator, planner, sizeof *planner);
}

/* A cache length that followed the context goes on following it. */
static void fill_roles(const linnet_planner *planner, int64_t batch, int64_t context, int64_t cache,
                       int64_t out[LIN_ROLE_COUNT])
{
    out[LIN_ROLE_BATCH] = batch;
    out[LIN_ROLE_CONTEXT] = context;
    out[LIN_ROLE_CACHE] =
        cache == 0 && planner->config->role_value[LIN_ROLE_CACHE] == 0 ? context : cache;
}

linnet_status linnet_planner_peaks(linnet_planner *planner, int64_t batch, int64_t context,
                                   int64_t cache, int64_t *out_graph, int64_t *out_expected,
                                   int64_t *out_allocator, linnet_error *err)
{
    int64_t roles[LIN_ROLE_COUNT];
    lin_peaks peaks;
    fill_roles(planner, batch, context, cache, roles);
    linnet_status status = lin_memory_peaks(planner->memory, roles, &peaks, err);
    if (status != LINNET_OK)
        return status;
    if (out_graph != NULL)
        *out_graph = peaks.graph;
    if (out_expected != NULL)
        *out_expected = peaks.expected;
    if (out_allocator != NULL)
        *out_allocator = peaks.allocator;
    return LINNET_OK;
}

typedef linnet_status (*answer_fn)(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                                   lin_answer **out, linnet_error *err);

static linnet_status answer_with(answer_fn answer_at, linnet_planner *planner,
                                 const int64_t roles[LIN_ROLE_COUNT],
                                 linnet_analysis **out_analysis, linnet_error *err)
{
    lin_answer *answer = NULL;
    const linnet_status status = answer_at(planner->memory, roles, &answer, err);
    return status == LINNET_OK ? lin_analysis_wrap(answer, &planner->allocator, out_analysis, err)
                               : status;
}

linnet_status linnet_planner_analyse(linnet_planner *planner, int64_t batch, int64_t context,
                                     int64_t cache, linnet_analysis **out_analysis,
                                     linnet_error *err)
{
    int64_t roles[LIN_ROLE_COUNT];
    fill_roles(planner, batch, context, cache, roles);
    return answer_with(lin_memory_analyse, planner, roles, out_analysis, err);
}

linnet_status linnet_planner_summarise(linnet_planner *planner, int64_t batch, int64_t context,
                                       int64_t cache, linnet_analysis **out_analysis,
                                       linnet_error *err)
{
    int64_t roles[LIN_ROLE_COUNT];
    fill_roles(planner, batch, context, cache, roles);
    return answer_with(lin_memory_summarise, planner, roles, out_analysis, err);
}
