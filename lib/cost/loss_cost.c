/* SPDX-License-Identifier: MIT */

/*
 * The chunked loss of an output head (tracing.md 15.5): hidden states [N, H], a weight [V, H], so
 * many positions at a time that their logits take 2^30 bytes in f32. Cross-entropy makes its
 * gradients in the forward pass, log-probabilities in the backward.
 *
 * The losses of whole logits (S4) are eager code: the product, a log-softmax that goes over each
 * row three times and writes it, and backward as many of the gradient's.
 */

#include "cost/calls.h"

#include <math.h>

/* Bytes a logit; S4 counts the passes: cast 6, maximum 4, subtract 8, exponent 8, sum 4, and with
 * gradients subtract 8, exponent 8, scale 8, cast back 6. */
enum { PLAIN = 16, PLAIN_COUNTED = 30, WITH_GRADIENTS = 46, WITH_GRADIENTS_COUNTED = 60 };
enum { WEIGHT_BYTES = 20 }; /* an element of the weight and a block, with gradients */
enum { PLAIN_CALLS = 5, GRADIENT_PRODUCTS = 3, GRADIENT_CALLS = 11 };
/* Passes over whole logits. Forward: maximum, sum, write, each with a read; backward: zeros for the
 * gradient of what was picked, a sum over two operands, a write over both. */
enum { WHOLE_FORWARD = 4, WHOLE_BACKWARD = 6 };
static const double block_bytes = 1 << 30, logit_bytes = 4;

typedef struct loss_sizes {
    double logits, blocks, weight;
    double seconds, gradients; /* of the product, and of those of its gradients */
} loss_sizes;

static loss_sizes sizes_of(const pricing *p, const call_shape *shape)
{
    const call_head *head = &shape->head;
    const double width = p->values[head->operands[0].last];
    const double rows = width > 0 ? p->values[head->operands[0].elements] / width : 0;
    const double vocabulary = p->values[head->operands[1].before_last];
    double block_rows = vocabulary > 0 ? floor(block_bytes / (logit_bytes * vocabulary)) : 1;
    if (head->flags & CALL_WHOLE_LOGITS)
        block_rows = rows;
    const product x = {
        .dtype = (lin_rate_dtype)head->rate,
        .operations = p->values[shape->members[0].arithmetic],
        .rows = fmin(rows, fmax(block_rows, 1)),
        .out = vocabulary,
        .in = width,
    };
    double gradients;
    const double seconds = lin_cost_product_compute(p, &x, &gradients);
    return (loss_sizes){
        .logits = rows * vocabulary,
        .blocks = ceil(rows / fmax(block_rows, 1)),
        .weight = vocabulary * width,
        .seconds = seconds,
        .gradients = gradients,
    };
}

static lin_call plain(const pricing *p, const loss_sizes *s)
{
    const double *host = p->profile->host;
    const double bytes = has_rule(p, LIN_RULE_S4) ? PLAIN_COUNTED : PLAIN;
    return (lin_call){
        .host = s->blocks * (host[LIN_HOST_PRODUCT] + PLAIN_CALLS * host[LIN_HOST_ELEMENTWISE]),
        .device = s->seconds + bytes * s->logits / p->profile->elementwise,
        .spent = LIN_SPENT_COMPUTE,
    };
}

static lin_call with_gradients(const pricing *p, const loss_sizes *s)
{
    const double *host = p->profile->host;
    const double bytes = has_rule(p, LIN_RULE_S4) ? WITH_GRADIENTS_COUNTED : WITH_GRADIENTS;
    const double moved = bytes * s->logits + WEIGHT_BYTES * s->blocks * s->weight;
    return (lin_call){
        .host = s->blocks * (GRADIENT_PRODUCTS * host[LIN_HOST_PRODUCT] +
                             GRADIENT_CALLS * host[LIN_HOST_ELEMENTWISE]),
        .device = s->seconds + s->gradients + moved / p->profile->elementwise,
        .spent = LIN_SPENT_COMPUTE,
    };
}

/* In f32, which is a cast there and back, or in the dtype of the logits. */
static void price_whole(const pricing *p, const call_shape *shape, const loss_sizes *s,
                        call_price *out)
{
    const double *host = p->profile->host;
    const double size = shape->head.operands[0].element_size;
    const bool casts = (shape->head.flags & CALL_F32_LOGITS) && size < logit_bytes;
    const double pass = shape->head.flags & CALL_F32_LOGITS ? logit_bytes : size;
    const double cast = casts ? size + logit_bytes : 0;
    const double rate = p->profile->elementwise / s->logits;
    out->forward = (lin_call){
        .host = host[LIN_HOST_PRODUCT] + 2 * host[LIN_HOST_REDUCTION] +
                (casts ? host[LIN_HOST_CAST] : 0),
        .device = s->seconds + (WHOLE_FORWARD * pass + cast) / rate,
        .spent = LIN_SPENT_COMPUTE,
    };
    out->backward = (lin_call){
        .host = host[LIN_HOST_PRODUCT_BACKWARD] + (casts ? 3 : 2) * host[LIN_HOST_BACKWARD],
        .device = s->gradients + (WHOLE_BACKWARD * pass + cast) / rate,
        .spent = LIN_SPENT_COMPUTE,
    };
}

void lin_cost_price_loss(const pricing *p, const call_shape *shape, call_price *out)
{
    const loss_sizes sizes = sizes_of(p, shape);
    const bool is_late = (shape->head.flags & CALL_LOG_PROBS) != 0;
    const double *host = p->profile->host;
    out->has_backward = true;
    out->model_operations = p->values[shape->members[0].arithmetic];
    if ((shape->head.flags & CALL_WHOLE_LOGITS) && has_rule(p, LIN_RULE_S4)) {
        price_whole(p, shape, &sizes, out);
        return;
    }
    if (!p->settings->training || is_late) {
        out->forward = plain(p, &sizes);
        out->backward = with_gradients(p, &sizes);
        return;
    }
    out->forward = with_gradients(p, &sizes);
    out->backward = (lin_call){
        .host = host[LIN_HOST_BACKWARD] + 2 * host[LIN_HOST_ELEMENTWISE],
        .device = lin_cost_stream(p, 2 * lin_cost_bytes(p, shape).read, 1),
        .spent = LIN_SPENT_MEMORY,
    };
}
