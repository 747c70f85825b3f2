/* SPDX-License-Identifier: MIT */
#ifndef LIN_STAGE_BALANCE_H
#define LIN_STAGE_BALANCE_H

/* Stages balanced by the time that a device takes (tracing.md 11.1 balances them by bytes). */

#include "cost/cost.h"

/* A weigher for lin_pipeline_settings. Borrows the profile; lives where its maker keeps it. */
typedef struct lin_time_weigher {
    lin_unit_weigher base; /* first: what `weigh` is given */
    const lin_profile *profile;
    lin_time_model model;
    int searched_role; /* whose size varies, whatever is configured; -1: none */
    lin_allocator allocator;
} lin_time_weigher;

lin_time_weigher lin_plan_time_weigher(const lin_profile *profile, lin_time_model model,
                                       int searched_role, const lin_allocator *allocator);

#endif
