/* SPDX-License-Identifier: MIT */

/* The diagnostics handle: a list of findings by index. */

#include "api/api.h"

linnet_status linnet_diagnostics_new(linnet_diagnostics **out_diagnostics, linnet_error *err)
{
    linnet_diagnostics *diagnostics = lin_alloc_zeroed(&lin_default_allocator, sizeof *diagnostics);
    if (diagnostics == NULL)
        return lin_fail_memory(err);
    lin_diagnostics_init(&diagnostics->list, &lin_default_allocator,
                         lin_lang_default_limits.diagnostics);
    *out_diagnostics = diagnostics;
    return LINNET_OK;
}

void linnet_diagnostics_free(linnet_diagnostics *diagnostics)
{
    if (diagnostics == NULL)
        return;
    lin_diagnostics_free(&diagnostics->list);
    lin_release(&lin_default_allocator, diagnostics, sizeof *diagnostics);
}

static const lin_diagnostic *finding(const linnet_diagnostics *diagnostics, uint64_t index)
{
    return index < diagnostics->list.list.count ? diagnostics->list.list.items[index] : NULL;
}

static const lin_place_range *place_at(const linnet_diagnostics *diagnostics, uint64_t index,
                                       uint64_t place)
{
    const lin_diagnostic *d = finding(diagnostics, index);
    return d != NULL && place < d->place_count ? &d->places[place] : NULL;
}

uint64_t linnet_diagnostics_count(const linnet_diagnostics *diagnostics)
{
    return diagnostics->list.list.count;
}

uint64_t linnet_diagnostics_error_count(const linnet_diagnostics *diagnostics)
{
    return diagnostics->list.error_count;
}

uint64_t linnet_diagnostics_warning_count(const linnet_diagnostics *diagnostics)
{
    return diagnostics->list.warning_count;
}

int32_t linnet_diagnostics_severity(const linnet_diagnostics *diagnostics, uint64_t index)
{
    const lin_diagnostic *d = finding(diagnostics, index);
    if (d == NULL)
        return LINNET_SEVERITY_INVALID;
    switch (d->severity) {
    case LIN_SEVERITY_ERROR:
        return LINNET_SEVERITY_ERROR;
    case LIN_SEVERITY_WARNING:
        return LINNET_SEVERITY_WARNING;
    case LIN_SEVERITY_NOTE:
        return LINNET_SEVERITY_NOTE;
    }
    return LINNET_SEVERITY_INVALID;
}

const char *linnet_diagnostics_code(const linnet_diagnostics *diagnostics, uint64_t index)
{
    const lin_diagnostic *d = finding(diagnostics, index);
    return d != NULL ? d->code : NULL;
}

const char *linnet_diagnostics_message(const linnet_diagnostics *diagnostics, uint64_t index)
{
    const lin_diagnostic *d = finding(diagnostics, index);
    return d != NULL ? d->message : NULL;
}

uint64_t linnet_diagnostics_place_count(const linnet_diagnostics *diagnostics, uint64_t index)
{
    const lin_diagnostic *d = finding(diagnostics, index);
    return d != NULL ? d->place_count : 0;
}

const char *linnet_diagnostics_place_file(const linnet_diagnostics *diagnostics, uint64_t index,
                                          uint64_t place)
{
    const lin_place_range *p = place_at(diagnostics, index, place);
    return p != NULL ? p->file : NULL;
}

const char *linnet_diagnostics_place_label(const linnet_diagnostics *diagnostics, uint64_t index,
                                           uint64_t place)
{
    const lin_place_range *p = place_at(diagnostics, index, place);
    return p != NULL ? p->label : NULL;
}

static void put(uint32_t *out, uint32_t value)
{
    if (out != NULL)
        *out = value;
}

linnet_status linnet_diagnostics_place(const linnet_diagnostics *diagnostics, uint64_t index,
                                       uint64_t place, uint32_t *out_start_line,
                                       uint32_t *out_start_column, uint32_t *out_end_line,
                                       uint32_t *out_end_column, linnet_error *err)
{
    const lin_place_range *p = place_at(diagnostics, index, place);
    if (p == NULL)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "there is no such place");
    put(out_start_line, p->start_line);
    put(out_start_column, p->start_column);
    put(out_end_line, p->end_line);
    put(out_end_column, p->end_column);
    return LINNET_OK;
}

uint64_t linnet_diagnostics_note_count(const linnet_diagnostics *diagnostics, uint64_t index)
{
    const lin_diagnostic *d = finding(diagnostics, index);
    return d != NULL ? d->note_count : 0;
}

const char *linnet_diagnostics_note(const linnet_diagnostics *diagnostics, uint64_t index,
                                    uint64_t note)
{
    const lin_diagnostic *d = finding(diagnostics, index);
    return d != NULL && note < d->note_count ? d->notes[note] : NULL;
}

uint64_t linnet_diagnostics_help_count(const linnet_diagnostics *diagnostics, uint64_t index)
{
    const lin_diagnostic *d = finding(diagnostics, index);
    return d != NULL ? d->help_count : 0;
}

const char *linnet_diagnostics_help(const linnet_diagnostics *diagnostics, uint64_t index,
                                    uint64_t help)
{
    const lin_diagnostic *d = finding(diagnostics, index);
    return d != NULL && help < d->help_count ? d->helps[help] : NULL;
}

linnet_status linnet_diagnostics_to_text(const linnet_diagnostics *diagnostics, int32_t colour,
                                         linnet_text **out_text, linnet_error *err)
{
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_diagnostics_print(&text, &diagnostics->list, colour != 0);
    return lin_text_wrap(&text, out_text, err);
}

linnet_status linnet_diagnostics_to_json(const linnet_diagnostics *const *lists, uint64_t count,
                                         linnet_text **out_text, linnet_error *err)
{
    lin_text text;
    const lin_diagnostics **plain = lin_alloc(&lin_default_allocator, (count + 1) * sizeof *plain);
    if (plain == NULL)
        return lin_fail_memory(err);
    for (uint64_t i = 0; i < count; i++)
        plain[i] = &lists[i]->list;
    lin_text_init(&text, &lin_default_allocator);
    lin_report_diagnostics_json(&text, plain, count);
    lin_release(&lin_default_allocator, plain, (count + 1) * sizeof *plain);
    return lin_text_wrap(&text, out_text, err);
}

const char *linnet_diagnostic_title(const char *code)
{
    const lin_code_meaning *meaning = code != NULL ? lin_code_find(code) : NULL;
    return meaning != NULL ? meaning->title : NULL;
}

const char *linnet_diagnostic_explanation(const char *code)
{
    const lin_code_meaning *meaning = code != NULL ? lin_code_find(code) : NULL;
    return meaning != NULL ? meaning->text : NULL;
}

uint64_t linnet_diagnostic_code_count(void)
{
    return lin_code_count();
}

const char *linnet_diagnostic_code(uint64_t index)
{
    return index < lin_code_count() ? lin_code_at((uint32_t)index)->code : NULL;
}
