/* SPDX-License-Identifier: MIT */

/* Where models come from: reading files that may be anything, cards, bindings, packages, built-in
 * names, the host's imports. */

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

typedef struct place {
    char directory[256];
    char at[512];
} place;

/* A path below the test's directory; valid until the next call. */
static const char *at(place *p, const char *name)
{
    (void)snprintf(p->at, sizeof(p->at), "%s/%s", p->directory, name);
    return p->at;
}

static void make_directories(place *p, const char *name)
{
    (void)at(p, name);
    for (char *slash = p->at + strlen(p->directory) + 1; (slash = strchr(slash, '/')) != NULL;
         slash++) {
        *slash = '\0';
        (void)mkdir(p->at, 0700);
        *slash = '/';
    }
}

static void write_file(place *p, const char *name, const char *text)
{
    make_directories(p, name);
    FILE *file = fopen(at(p, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    static place p;
    const char *parent = getenv("TMPDIR");
    (void)snprintf(p.directory, sizeof(p.directory), "%s/linnet-XXXXXX",
                   parent != NULL ? parent : "/tmp");
    if (mkdtemp(p.directory) == NULL)
        return -1;
    *state = &p;
    return 0;
}

static int tear_down(void **state)
{
    place *p = *state;
    char command[300];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", p->directory);
    return system(command) == 0 ? 0 : -1;
}

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

static linnet_status open_at(place *p, const char *name, lin_source **out, linnet_error *err)
{
    const lin_source_settings settings = { .allocator = lin_default_allocator };
    *out = NULL;
    memset(err, 0, sizeof(*err));
    return lin_source_open(&settings, at(p, name), NULL, out, err);
}

static void expect_refused(place *p, const char *name, linnet_status status, const char *message)
{
    lin_source *source;
    linnet_error err;
    linnet_status got = open_at(p, name, &source, &err);
    if (got != status || strstr(err.message, message) == NULL)
        fail_msg("%s: %d `%s`, not %d `%s`", name, (int)got, err.message, (int)status, message);
    assert_null(source);
}

static lin_source *expect_opened(place *p, const char *name)
{
    lin_source *source;
    linnet_error err;
    if (open_at(p, name, &source, &err) != LINNET_OK)
        fail_msg("%s: %s:%u:%u: %s", name, err.source, err.line, err.column, err.message);
    return source;
}

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
    expect_refused(p, "model.gguf", LINNET_ERROR_UNSUPPORTED, "not read yet");
    write_file(p, "notes.txt", "x");
    expect_refused(p, "notes.txt", LINNET_ERROR_FORMAT, "is no model");
    expect_refused(p, "missing.linnet", LINNET_ERROR_FILE, "does not exist");
    expect_refused(p, "no/directory/here", LINNET_ERROR_FILE, "does not exist");
    assert_int_equal(mkdir(at(p, "empty"), 0700), 0);
    expect_refused(p, "empty", LINNET_ERROR_FILE, "holds no model");
    write_file(p, "hf/config.json", "{}");
    expect_refused(p, "hf", LINNET_ERROR_UNSUPPORTED, "config.json is not read yet");
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
    assert_true(source->has_bindings && source->binding_count > 0);
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

#define ROWS(cases, test)                                 \
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)         \
        tests[count++] = (struct CMUnitTest)              \
        {                                                 \
            .name = cases[i].name, .test_func = test,     \
            .initial_state = (void *)(uintptr_t)&cases[i] \
        }
#define IN_PLACE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

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
        cmocka_unit_test(test_imports),
        IN_PLACE(test_files),
        IN_PLACE(test_sparse_file),
        IN_PLACE(test_open_file),
        IN_PLACE(test_open_refused),
        IN_PLACE(test_open_card),
        IN_PLACE(test_packages),
        IN_PLACE(test_bad_packages),
        IN_PLACE(test_std_directory),
        IN_PLACE(test_out_of_memory),
    };
    for (size_t i = 0; i < ARRAY_LEN(single); i++)
        tests[count++] = single[i];
    return _cmocka_run_group_tests("source", tests, count, NULL, NULL);
}
