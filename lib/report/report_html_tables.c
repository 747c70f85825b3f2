/* SPDX-License-Identifier: MIT */

/* The page's tables: devices, components with their formulas, the largest tensors at the peak; and
 * its lists of what is not known, warned of and assumed. */

#include "report/report_picture.h"

#include <string.h>

enum { MAX_LARGEST = 20, MAX_PLAIN_FORMULA = 140 /* longer ones are folded away */ };

static void start_table(lin_text *out, const char *id, const char *title, const char *head)
{
    lin_text_addf(out,
                  "<section aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n"
                  "<div class=\"scroll\" role=\"region\" aria-labelledby=\"%s-title\" "
                  "tabindex=\"0\">\n<table id=\"%s\">\n<thead><tr>%s</tr></thead>\n<tbody>\n",
                  id, id, title, id, id, head);
}

static void end_table(lin_text *out)
{
    lin_text_add(out, "</table>\n</div>\n</section>\n");
}

static void add_cell(lin_text *out, const char *text)
{
    lin_text_add(out, "<td>");
    lin_markup_add(out, text);
    lin_text_add(out, "</td>");
}

static void add_bytes_cell(lin_text *out, int64_t bytes)
{
    lin_text_add(out, "<td class=\"number\" title=\"");
    lin_text_i64(out, bytes);
    lin_text_add(out, " bytes\">");
    lin_markup_add_bytes(out, bytes);
    lin_text_add(out, "</td>");
}

static void add_formula_cell(lin_text *out, const char *formula)
{
    lin_text_add(out, "<td class=\"formula\">");
    const bool is_long = formula != NULL && strlen(formula) > MAX_PLAIN_FORMULA;
    if (is_long)
        lin_text_addf(out, "<details><summary>%lld characters</summary>",
                      (long long)strlen(formula));
    if (formula != NULL) {
        lin_text_add(out, "<code>");
        lin_markup_add(out, formula);
        lin_text_add(out, "</code>");
    }
    lin_text_add(out, is_long ? "</details></td>" : "</td>");
}

/* ---- components ---- */

static void add_component(lin_text *out, const lin_answer *answer, const lin_component *component)
{
    lin_text_addf(out, "<tr><th scope=\"row\"><i class=\"swatch band-%s\"></i>",
                  lin_picture_band_id(component->category));
    lin_markup_add(out, component->name);
    lin_text_add(out, "</th>");
    if (component->known) {
        add_bytes_cell(out, component->bytes);
        lin_text_add(out, "<td class=\"number\">");
        if (answer->peaks.expected > 0)
            lin_picture_add_percent(out, component->bytes, answer->peaks.expected);
        lin_text_add(out, "</td>");
    } else {
        lin_text_add(out, "<td class=\"number\">unknown</td><td></td>");
    }
    lin_text_addf(out, "<td><span class=\"confidence %s\">%s</span></td>",
                  lin_confidence_name(component->confidence),
                  lin_confidence_name(component->confidence));
    add_formula_cell(out, component->formula);
    add_cell(out, component->note);
    lin_text_add(out, "</tr>\n");
}

static void add_sum(lin_text *out, const char *words, int64_t bytes, const char *confidence)
{
    lin_text_addf(out, "<tr><th scope=\"row\">%s</th>", words);
    add_bytes_cell(out, bytes);
    lin_text_add(out, "<td></td>");
    add_cell(out, confidence);
    lin_text_add(out, "<td></td><td></td></tr>\n");
}

void lin_html_add_components(lin_text *out, const lin_answer *answer)
{
    start_table(out, "components", "Components",
                "<th scope=\"col\">Component</th><th scope=\"col\" class=\"number\">Size</th>"
                "<th scope=\"col\" class=\"number\">Share</th><th scope=\"col\">Confidence</th>"
                "<th scope=\"col\">Formula, in bytes</th><th scope=\"col\">Note</th>");
    for (uint32_t i = 0; i < answer->component_count; i++)
        add_component(out, answer, &answer->components[i]);
    lin_text_add(out, "</tbody>\n<tfoot>\n");
    add_sum(out, "Graph peak", answer->peaks.graph, "");
    add_sum(out, "Allocator peak", answer->peaks.allocator, "");
    add_sum(out, "Expected peak", answer->peaks.expected, lin_confidence_name(answer->confidence));
    lin_text_add(out, "</tfoot>\n");
    end_table(out);
}

/* ---- tensors, devices ---- */

void lin_html_add_largest(lin_text *out, const lin_answer *answer)
{
    if (answer->largest_count == 0)
        return;
    start_table(out, "largest", "Largest tensors at the peak",
                "<th scope=\"col\">Tensor</th><th scope=\"col\" class=\"number\">Size</th>"
                "<th scope=\"col\">Path</th><th scope=\"col\">Formula, in bytes</th>");
    for (uint32_t i = 0; i < answer->largest_count && i < MAX_LARGEST; i++) {
        const lin_largest *tensor = &answer->largest[i];
        lin_text_add(out, "<tr><th scope=\"row\">");
        lin_markup_add(out, tensor->name);
        lin_text_add(out, "</th>");
        add_bytes_cell(out, tensor->bytes);
        lin_text_add(out, "<td class=\"path\">");
        lin_markup_add(out, tensor->path);
        lin_text_add(out, "</td>");
        add_formula_cell(out, tensor->formula);
        lin_text_add(out, "</tr>\n");
    }
    lin_text_add(out, "</tbody>\n");
    end_table(out);
}

void lin_html_add_devices(lin_text *out, const lin_answer *answer)
{
    if (answer->device_count < 2)
        return;
    start_table(out, "devices", "Devices",
                "<th scope=\"col\">Device</th><th scope=\"col\" class=\"number\">Expected peak</th>"
                "<th scope=\"col\" class=\"number\">Graph peak</th><th scope=\"col\">Holds</th>");
    for (uint32_t i = 0; i < answer->device_count; i++) {
        const lin_device_summary *device = &answer->devices[i];
        lin_text_add(out, "<tr><th scope=\"row\">");
        lin_markup_add(out, device->name);
        lin_text_add(out, "</th>");
        add_bytes_cell(out, device->expected_peak);
        add_bytes_cell(out, device->graph_peak);
        add_cell(out, device->holds);
        lin_text_add(out, "</tr>\n");
    }
    lin_text_add(out, "</tbody>\n");
    end_table(out);
}

/* ---- lists ---- */

static void add_list(lin_text *out, const char *id, const char *title, const char *const *items,
                     uint32_t count)
{
    if (count == 0)
        return;
    lin_text_addf(out, "<section>\n<h2>%s</h2>\n<ul id=\"%s\">\n", title, id);
    for (uint32_t i = 0; i < count; i++) {
        lin_text_add(out, "<li>");
        lin_markup_add(out, items[i]);
        lin_text_add(out, "</li>\n");
    }
    lin_text_add(out, "</ul>\n</section>\n");
}

void lin_html_add_lists(lin_text *out, const lin_answer *answer)
{
    add_list(out, "warnings", "Warnings", answer->warnings, answer->warning_count);
    add_list(out, "unknown", "Not included (unknown)", answer->unknown, answer->unknown_count);
    add_list(out, "assumptions", "Assumptions", answer->assumptions, answer->assumption_count);
}
