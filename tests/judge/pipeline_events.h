/* SPDX-License-Identifier: MIT */
#ifndef JUDGE_PIPELINE_EVENTS_H
#define JUDGE_PIPELINE_EVENTS_H

/*
 * The peak of every rank of a replayed pipeline, counted the slow way: each action is expanded into
 * the moments of its stage's timeline, and at each of them everything that lives on the rank is
 * added up again, interval by interval and micro-batch by micro-batch.
 */

#include "memory/pipeline.h"

enum { JUDGE_EVENTS_WHY = 256 };

/* After lin_memory_peaks or lin_memory_analyse: false, and the first rank that differs in `why`. */
bool judge_pipeline_events(lin_memory *memory, char why[JUDGE_EVENTS_WHY]);

#endif
