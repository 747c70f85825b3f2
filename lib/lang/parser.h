/* SPDX-License-Identifier: MIT */
#ifndef LIN_PARSER_H
#define LIN_PARSER_H

/*
 * Inside the parser: what parse_item.c, parse_stmt.c, parse_expr.c and parse_type.c share, and the
 * cursor (parse_cursor.c) they read tokens through.
 *
 * A syntax error stops the cursor: from then on the current token is TOKEN_STOPPED, which fits
 * nowhere, so every function on the C stack falls through to its end. The statement or item that
 * was being read then recovers: it skips, and the cursor runs again.
 *
 * Speculation asks "would this parse?" and builds nothing: nodes come from one dummy, lists stay
 * empty, errors only stop. It always ends by going back, so memory is that of the tree alone.
 */

#include "lang/lexer.h"
#include "lang/syntax.h"

enum { LIN_NESTING_LIMIT = 256 };

/* What is known of a `<` after a name, from an earlier speculation. */
typedef struct type_args_memo {
    uint32_t offset;     /* of the `<` */
    uint32_t generation; /* of the table; an older one marks a free slot */
    uint32_t end;        /* offset after the `>`; 0: no type arguments stand here */
    token_kind next;     /* the token there */
    bool is_accumulator; /* one argument, and it is a type */
    bool too_deep;       /* what stands here passes the limit of nesting */
} type_args_memo;

typedef struct parser {
    lexer lex;
    lin_arena *arena;
    lin_names *names;
    const lin_source_file *file;
    lin_diagnostics *diagnostics;

    token now, next;     /* the window */
    token_kind stopped;  /* the kind of `now` while that is TOKEN_STOPPED */
    uint32_t end;        /* of the last token that was consumed */
    uint32_t braces;     /* { that are open */
    uint32_t nest;       /* ( and [ that are open */
    uint32_t last_error; /* offset + 1 of the token of the last syntax error */

    uint32_t depth;   /* recursive constructs around the cursor */
    uint32_t deepest; /* of the tree being built, as depth from its root */

    uint32_t speculating;
    bool too_deep; /* a speculation came to the limit of nesting */
    uint64_t speculated_bytes, speculation_limit;
    type_args_memo *memo; /* open addressing, a power of two */
    uint32_t memo_count, memo_capacity, memo_generation;
    uint32_t memo_last; /* the largest offset in it */
    void *dummy;        /* the one node of all speculations */

    /* Items of lists being read, in order of nesting; copied to the arena when a list ends. */
    unsigned char *stack;
    uint64_t stack_used, stack_capacity;

    lin_name tensor, grad, grid, warps, stages;
    lin_name stores[3];     /* store, atomic_add, atomic_max */
    lin_name reductions[6]; /* by lin_reduction */
    lin_name kinds[6];      /* by ast_generic_kind */
} parser;

/* ---- parse_cursor.c ---- */

static inline bool lin_at(const parser *p, token_kind kind)
{
    return p->now.kind == kind;
}

/* A name, also one that is a reserved word (which costs an E1004 when it is taken). */
static inline bool lin_at_name(const parser *p)
{
    return p->now.kind == TOKEN_NAME || p->now.kind == TOKEN_RESERVED;
}

static inline bool lin_at_word(const parser *p, lin_name word)
{
    return p->now.kind == TOKEN_NAME && p->now.name == word;
}

static inline bool lin_is_stopped(const parser *p)
{
    return p->now.kind == TOKEN_STOPPED;
}

static inline lin_span lin_span_at(const parser *p, uint32_t start, uint32_t end)
{
    return (lin_span){ p->file->index, start, end };
}

/* From `start` to the last consumed token. */
static inline lin_span lin_span_from(const parser *p, uint32_t start)
{
    return lin_span_at(p, start, p->end > start ? p->end : start);
}

static inline lin_span lin_span_now(const parser *p)
{
    return lin_span_at(p, p->now.start, p->now.end);
}

void lin_parser_init(parser *p, lin_arena *arena, lin_names *names, const lin_source_file *file,
                     lin_diagnostics *diagnostics);
void lin_advance(parser *p);
/* Takes the token when it is of that kind. */
bool lin_accept(parser *p, token_kind kind);
/* Takes the token, or reports E1101 and stops. */
bool lin_expect(parser *p, token_kind kind);
/* A name, with E1004 for a reserved word; E1101 and name 0 for anything else. `what` is "a member's
 * name". */
ast_ident lin_expect_name(parser *p, const char *what);

/* Reports at the current token, unless one was reported there, and goes on. NULL when it was not
 * recorded. */
lin_diagnostic *lin_complain(parser *p, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* E1101 "expected `what`, found …", and stops. */
lin_diagnostic *lin_unexpected(parser *p, const char *what);
void lin_stop(parser *p);
/* Starts the cursor again where it stopped. */
void lin_resume(parser *p);

/* One more recursive construct; false, after E1101, past the limit. Both calls always pair. */
bool lin_enter(parser *p);
void lin_leave(parser *p);
/* A chain's next link puts all read so far one level deeper. */
bool lin_deepen(parser *p);

/* A new node: zeroed, or the dummy while speculating. */
void *lin_node(parser *p, uint64_t size);

/* lists: mark = lin_list_begin; lin_list_add …; items = lin_list_end(mark, &count). */
uint64_t lin_list_begin(const parser *p);
void lin_list_add(parser *p, const void *item, uint64_t size);
const void *lin_list_end(parser *p, uint64_t mark, uint64_t size, uint32_t *out_count);

/* Where a speculation goes back to. */
typedef struct cursor_mark {
    token now, next;
    token_kind stopped;
    uint32_t position, end, braces, nest, depth, deepest;
} cursor_mark;
cursor_mark lin_speculate(parser *p);
void lin_go_back(parser *p, const cursor_mark *mark);
/* Jumps over type arguments that a speculation has read. */
void lin_jump(parser *p, const type_args_memo *memo);
const type_args_memo *lin_memo_find(const parser *p, uint32_t offset); /* NULL: not there */
void lin_memo_add(parser *p, type_args_memo memo);
/* Empties the memos when all of them lie before `offset` and are of no more use. */
void lin_memo_forget(parser *p, uint32_t offset);

/* ---- the grammar ---- */

/* type; never NULL (after an error a named type whose one name is 0) */
ast_type *lin_parse_type(parser *p);
/* type-args: at the "<" */
ast_type_args lin_parse_type_args(parser *p);
ast_path lin_parse_path(parser *p, const char *what);
ast_generics lin_parse_generics(parser *p);

/* expr, also when a loop may stand there; never NULL */
ast_expr *lin_parse_expr(parser *p);
ast_expr *lin_parse_value(parser *p);
/* binary from level 8 up */
ast_expr *lin_parse_arithmetic(parser *p);
ast_expr *lin_error_expr(parser *p);
ast_expr *lin_new_expr(parser *p, ast_expr_kind kind);
/* An expression inside another one: a level deeper. */
ast_expr *lin_parse_inner(parser *p);
ast_expr *lin_parse_primary(parser *p);
/* At the `<` after a name: whether type arguments and a `(` follow. */
bool lin_is_generic_call(parser *p);
/* `sum[` or `sum<T>[` of one of the six names; says which. */
bool lin_is_reduction(parser *p, lin_reduction *out);
bool lin_starts_expr(token_kind kind);

ast_pattern *lin_parse_pattern(parser *p);
ast_stmts lin_parse_body(parser *p);
/* "for" NAME "in" expr ".." expr body */
ast_for *lin_parse_for(parser *p);

/* A word that begins an item or a member, and what follows it is a word: `state` where a name was
 * expected is no item. */
bool lin_at_item(const parser *p);

#endif
