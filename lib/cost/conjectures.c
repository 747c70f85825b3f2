/* SPDX-License-Identifier: MIT */

/*
 * Rates as they may change with a size that a profile was not measured at (C1, C4): laws whose
 * constants are guesses, off until an experiment has said so. A device that was measured at its own
 * rows and lengths (R1) needs neither.
 */

#include "cost/calls.h"

#include <math.h>

/* ---- C1: the last wave of tiles ---- */

enum { MEASURED_ROWS = 8192, MULTIPROCESSORS = 132, TILES = 4 };

/* A tile of the result and its share of the best rate, in half precision and in f32. */
static const struct tile {
    double rows, columns, half, full;
} tiles[TILES] = {
    { 128, 256, 1, 1 },
    { 128, 128, 0.97, 1 },
    { 128, 64, 0.9, 0.9 },
    { 64, 64, 0.8, 0.8 },
};

/* Of the best tile: how much of its waves is full. */
static double waves_share(double rows, double columns, bool is_f32)
{
    double best = 0;
    for (int i = 0; i < TILES; i++) {
        const double count = ceil(rows / tiles[i].rows) * ceil(columns / tiles[i].columns);
        const double waves = count / MULTIPROCESSORS;
        best = fmax(best, (is_f32 ? tiles[i].full : tiles[i].half) * waves / ceil(waves));
    }
    return best;
}

double lin_cost_rows_factor(double rows, double columns, bool is_f32)
{
    if (rows >= MEASURED_ROWS || rows <= 0 || columns <= 0)
        return 1;
    return waves_share(rows, columns, is_f32) / waves_share(MEASURED_ROWS, columns, is_f32);
}

/* ---- C4: attention's length ---- */

/* Half of the best rate is reached at this length; rates were taken at the other one. */
static const struct length_law {
    double half, measured;
} length_laws[] = { { 500, 4096 }, { 250, 2048 } };

double lin_cost_length_factor(double length, bool is_f32)
{
    const struct length_law *law = &length_laws[is_f32];
    if (length <= 0)
        return 1;
    return length / (length + law->half) * ((law->measured + law->half) / law->measured);
}
