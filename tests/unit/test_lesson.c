/* SPDX-License-Identifier: MIT */

/*
 * What training `gpt-lesson` keeps of a layer, against the closed forms: 34 + 5as/h, 34 and 2 times
 * sbh within the normalisation statistics (16/h) and the fused kernel's row sums (4a/h). A layer is
 * the difference between a model and one with a layer more, at the last moment of the forward pass.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "formula/formula.h"
#include "training_run.h"

enum { S = 256, B = 2, H = 256, HEADS = 4, SBH = S * B * H };

static const struct lesson_case {
    const char *name;
    int64_t fused;
    const char *checkpoint;
    const char *formula; /* of the textbook */
    int64_t beside;      /* bytes a layer the textbook leaves out */
    int64_t thousandths; /* the sum, in thousandths of sbh */
} lesson_cases[] = {
    { "unfused attention keeps 54.0625 sbh a layer", 0, NULL, "activations-gpt", 16 * S *B, 54062 },
    { "fused attention keeps 34.125 sbh a layer", 1, NULL, "activations-gpt-selective",
      16 * S *B + 4 * HEADS *S *B, 34125 },
    { "selective recomputation keeps 34.0625 sbh a layer", 0, "selective",
      "activations-gpt-selective", 16 * S *B, 34062 },
    { "full recomputation keeps 2 sbh a layer", 0, "block", "activations-gpt-full", 0, 2000 },
};

/* Activations held when the forward pass ends. */
static int64_t held_after_forward(const struct lesson_case *row, int64_t layers)
{
    const lin_setting binds[] = {
        { .name = "H", .integer = H },
        { .name = "Heads", .integer = HEADS },
        { .name = "Vocab", .integer = 1000 },
        { .name = "Layers", .integer = layers },
        { .name = "Fused", .integer = row->fused },
    };
    const training_run run = { .model = "gpt-lesson",
                               .context = S,
                               .batch = B,
                               .entry = "loss",
                               .training = { .checkpoint = row->checkpoint },
                               .binds = binds,
                               .bind_count = ARRAY_LEN(binds),
                               .with_timeline = true };
    training_case c = open_training(&run);
    const lin_answer_timeline *timeline = c.answer->timeline;
    assert_non_null(timeline);
    assert_string_equal(timeline->phases[0].name, "forward");
    const int64_t held = timeline->bytes[LIN_CATEGORY_ACTIVATIONS][timeline->phases[0].end - 1];
    close_training(&c);
    return held;
}

static int64_t textbook(const char *name)
{
    lin_formula_answer answer = { 0 };
    linnet_error err = { 0 };
    assert_int_equal(lin_formula_find(name, &answer.formula, &err), LINNET_OK);
    lin_formula_give(&answer, "s", S, &err);
    lin_formula_give(&answer, "b", B, &err);
    lin_formula_give(&answer, "h", H, &err);
    if (strcmp(name, "activations-gpt") == 0)
        lin_formula_give(&answer, "a", HEADS, &err);
    if (lin_formula_evaluate(&answer, &err) != LINNET_OK)
        fail_msg("%s: %s", name, err.message);
    assert_int_equal(answer.result.denominator, 1);
    return answer.result.numerator;
}

static void test_layer(void **state)
{
    const struct lesson_case *row = *state;
    const int64_t layer = held_after_forward(row, 4) - held_after_forward(row, 3);
    assert_int_equal(layer, textbook(row->formula) + row->beside);
    assert_int_equal(layer * 1000 / SBH, row->thousandths);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_LEN(lesson_cases)];
    for (size_t i = 0; i < ARRAY_LEN(lesson_cases); i++)
        tests[i] = (struct CMUnitTest){ .name = lesson_cases[i].name,
                                        .test_func = test_layer,
                                        .initial_state = (void *)(uintptr_t)&lesson_cases[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
