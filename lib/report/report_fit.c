/* SPDX-License-Identifier: MIT */

/* The largest size that fits, as text and JSON (cli-report.md 3.1), the report of it included. */

#include "report/report.h"

#include "report/report_words.h"
#include "json/json.h"

static const struct fit_words {
    const char *size, *label, *target;
} fit_words[LIN_ROLE_COUNT] = {
    [LIN_ROLE_BATCH] = { "batch size", "Maximum batch size", "batch" },
    [LIN_ROLE_CONTEXT] = { "context length", "Maximum context length", "context" },
    [LIN_ROLE_CACHE] = { "cache length", "Maximum cache length", "kv-cache" },
};

static void add_found(lin_text *out, const lin_fit *fit)
{
    lin_text_addf(out, "%s: %lld\n\nEstimated peak memory: ", fit_words[fit->role].label,
                  (long long)fit->value);
    lin_words_bytes(out, fit->expected_peak);
    lin_text_add(out, "\nHeadroom: ");
    lin_words_bytes(out, fit->headroom);
    lin_text_add(out, " of a ");
    lin_words_bytes(out, fit->budget);
    lin_text_add(out, " budget\n");
    if (fit->limited_by == LIN_FIT_MODEL)
        lin_text_add(out, "Stopped by the model's `where` clauses, not by memory.\n");
    else if (fit->limited_by == LIN_FIT_SEARCH)
        lin_text_add(out, "Stopped at the search limit, not by memory.\n");
}

static void add_nothing(lin_text *out, const lin_fit *fit)
{
    lin_text_addf(out, "No %s fits: ", fit_words[fit->role].size);
    if (fit->smallest == 0) {
        lin_text_add(out, "each breaks the model's `where` clauses.\n");
        return;
    }
    lin_text_addf(out, "even %lld needs more than ", (long long)fit->smallest);
    lin_words_bytes(out, fit->budget);
    lin_text_add(out, ".\n");
}

void lin_report_fit_text(lin_text *out, const lin_fit *fit, const lin_answer *answer, uint32_t top)
{
    if (fit->value > 0)
        add_found(out, fit);
    else
        add_nothing(out, fit);
    if (answer == NULL)
        return;
    lin_text_add(out, "\n");
    lin_report_text(out, answer, top);
}

void lin_report_fit_json(lin_text *out, const lin_fit *fit, const lin_answer *answer, uint32_t top)
{
    const bool found = fit->value > 0;
    lin_writer w;
    lin_writer_init(&w, out);
    lin_write_object(&w);
    lin_pair_string(&w, "target", fit_words[fit->role].target);
    lin_pair_known(&w, "value", found, fit->value);
    lin_pair_i64(&w, "budget", fit->budget);
    lin_pair_known(&w, "headroom", found, fit->headroom);
    lin_pair_string(&w, "limited_by", lin_fit_limit_name(fit->limited_by));
    lin_write_key(&w, "result");
    if (found && answer != NULL)
        lin_report_json_into(&w, answer, top);
    else
        lin_write_null(&w);
    lin_write_object_end(&w);
    lin_writer_end(&w);
}
