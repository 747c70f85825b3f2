/* SPDX-License-Identifier: MIT */

/* What the stages of a pipeline are balanced by. */

#include "api/api.h"

#include <string.h>

linnet_status linnet_config_set_stages_by(linnet_config *config, const char *measure,
                                          linnet_error *err)
{
    if (strcmp(measure, "bytes") != 0 && strcmp(measure, "time") != 0)
        return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                        "stages are balanced by `bytes` or by `time`, not by `%s`", measure);
    config->stages_by_time = strcmp(measure, "time") == 0;
    return LINNET_OK;
}

void lin_config_hold_device(linnet_config *config, linnet_device *device)
{
    linnet_device *before = config->device;
    config->device = device != NULL ? linnet_device_ref(device) : NULL;
    linnet_device_unref(before);
}

linnet_status linnet_config_set_device(linnet_config *config, linnet_device *device,
                                       linnet_error *err)
{
    (void)err;
    lin_config_hold_device(config, device);
    return LINNET_OK;
}

linnet_status lin_config_check_balance(const linnet_config *config, linnet_error *err)
{
    if (!config->stages_by_time || config->texts[CONFIG_STAGES] == NULL)
        return LINNET_OK;
    return lin_fail(err, LINNET_ERROR_ARGUMENT,
                    "stages are given by hand and balanced by time as well: give one of the two");
}

linnet_status lin_config_balance(const linnet_config *config, const linnet_device *device,
                                 int searched_role, lin_time_weigher *weigher,
                                 lin_pipeline_settings *settings, linnet_error *err)
{
    const linnet_status status = lin_config_check_balance(config, err);
    if (status != LINNET_OK || !config->stages_by_time)
        return status;
    if (device == NULL)
        device = config->device;
    if (device == NULL)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "stages are balanced by the time that a device takes, and no device is "
                        "given: give one, or balance them by bytes");
    if (searched_role < 0)
        searched_role = config->searched_role - 1;
    *weigher = lin_plan_time_weigher(device->profile, config->time_model, searched_role,
                                     &config->allocator);
    settings->weigher = &weigher->base;
    return LINNET_OK;
}
