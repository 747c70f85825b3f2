/* SPDX-License-Identifier: MIT */
#ifndef LIN_OPS_H
#define LIN_OPS_H

/*
 * Functions as operations on single-assignment values: what the body checker writes, the simplifier
 * reduces and the tracer walks. One operation a source operation, in evaluation order (language.md
 * 16). Values are numbers within their function; a value's type is in terms of the function's (and
 * its block's) generics.
 *
 * Operand lists of calls are in parameter order; the operations that make the operands stand in the
 * order they were written.
 */

#include "lang/types.h"

typedef uint32_t lin_value;
#define LIN_NO_VALUE UINT32_MAX

/*         id             spelling         class          */
#define LIN_OPS(X)                            \
    X(CONST_INT, "const.int", CONSTANT)       \
    X(CONST_FLOAT, "const.float", CONSTANT)   \
    X(CONST_BOOL, "const.bool", CONSTANT)     \
    X(CONST_DIM, "const.dim", CONSTANT)       \
    X(ENUM_CONST, "enum.const", CONSTANT)     \
    X(ADD, "add", ELEMENTWISE)                \
    X(SUB, "sub", ELEMENTWISE)                \
    X(MUL, "mul", ELEMENTWISE)                \
    X(DIV, "div", ELEMENTWISE)                \
    X(REM, "rem", ELEMENTWISE)                \
    X(COMPARE, "compare", ELEMENTWISE)        \
    X(AND, "and", ELEMENTWISE)                \
    X(OR, "or", ELEMENTWISE)                  \
    X(NOT, "not", ELEMENTWISE)                \
    X(BITAND, "bitand", ELEMENTWISE)          \
    X(BITOR, "bitor", ELEMENTWISE)            \
    X(BITXOR, "bitxor", ELEMENTWISE)          \
    X(SHL, "shl", ELEMENTWISE)                \
    X(SHR, "shr", ELEMENTWISE)                \
    X(NEG, "neg", ELEMENTWISE)                \
    X(ABS, "abs", ELEMENTWISE)                \
    X(EXP, "exp", ELEMENTWISE)                \
    X(LOG, "log", ELEMENTWISE)                \
    X(SQRT, "sqrt", ELEMENTWISE)              \
    X(RSQRT, "rsqrt", ELEMENTWISE)            \
    X(SIN, "sin", ELEMENTWISE)                \
    X(COS, "cos", ELEMENTWISE)                \
    X(TANH, "tanh", ELEMENTWISE)              \
    X(MIN, "min", ELEMENTWISE)                \
    X(MAX, "max", ELEMENTWISE)                \
    X(SELECT, "select", ELEMENTWISE)          \
    X(CAST, "cast", ELEMENTWISE)              \
    X(RESHAPE, "reshape", LAYOUT)             \
    X(PERMUTE, "permute", LAYOUT)             \
    X(BROADCAST, "broadcast", LAYOUT)         \
    X(SLICE, "slice", LAYOUT)                 \
    X(CONCAT, "concat", DATA)                 \
    X(FILL, "fill", DATA)                     \
    X(IOTA, "iota", DATA)                     \
    X(CUMSUM, "cumsum", DATA)                 \
    X(ELEMENT, "element", DATA)               \
    X(COMPREHENSION, "comprehension", REGION) \
    X(REDUCE, "reduce", REGION)               \
    X(TUPLE_MAKE, "tuple.make", STRUCTURE)    \
    X(TUPLE_GET, "tuple.get", STRUCTURE)      \
    X(OPTION_SOME, "option.some", STRUCTURE)  \
    X(OPTION_NONE, "option.none", STRUCTURE)  \
    X(OPTION_MATCH, "option.match", REGION)   \
    X(ENUM_MATCH, "enum.match", REGION)       \
    X(IF, "if", REGION)                       \
    X(CALL, "call", CALL)                     \
    X(SEMANTIC_CALL, "semantic.call", CALL)   \
    X(BLOCK_PARAM, "block.param", MEMBER)     \
    X(BLOCK_SUB, "block.sub", MEMBER)         \
    X(ARRAY_GET, "array.get", MEMBER)         \
    X(STATE_READ, "state.read", MEMBER)       \
    X(STATE_WRITE, "state.write", MEMBER)     \
    X(STATIC_FOR, "static_for", REGION)       \
    X(STATIC_RANGE, "static_range", REGION)   \
    X(WHILE, "while", REGION)                 \
    X(FOR, "for", REGION)

typedef enum lin_op_kind {
#define X(id, spelling, class) LIN_OP_##id,
    LIN_OPS(X)
#undef X
        LIN_OP_COUNT
} lin_op_kind;

typedef enum lin_op_class {
    LIN_OPCLASS_CONSTANT,
    LIN_OPCLASS_ELEMENTWISE,
    LIN_OPCLASS_LAYOUT,
    LIN_OPCLASS_DATA,
    LIN_OPCLASS_REGION,
    LIN_OPCLASS_STRUCTURE,
    LIN_OPCLASS_CALL,
    LIN_OPCLASS_MEMBER
} lin_op_class;

const char *lin_op_name(lin_op_kind kind);
lin_op_class lin_op_class_of(lin_op_kind kind);

typedef struct lin_op lin_op;

/*
 * A list of operations with arguments and results of its own. Regions see the values of the regions
 * around them. `args` are the values the enclosing operation binds (below, per kind); `results` are
 * what the region gives back (its return or yield).
 */
typedef struct lin_region {
    lin_value first_arg; /* arguments are consecutive values */
    uint32_t arg_count;
    lin_op **ops;
    uint32_t op_count;
    const lin_value *results;
    uint32_t result_count;
} lin_region;

/* An index variable of index notation. Its region argument is an i64 scalar; of a pack it stands
 * for the whole run of axes (it occurs only as a position of `element`). */
typedef struct lin_index {
    bool is_pack;
    lin_axis axis;        /* the extent; for a pack bound to several axes see `axes` */
    const lin_axis *axes; /* of a pack: the axes it runs over */
    uint32_t axis_count;
} lin_index;

/* One axis of a slice's operand. A shape pack in the operand's type is one entry, kept whole. */
typedef struct lin_slice_axis {
    bool dropped;         /* indexed away */
    bool whole;           /* start 0, step 1, stop the extent */
    lin_expr start, stop; /* compile-time; of a dropped axis the position is `start` */
    int64_t step;
} lin_slice_axis;

typedef enum lin_reduction { LIN_SUM, LIN_PROD, LIN_MAX, LIN_MIN, LIN_ANY, LIN_ALL } lin_reduction;

/* One arm of option.match or enum.match. Its region's arguments: `some` has the inner value; a
 * catch-all with a name has the whole value; others none. */
typedef enum lin_arm_kind { LIN_ARM_SOME, LIN_ARM_NONE, LIN_ARM_VARIANT, LIN_ARM_ANY } lin_arm_kind;
typedef struct lin_arm {
    lin_arm_kind kind;
    uint32_t variant; /* of LIN_ARM_VARIANT */
    lin_region region;
} lin_arm;

struct lin_op {
    lin_op_kind kind;
    lin_span span;
    const lin_value *operands;
    uint32_t operand_count;
    lin_value first_result; /* results are consecutive values */
    uint32_t result_count;

    /* What the kind needs beyond operands and result types; nothing else is set.
     *   RESHAPE, BROADCAST, FILL, IOTA, CAST: the result type says all.
     *   FILL: operand 0 is the value. CUMSUM: `axis`. CONCAT: `axis` (>= 0 from the front, < 0 from
     * the back). */
    union {
        int64_t integer;           /* CONST_INT; CONST_BOOL 0 or 1; TUPLE_GET: which part */
        double number;             /* CONST_FLOAT */
        lin_expr dim;              /* CONST_DIM; ARRAY_GET: the index */
        int64_t axis;              /* CONCAT, CUMSUM */
        lin_comparison comparison; /* COMPARE */
        struct {
            const lin_enum *enumeration;
            uint32_t variant;
        } enum_const;
        struct {
            const uint32_t *axes; /* result axis i is operand axis axes[i] */
            uint32_t count;
        } permute;
        struct {
            const lin_slice_axis *axes; /* one for each axis (or pack) of the operand's type */
            uint32_t count;
        } slice;
        /* ELEMENT: operand 0 is the base, operands 1… the positions, one for each axis of the
         * base's type, except that a position that is a pack index covers `pack_axes` axes of it.
         * Outside index notation (a runtime position): the other axes are kept; `kept[i]` says for
         * each axis of the base's type whether it is kept, positions are listed for the others. */
        struct {
            const bool *kept; /* NULL inside index notation */
        } element;
        struct {
            const lin_index *indices; /* the region's arguments, in order */
            uint32_t count;
            lin_reduction reduction; /* REDUCE */
            lin_region
                region; /* one result: a scalar (or a tensor for a slice inside index notation) */
        } indexed;      /* COMPREHENSION, REDUCE */
        struct {
            const lin_arm *arms;
            uint32_t count;
        } match; /* OPTION_MATCH, ENUM_MATCH: operand 0 is what is matched */
        struct {
            lin_region then_region, else_region;
        } branch; /* IF: operand 0 is the condition */
        struct {
            const lin_function *callee;
            lin_substitution substitution; /* of the callee's own generics */
            bool has_receiver;             /* operand 0 is a block value; the arguments follow */
            bool on_self; /* a method of the running function's own block, on the same instance */
        } call;
        const lin_member
            *member; /* BLOCK_PARAM, BLOCK_SUB, STATE_READ, STATE_WRITE: operand 0 is the block when
                        read from outside (BLOCK_PARAM, BLOCK_SUB); otherwise the running block's
                        own. STATE_WRITE: operand 0 is the value */
        /* STATIC_FOR: operand 0 is the block array, the carried initial values follow; region args:
         * element, carried…. STATIC_RANGE, FOR: operands are the carried initial values; region
         * args: i64 index, carried…; results: carried…. FOR as a value: the region's results are
         * carried… then the yields, the operation's results carried… then the stacked yields.
         * WHILE: `condition` has args carried… and one result; the body args carried…. Results of
         * the operation: the carried values after the loop. */
        struct {
            lin_expr start, stop; /* STATIC_RANGE, FOR */
            lin_region condition; /* WHILE */
            lin_region body;
            uint32_t yield_count; /* FOR */
        } loop;
    } as;
};

struct lin_function {
    lin_name name;
    lin_span span;         /* of the name */
    const char *qualified; /* "std.nn.linear::linear"; a method: "module::Block.method" */
    const lin_module *module;
    const lin_block *block; /* NULL at module level */
    lin_function_kind kind;
    bool is_public;
    lin_generics generics;
    lin_constraints constraints;
    const lin_param *params;
    uint32_t param_count;
    const lin_type *result;             /* UNIT when there is none */
    lin_region body;                    /* args are the parameters, one result (none for UNIT) */
    const lin_type *const *value_types; /* by value */
    uint32_t value_count;
    bool writes_state; /* itself or through calls */
    bool has_grad;
    uint32_t index; /* unique in the program */
};

/* The type of a value of `function`. */
static inline const lin_type *lin_value_type(const lin_function *function, lin_value value)
{
    return function->value_types[value];
}

/* The regions an operation holds, in the order they are walked: of arms, of both branches, of a
 * condition and a body. */
uint32_t lin_op_region_count(const lin_op *op);
lin_region *lin_op_region(const lin_op *op, uint32_t index);

/* The operations of a function as text, for tests and debugging: one a line, regions indented. */
void lin_function_print(lin_text *out, const lin_program *program, const lin_function *function);

#endif
