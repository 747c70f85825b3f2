/* SPDX-License-Identifier: MIT */

/*
 * The operations that take the most of a step: calls of one name in one place, the layers of an
 * array together ("linear in layers.*.mlp.gate"). Linear in calls times the distinct places.
 */

#include "cost/costliest.h"
#include "cost/calls.h"

#include <string.h>

/* "layers.3.mlp" as "layers.*.mlp" */
static const char *generalise(lin_arena *arena, const char *scope)
{
    char *out = lin_arena_copy(arena, scope);
    uint64_t to = 0;
    for (uint64_t at = 0; scope[at] != '\0';) {
        const uint64_t length = strcspn(scope + at, ".");
        if (length > 0 && strspn(scope + at, "0123456789") >= length) {
            out[to++] = '*';
        } else {
            memmove(out + to, scope + at, length);
            to += length;
        }
        at += length;
        if (scope[at] == '.')
            out[to++] = scope[at++];
    }
    out[to] = '\0';
    return out;
}

static lin_costly_place *find_place(lin_costliest *list, const char *label, const char *scope)
{
    for (uint32_t i = 0; i < list->places.count; i++)
        if (strcmp(list->places.items[i].costly.label, label) == 0 &&
            strcmp(list->places.items[i].costly.scope, scope) == 0)
            return &list->places.items[i];
    /* The graph's texts go with it. */
    const lin_costly_place fresh = { .costly = { .label = lin_arena_copy(list->arena, label),
                                                 .scope = scope } };
    LIN_PUSH(list->arena, &list->places, fresh);
    return &list->places.items[list->places.count - 1];
}

static void add_entry(lin_costliest *list, const lin_graph *graph, const lin_cost_entry *entry,
                      double again, double times)
{
    const lin_step *step = &graph->steps.items[entry->step];
    const char *label = entry->members > 1 ? lin_arena_format(list->arena, "%s, %u joined",
                                                              step->label, (unsigned)entry->members)
                                           : step->label;
    lin_costly_place *p = find_place(list, label, generalise(list->arena, step->scope));
    const double seconds = (1 + again) * entry->forward.device + entry->backward.device;
    p->costly.calls += (uint32_t)times;
    p->costly.seconds += times * seconds;
    p->costly.host += times * ((1 + again) * entry->forward.host + entry->backward.host);
    if (seconds > p->longest) {
        p->longest = seconds;
        p->costly.spent = entry->forward.device >= entry->backward.device ? entry->forward.spent
                                                                          : entry->backward.spent;
    }
}

void lin_costliest_add(lin_costliest *list, const lin_cost *cost, const lin_graph *graph,
                       const lin_part_settings *around, double times)
{
    for (uint32_t i = 0; i < lin_cost_entry_count(cost); i++) {
        const lin_cost_entry entry = lin_cost_entry_at(cost, i);
        add_entry(list, graph, &entry, lin_cost_again(cost, around, i), times);
    }
}

static uint32_t next_costliest(const lin_costliest *list, uint32_t from)
{
    uint32_t best = from;
    for (uint32_t i = from + 1; i < list->places.count; i++)
        if (list->places.items[i].costly.seconds > list->places.items[best].costly.seconds)
            best = i;
    return best;
}

/* Selection: a step has some tens of places, and ten are wanted. */
uint32_t lin_costliest_take(lin_costliest *list, lin_costly out[LIN_TIMING_COSTLIEST])
{
    uint32_t count = 0;
    for (; count < list->places.count && count < LIN_TIMING_COSTLIEST; count++) {
        const uint32_t best = next_costliest(list, count);
        const lin_costly_place chosen = list->places.items[best];
        if (chosen.costly.seconds <= 0)
            break;
        /* The others move up, so that equals stay in the order of the program. */
        memmove(&list->places.items[count + 1], &list->places.items[count],
                (best - count) * sizeof(chosen));
        list->places.items[count] = chosen;
        out[count] = chosen.costly;
    }
    return count;
}
