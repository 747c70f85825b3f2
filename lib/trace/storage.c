/* SPDX-License-Identifier: MIT */

/*
 * What a parameter takes when it is not its shape times its dtype: quantized weights, padded rows,
 * a checkpoint of another dtype (lin_weight_storage). A term is a formula over the shape:
 *
 *     columns = the last axis, rows = the product of the others   (flat: one row of all elements)
 *     ceil(rows / row_block) * ceil(columns / column_block) * bytes
 *
 * The last row of the list that names a path prevails, a concrete path before a pattern. Cost: a
 * probe or two for each parameter.
 */

#include "trace/trace_walk.h"

#include <string.h>

struct stored_weights {
    const lin_weight_storage *rows;
    lin_names *paths;
    LIN_LIST(uint32_t) numbers; /* by path: a row */
};

stored_weights *lin_walk_read_storage(walker *w)
{
    const lin_source *source = w->source;
    if (source->storage_count == 0 || w->settings->no_bindings)
        return NULL;
    stored_weights *s = LIN_NEW(w->scratch, stored_weights);
    s->rows = source->storage;
    s->paths = lin_names_new(w->scratch);
    for (uint32_t i = 0; i < source->storage_count; i++) {
        const char *path = source->storage[i].path;
        lin_name name = lin_names_add(s->paths, path, strlen(path));
        while (s->numbers.count <= name)
            LIN_PUSH(w->scratch, &s->numbers, 0);
        s->numbers.items[name] = i;
    }
    return s;
}

static const lin_weight_storage *find_row(const stored_weights *s, const char *path,
                                          const char *pattern)
{
    lin_name name = lin_names_find(s->paths, path, strlen(path));
    if (name == 0)
        name = lin_names_find(s->paths, pattern, strlen(pattern));
    return name == 0 ? NULL : &s->rows[s->numbers.items[name]];
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Exactly the file's bytes; of a shard of the tensor, its part. */
static lin_expr exact_bytes(walker *w, const lin_weight_storage *row, const tensor_info *info)
{
    const lin_expr bytes = lin_expr_int(w->exprs, row->bytes);
    if (row->elements <= 0 || row->bytes == 0 ||
        info->elements == lin_expr_int(w->exprs, row->elements))
        return bytes;
    const int64_t divisor = common_divisor(row->bytes, row->elements);
    return lin_expr_ceildiv(
        w->exprs,
        lin_expr_mul(w->exprs, info->elements, lin_expr_int(w->exprs, row->bytes / divisor)),
        lin_expr_int(w->exprs, row->elements / divisor));
}

static lin_expr blocks(walker *w, lin_expr count, int64_t block)
{
    return lin_expr_ceildiv(w->exprs, count, lin_expr_int(w->exprs, block));
}

static lin_expr term_bytes(walker *w, const lin_storage_term *term, const tensor_info *info)
{
    lin_expr rows = w->one, columns = w->one;
    if (term->flat)
        columns = info->elements;
    else if (info->rank > 0)
        columns = info->shape[info->rank - 1];
    for (uint32_t i = 0; !term->flat && i + 1 < info->rank; i++)
        rows = lin_expr_mul(w->exprs, rows, info->shape[i]);
    const lin_expr down = blocks(w, rows, term->row_block);
    const lin_expr across = blocks(w, columns, term->column_block);
    return lin_expr_mul(w->exprs, lin_expr_mul(w->exprs, down, across),
                        lin_expr_int(w->exprs, term->bytes));
}

const char *lin_walk_stored_format(const stored_weights *s, const char *path, const char *pattern)
{
    const lin_weight_storage *row = s == NULL ? NULL : find_row(s, path, pattern);
    return row == NULL ? NULL : row->format;
}

lin_expr lin_walk_stored_bytes(walker *w, const stored_weights *s, const char *path,
                               const char *pattern, const tensor_info *info)
{
    const lin_weight_storage *row = s == NULL ? NULL : find_row(s, path, pattern);
    if (row == NULL)
        return info->bytes;
    lin_expr bytes = row->bytes >= 0 ? exact_bytes(w, row, info) : w->zero;
    for (uint32_t i = 0; row->bytes < 0 && i < row->term_count; i++)
        bytes = lin_expr_add(w->exprs, bytes, term_bytes(w, &row->terms[i], info));
    if (bytes == LIN_EXPR_INVALID)
        lin_walk_fail(w, LINNET_ERROR_OVERFLOW, "the bytes of `%s` do not fit in 64 bits", path);
    return bytes;
}
