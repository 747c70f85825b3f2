/* SPDX-License-Identifier: MIT */

/* A schedule as a table for people, with each rank's list in order, and as the JSON that the reader
 * takes. */

#include "schedule/schedule.h"
#include "json/json.h"
#include <string.h>

enum { LINE_WIDTH = 100, LIST_INDENT = 10 };

/* ---- text ---- */

static void add_number(lin_text *out, uint64_t width, int64_t value)
{
    lin_text number;
    lin_text_init(&number, &out->allocator);
    lin_text_i64(&number, value);
    lin_text_fill(out, ' ', number.length < width ? width - number.length : 0);
    lin_text_add(out, lin_text_data(&number));
    out->failed |= number.failed;
    lin_text_free(&number);
}

static void add_counted(lin_text *out, int64_t count, const char *one)
{
    lin_text_i64(out, count);
    lin_text_addf(out, " %s%s", one,
                  count == 1                        ? ""
                  : strcmp(one, "micro-batch") == 0 ? "es"
                                                    : "s");
}

static void add_title(lin_text *out, const lin_schedule *schedule)
{
    lin_text_addf(out, "%s: ", schedule->name);
    add_counted(out, schedule->ranks, "rank");
    lin_text_add(out, ", ");
    add_counted(out, schedule->stages, "stage");
    lin_text_add(out, ", ");
    add_counted(out, schedule->microbatches, "micro-batch");
    if (schedule->directions == 2)
        lin_text_add(out, ", half of them from each end");
    lin_text_add(out, "\n\n");
}

static void add_stages(lin_text *out, const lin_schedule *schedule, uint32_t rank)
{
    const lin_schedule_rank *r = &schedule->rank[rank];
    enum { SHOWN = 8 };
    for (uint32_t i = 0; i < r->slot_count && i < SHOWN; i++)
        lin_text_addf(out, "%s%u", i > 0 ? " " : "", r->slots[i].stage);
    if (r->slot_count > SHOWN)
        lin_text_addf(out, " ... %u", r->slots[r->slot_count - 1].stage);
}

static void add_table(lin_text *out, const lin_schedule *schedule, const lin_simulation *simulation)
{
    lin_text_add(out, "  rank    live  until W      busy      idle    finish  stages\n");
    for (uint32_t r = 0; r < schedule->ranks; r++) {
        const lin_rank_time *t = &simulation->rank[r];
        add_number(out, 6, r);
        add_number(out, 8, t->live_until_input);
        add_number(out, 9, t->live_until_weight);
        add_number(out, 10, t->busy);
        add_number(out, 10, simulation->makespan - t->busy);
        add_number(out, 10, t->finish);
        lin_text_add(out, "  ");
        add_stages(out, schedule, r);
        lin_text_add(out, "\n");
    }
    lin_text_add(out, "\n");
}

/* What of the ranks' time together is idle. */
static double idle_percent(const lin_schedule *schedule, const lin_simulation *simulation)
{
    double busy = 0;
    const double all = (double)simulation->makespan * (double)schedule->ranks;
    for (uint32_t r = 0; r < schedule->ranks; r++)
        busy += (double)simulation->rank[r].busy;
    return all > 0 ? 100.0 * (all - busy) / all : 0.0;
}

static void add_summary(lin_text *out, const lin_schedule *schedule,
                        const lin_simulation *simulation)
{
    int64_t longest = 0;
    uint32_t until_input = 0, until_weight = 0;
    for (uint32_t r = 0; r < schedule->ranks; r++) {
        const lin_rank_time *t = &simulation->rank[r];
        const int64_t idle = simulation->makespan - t->busy;
        longest = idle > longest ? idle : longest;
        until_input = t->live_until_input > until_input ? t->live_until_input : until_input;
        until_weight = t->live_until_weight > until_weight ? t->live_until_weight : until_weight;
    }
    lin_text_addf(out, "Makespan    %lld (F = I = W = 1, B = 2, no time between ranks)\n",
                  (long long)simulation->makespan);
    lin_text_addf(out, "Bubble      %lld on the rank that idles most, ", (long long)longest);
    lin_text_fixed(out, idle_percent(schedule, simulation), 1);
    lin_text_add(out, " % of the time of all ranks\n");
    lin_text_addf(out, "Live pairs  %u at most until B or I, %u until B or W\n\n", until_input,
                  until_weight);
}

/* "rank 12   0F0 0F1 ...", continued below the first action. */
static void add_list(lin_text *out, const lin_schedule *schedule, uint32_t rank)
{
    const lin_schedule_rank *r = &schedule->rank[rank];
    uint64_t line = out->length;
    lin_text_addf(out, "rank %-5u", rank);
    for (uint32_t i = 0; i < r->action_count; i += r->actions[i].overlaps_next ? 2u : 1u) {
        const uint64_t before = out->length;
        lin_text_add(out, " ");
        lin_action_spell(out, schedule, rank, i);
        if (out->failed || out->length - line <= LINE_WIDTH || before == line + LIST_INDENT)
            continue;
        out->data[before] = '\n'; /* the blank that this action began with */
        const uint64_t word = out->length - before - 1;
        lin_text_fill(out, ' ', LIST_INDENT + 1);
        if (out->failed)
            return;
        memmove(out->data + before + 1 + LIST_INDENT + 1, out->data + before + 1, (size_t)word);
        memset(out->data + before + 1, ' ', LIST_INDENT + 1);
        line = before + 1;
    }
    lin_text_add(out, "\n");
}

void lin_schedule_text(lin_text *out, const lin_schedule *schedule,
                       const lin_simulation *simulation)
{
    add_title(out, schedule);
    add_table(out, schedule, simulation);
    add_summary(out, schedule, simulation);
    for (uint32_t r = 0; r < schedule->ranks; r++)
        add_list(out, schedule, r);
}

/* ---- JSON ---- */

static void write_actions(lin_writer *w, const lin_schedule *schedule, uint32_t rank)
{
    const lin_schedule_rank *r = &schedule->rank[rank];
    lin_text word;
    lin_text_init(&word, &w->out->allocator);
    lin_write_array(w);
    for (uint32_t i = 0; i < r->action_count; i += r->actions[i].overlaps_next ? 2u : 1u) {
        lin_text_clear(&word);
        lin_action_spell(&word, schedule, rank, i);
        lin_write_string(w, lin_text_data(&word));
    }
    lin_write_array_end(w);
    w->out->failed |= word.failed;
    lin_text_free(&word);
}

void lin_schedule_json(lin_text *out, const lin_schedule *schedule)
{
    lin_writer w;
    lin_writer_init(&w, out);
    lin_write_object(&w);
    lin_write_key(&w, "schedule");
    lin_write_string(&w, schedule->name);
    lin_write_key(&w, "ranks");
    lin_write_i64(&w, schedule->ranks);
    lin_write_key(&w, "microbatches");
    lin_write_i64(&w, schedule->microbatches);
    lin_write_key(&w, "stages");
    lin_write_i64(&w, schedule->stages);
    lin_write_key(&w, "per_rank");
    lin_write_array(&w);
    for (uint32_t r = 0; r < schedule->ranks; r++) {
        lin_write_object(&w);
        lin_write_key(&w, "rank");
        lin_write_i64(&w, r);
        lin_write_key(&w, "actions");
        write_actions(&w, schedule, r);
        lin_write_object_end(&w);
    }
    lin_write_array_end(&w);
    lin_write_object_end(&w);
    lin_writer_end(&w);
}
