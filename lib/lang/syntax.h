/* SPDX-License-Identifier: MIT */
#ifndef LIN_SYNTAX_H
#define LIN_SYNTAX_H

/*
 * The syntax tree: what the parser makes of one file. It keeps every span, knows no meaning and
 * lives in an arena that is dropped when the program is checked. Spans are half-open byte ranges.
 */

#include "lang/ops.h"

typedef struct ast_expr ast_expr;
typedef struct ast_type ast_type;
typedef struct ast_stmt ast_stmt;
typedef struct ast_item ast_item;

typedef struct ast_ident {
    lin_name name; /* 0 after a syntax error */
    lin_span span;
} ast_ident;

typedef struct ast_stmts {
    ast_stmt *const *items;
    uint32_t count;
    lin_span end; /* of the closing brace */
} ast_stmts;

/* ---- types ---- */

/* `type-or-dim`: a type when it parses as one (a bare name always does: what it names decides),
 * else a dimension. */
typedef struct ast_type_arg {
    lin_span span;
    ast_type *type; /* one of the two is NULL */
    ast_expr *dim;  /* an arithmetic expression, or a shape literal */
} ast_type_arg;

typedef struct ast_type_args {
    const ast_type_arg *items;
    uint32_t count;
    lin_span span; /* from < to > */
    bool written;  /* false: no <…> at all */
} ast_type_args;

typedef struct ast_path {
    const ast_ident *parts;
    uint32_t count;
    lin_span span;
} ast_path;

typedef struct ast_axis {
    bool is_pack;
    ast_ident pack;
    ast_expr *dim;
    lin_span span;
} ast_axis;

typedef enum ast_type_kind {
    AST_TYPE_NAMED,
    AST_TYPE_TENSOR,
    AST_TYPE_TUPLE,
    AST_TYPE_ARRAY
} ast_type_kind;

struct ast_type {
    ast_type_kind kind;
    lin_span span;
    bool optional;        /* followed by ? */
    ast_path path;        /* NAMED; TENSOR: the element type's name */
    ast_type_args args;   /* NAMED */
    const ast_axis *axes; /* TENSOR */
    uint32_t axis_count;
    ast_type *element;      /* TENSOR: element type; ARRAY: element */
    ast_type *const *parts; /* TUPLE */
    uint32_t part_count;
    ast_expr *length; /* ARRAY */
};

/* ---- expressions ---- */

typedef enum ast_binary_op {
    AST_OR,
    AST_AND,
    AST_EQ,
    AST_NE,
    AST_LT,
    AST_LE,
    AST_GT,
    AST_GE,
    AST_BITOR,
    AST_BITXOR,
    AST_BITAND,
    AST_ADD,
    AST_SUB,
    AST_MUL,
    AST_DIV,
    AST_REM
} ast_binary_op;

typedef enum ast_unary_op { AST_NOT, AST_NEG, AST_PLUS } ast_unary_op;

typedef enum ast_pattern_kind {
    AST_PATTERN_NAME,
    AST_PATTERN_TUPLE,
    AST_PATTERN_SOME,
    AST_PATTERN_NONE
} ast_pattern_kind;
typedef struct ast_pattern ast_pattern;
struct ast_pattern {
    ast_pattern_kind kind;
    lin_span span;
    ast_ident name;            /* NAME; "_" is a name too */
    ast_pattern *const *parts; /* TUPLE; SOME has one */
    uint32_t part_count;
};

typedef struct ast_arm {
    ast_pattern *pattern; /* NAME (a variant or a catch-all), SOME or NONE */
    ast_expr *value;
} ast_arm;

typedef struct ast_arg {
    ast_ident keyword; /* name 0: positional */
    ast_expr *value;
} ast_arg;

typedef enum ast_index_kind {
    AST_INDEX_ELLIPSIS,
    AST_INDEX_PACK,
    AST_INDEX_EXPR,
    AST_INDEX_SLICE
} ast_index_kind;
typedef struct ast_component {
    ast_index_kind kind;
    lin_span span;
    ast_ident pack;                /* PACK */
    ast_expr *expr;                /* EXPR */
    ast_expr *start, *stop, *step; /* SLICE; NULL when absent */
} ast_component;

/* `*name` or `name` in a list of indices. */
typedef struct ast_index_name {
    bool is_pack;
    ast_ident ident;
} ast_index_name;

typedef struct ast_for {
    ast_ident index;
    ast_expr *start, *stop;
    ast_stmts body;
} ast_for;

typedef enum ast_expr_kind {
    AST_ERROR, /* already reported */
    AST_INT,
    AST_FLOAT,
    AST_STRING,
    AST_TRUE,
    AST_FALSE,
    AST_NONE,
    AST_NAME,
    AST_SOME,
    AST_TUPLE,
    AST_SHAPE,
    AST_PAREN,
    AST_CALL,
    AST_INDEX,
    AST_MEMBER,
    AST_UNARY,
    AST_BINARY,
    AST_IF,
    AST_MATCH,
    AST_REDUCE,
    AST_FOR
} ast_expr_kind;

struct ast_expr {
    ast_expr_kind kind;
    lin_span span;
    union {
        struct {
            bool too_large;
            int64_t value;
        } integer; /* too_large: past int64 (E2105 when checked) */
        double number;
        ast_ident name;  /* NAME */
        ast_expr *inner; /* SOME, PAREN */
        struct {
            ast_expr *const *items;
            uint32_t count;
        } list; /* TUPLE, SHAPE */
        struct {
            ast_expr *callee;
            ast_type_args type_args;
            const ast_arg *args;
            uint32_t arg_count;
            lin_span open;
        } call; /* open: the "(" */
        struct {
            ast_expr *base;
            const ast_component *components;
            uint32_t count;
        } index;
        struct {
            ast_expr *base;
            ast_ident member;
        } member;
        struct {
            ast_unary_op op;
            ast_expr *operand;
        } unary;
        struct {
            ast_binary_op op;
            lin_span op_span;
            ast_expr *left, *right;
        } binary;
        struct {
            ast_expr *condition, *then_value, *else_value;
        } branch; /* IF */
        struct {
            ast_expr *value;
            const ast_arm *arms;
            uint32_t count;
        } match;
        struct {
            lin_reduction reduction;
            ast_type *accumulator;
            const ast_ident *indices;
            uint32_t count;
            ast_expr *body;
        } reduce;
        ast_for *loop; /* FOR: only as a whole value */
    } as;
};

/* ---- statements ---- */

typedef enum ast_stmt_kind {
    AST_LET_INDEX, /* let name[i, *s] = e */
    AST_LET,
    AST_VAR,
    AST_ASSIGN,
    AST_RETURN,
    AST_STATIC_FOR,
    AST_WHILE,
    AST_FOR_STMT,
    AST_YIELD,
    AST_STORE
} ast_stmt_kind;

struct ast_stmt {
    ast_stmt_kind kind;
    lin_span span;
    ast_ident name;                /* LET_INDEX, VAR, ASSIGN; STORE: which of the three */
    ast_pattern *pattern;          /* LET, STATIC_FOR */
    const ast_index_name *indices; /* LET_INDEX */
    uint32_t index_count;
    ast_type *type;     /* LET, VAR: NULL when absent */
    ast_expr *value;    /* the value; WHILE: the condition; STATIC_FOR: the array, or the range's
                           start; RETURN: may be NULL */
    ast_expr *stop;     /* STATIC_FOR over a range */
    ast_stmts body;     /* STATIC_FOR, WHILE */
    ast_for *loop;      /* FOR_STMT */
    ast_expr *extra[3]; /* STORE */
};

/* ---- items ---- */

typedef enum ast_generic_kind {
    AST_DIM,
    AST_SHAPE_KIND,
    AST_DTYPE,
    AST_NUMERIC,
    AST_INTEGER,
    AST_FLOAT_KIND
} ast_generic_kind;
typedef struct ast_generic {
    bool starred;
    ast_ident ident;
    ast_generic_kind kind;
    lin_span kind_span;
    bool has_default;
    ast_type_arg default_arg;
} ast_generic;

typedef struct ast_generics {
    const ast_generic *items;
    uint32_t count;
} ast_generics;

typedef struct ast_where {
    ast_expr *const
        *items; /* as parsed; anything that is no comparison is reported by the checker (E1101) */
    uint32_t count;
} ast_where;

typedef struct ast_param {
    ast_ident ident;
    ast_type *type;
    ast_expr *default_value; /* NULL when absent */
} ast_param;

typedef struct ast_member {
    lin_member_kind kind;
    ast_ident ident;
    ast_type *type;
    ast_expr *default_value; /* param and sub */
} ast_member;

typedef struct ast_grad {
    bool present;
    lin_span span;
    ast_ident y, dy;
    ast_stmts body;
} ast_grad;

typedef enum ast_item_kind {
    AST_CONST,
    AST_ALIAS,
    AST_STRUCT,
    AST_ENUM,
    AST_FUNCTION,
    AST_KERNEL,
    AST_BLOCK
} ast_item_kind;

struct ast_item {
    ast_item_kind kind;
    lin_span span;
    bool is_public;
    ast_ident ident;
    ast_generics generics;
    ast_type *type;          /* CONST: annotation or NULL; ALIAS; FUNCTION: result or NULL */
    ast_expr *value;         /* CONST */
    const ast_param *params; /* FUNCTION; STRUCT: fields, without defaults */
    uint32_t param_count;
    const ast_ident *variants; /* ENUM */
    uint32_t variant_count;
    lin_function_kind function_kind;
    ast_where where; /* FUNCTION, BLOCK */
    ast_stmts body;  /* FUNCTION */
    ast_grad grad;   /* FUNCTION */
    bool has_kernel_use;
    ast_ident kernel;          /* FUNCTION: the kernel named after an op's type */
    const ast_member *members; /* BLOCK, in order */
    uint32_t member_count;
    ast_item *const *items; /* BLOCK: methods and other nested items */
    uint32_t item_count;
};

typedef struct ast_import {
    ast_ident item, alias; /* alias.name == item.name without "as" */
} ast_import;

typedef struct ast_use {
    lin_span span;
    bool from_crate;  /* the path begins with `crate` (then parts[0] is that word) */
    bool is_reserved; /* use self… / super…: already reported E1103 */
    ast_path path;
    bool whole_module; /* no "::": binds the module under its last part */
    const ast_import *imports;
    uint32_t import_count;
} ast_use;

typedef struct ast_file {
    ast_path module; /* count 0 when the declaration is missing (reported E1102) */
    const ast_use *uses;
    uint32_t use_count;
    ast_item *const *items;
    uint32_t item_count;
} ast_file;

/*
 * Parses one file into `arena` (with a jump target set); names go into `names`. Findings go to
 * `diagnostics`; a tree is always returned, with AST_ERROR nodes where the text was wrong.
 */
ast_file *lin_parse(lin_arena *arena, lin_names *names, const lin_source_file *file,
                    lin_diagnostics *diagnostics);

/* The tree printed back as source, in one canonical layout: parse, print, parse, print gives equal
 * prints. For tests. */
void lin_syntax_print(lin_text *out, const lin_names *names, const ast_file *file);

#endif
