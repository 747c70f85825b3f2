/* SPDX-License-Identifier: MIT */

/* The rules between the models of time: what each alone changes (step-time-rows.md 4.1), and what
 * the model `linnet` makes of the measured column. */

#include "cost_run.h"

/* Milliseconds that one rule adds to a row. */
static const struct effect_case {
    const char *name;
    uint64_t rules;
    int row;
    double change;
} effects[] = {
    { "S1: GPT-2's head is a product", LIN_RULE_S1, 8, 14.79 },
    { "S2: views are read in full, Llama forward", LIN_RULE_S2, 4, 5.21 },
    { "S2: TinyLlama forward", LIN_RULE_S2, 5, 3.31 },
    { "S2: TinyLlama in training", LIN_RULE_S2, 10, 4.91 },
    { "S2: Qwen in training", LIN_RULE_S2, 11, 2.23 },
    { "S2: Llama split in two", LIN_RULE_S2, 12, 1.89 },
    { "S2: in a pipeline, training", LIN_RULE_S2, 15, 2.79 },
    { "S2: in a pipeline", LIN_RULE_S2, 16, 1.91 },
    { "S2: in a pipeline of split stages", LIN_RULE_S2, 19, 3.01 },
    { "S3: GPT-2's norms have biases", LIN_RULE_S3, 8, 0.89 },
    { "S3: BERT's too", LIN_RULE_S3, 9, 0.44 },
    { "S4: the loss's passes, 32,000 words", LIN_RULE_S4, 10, 1.21 },
    { "S4: the loss's passes, 151,936 words", LIN_RULE_S4, 11, 5.75 },
    { "S4: in a pipeline", LIN_RULE_S4, 15, 1.51 },
    { "S5: a packed mask is three calls", LIN_RULE_S5, 10, 5.84 },
    { "S5: Qwen's", LIN_RULE_S5, 11, 6.37 },
    { "S5: rope of rows is three calls", LIN_RULE_S5, 13, 0.80 },
    { "S5: in a pipeline", LIN_RULE_S5, 15, 0.95 },
    { "S6: masks and positions once", LIN_RULE_S6, 10, -3.40 },
    { "S6: Qwen's", LIN_RULE_S6, 11, -3.72 },
    { "S6: in decoding", LIN_RULE_S6, 14, -0.69 },
    { "S6: in a pipeline", LIN_RULE_S6, 15, -1.46 },
    { "S5 and S6 together", LIN_RULE_S5 | LIN_RULE_S6, 10, -3.13 },
    { "S7: masks have no backward", LIN_RULE_S7, 10, -2.37 },
    { "S7: Qwen's", LIN_RULE_S7, 11, -2.59 },
    { "S7: in a pipeline", LIN_RULE_S7, 15, -1.07 },
    { "S8: unequal stages, training", LIN_RULE_S8, 15, -2.71 },
    { "S8: unequal stages", LIN_RULE_S8, 16, -0.86 },
    { "S8: unequal split stages", LIN_RULE_S8, 18, -2.31 },
    { "S8: very unequal split stages", LIN_RULE_S8, 19, -18.61 },
    { "S8: unequal sharded stages", LIN_RULE_S8, 20, -2.73 },
    { "S9: gradients accumulate", LIN_RULE_S9, 15, 3.26 },
    { "S9: with shards", LIN_RULE_S9, 20, 3.26 },
    { "S10: results are joined", LIN_RULE_S10, 16, 0.69 },
    { "S10: of split stages", LIN_RULE_S10, 18, 0.69 },
    { "S10: of 8 GB of logits", LIN_RULE_S10, 19, 2.77 },
    { "S11: gathers and large sums are copied", LIN_RULE_S11, 12, 4.22 },
    { "S11: in a pipeline", LIN_RULE_S11, 18, 2.19 },
    { "S11: Llama in a pipeline", LIN_RULE_S11, 19, 8.67 },
    { "S12: large sums are three calls", LIN_RULE_S12, 14, 1.13 },
    { "M1: sums through the library", LIN_RULE_M1, 14, 2.05 },
    { "M2: start-up times, decoding", LIN_RULE_M2, 2, 0.36 },
    { "M2: forward", LIN_RULE_M2, 4, 1.65 },
    { "M2: in training", LIN_RULE_M2, 10, 3.56 },
    { "M2: in a pipeline", LIN_RULE_M2, 15, 7.22 },
    { "M2: in a pipeline, split", LIN_RULE_M2, 18, 2.36 },
    { "M3: cold weights", LIN_RULE_M3, 2, 0.82 },
    { "M3: cold weights, half of them", LIN_RULE_M3, 13, 0.04 },
    { "M4: a write's indices", LIN_RULE_M4, 3, 0.26 },
    { "C2: one host for two", LIN_RULE_C2, 13, 1.37 },
    { "C3: queued gathers", LIN_RULE_C3, 17, -6.87 },
    { "C3: queued gathers of stages", LIN_RULE_C3, 20, -6.91 },
    { "C1: part-empty waves, BERT", LIN_RULE_C1, 9, 1.31 },
    { "C1: in a pipeline, training", LIN_RULE_C1, 15, 2.33 },
    { "C1: in a pipeline", LIN_RULE_C1, 16, 0.60 },
    { "C1: in a pipeline of split stages", LIN_RULE_C1, 18, 0.68 },
    { "C1: with shards", LIN_RULE_C1, 20, 2.33 },
    { "C4: attention's length, Llama forward", LIN_RULE_C4, 4, -2.15 },
    { "C4: TinyLlama forward", LIN_RULE_C4, 5, 1.10 },
    { "C4: GPT-2 in f32", LIN_RULE_C4, 8, 0.76 },
    { "C4: BERT in f32", LIN_RULE_C4, 9, 1.14 },
    { "C4: TinyLlama in training", LIN_RULE_C4, 10, -12.30 },
    { "C4: Qwen in training", LIN_RULE_C4, 11, -5.87 },
    { "C4: Llama split in two", LIN_RULE_C4, 12, -1.08 },
    { "C4: in a pipeline, training", LIN_RULE_C4, 15, 3.84 },
    { "C4: in a pipeline", LIN_RULE_C4, 16, 0.69 },
    { "C4: with shards", LIN_RULE_C4, 17, -12.30 },
    { "C4: in a pipeline of split stages", LIN_RULE_C4, 18, 0.38 },
    { "C4: Llama in a pipeline", LIN_RULE_C4, 19, -1.72 },
    { "C4: in a pipeline with shards", LIN_RULE_C4, 20, 3.84 },
};

/* A row by its number: whole, or in stages. */
static double time_row(int number, uint64_t rules, double *out_reference, double *out_measured)
{
    lin_part part;
    lin_step_time step;
    pipeline_run pipeline;
    for (size_t i = 0; i < ARRAY_LEN(step_rows); i++) {
        if (step_rows[i].number != number)
            continue;
        *out_reference = step_rows[i].step;
        *out_measured = step_rows[i].measured;
        time_run(&step_rows[i].run, rules, &part, &step, NULL);
        return step.seconds * 1e3;
    }
    for (size_t i = 0; i < ARRAY_LEN(pipeline_rows); i++) {
        if (pipeline_rows[i].number != number)
            continue;
        *out_reference = pipeline_rows[i].step;
        *out_measured = pipeline_rows[i].measured;
        time_pipeline(&pipeline_rows[i], rules, &pipeline);
        return pipeline.step.seconds * 1e3;
    }
    fail_msg("there is no row %d", number);
    return 0;
}

static void test_effect(void **state)
{
    const struct effect_case *c = *state;
    double reference, measured;
    const double change = time_row(c->row, c->rules, &reference, &measured) - reference;
    if (fabs(change - c->change) > 0.0101)
        fail_msg("row %d: %+.3f ms instead of %+.2f", c->row, change, c->change);
}

/* One line a row, and the two figures that count. */
static void test_score(void **state)
{
    enum { ROWS = 20 };
    const uint64_t rules = lin_time_model_rules(LIN_TIME_LINNET);
    double sum = 0, worst = 0, reference_sum = 0, reference_worst = 0;
    (void)state;
    print_message(" row  measured  reference            linnet\n");
    for (int row = 1; row <= ROWS; row++) {
        double reference, measured;
        const double ms = time_row(row, rules, &reference, &measured);
        const double error = ms / measured - 1, reference_error = reference / measured - 1;
        print_message("%4d %9.2f %9.2f (%+5.1f %%) %9.2f (%+5.1f %%)\n", row, measured, reference,
                      reference_error * 100, ms, error * 100);
        sum += fabs(error);
        worst = fmax(worst, fabs(error));
        reference_sum += fabs(reference_error);
        reference_worst = fmax(reference_worst, fabs(reference_error));
    }
    print_message("mean %14s %20.1f %% %18.1f %%\nworst %13s %20.1f %% %18.1f %%\n", "",
                  reference_sum / ROWS * 100, sum / ROWS * 100, "", reference_worst * 100,
                  worst * 100);
    assert_true(sum / ROWS <= 0.046);
    assert_true(worst <= 0.135);
}

static void test_table(void **state)
{
    (void)state;
    assert_int_equal(lin_time_model_rules(LIN_TIME_REFERENCE), 0);
    for (uint32_t i = 0; i < LIN_RULE_COUNT; i++) {
        const lin_time_rule *rule = lin_time_rule_at(i);
        assert_true(rule->name[0] != '\0' && rule->what[0] != '\0' && rule->why[0] != '\0');
        /* Read off one row, or a conjecture: off. */
        if ((rule->name[0] == 'C' && rule->name[1] <= '9') || strcmp(rule->name, "M1") == 0)
            assert_false(rule->in_linnet);
    }
    assert_null(lin_time_rule_at(LIN_RULE_COUNT));
}

int main(void)
{
    enum { EFFECTS = ARRAY_LEN(effects) };
    struct CMUnitTest tests[EFFECTS + 2];
    size_t count = 0;
    for (size_t i = 0; i < EFFECTS; i++)
        tests[count++] = (struct CMUnitTest){ .name = effects[i].name,
                                              .test_func = test_effect,
                                              .initial_state = (void *)(uintptr_t)&effects[i] };
    tests[count++] = (struct CMUnitTest){ .name = "the model linnet against the measured column",
                                          .test_func = test_score };
    tests[count++] =
        (struct CMUnitTest){ .name = "every rule has its reason", .test_func = test_table };
    return _cmocka_run_group_tests("time_rules", tests, count, NULL, NULL);
}
