/* SPDX-License-Identifier: MIT */

/* The tensors that live at the peak, largest first; equal ones in the order of the graph. */

#include "memory/prepared.h"

typedef struct live_tensor {
    int64_t bytes;
    uint32_t interval;
} live_tensor;

static bool comes_before(live_tensor a, live_tensor b)
{
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.interval < b.interval;
}

/* Restores the heap below `root`: a parent comes after its children, so the last stands on top. */
static void sift(live_tensor *heap, uint32_t root, uint32_t count)
{
    for (;;) {
        uint64_t child = 2 * (uint64_t)root + 1;
        if (child >= count)
            return;
        if (child + 1 < count && comes_before(heap[child], heap[child + 1]))
            child++;
        if (!comes_before(heap[root], heap[child]))
            return;
        const live_tensor moved = heap[root];
        heap[root] = heap[child];
        heap[child] = moved;
        root = (uint32_t)child;
    }
}

/* Heapsort: in place, and the C library's qsort may allocate behind the host's back. */
static void sort(live_tensor *tensors, uint32_t count)
{
    for (uint32_t root = count / 2; root-- > 0;)
        sift(tensors, root, count);
    for (uint32_t end = count; end-- > 1;) {
        const live_tensor last = tensors[0];
        tensors[0] = tensors[end];
        tensors[end] = last;
        sift(tensors, 0, end);
    }
}

static uint32_t gather(lin_memory *memory, int32_t moment, live_tensor *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < lin_timeline_count(memory->timeline); i++) {
        const lin_interval *interval = lin_timeline_interval(memory->timeline, i);
        const live_tensor tensor = { lin_timeline_bytes(memory->timeline, memory->values, i), i };
        if (tensor.bytes > 0 && interval->category != LIN_CATEGORY_WORKSPACE &&
            interval->first <= moment && moment < interval->end)
            out[count++] = tensor;
    }
    return count;
}

static const char *path_of(const lin_graph *graph, const lin_object *o)
{
    if (o->path != NULL)
        return o->path;
    return o->producer == LIN_NO_STEP ? "" : graph->steps.items[o->producer].scope;
}

/* What is no tensor of the graph itself says what it is. */
static const char *qualify(lin_arena *arena, const char *name, lin_reason reason)
{
    switch (reason) {
    case LIN_REASON_STORED:
    case LIN_REASON_LIVE:
    case LIN_REASON_RECOMPUTED:
        return lin_arena_copy(arena, name);
    case LIN_REASON_KEPT:
        return lin_arena_format(arena, "%s (kept)", name);
    case LIN_REASON_ACTIVATION_GRADIENT:
    case LIN_REASON_GRADIENT:
    case LIN_REASON_NEW_GRADIENT:
        return lin_arena_format(arena, "%s (gradient)", name);
    default:
        return lin_arena_format(arena, "%s (%s)", name, lin_reason_words(reason));
    }
}

void lin_memory_name_interval(lin_arena *arena, const lin_graph *graph,
                              const lin_interval *interval, const char **out_name,
                              const char **out_path)
{
    if (interval->object != UINT32_MAX) {
        const lin_object *o = &graph->objects.items[interval->object];
        *out_name = qualify(arena, o->name, interval->reason);
        *out_path = lin_arena_copy(arena, path_of(graph, o));
    } else if (interval->step != LIN_NO_STEP) {
        const lin_step *step = &graph->steps.items[interval->step];
        *out_name = qualify(arena, step->label, interval->reason);
        *out_path = lin_arena_copy(arena, step->scope);
    } else {
        *out_name = lin_reason_words(interval->reason);
        *out_path = "";
    }
}

void lin_memory_list_largest(lin_memory *memory, const lin_evaluated *at, lin_text *scratch,
                             lin_answer *answer)
{
    const lin_graph *graph = memory->traced.graph;
    lin_arena *arena = &answer->arena;
    live_tensor *live =
        LIN_NEW_ARRAY(&memory->scratch, live_tensor, lin_timeline_count(memory->timeline));
    const uint32_t count = gather(memory, at->peak, live);
    sort(live, count);

    lin_largest *largest = LIN_NEW_ARRAY(arena, lin_largest, count);
    lin_expr printed = LIN_EXPR_INVALID;
    const char *formula = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const lin_interval *interval = lin_timeline_interval(memory->timeline, live[i].interval);
        if (interval->bytes != printed) {
            printed = interval->bytes;
            formula = lin_memory_formula(arena, scratch, graph->exprs, printed);
        }
        largest[i] = (lin_largest){ .bytes = live[i].bytes, .formula = formula };
        lin_memory_name_interval(arena, graph, interval, &largest[i].name, &largest[i].path);
    }
    answer->largest = largest;
    answer->largest_count = count;
}
