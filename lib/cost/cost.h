/* SPDX-License-Identifier: MIT */
#ifndef LIN_COST_H
#define LIN_COST_H

/*
 * Seconds instead of bytes (tracing.md 15): what a device can do (profiles), what each kind of step
 * costs there, two clocks that run through the calls, and a step of one or many devices put
 * together. Times are seconds, rates are per second, both as doubles; sizes stay exact until they
 * are divided by a rate.
 *
 *     profile.h, profile.c,       device profiles: by name, by file, their keys, what stands in for
 *     profile_read.c,             an absent one, one device's rates from another's
 *     profile_scale.c
 *     profile_grids.c             what was measured on the device, in grids
 *     profile_words.c             how profiles spell kinds and axes
 *     rates.c, grid.c             rates of products and attention, read off a profile's grids
 *     links.c                     what a group of ranks can send, inside a node and across nodes
 *     hoist.c, call_shapes.c      which steps make a call at all, and what each call works on
 *     calls.c, products.c,        what a call costs: one row a kind of step
 *     loss_cost.c, conjectures.c
 *     exchanges.c                 what attention and experts send beside it
 *     time_rules.c                the switches that tell the models apart
 *     clocks.c                    host and device clocks through one part
 *     sharded.c                   a training step over shards: gathers and sums beside the clocks
 *     unit_seconds.c              seconds of each unit of the graph
 *     step_time.c, replay.c       parts, optimizer, pipelines and replicas put together
 *     timer.h, timer.c            one prepared memory under many sizes, degrees and schedules
 *     timing.c, costliest.c       the answer for one configuration
 */

#include "cost/profile.h"
#include "memory/memory.h"

/* ---- models of time ---- */

/*
 * The switches between the models (time_rules.c has what each does and why). `reference` has none;
 * `linnet` those that follow from what the code must do or from a measured law.
 */
#define LIN_TIME_RULES(X) \
    X(S1)                 \
    X(S2)                 \
    X(S3)                 \
    X(S4)                 \
    X(S5)                 \
    X(S6)                 \
    X(S7)                 \
    X(S8)                 \
    X(S9)                 \
    X(S10)                \
    X(S11)                \
    X(S12)                \
    X(S13)                \
    X(M1)                 \
    X(M2)                 \
    X(M3)                 \
    X(M4)                 \
    X(C1)                 \
    X(C2)                 \
    X(C3)                 \
    X(C4)                 \
    X(N1)                 \
    X(CP)                 \
    X(EP)                 \
    X(SP)                 \
    X(Z)                  \
    X(DP)                 \
    X(R1)                 \
    X(R2)                 \
    X(R3)                 \
    X(R4)                 \
    X(K1)

enum {
#define X(id) LIN_RULE_BIT_##id,
    LIN_TIME_RULES(X)
#undef X
        LIN_RULE_COUNT
};
/* Sets of switches: one bit each. */
#define LIN_RULE_S1 (UINT64_C(1) << LIN_RULE_BIT_S1)
#define LIN_RULE_S2 (UINT64_C(1) << LIN_RULE_BIT_S2)
#define LIN_RULE_S3 (UINT64_C(1) << LIN_RULE_BIT_S3)
#define LIN_RULE_S4 (UINT64_C(1) << LIN_RULE_BIT_S4)
#define LIN_RULE_S5 (UINT64_C(1) << LIN_RULE_BIT_S5)
#define LIN_RULE_S6 (UINT64_C(1) << LIN_RULE_BIT_S6)
#define LIN_RULE_S7 (UINT64_C(1) << LIN_RULE_BIT_S7)
#define LIN_RULE_S8 (UINT64_C(1) << LIN_RULE_BIT_S8)
#define LIN_RULE_S9 (UINT64_C(1) << LIN_RULE_BIT_S9)
#define LIN_RULE_S10 (UINT64_C(1) << LIN_RULE_BIT_S10)
#define LIN_RULE_S11 (UINT64_C(1) << LIN_RULE_BIT_S11)
#define LIN_RULE_S12 (UINT64_C(1) << LIN_RULE_BIT_S12)
#define LIN_RULE_S13 (UINT64_C(1) << LIN_RULE_BIT_S13)
#define LIN_RULE_M1 (UINT64_C(1) << LIN_RULE_BIT_M1)
#define LIN_RULE_M2 (UINT64_C(1) << LIN_RULE_BIT_M2)
#define LIN_RULE_M3 (UINT64_C(1) << LIN_RULE_BIT_M3)
#define LIN_RULE_M4 (UINT64_C(1) << LIN_RULE_BIT_M4)
#define LIN_RULE_C1 (UINT64_C(1) << LIN_RULE_BIT_C1)
#define LIN_RULE_C2 (UINT64_C(1) << LIN_RULE_BIT_C2)
#define LIN_RULE_C3 (UINT64_C(1) << LIN_RULE_BIT_C3)
#define LIN_RULE_C4 (UINT64_C(1) << LIN_RULE_BIT_C4)
#define LIN_RULE_N1 (UINT64_C(1) << LIN_RULE_BIT_N1)
#define LIN_RULE_CP (UINT64_C(1) << LIN_RULE_BIT_CP)
#define LIN_RULE_EP (UINT64_C(1) << LIN_RULE_BIT_EP)
#define LIN_RULE_SP (UINT64_C(1) << LIN_RULE_BIT_SP)
#define LIN_RULE_Z (UINT64_C(1) << LIN_RULE_BIT_Z)
#define LIN_RULE_DP (UINT64_C(1) << LIN_RULE_BIT_DP)
#define LIN_RULE_R1 (UINT64_C(1) << LIN_RULE_BIT_R1)
#define LIN_RULE_R2 (UINT64_C(1) << LIN_RULE_BIT_R2)
#define LIN_RULE_R3 (UINT64_C(1) << LIN_RULE_BIT_R3)
#define LIN_RULE_R4 (UINT64_C(1) << LIN_RULE_BIT_R4)
#define LIN_RULE_K1 (UINT64_C(1) << LIN_RULE_BIT_K1)

_Static_assert(LIN_RULE_COUNT <= 64, "a set is 64 bits");

typedef enum lin_time_model { LIN_TIME_LINNET, LIN_TIME_REFERENCE } lin_time_model;

typedef struct lin_time_rule {
    const char *name;
    bool in_linnet;
    const char *what, *why;
} lin_time_rule;

const lin_time_rule *lin_time_rule_at(uint32_t index); /* NULL: out of range */
bool lin_time_model_find(const char *name, lin_time_model *out);
const char *lin_time_model_name(lin_time_model model);
uint64_t lin_time_model_rules(lin_time_model model); /* LIN_RULE_ bits */

/* ---- links between the ranks of a group (links.c) ---- */

/* What the first group of a kind can do; all groups of a kind work at once. */
typedef struct lin_link {
    int64_t ranks, nodes;
    double ring;     /* bytes per second that a ring through all of them moves: its bus bandwidth */
    double hop;      /* from one rank to the next */
    double exchange; /* that a rank sends in an all-to-all */
    double latency;  /* seconds of a small collective */
} lin_link;

typedef struct lin_links {
    lin_link of[LIN_GROUP_KIND_COUNT];
    lin_link alike; /* processes that hold the same part of a gradient: context and replicas; */
    lin_link experts_alike; /* of an expert's: what experts leave of these */
    lin_link reshard;       /* the group that a weight is spread over between its passes */
} lin_links;

/* Ranks stand in the default order of layouts. Without rule N1 or a node in the profile every group
 * is on the profile's link. */
void lin_links_of(const lin_profile *profile, const lin_parallel *normal, uint64_t rules,
                  lin_links *out);
/* What is taken for granted of the network, in `arena`; NULL: nothing. */
const char *lin_links_assumption(const lin_profile *profile, const lin_parallel *normal,
                                 uint64_t rules, lin_arena *arena);
/* Seconds of a collective in a group; `bytes` as lin_collective says. */
double lin_link_seconds(const lin_profile *profile, uint64_t rules, const lin_link *link,
                        lin_collective kind, double bytes);

/* ---- a part: one device's work, whole or for one micro-batch ---- */

typedef enum lin_spent {
    LIN_SPENT_COMPUTE,
    LIN_SPENT_MEMORY,
    LIN_SPENT_COMMUNICATION,
    LIN_SPENT_COUNT
} lin_spent;

typedef struct lin_call {
    double host, device;
    lin_spent spent;
} lin_call;

typedef struct lin_clocks {
    double host, device;
    double spent[LIN_SPENT_COUNT];
} lin_clocks;

void lin_clocks_run(lin_clocks *clocks, const lin_call *call);

typedef struct lin_cost_settings {
    bool training;
    bool is_stage;     /* of a pipeline */
    bool is_compiled;  /* the host issues nothing call by call */
    int64_t processes; /* of a tensor-parallel group; at least 1 */
    int64_t context;   /* processes that have a run of the positions each; 0 counts as 1 */
    int64_t expert;    /* that have a part of the experts each; 0 counts as 1 */
    lin_context_exchange exchange;
    const bool *trained; /* by object: its bytes are updated (S13); NULL: every float parameter's.
                            Read while a cost is made */
    uint64_t rules;      /* LIN_RULE_ bits */
} lin_cost_settings;

/* A graph with its calls found: made once, priced on any device at any size. Borrows the graph. One
 * thread at a time. */
typedef struct lin_cost lin_cost;

/* LINNET_ERROR_UNSUPPORTED: positions are split over processes and something is more than attention
 * across them. */
linnet_status lin_cost_new(const lin_graph *graph, const lin_cost_settings *settings,
                           const lin_allocator *allocator, lin_cost **out, linnet_error *err);
void lin_cost_free(lin_cost *cost); /* accepts NULL */

/* Prices every call. `symbols` are the values of the graph's symbols. Allocates nothing.
 * LINNET_ERROR_OVERFLOW: a size passes 2^63 - 1. LINNET_ERROR_ARGUMENT: one is negative. */
linnet_status lin_cost_price(lin_cost *cost, const lin_profile *profile, const int64_t *symbols,
                             linnet_error *err);

/* How the code around the model goes through a step. */
typedef enum lin_loop {
    LIN_LOOP_FREE, /* the host runs ahead; replicas' gradients are summed beside backward */
    /* Megatron-LM's: the host waits for the device after each pass (its timers, and its sends and
     * receives between stages), and gradients are summed when all of backward is done. */
    LIN_LOOP_MEGATRON,
    LIN_LOOP_COUNT
} lin_loop;

const char *lin_loop_name(lin_loop loop); /* "free", "megatron" */
bool lin_loop_find(const char *name, lin_loop *out);

/* What surrounds a part's own calls. */
typedef struct lin_part_settings {
    double recompute;      /* recomputed arithmetic over the forward's; 0: no checkpointing */
    const bool *again;     /* by step: it is computed again (K1); NULL: that share of every call */
    double received_bytes; /* from the stage before */
    int64_t shards;        /* that split the training states; 0, 1: none */
    bool keeps_parameters; /* they split no parameters (ZeRO 1 and 2): one gather a step */
    bool keeps_gradients;  /* nor gradients (ZeRO 1): one sum a step (Z) */
    int64_t prefetch;      /* groups of weights gathered ahead: 1 and more hide collectives (Z) */
    int64_t reshard;       /* as lin_parallel's */
    lin_loop loop;
    double optimizer_states; /* copies of the parameters, */
    double master_size;      /* bytes of an element of them and of the master weights (R4), */
    double gradient_size;    /* and of a gradient; 0: as the parameter, without master weights */
    const lin_links *links;  /* of the whole job; NULL: every group is on the profile's link */
} lin_part_settings;

typedef struct lin_part {
    double seconds; /* the device clock at the end */
    double forward; /* and when the forward calls are done */
    double weights; /* device seconds of gradients of weights, which a schedule may put off */
    double spent[LIN_SPENT_COUNT];
    double waiting;           /* device clock less busy time */
    double host;              /* the host clock */
    double optimizer, gather; /* seconds outside the clocks, once a step */
    double joining;           /* of a pipeline's results, on its last stage, once a step (S10) */
    double accumulating;      /* device seconds of adding gradients, a later micro-batch (S9) */
    int64_t parameters;       /* owned, */
    double parameter_bytes, parameter_elements;
    double gradient_bytes; /* of those that are trained (S13), or of all */
    double gradient_elements;
    double expert_gradient_bytes, expert_gradient_elements; /* of them, of experts (EP) */
    int64_t steps, forward_calls, backward_calls;
    /* Operations of products, attention and losses, once forward; attention under a causal mask
     * counts half. */
    double model_operations;
} lin_part;

/* Runs the clocks through the calls as they were last priced. */
void lin_cost_part(const lin_cost *cost, const lin_profile *profile,
                   const lin_part_settings *settings, lin_part *out);

/* Seconds of each unit of the graph that the cost was made of ("layers.3"), forward and in training
 * back, as last priced: the longer of its host and device times. `again` says of each step whether
 * it is computed again before its backward; NULL: none is. `out` has a place for each unit.
 * LINNET_ERROR_NO_MEMORY. */
linnet_status lin_cost_unit_seconds(const lin_cost *cost, const bool *again, double *out,
                                    linnet_error *err);

/* What the calls of one kind of step take together, forward and backward. */
typedef struct lin_kind_time {
    const char *name;
    uint32_t forward_calls, backward_calls;
    lin_call forward, backward; /* sums; `spent` is of no meaning */
} lin_kind_time;

uint32_t lin_cost_kind_count(void);
/* As they were last priced. */
lin_kind_time lin_cost_kind_time(const lin_cost *cost, uint32_t kind);

/* Elements of the first tensor input when it holds integers, else its first extent; as last priced.
 */
double lin_cost_tokens(const lin_cost *cost);

/* A call as it stands in a part: for lists of the costliest. */
typedef struct lin_cost_entry {
    uint32_t step;    /* the traced one; of a joined product the first */
    uint32_t members; /* products that one call does; 1 */
    lin_call forward, backward;
} lin_cost_entry;

uint32_t lin_cost_entry_count(const lin_cost *cost);
lin_cost_entry lin_cost_entry_at(const lin_cost *cost, uint32_t index);

/* ---- a step: all parts (tracing.md 15.8) ---- */

typedef struct lin_step_settings {
    bool training;
    int64_t microbatches;  /* of a pipeline; 1 without */
    int64_t accumulation;  /* steps of gradients summed before the optimizer's; 1 */
    int64_t replicas;      /* on their own data; 1 */
    double gradient_bytes; /* of all owned parameters of the whole model: what replicas sum */
    double tokens;         /* of one replica's whole step */
    double replayed; /* seconds of all micro-batches along a schedule; 0: by the closed form */
    uint64_t rules;
    const lin_links *links; /* as lin_part_settings; needed for rule DP */
    int64_t shards;         /* a sum has that part of a gradient (DP); 0, 1: all of it */
    int64_t expert_shards;  /* and that one of an expert's */
    lin_loop loop;
} lin_step_settings;

typedef enum lin_limit {
    LIN_LIMIT_COMPUTE,
    LIN_LIMIT_MEMORY,
    LIN_LIMIT_COMMUNICATION,
    LIN_LIMIT_HOST,
    LIN_LIMIT_COUNT
} lin_limit;

const char *lin_limit_name(lin_limit limit);

typedef struct lin_step_time {
    double seconds;
    double spent[LIN_SPENT_COUNT];
    double host;   /* the device waits for the host */
    double bubble; /* share of the step that a stage waits for others */
    double tokens, tokens_per_second;
    int64_t slots;
    uint32_t slowest; /* stage */
    lin_limit limit;
} lin_step_time;

/* The parts of the ranks, in order; one without a pipeline. */
void lin_step_time_of(const lin_profile *profile, const lin_part *stages, uint32_t count,
                      const lin_step_settings *settings, lin_step_time *out);

/* Micro-batches along a schedule, each action taking what its stage takes: seconds of the last to
 * end. LINNET_ERROR_FORMAT: a deadlock. */
linnet_status lin_step_replay(const struct lin_schedule *schedule, const lin_part *stages,
                              const lin_allocator *allocator, double *out_seconds,
                              linnet_error *err);
/* What rank `rank` of the schedule does for one micro-batch: the sum of its stages. */
void lin_step_rank_part(const struct lin_schedule *schedule, uint32_t rank, const lin_part *stages,
                        lin_part *out);

/* ---- the answer for one configuration ---- */

/* LINNET_ERROR_UNSUPPORTED: a pipeline that the model has no time of. */
linnet_status lin_time_check_schedule(lin_time_model model, const char *schedule,
                                      int64_t virtual_stages, linnet_error *err);

typedef struct lin_timing_settings {
    lin_time_model model;
    bool training;
    lin_parallel parallel; /* as of the memory */
    lin_loop loop;
} lin_timing_settings;

/* Operations of one name and place, all layers together. */
typedef struct lin_costly {
    const char *label; /* "linear" */
    const char *scope; /* "layers.*.mlp.gate"; "" for the root */
    uint32_t calls;    /* forward */
    double seconds;    /* on the device, forward, again and backward */
    double host;
    lin_spent spent; /* of the most of it */
} lin_costly;

enum { LIN_TIMING_COSTLIEST = 10 };

/* Immutable; owns everything in its arena. */
typedef struct lin_timing {
    lin_arena arena;
    lin_allocator allocator;
    const char *model, *entry, *dtype, *numerics;
    const char *device, *device_source;
    lin_time_model time_model;
    int64_t role_value[LIN_ROLE_COUNT]; /* -1: not set */
    bool training;
    const char *optimizer, *checkpoint; /* of training */
    lin_part part;                      /* of the slowest rank, for one micro-batch */
    lin_step_time time;
    double recompute; /* as lin_part_settings */
    int64_t devices;  /* that a replica's operations spread over: the ranks of a pipeline */
    int64_t microbatches;
    const char *schedule; /* NULL: no pipeline */
    /* Operations of the whole step as the model needs them, and as they run with recomputation. */
    double model_operations, hardware_operations;
    double peak;                   /* operations per second that the utilisations are shares of */
    const char *peak_source;       /* "data sheet", or whose it is else */
    int64_t expected_peak, budget; /* bytes */
    const lin_costly *costliest;   /* by seconds descending */
    uint32_t costliest_count;
    const char *const *assumptions;
    uint32_t assumption_count;
} lin_timing;

/* Of a prepared memory, at its configured sizes. */
linnet_status lin_timing_new(lin_memory *memory, const lin_profile *profile,
                             const lin_timing_settings *settings, const lin_allocator *allocator,
                             lin_timing **out, linnet_error *err);
void lin_timing_free(lin_timing *timing); /* accepts NULL */

/* One prepared memory under many sizes, degrees and schedules has a header of its own. */
#include "cost/timer.h"

#endif
