/* SPDX-License-Identifier: MIT */
#ifndef LIN_REPORT_H
#define LIN_REPORT_H

/* An answer as text and as JSON (cli-report.md 2.1, 2.2), and as pictures. */

#include "cost/cost.h"
#include "plan/plan.h"
#include "json/json.h"

/* `top` > 0 adds the section of the largest live tensors. `out->failed` tells of a failed
 * allocation. */
void lin_report_text(lin_text *out, const lin_answer *answer, uint32_t top);
void lin_report_json(lin_text *out, const lin_answer *answer, uint32_t top);
/* The same as a value of a larger document. */
void lin_report_json_into(lin_writer *w, const lin_answer *answer, uint32_t top);
/* The memory timeline as one SVG file, and as one HTML page with the breakdown and the tables. The
 * answer has a timeline; `capacity_bytes` is a device's memory, 0 when it is not given. */
void lin_report_svg(lin_text *out, const lin_answer *answer, int64_t capacity_bytes);
void lin_report_html(lin_text *out, const lin_answer *answer, int64_t capacity_bytes);
/* The diagnostics of `check --json` (cli-report.md 4.3), of several lists in order. */
void lin_report_diagnostics_json(lin_text *out, const lin_diagnostics *const *lists,
                                 uint64_t count);

/* The largest size that fits. `answer` is of it or, in the text, else of the smallest; NULL: none.
 */
void lin_report_fit_text(lin_text *out, const lin_fit *fit, const lin_answer *answer, uint32_t top);
void lin_report_fit_json(lin_text *out, const lin_fit *fit, const lin_answer *answer, uint32_t top);
/* The changes that make it fit. */
void lin_report_advice_text(lin_text *out, const lin_advice *advice);
void lin_report_advice_json(lin_text *out, const lin_advice *advice);

/* A step's time: what it takes, what limits it, the utilisations with their formulas, the costliest
 * operations. */
void lin_report_time_text(lin_text *out, const lin_timing *timing);
void lin_report_time_json(lin_text *out, const lin_timing *timing);

/* ---- several configurations side by side ---- */

typedef enum lin_section {
    LIN_SECTION_SETTINGS,
    LIN_SECTION_COMPONENTS,
    LIN_SECTION_DEVICES, /* stages of a pipeline, their expected peaks */
    LIN_SECTION_PEAKS,
    LIN_SECTION_TIME,
    LIN_SECTION_COUNT
} lin_section;

typedef enum lin_unit {
    LIN_UNIT_NONE, /* words, and whatever a setting is */
    LIN_UNIT_BYTES,
    LIN_UNIT_SECONDS,
    LIN_UNIT_TOKENS,
    LIN_UNIT_TOKENS_PER_SECOND,
    LIN_UNIT_SHARE
} lin_unit;

typedef enum lin_cell_state {
    LIN_CELL_ABSENT, /* the configuration has no such thing */
    LIN_CELL_UNKNOWN,
    LIN_CELL_WORD,
    LIN_CELL_FLAG,
    LIN_CELL_INTEGER,
    LIN_CELL_NUMBER
} lin_cell_state;

typedef struct lin_cell {
    lin_cell_state state;
    int64_t integer; /* INTEGER, FLAG */
    double number;   /* NUMBER */
    const char *word;
} lin_cell;

typedef struct lin_compared {
    lin_section section;
    lin_unit unit;
    const char *name;
    bool is_total; /* shown even where nothing differs */
    bool differs;
    const lin_cell *cells; /* by column */
} lin_compared;

enum { LIN_SIDES_MOST = 64 }; /* columns */

typedef struct lin_sides lin_sides;

linnet_status lin_sides_new(const lin_allocator *allocator, lin_sides **out, linnet_error *err);
void lin_sides_free(lin_sides *sides); /* accepts NULL */
/* Documents of `memory`, `time` or `fit`: one, or an array of them, each a column. All or nothing.
 * LINNET_ERROR_FORMAT with the place and the key; LINNET_ERROR_ARGUMENT: of another kind than the
 * columns before, or too many. */
linnet_status lin_sides_add_json(lin_sides *sides, const char *label, const char *text,
                                 uint64_t length, linnet_error *err);
/* One column of an answer, its timing or both; the other may be NULL. */
linnet_status lin_sides_add(lin_sides *sides, const char *label, const lin_answer *answer,
                            const lin_timing *timing, linnet_error *err);
uint32_t lin_sides_columns(const lin_sides *sides);
const char *lin_sides_label(const lin_sides *sides, uint32_t column);
bool lin_sides_has_memory(const lin_sides *sides);
bool lin_sides_has_time(const lin_sides *sides); /* some column has */
uint32_t lin_sides_rows(const lin_sides *sides);
const lin_compared *lin_sides_row(const lin_sides *sides, uint32_t row);
const char *lin_sides_verdict(const lin_sides *sides, uint32_t column);

const char *lin_section_name(lin_section section); /* "component" */
const char *lin_unit_name(lin_unit unit);          /* "bytes"; NULL for NONE */

/* A component that a column does not have counts as 0 bytes. */
lin_cell lin_compared_cell(const lin_compared *row, uint32_t column);

/* A column's value less the first column's. */
typedef struct lin_change {
    bool is_known;   /* both have a number */
    int64_t integer; /* of bytes, */
    double number;   /* and of anything */
    bool has_ratio;  /* the first is not 0 */
    double ratio;    /* the difference over the first */
} lin_change;
lin_change lin_compared_change(const lin_compared *row, uint32_t column);

/* `all`: also what is the same everywhere. The JSON always has all. */
void lin_report_comparison_text(lin_text *out, const lin_sides *sides, bool all);
void lin_report_comparison_json(lin_text *out, const lin_sides *sides);

/* The object of a step's time, after its key. */
void lin_report_throughput_into(lin_writer *w, const lin_step_time *time);

/* The fastest layouts (cli-report.md 3.2). With `explain`, of the published space, and where none
 * runs, also what does not run and why. The JSON has everything in the list; `best`: the answer of
 * the first layout, NULL: none. */
void lin_report_layouts_text(lin_text *out, const lin_layouts *layouts, bool explain);
void lin_report_layouts_json(lin_text *out, const lin_layouts *layouts, const lin_answer *best,
                             uint32_t top);
/* The same as a value of a larger document. */
void lin_report_layouts_into(lin_writer *w, const lin_layouts *layouts, const lin_answer *best,
                             uint32_t top);
/* How many devices a job needs, with the layouts of that many. `device` is its name. */
void lin_report_needed_text(lin_text *out, const lin_devices_needed *needed, const char *device);
void lin_report_needed_json(lin_text *out, const lin_devices_needed *needed, const char *device);
/* A device profile's figures. The JSON is a profile file that reads back as the same. */
void lin_report_device_text(lin_text *out, const lin_profile *profile);
void lin_report_device_json(lin_text *out, const lin_profile *profile);

#endif
