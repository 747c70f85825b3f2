/* SPDX-License-Identifier: MIT */

/*
 * The picture as SVG: bands stacked over moments, the peak, the capacity when it is near, phases
 * below, names and sizes at the peak beside it. It needs no script and no network.
 *
 *     | title                                  |
 *     | axis | bands                   | names |
 *     |      | phases                  |       |
 *
 * A band is drawn from the ground up to its top edge, the highest first, so that the next one
 * covers all but its own strip: one edge a band instead of two. Lengths are tenths of a unit.
 * Colours are attributes, which every renderer knows; a style sheet changes them in dark mode.
 */

#include "report/report_picture.h"

#include <string.h>

enum {
    WIDTH = 10000,
    HEIGHT = 4300,
    PLOT_LEFT = 760,
    PLOT_RIGHT = 7260,
    PLOT_TOP = 720,
    PLOT_BOTTOM = 3720,
    PHASES_TOP = 3780,
    PHASES_BOTTOM = 3960,
    NAMES_LEFT = 7500,
    NAMES_RIGHT = 9800,
    NAME_LINE = 225,
    KEY_LEFT = 5600,
    KEY_LINE = 4190,
    CHARACTER = 66, /* about */
    MAX_MODEL = 90, /* code points */
    MAX_SUBJECT = 130
};

typedef struct drawing {
    lin_text *out;
    const lin_picture *picture;
    lin_picture_axis axis;
} drawing;

static void add_length(lin_text *out, int64_t tenths)
{
    lin_text_i64(out, tenths / 10);
    if (tenths % 10 != 0)
        lin_text_addf(out, ".%lld", (long long)(tenths % 10));
}

static void add_attribute(lin_text *out, const char *name, int64_t tenths)
{
    lin_text_addf(out, " %s=\"", name);
    add_length(out, tenths);
    lin_text_add(out, "\"");
}

static int64_t x_of(const drawing *d, int32_t moment)
{
    const int64_t length = d->picture->answer->timeline->length;
    return PLOT_LEFT + (int64_t)(PLOT_RIGHT - PLOT_LEFT) * moment / length;
}

static int64_t y_of(const drawing *d, double bytes)
{
    return PLOT_BOTTOM - (int64_t)(bytes / d->axis.top * (PLOT_BOTTOM - PLOT_TOP) + 0.5);
}

static void start_text(lin_text *out, const char *class, int64_t x, int64_t y, const char *anchor)
{
    const bool is_muted = strcmp(class, "muted") == 0;
    lin_text_addf(out, "<text class=\"%s\" fill=\"%s\"", class, is_muted ? "#5c6370" : "#1b1e24");
    if (strstr(class, "halo") != NULL)
        lin_text_add(out, " stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\"");
    add_attribute(out, "x", x);
    add_attribute(out, "y", y);
    if (strcmp(anchor, "start") != 0)
        lin_text_addf(out, " text-anchor=\"%s\"", anchor);
    lin_text_add(out, ">");
}

static void add_line(lin_text *out, const char *class, const char *colour, const int64_t at[4])
{
    lin_text_addf(out, "<path class=\"%s\" fill=\"none\" stroke=\"%s\" d=\"M", class, colour);
    for (int i = 0; i < 4; i++) {
        lin_text_add(out, i == 2 ? "L" : i > 0 ? " " : "");
        add_length(out, at[i]);
    }
    lin_text_add(out, "\"/>\n");
}

/* ---- the stack ---- */

/* A step path along the tops of `bytes`, from the left edge to the right one. */
static void add_edge(const drawing *d, const int64_t *bytes)
{
    int64_t last = y_of(d, (double)bytes[0]);
    add_length(d->out, last);
    for (int32_t i = 1; i < d->picture->columns; i++) {
        const int64_t y = y_of(d, (double)bytes[i]);
        if (y == last)
            continue;
        lin_text_add(d->out, "H");
        add_length(d->out, x_of(d, d->picture->starts[i]));
        lin_text_add(d->out, "V");
        add_length(d->out, y);
        last = y;
    }
    lin_text_add(d->out, "H");
    add_length(d->out, PLOT_RIGHT);
}

static void add_band(const drawing *d, const lin_picture_band *band, const int64_t *tops)
{
    lin_text_addf(d->out, "<path class=\"band band-%s\" fill=\"%s\" d=\"M",
                  lin_picture_band_id(band->category), lin_picture_colour(band->category, false));
    add_length(d->out, PLOT_LEFT);
    lin_text_add(d->out, " ");
    add_length(d->out, PLOT_BOTTOM);
    lin_text_add(d->out, "V");
    add_edge(d, tops);
    lin_text_add(d->out, "V");
    add_length(d->out, PLOT_BOTTOM);
    lin_text_addf(d->out, "Z\"><title>%s</title></path>\n", band->words);
}

static void add_bands(const drawing *d, lin_arena *arena)
{
    const lin_picture *picture = d->picture;
    int64_t *tops = LIN_NEW_ARRAY(arena, int64_t, (uint64_t)picture->columns);
    memcpy(tops, picture->totals, (size_t)picture->columns * sizeof *tops);
    for (uint32_t i = picture->band_count; i-- > 0;) {
        add_band(d, &picture->bands[i], tops);
        for (int32_t c = 0; c < picture->columns; c++)
            tops[c] -= picture->bands[i].bytes[c];
    }
    lin_text_add(d->out, "<path class=\"edge\" fill=\"none\" stroke=\"#1b1e24\" d=\"M");
    add_length(d->out, PLOT_LEFT);
    lin_text_add(d->out, " ");
    add_edge(d, picture->totals);
    lin_text_add(d->out, "\"/>\n");
}

/* ---- around it ---- */

static void add_axis(const drawing *d)
{
    const lin_picture_axis *axis = &d->axis;
    const bool has_tenths = axis->step < axis->unit_bytes && axis->unit_bytes > 1;
    for (int32_t i = 0; i * axis->step <= axis->top; i++) {
        const int64_t y = y_of(d, i * axis->step);
        add_line(d->out, "grid", "#d9dce1", (int64_t[]){ PLOT_LEFT, y, PLOT_RIGHT, y });
        start_text(d->out, "muted", PLOT_LEFT - 80, y + 40, "end");
        if (i == 0)
            lin_text_add(d->out, "0");
        else
            lin_text_fixed(d->out, i * axis->step / axis->unit_bytes, has_tenths ? 1 : 0);
        lin_text_addf(d->out, "%s%s</text>\n", i > 0 ? " " : "", i > 0 ? axis->unit : "");
    }
}

static void add_capacity(const drawing *d)
{
    if (!d->axis.shows_capacity)
        return;
    const int64_t y = y_of(d, (double)d->picture->capacity);
    add_line(d->out, "capacity", "#b3261e", (int64_t[]){ PLOT_LEFT, y, PLOT_RIGHT, y });
    start_text(d->out, "ink halo", PLOT_LEFT + 60, y - 50, "start");
    lin_text_add(d->out, "capacity ");
    lin_markup_add_bytes(d->out, d->picture->capacity);
    lin_text_add(d->out, "</text>\n");
}

static void add_peak(const drawing *d)
{
    const lin_picture *picture = d->picture;
    const int64_t left = x_of(d, picture->starts[picture->peak]);
    const int64_t x = (left + x_of(d, picture->starts[picture->peak + 1])) / 2;
    const int64_t y = y_of(d, (double)picture->peak_bytes);
    const bool is_right = x > (PLOT_LEFT + PLOT_RIGHT) / 2;
    add_line(d->out, "mark", "#1b1e24", (int64_t[]){ x, y, x, PLOT_BOTTOM });
    lin_text_add(d->out, "<circle class=\"dot\" fill=\"#1b1e24\" stroke=\"#ffffff\" r=\"4\"");
    add_attribute(d->out, "cx", x);
    add_attribute(d->out, "cy", y);
    lin_text_add(d->out, "/>\n");
    start_text(d->out, "ink strong halo", x + (is_right ? -80 : 80), y - 60,
               is_right ? "end" : "start");
    lin_text_add(d->out, "peak ");
    lin_markup_add_bytes(d->out, picture->peak_bytes);
    lin_text_add(d->out, "</text>\n");
}

static const char *phase_colour(const char *phase)
{
    if (strcmp(phase, "forward") == 0)
        return "#c9ced6";
    if (strcmp(phase, "recomputation") == 0)
        return "#ffffff";
    return strcmp(phase, "backward") == 0 ? "#9aa2af" : "#4a505c";
}

static void start_phase(lin_text *out, const char *name, int64_t x, int64_t y)
{
    lin_text_addf(out, "<rect class=\"phase phase-%s\" fill=\"%s\" stroke=\"#5c6370\"", name,
                  phase_colour(name));
    add_attribute(out, "x", x);
    add_attribute(out, "y", y);
}

static void add_phases(const drawing *d)
{
    const lin_answer_timeline *timeline = d->picture->answer->timeline;
    for (uint32_t i = 0; i < timeline->phase_count; i++) {
        const lin_phase_span *phase = &timeline->phases[i];
        const int64_t left = x_of(d, phase->first), right = x_of(d, phase->end);
        start_phase(d->out, phase->name, left, PHASES_TOP);
        add_attribute(d->out, "width", right - left);
        add_attribute(d->out, "height", PHASES_BOTTOM - PHASES_TOP);
        lin_text_addf(d->out, "><title>%s</title></rect>\n", phase->name);
    }
}

static bool is_first_of_its_name(const lin_answer_timeline *timeline, uint32_t phase)
{
    for (uint32_t i = 0; i < phase; i++)
        if (strcmp(timeline->phases[i].name, timeline->phases[phase].name) == 0)
            return false;
    return true;
}

static void add_phase_key(const drawing *d)
{
    const lin_answer_timeline *timeline = d->picture->answer->timeline;
    int64_t x = KEY_LEFT;
    for (uint32_t i = 0; i < timeline->phase_count; i++) {
        const char *name = timeline->phases[i].name;
        if (!is_first_of_its_name(timeline, i))
            continue;
        start_phase(d->out, name, x, KEY_LINE - 95);
        lin_text_add(d->out, " width=\"11\" height=\"11\"/>");
        start_text(d->out, "muted", x + 170, KEY_LINE, "start");
        lin_text_addf(d->out, "%s</text>\n", name);
        x += 400 + CHARACTER * (int64_t)strlen(name);
    }
}

static void add_moments(const drawing *d)
{
    start_text(d->out, "muted", PLOT_LEFT, KEY_LINE, "start");
    lin_text_addf(d->out, "%d moments", (int)d->picture->answer->timeline->length);
    if (d->picture->columns < d->picture->answer->timeline->length)
        lin_text_add(d->out, "; where they are close, the fullest is shown");
    lin_text_add(d->out, "</text>\n");
}

static void add_name_line(const drawing *d, const char *words, int64_t bytes, int64_t y)
{
    start_text(d->out, "ink", NAMES_LEFT + 180, y, "start");
    lin_text_addf(d->out, "%s</text>", words);
    start_text(d->out, "ink", NAMES_RIGHT, y, "end");
    lin_markup_add_bytes(d->out, bytes);
    lin_text_add(d->out, "</text>\n");
}

/* In the order one sees them: the highest band first. */
static void add_names(const drawing *d)
{
    const lin_picture *picture = d->picture;
    int64_t y = PLOT_TOP + 60;
    start_text(d->out, "muted", NAMES_LEFT, y, "start");
    lin_text_add(d->out, "at the peak</text>\n");
    for (uint32_t i = picture->band_count; i-- > 0;) {
        const lin_picture_band *band = &picture->bands[i];
        y += NAME_LINE;
        lin_text_addf(d->out, "<rect class=\"key band-%s\" fill=\"%s\" width=\"11\" height=\"11\"",
                      lin_picture_band_id(band->category),
                      lin_picture_colour(band->category, false));
        add_attribute(d->out, "x", NAMES_LEFT);
        add_attribute(d->out, "y", y - 95);
        lin_text_add(d->out, "/>");
        add_name_line(d, band->words, band->at_peak, y);
    }
    add_name_line(d, "Together", picture->peak_bytes, y + NAME_LINE + 60);
    if (picture->capacity > 0)
        add_name_line(d, "Capacity", picture->capacity, y + 2 * NAME_LINE + 60);
}

static void add_heading(const drawing *d)
{
    start_text(d->out, "ink strong", PLOT_LEFT, 270, "start");
    lin_text_add(d->out, "Memory of ");
    lin_markup_add_short(d->out, d->picture->answer->model, MAX_MODEL);
    lin_text_add(d->out, "</text>\n");
    start_text(d->out, "muted", PLOT_LEFT, 460, "start");
    lin_markup_add_short(d->out, d->picture->subject, MAX_SUBJECT);
    lin_text_add(d->out, "</text>\n");
}

static void add_description(const drawing *d)
{
    const lin_picture *picture = d->picture;
    lin_text_add(d->out, "<title id=\"picture-title\">Memory of ");
    lin_markup_add(d->out, picture->answer->model);
    lin_text_add(d->out, ": ");
    lin_markup_add(d->out, picture->subject);
    lin_text_addf(d->out,
                  "</title>\n<desc id=\"picture-description\">Bytes over %d moments, stacked by "
                  "category. At the peak, ",
                  (int)picture->answer->timeline->length);
    lin_markup_add_bytes(d->out, picture->peak_bytes);
    lin_text_addf(d->out, " at moment %d:", (int)picture->moments[picture->peak]);
    for (uint32_t i = 0; i < picture->band_count; i++) {
        lin_text_addf(d->out, "%s %s ", i > 0 ? "," : "", picture->bands[i].words);
        lin_markup_add_bytes(d->out, picture->bands[i].at_peak);
    }
    lin_text_add(d->out, ".</desc>\n");
}

static void add_style(const drawing *d)
{
    lin_text_add(
        d->out,
        "<style>svg{background:#ffffff}.strong{font-weight:600}.phase{stroke-width:.5}.grid{stroke-"
        "width:1}"
        ".mark{stroke-dasharray:2 3}.capacity{stroke-width:1.5;stroke-dasharray:6 4}"
        "@media "
        "(prefers-color-scheme:dark){svg{background:#15181d}.paper{fill:#15181d}.ink{fill:#e8eaed}"
        ".muted{fill:#a3aab5}.grid{stroke:#2d323a}.edge,.mark{stroke:#e8eaed}"
        ".dot{fill:#e8eaed;stroke:#15181d}.capacity{stroke:#ff8a80}"
        ".halo{stroke:#15181d}.phase{stroke:#a3aab5}.phase-forward{fill:#3a404a}.phase-"
        "backward{fill:#6b7380}"
        ".phase-recomputation{fill:#15181d}.phase-optimizer{fill:#c9ced6}}");
    lin_picture_add_palette(d->out, d->picture, "fill", false);
    lin_text_add(d->out, "</style>\n");
}

void lin_svg_add(lin_text *out, const lin_picture *picture, lin_arena *arena, bool alone)
{
    const drawing it = { out, picture, lin_picture_make_axis(picture) };
    const drawing *d = &it;
    lin_text_add(out, alone ? "<svg xmlns=\"http://www.w3.org/2000/svg\"" : "<svg");
    lin_text_addf(d->out,
                  " class=\"picture\" viewBox=\"0 0 %d %d\" role=\"img\" "
                  "aria-labelledby=\"picture-title picture-description\" "
                  "font-family=\"system-ui, sans-serif\" font-size=\"12\">\n",
                  WIDTH / 10, HEIGHT / 10);
    add_description(d);
    if (alone)
        add_style(d);
    lin_text_addf(d->out, "<rect class=\"paper\" fill=\"#ffffff\" width=\"%d\" height=\"%d\"/>\n",
                  WIDTH / 10, HEIGHT / 10);
    add_heading(d);
    add_axis(d);
    add_bands(d, arena);
    add_capacity(d);
    add_peak(d);
    add_phases(d);
    add_phase_key(d);
    add_moments(d);
    add_names(d);
    lin_text_add(d->out, "</svg>\n");
}

static void draw(lin_text *out, const lin_answer *answer, int64_t capacity, lin_arena *arena)
{
    lin_svg_add(out, lin_picture_new(arena, answer, capacity, LIN_SVG_COLUMNS), arena, true);
}

void lin_report_svg(lin_text *out, const lin_answer *answer, int64_t capacity_bytes)
{
    lin_picture_run(out, answer, capacity_bytes, draw);
}
