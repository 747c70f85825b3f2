/* SPDX-License-Identifier: MIT */
/*
 * What the checker says about a program, and the texts in it: names, types and dimensions as the
 * language writes them. Texts live in the scratch arena, so no path out of a pass leaks one.
 */

#include "lang/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A lin_text allocator over an arena: growing copies, freeing leaves the block to the arena. */
static void *arena_resize(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    if (new_size == 0)
        return NULL;
    void *block = lin_arena_alloc(user, new_size);
    if (block != NULL && ptr != NULL)
        memcpy(block, ptr, (size_t)(old_size < new_size ? old_size : new_size));
    return block;
}

static void scratch_text(checker *c, lin_text *text)
{
    const lin_allocator allocator = { .fn = arena_resize, .user = c->scratch };
    lin_text_init(text, &allocator);
}

__attribute__((format(printf, 2, 0))) static const char *format_text(checker *c, const char *format,
                                                                     va_list list)
{
    va_list again;
    if (format == NULL)
        return "";
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        return "";
    char *text = lin_arena_alloc(c->scratch, (uint64_t)length + 1);
    (void)vsnprintf(text, (size_t)length + 1, format, list);
    return text;
}

lin_diagnostic *lin_report(checker *c, lin_span span, const char *code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const char *message = format_text(c, format, list);
    va_end(list);
    return lin_diagnose(c->diagnostics, c->sources.items[span.source], span, code, "%s", message);
}

void lin_note(checker *c, lin_diagnostic *d, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    lin_diagnostic_note(c->diagnostics, d, "%s", format_text(c, format, list));
    va_end(list);
}

void lin_help(checker *c, lin_diagnostic *d, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    lin_diagnostic_help(c->diagnostics, d, "%s", format_text(c, format, list));
    va_end(list);
}

const char *lin_text_of(const checker *c, lin_name name)
{
    return lin_names_text(c->program->names, name);
}

const char *lin_type_text(checker *c, const lin_type *type)
{
    lin_text text;
    scratch_text(c, &text);
    lin_type_print(&text, c->program, type);
    return lin_text_data(&text);
}

const char *lin_dim_text(checker *c, lin_expr dim)
{
    lin_text text;
    scratch_text(c, &text);
    lin_expr_print(&text, c->program->dims, dim);
    return lin_text_data(&text);
}
