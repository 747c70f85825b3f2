/* SPDX-License-Identifier: MIT */

/*
 * Findings as text (language.md 17.2).
 *
 *     error E2103: tensor dtypes do not match
 *       --> model.linnet:7:12                      header of the primary file
 *        |
 *      7 |     return a + b                        excerpt
 *        |            ^^^^^ label                  one underline a place
 *        |
 *        = note: left operand has dtype bf16
 *
 * Other files follow with ":::". The lines of one file stand in order, each once, "..." where lines
 * are left out between two.
 */

#include "lang/diagnostics.h"

#include <string.h>

enum { TAB_WIDTH = 4, MIN_GUTTER = 2 };

typedef struct colours {
    const char *severity, *message, *gutter, *secondary, *end;
} colours;

static const colours no_colours = { "", "", "", "", "" };
static const colours error_colours = { "\x1b[1;31m", "\x1b[1m", "\x1b[1;34m", "\x1b[1;34m",
                                       "\x1b[0m" };
static const colours warning_colours = { "\x1b[1;33m", "\x1b[1m", "\x1b[1;34m", "\x1b[1;34m",
                                         "\x1b[0m" };
static const colours note_colours = { "\x1b[1;36m", "\x1b[1m", "\x1b[1;34m", "\x1b[1;34m",
                                      "\x1b[0m" };

typedef struct printer {
    lin_text *out;
    const lin_diagnostic *diagnostic;
    const colours *colours;
    uint32_t gutter;
} printer;

static const colours *pick_colours(lin_severity severity, bool colour)
{
    if (!colour)
        return &no_colours;
    if (severity == LIN_SEVERITY_ERROR)
        return &error_colours;
    return severity == LIN_SEVERITY_WARNING ? &warning_colours : &note_colours;
}

static const char *severity_name(lin_severity severity)
{
    if (severity == LIN_SEVERITY_ERROR)
        return "error";
    return severity == LIN_SEVERITY_WARNING ? "warning" : "note";
}

static uint32_t digits_of(uint32_t number)
{
    uint32_t digits = 1;
    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

static uint32_t gutter_of(const lin_diagnostic *diagnostic)
{
    uint32_t widest = MIN_GUTTER;
    for (uint32_t i = 0; i < diagnostic->place_count; i++) {
        uint32_t digits = digits_of(diagnostic->places[i].start_line);
        widest = digits > widest ? digits : widest;
    }
    return widest;
}

/* "   |", or " 7 |" with a line number; no newline. */
static void print_gutter(const printer *pr, uint32_t line)
{
    lin_text_add(pr->out, pr->colours->gutter);
    if (line == 0)
        lin_text_fill(pr->out, ' ', pr->gutter + 1);
    else
        lin_text_addf(pr->out, "%*lu ", (int)pr->gutter, (unsigned long)line);
    lin_text_add(pr->out, "|");
    lin_text_add(pr->out, pr->colours->end);
}

/* ---- excerpts ---- */

/* One character of a line: its bytes, and how wide it is shown. */
typedef struct cell {
    uint32_t length, width;
    bool is_control;
} cell;

static cell read_cell(const char *at)
{
    uint32_t length = lin_utf8_length(at, strlen(at));
    if (*at == '\t')
        return (cell){ 1, TAB_WIDTH, false };
    if (length == 0)
        return (cell){ 1, 1, true };
    return (cell){ length, 1, (unsigned char)*at < 0x20 || *at == 0x7f };
}

static void print_line(const printer *pr, const lin_place_range *place)
{
    print_gutter(pr, place->start_line);
    const char *at = place->line_text;
    if (*at != '\0')
        lin_text_add(pr->out, " ");
    while (*at != '\0') {
        cell c = read_cell(at);
        if (*at == '\t')
            lin_text_fill(pr->out, ' ', c.width);
        else if (c.is_control)
            lin_text_add(pr->out, "\xef\xbf\xbd");
        else
            lin_text_append(pr->out, at, c.length);
        at += c.length;
    }
    lin_text_add(pr->out, "\n");
}

/* Cells before `column` of the line; a column past its end counts to the end. */
static uint32_t cells_before(const char *line, uint32_t column)
{
    uint32_t width = 0;
    for (uint32_t i = 1; i < column && *line != '\0'; i++) {
        cell c = read_cell(line);
        width += c.width;
        line += c.length;
    }
    return width;
}

static void print_underline(const printer *pr, const lin_place_range *place, bool is_primary)
{
    bool one_line = place->end_line == place->start_line;
    uint32_t start = cells_before(place->line_text, place->start_column);
    uint32_t end = cells_before(place->line_text, one_line ? place->end_column : UINT32_MAX);
    print_gutter(pr, 0);
    lin_text_fill(pr->out, ' ', (uint64_t)start + 1);
    lin_text_add(pr->out, is_primary ? pr->colours->severity : pr->colours->secondary);
    lin_text_fill(pr->out, is_primary ? '^' : '-', end > start ? end - start : 1);
    if (*place->label != '\0') {
        lin_text_add(pr->out, " ");
        lin_text_add(pr->out, place->label);
    }
    lin_text_add(pr->out, pr->colours->end);
    lin_text_add(pr->out, "\n");
}

/* ---- places ---- */

static bool same_file(const lin_place_range *a, const lin_place_range *b)
{
    return strcmp(a->file, b->file) == 0;
}

/* Of the places in that file the one nearest after (line, column), ties in their order; -1: none.
 * `line` 0 begins. */
static int64_t next_place(const lin_diagnostic *d, const lin_place_range *file, int64_t after)
{
    int64_t best = -1;
    for (uint32_t i = 0; i < d->place_count; i++) {
        const lin_place_range *p = &d->places[i];
        if (!same_file(p, file))
            continue;
        if (after >= 0) {
            const lin_place_range *last = &d->places[after];
            if (p->start_offset < last->start_offset ||
                (p->start_offset == last->start_offset && i <= after))
                continue;
        }
        if (best < 0 || p->start_offset < d->places[best].start_offset)
            best = i;
    }
    return best;
}

static void print_file(const printer *pr, const lin_place_range *first, bool is_primary)
{
    const lin_diagnostic *d = pr->diagnostic;
    uint32_t line = 0;
    lin_text_fill(pr->out, ' ', pr->gutter);
    lin_text_addf(pr->out, "%s%s%s %s:%lu:%lu\n", pr->colours->gutter,
                  is_primary ? "-->" : ":::", pr->colours->end, first->file,
                  (unsigned long)first->start_line, (unsigned long)first->start_column);
    print_gutter(pr, 0);
    lin_text_add(pr->out, "\n");
    for (int64_t i = next_place(d, first, -1); i >= 0; i = next_place(d, first, i)) {
        const lin_place_range *place = &d->places[i];
        if (line != 0 && place->start_line > line + 1)
            lin_text_addf(pr->out, "%s...%s\n", pr->colours->gutter, pr->colours->end);
        if (place->start_line != line)
            print_line(pr, place);
        line = place->start_line;
        print_underline(pr, place, i == 0);
    }
}

static bool is_first_of_file(const lin_diagnostic *d, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (same_file(&d->places[i], &d->places[index]))
            return false;
    return true;
}

static void print_remarks(const printer *pr, const char *kind, const char **texts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        lin_text_fill(pr->out, ' ', pr->gutter + 1);
        lin_text_addf(pr->out, "%s=%s %s%s:%s %s\n", pr->colours->gutter, pr->colours->end,
                      pr->colours->message, kind, pr->colours->end, texts[i]);
    }
}

void lin_diagnostic_print(lin_text *out, const lin_diagnostic *d, bool colour)
{
    printer pr = { out, d, pick_colours(d->severity, colour), gutter_of(d) };
    lin_text_addf(out, "%s%s %s%s: %s%s%s\n", pr.colours->severity, severity_name(d->severity),
                  d->code, pr.colours->end, pr.colours->message, d->message, pr.colours->end);
    for (uint32_t i = 0; i < d->place_count; i++)
        if (is_first_of_file(d, i))
            print_file(&pr, &d->places[i], i == 0);
    if (d->note_count + d->help_count > 0 && d->place_count > 0) {
        print_gutter(&pr, 0);
        lin_text_add(out, "\n");
    }
    print_remarks(&pr, "note", d->notes, d->note_count);
    print_remarks(&pr, "help", d->helps, d->help_count);
}

void lin_diagnostics_print(lin_text *out, const lin_diagnostics *diagnostics, bool colour)
{
    for (uint32_t i = 0; i < diagnostics->list.count; i++) {
        if (i > 0)
            lin_text_add(out, "\n");
        lin_diagnostic_print(out, diagnostics->list.items[i], colour);
    }
}
