/* SPDX-License-Identifier: MIT */

/*
 * The plan as parts that share no step: which of them pass the target, what each of them looks like
 * on its own (cliques from 0, sizes in units of their greatest common divisor), and the offsets of
 * its better plan back into the whole.
 */

#include "graph/plan.h"

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int64_t part_height(const lin_cliques *c, uint32_t begin, uint32_t end,
                           const int64_t *offsets)
{
    int64_t height = 0;
    for (uint32_t i = begin; i < end; i++) {
        int64_t top = offsets[c->members[i]] + c->items[i].size;
        height = top > height ? top : height;
    }
    return height;
}

static int64_t part_bound(lin_arena *arena, const lin_plan_part *part)
{
    int64_t *live = LIN_NEW_ARRAY(arena, int64_t, part->clique_count);
    int64_t bound = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        for (int32_t c = part->items[i].first; c <= part->items[i].last; c++) {
            live[c] += part->items[i].size;
            bound = live[c] > bound ? live[c] : bound;
        }
    }
    return bound;
}

static lin_plan_part make_part(lin_arena *arena, const lin_cliques *c, uint32_t begin, uint32_t end)
{
    lin_plan_part part = { .count = end - begin };
    lin_pack_item *items = LIN_NEW_ARRAY(arena, lin_pack_item, part.count);
    int32_t first = c->items[begin].first;
    int32_t last = first;
    for (uint32_t i = 0; i < part.count; i++) {
        const lin_pack_item *it = &c->items[begin + i];
        items[i] = (lin_pack_item){ it->size, it->first - first, it->last - first };
        last = it->last > last ? it->last : last;
        part.unit = common_divisor(it->size, part.unit);
    }
    for (uint32_t i = 0; i < part.count; i++)
        items[i].size /= part.unit;
    part.items = items;
    part.clique_count = (uint32_t)(last - first) + 1;
    part.offsets = LIN_NEW_ARRAY(arena, int64_t, part.count);
    return part;
}

static void improve(lin_arena *arena, const lin_cliques *c, uint32_t begin, uint32_t end,
                    int64_t target, uint64_t *work, int64_t *offsets)
{
    lin_plan_part part = make_part(arena, c, begin, end);
    int64_t height = part_height(c, begin, end, offsets);
    int64_t bound = part_bound(arena, &part);
    part.target = target / part.unit > bound ? target / part.unit : bound;
    part.height = height / part.unit;
    lin_plan_search_part(arena, &part, work);
    if (part.height >= height / part.unit)
        return;
    for (uint32_t i = 0; i < part.count; i++)
        offsets[c->members[begin + i]] = part.offsets[i] * part.unit;
}

void lin_plan_search(lin_arena *arena, const lin_buffer *buffers, uint32_t count, int64_t target,
                     uint64_t work, int64_t *offsets)
{
    lin_cliques c = lin_cliques_find(arena, buffers, count);
    uint64_t waiting = 0;
    for (uint32_t begin = 0, end; begin < c.count; begin = end) {
        end = lin_cliques_part_end(&c, begin);
        waiting += part_height(&c, begin, end, offsets) > target;
    }
    for (uint32_t begin = 0, end; begin < c.count && waiting > 0; begin = end) {
        end = lin_cliques_part_end(&c, begin);
        if (part_height(&c, begin, end, offsets) <= target)
            continue;
        uint64_t share = work / waiting--;
        uint64_t left = share;
        improve(arena, &c, begin, end, target, &left, offsets);
        work -= share - left;
    }
}
