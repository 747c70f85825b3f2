/* SPDX-License-Identifier: MIT */

/*
 * What the page's script reads. Columns of bytes are lists of changes; spans of held bytes stand in
 * groups, one for the same tensor of every element of an array of blocks:
 *
 *     names and paths   "layers.*.attention" with the indices that stood there
 *     a group           [name, path, bytes, category, reason, members]
 *     its members       indices, first column, columns held; one after the other
 *
 * A step of a very large model has more spans than a page should carry: then the smallest are left
 * out, and the script shows what they sum up to. Cost: linear in columns and spans, but for
 * log2(bytes) counts of spans when they are too many.
 */

#include "report/report_picture.h"

#include <string.h>

enum { MAX_SPANS = 20000 };

typedef struct templated {
    lin_name text;       /* with '\x01' where a number stood */
    const char *numbers; /* ",3,17": what stood there, as JSON */
} templated;

typedef struct member {
    const char *numbers;
    int32_t first, end; /* columns */
} member;

typedef struct group {
    const lin_held_span *span; /* any of them */
    lin_name name, path;
    LIN_LIST(member) members;
} group;

typedef struct data_pass {
    lin_text *out;
    const lin_picture *picture;
    lin_arena *arena;
    lin_names *templates; /* of paths and labels */
    lin_names *keys;      /* of groups; a group's number is its key's */
    LIN_LIST(group) groups;
} data_pass;

/* ---- names with numbers ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Length of a number that fills a part of a path, at most 9 digits and without a leading zero, or
 * 0. `before` is the character in front. */
static uint64_t index_length(const char *text, char before)
{
    uint64_t length = 0;
    while (length < 10 && is_digit(text[length]))
        length++;
    const bool is_part =
        (before == '.' || before == '`' || before == '\0') &&
        (text[length] == '.' || text[length] == '\0' || text[length] == '`' || text[length] == ' ');
    const bool is_short = length > 0 && length < 10 && (length == 1 || text[0] != '0');
    return is_part && is_short ? length : 0;
}

static templated split_numbers(data_pass *p, const char *text)
{
    const uint64_t length = strlen(text);
    char *kept = lin_arena_alloc(p->arena, length + 1);
    char *numbers = lin_arena_alloc(p->arena, length + 1);
    uint64_t kept_length = 0, numbers_length = 0;
    for (uint64_t i = 0; i < length;) {
        const uint64_t digits = index_length(text + i, i > 0 ? text[i - 1] : '\0');
        if (digits == 0) {
            kept[kept_length++] = (unsigned char)text[i] < 0x20 ? '?' : text[i];
            i++;
            continue;
        }
        kept[kept_length++] = '\x01';
        numbers[numbers_length++] = ',';
        memcpy(numbers + numbers_length, text + i, digits);
        numbers_length += digits;
        i += digits;
    }
    return (templated){ lin_names_add(p->templates, kept, kept_length), numbers };
}

/* ---- columns ---- */

static void add_separator(const data_pass *p, bool is_first)
{
    lin_text_add(p->out, is_first ? "" : ",");
}

/* The first value, then column and difference wherever it changes. */
static void add_changes(const data_pass *p, const int64_t *bytes)
{
    int32_t last = 0;
    lin_text_add(p->out, "[");
    lin_text_i64(p->out, bytes[0]);
    for (int32_t i = 1; i < p->picture->columns; i++) {
        if (bytes[i] == bytes[i - 1])
            continue;
        lin_text_addf(p->out, ",%d,", (int)(i - last));
        lin_text_i64(p->out, bytes[i] - bytes[i - 1]);
        last = i;
    }
    lin_text_add(p->out, "]");
}

static void add_bands(const data_pass *p)
{
    lin_text_add(p->out, ",\"bands\":[");
    for (uint32_t i = 0; i < p->picture->band_count; i++) {
        const lin_picture_band *band = &p->picture->bands[i];
        add_separator(p, i == 0);
        lin_text_addf(p->out, "{\"id\":\"%s\",\"name\":\"%s\",\"changes\":",
                      lin_picture_band_id(band->category), band->words);
        add_changes(p, band->bytes);
        lin_text_add(p->out, "}");
    }
    lin_text_add(p->out, "]");
}

/* The column that shows `moment` or the next one after it. */
static int32_t column_from(const lin_picture *picture, int32_t moment)
{
    int32_t low = 0, high = picture->columns;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (picture->moments[middle] < moment)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_phases(const data_pass *p)
{
    const lin_answer_timeline *timeline = p->picture->answer->timeline;
    lin_text_add(p->out, ",\"phases\":[");
    bool is_first = true;
    for (uint32_t i = 0; i < timeline->phase_count; i++) {
        const int32_t first = column_from(p->picture, timeline->phases[i].first);
        const int32_t end = column_from(p->picture, timeline->phases[i].end);
        if (end == first)
            continue;
        add_separator(p, is_first);
        lin_text_addf(p->out, "[\"%s\",%d,%d]", timeline->phases[i].name, (int)first, (int)end);
        is_first = false;
    }
    lin_text_add(p->out, "]");
}

static void add_moments(const data_pass *p)
{
    const lin_picture *picture = p->picture;
    lin_text_addf(p->out, "{\"length\":%d,\"columns\":%d,\"peak\":%d,\"capacity\":%lld",
                  (int)picture->answer->timeline->length, (int)picture->columns, (int)picture->peak,
                  (long long)picture->capacity);
    if (picture->columns == picture->answer->timeline->length)
        return;
    lin_text_add(p->out, ",\"moments\":[");
    for (int32_t i = 0; i < picture->columns; i++)
        lin_text_addf(p->out, "%s%d", i > 0 ? "," : "", (int)picture->moments[i]);
    lin_text_add(p->out, "]");
}

/* By column: the template of what runs and its numbers, or nothing. */
static void add_running(data_pass *p)
{
    const lin_answer_timeline *timeline = p->picture->answer->timeline;
    lin_text_add(p->out, ",\"running\":[");
    for (int32_t i = 0; i < p->picture->columns; i++) {
        const int32_t step = timeline->steps[p->picture->moments[i]];
        add_separator(p, i == 0);
        if (step < 0 || (uint32_t)step >= timeline->label_count) {
            lin_text_add(p->out, "[]");
            continue;
        }
        const templated label = split_numbers(p, timeline->labels[step]);
        lin_text_addf(p->out, "[%u%s]", label.text - 1, label.numbers);
    }
    lin_text_add(p->out, "]");
}

/* ---- who holds the bytes ---- */

/* Spans that no column shows are left out, and with very many the smallest. */
static bool is_shown(const data_pass *p, const lin_held_span *span, int64_t least)
{
    return span->bytes >= least &&
           column_from(p->picture, span->first) < column_from(p->picture, span->end);
}

static int64_t least_bytes(const data_pass *p)
{
    const lin_answer_timeline *timeline = p->picture->answer->timeline;
    for (int64_t least = 1;; least *= 2) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < timeline->span_count; i++)
            count += is_shown(p, &timeline->spans[i], least);
        if (count <= MAX_SPANS || least > INT64_MAX / 2)
            return least;
    }
}

static void add_to_group(data_pass *p, const lin_held_span *span)
{
    const templated name = split_numbers(p, span->name), path = split_numbers(p, span->path);
    const char *key = lin_arena_format(p->arena, "%u %u %lld %d %s", name.text, path.text,
                                       (long long)span->bytes, (int)span->category, span->reason);
    const lin_name number = lin_names_add(p->keys, key, strlen(key));
    if (number > p->groups.count) {
        const group made = { .span = span, .name = name.text, .path = path.text };
        LIN_PUSH(p->arena, &p->groups, made);
    }
    const member added = { lin_arena_format(p->arena, "%s%s", name.numbers, path.numbers),
                           column_from(p->picture, span->first),
                           column_from(p->picture, span->end) };
    LIN_PUSH(p->arena, &p->groups.items[number - 1].members, added);
}

static void add_group(const data_pass *p, const group *g)
{
    lin_text_addf(p->out, "[%u,%u,%lld,\"%s\",", g->name - 1, g->path - 1,
                  (long long)g->span->bytes, lin_picture_band_id(g->span->category));
    lin_script_add_string(p->out, g->span->reason);
    lin_text_add(p->out, ",[");
    for (uint32_t i = 0; i < g->members.count; i++) {
        const member *m = &g->members.items[i];
        const bool has_numbers = m->numbers[0] != '\0';
        lin_text_addf(p->out, "%s%s%s%d,%d", i > 0 ? "," : "", has_numbers ? m->numbers + 1 : "",
                      has_numbers ? "," : "", (int)m->first, (int)(m->end - m->first));
    }
    lin_text_add(p->out, "]]");
}

static void add_groups(data_pass *p)
{
    const lin_answer_timeline *timeline = p->picture->answer->timeline;
    const int64_t least = least_bytes(p);
    for (uint32_t i = 0; i < timeline->span_count; i++)
        if (is_shown(p, &timeline->spans[i], least))
            add_to_group(p, &timeline->spans[i]);
    lin_text_add(p->out, ",\"groups\":[");
    for (uint32_t i = 0; i < p->groups.count; i++) {
        add_separator(p, i == 0);
        add_group(p, &p->groups.items[i]);
    }
    lin_text_add(p->out, "]");
}

/* A template is a list of its parts, a number between each two. */
static void add_templates(const data_pass *p, lin_name count)
{
    lin_text_add(p->out, ",\"templates\":[");
    for (lin_name name = 1; name <= count; name++) {
        const char *text = lin_names_text(p->templates, name);
        lin_text_add(p->out, name > 1 ? ",[" : "[");
        for (bool is_first = true;; is_first = false) {
            const uint64_t length = strcspn(text, "\x01");
            add_separator(p, is_first);
            lin_script_add_string(p->out, lin_arena_text(p->arena, text, length));
            if (text[length] == '\0')
                break;
            text += length + 1;
        }
        lin_text_add(p->out, "]");
    }
    lin_text_add(p->out, "]");
}

void lin_html_add_data(lin_text *out, const lin_picture *picture, lin_arena *arena)
{
    data_pass p = { .out = out,
                    .picture = picture,
                    .arena = arena,
                    .templates = lin_names_new(arena),
                    .keys = lin_names_new(arena) };
    add_moments(&p);
    add_bands(&p);
    add_phases(&p);
    add_running(&p);
    add_groups(&p);
    add_templates(&p, lin_names_add(p.templates, "\x02", 1) - 1);
    lin_text_add(out, "}");
}
