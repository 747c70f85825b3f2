/* SPDX-License-Identifier: MIT */

/* Pictures of an answer: markup that closes what it opens, names that stay text, bands that add up
 * to the peak, sizes. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/report_picture.h"
#include "training_run.h"
#include "json/json.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

/* ---- an answer of four moments ---- */

enum { LENGTH = 4 };

typedef struct small_answer {
    lin_answer answer;
    lin_answer_timeline timeline;
    lin_training_answer training;
    lin_component components[3];
    lin_largest largest[1];
    lin_held_span spans[3];
    lin_device_summary device;
    const char *labels[2];
    const char *items[1];
} small_answer;

static const int64_t weights[LENGTH] = { GIB, GIB, GIB, GIB };
static const int64_t activations[LENGTH] = { 0, GIB, 2 * GIB, MIB };
static const int64_t workspaces[LENGTH] = { 0, 0, 0, 64 * MIB };
static const int32_t steps[LENGTH] = { 0, 1, 1, LIN_NO_STEP };
static const lin_phase_span phases[] = { { "forward", 0, 2 },
                                         { "backward", 2, 3 },
                                         { "optimizer", 3, 4 } };

/* Every text of it is `name`. */
static small_answer *make_small(const char *name)
{
    small_answer *s = test_calloc(1, sizeof *s);
    s->timeline = (lin_answer_timeline){
        .length = LENGTH,
        .peak = 2,
        .bytes = { [LIN_CATEGORY_PARAMETERS] = weights,
                   [LIN_CATEGORY_ACTIVATIONS] = activations,
                   [LIN_CATEGORY_WORKSPACE] = workspaces },
        .phases = phases,
        .phase_count = ARRAY_LEN(phases),
        .steps = steps,
        .labels = s->labels,
        .label_count = ARRAY_LEN(s->labels),
        .spans = s->spans,
        .span_count = ARRAY_LEN(s->spans),
    };
    s->spans[0] =
        (lin_held_span){ name, name, "live", LIN_CATEGORY_PARAMETERS, LIN_EXACT, GIB, 0, LENGTH };
    s->spans[1] =
        (lin_held_span){ name, "layers.0.mlp", "live", LIN_CATEGORY_ACTIVATIONS, LIN_EXACT, GIB, 1,
                         3 };
    s->spans[2] =
        (lin_held_span){ name, "layers.1.mlp", "live", LIN_CATEGORY_ACTIVATIONS, LIN_EXACT, GIB, 2,
                         3 };
    s->components[0] = (lin_component){
        name, LIN_CATEGORY_PARAMETERS, true, GIB, LIN_EXACT, name, name, "device:0"
    };
    s->components[1] = (lin_component){
        "CUDA context", LIN_CATEGORY_RUNTIME, true, 512 * MIB, LIN_ESTIMATED, NULL, "", "device:0"
    };
    s->components[2] =
        (lin_component){ "Fragmentation", LIN_CATEGORY_RUNTIME, false, 0, LIN_UNKNOWN, NULL, name,
                         "device:0" };
    s->largest[0] = (lin_largest){ name, name, GIB, name };
    s->labels[0] = s->labels[1] = s->items[0] = name;
    s->device = (lin_device_summary){ "device:0", "", 3 * GIB, 3 * GIB + 544 * MIB, 544 * MIB };
    s->training = (lin_training_answer){ .optimizer = name, .checkpoint = name };
    s->answer = (lin_answer){
        .backend = "cuda",
        .model = name,
        .entry = name,
        .numerics = "fast",
        .dtype = name,
        .role_value = { -1, 8, -1 },
        .components = s->components,
        .component_count = ARRAY_LEN(s->components),
        .peaks = { 3 * GIB, 3 * GIB + 544 * MIB, 3 * GIB + 32 * MIB },
        .confidence = LIN_ESTIMATED,
        .peak_at = name,
        .largest = s->largest,
        .largest_count = 1,
        .devices = &s->device,
        .device_count = 1,
        .training = &s->training,
        .timeline = &s->timeline,
        .unknown = s->items,
        .unknown_count = 1,
        .warnings = s->items,
        .warning_count = 1,
        .assumptions = s->items,
        .assumption_count = 1,
    };
    return s;
}

/* ---- markup ---- */

static const char *skip_past(const char *at, const char *end)
{
    const char *found = strstr(at, end);
    if (found == NULL)
        fail_msg("no %s after %.60s", end, at);
    return found + strlen(end);
}

static const char *check_reference(const char *at)
{
    static const char *const known[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strncmp(at, known[i], strlen(known[i])) == 0)
            return at + strlen(known[i]);
    fail_msg("no reference: %.30s", at);
    return at;
}

/* From behind `<` to behind `>`. Attributes are quoted, and hold no `<`. */
static const char *check_tag(const char *at, bool *out_is_empty)
{
    while (*at != '>') {
        assert_int_not_equal(*at, '\0');
        assert_int_not_equal(*at, '<');
        if (*at == '&')
            at = check_reference(at);
        else if (*at == '"')
            for (at++; *at != '"';) {
                assert_true(*at != '\0' && *at != '<');
                at = *at == '&' ? check_reference(at) : at + 1;
            }
        at++;
    }
    *out_is_empty = at[-1] == '/';
    return at + 1;
}

typedef struct open_tags {
    char names[32][16];
    int depth, most;
} open_tags;

static const char *check_element(const char *at, open_tags *tags)
{
    const bool closes = *at == '/';
    const size_t length = strcspn(at + closes, " />\n");
    bool is_empty;
    assert_true(length > 0 && length < sizeof tags->names[0]);
    if (closes) {
        assert_true(tags->depth > 0);
        tags->depth--;
        if (strlen(tags->names[tags->depth]) != length ||
            strncmp(tags->names[tags->depth], at + 1, length) != 0)
            fail_msg("<%s> ends with <%.20s", tags->names[tags->depth], at);
        return check_tag(at, &is_empty);
    }
    const char *behind = check_tag(at, &is_empty);
    if (is_empty || strncmp(at, "meta", 4) == 0)
        return behind;
    assert_true(tags->depth < (int)ARRAY_LEN(tags->names));
    memcpy(tags->names[tags->depth], at, length);
    tags->names[tags->depth++][length] = '\0';
    if (strncmp(at, "script", 6) == 0 || strncmp(at, "style", 5) == 0)
        behind = skip_past(behind, "</") - 2;
    return behind;
}

static void check_markup(const char *text)
{
    open_tags tags = { .depth = 0 };
    const char *at = text;
    if (strncmp(at, "<!DOCTYPE html>", 15) == 0)
        at += 15;
    while (*at != '\0') {
        if (*at == '<')
            at = check_element(at + 1, &tags);
        else
            at = *at == '&' ? check_reference(at) : at + 1;
    }
    assert_int_equal(tags.depth, 0);
}

static uint32_t count_of(const char *text, const char *what)
{
    uint32_t count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        count++;
    return count;
}

/* ---- names ---- */

static const struct name_case {
    const char *sentence, *name;
    const char *never; /* what must not stand anywhere; NULL: the name itself */
} name_cases[] = {
    { "a plain name", "tinyllama", "undefined" },
    { "a script that would end ours", "</script><script>alert(1)</script>", NULL },
    { "an image with a handler", "\"><img src=x onerror=alert(1)>", NULL },
    { "a handler in single quotes", "' onload='alert(1)", NULL },
    { "ends of comments and of CDATA", "--><!--]]>", "<!--" },
    { "an entity", "&lt;b&gt; &amp &#x3c;", NULL },
    { "a backslash and quotes", "\\\"); alert(1); (\\\"", NULL },
    { "bytes that are no UTF-8", "\xff\xfe\x80", "\xff" },
    { "a surrogate in UTF-8", "\xed\xa0\x80", "\xed\xa0" },
    { "control characters", "a\x01\x02\x1b[31mb\x7f", "\x01" },
    { "separators of lines in scripts",
      "a\xe2\x80\xa8"
      "b\xe2\x80\xa9",
      "undefined" },
    { "marks that turn the text", "gpt\xe2\x80\xae\x33.exe", "\xe2\x80\xae" },
    { "numbers in a path", "layers.0.experts.12345678901.w", "undefined" },
    { "an empty name", "", "undefined" },
};

static const char *json_of(const char *html, uint64_t *out_length)
{
    const char *start = skip_past(html, "id=\"data\">");
    *out_length = (uint64_t)(strstr(start, "</script>") - start);
    return start;
}

static void test_name(void **state)
{
    const struct name_case *c = *state;
    small_answer *s = make_small(c->name);
    lin_text svg, html;
    lin_text_init(&svg, &lin_default_allocator);
    lin_text_init(&html, &lin_default_allocator);
    lin_report_svg(&svg, &s->answer, 4 * GIB);
    lin_report_html(&html, &s->answer, 4 * GIB);
    assert_false(svg.failed || html.failed);
    check_markup(lin_text_data(&svg));
    check_markup(lin_text_data(&html));
    assert_int_equal(count_of(lin_text_data(&html), "<script"), 2);
    assert_int_equal(count_of(lin_text_data(&svg), "<script"), 0);
    const char *never = c->never != NULL ? c->never : c->name;
    assert_int_equal(count_of(lin_text_data(&svg), never), 0);
    if (strcmp(never, "undefined") != 0)
        assert_int_equal(count_of(lin_text_data(&html), never), 0);

    lin_arena arena;
    const lin_json *data;
    linnet_error err;
    uint64_t length;
    lin_arena_init(&arena, &lin_default_allocator);
    const char *json = json_of(lin_text_data(&html), &length);
    if (lin_json_read("data", json, length, false, &arena, &data, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    assert_int_equal(lin_json_get(data, "bands")->count, 4);
    assert_int_equal(lin_json_get(data, "running")->count, LENGTH);
    lin_arena_free(&arena);
    lin_text_free(&svg);
    lin_text_free(&html);
    test_free(s);
}

/* ---- what is drawn ---- */

typedef struct picture_case {
    lin_arena arena;
    const lin_picture *picture;
} picture_case;

static void open_picture(picture_case *c, const lin_answer *answer, int32_t max_columns)
{
    static jmp_buf out_of_memory;
    lin_arena_init(&c->arena, &lin_default_allocator);
    if (setjmp(out_of_memory) != 0)
        fail_msg("out of memory");
    c->arena.on_failure = &out_of_memory;
    c->picture = lin_picture_new(&c->arena, answer, 0, max_columns);
}

/* The height of the stack at its peak, band by band. */
static int64_t stacked(const lin_picture *picture)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < picture->band_count; i++) {
        assert_int_equal(picture->bands[i].bytes[picture->peak], picture->bands[i].at_peak);
        bytes += picture->bands[i].at_peak;
    }
    return bytes;
}

static void test_bands(void **state)
{
    (void)state;
    small_answer *s = make_small("m");
    picture_case c;
    open_picture(&c, &s->answer, 100);
    assert_int_equal(c.picture->columns, LENGTH);
    assert_int_equal(c.picture->band_count, 4);
    assert_int_equal(c.picture->bands[0].at_peak, 512 * MIB); /* runtime, the lowest */
    assert_int_equal(c.picture->bands[3].at_peak, 32 * MIB);  /* the libraries' workspace */
    assert_int_equal(c.picture->bands[3].bytes[3], 96 * MIB);
    assert_int_equal(c.picture->peak, 2);
    assert_int_equal(stacked(c.picture), s->answer.peaks.expected);
    lin_arena_free(&c.arena);
    test_free(s);
}

enum { LONG = 100003, SPIKE = 77777 };

static void test_long(void **state)
{
    (void)state;
    small_answer *s = make_small("layers.7.long");
    int64_t *bytes = test_calloc(LONG, sizeof *bytes);
    int32_t *running = test_calloc(LONG, sizeof *running);
    const lin_phase_span phase = { "forward", 0, LONG };
    for (int32_t m = 0; m < LONG; m++)
        bytes[m] = GIB + m * 1009 % 5000;
    bytes[SPIKE] = 9 * GIB;
    s->timeline.length = LONG;
    s->timeline.bytes[LIN_CATEGORY_PARAMETERS] = bytes;
    s->timeline.bytes[LIN_CATEGORY_ACTIVATIONS] = bytes;
    s->timeline.bytes[LIN_CATEGORY_WORKSPACE] = NULL;
    s->timeline.steps = running;
    s->timeline.phases = &phase;
    s->timeline.phase_count = 1;

    picture_case c;
    open_picture(&c, &s->answer, LIN_SVG_COLUMNS);
    assert_int_equal(c.picture->columns, LIN_SVG_COLUMNS);
    assert_int_equal(c.picture->moments[c.picture->peak], SPIKE);
    assert_int_equal(stacked(c.picture), 18 * GIB + 544 * MIB);
    lin_arena_free(&c.arena);

    lin_text html;
    lin_text_init(&html, &lin_default_allocator);
    lin_report_html(&html, &s->answer, 0);
    assert_false(html.failed);
    check_markup(lin_text_data(&html));
    assert_true(html.length < 400000);
    lin_text_free(&html);
    test_free(running);
    test_free(bytes);
    test_free(s);
}

/* ---- sizes of the axis ---- */

static const struct axis_case {
    const char *sentence;
    int64_t peak, capacity, step;
    const char *unit;
    bool shows_capacity;
} axis_cases[] = {
    { "bytes", 40, 0, 10, "B", false },
    { "a kibibyte", 1024, 0, 204 /* a fifth */, "KiB", false },
    { "gibibytes", 25 * GIB, 0, 5 * GIB, "GiB", false },
    { "a capacity that is near", 25 * GIB, 30 * GIB, 5 * GIB, "GiB", true },
    { "a capacity that is far", 25 * GIB, 80 * GIB, 5 * GIB, "GiB", false },
    { "a capacity below the peak", 25 * GIB, 16 * GIB, 5 * GIB, "GiB", true },
    { "the largest number", INT64_MAX, 0, INT64_C(2000) << 50, "PiB", false },
    { "nothing at all", 0, 0, 1, "B", false },
};

static void test_axis(void **state)
{
    const struct axis_case *c = *state;
    const lin_picture picture = { .capacity = c->capacity, .peak_bytes = c->peak };
    const lin_picture_axis axis = lin_picture_make_axis(&picture);
    assert_string_equal(axis.unit, c->unit);
    assert_int_equal((int64_t)axis.step, c->step);
    assert_int_equal(axis.shows_capacity, c->shows_capacity);
    assert_true(axis.top > (double)c->peak);
}

/* ---- real models ---- */

static const struct model_case {
    const char *sentence;
    training_run run;
} model_cases[] = {
    { "a training step", { .model = "tinyllama-1.1b-chat", .context = 8192 } },
    { "a training step with checkpointing",
      { .model = "tinyllama-1.1b-chat", .context = 8192, .training = { .checkpoint = "block" } } },
};

static void test_model(void **state)
{
    training_run run = ((const struct model_case *)*state)->run;
    run.with_timeline = true;
    training_case t = open_training(&run);
    picture_case c;
    open_picture(&c, t.answer, LIN_SCRIPT_COLUMNS);
    assert_int_equal(stacked(c.picture), t.answer->peaks.expected);
    lin_arena_free(&c.arena);

    lin_text svg, html;
    lin_text_init(&svg, &lin_default_allocator);
    lin_text_init(&html, &lin_default_allocator);
    lin_report_svg(&svg, t.answer, 80 * GIB);
    lin_report_html(&html, t.answer, 80 * GIB);
    check_markup(lin_text_data(&svg));
    check_markup(lin_text_data(&html));
    assert_true(svg.length < 80000);
    assert_true(html.length < 300000);
    lin_text_free(&svg);
    lin_text_free(&html);
    close_training(&t);
}

/* ---- out of memory ---- */

typedef struct counted {
    uint64_t calls, fail_at;
    int64_t live;
} counted;

static void *count_and_fail(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    counted *c = user;
    (void)old_size;
    if (new_size == 0) {
        c->live -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (c->calls++ == c->fail_at)
        return NULL;
    void *moved = realloc(ptr, (size_t)new_size);
    c->live += ptr == NULL && moved != NULL;
    return moved;
}

static void test_failures(void **state)
{
    (void)state;
    small_answer *s = make_small("layers.1.m");
    bool has_failed = true;
    for (uint64_t n = 0; has_failed; n++) {
        counted count = { .fail_at = n };
        const lin_allocator allocator = { count_and_fail, &count };
        lin_text html;
        lin_text_init(&html, &allocator);
        lin_report_html(&html, &s->answer, GIB);
        has_failed = html.failed;
        lin_text_free(&html);
        assert_int_equal(count.live, 0);
        assert_true(n < 200);
    }
    test_free(s);
}

/* ---- all ---- */

enum { MAX_TESTS = 64 };

int main(void)
{
    struct CMUnitTest tests[MAX_TESTS];
    size_t count = 0;
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_bands);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_long);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_failures);
    for (size_t i = 0; i < ARRAY_LEN(name_cases); i++)
        tests[count++] = (struct CMUnitTest){ .name = name_cases[i].sentence,
                                              .test_func = test_name,
                                              .initial_state = (void *)(uintptr_t)&name_cases[i] };
    for (size_t i = 0; i < ARRAY_LEN(axis_cases); i++)
        tests[count++] = (struct CMUnitTest){ .name = axis_cases[i].sentence,
                                              .test_func = test_axis,
                                              .initial_state = (void *)(uintptr_t)&axis_cases[i] };
    for (size_t i = 0; i < ARRAY_LEN(model_cases); i++)
        tests[count++] = (struct CMUnitTest){ .name = model_cases[i].sentence,
                                              .test_func = test_model,
                                              .initial_state = (void *)(uintptr_t)&model_cases[i] };
    assert_true(count <= MAX_TESTS);
    return _cmocka_run_group_tests("picture", tests, count, NULL, NULL);
}
