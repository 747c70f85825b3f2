/* SPDX-License-Identifier: MIT */

/*
 * Index notation: tracing.md 5.5. A comprehension is one step whose inputs are the tensors that its
 * region reads from outside. Most regions are closed (nothing in them depends on what is present or
 * called): for these the values read and the operation count are found once a frame, and the layers
 * after the first only look the values up.
 */

#include "trace/trace_walk.h"

/* What a closed region reads and costs. */
typedef struct closed_region {
    lin_expr arithmetic; /* of the whole step */
    const lin_value *reads;
    uint32_t read_count;
} closed_region;

typedef struct value_list {
    LIN_LIST(lin_value) values;
} value_list;

static bool is_closed(const lin_region *region)
{
    for (uint32_t i = 0; i < region->op_count; i++) {
        const lin_op *op = region->ops[i];
        switch (lin_op_class_of(op->kind)) {
        case LIN_OPCLASS_CALL:
        case LIN_OPCLASS_MEMBER:
        case LIN_OPCLASS_STRUCTURE:
            return false;
        case LIN_OPCLASS_REGION:
            if ((op->kind != LIN_OP_REDUCE && op->kind != LIN_OP_COMPREHENSION) ||
                !is_closed(&op->as.indexed.region))
                return false;
            break;
        default:
            break;
        }
    }
    return true;
}

/* In a closed region every tensor with an object was made outside. */
static void list_reads(walker *w, const frame *f, const lin_region *region, value_list *out)
{
    for (uint32_t i = 0; i < region->op_count; i++) {
        const lin_op *op = region->ops[i];
        for (uint32_t k = 0; k < op->operand_count; k++) {
            const tvalue *value = &f->values[op->operands[k]];
            if (value->kind == TVALUE_TUPLE ||
                (value->kind == TVALUE_TENSOR && value->object != LIN_NO_OBJECT))
                LIN_PUSH(w->scratch, &out->values, op->operands[k]);
        }
        for (uint32_t k = 0; k < lin_op_region_count(op); k++)
            list_reads(w, f, lin_op_region(op, k), out);
    }
    for (uint32_t i = 0; i < region->result_count; i++) {
        const tvalue *value = &f->values[region->results[i]];
        if (value->kind == TVALUE_TENSOR && value->object != LIN_NO_OBJECT)
            LIN_PUSH(w->scratch, &out->values, region->results[i]);
    }
}

static lin_expr step_arithmetic(walker *w, frame *f, const lin_op *op, lin_expr body)
{
    lin_expr count = body;
    if (op->kind == LIN_OP_REDUCE)
        count =
            lin_expr_mul(w->exprs, lin_walk_domain(w, f, op), lin_expr_add(w->exprs, body, w->one));
    if (!is_tensor_type(type_of_value(f, op->first_result)))
        return count;
    return lin_expr_mul(w->exprs, lin_walk_info(w, f, op->first_result, op->span)->elements, count);
}

/* Notes what the step reads; returns its arithmetic. */
static lin_expr read_region(walker *w, frame *f, const lin_op *op)
{
    const closed_region *known = lin_walk_site(w, f, op);
    if (known) {
        for (uint32_t i = 0; i < known->read_count; i++)
            lin_walk_read(w, &f->values[known->reads[i]]);
        return known->arithmetic;
    }
    const lin_region *region = &op->as.indexed.region;
    lin_walk_set_args(f, region, 0, NULL, 0);
    lin_expr body = lin_walk_count_region(w, f, region, (count_mode){ .per_element = true });
    lin_expr arithmetic = step_arithmetic(w, f, op, body);
    if (is_closed(region)) {
        value_list reads = { 0 };
        list_reads(w, f, region, &reads);
        closed_region *record = LIN_NEW(w->scratch, closed_region);
        *record = (closed_region){ arithmetic, reads.values.items, reads.values.count };
        lin_walk_note_site(w, f, op, record);
    }
    return arithmetic;
}

void lin_walk_indexed(walker *w, frame *f, const lin_op *op)
{
    tvalue *out = &f->values[op->first_result];
    const char *label = lin_op_name(op->kind);
    lin_walk_begin(w);
    lin_expr arithmetic = read_region(w, f, op);
    if (is_tensor_type(type_of_value(f, op->first_result))) {
        const tensor_info *info = lin_walk_info(w, f, op->first_result, op->span);
        *out = lin_walk_fresh(w, info, label);
    } else {
        *out = tvalue_scalar();
        if (w->inputs.count + w->region_reads.count == 0)
            return;
    }
    lin_walk_end(w, label, label, arithmetic, op->span);
}
