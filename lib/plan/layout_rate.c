/* SPDX-License-Identifier: MIT */

/*
 * One layout at one size: its time from the calls of its base, its peak from its own memory; and
 * what its memory needs at least, from the base alone.
 */

#include "plan/layout_search.h"

#include <string.h>

void lin_rate_sizes(const lin_layout_facts *facts, const lin_job_layout *layout, int64_t size,
                    int64_t whole[LIN_ROLE_COUNT], int64_t one[LIN_ROLE_COUNT])
{
    memset(whole, 0, LIN_ROLE_COUNT * sizeof *whole);
    memset(one, 0, LIN_ROLE_COUNT * sizeof *one);
    one[facts->role] = size / layout->microbatches / layout->accumulation;
    /* Accumulated steps are steps of their own. */
    whole[facts->role] = size / layout->accumulation;
}

linnet_status lin_rate_resolve(lin_memory *memory, int64_t whole[LIN_ROLE_COUNT],
                               int64_t one[LIN_ROLE_COUNT], linnet_error *err)
{
    const linnet_status status = lin_memory_sizes(memory, whole, whole, err);
    if (status == LINNET_OK && whole[LIN_ROLE_CACHE] > 0)
        one[LIN_ROLE_CACHE] = whole[LIN_ROLE_CACHE];
    return status;
}

/*
 * The base runs one micro-batch through stages of which each device has one. A device of the layout
 * has a stage at least, keeps at least that, and shards take from it at most their part of what
 * they split: no schedule of whole backward passes needs less at its peak. Where the gradients of
 * weights are put off, activations are freed earlier than their gradients come, and what holds is:
 * the states with the gradients when the optimizer runs, and what a micro-batch keeps before its
 * backward.
 */
int64_t lin_rate_floor(int64_t base_peak, const lin_memory_floor *floor,
                       const lin_sharding *sharding, bool splits_backward)
{
    const int64_t s = sharding->shards;
    int64_t saved = 0;
    if (s > 1)
        saved += floor->masters - floor->masters / s + floor->states - floor->states / s;
    if (s > 1 && sharding->zero >= 2)
        saved += floor->gradients - floor->gradients / s;
    if (s > 1 && sharding->zero >= 3)
        saved += floor->parameters - floor->parameters / s;
    if (!splits_backward)
        return base_peak - saved;
    const int64_t least = floor->stored > floor->kept ? floor->stored : floor->kept;
    return least + floor->runtime - saved;
}

static linnet_status time_layout(lin_bench *bench, const lin_job_layout *layout, int64_t size,
                                 lin_step_time *out, linnet_error *err)
{
    int64_t whole[LIN_ROLE_COUNT], one[LIN_ROLE_COUNT];
    lin_prepared *base = NULL;
    lin_timer_job job = { .microbatches = layout->microbatches,
                          .accumulation = layout->accumulation };
    linnet_status status;
    lin_rate_sizes(bench->facts, layout, size, whole, one);
    if ((status = lin_bench_base(bench, layout, &base, err)) != LINNET_OK)
        return status;
    if (base->status != LINNET_OK)
        return lin_fail(err, base->status, "%s", base->message);
    if ((status = lin_rate_resolve(base->memory, whole, one, err)) != LINNET_OK ||
        (status = lin_memory_sizes(base->memory, one, one, err)) != LINNET_OK ||
        (status = lin_timer_price(base->timer, whole, one, err)) != LINNET_OK ||
        (status = lin_bench_schedule_of(bench, layout, &job.schedule, err)) != LINNET_OK)
        return status;
    lin_timer_run(base->timer, &layout->parallel);
    return lin_timer_step(base->timer, &job, out, err);
}

static linnet_status weigh_layout(lin_bench *bench, const lin_job_layout *layout, int64_t size,
                                  lin_rate *out, linnet_error *err)
{
    int64_t whole[LIN_ROLE_COUNT], one[LIN_ROLE_COUNT];
    lin_prepared *own = NULL;
    lin_peaks peaks;
    lin_rate_sizes(bench->facts, layout, size, whole, one);
    linnet_status status = lin_bench_memory(bench, layout, &own, err);
    if (status != LINNET_OK)
        return status;
    if (own->status != LINNET_OK)
        return lin_fail(err, own->status, "%s", own->message);
    status = lin_memory_peaks(own->memory, whole, &peaks, err);
    if (status == LINNET_ERROR_OVERFLOW) {
        out->expected_peak = -1;
        return LINNET_OK;
    }
    if (status != LINNET_OK)
        return status;
    out->expected_peak = peaks.expected;
    out->fits = peaks.expected <= bench->settings->budget_bytes;
    return LINNET_OK;
}

linnet_status lin_rate_layout(lin_bench *bench, const lin_job_layout *layout, int64_t size,
                              double at_least, lin_rate *out, linnet_error *err)
{
    *out = (lin_rate){ 0 };
    const linnet_status status = time_layout(bench, layout, size, &out->time, err);
    if (status != LINNET_OK || out->time.tokens_per_second < at_least)
        return status;
    return weigh_layout(bench, layout, size, out, err);
}
