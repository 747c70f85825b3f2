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
#include <string.h>

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
    lin_links links;
    const lin_parallel degrees = { .tensor = cost->settings.processes,
                                   .context = cost->settings.context,
                                   .expert = cost->settings.expert };
    const lin_parallel normal = lin_parallel_normal(&degrees);
    lin_links_of(profile, &normal, cost->settings.rules, &links);
    const pricing p = { profile, cost->values, &cost->settings, &links };
    for (uint32_t i = 0; i < cost->shape_count; i++)
        lin_cost_price_shape(&p, &cost->shapes[i], &cost->prices[i]);

    sum_parameters(cost);
    lin_sharded_price(cost);
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

/* Two processes that ask for one host's time (C2). */
static const double shared_host = 1.1;

static void run_scaled(part_run *r, lin_call call, double scale)
{
    call.host *= scale;
    lin_clocks_run(&r->clocks, &call);
}

void lin_cost_run(part_run *r, lin_call call)
{
    run_scaled(r, call, call.spent == LIN_SPENT_COMMUNICATION ? r->library_scale : r->host_scale);
}

/*
 * What a framework's loop makes of the host's times, which are those of generated code, and when
 * its host waits. Megatron's modules are Python around every call; its autograd and its collectives
 * are the library's, on a slower host. It fetches a batch and makes masks before each pass. All
 * three are of groups of runs (GPTs of 12 to 24 layers on A100 servers, 1 and 2 sequences at a
 * time, whose steps hardly grow with their work).
 */
typedef struct loop_row {
    const char *name;
    double modules, library; /* times the profile's */
    double batch;            /* seconds of the host before a forward pass */
    bool waits;              /* for the device, after each pass */
} loop_row;

static const loop_row loops[] = {
    [LIN_LOOP_FREE] = { "free", 1, 1, 0, false },
    [LIN_LOOP_MEGATRON] = { "megatron", 7, 3, 2e-3, true },
};

_Static_assert(ARRAY_LEN(loops) == LIN_LOOP_COUNT, "every loop has a row");

const char *lin_loop_name(lin_loop loop)
{
    return loops[loop].name;
}

bool lin_loop_find(const char *name, lin_loop *out)
{
    for (uint32_t i = 0; i < ARRAY_LEN(loops); i++) {
        if (strcmp(loops[i].name, name) != 0)
            continue;
        *out = (lin_loop)i;
        return true;
    }
    return false;
}

static void run_share(part_run *r, lin_call call, double share)
{
    call.host *= share;
    call.device *= share;
    lin_cost_run(r, call);
}

static bool is_empty(const lin_call *call)
{
    return call->host <= 0 && call->device <= 0;
}

void lin_cost_run_entry(part_run *r, uint32_t entry, double share)
{
    const call_price *price = &r->cost->prices[r->cost->entries[entry].shape];
    run_share(r, price->forward, share);
    if (!is_empty(&price->sent))
        run_share(r, price->sent, share);
}

void lin_cost_run_entry_back(part_run *r, uint32_t entry)
{
    const call_price *price = &r->cost->prices[r->cost->entries[entry].shape];
    if (!price->has_backward)
        return;
    run_scaled(r, price->backward, r->library_scale);
    if (!is_empty(&price->sent_back))
        run_scaled(r, price->sent_back, r->library_scale);
}

/* Every tensor-parallel process has the same values. Across nodes each sends its part of them
 * through its own port and they are gathered inside (N1; Narayanan et al., 2021, section 4.1). */
static double transfer_seconds(const part_run *r, double bytes)
{
    const lin_link *link = &r->links.of[LIN_GROUP_PIPELINE];
    const lin_link *tensor = &r->links.of[LIN_GROUP_TENSOR];
    const double whole = link->latency + bytes / link->hop;
    if (link->nodes <= 1 || tensor->ranks <= 1)
        return whole;
    const double gather = lin_link_seconds(r->profile, r->cost->settings.rules, tensor,
                                           LIN_COLLECTIVE_ALL_GATHER, bytes);
    return fmin(whole, link->latency + bytes / (double)tensor->ranks / link->hop + gather);
}

static void run_transfer(part_run *r)
{
    if (r->settings->received_bytes <= 0)
        return;
    lin_cost_run(r,
                 (lin_call){ r->profile->dispatch, transfer_seconds(r, r->settings->received_bytes),
                             LIN_SPENT_COMMUNICATION });
}

static void run_forward(part_run *r)
{
    for (uint32_t i = 0; i < r->cost->entry_count; i++)
        lin_cost_run_entry(r, i, 1);
}

double lin_cost_again(const lin_cost *cost, const lin_part_settings *settings, uint32_t entry)
{
    if (settings->recompute <= 0)
        return 0;
    if (settings->again == NULL)
        return settings->recompute;
    return settings->again[cost->entries[entry].step] ? 1 : 0;
}

static void run_backward(part_run *r)
{
    for (uint32_t i = 0; i < r->cost->entry_count; i++) {
        const double again = lin_cost_again(r->cost, r->settings, i);
        if (again > 0)
            lin_cost_run_entry(r, i, again);
    }
    for (uint32_t i = r->cost->entry_count; i-- > 0;)
        lin_cost_run_entry_back(r, i);
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

static void add_gradients(const lin_cost *cost, lin_part *out)
{
    out->gradient_bytes = cost->trained_bytes;
    out->gradient_elements = cost->trained_elements;
    for (uint32_t i = 0; i < cost->parameter_count; i++) {
        const parameter_slots *parameter = &cost->parameters[i];
        if (!parameter->trained || !parameter->is_expert)
            continue;
        out->expert_gradient_bytes += cost->values[parameter->bytes];
        out->expert_gradient_elements += cost->values[parameter->elements];
    }
}

/* Weights and gradients read, weights written, states read and written; with master weights these
 * and the states in the masters' dtype, and the weights written beside (R4). */
static double optimizer_bytes(const part_run *r)
{
    const lin_cost *cost = r->cost;
    const lin_part_settings *settings = r->settings;
    const double copies = 2 * settings->optimizer_states;
    if (!(cost->settings.rules & LIN_RULE_R4) || settings->master_size <= 0)
        return (3 + copies) * cost->trained_bytes;
    const double gradients = settings->gradient_size > 0
                                 ? settings->gradient_size * cost->trained_elements
                                 : cost->trained_bytes;
    return gradients + (2 + copies) * settings->master_size * cost->trained_elements +
           cost->trained_bytes;
}

static void add_once(const part_run *r, lin_part *out)
{
    const lin_cost *cost = r->cost;
    out->parameters = cost->parameter_count;
    out->parameter_bytes = cost->parameter_bytes;
    out->parameter_elements = cost->parameter_elements;
    out->joining = 2 * cost->result_bytes / r->profile->elementwise;
    add_gradients(cost, out);
    if (!cost->settings.training)
        return;
    out->optimizer = lin_sharded_updated(r) * optimizer_bytes(r) / r->profile->bandwidth;
    out->accumulating = fmax(3 * cost->trained_bytes / r->profile->elementwise,
                             cost->trained_count * r->profile->host[LIN_HOST_ELEMENTWISE]);
    out->gather = lin_sharded_once(r, out->forward, out->seconds - out->forward);
}

static void run_calls(part_run *r, double *out_forward)
{
    const bool overlaps = lin_sharded_overlaps(r);
    const loop_row *loop = &loops[r->settings->loop];
    r->library_scale = r->host_scale * loop->library;
    r->host_scale *= loop->modules;
    r->clocks.host += loop->batch;
    lin_sharded_before(r);
    run_transfer(r);
    if (overlaps)
        lin_sharded_forward(r);
    else
        run_forward(r);
    *out_forward = r->clocks.device;
    if (!r->cost->settings.training)
        return;
    if (loop->waits)
        r->clocks.host = fmax(r->clocks.host, r->clocks.device);
    if (overlaps)
        lin_sharded_backward(r);
    else
        run_backward(r);
    lin_sharded_after(r);
    run_transfer(r);
}

/* Every group on the profile's link, of as many ranks as there are shards. */
static lin_links links_of(const lin_profile *profile, const lin_part_settings *settings)
{
    const lin_parallel degrees = { .shards = settings->shards };
    const lin_parallel normal = lin_parallel_normal(&degrees);
    lin_links links;
    if (settings->links != NULL)
        return *settings->links;
    lin_links_of(profile, &normal, 0, &links);
    return links;
}

void lin_cost_part(const lin_cost *cost, const lin_profile *profile,
                   const lin_part_settings *settings, lin_part *out)
{
    part_run r = { .cost = cost,
                   .profile = profile,
                   .settings = settings,
                   .links = links_of(profile, settings),
                   .host_scale = 1 };
    double forward;
    if (cost->settings.is_compiled)
        r.host_scale = 0;
    else if (cost->settings.processes > 1 && (cost->settings.rules & LIN_RULE_C2))
        r.host_scale = shared_host;
    run_calls(&r, &forward);

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
    [ROW_REDUCE_SCATTER] = "scatters",
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
        add_call(&sum.forward, &price->sent);
        if (!cost->settings.training || !price->has_backward)
            continue;
        sum.backward_calls++;
        add_call(&sum.backward, &price->backward);
        add_call(&sum.backward, &price->sent_back);
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
    add_call(&entry.forward, &price->sent);
    if (cost->settings.training && price->has_backward) {
        entry.backward = price->backward;
        add_call(&entry.backward, &price->sent_back);
    }
    return entry;
}
