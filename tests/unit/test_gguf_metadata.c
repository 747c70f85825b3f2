/* SPDX-License-Identifier: MIT */

/* What a GGUF file's metadata must say to be a model, a row each. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gguf_writer.h"

static void no_architecture(gguf_writer *w)
{
    gguf_begin(w, 0, 0);
}

static void unknown_architecture(gguf_writer *w)
{
    gguf_begin(w, 0, 1);
    gguf_pair_text(w, "general.architecture", "lama");
}

static void no_vocabulary(gguf_writer *w)
{
    gguf_begin(w, 0, 1);
    gguf_pair_text(w, "general.architecture", "llama");
}

static void sizes(gguf_writer *w, uint32_t more)
{
    gguf_begin(w, 0, 6 + more);
    gguf_pair_text(w, "general.architecture", "llama");
    gguf_pair_u32(w, "llama.vocab_size", 100);
    gguf_pair_u32(w, "llama.block_count", 2);
    gguf_pair_u32(w, "llama.embedding_length", 64);
    gguf_pair_u32(w, "llama.feed_forward_length", 128);
    gguf_pair_u32(w, "llama.attention.head_count", 4);
}

static void whole_model(gguf_writer *w)
{
    sizes(w, 0);
}

static void text_for_size(gguf_writer *w)
{
    sizes(w, 1);
    gguf_pair_text(w, "llama.attention.head_count_kv", "4");
}

static void layers_differ(gguf_writer *w)
{
    sizes(w, 1);
    gguf_key(w, "llama.attention.head_count_kv", LIN_GGUF_ARRAY);
    gguf_u32(w, LIN_GGUF_U32);
    gguf_word(w, 2);
    gguf_u32(w, 4);
    gguf_u32(w, 2);
}

static void negative_size(gguf_writer *w)
{
    sizes(w, 1);
    gguf_key(w, "llama.attention.head_count_kv", LIN_GGUF_I32);
    gguf_u32(w, UINT32_MAX);
}

static void no_heads(gguf_writer *w)
{
    gguf_begin(w, 0, 4);
    gguf_pair_text(w, "general.architecture", "llama");
    gguf_pair_u32(w, "llama.vocab_size", 100);
    gguf_pair_u32(w, "llama.attention.head_count", 0);
    gguf_pair_u32(w, "llama.embedding_length", 64);
}

static const struct metadata_case {
    const char *name;
    void (*write)(gguf_writer *w);
    linnet_status expect;
    const char *says;
} metadata_cases[] = {
    { "sizes alone make a model", whole_model, LINNET_OK, "" },
    { "no architecture", no_architecture, LINNET_ERROR_FORMAT,
      "`general.architecture` is missing" },
    { "an unknown architecture", unknown_architecture, LINNET_ERROR_UNSUPPORTED,
      "the nearest is `llama`" },
    { "no vocabulary", no_vocabulary, LINNET_ERROR_FORMAT, "how large the vocabulary is" },
    { "no heads", no_heads, LINNET_ERROR_FORMAT, "`llama.attention.head_count` is missing or 0" },
    { "a text for a size", text_for_size, LINNET_ERROR_FORMAT, "no integer" },
    { "a negative size", negative_size, LINNET_ERROR_FORMAT, "is -1" },
    { "layers that differ", layers_differ, LINNET_ERROR_UNSUPPORTED, "differs among layers" },
};

static void test_metadata(void **state)
{
    const struct metadata_case *row = *state;
    gguf_writer w = { .version = 3 };
    lin_arena arena;
    lin_gguf_model model = { 0 };
    family_reader family;
    linnet_error err = { 0 };
    lin_arena_init(&arena, &lin_default_allocator);
    row->write(&w);
    assert_int_equal(gguf_read_back(&arena, &w, w.length, w.length, &model.head, &err), LINNET_OK);
    model.tensors = model.head.tensors;
    assert_int_equal(lin_gguf_family(&arena, &model, &family, &err), row->expect);
    if (strstr(err.message, row->says) == NULL)
        fail_msg("`%s` does not say `%s`", err.message, row->says);
    free(w.bytes);
    lin_arena_free(&arena);
}

int main(void)
{
    static struct CMUnitTest tests[ARRAY_LEN(metadata_cases)];
    for (size_t i = 0; i < ARRAY_LEN(metadata_cases); i++)
        tests[i] = (struct CMUnitTest){ .name = metadata_cases[i].name,
                                        .test_func = test_metadata,
                                        .initial_state = (void *)(uintptr_t)&metadata_cases[i] };
    return cmocka_run_group_tests_name("gguf_metadata", tests, NULL, NULL);
}
