/* SPDX-License-Identifier: MIT */

/* The device handle: a profile by name, file or text. */

#include "api/api.h"
#include <string.h>

uint64_t linnet_builtin_device_count(void)
{
    return lin_profile_count();
}

const char *linnet_builtin_device_name(uint64_t index)
{
    return index < lin_profile_count() ? lin_profile_name((uint32_t)index) : NULL;
}

static linnet_status wrap(lin_profile *take_profile, const lin_allocator *allocator,
                          linnet_device **out_device, linnet_error *err)
{
    linnet_device *device = lin_alloc(allocator, sizeof(*device));
    if (device == NULL) {
        lin_profile_free(take_profile);
        return lin_fail_memory(err);
    }
    atomic_init(&device->references, 1);
    device->allocator = *allocator;
    device->profile = take_profile;
    *out_device = device;
    return LINNET_OK;
}

linnet_status linnet_device_open(const linnet_config *config, const char *name_or_path,
                                 linnet_device **out_device, linnet_error *err)
{
    lin_profile *profile = NULL;
    const linnet_status status = lin_profile_open(name_or_path, (uint64_t)config->file_bytes,
                                                  &config->allocator, &profile, err);
    return status == LINNET_OK ? wrap(profile, &config->allocator, out_device, err) : status;
}

linnet_status linnet_device_parse(const linnet_config *config, const char *text, uint64_t text_len,
                                  const char *source_name, linnet_device **out_device,
                                  linnet_error *err)
{
    lin_profile *profile = NULL;
    const linnet_status status =
        lin_profile_parse(source_name, text, text_len, &config->allocator, &profile, err);
    return status == LINNET_OK ? wrap(profile, &config->allocator, out_device, err) : status;
}

linnet_device *linnet_device_ref(linnet_device *device)
{
    atomic_fetch_add_explicit(&device->references, 1, memory_order_relaxed);
    return device;
}

void linnet_device_unref(linnet_device *device)
{
    if (device == NULL ||
        atomic_fetch_sub_explicit(&device->references, 1, memory_order_acq_rel) != 1)
        return;
    const lin_allocator allocator = device->allocator;
    lin_profile_free(device->profile);
    lin_release(&allocator, device, sizeof(*device));
}

const char *linnet_device_name(const linnet_device *device)
{
    return device->profile->name;
}

const char *linnet_device_title(const linnet_device *device)
{
    return device->profile->title;
}

const char *linnet_device_source(const linnet_device *device)
{
    return device->profile->source;
}

int64_t linnet_device_memory(const linnet_device *device)
{
    return lin_profile_budget(device->profile);
}

int64_t linnet_device_total_memory(const linnet_device *device)
{
    return device->profile->memory_bytes;
}

double linnet_device_flops(const linnet_device *device, const char *dtype)
{
    lin_dtype found = LIN_DTYPE_F32;
    lin_dtype_find(dtype, strlen(dtype), &found);
    return lin_rate_peak(device->profile, lin_rate_dtype_of(found));
}

double linnet_device_bandwidth(const linnet_device *device)
{
    return device->profile->bandwidth;
}

double linnet_device_link(const linnet_device *device)
{
    return device->profile->link;
}

static linnet_status render(const linnet_device *device,
                            void (*write)(lin_text *out, const lin_profile *profile),
                            linnet_text **out_text, linnet_error *err)
{
    lin_text text;
    lin_text_init(&text, &device->allocator);
    write(&text, device->profile);
    return lin_text_wrap(&text, out_text, err);
}

linnet_status linnet_device_to_text(const linnet_device *device, linnet_text **out_text,
                                    linnet_error *err)
{
    return render(device, lin_report_device_text, out_text, err);
}

linnet_status linnet_device_to_json(const linnet_device *device, linnet_text **out_text,
                                    linnet_error *err)
{
    return render(device, lin_report_device_json, out_text, err);
}
