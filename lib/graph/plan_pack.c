/* SPDX-License-Identifier: MIT */

/*
 * Packing below a given height: branch and bound from the bottom up. The idea of building the plan
 * in its fallen form, the dominance rule and packing unconnected parts apart are Moffitt's
 * (MiniMalloc, ASPLOS 2023); the order of the decisions and the column bound are not.
 *
 * Idea. A plan may be let fall until every buffer rests on the floor or on another one. So each
 * unplaced buffer has a *bottom*, where it rests on what is placed, and two futures: it stays there
 * (it is *placed*, and what overlaps it is raised to its top), or something comes under it (it is
 * *blocked* until its bottom rises). Both together lose no plan, whichever buffer is decided next,
 * as long as no unplaced one fits wholly below it: that one would have to fall into the gap first
 * (dominance).
 *
 *   capacity +------------------      A clique is a column. Every unplaced buffer that covers it
 * has |       c c              a lowest possible begin, its head: the bottom, or for a blocked | b
 * b b b b            one the lowest top of what could come under it. Stacking them in bottom |
 * ------- a's top    order of their heads, h = max(h, head) + size, gives a height no | #### ######
 * plan from here can beat: the one-machine bound of scheduling.
 *            +------------------ clique
 *
 * Buffers that no unplaced one connects are packed apart, and a failure of one part is a failure of
 * the whole. A state (bottoms and blocks of a part) that failed once is remembered by its hash.
 *
 * Cost: a node looks at the unplaced buffers of its part and the cliques they cover. Frames are on
 * an explicit stack, at most two a buffer.
 */

#include "graph/plan.h"

#include <assert.h>

enum {
    WORK_SHIFT = 5,         /* cells a node looks at for one unit of work */
    FAILED_STATES = 1 << 16 /* half a MiB */
};

/* What an item was before it was raised or blocked. */
typedef struct trail_entry {
    uint32_t item;
    int64_t bottom, blocked;
} trail_entry;

typedef enum frame_state {
    TRY_PLACED, /* the part [begin, end); its first item lies when a result comes back */
    TRY_LEFT,   /* [begin, split) is being packed, [split, end) is to follow */
    TRY_RIGHT
} frame_state;

/* A part of the problem: the items slice[begin, end). */
typedef struct frame {
    frame_state state;
    uint32_t begin, split, end;
    uint32_t opened_at;  /* length of the trail when the frame began */
    uint32_t decided_at; /* and before its last decision */
    uint32_t pick;
    uint64_t key; /* of the state it opened with; 0: not opened yet */
} frame;

struct lin_pack {
    lin_arena *arena;
    uint32_t count, cliques;
    const lin_pack_item *items;
    int64_t capacity;
    /* by item */
    int64_t *bottoms; /* where it rests on what is placed; final once it is placed */
    int64_t *blocked; /* the bottom it may not lie at; none: -1 */
    int64_t *heads;   /* scratch of a node: where it may begin at best */
    /* by clique, scratch of a node */
    int64_t *tops;    /* the lowest top of an unplaced item, if it stays where it rests */
    int64_t *lifts;   /* the lowest top that may lift a blocked item */
    int64_t *heights; /* of the stack of all unplaced items */
    int32_t *links;   /* how many more unplaced items reach into the next clique */

    uint32_t *slice; /* a permutation of the items */
    LIN_LIST(trail_entry) trail;
    frame *frames;
    uint32_t depth;
    uint64_t *failed; /* keys of states searched in full, by their low bits */
    uint64_t salt;    /* in every key, so that the keys of an earlier search mean nothing */
    uint64_t work;
};

lin_pack *lin_pack_new(lin_arena *arena, uint32_t count, uint32_t cliques)
{
    lin_pack *pack = LIN_NEW(arena, lin_pack);
    pack->arena = arena;
    pack->count = count;
    pack->cliques = cliques;
    pack->bottoms = LIN_NEW_ARRAY(arena, int64_t, count);
    pack->blocked = LIN_NEW_ARRAY(arena, int64_t, count);
    pack->heads = LIN_NEW_ARRAY(arena, int64_t, count);
    pack->tops = LIN_NEW_ARRAY(arena, int64_t, cliques);
    pack->lifts = LIN_NEW_ARRAY(arena, int64_t, cliques);
    pack->heights = LIN_NEW_ARRAY(arena, int64_t, cliques);
    pack->links = LIN_NEW_ARRAY(arena, int32_t, cliques);
    pack->slice = LIN_NEW_ARRAY(arena, uint32_t, count);
    pack->frames = LIN_NEW_ARRAY(arena, frame, 2 * (uint64_t)count + 2);
    pack->failed = LIN_NEW_ARRAY(arena, uint64_t, FAILED_STATES);
    return pack;
}

const int64_t *lin_pack_offsets(const lin_pack *pack)
{
    return pack->bottoms;
}

/* ---- decisions and taking them back ---- */

static bool is_blocked(const lin_pack *pack, uint32_t item)
{
    return pack->bottoms[item] == pack->blocked[item];
}

static void remember(lin_pack *pack, uint32_t item)
{
    trail_entry entry = { item, pack->bottoms[item], pack->blocked[item] };
    (void)LIN_PUSH(pack->arena, &pack->trail, entry);
}

static void take_back(lin_pack *pack, uint32_t length)
{
    while (pack->trail.count > length) {
        trail_entry entry = pack->trail.items[--pack->trail.count];
        pack->bottoms[entry.item] = entry.bottom;
        pack->blocked[entry.item] = entry.blocked;
    }
}

/* Leaves slice[begin] where it rests and raises what overlaps it in slice(begin, end). */
static void place(lin_pack *pack, uint32_t begin, uint32_t end)
{
    uint32_t item = pack->slice[begin];
    const lin_pack_item *it = &pack->items[item];
    int64_t top = pack->bottoms[item] + it->size;
    for (uint32_t i = begin + 1; i < end; i++) {
        uint32_t u = pack->slice[i];
        const lin_pack_item *other = &pack->items[u];
        if (other->first > it->last || other->last < it->first || pack->bottoms[u] >= top)
            continue;
        remember(pack, u);
        pack->bottoms[u] = top;
    }
}

/* ---- looking at a node ---- */

typedef struct view {
    int32_t first, last; /* cliques of the part */
    int64_t lift;        /* the lowest top of an item that is not blocked */
    uint64_t key;
} view;

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u; /* splitmix64's finaliser (Steele et al., 2014) */
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static view survey(const lin_pack *pack, const frame *f)
{
    view v = { INT32_MAX, -1, INT64_MAX, pack->salt };
    for (uint32_t i = f->begin; i < f->end; i++) {
        uint32_t item = pack->slice[i];
        const lin_pack_item *it = &pack->items[item];
        bool blocked = is_blocked(pack, item);
        uint64_t state = blocked ? UINT64_MAX : (uint64_t)pack->bottoms[item];
        v.key += mix(((uint64_t)item << 32) * 0x9e3779b97f4a7c15u ^ state);
        v.first = it->first < v.first ? it->first : v.first;
        v.last = it->last > v.last ? it->last : v.last;
        if (!blocked && pack->bottoms[item] + it->size < v.lift)
            v.lift = pack->bottoms[item] + it->size;
    }
    return v;
}

static void lower(int64_t *cells, const lin_pack_item *it, int64_t value)
{
    for (int32_t c = it->first; c <= it->last; c++)
        cells[c] = value < cells[c] ? value : cells[c];
}

static int64_t lowest(const int64_t *cells, const lin_pack_item *it)
{
    int64_t value = INT64_MAX;
    for (int32_t c = it->first; c <= it->last; c++)
        value = cells[c] < value ? cells[c] : value;
    return value;
}

static void paint(lin_pack *pack, const frame *f, const view *v)
{
    uint64_t cells = 0;
    for (int32_t c = v->first; c <= v->last; c++) {
        pack->tops[c] = INT64_MAX;
        pack->lifts[c] = INT64_MAX;
        pack->heights[c] = 0;
        pack->links[c] = 0;
    }
    for (uint32_t i = f->begin; i < f->end; i++) {
        uint32_t item = pack->slice[i];
        const lin_pack_item *it = &pack->items[item];
        cells += (uint64_t)(it->last - it->first) + 4;
        if (it->first < it->last) {
            pack->links[it->first]++;
            pack->links[it->last]--;
        }
        int64_t top = pack->bottoms[item] + it->size;
        pack->heads[item] = pack->bottoms[item];
        lower(pack->tops, it, top);
        /* whatever lifts a blocked item first is not blocked now: it begins at `lift` or above */
        lower(pack->lifts, it, is_blocked(pack, item) ? v->lift + it->size : top);
    }
    for (uint32_t i = f->begin; i < f->end; i++) {
        uint32_t item = pack->slice[i];
        if (is_blocked(pack, item))
            pack->heads[item] = lowest(pack->lifts, &pack->items[item]);
    }
    pack->work += 1 + (cells >> WORK_SHIFT);
}

static void sort_by_heads(lin_pack *pack, const frame *f)
{
    for (uint32_t i = f->begin + 1; i < f->end; i++) {
        uint32_t item = pack->slice[i];
        int64_t head = pack->heads[item];
        uint32_t k = i;
        for (; k > f->begin; k--) {
            uint32_t other = pack->slice[k - 1];
            if (pack->heads[other] < head || (pack->heads[other] == head && other < item))
                break;
            pack->slice[k] = other;
        }
        pack->slice[k] = item;
    }
}

/* Expects the part sorted by heads. */
static bool columns_fit(lin_pack *pack, const frame *f)
{
    int64_t capacity = pack->capacity;
    for (uint32_t i = f->begin; i < f->end; i++) {
        uint32_t item = pack->slice[i];
        const lin_pack_item *it = &pack->items[item];
        int64_t head = pack->heads[item];
        int64_t highest = 0;
        for (int32_t c = it->first; c <= it->last; c++) {
            int64_t height = (pack->heights[c] > head ? pack->heights[c] : head) + it->size;
            pack->heights[c] = height;
            highest = height > highest ? height : highest;
        }
        if (highest > capacity)
            return false;
    }
    return true;
}

/* The clique after which nothing unplaced goes on, or the part's last. */
static int32_t find_cut(const lin_pack *pack, const view *v)
{
    int32_t open = 0;
    for (int32_t c = v->first; c < v->last; c++) {
        open += pack->links[c];
        if (open == 0)
            return c;
    }
    return v->last;
}

static bool can_stay(const lin_pack *pack, uint32_t item)
{
    return !is_blocked(pack, item) && pack->bottoms[item] < lowest(pack->tops, &pack->items[item]);
}

/* The position in the slice of the item to decide next: the lowest, as the part is sorted; f->end
 * when none can stay. Deciding the tightest column first, or the items in their order, was tried
 * and packs far worse: low ones first keeps the plan dense. */
static uint32_t choose(const lin_pack *pack, const frame *f)
{
    uint32_t i = f->begin;
    while (i < f->end && !can_stay(pack, pack->slice[i]))
        i++;
    return i;
}

/* ---- the search ---- */

static void push_part(lin_pack *pack, uint32_t begin, uint32_t end)
{
    assert(pack->depth < 2 * (uint64_t)pack->count + 2);
    pack->frames[pack->depth++] =
        (frame){ .state = TRY_PLACED, .begin = begin, .end = end, .opened_at = pack->trail.count };
}

static void swap(uint32_t *items, uint32_t a, uint32_t b)
{
    uint32_t item = items[a];
    items[a] = items[b];
    items[b] = item;
}

/* Moves what lies up to clique `cut` to the front of the part and packs it first. */
static void split(lin_pack *pack, frame *f, int32_t cut)
{
    f->state = TRY_LEFT;
    f->split = f->begin;
    for (uint32_t i = f->begin; i < f->end; i++) {
        if (pack->items[pack->slice[i]].last <= cut)
            swap(pack->slice, i, f->split++);
    }
    push_part(pack, f->begin, f->split);
}

typedef enum outcome { FAILED, SOLVED, DESCENDED } outcome;

/* Opens the top frame: places its pick or splits it. */
static outcome descend(lin_pack *pack)
{
    frame *f = &pack->frames[pack->depth - 1];
    if (f->begin == f->end)
        return SOLVED;
    view v = survey(pack, f);
    if (f->key == 0) {
        f->key = v.key;
        if (pack->failed[v.key % FAILED_STATES] == v.key) {
            pack->work++;
            return FAILED;
        }
    }
    if (v.lift == INT64_MAX)
        return FAILED;
    paint(pack, f, &v);
    sort_by_heads(pack, f);
    if (!columns_fit(pack, f))
        return FAILED;
    int32_t cut = find_cut(pack, &v);
    if (cut < v.last) {
        split(pack, f, cut);
        return DESCENDED;
    }
    uint32_t pick = choose(pack, f);
    if (pick == f->end)
        return FAILED;
    swap(pack->slice, f->begin, pick);
    f->pick = pack->slice[f->begin];
    f->decided_at = pack->trail.count;
    place(pack, f->begin, f->end);
    push_part(pack, f->begin + 1, f->end);
    return DESCENDED;
}

/* What a result of the frame above means to the top frame. */
static outcome resume(lin_pack *pack, outcome result)
{
    frame *f = &pack->frames[pack->depth - 1];
    if (result == SOLVED && f->state == TRY_LEFT) {
        f->state = TRY_RIGHT;
        push_part(pack, f->split, f->end);
        return DESCENDED;
    }
    if (result == SOLVED || f->state != TRY_PLACED)
        return result;
    take_back(pack, f->decided_at);
    remember(pack, f->pick);
    pack->blocked[f->pick] = pack->bottoms[f->pick];
    return DESCENDED;
}

static void close_failed(lin_pack *pack)
{
    frame *f = &pack->frames[pack->depth - 1];
    take_back(pack, f->opened_at);
    pack->failed[f->key % FAILED_STATES] = f->key;
}

static void reset(lin_pack *pack)
{
    for (uint32_t i = 0; i < pack->count; i++) {
        pack->bottoms[i] = 0;
        pack->blocked[i] = -1;
        pack->slice[i] = i;
    }
    pack->salt = mix(pack->salt + 0x9e3779b97f4a7c15u);
    pack->trail.count = 0;
    pack->depth = 0;
    pack->work = 0;
}

lin_pack_result lin_pack_solve(lin_pack *pack, const lin_pack_item *items, int64_t capacity,
                               uint64_t *work)
{
    pack->items = items;
    pack->capacity = capacity;
    reset(pack);
    push_part(pack, 0, pack->count);

    outcome result = DESCENDED;
    while (pack->depth > 0 && pack->work < *work) {
        if (result == DESCENDED) {
            result = descend(pack);
            continue;
        }
        if (result == FAILED)
            close_failed(pack);
        pack->depth--;
        if (pack->depth > 0)
            result = resume(pack, result);
    }
    *work -= pack->work < *work ? pack->work : *work;
    if (pack->depth > 0)
        return LIN_PACK_GAVE_UP;
    return result == SOLVED ? LIN_PACK_FOUND : LIN_PACK_NONE;
}
