/* SPDX-License-Identifier: MIT */

/*
 * Advice for people and as JSON. The table has what saves alone, by time cost; of one change by
 * several numbers it shows those up to the first that fits, and the JSON has all.
 */

#include "report/report.h"

#include <string.h>

#include "report/report_columns.h"
#include "report/report_words.h"

enum { ADVICE_REPORT_VERSION = 1 };

/* Columns of the table, in characters. */
enum {
    NAME_WIDTH = 38,
    BYTES_WIDTH = 12,
    SAVED_WIDTH = 13,
    TIME_WIDTH = 15,
    PERCENT_WIDTH = 11,
    VERDICT_WIDTH = 8
};

/* ---- words ---- */

static double extra_share(const lin_advice *advice, const lin_outcome *outcome)
{
    return advice->base.seconds > 0 ? outcome->extra / advice->base.seconds : 0;
}

/* "+12.30 ms", or "-" where no time is known. */
static void add_extra(lin_text *out, const lin_outcome *outcome)
{
    if (outcome->seconds < 0) {
        lin_text_add(out, "-");
        return;
    }
    if (outcome->extra >= 0)
        lin_text_add(out, "+");
    lin_words_milliseconds(out, outcome->extra);
}

static void add_extra_share(lin_text *out, const lin_advice *advice, const lin_outcome *outcome)
{
    if (outcome->seconds < 0) {
        lin_text_add(out, "-");
        return;
    }
    if (outcome->extra >= 0)
        lin_text_add(out, "+");
    lin_words_percent(out, extra_share(advice, outcome));
}

/* ---- the table ---- */

static bool is_evaluated(const lin_advised *item)
{
    return item->state == LIN_ADVISED_SAVES || item->state == LIN_ADVISED_SAVES_NOTHING;
}

/* Up to the first of its family that fits; where none does, two and the last. */
static bool is_shown(const lin_advice *advice, uint32_t index)
{
    const lin_advised *item = &advice->items[index];
    uint32_t before = 0, behind = 0;
    bool fits_before = false, fits_behind = item->outcome.fits;
    for (uint32_t i = 0; i < advice->count; i++) {
        const lin_advised *other = &advice->items[i];
        if (other->family != item->family || i == index || other->state != LIN_ADVISED_SAVES)
            continue;
        before += i < index;
        behind += i > index;
        fits_before |= i < index && other->outcome.fits;
        fits_behind |= i > index && other->outcome.fits;
    }
    return item->state == LIN_ADVISED_SAVES && !fits_before &&
           (fits_behind || before < 2 || behind == 0);
}

static void add_row(lin_text *out, const lin_advice *advice, const lin_advised *item)
{
    uint64_t from;
    lin_column_left(out, item->name, NAME_WIDTH);
    from = out->length;
    lin_words_bytes(out, item->outcome.expected_peak);
    lin_column_right(out, from, BYTES_WIDTH);
    from = out->length;
    lin_words_bytes(out, item->outcome.saved);
    lin_column_right(out, from, SAVED_WIDTH);
    from = out->length;
    add_extra(out, &item->outcome);
    lin_column_right(out, from, TIME_WIDTH);
    from = out->length;
    add_extra_share(out, advice, &item->outcome);
    lin_column_right(out, from, PERCENT_WIDTH);
    lin_text_add(out, "  ");
    lin_column_left(out, item->outcome.verdict, VERDICT_WIDTH);
    lin_text_addf(out, "%s\n", item->options);
}

static void add_table(lin_text *out, const lin_advice *advice)
{
    uint32_t shown = 0, hidden = 0;
    for (uint32_t i = 0; i < advice->count; i++) {
        if (!is_shown(advice, i)) {
            hidden += advice->items[i].state == LIN_ADVISED_SAVES;
            continue;
        }
        if (shown++ == 0)
            lin_text_addf(out, "%-*s%*s%*s%*s%*s  %-*s%s\n", NAME_WIDTH, "change", BYTES_WIDTH,
                          "peak", SAVED_WIDTH, "saved", TIME_WIDTH, "time", PERCENT_WIDTH, "",
                          VERDICT_WIDTH, "verdict", "options");
        add_row(out, advice, &advice->items[i]);
    }
    if (shown == 0)
        lin_text_add(out, "No change saves anything alone.\n");
    if (hidden > 0)
        lin_text_addf(out, "(%u more sizes of these are in the JSON.)\n", hidden);
}

/* ---- remarks ---- */

/* The first that is shown of its family. */
static bool leads_family(const lin_advice *advice, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (advice->items[i].family == advice->items[index].family && is_shown(advice, i))
            return false;
    return is_shown(advice, index);
}

static void add_remarks(lin_text *out, const lin_advice *advice)
{
    uint32_t written = 0;
    for (uint32_t i = 0; i < advice->count; i++) {
        const lin_advised *item = &advice->items[i];
        if (item->changes[0] == '\0' || !leads_family(advice, i))
            continue;
        lin_text_addf(out, "%s  - %.*s: %s", written++ == 0 ? "\nAlso different then:\n" : "",
                      (int)strcspn(item->name, ":"), item->name, item->changes);
        if (item->effects != 0)
            lin_text_addf(out, " (%s)", lin_effects_name(item->effects));
        lin_text_add(out, "\n");
    }
}

static void add_others(lin_text *out, const lin_advice *advice)
{
    uint32_t nothing = 0, refused = 0;
    for (uint32_t i = 0; i < advice->count; i++)
        if (advice->items[i].state == LIN_ADVISED_SAVES_NOTHING)
            lin_text_addf(out, "%s%s", nothing++ == 0 ? "\nSaves nothing alone: " : ", ",
                          advice->items[i].name);
    lin_text_add(out, nothing > 0 ? ".\n" : "");
    for (uint32_t i = 0; i < advice->count; i++)
        if (!is_evaluated(&advice->items[i]))
            lin_text_addf(out, "%s  - %s: %s\n", refused++ == 0 ? "\nDoes not apply:\n" : "",
                          advice->items[i].name, advice->items[i].why_not);
}

/* ---- combinations ---- */

static const char *effect_words(lin_effects effects)
{
    if (effects & LIN_EFFECT_TASK)
        return "with another task";
    if ((effects & LIN_EFFECT_NUMERICS) && (effects & LIN_EFFECT_LENGTHS))
        return "with other numerics and shorter sequences";
    if (effects & LIN_EFFECT_NUMERICS)
        return "with other numerics";
    return effects & LIN_EFFECT_LENGTHS ? "with shorter sequences" : "with the same results";
}

static void add_members(lin_text *out, const lin_advice *advice, const lin_advised_set *set)
{
    if (set->count == 0)
        lin_text_add(out, "no change");
    for (uint32_t i = 0; i < set->count; i++)
        lin_text_addf(out, "%s%s", i > 0 ? " + " : "", advice->items[set->members[i]].name);
}

static void add_set(lin_text *out, const lin_advice *advice, const lin_advised_set *set)
{
    const char *order =
        advice->base.seconds >= 0 ? "Cheapest in time" : "Cheapest by the usual cost";
    lin_text_addf(out, "\n%s %s:\n  ", order, effect_words(set->effects));
    add_members(out, advice, set);
    lin_text_add(out, "\n  ");
    lin_words_bytes(out, set->outcome.expected_peak);
    lin_text_addf(out, " (%s), ", set->outcome.verdict);
    lin_words_bytes(out, set->outcome.saved);
    lin_text_add(out, " saved");
    if (set->outcome.seconds >= 0) {
        lin_text_add(out, ", ");
        add_extra(out, &set->outcome);
        lin_text_add(out, " (");
        add_extra_share(out, advice, &set->outcome);
        lin_text_add(out, ")");
    }
    lin_text_addf(out, "\n  %s\n", set->options);
}

static void add_closest(lin_text *out, const lin_advice *advice)
{
    const lin_advised_set *closest = advice->closest;
    lin_text_add(out, "\nNothing fits. The closest:\n  ");
    add_members(out, advice, closest);
    lin_text_add(out, "\n  ");
    if (closest->outcome.expected_peak >= 0) {
        lin_words_bytes(out, closest->outcome.expected_peak);
        lin_text_add(out, ", ");
        lin_words_bytes(out, closest->outcome.expected_peak - advice->budget);
        lin_text_add(out, " more than the budget");
    }
    lin_text_addf(out, "\n  %s\n", closest->options);
}

/* ---- the text ---- */

static void add_head(lin_text *out, const lin_advice *advice)
{
    lin_text_addf(out, "%s, %s: ", advice->model, advice->entry);
    lin_words_bytes(out, advice->base.expected_peak);
    lin_text_add(out, " expected, ");
    if (!advice->base.fits) {
        lin_words_bytes(out, advice->base.expected_peak - advice->budget);
        lin_text_add(out, " more than the budget of ");
    } else {
        lin_text_add(out, "within the budget of ");
    }
    lin_words_bytes(out, advice->budget);
    lin_text_addf(out, " (%s).\n", advice->base.verdict);
    if (advice->base.seconds >= 0) {
        lin_text_add(out, "A step takes ");
        lin_words_milliseconds(out, advice->base.seconds);
        lin_text_addf(out, " on %s, time model %s.\n", advice->device,
                      lin_time_model_name(advice->time_model));
    } else if (advice->untimed != NULL) {
        lin_text_addf(out, "No times: %s.\n", advice->untimed);
    }
    if (advice->base.fits)
        lin_text_add(out, "Nothing has to change.\n");
    lin_text_add(out, "\n");
}

void lin_report_advice_text(lin_text *out, const lin_advice *advice)
{
    add_head(out, advice);
    add_table(out, advice);
    for (uint32_t i = 0; i < advice->set_count; i++)
        add_set(out, advice, &advice->sets[i]);
    if (advice->closest != NULL)
        add_closest(out, advice);
    add_remarks(out, advice);
    add_others(out, advice);
}

/* ---- JSON ---- */

static void pair_seconds(lin_writer *w, const char *key, bool known, double value)
{
    lin_write_key(w, key);
    if (known)
        lin_write_double(w, value);
    else
        lin_write_null(w);
}

static void write_outcome(lin_writer *w, const lin_advice *advice, const lin_outcome *outcome,
                          bool is_known)
{
    const bool is_timed = outcome->seconds >= 0;
    lin_pair_known(w, "expected_peak", is_known, outcome->expected_peak);
    lin_pair_known(w, "saved", is_known, outcome->saved);
    lin_pair_known(w, "headroom", is_known, advice->budget - outcome->expected_peak);
    pair_seconds(w, "seconds", is_timed, outcome->seconds);
    pair_seconds(w, "extra_seconds", is_timed, outcome->extra);
    pair_seconds(w, "extra_share", is_timed, extra_share(advice, outcome));
    lin_pair_string(w, "verdict", is_known ? outcome->verdict : NULL);
}

static void write_item(lin_writer *w, const lin_advice *advice, const lin_advised *item)
{
    lin_write_object(w);
    lin_pair_string(w, "name", item->name);
    lin_pair_string(w, "state", lin_advised_state_name(item->state));
    lin_pair_string(w, "why_not", item->why_not[0] != '\0' ? item->why_not : NULL);
    lin_pair_string(w, "options", item->options);
    lin_pair_string(w, "effect", lin_effects_name(item->effects));
    lin_pair_string(w, "reason", item->reason);
    lin_pair_string(w, "remark", item->changes[0] != '\0' ? item->changes : NULL);
    write_outcome(w, advice, &item->outcome, is_evaluated(item));
    lin_write_object_end(w);
}

static void write_set(lin_writer *w, const lin_advice *advice, const lin_advised_set *set)
{
    lin_write_object(w);
    lin_write_key(w, "changes");
    lin_write_array(w);
    for (uint32_t i = 0; i < set->count; i++)
        lin_write_string(w, advice->items[set->members[i]].name);
    lin_write_array_end(w);
    lin_pair_string(w, "options", set->options);
    lin_pair_string(w, "effect", lin_effects_name(set->effects));
    write_outcome(w, advice, &set->outcome, set->outcome.expected_peak >= 0);
    lin_write_object_end(w);
}

static void write_lists(lin_writer *w, const lin_advice *advice)
{
    lin_write_key(w, "changes");
    lin_write_array(w);
    for (uint32_t i = 0; i < advice->count; i++)
        write_item(w, advice, &advice->items[i]);
    lin_write_array_end(w);
    lin_write_key(w, "combinations");
    lin_write_array(w);
    for (uint32_t i = 0; i < advice->set_count; i++)
        write_set(w, advice, &advice->sets[i]);
    lin_write_array_end(w);
    lin_write_key(w, "closest");
    if (advice->closest != NULL)
        write_set(w, advice, advice->closest);
    else
        lin_write_null(w);
    lin_pair_strings(w, "assumptions", advice->assumptions, advice->assumption_count);
}

void lin_report_advice_json(lin_text *out, const lin_advice *advice)
{
    lin_writer w;
    lin_writer_init(&w, out);
    lin_write_object(&w);
    lin_pair_i64(&w, "version", ADVICE_REPORT_VERSION);
    lin_pair_string(&w, "target", "advice");
    lin_pair_string(&w, "model", advice->model);
    lin_pair_string(&w, "entry", advice->entry);
    lin_pair_string(&w, "device", advice->device);
    lin_pair_string(&w, "time_model",
                    advice->base.seconds >= 0 ? lin_time_model_name(advice->time_model) : NULL);
    lin_pair_string(&w, "untimed", advice->untimed);
    lin_pair_i64(&w, "budget", advice->budget);
    lin_pair_bool(&w, "fits", advice->base.fits);
    lin_write_key(&w, "base");
    lin_write_object(&w);
    write_outcome(&w, advice, &advice->base, advice->base.expected_peak >= 0);
    lin_write_object_end(&w);
    write_lists(&w, advice);
    lin_write_object_end(&w);
    lin_writer_end(&w);
}
