/* SPDX-License-Identifier: MIT */

/*
 * Real config.json files against published counts: parameters, the tied head, and what one more
 * token adds to the cache. The configs and the expected values are read from
 * $LINNET_SHARED/data/hf-configs, one test a model; skipped where that is not there. The growth of
 * the cache is that of a full one: a generic `Window` is bound to something larger than any cache.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "source/family.h"
#include "trace/trace.h"

enum {
    LARGEST_FILE = 1 << 20,
    PATH_LENGTH = 1024,
    MAY_BE_MISSING = 3,
    CACHE = 64,       /* positions; shorter than any window */
    BYTES_A_VALUE = 2 /* of kv_bytes_per_token_bf16 */
};
static const int64_t NO_WINDOW = INT64_C(1) << 40;

/* One model of expected.json. */
typedef struct config_case {
    const char *folder;
    const lin_json *expected;
} config_case;

static lin_arena cases_arena; /* names, expected values and the tests themselves */

static bool file_path(char *out, const char *folder, const char *name)
{
    const char *shared = getenv("LINNET_SHARED");
    return shared != NULL && snprintf(out, PATH_LENGTH, "%s/data/hf-configs/%s%s%s", shared, folder,
                                      folder[0] != '\0' ? "/" : "", name) < PATH_LENGTH;
}

/* NULL where the file is not there. */
static const lin_json *read_document(lin_arena *arena, const char *path)
{
    const char *text;
    uint64_t length;
    const lin_json *document = NULL;
    linnet_error err = { 0 };
    if (lin_file_read(arena, path, LARGEST_FILE, &text, &length, &err) != LINNET_OK)
        return NULL;
    if (lin_json_read(path, text, length, true, arena, &document, &err) != LINNET_OK)
        fail_msg("%s:%u: %s", path, err.line, err.message);
    return document;
}

static int64_t expected_integer(const config_case *c, const char *key)
{
    const lin_json *value = lin_json_get(c->expected, key);
    assert_non_null(value);
    assert_int_equal(value->kind, LIN_JSON_INTEGER);
    return value->integer;
}

/* ---- what the source says ---- */

static lin_source *open_config(const char *path)
{
    const lin_source_settings settings = { .allocator = lin_default_allocator };
    lin_source *source = NULL;
    linnet_error err = { 0 };
    if (lin_source_open(&settings, path, NULL, &source, &err) != LINNET_OK)
        fail_msg("%s:%u:%u: %s", err.source, err.line, err.column, err.message);
    return source;
}

/* Two paths bound to one tensor, or a program whose head is its embedding. */
static bool is_tied(const char *path, const lin_source *source)
{
    lin_arena arena;
    const char *text;
    uint64_t length;
    family_reader family;
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(lin_file_read(&arena, path, LARGEST_FILE, &text, &length, NULL), LINNET_OK);
    assert_int_equal(lin_config_read(&arena, path, text, length, &family, NULL), LINNET_OK);
    bool tied = family.head_is_embedding;
    lin_arena_free(&arena);
    for (uint32_t i = 0; i < source->binding_count; i++)
        for (uint32_t j = 0; j < i; j++)
            tied = tied || strcmp(source->bindings[i].tensor, source->bindings[j].tensor) == 0;
    return tied;
}

/* Whether there is an entry `decode`, and whether its root has a generic `Window`. */
static bool find_decode(const lin_source *source, bool *out_has_window)
{
    const lin_block *root = NULL;
    const lin_function *entry = NULL;
    linnet_error err = { 0 };
    *out_has_window = false;
    if (lin_trace_find_entry(source, source->root, "decode", &root, &entry, &err) != LINNET_OK)
        return false;
    for (uint32_t i = 0; root != NULL && i < root->generics.count; i++) {
        const char *name = lin_names_text(source->program->names, root->generics.items[i].name);
        *out_has_window = *out_has_window || strcmp(name, "Window") == 0;
    }
    return true;
}

static int64_t cached_values(const lin_traced *traced, int64_t positions)
{
    int64_t symbols[LIN_ROLE_COUNT] = { 1, 1, 1 };
    int64_t total = 0;
    symbols[LIN_ROLE_CACHE] = positions;
    for (uint32_t i = 0; i < traced->graph->objects.count; i++) {
        const lin_object *object = &traced->graph->objects.items[i];
        int64_t elements = 0;
        if (object->category != LIN_CATEGORY_KV_CACHE)
            continue;
        assert_true(lin_expr_evaluate(traced->graph->exprs, object->elements, symbols, &elements));
        total += elements;
    }
    return total;
}

static int64_t bytes_per_token(const lin_source *source)
{
    bool has_window;
    const lin_setting window = { .name = "Window", .integer = NO_WINDOW };
    lin_trace_settings settings = { .entry = "decode",
                                    .role_given = { true, false, true },
                                    .role_value = { 1, 0, CACHE },
                                    .binds = &window,
                                    .numerics = LIN_NUMERICS_FAST,
                                    .processes = 1 };
    if (!find_decode(source, &has_window))
        return 0;
    settings.bind_count = has_window ? 1 : 0;
    lin_traced traced;
    linnet_error err = { 0 };
    if (lin_trace(source, &settings, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("decode: %s:%u: %s", err.source, err.line, err.message);
    const int64_t grown = cached_values(&traced, CACHE + 1) - cached_values(&traced, CACHE);
    lin_graph_free(traced.graph);
    return grown * BYTES_A_VALUE;
}

/* ---- tests ---- */

/* Whether a source reads the folder's config; its model_type into `out_type`. */
static bool is_covered(const char *folder, lin_arena *arena, const char **out_type)
{
    char path[PATH_LENGTH];
    assert_true(file_path(path, folder, "config.json"));
    const lin_json *config = read_document(arena, path);
    const lin_json *type = lin_json_get(config, "model_type");
    *out_type = type != NULL && type->kind == LIN_JSON_STRING ? type->text : "(none)";
    return lin_family_find(*out_type) != NULL;
}

static void expect_number(const char *what, int64_t found, int64_t expected)
{
    if (found != expected)
        fail_msg("%s: %lld, not %lld (%+lld)", what, (long long)found, (long long)expected,
                 (long long)(found - expected));
}

static void check_config(const config_case *c, const char *path)
{
    lin_source *source = open_config(path);
    const lin_json *tied = lin_json_get(c->expected, "tied");
    int64_t parameters = 0;
    linnet_error err = { 0 };
    if (lin_trace_count_parameters(source, false, &lin_default_allocator, &parameters, &err) !=
        LINNET_OK)
        fail_msg("parameters: %s:%u: %s", err.source, err.line, err.message);
    expect_number("parameters", parameters, expected_integer(c, "parameters"));
    assert_non_null(tied);
    assert_int_equal(is_tied(path, source), tied->kind == LIN_JSON_TRUE);
    expect_number("cache bytes a token", bytes_per_token(source),
                  expected_integer(c, "kv_bytes_per_token_bf16"));
    lin_source_free(source);
}

static void test_config(void **state)
{
    const config_case *c = *state;
    char path[PATH_LENGTH];
    const char *type;
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    const bool covered = is_covered(c->folder, &arena, &type);
    if (!covered)
        print_message("no source reads `%s`\n", type);
    lin_arena_free(&arena);
    if (!covered)
        skip();
    assert_true(file_path(path, c->folder, "config.json"));
    check_config(c, path);
}

static void test_most_are_covered(void **state)
{
    const lin_json *models = *state;
    char missing[2048] = "";
    uint32_t count = 0;
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    for (uint32_t i = 0; i < models->count; i++) {
        const char *type;
        if (is_covered(models->keys[i], &arena, &type))
            continue;
        const size_t used = strlen(missing);
        (void)snprintf(missing + used, sizeof(missing) - used, " %s", type);
        count++;
    }
    lin_arena_free(&arena);
    if (count > MAY_BE_MISSING)
        fail_msg("%u of %u configs have no source:%s", count, models->count, missing);
}

static void test_nothing_to_read(void **state)
{
    (void)state;
    print_message("LINNET_SHARED is not set, or holds no data/hf-configs/expected.json\n");
    skip();
}

static struct CMUnitTest *make_tests(const lin_json *models)
{
    struct CMUnitTest *tests =
        LIN_NEW_ARRAY(&cases_arena, struct CMUnitTest, (uint64_t)models->count + 1);
    config_case *cases = LIN_NEW_ARRAY(&cases_arena, config_case, models->count);
    if (tests == NULL || cases == NULL)
        abort();
    for (uint32_t i = 0; i < models->count; i++) {
        cases[i] = (config_case){ models->keys[i], &models->items[i] };
        tests[i] = (struct CMUnitTest){ .name = cases[i].folder,
                                        .test_func = test_config,
                                        .initial_state = &cases[i] };
    }
    tests[models->count] = (struct CMUnitTest){ .name = "at most three model types have no source",
                                                .test_func = test_most_are_covered,
                                                .initial_state = (void *)(uintptr_t)models };
    return tests;
}

int main(void)
{
    char path[PATH_LENGTH];
    const struct CMUnitTest nothing[] = { cmocka_unit_test(test_nothing_to_read) };
    lin_arena_init(&cases_arena, &lin_default_allocator);
    const lin_json *models =
        file_path(path, "", "expected.json") ? read_document(&cases_arena, path) : NULL;
    const int failed =
        models != NULL
            ? _cmocka_run_group_tests("configs", make_tests(models), (size_t)models->count + 1,
                                      NULL, NULL)
            : _cmocka_run_group_tests("configs", nothing, ARRAY_LEN(nothing), NULL, NULL);
    lin_arena_free(&cases_arena);
    return failed;
}
