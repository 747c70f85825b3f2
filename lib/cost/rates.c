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
 *
 * What was measured call by call (`measured`) has grids of its own; where a call lies outside of
 * them, the rates above say how it differs from the nearest one inside.
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

/* ---- measured ---- */

static double at_least(const lin_grid *grid, uint32_t axis, double size)
{
    return fmax(size, grid->points[axis][0]);
}

/* A weight narrower than any that was measured: as much slower as the grid by weights has it. */
double lin_measured_product(const lin_profile *profile, lin_rate_dtype dtype, double rows,
                            double out, double in)
{
    const lin_grid *grid = &profile->measured.products[dtype];
    if (grid->axes == 0 && dtype == LIN_RATE_F16)
        grid = &profile->measured.products[LIN_RATE_BF16];
    if (grid->axes == 0 || !(rows > 0 && out > 0 && in > 0))
        return 0;
    const double at[] = { rows, at_least(grid, 1, out), at_least(grid, 2, in) };
    const double rate = lin_grid_rate(grid, at);
    if (out >= at[1] && in >= at[2])
        return rate;
    return rate * lin_rate_product(profile, dtype, out, in) /
           lin_rate_product(profile, dtype, at[1], at[2]);
}

/* Of the kind itself, else of the causal forward pass; of these the nearest width. */
static const lin_attention_grid *find_attention(const lin_measured *measured, bool is_f32,
                                                lin_attention_kind kind, double width)
{
    const lin_attention_grid *best = NULL;
    for (uint32_t i = 0; i < measured->attention_count; i++) {
        const lin_attention_grid *grid = &measured->attention[i];
        if (grid->is_f32 != is_f32 || (grid->kind != kind && grid->kind != LIN_ATTENTION_CAUSAL))
            continue;
        const bool is_closer = best != NULL && fabs(log(width / (double)grid->width)) <
                                                   fabs(log(width / (double)best->width));
        if (best == NULL || (grid->kind == kind && best->kind != kind) ||
            (grid->kind == best->kind && is_closer))
            best = grid;
    }
    return best;
}

double lin_measured_attention(const lin_profile *profile, lin_rate_dtype dtype,
                              lin_attention_kind kind, double width, double length, double heads)
{
    const double at[] = { length, heads };
    if (!(width > 0 && length > 0 && heads > 0))
        return 0;
    const lin_attention_grid *best =
        find_attention(&profile->measured, dtype == LIN_RATE_F32, kind, width);
    if (best == NULL)
        return 0;
    return lin_grid_rate(&best->grid, at) * lin_rate_attention(profile, dtype, kind, width) /
           lin_rate_attention(profile, dtype, best->kind, (double)best->width);
}

double lin_measured_decode(const lin_profile *profile, double bytes)
{
    const lin_grid *grid = &profile->measured.decode;
    return grid->axes > 0 && bytes > 0 ? lin_grid_rate(grid, &bytes) : 0;
}

/* The share of a message that a process sends: twice of a sum, which goes around twice. */
static double sent_share(lin_collective kind, double processes)
{
    return (kind == LIN_COLLECTIVE_ALL_REDUCE ? 2 : 1) * (processes - 1) / processes;
}

/* Groups smaller or larger than any measured: the nearest, by the share that is sent. */
double lin_measured_collective(const lin_profile *profile, lin_collective kind, double processes,
                               double bytes)
{
    const lin_grid *grid = &profile->measured.collectives[kind];
    if (grid->axes == 0 || processes < 2 || !(bytes > 0))
        return 0;
    const double last = grid->points[0][grid->counts[0] - 1];
    const double at[] = { fmin(at_least(grid, 0, processes), last), bytes };
    return lin_grid_seconds(grid, at) * sent_share(kind, processes) / sent_share(kind, at[0]);
}

double lin_collective_seconds(const lin_profile *profile, uint64_t rules, lin_collective kind,
                              double processes, double bytes)
{
    const double seconds =
        rules & LIN_RULE_R3 ? lin_measured_collective(profile, kind, processes, bytes) : 0;
    return seconds > 0 ? seconds
                       : profile->latency + sent_share(kind, processes) * bytes / profile->link;
}
