/* SPDX-License-Identifier: MIT */

/* A bindings file: which tensor of a checkpoint each parameter path is. An order is kept, because
 * of several paths with one tensor the first owns it. */

#include "source/source.h"

static linnet_status refuse(const char *source_name, const char *path, const lin_json *value,
                            linnet_error *err)
{
    return lin_fail_at(err, LINNET_ERROR_FORMAT, (lin_place){ .source = source_name }, NULL,
                       "`%s` is %s; the name of a tensor is meant", path,
                       value->kind == LIN_JSON_STRING ? "empty" : lin_json_kind_name(value->kind));
}

linnet_status lin_bindings_read(const char *source_name, const char *text, uint64_t length,
                                lin_arena *arena, const lin_weight_binding **out,
                                uint32_t *out_count, linnet_error *err)
{
    const lin_json *root;
    linnet_status status = lin_json_read(source_name, text, length, false, arena, &root, err);
    if (status != LINNET_OK)
        return status;
    if (root->kind != LIN_JSON_OBJECT)
        return lin_fail_at(err, LINNET_ERROR_FORMAT, (lin_place){ .source = source_name }, NULL,
                           "the bindings are %s; an object from parameter path to tensor name is "
                           "meant",
                           lin_json_kind_name(root->kind));
    lin_weight_binding *bindings = LIN_NEW_ARRAY(arena, lin_weight_binding, root->count);
    if (bindings == NULL)
        return lin_fail_memory(err);
    for (uint32_t i = 0; i < root->count; i++) {
        const lin_json *value = &root->items[i];
        if (value->kind != LIN_JSON_STRING || value->length == 0)
            return refuse(source_name, root->keys[i], value, err);
        bindings[i] = (lin_weight_binding){ root->keys[i], value->text };
    }
    *out = bindings;
    *out_count = root->count;
    return LINNET_OK;
}
