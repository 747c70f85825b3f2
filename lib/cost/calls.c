/* SPDX-License-Identifier: MIT */

/*
 * What a call costs on the device and on the host: tracing.md 15.4, a function a row. Rules of
 * time_rules.c that change a row stand in it, each under its switch.
 *
 *     stream(b)   bytes that lie one after the other, or a kernel's floor
 *     spread(b)   a smaller or a strided operand
 */

#include "cost/calls.h"

#include <math.h>

enum {
    ONE_QUERY_KERNELS = 8, /* floor of one-query attention */
    EMBEDDING_KERNELS = 2, /* floor of the embedding's backward */
    BACKWARD_FACTOR = 2,   /* of a norm, anything elementwise */
    MAX_INDEXED_OPERATIONS = 64,
    ONE_SHOT_BYTES = 64 << 10 /* sums up to this run in one kernel, in place */
};

/* What a sum through the library costs the host beyond the one-shot kernel (M1). */
static const double library_sum = 33e-6;

/* ---- bytes and floors ---- */

static double at(const pricing *p, call_slot slot)
{
    return p->values[slot];
}

static double host(const pricing *p, lin_host_kind kind)
{
    return p->profile->host[kind];
}

/* An operand is read in full through a view (S2). */
static double read_bytes(const pricing *p, const tensor_slots *t)
{
    const double own = at(p, t->bytes), whole = at(p, t->owner_bytes);
    const double seen = at(p, t->elements) * t->element_size;
    if (own > 0 || !has_rule(p, LIN_RULE_S2))
        return own;
    return seen < whole ? seen : whole;
}

moved_bytes lin_cost_bytes(const pricing *p, const call_shape *shape)
{
    moved_bytes sum = { 0, 0, 0, 0, 0 };
    for (uint32_t i = 0; i < shape->head.read_count; i++) {
        const double elements = at(p, shape->reads[i].elements);
        sum.read += read_bytes(p, &shape->reads[i]);
        if (elements > 0 && (sum.smallest_input <= 0 || elements < sum.smallest_input))
            sum.smallest_input = elements;
    }
    for (uint32_t i = 0; i < shape->head.write_count; i++) {
        const double elements = at(p, shape->writes[i].elements);
        sum.written += at(p, shape->writes[i].bytes);
        sum.largest_result = fmax(sum.largest_result, elements);
        if (shape->writes[i].element_size > sum.element_size)
            sum.element_size = shape->writes[i].element_size;
    }
    return sum;
}

/* A kernel's start-up and its bytes come one after the other (M2). */
static double floored(const pricing *p, double seconds, double floor_seconds)
{
    return has_rule(p, LIN_RULE_M2) ? seconds + floor_seconds : fmax(seconds, floor_seconds);
}

double lin_cost_stream(const pricing *p, double bytes, double kernels)
{
    return floored(p, bytes / p->profile->elementwise, kernels * p->profile->kernel);
}

/* Bound by the elements whose places are computed one by one, not by their bytes: the rate is of
 * elements of 2 bytes, and larger ones come as much faster, up to a stream's (R2). */
double lin_cost_spread(const pricing *p, double bytes, uint32_t element_size)
{
    enum { MEASURED_SIZE = 2 };
    const lin_profile *profile = p->profile;
    double rate = profile->broadcast;
    if (has_rule(p, LIN_RULE_R2) && element_size > MEASURED_SIZE)
        rate = fmax(rate, fmin(rate * element_size / MEASURED_SIZE, profile->elementwise));
    return floored(p, bytes / rate, profile->strided_kernel);
}

static double over_rate(double operations, double rate)
{
    return operations > 0 ? operations / rate : 0;
}

static double arithmetic_of(const pricing *p, const call_shape *shape)
{
    double sum = 0;
    for (uint32_t i = 0; i < shape->head.member_count; i++)
        sum += at(p, shape->members[i].arithmetic);
    return sum;
}

static void set_backward(call_price *out, double device, lin_spent spent, double host_seconds)
{
    out->backward = (lin_call){ host_seconds, device, spent };
    out->has_backward = true;
}

/* ---- products ---- */

static void price_products(const pricing *p, const call_shape *shape, call_price *out)
{
    const call_head *head = &shape->head;
    const moved_bytes bytes = lin_cost_bytes(p, shape);
    const double operations = arithmetic_of(p, shape);
    const double last = at(p, head->operands[0].last);
    const double rows = last > 0 ? at(p, head->operands[0].elements) / last : 0;
    double width = 0;
    for (uint32_t i = 0; i < head->member_count; i++)
        width += at(p, shape->members[i].out);
    const product x = {
        .dtype = (lin_rate_dtype)head->rate,
        .is_batched = (head->flags & CALL_BATCHED) != 0,
        .operations = operations,
        .bytes = bytes.read + bytes.written,
        .rows = rows,
        .out = width,
        .in = at(p, head->operands[1].last),
    };
    out->forward = lin_cost_product(p, &x);
    out->forward.host = host(p, (head->flags & CALL_BATCHED) ? LIN_HOST_BATCHED : LIN_HOST_PRODUCT);
    if (head->member_count > 1)
        out->forward.host += head->member_count * host(p, LIN_HOST_VIEW);
    const double back = lin_cost_product_gradients(p, &x, head->flags, out->forward.device);
    set_backward(out, back, out->forward.spent, host(p, LIN_HOST_PRODUCT_BACKWARD));
    out->model_operations = operations;
}

/* ---- attention ---- */

static void price_one_query(const pricing *p, const call_shape *shape, call_price *out)
{
    const call_head *head = &shape->head;
    const double cache = at(p, head->operands[1].bytes) + at(p, head->operands[2].bytes);
    const double measured = has_rule(p, LIN_RULE_R3) ? lin_measured_decode(p->profile, cache) : 0;
    const double seconds = cache / (measured > 0 ? measured : p->profile->decode);
    out->forward.device = fmax(seconds, ONE_QUERY_KERNELS * p->profile->kernel);
    out->forward.spent = LIN_SPENT_MEMORY;
    out->forward.host = 4 * host(p, LIN_HOST_VIEW) + 2 * host(p, LIN_HOST_BATCHED) +
                        2 * host(p, LIN_HOST_CAST) + 2 * host(p, LIN_HOST_ELEMENTWISE) +
                        host(p, LIN_HOST_MASK) + host(p, LIN_HOST_REDUCTION);
    set_backward(out, BACKWARD_FACTOR * seconds, LIN_SPENT_MEMORY, 8 * host(p, LIN_HOST_BACKWARD));
    out->model_operations = arithmetic_of(p, shape);
}

/* At this length and with these heads, where that was measured (R3). */
static double attention_rate(const pricing *p, const call_head *head, lin_attention_kind kind)
{
    const operand_slots *query = &head->operands[0];
    const lin_rate_dtype dtype = (lin_rate_dtype)head->rate;
    const double width = at(p, query->last), rows = width * at(p, query->before_last);
    const double heads = rows > 0 ? at(p, query->elements) / rows : 0;
    const double measured =
        has_rule(p, LIN_RULE_R3)
            ? lin_measured_attention(p->profile, dtype, kind, width,
                                     at(p, head->operands[1].before_last), heads)
            : 0;
    const double factor =
        has_rule(p, LIN_RULE_C4)
            ? lin_cost_length_factor(at(p, head->operands[1].before_last), dtype == LIN_RATE_F32)
            : 1;
    return measured > 0 ? measured : factor * lin_rate_attention(p->profile, dtype, kind, width);
}

static void price_fused(const pricing *p, const call_shape *shape, bool is_causal, call_price *out)
{
    const call_head *head = &shape->head;
    const bool is_masked = (head->flags & CALL_HAS_MASK) && !is_causal;
    const lin_attention_kind kind = is_masked ? LIN_ATTENTION_MASKED : LIN_ATTENTION_CAUSAL;
    const lin_attention_kind back_kind =
        is_masked ? LIN_ATTENTION_MASKED_BACKWARD : LIN_ATTENTION_CAUSAL_BACKWARD;
    const moved_bytes bytes = lin_cost_bytes(p, shape);
    const double work = arithmetic_of(p, shape) / (is_causal ? 2 : 1);
    const double compute = over_rate(work, attention_rate(p, head, kind));
    const double back = over_rate(work, attention_rate(p, head, back_kind));
    const double memory = (bytes.read + bytes.written) / p->profile->bandwidth;
    out->forward.device = fmax(fmax(compute, memory), p->profile->kernel);
    out->forward.spent = compute >= memory ? LIN_SPENT_COMPUTE : LIN_SPENT_MEMORY;
    out->forward.host = host(p, LIN_HOST_ATTENTION);
    set_backward(out, fmax(fmax(back, BACKWARD_FACTOR * memory), p->profile->kernel),
                 LIN_SPENT_COMPUTE, host(p, LIN_HOST_BACKWARD) + host(p, LIN_HOST_ATTENTION));
    out->model_operations = work;
}

static bool is_same(double a, double b)
{
    return !(a < b) && !(a > b);
}

static void price_attention(const pricing *p, const call_shape *shape, call_price *out)
{
    const call_head *head = &shape->head;
    const operand_slots *mask = &head->operands[3];
    const bool is_causal =
        (head->flags & CALL_CAUSAL_MASK) && is_same(at(p, mask->last), at(p, mask->before_last));
    if ((head->flags & CALL_HAS_MASK) && !is_causal &&
        is_same(at(p, head->operands[0].before_last), 1))
        price_one_query(p, shape, out);
    else
        price_fused(p, shape, is_causal, out);
}

/* ---- collectives: one process makes no call ---- */

static double exchange(const pricing *p, lin_collective kind, double bytes)
{
    return lin_link_seconds(p->profile, p->settings->rules, &p->links->of[LIN_GROUP_TENSOR], kind,
                            bytes);
}

static void price_shared(const pricing *p, const call_shape *shape, call_price *out)
{
    const double bytes = at(p, shape->head.operands[0].bytes);
    set_backward(out, exchange(p, LIN_COLLECTIVE_ALL_REDUCE, bytes), LIN_SPENT_COMMUNICATION,
                 p->profile->dispatch + host(p, LIN_HOST_BACKWARD));
}

static void price_all_reduce(const pricing *p, const call_shape *shape, call_price *out)
{
    const double bytes = lin_cost_bytes(p, shape).written;
    const bool is_large = bytes > ONE_SHOT_BYTES;
    out->forward.spent = LIN_SPENT_COMMUNICATION;
    out->forward.device = exchange(p, LIN_COLLECTIVE_ALL_REDUCE, bytes);
    out->forward.host = fmax(p->profile->reduce - host(p, LIN_HOST_ELEMENTWISE), 0);
    if (is_large && has_rule(p, LIN_RULE_S11))
        out->forward.device += 2 * bytes / p->profile->elementwise;
    if (is_large && has_rule(p, LIN_RULE_S12))
        out->forward.host += host(p, LIN_HOST_ELEMENTWISE) + 2 * p->profile->dispatch;
    if (is_large && has_rule(p, LIN_RULE_M1))
        out->forward.host += library_sum;
    set_backward(out, out->forward.device, LIN_SPENT_COMMUNICATION,
                 out->forward.host + host(p, LIN_HOST_BACKWARD));
}

/* Of one run of positions a sequence's exchanges are the identity (SP). */
static bool price_as_identity(const pricing *p, const call_shape *shape, call_price *out)
{
    if (!has_rule(p, LIN_RULE_SP) || lin_cost_bytes(p, shape).written > 0)
        return false;
    out->forward.host = host(p, LIN_HOST_VIEW);
    set_backward(out, 0, LIN_SPENT_MEMORY, host(p, LIN_HOST_BACKWARD));
    return true;
}

static void price_all_gather(const pricing *p, const call_shape *shape, call_price *out)
{
    const double bytes = lin_cost_bytes(p, shape).written;
    if (price_as_identity(p, shape, out))
        return;
    out->forward.spent = LIN_SPENT_COMMUNICATION;
    out->forward.device = exchange(p, LIN_COLLECTIVE_ALL_GATHER, bytes);
    out->forward.host = p->profile->dispatch;
    if (has_rule(p, LIN_RULE_S11)) {
        out->forward.device += 2 * bytes / p->profile->elementwise;
        out->forward.host = host(p, LIN_HOST_JOIN) + host(p, LIN_HOST_VIEW);
    }
    set_backward(out, out->forward.device, LIN_SPENT_COMMUNICATION,
                 out->forward.host + host(p, LIN_HOST_BACKWARD));
}

/* Going back it gathers what it scattered (SP). */
static void price_reduce_scatter(const pricing *p, const call_shape *shape, call_price *out)
{
    const operand_slots *whole = &shape->head.operands[0];
    const double bytes = at(p, whole->elements) * whole->element_size;
    if (price_as_identity(p, shape, out))
        return;
    out->forward =
        (lin_call){ p->profile->dispatch, exchange(p, LIN_COLLECTIVE_REDUCE_SCATTER, bytes),
                    LIN_SPENT_COMMUNICATION };
    set_backward(out, exchange(p, LIN_COLLECTIVE_ALL_GATHER, bytes), LIN_SPENT_COMMUNICATION,
                 p->profile->dispatch + host(p, LIN_HOST_BACKWARD));
}

/* ---- rows in memory ---- */

static void price_embedding(const pricing *p, const call_shape *shape, call_price *out)
{
    const double written = lin_cost_bytes(p, shape).written;
    const double table = at(p, shape->head.operands[1].bytes);
    out->forward.device = lin_cost_stream(p, 2 * written, 1);
    out->forward.host = host(p, LIN_HOST_GATHER);
    set_backward(out, lin_cost_stream(p, table + 3 * written, EMBEDDING_KERNELS), LIN_SPENT_MEMORY,
                 host(p, LIN_HOST_BACKWARD) + 2 * host(p, LIN_HOST_ELEMENTWISE));
}

static void price_write(const pricing *p, const call_shape *shape, call_price *out)
{
    const call_head *head = &shape->head;
    const operand_slots *update = &head->operands[1];
    double bytes = at(p, update->bytes);
    if (has_rule(p, LIN_RULE_S2) && bytes <= 0)
        bytes = at(p, update->elements) * update->element_size;
    /* The position's cast and offset are kernels too (M4). */
    out->forward.device =
        lin_cost_stream(p, 2 * bytes, 1) + (has_rule(p, LIN_RULE_M4) ? 2 * p->profile->kernel : 0);
    out->forward.host = host(p, LIN_HOST_WRITE);
    if (head->flags & CALL_TOKENS)
        out->forward.host += 2 * host(p, LIN_HOST_CAST) + 2 * host(p, LIN_HOST_VIEW);
    else
        out->forward.host += host(p, LIN_HOST_CAST) + host(p, LIN_HOST_VIEW) +
                             ((head->flags & CALL_INDEX_PUT) ? host(p, LIN_HOST_ELEMENTWISE) : 0);
}

static void price_norm(const pricing *p, const call_shape *shape, call_price *out)
{
    const moved_bytes bytes = lin_cost_bytes(p, shape);
    const double written = bytes.written;
    /* Beside the norm, kernels for its weight and its bias (S3). */
    int others = 1;
    if (has_rule(p, LIN_RULE_S3))
        others = shape->head.flags & CALL_WHOLE_NORM ? 0 : shape->head.flags & CALL_BIASED ? 2 : 1;
    out->forward.device =
        lin_cost_stream(p, 2 * written, 1) +
        (others > 0 ? others * lin_cost_spread(p, 2 * written, bytes.element_size) : 0);
    out->forward.host = host(p, LIN_HOST_NORMALIZATION) + others * host(p, LIN_HOST_ELEMENTWISE);
    set_backward(out, BACKWARD_FACTOR * out->forward.device, LIN_SPENT_MEMORY,
                 (1 + others) * host(p, LIN_HOST_BACKWARD));
}

/* ---- anything else that writes ---- */

/* An index notation that sums a product of two tensors over an axis both have: [M, K] by [N, K], or
 * by [K, N]. Its count says so: 2 K an element of the result. 0: it is none. */
static double summed_extent(const pricing *p, const call_shape *shape)
{
    const operand_slots *left = &shape->head.operands[0], *right = &shape->head.operands[1];
    const double extents[] = { at(p, left->last), at(p, left->before_last), at(p, right->last),
                               at(p, right->before_last) };
    const double elements = at(p, shape->head.operands[2].elements);
    const double operations = arithmetic_of(p, shape);
    for (int l = 0; l < 2 && elements > 0; l++)
        for (int r = 2; r < 4; r++)
            if (extents[l] > 1 && is_same(extents[l], extents[r]) &&
                is_same(operations, 2 * elements * extents[l]))
                return extents[l];
    return 0;
}

static double full_bytes(const pricing *p, const operand_slots *o)
{
    return at(p, o->elements) * o->element_size;
}

/* S1: it cannot run any other way than as a product. */
static bool price_as_product(const pricing *p, const call_shape *shape, call_price *out)
{
    const call_head *head = &shape->head;
    const double summed =
        has_rule(p, LIN_RULE_S1) && (head->flags & CALL_TWO_READS) ? summed_extent(p, shape) : 0;
    if (summed <= 0)
        return false;
    const operand_slots *result = &head->operands[2];
    const double width = at(p, result->last), operations = arithmetic_of(p, shape);
    const double bytes = full_bytes(p, &head->operands[0]) + full_bytes(p, &head->operands[1]) +
                         full_bytes(p, result);
    const product x = {
        .dtype = (lin_rate_dtype)head->rate,
        .operations = operations,
        .bytes = bytes,
        .rows = width > 0 ? at(p, result->elements) / width : 0,
        .out = width,
        .in = summed,
    };
    out->forward = lin_cost_product(p, &x);
    out->forward.host = host(p, LIN_HOST_PRODUCT);
    const double back = lin_cost_product_gradients(p, &x, 0, out->forward.device);
    set_backward(out, back, out->forward.spent, host(p, LIN_HOST_PRODUCT_BACKWARD));
    out->model_operations = operations;
    return true;
}

/* Eager code issues one call for each operation of an index notation (S5): as many as an element of
 * the result takes, unless it sums (it reads more than it writes). */
static double issued_calls(const pricing *p, const call_shape *shape, const moved_bytes *bytes)
{
    double calls = 1;
    if (!has_rule(p, LIN_RULE_S5) || !(shape->head.flags & CALL_INDEXED) ||
        bytes->largest_result <= 0)
        return calls;
    for (uint32_t i = 0; i < shape->head.read_count; i++)
        if (at(p, shape->reads[i].elements) > bytes->largest_result)
            return calls;
    calls = arithmetic_of(p, shape) / bytes->largest_result;
    return calls >= 1 && calls <= MAX_INDEXED_OPERATIONS ? calls : 1;
}

/* Calls after the first read what the one before wrote. */
static double written_device(const pricing *p, const call_shape *shape, const moved_bytes *bytes,
                             double calls)
{
    const bool is_spread =
        (shape->head.flags & CALL_STRIDED) ||
        (bytes->smallest_input > 0 && bytes->smallest_input < bytes->largest_result);
    const double moved = bytes->read + bytes->written;
    const double first =
        is_spread ? lin_cost_spread(p, moved, bytes->element_size) : lin_cost_stream(p, moved, 1);
    return calls > 1 ? first + (calls - 1) * lin_cost_stream(p, 2 * bytes->written, 1) : first;
}

static void price_written(const pricing *p, const call_shape *shape, call_price *out)
{
    const call_head *head = &shape->head;
    if (price_as_product(p, shape, out))
        return;
    const moved_bytes bytes = lin_cost_bytes(p, shape);
    const double calls = issued_calls(p, shape, &bytes);
    const lin_host_kind kind = (head->flags & CALL_CAST)     ? LIN_HOST_CAST
                               : (head->flags & CALL_CONCAT) ? LIN_HOST_JOIN
                                                             : LIN_HOST_ELEMENTWISE;
    out->forward.device = written_device(p, shape, &bytes, calls);
    out->forward.host = calls * host(p, kind);
    /* A native kernel runs no faster than its operations at the peak (S1). */
    const double operations = arithmetic_of(p, shape);
    const double compute =
        (head->flags & CALL_NATIVE) && has_rule(p, LIN_RULE_S1)
            ? over_rate(operations, lin_rate_peak(p->profile, (lin_rate_dtype)head->rate))
            : 0;
    if (compute > out->forward.device) {
        out->forward.device = compute;
        out->forward.spent = LIN_SPENT_COMPUTE;
        out->model_operations = operations;
    }
    set_backward(out, BACKWARD_FACTOR * out->forward.device, out->forward.spent,
                 calls * host(p, LIN_HOST_BACKWARD));
}

static void price_view(const pricing *p, const call_shape *shape, call_price *out)
{
    (void)shape;
    out->forward.host = host(p, LIN_HOST_VIEW);
    set_backward(out, 0, LIN_SPENT_MEMORY, host(p, LIN_HOST_BACKWARD));
}

/* ---- the table ---- */

typedef void (*price_fn)(const pricing *p, const call_shape *shape, call_price *out);

/* clang-format off */
static const price_fn price_rows[] = {
    [ROW_PRODUCT] = price_products,     [ROW_ATTENTION] = price_attention,
    [ROW_SHARED] = price_shared,        [ROW_ALL_REDUCE] = price_all_reduce,
    [ROW_ALL_GATHER] = price_all_gather, [ROW_LOSS] = lin_cost_price_loss,
    [ROW_REDUCE_SCATTER] = price_reduce_scatter,
    [ROW_EMBEDDING] = price_embedding,  [ROW_WRITE] = price_write,
    [ROW_NORM] = price_norm,            [ROW_ELEMENTWISE] = price_written,
    [ROW_VIEW] = price_view,
};
/* clang-format on */
_Static_assert(ARRAY_LEN(price_rows) == ROW_COUNT, "every row has a price");

void lin_cost_price_shape(const pricing *p, const call_shape *shape, call_price *out)
{
    *out = (call_price){ .forward.spent = LIN_SPENT_MEMORY };
    price_rows[shape->head.row](p, shape, out);
    lin_cost_add_exchange(p, shape, out);
    if (has_rule(p, LIN_RULE_S7) && (shape->head.flags & CALL_NO_GRADIENT))
        out->has_backward = false;
}
