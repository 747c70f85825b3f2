/* SPDX-License-Identifier: MIT */

/* The index of a checkpoint in shards: its text, the shards beside it, and the real ones. */

#define _XOPEN_SOURCE 700 /* mkdtemp, symlink, realpath */

#include "source/checkpoint.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "source_place.h"

/* ---- texts ---- */

static const struct index_case {
    const char *name, *text;
    linnet_status status;
    const char *message; /* a part of it */
    int64_t bytes, parameters;
} index_cases[] = {
    /* clang-format off */
    { "one tensor", "{\"weight_map\":{\"a\":\"m.safetensors\"}}", LINNET_OK, NULL, -1, -1 },
    { "a total", "{\"metadata\":{\"total_size\":12},\"weight_map\":{\"a\":\"m\"}}", LINNET_OK, NULL, 12, -1 },
    { "metadata behind", "{\"weight_map\":{\"a\":\"m\"},\"metadata\":{\"total_size\":12}}", LINNET_OK, NULL, 12, -1 },
    { "a total that is a float", "{\"metadata\":{\"total_size\":5012344832.0},\"weight_map\":{\"a\":\"m\"}}", LINNET_OK, NULL, 5012344832, -1 },
    { "a total with an exponent", "{\"metadata\":{\"total_size\":1.5e10},\"weight_map\":{\"a\":\"m\"}}", LINNET_OK, NULL, 15000000000, -1 },
    { "parameters too", "{\"metadata\":{\"total_parameters\":3,\"total_size\":6,\"x\":[{}]},\"weight_map\":{\"a\":\"m\"}}", LINNET_OK, NULL, 6, 3 },
    { "metadata that is null", "{\"metadata\":null,\"weight_map\":{\"a\":\"m\"}}", LINNET_OK, NULL, -1, -1 },
    { "a total that is null", "{\"metadata\":{\"total_size\":null},\"weight_map\":{\"a\":\"m\"}}", LINNET_OK, NULL, -1, -1 },
    { "other keys", "{\"x\":[1,{\"y\":2}],\"weight_map\":{\"a\":\"m\"}}", LINNET_OK, NULL, -1, -1 },
    { "CRLF", "{\r\n\"weight_map\":{\r\n\"a\":\"m\"}\r\n}\r\n", LINNET_OK, NULL, -1, -1 },

    { "nothing", "", LINNET_ERROR_FORMAT, "the text ends", 0, 0 },
    { "an array", "[]", LINNET_ERROR_FORMAT, "the index is an array", 0, 0 },
    { "no weight_map", "{}", LINNET_ERROR_FORMAT, "no `weight_map`", 0, 0 },
    { "an empty weight_map", "{\"weight_map\":{}}", LINNET_ERROR_FORMAT, "names no tensor", 0, 0 },
    { "a weight_map that is a list", "{\"weight_map\":[]}", LINNET_ERROR_FORMAT, "`weight_map` is an array", 0, 0 },
    { "weight_map twice", "{\"weight_map\":{\"a\":\"m\"},\"weight_map\":{\"b\":\"m\"}}", LINNET_ERROR_FORMAT, "`weight_map` is there twice", 0, 0 },
    { "metadata twice", "{\"metadata\":{},\"metadata\":{},\"weight_map\":{\"a\":\"m\"}}", LINNET_ERROR_FORMAT, "`metadata` is there twice", 0, 0 },
    { "metadata that is a number", "{\"metadata\":1,\"weight_map\":{\"a\":\"m\"}}", LINNET_ERROR_FORMAT, "`metadata` is a number", 0, 0 },
    { "a tensor twice", "{\"weight_map\":{\"a\":\"m\",\"a\":\"n\"}}", LINNET_ERROR_FORMAT, "`a` is there twice", 0, 0 },
    { "an empty name", "{\"weight_map\":{\"\":\"m\"}}", LINNET_ERROR_FORMAT, "empty name", 0, 0 },
    { "a NUL in a name", "{\"weight_map\":{\"a\\u0000b\":\"m\"}}", LINNET_ERROR_FORMAT, "holds a NUL", 0, 0 },
    { "a NUL in a file", "{\"weight_map\":{\"a\":\"m\\u0000\"}}", LINNET_ERROR_FORMAT, "holds a NUL", 0, 0 },
    { "a file that is a number", "{\"weight_map\":{\"a\":1}}", LINNET_ERROR_FORMAT, "the name of a file is meant", 0, 0 },
    { "a file above", "{\"weight_map\":{\"a\":\"../m.safetensors\"}}", LINNET_ERROR_FORMAT, "a file beside the index is meant", 0, 0 },
    { "a file below", "{\"weight_map\":{\"a\":\"d/m.safetensors\"}}", LINNET_ERROR_FORMAT, "a file beside the index is meant", 0, 0 },
    { "an absolute file", "{\"weight_map\":{\"a\":\"/etc/passwd\"}}", LINNET_ERROR_FORMAT, "a file beside the index is meant", 0, 0 },
    { "the folder above", "{\"weight_map\":{\"a\":\"..\"}}", LINNET_ERROR_FORMAT, "a file beside the index is meant", 0, 0 },
    { "the folder itself", "{\"weight_map\":{\"a\":\".\"}}", LINNET_ERROR_FORMAT, "a file beside the index is meant", 0, 0 },
    { "a file without a name", "{\"weight_map\":{\"a\":\"\"}}", LINNET_ERROR_FORMAT, "a file beside the index is meant", 0, 0 },
    { "a file with a backslash", "{\"weight_map\":{\"a\":\"..\\\\m\"}}", LINNET_ERROR_FORMAT, "a file beside the index is meant", 0, 0 },
    { "a slash by an escape", "{\"weight_map\":{\"a\":\"..\\u002fm\"}}", LINNET_ERROR_FORMAT, "a file beside the index is meant", 0, 0 },
    { "a total that is a text", "{\"metadata\":{\"total_size\":\"12\"},\"weight_map\":{\"a\":\"m\"}}", LINNET_ERROR_FORMAT, "`metadata.total_size` is a string", 0, 0 },
    { "a total with a fraction", "{\"metadata\":{\"total_size\":1.5},\"weight_map\":{\"a\":\"m\"}}", LINNET_ERROR_FORMAT, "no whole number", 0, 0 },
    { "a total below zero", "{\"metadata\":{\"total_size\":-1},\"weight_map\":{\"a\":\"m\"}}", LINNET_ERROR_FORMAT, "no whole number", 0, 0 },
    { "a total of 2^63", "{\"metadata\":{\"total_size\":9223372036854775808},\"weight_map\":{\"a\":\"m\"}}", LINNET_ERROR_FORMAT, "no whole number", 0, 0 },
    { "a total of 1e999", "{\"metadata\":{\"total_size\":1e999},\"weight_map\":{\"a\":\"m\"}}", LINNET_ERROR_FORMAT, "no whole number", 0, 0 },
    { "a total that is Infinity", "{\"metadata\":{\"total_size\":Infinity},\"weight_map\":{\"a\":\"m\"}}", LINNET_ERROR_FORMAT, "expected a value", 0, 0 },
    { "a total twice", "{\"metadata\":{\"total_size\":1,\"total_size\":2},\"weight_map\":{\"a\":\"m\"}}", LINNET_ERROR_FORMAT, "is there twice", 0, 0 },
    { "two documents", "{\"weight_map\":{\"a\":\"m\"}} {}", LINNET_ERROR_FORMAT, "the end of the text", 0, 0 },
    { "a truncated UTF-8 lead byte", "{\"weight_map\":{\"a\":\"m\xf0", LINNET_ERROR_FORMAT, "UTF-8", 0, 0 },
    /* clang-format on */
};

static linnet_status read_exact(lin_arena *arena, const char *text, uint64_t length,
                                lin_tensor_list *out, linnet_error *err)
{
    char *copy = lin_arena_alloc(arena, length);
    assert_non_null(copy);
    if (length > 0)
        memcpy(copy, text, length);
    return lin_index_read(arena, "x.index.json", copy, length, out, err);
}

static void test_text(void **state)
{
    const struct index_case *c = *state;
    lin_arena arena;
    lin_tensor_list list;
    linnet_error err = { 0 };
    lin_arena_init(&arena, &lin_default_allocator);
    linnet_status status = read_exact(&arena, c->text, strlen(c->text), &list, &err);
    if (status != c->status || (c->message != NULL && strstr(err.message, c->message) == NULL))
        fail_msg("%d `%s`, not %d `%s`", (int)status, err.message, (int)c->status,
                 c->message != NULL ? c->message : "");
    if (status == LINNET_OK) {
        assert_int_equal(list.count, 1);
        assert_string_equal(list.items[0].name, "a");
        assert_int_equal(list.items[0].bytes, -1);
        assert_null(list.items[0].shape);
        assert_int_equal(list.items[0].format, LIN_TENSOR_NO_FORMAT);
        assert_int_equal(list.bytes, -1);
        assert_int_equal(list.stated_bytes, c->bytes);
        assert_int_equal(list.stated_parameters, c->parameters);
        assert_int_equal(list.shard_count, 1);
        assert_false(list.shards[0].present);
    }
    lin_arena_free(&arena);
}

static void test_truncated(void **state)
{
    (void)state;
    static const char text[] = "{\"metadata\":{\"total_size\":12},\"weight_map\":{\"a\":\"m\","
                               "\"b\":\"n\"}}";
    for (uint64_t length = 0; length < sizeof(text) - 1; length++) {
        lin_arena arena;
        lin_tensor_list list;
        lin_arena_init(&arena, &lin_default_allocator);
        assert_int_equal(read_exact(&arena, text, length, &list, NULL), LINNET_ERROR_FORMAT);
        lin_arena_free(&arena);
    }
}

/* Each tensor in a file of its own. */
static void test_many_files(void **state)
{
    (void)state;
    lin_arena arena;
    lin_tensor_list list;
    lin_text text;
    lin_arena_init(&arena, &lin_default_allocator);
    lin_text_init(&text, &lin_default_allocator);
    for (uint32_t i = 0; i < 100000; i++)
        lin_text_addf(&text, "%s\"t%u\":\"f%u\"", i == 0 ? "{\"weight_map\":{" : ",", (unsigned)i,
                      (unsigned)i);
    lin_text_add(&text, "}}");
    assert_int_equal(read_exact(&arena, lin_text_data(&text), text.length, &list, NULL), LINNET_OK);
    assert_int_equal(list.count, 100000);
    assert_int_equal(list.shard_count, 100000);
    assert_string_equal(list.shards[list.items[77777].shard].name, "f77777");
    lin_text_free(&text);
    lin_arena_free(&arena);
}

/* ---- shards ---- */

static void write_shard(place *p, const char *name, const char *const *tensors)
{
    lin_text header;
    char prefix[8];
    uint64_t at_byte = 0;
    lin_text_init(&header, &lin_default_allocator);
    for (; *tensors != NULL; tensors++, at_byte += 6)
        lin_text_addf(&header,
                      "%s\"%s\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[%llu,%llu]}",
                      at_byte == 0 ? "{" : ",", *tensors, (unsigned long long)at_byte,
                      (unsigned long long)at_byte + 6);
    lin_text_add(&header, "}");
    for (int i = 0; i < 8; i++)
        prefix[i] = (char)(header.length >> (8 * i));
    FILE *file = fopen(at(p, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(prefix, 1, 8, file), 8);
    assert_int_equal(fwrite(lin_text_data(&header), 1, header.length, file), header.length);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(truncate(at(p, name), (off_t)(8 + header.length + at_byte)), 0);
    lin_text_free(&header);
}

static linnet_status open_index(place *p, lin_arena *arena, lin_checkpoint *out, linnet_error *err)
{
    lin_arena_init(arena, &lin_default_allocator);
    return lin_checkpoint_index(arena, at(p, "m.safetensors.index.json"), out, err);
}

static const char two_shards[] = "{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":"
                                 "\"2.safetensors\",\"c\":\"1.safetensors\"}}";

static void test_shards(void **state)
{
    place *p = *state;
    lin_arena arena;
    lin_checkpoint checkpoint;
    write_file(p, "m.safetensors.index.json", two_shards);
    write_shard(p, "1.safetensors", (const char *const[]){ "c", "a", NULL });
    write_shard(p, "2.safetensors", (const char *const[]){ "b", "extra", NULL });
    assert_int_equal(open_index(p, &arena, &checkpoint, NULL), LINNET_OK);
    assert_true(checkpoint.has_sizes);
    assert_int_equal(checkpoint.missing, 0);
    assert_int_equal(checkpoint.unlisted, 1);
    assert_string_equal(checkpoint.unlisted_name, "extra");
    assert_int_equal(checkpoint.tensors.count, 3);
    assert_int_equal(checkpoint.tensors.bytes, 18);
    const lin_tensor *a = lin_tensor_find(&checkpoint.tensors, "a");
    assert_non_null(a);
    assert_int_equal(a->bytes, 6);
    assert_int_equal(a->offset, 6);
    assert_int_equal(a->shape[0], 3);
    assert_string_equal(checkpoint.tensors.formats[a->format].name, "f16");
    lin_arena_free(&arena);
}

static void test_missing_shard(void **state)
{
    place *p = *state;
    lin_arena arena;
    lin_checkpoint checkpoint;
    write_file(p, "m.safetensors.index.json", two_shards);
    write_shard(p, "1.safetensors", (const char *const[]){ "a", "c", NULL });
    assert_int_equal(open_index(p, &arena, &checkpoint, NULL), LINNET_OK);
    assert_false(checkpoint.has_sizes);
    assert_int_equal(checkpoint.missing, 1);
    assert_string_equal(checkpoint.missing_shard, "2.safetensors");
    assert_int_equal(checkpoint.tensors.bytes, -1);
    assert_int_equal(lin_tensor_find(&checkpoint.tensors, "a")->bytes, 6);
    assert_int_equal(lin_tensor_find(&checkpoint.tensors, "b")->bytes, -1);
    lin_arena_free(&arena);
}

static const struct shard_case {
    const char *name;
    const char *first[4], *second[4];
    linnet_status status;
    const char *message;
} shard_cases[] = {
    { "a tensor that its shard lacks",
      { "a", NULL },
      { "b", NULL },
      LINNET_ERROR_FORMAT,
      "`c` is by the index, and not really, in `1.safetensors`: the file belongs to another" },
    { "shards exchanged",
      { "b", NULL },
      { "a", "c", NULL },
      LINNET_ERROR_FORMAT,
      "`b` is elsewhere by the index" },
    { "a tensor in both",
      { "a", "b", "c", NULL },
      { "b", NULL },
      LINNET_ERROR_FORMAT,
      "`b` is elsewhere" },
    { "a shard of another model",
      { "x", "y", NULL },
      { "b", NULL },
      LINNET_ERROR_FORMAT,
      "belongs to another model" },
};

static void test_wrong_shard(void **state)
{
    /* The state is the place: the rows are walked here. */
    place *p = *state;
    for (size_t i = 0; i < ARRAY_LEN(shard_cases); i++) {
        const struct shard_case *c = &shard_cases[i];
        lin_arena arena;
        lin_checkpoint checkpoint;
        linnet_error err = { 0 };
        write_file(p, "m.safetensors.index.json", two_shards);
        write_shard(p, "1.safetensors", c->first);
        write_shard(p, "2.safetensors", c->second);
        linnet_status status = open_index(p, &arena, &checkpoint, &err);
        if (status != c->status || strstr(err.message, c->message) == NULL)
            fail_msg("%s: %d `%s`", c->name, (int)status, err.message);
        lin_arena_free(&arena);
    }
    lin_arena arena;
    lin_checkpoint checkpoint;
    linnet_error err = { 0 };
    write_file(p, "1.safetensors", "12345678");
    assert_int_equal(open_index(p, &arena, &checkpoint, &err), LINNET_ERROR_FORMAT);
    lin_arena_free(&arena);
    assert_int_equal(unlink(at(p, "1.safetensors")), 0);
    assert_int_equal(symlink("1.safetensors", at(p, "1.safetensors")), 0);
    assert_int_equal(open_index(p, &arena, &checkpoint, &err), LINNET_ERROR_FILE);
    assert_non_null(strstr(err.message, "in a circle"));
    lin_arena_free(&arena);
}

/* PyTorch's shards run code when they are loaded: they are not opened. */
static void test_pytorch(void **state)
{
    place *p = *state;
    lin_arena arena;
    lin_checkpoint checkpoint;
    lin_arena_init(&arena, &lin_default_allocator);
    write_file(p, "pytorch_model.bin.index.json", "{\"weight_map\":{\"a\":\"1.bin\"}}");
    assert_int_equal(mkfifo(at(p, "1.bin"), 0600), 0);
    assert_int_equal(
        lin_checkpoint_index(&arena, at(p, "pytorch_model.bin.index.json"), &checkpoint, NULL),
        LINNET_OK);
    assert_false(checkpoint.has_sizes);
    assert_int_equal(checkpoint.missing, 0);
    lin_arena_free(&arena);
}

/* 163 files as DeepSeek-V3 has, of which only headers can be read: the data is a hole of 4 GB. */
static void test_163_shards(void **state)
{
    place *p = *state;
    lin_arena arena;
    lin_checkpoint checkpoint;
    lin_text index;
    lin_text_init(&index, &lin_default_allocator);
    for (int i = 0; i < 163; i++) {
        static const char header[] =
            "{\"t%03d\":{\"dtype\":\"U8\",\"shape\":[4000000000],\"data_offsets\":[0,4000000000]}}";
        char name[64], text[160];
        (void)snprintf(name, sizeof(name), "model-%05d-of-00163.safetensors", i + 1);
        int length = snprintf(text, sizeof(text), header, i);
        FILE *file = fopen(at(p, name), "wb");
        assert_non_null(file);
        const char prefix[8] = { (char)length };
        assert_int_equal(fwrite(prefix, 1, 8, file), 8);
        assert_int_equal(fwrite(text, 1, (size_t)length, file), (size_t)length);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(truncate(at(p, name), (off_t)(8 + length + 4000000000)), 0);
        lin_text_addf(&index, "%s\"t%03d\":\"%s\"", i == 0 ? "{\"weight_map\":{" : ",", i, name);
    }
    lin_text_add(&index, "}}");
    write_file(p, "m.safetensors.index.json", lin_text_data(&index));
    assert_int_equal(open_index(p, &arena, &checkpoint, NULL), LINNET_OK);
    assert_true(checkpoint.has_sizes);
    assert_int_equal(checkpoint.tensors.bytes, 163 * 4000000000);
    lin_arena_free(&arena);
    /* Without its index, and by one of its files, the same. */
    assert_int_equal(unlink(at(p, "m.safetensors.index.json")), 0);
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(
        lin_checkpoint_path(&arena, at(p, "model-00007-of-00163.safetensors"), &checkpoint, NULL),
        LINNET_OK);
    assert_int_equal(checkpoint.tensors.bytes, 163 * 4000000000);
    assert_int_equal(checkpoint.tensors.shard_count, 163);
    lin_arena_free(&arena);
    lin_text_free(&index);
}

/* ---- the real ones ---- */

static const struct real_case {
    const char *name, *config; /* folders; NULL: no config there */
} real_cases[] = {
    { "gemma-2b", "gemma-2b" },
    { "qwen3-1.7b", "qwen3-1.7b" },
    { "devstral-small-2507", "devstral-small-2507" },
    { "llama-2-70b-chat", "llama-2-70b-chat" },
    { "medgemma-27b-it", "medgemma-27b-it" },
    { "bloom-176b-pytorch", "bloom-176b" },
    { "wizardlm-2-8x22b", NULL },
    { "internlm-20b-pytorch", NULL },
};

/* A shared file's path in `arena`; skips without the folder. */
static const char *shared(lin_arena *arena, const char *folder, const char *name, const char *file)
{
    const char *root = getenv("LINNET_SHARED");
    if (root == NULL) {
        print_message("LINNET_SHARED is not set\n");
        skip();
    }
    const char *path = lin_arena_format(arena, "%s/data/%s/%s/%s", root, folder, name, file);
    if (lin_path_look(path) != LIN_PATH_FILE) {
        print_message("%s is missing\n", path);
        lin_arena_free(arena);
        skip();
    }
    char real[PATH_MAX];
    assert_non_null(realpath(path, real));
    return lin_arena_text(arena, real, strlen(real));
}

static const lin_json *expected_of(lin_arena *arena, const char *name)
{
    const char *text;
    uint64_t length;
    const lin_json *document;
    const char *path = shared(arena, "safetensors-index", ".", "expected.json");
    assert_int_equal(lin_file_read(arena, path, 1 << 20, &text, &length, NULL), LINNET_OK);
    assert_int_equal(lin_json_read(path, text, length, false, arena, &document, NULL), LINNET_OK);
    const lin_json *row = lin_json_get(document, name);
    assert_non_null(row);
    return row;
}

static int64_t number(const lin_json *row, const char *key)
{
    const lin_json *value = lin_json_get(row, key);
    return value != NULL && value->kind == LIN_JSON_INTEGER ? value->integer : -1;
}

static void test_real(void **state)
{
    const struct real_case *c = *state;
    lin_arena arena;
    lin_checkpoint checkpoint;
    lin_arena_init(&arena, &lin_default_allocator);
    const lin_json *row = expected_of(&arena, c->name);
    const char *path =
        shared(&arena, "safetensors-index", c->name, lin_json_get(row, "file")->text);
    assert_int_equal(lin_checkpoint_index(&arena, path, &checkpoint, NULL), LINNET_OK);
    const lin_tensor_list *tensors = &checkpoint.tensors;
    assert_int_equal(tensors->count, number(row, "entries"));
    assert_int_equal(tensors->shard_count, number(row, "shards"));
    assert_int_equal(checkpoint.missing, number(row, "shards"));
    assert_int_equal(tensors->stated_bytes, number(row, "total_size"));
    assert_int_equal(tensors->stated_parameters, number(row, "metadata_total_parameters"));
    lin_arena_free(&arena);
}

static place *place_of(void)
{
    void *p = NULL;
    assert_int_equal(set_up(&p), 0);
    return p;
}

/* With its config beside it: every name is a parameter's or a buffer's, every parameter is there,
 * and the program's sum is the index's. */
static void test_real_program(void **state)
{
    const struct real_case *c = *state;
    lin_arena arena;
    linnet_error err = { 0 };
    lin_source *source = NULL;
    const lin_source_settings settings = { .allocator = lin_default_allocator };
    lin_arena_init(&arena, &lin_default_allocator);
    const lin_json *row = expected_of(&arena, c->name);
    const char *file = lin_json_get(row, "file")->text;
    const char *index = shared(&arena, "safetensors-index", c->name, file);
    const char *config = shared(&arena, "hf-configs", c->config, "config.json");
    place *p = place_of();
    assert_int_equal(symlink(index, at(p, file)), 0);
    assert_int_equal(symlink(config, at(p, "config.json")), 0);
    linnet_status status = lin_source_open(&settings, p->directory, NULL, &source, &err);
    if (status != LINNET_OK)
        fail_msg("%s: %s", c->name, err.message);
    const lin_reconciled *met = source->reconciled;
    assert_non_null(met);
    assert_int_equal(met->left_out, 0);
    assert_int_equal(met->missing, 0);
    assert_int_equal(met->found + met->buffers, number(row, "entries"));
    assert_int_equal(met->parameters, number(row, "parameters"));
    lin_source_free(source);
    void *done = p;
    assert_int_equal(tear_down(&done), 0);
    lin_arena_free(&arena);
}

int main(void)
{
    enum { REST = 16 };
    struct CMUnitTest tests[ARRAY_LEN(index_cases) + 2 * ARRAY_LEN(real_cases) + REST];
    size_t count = 0;
    memset(tests, 0, sizeof(tests));
    for (size_t i = 0; i < ARRAY_LEN(index_cases); i++)
        tests[count++] = (struct CMUnitTest){ .name = index_cases[i].name,
                                              .test_func = test_text,
                                              .initial_state = (void *)(uintptr_t)&index_cases[i] };
    for (size_t i = 0; i < ARRAY_LEN(real_cases); i++) {
        void *row = (void *)(uintptr_t)&real_cases[i];
        tests[count++] = (struct CMUnitTest){ .name = real_cases[i].name,
                                              .test_func = test_real,
                                              .initial_state = row };
        if (real_cases[i].config != NULL)
            tests[count++] = (struct CMUnitTest){ .name = real_cases[i].config,
                                                  .test_func = test_real_program,
                                                  .initial_state = row };
    }
    const struct CMUnitTest rest[] = {
        cmocka_unit_test(test_truncated), cmocka_unit_test(test_many_files), IN_PLACE(test_shards),
        IN_PLACE(test_missing_shard),     IN_PLACE(test_wrong_shard),        IN_PLACE(test_pytorch),
        IN_PLACE(test_163_shards),
    };
    _Static_assert(ARRAY_LEN(rest) <= REST, "there is room for the rest");
    memcpy(&tests[count], rest, sizeof(rest));
    return _cmocka_run_group_tests("index", tests, count + ARRAY_LEN(rest), NULL, NULL);
}
