/* SPDX-License-Identifier: MIT */

/* An answer as the text of cli-report.md 2.1: devices, components, peaks, where, what is unknown.
 */

#include "report/report.h"

#include <string.h>

#include "report/report_words.h"

enum {
    NAME_WIDTH = 20, /* at least */
    SIZE_WIDTH = 12,
    DEVICE_WIDTH = 10,
    RULE_BEYOND_NAME = 16
};

static void add_left(lin_text *out, const char *word, uint64_t width)
{
    const uint64_t length = strlen(word);
    lin_text_append(out, word, length);
    lin_text_fill(out, ' ', length < width ? width - length : 0);
}

static void add_size(lin_text *out, int64_t bytes, uint64_t width)
{
    char text[LIN_BYTES_TEXT];
    lin_format_bytes(text, bytes);
    const uint64_t length = strlen(text);
    lin_text_fill(out, ' ', length < width ? width - length : 0);
    lin_text_append(out, text, length);
}

static const lin_device_summary *most_loaded(const lin_answer *answer)
{
    const lin_device_summary *most = &answer->devices[0];
    for (uint32_t i = 1; i < answer->device_count; i++)
        if (answer->devices[i].expected_peak > most->expected_peak)
            most = &answer->devices[i];
    return most;
}

static void add_devices(lin_text *out, const lin_answer *answer)
{
    if (answer->device_count < 2)
        return;
    for (uint32_t i = 0; i < answer->device_count; i++) {
        const lin_device_summary *device = &answer->devices[i];
        add_left(out, device->name, DEVICE_WIDTH);
        add_size(out, device->expected_peak, SIZE_WIDTH);
        lin_text_addf(out, "  %s\n", device->holds);
    }
    lin_text_addf(out, "\nThe most loaded, %s:\n\n", most_loaded(answer)->name);
}

static uint64_t name_width(const lin_answer *answer)
{
    uint64_t width = NAME_WIDTH;
    for (uint32_t i = 0; i < answer->component_count; i++) {
        const uint64_t length = strlen(answer->components[i].name);
        if (answer->components[i].known && length > width)
            width = length;
    }
    return width;
}

static void add_line(lin_text *out, const char *name, uint64_t width, int64_t bytes)
{
    add_left(out, name, width + 2);
    add_size(out, bytes, SIZE_WIDTH);
}

static void add_components(lin_text *out, const lin_answer *answer)
{
    const uint64_t width = name_width(answer);
    for (uint32_t i = 0; i < answer->component_count; i++) {
        const lin_component *component = &answer->components[i];
        if (!component->known)
            continue;
        add_line(out, component->name, width, component->bytes);
        lin_text_addf(out, "  [%s]\n", lin_confidence_name(component->confidence));
    }
    lin_text_fill(out, '-', width + RULE_BEYOND_NAME);
    lin_text_add(out, "\n");
    add_line(out, "Graph peak", width, answer->peaks.graph);
    lin_text_add(out, "\n");
    add_line(out, "Expected peak", width, answer->peaks.expected);
    lin_text_addf(out, "  [%s]\n", lin_confidence_name(answer->confidence));
}

static void add_plan(lin_text *out, const lin_answer *answer)
{
    if (!answer->has_plan)
        return;
    lin_text_add(out, "Transient storage: ");
    add_size(out, answer->plan.naive_bytes, 0);
    lin_text_add(out, " with a buffer per tensor, ");
    add_size(out, answer->plan.planned_bytes, 0);
    lin_text_add(out, " planned, ");
    add_size(out, answer->plan.live_bytes, 0);
    lin_text_add(out, " live at most.\n");
}

/* "+33.0%": tenths of a percent, rounded. */
static void add_recompute(lin_text *out, const lin_answer *answer)
{
    if (answer->training == NULL || !answer->training->has_recompute)
        return;
    const int64_t tenths = (int64_t)(answer->training->recompute * 1000 + 0.5);
    lin_text_addf(out, "Recomputation: +%lld.%lld%% compute (estimated).\n",
                  (long long)(tenths / 10), (long long)(tenths % 10));
}

static const char *path_words(const lin_largest *tensor)
{
    return tensor->path[0] != '\0' ? tensor->path : "-";
}

/* Size, name, path and formula of the largest live tensors, in columns. */
static void add_largest(lin_text *out, const lin_answer *answer, uint32_t top)
{
    const uint32_t count = top < answer->largest_count ? top : answer->largest_count;
    if (count == 0)
        return;
    uint64_t names = 0, paths = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t name = strlen(answer->largest[i].name);
        const uint64_t path = strlen(path_words(&answer->largest[i]));
        names = name > names ? name : names;
        paths = path > paths ? path : paths;
    }

    lin_text_add(out, "\nLargest tensors at the peak:\n");
    for (uint32_t i = 0; i < count; i++) {
        const lin_largest *tensor = &answer->largest[i];
        add_size(out, tensor->bytes, SIZE_WIDTH);
        lin_text_add(out, "  ");
        add_left(out, tensor->name, names + 2);
        if (tensor->formula != NULL) {
            add_left(out, path_words(tensor), paths + 2);
            lin_text_add(out, tensor->formula);
        } else {
            lin_text_add(out, path_words(tensor));
        }
        lin_text_add(out, "\n");
    }
}

static void add_list(lin_text *out, const char *title, const char *const *items, uint32_t count)
{
    if (count == 0)
        return;
    lin_text_addf(out, "\n%s:\n", title);
    for (uint32_t i = 0; i < count; i++) {
        /* Not through a format: an item may be as long as a program's `where` clause. */
        lin_text_add(out, "  - ");
        lin_text_add(out, items[i]);
        lin_text_add(out, "\n");
    }
}

void lin_report_text(lin_text *out, const lin_answer *answer, uint32_t top)
{
    add_devices(out, answer);
    add_components(out, answer);
    lin_text_add(out, "\nPeak at ");
    lin_text_add(out, answer->peak_at);
    lin_text_add(out, ".\n");
    if (answer->device_memory > 0)
        lin_words_verdict(out, answer->peaks.expected, answer->device_memory);
    add_plan(out, answer);
    add_recompute(out, answer);
    add_largest(out, answer, top);
    add_list(out, "Not included (unknown)", answer->unknown, answer->unknown_count);
    add_list(out, "Warnings", answer->warnings, answer->warning_count);
}
