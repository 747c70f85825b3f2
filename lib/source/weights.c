/* SPDX-License-Identifier: MIT */

/* Weights without a model: what their headers hold by format, for files whose config is
 * not there. */

#include "source/checkpoint.h"

static linnet_status take_formats(lin_arena *arena, const lin_tensor_list *list, lin_weights *out,
                                  linnet_error *err)
{
    lin_weights_format *formats = LIN_NEW_ARRAY(arena, lin_weights_format, list->format_count);
    if (formats == NULL)
        return lin_fail_memory(err);
    *out = (lin_weights){ .tensors = list->count,
                          .shards = list->shard_count,
                          .bytes = list->bytes >= 0 ? list->bytes : list->stated_bytes,
                          .elements = list->bytes >= 0 ? 0 : list->stated_parameters };
    for (uint32_t i = 0; i < list->format_count; i++) {
        const lin_tensor_format *format = &list->formats[i];
        if (list->bytes >= 0 && !lin_add_i64(out->elements, format->elements, &out->elements))
            return lin_fail(err, LINNET_ERROR_OVERFLOW, "the elements do not fit in 64 bits");
        if (format->tensors > 0)
            formats[out->format_count++] = (lin_weights_format){ format->name, format->tensors,
                                                                 format->elements, format->bytes };
    }
    out->formats = formats;
    return LINNET_OK;
}

linnet_status lin_weights_read(lin_arena *arena, const char *path, lin_weights *out,
                               linnet_error *err)
{
    lin_tensor_list list;
    linnet_status status = lin_weights_list(arena, path, &list, err);
    return status == LINNET_OK ? take_formats(arena, &list, out, err) : status;
}
