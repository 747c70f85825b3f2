/* SPDX-License-Identifier: MIT */

/*
 * A training step whose weights are sharded (tracing.md 11.4). Each process stores a part of every
 * tensor; a weight is whole only while it is used:
 *
 *     group       the parameters of one element of an array of blocks, or all others ("loose")
 *     forward     gathered from the first to the last step that reads the group
 *     backward    gathered again, recomputation included
 *     loose       gathered for the whole step
 *
 *     zero     optimizer states   gradients   weights      split over the shards
 *     1        part               whole       whole
 *     2        part               part        whole
 *     3        part               part        part
 *
 * Experts that are spread over processes are on fewer of the shards (lin_parallel_expert_shards),
 * and their states are split over those. On one alone, nothing of them is: their weights are there
 * in the dtype that is updated, and a group in use has a copy of them in the model's.
 *
 * A stage of a pipeline keeps its weights whole from the first micro-batch to the last.
 *
 * Parts of 3 are in the dtype that is updated, f32 unless another is given, and there are no
 * masters beside them; 1 and 2 keep the model's weights and hold parts of masters. Cost: linear in
 * what the steps read.
 */

#include "memory/training.h"

#include <string.h>

bool lin_training_shards(const lin_memory *memory)
{
    return memory->training != NULL && memory->parallel.shards > 1;
}

static bool is_split(const lin_memory *memory, int32_t from)
{
    return lin_training_shards(memory) && memory->parallel.zero >= from;
}

bool lin_training_shards_gradients(const lin_memory *memory)
{
    return is_split(memory, 2);
}

bool lin_training_shards_weights(const lin_memory *memory)
{
    return is_split(memory, 3);
}

/* Processes that each have a part of the states of the object. */
static int64_t shards_of(const lin_memory *memory, const lin_object *object)
{
    return object->is_expert_part ? lin_parallel_expert_shards(&memory->parallel)
                                  : memory->parallel.shards;
}

bool lin_training_is_split(const lin_memory *memory, const lin_object *object)
{
    return lin_training_shards(memory) && shards_of(memory, object) > 1;
}

static lin_expr divide_up(lin_expr_table *exprs, lin_expr e, int64_t parts)
{
    return parts > 1 ? lin_expr_ceildiv(exprs, e, lin_expr_int(exprs, parts)) : e;
}

lin_expr lin_training_part(const lin_memory *memory, const lin_object *object, lin_expr whole)
{
    return lin_training_shards(memory)
               ? divide_up(memory->traced.graph->exprs, whole, shards_of(memory, object))
               : whole;
}

lin_expr lin_memory_stored_bytes(const lin_memory *memory, uint32_t index)
{
    const lin_object *object = &memory->traced.graph->objects.items[index];
    lin_expr_table *exprs = memory->traced.graph->exprs;
    if (object->category != LIN_CATEGORY_PARAMETERS || !lin_training_shards_weights(memory))
        return object->bytes;
    if (!memory->training->trained[index])
        return lin_training_part(memory, object, object->bytes);
    const int64_t size = lin_dtype_bytes(lin_training_updated_dtype(memory->training, object));
    return lin_expr_mul(exprs, lin_training_part(memory, object, object->elements),
                        lin_expr_int(exprs, size));
}

/* ---- what fits together ---- */

linnet_status lin_training_check_shards(const lin_memory *memory, linnet_error *err)
{
    static const char *const whole[] = { "adafactor", "muon" };
    const char *optimizer = lin_optimizer_label(memory->training->optimizer);
    if (!lin_training_shards(memory))
        return LINNET_OK;
    for (size_t i = 0; i < ARRAY_LEN(whole); i++)
        if (strcmp(whole[i], optimizer) == 0)
            return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                            "`%s` over shards is not modelled: it works on whole matrices",
                            optimizer);
    return lin_parallel_check_expert_shards(&memory->parallel, err);
}

/* ---- groups ---- */

typedef struct weight_group {
    const char *path; /* of the array's element; not NUL-terminated */
    uint64_t length;
    lin_expr bytes, expert_bytes; /* the experts' are none of `bytes` */
    int32_t first, last;          /* steps that read it; first LIN_NEVER: none */
    int32_t begin, finish;        /* moments of its backward and recomputation, inclusive */
} weight_group;

typedef struct gather_pass {
    lin_memory *memory;
    lin_interval_list *intervals;
    LIN_LIST(weight_group) groups;
    uint32_t *group_of; /* by owner */
    weight_group loose;
    int64_t expert_shards;
    linnet_error *err;
} gather_pass;

#define LOOSE UINT32_MAX

static weight_group empty_group(const gather_pass *p, const char *path, uint64_t length)
{
    const lin_expr zero = lin_expr_int(p->memory->traced.graph->exprs, 0);
    return (weight_group){ .path = path,
                           .length = length,
                           .bytes = zero,
                           .expert_bytes = zero,
                           .first = LIN_NEVER,
                           .last = -1,
                           .begin = LIN_NEVER,
                           .finish = -1 };
}

/* Parameters come array by array, so the group is most often among the last ones. */
static uint32_t find_group(gather_pass *p, const char *path, uint64_t length)
{
    for (uint32_t i = 0; i < p->groups.count; i++) {
        const weight_group *group = &p->groups.items[i];
        if (group->length == length && memcmp(group->path, path, length) == 0)
            return i;
    }
    LIN_PUSH(&p->memory->scratch, &p->groups, empty_group(p, path, length));
    return p->groups.count - 1;
}

/* Of what is whole here, only what computes in another dtype than it is stored in has a copy. */
static void add_weight(const gather_pass *p, uint32_t index, weight_group *group)
{
    const lin_memory *memory = p->memory;
    const lin_object *object = &memory->traced.graph->objects.items[index];
    lin_expr *sum = object->is_expert_part ? &group->expert_bytes : &group->bytes;
    if (!lin_training_is_split(memory, object) &&
        (!memory->training->trained[index] ||
         lin_training_updated_dtype(memory->training, object) == object->dtype))
        return;
    *sum = lin_expr_add(memory->traced.graph->exprs, *sum, object->bytes);
}

static void list_groups(gather_pass *p)
{
    const lin_graph *graph = p->memory->traced.graph;
    for (uint32_t i = 0; i < graph->objects.count; i++) {
        const lin_object *object = &graph->objects.items[i];
        p->group_of[i] = LOOSE;
        if (object->owner != i || object->category != LIN_CATEGORY_PARAMETERS ||
            object->path == NULL)
            continue;
        const uint64_t length = lin_path_element(object->path);
        if (length > 0)
            p->group_of[i] = find_group(p, object->path, length);
        add_weight(p, i, length > 0 ? &p->groups.items[p->group_of[i]] : &p->loose);
    }
}

static void lower(int32_t *out, int32_t value)
{
    if (value < *out)
        *out = value;
}

static void raise_to(int32_t *out, int32_t value)
{
    if (value > *out)
        *out = value;
}

static void note_reads(gather_pass *p, int32_t step, const uint32_t *objects, uint32_t count)
{
    const lin_moments *schedule = &p->memory->training->schedule;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t owner = p->memory->traced.graph->objects.items[objects[i]].owner;
        if (p->group_of[owner] == LOOSE)
            continue;
        weight_group *group = &p->groups.items[p->group_of[owner]];
        lower(&group->first, step);
        raise_to(&group->last, step);
        lower(&group->begin, schedule->back[step]);
        lower(&group->begin, schedule->redo[step]);
        raise_to(&group->finish, schedule->back[step]);
    }
}

/* ---- spans ---- */

static linnet_status add_span(gather_pass *p, lin_expr bytes, int32_t first, int32_t end)
{
    if (bytes == LIN_EXPR_INVALID)
        return lin_fail(p->err, LINNET_ERROR_OVERFLOW,
                        "the gathered parameters need more than 2^63 - 1 bytes");
    if (end <= first)
        return LINNET_OK;
    LIN_PUSH(&p->memory->scratch, p->intervals,
             ((lin_interval){ .first = first,
                              .end = end,
                              .bytes = bytes,
                              .category = LIN_CATEGORY_COMMUNICATION,
                              .confidence = LIN_BACKEND_MODELED,
                              .object = UINT32_MAX,
                              .is_workspace = true,
                              .reason = LIN_REASON_GATHERED,
                              .step = LIN_NO_STEP }));
    return LINNET_OK;
}

/* What comes to the part of its own, one of `shards`, when bytes are spread over `parts` of them;
 * all of it where the part is the whole, in another dtype. */
static lin_expr beside_part(const gather_pass *p, lin_expr bytes, int64_t shards, int64_t parts)
{
    lin_expr_table *exprs = p->memory->traced.graph->exprs;
    if (shards == 1)
        return parts == 1 ? bytes : lin_expr_int(exprs, 0);
    const lin_expr held = divide_up(exprs, bytes, parts < shards ? parts : shards);
    const lin_expr part = divide_up(exprs, bytes, shards);
    return lin_expr_sub(exprs, held, part);
}

static lin_expr beside_parts(const gather_pass *p, const weight_group *group, int64_t parts)
{
    const lin_expr dense = beside_part(p, group->bytes, p->memory->parallel.shards, parts);
    const lin_expr experts = beside_part(p, group->expert_bytes, p->expert_shards, parts);
    return lin_expr_add(p->memory->traced.graph->exprs, dense, experts);
}

static linnet_status add_group(gather_pass *p, uint32_t index, const uint32_t *order,
                               uint32_t count)
{
    const lin_parallel *parallel = &p->memory->parallel;
    const uint32_t ahead =
        parallel->prefetch < (int64_t)count ? (uint32_t)parallel->prefetch : count;
    const weight_group *group = &p->groups.items[order[index]];
    const weight_group *before = &p->groups.items[order[index > ahead ? index - ahead : 0]];
    const weight_group *after =
        &p->groups.items[order[index + ahead < count ? index + ahead : count - 1]];
    const lin_expr whole = beside_parts(p, group, 1);
    if (parallel->reshard == LIN_RESHARD_NEVER)
        return add_span(p, whole, before->first, group->finish + 1);
    linnet_status status = add_span(p, whole, before->first, group->last + 1);
    if (status == LINNET_OK)
        status = add_span(p, whole, after->begin, group->finish + 1);
    if (status == LINNET_OK && parallel->reshard > 0)
        status =
            add_span(p, beside_parts(p, group, parallel->reshard), group->last + 1, after->begin);
    return status;
}

/* Groups that are read, by their first step. */
static uint32_t *sort_groups(gather_pass *p, uint32_t *out_count)
{
    uint32_t *order = LIN_NEW_ARRAY(&p->memory->scratch, uint32_t, p->groups.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->groups.count; i++) {
        if (p->groups.items[i].first == LIN_NEVER)
            continue;
        uint32_t at = count++;
        for (; at > 0 && p->groups.items[order[at - 1]].first > p->groups.items[i].first; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    *out_count = count;
    return order;
}

/* ---- a stage of a pipeline ---- */

/* It keeps its weights gathered for the whole step ("held"). A gradient is whole before it is
 * summed back: the published model counts the largest all through backward, a replay each of them
 * where it is made (gradients.c). */
static linnet_status add_held(gather_pass *p)
{
    lin_memory *memory = p->memory;
    const lin_graph *graph = memory->traced.graph;
    const lin_moments *schedule = &memory->training->schedule;
    lin_expr held = beside_parts(p, &p->loose, 1), largest = lin_expr_int(graph->exprs, 0);
    for (uint32_t i = 0; i < p->groups.count; i++) {
        const lin_expr group = beside_parts(p, &p->groups.items[i], 1);
        held = lin_expr_add(graph->exprs, held, group);
    }
    for (uint32_t i = 0; i < graph->parameter_objects; i++)
        if (memory->training->trained[i])
            largest = lin_expr_max(graph->exprs, largest, graph->objects.items[i].bytes);
    const linnet_status status = add_span(p, held, 0, schedule->length);
    return status != LINNET_OK || lin_stage_replays(memory) || graph->steps.count == 0
               ? status
               : add_span(p, largest, (int32_t)graph->steps.count, schedule->optimizer);
}

linnet_status lin_training_add_gathered(lin_memory *memory, lin_interval_list *intervals,
                                        linnet_error *err)
{
    const lin_graph *graph = memory->traced.graph;
    gather_pass p = { .memory = memory, .intervals = intervals, .err = err };
    uint32_t count;
    if (!lin_training_shards_weights(memory))
        return LINNET_OK;
    p.loose = empty_group(&p, NULL, 0);
    p.expert_shards = lin_parallel_expert_shards(&memory->parallel);
    p.group_of = LIN_NEW_ARRAY(&memory->scratch, uint32_t, graph->objects.count);
    list_groups(&p);
    if (memory->stage != NULL)
        return add_held(&p);
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        const lin_step *step = &graph->steps.items[k];
        note_reads(&p, (int32_t)k, step->inputs, step->input_count);
        note_reads(&p, (int32_t)k, step->region_reads, step->region_read_count);
    }
    const uint32_t *order = sort_groups(&p, &count);
    linnet_status status =
        add_span(&p, beside_parts(&p, &p.loose, 1), 0, memory->training->schedule.length);
    for (uint32_t i = 0; i < count && status == LINNET_OK; i++)
        status = add_group(&p, i, order, count);
    return status;
}
