/* SPDX-License-Identifier: MIT */

/*
 * Making steps and objects, and the sizes behind them. Sizes of a value are computed once a frame
 * and shared by every object made from it, so the layers after the first cost no arithmetic.
 */

#include "trace/trace_walk.h"

#include <string.h>

/* ---- sizes ---- */

static void check_shape(walker *w, const tensor_info *info, lin_span span)
{
    for (uint32_t i = 0; i < info->rank; i++) {
        int64_t extent;
        if (info->shape[i] == LIN_EXPR_INVALID)
            lin_walk_fail_at(w, span, LINNET_ERROR_OVERFLOW,
                             "a dimension cannot be computed: its arithmetic does not fit in 64 "
                             "bits, or divides by 0");
        if (lin_expr_is_int(w->exprs, info->shape[i], &extent) && extent < 0)
            lin_walk_fail_at(w, span, LINNET_ERROR_ARGUMENT,
                             "a dimension is negative with these values: %lld", (long long)extent);
    }
    if (info->bytes == LIN_EXPR_INVALID)
        lin_walk_fail_at(w, span, LINNET_ERROR_OVERFLOW,
                         "the size of a tensor does not fit in 64 bits");
}

const tensor_info *lin_walk_type_info(walker *w, const lin_env *env, const lin_type *type,
                                      lin_span span)
{
    tensor_info *info = LIN_NEW(w->scratch, tensor_info);
    info->shape = lin_env_shape(w->arena, env, type->axes, type->axis_count, &info->rank);
    lin_dtype_term dtype = lin_env_dtype(env, type->dtype);
    if (!lin_dtype_is_concrete(dtype))
        lin_walk_fail_at(w, span, LINNET_ERROR_ARGUMENT, "a tensor's dtype has no value");
    info->dtype = (lin_dtype)dtype;
    if (info->rank > LIN_MAX_RANK)
        lin_walk_fail_at(w, span, LINNET_ERROR_UNSUPPORTED, "a tensor of more than %d axes",
                         LIN_MAX_RANK);
    info->elements = w->one;
    for (uint32_t i = 0; i < info->rank; i++)
        info->elements = lin_expr_mul(w->exprs, info->elements, info->shape[i]);
    info->bytes = lin_expr_mul(w->exprs, info->elements,
                               lin_expr_int(w->exprs, lin_dtype_bytes(info->dtype)));
    if (!w->counting)
        check_shape(w, info, span);
    return info;
}

const tensor_info *lin_walk_info(walker *w, frame *f, lin_value value, lin_span span)
{
    if (!f->infos[value])
        f->infos[value] = lin_walk_type_info(w, f->env, type_of_value(f, value), span);
    return f->infos[value];
}

/* ---- objects ---- */

uint32_t lin_walk_object(walker *w, lin_object object)
{
    uint32_t id = w->graph->objects.count;
    if (object.owner == LIN_NO_OBJECT)
        object.owner = id;
    LIN_PUSH(w->arena, &w->graph->objects, object);
    LIN_PUSH(w->scratch, &w->stamps, 0);
    return id;
}

static lin_object result_object(const walker *w, const tensor_info *info, const char *name)
{
    return (lin_object){ .name = name,
                         .category = LIN_CATEGORY_ACTIVATIONS,
                         .dtype = info->dtype,
                         .shape = info->shape,
                         .rank = info->rank,
                         .elements = info->elements,
                         .bytes = info->bytes,
                         .producer = (int32_t)w->graph->steps.count,
                         .owner = LIN_NO_OBJECT };
}

static tvalue make_result(walker *w, lin_object object)
{
    uint32_t id = lin_walk_object(w, object);
    LIN_PUSH(w->scratch, &w->outputs, id);
    return tvalue_tensor(id);
}

tvalue lin_walk_fresh(walker *w, const tensor_info *info, const char *name)
{
    return make_result(w, result_object(w, info, name));
}

tvalue lin_walk_shared(walker *w, const tensor_info *info, const char *name, const tvalue *source)
{
    lin_object object = result_object(w, info, name);
    object.owner = w->graph->objects.items[source->object].owner;
    object.bytes = w->zero;
    return make_result(w, object);
}

/* ---- steps ---- */

/* Inputs are stamped with an even number, reads inside index notation with the odd one after it. */
void lin_walk_begin(walker *w)
{
    w->inputs.count = 0;
    w->region_reads.count = 0;
    w->outputs.count = 0;
    w->stamp += 2;
}

void lin_walk_read(walker *w, const tvalue *value)
{
    if (value->kind == TVALUE_TUPLE)
        for (uint32_t i = 0; i < value->count; i++)
            lin_walk_read(w, &value->as.parts[i]);
    if (value->kind != TVALUE_TENSOR || value->object == LIN_NO_OBJECT || value->inside ||
        w->stamps.items[value->object] == w->stamp)
        return;
    w->stamps.items[value->object] = w->stamp;
    LIN_PUSH(w->scratch, &w->inputs, value->object);
}

void lin_walk_read_inside(walker *w, uint32_t object)
{
    for (uint32_t i = 0; i < w->region_reads.count; i++)
        if (w->region_reads.items[i] == object)
            return;
    LIN_PUSH(w->scratch, &w->region_reads, object);
}

const uint32_t *lin_walk_copy_ids(walker *w, const uint32_t *ids, uint32_t count)
{
    if (count == 0)
        return NULL;
    uint32_t *copy = LIN_NEW_ARRAY(w->arena, uint32_t, count);
    memcpy(copy, ids, count * sizeof *copy);
    return copy;
}

lin_step *lin_walk_end(walker *w, const char *kind, const char *label, lin_expr arithmetic,
                       lin_span span)
{
    if (w->graph->steps.count >= LIN_WALK_MAX_STEPS)
        lin_walk_fail_at(w, span, LINNET_ERROR_UNSUPPORTED, "the entry has more than %d steps",
                         LIN_WALK_MAX_STEPS);
    lin_step step = { .kind = kind,
                      .label = label,
                      .scope = w->scope,
                      .arithmetic = arithmetic,
                      .workspace = w->zero,
                      .workspace_confidence = LIN_EXACT };
    step.inputs = lin_walk_copy_ids(w, w->inputs.items, w->inputs.count);
    step.input_count = w->inputs.count;
    step.region_reads = lin_walk_copy_ids(w, w->region_reads.items, w->region_reads.count);
    step.region_read_count = w->region_reads.count;
    step.outputs = lin_walk_copy_ids(w, w->outputs.items, w->outputs.count);
    step.output_count = w->outputs.count;
    LIN_PUSH(w->arena, &w->graph->steps, step);
    return &w->graph->steps.items[w->graph->steps.count - 1];
}

void lin_walk_note_operands(walker *w, lin_step *step)
{
    step->operand_count = w->operand_objects.count;
    step->operands = step->operand_count == step->input_count
                         ? step->inputs
                         : lin_walk_copy_ids(w, w->operand_objects.items, w->operand_objects.count);
}

/* ---- records by call site ---- */

static uint32_t slot_of(const walker *w, const void *f, const void *op)
{
    uint64_t hash = ((uint64_t)(uintptr_t)f ^ ((uint64_t)(uintptr_t)op << 7)) * 0x9e3779b97f4a7c15u;
    uint32_t slot = (uint32_t)(hash >> 32) & w->site_mask;
    while (w->sites[slot].op && (w->sites[slot].op != op || w->sites[slot].frame != f))
        slot = (slot + 1) & w->site_mask;
    return slot;
}

void *lin_walk_site(const walker *w, const frame *f, const lin_op *op)
{
    return w->sites ? w->sites[slot_of(w, f, op)].record : NULL;
}

static void grow_sites(walker *w)
{
    site *old = w->sites;
    uint32_t old_size = old ? w->site_mask + 1 : 0, size = old ? old_size * 2 : 256;
    w->sites = LIN_NEW_ARRAY(w->scratch, site, size);
    w->site_mask = size - 1;
    for (uint32_t i = 0; i < old_size; i++)
        if (old[i].op)
            w->sites[slot_of(w, old[i].frame, old[i].op)] = old[i];
}

void lin_walk_note_site(walker *w, const frame *f, const lin_op *op, void *record)
{
    if (!w->sites || w->site_count * 2 > w->site_mask)
        grow_sites(w);
    uint32_t slot = slot_of(w, f, op);
    if (!w->sites[slot].op)
        w->site_count++;
    w->sites[slot] = (site){ f, op, record };
}
