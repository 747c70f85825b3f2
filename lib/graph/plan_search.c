/* SPDX-License-Identifier: MIT */

/*
 * From the greedy plan towards the live bound, with a bounded number of steps.
 *
 * A part is first placed by first fit in a few orders, which costs next to nothing, then packed
 * below a capacity (plan_pack.c) that moves: halfway between the target and the best plan known at
 * first, for a quick gain; in later rounds the target itself, then halfway again, closing in from
 * both ends. When they meet, everything starts again with twice the patience. A capacity that was
 * searched in full without a plan becomes the target: below it there is none.
 *
 * Packing is tried with several orders of the buffers, since none is best everywhere (measured on
 * the MiniMalloc instances: each of these solves one at once on which the others take a hundred
 * times longer), and with the same orders a little shuffled: running times vary so much that many
 * short tries beat a long one. The shuffling is seeded by a constant: the same buffers always give
 * the same plan.
 */

#include "graph/plan.h"

enum {
    FIRST_TRIES = 3,   /* orders at one capacity in the first round */
    TRIES_AN_ORDER = 5 /* later: as it is, then shuffled */
};

/* ---- orders ---- */

typedef enum order_key {
    BY_NOTHING,
    BY_FIRST, /* earliest first; all others largest first */
    BY_SIZE,
    BY_WIDTH,      /* cliques covered */
    BY_AREA,       /* size times width */
    BY_CONTENTION, /* the largest live sum of a clique it covers */
    ORDER_KEYS
} order_key;

typedef order_key order[3];

/* clang-format off */
static const order orders[] = {
    { BY_CONTENTION, BY_WIDTH,      BY_AREA       },
    { BY_WIDTH,      BY_AREA,       BY_CONTENTION },
    { BY_FIRST,      BY_WIDTH,      BY_AREA       },
    { BY_CONTENTION, BY_AREA,       BY_WIDTH      },
    { BY_AREA,       BY_SIZE,       BY_NOTHING    },
    { BY_SIZE,       BY_AREA,       BY_NOTHING    },
    { BY_FIRST,      BY_SIZE,       BY_NOTHING    },
    { BY_CONTENTION, BY_SIZE,       BY_NOTHING    },
};
/* clang-format on */

typedef struct search {
    lin_plan_part *part;
    int64_t *keys[ORDER_KEYS]; /* by item; larger comes first */
    int64_t *jitter;           /* by item: its place in a shuffled order */
    const order_key *order;
    uint32_t *ranked, *scratch;
    lin_pack_item *sorted;
    lin_pack *pack;
    uint64_t random;
    uint64_t work;
} search;

static int64_t saturated_product(int64_t a, int64_t b)
{
    int64_t product;
    return lin_mul_i64(a, b, &product) ? product : INT64_MAX;
}

static void fill_keys(search *s, lin_arena *arena)
{
    const lin_plan_part *part = s->part;
    int64_t *live = LIN_NEW_ARRAY(arena, int64_t, part->clique_count);
    for (int k = BY_NOTHING; k < ORDER_KEYS; k++)
        s->keys[k] = LIN_NEW_ARRAY(arena, int64_t, part->count);
    for (uint32_t i = 0; i < part->count; i++) {
        for (int32_t c = part->items[i].first; c <= part->items[i].last; c++)
            live[c] += part->items[i].size;
    }
    for (uint32_t i = 0; i < part->count; i++) {
        const lin_pack_item *it = &part->items[i];
        int64_t width = (int64_t)it->last - it->first + 1;
        int64_t contention = 0;
        for (int32_t c = it->first; c <= it->last; c++)
            contention = live[c] > contention ? live[c] : contention;
        s->keys[BY_FIRST][i] = -it->first;
        s->keys[BY_SIZE][i] = it->size;
        s->keys[BY_WIDTH][i] = width;
        s->keys[BY_AREA][i] = saturated_product(width, it->size);
        s->keys[BY_CONTENTION][i] = contention;
    }
}

static bool ranks_before(const void *context, uint32_t a, uint32_t b)
{
    const search *s = context;
    for (size_t k = 0; k < ARRAY_LEN(orders[0]); k++) {
        const int64_t *keys = s->keys[s->order[k]];
        if (keys[a] != keys[b])
            return keys[a] > keys[b];
    }
    return a < b;
}

static bool jitters_before(const void *context, uint32_t a, uint32_t b)
{
    const int64_t *jitter = context;
    return jitter[a] != jitter[b] ? jitter[a] < jitter[b] : a < b;
}

/* splitmix64 (Steele et al., 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Each item moves by up to `distance` places. */
static void shuffle(search *s, uint32_t distance)
{
    for (uint32_t i = 0; i < s->part->count; i++)
        s->jitter[s->ranked[i]] =
            (int64_t)i + (int64_t)(next_random(&s->random) % ((uint64_t)distance + 1));
    lin_sort(s->ranked, s->part->count, s->scratch, jitters_before, s->jitter);
}

static void rank_items(search *s, const order_key *by)
{
    s->order = by;
    for (uint32_t i = 0; i < s->part->count; i++)
        s->ranked[i] = i;
    lin_sort(s->ranked, s->part->count, s->scratch, ranks_before, s);
}

/* ---- first fit in several orders ---- */

static void spend(search *s, uint64_t work)
{
    s->work -= work < s->work ? work : s->work;
}

static void keep(lin_plan_part *part, int64_t height, const int64_t *offsets)
{
    if (height >= part->height)
        return;
    part->height = height;
    for (uint32_t i = 0; i < part->count; i++)
        part->offsets[i] = offsets[i];
}

static void try_fits(search *s, lin_arena *arena)
{
    lin_plan_part *part = s->part;
    lin_buffer *buffers = LIN_NEW_ARRAY(arena, lin_buffer, part->count);
    for (uint32_t i = 0; i < part->count; i++)
        buffers[i] =
            (lin_buffer){ part->items[i].size, part->items[i].first, part->items[i].last + 1 };
    lin_fit fit;
    lin_fit_init(&fit, arena, buffers, part->count);
    for (size_t o = 0; o < ARRAY_LEN(orders) && part->height > part->target; o++) {
        if (s->work < 2 * (uint64_t)part->count)
            return;
        rank_items(s, orders[o]);
        lin_fit_clear(&fit);
        fit.work = 0;
        for (uint32_t i = 0; i < part->count && fit.height < part->height; i++)
            lin_fit_place(&fit, s->ranked[i]);
        spend(s, fit.work);
        keep(part, fit.height, fit.offsets);
    }
}

/* ---- packing below a capacity ---- */

static void keep_packed(search *s)
{
    lin_plan_part *part = s->part;
    const int64_t *offsets = lin_pack_offsets(s->pack);
    part->height = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        int64_t end = offsets[i] + s->sorted[i].size;
        part->offsets[s->ranked[i]] = offsets[i];
        part->height = end > part->height ? end : part->height;
    }
}

/* One capacity, several orders, until one of them packs or shows that none does. */
static lin_pack_result try_capacity(search *s, int64_t capacity, uint64_t patience, uint32_t round)
{
    size_t tries = round == 0 ? FIRST_TRIES : TRIES_AN_ORDER * ARRAY_LEN(orders);
    for (size_t t = 0; t < tries && s->work > 0; t++) {
        rank_items(s, orders[t % ARRAY_LEN(orders)]);
        if (t >= ARRAY_LEN(orders))
            shuffle(s, s->part->count >> (1 + next_random(&s->random) % 6));
        for (uint32_t i = 0; i < s->part->count; i++)
            s->sorted[i] = s->part->items[s->ranked[i]];
        uint64_t slice = patience < s->work ? patience : s->work;
        uint64_t left = slice;
        lin_pack_result result = lin_pack_solve(s->pack, s->sorted, capacity, &left);
        spend(s, slice - left);
        if (result == LIN_PACK_FOUND)
            keep_packed(s);
        if (result != LIN_PACK_GAVE_UP)
            return result;
    }
    return LIN_PACK_GAVE_UP;
}

/* Units of work to place every item once, without a step back: half the cells at each
 * on average. */
static uint64_t dive_work(const lin_plan_part *part)
{
    uint64_t cells = 0;
    for (uint32_t i = 0; i < part->count; i++)
        cells += (uint64_t)(part->items[i].last - part->items[i].first) + 4;
    return part->count * (1 + cells / 64);
}

/* From `capacity` on, until what fails and what packs meet. */
static void bisect(search *s, int64_t capacity, uint64_t patience, uint32_t round)
{
    lin_plan_part *part = s->part;
    int64_t low = part->target;
    while (s->work > 0 && low < part->height) {
        lin_pack_result result = try_capacity(s, capacity, patience, round);
        if (result != LIN_PACK_FOUND)
            low = capacity + 1;
        if (result == LIN_PACK_NONE)
            part->target = low;
        capacity = low + (part->height - low) / 2;
    }
}

static void close_in(search *s)
{
    lin_plan_part *part = s->part;
    uint64_t patience = dive_work(part) * 3 / 2;
    bisect(s, part->target + (part->height - part->target) / 2, patience, 0);
    for (uint32_t round = 1; s->work > 0 && part->height > part->target; round++) {
        if (patience < s->work / 2)
            patience *= 2;
        bisect(s, part->target, patience, round);
    }
}

void lin_plan_search_part(lin_arena *arena, lin_plan_part *part, uint64_t *work)
{
    search s = { .part = part, .random = part->count, .work = *work };
    fill_keys(&s, arena);
    s.jitter = LIN_NEW_ARRAY(arena, int64_t, part->count);
    s.ranked = LIN_NEW_ARRAY(arena, uint32_t, part->count);
    s.scratch = LIN_NEW_ARRAY(arena, uint32_t, part->count);
    s.sorted = LIN_NEW_ARRAY(arena, lin_pack_item, part->count);
    try_fits(&s, arena);
    if (part->height > part->target) {
        s.pack = lin_pack_new(arena, part->count, part->clique_count);
        close_in(&s);
    }
    *work = s.work;
}
