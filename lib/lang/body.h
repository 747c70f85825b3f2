/* SPDX-License-Identifier: MIT */
#ifndef LIN_BODY_H
#define LIN_BODY_H

/*
 * Inside the body pass. Types and operations are made in one walk: each expression gives an
 * operand, which is a value of the function or something that has no value yet (a literal, a tuple
 * of literals) and gets one when its context says which type it takes.
 *
 *   body.c           every function, constant and default once; the function's region
 *   statement.c      let, var, assignment, return; patterns and locals
 *   flow.c, loop.c   if and match; static for, while, for and what they carry
 *   expression.c     what an expression is, by kind of node
 *   lookup.c         names, members, constants
 *   literal.c        literals, coercion, what an operand without a value becomes
 *   operator.c       unary and binary operators, broadcasting
 *   call.c           functions, methods, ops, struct values; prelude.c, shaping.c the prelude
 *   indexing.c, access.c, comprehension.c   slices and elements; index notation
 *   emit.c           writing operations and regions
 */

#include "lang/check.h"

typedef struct body body;

/* A float literal whose number is not known because a symbolic dimension takes part: what to
 * compute once its dtype is. */
typedef struct literal literal;
struct literal {
    lin_op_kind kind; /* CONST_DIM, CONST_FLOAT, or the arithmetic */
    lin_expr dim;
    double number;
    const literal *left, *right; /* right: NULL for one operand */
};

/*
 * What an expression gave. With `value` LIN_NO_VALUE it is a literal (types DIM, FLOAT, NONE,
 * SHAPE), a tuple or `some` of operands that still hold literals (`parts`), nothing (UNIT), or an
 * error.
 */
typedef struct operand operand;
struct operand {
    const lin_type *type;
    lin_value value;
    lin_span span;
    const operand *parts; /* as many as type->part_count */
    const literal *literal;
};

typedef enum bind_kind { BIND_PARAM, BIND_LET, BIND_VAR } bind_kind;
typedef struct local {
    lin_name name;
    lin_span span;
    bind_kind kind;
    operand value; /* the current one */
    bool used;
    uint32_t hidden; /* the number + 1 of the local of that name it hides, or 0 */
} local;

/* A variable of index notation; its domain is what it first indexes. */
typedef struct index_variable {
    ast_ident ident;
    bool is_pack;
    bool bound;
    lin_value value;
    const lin_axis *axes;
    uint32_t axis_count;
} index_variable;

/* Operations being written; regions nest. */
typedef struct region_builder region_builder;
struct region_builder {
    LIN_LIST(lin_op *) ops;
    lin_value first_arg;
    uint32_t arg_count;
    region_builder *outer;
};

/* Where names are looked up: the function itself, or a constant or default written elsewhere whose
 * expression is lowered here. `translate` turns its generics into this function's terms. */
typedef struct frame frame;
struct frame {
    scope scope;
    const subst *translate; /* NULL: they are the same */
    uint32_t first_local, first_index;
    const ast_expr *origin; /* what is lowered; guards against going round */
    frame *outer;
};

/* What the bodies of a program share. */
typedef struct bodies {
    const ast_expr **faulty; /* constants and defaults already reported: a hash set by address */
    uint32_t faulty_count, faulty_slots;
    uint32_t inlined; /* constants and defaults lowered so far, in all functions */
    uint32_t *newest; /* by name: the number + 1 of its newest local, or 0 */
    uint32_t newest_count;
} bodies;

struct body {
    checker *c;
    bodies *all;
    lin_function *function;           /* NULL while a constant is checked alone */
    const lin_type *result;           /* what `return` gives; NULL: anything */
    LIN_LIST(const lin_type *) types; /* by value */
    region_builder *region;
    frame *frame;
    LIN_LIST(local) locals;
    LIN_LIST(index_variable *) indices;
    uint32_t inlined; /* constants and defaults lowered so far */
    uint32_t depth;   /* of expressions being evaluated */
    bool discarded;   /* operations are thrown away: unused locals are not told */
};

/* Constants and defaults one function may lower: each may use others twice, so their number can
 * grow exponentially with the text. */
enum { BODY_INLINE_LIMIT = 16384, BODY_INLINE_TOTAL = 1 << 20 };
/* Of expressions inside each other, through constants and defaults too: one expression has at most
 * 256. */
enum { BODY_DEPTH_LIMIT = 768 };

/* ---- emit.c ---- */

lin_op *lin_body_emit(body *b, lin_op_kind kind, lin_span span, const lin_value *operands,
                      uint32_t operand_count);
/* Gives `op` one more result. */
lin_value lin_body_add_result(body *b, lin_op *op, const lin_type *type);
operand lin_body_operand(const lin_type *type, lin_value value, lin_span span);
operand lin_body_error(lin_span span);
static inline bool lin_body_is_error(operand o)
{
    return o.type->kind == LIN_TYPE_ERROR;
}
/* One operation with one result. */
operand lin_body_emit_one(body *b, lin_op_kind kind, lin_span span, const operand *operands,
                          uint32_t count, const lin_type *result, lin_op **out_op);
/* A region's arguments are made right after it is opened. */
region_builder *lin_body_region_open(body *b);
lin_value lin_body_region_arg(body *b, const lin_type *type);
void lin_body_region_leave(body *b);
void lin_body_region_resume(body *b,
                            region_builder *region); /* of one that was left, in its place */
lin_region lin_body_region_done(body *b, const region_builder *region, const lin_value *results,
                                uint32_t count);

lin_diagnostic *lin_body_report(body *b, lin_span span, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
uint32_t lin_body_error_count(const body *b);

/* ---- literal.c ---- */

bool lin_body_is_literal(const lin_type *type); /* DIM or FLOAT */
operand lin_body_dim(body *b, lin_expr value, lin_span span);
operand lin_body_float(body *b, double number, lin_span span);
/* `literal` as a scalar of `dtype`: E2104 when the class does not take it, E2105 out of range. */
operand lin_body_adopt(body *b, operand o, lin_dtype_term dtype);
/* To a type of a declaration or a context. A mismatch is E2101, E2103 or E2202, or `code` when it
 * is not NULL. */
operand lin_body_coerce(body *b, operand o, const lin_type *want, const char *code);
/* Without a context: integers i64, floats f64; `none`, strings and shapes are errors. Symbolic
 * integers stay as they are when `keep_dims`. */
operand lin_body_settle(body *b, operand o, bool keep_dims);
/* The type two branches take together, or NULL; literals stay literals beside literals. */
const lin_type *lin_body_join(body *b, const lin_type *left, const lin_type *right);
/* A type without literals: they become what `hint` (may be NULL) says, else i64 and f64. */
const lin_type *lin_body_concrete(body *b, const lin_type *type, const lin_type *hint);
operand lin_body_literal_of(body *b, lin_op_kind kind, operand left, const operand *right,
                            lin_span span);
void lin_body_mismatch(body *b, lin_span span, const char *code, const lin_type *want,
                       const lin_type *have);

/* ---- lookup.c ---- */

local *lin_body_find_local(const body *b, lin_name name);
index_variable *lin_body_find_index(body *b, lin_name name);
const lin_member *lin_body_find_member(const lin_block *block, lin_name name);
/* The declaration a name or a dotted path stands for, when no local, generic or member hides it;
 * NULL: it is a value, or unknown. *out_reported: nothing more to say. */
decl *lin_body_path_decl(body *b, const ast_expr *e, bool *out_reported);
bool lin_body_is_declared(body *b, lin_name name);
operand lin_body_name(body *b, ast_ident ident);
operand lin_body_member(body *b, const ast_expr *e);
/* Types and generic arguments written here, in this function's terms. */
const lin_type *lin_body_type(body *b, const ast_type *type);
uint32_t lin_body_type_args(body *b, const lin_generics *generics, const ast_type_args *args,
                            lin_generic_arg *out);
/* Lowers an expression written elsewhere. */
operand lin_body_inline(body *b, const scope *where, const subst *translate, const ast_expr *e,
                        const lin_type *want, lin_span use);
/* Uses of `e` stay silent from now on. */
void lin_body_add_faulty(checker *c, bodies *all, const ast_expr *e);
/* A frame for what stands in `where`; the locals seen so far are hidden. */
frame lin_body_frame(const body *b, const scope *where, const subst *translate);

/* ---- expression.c ---- */

/* `hint`: the type the context wants, or NULL; only literals without another context look at it. */
operand lin_body_eval(body *b, const ast_expr *e, const lin_type *hint);
/* A value loop is allowed here (language.md 14.5). */
operand lin_body_eval_whole(body *b, const ast_expr *e, const lin_type *hint);
/* A compile-time integer: E2123 otherwise. LIN_EXPR_INVALID after a report. */
lin_expr lin_body_eval_dim(body *b, const ast_expr *e);

/* ---- operator.c ---- */

typedef enum operand_class {
    CLASS_ANY,
    CLASS_NUMERIC,
    CLASS_INTEGER,
    CLASS_FLOAT,
    CLASS_BITS /* Integer or bool */
} operand_class;

operand lin_body_unary(body *b, const ast_expr *e);
operand lin_body_binary(body *b, const ast_expr *e);
/* Operands of one dtype, literals following the typed ones (or `hint`). E2103, E2104. */
bool lin_body_same_dtype(body *b, lin_span span, const char *what, operand *operands,
                         uint32_t count, operand_class class, const lin_type *hint);
/* The broadcast of the operands' shapes (E2207) with an element type. NULL after a report. */
const lin_type *lin_body_broadcast(body *b, lin_span span, const operand *operands, uint32_t count,
                                   lin_dtype_term dtype);
operand lin_body_dim_arithmetic(body *b, lin_op_kind kind, operand left, operand right,
                                lin_span span);
bool lin_body_axes_equal(body *b, lin_axis x, lin_axis y);

/* ---- call.c, prelude.c ---- */

operand lin_body_call(body *b, const ast_expr *e, const lin_type *hint);
bool lin_body_prelude_find(const char *name);
operand lin_body_prelude(body *b, const ast_expr *e, ast_ident name, const lin_type *hint);

/* One call of the prelude, its arguments evaluated. */
typedef struct prelude_call {
    const ast_expr *e;
    const char *name;
    lin_op_kind kind;
    operand *args;
    uint32_t count;
    const ast_expr *axis; /* the keyword `axis`, or NULL */
    bool has_dtype;
    lin_dtype_term dtype;
    const lin_type *hint;
} prelude_call;

/* shaping.c: those that move or make data */
operand lin_body_make_reshape(body *b, prelude_call *call);
operand lin_body_make_broadcast(body *b, prelude_call *call);
operand lin_body_make_permute(body *b, prelude_call *call);
operand lin_body_make_concat(body *b, prelude_call *call);
operand lin_body_make_cumsum(body *b, prelude_call *call);
operand lin_body_make_iota(body *b, prelude_call *call);
operand lin_body_make_fill(body *b, prelude_call *call);

/* ---- indexing.c, access.c, comprehension.c ---- */

operand lin_body_index(body *b, const ast_expr *e);
/* Index notation: every axis named. */
operand lin_body_access(body *b, const ast_expr *e, operand base);
/* Binds a variable to the axes it indexes, or proves that they are its domain (E2201). */
bool lin_body_bind_index(body *b, index_variable *v, const lin_axis *axes, uint32_t count,
                         lin_span span);
bool lin_body_in_notation(const body *b);
/* The position of one axis: a compile-time integer in range or an integer scalar. */
bool lin_body_position(body *b, const ast_expr *e, const lin_axis *axis, operand *out);
void lin_body_let_index(body *b, const ast_stmt *s);
operand lin_body_reduce(body *b, const ast_expr *e, const lin_type *hint);

/* ---- statement.c, flow.c, loop.c ---- */

typedef enum block_end { END_FUNCTION, END_LOOP, END_YIELD } block_end;

/* The statements of a body in a scope of their own. The value given back by `return` or `yield`
 * goes to *out (END_LOOP: unused); its type is UNIT without one. */
void lin_body_statements(body *b, const ast_stmts *stmts, block_end end, lin_span whole,
                         operand *out);
void lin_body_declare(body *b, bind_kind kind, ast_ident ident, operand value);
/* Binds a pattern that always fits; E2117 otherwise. */
void lin_body_bind_pattern(body *b, const ast_pattern *p, operand value);
uint32_t lin_body_scope_open(const body *b);
void lin_body_scope_close(body *b, uint32_t mark);
operand lin_body_if(body *b, const ast_expr *e, const lin_type *hint);
operand lin_body_match(body *b, const ast_expr *e, const lin_type *hint);
void lin_body_static_for(body *b, const ast_stmt *s);
void lin_body_while(body *b, const ast_stmt *s);
operand lin_body_for(body *b, const ast_for *loop, lin_span span, bool as_value);

#endif
