/* SPDX-License-Identifier: MIT */

/*
 * Which steps make no call, and what the layout of their operands is (tracing.md 15.2), before any
 * size is known: one pass in step order for each mark, linear in steps and their operands.
 *
 *     hoisted      depends on no tensor input and nothing persistent: done once, not in every step
 *     one process  collectives
 *     joined       products of one input and different weights run as one, in the first one's place
 *     repeated     depends on inputs alone and is what an earlier step already was (S6)
 */

#include "cost/calls.h"

#include <string.h>

static const char linear[] = "torch.nn.functional.linear";

bool lin_cost_is_native(const lin_step *step, const char *name)
{
    const size_t length = strlen(name);
    return step->implementation != NULL && strncmp(step->implementation, name, length) == 0 &&
           (step->implementation[length] == '\0' || step->implementation[length] == '(');
}

typedef struct marker {
    const lin_graph *graph;
    const lin_cost_settings *settings;
    lin_arena *arena;
    bool *silent, *strided, *differentiable, *carries;
    uint32_t *leader;
} marker;

/* ---- hoisted ---- */

static void mark_hoisted(marker *m)
{
    const lin_graph *graph = m->graph;
    bool *varying = LIN_NEW_ARRAY(m->arena, bool, graph->objects.count);
    for (uint32_t i = 0; i < graph->objects.count; i++)
        varying[i] = graph->objects.items[i].producer == LIN_NO_STEP;
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        const lin_step *step = &graph->steps.items[k];
        bool varies = false;
        for (uint32_t i = 0; i < step->input_count && !varies; i++)
            varies =
                varying[step->inputs[i]] || varying[graph->objects.items[step->inputs[i]].owner];
        m->silent[k] = !varies;
        for (uint32_t i = 0; i < step->output_count && varies; i++)
            varying[step->outputs[i]] = true;
    }
}

static void mark_collectives(marker *m)
{
    static const char *const names[] = { "torch.distributed.all_reduce",
                                         "torch.distributed.all_gather", "torch.distributed.shared",
                                         "torch.distributed.reduce_scatter" };
    const uint32_t count = ARRAY_LEN(names) - !(m->settings->rules & LIN_RULE_SP);
    for (uint32_t k = 0; k < m->graph->steps.count && m->settings->processes <= 1; k++)
        for (uint32_t i = 0; i < count; i++)
            m->silent[k] |= lin_cost_is_native(&m->graph->steps.items[k], names[i]);
}

/* ---- joined products ---- */

static bool may_join(const marker *m, uint32_t k)
{
    const lin_step *step = &m->graph->steps.items[k];
    if (m->silent[k] || step->input_count != 2 || step->implementation == NULL ||
        strcmp(step->implementation, linear) != 0)
        return false;
    const lin_object *weight = &m->graph->objects.items[step->inputs[1]];
    return weight->persistent && weight->category == LIN_CATEGORY_PARAMETERS;
}

static void mark_joined(marker *m)
{
    const lin_graph *graph = m->graph;
    uint32_t *first = LIN_NEW_ARRAY(m->arena, uint32_t, graph->objects.count);
    for (uint32_t i = 0; i < graph->objects.count; i++)
        first[i] = NOT_JOINED;
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        if (!may_join(m, k))
            continue;
        uint32_t *leader = &first[graph->steps.items[k].inputs[0]];
        if (*leader == NOT_JOINED) {
            *leader = k;
            continue;
        }
        m->leader[*leader] = *leader;
        m->leader[k] = *leader;
        m->silent[k] = true;
    }
}

/* ---- strided ---- */

static bool makes_strides(const lin_step *step)
{
    return strcmp(step->kind, "permute") == 0 || strcmp(step->kind, "slice") == 0 ||
           strcmp(step->kind, "broadcast") == 0;
}

static void mark_strided(marker *m)
{
    const lin_graph *graph = m->graph;
    for (uint32_t k = 0; k < graph->steps.count; k++)
        for (uint32_t i = 0; i < graph->steps.items[k].output_count; i++)
            m->strided[graph->steps.items[k].outputs[i]] = m->leader[k] != NOT_JOINED;
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        const lin_step *step = &graph->steps.items[k];
        bool strides = makes_strides(step);
        for (uint32_t i = 0; i < step->input_count && !strides; i++)
            strides = m->strided[step->inputs[i]];
        for (uint32_t i = 0; i < step->output_count && strides; i++)
            if (graph->objects.items[step->outputs[i]].owner != step->outputs[i])
                m->strided[step->outputs[i]] = true;
    }
}

/* ---- repeated (S6) ---- */

/* What a step of the inputs alone computes, up to its place: equal steps of two layers agree in all
 * of it. Region bodies are not compared, their counts are: two bodies of one layer with equal reads
 * and counts differ in scope from none, so a repeat must come from another scope. */
typedef struct repeat {
    uint32_t step, hash;
} repeat;

static uint32_t mix(uint32_t hash, uint32_t word)
{
    return (hash ^ word) * 16777619u;
}

static uint32_t hash_text(uint32_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = mix(hash, (uint32_t)(unsigned char)*text);
    return hash;
}

static bool is_same_result(const lin_object *a, const lin_object *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) == 0);
}

static bool is_repeat(const lin_graph *graph, const lin_step *a, const lin_step *b,
                      const uint32_t *stands_for)
{
    if (strcmp(a->kind, b->kind) != 0 || strcmp(a->label, b->label) != 0 ||
        strcmp(a->scope, b->scope) == 0 || a->arithmetic != b->arithmetic ||
        a->input_count != b->input_count || a->output_count != b->output_count ||
        a->region_read_count > 0 || b->region_read_count > 0)
        return false;
    for (uint32_t i = 0; i < a->input_count; i++)
        if (stands_for[a->inputs[i]] != stands_for[b->inputs[i]])
            return false;
    for (uint32_t i = 0; i < a->output_count; i++)
        if (!is_same_result(&graph->objects.items[a->outputs[i]],
                            &graph->objects.items[b->outputs[i]]))
            return false;
    return true;
}

static uint32_t hash_step(const lin_step *step, const uint32_t *stands_for)
{
    uint32_t hash =
        mix(hash_text(hash_text(2166136261u, step->kind), step->label), step->arithmetic);
    for (uint32_t i = 0; i < step->input_count; i++)
        hash = mix(hash, stands_for[step->inputs[i]]);
    return hash;
}

static bool is_of_inputs(const marker *m, const lin_step *step, const bool *of_inputs)
{
    for (uint32_t i = 0; i < step->input_count; i++)
        if (!of_inputs[step->inputs[i]])
            return false;
    (void)m;
    return step->region_read_count == 0;
}

static void mark_repeated(marker *m)
{
    const lin_graph *graph = m->graph;
    bool *of_inputs = LIN_NEW_ARRAY(m->arena, bool, graph->objects.count);
    uint32_t *stands_for = LIN_NEW_ARRAY(m->arena, uint32_t, graph->objects.count);
    LIN_LIST(repeat) seen = { NULL, 0, 0 };
    for (uint32_t i = 0; i < graph->objects.count; i++) {
        const lin_object *object = &graph->objects.items[i];
        stands_for[i] = i;
        of_inputs[i] = object->producer == LIN_NO_STEP && !object->persistent;
    }
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        const lin_step *step = &graph->steps.items[k];
        if (!is_of_inputs(m, step, of_inputs))
            continue;
        const uint32_t hash = hash_step(step, stands_for);
        const lin_step *earlier = NULL;
        for (uint32_t i = 0; i < seen.count && earlier == NULL; i++)
            if (seen.items[i].hash == hash &&
                is_repeat(graph, &graph->steps.items[seen.items[i].step], step, stands_for))
                earlier = &graph->steps.items[seen.items[i].step];
        for (uint32_t i = 0; i < step->output_count; i++) {
            of_inputs[step->outputs[i]] = true;
            if (earlier != NULL)
                stands_for[step->outputs[i]] = stands_for[earlier->outputs[i]];
        }
        m->silent[k] |= earlier != NULL;
        if (earlier == NULL)
            LIN_PUSH(m->arena, &seen, ((repeat){ k, hash }));
    }
}

/* ---- who has a backward (tracing.md 9.1; S7) ---- */

static bool stops_gradients(const char *kind)
{
    static const char *const kinds[] = { "compare", "and", "or",  "bitand", "bitor", "bitxor",
                                         "shl",     "shr", "not", "fill",   "iota" };
    for (uint32_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i], kind) == 0)
            return true;
    return false;
}

bool lin_cost_is_trained(const lin_cost_settings *settings, const lin_graph *graph, uint32_t i)
{
    const lin_object *object = &graph->objects.items[i];
    if ((settings->rules & LIN_RULE_S13) && settings->trained != NULL)
        return settings->trained[object->owner];
    return object->category == LIN_CATEGORY_PARAMETERS &&
           lin_dtype_class_of(object->dtype) == LIN_CLASS_FLOAT;
}

static void mark_gradients(marker *m)
{
    const lin_graph *graph = m->graph;
    bool *carries = LIN_NEW_ARRAY(m->arena, bool, graph->objects.count);
    for (uint32_t i = 0; i < graph->objects.count; i++)
        carries[i] = lin_cost_is_trained(m->settings, graph, i);
    m->carries = carries;
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        const lin_step *step = &graph->steps.items[k];
        bool any = false;
        for (uint32_t i = 0; i < step->input_count; i++)
            any |= carries[step->inputs[i]];
        for (uint32_t i = 0; i < step->region_read_count; i++)
            any |= carries[step->region_reads[i]];
        m->differentiable[k] = any && !stops_gradients(step->kind);
        for (uint32_t i = 0; i < step->output_count && m->differentiable[k]; i++)
            carries[step->outputs[i]] =
                lin_dtype_class_of(graph->objects.items[step->outputs[i]].dtype) == LIN_CLASS_FLOAT;
    }
}

void lin_cost_mark_steps(const lin_graph *graph, const lin_cost_settings *settings,
                         lin_arena *arena, step_marks *out)
{
    marker marks = {
        .graph = graph,
        .settings = settings,
        .arena = arena,
        .silent = LIN_NEW_ARRAY(arena, bool, graph->steps.count),
        .strided = LIN_NEW_ARRAY(arena, bool, graph->objects.count),
        .differentiable = LIN_NEW_ARRAY(arena, bool, graph->steps.count),
        .leader = LIN_NEW_ARRAY(arena, uint32_t, graph->steps.count),
    };
    for (uint32_t k = 0; k < graph->steps.count; k++)
        marks.leader[k] = NOT_JOINED;
    mark_hoisted(&marks);
    mark_collectives(&marks);
    if (!settings->training && settings->processes <= 1 && !settings->is_stage)
        mark_joined(&marks);
    mark_strided(&marks);
    if (settings->rules & LIN_RULE_S6)
        mark_repeated(&marks);
    mark_gradients(&marks);
    *out = (step_marks){ marks.silent, marks.strided, marks.leader, marks.differentiable,
                         marks.carries };
}
