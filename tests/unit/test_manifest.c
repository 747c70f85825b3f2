/* SPDX-License-Identifier: MIT */
/*
 * Manifests: the last block of a program, its generics bound to numbers, against the lines
 * "path kind dtype [shape] xrepeats ?".
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lang/lang.h"

static const struct manifest_case {
    const char *name, *text;
    int64_t values[3]; /* of the root's generics */
    linnet_status status;
    const char *manifest;
} cases[] = {
    { "an optional param",
      "module t\nblock Scale<C: Dim, T: Float = bf16> {\n    param weight: Tensor[C; T]\n    param "
      "bias: Tensor[C; T]? = none\n}\n",
      { 4, 0, 0 },
      LINNET_OK,
      "weight param bf16 [4]\nbias param bf16 [4] ?\n" },
    { "an array",
      "module t\nblock Step<C: Dim> { param gain: Tensor[C; f32] }\nblock Stack<C: Dim, Depth: "
      "Dim> { sub steps: [Step<C * 2>; Depth] }\n",
      { 8, 3, 0 },
      LINNET_OK,
      "steps[*].gain param f32 [16] x3\n" },
    { "arrays in arrays, outermost first",
      "module t\nblock A { param w: Tensor[2; f32] }\nblock B<N: Dim> { sub a: [A; N] }\nblock "
      "C<N: Dim> { sub b: [B<N + 1>; 5] }\n",
      { 3, 0, 0 },
      LINNET_OK,
      "b[*].a[*].w param f32 [2] x5 x4\n" },
    { "every kind, depth first in declaration order",
      "module t\nblock A<N: Dim> {\n    buffer table: Tensor[N, 2; i32]\n    state seen: Tensor[N; "
      "f16]\n}\nblock B<N: Dim> {\n    param first: Tensor[N; f32]\n    sub a: A<N>\n    sub b: "
      "A<2>? = none\n    param last: Tensor[1, N; f32]\n}\n",
      { 7, 0, 0 },
      LINNET_OK,
      "first param f32 [7]\na.table buffer i32 [7, 2]\na.seen state f16 [7]\nb.table buffer i32 "
      "[2, 2] ?\nb.seen state f16 [2] ?\nlast param f32 [1, 7]\n" },
    { "defaults of a sub's generics",
      "module t\nblock A<N: Dim, M: Dim = N * 2, T: Float = bf16> { param w: Tensor[N, M; T] "
      "}\nblock B<N: Dim> { sub a: A<N> }\n",
      { 3, 0, 0 },
      LINNET_OK,
      "a.w param bf16 [3, 6]\n" },
    { "a pack as an argument",
      "module t\nblock A<*S: Shape> { param w: Tensor[*S, 2; f32] }\nblock B<N: Dim> { sub a: "
      "A<[N, "
      "3]> }\n",
      { 4, 0, 0 },
      LINNET_OK,
      "a.w param f32 [4, 3, 2]\n" },
    { "nothing", "module t\nblock A { }\n", { 0, 0, 0 }, LINNET_OK, "" },
    { "a shape past 64 bits",
      "module t\nblock A<N: Dim> { param w: Tensor[N * N; f32] }\n",
      { (int64_t)1 << 40, 0, 0 },
      LINNET_ERROR_OVERFLOW,
      NULL },
    { "a pack without a value",
      "module t\nblock A<*S: Shape> { param w: Tensor[*S, 2; f32] }\n",
      { 0, 0, 0 },
      LINNET_ERROR_UNSUPPORTED,
      NULL },
};

/* The root's generics: dimensions from the row, dtypes from their defaults. */
static const lin_env *bind(lin_arena *arena, const lin_program *program, lin_expr_table *table,
                           const lin_block *block, const int64_t *values)
{
    lin_bound bounds[3] = { 0 };
    uint32_t count = 0;
    for (uint32_t i = 0; i < block->generics.count; i++) {
        const lin_generic *generic = &block->generics.items[i];
        if (generic->kind == LIN_GENERIC_SHAPE)
            continue;
        bounds[count++] = (lin_bound){ .symbol = generic->symbol,
                                       .kind = generic->kind,
                                       .dim = lin_expr_int(table, values[i]),
                                       .dtype = generic->default_arg.dtype };
    }
    return lin_env_new(arena, program, table, NULL, bounds, count);
}

static void print(lin_text *out, const lin_expr_table *table, const lin_manifest *manifest)
{
    static const char *const kinds[] = { "param", "buffer", "state", "sub" };
    for (uint32_t i = 0; i < manifest->count; i++) {
        const lin_manifest_entry *entry = &manifest->entries[i];
        lin_text_addf(out, "%s %s %s [", entry->path, kinds[entry->kind],
                      lin_dtype_name((lin_dtype)entry->dtype));
        for (uint32_t k = 0; k < entry->rank; k++) {
            lin_text_add(out, k == 0 ? "" : ", ");
            lin_expr_print(out, table, entry->shape[k]);
        }
        lin_text_add(out, "]");
        for (uint32_t k = 0; k < entry->repeat_count; k++) {
            lin_text_add(out, " x");
            lin_expr_print(out, table, entry->repeats[k]);
        }
        lin_text_add(out, entry->optional ? " ?\n" : "\n");
    }
}

static void test_manifest(void **state)
{
    const struct manifest_case *row = *state;
    const lin_lang_file file = { "t", "", row->text, strlen(row->text) };
    lin_program *program = NULL;
    linnet_error err = { 0 };
    lin_arena arena;
    lin_manifest manifest = { 0 };
    lin_text text;
    lin_arena_init(&arena, &lin_default_allocator);
    lin_text_init(&text, &lin_default_allocator);
    if (lin_lang_check(&file, NULL, NULL, &lin_default_allocator, NULL, &program, &err) !=
        LINNET_OK)
        fail_msg("%s", err.message);
    const lin_module *module = program->modules[0];
    const lin_block *block = module->blocks[module->block_count - 1];
    lin_expr_table *table = lin_expr_table_new(&arena);
    const lin_env *env = bind(&arena, program, table, block, row->values);
    assert_int_equal(lin_manifest_new(&arena, program, block, env, &manifest, &err), row->status);
    if (row->manifest != NULL) {
        print(&text, table, &manifest);
        assert_string_equal(lin_text_data(&text), row->manifest);
    }
    lin_text_free(&text);
    lin_arena_free(&arena);
    lin_program_free(program);
}

/* Two subs of one block a level: 2^40 members are refused, not listed. */
static void test_doubling(void **state)
{
    (void)state;
    lin_text source;
    lin_text_init(&source, &lin_default_allocator);
    lin_text_add(&source, "module t\nblock B0 { param w: Tensor[2; f32] }\n");
    for (int i = 1; i <= 40; i++)
        lin_text_addf(&source, "block B%d { sub a: B%d sub b: B%d }\n", i, i - 1, i - 1);
    const lin_lang_file file = { "t", "", lin_text_data(&source), source.length };
    lin_program *program = NULL;
    linnet_error err = { 0 };
    lin_arena arena;
    lin_manifest manifest = { 0 };
    lin_arena_init(&arena, &lin_default_allocator);
    assert_int_equal(
        lin_lang_check(&file, NULL, NULL, &lin_default_allocator, NULL, &program, &err), LINNET_OK);
    const lin_env *env = lin_env_new(&arena, program, lin_expr_table_new(&arena), NULL, NULL, 0);
    assert_int_equal(
        lin_manifest_new(&arena, program, program->modules[0]->blocks[40], env, &manifest, &err),
        LINNET_ERROR_UNSUPPORTED);
    lin_arena_free(&arena);
    lin_program_free(program);
    lin_text_free(&source);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_LEN(cases) + 1] = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        tests[i] = (struct CMUnitTest){ .name = cases[i].name,
                                        .test_func = test_manifest,
                                        .initial_state = (void *)(uintptr_t)&cases[i] };
    tests[ARRAY_LEN(cases)] = (struct CMUnitTest)cmocka_unit_test(test_doubling);
    return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
