/* SPDX-License-Identifier: MIT */

/* The shipped data: every file is found by name, every shipped model has its card, its bindings and
 * source, and nothing lies in the folder that is not compiled in (LINNET_ZOO names the folder). */

#define _POSIX_C_SOURCE 200809L

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"
#include "zoo/zoo.h"

enum { MAX_PATH = 1024 };

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* ---- files ---- */

static void test_files_sorted_and_found(void **state)
{
    (void)state;
    assert_true(lin_zoo_count() > 0);
    for (uint32_t i = 0; i < lin_zoo_count(); i++) {
        const lin_zoo_file *file = lin_zoo_at(i);
        assert_ptr_equal(lin_zoo_find(file->path), file);
        assert_int_equal(strlen(file->text), file->length);
        assert_true(file->length > 0);
        if (i > 0)
            assert_true(strcmp(lin_zoo_at(i - 1)->path, file->path) < 0);
    }
}

static void test_unknown_files(void **state)
{
    static const char *const names[] = { "", "std", "std/nn/linear", "zzz",
                                         "std/nn/linear.linnet " };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_null(lin_zoo_find(names[i]));
}

/* Every standard module that stdlib.md names. */
static const char *const std_modules[] = {
    "nn/linear",    "nn/embedding", "nn/norm", "nn/activations", "nn/softmax",
    "nn/attention", "nn/rope",      "nn/mlp",  "nn/cache",       "nn/loss",
    "nn/parallel",  "nn/moe",       "nn/conv", "nn/pool",        "nn/resize",
    "nn/decoding",  "nn/dropout",   "linalg",  "random",         "quant",
};

/* The module a file declares is the one its path says. */
static void test_std_module(void **state)
{
    const char *name = *state;
    char path[MAX_PATH], line[MAX_PATH];
    snprintf(path, sizeof path, "std/%s.linnet", name);
    const lin_zoo_file *file = lin_zoo_find(path);
    assert_non_null(file);
    int length = snprintf(line, sizeof line, "\nmodule std.%s\n", name);
    for (int i = 1; i < length - 1; i++) {
        if (line[i] == '/')
            line[i] = '.';
    }
    assert_non_null(strstr(file->text, line));
}

/* ---- models ---- */

static void test_model(void **state)
{
    const lin_zoo_model *model = lin_zoo_model_find(*state);
    assert_non_null(model);
    assert_string_equal(model->name, *state);
    assert_true(model->title[0] != '\0');
    if (model->card == NULL) {
        assert_non_null(model->instead);
        return;
    }
    char path[MAX_PATH], line[MAX_PATH];
    const lin_zoo_file *card = lin_zoo_find(model->card);
    assert_non_null(card);
    snprintf(line, sizeof line, "\nname = \"%s\"\n", model->name);
    assert_non_null(strstr(card->text, line));
    snprintf(line, sizeof line, "\ntitle = \"%s\"\n", model->title);
    assert_non_null(strstr(card->text, line));
    snprintf(path, sizeof path, "models/%s.linnet", model->family);
    assert_non_null(lin_zoo_find(path));
    snprintf(line, sizeof line, "\npath = \"models/%s.linnet\"\n", model->family);
    assert_non_null(strstr(card->text, line));
    snprintf(path, sizeof path, "cards/%s/bindings.json", model->name);
    assert_int_equal(lin_zoo_find(path) != NULL, strstr(card->text, "\nbindings = ") != NULL);
}

static void test_shipped_models_first(void **state)
{
    enum { SHIPPED = 14, NAMED = 26 };
    (void)state;
    assert_int_equal(lin_zoo_model_count(), NAMED);
    for (uint32_t i = 0; i < NAMED; i++)
        assert_int_equal(lin_zoo_model_at(i)->card != NULL, i < SHIPPED);
}

static void test_aliases(void **state)
{
    (void)state;
    assert_ptr_equal(lin_zoo_model_find("qwen2.5-0.5b"),
                     lin_zoo_model_find("qwen2.5-0.5b-instruct"));
    assert_ptr_equal(lin_zoo_model_find("bert-base"), lin_zoo_model_find("bert-base-uncased"));
    assert_ptr_equal(lin_zoo_model_find("vit-base"), lin_zoo_model_find("vit-base-patch16-224"));
    assert_null(lin_zoo_model_find("GPT2"));
    assert_null(lin_zoo_model_find(""));
}

/* ---- the folder ---- */

/* Files under `base`/`relative` that are not compiled in. */
static uint32_t count_unlisted(const char *base, const char *relative)
{
    char path[MAX_PATH];
    uint32_t unlisted = 0;
    snprintf(path, sizeof path, "%s/%s", base, relative);
    DIR *directory = opendir(path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char child[MAX_PATH];
        struct stat status;
        if (entry->d_name[0] == '.')
            continue;
        assert_true((size_t)snprintf(child, sizeof child, "%s/%s", relative, entry->d_name) <
                    sizeof child);
        assert_true((size_t)snprintf(path, sizeof path, "%s/%s", base, child) < sizeof path);
        assert_int_equal(stat(path, &status), 0);
        if (S_ISDIR(status.st_mode)) {
            unlisted += count_unlisted(base, child);
        } else if (lin_zoo_find(child) == NULL && !ends_with(child, ".build")) {
            print_message("not compiled in: %s\n", child);
            unlisted++;
        }
    }
    closedir(directory);
    return unlisted;
}

static void test_nothing_unlisted(void **state)
{
    static const char *const folders[] = { "std", "models", "cards", "runtime" };
    const char *base = getenv("LINNET_ZOO");
    (void)state;
    if (base == NULL) {
        print_message("LINNET_ZOO is not set: nothing to compare with\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        assert_int_equal(count_unlisted(base, folders[i]), 0);
}

enum { FIXED_TESTS = 5, MAX_TESTS = 64 };

int main(void)
{
    struct CMUnitTest tests[MAX_TESTS] = {
        { .name = "files are sorted and found", .test_func = test_files_sorted_and_found },
        { .name = "unknown files are not found", .test_func = test_unknown_files },
        { .name = "shipped models come first", .test_func = test_shipped_models_first },
        { .name = "aliases name the same model", .test_func = test_aliases },
        { .name = "nothing on disk is left out", .test_func = test_nothing_unlisted },
    };
    size_t count = FIXED_TESTS;
    for (size_t i = 0; i < ARRAY_LEN(std_modules); i++, count++)
        tests[count] = (struct CMUnitTest){ .name = std_modules[i],
                                            .test_func = test_std_module,
                                            .initial_state = (void *)(uintptr_t)std_modules[i] };
    for (uint32_t i = 0; i < lin_zoo_model_count() && count < MAX_TESTS; i++, count++) {
        const char *name = lin_zoo_model_at(i)->name;
        tests[count] = (struct CMUnitTest){ .name = name,
                                            .test_func = test_model,
                                            .initial_state = (void *)(uintptr_t)name };
    }
    return _cmocka_run_group_tests("zoo", tests, count, NULL, NULL);
}
