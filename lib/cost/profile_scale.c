/* SPDX-License-Identifier: MIT */

/*
 * One device's figures from another's (tracing.md 15.3): half-precision rates by the ratio of the
 * sheets' half-precision peaks, f32's by theirs, bytes by bandwidth, the link by the link. What the
 * host and small kernels take stays.
 */

#include "cost/profile_keys.h"

#include <string.h>

double lin_sheet_half(const lin_sheet *sheet)
{
    return sheet->bf16 > 0 ? sheet->bf16 : sheet->f16;
}

static lin_rate_grid scale_grid(lin_arena *arena, const lin_rate_grid *grid, double ratio)
{
    const uint32_t count = grid->out_count * grid->in_count;
    double *out = LIN_NEW_ARRAY(arena, double, grid->out_count);
    double *in = LIN_NEW_ARRAY(arena, double, grid->in_count);
    double *rates = LIN_NEW_ARRAY(arena, double, count);
    if (count == 0)
        return (lin_rate_grid){ 0 };
    memcpy(out, grid->out, grid->out_count * sizeof(*out));
    memcpy(in, grid->in, grid->in_count * sizeof(*in));
    for (uint32_t i = 0; i < count; i++)
        rates[i] = grid->rates[i] * ratio;
    return (lin_rate_grid){ out, in, rates, grid->out_count, grid->in_count };
}

static void scale_products(lin_profile *profile, const lin_profile *base, double half, double full)
{
    const lin_sheet *sheet = &profile->sheet;
    const lin_rate_dtype halves = sheet->bf16 > 0 ? LIN_RATE_BF16 : LIN_RATE_F16;
    profile->flops[LIN_RATE_BF16] = sheet->bf16 > 0 ? base->flops[LIN_RATE_BF16] * half : 0;
    profile->flops[LIN_RATE_F16] = base->flops[LIN_RATE_F16] * half;
    profile->flops[LIN_RATE_F32] = base->flops[LIN_RATE_F32] * full;
    profile->products[halves] = scale_grid(&profile->arena, &base->products[LIN_RATE_BF16], half);
    profile->products[LIN_RATE_F32] =
        scale_grid(&profile->arena, &base->products[LIN_RATE_F32], full);
}

static void scale_rates(lin_profile *profile, const lin_profile *base)
{
    const double half = lin_sheet_half(&profile->sheet) / lin_sheet_half(&base->sheet);
    const double full = profile->sheet.f32 / base->sheet.f32;
    const double bytes = profile->sheet.bandwidth / base->sheet.bandwidth;
    scale_products(profile, base, half, full);
    profile->bandwidth = base->bandwidth * bytes;
    profile->elementwise = base->elementwise * bytes;
    profile->broadcast = base->broadcast * bytes;
    profile->skinny = base->skinny * bytes;
    profile->decode = base->decode * bytes;
    if (profile->sheet.link > 0)
        profile->link = base->link * (profile->sheet.link / base->sheet.link);

    lin_attention_rate *rates =
        LIN_NEW_ARRAY(&profile->arena, lin_attention_rate, base->attention_count);
    for (uint32_t i = 0; i < base->attention_count; i++) {
        rates[i] = base->attention[i];
        rates[i].rate *= rates[i].is_f32 ? full : half;
    }
    profile->attention = rates;
    profile->attention_count = base->attention_count;
}

static void copy_times(lin_profile *profile, const lin_profile *base)
{
    profile->latency = base->latency;
    profile->reduce = base->reduce;
    profile->kernel = base->kernel;
    profile->strided_kernel = base->strided_kernel;
    profile->dispatch = base->dispatch;
    memcpy(profile->host, base->host, sizeof(profile->host));
}

/* False: out of memory. The arena's own target would leave `base` behind. */
bool lin_profile_scale(lin_profile *profile, const lin_profile *base)
{
    jmp_buf *const outer = profile->arena.on_failure;
    jmp_buf inner;
    if (setjmp(inner) != 0) {
        profile->arena.on_failure = outer;
        return false;
    }
    profile->arena.on_failure = &inner;
    scale_rates(profile, base);
    copy_times(profile, base);
    profile->base = lin_arena_copy(&profile->arena, base->name);
    profile->arena.on_failure = outer;
    return true;
}
