/* SPDX-License-Identifier: MIT */
#ifndef ADVISE_JOB_H
#define ADVISE_JOB_H

/* What an advice is asked with: a config by its JSON, a model and a device by name. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <linnet/linnet.h>

/* gpt-lesson, as small as it goes. */
#define TINY "\"bind\": {\"Layers\": 4, \"H\": 64, \"Heads\": 2, \"Vocab\": 256}"

static inline void set_json(linnet_config *config, const char *json)
{
    linnet_error err = { 0 };
    if (linnet_config_set_json(config, json, strlen(json), &err) != LINNET_OK)
        fail_msg("%s: %s", json, err.message);
}

static inline linnet_config *new_config(const char *json)
{
    linnet_config *config = NULL;
    assert_int_equal(linnet_config_new(&config, NULL), LINNET_OK);
    set_json(config, json);
    return config;
}

static inline linnet_model *open_model(const linnet_config *config, const char *name)
{
    linnet_model *model = NULL;
    linnet_error err = { 0 };
    if (linnet_model_open(config, name, NULL, &model, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return model;
}

static inline linnet_device *open_device(const linnet_config *config, const char *name)
{
    linnet_device *device = NULL;
    if (name != NULL)
        assert_int_equal(linnet_device_open(config, name, &device, NULL), LINNET_OK);
    return device;
}

#endif
