/* SPDX-License-Identifier: MIT */

/* Options of a search of layouts: setters like those of api_config.c. */

#include "api/api.h"

linnet_status linnet_config_set_threads(linnet_config *config, int64_t threads, linnet_error *err)
{
    if (threads < 1 || threads > LIN_LAYOUTS_MOST_THREADS)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a search uses 1 to %d threads, not %lld",
                        (int)LIN_LAYOUTS_MOST_THREADS, (long long)threads);
    config->threads = threads;
    return LINNET_OK;
}

linnet_status linnet_config_set_progress(linnet_config *config, linnet_progress_fn fn, void *user,
                                         linnet_error *err)
{
    (void)err;
    config->progress = fn;
    config->progress_user = user;
    return LINNET_OK;
}

linnet_status linnet_config_set_limit(linnet_config *config, int64_t layouts, linnet_error *err)
{
    if (layouts < 0 || layouts > INT32_MAX)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "the layouts wanted are between 0 (all) and 2^31 - 1, not %lld",
                        (long long)layouts);
    config->has_limit = true;
    config->limit = layouts;
    return LINNET_OK;
}

linnet_status linnet_config_set_explain(linnet_config *config, int32_t wanted, linnet_error *err)
{
    if (wanted != 0 && wanted != 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "explain is 0 or 1, not %d", wanted);
    config->explain = wanted == 1;
    return LINNET_OK;
}

linnet_status linnet_config_set_global_batch(linnet_config *config, int64_t size, linnet_error *err)
{
    if (size < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a global batch must be at least 1, not %lld",
                        (long long)size);
    config->global_batch = size;
    return LINNET_OK;
}

linnet_status linnet_config_add_checkpoint_choice(linnet_config *config, const char *policy,
                                                  linnet_error *err)
{
    const linnet_status status = lin_config_check_policy(policy, err);
    return status == LINNET_OK
               ? lin_config_push_text(config, &config->checkpoint_choice, policy, err)
               : status;
}

linnet_status linnet_planner_set_threads(linnet_planner *planner, int64_t threads,
                                         linnet_error *err)
{
    return linnet_config_set_threads(planner->config, threads, err);
}

linnet_status linnet_planner_set_progress(linnet_planner *planner, linnet_progress_fn fn,
                                          void *user, linnet_error *err)
{
    return linnet_config_set_progress(planner->config, fn, user, err);
}
