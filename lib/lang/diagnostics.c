/* SPDX-License-Identifier: MIT */

/*
 * The list of findings. Recording one copies everything it will ever show (texts, the file's name,
 * the line), so that sources may go. A place's line is found by counting line ends from the start
 * of the file: linear, but only the findings below the limit pay it.
 */

#include "lang/diagnostics.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A line shown is cut here, at a character. */
enum { LINE_BYTES = 1024 };

void lin_diagnostics_init(lin_diagnostics *diagnostics, const lin_allocator *allocator,
                          uint32_t limit)
{
    *diagnostics = (lin_diagnostics){ .limit = limit };
    lin_arena_init(&diagnostics->arena, allocator);
}

void lin_diagnostics_free(lin_diagnostics *diagnostics)
{
    lin_arena_free(&diagnostics->arena);
    diagnostics->list.items = NULL;
    diagnostics->list.count = diagnostics->list.capacity = 0;
    diagnostics->error_count = diagnostics->warning_count = 0;
    diagnostics->failed = false;
}

/* ---- positions ---- */

typedef struct text_position {
    uint32_t line, line_start, column;
} text_position;

/* Code points of [start, end), at least 1 for every byte that is not UTF-8. */
static uint32_t count_code_points(const char *text, uint32_t start, uint32_t end)
{
    uint32_t count = 0;
    while (start < end) {
        uint32_t length = lin_utf8_length(text + start, end - start);
        start += length > 0 ? length : 1;
        count++;
    }
    return count;
}

/* The position of `offset`, given that of some earlier line's start. */
static text_position find_position(const lin_source_file *file, text_position from, uint32_t offset)
{
    const char *text = file->text;
    while (from.line_start < offset) {
        const char *line_end = memchr(text + from.line_start, '\n', offset - from.line_start);
        if (line_end == NULL)
            break;
        from.line_start = (uint32_t)(line_end - text) + 1;
        from.line++;
    }
    from.column = count_code_points(text, from.line_start, offset) + 1;
    return from;
}

static uint32_t line_length(const lin_source_file *file, uint32_t start)
{
    uint32_t left = file->length - start;
    if (left == 0)
        return 0;
    const char *text = file->text + start;
    const char *line_end = memchr(text, '\n', left);
    uint32_t length = line_end == NULL ? left : (uint32_t)(line_end - text);
    if (length > 0 && text[length - 1] == '\r')
        length--;
    if (length <= LINE_BYTES)
        return length;
    length = LINE_BYTES;
    while (length > LINE_BYTES - 4 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

static bool make_place(lin_arena *arena, const lin_source_file *file, lin_span span,
                       const char *label, lin_place_range *out)
{
    uint32_t start_offset = span.start < file->length ? span.start : file->length;
    uint32_t end_offset = span.end < file->length ? span.end : file->length;
    if (end_offset < start_offset)
        end_offset = start_offset;
    text_position start = find_position(file, (text_position){ .line = 1 }, start_offset);
    text_position end = find_position(file, start, end_offset);
    const char *line = start.line_start < file->length ? file->text + start.line_start : "";
    *out = (lin_place_range){
        .file = lin_arena_copy(arena, file->name),
        .start_line = start.line,
        .start_column = start.column,
        .start_offset = start_offset + file->bom_bytes,
        .end_line = end.line,
        .end_column = end.column,
        .end_offset = end_offset + file->bom_bytes,
        .label = lin_arena_copy(arena, label),
        .line_text = lin_arena_text(arena, line, line_length(file, start.line_start)),
    };
    return out->file != NULL && out->label != NULL && out->line_text != NULL;
}

/* ---- recording ---- */

/* An array of `count` items with room for one more: it doubles at the powers of two. NULL on
 * failure. */
static void *make_room(lin_arena *arena, void *items, uint32_t count, uint64_t item_size)
{
    if ((count & (count - 1)) != 0)
        return items;
    void *grown = lin_arena_array(arena, count == 0 ? 1 : (uint64_t)count * 2, item_size);
    if (grown != NULL && count > 0)
        memcpy(grown, items, count * item_size);
    return grown;
}

static const char *format_text(lin_arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        return lin_arena_text(arena, "", 0);
    char *text = lin_arena_alloc(arena, (uint64_t)length + 1);
    if (text != NULL)
        vsnprintf(text, (size_t)length + 1, format, args);
    return text;
}

static bool add_place(lin_diagnostics *diagnostics, lin_diagnostic *diagnostic,
                      const lin_source_file *file, lin_span span, const char *label)
{
    lin_place_range *places =
        make_room(&diagnostics->arena, diagnostic->places, diagnostic->place_count, sizeof *places);
    if (places == NULL)
        return false;
    diagnostic->places = places;
    if (!make_place(&diagnostics->arena, file, span, label, &places[diagnostic->place_count]))
        return false;
    diagnostic->place_count++;
    return true;
}

static lin_diagnostic *new_diagnostic(lin_diagnostics *diagnostics, const lin_source_file *file,
                                      lin_span span, const char *code, const char *message)
{
    lin_diagnostic *d = LIN_NEW(&diagnostics->arena, lin_diagnostic);
    if (d == NULL || message == NULL)
        return NULL;
    d->severity = code[0] == 'W' ? LIN_SEVERITY_WARNING : LIN_SEVERITY_ERROR;
    lin_copy_utf8(d->code, sizeof d->code, code);
    d->message = message;
    if (file != NULL && !add_place(diagnostics, d, file, span, ""))
        return NULL;
    return LIN_PUSH(&diagnostics->arena, &diagnostics->list, d) ? d : NULL;
}

lin_diagnostic *lin_diagnose(lin_diagnostics *diagnostics, const lin_source_file *file,
                             lin_span span, const char *code, const char *format, ...)
{
    if (code[0] == 'W')
        diagnostics->warning_count++;
    else
        diagnostics->error_count++;
    if (diagnostics->list.count >= diagnostics->limit)
        return NULL;
    va_list args;
    va_start(args, format);
    const char *message = format_text(&diagnostics->arena, format, args);
    va_end(args);
    lin_diagnostic *d = new_diagnostic(diagnostics, file, span, code, message);
    diagnostics->failed |= d == NULL;
    return d;
}

void lin_diagnostic_label(lin_diagnostics *diagnostics, lin_diagnostic *diagnostic,
                          const char *label)
{
    if (diagnostic == NULL || diagnostic->place_count == 0)
        return;
    const char *copy = lin_arena_copy(&diagnostics->arena, label);
    diagnostics->failed |= copy == NULL;
    if (copy != NULL)
        diagnostic->places[0].label = copy;
}

void lin_diagnostic_place(lin_diagnostics *diagnostics, lin_diagnostic *diagnostic,
                          const lin_source_file *file, lin_span span, const char *label)
{
    if (diagnostic != NULL && file != NULL)
        diagnostics->failed |= !add_place(diagnostics, diagnostic, file, span, label);
}

static void add_text(lin_diagnostics *diagnostics, const char ***texts, uint32_t *count,
                     const char *text)
{
    const char **grown = make_room(&diagnostics->arena, *texts, *count, sizeof *grown);
    if (grown == NULL || text == NULL) {
        diagnostics->failed = true;
        return;
    }
    *texts = grown;
    grown[(*count)++] = text;
}

void lin_diagnostic_note(lin_diagnostics *diagnostics, lin_diagnostic *diagnostic,
                         const char *format, ...)
{
    if (diagnostic == NULL)
        return;
    va_list args;
    va_start(args, format);
    const char *text = format_text(&diagnostics->arena, format, args);
    va_end(args);
    add_text(diagnostics, &diagnostic->notes, &diagnostic->note_count, text);
}

void lin_diagnostic_help(lin_diagnostics *diagnostics, lin_diagnostic *diagnostic,
                         const char *format, ...)
{
    if (diagnostic == NULL)
        return;
    va_list args;
    va_start(args, format);
    const char *text = format_text(&diagnostics->arena, format, args);
    va_end(args);
    add_text(diagnostics, &diagnostic->helps, &diagnostic->help_count, text);
}

/* ---- order ---- */

static bool comes_before(const lin_diagnostic *a, const lin_diagnostic *b)
{
    if (a->severity != b->severity)
        return a->severity < b->severity;
    if (a->place_count == 0 || b->place_count == 0)
        return a->place_count < b->place_count;
    int order = strcmp(a->places[0].file, b->places[0].file);
    if (order != 0)
        return order < 0;
    return a->places[0].start_offset < b->places[0].start_offset;
}

/* Insertion: passes report almost in order, and the list has a limit. */
void lin_diagnostics_sort(lin_diagnostics *diagnostics)
{
    lin_diagnostic **items = diagnostics->list.items;
    for (uint32_t i = 1; i < diagnostics->list.count; i++) {
        lin_diagnostic *moving = items[i];
        uint32_t at = i;
        for (; at > 0 && comes_before(moving, items[at - 1]); at--)
            items[at] = items[at - 1];
        items[at] = moving;
    }
}
