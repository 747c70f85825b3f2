/* SPDX-License-Identifier: MIT */

/* The handle of how many devices a job needs, with the layouts of those numbers. */

#include "api/api_search.h"

#include <math.h>
#include <string.h>

struct linnet_devices_needed {
    atomic_uint references;
    lin_allocator allocator;
    lin_devices_needed needed;          /* its layouts are those of the handles below */
    linnet_layouts *fitting, *reaching; /* NULL: none */
    char *device;                       /* its name; owned */
};

/* ---- making one ---- */

static linnet_status check(const linnet_config *config, int64_t most, double tokens_per_second,
                           linnet_error *err)
{
    if (config->devices != 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "the devices are given as %lld, and their number is what is searched for",
                        (long long)config->devices);
    if (most < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "at most %lld devices are none: at least 1 has to be looked at",
                        (long long)most);
    if (!isfinite(tokens_per_second) || tokens_per_second < 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "the tokens per second must be a number of at least 0");
    return LINNET_OK;
}

static linnet_status copy_name(linnet_devices_needed *needed, const char *name, linnet_error *err)
{
    const uint64_t size = strlen(name) + 1;
    if ((needed->device = lin_alloc(&needed->allocator, size)) == NULL)
        return lin_fail_memory(err);
    memcpy(needed->device, name, (size_t)size);
    return LINNET_OK;
}

/* Each set of layouts gets a handle, which owns it from here on. */
static linnet_status wrap_layouts(linnet_devices_needed *needed, const lin_search_request *request,
                                  linnet_error *err)
{
    lin_layouts *fitting = needed->needed.fitting, *reaching = needed->needed.reaching;
    linnet_status status = LINNET_OK;
    if (fitting != NULL)
        status = lin_layouts_wrap(fitting, request, &needed->fitting, err);
    if (status != LINNET_OK)
        lin_layouts_free(reaching);
    else if (reaching != NULL)
        status = lin_layouts_wrap(reaching, request, &needed->reaching, err);
    return status;
}

static linnet_status search(linnet_devices_needed *needed, const lin_search_request *request,
                            int64_t most, double tokens_per_second, linnet_error *err)
{
    lin_training_settings training;
    lin_layouts_settings settings;
    linnet_status status = lin_search_fill(request, &training, &settings, err);
    if (status == LINNET_OK)
        status = lin_devices_search(&settings, most, tokens_per_second, &needed->allocator,
                                    &needed->needed, err);
    return status == LINNET_OK ? wrap_layouts(needed, request, err) : status;
}

linnet_status linnet_devices_needed_new(const linnet_model *model, const linnet_config *config,
                                        const linnet_device *device, int64_t budget_bytes,
                                        int64_t most, double tokens_per_second,
                                        linnet_devices_needed **out_needed, linnet_error *err)
{
    const lin_search_request request = { model, config, device, budget_bytes };
    linnet_devices_needed *needed = NULL;
    linnet_status status = check(config, most, tokens_per_second, err);
    if (status != LINNET_OK)
        return status;
    if ((needed = lin_alloc_zeroed(&config->allocator, sizeof *needed)) == NULL)
        return lin_fail_memory(err);
    atomic_init(&needed->references, 1);
    needed->allocator = config->allocator;
    if ((status = copy_name(needed, device->profile->name, err)) != LINNET_OK ||
        (status = search(needed, &request, most, tokens_per_second, err)) != LINNET_OK)
        goto out;
    *out_needed = needed;
    needed = NULL;
out:
    linnet_devices_needed_unref(needed);
    return status;
}

linnet_devices_needed *linnet_devices_needed_ref(linnet_devices_needed *needed)
{
    atomic_fetch_add_explicit(&needed->references, 1, memory_order_relaxed);
    return needed;
}

void linnet_devices_needed_unref(linnet_devices_needed *needed)
{
    if (needed == NULL ||
        atomic_fetch_sub_explicit(&needed->references, 1, memory_order_acq_rel) != 1)
        return;
    const lin_allocator allocator = needed->allocator;
    linnet_layouts_unref(needed->fitting);
    linnet_layouts_unref(needed->reaching);
    if (needed->device != NULL)
        lin_release(&allocator, needed->device, strlen(needed->device) + 1);
    lin_release(&allocator, needed, sizeof *needed);
}

/* ---- what was found ---- */

int64_t linnet_devices_needed_fits(const linnet_devices_needed *needed)
{
    return needed->needed.fits;
}

int64_t linnet_devices_needed_reaches(const linnet_devices_needed *needed)
{
    return needed->needed.fast;
}

const linnet_layouts *linnet_devices_needed_fitting(const linnet_devices_needed *needed)
{
    return needed->fitting;
}

const linnet_layouts *linnet_devices_needed_reaching(const linnet_devices_needed *needed)
{
    return needed->reaching;
}

double linnet_devices_needed_fastest(const linnet_devices_needed *needed)
{
    return needed->needed.best;
}

int64_t linnet_devices_needed_fastest_devices(const linnet_devices_needed *needed)
{
    return needed->needed.best_devices;
}

/* ---- documents ---- */

linnet_status linnet_devices_needed_to_text(const linnet_devices_needed *needed,
                                            linnet_text **out_text, linnet_error *err)
{
    lin_text text;
    lin_text_init(&text, &needed->allocator);
    lin_report_needed_text(&text, &needed->needed, needed->device);
    return lin_text_wrap(&text, out_text, err);
}

linnet_status linnet_devices_needed_to_json(const linnet_devices_needed *needed,
                                            linnet_text **out_text, linnet_error *err)
{
    lin_text text;
    lin_text_init(&text, &needed->allocator);
    lin_report_needed_json(&text, &needed->needed, needed->device);
    return lin_text_wrap(&text, out_text, err);
}
