/* SPDX-License-Identifier: MIT */
#ifndef LIN_COST_H
#define LIN_COST_H

/*
 * Seconds instead of bytes (tracing.md 15): what a device can do (profiles), what each kind of step
 * costs there, two clocks that run through the calls, and a step of one or many devices put
 * together. Times are seconds, rates are per second, both as doubles; sizes stay exact until they
 * are divided by a rate.
 *
 *     profile.c, profile_read.c,  device profiles: by name, by file, their keys, what stands in for
 *     profile_scale.c             an absent one, one device's rates from another's
 *     profile_grids.c             what was measured on the device, in grids
 *     profile_words.c             how profiles spell kinds and axes
 *     rates.c, grid.c             rates of products and attention, read off a profile's grids
 *     links.c                     what a group of ranks can send, inside a node and across nodes
 *     hoist.c, call_shapes.c      which steps make a call at all, and what each call works on
 *     calls.c, loss_cost.c        what a call costs: one row a kind of step
 *     exchanges.c                 what attention and experts send beside it
 *     time_rules.c                the switches that tell the models apart
 *     clocks.c                    host and device clocks through one part
 *     sharded.c                   a training step over shards: gathers and sums beside the clocks
 *     unit_seconds.c              seconds of each unit of the graph
 *     step_time.c, replay.c       parts, optimizer, pipelines and replicas put together
 *     timing.c, costliest.c       the answer for one configuration
 */

#include "memory/memory.h"

/* ---- device profiles (linnet-device(5)) ---- */

typedef enum lin_rate_dtype {
    LIN_RATE_BF16,
    LIN_RATE_F16,
    LIN_RATE_F32,
    LIN_RATE_COUNT
} lin_rate_dtype;

/* Everything that is neither bf16 nor f16 computes as f32. */
lin_rate_dtype lin_rate_dtype_of(lin_dtype dtype);

/* What the host is busy with while it issues a call. */
#define LIN_HOST_KINDS(X)             \
    X(VIEW, "view")                   \
    X(ELEMENTWISE, "elementwise")     \
    X(PRODUCT, "product")             \
    X(BATCHED, "batched")             \
    X(ATTENTION, "attention")         \
    X(NORMALIZATION, "normalization") \
    X(WRITE, "write")                 \
    X(GATHER, "gather")               \
    X(JOIN, "join")                   \
    X(CAST, "cast")                   \
    X(REDUCTION, "reduction")         \
    X(MASK, "mask")                   \
    X(BACKWARD, "backward")           \
    X(PRODUCT_BACKWARD, "product_backward")

typedef enum lin_host_kind {
#define X(id, spelling) LIN_HOST_##id,
    LIN_HOST_KINDS(X)
#undef X
        LIN_HOST_COUNT
} lin_host_kind;

/* Rates measured at out x in, rows by `out`; 0: this corner was not. Both axes ascend. */
typedef struct lin_rate_grid {
    const double *out, *in, *rates;
    uint32_t out_count, in_count; /* 0: no grid */
} lin_rate_grid;

typedef enum lin_attention_kind {
    LIN_ATTENTION_CAUSAL,
    LIN_ATTENTION_CAUSAL_BACKWARD,
    LIN_ATTENTION_MASKED,
    LIN_ATTENTION_MASKED_BACKWARD,
    LIN_ATTENTION_COUNT
} lin_attention_kind;

typedef struct lin_attention_rate {
    lin_attention_kind kind;
    bool is_f32;
    int64_t width; /* of a head; 0: any width and dtype */
    double rate;
} lin_attention_rate;

/* Something measured at every corner of up to three axes (grid.c). */
enum { LIN_GRID_AXES = 3 };

typedef struct lin_grid {
    const char *source;
    uint32_t axes; /* 0: not measured */
    uint32_t counts[LIN_GRID_AXES];
    const double *points[LIN_GRID_AXES]; /* ascending, */
    const double *logs[LIN_GRID_AXES];   /* and their logarithms */
    const double *values, *value_logs;   /* the last axis fastest */
} lin_grid;

/* Fused attention by the length of its keys and the heads of all sequences. */
typedef struct lin_attention_grid {
    lin_attention_kind kind;
    bool is_f32;
    int64_t width;
    lin_grid grid;
} lin_attention_grid;

/* By processes and bytes: of the whole result (of a scatter the whole operand). */
#define LIN_COLLECTIVES(X)              \
    X(ALL_REDUCE, "all_reduce")         \
    X(ALL_GATHER, "all_gather")         \
    X(REDUCE_SCATTER, "reduce_scatter") \
    X(ALL_TO_ALL, "all_to_all")

typedef enum lin_collective {
#define X(id, spelling) LIN_COLLECTIVE_##id,
    LIN_COLLECTIVES(X)
#undef X
        LIN_COLLECTIVE_COUNT
} lin_collective;

/* What was measured call by call, beside the rates that stand for every size. */
typedef struct lin_measured {
    double flops[LIN_RATE_COUNT]; /* that products of whole runs reached at most; 0: not known */
    const char *flops_source;     /* NULL: none */
    lin_grid products[LIN_RATE_COUNT]; /* by rows, out, in */
    const lin_attention_grid *attention;
    uint32_t attention_count;
    lin_grid decode;                            /* by bytes of the caches that one query reads */
    lin_grid collectives[LIN_COLLECTIVE_COUNT]; /* seconds */
} lin_measured;

/* How profiles spell these: "bf16", "view", "causal_backward", "all_reduce" (profile_words.c). */
extern const char *const lin_rate_dtype_names[LIN_RATE_COUNT];
extern const char *const lin_host_kind_names[LIN_HOST_COUNT];
extern const char *const lin_attention_kind_names[LIN_ATTENTION_COUNT];
extern const char *const lin_collective_names[LIN_COLLECTIVE_COUNT];

typedef enum lin_grid_kind {
    LIN_GRID_PRODUCT,
    LIN_GRID_ATTENTION,
    LIN_GRID_DECODE,
    LIN_GRID_COLLECTIVE,
    LIN_GRID_FORM_COUNT
} lin_grid_kind;

/* Names of a grid's axes, the last fastest, and of what stands at their corners. */
typedef struct lin_grid_form {
    uint32_t axes;
    const char *axis[LIN_GRID_AXES];
    const char *values;
} lin_grid_form;
extern const lin_grid_form lin_grid_forms[LIN_GRID_FORM_COUNT];

/* What the vendor's data sheet says, dense; 0: nothing. */
typedef struct lin_sheet {
    double bf16, f16, tf32, f32, fp8, fp4; /* operations per second */
    double bandwidth, link;                /* bytes per second; the link in one direction */
} lin_sheet;

/* The devices that `link` connects, and what leads out of them. */
typedef struct lin_node {
    int64_t devices;    /* 0: nothing is known, and every device is on `link` */
    double network;     /* bytes per second and device, in one direction */
    double latency;     /* seconds of a small collective of two nodes */
    const char *source; /* where that is from; NULL: not said */
} lin_node;

/* Immutable; owns everything in its arena. */
typedef struct lin_profile {
    lin_allocator allocator;
    lin_arena arena;
    const char *name, *title, *source;
    const char *base;             /* the profile whose figures were scaled, or NULL */
    int64_t memory_bytes;         /* in all */
    int64_t driver_bytes;         /* that a process can have, as the driver says; 0: not known */
    double flops[LIN_RATE_COUNT]; /* peak of products, operations per second; 0: f32's */
    double bandwidth, elementwise, broadcast, skinny, decode, link; /* bytes per second */
    double latency, reduce;                  /* seconds of a small sum: device, host and device */
    double kernel, strided_kernel, dispatch; /* seconds: floors of a kernel, of an issued call */
    double host[LIN_HOST_COUNT];             /* seconds */
    lin_rate_grid products[LIN_RATE_COUNT];
    const lin_attention_rate *attention;
    uint32_t attention_count;
    lin_sheet sheet;
    lin_node node;
    lin_measured measured; /* the file's own: never scaled */
} lin_profile;

uint32_t lin_profile_count(void);             /* of built-in ones */
const char *lin_profile_name(uint32_t index); /* NULL: out of range */

/* A built-in name, or the path of a profile file: a word with a '/' or ending in ".json".
 * LINNET_ERROR_NOT_FOUND with the nearest name, LINNET_ERROR_FILE, LINNET_ERROR_FORMAT. */
linnet_status lin_profile_open(const char *name_or_path, uint64_t file_bytes,
                               const lin_allocator *allocator, lin_profile **out,
                               linnet_error *err);
/* A profile's text. LINNET_ERROR_FORMAT names the key. */
linnet_status lin_profile_parse(const char *source_name, const char *text, uint64_t length,
                                const lin_allocator *allocator, lin_profile **out,
                                linnet_error *err);
void lin_profile_free(lin_profile *profile); /* accepts NULL */
/* What a budget may count on: the driver's figure, else all of it. */
int64_t lin_profile_budget(const lin_profile *profile);

/* ---- rates (tracing.md 15.6) ---- */

double lin_rate_peak(const lin_profile *profile, lin_rate_dtype dtype);
double lin_rate_product(const lin_profile *profile, lin_rate_dtype dtype, double out, double in);
double lin_rate_attention(const lin_profile *profile, lin_rate_dtype dtype, lin_attention_kind kind,
                          double width);

/* A rate below a grid's first point goes with the size and stays beyond the last; seconds stay
 * below the first and go with the size beyond the last. */
double lin_grid_rate(const lin_grid *grid, const double *at);
double lin_grid_seconds(const lin_grid *grid, const double *at);
bool lin_measured_any(const lin_measured *measured);

/* From the measured grids; 0: there is none for it. */
double lin_measured_product(const lin_profile *profile, lin_rate_dtype dtype, double rows,
                            double out, double in);
double lin_measured_attention(const lin_profile *profile, lin_rate_dtype dtype,
                              lin_attention_kind kind, double width, double length, double heads);
double lin_measured_decode(const lin_profile *profile, double bytes);
double lin_measured_collective(const lin_profile *profile, lin_collective kind, double processes,
                               double bytes);
/* Seconds: as measured where `rules` have R3 and it was, else latency and the link. */
double lin_collective_seconds(const lin_profile *profile, uint64_t rules, lin_collective kind,
                              double processes, double bytes);

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
