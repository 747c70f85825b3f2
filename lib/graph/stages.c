/* SPDX-License-Identifier: MIT */

/*
 * Units and stages (tracing.md 11.1). A unit is a block of the root, or one element of an array of
 * them; its size is that of its parameters, or what the caller says. Stages are contiguous runs of
 * units:
 *
 *     units    embedding  layers.0  layers.1  …  layers.21  norm  lm_head
 *     stages   [---------- 0 ------------)[------------ 1 -------------)
 *
 * The largest stage is made as small as possible: a binary search over the limit, each probe a
 * greedy pass. Cost: units times the bits of a size, and objects times the depth of a lookup.
 */

#include "graph/stages.h"
#include "graph/graph.h"

#include <string.h>

/* ---- whose unit ---- */

/* Units by path: hashes with open addressing, since a model has hundreds and every object asks. */
struct lin_unit_index {
    const lin_graph *graph;
    uint32_t *slots; /* unit + 1; 0: empty */
    uint64_t mask;
};

static uint64_t hash_of(const char *text, uint64_t length)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a, 64 bits */
    for (uint64_t i = 0; i < length; i++)
        h = (h ^ (uint8_t)text[i]) * 0x100000001b3u;
    return h ^ (h >> 29);
}

/* The slot of a unit of that path, or the empty one where it would be. */
static uint32_t *find_slot(const lin_unit_index *index, const char *path, uint64_t length)
{
    for (uint64_t at = hash_of(path, length);; at++) {
        uint32_t *slot = &index->slots[at & index->mask];
        if (*slot == 0)
            return slot;
        const char *unit = index->graph->units.items[*slot - 1];
        if (strncmp(unit, path, (size_t)length) == 0 && unit[length] == '\0')
            return slot;
    }
}

lin_unit_index *lin_units_index(const lin_graph *graph, lin_arena *arena)
{
    lin_unit_index *index = LIN_NEW(arena, lin_unit_index);
    uint64_t capacity = 16;
    while (capacity < 2 * (uint64_t)graph->units.count)
        capacity *= 2;
    *index = (lin_unit_index){ graph, LIN_NEW_ARRAY(arena, uint32_t, capacity), capacity - 1 };
    for (uint32_t i = 0; i < graph->units.count; i++)
        *find_slot(index, graph->units.items[i], strlen(graph->units.items[i])) = i + 1;
    return index;
}

/* A unit's path has one part, or two when it is an element of an array. */
uint32_t lin_unit_of(const lin_unit_index *index, const char *path)
{
    uint64_t length = strcspn(path, ".");
    for (int parts = 0; parts < 2; parts++) {
        const uint32_t found = *find_slot(index, path, length);
        if (found != 0)
            return found - 1;
        if (path[length] == '\0')
            break;
        length += 1 + strcspn(path + length + 1, ".");
    }
    return LIN_NO_UNIT;
}

static linnet_status measure_units(const lin_graph *graph, const int64_t *symbols, lin_arena *arena,
                                   int64_t *unit_bytes, linnet_error *err)
{
    const lin_unit_index *index = lin_units_index(graph, arena);
    for (uint32_t i = 0; i < graph->parameter_objects; i++) {
        const lin_object *object = &graph->objects.items[i];
        const uint32_t unit = object->path != NULL ? lin_unit_of(index, object->path) : LIN_NO_UNIT;
        int64_t bytes;
        if (unit == LIN_NO_UNIT || object->category != LIN_CATEGORY_PARAMETERS)
            continue;
        if (!lin_expr_evaluate(graph->exprs, graph->objects.items[object->owner].bytes, symbols,
                               &bytes) ||
            !lin_add_i64(unit_bytes[unit], bytes, &unit_bytes[unit]))
            return lin_fail(err, LINNET_ERROR_OVERFLOW, "`%s` needs more than 2^63 - 1 bytes",
                            object->path);
    }
    return LINNET_OK;
}

/* ---- balanced ---- */

/* Greedy stages of at most `limit` bytes; how many there are, or `most` + 1. */
static uint32_t fill_stages(const int64_t *bytes, uint32_t units, int64_t limit, uint32_t most,
                            uint32_t *first_unit)
{
    uint32_t stages = 0;
    int64_t held = 0;
    for (uint32_t i = 0; i < units; i++) {
        if (i == 0 || bytes[i] > limit - held) {
            if (stages == most)
                return most + 1;
            first_unit[stages++] = i;
            held = 0;
        }
        held += bytes[i];
    }
    return stages;
}

/* Splits the last stage of several units at its first unit until there are enough. */
static void split_last(uint32_t *first_unit, uint32_t units, uint32_t stages, uint32_t wanted)
{
    for (; stages < wanted; stages++) {
        uint32_t last = stages - 1;
        while (last > 0 &&
               (last + 1 < stages ? first_unit[last + 1] : units) - first_unit[last] < 2)
            last--;
        memmove(&first_unit[last + 2], &first_unit[last + 1],
                (stages - last - 1) * sizeof *first_unit);
        first_unit[last + 1] = first_unit[last] + 1;
    }
}

static linnet_status balance(const lin_graph *graph, const int64_t *bytes, uint32_t stages,
                             uint32_t *first_unit, linnet_error *err)
{
    const uint32_t units = graph->units.count;
    int64_t low = 0, high = 0;
    for (uint32_t i = 0; i < units; i++) {
        low = bytes[i] > low ? bytes[i] : low;
        if (!lin_add_i64(high, bytes[i], &high))
            return lin_fail(err, LINNET_ERROR_OVERFLOW,
                            "the parameters together need more than 2^63 - 1 bytes");
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (fill_stages(bytes, units, middle, stages, first_unit) <= stages)
            high = middle;
        else
            low = middle + 1;
    }
    split_last(first_unit, units, fill_stages(bytes, units, low, stages, first_unit), stages);
    return LINNET_OK;
}

/* ---- by hand ---- */

static linnet_status fail_start(const lin_graph *graph, const char *name, linnet_error *err)
{
    const char *nearest = lin_nearest(name, graph->units.items, graph->units.count);
    if (nearest != NULL)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "no block of the root is `%s`; did you mean `%s`?", name, nearest);
    return lin_fail(err, LINNET_ERROR_ARGUMENT,
                    "no block of the root is `%s`: stages begin at one of `%s` to `%s`", name,
                    graph->units.items[0], graph->units.items[graph->units.count - 1]);
}

static linnet_status place_start(const lin_graph *graph, const lin_unit_index *index,
                                 const char *name, uint32_t stage, uint32_t *first_unit,
                                 linnet_error *err)
{
    const uint32_t found = *find_slot(index, name, strlen(name));
    if (found == 0)
        return fail_start(graph, name, err);
    if (found == 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "`%s` is the first block, where stage 0 begins: name the block each later "
                        "stage begins at",
                        name);
    if (found - 1 <= first_unit[stage - 1])
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "stage %u would begin at `%s`, which is not behind `%s`, where stage %u "
                        "begins: they stand in order, each once",
                        stage, name, graph->units.items[first_unit[stage - 1]], stage - 1);
    first_unit[stage] = found - 1;
    return LINNET_OK;
}

static linnet_status read_starts(const lin_graph *graph, const char *starts, uint32_t stages,
                                 lin_arena *arena, uint32_t *first_unit, linnet_error *err)
{
    const lin_unit_index *index = lin_units_index(graph, arena);
    uint32_t named = 1;
    for (const char *at = starts; *at != '\0'; at++)
        named += *at == ',';
    if (named != stages - 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "%u stages begin at %u blocks after the first, and %u %s named", stages,
                        stages - 1, named, named == 1 ? "is" : "are");
    first_unit[0] = 0;
    for (uint32_t stage = 1; stage < stages; stage++) {
        const uint64_t length = strcspn(starts, ",");
        const char *name = lin_arena_text(arena, starts, length);
        const linnet_status status = place_start(graph, index, name, stage, first_unit, err);
        if (status != LINNET_OK)
            return status;
        starts += length + (starts[length] == ',');
    }
    return LINNET_OK;
}

/* ---- all of them ---- */

static linnet_status check_count(const lin_graph *graph, int64_t stages, linnet_error *err)
{
    const uint32_t units = graph->units.count;
    if (units == 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "the model has no blocks to make stages of: its root has no `sub` members");
    if (stages > units)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "%lld stages need as many blocks, and the root has %u (`%s` to `%s`): at "
                        "most %u stages",
                        (long long)stages, units, graph->units.items[0],
                        graph->units.items[units - 1], units);
    return LINNET_OK;
}

/* With room for where they start. */
static linnet_status open_plan(const lin_graph *graph, const int64_t *symbols, int64_t stages,
                               lin_arena *arena, lin_stage_plan *out, uint32_t **out_first_unit,
                               linnet_error *err)
{
    const uint32_t units = graph->units.count;
    const linnet_status status = check_count(graph, stages, err);
    if (status != LINNET_OK)
        return status;
    uint32_t *first_unit = LIN_NEW_ARRAY(arena, uint32_t, (uint64_t)stages + 1);
    int64_t *unit_bytes = LIN_NEW_ARRAY(arena, int64_t, units);
    first_unit[stages] = units;
    *out = (lin_stage_plan){ (uint32_t)stages, first_unit, unit_bytes };
    *out_first_unit = first_unit;
    return measure_units(graph, symbols, arena, unit_bytes, err);
}

linnet_status lin_stages_plan(const lin_graph *graph, const int64_t *symbols, int64_t stages,
                              const char *starts, lin_arena *arena, lin_stage_plan *out,
                              linnet_error *err)
{
    uint32_t *first_unit = NULL;
    const linnet_status status = open_plan(graph, symbols, stages, arena, out, &first_unit, err);
    if (status != LINNET_OK)
        return status;
    return starts != NULL ? read_starts(graph, starts, out->stage_count, arena, first_unit, err)
                          : balance(graph, out->unit_bytes, out->stage_count, first_unit, err);
}

linnet_status lin_stages_weigh(const lin_graph *graph, const int64_t *symbols, int64_t stages,
                               const int64_t *weights, lin_arena *arena, lin_stage_plan *out,
                               linnet_error *err)
{
    uint32_t *first_unit = NULL;
    const linnet_status status = open_plan(graph, symbols, stages, arena, out, &first_unit, err);
    return status == LINNET_OK ? lin_stage_cuts(weights, graph->units.count, out->stage_count,
                                                arena, first_unit, err)
                               : status;
}

/* ---- words ---- */

/* "layers.3": the array's part of the path and the index; false: no element of an array. */
static bool read_element(const char *path, uint64_t *out_array, int64_t *out_index)
{
    const char *dot = strrchr(path, '.');
    if (dot == NULL || !lin_parse_i64(dot + 1, strlen(dot + 1), out_index))
        return false;
    *out_array = (uint64_t)(dot - path);
    return true;
}

const char *lin_stage_units(const lin_graph *graph, const lin_stage_plan *plan, uint32_t stage,
                            lin_arena *arena)
{
    const char *words = "";
    const uint32_t end = plan->first_unit[stage + 1];
    for (uint32_t i = plan->first_unit[stage]; i < end;) {
        const char *path = graph->units.items[i++];
        const char *comma = words[0] != '\0' ? ", " : "";
        uint64_t array, next_array;
        int64_t index, next, last;
        if (!read_element(path, &array, &index)) {
            words = lin_arena_format(arena, "%s%s%s", words, comma, path);
            continue;
        }
        for (last = index; i < end && read_element(graph->units.items[i], &next_array, &next) &&
                           next == last + 1 && next_array == array &&
                           strncmp(graph->units.items[i], path, (size_t)array) == 0;
             i++)
            last = next;
        words = last > index
                    ? lin_arena_format(arena, "%s%s%s-%lld", words, comma, path, (long long)last)
                    : lin_arena_format(arena, "%s%s%s", words, comma, path);
    }
    return words;
}
