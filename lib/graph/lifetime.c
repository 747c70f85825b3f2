/* SPDX-License-Identifier: MIT */

/*
 * Lifetimes of transient owners (tracing.md 7.1): from the first step that makes any object sharing
 * the storage to the last that reads one. Inputs live from step 0, inputs and outputs to the end. A
 * result nobody reads lives only in the step that makes it. One pass over objects and steps.
 */

#include "graph/graph.h"

/* Steps, both inclusive, while the graph is walked; first is -1 until something made the owner. */
typedef struct span {
    int32_t first, last;
} span;

static void extend(span *owner, int32_t step)
{
    if (step > owner->last)
        owner->last = step;
}

static void note_producers(const lin_graph *graph, span *spans, int32_t last_step)
{
    for (uint32_t i = 0; i < graph->objects.count; i++) {
        const lin_object *object = &graph->objects.items[i];
        span *owner = &spans[object->owner];
        if (object->producer == LIN_NO_STEP) {
            owner->first = 0;
            if (!object->persistent)
                extend(owner, last_step);
            continue;
        }
        if (owner->first < 0 || object->producer < owner->first)
            owner->first = object->producer;
        extend(owner, object->producer);
    }
}

static void note_readers(const lin_graph *graph, span *spans, int32_t last_step)
{
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        const lin_step *step = &graph->steps.items[k];
        for (uint32_t i = 0; i < step->input_count; i++)
            extend(&spans[graph->objects.items[step->inputs[i]].owner], (int32_t)k);
        for (uint32_t i = 0; i < step->region_read_count; i++)
            extend(&spans[graph->objects.items[step->region_reads[i]].owner], (int32_t)k);
    }
    for (uint32_t i = 0; i < graph->outputs.count; i++)
        extend(&spans[graph->objects.items[graph->outputs.items[i]].owner], last_step);
}

static bool is_listed(const lin_graph *graph, uint32_t id)
{
    const lin_object *object = &graph->objects.items[id];
    return object->owner == id && !object->persistent;
}

const lin_lifetime *lin_graph_lifetimes(lin_arena *arena, const lin_graph *graph,
                                        uint32_t *out_count)
{
    /* An entry without steps still holds its inputs during one moment. */
    int32_t last_step = graph->steps.count == 0 ? 0 : (int32_t)graph->steps.count - 1;
    span *spans = LIN_NEW_ARRAY(arena, span, graph->objects.count);
    lin_lifetime *lifetimes = LIN_NEW_ARRAY(arena, lin_lifetime, graph->objects.count);
    if (!spans || !lifetimes)
        return NULL;
    for (uint32_t i = 0; i < graph->objects.count; i++)
        spans[i] = (span){ -1, 0 };
    note_producers(graph, spans, last_step);
    note_readers(graph, spans, last_step);
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->objects.count; i++)
        if (is_listed(graph, i))
            lifetimes[count++] = (lin_lifetime){ i, spans[i].first, spans[i].last + 1 };
    *out_count = count;
    return lifetimes;
}
