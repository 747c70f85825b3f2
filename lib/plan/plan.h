/* SPDX-License-Identifier: MIT */
#ifndef LIN_SEARCH_PLAN_H
#define LIN_SEARCH_PLAN_H

/*
 * What fits (tracing.md 13): searches over a prepared memory, which evaluates a size without
 * tracing again.
 */

#include "memory/memory.h"

/* The largest size that is tried. */
enum { LIN_FIT_MOST = 1 << 24 };

/* What stopped a search for a size. */
typedef enum lin_fit_limit {
    LIN_FIT_MEMORY, /* the next size needs more than the budget */
    LIN_FIT_MODEL,  /* the next size breaks a `where` clause */
    LIN_FIT_SEARCH  /* the next size is past LIN_FIT_MOST */
} lin_fit_limit;

const char *lin_fit_limit_name(lin_fit_limit limit); /* "memory" */

typedef struct lin_fit_settings {
    lin_role role;
    bool cache_follows; /* caches are as long as the context, unless they are what is searched */
    int64_t budget_bytes;
} lin_fit_settings;

typedef struct lin_fit {
    lin_role role;
    int64_t value;            /* the largest size that fits; 0: none does */
    int64_t smallest;         /* the first size that keeps the clauses; 0: none does */
    int64_t budget, headroom; /* bytes; the headroom is of the value */
    int64_t expected_peak;    /* of the value, or else of the smallest; -1: not known */
    lin_fit_limit limited_by;
} lin_fit;

/* The role must be free in `memory`. Allocates nothing.
 * LINNET_ERROR_ARGUMENT: no generic has that size; or as lin_memory_peaks. */
linnet_status lin_fit_search(lin_memory *memory, const lin_fit_settings *settings, lin_fit *out,
                             linnet_error *err);

/* `device_bytes` less a reserve in bytes and one in thousandths of a percent of the device.
 * LINNET_ERROR_ARGUMENT: negative, or nothing is left. */
linnet_status lin_fit_budget(int64_t device_bytes, int64_t reserve_bytes,
                             int64_t reserve_thousandths, int64_t *out_bytes, linnet_error *err);

/* "OK" leaves more than 5 % of the device free, "TIGHT" fits, "OOM" does not. */
const char *lin_fit_verdict(int64_t expected_peak, int64_t device_bytes);

/* The role that `--maximize` calls so. */
bool lin_fit_role_find(const char *name, lin_role *out);

/* Searches over whole layouts, and over changes, have headers of their own. */
#include "plan/advise.h"
#include "plan/layouts.h"

/* So have stages that are balanced by time. */
#include "plan/stage_balance.h"

#endif
