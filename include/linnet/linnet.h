/* SPDX-License-Identifier: MIT */
#ifndef LINNET_LINNET_H
#define LINNET_LINNET_H

/**
 * @file
 * liblinnet: how much memory each device of a training or serving job will need, and why, before
 * anything runs. A model and a configuration make an analysis; a planner answers for other sizes of
 * the same configuration without tracing it again.
 *
 *     linnet_config_new(&config, &err);
 *     linnet_config_set_batch(config, 1, &err);
 *     linnet_config_set_context(config, 8192, &err);
 *     linnet_model_open(config, "llama-3.1-8b-instruct", NULL, &model, &err);
 *     linnet_analysis_new(model, config, &analysis, &err);
 *     printf("%" PRId64 "\n", linnet_analysis_expected_peak(analysis));
 *
 * examples/memory.c is a complete program.
 *
 * Ownership has six words. What `_new`, `_open`, `_parse`, `_analyse` and `_to_…` put into an
 * `out_` parameter belongs to the caller. `_ref` and `_unref` count the references of immutable
 * objects: models, analyses, devices, timings and what a search found. `_free` ends an object with
 * one owner: configs, planners, totals, comparisons, layouts of ranks, schedules, texts,
 * diagnostics. `_unref` and `_free` accept NULL. A function named by a noun (linnet_model_name)
 * gives something borrowed, valid while its object lives. `_copy_…` fills an array of the caller.
 * An object keeps alive what it needs, so the order of release never matters.
 *
 * Every function that can fail returns a linnet_status and fills the caller's linnet_error, which
 * may be NULL. `out_` values change only on success. Indexes start at 0; a function that takes an
 * index gives 0, -1 or NULL (as it says) for one that is out of range.
 *
 * Threads: liblinnet has no mutable global state (jansson seeds its hash once, atomically).
 * Different objects may be used from different threads at the same time. Models, analyses and
 * devices are immutable: any number of threads may read one, and `_ref` and `_unref` are atomic.
 * Any other object may be used by one thread at a time. Callbacks run on the thread that called the
 * library. It starts threads only within a search whose config or planner was given a number of
 * them (linnet_config_set_threads), and joins them before the call returns; an allocator of the
 * host's (linnet_config_new_with_allocator) is then called on them too. It does not read the
 * environment, change the locale, install signal handlers or write to standard streams.
 */

#include <linnet/base.h>

#include <linnet/text.h>

#include <linnet/diagnostics.h>

#include <linnet/config.h>

#include <linnet/model.h>

#include <linnet/analysis.h>

#include <linnet/planner.h>

#include <linnet/fit.h>

#include <linnet/device.h>

#include <linnet/timing.h>

#include <linnet/comparison.h>

#include <linnet/search.h>

#include <linnet/advice.h>

#include <linnet/layout.h>

#include <linnet/schedule.h>

#include <linnet/formula.h>

#endif
