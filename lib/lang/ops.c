/* SPDX-License-Identifier: MIT */

/*
 * The table of operations, and a function's operations as text.
 *
 *     fn t::twice(%0: Tensor[N; f32]) -> Tensor[N; f32] {
 *         %1 = const.int 2 : f32
 *         %2 = mul %0, %1 : Tensor[N; f32]
 *         -> %2
 *     }
 *
 * Regions follow their operation, indented, with their arguments in parentheses.
 */

#include "lang/ops.h"

#include "lang/lang.h"

typedef struct op_row {
    const char *name;
    lin_op_class class;
} op_row;

static const op_row op_rows[] = {
#define X(id, spelling, class) [LIN_OP_##id] = { spelling, LIN_OPCLASS_##class },
    LIN_OPS(X)
#undef X
};
_Static_assert(ARRAY_LEN(op_rows) == LIN_OP_COUNT, "every operation has one row");

const char *lin_op_name(lin_op_kind kind)
{
    return op_rows[kind].name;
}

lin_op_class lin_op_class_of(lin_op_kind kind)
{
    return op_rows[kind].class;
}

typedef struct printer {
    lin_text *out;
    const lin_program *program;
    const lin_function *function;
    uint32_t indent;
} printer;

static void add(const printer *pr, const char *text)
{
    lin_text_add(pr->out, text);
}

static void begin_line(const printer *pr)
{
    lin_text_fill(pr->out, ' ', (uint64_t)pr->indent * 4);
}

static void print_value(const printer *pr, lin_value value)
{
    if (value == LIN_NO_VALUE)
        add(pr, "%-");
    else
        lin_text_addf(pr->out, "%%%lu", (unsigned long)value);
}

static void print_values(const printer *pr, const lin_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        add(pr, i > 0 ? ", " : "");
        print_value(pr, values[i]);
    }
}

static void print_dim(const printer *pr, lin_expr dim)
{
    if (dim == LIN_EXPR_INVALID)
        add(pr, "?");
    else
        lin_expr_print(pr->out, pr->program->dims, dim);
}

static void print_name(const printer *pr, lin_name name)
{
    add(pr, lin_names_text(pr->program->names, name));
}

static void print_type(const printer *pr, const lin_type *type)
{
    lin_type_print(pr->out, pr->program, type);
}

/* Consecutive values with their types: "%3: f32, %4: i64". */
static void print_typed_values(const printer *pr, lin_value first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        add(pr, i > 0 ? ", " : "");
        print_value(pr, first + i);
        add(pr, ": ");
        print_type(pr, lin_value_type(pr->function, first + i));
    }
}

static void print_axis(const printer *pr, const lin_axis *axis)
{
    if (axis->is_pack)
        lin_text_addf(pr->out, "*%s", lin_expr_symbol_name(pr->program->dims, axis->pack));
    else
        print_dim(pr, axis->dim);
}

static void print_axes(const printer *pr, const lin_axis *axes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        add(pr, i > 0 ? ", " : "");
        print_axis(pr, &axes[i]);
    }
}

static void print_dtype(const printer *pr, lin_dtype_term dtype)
{
    add(pr, lin_dtype_is_concrete(dtype)
                ? lin_dtype_name((lin_dtype)dtype)
                : lin_expr_symbol_name(pr->program->dims, lin_dtype_symbol(dtype)));
}

/* ---- attributes ---- */

static const char *const comparison_names[] = {
    [LIN_EQ] = "==", [LIN_NE] = "!=", [LIN_LT] = "<",
    [LIN_LE] = "<=", [LIN_GT] = ">",  [LIN_GE] = ">=",
};

static const char *const reduction_names[] = {
    [LIN_SUM] = "sum", [LIN_PROD] = "prod", [LIN_MAX] = "max",
    [LIN_MIN] = "min", [LIN_ANY] = "any",   [LIN_ALL] = "all",
};

static void print_slice(const printer *pr, const lin_op *op)
{
    add(pr, " [");
    for (uint32_t i = 0; i < op->as.slice.count; i++) {
        const lin_slice_axis *axis = &op->as.slice.axes[i];
        add(pr, i > 0 ? ", " : "");
        if (axis->whole) {
            add(pr, ":");
            continue;
        }
        print_dim(pr, axis->start);
        if (axis->dropped)
            continue;
        add(pr, ":");
        print_dim(pr, axis->stop);
        if (axis->step != 1) {
            add(pr, ":");
            lin_text_i64(pr->out, axis->step);
        }
    }
    add(pr, "]");
}

static void print_permutation(const printer *pr, const lin_op *op)
{
    add(pr, " [");
    for (uint32_t i = 0; i < op->as.permute.count; i++)
        lin_text_addf(pr->out, "%s%lu", i > 0 ? ", " : "", (unsigned long)op->as.permute.axes[i]);
    add(pr, "]");
}

/* Which axes an access outside index notation keeps: "kept .:" keeps the second of two. */
static void print_kept(const printer *pr, const lin_op *op)
{
    const lin_type *base = lin_value_type(pr->function, op->operands[0]);
    if (op->as.element.kept == NULL)
        return;
    add(pr, " kept ");
    for (uint32_t i = 0; i < base->axis_count; i++)
        add(pr, op->as.element.kept[i] ? ":" : ".");
}

static void print_generic_arg(const printer *pr, const lin_generic_arg *arg)
{
    switch (arg->kind) {
    case LIN_GENERIC_DIM:
        print_dim(pr, arg->dim);
        break;
    case LIN_GENERIC_SHAPE:
        add(pr, "[");
        print_axes(pr, arg->axes, arg->axis_count);
        add(pr, "]");
        break;
    case LIN_GENERIC_DTYPE:
        print_dtype(pr, arg->dtype);
        break;
    }
}

static void print_callee(const printer *pr, const lin_op *op)
{
    const lin_substitution *s = &op->as.call.substitution;
    uint32_t count = s->generics == NULL ? 0 : s->generics->count;
    lin_text_addf(pr->out, " %s%s", op->as.call.on_self ? "self." : "",
                  op->as.call.callee->qualified);
    for (uint32_t i = 0; i < count; i++) {
        add(pr, i == 0 ? "<" : ", ");
        print_generic_arg(pr, &s->items[i]);
    }
    add(pr, count > 0 ? ">" : "");
    add(pr, op->as.call.has_receiver ? " receiver" : "");
}

static void print_range(const printer *pr, const lin_op *op)
{
    add(pr, " ");
    print_dim(pr, op->as.loop.start);
    add(pr, "..");
    print_dim(pr, op->as.loop.stop);
}

static void print_enum_const(const printer *pr, const lin_op *op)
{
    const lin_enum *e = op->as.enum_const.enumeration;
    add(pr, " ");
    print_name(pr, e->name);
    add(pr, ".");
    print_name(pr, e->variants[op->as.enum_const.variant]);
}

static void print_double(const printer *pr, double number)
{
    add(pr, " ");
    lin_text_double(pr->out, number);
}

static void print_i64(const printer *pr, int64_t number)
{
    add(pr, " ");
    lin_text_i64(pr->out, number);
}

/* What stands between the name and the operands. */
static void print_attribute(const printer *pr, const lin_op *op)
{
    switch (op->kind) {
    case LIN_OP_CONST_INT:
    case LIN_OP_TUPLE_GET:
        print_i64(pr, op->as.integer);
        break;
    case LIN_OP_CONST_BOOL:
        add(pr, op->as.integer != 0 ? " true" : " false");
        break;
    case LIN_OP_CONST_FLOAT:
        print_double(pr, op->as.number);
        break;
    case LIN_OP_CONST_DIM:
    case LIN_OP_ARRAY_GET:
        add(pr, " ");
        print_dim(pr, op->as.dim);
        break;
    case LIN_OP_ENUM_CONST:
        print_enum_const(pr, op);
        break;
    case LIN_OP_COMPARE:
        lin_text_addf(pr->out, " %s", comparison_names[op->as.comparison]);
        break;
    case LIN_OP_CONCAT:
    case LIN_OP_CUMSUM:
        add(pr, " axis");
        print_i64(pr, op->as.axis);
        break;
    case LIN_OP_PERMUTE:
        print_permutation(pr, op);
        break;
    case LIN_OP_SLICE:
        print_slice(pr, op);
        break;
    case LIN_OP_ELEMENT:
        print_kept(pr, op);
        break;
    case LIN_OP_REDUCE:
        lin_text_addf(pr->out, " %s", reduction_names[op->as.indexed.reduction]);
        break;
    case LIN_OP_CALL:
    case LIN_OP_SEMANTIC_CALL:
        print_callee(pr, op);
        break;
    case LIN_OP_BLOCK_PARAM:
    case LIN_OP_BLOCK_SUB:
    case LIN_OP_STATE_READ:
    case LIN_OP_STATE_WRITE:
        add(pr, " ");
        print_name(pr, op->as.member->name);
        break;
    case LIN_OP_STATIC_RANGE:
    case LIN_OP_FOR:
        print_range(pr, op);
        break;
    default:
        break;
    }
}

/* ---- operations and regions ---- */

static void print_op(printer *pr, const lin_op *op);

/* "{", the operations, "-> results", "}"; the line is begun already. */
static void print_region_body(printer *pr, const lin_region *region)
{
    add(pr, "{\n");
    pr->indent++;
    for (uint32_t i = 0; i < region->op_count; i++)
        print_op(pr, region->ops[i]);
    if (region->result_count > 0) {
        begin_line(pr);
        add(pr, "-> ");
        print_values(pr, region->results, region->result_count);
        add(pr, "\n");
    }
    pr->indent--;
    begin_line(pr);
    add(pr, "}\n");
}

/* A region below its operation, named by `title`. */
static void print_region(printer *pr, const char *title, const lin_region *region)
{
    pr->indent++;
    begin_line(pr);
    add(pr, title);
    add(pr, " (");
    print_typed_values(pr, region->first_arg, region->arg_count);
    add(pr, ") ");
    print_region_body(pr, region);
    pr->indent--;
}

static void print_indices(printer *pr, const lin_op *op)
{
    pr->indent++;
    for (uint32_t i = 0; i < op->as.indexed.count; i++) {
        const lin_index *index = &op->as.indexed.indices[i];
        begin_line(pr);
        print_value(pr, op->as.indexed.region.first_arg + i);
        if (index->is_pack) {
            add(pr, " over [");
            print_axes(pr, index->axes, index->axis_count);
            add(pr, "]\n");
        } else {
            add(pr, " below ");
            print_axis(pr, &index->axis);
            add(pr, "\n");
        }
    }
    pr->indent--;
}

static void print_arms(printer *pr, const lin_op *op)
{
    static const char *const titles[] = {
        [LIN_ARM_SOME] = "some",
        [LIN_ARM_NONE] = "none",
        [LIN_ARM_VARIANT] = "variant",
        [LIN_ARM_ANY] = "any",
    };
    const lin_type *matched = lin_value_type(pr->function, op->operands[0]);
    for (uint32_t i = 0; i < op->as.match.count; i++) {
        const lin_arm *arm = &op->as.match.arms[i];
        bool is_known = arm->kind == LIN_ARM_VARIANT && matched->kind == LIN_TYPE_ENUM;
        const char *title = is_known ? lin_names_text(pr->program->names,
                                                      matched->enumeration->variants[arm->variant])
                                     : titles[arm->kind];
        print_region(pr, title, &arm->region);
    }
}

static void print_regions(printer *pr, const lin_op *op)
{
    switch (op->kind) {
    case LIN_OP_COMPREHENSION:
    case LIN_OP_REDUCE:
        print_indices(pr, op);
        print_region(pr, "each", &op->as.indexed.region);
        break;
    case LIN_OP_OPTION_MATCH:
    case LIN_OP_ENUM_MATCH:
        print_arms(pr, op);
        break;
    case LIN_OP_IF:
        print_region(pr, "then", &op->as.branch.then_region);
        print_region(pr, "else", &op->as.branch.else_region);
        break;
    case LIN_OP_WHILE:
        print_region(pr, "while", &op->as.loop.condition);
        print_region(pr, "do", &op->as.loop.body);
        break;
    case LIN_OP_STATIC_FOR:
    case LIN_OP_STATIC_RANGE:
    case LIN_OP_FOR:
        print_region(pr, "do", &op->as.loop.body);
        break;
    default:
        break;
    }
}

static void print_result_types(const printer *pr, const lin_op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++) {
        add(pr, i == 0 ? " : " : ", ");
        print_type(pr, lin_value_type(pr->function, op->first_result + i));
    }
}

static void print_op(printer *pr, const lin_op *op)
{
    begin_line(pr);
    for (uint32_t i = 0; i < op->result_count; i++) {
        add(pr, i > 0 ? ", " : "");
        print_value(pr, op->first_result + i);
    }
    add(pr, op->result_count > 0 ? " = " : "");
    add(pr, lin_op_name(op->kind));
    print_attribute(pr, op);
    add(pr, op->operand_count > 0 ? " " : "");
    print_values(pr, op->operands, op->operand_count);
    print_result_types(pr, op);
    add(pr, "\n");
    print_regions(pr, op);
}

static const char *function_word(lin_function_kind kind)
{
    if (kind == LIN_FUNCTION_FN)
        return "fn";
    return kind == LIN_FUNCTION_OP ? "op" : "entry";
}

void lin_function_print(lin_text *out, const lin_program *program, const lin_function *function)
{
    printer pr = { out, program, function, 0 };
    lin_text_addf(out, "%s %s(", function_word(function->kind), function->qualified);
    print_typed_values(&pr, function->body.first_arg, function->body.arg_count);
    add(&pr, ")");
    if (function->result != NULL && function->result->kind != LIN_TYPE_UNIT) {
        add(&pr, " -> ");
        print_type(&pr, function->result);
    }
    add(&pr, " ");
    print_region_body(&pr, &function->body);
}
