/* SPDX-License-Identifier: MIT */
#ifndef SEARCH_JOB_H
#define SEARCH_JOB_H

/* What a search of layouts is asked with: four equal layers on a device of round figures. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <linnet/linnet.h>

static const char program[] =
    "module t.net\n"
    "use std.nn.linear::{Linear}\n"
    "pub block Layer<H: Dim> {\n"
    "    sub up: Linear<H, H, bf16>\n"
    "    pub fn run<B: Dim>(x: Tensor[B, H; bf16]) -> Tensor[B, H; bf16] {\n"
    "        return tanh(up.forward(x))\n"
    "    }\n"
    "}\n"
    "pub block Net<H: Dim> {\n"
    "    sub layers: [Layer<H>; 4]\n"
    "    pub entry loss<B: Dim>(x: Tensor[B, H; bf16]) -> f32 {\n"
    "        var y = x\n"
    "        static for layer in layers {\n"
    "            y = layer.run(y)\n"
    "        }\n"
    "        return sum[b, h] cast<f32>(y[b, h])\n"
    "    }\n"
    "}\n";

static const char profile[] = "{ \"version\": 1, \"kind\": \"linnet-device\", \"name\": \"round\", "
                              "\"memory\": 5000000000, \"flops\": { \"f32\": 1e12 }, "
                              "\"bandwidth\": 1e9, \"link\": 1e9, \"latency\": 1e-6, "
                              "\"reduce\": 1e-6 }";

#define BASE "\"bind\": {\"H\": 256}, \"entry\": \"loss\", \"root\": \"Net\", \"context_bytes\": 0"
#define BUDGET INT64_C(4000000000)

static inline void set_json(linnet_config *config, const char *json)
{
    linnet_error err = { 0 };
    if (linnet_config_set_json(config, json, strlen(json), &err) != LINNET_OK)
        fail_msg("%s", err.message);
}

static inline linnet_config *new_config(const char *json)
{
    linnet_config *config = NULL;
    assert_int_equal(linnet_config_new(&config, NULL), LINNET_OK);
    set_json(config, "{" BASE "}");
    set_json(config, json);
    return config;
}

/* What a search is asked with. */
typedef struct job {
    linnet_config *config;
    linnet_model *model;
    linnet_device *device;
} job;

static inline job new_job(const char *json)
{
    job j = { .config = new_config(json) };
    linnet_error err = { 0 };
    if (linnet_model_parse(j.config, program, sizeof program - 1, "net.linnet", NULL, &j.model,
                           &err) != LINNET_OK ||
        linnet_device_parse(j.config, profile, sizeof profile - 1, "round.json", &j.device, &err) !=
            LINNET_OK)
        fail_msg("%s", err.message);
    return j;
}

static inline void free_job(job *j)
{
    linnet_device_unref(j->device);
    linnet_model_unref(j->model);
    linnet_config_free(j->config);
}

static inline linnet_layouts *search(const char *json)
{
    job j = new_job(json);
    linnet_layouts *layouts = NULL;
    linnet_error err = { 0 };
    if (linnet_layouts_new(j.model, j.config, j.device, BUDGET, &layouts, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    free_job(&j);
    return layouts;
}

#endif
