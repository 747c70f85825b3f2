/* SPDX-License-Identifier: MIT */

/* What several families' files share; see the header. */

#include "source/family_parts.h"

#include <string.h>

#include "base/checked.h"

/* The caches' positions when nobody says how many. */
enum { MOST_CACHED = 8192 };

void lin_family_bind_parts(family_reader *r, family_parts parts, const char *prefix, bool has_bias)
{
    static const char *const kinds[] = { "weight", "bias" };
    for (uint32_t i = 0; i < parts.count; i++) {
        const family_name *name = &parts.names[i];
        for (uint32_t k = 0; k < (has_bias ? 2 : 1); k++)
            lin_family_bind(r, lin_arena_format(r->arena, "%s.%s", name->path, kinds[k]),
                            lin_arena_format(r->arena, "%s%s.%s", prefix, name->tensor, kinds[k]));
    }
}

int64_t lin_family_times(family_reader *r, int64_t a, int64_t b)
{
    int64_t product;
    if (!lin_mul_i64(a, b, &product))
        lin_family_fail(r, LINNET_ERROR_OVERFLOW, "%lld times %lld does not fit in 64 bits",
                        (long long)a, (long long)b);
    return product;
}

int64_t lin_family_plus(family_reader *r, int64_t a, int64_t b)
{
    int64_t sum;
    if (!lin_add_i64(a, b, &sum))
        lin_family_fail(r, LINNET_ERROR_OVERFLOW, "%lld and %lld do not fit in 64 bits",
                        (long long)a, (long long)b);
    return sum;
}

int64_t lin_family_size(family_reader *r, const lin_json *object, const char *key, int64_t fallback)
{
    const int64_t size = lin_family_int(r, object, key, fallback);
    if (size < 1)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` is 0; at least 1 is meant", key);
    return size;
}

void lin_family_expect_flag(family_reader *r, const lin_json *object, const char *key, bool meant)
{
    if (lin_family_flag(r, object, key, meant) != meant)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                        "`%s` %s is not expressed by the source of `%s`", key,
                        meant ? "false" : "true", r->model_type);
}

bool lin_family_ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

_Noreturn void lin_family_refuse_head(family_reader *r)
{
    lin_family_fail(r, LINNET_ERROR_UNSUPPORTED,
                    "class `%s` is not expressed by the source of `%s`", r->architecture,
                    r->model_type);
}

void lin_family_note_epsilon(family_reader *r, const lin_json *object, const char *key, double own)
{
    const double epsilon = lin_family_real(r, object, key, own);
    if (epsilon < 0.99 * own || epsilon > 1.01 * own)
        lin_family_assume(r, "`%s` changes no size", key);
}

void lin_family_set_cache(family_reader *r, int64_t positions)
{
    lin_family_set(r, "Batch", 1);
    lin_family_set(r, "MaxSeq", positions < MOST_CACHED ? positions : MOST_CACHED);
}

/* ---- classic.linnet ---- */

void lin_classic_expect(family_reader *r)
{
    const char *class = r->architecture;
    if (class[0] == '\0' || lin_family_ends_with(class, "ForCausalLM") ||
        lin_family_ends_with(class, "LMHeadModel"))
        return;
    if (!lin_family_ends_with(class, "Model") || lin_family_ends_with(class, "HeadsModel"))
        lin_family_refuse_head(r);
    lin_family_assume(r, "`%s` is counted with a language model's head", class);
}

static void expect_sizes(family_reader *r, const classic_sizes *s)
{
    const struct {
        const char *what;
        int64_t size;
    } rows[] = { { "vocabulary", s->vocab },          { "hidden size", s->hidden },
                 { "number of heads", s->heads },     { "number of key heads", s->kv_heads },
                 { "size of the MLP", s->inner },     { "number of layers", s->layers },
                 { "longest sequence", s->positions } };
    for (uint32_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].size < 1)
            lin_family_fail(r, LINNET_ERROR_FORMAT, "the %s is 0; at least 1 is meant",
                            rows[i].what);
}

int64_t lin_classic_set(family_reader *r, const classic_sizes *s)
{
    r->program = "models/classic.linnet";
    r->root = "Model";
    lin_classic_expect(r);
    expect_sizes(r, s);
    (void)lin_family_divide(r, "the number of heads", s->heads, "the number of key heads",
                            s->kv_heads);
    const int64_t width =
        lin_family_divide(r, "the hidden size", s->hidden, "the number of heads", s->heads);
    if (width % 2 != 0)
        lin_family_fail(r, LINNET_ERROR_UNSUPPORTED, "heads of an odd width (%lld)",
                        (long long)width);
    lin_family_set(r, "Vocab", s->vocab);
    lin_family_set(r, "H", s->hidden);
    lin_family_set(r, "Heads", s->heads);
    lin_family_set(r, "KvHeads", s->kv_heads);
    lin_family_set(r, "HeadDim", width);
    lin_family_set(r, "Inner", s->inner);
    lin_family_set(r, "Layers", s->layers);
    lin_family_set_dtype(r, "T", lin_family_dtype(r, r->text));
    lin_family_set_cache(r, s->positions);
    return width;
}

void lin_classic_activation(family_reader *r, const char *key, const char *fallback)
{
    static const struct {
        const char *word, *generic; /* NULL: the exact GELU */
    } kinds[] = {
        { "relu", "Relu" },     { "gelu", NULL },        { "gelu_python", NULL },
        { "gelu_new", "Tanh" }, { "gelu_fast", "Tanh" }, { "gelu_pytorch_tanh", "Tanh" },
    };
    const char *word = lin_family_word(r, r->text, key, fallback);
    for (uint32_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].word, word) != 0)
            continue;
        if (kinds[i].generic != NULL)
            lin_family_set(r, kinds[i].generic, 1);
        return;
    }
    lin_family_fail(r, LINNET_ERROR_UNSUPPORTED, "`%s` `%s` is not expressed by the source of `%s`",
                    key, word, r->model_type);
}

bool lin_classic_tied(family_reader *r, bool fallback)
{
    return lin_family_flag(r, r->text, "tie_word_embeddings", fallback);
}

void lin_classic_words(family_reader *r, const char *block, const char *table, const char *head)
{
    lin_family_bind(r, lin_arena_format(r->arena, "%s.weight", block), table);
    lin_family_bind(r, lin_arena_format(r->arena, "%s.head.weight", block), head);
}
