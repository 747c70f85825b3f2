/* SPDX-License-Identifier: MIT */
#ifndef LIN_STAGES_H
#define LIN_STAGES_H

/* Which unit a path lies in, and where to cut; lib/graph alone includes this. */

#include "graph/graph.h"

#define LIN_NO_UNIT UINT32_MAX

typedef struct lin_unit_index lin_unit_index;

/* In `arena`, which has a jump target. */
lin_unit_index *lin_units_index(const lin_graph *graph, lin_arena *arena);
/* The unit whose path prefixes this one; LIN_NO_UNIT: the root's own. */
uint32_t lin_unit_of(const lin_unit_index *index, const char *path);

/* stage_cuts.c: where stages of units of such weights, at least 0 each, begin; no more stages than
 * units, none empty. The arena has a jump target. LINNET_ERROR_OVERFLOW: the sum of all. */
linnet_status lin_stage_cuts(const int64_t *weights, uint32_t units, uint32_t stages,
                             lin_arena *arena, uint32_t *first_unit, linnet_error *err);

#endif
