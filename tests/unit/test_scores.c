/* SPDX-License-Identifier: MIT */

/*
 * Other people's steps, predicted from a device's one table of rates and scored beside the figures
 * that were published for them: GPTs in Megatron-DeepSpeed (vTrain, 8.37 % mean) and six models in
 * eager PyTorch on nine kinds of GPU (NeuSight, 10.0 %). A row is a program of tests/scores at the
 * row's sizes, timed as `linnet time` does it.
 */

#include "score_rows.h"

/* ---- vTrain ---- */

/*
 * What the source leaves open, and what its figures say:
 *
 *     which A100    40 GB: the optimizer's 28 bytes a parameter take 20.2 ps at every size, which
 * is 1.39 TB/s, 0.9 of its data sheet and 0.68 of the 80 GB card's recomputation none: from hidden
 * 1024 to 2048 a layer of 4,096 more tokens takes 4.48 ms more. Its products alone are 978 GFLOP in
 * three passes, 1,304 in four: with recomputation the device would pass 290 TFLOP/s of 312 and have
 * no time for the rest, which takes 0.8 ms vocabulary    50257 as it is in one process, and padded
 * to 128 a process in several: the head runs at 83 TFLOP/s in one, at 250 in two
 */
static const double published_vtrain = 0.0837, published_neusight = 0.10;

typedef struct vtrain_row {
    int64_t hidden, layers, heads, vocabulary, length;
    int64_t tensor, data, pipeline, micro_batch, batch;
    double seconds;
} vtrain_row;

static vtrain_row read_vtrain(const table *t)
{
    return (vtrain_row){
        .hidden = whole_of(t, "hidden"),
        .layers = whole_of(t, "layers"),
        .heads = whole_of(t, "heads"),
        .vocabulary = whole_of(t, "vocab"),
        .length = whole_of(t, "seq"),
        .tensor = whole_of(t, "tp"),
        .data = whole_of(t, "dp"),
        .pipeline = whole_of(t, "pp"),
        .micro_batch = whole_of(t, "micro_batch"),
        .batch = whole_of(t, "global_batch"),
        .seconds = real_of(t, "value") * 1e-3,
    };
}

/* "blocks.6,blocks.12": as many layers to each stage. */
static void name_stages(const vtrain_row *r, char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (int64_t i = 1; i < r->pipeline; i++)
        at += (size_t)snprintf(out + at, size - at, "%sblocks.%lld", i > 1 ? "," : "",
                               (long long)(i * r->layers / r->pipeline));
}

static double predict_vtrain(const vtrain_row *r, const lin_source *source,
                             const lin_profile *profile)
{
    enum { PADDED = 128 };
    char stages[64];
    const int64_t multiple = r->tensor > 1 ? PADDED * r->tensor : 1;
    const int64_t words = (r->vocabulary + multiple - 1) / multiple * multiple;
    const int64_t passes = r->batch / r->data / r->micro_batch;
    const lin_setting binds[] = {
        { .name = "Vocab", .integer = words },      { .name = "H", .integer = r->hidden },
        { .name = "Heads", .integer = r->heads },   { .name = "Layers", .integer = r->layers },
        { .name = "Shards", .integer = r->tensor },
    };
    score_run run = {
        .source = source,
        .profile = profile,
        .entry = "loss",
        .binds = binds,
        .bind_count = ARRAY_LEN(binds),
        .batch = r->micro_batch,
        .length = r->length,
        .training = true,
        .settings = { .has_master_dtype = true,
                      .master_dtype = LIN_DTYPE_F32,
                      .accumulation = passes },
        .parallel = { .tensor = r->tensor, .replicas = r->data, .pipeline = r->pipeline },
        .loop = LIN_LOOP_MEGATRON,
    };
    name_stages(r, stages, sizeof(stages));
    if (r->pipeline > 1) {
        run.batch *= passes;
        run.settings.accumulation = 0;
        run.pipeline = (lin_pipeline_settings){ .ranks = r->pipeline,
                                                .microbatches = passes,
                                                .stages = stages };
    }
    lin_timing *timing = time_score(&run);
    const double seconds = timing->time.seconds;
    lin_timing_free(timing);
    return seconds;
}

enum { SPLITS = 4, BATCHES = 4 };

static int place_of(int64_t power)
{
    int at = 0;
    while (power >> at > 1)
        at++;
    return at;
}

static void print_vtrain(const score groups[SPLITS][BATCHES], const score *all)
{
    char name[64];
    print_message("%-34s rows     mean      absolute\n", "vTrain, A100 40 GB");
    for (int split = 0; split < SPLITS; split++)
        for (int batch = 0; batch < BATCHES; batch++) {
            snprintf(name, sizeof(name), "tensor %d, micro-batch %d", 1 << split, 1 << batch);
            print_score(name, &groups[split][batch]);
        }
    print_score("all", all);
    print_message("%-34s %21.1f %%\n", "published model", published_vtrain * 100);
}

static void test_vtrain(void **state)
{
    score groups[SPLITS][BATCHES] = { 0 }, all = { 0 };
    static table t;
    (void)state;
    open_table(&t, "vtrain-single.csv");
    if (t.file == NULL) {
        print_message("no table: set LINNET_SHARED\n");
        skip();
    }
    lin_source *source = open_program("megatron");
    lin_profile *profile = open_profile("a100-40gb");
    while (next_row(&t)) {
        const vtrain_row row = read_vtrain(&t);
        const double error = predict_vtrain(&row, source, profile) / row.seconds - 1;
        add_error(&groups[place_of(row.tensor)][place_of(row.micro_batch)], error);
        add_error(&all, error);
    }
    fclose(t.file);
    lin_profile_free(profile);
    lin_source_free(source);
    print_vtrain(groups, &all);
    assert_true(all.rows > 0);
    assert_true(all.sum / all.rows <= published_vtrain);
}

/* ---- NeuSight ---- */

/* As the source builds them: eager, in f32; the optimizer is outside the figures. */
static const struct neusight_model {
    const char *name, *program;
    int64_t positions, layers; /* layers: 0: the table's */
} neusight_models[] = {
    { "bert-large", "bert", 512, 0 },
    { "gpt2-large", "gpt", 1024, 0 },
    { "gpt3-2.7b", "gpt", 2048, 0 },
    { "gpt3-xl (source: 24 x 3072)", "gpt", 2048, 0 },
    { "opt-1.3b", "opt", 2050, 0 },
    { "switch-xl, 4 experts", "switch", 1, 12 }, /* pairs of a dense and a sparse one */
};

static const struct neusight_device {
    const char *name, *profile;
} neusight_devices[] = {
    { "H100-SXM-80GB", "h100-80gb" },
    { "A100-PCIe-80GB", "a100-80gb-pcie" },
    { "A100-PCIe-40GB", "a100-40gb-pcie" },
    { "A100-SXM-40GB", "a100-40gb" },
    { "V100-PCIe-32GB", "v100-pcie-32gb" },
    { "P100-PCIe-16GB", "p100-16gb" },
    { "L4-24GB", "l4" },
    { "T4-16GB", "t4" },
    { "P4-8GB", "p4" },
    { "AMD Instinct MI100", "mi100" },
    { "AMD Instinct MI210", "mi210" },
    { "AMD Instinct MI250", "mi250" },
};

static const struct neusight_model *find_model(const table *t)
{
    for (size_t i = 0; i < ARRAY_LEN(neusight_models); i++)
        if (strcmp(neusight_models[i].name, field_of(t, "model")) == 0)
            return &neusight_models[i];
    return NULL;
}

static int find_device(const table *t)
{
    for (int i = 0; i < (int)ARRAY_LEN(neusight_devices); i++)
        if (strcmp(neusight_devices[i].name, field_of(t, "gpu")) == 0)
            return i;
    return -1;
}

/* The part of the step that the row is about. */
static double part_of(const lin_timing *timing, const char *quantity)
{
    const lin_part *part = &timing->part;
    if (strcmp(quantity, "forward_time") == 0)
        return part->forward;
    if (strcmp(quantity, "backward_time") == 0)
        return part->seconds - part->forward;
    if (strcmp(quantity, "forward_backward_time") == 0)
        return part->seconds;
    assert_string_equal(quantity, "prefill_time");
    return timing->time.seconds;
}

static double predict_neusight(const table *t, const struct neusight_model *model,
                               const struct neusight_device *device)
{
    const bool fused = strstr(field_of(t, "framework"), "torch.compile") != NULL;
    const bool training = strcmp(field_of(t, "kind"), "training") == 0;
    const lin_setting binds[] = {
        { .name = "Vocab", .integer = whole_of(t, "vocab") },
        { .name = "H", .integer = whole_of(t, "hidden") },
        { .name = "Heads", .integer = whole_of(t, "heads") },
        { .name = "Layers", .integer = model->layers > 0 ? model->layers : whole_of(t, "layers") },
        { .name = "Positions", .integer = model->positions },
        { .name = "Fused", .integer = 1 },
    };
    lin_source *source = open_program(model->program);
    lin_profile *profile = open_profile(device->profile);
    const score_run run = { .source = source,
                            .profile = profile,
                            .entry = training ? "loss" : "forward",
                            .binds = binds,
                            .bind_count = ARRAY_LEN(binds) - !fused,
                            .batch = whole_of(t, "micro_batch"),
                            .length = whole_of(t, "seq"),
                            .training = training };
    lin_timing *timing = time_score(&run);
    const double seconds = part_of(timing, field_of(t, "measured_quantity"));
    lin_timing_free(timing);
    lin_profile_free(profile);
    lin_source_free(source);
    return seconds;
}

static void test_neusight(void **state)
{
    score devices[ARRAY_LEN(neusight_devices)] = { 0 }, all = { 0 };
    static table t;
    int left_out = 0;
    (void)state;
    open_table(&t, "neusight.csv");
    if (t.file == NULL) {
        print_message("no table: set LINNET_SHARED\n");
        skip();
    }
    while (next_row(&t)) {
        const struct neusight_model *model = find_model(&t);
        const int device = find_device(&t);
        if (model == NULL || device < 0 || whole_of(&t, "gpu_count") != 1) {
            left_out++;
            continue;
        }
        const double seconds = predict_neusight(&t, model, &neusight_devices[device]);
        const double error = seconds / (real_of(&t, "value") * 1e-3) - 1;
        add_error(&devices[device], error);
        add_error(&all, error);
    }
    fclose(t.file);
    print_message("%-34s rows     mean      absolute\n", "NeuSight, f32");
    for (size_t i = 0; i < ARRAY_LEN(neusight_devices); i++)
        print_score(neusight_devices[i].name, &devices[i]);
    print_score("all", &all);
    print_message("%-34s %21.1f %%\n", "published model", published_neusight * 100);
    print_message("%d left out: no configuration in the source, or more than one GPU\n", left_out);
    assert_true(all.rows > 0);
    assert_true(all.sum / all.rows <= published_neusight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        { .name = "vTrain: GPTs in Megatron-DeepSpeed, to 8 GPUs", .test_func = test_vtrain },
        { .name = "NeuSight: six models in eager PyTorch", .test_func = test_neusight },
    };
    return _cmocka_run_group_tests("scores", tests, ARRAY_LEN(tests), NULL, NULL);
}
