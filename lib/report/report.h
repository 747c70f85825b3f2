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

/* A step's time: what it takes, what limits it, the utilisations with their formulas, the costliest
 * operations. */
void lin_report_time_text(lin_text *out, const lin_timing *timing);
void lin_report_time_json(lin_text *out, const lin_timing *timing);
/* A device profile's figures. The JSON is a profile file that reads back as the same. */
void lin_report_device_text(lin_text *out, const lin_profile *profile);
void lin_report_device_json(lin_text *out, const lin_profile *profile);

#endif
