/* SPDX-License-Identifier: MIT */

/*
 * One page that needs nothing else: peaks, the picture, the breakdown at the peak against a
 * capacity, tables. It is complete without its script, which puts a picture to move around in into
 * the place of the still one. A policy in the page forbids it every request.
 */

#include "report/report_picture.h"

#include <string.h>

static const char policy[] = "default-src 'none'; style-src 'unsafe-inline'; "
                             "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

static void add_head(lin_text *out, const lin_picture *picture)
{
    lin_text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                      "<meta name=\"color-scheme\" content=\"light dark\">\n"
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"");
    lin_text_add(out, policy);
    lin_text_add(out, "\">\n<title>Memory of ");
    lin_markup_add(out, picture->answer->model);
    lin_text_add(out, "</title>\n<style>\n");
    lin_text_add(out, lin_picture_css);
    lin_picture_add_palette(out, picture, "--band", true);
    lin_text_add(out, "\n</style>\n</head>\n<body>\n");
}

static void add_header(lin_text *out, const lin_picture *picture)
{
    lin_text_add(out, "<header>\n<h1>Memory of <bdi>");
    lin_markup_add(out, picture->answer->model);
    lin_text_add(out, "</bdi></h1>\n<p class=\"muted\"><bdi>");
    lin_markup_add(out, picture->subject);
    lin_text_add(out, "</bdi></p>\n</header>\n<main>\n");
}

/* ---- figures ---- */

static void start_figure(lin_text *out, const char *words)
{
    lin_text_addf(out, "<div><dt>%s</dt><dd>", words);
}

static void end_figure(lin_text *out, const char *note)
{
    lin_text_add(out, "</dd>");
    if (note[0] != '\0') {
        lin_text_add(out, "<dd class=\"note\">");
        lin_markup_add(out, note);
        lin_text_add(out, "</dd>");
    }
    lin_text_add(out, "</div>\n");
}

static void add_bytes_figure(lin_text *out, const char *words, int64_t bytes, const char *note)
{
    start_figure(out, words);
    lin_markup_add_bytes(out, bytes);
    end_figure(out, note);
}

static void add_room(lin_text *out, const lin_picture *picture)
{
    const int64_t left = picture->capacity - picture->answer->peaks.expected;
    if (picture->capacity == 0)
        return;
    lin_text_addf(out, "<div class=\"%s\"><dt>Of ", left < 0 ? "over" : "fits");
    lin_markup_add_bytes(out, picture->capacity);
    lin_text_add(out, "</dt><dd>");
    lin_markup_add_bytes(out, left < 0 ? -left : left);
    end_figure(out, left < 0 ? "too much: it does not fit" : "free: it fits");
}

static void add_figures(lin_text *out, const lin_picture *picture)
{
    const lin_answer *answer = picture->answer;
    lin_text_add(out, "<section aria-label=\"Peaks\"><dl class=\"figures\">\n");
    add_bytes_figure(out, "Expected peak", answer->peaks.expected,
                     lin_confidence_name(answer->confidence));
    add_room(out, picture);
    add_bytes_figure(out, "Graph peak", answer->peaks.graph, "tensors of the program");
    add_bytes_figure(out, "Allocator peak", answer->peaks.allocator, "what the framework reports");
    if (answer->training != NULL && answer->training->has_recompute) {
        start_figure(out, "Computed again");
        lin_text_add(out, "+");
        lin_text_fixed(out, answer->training->recompute * 100, 1);
        lin_text_add(out, " %");
        end_figure(out, "estimated");
    }
    lin_text_add(out, "</dl>\n<p>Peak at <bdi>");
    lin_markup_add(out, answer->peak_at);
    lin_text_add(out, "</bdi>.</p>\n</section>\n");
}

/* ---- breakdown ---- */

static void add_width(lin_text *out, int64_t part, int64_t whole)
{
    lin_text_add(out, " style=\"width:");
    lin_text_fixed(out, 100 * ((double)part / (double)whole), 3);
    lin_text_add(out, "%\"");
}

/* "Weights 2.05 GiB, …" for who does not see the bar. */
static void add_bar_words(lin_text *out, const lin_picture *picture)
{
    lin_text_add(out, "At the peak: ");
    for (uint32_t i = 0; i < picture->band_count; i++) {
        lin_text_addf(out, "%s%s ", i > 0 ? ", " : "", picture->bands[i].words);
        lin_markup_add_bytes(out, picture->bands[i].at_peak);
    }
    if (picture->capacity > 0) {
        lin_text_add(out, "; capacity ");
        lin_markup_add_bytes(out, picture->capacity);
    }
}

static void add_bar(lin_text *out, const lin_picture *picture)
{
    const int64_t used = picture->peak_bytes > 0 ? picture->peak_bytes : 1;
    const int64_t whole = picture->capacity > used ? picture->capacity : used;
    lin_text_add(out, "<div class=\"bar\" role=\"img\" aria-label=\"");
    add_bar_words(out, picture);
    lin_text_add(out, "\">");
    for (uint32_t i = 0; i < picture->band_count; i++) {
        const lin_picture_band *band = &picture->bands[i];
        if (band->at_peak == 0)
            continue;
        lin_text_addf(out, "<span class=\"band band-%s\"", lin_picture_band_id(band->category));
        add_width(out, band->at_peak, whole);
        lin_text_addf(out, " title=\"%s ", band->words);
        lin_markup_add_bytes(out, band->at_peak);
        lin_text_add(out, "\"></span>");
    }
    if (picture->capacity > 0 && picture->capacity < used) {
        lin_text_add(out, "<i class=\"limit\" style=\"left:");
        lin_text_fixed(out, 100 * ((double)picture->capacity / (double)used), 3);
        lin_text_add(out, "%\"></i>");
    }
    lin_text_add(out, "</div>\n");
}

static void add_key(lin_text *out, const char *prefix, const char *class, const char *words,
                    int64_t bytes, int64_t whole)
{
    lin_text_addf(out, "<li><i class=\"swatch %s%s\"></i><span>%s</span><b>", prefix, class, words);
    lin_markup_add_bytes(out, bytes);
    lin_text_add(out, "</b><small>");
    lin_picture_add_percent(out, bytes, whole);
    lin_text_add(out, "</small></li>\n");
}

static void add_breakdown(lin_text *out, const lin_picture *picture)
{
    const int64_t used = picture->peak_bytes > 0 ? picture->peak_bytes : 1;
    const int64_t whole = picture->capacity > 0 ? picture->capacity : used;
    lin_text_add(out, "<section aria-labelledby=\"breakdown\">\n<h2 id=\"breakdown\">At the peak");
    if (picture->capacity > 0) {
        lin_text_add(out, ", against ");
        lin_markup_add_bytes(out, picture->capacity);
    }
    lin_text_add(out, "</h2>\n");
    add_bar(out, picture);
    lin_text_add(out, "<ul class=\"keys\">\n");
    for (uint32_t i = 0; i < picture->band_count; i++) {
        const lin_picture_band *band = &picture->bands[i];
        add_key(out, "band-", lin_picture_band_id(band->category), band->words, band->at_peak,
                whole);
    }
    if (picture->capacity > used)
        add_key(out, "", "free", "Free", picture->capacity - used, whole);
    if (picture->capacity > 0 && picture->capacity < used)
        add_key(out, "", "excess", "Over the capacity", used - picture->capacity, whole);
    lin_text_add(out, "</ul>\n</section>\n");
}

/* ---- the page ---- */

static void add_timeline(lin_text *out, const lin_answer *answer, int64_t capacity,
                         lin_arena *arena)
{
    lin_text_add(out, "<section aria-labelledby=\"timeline-title\">\n"
                      "<h2 id=\"timeline-title\">Over the step</h2>\n"
                      "<div id=\"timeline\" data-state=\"still\">\n");
    lin_svg_add(out, lin_picture_new(arena, answer, capacity, LIN_SVG_COLUMNS), arena, false);
    lin_text_add(out, "</div>\n</section>\n");
}

static void write_page(lin_text *out, const lin_answer *answer, int64_t capacity, lin_arena *arena)
{
    const lin_picture *picture = lin_picture_new(arena, answer, capacity, LIN_SCRIPT_COLUMNS);
    add_head(out, picture);
    add_header(out, picture);
    add_figures(out, picture);
    lin_html_add_devices(out, answer);
    add_timeline(out, answer, capacity, arena);
    add_breakdown(out, picture);
    lin_html_add_components(out, answer);
    lin_html_add_largest(out, answer);
    lin_html_add_lists(out, answer);
    lin_text_add(out, "</main>\n<script type=\"application/json\" id=\"data\">");
    lin_html_add_data(out, picture, arena);
    lin_text_add(out, "</script>\n<script>\n");
    lin_text_add(out, lin_picture_js);
    lin_text_add(out, "</script>\n</body>\n</html>\n");
}

void lin_report_html(lin_text *out, const lin_answer *answer, int64_t capacity_bytes)
{
    lin_picture_run(out, answer, capacity_bytes, write_page);
}
