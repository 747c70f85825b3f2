/* SPDX-License-Identifier: MIT */
#ifndef LIN_PROFILE_KEYS_H
#define LIN_PROFILE_KEYS_H

/* Reading a profile; lib/cost alone includes this. */

#include "cost/cost.h"
#include "json/json.h"

typedef struct profile_reader {
    const char *source;
    lin_profile *profile;
    linnet_error *err;
} profile_reader;

/* Fills a zeroed profile whose arena has a jump target. */
linnet_status lin_profile_read(const char *source_name, const char *text, uint64_t length,
                               lin_profile *profile, linnet_error *err);

/* What the readers of keys share. `key` is the whole path of one: "measured.decode". */
linnet_status lin_profile_refuse(profile_reader *r, const char *key, const char *why);
const char *lin_profile_join(profile_reader *r, const char *outer, const char *inner);
/* A rate or a size: finite and more than 0. */
linnet_status lin_profile_number(profile_reader *r, const char *key, const lin_json *value,
                                 double *out);
/* Whether `key` is one of `words`; the nearest is named if it is not. `out` may be NULL. */
linnet_status lin_profile_known(profile_reader *r, const char *inside, const char *key,
                                const char *const *words, uint32_t count, uint32_t *out);
/* KIND, KIND/WIDTH or KIND/WIDTH/f32. */
bool lin_profile_attention_key(const char *key, lin_attention_rate *out);
/* profile_grids.c */
linnet_status lin_profile_read_measured(profile_reader *r, const lin_json *object);

/* profile_scale.c: the base's figures by the ratios of the two sheets. False: out of memory, and
 * the profile's arena has not jumped, so that `base` can be given back. */
bool lin_profile_scale(lin_profile *profile, const lin_profile *base);
/* Half-precision peak of a sheet: V100 and T4 have f16 and no bf16. 0: none. */
double lin_sheet_half(const lin_sheet *sheet);

#endif
