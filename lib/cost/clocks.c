/* SPDX-License-Identifier: MIT */

/*
 * Two clocks through the calls of a part (tracing.md 15.1). The host issues calls one after the
 * other and never waits; the device takes each when it is issued and when it is free:
 *
 *     host    |issue a|issue b|issue c|
 *     device          |  a  |.|     b     |  c  |        . waiting
 *
 * Pricing evaluates each distinct call; a part is then one addition and one comparison a call.
 */

#include "cost/calls.h"

#include <math.h>

void lin_clocks_run(lin_clocks *clocks, const lin_call *call)
{
    clocks->host += call->host;
    clocks->device = fmax(clocks->device, clocks->host) + call->device;
    clocks->spent[call->spent] += call->device;
}

/* ---- prices ---- */

static linnet_status evaluate(lin_cost *cost, const int64_t *symbols, linnet_error *err)
{
    uint32_t failed = 0;
    if (!lin_expr_run(cost->program, symbols, cost->scratch, cost->integers, &failed))
        return lin_fail(err, LINNET_ERROR_OVERFLOW,
                        "a size or a count of operations passes 2^63 - 1");
    cost->values[0] = 0;
    for (uint32_t i = 1; i < cost->slot_count; i++) {
        if (cost->integers[i - 1] < 0)
            return lin_fail(err, LINNET_ERROR_ARGUMENT,
                            "a dimension is negative at these sizes: they break one of the "
                            "model's `where` clauses");
        cost->values[i] = (double)cost->integers[i - 1];
    }
    return LINNET_OK;
}

static void sum_parameters(lin_cost *cost)
{
    cost->parameter_bytes = cost->parameter_elements = 0;
    cost->trained_bytes = cost->trained_elements = 0;
    cost->trained_count = 0;
    for (uint32_t i = 0; i < cost->parameter_count; i++) {
        const parameter_slots *parameter = &cost->parameters[i];
        cost->parameter_bytes += cost->values[parameter->bytes];
        cost->parameter_elements += cost->values[parameter->elements];
        if (!parameter->trained)
            continue;
        cost->trained_bytes += cost->values[parameter->bytes];
        cost->trained_elements += cost->values[parameter->elements];
        cost->trained_count++;
    }
}

linnet_status lin_cost_price(lin_cost *cost, const lin_profile *profile, const int64_t *symbols,
                             linnet_error *err)
{
    const linnet_status status = evaluate(cost, symbols, err);
    if (status != LINNET_OK)
        return status;
    const pricing p = { profile, cost->values, &cost->settings };
    for (uint32_t i = 0; i < cost->shape_count; i++)
        lin_cost_price_shape(&p, &cost->shapes[i], &cost->prices[i]);

    sum_parameters(cost);
    cost->result_bytes = 0;
    for (uint32_t i = 0; i < cost->result_count; i++)
        cost->result_bytes +=
            cost->values[cost->results[i].elements] * cost->results[i].element_size;
    return LINNET_OK;
}

double lin_cost_tokens(const lin_cost *cost)
{
    return cost->values[cost->tokens];
}

/* ---- a part ---- */

typedef struct part_run {
    const lin_cost *cost;
    const lin_profile *profile;
    const lin_part_settings *settings;
    lin_clocks clocks;
    double host_scale;
} part_run;

/* Queued sums and gathers cost less latency than lone ones (C3). */
static const double queued_latency = 6e-6;
/* Two processes that ask for one host's time (C2). */
static const double shared_host = 1.1;

static void run(part_run *r, lin_call call)
{
    call.host *= r->host_scale;
    lin_clocks_run(&r->clocks, &call);
}

static double shard_latency(const part_run *r)
{
    return r->cost->settings.rules & LIN_RULE_C3 ? queued_latency : r->profile->latency;
}

static double shard_share(const part_run *r)
{
    const double shards = (double)r->settings->shards;
    return shards > 1 ? (shards - 1) / shards : 0;
}

static bool is_sharded(const part_run *r)
{
    return r->cost->settings.training && r->settings->shards > 1;
}

/* Parameters gathered twice in their dtype and gradients summed once in f32 (tracing.md 15.7);
 * shards of the optimizer's states alone gather what it updated, once. */
static void run_whole_sharding(part_run *r)
{
    const lin_cost *cost = r->cost;
    if (!is_sharded(r) || cost->settings.is_stage)
        return;
    const double gathers = r->settings->keeps_parameters ? 1 : 2;
    const double bytes = gathers * cost->parameter_bytes + 4 * cost->trained_elements;
    const double device =
        shard_share(r) * bytes / r->profile->link +
        (gathers * cost->parameter_count + cost->trained_count) * shard_latency(r);
    run(r, (lin_call){ 0, device, LIN_SPENT_COMMUNICATION });
}

static void run_stage_sums(part_run *r)
{
    const lin_cost *cost = r->cost;
    if (!is_sharded(r) || !cost->settings.is_stage)
        return;
    const double device = shard_share(r) * 4 * cost->trained_elements / r->profile->link +
                          cost->trained_count * shard_latency(r);
    run(r,
        (lin_call){ cost->trained_count * r->profile->dispatch, device, LIN_SPENT_COMMUNICATION });
}

static void run_transfer(part_run *r)
{
    if (r->settings->received_bytes <= 0)
        return;
    run(r, (lin_call){ r->profile->dispatch,
                       r->profile->latency + r->settings->received_bytes / r->profile->link,
                       LIN_SPENT_COMMUNICATION });
}

static void run_forward(part_run *r, double share)
{
    const lin_cost *cost = r->cost;
    for (uint32_t i = 0; i < cost->entry_count; i++) {
        lin_call call = cost->prices[cost->entries[i].shape].forward;
        call.host *= share;
        call.device *= share;
        run(r, call);
    }
}

static void run_backward(part_run *r)
{
    const lin_cost *cost = r->cost;
    for (uint32_t i = cost->entry_count; i-- > 0;) {
        const call_price *price = &cost->prices[cost->entries[i].shape];
        if (price->has_backward)
            run(r, price->backward);
    }
}

static void count_calls(const lin_cost *cost, lin_part *out)
{
    out->steps = cost->graph->steps.count;
    for (uint32_t i = 0; i < cost->entry_count; i++) {
        const call_price *price = &cost->prices[cost->entries[i].shape];
        out->model_operations += price->model_operations;
        out->backward_calls += cost->settings.training && price->has_backward;
        if (cost->shapes[cost->entries[i].shape].head.row == ROW_PRODUCT &&
            cost->settings.training && price->has_backward)
            out->weights += price->backward.device / 2;
        out->forward_calls += cost->shapes[cost->entries[i].shape].head.row != ROW_SHARED;
    }
}

static void add_once(const part_run *r, lin_part *out)
{
    const lin_cost *cost = r->cost;
    out->parameters = cost->parameter_count;
    out->parameter_bytes = cost->parameter_bytes;
    out->parameter_elements = cost->parameter_elements;
    out->gradient_bytes = cost->trained_bytes;
    out->joining = 2 * cost->result_bytes / r->profile->elementwise;
    if (!cost->settings.training)
        return;
    out->optimizer =
        (3 + 2 * r->settings->optimizer_states) * cost->trained_bytes / r->profile->bandwidth;
    out->accumulating = fmax(3 * cost->trained_bytes / r->profile->elementwise,
                             cost->trained_count * r->profile->host[LIN_HOST_ELEMENTWISE]);
    if (is_sharded(r) && cost->settings.is_stage)
        out->gather = shard_share(r) * cost->parameter_bytes / r->profile->link +
                      cost->parameter_count * shard_latency(r);
}

void lin_cost_part(const lin_cost *cost, const lin_profile *profile,
                   const lin_part_settings *settings, lin_part *out)
{
    part_run r = { .cost = cost, .profile = profile, .settings = settings, .host_scale = 1 };
    if (cost->settings.is_compiled)
        r.host_scale = 0;
    else if (cost->settings.processes > 1 && (cost->settings.rules & LIN_RULE_C2))
        r.host_scale = shared_host;
    run_whole_sharding(&r);
    run_transfer(&r);
    run_forward(&r, 1);
    const double forward = r.clocks.device;
    if (cost->settings.training) {
        if (settings->recompute > 0)
            run_forward(&r, settings->recompute);
        run_backward(&r);
        run_stage_sums(&r);
        run_transfer(&r);
    }

    *out = (lin_part){ .seconds = r.clocks.device, .forward = forward, .host = r.clocks.host };
    double busy = 0;
    for (int i = 0; i < LIN_SPENT_COUNT; i++)
        busy += out->spent[i] = r.clocks.spent[i];
    out->waiting = fmax(out->seconds - busy, 0);
    add_once(&r, out);
    count_calls(cost, out);
}

/* ---- lists ---- */

/* clang-format off */
static const char *const kind_names[ROW_COUNT] = {
    [ROW_PRODUCT] = "products",        [ROW_ATTENTION] = "attention",
    [ROW_SHARED] = "gradient sums",    [ROW_ALL_REDUCE] = "sums",
    [ROW_ALL_GATHER] = "gathers",      [ROW_LOSS] = "loss",
    [ROW_EMBEDDING] = "embedding",     [ROW_WRITE] = "cache writes",
    [ROW_NORM] = "norms",              [ROW_ELEMENTWISE] = "elementwise, joins, casts",
    [ROW_VIEW] = "views",
};
/* clang-format on */

uint32_t lin_cost_kind_count(void)
{
    return ROW_COUNT;
}

static void add_call(lin_call *sum, const lin_call *call)
{
    sum->host += call->host;
    sum->device += call->device;
}

lin_kind_time lin_cost_kind_time(const lin_cost *cost, uint32_t kind)
{
    lin_kind_time sum = { .name = kind_names[kind] };
    for (uint32_t i = 0; i < cost->entry_count; i++) {
        const uint32_t shape = cost->entries[i].shape;
        const call_price *price = &cost->prices[shape];
        if (cost->shapes[shape].head.row != kind)
            continue;
        sum.forward_calls += kind != ROW_SHARED;
        add_call(&sum.forward, &price->forward);
        if (!cost->settings.training || !price->has_backward)
            continue;
        sum.backward_calls++;
        add_call(&sum.backward, &price->backward);
    }
    return sum;
}

uint32_t lin_cost_entry_count(const lin_cost *cost)
{
    return cost->entry_count;
}

lin_cost_entry lin_cost_entry_at(const lin_cost *cost, uint32_t index)
{
    const uint32_t shape = cost->entries[index].shape;
    const call_price *price = &cost->prices[shape];
    lin_cost_entry entry = { .step = cost->entries[index].step,
                             .members = cost->shapes[shape].head.member_count,
                             .forward = price->forward };
    if (cost->settings.training && price->has_backward)
        entry.backward = price->backward;
    return entry;
}
