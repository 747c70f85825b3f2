/* SPDX-License-Identifier: MIT */
#ifndef LIN_TYPES_H
#define LIN_TYPES_H

/* Types and declarations of a checked program. Everything lives in the program's arena and is
 * immutable once checked. Dimensions are expressions of the program's table, whose symbols are the
 * generics of declarations. */

#include "base/base.h"
#include "lang/diagnostics.h"

typedef struct lin_type lin_type;
typedef struct lin_block lin_block;
typedef struct lin_function lin_function;
typedef struct lin_struct lin_struct;
typedef struct lin_enum lin_enum;
typedef struct lin_module lin_module;
typedef struct lin_program lin_program;

/* A concrete dtype (a lin_dtype), or a dtype generic's symbol + LIN_DTYPE_COUNT. */
typedef uint32_t lin_dtype_term;
static inline bool lin_dtype_is_concrete(lin_dtype_term term)
{
    return term < LIN_DTYPE_COUNT;
}
static inline lin_dtype_term lin_dtype_of_symbol(lin_symbol symbol)
{
    return symbol + LIN_DTYPE_COUNT;
}
static inline lin_symbol lin_dtype_symbol(lin_dtype_term term)
{
    return term - LIN_DTYPE_COUNT;
}

/* One axis of a tensor type: a dimension, or a shape pack standing for a run of axes. */
typedef struct lin_axis {
    bool is_pack;
    lin_symbol pack; /* of a pack: the Shape generic's symbol, which also is the symbol of its
                        element count */
    lin_expr dim;    /* of a dimension; of a pack its element count */
} lin_axis;

typedef enum lin_generic_kind {
    LIN_GENERIC_DIM,
    LIN_GENERIC_SHAPE,
    LIN_GENERIC_DTYPE
} lin_generic_kind;
typedef enum lin_dtype_bound {
    LIN_BOUND_DTYPE,
    LIN_BOUND_NUMERIC,
    LIN_BOUND_INTEGER,
    LIN_BOUND_FLOAT
} lin_dtype_bound;

/* What a generic is given: by a type's arguments, a call, a default. */
typedef struct lin_generic_arg {
    lin_generic_kind kind;
    lin_expr dim;         /* DIM */
    const lin_axis *axes; /* SHAPE */
    uint32_t axis_count;
    lin_dtype_term dtype; /* DTYPE */
} lin_generic_arg;

typedef struct lin_generic {
    lin_name name;
    lin_span span; /* of the name */
    lin_generic_kind kind;
    lin_dtype_bound bound; /* of a dtype generic */
    lin_symbol symbol; /* unique in the program; for SHAPE the symbol of the pack's element count */
    bool has_default;
    lin_generic_arg default_arg; /* may mention earlier generics of the same list */
} lin_generic;

typedef struct lin_generics {
    const lin_generic *items;
    uint32_t count;
} lin_generics;

/* Generics and what each stands for, in terms of the place that made it. items[i] belongs to
 * generics->items[i]. */
typedef struct lin_substitution {
    const lin_generics *generics;
    const lin_generic_arg *items;
} lin_substitution;

typedef enum lin_type_kind {
    LIN_TYPE_ERROR, /* silences follow-on errors */
    LIN_TYPE_UNIT,
    LIN_TYPE_SCALAR,
    LIN_TYPE_TENSOR,
    LIN_TYPE_OPTIONAL,
    LIN_TYPE_TUPLE,
    LIN_TYPE_ARRAY, /* of blocks */
    LIN_TYPE_BLOCK,
    LIN_TYPE_STRUCT,
    LIN_TYPE_ENUM,
    LIN_TYPE_DIM,   /* a compile-time integer with a known polynomial; adopts any numeric dtype */
    LIN_TYPE_FLOAT, /* a float literal without a dtype yet */
    LIN_TYPE_NONE,  /* the literal `none` */
    LIN_TYPE_SHAPE, /* a bracketed list */
    LIN_TYPE_STRING
} lin_type_kind;

struct lin_type {
    lin_type_kind kind;
    lin_dtype_term dtype; /* SCALAR, TENSOR */
    const lin_axis *axes; /* TENSOR, SHAPE */
    uint32_t axis_count;
    const lin_type *const
        *parts; /* TUPLE; OPTIONAL and ARRAY have one; STRUCT: its fields' types, substituted */
    uint32_t part_count;
    lin_expr dim;    /* ARRAY: length; DIM: the value */
    bool has_number; /* FLOAT: `number` is known */
    double number;
    const lin_block *block;      /* BLOCK */
    const lin_struct *structure; /* STRUCT */
    const lin_enum *enumeration; /* ENUM */
    const lin_generic_arg *args; /* BLOCK, STRUCT, ENUM: one for each generic of the declaration */
};

/* ---- declarations ---- */

typedef enum lin_comparison { LIN_EQ, LIN_NE, LIN_LT, LIN_LE, LIN_GT, LIN_GE } lin_comparison;

/* One comparison of a `where` clause. */
typedef struct lin_constraint {
    lin_comparison comparison;
    lin_expr left, right;
    lin_span span;
} lin_constraint;

typedef struct lin_constraints {
    const lin_constraint *items;
    uint32_t count;
} lin_constraints;

typedef enum lin_member_kind {
    LIN_MEMBER_PARAM,
    LIN_MEMBER_BUFFER,
    LIN_MEMBER_STATE,
    LIN_MEMBER_SUB
} lin_member_kind;

typedef struct lin_member {
    lin_name name;
    lin_span span; /* of the name */
    lin_member_kind kind;
    const lin_type *type; /* as declared: OPTIONAL when optional */
    bool optional;
    uint32_t index; /* in its block */
} lin_member;

struct lin_block {
    lin_name name;
    lin_span span;
    const lin_module *module;
    bool is_public;
    lin_generics generics;
    lin_constraints constraints;
    const lin_member *members; /* in declaration order */
    uint32_t member_count;
    lin_function *const *methods;
    uint32_t method_count;
};

typedef struct lin_field {
    lin_name name;
    const lin_type *type;
} lin_field;

struct lin_struct {
    lin_name name;
    const lin_module *module;
    lin_generics generics;
    const lin_field *fields;
    uint32_t field_count;
};

struct lin_enum {
    lin_name name;
    const lin_module *module;
    lin_generics generics;
    const lin_name *variants;
    uint32_t variant_count;
};

typedef enum lin_function_kind {
    LIN_FUNCTION_FN,
    LIN_FUNCTION_OP,
    LIN_FUNCTION_ENTRY
} lin_function_kind;

typedef struct lin_param {
    lin_name name;
    lin_span span;
    const lin_type *type;
    bool has_default;
} lin_param;

struct lin_module {
    const char *path;    /* "std.nn.linear", as declared */
    const char *package; /* as its loader named it */
    const lin_source_file *source;
    uint32_t index;
    lin_block *const *blocks; /* in declaration order */
    uint32_t block_count;
    lin_function *const *functions; /* module-level ones, in declaration order */
    uint32_t function_count;
};

struct lin_program {
    lin_arena arena;
    lin_names *names;
    lin_expr_table *dims;
    const lin_source_file *const *sources;
    uint32_t source_count;
    lin_module *const *modules; /* the file itself is modules[0] */
    uint32_t module_count;
};

#endif
