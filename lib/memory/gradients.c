/* SPDX-License-Identifier: MIT */

/*
 * What is trained, what therefore carries gradients (tracing.md 9.1), and how long gradients live
 * (9.6).
 *
 *     of an activation   from the first backward among its readers to its producer's
 *     of a parameter     from the first backward among its readers to the optimizer step
 *
 * Where several micro-batches are summed, the parameters' gradients are there all the time, and
 * each new one is made beside them. Cost: linear in what the steps read.
 */

#include "memory/training.h"

#include <string.h>

static bool is_float(const lin_object *object)
{
    return lin_dtype_class_of(object->dtype) == LIN_CLASS_FLOAT;
}

/* ---- what is trained ---- */

static bool is_parameter(const lin_object *object)
{
    return object->persistent && object->category == LIN_CATEGORY_PARAMETERS &&
           object->path != NULL;
}

static bool is_adapter(const lin_training *training, uint32_t object)
{
    return object >= training->first_adapter &&
           object < training->first_adapter + 2 * training->adapters;
}

static linnet_status train_matching(lin_memory *memory, const char *pattern, linnet_error *err)
{
    const lin_graph *graph = memory->traced.graph;
    bool found = false;
    for (uint32_t i = 0; i < graph->parameter_objects; i++) {
        const lin_object *object = &graph->objects.items[i];
        if (!is_parameter(object) || !lin_pattern_matches(pattern, object->path))
            continue;
        found = true;
        memory->training->trained[object->owner] |= is_float(object);
    }
    if (found)
        return LINNET_OK;

    uint32_t count = 0;
    const char **paths = LIN_NEW_ARRAY(&memory->scratch, const char *, graph->parameter_objects);
    for (uint32_t i = 0; i < graph->parameter_objects; i++)
        if (is_parameter(&graph->objects.items[i]))
            paths[count++] = graph->objects.items[i].path;
    return lin_training_fail_pattern(memory, "trainable", "parameter", pattern, paths, count, err);
}

linnet_status lin_training_mark_trained(lin_memory *memory, linnet_error *err)
{
    const lin_graph *graph = memory->traced.graph;
    lin_training *training = memory->training;
    const lin_training_settings *settings = &training->settings;
    training->trained = LIN_NEW_ARRAY(&memory->arena, bool, graph->objects.count);
    for (uint32_t i = 0; i < settings->trainable_count; i++) {
        const linnet_status status = train_matching(memory, settings->trainable[i], err);
        if (status != LINNET_OK)
            return status;
    }

    const bool all = settings->trainable_count == 0 && settings->lora_rank == 0;
    bool any = false;
    for (uint32_t i = 0; i < graph->parameter_objects; i++) {
        const lin_object *object = &graph->objects.items[i];
        if (is_parameter(object) && is_float(object) && (all || is_adapter(training, i)))
            training->trained[object->owner] = true;
        any |= training->trained[i];
    }
    return any ? LINNET_OK
               : lin_fail(err, LINNET_ERROR_ARGUMENT,
                          "nothing is trained: no trainable parameter has a float dtype");
}

/* ---- what carries gradients ---- */

static bool is_never_differentiable(const char *kind)
{
    static const char *const kinds[] = { "compare", "and", "or",  "bitand", "bitor", "bitxor",
                                         "shl",     "shr", "not", "fill",   "iota" };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}

static bool any_carries(const lin_training *training, const uint32_t *objects, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (training->carries[objects[i]])
            return true;
    return false;
}

void lin_training_mark_gradients(lin_memory *memory)
{
    const lin_graph *graph = memory->traced.graph;
    lin_training *training = memory->training;
    training->carries = LIN_NEW_ARRAY(&memory->arena, bool, graph->objects.count);
    training->differentiable = LIN_NEW_ARRAY(&memory->arena, bool, graph->steps.count);
    for (uint32_t i = 0; i < graph->parameter_objects; i++) {
        const lin_object *object = &graph->objects.items[i];
        training->carries[i] = training->trained[object->owner] && is_float(object);
    }
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        const lin_step *step = &graph->steps.items[k];
        if (is_never_differentiable(step->kind) ||
            !(any_carries(training, step->inputs, step->input_count) ||
              any_carries(training, step->region_reads, step->region_read_count)))
            continue;
        training->differentiable[k] = true;
        for (uint32_t i = 0; i < step->output_count; i++)
            training->carries[step->outputs[i]] = is_float(&graph->objects.items[step->outputs[i]]);
    }
}

lin_dtype lin_training_updated_dtype(const lin_training *training, const lin_object *parameter)
{
    if (training->is_sharded)
        return training->part_dtype;
    return training->settings.has_master_dtype ? training->settings.master_dtype : parameter->dtype;
}

lin_dtype lin_training_gradient_dtype(const lin_training *training, const lin_object *parameter)
{
    if (training->is_sharded && training->zero >= 3)
        return training->part_dtype; /* a stored part's gradient has its dtype */
    if (training->settings.has_gradient_dtype)
        return training->settings.gradient_dtype;
    return training->is_sharded ? parameter->dtype
                                : lin_training_updated_dtype(training, parameter);
}

/* ---- how long gradients live ---- */

typedef struct gradient_pass {
    lin_memory *memory;
    lin_interval_list *intervals;
    int32_t *begins; /* by owner: the first backward among its readers */
    linnet_error *err;
} gradient_pass;

static linnet_status add_gradient(gradient_pass *p, uint32_t owner, lin_interval interval)
{
    if (interval.bytes == LIN_EXPR_INVALID)
        return lin_memory_fail_object(p->memory, owner, p->err);
    interval.object = owner;
    interval.step = p->memory->traced.graph->objects.items[owner].producer;
    LIN_PUSH(&p->memory->scratch, p->intervals, interval);
    return LINNET_OK;
}

/* The gradient of a micro-batch, made beside the sum of those before it. */
static linnet_status add_new_gradient(gradient_pass *p, uint32_t owner, int32_t moment)
{
    const lin_object *object = &p->memory->traced.graph->objects.items[owner];
    return add_gradient(p, owner,
                        (lin_interval){ .first = moment,
                                        .end = moment + 1,
                                        .bytes = object->bytes,
                                        .category = LIN_CATEGORY_BACKWARD_TEMPORARIES,
                                        .confidence = LIN_BACKEND_MODELED,
                                        .reason = LIN_REASON_NEW_GRADIENT });
}

/* A gradient is whole before it is added to a sum, or spread over shards whose weights are whole:
 * with parts of weights the published rule (tracing.md 11.4) counts none. */
static bool makes_new_gradient(const lin_memory *memory, const lin_object *parameter)
{
    return memory->training->settings.accumulation > 1 || lin_stage_replays(memory) ||
           (lin_training_shards_gradients(memory) && !lin_training_shards_weights(memory) &&
            lin_training_is_split(memory, parameter));
}

static linnet_status note_readers(gradient_pass *p, int32_t step, const uint32_t *objects,
                                  uint32_t count)
{
    const lin_training *training = p->memory->training;
    const lin_object *all = p->memory->traced.graph->objects.items;
    const lin_moments *schedule = &training->schedule;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t owner = all[objects[i]].owner;
        const int32_t moment =
            training->trained[owner] ? schedule->weight[step] : schedule->back[step];
        if (moment < p->begins[owner])
            p->begins[owner] = moment;
        if (!training->trained[owner] || !makes_new_gradient(p->memory, &all[owner]))
            continue;
        const linnet_status status = add_new_gradient(p, owner, moment);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

static linnet_status add_of_parameter(gradient_pass *p, uint32_t owner)
{
    const lin_training *training = p->memory->training;
    const lin_graph *graph = p->memory->traced.graph;
    const lin_object *object = &graph->objects.items[owner];
    const int64_t size = lin_dtype_bytes(lin_training_gradient_dtype(training, object));
    const lin_expr elements = lin_training_shards_gradients(p->memory)
                                  ? lin_training_part(p->memory, object, object->elements)
                                  : object->elements;
    return add_gradient(
        p, owner,
        (lin_interval){ .first = training->settings.accumulation > 1 ? 0 : p->begins[owner],
                        .end = training->schedule.length,
                        .bytes =
                            lin_expr_mul(graph->exprs, elements, lin_expr_int(graph->exprs, size)),
                        .category = LIN_CATEGORY_GRADIENTS,
                        .reason = LIN_REASON_GRADIENT });
}

static linnet_status add_of_activation(gradient_pass *p, uint32_t owner)
{
    const lin_object *object = &p->memory->traced.graph->objects.items[owner];
    return add_gradient(
        p, owner,
        (lin_interval){ .first = p->begins[owner],
                        .end = p->memory->training->schedule.weight[object->producer] + 1,
                        .bytes = object->bytes,
                        .category = LIN_CATEGORY_BACKWARD_TEMPORARIES,
                        .confidence = LIN_BACKEND_MODELED,
                        .reason = LIN_REASON_ACTIVATION_GRADIENT });
}

static linnet_status add_of_object(gradient_pass *p, uint32_t i)
{
    const lin_training *training = p->memory->training;
    const lin_object *object = &p->memory->traced.graph->objects.items[i];
    if (object->owner != i || p->begins[i] == LIN_NEVER)
        return LINNET_OK;
    if (training->trained[i])
        return add_of_parameter(p, i);
    if (object->persistent || object->producer == LIN_NO_STEP || !training->carries[i])
        return LINNET_OK;
    return add_of_activation(p, i);
}

linnet_status lin_training_add_gradients(lin_memory *memory, lin_interval_list *intervals,
                                         linnet_error *err)
{
    const lin_graph *graph = memory->traced.graph;
    gradient_pass p = { .memory = memory, .intervals = intervals, .err = err };
    linnet_status status = LINNET_OK;
    p.begins = LIN_NEW_ARRAY(&memory->scratch, int32_t, graph->objects.count);
    for (uint32_t i = 0; i < graph->objects.count; i++)
        p.begins[i] = LIN_NEVER;
    for (uint32_t k = 0; k < graph->steps.count && status == LINNET_OK; k++) {
        const lin_step *step = &graph->steps.items[k];
        if (!memory->training->differentiable[k])
            continue;
        status = note_readers(&p, (int32_t)k, step->inputs, step->input_count);
        if (status == LINNET_OK)
            status = note_readers(&p, (int32_t)k, step->region_reads, step->region_read_count);
    }
    for (uint32_t i = 0; i < graph->objects.count && status == LINNET_OK; i++)
        status = add_of_object(&p, i);
    return status;
}
