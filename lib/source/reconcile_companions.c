/* SPDX-License-Identifier: MIT */

/*
 * What belongs to a quantized weight in a checkpoint: packed values in place of the weight, scales,
 * zeros, tables. Each tensor that nobody has is asked whether its name is a weight's with one of
 * the known ends; its bytes are then that weight's.
 *
 * Cost: the ends, for each tensor that is left.
 */

#include "source/reconcile.h"

#include <string.h>

/* The end of a companion's name, and the end of the weight's name in its place. */
static const struct companion {
    const char *end, *weight;
    bool is_values; /* the weight itself, packed */
} companions[] = {
    /* clang-format off */
    /* GPTQ, AWQ (AutoGPTQ, AutoAWQ) */
    { ".qweight", ".weight", true },
    { ".qzeros", ".weight", false },
    { ".scales", ".weight", false },
    { ".g_idx", ".weight", false },
    /* compressed-tensors */
    { ".weight_packed", ".weight", true },
    { ".weight_scale", ".weight", false },
    { ".weight_zero_point", ".weight", false },
    { ".weight_shape", ".weight", false },
    { ".weight_g_idx", ".weight", false },
    { ".weight_global_scale", ".weight", false },
    { ".input_scale", ".weight", false },
    { ".input_global_scale", ".weight", false },
    { ".output_scale", ".weight", false },
    /* fp8 of DeepSeek; ModelOpt */
    { ".weight_scale_inv", ".weight", false },
    { ".weight_scale_2", ".weight", false },
    /* gpt-oss: mxfp4 */
    { "_blocks", "", true },
    { "_scales", "", false },
    /* bitsandbytes */
    { ".SCB", ".weight", false },
    { ".weight_format", ".weight", false },
    { ".weight.absmax", ".weight", false },
    { ".weight.quant_map", ".weight", false },
    { ".weight.nested_absmax", ".weight", false },
    { ".weight.nested_quant_map", ".weight", false },
    { ".weight.quant_state.bitsandbytes__nf4", ".weight", false },
    { ".weight.quant_state.bitsandbytes__fp4", ".weight", false },
    /* MLX */
    { ".biases", ".weight", false },
    /* clang-format on */
};

/* Weights by the name of their tensor. */
typedef struct weights {
    lin_names *names;
    LIN_LIST(uint32_t) elements; /* by name */
} weights;

static void add_weight(reconciler *r, weights *w, const char *name, uint32_t element)
{
    lin_name number = lin_names_add(w->names, name, strlen(name));
    while (w->elements.count <= number)
        LIN_PUSH(&r->scratch, &w->elements, 0);
    w->elements.items[number] = element;
}

static void list_weights(reconciler *r, weights *w)
{
    w->names = lin_names_new(&r->scratch);
    for (uint32_t i = 0; i < r->rows.count; i++) {
        const reconcile_row *row = &r->rows.items[i];
        int64_t indices[LIN_PARAMETER_REPEATS] = { 0 };
        for (uint32_t k = 0; k < row->count; k++) {
            const char *tensor = lin_reconcile_tensor(r, row, indices);
            for (uint32_t part = 0; tensor != NULL && part < row->parts; part++)
                add_weight(r, w, lin_reconcile_name(r, tensor, &row->parameter, indices, part),
                           row->first + k);
            (void)lin_parameter_next(&row->parameter, indices);
        }
    }
}

/* The weight that the tensor belongs to, or 0. */
static lin_name weight_of(reconciler *r, const weights *w, const char *name,
                          const struct companion *c)
{
    const size_t length = strlen(name) - strlen(c->end);
    lin_text_clear(&r->text);
    lin_text_append(&r->text, name, length);
    lin_text_add(&r->text, c->weight);
    if (r->text.failed)
        (void)lin_arena_fail(&r->scratch);
    lin_name found = lin_names_find(w->names, lin_text_data(&r->text), r->text.length);
    if (found != 0)
        return found;
    /* Stacked experts without ".weight" in their names. */
    return lin_names_find(w->names, name, length);
}

/* Adds the bytes, and not a part: a weight is present when its values are. */
static linnet_status give_companion(reconciler *r, const lin_tensor *tensor, uint32_t element,
                                    bool is_values)
{
    reconcile_element *e = &r->elements[element];
    const uint32_t parts = e->parts;
    const uint16_t format = e->format;
    const int64_t elements = e->elements;
    linnet_status status = lin_reconcile_give(r, element, tensor);
    if (is_values) {
        e->is_packed = true;
        return status;
    }
    e->parts = parts;
    e->format = parts == 0 ? tensor->format : format;
    e->elements = elements;
    return status;
}

static linnet_status match_companion(reconciler *r, const weights *w, const lin_tensor *tensor)
{
    for (uint32_t i = 0; i < ARRAY_LEN(companions); i++) {
        if (!lin_path_ends_with(tensor->name, companions[i].end))
            continue;
        const lin_name weight = weight_of(r, w, tensor->name, &companions[i]);
        if (weight != 0)
            return give_companion(r, tensor, w->elements.items[weight], companions[i].is_values);
    }
    return LINNET_OK;
}

linnet_status lin_reconcile_companions(reconciler *r)
{
    weights w = { .names = NULL };
    linnet_status status = LINNET_OK;
    for (uint32_t i = 0; i < r->tensors->count && status == LINNET_OK; i++) {
        if (r->owners[i] != RECONCILE_NOBODY)
            continue;
        if (w.names == NULL)
            list_weights(r, &w);
        status = match_companion(r, &w, &r->tensors->items[i]);
    }
    return status;
}
