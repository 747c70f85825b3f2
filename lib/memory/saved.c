/* SPDX-License-Identifier: MIT */

/*
 * What autograd keeps of a step until its backward, how long activations therefore live, and what
 * kernels need while they run (tracing.md 9.3 to 9.5).
 *
 *     made outside regions   from the producer to the last of: readers, backward of what keeps it,
 *                            backward of a reader inside a region, which runs again from its inputs
 *     made in region r       once to the last reader, or to the backward of what keeps it outside
 *                            r; and again from the producer's recomputation to the backward of
 *                            what keeps it in r
 *
 * Kept objects hold their owner: a kept view keeps the whole storage. Cost: linear in what the
 * steps read and make.
 */

#include "memory/training.h"

#include <string.h>

/* The last moments of an owner's two lives, inclusive; -1: there is no such life. */
typedef struct two_lives {
    int32_t first, again;
} two_lives;

typedef struct saved_pass {
    lin_memory *memory;
    const lin_graph *graph;
    lin_training *training;
    const lin_moments *schedule;
    lin_interval_list *intervals;
    two_lives *lives; /* by owner */
    LIN_LIST(lin_operand) operands;
    uint32_t *own; /* by step: the op with a gradient of its own that it belongs to; UINT32_MAX */
    linnet_error *err;
} saved_pass;

static void extend(int32_t *last, int32_t moment)
{
    if (moment > *last)
        *last = moment;
}

static int32_t region_of_object(const saved_pass *p, const lin_object *object)
{
    return object->producer == LIN_NO_STEP ? LIN_NO_REGION : p->schedule->region[object->producer];
}

static void note_read(saved_pass *p, uint32_t object, int32_t step)
{
    const uint32_t owner = p->graph->objects.items[object].owner;
    const int32_t home = region_of_object(p, &p->graph->objects.items[owner]);
    const int32_t region = p->schedule->region[step];
    two_lives *lives = &p->lives[owner];
    extend(&lives->first, step);
    if (region == LIN_NO_REGION)
        return;
    if (region == home)
        extend(&lives->again, p->schedule->redo[step]);
    else
        extend(&lives->first, p->schedule->back[step]);
}

/* A whole sequence is not kept: its part is, and the whole is gathered again in backward
 * (parallel-frameworks.md 5.2). */
static uint32_t part_of_sequence(saved_pass *p, uint32_t owner, int32_t step)
{
    const lin_object *whole = &p->graph->objects.items[owner];
    if (whole->producer == LIN_NO_STEP)
        return owner;
    const lin_step *maker = &p->graph->steps.items[whole->producer];
    const lin_native *native = maker->native;
    if (native == NULL || native->keep == NULL || !native->keep->gathers_again)
        return owner;
    const int32_t moment = p->schedule->weight[step];
    LIN_PUSH(&p->memory->scratch, p->intervals,
             ((lin_interval){ .first = moment,
                              .end = moment + 1,
                              .bytes = whole->bytes,
                              .category = LIN_CATEGORY_BACKWARD_TEMPORARIES,
                              .confidence = LIN_BACKEND_MODELED,
                              .object = owner,
                              .reason = LIN_REASON_GATHERED,
                              .step = whole->producer }));
    return p->graph->objects.items[maker->inputs[0]].owner;
}

static void keep(saved_pass *p, uint32_t object, int32_t step)
{
    const uint32_t owner = part_of_sequence(p, p->graph->objects.items[object].owner, step);
    const int32_t home = region_of_object(p, &p->graph->objects.items[owner]);
    two_lives *lives = &p->lives[owner];
    const bool is_inside = home != LIN_NO_REGION && p->schedule->region[step] == home;
    extend(is_inside ? &lives->again : &lives->first, p->schedule->weight[step]);
}

/* ---- rules by kind ---- */

typedef enum keep_rule {
    KEEP_INPUTS,
    KEEP_NOTHING,
    KEEP_RESULTS,
    KEEP_ALL,
    KEEP_FACTORS,  /* each input for which another one carries a gradient */
    KEEP_QUOTIENT, /* the denominator; the numerator for the denominator's gradient */
    KEEP_FIRST
} keep_rule;

static const struct kind_row {
    const char *kind;
    keep_rule rule;
} kind_rows[] = {
    { "add", KEEP_NOTHING },     { "sub", KEEP_NOTHING },       { "neg", KEEP_NOTHING },
    { "cast", KEEP_NOTHING },    { "scale", KEEP_NOTHING },     { "reshape", KEEP_NOTHING },
    { "permute", KEEP_NOTHING }, { "broadcast", KEEP_NOTHING }, { "slice", KEEP_NOTHING },
    { "concat", KEEP_NOTHING },  { "exp", KEEP_RESULTS },       { "sqrt", KEEP_RESULTS },
    { "rsqrt", KEEP_RESULTS },   { "tanh", KEEP_RESULTS },      { "reduce", KEEP_ALL },
    { "mul", KEEP_FACTORS },     { "div", KEEP_QUOTIENT },      { "comprehension", KEEP_FACTORS },
    { "select", KEEP_FIRST },
};

/* A product or quotient of one tensor with itself has a single input, which is kept. */
static keep_rule rule_of(const lin_step *step)
{
    keep_rule rule = KEEP_INPUTS;
    for (size_t i = 0; i < ARRAY_LEN(kind_rows); i++)
        if (strcmp(kind_rows[i].kind, step->kind) == 0)
            rule = kind_rows[i].rule;
    const bool needs_two = rule == KEEP_FACTORS || rule == KEEP_QUOTIENT;
    return needs_two && step->input_count < 2 ? KEEP_INPUTS : rule;
}

static void keep_each(saved_pass *p, const uint32_t *objects, uint32_t count, int32_t k)
{
    for (uint32_t i = 0; i < count; i++)
        keep(p, objects[i], k);
}

static void keep_factors(saved_pass *p, const lin_step *step, int32_t k)
{
    uint32_t carrying = 0;
    for (uint32_t i = 0; i < step->input_count; i++)
        carrying += p->training->carries[step->inputs[i]];
    for (uint32_t i = 0; i < step->input_count; i++)
        if (carrying > (p->training->carries[step->inputs[i]] ? 1u : 0u))
            keep(p, step->inputs[i], k);
}

static void keep_by_kind(saved_pass *p, const lin_step *step, int32_t k)
{
    const keep_rule rule = rule_of(step);
    if (rule == KEEP_INPUTS || rule == KEEP_ALL)
        keep_each(p, step->inputs, step->input_count, k);
    if (rule == KEEP_RESULTS || rule == KEEP_ALL)
        keep_each(p, step->outputs, step->output_count, k);
    if (rule == KEEP_FACTORS)
        keep_factors(p, step, k);
    if (rule == KEEP_QUOTIENT) {
        keep(p, step->inputs[1], k);
        if (p->training->carries[step->inputs[1]])
            keep(p, step->inputs[0], k);
    }
    if (rule == KEEP_FIRST && step->input_count > 0)
        keep(p, step->inputs[0], k);
}

/* ---- native calls ---- */

static void list_operands(saved_pass *p, const lin_step *step)
{
    p->operands.count = 0;
    for (uint32_t i = 0; i < step->operand_count; i++) {
        const lin_object *object = &p->graph->objects.items[step->operands[i]];
        const lin_operand operand = { .dtype = object->dtype,
                                      .shape = object->shape,
                                      .rank = object->rank,
                                      .elements = object->elements,
                                      .carries_gradient = p->training->carries[step->operands[i]] };
        LIN_PUSH(&p->memory->scratch, &p->operands, operand);
    }
}

static void note_assumed(saved_pass *p, const char *implementation)
{
    for (uint32_t i = 0; i < p->training->assumed.count; i++) {
        lin_unknown_call *known = &p->training->assumed.items[i];
        if (known->implementation == implementation) {
            known->calls++;
            return;
        }
    }
    const lin_unknown_call call = { implementation, 1 };
    LIN_PUSH(&p->memory->arena, &p->training->assumed, call);
}

static bool is_zero(const lin_graph *graph, lin_expr e)
{
    int64_t value;
    return lin_expr_is_int(graph->exprs, e, &value) && value == 0;
}

static linnet_status add_bytes(saved_pass *p, lin_interval interval)
{
    if (interval.bytes == LIN_EXPR_INVALID)
        return lin_fail(p->err, LINNET_ERROR_OVERFLOW,
                        "what `%s` needs beside its tensors passes 2^63 - 1 bytes",
                        p->graph->steps.items[interval.step].label);
    if (!is_zero(p->graph, interval.bytes))
        LIN_PUSH(&p->memory->scratch, p->intervals, interval);
    return LINNET_OK;
}

/* What the kernel makes for itself, from the step or its recomputation to its backward. */
static linnet_status add_extra(saved_pass *p, const lin_keep *rule, int32_t k)
{
    if (rule->extra == NULL)
        return LINNET_OK;
    const lin_amount extra = rule->extra(p->graph->exprs, p->operands.items, p->operands.count);
    const bool again = p->schedule->region[k] != LIN_NO_REGION;
    return add_bytes(p, (lin_interval){ .first = again ? p->schedule->redo[k] : k,
                                        .end = p->schedule->weight[k] + 1,
                                        .bytes = extra.bytes,
                                        .category = LIN_CATEGORY_ACTIVATIONS,
                                        .confidence = extra.confidence,
                                        .object = UINT32_MAX,
                                        .reason = LIN_REASON_KEPT,
                                        .step = k });
}

static linnet_status keep_by_native(saved_pass *p, const lin_step *step, int32_t k)
{
    const lin_native *native = step->native;
    const lin_keep *rule = native != NULL ? native->keep : NULL;
    if (rule == NULL) {
        keep_each(p, step->inputs, step->input_count, k);
        keep_each(p, step->outputs, step->output_count, k);
        note_assumed(p, step->implementation);
        return LINNET_OK;
    }
    const lin_operand *operands = p->operands.items;
    for (uint32_t i = 0; i < p->operands.count && i < 8; i++) {
        const uint32_t other = 1 - i;
        const bool is_factor =
            rule->factors && i < 2 && other < p->operands.count && operands[other].carries_gradient;
        if ((rule->operands >> i & 1) != 0 || is_factor)
            keep(p, step->operands[i], k);
    }
    for (uint32_t i = 0; i < step->output_count && i < 8; i++)
        if ((rule->results >> i & 1) != 0)
            keep(p, step->outputs[i], k);
    return add_extra(p, rule, k);
}

/* ---- ops with a gradient of their own ---- */

static void mark_own(saved_pass *p)
{
    p->own = LIN_NEW_ARRAY(&p->memory->scratch, uint32_t, p->graph->steps.count);
    for (uint32_t k = 0; k < p->graph->steps.count; k++)
        p->own[k] = UINT32_MAX;
    for (uint32_t i = 0; i < p->graph->own_gradients.count; i++)
        for (int32_t k = p->graph->own_gradients.items[i].first_step;
             k < p->graph->own_gradients.items[i].end_step; k++)
            p->own[k] = i;
}

/* What the op reads and makes is assumed to be kept until the backward of its first step, which is
 * the last to run. */
static void keep_own(saved_pass *p, uint32_t i)
{
    const lin_own_gradient *own = &p->graph->own_gradients.items[i];
    bool carries = false;
    for (int32_t k = own->first_step; k < own->end_step; k++)
        carries |= p->training->differentiable[k] && p->own[k] == i;
    if (!carries)
        return;
    keep_each(p, own->objects, own->object_count, own->first_step);
    note_assumed(p, own->op);
}

/* ---- workspaces ---- */

static linnet_status add_workspace(saved_pass *p, int32_t k, int32_t moment, lin_phase phase)
{
    const lin_step *step = &p->graph->steps.items[k];
    const lin_native *native = step->native;
    lin_expr result_bytes = lin_expr_int(p->graph->exprs, 0);
    if (step->output_count > 0) {
        const lin_object *result = &p->graph->objects.items[step->outputs[0]];
        result_bytes = lin_expr_mul(p->graph->exprs, result->elements,
                                    lin_expr_int(p->graph->exprs, lin_dtype_bytes(result->dtype)));
    }
    const lin_amount amount =
        native->workspace(p->graph->exprs, p->operands.items, p->operands.count, result_bytes,
                          phase, p->memory->processes);
    return add_bytes(p, (lin_interval){ .first = moment,
                                        .end = moment + 1,
                                        .bytes = amount.bytes,
                                        .category = LIN_CATEGORY_WORKSPACE,
                                        .confidence = amount.confidence,
                                        .object = UINT32_MAX,
                                        .is_workspace = true,
                                        .reason = LIN_REASON_WORKSPACE,
                                        .step = k });
}

static linnet_status add_workspaces(saved_pass *p, const lin_step *step, int32_t k)
{
    const lin_native *native = step->native;
    const bool carries = p->training->differentiable[k];
    const lin_phase forward = carries ? LIN_PHASE_FORWARD_WITH_GRADIENTS : LIN_PHASE_INFERENCE;
    linnet_status status;
    if (native == NULL || native->workspace == NULL ||
        p->memory->settings.backend == LIN_BACKEND_GENERIC)
        return LINNET_OK;
    if ((status = add_workspace(p, k, k, forward)) != LINNET_OK)
        return status;
    if (p->schedule->region[k] != LIN_NO_REGION &&
        (status = add_workspace(p, k, p->schedule->redo[k], forward)) != LINNET_OK)
        return status;
    if (carries && p->schedule->weight[k] != p->schedule->back[k] &&
        (status = add_workspace(p, k, p->schedule->weight[k], LIN_PHASE_BACKWARD)) != LINNET_OK)
        return status;
    return carries ? add_workspace(p, k, p->schedule->back[k], LIN_PHASE_BACKWARD) : LINNET_OK;
}

/* ---- activations ---- */

static linnet_status visit_step(saved_pass *p, int32_t k)
{
    const lin_step *step = &p->graph->steps.items[k];
    const bool carries = p->training->differentiable[k];
    linnet_status status = LINNET_OK;
    for (uint32_t i = 0; i < step->input_count; i++)
        note_read(p, step->inputs[i], k);
    for (uint32_t i = 0; i < step->region_read_count; i++)
        note_read(p, step->region_reads[i], k);
    if (step->implementation == NULL) {
        if (carries && p->own[k] == UINT32_MAX)
            keep_by_kind(p, step, k);
        return LINNET_OK;
    }
    list_operands(p, step);
    if (carries && p->own[k] == UINT32_MAX)
        status = keep_by_native(p, step, k);
    return status == LINNET_OK ? add_workspaces(p, step, k) : status;
}

static void add_life(saved_pass *p, uint32_t object, int32_t first, int32_t last, lin_reason reason)
{
    const lin_object *o = &p->graph->objects.items[object];
    const lin_interval interval = { .first = first,
                                    .end = last + 1,
                                    .bytes = o->bytes,
                                    .category = o->category,
                                    .object = object,
                                    .reason = reason,
                                    .step = o->producer };
    LIN_PUSH(&p->memory->scratch, p->intervals, interval);
}

static linnet_status add_object(saved_pass *p, uint32_t i)
{
    const lin_object *object = &p->graph->objects.items[i];
    const int32_t producer = object->producer;
    const two_lives lives = p->lives[i];
    if (object->persistent || object->owner != i)
        return LINNET_OK;
    if (object->bytes == LIN_EXPR_INVALID)
        return lin_memory_fail_object(p->memory, i, p->err);
    if (producer == LIN_NO_STEP) {
        extend(&p->lives[i].first, p->schedule->results_end);
        add_life(p, i, 0, p->lives[i].first, LIN_REASON_LIVE);
        return LINNET_OK;
    }
    add_life(p, i, producer, lives.first > producer ? lives.first : producer, LIN_REASON_LIVE);
    /* What lives on from the first pass is not made again. */
    const bool again = lives.again >= 0 && p->schedule->region[producer] != LIN_NO_REGION &&
                       lives.first < p->schedule->results_end;
    const int32_t redo = p->schedule->redo[producer];
    if (again)
        add_life(p, i, redo, lives.again > redo ? lives.again : redo, LIN_REASON_RECOMPUTED);
    return LINNET_OK;
}

linnet_status lin_training_add_activations(lin_memory *memory, lin_interval_list *intervals,
                                           linnet_error *err)
{
    const lin_graph *graph = memory->traced.graph;
    saved_pass p = { .memory = memory,
                     .graph = graph,
                     .training = memory->training,
                     .schedule = &memory->training->schedule,
                     .intervals = intervals,
                     .err = err };
    linnet_status status = LINNET_OK;
    p.lives = LIN_NEW_ARRAY(&memory->scratch, two_lives, graph->objects.count);
    for (uint32_t i = 0; i < graph->objects.count; i++)
        p.lives[i] = (two_lives){ -1, -1 };
    mark_own(&p);
    for (uint32_t k = 0; k < graph->steps.count && status == LINNET_OK; k++)
        status = visit_step(&p, (int32_t)k);
    for (uint32_t i = 0; i < graph->own_gradients.count; i++)
        keep_own(&p, i);
    for (uint32_t i = 0; i < graph->outputs.count; i++)
        extend(&p.lives[graph->objects.items[graph->outputs.items[i]].owner].first,
               p.schedule->results_end);
    for (uint32_t i = 0; i < graph->objects.count && status == LINNET_OK; i++)
        status = add_object(&p, i);
    return status;
}
