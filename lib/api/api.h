/* SPDX-License-Identifier: MIT */
#ifndef LIN_API_H
#define LIN_API_H

/*
 * The public handles: argument checks, ownership, nothing clever. What they hold is made by the
 * folders to the left; no other folder sees a handle.
 */

#include "report/report.h"
#include <linnet/linnet.h>
#include <stdatomic.h>

struct linnet_text {
    lin_text text;
};

struct linnet_diagnostics {
    lin_diagnostics list;
};

/* ---- config ---- */

enum {
    CONFIG_ROOT,
    CONFIG_ENTRY,
    CONFIG_CUBLAS,
    CONFIG_STD,
    CONFIG_OPTIMIZER,
    CONFIG_CHECKPOINT,
    CONFIG_LORA, /* its patterns */
    CONFIG_SCHEDULE,
    CONFIG_SCHEDULE_TEXT, /* in place of a name */
    CONFIG_SCHEDULE_SOURCE,
    CONFIG_STAGES,
    CONFIG_TEXT_COUNT
};

typedef struct config_texts {
    char **items; /* owned */
    uint32_t count, capacity;
} config_texts;

struct linnet_config {
    lin_allocator allocator;
    char *texts[CONFIG_TEXT_COUNT];     /* owned; NULL: not set */
    int64_t role_value[LIN_ROLE_COUNT]; /* 0: not set */
    lin_setting *binds;                 /* names owned */
    uint32_t bind_count, bind_capacity;
    char **optional; /* owned */
    uint32_t optional_count, optional_capacity;
    bool has_dtype, no_bindings, full_window;
    lin_dtype dtype;
    const lin_kv_format *kv_keys, *kv_values; /* NULL: as declared */
    lin_backend_kind backend;
    lin_numerics numerics;
    int64_t kv_block_size; /* 0: contiguous */
    int64_t context_bytes; /* -1: the default */
    int64_t device_memory; /* 0: not given */
    int64_t file_bytes;
    linnet_source_fn source;
    void *source_user;

    /* a training step (api_training.c) */
    bool training, with_timeline, is_first_step;
    bool has_master_dtype, has_gradient_dtype;
    lin_dtype master_dtype, gradient_dtype;
    lin_loss loss;
    bool clips_gradients;
    int64_t accumulation, lora_rank;
    config_texts trainable;
    const char *training_option; /* the first that was set; static */

    lin_time_model time_model; /* api_timing.c, as the next */
    lin_loop loop;

    /* stages balanced by time (api_stages.c) */
    bool stages_by_time;
    linnet_device *device; /* where none is given otherwise; NULL: none */
    int32_t searched_role; /* whose size a search varied when it cut these stages, and one more */

    lin_pipeline_settings pipeline; /* without its texts and degree (api_pipeline.c) */

    /* several devices (api_parallel.c) */
    lin_parallel parallel;
    bool has_replicas;
    int64_t devices; /* 0: not given */

    /* a search of layouts (api_search.c) */
    bool has_sequence, has_limit, explain;
    int64_t threads, limit, global_batch; /* 0: not given */
    config_texts checkpoint_choice;
    linnet_progress_fn progress; /* NULL: nobody asks */
    void *progress_user;
};

/* api_config.c: what the setters of several files share. `text` is copied; NULL: not set. */
linnet_status lin_config_set_text(linnet_config *config, int which, const char *text,
                                  linnet_error *err);
linnet_status lin_config_push_text(linnet_config *config, config_texts *list, const char *text,
                                   linnet_error *err);
linnet_status lin_config_find_dtype(const char *name, lin_dtype *out, linnet_error *err);
/* api_training.c: whether a checkpointing policy is wrong whatever the model. */
linnet_status lin_config_check_policy(const char *policy, linnet_error *err);

lin_pipeline_settings lin_config_pipeline(const linnet_config *config);
/* api_stages.c: has the stages balanced by the time of `device`, or else of the config's, where
 * that is wanted. `weigher` is what the settings point at; `searched_role` is -1, or varies. */
linnet_status lin_config_balance(const linnet_config *config, const linnet_device *device,
                                 int searched_role, lin_time_weigher *weigher,
                                 lin_pipeline_settings *settings, linnet_error *err);
/* Gives the device before back and takes a reference to this one, which may be NULL. */
void lin_config_hold_device(linnet_config *config, linnet_device *device);
/* Whether stages can be: LINNET_ERROR_ARGUMENT where they are given by hand as well. */
linnet_status lin_config_check_balance(const linnet_config *config, linnet_error *err);
/* The degrees, checked against each other and filled up to the devices. */
linnet_status lin_config_parallel(const linnet_config *config, lin_parallel *out,
                                  linnet_error *err);
/* Refuses training's options without training. */
linnet_status lin_config_training(const linnet_config *config, lin_training_settings *out,
                                  linnet_error *err);

/* A copy that shares nothing; NULL: out of memory. */
linnet_config *lin_config_clone(const linnet_config *config);
/* What the folders to the left want to know, borrowing from the config. */
lin_trace_settings lin_config_trace(const linnet_config *config);
lin_memory_settings lin_config_memory(const linnet_config *config);

/* ---- model ---- */

typedef struct model_entry {
    const char *name, *block, *signature;
} model_entry;

typedef struct model_generic {
    const char *name, *declaration, *value; /* value NULL: the card gives none */
} model_generic;

typedef struct model_parameter {
    const char *path, *kind, *dtype, *tied_to;
    const char *const *extents;
    uint32_t rank;
    const char *const *repeats;
    uint32_t repeat_count;
    bool optional, present;
    int64_t bytes; /* -1: open */
} model_parameter;

typedef struct model_block {
    const char *name, *module;
    const model_generic *generics;
    uint32_t generic_count;
    const model_parameter *parameters;
    uint32_t parameter_count;
} model_block;

/* What `inspect` and `explain` show, made once when the model is opened. */
typedef struct model_view {
    const model_block *blocks;
    uint32_t block_count;
    const model_entry *entries;
    uint32_t entry_count;
    int64_t root; /* -1: none */
    const lin_op_choice *ops;
    uint32_t op_count;
} model_view;

struct linnet_model {
    atomic_uint references;
    lin_allocator allocator;
    lin_source *source;
    lin_arena arena; /* of the view */
    model_view view;
};

linnet_status lin_model_view_new(lin_arena *arena, const lin_source *source, model_view *out,
                                 linnet_error *err);

/* ---- analysis, planner ---- */

struct linnet_analysis {
    atomic_uint references;
    lin_allocator allocator;
    lin_answer *answer;
};

/* Takes the answer, even when it fails. */
linnet_status lin_analysis_wrap(lin_answer *take_answer, const lin_allocator *allocator,
                                linnet_analysis **out_analysis, linnet_error *err);

struct linnet_planner {
    lin_allocator allocator;
    linnet_model *model;
    linnet_config *config; /* its own copy */
    lin_memory *memory;
};

struct linnet_device {
    atomic_uint references;
    lin_allocator allocator;
    lin_profile *profile;
};

/* What a timing holds. */
const lin_timing *lin_timing_of(const linnet_timing *timing);

/* Text made by `write` as a handle. */
linnet_status lin_text_wrap(const lin_text *take_text, linnet_text **out_text, linnet_error *err);

#endif
