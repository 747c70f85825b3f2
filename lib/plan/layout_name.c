/* SPDX-License-Identifier: MIT */

/*
 * A layout in words, the degrees from the inside out, then what is done with them:
 *
 *     TP 2                        tensor-parallel; TP 2+SP with split positions
 *     CP 2                        context-parallel
 *     PP 4 x 16 1f1b              ranks, micro-batches, schedule
 *     VPP 4                       stages a rank, of a schedule that takes any number of them
 *     EP 8                        experts, over ranks that are there for other reasons
 *     FSDP 8                      ZeRO-3; else ZeRO-1 over 8, ZeRO-2 over 8
 *     2 replicas
 *     accumulate 4                micro-batches without a pipeline
 *     checkpoint block            unless none
 *
 * joined with ", "; "single" where no degree is above 1.
 */

#include "plan/layouts.h"

#include "schedule/schedule.h"

#include <string.h>

static void add_word(lin_text *out, uint64_t from, const char *before, int64_t count,
                     const char *after)
{
    if (out->length > from)
        lin_text_add(out, ", ");
    lin_text_add(out, before);
    lin_text_i64(out, count);
    lin_text_add(out, after);
}

/* Whether the name alone does not say how many stages a rank holds. */
static bool has_free_stages(const char *schedule)
{
    for (uint32_t i = 0; schedule != NULL && i < lin_schedule_kind_count(); i++)
        if (strcmp(lin_schedule_kind_name(i), schedule) == 0)
            return lin_schedule_kind_stages(i) == 0;
    return true;
}

static void add_pipeline(lin_text *out, uint64_t from, const lin_job_layout *layout)
{
    add_word(out, from, "PP ", layout->parallel.pipeline, " x ");
    lin_text_i64(out, layout->microbatches);
    if (layout->schedule != NULL)
        lin_text_addf(out, " %s", layout->schedule);
    if (layout->virtual_stages > 1 && has_free_stages(layout->schedule))
        add_word(out, from, "VPP ", layout->virtual_stages, "");
}

static void add_shards(lin_text *out, uint64_t from, const lin_parallel *parallel)
{
    static const char *const stages[] = { "FSDP ", "ZeRO-1 over ", "ZeRO-2 over ", "FSDP " };
    add_word(out, from, stages[parallel->zero], parallel->shards, "");
}

static void add_degrees(lin_text *out, uint64_t from, const lin_job_layout *layout)
{
    const lin_parallel *parallel = &layout->parallel;
    if (parallel->tensor > 1)
        add_word(out, from, "TP ", parallel->tensor, parallel->sequence ? "+SP" : "");
    if (parallel->context > 1)
        add_word(out, from, "CP ", parallel->context, "");
    if (parallel->pipeline > 1)
        add_pipeline(out, from, layout);
    if (parallel->expert > 1)
        add_word(out, from, "EP ", parallel->expert, "");
    if (parallel->shards > 1)
        add_shards(out, from, parallel);
    if (parallel->replicas > 1)
        add_word(out, from, "", parallel->replicas, " replicas");
}

void lin_layout_name(lin_text *out, const lin_job_layout *layout)
{
    const uint64_t from = out->length;
    add_degrees(out, from, layout);
    if (out->length == from)
        lin_text_add(out, "single");
    if (layout->accumulation > 1)
        add_word(out, from, "accumulate ", layout->accumulation, "");
    if (layout->checkpoint != NULL && strcmp(layout->checkpoint, "none") != 0)
        lin_text_addf(out, ", checkpoint %s", layout->checkpoint);
}
