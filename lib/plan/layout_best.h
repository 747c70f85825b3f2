/* SPDX-License-Identifier: MIT */
#ifndef LIN_LAYOUT_BEST_H
#define LIN_LAYOUT_BEST_H

/* What layout_best.c, layout_bounds.c and layout_results.c share. */

#include <pthread.h>

#include "plan/layout_search.h"

enum { LIN_BEST_NO_SCHEDULE = UINT8_MAX };

/* A layout of a unit in few bytes: there may be a million. */
typedef struct lin_best_layout_id {
    int64_t microbatches; /* or accumulated ones */
    uint16_t virtual_stages;
    uint8_t sharding, schedule, policy;
} lin_best_layout_id;

typedef struct lin_best_item {
    lin_best_layout_id id;
    lin_layout_state state; /* that no size changes: LIN_LAYOUT_RUNS when nothing is wrong yet */
    const char *reason;     /* of another; NULL else */
    int64_t floor;          /* bytes that its smallest size needs at least */
    int64_t size;           /* its smallest */
} lin_best_item;

typedef struct lin_best_unit lin_best_unit;

/* A layout at a size. */
typedef struct lin_best_pair {
    lin_best_unit *unit;
    uint32_t layout; /* in the unit */
    int64_t size;
    double speed; /* tokens per second that it does not exceed */
    double exact; /* tokens per second; 0: it was not looked at */
    lin_layout_state state;
    bool is_settled; /* state and peak are known too */
    int64_t expected_peak;
    const char *reason;        /* of a refused one */
    const lin_step_time *time; /* of one that runs */
} lin_best_pair;

typedef LIN_LIST(lin_best_item) lin_best_items;
typedef LIN_LIST(lin_best_pair) lin_best_pairs;

struct lin_best_unit {
    lin_layout_unit unit;
    const lin_layouts_settings *settings;
    const char *const *policies;
    uint32_t policy_count;
    lin_best_items layouts;
    lin_best_pairs pairs;
};

typedef struct lin_fast {
    const lin_best_unit *unit;
    uint32_t layout;
    double speed;
} lin_fast;

typedef struct lin_best lin_best;

typedef struct lin_best_worker {
    lin_best *best;
    lin_arena arena;
    lin_bench bench;
    pthread_t thread;
    bool runs;
} lin_best_worker;

struct lin_best {
    const lin_layouts_settings *settings;
    const lin_layout_facts *facts;
    const char *policies[LIN_SPACE_POLICIES];
    uint32_t policy_count;
    lin_best_unit *units;
    uint32_t unit_count;
    lin_best_pair **pairs; /* by speed descending, ties in order */
    uint32_t pair_count;
    lin_best_worker *workers;
    uint32_t worker_count;
    bool has_bounds;
    /* under the mutex while threads run */
    pthread_mutex_t mutex;
    uint32_t next;
    bool stopped;
    linnet_status status;
    linnet_error err;
    lin_fast *fastest; /* by speed descending */
    uint32_t fastest_count;
};

lin_job_layout lin_best_layout(const lin_best_unit *unit, const lin_best_layout_id *id);
/* The slowest of as many layouts as are wanted; 0 while there are fewer. */
double lin_best_threshold(const lin_best *best);

/* layout_bounds.c: lists a unit's layouts and pairs, with their bounds. What is listed lives in
 * `arena`. */
linnet_status lin_best_bound_unit(lin_bench *bench, lin_best_unit *unit, lin_arena *arena,
                                  linnet_error *err);

/* layout_results.c: what was found, in words. */
void lin_best_list(const lin_best *best, lin_arena *arena, lin_results *out);

#endif
