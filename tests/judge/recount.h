/* SPDX-License-Identifier: MIT */
#ifndef LIN_TESTS_RECOUNT_H
#define LIN_TESTS_RECOUNT_H

/*
 * Counts an answer's timeline again, the slow and obvious way: every moment by itself, from the
 * list of what is held when. Shares no code with the sweep or the columns.
 */

#include "memory/memory.h"

enum { RECOUNT_WHY = 256 };

/* False when a column, the peak, a component or one of the three peaks is not what the list gives;
 * `why` names it. Moments times spans: for small models. */
bool judge_recount(const lin_answer *answer, char why[RECOUNT_WHY]);

#endif
