/* SPDX-License-Identifier: MIT */

/*
 * Splitting a graph into stages (tracing.md 11.2). A step runs where the parameters and the values
 * that it reads are, on the last of their stages; a step of the inputs alone runs wherever its
 * results are read.
 *
 *     whole      tokens -> embedding -> layers.0 -> layers.1 -> norm -> loss
 *                positions -> angles --------^-----------^
 *     stage 0    tokens, positions -> embedding, angles, layers.0            sends x
 *     stage 1    positions, x -> angles, layers.1, norm, loss
 *
 * A value made on stage i and last read on stage j is received by i + 1 … j and sent by i … j - 1.
 * What shares storage with something of another stage owns its own here: a received view, a tied
 * parameter.
 *
 * Cost: linear in what the steps read and make, times the stages' words for steps of inputs alone.
 */

#include "graph/stages.h"

#include <string.h>

enum { NOWHERE = -1, NO_NUMBER = -1 };
#define NO_LOCAL UINT32_MAX

typedef struct splitter {
    const lin_graph *whole;
    const lin_stage_plan *plan;
    lin_arena *arena;
    uint32_t words;      /* of a set of stages */
    int32_t *home;       /* by object: the stage it is made or kept on; NOWHERE */
    int32_t *last_use;   /* by object with a home: the last stage that has it */
    int32_t *step_home;  /* by step; NOWHERE: of the inputs alone */
    int32_t *set_number; /* by object that may be on several stages; NO_NUMBER */
    uint64_t *sets;      /* of its stages */
    int32_t *step_set;   /* by step without a home: the set of its stages */
    uint32_t *local;     /* by object: here, while one stage is made */
    uint32_t *moved;     /* by owner that is not here: the first object here that shares it */
} splitter;

static int32_t last_stage(const splitter *s)
{
    return (int32_t)s->plan->stage_count - 1;
}

/* ---- where objects and steps are ---- */

static void place_persistent(splitter *s)
{
    const lin_graph *whole = s->whole;
    const lin_unit_index *index = lin_units_index(whole, s->arena);
    int32_t *stage_of = LIN_NEW_ARRAY(s->arena, int32_t, whole->units.count);
    for (uint32_t stage = 0; stage < s->plan->stage_count; stage++)
        for (uint32_t i = s->plan->first_unit[stage]; i < s->plan->first_unit[stage + 1]; i++)
            stage_of[i] = (int32_t)stage;
    for (uint32_t i = 0; i < whole->parameter_objects; i++) {
        const char *path = whole->objects.items[i].path;
        const uint32_t unit = path != NULL ? lin_unit_of(index, path) : LIN_NO_UNIT;
        if (unit != LIN_NO_UNIT)
            s->home[i] = s->last_use[i] = stage_of[unit];
    }
}

static int32_t furthest(const splitter *s, const uint32_t *objects, uint32_t count, int32_t from)
{
    for (uint32_t i = 0; i < count; i++)
        from = s->home[objects[i]] > from ? s->home[objects[i]] : from;
    return from;
}

static void note_use(splitter *s, const uint32_t *objects, uint32_t count, int32_t stage)
{
    for (uint32_t i = 0; i < count; i++)
        if (s->last_use[objects[i]] < stage && s->home[objects[i]] != NOWHERE)
            s->last_use[objects[i]] = stage;
}

/* Forward: anchors come from what is read. */
static void place_steps(splitter *s)
{
    for (uint32_t k = 0; k < s->whole->steps.count; k++) {
        const lin_step *step = &s->whole->steps.items[k];
        int32_t stage = furthest(s, step->inputs, step->input_count, NOWHERE);
        stage = furthest(s, step->region_reads, step->region_read_count, stage);
        s->step_home[k] = stage;
        if (stage == NOWHERE)
            continue;
        note_use(s, step->inputs, step->input_count, stage);
        for (uint32_t i = 0; i < step->output_count; i++)
            s->home[step->outputs[i]] = s->last_use[step->outputs[i]] = stage;
    }
    for (uint32_t i = 0; i < s->whole->returned; i++)
        note_use(s, &s->whole->outputs.items[i], 1, last_stage(s));
}

/* ---- steps of the inputs alone ---- */

static uint64_t *set_at(const splitter *s, int32_t number)
{
    return &s->sets[(uint64_t)(uint32_t)number * s->words];
}

static bool set_has(const splitter *s, int32_t number, uint32_t stage)
{
    return number != NO_NUMBER && (set_at(s, number)[stage / 64] >> stage % 64 & 1) != 0;
}

static void set_add(splitter *s, int32_t number, uint32_t stage)
{
    set_at(s, number)[stage / 64] |= (uint64_t)1 << stage % 64;
}

/* What exists before the entry runs is on every stage that reads it: a table that the head reads
 * too is on both ends. */
static bool needs_set(const splitter *s, uint32_t object)
{
    return s->home[object] == NOWHERE || object < s->whole->parameter_objects;
}

/* A set for every object that may be on several stages, and one for every step that may. */
static void number_sets(splitter *s)
{
    const lin_graph *whole = s->whole;
    uint32_t count = 0;
    for (uint32_t i = 0; i < whole->objects.count; i++)
        s->set_number[i] = needs_set(s, i) ? (int32_t)count++ : NO_NUMBER;
    for (uint32_t k = 0; k < whole->steps.count; k++)
        s->step_set[k] = s->step_home[k] == NOWHERE ? (int32_t)count++ : NO_NUMBER;
    s->sets = LIN_NEW_ARRAY(s->arena, uint64_t, (uint64_t)count * s->words);
}

static void add_readers(splitter *s, uint32_t k, const uint32_t *objects, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const int32_t number = s->set_number[objects[i]];
        if (number == NO_NUMBER)
            continue;
        if (s->step_home[k] != NOWHERE) {
            set_add(s, number, (uint32_t)s->step_home[k]);
            continue;
        }
        for (uint32_t word = 0; word < s->words; word++)
            set_at(s, number)[word] |= set_at(s, s->step_set[k])[word];
    }
}

/* Backward: a step without an anchor runs where its results are read. */
static void place_unanchored(splitter *s)
{
    const lin_graph *whole = s->whole;
    number_sets(s);
    for (uint32_t i = 0; i < whole->outputs.count; i++)
        if (needs_set(s, whole->outputs.items[i]))
            set_add(s, s->set_number[whole->outputs.items[i]], (uint32_t)last_stage(s));
    for (uint32_t k = whole->steps.count; k-- > 0;) {
        const lin_step *step = &whole->steps.items[k];
        for (uint32_t i = 0; i < step->output_count && s->step_home[k] == NOWHERE; i++)
            for (uint32_t word = 0; word < s->words; word++)
                set_at(s, s->step_set[k])[word] |= set_at(s, s->set_number[step->outputs[i]])[word];
        add_readers(s, k, step->inputs, step->input_count);
        add_readers(s, k, step->region_reads, step->region_read_count);
    }
    /* What the root itself holds and nobody reads belongs to the last stage. */
    for (uint32_t i = 0; i < whole->parameter_objects; i++) {
        bool any = s->home[i] != NOWHERE;
        for (uint32_t word = 0; word < s->words; word++)
            any |= set_at(s, s->set_number[i])[word] != 0;
        if (s->home[i] != NOWHERE || !any)
            set_add(s, s->set_number[i],
                    (uint32_t)(s->home[i] != NOWHERE ? s->home[i] : last_stage(s)));
    }
}

/* ---- one stage ---- */

typedef struct stage_maker {
    splitter *s;
    uint32_t stage;
    lin_stage_graph *out;
    uint32_t *whole_object, *whole_step;
    lin_passed *received, *sent;
} stage_maker;

static bool is_here(const splitter *s, uint32_t object, uint32_t stage)
{
    return needs_set(s, object) ? set_has(s, s->set_number[object], stage)
                                : s->home[object] == (int32_t)stage;
}

/* Bytes of a value by itself: those it owns (of a split tensor its part), or all it shows. */
static lin_expr own_bytes(const splitter *s, uint32_t id)
{
    const lin_object *object = &s->whole->objects.items[id];
    return object->owner == id
               ? object->bytes
               : lin_expr_mul(s->whole->exprs, object->elements,
                              lin_expr_int(s->whole->exprs, lin_dtype_bytes(object->dtype)));
}

/* Adds an object of the whole graph. One whose owner is not here owns what the owner would, or,
 * received, its own elements. */
static uint32_t add_object(stage_maker *m, uint32_t id, int32_t producer)
{
    splitter *s = m->s;
    lin_object object = s->whole->objects.items[id];
    const uint32_t here = m->out->graph.objects.count, owner = object.owner;
    object.producer = producer;
    if (owner == id) {
        object.owner = here;
    } else if (s->local[owner] != NO_LOCAL) {
        object.owner = m->out->graph.objects.items[s->local[owner]].owner;
    } else if (s->moved[owner] != NO_LOCAL) {
        object.owner = s->moved[owner];
        object.bytes = lin_expr_int(s->whole->exprs, 0);
    } else {
        object.owner = here;
        object.bytes = object.persistent ? s->whole->objects.items[owner].bytes : own_bytes(s, id);
        if (object.persistent)
            object.storage = s->whole->objects.items[owner].storage;
        s->moved[owner] = here;
    }
    s->local[id] = here;
    m->whole_object[here] = id;
    LIN_PUSH(s->arena, &m->out->graph.objects, object);
    return here;
}

/* A tied path may stand before the path that owns the tensor: owners first. */
static void add_persistent(stage_maker *m)
{
    splitter *s = m->s;
    const lin_graph *whole = s->whole;
    for (uint32_t i = 0; i < whole->parameter_objects; i++)
        if (is_here(s, i, m->stage))
            add_object(m, i, LIN_NO_STEP);
    lin_graph *graph = &m->out->graph;
    graph->parameter_objects = graph->objects.count;
    for (uint32_t i = 0; i < graph->parameter_objects; i++) {
        const uint32_t owner = whole->objects.items[m->whole_object[i]].owner;
        if (s->local[owner] == NO_LOCAL || owner == m->whole_object[i])
            continue;
        graph->objects.items[i].owner = s->local[owner];
        graph->objects.items[i].bytes = lin_expr_int(graph->exprs, 0);
    }
}

static void add_inputs(stage_maker *m)
{
    splitter *s = m->s;
    const lin_graph *whole = s->whole;
    for (uint32_t i = whole->parameter_objects; i < whole->objects.count; i++)
        if (whole->objects.items[i].producer == LIN_NO_STEP && is_here(s, i, m->stage))
            add_object(m, i, LIN_NO_STEP);
    for (uint32_t i = whole->parameter_objects; i < whole->objects.count; i++) {
        if (s->home[i] == NOWHERE || s->home[i] >= (int32_t)m->stage ||
            s->last_use[i] < (int32_t)m->stage)
            continue;
        const uint32_t here = m->out->graph.objects.count;
        lin_object object = whole->objects.items[i];
        object.producer = LIN_NO_STEP;
        object.persistent = false;
        object.category = LIN_CATEGORY_INPUTS;
        object.bytes = own_bytes(s, i);
        object.owner = here;
        s->local[i] = here;
        if (s->moved[whole->objects.items[i].owner] == NO_LOCAL)
            s->moved[whole->objects.items[i].owner] = here;
        m->whole_object[here] = i;
        LIN_PUSH(s->arena, &m->out->graph.objects, object);
        m->received[m->out->received_count++] = (lin_passed){ here, i };
    }
}

static const uint32_t *map_ids(stage_maker *m, const uint32_t *ids, uint32_t count)
{
    uint32_t *mapped = LIN_NEW_ARRAY(m->s->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        mapped[i] = m->s->local[ids[i]];
    return mapped;
}

static bool runs_here(const stage_maker *m, uint32_t k)
{
    const splitter *s = m->s;
    return s->step_home[k] == NOWHERE ? set_has(s, s->step_set[k], m->stage)
                                      : s->step_home[k] == (int32_t)m->stage;
}

static void add_steps(stage_maker *m)
{
    splitter *s = m->s;
    lin_graph *graph = &m->out->graph;
    for (uint32_t k = 0; k < s->whole->steps.count; k++) {
        if (!runs_here(m, k))
            continue;
        lin_step step = s->whole->steps.items[k];
        const int32_t here = (int32_t)graph->steps.count;
        for (uint32_t i = 0; i < step.output_count; i++)
            add_object(m, step.outputs[i], here);
        step.inputs = map_ids(m, step.inputs, step.input_count);
        step.region_reads = map_ids(m, step.region_reads, step.region_read_count);
        step.operands = map_ids(m, step.operands, step.operand_count);
        step.outputs = map_ids(m, step.outputs, step.output_count);
        m->whole_step[here] = k;
        LIN_PUSH(s->arena, &graph->steps, step);
    }
}

/* Values for later stages in the order of the whole graph, results in their own. */
static void add_outputs(stage_maker *m)
{
    splitter *s = m->s;
    const lin_graph *whole = s->whole;
    lin_graph *graph = &m->out->graph;
    const bool is_last = (int32_t)m->stage == last_stage(s);
    for (uint32_t i = whole->parameter_objects; i < whole->objects.count && !is_last; i++)
        if (s->home[i] != NOWHERE && s->home[i] <= (int32_t)m->stage &&
            s->last_use[i] > (int32_t)m->stage)
            m->sent[m->out->sent_count++] = (lin_passed){ s->local[i], i };
    for (uint32_t i = 0; i < whole->returned && is_last; i++) {
        const uint32_t id = whole->outputs.items[i];
        m->sent[m->out->sent_count++] = (lin_passed){ s->local[id], id };
    }
    for (uint32_t i = 0; i < m->out->sent_count; i++)
        LIN_PUSH(s->arena, &graph->outputs, m->sent[i].object);
    graph->returned = graph->outputs.count;
    for (uint32_t i = whole->returned; i < whole->outputs.count; i++)
        if (s->local[whole->outputs.items[i]] != NO_LOCAL)
            LIN_PUSH(s->arena, &graph->outputs, s->local[whole->outputs.items[i]]);
}

/* An op with a gradient of its own keeps what of it is here. */
static void add_own_gradients(stage_maker *m)
{
    const lin_graph *whole = m->s->whole;
    lin_graph *graph = &m->out->graph;
    uint32_t first = 0, end = 0;
    for (uint32_t i = 0; i < whole->own_gradients.count; i++) {
        lin_own_gradient own = whole->own_gradients.items[i];
        for (first = 0;
             first < graph->steps.count && (int32_t)m->whole_step[first] < own.first_step;)
            first++;
        for (end = first; end < graph->steps.count && (int32_t)m->whole_step[end] < own.end_step;)
            end++;
        if (first == end)
            continue;
        uint32_t *objects = LIN_NEW_ARRAY(m->s->arena, uint32_t, own.object_count);
        uint32_t count = 0;
        for (uint32_t k = 0; k < own.object_count; k++)
            if (m->s->local[own.objects[k]] != NO_LOCAL)
                objects[count++] = m->s->local[own.objects[k]];
        own = (lin_own_gradient){ own.op, (int32_t)first, (int32_t)end, objects, count };
        LIN_PUSH(m->s->arena, &graph->own_gradients, own);
    }
}

/* Room for what can be here at most, found by counting. */
static void make_room(stage_maker *m)
{
    splitter *s = m->s;
    const lin_graph *whole = s->whole;
    uint32_t objects = 0, steps = 0, received = 0, sent = whole->returned;
    for (uint32_t i = 0; i < whole->objects.count; i++) {
        const bool spans = !needs_set(s, i) && s->last_use[i] >= (int32_t)m->stage &&
                           s->home[i] <= (int32_t)m->stage;
        objects += is_here(s, i, m->stage) || spans;
        received += spans && s->home[i] < (int32_t)m->stage;
        sent += spans;
    }
    for (uint32_t k = 0; k < whole->steps.count; k++)
        steps += runs_here(m, k);
    m->whole_object = LIN_NEW_ARRAY(s->arena, uint32_t, objects);
    m->whole_step = LIN_NEW_ARRAY(s->arena, uint32_t, steps);
    m->received = LIN_NEW_ARRAY(s->arena, lin_passed, received);
    m->sent = LIN_NEW_ARRAY(s->arena, lin_passed, sent);
}

static void make_stage(splitter *s, uint32_t stage, lin_stage_graph *out)
{
    const lin_graph *whole = s->whole;
    stage_maker m = { .s = s, .stage = stage, .out = out };
    lin_graph *graph = &out->graph;
    lin_arena_init(&graph->arena, &whole->arena.allocator);
    graph->exprs = whole->exprs;
    memcpy(graph->role_symbols, whole->role_symbols, sizeof graph->role_symbols);
    memcpy(graph->role_free, whole->role_free, sizeof graph->role_free);
    graph->entry = whole->entry;
    graph->root = whole->root;
    graph->traced_both_branches = whole->traced_both_branches;
    memcpy(&graph->unknown_workspaces, &whole->unknown_workspaces,
           sizeof graph->unknown_workspaces);
    memset(s->local, 0xff, whole->objects.count * sizeof *s->local);
    memset(s->moved, 0xff, whole->objects.count * sizeof *s->moved);
    make_room(&m);
    add_persistent(&m);
    add_inputs(&m);
    add_steps(&m);
    add_outputs(&m);
    add_own_gradients(&m);
    out->whole_object = m.whole_object;
    out->whole_step = m.whole_step;
    out->received = m.received;
    out->sent = m.sent;
}

lin_stage_graph *lin_graph_split(const lin_graph *whole, const lin_stage_plan *plan,
                                 lin_arena *arena)
{
    const uint32_t objects = whole->objects.count, steps = whole->steps.count;
    splitter s = { .whole = whole,
                   .plan = plan,
                   .arena = arena,
                   .words = (plan->stage_count + 63) / 64,
                   .home = LIN_NEW_ARRAY(arena, int32_t, objects),
                   .last_use = LIN_NEW_ARRAY(arena, int32_t, objects),
                   .step_home = LIN_NEW_ARRAY(arena, int32_t, steps),
                   .set_number = LIN_NEW_ARRAY(arena, int32_t, objects),
                   .step_set = LIN_NEW_ARRAY(arena, int32_t, steps),
                   .local = LIN_NEW_ARRAY(arena, uint32_t, objects),
                   .moved = LIN_NEW_ARRAY(arena, uint32_t, objects) };
    lin_stage_graph *stages = LIN_NEW_ARRAY(arena, lin_stage_graph, plan->stage_count);
    memset(s.home, 0xff, objects * sizeof *s.home);
    memset(s.last_use, 0xff, objects * sizeof *s.last_use);
    place_persistent(&s);
    place_steps(&s);
    place_unanchored(&s);
    for (uint32_t stage = 0; stage < plan->stage_count; stage++)
        make_stage(&s, stage, &stages[stage]);
    return stages;
}
