/* SPDX-License-Identifier: MIT */

/*
 * Degrees of parallelism and what they must satisfy together.
 *
 *     devices = tensor * context * shards * replicas * pipeline
 *     experts are spread over some of context * shards * replicas: that product is a multiple of
 *     their degree
 */

#include "comm/comm.h"

#include <stdio.h>
#include <string.h>

static void at_least_one(int64_t *degree)
{
    if (*degree == 0)
        *degree = 1;
}

lin_parallel lin_parallel_normal(const lin_parallel *given)
{
    lin_parallel normal = *given;
    at_least_one(&normal.tensor);
    at_least_one(&normal.context);
    at_least_one(&normal.expert);
    at_least_one(&normal.shards);
    at_least_one(&normal.replicas);
    at_least_one(&normal.pipeline);
    if (normal.zero == 0)
        normal.zero = 3;
    return normal;
}

linnet_status lin_parallel_devices(const lin_parallel *normal, int64_t *out, linnet_error *err)
{
    int64_t devices = normal->tensor;
    if (!lin_mul_i64(devices, normal->context, &devices) ||
        !lin_mul_i64(devices, normal->shards, &devices) ||
        !lin_mul_i64(devices, normal->replicas, &devices) ||
        !lin_mul_i64(devices, normal->pipeline, &devices))
        return lin_fail(err, LINNET_ERROR_OVERFLOW,
                        "the product of the degrees is more than 2^63 - 1 devices");
    *out = devices;
    return LINNET_OK;
}

void lin_parallel_spread_experts(lin_parallel *normal)
{
    int64_t spread, common = normal->expert;
    if (!lin_mul_i64(normal->context, normal->shards, &spread))
        return;
    for (int64_t b = spread; b != 0;) {
        const int64_t rest = common % b;
        common = b;
        b = rest;
    }
    normal->replicas = normal->expert / common;
}

/* Degrees that a message lists, of those up to the largest that is tried. */
enum { MOST_LISTED = 16, MOST_TRIED = 1 << 20 };

/* "1, 2, 7 and 14" */
static void list_numbers(const int64_t *numbers, uint32_t count, char *out, uint64_t capacity)
{
    uint64_t length = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < count && length + 32 < capacity; i++) {
        const char *between = i == 0 ? "" : i + 1 == count ? " and " : ", ";
        const int written =
            snprintf(out + length, capacity - length, "%s%lld", between, (long long)numbers[i]);
        length += written > 0 ? (uint64_t)written : 0;
    }
}

void lin_comm_divisors(int64_t number, char *out, uint64_t capacity)
{
    int64_t found[MOST_LISTED];
    uint32_t count = 0;
    for (int64_t d = 1; d <= number && count < MOST_LISTED && d <= MOST_TRIED; d++)
        if (number % d == 0)
            found[count++] = d;
    list_numbers(found, count, out, capacity);
}

linnet_status lin_parallel_check(const lin_parallel *normal, linnet_error *err)
{
    char divisors[256];
    int64_t devices, spread;
    linnet_status status = lin_parallel_devices(normal, &devices, err);
    if (status != LINNET_OK)
        return status;
    if (normal->sequence && normal->tensor == 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "sequence parallelism splits along the tensor-parallel processes, and "
                        "there is one: give a tensor-parallel degree of 2 or more");
    spread = normal->context * normal->shards * normal->replicas;
    if (spread % normal->expert != 0) {
        lin_comm_divisors(spread, divisors, sizeof divisors);
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "experts are spread over context, shards and replicas, which are %lld "
                        "devices: an expert degree of %lld does not divide them; degrees that do "
                        "are %s",
                        (long long)spread, (long long)normal->expert, divisors);
    }
    if (normal->reshard > 0 && normal->shards % normal->reshard != 0) {
        lin_comm_divisors(normal->shards, divisors, sizeof divisors);
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "weights of %lld shards cannot be spread over groups of %lld: sizes that "
                        "divide them are %s",
                        (long long)normal->shards, (long long)normal->reshard, divisors);
    }
    return LINNET_OK;
}

int64_t lin_parallel_expert_shards(const lin_parallel *normal)
{
    if (normal->context % normal->expert == 0)
        return normal->shards;
    if (normal->expert % normal->context != 0)
        return 0;
    const int64_t over = normal->expert / normal->context;
    if (normal->shards % over == 0)
        return normal->shards / over;
    return over % normal->shards == 0 ? 1 : 0;
}

/* Expert degrees that leave whole shards. */
static void list_expert_degrees(const lin_parallel *normal, char *out, uint64_t capacity)
{
    const int64_t spread = normal->context * normal->shards * normal->replicas;
    lin_parallel one = *normal;
    int64_t found[MOST_LISTED];
    uint32_t count = 0;
    for (int64_t d = 1; d <= spread && count < MOST_LISTED && d <= MOST_TRIED; d++) {
        one.expert = d;
        if (spread % d == 0 && lin_parallel_expert_shards(&one) > 0)
            found[count++] = d;
    }
    list_numbers(found, count, out, capacity);
}

linnet_status lin_parallel_check_expert_shards(const lin_parallel *normal, linnet_error *err)
{
    const int64_t shards = lin_parallel_expert_shards(normal);
    char degrees[512];
    if (shards == 0) {
        list_expert_degrees(normal, degrees, sizeof degrees);
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "experts are spread over context, then shards, then replicas: a degree of "
                        "%lld over a context of %lld, %lld shards and %lld replicas leaves no "
                        "whole number of shards with the same experts; degrees that do are %s",
                        (long long)normal->expert, (long long)normal->context,
                        (long long)normal->shards, (long long)normal->replicas, degrees);
    }
    if (normal->reshard > 0 && shards > normal->reshard && shards % normal->reshard != 0) {
        lin_comm_divisors(shards, degrees, sizeof degrees);
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "the same experts are on %lld of %lld shards, so their weights cannot be "
                        "spread over groups of %lld: sizes that divide them are %s",
                        (long long)shards, (long long)normal->shards, (long long)normal->reshard,
                        degrees);
    }
    return LINNET_OK;
}

linnet_status lin_parallel_fill(lin_parallel *normal, int64_t devices, bool has_replicas,
                                linnet_error *err)
{
    lin_parallel one = *normal;
    int64_t product = 1;
    linnet_status status;
    if (!has_replicas)
        one.replicas = 1;
    if ((status = lin_parallel_devices(&one, &product, err)) != LINNET_OK)
        return status;
    if (devices < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a job has at least 1 device, not %lld",
                        (long long)devices);
    if (has_replicas ? product == devices : devices % product == 0) {
        one.replicas = has_replicas ? one.replicas : devices / product;
        *normal = one;
        return LINNET_OK;
    }
    if (has_replicas)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "the degrees make %lld devices, not %lld: give %lld devices, or other "
                        "degrees",
                        (long long)product, (long long)devices, (long long)product);
    const int64_t below = devices / product * product;
    if (below == 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "the degrees need a multiple of %lld devices, not %lld: the nearest is "
                        "%lld",
                        (long long)product, (long long)devices, (long long)product);
    return lin_fail(err, LINNET_ERROR_ARGUMENT,
                    "the degrees need a multiple of %lld devices, not %lld: the nearest are %lld "
                    "and %lld",
                    (long long)product, (long long)devices, (long long)below,
                    (long long)(below + product));
}
