/* SPDX-License-Identifier: MIT */

/* Modules that a program imports: of its package, of dependencies, of another standard library, of
 * the host; and every allocation of an opening failing once. */

#define _XOPEN_SOURCE 700 /* mkdtemp */

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

static const char helper[] = "module h\n"
                             "pub fn same<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
                             "    return x\n"
                             "}\n";

static void user_of(char out[512], const char *module)
{
    (void)snprintf(out, 512,
                   "module m\n"
                   "use %s::{same}\n"
                   "pub entry go<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
                   "    return same(x)\n"
                   "}\n",
                   module);
}

/* A file that imports `same` of `module`. */
static void write_user(place *p, const char *name, const char *module)
{
    char text[512];
    user_of(text, module);
    write_file(p, name, text);
}

static const char manifest[] = "[package]\nname = \"p\"\nversion = \"1\"\nlanguage = \"0.1\"\n";

static void write_manifest(place *p, const char *name, const char *rest)
{
    char text[512];
    (void)snprintf(text, sizeof(text), "%s%s", manifest, rest);
    write_file(p, name, text);
}

static void test_packages(void **state)
{
    place *p = *state;
    write_manifest(p, "app/linnet.toml", "[dependencies]\ndep = { path = \"../dep\" }\n");
    write_manifest(p, "dep/linnet.toml", "");
    write_file(p, "app/src/a/b.linnet", helper);
    write_user(p, "app/src/lib.linnet", "crate.a.b");
    lin_source *source = expect_opened(p, "app");
    assert_int_equal(source->program->module_count, 2);
    assert_string_equal(source->program->modules[1]->source->name, at(p, "app/src/a/b.linnet"));
    lin_source_free(source);

    write_file(p, "dep/src/x.linnet", helper);
    write_user(p, "app/src/deep/er.linnet", "dep.x");
    source = expect_opened(p, "app/src/deep/er.linnet");
    assert_string_equal(source->program->modules[1]->source->name,
                        at(p, "app/../dep/src/x.linnet"));
    lin_source_free(source);

    write_file(p, "dep/src/lib.linnet", helper);
    write_user(p, "app/src/lib.linnet", "dep");
    lin_source_free(expect_opened(p, "app"));
    write_user(p, "app/src/lib.linnet", "crate.gone");
    expect_refused(p, "app", LINNET_ERROR_SOURCE, "");
    write_user(p, "app/src/lib.linnet", "other.x");
    expect_refused(p, "app", LINNET_ERROR_SOURCE, "");
}

static void test_bad_packages(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "[package]\nname = \"p\"\n", "`package.language` is missing" },
        { "[package]\nlanguage = \"0.2\"\n", "language \"0.2\" is not known" },
        { "[package]\nlanguage = 1\n", "`package.language` is no string" },
        { "[package]\nlanguage = \"0.1\"\n[dependencies]\ndep = \"1.0\"\n", "has no `path`" },
        { "[package]\nlanguage = \"0.1\"\n[dependencies]\ndep = { git = \"u\" }\n", "has `git`" },
        { "[package]\nlanguage = \"0.1\"\n[dependencies]\nstd = { path = \"u\" }\n",
          "cannot be called `std`" },
        { "[package]\nlanguage = \"0.1\"\n[dependencies]\ndep = { path = \"/u\" }\n",
          "no relative path" },
        { "[package]\nlanguage = \"0.1\"\n[dependencies]\ndep = { path = \"none\" }\n",
          "has no linnet.toml" },
        { "[package\n", "linnet.toml:1:" },
    };
    place *p = *state;
    write_user(p, "app/src/lib.linnet", "dep.x");
    for (uint32_t i = 0; i < ARRAY_LEN(rows); i++) {
        lin_source *source;
        linnet_error err;
        write_file(p, "app/linnet.toml", rows[i].text);
        assert_int_equal(open_at(p, "app", &source, &err), LINNET_ERROR_SOURCE);
        assert_string_equal(err.diagnostic, "E5001");
        if (strstr(err.message, rows[i].message) == NULL)
            fail_msg("`%s` lacks `%s`", err.message, rows[i].message);
    }
}

static void test_std_directory(void **state)
{
    place *p = *state;
    linnet_error err;
    lin_source *source = NULL;
    lin_source_settings settings = { .allocator = lin_default_allocator };
    write_file(p, "own/h.linnet", helper);
    write_user(p, "m.linnet", "std.h");
    char directory[512];
    (void)snprintf(directory, sizeof(directory), "%s", at(p, "own"));
    settings.std_directory = directory;
    assert_int_equal(lin_source_open(&settings, at(p, "m.linnet"), NULL, &source, &err), LINNET_OK);
    lin_source_free(source);
    source = NULL;
    (void)snprintf(directory, sizeof(directory), "%s", at(p, "none"));
    assert_int_equal(lin_source_open(&settings, at(p, "m.linnet"), NULL, &source, &err),
                     LINNET_ERROR_FILE);
    (void)snprintf(directory, sizeof(directory), "%s", at(p, "m.linnet"));
    assert_int_equal(lin_source_open(&settings, at(p, "m.linnet"), NULL, &source, &err),
                     LINNET_ERROR_FILE);
    assert_non_null(strstr(err.message, "is a file"));
}

/* ---- imports ---- */

static int32_t answer_import(void *asked, const char *module, lin_text *into)
{
    (void)snprintf(asked, 64, "%s", module);
    if (strcmp(module, "mine.stop") == 0)
        return -1;
    if (strcmp(module, "mine.h") != 0)
        return 0;
    lin_text_add(into, helper);
    return 1;
}

static linnet_status parse_user(const char *module, linnet_error *err)
{
    char asked[64] = "", text[512];
    lin_source *source = NULL;
    const lin_source_settings settings = { .allocator = lin_default_allocator,
                                           .import = answer_import,
                                           .import_user = asked };
    user_of(text, module);
    linnet_status status =
        lin_source_parse(&settings, text, strlen(text), "memory", NULL, &source, err);
    assert_string_equal(asked, module);
    lin_source_free(source);
    return status;
}

static void test_imports(void **state)
{
    (void)state;
    linnet_error err = { 0 };
    assert_int_equal(parse_user("mine.h", &err), LINNET_OK);
    assert_int_equal(parse_user("mine.gone", &err), LINNET_ERROR_SOURCE);
    assert_string_equal(err.diagnostic, "E1202");
    assert_int_equal(parse_user("mine.stop", &err), LINNET_ERROR_CANCELLED);
}

/* ---- memory ---- */

typedef struct limited {
    int64_t left, live;
    bool only_one; /* only the request at which `left` is 0 fails */
} limited;

static void *limited_alloc(void *user_data, void *ptr, uint64_t old_size, uint64_t new_size)
{
    limited *l = user_data;
    if (new_size == 0) {
        l->live -= (int64_t)old_size;
        free(ptr);
        return NULL;
    }
    int64_t left = l->left--;
    if (left == 0 || (left < 0 && !l->only_one))
        return NULL;
    l->live += (int64_t)new_size - (int64_t)old_size;
    return realloc(ptr, (size_t)new_size);
}

static void fail_once(place *p, const char *name, bool only_one)
{
    for (int64_t n = 0;; n++) {
        limited l = { n, 0, only_one };
        const lin_source_settings settings = { .allocator = { limited_alloc, &l } };
        lin_source *source = NULL;
        linnet_error err;
        linnet_status status = lin_source_open(&settings, at(p, name), NULL, &source, &err);
        lin_source_free(source);
        assert_true(l.live == 0);
        if (status == LINNET_OK && l.left >= 0)
            return;
        if (status != LINNET_OK)
            assert_int_equal(status, LINNET_ERROR_NO_MEMORY);
    }
}

static void test_out_of_memory(void **state)
{
    place *p = *state;
    write_manifest(p, "app/linnet.toml", "[dependencies]\ndep = { path = \"../dep\" }\n");
    write_manifest(p, "dep/linnet.toml", "");
    write_file(p, "dep/src/x.linnet", helper);
    write_user(p, "app/src/lib.linnet", "dep.x");
    write_file(p, "app/b.json", "{\"a\": \"t\"}");
    write_file(p, "app/nest.toml",
               "[generics]\nN = 4\nT = \"f32\"\n[weights]\nbindings = \"b.json\"\n");
    fail_once(p, "app", true);
    fail_once(p, "app", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_imports), IN_PLACE(test_packages),      IN_PLACE(test_bad_packages),
        IN_PLACE(test_std_directory),   IN_PLACE(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
