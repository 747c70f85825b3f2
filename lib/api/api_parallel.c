/* SPDX-License-Identifier: MIT */

/* Degrees of parallelism: setters like those of api_config.c. Whether the degrees fit each other
 * and the model shows when an analysis is made. */

#include "api/api.h"
#include <string.h>

static linnet_status set_degree(int64_t *out, int64_t value, const char *name, linnet_error *err)
{
    if (value < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "the %s degree must be at least 1, not %lld",
                        name, (long long)value);
    *out = value;
    return LINNET_OK;
}

/* An option that only a sharded training step has. */
static void note_training(linnet_config *config, const char *name)
{
    if (config->training_option == NULL)
        config->training_option = name;
}

linnet_status linnet_config_set_tensor_parallel(linnet_config *config, int64_t degree,
                                                linnet_error *err)
{
    return set_degree(&config->parallel.tensor, degree, "tensor-parallel", err);
}

linnet_status linnet_config_set_sequence_parallel(linnet_config *config, int32_t wanted,
                                                  linnet_error *err)
{
    if (wanted != 0 && wanted != 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "sequence_parallel is 0 or 1, not %d", wanted);
    config->parallel.sequence = wanted == 1;
    config->has_sequence = true;
    return LINNET_OK;
}

linnet_status linnet_config_set_context_parallel(linnet_config *config, int64_t degree,
                                                 linnet_error *err)
{
    return set_degree(&config->parallel.context, degree, "context-parallel", err);
}

linnet_status linnet_config_set_context_exchange(linnet_config *config, const char *exchange,
                                                 linnet_error *err)
{
    const bool is_ring = strcmp(exchange, "ring") == 0;
    if (!is_ring && strcmp(exchange, "all-gather") != 0)
        return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                        "keys and values are exchanged by `ring` or `all-gather`, not `%s`",
                        exchange);
    config->parallel.exchange = is_ring ? LIN_CONTEXT_RING : LIN_CONTEXT_ALL_GATHER;
    return LINNET_OK;
}

linnet_status linnet_config_set_expert_parallel(linnet_config *config, int64_t degree,
                                                linnet_error *err)
{
    return set_degree(&config->parallel.expert, degree, "expert-parallel", err);
}

linnet_status linnet_config_set_pipeline_parallel(linnet_config *config, int64_t degree,
                                                  linnet_error *err)
{
    return set_degree(&config->parallel.pipeline, degree, "pipeline-parallel", err);
}

linnet_status linnet_config_set_shards(linnet_config *config, int64_t shards, linnet_error *err)
{
    const linnet_status status = set_degree(&config->parallel.shards, shards, "sharding", err);
    if (status == LINNET_OK)
        note_training(config, "shards");
    return status;
}

linnet_status linnet_config_set_replicas(linnet_config *config, int64_t replicas, linnet_error *err)
{
    const linnet_status status =
        set_degree(&config->parallel.replicas, replicas, "data-parallel", err);
    if (status == LINNET_OK)
        config->has_replicas = true;
    return status;
}

linnet_status linnet_config_set_devices(linnet_config *config, int64_t devices, linnet_error *err)
{
    if (devices < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a job has at least 1 device, not %lld",
                        (long long)devices);
    config->devices = devices;
    return LINNET_OK;
}

linnet_status linnet_config_set_zero(linnet_config *config, int64_t stage, linnet_error *err)
{
    if (stage < 1 || stage > 3)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "the stage is 1 (optimizer states), 2 (and gradients) or 3 (and weights), "
                        "not %lld",
                        (long long)stage);
    config->parallel.zero = (int32_t)stage;
    note_training(config, "zero");
    return LINNET_OK;
}

linnet_status linnet_config_set_reshard(linnet_config *config, const char *when, linnet_error *err)
{
    int64_t group = LIN_RESHARD_ALWAYS;
    if (strcmp(when, "never") == 0)
        group = LIN_RESHARD_NEVER;
    else if (strcmp(when, "always") != 0 &&
             (!lin_parse_i64(when, strlen(when), &group) || group < 1))
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "weights are resharded after forward `always`, `never`, or over a group of "
                        "so many processes, not `%s`",
                        when);
    config->parallel.reshard = group;
    note_training(config, "reshard");
    return LINNET_OK;
}

linnet_status linnet_config_set_prefetch(linnet_config *config, int64_t groups, linnet_error *err)
{
    if (groups < 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "weights cannot be gathered %lld groups ahead",
                        (long long)groups);
    config->parallel.prefetch = groups;
    note_training(config, "prefetch");
    return LINNET_OK;
}

linnet_status lin_config_parallel(const linnet_config *config, lin_parallel *out, linnet_error *err)
{
    lin_parallel normal = lin_parallel_normal(&config->parallel);
    if (!config->has_replicas && config->devices == 0)
        lin_parallel_spread_experts(&normal);
    linnet_status status = LINNET_OK;
    if (status == LINNET_OK && config->devices > 0)
        status = lin_parallel_fill(&normal, config->devices, config->has_replicas, err);
    if (status == LINNET_OK)
        status = lin_parallel_check(&normal, err);
    if (status == LINNET_OK)
        *out = normal;
    return status;
}
