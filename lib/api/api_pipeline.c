/* SPDX-License-Identifier: MIT */

/* Options of a pipeline beside its degree: setters like those of api_config.c. Whether they fit the
 * model shows when an analysis is made. */

#include "api/api.h"
#include "schedule/schedule.h"

#include <string.h>

linnet_status linnet_config_set_microbatches(linnet_config *config, int64_t count,
                                             linnet_error *err)
{
    if (count < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a step has at least 1 micro-batch, not %lld",
                        (long long)count);
    config->pipeline.microbatches = count;
    return LINNET_OK;
}

linnet_status linnet_config_set_virtual_stages(linnet_config *config, int64_t stages,
                                               linnet_error *err)
{
    if (stages < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a rank has at least 1 stage, not %lld",
                        (long long)stages);
    config->pipeline.virtual_stages = stages;
    return LINNET_OK;
}

static linnet_status unknown_schedule(const char *name, linnet_error *err)
{
    enum { MAX_NAMES = 32 };
    const char *names[MAX_NAMES];
    uint32_t count = 0;
    while (count < MAX_NAMES && (names[count] = lin_schedule_kind_name(count)) != NULL)
        count++;
    const char *nearest = lin_nearest(name, names, count);
    if (nearest != NULL)
        return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                        "no schedule is called `%s`; did you mean `%s`?", name, nearest);
    return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                    "no schedule is called `%s`: there are gpipe, 1f1b, interleaved-1f1b, zbv and "
                    "others",
                    name);
}

linnet_status linnet_config_set_schedule(linnet_config *config, const char *name, linnet_error *err)
{
    if (!lin_schedule_is_kind(name))
        return unknown_schedule(name, err);
    const linnet_status status = lin_config_set_text(config, CONFIG_SCHEDULE, name, err);
    return status == LINNET_OK ? lin_config_set_text(config, CONFIG_SCHEDULE_TEXT, NULL, err)
                               : status;
}

/* Read once to refuse it here; what is kept is the text. */
linnet_status linnet_config_set_schedule_text(linnet_config *config, const char *text,
                                              uint64_t length, const char *source_name,
                                              linnet_error *err)
{
    lin_schedule *schedule = NULL;
    lin_text copy;
    linnet_status status =
        lin_schedule_read(source_name, text, length, &config->allocator, &schedule, err);
    if (status != LINNET_OK)
        return status;
    lin_schedule_free(schedule);
    lin_text_init(&copy, &config->allocator);
    lin_text_append(&copy, text, length);
    status = copy.failed
                 ? lin_fail_memory(err)
                 : lin_config_set_text(config, CONFIG_SCHEDULE_TEXT, lin_text_data(&copy), err);
    if (status == LINNET_OK)
        status = lin_config_set_text(config, CONFIG_SCHEDULE_SOURCE, source_name, err);
    lin_text_free(&copy);
    return status;
}

linnet_status linnet_config_set_stages(linnet_config *config, const char *blocks, linnet_error *err)
{
    if (blocks != NULL && blocks[0] == '\0')
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "the blocks that later stages start at are missing");
    return lin_config_set_text(config, CONFIG_STAGES, blocks, err);
}

linnet_status linnet_config_set_pipeline_model(linnet_config *config, const char *model,
                                               linnet_error *err)
{
    if (!lin_pipeline_model_find(model, &config->pipeline.model))
        return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                        "no model of a pipeline is called `%s`: there are `linnet` and `published`",
                        model);
    return LINNET_OK;
}

lin_pipeline_settings lin_config_pipeline(const linnet_config *config)
{
    lin_pipeline_settings settings = config->pipeline;
    const char *text = config->texts[CONFIG_SCHEDULE_TEXT];
    settings.ranks = config->parallel.pipeline;
    settings.schedule = config->texts[CONFIG_SCHEDULE];
    settings.schedule_text = text;
    settings.schedule_length = text != NULL ? strlen(text) : 0;
    settings.schedule_source = config->texts[CONFIG_SCHEDULE_SOURCE];
    settings.stages = config->texts[CONFIG_STAGES];
    return settings;
}
