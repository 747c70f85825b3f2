/* SPDX-License-Identifier: MIT */

/*
 * Measured grids (linnet-device(5), `measured`). A value at any point is taken between the corners
 * around it, every axis and the values on logarithmic scales, so that what goes with a power of a
 * size is met exactly:
 *
 *     log value   .---o------o . .    beyond the last point: the last (a rate), or in proportion
 *                /                    to the size (seconds)
 *           o---'
 *     . . '                           below the first: in proportion (a rate), or the first
 *     ------------------> log size    (seconds)
 *
 * Two to the number of axes corners, a logarithm an axis.
 */

#include "cost/cost.h"

#include <math.h>

typedef struct grid_place {
    uint32_t low, step; /* between points `low` and `low + step`, */
    double share;       /* so much of the way */
} grid_place;

static grid_place place_on(const double *logs, uint32_t count, double size)
{
    grid_place at = { 0, 0, 0 };
    while (at.low + 1 < count && logs[at.low + 1] <= size)
        at.low++;
    if (at.low + 1 == count || size <= logs[0])
        return at;
    at.step = 1;
    at.share = (size - logs[at.low]) / (logs[at.low + 1] - logs[at.low]);
    return at;
}

/* Logarithm of the value at logarithms of sizes; outside the axes, at their ends. */
static double log_value(const lin_grid *grid, const double *sizes)
{
    grid_place places[LIN_GRID_AXES];
    double sum = 0;
    for (uint32_t a = 0; a < grid->axes; a++)
        places[a] = place_on(grid->logs[a], grid->counts[a], sizes[a]);
    for (uint32_t corner = 0; corner < 1u << grid->axes; corner++) {
        double weight = 1;
        uint32_t index = 0;
        for (uint32_t a = 0; a < grid->axes; a++) {
            const bool high = (corner >> a) & 1;
            weight *= high ? places[a].share : 1 - places[a].share;
            index = index * grid->counts[a] + places[a].low + (high ? places[a].step : 0);
        }
        sum += weight * grid->value_logs[index];
    }
    return sum;
}

double lin_grid_rate(const lin_grid *grid, const double *at)
{
    double sizes[LIN_GRID_AXES] = { 0 }, below = 0;
    for (uint32_t a = 0; a < grid->axes; a++) {
        sizes[a] = log(at[a]);
        if (sizes[a] < grid->logs[a][0])
            below += sizes[a] - grid->logs[a][0];
    }
    return exp(log_value(grid, sizes) + below);
}

double lin_grid_seconds(const lin_grid *grid, const double *at)
{
    double sizes[LIN_GRID_AXES] = { 0 }, beyond = 0;
    for (uint32_t a = 0; a < grid->axes; a++) {
        const double last = grid->logs[a][grid->counts[a] - 1];
        sizes[a] = log(at[a]);
        if (sizes[a] > last)
            beyond += sizes[a] - last;
    }
    return exp(log_value(grid, sizes) + beyond);
}
