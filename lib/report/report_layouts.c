/* SPDX-License-Identifier: MIT */

/*
 * The fastest layouts as text (cli-report.md 3.2). Columns by the position after their last
 * character:
 *
 *     layout                                     length     tokens/s limit                peak
 *     |                                      40|      49|          62|                      88|
 *
 * A longer name moves the columns after it, of all rows alike.
 */

#include "report/report_layouts.h"

#include <string.h>

#include "report/report_columns.h"

enum { LAYOUT_END = 40, SIZE_END = 49, TOKENS_END = 62, PEAK_END = 88, COUNT_WIDTH = 10 };

static const char *const size_words[LIN_ROLE_COUNT] = {
    [LIN_ROLE_BATCH] = "batch", [LIN_ROLE_CONTEXT] = "length", [LIN_ROLE_CACHE] = "cache"
};

/* A name longer than this moves its own row alone. */
enum { LAYOUT_MOST = 110 };

/* By how much the columns stand further to the right. */
static uint64_t shift_of(const lin_layouts *layouts)
{
    uint64_t longest = LAYOUT_END;
    for (uint32_t i = 0; i < layouts->count; i++) {
        const uint64_t length = strlen(layouts->items[i].name);
        longest = length > longest && length <= LAYOUT_MOST ? length : longest;
    }
    return longest - LAYOUT_END;
}

/* What was appended since `from` ends at position `end` of the line that begins at `line`. */
static void end_at(lin_text *out, uint64_t line, uint64_t from, uint64_t end)
{
    const uint64_t before = from - line;
    lin_column_right(out, from, end > before ? end - before : 0);
}

static void add_word_at(lin_text *out, uint64_t line, const char *word, uint64_t end)
{
    lin_text_add(out, " ");
    const uint64_t from = out->length;
    lin_text_add(out, word);
    end_at(out, line, from, end);
}

/* The blanks that a size would stand in. */
static void skip_to(lin_text *out, uint64_t line, uint64_t end)
{
    const uint64_t length = out->length - line;
    lin_text_fill(out, ' ', length < end ? end - length : 0);
}

/* ---- rows ---- */

static void add_running(lin_text *out, uint64_t line, const lin_layout_result *item, uint64_t shift)
{
    char peak[LIN_BYTES_TEXT];
    lin_text_add(out, " ");
    uint64_t from = out->length;
    lin_text_i64(out, item->size);
    end_at(out, line, from, SIZE_END + shift);
    lin_text_add(out, " ");
    from = out->length;
    lin_column_grouped(out, item->time.tokens_per_second, 0);
    end_at(out, line, from, TOKENS_END + shift);
    lin_text_addf(out, " %s", lin_limit_name(item->time.limit));
    lin_format_bytes(peak, item->expected_peak);
    add_word_at(out, line, peak, PEAK_END + shift);
}

static void add_row(lin_text *out, const lin_layout_result *item, uint64_t shift)
{
    const uint64_t line = out->length;
    lin_column_left(out, item->name, (uint32_t)(LAYOUT_END + shift));
    if (item->state == LIN_LAYOUT_RUNS) {
        add_running(out, line, item, shift);
    } else {
        skip_to(out, line, SIZE_END + shift);
        add_word_at(out, line, "-", TOKENS_END + shift);
        lin_text_addf(out, " %s", item->reason);
    }
    lin_text_add(out, "\n");
}

static void add_header(lin_text *out, const lin_layouts *layouts)
{
    const uint64_t line = out->length;
    const uint64_t shift = shift_of(layouts);
    lin_column_left(out, "layout", (uint32_t)(LAYOUT_END + shift));
    add_word_at(out, line, size_words[layouts->role], SIZE_END + shift);
    add_word_at(out, line, "tokens/s", TOKENS_END + shift);
    lin_text_add(out, " limit");
    add_word_at(out, line, "peak", PEAK_END + shift);
    lin_text_add(out, "\n");
}

static void add_rows(lin_text *out, const lin_layouts *layouts, bool running)
{
    const uint64_t shift = shift_of(layouts);
    for (uint32_t i = 0; i < layouts->count; i++)
        if ((layouts->items[i].state == LIN_LAYOUT_RUNS) == running)
            add_row(out, &layouts->items[i], shift);
}

/* ---- what does not run ---- */

static void add_groups(lin_text *out, const lin_layouts *layouts)
{
    lin_dropped_list dropped;
    lin_dropped_group(layouts, &dropped);
    if (dropped.count > 0)
        lin_text_add(out, "\nDropped, by reason:\n");
    for (uint32_t i = 0; i < dropped.count; i++) {
        const uint64_t from = out->length;
        lin_text_i64(out, dropped.items[i].count);
        lin_column_right(out, from, COUNT_WIDTH);
        lin_text_addf(out, "  %s\n", dropped.items[i].reason);
    }
}

/* Where nothing fits: by how much the closest one misses. */
static void add_closest(lin_text *out, const lin_layouts *layouts)
{
    const lin_layout_result *closest = NULL;
    char peak[LIN_BYTES_TEXT], budget[LIN_BYTES_TEXT];
    for (uint32_t i = 0; i < layouts->count; i++) {
        const lin_layout_result *item = &layouts->items[i];
        if (item->state == LIN_LAYOUT_TOO_LARGE && item->expected_peak >= 0 &&
            (closest == NULL || item->expected_peak < closest->expected_peak))
            closest = item;
    }
    if (closest == NULL)
        return;
    lin_format_bytes(peak, closest->expected_peak);
    lin_format_bytes(budget, layouts->budget);
    lin_text_addf(out, "\nThe least is needed by %s: %s of a %s budget.\n", closest->name, peak,
                  budget);
}

/* Layouts that were looked at and are in no row. */
static void add_more(lin_text *out, const lin_layouts *layouts, uint32_t shown)
{
    if (layouts->considered <= shown)
        return;
    const unsigned long long more = (unsigned long long)(layouts->considered - shown);
    lin_text_addf(
        out,
        "\n%llu more layout%s considered: slower, too large or refused; `--explain` lists "
        "them.\n",
        more, more == 1 ? "" : "s");
}

/* ---- together ---- */

static void add_dropped(lin_text *out, const lin_layouts *layouts, uint32_t running, bool explain)
{
    if (layouts->count == running)
        return;
    if (explain || running == 0)
        lin_text_add(out, "\n");
    if (running == 0)
        add_header(out, layouts);
    add_rows(out, layouts, false);
}

static bool shows_dropped(const lin_layouts *layouts, bool explain)
{
    return explain || layouts->space == LIN_SPACE_PUBLISHED || lin_layouts_running(layouts) == 0;
}

void lin_report_layouts_table(lin_text *out, const lin_layouts *layouts, bool explain)
{
    const uint32_t running = lin_layouts_running(layouts);
    lin_text_addf(out, "Predicted throughput on %lld x %s", (long long)layouts->devices,
                  layouts->device);
    if (layouts->device_source[0] != '\0')
        lin_text_addf(out, " (%s)", layouts->device_source);
    lin_text_add(out, "\n\n");
    if (running > 0) {
        add_header(out, layouts);
        add_rows(out, layouts, true);
    } else {
        lin_text_addf(out, "No layout runs%s%s.\n", layouts->nothing != NULL ? ": " : "",
                      layouts->nothing != NULL ? layouts->nothing : "");
    }
    if (explain)
        add_groups(out, layouts);
    if (shows_dropped(layouts, explain))
        add_dropped(out, layouts, running, explain);
}

void lin_report_layouts_assumptions(lin_text *out, const lin_layouts *layouts)
{
    if (layouts->assumption_count > 0)
        lin_text_add(out, "\nAssumed:\n");
    for (uint32_t i = 0; i < layouts->assumption_count; i++)
        lin_text_addf(out, "  - %s\n", layouts->assumptions[i]);
}

void lin_report_layouts_text(lin_text *out, const lin_layouts *layouts, bool explain)
{
    const uint32_t running = lin_layouts_running(layouts);
    lin_report_layouts_table(out, layouts, explain);
    if (running == 0 && (explain || layouts->space == LIN_SPACE_PUBLISHED))
        add_closest(out, layouts);
    if (!explain)
        add_more(out, layouts, shows_dropped(layouts, explain) ? layouts->count : running);
    if (running > 0)
        lin_report_layouts_assumptions(out, layouts);
}
