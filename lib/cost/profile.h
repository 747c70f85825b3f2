/* SPDX-License-Identifier: MIT */
#ifndef LIN_PROFILE_H
#define LIN_PROFILE_H

/* What a device can do: its profile, and rates read off that. Rates are per second, times seconds;
 * cost.h includes this. */

#include "base/base.h"

/* ---- device profiles (linnet-device(5)) ---- */

typedef enum lin_rate_dtype {
    LIN_RATE_BF16,
    LIN_RATE_F16,
    LIN_RATE_F32,
    LIN_RATE_COUNT
} lin_rate_dtype;

/* Everything that is neither bf16 nor f16 computes as f32. */
lin_rate_dtype lin_rate_dtype_of(lin_dtype dtype);

/* What the host is busy with while it issues a call. */
#define LIN_HOST_KINDS(X)             \
    X(VIEW, "view")                   \
    X(ELEMENTWISE, "elementwise")     \
    X(PRODUCT, "product")             \
    X(BATCHED, "batched")             \
    X(ATTENTION, "attention")         \
    X(NORMALIZATION, "normalization") \
    X(WRITE, "write")                 \
    X(GATHER, "gather")               \
    X(JOIN, "join")                   \
    X(CAST, "cast")                   \
    X(REDUCTION, "reduction")         \
    X(MASK, "mask")                   \
    X(BACKWARD, "backward")           \
    X(PRODUCT_BACKWARD, "product_backward")

typedef enum lin_host_kind {
#define X(id, spelling) LIN_HOST_##id,
    LIN_HOST_KINDS(X)
#undef X
        LIN_HOST_COUNT
} lin_host_kind;

/* Rates measured at out x in, rows by `out`; 0: this corner was not. Both axes ascend. */
typedef struct lin_rate_grid {
    const double *out, *in, *rates;
    uint32_t out_count, in_count; /* 0: no grid */
} lin_rate_grid;

typedef enum lin_attention_kind {
    LIN_ATTENTION_CAUSAL,
    LIN_ATTENTION_CAUSAL_BACKWARD,
    LIN_ATTENTION_MASKED,
    LIN_ATTENTION_MASKED_BACKWARD,
    LIN_ATTENTION_COUNT
} lin_attention_kind;

typedef struct lin_attention_rate {
    lin_attention_kind kind;
    bool is_f32;
    int64_t width; /* of a head; 0: any width and dtype */
    double rate;
} lin_attention_rate;

/* Something measured at every corner of up to three axes (grid.c). */
enum { LIN_GRID_AXES = 3 };

typedef struct lin_grid {
    const char *source;
    uint32_t axes; /* 0: not measured */
    uint32_t counts[LIN_GRID_AXES];
    const double *points[LIN_GRID_AXES]; /* ascending, */
    const double *logs[LIN_GRID_AXES];   /* and their logarithms */
    const double *values, *value_logs;   /* the last axis fastest */
} lin_grid;

/* Fused attention by the length of its keys and the heads of all sequences. */
typedef struct lin_attention_grid {
    lin_attention_kind kind;
    bool is_f32;
    int64_t width;
    lin_grid grid;
} lin_attention_grid;

/* By processes and bytes: of the whole result (of a scatter the whole operand). */
#define LIN_COLLECTIVES(X)              \
    X(ALL_REDUCE, "all_reduce")         \
    X(ALL_GATHER, "all_gather")         \
    X(REDUCE_SCATTER, "reduce_scatter") \
    X(ALL_TO_ALL, "all_to_all")

typedef enum lin_collective {
#define X(id, spelling) LIN_COLLECTIVE_##id,
    LIN_COLLECTIVES(X)
#undef X
        LIN_COLLECTIVE_COUNT
} lin_collective;

/* What was measured call by call, beside the rates that stand for every size. */
typedef struct lin_measured {
    double flops[LIN_RATE_COUNT]; /* that products of whole runs reached at most; 0: not known */
    const char *flops_source;     /* NULL: none */
    lin_grid products[LIN_RATE_COUNT]; /* by rows, out, in */
    const lin_attention_grid *attention;
    uint32_t attention_count;
    lin_grid decode;                            /* by bytes of the caches that one query reads */
    lin_grid collectives[LIN_COLLECTIVE_COUNT]; /* seconds */
} lin_measured;

/* How profiles spell these: "bf16", "view", "causal_backward", "all_reduce" (profile_words.c). */
extern const char *const lin_rate_dtype_names[LIN_RATE_COUNT];
extern const char *const lin_host_kind_names[LIN_HOST_COUNT];
extern const char *const lin_attention_kind_names[LIN_ATTENTION_COUNT];
extern const char *const lin_collective_names[LIN_COLLECTIVE_COUNT];

typedef enum lin_grid_kind {
    LIN_GRID_PRODUCT,
    LIN_GRID_ATTENTION,
    LIN_GRID_DECODE,
    LIN_GRID_COLLECTIVE,
    LIN_GRID_FORM_COUNT
} lin_grid_kind;

/* Names of a grid's axes, the last fastest, and of what stands at their corners. */
typedef struct lin_grid_form {
    uint32_t axes;
    const char *axis[LIN_GRID_AXES];
    const char *values;
} lin_grid_form;
extern const lin_grid_form lin_grid_forms[LIN_GRID_FORM_COUNT];

/* What the vendor's data sheet says, dense; 0: nothing. */
typedef struct lin_sheet {
    double bf16, f16, tf32, f32, fp8, fp4; /* operations per second */
    double bandwidth, link;                /* bytes per second; the link in one direction */
} lin_sheet;

/* The devices that `link` connects, and what leads out of them. */
typedef struct lin_node {
    int64_t devices;    /* 0: nothing is known, and every device is on `link` */
    double network;     /* bytes per second and device, in one direction */
    double latency;     /* seconds of a small collective of two nodes */
    const char *source; /* where that is from; NULL: not said */
} lin_node;

/* Immutable; owns everything in its arena. */
typedef struct lin_profile {
    lin_allocator allocator;
    lin_arena arena;
    const char *name, *title, *source;
    const char *base;             /* the profile whose figures were scaled, or NULL */
    int64_t memory_bytes;         /* in all */
    int64_t driver_bytes;         /* that a process can have, as the driver says; 0: not known */
    double flops[LIN_RATE_COUNT]; /* peak of products, operations per second; 0: f32's */
    double bandwidth, elementwise, broadcast, skinny, decode, link; /* bytes per second */
    double latency, reduce;                  /* seconds of a small sum: device, host and device */
    double kernel, strided_kernel, dispatch; /* seconds: floors of a kernel, of an issued call */
    double host[LIN_HOST_COUNT];             /* seconds */
    lin_rate_grid products[LIN_RATE_COUNT];
    const lin_attention_rate *attention;
    uint32_t attention_count;
    lin_sheet sheet;
    lin_node node;
    lin_measured measured; /* the file's own: never scaled */
} lin_profile;

uint32_t lin_profile_count(void);             /* of built-in ones */
const char *lin_profile_name(uint32_t index); /* NULL: out of range */

/* A built-in name, or the path of a profile file: a word with a '/' or ending in ".json".
 * LINNET_ERROR_NOT_FOUND with the nearest name, LINNET_ERROR_FILE, LINNET_ERROR_FORMAT. */
linnet_status lin_profile_open(const char *name_or_path, uint64_t file_bytes,
                               const lin_allocator *allocator, lin_profile **out,
                               linnet_error *err);
/* A profile's text. LINNET_ERROR_FORMAT names the key. */
linnet_status lin_profile_parse(const char *source_name, const char *text, uint64_t length,
                                const lin_allocator *allocator, lin_profile **out,
                                linnet_error *err);
void lin_profile_free(lin_profile *profile); /* accepts NULL */
/* What a budget may count on: the driver's figure, else all of it. */
int64_t lin_profile_budget(const lin_profile *profile);

/* ---- rates (tracing.md 15.6) ---- */

double lin_rate_peak(const lin_profile *profile, lin_rate_dtype dtype);
double lin_rate_product(const lin_profile *profile, lin_rate_dtype dtype, double out, double in);
double lin_rate_attention(const lin_profile *profile, lin_rate_dtype dtype, lin_attention_kind kind,
                          double width);

/* A rate below a grid's first point goes with the size and stays beyond the last; seconds stay
 * below the first and go with the size beyond the last. */
double lin_grid_rate(const lin_grid *grid, const double *at);
double lin_grid_seconds(const lin_grid *grid, const double *at);
bool lin_measured_any(const lin_measured *measured);

/* From the measured grids; 0: there is none for it. */
double lin_measured_product(const lin_profile *profile, lin_rate_dtype dtype, double rows,
                            double out, double in);
double lin_measured_attention(const lin_profile *profile, lin_rate_dtype dtype,
                              lin_attention_kind kind, double width, double length, double heads);
double lin_measured_decode(const lin_profile *profile, double bytes);
double lin_measured_collective(const lin_profile *profile, lin_collective kind, double processes,
                               double bytes);
/* Seconds: as measured where `rules` have R3 and it was, else latency and the link. */
double lin_collective_seconds(const lin_profile *profile, uint64_t rules, lin_collective kind,
                              double processes, double bytes);

#endif
