/* SPDX-License-Identifier: MIT */

/* Where models come from: reading files that may be anything, cards, bindings, built-in names. */

#define _XOPEN_SOURCE 700 /* mkdtemp, symlink, mkfifo */

#include "source/source.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "source_place.h"
#include "zoo/zoo.h"

/* ---- cards ---- */

static const struct card_case {
    const char *name, *text;
    linnet_status status;
    const char *message; /* a part of it */
    uint32_t line;
} card_cases[] = {
    /* clang-format off */
    { "empty", "", LINNET_OK, NULL, 0 },
    { "all keys", "[model]\nname = \"a\"\ntitle = \"A\"\n[source]\npath = \"p\"\nroot = \"R\"\nentry = \"e\"\n"
      "[generics]\nH = 8\nT = \"bf16\"\n[weights]\nbindings = \"b\"\n", LINNET_OK, NULL, 0 },
    { "unknown keys and tables are ignored", "x = 1.5\n[model]\nlicence = 3\n[other]\ny = [1, 2]\n", LINNET_OK, NULL, 0 },
    { "a name that is a number", "[model]\nname = 3\n", LINNET_ERROR_FORMAT, "`model.name` is an integer; a name is meant", 2 },
    { "a root that is a boolean", "[source]\n\nroot = true\n", LINNET_ERROR_FORMAT, "`source.root` is a boolean; the name of a block", 3 },
    { "bindings that are a number", "[weights]\nbindings = 0.5\n", LINNET_ERROR_FORMAT, "the path of a bindings file is meant", 2 },
    { "a generic that is a boolean", "[generics]\nH = true\n", LINNET_ERROR_FORMAT, "`generics.H` is a boolean; an integer or the name of a dtype", 2 },
    { "a generic with a fraction", "[generics]\nH = 1.5\n", LINNET_ERROR_FORMAT, "`generics.H` is", 2 },
    { "a generic below zero", "[generics]\nH = -1\n", LINNET_ERROR_FORMAT, "`generics.H` is -1; a size is not negative", 2 },
    { "a dtype misspelt", "[generics]\nT = \"bf61\"\n", LINNET_ERROR_FORMAT, "such as `bf16`", 2 },
    { "a table that is a number", "generics = 3\n", LINNET_ERROR_FORMAT, "`generics` is an integer; a table is meant", 1 },
    { "an inline table", "generics = { H = 8, T = \"f32\" }\n", LINNET_OK, NULL, 0 },
    { "no TOML", "[model\n", LINNET_ERROR_FORMAT, "", 1 },
    { "a key twice", "[generics]\nH = 1\nH = 2\n", LINNET_ERROR_FORMAT, "H", 3 },
    { "a number past 64 bits", "[generics]\nH = 9223372036854775808\n", LINNET_ERROR_FORMAT, "", 2 },
    /* clang-format on */
};

static void test_card(void **state)
{
    const struct card_case *c = *state;
    lin_arena arena;
    linnet_error err = { 0 };
    lin_card card;
    lin_arena_init(&arena, &lin_default_allocator);
    linnet_status status =
        lin_card_read("nest.toml", c->text, strlen(c->text), &arena, &card, &err);
    assert_int_equal(status, c->status);
    if (status != LINNET_OK) {
        if (strstr(err.message, c->message) == NULL)
            fail_msg("`%s` lacks `%s`", err.message, c->message);
        assert_int_equal(err.line, c->line);
        assert_string_equal(err.source, "nest.toml");
    }
    lin_arena_free(&arena);
}

static void test_card_values(void **state)
{
    (void)state;
    const char *text = card_cases[1].text;
    lin_arena arena;
    lin_card card;
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(lin_card_read("c", text, strlen(text), &arena, &card, NULL), LINNET_OK);
    assert_string_equal(card.name, "a");
    assert_string_equal(card.title, "A");
    assert_string_equal(card.path, "p");
    assert_string_equal(card.root, "R");
    assert_string_equal(card.entry, "e");
    assert_string_equal(card.bindings, "b");
    assert_int_equal(card.setting_count, 2);
    assert_string_equal(card.settings[0].name, "H");
    assert_false(card.settings[0].is_dtype);
    assert_int_equal(card.settings[0].integer, 8);
    assert_string_equal(card.settings[1].name, "T");
    assert_true(card.settings[1].is_dtype);
    assert_int_equal(card.settings[1].dtype, LIN_DTYPE_BF16);
    lin_arena_free(&arena);
}

static const struct bindings_case {
    const char *name, *text;
    linnet_status status;
    const char *message;
} bindings_cases[] = {
    { "a path and a tensor", "{\"a.weight\": \"x\"}", LINNET_OK, NULL },
    { "none", "{}", LINNET_OK, NULL },
    { "a list", "[]", LINNET_ERROR_FORMAT, "the bindings are an array" },
    { "a number for a tensor", "{\"a.weight\": 3}", LINNET_ERROR_FORMAT, "`a.weight` is" },
    { "an empty tensor name", "{\"a.weight\": \"\"}", LINNET_ERROR_FORMAT, "`a.weight` is empty" },
    { "a path twice", "{\"a\": \"x\", \"a\": \"y\"}", LINNET_ERROR_FORMAT, "" },
    { "no JSON", "{", LINNET_ERROR_FORMAT, "" },
    { "nothing", "", LINNET_ERROR_FORMAT, "" },
};

static void test_bindings(void **state)
{
    const struct bindings_case *c = *state;
    lin_arena arena;
    linnet_error err = { 0 };
    const lin_weight_binding *bindings;
    uint32_t count;
    lin_arena_init(&arena, &lin_default_allocator);
    linnet_status status = lin_bindings_read("bindings.json", c->text, strlen(c->text), &arena,
                                             &bindings, &count, &err);
    assert_int_equal(status, c->status);
    if (status != LINNET_OK && strstr(err.message, c->message) == NULL)
        fail_msg("`%s` lacks `%s`", err.message, c->message);
    lin_arena_free(&arena);
}

static void test_bindings_order(void **state)
{
    (void)state;
    static const char text[] = "{\"z\": \"t\", \"a\": \"u\", \"m\": \"t\"}";
    lin_arena arena;
    const lin_weight_binding *bindings;
    uint32_t count;
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(
        lin_bindings_read("b", text, sizeof(text) - 1, &arena, &bindings, &count, NULL), LINNET_OK);
    assert_int_equal(count, 3);
    assert_string_equal(bindings[0].path, "z");
    assert_string_equal(bindings[2].path, "m");
    assert_string_equal(bindings[2].tensor, "t");
    lin_arena_free(&arena);
}

/* ---- files ---- */

static linnet_status read_limited(place *p, const char *name, uint64_t limit, linnet_error *err)
{
    lin_arena arena;
    const char *text = NULL;
    uint64_t length = 99;
    lin_arena_init(&arena, &lin_default_allocator);
    linnet_status status = lin_file_read(&arena, at(p, name), limit, &text, &length, err);
    if (status == LINNET_OK)
        assert_int_equal(text[length], '\0');
    lin_arena_free(&arena);
    return status;
}

static void expect_failure(place *p, const char *name, const char *message)
{
    linnet_error err = { 0 };
    assert_int_equal(read_limited(p, name, 100, &err), LINNET_ERROR_FILE);
    if (strstr(err.message, message) == NULL)
        fail_msg("`%s` lacks `%s`", err.message, message);
}

static void test_files(void **state)
{
    place *p = *state;
    linnet_error err = { 0 };
    char target[600];
    write_file(p, "empty", "");
    write_file(p, "ten", "0123456789");
    assert_int_equal(read_limited(p, "empty", 0, &err), LINNET_OK);
    assert_int_equal(read_limited(p, "ten", 10, &err), LINNET_OK);
    assert_int_equal(read_limited(p, "ten", 9, &err), LINNET_ERROR_FILE);
    assert_non_null(strstr(err.message, "too large: at most 9 bytes"));
    expect_failure(p, "missing", "does not exist");
    expect_failure(p, "ten/below", "does not exist");
    expect_failure(p, ".", "is a directory");
    assert_int_equal(mkfifo(at(p, "pipe"), 0600), 0);
    expect_failure(p, "pipe", "is a pipe");
    (void)snprintf(target, sizeof(target), "%s/circle-b", p->directory);
    assert_int_equal(symlink(target, at(p, "circle-a")), 0);
    (void)snprintf(target, sizeof(target), "%s/circle-a", p->directory);
    assert_int_equal(symlink(target, at(p, "circle-b")), 0);
    expect_failure(p, "circle-a", "lead in a circle");
    (void)snprintf(target, sizeof(target), "%s/ten", p->directory);
    assert_int_equal(symlink(target, at(p, "link")), 0);
    assert_int_equal(read_limited(p, "link", 100, &err), LINNET_OK);
    if (geteuid() != 0) {
        assert_int_equal(chmod(at(p, "ten"), 0), 0);
        expect_failure(p, "ten", "permission is denied");
    }
    char name[400];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    expect_failure(p, name, "too long");
}

static void test_devices(void **state)
{
    (void)state;
    lin_arena arena;
    linnet_error err = { 0 };
    const char *text;
    uint64_t length;
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(lin_file_read(&arena, "/dev/zero", 100, &text, &length, &err),
                     LINNET_ERROR_FILE);
    assert_non_null(strstr(err.message, "is a device"));
    if (access("/proc/self/status", R_OK) == 0) { /* says it has 0 bytes */
        assert_int_equal(lin_file_read(&arena, "/proc/self/status", 65536, &text, &length, &err),
                         LINNET_OK);
        assert_true(length > 0);
        assert_int_equal(lin_file_read(&arena, "/proc/self/status", 10, &text, &length, &err),
                         LINNET_ERROR_FILE);
    }
    lin_arena_free(&arena);
}

static void test_sparse_file(void **state)
{
    place *p = *state;
    linnet_error err = { 0 };
    write_file(p, "large.linnet", "module m\n");
    assert_int_equal(truncate(at(p, "large.linnet"), (off_t)100 << 20), 0);
    const lin_source_settings settings = { .allocator = lin_default_allocator };
    lin_source *source = NULL;
    assert_int_equal(lin_source_open(&settings, at(p, "large.linnet"), NULL, &source, &err),
                     LINNET_ERROR_FILE);
    assert_non_null(strstr(err.message, "too large: at most 16777216 bytes"));
    assert_null(source);
}

/* ---- opening ---- */

static const char valid[] = "module m\n"
                            "pub entry same<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
                            "    return x\n"
                            "}\n";

static void test_open_file(void **state)
{
    place *p = *state;
    write_file(p, "m.linnet", valid);
    lin_source *source = expect_opened(p, "m.linnet");
    assert_string_equal(source->name, at(p, "m.linnet"));
    assert_string_equal(source->title, "");
    assert_null(source->root);
    assert_false(source->has_bindings);
    assert_int_equal(source->program->module_count, 1);
    lin_source_free(source);
    lin_source_free(NULL);
}

static void test_open_refused(void **state)
{
    place *p = *state;
    write_file(p, "empty.linnet", "");
    expect_refused(p, "empty.linnet", LINNET_ERROR_SOURCE, "");
    write_file(p, "model.gguf", "GGUF");
    expect_refused(p, "model.gguf", LINNET_ERROR_FORMAT, "");
    write_file(p, "model.bin", "PK");
    expect_refused(p, "model.bin", LINNET_ERROR_UNSUPPORTED, "run code when they are loaded");
    write_file(p, "model.safetensors", "1234567");
    expect_refused(p, "model.safetensors", LINNET_ERROR_FORMAT, "has no header");
    write_file(p, "notes.txt", "x");
    expect_refused(p, "notes.txt", LINNET_ERROR_FORMAT, "is no model");
    expect_refused(p, "missing.linnet", LINNET_ERROR_FILE, "does not exist");
    expect_refused(p, "no/directory/here", LINNET_ERROR_FILE, "does not exist");
    assert_int_equal(mkdir(at(p, "empty"), 0700), 0);
    expect_refused(p, "empty", LINNET_ERROR_FILE, "holds no model");
    write_file(p, "hf/config.json", "{}");
    expect_refused(p, "hf", LINNET_ERROR_FORMAT, "`model_type` is missing");
    expect_refused(p, "hf/config.json", LINNET_ERROR_FORMAT, "`model_type` is missing");
    write_file(p, "weights/model.safetensors.index.json", "{\"weight_map\":{\"a\":\"b\"}}");
    expect_refused(p, "weights", LINNET_ERROR_FILE, "weights/config.json` does not exist");
    expect_refused(p, "weights/model.safetensors.index.json", LINNET_ERROR_FILE,
                   "weights/config.json` does not exist");
    assert_int_equal(mkfifo(at(p, "pipe.linnet"), 0600), 0);
    expect_refused(p, "pipe.linnet", LINNET_ERROR_FILE, "is a pipe");
    assert_int_equal(mkdir(at(p, "d.linnet"), 0700), 0);
    expect_refused(p, "d.linnet", LINNET_ERROR_FILE, "holds no model");
    write_file(p, "card/nest.toml", "[source]\npath = \"gone.linnet\"\n");
    expect_refused(p, "card", LINNET_ERROR_FILE, "gone.linnet` does not exist");
    write_file(p, "card/nest.toml", "[source]\npath = \"/etc/passwd\"\n");
    expect_refused(p, "card", LINNET_ERROR_FORMAT, "relative to the card");
    write_file(p, "card/nest.toml", "[weights]\nbindings = \"gone.json\"\n");
    expect_refused(p, "card", LINNET_ERROR_FILE, "gone.json` does not exist");
    assert_int_equal(unlink(at(p, "card/nest.toml")), 0);
    assert_int_equal(mkfifo(at(p, "card/nest.toml"), 0600), 0);
    expect_refused(p, "card", LINNET_ERROR_FILE, "is a pipe");
}

static void test_open_card(void **state)
{
    place *p = *state;
    write_file(p, "model/src/lib.linnet", valid);
    write_file(p, "model/b.json", "{\"a\": \"t\"}");
    write_file(p, "model/nest.toml",
               "[model]\ntitle = \"A model\"\n[source]\nentry = \"same\"\n"
               "[generics]\nN = 4\n[weights]\nbindings = \"b.json\"\n");
    lin_source *source = expect_opened(p, "model/");
    assert_string_equal(source->title, "A model");
    assert_string_equal(source->entry, "same");
    assert_int_equal(source->setting_count, 1);
    assert_true(source->has_bindings);
    assert_int_equal(source->binding_count, 1);
    lin_source_free(source);
}

/* ---- names ---- */

static void test_builtin(void **state)
{
    const char *name = *state;
    const lin_source_settings settings = { .allocator = lin_default_allocator };
    lin_source *source = NULL;
    linnet_error err = { 0 };
    if (lin_source_open(&settings, name, NULL, &source, &err) != LINNET_OK)
        fail_msg("%s: %s:%u:%u: %s", name, err.source, err.line, err.column, err.message);
    assert_string_equal(source->name, name);
    assert_true(source->title[0] != '\0');
    assert_true(source->family[0] != '\0');
    assert_true(source->setting_count > 0);
    /* The lesson's model has no checkpoint to be bound to. */
    assert_int_equal(source->has_bindings && source->binding_count > 0,
                     strcmp(name, "gpt-lesson") != 0);
    lin_source_free(source);
}

static void test_unknown_names(void **state)
{
    (void)state;
    const lin_source_settings settings = { .allocator = lin_default_allocator };
    lin_source *source = NULL;
    linnet_error err;
    assert_int_equal(lin_source_open(&settings, "llama-3.1-8b-instuct", NULL, &source, &err),
                     LINNET_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.message, "the nearest name is `llama-3.1-8b-instruct`"));
    assert_non_null(strstr(err.message, "built in are llama-3.1-8b-instruct, "));
    assert_non_null(strstr(err.message, "vit-base-patch16-224"));
    assert_int_equal(lin_source_open(&settings, "whisper-tiny", NULL, &source, &err),
                     LINNET_ERROR_UNSUPPORTED);
    assert_int_equal(lin_source_open(&settings, "", NULL, &source, &err), LINNET_ERROR_NOT_FOUND);
    assert_null(source);
}

#define ROWS(cases, test)                                 \
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)         \
        tests[count++] = (struct CMUnitTest)              \
        {                                                 \
            .name = cases[i].name, .test_func = test,     \
            .initial_state = (void *)(uintptr_t)&cases[i] \
        }
int main(void)
{
    static struct CMUnitTest tests[ARRAY_LEN(card_cases) + ARRAY_LEN(bindings_cases) + 64];
    size_t count = 0;
    ROWS(card_cases, test_card);
    ROWS(bindings_cases, test_bindings);
    for (uint32_t i = 0; i < lin_zoo_model_count(); i++) {
        const lin_zoo_model *model = lin_zoo_model_at(i);
        if (model->card != NULL)
            tests[count++] = (struct CMUnitTest){ .name = model->name,
                                                  .test_func = test_builtin,
                                                  .initial_state = (void *)(uintptr_t)model->name };
    }
    const struct CMUnitTest single[] = {
        cmocka_unit_test(test_card_values),
        cmocka_unit_test(test_bindings_order),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_unknown_names),
        IN_PLACE(test_files),
        IN_PLACE(test_sparse_file),
        IN_PLACE(test_open_file),
        IN_PLACE(test_open_refused),
        IN_PLACE(test_open_card),
    };
    for (size_t i = 0; i < ARRAY_LEN(single); i++)
        tests[count++] = single[i];
    return _cmocka_run_group_tests("source", tests, count, NULL, NULL);
}
