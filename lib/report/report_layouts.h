/* SPDX-License-Identifier: MIT */
#ifndef LIN_REPORT_LAYOUTS_H
#define LIN_REPORT_LAYOUTS_H

/* What the text and the JSON of layouts share; lib/report alone includes this. */

#include "report/report.h"

/* Layouts that do not run for one reason. */
typedef struct lin_dropped {
    lin_layout_state state;
    const char *reason;
    uint32_t count;
} lin_dropped;

enum { LIN_DROPPED_MOST = 64 }; /* reasons; what is beyond them is one more group */

typedef struct lin_dropped_list {
    lin_dropped items[LIN_DROPPED_MOST + 1]; /* the most first */
    uint32_t count;
} lin_dropped_list;

void lin_dropped_group(const lin_layouts *layouts, lin_dropped_list *out);

uint32_t lin_layouts_running(const lin_layouts *layouts);
void lin_report_layouts_table(lin_text *out, const lin_layouts *layouts, bool explain);
void lin_report_layouts_assumptions(lin_text *out, const lin_layouts *layouts);

#endif
