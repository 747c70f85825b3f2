/* SPDX-License-Identifier: MIT */

/*
 * What processes exchange in the middle of a step, as memory/exchange.c counts its buffers: keys
 * and values of attention over positions that are split (CP), rows of a mixture whose experts are
 * (EP). A price that comes here is one of a process by itself; what leaves is one of the group.
 *
 * Context. A process has S/c queries, in two halves that balance a causal mask, and attends to all
 * S keys: c blocks, each the attention it was priced with.
 *
 *     ring      block 0 | block 1 | block 2 | block 3      keys and values of the next block come
 *               hop 1   | hop 2   | hop 3   |              while this one is worked on
 *     back      block 0 | block 1 | block 2 | block 3 |    their gradients follow a block behind
 *               KV 1    | KV 2, d | KV 3, d | d       | d  and go one hop further, home
 *     gathered  gather | all blocks in one call            again in backward, gradients scattered
 *
 * (Liu et al., Ring Attention, 2023; Megatron-Core's context parallelism, p2p and all_gather.) The
 * results of a ring's blocks are merged by their softmax's denominators: read, read and write.
 *
 * Experts. Rows go to the processes that have their experts and come back, forward and in backward:
 * the first product of a mixture is preceded by an all-to-all of as many rows as were chosen, the
 * last one followed by one. Balanced, a process receives what it sends, so products keep their
 * sizes; several local experts want the received rows in their order, a copy. Cost: constant a
 * call.
 */

#include "cost/calls.h"

#include <math.h>
#include <string.h>

/* ---- what a graph has, before any size is known ---- */

static bool is_expert_product(const lin_step *step)
{
    static const char *const labels[] = { "linear_experts", "linear_experts_shared",
                                          "combine_experts" };
    for (size_t i = 0; i < ARRAY_LEN(labels); i++)
        if (step->operand_count > 2 && strcmp(step->label, labels[i]) == 0)
            return true;
    return false;
}

static bool is_same_scope(const lin_step *a, const lin_step *b)
{
    return a != NULL && b != NULL && strcmp(a->scope, b->scope) == 0;
}

const uint32_t *lin_cost_mark_experts(const lin_graph *graph, lin_arena *arena)
{
    uint32_t *flags = LIN_NEW_ARRAY(arena, uint32_t, graph->steps.count);
    const lin_step *before = NULL;
    uint32_t last = 0;
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        const lin_step *step = &graph->steps.items[k];
        if (!is_expert_product(step))
            continue;
        if (!is_same_scope(before, step)) {
            flags[k] |= CALL_DISPATCHES;
            flags[last] |= before != NULL ? CALL_COMBINES : 0;
        }
        before = step;
        last = k;
    }
    if (before == NULL)
        return NULL;
    flags[last] |= CALL_COMBINES;
    return flags;
}

static bool is_attention(const lin_step *step)
{
    return lin_cost_is_native(step, "torch.nn.functional.scaled_dot_product_attention") ||
           lin_cost_is_native(step, "flash_attn.flash_attn_func") ||
           lin_cost_is_native(step, "flash_mla.flash_mla_with_kvcache");
}

static bool is_scan(const lin_step *step)
{
    static const char *const names[] = { "mamba_ssm.mamba_chunk_scan_combined",
                                         "fla.chunk_gated_delta_rule", "rwkv5.wkv" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (lin_cost_is_native(step, names[i]))
            return true;
    return false;
}

linnet_status lin_cost_check_context(const lin_graph *graph, linnet_error *err)
{
    for (uint32_t k = 0; k < graph->steps.count; k++) {
        const lin_step *step = &graph->steps.items[k];
        if (is_scan(step))
            return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                            "the time of context parallelism is not modelled for recurrences, as "
                            "in `%s`: each process would wait for the one before",
                            step->scope);
        if (!is_attention(step) || step->operand_count < 3)
            continue;
        const lin_object *keys = &graph->objects.items[step->operands[1]];
        if (graph->objects.items[keys->owner].persistent)
            return lin_fail(err, LINNET_ERROR_UNSUPPORTED,
                            "the time of context parallelism is not modelled for attention over "
                            "caches, as in `%s`: it is for entries that attend to their own "
                            "positions",
                            step->scope);
    }
    return LINNET_OK;
}

/* ---- context ---- */

enum { MERGED_TENSORS = 3 }; /* a block's result and the merged one are read, the latter written */

static double at(const pricing *p, call_slot slot)
{
    return p->values[slot];
}

static double full_bytes(const pricing *p, const operand_slots *o)
{
    return at(p, o->elements) * o->element_size;
}

/* What of `seconds` is longer than what runs beside it. */
static double beyond(double seconds, double beside)
{
    return fmax(seconds - beside, 0);
}

static void send_around(const pricing *p, const call_shape *shape, double pair, call_price *out)
{
    const lin_link *link = &p->links->of[LIN_GROUP_CONTEXT];
    const double c = (double)p->settings->context;
    const double hop = link->latency + pair / link->hop;
    const double both = link->latency + 2 * pair / link->hop; /* and their gradients */
    const double merge = lin_cost_stream(p, MERGED_TENSORS * lin_cost_bytes(p, shape).written, 1);
    const double block = out->forward.device, back = out->backward.device;
    const double dispatch = p->profile->dispatch;
    out->sent =
        (lin_call){ (c - 1) * dispatch, (c - 1) * beyond(hop, block), LIN_SPENT_COMMUNICATION };
    out->sent_back =
        (lin_call){ c * dispatch, 2 * beyond(hop, back) + (c - 2) * beyond(both, back) + hop,
                    LIN_SPENT_COMMUNICATION };
    out->forward.device = c * block + (c - 1) * merge;
    out->forward.host = c * out->forward.host + (c - 1) * p->profile->host[LIN_HOST_ELEMENTWISE];
    out->backward.device = c * back;
    out->backward.host *= c;
}

static void gather_first(const pricing *p, double pair, call_price *out)
{
    const lin_link *link = &p->links->of[LIN_GROUP_CONTEXT];
    const double c = (double)p->settings->context, all = c * pair;
    const uint64_t rules = p->settings->rules;
    const double copies = has_rule(p, LIN_RULE_S11) ? 2 * all / p->profile->elementwise : 0;
    const double gather =
        copies + lin_link_seconds(p->profile, rules, link, LIN_COLLECTIVE_ALL_GATHER, all);
    const double scatter =
        copies + lin_link_seconds(p->profile, rules, link, LIN_COLLECTIVE_REDUCE_SCATTER, all);
    const double host = p->profile->dispatch + p->profile->host[LIN_HOST_JOIN];
    out->sent = (lin_call){ host, gather, LIN_SPENT_COMMUNICATION };
    out->sent_back = (lin_call){ 2 * host, gather + scatter, LIN_SPENT_COMMUNICATION };
    out->forward.device *= c;
    out->backward.device *= c;
}

static void split_context(const pricing *p, const call_shape *shape, call_price *out)
{
    const operand_slots *operands = shape->head.operands;
    const double pair = full_bytes(p, &operands[1]) + full_bytes(p, &operands[2]);
    if (p->settings->exchange == LIN_CONTEXT_RING)
        send_around(p, shape, pair, out);
    else
        gather_first(p, pair, out);
    out->model_operations *= (double)p->settings->context;
}

/* ---- experts ---- */

/* Rows of this width, as many as choices were made. */
static double exchange_rows(const pricing *p, const call_shape *shape, double width)
{
    const operand_slots *operands = shape->head.operands;
    const lin_link *link = &p->links->of[LIN_GROUP_EXPERT];
    const double bytes = at(p, operands[2].elements) * width * operands[0].element_size;
    const double matrix = at(p, operands[1].last) * at(p, operands[1].before_last);
    const bool is_sorted = at(p, operands[1].elements) > matrix; /* several local experts */
    return lin_link_seconds(p->profile, p->settings->rules, link, LIN_COLLECTIVE_ALL_TO_ALL,
                            bytes) +
           (is_sorted ? lin_cost_stream(p, 2 * bytes, 1) : 0);
}

static void split_experts(const pricing *p, const call_shape *shape, call_price *out)
{
    const call_head *head = &shape->head;
    const double host = p->profile->dispatch + p->profile->host[LIN_HOST_ELEMENTWISE];
    double seconds = 0, calls = 0;
    if (head->flags & CALL_DISPATCHES) {
        seconds += exchange_rows(p, shape, at(p, head->operands[0].last));
        calls++;
    }
    if (head->flags & CALL_COMBINES) {
        seconds += exchange_rows(p, shape, at(p, head->operands[1].before_last));
        calls++;
    }
    out->sent = (lin_call){ calls * host, seconds, LIN_SPENT_COMMUNICATION };
    out->sent_back = (lin_call){ calls * (host + p->profile->host[LIN_HOST_BACKWARD]), seconds,
                                 LIN_SPENT_COMMUNICATION };
}

void lin_cost_add_exchange(const pricing *p, const call_shape *shape, call_price *out)
{
    const call_head *head = &shape->head;
    if (head->row == ROW_ATTENTION && p->settings->context > 1 && has_rule(p, LIN_RULE_CP))
        split_context(p, shape, out);
    if ((head->flags & (CALL_DISPATCHES | CALL_COMBINES)) && p->settings->expert > 1 &&
        has_rule(p, LIN_RULE_EP))
        split_experts(p, shape, out);
}
