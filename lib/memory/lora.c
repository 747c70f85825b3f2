/* SPDX-License-Identifier: MIT */

/*
 * Low-rank adapters (Hu et al., LoRA, 2021) as parameters and steps of the graph: beside every
 * linear layer that is adapted,
 *
 *     y = W x                       W frozen, quantized or not
 *     d = A x        A [r, in]
 *     u = B d        B [out, r]
 *     s = u alpha / r
 *     y' = y + s                    what the rest of the entry reads
 *
 * in the input's dtype, without dropout. The graph is rebuilt: adapters follow the other persistent
 * objects, and each object and step after them gets a new number. What autograd keeps then follows
 * from the ordinary rules: W for x's gradient, x and d for A's and B's. Cost: linear in the graph,
 * and layers times patterns.
 */

#include "memory/training.h"

#include <string.h>

/* A layer that is adapted; a layer that runs twice has one. */
typedef struct adapted_layer {
    const char *base; /* "layers.0.attention.q" */
    uint32_t a, b;    /* new objects */
    lin_expr in, out;
    lin_dtype dtype;
} adapted_layer;

typedef struct rebuild {
    lin_memory *memory;
    const lin_graph *old;
    lin_graph *graph; /* the same; its lists are replaced at the end */
    linnet_error *err;
    LIN_LIST(adapted_layer) layers;
    uint32_t *layer_of; /* by old step; UINT32_MAX: not adapted */
    uint32_t *id_of;    /* by old object: what later steps read in its place */
    int32_t *step_of;   /* by old step, and after the last */
    LIN_LIST(lin_object) objects;
    LIN_LIST(lin_step) steps;
} rebuild;

/* ---- which layers ---- */

static bool is_linear(const lin_step *step)
{
    static const char *const names[] = { "torch.nn.functional.linear",
                                         "torch.ops.aten._weight_int4pack_mm" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (step->implementation != NULL && strcmp(step->implementation, names[i]) == 0)
            return step->operand_count >= 2 && step->output_count == 1;
    return false;
}

/* The path of the layer: its weight's without the last part, or the block that runs. */
static const char *base_of(const rebuild *r, const lin_step *step)
{
    static const char suffix[] = ".weight";
    const lin_object *weight = &r->old->objects.items[step->operands[1]];
    if (weight->path == NULL)
        return step->scope;
    const uint64_t length = strlen(weight->path), tail = sizeof suffix - 1;
    if (length <= tail || strcmp(weight->path + length - tail, suffix) != 0)
        return weight->path;
    return lin_arena_text(&r->memory->arena, weight->path, length - tail);
}

static bool is_in_array(const char *path)
{
    for (const char *at = strchr(path, '.'); at != NULL; at = strchr(at + 1, '.'))
        if (at[1] >= '0' && at[1] <= '9')
            return true;
    return false;
}

/* A pattern speaks of the whole path or, as PEFT's target modules, of its end. */
static bool matches(const char *pattern, const char *path)
{
    for (const char *at = path; at != NULL; at = strchr(at, '.')) {
        at += *at == '.';
        if (lin_pattern_matches(pattern, at))
            return true;
    }
    return false;
}

static bool is_wanted(const char *base, const char *const *patterns, uint32_t count, bool *is_used)
{
    bool wanted = count == 0 && is_in_array(base);
    for (uint32_t i = 0; i < count; i++)
        if (matches(patterns[i], base)) {
            is_used[i] = true;
            wanted = true;
        }
    return wanted;
}

static linnet_status check_rank(const rebuild *r, const adapted_layer *layer)
{
    const int64_t rank = r->memory->training->settings.lora_rank;
    const lin_expr sides[] = { layer->in, layer->out };
    for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
        int64_t extent;
        if (lin_expr_is_int(r->old->exprs, sides[i], &extent) && rank > extent)
            return lin_fail(r->err, LINNET_ERROR_ARGUMENT,
                            "a rank of %lld is past the matrix of `%s`: one side has %lld",
                            (long long)rank, layer->base, (long long)extent);
    }
    return LINNET_OK;
}

static uint32_t find_layer(const rebuild *r, const char *base)
{
    for (uint32_t i = r->layers.count; i-- > 0;)
        if (strcmp(r->layers.items[i].base, base) == 0)
            return i;
    return UINT32_MAX;
}

static linnet_status add_layer(rebuild *r, uint32_t k, const char *base)
{
    const lin_step *step = &r->old->steps.items[k];
    const lin_object *x = &r->old->objects.items[step->operands[0]];
    const lin_object *y = &r->old->objects.items[step->outputs[0]];
    const adapted_layer layer = {
        .base = base, .in = x->shape[x->rank - 1], .out = y->shape[y->rank - 1], .dtype = x->dtype
    };
    r->layer_of[k] = find_layer(r, base);
    if (r->layer_of[k] != UINT32_MAX)
        return LINNET_OK;
    r->layer_of[k] = r->layers.count;
    LIN_PUSH(&r->memory->scratch, &r->layers, layer);
    return check_rank(r, &layer);
}

static linnet_status find_layers(rebuild *r)
{
    const char *text = r->memory->training->settings.lora_patterns;
    uint32_t count = 0, linears = 0;
    const char *const *patterns = text != NULL ? lin_training_split(r->memory, text, &count) : NULL;
    lin_arena *scratch = &r->memory->scratch;
    bool *is_used = LIN_NEW_ARRAY(scratch, bool, count);
    const char **bases = LIN_NEW_ARRAY(scratch, const char *, r->old->steps.count);
    for (uint32_t k = 0; k < r->old->steps.count; k++) {
        r->layer_of[k] = UINT32_MAX;
        if (!is_linear(&r->old->steps.items[k]))
            continue;
        bases[linears++] = base_of(r, &r->old->steps.items[k]);
        if (!is_wanted(bases[linears - 1], patterns, count, is_used))
            continue;
        const linnet_status status = add_layer(r, k, bases[linears - 1]);
        if (status != LINNET_OK)
            return status;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!is_used[i])
            return lin_training_fail_pattern(r->memory, "lora", "linear layer", patterns[i], bases,
                                             linears, r->err);
    if (r->layers.count > 0)
        return LINNET_OK;
    return lin_fail(r->err, LINNET_ERROR_ARGUMENT,
                    "lora: the entry runs no linear layer of an array of blocks");
}

/* ---- objects ---- */

static uint32_t add_object(rebuild *r, lin_object object)
{
    if (object.owner == UINT32_MAX)
        object.owner = r->objects.count;
    LIN_PUSH(&r->graph->arena, &r->objects, object);
    return r->objects.count - 1;
}

static lin_object sized(const rebuild *r, const lin_expr *shape, uint32_t rank, lin_dtype dtype)
{
    lin_expr_table *exprs = r->old->exprs;
    lin_object object = { .dtype = dtype, .shape = shape, .rank = rank, .owner = UINT32_MAX };
    object.elements = lin_expr_int(exprs, 1);
    for (uint32_t i = 0; i < rank; i++)
        object.elements = lin_expr_mul(exprs, object.elements, shape[i]);
    object.bytes =
        lin_expr_mul(exprs, object.elements, lin_expr_int(exprs, lin_dtype_bytes(dtype)));
    return object;
}

static uint32_t add_adapter(rebuild *r, const char *base, const char *name, lin_expr rows,
                            lin_expr columns, lin_dtype dtype)
{
    lin_expr *shape = LIN_NEW_ARRAY(&r->graph->arena, lin_expr, 2);
    shape[0] = rows;
    shape[1] = columns;
    lin_object object = sized(r, shape, 2, dtype);
    object.name = name;
    object.path = lin_arena_format(&r->graph->arena, "%s.%s", base, name);
    object.category = LIN_CATEGORY_PARAMETERS;
    object.producer = LIN_NO_STEP;
    object.persistent = true;
    return add_object(r, object);
}

static void copy_object(rebuild *r, uint32_t old)
{
    lin_object object = r->old->objects.items[old];
    object.owner = object.owner == old ? UINT32_MAX : r->id_of[object.owner];
    if (object.producer != LIN_NO_STEP)
        object.producer = (int32_t)r->steps.count;
    r->id_of[old] = add_object(r, object);
}

static void copy_before_the_entry(rebuild *r)
{
    const lin_expr rank = lin_expr_int(r->old->exprs, r->memory->training->settings.lora_rank);
    for (uint32_t i = 0; i < r->old->parameter_objects; i++)
        r->id_of[i] = add_object(r, r->old->objects.items[i]); /* owners keep their numbers */
    for (uint32_t i = 0; i < r->layers.count; i++) {
        adapted_layer *layer = &r->layers.items[i];
        layer->a = add_adapter(r, layer->base, "lora_a", rank, layer->in, layer->dtype);
        layer->b = add_adapter(r, layer->base, "lora_b", layer->out, rank, layer->dtype);
    }
    for (uint32_t i = r->old->parameter_objects; i < r->old->objects.count; i++)
        if (r->old->objects.items[i].producer == LIN_NO_STEP)
            copy_object(r, i);
}

/* ---- steps ---- */

static const uint32_t *renumber(rebuild *r, const uint32_t *ids, uint32_t count)
{
    uint32_t *out = LIN_NEW_ARRAY(&r->graph->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        out[i] = r->id_of[ids[i]];
    return out;
}

static void copy_step(rebuild *r, uint32_t k)
{
    const lin_step *old = &r->old->steps.items[k];
    lin_step step = *old;
    step.inputs = renumber(r, old->inputs, old->input_count);
    step.region_reads = renumber(r, old->region_reads, old->region_read_count);
    step.operands =
        old->operands == old->inputs ? step.inputs : renumber(r, old->operands, old->operand_count);
    for (uint32_t i = 0; i < old->output_count; i++)
        copy_object(r, old->outputs[i]);
    step.outputs = renumber(r, old->outputs, old->output_count);
    LIN_PUSH(&r->graph->arena, &r->steps, step);
}

/* A step with one result like `result`, whose storage is fresh. */
static uint32_t add_step(rebuild *r, lin_step step, uint32_t first, uint32_t second,
                         lin_object result)
{
    uint32_t *ids = LIN_NEW_ARRAY(&r->graph->arena, uint32_t, 3);
    ids[0] = first;
    ids[1] = second;
    step.input_count = second != UINT32_MAX ? 2 : 1;
    step.inputs = ids;
    step.region_reads = NULL;
    step.region_read_count = 0;
    step.operands = step.implementation != NULL ? ids : NULL;
    step.operand_count = step.implementation != NULL ? step.input_count : 0;
    result.name = step.label;
    result.category = LIN_CATEGORY_ACTIVATIONS;
    result.producer = (int32_t)r->steps.count;
    ids[2] = add_object(r, result);
    step.outputs = ids + 2;
    step.output_count = 1;
    LIN_PUSH(&r->graph->arena, &r->steps, step);
    return ids[2];
}

static lin_object with_last_extent(rebuild *r, const lin_object *like, lin_expr extent)
{
    lin_expr *shape = LIN_NEW_ARRAY(&r->graph->arena, lin_expr, like->rank);
    memcpy(shape, like->shape, like->rank * sizeof *shape);
    shape[like->rank - 1] = extent;
    return sized(r, shape, like->rank, like->dtype);
}

/* The layer's own step was copied just now. */
static void add_adapted(rebuild *r, uint32_t k, const adapted_layer *layer)
{
    lin_expr_table *exprs = r->old->exprs;
    const lin_step *old = &r->old->steps.items[k];
    const lin_expr two = lin_expr_int(exprs, 2);
    const lin_expr rank = lin_expr_int(exprs, r->memory->training->settings.lora_rank);
    const uint32_t x = r->id_of[old->operands[0]], y = r->id_of[old->outputs[0]];
    const lin_object down = with_last_extent(r, &r->objects.items[x], rank);
    const lin_object up = with_last_extent(r, &r->objects.items[y], layer->out);

    lin_step product = { .kind = "semantic.call",
                         .label = "linear",
                         .scope = old->scope,
                         .implementation = "torch.nn.functional.linear",
                         .workspace = lin_expr_int(exprs, 0) };
    product.native = lin_backend_choose("std.nn.linear::linear", LIN_NUMERICS_FAST).native;
    lin_step sum = { .kind = "scale",
                     .label = "mul",
                     .scope = old->scope,
                     .arithmetic = up.elements,
                     .workspace = lin_expr_int(exprs, 0) };

    product.arithmetic = lin_expr_mul(exprs, two, lin_expr_mul(exprs, down.elements, layer->in));
    const uint32_t d = add_step(r, product, x, layer->a, down);
    product.arithmetic = lin_expr_mul(exprs, two, lin_expr_mul(exprs, up.elements, rank));
    const uint32_t u = add_step(r, product, d, layer->b, up);
    const uint32_t s = add_step(r, sum, u, UINT32_MAX, up);
    sum.kind = sum.label = "add";
    r->id_of[old->outputs[0]] = add_step(r, sum, y, s, up);
}

/* ---- the graph ---- */

static void replace(rebuild *r)
{
    lin_graph *graph = r->graph;
    for (uint32_t i = 0; i < graph->outputs.count; i++)
        graph->outputs.items[i] = r->id_of[graph->outputs.items[i]];
    for (uint32_t i = 0; i < graph->own_gradients.count; i++) {
        lin_own_gradient *own = &graph->own_gradients.items[i];
        own->first_step = r->step_of[own->first_step];
        own->end_step = r->step_of[own->end_step];
        own->objects = renumber(r, own->objects, own->object_count);
    }
    graph->parameter_objects += 2 * r->layers.count;
    graph->objects.items = r->objects.items;
    graph->objects.count = r->objects.count;
    graph->objects.capacity = r->objects.capacity;
    graph->steps.items = r->steps.items;
    graph->steps.count = r->steps.count;
    graph->steps.capacity = r->steps.capacity;
}

linnet_status lin_training_add_adapters(lin_memory *memory, linnet_error *err)
{
    lin_training *training = memory->training;
    lin_graph *graph = memory->traced.graph;
    rebuild r = { .memory = memory, .old = graph, .graph = graph, .err = err };
    if (training->settings.lora_rank == 0)
        return LINNET_OK;
    r.layer_of = LIN_NEW_ARRAY(&memory->scratch, uint32_t, graph->steps.count);
    r.step_of = LIN_NEW_ARRAY(&memory->scratch, int32_t, (uint64_t)graph->steps.count + 1);
    r.id_of = LIN_NEW_ARRAY(&memory->scratch, uint32_t, graph->objects.count);
    const linnet_status status = find_layers(&r);
    if (status != LINNET_OK)
        return status;

    training->first_adapter = graph->parameter_objects;
    training->adapters = r.layers.count;
    copy_before_the_entry(&r);
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        r.step_of[k] = (int32_t)r.steps.count;
        copy_step(&r, k);
        if (r.layer_of[k] != UINT32_MAX)
            add_adapted(&r, k, &r.layers.items[r.layer_of[k]]);
    }
    r.step_of[graph->steps.count] = (int32_t)r.steps.count;
    replace(&r);
    return LINNET_OK;
}
