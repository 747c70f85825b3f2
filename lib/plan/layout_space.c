/* SPDX-License-Identifier: MIT */

/*
 * Which layouts there are. Outside: what a trace depends on and the pipeline's degree, a unit;
 * inside: stages a rank, checkpointing, micro-batches, sharding, schedule. Fixed degrees have one
 * value.
 *
 *     devices = tensor * context * pipeline * data
 *     data    = replicas, or shards (ZeRO 1, 2, 3), or shards of a node and replicas of that
 *
 * Experts are spread over context * data. In the published space degrees are powers of two and data
 * is replicas (cli-report.md 3.2).
 */

#include "plan/layout_search.h"

#include <string.h>

enum { MOST_MICROBATCHES = 4096, MOST_COUNTS = 48 };

/* ---- degrees ---- */

typedef struct degree_rule {
    bool is_fixed;
    int64_t fixed, of; /* divides `of` */
    bool powers_of_two;
} degree_rule;

static bool is_degree(const degree_rule *rule, int64_t degree)
{
    if (rule->of % degree != 0 || (rule->is_fixed && rule->fixed != degree))
        return false;
    return rule->is_fixed || !rule->powers_of_two || (degree & (degree - 1)) == 0;
}

static bool is_published(const lin_layouts_settings *settings)
{
    return settings->space == LIN_SPACE_PUBLISHED;
}

/* ---- sharding ---- */

static bool keeps_fixed(const lin_layouts_settings *settings, const lin_sharding *sharding)
{
    const lin_parallel *given = &settings->memory.parallel;
    return (!settings->has_shards || sharding->shards == given->shards) &&
           (!settings->has_replicas || sharding->replicas == given->replicas) &&
           (!settings->has_zero || sharding->shards == 1 || sharding->zero == given->zero);
}

static void add_sharding(const lin_layouts_settings *settings, lin_layout_unit *unit,
                         int64_t shards, int32_t zero)
{
    const lin_sharding sharding = { shards, unit->data / shards, zero };
    if (unit->data % shards == 0 && unit->sharding_count < LIN_SPACE_SHARDINGS &&
        keeps_fixed(settings, &sharding))
        unit->shardings[unit->sharding_count++] = sharding;
}

/* Shards that stay inside a node, when all data ranks do not. */
static int64_t node_shards(const lin_layouts_settings *settings, const lin_layout_unit *unit)
{
    const int64_t node =
        settings->profile->node.devices > 0 ? settings->profile->node.devices : LIN_SPACE_NODE;
    const int64_t shards = node / (unit->tensor * unit->context);
    return shards > 1 && shards < unit->data ? shards : 0;
}

static void list_shardings(const lin_layouts_settings *settings, lin_layout_unit *unit)
{
    add_sharding(settings, unit, 1, 3);
    if (settings->training == NULL || is_published(settings) || unit->data == 1)
        return;
    for (int32_t zero = 1; zero <= 3; zero++)
        add_sharding(settings, unit, unit->data, zero);
    const int64_t inside =
        settings->has_shards ? settings->memory.parallel.shards : node_shards(settings, unit);
    for (int32_t zero = 1; zero <= 3 && inside > 1 && inside < unit->data; zero++)
        if (zero == 3 || settings->has_shards)
            add_sharding(settings, unit, inside, zero);
}

/* ---- units ---- */

typedef struct unit_walk {
    const lin_layouts_settings *settings;
    const lin_layout_facts *facts;
    lin_arena *arena;
    lin_layout_units *out;
} unit_walk;

static void add_pipelines(const unit_walk *w, lin_layout_unit unit)
{
    const lin_layouts_settings *settings = w->settings;
    const degree_rule rule = { settings->has_pipeline, settings->memory.parallel.pipeline,
                               settings->devices / (unit.tensor * unit.context),
                               is_published(settings) };
    for (int64_t p = 1; p <= rule.of && p <= w->facts->units; p++) {
        if (!is_degree(&rule, p) || (unit.context * (rule.of / p)) % unit.expert != 0)
            continue;
        unit.pipeline = p;
        unit.data = rule.of / p;
        unit.sharding_count = 0;
        list_shardings(settings, &unit);
        if (unit.sharding_count > 0)
            LIN_PUSH(w->arena, w->out, unit);
    }
}

static void add_experts(const unit_walk *w, lin_layout_unit unit)
{
    const lin_layouts_settings *settings = w->settings;
    const degree_rule rule = { settings->has_expert, settings->memory.parallel.expert,
                               settings->devices / unit.tensor, false };
    for (int64_t e = 1; e <= rule.of; e++) {
        if (!is_degree(&rule, e) || (e > 1 && !settings->has_expert && !w->facts->has_experts))
            continue;
        unit.expert = e;
        add_pipelines(w, unit);
    }
}

static void add_contexts(const unit_walk *w, lin_layout_unit unit)
{
    const lin_layouts_settings *settings = w->settings;
    const degree_rule rule = { settings->has_context, settings->memory.parallel.context,
                               settings->devices / unit.tensor, false };
    const bool can = settings->training != NULL && !is_published(settings) &&
                     settings->trace.role_given[LIN_ROLE_CONTEXT];
    for (int64_t c = 1; c <= rule.of; c++) {
        if (!is_degree(&rule, c) || (c > 1 && !settings->has_context && !can))
            continue;
        unit.context = c;
        add_experts(w, unit);
    }
}

void lin_space_units(const lin_layouts_settings *settings, const lin_layout_facts *facts,
                     lin_arena *arena, lin_layout_units *out)
{
    const unit_walk w = { settings, facts, arena, out };
    const degree_rule rule = { settings->has_tensor, settings->memory.parallel.tensor,
                               settings->devices, is_published(settings) };
    for (int64_t t = 1; t <= rule.of; t++) {
        if (!is_degree(&rule, t))
            continue;
        const bool wanted = settings->memory.parallel.sequence && t > 1;
        const bool both =
            facts->has_sequence && !settings->has_sequence && !is_published(settings) && t > 1;
        lin_layout_unit unit = { .tensor = t, .sequence = wanted };
        add_contexts(&w, unit);
        if (!both)
            continue;
        unit.sequence = !wanted;
        add_contexts(&w, unit);
    }
}

/* ---- inside a unit ---- */

uint32_t lin_space_policies(const lin_layouts_settings *settings,
                            const char *out[LIN_SPACE_POLICIES])
{
    static const char *const published[] = { "none", "block" };
    static const char *const full[] = { "none", "selective", "block" };
    const char *const *list = is_published(settings) ? published : full;
    uint32_t count = is_published(settings) ? ARRAY_LEN(published) : ARRAY_LEN(full);
    out[0] = NULL;
    if (settings->training == NULL)
        return 1;
    if (settings->checkpoint_count > 0) {
        list = settings->checkpoints;
        count = settings->checkpoint_count < LIN_SPACE_POLICIES ? settings->checkpoint_count
                                                                : LIN_SPACE_POLICIES;
    } else if (settings->training->checkpoint != NULL) {
        list = &settings->training->checkpoint;
        count = 1;
    }
    for (uint32_t i = 0; i < count; i++)
        out[i] = list[i];
    return count;
}

bool lin_space_has_schedule(const lin_layouts_settings *settings, uint32_t index,
                            int64_t virtual_stages)
{
    const char *name = lin_schedule_kind_name(index);
    const uint32_t stages = lin_schedule_kind_stages(index);
    const lin_pipeline_settings *given = &settings->memory.pipeline;
    if (settings->has_schedule) {
        if (strcmp(name, given->schedule) != 0)
            return false;
    } else if ((settings->training == NULL || settings->time_model == LIN_TIME_REFERENCE) &&
               strcmp(name, "1f1b") != 0) {
        return false; /* forward passes are in the same order in all with one stage a rank */
    }
    return stages == 0 ? virtual_stages > 1 || settings->has_virtual_stages
                       : (int64_t)stages == virtual_stages;
}

uint32_t lin_space_virtual_stages(const lin_layouts_settings *settings,
                                  const lin_layout_facts *facts, const lin_layout_unit *unit,
                                  int64_t out[LIN_SPACE_STAGES])
{
    static const int64_t tried[LIN_SPACE_STAGES] = { 1, 2, 4 };
    uint32_t count = 0;
    if (unit->pipeline == 1) {
        out[0] = 1;
        return 1;
    }
    for (uint32_t i = 0; i < LIN_SPACE_STAGES; i++) {
        const bool is_given = settings->has_virtual_stages;
        const int64_t stages = is_given ? settings->memory.pipeline.virtual_stages : tried[i];
        bool some = false;
        if ((is_given && i > 0) || stages > facts->units / unit->pipeline)
            continue;
        for (uint32_t k = 0; k < lin_schedule_kind_count(); k++)
            some |= lin_space_has_schedule(settings, k, stages);
        if (some)
            out[count++] = stages;
    }
    return count;
}

/* Every divisor, the smallest first. */
static void add_divisors(int64_t size, lin_arena *arena, lin_counts *out)
{
    for (int64_t d = 1; d <= size && d <= MOST_MICROBATCHES && out->count < MOST_COUNTS; d++)
        if (size % d == 0)
            LIN_PUSH(arena, out, d);
}

void lin_space_microbatches(const lin_layouts_settings *settings, const lin_layout_unit *unit,
                            int64_t size, lin_arena *arena, lin_counts *out)
{
    const int64_t p = unit->pipeline;
    const bool accumulates = settings->training != NULL && settings->global_size > 0;
    const int64_t given = settings->training != NULL ? settings->training->accumulation : 0;
    if (p == 1 && given > 1) {
        if (size % given == 0)
            LIN_PUSH(arena, out, given);
        return;
    }
    if (p == 1 && !accumulates) {
        LIN_PUSH(arena, out, 1);
        return;
    }
    if (settings->has_microbatches) {
        if (size % settings->memory.pipeline.microbatches == 0)
            LIN_PUSH(arena, out, settings->memory.pipeline.microbatches);
        return;
    }
    if (size > 0) {
        add_divisors(size, arena, out);
        return;
    }
    for (int64_t times = 1; times <= 4; times *= 2)
        LIN_PUSH(arena, out, times * p);
}
