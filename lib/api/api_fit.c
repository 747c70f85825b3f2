/* SPDX-License-Identifier: MIT */

/* The fit handle: the largest size within a budget, with its analysis. */

#include "api/api.h"

struct linnet_fit {
    atomic_uint references;
    lin_allocator allocator;
    lin_fit fit;
    linnet_analysis *analysis; /* NULL: no size keeps the clauses */
};

linnet_status linnet_fit_budget(int64_t device_bytes, int64_t reserve_bytes,
                                int64_t reserve_thousandths, int64_t *out_budget_bytes,
                                linnet_error *err)
{
    return lin_fit_budget(device_bytes, reserve_bytes, reserve_thousandths, out_budget_bytes, err);
}

/* ---- making one ---- */

static linnet_status find_role(const char *target, lin_role *out, linnet_error *err)
{
    if (lin_fit_role_find(target, out))
        return LINNET_OK;
    return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                    "a search is for `batch`, `context` or `kv-cache`, not `%s`", target);
}

static linnet_status analyse(lin_memory *memory, linnet_fit *fit, linnet_error *err)
{
    int64_t request[LIN_ROLE_COUNT] = { 0 };
    lin_answer *answer = NULL;
    request[fit->fit.role] = fit->fit.value > 0 ? fit->fit.value : fit->fit.smallest;
    if (request[fit->fit.role] == 0)
        return LINNET_OK;
    const linnet_status status = lin_memory_analyse(memory, request, &answer, err);
    return status == LINNET_OK ? lin_analysis_wrap(answer, &fit->allocator, &fit->analysis, err)
                               : status;
}

static linnet_status make(lin_memory *memory, const lin_fit_settings *settings,
                          const lin_allocator *allocator, linnet_fit **out_fit, linnet_error *err)
{
    linnet_fit *fit = NULL;
    linnet_status status = LINNET_OK;
    if (settings->budget_bytes < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a budget of %lld bytes holds nothing",
                        (long long)settings->budget_bytes);
    if ((fit = lin_alloc_zeroed(allocator, sizeof(*fit))) == NULL)
        return lin_fail_memory(err);
    atomic_init(&fit->references, 1);
    fit->allocator = *allocator;
    if ((status = lin_fit_search(memory, settings, &fit->fit, err)) != LINNET_OK ||
        (status = analyse(memory, fit, err)) != LINNET_OK)
        goto out;
    *out_fit = fit;
    fit = NULL;
out:
    linnet_fit_unref(fit);
    return status;
}

static linnet_status check_free(const linnet_config *config, const char *target, lin_role role,
                                linnet_error *err)
{
    if (config->role_value[role] == 0)
        return LINNET_OK;
    return lin_fail(err, LINNET_ERROR_ARGUMENT,
                    "the %s is given as %lld, and a search for the largest %s needs it free",
                    lin_role_names[role], (long long)config->role_value[role], target);
}

linnet_status linnet_fit_new(const linnet_model *model, const linnet_config *config,
                             const char *target, int64_t budget_bytes, linnet_fit **out_fit,
                             linnet_error *err)
{
    lin_trace_settings trace_settings = lin_config_trace(config);
    lin_memory_settings settings = lin_config_memory(config);
    lin_fit_settings fit = { .cache_follows = config->role_value[LIN_ROLE_CACHE] == 0,
                             .budget_bytes = budget_bytes };
    lin_training_settings training;
    lin_time_weigher weigher;
    lin_traced traced;
    lin_memory *memory = NULL;
    linnet_status status;

    if ((status = find_role(target, &fit.role, err)) != LINNET_OK ||
        (status = check_free(config, target, fit.role, err)) != LINNET_OK)
        return status;
    trace_settings.role_vary[fit.role] = true;
    settings.training = config->training ? &training : NULL;
    if ((status = lin_config_training(config, &training, err)) != LINNET_OK ||
        (status = lin_config_parallel(config, &settings.parallel, err)) != LINNET_OK ||
        (status = lin_config_balance(config, NULL, (int)fit.role, &weigher, &settings.pipeline,
                                     err)) != LINNET_OK ||
        (status = lin_trace(model->source, &trace_settings, &config->allocator, &traced, err)) !=
            LINNET_OK ||
        (status = lin_memory_new(model->source, &traced, &trace_settings, &settings,
                                 &config->allocator, &memory, err)) != LINNET_OK)
        return status;
    status = make(memory, &fit, &config->allocator, out_fit, err);
    lin_memory_free(memory);
    return status;
}

linnet_status linnet_planner_fit(linnet_planner *planner, const char *target, int64_t budget_bytes,
                                 linnet_fit **out_fit, linnet_error *err)
{
    lin_fit_settings fit = { .cache_follows = planner->config->role_value[LIN_ROLE_CACHE] == 0,
                             .budget_bytes = budget_bytes };
    const linnet_status status = find_role(target, &fit.role, err);
    return status == LINNET_OK ? make(planner->memory, &fit, &planner->allocator, out_fit, err)
                               : status;
}

linnet_fit *linnet_fit_ref(linnet_fit *fit)
{
    atomic_fetch_add_explicit(&fit->references, 1, memory_order_relaxed);
    return fit;
}

void linnet_fit_unref(linnet_fit *fit)
{
    if (fit == NULL || atomic_fetch_sub_explicit(&fit->references, 1, memory_order_acq_rel) != 1)
        return;
    const lin_allocator allocator = fit->allocator;
    linnet_analysis_unref(fit->analysis);
    lin_release(&allocator, fit, sizeof(*fit));
}

/* ---- what was found ---- */

int64_t linnet_fit_value(const linnet_fit *fit)
{
    return fit->fit.value;
}

int64_t linnet_fit_budget_bytes(const linnet_fit *fit)
{
    return fit->fit.budget;
}

int64_t linnet_fit_headroom(const linnet_fit *fit)
{
    return fit->fit.headroom;
}

const char *linnet_fit_limited_by(const linnet_fit *fit)
{
    return lin_fit_limit_name(fit->fit.limited_by);
}

const linnet_analysis *linnet_fit_analysis(const linnet_fit *fit)
{
    return fit->analysis;
}

const char *linnet_fit_verdict(int64_t expected_peak, int64_t device_bytes)
{
    return lin_fit_verdict(expected_peak, device_bytes);
}

/* ---- documents ---- */

typedef void (*fit_writer)(lin_text *out, const lin_fit *fit, const lin_answer *answer,
                           uint32_t top);

static linnet_status render(const linnet_fit *fit, int64_t top, fit_writer write,
                            linnet_text **out_text, linnet_error *err)
{
    if (top < 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a count of tensors cannot be %lld",
                        (long long)top);
    const lin_answer *answer = fit->analysis != NULL ? fit->analysis->answer : NULL;
    lin_text text;
    lin_text_init(&text, &fit->allocator);
    write(&text, &fit->fit, answer, top > UINT32_MAX ? UINT32_MAX : (uint32_t)top);
    return lin_text_wrap(&text, out_text, err);
}

linnet_status linnet_fit_to_text(const linnet_fit *fit, int64_t top, linnet_text **out_text,
                                 linnet_error *err)
{
    return render(fit, top, lin_report_fit_text, out_text, err);
}

linnet_status linnet_fit_to_json(const linnet_fit *fit, int64_t top, linnet_text **out_text,
                                 linnet_error *err)
{
    return render(fit, top, lin_report_fit_json, out_text, err);
}
