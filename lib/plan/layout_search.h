/* SPDX-License-Identifier: MIT */
#ifndef LIN_LAYOUT_SEARCH_H
#define LIN_LAYOUT_SEARCH_H

/* What the files of the layout search share; lib/plan alone includes this. */

#include "cost/cost.h"
#include "plan/plan.h"
#include "schedule/schedule.h"

/* ---- layout_space.c: which layouts there are ---- */

enum { LIN_SPACE_SHARDINGS = 8, LIN_SPACE_POLICIES = 64, LIN_SPACE_STAGES = 3 };
/* Devices of a node where the profile does not say: that of DGX and HGX systems. */
enum { LIN_SPACE_NODE = 8 };

/* How the processes that have data of their own divide a training step's states. */
typedef struct lin_sharding {
    int64_t shards, replicas;
    int32_t zero;
} lin_sharding;

/* Layouts of one trace and one pipeline degree. */
typedef struct lin_layout_unit {
    int64_t tensor, context, expert, pipeline;
    bool sequence;
    int64_t data; /* processes on data of their own */
    lin_sharding shardings[LIN_SPACE_SHARDINGS];
    uint32_t sharding_count;
} lin_layout_unit;

typedef LIN_LIST(lin_layout_unit) lin_layout_units;

/* What the space depends on beside the settings. */
typedef struct lin_layout_facts {
    lin_role role;      /* what is searched, or shared out */
    bool is_size_given; /* by the caller, for each data-parallel rank */
    int64_t size;
    bool has_sequence, has_experts;
    int64_t units;           /* of the root: a stage holds one at least */
    const char *split_entry; /* as the graph's */
} lin_layout_facts;

void lin_space_units(const lin_layouts_settings *settings, const lin_layout_facts *facts,
                     lin_arena *arena, lin_layout_units *out);
/* Policies of checkpointing, in order; one NULL in inference. */
uint32_t lin_space_policies(const lin_layouts_settings *settings,
                            const char *out[LIN_SPACE_POLICIES]);
/* Stages a rank holds, that some schedule has. */
uint32_t lin_space_virtual_stages(const lin_layouts_settings *settings,
                                  const lin_layout_facts *facts, const lin_layout_unit *unit,
                                  int64_t out[LIN_SPACE_STAGES]);
/* Whether schedule `index` of schedule.h holds so many stages a rank and is looked at. */
bool lin_space_has_schedule(const lin_layouts_settings *settings, uint32_t index,
                            int64_t virtual_stages);
/* Micro-batches of a step of `size`, ascending; of any size where it is 0. */
typedef LIN_LIST(int64_t) lin_counts;
void lin_space_microbatches(const lin_layouts_settings *settings, const lin_layout_unit *unit,
                            int64_t size, lin_arena *arena, lin_counts *out);

/* ---- layout_bench.c: what is made once for many layouts ---- */

enum { LIN_BENCH_KEYS = 13, LIN_BENCH_PREPARED = 24, LIN_BENCH_SCHEDULES = 32 };

/* A memory of one way to split a model, or why there is none. */
typedef struct lin_prepared {
    int64_t key[LIN_BENCH_KEYS];
    uint64_t used; /* 0: empty */
    linnet_status status;
    char message[416];
    lin_memory *memory;
    lin_timer *timer;  /* NULL: it was not asked for */
    uint64_t schedule; /* the one it follows, by number; 0: its own */
} lin_prepared;

typedef struct lin_bench_schedule {
    const char *name; /* NULL: empty */
    int64_t ranks, virtual_stages, microbatches;
    uint64_t used, number;
    lin_schedule *schedule;
} lin_bench_schedule;

/* Schedules of one pipeline and number of micro-batches, without actions. */
enum { LIN_BENCH_OUTLINES = 16 };

/* One thread's. */
typedef struct lin_bench {
    const lin_layouts_settings *settings;
    const lin_layout_facts *facts;
    const lin_allocator *allocator;
    lin_time_weigher weigher; /* of stages that are balanced by time */
    uint64_t clock;
    lin_prepared prepared[LIN_BENCH_PREPARED];
    lin_bench_schedule schedules[LIN_BENCH_SCHEDULES];
    lin_schedule *outlines[LIN_BENCH_OUTLINES];
    uint8_t outline_kind[LIN_BENCH_OUTLINES]; /* by schedule.h */
    uint32_t outline_count;
    char outline_refused[sizeof((linnet_error *)0)->message]; /* why there is none; "" else */
} lin_bench;

void lin_bench_open(lin_bench *bench, const lin_layouts_settings *settings,
                    const lin_layout_facts *facts, const lin_allocator *allocator);
void lin_bench_close(lin_bench *bench);
/* Neither sharded nor replicated, one micro-batch, a stage a rank: for times and bounds. Failures
 * are those of a search: what a layout is refused for is in the result. */
linnet_status lin_bench_base(lin_bench *bench, const lin_job_layout *layout, lin_prepared **out,
                             linnet_error *err);
/* The layout's own, following its schedule. Valid until the next call. */
linnet_status lin_bench_memory(lin_bench *bench, const lin_job_layout *layout, lin_prepared **out,
                               linnet_error *err);
/* The layout's own with its micro-batches, and its calls: for schedules that no other one replaces.
 */
linnet_status lin_bench_own(lin_bench *bench, const lin_job_layout *layout, lin_prepared **out,
                            linnet_error *err);
/* Borrowed; valid until the next call. NULL with LINNET_OK: it is not legal. */
linnet_status lin_bench_schedule_of(lin_bench *bench, const lin_job_layout *layout,
                                    const lin_schedule **out, linnet_error *err);
/* The legal ones of those that the space has, in bench->outlines. */
linnet_status lin_bench_outline(lin_bench *bench, int64_t ranks, int64_t virtual_stages,
                                int64_t microbatches, linnet_error *err);
/* Whether a search ends with this, rather than a layout. */
bool lin_bench_is_fatal(linnet_status status);

/* ---- layout_rate.c: one layout at one size ---- */

/* `size` of the searched role in `layout`: of all of a step, and of what is traced at once. */
void lin_rate_sizes(const lin_layout_facts *facts, const lin_job_layout *layout, int64_t size,
                    int64_t whole[LIN_ROLE_COUNT], int64_t one[LIN_ROLE_COUNT]);
/* Roles of the step that were not asked for too. A micro-batch has the caches of its step. */
linnet_status lin_rate_resolve(lin_memory *memory, int64_t whole[LIN_ROLE_COUNT],
                               int64_t one[LIN_ROLE_COUNT], linnet_error *err);
/* Bytes that no layout of this base with that sharding can do without. */
int64_t lin_rate_floor(int64_t base_peak, const lin_memory_floor *floor,
                       const lin_sharding *sharding, bool splits_backward);

typedef struct lin_rate {
    bool fits;
    int64_t expected_peak; /* -1: passes 2^63 - 1 */
    lin_step_time time;
} lin_rate;

/* Exact. `at_least` tokens per second are wanted: a slower step's memory is not looked at, and it
 * does not fit with a peak of 0. LINNET_ERROR_… with a reason that refuses the layout. */
linnet_status lin_rate_layout(lin_bench *bench, const lin_job_layout *layout, int64_t size,
                              double at_least, lin_rate *out, linnet_error *err);

/* ---- layout_published.c ---- */

typedef LIN_LIST(lin_layout_result) lin_results;
linnet_status lin_published_search(const lin_layouts_settings *settings,
                                   const lin_layout_facts *facts, const lin_allocator *allocator,
                                   lin_arena *arena, lin_results *out, linnet_error *err);

/* ---- layout_best.c: the space by bounds ---- */

linnet_status lin_best_search(const lin_layouts_settings *settings, const lin_layout_facts *facts,
                              const lin_allocator *allocator, lin_arena *arena, lin_results *out,
                              uint64_t *out_considered, linnet_error *err);

/* ---- layouts.c ---- */

/* That the fixed degrees make; INT64_MAX: more. */
int64_t lin_layouts_given_devices(const lin_layouts_settings *settings);

const char *lin_layouts_name(lin_arena *arena, const lin_job_layout *layout);
/* Says so to the caller; true: it wants to stop. */
bool lin_layouts_progress(const lin_layouts_settings *settings, uint64_t done, uint64_t total);
linnet_status lin_layouts_cancelled(linnet_error *err);

#endif
