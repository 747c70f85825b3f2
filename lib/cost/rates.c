/* SPDX-License-Identifier: MIT */

/*
 * Rates read off a profile's grids (tracing.md 15.6). A product's rate depends on its weight,
 * out x in; between measured sizes it is taken on a logarithmic scale:
 *
 *     rate      .---o------o     at or beyond the last point: the last
 *              /                 between: the share of the way in log(size)
 *         o---'
 *        /                       below the first: the first, in proportion to the size
 *     ------------------> log size
 */

#include "cost/cost.h"

#include <math.h>

lin_rate_dtype lin_rate_dtype_of(lin_dtype dtype)
{
    return dtype == LIN_DTYPE_BF16  ? LIN_RATE_BF16
           : dtype == LIN_DTYPE_F16 ? LIN_RATE_F16
                                    : LIN_RATE_F32;
}

double lin_rate_peak(const lin_profile *profile, lin_rate_dtype dtype)
{
    return profile->flops[dtype] > 0 ? profile->flops[dtype] : profile->flops[LIN_RATE_F32];
}

/* Where a size lies on an axis: between points `low` and `low + step`, `share` of the way. */
typedef struct place {
    uint32_t low, step;
    double share, scale;
} place;

static place locate(const double *points, uint32_t count, double size)
{
    place at = { 0, 0, 0, 1 };
    if (size <= points[0]) {
        at.scale = size / points[0];
        return at;
    }
    while (at.low + 1 < count && points[at.low + 1] <= size)
        at.low++;
    if (at.low + 1 == count)
        return at;
    at.step = 1;
    at.share = log(size / points[at.low]) / log(points[at.low + 1] / points[at.low]);
    return at;
}

static double corner(const lin_rate_grid *grid, uint32_t out, uint32_t in, double peak)
{
    const double rate = grid->rates[out * grid->in_count + in];
    return rate > 0 ? rate : peak;
}

double lin_rate_product(const lin_profile *profile, lin_rate_dtype dtype, double out, double in)
{
    const double peak = lin_rate_peak(profile, dtype);
    const lin_rate_grid *grid = &profile->products[dtype];
    if (grid->out_count == 0 && dtype == LIN_RATE_F16)
        grid = &profile->products[LIN_RATE_BF16];
    if (grid->out_count == 0)
        return peak;
    const place o = locate(grid->out, grid->out_count, out);
    const place i = locate(grid->in, grid->in_count, in);
    const double low = corner(grid, o.low, i.low, peak) * (1 - i.share) +
                       corner(grid, o.low, i.low + i.step, peak) * i.share;
    const double high = corner(grid, o.low + o.step, i.low, peak) * (1 - i.share) +
                        corner(grid, o.low + o.step, i.low + i.step, peak) * i.share;
    const double rate = (low * (1 - o.share) + high * o.share) * o.scale * i.scale;
    return rate < peak ? rate : peak;
}

double lin_rate_attention(const lin_profile *profile, lin_rate_dtype dtype, lin_attention_kind kind,
                          double width)
{
    const lin_attention_rate *best = NULL, *any = NULL;
    double best_distance = 0;
    for (uint32_t i = 0; i < profile->attention_count; i++) {
        const lin_attention_rate *rate = &profile->attention[i];
        if (rate->kind != kind)
            continue;
        if (rate->width == 0) {
            any = rate;
            continue;
        }
        if (rate->is_f32 != (dtype == LIN_RATE_F32))
            continue;
        const double distance = fabs(log(width / (double)rate->width));
        if (best == NULL || distance < best_distance ||
            (distance <= best_distance && rate->width < best->width)) {
            best = rate;
            best_distance = distance;
        }
    }
    if (best == NULL)
        best = any;
    return best != NULL ? best->rate : lin_rate_peak(profile, dtype);
}
