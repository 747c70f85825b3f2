/* SPDX-License-Identifier: MIT */

/*
 * Lives as ranges of cliques. Time matters to a packing only through who overlaps whom, so a
 * thousand steps shrink to the maximal sets of buffers alive at once: a new one begins with the
 * first birth after a death. Two sorts and one sweep.
 *
 *     a a a . .
 *     . b b b .     cliques {a, b} and {b, c}: a covers 0, b covers 0..1, c covers 1
 *     . . . c c
 */

#include "graph/plan.h"

static bool starts_before(const void *context, uint32_t a, uint32_t b)
{
    const lin_buffer *buffers = context;
    return buffers[a].first_step < buffers[b].first_step;
}

static bool ends_before(const void *context, uint32_t a, uint32_t b)
{
    const lin_buffer *const *members = context;
    return members[a]->end_step < members[b]->end_step;
}

static uint32_t *solid_by_first(lin_arena *arena, const lin_buffer *buffers, uint32_t count,
                                uint32_t *out_count)
{
    uint32_t *members = LIN_NEW_ARRAY(arena, uint32_t, count);
    uint32_t *scratch = LIN_NEW_ARRAY(arena, uint32_t, count);
    uint32_t solid = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (lin_plan_is_solid(&buffers[i]))
            members[solid++] = i;
    }
    lin_sort(members, solid, scratch, starts_before, buffers);
    *out_count = solid;
    return members;
}

/* Members in order of their ends. */
static uint32_t *ranks_by_end(lin_arena *arena, const lin_buffer *buffers, const uint32_t *members,
                              uint32_t count)
{
    uint32_t *ranks = LIN_NEW_ARRAY(arena, uint32_t, count);
    uint32_t *scratch = LIN_NEW_ARRAY(arena, uint32_t, count);
    const lin_buffer **sorted = LIN_NEW_ARRAY(arena, const lin_buffer *, count);
    for (uint32_t i = 0; i < count; i++) {
        ranks[i] = i;
        sorted[i] = &buffers[members[i]];
    }
    lin_sort(ranks, count, scratch, ends_before, (const void *)sorted);
    return ranks;
}

lin_cliques lin_cliques_find(lin_arena *arena, const lin_buffer *buffers, uint32_t count)
{
    lin_cliques c = { 0 };
    c.members = solid_by_first(arena, buffers, count, &c.count);
    c.items = LIN_NEW_ARRAY(arena, lin_pack_item, c.count);
    const uint32_t *by_end = ranks_by_end(arena, buffers, c.members, c.count);

    int32_t clique = 0;
    uint32_t ended = 0;
    bool has_death = false;
    for (uint32_t i = 0; i < c.count; i++) {
        const lin_buffer *b = &buffers[c.members[i]];
        while (buffers[c.members[by_end[ended]]].end_step <= b->first_step) {
            c.items[by_end[ended++]].last = clique;
            has_death = true;
        }
        if (has_death)
            clique++;
        has_death = false;
        c.items[i] = (lin_pack_item){ b->bytes, clique, clique };
    }
    for (; ended < c.count; ended++)
        c.items[by_end[ended]].last = clique;
    c.clique_count = c.count > 0 ? (uint32_t)clique + 1 : 0;
    return c;
}

uint32_t lin_cliques_part_end(const lin_cliques *cliques, uint32_t begin)
{
    int32_t last = cliques->items[begin].last;
    uint32_t end = begin + 1;
    for (; end < cliques->count && cliques->items[end].first <= last; end++) {
        if (cliques->items[end].last > last)
            last = cliques->items[end].last;
    }
    return end;
}
