/* SPDX-License-Identifier: MIT */

/* Step times by the reference rules against step-time-rows.md: the rows of its section 1 and their
 * parts, whole and in stages, and the layout table of its section 3. */

#include "cost_run.h"

static void print_kinds(const lin_cost *cost)
{
    for (uint32_t i = 0; i < lin_cost_kind_count(); i++) {
        const lin_kind_time k = lin_cost_kind_time(cost, i);
        print_message("%-28s %4u: %9.3f (%7.3f)  %4u: %9.3f (%7.3f)\n", k.name, k.forward_calls,
                      k.forward.device * 1e3, k.forward.host * 1e3, k.backward_calls,
                      k.backward.device * 1e3, k.backward.host * 1e3);
    }
}

/* To the last printed digit of the table. */
static void assert_near(const char *what, double seconds, double ms)
{
    if (fabs(seconds * 1e3 - ms) > 0.00051)
        fail_msg("%s: %.4f ms instead of %.4f", what, seconds * 1e3, ms);
}

static void test_row(void **state)
{
    const struct step_case *c = *state;
    lin_part part;
    lin_step_time step;
    time_run(&c->run, 0, &part, &step, print_kinds);
    print_message("%.4f ms (%.4f)\n", step.seconds * 1e3, c->step);
    if (fabs(step.seconds * 1e3 - c->step) > 1e-4 * c->step)
        fail_msg("%.4f ms instead of %.4f", step.seconds * 1e3, c->step);
    const double unit = pow(10, c->digits);
    if (fabs(round(step.seconds * 1e3 * unit) / unit - c->published) > 1e-9)
        fail_msg("%.4f ms does not print %.*f", step.seconds * 1e3, c->digits, c->published);
    assert_near("compute", step.spent[LIN_SPENT_COMPUTE], c->compute);
    assert_near("memory", step.spent[LIN_SPENT_MEMORY], c->memory);
    assert_near("communication", step.spent[LIN_SPENT_COMMUNICATION], c->communication);
    assert_near("waiting", step.host, c->waiting);
    assert_near("host clock", part.host, c->host);
    assert_int_equal(step.limit, c->limit);
    assert_int_equal(part.steps, c->steps);
    assert_int_equal(part.forward_calls, c->forward_calls);
    assert_int_equal(part.backward_calls, c->backward_calls);
}

static void test_pipeline(void **state)
{
    const struct pipeline_case *c = *state;
    pipeline_run r;
    time_pipeline(c, 0, &r);
    print_message("%.4f ms (%.4f), %.0f tokens/s (%.0f)\n", r.step.seconds * 1e3, c->step,
                  r.step.tokens_per_second, c->tokens_per_second);
    if (c->step > 0 && fabs(r.step.seconds * 1e3 - c->step) > 1e-4 * c->step)
        fail_msg("%.4f ms instead of %.4f", r.step.seconds * 1e3, c->step);
    for (int i = 0; i < STAGES && c->seconds[i] > 0; i++)
        if (fabs(r.parts[i].seconds * 1e3 - c->seconds[i]) > 0.000051)
            fail_msg("stage %d: %.4f ms instead of %.4f", i, r.parts[i].seconds * 1e3,
                     c->seconds[i]);
    if (c->received > 0)
        assert_int_equal((int64_t)r.received[1], (int64_t)c->received);
    if (c->optimizer > 0)
        assert_near("optimizer", r.parts[r.step.slowest].optimizer, c->optimizer);
    if (c->gather > 0)
        assert_near("gather", r.parts[r.step.slowest].gather, c->gather);
    if (c->tokens_per_second > 0 && fabs(r.step.tokens_per_second - c->tokens_per_second) > 0.51)
        fail_msg("%.2f tokens/s instead of %.0f", r.step.tokens_per_second, c->tokens_per_second);
    if (c->compute <= 0)
        return;
    assert_near("compute", r.step.spent[LIN_SPENT_COMPUTE], c->compute);
    assert_near("memory", r.step.spent[LIN_SPENT_MEMORY], c->memory);
    assert_near("communication", r.step.spent[LIN_SPENT_COMMUNICATION], c->communication);
    assert_near("waiting", r.step.host, c->waiting);
}

int main(void)
{
    enum { ROWS = ARRAY_LEN(step_rows), PIPELINES = ARRAY_LEN(pipeline_rows) };
    struct CMUnitTest tests[ROWS + PIPELINES];
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++)
        tests[count++] = (struct CMUnitTest){ .name = step_rows[i].name,
                                              .test_func = test_row,
                                              .initial_state = (void *)(uintptr_t)&step_rows[i] };
    for (size_t i = 0; i < PIPELINES; i++)
        tests[count++] =
            (struct CMUnitTest){ .name = pipeline_rows[i].name,
                                 .test_func = test_pipeline,
                                 .initial_state = (void *)(uintptr_t)&pipeline_rows[i] };
    return _cmocka_run_group_tests("cost", tests, count, NULL, NULL);
}
