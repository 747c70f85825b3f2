/* SPDX-License-Identifier: MIT */
#ifndef LIN_SCHEDULE_GENERATE_H
#define LIN_SCHEDULE_GENERATE_H

/*
 * What the generators share: the list of one rank as it grows. The k-th forward of a slot is
 * micro-batch k and the k-th backward likewise; a weight gradient belongs to the oldest input
 * gradient that still waits for one, or is the k-th of its slot.
 */

#include "schedule/schedule.h"

/* The sizes of one schedule, all at least 1. */
typedef struct lin_shape {
    uint32_t ranks, virtual_stages, microbatches; /* microbatches: of one direction */
} lin_shape;

typedef struct lin_emitter {
    lin_shape shape;
    uint32_t rank;
    lin_action *items; /* room for all the rank can do */
    uint32_t count;
    uint32_t waiting;  /* before this index every input gradient has its weight gradient */
    uint32_t *done[3]; /* by LIN_COUNT_*, one counter a slot */
    uint32_t limit;    /* micro-batches from this one on are counted and not emitted */
} lin_emitter;

enum { LIN_COUNT_FORWARD, LIN_COUNT_BACKWARD, LIN_COUNT_WEIGHT };

void lin_emit_forward(lin_emitter *e, uint32_t slot);
void lin_emit_backward(lin_emitter *e, uint32_t slot);
void lin_emit_input(lin_emitter *e, uint32_t slot);
/* The next weight gradient of the slot. */
void lin_emit_weight(lin_emitter *e, uint32_t slot);
/* The weight gradient of the oldest input gradient that waits; false: none does. */
bool lin_emit_oldest_weight(lin_emitter *e);
/* The forward of one slot together with the backward of the other. */
void lin_emit_pair(lin_emitter *e, uint32_t forward_slot, uint32_t backward_slot);

typedef void (*lin_generator)(lin_emitter *e);

/* generate_loop.c */
void lin_generate_gpipe(lin_emitter *e);
void lin_generate_looped_bfs(lin_emitter *e);
void lin_generate_1f1b(lin_emitter *e);
void lin_generate_interleaved(lin_emitter *e);
/* Micro-batches that run through a chunk before the next chunk begins. */
uint32_t lin_interleaved_group(const lin_shape *shape);

/* generate_zero_bubble.c */
void lin_generate_zero_bubble(lin_emitter *e);
void lin_generate_zb_h1(lin_emitter *e);
void lin_generate_zbv(lin_emitter *e);

/* generate_dualpipe.c */
void lin_generate_dualpipe(lin_emitter *e);
void lin_generate_dualpipev(lin_emitter *e);

#endif
