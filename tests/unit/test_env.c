/* SPDX-License-Identifier: MIT */
/*
 * Environments: dimensions, dtypes and shapes of a program in terms of an instantiation. One
 * program with one generic of each kind; each row is a type of it under a binding.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lang/lang.h"

static const char source[] =
    "module t\n"
    "pub fn f<N: Dim, *S: Shape, T: Float>(\n"
    "    plain: Tensor[N, 3; T], arithmetic: Tensor[N / 2, N % 2, N * N; bf16],\n"
    "    pack: Tensor[*S, N; T], two: Tensor[2, *S, *S; i32]) -> Tensor[N, 3; T] { return plain }\n"
    "pub fn g<M: Dim, *R: Shape, U: Float>(deep: Tensor[M, *R; U]) -> f32 { return 0.0 }\n";

/* What a test works with. */
typedef struct fixture {
    lin_program *program;
    lin_arena arena;
    lin_expr_table *table;
    lin_symbol batch;
    lin_expr dims[2];
    const lin_function *f, *g;
} fixture;

static int set_up(void **state)
{
    static fixture x;
    const lin_lang_file file = { "t", "", source, sizeof(source) - 1 };
    linnet_error err = { 0 };
    memset(&x, 0, sizeof(x));
    lin_arena_init(&x.arena, &lin_default_allocator);
    x.table = lin_expr_table_new(&x.arena);
    if (lin_lang_check(&file, NULL, NULL, &lin_default_allocator, NULL, &x.program, &err) !=
        LINNET_OK)
        return -1;
    x.f = x.program->modules[0]->functions[0];
    x.g = x.program->modules[0]->functions[1];
    x.batch = lin_expr_new_symbol(x.table, "batch");
    *state = &x;
    return 0;
}

static int tear_down(void **state)
{
    fixture *x = *state;
    lin_program_free(x->program);
    lin_arena_free(&x->arena);
    return 0;
}

/* N = `n`, S = [batch, 5], T = f16 */
static const lin_env *bind(fixture *x, lin_expr n)
{
    x->dims[0] = lin_expr_of_symbol(x->table, x->batch);
    x->dims[1] = lin_expr_int(x->table, 5);
    const lin_generic *generics = x->f->generics.items;
    const lin_bound bounds[] = {
        { .symbol = generics[0].symbol, .kind = LIN_GENERIC_DIM, .dim = n },
        { .symbol = generics[1].symbol,
          .kind = LIN_GENERIC_SHAPE,
          .dims = x->dims,
          .dim_count = 2 },
        { .symbol = generics[2].symbol, .kind = LIN_GENERIC_DTYPE, .dtype = LIN_DTYPE_F16 },
    };
    return lin_env_new(&x->arena, x->program, x->table, NULL, bounds, 3);
}

static void expect_shape(const fixture *x, const lin_expr *shape, uint32_t rank, const char *wanted)
{
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    for (uint32_t i = 0; i < rank; i++) {
        lin_text_add(&text, i == 0 ? "" : ", ");
        lin_expr_print(&text, x->table, shape[i]);
    }
    assert_string_equal(lin_text_data(&text), wanted);
    lin_text_free(&text);
}

static const struct shape_case {
    const char *name;
    uint32_t param;
    const char *shape;
    lin_dtype dtype;
} shapes[] = {
    { "a dimension and a number", 0, "6, 3", LIN_DTYPE_F16 },
    { "arithmetic folds", 1, "3, 0, 36", LIN_DTYPE_BF16 },
    { "a pack becomes its axes", 2, "batch, 5, 6", LIN_DTYPE_F16 },
    { "a pack twice", 3, "2, batch, 5, batch, 5", LIN_DTYPE_I32 },
};

static void test_shape(void **state)
{
    const struct shape_case *row = *state;
    void *inner = NULL;
    assert_int_equal(set_up(&inner), 0);
    fixture *x = inner;
    const lin_env *env = bind(x, lin_expr_int(x->table, 6));
    const lin_type *type = x->f->params[row->param].type;
    uint32_t rank = 0;
    const lin_expr *shape = lin_env_shape(&x->arena, env, type->axes, type->axis_count, &rank);
    expect_shape(x, shape, rank, row->shape);
    assert_int_equal(lin_env_dtype(env, type->dtype), row->dtype);
    tear_down(&inner);
}

static void test_pack_count(void **state)
{
    fixture *x = *state;
    const lin_env *env = bind(x, lin_expr_int(x->table, 6));
    lin_expr count = lin_env_dim(env, x->f->params[2].type->axes[0].dim);
    expect_shape(x, &count, 1, "5 * batch");
}

static void test_unbound(void **state)
{
    fixture *x = *state;
    const lin_env *env = lin_env_new(&x->arena, x->program, x->table, NULL, NULL, 0);
    const lin_type *plain = x->f->params[0].type, *pack = x->f->params[2].type;
    uint32_t rank = 7;
    assert_int_equal(lin_env_dim(env, plain->axes[0].dim), LIN_EXPR_INVALID);
    assert_int_equal(lin_env_dim(env, LIN_EXPR_INVALID), LIN_EXPR_INVALID);
    assert_int_equal(lin_env_dtype(env, plain->dtype), plain->dtype);
    assert_null(lin_env_shape(&x->arena, env, pack->axes, pack->axis_count, &rank));
    assert_int_equal(rank, 0);
}

static void test_overflow(void **state)
{
    fixture *x = *state;
    const lin_env *env = bind(x, lin_expr_int(x->table, (int64_t)1 << 40));
    assert_int_equal(lin_env_dim(env, x->f->params[1].type->axes[2].dim), LIN_EXPR_INVALID);
}

/* g called by f with M = N * 2, R = [4, *S], U = T */
static const lin_env *enter(fixture *x, const lin_env *env, const lin_env *outer)
{
    lin_expr_table *dims = x->program->dims;
    static lin_axis axes[2];
    static lin_generic_arg items[3];
    const lin_generic *generics = x->f->generics.items;
    lin_expr n = lin_expr_of_symbol(dims, generics[0].symbol);
    axes[0] = (lin_axis){ .dim = lin_expr_int(dims, 4) };
    axes[1] = (lin_axis){ .is_pack = true,
                          .pack = generics[1].symbol,
                          .dim = lin_expr_of_symbol(dims, generics[1].symbol) };
    items[0] = (lin_generic_arg){ .kind = LIN_GENERIC_DIM, .dim = lin_expr_add(dims, n, n) };
    items[1] = (lin_generic_arg){ .kind = LIN_GENERIC_SHAPE, .axes = axes, .axis_count = 2 };
    items[2] = (lin_generic_arg){ .kind = LIN_GENERIC_DTYPE,
                                  .dtype = lin_dtype_of_symbol(generics[2].symbol) };
    const lin_substitution substitution = { .generics = &x->g->generics, .items = items };
    return lin_env_enter(&x->arena, env, outer, &substitution);
}

static void test_enter(void **state)
{
    fixture *x = *state;
    const lin_env *inner = enter(x, bind(x, lin_expr_int(x->table, 6)), NULL);
    const lin_type *deep = x->g->params[0].type;
    uint32_t rank = 0;
    const lin_expr *shape = lin_env_shape(&x->arena, inner, deep->axes, deep->axis_count, &rank);
    expect_shape(x, shape, rank, "12, 4, batch, 5");
    assert_int_equal(lin_env_dtype(inner, deep->dtype), LIN_DTYPE_F16);
    /* the caller's generics are not the callee's */
    assert_int_equal(lin_env_dim(inner, x->f->params[0].type->axes[0].dim), LIN_EXPR_INVALID);
}

static void test_outer(void **state)
{
    fixture *x = *state;
    const lin_env *env = bind(x, lin_expr_int(x->table, 6));
    const lin_env *inner = enter(x, env, env);
    lin_expr n = lin_env_dim(inner, x->f->params[0].type->axes[0].dim);
    expect_shape(x, &n, 1, "6");
}

static void test_enter_unbound_pack(void **state)
{
    fixture *x = *state;
    const lin_env *empty = lin_env_new(&x->arena, x->program, x->table, NULL, NULL, 0);
    assert_null(enter(x, empty, NULL));
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test_setup_teardown(test_pack_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unbound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_overflow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_enter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_outer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_enter_unbound_pack, set_up, tear_down),
    };
    struct CMUnitTest tests[ARRAY_LEN(shapes) + ARRAY_LEN(others)] = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
        tests[i] = (struct CMUnitTest){ .name = shapes[i].name,
                                        .test_func = test_shape,
                                        .initial_state = (void *)(uintptr_t)&shapes[i] };
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        tests[ARRAY_LEN(shapes) + i] = others[i];
    return cmocka_run_group_tests_name("env", tests, NULL, NULL);
}
