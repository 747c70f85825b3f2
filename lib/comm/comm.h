/* SPDX-License-Identifier: MIT */
#ifndef LIN_COMM_H
#define LIN_COMM_H

/*
 * How a job spreads over devices: its degrees, which ranks form which group, and what a process
 * holds in order to communicate (tracing.md 10 to 12).
 */

#include "backend/backend.h"

/* What a sharded step's weights become after its forward pass; a number is the size of the group
 * that a weight is spread over until backward. */
enum { LIN_RESHARD_ALWAYS = 0, LIN_RESHARD_NEVER = -1 };

/* How attention sees the positions of other processes. */
typedef enum lin_context_exchange {
    LIN_CONTEXT_RING,      /* keys and values go around, each arrival in a buffer of its own */
    LIN_CONTEXT_ALL_GATHER /* keys and values of all positions at once */
} lin_context_exchange;

/* Degrees of 0 count as 1. A struct of zeros is one device. */
typedef struct lin_parallel {
    int64_t tensor, context, expert, shards, replicas, pipeline;
    bool sequence;    /* activations between tensor-parallel products are split along positions */
    int32_t zero;     /* what `shards` splits: optimizer states; 2: gradients too; 3 (or 0): all */
    int64_t reshard;  /* LIN_RESHARD_ALWAYS, LIN_RESHARD_NEVER, or a group's size */
    int64_t prefetch; /* groups of weights gathered ahead of use */
    lin_context_exchange exchange;
} lin_parallel;

/* With every default filled in. */
lin_parallel lin_parallel_normal(const lin_parallel *given);
/* Devices of the job: the product of all degrees but expert parallelism, which spreads experts over
 * devices that are there for other reasons. LINNET_ERROR_OVERFLOW. */
linnet_status lin_parallel_devices(const lin_parallel *normal, int64_t *out, linnet_error *err);
/* Whether the degrees fit each other. */
linnet_status lin_parallel_check(const lin_parallel *normal, linnet_error *err);
/* The fewest replicas over which experts can be spread. */
void lin_parallel_spread_experts(lin_parallel *normal);
/* Replicas that make the degrees fill `devices`. LINNET_ERROR_ARGUMENT: they do not divide them, or
 * (`has_replicas`) their product is another number. */
linnet_status lin_parallel_fill(lin_parallel *normal, int64_t devices, bool has_replicas,
                                linnet_error *err);
/*
 * Of the shards, how many hold parts of the same experts: experts are spread over the processes of
 * a context first, then over shards, then over replicas, as ranks stand in the default order.
 *
 *     experts over 4 of 8 shards     0 1 2 3 0 1 2 3     2 shards each
 *
 * 0: no whole number, so that groups of the same experts lie across the shards' groups.
 */
int64_t lin_parallel_expert_shards(const lin_parallel *normal);
/* Whether parts of experts' states can be told from those of the rest. LINNET_ERROR_ARGUMENT. */
linnet_status lin_parallel_check_expert_shards(const lin_parallel *normal, linnet_error *err);
/* The divisors of `number`, up to the sixteen smallest: "1, 2, 7 and 14". For messages. */
void lin_comm_divisors(int64_t number, char *out, uint64_t capacity);

/* ---- groups (groups.c) ---- */

typedef enum lin_group_kind {
    LIN_GROUP_TENSOR,
    LIN_GROUP_CONTEXT,
    LIN_GROUP_SHARDS,
    LIN_GROUP_REPLICAS,
    LIN_GROUP_PIPELINE,
    LIN_GROUP_EXPERT,
    LIN_GROUP_EXPERT_DATA, /* processes that hold the same experts */
    LIN_GROUP_GRADIENTS,   /* processes that hold the same weights: context, shards, replicas */
    LIN_GROUP_KIND_COUNT
} lin_group_kind;
const char *lin_group_kind_name(lin_group_kind kind);

/* Groups of one kind, all of the same size, ascending by their first rank. */
typedef struct lin_group_set {
    lin_group_kind kind;
    uint32_t groups, size;
    const uint32_t *ranks; /* group after group, in the order of each */
} lin_group_set;

typedef struct lin_layout {
    uint32_t devices;
    lin_parallel degrees;
    const char *order;                        /* axes, the fastest first: "tp-cp-ep-dp-pp" */
    lin_group_set sets[LIN_GROUP_KIND_COUNT]; /* by kind */
} lin_layout;

enum { LIN_LAYOUT_MAX_DEVICES = 1 << 20 };
extern const char lin_layout_default_order[]; /* Megatron's, and that of a device mesh from the
                                                 inside out */

/*
 * Every group of the job. `order` lists the axes tp, cp, ep, dp and pp once each, the fastest
 * first; NULL is the default. Data-parallel ranks are shards inside, replicas outside. Experts are
 * spread over the ranks that context and data axes give, in a grid of the same order without cp.
 *
 * LINNET_ERROR_ARGUMENT   an order that is none, degrees that do not fit
 * LINNET_ERROR_UNSUPPORTED  more devices than LIN_LAYOUT_MAX_DEVICES
 */
linnet_status lin_layout_make(const lin_parallel *normal, const char *order, lin_arena *arena,
                              lin_layout *out, linnet_error *err);

/* layout_print.c */
void lin_layout_print(lin_text *out, const lin_layout *layout);
void lin_layout_write_json(lin_text *out, const lin_layout *layout);

/* ---- what a process holds for it (communicators.c) ---- */

typedef struct lin_communication {
    int64_t processes;     /* more than 1: there is something to hold */
    int64_t communicators; /* one a group of more than one process */
    lin_channels channels;
    const char *note; /* the groups: "tensor, shards" */
} lin_communication;

/* `exchanges`: parts of tensors are exchanged as a split by DTensor does. Of a job without
 * pipeline; the note is in `arena`. */
lin_communication lin_comm_needs(const lin_parallel *normal, bool exchanges, lin_arena *arena);

#endif
