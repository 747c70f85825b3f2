/* SPDX-License-Identifier: MIT */
#ifndef LIN_CHECK_H
#define LIN_CHECK_H

/*
 * Inside the checker. Two halves share this page:
 *
 *   modules.c, declare.c, resolve.c, typing.c   modules, imports, declarations, names, types of
 * declarations, generics, substitution and unification (what is known before any body is looked at)
 *   body.c, call.c, indexing.c, flow.c          statements and expressions of function bodies:
 * types and operations
 *
 * Order of work in lin_lang_check: load and parse all modules reached; collect declarations;
 * resolve imports; resolve types of declarations (aliases, structs, blocks' members, signatures,
 * where clauses); check bodies, writing operations; find recursion; simplify; report unused names
 * when there are no errors.
 */

#include "lang/lang.h"
#include "lang/solver.h"
#include "lang/syntax.h"

typedef enum lin_decl_kind {
    LIN_DECL_CONST,
    LIN_DECL_ALIAS,
    LIN_DECL_STRUCT,
    LIN_DECL_ENUM,
    LIN_DECL_FUNCTION,
    LIN_DECL_KERNEL,
    LIN_DECL_BLOCK,
    LIN_DECL_MODULE /* a module bound by `use a.b` */
} lin_decl_kind;

typedef enum lin_decl_state { LIN_DECL_NEW, LIN_DECL_RUNNING, LIN_DECL_DONE } lin_decl_state;

typedef struct checker checker;
typedef struct module_scope module_scope;
typedef struct decl decl;

/* A name visible in a module or block. */
typedef struct binding {
    lin_name name;
    decl *decl;
    lin_span span; /* where it was brought into scope */
    bool is_import;
    bool used; /* for W1001, W1002 */
} binding;
/* Bindings in the order they were made, found by name through `slots` (open addressing, an item's
 * number + 1). */
typedef struct binding_list {
    binding *items;
    uint32_t count, capacity;
    uint32_t *slots, slot_count;
} binding_list;
binding *lin_binding_find(const binding_list *list, lin_name name); /* NULL: not there */
/* Adds `b` unless its name is there: the older binding is returned then, else NULL. */
binding *lin_binding_add(lin_arena *arena, binding_list *list, binding b);

/* An item of a module, or an item nested in a block. */
struct decl {
    lin_decl_kind kind;
    lin_name name;
    lin_span span; /* of the name */
    bool is_public;
    const ast_item *item;
    module_scope *home;   /* the module that declares it */
    decl *owner;          /* the block it is nested in, or NULL */
    lin_decl_state state; /* RUNNING while being resolved: meeting it again is E2122 */
    /* what it resolved to; types hang off these */
    lin_block *block;
    lin_function *function;
    lin_struct *structure;
    lin_enum *enumeration;
    struct { /* ALIAS */
        lin_generics generics;
        const lin_type *type;
    } alias;
    struct {                  /* CONST */
        const lin_type *type; /* DIM for a compile-time integer, SCALAR or ENUM else */
    } constant;
    module_scope *target; /* MODULE */
    binding_list inner;   /* BLOCK: its methods and nested items */
};

struct module_scope {
    lin_module *module;
    const ast_file *file;
    binding_list names;     /* items and imports */
    module_scope **targets; /* one for each of file->uses; NULL where loading failed */
};

/* What a name of a function is where a dimension is wanted. */
typedef enum local_kind {
    LOCAL_NONE,   /* no local or parameter of that name */
    LOCAL_DIM,    /* a compile-time integer: *out_dim */
    LOCAL_RUNTIME /* anything else: E2123 */
} local_kind;

/* The names and facts in force where a type or an expression stands. `generics` are looked up
 * innermost first: the function's, then its block's. */
typedef struct scope {
    module_scope *module;
    decl *block; /* the block around, or NULL: its members, methods, nested items and generics */
    const lin_generics *function_generics; /* may be NULL */
    const lin_generics *block_generics;    /* may be NULL */
    /* Locals and parameters, which come before everything else where a dimension is written (a type
     * annotation or a generic argument in a body). NULL: there are none. */
    local_kind (*local)(const void *user, lin_name name, lin_expr *out_dim);
    const void *local_user;
} scope;

struct checker {
    lin_arena *arena;   /* the program's; has a jump target while checking */
    lin_arena *scratch; /* dropped at the end; same jump target */
    lin_program *program;
    lin_diagnostics *diagnostics;
    const lin_loader *loader;
    const lin_lang_limits *limits;
    linnet_error *load_error; /* filled when the loader stopped */
    linnet_status load_status;
    LIN_LIST(module_scope *) modules;
    LIN_LIST(lin_source_file *) sources;
    /* Every function and method, in order of declaration, for the body pass: functions.items[i]
     * declares the function whose index is i. */
    LIN_LIST(decl *) functions;
    LIN_LIST(decl *) decls; /* all of them, also those whose name was taken */
    lin_solver *solver; /* facts of the declaration being checked; the owner of a pass clears and
                           fills it */
    uint32_t next_function;
    uint32_t depth;                        /* of declarations being resolved inside each other */
    LIN_LIST(lin_solver *) solvers;        /* one for each depth */
    LIN_LIST(const lin_generic *) symbols; /* the generic a symbol of program->dims stands for */
    LIN_LIST(lin_name) prelude;            /* names that may not be declared */
};

/* ---- resolve.c, declare.c ---- */

/* Loads, parses and declares the file and all it imports. False when the loader stopped
 * (load_status, load_error). */
bool lin_load_modules(checker *c, const lin_lang_file *file);
/* Resolves every declaration: signatures, members, where clauses, constants' types. Bodies stay
 * unlooked at. */
void lin_resolve_declarations(checker *c);

/* Steps of the two. */
void lin_collect_module(checker *c, module_scope *m);  /* items: E1204, E1205, E1207 */
void lin_resolve_imports(checker *c, module_scope *m); /* E1201, E1203, E1204, E1207 */
void lin_fill_prelude(checker *c);
void lin_resolve_constant(checker *c, decl *d);
bool lin_variant_of(const lin_enum *enumeration, lin_name name, uint32_t *out_variant);

/* The scope inside a declaration: its generics, its block's, its module. */
scope lin_scope_of(const decl *d);
/* The declaration of a function, with its syntax (parameters' defaults, body). */
static inline const decl *decl_of_function(const checker *c, const lin_function *function)
{
    return c->functions.items[function->index];
}

/* Reports at a span of any source. A code W… is a warning; warnings are dropped when there are
 * errors. */
lin_diagnostic *lin_report(checker *c, lin_span span, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void lin_note(checker *c, lin_diagnostic *d, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lin_help(checker *c, lin_diagnostic *d, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *lin_text_of(const checker *c, lin_name name);
/* A type as text, in scratch memory. */
const char *lin_type_text(checker *c, const lin_type *type);
const char *lin_dim_text(checker *c, lin_expr dim);

/* A module's or block's item of that name, marking it used; NULL when there is none. Reports
 * nothing. */
decl *lin_find_item(checker *c, const scope *s, lin_name name);
/* An item of another module, for `module.item`: E1201 when it lacks the name, E1203 when it is
 * private. */
decl *lin_find_in_module(checker *c, module_scope *target, const scope *from, ast_ident ident);
/* The generic of that name in force, or NULL. */
const lin_generic *lin_find_generic(const scope *s, lin_name name);
/* E1201 at `ident`, with the nearest of the names in scope. */
void lin_report_undeclared(checker *c, const scope *s, ast_ident ident);
/* Resolves a declaration now when that is still to be done (E2122 when it is running already). */
void lin_resolve_decl(checker *c, decl *d);
/* The same; E2122 is reported at `use`. */
void lin_resolve_decl_at(checker *c, decl *d, lin_span use);
bool lin_is_prelude_name(const checker *c, lin_name name);
/* E1207 for a prelude name, also in body declarations; returns false then. */
bool lin_check_declarable(checker *c, ast_ident ident);

/* A written type of a value (a block is none: E1208). Never NULL: the error type after a report. */
const lin_type *lin_resolve_type(checker *c, const scope *s, const ast_type *type);
/* A written dimension (literals, Dim generics, unannotated integer constants, + - * / %, min, max):
 * LIN_EXPR_INVALID after a report (E2123 when it is no compile-time integer, E2205, E2208, E1201).
 * Uses c->solver for divisors. */
lin_expr lin_resolve_dim(checker *c, const scope *s, const ast_expr *e);
/* The value of an unannotated integer constant; E2123 at `use` for any other. */
lin_expr lin_constant_dim(checker *c, decl *constant, lin_span use);
/* Pieces of it: a bare name; without the test of the sign; `+ - * / %` of two values written at `e`
 * (E2205, E2123 on overflow); the report for something that is no compile-time integer. */
lin_expr lin_dim_of_name(checker *c, const scope *s, ast_ident ident);
lin_expr lin_raw_dim(checker *c, const scope *s, const ast_expr *e);
lin_expr lin_dim_arithmetic(checker *c, const ast_expr *e, ast_binary_op op, lin_expr left,
                            lin_expr right);
lin_expr lin_dim_not_constant(checker *c, lin_span span);
/* `a` or `a.b` to an item; NULL after E1201, E1203, E1208. */
decl *lin_find_path(checker *c, const scope *s, const ast_path *path);
/* A written type, blocks and arrays of them included. */
const lin_type *lin_resolve_any_type(checker *c, const scope *s, const ast_type *type);
/* One argument for `generic`. */
lin_generic_arg lin_resolve_type_arg(checker *c, const scope *s, const lin_generic *generic,
                                     const ast_type_arg *written);
/* Written generic arguments against a declaration's list: fills out[0..count) for the written
 * prefix and says how many; wrong kind or too many is E2111, a dtype outside its class E2112. A
 * bare name resolves by what it names. After a report `out` holds something harmless (dimensions:
 * LIN_EXPR_INVALID); c->diagnostics->error_count tells. */
uint32_t lin_resolve_type_args(checker *c, const scope *s, const lin_generics *generics,
                               const ast_type_args *args, lin_generic_arg *out);
/* Where clauses as constraints; facts of earlier ones are assumed while the later are resolved.
 * Leaves them in c->solver. */
lin_constraints lin_resolve_where(checker *c, const scope *s, const ast_where *where);
/* Clears the solver and assumes the constraints of a function and of its block. */
void lin_assume_constraints(checker *c, const lin_block *block, const lin_function *function);

/* ---- typing.c ---- */

extern const lin_type lin_error_type, lin_unit_type, lin_none_type, lin_string_type;
const lin_type *lin_scalar_type(checker *c, lin_dtype_term dtype);
const lin_type *lin_tensor_type(checker *c, const lin_axis *axes, uint32_t count,
                                lin_dtype_term dtype); /* rank 0: a scalar */
const lin_type *lin_optional_type(checker *c, const lin_type *inner);
const lin_type *lin_tuple_type(checker *c, const lin_type *const *parts, uint32_t count);
const lin_type *lin_dim_type(checker *c, lin_expr value);
const lin_type *lin_float_type(checker *c, bool known, double value);
lin_axis lin_axis_of_dim(lin_expr dim);

/* The class a dtype surely has: a generic's bound or a concrete dtype's class. */
bool lin_dtype_is_numeric(const checker *c, lin_dtype_term dtype);
bool lin_dtype_is_integer(const checker *c, lin_dtype_term dtype);
bool lin_dtype_is_float(const checker *c, lin_dtype_term dtype);
bool lin_dtype_satisfies(const checker *c, lin_dtype_term dtype, lin_dtype_bound bound);
const char *lin_dtype_text(const checker *c, lin_dtype_term dtype);

/* Provably one type (dimensions by the solver). */
bool lin_types_equal(checker *c, const lin_type *a, const lin_type *b);
/* False after E1101 at `span`: `type` has more parts than a type may (they double with each tuple
 * of tuples). To be asked wherever a body makes a tuple. */
bool lin_check_type_size(checker *c, lin_span span, const lin_type *type);
/* The product of the axes. */
lin_expr lin_element_count(checker *c, const lin_axis *axes, uint32_t count);

/* `type` with generics replaced. `set` tells which generics are bound: NULL, all. Chains: pass the
 * block's substitution and the function's together. */
typedef struct subst {
    const lin_generics *generics;
    lin_generic_arg *items;
    bool *bound;              /* NULL: all bound */
    const struct subst *next; /* another list of generics, replaced in the same pass */
} subst;
const lin_type *lin_substitute_type(checker *c, const subst *s, const lin_type *type);
lin_expr lin_substitute_dim(checker *c, const subst *s, lin_expr dim); /* unbound generics stay */
lin_dtype_term lin_substitute_dtype(const subst *s, lin_dtype_term dtype);
/* Axes with packs spliced in; generic arguments; how many of them a nominal type has. */
const lin_axis *lin_substitute_axes(checker *c, const subst *s, const lin_axis *axes,
                                    uint32_t count, uint32_t *out_count);
const lin_generic_arg *lin_substitute_args(checker *c, const subst *s, const lin_generic_arg *args,
                                           uint32_t count);
uint32_t lin_generic_count(const lin_type *type);
/* The members' types of a block value or a struct value in terms of the place that holds it. */
const lin_type *lin_member_type(checker *c, const lin_type *block_value, const lin_member *member);

/*
 * Inference at a call (language.md 7.3). `call` collects; lin_unify_arg reports nothing and says
 * what went wrong, so that the caller can word the error at the argument.
 */
typedef enum unify_result {
    UNIFY_OK,
    UNIFY_DTYPE /* E2103 */,
    UNIFY_SHAPE /* E2202 */,
    UNIFY_TYPE /* E2101 */
} unify_result;
typedef struct deferred_dim {
    lin_expr parameter, argument;
    lin_span span;
} deferred_dim;
typedef struct inference {
    subst own; /* the callee's generics, being bound: explicit arguments go to own.items[0..n) with
                  own.bound[i] = true before the first unify_arg. own.next is &outer */
    subst outer; /* the receiver block's, all bound; generics NULL when there is none */
    LIN_LIST(deferred_dim) deferred;
} inference; /* stays where lin_inference_begin filled it */
/* `receiver`: a block value, or NULL (also for a method of the running block itself). */
void lin_inference_begin(checker *c, inference *call, const lin_generics *generics,
                         const lin_type *receiver);
/* A literal (DIM, FLOAT) for a scalar parameter is UNIFY_OK: coercing it to the substituted
 * parameter type afterwards is the caller's. */
unify_result lin_unify_arg(checker *c, inference *call, const lin_type *parameter,
                           const lin_type *argument, lin_span span);
/* Defaults, E2110, deferred dimensions (E2202), dtype classes (E2112), where clauses (E2206). False
 * after a report. */
bool lin_inference_finish(checker *c, inference *call, const lin_constraints *constraints,
                          lin_span call_span, const char *callee_name);

/* Every `where` of `constraints` under `s` proven, else E2206 at `span`. */
bool lin_prove_constraints(checker *c, const subst *s, const lin_constraints *constraints,
                           lin_span span, const char *what);

/* E2112 at `span` when `dtype` is outside the class of `generic`. */
bool lin_check_dtype_class(checker *c, const lin_generic *generic, lin_dtype_term dtype,
                           lin_span span);

/* ---- callgraph.c ---- */

/* E2119 at every call that closes a circle; then, when there is none, `writes_state` of every
 * function. */
void lin_check_calls(checker *c);
/* Whether warnings are for this module: the file's own package. */
bool lin_is_own_module(const checker *c, const lin_module *module);
/* W1001 and W1003 (bodies report W1002, in modules of one's own). */
void lin_report_unused(checker *c);

/* ---- body.c ---- */

/* Checks every function's body and fills in its operations. */
void lin_check_bodies(checker *c);

/* ---- simplify.c ---- */

/* The simplifications of language.md 16, to a fixed point, on one function whose callees'
 * `writes_state` is final. (Those that only some numerics allow, such as x * 1, are the tracer's.)
 */
void lin_simplify_function(lin_arena *arena, lin_arena *scratch, lin_program *program,
                           lin_function *function);

#endif
