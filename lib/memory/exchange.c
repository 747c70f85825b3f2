/* SPDX-License-Identifier: MIT */

/*
 * Buffers of what processes exchange in the middle of a step (parallel-frameworks.md 5.6, 5.7):
 *
 *     experts    rows as they are sent or received, beside those that the first product of a
 *                mixture reads, and beside the results of the last. The same again in backward.
 *     ring       each of N arrivals of keys and values has a buffer until attention ends, and each
 *                makes a result of its own; in backward two buffers of keys, values and gradients
 *     gathered   keys and values of all N, results of two halves; in backward those and as many
 *                gradients
 *
 * Cost: linear in the steps.
 */

#include "memory/training.h"

#include <string.h>

typedef struct exchange_pass {
    lin_memory *memory;
    const lin_graph *graph;
    lin_interval_list *intervals;
    linnet_error *err;
} exchange_pass;

static lin_expr bytes_of(const exchange_pass *p, uint32_t index)
{
    const lin_object *object = &p->graph->objects.items[index];
    return lin_expr_mul(p->graph->exprs, object->elements,
                        lin_expr_int(p->graph->exprs, lin_dtype_bytes(object->dtype)));
}

static lin_expr times(const exchange_pass *p, lin_expr e, int64_t factor)
{
    return lin_expr_mul(p->graph->exprs, e, lin_expr_int(p->graph->exprs, factor));
}

static lin_expr plus(const exchange_pass *p, lin_expr a, lin_expr b)
{
    return lin_expr_add(p->graph->exprs, a, b);
}

static linnet_status add_at(exchange_pass *p, int32_t step, int32_t moment, lin_expr bytes)
{
    int64_t constant;
    if (lin_expr_is_int(p->graph->exprs, bytes, &constant) && constant == 0)
        return LINNET_OK;
    if (bytes == LIN_EXPR_INVALID)
        return lin_fail(p->err, LINNET_ERROR_OVERFLOW,
                        "what `%s` exchanges needs more than 2^63 - 1 bytes",
                        p->graph->steps.items[step].label);
    LIN_PUSH(&p->memory->scratch, p->intervals,
             ((lin_interval){ .first = moment,
                              .end = moment + 1,
                              .bytes = bytes,
                              .category = LIN_CATEGORY_COMMUNICATION,
                              .confidence = LIN_BACKEND_MODELED,
                              .object = UINT32_MAX,
                              .is_workspace = true,
                              .reason = LIN_REASON_EXCHANGED,
                              .step = step }));
    return LINNET_OK;
}

/* When the step runs, runs again, and runs back. */
static linnet_status add_buffers(exchange_pass *p, int32_t step, lin_expr forward, lin_expr back)
{
    const lin_training *training = p->memory->training;
    linnet_status status = add_at(p, step, step, forward);
    if (training == NULL || status != LINNET_OK)
        return status;
    if (training->schedule.region[step] != LIN_NO_REGION)
        status = add_at(p, step, training->schedule.redo[step], forward);
    if (status == LINNET_OK && training->differentiable[step])
        status = add_at(p, step, training->schedule.back[step], back);
    return status;
}

/* ---- experts ---- */

static bool is_labelled(const lin_step *step, const char *label)
{
    return step->operand_count > 2 && strcmp(step->label, label) == 0;
}

/* Every expert's own rows: as many as there are choices, each as wide as the product's input or
 * result. */
static lin_expr routed(const exchange_pass *p, const lin_step *step, uint32_t tensor)
{
    const lin_object *choices = &p->graph->objects.items[step->operands[2]];
    const lin_object *object = &p->graph->objects.items[tensor];
    if (object->rank == 0)
        return lin_expr_int(p->graph->exprs, 0);
    return times(p,
                 lin_expr_mul(p->graph->exprs, choices->elements, object->shape[object->rank - 1]),
                 lin_dtype_bytes(object->dtype));
}

static bool is_expert_step(const lin_step *step)
{
    return is_labelled(step, "linear_experts") || is_labelled(step, "linear_experts_shared") ||
           is_labelled(step, "combine_experts");
}

static bool is_same_mixture(const exchange_pass *p, int32_t a, int32_t b)
{
    const lin_step *steps = p->graph->steps.items;
    return a >= 0 && b >= 0 && strcmp(steps[a].scope, steps[b].scope) == 0;
}

static int32_t next_product(const exchange_pass *p, int32_t from)
{
    for (int32_t i = from; i < (int32_t)p->graph->steps.count; i++)
        if (is_expert_step(&p->graph->steps.items[i]))
            return i;
    return -1;
}

/* What the first product of a mixture reads was received, what the last makes is sent back. */
static linnet_status add_experts(exchange_pass *p)
{
    linnet_status status = LINNET_OK;
    int32_t before = -1, after;
    for (int32_t k = next_product(p, 0); k >= 0 && status == LINNET_OK; before = k, k = after) {
        const lin_step *step = &p->graph->steps.items[k];
        after = next_product(p, k + 1);
        lin_expr bytes = lin_expr_int(p->graph->exprs, 0);
        if (!is_same_mixture(p, before, k))
            bytes = routed(p, step, step->operands[0]);
        if (!is_same_mixture(p, k, after) && step->output_count > 0)
            bytes = lin_expr_max(p->graph->exprs, bytes, routed(p, step, step->outputs[0]));
        status = add_buffers(p, k, bytes, bytes);
    }
    return status;
}

/* ---- context ---- */

static bool is_attention(const lin_step *step)
{
    return step->implementation != NULL && step->operand_count > 2 && step->output_count > 0 &&
           (strstr(step->implementation, "scaled_dot_product_attention") != NULL ||
            strstr(step->implementation, "flash_attn") != NULL);
}

static linnet_status add_attention(exchange_pass *p, int32_t k)
{
    const lin_step *step = &p->graph->steps.items[k];
    const int64_t processes = p->memory->parallel.context;
    const lin_expr pair = plus(p, bytes_of(p, step->operands[1]), bytes_of(p, step->operands[2]));
    const lin_expr all = times(p, pair, processes), result = bytes_of(p, step->outputs[0]);
    if (p->memory->parallel.exchange == LIN_CONTEXT_RING)
        return add_buffers(p, k, plus(p, all, times(p, result, processes)), times(p, pair, 4));
    return add_buffers(p, k, plus(p, all, result), times(p, all, 2));
}

linnet_status lin_memory_add_exchange(lin_memory *memory, lin_interval_list *intervals,
                                      linnet_error *err)
{
    exchange_pass p = { memory, memory->traced.graph, intervals, err };
    const bool sends_rows = memory->parallel.expert > 1, splits = memory->parallel.context > 1;
    uint32_t attentions = 0;
    linnet_status status = LINNET_OK;
    if (!sends_rows && !splits)
        return LINNET_OK;
    if (sends_rows)
        status = add_experts(&p);
    for (uint32_t k = 0; splits && k < p.graph->steps.count && status == LINNET_OK; k++)
        if (is_attention(&p.graph->steps.items[k])) {
            attentions++;
            status = add_attention(&p, (int32_t)k);
        }
    if (splits && attentions == 0 && status == LINNET_OK)
        return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                        "context parallelism is not modelled for this entry: it calls no fused "
                        "attention");
    return status;
}
