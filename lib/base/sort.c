/* SPDX-License-Identifier: MIT */

/*
 * Merge sort of indices, bottom up: runs of eight by insertion, then merging between `items` and
 * `scratch`.
 *
 * Cost: n log n comparisons whatever the input, nothing allocated.
 */

#include "sort.h"

#include <string.h>

enum { RUN = 8 };

static void sort_run(uint32_t *items, uint32_t count, lin_sort_before before, const void *context)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t item = items[i];
        uint32_t k = i;
        for (; k > 0 && before(context, item, items[k - 1]); k--)
            items[k] = items[k - 1];
        items[k] = item;
    }
}

/* [0, middle) and [middle, count) of `from` into `to`. */
static void merge(const uint32_t *from, uint32_t middle, uint32_t count, uint32_t *to,
                  lin_sort_before before, const void *context)
{
    uint32_t left = 0;
    uint32_t right = middle;
    for (uint32_t i = 0; i < count; i++) {
        bool takes_right =
            left == middle || (right < count && before(context, from[right], from[left]));
        to[i] = takes_right ? from[right++] : from[left++];
    }
}

static uint32_t smaller(uint64_t a, uint32_t b)
{
    return a < b ? (uint32_t)a : b;
}

void lin_sort(uint32_t *items, uint32_t count, uint32_t *scratch, lin_sort_before before,
              const void *context)
{
    for (uint64_t i = 0; i < count; i += RUN)
        sort_run(items + i, smaller(RUN, (uint32_t)(count - i)), before, context);

    uint32_t *from = items;
    uint32_t *to = scratch;
    for (uint64_t width = RUN; width < count; width *= 2) {
        for (uint64_t i = 0; i < count; i += 2 * width) {
            uint32_t rest = (uint32_t)(count - i);
            merge(from + i, smaller(width, rest), smaller(2 * width, rest), to + i, before,
                  context);
        }
        uint32_t *other = from;
        from = to;
        to = other;
    }
    if (from != items)
        memcpy(items, from, (uint64_t)count * sizeof(*items));
}
