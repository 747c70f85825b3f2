/* SPDX-License-Identifier: MIT */
#ifndef LIN_REPORT_MEASURED_H
#define LIN_REPORT_MEASURED_H

/* What a profile's `measured` says, for report_device.c. */

#include "report/report.h"
#include "json/json.h"

/* Nothing where nothing was measured. */
void lin_report_measured_text(lin_text *out, const lin_measured *measured);
/* The key and its object. */
void lin_report_measured_json(lin_writer *w, const lin_measured *measured);

#endif
