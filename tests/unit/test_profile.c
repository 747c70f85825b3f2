/* SPDX-License-Identifier: MIT */

/* Device profiles: hostile files, what stands in for absent keys, the built-in devices, rates. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/report.h"

#define HEAD "\"version\": 1, \"kind\": \"linnet-device\", \"name\": \"x\""
#define RATES "\"flops\": { \"f32\": 1e12 }, \"bandwidth\": 1e12"
#define WHOLE HEAD ", \"memory\": 1000, " RATES

static linnet_status parse(const char *text, lin_profile **out, linnet_error *err)
{
    return lin_profile_parse("x.json", text, strlen(text), &lin_default_allocator, out, err);
}

static lin_profile *open_profile(const char *name)
{
    lin_profile *profile = NULL;
    linnet_error err = { 0 };
    if (lin_profile_open(name, 1 << 20, &lin_default_allocator, &profile, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return profile;
}

/* ---- refusals: each names the key ---- */

/* Of version 2. */
#define MEASURED(text)                                                                        \
    "{\"version\": 2, \"kind\": \"linnet-device\", \"name\": \"x\", \"memory\": 1000, " RATES \
    ", \"measured\": " text "}"
#define DECODE(text) MEASURED("{ \"decode\": { \"source\": \"s\", " text " }}")

static const struct refusal {
    const char *name, *text, *says;
} refusals[] = {
    { "not an object", "[1]", "an array" },
    { "no JSON", "{", "" },
    { "text after it", "{" WHOLE "} x", "" },
    { "a key twice", "{" WHOLE ", \"memory\": 5}", "memory" },
    { "no kind", "{\"version\": 1}", "`kind`" },
    { "another kind", "{\"version\": 1, \"kind\": \"linnet-memory\"}", "`kind`" },
    { "no version", "{\"kind\": \"linnet-device\"}", "`version`" },
    { "another version", "{\"version\": 3, \"kind\": \"linnet-device\"}", "`version`" },
    { "a version that is a text", "{\"version\": \"1\", \"kind\": \"linnet-device\"}",
      "`version`" },
    { "no name", "{\"version\": 1, \"kind\": \"linnet-device\", \"memory\": 1, " RATES "}",
      "`name`" },
    { "an empty name",
      "{\"version\": 1, \"kind\": \"linnet-device\", \"name\": \"\", \"memory\": 1, " RATES "}",
      "`name`" },
    { "no memory", "{" HEAD ", " RATES "}", "`memory` is missing" },
    { "memory of 0", "{" HEAD ", \"memory\": 0, " RATES "}", "`memory`" },
    { "negative memory", "{" HEAD ", \"memory\": -1, " RATES "}", "`memory`" },
    { "half a byte of memory", "{" HEAD ", \"memory\": 1.5, " RATES "}", "`memory`" },
    { "memory past 2^63", "{" HEAD ", \"memory\": 9223372036854775808, " RATES "}", "" },
    { "no driver's memory", "{" WHOLE ", \"driver_memory\": 0}", "`driver_memory`" },
    { "no flops", "{" HEAD ", \"memory\": 1, \"bandwidth\": 1}", "`flops` is missing" },
    { "flops without f32",
      "{" HEAD ", \"memory\": 1, \"flops\": { \"bf16\": 1 }, \"bandwidth\": 1}",
      "`flops.f32` is missing" },
    { "flops of 0", "{" HEAD ", \"memory\": 1, \"flops\": { \"f32\": 0 }, \"bandwidth\": 1}",
      "`flops.f32` must be more than 0" },
    { "negative flops", "{" HEAD ", \"memory\": 1, \"flops\": { \"f32\": -1e9 }, \"bandwidth\": 1}",
      "`flops.f32` must not be negative" },
    { "infinite flops",
      "{" HEAD ", \"memory\": 1, \"flops\": { \"f32\": 1e999 }, \"bandwidth\": 1}", "" },
    { "flops of a dtype nobody has",
      "{" HEAD ", \"memory\": 1, \"flops\": { \"f32\": 1, \"bf15\": 1 }, \"bandwidth\": 1}",
      "did you mean `bf16`" },
    { "flops that are a number", "{" HEAD ", \"memory\": 1, \"flops\": 1, \"bandwidth\": 1}",
      "`flops` must be an object" },
    { "no bandwidth", "{" HEAD ", \"memory\": 1, \"flops\": { \"f32\": 1 }}",
      "`bandwidth` is missing" },
    { "bandwidth of 0", "{" HEAD ", \"memory\": 1, \"flops\": { \"f32\": 1 }, \"bandwidth\": 0}",
      "`bandwidth` must be more than 0" },
    { "bandwidth that is null",
      "{" HEAD ", \"memory\": 1, \"flops\": { \"f32\": 1 }, \"bandwidth\": null}",
      "`bandwidth` must be a number" },
    { "bandwidth that is no number",
      "{" HEAD ", \"memory\": 1, \"flops\": { \"f32\": 1 }, \"bandwidth\": NaN}", "" },
    { "elementwise of 0", "{" WHOLE ", \"elementwise\": 0}", "`elementwise`" },
    { "a negative link", "{" WHOLE ", \"link\": -1}", "`link` must not be negative" },
    { "a negative latency", "{" WHOLE ", \"latency\": -1e-6}", "`latency`" },
    { "a negative floor", "{" WHOLE ", \"kernel\": -1e-6}", "`kernel`" },
    { "a misspelt key", "{" WHOLE ", \"bandwith\": 1}", "did you mean `bandwidth`" },
    { "a key far from any", "{" WHOLE ", \"zzzzzzzz\": 1}", "`zzzzzzzz` is no key" },
    { "a host's time that is negative", "{" WHOLE ", \"host\": { \"view\": -1 }}", "`host.view`" },
    { "a host kind nobody has", "{" WHOLE ", \"host\": { \"views\": 1 }}", "did you mean `view`" },
    { "products that are a list", "{" WHOLE ", \"products\": []}", "`products`" },
    { "products of a dtype nobody has", "{" WHOLE ", \"products\": { \"i8\": [] }}", "`i8`" },
    { "a grid without points", "{" WHOLE ", \"products\": { \"f32\": [] }}", "`products.f32`" },
    { "a point of two numbers", "{" WHOLE ", \"products\": { \"f32\": [[1, 2]] }}",
      "[out, in, rate]" },
    { "a point of no size", "{" WHOLE ", \"products\": { \"f32\": [[0, 2, 3]] }}",
      "`products.f32` must be more than 0" },
    { "a point without a rate", "{" WHOLE ", \"products\": { \"f32\": [[1, 2, 0]] }}",
      "`products.f32` must be more than 0" },
    { "a point twice", "{" WHOLE ", \"products\": { \"f32\": [[1, 2, 3], [1, 2, 4]] }}", "twice" },
    { "attention that is a number", "{" WHOLE ", \"attention\": 1}", "`attention`" },
    { "an attention kind nobody has", "{" WHOLE ", \"attention\": { \"full/64\": 1 }}",
      "`attention.full/64`" },
    { "a width of 0", "{" WHOLE ", \"attention\": { \"causal/0\": 1 }}", "`attention.causal/0`" },
    { "a width that is none", "{" WHOLE ", \"attention\": { \"causal/x\": 1 }}",
      "`attention.causal/x`" },
    { "a width of another dtype", "{" WHOLE ", \"attention\": { \"causal/64/f64\": 1 }}",
      "`attention.causal/64/f64`" },
    { "attention at no rate", "{" WHOLE ", \"attention\": { \"causal/64\": 0 }}",
      "`attention.causal/64`" },
    { "a base nobody has",
      "{" WHOLE ", \"base\": \"h900\", \"sheet\": { \"bf16\": 1, \"f32\": 1, \"bandwidth\": 1 }}",
      "`base`" },
    { "a base that is scaled itself",
      "{" WHOLE ", \"base\": \"h200\", \"sheet\": { \"bf16\": 1, \"f32\": 1, \"bandwidth\": 1 }}",
      "`base`" },
    { "a base and no sheet", "{" WHOLE ", \"base\": \"h100-80gb\"}", "`sheet.bf16` is missing" },
    { "grids in a file of version 1", "{" WHOLE ", \"measured\": {}}",
      "`measured` is of version 2" },
    { "grids that are a list", MEASURED("[]"), "`measured` must be an object" },
    { "a grid nobody has", MEASURED("{ \"product\": {} }"), "did you mean `products`" },
    { "a grid that is a number", MEASURED("{ \"decode\": 1 }"), "`measured.decode` must be" },
    { "a grid without a source", MEASURED("{ \"decode\": { \"bytes\": [1], \"rates\": [1] }}"),
      "`measured.decode.source`" },
    { "a grid without an axis", DECODE("\"rates\": [1]"), "`measured.decode.bytes` is missing" },
    { "a grid without values", DECODE("\"bytes\": [1]"), "`measured.decode.rates` is missing" },
    { "an axis nobody has", DECODE("\"byte\": [1], \"rates\": [1]"), "did you mean `bytes`" },
    { "an axis without points", DECODE("\"bytes\": [], \"rates\": [1]"),
      "`measured.decode.bytes` must be a list" },
    { "an axis that descends", DECODE("\"bytes\": [2, 1], \"rates\": [1, 1]"), "must ascend" },
    { "a point twice on an axis", DECODE("\"bytes\": [2, 2], \"rates\": [1, 1]"), "must ascend" },
    { "a point of 0", DECODE("\"bytes\": [0, 2], \"rates\": [1, 1]"), "must be more than 0" },
    { "a value of 0", DECODE("\"bytes\": [1, 2], \"rates\": [1, 0]"),
      "`measured.decode.rates` must be more than 0" },
    { "a negative value", DECODE("\"bytes\": [1, 2], \"rates\": [1, -1]"), "negative" },
    { "a value that is a text", DECODE("\"bytes\": [1], \"rates\": [\"1\"]"), "a number" },
    { "an infinite value", DECODE("\"bytes\": [1], \"rates\": [1e999]"), "" },
    { "a corner without a value", DECODE("\"bytes\": [1, 2], \"rates\": [1]"), "every corner" },
    { "more values than corners", DECODE("\"bytes\": [1], \"rates\": [1, 2]"), "every corner" },
    { "measured products of a dtype nobody has", MEASURED("{ \"products\": { \"fp8\": {} }}"),
      "`fp8`" },
    { "measured attention of any width", MEASURED("{ \"attention\": { \"causal\": {} }}"),
      "KIND/WIDTH" },
    { "an exchange nobody has", MEASURED("{ \"collectives\": { \"reduce\": {} }}"), "`reduce`" },
    { "a seen peak of 0", MEASURED("{ \"flops\": { \"source\": \"s\", \"f32\": 0 }}"),
      "`measured.flops.f32` must be more than 0" },
    { "a seen peak without a source", MEASURED("{ \"flops\": { \"f32\": 1 }}"),
      "`measured.flops.source`" },
    { "a seen peak of a dtype nobody has",
      MEASURED("{ \"flops\": { \"source\": \"s\", \"f33\": 1 }}"), "did you mean `f32`" },
    { "a sheet of 0", "{" WHOLE ", \"sheet\": { \"bf16\": 0 }}", "`sheet.bf16`" },
};

static void test_refusal(void **state)
{
    const struct refusal *c = *state;
    lin_profile *profile = NULL;
    linnet_error err = { 0 };
    assert_int_equal(parse(c->text, &profile, &err), LINNET_ERROR_FORMAT);
    assert_null(profile);
    assert_int_equal(err.code, LINNET_ERROR_FORMAT);
    assert_string_equal(err.source, "x.json");
    if (strstr(err.message, c->says) == NULL)
        fail_msg("`%s` does not say `%s`", err.message, c->says);
}

static void test_many_points(void **state)
{
    enum { POINTS = 70, SIZE = 1 << 14 };
    static char text[SIZE];
    lin_profile *profile = NULL;
    linnet_error err = { 0 };
    (void)state;
    int at = snprintf(text, SIZE, "{" WHOLE ", \"products\": { \"f32\": [[1, 1, 1]");
    for (int i = 2; i < POINTS; i++)
        at += snprintf(text + at, (size_t)(SIZE - at), ", [%d, 1, 1]", i);
    snprintf(text + at, (size_t)(SIZE - at), "]}}");
    assert_int_equal(parse(text, &profile, &err), LINNET_ERROR_FORMAT);
    assert_non_null(strstr(err.message, "64"));
}

/* ---- what stands in ---- */

static void assert_close(double found, double expected)
{
    if (fabs(found - expected) > 1e-9 * fabs(expected))
        fail_msg("%.17g instead of %.17g", found, expected);
}

static void test_fallbacks(void **state)
{
    lin_profile *p = NULL;
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(parse("{" HEAD ", \"memory\": 1000, \"flops\": { \"f32\": 2e12 }, "
                           "\"bandwidth\": 1e12, \"dispatch\": 5e-6, \"kernel\": 2e-6, "
                           "\"link\": 0, \"latency\": null, \"host\": { \"view\": 1e-6 }}",
                           &p, &err),
                     LINNET_OK);
    assert_int_equal(p->memory_bytes, 1000);
    assert_int_equal(lin_profile_budget(p), 1000);
    assert_close(p->elementwise, 1e12);
    assert_close(p->broadcast, 1e12);
    assert_close(p->skinny, 1e12);
    assert_close(p->decode, 1e12);
    assert_close(p->link, 286.1e9);
    assert_close(p->latency, 17.4e-6);
    assert_close(p->reduce, 20.6e-6);
    assert_close(p->kernel, 2e-6);
    assert_close(p->strided_kernel, 2e-6);
    assert_close(p->host[LIN_HOST_VIEW], 1e-6);
    assert_close(p->host[LIN_HOST_PRODUCT], 5e-6);
    assert_close(lin_rate_peak(p, LIN_RATE_BF16), 2e12);
    assert_close(lin_rate_product(p, LIN_RATE_BF16, 4096, 4096), 2e12);
    assert_close(lin_rate_attention(p, LIN_RATE_F16, LIN_ATTENTION_MASKED, 64), 2e12);
    lin_profile_free(p);
}

static void test_broadcast_follows(void **state)
{
    lin_profile *p = NULL;
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(parse("{" WHOLE ", \"elementwise\": 5e11}", &p, &err), LINNET_OK);
    assert_close(p->broadcast, 5e11);
    assert_close(p->decode, 1e12);
    lin_profile_free(p);
}

/* A scaled device's own keys win over the scaled ones. */
static void test_own_keys_win(void **state)
{
    lin_profile *p = NULL;
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(
        parse("{" HEAD
              ", \"memory\": 1000, \"base\": \"h100-80gb\", \"sheet\": { \"bf16\": 989.4e12, "
              "\"f32\": 66.9e12, \"bandwidth\": 6.7e12 }, \"skinny\": 1e12, "
              "\"host\": { \"view\": 9e-6 }}",
              &p, &err),
        LINNET_OK);
    assert_close(p->flops[LIN_RATE_BF16], 749.3e12);
    assert_close(p->bandwidth, 2 * 3.037e12);
    assert_close(p->skinny, 1e12);
    assert_close(p->host[LIN_HOST_VIEW], 9e-6);
    assert_close(p->host[LIN_HOST_CAST], 7.17e-6);
    assert_close(p->link, 286.1e9);
    lin_profile_free(p);
}

/* ---- rates ---- */

static const struct rate_case {
    const char *name;
    lin_rate_dtype dtype;
    double out, in, rate;
} rate_cases[] = {
    { "a measured point", LIN_RATE_BF16, 1024, 4096, 723.5e12 },
    { "f16 uses bf16's grid", LIN_RATE_F16, 1024, 4096, 723.5e12 },
    { "never above the peak", LIN_RATE_BF16, 4096, 4096, 749.3e12 },
    { "beyond the last points", LIN_RATE_BF16, 1 << 20, 1 << 20, 729.4e12 },
    { "below the first: in proportion", LIN_RATE_BF16, 128, 256, 56.2e12 },
    { "below both", LIN_RATE_F32, 128, 64, 27.2e12 / 8 },
    { "half way on a logarithmic scale", LIN_RATE_F32, 512, 256, (27.2e12 + 35.7e12) / 2 },
    { "in the middle of four", LIN_RATE_F32, 512, 512,
      (27.2e12 + 35.7e12 + 38.5e12 + 40.1e12) / 4 },
};

static void test_rate(void **state)
{
    const struct rate_case *c = *state;
    lin_profile *p = open_profile("h100-80gb");
    assert_close(lin_rate_product(p, c->dtype, c->out, c->in), c->rate);
    lin_profile_free(p);
}

static void test_attention_rates(void **state)
{
    lin_profile *p = open_profile("h100-80gb");
    (void)state;
    assert_close(lin_rate_attention(p, LIN_RATE_BF16, LIN_ATTENTION_CAUSAL, 64), 305.18e12);
    assert_close(lin_rate_attention(p, LIN_RATE_BF16, LIN_ATTENTION_CAUSAL, 80), 305.18e12);
    assert_close(lin_rate_attention(p, LIN_RATE_F16, LIN_ATTENTION_CAUSAL_BACKWARD, 96), 142.55e12);
    assert_close(lin_rate_attention(p, LIN_RATE_F32, LIN_ATTENTION_MASKED, 256), 33.73e12);
    lin_profile_free(p);
}

static void test_missing_corner(void **state)
{
    lin_profile *p = NULL;
    linnet_error err = { 0 };
    (void)state;
    assert_int_equal(parse("{" HEAD
                           ", \"memory\": 1, \"flops\": { \"f32\": 10 }, \"bandwidth\": 1, "
                           "\"products\": { \"f32\": [[1, 1, 2], [4, 1, 4], [1, 4, 6]] }, "
                           "\"attention\": { \"causal\": 7 }}",
                           &p, &err),
                     LINNET_OK);
    assert_close(lin_rate_product(p, LIN_RATE_F32, 4, 4), 10);
    assert_close(lin_rate_product(p, LIN_RATE_F32, 2, 2), (2.0 + 4 + 6 + 10) / 4);
    assert_close(lin_rate_attention(p, LIN_RATE_BF16, LIN_ATTENTION_CAUSAL, 64), 7);
    assert_close(lin_rate_attention(p, LIN_RATE_BF16, LIN_ATTENTION_MASKED, 64), 10);
    lin_profile_free(p);
}

/* ---- measured grids ---- */

static const char measured_text[] = MEASURED(
    "{ \"products\": { \"bf16\": { \"source\": \"s\", \"rows\": [1, 16], \"out\": [1024, 4096],"
    " \"in\": [1024], \"rates\": [1, 4, 16, 64] }},"
    " \"attention\": { \"causal/128\": { \"source\": \"s\", \"length\": [512, 2048],"
    " \"heads\": [16], \"rates\": [10, 40] }},"
    " \"decode\": { \"source\": \"s\", \"bytes\": [100, 10000], \"rates\": [1, 100] },"
    " \"collectives\": { \"all_reduce\": { \"source\": \"s\", \"processes\": [2, 8],"
    " \"bytes\": [100, 10000], \"seconds\": [1, 100, 4, 400] }},"
    " \"flops\": { \"source\": \"s\", \"f32\": 5 }}");

static lin_profile *open_measured(void)
{
    lin_profile *profile = NULL;
    linnet_error err = { 0 };
    if (parse(measured_text, &profile, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return profile;
}

/* The dtype without rates by weight keeps its rate for narrower weights. */
static void test_measured_products(void **state)
{
    lin_profile *p = open_measured();
    (void)state;
    assert_true(lin_measured_any(&p->measured));
    assert_close(lin_measured_product(p, LIN_RATE_BF16, 1, 1024, 1024), 1);
    assert_close(lin_measured_product(p, LIN_RATE_BF16, 16, 4096, 1024), 64);
    assert_close(lin_measured_product(p, LIN_RATE_F16, 4, 1024, 1024), 4);
    assert_close(lin_measured_product(p, LIN_RATE_BF16, 1, 2048, 1024), 2);
    assert_close(lin_measured_product(p, LIN_RATE_BF16, 64, 8192, 9000), 64);
    assert_close(lin_measured_product(p, LIN_RATE_BF16, 0.5, 1024, 1024), 0.5);
    assert_close(lin_measured_product(p, LIN_RATE_BF16, 1, 256, 256), 1);
    assert_true(lin_measured_product(p, LIN_RATE_F32, 16, 1024, 1024) <= 0);
    assert_true(lin_measured_product(p, LIN_RATE_BF16, 0, 1024, 1024) <= 0);
    assert_close(p->measured.flops[LIN_RATE_F32], 5);
    lin_profile_free(p);
}

/* Weights narrower than any that was measured: as much slower as the rates by weight have it. */
static void test_narrow_products(void **state)
{
    lin_profile *p = open_profile("a100-80gb");
    (void)state;
    assert_close(lin_measured_product(p, LIN_RATE_BF16, 4096, 256, 1024),
                 lin_measured_product(p, LIN_RATE_BF16, 4096, 1024, 1024) * 392.0 / 543.7);
    lin_profile_free(p);
}

static void test_measured_others(void **state)
{
    lin_profile *p = open_measured();
    const lin_attention_kind causal = LIN_ATTENTION_CAUSAL, back = LIN_ATTENTION_CAUSAL_BACKWARD;
    (void)state;
    assert_close(lin_measured_attention(p, LIN_RATE_BF16, causal, 128, 1024, 16), 20);
    assert_close(lin_measured_attention(p, LIN_RATE_BF16, causal, 64, 8192, 64), 40);
    assert_close(lin_measured_attention(p, LIN_RATE_BF16, back, 128, 256, 16), 5);
    assert_true(lin_measured_attention(p, LIN_RATE_F32, causal, 128, 1024, 16) <= 0);
    assert_close(lin_measured_decode(p, 1000), 10);
    assert_close(lin_measured_decode(p, 50), 0.5);
    assert_close(lin_measured_decode(p, 1e6), 100);
    lin_profile_free(p);
    p = open_profile("h100-80gb");
    assert_true(lin_measured_decode(p, 1000) <= 0);
    lin_profile_free(p);
}

/* Between groups on logarithms; a larger group by the share that each process sends. */
static void test_measured_collectives(void **state)
{
    const lin_collective sum = LIN_COLLECTIVE_ALL_REDUCE, gather = LIN_COLLECTIVE_ALL_GATHER;
    lin_profile *p = open_measured();
    (void)state;
    assert_close(lin_measured_collective(p, sum, 2, 1000), 10);
    assert_close(lin_measured_collective(p, sum, 4, 100), 2);
    assert_close(lin_measured_collective(p, sum, 2, 1), 1);
    assert_close(lin_measured_collective(p, sum, 2, 1e6), 1e4);
    assert_close(lin_measured_collective(p, sum, 16, 100), 4 * (15.0 / 16) / (7.0 / 8));
    assert_true(lin_measured_collective(p, gather, 2, 1000) <= 0);
    assert_true(lin_measured_collective(p, sum, 1, 1000) <= 0);
    assert_close(lin_collective_seconds(p, LIN_RULE_R3, sum, 2, 1000), 10);
    assert_close(lin_collective_seconds(p, 0, sum, 2, 1000), p->latency + 1000 / p->link);
    assert_close(lin_collective_seconds(p, LIN_RULE_R3, gather, 2, 1000),
                 p->latency + 500 / p->link);
    lin_profile_free(p);
}

/* ---- built-in devices ---- */

#define MIB ((int64_t)1 << 20)

/* tracing.md 15.3: figures that scaling has to give. */
static const struct scaled_case {
    const char *name;
    int64_t memory;
    double bf16, f32, bandwidth, link; /* the sheets' */
} scaled_cases[] = {
    { "h200", 143771 * MIB, 989.4e12, 66.9e12, 4.8e12, 450e9 },
    { "a100-80gb", 81920 * MIB, 312e12, 19.5e12, 2.039e12, 300e9 },
    { "a100-40gb", 40960 * MIB, 312e12, 19.5e12, 1.555e12, 300e9 },
    { "l4", 23034 * MIB, 121e12, 30.3e12, 300e9, 32e9 },
};

static void test_scaled(void **state)
{
    const struct scaled_case *c = *state;
    lin_profile *p = open_profile(c->name), *h100 = open_profile("h100-80gb");
    const double half = c->bf16 / 989.4e12, full = c->f32 / 66.9e12;
    const double bytes = c->bandwidth / 3.35e12;
    assert_int_equal(p->memory_bytes, c->memory);
    assert_close(p->flops[LIN_RATE_BF16], 749.3e12 * half);
    assert_close(p->flops[LIN_RATE_F16], 749.3e12 * half);
    assert_close(p->flops[LIN_RATE_F32], 41.17e12 * full);
    assert_close(p->bandwidth, 3.037e12 * bytes);
    assert_close(p->elementwise, 3.033e12 * bytes);
    assert_close(p->broadcast, 1.415e12 * bytes);
    assert_close(p->skinny, 2.725e12 * bytes);
    assert_close(p->decode, 1.946e12 * bytes);
    assert_close(p->link, 286.1e9 * c->link / 450e9);
    assert_close(p->latency, 17.4e-6);
    assert_close(lin_rate_product(p, LIN_RATE_BF16, 1024, 1024), 543.7e12 * half);
    assert_close(lin_rate_product(p, LIN_RATE_F32, 1024, 1024), 40.1e12 * full);
    assert_close(lin_rate_attention(p, LIN_RATE_BF16, LIN_ATTENTION_MASKED, 128), 272.78e12 * half);
    assert_close(lin_rate_attention(p, LIN_RATE_F32, LIN_ATTENTION_MASKED, 64), 24.63e12 * full);
    for (int i = 0; i < LIN_HOST_COUNT; i++)
        assert_close(p->host[i], h100->host[i]);
    lin_profile_free(p);
    lin_profile_free(h100);
}

/* Every one opens, says where it is from, and is read back from its own JSON as the same. */
static void test_builtin(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < lin_profile_count(); i++) {
        lin_profile *p = open_profile(lin_profile_name(i)), *again = NULL;
        lin_text first, second;
        linnet_error err = { 0 };
        assert_string_equal(p->name, lin_profile_name(i));
        assert_true(p->title[0] != '\0' && p->source[0] != '\0');
        assert_true(p->driver_bytes <= p->memory_bytes);
        assert_true(p->driver_bytes == 0 || p->driver_bytes > p->memory_bytes / 10 * 9);
        lin_text_init(&first, &lin_default_allocator);
        lin_text_init(&second, &lin_default_allocator);
        lin_report_device_json(&first, p);
        if (parse(lin_text_data(&first), &again, &err) != LINNET_OK)
            fail_msg("%s: %s", p->name, err.message);
        lin_report_device_json(&second, again);
        assert_string_equal(lin_text_data(&first), lin_text_data(&second));
        lin_text_free(&first);
        lin_text_free(&second);
        lin_profile_free(again);
        lin_profile_free(p);
    }
}

static const struct name_case {
    const char *name, *word;
    linnet_status status;
    const char *says;
} name_cases[] = {
    { "a name nearly right", "h100-80g", LINNET_ERROR_NOT_FOUND, "did you mean `h100-80gb`" },
    { "a name far from any", "abacus", LINNET_ERROR_NOT_FOUND, "no device is called `abacus`" },
    { "this machine", "local", LINNET_ERROR_UNSUPPORTED, "measured" },
    { "a path that is not there", "./nowhere.json", LINNET_ERROR_FILE, "nowhere.json" },
    { "a file's name that is not there", "nowhere.json", LINNET_ERROR_FILE, "nowhere.json" },
    { "a folder", "/tmp/", LINNET_ERROR_FILE, "" },
    { "an empty name", "", LINNET_ERROR_NOT_FOUND, "" },
};

static void test_name(void **state)
{
    const struct name_case *c = *state;
    lin_profile *profile = NULL;
    linnet_error err = { 0 };
    assert_int_equal(lin_profile_open(c->word, 1 << 20, &lin_default_allocator, &profile, &err),
                     c->status);
    assert_null(profile);
    if (strstr(err.message, c->says) == NULL)
        fail_msg("`%s` does not say `%s`", err.message, c->says);
}

/* ---- every allocation fails once ---- */

typedef struct failing {
    uint64_t calls, fail_at;
    int64_t live;
} failing;

static void *fail_once(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    failing *f = user;
    if (new_size == 0) {
        f->live -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (f->calls++ == f->fail_at)
        return NULL;
    (void)old_size;
    void *out = realloc(ptr, new_size);
    f->live += ptr == NULL && out != NULL;
    return out;
}

static void test_no_memory(void **state)
{
    linnet_status status = LINNET_ERROR_NO_MEMORY;
    (void)state;
    for (uint64_t n = 0; status != LINNET_OK; n++) {
        failing f = { 0, n, 0 };
        const lin_allocator allocator = { fail_once, &f };
        lin_profile *profile = NULL;
        linnet_error err = { 0 };
        status = lin_profile_open("a100-80gb", 1 << 20, &allocator, &profile, &err);
        assert_true(status == LINNET_OK || status == LINNET_ERROR_NO_MEMORY);
        lin_profile_free(profile);
        assert_int_equal(f.live, 0);
    }
}

#define TEST_ROW(rows, function, i)                      \
    (struct CMUnitTest)                                  \
    {                                                    \
        .name = (rows)[i].name, .test_func = function,   \
        .initial_state = (void *)(uintptr_t) & (rows)[i] \
    }

int main(void)
{
    static const struct CMUnitTest singles[] = {
        { .name = "more points than an axis has", .test_func = test_many_points },
        { .name = "what stands in for absent keys", .test_func = test_fallbacks },
        { .name = "broadcast stands on elementwise", .test_func = test_broadcast_follows },
        { .name = "a scaled profile's own keys win", .test_func = test_own_keys_win },
        { .name = "attention's widths", .test_func = test_attention_rates },
        { .name = "a corner that was not measured", .test_func = test_missing_corner },
        { .name = "products by rows", .test_func = test_measured_products },
        { .name = "products narrower than any measured", .test_func = test_narrow_products },
        { .name = "attention and caches by size", .test_func = test_measured_others },
        { .name = "exchanges by processes and bytes", .test_func = test_measured_collectives },
        { .name = "every built-in device", .test_func = test_builtin },
        { .name = "every allocation fails once", .test_func = test_no_memory },
    };
    enum {
        REFUSALS = ARRAY_LEN(refusals),
        RATES_COUNT = ARRAY_LEN(rate_cases),
        SCALED = ARRAY_LEN(scaled_cases),
        NAMES = ARRAY_LEN(name_cases),
        SINGLES = ARRAY_LEN(singles)
    };
    struct CMUnitTest tests[REFUSALS + RATES_COUNT + SCALED + NAMES + SINGLES];
    size_t count = 0;
    for (size_t i = 0; i < REFUSALS; i++)
        tests[count++] = TEST_ROW(refusals, test_refusal, i);
    for (size_t i = 0; i < RATES_COUNT; i++)
        tests[count++] = TEST_ROW(rate_cases, test_rate, i);
    for (size_t i = 0; i < SCALED; i++)
        tests[count++] = TEST_ROW(scaled_cases, test_scaled, i);
    for (size_t i = 0; i < NAMES; i++)
        tests[count++] = TEST_ROW(name_cases, test_name, i);
    for (size_t i = 0; i < SINGLES; i++)
        tests[count++] = singles[i];
    return _cmocka_run_group_tests("profile", tests, count, NULL, NULL);
}
