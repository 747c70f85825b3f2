/* SPDX-License-Identifier: MIT */
#ifndef LIN_CALLS_H
#define LIN_CALLS_H

/* What lib/cost's files share about calls; lib/cost alone includes this. */

#include "cost/cost.h"

/* The rows of tracing.md 15.4, in its order: the first that matches a step is its kind. */
typedef enum call_row {
    ROW_PRODUCT,
    ROW_ATTENTION,
    ROW_SHARED,
    ROW_ALL_REDUCE,
    ROW_ALL_GATHER,
    ROW_REDUCE_SCATTER, /* not of 15.4: SP */
    ROW_LOSS,
    ROW_EMBEDDING,
    ROW_WRITE,
    ROW_NORM,
    ROW_ELEMENTWISE,
    ROW_VIEW,
    ROW_COUNT
} call_row;

enum {
    CALL_BATCHED = 1 << 0,      /* a matmul whose operand 1 has rank > 2 */
    CALL_HAS_MASK = 1 << 1,     /* attention under a bool mask, */
    CALL_CAUSAL_MASK = 1 << 2,  /* which a causal_mask made */
    CALL_LOG_PROBS = 1 << 3,    /* a loss whose gradients come in its backward */
    CALL_WHOLE_LOGITS = 1 << 4, /* a loss in one block */
    CALL_STRIDED = 1 << 5,      /* reads a strided object */
    CALL_INDEX_PUT = 1 << 6,    /* a cache write with one index, */
    CALL_TOKENS = 1 << 7,       /* with two */
    CALL_CAST = 1 << 8,
    CALL_CONCAT = 1 << 9,
    CALL_NO_GRADIENT = 1 << 10,   /* nothing of it has a backward (S7) */
    CALL_BIASED = 1 << 11,        /* a norm with a bias (S3) */
    CALL_TWO_READS = 1 << 12,     /* index notation over two tensors (S1) */
    CALL_INDEXED = 1 << 13,       /* index notation (S5) */
    CALL_NATIVE = 1 << 14,        /* a native implementation with arithmetic of its own (S1) */
    CALL_FROZEN_INPUT = 1 << 15,  /* operand 0 of a product carries no gradient, */
    CALL_FROZEN_WEIGHT = 1 << 16, /* its operand 1 (S13) */
    CALL_WHOLE_NORM = 1 << 17,    /* a norm with weight and bias in its kernel (S3) */
    CALL_F32_LOGITS = 1 << 18,    /* a loss of whole logits that casts them first (S4) */
    CALL_DISPATCHES = 1 << 24,    /* the first product of a mixture: its rows are sent there, */
    CALL_COMBINES = 1 << 25       /* the last: they are sent back (EP) */
};

/* Places in lin_cost.values; place 0 holds 0 and stands for what there is none of. */
typedef uint32_t call_slot;

typedef struct operand_slots {
    call_slot bytes, elements, last, before_last; /* extents of the last two axes */
    uint32_t element_size;                        /* bytes */
} operand_slots;

typedef struct tensor_slots {
    call_slot bytes; /* owned */
    call_slot elements, owner_bytes;
    uint32_t element_size;
} tensor_slots;

typedef struct member_slots {
    call_slot arithmetic, out; /* of a product: extent 0 of its weight */
} member_slots;

enum { CALL_OPERANDS = 4 };

/* A call but for the sizes: equal ones of all layers are one. Only uint32_t, so compared as bytes.
 */
typedef struct call_head {
    uint32_t row, rate, flags;
    uint32_t member_count, read_count, write_count;
    operand_slots operands[CALL_OPERANDS];
} call_head;

typedef struct call_shape {
    call_head head;
    const member_slots *members;
    const tensor_slots *reads, *writes;
} call_shape;

typedef struct call_price {
    lin_call forward, backward;
    lin_call sent, sent_back; /* what of the exchange beside it is waited for; zero: none */
    bool has_backward;
    double model_operations;
} call_price;

typedef struct call_entry {
    uint32_t step, shape;
} call_entry;

typedef struct parameter_slots {
    call_slot bytes, elements;
    uint32_t group; /* of weights that are gathered together; 0: all that are in no array */
    bool trained;
    bool is_expert; /* each process has a part of it */
} parameter_slots;

/* Weights that are gathered together: of one element of an array of blocks. Sums as last priced. */
typedef struct weight_group {
    double bytes, expert_bytes;     /* the experts' are none of `bytes` */
    double trained, expert_trained; /* elements */
    uint32_t first_entry;           /* that reads it; UINT32_MAX: none */
} weight_group;

struct lin_cost {
    lin_allocator allocator;
    lin_arena arena;
    lin_cost_settings settings;
    const lin_graph *graph; /* borrowed */
    const call_shape *shapes;
    uint32_t shape_count;
    const call_entry *entries; /* in step order */
    uint32_t entry_count;
    const parameter_slots *parameters; /* owned */
    uint32_t parameter_count;
    weight_group *groups; /* 0 is loose */
    uint32_t group_count;
    const uint32_t *entry_groups; /* by entry: what it reads; 0: nothing of an array */
    const uint32_t *group_order;  /* those that are read, by their first entry */
    uint32_t ordered_count;
    double *arrivals; /* by group, of a run */
    call_slot tokens;
    const tensor_slots *results; /* what the graph returns */
    uint32_t result_count;

    const lin_expr *wanted; /* of the slots from 1 on */
    uint32_t slot_count;
    lin_expr_program *program;
    int64_t *integers, *scratch; /* of a run */
    double *values;              /* by slot, as last priced */
    call_price *prices;          /* by shape, as last priced */
    double result_bytes;         /* as last priced, as the next two */
    double parameter_bytes, parameter_elements;
    double trained_bytes, trained_elements; /* of them, under S13; else the same */
    uint32_t trained_count;
};

/* ---- hoist.c: what a step is, before any size is known ---- */

enum { NOT_JOINED = UINT32_MAX };

typedef struct step_marks {
    const bool *silent;         /* by step: makes no call */
    const bool *strided;        /* by object */
    const uint32_t *leader;     /* by step: the first member of its joined product, or NOT_JOINED */
    const bool *differentiable; /* by step */
    const bool *carries;        /* by object: a gradient */
} step_marks;

/* exchanges.c: CALL_DISPATCHES and CALL_COMBINES by step; NULL where there are no experts. */
const uint32_t *lin_cost_mark_experts(const lin_graph *graph, lin_arena *arena);
/* Whether more than attention goes across positions that are split. */
linnet_status lin_cost_check_context(const lin_graph *graph, linnet_error *err);

void lin_cost_mark_steps(const lin_graph *graph, const lin_cost_settings *settings,
                         lin_arena *arena, step_marks *out);
bool lin_cost_is_trained(const lin_cost_settings *settings, const lin_graph *graph,
                         uint32_t object);
/* Whether `native` is `name` up to the first '('. */
bool lin_cost_is_native(const lin_step *step, const char *name);

/* ---- calls.c, loss_cost.c: prices ---- */

typedef struct pricing {
    const lin_profile *profile;
    const double *values; /* by slot */
    const lin_cost_settings *settings;
    const lin_links *links; /* of the groups that the calls themselves exchange in */
} pricing;

void lin_cost_price_shape(const pricing *p, const call_shape *shape, call_price *out);
void lin_cost_price_loss(const pricing *p, const call_shape *shape, call_price *out);

static inline bool has_rule(const pricing *p, uint64_t rule)
{
    return (p->settings->rules & rule) != 0;
}

/* Bytes a step reads and writes. */
typedef struct moved_bytes {
    double read, written;
    double largest_result; /* elements */
    double smallest_input; /* elements, of those with any; 0: none */
    uint32_t element_size; /* bytes, of the widest result */
} moved_bytes;

moved_bytes lin_cost_bytes(const pricing *p, const call_shape *shape);
/* stream(bytes, kernels) of tracing.md 15.2. */
double lin_cost_stream(const pricing *p, double bytes, double kernels);
double lin_cost_spread(const pricing *p, double bytes, uint32_t element_size);
/* conjectures.c: what a rate is multiplied by for a product of fewer rows than were measured (C1)
 * and for attention of another length (C4). */
double lin_cost_rows_factor(double rows, double columns, bool is_f32);
double lin_cost_length_factor(double length, bool is_f32);

/* ---- products.c ---- */

typedef struct product {
    lin_rate_dtype dtype;
    bool is_batched, is_unaligned; /* rows that begin anywhere */
    double operations, bytes;
    double rows, out, in; /* of the weight [out, in]; of a batch, the rows of all its products */
} product;

/* The device's time; nothing of the host's. */
lin_call lin_cost_product(const pricing *p, const product *x);
/* Of the gradients, without CALL_FROZEN_ operands, after a forward product that took `forward`. */
double lin_cost_product_gradients(const pricing *p, const product *x, uint32_t flags,
                                  double forward);
/* Arithmetic alone, and that of both gradients. */
double lin_cost_product_compute(const pricing *p, const product *x, double *out_gradients);

/* exchanges.c: makes of a price on one's own positions and experts one of the whole group. */
void lin_cost_add_exchange(const pricing *p, const call_shape *shape, call_price *out);

/* ---- clocks.c, sharded.c: a part ---- */

typedef struct part_run {
    const lin_cost *cost;
    const lin_profile *profile;
    const lin_part_settings *settings;
    lin_links links;
    lin_clocks clocks;
    double host_scale, library_scale; /* of the model's own calls, of the library's */
    double link_free;                 /* when the collectives that run beside the clocks are done */
} part_run;

void lin_cost_run(part_run *r, lin_call call);
/* The forward calls, each taking `share` of its time. */
void lin_cost_run_entry(part_run *r, uint32_t entry, double share);
void lin_cost_run_entry_back(part_run *r, uint32_t entry);
/* How often checkpointing runs an entry again: 1, 0, or a share. */
double lin_cost_again(const lin_cost *cost, const lin_part_settings *settings, uint32_t entry);

/* Finds the groups of weights: which parameter and which call belongs to which. */
void lin_sharded_group(lin_cost *cost, parameter_slots *parameters, const uint32_t *objects,
                       lin_arena *arena);
/* Sums of the groups, at the sizes of `cost->values`. */
void lin_sharded_price(lin_cost *cost);
/* Whether gathers and sums run beside the calls. */
bool lin_sharded_overlaps(const part_run *r);
/* What waits for every collective: before and after the calls of a part. */
void lin_sharded_before(part_run *r);
void lin_sharded_after(part_run *r);
/* The calls themselves, with collectives beside them. */
void lin_sharded_forward(part_run *r);
void lin_sharded_backward(part_run *r);
/* Of the states, the share that one process updates; 1 without shards. */
double lin_sharded_updated(const part_run *r);
/* Seconds once a step, outside the clocks, of a part that takes `forward` and `backward`. */
double lin_sharded_once(const part_run *r, double forward, double backward);

#endif
