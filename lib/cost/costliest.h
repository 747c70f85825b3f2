/* SPDX-License-Identifier: MIT */
#ifndef LIN_COSTLIEST_H
#define LIN_COSTLIEST_H

/* lib/cost alone includes this. */

#include "cost/cost.h"

/* `again`: the share of the forward pass that is computed again. Texts in `arena`, which has a jump
 * target. */
uint32_t lin_cost_list_costliest(const lin_cost *cost, const lin_graph *graph, double again,
                                 lin_arena *arena, lin_costly out[LIN_TIMING_COSTLIEST]);

#endif
