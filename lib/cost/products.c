/* SPDX-License-Identifier: MIT */

/*
 * Products: operations against a rate, bytes against a bandwidth, the larger of the two.
 *
 *     forward            [rows, in] x [in, out]     -> [rows, out]
 *     of the input       [rows, out] x [out, in]    -> [rows, in]      as many operations each
 *     of the weight      [out, rows] x [rows, in]   -> [out, in]
 *
 * By rule R1 a product runs at the rate of its own shape: where a device was measured by rows, each
 * of the three has one, else the backward ones take what the forward took. Constant time.
 */

#include "cost/calls.h"

#include <math.h>

enum {
    SKINNY_ROWS = 64, /* rows up to which a product reads its weight and little else */
    BACKWARD_PRODUCTS = 2,
    FIRST_SIZE = 256, /* the narrowest weight of the grids */
    VECTOR_BYTES = 16 /* that a thread loads at once */
};

/* The skinny rate was measured on one weight read again and again, which the L2 partly held (M3).
 */
static const double cold_weights = 0.87;
/* Of the rate, where rows of 16-bit elements do not begin at multiples of 16 bytes. Tensor cores
 * are fed by loads of 16 bytes, which must be aligned (cuBLAS, 16-byte alignment of leading
 * dimensions). The third is what 50,257 words cost over 50,304 in eight groups of runs on A100, of
 * two widths and four batches; both widths give it. */
static const double unaligned = 1.0 / 3;

static bool is_half(lin_rate_dtype dtype)
{
    return dtype == LIN_RATE_BF16 || dtype == LIN_RATE_F16;
}

static bool is_measured(const pricing *p, lin_rate_dtype dtype)
{
    const lin_grid *grids = p->profile->measured.products;
    return has_rule(p, LIN_RULE_R1) &&
           (grids[dtype].axes > 0 || (dtype == LIN_RATE_F16 && grids[LIN_RATE_BF16].axes > 0));
}

static bool is_whole_vectors(double elements)
{
    const double vectors = elements * 2 / VECTOR_BYTES;
    return vectors <= floor(vectors);
}

/* What whole runs were seen to reach of the peak that the rates by weight go with. */
static double seen_peak(const pricing *p, lin_rate_dtype dtype)
{
    const double seen = p->profile->measured.flops[dtype];
    return has_rule(p, LIN_RULE_R1) && seen > 0 ? seen / lin_rate_peak(p->profile, dtype) : 1;
}

/* A lone narrow product has few tiles and its bytes bind; a batch has many tiles, and its bytes are
 * counted apart (R1). */
static double rate_of(const pricing *p, const product *x)
{
    const bool is_wide = x->is_batched && has_rule(p, LIN_RULE_R1);
    const double out = is_wide ? fmax(x->out, FIRST_SIZE) : x->out;
    const double in = is_wide ? fmax(x->in, FIRST_SIZE) : x->in;
    double rate;
    if (is_measured(p, x->dtype))
        rate = lin_measured_product(p->profile, x->dtype, x->rows, out, in);
    else
        rate = lin_rate_product(p->profile, x->dtype, out, in) * seen_peak(p, x->dtype);
    return rate * (x->is_unaligned ? unaligned : 1);
}

static double compute_of(const pricing *p, const product *x)
{
    return x->operations > 0 ? x->operations / rate_of(p, x) : 0;
}

static product aligned(const pricing *p, const product *x)
{
    product out = *x;
    out.is_unaligned |= has_rule(p, LIN_RULE_R1) && is_half(x->dtype) &&
                        !(is_whole_vectors(x->out) && is_whole_vectors(x->in));
    return out;
}

/* What was measured by rows has read cold weights and has started its kernels. */
static lin_call price_measured(const pricing *p, const product *x)
{
    const double compute = compute_of(p, x), memory = x->bytes / p->profile->bandwidth;
    const bool is_bound = x->rows > SKINNY_ROWS && compute >= memory;
    const double device = fmax(compute, x->is_batched ? memory : 0);
    return (lin_call){ 0, fmax(device, p->profile->kernel),
                       is_bound ? LIN_SPENT_COMPUTE : LIN_SPENT_MEMORY };
}

static lin_call price_by_weight(const pricing *p, const product *x)
{
    const lin_profile *profile = p->profile;
    const bool is_skinny = x->rows <= SKINNY_ROWS;
    const double bandwidth = is_skinny
                                 ? profile->skinny * (has_rule(p, LIN_RULE_M3) ? cold_weights : 1)
                                 : profile->bandwidth;
    const double factor = has_rule(p, LIN_RULE_C1)
                              ? lin_cost_rows_factor(x->rows, x->out, x->dtype == LIN_RATE_F32)
                              : 1;
    const double compute = compute_of(p, x) / factor, memory = x->bytes / bandwidth;
    double device = fmax(fmax(compute, memory), profile->kernel);
    if (is_skinny && has_rule(p, LIN_RULE_M2))
        device = fmax(compute, memory) + profile->kernel;
    return (lin_call){ 0, device, compute >= memory ? LIN_SPENT_COMPUTE : LIN_SPENT_MEMORY };
}

static lin_call price(const pricing *p, const product *x)
{
    return is_measured(p, x->dtype) ? price_measured(p, x) : price_by_weight(p, x);
}

lin_call lin_cost_product(const pricing *p, const product *x)
{
    const product whole = aligned(p, x);
    return price(p, &whole);
}

/* In a batch both have the input's shape. */
static void gradient_shapes(const product *x, product *input, product *weight)
{
    *input = *weight = *x;
    input->out = x->in;
    input->in = x->out;
    if (x->is_batched) {
        *weight = *input;
        return;
    }
    weight->rows = x->out;
    weight->out = x->in;
    weight->in = x->rows;
}

/* One for each operand that carries a gradient (S13). */
double lin_cost_product_gradients(const pricing *p, const product *x, uint32_t flags,
                                  double forward)
{
    const bool frozen = has_rule(p, LIN_RULE_S13);
    const bool has_input = !frozen || !(flags & CALL_FROZEN_INPUT);
    const bool has_weight = !frozen || !(flags & CALL_FROZEN_WEIGHT);
    const product whole = aligned(p, x);
    product input, weight;
    if (!is_measured(p, x->dtype))
        return (BACKWARD_PRODUCTS - !has_input - !has_weight) * forward;
    gradient_shapes(&whole, &input, &weight);
    return (has_input ? price(p, &input).device : 0) + (has_weight ? price(p, &weight).device : 0);
}

double lin_cost_product_compute(const pricing *p, const product *x, double *out_gradients)
{
    const product whole = aligned(p, x);
    const double forward = compute_of(p, &whole);
    product input, weight;
    gradient_shapes(&whole, &input, &weight);
    *out_gradients = is_measured(p, x->dtype) ? compute_of(p, &input) + compute_of(p, &weight)
                                              : BACKWARD_PRODUCTS * forward;
    return forward;
}
