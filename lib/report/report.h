/* SPDX-License-Identifier: MIT */
#ifndef LIN_REPORT_H
#define LIN_REPORT_H

/* An answer as text and as JSON (cli-report.md 2.1, 2.2). */

#include "memory/memory.h"

/* `top` > 0 adds the section of the largest live tensors. `out->failed` tells of a failed
 * allocation. */
void lin_report_text(lin_text *out, const lin_answer *answer, uint32_t top);
void lin_report_json(lin_text *out, const lin_answer *answer, uint32_t top);
/* The diagnostics of `check --json` (cli-report.md 4.3), of several lists in order. */
void lin_report_diagnostics_json(lin_text *out, const lin_diagnostics *const *lists,
                                 uint64_t count);

#endif
