/* SPDX-License-Identifier: MIT */
#ifndef LIN_BACKEND_H
#define LIN_BACKEND_H

/*
 * What a framework does with a step: which native implementation an op gets, how its result is
 * stored, its workspace, what autograd keeps. One table row an operation (stdlib.md 1.1 and 2); the
 * backend sees operands, never a program.
 */

#include "graph/graph.h"

typedef enum lin_numerics {
    LIN_NUMERICS_EXACT,
    LIN_NUMERICS_EQUIVALENT,
    LIN_NUMERICS_FAST
} lin_numerics;
bool lin_numerics_find(const char *name, lin_numerics *out);
const char *lin_numerics_name(lin_numerics numerics);

typedef enum lin_backend_kind { LIN_BACKEND_CUDA, LIN_BACKEND_GENERIC } lin_backend_kind;
bool lin_backend_find(const char *name, lin_backend_kind *out);
const char *lin_backend_name(lin_backend_kind kind);
int64_t lin_backend_alignment(
    lin_backend_kind kind); /* 512 on CUDA (the caching allocator's smallest block), 1 generic */

/* One tensor operand of a call, in parameter order. */
typedef struct lin_operand {
    lin_dtype dtype;
    const lin_expr *shape;
    uint32_t rank;
    lin_expr elements;
    bool carries_gradient;
} lin_operand;

typedef enum lin_storage_rule {
    LIN_RESULT_FRESH,
    LIN_RESULT_IN_PLACE,   /* cache writes: shares operand 0 when tracing.md 5.6 allows it */
    LIN_RESULT_COLLECTIVE, /* identity on one device, fresh with more than one process */
    LIN_RESULT_IDENTITY,   /* always shares operand 0 */
    LIN_RESULT_SEQUENCE,   /* identity when it has as many elements as operand 0, else fresh */
    LIN_RESULT_TRAINING    /* fresh; outside training the op's body is followed */
} lin_storage_rule;

typedef enum lin_phase {
    LIN_PHASE_INFERENCE,
    LIN_PHASE_FORWARD_WITH_GRADIENTS,
    LIN_PHASE_BACKWARD
} lin_phase;

typedef struct lin_amount {
    lin_expr bytes; /* 0 when unknown */
    lin_confidence confidence;
} lin_amount;

/* What autograd keeps from a call that carries gradients until its backward. */
typedef struct lin_keep {
    uint8_t operands; /* bit i: operand i */
    bool factors;     /* operands 0 and 1, each when the other carries a gradient */
    uint8_t results;  /* bit i: tensor result i */
    /* The result is made again from operand 0 in backward by whoever would keep it. */
    bool gathers_again;
    /* Memory the kernel makes for itself and keeps. NULL: none. */
    lin_amount (*extra)(lin_expr_table *exprs, const lin_operand *operands, uint32_t count);
} lin_keep;

/* A native implementation. */
typedef struct lin_native {
    const char *name; /* without "(input dtype)" */
    lin_storage_rule storage;
    bool attention_order; /* the result's memory order is (0, 2, 1, 3) */
    /* Bytes the kernel needs while it runs. NULL: none. */
    lin_amount (*workspace)(lin_expr_table *exprs, const lin_operand *operands, uint32_t count,
                            lin_expr result_bytes, lin_phase phase, int64_t processes);
    bool workspace_unknown;
    const lin_keep *keep; /* NULL: not known; all inputs and results are assumed */
} lin_native;

typedef struct lin_choice {
    const char *spelling; /* "torch.rms_norm(input dtype)"; NULL: the canonical body is followed */
    const lin_native
        *native;      /* NULL: no storage model of its own: fresh result, unknown workspace */
    bool kernel_only; /* serving engines run a kernel of their own here; its memory is not modelled,
                         so reports name the op among the unknowns */
} lin_choice;

/* The implementation of the op with that qualified name under a policy. `generic` backends choose
 * as CUDA does. */
lin_choice lin_backend_choose(const char *qualified_op, lin_numerics numerics);

/* The forms a cross-entropy of an output head can take (std.nn.loss): one meaning, different
 * memory. */
typedef enum lin_loss {
    LIN_LOSS_AS_WRITTEN,
    LIN_LOSS_CHUNKED,
    LIN_LOSS_LOGITS,
    LIN_LOSS_LOGITS_F32
} lin_loss;
bool lin_loss_find(const char *name, lin_loss *out); /* "chunked", "logits", "logits-f32" */
const char *lin_loss_name(lin_loss loss);            /* NULL as written */
/* The op that stands for `qualified_op` under `loss`; NULL when it is no such loss. */
const char *lin_loss_op(const char *qualified_op, lin_loss loss);

/* Runtime items of one device in inference or training (tracing.md 12), from the constants of
 * lib/zoo/runtime. */
typedef struct lin_runtime_item {
    const char *name;
    lin_category category;
    bool known;
    int64_t bytes;
    lin_confidence confidence;
    const char *note; /* for unknown ones: the text after the colon */
} lin_runtime_item;

/* What a process sends and receives outside collectives of all. */
typedef enum lin_channels {
    LIN_CHANNELS_NONE,
    LIN_CHANNELS_SEND,
    LIN_CHANNELS_RECEIVE,
    LIN_CHANNELS_BOTH,
    LIN_CHANNELS_EXCHANGE /* parts of tensors, as a split by DTensor exchanges them */
} lin_channels;

typedef struct lin_runtime_settings {
    lin_backend_kind backend;
    bool training;
    int64_t processes;             /* of the largest group; 0 counts as 1 */
    int64_t communicators;         /* groups of several processes */
    const char *communicator_note; /* NULL: "" */
    lin_channels channels;
    int64_t context_bytes;               /* -1: the default */
    const char *cublas_workspace_config; /* NULL or "": the default; ":4096:2:16:8" */
    const lin_allocator *allocator;      /* NULL: malloc */
} lin_runtime_settings;

enum { LIN_RUNTIME_MAX_ITEMS = 16 };
linnet_status lin_backend_runtime(const lin_runtime_settings *settings,
                                  lin_runtime_item out[LIN_RUNTIME_MAX_ITEMS], uint32_t *out_count,
                                  linnet_error *err);

#endif
