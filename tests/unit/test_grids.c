/* SPDX-License-Identifier: MIT */

/* What the profiles' grids give back of the tables that they are condensed from: every row of a
 * device, those between the kept sizes included. */

#include "measured_table.h"

typedef struct grid_device {
    const char *gpu, *profile;
} grid_device;

static const grid_device devices[] = {
    { "A100-SXM-80GB", "a100-80gb" }, { "A100", "a100-80gb" },   { "H200-SXM", "h200" },
    { "B200-SXM", "b200" },           { "GB200", "gb200" },      { "L40S", "l40s" },
    { "V100", "v100-32gb" },          { "H100-SXM-80GB", NULL }, /* its own software's */
};

/* Seconds by the profile's grid; 0: it has none for the row. */
typedef double (*predict_fn)(const table *t, const lin_profile *profile);

static int64_t number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    int64_t value = 0;
    uint64_t digits = 0;
    if (at == NULL)
        return 0;
    at += strlen(word);
    while (at[digits] >= '0' && at[digits] <= '9')
        digits++;
    return lin_parse_i64(at, digits, &value) ? value : 0;
}

/* "m 8192 n 16384 k 8192" */
static double product_seconds(const table *t, const lin_profile *profile)
{
    const char *notes = field_of(t, "notes");
    const double rows = (double)number_after(notes, "m "), out = (double)number_after(notes, "n ");
    const double in = (double)number_after(notes, "k ");
    if (strcmp(field_of(t, "dtype"), "bf16") != 0)
        return 0;
    const double rate = lin_measured_product(profile, LIN_RATE_BF16, rows, out, in);
    return rate > 0 ? 2 * rows * out * in / rate : 0;
}

/* Causal prefill and one-query decode. */
static double attention_seconds(const table *t, const lin_profile *profile)
{
    const double width = (double)whole_of(t, "head_dim"), length = (double)whole_of(t, "seq");
    const double batch = (double)whole_of(t, "micro_batch");
    const double heads = (double)whole_of(t, "heads") * batch;
    if (strcmp(field_of(t, "measured_quantity"), "attention_decode_time") == 0) {
        const double bytes = 4 * (double)whole_of(t, "kv_heads") * width * length * batch;
        const double rate = lin_measured_decode(profile, bytes);
        return rate > 0 ? bytes / rate : 0;
    }
    const double rate =
        lin_measured_attention(profile, LIN_RATE_BF16, LIN_ATTENTION_CAUSAL, width, length, heads);
    return rate > 0 ? (4 * width + 6) * heads * length * length / 2 / rate : 0;
}

static double exchange_seconds(const table *t, const lin_profile *profile)
{
    static const struct {
        const char *word;
        lin_collective kind;
    } kinds[] = {
        { "all_gather", LIN_COLLECTIVE_ALL_GATHER },
        { "all_reduce", LIN_COLLECTIVE_ALL_REDUCE },
        { "all-reduce", LIN_COLLECTIVE_ALL_REDUCE },
        { "reduce_scatter", LIN_COLLECTIVE_REDUCE_SCATTER },
        { "alltoall", LIN_COLLECTIVE_ALL_TO_ALL },
    };
    const char *notes = field_of(t, "notes");
    const int64_t elements = number_after(notes, "message_size ");
    const double bytes = (double)(elements > 0 ? 2 * elements : number_after(notes, " of "));
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strncmp(notes, kinds[i].word, strlen(kinds[i].word)) == 0)
            return lin_measured_collective(profile, kinds[i].kind, (double)whole_of(t, "gpu_count"),
                                           bytes);
    fail_msg("no exchange: %s", notes);
    return 0;
}

/* The mean that a kept grid may be off by: weights of two sizes are not kept, lengths and heads are
 * few, and messages are every second power of two. */
static const struct grid_case {
    const char *name, *table;
    predict_fn predict;
    double most;
} grid_cases[] = {
    { "products by rows", "gemm-aiconfigurator.csv", product_seconds, 0.03 },
    { "attention and caches", "attention-aiconfigurator.csv", attention_seconds, 0.09 },
    { "exchanges", "nccl-aiconfigurator.csv", exchange_seconds, 0.04 },
    { "sums of replicas", "nccl-allreduce-vtrain.csv", exchange_seconds, 0.04 },
};

static const grid_device *device_of(const table *t)
{
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        if (strcmp(devices[i].gpu, field_of(t, "gpu")) == 0)
            return &devices[i];
    fail_msg("the table has a device `%s`", field_of(t, "gpu"));
    return NULL;
}

static void test_grid(void **state)
{
    const struct grid_case *c = *state;
    lin_profile *profiles[ARRAY_LEN(devices)] = { NULL };
    score all = { 0 };
    static table t;
    open_table(&t, c->table);
    if (t.file == NULL) {
        print_message("no table: set LINNET_SHARED\n");
        skip();
    }
    while (next_row(&t)) {
        const grid_device *device = device_of(&t);
        lin_profile **profile = &profiles[device - devices];
        if (device->profile == NULL)
            continue;
        if (*profile == NULL)
            *profile = open_profile(device->profile);
        const double seconds = c->predict(&t, *profile);
        if (seconds > 0)
            add_error(&all, seconds / (real_of(&t, "value") * 1e-6) - 1);
    }
    fclose(t.file);
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        lin_profile_free(profiles[i]);
    print_score(c->name, &all);
    assert_true(all.rows > 0);
    assert_true(all.sum / all.rows <= c->most);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_LEN(grid_cases)];
    for (size_t i = 0; i < ARRAY_LEN(grid_cases); i++)
        tests[i] = (struct CMUnitTest){ .name = grid_cases[i].name,
                                        .test_func = test_grid,
                                        .initial_state = (void *)(uintptr_t)&grid_cases[i] };
    return _cmocka_run_group_tests("grids", tests, ARRAY_LEN(grid_cases), NULL, NULL);
}
