/* SPDX-License-Identifier: MIT */
#ifndef LIN_STAGES_H
#define LIN_STAGES_H

/* Which unit a path lies in; lib/graph alone includes this. */

#include "graph/graph.h"

#define LIN_NO_UNIT UINT32_MAX

typedef struct lin_unit_index lin_unit_index;

/* In `arena`, which has a jump target. */
lin_unit_index *lin_units_index(const lin_graph *graph, lin_arena *arena);
/* The unit whose path prefixes this one; LIN_NO_UNIT: the root's own. */
uint32_t lin_unit_of(const lin_unit_index *index, const char *path);

#endif
