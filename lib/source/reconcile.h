/* SPDX-License-Identifier: MIT */
#ifndef LIN_SOURCE_RECONCILE_H
#define LIN_SOURCE_RECONCILE_H

/* What the parts of the reconciliation share: reconcile.c matches, reconcile_companions.c knows
 * what belongs to a quantized weight, reconcile_notes.c says how it went. */

#include "source/checkpoint.h"
#include "source/parameters.h"

enum { RECONCILE_NOBODY = -1 };

/* A parameter of one block: an element of the arrays it lies in. */
typedef struct reconcile_element {
    int64_t bytes;    /* of its tensors, so far */
    int64_t elements; /* that their shapes hold */
    uint32_t parts;   /* tensors found: several when the parameter stacks them */
    uint16_t format;  /* of the first */
    bool is_unknown;  /* one of them is known by name only */
    bool is_packed;   /* its tensors' shapes are not the parameter's */
    bool is_unbound;  /* no binding is about it */
} reconcile_element;

/* A parameter with its elements. */
typedef struct reconcile_row {
    lin_parameter parameter;
    const char
        *tensor;     /* with braces, as the checkpoint spells it; NULL: elements have their own */
    bool by_element; /* concrete paths are bound too, and prevail */
    uint32_t first, count; /* in `elements` */
    uint32_t parts;        /* tensors of each element */
    uint32_t bound;        /* elements with a binding */
    uint32_t present;      /* elements that have all their tensors */
    bool is_optional;      /* known for those that are not all present */
    bool is_tied;          /* to another row */
} reconcile_row;

typedef struct reconciler {
    lin_source *source;
    const lin_checkpoint *checkpoint;
    const lin_tensor_list *tensors;
    const char *const *ignored;
    bool has_dtype;
    lin_arena *arena;  /* of the source: what is kept */
    lin_arena scratch; /* dropped at the end; both jump to `failure` */
    lin_text text;
    jmp_buf failure;
    LIN_LIST(lin_weight_binding) bindings; /* the source's, and biases it may have */
    lin_names *concrete;                   /* paths of bindings with numbers in them */
    LIN_LIST(uint32_t) concrete_bindings;  /* by path: a binding */
    LIN_LIST(reconcile_row) rows;
    reconcile_element *elements;
    int32_t *owners; /* by tensor: an element, or RECONCILE_NOBODY */
    lin_reconciled result;
    linnet_error *err;
} reconciler;

/* The name of an element's tensor, in `text`; `part` replaces "{*}". Valid until the next call. */
const char *lin_reconcile_name(reconciler *r, const char *tensor, const lin_parameter *parameter,
                               const int64_t *indices, int64_t part);
/* The tensor of an element with braces, as the checkpoint spells it; NULL: unbound. */
const char *lin_reconcile_tensor(reconciler *r, const reconcile_row *row, const int64_t *indices);
/* The path with [*] for its numbers: "layers.3.w" is one of "layers[*].w". The same text when it
 * has none. */
const char *lin_reconcile_pattern(reconciler *r, const char *path);
/* Gives a tensor to an element. */
linnet_status lin_reconcile_give(reconciler *r, uint32_t element, const lin_tensor *tensor);

static inline bool lin_reconcile_is_whole(const reconcile_row *row)
{
    return row->present == row->bound;
}

/* ---- reconcile_companions.c ---- */

/* Gives tensors that belong to a quantized weight (packed values, scales, zeros) to its element. */
linnet_status lin_reconcile_companions(reconciler *r);

/* ---- reconcile_answer.c ---- */

/* Gives the source its bindings and its storage. */
void lin_reconcile_answer(reconciler *r);

/* ---- reconcile_notes.c ---- */

/* Counts what is on one side only and says so. */
void lin_reconcile_notes(reconciler *r);
/* Adds a line to the source's assumptions. */
void lin_reconcile_note(reconciler *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
