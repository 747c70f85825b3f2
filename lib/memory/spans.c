/* SPDX-License-Identifier: MIT */

/*
 * All moments of an answer: columns of bytes by category, phases, what runs when, and every held
 * tensor with its first and last moment, for pictures and for callers that draw their own. Cost:
 * linear in intervals and moments.
 */

#include "memory/training.h"

static const char *const phase_names[] = { "forward", "recomputation", "backward", "optimizer" };

static void list_phases(lin_arena *arena, const lin_running *running, lin_answer_timeline *out)
{
    LIN_LIST(lin_phase_span) phases = { NULL, 0, 0 };
    for (int32_t m = 0; m < out->length; m++) {
        if (m > 0 && running[m].phase == running[m - 1].phase) {
            phases.items[phases.count - 1].end = m + 1;
            continue;
        }
        const lin_phase_span span = { phase_names[running[m].phase], m, m + 1 };
        LIN_PUSH(arena, &phases, span);
    }
    out->phases = phases.items;
    out->phase_count = phases.count;
}

static void list_steps(lin_arena *arena, const lin_memory *memory, const lin_running *running,
                       lin_answer_timeline *out)
{
    const lin_graph *graph = memory->traced.graph;
    int32_t *steps = LIN_NEW_ARRAY(arena, int32_t, (uint64_t)out->length);
    const char **labels = LIN_NEW_ARRAY(arena, const char *, graph->steps.count);
    for (int32_t m = 0; m < out->length; m++)
        steps[m] = running[m].step;
    for (uint32_t k = 0; k < graph->steps.count; k++)
        labels[k] = lin_memory_step_label(arena, graph, (int32_t)k);
    out->steps = steps;
    out->labels = labels;
    out->label_count = graph->steps.count;
}

static void list_columns(lin_arena *arena, const lin_memory *memory, lin_answer_timeline *out)
{
    int64_t *columns[LIN_CATEGORY_COUNT] = { NULL };
    for (uint32_t i = 0; i < lin_timeline_count(memory->timeline); i++) {
        const lin_category category = lin_timeline_interval(memory->timeline, i)->category;
        if (columns[category] == NULL)
            columns[category] = LIN_NEW_ARRAY(arena, int64_t, (uint64_t)out->length);
    }
    lin_timeline_columns(memory->timeline, memory->values, columns);
    for (lin_category c = 0; c < LIN_CATEGORY_COUNT; c++)
        out->bytes[c] = columns[c];
}

static void list_spans(lin_arena *arena, const lin_memory *memory, lin_arena *scratch,
                       lin_answer_timeline *out)
{
    const lin_graph *graph = memory->traced.graph;
    uint32_t count = 0;
    const lin_timeline_event *events = lin_timeline_events(scratch, memory->timeline, &count);
    lin_held_span *spans = LIN_NEW_ARRAY(arena, lin_held_span, count / 2);
    uint32_t made = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (events[i].frees)
            continue;
        const lin_interval *interval = lin_timeline_interval(memory->timeline, events[i].interval);
        lin_held_span *span = &spans[made++];
        *span = (lin_held_span){
            .reason = lin_reason_words(interval->reason),
            .category = interval->category,
            .confidence = interval->confidence,
            .bytes = lin_timeline_bytes(memory->timeline, memory->values, events[i].interval),
            .first = interval->first,
            .end = interval->end,
        };
        lin_memory_name_interval(arena, graph, interval, &span->name, &span->path);
    }
    out->spans = spans;
    out->span_count = made;
}

void lin_memory_list_timeline(lin_memory *memory, const lin_evaluated *at, lin_answer *answer)
{
    lin_arena *arena = &answer->arena;
    lin_answer_timeline *timeline = LIN_NEW(arena, lin_answer_timeline);
    const lin_running *running = lin_memory_list_running(&memory->scratch, memory);
    timeline->length = lin_timeline_length(memory->timeline);
    timeline->peak = at->peak;
    list_phases(arena, running, timeline);
    list_steps(arena, memory, running, timeline);
    list_columns(arena, memory, timeline);
    list_spans(arena, memory, &memory->scratch, timeline);
    answer->timeline = timeline;
}
