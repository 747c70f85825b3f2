/* SPDX-License-Identifier: MIT */

/* The timing handle: a step's time on a device. */

#include "api/api.h"

struct linnet_timing {
    atomic_uint references;
    lin_allocator allocator;
    lin_timing *timing;
};

/* ---- models of time ---- */

linnet_status linnet_config_set_time_model(linnet_config *config, const char *name,
                                           linnet_error *err)
{
    lin_time_model model;
    if (!lin_time_model_find(name, &model))
        return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                        "the time model is `linnet` or `reference`, not `%s`", name);
    config->time_model = model;
    return LINNET_OK;
}

linnet_status linnet_config_set_training_loop(linnet_config *config, const char *name,
                                              linnet_error *err)
{
    lin_loop loop;
    if (!lin_loop_find(name, &loop))
        return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                        "the training loop is `free` or `megatron`, not `%s`", name);
    config->loop = loop;
    return LINNET_OK;
}

static const lin_time_rule *rule_at(uint64_t index)
{
    return index < LIN_RULE_COUNT ? lin_time_rule_at((uint32_t)index) : NULL;
}

uint64_t linnet_time_rule_count(void)
{
    return LIN_RULE_COUNT;
}

const char *linnet_time_rule_name(uint64_t index)
{
    const lin_time_rule *rule = rule_at(index);
    return rule != NULL ? rule->name : NULL;
}

const char *linnet_time_rule_what(uint64_t index)
{
    const lin_time_rule *rule = rule_at(index);
    return rule != NULL ? rule->what : NULL;
}

const char *linnet_time_rule_why(uint64_t index)
{
    const lin_time_rule *rule = rule_at(index);
    return rule != NULL ? rule->why : NULL;
}

int32_t linnet_time_rule_is_used(uint64_t index)
{
    const lin_time_rule *rule = rule_at(index);
    return rule != NULL && rule->in_linnet;
}

/* ---- the handle ---- */

static linnet_status wrap(lin_timing *take_timing, const lin_allocator *allocator,
                          linnet_timing **out_timing, linnet_error *err)
{
    linnet_timing *timing = lin_alloc(allocator, sizeof(*timing));
    if (timing == NULL) {
        lin_timing_free(take_timing);
        return lin_fail_memory(err);
    }
    atomic_init(&timing->references, 1);
    timing->allocator = *allocator;
    timing->timing = take_timing;
    *out_timing = timing;
    return LINNET_OK;
}

linnet_status linnet_timing_new(const linnet_model *model, const linnet_config *config,
                                const linnet_device *device, linnet_timing **out_timing,
                                linnet_error *err)
{
    const lin_trace_settings trace_settings = lin_config_trace(config);
    lin_memory_settings settings = lin_config_memory(config);
    lin_timing_settings timing_settings = { .model = config->time_model,
                                            .training = config->training,
                                            .loop = config->loop };
    lin_training_settings training;
    lin_time_weigher weigher;
    lin_traced traced;
    lin_memory *memory = NULL;
    lin_timing *timing = NULL;
    linnet_status status;

    settings.training = config->training ? &training : NULL;
    if ((status = lin_config_training(config, &training, err)) != LINNET_OK ||
        (status = lin_config_parallel(config, &settings.parallel, err)) != LINNET_OK ||
        (status = lin_config_balance(config, device, -1, &weigher, &settings.pipeline, err)) !=
            LINNET_OK ||
        (status = lin_trace(model->source, &trace_settings, &config->allocator, &traced, err)) !=
            LINNET_OK ||
        (status = lin_memory_new(model->source, &traced, &trace_settings, &settings,
                                 &config->allocator, &memory, err)) != LINNET_OK)
        goto out;
    timing_settings.parallel = settings.parallel;
    status =
        lin_timing_new(memory, device->profile, &timing_settings, &config->allocator, &timing, err);
    if (status == LINNET_OK)
        status = wrap(timing, &config->allocator, out_timing, err);
out:
    lin_memory_free(memory);
    return status;
}

const lin_timing *lin_timing_of(const linnet_timing *timing)
{
    return timing->timing;
}

linnet_timing *linnet_timing_ref(linnet_timing *timing)
{
    atomic_fetch_add_explicit(&timing->references, 1, memory_order_relaxed);
    return timing;
}

void linnet_timing_unref(linnet_timing *timing)
{
    if (timing == NULL ||
        atomic_fetch_sub_explicit(&timing->references, 1, memory_order_acq_rel) != 1)
        return;
    const lin_allocator allocator = timing->allocator;
    lin_timing_free(timing->timing);
    lin_release(&allocator, timing, sizeof(*timing));
}

double linnet_timing_seconds(const linnet_timing *timing)
{
    return timing->timing->time.seconds;
}

double linnet_timing_tokens(const linnet_timing *timing)
{
    return timing->timing->time.tokens;
}

double linnet_timing_tokens_per_second(const linnet_timing *timing)
{
    return timing->timing->time.tokens_per_second;
}

double linnet_timing_compute_seconds(const linnet_timing *timing)
{
    return timing->timing->time.spent[LIN_SPENT_COMPUTE];
}

double linnet_timing_memory_seconds(const linnet_timing *timing)
{
    return timing->timing->time.spent[LIN_SPENT_MEMORY];
}

double linnet_timing_communication_seconds(const linnet_timing *timing)
{
    return timing->timing->time.spent[LIN_SPENT_COMMUNICATION];
}

double linnet_timing_host_seconds(const linnet_timing *timing)
{
    return timing->timing->time.host;
}

const char *linnet_timing_limit(const linnet_timing *timing)
{
    return lin_limit_name(timing->timing->time.limit);
}

static double utilisation(const lin_timing *timing, double operations)
{
    const double possible = timing->time.seconds * timing->peak * (double)timing->devices;
    return possible > 0 ? operations / possible : 0;
}

double linnet_timing_model_utilisation(const linnet_timing *timing)
{
    return utilisation(timing->timing, timing->timing->model_operations);
}

double linnet_timing_hardware_utilisation(const linnet_timing *timing)
{
    return utilisation(timing->timing, timing->timing->hardware_operations);
}

int64_t linnet_timing_expected_peak(const linnet_timing *timing)
{
    return timing->timing->expected_peak;
}

const char *linnet_timing_verdict(const linnet_timing *timing)
{
    return lin_fit_verdict(timing->timing->expected_peak, timing->timing->budget);
}

/* ---- the costliest ---- */

static const lin_costly *operation(const linnet_timing *timing, uint64_t index)
{
    return index < timing->timing->costliest_count ? &timing->timing->costliest[index] : NULL;
}

uint64_t linnet_timing_operation_count(const linnet_timing *timing)
{
    return timing->timing->costliest_count;
}

const char *linnet_timing_operation_name(const linnet_timing *timing, uint64_t index)
{
    const lin_costly *o = operation(timing, index);
    return o != NULL ? o->label : NULL;
}

const char *linnet_timing_operation_scope(const linnet_timing *timing, uint64_t index)
{
    const lin_costly *o = operation(timing, index);
    return o != NULL ? o->scope : NULL;
}

int64_t linnet_timing_operation_calls(const linnet_timing *timing, uint64_t index)
{
    const lin_costly *o = operation(timing, index);
    return o != NULL ? o->calls : 0;
}

double linnet_timing_operation_seconds(const linnet_timing *timing, uint64_t index)
{
    const lin_costly *o = operation(timing, index);
    return o != NULL ? o->seconds : 0;
}

/* ---- documents ---- */

static linnet_status render(const linnet_timing *timing,
                            void (*write)(lin_text *out, const lin_timing *timing),
                            linnet_text **out_text, linnet_error *err)
{
    lin_text text;
    lin_text_init(&text, &timing->allocator);
    write(&text, timing->timing);
    return lin_text_wrap(&text, out_text, err);
}

linnet_status linnet_timing_to_text(const linnet_timing *timing, linnet_text **out_text,
                                    linnet_error *err)
{
    return render(timing, lin_report_time_text, out_text, err);
}

linnet_status linnet_timing_to_json(const linnet_timing *timing, linnet_text **out_text,
                                    linnet_error *err)
{
    return render(timing, lin_report_time_json, out_text, err);
}
