/* SPDX-License-Identifier: MIT */
#ifndef LIN_TRACE_H
#define LIN_TRACE_H

/*
 * program + bindings -> graph (tracing.md 2-6). Walks the entry's operations once with sizes kept
 * as expressions and asks `backend` which implementation each op gets.
 */

#include "backend/backend.h"
#include "source/source.h"

typedef struct lin_trace_settings {
    const char *root;  /* NULL: the card's, else the only block with entries */
    const char *entry; /* NULL: the card's, else the only one, else `forward` */
    bool role_given[LIN_ROLE_COUNT];
    bool role_vary[LIN_ROLE_COUNT]; /* a search varies it: free even when not given */
    int64_t role_value[LIN_ROLE_COUNT];
    const lin_setting *binds; /* --bind, later ones win */
    uint32_t bind_count;
    bool has_dtype;
    lin_dtype dtype;
    const char *const *optional_paths; /* --optional */
    uint32_t optional_count;
    bool no_bindings; /* --no-bindings */
    bool full_window; /* a generic `Window` of the root is larger than any cache */
    lin_numerics numerics;
    lin_backend_kind backend;
    int64_t processes;         /* of a tensor-parallel group; 1 */
    int64_t context_processes; /* each has its part of the context's positions; 0 counts as 1 */
    int64_t expert_processes;  /* each has its part of the experts; 0 counts as 1 */
    bool sequence_parallel;    /* the generic `SequenceShards` of the root is `processes` too */
    bool training;             /* the entry must return a loss */
    lin_loss loss;             /* which form its cross-entropy of an output head takes */
} lin_trace_settings;

/* What the analysis reports about the configuration that was traced. */
typedef struct lin_traced {
    lin_graph *graph;
    int64_t role_value[LIN_ROLE_COUNT]; /* the values in force of the free roles; -1: the role is
                                           not free */
    const lin_setting *bound; /* every generic of the root that got a number or a dtype, in order of
                                 declaration, in graph->arena */
    uint32_t bound_count;
    const char *dtype; /* the root's float dtype, "" when there is none */
    bool has_shards;   /* the root has a generic `Shards`: the program is one process's */
    uint32_t
        split_tensors; /* stored tensors of which each process holds a part, without `Shards` */
} lin_traced;

/*
 * LINNET_ERROR_ARGUMENT    a generic without a value (all of them named), one that the root and
 * entry lack, a symbol where structure needs a number, a value < 1, training an entry without a
 * loss, a loss that the entry does not compute LINNET_ERROR_NOT_FOUND   no
 * root, entry, parameter of that name; the message has what there is and the nearest
 * LINNET_ERROR_UNSUPPORTED a construct that the tracer does not model, with its place
 * LINNET_ERROR_OVERFLOW    an expression's arithmetic does not fit
 * LINNET_ERROR_FORMAT      a bindings file that names no parameter of the model
 */
linnet_status lin_trace(const lin_source *source, const lin_trace_settings *settings,
                        const lin_allocator *allocator, lin_traced *out, linnet_error *err);

/* Finds the root block and entry that `root` and `entry` (may be NULL) mean. */
linnet_status lin_trace_find_entry(const lin_source *source, const char *root, const char *entry,
                                   const lin_block **out_block, const lin_function **out_entry,
                                   linnet_error *err);

/* The persistent objects alone, for questions that need no entry: the graph has no steps. Roles
 * that are neither given nor bound count as 1. A file without a root gives an empty graph. */
linnet_status lin_trace_persistent(const lin_source *source, const lin_trace_settings *settings,
                                   const lin_allocator *allocator, lin_traced *out,
                                   linnet_error *err);

/* What a model holds, with the card's own values; a tied tensor counts once, an absent optional one
 * not at all. */
typedef struct lin_format_total {
    const char *format; /* a dtype or a storage format */
    int64_t tensors, elements, bytes;
} lin_format_total;

typedef struct lin_totals {
    int64_t parameters;              /* elements of params */
    int64_t weight_bytes;            /* as they are stored */
    int64_t kv_bytes_per_token;      /* that one more position of one sequence adds to all caches,
                                        windows left out */
    int64_t state_bytes;             /* of states that are no caches, for one sequence */
    bool tied;                       /* the output head shares the input embedding's storage */
    const lin_format_total *formats; /* of params and buffers, by bytes descending */
    uint32_t format_count;
} lin_totals;

/* How cached values are stored: blocks of so many take so many bytes. */
typedef struct lin_value_block {
    int64_t elements, bytes;
} lin_value_block;

linnet_status lin_trace_totals(const lin_source *source, bool no_bindings, lin_value_block keys,
                               lin_value_block values, lin_arena *arena, lin_totals *out,
                               linnet_error *err);

/* Parameters of the instantiated model with the card's own values (roles the card leaves open count
 * as 1): for `models`, `inspect`. Only params count; a tied one once, absent optionals not. */
linnet_status lin_trace_count_parameters(const lin_source *source, bool no_bindings,
                                         const lin_allocator *allocator, int64_t *out_count,
                                         linnet_error *err);

/* Calls of ops in the program and what each gets under `numerics`, in order of qualified name: for
 * `explain`. */
typedef struct lin_op_choice {
    const char *op;
    const char *implementation; /* NULL: canonical decomposition */
} lin_op_choice;
linnet_status lin_trace_explain(const lin_source *source, lin_numerics numerics, lin_arena *arena,
                                const lin_op_choice **out, uint32_t *out_count, linnet_error *err);

#endif
