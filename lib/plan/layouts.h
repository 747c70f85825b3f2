/* SPDX-License-Identifier: MIT */
#ifndef LIN_LAYOUTS_H
#define LIN_LAYOUTS_H

/*
 * The fastest layout of a job over a number of devices (cli-report.md 3.2): every legal combination
 * of degrees, schedule, micro-batches and checkpointing, the largest size that fits each, and how
 * long a step of it takes.
 *
 *     layout_space.c     which layouts there are, in order
 *     layout_bench.c     a trace, its memory and its calls, made once for many layouts
 *     layout_rate.c      one layout: its size, its peak, its time
 *     layout_best.c      the search by bounds, on threads
 *     layout_bounds.c    layouts and sizes with a time that they cannot beat
 *     layout_results.c   what the search by bounds found
 *     layout_published.c the published search
 *     layouts.c          what is asked, and the answer
 *     layout_name.c      a layout in words
 *     devices_needed.c   how many devices a job needs
 */

#include "cost/cost.h"
#include "plan/plan.h"

enum { LIN_LAYOUTS_MOST_THREADS = 1024 };

typedef enum lin_layout_space {
    LIN_SPACE_FULL,
    LIN_SPACE_PUBLISHED /* tensor and pipeline degrees, replicas, 1f1b: cli-report.md 3.2 */
} lin_layout_space;

/* Every degree is at least 1; `devices` is their product. */
typedef struct lin_job_layout {
    lin_parallel parallel;
    const char *schedule; /* static; NULL: no pipeline */
    int64_t virtual_stages;
    int64_t microbatches;   /* of a pipeline; else 1 */
    int64_t accumulation;   /* micro-batches without a pipeline; else 1 */
    const char *checkpoint; /* NULL: inference */
} lin_job_layout;

typedef enum lin_layout_state {
    LIN_LAYOUT_RUNS,
    LIN_LAYOUT_REFUSED,   /* not legal, or not modelled */
    LIN_LAYOUT_TOO_LARGE, /* no size fits the budget, or the fixed one does not */
    LIN_LAYOUT_CLAUSES,   /* every size breaks a `where` clause */
    LIN_LAYOUT_SLOWER     /* a bound says that it is not among the wanted ones */
} lin_layout_state;

const char *lin_layout_state_name(lin_layout_state state); /* "runs", "refused", … */
/* Appends its words: "TP 2, PP 4 x 16 1f1b, 2 replicas", "FSDP 8, accumulate 4, checkpoint block".
 */
void lin_layout_name(lin_text *out, const lin_job_layout *layout);

typedef struct lin_layout_result {
    lin_job_layout layout;
    const char *name; /* "TP 2, PP 4 x 16 1f1b, 2 replicas" */
    lin_layout_state state;
    const char *reason;    /* of one that does not run; "" else */
    int64_t size;          /* of the searched role, one data-parallel rank's step; 0: not known */
    int64_t expected_peak; /* of the most loaded device at that size, or at the smallest; -1: not
                              known */
    lin_step_time time;    /* of one that runs */
} lin_layout_result;

/* Called now and then; nonzero stops the search: LINNET_ERROR_CANCELLED. */
typedef int32_t (*lin_progress_fn)(void *user, uint64_t done, uint64_t total);

typedef struct lin_layouts_settings {
    const lin_source *source;
    lin_trace_settings trace;   /* as of one device */
    lin_memory_settings memory; /* its degrees that a flag below names are fixed */
    const lin_training_settings
        *training; /* NULL: inference; its checkpoint, unless NULL, is fixed */
    const lin_profile *profile;
    lin_time_model time_model;
    lin_layout_space space;
    int64_t devices;
    int64_t budget_bytes;
    /* These degrees of memory.parallel are fixed, 1 included; the others are searched. */
    bool has_tensor, has_context, has_expert, has_pipeline, has_shards, has_replicas;
    bool has_schedule, has_microbatches, has_virtual_stages; /* memory.pipeline's are fixed */
    bool has_zero, has_sequence;
    bool stages_by_time;            /* stages are balanced by the device's time, not by bytes */
    const char *const *checkpoints; /* policies in place of the default ones; none: the default */
    uint32_t checkpoint_count;
    int64_t global_size;      /* of a step over all data-parallel ranks; 0: each rank's grows */
    uint32_t limit;           /* layouts that run and are wanted; 0: all */
    bool explain;             /* the others stay in the list with what dropped them */
    uint32_t threads;         /* from 1 to LIN_LAYOUTS_MOST_THREADS */
    lin_progress_fn progress; /* NULL: nobody asks */
    void *progress_user;
} lin_layouts_settings;

/* Immutable; owns everything in its arena. */
typedef struct lin_layouts {
    lin_allocator allocator;
    lin_arena arena;
    const char *model, *entry, *device, *device_source;
    bool training;
    int64_t devices, budget;
    lin_time_model time_model;
    lin_layout_space space;
    lin_role role;       /* what `size` counts */
    bool is_size_fixed;  /* given, or the share of a global size */
    int64_t global_size; /* 0: none */
    /* Those that run first, by tokens per second descending, then the others; ties in order of
     * enumeration. */
    const lin_layout_result *items;
    uint32_t count;
    uint64_t considered; /* layouts enumerated */
    const char *nothing; /* why there are none; NULL: there are */
    const char *const *assumptions;
    uint32_t assumption_count;
} lin_layouts;

/* LINNET_ERROR_ARGUMENT: fixed degrees that do not divide the devices, a size that is fixed twice.
 * LINNET_ERROR_CANCELLED. */
linnet_status lin_layouts_search(const lin_layouts_settings *settings,
                                 const lin_allocator *allocator, lin_layouts **out,
                                 linnet_error *err);
void lin_layouts_free(lin_layouts *layouts); /* accepts NULL */

/* ---- devices needed ---- */

typedef struct lin_devices_needed {
    int64_t most; /* devices that were looked at */
    int64_t fits; /* the smallest count with a layout that runs; 0: none */
    int64_t fast; /* the smallest that reaches the tokens per second; 0: none, or not asked */
    double tokens_per_second;        /* asked for; 0: not */
    lin_layouts *fitting, *reaching; /* the layouts of those counts; NULL: none. Owned */
    double best; /* tokens per second of the fastest layout of all counts looked at */
    int64_t best_devices;
} lin_devices_needed;

/* Counts are 1 to 8, then multiples of the profile's node (8 where it says nothing), up to
 * `most`. */
linnet_status lin_devices_search(const lin_layouts_settings *settings, int64_t most,
                                 double tokens_per_second, const lin_allocator *allocator,
                                 lin_devices_needed *out, linnet_error *err);
void lin_devices_needed_free(lin_devices_needed *needed);

#endif
