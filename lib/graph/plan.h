/* SPDX-License-Identifier: MIT */
#ifndef LIN_GRAPH_PLAN_H
#define LIN_GRAPH_PLAN_H

/*
 * What the arena planner's files share. Every size below is part of a sum that was checked against
 * int64 before (lin_plan_arena), and no offset passes that sum: additions here cannot overflow.
 * All arenas have a jump target.
 */

#include "graph/graph.h"

/* ---- first fit (plan_fit.c) ---- */

typedef struct lin_fit_span {
    int64_t offset, end;
    int32_t first_step, end_step;
} lin_fit_span;

/* Buffers placed one after another, each at the lowest offset free during its life. */
typedef struct lin_fit {
    const lin_buffer *buffers;
    uint32_t count;
    uint32_t leaves;    /* power of two >= count */
    uint32_t *leaf_of;  /* by buffer: its rank by first step */
    uint32_t *by_first; /* by leaf: the buffer */
    int32_t *reach;     /* tree over the leaves: the latest end of a placed buffer below */
    int64_t *offsets;   /* by buffer */
    lin_fit_span *found;
    lin_fit_span *stack; /* placed ones: the first `sorted` by offset, then as they came */
    uint32_t stacked, sorted;
    int64_t height; /* largest end of what is placed */
    uint64_t work;  /* about one a placement and thirty neighbours looked at */
} lin_fit;

void lin_fit_init(lin_fit *fit, lin_arena *arena, const lin_buffer *buffers, uint32_t count);
void lin_fit_clear(lin_fit *fit);
void lin_fit_place(lin_fit *fit, uint32_t buffer);

/* A buffer without bytes or without a life constrains nobody. */
static inline bool lin_plan_is_solid(const lin_buffer *buffer)
{
    return buffer->bytes > 0 && buffer->first_step < buffer->end_step;
}

/* ---- packing below a given height (plan_pack.c) ---- */

/* Lives as ranges of cliques: the maximal sets of buffers alive at once, in order of time. Two
 * buffers overlap exactly when they share a clique. */
typedef struct lin_pack_item {
    int64_t size;
    int32_t first, last; /* cliques, both included */
} lin_pack_item;

typedef struct lin_pack lin_pack;
lin_pack *lin_pack_new(lin_arena *arena, uint32_t count, uint32_t cliques);
typedef enum lin_pack_result {
    LIN_PACK_FOUND,
    LIN_PACK_NONE,   /* searched in full: no plan is that low */
    LIN_PACK_GAVE_UP /* the work was spent */
} lin_pack_result;
/* Searches offsets with every end <= `capacity`; of what rests equally low, the first item is tried
 * first. Spends at most about `work`, and takes what it spent off. */
lin_pack_result lin_pack_solve(lin_pack *pack, const lin_pack_item *items, int64_t capacity,
                               uint64_t *work);
const int64_t *lin_pack_offsets(const lin_pack *pack); /* of the last success, by item */

/* ---- cliques and parts (plan_cliques.c) ---- */

/* The solid buffers in order of first step: member i is buffer members[i], with items[i]. */
typedef struct lin_cliques {
    uint32_t count, clique_count;
    const uint32_t *members;
    lin_pack_item *items; /* sizes in bytes */
} lin_cliques;

lin_cliques lin_cliques_find(lin_arena *arena, const lin_buffer *buffers, uint32_t count);
/* The end of the part that begins at member `begin`: no life of [begin, end) meets one outside. */
uint32_t lin_cliques_part_end(const lin_cliques *cliques, uint32_t begin);

/* ---- the search (plan_search.c) ---- */

/* Members [begin, end) of the cliques, packed on their own. */
typedef struct lin_plan_part {
    uint32_t count, clique_count;
    const lin_pack_item *items; /* sizes in `unit` bytes, cliques from 0 */
    int64_t unit;               /* divides every size */
    int64_t target;             /* in units, like the rest; rises when nothing lies below */
    int64_t height;
    int64_t *offsets; /* by item; of a plan of this height */
} lin_plan_part;

/* Lowers the part's height towards its target; spends at most `work`, and takes that off. */
void lin_plan_search_part(lin_arena *arena, lin_plan_part *part, uint64_t *work);

/* Lowers a valid plan towards `target`: each part that passes it on its own. */
void lin_plan_search(lin_arena *arena, const lin_buffer *buffers, uint32_t count, int64_t target,
                     uint64_t work, int64_t *offsets);

#endif
