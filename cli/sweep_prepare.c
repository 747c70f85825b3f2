/* SPDX-License-Identifier: MIT */

/*
 * From a question to what answers it: a config and a model as the command would make them, what the
 * answer is compared with, and a planner by the key of everything but the sizes.
 */

#include "cli_sweep.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

/* "batch: must be at least 1, not 0": where the value is wrong, the option is named. */
static linnet_status apply(const sweep_question *q, sweep_value value, cli_request *request,
                           linnet_error *err)
{
    const cli_option *option = &q->reading.options[value.row];
    const linnet_status status = option->apply(request, value.text, err);
    if (status == LINNET_OK || cli_exit_status(status) != EXIT_USAGE)
        return status;
    cli_buffer named = { 0 };
    cli_add(&named, "%s: %s", option->name, err->message);
    snprintf(err->message, sizeof err->message, "%.*s", (int)sizeof err->message - 1, named.data);
    free(named.data);
    return status;
}

/* ---- configs ---- */

static linnet_status apply_config(const sweep_question *q, cli_request *request, linnet_error *err)
{
    linnet_status status = LINNET_OK;
    for (int i = 0; i < SWEEP_SIZES && status == LINNET_OK; i++)
        if (q->sizes[i].text != NULL)
            status = apply(q, q->sizes[i], request, err);
    for (int i = 0; i < q->config_count && status == LINNET_OK; i++)
        status = apply(q, q->config[i], request, err);
    if (status != LINNET_OK)
        return status;
    if (request->policy_count > 1)
        return cli_refuse_value(
            err, "a question has one checkpointing policy: compare several as questions "
                 "of their own");
    if (request->timeline && !q->is_full)
        return cli_refuse_value(
            err, "timeline is part of the whole document: `detail` has to be `full`");
    request->json = true;
    return cli_check_reading(&q->reading, request, err);
}

static linnet_status apply_environment(const sweep_worker *worker, linnet_config *config,
                                       linnet_error *err)
{
    const sweep_settings *settings = sweep_store_settings(worker->store);
    linnet_status status = LINNET_OK;
    if (settings->cublas_workspace != NULL)
        status = linnet_config_set_cublas_workspace(config, settings->cublas_workspace, err);
    return status;
}

static const char *std_directory(const sweep_worker *worker, const sweep_question *q)
{
    for (int i = 0; i < q->config_count; i++)
        if (strcmp(q->reading.options[q->config[i].row].name, "std") == 0)
            return q->config[i].text;
    return sweep_store_settings(worker->store)->std_directory;
}

void sweep_release(sweep_prepared *take_p)
{
    linnet_model_unref(take_p->model);
    linnet_config_free(take_p->config);
}

linnet_status sweep_prepare(sweep_worker *worker, const sweep_question *q, sweep_prepared *out,
                            linnet_error *err)
{
    const char *directory = std_directory(worker, q);
    cli_request request = { 0 };
    sweep_prepared p = { NULL, NULL };
    linnet_status status = sweep_store_config(worker->store, &p.config, err);
    request.config = p.config;
    if (status == LINNET_OK)
        status = apply_config(q, &request, err);
    if (status == LINNET_OK && directory != NULL)
        status = linnet_config_set_std_directory(p.config, directory, err);
    if (status == LINNET_OK)
        status = apply_environment(worker, p.config, err);
    if (status == LINNET_OK)
        status = sweep_store_model(worker->store, p.config, q->model, directory, &p.model, err);
    if (status == LINNET_OK)
        *out = p;
    else
        sweep_release(&p);
    return status;
}

/* ---- asides ---- */

linnet_status sweep_read_asides(sweep_worker *worker, const sweep_question *q, sweep_asides *out,
                                linnet_error *err)
{
    linnet_device *device = NULL;
    *out = (sweep_asides){ 0 };
    for (int i = 0; i < q->aside_count; i++) {
        const linnet_status status = apply(q, q->aside[i], &out->request, err);
        if (status != LINNET_OK)
            return status;
    }
    out->device_memory = out->request.device_memory;
    if (out->request.device == NULL)
        return LINNET_OK;
    if (out->device_memory > 0)
        return cli_refuse_value(err,
                                "device and device-memory both say how much memory a device has");
    const linnet_status status =
        sweep_store_device(worker->store, out->request.device, &device, err);
    if (status == LINNET_OK)
        out->device_memory = linnet_device_memory(device);
    linnet_device_unref(device);
    return status;
}

/* ---- keys ---- */

/* Whether the sizes are looked at while the model is traced: a generic bound to a number that a
 * size may contradict, and positions that processes have to divide. Such a planner has one size. */
bool sweep_pins_sizes(const sweep_question *q)
{
    static const char *const generics[] = { "B", "Batch", "S", "P", "Seq", "SeqLen", "MaxSeq" };
    for (int i = 0; i < q->config_count; i++) {
        const char *name = q->reading.options[q->config[i].row].name, *text = q->config[i].text;
        if (strcmp(name, "context-parallel") == 0)
            return true;
        const size_t length = strcmp(name, "bind") == 0 ? strcspn(text, "=") : 0;
        for (size_t k = 0; length > 0 && k < sizeof generics / sizeof generics[0]; k++)
            if (strlen(generics[k]) == length && memcmp(generics[k], text, length) == 0)
                return true;
    }
    return false;
}

static void add_part(cli_buffer *key, int row, const char *text)
{
    const unsigned char name[2] = { (unsigned char)(row / 256), (unsigned char)(row % 256) };
    cli_append(key, (const char *)name, sizeof name);
    cli_append(key, text != NULL ? text : "", text != NULL ? strlen(text) + 1 : 1);
}

/* Everything that decides the planner: its kind, the model, the options, which sizes are free, and
 * the values of those that are not. */
void sweep_make_key(const sweep_question *q, const char *kind, const bool fixed[SWEEP_SIZES],
                    cli_buffer *out)
{
    out->length = 0;
    cli_append(out, kind, strlen(kind) + 1);
    cli_append(out, q->model, strlen(q->model) + 1);
    for (int i = 0; i < q->config_count; i++)
        add_part(out, q->config[i].row, q->config[i].text);
    for (int i = 0; i < SWEEP_SIZES; i++)
        if (q->sizes[i].text != NULL)
            add_part(out, q->sizes[i].row, fixed[i] ? q->sizes[i].text : NULL);
}

/* ---- planners ---- */

void sweep_let_go(sweep_worker *worker)
{
    if (worker->held != NULL)
        sweep_store_give(worker->store, &worker->held_key, worker->held);
    worker->held = NULL;
}

/* The planner of worker->key, which the worker then holds until it needs another. */
linnet_status sweep_hold(sweep_worker *worker, const sweep_question *q, sweep_make_fn make,
                         int64_t extra, linnet_error *err)
{
    if (worker->held != NULL && worker->held_key.length == worker->key.length &&
        memcmp(worker->held_key.data, worker->key.data, worker->key.length) == 0)
        return LINNET_OK;
    sweep_let_go(worker);
    linnet_planner *planner = sweep_store_take(worker->store, &worker->key);
    const linnet_status status =
        planner == NULL ? make(worker, q, extra, &planner, err) : LINNET_OK;
    if (status != LINNET_OK)
        return status;
    worker->held = planner;
    const cli_buffer other = worker->held_key;
    worker->held_key = worker->key;
    worker->key = other;
    return LINNET_OK;
}
