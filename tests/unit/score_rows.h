/* SPDX-License-Identifier: MIT */
#ifndef SCORE_ROWS_H
#define SCORE_ROWS_H

/* Programs of tests/scores, and a step of one on a device. */

#include "measured_table.h"

/* ---- programs ---- */

static lin_source *open_program(const char *name)
{
    const lin_source_settings settings = { .allocator = lin_default_allocator,
                                           .limits = lin_lang_default_limits,
                                           .file_bytes = 1 << 20 };
    char path[1024];
    const char *folder = getenv("LINNET_SCORES");
    lin_source *source = NULL;
    linnet_error err = { 0 };
    assert_non_null(folder);
    snprintf(path, sizeof(path), "%s/%s.linnet", folder, name);
    if (lin_source_open(&settings, path, NULL, &source, &err) != LINNET_OK)
        fail_msg("%s: %s", path, err.message);
    return source;
}

/* ---- a step ---- */

typedef struct score_run {
    const lin_source *source;
    const lin_profile *profile;
    const char *entry;
    const lin_setting *binds;
    uint32_t bind_count;
    int64_t batch, length;
    bool training;
    lin_training_settings settings;
    lin_parallel parallel;
    lin_pipeline_settings pipeline;
    lin_loop loop;
} score_run;

static lin_timing *time_score(const score_run *r)
{
    const lin_trace_settings trace = {
        .entry = r->entry,
        .role_given = { true, true, false },
        .role_value = { r->batch, r->length, 0 },
        .no_bindings = true,
        .binds = r->binds,
        .bind_count = r->bind_count,
        .numerics = LIN_NUMERICS_FAST,
        .processes = r->parallel.tensor > 1 ? r->parallel.tensor : 1,
        .training = r->training,
    };
    const lin_memory_settings settings = {
        .backend = LIN_BACKEND_CUDA,
        .context_bytes = -1,
        .training = r->training ? &r->settings : NULL,
        .parallel = r->parallel,
        .pipeline = r->pipeline,
    };
    const lin_timing_settings times = {
        .model = LIN_TIME_LINNET, .training = r->training, .parallel = r->parallel, .loop = r->loop
    };
    lin_traced traced;
    lin_memory *memory = NULL;
    lin_timing *timing = NULL;
    linnet_error err = { 0 };
    if (lin_trace(r->source, &trace, &lin_default_allocator, &traced, &err) != LINNET_OK ||
        lin_memory_new(r->source, &traced, &trace, &settings, &lin_default_allocator, &memory,
                       &err) != LINNET_OK ||
        lin_timing_new(memory, r->profile, &times, &lin_default_allocator, &timing, &err) !=
            LINNET_OK)
        fail_msg("%s", err.message);
    lin_memory_free(memory);
    return timing;
}

#endif
