/* SPDX-License-Identifier: MIT */
/* Types as the language writes them: `(Tensor[B, S / 2, *S; T]?, i32)`. */

#include "lang/lang.h"

static void print_dtype(lin_text *out, const lin_program *program, lin_dtype_term dtype)
{
    lin_text_add(out, lin_dtype_is_concrete(dtype)
                          ? lin_dtype_name((lin_dtype)dtype)
                          : lin_expr_symbol_name(program->dims, lin_dtype_symbol(dtype)));
}

static void print_dim(lin_text *out, const lin_program *program, lin_expr dim)
{
    if (dim == LIN_EXPR_INVALID)
        lin_text_add(out, "?");
    else
        lin_expr_print(out, program->dims, dim);
}

static void print_axes(lin_text *out, const lin_program *program, const lin_axis *axes,
                       uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        lin_text_add(out, i == 0 ? "" : ", ");
        if (axes[i].is_pack) {
            lin_text_add(out, "*");
            lin_text_add(out, lin_expr_symbol_name(program->dims, axes[i].pack));
        } else {
            print_dim(out, program, axes[i].dim);
        }
    }
}

static void print_args(lin_text *out, const lin_program *program, const lin_generics *generics,
                       const lin_generic_arg *args)
{
    for (uint32_t i = 0; i < generics->count && args != NULL; i++) {
        lin_text_add(out, i == 0 ? "<" : ", ");
        switch (args[i].kind) {
        case LIN_GENERIC_DIM:
            print_dim(out, program, args[i].dim);
            break;
        case LIN_GENERIC_SHAPE:
            lin_text_add(out, "[");
            print_axes(out, program, args[i].axes, args[i].axis_count);
            lin_text_add(out, "]");
            break;
        case LIN_GENERIC_DTYPE:
            print_dtype(out, program, args[i].dtype);
            break;
        }
    }
    lin_text_add(out, generics->count > 0 && args != NULL ? ">" : "");
}

static void print_nominal(lin_text *out, const lin_program *program, lin_name name,
                          const lin_generics *generics, const lin_generic_arg *args)
{
    lin_text_add(out, lin_names_text(program->names, name));
    print_args(out, program, generics, args);
}

static void print_parts(lin_text *out, const lin_program *program, const lin_type *type)
{
    for (uint32_t i = 0; i < type->part_count; i++) {
        lin_text_add(out, i == 0 ? "" : ", ");
        lin_type_print(out, program, type->parts[i]);
    }
}

void lin_type_print(lin_text *out, const lin_program *program, const lin_type *type)
{
    switch (type->kind) {
    case LIN_TYPE_ERROR:
        lin_text_add(out, "an unknown type");
        break;
    case LIN_TYPE_UNIT:
        lin_text_add(out, "()");
        break;
    case LIN_TYPE_SCALAR:
        print_dtype(out, program, type->dtype);
        break;
    case LIN_TYPE_TENSOR:
        lin_text_add(out, "Tensor[");
        print_axes(out, program, type->axes, type->axis_count);
        lin_text_add(out, "; ");
        print_dtype(out, program, type->dtype);
        lin_text_add(out, "]");
        break;
    case LIN_TYPE_OPTIONAL:
        print_parts(out, program, type);
        lin_text_add(out, "?");
        break;
    case LIN_TYPE_TUPLE:
        lin_text_add(out, "(");
        print_parts(out, program, type);
        lin_text_add(out, ")");
        break;
    case LIN_TYPE_ARRAY:
        lin_text_add(out, "[");
        print_parts(out, program, type);
        lin_text_add(out, "; ");
        print_dim(out, program, type->dim);
        lin_text_add(out, "]");
        break;
    case LIN_TYPE_BLOCK:
        print_nominal(out, program, type->block->name, &type->block->generics, type->args);
        break;
    case LIN_TYPE_STRUCT:
        print_nominal(out, program, type->structure->name, &type->structure->generics, type->args);
        break;
    case LIN_TYPE_ENUM:
        print_nominal(out, program, type->enumeration->name, &type->enumeration->generics,
                      type->args);
        break;
    case LIN_TYPE_DIM:
        lin_text_add(out, "a compile-time integer");
        break;
    case LIN_TYPE_FLOAT:
        lin_text_add(out, "a float literal");
        break;
    case LIN_TYPE_NONE:
        lin_text_add(out, "none");
        break;
    case LIN_TYPE_SHAPE:
        lin_text_add(out, "[");
        print_axes(out, program, type->axes, type->axis_count);
        lin_text_add(out, "]");
        break;
    case LIN_TYPE_STRING:
        lin_text_add(out, "a string");
        break;
    }
}
