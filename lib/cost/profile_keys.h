/* SPDX-License-Identifier: MIT */
#ifndef LIN_PROFILE_KEYS_H
#define LIN_PROFILE_KEYS_H

/* Reading a profile; lib/cost alone includes this. */

#include "cost/cost.h"

/* Fills a zeroed profile whose arena has a jump target. */
linnet_status lin_profile_read(const char *source_name, const char *text, uint64_t length,
                               lin_profile *profile, linnet_error *err);

#endif
