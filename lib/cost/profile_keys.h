/* SPDX-License-Identifier: MIT */
#ifndef LIN_PROFILE_KEYS_H
#define LIN_PROFILE_KEYS_H

/* Reading a profile; lib/cost alone includes this. */

#include "cost/cost.h"

/* Fills a zeroed profile whose arena has a jump target. */
linnet_status lin_profile_read(const char *source_name, const char *text, uint64_t length,
                               lin_profile *profile, linnet_error *err);

/* profile_scale.c: the base's figures by the ratios of the two sheets. False: out of memory, and
 * the profile's arena has not jumped, so that `base` can be given back. */
bool lin_profile_scale(lin_profile *profile, const lin_profile *base);
/* Half-precision peak of a sheet: V100 and T4 have f16 and no bf16. 0: none. */
double lin_sheet_half(const lin_sheet *sheet);

#endif
