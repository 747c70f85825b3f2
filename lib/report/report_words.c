/* SPDX-License-Identifier: MIT */

/* Bytes, times, shares and verdicts as the reports word them. */

#include "report/report_words.h"

#include <math.h>

#include "plan/plan.h"

void lin_words_bytes(lin_text *out, int64_t bytes)
{
    char text[LIN_BYTES_TEXT];
    lin_format_bytes(text, bytes);
    lin_text_add(out, text);
}

void lin_words_milliseconds(lin_text *out, double seconds)
{
    const double ms = seconds * 1e3;
    lin_text_fixed(out, ms, fabs(ms) < 10 ? 3 : 2);
    lin_text_add(out, " ms");
}

void lin_words_percent(lin_text *out, double share)
{
    lin_text_fixed(out, share * 100, 1);
    lin_text_add(out, " %");
}

void lin_words_verdict(lin_text *out, int64_t expected_peak, int64_t device_bytes)
{
    char left[LIN_BYTES_TEXT], device[LIN_BYTES_TEXT];
    const int64_t free_bytes = device_bytes - expected_peak;
    lin_format_bytes(left, free_bytes < 0 ? -free_bytes : free_bytes);
    lin_format_bytes(device, device_bytes);
    lin_text_addf(out, "%s: %s %s the device's %s%s.\n",
                  lin_fit_verdict(expected_peak, device_bytes), left,
                  free_bytes < 0 ? "more than" : "of", device, free_bytes < 0 ? "" : " are free");
}
