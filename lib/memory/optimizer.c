/* SPDX-License-Identifier: MIT */

/*
 * What optimizers hold (tracing.md 9.7, optimizers.md): a row each, with the bytes of its states
 * for one parameter and of its temporaries during the step. Fused kernels have no temporaries.
 *
 *     states        in the dtype that is updated, unless the row says otherwise
 *     temporaries   of all parameters together (foreach), or of the largest alone
 *
 * States are made in the first step; from the second on they are always there.
 */

#include "memory/training.h"

#include <string.h>

/* One trained parameter as a row sees it. */
typedef struct updated_parameter {
    const lin_object *object;
    lin_expr elements; /* that this process updates */
    lin_expr_table *exprs;
    int64_t size;          /* bytes of an element of the updated dtype */
    int64_t gradient_size; /* of the gradient's */
    lin_dtype gradient_dtype;
    bool is_hidden_matrix; /* two axes, inside an array of blocks */
} updated_parameter;

typedef struct state_sizes {
    lin_expr bytes; /* in the allocator */
    lin_expr paged; /* in managed memory */
} state_sizes;

typedef enum temporary_rule { NO_TEMPORARIES, OF_ALL_PARAMETERS, OF_THE_LARGEST } temporary_rule;

struct lin_optimizer {
    const char *name;
    int64_t copies;                                    /* states of the parameter's own shape */
    state_sizes (*states)(const updated_parameter *p); /* NULL: the copies */
    temporary_rule temporaries;
    lin_expr (*temporary)(const updated_parameter *p); /* of one; NULL: a copy */
    int64_t fixed_bytes;                               /* of states, once */
    const char *note;
};

/* ---- sizes ---- */

static lin_expr times(const updated_parameter *p, lin_expr e, int64_t factor)
{
    return lin_expr_mul(p->exprs, e, lin_expr_int(p->exprs, factor));
}

static state_sizes ordinary(const updated_parameter *p, lin_expr bytes)
{
    return (state_sizes){ bytes, lin_expr_int(p->exprs, 0) };
}

static lin_expr copy_of(const updated_parameter *p)
{
    return times(p, p->elements, p->size);
}

/* Two 8-bit states and an f32 scale a block of 256; small parameters keep two f32 states
 * (bitsandbytes, optimizers.md 8). A parameter of unknown size counts as a large one. */
enum { BLOCK_ELEMENTS = 256, SMALLEST_QUANTIZED = 4096, SMALLEST_PAGED = 100000 };

static bool has_at_least(const updated_parameter *p, int64_t elements)
{
    int64_t own;
    return !lin_expr_is_int(p->exprs, p->elements, &own) || own >= elements;
}

static lin_expr quantized_states(const updated_parameter *p)
{
    if (!has_at_least(p, SMALLEST_QUANTIZED))
        return times(p, p->elements, 8);
    const lin_expr blocks =
        lin_expr_ceildiv(p->exprs, p->elements, lin_expr_int(p->exprs, BLOCK_ELEMENTS));
    return times(p, lin_expr_add(p->exprs, p->elements, times(p, blocks, 4)), 2);
}

static state_sizes adam_8bit(const updated_parameter *p)
{
    return ordinary(p, quantized_states(p));
}

static state_sizes paged_adam_8bit(const updated_parameter *p)
{
    const lin_expr bytes = quantized_states(p), zero = lin_expr_int(p->exprs, 0);
    return has_at_least(p, SMALLEST_PAGED) ? (state_sizes){ zero, bytes }
                                           : (state_sizes){ bytes, zero };
}

/* Row and column statistics of the last two axes; a vector has its own (optimizers.md 2). */
static state_sizes adafactor(const updated_parameter *p)
{
    const lin_object *o = p->object;
    if (o->rank < 2)
        return ordinary(p, copy_of(p));
    lin_expr sides = lin_expr_add(p->exprs, o->shape[o->rank - 2], o->shape[o->rank - 1]);
    for (uint32_t i = 0; i + 2 < o->rank; i++)
        sides = lin_expr_mul(p->exprs, sides, o->shape[i]);
    return ordinary(p, times(p, sides, p->size));
}

/* Matrices of the hidden layers have a momentum; the embedding, the head and vectors are AdamW's
 * (optimizers.md 5). */
static state_sizes muon(const updated_parameter *p)
{
    if (!p->is_hidden_matrix)
        return ordinary(p, times(p, p->elements, 2 * p->size));
    return ordinary(p, times(p, p->elements, p->gradient_size));
}

/* One matrix at a time: the update, four bf16 tensors of its shape (three when the update is bf16
 * and needs no copy) and three of the smaller side squared. */
static lin_expr muon_temporary(const updated_parameter *p)
{
    const lin_object *o = p->object;
    if (!p->is_hidden_matrix)
        return lin_expr_int(p->exprs, 0);
    const int64_t matrices = p->gradient_dtype == LIN_DTYPE_BF16 ? 3 : 4;
    const lin_expr side = lin_expr_min(p->exprs, o->shape[0], o->shape[1]);
    return lin_expr_add(p->exprs, times(p, o->elements, p->gradient_size + 2 * matrices),
                        times(p, lin_expr_mul(p->exprs, side, side), 3 * 2));
}

/* ---- the table ---- */

static const char paged_note[] = "states of parameters of 100,000 elements or more are paged";

/* clang-format off */
static const lin_optimizer optimizers[] = {
    /* name                copies  states           temporaries        of one          fixed  note */
    { "sgd",               0,      NULL,            NO_TEMPORARIES,    NULL,           0,     "" },
    { "sgd-momentum",      1,      NULL,            NO_TEMPORARIES,    NULL,           0,     "" },
    { "adam",              2,      NULL,            NO_TEMPORARIES,    NULL,           0,     "" },
    { "adamw",             2,      NULL,            NO_TEMPORARIES,    NULL,           0,     "" },
    { "adamw-foreach",     2,      NULL,            OF_ALL_PARAMETERS, NULL,           0,     "" },
    { "adamw-8bit",        0,      adam_8bit,       NO_TEMPORARIES,    NULL,           2048,  "blocks of 256, and two maps of 256 f32" },
    { "paged-adamw-8bit",  0,      paged_adam_8bit, NO_TEMPORARIES,    NULL,           2048,  paged_note },
    { "adafactor",         0,      adafactor,       OF_ALL_PARAMETERS, NULL,           0,     "a row and a column of each matrix" },
    { "lion",              1,      NULL,            OF_THE_LARGEST,    NULL,           0,     "" },
    { "muon",              0,      muon,            OF_THE_LARGEST,    muon_temporary, 0,     "matrices of the hidden layers; AdamW for the rest" },
};
/* clang-format on */

uint32_t lin_optimizer_count(void)
{
    return ARRAY_LEN(optimizers);
}

const char *lin_optimizer_name(uint32_t index)
{
    return optimizers[index].name;
}

const lin_optimizer *lin_optimizer_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(optimizers); i++)
        if (strcmp(optimizers[i].name, name) == 0)
            return &optimizers[i];
    return NULL;
}

const char *lin_optimizer_label(const lin_optimizer *optimizer)
{
    return optimizer->name;
}

/* ---- intervals ---- */

typedef struct optimizer_pass {
    lin_memory *memory;
    lin_interval_list *intervals;
    linnet_error *err;
    lin_expr temporaries;
    lin_expr largest; /* elements of the largest parameter */
} optimizer_pass;

static bool is_in_array(const char *path)
{
    for (const char *at = strchr(path, '.'); at != NULL; at = strchr(at + 1, '.'))
        if (at[1] >= '0' && at[1] <= '9')
            return true;
    return false;
}

static bool is_zero(const lin_expr_table *exprs, lin_expr e)
{
    int64_t value;
    return lin_expr_is_int(exprs, e, &value) && value == 0;
}

static linnet_status add_held(optimizer_pass *p, uint32_t object, lin_holding *holding,
                              lin_interval interval)
{
    lin_expr_table *exprs = p->memory->traced.graph->exprs;
    if (interval.bytes == LIN_EXPR_INVALID)
        return object == UINT32_MAX ? lin_fail(p->err, LINNET_ERROR_OVERFLOW,
                                               "what the optimizer needs passes 2^63 - 1 bytes")
                                    : lin_memory_fail_object(p->memory, object, p->err);
    if (is_zero(exprs, interval.bytes))
        return LINNET_OK;
    interval.object = object;
    interval.step = LIN_NO_STEP;
    interval.end = p->memory->training->schedule.length;
    LIN_PUSH(&p->memory->scratch, p->intervals, interval);
    if (holding != NULL) {
        holding->tensors++;
        holding->bytes = lin_expr_add(exprs, holding->bytes, interval.bytes);
    }
    return LINNET_OK;
}

static linnet_status add_master(optimizer_pass *p, uint32_t i, const updated_parameter *parameter)
{
    lin_training *training = p->memory->training;
    const bool has_master = training->settings.has_master_dtype || training->is_sharded;
    if (!has_master || lin_training_shards_weights(p->memory) ||
        lin_training_updated_dtype(training, parameter->object) == parameter->object->dtype)
        return LINNET_OK;
    return add_held(p, i, &training->masters,
                    (lin_interval){ .bytes = copy_of(parameter),
                                    .category = LIN_CATEGORY_MASTER_WEIGHTS,
                                    .reason = LIN_REASON_MASTER_WEIGHT });
}

static linnet_status add_states(optimizer_pass *p, uint32_t object, lin_expr bytes)
{
    lin_training *training = p->memory->training;
    const bool is_first = training->settings.is_first_step;
    return add_held(p, object, &training->states,
                    (lin_interval){ .first = is_first ? training->schedule.optimizer : 0,
                                    .bytes = bytes,
                                    .category = LIN_CATEGORY_OPTIMIZER_STATES,
                                    .reason = LIN_REASON_OPTIMIZER_STATE });
}

static void count_temporary(optimizer_pass *p, const updated_parameter *parameter)
{
    const lin_optimizer *row = p->memory->training->optimizer;
    if (row->temporaries == NO_TEMPORARIES)
        return;
    const lin_expr own = row->temporary != NULL ? row->temporary(parameter) : copy_of(parameter);
    p->temporaries = row->temporaries == OF_ALL_PARAMETERS
                         ? lin_expr_add(parameter->exprs, p->temporaries, own)
                         : lin_expr_max(parameter->exprs, p->temporaries, own);
}

static linnet_status add_parameter(optimizer_pass *p, uint32_t i)
{
    lin_training *training = p->memory->training;
    const lin_graph *graph = p->memory->traced.graph;
    const lin_object *object = &graph->objects.items[i];
    const lin_optimizer *row = training->optimizer;
    const lin_dtype gradient = lin_training_gradient_dtype(training, object);
    const updated_parameter parameter = {
        .object = object,
        .elements = lin_training_part(p->memory, object, object->elements),
        .exprs = graph->exprs,
        .size = lin_dtype_bytes(lin_training_updated_dtype(training, object)),
        .gradient_size = lin_dtype_bytes(gradient),
        .gradient_dtype = gradient,
        .is_hidden_matrix = object->rank == 2 && is_in_array(object->path),
    };
    training->updated.tensors++;
    training->updated.elements =
        lin_expr_add(graph->exprs, training->updated.elements, object->elements);
    count_temporary(p, &parameter);
    p->largest = lin_expr_max(graph->exprs, p->largest, parameter.elements);

    const state_sizes states = row->states != NULL
                                   ? row->states(&parameter)
                                   : ordinary(&parameter, times(&parameter, parameter.elements,
                                                                row->copies * parameter.size));
    training->paged = lin_expr_add(graph->exprs, training->paged, states.paged);
    const linnet_status status = add_master(p, i, &parameter);
    return status == LINNET_OK ? add_states(p, i, states.bytes) : status;
}

/*
 * Clipping by the global norm: a norm of each gradient, their stack, the total, and the partial
 * sums of the multi-tensor kernel, f32 of one for every 65,536 elements of the largest tensor for
 * each tensor (at::native's foreach norm). The scaling is in place. It is over before the
 * optimizer's temporaries are made.
 */
static lin_expr clipping_bytes(const optimizer_pass *p)
{
    enum { CHUNK = 65536, F32 = 4 };
    lin_expr_table *exprs = p->memory->traced.graph->exprs;
    const int64_t tensors = p->memory->training->updated.tensors;
    const lin_expr chunks = lin_expr_ceildiv(exprs, p->largest, lin_expr_int(exprs, CHUNK));
    const lin_expr sums = lin_expr_mul(exprs, chunks, lin_expr_int(exprs, F32 * tensors));
    return lin_expr_add(exprs, sums, lin_expr_int(exprs, F32 * (2 * tensors + 1)));
}

linnet_status lin_training_add_optimizer(lin_memory *memory, lin_interval_list *intervals,
                                         linnet_error *err)
{
    lin_training *training = memory->training;
    lin_graph *graph = memory->traced.graph;
    const lin_expr zero = lin_expr_int(graph->exprs, 0);
    optimizer_pass p = { memory, intervals, err, zero, zero };
    linnet_status status = LINNET_OK;
    training->masters = training->states = training->updated =
        (lin_holding){ .bytes = zero, .elements = zero };
    training->paged = zero;
    for (uint32_t i = 0; i < graph->parameter_objects && status == LINNET_OK; i++)
        if (training->trained[i])
            status = add_parameter(&p, i);
    if (status == LINNET_OK && training->updated.tensors > 0)
        status = add_states(&p, UINT32_MAX,
                            lin_expr_int(graph->exprs, training->optimizer->fixed_bytes));
    if (training->settings.clips_gradients && training->updated.tensors > 0)
        p.temporaries = lin_expr_max(graph->exprs, p.temporaries, clipping_bytes(&p));
    if (status == LINNET_OK)
        status = add_held(&p, UINT32_MAX, NULL,
                          (lin_interval){ .first = training->schedule.optimizer,
                                          .bytes = p.temporaries,
                                          .category = LIN_CATEGORY_WORKSPACE,
                                          .confidence = LIN_BACKEND_MODELED,
                                          .is_workspace = true,
                                          .reason = LIN_REASON_OPTIMIZER_TEMPORARY });
    return status;
}
