/* SPDX-License-Identifier: MIT */

/* The diagnostics of checked files as the JSON document of cli-report.md 4.3. Every entry has every
 * key: an unlabelled place has a null label, a finding without a place a null location. */

#include "report/report.h"

#include "lang/diagnostics.h"
#include "json/json.h"

enum { DIAGNOSTICS_VERSION = 1 };

static const char *const severity_names[] = {
    [LIN_SEVERITY_ERROR] = "error",
    [LIN_SEVERITY_WARNING] = "warning",
    [LIN_SEVERITY_NOTE] = "note",
};

static void write_point(lin_writer *w, const char *key, uint32_t line, uint32_t column,
                        uint32_t offset)
{
    lin_write_key(w, key);
    lin_write_object(w);
    lin_pair_i64(w, "line", line);
    lin_pair_i64(w, "column", column);
    lin_pair_i64(w, "offset", offset);
    lin_write_object_end(w);
}

static void write_label(lin_writer *w, const lin_place_range *place)
{
    const bool has_label = place != NULL && place->label != NULL && place->label[0] != '\0';
    lin_pair_string(w, "label", has_label ? place->label : NULL);
}

static void write_location(lin_writer *w, const lin_place_range *place)
{
    lin_write_key(w, "location");
    if (place == NULL) {
        lin_write_null(w);
        return;
    }
    lin_write_object(w);
    lin_pair_string(w, "file", place->file);
    write_point(w, "start", place->start_line, place->start_column, place->start_offset);
    write_point(w, "end", place->end_line, place->end_column, place->end_offset);
    lin_write_object_end(w);
}

static void write_texts(lin_writer *w, const char *key, const char **texts, uint32_t count)
{
    lin_pair_strings(w, key, texts, count);
}

static void write_diagnostic(lin_writer *w, const lin_diagnostic *d)
{
    const lin_place_range *primary = d->place_count > 0 ? &d->places[0] : NULL;
    lin_write_object(w);
    lin_pair_string(w, "code", d->code);
    lin_pair_string(w, "severity", severity_names[d->severity]);
    lin_pair_string(w, "message", d->message);
    write_label(w, primary);
    write_location(w, primary);

    lin_write_key(w, "related");
    lin_write_array(w);
    for (uint32_t i = 1; i < d->place_count; i++) {
        lin_write_object(w);
        write_label(w, &d->places[i]);
        write_location(w, &d->places[i]);
        lin_write_object_end(w);
    }
    lin_write_array_end(w);
    write_texts(w, "notes", d->notes, d->note_count);
    write_texts(w, "help", d->helps, d->help_count);
    lin_write_object_end(w);
}

void lin_report_diagnostics_json(lin_text *out, const lin_diagnostics *const *lists, uint64_t count)
{
    lin_writer w;
    lin_writer_init(&w, out);
    lin_write_object(&w);
    lin_pair_i64(&w, "version", DIAGNOSTICS_VERSION);
    lin_write_key(&w, "diagnostics");
    lin_write_array(&w);
    int64_t errors = 0, warnings = 0;
    for (uint64_t l = 0; l < count; l++) {
        for (uint32_t i = 0; i < lists[l]->list.count; i++)
            write_diagnostic(&w, lists[l]->list.items[i]);
        errors += lists[l]->error_count;
        warnings += lists[l]->warning_count;
    }
    lin_write_array_end(&w);

    lin_write_key(&w, "summary");
    lin_write_object(&w);
    lin_pair_i64(&w, "errors", errors);
    lin_pair_i64(&w, "warnings", warnings);
    lin_write_object_end(&w);
    lin_write_object_end(&w);
    lin_writer_end(&w);
}
