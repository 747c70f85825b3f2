/* SPDX-License-Identifier: MIT */

/*
 * GGUF headers: the tensor lists of published files, written in every version and byte order, read
 * back and opened as models; values; the bytes of every type. The lists are read from
 * $LINNET_SHARED/data/gguf-dumps and skipped where that is not there.
 */

#define _XOPEN_SOURCE 700 /* mkdtemp, ftruncate */

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gguf_writer.h"
#include "trace/trace.h"

enum { LARGEST_FILE = 1 << 20, PATH_LENGTH = 1024, ALIGNMENT = 32 };

/* ---- published tensor lists ---- */

static const char *const lists[] = { "show-cogito-3b.json", "show-deepseek-r1-1.5b.json",
                                     "show-mistral-7b.json", "show-qwen3-8b.json" };

static const struct form {
    const char *name;
    uint32_t version;
    bool is_big_endian;
} forms[] = {
    { "version 1", 1, false },
    { "version 2", 2, false },
    { "version 2, big-endian", 2, true },
    { "version 3", 3, false },
    { "version 3, big-endian", 3, true },
};

/* Written down apart from the reader's table, from the README beside the lists. */
static const struct block_size {
    const char *type;
    uint32_t id;
    int64_t elements, bytes;
} block_sizes[] = {
    { "F32", 0, 1, 4 },       { "F16", 1, 1, 2 },       { "Q4_0", 2, 32, 18 },
    { "Q4_1", 3, 32, 20 },    { "Q5_0", 6, 32, 22 },    { "Q5_1", 7, 32, 24 },
    { "Q8_0", 8, 32, 34 },    { "Q2_K", 10, 256, 84 },  { "Q3_K", 11, 256, 110 },
    { "Q4_K", 12, 256, 144 }, { "Q5_K", 13, 256, 176 }, { "Q6_K", 14, 256, 210 },
};

static const struct block_size *block_of(const char *type)
{
    for (uint32_t i = 0; i < ARRAY_LEN(block_sizes); i++)
        if (strcmp(block_sizes[i].type, type) == 0)
            return &block_sizes[i];
    fail_msg("no block size for %s", type);
    return NULL;
}

static const lin_json *read_dump(lin_arena *arena, const char *name)
{
    char path[PATH_LENGTH];
    const char *shared = getenv("LINNET_SHARED");
    const char *text;
    uint64_t length;
    const lin_json *document = NULL;
    linnet_error err = { 0 };
    if (shared == NULL)
        return NULL;
    snprintf(path, sizeof(path), "%s/data/gguf-dumps/%s", shared, name);
    if (lin_file_read(arena, path, LARGEST_FILE, &text, &length, &err) != LINNET_OK)
        return NULL;
    if (lin_json_read(path, text, length, false, arena, &document, &err) != LINNET_OK)
        fail_msg("%s:%u: %s", path, err.line, err.message);
    return document;
}

/* The tensor in the list, its shape's axes as they stand there. */
typedef struct listed {
    const char *name;
    int64_t shape[4];
    uint32_t rank;
    const struct block_size *block;
    int64_t elements, bytes;
} listed;

static listed listed_at(const lin_json *tensors, uint32_t index)
{
    const lin_json *item = &tensors->items[index];
    const lin_json *shape = lin_json_get(item, "shape");
    listed l = { .name = lin_json_get(item, "name")->text, .rank = shape->count, .elements = 1 };
    l.block = block_of(lin_json_get(item, "type")->text);
    for (uint32_t i = 0; i < shape->count; i++) {
        l.shape[i] = shape->items[i].integer;
        l.elements *= l.shape[i];
    }
    l.bytes = l.elements / l.block->elements * l.block->bytes;
    return l;
}

static uint32_t count_pairs(const lin_json *metadata)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < metadata->count; i++)
        count += metadata->items[i].kind != LIN_JSON_NULL;
    return count;
}

static void write_pair(gguf_writer *w, const char *key, const lin_json *value)
{
    switch (value->kind) {
    case LIN_JSON_INTEGER:
        gguf_key(w, key, LIN_GGUF_U64);
        gguf_bits(w, (uint64_t)value->integer, 8);
        break;
    case LIN_JSON_REAL:
        gguf_pair_f32(w, key, value->real);
        break;
    case LIN_JSON_STRING:
        gguf_pair_text(w, key, value->text);
        break;
    case LIN_JSON_TRUE:
    case LIN_JSON_FALSE:
        gguf_pair_bool(w, key, value->kind == LIN_JSON_TRUE);
        break;
    default:
        break;
    }
}

/* Returns the file's length with its data. */
static uint64_t write_list(gguf_writer *w, const lin_json *dump)
{
    const lin_json *metadata = lin_json_get(dump, "model_info");
    const lin_json *tensors = lin_json_get(dump, "tensors");
    uint64_t offset = 0;
    gguf_begin(w, tensors->count, count_pairs(metadata));
    for (uint32_t i = 0; i < metadata->count; i++)
        write_pair(w, metadata->keys[i], &metadata->items[i]);
    for (uint32_t i = 0; i < tensors->count; i++) {
        const listed l = listed_at(tensors, i);
        gguf_tensor(w, l.name, l.shape, l.rank, l.block->id, offset);
        offset += gguf_padded((uint64_t)l.bytes, ALIGNMENT);
    }
    return gguf_padded(w->length, ALIGNMENT) + offset;
}

static void check_tensor(const lin_tensor_list *list, uint32_t index, const listed *l)
{
    const lin_tensor *tensor = &list->items[index];
    const lin_gguf_type *type = lin_gguf_type_named(l->block->type);
    assert_non_null(type);
    assert_string_equal(tensor->name, l->name);
    assert_string_equal(list->formats[tensor->format].name, type->name);
    assert_int_equal(tensor->rank, l->rank);
    for (uint32_t i = 0; i < l->rank; i++)
        assert_int_equal(tensor->shape[i], l->shape[l->rank - 1 - i]);
    assert_int_equal(tensor->bytes, l->bytes);
}

static void test_list(void **state)
{
    const char *name = *state;
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    const lin_json *dump = read_dump(&arena, name);
    const lin_json *all = read_dump(&arena, "expected.json");
    if (dump == NULL || all == NULL) {
        lin_arena_free(&arena);
        print_message("LINNET_SHARED has no data/gguf-dumps\n");
        skip();
    }
    const lin_json *expected = lin_json_get(all, name);
    const lin_json *tensors = lin_json_get(dump, "tensors");
    for (uint32_t f = 0; f < ARRAY_LEN(forms); f++) {
        gguf_writer w = { .version = forms[f].version, .is_big_endian = forms[f].is_big_endian };
        lin_gguf gguf;
        linnet_error err = { 0 };
        const uint64_t file_bytes = write_list(&w, dump);
        if (gguf_read_back(&arena, &w, w.length, file_bytes, &gguf, &err) != LINNET_OK)
            fail_msg("%s: %s", forms[f].name, err.message);
        assert_int_equal(gguf.version, forms[f].version);
        assert_int_equal(gguf.is_big_endian, forms[f].is_big_endian);
        assert_int_equal(gguf.tensors.count, lin_json_get(expected, "tensors")->integer);
        assert_int_equal(gguf.tensors.bytes, lin_json_get(expected, "tensor_bytes")->integer);
        assert_string_equal(lin_gguf_text(&gguf, "general.architecture"),
                            lin_json_get(expected, "architecture")->text);
        for (uint32_t i = 0; i < tensors->count; i++) {
            const listed l = listed_at(tensors, i);
            check_tensor(&gguf.tensors, i, &l);
        }
        free(w.bytes);
    }
    lin_arena_free(&arena);
}

/* ---- as a model ---- */

static void write_file(const char *path, const gguf_writer *w, uint64_t file_bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(w->bytes, 1, w->length, file), w->length);
    assert_int_equal(fflush(file), 0);
    assert_int_equal(ftruncate(fileno(file), (off_t)file_bytes), 0);
    assert_int_equal(fclose(file), 0);
}

static int64_t weight_bytes(const lin_source *source)
{
    const lin_trace_settings settings = { .processes = 1 };
    lin_traced traced;
    linnet_error err = { 0 };
    int64_t total = 0;
    if (lin_trace_persistent(source, &settings, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    for (uint32_t i = 0; i < traced.graph->objects.count; i++) {
        const lin_object *object = &traced.graph->objects.items[i];
        int64_t bytes = 0;
        if (object->category != LIN_CATEGORY_PARAMETERS)
            continue;
        assert_true(lin_expr_is_int(traced.graph->exprs, object->bytes, &bytes));
        total += bytes;
    }
    lin_graph_free(traced.graph);
    return total;
}

/* Opened as a user does: the program's weights are the file's tensors, to the byte. */
static void test_model(void **state)
{
    const char *name = *state;
    char directory[] = "/tmp/linnet-gguf-XXXXXX";
    char path[PATH_LENGTH];
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    const lin_json *dump = read_dump(&arena, name);
    const lin_json *all = read_dump(&arena, "expected.json");
    if (dump == NULL || all == NULL) {
        lin_arena_free(&arena);
        skip();
    }
    gguf_writer w = { .version = 3 };
    const uint64_t file_bytes = write_list(&w, dump);
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/model.gguf", directory);
    write_file(path, &w, file_bytes);

    const lin_source_settings settings = { .allocator = lin_default_allocator };
    lin_source *source = NULL;
    linnet_error err = { 0 };
    const linnet_status status = lin_source_open(&settings, path, NULL, &source, &err);
    (void)unlink(path);
    (void)rmdir(directory);
    free(w.bytes);
    if (status != LINNET_OK)
        fail_msg("%s: %s", err.source, err.message);

    /* cogito has 64 rotary frequencies in the file, which the program computes */
    const lin_json *expected = lin_json_get(all, name);
    const int64_t frequencies = strcmp(name, "show-cogito-3b.json") == 0 ? 64 : 0;
    int64_t parameters = 0;
    assert_int_equal(weight_bytes(source),
                     lin_json_get(expected, "tensor_bytes")->integer - 4 * frequencies);
    assert_int_equal(
        lin_trace_count_parameters(source, false, &lin_default_allocator, &parameters, &err),
        LINNET_OK);
    assert_int_equal(parameters, lin_json_get(expected, "parameters")->integer - frequencies);
    lin_source_free(source);
    lin_arena_free(&arena);
}

/* ---- values ---- */

enum { SMALL_BYTES = 256, F32 = 0 };

static void rich_header(gguf_writer *w)
{
    static const int64_t shape[] = { 32, 2 };
    gguf_begin(w, 2, 5);
    gguf_pair_text(w, "general.architecture", "llama");
    gguf_pair_f32(w, "a.real", 0.5);
    gguf_pair_bool(w, "a.flag", true);
    gguf_pair_texts(w, "a.texts", 3);
    gguf_key(w, "a.numbers", LIN_GGUF_ARRAY);
    gguf_u32(w, LIN_GGUF_I16);
    gguf_word(w, 2);
    gguf_bits(w, 0xffff, 2);
    gguf_bits(w, 7, 2);
    gguf_tensor(w, "a", shape, 2, F32, 0);
    gguf_tensor(w, "b", shape, 2, F32, SMALL_BYTES);
}

static void test_values(void **state)
{
    const struct form *form = *state;
    gguf_writer w = { .version = form->version, .is_big_endian = form->is_big_endian };
    lin_arena arena;
    lin_gguf gguf;
    linnet_error err = { 0 };
    int64_t integer = 0;
    lin_arena_init(&arena, &lin_default_allocator);
    rich_header(&w);
    assert_int_equal(gguf_read_back(&arena, &w, w.length,
                                    gguf_padded(w.length, ALIGNMENT) + 2 * SMALL_BYTES, &gguf,
                                    &err),
                     LINNET_OK);
    assert_string_equal(lin_gguf_text(&gguf, "general.architecture"), "llama");
    assert_null(lin_gguf_text(&gguf, "a.real"));
    assert_null(lin_gguf_text(&gguf, "absent"));
    assert_true(lin_gguf_find(&gguf, "a.real")->real == 0.5);
    assert_int_equal(lin_gguf_find(&gguf, "a.flag")->integer, 1);
    assert_false(lin_gguf_integer(&gguf, "a.flag", &integer));
    assert_int_equal(lin_gguf_find(&gguf, "a.texts")->count, 3);
    const lin_gguf_value *numbers = lin_gguf_find(&gguf, "a.numbers");
    assert_int_equal(numbers->integers[0], -1);
    assert_int_equal(numbers->integers[1], 7);
    assert_int_equal(gguf.tensors.bytes, 2 * SMALL_BYTES);
    free(w.bytes);
    lin_arena_free(&arena);
}

/* ---- types ---- */

/* Each type's bytes for a row of 256, from the layouts in ggml-common.h. */
static const struct type_case {
    uint32_t id;
    const char *name;
    int64_t row_bytes;
} type_cases[] = {
    { 0, "F32", 1024 },    { 1, "F16", 512 },      { 2, "Q4_0", 144 },     { 3, "Q4_1", 160 },
    { 6, "Q5_0", 176 },    { 7, "Q5_1", 192 },     { 8, "Q8_0", 272 },     { 9, "Q8_1", 288 },
    { 10, "Q2_K", 84 },    { 11, "Q3_K", 110 },    { 12, "Q4_K", 144 },    { 13, "Q5_K", 176 },
    { 14, "Q6_K", 210 },   { 15, "Q8_K", 292 },    { 16, "IQ2_XXS", 66 },  { 17, "IQ2_XS", 74 },
    { 18, "IQ3_XXS", 98 }, { 19, "IQ1_S", 50 },    { 20, "IQ4_NL", 144 },  { 21, "IQ3_S", 110 },
    { 22, "IQ2_S", 82 },   { 23, "IQ4_XS", 136 },  { 24, "I8", 256 },      { 25, "I16", 512 },
    { 26, "I32", 1024 },   { 27, "I64", 2048 },    { 28, "F64", 2048 },    { 29, "IQ1_M", 56 },
    { 30, "BF16", 512 },   { 34, "TQ1_0", 54 },    { 35, "TQ2_0", 66 },    { 39, "MXFP4", 136 },
    { 40, "NVFP4", 144 },  { 41, "Q1_0", 36 },     { 42, "Q2_0", 72 },     { 133, "Q6_0", 208 },
    { 137, "IQ2_K", 76 },  { 138, "IQ3_K", 110 },  { 139, "IQ4_K", 144 },  { 140, "IQ5_K", 176 },
    { 141, "IQ6_K", 212 }, { 144, "IQ4_KS", 140 }, { 152, "IQ5_KS", 172 },
};

static void test_type(void **state)
{
    const struct type_case *row = *state;
    static const int64_t shape[] = { 256, 3 };
    gguf_writer w = { .version = 3 };
    lin_arena arena;
    lin_gguf gguf;
    linnet_error err = { 0 };
    lin_arena_init(&arena, &lin_default_allocator);
    gguf_begin(&w, 1, 0);
    gguf_tensor(&w, "a", shape, 2, row->id, 0);
    assert_int_equal(gguf_read_back(&arena, &w, w.length, UINT64_C(1) << 20, &gguf, &err),
                     LINNET_OK);
    assert_int_equal(gguf.tensors.items[0].bytes, 3 * row->row_bytes);
    assert_ptr_equal(lin_gguf_type_named(row->name), lin_gguf_type_of(row->id));
    free(w.bytes);
    lin_arena_free(&arena);
}

/* ---- the tests ---- */

enum { TEST_COUNT = 2 * ARRAY_LEN(lists) + ARRAY_LEN(forms) + ARRAY_LEN(type_cases) };

static size_t add(struct CMUnitTest *tests, size_t at, const char *name,
                  CMUnitTestFunction function, const void *row)
{
    tests[at] = (struct CMUnitTest){ .name = name,
                                     .test_func = function,
                                     .initial_state = (void *)(uintptr_t)row };
    return at + 1;
}

int main(void)
{
    static struct CMUnitTest tests[TEST_COUNT];
    static char names[2 * ARRAY_LEN(lists) + ARRAY_LEN(forms)][80];
    size_t count = 0, named = 0;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        snprintf(names[named], sizeof(names[0]), "every tensor of %s", lists[i]);
        count = add(tests, count, names[named++], test_list, lists[i]);
        snprintf(names[named], sizeof(names[0]), "the weights of %s", lists[i]);
        count = add(tests, count, names[named++], test_model, lists[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        snprintf(names[named], sizeof(names[0]), "values of %s", forms[i].name);
        count = add(tests, count, names[named++], test_values, &forms[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(type_cases); i++)
        count = add(tests, count, type_cases[i].name, test_type, &type_cases[i]);
    assert(count == TEST_COUNT);
    return cmocka_run_group_tests_name("gguf", tests, NULL, NULL);
}
