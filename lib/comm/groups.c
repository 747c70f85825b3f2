/* SPDX-License-Identifier: MIT */

/*
 * Which ranks form which group. A rank is a point of a grid whose axes are the degrees; a group of
 * some axes is the set of ranks that differ only along them:
 *
 *     rank     0 1 2 3 4 5 6 7        tp 2, dp 2, pp 2, the fastest axis first
 *     tp       0 1 0 1 0 1 0 1        tensor groups    {0 1} {2 3} {4 5} {6 7}
 *     dp       0 0 1 1 0 0 1 1        data groups      {0 2} {1 3} {4 6} {5 7}
 *     pp       0 0 0 0 1 1 1 1        pipeline groups  {0 4} {1 5} {2 6} {3 7}
 *
 * Experts see another grid over the same ranks: what cp and dp span is cut into ep and the rest
 * (Megatron-LM's second rank generator; torchtitan's ep mesh borrows the same ranks). Cost: linear
 * in the ranks, a kind.
 */

#include "comm/comm.h"

#include <string.h>

const char lin_layout_default_order[] = "tp-cp-ep-dp-pp";

static const char *const kind_names[] = { "tensor",   "context", "shards",      "replicas",
                                          "pipeline", "expert",  "expert_data", "gradients" };
_Static_assert(ARRAY_LEN(kind_names) == LIN_GROUP_KIND_COUNT, "every kind has a name");

const char *lin_group_kind_name(lin_group_kind kind)
{
    return kind_names[kind];
}

/* ---- the order ---- */

/* Axes of the two grids; data parallelism is two of them, its experts' part one. */
enum { AXIS_TP, AXIS_CP, AXIS_EP, AXIS_SHARDS, AXIS_REPLICAS, AXIS_PP, AXIS_COUNT };

typedef struct axis_order {
    uint8_t axes[AXIS_COUNT]; /* the fastest first */
} axis_order;

static const struct axis_word {
    const char *word;
    uint8_t axis; /* dp: the shards, followed by the replicas */
} axis_words[] = { { "tp", AXIS_TP },
                   { "cp", AXIS_CP },
                   { "ep", AXIS_EP },
                   { "dp", AXIS_SHARDS },
                   { "pp", AXIS_PP } };

static int find_axis(const char *text, uint64_t length)
{
    for (size_t i = 0; i < ARRAY_LEN(axis_words); i++)
        if (length == 2 && memcmp(text, axis_words[i].word, 2) == 0)
            return axis_words[i].axis;
    return -1;
}

static bool read_order(const char *text, axis_order *out)
{
    uint32_t count = 0, seen = 0;
    while (count < AXIS_COUNT) {
        const uint64_t length = strcspn(text, "-");
        const int axis = find_axis(text, length);
        if (axis < 0 || (seen >> axis & 1) != 0)
            return false;
        seen |= 1u << axis;
        out->axes[count++] = (uint8_t)axis;
        if (axis == AXIS_SHARDS)
            out->axes[count++] = AXIS_REPLICAS;
        text += length;
        if (*text != '-' || count == AXIS_COUNT)
            break;
        text++;
    }
    return count == AXIS_COUNT && *text == '\0';
}

/* ---- grids ---- */

typedef struct grid {
    uint32_t axes; /* all of AXIS_COUNT; an axis of size 1 is no axis */
    uint32_t size[AXIS_COUNT], stride[AXIS_COUNT];
    uint32_t ranks;
} grid;

static grid make_grid(const axis_order *order, const uint32_t size[AXIS_COUNT])
{
    grid g = { .axes = AXIS_COUNT, .ranks = 1 };
    for (uint32_t i = 0; i < AXIS_COUNT; i++) {
        const uint8_t axis = order->axes[i];
        g.size[axis] = size[axis];
        g.stride[axis] = g.ranks;
        g.ranks *= size[axis];
    }
    return g;
}

/* The rank that is `index` along the axes of `mask`, in the order of their strides, from `first`.
 */
static uint32_t rank_along(const grid *g, const axis_order *order, uint32_t mask, uint32_t first,
                           uint32_t index)
{
    for (uint32_t i = 0; i < AXIS_COUNT; i++) {
        const uint8_t axis = order->axes[i];
        if ((mask >> axis & 1) == 0)
            continue;
        first += index % g->size[axis] * g->stride[axis];
        index /= g->size[axis];
    }
    return first;
}

static bool is_first(const grid *g, uint32_t mask, uint32_t rank)
{
    for (uint32_t axis = 0; axis < AXIS_COUNT; axis++)
        if ((mask >> axis & 1) != 0 && rank / g->stride[axis] % g->size[axis] != 0)
            return false;
    return true;
}

static bool list_groups(const grid *g, const axis_order *order, lin_group_kind kind, uint32_t mask,
                        lin_arena *arena, lin_group_set *out)
{
    uint32_t size = 1, at = 0;
    for (uint32_t axis = 0; axis < AXIS_COUNT; axis++)
        if ((mask >> axis & 1) != 0)
            size *= g->size[axis];
    uint32_t *ranks = LIN_NEW_ARRAY(arena, uint32_t, g->ranks);
    if (ranks == NULL)
        return false;
    for (uint32_t rank = 0; rank < g->ranks; rank++)
        for (uint32_t i = 0; i < size && is_first(g, mask, rank); i++)
            ranks[at++] = rank_along(g, order, mask, rank, i);
    *out = (lin_group_set){ .kind = kind, .groups = g->ranks / size, .size = size, .ranks = ranks };
    return true;
}

/* ---- the layout ---- */

enum {
    TP = 1 << AXIS_TP,
    CP = 1 << AXIS_CP,
    EP = 1 << AXIS_EP,
    SHARDS = 1 << AXIS_SHARDS,
    REPLICAS = 1 << AXIS_REPLICAS,
    PP = 1 << AXIS_PP
};

static const struct kind_row {
    uint32_t mask;
    bool of_experts; /* in their grid, where SHARDS is what ep leaves of cp and dp */
} kind_rows[] = {
    [LIN_GROUP_TENSOR] = { TP, false },
    [LIN_GROUP_CONTEXT] = { CP, false },
    [LIN_GROUP_SHARDS] = { SHARDS, false },
    [LIN_GROUP_REPLICAS] = { REPLICAS, false },
    [LIN_GROUP_PIPELINE] = { PP, false },
    [LIN_GROUP_EXPERT] = { EP, true },
    [LIN_GROUP_EXPERT_DATA] = { SHARDS, true },
    [LIN_GROUP_GRADIENTS] = { CP | SHARDS | REPLICAS, false },
};
_Static_assert(ARRAY_LEN(kind_rows) == LIN_GROUP_KIND_COUNT, "every kind has axes");

linnet_status lin_layout_make(const lin_parallel *normal, const char *order, lin_arena *arena,
                              lin_layout *out, linnet_error *err)
{
    axis_order axes;
    int64_t devices;
    linnet_status status;
    if (order == NULL)
        order = lin_layout_default_order;
    if (!read_order(order, &axes))
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "an order has each of tp, cp, ep, dp and pp once, the fastest first, such "
                        "as %s; `%s` is none",
                        lin_layout_default_order, order);
    if ((status = lin_parallel_check(normal, err)) != LINNET_OK ||
        (status = lin_parallel_devices(normal, &devices, err)) != LINNET_OK)
        return status;
    if (devices > LIN_LAYOUT_MAX_DEVICES)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED, "a layout of more than %d devices",
                        LIN_LAYOUT_MAX_DEVICES);

    const uint32_t tp = (uint32_t)normal->tensor, cp = (uint32_t)normal->context;
    const uint32_t shards = (uint32_t)normal->shards, replicas = (uint32_t)normal->replicas;
    const uint32_t ep = (uint32_t)normal->expert, pp = (uint32_t)normal->pipeline;
    const uint32_t dense[AXIS_COUNT] = { tp, cp, 1, shards, replicas, pp };
    const uint32_t sparse[AXIS_COUNT] = { tp, 1, ep, cp * shards * replicas / ep, 1, pp };
    const grid grids[2] = { make_grid(&axes, dense), make_grid(&axes, sparse) };
    *out = (lin_layout){ .devices = (uint32_t)devices, .degrees = *normal };
    out->order = lin_arena_copy(arena, order);
    if (out->order == NULL)
        return lin_fail_memory(err);
    for (lin_group_kind kind = 0; kind < LIN_GROUP_KIND_COUNT; kind++) {
        const struct kind_row *row = &kind_rows[kind];
        if (!list_groups(&grids[row->of_experts], &axes, kind, row->mask, arena, &out->sets[kind]))
            return lin_fail_memory(err);
    }
    return LINNET_OK;
}
