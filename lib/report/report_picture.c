/* SPDX-License-Identifier: MIT */

/*
 * What a picture of an answer shows. In: the columns of bytes by category of its timeline, and its
 * runtime items, which are there all the time. Out: the bands of a stack, so that its height at a
 * moment is what the device holds then, and at the peak the expected peak.
 *
 * A long step is drawn with fewer columns: each shows the fullest of its moments. Cost: linear in
 * moments and categories.
 */

#include "report/report_picture.h"

#include <string.h>

/* ---- bands ----
 *
 * In the order of the stack: what stays the same lies below what comes and goes. The colours are of
 * two palettes made for colour-blind readers: Okabe and Ito's (Color Universal Design, 2008) and
 * Tol's "muted" (SRON/EPS/TN/09-002, 2021). Between neighbours the distance in OKLab, times 100, is
 * at least 9.6 in either mode, for full vision and for simulated protanopia, deuteranopia and
 * tritanopia (Machado et al., 2009). A line along the top and the names beside the picture carry
 * what little contrast yellow has on white.
 */
/* clang-format off */
static const struct band_row {
    lin_category category;
    const char *words;
    const char *light, *dark;
} band_rows[] = {
    { LIN_CATEGORY_RUNTIME,              "Runtime",              "#b8bcc4", "#b8bcc4" },
    { LIN_CATEGORY_PARAMETERS,           "Weights",              "#0072b2", "#0072b2" },
    { LIN_CATEGORY_BUFFERS,              "Persistent buffers",   "#88ccee", "#88ccee" },
    { LIN_CATEGORY_STATE,                "State",                "#117733", "#2f9a5a" },
    { LIN_CATEGORY_KV_CACHE,             "KV cache",             "#56b4e9", "#56b4e9" },
    { LIN_CATEGORY_MASTER_WEIGHTS,       "Master weights",       "#cc79a7", "#cc79a7" },
    { LIN_CATEGORY_OPTIMIZER_STATES,     "Optimizer states",     "#882255", "#aa4499" },
    { LIN_CATEGORY_GRADIENTS,            "Gradients",            "#d55e00", "#d55e00" },
    { LIN_CATEGORY_INPUTS,               "Inputs",               "#ddcc77", "#ddcc77" },
    { LIN_CATEGORY_ACTIVATIONS,          "Activations",          "#009e73", "#009e73" },
    { LIN_CATEGORY_BACKWARD_TEMPORARIES, "Backward temporaries", "#f0e442", "#f0e442" },
    { LIN_CATEGORY_WORKSPACE,            "Workspaces",           "#e69f00", "#e69f00" },
    { LIN_CATEGORY_COMMUNICATION,        "Communication",        "#332288", "#b0a8e8" },
};
/* clang-format on */
_Static_assert(ARRAY_LEN(band_rows) == LIN_CATEGORY_COUNT, "every category has one row");

const char *lin_picture_band_id(lin_category category)
{
    return lin_category_name(category);
}

static const struct band_row *find_row(lin_category category)
{
    for (uint32_t i = 0; i < ARRAY_LEN(band_rows); i++)
        if (band_rows[i].category == category)
            return &band_rows[i];
    return &band_rows[0];
}

const char *lin_picture_colour(lin_category category, bool dark)
{
    const struct band_row *row = find_row(category);
    return dark ? row->dark : row->light;
}

static void add_rules(lin_text *out, const lin_picture *picture, const char *property, bool dark)
{
    for (uint32_t i = 0; i < picture->band_count; i++) {
        const lin_category category = picture->bands[i].category;
        lin_text_addf(out, ".band-%s{%s:%s}", lin_picture_band_id(category), property,
                      lin_picture_colour(category, dark));
    }
}

void lin_picture_add_palette(lin_text *out, const lin_picture *picture, const char *property,
                             bool with_light)
{
    if (with_light)
        add_rules(out, picture, property, false);
    lin_text_add(out, "@media (prefers-color-scheme:dark){");
    add_rules(out, picture, property, true);
    lin_text_add(out, "}");
}

/* ---- columns ---- */

/* The runtime items of the device that the answer describes: the most loaded one. */
static int64_t runtime_bytes(const lin_answer *answer)
{
    const lin_device_summary *most = NULL;
    for (uint32_t i = 0; i < answer->device_count; i++)
        if (most == NULL || answer->devices[i].expected_peak > most->expected_peak)
            most = &answer->devices[i];
    return most != NULL ? most->runtime : 0;
}

/* What is there at every moment and on no timeline: the runtime items, of which the workspace of a
 * library counts as one. */
static int64_t constant_bytes(const lin_answer *answer, lin_category category)
{
    int64_t runtime = 0;
    for (uint32_t i = 0; i < answer->component_count; i++)
        if (answer->components[i].known && answer->components[i].category == LIN_CATEGORY_RUNTIME)
            runtime += answer->components[i].bytes;
    if (category == LIN_CATEGORY_RUNTIME)
        return runtime;
    const int64_t all = runtime_bytes(answer);
    return category == LIN_CATEGORY_WORKSPACE && all > runtime ? all - runtime : 0;
}

static int64_t *add_up(lin_arena *arena, const lin_answer_timeline *timeline)
{
    int64_t *totals = LIN_NEW_ARRAY(arena, int64_t, (uint64_t)timeline->length);
    for (lin_category c = 0; c < LIN_CATEGORY_COUNT; c++)
        for (int32_t m = 0; m < timeline->length && timeline->bytes[c] != NULL; m++)
            totals[m] += timeline->bytes[c][m];
    return totals;
}

static int32_t fullest(const int64_t *totals, int32_t first, int32_t end)
{
    int32_t found = first;
    for (int32_t m = first; m < end; m++)
        if (totals[m] > totals[found])
            found = m;
    return found;
}

static void choose_moments(lin_arena *arena, int32_t max_columns, lin_picture *picture)
{
    const lin_answer_timeline *timeline = picture->answer->timeline;
    const int64_t length = timeline->length;
    const int32_t columns = length < max_columns ? (int32_t)length : max_columns;
    int32_t *moments = LIN_NEW_ARRAY(arena, int32_t, (uint64_t)columns);
    int32_t *starts = LIN_NEW_ARRAY(arena, int32_t, (uint64_t)columns + 1);
    const int64_t *totals = add_up(arena, timeline);
    for (int32_t i = 0; i < columns; i++) {
        starts[i] = (int32_t)(i * length / columns);
        moments[i] = fullest(totals, starts[i], (int32_t)((i + 1) * length / columns));
    }
    starts[columns] = timeline->length;
    picture->columns = columns;
    picture->moments = moments;
    picture->starts = starts;
}

static bool has_band(const lin_answer *answer, lin_category category)
{
    if (constant_bytes(answer, category) > 0)
        return true;
    const int64_t *column = answer->timeline->bytes[category];
    for (int32_t m = 0; m < answer->timeline->length && column != NULL; m++)
        if (column[m] > 0)
            return true;
    return false;
}

/* By column. The sums fit: a peak of at least as much was checked when the answer was made. */
static const int64_t *band_bytes(lin_arena *arena, const lin_picture *picture,
                                 lin_category category)
{
    const int64_t always = constant_bytes(picture->answer, category);
    const int64_t *column = picture->answer->timeline->bytes[category];
    int64_t *bytes = LIN_NEW_ARRAY(arena, int64_t, (uint64_t)picture->columns);
    for (int32_t i = 0; i < picture->columns; i++)
        bytes[i] = always + (column != NULL ? column[picture->moments[i]] : 0);
    return bytes;
}

static void fill_bands(lin_arena *arena, lin_picture *picture)
{
    lin_picture_band *bands = LIN_NEW_ARRAY(arena, lin_picture_band, ARRAY_LEN(band_rows));
    int64_t *totals = LIN_NEW_ARRAY(arena, int64_t, (uint64_t)picture->columns);
    for (uint32_t row = 0; row < ARRAY_LEN(band_rows); row++) {
        const lin_category category = band_rows[row].category;
        if (!has_band(picture->answer, category))
            continue;
        const int64_t *bytes = band_bytes(arena, picture, category);
        for (int32_t i = 0; i < picture->columns; i++)
            totals[i] += bytes[i];
        bands[picture->band_count++] = (lin_picture_band){ .category = category,
                                                           .words = band_rows[row].words,
                                                           .bytes = bytes };
    }
    picture->peak = fullest(totals, 0, picture->columns);
    for (uint32_t i = 0; i < picture->band_count; i++)
        bands[i].at_peak = bands[i].bytes[picture->peak];
    picture->peak_bytes = totals[picture->peak];
    picture->bands = bands;
    picture->totals = totals;
}

/* ---- axis ---- */

/* The capacity belongs into the picture unless it would press the stack flat. */
enum { MAX_CAPACITY_PERCENT = 160, AXIS_LINES = 6 };

lin_picture_axis lin_picture_make_axis(const lin_picture *picture)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    static const double steps[] = { 1, 2, 5 };
    const double peak = picture->peak_bytes > 0 ? (double)picture->peak_bytes : 1;
    const double capacity = (double)picture->capacity;
    lin_picture_axis axis = { .top = peak, .unit = units[0], .unit_bytes = 1 };
    axis.shows_capacity =
        picture->capacity > 0 && capacity <= peak * ((double)MAX_CAPACITY_PERCENT / 100);
    if (axis.shows_capacity && capacity > peak)
        axis.top = capacity;
    for (uint32_t i = 1; i < ARRAY_LEN(units) && axis.top >= axis.unit_bytes * 1024; i++) {
        axis.unit_bytes *= 1024;
        axis.unit = units[i];
    }

    double decade = axis.unit_bytes > 1 ? axis.unit_bytes / 10 : 1;
    for (uint32_t i = 0;; i++) {
        axis.step = decade * steps[i % 3];
        if (axis.top / axis.step <= AXIS_LINES)
            break;
        decade *= i % 3 == 2 ? 10 : 1;
    }
    axis.top *= 1.06; /* room for the mark of the peak */
    return axis;
}

/* ---- words ---- */

static const char *add_role(lin_arena *arena, const char *words, const lin_answer *answer,
                            lin_role role)
{
    return answer->role_value[role] < 0
               ? words
               : lin_arena_format(arena, "%s, %s %lld", words, lin_role_names[role],
                                  (long long)answer->role_value[role]);
}

static const char *subject_of(lin_arena *arena, const lin_answer *answer)
{
    const lin_training_answer *training = answer->training;
    const char *words =
        lin_arena_format(arena, "%s%s", training != NULL ? "training step of " : "", answer->entry);
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++)
        words = add_role(arena, words, answer, role);
    if (answer->dtype[0] != '\0')
        words = lin_arena_format(arena, "%s, %s", words, answer->dtype);
    if (training != NULL)
        words = lin_arena_format(arena, "%s, %s", words, training->optimizer);
    if (training != NULL && strcmp(training->checkpoint, "none") != 0)
        words = lin_arena_format(arena, "%s, checkpointing %s", words, training->checkpoint);
    if (training != NULL && training->lora_rank > 0)
        words = lin_arena_format(arena, "%s, adapters of rank %lld", words,
                                 (long long)training->lora_rank);
    return lin_arena_format(arena, "%s, backend %s", words, answer->backend);
}

void lin_picture_add_percent(lin_text *out, int64_t part, int64_t whole)
{
    lin_text_fixed(out, 100 * ((double)part / (double)whole), 1);
    lin_text_add(out, " %");
}

/* ---- the whole ---- */

const lin_picture *lin_picture_new(lin_arena *arena, const lin_answer *answer, int64_t capacity,
                                   int32_t max_columns)
{
    lin_picture *picture = LIN_NEW(arena, lin_picture);
    picture->answer = answer;
    picture->capacity = capacity;
    picture->subject = subject_of(arena, answer);
    choose_moments(arena, max_columns, picture);
    fill_bands(arena, picture);
    return picture;
}

void lin_picture_run(lin_text *out, const lin_answer *answer, int64_t capacity,
                     void (*pass)(lin_text *out, const lin_answer *answer, int64_t capacity,
                                  lin_arena *arena))
{
    lin_arena arena;
    jmp_buf out_of_memory;
    lin_arena_init(&arena, &out->allocator);
    if (setjmp(out_of_memory) != 0) {
        out->failed = true;
        lin_arena_free(&arena);
        return;
    }
    arena.on_failure = &out_of_memory;
    pass(out, answer, capacity, &arena);
    lin_arena_free(&arena);
}
