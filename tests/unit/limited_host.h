/* SPDX-License-Identifier: MIT */
#ifndef TEST_LIMITED_HOST_H
#define TEST_LIMITED_HOST_H

/* A host that runs out of memory: its allocator refuses one request, or that one and all after it,
 * and counts what was not freed. */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct limited_host {
    int64_t left;    /* requests that succeed before one fails */
    bool stays_down; /* all after it fail too */
    bool refused;    /* some request failed */
    int64_t blocks;  /* not freed yet */
} limited_host;

static inline void *limited_alloc(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    limited_host *host = user;
    (void)old_size;
    if (new_size == 0) {
        host->blocks -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (host->left == 0) {
        host->left = host->stays_down ? 0 : INT64_MAX;
        host->refused = true;
        return NULL;
    }
    host->left--;
    host->blocks += ptr == NULL;
    return realloc(ptr, (size_t)new_size);
}

#endif
