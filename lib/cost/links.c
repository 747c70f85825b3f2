/* SPDX-License-Identifier: MIT */

/*
 * What a group of ranks can send (rule N1). Ranks fill the nodes one after the other, tp fastest,
 * then cp, shards, replicas and pp; the experts' grid puts ep in the place of cp and of what data
 * ranks it needs. A group is a stride and a number of ranks (groups.c lists the same):
 *
 *     node     |0 1 2 3|4 5 6 7|      tp 2, shards 2, replicas 2, nodes of 4
 *     tensor    0 1                   1 node: the link
 *     shards    0   2                 1 node
 *     replicas  0       4             2 nodes, 1 rank in each
 *
 * A collective of NCCL runs in several rings at once, each through all ranks and each in and out of
 * a node by another device's network port, as many as the group has ranks in a node. A ring moves
 * at the pace of its slowest hop, so with g ranks in a node a group's bus bandwidth is
 *
 *     ring      min(link, g * network)         all-reduce, all-gather, reduce-scatter
 *     hop       min(link, network)             one rank sends to the next through its own port
 *     exchange  (n - 1) / max((g - 1) / link, (n - g) / network)
 *                                              an all-to-all of n ranks: what stays in the node and
 *                                              what leaves it go at once
 *
 * (bus bandwidth: nccl-tests, doc/PERFORMANCE.md; rings and steps between nodes: NCCL,
 * src/graph/tuning.cc). A small collective goes up and down a tree over the nodes, so that its
 * latency grows with the depth, log2 of the nodes. The first rank's group stands for all of a kind.
 * Cost: a few divisions.
 */

#include "cost/cost.h"

#include <math.h>

/* `count` ranks, `stride` apart. */
typedef struct axis {
    int64_t stride, count;
} axis;

static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* Ranks 0, stride, 2 stride, … below `limit`. */
static int64_t ranks_below(const axis *a, int64_t limit)
{
    if (limit <= 0)
        return 0;
    const int64_t fit = divide_up(limit, a->stride);
    return fit < a->count ? fit : a->count;
}

/* Of a group along two axes, the ranks in the first node. */
static int64_t ranks_in_node(const axis *inner, const axis *outer, int64_t devices)
{
    int64_t ranks = 0;
    for (int64_t i = 0; i < outer->count && i * outer->stride < devices; i++)
        ranks += ranks_below(inner, devices - i * outer->stride);
    return ranks;
}

/* Steps from the root of a tree to its leaves. */
static double depth_of(int64_t nodes)
{
    return nodes > 2 ? ceil(log2((double)nodes)) : 1;
}

static lin_link on_link(const lin_profile *profile, int64_t ranks)
{
    return (lin_link){ .ranks = ranks,
                       .nodes = 1,
                       .ring = profile->link,
                       .hop = profile->link,
                       .exchange = profile->link,
                       .latency = profile->latency };
}

static lin_link link_over(const lin_profile *profile, const axis *inner, const axis *outer,
                          bool knows_nodes)
{
    const lin_node *node = &profile->node;
    const int64_t ranks = inner->count * outer->count;
    lin_link link = on_link(profile, ranks);
    if (!knows_nodes)
        return link;
    const int64_t near = ranks_in_node(inner, outer, node->devices);
    link.nodes = divide_up(ranks, near);
    if (link.nodes <= 1)
        return link;
    const double n = (double)ranks, g = (double)near;
    link.ring = fmin(profile->link, g * node->network);
    link.hop = fmin(profile->link, node->network);
    link.exchange = (n - 1) / fmax((g - 1) / profile->link, (n - g) / node->network);
    link.latency = node->latency * depth_of(link.nodes);
    return link;
}

void lin_links_of(const lin_profile *profile, const lin_parallel *normal, uint64_t rules,
                  lin_links *out)
{
    const bool knows = (rules & LIN_RULE_N1) && profile->node.devices > 0;
    const lin_parallel *p = normal;
    const axis none = { 1, 1 };
    const axis cp = { p->tensor, p->context };
    const axis shards = { cp.stride * cp.count, p->shards };
    const axis replicas = { shards.stride * shards.count, p->replicas };
    const axis pp = { replicas.stride * replicas.count, p->pipeline };
    const int64_t spread = cp.count * shards.count * replicas.count;
    const axis axes[LIN_GROUP_KIND_COUNT] = {
        [LIN_GROUP_TENSOR] = { 1, p->tensor },
        [LIN_GROUP_CONTEXT] = cp,
        [LIN_GROUP_SHARDS] = shards,
        [LIN_GROUP_REPLICAS] = replicas,
        [LIN_GROUP_PIPELINE] = pp,
        [LIN_GROUP_EXPERT] = { p->tensor, p->expert },
        [LIN_GROUP_EXPERT_DATA] = { p->tensor * p->expert,
                                    spread > p->expert ? spread / p->expert : 1 },
        [LIN_GROUP_GRADIENTS] = { p->tensor, spread },
    };
    for (lin_group_kind kind = 0; kind < LIN_GROUP_KIND_COUNT; kind++)
        out->of[kind] = link_over(profile, &axes[kind], &none, knows);
    out->alike = link_over(profile, &cp, &replicas, knows);
    /* Experts take positions first, then shards, then replicas; shards that are left split. */
    const axis positions = { p->tensor * p->expert,
                             cp.count > p->expert ? cp.count / p->expert : 1 };
    const int64_t inside = cp.count * shards.count;
    const int64_t over = p->expert > inside ? p->expert / inside : 1;
    const axis copies = { replicas.stride * over,
                          replicas.count > over ? replicas.count / over : 1 };
    out->experts_alike = link_over(profile, &positions, &copies, knows);
    const axis reshard = { shards.stride, p->reshard > 0 ? p->reshard : p->shards };
    out->reshard = link_over(profile, &reshard, &none, knows);
}

/* Inside a node as it was measured there, where it was. */
double lin_link_seconds(const lin_profile *profile, uint64_t rules, const lin_link *link,
                        lin_collective kind, double bytes)
{
    const double ranks = (double)link->ranks;
    const double passes = kind == LIN_COLLECTIVE_ALL_REDUCE ? 2 : 1;
    const double rate = kind == LIN_COLLECTIVE_ALL_TO_ALL ? link->exchange : link->ring;
    if (link->nodes <= 1)
        return lin_collective_seconds(profile, rules, kind, ranks, bytes);
    return link->latency + passes * ((ranks - 1) / ranks) * bytes / rate;
}

static bool any_spans(const lin_profile *profile, const lin_parallel *normal, uint64_t rules)
{
    lin_links links;
    lin_links_of(profile, normal, rules, &links);
    for (lin_group_kind kind = 0; kind < LIN_GROUP_KIND_COUNT; kind++)
        if (links.of[kind].nodes > 1)
            return true;
    return false;
}

const char *lin_links_assumption(const lin_profile *profile, const lin_parallel *normal,
                                 uint64_t rules, lin_arena *arena)
{
    enum { ALWAYS_NEAR = 8 }; /* the usual node, and the largest that a group is measured in */
    int64_t devices;
    linnet_error err;
    if (lin_parallel_devices(normal, &devices, &err) != LINNET_OK)
        return NULL;
    const bool knows = (rules & LIN_RULE_N1) && profile->node.devices > 0;
    if (knows && any_spans(profile, normal, rules))
        return lin_arena_format(arena,
                                "groups of ranks that span nodes of %lld devices move at the "
                                "network's rate",
                                (long long)profile->node.devices);
    if (knows || devices <= ALWAYS_NEAR)
        return NULL;
    return lin_arena_format(arena, "all %lld devices are taken to be on the fast link: %s",
                            (long long)devices,
                            rules & LIN_RULE_N1 ? "the device's profile has no `node`"
                                                : "this time model knows no network");
}
