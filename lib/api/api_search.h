/* SPDX-License-Identifier: MIT */
#ifndef LIN_API_SEARCH_H
#define LIN_API_SEARCH_H

/*
 * The handles of a search of layouts; lib/api alone includes this.
 *
 *     api_search_config.c   options
 *     api_search.c          the layouts: made, turned back into a config, printed
 *     api_layouts.c         one layout by index
 *     api_needed.c          how many devices
 */

#include "api/api.h"

struct linnet_layouts {
    atomic_uint references;
    lin_allocator allocator;
    lin_layouts *layouts;
    uint32_t running; /* the first of the list */
    linnet_model *model;
    linnet_config *config; /* its own copy */
};

/* What a search is called with; all of it borrowed. */
typedef struct lin_search_request {
    const linnet_model *model;
    const linnet_config *config;
    const linnet_device *device;
    int64_t budget_bytes;
} lin_search_request;

/* `training` is what the settings point at. */
linnet_status lin_search_fill(const lin_search_request *request, lin_training_settings *training,
                              lin_layouts_settings *out, linnet_error *err);
/* Takes the layouts, even when it fails. */
linnet_status lin_layouts_wrap(lin_layouts *take_layouts, const lin_search_request *request,
                               linnet_layouts **out_layouts, linnet_error *err);

#endif
