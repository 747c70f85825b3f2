/* SPDX-License-Identifier: MIT */
#ifndef LIN_TEST_TRAINING_RUN_H
#define LIN_TEST_TRAINING_RUN_H

/* One training step of a built-in model, or of a program in memory, from names to an answer. */

#include <string.h>

#include "report/report.h"

enum { CUBLAS = 32 << 20 };

typedef struct training_run {
    const char *model;
    int64_t context;
    int64_t batch;     /* 0: not given */
    const char *entry; /* NULL: loss_packed */
    lin_training_settings training;
    bool bindings;
    const lin_setting *binds;
    uint32_t bind_count;
    bool generic;
    bool with_timeline;
    const char *program; /* in place of `model` */
} training_run;

typedef struct training_case {
    lin_source *source;
    lin_memory *memory;
    lin_answer *answer;
} training_case;

static lin_source *open_training_source(const training_run *r)
{
    const lin_source_settings settings = { .allocator = lin_default_allocator,
                                           .limits = lin_lang_default_limits,
                                           .file_bytes = 16 << 20 };
    lin_source *source = NULL;
    linnet_error err = { 0 };
    const linnet_status status = r->program != NULL
                                     ? lin_source_parse(&settings, r->program, strlen(r->program),
                                                        "program.linnet", NULL, &source, &err)
                                     : lin_source_open(&settings, r->model, NULL, &source, &err);
    if (status != LINNET_OK)
        fail_msg("%s, line %u: %s", r->program != NULL ? "program" : r->model, err.line,
                 err.message);
    return source;
}

static linnet_status try_training(const lin_source *source, const training_run *r,
                                  lin_memory **out_memory, linnet_error *err)
{
    const lin_trace_settings trace = {
        .entry = r->entry != NULL ? r->entry : "loss_packed",
        .role_given = { r->batch > 0, r->context > 0, false },
        .role_value = { r->batch, r->context, 0 },
        .no_bindings = !r->bindings,
        .binds = r->binds,
        .bind_count = r->bind_count,
        .numerics = LIN_NUMERICS_FAST,
        .processes = 1,
        .training = true,
        .loss = r->training.loss,
    };
    const lin_memory_settings settings = {
        .backend = r->generic ? LIN_BACKEND_GENERIC : LIN_BACKEND_CUDA,
        .context_bytes = -1,
        .effort = lin_plan_default_effort,
        .training = &r->training,
        .with_timeline = r->with_timeline,
    };
    lin_traced traced;
    const linnet_status status = lin_trace(source, &trace, &lin_default_allocator, &traced, err);
    return status == LINNET_OK ? lin_memory_new(source, &traced, &trace, &settings,
                                                &lin_default_allocator, out_memory, err)
                               : status;
}

static training_case open_training(const training_run *r)
{
    static const int64_t as_configured[LIN_ROLE_COUNT];
    training_case c = { .source = open_training_source(r) };
    linnet_error err = { 0 };
    if (try_training(c.source, r, &c.memory, &err) != LINNET_OK ||
        lin_memory_analyse(c.memory, as_configured, &c.answer, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return c;
}

static void close_training(training_case *c)
{
    lin_answer_free(c->answer);
    lin_memory_free(c->memory);
    lin_source_free(c->source);
}

#endif
