/* SPDX-License-Identifier: MIT */

/* The totals handle: what a model holds, for `inspect`. */

#include "api/api.h"

struct linnet_totals {
    lin_allocator allocator;
    lin_arena arena;
    linnet_model *model; /* whose names the formats are */
    lin_totals sums;
    int64_t tensors, shards; /* of weights */
};

enum { DEFAULT_VALUE_BYTES = 2 };

static lin_value_block block_of(const lin_kv_format *format)
{
    if (format != NULL)
        return (lin_value_block){ format->block_elements, format->block_bytes };
    return (lin_value_block){ 1, DEFAULT_VALUE_BYTES };
}

linnet_status linnet_model_totals(const linnet_model *model, const linnet_config *config,
                                  linnet_totals **out_totals, linnet_error *err)
{
    linnet_totals *totals = lin_alloc_zeroed(&model->allocator, sizeof(*totals));
    if (totals == NULL)
        return lin_fail_memory(err);
    totals->allocator = model->allocator;
    lin_arena_init(&totals->arena, &model->allocator);
    totals->model = linnet_model_ref((linnet_model *)(uintptr_t)model);
    linnet_status status = lin_trace_totals(model->source, config != NULL && config->no_bindings,
                                            block_of(config != NULL ? config->kv_keys : NULL),
                                            block_of(config != NULL ? config->kv_values : NULL),
                                            &totals->arena, &totals->sums, err);
    if (status == LINNET_OK)
        *out_totals = totals;
    else
        linnet_totals_free(totals);
    return status;
}

static linnet_status take_weights(linnet_totals *totals, const lin_weights *weights,
                                  linnet_error *err)
{
    lin_format_total *formats =
        LIN_NEW_ARRAY(&totals->arena, lin_format_total, weights->format_count);
    if (formats == NULL)
        return lin_fail_memory(err);
    for (uint32_t i = 0; i < weights->format_count; i++)
        formats[i] = (lin_format_total){ weights->formats[i].format, weights->formats[i].tensors,
                                         weights->formats[i].elements, weights->formats[i].bytes };
    totals->sums = (lin_totals){ .parameters = weights->elements,
                                 .weight_bytes = weights->bytes,
                                 .formats = formats,
                                 .format_count = weights->format_count };
    totals->tensors = weights->tensors;
    totals->shards = weights->shards;
    return LINNET_OK;
}

linnet_status linnet_weights_totals(const linnet_config *config, const char *path,
                                    linnet_totals **out_totals, linnet_error *err)
{
    const lin_allocator *allocator = config != NULL ? &config->allocator : &lin_default_allocator;
    linnet_totals *totals = lin_alloc_zeroed(allocator, sizeof(*totals));
    lin_weights weights;
    if (totals == NULL)
        return lin_fail_memory(err);
    totals->allocator = *allocator;
    lin_arena_init(&totals->arena, allocator);
    linnet_status status = lin_weights_read(&totals->arena, path, &weights, err);
    if (status == LINNET_OK)
        status = take_weights(totals, &weights, err);
    if (status == LINNET_OK)
        *out_totals = totals;
    else
        linnet_totals_free(totals);
    return status;
}

int64_t linnet_totals_tensors(const linnet_totals *totals)
{
    return totals->tensors;
}

int64_t linnet_totals_shards(const linnet_totals *totals)
{
    return totals->shards;
}

void linnet_totals_free(linnet_totals *totals)
{
    if (totals == NULL)
        return;
    const lin_allocator allocator = totals->allocator;
    lin_arena_free(&totals->arena);
    linnet_model_unref(totals->model);
    lin_release(&allocator, totals, sizeof(*totals));
}

int64_t linnet_totals_parameters(const linnet_totals *totals)
{
    return totals->sums.parameters;
}

int64_t linnet_totals_weight_bytes(const linnet_totals *totals)
{
    return totals->sums.weight_bytes;
}

int64_t linnet_totals_kv_bytes_per_token(const linnet_totals *totals)
{
    return totals->sums.kv_bytes_per_token;
}

int64_t linnet_totals_state_bytes(const linnet_totals *totals)
{
    return totals->sums.state_bytes;
}

int32_t linnet_totals_tied(const linnet_totals *totals)
{
    return totals->sums.tied;
}

static const lin_format_total *format_at(const linnet_totals *totals, uint64_t index)
{
    return index < totals->sums.format_count ? &totals->sums.formats[index] : NULL;
}

uint64_t linnet_totals_format_count(const linnet_totals *totals)
{
    return totals->sums.format_count;
}

const char *linnet_totals_format_name(const linnet_totals *totals, uint64_t index)
{
    const lin_format_total *format = format_at(totals, index);
    return format != NULL ? format->format : NULL;
}

int64_t linnet_totals_format_tensors(const linnet_totals *totals, uint64_t index)
{
    const lin_format_total *format = format_at(totals, index);
    return format != NULL ? format->tensors : 0;
}

int64_t linnet_totals_format_bytes(const linnet_totals *totals, uint64_t index)
{
    const lin_format_total *format = format_at(totals, index);
    return format != NULL ? format->bytes : 0;
}
