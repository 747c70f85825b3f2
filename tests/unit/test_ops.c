/* SPDX-License-Identifier: MIT */

/* The table of operations has no holes, and functions print as text: every form of attribute and
 * region, in functions made by hand. */

#include "lang/ops.h"

#include "lang/lang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void test_table(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < LIN_OP_COUNT; i++) {
        assert_non_null(lin_op_name((lin_op_kind)i));
        assert_true(lin_op_class_of((lin_op_kind)i) <= LIN_OPCLASS_MEMBER);
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(lin_op_name((lin_op_kind)i), lin_op_name((lin_op_kind)k));
    }
    assert_string_equal(lin_op_name(LIN_OP_SEMANTIC_CALL), "semantic.call");
    assert_int_equal(lin_op_class_of(LIN_OP_SLICE), LIN_OPCLASS_LAYOUT);
    assert_int_equal(lin_op_class_of(LIN_OP_ADD), LIN_OPCLASS_ELEMENTWISE);
    assert_int_equal(lin_op_class_of(LIN_OP_WHILE), LIN_OPCLASS_REGION);
}

/* ---- functions made by hand ---- */

/* A program with one Dim generic N, and the types of a function's values as they are made. */
typedef struct world {
    lin_program program;
    lin_expr n, two, three;
    lin_type scalar, boolean, matrix, optional;
    const lin_type *parts[1];
    lin_axis axes[2];
    const lin_type *types[32];
    lin_value next;
    lin_value operands[8];
    lin_value all[32]; /* all[i] == i */
} world;

static void begin(world *w)
{
    *w = (world){ .next = 0 };
    lin_arena_init(&w->program.arena, &lin_default_allocator);
    w->program.names = lin_names_new(&w->program.arena);
    w->program.dims = lin_expr_table_new(&w->program.arena);
    lin_expr_table *dims = w->program.dims;
    w->n = lin_expr_of_symbol(dims, lin_expr_new_symbol(dims, "N"));
    w->two = lin_expr_int(dims, 2);
    w->three = lin_expr_int(dims, 3);
    w->scalar = (lin_type){ .kind = LIN_TYPE_SCALAR, .dtype = LIN_DTYPE_F32 };
    w->boolean = (lin_type){ .kind = LIN_TYPE_SCALAR, .dtype = LIN_DTYPE_BOOL };
    w->axes[0].dim = w->n;
    w->axes[1].dim = w->three;
    w->matrix = (lin_type){
        .kind = LIN_TYPE_TENSOR, .dtype = LIN_DTYPE_F32, .axes = w->axes, .axis_count = 2
    };
    w->parts[0] = &w->scalar;
    w->optional = (lin_type){ .kind = LIN_TYPE_OPTIONAL, .parts = w->parts, .part_count = 1 };
    for (lin_value i = 0; i < ARRAY_LEN(w->all); i++)
        w->all[i] = i;
}

static lin_value new_value(world *w, const lin_type *type)
{
    w->types[w->next] = type;
    return w->next++;
}

/* An operation with one result, whose operands are consecutive values. */
static lin_op make(world *w, lin_op_kind kind, lin_value first, uint32_t count,
                   const lin_type *type)
{
    return (lin_op){ .kind = kind,
                     .operands = &w->all[first],
                     .operand_count = count,
                     .first_result = new_value(w, type),
                     .result_count = 1 };
}

static lin_region region_of(world *w, lin_value first_arg, uint32_t arg_count, lin_value result)
{
    return (lin_region){ .first_arg = first_arg,
                         .arg_count = arg_count,
                         .results = &w->all[result],
                         .result_count = 1 };
}

static void expect_print(world *w, lin_op **ops, uint32_t count, uint32_t params,
                         const char *expect)
{
    lin_function f = { .qualified = "t::f",
                       .kind = LIN_FUNCTION_OP,
                       .result = &w->scalar,
                       .body = { .arg_count = params,
                                 .ops = ops,
                                 .op_count = count,
                                 .results = &w->all[0],
                                 .result_count = 1 },
                       .value_types = w->types,
                       .value_count = w->next };
    lin_text out;
    lin_text_init(&out, &lin_default_allocator);
    lin_function_print(&out, &w->program, &f);
    assert_string_equal(lin_text_data(&out), expect);
    lin_text_free(&out);
    lin_arena_free(&w->program.arena);
}

static void test_attributes(void **state)
{
    (void)state;
    world w;
    begin(&w);
    new_value(&w, &w.matrix);
    lin_op integer = make(&w, LIN_OP_CONST_INT, 0, 0, &w.scalar);
    integer.as.integer = -7;
    lin_op number = make(&w, LIN_OP_CONST_FLOAT, 0, 0, &w.scalar);
    number.as.number = 0.5;
    lin_op dim = make(&w, LIN_OP_CONST_DIM, 0, 0, &w.scalar);
    dim.as.dim = lin_expr_mul(w.program.dims, w.two, w.n);
    lin_op truth = make(&w, LIN_OP_CONST_BOOL, 0, 0, &w.boolean);
    truth.as.integer = 1;
    lin_op less = make(&w, LIN_OP_COMPARE, 1, 2, &w.boolean);
    less.as.comparison = LIN_LE;
    lin_slice_axis slices[] = { { .start = w.two, .stop = w.n, .step = 2 },
                                { .dropped = true, .start = w.two } };
    lin_op slice = make(&w, LIN_OP_SLICE, 0, 1, &w.matrix);
    slice.as.slice.axes = slices;
    slice.as.slice.count = 2;
    uint32_t swapped[] = { 1, 0 };
    lin_op permute = make(&w, LIN_OP_PERMUTE, 0, 1, &w.matrix);
    permute.as.permute.axes = swapped;
    permute.as.permute.count = 2;
    bool kept[] = { false, true };
    lin_op element = make(&w, LIN_OP_ELEMENT, 0, 2, &w.matrix);
    element.as.element.kept = kept;
    lin_op concat = make(&w, LIN_OP_CONCAT, 0, 1, &w.matrix);
    concat.as.axis = -1;
    lin_op *ops[] = { &integer, &number, &dim, &truth, &less, &slice, &permute, &element, &concat };
    expect_print(&w, ops, ARRAY_LEN(ops), 1,
                 "op t::f(%0: Tensor[N, 3; f32]) -> f32 {\n"
                 "    %1 = const.int -7 : f32\n"
                 "    %2 = const.float 0.5 : f32\n"
                 "    %3 = const.dim 2 * N : f32\n"
                 "    %4 = const.bool true : bool\n"
                 "    %5 = compare <= %1, %2 : bool\n"
                 "    %6 = slice [2:N:2, 2] %0 : Tensor[N, 3; f32]\n"
                 "    %7 = permute [1, 0] %0 : Tensor[N, 3; f32]\n"
                 "    %8 = element kept .: %0, %1 : Tensor[N, 3; f32]\n"
                 "    %9 = concat axis -1 %0 : Tensor[N, 3; f32]\n"
                 "    -> %0\n"
                 "}\n");
}

static void test_calls_and_members(void **state)
{
    (void)state;
    world w;
    begin(&w);
    new_value(&w, &w.scalar);
    lin_generic generic[] = { { .kind = LIN_GENERIC_DIM },
                              { .kind = LIN_GENERIC_SHAPE },
                              { .kind = LIN_GENERIC_DTYPE } };
    const lin_generics generics = { generic, 3 };
    lin_generic_arg args[] = { { .kind = LIN_GENERIC_DIM, .dim = w.n },
                               { .kind = LIN_GENERIC_SHAPE, .axes = w.axes, .axis_count = 2 },
                               { .kind = LIN_GENERIC_DTYPE, .dtype = LIN_DTYPE_BF16 } };
    lin_function callee = { .qualified = "m::B.g" };
    lin_op call = make(&w, LIN_OP_CALL, 0, 1, &w.scalar);
    call.as.call.callee = &callee;
    call.as.call.substitution = (lin_substitution){ &generics, args };
    call.as.call.on_self = true;
    lin_op semantic = make(&w, LIN_OP_SEMANTIC_CALL, 0, 2, &w.scalar);
    semantic.as.call.callee = &callee;
    semantic.as.call.has_receiver = true;
    lin_member member = { .name = lin_names_add(w.program.names, "cache", 5) };
    lin_op read = make(&w, LIN_OP_STATE_READ, 0, 0, &w.scalar);
    read.as.member = &member;
    lin_op write = { .kind = LIN_OP_STATE_WRITE, .operands = w.all, .operand_count = 1 };
    write.as.member = &member;
    lin_name variants[] = { lin_names_add(w.program.names, "First", 5) };
    lin_enum pool = { .name = lin_names_add(w.program.names, "Pool", 4),
                      .variants = variants,
                      .variant_count = 1 };
    lin_op choice = make(&w, LIN_OP_ENUM_CONST, 0, 0, &w.scalar);
    choice.as.enum_const.enumeration = &pool;
    lin_op *ops[] = { &call, &semantic, &read, &write, &choice };
    expect_print(&w, ops, ARRAY_LEN(ops), 1,
                 "op t::f(%0: f32) -> f32 {\n"
                 "    %1 = call self.m::B.g<N, [N, 3], bf16> %0 : f32\n"
                 "    %2 = semantic.call m::B.g receiver %0, %1 : f32\n"
                 "    %3 = state.read cache : f32\n"
                 "    state.write cache %0\n"
                 "    %4 = enum.const Pool.First : f32\n"
                 "    -> %0\n"
                 "}\n");
}

static void test_regions(void **state)
{
    (void)state;
    world w;
    begin(&w);
    new_value(&w, &w.optional);
    lin_value i = new_value(&w, &w.scalar), inner = new_value(&w, &w.scalar);
    lin_index index = { .axis = w.axes[0] };
    lin_op access = make(&w, LIN_OP_ELEMENT, 0, 2, &w.scalar);
    lin_op *accesses[] = { &access };
    lin_op reduce = make(&w, LIN_OP_REDUCE, 0, 0, &w.scalar);
    reduce.as.indexed.indices = &index;
    reduce.as.indexed.count = 1;
    reduce.as.indexed.reduction = LIN_MAX;
    reduce.as.indexed.region = region_of(&w, i, 1, access.first_result);
    reduce.as.indexed.region.ops = accesses;
    reduce.as.indexed.region.op_count = 1;
    lin_arm arms[] = { { .kind = LIN_ARM_SOME, .region = region_of(&w, inner, 1, inner) },
                       { .kind = LIN_ARM_NONE, .region = region_of(&w, 0, 0, i) } };
    lin_op match = make(&w, LIN_OP_OPTION_MATCH, 0, 1, &w.scalar);
    match.as.match.arms = arms;
    match.as.match.count = 2;
    lin_op branch = make(&w, LIN_OP_IF, 0, 1, &w.scalar);
    branch.as.branch.then_region = region_of(&w, 0, 0, 1);
    branch.as.branch.else_region = region_of(&w, 0, 0, 2);
    lin_op loop = make(&w, LIN_OP_STATIC_RANGE, 0, 1, &w.scalar);
    loop.as.loop.start = w.two;
    loop.as.loop.stop = w.n;
    loop.as.loop.body = region_of(&w, i, 2, inner);
    lin_op during = make(&w, LIN_OP_WHILE, 0, 1, &w.scalar);
    during.as.loop.condition = region_of(&w, inner, 1, i);
    during.as.loop.body = region_of(&w, inner, 1, inner);
    lin_op *ops[] = { &reduce, &match, &branch, &loop, &during };
    expect_print(&w, ops, ARRAY_LEN(ops), 1,
                 "op t::f(%0: f32?) -> f32 {\n"
                 "    %4 = reduce max : f32\n"
                 "        %1 below N\n"
                 "        each (%1: f32) {\n"
                 "            %3 = element %0, %1 : f32\n"
                 "            -> %3\n"
                 "        }\n"
                 "    %5 = option.match %0 : f32\n"
                 "        some (%2: f32) {\n"
                 "            -> %2\n"
                 "        }\n"
                 "        none () {\n"
                 "            -> %1\n"
                 "        }\n"
                 "    %6 = if %0 : f32\n"
                 "        then () {\n"
                 "            -> %1\n"
                 "        }\n"
                 "        else () {\n"
                 "            -> %2\n"
                 "        }\n"
                 "    %7 = static_range 2..N %0 : f32\n"
                 "        do (%1: f32, %2: f32) {\n"
                 "            -> %2\n"
                 "        }\n"
                 "    %8 = while %0 : f32\n"
                 "        while (%2: f32) {\n"
                 "            -> %1\n"
                 "        }\n"
                 "        do (%2: f32) {\n"
                 "            -> %2\n"
                 "        }\n"
                 "    -> %0\n"
                 "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_calls_and_members),
        cmocka_unit_test(test_regions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
