/* SPDX-License-Identifier: MIT */
#ifndef COMPARISON_COLUMNS_H
#define COMPARISON_COLUMNS_H

/* Comparisons and two documents to put into them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <linnet/linnet.h>

/* A document of `linnet memory`: settings, components and what stands after the peak. */
#define MEMORY(settings, components, peak, more)                                       \
    "{\"version\": 1, \"configuration\": {" settings "}, \"components\": [" components \
    "], \"devices\": [], \"recompute\": null, \"peak\": {\"graph\": " peak             \
    ", \"allocator\": 20, \"expected\": 30}" more "}"
#define COMPONENT(name, bytes) "{\"name\": \"" name "\", \"bytes\": " bytes "}"

static const char plain[] =
    MEMORY("\"model\": \"m\", \"batch\": 1, \"kv\": null, \"bindings\": {\"H\": 8}",
           COMPONENT("Weights", "1024") ", " COMPONENT("KV cache", "0") ", " COMPONENT(
               "Optimizer states (adamw)", "4096") ", " COMPONENT("Fragmentation", "null"),
           "10", "");
static const char trained[] =
    MEMORY("\"model\": \"m\", \"batch\": 4, \"kv\": null, \"bindings\": {\"H\": 8}, "
           "\"training\": {\"clip\": true, \"trainable\": [\"a.*\", 7]}",
           COMPONENT("Weights", "1024") ", " COMPONENT("Gradients", "512") ", " COMPONENT(
               "Optimizer states (lion)", "1024") ", " COMPONENT("Fragmentation", "null"),
           "10", ", \"verdict\": {\"device_memory\": 100, \"free\": 70, \"verdict\": \"OK\"}");

static inline linnet_config *new_config(void)
{
    linnet_config *config = NULL;
    assert_int_equal(linnet_config_new(&config, NULL), LINNET_OK);
    return config;
}

static inline linnet_comparison *new_comparison(void)
{
    linnet_config *config = new_config();
    linnet_comparison *comparison = NULL;
    assert_int_equal(linnet_comparison_new(config, &comparison, NULL), LINNET_OK);
    linnet_config_free(config);
    return comparison;
}

static inline void add(linnet_comparison *comparison, const char *text, const char *label)
{
    linnet_error err;
    if (linnet_comparison_add_json(comparison, text, strlen(text), label, &err) != LINNET_OK)
        fail_msg("%s", err.message);
}

static inline linnet_comparison *compare(const char *first, const char *second)
{
    linnet_comparison *comparison = new_comparison();
    add(comparison, first, "first");
    add(comparison, second, "second");
    return comparison;
}

static inline uint64_t find(const linnet_comparison *comparison, const char *kind, const char *name)
{
    for (uint64_t i = 0; i < linnet_comparison_row_count(comparison); i++)
        if (strcmp(linnet_comparison_row_name(comparison, i), name) == 0 &&
            strcmp(linnet_comparison_row_kind(comparison, i), kind) == 0)
            return i;
    fail_msg("no %s is called `%s`", kind, name);
    return 0;
}

#endif
