/* SPDX-License-Identifier: MIT */
#ifndef LINNET_DEVICE_H
#define LINNET_DEVICE_H

/**
 * @file
 * Device profiles: how much memory a GPU has and how fast it is, from a data sheet or measured.
 * Immutable. Files are JSON, linnet-device(5). Sizes are bytes, rates are per second, times
 * seconds.
 */

#include <linnet/base.h>
#include <linnet/config.h>
#include <linnet/text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct linnet_device linnet_device;

/** How many devices are known by name. @since 0.1 */
LINNET_API uint64_t linnet_builtin_device_count(void);

/** The name of one of them, such as "h100-80gb"; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_builtin_device_name(uint64_t index);

/**
 * Opens a profile: a built-in name, or a file. A word with a '/' in it or ".json" at its end is a
 * file's path.
 *
 * @param config      gives the allocator and the limit of a file's size; nothing else of it is read
 * @param out_device  receives a new device; release it with linnet_device_unref()
 * @return LINNET_OK
 *         LINNET_ERROR_NOT_FOUND    no device of that name; the message has the nearest
 *         LINNET_ERROR_FILE         the file cannot be read
 *         LINNET_ERROR_FORMAT       no profile: the message names the key
 *         LINNET_ERROR_UNSUPPORTED  "local", which has to be measured first
 *         LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_device_open(const linnet_config *config, const char *name_or_path,
                                            linnet_device **out_device, linnet_error *err);

/**
 * Reads a profile's text.
 *
 * @param source_name  how messages call it
 * @return LINNET_OK, LINNET_ERROR_FORMAT, LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_device_parse(const linnet_config *config, const char *text,
                                             uint64_t text_len, const char *source_name,
                                             linnet_device **out_device, linnet_error *err);

/** Another reference, which is returned. @since 0.1 */
LINNET_API linnet_device *linnet_device_ref(linnet_device *device);

/** Gives a reference back. NULL is fine. @since 0.1 */
LINNET_API void linnet_device_unref(linnet_device *device);

/**
 * The device whose time stages are balanced by (linnet_config_set_stages_by) in calls that are
 * given none. Its memory is not taken over: linnet_config_set_device_memory() says that.
 *
 * @param device  the config keeps a reference of its own; NULL takes it back
 * @return LINNET_OK
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_config_set_device(linnet_config *config, linnet_device *device,
                                                  linnet_error *err);

/** Its name, such as "h100-80gb". @since 0.1 */
LINNET_API const char *linnet_device_name(const linnet_device *device);

/** Its name for people; "" when there is none. @since 0.1 */
LINNET_API const char *linnet_device_title(const linnet_device *device);

/** Where the figures are from; "" when the profile does not say. @since 0.1 */
LINNET_API const char *linnet_device_source(const linnet_device *device);

/** What a budget may count on: the memory that the driver gives out where it is known, else all of
 * it. @since 0.1 */
LINNET_API int64_t linnet_device_memory(const linnet_device *device);

/** The memory as it is listed (nvidia-smi), the driver's own part included where the two are known
 * apart. @since 0.1 */
LINNET_API int64_t linnet_device_total_memory(const linnet_device *device);

/** Peak of products in operations per second: "bf16", "f16", anything else as f32. @since 0.1 */
LINNET_API double linnet_device_flops(const linnet_device *device, const char *dtype);

/** Bytes read and written per second. @since 0.1 */
LINNET_API double linnet_device_bandwidth(const linnet_device *device);

/** Bytes per second to another device, in one direction. @since 0.1 */
LINNET_API double linnet_device_link(const linnet_device *device);

/** The text `linnet devices NAME` prints. LINNET_OK, LINNET_ERROR_NO_MEMORY. @since 0.1 */
LINNET_API linnet_status linnet_device_to_text(const linnet_device *device, linnet_text **out_text,
                                               linnet_error *err);

/** A profile file with every figure in force, fallbacks and scaled rates included; it reads back as
 * the same. LINNET_OK, LINNET_ERROR_NO_MEMORY. @since 0.1 */
LINNET_API linnet_status linnet_device_to_json(const linnet_device *device, linnet_text **out_text,
                                               linnet_error *err);

#ifdef __cplusplus
}
#endif

#endif
