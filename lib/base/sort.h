/* SPDX-License-Identifier: MIT */
#ifndef LIN_SORT_H
#define LIN_SORT_H

#include <stdbool.h>
#include <stdint.h>

/* Whether item `a` goes before item `b`; `context` is what lin_sort was given. */
typedef bool (*lin_sort_before)(const void *context, uint32_t a, uint32_t b);

/* Indices in order: stable, n log n whatever the input, nothing allocated (the C library's qsort
 * may allocate behind the host's back, and takes no context). `scratch` holds `count` items. */
void lin_sort(uint32_t *items, uint32_t count, uint32_t *scratch, lin_sort_before before,
              const void *context);

#endif
