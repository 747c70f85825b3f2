/* SPDX-License-Identifier: MIT */
#ifndef LIN_FAMILY_PARTS_H
#define LIN_FAMILY_PARTS_H

/* What several families' files share: parts that have a weight and perhaps a bias, products of
 * sizes, and the sizes of classic.linnet. All jump out on failure, like family.h. */

#include "source/family.h"

/* Parts of a program, their paths and tensors without ".weight" and ".bias". */
typedef struct family_parts {
    const family_name *names;
    uint32_t count;
} family_parts;
#define FAMILY_PARTS(array) ((family_parts){ (array), ARRAY_LEN(array) })

void lin_family_bind_parts(family_reader *r, family_parts parts, const char *prefix, bool has_bias);

/* LINNET_ERROR_OVERFLOW past int64. */
int64_t lin_family_times(family_reader *r, int64_t a, int64_t b);
int64_t lin_family_plus(family_reader *r, int64_t a, int64_t b);
/* A size that must be at least 1; its key is for the message. */
int64_t lin_family_size(family_reader *r, const lin_json *object, const char *key,
                        int64_t fallback);

/* A flag that must have the value the source is written for. */
void lin_family_expect_flag(family_reader *r, const lin_json *object, const char *key, bool meant);
bool lin_family_ends_with(const char *text, const char *end);
/* LINNET_ERROR_UNSUPPORTED: the class in `architectures` has a head of another kind. */
_Noreturn void lin_family_refuse_head(family_reader *r);
/* Notes an epsilon other than the source's, which changes no size. */
void lin_family_note_epsilon(family_reader *r, const lin_json *object, const char *key, double own);
/* Batch 1, and caches as long as the model allows, up to 8192 positions. */
void lin_family_set_cache(family_reader *r, int64_t positions);

/* ---- classic.linnet ---- */

typedef struct classic_sizes {
    int64_t vocab, hidden, heads, kv_heads, inner, layers;
    int64_t positions; /* the longest sequence */
} classic_sizes;

/* Chooses the program and sets what every family has. Gives the width of a head. */
int64_t lin_classic_set(family_reader *r, const classic_sizes *s);
/* Refuses classes that are no language models; notes a class without a head. */
void lin_classic_expect(family_reader *r);
void lin_classic_activation(family_reader *r, const char *key, const char *fallback);
bool lin_classic_tied(family_reader *r, bool fallback);
/* The table of embeddings, and the head: the table again, or a tensor of its own. */
void lin_classic_words(family_reader *r, const char *block, const char *table, const char *head);

#endif
