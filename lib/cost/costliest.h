/* SPDX-License-Identifier: MIT */
#ifndef LIN_COSTLIEST_H
#define LIN_COSTLIEST_H

/* lib/cost alone includes this. */

#include "cost/cost.h"

typedef struct lin_costly_place {
    lin_costly costly;
    double longest; /* of one call, whose class is the place's */
} lin_costly_place;

/* Begins as { .arena = … }, which has a jump target; texts are in it. */
typedef struct lin_costliest {
    lin_arena *arena;
    LIN_LIST(lin_costly_place) places;
} lin_costliest;

/* The calls of a part: `around` says what of forward is computed again, `times` how often the part
 * runs. */
void lin_costliest_add(lin_costliest *list, const lin_cost *cost, const lin_graph *graph,
                       const lin_part_settings *around, double times);
uint32_t lin_costliest_take(lin_costliest *list, lin_costly out[LIN_TIMING_COSTLIEST]);

#endif
