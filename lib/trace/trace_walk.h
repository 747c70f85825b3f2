/* SPDX-License-Identifier: MIT */
#ifndef LIN_TRACE_WALK_H
#define LIN_TRACE_WALK_H

/*
 * Inside the tracer. One walk turns an entry's operations into steps:
 *
 *   entry.c       which root and entry are meant
 *   bind.c        values for generics, roles, `where` clauses as relations
 *   degree.c      whether the model can be split over so many processes
 *   trace_bindings.c  what a bindings file binds and ties
 *   persistent.c  instances of blocks, and the objects that exist before the entry runs
 *   walk.c        regions, one operation after the other
 *   walk_flow.c   matches, branches, loops
 *   walk_step.c   making steps and objects
 *   walk_layout.c elementwise operations, views, copies, data-making operations
 *   walk_index.c  index notation
 *   walk_frame.c  functions with their generics bound
 *   walk_call.c   calls, native implementations, state
 *   split.c       parts of tensors, for a model without a generic `Shards`
 *   arithmetic.c  operation counts of regions and of canonical bodies
 *   trace.c       the driver: one jump target for everything that stops a walk
 *
 * A tensor of the walk is an object of the graph and the memory order of its axes. All functions
 * here return only on success: whatever stops a walk jumps to the driver.
 */

#include "trace/trace.h"

#include <setjmp.h>

#define LIN_NO_OBJECT UINT32_MAX

/* Limits of one walk, so that a hostile program ends with a message. */
enum {
    LIN_WALK_MAX_STEPS = 1000000,
    LIN_WALK_MAX_OPS = 20000000,     /* operations walked, also those that make no step */
    LIN_WALK_MAX_DEPTH = 1024,       /* regions and calls inside each other */
    LIN_WALK_MAX_INSTANCES = 250000, /* blocks of the instantiated hierarchy */
    LIN_WALK_MAX_PERSISTENT = 1000000
};

typedef enum tvalue_kind {
    TVALUE_UNIT,
    TVALUE_SCALAR,
    TVALUE_TENSOR,
    TVALUE_BLOCK,
    TVALUE_ARRAY, /* of blocks */
    TVALUE_TUPLE,
    TVALUE_ABSENT, /* an optional without a value; with one it is the value itself */
    TVALUE_VARIANT,
    TVALUE_OPEN /* an enum or optional that is not known while tracing */
} tvalue_kind;

typedef enum order_kind {
    ORDER_OWN,      /* contiguous */
    ORDER_PERMUTED, /* axes in another order */
    ORDER_NONE      /* a broadcast, a strided slice */
} order_kind;

/* What a constant in the text is good for: x * 1 and x + 0 are dropped. */
typedef enum literal_kind { LITERAL_NO, LITERAL_ZERO, LITERAL_ONE } literal_kind;

typedef struct instance instance;
typedef struct tvalue tvalue;

/* A value of the walk. */
struct tvalue {
    uint8_t kind;    /* tvalue_kind */
    uint8_t order;   /* order_kind */
    uint8_t literal; /* literal_kind */
    bool known;      /* of a scalar: `as.integer` is its value */
    bool inside;     /* a parameter or state named inside index notation: read, but no input */
    uint32_t object; /* of a tensor; LIN_NO_OBJECT inside index notation and while counting */
    uint32_t count;  /* of an array, a tuple */
    union {
        uint64_t axes; /* ORDER_PERMUTED: axes outermost first, four bits each, the first lowest */
        int64_t integer;
        uint32_t variant;
        instance *block;
        instance **blocks;
        const tvalue *parts;
    } as;
};

/* A block of the instantiated hierarchy. */
struct instance {
    const char *path;
    const lin_block *block;
    const lin_env *env;
    tvalue *members;    /* by member; a state's is its current value */
    uint32_t *declared; /* by member: the object that was made for it */
};

/* Sizes of a tensor type under an environment. */
typedef struct tensor_info {
    const lin_expr *shape;
    uint32_t rank;
    lin_dtype dtype;
    lin_expr elements, bytes;
} tensor_info;

/*
 * A function with its generics bound, and the values of the run that is under way: there is no
 * recursion, so there is one at most. Walking a layer again finds the frames of the first one.
 */
typedef struct frame {
    const lin_function *function;
    const lin_env *env;
    const lin_env *receiver; /* environment of the block whose method it is, or NULL */
    const lin_bound *bounds; /* of its own generics, by generic */
    uint64_t hash;
    instance *self;
    tvalue *values;
    const tensor_info **infos; /* by value, made when first asked for */
    const uint32_t *uses;      /* by value, made when first asked for */
    lin_choice choice;         /* of an op */
    bool counted;
    lin_expr arithmetic; /* of an op's canonical body */
} frame;

typedef struct state_change {
    instance *block;
    uint32_t member;
    tvalue before;
} state_change;

/* What is known about an operation or a call of a frame: (frame, operation) -> a record. */
typedef struct site {
    const void *frame, *op;
    void *record;
} site;

typedef struct walker {
    lin_arena *arena;   /* the graph's */
    lin_arena *scratch; /* dropped at the end */
    lin_graph *graph;
    lin_expr_table *exprs;
    const lin_source *source;
    const lin_program *program;
    const lin_trace_settings *settings;
    linnet_error *err;
    linnet_status status; /* what the jump to `stop` means */
    jmp_buf stop;
    lin_text text; /* for building words; freed by the driver */

    const lin_block *root; /* NULL for a module-level entry */
    const lin_function *entry;
    int64_t shards;          /* what `Shards` stands for */
    bool open_roles_are_one; /* counting parameters: roles without a value count as 1 */
    const lin_env *root_env, *entry_env;
    instance *root_instance;
    lin_traced traced;

    lin_expr zero, one;
    const char *scope;
    uint32_t depth;
    uint64_t ops, instances;
    bool counting; /* a canonical body is counted: what cannot be counted is no error */
    bool count_failed;
    bool found_loss; /* some op was a cross-entropy of an output head */

    /* the step being made */
    LIN_LIST(uint32_t) inputs, region_reads, outputs;
    LIN_LIST(uint32_t) stamps; /* by object: the last step that listed it */
    uint32_t stamp;
    LIN_LIST(lin_operand) operands;
    LIN_LIST(uint32_t) operand_objects; /* by operand */

    LIN_LIST(state_change) journal;
    LIN_LIST(uint32_t) retained;
    site *sites;
    uint32_t site_count, site_mask;
    frame **frames; /* by what they bind */
    uint32_t frame_count, frame_mask;
} walker;

/* ---- trace.c ---- */

/* Ends the walk. */
_Noreturn void lin_walk_fail(walker *w, linnet_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void lin_walk_fail_at(walker *w, lin_span span, linnet_status status, const char *format,
                                ...) __attribute__((format(printf, 4, 5)));
/* Ends the walk because of something not modelled; while counting it only spoils the count. */
void lin_walk_unsupported(walker *w, const lin_op *op, const char *what);
const char *lin_walk_name(const walker *w, lin_name name);
/* An expression as text, in scratch memory. */
const char *lin_walk_dim_text(walker *w, const lin_expr_table *table, lin_expr e);
/* Ends the walk when building w->text ran out of memory. */
void lin_walk_check_text(walker *w);
/* Runs `body` with the jump target set. */
linnet_status lin_walk_guarded(walker *w, void (*body)(walker *));

/* ---- entry.c ---- */

linnet_status lin_trace_find_root(const lin_source *source, const char *root,
                                  const lin_block **out_block, linnet_error *err);

/* ---- bind.c ---- */

/* Fills root_env, entry_env and `traced`. */
void lin_walk_bind(walker *w);
void lin_walk_relations(walker *w);
/* The root's generics bound as for another number of processes, in scratch memory. */
const lin_env *lin_walk_root_env(walker *w, int64_t processes);
/* `dim` of `env` as a number; otherwise ends the walk: `what` ("the length of an array") needs one.
 */
int64_t lin_walk_number(walker *w, const lin_env *env, lin_expr dim, lin_span span,
                        const char *what);

/* ---- trace_bindings.c ---- */

typedef struct path_bindings path_bindings;
/* NULL without a bindings file. Paths come concrete and as the manifest writes them. */
path_bindings *lin_walk_read_bindings(walker *w);
bool lin_walk_is_bound(const path_bindings *b, const char *path, const char *pattern);
bool lin_walk_is_bound_under(const path_bindings *b, const char *path, const char *pattern);
void lin_walk_note_bound(walker *w, path_bindings *b, const char *path, const char *pattern,
                         uint32_t object);
void lin_walk_tie(walker *w, path_bindings *b);

/* ---- storage.c ---- */

typedef struct stored_weights stored_weights;
/* NULL when every parameter is stored as it is declared. */
stored_weights *lin_walk_read_storage(walker *w);
/* The format of its row, or NULL. */
const char *lin_walk_stored_format(const stored_weights *s, const char *path, const char *pattern);
/* The bytes of the parameter at that path, of what the source says; else of its type. */
lin_expr lin_walk_stored_bytes(walker *w, const stored_weights *s, const char *path,
                               const char *pattern, const tensor_info *info);

/* ---- persistent.c ---- */

void lin_walk_persistent(walker *w);

/* ---- degree.c ---- */

/* Refuses a number of processes that the model cannot be split over. After binding. */
void lin_walk_check_degree(walker *w);
/* Fills the graph's split_entry. */
void lin_walk_find_split_entry(walker *w);

/* ---- split.c ---- */

/* Splits the finished graph of a model that is not written for several processes. */
void lin_walk_split(walker *w);
/* Leaves this process its part of every mixture's experts (experts.c). */
void lin_walk_split_experts(walker *w);

/* ---- walk.c ---- */

void lin_walk_entry(walker *w);
void lin_walk_region(walker *w, frame *f, const lin_region *region);
/* Operations that make values without steps: constants, structure, members. False for others. */
bool lin_walk_structure(walker *w, frame *f, const lin_op *op);
void lin_walk_spend(walker *w, const lin_op *op);

static inline tvalue tvalue_scalar(void)
{
    return (tvalue){ .kind = TVALUE_SCALAR, .object = LIN_NO_OBJECT };
}
static inline tvalue tvalue_tensor(uint32_t object)
{
    return (tvalue){ .kind = TVALUE_TENSOR, .object = object };
}
static inline const lin_type *type_of_value(const frame *f, lin_value value)
{
    return f->function->value_types[value];
}
static inline bool is_tensor_type(const lin_type *type)
{
    return type->kind == LIN_TYPE_TENSOR;
}

/* ---- walk_flow.c ---- */

void lin_walk_flow(walker *w, frame *f, const lin_op *op);
/* The arm that a match takes, with its argument set; NULL after lin_walk_unsupported. */
const lin_region *lin_walk_arm(walker *w, frame *f, const lin_op *op);
/* The region's arguments from `first` on set to these values; the others are unknown scalars. */
void lin_walk_set_args(frame *f, const lin_region *region, uint32_t first, const tvalue *values,
                       uint32_t count);

/* ---- walk_step.c ---- */

const tensor_info *lin_walk_type_info(walker *w, const lin_env *env, const lin_type *type,
                                      lin_span span);
const tensor_info *lin_walk_info(walker *w, frame *f, lin_value value, lin_span span);
/* Begins a step; the following calls say what it reads and makes. */
void lin_walk_begin(walker *w);
void lin_walk_read(walker *w, const tvalue *value); /* tensors in tuples count too */
void lin_walk_read_inside(walker *w, uint32_t object);
/* A result with storage of its own, or one that shares `source`'s. */
tvalue lin_walk_fresh(walker *w, const tensor_info *info, const char *name);
tvalue lin_walk_shared(walker *w, const tensor_info *info, const char *name, const tvalue *source);
/* Ends it; the step's other fields are the caller's to fill. */
lin_step *lin_walk_end(walker *w, const char *kind, const char *label, lin_expr arithmetic,
                       lin_span span);
/* Of a native call: its operands by number, repeated ones too. */
void lin_walk_note_operands(walker *w, lin_step *step);
const uint32_t *lin_walk_copy_ids(walker *w, const uint32_t *ids, uint32_t count);
uint32_t lin_walk_object(walker *w, lin_object object);
void *lin_walk_site(const walker *w, const frame *f, const lin_op *op);
void lin_walk_note_site(walker *w, const frame *f, const lin_op *op, void *record);

/* ---- walk_layout.c, walk_index.c ---- */

void lin_walk_elementwise(walker *w, frame *f, const lin_op *op);
void lin_walk_layout(walker *w, frame *f, const lin_op *op);
void lin_walk_data(walker *w, frame *f, const lin_op *op);
/* The operand that an operation leaves as it is under these numerics, or LIN_NO_VALUE. */
lin_value lin_walk_kept_operand(walker *w, frame *f, const lin_op *op);
void lin_walk_indexed(walker *w, frame *f, const lin_op *op);

/* ---- walk_frame.c, walk_call.c ---- */

frame *lin_walk_new_frame(walker *w, const lin_function *function, const lin_env *env);
/* The callee's frame with its arguments and receiver set. */
frame *lin_walk_enter(walker *w, frame *f, const lin_op *op);
void lin_walk_call(walker *w, frame *f, const lin_op *op);
void lin_walk_semantic_call(walker *w, frame *f, const lin_op *op);
void lin_walk_state_write(walker *w, frame *f, const lin_op *op);
/* Puts states back to what they were when the journal had `length` changes. */
void lin_walk_undo_states(walker *w, uint32_t length);

/* ---- arithmetic.c ---- */

/* Operations of one element of a comprehension or reduction's region, or of its whole body for a
 * callee; sets the region's values on the way and notes what it reads. */
typedef struct count_mode {
    bool per_element; /* index notation: scalar operations count */
    uint32_t calls;   /* calls around */
} count_mode;
lin_expr lin_walk_count_region(walker *w, frame *f, const lin_region *region, count_mode mode);
/* Product of the extents the operation's indices run over. */
lin_expr lin_walk_domain(walker *w, const frame *f, const lin_op *op);
/* Of an op's canonical body, once a frame. */
lin_expr lin_walk_body_arithmetic(walker *w, frame *callee);

#endif
