/* SPDX-License-Identifier: MIT */

/*
 * How many devices a job needs: a search over layouts for one count after the other. Counts double
 * until one will do, then those between it and the one before are tried from below, so that the
 * answer is the smallest count of those that are looked at: 1 to 8, then multiples of a node.
 *
 *     1 2 4 8 16 32      doubling: 16 does not do, 32 does
 *                24      between them, in nodes of 8
 *
 * Degrees that are given make a number of devices, and its multiples alone are looked at.
 *
 * A larger count may do less than a smaller one (9 heads divide over 3 devices, not over 4), so a
 * count below half of the first power of two that will do can be missed; within that the search is
 * through. Cost: a search for the fastest layout a count.
 */

#include "plan/layout_search.h"

typedef struct needed_pass {
    lin_layouts_settings settings;
    const lin_allocator *allocator;
    int64_t most;
    int64_t given, node; /* devices that the degrees make, steps of large counts: multiples of it */
    lin_devices_needed *out;
    linnet_error *err;
} needed_pass;

static const lin_layout_result *fastest(const lin_layouts *layouts)
{
    return layouts->count > 0 && layouts->items[0].state == LIN_LAYOUT_RUNS ? &layouts->items[0]
                                                                            : NULL;
}

static linnet_status look_at(needed_pass *p, int64_t devices, lin_layouts **out)
{
    p->settings.devices = devices;
    const linnet_status status = lin_layouts_search(&p->settings, p->allocator, out, p->err);
    const lin_layout_result *best = status == LINNET_OK ? fastest(*out) : NULL;
    if (best != NULL && best->time.tokens_per_second > p->out->best) {
        p->out->best = best->time.tokens_per_second;
        p->out->best_devices = devices;
    }
    return status;
}

static bool does(const lin_layouts *layouts, double speed)
{
    const lin_layout_result *best = fastest(layouts);
    return best != NULL && best->time.tokens_per_second >= speed;
}

static int64_t next_count(const needed_pass *p, int64_t devices)
{
    const int64_t step = devices < LIN_SPACE_NODE ? p->given : p->node;
    return devices / step * step + step;
}

/* The smallest count in [from, end) that does; *out stays NULL where none does. */
static linnet_status scan(needed_pass *p, int64_t from, int64_t end, double speed,
                          int64_t *out_count, lin_layouts **out)
{
    for (int64_t devices = from; devices < end; devices = next_count(p, devices)) {
        lin_layouts *layouts = NULL;
        const linnet_status status = look_at(p, devices, &layouts);
        if (status != LINNET_OK)
            return status;
        if (does(layouts, speed)) {
            *out_count = devices;
            *out = layouts;
            return LINNET_OK;
        }
        lin_layouts_free(layouts);
    }
    return LINNET_OK;
}

/* From `at` on; 0 in `out_count`: none up to the most. */
static linnet_status find(needed_pass *p, int64_t at, double speed, int64_t *out_count,
                          lin_layouts **out)
{
    int64_t before = at - 1;
    for (; at <= p->most; before = at, at *= 2) {
        lin_layouts *layouts = NULL, *smaller = NULL;
        linnet_status status = look_at(p, at, &layouts);
        if (status != LINNET_OK)
            return status;
        if (!does(layouts, speed)) {
            lin_layouts_free(layouts);
            continue;
        }
        *out_count = at;
        *out = layouts;
        status = scan(p, next_count(p, before), at, speed, out_count, &smaller);
        if (smaller != NULL) {
            lin_layouts_free(layouts);
            *out = smaller;
        }
        return status;
    }
    return scan(p, next_count(p, before), p->most + 1, speed, out_count, out);
}

/* Nodes where these are a multiple of what is given; else what is given has steps of its own. */
static int64_t step_of(const lin_layouts_settings *settings, int64_t given)
{
    const int64_t node =
        settings->profile->node.devices > 1 ? settings->profile->node.devices : LIN_SPACE_NODE;
    return node % given == 0 ? node : given;
}

/* Of those that doubling looks at. */
static int64_t power_below(const needed_pass *p, int64_t count)
{
    int64_t power = p->given;
    while (power * 2 <= count)
        power *= 2;
    return power;
}

linnet_status lin_devices_search(const lin_layouts_settings *settings, int64_t most,
                                 double tokens_per_second, const lin_allocator *allocator,
                                 lin_devices_needed *out, linnet_error *err)
{
    *out = (lin_devices_needed){ .most = most, .tokens_per_second = tokens_per_second };
    const int64_t given = lin_layouts_given_devices(settings);
    needed_pass p = { .settings = *settings,
                      .allocator = allocator,
                      .most = most,
                      .given = given,
                      .node = step_of(settings, given),
                      .out = out,
                      .err = err };
    if (most < 1 || most > LIN_LAYOUT_MAX_DEVICES)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "1 to %d devices can be looked at, not %lld",
                        (int)LIN_LAYOUT_MAX_DEVICES, (long long)most);
    if (given > most)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "the degrees that are given make %lld devices, and %lld are looked at",
                        (long long)given, (long long)most);
    if (p.settings.limit == 0)
        p.settings.limit = 1; /* every layout of every count would be searched through */
    p.settings.explain = false;
    linnet_status status = find(&p, p.given, 0, &out->fits, &out->fitting);
    if (status == LINNET_OK && tokens_per_second > 0 && out->fits > 0) {
        const bool is_enough = does(out->fitting, tokens_per_second);
        const int64_t from = is_enough ? out->fits : power_below(&p, out->fits);
        status = is_enough ? scan(&p, from, from + 1, tokens_per_second, &out->fast, &out->reaching)
                           : find(&p, from, tokens_per_second, &out->fast, &out->reaching);
    }
    if (status != LINNET_OK)
        lin_devices_needed_free(out);
    return status;
}

void lin_devices_needed_free(lin_devices_needed *needed)
{
    lin_layouts_free(needed->fitting);
    lin_layouts_free(needed->reaching);
    needed->fitting = needed->reaching = NULL;
}
