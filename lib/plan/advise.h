/* SPDX-License-Identifier: MIT */
#ifndef LIN_ADVISE_H
#define LIN_ADVISE_H

/*
 * The cheapest change that makes a configuration fit (closed-forms.md 11): each change of a table
 * alone, in order of what it costs in time, and the cheapest combination of them.
 *
 *     advise_changes.c   the table: what a change sets, when it applies, why it helps
 *     advise_facts.c     what the rows ask of the configuration
 *     advise_space.c     the combinations, numbered; settings of one
 *     advise_trial.c     peaks and seconds of combinations, kept once known
 *     advise_bound.c     bounds of peaks that are not known
 *     advise_combine.c   the search
 *     advise.c           the answer
 */

#include "cost/cost.h"

/* What a change does to results, as bits. None: the same sums, at most in another order. */
typedef uint32_t lin_effects;
enum {
    LIN_EFFECT_LENGTHS = 1,  /* longer sequences than before no longer fit into a micro-batch */
    LIN_EFFECT_NUMERICS = 2, /* other precision of what is computed or kept */
    LIN_EFFECT_TASK = 4,     /* something else is trained */
    LIN_EFFECTS_ALL = 7
};
const char *lin_effects_name(lin_effects effects); /* "none", "lengths", "lengths, numerics", … */

typedef struct lin_advice_settings {
    const lin_source *source;
    lin_trace_settings trace;
    lin_memory_settings memory;            /* degrees filled up; its training is not read */
    const lin_training_settings *training; /* NULL: inference */
    bool replicas_given;                   /* by number, not by what the devices leave */
    bool cache_follows;                    /* caches are as long as the context */
    const lin_profile *profile;            /* NULL: no times */
    lin_time_model time_model;
    int64_t budget_bytes;
    /* Called now and then; nonzero stops: LINNET_ERROR_CANCELLED. NULL: nobody asks. */
    int32_t (*progress)(void *user, uint64_t done, uint64_t total);
    void *progress_user;
} lin_advice_settings;

/* A configuration as it was evaluated. */
typedef struct lin_outcome {
    int64_t expected_peak; /* -1: not known, or passes 2^63 - 1 */
    int64_t saved;         /* bytes of the unchanged peak; may be negative */
    double seconds;        /* for the tokens of the unchanged step; negative: not modelled */
    double extra;          /* seconds more than the unchanged step; 0 when not modelled */
    bool fits;
    const char *verdict; /* against the budget */
} lin_outcome;

typedef enum lin_advised_state {
    LIN_ADVISED_SAVES,
    LIN_ADVISED_SAVES_NOTHING, /* alone; it may in a combination */
    LIN_ADVISED_REFUSED,       /* by the model, or not modelled */
    LIN_ADVISED_DOES_NOT_APPLY,
    LIN_ADVISED_STATE_COUNT
} lin_advised_state;
const char *lin_advised_state_name(lin_advised_state state); /* "saves", … */

/* One change alone. */
typedef struct lin_advised {
    const char *name;    /* "micro-batch: 1/4" */
    const char *options; /* what the command line sets: "--batch 2 --grad-accumulation 4" */
    const char *reason;  /* why it saves */
    const char *changes; /* what else is then different; "" for nothing */
    uint32_t family;     /* changes of one family are the same one by different numbers */
    lin_effects effects;
    lin_advised_state state;
    const char *why_not; /* of the last two states; "" else */
    lin_outcome outcome; /* of the first two states */
} lin_advised;

/* Several changes together, or one. */
typedef struct lin_advised_set {
    const uint32_t *members; /* of lin_advice.items, ascending */
    uint32_t count;
    const char *options;
    lin_effects effects; /* of all its members */
    lin_outcome outcome;
} lin_advised_set;

/* Immutable; owns everything in its arena. */
typedef struct lin_advice {
    lin_allocator allocator;
    lin_arena arena;
    const char *model, *entry;
    const char *device; /* NULL: none */
    lin_time_model time_model;
    const char *untimed; /* why there are no times; NULL: there are */
    int64_t budget;
    lin_outcome base;
    /* Those evaluated first: by extra seconds, then bytes saved, then the order of the table; those
     * without times behind them; last those that do not apply. */
    const lin_advised *items;
    uint32_t count;
    /* That fit, none when the base does: the fastest that leaves results alone; the fastest that
     * limits lengths, and that with other numerics, where they are faster; with both, and with
     * another task, only where nothing before fits. */
    const lin_advised_set *sets;
    uint32_t set_count;
    const lin_advised_set *closest;   /* of the smallest peak when nothing fits; else NULL */
    uint64_t combinations, evaluated; /* how many there are, and peaks that were needed */
    const char *const *assumptions;
    uint32_t assumption_count;
} lin_advice;

/* As lin_trace and lin_memory_new for the base; LINNET_ERROR_CANCELLED; LINNET_ERROR_ARGUMENT: a
 * budget below 1. */
linnet_status lin_advice_new(const lin_advice_settings *settings, const lin_allocator *allocator,
                             lin_advice **out, linnet_error *err);
void lin_advice_free(lin_advice *advice); /* accepts NULL */

/* The base, a change or a combination fits. */
bool lin_advice_can_fit(const lin_advice *advice);

#endif
