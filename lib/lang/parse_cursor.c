/* SPDX-License-Identifier: MIT */

/*
 * The parser's cursor: a window of two tokens, errors and recovery, the depth limit, lists, and
 * speculation with what it learned. Everything here is constant time a token, but for growing.
 */

#include "lang/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bytes that may be read in speculation: this many times the text, and a little for small files.
 * Ordinary programs use less than one; the limit keeps hostile ones linear (what is past it is no
 * generic call). */
enum { SPECULATION_FACTOR = 4, SPECULATION_MINIMUM = 1 << 16 };

/* No node that an expression or a type is made of is larger. */
enum { DUMMY_BYTES = 256 };
_Static_assert(sizeof(ast_type) <= DUMMY_BYTES && sizeof(ast_expr) <= DUMMY_BYTES &&
                   sizeof(ast_pattern) <= DUMMY_BYTES,
               "the dummy stands in for every node");

static lin_name add_word(lin_names *names, const char *word)
{
    return lin_names_add(names, word, strlen(word));
}

static void add_words(lin_names *names, const char *const *words, uint32_t count, lin_name *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = add_word(names, words[i]);
}

static void intern_contextual_words(parser *p)
{
    static const char *const stores[] = { "store", "atomic_add", "atomic_max" };
    static const char *const reductions[] = {
        [LIN_SUM] = "sum", [LIN_PROD] = "prod", [LIN_MAX] = "max",
        [LIN_MIN] = "min", [LIN_ANY] = "any",   [LIN_ALL] = "all",
    };
    static const char *const kinds[] = {
        [AST_DIM] = "Dim",         [AST_SHAPE_KIND] = "Shape", [AST_DTYPE] = "DType",
        [AST_NUMERIC] = "Numeric", [AST_INTEGER] = "Integer",  [AST_FLOAT_KIND] = "Float",
    };
    p->tensor = add_word(p->names, "Tensor");
    p->grad = add_word(p->names, "grad");
    p->grid = add_word(p->names, "grid");
    p->warps = add_word(p->names, "warps");
    p->stages = add_word(p->names, "stages");
    add_words(p->names, stores, ARRAY_LEN(stores), p->stores);
    add_words(p->names, reductions, ARRAY_LEN(reductions), p->reductions);
    add_words(p->names, kinds, ARRAY_LEN(kinds), p->kinds);
}

void lin_parser_init(parser *p, lin_arena *arena, lin_names *names, const lin_source_file *file,
                     lin_diagnostics *diagnostics)
{
    *p = (parser){ .arena = arena, .names = names, .file = file, .diagnostics = diagnostics };
    p->speculation_limit = (uint64_t)file->length * SPECULATION_FACTOR + SPECULATION_MINIMUM;
    p->dummy = lin_arena_alloc(arena, DUMMY_BYTES);
    intern_contextual_words(p);
    lin_lexer_init(&p->lex, file, names, diagnostics);
    p->now = lin_lexer_next(&p->lex);
    p->next = lin_lexer_next(&p->lex);
}

/* ---- tokens ---- */

static void count_bracket(parser *p, token_kind kind)
{
    if (kind == TOKEN_OPEN_BRACE)
        p->braces++;
    else if (kind == TOKEN_CLOSE_BRACE)
        p->braces -= p->braces > 0;
    else if (kind == TOKEN_OPEN_PAREN || kind == TOKEN_OPEN_BRACKET)
        p->nest++;
    else if (kind == TOKEN_CLOSE_PAREN || kind == TOKEN_CLOSE_BRACKET)
        p->nest -= p->nest > 0;
}

void lin_advance(parser *p)
{
    if (lin_is_stopped(p))
        return;
    if (p->speculating > 0) {
        p->speculated_bytes += p->next.start - p->now.start;
        if (p->speculated_bytes > p->speculation_limit) {
            lin_stop(p);
            return;
        }
    }
    count_bracket(p, p->now.kind);
    p->end = p->now.end;
    p->now = p->next;
    if (p->next.kind != TOKEN_END)
        p->next = lin_lexer_next(&p->lex);
}

bool lin_accept(parser *p, token_kind kind)
{
    if (p->now.kind != kind)
        return false;
    lin_advance(p);
    return true;
}

bool lin_expect(parser *p, token_kind kind)
{
    if (lin_accept(p, kind))
        return true;
    lin_unexpected(p, lin_token_title(kind));
    return false;
}

ast_ident lin_expect_name(parser *p, const char *what)
{
    ast_ident ident = { .span = lin_span_now(p) };
    if (!lin_at_name(p)) {
        lin_unexpected(p, what);
        return ident;
    }
    if (lin_at(p, TOKEN_RESERVED))
        lin_complain(p, "E1004", "`%s` is a reserved word and cannot be a name",
                     lin_names_text(p->names, p->now.name));
    ident.name = p->now.name;
    lin_advance(p);
    return ident;
}

/* ---- errors ---- */

lin_diagnostic *lin_complain(parser *p, const char *code, const char *format, ...)
{
    lin_span span = lin_span_now(p);
    if (p->speculating > 0 || p->last_error == span.start + 1)
        return NULL;
    p->last_error = span.start + 1;
    char message[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return lin_diagnose(p->diagnostics, p->file, span, code, "%s", message);
}

/* The longest word of the source that a message quotes. */
enum { QUOTED_BYTES = 40 };

lin_diagnostic *lin_unexpected(parser *p, const char *what)
{
    lin_diagnostic *d = NULL;
    if (!lin_is_stopped(p)) {
        const token *t = &p->now;
        uint32_t length = t->end - t->start;
        if (t->kind == TOKEN_END)
            d = lin_complain(p, "E1101", "expected %s, found the end of the file", what);
        else if (t->kind == TOKEN_STRING)
            d = lin_complain(p, "E1101", "expected %s, found a string", what);
        else
            d = lin_complain(p, "E1101", "expected %s, found `%.*s%s`", what,
                             (int)(length > QUOTED_BYTES ? QUOTED_BYTES : length),
                             p->file->text + t->start, length > QUOTED_BYTES ? "..." : "");
    }
    lin_stop(p);
    return d;
}

void lin_stop(parser *p)
{
    if (lin_is_stopped(p))
        return;
    p->stopped = p->now.kind;
    p->now.kind = TOKEN_STOPPED;
}

void lin_resume(parser *p)
{
    if (lin_is_stopped(p))
        p->now.kind = p->stopped;
}

/* ---- depth ---- */

static bool check_depth(parser *p)
{
    if (p->deepest <= LIN_NESTING_LIMIT)
        return true;
    p->too_deep = true;
    if (!lin_is_stopped(p)) {
        lin_diagnostic *d = lin_complain(p, "E1101", "too deeply nested");
        lin_diagnostic_note(p->diagnostics, d,
                            "at most %d constructs, operators and suffixes may stand within one "
                            "another",
                            (int)LIN_NESTING_LIMIT);
        lin_stop(p);
    }
    return false;
}

bool lin_enter(parser *p)
{
    p->depth++;
    if (p->deepest < p->depth)
        p->deepest = p->depth;
    return check_depth(p);
}

void lin_leave(parser *p)
{
    p->depth--;
}

bool lin_deepen(parser *p)
{
    p->deepest++;
    return check_depth(p);
}

/* ---- nodes and lists ---- */

void *lin_node(parser *p, uint64_t size)
{
    return p->speculating > 0 ? p->dummy : lin_arena_alloc(p->arena, size);
}

uint64_t lin_list_begin(const parser *p)
{
    return p->stack_used;
}

static void grow_stack(parser *p, uint64_t size)
{
    uint64_t capacity = p->stack_capacity == 0 ? 4096 : p->stack_capacity;
    while (capacity < p->stack_used + size)
        capacity *= 2;
    unsigned char *stack = lin_arena_array(p->arena, capacity, 1);
    if (p->stack_used > 0)
        memcpy(stack, p->stack, p->stack_used);
    p->stack = stack;
    p->stack_capacity = capacity;
}

void lin_list_add(parser *p, const void *item, uint64_t size)
{
    if (p->speculating > 0)
        return;
    if (size > p->stack_capacity - p->stack_used)
        grow_stack(p, size);
    memcpy(p->stack + p->stack_used, item, size);
    p->stack_used += size;
}

const void *lin_list_end(parser *p, uint64_t mark, uint64_t size, uint32_t *out_count)
{
    uint64_t bytes = p->stack_used - mark;
    *out_count = (uint32_t)(bytes / size);
    if (bytes == 0)
        return NULL;
    void *items = lin_arena_array(p->arena, bytes / size, size);
    memcpy(items, p->stack + mark, bytes);
    p->stack_used = mark;
    return items;
}

/* ---- speculation ---- */

cursor_mark lin_speculate(parser *p)
{
    p->speculating++;
    return (cursor_mark){ p->now,    p->next, p->stopped, p->lex.position, p->end,
                          p->braces, p->nest, p->depth,   p->deepest };
}

void lin_go_back(parser *p, const cursor_mark *mark)
{
    p->speculating--;
    p->now = mark->now;
    p->next = mark->next;
    p->stopped = mark->stopped;
    p->lex.position = mark->position;
    p->end = mark->end;
    p->braces = mark->braces;
    p->nest = mark->nest;
    p->depth = mark->depth;
    p->deepest = mark->deepest;
}

void lin_jump(parser *p, const type_args_memo *memo)
{
    p->lex.position = memo->end;
    p->end = memo->end;
    p->now = lin_lexer_next(&p->lex);
    p->next = lin_lexer_next(&p->lex);
}

/* Offsets are their own hash: neighbours in the text are neighbours in the table. */
static uint32_t memo_slot(const parser *p, uint32_t offset)
{
    uint32_t mask = p->memo_capacity - 1, slot = offset & mask;
    while (p->memo[slot].generation == p->memo_generation && p->memo[slot].offset != offset)
        slot = (slot + 1) & mask;
    return slot;
}

const type_args_memo *lin_memo_find(const parser *p, uint32_t offset)
{
    if (p->memo_count == 0 || offset > p->memo_last)
        return NULL;
    const type_args_memo *found = &p->memo[memo_slot(p, offset)];
    return found->generation == p->memo_generation ? found : NULL;
}

static void grow_memo(parser *p)
{
    type_args_memo *old = p->memo;
    uint32_t old_capacity = p->memo_capacity, old_generation = p->memo_generation;
    p->memo_capacity = old_capacity == 0 ? 64 : old_capacity * 2;
    p->memo = LIN_NEW_ARRAY(p->arena, type_args_memo, p->memo_capacity);
    p->memo_generation = 1;
    for (uint32_t i = 0; i < old_capacity; i++) {
        if (old[i].generation != old_generation)
            continue;
        type_args_memo *slot = &p->memo[memo_slot(p, old[i].offset)];
        *slot = old[i];
        slot->generation = 1;
    }
}

void lin_memo_add(parser *p, type_args_memo memo)
{
    if (p->memo_count >= p->memo_capacity - p->memo_capacity / 4)
        grow_memo(p);
    memo.generation = p->memo_generation;
    type_args_memo *slot = &p->memo[memo_slot(p, memo.offset)];
    p->memo_count += slot->generation != p->memo_generation;
    *slot = memo;
    if (memo.offset > p->memo_last)
        p->memo_last = memo.offset;
}

/* Outside speculation the cursor never returns to what is behind it. */
void lin_memo_forget(parser *p, uint32_t offset)
{
    if (p->speculating > 0 || p->memo_count == 0 || offset <= p->memo_last)
        return;
    p->memo_count = 0;
    p->memo_last = 0;
    p->memo_generation++;
}
