/* SPDX-License-Identifier: MIT */

/*
 * The operations that take the most of a step: calls of one name in one place, the layers of an
 * array together ("linear in layers.*.mlp.gate"). Linear in calls times the distinct places.
 */

#include "cost/costliest.h"

#include <string.h>

/* "layers.3.mlp" as "layers.*.mlp" */
static const char *generalise(lin_arena *arena, const char *scope)
{
    char *out = lin_arena_text(arena, scope, strlen(scope));
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

typedef struct place {
    lin_costly costly;
    double longest; /* of one call, whose class is the place's */
} place;
typedef LIN_LIST(place) place_list;

static place *find_place(lin_arena *arena, place_list *places, const char *label, const char *scope)
{
    for (uint32_t i = 0; i < places->count; i++)
        if (strcmp(places->items[i].costly.label, label) == 0 &&
            strcmp(places->items[i].costly.scope, scope) == 0)
            return &places->items[i];
    const place fresh = { .costly = { .label = label, .scope = scope } };
    LIN_PUSH(arena, places, fresh);
    return &places->items[places->count - 1];
}

static void add_entry(lin_arena *arena, place_list *places, const lin_graph *graph,
                      const lin_cost_entry *entry, double again)
{
    const lin_step *step = &graph->steps.items[entry->step];
    const char *label = entry->members > 1 ? lin_arena_format(arena, "%s, %u joined", step->label,
                                                              (unsigned)entry->members)
                                           : step->label;
    place *p = find_place(arena, places, label, generalise(arena, step->scope));
    const double seconds = (1 + again) * entry->forward.device + entry->backward.device;
    p->costly.calls++;
    p->costly.seconds += seconds;
    p->costly.host += (1 + again) * entry->forward.host + entry->backward.host;
    if (seconds > p->longest) {
        p->longest = seconds;
        p->costly.spent = entry->forward.device >= entry->backward.device ? entry->forward.spent
                                                                          : entry->backward.spent;
    }
}

/* Selection: a step has some tens of places, and ten are wanted. */
static uint32_t next_costliest(place_list *places, uint32_t from)
{
    uint32_t best = from;
    for (uint32_t i = from + 1; i < places->count; i++)
        if (places->items[i].costly.seconds > places->items[best].costly.seconds)
            best = i;
    return best;
}

uint32_t lin_cost_list_costliest(const lin_cost *cost, const lin_graph *graph, double again,
                                 lin_arena *arena, lin_costly out[LIN_TIMING_COSTLIEST])
{
    place_list places = { NULL, 0, 0 };
    for (uint32_t i = 0; i < lin_cost_entry_count(cost); i++) {
        const lin_cost_entry entry = lin_cost_entry_at(cost, i);
        add_entry(arena, &places, graph, &entry, again);
    }
    uint32_t count = 0;
    for (; count < places.count && count < LIN_TIMING_COSTLIEST; count++) {
        const uint32_t best = next_costliest(&places, count);
        const place chosen = places.items[best];
        /* The others move up, so that equals stay in the order of the program. */
        memmove(&places.items[count + 1], &places.items[count],
                (best - count) * sizeof(*places.items));
        places.items[count] = chosen;
        if (chosen.costly.seconds <= 0)
            break;
        out[count] = chosen.costly;
    }
    return count;
}
