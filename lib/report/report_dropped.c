/* SPDX-License-Identifier: MIT */

/*
 * Layouts that do not run, counted by reason, in one pass and without memory: there are few
 * reasons. Where a reason has figures of its own in every layout, its state is one group.
 */

#include "report/report_layouts.h"

#include <string.h>

uint32_t lin_layouts_running(const lin_layouts *layouts)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < layouts->count; i++)
        count += layouts->items[i].state == LIN_LAYOUT_RUNS;
    return count;
}

static void count_one(lin_dropped_list *list, lin_layout_state state, const char *reason)
{
    for (uint32_t i = 0; i < list->count; i++) {
        lin_dropped *group = &list->items[i];
        if (group->state == state && strcmp(group->reason, reason) == 0) {
            group->count++;
            return;
        }
    }
    if (list->count > LIN_DROPPED_MOST) {
        list->items[LIN_DROPPED_MOST].count++;
        return;
    }
    const bool is_last = list->count == LIN_DROPPED_MOST;
    list->items[list->count] = (lin_dropped){ state, is_last ? "other reasons" : reason, 1 };
    list->count++;
}

/* Groups of one size stay in the order of the list. */
static void sort_by_count(lin_dropped_list *list)
{
    for (uint32_t i = 1; i < list->count; i++) {
        const lin_dropped moved = list->items[i];
        uint32_t at = i;
        for (; at > 0 && list->items[at - 1].count < moved.count; at--)
            list->items[at] = list->items[at - 1];
        list->items[at] = moved;
    }
}

void lin_dropped_group(const lin_layouts *layouts, lin_dropped_list *out)
{
    static const char *const whole[] = {
        [LIN_LAYOUT_TOO_LARGE] = "do not fit the budget",
        [LIN_LAYOUT_SLOWER] = "slower than those wanted, by a bound",
    };
    out->count = 0;
    for (uint32_t i = 0; i < layouts->count; i++) {
        const lin_layout_result *item = &layouts->items[i];
        if (item->state != LIN_LAYOUT_RUNS)
            count_one(out, item->state,
                      whole[item->state] != NULL ? whole[item->state] : item->reason);
    }
    sort_by_count(out);
}
