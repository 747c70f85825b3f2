/* SPDX-License-Identifier: MIT */

/* How profiles spell what they name: read by those who read them, written by those who print them.
 * Tables alone. */

#include "cost/cost.h"

const char *const lin_rate_dtype_names[LIN_RATE_COUNT] = { "bf16", "f16", "f32" };

const char *const lin_attention_kind_names[LIN_ATTENTION_COUNT] = { "causal", "causal_backward",
                                                                    "masked", "masked_backward" };

#define X(id, spelling) spelling,
const char *const lin_host_kind_names[LIN_HOST_COUNT] = { LIN_HOST_KINDS(X) };
const char *const lin_collective_names[LIN_COLLECTIVE_COUNT] = { LIN_COLLECTIVES(X) };
#undef X

const lin_grid_form lin_grid_forms[LIN_GRID_FORM_COUNT] = {
    [LIN_GRID_PRODUCT] = { 3, { "rows", "out", "in" }, "rates" },
    [LIN_GRID_ATTENTION] = { 2, { "length", "heads" }, "rates" },
    [LIN_GRID_DECODE] = { 1, { "bytes" }, "rates" },
    [LIN_GRID_COLLECTIVE] = { 2, { "processes", "bytes" }, "seconds" },
};
