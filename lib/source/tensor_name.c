/* SPDX-License-Identifier: MIT */

/*
 * The name of a checkpoint's tensor from what a binding says and a parameter's place in its arrays:
 *
 *     "model.layers.{6*i+j}.mlp.up_proj.weight" at groups[3].near[2] is model.layers.20.mlp. …
 *
 * Braces that hold anything else (a file of the user's may) stand for themselves.
 */

#include "source/source.h"

#include <string.h>

enum { FIRST_INDEX = 'i' };

/* A cursor over what is between the braces. */
typedef struct sum {
    const char *at;
    const int64_t *indices;
    uint32_t count;
    int64_t value;
} sum;

static bool read_number(sum *s, int64_t *out)
{
    const uint64_t digits = strspn(s->at, "0123456789");
    const char *text = s->at;
    s->at += digits;
    return digits > 0 && lin_parse_i64(text, digits, out);
}

/* term := number | (number "*")? letter */
static bool add_term(sum *s)
{
    int64_t term = 1;
    const bool has_number = *s->at >= '0' && *s->at <= '9';
    if (has_number && !read_number(s, &term))
        return false;
    if (has_number && *s->at != '*')
        return lin_add_i64(s->value, term, &s->value);
    s->at += has_number;
    const char letter = *s->at;
    if (letter < FIRST_INDEX || (uint32_t)(letter - FIRST_INDEX) >= s->count)
        return false;
    s->at++;
    return lin_mul_i64(term, s->indices[letter - FIRST_INDEX], &term) &&
           lin_add_i64(s->value, term, &s->value);
}

/* sum := "{" term ("+" term)* "}", at its first term. False leaves the braces as they are. */
static bool read_sum(sum *s)
{
    while (add_term(s)) {
        if (*s->at == '}')
            return true;
        if (*s->at++ != '+')
            return false;
    }
    return false;
}

void lin_binding_tensor_name(lin_text *out, const char *tensor, const int64_t *indices,
                             uint32_t count)
{
    for (const char *mark; (mark = strchr(tensor, '{')) != NULL;) {
        sum s = { .at = mark + 1, .indices = indices, .count = count };
        lin_text_append(out, tensor, (uint64_t)(mark - tensor));
        if (read_sum(&s)) {
            lin_text_i64(out, s.value);
            tensor = s.at + 1;
        } else {
            lin_text_append(out, mark, 1);
            tensor = mark + 1;
        }
    }
    lin_text_add(out, tensor);
}
