/* SPDX-License-Identifier: MIT */

/* The advice handle: the changes that make a configuration fit. */

#include "api/api.h"

struct linnet_advice {
    atomic_uint references;
    lin_allocator allocator;
    lin_advice *advice;
};

static linnet_status wrap(lin_advice *take_advice, const lin_allocator *allocator,
                          linnet_advice **out_advice, linnet_error *err)
{
    linnet_advice *advice = lin_alloc(allocator, sizeof(*advice));
    if (advice == NULL) {
        lin_advice_free(take_advice);
        return lin_fail_memory(err);
    }
    atomic_init(&advice->references, 1);
    advice->allocator = *allocator;
    advice->advice = take_advice;
    *out_advice = advice;
    return LINNET_OK;
}

linnet_status linnet_advice_new(const linnet_model *model, const linnet_config *config,
                                const linnet_device *device, int64_t budget_bytes,
                                linnet_advice **out_advice, linnet_error *err)
{
    lin_training_settings training;
    lin_time_weigher weigher;
    lin_advice *advice = NULL;
    lin_advice_settings settings = {
        .source = model->source,
        .trace = lin_config_trace(config),
        .memory = lin_config_memory(config),
        .training = config->training ? &training : NULL,
        .replicas_given = config->has_replicas,
        .cache_follows = config->role_value[LIN_ROLE_CACHE] == 0,
        .profile = device != NULL ? device->profile : NULL,
        .time_model = config->time_model,
        .budget_bytes = budget_bytes,
        .progress = config->progress,
        .progress_user = config->progress_user,
    };
    settings.memory.with_timeline = false;
    linnet_status status = lin_config_training(config, &training, err);
    if (status == LINNET_OK)
        status = lin_config_parallel(config, &settings.memory.parallel, err);
    if (status == LINNET_OK)
        status = lin_config_balance(config, device, -1, &weigher, &settings.memory.pipeline, err);
    if (status == LINNET_OK)
        status = lin_advice_new(&settings, &config->allocator, &advice, err);
    return status == LINNET_OK ? wrap(advice, &config->allocator, out_advice, err) : status;
}

linnet_advice *linnet_advice_ref(linnet_advice *advice)
{
    atomic_fetch_add_explicit(&advice->references, 1, memory_order_relaxed);
    return advice;
}

void linnet_advice_unref(linnet_advice *advice)
{
    if (advice == NULL ||
        atomic_fetch_sub_explicit(&advice->references, 1, memory_order_acq_rel) != 1)
        return;
    const lin_allocator allocator = advice->allocator;
    lin_advice_free(advice->advice);
    lin_release(&allocator, advice, sizeof(*advice));
}

/* ---- the configuration ---- */

int32_t linnet_advice_can_fit(const linnet_advice *advice)
{
    return lin_advice_can_fit(advice->advice) ? 1 : 0;
}

int64_t linnet_advice_budget_bytes(const linnet_advice *advice)
{
    return advice->advice->budget;
}

int64_t linnet_advice_expected_peak(const linnet_advice *advice)
{
    return advice->advice->base.expected_peak;
}

double linnet_advice_seconds(const linnet_advice *advice)
{
    return advice->advice->base.seconds;
}

const char *linnet_advice_verdict(const linnet_advice *advice)
{
    return advice->advice->base.verdict;
}

int64_t linnet_advice_missing_bytes(const linnet_advice *advice)
{
    const lin_advised_set *closest = advice->advice->closest;
    return closest != NULL ? closest->outcome.expected_peak - advice->advice->budget : 0;
}

/* ---- changes ---- */

static const lin_advised *change(const linnet_advice *advice, uint64_t index)
{
    return index < advice->advice->count ? &advice->advice->items[index] : NULL;
}

uint64_t linnet_advice_change_count(const linnet_advice *advice)
{
    return advice->advice->count;
}

const char *linnet_advice_change_name(const linnet_advice *advice, uint64_t index)
{
    const lin_advised *c = change(advice, index);
    return c != NULL ? c->name : NULL;
}

const char *linnet_advice_change_options(const linnet_advice *advice, uint64_t index)
{
    const lin_advised *c = change(advice, index);
    return c != NULL ? c->options : NULL;
}

const char *linnet_advice_change_reason(const linnet_advice *advice, uint64_t index)
{
    const lin_advised *c = change(advice, index);
    return c != NULL ? c->reason : NULL;
}

const char *linnet_advice_change_effect(const linnet_advice *advice, uint64_t index)
{
    const lin_advised *c = change(advice, index);
    return c != NULL ? lin_effects_name(c->effects) : NULL;
}

const char *linnet_advice_change_remark(const linnet_advice *advice, uint64_t index)
{
    const lin_advised *c = change(advice, index);
    return c != NULL ? c->changes : NULL;
}

const char *linnet_advice_change_state(const linnet_advice *advice, uint64_t index)
{
    const lin_advised *c = change(advice, index);
    return c != NULL ? lin_advised_state_name(c->state) : NULL;
}

const char *linnet_advice_change_why_not(const linnet_advice *advice, uint64_t index)
{
    const lin_advised *c = change(advice, index);
    return c != NULL ? c->why_not : NULL;
}

int64_t linnet_advice_change_expected_peak(const linnet_advice *advice, uint64_t index)
{
    const lin_advised *c = change(advice, index);
    return c != NULL ? c->outcome.expected_peak : -1;
}

int64_t linnet_advice_change_saved_bytes(const linnet_advice *advice, uint64_t index)
{
    const lin_advised *c = change(advice, index);
    return c != NULL ? c->outcome.saved : 0;
}

double linnet_advice_change_seconds(const linnet_advice *advice, uint64_t index)
{
    const lin_advised *c = change(advice, index);
    return c != NULL ? c->outcome.seconds : -1;
}

const char *linnet_advice_change_verdict(const linnet_advice *advice, uint64_t index)
{
    const lin_advised *c = change(advice, index);
    return c != NULL && c->outcome.expected_peak >= 0 ? c->outcome.verdict : NULL;
}

/* ---- combinations ---- */

static const lin_advised_set *combination(const linnet_advice *advice, uint64_t index)
{
    return index < advice->advice->set_count ? &advice->advice->sets[index] : NULL;
}

uint64_t linnet_advice_combination_count(const linnet_advice *advice)
{
    return advice->advice->set_count;
}

uint64_t linnet_advice_combination_size(const linnet_advice *advice, uint64_t index)
{
    const lin_advised_set *set = combination(advice, index);
    return set != NULL ? set->count : 0;
}

int64_t linnet_advice_combination_change(const linnet_advice *advice, uint64_t index,
                                         uint64_t member)
{
    const lin_advised_set *set = combination(advice, index);
    return set != NULL && member < set->count ? (int64_t)set->members[member] : -1;
}

const char *linnet_advice_combination_options(const linnet_advice *advice, uint64_t index)
{
    const lin_advised_set *set = combination(advice, index);
    return set != NULL ? set->options : NULL;
}

const char *linnet_advice_combination_effect(const linnet_advice *advice, uint64_t index)
{
    const lin_advised_set *set = combination(advice, index);
    return set != NULL ? lin_effects_name(set->effects) : NULL;
}

int64_t linnet_advice_combination_expected_peak(const linnet_advice *advice, uint64_t index)
{
    const lin_advised_set *set = combination(advice, index);
    return set != NULL ? set->outcome.expected_peak : -1;
}

int64_t linnet_advice_combination_saved_bytes(const linnet_advice *advice, uint64_t index)
{
    const lin_advised_set *set = combination(advice, index);
    return set != NULL ? set->outcome.saved : 0;
}

double linnet_advice_combination_seconds(const linnet_advice *advice, uint64_t index)
{
    const lin_advised_set *set = combination(advice, index);
    return set != NULL ? set->outcome.seconds : -1;
}

const char *linnet_advice_combination_verdict(const linnet_advice *advice, uint64_t index)
{
    const lin_advised_set *set = combination(advice, index);
    return set != NULL ? set->outcome.verdict : NULL;
}

/* ---- documents ---- */

static linnet_status render(const linnet_advice *advice,
                            void (*write)(lin_text *out, const lin_advice *advice),
                            linnet_text **out_text, linnet_error *err)
{
    lin_text text;
    lin_text_init(&text, &advice->allocator);
    write(&text, advice->advice);
    return lin_text_wrap(&text, out_text, err);
}

linnet_status linnet_advice_to_text(const linnet_advice *advice, linnet_text **out_text,
                                    linnet_error *err)
{
    return render(advice, lin_report_advice_text, out_text, err);
}

linnet_status linnet_advice_to_json(const linnet_advice *advice, linnet_text **out_text,
                                    linnet_error *err)
{
    return render(advice, lin_report_advice_json, out_text, err);
}
