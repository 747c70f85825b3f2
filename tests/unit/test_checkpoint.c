/* SPDX-License-Identifier: MIT */

/*
 * A program and its checkpoint, on disk. The files are written from the program's own manifest,
 * then changed: what is read back is the program again, or says what is not.
 */

#define _XOPEN_SOURCE 700 /* mkdtemp, truncate */

#include "source/checkpoint.h"
#include "source/parameters.h"
#include "trace/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "source_place.h"

static const char config[] =
    "{\"model_type\":\"llama\",\"architectures\":[\"LlamaForCausalLM\"],\"hidden_act\":\"silu\","
    "\"hidden_size\":64,\"intermediate_size\":96,\"num_attention_heads\":4,"
    "\"num_key_value_heads\":2,\"num_hidden_layers\":3,\"vocab_size\":100,\"rms_norm_eps\":1e-5,"
    "\"torch_dtype\":\"bfloat16\",\"tie_word_embeddings\":%s}";

/* 100 words of 64, three layers of q 64 x 64, k and v 64 x 32, o 64 x 64, three of 64 x 96 and two
 * norms, a norm, a head. */
enum {
    EMBEDDING = 100 * 64,
    LAYER = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96 + 2 * 64,
    WITHOUT_HEAD = EMBEDDING + 3 * LAYER + 64,
    ALL = WITHOUT_HEAD + EMBEDDING
};

/* ---- writing ---- */

typedef struct spec {
    char name[96], dtype[16];
    int64_t shape[4];
    int rank, bytes_of_one; /* of an element */
} spec;

enum { MOST = 256 };

typedef struct specs {
    spec items[MOST];
    int count;
} specs;

static int64_t elements_of(const spec *s)
{
    int64_t elements = 1;
    for (int i = 0; i < s->rank; i++)
        elements *= s->shape[i];
    return elements;
}

static spec *add(specs *all, const char *name, const char *dtype, int bytes_of_one, int64_t rows,
                 int64_t columns)
{
    assert_true(all->count < MOST);
    spec *s = &all->items[all->count++];
    *s = (spec){ .shape = { rows, columns }, .rank = columns == 0 ? 1 : 2 };
    s->bytes_of_one = bytes_of_one;
    (void)snprintf(s->name, sizeof(s->name), "%s", name);
    (void)snprintf(s->dtype, sizeof(s->dtype), "%s", dtype);
    return s;
}

static spec *find(specs *all, const char *name)
{
    for (int i = 0; i < all->count; i++)
        if (strcmp(all->items[i].name, name) == 0)
            return &all->items[i];
    fail_msg("no tensor %s", name);
    return all->items;
}

static void drop(specs *all, const char *name)
{
    spec *s = find(all, name);
    memmove(s, s + 1, sizeof(*s) * (size_t)(&all->items[all->count] - (s + 1)));
    all->count--;
}

/* Every parameter of the program that the config in `directory` gives, each tensor once. */
static void list_program(place *p, const char *directory, specs *out)
{
    lin_source *source = expect_opened(p, directory);
    lin_arena arena;
    lin_text text;
    jmp_buf failed;
    const lin_parameter *parameters = NULL;
    uint32_t count = 0;
    lin_arena_init(&arena, &lin_default_allocator);
    lin_text_init(&text, &lin_default_allocator);
    if (setjmp(failed) != 0)
        fail_msg("out of memory");
    arena.on_failure = &failed;
    out->count = 0;
    assert_int_equal(lin_source_parameters(&arena, source, &parameters, &count, NULL), LINNET_OK);
    for (uint32_t i = 0; i < count; i++) {
        const lin_parameter *parameter = &parameters[i];
        int64_t indices[LIN_PARAMETER_REPEATS] = { 0 };
        assert_true(parameter->rank == 1 || parameter->rank == 2);
        do {
            const char *name = lin_parameter_tensor(&arena, &text, parameter, indices);
            bool known = false;
            for (int k = 0; k < out->count; k++)
                known = known || strcmp(out->items[k].name, name) == 0;
            if (!known)
                (void)add(out, name, "BF16", 2, parameter->shape[0],
                          parameter->rank == 2 ? parameter->shape[1] : 0);
        } while (lin_parameter_next(parameter, indices));
    }
    lin_text_free(&text);
    lin_arena_free(&arena);
    lin_source_free(source);
}

static void write_tensors(place *p, const char *name, const spec *items, int count)
{
    lin_text header;
    int64_t begin = 0;
    char prefix[8];
    lin_text_init(&header, &lin_default_allocator);
    lin_text_add(&header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int i = 0; i < count; i++) {
        const spec *s = &items[i];
        const int64_t end = begin + elements_of(s) * s->bytes_of_one;
        lin_text_addf(&header, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", s->name, s->dtype);
        for (int k = 0; k < s->rank; k++)
            lin_text_addf(&header, "%s%lld", k == 0 ? "" : ",", (long long)s->shape[k]);
        lin_text_addf(&header, "],\"data_offsets\":[%lld,%lld]}", (long long)begin, (long long)end);
        begin = end;
    }
    lin_text_add(&header, "}");
    for (int i = 0; i < 8; i++)
        prefix[i] = (char)(header.length >> (8 * i));
    FILE *file = fopen(at(p, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(prefix, 1, 8, file), 8);
    assert_int_equal(fwrite(lin_text_data(&header), 1, header.length, file), header.length);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(truncate(at(p, name), (off_t)(8 + (int64_t)header.length + begin)), 0);
    lin_text_free(&header);
}

static void write_config(place *p, const char *tied)
{
    char text[sizeof(config) + 16];
    (void)snprintf(text, sizeof(text), config, tied);
    write_file(p, "m/config.json", text);
}

/* The program's tensors, of a config that ties the head or not. */
static void begin(place *p, const char *tied, specs *out)
{
    write_config(p, tied);
    list_program(p, "m", out);
}

/* ---- asking ---- */

static int64_t persistent_bytes(const lin_source *source)
{
    const lin_trace_settings settings = { .processes = 1 };
    lin_traced traced = { 0 };
    linnet_error err = { 0 };
    int64_t total = 0, bytes = 0;
    if (lin_trace_persistent(source, &settings, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    for (uint32_t i = 0; i < traced.graph->objects.count; i++) {
        const lin_object *object = &traced.graph->objects.items[i];
        if (object->category != LIN_CATEGORY_PARAMETERS)
            continue;
        assert_true(lin_expr_is_int(traced.graph->exprs, object->bytes, &bytes));
        total += bytes;
    }
    lin_graph_free(traced.graph);
    return total;
}

static bool has_note(const lin_source *source, const char *part)
{
    for (uint32_t i = 0; i < source->assumption_count; i++)
        if (strstr(source->assumptions[i], part) != NULL)
            return true;
    return false;
}

static void expect_note(const lin_source *source, const char *part)
{
    if (has_note(source, part))
        return;
    for (uint32_t i = 0; i < source->assumption_count; i++)
        print_message("%s\n", source->assumptions[i]);
    fail_msg("no assumption says `%s`", part);
}

/* The weights in `path`: so many bytes and parameters, nothing on one side only. */
static void expect_whole(place *p, const char *path, int64_t bytes, int64_t parameters)
{
    lin_source *source = expect_opened(p, path);
    assert_non_null(source->reconciled);
    assert_int_equal(source->reconciled->parameters, parameters);
    assert_int_equal(source->reconciled->missing, 0);
    assert_int_equal(source->reconciled->left_out, 0);
    assert_int_equal(source->reconciled->found_bytes, bytes);
    assert_int_equal(source->tensors->bytes, bytes);
    assert_int_equal(persistent_bytes(source), bytes);
    lin_source_free(source);
}

/* ---- round trips ---- */

static void test_one_file(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    assert_int_equal(all.count, 3 + 3 * 9);
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    expect_whole(p, "m", 2 * ALL, ALL);
    expect_whole(p, "m/", 2 * ALL, ALL);
    expect_whole(p, "m/model.safetensors", 2 * ALL, ALL);
    /* The config by itself is the config by itself. */
    lin_source *source = expect_opened(p, "m/config.json");
    assert_null(source->reconciled);
    assert_null(source->tensors);
    assert_int_equal(persistent_bytes(source), 2 * ALL);
    lin_source_free(source);
}

static void test_tied(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "true", &all);
    assert_int_equal(all.count, 2 + 3 * 9);
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    expect_whole(p, "m", 2 * WITHOUT_HEAD, WITHOUT_HEAD);
}

static void test_tied_by_absence(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    drop(&all, "lm_head.weight");
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    expect_whole(p, "m", 2 * WITHOUT_HEAD, WITHOUT_HEAD);
    lin_source *source = expect_opened(p, "m");
    expect_note(source, "the head is tied to `model.embed_tokens.weight`");
    lin_source_free(source);
}

/* The library ties what the config ties, and leaves the copy alone. */
static void test_copy_of_a_tied_head(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "true", &all);
    (void)add(&all, "lm_head.weight", "BF16", 2, 100, 64);
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    lin_source *source = expect_opened(p, "m");
    assert_int_equal(persistent_bytes(source), 2 * WITHOUT_HEAD);
    assert_int_equal(source->reconciled->left_out, 1);
    assert_int_equal(source->reconciled->left_out_bytes, 2 * EMBEDDING);
    expect_note(source, "no part of the program, not counted: `lm_head.weight` (12.50 KiB)");
    lin_source_free(source);
}

static void test_shards(void **state)
{
    place *p = *state;
    specs all;
    lin_text index;
    begin(p, "false", &all);
    const int half = all.count / 2;
    write_tensors(p, "m/model-00001-of-00002.safetensors", all.items, half);
    write_tensors(p, "m/model-00002-of-00002.safetensors", &all.items[half], all.count - half);
    /* Without an index, by any of the names. */
    expect_whole(p, "m", 2 * ALL, ALL);
    expect_whole(p, "m/model-00002-of-00002.safetensors", 2 * ALL, ALL);
    lin_text_init(&index, &lin_default_allocator);
    lin_text_addf(&index, "{\"metadata\":{\"total_size\":%d},\"weight_map\":{", 2 * ALL);
    for (int i = 0; i < all.count; i++)
        lin_text_addf(&index, "%s\"%s\":\"model-0000%d-of-00002.safetensors\"", i == 0 ? "" : ",",
                      all.items[i].name, i < half ? 1 : 2);
    lin_text_add(&index, "}}");
    write_file(p, "m/model.safetensors.index.json", lin_text_data(&index));
    lin_text_free(&index);
    /* A file of another kind beside them is not asked. */
    write_file(p, "m/consolidated.safetensors", "x");
    expect_whole(p, "m", 2 * ALL, ALL);
    expect_whole(p, "m/model.safetensors.index.json", 2 * ALL, ALL);
    assert_int_equal(unlink(at(p, "m/model-00002-of-00002.safetensors")), 0);
    lin_source *source = expect_opened(p, "m");
    assert_int_equal(persistent_bytes(source), 2 * ALL);
    assert_int_equal(source->tensors->bytes, -1);
    expect_note(source, "1 of the 2 files of the checkpoint are not there, the first "
                        "`model-00002-of-00002.safetensors`");
    lin_source_free(source);
}

/* ---- what differs ---- */

static void test_dtypes_of_tensors(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    for (int i = 0; i < all.count; i++)
        if (all.items[i].rank == 1) {
            (void)snprintf(all.items[i].dtype, sizeof(all.items[i].dtype), "F32");
            all.items[i].bytes_of_one = 4;
        }
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    expect_whole(p, "m", 2 * ALL + 2 * (3 * 2 + 1) * 64, ALL);
}

/* One layer of three. */
static void test_dtype_of_a_layer(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    spec *s = find(&all, "model.layers.1.mlp.up_proj.weight");
    (void)snprintf(s->dtype, sizeof(s->dtype), "F32");
    s->bytes_of_one = 4;
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    expect_whole(p, "m", 2 * ALL + 2 * 64 * 96, ALL);
}

static void test_dtype_of_the_file(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    write_file(p, "m/config.json",
               "{\"model_type\":\"llama\",\"hidden_act\":\"silu\",\"hidden_size\":64,"
               "\"intermediate_size\":96,\"num_attention_heads\":4,\"num_key_value_heads\":2,"
               "\"num_hidden_layers\":3,\"vocab_size\":100,\"tie_word_embeddings\":false}");
    for (int i = 0; i < all.count; i++) {
        (void)snprintf(all.items[i].dtype, sizeof(all.items[i].dtype), "F32");
        all.items[i].bytes_of_one = 4;
    }
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    lin_source *source = expect_opened(p, "m");
    bool found = false;
    for (uint32_t i = 0; i < source->setting_count; i++)
        if (strcmp(source->settings[i].name, "T") == 0) {
            assert_int_equal(source->settings[i].dtype, LIN_DTYPE_F32);
            found = true;
        }
    assert_true(found);
    assert_int_equal(persistent_bytes(source), 4 * ALL);
    lin_source_free(source);
}

static void test_padded(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    spec *s = find(&all, "model.embed_tokens.weight");
    s->shape[s->shape[0] == 100 ? 0 : 1] = 128;
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    expect_whole(p, "m", 2 * (ALL + 28 * 64), ALL);
    lin_source *source = expect_opened(p, "m");
    expect_note(source, "`model.embed_tokens.weight` has 128 rows in the checkpoint, the "
                        "vocabulary 100");
    lin_source_free(source);
}

static void test_another_model(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    spec *s = find(&all, "model.layers.2.mlp.up_proj.weight");
    s->shape[0]++;
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    expect_refused(p, "m", LINNET_ERROR_FORMAT, "`model.layers.2.mlp.up_proj.weight` has ");
    for (int i = 0; i < all.count; i++)
        (void)snprintf(all.items[i].name, sizeof(all.items[i].name), "encoder.%d", i);
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    expect_refused(p, "m", LINNET_ERROR_FORMAT,
                   "no tensor of the checkpoint is one of the model: it holds `encoder.0`");
}

static void test_missing_and_left_out(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    drop(&all, "model.layers.1.mlp.up_proj.weight");
    (void)add(&all, "model.layers.3.mlp.up_proj.weight", "BF16", 2, 96, 64);
    (void)add(&all, "model.layers.0.self_attn.rotary_emb.inv_freq", "F32", 4, 8, 0);
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    lin_source *source = expect_opened(p, "m");
    assert_int_equal(source->reconciled->missing, 1);
    assert_int_equal(source->reconciled->missing_bytes, 2 * 96 * 64);
    assert_int_equal(source->reconciled->left_out, 1);
    assert_int_equal(source->reconciled->left_out_bytes, 2 * 96 * 64);
    assert_int_equal(source->reconciled->buffers, 1);
    assert_int_equal(source->reconciled->buffer_bytes, 32);
    assert_int_equal(persistent_bytes(source), 2 * ALL);
    expect_note(source, "not in the checkpoint, counted as the config says: "
                        "`model.layers.1.mlp.up_proj.weight` (12.00 KiB)");
    expect_note(source, "no part of the program, not counted: "
                        "`model.layers.3.mlp.up_proj.weight` (12.00 KiB)");
    expect_note(source, "of the checkpoint, not counted: "
                        "`model.layers.0.self_attn.rotary_emb.inv_freq` (32 B)");
    lin_source_free(source);
}

static void test_optional(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    for (int i = 0; i < 3; i++) {
        char name[96];
        (void)snprintf(name, sizeof(name), "model.layers.%d.self_attn.q_proj.bias", i);
        (void)add(&all, name, "BF16", 2, 64, 0);
    }
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    lin_source *source = expect_opened(p, "m");
    if (source->reconciled->left_out == 0) {
        /* The source has optional biases. */
        assert_int_equal(persistent_bytes(source), 2 * (ALL + 3 * 64));
        expect_note(source, "is in the checkpoint, though not in the config");
    } else {
        assert_int_equal(persistent_bytes(source), 2 * ALL);
        expect_note(source, "no part of the program");
    }
    lin_source_free(source);
}

static void test_prefixes(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    for (int i = 0; i < all.count; i++)
        if (strncmp(all.items[i].name, "model.", 6) == 0)
            memmove(all.items[i].name, all.items[i].name + 6, strlen(all.items[i].name) - 5);
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    expect_whole(p, "m", 2 * ALL, ALL);
    for (int i = 0; i < all.count; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "%.60s", all.items[i].name);
        (void)snprintf(all.items[i].name, sizeof(all.items[i].name), "language_model.%s%s",
                       strcmp(name, "lm_head.weight") == 0 ? "" : "model.", name);
    }
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    expect_whole(p, "m", 2 * ALL, ALL);
}

/* ---- quantized ---- */

/* DeepSeek's fp8: a byte a weight and a scale for each block of 128 x 128. */
static void test_fp8(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    const int count = all.count;
    for (int i = 0; i < count; i++) {
        spec *s = &all.items[i];
        char name[96];
        if (strstr(s->name, "_proj.weight") == NULL)
            continue;
        (void)snprintf(s->dtype, sizeof(s->dtype), "F8_E4M3");
        s->bytes_of_one = 1;
        (void)snprintf(name, sizeof(name), "%.80s_scale_inv", s->name);
        (void)add(&all, name, "F32", 4, 1, 1);
    }
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    const int64_t projections = 3 * (LAYER - 2 * 64);
    expect_whole(p, "m", 2 * ALL - projections + 3 * 7 * 4, ALL);
}

/* GPTQ, 4 bits in groups of 32: no tensor has the weight's name. */
static void test_gptq(void **state)
{
    place *p = *state;
    specs all, packed = { .count = 0 };
    int64_t bytes = 0;
    begin(p, "false", &all);
    for (int i = 0; i < all.count; i++) {
        const spec *s = &all.items[i];
        const int stem = (int)(strlen(s->name) - strlen(".weight"));
        char name[96];
        if (strstr(s->name, "_proj.weight") == NULL) {
            packed.items[packed.count++] = *s;
            continue;
        }
        const int64_t out = s->shape[0], in = s->shape[1];
        (void)snprintf(name, sizeof(name), "%.*s.qweight", stem, s->name);
        (void)add(&packed, name, "I32", 4, in / 8, out);
        (void)snprintf(name, sizeof(name), "%.*s.qzeros", stem, s->name);
        (void)add(&packed, name, "I32", 4, in / 32, out / 8);
        (void)snprintf(name, sizeof(name), "%.*s.scales", stem, s->name);
        (void)add(&packed, name, "F16", 2, in / 32, out);
        (void)snprintf(name, sizeof(name), "%.*s.g_idx", stem, s->name);
        (void)add(&packed, name, "I32", 4, in, 0);
    }
    for (int i = 0; i < packed.count; i++)
        bytes += elements_of(&packed.items[i]) * packed.items[i].bytes_of_one;
    write_tensors(p, "m/model.safetensors", packed.items, packed.count);
    expect_whole(p, "m", bytes, ALL);
}

/* ---- directories ---- */

static void test_10000_files(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    for (int i = 0; i < 10000; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "m/note-%d.txt", i);
        FILE *file = fopen(at(p, name), "wb");
        assert_non_null(file);
        assert_int_equal(fclose(file), 0);
    }
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    expect_whole(p, "m", 2 * ALL, ALL);
}

/* As many files of the checkpoint: one holds all, the others nothing. */
static void test_10000_shards(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    for (int i = 1; i < 10000; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "m/part-%05d.safetensors", i);
        write_tensors(p, name, NULL, 0);
    }
    write_tensors(p, "m/part-00000.safetensors", all.items, all.count);
    expect_whole(p, "m", 2 * ALL, ALL);
}

static void test_files_that_overlap(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    write_tensors(p, "m/a.safetensors", all.items, all.count);
    write_tensors(p, "m/b.safetensors", all.items, 1);
    expect_refused(p, "m", LINNET_ERROR_FORMAT, "is there twice");
    write_file(p, "m/b.safetensors", "12345678");
    expect_refused(p, "m", LINNET_ERROR_FORMAT, "");
}

static void test_without_config(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    assert_int_equal(unlink(at(p, "m/config.json")), 0);
    expect_refused(p, "m", LINNET_ERROR_FILE, "m/config.json` does not exist");
    expect_refused(p, "m/model.safetensors", LINNET_ERROR_FILE, "m/config.json` does not exist");
    assert_int_equal(mkdir(at(p, "m/config.json"), 0700), 0);
    expect_refused(p, "m", LINNET_ERROR_FILE, "is a directory");
}

/* What there is to say of weights whose model is not known. */
static void test_weights_alone(void **state)
{
    place *p = *state;
    specs all;
    lin_arena arena;
    lin_tensor_list list;
    linnet_error err = { 0 };
    begin(p, "false", &all);
    spec *s = find(&all, "model.norm.weight");
    (void)snprintf(s->dtype, sizeof(s->dtype), "F32");
    s->bytes_of_one = 4;
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    assert_int_equal(unlink(at(p, "m/config.json")), 0);
    static const char *const names[] = { "m", "m/model.safetensors" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        lin_arena_init(&arena, &lin_default_allocator);
        assert_int_equal(lin_weights_list(&arena, at(p, names[i]), &list, NULL), LINNET_OK);
        assert_int_equal(list.bytes, 2 * ALL + 2 * 64);
        assert_int_equal(list.format_count, 2);
        assert_string_equal(list.formats[0].name, "bf16");
        assert_int_equal(list.formats[0].elements, ALL - 64);
        assert_string_equal(list.formats[1].name, "f32");
        assert_int_equal(list.formats[1].bytes, 4 * 64);
        lin_arena_free(&arena);
    }
    assert_int_equal(unlink(at(p, "m/model.safetensors")), 0);
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(lin_weights_list(&arena, at(p, "m"), &list, &err), LINNET_ERROR_FILE);
    assert_non_null(strstr(err.message, "holds no weights"));
    assert_int_equal(lin_weights_list(&arena, at(p, "gone.gguf"), &list, &err), LINNET_ERROR_FILE);
    lin_arena_free(&arena);
}

/* ---- memory ---- */

typedef struct counter {
    int64_t left, now;
} counter;

static void *counted(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    counter *c = user;
    if (new_size != 0 && c->left-- == 0)
        return NULL;
    c->now += (int64_t)new_size - (int64_t)(ptr == NULL ? 0 : old_size);
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_size);
}

/* The n-th request fails. Reading the library of the language is the same every time, so that only
 * some of its requests are. */
static void test_allocations_fail(void **state)
{
    place *p = *state;
    specs all;
    begin(p, "false", &all);
    drop(&all, "lm_head.weight");
    write_tensors(p, "m/model.safetensors", all.items, all.count);
    char path[512];
    (void)snprintf(path, sizeof(path), "%s", at(p, "m"));
    for (int64_t n = 0, step = 1;; n += step) {
        counter c = { n, 0 };
        const lin_source_settings settings = { .allocator = { counted, &c } };
        lin_source *source = NULL;
        linnet_error err = { 0 };
        linnet_status status = lin_source_open(&settings, path, NULL, &source, &err);
        lin_source_free(source);
        assert_int_equal(c.now, 0);
        if (status == LINNET_OK)
            break;
        assert_int_equal(status, LINNET_ERROR_NO_MEMORY);
        step = n < 200 ? 1 : 37;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(test_one_file),
        IN_PLACE(test_tied),
        IN_PLACE(test_tied_by_absence),
        IN_PLACE(test_copy_of_a_tied_head),
        IN_PLACE(test_shards),
        IN_PLACE(test_dtypes_of_tensors),
        IN_PLACE(test_dtype_of_a_layer),
        IN_PLACE(test_dtype_of_the_file),
        IN_PLACE(test_padded),
        IN_PLACE(test_another_model),
        IN_PLACE(test_missing_and_left_out),
        IN_PLACE(test_optional),
        IN_PLACE(test_prefixes),
        IN_PLACE(test_fp8),
        IN_PLACE(test_gptq),
        IN_PLACE(test_10000_files),
        IN_PLACE(test_10000_shards),
        IN_PLACE(test_files_that_overlap),
        IN_PLACE(test_without_config),
        IN_PLACE(test_weights_alone),
        IN_PLACE(test_allocations_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
