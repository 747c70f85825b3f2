/* SPDX-License-Identifier: MIT */

/*
 * A schedule as a picture: a row a rank, time to the right, a box an action, later stages of a rank
 * paler. One file without scripts, fonts or links; it follows the reader's dark or light setting.
 *
 *     rank 0 | 0F0 | 0F1 |     | 0B0       |       an overlapped pair shares its box: forward
 *     rank 1 |     | 1F0 | 1B0       | ...         above, backward below
 */

#include "schedule/schedule.h"

enum {
    MARGIN = 12,
    LABEL_WIDTH = 64,
    HEAD = 56, /* title and legend */
    FOOT = 12,
    LEAST_WIDTH = 480,
    MOST_WIDTH = 6000,
    UNIT_WIDTH = 26,     /* of one unit of time, when the whole fits */
    CHARACTER_WIDTH = 6, /* of the labels */
    MOST_TITLES = 20000  /* actions with a tooltip */
};

typedef struct picture {
    lin_text *out;
    const lin_schedule *schedule;
    const lin_simulation *simulation;
    double scale; /* pixels a unit of time */
    uint32_t row; /* pixels a rank */
    bool has_titles;
    lin_text word; /* scratch */
} picture;

/* A letter a class; the rest is drawn as nothing. */
static const char *class_of(uint8_t kind)
{
    static const char *const classes[LIN_ACTION_COUNT] = {
        [LIN_ACTION_FORWARD] = "f",
        [LIN_ACTION_BACKWARD] = "b",
        [LIN_ACTION_INPUT] = "i",
        [LIN_ACTION_WEIGHT] = "w",
    };
    return classes[kind];
}

static void add_escaped(lin_text *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '&')
            lin_text_add(out, "&amp;");
        else if (*text == '<')
            lin_text_add(out, "&lt;");
        else if (*text == '>')
            lin_text_add(out, "&gt;");
        else
            lin_text_append(out, text, 1);
    }
}

static void add_style(lin_text *out)
{
    lin_text_add(out, "<style>\n"
                      "text { font: 10px sans-serif; fill: #222 }\n"
                      ".t { font-size: 13px; font-weight: bold }\n"
                      ".c { text-anchor: middle; fill: #000 }\n"
                      ".e { text-anchor: end }\n"
                      ".g { fill: #f4f4f4 }\n"
                      ".f { fill: #7eb2e4 }\n"
                      ".b { fill: #79c08a }\n"
                      ".i { fill: #5fc2b7 }\n"
                      ".w { fill: #e3b35c }\n"
                      "rect { stroke: #fff; stroke-width: 0.5 }\n"
                      "@media (prefers-color-scheme: dark) {\n"
                      "svg { background: #1b1b1b } text { fill: #ddd } .g { fill: #2a2a2a }\n"
                      "rect { stroke: #1b1b1b } }\n"
                      "</style>\n");
}

static void add_legend(lin_text *out)
{
    static const struct entry {
        const char *letter, *label;
        int width;
    } entries[] = {
        { "f", "F forward", 80 },
        { "b", "B backward", 90 },
        { "i", "I input gradient", 110 },
        { "w", "W weight gradient", 120 },
    };
    int x = MARGIN + LABEL_WIDTH;
    for (uint32_t i = 0; i < ARRAY_LEN(entries); i++) {
        lin_text_addf(out,
                      "<rect class=\"%s\" x=\"%d\" y=\"34\" width=\"12\" height=\"12\"/>"
                      "<text x=\"%d\" y=\"44\">%s</text>\n",
                      entries[i].letter, x, x + 16, entries[i].label);
        x += entries[i].width;
    }
}

static void add_pixels(lin_text *out, const char *name, double value)
{
    lin_text_addf(out, " %s=\"", name);
    lin_text_fixed(out, value, 2);
    lin_text_add(out, "\"");
}

/* Slot 0 is opaque and the last one pale. */
static void add_shade(lin_text *out, const lin_schedule_rank *rank, uint32_t slot)
{
    if (slot == 0)
        return;
    lin_text_add(out, " fill-opacity=\"");
    lin_text_fixed(out, 1.0 - 0.55 * (double)slot / (double)(rank->slot_count - 1), 2);
    lin_text_add(out, "\"");
}

/* A box over `height` pixels from `top` on. */
static void add_box(picture *p, uint32_t rank, uint32_t index, double top, double height)
{
    const lin_schedule_rank *r = &p->schedule->rank[rank];
    const lin_action *a = &r->actions[index];
    const lin_action_time *span = &p->simulation->rank[rank].spans[index];
    const char *letter = class_of(a->kind);
    const double x = MARGIN + LABEL_WIDTH + (double)span->start * p->scale;
    const double width = (double)(span->end - span->start) * p->scale;
    if (letter == NULL)
        return;
    lin_text_addf(p->out, "<rect class=\"%s\"", letter);
    add_pixels(p->out, "x", x);
    add_pixels(p->out, "y", top);
    add_pixels(p->out, "width", width);
    add_pixels(p->out, "height", height);
    add_shade(p->out, r, a->slot);
    lin_text_clear(&p->word);
    lin_action_spell(&p->word, p->schedule, rank, index);
    if (p->has_titles)
        lin_text_addf(p->out, "><title>%s: %lld to %lld</title></rect>\n", lin_text_data(&p->word),
                      (long long)span->start, (long long)span->end);
    else
        lin_text_add(p->out, "/>\n");
}

static void add_label(picture *p, uint32_t rank, uint32_t index, uint32_t top)
{
    const lin_action_time *span = &p->simulation->rank[rank].spans[index];
    const double width = (double)(span->end - span->start) * p->scale;
    if (class_of(p->schedule->rank[rank].actions[index].kind) == NULL || p->row < 16 ||
        (double)(p->word.length * CHARACTER_WIDTH) > width)
        return;
    lin_text_add(p->out, "<text class=\"c\"");
    add_pixels(p->out, "x",
               MARGIN + LABEL_WIDTH + (double)(span->start + span->end) * 0.5 * p->scale);
    lin_text_addf(p->out, " y=\"%u\">%s</text>\n", top + p->row / 2 + 4, lin_text_data(&p->word));
}

static void add_row(picture *p, uint32_t rank)
{
    const lin_schedule_rank *r = &p->schedule->rank[rank];
    const uint32_t top = HEAD + rank * p->row;
    const double height = (double)p->row - 2;
    lin_text_addf(p->out, "<rect class=\"g\" x=\"%d\" y=\"%u\" height=\"%u\"", MARGIN + LABEL_WIDTH,
                  top, p->row - 2);
    add_pixels(p->out, "width", (double)p->simulation->makespan * p->scale);
    lin_text_add(p->out, "/>\n");
    if (p->row >= 16 || rank % 16 == 0)
        lin_text_addf(p->out, "<text class=\"e\" x=\"%d\" y=\"%u\">rank %u</text>\n",
                      MARGIN + LABEL_WIDTH - 6, top + p->row / 2 + 4, rank);
    for (uint32_t i = 0; i < r->action_count; i++) {
        if (!r->actions[i].overlaps_next) {
            add_box(p, rank, i, top, height);
            add_label(p, rank, i, top);
            continue;
        }
        add_box(p, rank, i + 1, (double)top + height / 2, height / 2);
        add_box(p, rank, i, top, height / 2);
        add_label(p, rank, i++, top);
    }
}

static void add_head(picture *p, double width)
{
    const uint32_t height = HEAD + p->schedule->ranks * p->row + FOOT;
    lin_text_addf(p->out, "<svg xmlns=\"http://www.w3.org/2000/svg\" height=\"%u\"", height);
    add_pixels(p->out, "width", width + 2 * MARGIN + LABEL_WIDTH);
    lin_text_add(p->out, ">\n<title>");
    add_escaped(p->out, p->schedule->name);
    lin_text_add(p->out, "</title>\n");
    add_style(p->out);
    lin_text_addf(p->out, "<text class=\"t\" x=\"%d\" y=\"22\">", MARGIN);
    add_escaped(p->out, p->schedule->name);
    lin_text_addf(p->out, ", %u ranks, %u stages, %u micro-batches: makespan %lld</text>\n",
                  p->schedule->ranks, p->schedule->stages, p->schedule->microbatches,
                  (long long)p->simulation->makespan);
    add_legend(p->out);
}

static uint64_t count_actions(const lin_schedule *schedule)
{
    uint64_t count = 0;
    for (uint32_t r = 0; r < schedule->ranks; r++)
        count += schedule->rank[r].action_count;
    return count;
}

linnet_status lin_schedule_svg(lin_text *out, const lin_schedule *schedule,
                               const lin_simulation *simulation, linnet_error *err)
{
    const uint64_t count = count_actions(schedule);
    if (count > LIN_SCHEDULE_PICTURE_ACTIONS)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "a picture shows at most %d actions, and this schedule has %llu",
                        (int)LIN_SCHEDULE_PICTURE_ACTIONS, (unsigned long long)count);
    const double makespan = simulation->makespan > 0 ? (double)simulation->makespan : 1.0;
    double width = makespan * UNIT_WIDTH;
    width = width < LEAST_WIDTH ? LEAST_WIDTH : width > MOST_WIDTH ? MOST_WIDTH : width;
    picture p = { .out = out,
                  .schedule = schedule,
                  .simulation = simulation,
                  .scale = width / makespan,
                  .row = schedule->ranks <= 64     ? 24
                         : schedule->ranks <= 1024 ? 8
                                                   : 4,
                  .has_titles = count <= MOST_TITLES };
    lin_text_init(&p.word, &out->allocator);
    add_head(&p, width);
    for (uint32_t r = 0; r < schedule->ranks; r++)
        add_row(&p, r);
    lin_text_add(out, "</svg>\n");
    out->failed |= p.word.failed;
    lin_text_free(&p.word);
    return LINNET_OK;
}
