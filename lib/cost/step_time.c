/* SPDX-License-Identifier: MIT */

/*
 * A step from its parts (tracing.md 15.8): one device's work, or P stages through which M
 * micro-batches go, R copies of either. Every slot is charged like the slowest stage's:
 *
 *     stage 0  |a|b|c|.|          slots = M + P - 1
 *     stage 1  |.|a|b|c|          bubble = (P - 1) / slots
 *
 * With rule S8 the first micro-batch passes each stage at its own pace and only the slowest
 * repeats. Constant time a stage.
 */

#include "cost/cost.h"

#include <math.h>

/* Of PyTorch's DistributedDataParallel: gradients are summed so many bytes at a time. */
static const double bucket_bytes = 25 << 20;
static const double summed_bytes = 4; /* an element of a sharded gradient: f32 */

static const char *const limit_names[LIN_LIMIT_COUNT] = { "compute", "memory", "communication",
                                                          "host" };

const char *lin_limit_name(lin_limit limit)
{
    return limit_names[limit];
}

static uint32_t slowest_of(const lin_part *stages, uint32_t count)
{
    uint32_t slowest = 0;
    for (uint32_t i = 1; i < count; i++)
        if (stages[i].seconds > stages[slowest].seconds)
            slowest = i;
    return slowest;
}

static void add_times(lin_step_time *out, const lin_part *part, double times)
{
    out->seconds += times * part->seconds;
    out->host += times * part->waiting;
    for (int i = 0; i < LIN_SPENT_COUNT; i++)
        out->spent[i] += times * part->spent[i];
}

static void add_memory(lin_step_time *out, double seconds)
{
    out->seconds += seconds;
    out->spent[LIN_SPENT_MEMORY] += seconds;
}

static void add_pipeline(lin_step_time *out, const lin_part *stages, uint32_t count,
                         const lin_step_settings *settings)
{
    const lin_part *slowest = &stages[out->slowest];
    const double later = (double)(settings->microbatches - 1);
    if ((settings->rules & LIN_RULE_S8) && count > 1) {
        const double busy = (double)settings->microbatches * slowest->seconds;
        add_times(out, slowest, (double)settings->microbatches);
        for (uint32_t i = 0; i < count; i++)
            out->seconds += i != out->slowest ? stages[i].seconds : 0;
        if (settings->replayed > 0)
            out->seconds = settings->replayed;
        out->bubble = out->seconds > busy ? 1 - busy / out->seconds : 0;
    } else {
        add_times(out, slowest, (double)out->slots);
    }
    if ((settings->rules & LIN_RULE_S9) && settings->training)
        add_memory(out, later * slowest->accumulating);
    if ((settings->rules & LIN_RULE_S10) && !settings->training && count > 1)
        add_memory(out, (double)settings->microbatches * stages[count - 1].joining);
}

static void add_communication(lin_step_time *out, double seconds)
{
    out->seconds += seconds;
    out->spent[LIN_SPENT_COMMUNICATION] += seconds;
}

/* Gradients of replicas are summed while everything else runs; what does not fit is waited for. */
static void add_whole_sums(const lin_profile *profile, const lin_step_settings *settings,
                           lin_step_time *out)
{
    const double replicas = (double)settings->replicas;
    if (replicas <= 1)
        return;
    const double sum = 2 * (replicas - 1) / replicas * settings->gradient_bytes / profile->link;
    if (sum > out->seconds)
        add_communication(out, sum - out->seconds);
}

static double sum_seconds(const lin_profile *profile, const lin_step_settings *settings,
                          const lin_link *link, double bytes)
{
    if (link->ranks <= 1 || bytes <= 0)
        return 0;
    const double buckets = settings->loop == LIN_LOOP_MEGATRON ? 1 : ceil(bytes / bucket_bytes);
    return buckets * lin_link_seconds(profile, settings->rules, link, LIN_COLLECTIVE_ALL_REDUCE,
                                      bytes / buckets);
}

/* DP. A rank sums its own gradients: whole ones in their dtype, of a shard its part in f32.
 * Experts' are summed over the processes that hold the same ones. They run beside the last backward
 * pass, whose last bucket nothing is left to hide. */
static void add_own_sums(const lin_profile *profile, const lin_part *slowest,
                         const lin_step_settings *settings, lin_step_time *out)
{
    const lin_links *links = settings->links;
    const bool sharded = settings->shards > 1;
    const double dense_elements = slowest->gradient_elements - slowest->expert_gradient_elements;
    const double dense = sharded ? summed_bytes * dense_elements / (double)settings->shards
                                 : slowest->gradient_bytes - slowest->expert_gradient_bytes;
    const double experts = sharded ? summed_bytes * slowest->expert_gradient_elements /
                                         fmax((double)settings->expert_shards, 1)
                                   : slowest->expert_gradient_bytes;
    const double seconds = sum_seconds(profile, settings, &links->alike, dense) +
                           sum_seconds(profile, settings, &links->experts_alike, experts);
    const double last = sum_seconds(profile, settings, &links->alike, fmin(dense, bucket_bytes));
    const double hidden =
        settings->loop == LIN_LOOP_MEGATRON ? 0 : slowest->seconds - slowest->forward;
    add_communication(out, fmax(seconds - hidden, last));
}

static void add_replicas(const lin_profile *profile, const lin_part *slowest,
                         const lin_step_settings *settings, lin_step_time *out)
{
    if (!settings->training)
        return;
    if ((settings->rules & LIN_RULE_DP) && settings->links != NULL)
        add_own_sums(profile, slowest, settings, out);
    else
        add_whole_sums(profile, settings, out);
}

static lin_limit limit_of(const lin_step_time *time)
{
    const double shares[LIN_LIMIT_COUNT] = { time->spent[LIN_SPENT_COMPUTE],
                                             time->spent[LIN_SPENT_MEMORY],
                                             time->spent[LIN_SPENT_COMMUNICATION], time->host };
    int largest = 0;
    for (int i = 1; i < LIN_LIMIT_COUNT; i++)
        if (shares[i] > shares[largest])
            largest = i;
    return (lin_limit)largest;
}

/* Gradients of several passes are summed before the optimizer's: each pass is a step without it. */
static void repeat_passes(lin_step_time *out, const lin_part *slowest,
                          const lin_step_settings *settings)
{
    const double passes = (double)settings->accumulation;
    if (!settings->training || passes <= 1)
        return;
    out->seconds *= passes;
    out->host *= passes;
    for (int i = 0; i < LIN_SPENT_COUNT; i++)
        out->spent[i] *= passes;
    if (settings->rules & LIN_RULE_S9)
        add_memory(out, (passes - 1) * slowest->accumulating);
}

void lin_step_time_of(const lin_profile *profile, const lin_part *stages, uint32_t count,
                      const lin_step_settings *settings, lin_step_time *out)
{
    *out = (lin_step_time){ .slowest = slowest_of(stages, count),
                            .slots = settings->microbatches + (int64_t)count - 1 };
    const lin_part *slowest = &stages[out->slowest];
    out->bubble = ((double)count - 1) / (double)out->slots;
    add_pipeline(out, stages, count, settings);
    repeat_passes(out, slowest, settings);
    add_memory(out, slowest->optimizer);
    out->seconds += slowest->gather;
    out->spent[LIN_SPENT_COMMUNICATION] += slowest->gather;
    add_replicas(profile, slowest, settings, out);
    out->limit = limit_of(out);
    out->tokens = settings->tokens * (double)(settings->replicas > 1 ? settings->replicas : 1);
    if (settings->training && settings->accumulation > 1)
        out->tokens *= (double)settings->accumulation;
    out->tokens_per_second = out->seconds > 0 ? out->tokens / out->seconds : 0;
}
