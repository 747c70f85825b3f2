/* SPDX-License-Identifier: MIT */
#ifndef LIN_REPORT_WORDS_H
#define LIN_REPORT_WORDS_H

/* What several reports for people say in the same words; lib/report alone includes this. */

#include "base/base.h"

void lin_words_bytes(lin_text *out, int64_t bytes);         /* "77.68 GiB", "-1.34 GiB" */
void lin_words_milliseconds(lin_text *out, double seconds); /* "2.232 ms", "12.30 ms" */
void lin_words_percent(lin_text *out, double share);        /* "47.0 %" */
/* "OK: 2.32 GiB of the device's 80.00 GiB are free." */
void lin_words_verdict(lin_text *out, int64_t expected_peak, int64_t device_bytes);

#endif
