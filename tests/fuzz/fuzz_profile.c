/* SPDX-License-Identifier: MIT */

/* A device profile. Whatever is accepted has rates that a division survives. */

#include "cost/cost.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rate(double rate)
{
    assert(isfinite(rate) && rate > 0);
}

static void check_profile(const lin_profile *p)
{
    static const double sizes[] = { 1, 100, 4096, 1e6 };
    assert(p->name[0] != '\0' && p->memory_bytes > 0 && lin_profile_budget(p) > 0);
    check_rate(p->bandwidth);
    check_rate(p->elementwise);
    check_rate(p->broadcast);
    check_rate(p->skinny);
    check_rate(p->decode);
    check_rate(p->link);
    assert(p->latency > 0 && p->reduce > 0 && p->kernel >= 0 && p->strided_kernel >= 0);
    for (int i = 0; i < LIN_HOST_COUNT; i++)
        assert(isfinite(p->host[i]) && p->host[i] >= 0);
    for (int dtype = 0; dtype < LIN_RATE_COUNT; dtype++) {
        check_rate(lin_rate_peak(p, (lin_rate_dtype)dtype));
        for (size_t o = 0; o < ARRAY_LEN(sizes); o++)
            for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
                assert(lin_rate_product(p, (lin_rate_dtype)dtype, sizes[o], sizes[i]) >= 0);
        for (int kind = 0; kind < LIN_ATTENTION_COUNT; kind++)
            check_rate(lin_rate_attention(p, (lin_rate_dtype)dtype, (lin_attention_kind)kind, 64));
    }
}

/* A grid may hold rates of any size, so that a value passes a double's range; it is never no
 * number, and never less than nothing. */
static void check_measured(const lin_profile *p)
{
    static const double sizes[] = { 1, 100, 4096, 1e6 };
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const double size = sizes[i];
        assert(lin_measured_decode(p, size) >= 0);
        for (int dtype = 0; dtype < LIN_RATE_COUNT; dtype++) {
            assert(lin_measured_product(p, (lin_rate_dtype)dtype, size, 128, size) >= 0);
            assert(lin_measured_attention(p, (lin_rate_dtype)dtype, LIN_ATTENTION_MASKED, 64, size,
                                          8) >= 0);
        }
        for (int kind = 0; kind < LIN_COLLECTIVE_COUNT; kind++)
            assert(lin_measured_collective(p, (lin_collective)kind, 4, size) >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + (size == 0));
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    lin_profile *profile = NULL;
    linnet_error err = { 0 };
    const linnet_status status =
        lin_profile_parse("x.json", text, size, &lin_default_allocator, &profile, &err);
    if (status == LINNET_OK) {
        check_profile(profile);
        check_measured(profile);
    } else {
        assert(err.code == status && err.message[0] != '\0' && profile == NULL);
    }
    lin_profile_free(profile);
    free(text);
    return 0;
}
