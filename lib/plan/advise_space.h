/* SPDX-License-Identifier: MIT */
#ifndef LIN_ADVISE_SPACE_H
#define LIN_ADVISE_SPACE_H

/* Combinations of changes and their peaks and times; lib/plan's advise files alone include this. */

#include "plan/plan.h"

/* What a change is about: a combination has at most one of each. In the order in which they are
 * set. The first ones change what is computed, and so a time has to be found for each. */
typedef enum change_kind {
    KIND_NUMERICS,
    KIND_DTYPE,
    KIND_ATTENTION,
    KIND_LOSS,
    KIND_SEQUENCE,
    KIND_TENSOR,
    KIND_LORA,
    KIND_RECOMPUTE,
    KIND_OPTIMIZER, /* from here on: what is computed stays */
    KIND_SHARDING,
    KIND_CACHE,
    KIND_CACHE_BLOCK,
    KIND_SPLIT,
    KIND_COUNT
} change_kind;

/* A configuration with changes. Borrows from the base. */
typedef struct advice_variant {
    lin_trace_settings trace;
    lin_memory_settings memory;
    lin_training_settings training;
    bool is_training;
    int64_t size[LIN_ROLE_COUNT]; /* 0: as configured */
    char options[512];            /* what was set, as options of the command line */
} advice_variant;

/* What rows ask about the unchanged configuration. */
typedef struct advice_facts {
    advice_variant base;
    bool replicas_given, cache_follows;
    const char *dtype;              /* the root's float dtype; "" for none */
    int64_t fused;                  /* the root's generic `Fused`; -1: none */
    const lin_setting *fused_binds; /* the configuration's, and `Fused` as 1 */
    bool has_sequence;              /* a generic `SequenceShards` */
    int64_t layers;                 /* of the longest array that steps run in; 0: none */
    const char *array;              /* its path, "layers" */
    lin_role cut;                   /* what the first axis of the first input is; -1: neither */
    bool has_caches;
    bool continues;                     /* the entry uses caches and has positions of its own */
    int64_t role_value[LIN_ROLE_COUNT]; /* -1: not free */
} advice_facts;

typedef enum change_use { FOR_TRAINING = 1, FOR_INFERENCE = 2, FOR_BOTH = 3 } change_use;

typedef struct advice_option advice_option;

enum { MOST_VALUES = 64 };

/* What a row is asked: which values it can take, ascending in cost. */
typedef struct change_query {
    const advice_facts *facts;
    int64_t given; /* the row's */
    int64_t values[MOST_VALUES];
    const char *why; /* there are none */
} change_query;

/* What a row sets. */
typedef struct change_setting {
    const advice_facts *facts;
    const advice_option *option;
    advice_variant *v;
} change_setting;

/* A row of the table. */
typedef struct change_row {
    const char *name; /* `#` stands for the value, `@` for the layers: "batch: 1/#" */
    change_kind kind;
    lin_effects effects;
    change_use use;
    bool untimed;                      /* its time is not modelled */
    int64_t given;                     /* for `find` of rows that share one */
    uint32_t (*find)(change_query *q); /* how many values */
    /* Allocates nothing, so that it may be used while a memory is open. */
    void (*apply)(const change_setting *a);
    /* The option's text, made once; NULL: it has none. */
    const char *(*text)(const advice_facts *facts, int64_t value, lin_arena *arena);
    const char *reason, *changes;
} change_row;

uint32_t lin_advise_row_count(void);
const change_row *lin_advise_row(uint32_t index);

/* A row with a value. */
struct advice_option {
    const change_row *row;
    int64_t value;
    const char *text;
    uint32_t item; /* in the order of the table, which is that of the usual cost */
};

enum { MOST_ITEMS = 64 }; /* a set of items is 64 bits */

typedef struct advice_choice {
    uint8_t option[KIND_COUNT]; /* 0: none, else 1 + the option's number */
} advice_choice;

/* A peak or a time that was not asked for yet, and one that there is none of. */
enum { NOT_YET = -2, THERE_IS_NONE = -1 };

typedef struct advice_space {
    const lin_advice_settings *settings;
    const lin_allocator *allocator;
    lin_arena *arena;   /* the answer's, */
    lin_arena *scratch; /* and of the call */
    advice_facts facts;
    advice_option options[KIND_COUNT][MOST_ITEMS];
    uint32_t option_count[KIND_COUNT];
    bool is_dropped[KIND_COUNT][MOST_ITEMS]; /* refused alone, or the same as no change */
    lin_advised items[MOST_ITEMS];
    uint32_t item_count;
    uint64_t size;           /* combinations, that of no change included: index 0 */
    int64_t *peaks;          /* by combination, as all these */
    int64_t *fixed, *active; /* bounds: see advise_bound.c */
    double *seconds;         /* by combination */
    double tokens;           /* of the unchanged step */
    bool is_timed;
    bool base_holds;       /* every `where` clause of the unchanged configuration */
    int64_t smallest_peak; /* of those known */
    uint64_t smallest_index;
    uint64_t evaluated, done, total;
    char refusal[416]; /* why the last one was refused */
} advice_space;

/* advise_facts.c: the space is made, all but its numbers. */
linnet_status lin_advise_find_facts(advice_space *s, linnet_error *err);
/* Globs of the first `count` indices of the array: "layers.?,layers.1[0-5]". */
void lin_advise_first_elements(const char *array, int64_t count, char *out, uint64_t capacity);

/* advise_space.c */
void lin_advise_option(advice_variant *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Items and options, out of the table; and the numbers of their combinations. */
void lin_advise_list_items(advice_space *s);
/* Combinations with an option that was dropped are none. */
bool lin_advise_is_dropped(const advice_space *s, const advice_choice *choice);
uint64_t lin_advise_index(const advice_space *s, const advice_choice *choice);
advice_choice lin_advise_choice(const advice_space *s, uint64_t index);
uint64_t lin_advise_members(const advice_space *s, const advice_choice *choice); /* items' bits */
lin_effects lin_advise_effects(const advice_space *s, const advice_choice *choice);
advice_variant lin_advise_vary(const advice_space *s, const advice_choice *choice);

/* advise_trial.c. Refusals of the model are answers: only other failures are returned. */
linnet_status lin_advise_peak(advice_space *s, uint64_t index, linnet_error *err);
linnet_status lin_advise_time(advice_space *s, uint64_t index, linnet_error *err);
lin_outcome lin_advise_outcome(const advice_space *s, uint64_t index);

/* advise_bound.c */
void lin_advise_note_bounds(advice_space *s, const advice_choice *choice, const lin_answer *answer);
/* Bytes that the combination's peak is not below. */
int64_t lin_advise_bound(const advice_space *s, const advice_choice *choice);

/* advise_combine.c */
/* Tells the caller how far it is, who may stop it. */
linnet_status lin_advise_tell(advice_space *s, linnet_error *err);
typedef struct advice_found {
    bool found;
    uint64_t index;
} advice_found;
/* The cheapest that fits of those with exactly these effects or, of another task, with any beside
 * it. `below`: only if it takes less time than that one; not found: any. */
linnet_status lin_advise_combine(advice_space *s, lin_effects effects, const advice_found *below,
                                 advice_found *out, linnet_error *err);
/* Nothing fits: evaluates until `smallest_index` is of the smallest peak of all. */
linnet_status lin_advise_find_closest(advice_space *s, linnet_error *err);

#endif
