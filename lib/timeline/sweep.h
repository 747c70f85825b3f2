/* SPDX-License-Identifier: MIT */
#ifndef LIN_SWEEP_H
#define LIN_SWEEP_H

/* The compiled form of a timeline; lib/timeline alone includes this. */

#include "timeline/timeline.h"

/* `count` more (or, negative, fewer) live intervals of that size. */
typedef struct lin_sweep_event {
    uint32_t size;
    int32_t count;
} lin_sweep_event;

/* A moment that can be the peak, and what changed since the one before it: events
 * [before.workspace_end, live_end) for what is not a workspace, [live_end, workspace_end) for what
 * is. */
typedef struct lin_sweep_stop {
    int32_t moment;
    uint32_t live_end;
    uint32_t workspace_end;
} lin_sweep_stop;

struct lin_timeline {
    lin_interval *intervals;
    uint32_t count;
    int32_t length;
    lin_expr *sizes; /* distinct */
    uint32_t size_count;
    uint32_t *size_of;     /* by interval */
    int64_t *intervals_of; /* by size: how many intervals have it, whenever they live */
    lin_expr_program *program;
    LIN_LIST(lin_sweep_event) events;
    LIN_LIST(lin_sweep_stop) stops;
};

struct lin_timeline_values {
    int64_t *sizes; /* by size */
    int64_t *scratch;
};

/* Fills events and stops. False: out of memory. `arena` is the timeline's own. */
bool lin_sweep_compile(lin_arena *arena, lin_timeline *timeline);

#endif
