/* SPDX-License-Identifier: MIT */
#ifndef LIN_REPORT_PICTURE_H
#define LIN_REPORT_PICTURE_H

/*
 * The memory timeline as something to look at; lib/report alone includes this.
 *
 *     report_picture.c       what is drawn: bands of bytes over moments, colours, axis
 *     report_markup.c        text inside markup and inside scripts
 *     report_svg.c           the picture as SVG
 *     report_html.c          the page: peaks, the SVG, the breakdown
 *     report_html_tables.c   its tables and lists
 *     report_html_data.c     what its script reads: bands, phases, and who holds the bytes
 *     picture.css, .js       its style and script, compiled in by embed.py
 *
 * Names and paths come from files of strangers: everything goes through report_markup.c.
 */

#include "report/report.h"

/* ---- what is drawn ---- */

typedef struct lin_picture_band {
    lin_category category;
    const char *words;    /* "Weights" */
    const int64_t *bytes; /* by column */
    int64_t at_peak;
} lin_picture_band;

/*
 * A column stands for a run of moments and shows the one with the most bytes, so that a shorter
 * picture keeps its peak. Bands stand in the order of the stack, the lowest first.
 */
typedef struct lin_picture {
    const lin_answer *answer;
    int64_t capacity;    /* 0: not given */
    const char *subject; /* "training step of loss_packed, context 8192, …", plain text */
    int32_t columns;
    const int32_t *moments; /* by column: the one shown */
    const int32_t *starts;  /* by column, and one more: its first moment */
    const lin_picture_band *bands;
    uint32_t band_count;
    const int64_t *totals; /* by column */
    int32_t peak;          /* column */
    int64_t peak_bytes;
} lin_picture;

enum { LIN_SVG_COLUMNS = 650, LIN_SCRIPT_COLUMNS = 4096 };

/* Runs a pass in an arena with a jump target; out of memory shows in `out`. */
void lin_picture_run(lin_text *out, const lin_answer *answer, int64_t capacity,
                     void (*pass)(lin_text *out, const lin_answer *answer, int64_t capacity,
                                  lin_arena *arena));

/* The answer has a timeline. */
const lin_picture *lin_picture_new(lin_arena *arena, const lin_answer *answer, int64_t capacity,
                                   int32_t max_columns);

/* "activations": in classes band-… of style sheets. */
const char *lin_picture_band_id(lin_category category);
const char *lin_picture_colour(lin_category category, bool dark);
/* Rules that fill `.band-…` with its colour in light and in dark. */
void lin_picture_add_palette(lin_text *out, const lin_picture *picture, const char *property,
                             bool with_light);

/* An axis from 0 to `top` with a line every `step`; both in bytes. */
typedef struct lin_picture_axis {
    double top, step;
    bool shows_capacity;
    const char *unit; /* "GiB" */
    double unit_bytes;
} lin_picture_axis;
lin_picture_axis lin_picture_make_axis(const lin_picture *picture);

/* "31.2 %", of a whole that is not 0. */
void lin_picture_add_percent(lin_text *out, int64_t part, int64_t whole);

/* ---- text in markup ---- */

/* For content and quoted attributes of HTML and XML. What those cannot hold becomes U+FFFD. */
void lin_markup_add(lin_text *out, const char *text);
/* At most `max` code points, then "…". */
void lin_markup_add_short(lin_text *out, const char *text, uint32_t max);
/* A JSON string that also may stand inside <script>. */
void lin_script_add_string(lin_text *out, const char *text);
void lin_markup_add_bytes(lin_text *out, int64_t bytes);

/* ---- parts of the page ---- */

/* One <svg>. `alone` makes it a file of its own: with a namespace, a title and a style. */
void lin_svg_add(lin_text *out, const lin_picture *picture, lin_arena *arena, bool alone);

void lin_html_add_components(lin_text *out, const lin_answer *answer);
void lin_html_add_largest(lin_text *out, const lin_answer *answer);
void lin_html_add_devices(lin_text *out, const lin_answer *answer);
void lin_html_add_lists(lin_text *out, const lin_answer *answer);

/* One JSON object, without line breaks. */
void lin_html_add_data(lin_text *out, const lin_picture *picture, lin_arena *arena);

/* Written by embed.py; NUL-terminated. */
extern const char *const lin_picture_css;
extern const char *const lin_picture_js;

#endif
