/* SPDX-License-Identifier: MIT */
#ifndef LIN_FAMILY_MOE_H
#define LIN_FAMILY_MOE_H

/* What the families with mixtures of experts (family_moe.c, family_mla.c) read alike. */

#include "source/family.h"

/* A gated MLP without experts, the shared one beside the experts, and the experts with their
 * router, as most families call them. */
extern const family_name lin_moe_plain_names[3], lin_moe_shared_names[3], lin_moe_expert_names[4];

/* A factor as the thousandths a source takes, 0 where it is 1: no step is made for it. */
int64_t lin_family_moe_milli(family_reader *r, const char *key, double factor);
/* The same for a key of the config, 1 without it. */
void lin_family_moe_scale(family_reader *r, const char *generic, const char *key);
/* The choice is limited to groups of experts (`n_group`, `topk_group`, with these fallbacks); a
 * group is as good as its `best` best. */
void lin_family_moe_groups(family_reader *r, int64_t experts, int64_t groups, int64_t open,
                           int64_t best);
/* Vocab, H, Heads, Layers, Batch, MaxSeq, T, Theta, InverseEps; a gated layer with silu. */
void lin_family_moe_sizes(family_reader *r, int64_t positions, double theta, double epsilon);
/* The head, tied or not; "rotary_emb.inv_freq" and the layers past the last (for predicting more
 * tokens than one) are no parameters of the model. */
void lin_family_moe_head(family_reader *r, bool tied_by_default);
/* Every row's path put after `place`, its tensor after "model.layers." and the layer's number. */
void lin_family_moe_bind(family_reader *r, const char *place, const char *number,
                         const family_name *names, uint32_t count);

#endif
