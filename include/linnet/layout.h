/* SPDX-License-Identifier: MIT */
#ifndef LINNET_LAYOUT_H
#define LINNET_LAYOUT_H

/**
 * @file
 * Which ranks of a job form which group, for the degrees of a config. Immutable.
 *
 * Ranks are points of a grid whose axes are the degrees, tensor parallelism the fastest, then
 * context, data (shards inside, replicas outside) and pipeline, as in Megatron-LM and in a device
 * mesh. Kinds of groups: "tensor", "context", "shards", "replicas", "pipeline", "expert",
 * "expert_data" (ranks that hold the same experts) and "gradients" (ranks that hold the same
 * weights).
 */

#include <linnet/config.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct linnet_layout linnet_layout;

/**
 * The groups of the config's degrees. With linnet_config_set_devices the degrees must divide the
 * devices, and replicas fill them.
 *
 * @param order  the axes, the fastest first, such as "tp-cp-ep-dp-pp", the default (NULL)
 * @return LINNET_OK
 *         LINNET_ERROR_ARGUMENT     degrees that do not fit each other or the devices, no order
 *         LINNET_ERROR_UNSUPPORTED  more than 2^20 devices
 *         LINNET_ERROR_OVERFLOW     a product past 2^63 - 1
 *         LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_layout_new(const linnet_config *config, const char *order,
                                           linnet_layout **out_layout, linnet_error *err);

/** Releases the layout. NULL is fine. @since 0.1 */
LINNET_API void linnet_layout_free(linnet_layout *layout);

/** Devices of the job. @since 0.1 */
LINNET_API int64_t linnet_layout_devices(const linnet_layout *layout);

/** Kinds of groups, those of one rank each included. @since 0.1 */
LINNET_API uint64_t linnet_layout_set_count(const linnet_layout *layout);

/** The kind's name; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_layout_set_name(const linnet_layout *layout, uint64_t set);

/** Groups of that kind; 0 out of range. @since 0.1 */
LINNET_API uint64_t linnet_layout_set_groups(const linnet_layout *layout, uint64_t set);

/** Ranks of each group of that kind; 0 out of range. @since 0.1 */
LINNET_API uint64_t linnet_layout_set_size(const linnet_layout *layout, uint64_t set);

/**
 * The ranks of one group into the caller's array.
 *
 * @param capacity   elements of `out_ranks`
 * @param out_count  receives the number of ranks, also when the array is too small; may be NULL
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (no such set or group, the array is too small)
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_layout_copy_ranks(const linnet_layout *layout, uint64_t set,
                                                  uint64_t group, int64_t *out_ranks,
                                                  uint64_t capacity, uint64_t *out_count,
                                                  linnet_error *err);

/** The text `linnet layout` prints. LINNET_OK, LINNET_ERROR_NO_MEMORY. @since 0.1 */
LINNET_API linnet_status linnet_layout_to_text(const linnet_layout *layout, linnet_text **out_text,
                                               linnet_error *err);

/** The same as one JSON object: version, devices, order, degrees, groups[] {kind, size, groups}.
 * @since 0.1 */
LINNET_API linnet_status linnet_layout_to_json(const linnet_layout *layout, linnet_text **out_text,
                                               linnet_error *err);

#ifdef __cplusplus
}
#endif

#endif
