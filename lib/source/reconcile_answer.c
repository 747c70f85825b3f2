/* SPDX-License-Identifier: MIT */

/*
 * What the reconciliation makes of the source: bindings of what is there, storage of exact bytes.
 * An array's elements that differ get a row each, those that do not share one.
 */

#include "source/reconcile.h"

#include <string.h>

/* The bindings that the source gets. */
typedef struct answer {
    LIN_LIST(lin_weight_binding) bindings;
} answer;

static void push_binding(reconciler *r, answer *out, const char *path, const char *tensor)
{
    const lin_weight_binding binding = { lin_arena_copy(r->arena, path),
                                         lin_arena_copy(r->arena, tensor) };
    LIN_PUSH(r->arena, &out->bindings, binding);
}

static bool is_present(const reconciler *r, const reconcile_row *row, uint32_t k)
{
    return r->elements[row->first + k].parts >= row->parts;
}

/* An optional parameter that some elements have: each by itself. */
static void bind_elements(reconciler *r, answer *out, const reconcile_row *row)
{
    int64_t indices[LIN_PARAMETER_REPEATS] = { 0 };
    for (uint32_t k = 0; k < row->count; k++) {
        const char *tensor = lin_reconcile_tensor(r, row, indices);
        if (tensor != NULL && tensor == row->tensor && is_present(r, row, k))
            push_binding(r, out, lin_parameter_path(r->arena, &row->parameter, indices),
                         lin_reconcile_name(r, tensor, &row->parameter, indices, 0));
        (void)lin_parameter_next(&row->parameter, indices);
    }
}

static const reconcile_row *row_of(reconciler *r, const char *path)
{
    const char *pattern = lin_reconcile_pattern(r, path);
    for (uint32_t i = 0; i < r->rows.count; i++)
        if (strcmp(r->rows.items[i].parameter.path, pattern) == 0)
            return &r->rows.items[i];
    return NULL;
}

/* The element that a concrete path is: its numbers, row by row. */
static uint32_t element_of(const reconcile_row *row, const char *path)
{
    uint32_t element = 0, index = 0;
    for (const char *dot = strchr(path, '.'); dot != NULL && index < row->parameter.repeat_count;
         dot = strchr(dot + 1, '.')) {
        const uint64_t digits = strspn(dot + 1, "0123456789");
        int64_t number = 0;
        if (digits == 0 || !lin_parse_i64(dot + 1, digits, &number))
            continue;
        if (number >= row->parameter.repeats[index])
            return row->count;
        element = element * (uint32_t)row->parameter.repeats[index++] + (uint32_t)number;
    }
    return element;
}

static void answer_partial(reconciler *r, answer *out, const reconcile_row *row,
                           const lin_weight_binding *binding)
{
    if (strcmp(binding->path, row->parameter.path) == 0) {
        bind_elements(r, out, row);
        return;
    }
    const uint32_t element = element_of(row, binding->path);
    if (element < row->count && is_present(r, row, element))
        push_binding(r, out, binding->path, binding->tensor);
}

/* In the order of the bindings: the first path of a tensor owns it. */
static void answer_bindings(reconciler *r)
{
    answer out = { { NULL, 0, 0 } };
    const uint32_t given = r->source->binding_count;
    for (uint32_t i = 0; i < r->bindings.count; i++) {
        const lin_weight_binding *binding = &r->bindings.items[i];
        const reconcile_row *row = row_of(r, binding->path);
        if (row == NULL && i < given)
            push_binding(r, &out, binding->path, binding->tensor);
        else if (row != NULL && row->is_optional && !lin_reconcile_is_whole(row))
            answer_partial(r, &out, row, binding);
        else if (row != NULL)
            push_binding(r, &out, binding->path, row->is_tied ? row->tensor : binding->tensor);
        if (row != NULL && i >= given && row->present > 0)
            lin_reconcile_note(r, "`%s` is in the checkpoint, though not in the config",
                               binding->tensor);
    }
    r->source->bindings = out.bindings.items;
    r->source->binding_count = out.bindings.count;
}

static bool has_storage(const reconciler *r, const char *path)
{
    for (uint32_t i = 0; i < r->source->storage_count; i++)
        if (strcmp(r->source->storage[i].path, path) == 0)
            return true;
    return false;
}

/* What the program declares is what the element has. */
static bool is_declared(const reconciler *r, const reconcile_row *row, const reconcile_element *e)
{
    const lin_tensor_format *format = &r->tensors->formats[e->format];
    return format->is_dtype && format->dtype == row->parameter.dtype &&
           e->bytes == row->parameter.elements * lin_dtype_bytes(format->dtype);
}

static bool all_equal(const reconciler *r, const reconcile_row *row)
{
    const reconcile_element *first = &r->elements[row->first];
    for (uint32_t k = 1; k < row->count; k++) {
        const reconcile_element *e = &r->elements[row->first + k];
        if (e->bytes != first->bytes || e->format != first->format || e->parts != first->parts ||
            e->is_unknown != first->is_unknown)
            return false;
    }
    return true;
}

typedef struct storage_list {
    LIN_LIST(lin_weight_storage) rows;
} storage_list;

static void store_element(reconciler *r, storage_list *list, const reconcile_row *row,
                          const reconcile_element *e, const char *path, bool has_prior)
{
    if (e->parts < row->parts || e->is_unknown || (!has_prior && is_declared(r, row, e)))
        return;
    const lin_weight_storage storage = { .path = lin_arena_copy(r->arena, path),
                                         .format = r->tensors->formats[e->format].name,
                                         .bytes = e->bytes,
                                         .elements = row->parameter.elements };
    LIN_PUSH(r->arena, &list->rows, storage);
}

static void store_row(reconciler *r, storage_list *list, const reconcile_row *row)
{
    const bool has_prior = has_storage(r, row->parameter.path);
    int64_t indices[LIN_PARAMETER_REPEATS] = { 0 };
    if (all_equal(r, row)) {
        store_element(r, list, row, &r->elements[row->first], row->parameter.path, has_prior);
        return;
    }
    for (uint32_t k = 0; k < row->count; k++) {
        store_element(r, list, row, &r->elements[row->first + k],
                      lin_parameter_path(&r->scratch, &row->parameter, indices), has_prior);
        (void)lin_parameter_next(&row->parameter, indices);
    }
}

/* Behind what the config says, so that it prevails. */
static void answer_storage(reconciler *r)
{
    storage_list list = { { NULL, 0, 0 } };
    for (uint32_t i = 0; i < r->source->storage_count; i++)
        LIN_PUSH(r->arena, &list.rows, r->source->storage[i]);
    for (uint32_t i = 0; i < r->rows.count; i++)
        if (r->rows.items[i].present > 0)
            store_row(r, &list, &r->rows.items[i]);
    r->source->storage = list.rows.items;
    r->source->storage_count = list.rows.count;
}

void lin_reconcile_answer(reconciler *r)
{
    answer_bindings(r);
    answer_storage(r);
}
