/* SPDX-License-Identifier: MIT */
#ifndef LIN_TESTS_JUDGE_H
#define LIN_TESTS_JUDGE_H

/*
 * The specification of a correct arena plan, the slow and obvious way, sharing no code with the
 * planner. Every planner test ends with it.
 */

#include "graph/graph.h"

enum { JUDGE_WHY = 256 };

/* False when the offsets or the figures of `plan` break a rule; `why` names the rule and the
 * buffers. Looks at every pair: for some ten thousand buffers at most. */
bool judge_plan(const lin_buffer *buffers, uint32_t count, const int64_t *offsets,
                const lin_plan *plan, char why[JUDGE_WHY]);

/* The largest sum of bytes alive at one step. */
int64_t judge_live_bytes(const lin_buffer *buffers, uint32_t count);

/* Places `order[0 … count)` one after another, each at the lowest offset it may have (tracing.md
 * 7.3); fills `offsets` by buffer and returns the largest end. */
int64_t judge_first_fit(const lin_buffer *buffers, const uint32_t *order, uint32_t count,
                        int64_t *offsets);

/* What the greedy rule reaches: first fit by bytes descending, first step, index. `count` at most
 * JUDGE_GREEDY. */
enum { JUDGE_GREEDY = 4096 };
int64_t judge_greedy_bytes(const lin_buffer *buffers, uint32_t count);

/* The smallest height of all plans, by first fit in every order: a best plan, let fall and written
 * in order of its offsets, is one of them. `count` at most JUDGE_TINY. */
enum { JUDGE_TINY = 8 };
int64_t judge_best_bytes(const lin_buffer *buffers, uint32_t count);

#endif
