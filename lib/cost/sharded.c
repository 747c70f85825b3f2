/* SPDX-License-Identifier: MIT */

/*
 * A training step whose states are split over shards: which collectives, when, and what of them is
 * waited for.
 *
 *     zero   a pass (micro-batch)                          once a step
 *     1      nothing (Z)                                   gradients summed, weights gathered
 *     2      gradients summed                              weights gathered
 *     3      weights gathered twice, gradients summed      nothing
 *
 * Without rule Z every pass sums, and a whole step begins with all its gathers and sums, one a
 * tensor, and waits for them (tracing.md 15.7). So it does with rule Z, as the code does whose
 * steps were measured, unless groups of weights are gathered ahead: then a group's tensors, those
 * of one element of an array of blocks, go in one collective on a stream of their own beside the
 * calls, as PyTorch's FSDP runs them:
 *
 *     link     gather 0 | gather 1 | gather 2 |
 *     device            | group 0  | group 1      | group 2           forward
 *
 *     link     gather 2 | gather 1 |        sum 2 | gather 0 | sum 1 | sum 0
 *     device            | group 2         | group 1         | group 0         | rest    backward
 *
 * A group waits for its gather and asks for the next ones when it begins; its gradients are summed
 * when it ends backward, and the step waits for the last sum. Each gather is copied out of its
 * buffer and each sum copied, in f32, into one. Weights outside arrays are gathered first, stay,
 * and are summed last. Gathered weights are in the model's dtype, gradients are summed in f32.
 *
 * A stage of a pipeline keeps its weights from the first micro-batch to the last: one gather a
 * step. Experts' weights are spread over as many shards as hold the same experts. Cost: linear in
 * the calls.
 */

#include "cost/calls.h"

#include <math.h>
#include <string.h>

enum { SUMMED_BYTES = 4 /* an element of a gradient: f32 */ };
static const uint32_t never = UINT32_MAX;

/* Queued sums and gathers cost less latency than lone ones (C3). */
static const double queued_latency = 6e-6;

/* ---- groups ---- */

typedef struct group_path {
    const char *text;
    uint64_t length;
} group_path;

typedef LIN_LIST(group_path) path_list;

/* Parameters come array by array, a member at a time for all elements: looked for from where the
 * last one was found. */
static uint32_t find_group(path_list *paths, const char *path, uint32_t near, lin_arena *arena)
{
    const group_path wanted = { path, path != NULL ? lin_path_element(path) : 0 };
    if (wanted.length == 0)
        return 0;
    for (uint32_t i = 0; i < paths->count; i++) {
        const uint32_t at = (near + i) % paths->count;
        if (paths->items[at].length == wanted.length &&
            memcmp(paths->items[at].text, path, wanted.length) == 0)
            return at + 1;
    }
    LIN_PUSH(arena, paths, wanted);
    return paths->count;
}

static uint32_t group_read(const uint32_t *group_of, const lin_graph *graph,
                           const uint32_t *objects, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t group = group_of[graph->objects.items[objects[i]].owner];
        if (group != 0)
            return group;
    }
    return 0;
}

/* Which group each call reads, and the groups in the order of their first call. */
static void order_groups(lin_cost *cost, const uint32_t *group_of)
{
    const lin_graph *graph = cost->graph;
    uint32_t *reads = LIN_NEW_ARRAY(&cost->arena, uint32_t, cost->entry_count);
    uint32_t *order = LIN_NEW_ARRAY(&cost->arena, uint32_t, cost->group_count);
    for (uint32_t i = 0; i < cost->group_count; i++)
        cost->groups[i].first_entry = never;
    for (uint32_t i = 0; i < cost->entry_count; i++) {
        const lin_step *step = &graph->steps.items[cost->entries[i].step];
        reads[i] = group_read(group_of, graph, step->inputs, step->input_count);
        if (reads[i] == 0)
            reads[i] = group_read(group_of, graph, step->region_reads, step->region_read_count);
        if (reads[i] == 0 || cost->groups[reads[i]].first_entry != never)
            continue;
        cost->groups[reads[i]].first_entry = i;
        order[cost->ordered_count++] = reads[i];
    }
    cost->entry_groups = reads;
    cost->group_order = order;
}

void lin_sharded_group(lin_cost *cost, parameter_slots *parameters, const uint32_t *objects,
                       lin_arena *scratch)
{
    path_list paths = { NULL, 0, 0 };
    uint32_t *group_of = LIN_NEW_ARRAY(scratch, uint32_t, cost->graph->objects.count);
    uint32_t near = 0;
    for (uint32_t i = 0; i < cost->parameter_count; i++) {
        const char *path = cost->graph->objects.items[objects[i]].path;
        parameters[i].group = find_group(&paths, path, near, scratch);
        group_of[objects[i]] = parameters[i].group;
        near = parameters[i].group;
    }
    cost->group_count = paths.count + 1;
    cost->groups = LIN_NEW_ARRAY(&cost->arena, weight_group, cost->group_count);
    cost->arrivals = LIN_NEW_ARRAY(&cost->arena, double, cost->group_count);
    order_groups(cost, group_of);
}

static void clear_sums(weight_group *group)
{
    group->bytes = group->expert_bytes = group->trained = group->expert_trained = 0;
}

void lin_sharded_price(lin_cost *cost)
{
    for (uint32_t i = 0; i < cost->group_count; i++)
        clear_sums(&cost->groups[i]);
    for (uint32_t i = 0; i < cost->parameter_count; i++) {
        const parameter_slots *parameter = &cost->parameters[i];
        weight_group *group = &cost->groups[parameter->group];
        const double elements = parameter->trained ? cost->values[parameter->elements] : 0;
        *(parameter->is_expert ? &group->expert_bytes : &group->bytes) +=
            cost->values[parameter->bytes];
        *(parameter->is_expert ? &group->expert_trained : &group->trained) += elements;
    }
}

static weight_group all_groups(const lin_cost *cost)
{
    weight_group all = { .first_entry = never };
    for (uint32_t i = 0; i < cost->group_count; i++) {
        all.bytes += cost->groups[i].bytes;
        all.expert_bytes += cost->groups[i].expert_bytes;
        all.trained += cost->groups[i].trained;
        all.expert_trained += cost->groups[i].expert_trained;
    }
    return all;
}

/* ---- one collective ---- */

static bool is_sharded(const part_run *r)
{
    return r->cost->settings.training && r->settings->shards > 1;
}

static bool has_z(const part_run *r)
{
    return (r->cost->settings.rules & LIN_RULE_Z) != 0;
}

static double share_of(double shards)
{
    return shards > 1 ? (shards - 1) / shards : 0;
}

/* Experts are spread over positions first, then over shards; what is left of these holds the same
 * ones. */
static double expert_shards(const part_run *r)
{
    const double spread = (double)r->cost->settings.expert / (double)r->cost->settings.context;
    return (double)r->settings->shards / fmax(spread, 1);
}

/* Bytes that a process sends of so many, over `shards` processes. */
static double sent_bytes(const part_run *r, double shards, double dense, double experts)
{
    const double spread = fmin(expert_shards(r), shards);
    return share_of(shards) * dense + (experts > 0 ? share_of(spread) * experts : 0);
}

static double latency_of(const part_run *r, const lin_link *link)
{
    return r->cost->settings.rules & LIN_RULE_C3 ? queued_latency : link->latency;
}

static double seconds_of(const part_run *r, const lin_link *link, double sent, double collectives)
{
    return sent / link->ring + collectives * latency_of(r, link);
}

/* So many of equal size as they were measured inside a node (R3); 0: they were not. */
static double measured_seconds(const part_run *r, lin_collective kind, double bytes,
                               double collectives)
{
    const lin_link *link = &r->links.of[LIN_GROUP_SHARDS];
    if (!(r->cost->settings.rules & LIN_RULE_R3) || link->nodes > 1 || collectives <= 0)
        return 0;
    return collectives *
           lin_measured_collective(r->profile, kind, (double)link->ranks, bytes / collectives);
}

static double gather_seconds(const part_run *r, const weight_group *group, double collectives)
{
    const double measured =
        measured_seconds(r, LIN_COLLECTIVE_ALL_GATHER, group->bytes, collectives);
    if (measured > 0 && group->expert_bytes <= 0)
        return measured;
    const double shards = (double)r->settings->shards;
    return seconds_of(r, &r->links.of[LIN_GROUP_SHARDS],
                      sent_bytes(r, shards, group->bytes, group->expert_bytes), collectives);
}

static double sum_seconds(const part_run *r, const weight_group *group, double collectives)
{
    const double measured = measured_seconds(r, LIN_COLLECTIVE_REDUCE_SCATTER,
                                             SUMMED_BYTES * group->trained, collectives);
    if (measured > 0 && group->expert_trained <= 0)
        return measured;
    const double shards = (double)r->settings->shards;
    return seconds_of(
        r, &r->links.of[LIN_GROUP_SHARDS],
        sent_bytes(r, shards, SUMMED_BYTES * group->trained, SUMMED_BYTES * group->expert_trained),
        collectives);
}

/* ---- what waits ---- */

bool lin_sharded_overlaps(const part_run *r)
{
    return is_sharded(r) && has_z(r) && r->settings->prefetch > 0 && !r->settings->keeps_gradients;
}

static bool sums_once(const part_run *r)
{
    return has_z(r) && r->settings->keeps_gradients;
}

void lin_sharded_before(part_run *r)
{
    const lin_cost *cost = r->cost;
    if (!is_sharded(r) || cost->settings.is_stage || lin_sharded_overlaps(r))
        return;
    const weight_group all = all_groups(cost);
    double gathers = r->settings->keeps_parameters ? 1 : 2;
    if (has_z(r) && r->settings->keeps_parameters)
        gathers = 0; /* once a step */
    else if (has_z(r) && r->settings->reshard == LIN_RESHARD_NEVER)
        gathers = 1;
    double device = gathers * gather_seconds(r, &all, cost->parameter_count);
    if (!sums_once(r))
        device += sum_seconds(r, &all, cost->trained_count);
    if (device > 0)
        lin_cost_run(r, (lin_call){ 0, device, LIN_SPENT_COMMUNICATION });
}

void lin_sharded_after(part_run *r)
{
    const lin_cost *cost = r->cost;
    if (!is_sharded(r) || !cost->settings.is_stage || sums_once(r) || lin_sharded_overlaps(r))
        return;
    const weight_group all = all_groups(cost);
    lin_cost_run(r,
                 (lin_call){ cost->trained_count * r->profile->dispatch,
                             sum_seconds(r, &all, cost->trained_count), LIN_SPENT_COMMUNICATION });
}

/* What is left to wait for when `seconds` of so many collectives run beside `beside`: the first to
 * be needed, or the last to be made, hides under nothing. */
static double left_over(double seconds, double collectives, double beside)
{
    return fmax(seconds - beside, seconds / collectives);
}

/* What is gathered ahead hides under the pass that it is for, and a sum under the one that makes
 * it. */
double lin_sharded_once(const part_run *r, double forward, double backward)
{
    const lin_cost *cost = r->cost;
    if (!is_sharded(r))
        return 0;
    const weight_group all = all_groups(cost);
    const bool hides = has_z(r) && r->settings->prefetch > 0;
    const bool gathers = cost->settings.is_stage || (has_z(r) && r->settings->keeps_parameters);
    const double groups = (double)cost->group_count;
    double once = 0;
    if (gathers)
        once += hides ? left_over(gather_seconds(r, &all, groups), groups, forward)
                      : gather_seconds(r, &all, cost->parameter_count);
    if (sums_once(r))
        once += hides ? left_over(sum_seconds(r, &all, groups), groups, backward)
                      : sum_seconds(r, &all, cost->trained_count);
    return once;
}

/* The share of the trained elements that a process updates: its part, with rule Z. */
double lin_sharded_updated(const part_run *r)
{
    if (!is_sharded(r) || !has_z(r))
        return 1;
    const weight_group all = all_groups(r->cost);
    const double whole = all.trained + all.expert_trained;
    const double part =
        all.trained / (double)r->settings->shards + all.expert_trained / fmax(expert_shards(r), 1);
    return whole > 0 ? part / whole : 1;
}

/* ---- what runs beside the calls ---- */

static bool gathers_groups(const part_run *r)
{
    return !r->cost->settings.is_stage && !r->settings->keeps_parameters;
}

/* The device stands until then. */
static void wait_until(part_run *r, double moment)
{
    lin_clocks *clocks = &r->clocks;
    const double from = fmax(clocks->device, clocks->host);
    if (moment <= from)
        return;
    clocks->spent[LIN_SPENT_COMMUNICATION] += moment - from;
    clocks->device = moment;
}

/* Issued now, begun when the link is free. */
static double send_beside(part_run *r, double seconds)
{
    r->clocks.host += r->host_scale * r->profile->dispatch;
    r->link_free = fmax(r->link_free, fmax(r->clocks.device, r->clocks.host)) + seconds;
    return r->link_free;
}

/* Experts that no other shard holds are gathered and summed with nobody. */
static void copy_beside(part_run *r, double dense, double experts)
{
    const double bytes = dense + (expert_shards(r) > 1 ? experts : 0);
    lin_cost_run(r, (lin_call){ 0, bytes / r->profile->elementwise, LIN_SPENT_MEMORY });
}

/* In backward a weight may come from the smaller group that it was spread over. */
static double regather_seconds(const part_run *r, const weight_group *group)
{
    if (r->settings->reshard <= 0)
        return gather_seconds(r, group, 1);
    const double parts = (double)r->settings->reshard;
    return seconds_of(r, &r->links.reshard, sent_bytes(r, parts, group->bytes, group->expert_bytes),
                      1);
}

/* The group at a place of the order, counted from the end in backward; asked for once. */
static void ask_for(part_run *r, uint32_t place, bool backward)
{
    const lin_cost *cost = r->cost;
    if (place >= cost->ordered_count)
        return;
    const uint32_t at = backward ? cost->ordered_count - 1 - place : place;
    const uint32_t group = cost->group_order[at];
    if (cost->arrivals[group] >= 0)
        return;
    cost->arrivals[group] = send_beside(r, backward ? regather_seconds(r, &cost->groups[group])
                                                    : gather_seconds(r, &cost->groups[group], 1));
}

static void forget_arrivals(const part_run *r)
{
    for (uint32_t i = 0; i < r->cost->group_count; i++)
        r->cost->arrivals[i] = -1;
}

/* A group begins: its weights are there, and the next ones are on their way. `next` is the place of
 * the group that begins next. */
static void begin_group(part_run *r, uint32_t group, uint32_t *next, bool backward)
{
    const lin_cost *cost = r->cost;
    const int64_t ahead = r->settings->prefetch;
    ask_for(r, *next, backward);
    wait_until(r, cost->arrivals[group]);
    copy_beside(r, 2 * cost->groups[group].bytes, 2 * cost->groups[group].expert_bytes);
    *next += 1;
    for (uint32_t i = 0; i < ahead && *next + i < cost->ordered_count; i++)
        ask_for(r, *next + i, backward);
}

void lin_sharded_forward(part_run *r)
{
    const lin_cost *cost = r->cost;
    uint32_t next = 0;
    forget_arrivals(r);
    if (gathers_groups(r))
        wait_until(r, send_beside(r, gather_seconds(r, &cost->groups[0], 1)));
    for (uint32_t i = 0; i < cost->entry_count; i++) {
        if (gathers_groups(r) && next < cost->ordered_count &&
            cost->groups[cost->group_order[next]].first_entry == i)
            begin_group(r, cost->group_order[next], &next, false);
        lin_cost_run_entry(r, i, 1);
    }
}

static void sum_beside(part_run *r, const weight_group *group)
{
    if (group->trained + group->expert_trained <= 0)
        return;
    copy_beside(r, group->bytes + SUMMED_BYTES * group->trained,
                group->expert_bytes + SUMMED_BYTES * group->expert_trained);
    send_beside(r, sum_seconds(r, group, 1));
}

/* What is computed again is so group by group, just before it goes back. */
void lin_sharded_backward(part_run *r)
{
    const lin_cost *cost = r->cost;
    const bool gathers = gathers_groups(r) && r->settings->reshard != LIN_RESHARD_NEVER;
    uint32_t next = 0, left = cost->ordered_count;
    forget_arrivals(r);
    if (gathers)
        ask_for(r, 0, true);
    for (uint32_t i = cost->entry_count; i-- > 0;) {
        const uint32_t group = cost->entry_groups[i];
        if (gathers && group != 0 && next < cost->ordered_count &&
            cost->group_order[cost->ordered_count - 1 - next] == group)
            begin_group(r, group, &next, true);
        const double again = lin_cost_again(cost, r->settings, i);
        if (again > 0)
            lin_cost_run_entry(r, i, again);
        lin_cost_run_entry_back(r, i);
        if (left > 0 && cost->groups[cost->group_order[left - 1]].first_entry == i)
            sum_beside(r, &cost->groups[cost->group_order[--left]]);
    }
    sum_beside(r, &cost->groups[0]);
    wait_until(r, r->link_free);
}
